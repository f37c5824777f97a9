"""A gradient that saves everything where it has the memory, and runs steps again where not."""

from __future__ import annotations

from collections.abc import Iterable

from srcgraph.ir.dims import Dim, as_dim, product
from srcgraph.ir.graph import Graph
from srcgraph.ir.op import building
from srcgraph.ir.ops._loops import chosen
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import type_symbols
from srcgraph.opt.ad.residuals import Choice


def tape_size(tape: Iterable[Choice], graph: Graph) -> Dim | None:
    """How many bytes a gradient saves, over the sizes and integers that a graph is given; None if these do not tell."""
    given = {s for p in graph.params for s in type_symbols(p.type)}
    total = as_dim(0)
    for row in tape:
        if row.how in ("variable", "array", "list", "blocks"):
            total += product((row.bytes, *row.trips))
    return total if total.symbols() <= given else None


def either(size: Dim, limit: int, plain: Graph, replayed: Graph) -> Graph:
    """One of two graphs with the same parameters, by how many bytes the first one saves."""
    work = Rebuild(plain.name)
    with building(work.builder):
        work.params(plain.params)
        given = work.values(plain.params)
        fits = work.builder.call_named("less_equal", work.builder.dim_value(size), limit)
        results = chosen(fits, lambda: work.put(plain, given), lambda: work.put(replayed, given))
        return work.builder.finish(results)
