"""What tests of calls by machine code compare."""

from collections.abc import Callable
from typing import Any

import numpy as np

from srcgraph.runtime.calls import lists_of


def by_machine(made: Any, *args: Any, times: int = 3) -> Any:
    """A compiled function, called until it has a list for such arguments."""
    for _ in range(times):
        made(*args)
    assert type(made) is not made.general and lists_of(made)
    return made


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, so that it can be compared: values with their types, or what it raises."""
    try:
        return described(call())
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", []), type(error.__context__), error.__cause__


def described(x: Any) -> Any:
    if isinstance(x, tuple):
        return type(x), [described(item) for item in x]
    if isinstance(x, np.ndarray):
        return type(x), x.dtype, x.shape, x.strides, x.flags.writeable, x.tolist()
    return type(x), repr(x)


def plus(a, b):
    return a + b


def total(a, b):
    s = 0.0
    for k in range(len(a)):
        s += a[k] * b[k]
    return s


def store(a, b):
    a[0] = b[0] + 1.0


def stored(a, b):
    a[:2] += b[2:4]
    return a, len(b)


def parts(a, b):
    return a, 3, a * b, None, "text"
