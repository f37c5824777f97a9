"""Derivative rules that users write: `custom_vjp` and `custom_jvp`.

Before a graph is differentiated, `expand` puts the rule of a call that matters in its place, with ops that exist for
this one derivative only:

- A rule for reverse mode is two graphs. The forward one runs on arguments that are ``held``: constants, for now. A
  ``custom_vjp`` node passes its results on and reads the arguments too; its rule is a call of the backward graph. In
  forward mode it is a call of that graph transposed, see `srcgraph.opt.ad.transpose`.
- A rule for forward mode is a graph from arguments, again held, and tangents to results and their tangents. For the
  tangents stands a ``tangent`` node: its value is 0, its derivative that of the argument. A ``custom_jvp`` node has the
  value of the result and the derivative of its tangent. So reverse mode follows: it transposes what is linear.

`released` then removes these ops, and the derivative is an ordinary graph: the next one differentiates through the
code of the rules. What is done to a tangent must be linear, which shows in the derivative: it reads no tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.closure import open_, rename_node, with_graphs
from srcgraph.ir.dims import substitute
from srcgraph.ir.graph import Apply, Call, For, Graph, Node, Rule, Value, While, node_graphs, node_inputs
from srcgraph.ir.op import OPS, ZERO, Op, current_builder
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ListType, is_inexact
from srcgraph.ir.walk import all_nodes, calls, definitions
from srcgraph.opt.ad import checkpoint
from srcgraph.opt.ad.activity import active_values, carries_derivative, dependent
from srcgraph.opt.ad.affine import check_cotangents, check_tangents, not_linear
from srcgraph.opt.ad.checkpoint import Checkpoints
from srcgraph.opt.ad.residuals import Choice
from srcgraph.opt.dce import dce
from srcgraph.opt.marks import is_mark


@dataclass(frozen=True, slots=True)
class Pull:
    """The backward graph of one call, and how many results, and residuals, the node has before the arguments."""

    callee: str
    results: int
    residuals: int


def _pulled(ct: Any, out: Any, *inputs: Value, pull: Pull) -> tuple[Value | None, ...]:
    """The cotangents of the arguments: the backward graph is called."""
    cts, outs = (ct, out) if isinstance(out, tuple) else ((ct,), (out,))
    given = [zeros_of(o) if c is None else c for c, o in zip(cts, outs, strict=True)]
    first = pull.results + pull.residuals
    residuals, moving = inputs[pull.results : first], inputs[first:]
    types, names = [v.type for v in moving], [f"d_{v.name}" if v.name else "" for v in moving]
    found = current_builder().call_graph(pull.callee, [*residuals, *given], types, names)
    return (*(None for _ in inputs[:first]), *found)


def _moved(tangents: Any, out: Any, *inputs: Value, pull: Pull) -> Any:
    """The tangents of the results: the backward graph, transposed, is called."""
    outs = out if isinstance(out, tuple) else (out,)
    first = pull.results + pull.residuals
    given = [zeros_of(v) if t is None else t for t, v in zip(tangents[first:], inputs[first:], strict=True)]
    types, names = [v.type for v in outs], [f"d_{v.name}" if v.name else "" for v in outs]
    found = current_builder().call_graph(pull.callee, [*inputs[pull.results : first], *outs, *given], types, names)
    return found if isinstance(out, tuple) else found[0]


HELD = Op(
    "held", "``x``, a constant for one derivative.", lambda x: x, lambda x: x, kind="structural", jvp=ZERO, vjp=ZERO
)
PULLED = Op(
    name="custom_vjp",
    doc="The first operands; the cotangents of the last ones are what the backward graph makes of residuals.",
    infer=lambda *types, pull: types[0] if pull.results == 1 else types[: pull.results],
    numpy=lambda *values, pull: values[0] if pull.results == 1 else values[: pull.results],
    kind="library",
    jvp=_moved,
    vjp=_pulled,
    fresh=True,
)
REPLAYED = replace(PULLED, name="replayed", through_complex=True)
"""The same of what is run again: the backward graph is a derivative as any other."""
TANGENT = Op(
    name="tangent",
    doc="0, with the derivative of ``x``.",
    infer=lambda x, of: x,
    numpy=lambda x, of: 0 * x,
    kind="structural",
    jvp=lambda t, out, x, of: t[0],
    vjp=lambda ct, out, x, of: (ct,),
)
PUSHED = Op(
    name="custom_jvp",
    doc="``x``, with the derivative of ``t``.",
    infer=lambda x, t: x,
    numpy=lambda x, t: x,
    kind="structural",
    jvp=lambda t, out, x, tx: t[1],
    vjp=lambda ct, out, x, tx: (None, ct),
    constant=(0,),
)


def _tied_tangent(tangents: Any, out: Value, y: Value, slope: Value, x: Value) -> Value | None:
    own, other = tangents[0], tangents[2]
    moved = None if other is None else OPS["mul"](slope, other)
    return own if moved is None else moved if own is None else OPS["add"](own, moved)


TIED = Op(
    name="tied",
    doc="``y``, with its own derivative and ``slope`` times that of ``x``.",
    infer=lambda y, slope, x: y,
    numpy=lambda y, slope, x: y,
    jvp=_tied_tangent,
    vjp=lambda ct, out, y, slope, x: (ct, None, OPS["mul"](ct, slope)),
    constant=(1,),
    singular=True,
)


Transpose: TypeAlias = Callable[[Rule, Graph, int, Mapping[str, Graph]], Graph]


@dataclass(frozen=True, slots=True)
class Expanded:
    """A graph with rules in place of calls, and the graphs that its derivative will call."""

    graph: Graph
    backward: Mapping[str, Graph]
    tape: tuple[Choice, ...] = ()


def expand(
    graph: Graph,
    graphs: Mapping[str, Graph],
    inputs: Sequence[int],
    outputs: Sequence[int],
    transposed: Transpose | None = None,
    checkpoints: Checkpoints | None = None,
) -> Expanded:
    """Put rules in place of the calls through which the derivative of ``outputs`` by ``inputs`` passes.

    Parameters
    ----------
    graph : Graph
        Closed.
    graphs : mapping
        The callees and the graphs of their rules, by name.
    inputs, outputs : sequence of int
        Parameters and results.
    transposed : callable, optional
        For forward mode, what makes of a backward graph, and how many residuals it takes, one that takes also the
        results of the function, for their shapes, and tangents of its arguments, and returns those of the results.
    checkpoints : Checkpoints, optional
        Which loops are reversed from stored states.

    Raises
    ------
    DerivativeError
        A rule is none for what matters.
    """
    backward: dict[str, Graph] = {}
    rules = True
    tape: tuple[Choice, ...] = ()
    again = checkpoints is not None and (checkpoints.plan is not None or any(map(is_mark, all_nodes(graph))))
    graph = _sources(graph, graphs, inputs, outputs)
    while again or any(call.rule is not None for call in calls(graph)):
        opened = open_(graph)
        wanted, results = [opened.params[k] for k in inputs], [opened.results[k] for k in outputs]
        active = active_values(opened, wanted, results)
        if not again and all(c.rule is None or active.isdisjoint(c.outputs) for c in calls(opened)):
            break
        work = _Expand(graph.name, graphs, active, transposed, rules, checkpoints)
        graph = _sources(work.run(opened), graphs, inputs, outputs)
        backward |= work.backward
        tape += work.tape
        rules = again = False  # what is left is applied to tangents: it is linear as it is
    return Expanded(graph, backward, tape)


def _sources(graph: Graph, graphs: Mapping[str, Graph], inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
    """A graph where kernels stand only for functions that the derivative does not pass through."""
    while any(call.native is not None for call in calls(graph)):
        opened = open_(graph)
        active = active_values(opened, [opened.params[k] for k in inputs], [opened.results[k] for k in outputs])
        if all(c.native is None or active.isdisjoint(c.outputs) for c in calls(opened)):
            break
        graph = _Sources(graph.name, graphs, active).run(opened)
    return graph


class _Sources(Rebuild):
    def __init__(self, name: str, graphs: Mapping[str, Graph], active: frozenset[Value]):
        super().__init__(name)
        self.graphs = graphs
        self.active = active

    def call(self, node: Call) -> Sequence[Value]:
        if node.native is None or self.active.isdisjoint(node.outputs):
            return super().call(node)
        return self.put(self.graphs[node.callee], self.values(node.inputs))


class _Expand(Rebuild):
    def __init__(
        self,
        name: str,
        graphs: Mapping[str, Graph],
        active: frozenset[Value],
        transposed: Transpose | None,
        rules: bool,
        checkpoints: Checkpoints | None,
    ):
        super().__init__(name)
        self.checkpoints = checkpoints
        self.graphs = graphs
        self.active = active
        self.transposed = transposed
        self.rules = rules
        self.backward: dict[str, Graph] = {}
        self.tape: tuple[Choice, ...] = ()

    def call(self, node: Call) -> Sequence[Value]:
        if node.rule is None or self.active.isdisjoint(node.outputs):
            return super().call(node)
        inputs = self.values(node.inputs)
        if not self.rules:
            return self.put(self.graphs[node.callee], inputs)
        self.refuse(node, node.rule)
        if not node.rule.forward:
            return self.run_again(node, node.rule, inputs)
        if node.rule.backward:
            return self.pulled(node, node.rule, inputs)
        return self.pushed(node, node.rule, inputs)

    def refuse(self, node: Call, rule: Rule) -> None:
        """Where a rule says nothing, the derivative must not come out as zero."""
        depends = next((node.inputs[k] for k in rule.frozen if node.inputs[k] in self.active), None)
        if depends is not None:
            what = f"{depends.name!r}" if depends.name else "a number"
            why = f"the derivative depends on {what}, for which {rule.function} has no rule"
            hint = "only float arguments, and tuples of these, have cotangents: pass it as one"
            raise DerivativeError(Problem(why, node.origin.loc, hint=hint))
        for value in node.inputs:
            if isinstance(value.type, ListType):
                why = f"{rule.function}, which has a rule of its own, is given a list whose length is known at run time"
                raise DerivativeError(Problem(why, node.origin.loc, hint="pass an array"))

    # -- rules for reverse mode -----------------------------------------------------------------

    def pulled(self, node: Call, rule: Rule, inputs: Sequence[Value]) -> Sequence[Value]:
        """The forward graph's results, tied to the arguments."""
        made = self.put(self.graphs[rule.forward], [held(v) for v in inputs])
        outs = _fitted_results(self, node, rule, made)
        exact, residuals = [k for k, v in enumerate(outs) if is_inexact(v.type)], made[len(outs) :]
        wanted = [j for j, k in enumerate(rule.moving) if node.inputs[k] in self.active]
        graph, used, wanted = needed(self.graphs[rule.backward], len(residuals), wanted)
        kept = [residuals[k] for k in used]
        self.refuse_lists(node, rule, kept)
        if self.transposed:
            check_cotangents(rule.function, graph, len(used), node.origin.loc)
            graph = self.transposed(rule, graph, len(used), self.graphs)
        return self.tied(outs, exact, kept, [inputs[rule.moving[j]] for j in wanted], graph, rule.backward, rule=True)

    def tied(
        self,
        outs: list[Value],
        exact: Sequence[int],
        residuals: Sequence[Value],
        moving: Sequence[Value],
        backward: Graph,
        name: str,
        rule: bool = False,
    ) -> list[Value]:
        """Results, some of them with the derivative that a backward graph gives: of a user's rule, or one found."""
        callee = f"{name}@{len(self.backward)}"
        self.backward[callee] = backward
        operands = (*(outs[k] for k in exact), *residuals, *moving)
        op = PULLED if rule else REPLAYED
        tied = self.builder.apply(op, operands, {"pull": Pull(callee, len(exact), len(residuals))})
        for k, value in zip(exact, tied if isinstance(tied, tuple) else (tied,), strict=True):
            outs[k] = value
        return outs

    # -- what is run again ----------------------------------------------------------------------

    def run_again(self, node: Call, rule: Rule, inputs: Sequence[Value]) -> Sequence[Value]:
        """A function of which nothing is saved but its arguments."""
        graph = self.graphs[node.callee]
        if self.checkpoints is None:
            return self.put(graph, inputs)
        checkpoint.refuse_effects([graph], self.checkpoints.callees, "a function", node.origin.loc)
        given = [held(v) for v in inputs]
        exact = [k for k, v in enumerate(node.outputs) if v in self.active]
        wanted = [k for k in rule.moving if node.inputs[k] in self.active]
        opened = open_(graph)
        active = active_values(opened, [opened.params[k] for k in wanted], [opened.results[k] for k in exact])
        outs = list(self.put(checkpoint.Step(graph.name, _primal(self.graphs, active)).run(opened), given))
        derived = self.checkpoints.pullback(checkpoint.Unchecked(graph.name).run(graph), exact, wanted, ())
        backward, used, found = needed(derived, len(given), range(len(wanted)))
        residuals, moving = [given[k] for k in used], [inputs[wanted[j]] for j in found]
        return self.tied(outs, exact, residuals, moving, backward, node.callee)

    def for_(self, node: For) -> Sequence[Value]:
        return self.loop(node) or super().for_(node)

    def while_(self, node: While) -> Sequence[Value]:
        return self.loop(node) or super().while_(node)

    def loop(self, node: For | While) -> Sequence[Value]:
        """A checkpointed loop, if it is one."""
        points = self.checkpoints if self.rules else None
        plan = None if points is None else points.plan_of(node)
        if points is None or plan is None or self.active.isdisjoint(node.outputs):
            return ()
        try:
            made = checkpoint.replayed(self, node, self.active, points, plan, held, _primal(self.graphs, self.active))
        except DerivativeError:
            if plan.spare:  # it is not asked for whatever the loop is
                return ()
            raise
        self.tape += made.tape
        return self.tied(made.outputs, made.exact, made.residuals, made.moving, made.backward, "replayed")

    def refuse_lists(self, node: Call, rule: Rule, residuals: Sequence[Value]) -> None:
        if any(isinstance(v.type, ListType) for v in residuals):
            why = f"the rule of {rule.function} keeps a list whose length changes while the program runs"
            raise DerivativeError(Problem(why, node.origin.loc, hint="keep an array: np.array(items)"))

    # -- rules for forward mode -----------------------------------------------------------------

    def pushed(self, node: Call, rule: Rule, inputs: Sequence[Value]) -> Sequence[Value]:
        """The rule's results, with the derivatives of its tangents."""
        graph = self.graphs[rule.forward]
        first = len(graph.params) - len(rule.moving)
        check_tangents(rule.function, graph, first, len(node.outputs), node.origin.loc)
        tangents = [self.builder.apply(TANGENT, (inputs[k],), {"of": rule.function}) for k in rule.moving]
        made = self.put(graph, [*(held(v) for v in inputs), *tangents])
        outs, moved = _fitted_results(self, node, rule, made), iter(made[len(node.outputs) :])
        return [self.builder.apply(PUSHED, (v, next(moved)), {}) if is_inexact(v.type) else v for v in outs]


def _primal(graphs: Mapping[str, Graph], active: frozenset[Value]) -> checkpoint.Primal:
    """What a rule makes of a call's arguments, as where the derivative is taken: other code than the function's."""

    def made(work: Rebuild, node: Call) -> Sequence[Value]:
        rule = node.rule
        if rule is None or not rule.forward or active.isdisjoint(node.outputs):
            return Rebuild.call(work, node)
        inputs = work.values(node.inputs)
        tangents = () if rule.backward else [zeros_of(inputs[k]) for k in rule.moving]
        return _fitted_results(work, node, rule, work.put(graphs[rule.forward], [*inputs, *tangents]))

    return made


def _fitted_results(work: Rebuild, node: Call, rule: Rule, made: Sequence[Value]) -> list[Value]:
    """What a rule returns for a call, in the shapes that the function itself returns."""
    return [_fitted_result(work, rule, old, new) for old, new in zip(node.outputs, made, strict=False)]


def _fitted_result(work: Rebuild, rule: Rule, old: Value, new: Value) -> Value:
    if not isinstance(new.type, ArrayType):
        return new
    b = work.builder
    known = [substitute(d, work.symbols) if d.symbols() <= set(work.symbols) else None for d in old.type.shape]
    message = f"the rule of {rule.function} returns another shape than the function: lengths {{x}} and {{y}}"
    for want, size in zip(known, new.type.shape, strict=True):
        if want is not None and want != size:
            b.call_named("equal_size", b.dim_value(size), b.dim_value(want), error="ValueError", message=message)
    new = b.retype(new, [d if k is None else k for k, d in zip(known, new.type.shape, strict=True)])
    work.bind(old, new)
    return new


def held(value: Value) -> Value:
    if not carries_derivative(value.type):
        return value
    return current_builder().apply(HELD, (value,), {}, name=value.name)


def needed(backward: Graph, residuals: int, wanted: Sequence[int]) -> tuple[Graph, list[int], list[int]]:
    """A backward graph for some of its results only: with the residuals it reads, and those that are not zero."""
    made = definitions(backward)
    wanted = [k for k in wanted if not _is_zero(backward.results[k], made)] or list(wanted)  # all are if it raises
    graph = dce(replace(backward, results=tuple(backward.results[k] for k in wanted)))
    read = {v for n in graph.nodes for v in node_inputs(n)} | set(graph.results)
    used = [k for k, p in enumerate(graph.params[:residuals]) if p in read]
    params = (*(graph.params[k] for k in used), *graph.params[residuals:])
    return replace(graph, params=params), used, wanted


def _is_zero(value: Value, made: Mapping[Value, Node]) -> bool:
    """Whether a result is written as zero, or as an array of zeros."""
    node = made.get(value)
    if not isinstance(node, Apply):
        return False
    if node.op.name in ("full", "with_shape", "broadcast_to"):
        return _is_zero(node.inputs[0], made)
    return node.op.name == "zeros_like" or (node.op.name == "const" and node.attrs["value"] == 0.0)


# -- afterwards -------------------------------------------------------------------------------------


def released(graph: Graph) -> Graph:
    """Return an open graph without the ops that hold and tie values, and without what nothing needs.

    Raises
    ------
    DerivativeError
        A tangent is read: what a rule does to it is not linear.
    """
    out = dce(_without(graph, (HELD, PULLED, REPLAYED, PUSHED, TIED), {}))
    found = tangent_read(out)
    if found is not None:
        raise DerivativeError(not_linear(found.attrs["of"], found.origin.loc))
    return without_tangents(out)


def _without(graph: Graph, ops: Sequence[Op], env: dict[Value, Value]) -> Graph:
    """An open graph with the operands of these ops in place of their results."""
    nodes = []
    for before in graph.nodes:
        node = rename_node(before, env)
        if isinstance(node, Apply) and node.op in ops:
            env.update(zip(node.outputs, node.inputs, strict=False))
        else:
            nodes.append(with_graphs(node, [_without(g, ops, env) for g in node_graphs(node)]))
    return replace(graph, nodes=tuple(nodes), results=tuple(env.get(v, v) for v in graph.results))


def without_tangents(graph: Graph) -> Graph:
    """Return an open graph where tangents, of which only shapes are read, are the arguments."""
    return _without(graph, (TANGENT,), {})


def tangent_read(graph: Graph) -> Apply | None:
    """A tangent in an open graph whose value a result, or what may raise or be seen, depends on."""
    for node in all_nodes(graph):
        if isinstance(node, Apply) and node.op is TANGENT:
            varied = dependent(graph, node.outputs)
            ordered = (n for n in all_nodes(graph) if isinstance(n, Apply) and n.op.ordered and not is_mark(n))
            if not varied.isdisjoint(graph.results) or any(not varied.isdisjoint(n.inputs) for n in ordered):
                reader = next((n for n in all_nodes(graph) if node.outputs[0] in node_inputs(n)), node)
                return replace(node, origin=reader.origin if reader.origin.loc is not None else node.origin)
    return None
