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
    first = next((s for s in rest if any(n.id == target.id for n in names_in(s))), None)
    found = _place_in(first, target.id, sizes, []) if isinstance(first, ast.For) else None
    if first is None or found is None or not _is_read_there(first, found, target.id):
        return
    block, k = found.block, found.at
    s = block[k]
    if isinstance(s, Added):
        value = s.value if isinstance(s.op, ast.Add) else ast.UnaryOp(ast.USub(), s.value)
        block[k] = ast.copy_location(ast.Assign([s.target], value), s)
    assert isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute)
    node.value.func.attr = "empty"


@dataclass(frozen=True)
class _Place:
    """The statement of a block that stores or adds to each element in turn, and the loops' variables around it."""

    block: list[ast.stmt]
    at: int
    around: list[str]


def _is_read_there(loop: ast.stmt, found: _Place, name: str) -> bool:
    """Whether nothing else in the loop has the array, but for its element, after it is stored."""
    store, rest = found.block[found.at], found.block[found.at + 1 :]
    assert isinstance(store, Added | ast.Assign)
    if any(n.id == name for n in names_in(store.value)):
        return False
    read = [n for s in rest for n in ast.walk(s) if isinstance(n, ast.Subscript) and _base(n) == name]
    own = all(_index(n) == found.around and isinstance(n.ctx, ast.Load) for n in read)
    kept = not any(n.id in found.around and isinstance(n.ctx, ast.Store) for s in rest for n in names_in(s))
    return own and kept and sum(n.id == name for n in names_in(loop)) == 1 + len(read)


def _place_in(loop: ast.For, name: str, sizes: list[ast.expr], around: list[str]) -> _Place | None:
    """Where each element is stored or added to in turn; None if not each is, once."""
    if len(around) == len(sizes) or not isinstance(loop.target, ast.Name) or _is_left(loop.body):
        return None
    inner = _by_strips(loop, name, sizes[len(around)])
    if inner is not None:
        loop = inner
    elif not _covers(loop.iter, sizes[len(around)]):
        return None
    assert isinstance(loop.target, ast.Name)
    around = [*around, loop.target.id]
    for k, s in enumerate(loop.body):
        if not any(n.id == name for n in names_in(s)):
            continue
        if isinstance(s, ast.For):
            return _place_in(s, name, sizes, around)
        target = s.target if isinstance(s, Added) else s.targets[0] if isinstance(s, ast.Assign) else None
        is_own = target is not None and _base(target) == name and _index(target) == around
        return _Place(loop.body, k, around) if is_own else None
    return None


def _by_strips(loop: ast.For, name: str, size: ast.expr) -> ast.For | None:
    """The loop over elements in one over strips of them, all of an axis', if it is what has an array in it."""
    match loop:
        case ast.For(
            target=ast.Name(id=first), iter=ast.Call(args=[ast.Constant(0), stop, ast.Constant(int(many))]), body=body
        ) if ast.unparse(stop) == ast.unparse(size):
            ends = [f"min({first} + {many}, {ast.unparse(size)})"]
            assigned = [s for s in body if isinstance(s, ast.Assign)]
            ends += [ast.unparse(s.targets[0]) for s in assigned if ast.unparse(s.value) == ends[0]]
            using = next((s for s in body if any(n.id == name for n in names_in(s))), None)
            if isinstance(using, ast.For) and isinstance(using.target, ast.Name) and not _is_left(using.body):
                if ast.unparse(using.iter) in [f"range({first}, {end})" for end in ends]:
                    return using
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
