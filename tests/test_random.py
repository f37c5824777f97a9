"""Random numbers: bit for bit NumPy's stream, and a generator that moves on exactly as far as in Python."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.ir import bitgen

SHARED = np.random.default_rng(1)


def everything(rng, x):
    """A bit of each distribution, numbers and arrays in turn."""
    return (
        rng.random(3), rng.random(), rng.uniform(-2.0, 3.0, 4), rng.normal(0.3, 1.7, (2, 3)), rng.normal(x, 0.1),
        rng.standard_normal(), rng.standard_normal(3, dtype=np.float32), rng.exponential(x), rng.gamma(x, 2.0),
        rng.lognormal(x, 0.3), rng.laplace(0.1, x), rng.gumbel(0.1, 2.0), rng.logistic(x), rng.rayleigh(x),
        rng.beta(x, 2.0), rng.chisquare(x), rng.f(2.0, x), rng.standard_t(x), rng.vonmises(x, 1.0), rng.wald(x, 1.0),
        rng.triangular(-1.0, 0.5, 1.0 + x), rng.pareto(x), rng.weibull(x), rng.power(x), rng.standard_cauchy(2),
        rng.poisson(30.0 * x), rng.geometric(x / 2.0), rng.binomial(40, x / 2.0), rng.logseries(0.5, 2), rng.zipf(2.0),
        rng.integers(0, 2**33, 5), rng.integers(3), rng.permutation(9), rng.choice(x, 4),
        rng.choice(7, 5, replace=False),
    )  # fmt: skip


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_bit_for_bit(bits: Any) -> None:
    ours, theirs = (np.random.Generator(bits(3)) for _ in range(2))
    x = np.linspace(0.2, 1.5, 4)
    for got, want in zip(COMPILED(ours, x), everything(theirs, x), strict=True):
        assert type(got) is type(want)
        np.testing.assert_array_equal(got, want, strict=True)
    np.testing.assert_equal(ours.bit_generator.state, theirs.bit_generator.state)


COMPILED = sg.api.compile(everything)


def moved(function: Callable, *args: Any) -> Any:
    """The result, and the state of the generator afterwards."""
    rng = np.random.default_rng(7)
    return function(rng, *args), rng.bit_generator.state


def walk(rng, a, n):
    x = 0.0
    for _ in range(n):
        if rng.random() < 0.7:
            x += rng.normal(a, a * a)
    return x * x


def test_gradient_draws_once() -> None:
    """First and second derivatives leave the generator where the function leaves it."""
    first, second = sg.grad(walk, argnums=1), sg.grad(sg.grad(walk, argnums=1), argnums=1)
    after = moved(walk, 0.6, 9)[1]
    slope, state = moved(first, 0.6, 9)
    assert state == after
    curve, state = moved(second, 0.6, 9)
    assert state == after
    h = 1e-5
    up, middle, down = (moved(walk, 0.6 + k * h, 9)[0] for k in (1, 0, -1))
    assert slope == pytest.approx((up - down) / (2 * h), rel=1e-7)
    assert curve == pytest.approx((up - 2 * middle + down) / h**2, rel=1e-4)


@dataclass
class Sampler:
    rng: np.random.Generator
    scale: float

    def draw(self):
        return self.scale * self.rng.standard_normal()


def test_generators_wherever_they_are() -> None:
    """In a global, a closure, an object, a dict or a tuple; the same one twice; another bit generator."""
    own = np.random.default_rng(2)

    def everywhere(sampler, pair, options, same):
        def noise():
            return own.normal()

        total = SHARED.random() + noise() + sampler.draw() + pair[1].random() + options["rng"].random()
        return total + same.random()

    def arguments():
        nonlocal own
        global SHARED
        SHARED, own = np.random.default_rng(1), np.random.default_rng(2)
        rng = np.random.default_rng(4)
        return Sampler(np.random.default_rng(3), 0.5), (1, rng), {"rng": np.random.Generator(np.random.MT19937(5))}, rng

    want = everywhere(*arguments())
    compiled = sg.api.compile(everywhere)
    assert compiled(*arguments()) == want
    assert compiled(*arguments()) == want, "the generators were read anew"


def test_draws_before_an_exception_count() -> None:
    def f(rng, x, k):
        a = rng.random()
        y = x[k]
        return a * y * rng.random()

    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for function, rng in ((sg.api.compile(f), ours), (f, theirs)):
        with pytest.raises(IndexError):
            function(rng, np.ones(3), 3)
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_functions_of_numpy_are_there() -> None:
    """The build of NumPy exports the functions that draw; addresses are those of NumPy's own interface."""
    rng = np.random.default_rng(1)
    other = deepcopy(rng)
    draw = bitgen.function("random_standard_normal", "f64", ())
    assert draw(bitgen.address(rng)) == other.standard_normal()
    assert bitgen.pointer("no_such_function") == 0
