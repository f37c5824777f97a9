"""Time the evals at GradBench's own sizes against derivatives written by hand for numba, in one run.

    python -m gradbench [EVAL ...]

Prints the median milliseconds of a derivative, of the same by hand, and of the function itself, with their ratios, and
the seconds of the first call. Rounds alternate between the two sides, so that a busy machine slows both.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gradbench import hand, inputs

ROUNDS = 9
SIZES: dict[str, list[dict[str, Any]]] = {
    "gmm": [{"d": d, "k": k, "n": 1000, "m": 0, "gamma": 1.0} for d, k in ((2, 5), (10, 25), (20, 50))],
    "ba": [{"n": 49, "m": 7776, "p": 31843}],
    "ht": [{"vertices": 544, "points": 100, "us": us, "mirrored": False} for us in (False, True)],
    "lstm": [{"l": 2, "c": 1024, "b": 14}],
    "lse": [{"n": 10_000}, {"n": 1_280_000}],
    "llsq": [{"n": 128, "m": 128}, {"n": 16_392, "m": 128}],
    "det": [{"ell": 5}, {"ell": 8}],
    "kmeans": [{"n": 1000, "d": 8, "k": 10}, {"n": 10_000, "d": 16, "k": 100}],
    "ode": [{"n": 1000, "s": 10}, {"n": 10_000, "s": 100}],
    "particle": [{}],
    "saddle": [{}],
}
BY_HAND: dict[str, Callable] = {
    "gmm": hand.gmm_gradient,
    "lstm": hand.lstm_gradient,
    "lse": hand.lse_gradient,
    "llsq": hand.llsq_gradient,
    "det": hand.det_gradient,
    "kmeans": hand.kmeans_step,
    "ode": hand.ode_gradient,
    "particle": hand.particle_best,
}
PLAIN = {"primal", "objective", "cost"}


def main(names: list[str]) -> None:
    print(f"{'':52s} {'ms':>9s} {'by hand':>9s} {'ratio':>6s} {'plain':>9s} {'ratio':>6s} {'first s':>8s}")
    for name in names or SIZES:
        functions = importlib.import_module(f"gradbench.{name}").FUNCTIONS
        for sizes in SIZES[name]:
            label = f"{name} {', '.join(f'{k}={v}' for k, v in sizes.items())}"
            for function in functions.keys() - PLAIN:
                plain = next((functions[p] for p in functions if p in PLAIN), None)
                row(f"{label} {function}", functions[function], plain, BY_HAND.get(name), inputs.made(name, sizes))


def row(label: str, ours: Any, plain: Any, by_hand: Callable | None, given: Any) -> None:
    arguments = ours.read(given)
    start = time.perf_counter()
    result = ours.call(*arguments)
    first = time.perf_counter() - start
    others = [f for f in (by_hand, plain and plain.call) if f]
    if by_hand and not close(result, by_hand(*arguments)):
        raise SystemExit(f"{label}: differs from what is written by hand")
    mine, *rest = medians([ours.call, *others], arguments)
    cells = {f: f"{1e3 * t:9.3f} {mine / t:6.2f}" for f, t in zip(others, rest, strict=True)}
    nothing = " " * 16
    there = cells.get(plain and plain.call, nothing)
    print(f"{label:52s} {1e3 * mine:9.3f} {cells.get(by_hand, nothing)} {there} {first:8.1f}", flush=True)


def medians(functions: list[Callable], arguments: tuple[Any, ...]) -> list[float]:
    """Median seconds of each function, after a first call."""
    times: list[list[float]] = [[] for _ in functions]
    for k in range(ROUNDS + 1):
        for function, found in zip(functions, times, strict=True):
            start = time.perf_counter()
            function(*arguments)
            if k:
                found.append(time.perf_counter() - start)
    return [statistics.median(t) for t in times]


def close(x: Any, y: Any) -> bool:
    if isinstance(x, tuple):
        return all(close(a, b) for a, b in zip(x, y, strict=True))
    return np.allclose(x, y, rtol=1e-6, atol=1e-10)


if __name__ == "__main__":
    main(sys.argv[1:])
