"""Functions of `math` in loops, several elements at a time: as accurate as they say, and right where numbers end."""

from __future__ import annotations

import functools
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from numba import njit
from scipy import special

import srcgraph as sg
from srcgraph.codegen.several import FUNCTIONS
from srcgraph.runtime import vector

NAMES = sorted(n for names in FUNCTIONS.values() for n in names)
MP = {
    **{n: getattr(mpmath, n) for n in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh")},
    **{f"arc{n[1:]}": getattr(mpmath, n) for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")},
    **{n: getattr(mpmath, n) for n in ("tanh", "erf", "erfc", "hypot")},
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.root(abs(x), 3),
}
DOMAIN = {
    **dict.fromkeys(("log", "log2"), (1e-300, 1e300)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), (-0.999, 0.999)),
    **dict.fromkeys(("sin", "cos", "tan", "arctan", "arcsinh", "cbrt", "arctan2", "hypot"), (-1e4, 1e4)),
    **dict.fromkeys(("exp", "expm1", "exp2", "sinh", "cosh"), (-80.0, 80.0)),
    "log1p": (-0.9, 1e4),
    "arccosh": (1.0, 1e6),
    "erf": (-6.0, 6.0),
    "erfc": (-6.0, 9.0),
    "tanh": (-20.0, 20.0),
}


OF_TWO = ("arctan2", "hypot")


def numpy_of(name: str) -> Callable[..., Any]:
    return getattr(special, name) if name in ("erf", "erfc") else getattr(np, name)


def in_a_loop(name: str) -> Any:
    """A compiled function of arrays, which the generated code computes in a loop."""
    function = numpy_of(name)
    if name in OF_TWO:
        return sg.compile(lambda x, y: function(x, y))
    return sg.compile(lambda x: function(x))


def points(name: str, dtype: Any) -> np.ndarray:
    """Small, large, and in between."""
    low, high = DOMAIN[name]
    rng = np.random.default_rng(7)
    if dtype == np.float32:
        low, high = max(low, 1e-30 if low > 0 else low), min(high, 1e30)
    near = rng.uniform(max(low, -3.0), min(high, 3.0), 192)
    far = np.exp(rng.uniform(np.log(low), np.log(high), 64)) if low > 0 else rng.uniform(low, high, 64)
    return np.concatenate([near, far]).astype(dtype)


def units_away(found: np.ndarray, exact: list[Any]) -> float:
    """The largest distance from the exact values, in units of the last place."""
    one = [mpmath.mpf(float(np.spacing(np.abs(f)))) for f in found]
    return max(float(abs(mpmath.mpf(float(f)) - e) / u) for f, e, u in zip(found, exact, one, strict=True))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_the_error_is_at_most_four_units(name: str, dtype: Any) -> None:
    x = points(name, dtype)
    args = (x, x[::-1].copy()) if name in OF_TWO else (x,)
    found = in_a_loop(name)(*args)
    assert found.dtype == dtype
    with mpmath.workdps(40):
        exact = [MP[name](*(mpmath.mpf(float(v)) for v in row)) for row in zip(*args, strict=True)]
        assert units_away(found, exact) <= 4.0


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 0.5, -0.5, 709.0,
           710.0, -745.0, -746.0, 1e22, 1e16, 1e300, 2.0, 1e-8]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_where_numbers_end(name: str, dtype: Any) -> None:
    """Infinities, NaN, signed zeros and numbers near the largest and smallest, at every place of a vector."""
    with np.errstate(all="ignore"):
        once = np.array(SPECIAL).astype(dtype)
        x = np.concatenate([np.roll(once, k) for k in range(17)])
        args = (x, np.repeat(once, 17)) if name in OF_TWO else (x,)
        found, wanted = in_a_loop(name)(*args), numpy_of(name)(*args)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))
    small = np.finfo(dtype).tiny
    np.testing.assert_allclose(found, wanted, rtol=20 * np.finfo(dtype).eps, atol=small if name == "erfc" else 0.0)


def test_powers_are_exact() -> None:
    k = np.arange(-20.0, 21.0)
    np.testing.assert_array_equal(in_a_loop("exp2")(k), 2.0**k)
    np.testing.assert_array_equal(in_a_loop("log2")(2.0**k), k)
    np.testing.assert_array_equal(sg.compile(lambda x: np.log10(x))(10.0 ** np.arange(20)), np.arange(20.0))


def damped(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    for k in range(len(x)):
        out[k] = np.exp(-x[k]) * np.sin(x[k])
    return out


def recurrence(x: float, n: int) -> float:
    while abs(np.cos(x) - x) > 1e-9 and n > 0:
        x, n = np.cos(x), n - 1
    return np.exp(x)


def with_names(exp: np.ndarray) -> np.ndarray:
    log = np.cos(exp)
    return np.exp(log) + np.sin(exp)


def test_what_is_written() -> None:
    """In a loop over an array the calls are ours; elsewhere they are NumPy's; taken names stay the user's."""
    x = np.linspace(0.1, 2.0, 50)
    code = sg.inspect(damped, x).cpu
    assert "from srcgraph.runtime.vector import exp, sin" in code and "exp(-x_k) * sin(x_k)" in code
    assert "np.cos(x)" in sg.inspect(recurrence, 0.3, 50).cpu
    code = sg.inspect(with_names, x).cpu
    assert "import cos, sin" in code and "np.exp(" in code
    for f in (damped, with_names):
        np.testing.assert_allclose(sg.compile(f)(x), f(x), rtol=1e-14)
    np.testing.assert_allclose(
        sg.grad(lambda x: np.sum(damped(x)))(x), np.exp(-x) * (np.cos(x) - np.sin(x)), atol=1e-15
    )


@pytest.mark.skipif(not vector.SET, reason="there is no libmvec here, so that loops call the C library's functions")
def test_loops_call_the_functions_of_several_elements() -> None:
    @njit
    def loop(x, out):
        for k in range(len(x)):
            out[k] = vector.exp(x[k]) * vector.arctan2(x[k], 0.5)

    loop(np.ones(3), np.ones(3))
    (assembly,) = loop.inspect_asm().values()
    own = without_the_scalar_ones(assembly)
    assert re.search(r"_ZGV\w+v_exp", own) and re.search(r"_ZGV\w+vv_atan2", own)


@pytest.mark.skipif(vector.SET not in vector.MASKED, reason="functions here look up tables without masks")
def test_steps_do_not_wait_for_masks_of_others() -> None:
    """A register that exp uses for a mask is set right before it, so that no step waits for the one before."""

    @njit
    def loop(x, out):
        for k in range(len(x)):
            out[k] = 1.0 if x[k] < vector.exp(x[k]) else 2.0

    x, out = np.linspace(-1.0, 1.0, 100), np.ones(100)
    loop(x, out)
    np.testing.assert_array_equal(out, 1.0)
    (assembly,) = loop.inspect_asm().values()
    (called,) = re.findall(r"(?ms)^srcgraph_ZGV\w+v_exp:.*?^\.Lfunc_end", assembly)
    assert re.search(r"(?m)^\s*kxor.*%k1$", called)


def without_the_scalar_ones(assembly: str) -> str:
    """Those for one number call those of several, too, and stand for them where a loop is not vectorised."""
    return re.sub(r"(?ms)^srcgraph_\w+:.*?^\.Lfunc_end", "", assembly)


@pytest.mark.skipif(not vector.SET, reason="there is no libmvec here, so that loops call the C library's functions")
@pytest.mark.parametrize("compiled", [lambda x: np.exp(x), lambda x: np.sum(np.tanh(x)), lambda x: np.exp(x) @ x])
def test_loops_of_generated_code_do(compiled: Callable[..., Any]) -> None:
    function = sg.compile(compiled)
    function(np.ones(100))
    (assembly,) = function.newest.entry.inspect_asm().values()  # type: ignore[union-attr]
    assert re.search(r"_ZGV\w+v_(exp|tanh)", without_the_scalar_ones(assembly))


def test_from_python() -> None:
    assert pickle.loads(pickle.dumps(vector.exp)) is vector.exp
    assert vector.arctan2(1.0, 2.0) == np.arctan2(1.0, 2.0)
    np.testing.assert_array_equal(vector.erf(np.array([0.5])), special.erf(np.array([0.5])))


SCRIPT = """
import numpy as np, srcgraph as sg
from srcgraph import cache

def f(x):
    return np.exp(x) + np.tanh(x)

x = np.linspace(-1.0, 1.0, 1000)
assert np.allclose(sg.compile(f)(x), f(x), rtol=1e-14)
g = sg.grad(lambda x: np.sum(f(x)))(x)
print(np.allclose(g, np.exp(x) + 1 / np.cosh(x) ** 2), cache.info().hits)
"""


def test_another_process_finds_them(tmp_path: Path) -> None:
    """What is kept on disk calls them by name, so that the library has to be there before it is read."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    env = {**os.environ, "SRCGRAPH_CACHE_DIR": str(tmp_path / "cache"), "SRCGRAPH_CACHE": "1"}
    run = functools.partial(subprocess.run, [sys.executable, script], env=env, capture_output=True, text=True)
    found = [run(check=True) for _ in range(2)]
    assert [f.stdout.split()[0] for f in found] == ["True", "True"]
    assert int(found[1].stdout.split()[1]) >= 2


def test_numbers_do_not_depend_on_where_they_lie() -> None:
    """Not on the place in the array, its length, or its address: the rest of a loop computes the same."""
    f = sg.compile(lambda x: np.exp(x) * np.sin(x) + np.tanh(x))
    rng = np.random.default_rng(3)
    for n in range(2, 40):
        x = rng.normal(size=n)
        found = f(x)
        for start in range(8):
            buffer = np.empty(n + 9)
            buffer[start : start + n] = x
            np.testing.assert_array_equal(f(buffer[start : start + n]), found)
        np.testing.assert_array_equal(f(np.concatenate([x, rng.normal(size=64)]))[:n], found)


def test_what_depends_on_earlier_steps() -> None:
    """Steps that wait for each other call functions of one number, which answer sooner."""

    def steps(x):
        s, t = 0.1, 0.0
        out = np.zeros(x.shape[0])
        for i in range(1, x.shape[0]):
            s = 0.9 * s + 0.1 * np.sin(s * x[i])
            out[i] = np.cos(out[i - 1]) + np.tan(x[i])
            t += np.log(s) + np.exp(x[i])
        return s, t, out

    x = np.random.default_rng(2).uniform(0.1, 1.0, 200)
    for found, wanted in zip(sg.compile(steps)(x), steps(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    text = sg.inspect(steps, x).cpu
    called = ("np.sin(", "np.cos(", "np.log(", " tan(", " exp(")
    assert all(c in text for c in called), text


def test_loops_that_llvm_does_not_take_together_call_functions_of_one_number() -> None:
    """Short ones are written out, and what is added to one place waits for the step before."""

    def short(x, y):
        out = np.empty(8)
        for j in range(8):
            out[j] = np.exp(x[j] - y[j])
        return out

    def to_one_place(x, y):
        out = np.zeros((3, 3))
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                for k in range(3):
                    out[0, k] += np.exp(x[j] * y[i])
                    out[1, k] += (x[j] * y[i] + 9.0) ** 1.5
        return out

    def beside(x, y):
        out = np.zeros((len(x), 3))
        for j in range(len(x)):
            for k in range(3):
                out[j, k] += np.exp(x[j]) * (k + 1.0)
        return out

    x, y = np.random.default_rng(6).normal(size=(2, 12))
    for f, several in ((short, False), (to_one_place, False), (beside, True)):
        compiled = sg.compile(f)
        np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=1e-13)
        text = compiled.python(x, y)
        assert ("runtime.vector" in text) == several, text
