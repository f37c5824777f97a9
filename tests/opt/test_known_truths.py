"""What is known to hold is asked no more: comparisons of a loop's numbers, and checks that cannot fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def of_a_bell(x: Any) -> Any:
    return math.exp(-0.5 * x * x) + math.exp(-x * x) + math.exp(-((x - 1.0) ** 2) / 2.0) + math.exp(-abs(x))


def of_a_root(x: Any) -> Any:
    return math.sqrt(x * x + 0.1) + math.log(1.0 + x * x)


def of_loops(x: Any) -> Any:
    total = 0.0
    for i in range(1, 9):
        for j in range(i + 1):
            if j > i or i == 0:
                raise ValueError("never")
            total += x * j if j >= 0 else 7.0
    return total


@pytest.mark.parametrize("program", [of_a_bell, of_a_root, of_loops])
def test_not_asked(program: Callable[..., Any]) -> None:
    f = sg.compile(program)
    text = f.python(0.5)
    assert "raise" not in text and "if" not in text, text
    for x in (0.0, -3.0, 40.0, math.nan):
        np.testing.assert_allclose(f(x), program(x))
    assert sg.grad(program)(0.5) == pytest.approx((program(0.5 + 1e-6) - program(0.5 - 1e-6)) / 2e-6)


def of_what_may_be_above(x: Any) -> Any:
    return math.exp(-x * abs(x)) + math.exp(-0.5 * x)


def test_what_is_not_known_is_asked() -> None:
    f = sg.compile(of_what_may_be_above)
    assert f(2.0) == pytest.approx(of_what_may_be_above(2.0))
    with pytest.raises(OverflowError, match="math range error"):
        f(-40.0)
