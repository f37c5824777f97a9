"""Shared variables: named containers whose values live on between calls, and which compiled functions share.

A `SharedVariable` is a name for a `Container`; several may stand on one. A container keeps the type of its first
value (`Kind`), so that what is compiled for it stays right whatever is put in.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcgraph.ir.operators import Operators
from srcgraph.ir.types import NAME_OF, PYTHON_TYPE, WEAK_NAME

_KIND_OF_NUMBER = {python: dtype for dtype, python in PYTHON_TYPE.items()}
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Kind:
    """What a container may hold.

    Attributes
    ----------
    dtype : numpy.dtype
    ndim : int or None
        The number of axes of an array; None for a number.
    weak : bool
        Whether it is one of Python's numbers.
    """

    dtype: np.dtype
    ndim: int | None = None
    weak: bool = False

    def __str__(self) -> str:
        if self.ndim is None:
            return WEAK_NAME[self.dtype] if self.weak else f"numpy.{self.dtype}"
        return f"{self.dtype} array, {self.ndim} {'axis' if self.ndim == 1 else 'axes'}"

    def holds(self, value: Any) -> bool:
        """Whether a value is of this very kind."""
        return kind_of(value) == self

    def cast(self, value: Any, name: str = "") -> Any:
        """A value of this kind that equals one of another kind, an array without a copy if it is of this kind.

        Raises
        ------
        TypeError
            Something may be lost by NumPy's same-kind rules, or the number of axes is another one.
        OverflowError
            An integer does not fit.
        """
        if type(value) is int and not -(2**63) <= value < 2**63:
            if self.dtype.kind in "iub":
                raise OverflowError(f"{describe(name)} cannot hold {value}: integers have 64 bits here")
            value = float(value)
        found = value if isinstance(value, np.ndarray) else np.asarray(value)
        own = self.ndim or 0
        if found.dtype not in NAME_OF or not np.can_cast(found.dtype, self.dtype, "same_kind") or found.ndim != own:
            raise TypeError(_wrong(name, self, value))
        if self.ndim is not None:
            return np.asarray(found, self.dtype)
        number = found[()] if isinstance(value, np.ndarray) else value
        return (PYTHON_TYPE[self.dtype] if self.weak else self.dtype.type)(number)


@dataclass(frozen=True, slots=True)
class OtherKind:
    """Values of a class that has a constructor of its own; compiled functions cannot read them."""

    cls: type

    def __str__(self) -> str:
        return self.cls.__name__

    def holds(self, value: Any) -> bool:
        return isinstance(value, self.cls)

    def cast(self, value: Any, name: str = "") -> Any:
        if not self.holds(value):
            raise TypeError(_wrong(name, self, value))
        return value


def kind_of(value: Any) -> Kind | None:
    """The kind of a number or an array; None for anything else."""
    if type(value) in _KIND_OF_NUMBER:
        return Kind(_KIND_OF_NUMBER[type(value)], weak=True)
    if isinstance(value, np.generic) and value.dtype in NAME_OF:
        return Kind(value.dtype)
    if type(value) in (np.ndarray, np.memmap) and value.dtype in NAME_OF:
        return Kind(value.dtype, value.ndim)
    return None


def _wrong(name: str, kind: Kind | OtherKind, value: Any) -> str:
    given = kind_of(value) or f"a {type(value).__name__}"
    return f"{describe(name)} holds {kind}, not {given}: its type is that of its first value"


def describe(name: str | None) -> str:
    """A shared variable in messages."""
    return f"the shared variable {name!r}" if name else "a shared variable without a name"


_COUNT = itertools.count()


class Container:
    """A slot that compiled functions read when they begin, and write when they have finished.

    Attributes
    ----------
    value : object
        What it holds now.
    kind : Kind or OtherKind
    lock : threading.RLock
        Held while it is written, and while a function runs that may write it; see `held`.
    order : int
        Locks of several containers are taken in this order.
    """

    __slots__ = ("__weakref__", "kind", "lock", "order", "value")

    def __init__(self, kind: Kind | OtherKind, value: Any):
        self.kind = kind
        self.value = value
        self.lock = threading.RLock()
        self.order = next(_COUNT)

    def __reduce__(self) -> Any:
        return Container, (self.kind, self.value)

    def put(self, value: Any, name: str = "", strict: bool = False, borrow: bool = False) -> None:
        """Let it hold another value: a copy, unless ``borrow``."""
        if strict and not self.kind.holds(value):
            raise TypeError(_wrong(name, self.kind, value))
        own = self.kind.cast(value, name)
        if not borrow and isinstance(own, np.ndarray) and isinstance(value, np.ndarray):
            own = own.copy() if np.may_share_memory(own, value) else own
        with self.lock:
            self.value = own


@contextmanager
def held(containers: Iterable[Container]) -> Iterator[None]:
    """Hold the locks of several containers, in one order for all threads, so that none waits for the other."""
    with ExitStack() as stack:
        for container in sorted(containers, key=lambda c: c.order):
            stack.enter_context(container.lock)
        yield


class SharedVariable(Operators):
    """A named container for a number or an array, read and assigned as ``variable.value``.

    Compiled functions that read it from outside see what it holds when they are called. What they assign to it is put
    into it when they have finished, all variables together; a function that raises leaves them as they were.

    ``variable.value`` gives the container's own array, without a copy, so that ``variable.value[i] = x`` is a store
    into it, as for any attribute. Compiled functions never store into an array that was in a container when they were
    called: they put another one into it. So an array that was handed out by ``variable.value`` stays what it was
    when a compiled function updates the variable, and large weights are read without a copy. `get_value` copies,
    and so do ``variable.value = x`` and `set_value`, unless told to borrow.

    Parameters
    ----------
    name : str, optional
        For messages.
    value : number or array
        What it holds at first; its type is the type of all that come later.
    strict : bool
        Whether a value of another type is refused; else it is cast where NumPy's same-kind rules allow it.
    borrow : bool
        Whether an array is taken as it is, not copied.
    container : Container
        That of another variable, in place of a value: both see one value.
    frozen : bool
        Whether compiled functions take the value in as a constant: they keep what it was when they were compiled.

    Raises
    ------
    TypeError
        Both a value and a container are given, or neither; or the value is no number or array.
    """

    __slots__ = ("__weakref__", "container", "frozen", "name", "strict", "taken")
    HOLDS = ", or x.value == y of what it holds now"

    def __init__(
        self,
        name: str | None = None,
        value: Any = _ABSENT,
        strict: bool = False,
        borrow: bool = False,
        container: Container | None = None,
        frozen: bool = False,
    ):
        if (value is _ABSENT) == (container is None):
            given = "both a value and a container" if container is not None else "neither a value nor a container"
            raise TypeError(f"{describe(name)} is given {given}: give one of them")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of a shared variable is a string or None, not {name!r}")
        self.name, self.strict, self.frozen = name, strict, frozen
        self.container = self._first(value, borrow) if container is None else container
        self.taken: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        """The constants that compiled functions took in, if it is frozen."""

    def _first(self, value: Any, borrow: bool) -> Container:
        """A new container for a first value."""
        kind = kind_of(value) or self.kind_of_other(value)
        if kind is None:
            hint = f"convert it: np.asarray(...) of a {type(value).__name__}"
            raise TypeError(f"{describe(self.name)} holds a number or a NumPy array of numbers; {hint}")
        first = kind.cast(value, self.name or "")
        return Container(kind, first.copy() if isinstance(first, np.ndarray) and not borrow else first)

    @classmethod
    def kind_of_other(cls, value: Any) -> OtherKind | None:
        """What variables of a class derived from this one hold, if not numbers and arrays."""
        return None if cls is SharedVariable else OtherKind(type(value))

    @property
    def kind(self) -> Kind | OtherKind:
        """The type of what it holds."""
        return self.container.kind

    @property
    def value(self) -> Any:
        """What it holds now: an array is the container's own. No lock: a running function would be waited for."""
        return self.container.value

    @value.setter
    def value(self, value: Any) -> None:
        if value is not self.container.value:  # as after `variable.value += 1`
            self.set_value(value)

    def get_value(self, borrow: bool = False) -> Any:
        """What it holds now: a copy of an array, unless ``borrow``."""
        value = self.value
        return value.copy() if isinstance(value, np.ndarray) and not borrow else value

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Let it hold another value, cast to its type: a copy of an array, unless ``borrow``.

        Raises
        ------
        TypeError
            The value does not fit its type.
        """
        self.container.put(value, self.name or "", self.strict, borrow)

    def __reduce__(self) -> Any:
        """Copies stand on the same container, deep copies and what was pickled on one of their own."""
        return _restored, (type(self), self.name, self.container, self.strict, self.frozen)

    def __repr__(self) -> str:
        value = self.value
        frozen = ", frozen" if self.frozen else ""
        if isinstance(value, np.ndarray):
            return f"<shared {self.name or 'variable'}: {value.dtype} array of shape {value.shape}{frozen}>"
        return f"<shared {self.name or 'variable'}: {self.kind}, {value}{frozen}>"


def _restored(
    cls: type[SharedVariable], name: str | None, container: Container, strict: bool, frozen: bool
) -> SharedVariable:
    made = object.__new__(cls)
    SharedVariable.__init__(made, name, strict=strict, container=container, frozen=frozen)
    return made
