"""``python -m conformance [--engine NAME] [--every N] [--key KEY] [--write FILE]``: judge recorded graphs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.judging import PASSES, WAYS, Outcome, Way, judge
from conformance.records import VARIABLE, Record, records
from conformance.report import page

SAMPLE = 40
"""Of so many graphs, one is compiled."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="conformance")
    parser.add_argument("--engine", default="", help="only ways that use this engine")
    parser.add_argument("--every", type=int, default=1, help="one graph of so many")
    parser.add_argument("--key", default="", help="graphs whose keys begin with this")
    parser.add_argument("--quiet", action="store_true", help="do not print what fails")
    parser.add_argument("--write", type=Path, help="the Markdown file to write")
    options = parser.parse_args()
    found = records()
    if not found:
        print(f"{VARIABLE} is not set", file=sys.stderr)
        return
    results: list[tuple[Record, dict[Way, Outcome]]] = []
    for k, record in enumerate(found):
        if k % options.every or not record.key.startswith(options.key):
            continue
        compiled = k % SAMPLE == 0 or options.engine == "numba" or options.key
        ways = [w for w in WAYS if options.engine in ("", w.engine) and (w.engine != "numba" or compiled)]
        results.append((record, judge(record, ways)))
        if not options.quiet:
            _show(*results[-1])
    text = page(results)
    print(text)
    if options.write:
        options.write.write_text(text)


def _show(record: Record, outcomes: dict[Way, Outcome]) -> None:
    failed = {w.name: o for w, o in outcomes.items() if o.kind not in (*PASSES, "unsupported")}
    reasons = {(o.kind, o.reason) for o in failed.values()}
    if len(reasons) == 1 and len(failed) == len(outcomes):
        failed = {"every way": next(iter(failed.values()))}
    for way, o in failed.items():
        ops = " ".join(n.name.replace(" ", ":") for n in record.nodes[:8])
        print(f"{record.key[:8]} {way}: {o.kind}: {o.reason[:200]} [{ops}]", flush=True)
    agreed = {o.reason for o in outcomes.values() if o.kind == "plain"}
    if agreed:
        print(
            f"{record.key[:8]} plain: {agreed} [{' '.join(n.name.replace(' ', ':') for n in record.nodes[:8])}]",
            flush=True,
        )


if __name__ == "__main__":
    main()
