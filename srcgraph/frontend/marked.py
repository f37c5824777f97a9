"""Loops that the program marks to be run again in the reverse sweep: ``for i in checkpoint(range(n), 50)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import ArgumentError
from srcgraph.frontend import expressions
from srcgraph.frontend.entities import Const, Entity
from srcgraph.frontend.memory import refuse

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def marks_of(function: Any) -> Any:
    """What reads the arguments of a mark, if a function is one."""
    return getattr(function, "marks", None)


def take(low: Lowering, node: Any) -> None:
    """Give a loop the mark that is around its test, or what it is over."""
    place = "iter" if isinstance(node, gast.For) else "test"
    asked = getattr(node, place)
    if not isinstance(asked, gast.Call) or not asked.args or not isinstance(asked.func, gast.Name | gast.Attribute):
        return
    function = expressions.lower(low, asked.func)
    if isinstance(function, Const) and (marks := marks_of(function.value)) is not None:
        node.mark = _plan(low, asked, marks)
        setattr(node, place, asked.args[0])


def _plan(low: Lowering, call: Any, marks: Any) -> dict[str, int]:
    """What the mark says, in literals."""
    args = [expressions.lower(low, a) for a in call.args[1:]]
    kwargs = {k.arg: expressions.lower(low, k.value) for k in call.keywords}
    with low.at(call):
        if not all(isinstance(e, Const) for e in (*args, *kwargs.values())):
            raise refuse("how many states checkpoint stores must be known when compiling", low.loc, "write a literal")
        try:
            return marks(*(e.value for e in args), **{k: e.value for k, e in kwargs.items()})  # type: ignore[union-attr]
        except (ArgumentError, TypeError) as error:
            raise refuse(str(error), low.loc) from None


def refuse_nest(low: Lowering, node: Any) -> None:
    """A loop that becomes several has no state of its own to store."""
    if getattr(node, "mark", None) is not None:
        raise refuse("checkpoint of a loop over this is not supported", low.loc, "loop over range(n), and index")


def put(low: Lowering, node: Any) -> None:
    """At the start of a loop's body: its mark."""
    mark = getattr(node, "mark", None)
    if mark is not None:
        low.builder.call_named("replayed", **mark)


def call(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """A mark inside a compiled function that is not on a loop: of a function."""
    if len(args) == 1 and not kwargs and isinstance(args[0], Const) and callable(args[0].value):
        key = (function, args[0].value)
        return Const(low.session.marked.setdefault(key, function(args[0].value)))
    hint = "mark what a loop is over, `for i in checkpoint(range(n)):`, its test, without :=, or a function with a name"
    raise refuse("checkpoint marks loops and functions", low.loc, hint)
