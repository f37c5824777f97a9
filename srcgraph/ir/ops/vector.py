"""The vector-space ops that derivative rules are made of: literals, casts, + - * / and negation."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcgraph.ir.dims import Dim, as_dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, define, install_operators, sample
from srcgraph.ir.ops._rules import arithmetic, binary, conjugated, of_complex, unary
from srcgraph.ir.promote import ufunc
from srcgraph.ir.types import BOOL, PYTHON_TYPE, ScalarType, TensorType, is_float, is_inexact, tensor


def _const_type(*, value: Any) -> ScalarType:
    from_numpy = isinstance(value, np.generic)
    dtype = value.dtype if from_numpy else np.dtype(type(value))
    known = as_dim(int(value)) if dtype == np.int64 else None
    return ScalarType(dtype, weak=not from_numpy, value=known)


def literal(builder: Any, value: Value) -> Any:
    """The number a value is known to be when compiling, or None."""
    node = builder.definition(value)
    return node.attrs["value"] if node is not None and node.op is const else None


def _cast_type(x: TensorType, *, dtype: np.dtype, weak: bool) -> TensorType:
    if not isinstance(x, ScalarType):
        return tensor(dtype, x.shape, array=True)
    keeps = x.dtype == dtype == np.int64
    return ScalarType(dtype, weak, x.value if keeps else None)


def _cast_meaning(x: Any, *, dtype: np.dtype, weak: bool) -> Any:
    with np.errstate(all="ignore"):
        out = np.asarray(x).astype(dtype)
    if isinstance(x, np.ndarray):
        return out
    return PYTHON_TYPE[dtype](out[()]) if weak else out[()]


def _simpler_cast(builder: Any, inputs: tuple[Value, ...], attrs: dict[str, Any]) -> Value | None:
    (x,) = inputs
    dtype, weak = attrs["dtype"], attrs["weak"]
    if x.type.dtype == dtype and getattr(x.type, "weak", False) == weak:
        return x
    number = literal(builder, x)
    if number is not None:
        return builder.const(_cast_meaning(number, dtype=dtype, weak=weak))
    if x.type.dtype.kind == "c" and dtype.kind != "c":  # numba has no such cast
        made = builder.cast(OPS["not_equal"](x, 0) if dtype.kind == "b" else OPS["real"](x), dtype, weak)
        return OPS["full"](made) if made.type.shape == x.type.shape and type(made.type) is not type(x.type) else made
    node = builder.definition(x)
    if node is not None and node.op is cast and x.type.dtype == dtype:
        return builder.cast(node.inputs[0], dtype, weak)
    return None


def _cast_back(ct: Value, out: Value, x: Value, **attrs: Any) -> tuple[Value | None]:
    if not is_inexact(x.type):
        return (None,)
    ct = OPS["real"](ct) if is_float(x.type) else ct
    return (cast(ct, dtype=x.type.dtype, weak=getattr(x.type, "weak", False)),)


def _cast_tangent(tangents: Any, out: Value, x: Value, **attrs: Any) -> Value | None:
    return None if tangents[0] is None or not is_inexact(out.type) else cast(tangents[0], **attrs)


const = define(
    name="const",
    doc="A number known when compiling; Python's own numbers are weak in promotion.",
    infer=_const_type,
    numpy=lambda *, value: value,
    kind="structural",
)


def _cast_bounds(out: Value, x: Value) -> list[Dim]:
    """A truth, or an unsigned integer, is not negative as an integer, and no larger than its bits allow."""
    found, kind = getattr(out.type, "value", None), x.type.dtype
    if found is None or not (kind.kind == "b" or (kind.kind == "u" and kind.itemsize < 8)):
        return []
    return [found, (1 if kind.kind == "b" else 2 ** (8 * kind.itemsize) - 1) - found]


cast = define(
    name="cast",
    doc="``x`` as another dtype; for scalars ``weak`` makes it a Python number.",
    infer=_cast_type,
    numpy=_cast_meaning,
    kind="elementwise",
    jvp=_cast_tangent,
    vjp=_cast_back,
    simplify=_simpler_cast,
    learn=_cast_bounds,
    linear=True,
    through_complex=True,
    samples=(
        sample("f64[3]", dtype=np.dtype("f4"), weak=False),
        sample("f32", dtype=np.dtype("f8"), weak=True),
    ),
)


def _is(builder: Any, x: Value, number: float) -> bool:
    found = literal(builder, x)
    return found is not None and found == number


def _kept(builder: Any, x: Value, other: Value) -> Value | None:
    """``x`` as the result of an op of ``x`` and ``other`` that does not change it, if it has the dtype for it."""
    if x.type.ndim < other.type.ndim or x.type.dtype != other.type.dtype:
        return None
    weaker = isinstance(x.type, ScalarType) and x.type.weak and not getattr(other.type, "weak", False)
    return builder.cast(x, x.type.dtype, False) if weaker else x


def _negated(builder: Any, x: Value) -> Value | None:
    node = builder.definition(x)
    return node.inputs[0] if node is not None and node.op is neg else None


def _simpler_add(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    x, y = inputs
    if x.type.dtype.kind in "iu":
        if _is(builder, y, 0):
            return _kept(builder, x, y)
        if _is(builder, x, 0):
            return _kept(builder, y, x)
    if x is y and x.type.dtype.kind == "f":
        return builder.call(mul, (2.0, x))
    inner = _negated(builder, y)
    if inner is not None:
        return builder.call(sub, (x, inner))
    inner = _negated(builder, x)
    return None if inner is None else builder.call(sub, (y, inner))


def _simpler_sub(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    x, y = inputs
    if _is(builder, y, 0) and not any(np.signbit([np.real(zero := literal(builder, y)), np.imag(zero)])):
        return _kept(builder, x, y)
    inner = _negated(builder, y)
    if inner is not None:
        return builder.call(add, (x, inner))
    inner = _negated(builder, x)
    return None if inner is None or x.type.dtype.kind != "f" else builder.call(neg, (builder.call(add, (inner, y)),))


def _simpler_mul(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    for x, y in (inputs, inputs[::-1]):
        if _is(builder, y, 1):
            return _kept(builder, x, y)
        if _is(builder, y, -1) and x.type.dtype.kind == "f" and _kept(builder, x, y) is x:
            return builder.call(neg, (x,))
    for k, x in enumerate(inputs):
        inner = _negated(builder, x)
        if inner is not None and x.type.dtype.kind == "f":
            return builder.call(neg, (builder.call(mul, (*inputs[:k], inner, *inputs[k + 1 :])),))
    return None


def _simpler_div(builder: Any, inputs: tuple[Value, ...], attrs: Any) -> Value | None:
    x, y = inputs
    if x.type.dtype.kind == "f" and _is(builder, y, 1):
        return _kept(builder, x, y)
    inner = _negated(builder, x)
    return None if inner is None or x.type.dtype.kind != "f" else builder.call(neg, (builder.call(div, (inner, y)),))


add = binary(
    np.add,
    lambda out, x, y: (1, 1),
    lambda dtype, **attrs: "x | y" if dtype == BOOL else "x + y",
    doc="``x + y``.",
    infer=arithmetic(np.add, operator.add),
    python=(np.add, operator.add),
    simplify=_simpler_add,
    commutative=True,
    linear=True,
    grows=True,
    through_complex=True,
    samples=(sample("f64[3, 4]", "f64[4]"), sample("float", "f64[3]"), sample("f32[2]", "i32[2]")),
)
sub = binary(
    np.subtract,
    lambda out, x, y: (1, -1),
    "x - y",
    doc="``x - y``.",
    name="sub",
    infer=arithmetic(np.subtract, operator.sub),
    python=(np.subtract, operator.sub),
    simplify=_simpler_sub,
    linear=True,
    grows=True,
    through_complex=True,
    samples=(sample("f64[3, 1]", "f64[4]"), sample("float", "float")),
)
mul = binary(
    np.multiply,
    lambda out, x, y: (y, x),
    lambda dtype, **attrs: "x & y" if dtype == BOOL else "x * y",
    doc="``x * y``.",
    name="mul",
    infer=arithmetic(np.multiply, operator.mul),
    python=(np.multiply, operator.mul),
    simplify=_simpler_mul,
    commutative=True,
    grows=True,
    through_complex=True,
    samples=(sample("f64[3, 4]", "f64[3, 1]"), sample("float", "f32[3]")),
)
neg = unary(
    np.negative,
    lambda out, x: -1,
    "-x",
    doc="``-x``.",
    name="neg",
    infer=arithmetic(np.negative, lambda x: -x),
    grows=True,
    python=(np.negative, operator.neg),
    simplify=lambda builder, inputs, attrs: _negated(builder, inputs[0]),
    linear=True,
    through_complex=True,
    samples=(sample("f64[3]"), sample("f32")),
)


def _div_jvp(tangents: Any, out: Value, x: Value, y: Value) -> Value | None:
    tx, ty = tangents
    top = tx if ty is None else -(out * ty) if tx is None else tx - out * ty
    return None if top is None else top / y


def _div_vjp(ct: Value, out: Value, x: Value, y: Value) -> tuple[Value | None, ...]:
    share = ct / conjugated(y)
    return (share if is_inexact(x.type) else None, -(share * conjugated(out)) if is_inexact(y.type) else None)


div = define(
    name="div",
    doc="True division ``x / y``; Python's check for zero is a node of its own.",
    infer=ufunc(np.true_divide),
    numpy=np.true_divide,
    python=(np.true_divide, operator.truediv),
    jvp=_div_jvp,
    vjp=_div_vjp,
    emit={"cpu": of_complex("x / y", "complex_divide(x, y)")},
    helpers="ufuncs",
    simplify=_simpler_div,
    through_complex=True,
    samples=(sample("f64[3, 4]", "f64[4]", domain=(0.5, 2.0)), sample("int", "float", domain=(1, 3))),
    singular=True,
)

python_divide = define(
    name="python_divide",
    doc="``x / y`` of Python's complex numbers, which is rounded in another place than NumPy's.",
    infer=ufunc(np.true_divide),
    numpy=lambda x, y: complex(x) / complex(y) if y else np.true_divide(x, y),
    jvp=_div_jvp,
    vjp=_div_vjp,
    emit={"cpu": "python_divide(x, y)"},
    helpers="ufuncs",
    through_complex=True,
    samples=(sample("complex", "complex"),),
)

install_operators({"add": add, "sub": sub, "mul": mul, "div": div, "neg": neg})
