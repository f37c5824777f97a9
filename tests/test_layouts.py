"""Arrays as they come: reversed, strided, inside larger ones, in column order, read-only, repeated by broadcasting.

The same numbers in another arrangement give the same results, the same changes, and the same gradients.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from harness import (
    INPUTS,
    SIZE,
    Outcome,
    Versions,
    compare,
    compiled_text,
    duplicate,
    float_arguments,
    label,
    leaves_of,
    outcome,
)
from programs import arrays, calls, dtypes, numerics

import srcgraph as sg
from srcgraph.errors import OverlapError

PROGRAMS = [
    arrays.store_in_argument,
    arrays.slice_add,
    arrays.slice_store_shifted,
    arrays.gauss_seidel,
    arrays.two_buffers,
    arrays.column_view,
    arrays.transpose_view,
    arrays.stencil_2d,
    arrays.matrix_vector,
    arrays.reshape_sum,
    calls.call_that_changes_a_row,
    dtypes.mask_store,
    numerics.gram_schmidt,
]


def turned(x: np.ndarray) -> np.ndarray:
    """Every axis runs backwards in memory."""
    back = tuple(slice(None, None, -1) for _ in x.shape)
    return x[back].copy()[back]


def spread(x: np.ndarray) -> np.ndarray:
    """Every second element of a larger array, along every axis."""
    room = np.full([2 * n for n in x.shape], np.nan).astype(x.dtype)
    part = room[tuple(slice(None, None, 2) for _ in x.shape)]
    part[...] = x
    return part


def inside(x: np.ndarray) -> np.ndarray:
    """A block in the middle of a larger array."""
    room = np.full([n + 3 for n in x.shape], np.nan).astype(x.dtype)
    part = room[tuple(slice(1, -2) for _ in x.shape)]
    part[...] = x
    return part


def columns(x: np.ndarray) -> np.ndarray:
    """Column order."""
    return np.asfortranarray(x)


LAYOUTS = [turned, spread, inside, columns]


def arguments(program: Callable, arrange: Callable[[np.ndarray], np.ndarray] = lambda x: x) -> tuple[Any, ...]:
    names = program.__code__.co_varnames[: program.__code__.co_argcount]
    values = [2 if name == "n" else INPUTS[name](SIZE) for name in names]
    return tuple(arrange(v) if isinstance(v, np.ndarray) else v for v in values)


@pytest.mark.parametrize("program", PROGRAMS, ids=label)
def test_values(program: Callable) -> None:
    """One compiled version serves all layouts but column order, which has its own where there are several axes."""
    compiled = sg.compile(program)
    for arrange in LAYOUTS:
        args = arguments(program, arrange)
        compare(outcome(compiled, args), outcome(program, args), arrange.__name__)
    found = [compiled.version(arguments(program, arrange))[0] for arrange in LAYOUTS]
    assert len({id(version) for version in found[:-1]}) == 1
    several = any(isinstance(a, np.ndarray) and a.flags.fnc for a in arguments(program, columns))
    assert (found[-1] is found[0]) != several


@pytest.mark.parametrize("program", [arrays.gauss_seidel, arrays.stencil_2d, arrays.column_view], ids=label)
def test_gradients(program: Callable) -> None:
    """Gradients are new arrays in row order, the same for all layouts; the arguments stay as they were."""
    versions = Versions(program, distinct=True)
    plain = arguments(program)
    argnums = tuple(float_arguments(versions.of(plain)[0]))
    run = compiled_text(versions.gradient(plain, argnums)[1].text.text, "gradient")
    want = run(*leaves_of(duplicate(plain), []))
    for arrange in LAYOUTS:
        args = arguments(program, arrange)
        assert versions.gradient(args, argnums)[1].text.text == versions.gradient(plain, argnums)[1].text.text
        got = run(*leaves_of(args, []))
        compare(Outcome(got, None, args), Outcome(want, None, arguments(program)), arrange.__name__)
        for x in leaves_of((got,), []):
            assert not isinstance(x, np.ndarray) or x.flags.c_contiguous


def test_changes_reach_the_larger_array() -> None:
    """A store through a view passed as argument is a store into the array it is part of, and nowhere else."""
    room = np.zeros((4, 6))
    sg.compile(arrays.column_view)(room[1:3, ::2], 2.0)
    assert room[1, 2] == 1.0
    assert np.count_nonzero(room) == 1


def total(x, w):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * w[i]
    return s


def test_read_only_arrays() -> None:
    """They can be read, and differentiated with respect to; a store is refused as NumPy refuses it."""
    x = np.arange(4.0)
    x.flags.writeable = False
    w = np.broadcast_to(2.0, 4)
    assert sg.compile(total)(x, w) == 12.0
    np.testing.assert_array_equal(sg.grad(total, argnums=(0, 1))(x, w), (w, x))
    with pytest.raises(ValueError, match="read-only"):
        sg.compile(arrays.store_in_argument)(x, 2.0)
    np.testing.assert_array_equal(x, np.arange(4.0))


def given_up(x, y, flag):
    if flag:
        x[:] = y * 2.0
        y[:] = x + y
        raise ValueError("given up")
    return np.sum(x) + np.sum(y)


def test_stored_into_where_it_raises() -> None:
    """Arrays that are stored into only where something certainly raises are writable, and lie apart."""
    compiled = sg.compile(given_up)
    x, y = np.arange(3.0), np.ones(3)
    assert compiled(x, y, False) == 6.0
    with pytest.raises(ValueError, match="given up"):
        compiled(x, y, True)
    np.testing.assert_array_equal((x, y), (np.full(3, 2.0), np.full(3, 3.0)))
    whole = np.arange(4.0)
    with pytest.raises(OverlapError):
        compiled(whole[:3], whole[1:], True)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(x, y, True)
    np.testing.assert_array_equal(whole, np.arange(4.0))


def test_repeated_by_broadcasting() -> None:
    """An array with stride 0 has one element that many indices reach: it is read, and not stored into."""

    def fill(x):
        for i in range(len(x)):
            x[i] = i + x[0]
        return x.sum()

    def repeated() -> np.ndarray:
        return np.lib.stride_tricks.as_strided(np.ones(1), (4,), (0,))

    with pytest.raises(OverlapError, match="elements of which share memory"):
        sg.compile(fill)(repeated())
    assert sg.compile(lambda x: x.sum() + x[2])(repeated()) == 5.0


@pytest.mark.parametrize("step", [1, 2, -1])
def test_ravel_is_a_copy_of_gaps(step: int) -> None:
    """A reshape of one axis is a view, whatever its stride; a ravel only of an array without gaps."""
    x = np.arange(6.0)
    for made in lambda x: x[::step].ravel(), lambda x: np.ravel(x[::step])[1:], lambda x: x[::step].reshape(-1):
        assert np.shares_memory(sg.compile(made)(x), x) == np.shares_memory(made(x), x)


def test_memory_mapped(tmp_path: Any) -> None:
    """A file mapped to memory is an array like any other."""
    np.save(tmp_path / "x.npy", np.arange(5.0))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert sg.compile(total)(x, np.ones(5)) == 10.0


LIKE = [
    lambda m: np.zeros_like(m),
    lambda m: np.full_like(m, 2.0),
    lambda m: np.ones_like(m[::-1]),
    lambda m: np.concatenate((m, m)),
    lambda m: np.stack((m, m)),
    lambda m: np.hstack((m, m)),
    lambda m: np.pad(m, 1),
    lambda m: np.delete(m, 0, axis=1),
    lambda m: np.insert(m, 0, 1.0, axis=1),
]


@pytest.mark.parametrize("make", LIKE)
def test_what_lies_as_what_it_is_made_of(make: Callable[..., Any]) -> None:
    """NumPy lays out such arrays as those it is given, so that whether a reshape is a view depends on these."""

    def flattened(m, w):
        made = make(m)
        flat = made.ravel()
        flat[1] = w
        return np.sum(made)

    m = np.arange(12.0).reshape(3, 4)
    try:
        assert sg.compile(flattened)(m, 7.0) == flattened(m, 7.0)
    except sg.errors.SrcgraphError as error:
        assert "depends on how" in str(error)
    with pytest.raises(sg.errors.SrcgraphError, match=r"C-contiguous|depends on how"):
        sg.compile(flattened)(np.asfortranarray(m), 7.0)


def test_made_of_what_lies_in_another_order() -> None:
    def flattened(m, w):
        made = np.zeros_like(m.T)
        made.ravel()[0] = w
        return np.sum(made)

    with pytest.raises(sg.errors.SrcgraphError, match="depends on how"):
        sg.compile(flattened)(np.ones((2, 3)), 5.0)


def _with_its_reshape(a):
    b = a + 1.0
    return b, b.ravel()


def _with_its_reshape_at_last(a, k):
    return _with_its_reshape(a) if k == 0 else _with_its_reshape_at_last(a * 2.0, k - 1)


def stores_into_the_reshape(y):
    u, v = _with_its_reshape(y)
    v[0] = 50.0
    return u


def stores_into_what_is_reshaped(y):
    u, v = _with_its_reshape(y)
    u[0] = 50.0
    return v


def stores_after_recursion(y):
    u, v = _with_its_reshape_at_last(y, 2)
    v[0] = 50.0
    return u


def stores_into_a_copy_or_not(y):
    v = np.ascontiguousarray(y.reshape((2, -1)))
    v[0] = 5.0
    return np.sum(y)


def reads_a_copy_or_not(y):
    v = np.ascontiguousarray(y.reshape((2, -1)))
    y[:] += 3.0
    return np.sum(v)


@pytest.mark.parametrize(
    "program",
    [
        stores_into_the_reshape,
        stores_into_what_is_reshaped,
        stores_after_recursion,
        stores_into_a_copy_or_not,
        reads_a_copy_or_not,
    ],
)
def test_what_may_be_one_memory(program: Callable) -> None:
    """A reshape that a call returns beside the array, or a copy that may be none: right, or refused."""
    mine, plain = np.arange(6.0), np.arange(6.0)
    try:
        found = sg.compile(program)(mine)
    except sg.errors.SrcgraphError as error:
        assert ".py:" in str(error)
        return
    np.testing.assert_array_equal(found, program(plain))
    np.testing.assert_array_equal(mine, plain)


def test_new_memory_on_some_paths() -> None:
    """What NumPy makes anew is never an argument's memory, even if it holds the same."""

    def times_one(x, y, p):
        v = x
        if p > 2:
            v = y * 1.0
        return v

    def powers(x, y, p):
        v = x
        for _ in range(p):
            v = y**1.0
        return v

    def signs(x, y, p):
        return x if p > 2 else 0.0 - (0.0 - y)

    def own(x, y, p):
        v = x
        if p > 2:
            v = x * 1.0
        return v

    x, y = np.arange(3.0), np.ones(3)
    for program, p in itertools.product((times_one, powers, signs, own), (0, 1, 3)):
        found, wanted = sg.compile(program)(x, y, p), program(x, y, p)
        np.testing.assert_array_equal(found, wanted)
        for a in (x, y):
            assert np.shares_memory(found, a) == np.shares_memory(wanted, a), (program.__name__, p)
