"""Loops of a few trips over small arrays, written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg

PLAIN = sg.opt.FAST_RUN.excluding("unroll")


def springs(x, steps):
    p = np.array([x, 0.5, -0.2])
    v = np.zeros(3)
    for _ in range(steps):
        for k in range(3):
            v[k] -= 0.1 * p[k] * (1.0 + k)
        for k in range(2, -1, -1):
            p[k] += 0.1 * v[k]
    return p[0] * p[1] + v[2]


def triangle(x, n):
    a = np.zeros((2, 2))
    for i in range(2):
        for j in range(i, 2):
            a[i, j] = x ** (i + j + 1)
            if i != j:
                a[j, i] = a[i, j] * 0.5
    total = 0.0
    for i in range(1, 2):
        total += a[i, i - 1] * n
    return total + a[0, 0]


def running(x, n):
    c = np.array([1.0, 2.0, 3.0, 4.0])
    s = 0.0
    for i in range(4):
        s = s * x + c[i]
        c[i] = s
    for _ in range(n):
        for i in range(1, 4):
            c[i] += c[i - 1] * 0.1
    return c.sum()


def counted(x, n):
    """What changes from trip to trip is the length of something, too."""
    a = np.array([x, 2.0 * x])
    total = 0.0
    for i in range(2):
        b = np.ones(i + n) * a[i]
        total += b.sum()
    return total


def jacobian(x, n):
    def f(p):
        return np.array([p[0] * p[1], np.sin(p[0]) + n])

    return np.sum(sg.jacfwd(f)(np.array([x, 0.7])) ** 2)


PROGRAMS = [springs, triangle, running, counted, jacobian]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_same_numbers(program: Any) -> None:
    for n in (0, 1, 3):
        value, slope = sg.value_and_grad(program)(0.7, n)
        plain, plainly = sg.value_and_grad(program, mode=PLAIN)(0.7, n)
        assert value == pytest.approx(plain, rel=1e-14) and slope == pytest.approx(plainly, rel=1e-12)
        if program is not jacobian:
            assert value == pytest.approx(program(0.7, n), rel=1e-14)
            step = (program(0.7 + 1e-6, n) - program(0.7 - 1e-6, n)) / 2e-6
            assert slope == pytest.approx(step, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("program", [springs, triangle, running, jacobian], ids=lambda p: p.__name__)
def test_no_arrays(program: Any) -> None:
    text = sg.inspect(program, 0.7, 3).cpu
    assert "zeros" not in text and "empty" not in text and "[" not in text, text


def test_what_stays_a_loop() -> None:
    def long(x):
        a = np.zeros(9)
        for k in range(9):
            a[k] = x * k
        return a.sum()

    def given(a):
        for k in range(3):
            a[k] *= 2.0
        return a

    assert "for k in range(9)" in sg.inspect(long, 0.5).cpu
    assert "for k in range(3)" in sg.inspect(given, np.ones(5)).cpu
