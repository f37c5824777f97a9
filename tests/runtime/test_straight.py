"""Calls without detours: the same results, types, errors and versions as by the longer way."""

from __future__ import annotations

import threading
import timeit
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest

import srcgraph as sg

SCALE = 2.0


def square(x):
    return x * x + 1


def several(x, n, a):
    return x * n, a + x, n // 2, np.sum(a)


def scaled(x):
    return SCALE * x


def divided(x, y):
    return x / y


def filled(a, x):
    a[:] = x
    return np.sum(a)


VALUES = [2.0, 2, True, np.float64(2.0), np.float32(2.0), np.int64(2), np.int8(2), 1j, np.ones(3), np.ones(1),
          np.ones((2, 3)), np.ones((3, 1)), np.ones(3, np.float32), np.arange(3), np.ones((2, 3)).T, np.ones(6)[::2],
          np.array(2.0), np.ones(3, ">f8"), np.ones(0)]  # fmt: skip


def alike(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for x, y in zip(found, wanted, strict=True):
            alike(x, y)
        return
    assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("first", [0, 3, 8])
def test_types_in_turn(first: int) -> None:
    """What was called last does not matter, nor how often."""
    compiled = sg.compile(square)
    for value in [*VALUES[first:], *VALUES[:first], *VALUES]:
        for _ in range(3):
            try:
                found = compiled(value)
            except sg.errors.SrcgraphError:
                continue
            alike(found, square(value))


def test_several_results() -> None:
    compiled = sg.compile(several)
    for args in [(0.5, 7, np.ones(3)), (np.float64(0.5), 7, np.ones(3)), (2, 7, np.ones(3)), (0.5, 7, np.ones(4))] * 3:
        alike(compiled(*args), several(*args))
    alike(compiled(0.5, a=np.ones(3), n=3), several(0.5, 3, np.ones(3)))


def test_numbers_that_do_not_fit() -> None:
    compiled = sg.compile(square)
    for _ in range(3):
        assert compiled(3) == 10
    with pytest.raises(OverflowError):
        compiled(2**40)
    with pytest.raises((OverflowError, sg.errors.SrcgraphError)):
        compiled(2**70)
    with pytest.raises(sg.errors.SrcgraphError):
        compiled(Fraction(1, 2))
    with pytest.raises(TypeError, match="missing"):
        compiled()
    with pytest.raises(TypeError, match=r"too many|takes"):
        compiled(1.0, 2.0)


def test_errors_say_where() -> None:
    compiled = sg.compile(divided)
    for _ in range(3):
        assert compiled(1.0, 2.0) == 0.5
    with pytest.raises(ZeroDivisionError, match="float division by zero") as caught:
        compiled(1.0, 0.0)
    assert "return x / y" in caught.value.__notes__[0]
    assert caught.value.__context__ is None


def test_globals_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = sg.compile(scaled)
    for scale in (2.0, 3.0, 3, 2.0, np.float64(5.0)):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for _ in range(3):
            assert compiled(2.0) == scale * 2.0


def test_arrays_that_are_stored_into() -> None:
    compiled = sg.compile(filled)
    for _ in range(3):
        a = np.zeros(4)
        assert compiled(a, 2.0) == 8.0
        assert a.tolist() == [2.0] * 4
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(a, 2.0)


def test_lengths_that_go_together() -> None:
    def shifted(x, y):
        return x[1:] * y[:-1]

    compiled = sg.compile(shifted)
    for n, m in [(5, 5), (6, 6), (2, 5), (5, 5), (5, 2)] * 2:
        x, y = np.arange(float(n)), np.arange(float(m))
        alike(compiled(x, y), shifted(x, y))


def test_code_that_is_replaced() -> None:
    def f(x):
        return x + 1.0

    def g(x):
        return x + 2.0

    compiled = sg.compile(f)
    for _ in range(3):
        assert compiled(1.0) == 2.0
    f.__code__ = g.__code__
    assert compiled(1.0) == 3.0


def test_threads() -> None:
    compiled = sg.compile(square)
    wrong: list[Any] = []

    def work(value: Any) -> None:
        for _ in range(2000):
            found = compiled(value)
            if type(found) is not type(square(value)) or not np.array_equal(found, square(value)):
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(v,)) for v in (2.0, 3, np.ones(3), np.float32(2.0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_a_call_costs() -> None:
    """At most four times numba's own call and a microsecond; mostly well under a half of it."""
    compiled, plain = sg.compile(square), numba.njit(square)
    times = []
    for function in (compiled, plain):
        function(2.0)
        function(2.0)
        times.append(min(timeit.repeat(lambda f=function: f(2.0), number=2000, repeat=15)) / 2000)
    assert times[0] < 4 * times[1] + 1e-6
