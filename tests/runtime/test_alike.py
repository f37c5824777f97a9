"""Arrays of one shape: where a store may stretch what is stored, that is part of what is compiled for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def jacobi(a, b, steps):
    for _ in range(steps):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a[1:-1] = 0.5 * (b[:-2] + b[2:])


def shifted(x, y):
    return x[1:] * y[:-1]


def scaled(x, y):
    return np.sum(x * y)


def halo(field, out):
    n, m = out.shape
    flow = field[1 : n + 2, 1 : m + 1] - field[: n + 1, 1 : m + 1]
    out[:, :] = flow[1:] - flow[:-1] + field[1 : n + 1, 2 : m + 2]


def given(*sizes: int) -> list[np.ndarray]:
    return [np.random.default_rng(k).uniform(0.5, 1.5, n) for k, n in enumerate(sizes)]


def same(f: Callable, compiled: Any, *args: Any) -> None:
    """Values, changed arguments and errors are Python's."""
    own, theirs = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    try:
        wanted = f(*theirs)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            compiled(*own)
    else:
        found = compiled(*own)
        if wanted is not None:
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
    for x, y in zip(own, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)


def test_one_loop_a_store() -> None:
    """Nothing is checked, and nothing stretched, where the arrays have one shape."""
    text = sg.inspect(jacobi, *given(9, 9), 3).cpu
    assert "raise" not in text and "!= 1" not in text
    assert "raise" in sg.inspect(jacobi, *given(9, 8), 3).cpu


@pytest.mark.parametrize("first", [(9, 9), (9, 3), (9, 8)])
def test_in_any_order(first: tuple[int, int]) -> None:
    """What was compiled first does not matter: other shapes get a version of their own, once."""
    compiled = sg.compile(jacobi)
    sizes = [first, (7, 7), (3, 9), (9, 3), (5, 6), (3, 3), (9, 9), (2, 2), (9, 9), (3, 9)]
    for pair in sizes:
        same(jacobi, compiled, *given(*pair), 2)
    assert sum(map(len, compiled.versions.values())) <= 4


def test_lengths_that_differ() -> None:
    """A margin around an array is part of what is compiled for, too."""
    compiled = sg.compile(halo)
    random = np.random.default_rng(3)
    shapes = [((92, 31), (90, 29)), ((25, 20), (23, 18)), ((4, 4), (2, 2)), ((9, 9), (6, 7)), ((9, 9), (9, 9)),
              ((3, 9), (1, 7)), ((8, 3), (6, 1)), ((2, 2), (1, 1)), ((92, 31), (90, 29))]  # fmt: skip
    for field, out in shapes:
        same(halo, compiled, random.normal(size=field), random.normal(size=out))
    text = sg.inspect(compiled, np.ones((92, 31)), np.ones((90, 29))).cpu
    assert "raise" not in text and "for i in range(n - 2):" in text
    assert len(compiled.versions) <= 8


def sized(n, m, field, steps):
    """Lengths are passed beside the array."""
    work = np.zeros((n, m))
    for _ in range(steps):
        work[1:-1, 1:-1] = field[2:, 1:-1] - field[:-2, 1:-1]
        field[1:-1, 1:-1] += 0.1 * work[1:-1, 1:-1]
    return np.sum(work)


def test_integers_that_are_lengths() -> None:
    compiled = sg.compile(sized)
    random = np.random.default_rng(4)
    calls = [(6, 5, (6, 5), 3), (6, 5, (6, 5), 5), (7, 7, (7, 7), 2), (6, 5, (6, 6), 2), (3, 3, (3, 3), 1),
             (5, 6, (6, 5), 2), (9, 8, (9, 8), 2), (6, 5, (6, 5), 6)]  # fmt: skip
    for n, m, shape, steps in calls:
        field = random.normal(size=shape)
        for _ in range(2):
            same(sized, compiled, n, m, field, steps)
    text = sg.inspect(sg.compile(sized), 6, 5, np.ones((6, 5)), 3).cpu
    assert "broadcast" not in text and ".shape" not in text


def called(field, n, m):
    return sized(n, m, field, 2) + sized(n, m, field, 1)


def test_integers_that_are_handed_on() -> None:
    compiled, gradient = sg.compile(called), sg.grad(called)
    random = np.random.default_rng(5)
    for shape in [(6, 5), (8, 5), (5, 5), (6, 5)]:
        field = random.normal(size=shape)
        same(called, compiled, field, *shape)
        by_field, d = gradient(field, *shape), random.normal(size=shape)
        up, down = (called(field + s * d, *shape) for s in (1e-6, -1e-6))
        assert np.sum(by_field * d) == pytest.approx((up - down) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_shapes_in_random_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    functions = [(f, sg.compile(f)) for f in (halo, shifted, scaled)]
    for _ in range(60):
        f, compiled = functions[random.integers(3)]
        sizes = random.integers(1, 7, 2) if f is not halo else random.integers(1, 7, (2, 2))
        if random.random() < 0.6:
            sizes[1] = np.maximum(sizes[0] - random.integers(0, 3), 1)
        same(f, compiled, *(random.normal(size=size) for size in sizes))


def test_results_that_are_stretched() -> None:
    compiled = sg.compile(shifted)
    for pair in [(5, 5), (2, 5), (5, 2), (2, 2), (6, 5), (5, 5)]:
        same(shifted, compiled, *given(*pair))


def test_no_version_of_its_own_where_it_does_not_matter() -> None:
    compiled = sg.compile(scaled)
    for pair in [(5, 5), (6, 6), (5, 6)]:
        same(scaled, compiled, *given(*pair))
    assert sum(map(len, compiled.versions.values())) == 1


def test_patterns_are_counted_by_types() -> None:
    """What was compiled for numbers of one kind does not keep others from being compiled for their lengths."""
    compiled = sg.compile(jacobi)
    for n, m in [(9, 9), (20, 19), (20, 18), (20, 17), (20, 16)]:
        same(jacobi, compiled, *given(n, m), 2)
    floats = np.ones(9, np.float32), np.ones(9, np.float32)
    assert "raise" not in compiled.python(*floats, 2)


def test_gradients() -> None:
    def f(a, b):
        c = b.copy()
        c[1:-1] = a[2:] * a[:-2]
        return np.sum(c * c * np.arange(c.shape[0]))

    gradient = sg.grad(f, argnums=(0, 1))
    for pair in [(6, 6), (3, 6), (6, 6)]:
        a, b = given(*pair)
        by_a, by_b = gradient(a, b)
        h = 1e-6
        for x, by in ((a, by_a), (b, by_b)):
            for k in range(x.size):
                e = np.zeros(x.size)
                e[k] = h
                up, down = (f(a + s * e, b) if x is a else f(a, b + s * e) for s in (1, -1))
                assert by[k] == pytest.approx((up - down) / (2 * h), rel=1e-7, abs=1e-8)


PROGRAM = """
import numpy as np, srcgraph as sg
from alike_model import jacobi
f = sg.compile(jacobi)
for n, m in ((9, 9), (9, 3), (9, 9), (3, 9)):
    a, b = np.arange(float(n)), np.ones(m)
    c, d = a.copy(), b.copy()
    try:
        jacobi(c, d, 2)
    except ValueError:
        c = None
    try:
        f(a, b, 2)
    except ValueError:
        assert c is None
    else:
        assert np.allclose(a, c) and np.allclose(b, d)
"""


def test_another_process(tmp_path: Path) -> None:
    """Versions are found again for the shapes they are for."""
    text = Path(__file__).read_text(encoding="utf-8")
    start = text.index("def jacobi")
    (tmp_path / "alike_model.py").write_text(text[start : text.index("def shifted")], encoding="utf-8")
    (tmp_path / "run.py").write_text(PROGRAM, encoding="utf-8")
    path = str(Path(sg.__file__).parents[1])
    for _ in range(2):
        subprocess.run(
            [sys.executable, "run.py"],
            cwd=tmp_path,
            env={"SRCGRAPH_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": path, "PATH": "", "HOME": str(tmp_path)},
            check=True,
            timeout=300,
        )
    assert len(list((tmp_path / "kept").rglob("*.entry.json"))) == 2
