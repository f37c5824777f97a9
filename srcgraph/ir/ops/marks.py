"""What a program says of the memory of its derivative. No value changes by it."""

from __future__ import annotations

from typing import TypeVar

from srcgraph.ir.op import define
from srcgraph.ir.types import PY_BOOL

T = TypeVar("T")


def save(x: T) -> T:
    """``x`` itself, which the reverse sweep of a gradient is to read from memory, not to compute again.

    What is computed in loops and needed by the reverse sweep is saved, or computed again from other values, whichever
    takes less memory; see `srcgraph.inspect`. This decides it for one value: where the reverse sweep needs ``x``, or
    something that it computes from ``x``, then ``x`` is saved.

    Parameters
    ----------
    x : number, array, or tuple of these
        Of an array, what it holds now.

    Returns
    -------
    ``x``

    Examples
    --------
    >>> save(2.0)
    2.0
    """
    return x


saved = define(
    name="saved",
    doc="True; says that the reverse sweep is to read ``x`` from memory.",
    infer=lambda x: PY_BOOL,
    numpy=lambda x: True,
    kind="effect",
)
replayed = define(
    name="replayed",
    doc="True; says of the loop whose body begins with it that it is reversed from so many stored states.",
    infer=lambda **plan: PY_BOOL,
    numpy=lambda **plan: True,
    kind="effect",
)
