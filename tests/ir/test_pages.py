"""What is published for readers in other languages is what the code says: the schema, the examples, the ops."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from round_trip import check_round_trip

import srcgraph as sg
from srcgraph import ir
from srcgraph.ir.graph import Program
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS
from srcgraph.ir.schema import SCHEMA

ROOT = Path(sg.__file__).parent.parent


def test_schema_is_published(update_golden: bool) -> None:
    """The schema for other languages is the one that documents are checked against here."""
    page = ROOT / "docs" / "graph.schema.json"
    text = json.dumps(SCHEMA, indent=2) + "\n"
    if update_golden:
        page.write_text(text, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text


PAGE = (ROOT / "docs" / "instructions.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", re.findall(r"```instructions\n(.*?)```", PAGE, re.DOTALL))
def test_examples_of_the_page(text: str) -> None:
    graph = ir.from_instructions(text)
    check_round_trip(graph)
    main = graph.main if isinstance(graph, Program) else graph
    args, want = EXAMPLES[tuple(p.name for p in main.params)]
    assert interpret(graph, args) == [want]


EXAMPLES: dict[tuple[str, ...], tuple[list[Any], Any]] = {
    (): ([], 1.25),
    ("x", "y"): ([1.5, 2.0], 2.0),
    ("n", "x"): ([3, np.array([1.0, 1.5, 2.0])], 4.5),
    ("k",): ([5], 120),
}
"""By the names of the parameters of an example: what it is run on, and gives."""


def table_of_ops() -> str:
    """One line for each op: what a reader in another language has to know."""
    lines = [
        "# Ops",
        "",
        "The ops of graphs, see `instructions.md`. `tests/ir/test_pages.py` writes this page.",
        "",
    ]
    lines += ["| op | kind | attributes | |", "|---|---|---|---|"]
    for op in sorted(OPS.values(), key=lambda op: op.name):
        keys = [n for n, p in inspect.signature(op.infer).parameters.items() if p.kind is p.KEYWORD_ONLY]
        lines.append(f"| `{op.name}` | {op.kind} | {', '.join(keys)} | {op.doc.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def test_ops_are_listed(update_golden: bool) -> None:
    page = ROOT / "docs" / "ops.md"
    if update_golden:
        page.write_text(table_of_ops(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == table_of_ops()
