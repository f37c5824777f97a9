"""What counts as a constant for derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.ir.op import composite, define, sample


def stop_gradient(x: Any) -> Any:
    """``x``, which derivatives take for a constant.

    Parameters
    ----------
    x : number, array, or tuple of these
        Arrays are copied.

    Returns
    -------
    same as ``x``

    Examples
    --------
    >>> stop_gradient(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    if isinstance(x, tuple):
        return tuple(stop_gradient(v) for v in x)
    return x.copy() if isinstance(x, np.ndarray) else x


stopped = define(
    name="stopped",
    doc="``x``, with derivative 0.",
    infer=lambda x: x,
    numpy=stop_gradient,
    emit={"cpu": "x"},
    samples=(sample("f64[3]"), sample("float")),
)


@composite("stop_gradient", python=stop_gradient, samples=(sample("i64[3]"),))
def stop_gradient_record(x: Any) -> Any:
    """``x``, which derivatives take for a constant."""
    if isinstance(x, tuple):
        return tuple(stop_gradient_record.expand(v) for v in x)
    return stopped(x)
