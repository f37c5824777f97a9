"""One of several actions, each in a branch of its own, and what they give joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from srcgraph.frontend import statements
from srcgraph.frontend.entities import UNBOUND, Choice, Entity, Maybe, State
from srcgraph.frontend.memory import Dead
from srcgraph.ir.dims import as_dim
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.vector import literal

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def each(low: Lowering, choice: Choice, action: Callable[[Entity], Entity], hint: str = "") -> Entity:
    """What ``action`` gives for the option that is chosen; each in a branch of its own."""
    known = literal(low.builder, choice.tag)
    if known is not None:
        return action(choice.options[known])
    return _from(low, choice, 0, action, hint)


def _from(low: Lowering, choice: Choice, k: int, action: Callable[[Entity], Entity], hint: str) -> Entity:
    if k == len(choice.options) - 1:
        return action(choice.options[k])
    b, tag = low.builder, choice.tag.type.value
    if b.proves(tag - k - 1):
        return _from(low, choice, k + 1, action, hint)
    if b.proves(as_dim(k) - tag):
        return action(choice.options[k])
    test = OPS["equal"](choice.tag, k)

    def rest() -> Entity:
        b.learn(tag - (k + 1))
        return _from(low, choice, k + 1, action, hint)

    return either(low, test, lambda: action(choice.options[k]), rest, hint)


def apart(low: Lowering, entities: Sequence[Entity], action: Callable[[Sequence[Entity]], Entity]) -> Entity:
    """What ``action`` gives for several entities, in a branch for each option where one of them is chosen."""
    choice = next((e for e in entities if isinstance(e, Choice)), None)
    if choice is None:
        return action(entities)
    return each(low, choice, lambda option: apart(low, [option if e == choice else e for e in entities], action))


def either(
    low: Lowering, test: Value, first: Callable[[], Entity], second: Callable[[], Entity], hint: str = ""
) -> Entity:
    """What ``first`` gives where ``test`` holds, else what ``second`` does; only one of them runs."""
    before = low.state
    sides: list[tuple[Region, State]] = []
    for action, holds in ((first, True), (second, False)):
        region, state = low.builder.new_region(), before.copy()

        def run(action: Callable[[], Entity] = action, holds: bool = holds) -> None:
            low.builder.learn_condition(test, holds)
            low.catching.inside(lambda: evaluate(low, action))

        low.inside(region, state, run)
        sides.append((region, state))
    return joined(low, test, (sides[0], sides[1]), hint)


def given(low: Lowering, maybe: Maybe, action: Callable[[Entity], Entity], hint: str = "") -> Entity:
    """What ``action`` gives for something that may be None, and for None, each in a branch of its own."""
    flag = low.value(maybe.bound)
    return either(low, flag, lambda: action(maybe.entity), lambda: action(maybe.absent), hint)


def evaluate(low: Lowering, action: Callable[[], Entity]) -> None:
    """Run ``action``, and call what it gives ``<value>``."""
    try:
        low.assign("<value>", action())
    except Dead:
        low.state.dead = True


def joined(low: Lowering, test: Value, sides: tuple[tuple[Region, State], tuple[Region, State]], hint: str) -> Entity:
    """The `If` that gives what two regions call ``<value>``."""
    name = hint or "<value>"
    live = frozenset(n for n in low.state.names if isinstance(n, str)) | low.scope.local | {"<value>"}
    statements.merge(low, test, sides[0], sides[1], live, None, name)
    if low.state.dead:
        raise Dead
    value = low.state.names.pop("<value>", UNBOUND)
    low.catching.go_on()
    return value.entity if isinstance(value, Maybe) and value.absent == UNBOUND else value
