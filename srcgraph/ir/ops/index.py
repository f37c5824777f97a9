"""Reading and writing parts of arrays. Arrays are values: a store gives a new one.

Operands after the arrays are the integers a `View` needs: an index per ``"i"``, start and length per
slice, already counted from the front and clamped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.ir.dims import Dim, as_dim, unclamped
from srcgraph.ir.graph import Node, Value
from srcgraph.ir.op import OPS, current_builder, define, sample
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.ops.ranges import counts
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.types import ArrayType, ScalarType, TensorType, Type, is_inexact, tensor, without_value
from srcgraph.ir.view import View, split_operands, step_of, view_shape, whole
from srcgraph.ir.walk import has_order


def numpy_view(x: np.ndarray, operands: tuple[int, ...], view: View) -> np.ndarray:
    """The NumPy view (or scalar) a `View` selects; always an array, 0-d for one element."""
    index: list[Any] = []
    for selector, own in zip(view.axes, split_operands(view, operands), strict=True):
        if selector == ":":
            index.append(slice(None))
        elif selector == "i":
            index.append(own[0])
        else:
            index.append(_slice(own[0], own[1], step_of(selector, own)))
    part = x[(*index, ...)]
    kept = [k for k in view.order if k is not None]
    part = part.transpose(kept)
    return part[(*(None if k is None else slice(None) for k in view.order), ...)]


def _slice(start: int, length: int, step: int) -> slice:
    if length == 0:
        return slice(0, 0, 1)
    last = start + (length - 1) * step
    stop = last + (1 if step > 0 else -1)
    return slice(start, None if stop < 0 else stop, step)


def _lengths(view: View, operands: tuple[Type, ...]) -> list[Dim]:
    own = split_operands(view, operands)
    return [o[1].value for o in own if len(o) > 1]


def selected_type(x: ArrayType, view: View, operands: tuple[Type, ...]) -> TensorType:
    shape = view_shape(view, x.shape, _lengths(view, operands))
    return tensor(x.dtype, shape, array=bool(shape))


def _getitem_meaning(x: np.ndarray, *operands: int, view: View) -> Any:
    part = numpy_view(x, operands, view)
    return part.copy() if part.ndim else part[()]


def _setitem_meaning(x: np.ndarray, v: Any, *operands: int, view: View) -> np.ndarray:
    out = x.copy()
    numpy_view(out, operands, view)[...] = v
    return out


def _add_at_meaning(x: np.ndarray, v: Any, *operands: int, view: View) -> np.ndarray:
    out = x.copy()
    numpy_view(out, operands, view)[...] += v
    return out


def _whole_read(builder: Any, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> Value | None:
    """``x[:, :]`` is ``x``, ``x[()]`` of a number it is, ``x[i]`` just after ``x[i] = v`` is ``v``, and of
    ``arange(n)`` it is ``i``.

    Parts that are computed as they are stored are read from where they are: see the rule ``part_of_stored``.
    """
    x, view = inputs[0], attrs["view"]
    if (view.axes and view == whole(len(view.axes))) or not isinstance(x.type, ArrayType):
        return x
    node = builder.definition(x)
    if view.axes == ("i",) and counts(builder, node):
        return builder.cast(inputs[1], x.type.dtype, False)
    if node is None or node.op is not setitem or node.attrs["view"] != view or node.inputs[2:] != inputs[1:]:
        return None
    made = builder.definition(node.inputs[1])
    if made is not None and made.op.kind == "elementwise" and "i" not in view.axes:
        return None
    return stored_part(x, node, inputs[1:])


def stored_part(x: Value, store: Any, operands: Sequence[Value]) -> Value | None:
    """What was stored into a part of ``x``, if that is the very part that was stored."""
    found = selected_type(x.type, store.attrs["view"], tuple(v.type for v in operands))
    return store.inputs[1] if without_value(store.inputs[1].type) == without_value(found) else None


def _inside(builder: Any, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> bool:
    """Whether all of the part is in the array."""
    x, view = inputs[0], attrs["view"]
    own = split_operands(view, [v.type.value for v in inputs[1:]])
    return all(
        _axis_inside(builder, selector, operands, size)
        for selector, operands, size in zip(view.axes, own, x.type.shape, strict=True)
    )


def _axis_inside(builder: Any, selector: Any, operands: tuple[Dim | None, ...], size: Dim) -> bool:
    if selector == ":":
        return True
    first, length = (*operands, as_dim(1))[:2]
    if selector == "s" or first is None or length is None:
        return False
    step, length = 1 if selector == "i" else int(selector), unclamped(length)
    with builder.inside(builder.new_region()):
        builder.learn(length - 1)  # or nothing is read
        ends = (first, first + (length - 1) * step)
        return all(builder.proves(at) and builder.proves(size - 1 - at) for at in ends)


def _getitem_into(running: Value, ct: Value, out: Value, x: Value, *operands: Value, view: View) -> Value:
    return add_at(running, ct, *operands, view=view)


getitem = define(
    name="getitem",
    doc="The part of ``x`` that ``view`` selects.",
    infer=lambda x, *operands, view: selected_type(x, view, operands),
    numpy=_getitem_meaning,
    kind="structural",
    jvp=linear(lambda tx, *operands, view: getitem(tx, *operands, view=view)),
    vjp_into=_getitem_into,
    simplify=_whole_read,
    proved=_inside,
    linear=True,
    through_complex=True,
    samples=(
        sample("f64[3, 4]", 1, 2, view=View(("i", "i"), ())),
        sample("f64[3, 4]", 0, 2, view=View((":", 2), (1, 0))),
        sample("f64[5]", 4, 3, view=View((-2,), (0, None))),
        sample("f64[3, 4]", 2, 1, 3, view=View(("i", 1), (0,))),
    ),
)


def _setitem_jvp(tangents: Any, out: Value, x: Value, v: Value, *operands: Value, view: View) -> Value | None:
    tx, tv = tangents[:2]
    if tx is None and tv is None:
        return None
    base = zeros_like(x) if tx is None else tx
    return setitem(base, _zero(x) if tv is None else tv, *operands, view=view)


def _setitem_vjp(ct: Value, out: Value, x: Value, v: Value, *operands: Value, view: View) -> tuple:
    if not is_inexact(x.type):
        return (None,) * (2 + len(operands))
    part = getitem(ct, *operands, view=view) if is_inexact(v.type) else None
    if view == whole(x.type.ndim):  # nothing of the old array is left
        return (None, part, *(None for _ in operands))
    cleared = setitem(ct, _zero(x), *operands, view=view)
    return (cleared, part, *(None for _ in operands))


def zeros_like(x: Value) -> Value:
    """Zeros of the shape and dtype of an array."""
    b = current_builder()
    return OPS["full"](_zero(x), *(b.dim_value(d) for d in x.type.shape))


def _zero(x: Value) -> Any:
    return x.type.dtype.type(0)


def _same_array(x: ArrayType, v: Type, *operands: Type, view: View) -> ArrayType:
    return x


setitem = define(
    name="setitem",
    doc="``x`` with the selected part replaced by ``v``.",
    infer=_same_array,
    numpy=_setitem_meaning,
    kind="update",
    jvp=_setitem_jvp,
    vjp=_setitem_vjp,
    linear=True,
    through_complex=True,
    samples=(
        sample("f64[3, 4]", "f64", 1, 2, view=View(("i", "i"), ())),
        sample("f64[3, 4]", "f64[2, 1]", 0, 2, view=View((":", 2), (1, 0))),
        sample("f64[5]", "f64[3]", 4, 3, view=View((-2,), (0,))),
    ),
)


def _add_at_jvp(tangents: Any, out: Value, x: Value, v: Value, *operands: Value, view: View) -> Value | None:
    tx, tv = tangents[:2]
    if tv is None:
        return tx
    base = zeros_like(x) if tx is None else tx
    return add_at(base, tv, *operands, view=view)


def _add_at_vjp(ct: Value, out: Value, x: Value, v: Value, *operands: Value, view: View) -> tuple:
    if not is_inexact(x.type):
        return (None,) * (2 + len(operands))
    part = getitem(ct, *operands, view=view) if is_inexact(v.type) else None
    return (ct, part, *(None for _ in operands))


def _added_to_zero(builder: Any, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> Value | None:
    """``x[i] = 0; x[i] += v`` is ``x[i] = v``, unless something between may raise: callers see the 0 then."""
    node = builder.definition(inputs[0])
    if node is None or node.op is not setitem or node.attrs["view"] != attrs["view"]:
        return None
    if node.inputs[2:] != inputs[2:] or literal(builder, node.inputs[1]) != 0:
        return None
    if not builder.origin.by and _may_raise_since(builder, node):
        return None
    return builder.apply(setitem, (node.inputs[0], *inputs[1:]), attrs, name=inputs[0].name)


def _may_raise_since(builder: Any, node: Node) -> bool:
    for after in reversed(builder.region.nodes):
        if after is node:
            return False
        if has_order(after):
            break
    return True


add_at = define(
    name="add_at",
    doc="``x`` with ``v`` added to the selected part.",
    infer=_same_array,
    numpy=_add_at_meaning,
    kind="update",
    jvp=_add_at_jvp,
    vjp=_add_at_vjp,
    simplify=_added_to_zero,
    linear=True,
    grows=True,
    through_complex=True,
    samples=setitem.samples,
)


def _dim_meaning(x: np.ndarray, *, axis: int) -> int:
    return x.shape[axis]


def _of_source(builder: Any, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> Value | None:
    """The length of the first array that is known to have it, so that others need not be there for it."""
    name = inputs[0].type.shape[attrs["axis"]].symbol
    source = builder.size_source(name) if name else None
    if source is None or source == (inputs[0], attrs["axis"]):
        return None
    return builder.apply(dim, (source[0],), {"axis": source[1]})


dim = define(
    name="dim",
    doc="The length of one axis, a Python integer.",
    infer=lambda x, *, axis: ScalarType(np.dtype(np.int64), True, x.shape[axis]),
    numpy=_dim_meaning,
    kind="structural",
    simplify=_of_source,
    samples=(sample("f64[3, 4]", axis=1),),
)


def constant_index(builder: Any, value: Value) -> int | None:
    """The integer a value is known to be, or None."""
    number = literal(builder, value)
    if isinstance(number, int | np.integer):
        return int(number)
    return as_dim(value.type.value).const if value.type.value is not None else None
