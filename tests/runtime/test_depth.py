"""How deep compiled recursion may go: as deep as Python's, and no stack overflows."""

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.runtime.calls import lists_of
from srcgraph.runtime.calls_layout import supported


@sg.compile
def countdown(n, kept):
    if n == 0:
        return kept
    return countdown(n - 1, kept + 1.0) * 1.0


@pytest.fixture
def limit() -> Iterator[int]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield 100_000
    sys.setrecursionlimit(before)


def test_as_deep_as_python() -> None:
    depth = sys.getrecursionlimit() - 10
    assert countdown(depth, 0.0) == depth


def test_deeper_raises() -> None:
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded") as caught:
        countdown(10**9, 0.0)
    assert "test_depth.py" in caught.value.__notes__[0]


def test_a_larger_limit_gets_a_larger_stack(limit: int) -> None:
    assert countdown(limit - 10, 0.0) == limit - 10
    with pytest.raises(RecursionError):
        countdown(10**9, 0.0)


def test_in_a_thread(limit: int) -> None:
    found = []
    threads = [threading.Thread(target=lambda: found.append(countdown(limit - 10, 0.0))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [limit - 10] * 3


@sg.compile
def with_an_array(n, x):
    a = np.zeros(8)
    a[0] = x
    if n == 0:
        return x
    for i in range(7):
        a[i + 1] = np.sin(a[i]) + x
    return with_an_array(n - 1, a[7] * 0.1) + np.sum(a)


@pytest.mark.parametrize("size", [64, 128, 256])
@pytest.mark.parametrize("function", [with_an_array, sg.grad(with_an_array, argnums=1)])
def test_in_a_thread_of_a_small_stack(function, size: int) -> None:
    found = []
    want = function(900, 0.3)
    before = threading.stack_size(size * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(function(900, 0.3)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert found == [want]


def test_a_stack_size_that_another_thread_sets_meanwhile_stays(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one setting for the process: to put back what was there would undo the other's."""
    own = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (own(thread), threading.stack_size(1 << 20))[0])
    assert countdown(limit - 10, 0.0) == limit - 10
    assert threading.stack_size(0) == 1 << 20
    monkeypatch.undo()
    assert countdown(limit - 10, 0.0) == limit - 10
    assert threading.stack_size(0) == 0


def test_no_thread_is_started_where_a_small_stack_does(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    own = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread), own(thread))[1])

    @sg.compile
    def many(n, x):
        a = x * 1.1
        b = a + x
        c = b * a - x
        d = a * b + c * c
        e = d - a * 0.5
        f = e + b * 0.25
        g = f * 0.5 + c
        h = g - d * 0.125
        k = h + e * 0.3
        m = k * 0.2 + g
        p = m - f * 0.1 + h
        q = p * 0.3 + k
        r = q + p * m
        s = r * 0.25 + q - p
        t = s + r * 0.5
        u = t * q + s
        v = u + t - r * 0.2
        w = v * 0.1 + u * 0.2
        y = w + v * s
        z = y * 0.01 + w + a + b + c + d + e + f + g + h + k + m + p + q + r + s + t + u + v + w + y
        return z if n == 0 else many(n - 1, z * 1e-3) * 0.5 + a * b

    limit = sys.getrecursionlimit()
    assert many(3, 0.5) == pytest.approx(many.__wrapped__(3, 0.5), rel=1e-14)
    assert not started
    deep = many(limit - 20, 0.5)
    assert deep == many(limit - 20, 0.5)


def test_what_is_stored_is_stored_once() -> None:
    @sg.compile
    def walk(n, x, a, b, c, d):
        x[0] += 1.0
        e, f, g, h = a + b, b + c, c + d, d + a
        i, j, k, m = e * f, f * g, g * h, h * e
        p, q, r, s = i + j, j + k, k + m, m + i
        if n == 0:
            return p + q + r + s
        return walk(n - 1, x, q * 0.1, r * 0.1, s * 0.1, p * 0.1) + p

    x = np.zeros(1)
    walk(sys.getrecursionlimit() - 20, x, 0.1, 0.2, 0.3, 0.4)
    assert x[0] == sys.getrecursionlimit() - 19


def summed(x, n):
    return x[n] if n == 0 else x[n] + summed(x, n - 1)


def below(x, n):
    """Large enough that the deepest recursion needs a stack of its own."""
    a, b, c, d = x[n % 4], x[(n + 1) % 4], x[(n + 2) % 4], x[(n + 3) % 4]
    e, f, g, h = a * b, b * c, c * d, d * a
    if n == 0:
        return e + f + g + h
    return 0.5 * below(x, n - 1) + e * f + g * h + a * c + b * d


@pytest.mark.parametrize("function", [summed, below])
def test_calls_by_machine_code(function, limit: int) -> None:
    """They go as deep as any: the first that is too deep for the stack that is there takes the longer way, as do others
    from then on; another limit is seen."""
    sys.setrecursionlimit(1000)
    x = np.cos(np.arange(4000.0))
    fast = sg.compile(function)
    for _ in range(3):
        assert fast(x, 5) == pytest.approx(function(x, 5))
    assert lists_of(fast) or not supported()
    want = function(x, 900)
    assert fast(x, 900) == pytest.approx(want) and fast(x, 900) == pytest.approx(want)
    with pytest.raises(RecursionError) as caught:
        fast(x, 3000)
    assert "test_depth.py" in caught.value.__notes__[0]
    assert fast(x, 900) == pytest.approx(want)
    sys.setrecursionlimit(limit)
    assert fast(x, 3000) == pytest.approx(function(x, 3000))
    assert fast(x, 5) == pytest.approx(function(x, 5))
    sys.setrecursionlimit(1000)
    with pytest.raises(RecursionError):
        fast(x, 3000)
