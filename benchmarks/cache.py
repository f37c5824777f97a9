"""Time the first results of a process: nothing on disk, then everything.

Each row is a function of its own kind, in the order in which a process meets them; the first one has numba's own
set-up in it. Stages of the first run are timed by what they call.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from cases import CASES

AIM_FIRST = 0.5
AIM_NEXT = 0.03
NAMES = ("scalar recurrence, 1e6", "Newton while, 1e5 roots", "rod in place, 1e3 x 1e3", "logistic loss, 1e5 x 100")
STAGES = ("lowered", "derived", "generate", "load")


def timed(stages: dict[str, float], name: str, function: Callable) -> Callable:
    """A function whose time is added up; what it calls of the others counts there, too."""

    def run(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            stages[name] = stages.get(name, 0.0) + time.perf_counter() - began

    return run


def process() -> None:
    """Run everything once in this process; print times as JSON."""
    began = time.perf_counter()
    import srcgraph as sg
    from srcgraph.runtime import specialization

    imported = time.perf_counter() - began
    stages: dict[str, float] = {}
    for name in STAGES:
        setattr(specialization, name, timed(stages, name, getattr(specialization, name)))
    cases: list[tuple[str, Callable, Callable, tuple[Any, ...]]] = []
    for name in NAMES:
        case = CASES[name]
        cases.append((name, sg.compile, case.plain, case.arguments(True)))
        derived = functools.partial(sg.grad, argnums=case.argnums)
        cases.append((f"{name}, gradient", derived, case.plain, case.arguments(True)))
    rows = []
    for name, make, function, args in cases:
        began = time.perf_counter()
        make(function)(*args)
        rows.append((name, time.perf_counter() - began))
    found = sg.cache.info().process
    print(json.dumps([imported, rows, stages, found.compiled, found.misses]))


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as place:
        path = os.pathsep.join([os.path.dirname(here), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "SRCGRAPH_CACHE": "1", "SRCGRAPH_CACHE_DIR": place, "PYTHONPATH": path}
        runs = []
        for _ in range(4):
            done = subprocess.run(
                [sys.executable, __file__, "--run"], capture_output=True, text=True, env=env, check=True
            )
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    cold, warm = runs[0], runs[1:]
    print(f"{'milliseconds':36} {'cold':>8} {'warm':>8}")
    print(f"{'imports':36} {1e3 * cold[0]:8.0f} {1e3 * min(r[0] for r in warm):8.0f}")
    for k, (name, seconds) in enumerate(cold[1]):
        again = min(r[1][k][1] for r in warm)
        mark = "" if again < (AIM_NEXT if k else AIM_FIRST) else f"   aim: {1e3 * (AIM_NEXT if k else AIM_FIRST):.0f}"
        print(f"{name:36} {1e3 * seconds:8.0f} {1e3 * again:8.1f}{mark}")
    total = sum(seconds for _, seconds in cold[1])
    print("\nof the cold run: " + ", ".join(f"{name} {1e3 * cold[2].get(name, 0.0):.0f}" for name in STAGES))
    print(f"the rest, numba above all: {1e3 * (total - sum(cold[2].values())):.0f}")
    print(f"compiled by numba: cold {cold[3]}, warm {warm[-1][3]}; stages run when warm: {warm[-1][2] or 'none'}")


if __name__ == "__main__":
    process() if "--run" in sys.argv else main()
