"""What stays true of the integers that a loop carries: that they only grow, or only shrink, and by how much.

A walk through the body assumes it, and what is not proved at the end of the walk is given up before the next one: what
holds before the loop, and after each iteration before which it held, always holds. With it ``while i < n: x[i]`` needs
no check, and ``out[k] = v; k += 1``, in some of the iterations of a loop over the elements of ``out``, needs none.

References
----------
Flanagan and Leino, "Houdini, an annotation assistant for ESC/Java" (2001): assumptions given up until the rest holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.frontend.entities import UNBOUND, Const, Entity, Key, Scalar, State
from srcgraph.frontend.iteration import Plan
from srcgraph.ir.dims import Dim, as_dim
from srcgraph.ir.facts import Region
from srcgraph.ir.types import PY_INT, ScalarType, without_value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

UP, DOWN, ONE_UP, ONE_DOWN = "up", "down", "one up", "one down"
"""It never becomes smaller, or larger; it is at most 1 larger, or smaller, after each iteration."""
_GROWING = gast.Add, gast.Mult
"""Operators by which an integer most often becomes larger."""
Kept = dict[Key, frozenset[str]]
"""What is assumed of each name."""


def known(low: Lowering, node: Any) -> Kept:
    """What is assumed in a loop. It is given up once: not again whenever the loop around is walked again."""
    if node not in low.counters:
        low.counters[node] = _guessed(low, node)
    return low.counters[node]


def _guessed(low: Lowering, node: Any) -> Kept:
    """What may stay true of the integers that a loop assigns, from the look of what is assigned."""
    if not low.session.raises:
        return {}  # integers wrap
    found: Kept = {}
    for name, grows in _assigned(node):
        key = low.key(name)
        up = grows or UP in found.get(key, ())
        found[key] = frozenset((UP, ONE_UP) if up else (DOWN, ONE_DOWN))
    return found


def _assigned(node: Any) -> Iterator[tuple[str, bool]]:
    """The names that are assigned in a loop, and whether something is added there, or it is a loop's variable."""
    counters = {n.target.id for n in gast.walk(node) if isinstance(n, gast.For) and isinstance(n.target, gast.Name)}
    for inner in gast.walk(node):
        match inner:
            case gast.AugAssign(target=gast.Name(id=name), op=op):
                yield name, isinstance(op, _GROWING)
            case gast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _matched(target, value, counters)


def _matched(target: Any, value: Any, counters: set[str]) -> Iterator[tuple[str, bool]]:
    if isinstance(target, gast.Tuple) and isinstance(value, gast.Tuple) and len(target.elts) == len(value.elts):
        for t, v in zip(target.elts, value.elts, strict=True):
            yield from _matched(t, v, counters)
        return
    adds = any(isinstance(e, gast.BinOp) and isinstance(e.op, _GROWING) for e in gast.walk(value))
    adds |= isinstance(value, gast.Name) and value.id in counters
    yield from ((e.id, adds) for e in gast.walk(target) if isinstance(e, gast.Name))


def assume(
    low: Lowering, kept: Kept, plan: Plan | None, region: Region, before: State, entities: Mapping[Key, Entity]
) -> None:
    """Record what holds at the start of an iteration."""
    trips = trips_before(plan, region)
    with low.builder.inside(region):
        for name, kinds in kept.items():
            low.builder.learn(*_facts(kinds, _integer(entities.get(name)), _first(before, name), trips))


def give_up(
    low: Lowering,
    kept: Kept,
    plan: Plan | None,
    region: Region,
    before: State,
    entities: Mapping[Key, Entity],
    end: State,
) -> bool:
    """Forget what does not hold after an iteration; whether there was such."""
    trips, changed = trips_before(plan, region), False
    if end.dead:
        return False
    with low.builder.inside(region):
        for name, kinds in list(kept.items()):
            now, first = _integer(end.names.get(name, UNBOUND)), _first(before, name)
            if _integer(entities.get(name)) is None or first is None:
                continue  # nothing was assumed
            after = None if trips is None else trips + 1
            kept[name] = frozenset(k for k in kinds if now is not None and _holds(low, _facts({k}, now, first, after)))
            changed |= kept[name] != kinds
    return changed


def _holds(low: Lowering, facts: list[Dim]) -> bool:
    return all(map(low.builder.proves, facts))


def conclude(low: Lowering, kept: Kept, plan: Plan | None, before: State, entities: Mapping[Key, Entity]) -> None:
    """Record what holds after the loop."""
    count = trips_of(low, plan)
    for name, kinds in kept.items():
        low.builder.learn(*_facts(kinds, _integer(entities.get(name)), _first(before, name), count))


def _facts(kinds: Iterable[str], now: Dim | None, first: Dim | None, trips: Dim | None) -> list[Dim]:
    """What is not negative, of an integer that was another before the loop, after so many iterations."""
    if now is None or first is None:
        return []
    found = {UP: [now - first], DOWN: [first - now]}
    if first.const is not None and first.const > 0:
        found[UP].append(now)
    if trips is not None:
        found |= {ONE_UP: [trips - (now - first)], ONE_DOWN: [trips - (first - now)]}
    return [fact for k in kinds for fact in found.get(k, ())]


def trips_before(plan: Plan | None, region: Region) -> Dim | None:
    """How many iterations there were before, if that is to be seen from the loop's variable."""
    if plan is None:
        return None
    start, step, index = plan.bounds[0].type.value, plan.bounds[2].type.value, region.params[0].type.value
    if start is None or step is None or step.const not in (1, -1):
        return None
    return (index - start) * step.const


def trips_of(low: Lowering, plan: Plan | None) -> Dim | None:
    """How many iterations a loop has that nothing ends before, if that is known."""
    start, stop, step = (None, None, None) if plan is None else (v.type.value for v in plan.bounds)
    if step is None or step.const not in (1, -1) or start is None or stop is None:
        return None
    count = (stop - start) * step.const
    return count if low.builder.proves(count) else None


def _first(before: State, name: Key) -> Dim | None:
    return _integer(before.names.get(name, UNBOUND))


def _integer(entity: Any) -> Dim | None:
    """What is known of one of Python's integers."""
    if isinstance(entity, Const):
        return as_dim(entity.value) if type(entity.value) is int else None
    if not isinstance(entity, Scalar):
        return None
    type_ = entity.value.type
    return type_.value if isinstance(type_, ScalarType) and without_value(type_) == PY_INT else None
