"""Exception classes by name: Python's own, and those of the user's that a compiled function raises."""

from __future__ import annotations

import builtins

import numpy as np

TOO_LARGE = "an integer needs more than 64 bits; as np.int64(...) it would wrap"
"""What is said of results that Python has and a machine word has not."""

_NUMPY = {"np.linalg.LinAlgError": np.linalg.LinAlgError}
_OWN: dict[str, type[Exception]] = {}


def name_of(cls: type[Exception]) -> str:
    """The name a class goes by in graphs; a class of the user's is entered under it."""
    if getattr(builtins, cls.__name__, None) is cls:
        return cls.__name__
    if cls is np.linalg.LinAlgError:
        return "np.linalg.LinAlgError"
    name = f"{cls.__module__}.{cls.__qualname__}"
    k = 1
    while _OWN.setdefault(name, cls) is not cls:  # a class defined again, in a notebook or a function
        k += 1
        name = f"{cls.__module__}.{cls.__qualname__}.{k}"
    return name


def exception(name: str) -> type[Exception]:
    """The class of that name."""
    found = _OWN.get(name) or _NUMPY.get(name) or getattr(builtins, name)
    assert issubclass(found, Exception)
    return found


_LIMITS = ("64 bits", "float does not fit", "is a float in Python", "is complex", "is not supported")


def is_limit(message: object) -> bool:
    """Whether an exception says what compiled code cannot do, where Python goes on: no handler is meant for it."""
    return isinstance(message, str) and any(text in message for text in _LIMITS)


def own_names() -> list[str]:
    """The names of all classes of the user's."""
    return list(_OWN)


def is_known(name: str) -> bool:
    """Whether compiled code can make it: it is Python's own, or NumPy's."""
    return name not in _OWN
