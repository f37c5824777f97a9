"""Extremes of which one operand is what the trip before computes, and remainders of what is mostly in range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

A, B = np.array([1, 2, 0, 1, 3, 3, 2]), np.array([2, 1, 1, 3, 0])


def edits(a, b):
    before = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        now = [i]
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            now.append(min(before[j] + 1, now[j - 1] + 1, before[j - 1] + cost))
        before = now
    return before[-1]


def edits_in_a_table(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    d[:, 0] = np.arange(len(a) + 1)
    d[0] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i, j - 1] + 1, d[i - 1, j] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return d


def common(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            d[i + 1, j + 1] = max(d[i + 1, j], d[i, j + 1], d[i, j] + (1 if a[i] == b[j] else 0))
    return d


@pytest.mark.parametrize("program", [edits, edits_in_a_table, common], ids=lambda p: p.__name__)
def test_tables(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    for a, b in ((A, B), (B, A), (A, A), (A[:1], B), (A, B[:1]), (A[:0], B[:0])):
        np.testing.assert_array_equal(compiled(a, b), program(a, b))


def test_what_waits_comes_last() -> None:
    text = sg.compile(edits).python(A, B)
    assert text[text.index("min(min(") :].split("#")[0].rstrip().endswith("int(now_left) + 1)"), text


def test_remainders() -> None:
    def remainder(k, n):
        return k % n

    def of_elements(ks, ns):
        out = np.zeros((len(ks), len(ns)), np.int64)
        for i in range(len(ks)):
            for j in range(len(ns)):
                out[i, j] = ks[i] % ns[j]
        return out

    compiled = sg.compile(remainder)
    far = 2**63 - 1
    for k in (-far, -9, -5, -1, 0, 1, 4, 5, 9, far):
        for n in (-far, -5, -1, 1, 2, 5, far):
            assert compiled(k, n) == k % n, (k, n)
        with pytest.raises(ZeroDivisionError):
            compiled(k, 0)
    ks, ns = np.array([-(2**63), -7, -1, 0, 3, 6, far]), np.array([-far, -6, -1, 1, 3, 7, far])
    np.testing.assert_array_equal(sg.compile(of_elements)(ks, ns), of_elements(ks, ns))
