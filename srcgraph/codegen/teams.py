"""Which nests of the CUDA target have teams: several threads for each point, which share what it reduces.

A sum over an axis has one result for each point of its nest. With a thread for each, few results leave most of a GPU
idle, and threads beside each other read rows far apart. So the threads of a team take every so many elements each, and
combine what they come to in shared memory; one of them, the first, stores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from srcgraph.codegen.blocks import OF_COMBINE
from srcgraph.codegen.expr import is_number
from srcgraph.codegen.items import InnerReduce, Kernel, LoopReduce, LoopStore, Part, part_exprs, refs
from srcgraph.codegen.names import Names
from srcgraph.codegen.threads import loops_of
from srcgraph.ir.types import ScalarType

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


def is_read(item: Kernel, store: LoopStore, names: Names) -> bool:
    """Whether a nest reads the array that it stores into: then its threads wait for each other."""
    return names.of(store.target) in {names.of(v) for p in item.parts for v in _read(p) if v in names.groups}


def _read(part: Part) -> Iterator:
    for expr in part_exprs(part):
        yield from refs(expr)


def wait() -> ast.stmt:
    """All threads of a block come to here before any goes on."""
    return ast.parse("cuda.syncthreads()").body[0]


__all__ = ["has_teams", "is_read", "is_shared", "wait"]
