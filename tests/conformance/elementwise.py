"""Elementwise ops by the names of their scalar ops.

Operands are cast to the dtype of the result first, where the recorded promotion is not NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.writing import Use, dtype_of, ndim_of


def of_result(text: str) -> Callable[[Use], Any]:
    """An expression of operands that have the dtype of the result."""
    return lambda use: use(text, *use.cast_all())


def of_operands(text: str) -> Callable[[Use], Any]:
    """An expression of operands that have the dtype they promote to."""
    return lambda use: use(text, *use.cast_all(np.result_type(*map(dtype_of, use.inputs))))


def of_any(text: str) -> Callable[[Use], Any]:
    """An expression of operands as they are."""
    return lambda use: use.cast(use(text), use.dtype)


def chain(sign: str) -> Callable[[Use], Any]:
    """An operator between any number of operands."""

    def built(use: Use) -> Any:
        out, *others = use.cast_all()
        for x in others:
            out = use(f"{{0}} {sign} {{1}}", out, x)
        return out

    return built


def chosen(use: Use) -> Any:
    condition, *branches = use.inputs
    return use("np.where({0}, {1}, {2})", use.cast(condition, bool), *(use.cast(b, use.dtype) for b in branches))


def second(use: Use) -> Any:
    x, y = use.inputs[0], use.cast(use.inputs[1], use.dtype)
    if ndim_of(x) == ndim_of(y) == 0:
        return y
    return use("np.broadcast_arrays({0}, {1})[1]", x, y)


def clipped(use: Use) -> Any:
    return use("np.minimum(np.maximum({0}, {1}), {2})", *use.cast_all())


def logaddexp(use: Use) -> Any:
    out, *others = use.cast_all()
    for x in others:
        out = use("np.logaddexp({0}, {1})", out, x)
    return out


SCALAR_OPS: dict[str, Callable[[Use], Any]] = {
    "Add": chain("+"),
    "Mul": chain("*"),
    "Sub": chain("-"),
    "AND": chain("&"),
    "OR": chain("|"),
    "XOR": chain("^"),
    "TrueDiv": of_result("{0} / {1}"),
    "IntDiv": of_result("{0} // {1}"),
    "Mod": of_result("{0} % {1}"),
    "Pow": of_result("{0} ** {1}"),
    "Maximum": of_result("np.maximum({0}, {1})"),
    "Minimum": of_result("np.minimum({0}, {1})"),
    "ArcTan2": of_result("np.arctan2({0}, {1})"),
    "Clip": clipped,
    "Switch": chosen,
    "Second": second,
    "Cast": lambda use: use.cast(use.inputs[0], use.dtype),
    "Identity": lambda use: use.inputs[0],
    "Complex": of_any("{0} + 1j * {1}"),
    "Abs": of_any("np.abs({0})"),
    "Sqr": of_result("{0} * {0}"),
    "Reciprocal": of_result("1 / {0}"),
    "Neg": of_result("-{0}"),
    "Invert": of_result("~{0}"),
    "RoundHalfToEven": of_result("np.rint({0})"),
    "RoundHalfAwayFromZero": of_result("np.sign({0}) * np.floor(np.abs({0}) + 0.5)"),
    "Log1mexp": of_result("np.log1p(-np.exp({0}))"),
    "Softplus": of_result("np.logaddexp({0}, 0.0)"),
    "Sigmoid": of_result("special.expit({0})"),
    "Psi": of_result("special.digamma({0})"),
    "TriGamma": of_result("special.polygamma(1, {0})"),
    "PolyGamma": lambda use: use("special.polygamma({0}, {1})"),
    "GammaLn": of_result("special.gammaln({0})"),
    "Imag": of_any("np.imag({0})"),
    "Conj": of_any("np.conj({0})"),
    "IsInf": of_any("np.isinf({0})"),
    "IsNan": of_any("np.isnan({0})"),
    "EQ": of_operands("{0} == {1}"),
    "NEQ": of_operands("{0} != {1}"),
    "LT": of_operands("{0} < {1}"),
    "LE": of_operands("{0} <= {1}"),
    "GT": of_operands("{0} > {1}"),
    "GE": of_operands("{0} >= {1}"),
}
"""What each is of numbers."""

NAMES = {
    "Exp": "exp", "Exp2": "exp2", "Expm1": "expm1", "Log": "log", "Log1p": "log1p", "Log2": "log2", "Log10": "log10",
    "Sin": "sin", "Cos": "cos", "Tan": "tan", "ArcSin": "arcsin", "ArcCos": "arccos", "ArcTan": "arctan",
    "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh", "ArcSinh": "arcsinh", "ArcCosh": "arccosh", "ArcTanh": "arctanh",
    "Sqrt": "sqrt", "Floor": "floor", "Ceil": "ceil", "Trunc": "trunc", "Sign": "sign",
}  # fmt: skip
SCALAR_OPS |= {name: of_result(f"np.{function}({{0}})") for name, function in NAMES.items()}

BUILDERS = {f"Elemwise {name}": build for name, build in SCALAR_OPS.items()}
BUILDERS |= {
    "Second": second,
    "Neg": SCALAR_OPS["Neg"],
    "XLogY": of_result("special.xlogy({0}, {1})"),
    "XLog1PY": of_result("special.xlog1py({0}, {1})"),
    "LogAddExp": logaddexp,
}
