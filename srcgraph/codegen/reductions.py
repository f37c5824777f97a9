"""Numbers that the trips of a loop only add to, and how what two groups of trips have found is put together."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from srcgraph.codegen.statements import names_in, statements_in

_EXTREMES = ("maximum", "minimum")


@dataclass(frozen=True, slots=True)
class Sum:
    """A number, or two that belong together, that trips only add to.

    Attributes
    ----------
    names : tuple of str
        Its variables: of a sum in blocks also what rounding took from it.
    kind : str
        "add", "mul", "two_sum"; or how two are put together by a function, ``maximum``, or an operator, ``and``: then
        a group of trips begins with what there is.
    test : ast.cmpop or None
        Of ``if x > best: best = x``: which of two is kept.
    function : ast.expr or None
        Of extremes.
    """

    names: tuple[str, ...]
    kind: str
    test: ast.cmpop | None = None
    function: ast.expr | None = None

    @property
    def begins_anew(self) -> bool:
        """Whether a group of trips begins with nothing, and not with what there is."""
        return self.kind in ("add", "mul", "two_sum")


def reductions(body: Sequence[ast.stmt], carried: AbstractSet[str], integers: AbstractSet[str]) -> list[Sum]:
    """Those of the carried variables that are such numbers.

    Parameters
    ----------
    body : sequence of statements
        The loop's.
    carried : set of str
        What it reads before it assigns it.
    integers : set of str
        Those whose sums raise where 64 bits are too few: they are summed in order, unless they count.
    """
    uses = Counter(n.id for s in body for n in names_in(s))
    found: dict[tuple[str, ...], list[tuple[Sum, int]]] = {}
    for node in statements_in(body):
        step = _step(node, carried)
        if step is not None:
            found.setdefault(step[0].names, []).append(step)
    out = []
    for names, steps in found.items():
        same = len({(s.kind, type(s.test), ast.dump(s.function) if s.function else "") for s, _ in steps}) == 1
        complete = all(uses[n] == sum(count for _, count in steps) for n in names)
        whole = integers.isdisjoint(names) or steps[0][0].kind not in ("add", "mul") or _counts(body, names[0])
        if same and complete and whole:
            out.append(steps[0][0])
    return out


def _step(node: ast.stmt, carried: AbstractSet[str]) -> tuple[Sum, int] | None:
    """What a statement adds to, and how often it has each name."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=value):
            found, rest = Sum((name,), "add"), value
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=value):
            found, rest = Sum((name,), "mul"), value
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=rest, op=ast.Add() | ast.Mult() as op, right=ast.Name(id=other)),
        ) if name == other:
            found = Sum((name,), "add" if isinstance(op, ast.Add) else "mul")
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[one, two])) if _name(
            function
        ) in _EXTREMES and name in (_name(one), _name(two)):
            rest = two if _name(one) == name else one
            found = Sum((name,), "extreme", function=function)
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BoolOp(op=op, values=[ast.Name(id=other), rest])) if (
            name == other
        ):
            found = Sum((name,), "and" if isinstance(op, ast.And) else "or")
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id=name), ast.Name(id=lost)])],
            value=ast.Call(func=ast.Name(id="two_sum"), args=[ast.Name(id=a), rest, ast.Name(id=b)]),
        ) if (name, lost) == (a, b):
            found = Sum((name, lost), "two_sum")
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.IfExp(test=test, body=rest, orelse=ast.Name(id=other))
        ) if name == other:
            kept = _kept(test, name, rest)
            if kept is None:
                return None
            found = Sum((name,), "kept", test=kept)
            return (found, 3) if name in carried and name not in {n.id for n in names_in(rest)} else None
        case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)], value=rest)], orelse=[]):
            kept = _kept(test, name, rest)
            if kept is None:
                return None
            found = Sum((name,), "kept", test=kept)
        case _:
            return None
    if not carried >= set(found.names) or any(n.id in found.names for n in names_in(rest)):
        return None
    return found, 1 if isinstance(node, ast.AugAssign) else 2


def _kept(test: ast.expr, name: str, value: ast.expr) -> ast.cmpop | None:
    """Of ``value > name`` or ``name < value``: the comparison that a value passes that is kept; NaN passes none."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    op, right = test.ops[0], test.comparators[0]
    if not isinstance(op, ast.Lt | ast.Gt | ast.LtE | ast.GtE):
        return None
    if _name(right) == name and ast.dump(test.left) == ast.dump(value):
        return op
    if _name(test.left) == name and ast.dump(right) == ast.dump(value):
        return _MIRROR[type(op)]
    return None


_MIRROR = {ast.Lt: ast.Gt(), ast.Gt: ast.Lt(), ast.LtE: ast.GtE(), ast.GtE: ast.LtE()}


def _counts(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether an integer only counts up, or only down, by known steps: it is too large if the last one is."""
    steps = [
        (isinstance(s.op, ast.Add), s.value.value if isinstance(s.value, ast.Constant) else None)
        for s in statements_in(body)
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and s.target.id == name
    ]
    plain = all(isinstance(v, int) and 0 <= v < _SMALL for _, v in steps)
    return bool(steps) and plain and len({up for up, _ in steps}) == 1


_SMALL = 2**20


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name):
            return name
    return ""


__all__ = ["Sum", "reductions"]
