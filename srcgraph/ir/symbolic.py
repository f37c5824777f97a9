"""Graphs built from variables, where there is no Python source: ``y = exp(x) + 1`` with ``x = scalar("x")``.

Variables are values; operators, ops, NumPy's functions and indexing of them make others. A value knows the `Step` that
made it: the nodes built by one call, checks among them. `graph_of` collects the steps that some results need, in the
order in which they were made.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.ir.ancestry import Known, known_behind, known_with, reads
from srcgraph.ir.builder import Builder
from srcgraph.ir.closure import close
from srcgraph.ir.dims import Dim, as_dim
from srcgraph.ir.graph import Apply, Graph, Step, Value
from srcgraph.ir.op import building, current_builder, is_building, set_step
from srcgraph.ir.operators import set_operator
from srcgraph.ir.placing import placed
from srcgraph.ir.rebuild import Rebuild, substitute_type
from srcgraph.ir.shared import Container, Kind, SharedVariable, describe
from srcgraph.ir.types import NAME_OF, ArrayType, ScalarType, Type, same_kind, type_symbols

FREE = object()
"""The owner of a variable that nothing is known of."""
Givens: TypeAlias = Mapping[Value, Value]
NO_GIVENS: Givens = {}
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
    return _variable(name or "x", ScalarType(_supported(dtype), weak))


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
    return Value(name or "x", ArrayType(_supported(dtype), dims), FREE)


def _supported(dtype: Any) -> np.dtype:
    found = np.dtype(dtype)
    if found not in NAME_OF:
        raise ArgumentError(f"a variable of dtype {found} is not supported")
    return found


def _variable(name: str, type: Type) -> Value:
    builder = Builder()
    builder._symbols = _names
    return replace(builder.fresh(name, type), owner=FREE)


class StepBuilder(Builder):
    """Builds what one call makes of variables; what is known of them is found through the steps that made them."""

    def __init__(self, given: Sequence[Value]):
        super().__init__("step")
        self._symbols = _names
        self._given = list(given)
        self._has_sizes = False

    def definition(self, value: Value) -> Apply | None:
        found = super().definition(value)
        if found is not None or not isinstance(value.owner, Step):
            return found
        return next((n for n in value.owner.nodes if isinstance(n, Apply) and value in n.outputs), None)

    @cached_property
    def known(self) -> Known:
        """What is known behind the values that the call is given."""
        return known_behind(self._given)

    def proves(self, dim: Dim) -> bool:
        if not self._has_sizes:
            self._has_sizes = True
            self.regions[0].known.extend(self.known.sizes)
        return super().proves(dim)

    def not_one(self, dim: Dim) -> bool:
        return dim.symbol in _lengths or super().not_one(dim)

    def size_source(self, name: str) -> tuple[Value, int] | None:
        return super().size_source(name) or self.known.sources.get(name)

    def _integer(self, dim: Dim, weak: bool) -> Value | None:
        return super()._integer(dim, weak) or self.known.integers.get((dim, weak))


def step(
    call: Any, args: Sequence[Any], kwargs: dict[str, Any], lazy: bool = False, through: frozenset[Value] = frozenset()
) -> Any:
    """Call graph code on variables, outside any builder; ``through`` are values that it computes anew."""
    builder = StepBuilder([v for v in (*args, *kwargs.values()) if isinstance(v, Value)])
    with building(builder):
        out = call(*args, **kwargs)
    nodes = tuple(builder.region.nodes)
    made = Step(nodes, next(_orders), lazy, through, known_with(nodes))
    for node in nodes:
        for value in node.outputs:
            object.__setattr__(value, "owner", made)
    return out


set_step(step)


def _truth(value: Value) -> bool:
    """Variables have no truth value, nor what a rewrite makes; elsewhere graph code asks whether there is a value."""
    if is_building() and not current_builder().of_rewrites:
        return True
    if value.owner is None and not is_building():
        return True
    held = ", or x.value of a shared variable" if isinstance(value.owner, SharedVariable) else ""
    why = "is no number yet: write sg.ifelse(c, x, y), np.logical_and(x, y), np.maximum(x, y)"
    raise TypeError(f"{value} {why}{held}")


set_operator("truth", _truth)


def constant(x: Any) -> Value:
    """A number as a value of variables."""
    return step(lambda: current_builder().value(x), (), {})


def variable_of(shared: SharedVariable) -> Value:
    """The variable that stands for what a shared variable holds; always the same one."""
    found = _SHARED.get(shared.container)
    if found is None:
        kind = shared.kind
        if not isinstance(kind, Kind):
            raise ArgumentError(f"{describe(shared.name)} holds {kind}: graphs are made of numbers and arrays")
        name = shared.name or "shared"
        shape = () if kind.ndim is None else tuple(1 if n == 1 else None for n in np.shape(shared.container.value))
        found = scalar(name, kind.dtype, weak=kind.weak) if kind.ndim is None else tensor(name, kind.dtype, shape)
        _SHARED[shared.container] = found
        object.__setattr__(found, "owner", shared)
    return found


_SHARED: weakref.WeakKeyDictionary[Container, Value] = weakref.WeakKeyDictionary()


def unrelated(values: Sequence[Value]) -> list[Value]:
    """Variables of the types of other values, whose sizes have nothing to do with those of variables made before."""
    builder = Builder()
    builder._symbols = _names
    symbols = sorted({s for v in values for s in type_symbols(v.type)})
    new = {s: builder.new_symbol(s) for s in symbols}
    return [Value(v.name, substitute_type(v.type, new)) for v in values]


def graph_of(
    params: Sequence[Value], results: Sequence[Value], name: str = "graph", givens: Givens = NO_GIVENS
) -> Graph:
    """The closed graph from variables to what was made of them.

    Parameters
    ----------
    params, results : sequence of Value
        A parameter may be a value that was made of others: it is then given, and what made it is left out.
    name : str
    givens : mapping
        Values, and what stands in their place, all at once: in that nothing is replaced.

    Raises
    ------
    ArgumentError
        A result needs a variable that is no parameter, or what stands for a value is of another type.
    """
    if len(set(params)) != len(params):
        raise ArgumentError("a variable is a parameter twice")
    if not givens:
        steps = sorted(_steps(results, set(params), params), key=lambda s: s.order)
        nodes = placed(steps, results, set(params))
        return close(Graph(name, tuple(params), tuple(nodes), tuple(results)))
    first, second = Rebuild(name), Rebuild(name)
    second.builder = first.builder
    with building(first.builder):
        first.params(params)
        _emit(first, list(givens.values()), set(params), params)
        second.env, second.symbols = dict(first.env), dict(first.symbols)
        for value, other in givens.items():
            second.bind(value, _as_typed(first, value, other))
        second.env = {v: second.env[v] for v in (*params, *givens)}
        _emit(second, results, {*params, *givens}, params)
        return first.builder.finish(second.values(results))


def _as_typed(rebuild: Rebuild, value: Value, other: Value) -> Value:
    made = rebuild.value(other)
    same = isinstance(value.type, ScalarType) == isinstance(made.type, ScalarType) and value.type.ndim == made.type.ndim
    if same and np.can_cast(made.type.dtype, value.type.dtype, "safe"):
        made = rebuild.builder.cast(made, value.type.dtype, getattr(value.type, "weak", False))
    if not same_kind(value.type, made.type):
        wanted, got = (_in_words(v.type) for v in (value, other))
        raise ArgumentError(f"givens: {value.name or 'a value'!r} is {wanted}; {got} cannot stand in its place")
    return made


def _in_words(type: Type) -> str:
    kind = Kind(type.dtype, type.ndim if isinstance(type, ArrayType) else None, getattr(type, "weak", False))  # type: ignore[union-attr]
    return f"a number of type {kind}" if isinstance(type, ScalarType) else f"an array ({kind})"


def _emit(rebuild: Rebuild, results: Sequence[Value], bound: set[Value], params: Sequence[Value]) -> None:
    steps = sorted(_steps(results, bound, params), key=lambda s: s.order)
    rebuild.nodes(placed(steps, results, bound))


def _steps(results: Sequence[Value], bound: set[Value], params: Sequence[Value]) -> list[Step]:
    """The steps that results need; what is bound is there already."""
    steps: dict[Step, None] = {}
    for value in _needed(results, bound):
        if isinstance(value.owner, Step):
            _refuse_cut(value.owner, bound)
            steps[value.owner] = None
        else:
            why = f"the variable {value.name!r} is needed, and is no parameter"
            listed = ", ".join(p.name or repr(p) for p in params) or "none"
            raise ArgumentError(Problem(why, hint=f"give it: the parameters are {listed}"))
    return list(steps)


def _refuse_cut(made: Step, bound: set[Value]) -> None:
    """A gradient is not moved by what is put in the place of a value that it has computed itself."""
    for value in bound & made.through:
        named = repr(value.name) if value.name else "a value that was built"
        why = f"a gradient is needed that was built through {named}, in whose place something is given here"
        raise ArgumentError(Problem(why, hint="build the number of what is given, and take the gradient of that"))


def variables_of(results: Sequence[Value], given: Sequence[Value] = ()) -> list[Value]:
    """The variables that results are made of, other than some values that are given."""
    return [v for v in _needed(results, set(given)) if not isinstance(v.owner, Step)]


def built_between(results: Sequence[Value], given: Sequence[Value]) -> frozenset[Value]:
    """What is made on the way from some values to some results, these included."""
    return frozenset(v for v in _needed(results, set(given)) if isinstance(v.owner, Step))


def free_variables(results: Sequence[Value], params: Sequence[Value], givens: Givens = NO_GIVENS) -> list[Any]:
    """The shared variables that results need, if some values are given."""
    needed = _needed([*results, *givens.values()], {*params, *givens}) if givens else _needed(results, set(params))
    inside = _needed(list(givens.values()), set(params)) if givens else ()
    return list(dict.fromkeys(v.owner for v in (*needed, *inside) if isinstance(v.owner, SharedVariable)))


def _needed(results: Sequence[Value], bound: set[Value]) -> Iterator[Value]:
    """Every value that some results are made of, without what is bound."""
    seen = set(bound)
    stack = list(results)
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        yield value
        if isinstance(value.owner, Step):
            own = {v for n in value.owner.nodes for v in n.outputs}
            stack += [v for n in value.owner.nodes for v in reads(n) if v not in own]


__all__ = ["constant", "graph_of", "matrix", "scalar", "step", "tensor", "variable_of", "vector"]
