"""Rows that a loop copies for several others to read are read where they are.

    for j in range(m):
        t[i, j] = x[row, j]
    for j in range(m):                        for j in range(m):
        s += t[i, j] * t[i, j]                    s += x[row, j] * x[row, j]
    for j in range(m):              is        for j in range(m):
        y[i, j] = t[i, j] / s                     y[i, j] = x[row, j] / s

A row is as quick to read in the one array as in the other.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from srcgraph.codegen.flow import assigned_names
from srcgraph.codegen.statements import names_in, nodes_in, statements_in
from srcgraph.codegen.trips import empty_array, own_arrays, stored_arrays


def reread(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function without such copies."""
    made = {empty_array(s) for s in statements_in(body)} - {""}
    if not made:
        return body
    uses = Counter(n.id for n in names_in(*body))
    own = own_arrays(body)
    gone = _block(body, made & own, own, uses)
    return _without(body, gone) if gone else body


@dataclass(frozen=True, slots=True)
class _Copy:
    """A loop that does nothing but to fill a row of an array with one of another."""

    index: str
    array: str
    place: ast.Tuple
    value: ast.Subscript

    @staticmethod
    def of(s: ast.stmt) -> _Copy | None:
        match s:
            case ast.For(
                target=ast.Name(id=index),
                body=[
                    ast.Assign(
                        targets=[ast.Subscript(ast.Name(id=array), ast.Tuple() as place)],
                        value=ast.Subscript(ast.Name(), ast.Tuple() as there) as value,
                    )
                ],
                orelse=[],
            ) if all(_ends_with(p, index) for p in (place, there)):
                return _Copy(index, array, place, value)
        return None

    @property
    def needs(self) -> Set[str]:
        """What must stay as it is for the row to be read later."""
        return {n.id for n in names_in(self.value, self.place)} - {self.index, self.array}

    def reads(self, body: Sequence[ast.stmt]) -> list[ast.Subscript]:
        """Where elements of the row are read."""
        front = ast.dump(ast.Tuple(self.place.elts[:-1], ast.Load()))
        found = [n for n in nodes_in(*body) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple)]
        own = [n for n in found if isinstance(n.value, ast.Name) and n.value.id == self.array]
        return [n for n in own if ast.dump(ast.Tuple(n.slice.elts[:-1], ast.Load())) == front]  # type: ignore[attr-defined]


def _ends_with(place: ast.Tuple, index: str) -> bool:
    """Whether the last axis alone is that of a loop's variable, and nothing is looked up."""
    *others, last = place.elts
    plain = all(isinstance(p, ast.Name | ast.Constant) for p in others)
    return plain and isinstance(last, ast.Name) and last.id == index and all(n.id != index for n in names_in(*others))


def _block(body: list[ast.stmt], arrays: Set[str], own: Set[str], uses: Counter[str]) -> set[str]:
    gone: set[str] = set()
    for k, s in enumerate(body):
        if isinstance(s, ast.For | ast.While | ast.If):
            gone |= _block(s.body, arrays, own, uses) | _block(s.orelse, arrays, own, uses)
        found, rest = _Copy.of(s), body[k + 1 :]
        if found is None or found.array not in arrays:
            continue
        reads, stored = found.reads(rest), stored_arrays(rest)
        stays = {found.array, *found.needs}.isdisjoint(assigned_names(rest) | stored) and stored <= own
        if stays and len(reads) == uses[found.array] - 2 > 0:
            for node in reads:
                _read_there(node, found)
            gone.add(found.array)
    return gone


def _read_there(node: ast.Subscript, found: _Copy) -> None:
    """Let a node read the array that is copied."""
    assert isinstance(node.slice, ast.Tuple)
    made = copy.deepcopy(found.value)
    assert isinstance(made.slice, ast.Tuple)
    made.slice.elts[-1] = node.slice.elts[-1]
    node.value, node.slice = made.value, made.slice


def _without(body: list[ast.stmt], gone: Set[str]) -> list[ast.stmt]:
    """The statements of a block but for what makes and fills some arrays."""
    out: list[ast.stmt] = []
    for s in body:
        found = _Copy.of(s)
        if empty_array(s) in gone or (found is not None and found.array in gone):
            continue
        if isinstance(s, ast.For | ast.While | ast.If):
            s.body, s.orelse = _without(s.body, gone), _without(s.orelse, gone)
        out.append(s)
    return out
