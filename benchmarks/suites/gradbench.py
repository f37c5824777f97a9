"""GradBench's evals, see `gradbench`, at its own sizes, against what is written by hand: for numba, and in C++ by the
suite itself, where SRCGRAPH_GRADBENCH names a checkout of it."""

from __future__ import annotations

import functools
import importlib
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from gradbench import inputs, manual
from gradbench.__main__ import BY_HAND, PLAIN
from gradbench.__main__ import SIZES as EVALS
from measure import ROUND_SECONDS, Absent, Program

PEERS = ("srcgraph", "hand", "manual")
REFERENCE = {"value": "srcgraph", "gradient": "hand"}
SIZES = ("full",)
TOLERANCE = 1e-6


@functools.cache
def table() -> dict[str, tuple[str, dict[str, Any]]]:
    """Eval and sizes by the name of the case."""
    return {
        f"{name} {', '.join(f'{k}={v}' for k, v in sizes.items())}".strip(): (name, sizes)
        for name, several in EVALS.items()
        for sizes in several
    }


def names() -> list[str]:
    return list(table())


def functions(name: str) -> dict[str, Any]:
    return importlib.import_module(f"gradbench.{table()[name][0]}").FUNCTIONS


def asks(name: str) -> tuple[str, ...]:
    """The function itself, if the eval has it, and its derivative, of whatever kind."""
    found = functions(name).keys()
    return (("value",) if found & PLAIN else ()) + (("gradient",) if found - PLAIN else ())


def program(name: str, what: str, peer: str, size: str) -> Program:
    eval_name, sizes = table()[name]
    found = functions(name)
    asked = next(k for k in found if (k in PLAIN) == (what == "value"))
    function, made = found[asked], inputs.made(eval_name, sizes)
    if peer == "manual":
        return in_cpp(eval_name, asked, made)
    given = function.read(made)
    call = function.call
    if peer == "hand":
        if what == "value" or eval_name not in BY_HAND:
            raise Absent("not written")
        call = BY_HAND[eval_name]
    return Program(lambda: call, given, lambda result, _: list(parts(function.write(result))))


def in_cpp(name: str, function: str, given: Any) -> Program:
    """A program of the suite's, which reads its clock itself."""
    place = manual.checkout()
    if place is None or not manual.program(place, name).exists():
        raise Absent("SRCGRAPH_GRADBENCH names no checkout with this program")

    def call() -> Any:
        return manual.asked(place, name, function, given)[0]

    def seconds() -> float:
        return statistics.median(manual.asked(place, name, function, given, ROUND_SECONDS)[1])

    return Program(lambda: call, (), lambda result, _: list(parts(result)), seconds=seconds)


def parts(output: Any) -> Iterator[np.ndarray]:
    """The arrays in what an eval gives, in the order of their names."""
    if isinstance(output, dict):
        for key in sorted(output):
            yield from parts(output[key])
    else:
        yield np.asarray(output)
