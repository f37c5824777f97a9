"""Time compiled functions and gradients against hand-written numba, in one run.

Prints medians and ratios; a ratio above its aim is marked. Rounds alternate between the two sides,
so that a busy machine slows both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import programs

import srcgraph as sg

ROUNDS = 15
FORWARD_AIM = 1.2
GRADIENT_AIM = 1.5


@dataclass(frozen=True)
class Case:
    """A program, its arguments (made anew for each call), and what its gradient is with respect to."""

    name: str
    plain: Callable
    hand: Callable
    hand_gradient: Callable
    argnums: int | tuple[int, ...]
    arguments: Callable[[], tuple[Any, ...]]


def cases() -> list[Case]:
    random = np.random.default_rng(0)
    targets = random.uniform(0.5, 20.0, 100_000)
    start = random.uniform(0.5, 1.5, 1000)
    features = random.normal(size=(20_000, 50))
    labels = np.sign(features @ random.normal(size=50) + random.normal(size=20_000))
    weights = 0.1 * random.normal(size=50)
    p = programs
    return [
        Case("scalar recurrence, 1e6 steps", p.recurrence, p.hand_recurrence, p.hand_recurrence_gradient, (0, 1),
             lambda: (0.9, 0.1, 1_000_000)),
        Case("Newton while, 1e5 roots", p.newton, p.hand_newton, p.hand_newton_gradient, 0, lambda: (targets,)),
        Case("in-place stencil, 1e3 x 1e3", p.stencil, p.hand_stencil, p.hand_stencil_gradient, (0, 1),
             lambda: (start.copy(), 0.05, 1000)),
        Case("logistic regression, 2e4 x 50", p.logistic, p.hand_logistic, p.hand_logistic_gradient, 0,
             lambda: (weights, features, labels)),
    ]  # fmt: skip


def medians(functions: Sequence[Callable], arguments: Callable[[], tuple[Any, ...]]) -> list[float]:
    """Median seconds of each function, rounds alternating."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for function, found in zip(functions, times, strict=True):
            given = arguments()
            start = time.perf_counter()
            function(*given)
            found.append(time.perf_counter() - start)
    return [statistics.median(t) for t in times]


def agree(x: Any, y: Any) -> bool:
    if isinstance(x, tuple):
        return all(agree(a, b) for a, b in zip(x, y, strict=True))
    return bool(np.allclose(x, y, rtol=1e-9, atol=1e-12))


def timed_first(function: Callable, arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """The result of the first call, and its seconds: compilation included."""
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def compare(label: str, ours: Callable, hand: Callable, arguments: Callable, aim: float) -> bool:
    """Print one row; whether it reaches its aim."""
    (x, built), (y, hand_built) = timed_first(ours, arguments()), timed_first(hand, arguments())
    if not agree(x, y):
        raise SystemExit(f"{label}: {x} and {y} differ")
    mine, theirs = medians([ours, hand], arguments)
    ratio = mine / theirs
    mark = "" if ratio <= aim else f"   above {aim}"
    print(f"{label:42s} {1e3 * mine:9.2f} {1e3 * theirs:9.2f} {ratio:7.2f}    {built:5.1f} {hand_built:5.1f}{mark}")
    return ratio <= aim


def main() -> None:
    print(f"{'':42s} {'ours ms':>9s} {'hand ms':>9s} {'ratio':>7s}    first call s (ours, hand)")
    good = []
    for case in cases():
        gradient = sg.value_and_grad(case.plain, argnums=case.argnums)
        good.append(compare(case.name, sg.compile(case.plain), case.hand, case.arguments, FORWARD_AIM))
        good.append(compare("  gradient", gradient, case.hand_gradient, case.arguments, GRADIENT_AIM))
    print(f"{sum(good)} of {len(good)} within {FORWARD_AIM} (forward) and {GRADIENT_AIM} (gradient)")


if __name__ == "__main__":
    main()
