"""What `explain` says: stages, checks that are left, copies, instructions."""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg


def gathered(x, places, scale):
    total = 0.0
    for k in range(len(places)):
        total += x[places[k]] * (1.0 / scale)
    return total


def proved(x, y):
    total = 0.0
    for k in range(1, len(x) - 1):
        total += (x[k - 1] + x[k + 1]) / (1.0 + y * y)
    return total


def swapped(x, y):
    before = x.copy()
    x[:] = y
    return before


def test_checks_that_are_left() -> None:
    """With their lines, and how often they are done."""
    found = sg.explain(gathered, np.ones(3), np.array([0, 2]), 2.0)
    line = gathered.__code__.co_firstlineno
    rows = {(row.error, row.place, row.often) for row in found.checks}
    assert ("IndexError", f"test_explain.py:{line + 3}", f"each step of line {line + 2}") in rows
    assert {error for error, _, _ in rows} == {"IndexError", "ZeroDivisionError"}


def test_nothing_is_left() -> None:
    found = sg.explain(proved, np.ones(5), 1.0)
    assert not found.checks and not found.tape and not found.copies
    assert "checks\nnone" in repr(found)


def test_stages() -> None:
    """Every stage of what was compiled now takes time; a derivative has one more."""
    found = sg.explain(sg.grad(proved), np.ones(6), 1.0)
    assert {row.name for row in found.stages} >= {"reading", "rewriting", "differentiating", "writing"}
    assert all(row.ms > 0 for row in found.stages)
    assert "differentiating" not in {row.name for row in sg.explain(proved, np.ones(6), 1.0).stages}


def test_machine_code_of_a_version_that_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRCGRAPH_CACHE", "0")
    compiled = sg.compile(lambda x: x * 3.25 + 1.0)
    compiled(2.0)
    assert next(row.ms for row in sg.explain(compiled, 2.0).stages if row.name == "machine code") > 1.0


def test_it_is_not_called() -> None:
    x = np.zeros(3)
    sg.explain(swapped, x, np.ones(3))
    assert not x.any()


def test_what_is_stored() -> None:
    def squared(x, n):
        for _ in range(n):
            x = x * x + 0.1
        return x

    assert sg.explain(sg.grad(squared, mode=sg.opt.FAST_RUN.excluding("forward")), 0.5, 3).tape[0].choice == "array"


def test_instructions() -> None:
    found = sg.explain(proved, np.ones(5), 1.0)
    assert "define " in found.llvm and "ret" in found.asm


def test_html() -> None:
    assert "<table" in sg.explain(gathered, np.ones(3), np.array([0]), 1.0)._repr_html_()
