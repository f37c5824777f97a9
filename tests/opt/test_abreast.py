"""Loops of the same steps for all elements, exchanged with the loop over elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("abreast", "masked", "interchanged")
SIZES = (0, 1, 8, 9, 64, 65, 200)


def polynomial(a: Any, c: Any, m: int) -> Any:
    total = 0.0
    for i in range(len(a)):
        p = 0.0
        for k in range(len(c)):
            p = p * a[i] + c[k]
        total += p * p
    return total


def pendulums(a: Any, c: Any, m: int) -> Any:
    """What is the same for all, and what each has of its own, are computed before the steps."""
    out = np.zeros((len(a), 2))
    for i in range(len(a) - 1, -1, -1):
        angle, speed, stiff = a[i], c[0], 1.0 + a[i] * a[i]
        for _ in range(m):
            speed -= 0.05 * np.exp(-stiff) * np.sin(angle) + 0.01 * np.cos(c[1])
            angle += 0.05 * speed
        out[i, 0], out[i, 1] = angle, speed
    return np.sum(out * out)


def map_of(a: Any, c: Any, m: int) -> Any:
    total = 0.0
    for i in range(len(a)):
        x = 0.5
        for _ in range(m):
            x = a[i] * x * (1.0 - x) + c[0] if x > 0.2 else 0.9 * x + a[i] * c[1]
        total += x
    return total


def paths(a: Any, c: Any, m: int) -> Any:
    """Steps that read and store in a column of their own; the second of two loops begins where the first ends."""
    z = np.outer(c, a)
    seen, last = np.zeros(z.shape), np.zeros(len(a))
    for i in range(z.shape[1]):
        s = 1.0
        for k in range(z.shape[0]):
            s = s * (1.0 + 0.1 * z[k, i])
            seen[k, i] = s
        y = 0.5 * s
        for k in range(m):
            y = np.tanh(y + 0.01 * k) * a[i]
        last[i] = y
    return np.sum(seen * z) + np.sum(last)


def in_single_precision(a: Any, c: Any, m: int) -> Any:
    x, total = a.astype(np.float32), np.float32(0.0)
    for i in range(len(a)):
        s = x[i]
        for _ in range(m):
            s = np.float32(0.5) * np.tanh(s) + x[i]
        total += s
    return total


def taped(a: Any, c: Any, m: int) -> Any:
    total, rate = 0.0, c[0]
    for i in range(len(a)):
        x = 0.5
        for _ in range(m):
            x = 0.5 * a[i] * x * (1.0 - x) + rate
        total += x
    return total


EXCHANGED = [polynomial, pendulums, map_of, paths, in_single_precision, taped]


def waits(a: Any, c: Any, m: int) -> Any:
    x, total = 1.0, 0.0
    for i in range(len(a)):
        for _ in range(m):
            x = 0.5 * x + a[i]
        total += x
    return total


def few(a: Any, c: Any, m: int) -> Any:
    total = 0.0
    for i in range(len(a)):
        x = a[i]
        for _ in range(4):
            x = 0.5 * x * x + 0.1
        total += x
    return total


def in_order(a: Any, c: Any, m: int) -> Any:
    """A sum that both loops add to is rounded as Python does."""
    total = 0.0
    for i in range(len(a)):
        x = a[i]
        for _ in range(m):
            x = 0.5 * x * x + 0.1
            total += x
    return total


def stored_apart(a: Any, c: Any, m: int) -> Any:
    out = np.zeros(m + 1)
    for i in range(len(a)):
        x = a[i]
        for k in range(m):
            x = 0.5 * x * x + 0.1
            out[k] += x
    return np.sum(out)


def by_rows(a: Any, c: Any, m: int) -> Any:
    z = np.outer(a, c)
    for i in range(z.shape[0]):
        s = 1.0
        for k in range(z.shape[1]):
            s = s * (1.0 + 0.1 * z[i, k])
            z[i, k] = s
    return np.sum(z)


LEFT = [waits, few, in_order, stored_apart, by_rows]


def column_sums(a: Any, b: Any) -> Any:
    for j in range(a.shape[1]):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j]
        b[0, j] = s


def beside(a: Any, b: Any) -> Any:
    for j in range(1, a.shape[1] - 1):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j - 1] * a[i, j + 1]
        b[0, j] = s


def standardized(a: Any, b: Any) -> Any:
    n = a.shape[0]
    for j in range(a.shape[1]):
        mean, squares = 0.0, 0.0
        for i in range(n):
            mean += a[i, j]
        mean /= n
        for i in range(n):
            squares += (a[i, j] - mean) ** 2
        for i in range(n):
            b[i, j] = (a[i, j] - mean) / np.sqrt(1.0 + squares)


def summed_up(a: Any, b: Any) -> Any:
    """The first elements are stored before the loop, the last one after it."""
    for j in range(a.shape[1]):
        b[0, j] = a[0, j]
        b[1, j] = 0.5 * b[0, j] + a[1, j]
        for i in range(2, a.shape[0]):
            b[i, j] = b[i - 1, j] + 0.5 * b[i - 2, j] + a[i, j]
        b[0, j] = 2.0 * b[a.shape[0] - 1, j]


def tridiagonal(a: Any, b: Any) -> Any:
    n, m = a.shape
    c, d = np.zeros((n, m)), np.zeros((n, m))
    for j in range(m):
        c[0, j] = -0.1
        d[0, j] = a[0, j] / 1.5
        for i in range(1, n):
            w = 1.5 + 0.25 * c[i - 1, j]
            c[i, j] = -0.25 / w
            d[i, j] = (a[i, j] + 0.25 * d[i - 1, j]) / w
        b[n - 1, j] = d[n - 1, j]
        for i in range(n - 2, -1, -1):
            b[i, j] = d[i, j] - c[i, j] * b[i + 1, j]


def product(a: Any, b: Any) -> Any:
    n, m = a.shape
    c = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            s = 0.0
            for k in range(n):
                s += a[k, i] * a[k, j]
            c[i, j] = s
    b[0] = c[0] - c[m - 1]


def product_by_numpy(a: Any, b: Any) -> None:
    c = a.T @ a
    b[0] = c[0] - c[-1]


DOWN = [column_sums, beside, standardized, summed_up, tridiagonal, product]
REFERENCES = {product: product_by_numpy}


def name(program: Callable[..., Any]) -> str:
    return program.__name__


def args(size: int, m: int = 12) -> Any:
    make = np.random.default_rng(size)
    return make.uniform(-1.2, 1.2, size), make.uniform(-0.5, 0.5, 11), m


@pytest.mark.parametrize("program", EXCHANGED, ids=name)
def test_exchanged(program: Callable[..., Any]) -> None:
    assert "if first + 8 < end" in sg.compile(program).python(*args(100)).replace("first - 8 > end", "first + 8 < end")


@pytest.mark.parametrize("program", EXCHANGED, ids=name)
@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"fastmath": True}], ids=["", "parallel", "fastmath"])
def test_values(program: Callable[..., Any], options: Any) -> None:
    made = sg.compile(program, **options)
    rough = 1e-5 if program is in_single_precision else 1e-11
    for size in SIZES:
        for m in (0, 1, 30):
            np.testing.assert_allclose(made(*args(size, m)), program(*args(size, m)), rtol=rough, atol=rough)


@pytest.mark.parametrize("program", EXCHANGED, ids=name)
def test_gradients(program: Callable[..., Any]) -> None:
    made, plain = (sg.grad(program, argnums=(0, 1), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    rough = 1e-4 if program is in_single_precision else 1e-10
    for size in SIZES:
        for m in (0, 30):
            for got, want in zip(made(*args(size, m)), plain(*args(size, m)), strict=True):
                np.testing.assert_allclose(got, want, rtol=rough, atol=rough)


def test_what_derivatives_go_back_over_has_a_place_for_each_element() -> None:
    text = sg.grad(taped, argnums=(0, 1)).python(*args(70))
    assert ", 64))" in text, text


def test_what_would_be_too_large_is_kept_for_one_element() -> None:
    made, plain = (sg.grad(taped, argnums=(0, 1), mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    assert "<= 16384" in made.python(*args(70))
    for m in (16384, 16385):
        for got, want in zip(made(*args(9, m)), plain(*args(9, m)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize("program", LEFT, ids=name)
def test_others_are_as_they_were(program: Callable[..., Any]) -> None:
    assert sg.compile(program).python(*args(30)) == sg.compile(program, mode=PLAIN).python(*args(30))


def test_sums_in_any_order_are_made_for_each_element() -> None:
    made = sg.compile(in_order, fastmath=True)
    assert "if first + 8 < end" in made.python(*args(100))
    np.testing.assert_allclose(made(*args(100)), in_order(*args(100)), rtol=1e-12)


# -- down the columns of arrays --------------------------------------------------------------------------------


def columns(width: int, order: str = "C") -> Any:
    make = np.random.default_rng(width)
    return tuple(np.array(make.uniform(-1.0, 1.0, (12, width)), order=order) for _ in range(2))  # type: ignore[call-overload]


@pytest.mark.parametrize("program", DOWN, ids=name)
def test_loops_go_along_rows(program: Callable[..., Any]) -> None:
    assert "if first + 8 < end" in sg.compile(program).python(*columns(100))


@pytest.mark.parametrize("program", DOWN, ids=name)
def test_loops_down_columns_stay_in_fortran_order(program: Callable[..., Any]) -> None:
    if program is not tridiagonal:  # its own arrays lie in C order
        assert "< end:" not in sg.compile(program).python(*columns(100, "F"))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("program", DOWN, ids=name)
@pytest.mark.parametrize("options", [{}, {"parallel": "always"}], ids=["", "parallel"])
def test_columns(program: Callable[..., Any], options: Any, order: str) -> None:
    made = sg.compile(program, **options)
    for width in (4, 8, 9, 64, 511, 512, 513, 1030):
        ours, theirs = columns(width, order), columns(width, order)
        made(*ours)
        REFERENCES.get(program, program)(*theirs)
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("program", DOWN, ids=name)
def test_gradients_of_columns(program: Callable[..., Any]) -> None:
    def loss(a: Any) -> Any:
        b = 0.5 * a
        program(a, b)
        return np.sum(b * b)

    made, plain = (sg.grad(loss, mode=m) for m in (sg.opt.FAST_RUN, PLAIN))
    for width in (4, 9, 64, 520):
        a, _ = columns(width)
        np.testing.assert_allclose(made(a), plain(a), rtol=1e-10, atol=1e-12)


def between(a: Any, b: Any) -> Any:
    """What is read before a loop of what it changes is wanted after it."""
    for j in range(a.shape[1]):
        first = b[0, j]
        for i in range(1, a.shape[0]):
            b[i - 1, j] = 0.5 * b[i, j] + a[i, j]
        b[2, j] = first


def test_what_is_wanted_later_is_not_read_anew() -> None:
    made = sg.compile(between)
    ours, theirs = columns(600), columns(600)
    made(*ours)
    between(*theirs)
    np.testing.assert_array_equal(ours[1], theirs[1])
    assert "< end:" not in made.python(*columns(600))


def filtered(x: Any, h: Any, w: Any) -> Any:
    y = np.zeros(len(x) - len(h) + 1)
    for i in range(len(y)):
        s = 0.0
        for k in range(len(h)):
            s += h[k] * x[i + len(h) - 1 - k]
        y[i] = s
    return y


def correlated(x: Any, h: Any, w: Any) -> Any:
    """Places go down where those of elements go up."""
    y = np.zeros(len(x))
    for i in range(len(x) - 1, len(h), -1):
        s = 0.5
        for k in range(len(h)):
            s -= h[k] * x[len(x) - 1 - i + k]
        y[i] = s * s
    return y


def convolved(x: Any, h: Any, w: Any) -> Any:
    a, b = w.shape
    rows = np.reshape(x, (10, -1))
    out = np.zeros((rows.shape[0] - a + 1, rows.shape[1] - b + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for k in range(a):
                for m in range(b):
                    s += rows[i + k, j + m] * w[k, m]
            out[i, j] = s
    return out


def of_layers(x: Any, h: Any, w: Any) -> Any:
    """Three loops in each other, two sums, and what is computed between them."""
    a, b = w.shape
    cube = np.reshape(x, (2, 5, -1))
    out = np.zeros((2, cube.shape[2] - b + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s, t = 0.0, 1.0
            for c in range(2):
                for k in range(a):
                    row = i + k
                    for m in range(b):
                        s += cube[c, row, j + m] * w[k, m] * (1.0 + 0.1 * k)
                        t -= cube[c, row, j + m]
            out[i, j] = s * t
    return out


ALONG = [filtered, correlated, convolved, of_layers]


def signal(width: int, terms: int) -> Any:
    make = np.random.default_rng(width + terms)
    return make.normal(size=20 * width), make.normal(size=terms), make.normal(size=(2, terms))


@pytest.mark.parametrize("program", ALONG, ids=name)
def test_sums_are_taken_of_many_elements_in_rows(program: Callable[..., Any]) -> None:
    made = sg.compile(program)
    assert "np.empty(512)" in made.python(*signal(60, 70))
    for width, terms in ((60, 70), (75, 66), (300, 100), (40, 39)):
        got = made(*signal(width, terms))
        np.testing.assert_array_equal(got, program(*signal(width, terms)))


@pytest.mark.parametrize("program", ALONG, ids=name)
def test_gradients_of_sums_of_rows(program: Callable[..., Any]) -> None:
    def loss(x: Any, h: Any, w: Any) -> Any:
        return np.sum(program(x, h, w) ** 2)

    for given in (signal(60, 70), signal(75, 66)):
        made, plain = (sg.grad(loss, argnums=(0, 1, 2), mode=m)(*given) for m in (sg.opt.FAST_RUN, PLAIN))
        for x, y in zip(made, plain, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-9)


def test_short_sums_are_written_out() -> None:
    assert "np.empty(512)" not in sg.compile(filtered).python(*signal(60, 8))
    assert "np.empty(512)" not in sg.compile(convolved).python(*signal(60, 8))


def products(x: Any, h: Any, w: Any) -> Any:
    """What a step reads lies beside what the next step reads, not beside that of the next element."""
    y = np.zeros(len(w))
    for i in range(len(w)):
        s = 0.0
        for k in range(w.shape[1]):
            s += w[i, k] * h[k]
        y[i] = s
    return y


def test_sums_along_rows_stay_as_they_are() -> None:
    assert "np.empty(512)" not in sg.compile(products).python(*signal(60, 70))
