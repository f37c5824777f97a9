"""The results of all lanes of ``vmap``: how they are arranged, and the arrays they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.frontend import contents, lane_axes, objects, structures
from srcgraph.frontend.boxes import new_box
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Instance, Listing, Record, Scalar, Tup, Unusable
from srcgraph.frontend.guarding import aside
from srcgraph.frontend.join import describe
from srcgraph.frontend.lane_axes import Axes
from srcgraph.frontend.memory import Dead, new_array, refuse
from srcgraph.frontend.template import Fixed, ListOf, NewBox, ObjectOf, Out, RecordOf, Template, TupleOf
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ArrayType, ScalarType, Type

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, eq=False, slots=True)
class Like:
    """How results are arranged, over the arrays that hold those of all lanes.

    Attributes
    ----------
    template : Template
    axes : tuple of int
        The axis of the lanes in each array.
    types : tuple of Type
        What a lane gives for each.
    """

    template: Template
    axes: tuple[int, ...]
    types: tuple[Type, ...]


NOTHING = Like(Fixed(None), (), ())


def known_before(low: Lowering, n: Value, out_axes: Axes, call: Callable[[Value], Entity]) -> Like | None:
    """What ``n`` lanes give, found by lowering ``call`` for one of them; None where its lengths are known only then.

    Raises
    ------
    Refusal
        A result is neither a number, an array, nor a structure of these.
    """
    b = low.builder
    region, k = b.for_region((b.const(0), n, b.const(1)), "k")
    try:
        with aside(low):
            like = low.inside(region, low.state.copy(), lambda: like_of(low, out_axes, call(k)))
    except Dead:  # it raises, whatever the lane
        return NOTHING
    sizes = [d for kind in like.types if isinstance(kind, ArrayType) for d in kind.shape]
    return like if all(d.symbols().isdisjoint(region.born) for d in sizes) else None


def like_of(low: Lowering, out_axes: Axes, result: Entity) -> Like:
    """What one lane gives, as `Like`."""
    found = [(name, low.value(e)) for name, e in leaves(low, result)]
    given = _spread(low, out_axes, result, RESULT)
    axes = [_axis(low, a, v.type.ndim, name) for a, (name, v) in zip(given, found, strict=True)]
    template = _template(low, result, iter(range(len(found))))
    return Like(template, tuple(axes), tuple(v.type for _, v in found))


def new_arrays(low: Lowering, like: Like, n: Value) -> list[Entity]:
    """Arrays for the results of ``n`` lanes."""
    made: list[Entity] = []
    for axis, kind in zip(like.axes, like.types, strict=True):
        assert isinstance(kind, ArrayType | ScalarType)
        shape = [low.builder.dim_value(d) for d in (kind.shape if isinstance(kind, ArrayType) else ())]
        shape.insert(axis, n)
        made.append(new_array(low, OPS["empty"](*shape, dtype=kind.dtype), "out"))
    return made


def fitted(low: Lowering, value: Value, kind: Type) -> Value:
    """A lane's result, checked to have the lengths of the first one's."""
    if not isinstance(kind, ArrayType):
        return value
    message = "vmap: lanes give arrays of different lengths: {y}, then {x}"
    b, shape = low.builder, kind.shape
    for own, first in zip(value.type.shape, shape, strict=True):
        b.call_named("equal_size", b.dim_value(own), b.dim_value(first), error="ValueError", message=message)
    return b.retype(value, shape)


def _axis(low: Lowering, axis: int, ndim: int, name: str) -> int:
    if not -ndim - 1 <= axis <= ndim:
        has = "1 axis" if ndim == 0 else f"{ndim + 1} axes"
        why = f"vmap: there is no axis {axis} for out_axes: with that of the lanes, {name} has {has}"
        raise refuse(why, low.loc, kind=ShapeError)
    return axis % (ndim + 1)


# -- structures ----------------------------------------------------------------------------------------

RESULT = "result"


def leaves(low: Lowering, result: Entity, name: str = RESULT) -> Iterator[tuple[str, Entity]]:
    """The numbers and arrays that a function returns, and what each is called in messages."""
    if isinstance(result, Unusable):
        raise low.unusable(result)
    if isinstance(result, Scalar | Array) or (isinstance(result, Const) and result.is_number):
        yield name, result
        return
    found = structures.parts(low, result, name)
    if found is None and result != NONE:
        hint = "return numbers and arrays, alone or in tuples, lists, dicts or objects"
        if isinstance(result, Listing):
            hint = "make an array of it: np.array(...)"
        raise refuse(f"vmap: the function's {name} is {describe(result)}", low.loc, hint, kind=InferenceError)
    for inner, entity in found or ():
        yield from leaves(low, entity, inner)


def _spread(low: Lowering, axes: Axes, result: Entity, name: str) -> Iterator[int]:
    """The axis of the lanes in each of the `leaves`."""
    parts = structures.parts(low, result, name)
    if parts is not None:
        given = lane_axes.of_parts(low, axes, parts, name, "out_axes")
        for (inner, entity), a in zip(parts, given, strict=True):
            yield from _spread(low, a, entity, inner)
    elif not isinstance(axes, int):
        why = f"vmap: out_axes has several entries for the function's {name}, which is {describe(result)}"
        raise refuse(why, low.loc, kind=InferenceError)
    elif result != NONE:
        yield axes


def _template(low: Lowering, result: Entity, numbers: Iterator[int]) -> Template:
    """The structure of what a function returns, over the numbers of its `leaves`."""
    match result:
        case Tup(items=items, cls=cls):
            return TupleOf(tuple(_template(low, e, numbers) for e in items), cls)
        case Listing() if isinstance(held := contents.content(low, result), Tup):
            return ListOf(TupleOf(tuple(_template(low, e, numbers) for e in held.items), list), 0)
        case Instance(cls=cls, box=box):
            content = objects.fields(low, result)
            items = tuple(_template(low, e, numbers) for e in content.items)
            return ObjectOf(cls, NewBox(0, box.name, RecordOf(content.cls, content.names, items)))
        case Const(value=None):
            return Fixed(None)
    return Out(next(numbers))


def arranged(low: Lowering, template: Template, arrays: Sequence[Entity]) -> Entity:
    """What all lanes return."""
    match template:
        case Out(index=k):
            return arrays[k]
        case TupleOf(items=items, cls=cls):
            return Tup(tuple(arranged(low, t, arrays) for t in items), cls)
        case ListOf(content=TupleOf(items=items)):
            return contents.new_list(low, Tup(tuple(arranged(low, t, arrays) for t in items), list))
        case ObjectOf(cls=cls, box=NewBox(name=name, content=RecordOf(names=names, items=items))):
            record = Record(cls, names, tuple(arranged(low, t, arrays) for t in items))
            return Instance(new_box(low, record, name), cls)
    return NONE
