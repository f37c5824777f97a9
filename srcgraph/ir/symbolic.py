"""Graphs built from variables, where there is no Python source: ``y = exp(x) + 1`` with ``x = scalar("x")``.

Variables are values; operators, ops, NumPy's functions and indexing of them make others. A value knows the `Step` that
made it: the nodes built by one call, checks among them. `graph_of` collects the steps that some results need, in the
order in which they were made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.ir.builder import Builder
from srcgraph.ir.closure import close, free_values
from srcgraph.ir.dims import Dim, as_dim, symbol
from srcgraph.ir.graph import Apply, Graph, Node, Step, Value, node_graphs, node_inputs
from srcgraph.ir.op import building, set_step
from srcgraph.ir.types import ArrayType, ScalarType, Type, type_symbols

_orders = itertools.count()
_names: dict[str, int] = {}
"""The symbols of sizes and integers that variables have."""
_lengths: set[str] = set()
"""Those of the lengths of variables, which are not 1."""


def scalar(name: str = "", dtype: Any = "float64", *, weak: bool = False) -> Value:
    """A variable that stands for a number: NumPy's, or Python's own if ``weak``.

    Examples
    --------
    >>> scalar("x")
    <x: f64>
    """
    return _variable(name or "x", ScalarType(np.dtype(dtype), weak))


def vector(name: str = "", dtype: Any = "float64", *, length: int | None = None) -> Value:
    """A variable that stands for an array of one axis."""
    return tensor(name, dtype, (length,))


def matrix(name: str = "", dtype: Any = "float64", *, shape: Sequence[int | None] = (None, None)) -> Value:
    """A variable that stands for an array of two axes."""
    return tensor(name, dtype, shape)


def tensor(name: str = "", dtype: Any = "float64", shape: Sequence[int | None] = ()) -> Value:
    """A variable that stands for an array with these lengths, None where one is not known.

    Unknown lengths are not 1; for an axis that is stretched, say so.
    """
    builder = Builder()
    builder._symbols = _names
    dims = tuple(builder.new_symbol("n") if n is None else as_dim(n) for n in shape)
    _lengths.update(d.symbol for d in dims if d.symbol)
    return Value(name or "x", ArrayType(np.dtype(dtype), dims))


def _variable(name: str, type: Type) -> Value:
    builder = Builder()
    builder._symbols = _names
    return builder.fresh(name, type)


class StepBuilder(Builder):
    """Builds what one call makes of variables; what is known of them is found through the steps that made them."""

    def __init__(self, given: Sequence[Value]):
        super().__init__("step")
        self._symbols = _names
        self._given = list(given)
        self._known_sizes = False

    def definition(self, value: Value) -> Apply | None:
        found = super().definition(value)
        if found is not None or value.owner is None:
            return found
        return next((n for n in value.owner.nodes if isinstance(n, Apply) and value in n.outputs), None)

    def proves(self, dim: Dim) -> bool:
        if not self._known_sizes:
            self._known_sizes = True
            shapes = (v.type.shape for v in ancestors(self._given) if isinstance(v.type, ArrayType))
            self.regions[0].known.extend(d for shape in shapes for d in shape if d.const is None)
        return super().proves(dim)

    def not_one(self, dim: Dim) -> bool:
        return dim.symbol in _lengths or super().not_one(dim)

    def _size_source(self, name: str) -> tuple[Value, int] | None:
        found = super()._size_source(name)
        if found is not None:
            return found
        for value in ancestors(self._given):
            if isinstance(value.type, ArrayType) and symbol(name) in value.type.shape:
                return value, value.type.shape.index(symbol(name))
        return None

    def _integer(self, dim: Dim, weak: bool) -> Value | None:
        found = super()._integer(dim, weak)
        if found is not None:
            return found
        same = (v for v in ancestors(self._given) if isinstance(v.type, ScalarType) and v.type.value == dim)
        return next((v for v in same if v.type.weak == weak), None)


def ancestors(values: Sequence[Value]) -> Iterator[Value]:
    """Some values, and all that they were made from, each once."""
    seen = set(values)
    stack = list(values)
    while stack:
        value = stack.pop()
        yield value
        if value.owner is not None:
            new = [v for n in value.owner.nodes for v in _reads(n) if v not in seen]
            seen.update(new)
            stack.extend(new)


def _reads(node: Node) -> list[Value]:
    return [*node_inputs(node), *(v for g in node_graphs(node) for v in free_values(g))]


def step(call: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call graph code on variables, outside any builder."""
    builder = StepBuilder([v for v in (*args, *kwargs.values()) if isinstance(v, Value)])
    with building(builder):
        out = call(*args, **kwargs)
    made = Step(tuple(builder.region.nodes), next(_orders))
    for node in made.nodes:
        for value in node.outputs:
            object.__setattr__(value, "owner", made)
    return out


set_step(step)


def graph_of(params: Sequence[Value], results: Sequence[Value], name: str = "graph") -> Graph:
    """The closed graph from variables to what was made of them.

    Parameters
    ----------
    params, results : sequence of Value
        A parameter may be a value that was made of others: it is then given, and what made it is left out.

    Raises
    ------
    ArgumentError
        A result needs a variable that is no parameter.
    """
    given = set(params)
    if len(given) != len(params):
        raise ArgumentError("a variable is a parameter twice")
    steps: dict[int, Step] = {}
    for value in _needed(results, given):
        if value.owner is not None:
            steps[value.owner.order] = value.owner
        elif value not in given:
            why = f"the variable {value.name!r} is needed, and is no parameter"
            raise ArgumentError(Problem(why, hint=f"give it: the parameters are {', '.join(p.name for p in params)}"))
    nodes = [n for k in sorted(steps) for n in steps[k].nodes if given.isdisjoint(n.outputs)]
    return close(Graph(name, tuple(params), tuple(nodes), tuple(results)))


def _needed(results: Sequence[Value], given: set[Value]) -> Iterator[Value]:
    seen = set(results)
    stack = [v for v in results if v not in given]
    while stack:
        value = stack.pop()
        yield value
        if value.owner is None:
            continue
        own = {v for n in value.owner.nodes for v in n.outputs}
        new = [v for n in value.owner.nodes for v in _reads(n) if v not in seen and v not in given and v not in own]
        seen.update(new)
        stack.extend(new)


def symbols_of(values: Sequence[Value]) -> frozenset[str]:
    """The symbols in the types of some values."""
    return frozenset[str]().union(*(type_symbols(v.type) for v in values))


__all__ = ["graph_of", "matrix", "scalar", "step", "tensor", "vector"]
