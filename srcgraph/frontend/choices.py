"""One of a few things, known only at run time: functions, strings, None chosen by a condition.

A `Choice` carries a small integer, its tag. Whatever is done with it is done with each option in a
branch of its own (`branching.each`), so the rest of the frontend sees only entities that are known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

from srcgraph.frontend.entities import (
    UNBOUND,
    Choice,
    Closure,
    Const,
    Entity,
    Method,
    Partial,
    Raised,
    State,
    Text,
    boxes_of,
    cells_of,
    parts_of,
    values_of,
    with_parts,
    within,
)
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.presence import told
from srcgraph.ir.dims import as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS

if TYPE_CHECKING:
    from srcgraph.frontend.join import Joiner, Make
    from srcgraph.frontend.lower import Lowering

MOST = 32
"""A choice of more options than this is refused: each use of it has a branch for each."""


def choosable(entity: Entity) -> bool:
    """Whether an entity can be an option: a function, an exception, or a constant that is no number."""
    if isinstance(entity, Const):
        return not entity.is_number
    if isinstance(entity, Choice):
        return not any(isinstance(option, Text) for option in entity.options)
    return isinstance(entity, Closure | Partial | Method | Raised)


def options_of(entity: Entity) -> tuple[Entity, ...]:
    return entity.options if isinstance(entity, Choice) else (entity,)


def single(entity: Entity) -> Entity | None:
    """The only option; None if there are others."""
    options = options_of(entity)
    return options[0] if len(options) == 1 else None


def possible(low: Lowering, entity: Entity) -> Entity:
    """What an entity can be here, where conditions have told some of what it may be apart."""
    entity = told(low, entity)
    if not isinstance(entity, Choice):
        return entity
    b, tag = low.builder, entity.tag.type.value
    left = [k for k in range(len(entity.options)) if not (b.proves(tag - k - 1) or b.proves(as_dim(k) - tag - 1))]
    return entity.options[left[0]] if len(left) == 1 else entity


def combined_options(low: Lowering, entities: Sequence[Entity], made: Callable[[Sequence[Entity]], Entity]) -> Entity:
    """What ``made``, which computes nothing at run time, gives for each combination of the options of these."""
    chosen = list(dict.fromkeys(e for e in entities if isinstance(e, Choice)))
    if not chosen:
        return made(entities)
    if (count := prod(len(c.options) for c in chosen)) > MOST:
        raise refuse(f"a text of more than {MOST} different ones is not supported", low.loc, "print its parts apart")
    tag = chosen[0].tag
    for choice in chosen[1:]:
        tag = OPS["add"](OPS["mul"](tag, len(choice.options)), choice.tag)
    low.builder.learn(tag.type.value, as_dim(count - 1) - tag.type.value)
    out = []
    for options in product(*(c.options for c in chosen)):
        taken = dict(zip(chosen, options, strict=True))
        out.append(made([taken[e] if isinstance(e, Choice) else e for e in entities]))
    return out[0] if all(e == out[0] for e in out) else Choice(tag, tuple(out))


# -- making one ---------------------------------------------------------------------------------------


def picked(low: Lowering, items: Sequence[Entity], index: Value, what: str) -> Choice:
    """``items[index]`` of functions or constants, for an index known at run time."""
    b, count = low.builder, len(items)
    if not b.proves(index.type.value):
        index = OPS["where"](OPS["less"](index, 0), OPS["add"](index, count), index)
    at = index.type.value
    for room, op, bound in ((at, "greater_equal", 0), (as_dim(count - 1) - at, "less", count)):
        if not b.proves(room):
            message = f"{what} index out of range"
            b.call_named("check_that", OPS[op](index, bound), error="IndexError", message=message)
    b.learn(index.type.value, as_dim(count - 1) - index.type.value)
    return Choice(index, tuple(items))


def join_choices(joiner: Joiner, x: Entity, y: Entity, name: str) -> Make:
    """One choice of what two paths made."""
    low = joiner.low
    xs, ys = options_of(x), options_of(y)
    alike = same_function if all(map(_are_apart, (xs, ys))) else operator.eq
    merged = low.session.in_order([*xs, *ys], alike)
    places = [[_position(merged, o) for o in options] for options in (xs, ys)]
    if len(merged) > MOST:
        raise refuse(f"{name!r} may be more than {MOST} different functions or constants", low.loc)
    tags = [_tag(joiner, side, e, p) for side, (e, p) in enumerate(zip((x, y), places, strict=True))]
    at = joiner.output(tags[0], tags[1], f"{name}_choice" if name.isidentifier() else "choice")
    makers = []
    for k, option in enumerate(merged):
        pair = [next((o for o, p in zip(own, place, strict=True) if p == k), None) for own, place in
                zip((xs, ys), places, strict=True)]  # fmt: skip
        makers.append([_part(joiner, parts, name) for parts in _part_pairs(option, *pair)])

    def make(outs: tuple[Value, ...]) -> Entity:
        tag = outs[at]
        low.builder.learn(tag.type.value, as_dim(len(merged) - 1) - tag.type.value)
        parts = [tuple(m(outs) for m in made) for made in makers]
        return Choice(tag, tuple(with_parts(o, p) for o, p in zip(merged, parts, strict=True)))

    return make


def _position(options: Sequence[Entity], option: Entity) -> int:
    if option in options:
        return list(options).index(option)
    return next(k for k, known in enumerate(options) if same_function(known, option))


def _are_apart(options: Sequence[Entity]) -> bool:
    """Whether no two options are one function with different values."""
    return not any(same_function(x, y) for x, y in combinations(options, 2))


def same_function(x: Entity, y: Entity) -> bool:
    """Whether two options differ in nothing but values: one function's defaults, one method's array."""
    if x == y:
        return True
    if type(x) is not type(y) or len(parts_of(x)) != len(parts_of(y)):
        return False
    blank = [UNBOUND] * len(parts_of(x))
    return bool(blank) and with_parts(x, blank) == with_parts(y, blank)


def _part_pairs(option: Entity, mine: Entity | None, other: Entity | None):
    count = len(parts_of(option))
    sides = [parts_of(e) if e is not None else (None,) * count for e in (mine, other)]
    return list(zip(*sides, strict=True))


def _part(joiner: Joiner, pair: tuple[Entity | None, Entity | None], name: str) -> Make:
    """One part of an option on both paths; where the option is on one path only, anything will do on the other."""
    x, y = pair
    for side, (part, other) in enumerate(((x, y), (y, x))):
        if part is not None and other is None:
            if _known_before(joiner, side, part):
                return lambda outs: part
            made = joiner.low.inside(
                *joiner.sides[1 - side],
                lambda part=part, side=side: joiner.low.undefined(part, joiner.sides[side]),
            )
            return joiner.join(*((part, made) if side == 0 else (made, part)), name)
    assert x is not None and y is not None
    return joiner.join(x, y, name)


def _known_before(joiner: Joiner, side: int, part: Entity) -> bool:
    """Whether an entity of one path means the same where both have joined."""
    region, state = joiner.sides[side]
    born = {v for node in region.nodes for v in node.outputs}
    known = all(b in joiner.before.names for b in boxes_of(part))
    return known and born.isdisjoint(values_of(part)) and all(c in joiner.before.store for c in cells_of(part, state))


def _tag(joiner: Joiner, side: int, entity: Entity, place: Sequence[int]) -> Value:
    region, state = joiner.sides[side]
    return joiner.low.inside(region, state, lambda: renumbered(joiner.low, entity, place))


def renumbered(low: Lowering, entity: Entity, place: Sequence[int]) -> Value:
    """The tag of an entity whose options are at ``place`` among those of another choice."""
    if not isinstance(entity, Choice):
        return low.builder.const(place[0])
    if list(place[: len(entity.options)]) == list(range(len(entity.options))):
        return entity.tag
    tag = low.builder.const(place[-1])
    for k in reversed(range(len(place) - 1)):
        tag = OPS["where"](OPS["equal"](entity.tag, k), place[k], tag)
    return tag


def tag_among(low: Lowering, entity: Entity, options: Sequence[Entity]) -> Value:
    """The tag of an entity among options that hold all of its own."""
    return renumbered(low, entity, [_position(options, e) for e in options_of(entity)])


def fixed(options: Sequence[Entity], known: Sequence[Entity], before: State) -> bool:
    """Whether all options mean the same in every trip of a loop: new ones were there ``before``, or hold nothing."""
    new = [o for o in options if o not in known and not all(isinstance(e, Const) for e in _held(o))]
    there = [e for held in before.names.values() for e in within(held, before)] if new else []
    return all(o in there for o in new)


def _held(option: Entity) -> list[Entity]:
    """What a function, or what it was made of, holds."""
    parts = parts_of(option)
    inner = [e for part in parts if choosable(part) for e in _held(part)]
    return [*inner, *(part for part in parts if not choosable(part))]
