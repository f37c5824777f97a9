"""Tests as a person writes them: ``while a and b``, not a name that is computed before and asked after."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from srcgraph.codegen.expr import call, negated, number
from srcgraph.codegen.statements import names_in

Statements = list[ast.stmt]


class Replaced(ast.NodeTransformer):
    """Puts an expression in place of a name."""

    def __init__(self, name: str, value: ast.expr):
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """``2.0 * 1.0`` is ``2.0``: what a literal put in place of a name leaves behind.

        Of integers that need more than 64 bits one is written as ``int(x)``, since numba computes with literals itself.
        """
        self.generic_visit(node)
        x, y = _literal(node.left), _literal(node.right)
        if isinstance(x, float) and isinstance(y, float) and isinstance(node.op, ast.Mult):
            return ast.Constant(x * y) if math.isfinite(x * y) else node
        if type(x) is not int or type(y) is not int or type(node.op) not in _INTEGERS:
            return node
        found = _INTEGERS[type(node.op)](x, y) if not isinstance(node.op, ast.LShift) or 0 <= y < 64 else 2**64
        return number(found) if -(2**63) <= found < 2**63 else ast.BinOp(call("int", node.left), node.op, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """``--9`` is ``9``."""
        self.generic_visit(node)
        x = _literal(node.operand)
        if not isinstance(node.op, ast.USub) or isinstance(node.operand, ast.Constant) or type(x) is not int:
            return node
        return number(-x) if x > -(2**63) else ast.UnaryOp(node.op, call("int", node.operand))


_INTEGERS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift}


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.BinOp(op=ast.Sub()) if ast.dump(node) == _SMALLEST:
            return -(2**63)
    return None


_SMALLEST = ast.dump(number(-(2**63)))


def lazy_tests(body: Statements) -> Statements:
    """``t = a; if t: t = b`` is ``t = a and b``; a loop that begins by leaving has the test at its head."""
    out: Statements = []
    for node in body:
        if isinstance(node, ast.If):
            node.body, node.orelse = lazy_tests(node.body), lazy_tests(node.orelse)
            joined = _joined(out[-1], node) if out else None
            if joined is not None:
                out[-1] = joined
                continue
        elif isinstance(node, ast.For | ast.While):
            node.body = lazy_tests(node.body)
            node = _tested_at_head(node)
        out.append(node)
    return out


def _joined(before: ast.stmt, node: ast.If) -> ast.Assign | None:
    """``t = a and b``, or ``or``, for an `if` that computes anew what it tests."""
    name = _tested(node.test)
    if not name or node.orelse or len(node.body) != 1 or not (_assigns(before, name) and _assigns(node.body[0], name)):
        return None
    first, second = before.value, node.body[0].value  # type: ignore[attr-defined]
    op = ast.And() if isinstance(node.test, ast.Name) else ast.Or()
    values = [*first.values] if isinstance(first, ast.BoolOp) and type(first.op) is type(op) else [first]
    test = ast.BoolOp(op, [*values, second])
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], test), before)


def _tested_at_head(loop: ast.For | ast.While) -> ast.For | ast.While:
    """``while True: if not c: break`` is ``while c``."""
    first = loop.body[0]
    endless = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value is True
    if not endless or not isinstance(first, ast.If) or first.orelse or len(first.body) != 1:
        return loop
    if not isinstance(first.body[0], ast.Break):
        return loop
    return ast.copy_location(ast.While(negated(first.test), loop.body[1:] or [ast.Pass()], []), loop)


Names = frozenset[str]
_NONE: Names = frozenset()


def direct_tests(body: Statements) -> Statements:
    """``c = x > 0; if c:`` where nothing else reads that ``c`` tests ``x > 0`` directly."""

    def asked(before: ast.stmt, node: ast.If, read: dict[int, Names]) -> bool:
        name = _tested(node.test)
        if not name or not _assigns(before, name) or name in read[id(node)]:
            return False
        node.test = Replaced(name, before.value).visit(node.test)  # type: ignore[attr-defined]
        return True

    return _asked(body, asked)


Asked = Callable[[ast.stmt, ast.If, dict[int, Names]], bool]
"""Whether an `if`, which it changes then, needs the statement before it no more; given what each test, and each `if`
once its test is known, reads."""


def _asked(body: Statements, asked: Asked) -> Statements:
    """Statements without those that the `if` after them does not need."""
    read: dict[int, Names] = {}
    _live(body, _NONE, _NONE, _NONE, read)

    def block(statements: Statements) -> Statements:
        out: Statements = []
        for node in statements:
            if isinstance(node, ast.If):
                node.body, node.orelse = block(node.body), block(node.orelse)
                if out and asked(out[-1], node, read):
                    out.pop()
            elif isinstance(node, ast.For | ast.While):
                node.body = block(node.body)
            out.append(node)
        return out

    return block(body)


def reads_in_tests(body: Statements) -> Statements:
    """``y = d[i]; if c[i] and y < b: b = y`` is ``if c[i] and d[i] < b: b = d[i]``.

    Where the first test says no, nothing is read: LLVM would else make ``b`` of both tests in each step, and the next
    step would wait for it. Where the branch changes nothing that the test asks, LLVM does better with ``y``: it takes
    several steps at a time.
    """

    def asked(before: ast.stmt, node: ast.If, read: dict[int, Names]) -> bool:
        name = _element(before)
        if not name or node.orelse or not _is_asked_second(node, name) or name in read[id(node.test)]:
            return False
        node.test = Replaced(name, before.value).visit(node.test)  # type: ignore[attr-defined]
        node.body = _read_there(before, name, node.body)
        return True

    return _asked(body, asked)


def _element(node: ast.stmt) -> str:
    """The name that a statement gives to an element of an array."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(), slice=index)):
            plain = all(isinstance(n, ast.expr_context | ast.operator | _PLAIN) for n in ast.walk(index))
            return name if plain else ""
    return ""


_PLAIN = ast.Name | ast.Constant | ast.Tuple | ast.BinOp


def _is_asked_second(node: ast.If, name: str) -> bool:
    """Whether an ``and`` reads a name once, not first, and beside another one that the branch gives a value."""
    if not isinstance(node.test, ast.BoolOp) or not isinstance(node.test.op, ast.And):
        return False
    asked = [_named(value) for value in node.test.values if name in _named(value)]
    given = {n.id for n in names_in(*node.body) if isinstance(n.ctx, ast.Store)} - {name}
    once = sum(n.id == name for n in names_in(node.test)) == 1
    return once and name not in _named(node.test.values[0]) and not given.isdisjoint(asked[0])


def _read_there(made: ast.stmt, name: str, body: Statements) -> Statements:
    """The branch, which reads the element at its beginning if it reads it."""
    first = body[0]
    if sum(n.id == name for n in names_in(*body)) == 0:
        return body
    if isinstance(first, ast.Assign) and isinstance(first.value, ast.Name) and first.value.id == name:
        if all(n.id != name for n in names_in(*body[1:])):
            return [ast.copy_location(ast.Assign(first.targets, made.value), first), *body[1:]]  # type: ignore[attr-defined]
    return [made, *body]


def _live(block: Statements, end: Names, leave: Names, again: Names, read: dict[int, Names]) -> Names:
    """The names whose values before ``block`` may be read, given those where it leads to.

    Of each `if`, and by its test where that says no, in ``read``.
    """
    if not block:
        return end
    live = set() if isinstance(block[-1], ast.Return | ast.Raise) else set(end)
    for node in reversed(block):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)]):
                live.discard(target)
                live |= _named(node.value)
            case ast.If():
                now = frozenset(live)
                sides = [_live(side, now, leave, again, read) for side in (node.body, node.orelse)]
                read[id(node)], read[id(node.test)] = sides[0] | sides[1], sides[1]
                live = {*read[id(node)], *_named(node.test)}
            case ast.For() | ast.While():
                now = frozenset(live)
                head = now | _named(node.iter if isinstance(node, ast.For) else node.test)
                head |= _live(node.body, _NONE, _NONE, _NONE, read)
                _live(node.body, head, now, head, read)
                live = set(head)
            case ast.Break() | ast.Continue():
                live = set(leave if isinstance(node, ast.Break) else again)
            case ast.Return() | ast.Raise():
                live = set(_named(node))
            case _:
                live |= _named(node)
    return frozenset(live)


def _named(*trees: ast.AST) -> Names:
    return frozenset(n.id for n in names_in(*trees))


def _tested(test: ast.expr) -> str:
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return inner.id if isinstance(inner, ast.Name) else ""


def _assigns(node: ast.stmt | None, name: str) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
