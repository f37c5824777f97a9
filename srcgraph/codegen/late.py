"""The next value of a number that a loop carries, made after the last statement that reads the one before.

``x_2 = f(x); d_x = g(d_x, x); x = x_2`` is ``d_x = g(d_x, x); x = f(x)``: one name is enough. A loop that carries
derivatives beside what they are of is made so.
"""

from __future__ import annotations

from srcgraph.codegen.items import Block, Item, Let, Loop, Raise, all_blocks, reads_of
from srcgraph.codegen.statements import names_in
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ScalarType


def made_late(block: Block) -> None:
    """Move such statements of all loops of a function."""
    for inner in all_blocks(block):
        for item in inner.items:
            if isinstance(item, Loop):
                _in_loop(item)


def _in_loop(loop: Loop) -> None:
    items = loop.body.items
    before = dict(zip(loop.body.values, loop.params, strict=False))
    for let in [i for i in items if isinstance(i, Let) and i.value in before and _is_of_numbers(i)]:
        k = items.index(let)
        last = max((j for j in range(k + 1, len(items)) if before[let.value] in reads_of(items[j])), default=k)
        between = items[k + 1 : last + 1]
        if between and all(_may_come_first(item, let, before) for item in between):
            items[k : last + 1] = [*between, let]


def _is_of_numbers(item: Let) -> bool:
    """Whether a number is computed from numbers, which no store changes, and is not drawn."""
    drawn = any(n.id.startswith("draw_") for n in names_in(item.expr))
    return not drawn and all(isinstance(v.type, ScalarType) for v in (item.value, *reads_of(item)))


def _may_come_first(item: Item, let: Let, before: dict[Value, Value]) -> bool:
    """Whether a statement may stand before one that stands before it, and spares a name then."""
    if not isinstance(item, Let | Raise) or let.value in reads_of(item):
        return False
    return not isinstance(item, Let) or before.get(item.value) not in reads_of(let)
