"""Logarithms of gathered arrays: ``log(p[rows, labels])`` is taken in the loop that gathers.

There it is a logarithm of an element of ``p``, for which there are rules where ``p`` is a softmax.
"""

from __future__ import annotations

import time

from srcgraph.ir.graph import Apply, For, Value
from srcgraph.ir.op import OPS, building
from srcgraph.opt.rewriting.blocks import Site
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.place import Place
from srcgraph.opt.rewriting.walkers import Rewriter, told
from srcgraph.opt.rules.reductions import normalized


class LogsOfGathered(Rewriter):
    """The logarithm of elements gathered of a softmax is taken in the loop that gathers them."""

    name = "logs_of_gathered"

    def apply(self, fgraph: FunctionGraph) -> bool:
        started = time.perf_counter()
        changed = sum(self._move(fgraph, site) for site in fgraph.sites_of("log")) > 0
        if changed:
            told(fgraph, "on_rewrite", self.name, time.perf_counter() - started)
        return changed

    def _move(self, fgraph: FunctionGraph, site: Site) -> bool:
        (log,) = site.node.outputs
        assert isinstance(site.node, Apply)
        (filled,) = site.node.inputs
        store = _store(fgraph, filled)
        if store is None or fgraph.uses(filled) > 1 or filled.type != log.type:
            return False
        place = Place(fgraph, store)
        with building(place), fgraph.transaction():
            assert isinstance(store.node, Apply)
            element = OPS["log"](store.node.inputs[1])
            fgraph.insert(place.region.nodes, store, self.name)
            fgraph.change_input(store, 1, element, self.name)
            fgraph.replace(log, filled, self.name)
        return True


def _store(fgraph: FunctionGraph, filled: Value) -> Site | None:
    """Where a loop over all of an empty array stores elements of a softmax, and does nothing else with the array."""
    site = fgraph.site(filled)
    if site is None or not isinstance(site.node, For) or site.node.stops or filled.type.ndim != 1:
        return None
    loop, (body,) = site.node, site.blocks
    k = loop.outputs.index(filled)
    store, index = fgraph.site(body.results[k]), body.params[0]
    node = store and fgraph.definition(body.results[k], "setitem")
    read = node and fgraph.definition(node.inputs[1], "getitem")
    if store is None or node is None or read is None or node is not store.node:
        return None
    own = (node.inputs[0], *node.inputs[2:]) == (body.params[k + 1], index) and fgraph.uses(body.params[k + 1]) == 1
    empty = fgraph.definition(loop.carry[k], "empty") is not None
    return store if own and empty and normalized(fgraph, read.inputs[0]) else None
