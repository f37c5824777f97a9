"""Logarithms of gathered arrays: ``log(p[rows, labels])`` and ``log(take_along_axis(p, i, 1))``.

Loops gather the elements into an empty array. Where ``p`` is a softmax, they are gathered of its logarithm, which has a
form without overflow, see `srcgraph.opt.rules.parts`; that is computed before the loops.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from srcgraph.ir.graph import Apply, For, If, Value
from srcgraph.ir.op import OPS, building
from srcgraph.ir.walk import has_order
from srcgraph.opt.rewriting.blocks import Site
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.place import Place
from srcgraph.opt.rewriting.walkers import Rewriter, told
from srcgraph.opt.rules.reductions import log_of_normalized, normalized


class LogsOfGathered(Rewriter):
    """The logarithm of elements gathered of a softmax becomes elements gathered of its logarithm."""

    name = "logs_of_gathered"

    def apply(self, fgraph: FunctionGraph) -> bool:
        started = time.perf_counter()
        changed = sum(self._move(fgraph, site) for site in fgraph.sites_of("log")) > 0
        if changed:
            told(fgraph, "on_rewrite", self.name, time.perf_counter() - started)
        return changed

    def _move(self, fgraph: FunctionGraph, site: Site) -> bool:
        (log,), node = site.node.outputs, site.node
        assert isinstance(node, Apply)
        filled = _filled(fgraph, node.inputs[0])
        stores = _stores_of_softmax(fgraph, filled)
        if not stores or node.inputs[0].type != log.type:
            return False
        loops = fgraph.site(filled)
        assert loops is not None
        with fgraph.transaction():
            for store in stores:
                self._store_logarithm(fgraph, store, loops)
            fgraph.replace(log, node.inputs[0], self.name)
        return True

    def _store_logarithm(self, fgraph: FunctionGraph, store: Site, loops: Site) -> None:
        """Let a store put an element of the logarithm, or the logarithm of one that is not there before the loops."""
        read = _read(fgraph, store)
        assert read is not None
        whole = self._logarithm_before(fgraph, read.inputs[0], loops)
        here = Place(fgraph, store)
        with building(here):
            if whole is None:
                element = OPS["log"](read.outputs[0])
            elif isinstance(whole, Value):
                element = _element(read, whole)
            else:  # of what the logarithm is made of: nothing else of it is needed
                parts = [_element(read, v) if v.type.ndim else v for v in whole.inputs]
                element = whole.op(*parts, **whole.attrs)
        fgraph.insert(here.region.nodes, store, self.name)
        fgraph.change_input(store, 1, element, self.name)

    def _logarithm_before(self, fgraph: FunctionGraph, array: Value, loops: Site) -> Value | Apply | None:
        """The logarithm of a softmax that is there before the loops: what it would be; views of it are put there."""
        if not fgraph.available(array, loops.block, loops):
            return None
        views = _views(fgraph, array)
        place = Place(fgraph, loops)
        with building(place):
            whole = log_of_normalized(fgraph, views[-1].inputs[0] if views else array)
            found = made = None if whole is None else place.definition(whole)
            if made is None or made.op.name != "sub" or any(map(has_order, place.region.nodes)):
                return None
            for view in reversed(views):
                found = whole = view.op(whole, *view.inputs[1:], **view.attrs)
        fgraph.insert([n for n in place.region.nodes if n is not found], loops, self.name)
        return found


def _element(read: Apply, whole: Value) -> Value:
    """What is read of another array, in the same place."""
    return OPS["getitem"](whole, *read.inputs[1:], view=read.attrs["view"])


def _filled(fgraph: FunctionGraph, value: Value) -> Value:
    """The array of which something is a view that nobody else reads."""
    for view in _views(fgraph, value):
        if fgraph.uses(view.outputs[0]) > 1:
            break
        value = view.inputs[0]
    return value


@dataclass(frozen=True, eq=False, slots=True)
class _Filling:
    """How an array is filled: by stores, and how often the array that it began as is read for that."""

    stores: tuple[Site, ...]
    reads: int


def _stores_of_softmax(fgraph: FunctionGraph, filled: Value) -> Sequence[Site]:
    """The stores by which loops fill an empty array, each with elements of a softmax, if nothing else reads it."""
    site = fgraph.site(filled)
    if site is None or not isinstance(site.node, For) or fgraph.uses(filled) > 1:
        return ()
    start = site.node.carry[site.node.outputs.index(filled)]
    found = _filling(fgraph, filled, start)
    if fgraph.definition(start, "empty") is None or found is None or fgraph.uses(start) != found.reads:
        return ()
    return found.stores if all(_read(fgraph, s) is not None for s in found.stores) else ()


def _filling(fgraph: FunctionGraph, value: Value, start: Value) -> _Filling | None:
    """How an array came from another one, by stores in loops and branches that read nothing of it."""
    if value is start:
        return _Filling((), 1)
    site = fgraph.site(value)
    if site is None:
        return None
    match site.node:
        case Apply(op=op, inputs=inputs) if op.name == "setitem":
            parts = [(inputs[0], start)]
            own = (site,)
        case For(carry=carry, outputs=outputs, stops=False):
            (body,), own, k = site.blocks, (), outputs.index(value)
            inner = _filling(fgraph, body.results[k], body.params[k + 1])
            if inner is None or fgraph.uses(body.params[k + 1]) != inner.reads:
                return None
            own, parts = inner.stores, [(carry[k], start)]
        case If(outputs=outputs):
            k, own = outputs.index(value), ()
            parts = [(block.results[k], start) for block in site.blocks]
        case _:
            return None
    found = [_filling(fgraph, *part) for part in parts]
    if any(f is None for f in found) or any(v is not start and fgraph.uses(v) != 1 for v, _ in parts):
        return None
    known = [f for f in found if f is not None]
    return _Filling((*own, *(s for f in known for s in f.stores)), sum(f.reads for f in known))


def _read(fgraph: FunctionGraph, store: Site) -> Apply | None:
    """The reading of a softmax whose result a store puts."""
    assert isinstance(store.node, Apply)
    array, value = store.node.inputs[:2]
    read = fgraph.definition(value, "getitem")
    if read is None or read.outputs[0] is not value or value.type.dtype != array.type.dtype:
        return None
    views = _views(fgraph, read.inputs[0])
    return read if normalized(fgraph, views[-1].inputs[0] if views else read.inputs[0]) else None


def _views(fgraph: FunctionGraph, array: Value) -> list[Apply]:
    """The views, the last one first, that an array is of another one."""
    found: list[Apply] = []
    while (node := fgraph.definition(array)) is not None and node.op.name in ("getitem", "reshape"):
        found.append(node)
        array = node.inputs[0]
    return found
