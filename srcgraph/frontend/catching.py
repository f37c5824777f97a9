"""`try`: a check whose exception a handler catches splits the path, in place of raising.

What can raise is a check node, appended while the body of the `try` is lowered. One that a handler around it catches
never gets into the graph: its condition is asked by an `If`, what follows is lowered into one branch, and in the other
a flag says that the handler is next (`Split`). At the end of the block the branches are joined, latest first. A block
inside a block asks the flag when it is done, as the statements after a loop do that may have returned. So a body that
cannot raise costs nothing, and everything else is ordinary branches, which are differentiated like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend import conditions, expressions, raised, statements
from srcgraph.frontend.entities import NONE, Const, Entity, Maybe, Scalar, State, Tup, Unusable
from srcgraph.frontend.exits import LEAVES, Guarded
from srcgraph.frontend.guarding import Catcher, Caught, Handler, Split, is_seen
from srcgraph.frontend.memory import Dead, keep_stores, refuse
from srcgraph.frontend.truths import combined, negation
from srcgraph.ir.exceptions import exception, is_limit
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.types import PY_BOOL

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

KEPT = "the exception that is caught is not kept"
HINT = "test the condition with an if before it"


class Catching:
    """The `try` statements around what is being lowered, and the paths that are split."""

    def __init__(self, low: Lowering):
        self.low = low
        self.active: list[Catcher] = []
        self.splits: list[Split] = []
        self.level = 0
        """How many regions are open where a path can be split: no others than those of statements."""
        self.exact = False
        """Whether what is checked raises an exception with arguments that are the user's own."""

    # -- the statement --------------------------------------------------------------------------

    def statement(self, node: Guarded) -> None:
        """A `try`, and what follows it."""
        low, outside = self.low, self.level
        live = low.scope.after.get(id(node), frozenset())
        classes = [self._classes(h) for h in node.handlers]
        begun = len(self.splits)
        self.active.append(Catcher(node, classes, live))
        self.level = len(low.builder.regions)
        low.builder.on_check = self.instead
        try:
            try:
                statements.block(low, node.body)
            finally:
                self.active.pop()
                low.builder.on_check = self.instead if self.active else None
            self._follow(node, begun)
        except BaseException:
            self._drop(begun)
            raise
        finally:
            self.level = outside

    def _follow(self, node: Guarded, begun: int) -> None:
        """What follows the body: on every path of its own where that is short, else once, asking the flag."""
        low, mine = self.low, self.splits[begun:]
        apart = len(mine) == 1 or (len(mine) - 1) * _size(node) < SHORT
        if not apart:
            self._join(begun)
        statements.block(low, node.finalbody)
        while len(self.splits) > begun:
            self._join_last((lambda: self.inside(lambda: statements.block(low, node.finalbody))) if apart else None)

    def _classes(self, handler: Any) -> tuple[type, ...]:
        """What a handler catches."""
        if handler.type is None:
            return (BaseException,)
        with self.low.at(handler.type):
            entity = expressions.lower(self.low, handler.type)
            found = entity.items if isinstance(entity, Tup) else (entity,)
            known = tuple(e.value for e in found if isinstance(e, Const))
            if len(known) < len(found) or not all(isinstance(c, type) and issubclass(c, BaseException) for c in known):
                raise refuse("except takes classes of exceptions", self.low.loc, kind=InferenceError)
            if any(c in (MemoryError, RecursionError, KeyboardInterrupt) for c in known):
                raise refuse(f"{known[0].__name__} cannot be caught in compiled code", self.low.loc)
        return known

    # -- splitting ------------------------------------------------------------------------------

    def instead(self, op: Op, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> Any:
        """What a check gives that is caught; None if it is not."""
        assert op.check is not None and op.holds is not None and op.unchecked is not None
        cls = exception(op.check.error.format(**attrs))
        uncaught = cls is RecursionError or is_limit(attrs.get("message"))
        found = None if uncaught else self._goes_to(cls)
        if found is None:
            return None
        kept = raised.caught(cls, op, inputs[1:] if op.name == "check_that" else inputs, attrs, self.exact)
        low, builder = self.low, self.low.builder
        holds = builder.cast(op.holds(*inputs, **attrs), PY_BOOL.dtype, weak=True)
        known = literal(builder, holds)
        if not known and all(s.holds is not holds for s in self.splits):

            def mark(state: State) -> None:
                if isinstance(found, Handler):
                    _raised(state, found.catcher.node, found.number)
                    _keep(state, found.catcher.node, found.number, kept)
                else:
                    self._finally(found, lambda: raised.again(low, kept) if kept else builder.apply(op, inputs, attrs))

            self.split(holds, mark, cls.__name__)
        if known is False:
            raise Dead
        out = op.unchecked(*inputs, **attrs)
        if op.learn:
            builder.learn(*op.learn(out, *inputs))
        return out

    def _goes_to(self, cls: type[BaseException]) -> Handler | Catcher | None:
        """Where an exception goes: the handler, or a `finally` on its way; None if it gets out unseen."""
        finals: list[Catcher] = []
        for catcher in reversed(self.active):
            for number, classes in enumerate(catcher.classes):
                if issubclass(cls, classes) and not finals:
                    return Handler(catcher, number, classes)
                if issubclass(cls, classes) and finals[0].node.final != LEAVES:
                    return finals[0]
            if catcher.node.final:
                finals.append(catcher)
        if any(c.node.final == LEAVES for c in finals):
            why = f"this may raise {cls.__name__}, after which the finally of the try around it would have to run"
            raise refuse(why, self.low.loc, "catch the exception, or " + HINT)
        return finals[0] if any(is_seen(self.low, c.node) for c in finals) else None

    def _finally(self, catcher: Catcher, again: Callable[[], Any]) -> None:
        """Run what is in ``finally``, with only the `try` statements around it, and raise again."""
        low, inside = self.low, self.active

        def run() -> None:
            statements.block(low, catcher.node.finalbody[: catcher.node.final])
            if low.state.dead or not self.goes_on():
                return
            try:
                again()
            except Dead:
                low.state.dead = True
            low.state.dead |= self.goes_on()

        self.active = inside[: inside.index(catcher)]
        try:
            self.inside(run)
        finally:
            self.active = inside
            low.builder.on_check = self.instead

    def split(self, holds: Value, mark: Callable[[State], None], what: str) -> None:
        """Go on where a condition holds; the other path is done until the block ends."""
        low, b = self.low, self.low.builder
        if len(b.regions) != self.level:
            why = f"this may raise {what}, which a try around it catches; inside this expression that is not supported"
            raise refuse(why, low.loc, HINT)
        done, other = b.new_region(), low.state.copy()
        live = frozenset().union(*(c.live for c in self.active))

        def fails() -> None:
            b.learn_condition(holds, False)
            mark(other)

        low.inside(done, other, fails)
        split = Split(low.state, b.new_region(), holds, (done, other), live, b.origin)
        self.splits.append(split)
        low.around.append(low.state)
        low.state = low.state.copy()
        b.regions.append(split.region)
        self.level += 1
        b.learn_condition(holds, True)

    def _join(self, begun: int) -> None:
        while len(self.splits) > begun:
            self._join_last(None)

    def _join_last(self, follow: Callable[[], None] | None) -> None:
        """Go on with what both paths of the latest split have become; ``follow`` is done on the other one first."""
        low = self.low
        keep_stores(low, self.splits[-1].before)
        split = self._leave()
        inner, before = low.state, split.before
        low.state = before
        region, state = split.other
        if follow is not None:
            low.inside(region, state, follow)
        if literal(low.builder, split.holds) is False:
            low.builder.splice(region)
            before.become(state)
            return
        for names in (inner.names, state.names):
            if "<stop>" in before.names:
                names.setdefault("<stop>", Const(False))
            else:
                names.pop("<stop>", None)
        with low.builder.at(origin=split.origin):
            statements.merge(low, split.holds, (split.region, inner), split.other, split.live, None)

    def _leave(self) -> Split:
        self.low.builder.regions.pop()
        self.low.around.pop()
        self.level -= 1
        return self.splits.pop()

    def _drop(self, begun: int) -> None:
        while len(self.splits) > begun:
            self.low.state = self._leave().before

    # -- blocks inside --------------------------------------------------------------------------

    def inside(self, action: Callable[[], Any]) -> None:
        """Run ``action`` in the region of a branch or of a loop's body, and join the paths it splits."""
        if not self.active:
            action()
            return
        outside, self.level = self.level, len(self.low.builder.regions)
        begun = len(self.splits)
        try:
            action()
            self._join(begun)
        except BaseException:
            self._drop(begun)
            raise
        finally:
            self.level = outside

    def goes_on(self) -> bool:
        """Whether the path goes on here: not where an exception was raised, which may be asked at run time."""
        for catcher in self.active:
            flag = self._flag(catcher)
            if flag == Const(True):
                return False
            if isinstance(flag, Scalar):
                going = negation(self.low, flag)
                assert isinstance(going, Scalar)
                self.split(going.value, lambda state, c=catcher: _is_raised(state, c.node), "an exception")
                self.low.state.names[catcher.node.raised] = Const(False)
        return True

    def go_on(self) -> None:
        """Go on inside an expression, where none of its branches raised an exception."""
        if not self.goes_on():
            self.split(self.low.builder.const(False), lambda state: None, "an exception")
            raise Dead

    def begin_iteration(self) -> None:
        """Nothing is raised yet in this iteration: the loop would have ended."""
        for catcher in self.active:
            if catcher.node.raised:
                self.low.state.names[catcher.node.raised] = Const(False)

    def end_iteration(self) -> None:
        """An exception ends the loop."""
        for catcher in self.active:
            if (flag := self._flag(catcher)) != Const(False) and not self.low.state.dead:
                stop = self.low.state.names.get("<stop>", Const(False))
                self.low.state.names["<stop>"] = combined(self.low, "logical_or", stop, flag)

    def _flag(self, catcher: Catcher) -> Entity:
        return self.low.state.names.get(catcher.node.raised, Const(False))

    # -- calls ----------------------------------------------------------------------------------

    def caught(self) -> Caught | None:
        """What is caught around a call; None if nothing is."""
        if not self.active:
            return None
        final = next((k for k in reversed(range(len(self.active))) if self.active[k].node.final), -1)
        loud = any(c.classes or is_seen(self.low, c.node) for c in self.active[: final + 1])
        return Caught(tuple(h.classes for h in self._handlers()), loud)

    def _handlers(self) -> list[Handler]:
        """The handlers an exception can reach, innermost first, before any `finally`."""
        out: list[Handler] = []
        for catcher in reversed(self.active):
            for k, classes in enumerate(catcher.classes):
                before = tuple(c for h in out for c in h.classes)
                if not all(issubclass(c, before) for c in classes):
                    out.append(Handler(catcher, k, classes))
            if catcher.node.final:
                break
        return out

    def called(self, caught: Caught) -> Entity:
        """Lower the body of a function that is called inside a `try`: what it returns, or an `Outcome`."""
        low = self.low
        for live in low.scope.header:
            low.scope.header[live] |= {RAISED, HANDLER}
        low.state.names.update({RAISED: Const(False), HANDLER: Const(0)})
        node = Guarded([], [gast.ExceptHandler(None, None, []) for _ in caught.classes], [], [])
        node.raised, node.handler, node.own = RAISED, HANDLER, frozenset()
        node.final = LEAVES if caught.loud else 0
        self.active.append(Catcher(node, list(caught.classes), low.scope.local))
        low.builder.on_check = self.instead
        self.inside(low.run)
        self.active.clear()
        low.builder.on_check = None
        names, result = low.state.names, low.returned()
        if isinstance(result, Unusable) or low.state.dead or names[RAISED] == Const(False):
            return result
        if names[RAISED] == Const(True):
            return Tup((names[HANDLER],), Outcome)
        value = result.entity if isinstance(result, Maybe) else result
        return Tup((names[HANDLER], names[RAISED], value), Outcome)

    def result(self, entity: Entity) -> Entity:
        """What a call inside a `try` gave, where it did not raise."""
        if not (isinstance(entity, Tup) and entity.cls is Outcome):
            return entity
        low = self.low
        number, raised, value = (*entity.items, Const(True), NONE)[:3]
        handlers = self._handlers()
        flags: dict[str, Entity] = {}
        for catcher in dict.fromkeys(h.catcher for h in handlers):
            mine = [(k, h.number) for k, h in enumerate(handlers) if h.catcher is catcher]
            here = [conditions.compare(low, gast.Eq(), number, Const(k)) for k, _ in mine]
            flags[catcher.node.raised] = reduce(partial(combined, low, "logical_or"), here)
            if catcher.node.handler:
                flags[catcher.node.handler] = self._picked(here, [n for _, n in mine])

        def mark(state: State) -> None:
            if len({h.catcher for h in handlers}) == 1:
                flags[handlers[0].catcher.node.raised] = Const(True)
            state.names.update(flags)
            for h in handlers:
                _keep(state, h.catcher.node, h.number, None)

        holds = negation(low, raised)
        self.split(low.value(holds), mark, "an exception")
        if holds == Const(False):  # it certainly raised
            raise Dead
        return value

    def _picked(self, tests: Sequence[Entity], numbers: Sequence[int]) -> Entity:
        """The number whose test holds; the last one if no other does."""
        low = self.low
        out: Entity = Const(numbers[-1])
        for test, number in zip(tests[:-1], numbers[:-1], strict=True):
            known = low.truth(test)
            if isinstance(known, bool):
                out = Const(number) if known else out
            else:
                out = low.entity(OPS["where"](known, number, low.value(out)))
        return out


class Outcome(tuple):
    """What a function called inside a `try` gave: for which handler it raised, whether it did, and what it returned.

    The first alone if it certainly raised.
    """


RAISED, HANDLER = "<raised>", "<handler>"
"""A called function's own flags."""
SHORT = 30
"""A handler of fewer nodes of the syntax tree, without calls, is written out for each place that may raise."""


def _raised(state: State, node: Guarded, number: int) -> None:
    _is_raised(state, node)
    if node.handler:
        state.names[node.handler] = Const(number)


def _keep(state: State, node: Guarded, number: int, kept: Entity | None) -> None:
    """Hand the exception to the handler, if it is known."""
    name = node.handlers[number].name
    if name is not None:
        known = kept if name.id in node.own else None
        state.names[name.id] = known or Unusable(KEPT, "write what it says yourself")


def _is_raised(state: State, node: Guarded) -> None:
    state.names[node.raised] = Const(True)


def _size(node: Guarded) -> int:
    """How much is written out again where an exception is caught: the handlers."""
    asked: Any = node.finalbody[0] if node.finalbody else None
    if not isinstance(asked, gast.If):
        return 0
    inside = [n for s in asked.body for n in gast.walk(s)]
    return len(inside) + SHORT * any(isinstance(n, gast.Call | gast.For | gast.While) for n in inside) + 1
