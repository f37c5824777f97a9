"""What is computed and not used leaves no NaN behind, though its derivative is infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import unused_programs as programs

import srcgraph as sg

X = np.array([0.0, 1.0, 4.0])
EACH = [0.0, 0.5, 0.25]
CASES: list[tuple[Callable, Any, Any]] = [
    (programs.replaced_in_the_same_trip, X, EACH),
    (programs.replaced_at_once, 0.0, 1.0),
    (programs.read_in_part, X, [0.0, 1.0, 0.25]),
    (programs.replaced_in_part, X, [0.0, 1.0, 0.25]),
    (programs.number_replaced_in_a_branch, X, [0.0, 1.0, 0.0]),
    (programs.number_replaced_where_infinite, X, [0.0, -0.5, -0.0625]),
    (programs.rows_replaced, X, EACH),
    (programs.item_of_a_list_replaced, X, EACH),
    (programs.product_replaced, X, [0.0, 44.0, 4.0]),
    (programs.stored_by_a_function, X, EACH),
    (programs.no_trip, X, [0.0, 1.0, 0.0]),
    (programs.one_branch_reads_it, X, [0.0, 1.5, 3.0]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_no_nan(case: tuple) -> None:
    function, x, want = case
    np.testing.assert_allclose(sg.grad(function)(x), want, rtol=1e-14, atol=0)


def test_what_is_used_is_infinite() -> None:
    assert sg.grad(lambda x: np.sum(np.sqrt(x)))(X)[0] == np.inf
    assert sg.grad(lambda x: np.sqrt(x[0]) if x[1] > 0 else 0.0)(X)[0] == np.inf
