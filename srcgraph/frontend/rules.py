"""Calls of functions with derivative rules of their own, `custom_vjp` and `custom_jvp`, or with a kernel, `native`.

Where no derivative is taken, such a call is one of the function. Where one may be, the function becomes a graph that
gives its floats one by one, and its rule one or two more; a call names them all (`srcgraph.ir.graph.Rule`). Which of
them are run is decided when the call is differentiated, see `srcgraph.opt.ad.custom`. A function that a kernel stands
for is a graph as well, and a call of it says what the kernel is (`srcgraph.ir.graph.Native`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from srcgraph.frontend import calls, natives
from srcgraph.frontend.callees import Summary, at_call, call_summary
from srcgraph.frontend.custom import (
    Custom,
    Rules,
    Unknown,
    as_numbers,
    floats_of,
    in_words,
    moved,
    pair,
    plain,
    refuse_changes,
    returned_by,
    same_kinds,
    template_of,
)
from srcgraph.frontend.entities import ALREADY, NONE, Const, Entity, Tup, Unusable
from srcgraph.frontend.fitting import Fitting
from srcgraph.frontend.lower import Lowering, NeedStatic
from srcgraph.frontend.memory import Dead, Refusal, refuse
from srcgraph.frontend.parameters import parameter
from srcgraph.frontend.passing import Arguments
from srcgraph.frontend.template import Never
from srcgraph.infer.signature import ScalarArg, Skeleton, StaticArg, TupleArg, sizes_of
from srcgraph.ir.graph import Rule, Value
from srcgraph.ir.types import INT, ArrayType, ListType, ScalarType, is_inexact, type_symbols

if TYPE_CHECKING:
    from srcgraph.frontend.session import FunctionCode, Hidden

NEVER = Const(Never())
"""What a rule returns that always raises."""
APART = 500
"""Tangents and cotangents are arrays of their own, with numbers that no argument has."""


def call(low: Lowering, custom: Custom, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a function that has a rule, or a kernel."""
    session = low.session
    session.outside_at(low, "function", custom.functions)  # compiled in under a guard
    function = custom.functions["function"]
    if not session.deriving if custom.kernel is None else natives.is_plain(low, custom):
        return calls.apply(low, Const(function), args, kwargs)
    if low.catching.caught() is not None:
        what = "is marked to be run again" if custom.again else "has a rule of its own"
        why = f"the derivative of {custom.name}, which {what}, inside a try is not supported"
        raise refuse(why, low.loc, "call it outside of the try")
    code = session.code_of(function)
    given = _one_by_one(code, calls.bound(low, code, function, args, kwargs))
    arguments = Arguments(low, apart=True)
    skeletons = {name: arguments.skeleton(e) for name, e in given.items()}
    try:
        summary = _Signature(low, custom, skeletons, arguments.maybe_one()).summary()
    except NeedStatic as need:
        raise at_call(low, need, given) from None
    except Dead:  # it raises
        return calls.apply(low, Const(function), args, kwargs)
    except Unknown:
        return Unusable(ALREADY)
    return call_summary(low, summary, arguments)


def _one_by_one(code: FunctionCode, given: dict[str, Entity]) -> dict[str, Entity]:
    """A call's arguments, those of a ``*`` parameter with names of their own."""
    vararg = code.node.args.vararg
    if vararg is None:
        return given
    rest = given[vararg.id]
    assert isinstance(rest, Tup)
    named = {f"{vararg.id}_{k}": e for k, e in enumerate(rest.items)}
    return {**{n: e for n, e in given.items() if n != vararg.id}, **named}


@dataclass(slots=True)
class _Piece:
    """A graph in the making: its lowering, and the arguments as it sees them."""

    low: Lowering
    given: dict[str, Entity]
    count: int
    """How many parameters they are."""

    @property
    def params(self) -> tuple[Value, ...]:
        return self.low.builder.region.params

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        return tuple(h for h, _ in self.low.hidden_order)

    def entities(self) -> list[Entity]:
        return list(self.given.values())


class _Signature:
    """A function with a rule, for arguments of certain types."""

    def __init__(self, low: Lowering, custom: Custom, skeletons: dict[str, Skeleton], maybe_one: frozenset[str]):
        self.caller = low
        self.session = low.session
        self.custom = custom
        self.skeletons = skeletons
        self.maybe_one = maybe_one
        count = len(skeletons)
        nondiff = {k + count if k < 0 else k for k in custom.nondiff}
        self.nondiff = [name for k, name in enumerate(skeletons) if k in nondiff]
        self.diff = [name for name in skeletons if name not in self.nondiff]
        self.names: list[str] = []
        self.out: Skeleton
        """What the function returns."""
        self.types: list[Any]
        """The types of its numbers and arrays."""

    # -- all of it ------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """What calling it means; the graphs are lowered the first time."""
        session = self.session
        key = (self.custom, tuple(self.skeletons.items()), self.maybe_one, session.deriving)
        known = session.ruled.get(key)
        if known is not None and session.graphs.get(known.name) is known.graph:
            return known
        active = len(session.active)
        for kind in self.custom.kinds:
            self.names.append(session.graph_name(f"{self.custom.name}{kind}"))
            session.active.append((self.custom, self.names[-1]))
        try:
            return self.settled(key)
        except BaseException:  # what is refused here is refused again where it counts
            session.ruled.pop(key, None)
            raise
        finally:
            del session.active[active:]

    def settled(self, key: Any) -> Summary:
        """Lowered again until all graphs are given the globals that any of them reads: a rule may call the function."""
        session, hidden = self.session, ()
        graphs, summaries, problems = dict(session.graphs), dict(session.summaries), len(session.problems)
        while True:
            session.graphs, session.summaries = dict(graphs), dict(summaries)
            found = self.primal(hidden)
            session.ruled[key] = found
            session.graphs[found.name] = found.graph
            hidden = self.rules(found)
            if len(session.problems) > problems:
                raise Unknown
            if len(hidden) == len(found.hidden):
                return found

    def rules(self, primal: Summary) -> tuple[Hidden, ...]:
        """Lower the graphs of the rule; return the globals that all graphs read."""
        if self.custom.again or self.custom.kernel is not None:
            return primal.hidden
        return self.vjp(primal) if self.custom.reverse else self.jvp(primal)

    def begun(self, name: str, skeletons: dict[str, Skeleton], hidden: Sequence[Hidden] = ()) -> _Piece:
        """A new graph with these parameters."""
        low = self.caller
        made = Lowering(
            self.session, self.session.code_of(self.custom.functions["function"]), name, called=True, place=low.place
        )
        made.loc, made.maybe_one = low.loc, self.maybe_one
        made.builder.reserve(sizes_of(skeletons.values()))
        with made.builder.at(made.loc):
            given = {k: parameter(made, s, k, ("argument", k), visible=False) for k, s in skeletons.items()}
            count = len(made.builder.region.params)
            for h in hidden:
                self.session.outside_at(made, h.name, h.container)
        return _Piece(made, given, count)

    def run(self, piece: _Piece, which: str, args: Sequence[Entity]) -> tuple[Entity, Rules]:
        """Call one of the user's functions; also the place where it returns."""
        low, functions = piece.low, self.custom.functions
        if which not in functions:
            define = (
                f"{self.custom.name}.defvjp(fwd, bwd)" if self.custom.reverse else f"{self.custom.name}.defjvp(rule)"
            )
            raise refuse(f"{self.custom.name} has no derivative rule yet", low.loc, f"define it: {define}")
        known = len(self.session.problems)
        self.session.outside_at(low, which, functions)
        by = returned_by(self.session, functions[which], low.loc)
        by = replace(by, again=self.custom.again, native=self.custom.kernel is not None)
        try:
            made = calls.apply(low, Const(functions[which]), args, {})
        except Dead:
            if which == "function":
                raise
            made = NEVER  # so does its graph
        except Refusal as refusal:
            problem = refusal.problem
            if problem.loc == low.loc:  # it cannot be called
                message = f"{which} of {self.custom.name}: {problem.message}"
                refusal.problem = replace(problem, message=message, loc=low.loc if which == "function" else by.loc)
            raise
        if len(self.session.problems) > known:
            raise Unknown
        return made, by

    def results(self, piece: _Piece, made: Entity, by: Rules, second: str) -> tuple[Entity, Entity]:
        """The pair that a rule returns; where it always raises, one that nothing reads."""
        if made != NEVER:
            return pair(piece.low, made, by, second)
        types = iter(self.types)

        def nothing(like: Skeleton) -> Entity:
            if isinstance(like, TupleArg):
                return Tup(tuple(map(nothing, like.items)), like.cls)
            if isinstance(like, StaticArg):
                return Const(like.value)
            type = next(types)
            return piece.low.entity(piece.low.arbitrary(type, type_symbols(type)))

        return nothing(self.out), NONE

    # -- the function itself --------------------------------------------------------------------

    def primal(self, hidden: Sequence[Hidden]) -> Summary:
        piece = self.begun(self.names[0], self.skeletons, hidden)
        low = piece.low
        with low.builder.at(low.loc):
            made, by = self.run(piece, "function", piece.entities())
            refuse_changes(low, by)
            made, outs = plain(low, made, by), Arguments(low, apart=True)
            self.out = outs.skeleton(made)
            self.types = [v.type for v in outs.values]
            if self.custom.kernel is None and any(t.dtype.kind == "c" for t in self.types):
                why = f"{by.name} returns complex numbers, for which a derivative rule is not supported"
                raise by.refuse(why, "return the real and the imaginary part")
            graph = low.builder.finish(outs.values)
        template = template_of(low, made, itertools.count())
        found = Summary(graph.name, graph, template, (), (), (), piece.hidden, frozenset(low.contiguous))
        natives.refuse_shared(low, self.custom, made, by)
        if self.custom.kernel is None:
            return replace(found, rule=self.rule(piece))
        return replace(found, native=natives.native_of(low, self.custom, self.skeletons, self.out, found, by))

    def rule(self, piece: _Piece) -> Rule:
        """Which inputs the rule is for."""
        floats = {v for name in self.diff for v in floats_of(piece.low, piece.given[name])}
        inputs = list(enumerate(piece.params))
        if self.custom.again:  # also by what it reads from outside: shared variables may move
            floats |= {v for v in piece.params[piece.count :] if v.type.dtype.kind == "f"}
        moving = tuple(k for k, v in inputs if v in floats)
        frozen = tuple(k for k, v in inputs if v not in floats and _has_derivative(v))
        forward, backward = (*self.names[1:], "", "")[:2]
        return Rule(self.custom.name, forward, backward, moving, frozen)

    def matched(self, piece: _Piece, made: Entity, by: Rules) -> tuple[Skeleton, Arguments, list[Value]]:
        """What a rule returns as the function's result, which is as the function returns it."""
        low, outs = piece.low, Arguments(piece.low, apart=True)
        skeleton = outs.skeleton(plain(low, made, by))
        if not same_kinds(skeleton, self.out):
            why = f"{by.name} returns {in_words(skeleton)}, but {self.custom.name} returns {in_words(self.out)}"
            raise by.refuse(why, "the result of a rule is that of the function")
        pairs = zip(outs.values, self.types, strict=True)
        values = [low.builder.cast(v, t.dtype, t.weak) if isinstance(t, ScalarType) else v for v, t in pairs]
        return as_numbers(skeleton, self.out), outs, values

    # -- rules for reverse mode -----------------------------------------------------------------

    def vjp(self, primal: Summary) -> tuple[Hidden, ...]:
        """Lower both graphs of a rule; return the globals that all graphs read."""
        piece = self.begun(self.names[1], self.skeletons, primal.hidden)
        low = piece.low
        with low.builder.at(low.loc):
            made, by = self.run(piece, "fwd", piece.entities())
            result, residuals = self.results(piece, made, by, "residuals")
            like, outs, values = self.matched(piece, result, by)
            kept = {**{name: piece.given[name] for name in self.nondiff}, "residuals": residuals}
            inner = Arguments(low, sizes=outs.sizes, names=outs.names)
            skeletons = {name: inner.skeleton(e) for name, e in kept.items()}
            floats = [v for name in self.diff for v in floats_of(low, piece.given[name])]
            for k, length in enumerate(_lengths(low, floats)):
                inner.add(length, None)
                skeletons[f"length_{k}"] = ScalarArg(INT, weak=True)
            sizes = self.maybe_one
            self.maybe_one = outs.maybe_one() | inner.maybe_one()
            try:
                hidden = self.backward(skeletons, like, [v.type for v in floats], made == NEVER)
            except NeedStatic as need:
                raise at_call(low, need, kept) from None
            finally:
                self.maybe_one = sizes
            for h in hidden:
                inner.cells.clear()
                inner.skeleton(self.session.outside_at(low, h.name, h.container))
            self.session.graphs[self.names[1]] = low.builder.finish([*values, *inner.values])
        return piece.hidden

    def backward(
        self, skeletons: dict[str, Skeleton], out: Skeleton, types: Sequence[Any], unreached: bool
    ) -> tuple[Hidden, ...]:
        """The graph from residuals and cotangents to cotangents; any, where the forward one always raises."""
        piece = self.begun(self.names[2], skeletons)
        low, first = piece.low, len(piece.params)
        with low.builder.at(low.loc):
            cotangent = parameter(low, moved(out, APART), "cotangent", None, visible=False)
            last = len(piece.params)
            given = [piece.given[name] for name in (*self.nondiff, "residuals")]
            made, by = (NEVER, Rules("", None)) if unreached else self.run(piece, "bwd", [*given, cotangent])
            lengths = iter([low.value(e) for name, e in piece.given.items() if name.startswith("length_")])
            fitting = Fitting(low, by, "cotangent", (_like(low, t, lambda d: next(lengths)) for t in types))
            graph = low.builder.finish(self.cotangents(fitting, made, by))
        p = graph.params
        self.session.graphs[self.names[2]] = replace(graph, params=(*p[:first], *p[last:], *p[first:last]))
        return piece.hidden

    def cotangents(self, fitting: Fitting, made: Entity, by: Rules) -> list[Value]:
        """What a backward rule returns, for each float of the arguments."""
        if isinstance(made, Unusable):
            raise Unknown
        if made == NEVER:
            made = Tup((NONE,) * len(self.diff))
        if not isinstance(made, Tup) or len(made.items) != len(self.diff):
            count = f"{len(self.diff)} argument{'s' * (len(self.diff) != 1)}"
            found = f"a tuple of {len(made.items)}" if isinstance(made, Tup) else "no tuple"
            why = f"{by.name} returns {found}, but {self.custom.name} has {count} with cotangents"
            comma = "," * (len(self.diff) == 1)
            raise by.refuse(why, f"return a tuple: ({', '.join(f'ct_{n}' for n in self.diff)}{comma})")
        out: list[Value] = []
        for name, entity in zip(self.diff, made.items, strict=True):
            out += fitting.values(entity, self.skeletons[name], name)
        return out

    # -- rules for forward mode -----------------------------------------------------------------

    def jvp(self, primal: Summary) -> tuple[Hidden, ...]:
        """Lower the graph of a rule; return the globals that all graphs read."""
        piece = self.begun(self.names[1], self.skeletons, primal.hidden)
        low, first = piece.low, len(piece.params)
        with low.builder.at(low.loc):
            tangents = [
                parameter(low, moved(self.skeletons[name], APART), f"d_{name}", None, visible=False)
                for name in self.diff
            ]
            last = len(piece.params)
            primals = Tup(tuple(piece.given[name] for name in self.diff))
            given = [piece.given[name] for name in self.nondiff]
            made, by = self.run(piece, "jvp", [*given, primals, Tup(tuple(tangents))])
            result, tangent = self.results(piece, made, by, "tangent of the result")
            _, _, values = self.matched(piece, result, by)
            likes = (_like(low, v.type, low.builder.dim_value) for v in values if v.type.dtype.kind == "f")
            moving = list(Fitting(low, by, "tangent", likes).values(tangent, self.out, "the result"))
            graph = low.builder.finish([*values, *moving])
        p = graph.params
        self.session.graphs[self.names[1]] = replace(graph, params=(*p[:first], *p[last:], *p[first:last]))
        return piece.hidden


def _lengths(low: Lowering, values: Sequence[Value]) -> list[Value]:
    """All lengths of arrays that are not known when compiling."""
    arrays = [v.type.shape for v in values if isinstance(v.type, ArrayType)]
    return [low.builder.dim_value(d) for shape in arrays for d in shape if d.const is None]


def _like(low: Lowering, type: Any, length: Callable[[Any], Value]) -> tuple[Any, list[Value]]:
    """A type, and its lengths as values."""
    shape = type.shape if isinstance(type, ArrayType) else ()
    return type, [low.builder.const(d.const) if d.const is not None else length(d) for d in shape]


def _has_derivative(value: Value) -> bool:
    return is_inexact(value.type.item if isinstance(value.type, ListType) else value.type)
