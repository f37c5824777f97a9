"""The minimum cut of a network, on the side of what is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

INFINITE = 2**29
"""The capacity of an edge that must not be cut."""


def sink_side(edges: Sequence[tuple[int, int, int]], count: int) -> set[int]:
    """After a maximum flow from node 0 to node 1: the nodes that can still reach node 1."""
    rows, columns, capacities = (np.array(x, dtype=np.int32) for x in zip(*edges, strict=True))
    network = csr_array((capacities, (rows, columns)), shape=(count, count), dtype=np.int32)
    flow = maximum_flow(network, 0, 1).flow
    left = (network - flow).tocoo()
    into: dict[int, list[int]] = {}
    for start, end, room in zip(left.row, left.col, left.data, strict=True):
        if room > 0:
            into.setdefault(int(end), []).append(int(start))
    return set(_backwards(into, 1))


def _backwards(into: dict[int, list[int]], start: int) -> Iterator[int]:
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        yield node
        for before in into.get(node, ()):
            if before not in seen:
                seen.add(before)
                stack.append(before)
