"""Random formulas of exponentials, logarithms, sums and the like: rewritten, they give what NumPy gives.

Where NumPy gives a number of moderate size, so do they, up to rounding; and NaN nowhere but where NumPy does.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy import special

from srcgraph.errors import SrcgraphError
from srcgraph.frontend.session import prepare
from srcgraph.ir.interp import interpret
from srcgraph.runtime.specialization import derived, lowered

UNARY = (
    "np.exp({})", "np.log({})", "np.log1p({})", "np.expm1({})", "np.sqrt({})", "-({})", "np.abs({})", "({})**2",
    "np.cos({})", "np.tanh({})", "1.0 - ({})", "1.0 + ({})", "({}) - 1.0", "1.0 / ({})", "special.expit({})",
    "special.erf({})", "special.erfc({})", "0.5 * ({})", "np.floor({})", "np.cosh({})", "np.sinh({})",
)  # fmt: skip
BINARY = (
    "({}) + ({})", "({}) - ({})", "({}) * ({})", "({}) / ({})", "np.maximum({}, {})", "np.minimum({}, {})",
    "np.where({} > 0.0, {}, x)",
)  # fmt: skip
REDUCTIONS = ("np.sum({})", "np.max({})", "np.mean({})")
DTYPES = (np.float64, np.float64, np.float32, np.int64)


def formula(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(("x", "y", "a"))
    kind = rng.random()
    if kind < 0.6:
        return rng.choice(UNARY).format(formula(rng, depth - 1))
    if kind < 0.92:
        return rng.choice(BINARY).format(formula(rng, depth - 1), formula(rng, depth - 1))
    return rng.choice(REDUCTIONS).format(formula(rng, depth - 1))


def arguments(rng: random.Random, seed: int) -> tuple[Any, ...]:
    numbers, dtype = np.random.default_rng(seed), rng.choice(DTYPES)
    if dtype == np.int64:
        return numbers.integers(-3, 4, 4), numbers.integers(1, 5, 4), 0.7
    x = (numbers.normal(size=4) * rng.choice((2, 2, 30, 300))).astype(dtype)
    return x, (np.abs(numbers.normal(size=4)) + 0.1).astype(dtype), float(numbers.uniform(0.2, 2.0))


def check(seed: int) -> bool:
    """Whether there was something to compare."""
    rng = random.Random(seed)
    text = f"def f(x, y, a):\n    return {formula(rng, 4)}, {formula(rng, 3)}\n"
    space: dict[str, Any] = {"np": np, "special": special}
    exec(text, space)
    args = arguments(rng, seed)
    try:
        with np.errstate(all="ignore"):
            wanted = space["f"](*args)
        found, skeletons, _ = lowered(prepare(space["f"], text), ("x", "y", "a"), args, False)
        results = interpret(derived(found, skeletons, ()).graph, args, effects=False)
    except (ArithmeticError, SrcgraphError):  # division of Python's numbers by zero; types known at run time only
        return False
    for want, got in zip(map(np.asarray, wanted), map(np.asarray, results), strict=True):
        shown = f"{text}{args}\n{want}\n{got}"
        assert want.dtype == got.dtype and want.shape == got.shape, shown
        loose = 2e-3 if want.dtype == np.float32 else 1e-6
        moderate = np.isfinite(want) & (np.abs(want) < 1e6)
        assert np.allclose(got[moderate], want[moderate], rtol=loose, atol=loose), shown
        assert not np.any(np.isnan(got) & ~np.isnan(want)), shown
    return True


@pytest.mark.parametrize("block", range(4))
def test_formulas(block: int) -> None:
    compared = sum(check(seed) for seed in range(200 * block, 200 * (block + 1)))
    assert compared > 150
