"""Collects the functions and arguments that a test suite passes to its own tools, while its tests run."""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import io
import linecache
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judging import Case
from outcomes import Slow, copied, leaves

MOST = 12
"""Calls kept per function and test."""
_numbers = count()


@dataclass
class Recorder:
    """What was recorded, by test."""

    group: str
    test: str = ""
    found: dict[tuple[str, Any], Case] = field(default_factory=dict)
    tools: set[int] = field(default_factory=set)
    """The identities of what writes down; a case that calls one itself is about the suite's own tools, and left out."""

    def add(self, function: Callable, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Keep a call; what is not a Python function is wrapped in one that calls it."""
        key = (self.test, getattr(function, "__code__", function), repr(kwargs), len(args))
        if key not in self.found:
            plain = isinstance(function, types.FunctionType) and not kwargs
            chosen = function if plain else wrapped(function, len(args), kwargs or {})
            self.found[key] = Case(self.test, chosen, [], self.group)
        case = self.found[key]
        if len(case.calls) < MOST and all(repr(args) != repr(known) for known in case.calls):
            case.calls.append(copied(args))

    def run(self, name: str, test: Callable[[], Any]) -> None:
        """Run a test, however it ends: what it passed on until then is kept."""
        self.test = name
        quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        before = signal.signal(signal.SIGALRM, _stop)
        signal.alarm(20)
        try:
            with quiet[0], quiet[1], warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                test()
        except (Exception, pytest.fail.Exception):
            pass
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def cases(self) -> Iterator[Case]:
        """One per test and function; complex numbers are counted apart, and not differentiated."""
        for case in list(self.found.values()):
            if self.tools & set(map(id, reached(case.function))):
                continue
            plain = [args for args in case.calls if not has_complex(args)]
            if plain:
                yield Case(case.name, case.function, plain, case.group)
            if len(plain) < len(case.calls):
                rest = [args for args in case.calls if has_complex(args)]
                yield Case(f"{case.name} (complex)", case.function, rest, f"{case.group}, complex", False)


def reached(function: Callable) -> Iterator[Any]:
    """What a function and the functions it names read from outside."""
    todo, seen = [function], {id(function)}
    while todo:
        found = todo.pop()
        for _, _, value in outside(found):
            if id(value) in seen:
                continue
            seen.add(id(value))
            yield value
            if isinstance(value, types.FunctionType) and value.__module__ == found.__module__:
                todo.append(value)


def outside(function: Callable) -> Iterator[tuple[Any, str, Any]]:
    """Where a function reads from outside: the globals or the cell, the name, what is there now."""
    if not isinstance(function, types.FunctionType):
        return
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield function.__globals__, name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # an empty cell
            yield cell, name, cell.cell_contents


def _names(code: types.CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)


def _stop(*_: Any) -> None:
    raise Slow


def has_complex(args: tuple[Any, ...]) -> bool:
    return any(np.asarray(x).dtype.kind == "c" for _, x in leaves(args))


def wrapped(function: Callable, count: int, kwargs: dict[str, Any]) -> Callable:
    """A Python function that calls another with these keywords, as a user would write it."""
    names = ", ".join(f"x{k}" for k in range(count))
    options = "".join(f", {k}={v!r}" for k, v in kwargs.items())
    home = next((m for m in (np, np.linalg, np.fft, builtins) if _has(m, function)), None)
    spelled = {np: "np.", np.linalg: "np.linalg.", np.fft: "np.fft.", builtins: "", None: ""}[home]
    called = spelled + function.__name__ if home else "function"
    text = f"def wrapped({names}):\n    return {called}({names}{options})\n"
    file = f"<wrapped {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "function": function}
    exec(compile(text, file, "exec"), scope)
    return scope["wrapped"]


def _has(module: Any, function: Callable) -> bool:
    return getattr(module, getattr(function, "__name__", ""), None) is function


def module_of(file: Path, stand_ins: dict[str, Any]) -> Any:
    """A file as a module, imported while others have the place of the modules it imports."""
    name = f"external_{file.parent.name}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = {n: sys.modules.get(n) for n in stand_ins}
    sys.modules.update(stand_ins, **{name: module})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec.loader.exec_module(module)
    finally:
        for n, old in before.items():
            if old is None:
                sys.modules.pop(n, None)
            else:
                sys.modules[n] = old
    return module
