"""Jacobians by columns and by rows: compiled with the functions that use them, as if written there.

They are in the structure of the result, with that of the argument inside; here a structure is taken apart into its
floats, and put together again. ``jvp``, ``vjp`` and ``grad`` are those of `srcgraph`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import ArgumentError, DerivativeError
from srcgraph.frontend import calls, structures
from srcgraph.frontend.derived import Inside
from srcgraph.frontend.entities import NONE, Array, Choice, Const, Entity, Listing, Maybe, Partial, Scalar, Tup
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.pythonic import BUILTINS
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ArrayType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def by_columns(function, x, jvp):
    value = returned(function(x))
    found = each(x, lambda leaf, at: columns(lambda v: floats(function(at(v))), leaf, jvp), False)
    return by_results(value, x, found)


def columns(function, x, jvp):
    """The Jacobians of the numbers and arrays that a function of one returns, by forward mode."""
    if np.ndim(x) == 0:
        return jvp(function, (x,), (one(x),))[1]
    value = function(x)
    direction = np.zeros(np.shape(x), kind(x))
    flat = direction.reshape(-1)
    out = tuple([np.zeros((np.size(v), x.size), dtype=x.dtype) for v in value])
    for k in range(x.size):
        flat[k] = 1.0
        for matrix, column in zip(out, jvp(function, (x,), (direction,))[1], strict=True):
            matrix[:, k] = np.ravel(column)
        flat[k] = 0.0
    return tuple([m.reshape(np.shape(v) + x.shape) for m, v in zip(out, value, strict=True)])


def by_rows(function, x, grad, vjp):
    if is_number(returned(function(x))):
        return grad(function)(x)
    value, pullback = vjp(function, x)
    found = each(value, lambda leaf, at: rows(lambda ct: floats(pullback(at(ct))[0]), leaf, floats(x)), True)
    return by_arguments(value, x, found)


def rows(pull, value, xs):
    """The Jacobians of a number or an array by numbers and arrays, by reverse mode."""
    if np.ndim(value) == 0:
        return pull(one(value))
    weights = np.zeros(np.shape(value), kind(value))
    flat = weights.reshape(-1)
    out = tuple([np.zeros((value.size, np.size(x)), dtype=kind(x)) for x in xs])
    for k in range(value.size):
        flat[k] = 1.0
        for matrix, row in zip(out, pull(weights), strict=True):
            matrix[k] = np.ravel(row)
        flat[k] = 0.0
    return tuple([m.reshape(value.shape + np.shape(x)) for m, x in zip(out, xs, strict=True)])


def by_the_shorter(function, x, jvp, grad, vjp):
    value = returned(function(x))
    if are_numbers(x):
        return by_columns(function, x, jvp)
    if are_numbers(value) or size(value) < size(x):
        return by_rows(function, x, grad, vjp)
    return by_columns(function, x, jvp)


def size(x):
    total = 0
    for leaf in floats(x):
        total += np.size(leaf)
    return total


# -- floats in structures --------------------------------------------------------------------------------


def _leaves(low: Lowering, entity: Entity) -> list[Entity]:
    """The floats, and arrays of floats, of a structure."""
    inner = structures.parts(low, entity, "")
    if inner is not None:
        return [leaf for _, e in inner for leaf in _leaves(low, e)]
    if isinstance(entity, Listing | Maybe | Choice):
        hint = "use an array: np.array(...)" if isinstance(entity, Listing) else "let it be one thing"
        raise refuse(f"the Jacobian of or by {describe(entity)} is not supported", low.loc, hint, DerivativeError)
    return [entity] if _is_float(low, entity) else []


def _is_float(low: Lowering, entity: Entity) -> bool:
    if isinstance(entity, Const):
        return isinstance(entity.value, float)
    return isinstance(entity, Scalar | Array) and low.value(entity).type.dtype.kind == "f"


def _mapped(low: Lowering, entity: Entity, action: Callable[[Entity], Entity]) -> Entity:
    """A structure with something in place of each float, and None in place of all else."""
    inner = structures.parts(low, entity, "")
    if inner is not None:
        return structures.rebuilt(low, entity, [_mapped(low, e, action) for _, e in inner])
    return action(entity) if _is_float(low, entity) else NONE


@dataclass(frozen=True, slots=True)
class Put(Inside):
    """A structure with something else in place of one of its floats; ``alone``: None in place of all others."""

    place: int
    alone: bool

    def lower(self, low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
        structure, value = args
        return self.replaced(low, structure, value, count())

    def replaced(self, low: Lowering, entity: Entity, value: Entity, numbers: Iterator[int]) -> Entity:
        inner = structures.parts(low, entity, "")
        if inner is not None:
            return structures.rebuilt(low, entity, [self.replaced(low, e, value, numbers) for _, e in inner])
        if _is_float(low, entity) and next(numbers) == self.place:
            return value
        return NONE if self.alone else entity


put = cache(Put)  # one object for equal ones: what is known when compiling is compared by identity


def _step(lower: Callable[..., Entity]) -> Any:
    """Let the functions above call what is lowered so."""
    BUILTINS[lower] = lambda low, args, kwargs, hint: lower(low, *args)
    return lower


@_step
def given(low: Lowering, entity: Entity, name: Const) -> Entity:
    """An argument to differentiate with respect to."""
    if _leaves(low, entity):
        return entity
    hint = "pass a float, such as 3.0, or an array of floats"
    kind = f" of {low.value(entity).type.dtype}" if isinstance(entity, Array) else ""
    what = f"argument {name.value!r} is {describe(entity)}{kind}: there is no derivative with respect to it"
    raise refuse(what, low.loc, hint, kind=ArgumentError)


@_step
def returned(low: Lowering, value: Entity) -> Entity:
    """What a function returns, which is to have floats."""
    if value == NONE:
        hint = "a function that only changes its arguments returns nothing: return the array"
        raise refuse("the Jacobian of a function that returns None", low.loc, hint, kind=DerivativeError)
    if not _leaves(low, value):
        kind = f" of {low.value(value).type.dtype}" if isinstance(value, Array) else ""
        why = f"the Jacobian of a function that returns {describe(value)}{kind}"
        raise refuse(why, low.loc, "return a float, or an array of floats", kind=DerivativeError)
    return value


@_step
def part(low: Lowering, pair: Entity, which: Const) -> Entity:
    """What is differentiated, or the auxiliary data, of what a function returns."""
    if isinstance(pair, Tup) and len(pair.items) == 2:
        return pair.items[which.value]
    why = f"with has_aux=True, the function must return (result, auxiliary data), not {describe(pair)}"
    raise refuse(why, low.loc, kind=DerivativeError)


@_step
def floats(low: Lowering, x: Entity) -> Entity:
    return Tup(tuple(_leaves(low, x)))


@_step
def each(low: Lowering, x: Entity, action: Entity, alone: Entity) -> Entity:
    """What ``action(leaf, at)`` gives for each float of ``x``, where ``at(v)`` is ``x`` with ``v`` there."""
    found = [(e, Partial(Const(put(k, alone == Const(True))), (x,), ())) for k, e in enumerate(_leaves(low, x))]
    return Tup(tuple(calls.apply(low, action, [e, at], {}) for e, at in found))


@_step
def one(low: Lowering, x: Entity) -> Entity:
    """1, of the type of a number or of an array without axes."""
    b, type = low.builder, low.value(x).type
    number = b.const(type.dtype.type(1))
    return low.entity(OPS["full"](number) if isinstance(type, ArrayType) else b.cast(number, type.dtype, type.weak))


@_step
def kind(low: Lowering, x: Entity) -> Entity:
    return Const(low.value(x).type.dtype)


@_step
def is_number(low: Lowering, value: Entity) -> Entity:
    return Const(isinstance(value, Const | Scalar))


@_step
def are_numbers(low: Lowering, x: Entity) -> Entity:
    return Const(all(low.value(e).type.ndim == 0 for e in _leaves(low, x)))


@_step
def by_results(low: Lowering, value: Entity, x: Entity, table: Tup) -> Entity:
    """The Jacobians ``table[j][i]`` in structures: of the result, outside, and of the argument, inside."""
    rows = [Tup(tuple(column.items[i] for column in table.items)) for i in range(len(_leaves(low, value)))]  # type: ignore[union-attr]
    return by_arguments(low, value, x, Tup(tuple(rows)))


@_step
def by_arguments(low: Lowering, value: Entity, x: Entity, table: Tup) -> Entity:
    """The same of ``table[i][j]``."""
    rows = iter(table.items)

    def row(_: Entity) -> Entity:
        items = iter(next(rows).items)  # type: ignore[union-attr]
        return _mapped(low, x, lambda _: next(items))

    return _mapped(low, value, row)
