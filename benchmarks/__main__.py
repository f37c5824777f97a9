"""Time compiled functions and gradients against every peer that is installed.

    python benchmarks [NAME ...] [--suite own,npbench,gradbench] [--peers ...] [--quick] [--write]

A name selects the cases in which it occurs. Without a suite, the own cases are run, GradBench's, and NPBench's kernels
if SRCGRAPH_NPBENCH names a checkout of it. With `--write`, results are kept in benchmarks/results.json, where those of
other cases stay, and docs/benchmarks.md is made of all of them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

LIBRARIES = ("jax", "torch", "autograd", "numexpr")
SUITES = ["own", "gradbench", "npbench"]
THREADS = ("OMP", "MKL", "OPENBLAS", "NUMBA", "NUMEXPR", "VECLIB_MAXIMUM")


def limit_threads(count: int) -> None:
    """The same number of threads for every peer; before any of them is imported."""
    for name in THREADS:
        os.environ[f"{name}_NUM_THREADS"] = str(count)
    os.environ["NPROC"] = str(count)  # XLA's pool
    os.environ.pop("OPENBLAS_CORETYPE", None)  # the library knows which kernels suit
    os.environ["SRCGRAPH_CACHE"] = os.environ.get("SRCGRAPH_CACHE", "0")
    if count == 1:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()


def several(text: str) -> list[str]:
    return text.split(",")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="run the cases in whose names one of these occurs")
    parser.add_argument("--suite", type=several, default=SUITES, help="own,gradbench,npbench")
    parser.add_argument("--peers", type=several, help="these peers only, besides srcgraph: jax,torch")
    parser.add_argument("--size", default=None, help="own: full or small; npbench: S, M, L or paper")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a peer is given up")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--write", action="store_true", help="keep the results and write docs/benchmarks.md")
    parser.add_argument("--report", action="store_true", help="only write docs/benchmarks.md, of what was kept")
    return parser.parse_args()


def chosen(suite: ModuleType, names: list[str]) -> list[str]:
    return [case for case in suite.names() if not names or any(name in case for name in names)]


def main() -> int:
    given = options()
    limit_threads(given.threads)
    import by_dace
    import by_pythran
    from measure import Absent
    from report import Results, line
    from runner import Plan, run
    from workers import Workers

    results = Results()
    if given.report:
        results.write()
        return 0
    missing = [name for name in LIBRARIES if not importlib.util.find_spec(name)]
    missing += [name for name, peer in (("pythran", by_pythran), ("dace", by_dace)) if not peer.installed()]
    if missing:
        print("not installed and left out:", *missing)
    plan = Plan(rounds=3, at_least=2, seconds=1.0) if given.quick else Plan()
    workers = Workers(given.limit)
    for name in given.suite:
        suite = importlib.import_module(f"suites.{name}")
        try:
            cases = chosen(suite, given.names)
        except Absent as absent:
            print(f"{name} is left out: {absent}")
            continue
        peers = [p for p in suite.PEERS if not given.peers or p in given.peers or p == "srcgraph"]
        peers = [p for p in peers if p != "numba parallel" or given.threads > 1]
        for case in cases:
            size = given.size if given.size in suite.SIZES else suite.SIZES[0]
            for row in run(workers, suite, case, size, peers, plan):
                print(line(row), flush=True)
                results.add(row, keep=given.write)
    workers.close()
    if given.write:
        results.write()
    else:
        print(results.aims_reached())
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
