"""Forward mode: from a closed graph to the closed graph of its value and the tangents of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from srcgraph.ir.closure import close, open_
from srcgraph.ir.graph import Define, Graph
from srcgraph.ir.op import building
from srcgraph.opt.ad.activity import active_values, converted
from srcgraph.opt.ad.custom import Transpose, expand, released
from srcgraph.opt.ad.forward import Forward, one_like
from srcgraph.opt.ad.functions import NO_CALLEES, Callees, active_functions, divided, with_functions
from srcgraph.opt.ad.vanishing import Vanishing
from srcgraph.opt.dce import dce
from srcgraph.opt.inline import put_in


@dataclass(frozen=True, slots=True)
class Pushed:
    """The graph of tangents: its results are those kept of the primal, then one tangent for each wanted result.

    Attributes
    ----------
    callees : mapping
        The functions it calls, with what each changes.
    """

    graph: Graph
    callees: Callees


def pushforward(
    graph: Graph,
    inputs: Mapping[int, int | None],
    outputs: Sequence[int],
    kept: Sequence[int] = (),
    callees: Callees = NO_CALLEES,
    rules: Mapping[str, Graph] = MappingProxyType({}),
    transposed: Transpose | None = None,
) -> Pushed:
    """The tangents of some results, given those of some parameters.

    Parameters
    ----------
    graph : Graph
        Closed.
    inputs : mapping
        For each parameter that moves, by position, which parameter holds its tangent; None for a number's that is 1.
    outputs : sequence of int
        The results whose tangents are wanted.
    kept : sequence of int
        Results of the primal to return first.
    callees : mapping
        The recursive functions it may call.
    rules : mapping
        The graphs of functions with rules of their own, and of these rules, by name.
    transposed : callable, optional
        What makes rules for forward mode of those for reverse mode, see `srcgraph.opt.ad.transpose`.
    """
    whole = with_functions(graph, callees, rules)
    expanded = expand(whole, rules, list(inputs), outputs, transposed)
    opened = open_(expanded.graph)
    results = [opened.results[k] for k in outputs]
    active = active_values(opened, [opened.params[k] for k in inputs], results)
    work = Forward(graph.name, active, active_functions(opened, active))
    if None in inputs.values():  # a gradient
        work.guarded = Vanishing(opened, active).guarded
    with building(work.builder):
        work.params(opened.params)
        functions = [n for n in opened.nodes if isinstance(n, Define)]
        work.nodes(functions)  # before there is anything that they must not see
        for k, tangent in inputs.items():
            param = opened.params[k]
            if tangent is None:
                work.move(param, one_like(work.builder, work.value(param)))
            else:
                work.move(param, work.checked(param, opened.params[tangent]))
                if param in work.tangents:
                    work.given.add(work.tangents[param])
        work.nodes([n for n in opened.nodes if not isinstance(n, Define)])
        tangents = [work.tangent_or_zero(v) for v in results]
        for k in (k for k, tangent in inputs.items() if tangent is None):  # a gradient, of the number's own kind
            tangents = [converted(work.builder, t, work.value(opened.params[k])) for t in tangents]
        made = work.builder.open_graph([*(work.value(opened.results[k]) for k in kept), *tangents])
        made = close(released(made) if expanded.graph is not whole else dce(made))
    made = put_in(made, expanded.backward) if expanded.backward else made
    return Pushed(*divided(made, lambda name: f"{name[:-1]}_jvp", callees))
