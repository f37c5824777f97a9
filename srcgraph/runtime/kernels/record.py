"""What a kernel is: a name, what it takes, and for each dtype a C function that is made when it is first needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcgraph.runtime.kernels.glue import Glue
from srcgraph.runtime.kernels.intrinsics import type_of
from srcgraph.runtime.kernels.machine import function

PREFIX = "srcgraph_kernel_"
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 5)
"""Calls a kernel from Python, without the GIL."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A kernel for one dtype.

    Attributes
    ----------
    kernel : Kernel
    dtype : np.dtype
    """

    kernel: Kernel
    dtype: np.dtype

    @property
    def symbol(self) -> str:
        """The name by which compiled code calls it."""
        return f"{PREFIX}{self.kernel.name}_{self.dtype.name}"

    @property
    def address(self) -> int:
        """Where it is in this process, made when it is first asked for."""
        return function(self.symbol, self.build)

    def enter(self) -> None:
        """Let compiled code find it."""
        assert self.address

    @property
    def ctypes(self) -> Any:
        """The function, to be called from Python with addresses."""
        return PROTOTYPE(self.address)

    def build(self) -> Glue:
        glue = Glue(self.symbol, self.dtype)
        self.kernel.write(glue)
        glue.finish()
        return glue


@dataclass(slots=True, eq=False)
class Kernel:
    """A C function per dtype: ``int64 k(void **outs, void **ins, int64 *dims, int64 *strides, int64 *flags)``.

    It allocates nothing. It returns 0; or 1, and has done nothing, if it cannot take arrays that lie like that.
    Strides are in bytes. It can be called from Python, and from compiled code, with arrays (or numbers) and integers.

    Attributes
    ----------
    name : str
    dtypes : str
        What it exists for, as characters of NumPy.
    doc : str
        What it computes of what.
    outs, ins, dims, strides, flags : str
        What it takes, in words.
    write : callable
        Writes its body.
    workspace : callable or None
        From its dims, and flags, to the numbers of elements of the arrays of its ``outs`` that it works in.
    """

    name: str
    dtypes: str
    doc: str
    outs: str
    ins: str
    dims: str
    strides: str
    flags: str
    write: Callable[[Glue], None]
    workspace: Callable[..., tuple[int, ...]] | None = None
    bound: dict[str, Bound] = field(default_factory=dict)
    _intrinsic: Any = None

    def __post_init__(self) -> None:
        self.bound = {np.dtype(c).name: Bound(self, np.dtype(c)) for c in self.dtypes}

    def for_dtype(self, dtype: Any) -> Bound:
        """The kernel for a dtype.

        Raises
        ------
        TypeError
            There is none.
        """
        found = self.bound.get(np.dtype(dtype).name)
        if found is None:
            raise TypeError(f"there is no kernel {self.name} for {np.dtype(dtype).name}")
        return found

    @property
    def _numba_type_(self) -> Any:
        if self._intrinsic is None:
            self._intrinsic = type_of(self)
        return self._intrinsic

    def __call__(
        self,
        outs: Sequence[Any],
        ins: Sequence[Any] = (),
        dims: Iterable[int] = (),
        strides: Iterable[int] = (),
        flags: Iterable[int] = (),
    ) -> int:
        """Call it from Python, with arrays in place of addresses; what it returns."""
        first = next(x for x in (*ins, *outs) if isinstance(x, np.ndarray))
        bound = self.for_dtype(first.dtype)
        numbers = [x if isinstance(x, np.ndarray) else np.array(x, bound.dtype) for x in ins]
        words = [(ctypes.c_int64 * max(len(n), 1))(*map(int, n)) for n in map(tuple, (dims, strides, flags))]
        return bound.ctypes(_addresses(outs), _addresses(numbers), *words)


def _addresses(arrays: Sequence[np.ndarray]) -> Any:
    found = [a.__array_interface__["data"][0] for a in arrays]
    return (ctypes.c_void_p * max(len(found), 1))(*found)


KERNELS: dict[str, Kernel] = {}
"""All there are, by name."""


def kernel(
    name: str,
    dtypes: str,
    doc: str,
    write: Callable[[Glue], None],
    workspace: Callable[..., tuple[int, ...]] | None = None,
    *,
    outs: str = "",
    ins: str = "",
    dims: str = "",
    strides: str = "",
    flags: str = "",
) -> Kernel:
    """Enter a kernel, see `Kernel`."""
    made = Kernel(name, dtypes, doc, outs, ins, dims, strides, flags, write, workspace)
    KERNELS[name] = made
    return made


def bound_of(symbol: str) -> Bound | None:
    """The kernel of a symbol."""
    name, _, dtype = symbol.removeprefix(PREFIX).rpartition("_")
    found = KERNELS.get(name) if symbol.startswith(PREFIX) else None
    return None if found is None else found.for_dtype(dtype)
