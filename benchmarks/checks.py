"""Time what the checks of indices cost that could not be proved: each program with and without them.

    python benchmarks/checks.py [NAME ...]

Without them, ``if not 0 <= i < n: raise IndexError(...)`` is taken out of the generated text before numba compiles it.
Programs in whose text there are none take no time for them and are counted as 1.0.
"""

from __future__ import annotations

import ast
import importlib
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

AIM = 1.05
ROUNDS = 15
SUITES = ("own", "npbench")


class _Without(ast.NodeTransformer):
    """Takes the checks out; ``found`` is how many."""

    def __init__(self) -> None:
        self.found = 0

    def visit_If(self, node: ast.If) -> Any:
        match node:
            case ast.If(body=[ast.Raise(exc=ast.Call(func=ast.Name(id="IndexError")))], orelse=[]):
                self.found += 1
                return ast.Pass()
        return self.generic_visit(node)


class Loading:
    """Stands for `load`; changes the text if it is told to."""

    def __init__(self, load: Callable):
        self.load, self.checked, self.found = load, True, 0

    def __call__(self, text: str, name: str) -> Any:
        without = _Without()
        tree = without.visit(ast.parse(text))
        self.found = without.found
        return self.load(text if self.checked else ast.unparse(tree), name)


def limit_threads() -> None:
    """One thread, before any library is imported; and nothing comes from the cache."""
    os.environ["SRCGRAPH_CACHE"] = "0"
    for library in ("OMP", "OPENBLAS", "NUMBA"):
        os.environ[f"{library}_NUM_THREADS"] = "1"


def programs(wanted: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What there is, and how to make it anew."""
    from measure import Absent

    for suite in SUITES:
        module = importlib.import_module(f"suites.{suite}")
        try:
            names = module.names()
        except Absent as error:
            print(f"{suite}: {error}")
            continue
        for name in (n for n in names if not wanted or any(w in n for w in wanted)):
            for what in module.asks(name):
                yield f"{name}, {what}", lambda m=module, n=name, w=what: m.program(n, w, "srcgraph", m.SIZES[0])


def cost(make: Callable[[], Any], loading: Loading) -> tuple[int, float]:
    """How many checks there are, and seconds with them over seconds without."""
    from measure import started

    loading.checked = True
    checked = started(make())
    found = loading.found
    if not found:
        return 0, 1.0
    loading.checked = False
    free = started(make())
    pairs = [(checked.round(), free.round()) for _ in range(ROUNDS)]
    return found, statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)


def main() -> None:
    limit_threads()
    from measure import Absent

    from srcgraph.runtime import specialization

    loading = specialization.load = Loading(specialization.load)  # type: ignore[assignment]
    ratios: dict[str, float] = {}
    for name, make in programs(sys.argv[1:]):
        try:
            found, ratios[name] = cost(make, loading)
        except Absent:
            continue
        if found:
            print(f"{name:44} {found:4} checks {ratios[name]:6.3f}", flush=True)
    mean = statistics.geometric_mean(ratios.values())
    print(f"\n{len(ratios)} programs, geometric mean {mean:.3f} (aim: {AIM})")


if __name__ == "__main__":
    main()
