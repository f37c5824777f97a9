"""Sums that a derivative adds to an array: no array is made of the sums."""

from __future__ import annotations

import re

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def convolution(x, w):
    n = x.shape[1] - 4
    out = np.empty((x.shape[0], n, 16))
    for i in range(n):
        out[:, i, :] = np.sum(x[:, i : i + 5, :, np.newaxis] * w[np.newaxis, :, :, :], axis=(1, 2))
    return np.sum(out * out)


def shifts(x, b):
    """A bias that each step adds to all rows of a part."""
    y = np.zeros(x.shape)
    for k in range(b.shape[0] - 1):
        y += x * b[k : k + 2][:, np.newaxis, np.newaxis][0]
        y[1:, :] += np.sin(b[k + 1]) * x[:-1]
    return np.sum(y * y * x)


def turned(x, w):
    """Sums over the first and a middle axis, added to a turned view."""
    total = 0.0
    for k in range(x.shape[0]):
        z = x[k][:, :, np.newaxis] * w.T[np.newaxis, :, :]
        total += np.sum(z * z * z)
    return total


def overwritten(x, w):
    """What is summed up is overwritten before it could be added."""
    x = x.copy()
    total = 0.0
    for _ in range(3):
        y = x[:, :, np.newaxis] * w[np.newaxis, :, :]
        x[:] = np.tanh(x + np.sum(y, axis=2))
        total += np.sum(x)
    return total


def rng(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape) / 3.0


PROGRAMS = [
    (convolution, (rng(3, 9, 2), rng(5, 2, 16))),
    (convolution, (rng(1, 5, 1), rng(5, 1, 16))),
    (shifts, (rng(5, 4), rng(4))),
    (turned, (rng(4, 3, 2), rng(5, 2))),
    (turned, (rng(1, 1, 2), rng(1, 2))),
    (turned, (rng(3, 0, 2), rng(4, 2))),
    (overwritten, (rng(4, 3), rng(3, 5))),
]


def slopes(f, arguments):
    found = []
    for k, a in enumerate(arguments):
        d = np.empty(a.shape)
        for at in np.ndindex(a.shape):
            up, down = a.copy(), a.copy()
            up[at] += 1e-6
            down[at] -= 1e-6
            ends = [f(*(v if j == k else b for j, b in enumerate(arguments))) for v in (up, down)]
            d[at] = (ends[0] - ends[1]) / 2e-6
        found.append(d)
    return found


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(("f", "arguments"), PROGRAMS)
def test_gradients(f, arguments, parallel):
    found = sg.grad(f, argnums=(0, 1), parallel=parallel)(*arguments)
    for ours, wanted in zip(found, slopes(f, arguments), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-7)


def test_no_array_is_made_of_sums():
    """The weights' derivative is added to in the loop over all that is multiplied, and nothing is cleared there."""
    text = sg.grad(convolution, argnums=1).python(*PROGRAMS[0][1])
    assert re.search(r"for m in range\(.*\n +d_w\[k, l, m\] \+= ", text)
    assert re.findall(r"(\w+)\.fill\(0\)", text) == ["total"]  # what the function itself adds up


def test_what_a_function_adds_stays_a_sum():
    """Rounding: what a user adds up is added as one number."""

    def added(x, a):
        a[:] += np.sum(x, axis=0)
        return a

    x, a = np.full((1000, 1), 0.5), np.full(1, 2.0**53)
    assert sg.compile(added)(x, a)[0] == 2.0**53 + 500.0


def test_other_lengths():
    """The lengths of one call are not those of the next one."""
    compiled = sg.grad(convolution, argnums=(0, 1))
    for x, w in [((3, 9, 2), (5, 2, 16)), ((4, 9, 2), (5, 2, 16)), ((4, 12, 3), (5, 3, 16)), ((1, 5, 3), (5, 3, 16))]:
        arguments = (rng(*x), rng(*w))
        for ours, wanted in zip(compiled(*arguments), slopes(convolution, arguments), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-7)
