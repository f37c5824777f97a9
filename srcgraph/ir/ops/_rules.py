"""What op records share: derivative rules made from partials, and short ways to write common kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, NoDerivative, Op, current_builder, define
from srcgraph.ir.promote import Elementwise, resolve, ufunc
from srcgraph.ir.types import BOOL, INT, PY_INT, TensorType, is_complex, is_inexact

Partials = Callable[..., Sequence[Any]]


def from_partials(partials: Partials) -> dict[str, Any]:
    """Write both derivative rules from one formula.

    ``partials(out, *inputs)`` gives one factor per input: a value, a number, None for zero, or
    `NoDerivative` where the derivative with respect to this input is refused.
    """

    def jvp(tangents: Sequence[Value | None], out: Value, *inputs: Value, **attrs: Any) -> Value | None:
        factors = partials(out, *inputs, **attrs)
        for t, p in zip(tangents, factors, strict=True):
            if t is not None and isinstance(p, NoDerivative):
                raise DerivativeError(Problem(p.why, current_builder().origin.loc))
        terms = [times(t, p) for t, p in zip(tangents, factors, strict=True) if t is not None and p is not None]
        return total(terms)

    def vjp(ct: Value, out: Value, *inputs: Value, **attrs: Any) -> tuple[Value | NoDerivative | None, ...]:
        factors = merged_partials(inputs, partials(out, *inputs, **attrs))
        return tuple(
            p if isinstance(p, NoDerivative) else back(ct, p) if p is not None and is_inexact(v.type) else None
            for p, v in zip(factors, inputs, strict=True)
        )

    return {"jvp": jvp, "vjp": vjp}


def merged_partials(inputs: Sequence[Value], factors: Sequence[Any]) -> Sequence[Any]:
    """One factor for an operand given twice: ``x * x`` has the partial ``2 * x``."""
    if len(inputs) != 2 or inputs[0] is not inputs[1] or None in factors:
        return factors
    if any(isinstance(f, NoDerivative) for f in factors):
        return factors
    x, y = factors
    return (OPS["add"](x, y) if isinstance(x, Value) or isinstance(y, Value) else x + y), None


def times(x: Value, factor: Value | float) -> Value:
    """``x * factor``, plain where the factor is 1 or -1; literals come first, as people write them."""
    if isinstance(factor, Value):
        node = current_builder().definition(factor)
        literal = node is not None and node.op.name == "const"
        return OPS["mul"](factor, x) if literal else OPS["mul"](x, factor)
    if factor == 1:
        return x
    return -x if factor == -1 else OPS["mul"](factor, x)


def conjugated(x: Value) -> Value:
    """The complex conjugate; a real number as it is."""
    return OPS["conjugate"](x) if is_complex(x.type) else x


def back(ct: Value, factor: Value | float) -> Value:
    """``ct`` times a partial derivative, its conjugate where it is complex."""
    return times(ct, conjugated(factor) if isinstance(factor, Value) else factor)


def total(terms: Sequence[Value]) -> Value | None:
    """The sum of ``terms``, None if there are none."""
    if not terms:
        return None
    out = terms[0]
    for term in terms[1:]:
        out = OPS["add"](out, term)
    return out


def linear(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The jvp of an op that is linear in its first operand only: the op itself on the tangent."""

    def jvp(tangents: Sequence[Value | None], out: Value, *inputs: Value, **attrs: Any) -> Value | None:
        return None if tangents[0] is None else rule(tangents[0], *inputs[1:], **attrs)

    return jvp


def arithmetic(function: np.ufunc, exact: Callable[..., Dim] | None = None) -> Elementwise:
    """A ufunc's rule with Python's meaning of ``True + True``: Python bools count as integers.

    ``exact`` computes what an integer result equals from what its operands equal.
    """

    def loop(types: Sequence[TensorType]):
        if all(getattr(t, "weak", False) and t.dtype == BOOL for t in types):
            return (INT,) * function.nin, resolve(function, [PY_INT] * function.nin)[1]
        return resolve(function, types)

    return Elementwise(loop, exact)


def of_complex(plain: str, other: str) -> Callable[..., str]:
    """How an op is spelled, where complex numbers need another text than real ones."""
    return lambda dtype, **attrs: other if dtype.kind == "c" else plain


def unary(
    function: np.ufunc,
    partial: Callable[[Value, Value], Any] | None,
    emit: str | Callable[..., str],
    *,
    doc: str,
    **fields: Any,
) -> Op:
    """An elementwise function of one operand, named as in NumPy.

    ``partial(out, x)`` is its derivative; None means zero everywhere.
    """
    rules = from_partials(lambda out, x: (partial(out, x),)) if partial else {}
    if "D->D" in function.types and isinstance(emit, str) and emit.startswith("np."):
        emit, fields["helpers"] = of_complex(emit, f"complex_{function.__name__}(x)"), "ufuncs"
    fields.setdefault("name", function.__name__)
    fields.setdefault("infer", ufunc(function))
    fields.setdefault("python", (function,))
    fields.setdefault("numpy", function)
    return define(doc=doc, emit={"cpu": emit}, **(rules | fields))


def binary(
    function: np.ufunc, partials: Partials | None, emit: str | Callable[..., str], *, doc: str, **fields: Any
) -> Op:
    """An elementwise function of two operands, named as in NumPy unless ``name`` is given."""
    rules = from_partials(partials) if partials else {}
    fields.setdefault("name", function.__name__)
    fields.setdefault("infer", ufunc(function))
    fields.setdefault("python", (function,))
    fields.setdefault("numpy", function)
    return define(doc=doc, emit={"cpu": emit}, **(rules | fields))
