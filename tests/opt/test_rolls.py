"""Arrays shifted round: several shifts are parts of one copy, single ones two parts, added ones no array at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.ir.op import OPS
from srcgraph.runtime.wraps import extended, rolled, wrapped


def laplacian(u, k):
    for _ in range(2):
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=1)
        u = u + k * (around - 4.0 * u) + k * u * u
    return np.sum(u * u)


def chaos(u, k):
    x = u[:, 0] * 1.0
    for _ in range(3):
        x = x + 0.05 * ((np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + k)
    return np.sum(x * x)


def upstream(u, k):
    return np.sum((u - np.roll(u, 1, axis=0)) ** 2) + k * np.sum(np.roll(u, -1, axis=1) * u)


def far(u, k):
    """Further than some arrays are long."""
    return np.sum(np.roll(u, 4, 0) * np.roll(u, -3, 0) + k * np.roll(u, 3, 1) * u) + np.sum(np.roll(u, 7, 1) * u)


def flattened(u, k):
    return np.sum(np.roll(u, 2) * np.roll(u, -1) * k) + np.sum(np.roll(u, (1, -1), axis=(0, 1)) * u)


def by_a_number(u, k):
    total = 0.0
    for s in range(4):
        total = total + np.sum(np.roll(u, s, 0) * np.roll(u, -s, 0)) * k
    return total


def of_three_axes(u, k):
    w = np.stack((u, k * u))
    return np.sum(np.roll(w, 1, 0) * np.roll(w, 1, 1) * np.roll(w, -1, 2) + np.roll(w, -1, 1))


def in_branches(u, k):
    if k > 0.0:
        return np.sum(np.roll(u, 1, 0) * np.roll(u, -1, 0))
    return np.sum(np.roll(u, 1, 0) * u)


def kept(u, k):
    """The shifted array is returned, and changed."""
    v = np.roll(u, 1, 0)
    w = np.roll(u, -1, 0)
    v[0] = k
    return np.sum(v * w) + np.sum(v)


SHAPES = [(n, m) for n in (1, 2, 5) for m in (1, 2, 4)] + [(9, 14)]
PROGRAMS = [laplacian, chaos, upstream, far, flattened, by_a_number, of_three_axes, in_branches, kept]


def name(f: Callable[..., Any]) -> str:
    return f.__name__


def grid(*shape: int) -> np.ndarray:
    return 0.7 * np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_values(program: Callable[..., Any]) -> None:
    check_values(program, sg.opt.FAST_RUN)


@pytest.mark.parametrize("program", [chaos, of_three_axes], ids=name)
def test_values_without_rewrites(program: Callable[..., Any]) -> None:
    check_values(program, sg.opt.FAST_COMPILE, [(1, 4), (5, 1), (9, 14)])


def check_values(program: Callable[..., Any], mode: Any, shapes: Sequence[tuple[int, int]] = SHAPES) -> None:
    compiled = sg.compile(program, mode=mode)
    for shape in shapes:
        u = grid(*shape)
        assert compiled(u.copy(), 0.1) == pytest.approx(program(u.copy(), 0.1), rel=1e-12), shape


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_elements(shape: tuple[int, int]) -> None:
    for program in (laplacian, upstream, far, flattened):
        u = np.ones(shape)
        assert sg.compile(program)(u, 0.1) == program(u, 0.1) == 0.0
        assert sg.grad(program)(u, 0.1).shape == shape


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_derivatives(program: Callable[..., Any]) -> None:
    for shape in [(1, 3), (2, 2), (4, 5)]:
        u, along, h = grid(*shape), np.sin(np.arange(float(np.prod(shape)))).reshape(shape), 1e-6
        d_u, d_k = sg.grad(program, argnums=(0, 1))(u.copy(), 0.1)
        slope = (program(u + h * along, 0.1 + h) - program(u - h * along, 0.1 - h)) / (2 * h)
        assert np.sum(d_u * along) + d_k == pytest.approx(slope, rel=1e-6, abs=1e-8), shape
        if program is chaos:
            _, forward = sg.jvp(program, (u.copy(), 0.1), (along, 1.0))
            assert forward == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_one_copy_for_all() -> None:
    """The gradient is a sum of shifts, too."""
    mode = {"parallel": True}  # else none is made (`codegen/rounds`)
    text = sg.inspect(sg.compile(laplacian, **mode), grid(5, 6), 0.1).cpu
    assert text.count("wrapped(") == 1 and "% " not in text
    text = sg.inspect(sg.grad(laplacian, **mode), grid(5, 6), 0.1).cpu
    assert text.count("wrapped(") == 2 and "] += " not in text
    assert "wrapped(" not in sg.inspect(sg.grad(laplacian), grid(5, 6), 0.1).cpu


def test_what_is_added_is_no_array() -> None:
    text = sg.inspect(sg.grad(chaos), grid(6, 2), 0.1).cpu
    back = text[text.index("d_x") :]
    assert "wrapped(" not in back and back.count("min(1, ") > 2 and "d_x[j] +=" in back


def test_types() -> None:
    for dtype in (np.float32, np.int64, np.bool_, np.complex128):
        x = np.arange(6).astype(dtype)
        for f in (lambda x: np.roll(x, 1) * np.roll(x, -1), lambda x: np.roll(x, 2)):
            found = sg.compile(f)(x)
            assert found.dtype == f(x).dtype and np.array_equal(found, f(x))


def test_second_derivatives() -> None:
    u, along, h = grid(4, 5), np.sin(np.arange(20.0)).reshape(4, 5), 1e-6
    gradient = sg.grad(laplacian)
    _, found = sg.jvp(gradient, (u, 0.1), (along, 0.0))
    slope = (gradient(u + h * along, 0.1) - gradient(u - h * along, 0.1)) / (2 * h)
    np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-8)


SHAPES = [(n,) for n in range(7)] + [(n, m) for n in range(5) for m in range(5)]


@pytest.mark.parametrize("width", [1, 2, 4])
def test_wrapped(width: int) -> None:
    for shape in SHAPES:
        x = np.random.default_rng(1).normal(size=shape)
        for given in (x, x[::-1], np.asfortranarray(x)):
            found, meant = wrapped(given, width), OPS["wrapped"].numpy(given, width=width)
            assert found.shape == meant.shape
            assert not x.size or np.array_equal(found, meant)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_extended(width: int) -> None:
    for shape in SHAPES:
        x = np.random.default_rng(1).normal(size=shape)
        for given in (x, x[::-1], np.asfortranarray(x)) if x.size else ():
            assert np.array_equal(extended(given, width), np.pad(given, width, mode="edge"))


WIDTHS = [1, 3, (1, 2), ((1, 0), (0, 2)), ((0, 0), (2, 2))]
MODES: list[dict[str, Any]] = [
    {"mode": "edge"}, {"mode": "wrap"}, {"mode": "reflect"}, {"mode": "symmetric"}, {"constant_values": 2},
    {"constant_values": (1, 2)}, {}, {"mode": "mean"},
]  # fmt: skip


@pytest.mark.parametrize("given", MODES, ids=str)
def test_pad(given: dict[str, Any]) -> None:
    mode, fill = given.get("mode", "constant"), given.get("constant_values", 0)
    for widths in WIDTHS:

        def of_floats(x, widths=widths):
            return np.pad(x, widths, mode=mode)

        def framed(x, widths=widths):
            return np.pad(x, widths, constant_values=fill)

        function = of_floats if "mode" in given else framed
        compiled = sg.compile(function)
        for dtype in (np.float64, np.float32, np.int64, np.complex128):
            if dtype is np.complex128 and mode == "mean":
                continue
            x = np.random.default_rng(2).integers(-9, 9, (4, 5)).astype(dtype)
            for array in (x, x[1:, ::-1], x[:1, :1]):
                found, expected = compiled(array), function(array)
                assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_rolled() -> None:
    for shape in (*SHAPES, (2, 3, 4), (1, 1, 1), (0, 2, 3)):
        x = np.random.default_rng(1).normal(size=shape)
        for axis in range(x.ndim):
            for shift in (-5, -1, 0, 1, 2, 7):
                assert np.array_equal(rolled(x, shift, axis), np.roll(x, shift, axis))
