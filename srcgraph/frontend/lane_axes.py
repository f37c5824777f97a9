"""The axes that ``vmap`` goes over: ``in_axes`` and ``out_axes``, in the structure of what they are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from srcgraph.errors import ArgumentError, InferenceError, Problem
from srcgraph.frontend import objects, structures
from srcgraph.frontend.entities import Entity, Instance, Listing, Tup
from srcgraph.frontend.memory import refuse
from srcgraph.infer.objects import fields_of, why_opaque
from srcgraph.infer.signature import part_name

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, slots=True)
class Fields:
    """Axes by name, for a dict or an object."""

    cls: type
    names: tuple[Any, ...]
    items: tuple[Axes, ...]


Axes: TypeAlias = "int | tuple[Axes, ...] | Fields | None"
"""One axis for all that is in something, None for what all lanes share; or the axes of its parts."""


def axes_of(given: Any, what: str) -> Axes:
    """Axes as users give them.

    Raises
    ------
    ArgumentError
        There is something else among them; ``what`` names the argument.
    """
    if given is None:
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return int(given)
    if isinstance(given, tuple | list):
        return tuple(axes_of(a, what) for a in given)
    if isinstance(given, dict):
        return Fields(dict, tuple(given), tuple(axes_of(a, what) for a in given.values()))
    if not isinstance(given, type) and not callable(given) and not why_opaque(type(given)):
        found = fields_of(given)
        return Fields(type(given), tuple(found), tuple(axes_of(a, what) for a in found.values()))
    raise ArgumentError(f"vmap: {what} must be {_WANTED[what]}, not {given!r}")


_WANTED = {
    "in_axes": "an integer, None, or a tuple of these for the arguments given by position",
    "out_axes": "an integer, or integers in the structure of the result",
}


def written(low: Lowering, entity: Entity, what: str) -> Axes:
    """Axes written in a compiled function."""
    match entity:
        case Tup() | Listing() if (found := structures.parts(low, entity, "")) is not None:
            return tuple(written(low, e, what) for _, e in found)
        case Instance(cls=cls):
            content = objects.fields(low, entity)
            return Fields(cls, content.names, tuple(written(low, e, what) for e in content.items))
    with refusing(low):
        return axes_of(low.static(entity, what), what)


def check(in_axes: Axes, out_axes: Axes) -> None:
    """Refuse axes that are wrong whatever the arguments.

    Raises
    ------
    ArgumentError
    """
    if isinstance(in_axes, Fields):
        raise ArgumentError(f"vmap: in_axes must be {_WANTED['in_axes']}, not a {in_axes.cls.__name__}")
    if all(a is None for a in _flat(in_axes)):
        raise ArgumentError("vmap: in_axes must have an axis for at least one argument")
    if any(a is None for a in _flat(out_axes)):
        hint = "take it out of the function, or take its first item: result[0]"
        raise ArgumentError(Problem("vmap: out_axes=None, for what all lanes share, is not supported", hint=hint))


def _flat(axes: Axes) -> Iterator[int | None]:
    """All axes there are."""
    if isinstance(axes, tuple | Fields):
        for a in axes.items if isinstance(axes, Fields) else axes:
            yield from _flat(a)
    else:
        yield axes


def entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def of_arguments(in_axes: Axes, count: int) -> tuple[Axes, ...]:
    """The axes of each of so many arguments.

    Raises
    ------
    ArgumentError
        There are axes for another number of arguments.
    """
    if not isinstance(in_axes, tuple):
        return (in_axes,) * count
    if len(in_axes) < count:
        raise ArgumentError(f"vmap: in_axes has {entries(len(in_axes))}, but {count} arguments are given by position")
    return in_axes[:count]


def of_parts(low: Lowering, axes: Axes, parts: Sequence[tuple[str, Entity]], name: str, what: str) -> Sequence[Axes]:
    """The axes of what is in a structure.

    Raises
    ------
    Refusal
        ``what``, which the axes are in, has another structure.
    """
    if isinstance(axes, int) or axes is None:
        return [axes] * len(parts)
    given = axes.items if isinstance(axes, Fields) else axes
    names = [part_name(name, axes.cls, k) for k in axes.names] if isinstance(axes, Fields) else [n for n, _ in parts]
    if len(given) != len(parts) or {n for n, _ in parts} != set(names):
        has = ", ".join(n for n, _ in parts)
        why = f"vmap: {what} has {entries(len(given))} for {name}, which does not fit what is in it: {has}"
        raise refuse(why, low.loc, kind=InferenceError)
    by_name = dict(zip(names, given, strict=True))
    return [by_name[n] for n, _ in parts]


@contextmanager
def refusing(low: Lowering) -> Iterator[None]:
    """Show what is wrong with axes at the user's line."""
    try:
        yield
    except ArgumentError as error:
        problem = error.problems[0]
        raise refuse(problem.message, low.loc, problem.hint, kind=InferenceError) from None
