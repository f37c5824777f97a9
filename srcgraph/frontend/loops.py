"""Loops: over few things known when compiling, over anything else, and while something holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.frontend import (
    calls,
    carrying,
    dicts,
    expressions,
    iteration,
    later,
    lists,
    marked,
    nests,
    statements,
)
from srcgraph.frontend.entities import (
    Const,
    Entity,
    Instance,
    Iteration,
    Listing,
    Rows,
    Scalar,
    Tup,
    cells_of,
)
from srcgraph.frontend.memory import refuse
from srcgraph.ir.graph import Value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

# -- for ------------------------------------------------------------------------------------------


def for_(low: Lowering, node: Any) -> None:
    marked.take(low, node)
    over = expressions.lower(low, node.iter)
    over = dicts.keys(low, over) if isinstance(over, Instance) and over.cls is dict else over
    items: Sequence[Any] | None = lists.known_items(low, over)
    if isinstance(over, Tup):
        items = [partial(later.arrived, low, e) for e in later.waiting(low, over) or ()]
    elif isinstance(over, Iteration) and over.kind == "map":
        items = _mapped(low, over)
    if items is not None or (isinstance(over, Const) and isinstance(over.value, tuple | str)):
        unrolled(low, node, expressions.items_of(low, over) if items is None else items, over)
        return
    few = iteration.few(over)
    if few is not None and getattr(node, "of_comprehension", False):
        unrolled(low, node, [Const(k) for k in few], over)
        return
    if nests.is_nest(over):
        marked.refuse_nest(low, node)
        nests.loop(low, node, over)
        return
    hint = node.target.id if hasattr(node.target, "id") else "i"
    plan = iteration.plan_of(low, over, hint)
    plan.few = few
    plan.held = [c for part in nests.pairs_in(over) for c in cells_of(part)]
    plan.lists = [c for c in cells_of(over) if isinstance(low.state.store.get(c), Tup | Rows)]
    seen = f"<over {len(low.overs)}>"
    low.overs.append(seen)
    low.state.names[seen] = over
    try:
        carrying.run(low, node, plan)
    except carrying.Unrolled:
        unrolled(low, node, [Const(k) for k in few or ()], over)
    except carrying.ItemsChange:
        marked.refuse_nest(low, node)
        nests.loop(low, node, over)
    except carrying.LengthChanges as change:
        if not isinstance(over, Listing):
            hint = "loop over a copy, or over range(len(...))"
            why = f"{change.cell.name!r} changes its length while it is looped over, which is not supported here"
            raise refuse(why, low.loc, hint) from None
        _by_index(low, node, over)
    finally:
        low.overs.remove(seen)
        low.state.names.pop(seen, None)


def _mapped(low: Lowering, over: Iteration) -> Sequence[Any] | None:
    """The results of `map` over items known when compiling, each computed when its turn comes."""
    function, inner = over.parts
    if not isinstance(inner, Tup):
        return None

    def turn(args: Entity) -> Entity:
        return calls.apply(low, function, expressions.items_of(low, later.arrived(low, args)), {})

    return [partial(turn, args) for args in inner.items]


def _by_index(low: Lowering, node: Any, over: Listing) -> None:
    """``for x in xs`` where the body changes the length of ``xs``: by index, as Python does it."""
    names = [_unused(low, f"_{kind}") for kind in ("k", "over")]
    loop = getattr(node, "by_index", None)
    if loop is None:
        loop = node.by_index = _index_loop(node, *names)
    low.scope.local |= frozenset(names)
    low.scope.header[id(loop)] = low.scope.header[id(node)] | frozenset(names)
    low.scope.after[id(loop)] = low.scope.after[id(node)]
    low.state.names.update(zip(names, (Const(0), over), strict=True))
    carrying.run(low, loop, None)
    for name in names:
        low.state.names.pop(name, None)


def _unused(low: Lowering, name: str) -> str:
    while name in low.scope.local or name in low.outer:
        name += "_"
    return name


def _index_loop(node: Any, k: str, xs: str) -> Any:
    """``while k < len(xs)``, the target assigned and ``k`` moved on first."""
    text = f"while {k} < __len__({xs}):\n    __item__ = {xs}[{k}]\n    {k} += 1\n"
    loop = gast.parse(text).body[0]
    for inner in gast.walk(loop):
        gast.copy_location(inner, node.iter)
    loop.test.comparators[0].func = gast.copy_location(gast.Constant(len, None), node.iter)
    loop.body[0].targets = [node.target]
    loop.body += node.body
    loop.mark = getattr(node, "mark", None)
    return gast.copy_location(loop, node)


def unrolled(low: Lowering, node: Any, items: Sequence[Any], over: Entity, first: int = 0) -> None:
    """A loop over a tuple: the body once per item, since items may differ in type."""
    with carrying.own_stop(low):
        _unrolled(low, node, items, over, first)


def _unrolled(low: Lowering, node: Any, items: Sequence[Any], over: Entity, first: int = 0) -> None:
    low.assign("<stop>", Const(False))
    k = first
    while True:
        if low.state.dead or not low.catching.goes_on():
            return
        if k >= len(items):
            later.check_sizes(low, over)
            break
        item: Any = items[k]
        statements.assign(low, node.target, item() if isinstance(item, partial) else item)
        statements.block(low, node.body)
        k += 1
        if isinstance(over, Listing) and not low.state.dead:
            items = _items_now(low, over, k)
        stop = low.state.names.get("<stop>", Const(False))
        if stop == Const(True):
            break
        if isinstance(stop, Scalar):
            _rest_unless(low, node, stop.value, items, over, k)
            break
    low.state.names.pop("<stop>", None)


def _items_now(low: Lowering, over: Listing, k: int) -> Sequence[Entity]:
    """The items of a list that the body may have changed."""
    items = lists.known_items(low, over)
    if items is None or k > MOST:
        hint = "loop over a copy, or over range(len(...))"
        raise refuse("a list that changes while it is looped over is not supported here", low.loc, hint)
    return items


MOST = 1000
"""How often the body of a loop over known items is written out at most."""


def _rest_unless(low: Lowering, node: Any, stop: Value, items: Sequence[Any], over: Entity, k: int) -> None:
    before = low.state
    sides = [(low.builder.new_region(), before.copy()) for _ in range(2)]
    low.inside(*sides[1], lambda: low.catching.inside(lambda: _unrolled(low, node, items, over, k)))
    for _, state in sides:
        state.names.pop("<stop>", None)
    before.names.pop("<stop>", None)
    names = frozenset(n for n in before.names if isinstance(n, str))
    statements.merge(low, stop, sides[0], sides[1], low.scope.after[id(node)] | names, node)


def while_(low: Lowering, node: Any) -> None:
    marked.take(low, node)
    before = low.state.copy()
    try:
        carrying.run(low, node, None)
    except carrying.TestChanges:
        low.state.become(before)
        carrying.run(low, _test_inside(low, node), None)


def _test_inside(low: Lowering, node: Any) -> Any:
    """``while True``, and a test inside that leaves the loop: for a test that changes something."""
    loop = getattr(node, "test_inside", None)
    if loop is None:
        asked = gast.If(node.test, node.body, [gast.copy_location(gast.Break(), node.test)])
        asked = gast.copy_location(asked, node.test)
        loop = gast.While(gast.copy_location(gast.Constant(True, None), node.test), [asked], [])
        loop = node.test_inside = gast.copy_location(loop, node)
        loop.mark = getattr(node, "mark", None)
    low.scope.header[id(loop)] = low.scope.after[id(asked := loop.body[0])] = low.scope.header[id(node)]
    low.scope.after[id(loop)] = low.scope.after[id(node)]
    return loop
