"""Kernels of the user's in generated code: calls of them, and the names that the text knows them by.

Graphs keep calls of functions (`srcgraph.ir.graph.Native`). `with_kernels` makes of them what is emitted: calls of
kernels, whose results are checked to have the lengths that the graph has for them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numba
import numpy as np

from srcgraph.codegen.storage import Interface
from srcgraph.errors import VerificationError
from srcgraph.ir.dims import Dim, substitute
from srcgraph.ir.exceptions import name_of
from srcgraph.ir.graph import Call, Graph, Native, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops.compare import equal, less_equal, logical_and, logical_or, where
from srcgraph.ir.ops.reductions import reduced
from srcgraph.ir.ops.remainders import absolute
from srcgraph.ir.ops.vector import add, cast, mul, sub
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.text import is_name
from srcgraph.ir.types import ArrayType, Type, without_value
from srcgraph.ir.walk import calls
from srcgraph.runtime.helpers import helper
from srcgraph.runtime.internal import internal
from srcgraph.runtime.texts import function_of, unlike


@dataclass(frozen=True, slots=True)
class Emitted:
    """What code is generated of: graphs that call kernels.

    Attributes
    ----------
    callees : mapping
        The recursive functions.
    kernels : mapping
        By the names that the graphs call them by, what `native_kernel` finds them by.
    """

    graph: Graph
    callees: Mapping[str, tuple[Graph, Interface]]
    kernels: Mapping[str, str] = field(default_factory=dict)


def with_kernels(graph: Graph, callees: Mapping[str, tuple[Graph, Interface]], compares: bool) -> Emitted:
    """Make calls of functions that kernels stand for calls of these.

    Parameters
    ----------
    graph : Graph
        Closed.
    callees : mapping
        The functions that it calls, those that kernels stand for among them.
    compares : bool
        Whether what kernels return is compared with what the functions return.
    """
    used = [c for g in (graph, *(g for g, _ in callees.values())) for c in calls(g) if c.native is not None]
    if not used:
        return Emitted(graph, callees)
    names = _Names({graph.name, *callees}, compares)
    graphs = {name: g for name, (g, _) in callees.items()}
    left = {name: pair for name, pair in callees.items() if not any(c.callee == name for c in used)}

    def emitted(g: Graph) -> Graph:
        return _Emitted(g.name, graphs, names, compares).run(g)

    made = {name: (emitted(g), to) for name, (g, to) in left.items()}
    return Emitted(emitted(graph), made, names.kernels)


class _Names:
    """What kernels are called in a generated module."""

    def __init__(self, taken: set[str], compares: bool):
        self.taken = taken
        self.compares = compares
        self.kernels: dict[str, str] = {}
        self.known: dict[str, str] = {}

    def of(self, native: Native, inputs: Sequence[Value], outputs: Sequence[Value]) -> str:
        key = _entered(native, inputs, outputs, self.compares)
        if key not in self.known:
            own = native.name if is_name(native.name) else "kernel"
            self.known[key] = name = unlike(own, {*self.taken, *dir(builtins)})
            self.kernels[name] = key
            self.taken.add(name)
        return self.known[key]


class _Emitted(Rebuild):
    def __init__(self, name: str, graphs: Mapping[str, Graph], names: _Names, compares: bool):
        super().__init__(name)
        self.graphs = graphs
        self.names = names
        self.compares = compares

    def call(self, node: Call) -> Sequence[Value]:
        if node.native is None:
            return super().call(node)
        b, inputs = self.builder, self.values(node.inputs)
        name = self.names.of(node.native, inputs, node.outputs)
        types = [self.of_any_size(v.type) for v in node.outputs]
        outs = b.call_graph(name, inputs, types, [v.name for v in node.outputs], native=node.native)
        outs = [self.of_shape(node.native, old, new) for old, new in zip(node.outputs, outs, strict=True)]
        if self.compares:
            wanted = self.put(self.graphs[node.callee], inputs)
            for k, (made, want) in enumerate(zip(outs, wanted, strict=True)):
                self.compare(node.native, made, want, f", result {k}" if len(outs) > 1 else "")
        return outs

    def of_any_size(self, type: Type) -> Type:
        """The type of what a kernel returns: nothing is known but the dtype and the number of axes."""
        if isinstance(type, ArrayType):
            return replace(type, shape=tuple(self.builder.new_size() for _ in type.shape))
        return without_value(type)

    def of_shape(self, native: Native, old: Value, new: Value) -> Value:
        """A result of a kernel, in the shape that the graph has for it."""
        if not isinstance(old.type, ArrayType):
            return new
        b, shape = self.builder, list[Dim]()
        message = f"{native.name} returns another shape than {native.function}: lengths {{x}} and {{y}}"
        for size, known in zip(new.type.shape, old.type.shape, strict=True):
            want = substitute(known, self.symbols) if known.symbols() <= set(self.symbols) else size
            if known.symbol:
                self.symbols.setdefault(known.symbol, size)
            if want != size:
                b.call_named("equal_size", b.dim_value(size), b.dim_value(want), error="ValueError", message=message)
            shape.append(want)
        return b.retype(new, shape)

    def compare(self, native: Native, made: Value, want: Value, which: str) -> None:
        why = f"{native.name} gives something else than {native.function}, which it stands for{which}"
        self.builder.call_named("check_that", _agree(made, want), error=name_of(VerificationError), message=why)


def _agree(made: Value, want: Value) -> Value:
    """Whether numbers are equal up to rounding, by their own size and a little by that of all others."""
    same = equal(made, want)
    if want.type.dtype.kind in "fc":
        eps = float(np.finfo(want.type.dtype).eps)
        size, finite = absolute(want), OPS["isfinite"](want)
        total = where(finite, size, 0.0)
        total = total if total.type.ndim == 0 else reduced(reduce.sum_, total, None, False)
        near = less_equal(absolute(sub(made, want)), add(mul(eps**0.5, size), mul(1e3 * eps, total)))
        neither = logical_and(OPS["isnan"](made), OPS["isnan"](want))
        same = logical_or(logical_or(same, neither), logical_and(finite, near))
    same = same if same.type.ndim == 0 else reduced(reduce.all_, same, None, False)
    return cast(same, dtype=np.dtype(bool), weak=True)


# -- by name -----------------------------------------------------------------------------------------------

_names: dict[tuple[Any, str], str] = {}
_kernels: dict[str, Callable[..., Any]] = {}


def native_kernel(name: str) -> Callable[..., Any]:
    """What generated text calls by a name of its own."""
    return _kernels[name]


def _entered(native: Native, inputs: Sequence[Value], outputs: Sequence[Value], compares: bool) -> str:
    """The name of a function that calls a kernel with numbers and arrays alone."""
    return enter(native.kernel, _text(native, inputs, outputs, compares))


def enter(kernel: Any, text: str) -> str:
    """The name of the function that a text makes around a kernel."""
    known = _names.get((kernel, text))
    if known is not None:
        return known
    own = kernel.py_func
    space = {"kernel": kernel, "np": np, "apart": apart, "unchanged": unchanged}
    space["VerificationError"] = VerificationError
    made = internal(numba.njit(function_of(text, "call", f"call of {kernel.__name__}", space, like=own)))
    name, k = f"{own.__module__}.{own.__qualname__}", 1
    while _kernels.setdefault(name, made) is not made:
        k += 1
        name = f"{own.__module__}.{own.__qualname__} {k}"
    return _names.setdefault((kernel, text), name)


def made_of(name: str) -> tuple[Any, str]:
    """The kernel, and the text of the function around it, that have a name."""
    return next(made for made, known in list(_names.items()) if known == name)


def _text(native: Native, inputs: Sequence[Value], outputs: Sequence[Value], compares: bool) -> str:
    """Of a function that puts arguments into tuples, arrays in C order, and takes results out of tuples.

    An array that it returns is in no other's memory, whatever the kernel does.
    """

    def given(place: Any) -> str:
        match place:
            case int():
                return f"x{place}"
            case str():
                return place
        return _tuple(map(given, place))

    def made(place: Any) -> str:
        return f"r{place}" if isinstance(place, int) else _tuple(map(made, place))

    arrays = {f"x{k}": v.type for k, v in enumerate(inputs) if isinstance(v.type, ArrayType)}
    lines = [f"{x} = np.ascontiguousarray({x})" for x, type in arrays.items() if type.shape]
    lines += [f"{x}_before = {x}.copy()" for x in arrays if compares]
    lines += [f"{made(native.results)} = kernel({', '.join(map(given, native.args))})"]
    for k, x in enumerate(arrays if compares else ()):
        why = f"{native.name} stores into its argument, array {k + 1} of those that it is given"
        lines += [f"if not unchanged({x}, {x}_before):", f"    raise VerificationError({why!r})"]
    for k, v in enumerate(outputs):
        if isinstance(v.type, ArrayType):
            lines += [f"r{k} = apart(r{k}, {x})" for x, type in arrays.items() if type.dtype == v.type.dtype]
            arrays[f"r{k}"] = v.type
    parameters, results = ([f"{x}{k}" for k in range(len(n))] for x, n in (("x", inputs), ("r", outputs)))
    body = "\n    ".join([*lines, f"return {', '.join(results)}"])
    return f"def call({', '.join(parameters)}):\n    {body}\n"


def _tuple(items: Any) -> str:
    return f"({', '.join(items)},)"


@helper
def apart(result, other):
    """``result``, or a copy if it shares memory with another array; both lie in C order."""
    first, start = result.ctypes.data, other.ctypes.data
    if result.size and other.size and first < start + other.nbytes and start < first + result.nbytes:
        return result.copy()
    return result


@helper
def unchanged(x, before):
    """Whether the numbers of ``x`` are what they were."""
    for k in range(x.size):
        now, then = x.flat[k], before.flat[k]
        if now != then and (now == now or then == then):
            return False
    return True
