"""The adjoints of lists: what the forward sweep pushes, the reverse one pops, and the other way round.

The cotangent of a list is a list of the same length, changed in place as the list was. No list of the
forward sweep is read: only indices, and lengths where a cotangent starts as zeros. An array that is empty along
all axes stands for zeros, so that the shapes of arrays on a list need not be known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from srcgraph.errors import InternalError
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.types import ArrayType, ListType, ScalarType
from srcgraph.ir.view import element

if TYPE_CHECKING:
    from srcgraph.opt.ad.reverse import Reverse


def reverse(work: Reverse, node: Apply) -> None:
    """Hand the cotangents of a list op's outputs on to its inputs."""
    ADJOINTS[node.op.name](work, node)


def zeros(work: Reverse, xs: Value) -> Value:
    """A cotangent that is zero, as long as ``xs``."""
    if xs not in work.lengths:
        raise InternalError(f"the length of {xs} is not known in the reverse sweep")
    items = (work.lengths[xs], zero(work, xs.type.item))
    return work.builder.call(OPS["list_full"], items, {}, name=f"d_{xs.name or 'list'}")


def zero(work: Reverse, item: ScalarType | ArrayType) -> Value:
    b = work.builder
    number = item.dtype.type(0)
    if isinstance(item, ArrayType):
        return b.call_named("full", number, *(0 for _ in item.shape))
    return b.const(number.item() if item.weak else number)


def of_item(work: Reverse, ct: Value, x: Value) -> Value:
    """The cotangent of what was put on a list as ``x``, from the one that the list has."""
    if not isinstance(ct.type, ArrayType) or not ct.type.ndim:
        return ct
    b = work.builder
    none, some = b.new_region(), b.new_region()
    with b.inside(none):
        nothing = zeros_of(x)
    with b.inside(some):
        something = b.retype(ct, x.type.shape)
    return b.if_(is_empty(work, ct), (none, [nothing]), (some, [something]), [ct.name])[0]


def is_empty(work: Reverse, ct: Value) -> Value:
    return work.builder.call_named("equal", work.builder.dim_value(ct.type.shape[0]), 0)


def add(work: Reverse, running: Value, ct: Value) -> Value:
    """``running`` with the numbers of another list, or of an array, added to its own."""
    b = work.builder
    is_list = isinstance(ct.type, ListType)
    count = OPS["list_len"](ct) if is_list else b.dim_value(ct.type.shape[0])
    bounds = (b.const(0), count, b.const(1))
    region, k = b.for_region(bounds, "k")
    with b.inside(region):
        now = b.fresh(running.name, running.type)
        b.enter_params(region, (k, now))
        more = b.apply(OPS["list_get"], (ct, k), {}) if is_list else b.apply(
            OPS["getitem"], (ct, k), {"view": element(1)})  # fmt: skip
        result = _added(work, now, k, more, is_list)
    return b.for_(bounds, [running], region, [result], None, [running.name])[0]


def _added(work: Reverse, xs: Value, at: Value, ct: Value, listed: bool = False) -> Value:
    """``xs`` with ``ct`` added to an item; ``listed`` if it is itself from such a list."""
    b = work.builder
    now = b.apply(OPS["list_get"], (xs, at), {})
    total = _sum_of_arrays(work, now, ct, listed) if ct.type.ndim else b.call_named("add", now, ct)
    return b.apply(OPS["list_set"], (xs, at, _as_item(work, total, xs)), {}, name=xs.name)


def _sum_of_arrays(work: Reverse, x: Value, y: Value, either: bool) -> Value:
    """Their sum, where ``x``, or either, may be empty in place of zeros."""
    b = work.builder
    none, some = b.new_region(), b.new_region()
    with b.inside(some):
        total = _sum_of_arrays(work, y, x, False) if either else b.call_named("add", b.retype(x, y.type.shape), y)
    return b.if_(is_empty(work, x), (none, [y]), (some, [total]))[0]


def _as_item(work: Reverse, number: Value, xs: Value) -> Value:
    item = xs.type.item
    return work.builder.cast(number, item.dtype, item.weak) if isinstance(item, ScalarType) else number


def _push(work: Reverse, node: Apply) -> None:
    """What was put on a list, at its end or at a place, is taken off its cotangent there."""
    ct = work.ct(node.outputs[0])
    if ct is None:
        return
    xs, *at, x = node.inputs
    rest, item = work.builder.apply(OPS["list_take" if at else "list_pop"], (ct, *at), {}, name="")
    work.builder.suggest(rest, ct.name)
    work.accumulate(xs, rest)
    if x in work.active:
        work.accumulate(x, of_item(work, item, x))


def _pop(work: Reverse, node: Apply) -> None:
    """The other way round."""
    rest, item = (work.ct(v) for v in node.outputs)
    xs, *at = node.inputs
    if (rest is None and item is None) or xs not in work.active:
        return
    running = zeros(work, node.outputs[0]) if rest is None else rest
    ct = _as_item(work, zero(work, xs.type.item) if item is None else item, running)
    op = OPS["list_insert" if at else "list_push"]
    work.accumulate(xs, work.builder.apply(op, (running, *at, ct), {}, name=running.name))


def _set(work: Reverse, node: Apply) -> None:
    ct = work.ct(node.outputs[0])
    if ct is None:
        return
    b = work.builder
    xs, at, x = node.inputs
    if x in work.active:
        work.accumulate(x, of_item(work, b.apply(OPS["list_get"], (ct, at), {}), x))
    cleared = b.apply(OPS["list_set"], (ct, at, zero(work, ct.type.item)), {}, name=ct.name)
    work.accumulate(xs, cleared)


def _get(work: Reverse, node: Apply) -> None:
    ct = work.ct(node.outputs[0])
    xs, at = node.inputs
    if ct is not None and xs in work.active:
        work.replace(xs, _added(work, work.ct_or_zero(xs), at, ct))


def _new(work: Reverse, node: Apply) -> None:
    ct = work.ct(node.outputs[0])
    if ct is not None:
        for k, x in enumerate(node.inputs):
            if x in work.active:
                item = work.builder.apply(OPS["list_get"], (ct, work.builder.const(k)), {})
                work.accumulate(x, of_item(work, item, x))


def _full(work: Reverse, node: Apply) -> None:
    ct = work.ct(node.outputs[0])
    if ct is not None and node.inputs[1] in work.active:
        work.accumulate(node.inputs[1], OPS["sum"](as_array(work, ct, node.inputs[0]), axes=(0,)))


def _of(work: Reverse, node: Apply) -> None:
    ct = work.ct(node.outputs[0])
    if ct is not None and node.inputs[0] in work.active:
        size = work.builder.dim_value(node.inputs[0].type.shape[0])
        work.accumulate(node.inputs[0], as_array(work, ct, size))


def as_array(work: Reverse, ct: Value, size: Value) -> Value:
    attrs = {"dtype": ct.type.item.dtype}
    return work.builder.apply(OPS["list_array"], (ct, size), attrs, name=ct.name)


def _array(work: Reverse, node: Apply) -> None:
    ct = work.ct(node.outputs[0])
    xs = node.inputs[0]
    if ct is not None and xs in work.active:
        work.replace(xs, add(work, work.ct_or_zero(xs), ct))


ADJOINTS: dict[str, Callable[[Reverse, Apply], None]] = {
    "list_push": _push,
    "list_pop": _pop,
    "list_insert": _push,
    "list_take": _pop,
    "list_set": _set,
    "list_get": _get,
    "list_new": _new,
    "list_full": _full,
    "list_of": _of,
    "list_array": _array,
    "list_len": lambda work, node: None,
}
