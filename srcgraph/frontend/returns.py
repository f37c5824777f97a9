"""What a function returns and changes, described over the outputs of its graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from srcgraph.errors import InferenceError
from srcgraph.frontend import contents, item_kinds
from srcgraph.frontend.boxes import held
from srcgraph.frontend.closures import function_key
from srcgraph.frontend.entities import (
    ALREADY,
    NONE,
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
    Listing,
    Maybe,
    Method,
    Partial,
    Record,
    Reshaped,
    Rng,
    Rows,
    Scalar,
    Tup,
    Unbound,
    Unusable,
    arrays_of,
    cells_of,
    memories,
    memory_of,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import Refusal, chosen, content, read, ref_type, refuse
from srcgraph.frontend.once import GoneOver
from srcgraph.frontend.session import GLOBALS
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
from srcgraph.ir.graph import Value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def refuse_global(low: Lowering, cell: Cell, number: int, what: str) -> None:
    """Global lists are read only, so far."""
    if number >= GLOBALS and not low.called:
        hint = "pass it as an argument, or take a copy"
        raise refuse(
            f"the list {cell.name!r}, which is read from outside, is {what} here, which is not supported", low.loc, hint
        )


class Entry(Enum):
    """Whether a function is the one called from outside, and whether that caller sees what it changes."""

    NONE, VISIBLE, PRIVATE = range(3)


@dataclass(slots=True)
class Description:
    """Describes what a function returns, and what its boxes hold, over its outputs."""

    low: Lowering
    outputs: list[Value]
    entry: Entry
    apart: bool
    """Whether an array made on some paths only gets an output of its own."""
    cells: dict[Cell, int] = field(default_factory=dict)
    memories: dict[int, set[Cell]] = field(default_factory=dict)
    """For each output that is an array: what it may be the memory of."""
    seen: Counter[Cell] = field(default_factory=Counter)
    numbers: dict[Cell, int] = field(default_factory=dict)
    made: dict[Box, int] = field(default_factory=dict)

    def of(self, entity: Entity) -> Template:
        """Describe an entity; what cannot be handed out is reported."""
        self.seen.update(cells_of(entity, self.low.state))
        try:
            return self.part(entity)
        except Refusal as refusal:
            self.low.report(refusal.problem)
            return Fixed(Unusable(ALREADY))

    def output(self, value: Value) -> int:
        for k, known in enumerate(self.outputs):
            if known is value:
                return k
        self.outputs.append(value)
        return len(self.outputs) - 1

    def part(self, e: Entity) -> Template:
        match e:
            case Const(value=value) if not e.is_number:
                return Fixed(value)
            case Const() | Scalar():
                return Out(self.output(self.low.value(e)))
            case Rng() if self.entry is not Entry.NONE:
                raise refuse("returning a random generator is not supported", self.low.loc, "the caller has it")
            case Rng(value=value):
                return RngOf(self.output(value))
            case Tup(items=items, cls=cls):
                return TupleOf(tuple(map(self.part, items)), cls)
            case Record(cls=cls, names=names, items=items):
                return RecordOf(cls, names, tuple(map(self.part, items)))
            case Instance(box=box, cls=cls):
                return ObjectOf(cls, self.box(box))
            case Closure() | Partial() | Method() if self.entry is not Entry.NONE:
                why = "a function made inside cannot be returned to Python"
                raise refuse(why, self.low.loc, "return what calling it gives")
            case Closure() | Partial() | Method():
                key, parts = function_key(e)
                return FunctionOf(key, tuple(self.box(p) if isinstance(p, Box) else self.part(p) for p in parts))
            case Choice(tag=tag, options=options):
                return OneOf(self.output(tag), tuple(map(self.part, options)))
            case Maybe(bound=bound, entity=inner, absent=absent) if absent == NONE:
                return MaybeOf(self.part(bound), self.part(inner), absent)
            case Array(cell=cell) if isinstance(cell.choice, Either):
                return self.choice(chosen(self.low, e), None if e.view or self.apart else cell)
            case Array():
                return self.array(e)
            case Listing(cell=cell, at=at) if at:
                if cell.visible:
                    raise refuse("returning a list inside an argument is not supported", self.low.loc, "row[:]")
                return ListOf(
                    self.items(contents.content(self.low, e)), self.numbers.setdefault(Cell(""), len(self.numbers))
                )
            case Listing(cell=cell):
                known = {c: number for number, (c, _) in self.low.param_lists.items()}
                if cell in known:
                    refuse_global(self.low, cell, known[cell], "returned")
                    return ArgumentList(known[cell])
                number = self.numbers.setdefault(cell, len(self.numbers))
                maybe = tuple(sorted(known[c] for c in cell.shares if c in known))
                return ListOf(self.items(contents.content(self.low, e)), number, maybe)
            case Unusable():
                self.low.report(self.low.unusable(e).problem)
                return Fixed(Unusable(ALREADY))
        raise refuse(f"returning {describe(e)} is not supported", self.low.loc, kind=InferenceError)

    def items(self, held: Content) -> TupleOf | RowsOf:
        """What a list holds."""
        if isinstance(held, Tup):
            return TupleOf(tuple(map(self.part, held.items)), list)
        parts = held.parts if self.low.called else tuple(contents.returned_part(self.low, p) for p in held.parts)
        return RowsOf(item_kinds.kind_as_skeleton(held.item), tuple(map(self.output, parts)))

    def lists(self) -> tuple[tuple[int, TupleOf | RowsOf], ...]:
        """The lists of the arguments' that hold something else at the end, and what."""
        out = []
        for k, (cell, before) in self.low.param_lists.items():
            now = self.low.state.store.get(cell)
            try:
                if isinstance(now, Unusable):
                    self.low.report(refuse(now.why, self.low.loc, now.hint).problem)
                elif isinstance(now, Tup | Rows) and now != before:
                    refuse_global(self.low, cell, k, "changed")
                    out.append((k, self.items(now)))
            except Refusal as refusal:
                self.low.report(refusal.problem)
        return tuple(out)

    def choice(self, choice: Array | Either, cell: Cell | None) -> Template:
        """An array chosen at run time. ``cell`` holds its content, which stands for an array made on some paths only
        where nothing else returned refers to that."""
        if isinstance(choice, Either):
            if self.apart and all(map(self._is_new, arrays_of(choice))):
                return NewArray(self.output(self._content(choice)))
            sides = self.choice(choice.then, cell), self.choice(choice.orelse, cell)
            return EitherOf(self.output(choice.test), *sides)
        if cell is None or choice.view or self.seen[choice.cell] > 1 or param_of(self.low, choice.cell) is not None:
            return self.array(choice)
        own = memories(choice.cell)
        maybe = tuple(k for k, (_, c) in enumerate(self.low.params) if c in own)
        return replace(self.new(self.output(content(self.low, cell)), cell), maybe=maybe)

    def _is_new(self, ref: Array) -> bool:
        """Whether a whole array was made here, and only this refers to it."""
        visible = param_of(self.low, ref.cell) is not None or any(c in ref.cell.shares for _, c in self.low.params)
        return ref.view is None and ref.cell.choice is None and self.seen[ref.cell] <= 1 and not visible

    def _content(self, choice: Either) -> Value:
        """What the array that is chosen holds."""
        cell = Cell("")
        cell.choose(choice)
        self.low.state.store[cell] = STALE
        return content(self.low, cell)

    def array(self, ref: Array) -> Template:
        low, cell = self.low, ref.cell
        if isinstance(cell.choice, Reshaped):
            root = memory_of(cell)
            if param_of(low, root) is not None or self.seen[root] > 1:
                return self.reshaped(ref, cell.choice)
        param = param_of(low, cell)
        held = read(low, Array(cell))
        if param is not None:
            return ArgumentView(param, ref.view, tuple(map(self.output, ref.operands)))
        if cell not in self.cells:
            self.outputs.append(held)
            self.cells[cell] = len(self.outputs) - 1
        maybe = tuple(k for k, (_, c) in enumerate(low.params) if c in cell.shares)
        made = self.new(self.cells[cell], cell)
        return replace(made, view=ref.view, operands=tuple(map(self.output, ref.operands)), maybe=maybe)

    def new(self, output: int, cell: Cell) -> NewArray:
        """What a cell holds; a caller in the same program stores into it, and reads what else may be that memory."""
        if self.entry is not Entry.NONE:
            return NewArray(output)
        own = memories(cell)
        beside = tuple(k for k, known in self.memories.items() if k != output and not known.isdisjoint(own))
        self.memories.setdefault(output, set()).update(own)
        return NewArray(output, beside=beside)

    def reshaped(self, ref: Array, whole: Reshaped) -> ReshapeOf:
        """A reshape of an array that is seen in its own shape too."""
        content(self.low, ref.cell)  # where that was changed since, it has to be a view
        lengths = ref_type(self.low, Array(ref.cell)).shape
        dims = tuple(self.output(self.low.builder.dim_value(d)) for d in lengths)
        return ReshapeOf(self.part(whole.array), dims, whole.ravel, ref.view, tuple(map(self.output, ref.operands)))

    def box(self, box: Box) -> NewBox | ArgumentBox:
        """A box of the arguments', or a new one and what it holds."""
        low = self.low
        for k, (known, initial) in enumerate(low.boxes):
            if known is box and (self.entry is not Entry.PRIVATE or held(low, box) == initial):
                return ArgumentBox(k)
            if known in box.shares:
                why = f"{box.name!r} may or may not be the argument {known.name!r}"
                raise refuse(f"{why}, and is returned or kept", low.loc, "make it one or the other on every path")
        if box in self.made:
            return NewBox(self.made[box], box.name, None)
        self.made[box] = len(self.made)
        return NewBox(self.made[box], box.name, self.content(held(low, box)))

    def content(self, entity: Entity) -> Template:
        """What a box holds: a variable may be unbound, and one that cannot be read is not, here."""
        if self.entry is not Entry.NONE and not isinstance(entity, Record):
            return self.of(entity)
        match entity:
            case Unbound() | Unusable():
                return Fixed(entity)
            case Maybe(bound=bound, entity=inner, absent=absent):
                return MaybeOf(self.part(bound), self.content(inner), absent)
            case Record(cls=cls, names=names, items=items):
                return RecordOf(cls, names, tuple(map(self.content, items)))
        return self.of(entity)

    def rebound(self) -> tuple[Rebound, ...]:
        """What the boxes of the arguments hold at the end, where it is not what they held."""
        out = []
        for k, (box, initial) in enumerate(self.low.boxes):
            now = held(self.low, box)
            if isinstance(now, GoneOver):
                out.append(Rebound(k, Gone(box.name)))
            elif isinstance(now, Unusable) and now != initial:
                self.low.report(refuse(now.why, self.low.loc, now.hint).problem)
            elif now != initial:
                out.append(Rebound(k, self.changes(now, initial)))
        return tuple(out)

    def changes(self, now: Entity, initial: Entity) -> Template:
        """What a box holds, where that is not what it held."""
        if not (isinstance(now, Record) and isinstance(initial, Record)):
            return self.content(now)
        before = dict(zip(initial.names, initial.items, strict=True))
        items = [
            Unchanged() if n in before and before[n] == e else self.content(e)
            for n, e in zip(now.names, now.items, strict=True)
        ]
        return RecordOf(now.cls, now.names, tuple(items))


def param_of(low: Lowering, cell: Cell) -> int | None:
    return next((k for k, (_, c) in enumerate(low.params) if c is cell), None)
