"""Integers that are passed and positive, such as widths of windows and lags: that is part of what is compiled for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def rolling(x, w):
    n = len(x)
    out = np.zeros(max(n - w + 1, 0))
    for i in range(len(out)):
        out[i] = np.mean(x[i : i + w])
    return out


def autocovariance(x, lag):
    return np.sum(x[lag:] * x[:-lag])


def largest_of_blocks(x, width):
    total = 0.0
    for k in range(len(x) // width):
        total += np.max(x[k * width : (k + 1) * width])
    return total


def counted(x, m, r):
    """The closure is told what is known of the integers it reads."""

    def near(k):
        found = 0
        for i in range(len(x) - m):
            for j in range(i + 1, len(x) - m):
                if np.max(np.abs(x[i : i + k] - x[j : j + k])) <= r:
                    found += 1
        return found

    return near(m + 1), near(m)


@dataclass
class Filter:
    width: int
    gain: float


def smoothed(x, options):
    out = np.zeros(len(x))
    for i in range(min(len(x) - options.width, len(x))):
        out[i] = options.gain * np.sum(x[i : i + options.width])
    return out


def powers_of_two(x, n):
    """A function that calls itself is for integers of all signs."""
    if n <= 0:
        return np.sum(x[n:])
    return powers_of_two(x, n - 1) + np.sum(x[:n])


X = np.random.default_rng(7).uniform(-1.0, 1.0, 12)


def same(f: Callable, compiled: Any, *args: Any) -> None:
    """Values and errors are Python's."""
    try:
        with np.errstate(invalid="ignore"):
            wanted = f(*args)
    except (ValueError, ZeroDivisionError) as error:
        with pytest.raises(type(error)):
            compiled(*args)
    else:
        np.testing.assert_allclose(compiled(*args), wanted, rtol=1e-12)


def lines(f: Callable, *args: Any) -> list[str]:
    return [line.split("#")[0].strip() for line in sg.inspect(f, *args).cpu.splitlines()]


def test_a_window_is_read_where_it_is() -> None:
    text = lines(rolling, X, 3)
    assert "assume(w >= 1)" in text and "out[i] = total / w" in text
    assert not any(line.startswith(("if", "raise")) or "else" in line for line in text)


def test_a_lag_leaves_two_parts_of_one_length() -> None:
    text = lines(autocovariance, X, 3)
    assert "part = plus(part, x[i + lag] * x[i])" in text
    assert not any(line.startswith("if") for line in text)


def test_blocks_are_inside() -> None:
    text = lines(largest_of_blocks, X, 3)
    assert "largest = maximum(largest, x[k * width + i])" in text
    assert not any("largest" in line and "else" in line for line in text)


def test_closures_are_told() -> None:
    text = lines(counted, X, 2, 0.5)
    assert text.count("largest = maximum(largest, abs(x[k + i] - x[k + j]))") == 2
    assert not any("broadcast" in line for line in text)


@pytest.mark.parametrize("first", [3, 0, -2])
@pytest.mark.parametrize("f", [rolling, autocovariance, largest_of_blocks, powers_of_two])
def test_all_signs(f: Callable, first: int) -> None:
    """Whichever comes first, and also where the same call comes again."""
    compiled = sg.compile(f)
    for width in (first, first, 1, 0, 0, -1, 5, 12, 15, -3, -15, 3, 0, 4, -4):
        same(f, compiled, X, width)
    assert sum(map(len, compiled.versions.values())) <= 2


def test_objects() -> None:
    compiled = sg.compile(smoothed)
    for width in (3, 0, 2, -1, 3):
        same(smoothed, compiled, X, Filter(width, 0.5))


@pytest.mark.parametrize("f", [rolling, autocovariance, largest_of_blocks])
def test_gradients(f: Callable) -> None:
    def total(x: Any, width: Any) -> Any:
        return np.sum(f(x, width) ** 2)

    gradient, step = sg.grad(total), 1e-6
    for width in (3, 1, 5):
        moved = [(total(X + d, width) - total(X - d, width)) / (2.0 * step) for d in step * np.eye(len(X))]
        np.testing.assert_allclose(gradient(X, width), moved, rtol=1e-6, atol=1e-8)


def test_kept_versions(tmp_path: Path) -> None:
    """What another process compiled for positive integers is not used for others."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nimport numpy as np\nimport srcgraph as sg\n\n\n@sg.compile\ndef last(x, k):\n"
        "    total = 0.0\n    for i in range(3):\n        total += np.sum(x[i:k])\n    return total\n\n\n"
        "x = np.arange(6.0)\nprint([float(last(x, int(k))) for k in sys.argv[1:]])\n"
    )
    kept = {**os.environ, "SRCGRAPH_CACHE_DIR": str(tmp_path / "kept"), "SRCGRAPH_CACHE": "1"}

    def run(*given: int) -> str:
        made = [sys.executable, str(program), *map(str, given)]
        return subprocess.run(made, env=kept, capture_output=True, text=True, check=True).stdout.strip()

    wanted = {k: float(sum(np.sum(np.arange(6.0)[i:k]) for i in range(3))) for k in (4, -2, 0)}
    for given in ((4,), (-2, 4), (0, -2), (4, 0, -2)):
        assert run(*given) == str([wanted[k] for k in given])
