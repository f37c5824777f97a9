"""What a version was compiled from besides the arguments' types, and whether it is all the same now.

Only after lowering is it known which globals, cells, attributes and defaults were read. Each is noted with the place
it was read at and the print of what was there; in another process they are looked up one after the other, since what
one holds, such as a function, is where the next is read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from srcgraph.frontend.session import ABSENT, FunctionGuard, Guard, Hidden
from srcgraph.infer.signature import Leaves
from srcgraph.runtime.cache.places import Places
from srcgraph.runtime.cache.prints import NoPrintError, print_of, print_of_skeleton


class ChangedError(Exception):
    """Something that was compiled in is another thing now."""


def _is_own(container: Any) -> bool:
    """Whether a namespace is the compiler's own: its sources are part of every key."""
    return isinstance(container, dict) and str(container.get("__name__")).split(".")[0] == "srcgraph"


def _module_of(container: Any) -> str | None:
    """The name of the module of the compiler's own that has this namespace."""
    name = container.get("__name__") if _is_own(container) else None
    return name if name is not None and vars(sys.modules[name]) is container else None


def write_guards(guards: Iterable[Guard | FunctionGuard], hidden: Sequence[Hidden], places: Places) -> list[list[Any]]:
    """Notes of what was read from outside, in an order in which it can be looked up.

    Raises
    ------
    NoPrintError
        There is something of which that cannot be said.
    """
    waiting: list[Guard | FunctionGuard | Hidden] = [*(g for g in guards if not _is_own(g.container)), *hidden]
    out: list[list[Any]] = []
    while waiting:
        later = []
        for item in waiting:
            number = _module_of(item.container) or places.number(item.container)
            if number is None:
                later.append(item)
            else:
                out.append(_note(item, number, hidden, places))
        if all(isinstance(item, FunctionGuard) for item in later):
            break  # functions that nobody else can change
        if len(later) == len(waiting):
            raise NoPrintError(f"where {later[0].name!r} is read cannot be found again")
        waiting = later
    return out


def _note(
    item: Guard | FunctionGuard | Hidden, number: int | str, hidden: Sequence[Hidden], places: Places
) -> list[Any]:
    if isinstance(item, Hidden):
        skeleton = item.skeleton(Leaves())
        places.add_skeletons([skeleton])
        at = next(k for k, h in enumerate(hidden) if h is item)
        return ["input", number, item.name, print_of_skeleton(skeleton), at, sorted(item.static)]
    if isinstance(item, FunctionGuard):
        return ["function", number, item.name, print_of(item.container)]
    if item.seen is ABSENT:
        return ["absent", number, item.name]
    places.add(item.seen)
    return ["same", number, item.name, print_of(item.seen)]


def read_guards(
    notes: Sequence[Sequence[Any]], places: Places
) -> tuple[tuple[Guard | FunctionGuard, ...], tuple[Hidden, ...]]:
    """The guards and inputs of this process, if what was compiled in is what was noted.

    Raises
    ------
    ChangedError
        It is not.
    """
    guards, hidden = [], {}
    for kind, number, name, *rest in notes:
        found = Hidden(name, _container(number, places), frozenset(rest[2] if kind == "input" else ()))
        if kind == "function":
            _same(name, rest[0], print_of(found.container))
            guards.append(FunctionGuard.of(found.container))
            continue
        if kind == "absent":
            guards.append(_absent(found))
            continue
        try:
            value = found.read()
        except (AttributeError, KeyError, ValueError, TypeError):
            raise ChangedError(name) from None
        if kind == "input":
            skeleton = found.skeleton(Leaves())
            _same(name, rest[0], print_of_skeleton(skeleton))
            places.add_skeletons([skeleton])
            hidden[rest[1]] = replace(found, seen=skeleton)
        else:
            _same(name, rest[0], print_of(value))
            places.add(value)
            guards.append(Guard(name, found.container, value))
    return tuple(guards), tuple(hidden[k] for k in sorted(hidden))


def _container(number: int | str, places: Places) -> Any:
    if isinstance(number, str):
        return vars(sys.modules[number])
    if number >= len(places.objects):
        raise ChangedError(str(number))
    return places.objects[number]


def _absent(found: Hidden) -> Guard:
    guard = Guard(found.name, found.container, ABSENT)
    if not isinstance(found.container, dict) or not guard.holds():
        raise ChangedError(found.name)
    return guard


def _same(name: str, noted: Any, now: Any) -> None:
    if plain(now) != noted:
        raise ChangedError(name)


def plain(print_: Any) -> Any:
    """A print as it is after it was written as JSON."""
    if isinstance(print_, tuple | list):
        return [plain(p) for p in print_]
    return print_
