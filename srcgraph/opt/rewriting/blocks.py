"""Where nodes stand while a graph is rewritten: blocks, which are lists of sites.

A `Block` stands for one graph, a `Site` for the place of one node in it, whose node may be exchanged. Sites know their
order in constant time, so that it can be asked whether a value is there before a place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from srcgraph.ir.closure import with_graphs
from srcgraph.ir.graph import Define, Graph, Node, Value, node_graphs

_STEP = 1 << 32


class Site:
    """The place of a node: what is rewritten is the node, not the place.

    Attributes
    ----------
    node : Node
        The node as it is now. The graphs of branches and loops are in ``blocks``; those of the node are empty.
    block : Block
    blocks : list of Block
        What the node's graphs are.
    """

    __slots__ = ("after", "before", "block", "blocks", "node", "order")

    def __init__(self, node: Node, block: Block):
        self.node = node
        self.block = block
        self.blocks: list[Block] = []
        self.order = 0
        self.before: Site | None = None
        self.after: Site | None = None

    @property
    def here(self) -> bool:
        """Whether it is in its block, and has not been removed."""
        return self.block.first is self or self.before is not None

    def whole(self) -> Node:
        """The node with its graphs as they are now."""
        return with_graphs(self.node, [b.graph() for b in self.blocks]) if self.blocks else self.node

    def __repr__(self) -> str:
        return f"<site of {self.node!r}>"


class Block:
    """A graph as a list of sites that changes."""

    __slots__ = ("first", "last", "name", "owner", "params", "results")

    def __init__(self, graph: Graph, owner: Site | None):
        self.name = graph.name
        self.params = graph.params
        self.results: list[Value] = list(graph.results)
        self.owner = owner
        self.first: Site | None = None
        self.last: Site | None = None

    def __iter__(self) -> Iterator[Site]:
        site = self.first
        while site is not None:
            following = site.after
            yield site
            site = following if following is None or following.here else site.after

    def insert(self, site: Site, before: Site | None) -> None:
        """Put a site before another one of this block, or last."""
        previous = self.last if before is None else before.before
        site.block, site.before, site.after = self, previous, before
        if previous is None:
            self.first = site
        else:
            previous.after = site
        if before is None:
            self.last = site
        else:
            before.before = site
        self._number(site)

    def remove(self, site: Site) -> None:
        """Take a site out; it remembers what it stood before."""
        if site.before is None:
            self.first = site.after
        else:
            site.before.after = site.after
        if site.after is None:
            self.last = site.before
        else:
            site.after.before = site.before
        site.before = None

    def _number(self, site: Site) -> None:
        low = 0 if site.before is None else site.before.order
        if site.after is None:
            site.order = low + _STEP
            return
        site.order = (low + site.after.order) // 2
        if site.order == low:
            for k, each in enumerate(self, 1):
                each.order = k * _STEP

    def graph(self) -> Graph:
        """The graph as it is now; inner graphs read outer values directly."""
        return Graph(self.name, self.params, tuple(s.whole() for s in self), tuple(self.results))


def emptied(node: Node) -> Node:
    """A node whose graphs are left to blocks."""
    graphs = node_graphs(node)
    return with_graphs(node, [replace(g, nodes=()) for g in graphs]) if graphs else node


def stands_before(first: Site, block: Block, at: Site | None) -> bool:
    """Whether a site comes before a place, in its block or in one around it: before ``at``, or before the end."""
    while block is not first.block:
        at = block.owner
        if at is None or isinstance(at.node, Define):
            return False
        block = at.block
    return at is None or first.order < at.order


def within(inner: Block, outer: Block) -> bool:
    """Whether a block is another one or inside it."""
    block: Block | None = inner
    while block is not None:
        if block is outer:
            return True
        owner = block.owner
        block = None if owner is None or isinstance(owner.node, Define) else owner.block
    return False
