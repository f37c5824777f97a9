"""Loops that LLVM may take several steps of at a time: upwards.

A derivative's loop runs the way back. Where its steps do not depend on each other, but for additions whose order is
nobody's, it may as well run upwards.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from srcgraph.codegen.affine import plus
from srcgraph.codegen.flow import NOTHING, NeededNames, live_before
from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import is_pure, names_in, statements_in


def upward(body: list[ast.stmt]) -> list[ast.stmt]:
    """Change the loops of a function in place."""
    _block(body, NOTHING)
    return body


def _block(body: Sequence[ast.stmt], after: frozenset[str] | set[str]) -> None:
    """Change the loops of a block, given the names that are needed after it."""
    places = [k for k, node in enumerate(body) if any(isinstance(s, ast.For) for s in statements_in([node]))]
    needed = NeededNames.in_block(body if places else [], after)
    for k in places:
        node = body[k]
        live = needed.all(k)
        if isinstance(node, ast.If):
            _block(node.body, live)
            _block(node.orelse, live)
            continue
        assert isinstance(node, ast.For | ast.While)
        _block(node.body, live | live_before([node], live, NOTHING, NOTHING))
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and _runs_back(node.iter):
            if _is_simple(node.body) and _in_any_order(node, live):
                node.iter = _turned(node.iter)


def _is_simple(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop runs to its end, and what is in it in each step, but for short loops."""
    for s in body:
        if isinstance(s, ast.For):
            if not _is_short(s) or not _is_simple(s.body):
                return False
        elif not isinstance(s, ast.Assign | ast.AugAssign):
            return False
    return True


def _is_short(loop: ast.For) -> bool:
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int())]):
            return True
    return False


# -- the way -----------------------------------------------------------------------------------------------


def _runs_back(run: ast.expr) -> bool:
    match run:
        case ast.Call(
            func=ast.Name(id="range"), args=[_, _, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))]
        ):
            return True
    return False


def _turned(run: ast.expr) -> ast.expr:
    """``range(n - 1, i, -1)`` as ``range(i + 1, n)``."""
    assert isinstance(run, ast.Call)
    last, before, _ = run.args
    first, stop = plus(before, 1), plus(last, 1)
    is_zero = isinstance(first, ast.Constant) and first.value == 0
    return ast.Call(run.func, [_count(stop)] if is_zero else [first, stop], [])


def _count(stop: ast.expr) -> ast.expr:
    """How many steps, from 0: none if it is negative."""
    match stop:
        case ast.Call(func=ast.Name(id="max"), args=[count, ast.Constant(value=0)]):
            return count
    return stop


def _in_any_order(loop: ast.For, after: frozenset[str]) -> bool:
    """Whether the steps of a loop may run in any order: nothing is handed on from one to the next."""
    numbers, changed = _stores(loop)
    assert isinstance(loop.target, ast.Name)
    if not all(map(is_pure, loop.body)):
        return False
    carried = numbers & live_before(loop.body, NOTHING, NOTHING, NOTHING)
    if carried or not after.isdisjoint({*numbers, loop.target.id}):
        return False
    return all(_apart(loop, array, loop.target.id) for array in changed)


def _stores(loop: ast.For) -> tuple[set[str], set[str]]:
    """The numbers that a loop assigns, and the arrays that it changes."""
    numbers: set[str] = set()
    arrays: set[str] = set()
    for s in statements_in(loop.body):
        targets = s.targets if isinstance(s, ast.Assign) else [s.target]  # type: ignore[attr-defined]
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                (arrays if isinstance(part, ast.Subscript) else numbers).add(_base(part))
    return numbers, arrays


def _base(target: ast.expr) -> str:
    inner = target.value if isinstance(target, ast.Subscript) else target
    return inner.id if isinstance(inner, ast.Name) else ast.unparse(inner)


def _apart(loop: ast.For, array: str, index: str) -> bool:
    """Whether an array is only added to, or each step has an element of its own, at the loop's number."""
    uses = list(_uses(loop.body, array))
    count = sum(n.id == array for n in names_in(*loop.body))
    if len(uses) != count:
        return False
    added = [s.target for s in statements_in(loop.body) if isinstance(s, Added) and _base(s.target) == array]
    if len(added) == count:
        return True
    places = {ast.unparse(u.slice) for u in uses}
    axes = uses[0].slice.elts if isinstance(uses[0].slice, ast.Tuple) else [uses[0].slice]
    return len(places) == 1 and any(isinstance(a, ast.Name) and a.id == index for a in axes)


def _uses(body: Sequence[ast.stmt], array: str) -> Iterator[ast.Subscript]:
    for s in body:
        for node in ast.walk(s):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == array:
                yield node
