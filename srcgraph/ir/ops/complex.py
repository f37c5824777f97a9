"""Parts of complex numbers. Of real numbers they are what they are; derivatives exist for those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.ir.graph import Value
from srcgraph.ir.op import NoDerivative, composite, current_builder, define, sample
from srcgraph.ir.ops._rules import unary
from srcgraph.ir.ops.compare import equal, not_equal
from srcgraph.ir.ops.elementwise import arctan2
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.ops.vector import mul
from srcgraph.ir.promote import Elementwise, Loop, ufunc
from srcgraph.ir.types import TensorType

_PART = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
_NO_DERIVATIVE = NoDerivative("derivatives through complex numbers are not supported")
_ANY = (sample("c128[3]"), sample("c64[2]"))


def _part(types: Sequence[TensorType]) -> Loop:
    dtype = types[0].dtype
    return (dtype,), _PART.get(dtype, dtype)


def _itself(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    return inputs[0] if inputs[0].type.dtype.kind != "c" else None


real = define(
    name="real", doc="Real part.", infer=Elementwise(_part), numpy=np.real, emit={"cpu": "x.real"},
    simplify=_itself, samples=_ANY, jvp=_NO_DERIVATIVE, vjp=_NO_DERIVATIVE,
)  # fmt: skip
imag_of_complex = define(
    name="imag", doc="Imaginary part of a complex number.", infer=Elementwise(_part), numpy=np.imag,
    emit={"cpu": "x.imag"}, samples=_ANY, jvp=_NO_DERIVATIVE, vjp=_NO_DERIVATIVE,
)  # fmt: skip
conjugate = unary(
    np.conjugate,
    lambda out, x: 1,
    "np.conj(x)",
    doc="Complex conjugate.",
    infer=ufunc(np.conjugate),
    simplify=_itself,
    samples=_ANY,
)


def conjugated(x: Value) -> Value:
    """The complex conjugate; a real number as it is."""
    return conjugate(x) if x.type.dtype.kind == "c" else x


def imag(x: Value) -> Value:
    """The imaginary part, 0 of a real number."""
    return imag_of_complex(x) if x.type.dtype.kind == "c" else zeros_of(x)


def numpy_number(x: Any) -> Value:
    """An operand as NumPy's own: Python's numbers become NumPy's."""
    b = current_builder()
    value = b.value(x)
    return b.cast(value, value.type.dtype, False) if getattr(value.type, "weak", False) else value


@composite(
    "angle", python=np.angle, static="deg", samples=(sample("c128[3]"), sample("f64[3]"), sample("c128", deg=True))
)
def angle(z: Any, deg: bool = False) -> Value:
    """Angle of a complex number in the plane; 0 or pi of a real one."""
    x = numpy_number(z)
    if x.type.dtype.kind == "c":
        out = arctan2(imag_of_complex(x), real(x))
    else:
        out = arctan2(zeros_of(x), x)
    return mul(out, 180 / np.pi) if deg else out


@composite("isreal", python=np.isreal, samples=(sample("f64[3]"), sample("c128[3]")))
def isreal(x: Any) -> Value:
    """Which elements have no imaginary part."""
    return equal(imag(numpy_number(x)), 0)


@composite("iscomplex", python=np.iscomplex, samples=(sample("f64[3]"), sample("c128[3]")))
def iscomplex(x: Any) -> Value:
    """Which elements have an imaginary part."""
    return not_equal(imag(numpy_number(x)), 0)
