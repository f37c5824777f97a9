"""How the arguments of calls are described, so that calls that one version is for are described alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from srcgraph.infer.signature import (
    LONG,
    SMALL,
    Leaves,
    Skeleton,
    skeleton_of,
)
from srcgraph.runtime.lying import as_it_lies
from srcgraph.runtime.state import refuse_shared


class Way(NamedTuple):
    """How the arguments of a call are described."""

    static: frozenset[str] = frozenset()
    """Names of arguments whose numbers are part of the signature."""
    alike: bool = False
    """Whether it is part of it which lengths are the same, or differ by a small number."""
    small: bool = False
    """Whether small lengths are part of it."""
    signs: bool = False
    """Whether it is part of it which integers are positive."""

    @property
    def narrow(self) -> bool:
        """Whether calls with arrays of other lengths, or other integers, may need another version."""
        return self.alike or self.small or self.signs


USUAL_WAY = Way()


SHORT = 4
"""A smaller integer is not taken for a length."""


def _passed_lengths(args: Sequence[Any]) -> frozenset[int]:
    """The lengths of arrays that are passed as integers, too."""
    numbers = {a for a in args if type(a) is int and a >= SHORT}
    return frozenset(n for a in args if isinstance(a, np.ndarray) for n in a.shape if n in numbers)


class Described(tuple[Any, ...]):
    """Stands for the arguments of a call that has been described: what is compiled needs no more of them."""

    skeletons: dict[str, Skeleton]


def describe_arguments(
    names: Sequence[str], args: Sequence[Any], way: Way = USUAL_WAY, distinct: bool = False
) -> tuple[dict[str, Skeleton], Leaves]:
    """The skeletons of a call's arguments, and their numbers, arrays and objects in order.

    ``distinct`` treats an array passed twice as two arrays.
    """
    if isinstance(args, Described):
        return args.skeletons, Leaves()
    lengths = _passed_lengths(args) if way.alike else frozenset()
    leaves = Leaves(distinct=distinct, alike=way.alike, small=way.small, signs=way.signs, lengths=lengths)
    refuse_shared(names, args)
    skeletons = {n: as_it_lies(a, skeleton_of(a, n, leaves, way.static)) for n, a in zip(names, args, strict=True)}
    return skeletons, leaves


def short_beside_long(args: Sequence[Any]) -> bool:
    """Whether some axes of arrays are short beside others, or beside how often something may be done.

    Loops over them are inner ones then, which are best written out: points in space, states, parameters.
    """
    if isinstance(args, Described):
        return False
    arrays = [a for x in args for a in _arrays_in(x)]
    many = any(max(a.shape, default=0) > SMALL and a.size >= LONG for a in arrays)
    many = many or any(type(a) is int and a >= LONG for a in args)
    return many and has_short_axes(args)


def has_short_axes(args: Sequence[Any]) -> bool:
    """Whether some arrays have short axes."""
    arrays = () if isinstance(args, Described) else (a for x in args for a in _arrays_in(x))
    return any(1 < d <= SMALL for a in arrays for d in a.shape)


def _arrays_in(value: Any, depth: int = 3) -> Iterator[np.ndarray]:
    """The arrays in an argument, those in the first items of tuples and lists, and in objects, included."""
    kind = type(value)
    if kind is np.ndarray:
        yield value
    elif depth and not isinstance(value, int | float | complex | str | np.generic):
        held = (
            value.values()
            if isinstance(value, dict)
            else ()
            if isinstance(value, type)
            else getattr(value, "__dict__", {}).values()
        )
        for part in islice(value if isinstance(value, tuple | list) else held, SMALL):
            yield from _arrays_in(part, depth - 1)
