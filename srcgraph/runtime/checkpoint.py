"""What users mark to be run again in the reverse sweep: loops and functions."""

from __future__ import annotations

import re
import types
from importlib.util import find_spec
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.opt.ad.checkpoint import Checkpointing
from srcgraph.runtime.custom import CustomFunction

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


AUTO = 10**9
"""With ``"auto"``, how many bytes a tape, or the states in its place, may take."""


def checkpointing(given: Any, progress: bool = False) -> Checkpointing | None:
    """What ``checkpoint=`` and ``progress=`` ask for.

    Raises
    ------
    ArgumentError
        ``given`` is neither a number of states nor the memory for them.
    """
    if progress and find_spec("tqdm") is None:
        raise ArgumentError(Problem("progress needs tqdm, which is not installed", hint="pip install tqdm"))
    if given is None:
        if progress:
            why = "progress is shown of checkpointed loops only"
            raise ArgumentError(Problem(why, hint="give checkpoint=, such as checkpoint=50"))
        return None
    if given == "auto":
        return Checkpointing(memory=AUTO, spare=True, progress=progress)
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given > 0:
        return Checkpointing(snapshots=int(given), progress=progress)
    text = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kmgt]i?)?b\s*", given, re.IGNORECASE) if isinstance(given, str) else None
    if text is None:
        hint = "give a number of states, such as 50, the memory for them, such as '200 MB', or 'auto'"
        why = f"checkpoint={given!r} is neither a number of states nor an amount of memory"
        raise ArgumentError(Problem(why, hint=hint))
    memory = int(float(text[1]) * _UNITS[(text[2] or "").lower()])
    return Checkpointing(memory=memory, progress=progress)


class CheckpointedFunction(CustomFunction):
    """What `checkpoint` makes of a function."""

    kind = "checkpoint"
    again = True


def checkpoint(what: Any, snapshots: int | str | None = None) -> Any:
    """Mark a loop, or a function, to be run again in the reverse sweep of a gradient, so that it needs less memory.

    Parameters
    ----------
    what : iterable, bool or function
        What a ``for`` loops over, or the test of a ``while``; or a plain Python function.
    snapshots : int or str, optional
        For a loop, how many of its states are stored, or the memory for them, such as ``"200 MB"``; 20 if not given.
        See ``checkpoint`` of `grad`.

    Returns
    -------
    ``what`` itself, or the function, of which a call saves nothing but its arguments.

    Raises
    ------
    ArgumentError
        ``snapshots`` is neither a number nor an amount of memory.

    Notes
    -----
    Where no gradient is taken, and in forward mode, it changes nothing. Values are the same with and without: steps
    that run again compute what they did. What they do is done again, so what is marked must not print, nor draw
    random numbers.

    References
    ----------
    Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 12.

    Examples
    --------
    >>> def power(x, n):
    ...     y = 1.0
    ...     for _ in checkpoint(range(n), 5):
    ...         y *= x
    ...     return y
    >>> grad(power)(2.0, 3)
    12.0
    """
    if isinstance(what, types.FunctionType) or isinstance(getattr(what, "py_func", None), types.FunctionType):
        if snapshots is not None:
            raise ArgumentError("checkpoint of a function takes no snapshots: its arguments are all that is stored")
        return CheckpointedFunction(what)
    checkpointing(snapshots)
    return what


def marked(snapshots: Any = None) -> dict[str, int]:
    """What the mark of a loop says."""
    plan = checkpointing(20 if snapshots is None else snapshots)
    if plan is None or plan.spare:
        raise ArgumentError(f"checkpoint of a loop takes a number of states, or the memory for them, not {snapshots!r}")
    return {"snapshots": plan.snapshots or 0, "memory": plan.memory or 0}


checkpoint.marks = marked  # type: ignore[attr-defined]
