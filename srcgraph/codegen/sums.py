"""Sums in blocks: see `srcgraph.runtime.blocks`.

``total = 0.0`` and a loop with ``total += x[i]`` become::

    total = lost = 0.0
    for block in blocks(n):
        part = 0.0
        for i in block:
            part = plus(part, x[i])
        total, lost = two_sum(total, part, lost)
    total += lost

where the sum is an operation on arrays. One that the user wrote as a loop is added up as it stands there.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from srcgraph.codegen.statements import names_in, statements_in

HELPERS = ("blocks", "plus", "two_sum")
EXTREMES = ("maximum", "minimum")
"""Reductions whose function LLVM vectorises too."""
RUNNING = ("running_maximum", "running_minimum")
"""The same in loops that need them in each step: see `srcgraph.codegen.running`."""
NAMES = HELPERS + EXTREMES + RUNNING
FEW = 16
"""A loop of at most so many steps, a number that is known, is not divided."""
SHORT = 8
"""LLVM writes out loops of at most so many steps, and takes several of those around them at a time."""


class Start(ast.Assign):
    """The first value of a sum over a nest."""


class Summed(ast.AugAssign):
    """What such a sum gets at each point of the nest."""


def in_blocks(body: Sequence[ast.stmt], taken: Iterable[str]) -> list[ast.stmt]:
    """The statements with the loops of sums divided; names that are ``taken`` have other meanings."""
    out = _Sums({*taken, *(n.id for n in names_in(*body))}).block(body)
    _as_written(out)
    return out


@dataclass
class _Sums:
    taken: set[str]
    kinds: dict[str, str] = field(default_factory=dict)
    """Of the variables made here: what they begin with."""

    def name(self, base: str, kind: str, busy: set[str]) -> str:
        """A name for what begins with ``kind``: neither the user's, nor one that is needed here."""
        for k in count(1):
            name = base if k == 1 else f"{base}_{k}"
            if name not in self.taken and name not in busy and self.kinds.get(name, kind) == kind:
                self.kinds[name] = kind
                busy.add(name)
                return name
        raise AssertionError

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        starts: dict[str, Start] = {}
        for node in body:
            if isinstance(node, Start):
                starts[_name(node.targets[0])] = node
            for inner in _bodies(node):
                inner[:] = self.block(inner)
            out.append(node)
            sums = [starts[n] for n in _sums(node) if n in starts] if isinstance(node, ast.For) else []
            loops = [(_to_divide(node, _name(s.targets[0])), s) for s in sums]
            for loop in dict.fromkeys(loop for loop, _ in loops if loop is not None):
                out += self.divided(node, loop, [s for each, s in loops if each is loop])
        return out

    def divided(self, nest: ast.stmt, loop: ast.For, sums: Sequence[Start]) -> list[ast.stmt]:
        """Divide one of a nest's loops into blocks; what ends the sums."""
        each, after, end = [], [], []
        parts = {}
        busy = {n.id for n in names_in(nest)}
        for start in sums:
            kind = ast.unparse(start.value)
            total = _name(start.targets[0])
            part, lost = (self.name(base, kind, busy) for base in ("part", "lost"))
            parts[total] = part
            start.targets.append(ast.Name(lost, ast.Store()))
            each.append(_assign(part, copy.copy(start.value)))
            after.append(_assign(f"{total}, {lost}", _call("two_sum", total, part, lost)))
            end.append(ast.AugAssign(ast.Name(total, ast.Store()), ast.Add(), ast.Name(lost, ast.Load())))
        block = self.name("block", "", busy)
        inner = ast.For(loop.target, ast.Name(block, ast.Load()), _in_parts(loop.body, parts), [])
        assert isinstance(loop.iter, ast.Call)
        loop.target = ast.Name(block, ast.Store())
        loop.iter = ast.Call(ast.Name("blocks", ast.Load()), loop.iter.args, [])
        loop.body = [*each, inner, *after]
        for made in (*each, inner, *after, *end):
            made.lineno = loop.lineno
        return end


def _in_parts(body: Sequence[ast.stmt], names: dict[str, str]) -> list[ast.stmt]:
    """The statements of a loop, which add to parts instead of totals."""
    out: list[ast.stmt] = []
    for node in body:
        for inner in _bodies(node):
            inner[:] = _in_parts(inner, names)
        if isinstance(node, Summed) and _name(node.target) in names:
            part = names[_name(node.target)]
            value = ast.Call(ast.Name("plus", ast.Load()), [ast.Name(part, ast.Load()), node.value], [])
            node = ast.copy_location(_assign(part, value), node)
        out.append(node)
    return out


def _sums(node: ast.stmt) -> list[str]:
    """The sums that go on in a loop and have begun before it, in order."""
    inside = list(statements_in([node]))
    begun = {_name(s.targets[0]) for s in inside if isinstance(s, Start)}
    return sorted({_name(s.target) for s in inside if isinstance(s, Summed)} - begun)


def _to_divide(node: ast.stmt, name: str) -> ast.For | None:
    """The innermost loop of a nest that adds to this sum and has more than a few steps."""
    best = None
    while isinstance(node, ast.For):
        if _has_steps(node.iter):
            best = node
        node = next((s for s in node.body if isinstance(s, ast.For) and name in _sums(s)), ast.Pass())
    return best


def _has_steps(run: ast.expr) -> bool:
    """Whether a loop over ``run`` may have more than a few steps."""
    match run:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(stop))]):
            return stop > FEW
        case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _]):
            return True
    return False


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.If | ast.For | ast.While):
        yield node.body
        yield node.orelse


def _as_written(body: list[ast.stmt], loop: ast.For | None = None) -> None:
    """Sums that are not in blocks are plain statements, or of more terms than LLVM writes out, which it adds up in any
    order."""
    several = loop is not None and known_steps(loop.iter) > SHORT
    for k, node in enumerate(body):
        if isinstance(node, Start):
            body[k] = ast.copy_location(ast.Assign(node.targets, node.value), node)
        elif isinstance(node, Summed):
            body[k] = ast.copy_location(_plus(node) if several else _plain(node), node)
        for inner in _bodies(node):
            _as_written(inner, node if isinstance(node, ast.For) else loop)


def _plain(node: Summed) -> ast.AugAssign:
    return ast.AugAssign(node.target, node.op, node.value)


def _plus(node: Summed) -> ast.Assign:
    name = _name(node.target)
    return _assign(name, ast.Call(ast.Name("plus", ast.Load()), [ast.Name(name, ast.Load()), node.value], []))


def known_steps(run: ast.expr) -> int:
    """How many steps a loop has that is known to have a few, else 0."""
    match run:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(stop))]):
            return stop
    return 0


def _name(node: ast.expr) -> str:
    assert isinstance(node, ast.Name)
    return node.id


def _assign(target: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.parse(f"{target} = 0").body[0].targets[0]], value, lineno=0)  # type: ignore[attr-defined]


def _call(function: str, *args: str) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), [ast.Name(a, ast.Load()) for a in args], [])
