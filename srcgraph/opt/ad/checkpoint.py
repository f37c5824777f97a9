"""Checkpointing: loops that are reversed step by step, each run again from a state stored on the way.

Where a tape keeps what every trip computes, a checkpointed loop stores its carry a given number of times, in arrays
made once. The reverse sweep (`replay`) goes from the last step to the first; for each it starts from the latest stored
state, runs the steps up to it, storing states again in places that have become free, and runs the step forward and
back.

Where the number of steps is known, states are stored as "revolve" would, which runs no more steps than any other way
with so many places: ``r * n - C(s + r, s + 1)`` for n steps and s places, r the least with ``C(s + r, s) >= n``. One
place more has the state before the last step. Elsewhere the first sweep decides as it goes.

A checkpointed loop is a call with a rule of its own, see `srcgraph.opt.ad.custom`: its residuals are the places, and
its backward graph is that reverse sweep. Nothing else in differentiation knows of it, and as that graph is an ordinary
one, it is differentiated as any other.

References
----------
Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 12, and `srcgraph.ir.ops.schedules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from srcgraph.errors import DerivativeError, InternalError, Loc, Problem
from srcgraph.ir.builder import Builder
from srcgraph.ir.closure import free_values
from srcgraph.ir.dims import product, substitute, symbol
from srcgraph.ir.graph import Apply, Call, For, Graph, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS, building
from srcgraph.ir.ops._loops import ranged, repeated, with_item
from srcgraph.ir.ops.lists import RESIZES
from srcgraph.ir.ops.marks import replayed as replayed_mark
from srcgraph.ir.ops.schedules import UNUSED
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import INT, PY_INT, ListType, type_symbols
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.activity import loop_params
from srcgraph.opt.ad.functions import Callees
from srcgraph.opt.ad.replay import Replay
from srcgraph.opt.ad.residuals import Choice
from srcgraph.opt.ad.states import Stored, bytes_of, counted_as, fitted, index_of, store, trips, varying
from srcgraph.opt.dce import dce
from srcgraph.opt.marks import is_mark

Primal = Callable[[Rebuild, Call], Sequence[Value]]
"""Builds what stands for a call in the sweep forward: a rule of the user's may compute it in its own way."""
Pullback = Callable[[Graph, Sequence[int], Sequence[int], Sequence[int]], Graph]
"""From a graph, results and parameters to the graph that takes also the cotangents so far of the last parameters named,
and then those of the results, and returns those of the parameters."""


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """How many states of a loop are stored.

    Attributes
    ----------
    snapshots : int or None
        So many.
    memory : int or None
        As many as fit into so many bytes, if their number is not given.
    spare : bool
        Save everything on tapes where these take no more memory.
    progress : bool
        Show how far the reverse sweep is.
    """

    snapshots: int | None = None
    memory: int | None = None
    spare: bool = False
    progress: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How loops are checkpointed, and what differentiates their steps."""

    plan: Checkpointing | None
    pullback: Pullback
    callees: Callees

    def plan_of(self, node: For | While) -> Checkpointing | None:
        """How many states of a loop are stored; None if it is not checkpointed.

        A loop that appends to a list, pops from one or goes over one, and is not marked, is taped: there is a list as
        long as a tape.
        """
        mark = next((n for n in node.body.nodes if isinstance(n, Apply) and n.op is replayed_mark), None)
        if mark is None:
            grows = any(isinstance(n, Apply) and n.op.name in RESIZES for n in all_nodes(node.body))
            changes = any(isinstance(p.type, ListType) for p in loop_params(node))
            reads = any(isinstance(v.type, ListType) for v in _outer(node))
            return None if grows or (reads and not changes) else self.plan
        shown = self.plan is not None and self.plan.progress
        return Checkpointing(mark.attrs["snapshots"] or None, mark.attrs["memory"] or None, progress=shown)


@dataclass(frozen=True, slots=True)
class Replayed:
    """A loop in its new place, and how it is reversed.

    Attributes
    ----------
    outputs : list of Value
        What the loop returns.
    residuals : list of Value
        What the backward graph takes before the cotangents of ``exact`` outputs.
    moving : list of Value
        Of what it returns the cotangents.
    """

    outputs: list[Value]
    residuals: list[Value]
    exact: list[int]
    moving: list[Value]
    backward: Graph
    tape: tuple[Choice, ...]


def replayed(
    work: Rebuild,
    node: For | While,
    active: frozenset[Value],
    checkpoints: Checkpoints,
    plan: Checkpointing,
    held: Callable[[Value], Value],
    primal: Primal,
) -> Replayed:
    """Put a loop at the end of what ``work`` builds that stores states.

    Parameters
    ----------
    active : frozenset of Value
        The old values that a derivative passes through.
    held : callable
        Makes a constant of a value.
    primal : callable
        See `Primal`.
    """
    refuse(node, checkpoints.callees)
    return Loop(work, node, active, held, checkpoints.pullback, primal).placed(plan)


def refuse(node: For | While, callees: Callees) -> None:
    """What cannot be run twice, or stored in an array made once.

    Raises
    ------
    DerivativeError
        The loop prints or draws random numbers, uses a list, or changes the shape of an array.
    """
    refuse_effects(node_graphs(node), callees, "a loop", node.origin.loc)
    for param in loop_params(node)[: len(node.carry)]:
        if isinstance(param.type, ListType):
            why = f"this loop cannot be checkpointed: it changes the list {name_of(param)}"
            hint = "store into an array of fixed shape, or do without checkpoint="
            raise DerivativeError(Problem(why, node.origin.loc, hint=hint))
    for value in _outer(node):
        if isinstance(value.type, ListType):
            why = f"this loop cannot be checkpointed: it reads the list {value.name!r}"
            raise DerivativeError(Problem(why, node.origin.loc, hint="make an array of it: np.array(items)"))


def refuse_effects(graphs: Sequence[Graph], callees: Callees, what: str, loc: Loc | None) -> None:
    """What has an effect must not run twice."""
    todo, called = list(graphs), set[str]()
    while todo:
        for node in all_nodes(todo.pop()):
            if isinstance(node, Apply) and node.op.kind in ("effect", "draw") and not is_mark(node):
                draws = node.op.kind == "draw"
                does = "draws random numbers" if draws else "prints or warns"
                why = f"{what} that {does} cannot be checkpointed: it runs more than once"
                hint = "draw them before, into an array" if draws else "do so outside of it"
                raise DerivativeError(Problem(why, node.origin.loc or loc, hint=hint))
            if isinstance(node, Call) and node.callee in callees and node.callee not in called:
                called.add(node.callee)
                todo.append(callees[node.callee][0])


def _outer(node: For | While) -> list[Value]:
    """What the graphs of a loop read from outside."""
    return list(dict.fromkeys(v for g in node_graphs(node) for v in free_values(g)))


class Step(Rebuild):
    """A step as the sweep forward takes it."""

    def __init__(self, name: str, primal: Primal | None = None):
        super().__init__(name)
        self.primal = primal

    def call(self, node: Call) -> Sequence[Value]:
        return super().call(node) if self.primal is None else self.primal(self, node)


class Unchecked(Step):
    """What has run once does not raise when it runs again."""

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.op.kind == "check" and node.op.unchecked is not None:
            return (node.op.unchecked(*inputs, **node.attrs),)
        return super().apply(node, inputs)


MOST = 256
"""The most places in memory of a given size where the number of steps is not known: each step looks at all of them."""


class Loop:
    """A loop that is being put somewhere: its parts as closed graphs, over sizes, index, carry and what it reads."""

    def __init__(
        self,
        work: Rebuild,
        node: For | While,
        active: frozenset[Value],
        held: Callable[[Value], Value],
        pullback: Pullback,
        primal: Primal,
    ):
        self.work, self.node, self.builder = work, node, work.builder
        self.given = list(work.values(node.carry))
        ends = zip(self.given, loop_params(node), node.body.results, strict=False)
        self.inits = [held(self.sized(*each)) for each in ends]
        outer = _outer(node)
        self.literals = {v: c for v in outer if (c := self.literal(v)) is not None}
        self.outer = [v for v in outer if v not in self.literals]
        self.reads = list(work.values(self.outer))
        self.sizes = self.lengths()
        self.outer = self.read_inside()
        self.read = list(work.values(self.outer))
        self.reads = [held(v) for v in self.read]
        self.step = self.closed(node.body, Step("step", primal))
        self.again = self.closed(node.body, Unchecked("step", primal))
        params = loop_params(node)
        both = zip(params, node.outputs, strict=True)
        self.moved = [k for k, (p, o) in enumerate(both) if p in active or o in active]
        self.exact = [k for k in self.moved if node.outputs[k] in active]
        self.tied = [j for j, v in enumerate(self.outer) if v in active]
        self.reverse = self.reversed_step(pullback)
        self.kept = self.needed()

    # -- the parts --------------------------------------------------------------------------------

    def sized(self, init: Value, param: Value, result: Value) -> Value:
        """What a carry starts with; where no array is there yet, one as large as that which the trips make."""
        found, shape = self.builder.definition(init), getattr(result.type, "shape", ())
        if found is None or not found.attrs.get("absent"):
            return init
        known = all(s in self.work.symbols for d in shape for s in d.symbols())
        dims = [substitute(d, self.work.symbols) for d in shape] if known else []
        if not known or not all(_is_known(self.builder, s) for d in dims for s in d.symbols()):
            name = param.name.removesuffix("_own")
            why = f"this loop cannot be checkpointed: its first trip has no array {name!r} of its own"
            hint = f"let it be one array all the time: {name}[...] = ..., or do without checkpoint="
            raise DerivativeError(Problem(why, self.node.origin.loc, hint=hint))
        return OPS["empty"](*map(self.builder.dim_value, dims), dtype=init.type.dtype, absent=True)

    def literal(self, old: Value) -> object | None:
        found = self.builder.definition(self.work.value(old))
        return found.attrs["value"] if found is not None and found.op.name == "const" else None

    @property
    def indexed(self) -> int:
        """How many parameters a part has for the index."""
        return 1 if isinstance(self.node, For) else 0

    def lengths(self) -> list[Value]:
        """The sizes that the parts are made of, as numbers, so that no array is read for its length."""
        symbols = {s for v in (*self.inits, *self.reads) for s in type_symbols(v.type)}
        for old in _all_symbols(self.node):
            symbols |= self.work.symbols[old].symbols() if old in self.work.symbols else set()
        return [self.builder.dim_value(symbol(s)) for s in sorted(symbols) if _is_known(self.builder, s)]

    def read_inside(self) -> list[Value]:
        """What is read from outside for more than its length."""
        parts = [self.closed(g, Step("step")) for g in node_graphs(self.node)]
        count = len(self.outer)
        used = [p.params[len(p.params) - count + j] in _read(p) for p in parts for j in range(count)]
        return [v for j, v in enumerate(self.outer) if any(used[j::count])]

    def closed(self, graph: Graph, part: Rebuild) -> Graph:
        """A graph of the loop by itself."""
        part.symbols = dict(self.work.symbols)
        b = part.builder
        with building(b):
            b.reserve(frozenset(s for r in self.builder.regions for d in r.known for s in d.symbols()))
            b.reserve(frozenset(s for v in (*self.sizes, *self.inits, *self.reads) for s in type_symbols(v.type)))
            for v in self.sizes:
                b.param("", v.type)
            first = len(graph.params) - len(self.inits)
            for old in graph.params[:first]:
                part.bind(old, b.param(old.name, PY_INT))
            for old, init in zip(graph.params[first:], self.inits, strict=True):
                part.bind(old, b.param(old.name, varying(init)))
            for old, new in zip(self.outer, self.reads, strict=True):
                part.env[old] = b.param(old.name, new.type)
            for old in set(_outer(self.node)) - set(part.env):
                part.env[old] = self.work.value(old)  # of which only the lengths are read
            part.env |= {old: b.const(value) for old, value in self.literals.items()}
            self.inform(b)
            part.nodes(graph.nodes)
            start = len(self.sizes) + first
            carried = b.region.params[start : start + len(self.inits)] if graph is self.node.body else ()
            results = [self.kept_shape(b, part.value(r), p) for r, p in zip(graph.results, carried, strict=False)]
            made = b.finish([*results, *part.values(graph.results[len(results) :])])
        return dce(made)  # without what read values from outside and is needed no more

    def kept_shape(self, builder: Builder, value: Value, param: Value) -> Value:
        """What a step makes of a carry, in the shape that this has; the first sweep checks it where it is not known."""
        for new, size in zip(value.type.shape, param.type.shape, strict=True):
            if new != size:
                message = f"checkpoint: this loop changes the shape of {name_of(param)}: lengths {{x}} and {{y}}"
                sizes = builder.dim_value(new), builder.dim_value(size)
                builder.call_named("equal_size", *sizes, error="ValueError", message=message)
        return fitted(builder, value, param)

    def inform(self, builder: Builder) -> None:
        """Let a part know what is known of sizes here."""
        there = {s for p in builder.region.params for s in type_symbols(p.type)}
        facts = (d for r in self.builder.regions for d in r.known)
        builder.learn(*(d for d in facts if d.symbols() <= there))

    def reversed_step(self, pullback: Pullback) -> Graph:
        """From the parameters of a step, the cotangents so far of what it reads, and those of its results."""
        first = len(self.sizes) + self.indexed
        carry = [first + k for k in self.moved]
        reads = [first + len(self.inits) + j for j in self.tied]
        step = self.closed(self.node.body, Unchecked("step"))
        return dce(pullback(step, self.moved, [*carry, *reads], reads))

    def needed(self) -> list[int]:
        """The carries that a step backward, or the steps before it, read."""
        first = len(self.sizes) + self.indexed
        carry = self.reverse.params[first : first + len(self.inits)]
        read = _read(self.reverse)
        found, before = [k for k, p in enumerate(carry) if p in read], []
        while found != before:
            before = found
            part = dce(replace(self.again, results=tuple(self.again.results[k] for k in found)))
            read = _read(part)
            params = part.params[first : first + len(self.inits)]
            found = [k for k, p in enumerate(params) if k in before or p in read]
        return found

    # -- the forward sweep ------------------------------------------------------------------------

    def placed(self, plan: Checkpointing) -> Replayed:
        steps = self.steps()
        if steps is None:
            outputs, stored = self.first_sweep_of_unknown(self.snapshots(plan, None))
        else:
            outputs, stored = self.first_sweep(steps, self.snapshots(plan, steps))
        start = () if isinstance(self.node, While) else tuple(self.work.values((self.node.start, self.node.step)))
        driver = Replay(self, stored, start, plan.progress)
        moving = [*(self.given[k] for k in self.moved), *(self.read[j] for j in self.tied)]
        backward = driver.built()
        return Replayed(outputs, driver.residuals, self.exact, moving, backward, tuple(self.rows(stored)))

    def rows(self, stored: Stored) -> Iterator[Choice]:
        """What the tape table says."""
        for k in self.kept:
            name, init = loop_params(self.node)[k].name or "a value", self.inits[k]
            each = product(init.type.shape) * init.type.dtype.itemsize
            places = (stored.snapshots.type.value + 1,)
            yield Choice(name, self.node.origin.loc, "states", "the steps after a state run again", each, places)

    def steps(self) -> Value | None:
        """How many trips there will be, where that is known before the first."""
        node = self.node
        if isinstance(node, While) or node.stops:
            return None
        start, stop, step = self.work.values((node.start, node.stop, node.step))
        if step.type.value.const is None:
            return None
        return counted_as(self.builder, trips(self.builder, start, stop, step), "steps")

    def snapshots(self, plan: Checkpointing, steps: Value | None) -> Value:
        """How many places there are."""
        b = self.builder
        if plan.snapshots is not None:
            count = b.const(plan.snapshots)
        else:
            bytes_ = [bytes_of(b, self.inits[k]) for k in self.kept] or [b.const(1)]
            total = bytes_[0]
            for more in bytes_[1:]:
                total = b.call_named("add", total, more)
            count = b.call_named("floordiv", b.const(plan.memory), b.call_named("maximum", total, 1))
            count = b.call_named("sub", count, 1) if steps is not None else b.call_named("minimum", count, MOST)
            count = b.call_named("maximum", count, 1)
        if steps is None:
            count = b.call_named("maximum", count, 2)
        else:
            count = b.call_named("maximum", b.call_named("minimum", count, steps), 1)
        return counted_as(b, count, "snapshots")

    def first_sweep(self, steps: Value, snapshots: Value) -> tuple[list[Value], Stored]:
        b = self.builder
        add, sub = (OPS[n] for n in ("add", "sub"))
        places = add(snapshots, 1)
        at, pools = self.pools(places)
        inits = [b.const(0), b.const(0), at, *pools, *self.inits]

        def body(done: Value, held: Value, at: Value, *rest: Value) -> list[Value]:
            pools, carry = rest[: len(self.kept)], rest[len(self.kept) :]
            at, pools = self.store(held, done, at, pools, [carry[k] for k in self.kept])
            held = add(held, 1)
            stop = add(done, OPS["steps_ahead"](sub(steps, done), sub(places, held)))
            return [stop, held, at, *pools, *ranged((done, stop, b.const(1)), carry, self.advance)]

        out = repeated(lambda done, *rest: OPS["less"](done, steps), inits, body, self.names())
        first = 3 + len(self.kept)
        return list(out[first:]), Stored(snapshots, steps, out[1], out[2], list(out[3:first]), None)

    def first_sweep_of_unknown(self, snapshots: Value) -> tuple[list[Value], Stored]:
        b = self.builder
        unused = b.const(UNUSED)
        at, level = (OPS["full"](b.cast(v, INT), snapshots) for v in (unused, b.const(0)))
        _, pools = self.pools(snapshots)
        carry = [b.const(0), at, level, *pools, *self.inits]
        out = self.storing(carry)
        first = 3 + len(self.kept)
        trips, at, _, *pools = out[:first]
        order = OPS["argsort"](at)
        held = OPS["minimum"](trips, snapshots)
        at = OPS["gather"](at, order)
        return list(out[first:]), Stored(snapshots, trips, held, at, list(pools), order)

    def storing(self, inits: list[Value]) -> Sequence[Value]:
        """The loop as it was, storing states as it goes."""
        b, node = self.builder, self.node
        names = ["_trips", "_at", "_level", *self.names()[3:]]

        def body(index: tuple[Value, ...], trips: Value, at: Value, level: Value, *rest: Value) -> list[Value]:
            pools, carry = rest[: len(self.kept)], rest[len(self.kept) :]
            place, rank = OPS["place_of_state"](at, level)
            at, pools = self.store(place, trips, at, pools, [carry[k] for k in self.kept])
            level = with_item(level, 0, place, b.cast(rank, INT))
            made = self.work.put(self.step, [*self.sizes, *index, *carry, *self.reads])
            return [OPS["add"](trips, 1), at, level, *pools, *made]

        if isinstance(node, For):
            start, stop, step = self.work.values((node.start, node.stop, node.step))
            return ranged((start, stop, step), inits, lambda i, *carry: body((i,), *carry), names, node.stops)
        test = self.closed(node.cond, Step("test"))

        def holds(trips: Value, at: Value, level: Value, *rest: Value) -> Value:
            carry = rest[len(self.kept) :]
            return self.work.put(test, [*self.sizes, *carry, *self.reads])[0]

        return repeated(holds, inits, lambda *carry: body((), *carry), names, node.stops)

    def advance(self, trip: Value, *carry: Value) -> Sequence[Value]:
        """One step of the first sweep."""
        index = [self.index(trip)] if self.indexed else []
        return self.work.put(self.step, [*self.sizes, *index, *carry, *self.reads])[: len(carry)]

    def index(self, trip: Value) -> Value:
        assert isinstance(self.node, For)
        start, step = self.work.values((self.node.start, self.node.step))
        return index_of(trip, start, step)

    def pools(self, places: Value) -> tuple[Value, list[Value]]:
        """Place for states: the step of each, and an array for each part of it."""
        b = self.builder
        at = OPS["empty"](places, dtype=INT)
        kept = [self.inits[k] for k in self.kept]
        shapes = [[b.dim_value(d) for d in v.type.shape] for v in kept]
        return at, [OPS["empty"](places, *s, dtype=v.type.dtype) for v, s in zip(kept, shapes, strict=True)]

    def store(
        self, place: Value, step: Value, at: Value, pools: Sequence[Value], state: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        return store(self.builder, place, step, at, pools, state)

    def names(self) -> list[str]:
        """What the first sweep's carry is called."""
        names = [p.name for p in loop_params(self.node)]
        return ["_done", "_held", "_at", *(f"{names[k]}_states" if names[k] else "" for k in self.kept), *names]


def name_of(value: Value) -> str:
    """An array or a list, as the user calls it."""
    return f"{value.name!r}" if value.name else "a value"


def _read(graph: Graph) -> set[Value]:
    return {v for n in graph.nodes for v in node_inputs(n)} | set(graph.results)


def _all_symbols(node: For | While) -> set[str]:
    """The symbols of all types inside a loop."""
    inner = (n for g in node_graphs(node) for n in all_nodes(g))
    values = [*(p for g in node_graphs(node) for p in g.params), *(v for n in inner for v in n.outputs)]
    values += [p for g in node_graphs(node) for n in all_nodes(g) for h in node_graphs(n) for p in h.params]
    return {s for v in values for s in type_symbols(v.type)}


def _is_known(b: Builder, name: str) -> bool:
    """Whether a value in scope has a size."""
    try:
        b.dim_value(symbol(name))
    except InternalError:
        return False
    return True
