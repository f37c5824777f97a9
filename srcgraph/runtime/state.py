"""What a call reads from outside, and the shared variables among that: read together, and committed together.

A function that assigns shared variables holds their locks from the moment it reads them until it has committed, so
that calls in several threads come one after the other. What it stores into is a copy of the array that a variable
held; that array itself stays as it is. One that only reads waits for nobody but a commit under way.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.session import Hidden
from srcgraph.infer.signature import Leaves, Skeleton
from srcgraph.ir.shared import Container, SharedVariable, describe

COMMITTING = threading.RLock()
"""Held while values are put into containers, and while several are read, so that all are of one moment."""


class Outdated(Exception):
    """A shared variable holds what another version of the function is needed for, since that was looked up."""


Place: TypeAlias = tuple[Container, int]
"""A container, and where what it holds is among the numbers and arrays of a call."""


def places_of(hidden: Sequence[Hidden], first: int) -> tuple[Place, ...]:
    """The containers among what is read from outside, whose numbers and arrays begin at ``first``."""
    found: list[Place] = []
    for h in hidden:
        leaves = Leaves()
        h.skeleton(leaves)
        found += [(h.container, first)] if isinstance(h.container, Container) else []
        first += len(leaves.values)
    return tuple(found)


def read_outside(hidden: Sequence[Hidden], types: Sequence[Skeleton], leaves: list[Any], objects: list[Any]) -> None:
    """Append the numbers, arrays and objects that are read from outside, as they are now.

    Raises
    ------
    Outdated
        A container does not hold what is of the type it was.
    """
    with COMMITTING:
        for h, known in zip(hidden, types, strict=True):
            own = Leaves()
            if h.skeleton(own) != known and isinstance(h.container, Container):
                raise Outdated
            leaves += own.values
            objects += own.objects


def copied(places: Sequence[Place], changed: Sequence[int], leaves: list[Any]) -> list[tuple[Container, np.ndarray]]:
    """Put copies in place of the arrays that are stored into; these, with their containers."""
    out = []
    for container, at in places:
        if at in changed:
            leaves[at] = leaves[at].copy()
            out.append((container, leaves[at]))
    return out


def commit(stored: Sequence[tuple[Container, np.ndarray]]) -> None:
    """Put the copies into their containers."""
    for container, array in stored:
        container.value = array


def refuse_shared(names: Sequence[str], args: Sequence[Any]) -> None:
    """Shared variables are read from outside, not passed."""
    for name, value in zip(names, args, strict=True):
        if isinstance(value, SharedVariable):
            why = f"argument {name!r} is {describe(value.name)}, which compiled functions read from outside"
            own = value.name or "variable"
            hint = f"pass its value, {own}.value, or read {own}.value inside the function"
            raise ArgumentError(Problem(why, hint=hint))
