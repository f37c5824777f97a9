"""Loops: what they run over, what they carry, and the `For` or `While` they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend import calls, contents, dicts, expressions, flat, indexing, lists, statements
from srcgraph.frontend.entities import (
    STALE,
    UNBOUND,
    Array,
    Box,
    Cell,
    Const,
    Content,
    Entity,
    Iteration,
    Key,
    Listing,
    Rows,
    Scalar,
    State,
    Tup,
    Unusable,
    cells_of,
)
from srcgraph.frontend.exchange import LENT, Exchanged, found_again, permuted, unseen
from srcgraph.frontend.headers import (
    Broken,
    Chosen,
    Ends,
    Number,
    Same,
    Shape,
    instantiate,
    join_shapes,
    leaf_types,
    leaf_values,
    number_type,
    share,
    stored_into,
    widen,
)
from srcgraph.frontend.memory import Dead, as_index, beside, content, read, ref_type, refuse
from srcgraph.frontend.scope import assigned
from srcgraph.frontend.sharing import Sharing
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.promote import is_weak
from srcgraph.ir.straight import Region
from srcgraph.ir.types import BOOL, Type, type_symbols

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Bounds = tuple[Value, Value, Value]
ATTEMPTS = 30


@dataclass(slots=True)
class Plan:
    """How a `for` runs: the bounds of its index, and the item at an index."""

    bounds: Bounds
    item: Callable[[Value], Entity]
    name: str = "i"
    lists: list[Cell] = field(default_factory=list)
    """The lists that are looped over."""


@dataclass(slots=True)
class Header:
    """What is known so far about the start of an iteration."""

    shapes: dict[Key, Shape] = field(default_factory=dict)
    cells: dict[Cell, contents.ContentShape | None] = field(default_factory=dict)
    """What changes in memory: for a list, the shape of what it holds."""
    spoiled: dict[Cell, Unusable] = field(default_factory=dict)
    exchanged: tuple[Key, ...] | None = None
    """The names that exchange arrays others see; None until the first walk."""


@dataclass(slots=True)
class Walk:
    """One walk through a body under an assumption about its header."""

    regions: tuple[Region, ...]
    params: Sequence[Value]
    entities: dict[Key, Entity]
    begun: State
    end: State
    test: Value | None = None


# -- for ------------------------------------------------------------------------------------------


def for_(low: Lowering, node: Any) -> None:
    over = expressions.lower(low, node.iter)
    items = lists.known_items(low, over)
    if isinstance(over, Iteration) and over.kind == "map":
        items = _mapped(low, over)
    if items is not None or (isinstance(over, Const) and isinstance(over.value, tuple | str)) or dicts.is_dict(over):
        unrolled(low, node, expressions.items_of(low, over) if items is None else items, over)
        return
    few = _few(over) if getattr(node, "of_comprehension", False) else None
    if few is not None:
        unrolled(low, node, [Const(k) for k in few], over)
        return
    hint = node.target.id if hasattr(node.target, "id") else "i"
    plan = plan_of(low, over, hint)
    plan.lists = [c for c in cells_of(over) if isinstance(low.state.store.get(c), Tup | Rows)]
    try:
        run(low, node, plan)
    except _LengthChanges as change:
        if not isinstance(over, Listing):
            hint = "loop over a copy, or over range(len(...))"
            why = f"{change.cell.name!r} changes its length while it is looped over, which is not supported here"
            raise refuse(why, low.loc, hint) from None
        _by_index(low, node, over)


def _mapped(low: Lowering, over: Iteration) -> Sequence[Any] | None:
    """The results of `map` over items known when compiling, each computed when its turn comes."""
    function, inner = over.parts
    if not isinstance(inner, Tup):
        return None
    return [partial(calls.apply, low, function, expressions.items_of(low, args), {}) for args in inner.items]


class _LengthChanges(Exception):
    """A list that is looped over becomes longer or shorter in the loop's body."""

    def __init__(self, cell: Cell):
        super().__init__(cell.name)
        self.cell = cell


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
    run(low, loop, None)
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
    return gast.copy_location(loop, node)


def _few(over: Entity) -> range | None:
    """A short range that is known when compiling: a comprehension over it makes a known number of items."""
    if not (isinstance(over, Iteration) and over.kind == "range"):
        return None
    ends = [getattr(e.value.type.value, "const", None) for e in over.parts if isinstance(e, Scalar)]
    known = [k for k in ends if k is not None]
    found = range(*known) if len(known) == 3 else None
    return found if found is not None and len(found) <= FEW else None


FEW = 8


def plan_of(low: Lowering, over: Entity, name: str) -> Plan:
    """How to run over an iterable."""
    b = low.builder
    if isinstance(over, Iteration) and over.kind == "range":
        start, stop, step = (as_index(low, low.value(e), "a bound of range") for e in over.parts)
        return Plan((start, stop, step), Scalar, name)
    count, item = items_by_position(low, over)
    return Plan((b.const(0), count, b.const(1)), item, name if isinstance(over, Array) else "k")


def items_by_position(low: Lowering, over: Entity) -> tuple[Value, Callable[[Value], Entity]]:
    """How many items an iterable has, and the item at a position."""
    b = low.builder
    match over:
        case Array():
            kind = ref_type(low, over)
            if not kind.ndim:
                raise refuse("iteration over a 0-d array", low.loc, kind=InferenceError)
            return b.dim_value(kind.shape[0]), lambda k: indexing.element_at(low, over, [k])
        case Listing():
            return _list_by_position(low, over)
        case Iteration(kind="flat"):
            return b.dim_value(flat.size(low, over)), lambda k: Scalar(read(low, flat.element(low, over, k)))
        case Iteration(kind="range", parts=parts):
            start, stop, step = (as_index(low, low.value(e), "a bound of range") for e in parts)
            return trip_count(low, start, stop, step), lambda k: Scalar(OPS["add"](start, OPS["mul"](k, step)))
        case Iteration(kind="enumerate", parts=(inner, first)):
            count, item = items_by_position(low, inner)
            begin = as_index(low, low.value(first), "the start of enumerate")
            return count, lambda k: Tup((Scalar(OPS["add"](k, begin)), item(k)))
        case Iteration(kind="zip", parts=parts):
            return _zipped(low, parts)
        case Iteration(kind="map", parts=(function, inner)):
            count, item = items_by_position(low, inner)
            return count, lambda k: calls.apply(low, function, expressions.items_of(low, item(k)), {})
        case Iteration(kind="reversed", parts=(inner,)):
            count, item = items_by_position(low, inner)
            return count, lambda k: item(OPS["sub"](OPS["sub"](count, 1), k))
        case Tup(items=items):
            raise refuse("a tuple cannot be mixed with arrays in one loop", low.loc, f"it has {len(items)} items")
    raise refuse(f"cannot loop over {low.shown(over)}", low.loc, kind=InferenceError)


def _list_by_position(low: Lowering, over: Listing) -> tuple[Value, Callable[[Value], Entity]]:
    held = contents.content(low, over)
    if isinstance(held, Tup):
        held = lists.turn_to_rows(low, over, held, contents.joint_kind(low, (held, low.state)))

    def item(k: Value) -> Entity:
        now = contents.content(low, over)
        assert isinstance(now, Rows)
        return lists.item_at(low, now, k)

    return contents.length(low, held), item


def _zipped(low: Lowering, parts: Sequence[Entity]) -> tuple[Value, Callable[[Value], Entity]]:
    pairs = [items_by_position(low, p) for p in parts]
    count = pairs[0][0]
    for other, _ in pairs[1:]:
        if other.type != count.type:
            count = OPS["minimum"](count, other)
    return count, lambda k: Tup(tuple(item(k) for _, item in pairs))


def trip_count(low: Lowering, start: Value, stop: Value, step: Value) -> Value:
    """``len(range(start, stop, step))``."""
    known = step.type.value.const
    if known is None or known == 0:
        raise refuse("the step of range must be a known number here", low.loc)
    span = OPS["sub"](stop, start) if known > 0 else OPS["sub"](start, stop)
    if abs(known) > 1:
        span = OPS["floordiv"](OPS["add"](span, abs(known) - 1), abs(known))
    return span if low.builder.proves(span.type.value) else OPS["maximum"](span, 0)


def unrolled(low: Lowering, node: Any, items: Sequence[Any], over: Entity, first: int = 0) -> None:
    """A loop over a tuple: the body once per item, since items may differ in type."""
    low.assign("<stop>", Const(False))
    k = first
    while k < len(items):
        if low.state.dead or not low.catching.goes_on():
            return
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
    low.inside(*sides[1], lambda: low.catching.inside(lambda: unrolled(low, node, items, over, k)))
    for _, state in sides:
        state.names.pop("<stop>", None)
    before.names.pop("<stop>", None)
    names = frozenset(n for n in before.names if isinstance(n, str))
    statements.merge(low, stop, sides[0], sides[1], low.scope.after[id(node)] | names, node)


def while_(low: Lowering, node: Any) -> None:
    run(low, node, None)


# -- the search for the header --------------------------------------------------------------------


def run(low: Lowering, node: Any, plan: Plan | None) -> None:
    """Lower a loop inside others, whose own flag to stop waits meanwhile."""
    outer_stop = low.state.names.pop("<stop>", None)
    try:
        _run(low, node, plan)
    finally:
        if outer_stop is not None:
            low.state.names["<stop>"] = outer_stop


def _run(low: Lowering, node: Any, plan: Plan | None) -> None:
    """Walk the body until its header is known, then append the loop."""
    for cell in {
        c for n in low.scope.header[id(node)] for c in cells_of(low.state.names.get(low.key(n), UNBOUND), low.state)
    }:
        if cell.choice is not None:  # its size gets its name before the body is walked
            content(low, cell)
    header = first_guess(low, node)
    symbols = dict(low.builder._symbols)
    kept = len(low.session.problems)
    strict = False
    for _ in range(ATTEMPTS):
        walk = walked(low, node, plan, header, strict)
        if not grow(low, node, header, walk):
            if low.trusted.isdisjoint(v.value for v in walk.entities.values() if isinstance(v, Scalar)):
                break
            strict = True
        low.builder._symbols = dict(symbols)
        del low.session.problems[kept:]
    else:
        raise refuse("the types of this loop's variables do not settle", low.loc)
    for cell in plan.lists if plan is not None else ():
        if _changes_length(low, header, walk, cell):
            low.builder._symbols = dict(symbols)
            del low.session.problems[kept:]
            raise _LengthChanges(cell)
    append(low, node, plan, header, walk)


def _changes_length(low: Lowering, header: Header, walk: Walk, cell: Cell) -> bool:
    """Whether a list may be longer or shorter after an iteration; storing into its items does not count."""
    if cell in header.spoiled:
        return True
    shape = header.cells.get(cell)
    if not isinstance(shape, contents.Table) or walk.end.dead:
        return isinstance(shape, contents.Items)
    end = walk.end.store.get(cell)
    if not isinstance(end, Rows) or contents.is_growing(end) != shape.growing:
        return True
    if not shape.growing:
        begun = contents.content_in(walk.begun, cell)
        return not isinstance(begun, Rows) or contents.size_of(end) != contents.size_of(begun)
    part = end.parts[0]
    while (made := low.builder.definition(part)) is not None and made.op.name == "list_set":
        part = made.inputs[0]
    begun = contents.content_in(walk.begun, cell)
    return not isinstance(begun, Rows) or part is not begun.parts[0]


def first_guess(low: Lowering, node: Any) -> Header:
    """Literal numbers the body assigns are taken to change: no walk then sees them as constants."""
    header = Header()
    names = {low.key(n) for n in assigned([node]) & low.scope.header[id(node)]}
    for name in low.state.names:
        entity = low.state.names[name]
        if name in names and isinstance(entity, Const) and entity.is_number:
            header.shapes[name] = Number(number_type(entity))
    return header


def header_types(low: Lowering, header: Header) -> list[tuple[str, Type]]:
    out = [(f"{name}{suffix}", t) for name, s in header.shapes.items() for suffix, t in leaf_types(s)]
    for cell, shape in header.cells.items():
        held = low.state.store[cell]
        if shape is not None:
            out += [(cell.name + suffix, t) for suffix, t in contents.leaf_types(shape)]
        else:
            assert isinstance(held, Value)
            out.append((held.name or cell.name, held.type))
    return out


def walked(low: Lowering, node: Any, plan: Plan | None, header: Header, strict: bool = False) -> Walk:
    """Walk the body; unless ``strict``, Python's numbers at its start are trusted to be what they are before the loop.

    Where such a number is joined with one of NumPy's that has fewer digits, the next walk mostly carries NumPy's.
    """
    types = header_types(low, header)
    b = low.builder
    before = low.state
    if plan is None:
        test_region, body = b.new_region(), b.new_region()
        with b.inside(test_region):
            params = fresh_params(low, types)
            b.enter_params(test_region, params)
        test_state, _ = header_state(low, header, params, test_region)
        try:
            test = low.inside(test_region, test_state, lambda: _test(low, node))
        except Dead:
            _test(low, node)  # before the first trip, where it raises too
            raise refuse("the test of this loop raises in some trip, whatever the numbers", low.loc) from None
        params = [Value(p.name, p.type) for p in params]
        body.born |= test_region.born & frozenset().union(*(type_symbols(p.type) for p in params), frozenset())
        with b.inside(body):
            b.enter_params(body, params)
            body.known += [k for k in test_region.known if k not in body.known]
            b.learn_condition(test, True)
        regions: tuple[Region, ...] = (test_region, body)
    else:
        body, index = b.for_region(plan.bounds, plan.name)
        with b.inside(body):
            params = fresh_params(low, types)
            b.enter_params(body, (index, *params))
        regions, test = (body,), None
    state, entities = header_state(low, header, params, body)
    share(before, entities, state, before)
    Sharing(before, entities, state).with_entry(low.variables(low.scope.header[id(node)]))
    if not strict:
        begins(low, before, entities)
    state.names["<stop>"] = Const(False)
    begun = state.copy()

    def lower_body() -> None:
        low.catching.begin_iteration()
        if plan is not None:
            with low.at(node.target):
                statements.assign(low, node.target, plan.item(body.params[0]))
        statements.block(low, node.body)

    def iteration() -> None:
        low.catching.inside(lower_body)
        low.catching.end_iteration()

    low.inside(body, state, iteration)
    low.state = before
    return Walk(regions, params, entities, begun, state, test)


def begins(low: Lowering, before: State, entities: dict[Key, Entity]) -> None:
    """Record the literals that Python's numbers at the start of an iteration are before the loop."""
    for name, entity in entities.items():
        entry = before.names.get(name)
        if isinstance(entity, Scalar) and is_weak(entity.value.type) and isinstance(entry, Const):
            low.begins[entity.value] = entry.value


def _test(low: Lowering, node: Any) -> Value:
    kept, names = dict(low.state.store), dict(low.state.names)
    with low.at(node.test):
        test = low.truth(expressions.lower(low, node.test))
        value = low.builder.const(test) if isinstance(test, bool) else test
    boxes = [k for k in names if isinstance(k, Box)]
    if any(low.state.store[c] is not v for c, v in kept.items()) or any(low.state.names[b] != names[b] for b in boxes):
        why = "the condition of a while loop must not change arrays, objects or variables"
        raise refuse(why, low.loc, "use while True and break")
    return value


def fresh_params(low: Lowering, types: Sequence[tuple[str, Type]]) -> list[Value]:
    return [low.builder.fresh(name, t) for name, t in types]


def header_state(
    low: Lowering, header: Header, params: Sequence[Value], region: Region
) -> tuple[State, dict[Key, Entity]]:
    """The state at the start of an iteration whose carry is ``params``."""
    state = low.state.copy()
    leaves = iter(params)
    entities: dict[Key, Entity] = {}

    def build() -> None:
        for name, shape in header.shapes.items():
            entities[name] = instantiate(low, shape, leaves, str(name))
        state.store.update(_carried(low, header, leaves))
        state.store.update(header.spoiled)

    low.inside(region, state, build)
    state.names.update(entities)
    return state, entities


def _carried(low: Lowering, header: Header, leaves: Iterator[Value]) -> dict[Cell, Any]:
    """What the cells that change hold, from the values carried for them."""
    return {
        cell: next(leaves) if shape is None else contents.instantiate(low, shape, leaves, cell.name)
        for cell, shape in header.cells.items()
    }


def grow(low: Lowering, node: Any, header: Header, walk: Walk) -> bool:
    """Widen ``header`` by what the walk found; False if it already allowed everything."""
    if walk.end.dead:
        return False
    before, grown = low.state, False
    live = low.variables(low.scope.header[id(node)])
    ends = Ends(walk.regions[-1], walk.end, before, live)
    for name in low.keys(low.scope.header[id(node)]):
        ends.key = name
        entry = before.names.get(name, UNBOUND)
        end = walk.end.names.get(name, UNBOUND)
        at_header = walk.entities.get(name, entry)
        if end == at_header:
            continue
        old = header.shapes.get(name, Same(entry))
        new = join_shapes(old, widen(low, entry, end, ends, str(name)))
        if new != old or name not in header.shapes:
            grown |= new != old
            header.shapes[name] = new
    grown |= exchange(low, header, walk, live)
    for name, entity in walk.entities.items():
        if name not in header.shapes:
            continue
        apart = stored_into(header.shapes[name], entity, walk.begun, walk.end)
        grown |= apart != header.shapes[name]
        header.shapes[name] = apart
    for cell, held in before.store.items():
        now = walk.end.store.get(cell, held)
        if cell in header.spoiled or now is held:
            continue
        if cell.choice is not None:  # read anew: a content carried beside the arrays stored into would be copied
            now = STALE
        if isinstance(now, Unusable):
            header.spoiled[cell] = now
            header.cells.pop(cell, None)
            grown |= held is not now
        elif isinstance(now, Value) and cell not in header.cells:
            header.cells[cell] = None
            grown = True
        elif isinstance(now, Tup | Rows) and isinstance(held, Tup | Rows):
            grown |= _grow_list(low, header, walk, ends, cell, (held, now))
    if not grown:
        known = {c: set(c.shares) for e in walk.entities.values() for c in cells_of(e, walk.begun)}
        share(before, walk.entities, walk.begun, walk.end)
        Sharing(before, walk.entities, walk.begun).with_ends(walk.end)
        _refuse_late_sharing(low, walk, known)
    return grown


def _grow_list(
    low: Lowering, header: Header, walk: Walk, ends: Ends, cell: Cell, pair: tuple[Content, Content]
) -> bool:
    """As `grow`, for one list, which holds the first before the loop and the second after an iteration."""
    if pair[1] == walk.begun.store.get(cell, pair[0]):
        return False
    old = header.cells.get(cell)
    new = contents.widen_content(low, *pair, ends, cell.name)
    if old is not None:
        new = contents.join_content_shapes(old, new)
    if isinstance(new, Broken):
        header.spoiled[cell] = Unusable(new.why, new.hint, low.loc)
        header.cells.pop(cell, None)
        return True
    header.cells[cell] = new
    return new != old


def exchange(low: Lowering, header: Header, walk: Walk, live: Sequence[Key]) -> bool:
    """Whether the first walk found an exchange of arrays, or a later one that there is none."""
    names, before, end = header.exchanged, low.state, walk.end
    if names is None:
        chosen = {n: s for n, s in header.shapes.items() if isinstance(s, Chosen) and not s.own}
        arrays = [before.names[n] for n in chosen]
        header.exchanged = ()
        if chosen and permuted(list(chosen), before.names, end.names) and unseen(low, [*chosen], live, arrays, before):
            cells = tuple(c for e in arrays for c in cells_of(e))
            header.exchanged = tuple(chosen)
            header.shapes |= {n: Exchanged(s.type, cells) for n, s in chosen.items()}
            header.spoiled |= dict.fromkeys(cells, LENT)
            header.cells = {c: shape for c, shape in header.cells.items() if c not in cells}
        return bool(header.exchanged)
    arrays = [walk.entities[n] for n in names]
    if permuted(names, walk.entities, end.names) and unseen(low, names, live, arrays, end):
        return False
    header.exchanged = ()
    for name in names:
        del header.shapes[name]
    header.spoiled = {c: why for c, why in header.spoiled.items() if why is not LENT}
    return True


def _refuse_late_sharing(low: Lowering, walk: Walk, known: dict[Cell, set[Cell]]) -> None:
    """Sharing known only after the walk matters if the body stores into one of the cells."""
    for cell, shares in known.items():
        stored = walk.end.store.get(cell)
        started = next((p for p in walk.params if p is stored), None)
        changed = stored is not None and started is None
        for other in cell.shares - shares:
            if changed or (other in low.state.store and walk.end.store.get(other) is not low.state.store[other]):
                raise refuse(
                    f"{cell.name!r} may share memory with {beside(cell, other)} in some iterations, "
                    "and this loop changes it",
                    low.loc,
                    f"take a copy before the loop: {other.name} = {other.name}.copy()",
                )


# -- appending the loop ---------------------------------------------------------------------------


def append(low: Lowering, node: Any, plan: Plan | None, header: Header, walk: Walk) -> None:
    b = low.builder
    broken = [(n, s) for n, s in header.shapes.items() if isinstance(s, Broken)]
    for name, shape in broken:
        header.shapes[name] = Same(Unusable(shape.why, shape.hint, low.loc))
    inits = leaves_now(low, header, low.state.names, low.state)
    results, stop = body_results(low, header, walk)
    if plan is None:
        assert walk.test is not None
        outs = b.while_(inits, (walk.regions[0], walk.test), walk.regions[1], results, stop)
    else:
        outs = b.for_(plan.bounds, inits, walk.regions[0], results, stop)
    leaves = iter(outs)
    before, after = low.state.copy(), low.state
    entities = {name: instantiate(low, shape, leaves, str(name)) for name, shape in header.shapes.items()}
    after.store.update(_carried(low, header, leaves))
    after.store.update(header.spoiled)
    after.names.update(entities)
    share(before, entities, after, before)
    share(before, entities, after, walk.end)
    boxes = Sharing(before, entities, after)
    boxes.with_entry(low.variables(low.scope.header[id(node)]))
    boxes.with_ends(walk.end)
    found_again(low, header.exchanged or (), entities)
    after.names.update(entities)


def leaves_now(low: Lowering, header: Header, names: dict[Key, Entity], state: State) -> list[Value]:
    out = [v for name, shape in header.shapes.items() for v in leaf_values(low, shape, names.get(name, UNBOUND))]
    for cell, shape in header.cells.items():
        held = state.store[cell]
        if shape is not None:
            assert isinstance(held, Tup | Rows)
            out += contents.leaf_values(low, shape, held, cell.name)
        else:
            assert isinstance(held, Value)
            out.append(held)
    return out


def body_results(low: Lowering, header: Header, walk: Walk) -> tuple[list[Value], Value | None]:
    """What the body returns: the next carry, and whether to stop."""
    body, end = walk.regions[-1], walk.end
    if end.dead:
        return list(walk.params), None

    def collect() -> tuple[list[Value], Value | None]:
        results = leaves_now(low, header, end.names, end)
        stop = end.names.get("<stop>", Const(False))
        return results, None if stop == Const(False) else low.builder.cast(low.value(stop), BOOL, True)

    return low.inside(body, end, collect)
