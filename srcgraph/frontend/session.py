"""What the functions of one specialisation share: their graphs, what they read from outside, problems."""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import gast

from srcgraph.errors import ArgumentError, Loc, Problem
from srcgraph.frontend.entities import Cell, Closure, Const, Entity, Instance, Unusable
from srcgraph.frontend.exits import to_tail_form
from srcgraph.frontend.fence import check_fence
from srcgraph.frontend.memory import Dead, refuse
from srcgraph.frontend.parameters import parameter
from srcgraph.frontend.scope import own_names
from srcgraph.frontend.source import Source, read_source
from srcgraph.infer.signature import (
    ArrayArg,
    BoxArg,
    ItemsArg,
    Leaves,
    ObjectArg,
    RecordArg,
    RowsArg,
    Skeleton,
    StaticArg,
    TupleArg,
    all_parts,
    sizes_of,
    skeleton_of,
)
from srcgraph.ir.graph import Graph, Value
from srcgraph.ir.shared import Container, SharedVariable
from srcgraph.ir.text import is_name

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering
    from srcgraph.frontend.recursion import Assumption


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class FunctionCode:
    """A function ready to be lowered: its tail-form tree and where its free names are found."""

    node: Any
    file: str
    name: str
    internal: frozenset[str]
    globals: dict[str, Any]
    cells: dict[str, Any]
    identity: Any
    place: Loc | None = None
    """Where the user's function is that this one, which has no lines of the user's, is written around."""

    @property
    def is_library(self) -> bool:
        """Whether it is one of the compiler's own functions in Python."""
        return str(self.globals.get("__name__")).startswith("srcgraph.frontend.")

    def is_of(self, function: types.FunctionType) -> bool:
        """Whether this is the code of a live function."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        return self.identity is function.__code__ and self.globals is function.__globals__ and self.cells == cells


def prepare(function: types.FunctionType, text: str | None = None) -> FunctionCode:
    """Find, check and desugar a function's source, once per function.

    Raises
    ------
    SourceError, UnsupportedError
        It has no source, or uses what is not supported.
    """
    source = read_source(function, text)
    check_fence(source)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    code = _prepared(source, function.__globals__, cells, function.__code__)
    return replace(code, place=vars(function).get(PLACE))


PLACE = "_srcgraph_place"
"""The attribute of a function written around a user's that says where that one is."""


def prepare_nested(node: Any, outer: FunctionCode) -> FunctionCode:
    """A function defined inside another; its tree has passed the fence with the outer one's."""
    name = node.name if isinstance(node, gast.FunctionDef) else "lambda_"
    return _prepared(Source(node, outer.file, name), outer.globals, outer.cells, node)


def _prepared(source: Source, globals_: dict[str, Any], cells: dict[str, Any], identity: Any) -> FunctionCode:
    node, internal = source.node, frozenset()
    if isinstance(node, gast.FunctionDef):
        node, internal = to_tail_form(node, lambda name: _is_users_class(name, node, globals_, cells))
    name = source.name if is_name(source.name) else "function"
    return FunctionCode(node, source.file, name, internal, globals_, cells, identity)


def _is_users_class(name: str, function: Any, globals_: dict[str, Any], cells: dict[str, Any]) -> bool:
    """Whether a name that a function reads is that of a class outside of it, which is none of Python's own."""
    if name in own_names(function):
        return False
    try:
        held = cells[name].cell_contents if name in cells else globals_.get(name)
    except ValueError:  # nothing is in the cell yet
        return False
    return isinstance(held, type) and held.__module__ != "builtins"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A number or array read from a global or a closure's cell: an input the user does not write."""

    name: str
    container: Any
    static: frozenset[str] = frozenset()
    """The parts of it that are compiled in."""
    seen: Skeleton | None = field(default=None, compare=False)
    """What it was when it was compiled for."""

    def read(self) -> Any:
        """Its value now."""
        return read_outside(self.container, self.name)

    def skeleton(self, leaves: Leaves) -> Skeleton:
        """What it is now; its numbers and arrays are appended to ``leaves``."""
        return skeleton_of(self.read(), self.name, leaves, self.static)


ABSENT = object()
"""What a guard saw where there was nothing of that name."""


def read_outside(container: Any, name: str) -> Any:
    """What a global or a closure cell holds now; a shared variable's container is read when it is taken apart."""
    if isinstance(container, Container):
        return container
    if isinstance(container, types.CellType):
        return container.cell_contents
    if isinstance(container, type):
        return inspect.getattr_static(container, name)
    found = container.get(name, getattr(builtins, name, ABSENT))
    if found is ABSENT:
        raise NameError(f"name {name!r} is not defined")
    return found


def _is_set(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Guard:
    """Something read from outside and compiled in: the code is valid while it is the same object."""

    name: str
    container: Any
    seen: Any
    code: Any = field(init=False)
    """A function's code, which tools that load edited sources replace in place."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", getattr(self.seen, "__code__", None))

    def holds(self) -> bool:
        if self.seen is ABSENT:
            return self.name not in self.container and not hasattr(builtins, self.name)
        now = read_outside(self.container, self.name)
        if now is self.seen:
            return self.code is None or now.__code__ is self.code
        return type(now) is type(self.seen) and isinstance(now, str | int | float) and now == self.seen


@dataclass(frozen=True, eq=False, slots=True)
class FunctionGuard:
    """A function that was compiled in: the code is valid while its code and its defaults are the same objects."""

    container: types.FunctionType
    code: types.CodeType
    defaults: tuple[Any, ...] | None
    keywords: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, function: types.FunctionType) -> FunctionGuard:
        keywords = tuple((function.__kwdefaults__ or {}).items())
        return cls(function, function.__code__, function.__defaults__, keywords)

    @property
    def name(self) -> str:
        return self.container.__name__

    def holds(self) -> bool:
        function: Any = self.container
        if function.__code__ is not self.code or function.__defaults__ is not self.defaults:
            return False
        now = function.__kwdefaults__
        if not now:
            return not self.keywords
        return len(now) == len(self.keywords) and all(k in now and now[k] is v for k, v in self.keywords)


class Defaults(dict[str, Any]):
    """The defaults of a function by name, as a place that is read from outside."""

    function: types.FunctionType


def defaults_of(function: types.FunctionType) -> Defaults:
    """The defaults of a function as they are now."""
    given = inspect.signature(function).parameters.values()
    found = Defaults({p.name: p.default for p in given if p.default is not p.empty})
    found.function = function
    return found


Shapes: TypeAlias = dict[Container, tuple[bool | None, ...]]
"""For arrays in containers: whether the length of each axis is 1; None where that is known when it runs."""


@dataclass(eq=False, slots=True)
class Session:
    """Shared by all functions lowered for one signature of one entry function.

    Attributes
    ----------
    graphs : dict
        Finished graphs by name.
    summaries : dict
        By callee and skeletons: what a call returns and changes.
    static : frozenset
        Numbers read from outside that are compiled in: (``name``, or a part such as ``name.field``; container id).
    """

    lower_callee: Callable[..., Any]
    static: frozenset[Any] = frozenset()
    entry: FunctionCode | None = None
    raises: bool = True
    """Whether arithmetic of Python's numbers raises as Python's does; else it goes on with inf and NaN."""
    derive: Callable[..., Any] | None = None
    """Transforms a lowered function, for calls of derivatives."""
    call_custom: Callable[..., Entity] | None = None
    """Calls a function with a derivative rule of its own."""
    checked: bool = False
    """Whether what the user promises is checked when it runs."""
    compares: bool = False
    """Whether it is asked if two arrays are one, so that the code is for calls in which different arguments are two."""
    deriving: bool = False
    """Whether a derivative may be taken of what is being lowered."""
    differences: bool = False
    """Whether it is part of the signature how much longer axes are than others, or which integers are lengths."""
    marked: dict[Any, Any] = field(default_factory=dict)
    """Functions that the program marks to be run again."""
    ruled: dict[Any, Any] = field(default_factory=dict)
    """By function with a rule and skeletons: what a call returns, and its rule."""
    graphs: dict[str, Graph] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    summaries: dict[Any, Any] = field(default_factory=dict)
    active: list[Any] = field(default_factory=list)
    codes: dict[Any, FunctionCode] = field(default_factory=dict)
    comprehensions: dict[Any, Any] = field(default_factory=dict)
    """By comprehension: the function that it is."""
    defaults: dict[Any, Defaults] = field(default_factory=dict)
    guards: dict[Any, Guard | FunctionGuard] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    initial: dict[Cell, Value] = field(default_factory=dict)
    assumed: dict[Any, Assumption] = field(default_factory=dict)
    """By callee and skeletons: what calls of a function that is being lowered are taken to mean."""
    passed: dict[FunctionCode, frozenset[str]] = field(default_factory=dict)
    """Parameters of recursive functions whose literal numbers are passed at run time."""
    options: list[Entity] = field(default_factory=list)
    """What choices were made of."""
    dry: int = 0

    @contextmanager
    def trial(self):
        """Lower without keeping problems: a loop's body before its header is known."""
        kept = len(self.problems)
        self.dry += 1
        try:
            yield
        finally:
            self.dry -= 1
            del self.problems[kept:]

    @contextmanager
    def derivative(self, taken: bool):
        """Lower what a derivative may be ``taken`` of, if it is not the case already."""
        before, self.deriving = self.deriving, self.deriving or taken
        try:
            yield
        finally:
            self.deriving = before

    def in_order(self, options: Sequence[Entity], same: Callable[[Entity, Entity], bool]) -> list[Entity]:
        """Different options in the order in which they were first met, so that equal choices have equal tags."""
        out: list[tuple[int, Entity]] = []
        for option in options:
            rank = next((k for k, known in enumerate(self.options) if same(known, option)), len(self.options))
            if rank == len(self.options):
                self.options.append(option)
            if all(rank != other for other, _ in out):
                out.append((rank, option))
        return [option for _, option in sorted(out, key=lambda pair: pair[0])]

    def code_of(self, function: types.FunctionType) -> FunctionCode:
        if function not in self.codes:
            own = self.entry if self.entry is not None and self.entry.is_of(function) else None
            self.codes[function] = own or prepare(function)
        return self.codes[function]

    def defaults_of(self, function: types.FunctionType) -> Defaults:
        """A function's defaults by name, as a place that is read from outside; that they are these is guarded."""
        if function not in self.defaults:
            self.defaults[function] = defaults_of(function)
            if not str(function.__globals__.get("__name__")).startswith("srcgraph."):
                self.guards[id(function)] = FunctionGuard.of(function)
        return self.defaults[function]

    def nested_code(self, closure: Closure) -> FunctionCode:
        if closure.node not in self.codes:
            self.codes[closure.node] = prepare_nested(closure.node, closure.code)
        return self.codes[closure.node]

    def graph_name(self, hint: str) -> str:
        name, k = hint, 1
        while name in self.graphs or name in self.active_names:
            k += 1
            name = f"{hint}_{k}"
        self.written[name] = hint
        return name

    def written_as(self, name: str) -> str:
        """What users call the function that a graph of that name is of."""
        return self.written.get(name, name)

    @property
    def active_names(self) -> list[str]:
        return [name for _, name in self.active]

    # -- what is read from outside --------------------------------------------------------------

    def outside(self, low: Lowering, name: str) -> Entity:
        """What a free name means: a closure cell's content, a global or a builtin."""
        cells = low.code.cells
        if name in cells:
            if not _is_set(cells[name]):
                raise refuse(f"the captured variable {name!r} is not assigned yet", low.loc)
            return self.outside_at(low, name, cells[name])
        if name in low.code.globals or hasattr(builtins, name):
            return self.outside_at(low, name, low.code.globals)
        self.guards[(name, id(low.code.globals))] = Guard(name, low.code.globals, ABSENT)
        low.builder.call_named("check_that", False, error="NameError", message=f"name {name!r} is not defined")
        raise Dead

    def outside_at(self, low: Lowering, name: str, container: Any) -> Entity:
        """What ``name`` means in a given namespace or cell; numbers and arrays become inputs.

        A container of shared variables is one, whatever its name.
        """
        key = ("" if isinstance(container, Container) else name, id(container))
        if key not in low.hidden:
            low.hidden[key] = self._outside_entity(low, name, container, read_outside(container, name))
        return low.hidden[key]

    def frozen(self, variable: SharedVariable) -> dict[str, Any]:
        """The namespace that has the value of a frozen variable, for all that is compiled of one function."""
        return variable.taken.setdefault(self.entry, {"value": variable.get_value()})

    def _outside_entity(self, low: Lowering, name: str, container: Any, value: Any) -> Entity:
        leaves = Leaves()
        static = frozenset(path for path, where in self.static if where == id(container))
        try:
            skeleton = skeleton_of(value, name, leaves, static)
        except ArgumentError as error:
            why = error.problems[0].message.removeprefix(f"argument {name!r}: ")
            if isinstance(container, Container):
                return Unusable(
                    f"what the shared variable {name!r} holds cannot be used: {why}", error.problems[0].hint
                )
            return Unusable(f"global {name!r} cannot be used: {why}", "make it a number, an array or a tuple of these")
        if not leaves.values and not leaves.objects and not leaves.lists:
            self.guards[(name, id(container))] = Guard(name, container, value)
            return parameter(low, skeleton, name, None) if isinstance(skeleton, TupleArg) else Const(value)
        if not leaves.values and not leaves.objects and not _has_shared(skeleton) and not _is_empty(value):
            self.guards[(name, id(container))] = Guard(name, container, value)
            return Const(value)
        return self._hidden_parameter(low, Hidden(name, container, static, skeleton), skeleton)

    def _hidden_parameter(self, low: Lowering, hidden: Hidden, skeleton: Skeleton) -> Entity:
        name, container = hidden.name, hidden.container
        ones = low.shapes.get(container) if isinstance(container, Container) else None
        skeleton = skeleton if ones is None else _of_shape(skeleton, ones)
        sizes = {size: low.builder.unused(f"{name}_{size}") for size in sorted(sizes_of([skeleton]))}
        low.maybe_one |= frozenset(sizes.values()) if ones is not None and None in ones else frozenset()
        own = _renamed(skeleton, sizes, GLOBALS * (len(low.hidden_order) + 1))
        entity = parameter(low, own, name, ("global", name, id(container)))
        if isinstance(container, Container) and isinstance(entity, Instance):
            entity.box.fixed = ""
        low.hidden_order.append((hidden, entity))
        return entity


def _is_empty(value: Any) -> bool:
    """Whether something is a list that holds nothing, of which nobody knows what it is of."""
    return type(value) is list and not value


def _has_shared(skeleton: Skeleton) -> bool:
    return any(isinstance(s, StaticArg) and isinstance(s.value, SharedVariable) for s in all_parts([skeleton]))


GLOBALS = 1000
"""Arrays and lists with larger numbers are those of globals."""


def _of_shape(skeleton: Skeleton, ones: Sequence[bool | None]) -> Skeleton:
    """A container's skeleton with an array of another shape."""
    match skeleton:
        case ArrayArg(dtype=dtype, cell=cell):
            return ArrayArg(dtype, tuple(1 if one else f"n{k}" for k, one in enumerate(ones)), cell)
        case ObjectArg(box=BoxArg(cell=cell, content=RecordArg() as content)):
            items = tuple(_of_shape(s, ones) for s in content.items)
            return replace(skeleton, box=BoxArg(cell, replace(content, items=items)))
    return skeleton


def _renamed(skeleton: Skeleton, sizes: dict[str, str], offset: int) -> Skeleton:
    """A global's skeleton with sizes and cells of its own."""
    match skeleton:
        case ArrayArg():
            assert not any(isinstance(d, tuple) for d in skeleton.shape)
            shape = tuple(sizes[d] if isinstance(d, str) else d for d in skeleton.shape)
            return ArrayArg(skeleton.dtype, shape, skeleton.cell + offset)
        case TupleArg() | RecordArg():
            return replace(skeleton, items=tuple(_renamed(s, sizes, offset) for s in skeleton.items))
        case ObjectArg(box=box):
            content = None if box.content is None else _renamed(box.content, sizes, offset)
            return ObjectArg(skeleton.cls, BoxArg(box.cell + offset, content))
        case RowsArg(item=item, size=size, cell=cell):
            return RowsArg(_renamed(item, sizes, 0), sizes[size] if isinstance(size, str) else size, cell + offset)
        case ItemsArg(items=items, cell=cell):
            return ItemsArg(tuple(_renamed(s, sizes, offset) for s in items), cell + offset)
    return skeleton
