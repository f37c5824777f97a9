"""Every elementwise function and operator on the values where arithmetic is delicate, for each dtype.

Zeros of both signs, infinities, NaN, subnormal and huge numbers, the ends of integer ranges: results
have NumPy's dtype, its NaNs, infinities and signs of zero, and its numbers to a few units in the last place.
"""

from __future__ import annotations

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.ir.op import COMPOSITES, OPS

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-310, 1e308, -1e308, np.inf, -np.inf, np.nan]
FLOATS += [3.7, -3.7, 1e16, 0.1, -1e-20]
INTEGERS = [0, 1, -1, 2, -2, 3, -7, 7, 100, 63, 64, -128]
with np.errstate(over="ignore"):
    VALUES = {
        "float64": np.array(FLOATS),
        "float32": np.array(FLOATS).astype(np.float32),
        "int64": np.array([*INTEGERS, 2**62, 2**63 - 1]),
        "int32": np.array([*INTEGERS, 2**31 - 1, -(2**31)], np.int32),
        "uint8": np.array([0, 1, 2, 3, 7, 128, 255], np.uint8),
        "bool": np.array([True, False]),
    }
KNOWN = {f for table in (OPS, COMPOSITES) for r in table.values() for f in r.python if isinstance(f, np.ufunc)}
UFUNCS = sorted((f.__name__, f.nin) for f in KNOWN if getattr(np, f.__name__, None) is f)
UNARY = [f"np.{n}(x)" for n, nin in UFUNCS if nin == 1]
BINARY = [f"np.{n}(x, y)" for n, nin in UFUNCS if nin == 2]
UNARY += ["-x", "~x", "abs(x)", "x**2", "x**3", "x**-1", "x**-2", "x**0.5", "x**0", "2**x", "2.0**x"]
UNARY += ["x / 2", "x // 2", "x % 3", "1 / x", "1 // x", "x // 2.0", "x * 0.5", "x + True", "x == 1.5", "x < 0.5"]
UNARY += ["x.astype(np.float64) * x.astype(np.float64)", "np.where(x > 0, 1.5, x)", "np.cumsum(x)", "np.cumprod(x)"]
UNARY += ["np.sum(x)", "np.prod(x)", "np.max(x)", "np.min(x)", "np.mean(x)", "np.var(x)", "np.any(x)", "np.all(x)"]
BINARY += [f"x {op} y" for op in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")]
BINARY += [f"x {op} y" for op in ("<", "<=", "==", "!=", ">", ">=")]
TOGETHER = 12
"""How many results one program returns: one compilation for all of them."""


def arguments(dtype: str, arity: int) -> list[np.ndarray]:
    v = VALUES[dtype]
    return [v] if arity == 1 else [g.ravel().copy() for g in np.meshgrid(v, v)]


def in_numpy(expression: str, args: list[np.ndarray]) -> np.ndarray | None:
    """What NumPy gives, None where it raises or would use half precision."""
    try:
        with np.errstate(all="ignore"):
            out = eval(expression, {"np": np}, dict(zip("xy", args, strict=False)))
    except (TypeError, ValueError, OverflowError):
        return None
    parts = out if isinstance(out, tuple) else (out,)
    return None if any(np.asarray(p).dtype == np.float16 for p in parts) else np.asarray(out)


def cases():
    for dtype in VALUES:
        for arity, expressions in ((1, UNARY), (2, BINARY)):
            fine = [e for e in expressions if in_numpy(e, arguments(dtype, arity)) is not None]
            for k in range(0, len(fine), TOGETHER):
                group = fine[k : k + TOGETHER]
                yield pytest.param(dtype, arity, group, id=f"{dtype}-{arity}-{k // TOGETHER}")


def differing(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where two results differ by more than rounding."""
    if want.dtype.kind != "f":
        return got != want
    with np.errstate(all="ignore"):
        close = (got == want) | (abs(got - want) <= 8 * np.finfo(want.dtype).eps * abs(want))
    same_sign = (np.signbit(got) == np.signbit(want)) | np.isnan(want)
    return ~((close & same_sign) | (np.isnan(got) & np.isnan(want)))


def unspecified(expression: str, args: list[np.ndarray]) -> np.ndarray:
    """Where NumPy's own answer depends on the processor."""
    x, y = args if len(args) == 2 else (args[0], args[0])
    if any(name in expression for name in ("maximum", "minimum", "fmax", "fmin")):  # of zeros with different signs
        return (x == 0) & (y == 0)
    if "reciprocal" in expression and x.dtype.kind in "iub":  # NumPy converts infinity to an integer
        return x == 0
    return np.zeros(x.shape, bool)


@pytest.mark.parametrize(("dtype", "arity", "expressions"), list(cases()))
def test_special_values(dtype: str, arity: int, expressions: list[str]) -> None:
    args = arguments(dtype, arity)
    source = f"def f({', '.join('xy'[:arity])}):\n    return {', '.join(expressions)}{',' * (len(expressions) == 1)}\n"
    scope: dict = {"np": np}
    exec(source, scope)
    found = sg.compile(scope["f"], source=source)(*args)
    for expression, got in zip(expressions, map(np.asarray, found), strict=True):
        want = in_numpy(expression, args)
        assert want is not None and (got.dtype, got.shape) == (want.dtype, want.shape), expression
        bad = differing(got, want) & ~unspecified(expression, args) if want.ndim else differing(got, want)
        at = np.flatnonzero(bad)
        shown = [([a[k] for a in args], got.ravel()[k], want.ravel()[k]) for k in at[:5]]
        assert not at.size, f"{expression}: {shown}"
