"""Loops that are differentiated through stored states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import srcgraph as sg


def recurrence(x, n):
    y = x
    for _ in range(n):
        y = y + 0.1 * np.sin(y) * x
    return y


def stencil(u, c, n):
    v = u.copy()
    for _ in range(n):
        w = v.copy()
        for i in range(1, len(v) - 1):
            w[i] = v[i] + c * (v[i - 1] - 2 * v[i] + v[i + 1]) * v[i]
        v = w
    return np.sum(v * v)


def in_place(u, c, n):
    for _ in range(n):
        for i in range(1, len(u)):
            u[i] = u[i] - c * u[i - 1] * u[i]
    return u[-1]


def until_close(a, x):
    steps = 0
    while abs(x * x - a) > 1e-12:
        x = 0.7 * x + 0.3 * a / x
        steps += 1
    return x * steps


def until_far(x, m):
    s, k = x, 0.0
    for i in range(1, m, 2):
        s = s * 1.1 + np.cos(s) * i
        k += s
        if k > 50.0:
            break
    return s + k


def downwards(x, step):
    s = x
    for i in range(9, -1, step):
        s = s * x + i
    return s


def two_numbers(x, n):
    """One carry that no step needs, one that is an integer."""
    a, total, k = x, 0.0, 1
    for _ in range(n):
        total += a * k
        k = (3 * k + 1) % 7
        a = np.sin(a) * k
    return total


def on_one_side(x, n, deep):
    y = x * x
    if deep:
        for i in range(n):
            y = np.tanh(y * x) + i
    return y * x


def after_another(x, n):
    y = x
    for _ in range(n):
        y = np.cos(y)
    z = y
    for k in range(n):
        z = z * y + x[k % len(x)]
    return np.sum(z)


def half(x, n):
    return x if n == 0 else np.sin(half(x * 0.5, n - 1))


def calls_itself_in_steps(x, n):
    for _ in range(n):
        x = half(x, 2) + x
    return x


def calls_itself_after_steps(x, n):
    for _ in range(n):
        x = np.sin(x) + x
    return half(x, 2)


@sg.custom_vjp
def cube(x):
    return x**3


cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (ct * 3 * x * x,))


def rule_before_recursion(x):
    return half(cube(x), 2)


def rule_in_steps(x, n):
    for _ in range(n):
        x = x - 0.1 * cube(x)
    return x


# -- shapes, lists and kinds of numbers that users' loops carry -------------------------------------------


def product_again(x, w, n):
    """That a product has the shape of its operand is not known before it runs."""
    for _ in range(n):
        x = np.tanh(w @ x) + x
    return np.sum(x)


def made_anew(x, n):
    for _ in range(n):
        x = np.array([x[1] * 1.1, -np.sin(x[0])])
    return x[0]


def turned(x, n):
    for _ in range(n):
        x = np.concatenate((x[1:] * 1.5, np.cos(x[:1])))
    return x[0]


def first_made_in_the_loop(x, n):
    s = 0.0
    for t in range(n):
        y = np.sin(x * (t + s))
        s += y[0]
    return y[1] + s


def own_from_then_on(x, n):
    for i in range(n):
        if i % 2:
            x = np.sin(x)
        x *= 1.1
    return np.sum(x)


def collects(x, n):
    out = []
    s = 0.0
    for _ in range(n):
        s = np.sin(s + x[0])
        out.append(s)
    return sum(out) + sum([v * v for v in x])


def pops(x, n):
    out = [x[0]]
    for _ in range(n):
        out.append(np.sin(out[-1]) + x[1])
    s = 0.0
    while out:
        s = 0.5 * s * x[2] + out.pop()
    return s


def complex_steps(x, n):
    z = x + 0j
    for _ in range(n):
        z = z * z * 0.3 + complex(0.2, 0.5) * x
        if abs(z) > 4:
            break
    return z.real + abs(z) ** 2


def both_marked(u, n, m):
    s = 0.0
    for _ in sg.checkpoint(range(n), 2):
        for k in sg.checkpoint(range(m), 2):
            u = u + 0.1 * u * u
            s += u * k
        if s > 1e9:
            break
    return s


V = np.array([0.3, -0.7, 1.1, 0.4])
W = np.array([[0.4, -0.2, 0.1, 0.3], [0.2, 0.5, 0.0, -0.1], [0.3, 0.1, -0.4, 0.2], [0.0, 0.6, 0.2, 0.1]])
SHAPED: list[tuple[Callable, tuple[Any, ...]]] = [
    (product_again, (V, W, 4)),
    (made_anew, (V[:2], 5)),
    (turned, (V, 5)),
    (first_made_in_the_loop, (V, 4)),
    (own_from_then_on, (V, 5)),
    (collects, (V, 4)),
    (pops, (V, 4)),
    (complex_steps, (0.8, 9)),
]
PROGRAMS: list[tuple[Callable, tuple[Any, ...]]] = [
    (recurrence, (0.3, 17)),
    (recurrence, (0.3, 0)),
    (recurrence, (0.3, 1)),
    (stencil, (V, 0.1, 7)),
    (in_place, (V, 0.2, 6)),
    (until_close, (2.0, 1.0)),
    (until_far, (0.5, 100)),
    (downwards, (0.9, -2)),
    (two_numbers, (0.4, 9)),
    (on_one_side, (0.8, 5, True)),
    (on_one_side, (0.8, 5, False)),
    (after_another, (V, 6)),
    (calls_itself_in_steps, (0.3, 5)),
    (calls_itself_after_steps, (0.3, 5)),
    *SHAPED,
    (both_marked, (0.3, 3, 5)),
]
