"""Runs programs for the CUDA target in numba's simulator, in a process of its own: ``python cuda_checks.py values``.

The simulator has to be switched on before anything imports numba; with ``NUMBA_ENABLE_CUDASIM=0`` they run on the GPU.
What is wrong is printed, and the exit status is how many checks failed; the last line says how many there were.
"""

from __future__ import annotations

import ast
import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import contextlib
import io
import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import cuda_programs as programs
import numpy as np
from numba import config, cuda

import srcgraph as sg
from srcgraph.errors import ArgumentError, OverlapError, UnsupportedError
from srcgraph.runtime import gpu


def wait_for_others() -> None:
    """The simulator's main thread asks all others whether they run, again and again: let them run meanwhile."""
    from numba.cuda.simulator.kernel import BlockThread

    run = BlockThread.run

    def until_done(thread: Any) -> None:
        try:
            run(thread)
        finally:
            thread.is_done = True

    def is_alive(thread: Any) -> bool:
        if not thread.is_done and not thread.syncthreads_blocked:
            time.sleep(0)
        return not thread.is_done

    BlockThread.is_done, BlockThread.run, BlockThread.is_alive = False, until_done, is_alive


if config.ENABLE_CUDASIM:
    wait_for_others()


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 1.5, shape)


def integers(seed: int, size: int, dtype: Any = np.int64) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 9, size).astype(dtype)


X, Y, M = numbers(1, 22), numbers(2, 22), numbers(3, 5, 18)
CASES: dict[Callable, tuple[Any, ...]] = {
    programs.chain: (X, Y, 0.7),
    programs.outer_chain: (X[:7], Y[:5]),
    programs.masked: (X,),
    programs.sliced: (X, Y),
    programs.heat: (X, 0.2, 3),
    programs.diffusion: (X, 3),
    programs.jacobi: (numbers(4, 7, 6), numbers(5, 7, 6), 3),
    programs.of_three_columns: (numbers(14, 9, 3),),
    programs.until_flat: (X[:9], 0.05, 5),
    programs.history: (X, 3),
    programs.extremes: (M,),
    programs.over_axes: (M,),
    programs.in_three: (numbers(6, 3, 4, 5),),
    programs.every_second: (numbers(6, 4, 7, 6),),
    programs.several_sums: (X, Y),
    programs.softmax: (M,),
    programs.cross_entropy: (M, numbers(7, 5, 18)),
    programs.logsumexp: (X,),
    programs.black_scholes: (X, Y, numbers(8, 22), 0.05, 0.3),
    programs.density: (X[:9], Y, 0.3),
    programs.forces: (numbers(9, 6, 3), numbers(10, 6)),
    programs.n_body: (numbers(9, 5, 3), numbers(11, 5, 3), numbers(10, 5), 2),
    programs.standardised: (M,),
    programs.dot_and_norm: (X, Y),
    programs.branches: (X, 3.0),
    programs.reshaped: (M, X[:20]),
    programs.rounded: (X,),
    programs.ends: (numbers(15, 4, 5),),
}
DTYPES: dict[Callable, tuple[Any, ...]] = {
    programs.of_integers: (integers(1, 21), 3),
    programs.of_narrow: (integers(2, 21, np.int8) * 11, integers(3, 21, np.uint8) * 30),
    programs.of_float32: (X.astype(np.float32), M.astype(np.float32)),
    programs.of_booleans: (X > 0.8, X),
    programs.rounded_narrow: ((10.0 * X - 7.0).astype(np.float32),),
    programs.of_complex: (numbers(12, 9) + 1j * numbers(13, 9), 0.5),
    programs.not_finite: (X[:5],),
}
ARRAYS = {
    programs.chain, programs.over_axes, programs.in_three, programs.several_sums, programs.softmax, programs.forces,
    programs.rounded,
}  # fmt: skip
"""Those that do not return one number."""
MANY_KERNELS = [
    programs.sliced, programs.jacobi, programs.until_flat, programs.in_three, programs.several_sums,
    programs.cross_entropy, programs.black_scholes, programs.n_body, programs.reshaped, programs.rounded,
]  # fmt: skip
"""Whose kernels are compiled where there is a toolkit."""
NUMBERS = [f for f in CASES if f not in ARRAYS]


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of their own, arrays with the strides that they have."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def same(got: Any, want: Any, rtol: float = 1e-12) -> None:
    if isinstance(want, tuple):
        assert type(got) is tuple and len(got) == len(want), (got, want)
        for x, y in zip(got, want, strict=True):
            same(x, y, rtol)
        return
    assert type(got) is type(want), (type(got), type(want))
    if isinstance(want, np.ndarray):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), (got, want)
    narrow = getattr(want, "dtype", None) == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-6 if narrow else rtol, atol=1e-6 if narrow else 1e-13)


def outcome(function: Callable, args: tuple[Any, ...]) -> Any:
    """The result and the arguments afterwards; or the exception's type and text."""
    own = copies(args)
    with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            result = function(*own)
        except Exception as error:
            return type(error), str(error)
    return result, own, printed.getvalue()


OF_KERNELS = {n for n, f in vars(gpu).items() if isinstance(f, type(gpu.two_sum))}
"""Functions that only kernels can call: on a GPU, that is; the simulator lets drivers call them."""


def drives(function: Any, args: tuple[Any, ...]) -> None:
    """What runs on the host calls nothing that only kernels can."""
    tree = ast.parse(function.version(args)[0].generated.text.text)
    drivers = [f for f in tree.body if isinstance(f, ast.FunctionDef) and "driver" in ast.unparse(f.decorator_list[0])]
    calls = {ast.unparse(c.func) for f in drivers for c in ast.walk(f) if isinstance(c, ast.Call)}
    assert drivers and not calls & OF_KERNELS, calls & OF_KERNELS


def agrees(function: Callable, args: tuple[Any, ...]) -> None:
    """The CUDA target, the CPU target and Python give the same."""
    fast = sg.compile(function, target="cuda")
    got = outcome(fast, args)
    if not isinstance(got[0], type):
        drives(fast, copies(args))
    for other in (sg.compile(function), function):
        want = outcome(other, args)
        if isinstance(want[0], type):
            assert got[0] is want[0], (got, want)
            continue
        assert not isinstance(got[0], type), got
        same(got[:2], want[:2])
        assert got[2:] == want[2:]


CHECKS: dict[str, Callable[[], None]] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS[function.__name__] = function
    return function


def resized(args: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    return tuple(a[tuple(slice(size) for _ in a.shape)].copy() if isinstance(a, np.ndarray) else a for a in args)


def group(name: str) -> dict[str, Callable[[], None]]:
    """The checks of one kind, by what they are about."""
    match name:
        case "values":
            return {f.__name__: lambda f=f: agrees(f, CASES[f]) for f in CASES}
        case "gradients":
            return {
                f.__name__: lambda f=f: gradient_agrees(f)
                for f in list(NUMBERS)[:: 1 if os.environ.get("SRCGRAPH_NATIVE") == "all" else 3]
            }
        case "dtypes":
            return {f.__name__: lambda f=f: agrees(f, DTYPES[f]) for f in DTYPES}
        case "sizes":
            sizes = (0, 1, 17)
            return {f"{f.__name__} {n}": lambda f=f, n=n: agrees(f, resized(CASES[f], n)) for f in SIZED for n in sizes}
        case "refused":
            return {f.__name__: lambda f=f: is_refused(f) for f in REFUSED}
    return CHECKS


SIZED = [
    programs.chain, programs.outer_chain, programs.sliced, programs.heat, programs.diffusion, programs.jacobi,
    programs.over_axes, programs.in_three, programs.several_sums, programs.softmax, programs.logsumexp,
]  # fmt: skip
REFUSED: dict[Callable, tuple[tuple[Any, ...], str]] = {
    programs.one_by_one: ((X,), "element by element"),
    programs.summed_by_hand: ((X,), "element by element"),
    programs.product: ((M,), "matmul calls a library"),
    programs.solved: ((M[:5], X[:5]), "lu_factor calls a library"),
    programs.in_order: ((X,), "sort calls a library"),
    programs.transformed: ((X,), "rfft calls a library"),
    programs.drawn: ((X, np.random.default_rng(1)), "draws random numbers"),
    programs.gathered: ((X, integers(1, 5)), "element by element"),
    programs.recursive: ((X, 3), "recursive calls itself"),
}


def is_refused(function: Callable) -> None:
    args, why = REFUSED[function]
    try:
        sg.compile(function, target="cuda")(*args)
    except UnsupportedError as error:
        text = str(error)
        assert "cuda_programs.py:" in text and why in text and "^" in text and "hint: " in text, text
    else:
        raise AssertionError("it is not refused")


def gradient_agrees(function: Callable) -> None:
    """The gradient is the CPU's, and the caller's arrays are as before."""
    args = CASES[function]
    argnums = tuple(k for k, a in enumerate(args) if not isinstance(a, int))
    own = copies(args)
    slope = sg.grad(sg.compile(function, target="cuda"), argnums=argnums)
    got = slope(*own)
    drives(slope, own)
    same(got, sg.grad(function, argnums=argnums)(*copies(args)), 1e-11)
    same(own, args)
    other = sg.compile(sg.grad(function, argnums=argnums), target="cuda")(*own)
    same(other, got, 0.0)


# -- one by one ---------------------------------------------------------------------------------------


@check
def errors_are_those_of_the_cpu() -> None:
    agrees(programs.wrong_lengths, (X, M))
    agrees(programs.no_maximum, (X,))
    got = outcome(sg.compile(programs.told, target="cuda"), (X, 3.0))
    assert got[0] is ValueError and got[1] == outcome(programs.told, (X, 3.0))[1], got
    agrees(programs.told, (X, 1000.0))


@check
def what_was_stored_before_an_error_stays() -> None:
    for most, raises in ((1.0, True), (1000.0, False)):
        x = np.ones(3)
        try:
            sg.compile(programs.stored_and_told, target="cuda")(x, most)
        except ValueError:
            assert raises
        else:
            assert not raises
        same(x, np.full(3, 2.0))


@check
def an_error_has_the_users_line() -> None:
    try:
        sg.compile(programs.told, target="cuda")(X, 3.0)
    except ValueError as error:
        assert any("cuda_programs.py" in note and "raise ValueError" in note for note in error.__notes__)


@check
def sums_repeat() -> None:
    big = np.random.default_rng(5).normal(size=150) * 10.0 ** np.random.default_rng(6).integers(-8, 8, 150)
    fast = sg.compile(programs.several_sums, target="cuda")
    first, second = fast(big, big), fast(big, big)
    assert first == second
    exact = float(np.sum(big.astype(np.longdouble)))
    assert abs(first[0] - exact) <= 2e-16 * np.sum(np.abs(big)), (first[0], exact)


@check
def teams_divide_blocks() -> None:
    """A block is a whole number of teams, and a row is added up whole by each size of team."""
    for points in (0, 1, 7, 5000, 10**7):
        for length in (0, 1, 5, 64, 10**6):
            assert gpu.THREADS % gpu.team_of(points, length) == 0
    assert gpu.team_of(1, 10**6) == gpu.THREADS and gpu.team_of(10**7, 3, 2) == 1
    fast = sg.compile(programs.over_axes, target="cuda")
    for rows, length in ((1, 64), (3, 64), (40, 33), (2, 3)):
        m = numbers(30, rows, length)
        same(fast(m), programs.over_axes(m))


@check
def what_a_thread_computes_quickly_is_not_kept() -> None:
    fast = sg.compile(programs.density, target="cuda")
    text, cpu = fast.python(X, Y, 0.3), sg.compile(programs.density).python(X, Y, 0.3)
    assert "d[i, j]" in cpu and "d[i, j]" not in text and text.count("team_of(") == 1, text


@check
def strided_views_and_transposes() -> None:
    wide = numbers(20, 14, 10)
    fast = sg.compile(programs.softmax, target="cuda")
    for view in (wide[::2, ::2], wide.T, np.asfortranarray(wide), wide[::-1, 3:]):
        same(fast(view), programs.softmax(view))
    base, other = np.linspace(0.0, 1.0, 20), np.linspace(0.0, 1.0, 20)
    same(sg.compile(programs.heat, target="cuda")(base[::2], 0.2, 2), programs.heat(other[::2], 0.2, 2))
    same(base, other)


@check
def arrays_on_the_device_stay_there() -> None:
    fast, given = sg.compile(programs.softmax, target="cuda"), cuda.to_device(M)
    got = fast(given)
    assert not isinstance(got, np.ndarray)
    same(got.copy_to_host(), programs.softmax(M))
    heat, u = sg.compile(programs.heat, target="cuda"), cuda.to_device(X)
    own = X.copy()
    assert abs(heat(u, 0.2, 3) - programs.heat(own, 0.2, 3)) < 1e-12
    same(u.copy_to_host(), own)
    slope = sg.grad(heat)(u, 0.2, 3)
    same(slope.copy_to_host(), sg.grad(programs.heat)(own, 0.2, 3))
    same(u.copy_to_host(), own)


@check
def an_array_on_the_device_twice_is_one_array() -> None:
    x = cuda.to_device(X)
    own = X.copy()
    fast = sg.compile(programs.sliced, target="cuda")
    assert abs(fast(x, x) - programs.sliced(own, own)) < 1e-12
    same(x.copy_to_host(), own)
    try:
        fast(x[:20], x[5:25])
    except OverlapError as error:
        assert "shares memory" in str(error)
    else:
        raise AssertionError("overlapping memory is changed")


@check
def arrays_on_the_device_with_gaps_are_refused() -> None:
    try:
        sg.compile(programs.logsumexp, target="cuda")(cuda.to_device(X)[::2])
    except ArgumentError as error:
        assert "'x'" in str(error) and "C-contiguous" in str(error)
    else:
        raise AssertionError("gaps are taken")


@check
def other_derivatives() -> None:
    fast = sg.compile(programs.heat, target="cuda")
    value, pull = sg.vjp(fast, X.copy(), 0.2, 3)
    want, other = sg.vjp(programs.heat, X.copy(), 0.2, 3)
    same(value, want)
    for _ in range(2):
        same(pull(2.0)[:2], other(2.0)[:2])
    cubes = sg.compile(programs.logsumexp, target="cuda")
    same(sg.hessian(cubes)(X[:3]), sg.hessian(programs.logsumexp)(X[:3]))
    same(sg.jvp(cubes, (X,), (Y,)), sg.jvp(programs.logsumexp, (X,), (Y,)))
    rows = sg.compile(programs.softmax, target="cuda")
    same(sg.jacrev(rows)(M[:2, :3]), sg.jacrev(programs.softmax)(M[:2, :3]))
    same(sg.grad(fast, checkpoint=2)(X.copy(), 0.2, 5), sg.grad(programs.heat)(X.copy(), 0.2, 5))
    same(sg.value_and_grad(fast)(X.copy(), 0.2, 3), sg.value_and_grad(programs.heat)(X.copy(), 0.2, 3))


@check
def places_that_are_not_there() -> None:
    fast = sg.grad(sg.compile(programs.into_one_place, target="cuda"), argnums=(0, 1))
    for m, x in ((M, X[:7]), (M[:0], X[:0]), (M[:3, :0], X[:3]), (M[:, :1], X[:1]), (M[:0], X[:4])):
        same(fast(m, x), sg.grad(programs.into_one_place, argnums=(0, 1))(m.copy(), x.copy()))


@check
def nothing_is_kept_on_disk() -> None:
    before = sg.cache.info().process
    known = before.stored, before.misses, before.hits
    sg.compile(programs.extremes, target="cuda", cache=True)(M)
    after = sg.cache.info().process
    assert (after.stored, after.misses, after.hits) == known


def texts() -> None:
    """Print the texts of modules of many kinds of kernels, and the types of these, for other processes."""
    found = {}
    for f in (*MANY_KERNELS, *DTYPES):
        args = CASES.get(f) or DTYPES[f]
        made = {f.__name__: sg.compile(f, target="cuda")}
        if f in NUMBERS:
            made[f"{f.__name__}_grad"] = sg.grad(sg.compile(f, target="cuda"))
        for name, function in made.items():
            generated = function.version(args)[0].generated
            found[name] = generated.text.text, generated.signatures
    print(json.dumps(found))


def main(name: str) -> int:
    if name == "texts":
        texts()
        return 0
    warnings.filterwarnings("error", message=".*Grid size")  # numba's word to those who choose their grids
    checks, failed = group(name), 0
    for title, run in checks.items():
        try:
            run()
        except Exception:
            failed += 1
            print(f"{title}: {''.join(traceback.format_exc()[-1500:])}")
    print(f"{len(checks) - failed} of {len(checks)} checks hold")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1]), 100))
