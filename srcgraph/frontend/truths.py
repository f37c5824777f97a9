"""Truths, known when compiling or only at run time: not, and, or, if."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srcgraph.frontend.entities import Const, Entity, Scalar
from srcgraph.ir.op import OPS

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def combined(low: Lowering, op: str, x: Entity, y: Entity) -> Entity:
    """``logical_and`` or ``logical_or`` of two tests; one that is known decides, or does not matter."""
    a, b = low.truth(x), low.truth(y)
    passes = op == "logical_and"
    if isinstance(a, bool):
        return y if a is passes else x
    if isinstance(b, bool):
        return x if b is passes else y
    return Scalar(OPS[op](a, b))


def negation(low: Lowering, entity: Entity) -> Entity:
    """``not entity``."""
    test = low.truth(entity)
    return Const(not test) if isinstance(test, bool) else Scalar(OPS["logical_not"](test))


def selected(low: Lowering, test: Entity, then: Entity, orelse: Entity) -> Entity:
    """``then if test else orelse`` for three truths."""
    if then == orelse:
        return then
    if then == Const(True) and orelse == Const(False):
        return test
    taken = combined(low, "logical_and", test, then)
    return combined(low, "logical_or", taken, combined(low, "logical_and", negation(low, test), orelse))
