"""Graphs of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance import elementwise, indexing, linear, reductions, shapes
from conformance.records import Kind, NodeRecord, Record
from conformance.writing import Plainly, Unsupported, Use, Variables, Writer, dtype_of, is_weak
from srcgraph.ir.graph import Graph, Value
from srcgraph.ir.symbolic import graph_of, scalar, tensor

BUILDERS = elementwise.BUILDERS | shapes.BUILDERS | reductions.BUILDERS | indexing.BUILDERS | linear.BUILDERS
"""How each op is built."""
LARGE = 16
"""So many elements of a constant are written into the text; one of more, or of more than 63 bits, is an argument."""


class Differs(Exception):
    """A result has another type than was recorded."""


def missing(record: Record) -> list[str]:
    """The ops that have no builder."""
    return sorted({n.name for n in record.nodes} - set(BUILDERS))


class Given:
    """Parameters, with the arguments they stand for."""

    def __init__(self) -> None:
        self.params: list[Value] = []
        self.args: list[Any] = []

    def new(self, argument: np.ndarray, known: Sequence[int | None]) -> Value:
        """A variable for an argument; an axis of length 1 may be stretched."""
        lengths = [n if k is None and n == 1 else k for k, n in zip(known, argument.shape, strict=True)]
        name, dtype = f"i{len(self.params)}", argument.dtype
        self.params.append(tensor(name, dtype, lengths) if argument.ndim else scalar(name, dtype))
        self.args.append(argument.copy() if argument.ndim else argument[()])
        return self.params[-1]


def graph(record: Record) -> tuple[Graph, list[Any]]:
    """The graph of a record, with arguments.

    Raises
    ------
    Unsupported
        An op has no builder.
    Differs
        The type of a result is not the recorded one.
    """
    given = Given()
    values: dict[str, Any] = {}
    for k, (kind, argument) in enumerate(zip(record.inputs, record.args, strict=True)):
        values[f"i{k}"] = given.new(np.asarray(argument), kind.shape)
    for node in record.nodes:
        inputs = [_input(x, values, given) for x in node.inputs]
        if not any(isinstance(x, Value) for x in inputs) and _computes(node):
            inputs[0] = given.new(np.asarray(inputs[0]), np.shape(inputs[0]))
        _build(node, inputs, values, Variables())
    results = [_value(values[x] if isinstance(x, str) else x, given) for x in record.outputs]
    return graph_of(given.params, results), given.args


def _computes(node: NodeRecord) -> bool:
    """Whether the result of constants is computed by what is compiled: not where it is a length, or made of lengths."""
    kind = node.outputs[0][1]
    number = not kind.shape and kind.dtype.startswith(("int", "uint", "bool"))
    return bool(node.inputs) and not number and node.op not in ("ARange", "Eye", "MakeVector")


def _input(x: Any, values: dict[str, Any], given: Given) -> Any:
    if isinstance(x, str):
        return values[x]
    if isinstance(x, np.ndarray):
        written = x.size <= LARGE and x.dtype != np.uint64
        return given.new(x, x.shape) if not written else x if x.ndim else x[()]
    return x


def _value(x: Any, given: Given) -> Value:
    if isinstance(x, Value):
        return x
    return given.new(np.asarray(x), np.shape(x))


def _build(node: NodeRecord, inputs: Sequence[Any], values: dict[str, Any], writer: Writer) -> None:
    kinds = tuple(kind for _, kind in node.outputs)
    if node.name not in BUILDERS:
        raise Unsupported(node.name)
    out = BUILDERS[node.name](Use(writer, node.scalar, tuple(inputs), kinds, node.properties))
    outs = out if isinstance(out, tuple) else (out,)
    for (name, kind), x in zip(node.outputs, outs, strict=True):
        _check(node, kind, x)
        values[name] = x


def _check(node: NodeRecord, kind: Kind, x: Any) -> None:
    if dtype_of(x) != kind.dtype and not is_weak(x):
        raise Differs(f"{node.name}: the dtype is {dtype_of(x)}, not {kind.dtype}")


def plainly(record: Record) -> list[Any]:
    """What NumPy makes of the same text."""
    values = {f"i{k}": np.array(a)[()] for k, a in enumerate(record.args)}
    for node in record.nodes:
        inputs = [values[x] if isinstance(x, str) else np.array(x)[()] for x in node.inputs]
        _build(node, inputs, values, Plainly())
    return [values[x] if isinstance(x, str) else x for x in record.outputs]
