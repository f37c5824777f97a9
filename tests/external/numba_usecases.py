"""The functions of numba's tests of control flow, recursion and indexing, with the arguments given there.

Its tests run with decorators that write down what the functions are called with.
"""

from __future__ import annotations

import sys
import types
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from judging import Case

from external.recording import Recorder, module_of, outside

VARIABLE = "SRCGRAPH_NUMBA"
TITLE = "numba"

FILES = {
    "test_flow_control": "flow control",
    "test_recursion": "recursion",
    "test_indexing": "indexing",
    "test_fancy_indexing": "fancy indexing",
}
USED = ("numba.tests.recursion_usecases",)


class Written:
    """A function that writes down its outermost calls."""

    def __init__(self, function: Callable, recorder: Recorder):
        self.py_func = function
        self.recorder = recorder
        self.depth = 0
        self.__name__ = getattr(function, "__name__", "function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.depth:
            self.recorder.add(self.py_func, args, kwargs)
        self.depth += 1
        try:
            return self.py_func(*args, **kwargs)
        finally:
            self.depth -= 1

    def compile(self, *_: Any) -> None:
        """Compiled functions are asked to."""


def cases(place: Path) -> Iterator[Case]:
    """One per test and function in it."""
    tests = place / "numba" / "tests"
    for stem, group in FILES.items():
        recorder = Recorder(group)
        with _decorators(recorder):
            helpers = {n: module_of(tests / f"{n.rpartition('.')[2]}.py", {}) for n in USED}
            sys.modules.update(helpers)
            try:
                module = module_of(tests / f"{stem}.py", {})
                _run(module, recorder)
            finally:
                for name in helpers:
                    sys.modules.pop(name, None)
        for case in recorder.cases():
            _plain(case.function)
            yield case


def _plain(function: Callable) -> None:
    """Let a function call the plain functions, not what wrote down."""
    for place, name, value in list(outside(function)):
        if isinstance(value, Written):
            if isinstance(place, dict):
                place[name] = value.py_func
            else:
                place.cell_contents = value.py_func
            _plain(value.py_func)


def _run(module: Any, recorder: Recorder) -> None:
    for value in list(vars(module).values()):
        if not (
            isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__
        ):
            continue
        for name in unittest.defaultTestLoader.getTestCaseNames(value):
            if not name.endswith("_npm"):  # the same again, in another mode
                recorder.run(f"{value.__name__}.{name}", getattr(value(name), name))


class _decorators:  # noqa: N801
    """While it is entered, numba's decorators write down."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder

    def __enter__(self) -> None:
        def decorator(*args: Any, **options: Any) -> Any:
            if args and isinstance(args[0], types.FunctionType):
                return Written(args[0], self.recorder)
            return lambda f: Written(f, self.recorder)

        self.before = {n: getattr(numba, n) for n in ("jit", "njit")}
        for name in self.before:
            setattr(numba, name, decorator)

    def __exit__(self, *_: Any) -> None:
        for name, value in self.before.items():
            setattr(numba, name, value)
