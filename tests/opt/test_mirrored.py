"""Sums over pairs: one of two sums is enough where pairs are mirrored, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

RNG = np.random.default_rng(11)
X, Y, M = RNG.normal(size=(7, 3)), RNG.normal(size=(7, 3)), RNG.uniform(0.5, 1.5, 7)
V, W = RNG.normal(size=7), RNG.normal(size=7)
PLAIN = sg.opt.FAST_RUN.excluding("mirrored_sum")


def energy(x, m):
    between = x[:, None, :] - x[None, :, :]
    distance = np.sqrt(np.sum(between * between, axis=2) + 0.01)
    return np.sum(m[:, None] * m[None, :] / distance)


def kernel(v, m):
    between = v[:, None] - v
    return np.sum(np.exp(-(between**2)) * m[:, None] * m)


def forces(v):
    between = v[:, None] - v[None, :]
    pull = between / (1.0 + np.abs(between) ** 3)
    return np.sum(pull, axis=0) - 2.0 * np.sum(pull, axis=1)


def even(v):
    sums = np.maximum(v[:, None], v[None, :]) + np.tanh(v[:, None] * v)
    return np.sum(sums, axis=0) + np.sum(sums, axis=1) ** 2


def transposed(v):
    between = v[:, None] - v[None, :]
    both = between * 0.3 - 0.1 * between.T
    return np.sum(np.sinh(both), axis=1) + 0.5 * np.sum(np.sinh(both), axis=0)


def weighted(x, m):
    """Not mirrored: the weight is of the first of the pair."""
    between = x[:, None, :] - x[None, :, :]
    return np.sum(np.sum(between * between, axis=2) * m[:, None])


def of_two(v, w):
    between = v[:, None] - w[None, :]
    pull = between / (1.0 + between**2)
    return np.sum(pull, axis=0) - np.sum(pull, axis=1)


def shifted(v):
    """Neither odd nor even."""
    between = v[:, None] - v[None, :] + 0.5
    return np.sum(between**3, axis=0) - np.sum(between**3, axis=1)


def lower(v):
    n = len(v)
    between = np.where(np.arange(n)[:, None] > np.arange(n), v[:, None] - v, 0.0)
    return np.sum(between, axis=0) - np.sum(between, axis=1)


def quotients(v):
    """A quotient is not its own mirror image."""
    ratio = (v[:, None] ** 2 + 1.0) / (v[None, :] ** 2 + 1.0)
    return np.sum(ratio, axis=0) - np.sum(ratio, axis=1)


def three_axes(x):
    """Mirrored in two axes of three, of which the others are summed."""
    pairs = x[:, :, None] * x[:, None, :]
    return np.sum(np.sum(pairs, axis=1), axis=0), np.sum(np.sum(pairs, axis=2), axis=0)


Programs = list[tuple[Callable[..., Any], tuple[Any, ...]]]
MIRRORED: Programs = [(forces, (V,)), (even, (V,)), (transposed, (V,)), (three_axes, (X,))]
OTHERS: Programs = [(of_two, (V, W)), (shifted, (V,)), (lower, (V,)), (quotients, (V,))]
SCALAR: Programs = [(energy, (X, M)), (kernel, (V, M)), (weighted, (X, M))]


def name(value: Any) -> str:
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("program", "args"), MIRRORED + OTHERS + SCALAR, ids=name)
def test_values(program: Any, args: tuple[np.ndarray, ...]) -> None:
    found, expected = sg.compile(program)(*args), program(*args)
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("program", "args"), MIRRORED + OTHERS + SCALAR, ids=name)
def test_derivatives(program: Any, args: tuple[np.ndarray, ...]) -> None:
    def loss(*given):
        return np.sum(np.cos(program(*given))) if program is not three_axes else np.sum(np.cos(program(*given)[0]))

    which = tuple(range(len(args)))
    mine, plain = sg.grad(loss, argnums=which)(*args), sg.grad(loss, argnums=which, mode=PLAIN)(*args)
    for k, (a, b) in enumerate(zip(mine, plain, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)
        step = 1e-6 * RNG.normal(size=args[k].shape)
        high = [v + step if j == k else v for j, v in enumerate(args)]
        low = [v - step if j == k else v for j, v in enumerate(args)]
        np.testing.assert_allclose(np.sum(a * step), (loss(*high) - loss(*low)) / 2.0, rtol=1e-5, atol=1e-11)


def fired(program: Any, args: tuple[np.ndarray, ...]) -> bool:
    return "mirrored_sum" in str(sg.inspect(program, *args).rewrites)


@pytest.mark.parametrize(("program", "args"), MIRRORED, ids=name)
def test_where_it_applies(program: Any, args: tuple[np.ndarray, ...]) -> None:
    assert fired(program, args)


@pytest.mark.parametrize(("program", "args"), OTHERS, ids=name)
def test_where_it_does_not(program: Any, args: tuple[np.ndarray, ...]) -> None:
    assert not fired(program, args)


def test_derivatives_of_pairs_have_one_sum() -> None:
    text = sg.inspect(sg.grad(energy), X, M).cpu
    assert "[j, 0] +=" not in text and "[j, k] +=" not in text, text
    assert fired(sg.grad(energy), (X, M)) and fired(sg.grad(kernel), (V, M)) and not fired(sg.grad(weighted), (X, M))
