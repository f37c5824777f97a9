"""The results of all lanes of ``vmap``: how they are arranged, and the arrays they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.frontend import contents, objects
from srcgraph.frontend.boxes import new_box
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Instance, Listing, Record, Scalar, Tup, Unusable
from srcgraph.frontend.join import describe
from srcgraph.frontend.lane_axes import Axes, Fields
from srcgraph.frontend.memory import Dead, new_array, read, refuse
from srcgraph.frontend.template import Fixed, ListOf, NewBox, ObjectOf, Out, RecordOf, Template, TupleOf
from srcgraph.infer.signature import part_name
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import Type

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, eq=False, slots=True)
class Like:
    """How results are arranged, over arrays of all lanes' numbers; and the axis of the lanes in each of those."""

    template: Template
    axes: tuple[int, ...]


def made(
    low: Lowering, n: Value, out_axes: Axes, call: Callable[[Value], Entity]
) -> tuple[Like, list[Array]]:
    """New arrays for the results of ``n`` lanes, found by lowering ``call`` of one of them.

    Raises
    ------
    Refusal
        A result is neither a number, an array, nor a structure of these; or lengths differ from lane to lane.
    """
    b = low.builder
    region, k = b.for_region((b.const(0), n, b.const(1)), "k")

    def one() -> tuple[Template, list[int], list[Type]]:
        result = call(k)
        found = [(name, low.value(e)) for name, e in leaves(low, result)]
        axes = [_axis(low, a, v.type.ndim, name) for a, (name, v) in zip(
            _spread(low, out_axes, result, "the result"), found, strict=True)]
        return _template(low, result, iter(range(len(found)))), axes, [v.type for _, v in found]

    try:
        template, axes, types = low.inside(region, low.state.copy(), one)
    except Dead:
        return Like(Fixed(None), ()), []
    count, arrays = n.type.value, []
    for axis, kind in zip(axes, types, strict=True):
        shape = list(getattr(kind, "shape", ()))
        for d in shape:
            _need_known(low, d, region.born)
        shape.insert(axis, count)
        arrays.append(new_array(low, OPS["empty"](*map(b.dim_value, shape), dtype=kind.dtype), "out"))
    return Like(template, tuple(axes)), arrays


def _need_known(low: Lowering, size: Dim, born: set[str]) -> None:
    if not size.symbols().isdisjoint(born):
        raise refuse("vmap: the lanes may give arrays of different lengths", low.loc, kind=ShapeError)


def _axis(low: Lowering, axis: int, ndim: int, name: str) -> int:
    if not -ndim - 1 <= axis <= ndim:
        why = f"vmap: out_axes={axis} for {name}, which has {ndim + 1} axes with that of the lanes"
        raise refuse(why, low.loc, kind=ShapeError)
    return axis % (ndim + 1)


# -- structures ----------------------------------------------------------------------------------------


def leaves(low: Lowering, result: Entity, name: str = "the result") -> Iterator[tuple[str, Entity]]:
    """The numbers and arrays that a function returns, and what each is called in messages."""
    if isinstance(result, Unusable):
        raise low.unusable(result)
    if isinstance(result, Scalar | Array) or (isinstance(result, Const) and result.is_number):
        yield name, result
        return
    found = _parts(low, result, name)
    if found is None and result != NONE:
        hint = "return numbers and arrays, in tuples or dicts"
        raise refuse(f"vmap: {name} is {describe(result)}", low.loc, hint, kind=InferenceError)
    for inner, entity in found or ():
        yield from leaves(low, entity, inner)


def _parts(low: Lowering, entity: Entity, name: str) -> list[tuple[str, Entity]] | None:
    own = "result" if name == "the result" else name
    match entity:
        case Tup(items=items, cls=cls):
            return [(part_name(own, cls, k), e) for k, e in enumerate(items)]
        case Listing() if isinstance(held := contents.content(low, entity), Tup):
            return [(part_name(own, list, k), e) for k, e in enumerate(held.items)]
        case Instance(cls=cls):
            content = objects.fields(low, entity)
            return [(part_name(own, cls, k), e) for k, e in zip(content.names, content.items, strict=True)]
    return None


def _spread(low: Lowering, axes: Axes, result: Entity, name: str) -> Iterator[int]:
    """The axis of the lanes in each of the `leaves`."""
    parts = _parts(low, result, name)
    if parts is None:
        if not isinstance(axes, int):
            raise refuse(f"vmap: out_axes has several axes for {name}, which is one thing", low.loc, kind=InferenceError)
        if result != NONE:
            yield axes
        return
    given: Sequence[Any] = axes.items if isinstance(axes, Fields) else axes if isinstance(axes, tuple) else [axes] * len(parts)
    if len(given) != len(parts):
        why = f"vmap: out_axes has {len(given)} axes for {name}, which has {len(parts)} parts"
        raise refuse(why, low.loc, kind=InferenceError)
    for (inner, entity), a in zip(parts, given, strict=True):
        yield from _spread(low, a, entity, inner)


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
