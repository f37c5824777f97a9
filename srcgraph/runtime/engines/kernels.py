"""Uses of ops that kernels compute, in engines that compile nothing.

The helpers that generated code calls are run as they are written, in Python: they take memory from NumPy, and call the
very kernels that they call when they are compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply
from srcgraph.ir.interp import applied as applied_by_numpy
from srcgraph.runtime import decompositions, fourier, products, sorting
from srcgraph.runtime.helpers import plain

_MODULES = {m.__name__.rpartition(".")[2]: m.__name__ for m in (products, decompositions, fourier, sorting)}
_KERNELS = frozenset({"matmul", "sort", "argsort"})
"""Ops of the modules `products` and `sorting` that kernels compute; of the others, all are."""


def by_kernels(node: Apply) -> bool:
    """Whether kernels compute a use of an op."""
    op = node.op
    if op.kind != "library" or op.helpers not in _MODULES:
        return False
    if op.name == "matmul":
        return node.outputs[0].type.dtype.kind in "fc"
    return op.name in _KERNELS or op.helpers in ("decompositions", "fourier")


def applied(node: Apply, args: Sequence[Any]) -> Sequence[Any]:
    """What a use of an op gives, as `srcgraph.ir.interp.applied`, by kernels where there are some for it."""
    if not by_kernels(node):
        return applied_by_numpy(node, args)
    name = node.op.text("cpu", node.outputs[0].type.dtype, node.attrs)
    run = plain(_MODULES[node.op.helpers])[name]
    with np.errstate(all="ignore"):
        out = run(*args[node.op.unread :], *node.attrs.values())
    return out if len(node.outputs) > 1 else (out,)
