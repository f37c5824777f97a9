"""What is known of the integers in an array: that they count its places, that they are not negative, or below a length.

`numpy.argsort`, `numpy.arange` and remainders make arrays of places, which need no check where they are looked up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.dims import Dim, as_dim
from srcgraph.ir.graph import Apply, Value
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
    if not isinstance(node, Apply) or value.type.dtype != np.int64:
        return None, None
    match node.op.name:
        case "cast" | "getitem":
            return _elements(builder, node.inputs[0], deep - 1)
        case "argsort" | "arange" if node.op.name == "argsort" or counts(builder, node):
            assert isinstance(value.type, ArrayType)
            return as_dim(0), value.type.shape[-1] - 1
        case "mod" if isinstance(kind := node.inputs[1].type, ScalarType) and kind.value is not None:
            return (as_dim(0), kind.value - 1) if builder.proves(kind.value - 1) else (None, None)
    return None, None
