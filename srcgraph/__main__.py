"""``python -m srcgraph``: commands for the shell.

Exit codes: 0, 1 if something is wrong with what is looked at, 2 if the command is not understood.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from srcgraph.runtime import cache, tuning


def main(given: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    parser = argparse.ArgumentParser("python -m srcgraph", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    about = commands.add_parser("cache", help="compiled code on disk")
    about.add_argument("action", choices=list(_ACTIONS), help="what to do with it")
    measure = commands.add_parser("tune", help="measure from which size on products are faster by BLAS")
    measure.add_argument("--forget", action="store_true", help="go back to what holds everywhere")
    asked = parser.parse_args(given)
    try:
        return _tune(asked.forget) if asked.command == "tune" else _ACTIONS[asked.action]()
    except BrokenPipeError:  # who reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, cache.NotTrustedError) as error:
        print(f"srcgraph: {error}", file=sys.stderr)
        return 1


def _info() -> int:
    found = cache.info()
    print(f"path     {found.path}")
    if found.problem:
        print(f"problem  {found.problem}")
    print(f"entries  {found.entries}")
    print(f"bytes    {found.bytes} of {found.most}")
    print(f"hits     {found.hits}")
    return 1 if found.problem else 0


def _list() -> int:
    now = time.time()
    print(f"{'function':<32} {'bytes':>10} {'hits':>5} {'age':>8} {'last used':>9}")
    for e in cache.entries():
        note = "" if e.reachable else "  never of use here again: see purge"
        print(f"{e.function:<32} {e.bytes:>10} {e.hits:>5} {_span(now - e.made):>8} {_span(now - e.used):>9}{note}")
    return 0


def _span(seconds: float) -> str:
    """A time that has passed, in its largest unit."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _stats() -> int:
    found, info = cache.entries(), cache.info()
    inside = sum(e.bytes for e in found)
    stale = [e for e in found if not e.reachable]
    print(f"functions    {len({e.function for e in found})}")
    print(f"entries      {len(found)}, {inside} bytes")
    print(f"of use here  {len(found) - len(stale)}, {inside - sum(e.bytes for e in stale)} bytes")
    print(f"shared       {info.bytes - inside} bytes of kernels, helpers and locks")
    print(f"hits         {info.hits}")
    print(f"never used   {sum(not e.hits for e in found)}")
    return 0


def _purge() -> int:
    print(f"{cache.purge()} removed, entries, kernels and helpers together")
    return 0


def _clear() -> int:
    print(f"{cache.clear()} entries removed")
    return 0


def _path() -> int:
    print(cache.path())
    return 0


def _verify() -> int:
    bad = cache.verify()
    for line in bad:
        print(line)
    print(f"{cache.info().entries} entries, {len(bad)} problems")
    return 1 if bad else 0


def _tune(forget: bool) -> int:
    if forget:
        kept = tuning.forget()
    else:
        found = tuning.tune()
        kept = found.kept
        for name, rows in found.times.items():
            print(f"{name}, multiplications: by loops, by BLAS in ns; loops up to {found.limits[name]}")
            for count, loops, library in rows:
                print(f"{count:>8} {loops:>9.1f} {library:>9.1f}")
    if not kept:
        print("srcgraph: nothing is kept on disk", file=sys.stderr)
    return 0 if kept else 1


_ACTIONS = {
    "info": _info, "list": _list, "stats": _stats, "path": _path, "verify": _verify, "clear": _clear, "purge": _purge,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
