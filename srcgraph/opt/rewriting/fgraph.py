"""`FunctionGraph`: a graph that can be changed, and asked who reads what.

A view of an open graph: inner graphs read outer values directly. Values keep their identity; the nodes that read a
value that is replaced are exchanged for others with the same outputs. Equal pure nodes are one node, and stay so:
whenever a node changes, it is merged with an equal one that stands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InternalError, SrcgraphError
from srcgraph.ir.closure import close, open_, with_inputs
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_graphs, node_inputs
from srcgraph.ir.op import Op
from srcgraph.ir.straight import merge_key
from srcgraph.ir.symbolic import graph_of
from srcgraph.ir.types import type_symbols
from srcgraph.opt.rewriting.blocks import Block, Site, emptied, stands_before, within
from srcgraph.opt.rewriting.expressions import expressions

if TYPE_CHECKING:
    from srcgraph.opt.rewriting.features import Feature


_FOUND = ("block", "_producers", "_parameters", "_clients", "_by_op", "_merged", "_keys", "_symbols")
"""What is found when it is first needed."""


class InconsistencyError(SrcgraphError):
    """A change would make a graph invalid, or a feature refuses it."""


@dataclass(frozen=True, slots=True)
class Client:
    """One reading of a value: by the node at a site, or as a result of a block.

    Attributes
    ----------
    node : Node or None
        None where the value is a result.
    position : int
        Which of `srcgraph.ir.graph.node_inputs`, or of the results.
    """

    holder: Site | Block
    position: int

    @property
    def node(self) -> Node | None:
        return self.holder.node if isinstance(self.holder, Site) else None


class FunctionGraph:
    """A graph while it is rewritten.

    Parameters
    ----------
    graph : Graph, or sequence of Value
        A closed graph; or the parameters, variables of `srcgraph.ir.symbolic`, of what ``outputs`` were made of.
    outputs : sequence of Value, optional
    intern : bool
        Whether equal pure nodes are merged, now and after each change.
    features : sequence of Feature
        What to attach.

    Attributes
    ----------
    inputs, outputs : sequence of Value
        The parameters, and the results as they are now.
    """

    def __init__(
        self,
        graph: Graph | Sequence[Value],
        outputs: Sequence[Value] | None = None,
        *,
        intern: bool = True,
        features: Iterable[Feature] = (),
    ):
        if not isinstance(graph, Graph):
            graph = graph_of(graph, outputs or ())
        self.intern = intern
        self.features: list[Feature] = []
        self._graph: Graph | None = graph
        self._log: list[Any] | None = None
        for feature in features:
            self.attach(feature)

    def __repr__(self) -> str:
        """The outputs as expressions of the inputs, with marks for what is used more than once."""
        graph = self.block.graph()
        return expressions(graph, graph.results)

    def __getattr__(self, name: str) -> Any:
        """What is known of each value is found when it is first asked for, and after the whole graph was exchanged."""
        if name not in _FOUND or self._graph is None:
            raise AttributeError(name)
        self._fill(self._graph)
        return self.__dict__[name]

    # -- what is there --------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.block.params

    @property
    def outputs(self) -> tuple[Value, ...]:
        return tuple(self.block.results)

    def sites(self) -> Iterator[Site]:
        """Every site at every depth, outer before inner, in program order."""
        stack: list[Iterator[Site]] = [iter(self.block)]
        while stack:
            site = next(stack[-1], None)
            if site is None:
                stack.pop()
                continue
            yield site
            stack.extend(iter(b) for b in reversed(site.blocks))

    def toposort(self) -> list[Node]:
        """Every node at every depth, each after those that define what it reads."""
        return [s.node for s in self.sites()]

    def clients(self, value: Value) -> list[Client]:
        """Who reads a value, in the order in which they came to read it."""
        return list(self._clients.get(value, ()))

    def uses(self, value: Value) -> int:
        """How often a value is read."""
        return len(self._clients.get(value, ()))

    def site(self, value: Value) -> Site | None:
        """Where the node is that defines a value; None for parameters."""
        return self._producers.get(value)

    def definition(self, value: Value, op: str = "") -> Apply | None:
        """The use of an op that defines a value.

        With ``op`` it is one of that op, or None; checks and casts that pass their operand on are not seen then.
        """
        node = self._applied(value)
        while op and node is not None and node.op.name != op:
            node = self._applied(node.inputs[0]) if passes_on(node) else None
        return node

    def _applied(self, value: Value) -> Apply | None:
        site = self._producers.get(value)
        return site.node if site is not None and isinstance(site.node, Apply) else None

    def nodes_of(self, op: Op | str) -> list[Node]:
        """The uses of an op, in the order in which they came."""
        return [s.node for s in self.sites_of(op if isinstance(op, str) else op.name)]

    def sites_of(self, name: str) -> list[Site]:
        """Where the uses of an op are."""
        return list(self._by_op.get(name, ()))

    def available(self, value: Value, block: Block, at: Site | None) -> bool:
        """Whether a value is defined before a place: before ``at`` in a block, or before its end."""
        site = self._producers.get(value)
        if site is not None:
            return stands_before(site, block, at)
        home = self._parameters.get(value)
        return home is not None and within(block, home)

    @property
    def symbols(self) -> dict[str, int]:
        """The symbols in use; a place where code is built reserves them and adds its own."""
        if self._symbols is None:
            values = [*self._parameters, *self._producers]
            self._symbols = {name: 1 for v in values for name in type_symbols(v.type)}
        return self._symbols

    # -- changes --------------------------------------------------------------------------------

    def replace(self, old: Value, new: Value, reason: str = "") -> None:
        """Let whoever reads ``old`` read ``new``, and remove what nothing needs then.

        Parameters
        ----------
        old, new : Value
            Of one type.
        reason : str
            What features are told, such as the name of a rewrite.

        Raises
        ------
        InconsistencyError
            The types differ, or ``new`` is not there yet where ``old`` is read. Nothing was changed.
        """
        self.replace_all([(old, new)], reason)

    def replace_all(self, pairs: Sequence[tuple[Value, Value]], reason: str = "") -> None:
        """Several of `replace`, the later ones seeing what the earlier ones did."""
        pairs = [(old, new) for old, new in pairs if old is not new]
        for old, new in pairs:
            self._check(old, new)
        changed: list[Site] = []
        for old, new in pairs:
            changed += self._redirect(old, new, reason)
        for old, _ in pairs:
            self._prune(old, reason)
        self._merge(changed, reason)

    def replace_validate(self, old: Value, new: Value, reason: str = "") -> None:
        """`replace`, undone if a feature refuses what comes out.

        Raises
        ------
        InconsistencyError
            A feature refused it. The graph is as it was.
        """
        self.replace_all_validate([(old, new)], reason)

    def replace_all_validate(self, pairs: Sequence[tuple[Value, Value]], reason: str = "") -> None:
        """`replace_all`, undone if a feature refuses what comes out."""
        with self.transaction():
            self.replace_all(pairs, reason)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Changes made inside are validated at the end, and undone if a feature refuses them or anything is raised."""
        begun, self._log = self._log, []
        try:
            yield
            self.validate()
        except BaseException:
            self._undo(self._log)
            raise
        finally:
            made, self._log = self._log, begun
            if begun is not None and made is not None:
                begun.extend(made)

    def validate(self) -> None:
        """Ask every feature whether the graph is as it has to be.

        Raises
        ------
        InconsistencyError
            One says that it is not.
        """
        for feature in self.features:
            feature.validate(self)

    def change_input(self, site: Site, position: int, new: Value, reason: str = "") -> None:
        """Let one node read another value in one place.

        Raises
        ------
        InconsistencyError
            The types differ, or the value is not there yet.
        """
        old = node_inputs(site.node)[position]
        self._check_type(old, new)
        if not self.available(new, site.block, site):
            raise InconsistencyError(f"{new} is not defined before {site.node!r}")
        self._set_input(site, position, new, reason)
        self._prune(old, reason)
        self._merge([site], reason)

    def insert(self, nodes: Iterable[Node], site: Site, reason: str = "") -> list[Site]:
        """Put nodes, built for this place, before a site."""
        return [self._insert(self._sited(node, site.block), site, reason) for node in nodes]

    def remove(self, site: Site, reason: str = "") -> None:
        """Take out a node whose outputs nobody reads, and what only it needs.

        Raises
        ------
        InconsistencyError
            Somebody reads one.
        """
        read = [v for v in site.node.outputs if self.uses(v)]
        if read:
            raise InconsistencyError(f"{read[0]} is read")
        self._drop([site], reason)

    def remove_if_dead(self, site: Site, reason: str = "") -> None:
        """Take out a pure node, and what only it needs, if nobody reads what it gives."""
        if site.here and self._is_dead(site):
            self._drop([site], reason)

    def assign(self, graph: Graph) -> None:
        """Become another graph with the same parameters, as a pass over the whole graph makes it."""
        if graph is self._graph:
            return
        if self._log is not None:
            raise InternalError("a graph is exchanged inside a transaction")
        for name in _FOUND:
            self.__dict__.pop(name, None)
        self._graph = graph
        for feature in self.features:
            feature.on_assign(self)

    def graph(self) -> Graph:
        """The closed graph as it is now; the same object until the next change."""
        if self._graph is None:
            self._graph = close(self.block.graph())
        return self._graph

    # -- features -------------------------------------------------------------------------------

    def attach(self, feature: Feature) -> Feature:
        """Attach a feature; one that equals an attached one is not attached again, and that one is returned."""
        for attached in self.features:
            if attached == feature:
                return attached
        feature.on_attach(self)
        self.features.append(feature)
        return feature

    def detach(self, feature: Feature) -> None:
        """Detach a feature that was attached."""
        self.features.remove(feature)
        feature.on_detach(self)

    # -- filling --------------------------------------------------------------------------------

    def _fill(self, graph: Graph) -> None:
        self._producers: dict[Value, Site] = {}
        self._parameters: dict[Value, Block] = {}
        self._clients: dict[Value, dict[Client, None]] = {}
        self._by_op: dict[str, dict[Site, None]] = {}
        self._merged: dict[Any, dict[Site, None]] = {}
        self._keys: dict[Site, Any] = {}
        self._symbols: dict[str, int] | None = None
        self.block = self._blocked(open_(graph), None)
        self._graph = graph
        if self.intern:
            self._merge(list(self.sites()), "merge")

    def _blocked(self, graph: Graph, owner: Site | None) -> Block:
        block = Block(graph, owner)
        for param in graph.params:
            self._parameters[param] = block
        for node in graph.nodes:
            site = self._sited(node, block)
            block.insert(site, None)
            self._enter(site)
        for k, value in enumerate(block.results):
            self._reads(value, block, k)
        return block

    def _sited(self, node: Node, block: Block) -> Site:
        site = Site(emptied(node), block)
        site.blocks = [self._blocked(g, site) for g in node_graphs(node)]
        return site

    def _enter(self, site: Site) -> None:
        node = site.node
        for value in node.outputs:
            self._producers[value] = site
        for k, value in enumerate(node_inputs(node)):
            self._reads(value, site, k)
        if isinstance(node, Apply):
            self._by_op.setdefault(node.op.name, {})[site] = None
            self._learn_key(site)

    def _leave(self, site: Site) -> None:
        node = site.node
        for k, value in enumerate(node_inputs(node)):
            self._no_longer_reads(value, site, k)
        for value in node.outputs:
            del self._producers[value]
        if isinstance(node, Apply):
            del self._by_op[node.op.name][site]
            self._forget_key(site)

    def _reads(self, value: Value, holder: Site | Block, k: int) -> None:
        self._clients.setdefault(value, {})[Client(holder, k)] = None

    def _no_longer_reads(self, value: Value, holder: Site | Block, k: int) -> None:
        del self._clients[value][Client(holder, k)]

    # -- replacing ------------------------------------------------------------------------------

    def _check(self, old: Value, new: Value) -> None:
        self._check_type(old, new)
        for client in self._clients.get(old, ()):
            holder = client.holder
            block, at = (holder.block, holder) if isinstance(holder, Site) else (holder, None)
            if not self.available(new, block, at):
                raise InconsistencyError(f"{new} is not defined where {old} is read")

    def _check_type(self, old: Value, new: Value) -> None:
        if old.type != new.type:
            raise InconsistencyError(f"{new} cannot stand for {old}: the types differ")

    def _redirect(self, old: Value, new: Value, reason: str) -> list[Site]:
        changed: list[Site] = []
        for client in self.clients(old):
            if isinstance(client.holder, Site):
                self._set_input(client.holder, client.position, new, reason)
                changed.append(client.holder)
            else:
                self._set_result(client.holder, client.position, new, reason)
        return changed

    def _set_input(self, site: Site, k: int, new: Value, reason: str) -> None:
        old = node_inputs(site.node)[k]
        self._no_longer_reads(old, site, k)
        self._forget_key(site)
        site.node = _with_input(site.node, k, new)
        self._reads(new, site, k)
        self._learn_key(site)
        self._changed("change", site, k, old)
        for feature in self.features:
            feature.on_change(self, Client(site, k), old, new, reason)

    def _set_result(self, block: Block, k: int, new: Value, reason: str) -> None:
        old = block.results[k]
        self._no_longer_reads(old, block, k)
        block.results[k] = new
        self._reads(new, block, k)
        self._changed("change", block, k, old)
        for feature in self.features:
            feature.on_change(self, Client(block, k), old, new, reason)

    def _insert(self, site: Site, before: Site | None, reason: str) -> Site:
        site.block.insert(site, before)
        self._enter(site)
        self._changed("add", site)
        for feature in self.features:
            feature.on_add(self, site, reason)
        return site

    def _prune(self, value: Value, reason: str) -> None:
        site = self._producers.get(value)
        if site is not None and self._is_dead(site):
            self._drop([site], reason)

    def _is_dead(self, site: Site) -> bool:
        node = site.node
        if not isinstance(node, Apply) or node.op.ordered:
            return False
        return not any(self._clients.get(v) for v in node.outputs)

    def _drop(self, sites: list[Site], reason: str) -> None:
        while sites:
            site = sites.pop()
            if not site.here:
                continue
            read = [self._producers.get(v) for v in node_inputs(site.node)]
            self._take_out(site, reason)
            sites += [s for s in read if s is not None and self._is_dead(s)]

    def _take_out(self, site: Site, reason: str) -> None:
        self._leave(site)
        site.block.remove(site)
        self._changed("prune", site)
        for feature in self.features:
            feature.on_prune(self, site, reason)

    def _changed(self, kind: str, holder: Site | Block, position: int = -1, old: Value | None = None) -> None:
        self._graph = None
        if self._log is not None:
            self._log.append((kind, holder, position, old))

    def _undo(self, log: list[Any] | None) -> None:
        self._log = None
        for kind, holder, position, old in reversed(log or []):
            self.take_back(kind, holder, position, old)
        self._log = []

    def take_back(self, kind: str, holder: Any, position: int = -1, old: Value | None = None) -> None:
        """Undo one change, the last one that was made: ``change`` of an input or result, ``add`` or ``prune``."""
        match kind:
            case "change" if isinstance(holder, Site):
                self._set_input(holder, position, _there(old), "undo")
            case "change":
                self._set_result(holder, position, _there(old), "undo")
            case "add":
                self._take_out(holder, "undo")
            case "prune":
                self._insert(holder, holder.after, "undo")

    # -- merging --------------------------------------------------------------------------------

    def _learn_key(self, site: Site) -> None:
        node = site.node
        if not self.intern or not isinstance(node, Apply) or node.op.fresh or node.op.kind == "effect":
            return
        key = self._keys[site] = merge_key(node.op, node.inputs, node.attrs)
        self._merged.setdefault(key, {})[site] = None

    def _forget_key(self, site: Site) -> None:
        key = self._keys.pop(site, None)
        if key is not None:
            same = self._merged[key]
            del same[site]
            if not same:
                del self._merged[key]

    def equal_nodes(self, key: Any) -> Iterable[Site]:
        """The sites of nodes with this `merge_key`."""
        return self._merged.get(key, ())

    def _merge(self, changed: list[Site], reason: str) -> None:
        """Merge nodes that were changed with equal ones that stand before them, and so on."""
        while changed:
            site = changed.pop()
            key = self._keys.get(site)
            if key is None or len(self._merged[key]) < 2:
                continue
            pair = self._pair(site, key)
            if pair is None:
                continue
            kept, gone = pair
            for old, new in zip(gone.node.outputs, kept.node.outputs, strict=True):
                changed += self._redirect(old, new, reason or "merge")
            self._drop([gone], reason or "merge")

    def _pair(self, site: Site, key: Any) -> tuple[Site, Site] | None:
        """Two equal nodes, the one to keep before the other."""
        for other in self._merged[key]:
            if other is site or [v.type for v in other.node.outputs] != [v.type for v in site.node.outputs]:
                continue
            for kept, gone in ((other, site), (site, other)):
                if stands_before(kept, gone.block, gone):
                    return kept, gone
        return None


def passes_on(node: Apply) -> bool:
    """Whether a node gives its first operand.

    That is a check of it, what makes a number NumPy's or Python's own, and what says that two lengths, which were
    checked, are one: what is built of the operand finds that check.
    """
    if node.op.kind == "check":
        return node.op.check is not None and node.op.check.passes == "x" and _alike(node)
    return node.op.name in ("cast", "with_shape") and _alike(node)


def _alike(node: Apply) -> bool:
    x, out = node.inputs[0].type, node.outputs[0].type
    return x.dtype == out.dtype and type(x) is type(out) and x.dtype.kind in "fc"


def _there(value: Value | None) -> Value:
    assert value is not None
    return value


def _with_input(node: Node, k: int, new: Value) -> Node:
    """The node reading another value in one place."""
    inputs = list(node_inputs(node))
    inputs[k] = new
    return with_inputs(node, inputs)
