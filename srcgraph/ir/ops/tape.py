"""Growing lists as values: users' lists, and the tapes on which a reverse sweep finds its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.op import NoDerivative, define
from srcgraph.ir.types import PY_INT, ListType, Type

_LATER = NoDerivative("derivatives through lists are not supported yet")


def _popped(xs: list) -> tuple[list, Any]:
    return xs[:-1], xs[-1]


def _like_item(xs: ListType, *rest: Type) -> Type:
    return xs.item


list_new = define(
    name="list_new",
    doc="An empty list of items of one type.",
    infer=lambda *, item: ListType(item),
    numpy=lambda *, item: [],
    kind="list",
    fresh=True,
)
list_push = define(
    name="list_push",
    doc="``xs`` with one more item at the end.",
    infer=lambda xs, x: xs,
    numpy=lambda xs, x: [*xs, x.copy() if isinstance(x, np.ndarray) else x],
    kind="list",
    vjp=_LATER,
    jvp=_LATER,
)
list_pop = define(
    name="list_pop",
    doc="``xs`` without its last item, and that item.",
    infer=lambda xs: (xs, xs.item),
    numpy=_popped,
    kind="list",
    vjp=_LATER,
    jvp=_LATER,
)
list_get = define(
    name="list_get",
    doc="The item at an index in range.",
    infer=_like_item,
    numpy=lambda xs, i: xs[i],
    kind="list",
    vjp=_LATER,
    jvp=_LATER,
)
list_len = define(
    name="list_len",
    doc="How many items a list has.",
    infer=lambda xs: PY_INT,
    numpy=len,
    kind="list",
)
