"""A graph of both sweeps cut in two: the value with what is saved, and the cotangents from that.

What depends on no cotangent runs once, in the first graph. Where only the reverse sweep reads it, what is cheap to
compute again, and new memory, is left to the second graph, which may run any number of times: it changes nothing that
it is given. Values, lengths and arrays are handed on as they are, lists as arrays of what is on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul

from srcgraph.ir.dims import as_dim, substitute, symbol
from srcgraph.ir.graph import Apply, Graph, Node, Value, node_inputs
from srcgraph.ir.op import OPS, building, current_builder
from srcgraph.ir.ops._loops import counted
from srcgraph.ir.ops.index import getitem, setitem
from srcgraph.ir.ops.shape import dims_of, reshape, total_size
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import (
    INT,
    PY_INT,
    ArrayType,
    ListType,
    ScalarType,
    Type,
    is_integer,
    type_symbols,
    without_value,
)
from srcgraph.ir.view import View, element
from srcgraph.ir.walk import all_graphs, has_order
from srcgraph.opt.ad.again import is_cheap_again
from srcgraph.opt.ad.residuals import top_symbols


@dataclass(frozen=True, slots=True)
class Halves:
    """The two graphs.

    Attributes
    ----------
    forward : Graph
        From all parameters but the cotangents to the kept results, and then what is saved.
    reverse : Graph
        From what is saved, and the cotangents, to the other results.
    """

    forward: Graph
    reverse: Graph


def split(graph: Graph, kept: int, cotangents: int) -> Halves:
    """Cut a closed graph, the last parameters of which are cotangents and the first results of which are kept."""
    count = len(graph.params) - cotangents
    first, second = _sides(graph, graph.params[count:], graph.results[:kept])
    saved = _read(second, graph.results[kept:]) & {*graph.params[:count], *(v for n in first for v in n.outputs)}
    order = [v for v in (*graph.params[:count], *(v for n in first for v in n.outputs)) if v in saved]
    known = [v for v in order if is_integer(v.type) and v.type.value is not None]
    whole = [v for v in order if v not in known]
    sizes = _sizes(graph, count, first, second, whole, known)
    forward, reverse = _Forward(graph.name), _Reverse(f"{graph.name}_pullback")
    made = forward.half(graph.params[:count], first, graph.results[:kept], whole, sizes)
    return Halves(made, reverse.half(graph.params[count:], second, graph.results[kept:], whole, sizes, known))


def _sides(graph: Graph, cotangents: Iterable[Value], kept: Iterable[Value]) -> tuple[list[Node], list[Node]]:
    """The nodes that run once, and those that run for every cotangent."""
    varied, needed, mine = set(cotangents), set(kept), set()
    for node in graph.nodes:
        if not varied.isdisjoint(node_inputs(node)):
            varied.update(node.outputs)
            mine.add(node)
    for node in reversed(graph.nodes):
        if node not in mine and (not needed.isdisjoint(node.outputs) or has_order(node) or not _is_light(node)):
            needed.update(node_inputs(node))
        else:
            mine.add(node)
    literals = [n for n in graph.nodes if _is_literal(n)]
    first = [n for n in graph.nodes if n not in mine or n in literals]
    return first, [n for n in graph.nodes if n in mine or n in literals]


def _is_literal(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.name == "const"


def _is_light(node: Node) -> bool:
    """Whether a node is rather run again than what it gives be saved."""
    if not isinstance(node, Apply) or all(isinstance(v.type, ScalarType) for v in node.outputs):
        return isinstance(node, Apply) and _is_literal(node)
    return (node.op.fresh and node.op.kind in ("structural", "list")) or is_cheap_again(node)


def _read(nodes: Iterable[Node], results: Iterable[Value]) -> set[Value]:
    return {v for n in nodes for v in node_inputs(n)} | set(results)


def _sizes(
    graph: Graph,
    count: int,
    first: Sequence[Node],
    second: Sequence[Node],
    whole: Sequence[Value],
    known: Sequence[Value],
) -> list[str]:
    """The symbols that the second graph needs and no array tells it."""
    outer = Graph("", graph.params[:count], tuple(first), ())
    inner = (v for g in all_graphs(Graph("", (), tuple(second), ())) for n in g.nodes for v in n.outputs)
    wanted = {s for v in (*whole, *known, *inner) for s in type_symbols(v.type)}
    told = {d.symbol for v in whole if isinstance(v.type, ArrayType) for d in v.type.shape if d.symbol}
    return sorted((wanted & top_symbols(outer)) - told)


class _Forward(Rebuild):
    """The first graph."""

    def half(
        self,
        params: Sequence[Value],
        nodes: Sequence[Node],
        kept: Sequence[Value],
        whole: Sequence[Value],
        sizes: Sequence[str],
    ) -> Graph:
        b = self.builder
        with building(b):
            self.params(params)
            self.nodes(nodes)
            results = list(self.values(kept))
            for value in self.values(whole):
                results += packed(value) if isinstance(value.type, ListType) else [value]
            results += [b.dim_value(substitute(symbol(s), self.symbols)) for s in sizes]
            return b.finish(results)


class _Reverse(Rebuild):
    """The second graph."""

    def half(
        self,
        cotangents: Sequence[Value],
        nodes: Sequence[Node],
        results: Sequence[Value],
        whole: Sequence[Value],
        sizes: Sequence[str],
        known: Sequence[Value],
    ) -> Graph:
        b = self.builder
        b.reserve(frozenset(s for v in (*whole, *known, *cotangents) for s in type_symbols(v.type)) | set(sizes))
        with building(b):
            given = [[b.param(v.name, t) for t in self.handed(v.type)] for v in whole]
            for s in sizes:
                b.param(s, replace(PY_INT, value=symbol(s)))
            for old, new in zip(whole, given, strict=True):
                self.bind(old, unpacked(old.type, *new) if isinstance(old.type, ListType) else new[0])
            for old in cotangents:
                self.bind(old, b.param(old.name, old.type))
            for old in known:
                self.bind(old, b.cast(b.dim_value(old.type.value), old.type.dtype, old.type.weak))
            self.nodes(nodes)
            return b.finish(self.values(results))

    def handed(self, type: Type) -> list[Type]:
        """The types of what is handed on for a value."""
        if not isinstance(type, ListType):
            return [without_value(type)]
        new = self.builder.new_size
        data, lengths = ArrayType(type.item.dtype, (new(),)), ArrayType(INT, (new(), as_dim(type.item.ndim)))
        return [data] if isinstance(type.item, ScalarType) else [data, lengths]


# -- lists as arrays -------------------------------------------------------------------------------------

_SLICE = View((1,), (0,))


def packed(xs: Value) -> list[Value]:
    """What is on a list as one array; for arrays on it also an array of their lengths, a row for each."""
    b, item = current_builder(), xs.type.item
    count = OPS["list_len"](xs)
    if isinstance(item, ScalarType):
        return [b.apply(OPS["list_array"], (xs, count), {"dtype": item.dtype}, name=xs.name)]

    def measured(k: Value, lengths: Value, total: Value) -> tuple[Value, Value]:
        x = OPS["list_get"](xs, k)
        for axis, length in enumerate(dims_of(x)):
            lengths = setitem(lengths, length, k, b.const(axis), view=element(2))
        return lengths, total + b.dim_value(total_size(x))

    def filled(k: Value, data: Value, at: Value) -> tuple[Value, Value]:
        x = OPS["list_get"](xs, k)
        size = b.dim_value(total_size(x))
        return setitem(data, reshape(x, size), at, size, view=_SLICE), at + size

    lengths = b.apply(OPS["empty"], (count, b.const(item.ndim)), {"dtype": INT}, name="lengths")
    lengths, total = counted(count, [lengths, b.const(0)], measured)
    data = b.apply(OPS["empty"], (total,), {"dtype": item.dtype}, name=xs.name)
    return [counted(count, [data, b.const(0)], filled)[0], lengths]


def unpacked(type: ListType, data: Value, *lengths: Value) -> Value:
    """The list again."""
    b, item = current_builder(), type.item
    if isinstance(item, ScalarType):
        return b.apply(OPS["list_of"], (data,), {"weak": item.weak}, name=data.name)

    def taken(k: Value, xs: Value, at: Value) -> tuple[Value, Value]:
        found = [getitem(lengths[0], k, b.const(axis), view=element(2)) for axis in range(item.ndim)]
        shape = [b.cast(n, INT, weak=True) for n in found]
        size = reduce(mul, shape, b.const(1))
        return OPS["list_push"](xs, reshape(getitem(data, at, size, view=_SLICE), *shape)), at + size

    empty = b.apply(OPS["list_new"], (), {"item": item}, name=data.name)
    return counted(b.dim_value(lengths[0].type.shape[0]), [empty, b.const(0)], taken)[0]
