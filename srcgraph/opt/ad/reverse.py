"""The reverse sweep, built as if every value of the forward one could simply be read.

Works on open graphs. Adjoint code of a region reads values of the forward region directly, also those
inside loops; `residuals` decides afterwards which of them are saved and which recomputed. This order
matters: what the reverse code does not need after dead code is gone is never saved.

One function, `accumulate`, is the only writer of cotangents. The reverse of a loop or a branch takes
the running cotangent of each outer value it touches and hands it on, so that nothing is zeroed and
added per iteration.

References
----------
Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.builder import Builder
from srcgraph.ir.closure import free_values, renamed
from srcgraph.ir.dims import UNKNOWN
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Origin, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS, NoDerivative
from srcgraph.ir.ops.shape import sum_to, zeros_of
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type
from srcgraph.ir.view import whole
from srcgraph.opt.ad import lists
from srcgraph.opt.ad.activity import converted, loop_params
from srcgraph.opt.ad.functions import Function
from srcgraph.opt.ad.prepare import LoopFacts, name_graphs
from srcgraph.opt.ad.unused import Tests, chosen_again

Frame = dict[Value, Value]
Watch: TypeAlias = Callable[[Node, Value, Value], None]
"""Is told of a node, an output or input of it and the cotangent that this has so far."""


class Reverse:
    """Builds adjoint code at the end of the builder's current region.

    Parameters
    ----------
    builder : Builder
        Its outermost region holds the forward graph.
    active : frozenset of Value
        Values that have a cotangent.
    loops : dict
        Facts about the forward loops, by the name of their body.
    lengths : dict
        The lengths of the forward sweep's lists.
    unused : collection of Node
        Those that may get a cotangent of 0 beside an infinite derivative.
    functions : mapping
        Those that a derivative passes through, by name.
    watch : callable, optional
        Called in the builder before a node is reversed, for each output that has a cotangent, and afterwards, for
        each such input.
    tests : Tests, optional
        What of the forward graph earlier derivatives chose.
    """

    def __init__(
        self,
        builder: Builder,
        active: frozenset[Value],
        loops: dict[str, LoopFacts],
        lengths: dict[Value, Value] | None = None,
        unused: Collection[Node] = (),
        functions: Mapping[str, Function] | None = None,
        watch: Watch | None = None,
        tests: Tests | None = None,
    ):
        self.builder = builder
        self.active = active
        self.loops = loops
        self.lengths = lengths or {}
        self.unused = unused
        self.tests = tests or Tests()
        self.functions = functions or {}
        self.watch = watch
        self.calls: dict[Value, Call] = {}
        """The calls of the forward sweep that have been reversed, by the first result of the reverse one."""
        self.frames: list[Frame] = [{}]
        self.owned: set[Value] = set()
        """Arrays that hold a running cotangent: contributions are added to them in place."""
        self.replayed: list[tuple[LoopFacts, Value]] = []
        """For each reverse loop around: what is known of the forward one, whether this is its last trip."""
        self.restated: set[Value] = set()
        """What stands for what a loop starts a trip with, or ends with, in lengths that are known there; the cotangents
        are the same."""

    # -- cotangents -----------------------------------------------------------------------------

    def ct(self, value: Value) -> Value | None:
        """The cotangent accumulated so far; None is zero."""
        return next((f[value] for f in reversed(self.frames) if value in f), None)

    def ct_or_zero(self, value: Value) -> Value:
        found = self.ct(value)
        if found is not None:
            return found
        return self.zero_like(value)

    def zero_like(self, value: Value) -> Value:
        if isinstance(value.type, ListType):
            return lists.zeros(self, value)
        zeros = zeros_of(value)
        self.builder.suggest(zeros, d_name(value))
        return self.own(zeros)

    def begin(self, value: Value, ct: Value) -> None:
        """Let a value's cotangent start from ``ct``, whether or not anything is added to it."""
        self.frames[-1][value] = self.own(ct)

    def accumulate(self, value: Value, ct: Value | None) -> None:
        """Add a contribution to a value's cotangent."""
        if ct is None or value not in self.active:
            return
        ct = self.fitted(ct, value)
        running = self.ct(value)
        made = ct if running is None else self.add(running, ct)
        alone = isinstance(value.type, ArrayType) and not value.type.ndim  # of which NumPy's sum is a number
        self.frames[-1][value] = converted(self.builder, made, value) if alone else made

    def replace(self, value: Value, ct: Value) -> None:
        """Let ``ct``, made of it, stand for a value's running cotangent."""
        self.frames[-1][value] = ct

    def add(self, running: Value, ct: Value) -> Value:
        """``running + ct``: into the array where there is one, else as part of an expression."""
        b = self.builder
        if isinstance(running.type, ListType):
            return lists.add(self, running, ct)
        if running not in self.owned:
            return b.call_named("add", running, ct)
        view = whole(running.type.ndim)
        return self.own(b.apply(OPS["add_at"], (running, ct), {"view": view}, name=running.name))

    def own(self, value: Value) -> Value:
        if isinstance(value.type, ArrayType):
            self.owned.add(value)
        return value

    def fitted(self, ct: Value, value: Value) -> Value:
        """A contribution summed over broadcast axes and converted to the value's type."""
        b = self.builder
        if isinstance(value.type, ListType):
            return ct
        if ct.type.ndim == value.type.ndim == 0:
            pass
        elif isinstance(value.type, ScalarType):
            ct = b.call_named("sum", ct, axes=tuple(range(ct.type.ndim))) if ct.type.ndim else ct
        elif not isinstance(ct.type, ArrayType) or ct.type.ndim < value.type.ndim:
            ct = b.call_named("broadcast_to", ct, *(b.dim_value(d) for d in value.type.shape))
        elif ct.type.shape != value.type.shape:
            ct = sum_to(ct, value)
        return converted(b, ct, value)

    # -- nodes ----------------------------------------------------------------------------------

    def nodes(self, graph: Graph, starts: Sequence[Value] = ()) -> None:
        """Reverse a graph's nodes; ``starts`` is what a loop starts its trips with, if it is its body."""
        self.restated |= _restated(graph, starts, self.active)
        with self.builder.at():
            for node in reversed(graph.nodes):
                self.builder.origin = Origin(node.origin.loc, "vjp")
                self.watched(node, node.outputs)
                self.node(node)
                self.watched(node, node_inputs(node))

    def watched(self, node: Node, values: Sequence[Value]) -> None:
        for value in dict.fromkeys(values) if self.watch is not None else ():
            ct = self.ct(value)
            if ct is not None and self.watch is not None:
                self.watch(node, value, ct)

    def node(self, node: Node) -> None:
        match node:
            case Apply():
                self.apply(node)
            case If():
                self.if_(node)
            case For() | While():
                self.loop(node)
            case Call():
                self.call(node)
            case Define():
                pass  # see `define`

    def apply(self, node: Apply) -> None:
        cts = [self.ct(v) for v in node.outputs]
        if all(ct is None for ct in cts):
            return
        ct, out = cts[0], node.outputs[0]
        if out in self.restated and ct is not None and self.ct(node.inputs[0]) is None:
            self.frames[-1][node.inputs[0]] = ct
            return
        if node.op.kind == "check":
            self.accumulate(node.inputs[0], ct)
            return
        if node.op.name in lists.ADJOINTS:
            lists.reverse(self, node)
            return
        if node.op.vjp_into is not None:
            self.into(node, ct, out)
            return
        if ct is not None and self.tests.chooses(node):
            test, _, right = node.inputs
            self.accumulate(right, chosen_again(test, right, ct))
            return
        rule = node.op.vjp
        if isinstance(rule, NoDerivative):
            if rule.why:
                raise DerivativeError(Problem(f"{node.op.name}: {rule.why}", node.origin.loc))
            return
        given = (ct, out) if len(cts) == 1 else (cts, node.outputs)
        contributions = self.guarded(node, ct, self.known(node, rule(*given, *node.inputs, **node.attrs)))
        for value, contribution in zip(node.inputs, contributions, strict=True):
            self.accumulate(value, contribution)

    def known(self, node: Apply, contributions: Sequence[Any]) -> list[Value | None]:
        """The contributions; one that is refused matters if the operand has a cotangent."""
        for value, contribution in zip(node.inputs, contributions, strict=True):
            if isinstance(contribution, NoDerivative) and value in self.active:
                raise DerivativeError(Problem(f"{node.op.name}: {contribution.why}", node.origin.loc))
        return [None if isinstance(c, NoDerivative) else c for c in contributions]

    def guarded(self, node: Apply, ct: Value | None, contributions: Sequence[Value | None]) -> Sequence[Value | None]:
        """No NaN from what is not used: 0 times an infinite derivative is 0 there."""
        if node not in self.unused or ct is None:
            return contributions
        zero = OPS["unused"](ct, 0.0)
        return [c if c is None else OPS["where"](zero, 0.0, c) for c in contributions]

    def into(self, node: Apply, ct: Value | None, out: Value) -> None:
        """An op that adds to part of its operand's cotangent in place."""
        base = node.inputs[0]
        if base not in self.active or ct is None or node.op.vjp_into is None:
            return
        ct = self.builder.cast(ct, base.type.dtype, False)
        ct = ct if ct.type.ndim or isinstance(ct.type, ScalarType) else self.builder.scalar(ct)
        back = node.attrs["view"].back if node.op.name == "getitem" and self.ct(base) is None else None
        if back is not None:
            self.accumulate(base, OPS["getitem"](ct, *[0] * back.operand_count, view=back))
            return
        running = self.ct_or_zero(base)
        self.frames[-1][base] = self.own(node.op.vjp_into(running, ct, out, *node.inputs, **node.attrs))

    # -- functions ------------------------------------------------------------------------------

    def define(self, function: Function) -> None:
        """The adjoint of a function: from the cotangents of its results to those of its parameters.

        An array that the function changes is changed back in the memory of its cotangent; that of any other list or
        array is handed in as it is so far.
        """
        graph = function.node.graph
        region, frame = self.builder.new_region(), {}
        self.frames.append(frame)
        with self.builder.inside(region):
            seeds = [
                self.builder.fresh(d_name(r), self.unsized(r.type))
                for r in map(graph.results.__getitem__, function.outputs)
            ]
            others = [graph.params[k] for k in self.handed(function)]
            handed = {p: self.builder.fresh(d_name(p), ct_type(p.type)) for p in others}
            self.builder.enter_params(region, (*seeds, *handed.values()))
            self.owned.update(v for v in handed.values() if isinstance(v.type, ArrayType))
            frame.update(handed)
            for k, ct in zip(function.outputs, seeds, strict=True):
                self.accumulate(graph.results[k], self.sized(ct, graph.results[k]))
            self.nodes(graph)
            results = [self.ct_or_zero(graph.params[k]) for k in function.inputs]
        self.frames.pop()
        made = region.graph(f"{graph.name}r", results)
        self.builder.region.nodes.append(Define(made, self.changes_back(function), function.node.origin))

    def unsized(self, type: Type) -> Type:
        return self.builder.unknown_sizes(type) if isinstance(type, ArrayType) else ct_type(type)

    def handed(self, function: Function) -> list[int]:
        """The parameters whose cotangents are handed in: arrays and lists that the function does not change."""
        params = function.node.graph.params
        changed = set(function.changed.values())
        return [k for k in function.inputs if k not in changed and not isinstance(params[k].type, ScalarType)]

    def changes_back(self, function: Function) -> tuple[tuple[int, int], ...]:
        """For the adjoint: which results are its parameters afterwards."""
        at = {k: j for j, k in enumerate(function.inputs)}
        seeds = [(j, at[function.changed[k]]) for j, k in enumerate(function.outputs) if k in function.changed]
        first = len(function.outputs)
        return (*seeds, *((first + j, at[k]) for j, k in enumerate(self.handed(function))))

    def call(self, node: Call) -> None:
        """Call the adjoint of a function that a derivative passes through."""
        function = self.functions.get(node.callee)
        if function is None or all(self.ct(node.outputs[k]) is None for k in function.outputs):
            return
        if all(node.inputs[k] not in self.active for k in function.inputs):
            return
        handed = [node.inputs[k] for k in self.handed(function)]
        own = [v in self.active and handed.index(v) == j for j, v in enumerate(handed)]
        inputs = [self.ct_or_zero(node.outputs[k]) for k in function.outputs]
        inputs += [self.ct_or_zero(v) if mine else self.zero_like(v) for v, mine in zip(handed, own, strict=True)]
        wanted = [node.inputs[k] for k in function.inputs]
        names, types = [d_name(v) for v in wanted], [ct_type(v.type) for v in wanted]
        outs = self.builder.call_graph(f"{node.callee}r", inputs, types, names, self.changes_back(function))
        self.calls[outs[0]] = node
        kept = dict(zip(self.handed(function), own, strict=True))
        for k, ct in zip(function.inputs, outs, strict=True):
            if kept.get(k):
                self.replace(node.inputs[k], self.own(ct))
            else:
                self.accumulate(node.inputs[k], ct)

    # -- branches -------------------------------------------------------------------------------

    def if_(self, node: If) -> None:
        """A reverse `if` on the same condition."""
        seeds = [(k, ct) for k, v in enumerate(node.outputs) if (ct := self.ct(v)) is not None]
        if not seeds:
            return
        outer = self.outer_active([node.then, node.orelse])
        sides = [self.branch(g, seeds) for g in (node.then, node.orelse)]
        touched = [v for v in outer if any(v in frame for _, frame in sides)]
        if not touched:
            return
        results = []
        for region, frame in sides:
            with self.builder.inside(region):
                results.append([frame[v] if v in frame else self.ct_or_zero(v) for v in touched])
        names = [d_name(v) for v in touched]
        cond = self.recalled(node.cond)
        count = len(self.builder.region.nodes)
        outs = self.builder.if_(cond, (sides[0][0], results[0]), (sides[1][0], results[1]), names)
        if len(self.builder.region.nodes) > count:  # none where both sides give the same: the last is another's then
            self.name_last(f"{node.then.name}r", f"{node.orelse.name}r")
        for value, out in zip(touched, outs, strict=True):
            self.frames[-1][value] = self.own(out)

    def recalled(self, cond: Value) -> Value:
        """A condition that stopped a loop follows from whether this is the last trip."""
        for facts, is_last in reversed(self.replayed):
            if cond in facts.last:
                last, recall = facts.last[cond]
                return self.builder.cast(recall(is_last, last), cond.type.dtype, getattr(cond.type, "weak", False))
        return cond

    def branch(self, graph: Graph, seeds: Sequence[tuple[int, Value]]) -> tuple[Region, Frame]:
        region, frame = self.builder.new_region(), {}
        self.frames.append(frame)
        with self.builder.inside(region):
            for k, ct in seeds:
                self.accumulate(graph.results[k], self.sized(ct, graph.results[k]))
            self.nodes(graph)
        self.frames.pop()
        return region, frame

    def outer_active(self, graphs: Sequence[Graph]) -> list[Value]:
        """Active values from outside that the graphs read."""
        return [v for v in dict.fromkeys(v for g in graphs for v in free_values(g)) if v in self.active]

    def name_last(self, *names: str) -> None:
        nodes = self.builder.region.nodes
        if nodes and isinstance(nodes[-1], If | For | While):
            name_graphs(nodes, len(nodes) - 1, names)

    # -- loops ----------------------------------------------------------------------------------

    def loop(self, node: For | While) -> None:
        """A `for` that replays the trips in opposite order."""
        params = loop_params(node)
        kept = [k for k, p in enumerate(params) if p in self.active or node.outputs[k] in self.active]
        if all(self.ct(node.outputs[k]) is None for k in kept):
            return
        outer = self.outer_active([node.body])
        inits = [self.ct_or_zero(node.outputs[k]) for k in kept] + [self.ct_or_zero(v) for v in outer]
        bounds = self.reversed_bounds(node)
        region, index = self.builder.for_region(bounds, self.index_name(node))
        with self.builder.inside(region):
            carried = [self.builder.fresh(d_name(params[k]), self.carried_type(params[k], node.carry[k])) for k in kept]
            running = [self.builder.fresh(d_name(v), ct_type(v.type)) for v in outer]
            self.builder.enter_params(region, (index, *carried, *running))
            self.owned.update(v for v in (*carried, *running) if isinstance(v.type, ArrayType))
            frame: Frame = dict(zip(outer, running, strict=True))
            self.frames.append(frame)
            is_last = self.builder.call_named("equal", index, bounds[0])
            self.replayed.append((self.loops[node.body.name], is_last))
            for k, ct in zip(kept, carried, strict=True):
                self.accumulate(node.body.results[k], self.sized(ct, node.body.results[k]))
            self.nodes(node.body, params)
            results = [self.ct_or_zero(params[k]) for k in kept] + [frame[v] for v in outer]
            self.frames.pop()
            self.replayed.pop()
        results = self.replaying(node, region, index, results)
        self.finish_loop(node, bounds, region, inits, results, kept, outer)

    def replaying(self, node: For | While, region: Region, index: Value, results: list[Value]) -> list[Value]:
        """Where reverse code reads the forward index, it is the reverse loop's own."""
        if isinstance(node, For):
            renamed_body = renamed(region.graph("", results), {node.body.params[0]: index})
            region.nodes[:] = renamed_body.nodes
            return list(renamed_body.results)
        return results

    def finish_loop(
        self,
        node: For | While,
        bounds: tuple[Value, Value, Value],
        region: Region,
        inits: list[Value],
        results: list[Value],
        kept: list[int],
        outer: list[Value],
    ) -> None:
        """Append the reverse loop without the running cotangents it does not change."""
        index, *params = region.params
        used = [j for j in range(len(params)) if j < len(kept) or results[j] is not params[j]]
        region.params = (index, *(params[j] for j in used))
        outs = self.builder.for_(
            bounds, [inits[j] for j in used], region, [results[j] for j in used], None, [params[j].name for j in used]
        )
        self.name_last(f"{node.body.name}r")
        self.owned.update(v for v in outs if isinstance(v.type, ArrayType))
        for j, out in zip(used, outs, strict=True):
            if j >= len(kept):
                self.frames[-1][outer[j - len(kept)]] = out
        for j, out in zip(used, outs, strict=True):
            if j < len(kept):
                init = node.carry[kept[j]]
                self.accumulate(init, self.sized(out, init))

    def carried_type(self, param: Value, init: Value) -> Type:
        """The type of a carried cotangent: sizes that change from trip to trip are unknown."""
        if not isinstance(param.type, ArrayType):
            return ct_type(param.type)
        sizes = zip(param.type.shape, init.type.shape, strict=True)
        return replace(param.type, shape=tuple(p if p == q else self.builder.new_size() for p, q in sizes))

    def sized(self, ct: Value, like: Value) -> Value:
        if isinstance(ct.type, ArrayType) and ct.type.shape != like.type.shape:
            return self.builder.retype(ct, like.type.shape)
        return ct

    def reversed_bounds(self, node: For | While) -> tuple[Value, Value, Value]:
        """The bounds of the loop that visits the trips made in opposite order."""
        b = self.builder
        facts = self.loops[node.body.name]
        if isinstance(node, While):
            assert facts.trips is not None
            return b.call_named("sub", facts.trips, 1), b.const(-1), b.const(-1)
        step = node.step.type.value.const
        if facts.trips is not None:
            last = b.call_named("sub", facts.trips, 1)
            last = b.call_named("add", node.start, b.call_named("mul", last, node.step))
        elif step in (1, -1):
            last = b.call_named("sub", node.stop, node.step)
        else:
            last = self.last_index(node)
        return last, b.call_named("sub", node.start, node.step), b.call_named("neg", node.step)

    def last_index(self, node: For) -> Value:
        """``start + (trips - 1) * step``."""
        b = self.builder
        step = node.step.type.value.const
        span = b.call_named("sub", node.stop, node.start)
        if step is None or step > 0:
            less_one = b.call_named("sub", span, 1)
        else:
            less_one = b.call_named("add", span, 1)
        whole = b.call_named("floordiv", less_one, node.step)
        return b.call_named("add", node.start, b.call_named("mul", whole, node.step))

    def index_name(self, node: For | While) -> str:
        return node.body.params[0].name if isinstance(node, For) else "_trip"


def ct_type(type: Type) -> Type:
    """The type of a cotangent: arrays on a list may be empty in place of zeros."""
    if isinstance(type, ListType) and isinstance(type.item, ArrayType):
        return ListType(replace(type.item, shape=(UNKNOWN,) * type.item.ndim))
    return type


def d_name(value: Value) -> str:
    """The name of a cotangent: ``d_u`` for ``u``."""
    return f"d_{value.name.lstrip('_')}" if value.name else ""


def _restated(graph: Graph, starts: Sequence[Value], active: frozenset[Value]) -> set[Value]:
    """What stands for values that loops start a trip with, or end with, each of which nothing else reads."""
    loops = [n for n in graph.nodes if isinstance(n, For | While)]
    sources = {*starts, *(v for n in loops for v in n.outputs)}
    found, others = dict[Value, Value](), {*graph.results}
    for node in graph.nodes:
        read = {*node_inputs(node)}.union(*(free_values(g) for g in node_graphs(node)))
        if isinstance(node, Apply) and node.op.name == "with_shape" and node.inputs[0] in sources:
            others |= {*found} & read
            found[node.inputs[0]] = node.outputs[0]
        elif not (isinstance(node, Apply) and active.isdisjoint(node.outputs)):
            others |= read
    return {value for source, value in found.items() if source not in others}
