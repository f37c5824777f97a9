"""Random programs about memory give what Python gives, or are refused: see `memory_programs`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from harness import Versions, assert_same, call_plainly, compare, interpreted, outcome
from memory_programs import load, program_text

import srcgraph as sg
from srcgraph.errors import InternalError, SrcgraphError

SEEDS = range(120)
TRIPS = (0, 1, 2, 3, 4)


def check(seed: int, text: str) -> bool:
    """Whether a program is accepted; what it gives is compared with Python."""
    f = load(text, f"memory {seed}")
    check_on_copies(f, text)
    versions, compiled = Versions(f), sg.compile(f)
    for n in TRIPS:
        args = (np.arange(1.0, 4.0), n)
        want = outcome(f, args)
        try:
            got = interpreted(versions, args)
        except SrcgraphError as error:
            assert not isinstance(error, InternalError), f"{error}\n{text}"
            return False
        compare(got, want, f"interp, n={n}\n{text}")
        compare(outcome(lambda *a: call_plainly(compiled, *a), args), want, f"generated text, n={n}\n{text}")
    return True


def check_on_copies(f: Callable, text: str) -> None:
    """As lowered for derivatives: the arguments are copies, which may be rebound and swapped more freely."""
    versions = Versions(f, distinct=True)
    for n in TRIPS:
        args = (np.arange(1.0, 4.0), n)
        try:
            got = interpreted(versions, args)
        except SrcgraphError as error:
            assert not isinstance(error, InternalError), f"{error}\n{text}"
            return
        assert_same(got.value, outcome(f, args).value, f"on copies, n={n}\n{text}")


@pytest.mark.parametrize("first", SEEDS[::10])
def test_memory(first: int) -> None:
    accepted = [check(seed, program_text(seed)) for seed in range(first, first + 10)]
    assert sum(accepted) >= 5, "most of these programs used to be accepted"


REFUSED_OR_RIGHT = {
    "swapped with another name": """
def f(x, n):
    a = x.copy()
    kept = a
    b = np.zeros_like(x)
    for _ in range(n):
        b[:] = a + 1.0
        a, b = b, a
    return np.sum(kept)
""",
    "argument swapped": """
def f(x, n):
    b = np.zeros_like(x)
    for _ in range(n):
        b[:] = x + 1.0
        x, b = b, x
    return np.sum(x)
""",
    "kept from an early trip": """
def f(x, n):
    a = x.copy()
    best = x.copy()
    for k in range(n):
        a[0] += 1.0
        if k == 0:
            best = a
    return np.sum(best)
""",
    "kept by a break": """
def f(x, n):
    a = x.copy()
    best = x.copy()
    i = 0
    while i < n:
        if a[0] < 5.0:
            best = a
            break
        i += 1
    a[0] = -1.0
    return np.sum(best)
""",
    "read beside what is changed": """
def f(x, n):
    a = x.copy()
    b = x * 2.0
    if n > 1:
        b = a
    a[1:] += b[:-1]
    return np.sum(a)
""",
    "read beside what is changed, after a loop": """
def f(x, n):
    a = x.copy()
    for _ in range(n):
        x = a
    a[1:] += x[:-1]
    return np.sum(a)
""",
    "bound in an inner loop": """
def f(x, n):
    a = x.copy()
    u = x * 2.0
    for _ in range(n):
        for _ in range(n):
            u = a
    u[0] = 9.0
    return np.sum(a)
""",
    "bound before continue": """
def f(x, n):
    u = x * 2.0
    for i in range(n):
        if i == 1:
            u = x
            continue
        u[0] += 1.0
    return np.sum(x)
""",
    "a view of what is swapped": """
def f(x, n):
    a = x.copy()
    b = np.zeros_like(x)
    part = a[1:]
    for _ in range(n):
        b[:] = a + 1.0
        a, b = b, a
    return np.sum(part) + np.sum(a)
""",
    "one of two, by a call": """
def pick(u, v, k):
    if k > 1:
        return u
    return v


def f(x, n):
    a = x.copy()
    b = pick(a, x, n)
    a[0] = 9.0
    return np.sum(b)
""",
}


@pytest.mark.parametrize("title", REFUSED_OR_RIGHT)
def test_memory_that_is_not_known(title: str) -> None:
    """Each of these once gave a wrong number."""
    check(0, REFUSED_OR_RIGHT[title])
