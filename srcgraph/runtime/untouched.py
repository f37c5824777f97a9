"""A function that leaves its arguments as they are, made of one that may change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from srcgraph.runtime.pullbacks import reached
from srcgraph.runtime.transforms import Kept, Version, derived_version


@dataclass(frozen=True, slots=True)
class Untouched:
    """The same value, found on copies of what the function changes."""

    def __call__(self, version: Version) -> Version:
        if version.never:
            return version.raising()
        kept = Kept(version)
        template = kept.template(version.template)
        graph = replace(version.graph, results=tuple(version.graph.results[k] for k in kept.results))
        return derived_version(version, "value", graph, template, reached(graph, version.functions), version.tape)


def untouched(function: Callable) -> Callable:
    """What compiled functions call that need the value of a function more than once."""
    raise NotImplementedError("only compiled functions call it")


untouched.derives = Untouched  # type: ignore[attr-defined]
