"""Checks of sizes come first, and what they say is known afterwards; what a caller sees is as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

X, Y, Z = np.linspace(0.1, 1.0, 5), np.linspace(1.0, 2.0, 5), np.linspace(-1.0, 1.0, 5)


def priced(x: Any, y: Any, z: Any) -> Any:
    a = np.exp(x * y) + 1.0
    b = np.sqrt(a) * z
    return a + b - z / y


def loops_of(code: str) -> int:
    return code.count("for ")


def test_one_loop() -> None:
    """Three arrays of one length, checked twice, before one loop."""
    code = sg.inspect(priced, X, Y, Z).cpu
    assert loops_of(code) == 1 and code.count("raise ") == 2
    assert code.index("raise ", code.index("raise ") + 1) < code.index(" empty(")
    np.testing.assert_allclose(sg.compile(priced)(X, Y, Z), priced(X, Y, Z), rtol=1e-14)


def test_the_gradient_is_one_loop() -> None:
    gradient = sg.grad(lambda x, y, z: np.sum(priced(x, y, z)), argnums=(0, 1, 2))
    code = sg.inspect(gradient, X, Y, Z).cpu
    assert loops_of(code) == 1 and code.count(" empty(") == 3


@pytest.mark.parametrize("lengths", [(5, 4, 5), (5, 5, 4), (4, 5, 5)])
def test_the_first_error_is_the_first(lengths: tuple[int, ...]) -> None:
    args = [np.ones(n) for n in lengths]
    with pytest.raises(ValueError) as plain:
        priced(*args)
    with pytest.raises(ValueError) as compiled:
        sg.compile(priced)(*args)
    shapes = [text for text in str(plain.value).split() if text.startswith("(")]
    assert [f"({n},)" for n in str(compiled.value).split() if n.isdigit()] == shapes


def stored(x: Any, y: Any, z: Any) -> Any:
    x[0] = 5.0
    return y + z


def stored_in_a_loop(x: Any, y: Any, z: Any) -> Any:
    for k in range(len(x)):
        x[k] = k
    return y + z


def stored_in_a_branch(x: Any, y: Any, z: Any) -> Any:
    if x[1] > 0.0:
        x[1] = -1.0
    return y + z


def stored_in_a_part(x: Any, y: Any, z: Any) -> Any:
    part = x[1:]
    part[:] = 7.0
    np.asarray(x).reshape(-1)[0] = 2.0
    return y + z


def raised_in_a_loop(x: Any, y: Any, z: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        x[k] += 1.0
        total += np.sum(y[k:] * z[: len(z) - k])
    return total


@pytest.mark.parametrize("f", [stored, stored_in_a_loop, stored_in_a_branch, stored_in_a_part, raised_in_a_loop])
def test_what_was_stored_before_an_error_is_there(f: Callable[..., Any]) -> None:
    wanted, found = np.ones(3), np.ones(3)
    with pytest.raises(ValueError):
        f(wanted, np.ones(2), np.ones(3))
    with pytest.raises(ValueError):
        sg.compile(f)(found, np.ones(2), np.ones(3))
    np.testing.assert_array_equal(found, wanted)


def printed(x: Any, y: Any) -> Any:
    print("before", len(x))
    return x + y


def test_what_is_printed_before_an_error_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError):
        sg.compile(printed)(np.ones(2), np.ones(3))
    assert capsys.readouterr().out == "before 2\n"


def matrix_and_vectors(m: Any, x: Any, y: Any) -> Any:
    """Lengths that are products of others, one known when compiling, and one of a loop."""
    flat = m.reshape(-1)
    total = np.zeros(3)
    for k in range(len(x)):
        total = total + y * x[k]
    return np.sum(flat * np.repeat(x, 3)) + total


def test_lengths_that_follow() -> None:
    m, x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0]), np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(sg.compile(matrix_and_vectors)(m, x, y), matrix_and_vectors(m, x, y))
    with pytest.raises(ValueError):
        sg.compile(matrix_and_vectors)(m, x, y[:2])


def test_it_can_be_left_out() -> None:
    code = sg.inspect(sg.compile(priced, mode=sg.opt.FAST_RUN.excluding("early")), X, Y, Z).cpu
    assert code.index("for ") < code.rindex("raise ")


def ends(x: Any, y: Any, z: Any) -> Any:
    """Where there is no second element, there is none in the middle."""
    x[1:-1] = y[2:] + y[:-2]
    for k in range(2, len(x) - 2):
        x[k] += 1.0
    x[0] = x[1]
    x[-1] = x[-2]
    return z * 2.0


def first_then_third(x: Any, y: Any, z: Any) -> Any:
    """With two elements, the first is stored all the same."""
    x[1:-1] = y[2:] + y[:-2]
    x[0] = 7.0
    x[1] = x[2]
    return z * 2.0


@pytest.mark.parametrize("program", [ends, first_then_third])
def test_what_is_stored_before_a_check_fails(program: Callable[..., Any]) -> None:
    compiled = sg.compile(program)
    for n in range(6):
        left = []
        for f in (compiled, program):
            x, y = X[:n].copy(), Y[:n].copy()
            try:
                left.append((f(x, y, y.copy()), x))
            except IndexError:
                left.append((None, x))
        (found, mine), (wanted, plain) = left
        np.testing.assert_array_equal(mine, plain)
        assert (found is None) == (wanted is None)


def test_checks_that_fail_for_no_element_come_first() -> None:
    code = sg.inspect(ends, X, Y, Z).cpu
    assert code.index("raise IndexError") < code.index("for i in range")
    code = sg.inspect(first_then_third, X, Y, Z).cpu
    assert code.rindex("raise IndexError") > code.index("= 7.0")
