"""Functions that are nested more deeply than Python's limit: sums of many terms, as programs write them."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

import srcgraph as sg
from srcgraph.frontend.room import room


@pytest.fixture(autouse=True)
def usual_limit() -> Iterator[None]:
    """Python's own limit, which some libraries raise."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    assert sys.getrecursionlimit() == 1000
    sys.setrecursionlimit(before)


def written(folder: Path, text: str) -> FunctionType:
    """The function ``f`` of a module with a text."""
    path = folder / "generated.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("generated", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def test_a_sum_of_many_terms(tmp_path: Path) -> None:
    f = written(tmp_path, "def f(x):\n    return " + " + ".join(f"x * {k}.5" for k in range(400)) + "\n")
    assert sg.compile(f)(2.0) == f(2.0)
    assert sg.grad(f)(2.0) == pytest.approx(400 * 400 / 2)


def test_what_is_refused_names_its_line(tmp_path: Path) -> None:
    f = written(tmp_path, "def f(x):\n    y = " + " + ".join(["x"] * 400) + "\n    yield y\n")
    with pytest.raises(sg.errors.UnsupportedError, match=r"generated\.py:3"):
        sg.compile(f)(2.0)


def test_what_is_nested_far_too_deeply_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srcgraph.runtime.depth.DEEPEST", sys.getrecursionlimit())
    f = written(tmp_path, "def f(x):\n    return " + " + ".join(["x"] * 900) + "\n")
    with pytest.raises(sg.errors.UnsupportedError, match="f is nested too deeply to be compiled"):
        sg.compile(f)(2.0)


def test_the_limit_is_put_back_by_the_last() -> None:
    """Whatever the order in which they end."""
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        with room(3000):
            begun.set()
            ended.wait()

    thread = threading.Thread(target=other)
    with room(2000):
        thread.start()
        begun.wait()
        assert sys.getrecursionlimit() == 3000
    assert sys.getrecursionlimit() == 3000
    ended.set()
    thread.join()
    assert sys.getrecursionlimit() == 1000


def test_a_limit_set_meanwhile_stays() -> None:
    with room(2000):
        sys.setrecursionlimit(1500)
        with room(1800):
            assert sys.getrecursionlimit() == 2000
        assert sys.getrecursionlimit() == 2000
    assert sys.getrecursionlimit() == 1500
    sys.setrecursionlimit(1000)
