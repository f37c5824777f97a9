"""What rewriting gains: values that the plain formula does not reach, in compiled functions and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import srcgraph as sg


def log1p_(x):
    return np.log(1.0 + x)


def expm1_(x):
    return np.exp(x) - 1.0


def softplus(x):
    return np.log(1.0 + np.exp(x))


def softplus_python(x):
    return math.log(1.0 + math.exp(x))


def log1mexp(x):
    return np.log(1.0 - np.exp(x))


def log_sigmoid(x):
    return np.log(1.0 / (1.0 + np.exp(-x)))


def log_one_minus_sigmoid(x):
    return np.log(1.0 - 1.0 / (1.0 + np.exp(-x)))


def sigmoid(x):
    return np.exp(x) / (1.0 + np.exp(x))


def one_minus_sigmoid(x):
    return 1.0 - special.expit(x)


def odds(x):
    return special.expit(x) / (1.0 - special.expit(x))


def logsumexp(x):
    return np.log(np.sum(np.exp(x)))


def logmeanexp(x):
    return np.log(np.mean(np.exp(x)))


def logaddexp(x, y):
    return np.log(np.exp(x) + np.exp(y))


def log_difference(x, y):
    return np.log(np.exp(x) - np.exp(y))


def softmax(x):
    e = np.exp(x)
    return e / np.sum(e)


def boltzmann(x):
    e = np.exp(-x)
    return e / e.sum()


def log_partition(x, s):
    return np.log(np.sum(np.exp(-0.5 * (x / s) ** 2)))


def from_the_smallest(x):
    return np.log(np.sum(np.exp(x - np.min(x))))


def plus_another(x, z):
    return np.log(np.sum(np.exp(z + np.log(np.sum(np.exp(x))))))


def less_another(x, z):
    return np.log(np.sum(np.exp(-z - np.log(np.sum(np.exp(x))))))


def softmax_of_rows(x):
    e = np.exp(x)
    return e / e.sum(axis=1, keepdims=True)


def log_softmax(x):
    e = np.exp(x)
    return np.log(e / np.sum(e))


def cross_entropy(x, k):
    e = np.exp(x)
    p = e / np.sum(e)
    return -np.log(p[k])


def cross_entropies(x, labels):
    e = np.exp(x)
    p = e / e.sum(axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(len(labels)), labels]))


def cross_entropy_by_loop(x, labels):
    e = np.exp(x)
    p = e / e.sum(axis=1)[:, None]
    total = 0.0
    for i in range(len(labels)):
        total -= np.log(p[i, labels[i]])
    return total


def first_log(x):
    e = np.exp(x)
    return np.log((e / e.sum(axis=1)[:, None])[:, 0])


def erfc_(x):
    return 1.0 - special.erf(x)


def log_erfc(x):
    return np.log(special.erfc(x))


def log_exp(x):
    return np.log(np.exp(x))


def root_of_square(x):
    return np.sqrt(x * x)


def exp_times_exp(x, y):
    return np.exp(x) * np.exp(y)


def variance(x):
    return np.mean(x**2) - np.mean(x) ** 2


def versine(x):
    return (1.0 - np.cos(x)) / (x * x)


def tanh_(x):
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x))


def log_cosh(x):
    return np.log(np.cosh(x))


def log_det(a):
    return np.log(np.linalg.det(a))


ROWS, LABELS = np.array([[1000.0, 0.0, 3.0], [1.0, 2.0, 3000.0]]), np.array([1, 0])

VALUES: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (log1p_, (1e-20,), 1e-20),
    (expm1_, (1e-20,), 1e-20),
    (softplus, (1000.0,), 1000.0),
    (log1mexp, (-1e-20,), math.log(1e-20)),
    (log_sigmoid, (-1000.0,), -1000.0),
    (log_one_minus_sigmoid, (1000.0,), -1000.0),
    (sigmoid, (1000.0,), 1.0),
    (one_minus_sigmoid, (50.0,), 1.9287498479639178e-22),
    (odds, (60.0,), 1.1420073898156842e26),
    (logsumexp, (np.array([1000.0, 1000.0]),), 1000.0 + math.log(2.0)),
    (logmeanexp, (np.array([1000.0, 1000.0]),), 1000.0),
    (logaddexp, (1000.0, 999.0), 1000.3132616875182),
    (log_difference, (1000.0, 999.0), 999.5413248546129),
    (softmax, (np.array([1000.0, 1000.0]),), np.array([0.5, 0.5])),
    (boltzmann, (np.array([-1000.0, -1000.0]),), np.array([0.5, 0.5])),
    (log_partition, (np.array([100.0, 100.0]), 1.0), -5000.0 + math.log(2.0)),
    (from_the_smallest, (np.array([1000.0, 0.0]),), 1000.0),
    (plus_another, (np.array([0.0, 0.0]), np.array([1000.0, 1000.0])), 1000.0 + 2.0 * math.log(2.0)),
    (less_another, (np.array([0.0, 0.0]), np.array([-1000.0, -1000.0])), 1000.0),
    (softmax_of_rows, (np.array([[1000.0, 1000.0], [0.0, -900.0]]),), np.array([[0.5, 0.5], [1.0, 0.0]])),
    (log_softmax, (np.array([0.0, -1000.0]),), np.array([0.0, -1000.0])),
    (cross_entropy, (np.array([1000.0, 0.0, 3.0]), 1), 1000.0),
    (cross_entropies, (ROWS, LABELS), 1999.5),
    (cross_entropy_by_loop, (ROWS, LABELS), 3999.0),
    (first_log, (ROWS,), np.array([0.0, -2999.0])),
    (erfc_, (10.0,), special.erfc(10.0)),
    (log_erfc, (30.0,), -903.9741171106439),
    (log_exp, (1000.0,), 1000.0),
    (root_of_square, (1e200,), 1e200),
    (exp_times_exp, (800.0, -790.0), math.exp(10.0)),
    (variance, (np.array([1e8, 1e8 + 1.0, 1e8 + 2.0]),), 2.0 / 3.0),
    (versine, (1e-9,), 0.5),
    (tanh_, (1000.0,), 1.0),
    (log_cosh, (1000.0,), 1000.0 - math.log(2.0)),
    (log_det, (np.eye(200) * 1e-3,), 200 * math.log(1e-3)),
]


@pytest.mark.parametrize(("function", "args", "wanted"), VALUES, ids=lambda v: getattr(v, "__name__", ""))
def test_value(function: Callable[..., Any], args: tuple[Any, ...], wanted: Any) -> None:
    """The plain formula misses it, what is compiled does not."""
    with np.errstate(all="ignore"):
        plain = function(*args)
    assert not np.allclose(plain, wanted, rtol=1e-9, atol=0.0)
    np.testing.assert_allclose(sg.compile(function)(*args), wanted, rtol=1e-12)


GRADIENTS: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (log1p_, (1e-20,), 1.0),
    (softplus, (1000.0,), 1.0),
    (softplus, (-1000.0,), 0.0),
    (log_sigmoid, (-1000.0,), 1.0),
    (log_one_minus_sigmoid, (1000.0,), -1.0),
    (sigmoid, (1000.0,), 0.0),
    (logsumexp, (np.array([1000.0, 1000.0]),), np.array([0.5, 0.5])),
    (log_partition, (np.array([100.0, 100.0]), 1.0), np.array([-50.0, -50.0])),
    (cross_entropy, (np.array([1000.0, 0.0, 3.0]), 1), np.array([1.0, -1.0, 0.0])),
    (cross_entropies, (ROWS, LABELS), np.array([[0.5, -0.5, 0.0], [-0.5, 0.0, 0.5]])),
    (logaddexp, (1000.0, 999.0), special.expit(1.0)),
    (log_erfc, (30.0,), -60.03329639875622),
    (log_exp, (1000.0,), 1.0),
    (log_cosh, (1000.0,), 1.0),
    (tanh_, (1000.0,), 0.0),
    (root_of_square, (-3.0,), -1.0),
]


@pytest.mark.parametrize(("function", "args", "wanted"), GRADIENTS, ids=lambda v: getattr(v, "__name__", ""))
def test_gradient(function: Callable[..., Any], args: tuple[Any, ...], wanted: Any) -> None:
    np.testing.assert_allclose(sg.grad(function)(*args), wanted, rtol=1e-10, atol=1e-300)


def test_what_raises_in_python_still_raises() -> None:
    """Checks are not seen by patterns, and stay."""
    assert sg.compile(softplus_python)(3.0) == pytest.approx(softplus_python(3.0))
    for function in (softplus_python, sg.compile(softplus_python), sg.grad(softplus_python)):
        with pytest.raises(OverflowError, match="math range error"):
            function(1000.0)


def test_masked_logarithm() -> None:
    """The gradient of a masked root has no NaN from where the mask hides it."""

    def masked(x):
        return np.sum(np.where(x > 0.0, np.sqrt(np.where(x > 0.0, x, 1.0)), 0.0))

    np.testing.assert_allclose(sg.grad(masked)(np.array([0.0, 4.0, -1.0])), [0.0, 0.25, 0.0])


# -- arrays whose lengths are only known to be one where they meet ----------------------------------

V, U = np.array([700.0, -3.0, 0.5]), np.array([-690.0, 2.0, 0.25])
A, B = np.arange(12.0).reshape(3, 4) / 5.0, np.arange(8.0).reshape(4, 2) - 3.0
OF_SEVERAL: list[tuple[Callable[..., Any], tuple[Any, ...], Any, str]] = [
    (lambda x, y: np.exp(x + 10.0) * np.exp(y), (V, U), np.exp(V + 10.0 + U), "exp_times_exp"),
    (lambda x, y: np.log(np.exp(x + 10.0) + np.exp(y)), (V, U), np.logaddexp(V + 10.0, U), "logaddexp"),
    (lambda v, a, b: v @ (a @ b), (V, A, B), V @ A @ B, "vector_times_product"),
    (lambda a, b, v: (a @ b) @ v, (A, B, U[:2]), A @ (B @ U[:2]), "product_times_vector"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "wanted", "name"), OF_SEVERAL)
def test_rules_of_several_arrays(function: Any, args: tuple[Any, ...], wanted: Any, name: str) -> None:
    """The check that lengths are one stands, and is no hindrance."""
    f = sg.compile(function, mode="DEBUG")
    np.testing.assert_allclose(f(*args), wanted, rtol=1e-12)
    assert name in str(sg.inspect(f, *args).rewrites)
    slope = sg.grad(lambda *given: function(*given).sum())(*args)
    step = 1e-5 * np.arange(1.0, args[0].size + 1.0).reshape(args[0].shape)
    if name not in ("exp_times_exp", "logaddexp"):
        change = (function(args[0] + step, *args[1:]) - function(args[0] - step, *args[1:])).sum() / 2.0
        assert (slope * step).sum() == pytest.approx(change, rel=1e-8)
    else:
        assert np.isfinite(slope).all()
    with pytest.raises(ValueError, match=r"could not be broadcast|do not fit"):
        f(*args[:-1], args[-1][:-1] if args[-1].ndim == 1 else args[-1][:-1, :])


# -- logarithms of what is gathered of a softmax ----------------------------------------------------

SCORES = np.array([[1.0, 2.0, 800.0], [0.0, -800.0, 3.0], [1.0, 1.0, 1.0]])
LABELS, MASK = np.array([0, 1, 2]), np.array([True, False, True])


def _softmax(x):
    terms = np.exp(x - x.max(axis=1, keepdims=True))
    return terms / terms.sum(axis=1, keepdims=True)


GATHERED: list[tuple[Callable[..., Any], Any, Callable[..., Any]]] = [
    (lambda x, k: np.log(_softmax(x)[np.arange(3), k]), LABELS, lambda p, k: p[np.arange(3), k]),
    (lambda x, k: np.log(np.take_along_axis(_softmax(x), k[:, None], axis=1)[:, 0]), LABELS,
     lambda p, k: p[np.arange(3), k]),
    (lambda x, k: np.log(np.take_along_axis(_softmax(x), k[:, None], 1)), LABELS, lambda p, k: p[np.arange(3), k]),
    (lambda x, m: np.log(_softmax(x)[m]), SCORES > 0.5, lambda p, m: p[m]),
    (lambda x, m: np.log(_softmax(x)[m]), MASK, lambda p, m: p[m]),
    (lambda x, m: np.log(_softmax(x)[0][m]), MASK, lambda p, m: p[0][m]),
    (lambda x, m: np.log(_softmax(x)[m, 0]), MASK, lambda p, m: p[m, 0]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(GATHERED)))
def test_logarithms_of_gathered_elements(number: int) -> None:
    """Without overflow, in the gradient, too."""
    function, where, part = GATHERED[number]
    logs = SCORES - special.logsumexp(SCORES, axis=1, keepdims=True)
    wanted = part(logs, where)
    np.testing.assert_allclose(np.reshape(sg.compile(function)(SCORES, where), wanted.shape), wanted, rtol=1e-13)
    np.testing.assert_allclose(
        np.reshape(sg.compile(function, mode="DEBUG")(SCORES / 100.0, where), wanted.shape),
        part(np.log(special.softmax(SCORES / 100.0, axis=1)), where), rtol=1e-12,
    )  # fmt: skip
    slope = sg.grad(lambda x, k: function(x, k).sum())(SCORES, where)
    ones = np.zeros_like(SCORES)
    for i in np.ndindex(SCORES.shape):
        at = np.zeros_like(SCORES)
        at[i] = 1.0
        ones[i] = part(at, where).sum()
    softmax = special.softmax(SCORES, axis=1)
    np.testing.assert_allclose(slope, ones - softmax * ones.sum(axis=1, keepdims=True), rtol=1e-12, atol=1e-15)


def test_what_is_not_gathered_of_a_softmax_alone() -> None:
    """An array that is read besides, or filled with something else."""

    def read_besides(x, k):
        picked = _softmax(x)[np.arange(3), k]
        return np.log(picked).sum() + picked[0]

    def filled_with_another(x, k):
        out = np.empty(3)
        for i in range(3):
            if i == 1:
                out[i] = 2.0
            else:
                out[i] = _softmax(x)[i, k[i]]
        return np.log(out)

    x = SCORES / 100.0
    for function in (read_besides, filled_with_another):
        np.testing.assert_allclose(sg.compile(function)(x, LABELS), function(x, LABELS), rtol=1e-12)
