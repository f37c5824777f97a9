"""Functions of `operator`: the operators themselves, so that Python's numbers stay Python's and lists stay lists."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend import conditions, library, lists, operators, statements
from srcgraph.frontend.entities import Const, Entity, Partial
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.pythonic import bool_, builtin
from srcgraph.frontend.truths import negation

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

ARITHMETIC = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod", "pow": "power",
    "matmul": "matmul", "lshift": "left_shift", "rshift": "right_shift", "and_": "bitwise_and", "or_": "bitwise_or",
    "xor": "bitwise_xor",
}  # fmt: skip
COMPARISONS = {
    operator.lt: gast.Lt(), operator.le: gast.LtE(), operator.gt: gast.Gt(), operator.ge: gast.GtE(),
    operator.eq: gast.Eq(), operator.ne: gast.NotEq(), operator.is_: gast.Is(), operator.is_not: gast.IsNot(),
}  # fmt: skip
WRITTEN: dict[Any, tuple[Any, int]] = {
    operator.getitem: (library.item_of, 2), operator.setitem: (library.set_item, 3),
    operator.contains: (library.is_in, 2), operator.neg: (library.negative, 1), operator.pos: (library.positive, 1),
    operator.invert: (library.inverted, 1), operator.abs: (library.absolute, 1),
}  # fmt: skip
"""What is written in Python, and how many arguments it takes."""


def _enter(function: Any, count: int, lower: Callable[..., Entity]) -> None:
    builtin(function, count, count)(lower)


for _name, _op in ARITHMETIC.items():
    _enter(getattr(operator, _name), 2, lambda low, x, y, op=_op: operators.binary(low, op, x, y))
    _in_place = getattr(operator, f"i{_name.rstrip('_')}")
    _enter(_in_place, 2, lambda low, x, y, op=_op: statements.changed(low, op, x, y))
for _function, _node in COMPARISONS.items():
    _enter(_function, 2, lambda low, x, y, node=_node: conditions.compare(low, node, x, y))
for _function, (_written, _count) in WRITTEN.items():
    _enter(_function, _count, lambda low, *args, written=_written: lists.own(low, written, *args))


@builtin(operator.not_, 1, 1)
def not_(low: Lowering, x: Entity) -> Entity:
    return negation(low, x)


@builtin(operator.truth, 1, 1)
def truth(low: Lowering, x: Entity) -> Entity:
    return bool_(low, x)


@builtin(operator.itemgetter, 1, 1)
def itemgetter(low: Lowering, index: Entity) -> Entity:
    """A function that takes the item at ``index`` of what it is given."""
    return Partial(Const(library.item_at), (index,), ())


@builtin(operator.attrgetter, 1, 1)
def attrgetter(low: Lowering, name: Entity) -> Entity:
    return Partial(Const(library.attribute_of), (name,), ())


GETTERS = (operator.itemgetter, operator.attrgetter)


def getter(low: Lowering, made: Any, args: Sequence[Entity]) -> Entity:
    """What a getter made outside gives."""
    cls, given = made.__reduce__()
    if len(given) != 1 or len(args) != 1 or not isinstance(given[0], int | str):
        raise refuse(f"this {cls.__name__} is not supported", low.loc, "write a lambda", kind=InferenceError)
    written = library.item_at if cls is operator.itemgetter else library.attribute_of
    return lists.own(low, written, Const(given[0]), args[0])
