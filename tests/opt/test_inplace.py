"""Stores in place, and the mode without them: every store is into a copy, and gives the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from harness import call_plainly, calls, compare, corpus, duplicate, label, outcome

import srcgraph as sg
from srcgraph.opt import FAST_RUN, db

APART = FAST_RUN.excluding("inplace")


def smooth(u, steps):
    for _ in range(steps):
        u[0] = u[-1]
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return np.sum(u)


def shifted(u, steps):
    v = np.zeros(len(u))
    for _ in range(steps):
        v[1:] = u[:-1]
        v[0] = u[0]
    u += v
    return u


@pytest.mark.parametrize("function", [smooth, shifted])
def test_no_array_is_stored_into_where_it_is(function: Any) -> None:
    """A copy stands before each store, where there is none otherwise; what comes of it is equal."""
    u = np.linspace(0.0, 1.0, 6) ** 2
    want, got = (sg.compile(function, mode=mode) for mode in (FAST_RUN, APART))
    one, other = u.copy(), u.copy()
    np.testing.assert_array_equal(got(other, 3), want(one, 3))
    np.testing.assert_array_equal(other, one)
    assert not any(c.why == "nothing is stored in place" for c in want.newest.generated.copies)
    assert sum(c.why == "nothing is stored in place" for c in got.newest.generated.copies) >= 2
    assert " = copy(" in got.python(u, 3) and "mode=FAST_RUN -inplace" in sg.inspect(got, u, 3).head
    if function is smooth:
        slope = sg.grad(smooth)(u, 3)
        np.testing.assert_array_equal(sg.grad(smooth, mode=APART)(u, 3), slope)


def test_each_store_has_a_copy() -> None:
    """A store into an element is in the line after the copy that it changes; the argument is filled at the end."""
    lines = sg.compile(smooth, mode=APART).python(np.ones(4), 1).splitlines()
    stores = [k for k, line in enumerate(lines) if re.match(r" *u\w*\[.*\] = .*# test_inplace", line)]
    assert len(stores) == 2 and all(" = copy(" in lines[k - 1] for k in stores), "\n".join(lines)


@pytest.mark.parametrize("program", corpus()[11::60], ids=label)
def test_programs_give_the_same(program: Any) -> None:
    args = next(iter(calls(program)))
    compiled = sg.compile(program, mode=APART, cache=False)
    found = outcome(lambda *given: call_plainly(compiled, *given), duplicate(args))
    compare(found, outcome(program, duplicate(args)), label(program))


def test_the_stage_is_in_the_summary() -> None:
    assert "-- inplace" in db.summary().splitlines() and FAST_RUN.inplace and not APART.inplace
