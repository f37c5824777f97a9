"""``vmap``: a function called for every lane of its arguments, in one loop.

A lane is what a plain loop over rows would pass: an array's part at one index of the mapped axis, the number there
if nothing is left of its axes. So whatever the function does for one lane, it does in the loop: branch, loop until
it converges, raise, store into its row. Lanes run in order. Results are kept in arrays made before the loop; where
their lengths are not known there, the first lane comes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.frontend import calls, derived, lane_axes, lane_results, memory, structures
from srcgraph.frontend.entities import (
    NONE,
    Array,
    Closure,
    Const,
    Entity,
    Iteration,
    Listing,
    Method,
    Partial,
    Rng,
    Scalar,
    Tup,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.lane_axes import Axes
from srcgraph.frontend.lane_results import Like
from srcgraph.frontend.memory import ref_type, refuse
from srcgraph.frontend.pythonic import BUILTINS
from srcgraph.ir.graph import Value
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, slots=True)
class Lanes(derived.Inside):
    """Calls its first argument for each lane of the others, and returns all results.

    Attributes
    ----------
    in_axes, out_axes : Axes
        The axis of the lanes in the arguments by position, and in the results.
    """

    in_axes: Axes
    out_axes: Axes

    def lower(self, low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
        return call(low, self, args, kwargs)


@dataclass(frozen=True, slots=True)
class Plan:
    """One call: the names of its arguments, keywords last, and the axis of the lanes in each."""

    names: tuple[str, ...]
    axes: tuple[Axes, ...]
    keywords: tuple[str, ...]
    out_axes: Axes


plan_of = cache(Plan)  # one object for equal ones: what is known when compiling is compared by identity


def maker_of(function: Any) -> Callable[..., Lanes] | None:
    """How `vmap` makes of axes what maps a function."""
    return getattr(function, "maps", None)


def make(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``vmap(f, in_axes, out_axes)``: a function."""
    if not 1 <= len(args) <= 3 or not kwargs.keys() <= {"in_axes", "out_axes"}:
        raise refuse("vmap() takes a function, in_axes and out_axes", low.loc, kind=InferenceError)
    given = dict(zip(("in_axes", "out_axes"), args[1:], strict=False)) | kwargs
    axes = {"in_axes": 0, "out_axes": 0} | {k: lane_axes.written(low, e, k) for k, e in given.items()}
    with lane_axes.refusing(low):
        lane_axes.check(**axes)
    return Partial(Const(maker_of(function)(**axes)), (args[0],), ())  # type: ignore[misc]


def call(low: Lowering, lanes: Lanes, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a function, the first argument, for each lane of the others."""
    (function, *given), named = derived.present(args, kwargs)
    names = (*derived.names_of(function, len(given)), *named)
    with lane_axes.refusing(low):
        by_position = lane_axes.of_arguments(lanes.in_axes, len(given))
    by_name = (0,) * len(named)  # as in JAX
    entities = [*given, *named.values()]
    axes = [_resolved(low, e, a, n) for e, a, n in zip(entities, (*by_position, *by_name), names, strict=True)]
    plan = plan_of(names, tuple(axes), tuple(named), lanes.out_axes)
    if next(_mapped(low, plan, entities), None) is None:
        raise refuse("vmap: no argument has an axis to be mapped", low.loc, kind=InferenceError)
    code = low.session.code_of(over_lanes)
    return calls.call_function(low, code, calls.bound(low, code, over_lanes, [Const(plan), function, *entities], {}))


# -- the loop ------------------------------------------------------------------------------------------


def over_lanes(plan, function, *args):
    n = number_of_lanes(plan, *args)
    like = known_before(plan, n, function, *args)
    if like is not None:
        out = new_arrays(like, n)
        for k in all_lanes(like, n):
            found = lane(plan, k, function, *args)
            store(like, out, k, found)
        return arranged(like, out)
    if n == 0:
        raise ValueError("vmap: there are no lanes, and without one the shape of the result is not known")
    found = lane(plan, 0, function, *args)
    like = like_of(plan, found)
    out = new_arrays(like, n)
    store(like, out, 0, found)
    for k in range(1, n):
        found = lane(plan, k, function, *args)
        store(like, out, k, found)
    return arranged(like, out)


def _step(lower: Callable[..., Entity]) -> Any:
    """Let `over_lanes` call what is lowered so; its first argument there is known when compiling."""
    BUILTINS[lower] = lambda low, args, kwargs, hint: lower(low, args[0].value, *args[1:])  # type: ignore[union-attr]
    return lower


@_step
def number_of_lanes(low: Lowering, plan: Plan, *args: Entity) -> Entity:
    """How many lanes there are; all arrays must have as many."""
    (name, axis, first), *others = _mapped(low, plan, args)
    b = low.builder
    count = b.dim_value(ref_type(low, first).shape[axis])
    for other, at, array in others:
        message = f"vmap: axis {axis} of {name} has {{x}} lanes, but axis {at} of {other} has {{y}}"
        size = b.dim_value(ref_type(low, array).shape[at])
        b.call_named("equal_size", count, size, error="ValueError", message=message)
    return Scalar(count)


@_step
def known_before(low: Lowering, plan: Plan, n: Scalar, function: Entity, *args: Entity) -> Entity:
    like = lane_results.known_before(low, n.value, plan.out_axes, lambda k: lane(low, plan, Scalar(k), function, *args))
    return Const(like)


@_step
def like_of(low: Lowering, plan: Plan, found: Entity) -> Entity:
    return Const(lane_results.like_of(low, plan.out_axes, found))


@_step
def new_arrays(low: Lowering, like: Like, n: Entity) -> Entity:
    return Tup(tuple(lane_results.new_arrays(low, like, low.value(n))))


@_step
def lane(low: Lowering, plan: Plan, k: Entity, function: Entity, *args: Entity) -> Entity:
    """Call the function for a lane."""
    given = [_part(low, e, a, low.value(k)) for e, a in zip(args, plan.axes, strict=True)]
    count = len(given) - len(plan.keywords)
    return calls.apply(low, function, given[:count], dict(zip(plan.keywords, given[count:], strict=True)))


@_step
def all_lanes(low: Lowering, like: Like, n: Entity) -> Entity:
    """The lanes, to loop over."""
    return Iteration("lanes", (n,))


@_step
def store(low: Lowering, like: Like, out: Tup, k: Entity, found: Entity) -> Entity:
    leaves = [low.value(e) for _, e in lane_results.leaves(low, found)]
    for array, axis, kind, value in zip(out.items, like.axes, like.types, leaves, strict=True):
        assert isinstance(array, Array)
        memory.write(low, _at(low, array, axis, low.value(k)), lane_results.fitted(low, value, kind))
    return NONE


@_step
def arranged(low: Lowering, like: Like, out: Tup) -> Entity:
    return lane_results.arranged(low, like.template, out.items)


# -- the lanes of arguments ----------------------------------------------------------------------------


def _resolved(low: Lowering, entity: Entity, axes: Axes, name: str) -> Axes:
    """The axis of the lanes in each part of an argument, counted from the front; None where it is the same for all."""
    if axes is None or isinstance(entity, Closure | Partial | Method | Rng):
        return None
    if isinstance(entity, Const) and not entity.is_number:
        return None
    parts = structures.parts(low, entity, name)
    if parts is not None:
        given = lane_axes.of_parts(low, axes, parts, name, "in_axes")
        own = tuple(_resolved(low, e, a, n) for (n, e), a in zip(parts, given, strict=True))
        return own if any(a is not None for a in own) else None
    if not isinstance(axes, int):
        why = f"vmap: in_axes has several entries for {name}, which is {describe(entity)}"
        raise refuse(why, low.loc, kind=InferenceError)
    if not isinstance(entity, Array):
        hint = "pass an array: np.array(...)" if isinstance(entity, Listing) else "give it None in in_axes"
        raise refuse(f"vmap: {name} is {describe(entity)}: it has no axis {axes}", low.loc, hint, InferenceError)
    ndim = ref_type(low, entity).ndim
    if not -ndim <= axes < ndim:
        has = "1 axis" if ndim == 1 else f"{ndim} axes"
        raise refuse(f"vmap: {name} has {has}: it has no axis {axes}", low.loc, kind=ShapeError)
    return axes % ndim


def _mapped(low: Lowering, plan: Plan, args: Sequence[Entity]) -> Iterator[tuple[str, int, Array]]:
    """The arrays that have lanes: what users call each, its axis, and the array."""
    for entity, axes, name in zip(args, plan.axes, plan.names, strict=True):
        yield from _arrays(low, entity, axes, name)


def _arrays(low: Lowering, entity: Entity, axes: Axes, name: str) -> Iterator[tuple[str, int, Array]]:
    if isinstance(axes, tuple):
        for (inner, e), a in zip(structures.parts(low, entity, name) or (), axes, strict=True):
            yield from _arrays(low, e, a, inner)
    elif isinstance(axes, int):
        assert isinstance(entity, Array)
        yield name, axes, entity


def _part(low: Lowering, entity: Entity, axes: Axes, k: Value) -> Entity:
    """An argument's part in lane ``k``."""
    if isinstance(axes, tuple):
        parts = structures.parts(low, entity, "") or ()
        return structures.rebuilt(low, entity, [_part(low, e, a, k) for (_, e), a in zip(parts, axes, strict=True)])
    if not isinstance(axes, int):
        return entity
    assert isinstance(entity, Array)
    ref = _at(low, entity, axes, k)
    return ref if ref_type(low, ref).ndim else Scalar(memory.read(low, ref))


def _at(low: Lowering, ref: Array, axis: int, k: Value) -> Array:
    """The part of an array at index ``k`` of an axis."""
    ndim = ref_type(low, ref).ndim
    view = View(tuple("i" if j == axis else ":" for j in range(ndim)), tuple(range(ndim - 1)))
    return memory.select(low, ref, view, (k,))
