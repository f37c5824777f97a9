"""Draws from a generator: ops that run in order, once each, and are neither merged, moved nor repeated.

The first operand is a generator, an integer as in `srcgraph.ir.bitgen`; then come the distribution's
parameters, then the lengths of the result if it is an array. What NumPy makes of a standard draw by
arithmetic (``loc + scale * z``) is arithmetic here, in `generators`; the derivative goes through it, and
the draw itself is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcgraph.ir import bitgen
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, ZERO, NoDerivative, Op, define
from srcgraph.ir.ops._rules import from_partials
from srcgraph.ir.ops.shape import sizes
from srcgraph.ir.types import BOOL, DTYPE_OF, INT, WEAK_DTYPE, ArrayType, ScalarType, Type

_WEAK = {"f": WEAK_DTYPE["float"], "i": WEAK_DTYPE["int"]}


@dataclass(frozen=True)
class Distribution:
    """A C function of NumPy that draws a number.

    Attributes
    ----------
    name : str
        The op's.
    symbol, params, result : str, tuple of str, str
        The C function, and the types of its parameters and of what it gives.
    partials : callable or None
        The derivative of what was drawn with respect to the parameters, see `from_partials`.
    """

    name: str
    symbol: str
    params: tuple[str, ...] = ()
    result: str = "f64"
    partials: Callable[..., Sequence[Any]] | None = None

    def drawn(self, rng: int, *rest: Any, array: bool) -> Any:
        """The meaning: draw one number, or an array's in C order."""
        draw = bitgen.function(self.symbol, self.result, self.params)
        params, shape = rest[: len(self.params)], rest[len(self.params) :]
        if not array:
            return draw(rng, *params)
        out = np.empty(shape, DTYPE_OF[self.result])
        lines = [np.broadcast_to(p, shape).ravel().tolist() for p in params]
        out.reshape(-1)[:] = [draw(rng, *(x[k] for x in lines)) for k in range(out.size)]
        return out

    def type(self, rng: Type, *rest: Any, array: bool) -> Type:
        dtype = DTYPE_OF[self.result]
        return ArrayType(dtype, sizes(rest[len(self.params) :])) if array else ScalarType(_WEAK[dtype.kind], weak=True)


def _power_of_draw(log: str) -> Callable[..., Sequence[Any]]:
    """``out = x ** (1 / a)``, of which ``log`` is known: the derivative with respect to ``a``."""
    return lambda out, rng, a, *dims, array: (None, -(out * OPS[log](out) / a), *(None for _ in dims))


def _pareto(out: Value, rng: Value, a: Value, *dims: Value, array: bool) -> Sequence[Any]:
    """``1 + out = exp(e / a)`` for a standard exponential ``e``."""
    return None, -((1.0 + out) * OPS["log1p"](out) / a), *(None for _ in dims)


F, FF, FFF = ("f64",), ("f64",) * 2, ("f64",) * 3
DISTRIBUTIONS = (
    Distribution("draw_uniform", "random_standard_uniform"),
    Distribution("draw_uniform_f32", "random_standard_uniform_f", (), "f32"),
    Distribution("draw_standard_normal", "random_standard_normal"),
    Distribution("draw_standard_normal_f32", "random_standard_normal_f", (), "f32"),
    Distribution("draw_standard_exponential", "random_standard_exponential"),
    Distribution("draw_standard_exponential_f32", "random_standard_exponential_f", (), "f32"),
    Distribution("draw_standard_cauchy", "random_standard_cauchy"),
    Distribution("draw_standard_gamma", "random_standard_gamma", F),
    Distribution("draw_laplace", "random_laplace", FF),
    Distribution("draw_gumbel", "random_gumbel", FF),
    Distribution("draw_logistic", "random_logistic", FF),
    Distribution("draw_weibull", "random_weibull", F, partials=_power_of_draw("log")),
    Distribution("draw_power", "random_power", F, partials=_power_of_draw("log")),
    Distribution("draw_pareto", "random_pareto", F, partials=_pareto),
    Distribution("draw_beta", "random_beta", FF),
    Distribution("draw_chisquare", "random_chisquare", F),
    Distribution("draw_noncentral_chisquare", "random_noncentral_chisquare", FF),
    Distribution("draw_f", "random_f", FF),
    Distribution("draw_noncentral_f", "random_noncentral_f", FFF),
    Distribution("draw_standard_t", "random_standard_t", F),
    Distribution("draw_vonmises", "random_vonmises", FF),
    Distribution("draw_wald", "random_wald", FF),
    Distribution("draw_triangular", "random_triangular", FFF),
    Distribution("draw_poisson", "random_poisson", F, "i64"),
    Distribution("draw_geometric", "random_geometric", F, "i64"),
    Distribution("draw_logseries", "random_logseries", F, "i64"),
    Distribution("draw_zipf", "random_zipf", F, "i64"),
    Distribution("draw_negative_binomial", "random_negative_binomial", FF, "i64"),
    Distribution("draw_hypergeometric", "random_hypergeometric", ("i64",) * 3, "i64"),
)
_SHAPE = "what is drawn is not differentiated by this parameter, only by loc and scale"


def _draw_op(d: Distribution) -> Op:
    none = NoDerivative(_SHAPE) if d.params and d.result == "f64" else ZERO
    rules = {"jvp": none, "vjp": none} if d.partials is None else from_partials(d.partials)
    return define(
        name=d.name,
        doc=f"Draw a number, or an array, by NumPy's ``{d.symbol}``.",
        infer=d.type,
        numpy=d.drawn,
        kind="draw",
        fresh=True,
        heavy=True,
        emit={"cpu": d.name, "cpu_array": f"{d.name}_array"},
        helpers="random",
        **rules,
    )


for _d in DISTRIBUTIONS:
    _draw_op(_d)

# -- integers ---------------------------------------------------------------------------------------


class Binomial(Distribution):
    """NumPy's function takes the parameters the other way round, and room for what it prepares."""

    def drawn(self, rng: int, *rest: Any, array: bool) -> Any:
        draw = bitgen.function(self.symbol, "i64", ("f64", "i64", "ptr"))
        (n, p), shape = rest[:2], rest[2:]

        def one(n: float, p: float) -> int:
            return draw(rng, p, int(n), bitgen.room())

        if not array:
            return one(n, p)
        out = np.empty(shape, np.int64)
        lines = [np.broadcast_to(v, shape).ravel() for v in (n, p)]
        out.reshape(-1)[:] = [one(*pair) for pair in zip(*lines, strict=True)]
        return out


_draw_op(Binomial("draw_binomial", "random_binomial", FF, "i64"))


def _integers_type(rng: Type, low: Type, last: Type, *dims: ScalarType, array: bool) -> Type:
    return ArrayType(INT, sizes(dims)) if array else ScalarType(INT)


def _bounded(rng: int, low: int, last: int) -> int:
    draw = bitgen.function("random_bounded_uint64", "u64", ("u64", "u64", "u64", "b1"))
    return int(np.uint64(draw(rng, int(low) % 2**64, (int(last) - int(low)) % 2**64, 0, False)).astype(np.int64))


def _integers(rng: int, low: Any, last: Any, *shape: int, array: bool) -> Any:
    if not array:
        return np.int64(_bounded(rng, low, last))
    out = np.empty(shape, np.int64)
    pairs = zip(*(np.broadcast_to(x, shape).ravel() for x in (low, last)), strict=True)
    out.reshape(-1)[:] = [_bounded(rng, a, b) for a, b in pairs]
    return out


def _order(rng: int, n: int, draws: bool) -> np.ndarray:
    draw = bitgen.function("random_interval", "u64", ("u64",))
    out = np.arange(n)
    for i in range(n - 1, 0, -1) if draws else ():
        j = draw(rng, i)
        out[[i, j]] = out[[j, i]]
    return out


def _some_of(rng: int, n: int, count: int, in_any_order: bool) -> np.ndarray:
    def swapped(x: np.ndarray, first: int) -> np.ndarray:
        for i in range(len(x) - 1, first - 1, -1):
            j = _bounded(rng, 0, i)
            x[[i, j]] = x[[j, i]]
        return x

    if n > 10000 and count > n // (50 if in_any_order else 20):
        return swapped(np.arange(n), max(n - count, 1))[n - count :]
    out: list[int] = []
    for j in range(n - count, n):
        found = _bounded(rng, 0, j)
        out.append(j if found in out else found)
    return swapped(np.array(out, np.int64), 1 if in_any_order else count)


draw_integer = define(
    name="draw_integer",
    doc="Draw an integer from ``low`` to ``last``, or an array of them.",
    infer=_integers_type,
    numpy=_integers,
    kind="draw",
    fresh=True,
    heavy=True,
    emit={"cpu": "draw_integer", "cpu_array": "draw_integer_array"},
    helpers="random",
)


SMALL = tuple(DTYPE_OF[name] for name in ("b1", "i8", "i16", "i32", "u8", "u16", "u32"))


def filling(dtype: np.dtype) -> str:
    """NumPy's C function that fills an array with integers of fewer than 64 bits."""
    return f"random_bounded_{'bool' if dtype == BOOL else f'uint{8 * dtype.itemsize}'}_fill"


def _small_op(dtype: np.dtype) -> Op:
    def meaning(rng: int, low: int, last: int, *shape: int, array: bool) -> Any:
        fill = bitgen.function(filling(dtype), "void", ("u32", "u32", "i64", "b1", "ptr"))
        out = np.empty(shape if array else 1, dtype)
        if out.size:
            wrap = 2 ** (8 * dtype.itemsize)
            fill(rng, int(low) % wrap, (int(last) - int(low)) % wrap, out.size, False, out.ctypes.data)
        return out if array else out[0]

    return define(
        name=f"draw_{dtype}",
        doc=f"Draw an integer from ``low`` to ``last`` as {dtype}, or an array of them.",
        infer=lambda rng, low, last, *dims, array: ArrayType(dtype, sizes(dims)) if array else ScalarType(dtype),
        numpy=meaning,
        kind="draw",
        fresh=True,
        heavy=True,
        emit={"cpu": f"draw_{dtype}", "cpu_array": f"draw_{dtype}_array"},
        helpers="random",
    )


for _t in SMALL:
    _small_op(_t)
draw_order = define(
    name="draw_order",
    doc="The integers below ``n`` in random order; in order where ``draws`` is false.",
    infer=lambda rng, n, draws: ArrayType(INT, (n.value,)),
    numpy=_order,
    kind="draw",
    fresh=True,
    heavy=True,
    emit={"cpu": "draw_order"},
    helpers="random",
)
draw_some_of = define(
    name="draw_some_of",
    doc="``count`` different integers below ``n``, drawn.",
    infer=lambda rng, n, count, in_any_order: ArrayType(INT, (count.value,)),
    numpy=_some_of,
    kind="draw",
    fresh=True,
    heavy=True,
    emit={"cpu": "draw_some_of"},
    helpers="random",
)
