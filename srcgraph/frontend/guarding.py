"""What is known of a `try` while it is lowered, and whether its `finally` matters to an exception that gets out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.frontend.entities import Const, Scalar, State
from srcgraph.frontend.exits import LEAVES, Guarded
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Origin, Value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, eq=False, slots=True)
class Catcher:
    """A `try` whose body is being lowered.

    Attributes
    ----------
    classes : list of tuple of classes
        What each handler catches.
    live : frozenset of str
        Names needed anywhere in its body or after it.
    """

    node: Guarded
    classes: list[tuple[type, ...]]
    live: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Handler:
    """One handler of a `try` around."""

    catcher: Catcher
    number: int
    classes: tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Caught:
    """What is caught around a call, as part of what the callee is lowered for."""

    classes: tuple[tuple[type, ...], ...]
    loud: bool


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """A path split by a condition: what follows goes on in ``region``; ``other`` is the path where it fails."""

    before: State
    region: Region
    holds: Value
    other: tuple[Region, State]
    live: frozenset[str]
    origin: Origin


_QUIET = (
    *(gast.Pass, gast.Assign, gast.AnnAssign, gast.AugAssign, gast.If, gast.Name, gast.Constant, gast.Tuple),
    *(gast.BinOp, gast.UnaryOp, gast.Compare, gast.BoolOp, gast.expr_context, gast.cmpop, gast.boolop, gast.unaryop),
    *(gast.Add, gast.Sub, gast.Mult),
)
"""What can neither raise, where all names are of numbers, nor change anything but variables."""


def is_seen(low: Lowering, node: Guarded) -> bool:
    """Whether it is seen outside that the `finally` of a `try` runs before an exception leaves the function."""
    if node.final == LEAVES:
        return True
    inside = [n for s in node.finalbody[: node.final] for n in gast.walk(s)]
    return not all(isinstance(n, _QUIET) and (not isinstance(n, gast.Name) or _is_own(low, n)) for n in inside)


def _is_own(low: Lowering, name: Any) -> bool:
    """Whether a name is a number of the function's own, or is about to be."""
    if name.id in low.outer or name.id in low.slots:
        return False
    entity = low.state.names.get(name.id)
    return isinstance(entity, Const | Scalar) or (entity is None and isinstance(name.ctx, gast.Store))


@contextmanager
def aside(low: Lowering) -> Iterator[None]:
    """Lower what does not stay: nothing is caught there."""
    active, on_check = low.catching.active, low.builder.on_check
    low.catching.active, low.builder.on_check = [], None
    try:
        yield
    finally:
        low.catching.active, low.builder.on_check = active, on_check
