"""Systems of a few equations, by elimination that is written out, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

MANY = 70


def solved(a: Any, b: Any) -> Any:
    out = np.empty_like(b)
    for k in range(len(a)):
        out[k] = np.linalg.solve(a[k], b[k])
    return out


def inverted(a: Any, b: Any) -> Any:
    out = np.empty_like(a)
    for k in range(len(a)):
        out[k] = np.linalg.inv(a[k])
    return out


def determinants(a: Any, b: Any) -> Any:
    out = np.empty(len(a))
    for k in range(len(a)):
        out[k] = np.linalg.det(a[k]) * b[k, 0]
    return out


def of_literals(a: Any, b: Any) -> Any:
    total = 0.0
    for k in range(len(a)):
        m = np.array([[a[k, 0, 0], 1.0], [-1.0, b[k, 0]]])
        x = np.linalg.solve(m, np.array([[1.0, 2.0], [b[k, 0], 0.5]]))
        total += x[0, 1] * x[1, 0]
    return total


def likelihoods(a: Any, b: Any) -> Any:
    out = np.empty(len(a))
    for k in range(len(a)):
        s = a[k] @ a[k].T + np.eye(a.shape[1])
        out[k] = np.log(np.linalg.det(s)) + b[k] @ np.linalg.solve(s, b[k])
    return out


def signs(a: Any, b: Any) -> Any:
    out = np.empty((len(a), 2))
    for k in range(len(a)):
        sign, size = np.linalg.slogdet(a[k])
        out[k, 0] = sign
        out[k, 1] = size * b[k, 0]
    return out


PROGRAMS = [solved, inverted, determinants, of_literals, likelihoods, signs]


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def given(n: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    make = np.random.default_rng(n)
    a, b = make.normal(size=(MANY, n, n)), make.normal(size=(MANY, n))
    a[:3, 0, 0] = 0.0  # rows have to be exchanged
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_values(program: Callable[..., Any], n: int) -> None:
    a, b = given(n)
    if n > 1:
        np.testing.assert_allclose(sg.compile(program)(a, b), program(a, b), rtol=1e-10, atol=1e-12)
    else:
        np.testing.assert_allclose(sg.compile(program)(a[3:], b[3:]), program(a[3:], b[3:]), rtol=1e-10)
    assert ("lu_factor" in sg.compile(program).python(a, b)) == (n == 4 and program is not of_literals)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_signs_of_matrices_without_inverse(n: int) -> None:
    a, b = given(n)
    a[0], a[1] = 0.0, 1.0
    a[2], a[3, 0], b = -a[2], np.inf, np.abs(b)
    for dtype in (np.float64, np.float32):
        x, y = a.astype(dtype), b.astype(dtype)
        with np.errstate(all="ignore"):
            expected = signs(x, y)
        np.testing.assert_allclose(sg.compile(signs)(x, y)[:3], expected[:3], rtol=1e-5)
        np.testing.assert_allclose(sg.compile(signs)(x, y)[4:], expected[4:], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_gradients(program: Callable[..., Any], n: int) -> None:
    def loss(a: Any, b: Any) -> Any:
        return np.sum(np.tanh(program(a, b)))

    plain = sg.opt.FAST_RUN.excluding("eliminated", "scalars")
    made, others = (sg.grad(loss, argnums=(0, 1), mode=m)(*given(n)) for m in (sg.opt.FAST_RUN, plain))
    for x, y in zip(made, others, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("program", [solved, inverted])
@pytest.mark.parametrize("singular", [[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [0.0, 3.0]], [[0.0, 0.0], [1.0, 1.0]]])
def test_what_is_singular_raises(program: Callable[..., Any], singular: Any) -> None:
    a, b = given(2)
    a[5] = singular
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        sg.compile(program)(a, b)


@pytest.mark.parametrize("n", [2, 3])
def test_determinants_of_what_is_singular_are_zero(n: int) -> None:
    a, b = given(n)
    a[4], a[5, :, 0], a[6, :, 1], a[7, n - 1] = 0.0, 0.0, 0.0, 0.0
    a[8] = np.nan
    np.testing.assert_allclose(sg.compile(determinants)(a, b), determinants(a, b), rtol=1e-10, atol=1e-13)


def test_single_precision() -> None:
    a, b = given(3, np.float32)
    made = sg.compile(solved)(a, b)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, solved(a, b), rtol=1e-2, atol=1e-3)


def stiff(k: Any, rate: float, n: int) -> Any:
    """Robertson's reaction by implicit steps (H. H. Robertson, 1966), each with some of Newton's."""
    y = np.array([1.0, 0.0, 0.0])
    for _ in range(n):
        z = y.copy()
        for _ in range(3):
            fast = k[1] * z[1] * z[1]
            back, forth = k[2] * z[1] * z[2], k[0] * z[0]
            f = z - y - rate * np.array([back - forth, forth - fast - back, fast])
            slopes = np.array([
                [-k[0], k[2] * z[2], k[2] * z[1]],
                [k[0], -2.0 * k[1] * z[1] - k[2] * z[2], -k[2] * z[1]],
                [0.0, 2.0 * k[1] * z[1], 0.0],
            ])  # fmt: skip
            z = z - np.linalg.solve(np.eye(3) - rate * slopes, f)
        y = z
    return y[0] + 2.0 * y[1] + 3.0 * y[2]


def test_what_is_solved_again_in_derivatives_is_not_saved() -> None:
    k = np.array([0.04, 30.0, 10.0])
    np.testing.assert_allclose(sg.compile(stiff)(k, 0.01, 20), stiff(k, 0.01, 20), rtol=1e-12)
    found = sg.grad(stiff, verify=True)
    plain = sg.grad(stiff, mode=sg.opt.FAST_RUN.excluding("eliminated", "scalars"))
    np.testing.assert_allclose(found(k, 0.01, 20), plain(k, 0.01, 20), rtol=1e-9)
    assert "lu_solve" not in found.python(k, 0.01, 20)


def turned(angles: Any, x: Any) -> Any:
    """Products of small matrices are run again, too."""
    for k in range(len(angles)):
        c, s = np.cos(angles[k]), np.sin(angles[k])
        x = np.array([[c, -s], [s, c]]) @ x
    return np.sum(x * x * x)


def test_small_products_are_run_again() -> None:
    angles, x = np.linspace(0.0, 1.0, 70), np.array([1.0, 2.0])
    found = sg.grad(turned, argnums=(0, 1), verify=True)
    for a, b in zip(
        found(angles, x), sg.grad(turned, argnums=(0, 1), mode=sg.opt.FAST_COMPILE)(angles, x), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-10)
