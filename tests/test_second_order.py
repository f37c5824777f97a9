"""Every program of the corpus that has a gradient: the gradient's derivatives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import label
from second_order import check_second_order
from test_programs import DIFFERENTIABLE


@pytest.mark.parametrize("program", DIFFERENTIABLE, ids=label)
def test_second_order(program: Callable) -> None:
    """Reverse over reverse and forward over reverse give the same, and what differences of the gradient give."""
    check_second_order(program)
