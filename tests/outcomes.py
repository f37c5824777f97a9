"""What calls give, how copies of arguments are made, and when two values are the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from harness import duplicate
from plainly import OtherDivision, plain_text, raised_by_text

import srcgraph as sg
from srcgraph.ir.interp import interpret
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.specialized import Specialization

RTOL = 1e-9
"""Sums are rounded in another order than in NumPy and BLAS."""


class Slow(Exception):
    """A call took longer than its limit."""


def attempt(function: Callable, args: tuple[Any, ...]) -> tuple[Any, Exception | None, tuple[Any, ...]]:
    """What a call on copies gives: value, exception, arguments afterwards."""
    own = copied(args)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*own), None, own
    except Slow:
        raise
    except Exception as error:
        return None, error, own


def copied(value: Any, known: dict[int, Any] | None = None) -> Any:
    """A deep copy; arrays keep their arrangement, and what is one object stays one."""
    known = {} if known is None else known
    if isinstance(value, list):
        return [copied(v, known) for v in value]
    if isinstance(value, dict):
        return {k: copied(v, known) for k, v in value.items()}
    if isinstance(value, tuple):
        items = [copied(v, known) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return duplicate(value, known)


_KINDS: dict[type, Any] = {float: np.floating, int: np.integer}
"""What a Python number may come back as: on another path the same name is a NumPy scalar, and joins to one."""


def differs(got: Any, want: Any, where: str = "result", joined: bool = False, rtol: float = RTOL) -> str:
    """How two values differ: in type, dtype, shape, or by more than rounding; '' if they do not."""
    if isinstance(want, tuple | list | dict):
        if type(got) is not type(want) or len(got) != len(want):
            return f"{where}: {got!r} for {want!r}"
        keys = list(want) if isinstance(want, dict) else range(len(want))
        return next((d for k in keys if (d := differs(got[k], want[k], f"{where}[{k!r}]", joined, rtol))), "")
    if joined and isinstance(want, int | np.integer | np.floating) and isinstance(got, float | np.number):
        return "" if close(got, want, rtol) else f"{where}: {got!r} for {want!r}"
    if type(got) is not type(want) and not isinstance(got, _KINDS.get(type(want), ())):
        return f"{where}: {got!r} of {type(got).__name__} for {want!r} of {type(want).__name__}"
    if joined and isinstance(want, np.ndarray) and isinstance(got, np.ndarray) and _wider(got.dtype, want.dtype):
        got = got.astype(want.dtype)
    if isinstance(want, np.ndarray | np.generic | int | float | complex):
        if isinstance(want, np.ndarray | np.generic) and (got.dtype, got.shape) != (want.dtype, want.shape):
            return f"{where}: {got.dtype}{got.shape} for {want.dtype}{want.shape}"
        return "" if close(got, want, rtol) else f"{where}: {got!r} for {want!r}"
    return "" if got == want else f"{where}: {got!r} for {want!r}"


def _wider(got: np.dtype, want: np.dtype) -> bool:
    """Whether a dtype came of a number that is NumPy's only on another path; Python's gives way to the array's."""
    return got.kind == want.kind and got.itemsize == 8 > want.itemsize


def close(got: Any, want: Any, rtol: float = RTOL) -> bool:
    x, y = np.asarray(got), np.asarray(want)
    if y.dtype.kind not in "fc":
        return bool(np.all(x == y))
    rtol = 2e-5 if y.dtype.itemsize == 4 * (1 + (y.dtype.kind == "c")) else rtol
    finite = np.abs(y[np.isfinite(y)])
    return np.allclose(x, y, rtol=rtol, atol=rtol * float(finite.max(initial=0.0)) * 1e-2, equal_nan=True)


# -- the numbers and arrays in a value --------------------------------------------------------------


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and arrays in a value, each with how it is reached."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, f"{path}[{k!r}]")
    elif isinstance(value, tuple | list):
        for k, v in enumerate(value):
            yield from leaves(v, f"{path}[{k}]")
    elif isinstance(value, np.ndarray | np.generic | float | int | complex):
        yield path, value


def values(found: Any) -> list[Any]:
    return [v for _, v in found]


def is_float(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def shifted(value: Any, steps: Iterator[np.ndarray], size: float) -> Any:
    """Every float moved along its direction."""
    if isinstance(value, dict):
        return {k: shifted(v, steps, size) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(shifted(v, steps, size) for v in value)
    if isinstance(value, complex):
        raise TypeError("a complex number")
    step = size * next(steps)
    if isinstance(value, np.ndarray):
        return (value + step).astype(value.dtype)
    return type(value)(value + step)


# -- without numba ----------------------------------------------------------------------------------


def call_plainly(compiled: sg.Compiled, *args: Any) -> Any:
    """Call without numba: the generated text is plain Python.

    Where a division of it has NumPy's meaning and Python's is another, the reference interpreter runs the graph.
    """
    version, found = compiled.version(compiled.bound(args, {}))
    before = copied(found.values)
    try:
        run = _plain(version.generated.text.text, version.generated.name)
        if version.generated.frame:
            run = WithDepth(run, version.generated.frame)
        return replace(version, run=raised_by_text(run, version.generated.text.text)).call(found)
    except OtherDivision:
        for x, y in zip(found.values, before, strict=False):
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = y
        if version.generated.frame:  # the functions it calls are not at hand
            return version.call(found)
        return replace(version, run=lambda *leaves: _interpreted(version, leaves)).call(found)


_plain = lru_cache(maxsize=64)(plain_text)


def _interpreted(version: Specialization, leaves: tuple[Any, ...]) -> Any:
    results = interpret(version.graph, leaves)
    for position, k in version.interface.changed.items():
        leaves[position][...] = results[k]
    outs = tuple(results[k] for k in version.interface.returned)
    return outs[0] if version.single else outs
