"""Copies of lists of arrays."""

from __future__ import annotations

from srcgraph.runtime.helpers import helper


@helper(any_layout=True)
def copies(xs):
    """A list of copies of the arrays in a list."""
    made = []
    for x in xs:
        made.append(x.copy())
    return made
