"""What an element of a delayed array costs: whether it is better computed again than read from memory.

An array that is written and read again costs more than a sum or product of what it is made of. So does reading it
again and again, where it is stretched along others, but for a call or a division it pays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.types import ArrayType

if TYPE_CHECKING:
    from srcgraph.codegen.decisions import Decisions

CHEAP = 2
"""So many operations are as quick as a store and a load."""
_SIMPLE = frozenset({"add", "sub", "mul", "where", "maximum", "minimum", "abs", "lt", "le", "gt", "ge", "eq", "ne"})
_LONG = 100


def is_cheap(d: Decisions, value: Value) -> bool:
    """Whether an element is computed again rather than kept."""
    return cost(d, value, CHEAP) <= CHEAP


def cost(d: Decisions, value: Value, most: int) -> int:
    """How many operations an element takes, in additions; anything above ``most`` where it is more."""
    total = 0
    stack, seen = [value], {value}
    while stack and total <= most:
        current = stack.pop()
        node = d.uses.definition.get(current)
        if node is None or current in d.variables or current in d.made or not d.can_delay(node):
            continue
        if current is not value and d.uses.count(current) > 1 and not d.is_free(node):
            continue  # it is decided on its own
        total += _operation(d, node)
        fresh = [v for v in dict.fromkeys(node.inputs) if isinstance(v.type, ArrayType) and v not in seen]
        seen.update(fresh)
        stack += fresh
    return total


def _operation(d: Decisions, node: Apply) -> int:
    if d.is_free(node):
        return 0
    return 1 if node.op.name in _SIMPLE and node.outputs[0].type.dtype.kind != "c" else _LONG


def is_stretched(d: Decisions, value: Value) -> bool:
    """Whether a delayed array's elements are evaluated several times each, for the elements of a larger one."""
    return any(node.outputs[0] in d.stretched or _stretches(node, value) for node in _delayed_readers(d, value))


def _delayed_readers(d: Decisions, value: Value) -> Iterator[Apply]:
    for use in d.uses.reads[value]:
        if isinstance(use.node, Apply) and use.node.op.kind in ("elementwise", "structural", "update"):
            yield use.node


def _stretches(node: Apply, value: Value) -> bool:
    """Whether a node reads the elements of an operand several times each."""
    if node.op.kind == "update":
        return False
    out = node.outputs[0].type
    is_view = node.op.name == "getitem"
    return not is_view and isinstance(out, ArrayType) and out.shape != value.type.shape
