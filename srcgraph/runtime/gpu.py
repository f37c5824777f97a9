"""What CUDA modules import: numba's CUDA target, arrays on the device, launches, and what kernels call.

This is the only module that imports ``numba.cuda``, which is numba-cuda where that is installed, and only generated
CUDA modules import it. Kernels use `math`, plain arithmetic, shared memory and the functions below, so that one text
runs on a GPU and in numba's simulator (``NUMBA_ENABLE_CUDASIM=1``).

References
----------
M. Harris, "Optimizing parallel reduction in CUDA" (2007), for sums within a block. T. Ogita, S. M. Rump, S. Oishi,
"Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005), algorithm 4.1, for sums within a thread.
"""

from __future__ import annotations

import functools
import math
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, OverlapError, Problem
from srcgraph.runtime.on_device import device_array_of, is_on_device, span_of
from srcgraph.runtime.simulator import narrowed, shared_array, simulated_math, simulated_numpy, without_raising

HOW = 'pip install "srcgraph[cuda]" on a machine with an NVIDIA GPU, or set NUMBA_ENABLE_CUDASIM=1 to simulate one'

if not hasattr(np, "row_stack"):  # numba-cuda reads it; NumPy 2.5 has it no more
    np.row_stack = np.vstack  # type: ignore[attr-defined]

try:
    from numba import config, cuda
except ImportError as error:
    raise ImportError(f"target='cuda' needs numba-cuda: {HOW}") from error
try:  # numba-cuda has warnings of its own
    from numba.cuda.core.errors import NumbaPerformanceWarning  # pyright: ignore[reportMissingImports]
except ImportError:
    from numba.core.errors import NumbaPerformanceWarning

SIMULATED = bool(getattr(config, "ENABLE_CUDASIM", False))
THREADS = 16 if SIMULATED else 256
"""Of a block; the simulator runs each in a thread of Python's."""
BLOCKS = 4 if SIMULATED else 1024
"""So many blocks at most share the points of a reduction."""
ROW, BUSY = (2, 64) if SIMULATED else (16, 1 << 18)
"""Threads of a team at least, where rows are long; threads that a device has enough of."""

if SIMULATED:
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    FakeCUDAShared.array = shared_array  # type: ignore[method-assign]
    math = simulated_math()  # type: ignore[assignment]


@functools.cache
def check_available() -> None:
    """See whether there is a GPU, or the simulator.

    Raises
    ------
    ArgumentError
        There is neither.
    """
    if not SIMULATED and not cuda.is_available():
        why = "target='cuda' needs numba's CUDA target and a GPU, and there is none"
        raise ArgumentError(Problem(why, hint=HOW))


# -- launches ---------------------------------------------------------------------------------------


def _points(sizes: Sequence[int]) -> int:
    return functools.reduce(lambda total, n: total * max(int(n), 0), sizes, 1)


def _count(sizes: int | tuple[int, ...]) -> int:
    return _points(sizes if isinstance(sizes, tuple) else (sizes,))


def over(*sizes: int) -> tuple[int, int]:
    """Blocks and threads for a kernel with a thread for each point."""
    return max(1, -(-_points(sizes) // THREADS)), THREADS


def striding(*sizes: int) -> tuple[int, int]:
    """Blocks and threads for a kernel whose threads take several points each."""
    return min(over(*sizes)[0], BLOCKS), THREADS


def team_of(sizes: int | tuple[int, ...], *lengths: int | tuple[int, ...]) -> int:
    """How many threads share each point of a nest that reduces so many elements at each: a power of two.

    As many as keep the device busy, and sixteen that read rows side by side, but no more than have something to do.
    """
    points, most = _count(sizes), min(THREADS, max(1, max(map(_count, lengths)) // 4))
    team = 1 << (most.bit_length() - 1)
    while team > ROW and team * points > BUSY:
        team //= 2
    return team


def parts(*sizes: int, dtype: Any = np.float64) -> Any:
    """Room for what each block of a reduction over points comes to."""
    return device_array(striding(*sizes)[0], dtype)


def driver(*, changes: Sequence[str] = ()) -> Callable[..., Any]:
    """Let a function of arrays on the device take NumPy's: they are copied there, and what it gives is copied back.

    Parameters
    ----------
    changes : sequence of str
        The arguments whose arrays it changes.
    """

    def decorate(function: types.FunctionType) -> Callable[..., Any]:
        names = function.__code__.co_varnames
        changed = [names.index(name) for name in changes]
        if SIMULATED:
            _simulate(function.__globals__)

        @functools.wraps(function)
        def run(*args: Any) -> Any:
            check_available()
            stays = any(is_on_device(a) for a in args)
            held: dict[int, Any] = {}
            given = [_given(a, held) for a in args]
            if stays:
                _check_apart(args, names, changed)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning if SIMULATED else NumbaPerformanceWarning)
                try:
                    found = function(*given)
                except Exception as error:
                    error.args = tuple(map(_number, error.args))
                    raise
                finally:
                    for k in changed:
                        _put_back(args[k], given[k])
            if isinstance(found, tuple):
                return tuple(_returned(x, stays) for x in found)
            return _returned(found, stays)

        return run

    return decorate


def _check_apart(args: Sequence[Any], names: Sequence[str], changed: Sequence[int]) -> None:
    """Arrays on the device that are changed share no memory with others."""
    spans = {k: span_of(own) for k, a in enumerate(args) if (own := device_array_of(a)) is not None}
    for k in changed:
        for other, (low, high) in spans.items():
            if k in spans and args[k] is not args[other] and low < spans[k][1] and spans[k][0] < high:
                why = (
                    f"argument {names[k]!r} is changed, and shares memory on the device with argument {names[other]!r}"
                )
                raise OverlapError(Problem(why, hint="pass a copy of one of them"))


def _simulate(module: dict[str, Any]) -> None:
    """Let a module's kernels compute what they do on a GPU."""
    module.update(math=simulated_math(), np=simulated_numpy())
    for kernel in list(module.values()):
        if isinstance(kernel, type(_fill_kernel)) and kernel.fn.__globals__ is module:
            kernel.fn = without_raising(kernel.fn)


def _given(x: Any, held: dict[int, Any]) -> Any:
    """An argument as the driver takes it: arrays on the device, floats of NumPy's."""
    if isinstance(x, np.ndarray):
        if id(x) not in held:
            own = device_array_of(x)
            held[id(x)] = cuda.to_device(np.asarray(x, order="C")) if own is None else _as_device(own)
        return held[id(x)]
    if isinstance(x, list):
        return [_given(v, held) for v in x]
    if type(x) is float:
        return np.float64(x)
    return np.complex128(x) if type(x) is complex else x


def _as_device(x: Any) -> Any:
    return x if SIMULATED else cuda.as_cuda_array(x)


def _put_back(x: Any, changed: Any) -> None:
    """What an argument is after the call."""
    if isinstance(x, list):
        x[:] = [_returned(v, False) for v in changed]
    elif device_array_of(x) is None:
        x[...] = changed.copy_to_host()


def _returned(x: Any, stays: bool) -> Any:
    """A result: a number of Python's, as compiled functions return them, or an array."""
    if isinstance(x, list):
        return [_returned(v, stays) for v in x]
    return x if stays and not isinstance(x, np.generic) else _number(_to_host(x))


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _to_host(x: Any) -> Any:
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


# -- arrays -----------------------------------------------------------------------------------------


def device_array(shape: Any, dtype: Any = "float64") -> Any:
    """A new array on the device; lengths below zero are zero."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    return cuda.device_array(tuple(max(int(n), 0) for n in sizes), np.dtype(dtype))  # type: ignore[arg-type]


def device_array_like(x: Any) -> Any:
    """A new array of the shape and dtype of ``x``."""
    return device_array(tuple(x.shape), x.dtype)


def copy(x: Any) -> Any:
    """A new array with the elements of ``x``."""
    out = device_array_like(x)
    if out.size:
        out.copy_to_device(x)
    return out


def full(shape: Any, value: Any, dtype: Any = np.float64) -> Any:
    """A new array of one number."""
    return fill(device_array(shape, dtype), value)


def zeros(shape: Any, dtype: Any = np.float64) -> Any:
    """A new array of zeros."""
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: Any = np.float64) -> Any:
    """A new array of ones."""
    return full(shape, 1, dtype)


def fill(x: Any, value: Any) -> Any:
    """``x``, all elements of which are changed to one number."""
    if x.size:
        flat = x.reshape(x.size)
        _fill_kernel[over(x.size)](flat, x.dtype.type(value))  # pyright: ignore[reportIndexIssue]
    return x


def host_value(x: Any) -> Any:
    """A number of Python's, or an array of NumPy's: what is shown."""
    return _number(_to_host(x))


@cuda.jit
def _fill_kernel(x: Any, value: Any) -> None:
    i = cuda.grid(1)  # pyright: ignore[reportCallIssue]
    if i < x.shape[0]:
        x[i] = value


# -- the end of a reduction: what the blocks come to, combined on the host, always in the same order ----------


def sum_of(x: Any) -> Any:
    """The sum of what blocks come to."""
    return np.add.reduce(x.copy_to_host())


def product_of(x: Any) -> Any:
    """Their product."""
    return np.multiply.reduce(x.copy_to_host())


def max_of(x: Any) -> Any:
    """The largest, NaN if there is one."""
    return np.maximum.reduce(x.copy_to_host())


def min_of(x: Any) -> Any:
    """The smallest, NaN if there is one."""
    return np.minimum.reduce(x.copy_to_host())


def all_of(x: Any) -> bool:
    """Whether all hold."""
    return bool(x.copy_to_host().all())


def any_of(x: Any) -> bool:
    """Whether some hold."""
    return bool(x.copy_to_host().any())


# -- what kernels call ------------------------------------------------------------------------------


def device(function: Callable[..., Any]) -> Any:
    """A function that kernels call."""
    return cuda.jit(device=True)(without_raising(function) if SIMULATED else function)  # type: ignore[arg-type]


@device
def two_sum(total, x, lost):
    """The sum of two numbers, and what rounding has taken from this and earlier sums."""
    rounded = total + x
    gained = rounded - total
    error = (total - (rounded - gained)) + (x - gained)
    return rounded, (lost + error if error - error == 0 else lost)


@device
def maximum(x, y):
    """The larger, NaN if either is."""
    return x if x >= y or x != x else y


@device
def minimum(x, y):
    """The smaller, NaN if either is."""
    return x if x <= y or x != x else y


@device
def fmax(x, y):
    """The larger, that which is not NaN."""
    return x if x >= y or y != y else y


@device
def fmin(x, y):
    """The smaller, that which is not NaN."""
    return x if x <= y or y != y else y


@device
def sign(x):
    """-1, 0 or 1 with the sign of a float."""
    return x if x == 0 or x != x else math.copysign(1.0, x)


@device
def rint(x):
    """The nearest whole number, the even one of two: larger numbers than 2**52 are whole."""
    x = float(x)
    if not abs(x) < 4503599627370496.0:
        return x
    large = math.copysign(4503599627370496.0, x)
    return math.copysign((x + large) - large, x)


@device
def exp2(x):
    """``2**x``."""
    return 2.0**x


@device
def cbrt(x):
    """The cube root, after a step of Newton's method."""
    if x == 0 or not math.isfinite(x):
        return x
    y = math.copysign(abs(x) ** (1.0 / 3.0), x)
    return y - (y - x / (y * y)) / 3.0


@device
def logaddexp(x, y):
    """``log(exp(x) + exp(y))``."""
    if x == y:
        return x + math.log(2.0)
    gap = x - y
    if gap > 0:
        return x + math.log1p(math.exp(-gap))
    return y + math.log1p(math.exp(gap)) if gap <= 0 else gap


@device
def integer_power(x, y):
    """``x**y`` of integers for ``y >= 0``, which wraps."""
    out, left = x - x + 1, y
    while left > 0:
        if left & 1:
            out *= x
        x *= x
        left >>= 1
    return out


@device
def log1mexp(x):
    """``log(1 - exp(x))``: near 0 by expm1, elsewhere by log1p."""
    return math.log(-math.expm1(x)) if x > -0.6931471805599453 else math.log1p(-math.exp(x))


@device
def logit(x):
    """``log(x / (1 - x))``."""
    return math.log(x / (1.0 - x)) if x < 0.3 or x > 0.65 else _near_half(2.0 * (x - 0.5))


@device
def _near_half(s):
    return math.log1p(s) - math.log1p(-s)


@device
def log_expit(x):
    """``log(1 / (1 + exp(-x)))``."""
    return x - math.log1p(math.exp(x)) if x < 0.0 else -math.log1p(math.exp(-x))


@device
def xlogy(x, y):
    """``x * log(y)``, 0 for ``x == 0``."""
    return x * 0.0 if x == 0 and y == y else x * math.log(y)


@device
def gamma(x):
    """The gamma function."""
    return math.gamma(x)


@device
def gammaln(x):
    """The logarithm of the absolute value of the gamma function."""
    return math.lgamma(x)


@device
def ndtr(x):
    """The normal distribution."""
    return 0.5 * math.erfc(-x * 0.7071067811865476)


@device
def conj(x):
    """The complex conjugate."""
    return complex(x.real, -x.imag)


@device
def complex_abs(x):
    """The absolute value."""
    return math.hypot(x.real, x.imag)


@device
def hypot_less(x, y, bound):
    """Whether the hypotenuse ``<`` a bound."""
    return math.hypot(x, y) < bound


@device
def hypot_less_equal(x, y, bound):
    """Whether the hypotenuse ``<=`` a bound."""
    return math.hypot(x, y) <= bound


@device
def hypot_greater(x, y, bound):
    """Whether the hypotenuse ``>`` a bound."""
    return math.hypot(x, y) > bound


@device
def hypot_greater_equal(x, y, bound):
    """Whether the hypotenuse ``>=`` a bound."""
    return math.hypot(x, y) >= bound


@device
def _smith(x, y):
    """What a quotient's parts are multiples of, and of what, by Smith's method, which does not overflow."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    if c == 0 and d == 0:
        return a, b, abs(c)
    if abs(c) >= abs(d):
        ratio = d / c
        return a + b * ratio, b - a * ratio, c + d * ratio
    ratio = c / d
    return a * ratio + b, b * ratio - a, c * ratio + d


@device
def complex_divide(x, y):
    """A quotient as NumPy computes it, which multiplies by the reciprocal; infinite for a divisor of zero."""
    real, imag, scale = _smith(x, y)
    factor = 1.0 / scale
    return complex(real * factor, imag * factor)


@device
def python_divide(x, y):
    """A quotient as CPython computes it."""
    real, imag, scale = _smith(x, y)
    return complex(real / scale, imag / scale)


@device
def complex_reciprocal(x):
    """``1 / x``."""
    return complex_divide(complex(1.0, 0.0), x)


@device
def complex_whole_power(x, n):
    """``x**n`` for whole ``n``, by squaring."""
    out, base, left = complex(1.0, 0.0), complex(x.real, x.imag), abs(n)
    while left > 0:
        if left & 1:
            out = out * base
        base = base * base
        left >>= 1
    return complex_divide(complex(1.0, 0.0), out) if n < 0 else out


@device
def complex_exp(x):
    """``exp(x)``."""
    size = math.exp(x.real)
    if x.imag == 0:
        return complex(size, x.imag)
    return complex(size * math.cos(x.imag), size * math.sin(x.imag))


@device
def complex_log(x):
    """The logarithm, its imaginary part between -pi and pi."""
    return complex(math.log(math.hypot(x.real, x.imag)), math.atan2(x.imag, x.real))


@device
def complex_sqrt(x):
    """The square root with a real part that is not negative."""
    a, b = x.real, x.imag
    if a == 0 and b == 0:
        return complex(0.0, b)
    size = math.sqrt(0.5 * (math.hypot(a, b) + abs(a)))
    if a >= 0:
        return complex(size, b / (2.0 * size))
    return complex(abs(b) / (2.0 * size), math.copysign(size, b))


@device
def complex_sin(x):
    """``sin(x)``."""
    return complex(math.sin(x.real) * math.cosh(x.imag), math.cos(x.real) * math.sinh(x.imag))


@device
def complex_cos(x):
    """``cos(x)``."""
    return complex(math.cos(x.real) * math.cosh(x.imag), -math.sin(x.real) * math.sinh(x.imag))


__all__ = ["narrowed"]
