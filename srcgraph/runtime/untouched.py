"""A function that leaves its arguments as they are, made of one that may change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.graph import Apply
from srcgraph.ir.walk import all_nodes
from srcgraph.runtime.pullbacks import reached
from srcgraph.runtime.transforms import Kept, Version, derived_version


@dataclass(frozen=True, slots=True)
class Untouched:
    """The same value, found on copies of what the function changes."""

    def __call__(self, version: Version) -> Version:
        if version.never:
            return version.raising()
        _refuse_draws(version)
        kept = Kept(version)
        template = kept.template(version.template)
        graph = replace(version.graph, results=tuple(version.graph.results[k] for k in kept.results))
        return derived_version(version, "value", graph, template, reached(graph, version.functions), version.tape)


def _refuse_draws(version: Version) -> None:
    """What is evaluated several times would draw other numbers each time.

    Raises
    ------
    DerivativeError
        The function, or one that it calls, draws random numbers.
    """
    graphs = [version.graph, *(c[0] for c in reached(version.graph, version.functions).values())]
    draws = (n for g in graphs for n in all_nodes(g) if isinstance(n, Apply) and n.op.kind == "draw")
    if (drawn := next(draws, None)) is not None:
        why = "random numbers are drawn here, and Jacobians evaluate the function several times, with other draws each"
        hint = "draw before the call, and pass what was drawn: f(x, rng.normal(size=n))"
        raise DerivativeError(Problem(why, drawn.origin.loc, hint=hint))


def untouched(function: Callable) -> Callable:
    """What compiled functions call that need the value of a function more than once."""
    raise NotImplementedError("only compiled functions call it")


untouched.derives = Untouched  # type: ignore[attr-defined]
