"""Every program of the corpus: values, dtypes, shapes, exceptions, changed arguments, gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import check_gradient, check_value, corpus, differentiable_calls, label

CORPUS = corpus()
DIFFERENTIABLE = [p for p in CORPUS if any(True for _ in differentiable_calls(p))]


@pytest.mark.parametrize("program", CORPUS, ids=label)
def test_value(program: Callable) -> None:
    """Compiled and interpreted give what Python gives, for several sizes and numbers of trips."""
    check_value(program)


@pytest.mark.parametrize("program", DIFFERENTIABLE, ids=label)
def test_gradient(program: Callable) -> None:
    """The gradient of every float result and changed array agrees with differences; twice the same."""
    check_gradient(program)
