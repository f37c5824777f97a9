"""Parts of complex numbers, and how derivatives pass through these.

A derivative is one of a real number with respect to real numbers; on the way there may be complex ones. The tangent
of ``z = x + iy`` is ``tx + i ty``, its cotangent ``ct_x + i ct_y``: the inner product is ``Re(conj(ct) t)``. So where
the derivative of an op is a factor ``p``, as it is for analytic functions, the rules are ``t -> p t`` and
``ct -> conj(p) ct``; real and imaginary part, conjugate and absolute value are linear over real numbers only, and have
rules of their own. Ops whose rules hold for complex operands say so by ``through_complex``.

References
----------
Giles, An extended collection of matrix derivative results, 2008, section 2.3; Kreutz-Delgado, The complex gradient
operator and the CR-calculus, 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op, composite, current_builder, define, sample
from srcgraph.ir.ops._rules import linear
from srcgraph.ir.ops.compare import equal, not_equal
from srcgraph.ir.ops.powers import arctan2
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.ops.vector import mul
from srcgraph.ir.promote import Elementwise, Loop, ufunc
from srcgraph.ir.types import TensorType

_PART = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
_ANY = (sample("c128[3]"), sample("c64[2]"))


def _part(types: Sequence[TensorType]) -> Loop:
    dtype = types[0].dtype
    return (dtype,), _PART.get(dtype, dtype)


def _itself(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    return inputs[0] if inputs[0].type.dtype.kind != "c" else None


def _as_complex(ct: Value, x: Value) -> Value:
    """A cotangent as that of a complex number."""
    return current_builder().cast(ct, x.type.dtype, getattr(x.type, "weak", False))


def _linear_part(name: str, doc: str, emit: str, **fields: Any) -> Op:
    """An op that is linear in real and imaginary part."""
    return define(
        name=name, doc=doc, emit={"cpu": emit}, jvp=linear(lambda tx: OPS[name](tx)), linear=True,
        through_complex=True, samples=_ANY, **fields,
    )  # fmt: skip


real = _linear_part(
    "real", "Real part.", "x.real", infer=Elementwise(_part), numpy=np.real, simplify=_itself,
    vjp=lambda ct, out, x: (_as_complex(ct, x),),
)  # fmt: skip
imag_of_complex = _linear_part(
    "imag", "Imaginary part of a complex number.", "x.imag", infer=Elementwise(_part), numpy=np.imag,
    vjp=lambda ct, out, x: (mul(_as_complex(ct, x), x.type.dtype.type(1j)),),
)  # fmt: skip
conjugate = _linear_part(
    "conjugate", "Complex conjugate.", "np.conj(x)", infer=ufunc(np.conjugate), numpy=np.conjugate,
    python=(np.conjugate,), simplify=_itself, vjp=lambda ct, out, x: (conjugate(ct),),
)  # fmt: skip


def _joined(x: np.ndarray, y: np.ndarray) -> Any:
    out = np.empty(x.shape, np.result_type(x.dtype, np.complex64))
    out.real, out.imag = x, y
    return out[()]


def _of_tangents(tangents: Sequence[Value | None], out: Value, x: Value, y: Value) -> Value:
    return of_parts(*(zeros_of(v) if t is None else t for t, v in zip(tangents, (x, y), strict=True)))


of_parts = define(
    name="of_parts",
    doc="The complex number with these parts.",
    infer=Elementwise(lambda types: (tuple(t.dtype for t in types), np.result_type(types[0].dtype, np.complex64))),
    numpy=lambda x, y: _joined(np.asarray(x), np.asarray(y)),
    emit={"cpu": "complex(x, y)"},
    jvp=_of_tangents,
    vjp=lambda ct, out, x, y: (real(ct), imag(ct)),
    linear=True,
    through_complex=True,
    samples=(sample("f64[3]", "f64[3]"), sample("f64", "f64"), sample("float", "float")),
)


def imag(x: Value) -> Value:
    """The imaginary part, 0 of a real number."""
    return part("imag", x) if x.type.dtype.kind == "c" else zeros_of(x)


def part(name: str, x: Value) -> Value:
    """The real or imaginary part of a complex number; of an array without axes one of these."""
    return current_builder().apply(OPS[name], (x,), {})


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
    """Which elements have no imaginary part; of a Python number a Python bool."""
    return equal(imag(current_builder().value(x)), 0)


@composite("iscomplex", python=np.iscomplex, samples=(sample("f64[3]"), sample("c128[3]")))
def iscomplex(x: Any) -> Value:
    """Which elements have an imaginary part, by NumPy's bools."""
    return not_equal(imag(numpy_number(x)), 0)
