"""How deep compiled recursion may go: as deep as Python's, and no stack overflows."""

import sys
import threading
from collections.abc import Iterator

import pytest

import srcgraph as sg


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
