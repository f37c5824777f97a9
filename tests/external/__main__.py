"""``python -m external [SUITE...] [--plainly] [--only NAME] [--write FILE]``: judge suites, print what is not right."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from judging import Result, run

from external.report import SUITES, page, place


def main() -> None:
    parser = argparse.ArgumentParser(prog="external")
    parser.add_argument("suites", nargs="*", default=list(SUITES))
    parser.add_argument("--plainly", action="store_true", help="run the generated text without compiling it")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--write", type=Path, help="the Markdown file to write")
    options = parser.parse_args()
    found: dict[str, list[Result]] = {}
    for suite in options.suites:
        where = place(suite)
        if where is None:
            print(f"{suite}: {SUITES[suite].VARIABLE} is not set", file=sys.stderr)
            continue
        results = []
        for case in SUITES[suite].cases(where):
            if options.only in case.name:
                results.append(run(case, options.plainly))
                r = results[-1]
                print(f"{suite} {r.name}: {r.forward.kind} / {r.gradient.kind}", end="")
                print(
                    "".join(f"\n    {v.reason[:500]} {v.place}" for v in (r.forward, r.gradient) if v.reason),
                    flush=True,
                )
        found[suite] = results
        reasons = Counter(m for r in results for m in r.forward.reason.split("; ") if r.forward.kind == "refused")
        for reason, count in reasons.most_common():
            print(f"{count:4d}  {reason}")
    print(page(found, options.plainly))
    if options.write:
        options.write.write_text(page(found, options.plainly))


if __name__ == "__main__":
    main()
