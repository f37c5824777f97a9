"""Kernels of the user's: the same values and derivatives with and without, and what does not fit."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import srcgraph as sg
from srcgraph import engines
from srcgraph.errors import ArgumentError, InferenceError, UnsupportedError, VerificationError
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.printer import format_graph
from srcgraph.opt import FAST_RUN
from srcgraph.runtime.cache.statistics import STATISTICS

OFF = FAST_RUN.excluding("native")
rng = np.random.default_rng(0)
N, M, STEPS = 4, 3, 5
XS, H, C = rng.normal(size=(STEPS, M)), rng.normal(size=N), rng.normal(size=N)
W, U, B = rng.normal(size=(4 * N, M)), rng.normal(size=(4 * N, N)), rng.normal(size=4 * N)
X = np.array([0.5, -1.0, 2.0, 3.5])


@njit
def fast_lstm(x, state, w, u, b):
    h, c = state
    n = len(h)
    after, memory = np.empty(n), np.empty(n)
    for k in range(n):
        gates = np.empty(4)
        for g in range(4):
            total = b[g * n + k]
            for j in range(len(x)):
                total += w[g * n + k, j] * x[j]
            for j in range(n):
                total += u[g * n + k, j] * h[j]
            gates[g] = np.tanh(total) if g == 3 else 1.0 / (1.0 + np.exp(-total))
        memory[k] = gates[1] * c[k] + gates[0] * gates[3]
        after[k] = gates[2] * np.tanh(memory[k])
    return after, memory


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@sg.native(fast_lstm)
def lstm(x, state, w, u, b):
    """One step of a cell."""
    h, c = state
    n = len(h)
    a = w @ x + u @ h + b
    memory = sigmoid(a[n : 2 * n]) * c + sigmoid(a[:n]) * np.tanh(a[3 * n :])
    return sigmoid(a[2 * n : 3 * n]) * np.tanh(memory), memory


def over_time(xs, h, c, w, u, b):
    total = 0.0
    for t in range(len(xs)):
        h, c = lstm(xs[t], (h, c), w, u, b)
        if total < 100.0:
            total += np.sum(h * h)
    return total + np.sum(c)


ARGS = (XS, H, C, W, U, B)


@njit
def fast_cube(x):
    return x * x * x


@sg.native(fast_cube)
def cube(x):
    return x**3


def text_of(f: Callable, *args: Any) -> str:
    return sg.compile(f).version(args)[0].generated.text.text


# -- values and derivatives ---------------------------------------------------------------------------------


def test_values_are_the_kernels() -> None:
    """In a loop over time steps, in tuples and views; the text calls it by its name."""
    np.testing.assert_allclose(sg.compile(over_time)(*ARGS), over_time(*ARGS), rtol=1e-12)
    np.testing.assert_allclose(sg.compile(over_time, mode=OFF)(*ARGS), over_time(*ARGS), rtol=1e-12)
    text = text_of(over_time, *ARGS)
    assert "fast_lstm = native_kernel(" in text
    assert "h, memory = fast_lstm(" in text
    assert "tanh" not in text
    off = sg.compile(over_time, mode=OFF).version(ARGS)[0].generated.text.text
    assert "fast_lstm" not in off


def test_gradients_are_the_functions() -> None:
    """The same bits with kernels and without, and those of differences."""
    every = tuple(range(len(ARGS)))
    on, off = sg.grad(over_time, argnums=every)(*ARGS), sg.grad(over_time, argnums=every, mode=OFF)(*ARGS)
    for x, y in zip(on, off, strict=True):
        np.testing.assert_array_equal(x, y)
    step = 1e-6 * np.ones_like(B)
    slope = (over_time(XS, H, C, W, U, B + step) - over_time(XS, H, C, W, U, B - step)) / 2e-6
    np.testing.assert_allclose(np.sum(on[-1]), slope, rtol=1e-6)


def test_a_gradient_calls_the_kernel_for_constants() -> None:
    """Where the derivative does not pass through the call."""

    def weighted(a, x):
        return a * np.sum(cube(x))

    slope = sg.grad(weighted)
    assert slope(2.0, X) == np.sum(fast_cube(X))
    assert "fast_cube(" in slope.version((2.0, X))[0].generated.text.text
    by_x = sg.grad(weighted, argnums=1)
    np.testing.assert_allclose(by_x(2.0, X), 6.0 * X**2)
    assert "fast_cube(" not in by_x.version((2.0, X))[0].generated.text.text


def test_a_checkpoint_calls_it_forward() -> None:
    again = sg.checkpoint(lambda x: cube(x))
    slope = sg.value_and_grad(lambda x: np.sum(again(x)))
    value, gradient = slope(X)
    assert value == np.sum(fast_cube(X))
    np.testing.assert_allclose(gradient, 3.0 * X**2)
    assert "fast_cube(" in slope.version((X,))[0].generated.text.text


def test_every_mode() -> None:
    f = lambda x: np.sum(cube(x) * x)  # noqa: E731
    second = np.diag(12.0 * X**2)
    np.testing.assert_allclose(sg.hessian(f)(X), second)
    np.testing.assert_allclose(sg.jacfwd(sg.grad(f))(X), second)
    np.testing.assert_allclose(sg.jacrev(sg.grad(f))(X), second)
    np.testing.assert_allclose(sg.hvp(f, (X,), (np.ones(4),))[0], 12.0 * X**2)
    value, moved = sg.jvp(f, (X,), (np.ones(4),))
    np.testing.assert_allclose((value, moved), (np.sum(X**4), np.sum(4.0 * X**3)))
    value, pull = sg.vjp(cube, X)
    np.testing.assert_allclose(value, X**3)
    np.testing.assert_allclose(pull(np.ones(4))[0], 3.0 * X**2)
    rows = np.stack([X, 2.0 * X])
    np.testing.assert_allclose(sg.vmap(cube)(rows), rows**3)
    np.testing.assert_allclose(sg.vmap(sg.grad(f))(rows), 4.0 * rows**3)


def test_derivatives_inside() -> None:
    """A compiled function takes a gradient, and calls the kernel too."""

    def f(x):
        slope = sg.grad(lambda y: np.sum(cube(y)))(x)
        return np.sum(cube(slope)) + np.sum(cube(x))

    wanted = np.sum((3.0 * X**2) ** 3) + np.sum(X**3)
    np.testing.assert_allclose(sg.compile(f)(X), wanted)
    np.testing.assert_allclose(sg.grad(f)(X), 162.0 * X**5 + 3.0 * X**2)


@sg.custom_vjp
@sg.native(fast_cube)
def ruled(x):
    return x**3


@sg.custom_jvp
def jvp_ruled(x):
    return x**3


jvp_ruled.defjvp(lambda primals, tangents: (jvp_ruled(primals[0]), 30.0 * primals[0] ** 2 * tangents[0]))
inside = sg.native(fast_cube)(jvp_ruled)
ruled.defvjp(lambda x: (ruled(x), x), lambda x, ct: (30.0 * x * x * ct,))


def test_rules_around_and_inside() -> None:
    """A rule around a function with a kernel gives the derivative, its forward pass calls the kernel."""
    f = sg.value_and_grad(lambda x: np.sum(ruled(x)))
    value, slope = f(X)
    np.testing.assert_allclose((value, *slope), (np.sum(X**3), *(30.0 * X**2)))
    assert "fast_cube(" in f.version((X,))[0].generated.text.text
    for g in (ruled, inside):
        np.testing.assert_allclose(sg.compile(g)(X), X**3)
        assert "fast_cube(" in text_of(g, X)
    np.testing.assert_allclose(sg.grad(lambda x: np.sum(inside(x)))(X), 30.0 * X**2)
    np.testing.assert_allclose(sg.jvp(inside, (X,), (np.ones(4),))[1], 30.0 * X**2)


@njit
def fast_pair(a, x, name):
    return (a * len(x), a > 0.0), 2 * len(x), x[0] if name == "first" else x[-1]


@sg.native(fast_pair)
def pair(a, x, name="first"):
    return (a * len(x), a > 0.0), 2 * len(x), x[0] if name == "first" else x[-1]


def test_numbers_tuples_and_literals() -> None:
    """What a kernel returns is of the graph's types, and an integer from it indexes with a check."""

    def f(a, x):
        (scaled, positive), double, first = pair(a, x)
        *_, last = pair(a, x, name="last")
        return x[double - 5] * scaled + first * last if positive else 0.0

    for a in (2.0, -2.0):
        assert sg.compile(f)(a, X) == f(a, X)
        assert sg.grad(f)(a, X) == (X[3] * 4 if a > 0 else 0.0)
    with pytest.raises(IndexError):
        sg.compile(f)(2.0, np.ones(9))


def test_arrays_of_any_layout() -> None:
    """Reversed, strided and read-only arrays, and those stored into before and after."""

    def f(m):
        m[0] = 2.0
        a, b = cube(m[:, 1]), cube(m[::-1, 0])
        c = cube(m.T[2])
        a[0] += 1.0
        m[1] = 3.0
        return a + b + c

    m = np.arange(12.0).reshape(4, 3)
    for given in (m, np.asfortranarray(m), np.ascontiguousarray(m.T).T):
        mine, theirs = given.copy(order="A"), given.copy(order="A")
        np.testing.assert_array_equal(sg.compile(f)(mine), f(theirs))
        np.testing.assert_array_equal(mine, theirs)
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_allclose(sg.compile(cube)(x), X**3)


def test_what_is_not_a_call_of_a_kernel() -> None:
    """Inside a try, and inside itself, a function is as it is written."""

    @njit
    def fast_power(x, n):
        return x**n

    @sg.native(fast_power)
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    def caught(x, n):
        try:
            return power(x, n) / x
        except ZeroDivisionError:
            return -1.0

    assert sg.compile(power)(2.0, 5) == 32.0
    assert sg.grad(power)(2.0, 5) == 80.0
    assert [sg.compile(caught)(x, 3) for x in (0.0, 2.0)] == [-1.0, 4.0]
    assert "fast_power" not in text_of(caught, 2.0, 3)


def test_many_calls() -> None:
    """A driver over kernels of its own calls it, too."""

    def layers(x):
        for k in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0):
            y = cube(x) * k
            x = np.sin(y) + np.cos(y[::-1])
            x = x / (1.0 + np.sum(x * x))
        return x

    np.testing.assert_allclose(sg.compile(layers)(X), layers(X), rtol=1e-12)


def test_recursive_functions_call_it() -> None:
    def deep(x, n):
        return x if n == 0 else cube(deep(x, n - 1)) * 0.5

    np.testing.assert_allclose(sg.compile(deep)(X, 3), deep(X, 3), rtol=1e-12)
    total, off = (sg.grad(lambda x, n: np.sum(deep(x, n)), mode=m)(X, 3) for m in (None, OFF))
    np.testing.assert_array_equal(total, off)


def test_threads() -> None:
    results: list[float] = []
    f = sg.compile(over_time)
    threads = [threading.Thread(target=lambda: results.append(f(*ARGS))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_allclose(results, [over_time(*ARGS)] * 4)


def test_copies_are_it() -> None:
    assert pickle.loads(pickle.dumps(lstm)) is lstm
    assert copy.deepcopy(lstm) is lstm
    assert lstm.__doc__ == "One step of a cell."
    assert repr(lstm) == "<srcgraph.NativeFunction lstm>"
    np.testing.assert_array_equal(cube(X), X**3)


# -- engines and interchange --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["interp", "vm", "numba", "eager"])
def test_engines_agree(name: str) -> None:
    """They run what the graph says, also after a round trip through text."""
    version = sg.compile(over_time).version(ARGS)[0]
    program = version.version.program
    assert len(program.graphs) == 2
    got = engines.get(name).compile(program)(list(ARGS))
    np.testing.assert_allclose(got[0], over_time(*ARGS), rtol=1e-12)
    for graph in program.graphs.values():
        text = format_graph(graph)
        assert format_graph(parse_graph(text)) == text


def test_one_instruction_at_a_time() -> None:
    np.testing.assert_allclose(sg.run(over_time)(*ARGS), over_time(*ARGS), rtol=1e-12)
    np.testing.assert_allclose(sg.run(sg.grad(over_time))(*ARGS), sg.grad(over_time)(*ARGS), rtol=1e-12)


# -- kernels that are wrong ---------------------------------------------------------------------------------


@njit
def off_by_little(x):
    return x * 2.0 + 1e-3


@sg.native(off_by_little)
def doubled(x):
    return x * 2.0


@njit
def iterating(x):
    for item in np.nditer(x):
        item[...] = 0.0
    return x * 2.0


@sg.native(iterating)
def zeros(x):
    return x * 0.0


@njit
def short(x):
    return np.ones(3)


@sg.native(short)
def long(x):
    return x * 2.0


@njit
def with_nan(x):
    return np.sqrt(x) / 0.0


@sg.native(with_nan)
def nan_too(x):
    return np.sqrt(x) / 0.0


@njit
def both(x):
    y = np.ascontiguousarray(x)
    z = x * 1.0
    return y, z, z


@sg.native(both)
def copies(x):
    return x.copy(), x * 1.0, x * 1.0


def test_a_wrong_value_is_found() -> None:
    """By DEBUG and by verify, at the user's line; not otherwise."""

    def f(a, x):
        return a * np.sum(doubled(x))

    assert sg.compile(f)(1.0, X) != f(1.0, X)
    for checked in (sg.compile(f, mode="DEBUG"), sg.grad(f, verify=True), sg.grad(f, mode="DEBUG")):
        with pytest.raises(VerificationError, match="off_by_little gives something else than doubled") as found:
            checked(1.0, X)
        assert "return a * np.sum(doubled(x))" in "".join(found.value.__notes__)
    assert sg.grad(f, argnums=1, verify=True)(1.0, X).tolist() == [2.0] * 4
    np.testing.assert_allclose(sg.compile(over_time, mode="DEBUG")(*ARGS), over_time(*ARGS), rtol=1e-12)


def test_numbers_that_are_none_agree() -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(sg.compile(nan_too, mode="DEBUG")(X), nan_too(X))


def test_stores_are_found() -> None:
    """Those that numba's types do not tell by DEBUG."""
    with pytest.raises(VerificationError, match="iterating stores into its argument, array 1 of those"):
        sg.compile(zeros, mode="DEBUG")(X.copy())


def test_another_shape_is_found() -> None:
    with pytest.raises(ValueError, match="short returns another shape than long: lengths 3 and 4"):
        sg.compile(long)(X)


@njit
def ordered(x):
    y = np.empty((2, len(x)))
    y[0] = x
    y[1].flat[0] = 1.0
    y[0].sort()
    np.dot(y, y.T, np.empty((2, 2)))
    return y[0].copy()


@sg.native(ordered)
def in_order(x):
    return np.sort(x)


@njit
def fast_sum(x, k):
    return 0.0 if k == 0 else x[k - 1] + fast_sum(x, k - 1)


@sg.native(fast_sum)
def first_ones(x, k):
    return np.sum(x[:k])


def test_kernels_may_recurse() -> None:
    assert sg.compile(first_ones, mode="DEBUG")(X, 3) == first_ones(X, 3)
    assert sg.grad(first_ones)(X, 3).tolist() == [1.0, 1.0, 1.0, 0.0]


def test_kernels_may_change_what_they_make() -> None:
    np.testing.assert_array_equal(sg.compile(in_order, mode="DEBUG")(X[::-1]), np.sort(X))


def test_results_have_memory_of_their_own() -> None:
    def f(x):
        a, b, c = copies(x)
        a[0], b[1], c[2] = 7.0, 8.0, 9.0
        return a + 10.0 * b + 100.0 * c + 1000.0 * x

    np.testing.assert_array_equal(sg.compile(f)(X.copy()), f(X.copy()))


# -- kernels that do not fit ----------------------------------------------------------------------------------


def misfits() -> Iterator[tuple[Callable, Callable, str]]:
    yield lambda x: len(x), lambda x: np.sum(x), "returns int64 for .*, and that float64"
    yield lambda x: x.astype(np.float32), lambda x: x * 1.0, "returns an array of float32 with 1 axis"
    yield lambda x: (x * 1.0, 2.0), lambda x: x * 1.0, "returns .an array of float64 with 1 axis, float64. for"
    yield lambda x: np.zeros((2, 3)).T, lambda x: np.zeros((3, 2)), "2 axes that is not C-contiguous"
    yield lambda x: x[1:], lambda x: x[1:] * 1.0, "returns an argument, or a part of one"
    yield lambda x: x.nothing(), lambda x: x * 1.0, "cannot be compiled for .*: Unknown attribute 'nothing'"
    yield lambda x, y: x * 1.0, lambda x: x * 1.0, "cannot be compiled for"

    def stores(x):
        x[0] = 1.0
        return x * 1.0

    def adds(x):
        x += 1.0
        return x * 1.0

    @njit
    def sorts(x):
        x.sort()

    def calls(x):
        sorts(x[1:])
        return x * 1.0

    def flat(x):
        y = x.copy()
        y.flat[0] = 2.0
        x.flat[0] = 2.0
        return y

    def multiplies(x):
        m = x.reshape(2, 2)
        np.dot(m, m, m)
        return x * 1.0

    for changes in (calls, flat, multiplies):
        yield changes, lambda x: x * 1.0, "stores into an argument"
    yield stores, lambda x: x * 1.0, "stores into an argument"
    yield adds, lambda x: x * 1.0, "stores into an argument"


@pytest.mark.parametrize(("kernel", "function", "why"), list(misfits()))
def test_kernels_that_do_not_fit(kernel: Callable, function: Callable, why: str) -> None:
    """Refused at the call, derivatives too."""
    made = sg.native(njit(kernel))(function)

    def f(x):
        return np.sum(made(x))

    for compiled in (sg.compile(f), sg.grad(f)):
        with pytest.raises(InferenceError, match=why) as found:
            compiled(X)
        assert "return np.sum(made(x))" in str(found.value)
    np.testing.assert_allclose(sg.compile(f, mode=OFF)(X), f(X))


DT = 0.1


def changing(x):
    x[0] = 1.0
    return x * 1.0


def printing(x):
    print("called")
    return x * 1.0


def reading(x):
    return x * DT


def returning(x):
    return x


def twice(x):
    y = x * 1.0
    return y, y


def whole_and_part(x):
    y = x * 1.0
    return y, y[1:]


def listing(x):
    return [x[0], x[1]]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (changing, "changing changes its argument 'x', which a kernel that stands for it does not know of"),
        (printing, "printing writes or draws random numbers"),
        (reading, "reading reads 'DT' from outside, of which fast_cube, which stands for reading, would not see a new"),
        (returning, "returning returns its argument"),
        (twice, "twice returns one array twice, or a part of it, and fast_cube two arrays"),
        (whole_and_part, "whole_and_part returns one array twice, or a part of it"),
        (listing, "listing returns a list"),
    ],
)
def test_functions_that_have_no_kernel(function: Callable, why: str) -> None:
    with pytest.raises((InferenceError, UnsupportedError), match=why):
        sg.compile(sg.native(fast_cube)(function))(X)


def test_arguments_that_kernels_do_not_take() -> None:
    second = sg.native(njit(lambda xs: xs[1]))(lambda xs: xs[1])

    def f(x):
        return second([x, x])

    with pytest.raises(InferenceError, match="takes numbers, arrays, tuples of these and literals, not a list"):
        sg.compile(f)(1.0)


@pytest.mark.parametrize("kernel", [fast_cube.py_func, np.sin, 3, njit("f8(f8)")(lambda x: x)])
def test_what_is_no_kernel(kernel: Any) -> None:
    with pytest.raises(ArgumentError, match=r"native takes a function compiled by @numba.njit|types of a signature"):
        sg.native(kernel)


# -- on disk ------------------------------------------------------------------------------------------------


PROGRAM = """
import numpy as np
import srcgraph as sg
from numba import njit
from srcgraph.runtime.cache.statistics import STATISTICS

SIZE = 5.0

@njit
def half(x):
    return x * {factor}

@njit{options}
def fast(x):
    return half(np.sqrt(x)) + {number}

@sg.native(fast)
def slow(x):
    return np.sqrt(x) * 0.5

def f(x):
    return np.sum(slow(x))

print(sg.compile(f)(np.array([4.0, 16.0])), STATISTICS.hits, STATISTICS.stored, STATISTICS.loaded, *STATISTICS.reasons)
"""


REBOUND = """
fast(np.ones(2))

@njit
def half(x):
    return x * 0.125

"""
LAST = PROGRAM.index("print(")


def process(folder: Path, text: str, **values: str) -> str:
    """What a program prints, as a process of its own that keeps what it compiles."""
    (folder / "model.py").write_text(text.format(**{"factor": "0.5", "options": "", "number": "0.0"} | values))
    env = {**os.environ, "SRCGRAPH_CACHE": "1", "SRCGRAPH_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "model.py"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_kept_while_the_kernel_is_the_same(tmp_path: Path) -> None:
    """Whatever it is made of: what it calls, its options; one that reads a number from outside is not kept."""
    assert process(tmp_path, PROGRAM) == "3.0 0 1 0"
    assert process(tmp_path, PROGRAM) == "3.0 1 0 1"
    assert process(tmp_path, PROGRAM, factor="0.25") == "1.5 0 1 0"
    assert process(tmp_path, PROGRAM, options="(error_model='numpy')") == "3.0 0 1 0"
    why = "fast, which numba compiles, reads 'SIZE' from outside"
    assert process(tmp_path, PROGRAM, number="SIZE") == f"13.0 0 0 0 {why}"


def test_what_numba_has_not_seen_is_not_kept(tmp_path: Path) -> None:
    """A function that the kernel calls by a name that means another one now: numba keeps the one before."""
    text = PROGRAM[:LAST] + REBOUND + PROGRAM[LAST:]
    why = "fast, which numba has compiled, calls what has another name now"
    assert process(tmp_path, text) == f"3.0 0 0 0 {why}"


def test_numba_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no kernel then: the function runs."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert process(tmp_path, PROGRAM, number="SIZE").startswith("3.0 0 ")


def test_gradients_are_kept_without_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRCGRAPH_CACHE", "1")
    monkeypatch.setenv("SRCGRAPH_CACHE_DIR", str(tmp_path))
    stored = STATISTICS.stored
    assert sg.compile(cube, mode=OFF)(2.0) == 8.0
    assert sg.grad(cube)(2.0) == 12.0
    assert STATISTICS.stored == stored + 2
