"""The tables of NumPy functions and array methods that are lowered with references, not values alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FUNCTIONS: dict[Any, Callable] = {}
METHODS: dict[str, Callable] = {}


def array_function(*functions: Any, method: str = "") -> Callable[[Callable], Callable]:
    """Enter the lowering of a NumPy function, and of the array method that means the same."""

    def decorate(lower: Callable) -> Callable:
        FUNCTIONS.update(dict.fromkeys(functions, lower))
        if method:
            METHODS[method] = lower
        return lower

    return decorate
