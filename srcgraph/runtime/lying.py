"""Versions for arguments that are arrays in Fortran's order, such as transposes: as quick as for those in C order.

As NumPy does, what is computed of them element by element is returned in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from srcgraph.frontend.template import ArgumentView, Fixed, NewArray, Out, Template, TupleOf
from srcgraph.infer.signature import ArrayArg, Skeleton
from srcgraph.ir.walk import kept_params
from srcgraph.opt.ordered import as_transposes, turned_results
from srcgraph.runtime.floats import ColumnArg, with_places
from srcgraph.runtime.transforms import Version


def as_it_lies(arg: Any, skeleton: Skeleton) -> Skeleton:
    """The skeleton of an argument that says so, too."""
    return replace(skeleton, turned=True) if isinstance(skeleton, ArrayArg) and arg.flags.fnc else skeleton


def whole_arrays(skeletons: Mapping[str, Skeleton]) -> Iterator[tuple[int, bool]]:
    """The positions of arguments that are arrays of several axes, and whether they lie in Fortran's order."""
    for skeleton, position in with_places(skeletons.values()):
        if isinstance(skeleton, ArrayArg) and not isinstance(skeleton, ColumnArg) and len(skeleton.shape) > 1:
            yield position, skeleton.turned


def in_order(version: Version, turned: Sequence[int]) -> Version:
    """A version that reads arguments in Fortran's order in the order of their memory, but for those that it changes.

    It says which lie so.
    """
    interface = version.interface
    changed = {*interface.changed, *interface.owned, *version.private, *kept_params(version.graph)}
    read = [k for k in turned if k not in changed]
    version = replace(version, turned=tuple(turned))
    if not read:
        return version
    graph = as_transposes(version.graph, read)
    if version.reverse is not None or version.rebound or version.lists:
        return replace(version, graph=graph)
    results = _new_arrays(version.template).difference(interface.changed.values())
    return replace(version, graph=turned_results(graph, results))


def _new_arrays(template: Template) -> set[int]:
    """The results that are returned as they are, alone or in a tuple, once."""
    items = template.items if isinstance(template, TupleOf) else (template,)
    if not all(isinstance(t, NewArray | ArgumentView | Out | Fixed) for t in items):
        return set()
    used = Counter(t.index for t in items if isinstance(t, NewArray))
    return {t.index for t in items if isinstance(t, NewArray) and t.view is None and used[t.index] == 1}
