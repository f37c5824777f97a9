"""What can be attached to a function graph: it is told of every change, and may refuse it.

References
----------
The idea is Theano's: features of a function graph, with a callback for each kind of change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from srcgraph.errors import InternalError
from srcgraph.ir.graph import Apply, Node, Value
from srcgraph.ir.verify import verify
from srcgraph.opt.rewriting.blocks import Block, Site, stands_before
from srcgraph.opt.rewriting.fgraph import Client, FunctionGraph, InconsistencyError


class Feature:
    """Told of each change; a subclass overrides what it wants to know of."""

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """It is attached."""

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """It was detached."""

    def on_add(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        """A node is in the graph now."""

    def on_prune(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        """A node is no longer in the graph."""

    def on_change(self, fgraph: FunctionGraph, client: Client, old: Value, new: Value, reason: str) -> None:
        """One reader of a value reads another one now."""

    def on_assign(self, fgraph: FunctionGraph) -> None:
        """The whole graph was exchanged."""

    def on_rewrite(self, fgraph: FunctionGraph, name: str, seconds: float) -> None:
        """A rewrite of this name, local or of the whole graph, has changed the graph."""

    def on_refusal(self, fgraph: FunctionGraph, name: str, error: Exception) -> None:
        """A rewrite of this name was undone, or has failed."""

    def validate(self, fgraph: FunctionGraph) -> None:
        """Raise `InconsistencyError` if the graph may not be as it is."""


class Validation(Feature):
    """Every invariant of the graph holds after each validated change."""

    def validate(self, fgraph: FunctionGraph) -> None:
        try:
            verify(fgraph.graph())
        except InternalError as error:
            raise InconsistencyError(str(error)) from error

    def __eq__(self, other: object) -> bool:
        return type(other) is Validation

    __hash__ = object.__hash__


class NodeFinder(Feature):
    """The nodes of each op, kept up to date; `find` asks for one op's."""

    def __init__(self) -> None:
        self.sites: dict[str, dict[Site, None]] = {}

    def on_attach(self, fgraph: FunctionGraph) -> None:
        self.on_assign(fgraph)

    def on_assign(self, fgraph: FunctionGraph) -> None:
        self.sites = {}
        for site in fgraph.sites():
            self.on_add(fgraph, site, "")

    def on_add(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        self.sites.setdefault(_kind(site.node), {})[site] = None

    def on_prune(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        del self.sites[_kind(site.node)][site]

    def find(self, op: Any) -> list[Node]:
        """The uses of an op, or of ``if``, ``while``, ``for`` and ``call``."""
        name = op if isinstance(op, str) else op.name
        return [s.node for s in self.sites.get(name, ())]

    def __eq__(self, other: object) -> bool:
        return type(other) is NodeFinder

    __hash__ = object.__hash__


def _kind(node: Node) -> str:
    return node.op.name if isinstance(node, Apply) else type(node).__name__.lower()


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: ``add``, ``prune`` or ``change``, of what, and by which rewrite."""

    kind: str
    site: Site | Block
    reason: str
    position: int = -1
    old: Value | None = None
    new: Value | None = None


class History(Feature):
    """The list of edits; those after a mark can be taken back."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self._undoing = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        fgraph.toposort()  # what is merged at first is not to be undone

    def on_add(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        self._record(Edit("add", site, reason))

    def on_prune(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        self._record(Edit("prune", site, reason))

    def on_change(self, fgraph: FunctionGraph, client: Client, old: Value, new: Value, reason: str) -> None:
        self._record(Edit("change", client.holder, reason, client.position, old, new))

    def on_assign(self, fgraph: FunctionGraph) -> None:
        self.edits.clear()

    def _record(self, edit: Edit) -> None:
        if not self._undoing:
            self.edits.append(edit)

    def mark(self) -> int:
        """A place in the list to come back to."""
        return len(self.edits)

    def undo(self, fgraph: FunctionGraph, to: int = 0) -> None:
        """Take back every edit made since a mark, the last first."""
        self._undoing = True
        try:
            while len(self.edits) > to:
                edit = self.edits.pop()
                fgraph.take_back(edit.kind, edit.site, edit.position, edit.old)
        finally:
            self._undoing = False


class InPlace(Feature):
    """Refuses changes after which a store would need a copy of its array that it did not need before.

    A store is done in place where the array it changes is not read afterwards.
    """

    def __init__(self) -> None:
        self.copied = 0

    def on_attach(self, fgraph: FunctionGraph) -> None:
        self.copied = len(list(copies(fgraph)))

    on_assign = on_attach

    def validate(self, fgraph: FunctionGraph) -> None:
        found = list(copies(fgraph))
        if len(found) > self.copied:
            raise InconsistencyError(f"{found[-1].op.name} would need a copy of {found[-1].inputs[0]}")
        self.copied = len(found)

    def __eq__(self, other: object) -> bool:
        return type(other) is InPlace

    __hash__ = object.__hash__


def copies(fgraph: FunctionGraph) -> Iterator[Apply]:
    """The stores whose array is read after them, so that it has to be copied."""
    for site in fgraph.sites():
        node = site.node
        if isinstance(node, Apply) and node.op.kind == "update":
            read = [c.holder for c in fgraph.clients(node.inputs[0]) if c.holder is not site]
            if any(isinstance(h, Block) or stands_before(site, h.block, h) for h in read):
                yield node


@dataclass(slots=True)
class Usage:
    """What one rewrite did: how often it changed the graph, was undone or failed, and the seconds it took."""

    applied: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(eq=False)
class Profiler(Feature):
    """Counts what each rewrite did and how long it took, with what it did not change."""

    usage: dict[str, Usage] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)

    def of(self, name: str) -> Usage:
        return self.usage.setdefault(name, Usage())

    def on_rewrite(self, fgraph: FunctionGraph, name: str, seconds: float) -> None:
        usage = self.of(name)
        usage.applied += 1
        usage.seconds += seconds

    def on_refusal(self, fgraph: FunctionGraph, name: str, error: Exception) -> None:
        self.of(name).refused += 1
        self.errors[name] = error

    @property
    def applied(self) -> dict[str, int]:
        """How often each rewrite that changed something did so."""
        return {name: u.applied for name, u in self.usage.items() if u.applied}

    def __str__(self) -> str:
        rows = sorted(self.usage.items(), key=lambda item: -item[1].seconds)
        lines = [f"{name:32} {u.applied:7} {u.refused:7} {1e3 * u.seconds:9.2f}" for name, u in rows]
        return "\n".join([f"{'rewrite':32} applied refused        ms", *lines])
