"""Which arrays and lists may be items of which lists at run time.

While the items of a list are known, a store into one of them is seen through the list. At run time a list has copies
of what its items are: a store into what may be an item, be it an array or a list, makes the list unreadable. So it is
recorded what may be an item of what: when something is put on a list, read from it or taken off, and where a loop
carries a list that it makes anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srcgraph.frontend import contents
from srcgraph.frontend.entities import (
    UNBOUND,
    Array,
    Cell,
    Entity,
    Key,
    ListCell,
    Listing,
    State,
    Tup,
    cells_of,
    may_share,
    within,
)

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def lists_around(cell: Cell) -> set[ListCell]:
    """The lists of which an array, or a list, may be an item at run time."""
    if isinstance(cell, ListCell):
        return cell.around()
    return {c for c in cell.shares if isinstance(c, ListCell)}


def arrays_beside(cell: Cell) -> list[Cell]:
    """The arrays that may be the same memory as this one, or be items of this list: those no name has any more, too."""
    return [c for c in cell.shares if not isinstance(c, ListCell)]


def _arrays_in(entity: Entity, state: State) -> Iterator[Cell]:
    for e in within(entity, state):
        if isinstance(e, Array):
            yield from cells_of(e)


# -- what is put on lists, and taken off ----------------------------------------------------------------


def link(low: Lowering, cell: Cell, entity: Entity) -> None:
    """Record that arrays and lists may be items at run time: a store into one is a change of the list, unseen by it."""
    if contents.has_short_lists(low.state.store.get(cell)):
        hold(entity, cell, low.state)
    if not (isinstance(entity, Array | Listing | Tup) and contents.must_grow_if_rows(low.state.store.get(cell))):
        return
    for array in _arrays_in(entity, low.state):
        for other in (array, *arrays_beside(array)):
            may_share(other, cell)


def hold(entity: Entity, outer: Cell, state: State) -> None:
    """Record that the lists of an entity may be items of a list, as they may be of others."""
    assert isinstance(outer, ListCell)
    for inner in (e.cell for e in within(entity, state) if isinstance(e, Listing) and e.cell is not outer):
        assert isinstance(inner, ListCell)
        for other in inner.holders - {outer}:
            other.peers.add(outer)
            outer.peers.add(other)
        inner.holders.add(outer)


def hold_like(x: Cell, y: Cell) -> None:
    """Record that one list may be an item where another may be."""
    assert isinstance(x, ListCell) and isinstance(y, ListCell)
    y.holders |= x.holders


def link_all(cell: Cell, held: object, state: State) -> None:
    """Record that the known items of a list become items at run time."""
    if isinstance(held, Tup):
        hold(held, cell, state)
        for array in _arrays_in(held, state):
            may_share(array, cell)


def link_lists(x: Cell, y: Cell) -> None:
    """Record that two lists may have the same arrays, or lists, as items."""
    assert isinstance(x, ListCell) and isinstance(y, ListCell)
    if x is not y:
        x.peers.add(y)
        y.peers.add(x)
    for array in arrays_beside(x):
        may_share(array, y)


def link_item(low: Lowering, cell: Cell, item: Entity) -> None:
    """Record that an array read from a list may be what was put there, in other lists too."""
    link_known(low, cell, item)
    link(low, cell, item)


def link_known(low: Lowering, cell: Cell, item: Entity) -> None:
    """Record that what was in a list may be what was put there."""
    hold(item, cell, low.state)
    for own in _arrays_in(item, low.state):
        for array in arrays_beside(cell):
            for other in [array, *array.shares]:
                if other is not cell:
                    may_share(own, other)


# -- in loops ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Carried:
    """What a loop's walks found of the lists that it makes anew and carries, by the names that these are carried by.

    Attributes
    ----------
    items : dict
        Arrays and lists from before the loop that may be items of them.
    peers : dict
        Lists from before the loop, and names of others that are carried, with which they may have items in common.
    """

    items: dict[Key, set[Cell]] = field(default_factory=dict)
    peers: dict[Key, set[ListCell | Key]] = field(default_factory=dict)

    def begin(self, before: State, header: dict[Key, Entity], state: State) -> None:
        """Record it of the lists of a header, and that they may have the items that they had before the loop."""
        lists = _carried_lists(before, header, state)
        for name, made in lists:
            for own in _lists_of(before.names.get(name, UNBOUND), before):
                link_lists(own, made)
                hold_like(own, made)
                link_all(made, before.store.get(own), before)
            for item in self.items.get(name, ()):
                if isinstance(item, ListCell):
                    item.holders.add(made)
                else:
                    may_share(item, made)
            for peer in self.peers.get(name, ()):
                for other in [peer] if isinstance(peer, ListCell) else [c for n, c in lists if n == peer]:
                    _have_in_common(made, other)

    def grow(self, before: State, header: dict[Key, Entity], begun: State, state: State) -> bool:
        """Whether there is more of it in ``state``, at the end of an iteration."""
        count = self.count()
        names = {name for name, _ in _carried_lists(before, header, begun)}
        ends = {name: _lists_of(state.names.get(name, UNBOUND), state) for name in names}
        others = [(c, c) for c in before.store if isinstance(c, ListCell)]
        others += [(name, c) for name, cells in ends.items() for c in cells]
        for name, own in ((name, c) for name, cells in ends.items() for c in cells):
            held = state.store.get(own)
            known = before.store.keys() & cells_of(held, state) if isinstance(held, Tup) else set()
            items = {c for c in before.store if own in lists_around(c)} | known
            self.items.setdefault(name, set()).update(items)
            peers = {key for key, c in others if key != name and _are_related(own, c)}
            self.peers.setdefault(name, set()).update(peers)
        return self.count() > count

    def count(self) -> int:
        return sum(map(len, (*self.items.values(), *self.peers.values())))


def _are_related(x: ListCell, y: ListCell) -> bool:
    """Whether two lists may have items in common."""
    return x is not y and (y in x.peers or not set(arrays_beside(x)).isdisjoint(arrays_beside(y)))


def _have_in_common(x: ListCell, y: ListCell) -> None:
    link_lists(x, y)
    some = Cell("")  # an array that has no name
    may_share(some, x)
    may_share(some, y)


def after_loop(before: State, ends: State, entities: dict[Key, Entity], state: State) -> None:
    """What a loop leaves may be items of the lists of which what it carried may be items."""
    for name, entity in entities.items():
        carried = [(s, s.names.get(name, UNBOUND)) for s in (before, ends)]
        olds = [c for s, e in carried for c in cells_of(e, s)]
        for made in cells_of(entity, state):
            if made not in before.store:
                _item_like(olds, made)


def _item_like(olds: Sequence[Cell], made: Cell) -> None:
    for old in olds:
        if isinstance(made, ListCell) and isinstance(old, ListCell):
            link_lists(old, made)
            hold_like(old, made)
        elif not isinstance(made, ListCell) and not isinstance(old, ListCell):
            for around in lists_around(old):
                may_share(made, around)


def _carried_lists(before: State, header: dict[Key, Entity], state: State) -> list[tuple[Key, ListCell]]:
    """The lists that are the header's own, by name."""
    return [(n, c) for n, e in header.items() for c in _lists_of(e, state) if c not in before.store]


def _lists_of(entity: Entity, state: State) -> list[ListCell]:
    return [c for c in cells_of(entity, state) if isinstance(c, ListCell)]
