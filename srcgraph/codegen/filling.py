"""Arrays of zeros whose every element is stored, or added to, once before anything else: nothing need be zero.

``d_x = np.zeros(n)`` before ``for i in range(n): d_x[i] += y`` is ``d_x = np.empty(n)`` before ``d_x[i] = y``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import names_in, statements_in


def filled_once(body: list[ast.stmt]) -> list[ast.stmt]:
    """Change such arrays, in a block and those inside it, in place."""
    for k, node in enumerate(body):
        if isinstance(node, ast.If | ast.For | ast.While):
            filled_once(node.body)
            filled_once(node.orelse)
        elif isinstance(node, ast.Assign) and _zeros(node) is not None:
            _exchange(node, body[k + 1 :])
    return body


def _zeros(node: ast.Assign) -> list[ast.expr] | None:
    """The lengths of the array of zeros that a statement makes; None if it makes none."""
    match node:
        case ast.Assign(
            targets=[ast.Name()], value=ast.Call(func=ast.Attribute(ast.Name("np"), "zeros"), args=[shape, *_])
        ):
            return shape.elts if isinstance(shape, ast.Tuple) else [shape]
    return None


def _exchange(node: ast.Assign, rest: Sequence[ast.stmt]) -> None:
    target, sizes = node.targets[0], _zeros(node)
    assert isinstance(target, ast.Name) and sizes is not None
    first = next((s for s in rest if _has(s, target.id)), None)
    found = _places_in(first, target.id, sizes, []) if isinstance(first, ast.For) else None
    if first is None or not found or not _are_read_there(first, found, target.id):
        return
    for place in found:
        s = place.block[place.at]
        if isinstance(s, Added):
            value = s.value if isinstance(s.op, ast.Add) else ast.UnaryOp(ast.USub(), s.value)
            place.block[place.at] = ast.copy_location(ast.Assign([s.target], value), s)
    assert isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
    node.value.func.attr = "empty"


def _has(node: ast.AST, name: str) -> bool:
    return any(n.id == name for n in names_in(node))


@dataclass(frozen=True)
class _Place:
    """The statement of a block that stores or adds to each element in turn, and the loops' variables around it."""

    block: list[ast.stmt]
    at: int
    around: list[str]

    def is_read_after(self, name: str) -> int | None:
        """How often the array's element is read after it is stored; None if anything else is done with the array."""
        store, rest = self.block[self.at], self.block[self.at + 1 :]
        assert isinstance(store, Added | ast.Assign)
        read = [n for s in rest for n in ast.walk(s) if isinstance(n, ast.Subscript) and _base(n) == name]
        own = all(_index(n) == self.around and isinstance(n.ctx, ast.Load) for n in read)
        kept = not any(n.id in self.around and isinstance(n.ctx, ast.Store) for s in rest for n in names_in(s))
        return len(read) if own and kept and not _has(store.value, name) else None


def _are_read_there(loop: ast.stmt, found: Sequence[_Place], name: str) -> bool:
    """Whether nothing else in the loop has the array, but for its element, after it is stored."""
    reads = [place.is_read_after(name) for place in found]
    known = [count for count in reads if count is not None]
    return len(known) == len(reads) and sum(n.id == name for n in names_in(loop)) == len(found) + sum(known)


def _places_in(loop: ast.For, name: str, sizes: list[ast.expr], around: list[str]) -> list[_Place] | None:
    """Where each element is stored or added to in turn, on each way through a loop; None if not each is, once."""
    if len(around) == len(sizes) or not isinstance(loop.target, ast.Name) or _is_left(loop.body):
        return None
    loops = _by_strips(loop, name, sizes[len(around)])
    if not loops and not _covers(loop.iter, sizes[len(around)]):
        return None
    places: list[_Place] = []
    for inner in loops or [loop]:
        assert isinstance(inner.target, ast.Name)
        own = [*around, inner.target.id]
        k, s = next(((k, s) for k, s in enumerate(inner.body) if _has(s, name)), (0, None))
        if isinstance(s, ast.For):
            found = _places_in(s, name, sizes, own)
        else:
            target = s.target if isinstance(s, Added) else s.targets[0] if isinstance(s, ast.Assign) else None
            is_own = target is not None and _base(target) == name and _index(target) == own
            found = [_Place(inner.body, k, own)] if is_own else None
        if found is None:
            return None
        places += found
    return places


def _by_strips(loop: ast.For, name: str, size: ast.expr) -> list[ast.For]:
    """The loops over elements, one on each way through a loop over strips of them, all of an axis', if these are what
    has an array in it."""
    match loop:
        case ast.For(
            target=ast.Name(id=first), iter=ast.Call(args=[ast.Constant(0), stop, ast.Constant(int(many))]), body=body
        ) if ast.unparse(stop) == ast.unparse(size):
            ends = [f"min({first} + {many}, {ast.unparse(size)})"]
            assigned = [s for s in body if isinstance(s, ast.Assign)]
            ends += [ast.unparse(s.targets[0]) for s in assigned if ast.unparse(s.value) == ends[0]]
            return _over(body, name, [f"range({first}, {end})" for end in ends]) or []
    return []


def _over(body: Sequence[ast.stmt], name: str, runs: Sequence[str]) -> list[ast.For] | None:
    """The loops over some run that have an array in them first, on each way through a block; None if
    there is none on one of them."""
    match next((s for s in body if _has(s, name)), None):
        case ast.For(target=ast.Name(), iter=run) as using:
            return [using] if ast.unparse(run) in runs and not _is_left(using.body) else None
        case ast.If(test=test, body=then, orelse=orelse) if not _has(test, name):
            sides = [_over(then, name, runs), _over(orelse, name, runs)]
            return None if None in sides else [loop for side in sides for loop in side or ()]
    return None


def _is_left(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop may end early."""
    for s in body:
        if isinstance(s, ast.Break | ast.Continue | ast.Return):
            return True
        if isinstance(s, ast.If) and (_is_left(s.body) or _is_left(s.orelse)):
            return True
        if isinstance(s, ast.For | ast.While) and any(isinstance(t, ast.Return) for t in statements_in(s.body)):
            return True
    return False


def _covers(run: ast.expr, size: ast.expr) -> bool:
    """Whether a loop is over all indices of an axis, in either direction."""
    last = ast.BinOp(size, ast.Sub(), ast.Constant(1))
    return ast.unparse(run) in (f"range({ast.unparse(size)})", f"range({ast.unparse(last)}, -1, -1)")


def _base(target: ast.expr) -> str:
    match target:
        case ast.Subscript(value=ast.Name(id=name)):
            return name
    return ""


def _index(target: ast.expr) -> list[str]:
    assert isinstance(target, ast.Subscript)
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    return [ast.unparse(p) for p in parts]
