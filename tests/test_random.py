"""Random numbers: bit for bit NumPy's stream, and a generator that moves on exactly as far as in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from harness import Versions, call_plainly, compare, interpreted, outcome

import srcgraph as sg
from srcgraph.errors import DerivativeError
from srcgraph.ir import bitgen
from srcgraph.runtime import ziggurat

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
    for k, (got, want) in enumerate(zip(COMPILED(ours, x), everything(theirs, x), strict=True)):
        assert type(got) is type(want)
        np.testing.assert_allclose(got, want, rtol=1e-15 if k == LOGNORMAL else 0.0, strict=True)
    np.testing.assert_equal(ours.bit_generator.state, theirs.bit_generator.state)


COMPILED = sg.api.compile(everything)
LOGNORMAL = 9
"""`exp` of normal numbers, which is within some ulp of NumPy's."""


def counted(rng, p):
    return (
        rng.multinomial(20, p), rng.multinomial(7, p, size=(2, 2)), rng.multinomial(10, [1.0, 0, 0]),
        rng.multinomial([3, 5], p), rng.multinomial(9, [[0.2, 0.8], [0.5, 0.5]]), rng.negative_binomial(5, 0.3),
        rng.negative_binomial(2.5, 0.5, 4), rng.hypergeometric(10, 20, 7), rng.hypergeometric(3, np.arange(5, 8), 2),
    )  # fmt: skip


def of_few_bits(rng, p):
    return (
        rng.integers(0, 100, 7, dtype=np.int8), rng.integers(50, dtype=np.uint8), rng.integers(0, 256, 70, np.uint8),
        rng.integers(-5, 5, (2, 3), np.int16, endpoint=True), rng.integers(0, 2, 9, dtype=bool),
        rng.integers(2**31 - 1, dtype=np.int32), rng.integers(0, 2**32, 3, dtype=np.uint32),
        rng.integers(1, dtype=bool), rng.integers(7, 9, 3, dtype=np.uint64),
        rng.integers(-128, 127, 5, dtype=np.int8, endpoint=True),
        rng.integers(0, 300, 0, dtype=np.int8), rng.integers(0, 2, dtype=np.bool_),
    )  # fmt: skip


def vectors(rng, p):
    c = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])
    return (
        rng.dirichlet(p), rng.dirichlet(p * 0.01, (2, 2)), rng.dirichlet((1.0, 2.0), 3), rng.dirichlet([0.0, 1.0]),
        rng.multivariate_normal(p, c, 2), rng.multivariate_normal(p, c, (2, 1), method="cholesky"),
        rng.multivariate_normal(p, c, method="eigh", check_valid="raise"),
    )  # fmt: skip


def orders(rng, p):
    q = np.arange(12).reshape(3, 4)
    return (
        rng.permuted(p), rng.permuted(q), rng.permuted(q, axis=0), rng.permuted(q, axis=1), rng.permuted(q[:0], axis=1),
        rng.choice(p, 2, replace=False, p=p), rng.choice(3, (1, 3), False, p), rng.choice(3, p=p, replace=False),
    )  # fmt: skip


@pytest.mark.parametrize("program", [counted, of_few_bits, vectors, orders])
def test_as_written_in_graphs(program: Callable) -> None:
    """The graph draws as NumPy does; where the functions that draw are other ones, the generated text too."""
    p = np.array([0.2, 0.5, 0.3])
    want = outcome(program, (np.random.default_rng(5), p))
    compare(interpreted(Versions(program), (np.random.default_rng(5), p)), want, "interpreted")
    if program is of_few_bits:
        run = partial(call_plainly, sg.api.compile(program))
        compare(outcome(run, (np.random.default_rng(5), p)), want, "generated text")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda rng: rng.integers(0, 300, dtype=np.int8), "high is out of bounds for int8"),
        (lambda rng: rng.integers(-1, dtype=np.uint8), "high <= 0"),
        (lambda rng: rng.multinomial(5, [0.9, 0.3, 0.2]), "sum(pvals[:-1]) > 1.0"),
        (lambda rng: rng.multinomial(-1, [0.5, 0.5]), "n < 0"),
        (lambda rng: rng.dirichlet([1.0, -1.0]), "alpha < 0"),
        (lambda rng: rng.hypergeometric(3, 4, 8), "ngood + nbad < nsample"),
        (lambda rng: rng.negative_binomial(0, 0.5), "n <= 0"),
        (lambda rng: rng.multivariate_normal([0.0], np.eye(2)), "mean and cov must have same length"),
        (lambda rng: rng.choice(3, 2, False, [0.0, 0.0, 1.0]), "Fewer non-zero entries in p than size"),
    ],
)
def test_refused_as_numpy(draw: Callable, message: str) -> None:
    for function in (draw, partial(call_plainly, sg.api.compile(draw))):
        with pytest.raises(ValueError, match=re.escape(message)):
            function(np.random.default_rng(1))


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


@pytest.mark.parametrize("derivative", [sg.jacrev, sg.jacfwd, sg.jacobian, sg.hessian])
def test_jacobians_do_not_draw_anew(derivative: Any) -> None:
    """Each column would be that of a function with other draws."""

    def f(x, rng):
        total = 0.0
        for k in range(3):
            total += x[k] * rng.normal()
        return total * x

    with pytest.raises(DerivativeError, match="random numbers are drawn here") as caught:
        derivative(f)(np.ones(3), np.random.default_rng(1))
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_streams_to_the_last_bit(bits: Callable[..., Any]) -> None:
    """So many that the rare draws are among them: of the tails, and those that are drawn again."""

    def f(rng, x):
        for k in range(len(x)):
            x[k] = rng.standard_normal() if k % 3 else rng.standard_exponential()
        return rng.standard_normal(1000), rng.normal(2.0, 3.0), rng.exponential(4.0, 10)

    ours, theirs = np.random.Generator(bits(1)), np.random.Generator(bits(1))
    x, y = np.zeros(60000), np.zeros(60000)
    for got, want in zip(sg.api.compile(f)(ours, x), f(theirs, y), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x, y)
    assert np.max(np.abs(x)) > ziggurat.EXPONENTIAL_END > ziggurat.NORMAL_END
    np.testing.assert_equal(ours.bit_generator.state, theirs.bit_generator.state)


def test_what_is_not_numpys_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of NumPy may draw otherwise."""
    assert ziggurat.written("random_standard_normal") is not None
    monkeypatch.setitem(ziggurat.WRITTEN, "random_standard_normal", ziggurat.WRITTEN["random_standard_exponential"])
    assert ziggurat.written("random_standard_normal") is None
    assert ziggurat.written("random_gumbel") is None
