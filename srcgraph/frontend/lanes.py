"""``vmap``: a function called for every lane of its arguments, in one loop.

A lane is what a plain loop over rows would pass: an array's part at one index of the mapped axis, the number there
if nothing is left of its axes. So whatever the function does for one lane, it does in the loop: branch, loop until
it converges, raise, store into its row. Lanes run in order. Results are kept in arrays made before the loop, whose
lengths `lane_results` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.frontend import calls, contents, derived, lane_axes, lane_results, memory, objects
from srcgraph.frontend.boxes import new_box
from srcgraph.frontend.entities import (
    Array,
    Closure,
    Const,
    Entity,
    Instance,
    Listing,
    Method,
    Partial,
    Record,
    Rng,

    Scalar,
    Tup,
)
from srcgraph.frontend.lane_axes import Axes, Fields
from srcgraph.frontend.memory import ref_type, refuse
from srcgraph.frontend.pythonic import BUILTINS
from srcgraph.infer.signature import part_name
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Value
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, slots=True)
class Lanes:
    """Calls its first argument for each lane of the others, and returns all results.

    Attributes
    ----------
    in_axes, out_axes : Axes
        The axis of the lanes in the arguments by position, and in the results.
    """

    in_axes: Axes
    out_axes: Axes

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("only compiled functions call it")


class Absent:
    """Stands for an argument that is not given."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One call: the names of its arguments, keywords last, and the axis of the lanes in each."""

    names: tuple[str, ...]
    axes: tuple[Axes, ...]
    keywords: tuple[str, ...]
    out_axes: Axes


plan_of = cache(Plan)  # one object for equal ones: what is known when compiling is compared by identity


def maker_of(function: Any) -> Callable[..., Lanes] | None:
    """How `vmap` makes of its arguments after the first what maps a function."""
    return getattr(function, "maps", None)


def make(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``vmap(f, in_axes, out_axes)``: a function."""
    if not args:
        raise refuse("vmap() needs a function", low.loc, kind=InferenceError)
    if len(args) > 3 or not kwargs.keys() <= {"in_axes", "out_axes"}:
        raise refuse("vmap() takes a function, in_axes and out_axes", low.loc, kind=InferenceError)
    given = dict(zip(("in_axes", "out_axes"), args[1:], strict=False)) | kwargs
    axes = {k: lane_axes.written(low, e, k) for k, e in given.items()}
    lanes = Lanes(axes.get("in_axes", 0), axes.get("out_axes", 0))
    with lane_axes.refusing(low):
        lane_axes.check(lanes.in_axes, lanes.out_axes)
    return Partial(Const(lanes), (args[0],), ())


def call(low: Lowering, lanes: Lanes, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a function, the first argument, for each lane of the others."""
    function, *given = [e for e in args if e != Const(Absent)]
    named = {k: e for k, e in kwargs.items() if e != Const(Absent)}
    names = (*derived.names_of(function, len(given)), *named)
    with lane_axes.refusing(low):
        by_position = lane_axes.of_arguments(lanes.in_axes, len(given))
    entities = [*given, *named.values()]
    by_name = (0,) * len(named)  # as in JAX
    axes = [_resolved(low, e, a, n) for e, a, n in zip(entities, (*by_position, *by_name), names, strict=True)]
    plan = plan_of(names, tuple(axes), tuple(named), lanes.out_axes)
    if not any(True for _ in _mapped(low, plan, entities)):
        raise refuse("vmap: no argument has an axis to be mapped", low.loc, kind=InferenceError)
    code = low.session.code_of(over_lanes)
    bound = calls.bound(low, code, over_lanes, [Const(plan), function, *entities], {})
    return calls.call_function(low, code, bound)


# -- the loop ------------------------------------------------------------------------------------------


def over_lanes(plan, function, *args):
    n = number_of_lanes(plan, *args)
    like, out = results(plan, n, function, *args)
    for k in range(n):
        store(like, out, k, lane(plan, k, function, *args))
    return arranged(like, out)


def number_of_lanes(plan, *args): ...


def results(plan, n, function, *args): ...


def store(like, out, k, found): ...


def lane(plan, k, function, *args): ...


def arranged(like, out): ...


def _builtin(function: Callable) -> Callable[[Callable], Callable]:
    """Enter the lowering of a function of this file, of which the first argument is known when compiling."""

    def enter(lower: Callable[..., Entity]) -> Callable[..., Entity]:
        BUILTINS[function] = lambda low, args, kwargs, hint: lower(low, args[0].value, *args[1:])  # type: ignore[union-attr]
        return lower

    return enter


@_builtin(number_of_lanes)
def _number_of_lanes(low: Lowering, plan: Plan, *args: Entity) -> Entity:
    """How many lanes there are; all arrays must have as many."""
    (name, axis, first), *others = ((n, a, _size(low, e, a)) for n, a, e in _mapped(low, plan, args))
    b = low.builder
    count = b.dim_value(first)
    for other, other_axis, size in others:
        message = f"vmap: axis {axis} of {name} has {{x}} lanes, but axis {other_axis} of {other} has {{y}}"
        b.call_named("equal_size", count, b.dim_value(size), error="ValueError", message=message)
    return Scalar(count)


def _size(low: Lowering, entity: Array, axis: int) -> Dim:
    return ref_type(low, entity).shape[axis]


@_builtin(lane)
def _lane(low: Lowering, plan: Plan, k: Scalar, function: Entity, *args: Entity) -> Entity:
    """What the function gives for a lane: the numbers and arrays in it."""
    return Tup(tuple(e for _, e in lane_results.leaves(low, _called(low, plan, k, function, args))))


def _called(low: Lowering, plan: Plan, k: Scalar, function: Entity, args: Sequence[Entity]) -> Entity:
    given = [_part(low, e, a, k.value) for e, a in zip(args, plan.axes, strict=True)]
    count = len(given) - len(plan.keywords)
    return calls.apply(low, function, given[:count], dict(zip(plan.keywords, given[count:], strict=True)))


@_builtin(results)
def _results(low: Lowering, plan: Plan, n: Scalar, function: Entity, *args: Entity) -> Entity:
    """How results are arranged, and the arrays they will be in."""
    like, made = lane_results.made(
        low, n.value, plan.out_axes, lambda k: _called(low, plan, Scalar(k), function, args)
    )
    return Tup((Const(like), Tup(tuple(made))))


@_builtin(store)
def _store(low: Lowering, like: lane_results.Like, out: Tup, k: Scalar, found: Tup) -> Entity:
    for array, axis, entity in zip(out.items, like.axes, found.items, strict=True):
        assert isinstance(array, Array)
        memory.write(low, _at(low, array, axis, k.value), low.value(entity))
    return Const(None)


@_builtin(arranged)
def _arranged(low: Lowering, like: lane_results.Like, out: Tup) -> Entity:
    return lane_results.arranged(low, like.template, out.items)


# -- the lanes of arguments ----------------------------------------------------------------------------


def _resolved(low: Lowering, entity: Entity, axes: Axes, name: str) -> Axes:
    """The axis of the lanes in each part of an argument, counted from the front; None where it is the same for all."""
    if axes is None or isinstance(entity, Closure | Partial | Method | Rng):
        return None
    if isinstance(entity, Const) and not entity.is_number:
        return None
    parts = _parts(low, entity, name)
    if parts is not None:
        found = _matched(low, axes, parts, name)
        own = tuple(_resolved(low, e, a, n) for (n, e), a in zip(parts, found, strict=True))
        return own if any(a is not None for a in own) else None
    if not isinstance(axes, int):
        raise refuse(f"vmap: in_axes has several axes for {name}, which is one thing", low.loc, kind=InferenceError)
    if not isinstance(entity, Array):
        hint = "pass an array: np.array(...)" if isinstance(entity, Listing) else "in_axes=None passes it to all lanes"
        raise refuse(f"vmap: {name} has no axis {axes}: it is {low.shown(entity)}", low.loc, hint, InferenceError)
    ndim = ref_type(low, entity).ndim
    if not -ndim <= axes < ndim:
        raise refuse(f"vmap: {name} has no axis {axes}: it has {ndim} axes", low.loc, kind=ShapeError)
    return axes % ndim


def _matched(low: Lowering, axes: Axes, parts: Sequence[tuple[str, Entity]], name: str) -> Sequence[Axes]:
    """The axes of each part."""
    if isinstance(axes, int) or axes is None:
        return [axes] * len(parts)
    given = axes.items if isinstance(axes, Fields) else axes
    if len(given) != len(parts):
        counts = f"{len(given)} axes for {name}, which has {len(parts)} parts"
        raise refuse(f"vmap: in_axes has {counts}", low.loc, kind=InferenceError)
    if isinstance(axes, Fields):
        by_name = {part_name(name, axes.cls, k): a for k, a in zip(axes.names, axes.items, strict=True)}
        missing = next((n for n, _ in parts if n not in by_name), None)
        if missing is not None:
            raise refuse(f"vmap: in_axes has no axis for {missing}", low.loc, kind=InferenceError)
        return [by_name[n] for n, _ in parts]
    return given


def _parts(low: Lowering, entity: Entity, name: str) -> list[tuple[str, Entity]] | None:
    """The parts of a structure, as users write them."""
    match entity:
        case Tup(items=items, cls=cls):
            return [(part_name(name, cls, k), e) for k, e in enumerate(items)]
        case Listing() if isinstance(held := contents.content(low, entity), Tup):
            return [(part_name(name, list, k), e) for k, e in enumerate(held.items)]
        case Instance(cls=cls):
            content = objects.fields(low, entity)
            return [(part_name(name, cls, k), e) for k, e in zip(content.names, content.items, strict=True)]
    return None


def _mapped(low: Lowering, plan: Plan, args: Sequence[Entity]) -> Iterator[tuple[str, int, Array]]:
    """The arrays that have lanes: what users call each, its axis, and the array."""
    for entity, axes, name in zip(args, plan.axes, plan.names, strict=True):
        yield from _arrays(low, entity, axes, name)


def _arrays(low: Lowering, entity: Entity, axes: Axes, name: str) -> Iterator[tuple[str, int, Array]]:
    if isinstance(axes, tuple):
        for (inner, e), a in zip(_parts(low, entity, name) or (), axes, strict=True):
            yield from _arrays(low, e, a, inner)
    elif isinstance(axes, int):
        assert isinstance(entity, Array)
        yield name, axes, entity


def _part(low: Lowering, entity: Entity, axes: Axes, k: Value) -> Entity:
    """An argument's part in lane ``k``."""
    if axes is None:
        return entity
    if isinstance(axes, int):
        assert isinstance(entity, Array)
        ref = _at(low, entity, axes, k)
        return ref if ref_type(low, ref).ndim else Scalar(memory.read(low, ref))
    assert isinstance(axes, tuple)
    items = tuple(_part(low, e, a, k) for (_, e), a in zip(_parts(low, entity, "") or (), axes, strict=True))
    match entity:
        case Tup(cls=cls):
            return Tup(items, cls)
        case Listing():
            return contents.new_list(low, Tup(items, list))
        case Instance(cls=cls):
            content = objects.fields(low, entity)
            return Instance(new_box(low, Record(content.cls, content.names, items), entity.box.name), cls)
    raise TypeError(entity)


def _at(low: Lowering, ref: Array, axis: int, k: Value) -> Array:
    """The part of an array at index ``k`` of an axis."""
    ndim = ref_type(low, ref).ndim
    view = View(tuple("i" if j == axis else ":" for j in range(ndim)), tuple(range(ndim - 1)))
    return memory.select(low, ref, view, (k,))



