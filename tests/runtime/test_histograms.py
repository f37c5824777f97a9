"""Bins of equal and other widths: where a number belongs is found at once, or searched, and is NumPy's answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def both(x, bins, weights):
    return np.histogram(x, bins)[0], np.histogram(x, bins, weights=weights)[0]


BOTH = sg.compile(both)
RANDOM = np.random.default_rng(11)


def edges(kind: str) -> Any:
    """Bins, and numbers around them."""
    x = RANDOM.normal(size=RANDOM.integers(1, 200))
    match kind:
        case "equal":
            return int(RANDOM.integers(1, 30)), x
        case "other":
            return np.sort(RANDOM.normal(size=RANDOM.integers(2, 20))), x
        case "repeated":
            return np.sort(RANDOM.integers(-3, 3, RANDOM.integers(2, 12)).astype(float)), np.round(2.0 * x)
        case "infinite":
            return np.concatenate([[-np.inf], np.sort(RANDOM.normal(size=5)), [np.inf]]), x
        case "wide":
            return np.sort(np.exp(20.0 * RANDOM.normal(size=9))), np.exp(15.0 * x)
        case "integers":
            return np.sort(RANDOM.integers(-9, 9, 6)), RANDOM.integers(-9, 9, 100)
        case "large integers":
            return 2**62 + np.arange(6), 2**62 + RANDOM.integers(-3, 9, 100)
    return np.zeros(2), np.zeros(5)


@pytest.mark.parametrize(
    "kind", ["equal", "other", "repeated", "infinite", "wide", "integers", "large integers", "empty"]
)
def test_bins(kind: str) -> None:
    for _ in range(40):
        bins, x = edges(kind)
        weights = RANDOM.integers(0, 9, x.size).astype(float)
        for found, wanted in zip(BOTH(x, bins, weights), both(x, bins, weights), strict=True):
            np.testing.assert_array_equal(found, wanted)
