"""Programs of the corpus that have a gradient: the gradient's derivatives.

Every eighth one; all of them with SRCGRAPH_SECOND_ORDER=all in the environment (`make second_order`).
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from harness import label
from second_order import check_second_order
from test_programs import DIFFERENTIABLE

STEP = 1 if os.environ.get("SRCGRAPH_SECOND_ORDER") == "all" else 8


@pytest.mark.parametrize("program", DIFFERENTIABLE[::STEP], ids=label)
def test_second_order(program: Callable) -> None:
    """Reverse over reverse and forward over reverse give the same, and what differences of the gradient give."""
    check_second_order(program)
