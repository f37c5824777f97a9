"""Reverse mode in two versions: the value and what has to be saved, and the cotangents from that.

The second runs as often as the caller likes, on what the first has saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from srcgraph.errors import ArgumentError, DerivativeError, Problem
from srcgraph.frontend.template import NewArray, Out, Template, TupleOf, places
from srcgraph.ir.graph import Define, Graph
from srcgraph.ir.types import ArrayType, TensorType, is_complex
from srcgraph.opt.ad.functions import Callees, with_functions
from srcgraph.opt.ad.split import split
from srcgraph.opt.ad.vjp import pullback
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import BEFORE_SPLIT, DERIVED
from srcgraph.runtime.cotangents import Cotangents
from srcgraph.runtime.floats import placed, structured, with_places
from srcgraph.runtime.results import Make
from srcgraph.runtime.transforms import Kept, Numbered, Reverse, Version, derived_version, main_and_aux, moving


@dataclass(frozen=True, slots=True)
class Pullback:
    """The value, and what is saved for the reverse sweep.

    Parameters
    ----------
    argnums : tuple of int
        The arguments whose cotangents are asked for.
    has_aux : bool
        Whether the function returns (what is differentiated, anything else), which comes last then.
    """

    argnums: tuple[int, ...]
    has_aux: bool = False

    def __call__(self, version: Version) -> Version:
        if version.never:
            return version.raising()
        main, aux = main_and_aux(version, self.has_aux)
        chosen, inputs = list(with_places(version.arguments.values())), Numbered(0)
        cotangents = TupleOf(tuple(structured(*chosen[k], inputs) for k in self.argnums))
        if not inputs.seen:
            raise ArgumentError(f"vjp: no argument of {version.name} is a float")
        version, tree = moving(version, main, "vjp")
        outputs = list(dict.fromkeys(places(tree)))
        self.refuse(version, outputs)
        kept = Kept(version)
        parts = [kept.template(main)] + ([] if aux is None else [kept.template(aux)])
        derived = pullback(
            version.graph, outputs, inputs.seen, kept.results, callees=version.functions, rules=version.rules
        )
        callees = {n: (run_passes(g, DERIVED), changes) for n, (g, changes) in derived.callees.items()}
        halves = split(run_passes(derived.graph, BEFORE_SPLIT), len(kept.results), len(outputs))
        first = run_passes(halves.forward, DERIVED)
        saved = [_result(first, k) for k in range(len(kept.results), len(first.results))]
        template = TupleOf((parts[0], TupleOf(tuple(saved)), *parts[1:]))
        forward = derived_version(version, "vjp", first, template, reached(first, callees), derived.tape)
        graph = run_passes(halves.reverse, DERIVED)
        backward = derived_version(version, "pullback", graph, cotangents, reached(graph, callees), ())
        backward = replace(backward, arguments={}, private=())
        value, types = (
            placed(tree, outputs.index),
            tuple(v.type for v in graph.params[len(graph.params) - len(outputs) :]),
        )
        return replace(forward, reverse=Reverse(backward, value, types))

    def refuse(self, version: Version, outputs: Sequence[int]) -> None:
        if any(is_complex(version.graph.results[k].type) for k in outputs):
            hint = "return the real and the imaginary part"
            raise DerivativeError(Problem(f"vjp: {version.name} returns complex numbers", hint=hint))
        if not outputs:
            hint = "return a float, or an array of floats"
            raise DerivativeError(Problem(f"vjp: {version.name} returns no float", hint=hint))


def reached(graph: Graph, callees: Callees) -> Callees:
    """The functions that a graph calls, and those that these call."""
    whole = with_functions(graph, callees)
    return {n.graph.name: callees[n.graph.name] for n in whole.nodes if isinstance(n, Define)}


def _result(graph: Graph, k: int) -> Template:
    return NewArray(k) if isinstance(graph.results[k].type, ArrayType) else Out(k)


# -- outside of compiled functions -----------------------------------------------------------------------


def pulling(make: Make, tree: Template, types: Sequence[TensorType], second: Callable[[], Any]) -> Make:
    """Make of (value, what is saved, ...) what `vjp` returns: a function in place of what is saved.

    Parameters
    ----------
    tree, types
        See `Reverse`.
    second : function
        Gives the second version, which is compiled when it is first needed.
    """

    def made(outs: Sequence[Any], leaves: Sequence[Any], objects: Any) -> tuple[Any, ...]:
        value, saved, *aux = make(outs, leaves, objects)
        cotangents = Cotangents(tree, types, value)

        def pullback(cotangent: Any) -> Any:
            """The cotangents of the arguments, from one in the structure of the value."""
            return second().run_on([*saved, *cotangents.read(cotangent)])

        return value, pullback, *aux

    return made
