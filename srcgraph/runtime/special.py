"""Special functions for generated code: SciPy's own, by pointer, so that they are as accurate as SciPy's.

Numbers are computed in double precision.

References
----------
NIST Digital Library of Mathematical Functions, section 25.11 (Hurwitz zeta, for polygamma).
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

_MODULE = "scipy.special.cython_special"


def _function(name: str, variant: str = "") -> Any:
    """SciPy's function of that name; ``variant`` picks the one of doubles where there are several."""
    symbol = f"srcgraph_special_{name}"
    llvm.add_symbol(symbol, get_cython_function_address(_MODULE, variant + name))

    @intrinsic
    def pointer(typingctx: Any, args: Any) -> Any:
        count = len(args)

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            numbers = [
                context.cast(builder, builder.extract_value(values[0], k), type, types.float64)
                for k, type in enumerate(signature.args[0])
            ]
            kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * count + [ir.IntType(32)])
            called = cgutils.get_or_insert_function(builder.module, kind, symbol)
            return builder.call(called, [*numbers, ir.Constant(ir.IntType(32), 0)])

        return types.float64(args), codegen

    @njit(error_model="numpy")
    def call(*args):
        return pointer(args)  # pyright: ignore[reportCallIssue]

    return call


erfinv = _function("erfinv", "__pyx_fuse_0")
erfcinv = _function("erfcinv")
erfcx = _function("erfcx", "__pyx_fuse_1")
dawsn = _function("dawsn", "__pyx_fuse_1")
gamma = _function("gamma", "__pyx_fuse_1")
rgamma = _function("rgamma", "__pyx_fuse_1")
gammaln = _function("gammaln")
digamma = _function("psi", "__pyx_fuse_1")
gammainc = _function("gammainc")
gammaincc = _function("gammaincc")
beta = _function("beta")
betaln = _function("betaln")
expit = _function("expit", "__pyx_fuse_0")
logit = _function("logit", "__pyx_fuse_0")
log_expit = _function("log_expit", "__pyx_fuse_0")
ndtr = _function("ndtr", "__pyx_fuse_1")
log_ndtr = _function("log_ndtr", "__pyx_fuse_1")
ndtri = _function("ndtri")
i0 = _function("i0")
i0e = _function("i0e")
i1 = _function("i1")
i1e = _function("i1e")
j0 = _function("j0")
j1 = _function("j1")
entr = _function("entr")
rel_entr = _function("rel_entr")
kl_div = _function("kl_div")
huber = _function("huber")
xlogy = _function("xlogy", "__pyx_fuse_1")
xlog1py = _function("xlog1py", "__pyx_fuse_1")

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


@njit(error_model="numpy")
def polygamma(n, x):
    """The ``n``-th derivative of digamma: ``(-1)^(n + 1) n! zeta(n + 1, x)``, by Euler and Maclaurin's formula."""
    s, sign, factor = n + 1.0, -1.0 if n % 2 == 0 else 1.0, 1.0
    for k in range(2, n + 1):
        factor *= k
    if x <= 0 and x == int(x):
        return float("inf") if n % 2 else float("nan")
    total = 0.0
    while x < 10.0 + n:
        total += x**-s
        x += 1.0
    power = x ** (-s)
    total += x * power / (s - 1.0) + 0.5 * power
    term = s * power / x
    for k in range(8):
        total += _BERNOULLI[k] * term / _FACTORIALS[k]
        term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x)
    return sign * factor * total


_FACTORIALS = (2.0, 24.0, 720.0, 40320.0, 3628800.0, 479001600.0, 87178291200.0, 20922789888000.0)


@njit(error_model="numpy")
def log1mexp(x):
    """``log(1 - exp(x))``: near 0 by expm1, elsewhere by log1p."""
    return np.log(-np.expm1(x)) if x > -0.6931471805599453 else np.log1p(-np.exp(x))
