"""How arrays lie in memory, as far as it decides what shares memory: a reshape of an array in C order is a view.

An argument's layout is not part of its type; where it matters the argument has to be contiguous,
which is checked at the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from srcgraph.frontend.entities import Array
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import Op
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

_ALWAYS = frozenset({"full", "empty", "reshape", "reshape_view", "matmul"})
"""Ops that make arrays in C order, whatever they are given."""
_AS_GIVEN = frozenset({"copy", "setitem", "add_at"})
"""Ops whose array lies as their first operand does."""


def contiguous(low: Lowering, ref: Array) -> bool:
    """Whether an array is known to lie in C order without gaps; of arguments this is required from now on."""
    for position, (_, cell) in enumerate(low.params):
        if cell is ref.cell:
            if ref.view is None or _leading(ref.view):
                low.contiguous.add(position)
                return True
            return False
    value = ref.cell.made
    return value is not None and (ref.view is None or _leading(ref.view)) and _c_order(low, value)


def note_layout(low: Lowering, made: Any, given: Sequence[Any]) -> None:
    """Note of which arrays a composite made others, see `Lowering.made_of`."""
    arrays = tuple(v for v in _values(given) if isinstance(v.type, ArrayType) and v.type.ndim > 1)
    for value in _values((made,)) if arrays else ():
        if isinstance(value.type, ArrayType) and value.type.ndim > 1 and value not in arrays:
            low.made_of[value] = arrays


def _values(parts: Sequence[Any]) -> Iterator[Value]:
    for part in parts:
        if isinstance(part, Value):
            yield part
        elif isinstance(part, tuple | list):
            yield from _values(part)


def _leading(view: View) -> bool:
    """Whether a view of a contiguous array is contiguous: integers first, then whole axes."""
    axes = list(view.axes)
    while axes and axes[0] == "i":
        axes.pop(0)
    if axes and axes[0] == 1:  # a slice of the first axis that is left
        axes.pop(0)
    return all(a == ":" for a in axes) and _in_order(view)


def _c_order(low: Lowering, value: Value) -> bool:
    """Whether NumPy makes this array in C order."""
    for position, (param, cell) in enumerate(low.params):
        if param is value:
            low.contiguous.update({position} if cell is not None else ())
            return cell is not None
    node = low.builder.definition(value)
    if not isinstance(node, Apply) or not all(_c_order(low, v) for v in low.made_of.get(value, ())):
        return False
    own = value.type.ndim
    match node.op:
        case Op(name=name) if name in _ALWAYS:
            return True
        case Op(name="getitem"):
            return own > 1 and _in_order(node.attrs["view"]) and _c_order(low, node.inputs[0])
        case Op(name=name, kind=kind) if own < 2 or name in _AS_GIVEN or kind in ("elementwise", "reduction"):
            arrays = [v for v in node.inputs if isinstance(v.type, ArrayType) and v.type.ndim >= max(own, 2)]
            return all(_c_order(low, v) for v in (arrays[:1] if name in _AS_GIVEN else arrays))
    return False


def _in_order(view: View) -> bool:
    kept = tuple(k for k in view.order if k is not None)
    return kept == tuple(range(len(kept)))


__all__ = ["contiguous", "note_layout"]
