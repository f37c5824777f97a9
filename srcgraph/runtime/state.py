"""What a call reads from outside, and the shared variables among that: read together, and committed together.

A function that assigns shared variables holds their locks from the moment it reads them until it has committed, so
that calls in several threads come one after the other. What it stores into is a copy of the array that a variable
held; that array itself stays as it is. One that only reads waits for nobody but a commit under way.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.session import Hidden
from srcgraph.infer.signature import ArrayArg, Leaves, ScalarArg, Skeleton, all_parts
from srcgraph.ir.shared import Container, SharedVariable, describe

COMMITTING = threading.RLock()
"""Held while values are put into containers, and while several are read, so that all are of one moment."""


class Outdated(Exception):
    """A shared variable holds what another version of the function is needed for, since that was looked up."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What was read of shared variables for one call.

    Attributes
    ----------
    positions : frozenset of int
        Their numbers and arrays among the leaves.
    stored : tuple of (container, array)
        Those that the function stores into, and the copies that it does so to.
    """

    positions: frozenset[int] = frozenset()
    stored: tuple[tuple[Container, np.ndarray], ...] = ()

    def commit(self) -> None:
        """Put the copies in place of the arrays."""
        for container, array in self.stored:
            container.value = array


NOTHING = Outside()


def containers_of(hidden: Sequence[Hidden]) -> list[Container]:
    """The containers among what is read from outside."""
    return [h.container for h in hidden if isinstance(h.container, Container)]


def read_outside(
    hidden: Sequence[Hidden],
    changed: Sequence[int],
    leaves: list[Any],
    objects: list[Any],
    types: Sequence[Skeleton],
) -> Outside:
    """Append the numbers, arrays and objects that are read from outside, as they are now."""
    positions: list[int] = []
    with COMMITTING:
        for h, known in zip(hidden, types, strict=True):
            own = Leaves()
            found = h.skeleton(own)
            if isinstance(h.container, Container):
                if found != known:
                    raise Outdated
                positions.append(len(leaves))
            leaves += own.values
            objects += own.objects
    stored = []
    for h, at in zip((h for h in hidden if isinstance(h.container, Container)), positions, strict=True):
        if at in changed:
            leaves[at] = leaves[at].copy()
            stored.append((h.container, leaves[at]))
    return Outside(frozenset(positions), tuple(stored))


def writes(hidden: Sequence[Hidden], changed: Sequence[int], updates: bool, count: int) -> bool:
    """Whether a function of ``count`` numbers and arrays may assign shared variables."""
    if not containers_of(hidden):
        return False
    types = [h.skeleton(Leaves()) for h in hidden]
    leaves = sum(isinstance(s, ScalarArg | ArrayArg) for s in all_parts(types))
    return updates or any(position >= count - leaves for position in changed)


def refuse_shared(names: Sequence[str], args: Sequence[Any]) -> None:
    """Shared variables are read from outside, not passed."""
    for name, value in zip(names, args, strict=True):
        if isinstance(value, SharedVariable):
            why = f"argument {name!r} is {describe(value.name)}, which compiled functions read from outside"
            own = value.name or "variable"
            hint = f"pass its value, {own}.value, or read {own}.value inside the function"
            raise ArgumentError(Problem(why, hint=hint))
