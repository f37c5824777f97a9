"""What a loop reads in every trip, if only with another sign or in part, is computed before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def negated(x, w):
    y = -(2.0 * x * x)
    total = 0.0
    for i in range(len(w)):
        for j in range(len(x)):
            total += y[j] * w[i]
    return total


def part_of_negated(x, w):
    z = (-(x * np.abs(x)))[1:]
    best = -np.inf
    for i in range(len(w)):
        for v in z:
            best = max(best, v + w[i])
    return best


def as_another_kind(x, w):
    y = (3.0 * x).astype(np.float32)
    out = w.copy()
    for i in range(len(w)):
        for j in range(len(x)):
            out[i] += y[j] * w[i]
    return np.sum(out)


@pytest.mark.parametrize("program", [negated, part_of_negated, as_another_kind], ids=lambda p: p.__name__)
def test_computed_before(program: Any) -> None:
    x, w = np.array([0.5, -1.25, 2.0]), np.array([0.25, 3.0])
    assert sg.compile(program)(x, w) == pytest.approx(program(x, w), rel=1e-14)
    lines = sg.inspect(program, x, w).cpu.split("\n")
    (nest,) = (k for k, line in enumerate(lines) if "for i in range(m)" in line)
    (product,) = (k for k, line in enumerate(lines) if "x[" in line)
    assert product < nest
