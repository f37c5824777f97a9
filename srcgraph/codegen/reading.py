"""What a nest reads of arrays around an element that it stores: before, in the same place, or apart from it."""

from __future__ import annotations

import ast
from itertools import takewhile

from srcgraph.codegen.expr import Index, apart, in_row, loop_index
from srcgraph.codegen.items import Kernel, LoopStore, Part, Ref, dims_around
from srcgraph.codegen.statements import form_of
from srcgraph.ir.graph import Value


def fills(part: LoopStore, kernel: Kernel) -> bool:
    """Whether a store writes every element of its array."""
    dims = dims_around(part, kernel)
    return not part.combine and dims == part.target.type.shape and part.at == loop_index(dims)


def is_copy(part: LoopStore, value: Value) -> bool:
    """Whether a store puts the element of another array, as it is."""
    match part.expr:
        case ast.Subscript(value=Ref(value=read), slice=index) if read is value and not part.combine:
            here = part.index[0] if len(part.index) == 1 else ast.Tuple([*part.index], ast.Load())
            return form_of(index) == form_of(here)
    return False


def read_around(kernel: Kernel, store: LoopStore) -> frozenset[Value]:
    """The arrays a nest reads other than before ``store`` changes the element, or its row, or apart from all these."""
    last = kernel.parts.index(store)
    return frozenset(
        value
        for k, part in enumerate(kernel.parts)
        for value, index in part.reads
        if value is not store.base
        and not (
            (k <= last and _is_before(value, index, part, store, kernel)) or _is_apart(value, index, store, kernel)
        )
    )


def _is_before(value: Value, index: Index, part: Part, store: LoopStore, kernel: Kernel) -> bool:
    """Whether an earlier part reads the very element that is stored, or the row that its loops are at together."""
    if index == store.at:
        return True
    if value.type.shape != store.target.type.shape:
        return False
    both = takewhile(lambda pair: pair[0] is pair[1], zip(part.inner, store.inner, strict=False))
    dims = (*kernel.dims, *(d for loops, _ in both for d in loops.dims))
    return in_row(index, store.at, [f"@{k}" for k, d in enumerate(dims) if d != 1])


def _is_apart(value: Value, index: Index, store: LoopStore, kernel: Kernel) -> bool:
    return value.type.shape == store.target.type.shape and apart(index, store.at, dims_around(store, kernel))
