"""Tables of what became of recorded graphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from conformance.building import missing
from conformance.judging import PASSES, WAYS, Outcome, Way
from conformance.records import Record


def page(results: Sequence[tuple[Record, dict[Way, Outcome]]]) -> str:
    """A page of Markdown."""
    return "\n".join([*_head(), *_summary(results), *_lacking(results), *_failures(results), *_agreed(results), ""])


def _head() -> list[str]:
    return [
        "# Recorded tensor graphs",
        "",
        "Small tensor graphs, recorded with arguments and results while the tests of PyTensor ran, built from",
        "variables and run by the engines. `python -m conformance --write ../docs/conformance_graphs.md`, in `tests/`,",
        "writes this page; one graph of forty is compiled.",
        "",
        "*Right* is the recorded result: dtype, shape, and values to 1e-7 (1e-4 of single precision). *Plain* is what",
        "NumPy makes of the same text, where another was recorded: graphs had been rewritten before they were run.",
        "*Better* is right where both are not. What is *refused* counts as failed.",
        "",
    ]


def _of(results: Sequence[tuple[Record, dict[Way, Outcome]]], way: Way) -> list[tuple[Record, Outcome]]:
    return [(r, o[way]) for r, o in results if way in o]


def _summary(results: Sequence[tuple[Record, dict[Way, Outcome]]]) -> list[str]:
    lines = ["| way | graphs | supported | right | plain | better | refused | wrong | defect | of the supported pass |"]
    lines.append("|---|" + "---:|" * 9)
    for way in WAYS:
        kinds = Counter(o.kind for _, o in _of(results, way))
        total = sum(kinds.values())
        if not total:
            continue
        known, passed = total - kinds["unsupported"], sum(kinds[k] for k in PASSES)
        counts = " | ".join(str(kinds[k]) for k in ("right", "plain", "better", "refused", "wrong", "defect"))
        share = f"{100 * known / total:.1f} %"
        lines.append(f"| {way.name} | {total} | {known} ({share}) | {counts} | {100 * passed / max(known, 1):.1f} % |")
    return [*lines, ""]


def _lacking(results: Sequence[tuple[Record, dict[Way, Outcome]]]) -> list[str]:
    ops = Counter(name for r, _ in results for name in missing(r))
    if not ops:
        return []
    rows = [f"| {name} | {count} |" for name, count in ops.most_common()]
    return ["## Ops without a builder", "", "| op | graphs |", "|---|---:|", *rows, ""]


def _failures(results: Sequence[tuple[Record, dict[Way, Outcome]]]) -> list[str]:
    """A table of reasons, with how many graphs fail for each in each way."""
    ways = [w for w in WAYS if _of(results, w)]
    counts: dict[tuple[str, str], Counter[Way]] = {}
    for way in ways:
        for _, o in _of(results, way):
            if o.kind in ("refused", "wrong", "defect"):
                counts.setdefault((o.kind, _general(o.reason)), Counter())[way] += 1
    if not counts:
        return []
    ordered = sorted(counts.items(), key=lambda item: -max(item[1].values()))
    rows = [f"| {kind} | {why} | {' | '.join(str(c[w]) for w in ways)} |" for (kind, why), c in ordered]
    head = f"| | reason | {' | '.join(w.name for w in ways)} |"
    return ["## What fails", "", head, "|---|---|" + "---:|" * len(ways), *rows, ""]


def _agreed(results: Sequence[tuple[Record, dict[Way, Outcome]]]) -> list[str]:
    found = [(r, o[WAYS[0]]) for r, o in results if WAYS[0] in o and o[WAYS[0]].kind == "plain"]
    if not found:
        return []
    rows = [f"| {r.key[:8]} | {o.reason} | {_ops([r])} |" for r, o in found]
    return [
        "## Where NumPy agrees, and the record does not",
        "",
        "| graph | differs in | ops |",
        "|---|---|---|",
        *rows,
    ]


def _general(reason: str) -> str:
    """A reason without what is of one graph alone."""
    return re.sub(r"\b\d+\b", "N", reason)[:160].replace("|", "\\|").replace("<", "&lt;")


def _ops(found: Sequence[Record]) -> str:
    return ", ".join(dict.fromkeys(n.name for r in found for n in r.nodes))[:120]
