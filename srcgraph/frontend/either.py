"""Arrays chosen at run time: which of several it is, and what comes with that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeAlias

from srcgraph.frontend.entities import Array, Cell, Const, Either, Entity, Scalar
from srcgraph.frontend.memory import read
from srcgraph.frontend.truths import selected
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Option: TypeAlias = tuple[Cell, View | None, int]
"""What tells alternatives apart: the cell, the view, and how many operands the view has."""


def choice_of(tests: Sequence[Value], alternatives: Sequence[Array | Either]) -> Array | Either:
    """The first alternative whose test holds, or else the last."""
    choice = alternatives[-1]
    for test, alternative in zip(reversed(tests), reversed(alternatives[:-1]), strict=True):
        choice = Either(test, alternative, choice)
    return choice


def key_of(ref: Array) -> Option:
    return ref.cell, ref.view, len(ref.operands)


def is_array(low: Lowering, choice: Array | Either, option: Option) -> Entity:
    """Whether the array that is meant is a certain one."""
    if isinstance(choice, Array):
        return Const(key_of(choice) == option)
    sides = (is_array(low, c, option) for c in (choice.then, choice.orelse))
    return selected(low, Scalar(choice.test), *sides)


def operands_of(low: Lowering, choice: Array | Either, option: Option) -> list[Value] | None:
    """The operands of a certain array's view, if it may be meant."""
    if isinstance(choice, Array):
        return list(choice.operands) if key_of(choice) == option else None
    then, orelse = (operands_of(low, c, option) for c in (choice.then, choice.orelse))
    if then is None or orelse is None:
        return then or orelse
    return [OPS["where"](choice.test, a, b) for a, b in zip(then, orelse, strict=True)]


def own_content(low: Lowering, choice: Array | Either, options: Collection[Option]) -> Value | None:
    """The content of an array that is none of ``options``, if one may be meant."""
    if isinstance(choice, Array):
        return None if key_of(choice) in options else read(low, choice)
    found = [own_content(low, c, options) for c in (choice.then, choice.orelse)]
    if None in found:
        return next((v for v in found if v is not None), None)
    return low.chosen(choice.test, [lambda v=v: [v] for v in found if v is not None], ["own"])[0]
