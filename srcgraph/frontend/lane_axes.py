"""The axes that ``vmap`` goes over: ``in_axes`` and ``out_axes``, in the structure of what they are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from srcgraph.errors import ArgumentError, InferenceError
from srcgraph.frontend import objects
from srcgraph.frontend.entities import Const, Entity, Instance, Listing, Scalar, Tup
from srcgraph.frontend.memory import refuse
from srcgraph.infer.objects import fields_of, why_opaque

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, slots=True)
class Fields:
    """Axes by name, for a dict or an object."""

    cls: type
    names: tuple[Any, ...]
    items: tuple[Axes, ...]


Axes: TypeAlias = "int | None | tuple[Axes, ...] | Fields"
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
    structure = "a tuple with one of these for each argument" if what == "in_axes" else "these in the result's structure"
    raise ArgumentError(f"vmap: {what} must be an integer, None, or {structure}, not {given!r}")


def written(low: Lowering, entity: Entity, what: str) -> Axes:
    """Axes written in a compiled function."""
    match entity:
        case Tup(items=items):
            return tuple(written(low, e, what) for e in items)
        case Listing():
            return tuple(written(low, e, what) for e in objects_in(low, entity))
        case Instance(cls=cls):
            content = objects.fields(low, entity)
            return Fields(cls, content.names, tuple(written(low, e, what) for e in content.items))
        case Const() | Scalar():
            with refusing(low):
                return axes_of(low.static(entity, what), what)
    raise refuse(f"vmap: {what} is {low.shown(entity)}", low.loc, kind=InferenceError)


def objects_in(low: Lowering, entity: Listing) -> Sequence[Entity]:
    return [Const(a) for a in low.static(entity, "a list of axes")]


def check(in_axes: Axes, out_axes: Axes) -> None:
    """Refuse axes that are wrong whatever the arguments.

    Raises
    ------
    ArgumentError
    """
    if isinstance(in_axes, Fields):
        raise ArgumentError("vmap: in_axes must be an integer, None, or a tuple with one of these for each argument")
    if not any(a is not None for a in flat(in_axes)):
        raise ArgumentError("vmap: in_axes must have an axis for at least one argument")
    if any(a is None for a in flat(out_axes)):
        raise ArgumentError("vmap: out_axes=None is not supported: results have an axis for the lanes")


def flat(axes: Axes) -> Iterator[int | None]:
    """All axes there are."""
    if isinstance(axes, tuple | Fields):
        for a in axes.items if isinstance(axes, Fields) else axes:
            yield from flat(a)
    else:
        yield axes


def of_arguments(in_axes: Axes, count: int) -> tuple[Axes, ...]:
    """The axes of each of so many arguments.

    Raises
    ------
    ArgumentError
        There are axes for another number of arguments.
    """
    if not isinstance(in_axes, tuple):
        return (in_axes,) * count
    if len(in_axes) != count:
        raise ArgumentError(f"vmap: in_axes has {len(in_axes)} axes, but {count} positional arguments are given")
    return in_axes


@contextmanager
def refusing(low: Lowering) -> Iterator[None]:
    """Show what is wrong with axes at the user's line."""
    try:
        yield
    except ArgumentError as error:
        problem = error.problems[0]
        raise refuse(problem.message, low.loc, problem.hint, kind=InferenceError) from None
