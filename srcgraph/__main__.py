"""``python -m srcgraph``: commands for the shell.

Exit codes: 0, 1 if something is wrong with what is looked at, 2 if the command is not understood.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from srcgraph.runtime import cache


def main(given: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    parser = argparse.ArgumentParser("python -m srcgraph", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    about = commands.add_parser("cache", help="compiled code on disk")
    about.add_argument("action", choices=list(_ACTIONS), help="what to do with it")
    asked = parser.parse_args(given)
    try:
        return _ACTIONS[asked.action]()
    except (OSError, cache.NotTrustedError) as error:
        print(f"srcgraph: {error}", file=sys.stderr)
        return 1


def _info() -> int:
    found = cache.info()
    print(f"path     {found.path}")
    print(f"entries  {found.entries}")
    print(f"bytes    {found.bytes} of {found.most}")
    print(f"hits     {found.hits}")
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


_ACTIONS = {"info": _info, "clear": _clear, "path": _path, "verify": _verify}

if __name__ == "__main__":
    sys.exit(main())
