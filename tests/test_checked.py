"""Loops whose checks are made for all steps first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def roots(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] + math.sqrt(x[i])
    return out


def quotients(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = float(x[i]) / float(y[i])
    return out


def of_both(x, y):
    """Which check fails first matters."""
    out = np.empty_like(x)
    for i in range(len(x)):
        a = math.sqrt(y[i])
        if x[i] > 3.0:
            raise KeyError("large")
        out[i] = a * math.sqrt(x[i] + 1.0)
    return out


def waves(x, y):
    h, flux = x.copy(), np.zeros(len(x))
    for _ in range(3):
        for i in range(len(h) - 1):
            c, d = math.sqrt(h[i]), math.sqrt(h[i + 1])
            flux[i] = (c + d) * (h[i] - h[i + 1])
        for i in range(1, len(h)):
            h[i] += 0.01 * (flux[i - 1] - flux[i])
    return h


def stored_by_callers(x, y):
    """Callers see what was stored before something raised."""
    for i in range(len(x)):
        x[i] = 2.0 * math.sqrt(y[i])
    return x


def of_the_one_before(x, y):
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = x[i] - math.sqrt(out[i - 1])
    return out


def looked_up(x, y):
    """Places that are not checked yet are not looked up."""
    out = np.empty_like(x)
    for i in range(len(x)):
        k = int(x[i])
        if k >= len(y):
            raise IndexError("too far")
        out[i] = math.sqrt(y[k])
    return out


def remainders(x, y):
    out = np.zeros(len(x))
    for i in range(len(x)):
        k = 6 - i
        if k < 1:
            raise ValueError("few")
        m = 12 // k
        if m > 5:
            raise ValueError("many")
        out[i] = m
    return out


def by_numbers(x, y):
    """Whether all places are inside is known from the first and the last."""
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] + y[len(x) - 70 + i]
    return out


def appended(x, y):
    seen = []
    for v in x:
        seen.append(math.sqrt(v))
    return np.array(seen)


DIVIDED = [roots, quotients, of_both, waves, appended]
OTHERS = [stored_by_callers, of_the_one_before, looked_up, remainders, by_numbers]


def outcome(function: Callable[..., Any], x: Any, y: Any) -> tuple[str, Any, Any]:
    x = x.copy()
    try:
        return "", function(x, y), x
    except Exception as error:
        return repr(error.args[:1]) + type(error).__name__, None, x


@pytest.mark.parametrize("program", DIVIDED + OTHERS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("at", [None, 0, 1, 5, 69])
@pytest.mark.parametrize("which", ["x", "y", "both"])
def test_what_is_raised_first_is_raised(program: Callable[..., Any], at: int | None, which: str) -> None:
    x, y = np.linspace(0.0, 2.0, 70), np.linspace(1.0, 3.0, 70)
    if at is not None:
        if which != "y":
            x[at] = 7.0 if program is of_both else -2.0 if program is not looked_up else 500.0
        if which != "x":
            y[max(at - 1, 0) if which == "both" else at] = 0.0 if program is quotients else -1.0
    kind, value, left = outcome(sg.compile(program), x, y)
    expected, wanted, stayed = outcome(program, x, y)
    assert kind == expected
    np.testing.assert_array_equal(left, stayed)
    if not kind:
        np.testing.assert_allclose(value, wanted, rtol=1e-14)


def test_they_are_made_before() -> None:
    x = np.linspace(1.0, 2.0, 70)
    for program in DIVIDED:
        assert "fails |= " in sg.compile(program).python(x, x.copy())
    for program in OTHERS:
        assert "fails" not in sg.compile(program).python(x, x.copy())


def test_names_that_are_taken() -> None:
    def named(fails: Any) -> Any:
        out = np.empty_like(fails)
        for i in range(len(fails)):
            out[i] = math.sqrt(fails[i])
        return out

    x = np.linspace(1.0, 2.0, 70)
    np.testing.assert_array_equal(sg.compile(named)(x), np.sqrt(x))
    assert "fails_2 |= " in sg.compile(named).python(x)


@pytest.mark.parametrize("program", DIVIDED, ids=lambda p: p.__name__)
def test_gradients(program: Callable[..., Any]) -> None:
    def loss(x: Any, y: Any) -> Any:
        return np.sum(program(x, y) ** 2)

    x = np.linspace(0.5, 2.0, 20)
    sg.grad(loss, argnums=(0, 1), verify=True)(x, x + 0.1)


# -- several that look up, in one loop ---------------------------------------------------------------


def of_two(x, a, b, c):
    return x[a] - x[b]


def of_one_list_in_two(x, a, b, c):
    return x[a] * x[:5][a]


def of_three(x, a, b, c):
    d = x[a] - x[b + 1]
    return np.sum(np.abs(d * x[c]))


def added_up(x, a, b, c):
    out = np.zeros(7)
    np.add.at(out, a, x[b])
    return out


def stored(x, a, b, c):
    out = np.zeros(7)
    out[a] = x[a] + x[c]
    return out


LOOKED_UP = [of_two, of_one_list_in_two, of_three, added_up, stored]


@pytest.mark.parametrize("program", LOOKED_UP, ids=lambda p: p.__name__)
@pytest.mark.parametrize("bad", [(), (0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
def test_which_index_is_named(program: Callable[..., Any], bad: tuple[int, ...]) -> None:
    """NumPy looks at all indices of one array before those of the next."""
    x, rng = np.linspace(0.5, 2.0, 9), np.random.default_rng(len(bad))
    for _ in range(4):
        indices = [rng.integers(-4, 5, size=6) for _ in range(3)]
        for k in bad:
            indices[k][rng.integers(6)] = (50, 60, 70)[k]
        found, expected = (value_or_message(f, x, *indices) for f in (sg.compile(program), program))
        np.testing.assert_allclose(found, expected, rtol=1e-13) if not isinstance(expected, str) else None
        assert isinstance(expected, str) == isinstance(found, str)
        assert not isinstance(expected, str) or found == expected


def value_or_message(program: Callable[..., Any], *args: Any) -> Any:
    try:
        return program(*args)
    except IndexError as error:
        return str(error)


@pytest.mark.parametrize("program", LOOKED_UP, ids=lambda p: p.__name__)
def test_they_are_one_loop(program: Callable[..., Any]) -> None:
    k = np.arange(6)
    text = sg.compile(program).python(np.ones(9), k, k, k)
    loops = [line for line in text.splitlines() if line.startswith("    for ")]
    assert len(loops) == 1 and "fails" not in text and "copy(" not in text


@pytest.mark.parametrize("program", LOOKED_UP, ids=lambda p: p.__name__)
def test_gradients_of_what_is_looked_up(program: Callable[..., Any]) -> None:
    def loss(x: Any, a: Any, b: Any, c: Any) -> Any:
        return np.sum(program(x, a, b, c) ** 2)

    a, b, c = np.random.default_rng(1).integers(-5, 5, size=(3, 6))
    sg.grad(loss, verify=True)(np.linspace(0.5, 2.0, 9), a, b, c)


def test_the_gradient_of_what_is_looked_up_twice_is_one_loop() -> None:
    def energy(x: Any, a: Any, b: Any) -> Any:
        d = x[a] - x[b]
        return 0.5 * np.sum(d * d)

    k = np.arange(6)
    text = sg.grad(energy).python(np.ones(9), k, k)
    assert sum(line.startswith("    for ") for line in text.splitlines()) == 1 and text.count("empty(") == 0


def test_an_array_is_as_it_was_where_a_place_is_out_of_range() -> None:
    def added(out: Any, places: Any, x: Any) -> Any:
        np.add.at(out, places, x)

    for f in (added, sg.compile(added)):
        out = np.ones(4)
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            f(out, np.array([0, 1, 9]), np.ones(3))
        np.testing.assert_array_equal(out, 1.0)
    assert "copy(" not in sg.compile(added).python(np.ones(4), np.array([0]), np.ones(1))
