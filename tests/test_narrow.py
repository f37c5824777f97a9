"""Matrices of short rows, whose length is known where they are compiled for: as wide as registers, or nearly so."""

import math

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly


def reductions(m, o):
    return np.sum(m), np.sum(m * o), np.max(m), np.mean((m - 0.5) ** 2), np.min(o), np.sum(m, axis=1), np.max(m, axis=0)


def stored(m, o):
    o[:] = np.where(m > 0.5, m * m, o + 1.0) / (m + 2.0)
    return m * 2.0 + 1.0, m - np.mean(m, axis=0)


def by_elements(m, o):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            o[i, j] = m[i, j] * 2.0 + o[i, j]
    return o


def states(m, o):
    """What a step stores the next one reads."""
    s = np.zeros(m.shape[1])
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s[j] = 0.5 * s[j] + m[i, j] * o[i, j]
    return s


def of_rows(m):
    """Several reductions over several axes go over the rows once."""
    return np.sum(m, axis=0), np.max(m, axis=1), np.sum(m * m)


def loss(m, w):
    return np.mean((m @ w - np.sum(m, axis=1)) ** 2) + 0.1 * np.sum(m * m)


def matrices(rows, width, dtype):
    numbers = np.random.default_rng(width).uniform(0.1, 1.0, (2, rows, width))
    return numbers.astype(dtype)


def close(got, want):
    assert len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        tol = 2e-6 if x.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(x, y, rtol=10 * tol, atol=tol)


@pytest.mark.parametrize("width", [3, 7, 8, 9, 12, 15, 16, 17])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_as_numpy(width, dtype):
    for function in (reductions, stored, by_elements, states):
        fast = sg.compile(function)
        for rows in (100, 1):
            m, o = matrices(rows, width, dtype)
            own = o.copy()
            got, want = fast(m, o), function(m, own)
            close([*got], [*want]) if type(want) is tuple else close([got], [want])
            close([o], [own])


@pytest.mark.parametrize("width", [8, 11])
def test_whatever_the_order(width):
    """Rows that do not lie side by side are added up, too."""
    wide, other = matrices(90, 2 * width, np.float64)
    fast = sg.compile(reductions)
    for cut in (np.s_[:, ::2], np.s_[::-2, :width], np.s_[10:, width:], np.s_[:0, :width]):
        m, o = wide[cut], other[cut]
        if len(m):
            close(fast(m, o), reductions(m, o))
        else:
            with pytest.raises(ValueError, match="zero-size array"):
                fast(m, o)
    m, o = (np.asfortranarray(x[:, :width]) for x in (wide, other))
    close(fast(m, o), reductions(m, o))


def test_text():
    """Only those that do nothing but reduce go along one axis."""
    m, o = matrices(100, 12, np.float64)
    assert "for block in blocks(12 * n)" in sg.compile(reductions).python(m, o)
    assert "reshape" not in sg.compile(stored).python(m, o)
    assert "reshape" not in sg.compile(reductions).python(m[:, :7], o[:, :7])


def test_rows_are_read_once():
    m, _ = matrices(70, 90, np.float64)
    fast = sg.compile(of_rows)
    assert fast.python(m).count("for i in range(n):") == 1
    close(fast(m), of_rows(m))
    for few in (m[:1], m[:, :1], m[:0, :3]):
        close(fast(few), of_rows(few))


@pytest.mark.parametrize("width", [8, 13])
def test_gradient(width):
    m, _ = matrices(80, width, np.float64)
    w = np.linspace(0.0, 1.0, width)
    slope = sg.grad(loss, argnums=(0, 1))(m, w)
    error = m @ w - np.sum(m, axis=1)
    close(slope, (0.2 * m + 2.0 / 80 * error[:, None] * (w - 1.0), 2.0 / 80 * error @ m))


def looked_up(m, o):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            k = int(m[i, j] * 3.0)
            o[i, j] = o[i, j] / 3.0 + math.lgamma(m[i, k])


def halved(m, o):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            x = m[i, j] / 1.5
            while x > 0.1:
                x = x * 0.5
            o[i, j] = o[i, j] + x


@pytest.mark.parametrize("function", [looked_up, halved], ids=lambda f: f.__name__)
def test_compilers_say_nothing(function, capfd):
    """Of what LLVM was asked to take several at a time, and cannot, it might speak."""
    for width in (8, 9):
        m, o = matrices(90, width, np.float64)
        own = o.copy()
        sg.compile(function)(m, o)
        function(m, own)
        close([o], [own])
    assert capfd.readouterr().err == ""
