"""Arrays that are on a device already: how they pass through the signature of a call.

What is compiled is found by the types of NumPy's arrays. An array on a device is stood for by one of NumPy's of its
dtype, shape and strides, whose memory nobody reads, and which knows the array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem


class Standing:
    """The memory of an array that stands for one on a device.

    Attributes
    ----------
    array : object
        The array on the device: it has ``__cuda_array_interface__``, or is the simulator's.
    """

    def __init__(self, array: Any):
        self.array = array
        self.memory = np.empty(tuple(array.shape), np.dtype(array.dtype))
        self.__array_interface__ = self.memory.__array_interface__


def is_device_array(x: Any) -> bool:
    """Whether an argument is an array on a device."""
    return hasattr(x, "__cuda_array_interface__") or getattr(x, "__cuda_ndarray__", False)


def standing_in(args: Sequence[Any], names: Sequence[str]) -> tuple[Any, ...]:
    """The arguments of a call, with one of NumPy's arrays for each that is on a device.

    Raises
    ------
    ArgumentError
        The array has gaps, or axes in another order than C's.
    """
    known: dict[int, Any] = {}
    return tuple(_standing_in(a, name, known) for a, name in zip(args, names, strict=True))


def _standing_in(x: Any, name: str, seen: dict[int, Any]) -> Any:
    if type(x) is tuple:
        return tuple(_standing_in(v, name, seen) for v in x)
    if not is_device_array(x):
        return x
    if id(x) in seen:
        return seen[id(x)]
    known = getattr(x, "__cuda_array_interface__", None)
    strides = x.strides if known is None else known.get("strides")
    made = seen[id(x)] = np.asarray(Standing(x))
    if strides is not None and made.size and tuple(strides) != made.strides:
        raise ArgumentError(Problem(f"argument {name!r} is an array on the device that is not C-contiguous"))
    return made


def device_array_of(x: Any) -> Any:
    """The array on a device that ``x`` stands for, else None."""
    base = getattr(x, "base", None)
    return base.array if isinstance(base, Standing) else None


def span_of(x: Any) -> tuple[int, int]:
    """Where an array's memory on a device begins and ends."""
    known = getattr(x, "__cuda_array_interface__", None)
    first = x.__array_interface__["data"][0] if known is None else known["data"][0]
    return first, first + int(np.prod(x.shape)) * np.dtype(x.dtype).itemsize


def is_on_device(x: Any) -> bool:
    """Whether ``x`` stands for an array on a device."""
    return device_array_of(x) is not None


def with_device_arrays(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes a result, given the arrays on a device themselves in place of those that stand for them."""

    def made(outs: Any, leaves: Any, objects: Any) -> Any:
        return make(outs, [x if (own := device_array_of(x)) is None else own for x in leaves], objects)

    return made
