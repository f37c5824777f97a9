"""What a name can mean while a function is lowered, and the memory behind arrays.

Numbers are graph values; arrays are references to `Cell`s. A cell stands for one buffer; the state
says which graph value it holds now. A reference may be to part of it, by a `View`. Everything that
is known when compiling (None, strings, functions, literal numbers) is a `Const`.

What Python changes in place and is no array is a `Box`: a slot the state has an entity for, as it has
for names, so that branches and loops treat it as a variable. A variable that nested functions see is
one; so are the fields of an object (`Instance`), whose content is a `Record`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from srcgraph.errors import Loc
from srcgraph.ir.graph import Value
from srcgraph.ir.view import View


class Cell:
    """A buffer, one of several that is chosen at run time, or, as a `ListCell`, a list.

    ``visible`` marks one the caller can see: an argument's, or a global's.
    """

    __slots__ = ("choice", "choosers", "home", "joined", "made", "name", "shares", "visible")

    def __init__(self, name: str, visible: bool = False):
        self.name = name
        self.visible = visible
        self.shares: set[Cell] = set()
        """Cells that may be the same memory, so that a store to one makes the others unreadable."""
        self.choice: Either | Reshaped | None = None
        """What it stands for, if it is no buffer of its own; its content in the state may be `STALE`."""
        self.choosers: list[Cell] = []
        """The cells that may stand for this one."""
        self.joined: Either | None = None
        """What a buffer is one of that nothing else refers to any more."""
        self.made: Value | None = None
        """The value it was made for, if it is new memory."""
        self.home: Array | Either | None = None
        """Which of the arrays that a loop exchanges this buffer is, while the loop runs."""

    def choose(self, choice: Either | Reshaped) -> None:
        """Stand for one of several arrays, or for another's memory in another shape, from now on."""
        self.choice = choice
        for option in arrays_of(choice):
            if self not in option.cell.choosers:
                option.cell.choosers.append(self)

    def __repr__(self) -> str:
        return f"<cell {self.name}>"


class ListCell(Cell):
    """A list; it shares memory with the arrays that may be its items at run time."""

    __slots__ = ("holders", "peers", "watched")

    def __init__(self, name: str, visible: bool = False):
        super().__init__(name, visible)
        self.holders: set[ListCell] = set()
        """The lists of which this may be an item at run time."""
        self.peers: set[ListCell] = set()
        """Lists that may have lists in common with this one."""
        self.watched: tuple[tuple[Any, Any], ...] = ()
        """Of a list that stands for an iterator: what it was made of, and what that held then."""

    def around(self) -> set[ListCell]:
        """All lists of which this may be an item: a store into this is a change of theirs."""
        found: set[ListCell] = set()
        todo = [*self.holders]
        while todo:
            cell = todo.pop()
            if cell not in found:
                found.add(cell)
                todo += cell.peers | cell.holders
        return found


class Box:
    """A slot that holds an entity and is shared by all who refer to it; `State.names` says what it holds."""

    __slots__ = ("fixed", "name", "shares", "visible")

    def __init__(self, name: str, visible: bool = False, fixed: str = ""):
        self.name = name
        self.visible = visible
        """Whether the caller sees it: an argument's."""
        self.fixed = fixed
        """Why it cannot be changed, or ''."""
        self.shares: set[Box] = set()
        """Boxes that may be the same one."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<box {self.name}>"


class Once(tuple):
    """The class of what `zip`, `enumerate` and the like give where all items are known: gone over once."""


class Views(tuple):
    """The class of a dict's ``keys()``, ``values()`` and ``items()``."""


class SomeSet(set):
    """The class of a set whose items are computed at run time: any of them may be equal."""


@dataclass(frozen=True, slots=True)
class Const:
    """Something known when compiling. Literal numbers stay Python objects until an op needs them."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return False
        if isinstance(self.value, float | int | complex) or isinstance(other.value, float | int | complex):
            return type(self.value) is type(other.value) and repr(self.value) == repr(other.value)
        return self.value is other.value or (isinstance(self.value, str) and self.value == other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, bool | int | float | complex)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number computed by the graph."""

    value: Value


@dataclass(frozen=True, slots=True)
class Rng:
    """A NumPy random generator, as the integer that `srcgraph.ir.bitgen` makes of it."""

    value: Value


@dataclass(frozen=True, slots=True)
class Array:
    """A reference to an array: a cell, or the part of it that ``view`` and its operands select."""

    cell: Cell
    view: View | None = None
    operands: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """One of two memories: ``then`` where ``test`` holds, else ``orelse``. Cells of its arrays have no choice."""

    test: Value
    then: Array | Either
    orelse: Array | Either


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The memory of ``array`` with axes of other lengths, where NumPy's reshape, or ``ravel``, is no copy."""

    array: Array
    dims: tuple[Value, ...]
    ravel: bool = False


def arrays_of(choice: Array | Either | Reshaped) -> list[Array]:
    """The arrays one of which is meant."""
    if isinstance(choice, Array):
        return [choice]
    if isinstance(choice, Reshaped):
        return [choice.array]
    return arrays_of(choice.then) + arrays_of(choice.orelse)


@dataclass(frozen=True, slots=True)
class Tup:
    """A tuple, or a list that is only read; ``cls`` says which.

    It is also what a list's cell holds while its length and the kinds of its items are known. ``sources`` are the lists
    and dicts that an iterator goes over, and how many items, or which keys, each must have until that ends.
    """

    items: tuple[Entity, ...]
    cls: type = tuple
    sources: tuple[tuple[Entity, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """What a list's cell holds whose length is known at run time only.

    Attributes
    ----------
    item : Shape
        What every item is; see `srcgraph.frontend.headers`.
    parts : tuple of Value
        For each number an item is made of, those of all items: arrays while the length stays, lists
        once it changes.
    """

    item: Any
    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """A reference to a list: its cell holds a `Tup` or `Rows`.

    With ``at`` it is a list inside: what the cell's `Rows` hold at these indices, which are in range.
    """

    cell: Cell
    at: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """A value inside a text, and how it is formatted there."""

    value: Value
    conversion: str = ""
    spec: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A string with values of run time in it."""

    parts: tuple[str | Field, ...]


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that is caught, as `srcgraph.ir.ops.checks.check_that` makes it.

    ``exact`` says whether its arguments are known to be what Python or NumPy would have given it.
    """

    cls: type[Exception]
    message: Any
    values: tuple[Entity, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Record:
    """What an object's box holds: its fields, or a dict's keys, in order."""

    cls: type
    names: tuple[Any, ...]
    items: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """A reference to an object: a dict, or an instance of a class, whose fields are in a box."""

    box: Box
    cls: type


@dataclass(frozen=True, slots=True)
class SliceOf:
    """``start:stop:step`` inside an index."""

    start: Entity
    stop: Entity
    step: Entity


@dataclass(frozen=True, slots=True)
class Later:
    """An item of a list or a dict, as it will be when its turn comes.

    Attributes
    ----------
    source : Listing or Instance
    number : int
        Its position.
    size : int or tuple
        How many items the list has, or which keys the dict.
    part : str
        What it is of an item of the dict.
    """

    source: Entity
    number: int
    size: Any
    part: str = ""


@dataclass(frozen=True, slots=True)
class Iteration:
    """What a `for` runs over: range, zip, enumerate, reversed, and their parts."""

    kind: str
    parts: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Method:
    """An attribute that is called: ``x.sum``."""

    receiver: Entity
    name: str


@dataclass(frozen=True, slots=True)
class Closure:
    """A function defined inside the one being lowered.

    ``captured`` are the variables around it that it sees, as they are when it is called; ``code`` is the
    function whose globals it sees.
    """

    node: Any
    name: str
    defaults: tuple[Entity, ...]
    kw_defaults: tuple[tuple[str, Entity], ...]
    code: Any
    captured: tuple[tuple[str, Box], ...] = ()


@dataclass(frozen=True, slots=True)
class Partial:
    """``functools.partial(function, *args, **kwargs)`` made inside the function being lowered."""

    function: Entity
    args: tuple[Entity, ...]
    kwargs: tuple[tuple[str, Entity], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few entities: which one is known only at run time.

    ``tag`` is a Python integer, the position among ``options``. What is done with a choice is done
    with each option in a branch of its own: see `srcgraph.frontend.branching.each`.
    """

    tag: Value
    options: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Unbound:
    """A local name nothing is assigned to yet."""


UNBOUND = Unbound()
NONE = Const(None)


@dataclass(frozen=True, slots=True)
class Maybe:
    """Something that is there on some paths only: ``bound`` says at run time whether it is.

    Where it is not, the name is unbound, or the thing is None: it is ``absent``. What may be both is a
    `Maybe` inside of one whose ``absent`` is `UNBOUND`.
    """

    bound: Entity
    entity: Entity
    absent: Unbound | Const = UNBOUND


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something that cannot be read, and why."""

    why: str
    hint: str = ""
    loc: Loc | None = None


Entity: TypeAlias = (
    Const
    | Scalar
    | Rng
    | Array
    | Tup
    | Listing
    | Text
    | Raised
    | Record
    | Instance
    | SliceOf
    | Iteration
    | Later
    | Method
    | Closure
    | Partial
    | Choice
    | Unbound
    | Maybe
    | Unusable
)
Content: TypeAlias = Tup | Rows
Key: TypeAlias = str | Box
"""What the state has an entity for: a local name, or a box."""


def memory_of(cell: Cell) -> Cell:
    """The cell whose memory a reshaped one is."""
    while isinstance(cell.choice, Reshaped):
        cell = cell.choice.array.cell
    return cell


def may_share(x: Cell | Box, y: Cell | Box) -> None:
    """Record that two cells, or two boxes, may be the same."""
    if x is not y:
        x.shares.add(y)  # type: ignore[arg-type]
        y.shares.add(x)  # type: ignore[arg-type]


def may_be_memory_of(made: Cell, cell: Cell) -> None:
    """Record that a new cell may be another one, and whatever that may be."""
    for other in (cell, *cell.shares):
        may_share(made, other)  # type: ignore[arg-type]


def memories(cell: Cell) -> set[Cell]:
    """All cells that a cell may be."""
    found: set[Cell] = set()
    left = [cell]
    while left:
        if (one := left.pop()) not in found:
            found.add(one)
            left += [c for c in one.shares if isinstance(c, Cell)]
            left += [ref.cell for ref in arrays_of(one.choice)] if one.choice is not None else []
    return found


ALREADY = "<reported already>"
"""Why something cannot be read whose problem is known: it is not reported again."""
INSIDE = "take a copy of it, row[:], or index the list of lists"
"""What to do where it is not known which list inside a list is meant."""
STALE = Unusable("<stale>")
"""What a cell with a choice holds after one of its options changed: it is read anew when needed."""


@dataclass(slots=True)
class State:
    """What every name means and what every box and cell holds at one point of the program."""

    names: dict[Key, Entity] = field(default_factory=dict)
    store: dict[Cell, Value | Tup | Rows | Unusable] = field(default_factory=dict)
    dead: bool = False

    def copy(self) -> State:
        return State(dict(self.names), dict(self.store), self.dead)

    def as_left(self, before: State) -> bool:
        """Whether nothing is bound, stored or left that was not before."""
        kept = all(self.store.get(cell) == held for cell, held in before.store.items())
        return not self.dead and self.names == before.names and kept

    def become(self, other: State) -> None:
        """Continue as ``other``; states are shared by reference, so they change in place."""
        self.names, self.store, self.dead = dict(other.names), dict(other.store), other.dead


def parts_of(entity: Entity) -> tuple[Entity, ...]:
    """The entities an entity is made of; what its boxes hold is not among them."""
    match entity:
        case Tup(items=items) | Record(items=items):
            return items
        case Maybe(bound=bound, entity=inner):
            return (bound, inner)
        case Iteration(parts=parts):
            return parts
        case Later(source=source):
            return (source,)
        case Method(receiver=receiver):
            return (receiver,)
        case SliceOf(start=a, stop=b, step=c):
            return (a, b, c)
        case Closure(defaults=defaults, kw_defaults=kw_defaults):
            return (*defaults, *(e for _, e in kw_defaults))
        case Partial(function=function, args=args, kwargs=kwargs):
            return (function, *args, *(e for _, e in kwargs))
        case Choice(options=options):
            return options
        case Raised(values=values):
            return values
    return ()


def is_once(entity: Entity) -> bool:
    """Whether what is looped over is used up by that."""
    if isinstance(entity, Iteration):
        return entity.kind not in ("range", "flat")
    return isinstance(entity, Tup) and entity.cls is Once


def with_parts(entity: Entity, parts: Sequence[Entity]) -> Entity:
    """A function or a choice with other entities in place of its `parts_of`."""
    rest = iter(parts)
    match entity:
        case Closure(defaults=defaults, kw_defaults=kw_defaults):
            own = tuple(next(rest) for _ in defaults)
            return replace(entity, defaults=own, kw_defaults=tuple((k, next(rest)) for k, _ in kw_defaults))
        case Partial(args=args, kwargs=kwargs):
            return Partial(next(rest), tuple(next(rest) for _ in args), tuple((k, next(rest)) for k, _ in kwargs))
        case Method(name=name):
            return Method(next(rest), name)
        case Choice(tag=tag):
            return Choice(tag, tuple(rest))
        case Raised():
            return replace(entity, values=tuple(rest))
    return entity


def sources_of(entity: Entity) -> Array | Either | None:
    """What a whole array is one of, in terms of the cells there were before branches were joined."""
    if not isinstance(entity, Array) or entity.view is not None:
        return None
    choice = entity.cell.choice
    return (choice if isinstance(choice, Either) else None) or entity.cell.joined or entity


def values_of(entity: Entity) -> list[Value]:
    """The graph values an entity refers to directly; what its cells and boxes hold is not among them."""
    match entity:
        case Scalar(value=value) | Rng(value=value):
            return [value]
        case Array(operands=operands):
            return list(operands)
        case Listing(at=at):
            return list(at)
        case Text(parts=parts):
            return [p.value for p in parts if isinstance(p, Field)]
    own = [entity.tag] if isinstance(entity, Choice) else []
    return own + [v for part in parts_of(entity) for v in values_of(part)]


def boxes_of(entity: Entity) -> list[Box]:
    """The boxes an entity refers to directly."""
    match entity:
        case Instance(box=box):
            return [box]
        case Closure(captured=captured):
            own = [b for _, b in captured]
            return own + [b for part in parts_of(entity) for b in boxes_of(part)]
    return [b for part in parts_of(entity) for b in boxes_of(part)]


def within(entity: Entity, state: State, without: Sequence[Any] = ()) -> list[Entity]:
    """An entity and all it is made of, what its boxes and lists hold in ``state`` included.

    What the boxes and lists ``without`` hold is left out.
    """
    found: list[Entity] = []
    seen: set[Box | Cell] = {slot for slot in without if isinstance(slot, Box | Cell)}
    stack = [entity]
    while stack:
        current = stack.pop()
        found.append(current)
        stack += parts_of(current)[::-1]
        if isinstance(current, Listing) and current.cell not in seen:
            seen.add(current.cell)
            held = state.store.get(current.cell)
            stack += [held] if isinstance(held, Tup) else []
        for box in boxes_of(current):
            if box not in seen and box in state.names:
                seen.add(box)
                stack.append(state.names[box])
    return found


def cells_of(entity: Entity, state: State | None = None, without: Sequence[Any] = ()) -> list[Cell]:
    """The cells an entity refers to, or may refer to; with a state, also through boxes."""
    out: list[Cell] = []
    for e in within(entity, state or State(), without):
        if isinstance(e, Array | Listing):
            out += _with_options(e.cell)
    return out


def may_meet(x: Cell, y: Cell) -> bool:
    """Whether one of two cells may be the other, or what the other stands for, as far as choices say."""
    return x is not y and not set(_with_options(x)).isdisjoint(_with_options(y))


def _with_options(cell: Cell) -> list[Cell]:
    """A cell and those it stands for."""
    if cell.choice is None:
        return [cell]
    return [cell, *(c for a in arrays_of(cell.choice) for c in _with_options(a.cell))]
