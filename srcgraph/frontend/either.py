"""Arrays chosen at run time: which of several it is, and what comes with that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from srcgraph.frontend.entities import Array, Cell, Const, Either, Entity, Scalar, arrays_of
from srcgraph.frontend.memory import read, ref_type
from srcgraph.frontend.truths import selected
from srcgraph.ir.dims import UNKNOWN
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
    """The content of an array that is none of ``options``, if one may be meant; anything where none is."""
    owns = [a for a in arrays_of(choice) if key_of(a) not in options]
    if not owns:
        return None
    if isinstance(choice, Array):
        return read(low, choice)
    if all(a.view is None for a in owns) and len({a.cell for a in owns}) == 1:
        return read(low, owns[0])
    type = ref_type(low, owns[0])
    like = replace(type, shape=(UNKNOWN,) * type.ndim)

    def side(choice: Array | Either) -> list[Value]:
        return [own_content(low, choice, options) or low.arbitrary(like, UNKNOWN.symbols())]

    return low.chosen(choice.test, [lambda c=c: side(c) for c in (choice.then, choice.orelse)], ["own"])[0]
