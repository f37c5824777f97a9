"""Generated text run as the plain Python it is, where what numba makes of it is not what is tested."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

from srcgraph.runtime.load import load


def natively(name: str, share: int = 14) -> bool:
    """Whether a text is compiled: one in ``share``, by default a fourteenth; all with SRCGRAPH_NATIVE=all.

    The others run as plain Python.
    """
    return os.environ.get("SRCGRAPH_NATIVE") == "all" or crc32(name.encode()) % share == 0


def plain_text(text: str, name: str) -> Callable:
    """The function in a generated module as plain Python: that is what the text says it is, and it need not compile."""
    namespace: dict[str, Any] = {"np": np}
    exec(text.replace("from numba import njit", "njit = lambda **options: lambda function: function"), namespace)
    return np.errstate(all="ignore")(namespace[name])


class OtherDivision(Exception):
    """A division has NumPy's meaning in the text, and Python's is another."""


def raised_by_text(run: Callable, text: str) -> Callable:
    """What runs a generated text as plain Python, where only its own ``raise`` may raise: nothing else checks then."""
    lines = text.splitlines()

    def call(*args: Any) -> Any:
        try:
            return run(*args)
        except (IndexError, ValueError, ZeroDivisionError, OverflowError) as error:
            place = list(traceback.walk_tb(error.__traceback__))[-1]
            line = lines[place[1] - 1].strip() if place[0].f_code.co_filename == "<string>" else ""
            if line.startswith("raise"):
                raise
            if isinstance(error, ArithmeticError):
                raise OtherDivision from error
            if line:
                raise AssertionError(f"not checked: {line}: {error}") from error
            raise

    return call


def load_plainly(text: str, name: str) -> tuple[Callable[..., Any], str]:
    """What `load` gives, as plain Python."""
    run = raised_by_text(plain_text(text, name), text)

    def call(*leaves: Any) -> Any:
        try:
            return run(*leaves)
        except OtherDivision:
            return load(text, name)[0](*leaves)

    return call, f"<{name} as Python>"
