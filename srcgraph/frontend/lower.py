"""Lowering one function: an abstract interpreter over its tail-form syntax tree.

It walks statements with a `State` (what names mean, what cells hold) and appends typed nodes
through the builder. Statements are in `statements`, loops in `loops`, expressions in `expressions`,
calls in `calls`; this module has what they share.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import gast
import numpy as np

from srcgraph.errors import ArgumentError, InferenceError, Loc, Problem, ShapeError, SrcgraphError, UnsupportedError
from srcgraph.frontend import (
    branching,
    choices,
    conditions,
    contents,
    expressions,
    lists,
    objects,
    once,
    presence,
    shared,
    statements,
)
from srcgraph.frontend.boxes import held, rebind
from srcgraph.frontend.catching import Catching
from srcgraph.frontend.entities import (
    ALREADY,
    NONE,
    UNBOUND,
    Array,
    Box,
    Cell,
    Choice,
    Closure,
    Const,
    Content,
    Entity,
    Instance,
    Key,
    Listing,
    Maybe,
    Method,
    Partial,
    Raised,
    Record,
    Rng,
    Rows,
    Scalar,
    State,
    Tup,
    Unbound,
    Unusable,
    is_once,
)
from srcgraph.frontend.invariants import Kept
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import Dead, Refusal, keep_stores, new_array, read, refuse
from srcgraph.frontend.scope import Scope, analyse
from srcgraph.frontend.session import FunctionCode, Hidden, Session, Shapes
from srcgraph.frontend.source import node_loc
from srcgraph.frontend.truths import combined
from srcgraph.ir.builder import Builder
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type

T = TypeVar("T")


LOCAL = ("UnboundLocalError", "cannot access local variable {!r} where it is not associated with a value")
FREE = ("NameError", "cannot access free variable {!r} where it is not associated with a value in enclosing scope")
"""What Python raises where a variable has no value: one of the function's own, or one around it."""


class NeedStatic(Exception):
    """A number must be known when compiling; ``origin`` is the argument or global it came from."""

    def __init__(self, origin: Any, refusal: Refusal):
        super().__init__(str(refusal))
        self.origin = origin
        self.refusal = refusal


class Lowering:
    """The lowering of one function for one signature.

    Attributes
    ----------
    session : Session
        What is shared by all functions of one specialisation.
    code : FunctionCode
        The function.
    called : bool
        Whether compiled code calls it, not Python.
    place : Loc or None
        The user's call, for a function of `srcgraph.frontend.library`, whose own lines mean nothing to the user.
    builder : Builder
    state : State
    """

    def __init__(self, session: Session, code: FunctionCode, name: str, called: bool = False, place: Loc | None = None):
        self.session = session
        self.code = code
        self.called = called
        self.place = place
        self.builder = Builder(name)
        self.state = State()
        self.catching = Catching(self)
        self.around: list[State] = []
        """The states of the regions around the one being lowered."""
        self.scope: Scope = analyse(code.node)
        self.internal = code.internal
        self.overs: list[str] = []
        """What the loops under way go over, which they see whatever becomes of its name."""
        self.nested: list[str] = []
        """The names of the compiler's own in the nests of loops under way."""
        self.counters: dict[Any, Kept] = {}
        """What is assumed of the integers that each loop carries."""
        self.loc: Loc | None = None
        self.returned_at: Loc | None = None
        self.hands_over = False
        """Whether its parameters are its own, and all that it does is call a function with them."""
        self.returns_later = False
        """Whether it calls what has not been seen to return yet, in a recursion."""
        self.slots: dict[str, Box] = {name: Box(name) for name in sorted(self.scope.captured)}
        """The local variables that nested functions see."""
        self.outer: dict[str, Box] = {}
        """The variables of the functions around it."""
        self.param_boxes: dict[int, Box] = {}
        self.boxes: list[tuple[Box, Entity]] = []
        """The boxes of its parameters, and what they held at first."""
        self.state.names.update(dict.fromkeys(self.slots.values(), UNBOUND))
        self.shapes: Shapes = {}
        """What the caller has put into shared variables, where that is not of the shapes they have outside."""
        self.hidden: dict[Any, Entity] = {}
        self.hidden_order: list[tuple[Hidden, Entity]] = []
        self.params: list[tuple[Value, Any]] = []
        self.param_cells: dict[int, Cell] = {}
        self.param_lists: dict[int, tuple[Cell, Content]] = {}
        """The lists that are arguments, and what they held at first."""
        self.static_origin: dict[Value, Any] = {}
        self.list_origin: dict[Cell, Any] = {}
        """Where the arguments' lists come from whose items are not known one by one."""
        self.reasons: dict[Cell, Unusable] = {}
        """Why lists cannot be read, once that was said."""
        self.begins: dict[Value, Any] = {}
        """The literals that numbers at the start of an iteration are before the loop."""
        self.trusted: set[Value] = set()
        """Those of them that were taken to be literals in later iterations too."""
        self.maybe_one: frozenset[str] = frozenset()
        """The sizes of its arrays that may turn out to be 1; of arrays from outside, 1 is part of the signature."""
        self.contiguous: set[int] = set()
        self.made_of: dict[Value, tuple[Value, ...]] = {}
        """What composites made, and of which arrays: NumPy goes by how these lie in memory."""
        """The parameters that must lie in memory in C order without gaps."""

    # -- where we are ---------------------------------------------------------------------------

    @contextmanager
    def at(self, node: Any) -> Iterator[None]:
        """Stamp what is built inside with the place of ``node``."""
        if not hasattr(node, "lineno"):
            yield
            return
        before = self.loc
        self.loc = self.place or node_loc(node, self.code.file)
        try:
            with self.builder.at(self.loc):
                yield
        finally:
            self.loc = before

    def inside(self, region: Region, state: State, action: Callable[[], T]) -> T:
        """Run ``action`` appending to ``region``, in ``state``."""
        before, self.state = self.state, state
        self.around.append(before)
        try:
            with self.builder.inside(region):
                done = action()
                keep_stores(self, before)
            return done
        finally:
            self.state = self.around.pop()

    def branch(self, test: Value, then: Callable[[], None], orelse: Callable[[], None]) -> None:
        """Do one of two things, as ``test`` says at run time, and go on in the joined state."""

        def done(action: Callable[[], None]) -> Entity:
            action()
            return NONE

        branching.either(self, test, lambda: done(then), lambda: done(orelse))

    def within(self, state: State, action: Callable[[], T]) -> T:
        """What ``action`` gives in another state."""
        before, self.state = self.state, state
        try:
            return action()
        finally:
            self.state = before

    def chosen(
        self, test: Value, makers: Sequence[Callable[[], list[Value]]], names: Sequence[str]
    ) -> tuple[Value, ...]:
        """Values computed in one of two ways, as ``test`` says at run time; nothing else changes."""
        sides = []
        for make in makers:
            region = self.builder.new_region()
            sides.append((region, self.inside(region, self.state.copy(), make)))
        return self.builder.if_(test, sides[0], sides[1], names)

    # -- entities and values --------------------------------------------------------------------

    def value(self, entity: Entity, what: str = "") -> Value:
        """The graph value of a number or an array.

        Raises
        ------
        Refusal
            It is neither.
        """
        match entity:
            case Scalar(value=value):
                return value
            case Const(value=number) if entity.is_number:
                if isinstance(number, enum.Enum):
                    kinds: tuple[Any, ...] = (int, float, complex)
                    number = next(kind(number) for kind in kinds if isinstance(number, kind))
                if isinstance(number, int) and not -(2**63) <= number < 2**63:
                    raise self.too_large(number)
                return self.builder.const(number)
            case Array():
                return read(self, entity)
            case Maybe() if presence.is_optional(entity):
                return self.value(presence.present(self, entity), what)
            case Unusable():
                raise self.unusable(entity)
        if not what.startswith("'"):
            what = repr(name) if (name := self.name_of(entity)) else what
        subject = f"{what} is" if what else "this is"
        hint = shared.hint(entity)
        raise refuse(
            f"{subject} {describe(entity)}; a number or an array is needed", self.loc, hint, kind=InferenceError
        )

    def too_large(self, number: int) -> Exception:
        """An integer that Python's cannot be here: where it is written, if it is."""
        literals = (n for n in gast.walk(self.code.node) if isinstance(n, gast.Constant) and type(n.value) is int)
        written = next((n for n in literals if n.value == number), None)
        loc = self.loc if written is None else node_loc(written, self.code.file)
        unsigned = f"for hashes and masks use numbers without a sign: np.uint64({number})"
        hint = unsigned if 0 < number < 2**64 else "write it as a float"
        return refuse(f"the integer {number} does not fit in 64 bits", loc, hint)

    def name_of(self, entity: Entity) -> str:
        """The name of a variable that is this very entity, or ''."""
        return next((str(n) for n, e in self.state.names.items() if e is entity and str(n).isidentifier()), "")

    def shown(self, entity: Entity) -> str:
        """An entity for messages: what it is, and its name if it has one."""
        name = self.name_of(entity)
        return f"{name!r} ({describe(entity)})" if name else describe(entity)

    def unusable(self, entity: Unusable) -> Refusal:
        notes = (f"it became so at {entity.loc}",) if entity.loc not in (None, self.loc) else ()
        return refuse(entity.why, self.loc, entity.hint, kind=InferenceError, notes=notes)

    def entity(self, value: Any, name: str = "") -> Entity:
        """The entity of what an op returned."""
        if isinstance(value, tuple):
            return Tup(tuple(self.entity(v, name) for v in value))
        if not isinstance(value, Value):
            return Const(value)
        if isinstance(value.type, ArrayType):
            return new_array(self, value, name)
        return Scalar(value)

    def static(self, entity: Entity, what: str) -> Any:
        """The Python object an entity is known to be when compiling.

        Raises
        ------
        NeedStatic
            It is an argument or a global that can be made part of the signature.
        """
        match entity:
            case Const(value=value):
                return value
            case Tup(items=items):
                return tuple(self.static(e, what) for e in items)
            case Listing() if (items := lists.known_items(self, entity)) is not None:
                return tuple(self.static(e, what) for e in items)
            case Scalar(value=value):
                known = getattr(value.type, "value", None)
                if known is not None and known.const is not None:
                    return known.const
                refusal = refuse(
                    f"{what} must be known when compiling, but is computed at run time", self.loc, kind=InferenceError
                )
                if value in self.static_origin:
                    raise NeedStatic(self.static_origin[value], refusal)
                raise refusal
        raise refuse(f"{what} must be known when compiling", self.loc, kind=InferenceError)

    def arbitrary(self, type: Type, unknown: Container[str] = ()) -> Value:
        """A value of ``type`` that is never read; sizes of ``unknown`` symbols are 0."""
        if isinstance(type, ArrayType):
            dims = [0 if any(s in unknown for s in d.symbols()) else self.builder.dim_value(d) for d in type.shape]
            return OPS["empty"](*dims, dtype=type.dtype, absent=True)
        if isinstance(type, ListType):
            return OPS["list_new"](item=type.item)
        assert isinstance(type, ScalarType)
        zero = type.dtype.type(0)
        return self.builder.const(zero.item() if type.weak else zero)

    def undefined(self, like: Entity, side: tuple[Region, State]) -> Entity:
        """Something of the kind of ``like`` that is never read, built in the current region."""
        match like:
            case Scalar(value=value):
                assert isinstance(value.type, ScalarType)
                return Scalar(self.arbitrary(value.type))
            case Array():
                held = self.inside(*side, lambda: read(self, like))
                zeros = [self.builder.const(0) for _ in held.type.shape]
                return new_array(self, OPS["empty"](*zeros, dtype=held.type.dtype, absent=True), like.cell.name)
            case Tup(items=items, cls=cls):
                return Tup(tuple(self.undefined(e, side) for e in items), cls)
            case Listing(cell=cell):
                made = contents.undefined(self, contents.content_in(side[1], cell), side)
                return contents.new_list(self, made, cell.name)
            case Record(cls=cls, names=names, items=items):
                return Record(cls, names, tuple(self.undefined(e, side) for e in items))
            case Maybe(entity=inner):
                return self.undefined(inner, side)
            case Choice(options=options):
                return self.undefined(options[0], side)
            case Raised(values=values):
                return replace(like, values=tuple(self.undefined(e, side) for e in values))
        return like

    def truth(self, entity: Entity) -> Value | bool:
        """Whether Python takes an entity as true: known when compiling, or a bool value."""
        match entity:
            case Const(value=value):
                return bool(value)
            case Instance() if objects.has_special(entity, "__bool__"):
                return self.truth(objects.special(self, "__bool__", entity))
            case Instance() if objects.has_special(entity, "__len__"):
                return self.truth(objects.special(self, "__len__", entity))
            case Instance():
                return entity.cls is not dict or bool(objects.fields(self, entity).names)
            case Tup(items=items):
                return bool(items)
            case Listing():
                return lists.truth(self, entity)
            case Closure() | Partial() | Method() | Rng():
                return True
            case Maybe(bound=bound, entity=inner):
                test = conditions.lazily(self, True, bound, lambda: self.entity(self.truth(inner)))
                return self.truth(test)
            case Choice():
                return self.truth(branching.each(self, entity, lambda e: self.entity(self.truth(e))))
        value = self.value(entity)
        if value.type.ndim:
            if all(d == 1 for d in value.type.shape):
                value = OPS["reshape"](value)
            else:
                raise refuse(
                    "the truth value of an array is ambiguous, unless it is known to have one element",
                    self.loc,
                    "use np.any(...) or np.all(...), or x.size > 0 for whether it has elements",
                    kind=ShapeError,
                )
        if isinstance(value.type, ArrayType):
            value = self.builder.scalar(value)
        if value.type.dtype.kind != "b":
            value = OPS["not_equal"](value, 0)
        return self.builder.cast(value, np.dtype(bool), weak=True)

    # -- names ----------------------------------------------------------------------------------

    def lookup(self, name: str, around: bool = False) -> Entity:
        """What a name means here; ``around``: Python reads it in the function around this one."""
        if name in self.scope.local:
            return choices.possible(self, self.bound(name, self.state.names.get(self.key(name), Unbound())))
        if name in self.outer:
            return choices.possible(self, self.bound(name, held(self, self.outer[name]), LOCAL if around else FREE))
        return self.session.outside(self, name)

    def needs_items(self, listing: Listing, refusal: Refusal) -> Exception:
        """Where an argument's list has to be known item by item, a demand for that; else ``refusal``."""
        origin = None if listing.at else self.list_origin.get(listing.cell)
        return refusal if origin is None else NeedStatic(origin, refusal)

    def spend(self, name: str) -> None:
        """What a name means was gone over: as an iterator it has no items left."""
        key = self.key(name) if name in self.scope.local else self.outer.get(name, name)
        entity = self.state.names.get(key, UNBOUND)
        if once.holds_once(entity):
            self.state.names[key] = once.gone_over(name, inside=not is_once(entity))

    def key(self, name: str) -> Key:
        """Where the state keeps a local variable."""
        return self.slots.get(name, name)

    def variables(self, names: Iterable[str]) -> list[Key]:
        """Where the state keeps these variables."""
        return [self.key(name) for name in sorted(names)]

    def keys(self, names: Iterable[str]) -> list[Key]:
        """Where the state keeps these variables; and every box, since what refers to it may be anywhere."""
        boxes = [key for key in self.state.names if isinstance(key, Box)]
        return [*(key for key in self.variables(names) if not isinstance(key, Box)), *boxes]

    def bound(self, name: str, entity: Entity, unbound: tuple[str, str] = LOCAL) -> Entity:
        """A variable, checked to be bound where that is not certain."""
        error, message = unbound[0], unbound[1].format(name)
        if isinstance(entity, Unbound):
            self.builder.call_named("check_that", False, error=error, message=message)
            raise Dead
        entity = presence.told(self, entity)
        if isinstance(entity, Maybe) and entity.absent == UNBOUND:
            bound = self.value(entity.bound)
            self.builder.call_named("check_that", bound, error=error, message=message)
            self.builder.learn_condition(bound, True)
            return entity.entity
        return entity

    def assign(self, name: str, entity: Entity) -> None:
        if name in self.slots:
            self.state.names[self.slots[name]] = entity
        elif name in self.scope.nonlocals:
            self.assign_outer(name, entity)
        else:
            self.state.names[name] = entity

    def assign_outer(self, name: str, entity: Entity) -> None:
        """Assign to a variable of a function around this one."""
        if name not in self.outer:
            why = f"{name!r} is a variable of a function that is not compiled, which a compiled function cannot assign"
            raise refuse(why, self.loc, "return the new value, or pass an array and store into it")
        rebind(self, self.outer[name], entity)

    def named(self, entity: Entity, name: str) -> None:
        """Let the first name the user gives a value be its name in the generated code."""
        if name in self.internal:
            return
        if isinstance(entity, Array) and entity.view is None:
            held = self.state.store[entity.cell]
            entity.cell.name = entity.cell.name or name
            if isinstance(held, Value):
                self.builder.suggest(held, name)
        elif isinstance(entity, Listing):
            entity.cell.name = entity.cell.name or name
            held = self.state.store[entity.cell]
            if isinstance(held, Rows):
                for k, part in enumerate(held.parts):
                    self.builder.suggest(part, name if len(held.parts) == 1 else f"{name}_{k}")
        elif isinstance(entity, Scalar):
            self.builder.suggest(entity.value, name)

    # -- problems -------------------------------------------------------------------------------

    def report(self, problem: Problem) -> None:
        """Record a problem, unless it only follows from one that is recorded."""
        if problem.message != ALREADY:
            self.session.problems.append(problem)
        elif not self.session.problems:
            self.session.problems.append(replace(problem, message="this follows from what is refused in another trip"))

    @contextmanager
    def recovering(self, targets: Sequence[str]) -> Iterator[None]:
        """Record a refusal inside, and go on with ``targets`` unusable, so that more can be found.

        Not where the text is the product's own: all that is found there comes of the first.
        """
        try:
            yield
        except Refusal as refusal:
            if self.code.is_library:
                raise
            problem = refusal.problem
        except SrcgraphError as error:
            first = error.problems[0]
            problem = Problem(first.message, first.loc or self.loc, first.notes, first.hint, type(error))
        else:
            return
        self.report(problem)
        for name in targets:
            with suppress(Refusal):  # a variable that cannot be assigned is the problem
                self.assign(name, Unusable(ALREADY))

    # -- running --------------------------------------------------------------------------------

    def body(self) -> Entity:
        """Lower the whole function and return what it returns."""
        self.run()
        return self.returned()

    def run(self) -> None:
        """Lower the whole function."""
        node, before = self.code.node, self.state.copy()
        if not isinstance(node, gast.Lambda):
            statements.block(self, node.body)
            with self.recovering(["<return>"]):
                keep_stores(self, before)
            return
        with self.recovering(["<return>"]), self.at(node.body):
            try:
                self.assign("<return>", expressions.optional(self, node.body))
            except Dead:
                self.state.dead = True

    def returned(self) -> Entity:
        """What the function returns."""
        returned = self.state.names.get("<return>", NONE)
        if not (isinstance(returned, Maybe) and returned.absent == UNBOUND):
            return returned
        held = returned.entity
        if not isinstance(held, Maybe):
            return held if held == NONE else Maybe(returned.bound, held, NONE)
        return Maybe(combined(self, "logical_and", returned.bound, held.bound), held.entity, NONE)


__all__ = ["ArgumentError", "Lowering", "NeedStatic", "Problem", "UnsupportedError"]
