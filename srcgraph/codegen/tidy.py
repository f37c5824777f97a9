"""Statements as a person writes them: `break` and `return` where they happen, not flags after.

The graph has structured loops only; early exits are flags there. These rewrites are exact: a flag
goes only when every path that sets it leaves at once.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Sequence

from srcgraph.codegen.expr import negated
from srcgraph.codegen.statements import form_of, names_in, statements_in
from srcgraph.codegen.truths import Replaced, direct_tests, lazy_tests, reads_in_tests

Statements = list[ast.stmt]

LONGEST = 40
"""An expression of more operations than this is not returned without a name."""


def tidy(body: Statements) -> Statements:
    """Apply the rewrites until nothing changes."""
    while True:
        before = form_of(*body)
        body = _block(body)
        body = returned_by_branch(body)
        body = returned_inside(body)
        body = without_dead_flags(body)
        body = returned_directly(body)
        body = direct_tests(lazy_tests(body))
        if form_of(*body) == before:
            return reads_in_tests(body)


def _block(body: Statements) -> Statements:
    out: Statements = []
    for node in body:
        if out and isinstance(out[-1], ast.Raise):
            break
        match node:
            case ast.If():
                node.body, node.orelse = _block(node.body), _block(node.orelse)
                out += _if(node)
            case ast.For() | ast.While():
                node.body = sunk_break(_block(node.body))
                out.append(node)
            case _:
                out.append(node)
    return flattened(merged_tests(out))


def _if(node: ast.If) -> Statements:
    if not node.body and not node.orelse:
        return []
    if isinstance(node.test, ast.Constant) and node.test.value is True:
        return node.body
    if not node.body:
        return [ast.copy_location(ast.If(negated(node.test), node.orelse, []), node)]
    return [node]


def ends(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing after ``body`` runs."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and ends(last.body) and ends(last.orelse)
    return isinstance(last, ast.Break | ast.Return | ast.Raise | ast.Continue)


def flattened(body: Statements) -> Statements:
    """After ``if c: ...; break`` the else branch needs no indentation."""
    out: Statements = []
    for k, node in enumerate(body):
        out.append(node)
        if isinstance(node, ast.If) and node.orelse and ends(node.body) and not _is_elif(node):
            rest, node.orelse = node.orelse, []
            return out + flattened(rest + body[k + 1 :])
        if ends([node]):
            return out
    return out


def _is_elif(node: ast.If) -> bool:
    return len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and not ends(node.orelse)


def merged_tests(body: Statements) -> Statements:
    """``if c: A else: B`` followed by ``if c: break`` is ``if c: A; break else: B``."""
    out: Statements = []
    for node in body:
        last = out[-1] if out else None
        if isinstance(node, ast.If) and isinstance(last, ast.If) and not node.orelse and ends(node.body):
            same = form_of(node.test) == form_of(last.test)
            opposite = form_of(negated(last.test)) == form_of(node.test)
            if (same or opposite) and _steady(node.test, last):
                side = last.body if same else last.orelse
                if not ends(side):
                    side += node.body
                    continue
        out.append(node)
    return out


def _steady(test: ast.expr, node: ast.If) -> bool:
    """Whether ``test`` is a variable, or not of one, that the branches do not change."""
    names = {n.id for n in names_in(test)}
    plain = all(isinstance(n, ast.Name | ast.UnaryOp | ast.Not | ast.Load) for n in ast.walk(test))
    return plain and names.isdisjoint(assigned(node))


def assigned(node: ast.AST) -> set[str]:
    """The names a statement binds anywhere inside."""
    return {n.id for n in names_in(node) if isinstance(n.ctx, ast.Store)}


def sunk_break(body: Statements) -> Statements:
    """``... stop = True ...; if stop: break`` breaks where the flag is set."""
    if len(body) < 2 or not isinstance(body[-1], ast.If) or body[-1].orelse:
        return body
    last = body[-1]
    if not isinstance(last.test, ast.Name) or len(last.body) != 1 or not isinstance(last.body[0], ast.Break):
        return body
    flag = last.test.id
    choice = body[-2]
    if not isinstance(choice, ast.If) or _reads(body[:-1], flag):
        return body
    if _decided(choice, flag) and not _sets(body[:-2], flag):
        _leave_where_set(choice, flag)
        return body[:-1]
    return body


def _reads(body: Sequence[ast.stmt], name: str) -> bool:
    return any(n.id == name and isinstance(n.ctx, ast.Load) for n in names_in(*body))


def _sets(body: Sequence[ast.stmt], name: str) -> bool:
    return any(name in assigned(s) for s in body)


def _flag_value(node: ast.stmt, flag: str) -> bool | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        if node.targets[0].id == flag and isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
            return node.value.value
    return None


def _decided(node: ast.If, flag: str) -> bool:
    """Whether every branch ends by setting the flag to a literal, and sets it nowhere else."""
    for side in (node.body, node.orelse):
        if not side:
            return False
        if _sets(side[:-1], flag):
            return False
        last = side[-1]
        if isinstance(last, ast.If):
            if not _decided(last, flag):
                return False
        elif _flag_value(last, flag) is None:
            return False
    return True


def _leave_where_set(node: ast.If, flag: str) -> None:
    for side in (node.body, node.orelse):
        last = side[-1]
        if isinstance(last, ast.If):
            _leave_where_set(last, flag)
        elif _flag_value(last, flag):
            side[-1] = ast.copy_location(ast.Break(), last)
        else:
            side.pop()


# -- returns inside loops -----------------------------------------------------------------------------


def returned_by_branch(body: Statements) -> Statements:
    """``if c: x = a else: x = b`` before ``return x``: each branch returns."""
    if len(body) < 2 or not isinstance(body[-1], ast.Return) or not isinstance(body[-2], ast.If):
        return body
    leave, choice = body[-1], body[-2]
    names = {n.id for n in names_in(leave)}
    sides = [choice.body, choice.orelse]
    if names.isdisjoint(assigned(choice)) or not any(_sets_literally(side, names) for side in sides):
        return body
    for k, side in enumerate(sides):
        if not ends(side):
            sides[k] = returned_by_branch([*side, _same_return(leave)])
    choice.body, choice.orelse = sides
    return body[:-1]


def _sets_literally(side: Statements, names: set[str]) -> bool:
    """Whether a branch does little but set what is returned, so that a return of its own reads better."""
    return bool(side) and len(side) <= 4 and any(not names.isdisjoint(assigned(s)) for s in side)


def _same_return(leave: ast.Return) -> ast.Return:
    return ast.copy_location(ast.Return(copy.deepcopy(leave.value)), leave)


def returned_directly(body: Statements) -> Statements:
    """``x = e`` just before ``return x`` is ``return e``."""
    for node in body:
        if isinstance(node, ast.If):
            node.body, node.orelse = returned_directly(node.body), returned_directly(node.orelse)
        elif isinstance(node, ast.For | ast.While):
            node.body = returned_directly(node.body)
    while len(body) >= 2 and isinstance(body[-1], ast.Return) and isinstance(body[-2], ast.Assign):
        leave, assign = body[-1], body[-2]
        target = assign.targets[0]
        if not isinstance(target, ast.Name) or leave.value is None or _count(leave, target.id) > 1:
            break
        if not (_count(leave, target.id) == 0 or _is_plain(leave.value)):
            break
        if _length(leave.value) + _length(assign.value) > LONGEST:
            break
        value = Replaced(target.id, assign.value).visit(leave.value)
        body = [*body[:-2], ast.copy_location(ast.Return(value), assign)]
    return body


def _length(value: ast.expr) -> int:
    """How many operations the longest of the returned expressions has."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return max((sum(isinstance(n, _OPERATIONS) for n in ast.walk(p)) for p in parts), default=0)


_OPERATIONS = (ast.BinOp, ast.Call, ast.Subscript)


def _count(node: ast.AST, name: str) -> int:
    return sum(n.id == name for n in names_in(node))


def _is_plain(value: ast.expr) -> bool:
    """Whether an expression is a name or a tuple of names and literals: no order of evaluation matters."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(not any(isinstance(n, ast.Call) for n in ast.walk(p)) for p in parts)


def returned_inside(body: Statements) -> Statements:
    """``returned = True; break`` in a loop, ``if returned: return x`` after it: return where it happens."""
    for k in range(len(body) - 1):
        loop, after = body[k], body[k + 1]
        if not isinstance(loop, ast.For | ast.While) or not isinstance(after, ast.If):
            continue
        found = _return_if_set(after, body[k + 2 :])
        if found is None:
            continue
        flag, leave, rest = found
        if not _only_marks(loop, flag) or _reads([loop], flag):
            continue
        _return_where_set(loop.body, flag, Replaced(flag, ast.Constant(True)).visit(leave))
        if not any(flag in assigned(s) for s in rest):
            rest = [Replaced(flag, ast.Constant(False)).visit(s) for s in rest]
        return [*body[: k + 1], *rest]
    return body


def _return_if_set(after: ast.If, rest: Statements) -> tuple[str, ast.Return, Statements] | None:
    """The flag, the return it leads to, and what runs otherwise."""
    test = after.test
    if isinstance(test, ast.Name) and len(after.body) == 1 and isinstance(after.body[0], ast.Return):
        return test.id, after.body[0], [*after.orelse, *rest]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, ast.Name):
        other = [*after.orelse, *rest]
        if ends(after.body) and len(other) == 1 and isinstance(other[0], ast.Return):
            return test.operand.id, other[0], after.body
    return None


def _only_marks(loop: ast.For | ast.While, flag: str) -> bool:
    """Whether the flag is set, to True, only just before a break out of this very loop."""
    return _marks(loop.body, flag, direct=True) > 0


def _marks(body: Sequence[ast.stmt], flag: str, direct: bool) -> int:
    """How many times the flag is set right; a large negative number if anywhere otherwise."""
    total = 0
    for k, node in enumerate(body):
        value = _flag_value(node, flag)
        if value is not None:
            rest = [s for s in body[k + 1 :] if not _simple_assign(s)]
            if not (value and direct and len(rest) == 1 and isinstance(rest[0], ast.Break)):
                return -(10**6)
            total += 1
        elif isinstance(node, ast.If):
            total += _marks(node.body, flag, direct) + _marks(node.orelse, flag, direct)
        elif flag in assigned(node):
            return -(10**6)
    return total


def _simple_assign(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign)


def _return_where_set(body: Statements, flag: str, leave: ast.Return) -> None:
    for k, node in enumerate(body):
        if _flag_value(node, flag):
            rest = [s for s in body[k + 1 :] if isinstance(s, ast.Assign)]
            body[k:] = [*rest, ast.copy_location(_same_return(leave), body[-1])]
            return
        if isinstance(node, ast.If):
            _return_where_set(node.body, flag, leave)
            _return_where_set(node.orelse, flag, leave)


def _read_or_changed(body: Sequence[ast.stmt]) -> set[str]:
    changed = [n.target for n in statements_in(body) if isinstance(n, ast.AugAssign)]
    read = {n.id for n in names_in(*body) if isinstance(n.ctx, ast.Load)}
    return read | {target.id for target in changed if isinstance(target, ast.Name)}


def _is_left(block: Sequence[ast.stmt]) -> bool:
    """Whether a block returns or raises at its end, on all ways there."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _is_left(last.body) and _is_left(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)


def without_dead_flags(body: Statements) -> Statements:
    """Drop assignments of literals to names that nothing reads any more, or not before the function is left."""
    read = _read_or_changed(body)

    def kept(block: Statements) -> Statements:
        out: Statements = []
        left, later = _is_left(block), set[str]()
        for node in reversed(block):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                name = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
                if name and (name not in read or (left and name not in later)):
                    continue
            if isinstance(node, ast.If):
                node.body, node.orelse = kept(node.body), kept(node.orelse)
                if not node.body and not node.orelse:
                    continue
                if not node.body:
                    node = ast.copy_location(ast.If(negated(node.test), node.orelse, []), node)
            elif isinstance(node, ast.For | ast.While):
                node.body = kept(node.body) or [ast.Pass()]
            if left:
                later |= _read_or_changed([node])
            out.append(node)
        return out[::-1]

    return kept(body)


# -- calls ----------------------------------------------------------------------------------------------


class PureCall(ast.Assign):
    """``t = f(...)`` of a call that changes nothing, whose result the user gave no name."""


def calls_nested(body: Statements) -> Statements:
    """``t = f(n - 1)`` before ``return n * t`` is ``return n * f(n - 1)``, where nothing else reads ``t``."""
    reads = Counter(n.id for n in names_in(*body) if isinstance(n.ctx, ast.Load))
    return _nested(body, reads)


def _nested(body: Statements, reads: Counter[str]) -> Statements:
    out: Statements = []
    for node in reversed(body):
        for inner in _inner_bodies(node):
            inner[:] = _nested(inner, reads)
        name = node.targets[0].id if isinstance(node, PureCall) and isinstance(node.targets[0], ast.Name) else ""
        following = out[-1] if out else None
        if name and reads[name] == 1 and isinstance(following, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
            if _reads_once(following.value, name):
                assert isinstance(node, PureCall)
                out[-1] = _Put(name, node.value).visit(following)
                continue
        out.append(node)
    return out[::-1]


def _inner_bodies(node: ast.stmt) -> list[Statements]:
    return [getattr(node, part) for part in ("body", "orelse") if getattr(node, part, None)]


def _reads_once(expr: ast.expr | None, name: str) -> bool:
    """Whether an expression reads a name once, and always: not in a part that may be skipped."""
    if expr is None or any(isinstance(n, ast.IfExp | ast.BoolOp) for n in ast.walk(expr)):
        return False
    return sum(n.id == name for n in names_in(expr)) == 1


class _Put(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr):
        self.name = name
        self.value = value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name and isinstance(node.ctx, ast.Load) else node
