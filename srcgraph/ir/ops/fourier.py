"""np.fft and scipy.fft: discrete Fourier transforms, by the library that NumPy itself calls.

Four ops transform along one axis, by `srcgraph.runtime.fourier`; everything else is made of them. NumPy multiplies by
a factor that depends on ``norm``. Where that is 1, it transforms single precision in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.fft

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import floordiv
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op, composite, current_builder, define, sample
from srcgraph.ir.ops._rules import conjugated, linear
from srcgraph.ir.ops.index import getitem, setitem, zeros_like
from srcgraph.ir.ops.reductions import as_operand
from srcgraph.ir.ops.shape import arange
from srcgraph.ir.ops.vector import div, literal
from srcgraph.ir.types import COMPLEX, FLOAT, INT, ArrayType, ScalarType
from srcgraph.ir.view import View

_COMPLEX = {np.dtype(np.float32): np.dtype(np.complex64), FLOAT: COMPLEX}
_REAL = {c: r for r, c in _COMPLEX.items()}
_SINGLE = {np.dtype(np.float32): FLOAT, np.dtype(np.complex64): COMPLEX}


def _type(dtype: Callable[[np.dtype], np.dtype], half: bool = False) -> Callable[..., ArrayType]:
    def infer(x: ArrayType, n: ScalarType, factor: ScalarType, *, axis: int) -> ArrayType:
        assert n.value is not None
        length = floordiv(n.value, 2) + 1 if half else n.value
        return ArrayType(dtype(x.dtype), (*x.shape[:axis], length, *x.shape[axis + 1 :]))

    return infer


def _meaning(function: Callable[..., Any], plain: str) -> Callable[..., Any]:
    """NumPy's function; ``plain`` is the norm by which it multiplies by nothing."""

    def transformed(x: np.ndarray, n: int, factor: Any, *, axis: int) -> np.ndarray:
        return np.ascontiguousarray(function(x, n, axis, plain)) * factor

    return transformed


def _fitted(ct: Value, x: Value, axis: int) -> Value:
    """A cotangent, filled up with zeros or cut along an axis as ``x`` was not and was."""
    b = current_builder()
    own, wanted = ct.type.shape[axis], x.type.shape[axis]
    if own == wanted:
        return ct
    count = OPS["minimum"](b.dim_value(own), b.dim_value(wanted))
    ndim = x.type.ndim
    view = View(tuple(1 if k == axis else ":" for k in range(ndim)), tuple(range(ndim)))
    return setitem(zeros_like(x), getitem(ct, 0, count, view=view), 0, count, view=view)


def _weights(x: Value, n: Value, axis: int, ends: float, others: float) -> Value:
    """A factor for each frequency of half a spectrum: one for those that are their own mirror image, one for others."""
    b = current_builder()
    k = arange(np.int64(0), np.int64(1), b.dim_value(x.type.shape[axis]))
    alone = OPS["logical_or"](OPS["equal"](k, 0), OPS["equal"](k * 2, n))
    kind = _REAL[x.type.dtype].type
    found = OPS["where"](alone, kind(ends), kind(others))
    return getitem(found, view=View((":",), (0, *(None for _ in range(axis + 1, x.type.ndim)))))


def _fft_vjp(ct: Value, out: Value, x: Value, n: Value, factor: Value, *, axis: int) -> tuple[Value | None, ...]:
    """The conjugate of a symmetric matrix is that of the transform the other way."""
    return _fitted(ifft(ct, n, factor, axis=axis), x, axis), None, None


def _ifft_vjp(ct: Value, out: Value, x: Value, n: Value, factor: Value, *, axis: int) -> tuple[Value | None, ...]:
    return _fitted(fft(ct, n, factor, axis=axis), x, axis), None, None


def _rfft_vjp(ct: Value, out: Value, x: Value, n: Value, factor: Value, *, axis: int) -> tuple[Value | None, ...]:
    """The way back counts every frequency that has a mirror image twice; here each counts once."""
    half = ct * _weights(ct, n, axis, 1.0, 0.5)
    return _fitted(irfft(half, n, factor, axis=axis), x, axis), None, None


def _irfft_vjp(ct: Value, out: Value, x: Value, n: Value, factor: Value, *, axis: int) -> tuple[Value | None, ...]:
    half = rfft(ct, n, factor, axis=axis)
    return _fitted(half * _weights(half, n, axis, 1.0, 2.0), x, axis), None, None


def _transform(
    name: str, doc: str, infer: Callable[..., ArrayType], numpy: Callable[..., Any], x: str, vjp: Callable[..., Any]
) -> Op:
    return define(
        name=name,
        doc=doc,
        infer=infer,
        numpy=numpy,
        kind="library",
        emit={"cpu": name},
        helpers="fourier",
        heavy=True,
        linear=True,
        through_complex=True,
        jvp=linear(lambda tx, n, factor, *, axis: OPS[name](tx, n, factor, axis=axis)),
        vjp=vjp,
        samples=(
            sample(f"{x}[5]", 4, np.float64(0.5), axis=0),
            sample(f"{x}[2, 3, 2]", 5, np.float64(1.0), axis=1),
        ),
    )


fft = _transform(
    "fft",
    "The Fourier transform of length ``n`` along an axis, times a factor; ``x`` is cut or filled up with zeros.",
    _type(lambda x: x),
    _meaning(np.fft.fft, "backward"),
    "c128",
    _fft_vjp,
)
ifft = _transform(
    "ifft",
    "The Fourier transform the other way, of length ``n`` along an axis, times a factor.",
    _type(lambda x: x),
    _meaning(np.fft.ifft, "forward"),
    "c128",
    _ifft_vjp,
)
rfft = _transform(
    "rfft",
    "The first half of the Fourier transform of real numbers, of length ``n`` along an axis, times a factor.",
    _type(_COMPLEX.__getitem__, half=True),
    _meaning(np.fft.rfft, "backward"),
    "f64",
    _rfft_vjp,
)
irfft = _transform(
    "irfft",
    "``n`` real numbers along an axis from the first half of their Fourier transform, times a factor.",
    _type(_REAL.__getitem__),
    _meaning(np.fft.irfft, "forward"),
    "c128",
    _irfft_vjp,
)

# -- along one axis ---------------------------------------------------------------------------------------

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_BACK = frozenset({ifft, irfft})


def _opposite(norm: Any) -> str:
    if norm not in _OPPOSITE:
        raise InferenceError(f'invalid norm value {norm!r}: should be "backward", "ortho" or "forward"')
    return _OPPOSITE[norm]


def _operand(a: Any, op: Op) -> Value:
    """What is transformed, as numbers of the kind that the op takes."""
    b = current_builder()
    x = as_operand(a)
    dtype = x.type.dtype
    if not x.type.ndim:
        raise InferenceError(f"{op.name} needs an array of at least one axis")
    if op is rfft and dtype.kind == "c":
        raise InferenceError("a transform of real numbers of complex numbers: use fft, or take x.real")
    dtype = dtype if dtype.kind in "fc" else FLOAT
    return b.cast(x, dtype if op is rfft or dtype.kind == "c" else _COMPLEX[dtype], False)


def _length(n: Any) -> Value:
    """How many points are transformed; fewer than one raise ValueError."""
    b = current_builder()
    size = b.value(n)
    if size.type.ndim or size.type.dtype.kind not in "iu":
        raise InferenceError(f"the length of a transform must be an integer, not {size.type}")
    size = b.cast(size, INT, True)
    if not b.proves(size.type.value - 1):
        message = "Invalid number of FFT data points ({}) specified."
        b.call_named("check_that", OPS["greater_equal"](size, 1), size, error="ValueError", message=message)
        b.learn(size.type.value - 1)
    return size


def _factor(n: Value, norm: Any, dtype: np.dtype) -> Value:
    """What ``norm`` multiplies a forward transform by."""
    b = current_builder()
    if _opposite(norm) == "forward":
        return b.const(dtype.type(1))
    count = b.cast(n, dtype, False)
    return div(dtype.type(1), count if norm == "forward" else OPS["sqrt"](count))


def _along(op: Op, a: Any, n: Any, axis: Any, norm: Any) -> Value:
    """A transform along one axis, as NumPy does it."""
    b = current_builder()
    x = _operand(a, op)
    at = _axis(axis, x.type.ndim)
    known = b.dim_value(x.type.shape[at])
    if op is irfft:
        _length(known)  # of nothing NumPy raises, or gives what it finds in memory
    size = _length(n if n is not None else (known - 1) * 2 if op is irfft else known)
    norm = _opposite(norm) if op in _BACK else norm
    factor = _factor(size, norm, _REAL.get(x.type.dtype, x.type.dtype))
    if literal(b, factor) != 1 or x.type.dtype not in _SINGLE:
        return op(x, size, factor, axis=at)
    out = op(b.cast(x, _SINGLE[x.type.dtype], False), size, np.float64(1), axis=at)
    return b.cast(out, next(t for t, double in _SINGLE.items() if double == out.type.dtype), False)


def _axis(axis: Any, ndim: int) -> int:
    if not isinstance(axis, int | np.integer) or not -ndim <= axis < ndim:
        raise InferenceError(f"axis {axis} is out of bounds for an array of {ndim} axes")
    return int(axis) % ndim


_ONE = (sample("f64[5]"), sample("f32[4]", 5, norm="forward"), sample("f64[2, 3]", 4, 0, "ortho"))
_COMPLEX_ONE = (sample("c128[5]"), sample("c64[4]", 5), sample("f64[2, 3]", 4, 0, "ortho"))


@composite("fft_array", python=(np.fft.fft, scipy.fft.fft), static="axis norm", samples=_ONE)
def fft_array(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Value:
    """The discrete Fourier transform along an axis."""
    return _along(fft, a, n, axis, norm)


@composite("ifft_array", python=(np.fft.ifft, scipy.fft.ifft), static="axis norm", samples=_COMPLEX_ONE)
def ifft_array(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Value:
    """What undoes `numpy.fft.fft`."""
    return _along(ifft, a, n, axis, norm)


@composite("rfft_array", python=(np.fft.rfft, scipy.fft.rfft), static="axis norm", samples=_ONE)
def rfft_array(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Value:
    """The first half of the discrete Fourier transform of real numbers."""
    return _along(rfft, a, n, axis, norm)


@composite("irfft_array", python=(np.fft.irfft, scipy.fft.irfft), static="axis norm", samples=_COMPLEX_ONE)
def irfft_array(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Value:
    """What undoes `numpy.fft.rfft`."""
    return _along(irfft, a, n, axis, norm)


@composite("hfft", python=(np.fft.hfft, scipy.fft.hfft), static="axis norm", samples=_COMPLEX_ONE)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Value:
    """The real transform of numbers of which the second half mirrors the first."""
    return _along(irfft, conjugated(as_operand(a)), n, axis, _opposite(norm))


@composite("ihfft", python=(np.fft.ihfft, scipy.fft.ihfft), static="axis norm", samples=_ONE)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Value:
    """What undoes `numpy.fft.hfft`."""
    return conjugated(_along(rfft, a, n, axis, _opposite(norm)))


# -- along several axes -----------------------------------------------------------------------------------


def _lengths_and_axes(x: Value, s: Any, axes: Any) -> list[tuple[Any, int]]:
    """A length and an axis for each transform, in NumPy's order."""
    b = current_builder()
    if s is not None and not isinstance(s, tuple):
        raise InferenceError("s must be a tuple of lengths")
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(x.type.ndim)
    elif not isinstance(axes, tuple | list):
        raise InferenceError("axes must be a tuple of axes")
    at = [_axis(k, x.type.ndim) for k in axes]
    own = [b.dim_value(x.type.shape[k]) for k in at]
    if s is None:
        return list(zip(own, at, strict=True))
    if len(s) != len(at):
        raise InferenceError("Shape and axes have different lengths")
    sizes = [b.value(n) for n in s]
    return [(o if literal(b, n) == -1 else n, k) for n, o, k in zip(sizes, own, at, strict=True)]


def _several(op: Op, a: Any, s: Any, axes: Any, norm: Any) -> Value:
    """One transform after the other, the last axis first."""
    x = as_operand(a)
    for n, axis in reversed(_lengths_and_axes(x, s, axes)):
        x = _along(op, x, n, axis, norm)
    return x


def _several_real(a: Any, s: Any, axes: Any, norm: Any) -> Value:
    """The last axis is transformed as real numbers."""
    x = as_operand(a)
    *rest, (n, axis) = _nonempty(_lengths_and_axes(x, s, axes))
    x = _along(rfft, x, n, axis, norm)
    for n, axis in reversed(rest):
        x = _along(fft, x, n, axis, norm)
    return x


def _back_to_real(a: Any, s: Any, axes: Any, norm: Any) -> Value:
    """The last axis, transformed last, becomes real numbers."""
    x = as_operand(a)
    *rest, (last, end) = _nonempty(_lengths_and_axes(x, s, axes))
    for n, axis in rest:
        x = _along(ifft, x, n, axis, norm)
    return _along(irfft, x, None if s is None else last, end, norm)


def _nonempty(given: Sequence[tuple[Any, int]]) -> Sequence[tuple[Any, int]]:
    if not given:
        raise InferenceError("at least one axis must be transformed")
    return given


_MANY = (sample("f64[2, 3]"), sample("f64[2, 3]", (4, 2), (1, 0), "ortho"), sample("f64[2, 3, 2]", axes=(0, 2)))
_TWO = (sample("f64[2, 3]"), sample("f64[2, 3, 4]", s=(2, 5), norm="forward"))
_COMPLEX_TWO = (sample("c128[2, 3]"), sample("c128[2, 3, 4]", s=(2, 5), norm="forward"))


@composite("fftn", python=(np.fft.fftn, scipy.fft.fftn), static="axes norm", samples=_MANY)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Value:
    """The discrete Fourier transform along several axes."""
    return _several(fft, a, s, axes, norm)


@composite("ifftn", python=(np.fft.ifftn, scipy.fft.ifftn), static="axes norm", samples=_MANY)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Value:
    """What undoes `numpy.fft.fftn`."""
    return _several(ifft, a, s, axes, norm)


@composite("rfftn", python=(np.fft.rfftn, scipy.fft.rfftn), static="axes norm", samples=_MANY)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Value:
    """The discrete Fourier transform of real numbers along several axes, half of it."""
    return _several_real(a, s, axes, norm)


@composite("irfftn", python=(np.fft.irfftn, scipy.fft.irfftn), static="axes norm", samples=_COMPLEX_TWO)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Value:
    """What undoes `numpy.fft.rfftn`."""
    return _back_to_real(a, s, axes, norm)


@composite("fft2", python=(np.fft.fft2, scipy.fft.fft2), static="axes norm", samples=_TWO)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Value:
    """The discrete Fourier transform along two axes."""
    return _several(fft, a, s, axes, norm)


@composite("ifft2", python=(np.fft.ifft2, scipy.fft.ifft2), static="axes norm", samples=_COMPLEX_TWO)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Value:
    """What undoes `numpy.fft.fft2`."""
    return _several(ifft, a, s, axes, norm)


@composite("rfft2", python=(np.fft.rfft2, scipy.fft.rfft2), static="axes norm", samples=_TWO)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Value:
    """The discrete Fourier transform of real numbers along two axes, half of it."""
    return _several_real(a, s, axes, norm)


@composite("irfft2", python=(np.fft.irfft2, scipy.fft.irfft2), static="axes norm", samples=_COMPLEX_TWO)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Value:
    """What undoes `numpy.fft.rfft2`."""
    return _back_to_real(a, s, axes, norm)
