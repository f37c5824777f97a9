"""Functions that are nested more deeply than Python's limit: sums of many terms, as programs write them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import FunctionType

import pytest

import srcgraph as sg


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
    limit = sys.getrecursionlimit()
    f = written(tmp_path, "def f(x):\n    return " + " + ".join(f"x * {k}.5" for k in range(400)) + "\n")
    assert sg.compile(f)(2.0) == f(2.0)
    assert sg.grad(f)(2.0) == pytest.approx(400 * 400 / 2)
    assert sys.getrecursionlimit() == limit


def test_what_is_refused_names_its_line(tmp_path: Path) -> None:
    f = written(tmp_path, "def f(x):\n    y = " + " + ".join(["x"] * 400) + "\n    yield y\n")
    with pytest.raises(sg.errors.UnsupportedError, match=r"generated\.py:3"):
        sg.compile(f)(2.0)


def test_what_is_nested_far_too_deeply_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srcgraph.runtime.depth.DEEPEST", sys.getrecursionlimit())
    f = written(tmp_path, "def f(x):\n    return " + " + ".join(["x"] * 900) + "\n")
    with pytest.raises(sg.errors.UnsupportedError, match="f is nested too deeply to be compiled"):
        sg.compile(f)(2.0)
