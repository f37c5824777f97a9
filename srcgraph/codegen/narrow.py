"""Arrays of which each step of a loop uses one row, its own: that row is all that is kept.

``t = np.empty((n, m))`` before a loop over ``i`` that is all that uses ``t``, as ``t[i, j]``, is ``t = np.empty(m)``,
used as ``t[j]``. It stays in the processor's nearest memory. One that is used as ``t[i]`` alone is a number.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.codegen.statements import names_in, nodes_in


def narrowed(body: list[ast.stmt]) -> list[ast.stmt]:
    """Change such arrays in a function, in place."""
    made = list(_arrays(body))
    names = Counter(n.id for n in names_in(*body)) if made else Counter[str]()
    for array in made:
        array.places = _places(array.rest, array.name)
        if names[array.name] == len(array.places) + 1:
            _narrow(array)
    return body


@dataclass
class _Array:
    """What makes an array with nothing in it, the block that it is in, and where the array's elements are used."""

    name: str
    made: ast.Assign
    block: list[ast.stmt]
    places: Sequence[ast.Subscript] = ()

    @property
    def call(self) -> ast.Call:
        assert isinstance(self.made.value, ast.Call)
        return self.made.value

    @property
    def rest(self) -> Sequence[ast.stmt]:
        return self.block[self.block.index(self.made) + 1 :]


def _arrays(body: list[ast.stmt]) -> Iterator[_Array]:
    for s in body:
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="empty"))):
                yield _Array(name, s, body)
            case ast.If() | ast.For() | ast.While():
                yield from _arrays(s.body)
                yield from _arrays(s.orelse)


def _places(body: Sequence[ast.stmt], name: str) -> list[ast.Subscript]:
    """Where elements of an array are used."""
    found = (n for n in nodes_in(*body) if isinstance(n, ast.Subscript))
    return [n for n in found if isinstance(n.value, ast.Name) and n.value.id == name]


def _narrow(array: _Array) -> None:
    """Leave out axes as long as one loop uses the array, in each step the part that has the loop's number."""
    block = array.rest
    while True:
        loop = _loop(block, array)
        if loop is None or not all(_is(p, loop.target) for p in array.places) or _changes(loop):
            break
        block = loop.body
        if not isinstance(array.call.args[0], ast.Tuple):
            if _begins_with_store(block, array):
                _Number(array.name).visit(loop)
                array.block.remove(array.made)
            break
        array.call.args[0] = _without_first(array.call.args[0])
        for place in array.places:
            assert isinstance(place.slice, ast.Tuple)
            place.slice = _without_first(place.slice)


def _begins_with_store(block: Sequence[ast.stmt], array: _Array) -> bool:
    """Whether the first thing that a block does with an array of floats is to store a number into it."""
    for s in block:
        if any(n.id == array.name for n in names_in(s)):
            break
    else:
        return False
    match s:
        case ast.Assign(targets=[ast.Subscript()], value=value):
            is_of_floats = len(array.call.args) + len(array.call.keywords) == 1
            return is_of_floats and all(n.id != array.name for n in names_in(value))
    return False


class _Number(ast.NodeTransformer):
    """An array's one element as a number."""

    def __init__(self, array: str):
        self.array = array

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.array:
            return ast.copy_location(ast.Name(self.array, node.ctx), node)
        self.generic_visit(node)
        return node


def _loop(block: Sequence[ast.stmt], array: _Array) -> ast.For | None:
    """The loop that is all that uses an array. A branch may have it, but no other loop: that would keep rows."""
    users = [s for s in block if any(n.id == array.name for n in names_in(s))]
    match users:
        case [ast.For(iter=run, orelse=[]) as loop] if all(n.id != array.name for n in names_in(run)):
            return loop
        case [ast.If(test=test, body=body, orelse=orelse)] if all(n.id != array.name for n in names_in(test)):
            return _loop([*body, *orelse], array)
    return None


def _is(place: ast.Subscript, target: ast.expr) -> bool:
    """Whether the first index is the loop's number."""
    first = place.slice.elts[0] if isinstance(place.slice, ast.Tuple) else place.slice
    return isinstance(first, ast.Name) and isinstance(target, ast.Name) and first.id == target.id


def _changes(loop: ast.For) -> bool:
    """Whether a loop changes its number."""
    return any(isinstance(n.ctx, ast.Store) and n.id == loop.target.id for n in names_in(*loop.body))  # type: ignore[attr-defined]


def _without_first(axes: ast.Tuple) -> ast.expr:
    rest = axes.elts[1:]
    return rest[0] if len(rest) == 1 else ast.copy_location(ast.Tuple(rest, axes.ctx), axes)
