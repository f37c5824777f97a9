"""Steps of a sweep back that nothing comes of are left out, where a loop takes one step after the other anyway.

    for j in range(m, 0, -1):                 for j in range(m, 0, -1):
        up = D[i - 1, j] < D[i, j - 1]            t = d_D[i, j]
        t = d_D[i, j]                             if t != 0.0:
        d_D[i, j] = 0.0                is             up = D[i - 1, j] < D[i, j - 1]
        d_D[i - 1, j] += t if up else 0.0             d_D[i, j] = 0.0
        d_D[i, j - 1] += 0.0 if up else t             d_D[i - 1, j] += t if up else 0.0
                                                      d_D[i, j - 1] += 0.0 if up else t

What the least of some numbers is depends on one of them alone: where a derivative goes one way or another, most are 0.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from srcgraph.codegen.flow import NOTHING, Names, assigned_names, live_before
from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import is_pure, names_in, nodes_in, statements_in

Value = float | bool | None
"""What is known of an expression where a derivative is 0: that it is 0.0, or whether it holds."""


def skipping(body: list[ast.stmt]) -> list[ast.stmt]:
    """Change such loops of a function."""
    if any(isinstance(s, Added) for s in statements_in(body)):
        _block(body, NOTHING, NOTHING, NOTHING)
    return body


def _block(body: Sequence[ast.stmt], after: Names, on_break: Names, on_continue: Names) -> None:
    """Change the loops of a block, given the names that are needed after it."""
    live = after
    for s in reversed(body):
        before = live_before([s], live, on_break, on_continue)
        if isinstance(s, ast.If):
            _block(s.body, live, on_break, on_continue)
            _block(s.orelse, live, on_break, on_continue)
        elif isinstance(s, ast.For | ast.While):
            header = live | before
            _block(s.body, header, live, header)
            if isinstance(s, ast.For):
                _skip(s, live)
        live = before


def _skip(loop: ast.For, after: Names) -> None:
    if loop.orelse or not _goes_on(loop.body) or not _goes_one_way(loop.body):
        return
    carried = after | live_before(loop.body, NOTHING, NOTHING, NOTHING)
    for read in filter(_is_read, loop.body):
        before, rest = _divided(loop.body, loop.body.index(read))
        factor, place = read.targets[0].id, ast.unparse(read.value)  # type: ignore[attr-defined]
        moved, others = assigned_names([*before, read]), assigned_names(rest)
        if moved.isdisjoint(carried | others) and _does_nothing(rest, factor, place, others & carried):
            test = ast.Compare(ast.Name(factor, ast.Load()), [ast.NotEq()], [ast.Constant(0.0)])
            loop.body = [*before, read, ast.copy_location(ast.If(test, _without_tests(rest, factor), []), read)]
            return


def _is_read(s: ast.stmt) -> bool:
    match s:
        case ast.Assign(targets=[ast.Name()], value=ast.Subscript(value=ast.Name())):
            return True
    return False


def _compared(node: ast.AST) -> str:
    match node:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=0.0)]):
            return name
    return ""


def _divided(body: Sequence[ast.stmt], at: int) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What has to come before an element is read, and what may come after it."""
    wanted = {n.id for n in names_in(body[at]) if isinstance(n.ctx, ast.Load)}
    before: list[ast.stmt] = []
    for s in reversed(body[:at]):
        if not isinstance(s, ast.Assign) or not is_pure(s.value) or not isinstance(s.targets[0], ast.Name):
            return list(body[:at]), list(body[at + 1 :])
        if not wanted.isdisjoint(assigned_names([s])):
            wanted |= {n.id for n in names_in(s)}
            before.insert(0, s)
    return before, [s for s in body if s not in before and s is not body[at]]


def _does_nothing(body: Sequence[ast.stmt], factor: str, place: str, needed: Names) -> bool:
    """Whether nothing is left of what statements do where a number, the element at a ``place``, is 0."""
    known: dict[str, Value] = {factor: 0.0}
    for s in body:
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_pure(value) and name not in needed:
                known[name] = _value(value, known)
            case ast.Assign(targets=[ast.Subscript() as target], value=ast.Constant(value=0.0)):
                if ast.unparse(target) != place:
                    return False
            case Added(op=ast.Add() | ast.Sub(), value=value) if _is_zero(_value(value, known)):
                continue
            case ast.AugAssign(target=ast.Name(), op=ast.Add() | ast.Sub(), value=value):
                if not _is_zero(_value(value, known)):
                    return False
            case _:
                return False
    return True


def _goes_on(body: Sequence[ast.stmt]) -> bool:
    """Whether a step adds to several places of one array: the next step waits for that."""
    places = {(ast.unparse(s.target.value), ast.unparse(s.target.slice)) for s in body if _is_added(s)}  # type: ignore[attr-defined]
    return max(Counter(array for array, _ in places).values(), default=0) > 1


def _goes_one_way(body: Sequence[ast.stmt]) -> bool:
    """Whether something but the number itself decides where it goes."""
    zeros = {ast.unparse(s.targets[0]) for s in body if isinstance(s, ast.Assign) and _is_asked_zero(s.value)}
    for node in nodes_in(*body):
        match node:
            case ast.IfExp(test, one, other) if any(
                isinstance(e, ast.Constant) and e.value == 0.0 for e in (one, other)
            ):
                if not _is_asked_zero(test) and ast.unparse(test) not in zeros:
                    return True
    return False


def _is_asked_zero(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=0.0)]):
            return True
    return False


def _is_added(s: ast.stmt) -> bool:
    return isinstance(s, Added) and isinstance(s.target, ast.Subscript)


def _is_zero(value: Value) -> bool:
    return isinstance(value, float)


def _value(node: ast.expr, known: Mapping[str, Value]) -> Value:
    match node:
        case ast.Name(id=name):
            return known.get(name)
        case ast.Constant(value=float(number)) if number == 0.0:
            return 0.0
        case ast.IfExp(test, body, orelse):
            way = _value(test, known)
            if isinstance(way, bool):
                return _value(body if way else orelse, known)
            return 0.0 if _is_zero(_value(body, known)) and _is_zero(_value(orelse, known)) else None
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return True if _is_zero(_value(left, known)) and _is_zero(_value(right, known)) else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return 0.0 if _is_zero(_value(operand, known)) else None
        case (
            ast.BinOp(left=ast.Constant(), op=ast.Mult(), right=x)
            | ast.BinOp(left=x, op=ast.Mult(), right=ast.Constant())
        ):
            return 0.0 if _is_zero(_value(x, known)) else None
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return 0.0 if _is_zero(_value(left, known)) and _is_zero(_value(right, known)) else None
    return None


def _without_tests(body: Sequence[ast.stmt], factor: str) -> list[ast.stmt]:
    """The statements where a number is not 0."""
    tests = {s.targets[0].id for s in body if isinstance(s, ast.Assign) and _compared(s.value) == factor}  # type: ignore[attr-defined]
    once = Counter(n.id for s in body for n in names_in(s) if isinstance(n.ctx, ast.Store))
    tests = {name for name in tests if once[name] == 1}
    decided = _Decided(factor, tests)
    made = [decided.visit(s) for s in body]
    read = {n.id for s in made for n in names_in(s) if isinstance(n.ctx, ast.Load)}
    return [s for s in made if not (isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) in tests - read)]


class _Decided(ast.NodeTransformer):
    """What is chosen where it is known that a number is not 0."""

    def __init__(self, factor: str, tests: set[str]):
        self.factor, self.tests = factor, tests

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if _compared(node.test) == self.factor or (isinstance(node.test, ast.Name) and node.test.id in self.tests):
            return node.orelse
        return node
