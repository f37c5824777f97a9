"""Which nests of the CUDA target have teams: several threads for each point, which share what it reduces.

A sum over an axis has one result for each point of its nest. With a thread for each, few results leave most of a GPU
idle, and threads beside each other read rows far apart. So the threads of a team take every so many elements each, and
combine what they come to in shared memory; one of them, the first, stores. What a nest combines over all of its points
is stored at each, too, and combined by another nest.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace

from srcgraph.codegen.blocks import OF_COMBINE
from srcgraph.codegen.expr import is_number, loop_index
from srcgraph.codegen.items import (
    INDICES,
    Block,
    InnerReduce,
    Item,
    Kernel,
    LoopReduce,
    LoopStore,
    Part,
    all_blocks,
    part_exprs,
    ref,
    refs,
)
from srcgraph.codegen.kernels import new_array
from srcgraph.codegen.names import Names
from srcgraph.codegen.sums import FEW
from srcgraph.codegen.threads import loops_of
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType, ScalarType

_BEGINS = {"add": 0.0, "mul": 1.0}
"""What each thread may begin with; the largest, the smallest, all and any may begin with the same number twice."""


def has_teams(item: Kernel, long: frozenset[InnerReduce]) -> bool:
    """Whether several threads take each point of a nest; ``long`` are the reductions that they would share."""
    if not long or not loops_of(item) or any(isinstance(p, LoopReduce) or p.inner for p in item.parts):
        return False
    return all(is_shared(p) for p in long)


def is_shared(part: InnerReduce) -> bool:
    """Whether threads can begin a reduction each for itself."""
    if part.combine not in OF_COMBINE or not isinstance(part.acc.type, ScalarType):
        return False
    begin = _BEGINS.get(part.combine)
    return begin is None or is_number(part.start, begin)


def is_long(part: LoopReduce | InnerReduce) -> bool:
    """Whether more than a few numbers may be added up."""
    if isinstance(part, LoopReduce):
        return True
    known = [e.value for e in part.extents if isinstance(e, ast.Constant) and isinstance(e.value, int)]
    return len(known) < len(part.extents) or math.prod(known) > FEW


def in_teams(block: Block) -> None:
    """Take nests apart, in place, that combine what long reductions at their points come to."""
    for inner in all_blocks(block):
        inner.items[:] = [new for item in inner.items for new in _apart(item)]


def _apart(item: Item) -> list[Item]:
    if not isinstance(item, Kernel) or not any(isinstance(p, LoopReduce) for p in item.parts):
        return [item]
    parts: list[Part] = []
    fresh, totals = list(item.fresh), list[Part]()
    for part in item.parts:
        if not isinstance(part, LoopReduce):
            parts.append(part)
            continue
        each = Value("", ArrayType(part.acc.type.dtype, item.dims))
        at: list[ast.expr] = [ast.Constant(0) if d == 1 else ref(INDICES[k]) for k, d in enumerate(item.dims)]
        fresh.append((each, new_array(each, item.extents)))
        parts.append(LoopStore(each, None, loop_index(item.dims), (*at,), part.expr, "", part.reads, part.origin))
        here = at[0] if len(at) == 1 else ast.Tuple(at, ast.Load())
        totals.append(replace(part, expr=ast.Subscript(ref(each), here, ast.Load()), reads=[]))
    rows = Kernel(item.dims, parts, item.extents, fresh, item.origin)
    long = frozenset(p for p in parts if isinstance(p, InnerReduce) and is_long(p))
    return [rows, Kernel(item.dims, totals, item.extents, [], item.origin)] if has_teams(rows, long) else [item]


def is_read(item: Kernel, store: LoopStore, names: Names) -> bool:
    """Whether a nest reads the array that it stores into: then its threads wait for each other."""
    return names.of(store.target) in {names.of(v) for p in item.parts for v in _read(p) if v in names.groups}


def _read(part: Part) -> Iterator:
    for expr in part_exprs(part):
        yield from refs(expr)


def wait() -> ast.stmt:
    """All threads of a block come to here before any goes on."""
    return ast.parse("cuda.syncthreads()").body[0]


__all__ = ["has_teams", "in_teams", "is_long", "is_read", "is_shared", "wait"]
