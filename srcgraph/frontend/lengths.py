"""Lengths of arrays that a `for` loop makes longer or shorter by as much in each iteration.

``V = p * V[1:] + q * V[:-1]``, once in each iteration, leaves an array one element shorter. A walk through the body
assumes it, as `invariants` does of integers; where the array at the end of the walk is not of the length that follows,
the next guess is tried, and after the last one the length is known at run time only. In a `while` loop, such lengths
would follow from integers that it changes, which a sweep back knows of a trip only after it has reversed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from srcgraph.frontend.entities import Array, Entity, Key, State
from srcgraph.frontend.headers import Buffer, Chosen, Shape
from srcgraph.frontend.invariants import trips_before
from srcgraph.frontend.iteration import Plan
from srcgraph.frontend.memory import ref_type
from srcgraph.ir.dims import UNKNOWN, Dim, unclamped
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Guesses: TypeAlias = dict[tuple[Key, int], list[int]]
"""How much longer an array's axis may be after each iteration, as far as not disproved; the first one is assumed."""


def guess(
    low: Lowering, known: Guesses, shapes: Mapping[Key, Shape], plan: Plan | None, region: Region, end: State
) -> bool:
    """Guess how lengths change that a walk, which ended so, was the first to find changed; whether it did."""
    found = False
    for name, shape in shapes.items():
        before, after = low.state.names.get(name), end.names.get(name)
        if not (isinstance(shape, Buffer | Chosen) and isinstance(before, Array) and isinstance(after, Array)):
            continue
        first, last = ref_type(low, before), low.inside(region, end, lambda after=after: ref_type(low, after))
        for axis in (k for k, size in enumerate(shape.type.shape) if size == UNKNOWN and (name, k) not in known):
            known[name, axis] = [] if plan is None else _guesses(first.shape[axis], last.shape[axis])
            found = True
    return found


def _guesses(first: Dim, last: Dim) -> list[int]:
    change = (unclamped(last) - unclamped(first)).const
    return [change] if change else [-1, 1]


def next_guess(known: Guesses) -> bool:
    """Give up what is assumed now; whether anything was."""
    given_up = any(known.values())
    for guesses in known.values():
        del guesses[:1]
    return given_up


def assume(
    low: Lowering,
    known: Guesses,
    plan: Plan | None,
    region: Region,
    before: State,
    entities: Mapping[Key, Entity],
    state: State,
) -> None:
    """Let arrays have the lengths at the start of an iteration that are assumed."""
    trips = trips_before(plan, region)
    low.inside(region, state, lambda: _restate(low, _lengths(low, known, trips, before), entities, state))


def give_up(
    low: Lowering, known: Guesses, plan: Plan | None, region: Region, begun: Mapping[Key, Entity], end: State
) -> bool:
    """Forget what does not hold after an iteration; whether there was such."""
    if end.dead:
        return False
    trips = trips_before(plan, region)
    with low.builder.inside(region):
        lengths = _lengths(low, known, None if trips is None else trips + 1, low.state)
    assumed = [place for place in known if known[place] and isinstance(begun.get(place[0]), Array)]
    disproved = [place for place in assumed if not _is_so(low, place, lengths.get(place), region, end)]
    for place in disproved:
        del known[place][:1]
    return bool(disproved)


def conclude(low: Lowering, known: Guesses, count: Dim | None, before: State, entities: Mapping[Key, Entity]) -> None:
    """Let arrays have their lengths after the loop; ``count`` is how many iterations there were, if that is known."""
    _restate(low, _lengths(low, known, count, before), entities, low.state)


def _lengths(low: Lowering, known: Guesses, trips: Dim | None, before: State) -> dict[tuple[Key, int], Dim]:
    """Lengths after so many iterations, by what is assumed."""
    found: dict[tuple[Key, int], Dim] = {}
    if trips is None:
        return found
    for (name, axis), guesses in known.items():
        array = before.names[name]
        if guesses and isinstance(array, Array):
            first = low.within(before, lambda array=array: ref_type(low, array)).shape[axis]
            first = unclamped(first) if low.builder.proves(unclamped(first)) else first
            found[name, axis] = first + trips * guesses[0]
    return found


def _is_so(low: Lowering, place: tuple[Key, int], length: Dim | None, region: Region, end: State) -> bool:
    array = end.names.get(place[0])
    if length is None or not isinstance(array, Array):
        return False
    type_ = low.inside(region, end, lambda: ref_type(low, array))
    with low.builder.inside(region):
        return low.builder.same(type_.shape[place[1]], length)


def _restate(
    low: Lowering, lengths: Mapping[tuple[Key, int], Dim], entities: Mapping[Key, Entity], state: State
) -> None:
    for name in dict.fromkeys(name for name, _ in lengths):
        array = entities.get(name)
        if not isinstance(array, Array) or array.view is not None:
            continue
        held = state.store.get(array.cell)
        if isinstance(held, Value) and isinstance(held.type, ArrayType):
            shape = [lengths.get((name, axis), size) for axis, size in enumerate(held.type.shape)]
            for size, length in zip(held.type.shape, shape, strict=True):
                low.builder.learn(length, size - length, length - size)
            state.store[array.cell] = low.builder.retype(held, shape)
