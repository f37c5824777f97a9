"""Growing lists as values: users' lists, and the tapes on which a reverse sweep finds its values.

A list is changed by making another one; the code generator lets both be the same object. Indices are
counted from the front and in range: checks are nodes of their own. The adjoints are in
`srcgraph.opt.ad.lists`, since what is pushed in the forward sweep is popped in the reverse one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.dims import UNKNOWN
from srcgraph.ir.graph import Value
from srcgraph.ir.op import NoDerivative, define
from srcgraph.ir.types import PY_INT, ArrayType, ListType, ScalarType, Type, without_value

RESIZES = ("list_push", "list_pop", "list_insert", "list_take")
"""Ops that make a list longer or shorter."""
_MOVED = NoDerivative("a list of numbers is differentiated as a whole")


def _like_item(xs: ListType, *rest: Type) -> Type:
    return xs.item


def _own(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def _stored(xs: list, i: int, x: Any) -> list:
    return [*xs[:i], x, *xs[i + 1 :]]


def _item_of(x: Type) -> Any:
    return without_value(x)


def _repeated(n: ScalarType, x: ScalarType | ArrayType) -> ListType:
    if isinstance(x, ArrayType):
        return ListType(ArrayType(x.dtype, (UNKNOWN,) * x.ndim))
    return ListType(_item_of(x))


def _as_array(xs: list, n: int, *, dtype: np.dtype) -> np.ndarray:
    return np.array(xs, dtype)


list_new = define(
    name="list_new",
    doc="A list of the given items, all of one type.",
    infer=lambda *items, item: ListType(item),
    numpy=lambda *items, item: [_own(x) for x in items],
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)
list_full = define(
    name="list_full",
    doc="``[x] * n``.",
    infer=_repeated,
    numpy=lambda n, x: [x] * n,
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)
list_of = define(
    name="list_of",
    doc="The numbers of an array of one axis, as a list.",
    infer=lambda a, *, weak: ListType(ScalarType(a.dtype, weak)),
    numpy=lambda a, *, weak: a.tolist() if weak else list(a),
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)
list_push = define(
    name="list_push",
    doc="``xs`` with one more item at the end.",
    infer=lambda xs, x: xs,
    numpy=lambda xs, x: [*xs, _own(x)],
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)


def _just_pushed(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> tuple[Value, ...] | None:
    """What is taken back at once was not needed on the list."""
    node = builder.definition(inputs[0])
    if node is None or node.op is not list_push:
        return None
    xs, x = node.inputs
    item = xs.type.item
    kinds = [(t.dtype, isinstance(t, ScalarType) and t.weak) for t in (x.type, item)]
    if kinds[0] != kinds[1]:
        return None
    if isinstance(item, ArrayType):  # of the lengths that items have, whatever is known of this one
        x = builder.retype(x, [d if p == UNKNOWN else p for p, d in zip(item.shape, x.type.shape, strict=True)])
    return xs, x


list_pop = define(
    name="list_pop",
    doc="``xs`` without its last item, and that item.",
    infer=lambda xs: (xs, xs.item),
    numpy=lambda xs: (xs[:-1], xs[-1]),
    simplify=_just_pushed,
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)
list_insert = define(
    name="list_insert",
    doc="``xs`` with one more item before the one at an index, or at the end.",
    infer=lambda xs, i, x: xs,
    numpy=lambda xs, i, x: [*xs[:i], _own(x), *xs[i:]],
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)
list_take = define(
    name="list_take",
    doc="``xs`` without the item at an index in range, and that item.",
    infer=lambda xs, i: (xs, xs.item),
    numpy=lambda xs, i: ([*xs[:i], *xs[i + 1 :]], xs[i]),
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)
list_set = define(
    name="list_set",
    doc="``xs`` with another item at an index in range.",
    infer=lambda xs, i, x: xs,
    numpy=_stored,
    kind="list",
    fresh=True,
    vjp=_MOVED,
    through_complex=True,
)
list_copy = define(
    name="list_copy",
    doc="A list of its own with the same items.",
    infer=lambda xs: xs,
    numpy=lambda xs: [_own(x) for x in xs],
    kind="list",
    fresh=True,
    vjp=_MOVED,
    emit={"cpu": "copies(x)"},
    helpers="copies",
    through_complex=True,
)
list_get = define(
    name="list_get",
    doc="The item at an index in range.",
    infer=_like_item,
    numpy=lambda xs, i: xs[i],
    kind="list",
    vjp=_MOVED,
    through_complex=True,
)
list_len = define(
    name="list_len",
    doc="How many items a list has.",
    infer=lambda xs: PY_INT,
    numpy=len,
    kind="list",
    learn=lambda out, xs: [out.type.value],
)
list_array = define(
    name="list_array",
    doc="The numbers of a list of length ``n`` as an array.",
    infer=lambda xs, n, *, dtype: ArrayType(dtype, (n.value,)),
    numpy=_as_array,
    kind="structural",
    heavy=True,
    vjp=_MOVED,
    through_complex=True,
)
