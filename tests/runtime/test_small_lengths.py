"""Short axes beside long ones are part of what is compiled for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcgraph as sg

LONG = 70


def scaled(points, scale):
    return np.sum((points * scale) ** 2, axis=1)


def turned(points, turn):
    return points @ turn


def line(parameters, x):
    return parameters[0] * x + parameters[1]


def stepped(state, transitions, steps):
    for _ in range(steps):
        state = state @ transitions
        state = state / np.sum(state)
    return state


def energy(positions, masses):
    between = positions[:, None, :] - positions[None, :, :]
    distance = np.sqrt(np.sum(between * between, axis=2) + 0.01)
    return np.sum(masses[:, None] * masses[None, :] / distance)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape)


def versions(compiled: Any) -> int:
    return sum(map(len, compiled.versions.values()))


def test_a_version_for_the_length() -> None:
    text = sg.inspect(scaled, numbers(LONG, 3), numbers(3)).cpu
    assert "assume(points.shape[1] == 3)" in text and "range(3)" in text
    assert "assume" not in sg.inspect(scaled, numbers(5, 3), numbers(3)).cpu
    assert "assume" in sg.inspect(scaled, numbers(22, 3), numbers(3)).cpu  # 66 elements


@pytest.mark.parametrize("first", [2, 3, 20])
def test_any_order_of_lengths(first: int) -> None:
    """Three lengths get versions of their own, then all others one for all; results do not depend on it."""
    compiled = sg.compile(scaled)
    for k in (first, 2, 5, 3, 20, 4, 7, 3, 2, 6, 33, 5):
        for n in (LONG, 3, 1, 0):
            points, scale = numbers(n, k), numbers(k)
            np.testing.assert_allclose(compiled(points, scale), scaled(points, scale), rtol=1e-13)
    assert versions(compiled) <= 8


def test_calls_that_alternate() -> None:
    """Versions for other lengths are found without describing the arguments anew."""
    compiled = sg.compile(turned)
    given = [(numbers(LONG, k), numbers(k, k)) for k in (2, 3)]
    for args in given * 3:
        np.testing.assert_allclose(compiled(*args), turned(*args), rtol=1e-13)
    assert [len(found) for found in compiled.quick.values()] == [2]


@pytest.mark.parametrize(
    "shapes", [((LONG, 3), (3, 3)), ((3, 4), (4, 200)), ((100, 8), (8, 5)), ((4, LONG), (LONG, 3))]
)
def test_products(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    """Products of small matrices are loops."""
    x, y = (numbers(*s) for s in shapes)
    np.testing.assert_allclose(sg.compile(turned)(x, y), x @ y, rtol=1e-13)
    assert ("matmul" in sg.inspect(turned, x, y).cpu) == (shapes[1][0] == LONG)


def test_numbers_of_steps_count() -> None:
    state, transitions = numbers(4), numbers(4, 4)
    compiled = sg.compile(stepped)
    assert "matmul" not in sg.inspect(compiled, state, transitions, 1000).cpu
    np.testing.assert_allclose(compiled(state, transitions, 1000), stepped(state, transitions, 1000), rtol=1e-12)
    np.testing.assert_allclose(compiled(state, transitions, 3), stepped(state, transitions, 3), rtol=1e-13)
    sg.grad(lambda s, t: stepped(s, t, 70)[0], argnums=(0, 1), verify=True)(state, transitions)


def test_wrong_lengths_raise() -> None:
    compiled = sg.compile(turned)
    compiled(numbers(LONG, 3), numbers(3, 3))
    with pytest.raises(ValueError, match="matmul"):
        compiled(numbers(LONG, 3), numbers(2, 3))


def test_layouts() -> None:
    """What is known of a length holds of views and of arrays in Fortran's order, too."""
    compiled = sg.compile(energy)
    wanted = energy(numbers(LONG, 3), numbers(LONG))
    for positions in (
        numbers(LONG, 3),
        np.asfortranarray(numbers(LONG, 3)),
        np.repeat(numbers(LONG, 3), 2, axis=1)[:, ::2],
        np.repeat(numbers(LONG, 3), 2, axis=0)[::2],
        np.ascontiguousarray(numbers(LONG, 3).T).T,
    ):
        assert abs(compiled(positions, numbers(LONG)) / wanted - 1) < 1e-12
        sg.grad(energy, argnums=(0, 1), verify=True)(positions, numbers(LONG))


def test_kept_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries for short lengths are found again, and are not taken for other ones."""
    monkeypatch.setenv("SRCGRAPH_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("SRCGRAPH_CACHE", "1")
    for _ in range(2):
        compiled = sg.compile(scaled)
        for k in (3, 2, 20):
            points, scale = numbers(LONG, k), numbers(k)
            np.testing.assert_allclose(compiled(points, scale), scaled(points, scale), rtol=1e-13)


def row_sums(x: Any, k: int) -> Any:
    return np.sum(x, axis=1) * k


def is_short(compiled: Any, *args: Any) -> bool:
    return "assume(x.shape[1] == 3)" in compiled.python(*args)


@pytest.mark.parametrize("first", [(9, 3), (20, 3)])
@pytest.mark.parametrize("times", [1, 2, 9])
def test_a_first_call_with_few_elements_decides_for_no_others(first: tuple[int, int], times: int) -> None:
    """Whichever way calls have taken, many elements have a version of their own."""
    compiled = sg.compile(row_sums)
    few, many = numbers(*first), numbers(LONG, 3)
    for x in [few] * times + [many] * times + [few, many]:
        np.testing.assert_allclose(compiled(x, 2), row_sums(x, 2), rtol=1e-13)
    assert is_short(compiled, many, 2)
    assert len(compiled.versions) == 2
    for _ in range(times):  # others of few elements need none
        np.testing.assert_allclose(compiled(numbers(4, 5), 2), row_sums(numbers(4, 5), 2), rtol=1e-13)
    assert len(compiled.versions) == 2


def test_a_number_of_steps_after_a_few() -> None:
    compiled = sg.compile(stepped)
    state, transitions = numbers(4), numbers(4, 4)
    for steps in (3, 3, 1000, 3, 1000):
        found = compiled(state, transitions, steps)
        np.testing.assert_allclose(found, stepped(state, transitions, steps), rtol=1e-12)
    assert "matmul" not in compiled.python(state, transitions, 1000)


def test_few_elements_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRCGRAPH_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("SRCGRAPH_CACHE", "1")
    for _ in range(3):
        compiled = sg.compile(row_sums)
        for rows in (9, LONG, 9):
            np.testing.assert_allclose(compiled(numbers(rows, 3), 2), row_sums(numbers(rows, 3), 2), rtol=1e-13)
        assert is_short(compiled, numbers(LONG, 3), 2)
