"""The values a loop carries for a shape: of which types, taken from an entity, and made an entity again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from srcgraph.frontend import contents, headers
from srcgraph.frontend.boxes import held, new_box
from srcgraph.frontend.choices import single, tag_among
from srcgraph.frontend.either import choice_of, is_array, operands_of, own_content
from srcgraph.frontend.entities import (
    ALREADY,
    STALE,
    Array,
    Cell,
    Choice,
    Either,
    Entity,
    Instance,
    Listing,
    Maybe,
    Record,
    Rows,
    Scalar,
    Tup,
    Unusable,
    parts_of,
    sources_of,
    with_parts,
)
from srcgraph.frontend.exchange import Exchanged, homes
from srcgraph.frontend.kinds import as_joined
from srcgraph.frontend.memory import chosen, new_array, read
from srcgraph.frontend.presence import FLAG, parted, told
from srcgraph.ir.dims import UNKNOWN, as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.types import BOOL, PY_BOOL, PY_INT, ArrayType, ScalarType, Type

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def leaf_types(shape: headers.Shape) -> list[tuple[str, Type]]:
    """Suffix and type of each value a shape carries."""
    match shape:
        case headers.Number(type=type) | headers.Buffer(type=type):
            return [("", type)]
        case headers.Part(count=count) | headers.RowAt(count=count):
            return [("_at", PY_INT)] * count
        case headers.Row(item=item):
            return [(s, _column_type(t)) for s, t in leaf_types(item)]
        case headers.OneOf():
            return [("_choice", PY_INT)]
        case Exchanged(type=type, cells=cells):
            return [("", type), *((f"_is_{cell.name or 'first'}", PY_BOOL) for cell in cells[:-1])]
        case headers.Chosen(type=type, options=options, own=own, stored=stored):
            tests = [(f"_is_{cell.name or 'first'}", PY_BOOL) for cell, _, _ in options][: shape.tests]
            operands = [("_at", PY_INT)] * sum(count for _, _, count in options)
            array = [("_own", headers.unsized(type))] if own and stored else [] if stored else [("", type)]
            return [*array, *tests, *operands]
        case headers.Several(items=items) | headers.Holding(items=items):
            return [(f"_{k}{s}", t) for k, item in enumerate(items) for s, t in leaf_types(item)]
        case headers.Fresh(content=content):
            return contents.leaf_types(content)
        case headers.Fields(names=names, items=items):
            return [(f"_{k}{s}", t) for k, item in zip(names, items, strict=True) for s, t in leaf_types(item)]
        case headers.NewObject(content=content):
            return leaf_types(content)
        case headers.Later(shape=inner, flagged=flagged, absent=absent):
            flag: list[tuple[str, Type]] = [(f"_{FLAG[absent]}", PY_BOOL)] if flagged else []
            return flag + leaf_types(inner)
    return []


def _column_type(type: Type) -> ArrayType:
    """The numbers of one kind in a list inside a list."""
    assert isinstance(type, ScalarType | ArrayType)
    return ArrayType(type.dtype, (UNKNOWN, *type.shape))


def leaf_values(low: Lowering, shape: headers.Shape, entity: Entity) -> list[Value]:
    """The values an entity gives to the leaves of ``shape``, converted, in the current state and region."""
    if entity == Unusable(ALREADY):  # a problem that is known: anything of the type will do
        return [low.arbitrary(t, UNKNOWN.symbols()) for _, t in leaf_types(shape)]
    match shape:
        case headers.Number(type=type):
            return [as_joined(low, low.value(entity), type)]
        case headers.Buffer():
            assert isinstance(entity, Array)
            return [read(low, entity)]
        case headers.Part():
            assert isinstance(entity, Array)
            return list(entity.operands)
        case headers.RowAt():
            assert isinstance(entity, Listing)
            return list(entity.at)
        case headers.Row(item=item):
            assert isinstance(entity, Listing | Tup)
            inner = contents.content(low, entity) if isinstance(entity, Listing) else entity
            return list(contents.as_rows(low, inner, item, growing=False).parts)
        case headers.OneOf(options=options):
            return [tag_among(low, entity, options)]
        case headers.Chosen():
            assert isinstance(entity, Array)
            return _chosen_values(low, shape, entity)
        case Exchanged(cells=cells):
            assert isinstance(entity, Array)
            home = homes(sources_of(entity) or entity)
            return [read(low, entity), *(low.value(is_array(low, home, (c, None, 0))) for c in cells[:-1])]
        case headers.Several(items=items):
            assert isinstance(entity, Tup)
            return [v for s, e in zip(items, entity.items, strict=True) for v in leaf_values(low, s, e)]
        case headers.Holding(items=items):
            function = single(entity)
            assert function is not None
            return [v for s, e in zip(items, parts_of(function), strict=True) for v in leaf_values(low, s, e)]
        case headers.Fresh(content=content):
            assert isinstance(entity, Listing)
            return contents.leaf_values(low, content, contents.content(low, entity), entity.cell.name)
        case headers.Fields(items=items):
            assert isinstance(entity, Record)
            return [v for s, e in zip(items, entity.items, strict=True) for v in leaf_values(low, s, e)]
        case headers.NewObject(content=content):
            assert isinstance(entity, Instance)
            return leaf_values(low, content, held(low, entity.box))
        case headers.Later():
            return _later_values(low, shape, entity)
    return []


def _chosen_values(low: Lowering, shape: headers.Chosen, ref: Array) -> list[Value]:
    """Content, or the array of its own; which of the alternatives it is; the operands of each."""
    choice = chosen(low, ref)
    if not shape.stored:
        arrays = [read(low, ref)]
    elif shape.own:
        arrays = [
            own_content(low, choice, shape.options) or low.arbitrary(headers.unsized(shape.type), UNKNOWN.symbols())
        ]
    else:
        arrays = []
    tests = [low.value(is_array(low, choice, option)) for option in shape.options[: shape.tests]]
    operands: list[Value] = []
    for option in shape.options:
        operands += operands_of(low, choice, option) or [low.builder.const(0)] * option[2]
    return [*arrays, *tests, *operands]


def _later_values(low: Lowering, shape: headers.Later, entity: Entity) -> list[Value]:
    bound, inner = parted(told(low, entity), shape.absent)
    flag = [low.builder.cast(low.value(bound), BOOL, True)] if shape.flagged else []
    if inner == shape.absent:
        return flag + [low.arbitrary(t, UNKNOWN.symbols()) for _, t in leaf_types(shape.shape)]
    return flag + leaf_values(low, shape.shape, inner)


def instantiate(low: Lowering, shape: headers.Shape, leaves: Iterator[Value], name: str) -> Entity:
    """The entity a shape stands for, from its leaves' values; arrays get cells of their own."""
    match shape:
        case headers.Same(entity=entity):
            return entity
        case headers.Number():
            return Scalar(next(leaves))
        case headers.Buffer():
            return new_array(low, next(leaves), name)
        case headers.RowAt(cell=cell, count=count):
            return Listing(cell, tuple(next(leaves) for _ in range(count)))
        case headers.Row(item=item):
            return contents.new_list(low, Rows(item, tuple(next(leaves) for _ in leaf_types(item))), name)
        case headers.Part(cell=cell, view=view, count=count):
            return Array(cell, view, tuple(next(leaves) for _ in range(count)))
        case headers.OneOf(options=options):
            return _option(low, next(leaves), options)
        case headers.Chosen():
            return _choice(low, shape, leaves, name)
        case Exchanged(cells=cells):
            ref = new_array(low, next(leaves), name)
            ref.cell.home = choice_of([next(leaves) for _ in cells[1:]], [Array(c) for c in cells])
            return ref
        case headers.Several(items=items, cls=cls):
            return Tup(tuple(instantiate(low, s, leaves, name) for s in items), cls)
        case headers.Holding(function=function, items=items):
            parts = [instantiate(low, s, leaves, f"{name}_{k}") for k, s in enumerate(items)]
            return with_parts(function, parts)
        case headers.Fresh(content=content):
            held = contents.instantiate(low, content, leaves, name)
            return held if isinstance(held, Unusable) else contents.new_list(low, held, name)
        case headers.Fields(cls=cls, names=names, items=items):
            pairs = zip(names, items, strict=True)
            return Record(cls, names, tuple(instantiate(low, s, leaves, f"{name}_{k}") for k, s in pairs))
        case headers.NewObject(cls=cls, content=content):
            return Instance(new_box(low, instantiate(low, content, leaves, name), name), cls)
        case headers.Later(shape=inner, flagged=flagged, absent=absent):
            if not flagged:
                return instantiate(low, inner, leaves, name)
            bound = Scalar(next(leaves))
            return Maybe(bound, instantiate(low, inner, leaves, name), absent)
        case headers.Broken(why=why, hint=hint):
            return Unusable(why, hint, low.loc)


def _option(low: Lowering, tag: Value, options: tuple[Entity, ...]) -> Choice:
    low.builder.learn(tag.type.value, as_dim(len(options) - 1) - tag.type.value)
    return Choice(tag, options)


def _choice(low: Lowering, shape: headers.Chosen, leaves: Iterator[Value], name: str) -> Array:
    held = next(leaves) if shape.own or not shape.stored else STALE
    tests = [next(leaves) for _ in range(shape.tests)]
    alternatives: list[Array | Either] = [
        Array(cell, view, tuple(next(leaves) for _ in range(count))) for cell, view, count in shape.options
    ]
    if shape.own:
        assert isinstance(held, Value)
        alternatives.append(new_array(low, held, name))
    choice = choice_of(tests, alternatives)
    if isinstance(choice, Array):
        return choice
    cell = Cell(name)
    cell.choose(choice)
    low.state.store[cell] = STALE if shape.stored else held
    return Array(cell)
