"""Building code for a place in a function graph.

What is built there sees what stands before the place: it is merged with equal nodes, sizes and integers are found, and
checks that are proved there vanish, all as if the code had been written there by the user.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.errors import SrcgraphError
from srcgraph.ir.builder import Builder, index_facts
from srcgraph.ir.dims import Dim
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, For, If, Node, Value
from srcgraph.ir.types import ArrayType, ScalarType, Type, type_symbols
from srcgraph.opt.rewriting.blocks import Block, Site
from srcgraph.opt.rewriting.fgraph import FunctionGraph


class Place(Builder):
    """A builder whose code goes before a site.

    Parameters
    ----------
    fgraph : FunctionGraph
    site : Site
    """

    of_rewrites = True

    def __init__(self, fgraph: FunctionGraph, site: Site):
        super().__init__(site.block.name)
        self.fgraph = fgraph
        self.site = site
        self.origin = site.node.origin
        self._ground: Region | None = None
        self._waiting: list[Value] = []
        self._named = False

    # -- what stands before ---------------------------------------------------------------------

    def definition(self, value: Value) -> Apply | None:
        return super().definition(value) or self.fgraph.definition(value)

    def merged(self, key: object) -> tuple[Value, ...] | None:
        found = super().merged(key)
        if found is not None or key is None:
            return found
        for site in self.fgraph.equal_nodes(key):
            if self.fgraph.available(site.node.outputs[0], self.site.block, self.site):
                return site.node.outputs
        return None

    def new_symbol(self, hint: str) -> Dim:
        if not self._named:
            self._symbols = self.fgraph.symbols
            self._named = True
        return super().new_symbol(hint)

    def _enter(self, value: Value) -> None:
        if self._ground is None:
            self._waiting.append(value)
        else:
            super()._enter(value)

    def size_source(self, name: str) -> tuple[Value, int] | None:
        self._know()
        return super().size_source(name)

    def _integer(self, dim: Dim, weak: bool) -> Value | None:
        self._know()
        return super()._integer(dim, weak)

    def proves(self, dim: Dim) -> bool:
        self._know()
        return super().proves(dim)

    def proves_below(self, dim: Dim, bound: int) -> bool:
        self._know()
        return super().proves_below(dim, bound)

    def known_truth(self, cond: Value) -> bool | None:
        self._know()
        return super().known_truth(cond)

    def joint_size(self, x: Dim, y: Dim) -> Dim:
        return x if self._checked_equal(x, y) else super().joint_size(x, y)

    def fit(self, value: Value, target: Sequence[Dim]) -> Value:
        shape: tuple[Dim, ...] = value.type.shape
        known = [t if d != t and self._checked_equal(d, t) else d for d, t in zip(shape, target, strict=True)]
        return super().fit(self.retype(value, known), target)

    def _checked_equal(self, x: Dim, y: Dim) -> bool:
        """Whether two sizes have been checked to be one before the place."""
        for site in (s for name in ("same_size", "equal_size") for s in self.fgraph.sites_of(name)):
            sizes = [v.type.value for v in site.node.inputs] if isinstance(site.node, Apply) else []
            if sizes in ([x, y], [y, x]) and self.fgraph.available(site.node.outputs[0], self.site.block, self.site):
                return True
        return False

    def _know(self) -> None:
        """Find what is known at the place; asked for rarely, so not before."""
        if self._ground is not None:
            return
        self._ground = Region()
        inner, self.regions = self.regions, [self._ground]
        for block, end in _path(self.site):
            self._enter_block(block)
            for site in block:
                if site is end:
                    break
                self._pass(site.node)
        self.regions += inner
        for value in self._waiting:
            super()._enter(value)

    def _enter_block(self, block: Block) -> None:
        for value in block.params:
            self._enter(value)
        owner = block.owner.node if block.owner is not None else None
        if isinstance(owner, For):
            bounds = (owner.start, owner.stop, owner.step)
            self.learn(*index_facts(block.params[0].type.value, bounds, self))
        elif isinstance(owner, If) and block.owner is not None:
            self.learn_condition(owner.cond, block.owner.blocks[0] is block)

    def _pass(self, node: Node) -> None:
        for value in node.outputs:
            self._enter(value)
        if isinstance(node, Apply):
            self.learn_from(node)

    # -- what takes the place of a value ----------------------------------------------------------

    def fitted(self, value: Value, type: Type) -> Value:
        """A value as one of another type that differs in what NumPy calls weak, or in axes that are stretched.

        Raises
        ------
        MisfitError
            It is of another dtype, or its shape is not known to fit.
        """
        if value.type == type:
            return value
        if isinstance(type, ScalarType) and isinstance(value.type, ScalarType) and value.type.dtype == type.dtype:
            value = self.cast(value, type.dtype, type.weak)
        elif isinstance(type, ArrayType) and value.type.dtype == type.dtype and value.type.ndim <= type.ndim:
            value = self._spread(value, type)
        if value.type != type:
            raise MisfitError(f"{value} cannot become {type}")
        return value

    def _spread(self, value: Value, type: ArrayType) -> Value:
        shape = value.type.shape
        wanted = type.shape[type.ndim - len(shape) :]
        if any(d not in (w, 1) for d, w in zip(shape, wanted, strict=True)):
            raise MisfitError(f"{value} cannot become {type}")
        return self.call_named("broadcast_to", value, *map(self.dim_value, type.shape))


def untouched(place: Place | None, fgraph: FunctionGraph, site: Site) -> Place:
    """A place at a site: the one at hand if nothing has been built there."""
    return Place(fgraph, site) if place is None or place.region.nodes else place


class MisfitError(SrcgraphError):
    """What a rewrite gives cannot stand for what it replaces."""


def _path(site: Site) -> list[tuple[Block, Site]]:
    """The blocks around a site, outermost first, each with the site in it that leads there."""
    path: list[tuple[Block, Site]] = []
    at: Site | None = site
    while at is not None:
        path.append((at.block, at))
        at = at.block.owner
    return path[::-1]


def new_symbols(nodes: list[Node]) -> set[str]:
    """The symbols of what some nodes give."""
    return set[str]().union(*(type_symbols(v.type) for n in nodes for v in n.outputs))
