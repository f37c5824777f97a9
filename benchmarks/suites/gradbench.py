"""GradBench's evals, see `gradbench`, at its own sizes, against what is written by hand for numba."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from gradbench import inputs
from gradbench.__main__ import BY_HAND, PLAIN
from gradbench.__main__ import SIZES as EVALS
from measure import Absent, Program

PEERS = ("srcgraph", "hand")
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
    function = found[next(k for k in found if (k in PLAIN) == (what == "value"))]
    given = function.read(inputs.made(eval_name, sizes))
    call = function.call
    if peer == "hand":
        if what == "value" or eval_name not in BY_HAND:
            raise Absent("not written")
        call = BY_HAND[eval_name]
    return Program(lambda: call, given, lambda result, _: list(leaves(result)))


def leaves(result: Any) -> Iterator[np.ndarray]:
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from leaves(part)
    else:
        yield np.asarray(result)
