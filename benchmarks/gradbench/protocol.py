"""What GradBench sends and expects: JSON values that become arguments, and results that become JSON values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Function:
    """One function of an eval.

    Attributes
    ----------
    read : function
        Arguments made of the input; not timed.
    call : function
        What is timed.
    write : function
        The output made of its result; not timed.
    """

    read: Callable[[Any], tuple[Any, ...]]
    call: Callable[..., Any]
    write: Callable[[Any], Any]

    def __call__(self, given: Any) -> Any:
        return self.write(self.call(*self.read(given)))


def numbers(x: Any) -> Any:
    """Numbers as JSON has them, nested as the axes are."""
    return np.asarray(x).tolist()


def arrays(*names: str) -> Callable[[Any], tuple[Any, ...]]:
    """Reads these entries of the input, lists as arrays."""

    def read(given: Any) -> tuple[Any, ...]:
        return tuple(np.array(given[k]) if isinstance(given[k], list) else given[k] for k in names)

    return read
