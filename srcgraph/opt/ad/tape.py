"""Both sweeps put together: the forward one saves on tapes, the reverse one reads them.

Where each value goes is planned before, see `srcgraph.opt.ad.plan`. Lists are read from the end. What a function that
calls itself saves goes on lists, or in blocks on them, which every call is handed; a call pushes when the calls that it
makes have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from srcgraph.errors import DerivativeError, Problem, ShapeError
from srcgraph.ir.dims import UNKNOWN, Dim, substitute
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Extra, Rebuild
from srcgraph.ir.types import INT, ArrayType, ListType, ScalarType, Type
from srcgraph.ir.view import part
from srcgraph.opt.ad.again import Again, arrays_of
from srcgraph.opt.ad.functions import called_in, reached
from srcgraph.opt.ad.inverse import Cycle
from srcgraph.opt.ad.plan import Plan, Tape
from srcgraph.opt.ad.prepare import LoopFacts
from srcgraph.opt.ad.residuals import Residuals, is_reverse
from srcgraph.opt.ad.states import trips
from srcgraph.opt.ad.threaded import Threaded


def assemble(graph: Graph, residuals: Residuals, loops: dict[str, LoopFacts]) -> tuple[Graph, list[Tape]]:
    """Return the closed graph of both sweeps, and where values are saved."""
    work = Assemble(graph, residuals, loops)
    return work.run(graph), work.tapes


class Assemble(Rebuild):
    def __init__(self, graph: Graph, residuals: Residuals, loops: dict[str, LoopFacts]):
        super().__init__(graph.name)
        self.residuals = residuals
        self.loops = loops
        plan = Plan(graph, residuals)
        self.top_symbols, self.tapes = plan.top_symbols, plan.tapes
        self.of_value = {t.value: t for t in self.tapes}
        self.state: dict[Tape, Value] = {}
        self.block: dict[Tape, Value] = {}
        self.region_names: list[str] = []
        self.after_trip: dict[Cycle, list[Value]] = {}
        """In the reverse loop under construction: what is undone, as it was after the trip."""
        self.recovered: set[str] = set()
        """Symbols of forward values that the reverse region under construction has again."""
        self.reversed_calls = {c.outputs[0] for c in residuals.calls.values()}
        self.called = called_in(graph)

    # -- making tapes -----------------------------------------------------------------------------

    def nodes(self, nodes: Sequence[Node]) -> None:
        with self.builder.at():
            for node in nodes:
                self.builder.origin = node.origin
                before = self.before(node)
                for old, new in zip(node.outputs, self.again(node), strict=True):
                    self.bind(old, new)
                    if not self.saved_at_end(old):
                        self.save(old)
                self.after(before)
                self.count_by_tape(node)

    def again(self, node: Node) -> Sequence[Value]:
        """The node in its new place."""
        try:
            return self.node(node)
        except ShapeError as error:
            problem = Problem(
                f"the derivative of this line is not supported: lengths of saved arrays cannot be followed ({error})",
                node.origin.loc,
                hint="copy the part into an array of its own before it is used",
            )
            raise DerivativeError(problem) from error

    def before(self, node: Node) -> list[Tape]:
        """Make the tapes of an outermost node, and the blocks of a nest; fetch them in the reverse sweep."""
        for tape in self.tapes:
            if tape.outermost is node and tape not in self.state:
                self.state[tape] = self.made(tape)
        graphs = node_graphs(node)
        name = graphs[-1].name if graphs else ""
        blocks = [t for t in self.tapes if t.listed and t.blocked and t.blocked[0].name == name.removesuffix("r")]
        if graphs and is_reverse(graphs[-1]):
            for tape in reversed(blocks):
                popped = self.builder.apply(OPS["list_pop"], (self.state[tape],), {}, name=tape.block_name)
                self.state[tape], self.block[tape] = popped
            return []
        for tape in blocks:
            self.block[tape] = self.new_block(tape)
        return blocks

    def count_by_tape(self, node: Node) -> None:
        """An outermost loop that saves one item per trip needs no counter: the list's length tells."""
        if not isinstance(node, For | While) or is_reverse(node.body) or self.region_names:
            return
        facts = self.loops.get(node.body.name, LoopFacts())
        once = [t for t in self.tapes if t.home.name == node.body.name and not t.blocked]
        if facts.trips is not None and once and facts.trips in node.outputs:
            self.rebind(facts.trips, OPS["list_len"](self.state[once[0]]))

    def after(self, blocks: Sequence[Tape]) -> None:
        for tape in blocks:
            self.state[tape] = OPS["list_push"](self.state[tape], self.block[tape])

    def made(self, tape: Tape) -> Value:
        """A tape that nothing is saved on yet."""
        if tape.listed:
            return self.new_list(tape)
        if isinstance(type := tape.value.type, ScalarType) and tape.is_variable:
            nothing = type.dtype.type(0)
            return self.builder.const(nothing.item() if type.weak else nothing)
        return self.new_block(tape)

    def new_block(self, tape: Tape) -> Value:
        """An array with an axis per counted loop, and those of the value."""
        sizes = [self.trips(h.node) for h in tape.blocked if isinstance(h.node, For)]
        sizes += [self.builder.dim_value(substitute(d, self.symbols)) for d in tape.value.type.shape]
        dtype = tape.value.type.dtype
        return self.builder.apply(OPS["empty"], tuple(sizes), {"dtype": dtype}, name=tape.block_name)

    def trips(self, node: For) -> Value:
        return trips(self.builder, *(self.bound(v) for v in (node.start, node.stop, node.step)))

    def bound(self, value: Value) -> Value:
        """A loop's bound, also before the branch that it is computed in."""
        if value in self.env:
            return self.value(value)
        return self.builder.dim_value(substitute(value.type.value, self.symbols))

    def new_list(self, tape: Tape) -> Value:
        return self.builder.apply(OPS["list_new"], (), {"item": self.list_type(tape).item}, name=tape.name)

    def outer_size(self, dim: Dim) -> Dim:
        return substitute(dim, self.symbols) if dim.symbols() <= self.top_symbols else UNKNOWN

    # -- saving -----------------------------------------------------------------------------------

    def save(self, old: Value) -> None:
        tape = self.of_value.get(old)
        if tape is None or (self.region_names and self.region_names[-1].endswith("r")):
            return
        value = self.value(old)
        if tape.blocked:
            where = self.block if tape.listed else self.state
            index = self.slots(tape)
            stored = value if value.type.ndim else self.builder.cast(value, value.type.dtype, False)
            view = part(len(index), value.type.ndim)
            where[tape] = self.builder.apply(
                OPS["setitem"], (where[tape], stored, *index), {"view": view}, name=tape.block_name
            )
        elif tape.listed:
            self.state[tape] = OPS["list_push"](self.state[tape], value)
        else:
            self.state[tape] = value

    def saved_at_end(self, value: Value) -> bool:
        """Whether a value is saved when its region is left: on a list that calls before that use, too."""
        tape = self.of_value.get(value)
        return tape is not None and bool(tape.home.function) and not tape.blocked

    def slots(self, tape: Tape) -> tuple[Value, ...]:
        """The index of the current trips in a block."""
        out = []
        for home in tape.blocked:
            node = home.node
            assert isinstance(node, For)
            index = self.value(home.graph.params[0])
            start = substitute(node.start.type.value, self.symbols)
            at = index.type.value - start
            step = node.step.type.value.const
            value = self.builder.dim_value(at)
            out.append(value if step == 1 else self.builder.call_named("floordiv", value, step))
        return tuple(out)

    # -- regions ----------------------------------------------------------------------------------

    def body(self, graph: Graph) -> None:
        self.region_names.append(graph.name)
        before = set(self.recovered)
        if is_reverse(graph):
            self.recover(graph)
        else:
            for param in graph.params:
                if not self.saved_at_end(param):
                    self.save(param)
        self.nodes(graph.nodes)
        for tape in self.tapes:
            if tape.home.name == graph.name and self.saved_at_end(tape.value):
                self.save(tape.value)
        self.region_names.pop()
        self.recovered = before

    def recover(self, graph: Graph) -> None:
        """At the start of a reverse region: the forward values it reads."""
        name = graph.name.removesuffix("r")
        home = self.residuals.homes.get(name)
        if home is None:  # nothing of the forward region is needed
            return
        if isinstance(home.node, For):
            self.rebind(home.graph.params[0], self.value(graph.params[0]))
        wanted: Sequence[Value] = self.residuals.wanted.get(name, ())
        if name in self.residuals.undone:
            for value in (v for v in wanted if v in self.of_value):
                self.load(self.of_value[value])
            wanted = self.undo(name, [v for v in wanted if v not in self.of_value])
        for value in wanted:
            if value in self.of_value:
                self.load(self.of_value[value])
            else:
                self.recompute(value)

    def undo(self, name: str, wanted: Sequence[Value]) -> list[Value]:
        """From what variables are after a trip to what they were before it; return the values left to compute.

        What is computed from the ones after the trip comes first, so that arrays are changed in place.
        """
        cycles = self.residuals.undone[name]
        before, after = {v for c in cycles for v in c.before}, {v for c in cycles for v in c.after}
        for cycle in cycles:
            for value, now in zip(cycle.after, self.after_trip[cycle], strict=True):
                self.rebind(value, now)
        left: dict[Value, None] = {}
        for value in (v for v in wanted if v not in before | after):
            if (before | left.keys()).isdisjoint(self.residuals.sources.get(value, ())):
                self.recompute(value)
            else:
                left[value] = None
        found = {way.start: way.back(self.value, self.value(r)) for c in cycles for way, r in c.back}
        for value, now in found.items():
            self.rebind(value, self.as_before(now, value))
        return list(left)

    def as_before(self, now: Value, like: Value) -> Value:
        if isinstance(like.type, ArrayType):
            return self.builder.retype(now, [substitute(d, self.symbols) for d in like.type.shape])
        return self.builder.cast(now, like.type.dtype, like.type.weak)

    def rebind(self, old: Value, new: Value) -> None:
        """What stands for a forward value, and its sizes, from here on in the reverse sweep."""
        if isinstance(old.type, ArrayType) and isinstance(new.type, ArrayType):
            for before, now in zip(old.type.shape, new.type.shape, strict=True):
                self.learned(before, now)
        elif isinstance(old.type, ScalarType) and old.type.value is not None:
            self.learned(old.type.value, new.type.value)
        self.env[old] = new

    def learned(self, before: Dim, now: Dim) -> None:
        if before.symbol and before.symbol not in self.top_symbols:
            self.symbols[before.symbol] = now
            self.recovered.add(before.symbol)

    def load(self, tape: Tape) -> None:
        """Let what is saved stand for the value."""
        b = self.builder
        if tape.blocked:
            source = self.block[tape] if tape.listed else self.state[tape]
            index = self.slots(tape)
            view = part(len(index), tape.value.type.ndim)
            found = b.apply(OPS["getitem"], (source, *index), {"view": view}, name=tape.item_name)
        elif tape.is_variable:
            found = self.state[tape]
        else:
            self.state[tape], found = b.apply(OPS["list_pop"], (self.state[tape],), {}, name=tape.item_name)
        type = tape.value.type
        if isinstance(type, ArrayType):
            again = [self.size_again(d, e) for d, e in zip(type.shape, found.type.shape, strict=True)]
            self.rebind(tape.value, b.retype(found, again))
        else:
            self.rebind(tape.value, b.cast(found, type.dtype, getattr(type, "weak", False)))

    def size_again(self, dim: Dim, found: Dim) -> Dim:
        """A saved array's length over what the reverse sweep knows, where it does."""
        return substitute(dim, self.symbols) if self.is_known(dim) else found

    def is_known(self, dim: Dim) -> bool:
        """Whether the reverse sweep knows all that a size is made of."""
        return dim.symbols() <= self.top_symbols | self.recovered

    def recompute(self, value: Value) -> None:
        """Run the node again that defined a value, without its checks."""
        node = self.residuals.definition.get(value)
        known = getattr(value.type, "value", None)
        if known is not None and self.is_known(known):
            self.rebind(
                value, self.builder.cast(self.builder.dim_value(substitute(known, self.symbols)), INT, value.type.weak)
            )
        elif isinstance(node, If):
            for old, new in zip(node.outputs, self.node(node), strict=True):
                self.rebind(old, new)
        elif isinstance(node, For):
            found = Again(self).loop(node, arrays_of(node, self.residuals.definition))
            for old, new in zip(node.outputs, found, strict=True):
                self.rebind(old, new)
        elif isinstance(node, Apply):
            with self.builder.at(origin=node.origin):
                if node.op.unchecked is not None:
                    out = node.op.unchecked(*self.values(node.inputs), **node.attrs)
                else:
                    out = self.apply(node, self.values(node.inputs))[node.outputs.index(value)]
                self.rebind(value, out)

    def value(self, old: Value) -> Value:
        """What stands for a value; literals are made anew wherever they are read."""
        node = self.residuals.definition.get(old)
        if isinstance(node, Apply) and node.op.name == "const":
            return self.builder.const(node.attrs["value"])
        return super().value(old)

    # -- functions --------------------------------------------------------------------------------

    def define(self, node: Define) -> Sequence[Value]:
        outer = self.state, self.block, self.recovered
        made = super().define(node)
        self.state, self.block, self.recovered = outer
        return made

    def function(self, node: Define, region: Region) -> Define:
        """A function that is handed the lists it uses, and in the reverse sweep what it reads of the forward one."""
        graph = node.graph
        name = graph.name.removesuffix("r")
        passed = self.passed(name) if is_reverse(graph) else {}
        tapes = self.touched(graph)
        lists = [self.builder.fresh(t.name, self.list_type(t)) for t in tapes]
        first = tuple(passed.values())
        params = region.params
        self.builder.enter_params(region, (*first, *params, *lists))
        self.state, self.block, self.recovered = dict(zip(tapes, lists, strict=True)), {}, set()
        for value, given in passed.items():
            self.rebind(value, given)
        for old, new in zip(graph.params, params, strict=True):
            self.rebind(old, new)
        self.body(graph)
        results = self.values(graph.results)
        changes = [(i + len(first), k) for i, k in node.changes]
        changes += [(len(first) + len(params) + j, len(results) + j) for j in range(len(tapes))]
        made = region.graph(graph.name, (*results, *(self.state[t] for t in tapes)))
        return Define(made, tuple(changes), node.origin)

    def passed(self, function: str) -> dict[Value, Value]:
        """Parameters of the forward function that its adjoint is given, and what they are there."""
        params = self.residuals.homes[function].graph.params
        old = [params[k] for k in self.residuals.passed(function)]
        return {p: Value(p.name, t) for p, t in zip(old, self.types_anew(old), strict=True)}

    def call(self, node: Call) -> Sequence[Value]:
        """A call, with the lists that the function uses."""
        forward = self.residuals.calls.get(node.outputs[0]) if node.outputs else None
        if forward is None and node.outputs[0] not in self.reversed_calls:
            plain = node.callee.split("@")[0] if node.callee in self.residuals.homes else node.callee
            return super().call(replace(node, callee=plain))
        tapes = self.touched_by(node.callee)
        passed = [forward.inputs[k] for k in self.residuals.passed(forward.callee)] if forward is not None else []
        inputs = (*passed, *node.inputs)
        types = [*self.types_anew(node.outputs), *(self.list_type(t) for t in tapes)]
        names = [v.name for v in node.outputs] + [t.name for t in tapes]
        changes = [(i + len(passed), k) for i, k in node.changes]
        changes += [(len(inputs) + j, len(node.outputs) + j) for j in range(len(tapes))]
        given = (*self.values(inputs), *(self.state[t] for t in tapes))
        outs = self.builder.call_graph(node.callee, given, types, names, changes)
        self.state.update(zip(tapes, outs[len(node.outputs) :], strict=True))
        return outs[: len(node.outputs)]

    def touched(self, graph: Graph) -> list[Tape]:
        """The tapes that the forward or reverse region uses, or functions that it calls."""
        name = graph.name.removesuffix("r")
        names = reached(self.called.get(name, frozenset()), self.called)
        return [t for t in self.tapes if t.home.function in names or any(h.name == name for h in t.home.chain())]

    def touched_by(self, function: str) -> list[Tape]:
        names = reached({function.removesuffix("r")}, self.called)
        return [t for t in self.tapes if t.home.function in names]

    def list_type(self, tape: Tape) -> ListType:
        """The type of the list that a tape is, or that its blocks are on."""
        item: Type = tape.value.type
        if tape.blocked:
            return ListType(ArrayType(tape.value.type.dtype, (UNKNOWN,) * len(tape.blocked)))
        if isinstance(item, ArrayType):
            return ListType(ArrayType(item.dtype, tuple(self.outer_size(d) for d in item.shape)))
        assert isinstance(item, ScalarType)
        return ListType(ScalarType(item.dtype, item.weak))

    # -- threading tapes through control flow -------------------------------------------------------

    def extra(self, node: For | While) -> Extra:
        return Threaded(self, node)

    def if_(self, node: If) -> Sequence[Value]:
        cond = self.value(node.cond)
        before = dict(self.state), dict(self.block)
        sides, states = [], []
        for graph, holds in ((node.then, True), (node.orelse, False)):
            self.state, self.block = dict(before[0]), dict(before[1])
            sides.append(self.branch(graph, node.captures, cond, holds))
            states.append((self.state, self.block))
        self.state, self.block = dict(before[0]), dict(before[1])
        changed = [
            (which, t) for which in (0, 1) for t in before[which]
            if any(s[which][t] is not before[which][t] for s in states)
        ]  # fmt: skip
        more = [[s[which][t] for which, t in changed] for s in states]
        names = [o.name for o in node.outputs] + [t.name for _, t in changed]
        outs = self.builder.if_(
            cond, (sides[0][0], [*sides[0][1], *more[0]]), (sides[1][0], [*sides[1][1], *more[1]]), names
        )
        for (which, tape), out in zip(changed, outs[len(node.outputs) :], strict=True):
            (self.state, self.block)[which][tape] = out
        return outs[: len(node.outputs)]
