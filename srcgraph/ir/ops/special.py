"""scipy.special: elementwise functions by SciPy's own code, and sums of exponentials.

References
----------
NIST Digital Library of Mathematical Functions, chapters 5 to 10, for the derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from srcgraph.errors import InferenceError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import NoDerivative, Op, composite, current_builder, define, sample
from srcgraph.ir.ops import reduce
from srcgraph.ir.ops._rules import from_partials
from srcgraph.ir.ops.compare import equal, less_equal, where
from srcgraph.ir.ops.elementwise import exp, expm1, log, log1p
from srcgraph.ir.ops.reductions import as_operand, cast_to, max_array, normalized, reduced
from srcgraph.ir.ops.remainders import absolute, held, maximum, minimum, sign
from srcgraph.ir.ops.searching import largest
from srcgraph.ir.ops.vector import add, div, mul, neg, sub
from srcgraph.ir.promote import ufunc
from srcgraph.ir.types import FLOAT

_ROOT_PI, _ROOT_2PI = math.sqrt(math.pi), math.sqrt(2.0 * math.pi)


def _special(name: str, function: Any, partials: Callable, doc: str, *samples: Any, python: Any = None) -> Op:
    operands = ", ".join("xy"[: len(samples[0].args)])
    text = f"{name}({operands})"
    return define(
        name=name,
        doc=doc,
        infer=ufunc(function),
        numpy=function,
        python=python or (function,),
        emit={"cpu": lambda dtype, **attrs: f"np.float32({text})" if dtype == np.float32 else text},
        helpers="special",
        samples=samples,
        **from_partials(partials),
    )


def _one(name: str, function: Any, partial: Callable, doc: str, *samples: Any, python: Any = None) -> Op:
    return _special(name, function, lambda out, x: (partial(out, x),), doc, *samples, python=python)


_ANY = (sample("f64[3]"), sample("f32[3]"))
_UNIT = (sample("f64[3]", domain=(0.1, 0.9)),)
_POSITIVE = (sample("f64[3]", domain=(0.3, 4.0)), sample("f32", domain=(0.3, 4.0)))
_TWO = (sample("f64[3]", "f64[3]", domain=(0.3, 3.0)),)

# -- error functions and the normal distribution ------------------------------------------------------

erfinv = _one(
    "erfinv", special.erfinv, lambda out, x: mul(0.5 * _ROOT_PI, exp(mul(out, out))), "Inverse of erf.", *_UNIT
)
erfcinv = _one(
    "erfcinv", special.erfcinv, lambda out, x: mul(-0.5 * _ROOT_PI, exp(mul(out, out))), "Inverse of erfc.", *_UNIT
)
erfcx = _one(
    "erfcx", special.erfcx, lambda out, x: sub(mul(2.0, mul(x, out)), 2.0 / _ROOT_PI), "``exp(x**2) erfc(x)``.", *_ANY
)
dawsn = _one("dawsn", special.dawsn, lambda out, x: sub(1.0, mul(2.0, mul(x, out))), "Dawson's integral.", *_ANY)
ndtr = _one(
    "ndtr",
    special.ndtr,
    lambda out, x: div(exp(mul(-0.5, mul(x, x))), _ROOT_2PI),
    "Distribution function of the standard normal.",
    *_ANY,
)
log_ndtr = _one(
    "log_ndtr",
    special.log_ndtr,
    lambda out, x: div(exp(sub(mul(-0.5, mul(x, x)), out)), _ROOT_2PI),
    "Logarithm of the distribution function of the standard normal.",
    *_ANY,
)
ndtri = _one(
    "ndtri", special.ndtri, lambda out, x: mul(_ROOT_2PI, exp(mul(0.5, mul(out, out)))), "Inverse of ndtr.", *_UNIT
)

# -- gamma and beta -----------------------------------------------------------------------------------

polygamma_of = define(
    name="polygamma",
    doc="The ``n``-th derivative of digamma.",
    infer=lambda x, *, n: x,
    numpy=lambda x, *, n: np.asarray(special.polygamma(n, x)).astype(np.asarray(x).dtype)[()],
    emit={"cpu": lambda dtype, n: f"np.float32(polygamma({n}, x))" if dtype == np.float32 else f"polygamma({n}, x)"},
    helpers="special",
    samples=(
        sample("f64[3]", domain=(0.3, 4.0), n=1),
        sample("f64[3]", domain=(0.3, 4.0), n=2),
        sample("f64[3]", domain=(-0.9, -0.1), n=3),
    ),
    jvp=lambda tangents, out, x, *, n: None if tangents[0] is None else mul(tangents[0], polygamma_of(x, n=n + 1)),
    vjp=lambda ct, out, x, *, n: (mul(ct, polygamma_of(x, n=n + 1)),),
)


def trigamma(x: Value) -> Value:
    return polygamma_of(x, n=1)


digamma = _one(
    "digamma",
    special.digamma,
    lambda out, x: trigamma(x),
    "Derivative of the logarithm of gamma.",
    *_POSITIVE,
    python=(special.digamma, special.psi),
)
gamma = _one("gamma", special.gamma, lambda out, x: mul(out, digamma(x)), "Gamma function.", *_POSITIVE)
rgamma = _one("rgamma", special.rgamma, lambda out, x: neg(mul(out, digamma(x))), "``1 / gamma(x)``.", *_POSITIVE)
gammaln = _one(
    "gammaln", special.gammaln, lambda out, x: digamma(x), "Logarithm of the absolute value of gamma.", *_POSITIVE
)


def _beta_partials(out: Value, a: Value, b: Value) -> tuple[Value, Value]:
    both = digamma(add(a, b))
    return mul(out, sub(digamma(a), both)), mul(out, sub(digamma(b), both))


def _betaln_partials(out: Value, a: Value, b: Value) -> tuple[Value, Value]:
    both = digamma(add(a, b))
    return sub(digamma(a), both), sub(digamma(b), both)


beta = _special("beta", special.beta, _beta_partials, "Beta function.", *_TWO)
betaln = _special("betaln", special.betaln, _betaln_partials, "Logarithm of the beta function.", *_TWO)


_NOT_BY_A = NoDerivative("the derivative with respect to its first argument has no closed form, and is not supported")


def _by_x_only(slope: Callable) -> Callable:
    """Partials of a function whose derivative by its first parameter is not known."""
    return lambda out, a, x: (_NOT_BY_A, slope(a, x))


def _gamma_density(a: Value, x: Value) -> Value:
    return exp(sub(sub(mul(sub(a, 1.0), log(x)), x), gammaln(a)))


_GAMMAINC = (sample("i64[3]", "f64[3]", domain=(1.0, 4.0)),)
gammainc = _special(
    "gammainc", special.gammainc, _by_x_only(_gamma_density), "Regularized lower incomplete gamma.",
    *_GAMMAINC,
)  # fmt: skip
gammaincc = _special(
    "gammaincc",
    special.gammaincc,
    _by_x_only(lambda a, x: neg(_gamma_density(a, x))),
    "Regularized upper incomplete gamma.",
    *_GAMMAINC,
)


@composite("polygamma_array", python=special.polygamma, static="n", samples=(sample(1, "f64[3]", domain=(0.3, 4.0)),))
def polygamma(n: int, x: Any) -> Value:
    """The ``n``-th derivative of digamma."""
    value = as_operand(x)
    value = value if value.type.dtype.kind == "f" else cast_to(value, FLOAT)
    if not isinstance(n, int | np.integer) or n < 0:
        raise InferenceError("polygamma: n must be an integer known when compiling, not negative")
    return polygamma_of(value, n=int(n)) if n else digamma(value)


# -- logistic -------------------------------------------------------------------------------------------


def _expit_text(dtype: np.dtype, **attrs: Any) -> str:
    text = "1.0 / (1.0 + np.exp(-x))"
    return f"np.float32({text})" if dtype == np.float32 else text


expit = define(
    name="expit",
    doc="``1 / (1 + exp(-x))``.",
    infer=ufunc(special.expit),
    numpy=special.expit,
    python=(special.expit,),
    emit={"cpu": _expit_text},
    samples=_ANY,
    **from_partials(lambda out, x: (mul(out, expit(neg(x))),)),
)
logit = _one("logit", special.logit, lambda out, x: div(1.0, mul(x, sub(1.0, x))), "``log(x / (1 - x))``.", *_UNIT)
log_expit = _one(
    "log_expit", special.log_expit, lambda out, x: expit(neg(x)), "Logarithm of expit, without overflow.", *_ANY
)


def _log1mexp(x: Any) -> Any:
    with np.errstate(all="ignore"):
        out = np.where(x > -math.log(2.0), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))
    return out.astype(np.asarray(x).dtype)[()]


log1mexp = define(
    name="log1mexp",
    doc="``log(1 - exp(x))`` for negative ``x``, without cancellation.",
    infer=ufunc(special.expit),
    numpy=_log1mexp,
    emit={"cpu": lambda dtype, **attrs: "np.float32(log1mexp(x))" if dtype == np.float32 else "log1mexp(x)"},
    helpers="special",
    samples=(sample("f64[3]", domain=(-4.0, -0.1)), sample("f32", domain=(-4.0, -0.1))),
    singular=True,
    **from_partials(lambda out, x: (div(exp(x), expm1(x)),)),
)
"""M. Maechler, "Accurately computing log(1 - exp(-|a|))", 2012: which of two formulas is accurate where."""

# -- entropy and losses -----------------------------------------------------------------------------------

xlogy = _special(
    "xlogy", special.xlogy, lambda out, x, y: (log(y), div(x, y)), "``x log(y)``, 0 for ``x == 0``.", *_TWO
)
xlog1py = _special(
    "xlog1py",
    special.xlog1py,
    lambda out, x, y: (log1p(y), div(x, add(1.0, y))),
    "``x log(1 + y)``, 0 for ``x == 0``.",
    *_TWO,
)
entr = _one("entr", special.entr, lambda out, x: sub(neg(log(x)), 1.0), "``-x log(x)``, 0 at 0.", *_POSITIVE)
rel_entr = _special(
    "rel_entr",
    special.rel_entr,
    lambda out, x, y: (add(log(div(x, y)), 1.0), neg(div(x, y))),
    "``x log(x / y)``, 0 at 0.",
    *_TWO,
)
kl_div = _special(
    "kl_div",
    special.kl_div,
    lambda out, x, y: (log(div(x, y)), sub(1.0, div(x, y))),
    "``x log(x / y) - x + y``.",
    *_TWO,
)


def _huber_partials(out: Value, delta: Value, r: Value) -> tuple[Value, Value]:
    inside = less_equal(absolute(r), delta)
    return where(inside, 0.0, sub(absolute(r), delta)), maximum(neg(delta), minimum(r, delta))


huber = _special(
    "huber", special.huber, _huber_partials, "Square near 0, absolute value beyond ``delta``.",
    sample("f64[3]", "f64[3]", domain=(0.3, 3.0)),
)  # fmt: skip

# -- Bessel -----------------------------------------------------------------------------------------------


def _over(out: Value, x: Value) -> Value:
    """``out / x``, a half at 0, for functions of order 1."""
    zero = equal(x, 0)
    return where(zero, 0.5, div(out, where(zero, 1.0, x)))


i0 = _one("i0", special.i0, lambda out, x: i1(x), "Modified Bessel function of order 0.", *_ANY, python=(special.i0,))
i1 = _one("i1", special.i1, lambda out, x: sub(i0(x), _over(out, x)), "Modified Bessel function of order 1.", *_ANY)
i0e = _one("i0e", special.i0e, lambda out, x: sub(i1e(x), mul(sign(x), out)), "``exp(-abs(x)) i0(x)``.", *_ANY)
i1e = _one(
    "i1e",
    special.i1e,
    lambda out, x: sub(i0e(x), add(mul(sign(x), out), _over(out, x))),
    "``exp(-abs(x)) i1(x)``.",
    *_ANY,
)
j0 = _one("j0", special.j0, lambda out, x: neg(j1(x)), "Bessel function of order 0.", *_ANY)
j1 = _one("j1", special.j1, lambda out, x: sub(j0(x), _over(out, x)), "Bessel function of order 1.", *_ANY)

# -- sums of exponentials -------------------------------------------------------------------------------------


def _shifted(a: Any, axis: Any, most_of: Callable) -> tuple[Value, Value, tuple[int, ...]]:
    """Floats, their maximum along axes (0 where that is infinite), and the axes."""
    b = current_builder()
    x = as_operand(a)
    if x.type.dtype.kind == "c":
        raise InferenceError("this function of complex numbers is not supported")
    x = x if x.type.dtype.kind == "f" else cast_to(x, FLOAT)
    axes = normalized(axis, x.type.ndim)
    most = most_of(x, axes, True) if axes else x
    return x, held(where(b.call_named("isfinite", most), most, x.type.dtype.type(0))), axes


_ROWS = (sample("f64[4]"), sample("f64[2, 3]", axis=1), sample("f32[3]"))


@composite(
    "logsumexp",
    python=special.logsumexp,
    static="axis keepdims",
    samples=(*_ROWS, sample("f64[2, 3]", axis=0, keepdims=True), sample("f64[3]", b="f64[3]", domain=(0.2, 1.0))),
)
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Value:
    """``log(sum(b * exp(a)))`` along axes, without overflow."""
    x, most, axes = _shifted(a, axis, largest)
    terms = exp(sub(x, most))
    if b is not None:
        terms = mul(current_builder().value(b), terms)
    out = add(log(reduced(reduce.sum_, terms, axes, True)), most)
    return out if keepdims or not axes else reduced(reduce.sum_, out, axes, False)


@composite("softmax", python=special.softmax, static="axis", samples=_ROWS)
def softmax(x: Any, axis: Any = None) -> Value:
    """Exponentials divided by their sum along axes, without overflow."""
    value, most, axes = _shifted(x, axis, max_array)
    terms = exp(sub(value, most))
    return div(terms, reduced(reduce.sum_, terms, axes, True))


@composite("log_softmax", python=special.log_softmax, static="axis", samples=_ROWS)
def log_softmax(x: Any, axis: Any = None) -> Value:
    """Logarithm of softmax."""
    value, most, axes = _shifted(x, axis, max_array)
    moved = sub(value, most)
    return sub(moved, log(reduced(reduce.sum_, exp(moved), axes, True)))
