"""What users call to map a function over lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcgraph.errors import ArgumentError
from srcgraph.frontend.lane_axes import axes_of, check, entries
from srcgraph.frontend.lanes import Lanes
from srcgraph.runtime.api import MADE_BY, Compiled
from srcgraph.runtime.options import AnyMode, Options, options_of
from srcgraph.runtime.written import around, by_position, remembered, takes_any_number


def vmap(
    function: Callable | None = None,
    /,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    error_model: str | None = None,
    mode: AnyMode = None,
    cache: bool | None = None,
    parallel: bool | str | None = None,
) -> Any:
    """A function of whole arrays that calls ``function`` for each of their rows, or other lanes, in one loop.

    Parameters
    ----------
    function : function or Compiled
        Plain Python for one lane, or a derivative: ``vmap(grad(loss))`` gives the gradient of each example. Loops and
        branches run for each lane as they would alone.
    in_axes : int, None, or tuple of these
        The axis of the lanes in the arguments; None for what all lanes share. A tuple has an entry for each
        argument given by position; for a tuple, list, dict or object an entry may be one, with entries for what is in
        it. Arguments given by keyword are mapped along axis 0, unless the tuple has an entry for them.
    out_axes : int, or tuple of these
        The axis of the lanes in the results, in the structure of what the function returns.
    error_model, mode, cache, parallel : optional
        See `compile`; those of a compiled function are kept.

    Returns
    -------
    Compiled
        Takes the same arguments, with the axis of the lanes. Where the function returns numbers it returns arrays
        of one axis, where arrays, arrays with one axis more; tuples, lists, dicts and objects of these stay, and None.

    Raises
    ------
    ArgumentError, ValueError
        An argument has no such axis, or the numbers of lanes differ; the message names the arguments.

    Notes
    -----
    The result is that of a plain loop over the lanes, in order: a function that stores into its row changes the
    caller's array.

    Examples
    --------
    >>> def steps(x):
    ...     n = 0
    ...     while x > 1.0:
    ...         x, n = x / 2.0, n + 1
    ...     return n
    >>> vmap(steps)(np.array([1.0, 10.0, 1000.0]))
    array([ 0,  4, 10])
    """
    axes, out = axes_of(in_axes, "in_axes"), axes_of(out_axes, "out_axes")
    check(axes, out)
    if function is None:
        chosen = {"error_model": error_model, "mode": mode, "cache": cache, "parallel": parallel}
        return lambda f: vmap(f, in_axes, out_axes, **chosen)
    if not callable(function):
        raise ArgumentError(f"vmap: {function!r} is not a function")
    options = options_of(function, error_model=error_model, mode=mode, cache=cache, parallel=parallel)
    made = remembered(function, ("vmap", axes, out, options), lambda: _mapped(function, Lanes(axes, out), options))
    vars(made.py_func)[MADE_BY] = (vmap, (function, in_axes, out_axes))
    return made


vmap.maps = Lanes  # type: ignore[attr-defined]


def _mapped(function: Any, lanes: Lanes, options: Options) -> Compiled:
    """Those parameters that ``in_axes`` has no entry for are given by keyword."""
    first = by_position(function)
    count = len(lanes.in_axes) if isinstance(lanes.in_axes, tuple) else len(first)
    if count > len(first) and not takes_any_number(function):
        name = getattr(function, "__name__", "the function")
        takes = f"{name} takes {len(first)} arguments by position"
        raise ArgumentError(f"vmap: in_axes has {entries(count)}, but {takes}")
    return around(function, lanes, count, options)
