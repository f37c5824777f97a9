"""Loops that exchange arrays others see: ``u, v = v, u`` with an argument among them.

Where every iteration ends with the same arrays under other names, each name is carried as an array
of its own, so that the generated code swaps two names; beside it, tests say which of the arrays it
is. While the loop runs nothing else may see them; after it each array is found again by the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from srcgraph.frontend.either import is_array
from srcgraph.frontend.entities import (
    UNBOUND,
    Array,
    Cell,
    Either,
    Entity,
    Key,
    State,
    Unusable,
    arrays_of,
    cells_of,
    sources_of,
)
from srcgraph.frontend.memory import put
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

LENT = Unusable(
    "this array is exchanged with others by the loop",
    "return a copy of it where the loop returns it, or take one before the loop",
)


@dataclass(frozen=True, slots=True)
class Exchanged:
    """An array that is one of ``cells``; no two names are the same one."""

    type: ArrayType
    cells: tuple[Cell, ...]


def homes(choice: Array | Either) -> Array | Either:
    """The same in terms of the arrays exchanged."""
    if isinstance(choice, Array):
        return choice.cell.home or choice
    return Either(choice.test, homes(choice.then), homes(choice.orelse))


def permuted(names: Sequence[Key], start: dict[Key, Entity], end: dict[Key, Entity]) -> bool:
    """Whether these names always end with the arrays they start with, in some order, each one once."""
    cells = [e.cell for e in (start.get(n, UNBOUND) for n in names) if isinstance(e, Array) and e.view is None]
    ends = [sources_of(end.get(n, UNBOUND)) for n in names]
    if len(set(cells)) != len(names) or any(c.shares for c in cells) or None in ends:
        return False
    trees = [t for t in ends if t is not None]
    tests = list(dict.fromkeys(t for tree in trees for t in _tests(tree)))
    if len(tests) > 6:
        return False
    for holds in product((True, False), repeat=len(tests)):
        taken = dict(zip(tests, holds, strict=True))
        if {_taken(tree, taken).cell for tree in trees} != set(cells):
            return False
    return all(a.view is None for tree in trees for a in arrays_of(tree))


def exchanged_among(
    names: Sequence[Key], start: dict[Key, Entity], end: dict[Key, Entity]
) -> dict[Key, tuple[Cell, ...]]:
    """For each name, the arrays that it may come to be by iterations that permute them so."""
    found: dict[Key, list[Cell]] = {}
    for name in names:
        tree = sources_of(end[name])
        assert tree is not None
        own = [*cells_of(start[name]), *(a.cell for a in arrays_of(tree))]
        joined = [n for n, cells in found.items() if not set(cells).isdisjoint(own)]
        together = list(dict.fromkeys([*(c for n in joined for c in found[n]), *own]))
        found |= dict.fromkeys((*joined, name), together)
    return {n: tuple(cells) for n, cells in found.items()}


def _tests(choice: Array | Either) -> Iterator[Value]:
    if isinstance(choice, Either):
        yield choice.test
        yield from _tests(choice.then)
        yield from _tests(choice.orelse)


def _taken(choice: Array | Either, holds: dict[Value, bool]) -> Array:
    while isinstance(choice, Either):
        choice = choice.then if holds[choice.test] else choice.orelse
    return choice


def unseen(low: Lowering, names: Sequence[Key], live: Sequence[Key], arrays: Sequence[Entity], state: State) -> bool:
    """Whether nothing that is still needed refers to these arrays but these names."""
    cells = {c for e in arrays for c in cells_of(e)}
    seen = [*live, *low.outer.values()]
    others = [state.names[n] for n in seen if n not in names and n in state.names]
    return all(cells.isdisjoint(cells_of(e, state)) for e in (*others, *low.hidden.values()))


def found_again(low: Lowering, names: Sequence[Key], entities: dict[Key, Entity]) -> None:
    """After the loop: each name is one of the arrays, and each array holds what its name does."""
    arrays = [e for e in (entities[n] for n in names) if isinstance(e, Array)]
    held = [low.state.store[a.cell] for a in arrays]
    choices = [a.cell.home for a in arrays]
    known = [(c, v) for c, v in zip(choices, held, strict=True) if c is not None and isinstance(v, Value)]
    for cell in {o.cell: None for choice, _ in known for o in arrays_of(choice)}:
        put(low, cell, _content(low, cell, [(c, v) for c, v in known if cell in {a.cell for a in arrays_of(c)}]))
    for ref, (choice, value) in zip(arrays, known, strict=True):
        if isinstance(choice, Either):
            ref.cell.choose(choice)
            low.state.store[ref.cell] = value


def _content(low: Lowering, cell: Cell, names: list[tuple[Array | Either, Value]]) -> Value:
    """The content of the name that is ``cell``."""
    (choice, value), *rest = names
    test = low.truth(is_array(low, choice, (cell, None, 0)))
    if not rest or test is True:
        return value
    if test is False:
        return _content(low, cell, rest)
    assert isinstance(test, Value)
    return low.chosen(test, [lambda: [value], lambda: [_content(low, cell, rest)]], [cell.name])[0]
