"""Parts of arrays, reshapes and stores: what is read is computed, and nothing twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.dims import unclamped
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.ops.index import stored_part
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import View, element, transposed
from srcgraph.ir.walk import has_order
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.patterns import bare
from srcgraph.opt.rules.reductions import normalized
from srcgraph.opt.rules.rule import Rule, procedure

VECTOR, MATRIX = [("f64[4]",), ("f32[4]",)], [("f64[3, 4]",)]


def _whole(view: View) -> bool:
    return all(a == ":" for a in view.axes)


def _view_of_view(fgraph: FunctionGraph, node: Apply) -> Any:
    """Transposes and new axes, one after the other, and the one place in a new axis."""
    inner = fgraph.definition(node.inputs[0], "getitem")
    if inner is None:
        return None
    first, second = inner.attrs["view"], node.attrs["view"]
    gone = [first.order[k] for k, a in enumerate(second.axes) if a == "i"]
    if not _whole(first) or any(k is not None for k in gone) or any(a not in (":", "i") for a in second.axes):
        return None
    if any(len(v.kept) != len([k for k in v.order if k is not None]) for v in (first, second)):
        return None
    left = [first.order[k] for k in second.kept]
    order = tuple(None if k is None else left[k] for k in second.order)
    x = inner.inputs[0]
    return x if order == tuple(range(x.type.ndim)) else OPS["getitem"](x, view=View(first.axes, order))


def _element_of_elementwise(fgraph: FunctionGraph, node: Apply) -> Any:
    """A softmax stays whole until it has its stable form."""
    return None if normalized(fgraph, node.inputs[0]) else element_of_elementwise(fgraph, node)


def element_of_elementwise(fgraph: FunctionGraph, node: Apply) -> Any:
    """An element of an elementwise result is computed alone, if nothing else of the result is read."""
    view, made = node.attrs["view"], fgraph.definition(node.inputs[0])
    if made is None or made.op.kind != "elementwise" or not all(a == "i" for a in view.axes):
        return None
    whole = made.outputs[0]
    here, there = fgraph.site(node.outputs[0]), fgraph.site(whole)
    if fgraph.uses(whole) > 1 or here is None or there is None or here.block is not there.block:
        return None
    if any(v.type.ndim and v.type.shape != whole.type.shape for v in made.inputs):
        return None
    read = lambda v: OPS["getitem"](v, *node.inputs[1:], view=view) if v.type.ndim else v  # noqa: E731
    return made.op(*map(read, made.inputs), **made.attrs)


def _element_of_full(fgraph: FunctionGraph, node: Apply) -> Any:
    made = fgraph.definition(node.inputs[0])
    if made is None or made.op.name not in ("full", "broadcast_to") or made.inputs[0].type.ndim:
        return None
    return made.inputs[0] if not isinstance(node.outputs[0].type, ArrayType) else None


def _reshape_of_full(fgraph: FunctionGraph, node: Apply) -> Any:
    made = fgraph.definition(bare(fgraph, node.inputs[0]))
    if (
        made is None
        or made.op.name not in ("full", "broadcast_to")
        or made.inputs[0].type.ndim
        or len(node.inputs) == 1
    ):
        return None
    return OPS["full"](made.inputs[0], *node.inputs[1:])


def _part_of_stored(fgraph: FunctionGraph, node: Apply) -> Any:
    """What was stored, where nothing else of the array is read; else it would need memory of its own."""
    x, *operands = node.inputs
    store = fgraph.definition(x)
    if store is None or store.op.name != "setitem" or not node.outputs[0].type.ndim:
        return None
    place = store.attrs["view"], store.inputs[2:]
    if (node.attrs["view"], tuple(operands)) != place:
        return None
    if not all(_place_of(client.holder) == place for client in fgraph.clients(x)):
        return None
    return stored_part(x, store, operands)


def _place_of(holder: Any) -> Any:
    """Where a node reads an array, or stores into it."""
    node = getattr(holder, "node", None)
    if not isinstance(node, Apply) or node.op.name not in ("getitem", "setitem"):
        return None
    return node.attrs["view"], node.inputs[1 if node.op.name == "getitem" else 2 :]


def _store_of_store(fgraph: FunctionGraph, node: Apply) -> Any:
    """What is stored over is not stored before."""
    inner = fgraph.definition(node.inputs[0], "setitem")
    if inner is None or fgraph.uses(inner.outputs[0]) > 1:
        return None
    if inner.attrs["view"] != node.attrs["view"] or inner.inputs[2:] != node.inputs[2:]:
        return None
    if _may_raise_between(fgraph, inner, node):
        return None  # the caller sees what was stored
    return OPS["setitem"](inner.inputs[0], *node.inputs[1:], view=node.attrs["view"])


def _may_raise_between(fgraph: FunctionGraph, first: Apply, second: Apply) -> bool:
    site, end = fgraph.site(first.outputs[0]), fgraph.site(second.outputs[0])
    if site is None or end is None or site.block is not end.block:
        return True
    while site is not None and site is not end:
        if has_order(site.whole()):
            return True
        site = site.after
    return False


def _store_over_all(fgraph: FunctionGraph, node: Apply) -> Any:
    """What nothing reads, and all of which is stored over, is not computed."""
    base, value = node.inputs[:2]
    made, new = fgraph.definition(base), fgraph.definition(value)
    if len(node.inputs) > 2 or made is None or new is None or {made.op.kind, new.op.kind} != {"elementwise"}:
        return None
    alone = fgraph.uses(base) == fgraph.uses(value) == 1
    return value if alone and value.type == node.outputs[0].type == base.type else None


def _copied_where_not_stored(fgraph: FunctionGraph, node: Apply) -> Any:
    """Of an array all of which but its edges is stored over, the edges are copied."""
    copied, view = fgraph.definition(node.inputs[0], "copy"), node.attrs["view"]
    shape = node.inputs[0].type.shape
    if copied is None or fgraph.uses(copied.outputs[0]) > 1 or not 0 < len(shape) <= 3:
        return None
    if view.axes != (1,) * len(shape) or view.order != tuple(range(len(shape))):
        return None
    starts, counts = ([v.type.value for v in node.inputs[k::2]] for k in (2, 3))
    width = None if starts[0] is None else starts[0].const
    if not width or any(start is None or start != width for start in starts):
        return None
    if any(n is None or unclamped(n) != size - 2 * width for n, size in zip(counts, shape, strict=True)):
        return None
    edges = current_builder().apply(OPS["edges"], copied.inputs, {"width": width}, name=copied.outputs[0].name)
    return OPS["setitem"](edges, *node.inputs[1:], view=view)


def _all_but_edges(x: Value) -> Value:
    view, shape = View((1, 1), (0, 1)), x.type.shape
    sizes = [current_builder().dim_value(n - 2) for n in shape]
    at = [v for size in sizes for v in (1, size)]
    inside = OPS["getitem"](x, *at, view=view)
    return OPS["setitem"](OPS["copy"](x), OPS["mul"](inside, inside), *at, view=view)


def _reshape_of_reshape(fgraph: FunctionGraph, node: Apply) -> Any:
    inner = fgraph.definition(node.inputs[0], "reshape")
    return inner and OPS["reshape"](inner.inputs[0], *node.inputs[1:])


def _reshape_to_own_shape(fgraph: FunctionGraph, node: Apply) -> Any:
    return node.inputs[0] if node.inputs[0].type == node.outputs[0].type else None


def _cast_there_and_back(fgraph: FunctionGraph, node: Apply) -> Any:
    inner = fgraph.definition(node.inputs[0], "cast")
    if inner is None:
        return None
    x, wide, out = inner.inputs[0], inner.outputs[0].type.dtype, node.outputs[0].type
    return x if x.type.dtype == out.dtype and np.can_cast(x.type.dtype, wide, "safe") and x.type == out else None


def _stretched_twice(fgraph: FunctionGraph, node: Apply) -> Any:
    inner = fgraph.definition(node.inputs[0], "broadcast_to")
    return inner and OPS["broadcast_to"](inner.inputs[0], *node.inputs[1:])


def _stretched_before(fgraph: FunctionGraph, node: Apply) -> Any:
    """Of numbers that are the same along an axis, the result is the same there, and found once.

    Not of integers: those of an array wrap at 64 bits, where Python's own must not.
    """
    out = node.outputs[0].type
    if out.dtype.kind not in "fc":
        return None
    made = [fgraph.definition(v, "broadcast_to") for v in node.inputs]
    wide = next((m for m in made if m is not None and m.outputs[0].type.shape == out.shape), None)
    if wide is None:
        return None
    narrow = OPS[node.op.name](*(v if m is None else m.inputs[0] for m, v in zip(made, node.inputs, strict=True)))
    if narrow.type.dtype != out.dtype or not _is_narrower(narrow.type, out):
        return None
    return OPS["broadcast_to"](narrow, *wide.inputs[1:])


def _is_narrower(type: Any, out: Any) -> bool:
    shape = type.shape if isinstance(type, ArrayType) else ()
    return len(shape) < len(out.shape) or any(d == 1 and e != 1 for d, e in zip(shape, out.shape, strict=True))


def _twice(x: Value) -> Value:
    one, two = x.type.dtype.type(1), x.type.dtype.type(2)
    view = element(x.type.ndim)
    return OPS["setitem"](OPS["setitem"](x, one, 1, view=view), two, 1, view=view)


def _changed_twice(x: Value) -> Value:
    view = View((1, *(":",) * (x.type.ndim - 1)), tuple(range(x.type.ndim)))
    part = OPS["getitem"](x, 1, 2, view=view)
    first = OPS["setitem"](x, OPS["mul"](part, part), 1, 2, view=view)
    part = OPS["getitem"](first, 1, 2, view=view)
    return OPS["setitem"](first, OPS["mul"](part, part), 1, 2, view=view)


_T, _AT = transposed(2, (1, 0)), element(1)

RULES: tuple[Rule, ...] = (
    procedure(
        "view_of_view",
        "x.T[:, None].T",
        "one view",
        "exact",
        ["getitem"],
        _view_of_view,
        lambda x: OPS["getitem"](OPS["getitem"](x, view=View((":", ":"), (1, None, 0))), view=transposed(3, (2, 1, 0))),
        MATRIX,
        condition="transposes, new axes, and the one place in a new axis",
        any_dtype=True,
    ),
    procedure(
        "element_of_elementwise",
        "f(x)[i]",
        "f(x[i])",
        "exact",
        ["getitem"],
        _element_of_elementwise,
        lambda x: OPS["getitem"](OPS["exp"](x), 1, view=_AT),
        VECTOR,
        condition="nothing else of f(x) is read",
        any_dtype=True,
    ),
    procedure(
        "element_of_full",
        "full(c, n)[i]",
        "c",
        "exact",
        ["getitem"],
        _element_of_full,
        lambda x: OPS["getitem"](OPS["full"](x, 4), 1, view=_AT),
        [("f64",)],
        any_dtype=True,
    ),
    *(
        procedure(
            f"{name}_of_full",
            "np.full(n, c).reshape(m)",
            "np.full(m, c)",
            "exact",
            [name],
            _reshape_of_full,
            lambda x, name=name: OPS[name](OPS["full"](x, 4), 2, 2),
            [("f64",)],
            any_dtype=True,
        )
        for name in ("reshape", "reshape_view")
    ),
    procedure(
        "part_of_stored",
        "x[a:b] = v; x[a:b]",
        "v",
        "exact",
        ["getitem"],
        _part_of_stored,
        _changed_twice,
        VECTOR,
        condition="nothing else of x is read before the part is stored again",
        any_dtype=True,
    ),
    procedure(
        "store_of_store",
        "x[i] = u; x[i] = v",
        "x[i] = v",
        "exact",
        ["setitem"],
        _store_of_store,
        _twice,
        VECTOR,
        condition="x is not read between",
        any_dtype=True,
    ),
    procedure(
        "reshape_of_reshape",
        "reshape(reshape(x, s), t)",
        "reshape(x, t)",
        "exact",
        ["reshape"],
        _reshape_of_reshape,
        lambda x: OPS["reshape"](OPS["reshape"](x, 12), 4, 3),
        MATRIX,
        any_dtype=True,
    ),
    procedure(
        "reshape_to_own_shape",
        "reshape(x, x.shape)",
        "x",
        "exact",
        ["reshape"],
        _reshape_to_own_shape,
        lambda x: OPS["reshape"](x, 3, 4),
        MATRIX,
        any_dtype=True,
    ),
    procedure(
        "cast_there_and_back",
        "cast(cast(x, wider), own)",
        "x",
        "exact",
        ["cast"],
        _cast_there_and_back,
        lambda x: OPS["cast"](OPS["cast"](x, dtype=np.dtype("f8"), weak=False), dtype=np.dtype("f4"), weak=False),
        [("f32[4]",), ("f32",)],
        any_dtype=True,
    ),
    procedure(
        "stretched_twice",
        "broadcast_to(broadcast_to(x, s), t)",
        "broadcast_to(x, t)",
        "exact",
        ["broadcast_to"],
        _stretched_twice,
        lambda x: OPS["broadcast_to"](OPS["broadcast_to"](x, 3, 4), 2, 3, 4),
        VECTOR[:1],
        any_dtype=True,
    ),
    procedure(
        "stretched_before",
        "broadcast_to(x, s) / y, y of few elements",
        "broadcast_to(x / y, s)",
        "exact",
        ["add", "sub", "mul", "div"],
        _stretched_before,
        lambda x: OPS["broadcast_to"](x, 3, 4) / x,
        VECTOR[:1],
    ),
)
CHEAPER: tuple[Rule, ...] = (
    procedure(
        "store_over_all",
        "x = f(y); x[:] = g(y)",
        "x = g(y)",
        "exact",
        ["setitem"],
        _store_over_all,
        lambda x: OPS["setitem"](OPS["exp"](x), OPS["mul"](x, x), view=View((":",), (0,))),
        VECTOR,
        condition="f(y) is not read",
        any_dtype=True,
    ),
)
LAST: tuple[Rule, ...] = (
    procedure(
        "copied_where_not_stored",
        "y = x.copy(); y[1:-1] = v",
        "y = edges(x, 1); y[1:-1] = v",
        "exact",
        ["setitem"],
        _copied_where_not_stored,
        _all_but_edges,
        MATRIX,
        condition="nothing else of y is read before",
        any_dtype=True,
    ),
)
