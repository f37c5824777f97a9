"""Python's collector while something is compiled, and afterwards."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import InferenceError
from srcgraph.runtime.collecting import SELDOM, seldom_collecting

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def test_it_looks_less_often_and_then_as_before():
    with seldom_collecting():
        assert gc.get_threshold() == (SELDOM, *USUAL[1:])
        with seldom_collecting():
            pass
        assert gc.get_threshold() == (SELDOM, *USUAL[1:])
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("first", [0, SELDOM, 2 * SELDOM])
def test_who_looks_seldom_or_never_keeps_that(first):
    gc.set_threshold(first, *USUAL[1:])
    with seldom_collecting():
        assert gc.get_threshold()[0] == first
    assert gc.get_threshold()[0] == first


def test_what_is_set_meanwhile_stays():
    with seldom_collecting():
        gc.set_threshold(123)
    assert gc.get_threshold()[0] == 123


def test_an_error_ends_it():
    with pytest.raises(InferenceError):
        sg.compile(lambda x: x.nothing)(1.0)
    assert gc.get_threshold() == USUAL


def test_threads_that_end_in_any_order():
    inside, leave = [threading.Event() for _ in range(3)], [threading.Event() for _ in range(3)]

    def compiling(k: int) -> None:
        with seldom_collecting():
            inside[k].set()
            leave[k].wait(20)

    threads = [threading.Thread(target=compiling, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    assert all(event.wait(20) for event in inside)
    for k in (0, 2, 1):
        assert gc.get_threshold() == (SELDOM, *USUAL[1:])
        leave[k].set()
        threads[k].join(20)
    assert gc.get_threshold() == USUAL


def test_after_a_gradient():
    np.testing.assert_allclose(sg.grad(lambda x: np.sum(x**3))(np.arange(3.0)), [0.0, 3.0, 12.0])
    assert gc.get_threshold() == USUAL
