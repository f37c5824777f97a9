"""What NumPy sees of a list: its items, or an array of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.frontend import arrays, contents, headers, item_kinds, library, lists
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Listing, Rows, Tup
from srcgraph.frontend.memory import new_array, read, refuse

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def plain(low: Lowering, entity: Entity) -> Entity:
    """What NumPy sees of a list: its items, or an array of them."""
    if isinstance(entity, Tup):
        return Tup(tuple(plain(low, e) for e in entity.items), entity.cls)
    if not isinstance(entity, Listing):
        return entity
    held = contents.content(low, entity)
    if isinstance(held, Tup):
        return plain(low, held)
    if contents.axes_of_items(low, entity):
        return lists.own(low, library.stacked, entity)
    return table(low, held)


def operand(low: Lowering, entity: Entity) -> Entity:
    """What NumPy takes for an array where it needs one: a list or tuple counts as one of its items."""
    found = plain(low, entity)
    return arrays.as_array(low, found) if isinstance(found, Tup) else found


def joined_arrays(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity | None:
    """`numpy.concatenate` and its like, of a list of arrays at run time that may differ along the axis."""
    xs, ndim = (args[0], contents.axes_of_items(low, args[0])) if args else (NONE, 0)
    if not ndim or kwargs.keys() - {"axis"} or len(args) + len(kwargs) > 2:
        return None
    lists.own(low, library.check_some, xs, Const("stack" if function is np.stack else "concatenate"))
    asked = args[1] if len(args) == 2 else kwargs.get("axis", Const(0))
    given = asked.value if isinstance(asked, Const) and isinstance(asked.value, int) else None
    axis = given if function is np.concatenate else _JOINS[function](ndim)
    if axis is None or not -ndim <= axis < ndim:
        return None
    return lists.own(low, library.joined, xs, Const(axis % ndim))


_JOINS: dict[Any, Callable[[int], int | None]] = {
    np.concatenate: lambda ndim: None,
    np.stack: lambda ndim: None,
    np.hstack: lambda ndim: min(ndim - 1, 1),
    np.vstack: lambda ndim: 0 if ndim > 1 else None,
    np.column_stack: lambda ndim: 1 if ndim > 1 else None,
    np.dstack: lambda ndim: 2 if ndim > 2 else None,
}
"""Along which axis arrays of so many are joined; None where all axes are of one length."""
JOINS = frozenset(_JOINS)


def table(low: Lowering, held: Rows) -> Array:
    """A new array of the numbers of a list: a row for each item that is a tuple."""
    b = low.builder
    if isinstance(held.item, headers.Row) and len(held.parts) == 1:
        return new_array(low, held.parts[0])
    if item_kinds.must_grow(held.item):
        why = "a list of tuples with arrays in them, of a length known at run time only, cannot be made an array"
        raise refuse(why, low.loc, "use a list for each part of the tuples")
    parts = [contents.part_array(low, p) for p in held.parts]
    if isinstance(held.item, headers.Number):
        return new_array(low, parts[0])
    size = contents.length(low, held)
    columns = Tup(tuple(new_array(low, b.retype(p, (size.type.value,))) for p in parts))
    return new_array(low, read(low, arrays.transpose(low, arrays.array_from(low, columns, None))))
