"""Functions of functions: `functools.partial`, `functools.reduce` and `itertools.accumulate`; `stop_gradient`."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import calls, expressions, library, lists, watched
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Iteration, Listing, Partial, Scalar, Tup
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.once import refuse_kept
from srcgraph.frontend.pythonic import BUILTINS, builtin
from srcgraph.ir.ops.constants import stop_gradient, stop_gradient_record

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def partial(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str) -> Entity:
    """``functools.partial(function, ...)`` written inside a function."""
    if not args:
        raise refuse("partial() needs a function", low.loc, kind=InferenceError)
    refuse_kept(low, [*args, *kwargs.values()], "in a partial")
    return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))


BUILTINS[functools.partial] = partial


def of_object(low: Lowering, made: functools.partial) -> Partial:
    """A partial made outside: what it holds is compiled in."""
    args = tuple(_held(low, a) for a in made.args)
    return Partial(Const(made.func), args, tuple((k, _held(low, v)) for k, v in made.keywords.items()))


def _held(low: Lowering, value: object) -> Entity:
    if isinstance(value, np.ndarray):
        raise refuse("a partial that holds an array is not supported", low.loc, "pass the array as an argument")
    if isinstance(value, np.generic):
        return Scalar(low.builder.const(value))
    if isinstance(value, tuple):
        return Tup(tuple(_held(low, v) for v in value))
    return Const(value)


@builtin(stop_gradient, 1, 1)
def stopped(low: Lowering, x: Entity) -> Entity:
    """``stop_gradient(x)`` of numbers, arrays and tuples of these."""
    if isinstance(x, Tup) and issubclass(x.cls, tuple):
        return Tup(tuple(stopped(low, e) for e in x.items), x.cls)
    if isinstance(x, Listing | Tup):
        raise refuse("stop_gradient of a list is not supported", low.loc, "stop that of each item, or of an array")
    return low.entity(stop_gradient_record.expand(low.value(x, "the argument of stop_gradient")))


@builtin(functools.reduce, 2, 3)
def reduce(low: Lowering, function: Entity, items: Entity, *start: Entity) -> Entity:
    """``function(function(a, b), c)``: in line for known items, else a loop."""
    grown = isinstance(items, Listing) and lists.known_items(low, items) is None
    if grown or isinstance(items, Array | Iteration):
        return lists.own(low, library.reduce_from if start else library.reduce, function, items, *start)
    rest = [*start, *expressions.items_of(low, items)]
    if not rest:
        raise refuse("reduce() of nothing needs a third argument", low.loc, kind=InferenceError)
    out = rest[0]
    for item in rest[1:]:
        out = calls.apply(low, function, [out, item], {})
    return out


def accumulate(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str) -> Entity:
    """The list of what `itertools.accumulate` gives one after the other."""
    given = dict(zip(("iterable", "func"), args, strict=False)) | kwargs
    if len(args) > 2 or "iterable" not in given or not given.keys() <= {"iterable", "func", "initial"}:
        message = "accumulate() takes something to go over, a function and initial"
        raise refuse(message, low.loc, kind=InferenceError)
    function = given.get("func", NONE)
    function = Const(operator.add) if function == NONE else function
    start = given.get("initial", NONE)
    rest = [] if start == NONE else [start]
    parts = (function, given["iterable"], *rest)
    made = library.accumulate_from if rest else library.accumulate
    return watched.once(low, "accumulate", parts, lambda: lists.own(low, made, *parts))


BUILTINS[itertools.accumulate] = accumulate
