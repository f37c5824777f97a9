"""What is known of the integers in an array: that they count its places, that they are not negative, or below a length.

`numpy.argsort`, `numpy.arange` and remainders make arrays of places, which need no check where they are looked up. Nor
does the place that a loop over all of them has kept, as that of `numpy.argmax`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from srcgraph.ir.dims import Dim, as_dim, maximum, minimum
from srcgraph.ir.graph import Apply, For, If, Value
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.types import ArrayType, ScalarType

DEEP = 6
"""So many operations one after the other are looked at."""


def counts(builder: Any, node: Apply | None) -> bool:
    """Whether a node makes the array 0, 1, 2, ..."""
    if node is None or node.op.name != "arange" or node.outputs[0].type.dtype != np.int64:
        return False
    return [literal(builder, v) for v in node.inputs[:2]] == [0, 1]


def bounds(builder: Any, index: Value) -> tuple[Dim | None, Dim | None]:
    """What an integer is nowhere below, and nowhere above; None where that is not known."""
    found = _elements(builder, index, DEEP)
    known = index.type.value if isinstance(index.type, ScalarType) else None
    return found if known is None or found[0] is not None else (known, known)


def _elements(builder: Any, value: Value, deep: int) -> tuple[Dim | None, Dim | None]:
    """The same of an integer that is in an array, and of all of an array."""
    node = builder.definition(value) if deep else None
    if value.type.dtype != np.int64:
        return None, None
    if node is None:
        return _kept(builder, value, deep)
    match node.op.name:
        case "cast" | "getitem" | "located":
            return _elements(builder, node.inputs[0], deep - 1)
        case "argsort" | "arange" if node.op.name == "argsort" or counts(builder, node):
            assert isinstance(value.type, ArrayType)
            return as_dim(0), value.type.shape[-1] - 1
        case "mod" if isinstance(kind := node.inputs[1].type, ScalarType) and kind.value is not None:
            return (as_dim(0), kind.value - 1) if builder.proves(kind.value - 1) else (None, None)
    return None, None


def _kept(builder: Any, value: Value, deep: int) -> tuple[Dim | None, Dim | None]:
    """The same of an integer that a loop hands on until it is the loop's own, in some steps."""
    loop = builder.block_of(value) if deep else None
    if not isinstance(loop, For) or value not in loop.outputs:
        return None, None
    k = loop.outputs.index(value)
    index, kept = loop.body.params[0], loop.body.params[1 + k]
    if not {*_choices(builder, loop.body.results[k], deep)} <= {index, kept}:
        return None, None
    start, stop, step = (v.type.value for v in (loop.start, loop.stop, loop.step))
    first = literal(builder, loop.carry[k])
    if start is None or stop is None or step != 1 or first is None:
        return None, None
    return minimum(start, int(first)), maximum(stop - 1, int(first))


def _choices(builder: Any, value: Value, deep: int) -> Iterator[Value]:
    """What a value may be, where branches and `numpy.where` choose."""
    node = builder.definition(value) if deep else None
    block = builder.block_of(value) if deep and node is None else None
    if isinstance(block, If):
        k = block.outputs.index(value)
        chosen = [side.results[k] for side in (block.then, block.orelse)]
    elif node is not None and node.op.name == "cast" and node.inputs[0].type.dtype == value.type.dtype:
        chosen = [node.inputs[0]]
    elif node is not None and node.op.name == "where":
        chosen = list(node.inputs[1:])
    else:
        yield value
        return
    for inner in chosen:
        yield from _choices(builder, inner, deep - 1)
