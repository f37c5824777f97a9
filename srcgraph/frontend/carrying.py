"""What a loop carries: the search for its header, and the `For` or `While` that comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from srcgraph.frontend import conditions, contents, invariants, lengths, linking, marked, nested, statements
from srcgraph.frontend.entities import (
    ALREADY,
    STALE,
    UNBOUND,
    Box,
    Cell,
    Const,
    Content,
    Entity,
    Key,
    Rows,
    Scalar,
    State,
    Tup,
    Unusable,
    cells_of,
)
from srcgraph.frontend.exchange import LENT, Exchanged, exchanged_among, found_again, permuted, unseen
from srcgraph.frontend.headers import (
    Broken,
    Chosen,
    Ends,
    Number,
    Same,
    Shape,
    join_shapes,
    number_type,
    stored_into,
    widen,
)
from srcgraph.frontend.iteration import Plan
from srcgraph.frontend.memory import Dead, Refusal, beside, content, refuse
from srcgraph.frontend.scope import assigned
from srcgraph.frontend.shape_values import instantiate, leaf_types, leaf_values
from srcgraph.frontend.sharing import Pair, Sharing, share
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Value
from srcgraph.ir.promote import is_weak
from srcgraph.ir.types import BOOL, Type, type_symbols

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

ATTEMPTS = 30


@dataclass(slots=True)
class Header:
    """What is known so far about the start of an iteration."""

    shapes: dict[Key, Shape] = field(default_factory=dict)
    cells: dict[Cell, contents.ContentShape | None] = field(default_factory=dict)
    """What changes in memory: for a list, the shape of what it holds."""
    spoiled: dict[Cell, Unusable] = field(default_factory=dict)
    shared: set[Pair] = field(default_factory=set)
    """What may be one object, as earlier walks found."""
    put: set[Cell] = field(default_factory=set)
    """Arrays and lists from before the loop that it stores into, and puts into lists, as earlier walks found."""
    lists: linking.Carried = field(default_factory=linking.Carried)
    exchanged: tuple[Key, ...] | None = None
    """The names that exchange arrays others see; None until the first walk."""
    unroll: bool = False
    """Whether a list can be kept only if every iteration is written out."""
    kept: invariants.Kept = field(default_factory=dict)
    """What is assumed of integers at the start of each iteration."""
    lengths: lengths.Guesses = field(default_factory=dict)
    """What is assumed of arrays that become longer or shorter."""


@dataclass(slots=True)
class Walk:
    """One walk through a body under an assumption about its header."""

    regions: tuple[Region, ...]
    params: Sequence[Value]
    entities: dict[Key, Entity]
    begun: State
    end: State
    test: Value | None = None


class TestChanges(Exception):
    """The condition of a loop changes arrays, objects or variables, as ``while stack.pop() > 0`` does."""


class Unrolled(Exception):
    """What a loop over few known integers makes can only be kept if every iteration is written out."""


class ItemsChange(Exception):
    """Items that an iteration keeps from the one before are stored into."""


class LengthChanges(Exception):
    """A list that is looped over becomes longer or shorter in the loop's body."""

    def __init__(self, cell: Cell):
        super().__init__(cell.name)
        self.cell = cell


# -- the search for the header --------------------------------------------------------------------


@contextmanager
def own_stop(low: Lowering) -> Iterator[None]:
    """A loop inside others: their flag to stop waits meanwhile."""
    outer = low.state.names.pop("<stop>", None)
    try:
        yield
    finally:
        if outer is not None:
            low.state.names["<stop>"] = outer


def run(low: Lowering, node: Any, plan: Plan | None) -> None:
    """Lower a loop."""
    with own_stop(low):
        _run(low, node, plan)


def _run(low: Lowering, node: Any, plan: Plan | None) -> None:
    """Walk the body until its header is known, then append the loop."""
    for cell in {
        c for n in low.scope.header[id(node)] for c in cells_of(low.state.names.get(low.key(n), UNBOUND), low.state)
    }:
        if cell.choice is not None:  # its size gets its name before the body is walked
            content(low, cell)
    header = first_guess(low, node)
    entry_shares = {cell: frozenset(cell.shares) for cell in low.state.store}
    symbols = dict(low.builder._symbols)
    kept = len(low.session.problems)
    strict = False
    for _ in range(ATTEMPTS):
        try:
            walk = walked(low, node, plan, header, strict)
        except (Refusal, Dead):
            if not lengths.next_guess(header.lengths):  # it may be that what was assumed does not hold
                if not any(header.kept.values()):
                    raise
                header.kept.clear()
            low.builder._symbols = dict(symbols)
            del low.session.problems[kept:]
            continue
        given_up = invariants.give_up(low, header.kept, plan, walk.regions[-1], low.state, walk.entities, walk.end)
        given_up |= lengths.give_up(low, header.lengths, plan, walk.regions[-1], walk.entities, walk.end)
        if not grow(low, node, header, walk, plan) and not given_up:
            if low.trusted.isdisjoint(v.value for v in walk.entities.values() if isinstance(v, Scalar)):
                break
            strict = True
        low.builder._symbols = dict(symbols)
        del low.session.problems[kept:]
    else:
        hint = "where one is a part of an array, take a copy of it in each iteration"
        raise refuse("the types of this loop's variables do not settle", low.loc, hint)
    changes = _otherwise(low, header, walk, plan)
    if changes is not None:
        low.builder._symbols = dict(symbols)
        del low.session.problems[kept:]
        raise changes
    append(low, node, plan, header, walk, entry_shares)


def _otherwise(low: Lowering, header: Header, walk: Walk, plan: Plan | None) -> Exception | None:
    """Why a loop has to be lowered in another way."""
    if plan is None:
        return None
    if plan.few is not None and (header.unroll or any(getattr(s, "unroll", False) for s in header.shapes.values())):
        return Unrolled()
    if any(c in header.cells or c in header.spoiled for c in plan.held):
        return ItemsChange()
    return next((LengthChanges(c) for c in plan.lists if _changes_length(low, header, walk, c)), None)


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
    header = Header(kept=invariants.known(low, node))
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
    before = low.state
    regions, params, test = _entered(low, node, plan, header)
    body = regions[-1]
    state, entities = header_state(low, header, params, body)
    if plan is not None:
        invariants.assume(low, header.kept, plan, body, before, entities)
        lengths.assume(low, header.lengths, plan, body, before, entities, state)
    share(before, entities, state, before)
    sharing = Sharing(low, before, entities, state)
    sharing.apply([*sharing.with_entry(low.variables(low.scope.header[id(node)])), *header.shared])
    header.lists.begin(before, entities, state)
    if not strict:
        begins(low, before, entities)
    state.names["<stop>"] = Const(False)
    begun = state.copy()

    def lower_body() -> None:
        low.catching.begin_iteration()
        marked.put(low, node)
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


def _entered(
    low: Lowering, node: Any, plan: Plan | None, header: Header
) -> tuple[tuple[Region, ...], list[Value], Value | None]:
    """The regions of a loop, what it hands on at the start of its body, and its test, which has been walked."""
    types, b = header_types(low, header), low.builder
    if plan is not None:
        body, index = b.for_region(plan.bounds, plan.name)
        with b.inside(body):
            params = fresh_params(low, types)
            b.enter_params(body, (index, *params))
        return (body,), params, None
    test_region, body = b.new_region(), b.new_region()
    with b.inside(test_region):
        params = fresh_params(low, types)
        b.enter_params(test_region, params)
    test_state, begun_with = header_state(low, header, params, test_region)
    invariants.assume(low, header.kept, plan, test_region, low.state, begun_with)
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
    return (test_region, body), params, test


def begins(low: Lowering, before: State, entities: dict[Key, Entity]) -> None:
    """Record the literals that Python's numbers at the start of an iteration are before the loop."""
    for name, entity in entities.items():
        entry = before.names.get(name)
        if isinstance(entity, Scalar) and is_weak(entity.value.type) and isinstance(entry, Const):
            low.begins[entity.value] = entry.value


def _test(low: Lowering, node: Any) -> Value:
    kept, names = dict(low.state.store), dict(low.state.names)
    with low.at(node.test):
        test = conditions.tested(low, node.test)
        value = low.builder.const(test) if isinstance(test, bool) else test
    boxes = [k for k in names if isinstance(k, Box)]
    if any(low.state.store[c] is not v for c, v in kept.items()) or any(low.state.names[b] != names[b] for b in boxes):
        raise TestChanges
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
        for cell, kept in header.cells.items():
            before = low.state.store[cell]
            if isinstance(kept, contents.Table) and isinstance(before, Tup):
                if nested.has_lists(kept.item):
                    nested.detach(low, before, state.store)
                linking.link_all(cell, before, low.state)
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


def grow(low: Lowering, node: Any, header: Header, walk: Walk, plan: Plan | None) -> bool:
    """Widen ``header`` by what the walk found; False if it already allowed everything."""
    if walk.end.dead:
        return False
    before, grown = low.state, False
    live = [*low.variables(low.scope.header[id(node)]), *low.overs]
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
    grown |= lengths.guess(low, header.lengths, header.shapes, plan, walk.regions[-1], walk.end)
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
        if isinstance(now, Unusable):  # what an earlier walk found is said by the last one
            now = low.reasons.get(cell, now) if now == Unusable(ALREADY) else now
            header.spoiled[cell] = now
            header.cells.pop(cell, None)
            grown |= held is not now
        elif isinstance(now, Value) and cell not in header.cells:
            header.cells[cell] = None
            grown = True
        elif isinstance(now, Tup | Rows) and isinstance(held, Tup | Rows):
            grown |= _grow_list(low, header, walk, ends, cell, (held, now))
    put = {c for c in _stored(walk) if c in before.store and linking.lists_around(c)}
    grown |= not put <= header.put
    header.put |= put
    grown |= header.lists.grow(before, walk.entities, walk.begun, walk.end)
    if not grown:
        known = {c: set(c.shares) for e in walk.entities.values() for c in cells_of(e, walk.begun)}
        share(before, walk.entities, walk.begun, walk.end)
        _refuse_late_sharing(low, walk, known)
        _refuse_late_items(low, walk)
        shared = {*Sharing(low, before, walk.entities, walk.begun).with_ends(walk.end)}
        grown = not shared <= header.shared
        header.shared |= shared
    return grown


def _stored(walk: Walk) -> set[Cell]:
    """The arrays and lists that an iteration finds and stores into."""
    return {c for c, held in walk.begun.store.items() if walk.end.store.get(c) is not held}


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
        header.unroll |= new.unroll
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
            among = exchanged_among(list(chosen), before.names, end.names)
            header.exchanged = tuple(chosen)
            header.shapes |= {n: Exchanged(s.type, among[n]) for n, s in chosen.items()}
            header.spoiled |= dict.fromkeys(cells, LENT)
            header.cells = {c: shape for c, shape in header.cells.items() if c not in cells}
        return bool(header.exchanged)
    arrays = [walk.entities[n] for n in names]
    if permuted(names, walk.entities, end.names) and unseen(low, names, live, arrays, end):
        among = exchanged_among(names, walk.entities, end.names)
        if all(_cells_of(header, n) == _cells_of(header, m) for n in names for m in names if among[n] == among[m]):
            return False
    header.exchanged = ()
    for name in names:
        del header.shapes[name]
    header.spoiled = {c: why for c, why in header.spoiled.items() if why is not LENT}
    return True


def _cells_of(header: Header, name: Key) -> tuple[Cell, ...]:
    shape = header.shapes[name]
    assert isinstance(shape, Exchanged)
    return shape.cells


def _refuse_late_sharing(low: Lowering, walk: Walk, known: dict[Cell, set[Cell]]) -> None:
    """Sharing known only after the walk matters if the body stores into one of the cells."""
    for cell, shares in known.items():
        stored = walk.end.store.get(cell)
        changed = stored is not None and stored is not walk.begun.store.get(cell)
        for other in cell.shares - shares:
            held, now = low.state.store.get(other), walk.end.store.get(other)
            in_list = isinstance(now, Tup | Rows)  # which changes, but no array in it
            if changed or (held is not None and now is not held and not in_list):
                hint = f"take a copy before the loop: {other.name} = {other.name}.copy()"
                if isinstance(held, Tup | Rows):
                    hint = f"put a copy into the list: {other.name}.append({cell.name}.copy())"
                raise refuse(
                    f"{cell.name!r} may share memory with {beside(cell, other)} in some iterations, "
                    "and this loop changes it",
                    low.loc,
                    hint,
                )


def _refuse_late_items(low: Lowering, walk: Walk) -> None:
    """What an iteration stores into may be an item of a list since the iteration before."""
    stored = _stored(walk)
    for name, entity in walk.entities.items():
        if stored.isdisjoint(cells_of(entity, walk.begun)):
            continue
        ends = cells_of(walk.end.names.get(name, UNBOUND), walk.end)
        for cell in (c for end in ends for c in linking.lists_around(end)):
            if isinstance(walk.end.store.get(cell), Tup | Rows):
                listed = repr(cell.name) if cell.name else "a list"
                why = f"this loop stores into {str(name)!r}, which may be in {listed} since the iteration before"
                raise refuse(why, low.loc, f"put a copy into the list: {cell.name or 'xs'}.append({name}.copy())")


# -- appending the loop ---------------------------------------------------------------------------


def append(
    low: Lowering, node: Any, plan: Plan | None, header: Header, walk: Walk, entry_shares: Mapping[Cell, Set[Cell]]
) -> None:
    """Put the loop into the graph; ``entry_shares`` says what shared memory before it."""
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
        outs = b.for_(plan.bounds, inits, walk.regions[0], results, stop, lanes=plan.lanes)
    leaves = iter(outs)
    before, after = low.state.copy(), low.state
    entities = {name: instantiate(low, shape, leaves, str(name)) for name, shape in header.shapes.items()}
    after.store.update(_carried(low, header, leaves))
    after.store.update(header.spoiled)
    after.names.update(entities)
    share(before, entities, after, before, entry_shares)
    linking.after_loop(before, walk.end, entities, after)
    share(before, entities, after, walk.end)
    sharing = Sharing(low, before, entities, after)
    live = low.variables(low.scope.header[id(node)])
    sharing.apply([*sharing.with_entry(live), *sharing.with_ends(walk.end), *header.shared])
    found_again(low, header.exchanged or (), entities)
    after.names.update(entities)
    invariants.conclude(low, header.kept, plan, before, entities)
    lengths.conclude(
        low, header.lengths, None if stop is not None else invariants.trips_of(low, plan), before, entities
    )
    refused = Unusable(ALREADY)  # what the body was refused to assign
    after.names.update({name: refused for name in header.shapes if walk.end.names.get(name) == refused})


def leaves_now(low: Lowering, header: Header, names: dict[Key, Entity], state: State) -> list[Value]:
    out = [v for name, shape in header.shapes.items() for v in leaf_values(low, shape, names.get(name, UNBOUND))]
    for cell, shape in header.cells.items():
        held = state.store[cell]
        if shape is not None:
            assert isinstance(held, Tup | Rows)
            out += contents.leaf_values(low, shape, held, cell.name)
            if isinstance(shape, contents.Table):
                linking.link_all(cell, held, state)
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
