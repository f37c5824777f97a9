"""Reverse mode: from a closed graph to the closed graph of its value and gradient.

The order of work is: let integers follow from the trip (`induction`), count trips (`prepare`), find what matters
(`activity`), build the reverse sweep (`reverse`), drop its dead code, choose what to save (`residuals`), put both
together (`tape`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.builder import Builder
from srcgraph.ir.graph import Apply, Call, Define, Graph, Value, While, node_graphs
from srcgraph.ir.op import building
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.types import ArrayType, ScalarType, type_symbols
from srcgraph.ir.walk import all_nodes, calls
from srcgraph.opt.ad.activity import active_values, through_complex
from srcgraph.opt.ad.checkpoint import Checkpointing, Checkpoints
from srcgraph.opt.ad.custom import expand, released
from srcgraph.opt.ad.either import either, tape_size
from srcgraph.opt.ad.explain import explain
from srcgraph.opt.ad.forward import one_like
from srcgraph.opt.ad.functions import NO_CALLEES, Callees, Changes, active_functions, divided, with_functions
from srcgraph.opt.ad.induction import follow_trips
from srcgraph.opt.ad.jvp import pushforward
from srcgraph.opt.ad.known import with_known
from srcgraph.opt.ad.overwritten import with_overwritten
from srcgraph.opt.ad.preaccumulate import by_forward, forwards, preaccumulated
from srcgraph.opt.ad.prepare import Prepared, prepare
from srcgraph.opt.ad.residuals import Choice, choose
from srcgraph.opt.ad.reverse import Reverse, Watch, d_name
from srcgraph.opt.ad.selected import selected, settled
from srcgraph.opt.ad.tape import assemble
from srcgraph.opt.ad.unused import Unused
from srcgraph.opt.dce import dce
from srcgraph.opt.inline import put_in


@dataclass(frozen=True, slots=True)
class Derived:
    """A gradient's graph: its results are those kept of the primal, then one cotangent per input.

    Attributes
    ----------
    tape : tuple of Choice
        How the reverse sweep comes by each value that it reads.
    callees : mapping
        The functions it calls, with what each changes.
    """

    graph: Graph
    tape: tuple[Choice, ...]
    callees: Callees = field(default_factory=dict)


def gradient(
    graph: Graph,
    output: int,
    inputs: Sequence[int],
    kept: Sequence[int] = (),
    callees: Callees = NO_CALLEES,
    rules: Mapping[str, Graph] = MappingProxyType({}),
    checkpoint: Checkpointing | None = None,
    watch: Watch | None = None,
) -> Derived:
    """Differentiate one scalar result with respect to parameters.

    Parameters
    ----------
    graph : Graph
        Closed.
    output : int
        Which result.
    inputs : sequence of int
        Which parameters.
    kept : sequence of int
        Results of the primal to return first.
    callees : mapping
        The recursive functions it may call.
    rules : mapping
        The graphs of functions with rules of their own, and of these rules, by name.
    checkpoint : Checkpointing, optional
        Reverse the outermost loops from stored states.
    watch : callable, optional
        See `Reverse`.
    """
    if checkpoint is None and watch is None and (number := forwards(graph, inputs, output, rules)) is not None:
        pushed = pushforward(graph, {number: None}, [output], kept, callees)
        return Derived(pushed.graph, by_forward(graph, number), pushed.callees)
    asked = graph, [output], dict.fromkeys(inputs), kept
    if checkpoint is None or not checkpoint.spare:
        return _swept(*asked, callees, rules, one_like, checkpoint, watch)
    plain = _swept(*asked, callees, rules, one_like, watch=watch)
    size = tape_size(plain.tape, graph)
    if size == 0:
        return plain
    replayed = _swept(*asked, {**callees, **plain.callees}, rules, one_like, checkpoint, watch)
    if size is None:
        return replayed
    states = [c for c in replayed.tape if c.how == "states"]
    both = either(size, checkpoint.memory or 0, plain.graph, replayed.graph)
    return Derived(both, (*plain.tape, *states), replayed.callees)


def pullback(
    graph: Graph,
    outputs: Sequence[int],
    inputs: Sequence[int],
    kept: Sequence[int] = (),
    callees: Callees = NO_CALLEES,
    rules: Mapping[str, Graph] = MappingProxyType({}),
    running: Sequence[int] = (),
) -> Derived:
    """Differentiate several results, numbers or arrays, given their cotangents.

    See `gradient` for the parameters. The cotangents are parameters behind the others, in the order of ``outputs``; an
    array's must have the shape of the result. Before them come the cotangents so far of ``running``, some of the
    inputs, to which theirs are added.
    """
    sums = [Value(d_name(graph.params[k]), graph.params[k].type) for k in running]
    so_far = {k: len(graph.params) + j for j, k in enumerate(running)}
    taking = replace(graph, params=(*graph.params, *sums))
    return _swept(taking, outputs, {k: so_far.get(k) for k in inputs}, kept, callees, rules, _given)


Seed: TypeAlias = Callable[[Builder, Value], Value]
"""From a result to its cotangent, in the builder that holds both sweeps."""


def _given(builder: Builder, result: Value) -> Value:
    return builder.param(d_name(result) or "d_result", builder.unknown_sizes(result.type))


def _swept(
    graph: Graph,
    outputs: Sequence[int],
    inputs: Mapping[int, int | None],
    kept: Sequence[int],
    callees: Callees,
    rules: Mapping[str, Graph],
    seed: Seed,
    checkpoint: Checkpointing | None = None,
    watch: Watch | None = None,
) -> Derived:
    """``inputs`` may say which parameter has the cotangent that one's starts from."""
    whole = with_functions(graph, callees, rules)
    steps = _Steps(dict(callees), rules)
    checkpoints = Checkpoints(checkpoint, steps, callees)
    expanded = expand(whole, rules, list(inputs), outputs, checkpoints=checkpoints)
    ready, carried = (expanded.graph, ()) if watch else preaccumulated(expanded.graph, list(inputs), outputs)
    followed = follow_trips(ready)
    prepared = prepare(followed if watch else selected(followed, list(inputs), outputs))
    both, reversed_calls = _both_sweeps(prepared, outputs, inputs, kept, seed, watch)
    both = settled(both)
    both = released(both) if ready is not whole else dce(both)
    both = with_overwritten(with_known(both))
    residuals = choose(both, _as_released(reversed_calls, both))
    joined, tapes = assemble(both, residuals, prepared.loops)
    named = plain_names(joined)
    joined = put_in(named, expanded.backward) if expanded.backward else named
    main, functions = divided(joined, _function_name, steps.callees)
    return Derived(main, (*expanded.tape, *carried, *explain(residuals, tapes), *steps.tape), functions)


def _as_released(reversed_calls: Mapping[Value, Call], both: Graph) -> dict[Value, Call]:
    """The forward call for each reversed one, as it now is in the graph."""
    there = {c.outputs[0]: c for c in calls(both) if c.outputs}
    return {made: there.get(call.outputs[0], call) for made, call in reversed_calls.items()}


class _Steps:
    """Differentiates the steps of checkpointed loops, and remembers what that needs."""

    def __init__(self, callees: dict[str, tuple[Graph, Changes]], rules: Mapping[str, Graph]):
        self.callees = callees
        self.rules = rules
        self.tape: tuple[Choice, ...] = ()

    def __call__(self, step: Graph, outputs: Sequence[int], inputs: Sequence[int], running: Sequence[int]) -> Graph:
        derived = pullback(step, outputs, inputs, (), self.callees, self.rules, running)
        self.callees |= derived.callees
        self.tape += derived.tape
        return derived.graph


def _function_name(name: str) -> str:
    """``f_forward`` or ``f_reverse`` for a function of a sweep."""
    plain = name.split("@")[0]
    return f"{plain}_reverse" if name.endswith("r") else f"{plain}_forward"


def _both_sweeps(
    prepared: Prepared,
    outputs: Sequence[int],
    inputs: Mapping[int, int | None],
    kept: Sequence[int],
    seed: Seed,
    watch: Watch | None,
) -> tuple[Graph, dict[Value, Call]]:
    """The open graph with the reverse sweep appended, reading forward values wherever they are; what calls reverse."""
    forward = prepared.graph
    results = [forward.results[k] for k in outputs]
    wanted = [forward.params[k] for k in inputs]
    active = active_values(forward, wanted, results)
    functions = active_functions(forward, active)
    _refuse_unsupported(forward, active)
    builder = continued(forward)
    with building(builder):
        unused = Unused(forward, active)
        loops, lengths = prepared.loops, prepared.lengths
        reverse = Reverse(builder, active, loops, lengths, unused.guarded, functions, watch, unused.tests)
        for function in functions.values():
            reverse.define(function)
        for value, k in zip(wanted, inputs.values(), strict=True):
            if k is not None:
                reverse.begin(value, forward.params[k])
        for result in results:
            reverse.accumulate(result, reverse.own(reverse.sized(seed(builder, result), result)))
        reverse.nodes(forward)
        cts = [ct if (ct := reverse.ct(v)) is not None else zeros_of(v) for v in wanted]
        for value, ct in zip(wanted, cts, strict=True):
            _name_array(builder, ct, d_name(value))
    return builder.open_graph([*(forward.results[k] for k in kept), *cts]), reverse.calls


def _name_array(builder: Builder, value: Value, name: str) -> None:
    """Name an array, whatever it is known of its lengths."""
    if isinstance(value.type, ArrayType):
        builder.suggest(value, name)
        node = builder.definition(value)
        if node is not None and node.op.name == "with_shape":
            _name_array(builder, node.inputs[0], name)


def _refuse_unsupported(graph: Graph, active: frozenset[Value]) -> None:
    """What has no derivative yet must not come out as zero: that by complex numbers."""
    for node in all_nodes(graph):
        if isinstance(node, Apply) and not node.op.through_complex and through_complex(node, active):
            problem = Problem(
                f"{node.op.name}: its derivative for complex numbers is not supported",
                node.origin.loc,
                hint="write the real and the imaginary part as two numbers",
            )
            raise DerivativeError(problem)


def continued(graph: Graph) -> Builder:
    """A builder whose outermost region holds an open graph, to append to."""
    builder = Builder(graph.name)
    region = builder.region
    builder.reserve(frozenset(s for n in all_nodes(graph) for v in n.outputs for s in type_symbols(v.type)))
    builder.reserve(
        frozenset(s for n in all_nodes(graph) for g in node_graphs(n) for p in g.params for s in type_symbols(p.type))
    )
    builder.reserve(frozenset(s for p in graph.params for s in type_symbols(p.type)))
    builder.enter_params(region, graph.params)
    for node in graph.nodes:
        region.nodes.append(node)
        for value in node.outputs:
            builder.note(value, node if isinstance(node, Apply) else None)
    _note_inner(builder, graph)
    return builder


def _note_inner(builder: Builder, graph: Graph) -> None:
    """Make integers and definitions of inner regions known, as values that may be read later.

    A `while`'s test is left out: the reverse sweep replays the body, and sizes of the carry have one symbol in both.
    """
    for node in all_nodes(graph):
        for inner in (node.body,) if isinstance(node, While) else node_graphs(node):
            for value in inner.params:
                _note_integer(builder, value)
            for n in inner.nodes:
                for value in n.outputs:
                    _note_integer(builder, value)
                    if isinstance(n, Apply):
                        builder.define(value, n)


def _note_integer(builder: Builder, value: Value) -> None:
    if isinstance(value.type, ScalarType) and value.type.value is not None and value.type.value.symbol:
        builder.foreign.setdefault(value.type.value.symbol, value)


def plain_names(graph: Graph) -> Graph:
    """Inner graphs under their usual names again."""

    def node(n):
        if isinstance(n, Define):
            return replace(n, graph=replace(replace_names(n.graph), name=n.graph.name))
        graphs = {
            f: replace_names(getattr(n, f))
            for f in ("then", "orelse", "cond", "body")
            if isinstance(getattr(n, f, None), Graph)
        }
        return replace(n, **graphs) if graphs else n

    def replace_names(g: Graph) -> Graph:
        return replace(g, name=g.name.split("@")[0], nodes=tuple(map(node, g.nodes)))

    return replace(graph, nodes=tuple(map(node, graph.nodes)))
