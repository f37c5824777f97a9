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
ON_GPU = 24
"""As many are, in the threads of a GPU, whose memory is far and whose threads wait for nothing else."""
_SIMPLE = frozenset({
    "add", "sub", "mul", "square", "where", "maximum", "minimum", "absolute", "less", "less_equal", "greater",
    "greater_equal", "equal", "not_equal", "unused",
})  # fmt: skip
_LONG = 100
_CALL = 16
_THREADS = {"div": 8, "sqrt": 8}
"""Operations of a thread of a GPU that take as long as several additions; calls take `_CALL`."""


def is_cheap(d: Decisions, value: Value) -> bool:
    """Whether an element is computed again rather than kept."""
    if d.write.target == "cuda" and value not in d.stretched:
        return _whole_cost(d, value) <= ON_GPU
    return cost(d, value, CHEAP) <= CHEAP


def _whole_cost(d: Decisions, value: Value) -> int:
    """How many operations an element takes with all that it is made of, each as often as it is read."""
    total, stack = 0, [value]
    while stack and total <= ON_GPU:
        current = stack.pop()
        node = d.uses.definition.get(current)
        if isinstance(node, Apply) and current not in d.variables and current not in d.made and d.can_delay(node):
            total += 0 if d.is_free(node) else _THREADS.get(node.op.name, min(_operation(d, node), _CALL))
            stack += [v for v in node.inputs if isinstance(v.type, ArrayType)]
    return total


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
