"""A call's arguments as skeletons and values, and what it gave as entities of the caller's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srcgraph.frontend import arrays, contents, item_kinds, later, linking, watched
from srcgraph.frontend.boxes import held
from srcgraph.frontend.closures import function_key
from srcgraph.frontend.entities import (
    STALE,
    Array,
    Box,
    Cell,
    Choice,
    Closure,
    Const,
    Content,
    Either,
    Entity,
    Instance,
    Iteration,
    Later,
    Listing,
    Maybe,
    Method,
    Partial,
    Record,
    Rng,
    Rows,
    Scalar,
    SliceOf,
    Tup,
    Unbound,
    Unusable,
    may_be_memory_of,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import Dead, chosen, new_array, read, ref_type, refuse, select
from srcgraph.frontend.once import gone_over
from srcgraph.frontend.template import (
    ArgumentBox,
    ArgumentList,
    ArgumentView,
    EitherOf,
    Fixed,
    FunctionOf,
    Gone,
    ListOf,
    MaybeOf,
    Never,
    NewArray,
    NewBox,
    ObjectOf,
    OneOf,
    Out,
    Rebound,
    RecordOf,
    ReshapeOf,
    RngOf,
    RowsOf,
    Template,
    TupleOf,
    Unchanged,
)
from srcgraph.infer.signature import (
    RNG,
    ArrayArg,
    BoxArg,
    ChoiceArg,
    FunctionArg,
    ItemsArg,
    IterationArg,
    MaybeArg,
    ObjectArg,
    RecordArg,
    RowsArg,
    ScalarArg,
    Size,
    Sizes,
    Skeleton,
    StaticArg,
    TupleArg,
    ViewArg,
)
from srcgraph.ir.dims import Dim, as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.types import FLOAT, ScalarType
from srcgraph.ir.view import View, split_operands

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(slots=True)
class Arguments:
    """Turns a call's entities into skeletons and the values to pass."""

    low: Lowering
    through: frozenset[Cell] = frozenset()
    """The arrays whose views the function stores into: it is given the array, so that every store is one into that."""
    values: list[Value] = field(default_factory=list)
    refs: list[Array | None] = field(default_factory=list)
    sizes: Sizes = field(default_factory=Sizes)
    names: dict[Dim, str] = field(default_factory=dict)
    known: list[Array] = field(default_factory=list)
    lists: list[Listing] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    """The boxes, in the order of the callee's."""
    cells: dict[Box, int] = field(default_factory=dict)
    """The number of each box met so far."""
    around: list[Box] = field(default_factory=list)
    """The boxes that hold what is being described."""

    later: list[watched.Slot] = field(default_factory=list)
    """Lists and dicts whose items are passed that would be read later: these must not change meanwhile."""
    apart: bool = False
    """Whether what is passed twice counts as two, and literal floats as numbers of run time: all may move."""

    def skeleton(self, entity: Entity) -> Skeleton:
        match entity:
            case Const(value=float(value)) if self.apart:
                self.add(self.low.builder.const(value), None)
                return ScalarArg(FLOAT, weak=True)
            case Const(value=value):
                return StaticArg(value)
            case Scalar(value=value):
                assert isinstance(value.type, ScalarType)
                self.add(value, None)
                known = value.type.value if self.low.session.differences else None
                if known is None or known.const is not None:
                    return ScalarArg(value.type.dtype, value.type.weak)
                positive = self.low.builder.proves(known - 1)
                return ScalarArg(value.type.dtype, value.type.weak, self.near(known), positive)
            case Rng(value=value):
                self.add(value, None)
                return RNG
            case Array():
                return self.array(entity)
            case Tup(items=items, cls=cls, sources=sources):
                later.check_sizes(self.low, entity)
                self.later += watched.slots(self.low, [source for source, _ in sources])
                return TupleArg(tuple(map(self.skeleton, items)), cls)
            case Record(cls=cls, names=names, items=items):
                return RecordArg(cls, names, tuple(map(self.inside, items)))
            case Instance(box=box, cls=cls):
                return ObjectArg(cls, *self.object(box))
            case Closure() | Partial() | Method():
                key, parts = function_key(entity)
                return FunctionArg(key, tuple(self.box(p) if isinstance(p, Box) else self.skeleton(p) for p in parts))
            case Choice(tag=tag, options=options):
                self.add(tag, None)
                return ChoiceArg(tuple(map(self.skeleton, options)))
            case Listing():
                return self.list(entity)
            case Later(source=source):
                self.later += watched.slots(self.low, [source])
                return self.skeleton(later.arrived(self.low, entity))
            case Iteration(kind=kind, parts=parts):
                return IterationArg(kind, tuple(map(self.skeleton, parts)))
            case Maybe(bound=bound, entity=inner, absent=absent):
                return MaybeArg(self.skeleton(bound), self.skeleton(inner), absent)
            case Unusable():
                raise self.low.unusable(entity)
        raise refuse(f"{describe(entity)} cannot be passed to a function", self.low.loc)

    def inside(self, entity: Entity) -> Skeleton:
        """What a box holds: what cannot be passed is refused only where it is read."""
        match entity:
            case Unbound() | Unusable():
                return StaticArg(entity)
            case Maybe(bound=bound, entity=inner, absent=absent):
                return MaybeArg(self.skeleton(bound), self.inside(inner), absent)
            case Array() | Listing() if isinstance(held := self.low.state.store[entity.cell], Unusable) and (
                held is not STALE
            ):
                return StaticArg(held)
            case SliceOf():
                return StaticArg(Unusable(f"{describe(entity)} cannot be passed to a function"))
        return self.skeleton(entity)

    def box(self, box: Box) -> BoxArg:
        """A box and what it holds; one met before by its number alone."""
        if box in self.cells:
            return BoxArg(self.cells[box], None)
        self.cells[box] = len(self.boxes)
        return self.new_box(box)

    def object(self, box: Box) -> tuple[BoxArg, int | None]:
        """The box of an object; where one passed twice counts as two, one of its own, and that of the first."""
        if not self.apart or box not in self.cells:
            return self.box(box), None
        if box in self.around:
            raise refuse("the gradient of something that contains itself is not supported", self.low.loc)
        return self.new_box(box), self.cells[box]

    def new_box(self, box: Box) -> BoxArg:
        number = len(self.boxes)
        self.boxes.append(box)
        self.around.append(box)
        content = self.inside(held(self.low, box))
        self.around.pop()
        return BoxArg(number, content)

    def add(self, value: Value, ref: Array | None) -> None:
        self.values.append(value)
        self.refs.append(ref)

    def array(self, ref: Array) -> ArrayArg | ViewArg:
        if ref.view is not None and ref.cell in self.through:
            base = self.whole(Array(ref.cell))
            return ViewArg(base, ref.view, tuple(self.operands(ref.view, ref.operands)))
        return self.whole(ref)

    def operands(self, view: View, operands: Sequence[Value]) -> Iterator[int | str]:
        """What a view needs; lengths known when compiling are not passed."""
        for own in split_operands(view, operands):
            for k, operand in enumerate(own):
                known = operand.type.value
                if k == 1 and known is not None and known.const is not None:
                    yield known.const
                    continue
                self.add(operand, None)
                yield self.sizes.new() if known is None else self.size(known)

    def whole(self, ref: Array) -> ArrayArg:
        type = ref_type(self.low, ref)
        if ref not in self.known or self.apart:
            self.known.append(ref)
        self.add(read(self.low, ref), ref)
        shape = tuple(d.const if d.const is not None else self.length(d) for d in type.shape)
        return ArrayArg(type.dtype, shape, len(self.known) - 1 if self.apart else self.known.index(ref))

    def list(self, entity: Listing) -> Skeleton:
        met = self.lists.index(entity) if entity in self.lists else None
        twin = met if self.apart else None
        cell = len(self.lists) if met is None or self.apart else met
        if cell == len(self.lists):
            self.lists.append(entity)
        held = contents.content(self.low, entity)
        if isinstance(held, Tup):
            return ItemsArg(tuple(map(self.skeleton, held.items)), cell, twin)
        for part in held.parts:
            self.add(part, None)
        dim = contents.size_of(held)
        size = "" if contents.is_growing(held) else dim.const if dim.const is not None else self.size(dim)
        item = item_kinds.kind_as_skeleton(held.item)
        return RowsArg(self.sized(item, held.parts[0].type.shape[1:]) if size != "" else item, size, cell, twin)

    def sized(self, item: Skeleton, shape: Sequence[Dim]) -> Skeleton:
        """The kind of an item, the lengths of lists in it named."""
        if not isinstance(item, RowsArg):
            return item
        size = shape[0].const if shape[0].const is not None else self.size(shape[0])
        return RowsArg(self.sized(item.item, shape[1:]), size, -1)

    def length(self, dim: Dim) -> Size:
        """The name of an axis' length, or that of another one, and how much longer it is."""
        near = self.low.session.differences and self.low.builder.not_one(dim)
        return self.near(dim) if near else self.size(dim)

    def near(self, dim: Dim) -> str | tuple[str, int]:
        """The name of a length or an integer, or that of another one, and how much larger it is."""
        for known, name in self.names.items() if dim not in self.names else ():
            difference = (dim - known).const
            if difference is not None:
                return name, difference
        return self.size(dim)

    def size(self, dim: Dim) -> str:
        if dim not in self.names:
            self.names[dim] = self.sizes.new()
        return self.names[dim]

    def maybe_one(self) -> frozenset[str]:
        """The sizes that may turn out to be 1, so that axes of that length are stretched."""
        return frozenset(name for dim, name in self.names.items() if not self.low.builder.not_one(dim))


@dataclass(slots=True)
class Made:
    """Entities from templates over a call's outputs."""

    low: Lowering
    outs: Sequence[Value]
    given: Arguments
    cells: dict[int, Array] = field(default_factory=dict)
    lists: dict[int, Listing] = field(default_factory=dict)
    boxes: dict[int, Box] = field(default_factory=dict)

    def entity(self, template: Template) -> Entity:
        match template:
            case Out(index=k):
                return Scalar(self.outs[k])
            case RngOf(index=k):
                return Rng(self.outs[k])
            case Fixed(value=Unusable() | Unbound() as failed):  # the problem is reported where it is
                return failed
            case Fixed(value=value):
                return Const(value)
            case TupleOf(items=items, cls=cls):
                return Tup(tuple(map(self.entity, items)), cls)
            case RecordOf(cls=cls, names=names, items=items):
                return Record(cls, names, tuple(map(self.entity, items)))
            case ObjectOf(cls=cls, box=box):
                return Instance(self.box(box), cls)
            case MaybeOf(bound=bound, inner=inner, absent=absent):
                return Maybe(self.entity(bound), self.entity(inner), absent)
            case Never():
                raise Dead
            case OneOf(tag=k, options=options):
                tag = self.outs[k]
                self.low.builder.learn(tag.type.value, as_dim(len(options) - 1) - tag.type.value)
                return Choice(tag, tuple(map(self.entity, options)))
            case FunctionOf(key=key, parts=parts):
                return key.rebuilt(
                    [self.box(t) if isinstance(t, NewBox | ArgumentBox) else self.entity(t) for t in parts]
                )
            case NewArray() | ArgumentView():
                return self.array(template)
            case ReshapeOf(array=array, dims=dims, ravel=ravel, view=view, operands=operands):
                base = self.entity(array)
                assert isinstance(base, Array)
                made = arrays.reshaped(self.low, base, [self.outs[d] for d in dims], ravel, seen=True)
                return made if view is None else select(self.low, made, view, [self.outs[o] for o in operands])
            case EitherOf(test=test, then=then, orelse=orelse):
                return self.either(self.outs[test], [self.entity(then), self.entity(orelse)])
            case ListOf():
                return self.list(template)
            case ArgumentList(position=position):
                return self.given.lists[position]
        raise TypeError(template)

    def list(self, template: ListOf) -> Listing:
        """A new list, or the one that was met before."""
        if template.cell not in self.lists:
            made = self.lists[template.cell] = contents.new_list(self.low, self.content(template.content))
            self.link(made)
            for position in template.maybe:
                may_be_memory_of(made.cell, self.given.lists[position].cell)
        return self.lists[template.cell]

    def link(self, made: Listing) -> None:
        """A list of arrays may hold any of the arguments, or of their items."""
        for ref in filter(None, self.given.refs):
            linking.link(self.low, made.cell, ref)
        if contents.must_grow_if_rows(self.low.state.store.get(made.cell)):
            for given in self.given.lists:
                linking.link_lists(given.cell, made.cell)

    def content(self, template: TupleOf | RowsOf) -> Content:
        """What a list holds."""
        if isinstance(template, RowsOf):
            return Rows(item_kinds.kind_of_skeleton(template.item), tuple(self.outs[k] for k in template.parts))
        return Tup(tuple(map(self.entity, template.items)), list)

    def part(self, template: Template | NewBox | ArgumentBox) -> Entity | Box:
        return self.box(template) if isinstance(template, NewBox | ArgumentBox) else self.entity(template)

    def changed(self, rebound: Rebound) -> Entity:
        """What a box holds after the call."""
        content, before = rebound.content, held(self.low, self.given.boxes[rebound.position])
        if isinstance(content, Gone):
            return gone_over(content.name)
        if not isinstance(content, RecordOf):
            return self.entity(content)
        assert isinstance(before, Record)
        known = dict(zip(before.names, before.items, strict=True))
        pairs = zip(content.names, content.items, strict=True)
        items = [known[n] if isinstance(t, Unchanged) else self.entity(t) for n, t in pairs]
        return Record(content.cls, content.names, tuple(items))

    def array(self, template: NewArray | ArgumentView) -> Array:
        low, operands = self.low, [self.outs[o] for o in template.operands]
        if isinstance(template, ArgumentView):
            ref = self.given.refs[template.param]
            assert ref is not None
            return ref if template.view is None else select(low, ref, template.view, operands)
        k = template.index
        if k not in self.cells:
            made = self.cells[k] = new_array(low, self.outs[k])
            made.cell.name = "" if made.cell.name.startswith("_") else made.cell.name
            for given in self.given.lists:
                linking.link_item(low, given.cell, self.cells[k])
            for ref in (self.given.refs[position] for position in template.maybe):
                assert ref is not None
                may_be_memory_of(self.cells[k].cell, ref.cell)
        for other in template.beside:
            if other in self.cells:
                may_be_memory_of(self.cells[k].cell, self.cells[other].cell)
        return self.cells[k] if template.view is None else select(low, self.cells[k], template.view, operands)

    def box(self, template: NewBox | ArgumentBox) -> Box:
        if isinstance(template, ArgumentBox):
            return self.given.boxes[template.position]
        if template.number not in self.boxes:
            assert template.content is not None
            box = self.boxes[template.number] = Box(template.name)
            self.low.state.names[box] = self.entity(template.content)
        return self.boxes[template.number]

    def either(self, test: Value, sides: Sequence[Entity]) -> Array:
        """A reference to one of two arrays, chosen at run time."""
        options = [chosen(self.low, ref) for ref in sides if isinstance(ref, Array)]
        cell = Cell("")
        cell.choose(Either(test, *options))
        self.low.state.store[cell] = STALE
        return Array(cell)
