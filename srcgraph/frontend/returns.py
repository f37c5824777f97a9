"""What a call returns: described over the outputs of its graph, and made again at the caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srcgraph.errors import InferenceError, InternalError
from srcgraph.frontend import contents
from srcgraph.frontend.closures import function_key
from srcgraph.frontend.entities import (
    ALREADY,
    STALE,
    Array,
    Cell,
    Choice,
    Closure,
    Const,
    Content,
    Either,
    Entity,
    Listing,
    Maybe,
    Method,
    Partial,
    Rows,
    Scalar,
    Tup,
    Unusable,
    cells_of,
    may_share,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import Dead, Refusal, chosen, content, new_array, read, refuse, select
from srcgraph.frontend.template import (
    ArgumentList,
    ArgumentView,
    EitherOf,
    Fixed,
    FunctionOf,
    ListOf,
    Never,
    NewArray,
    OneOf,
    Out,
    RowsOf,
    Template,
    TupleOf,
)
from srcgraph.ir.dims import as_dim
from srcgraph.ir.graph import Value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(slots=True)
class Describing:
    """Describes what is returned over the outputs, appending to them.

    ``apart`` gives an array made on some paths only an output of its own; otherwise the output of
    the array chosen at run time stands for it, if nothing else returned refers to it.
    """

    low: Lowering
    outputs: list[Value]
    apart: bool
    cells: dict[Cell, int] = field(default_factory=dict)
    numbers: dict[Cell, int] = field(default_factory=dict)
    seen: Counter[Cell] = field(default_factory=Counter)

    def output(self, value: Value) -> int:
        for k, known in enumerate(self.outputs):
            if known is value:
                return k
        self.outputs.append(value)
        return len(self.outputs) - 1

    def whole(self, entity: Entity) -> Template:
        self.seen.update(cells_of(entity))
        try:
            return self.part(entity)
        except Refusal as refusal:
            self.low.report(refusal.problem)
            return Fixed(None)

    def whole_list(self, held: Content) -> Template:
        """Describe what a list holds."""
        try:
            return self.held(held)
        except Refusal as refusal:
            self.low.report(refusal.problem)
            return Fixed(None)

    def held(self, content: Content) -> TupleOf | RowsOf:
        if isinstance(content, Tup):
            return TupleOf(tuple(map(self.part, content.items)), list)
        low = self.low
        parts = content.parts if low.called else tuple(contents.part_array(low, p) for p in content.parts)
        return RowsOf(contents.kind_as_skeleton(content.item), tuple(map(self.output, parts)))

    def part(self, e: Entity) -> Template:
        low = self.low
        match e:
            case Const(value=value) if not e.is_number:
                return Fixed(value)
            case Const() | Scalar():
                return Out(self.output(low.value(e)))
            case Tup(items=items, cls=cls):
                return TupleOf(tuple(map(self.part, items)), cls)
            case Closure() | Partial() | Method():
                key, parts = function_key(low, e)
                return FunctionOf(key, tuple(map(self.part, parts)))
            case Choice(tag=tag, options=options):
                return OneOf(self.output(tag), tuple(map(self.part, options)))
            case Listing(cell=cell):
                known = [c for c, _ in low.param_lists.values()]
                if cell in known:
                    return ArgumentList(known.index(cell))
                return ListOf(self.held(contents.content(low, e)), self.numbers.setdefault(cell, len(self.numbers)))
            case Array(cell=cell) if cell.choice is not None:
                return self.choice(chosen(low, e), None if e.view or self.apart else cell)
            case Array():
                return self.array(e)
            case Unusable(why=why):
                if why != ALREADY:
                    low.report(low.unusable(e).problem)
                return Fixed(Unusable(ALREADY))
        if isinstance(e, Maybe):
            why = "the function returns something on some paths and nothing on others"
            raise refuse(why, low.loc, "end it with a return", kind=InferenceError)
        raise refuse(f"returning {describe(e)} is not supported", low.loc, kind=InferenceError)

    def array(self, ref: Array) -> Template:
        param = _param_of(self.low, ref.cell)
        if param is not None:
            return ArgumentView(param, ref.view, tuple(map(self.output, ref.operands)))
        if ref.cell not in self.cells:
            self.outputs.append(read(self.low, Array(ref.cell)))
            self.cells[ref.cell] = len(self.outputs) - 1
        maybe = tuple(k for k, (_, c) in enumerate(self.low.params) if c in ref.cell.shares)
        return NewArray(self.cells[ref.cell], ref.view, tuple(map(self.output, ref.operands)), maybe)

    def choice(self, choice: Array | Either, cell: Cell | None) -> Template:
        if isinstance(choice, Either):
            sides = self.choice(choice.then, cell), self.choice(choice.orelse, cell)
            return EitherOf(self.output(choice.test), *sides)
        if cell is None or choice.view or self.seen[choice.cell] > 1 or _param_of(self.low, choice.cell) is not None:
            return self.array(choice)
        return NewArray(self.output(content(self.low, cell)))


def _param_of(low: Lowering, cell: Cell) -> int | None:
    return next((k for k, (_, c) in enumerate(low.params) if c is cell), None)


@dataclass(slots=True)
class Returned:
    """Makes what a call returned from its outputs, the arrays and the lists passed to it."""

    low: Lowering
    outs: Sequence[Value]
    refs: Sequence[Array | None]
    lists: Sequence[Listing]
    cells: dict[int, Array] = field(default_factory=dict)

    def made(self, template: Template) -> Entity:
        low, outs = self.low, self.outs
        match template:
            case Out(index=k):
                return Scalar(outs[k])
            case Fixed(value=Unusable() as failed):  # the problem is reported where it is
                return failed
            case Fixed(value=value):
                return Const(value)
            case TupleOf(items=items, cls=cls):
                return Tup(tuple(map(self.made, items)), cls)
            case Never():
                raise Dead
            case FunctionOf(key=key, parts=parts):
                return key.rebuilt(list(map(self.made, parts)))
            case OneOf(tag=k, options=options):
                low.builder.learn(outs[k].type.value, as_dim(len(options) - 1) - outs[k].type.value)
                return Choice(outs[k], tuple(map(self.made, options)))
            case ListOf(content=content):
                return contents.new_list(low, self.content(content))
            case ArgumentList(position=position):
                return self.lists[position]
            case RowsOf():
                raise InternalError("what a list holds is not a value")
            case EitherOf(test=test, then=then, orelse=orelse):
                return self.either(outs[test], [self.made(then), self.made(orelse)])
            case NewArray(index=k, maybe=maybe):
                return self.viewed(self.new_array(k, maybe), template)
            case ArgumentView(param=param):
                ref = self.refs[param]
                assert ref is not None
                return self.viewed(ref, template)

    def content(self, template: TupleOf | RowsOf) -> Content:
        """What a list holds after the call."""
        if isinstance(template, RowsOf):
            return Rows(contents.kind_of_skeleton(template.item), tuple(self.outs[k] for k in template.parts))
        return Tup(tuple(map(self.made, template.items)), list)

    def new_array(self, k: int, maybe: Sequence[int]) -> Array:
        if k not in self.cells:
            self.cells[k] = new_array(self.low, self.outs[k])
            for ref in (self.refs[position] for position in maybe):
                assert ref is not None
                for cell in (ref.cell, *ref.cell.shares):
                    may_share(self.cells[k].cell, cell)
        return self.cells[k]

    def viewed(self, ref: Array, template: NewArray | ArgumentView) -> Array:
        if template.view is None:
            return ref
        return select(self.low, ref, template.view, [self.outs[k] for k in template.operands])

    def either(self, test: Value, sides: Sequence[Entity]) -> Array:
        """A reference to one of two arrays, chosen at run time."""
        options = [chosen(self.low, ref) for ref in sides if isinstance(ref, Array)]
        cell = Cell("")
        cell.choose(Either(test, *options))
        self.low.state.store[cell] = STALE
        return Array(cell)
