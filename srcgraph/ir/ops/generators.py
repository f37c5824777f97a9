"""Methods of np.random.Generator, as NumPy computes them from draws: same numbers, same state afterwards.

Derivatives go through the arithmetic around a draw: ``loc + scale * z`` has the derivative ``z`` with
respect to ``scale``. What was drawn is a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.ir.dims import product
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Composite, Op, composite, current_builder
from srcgraph.ir.ops import random
from srcgraph.ir.ops._loops import item
from srcgraph.ir.ops.compare import isnan
from srcgraph.ir.ops.creation import known_dtype, lengths
from srcgraph.ir.ops.elementwise import exp, sqrt
from srcgraph.ir.ops.reductions import one_axis
from srcgraph.ir.ops.remainders import copysign
from srcgraph.ir.ops.searching import every, searchsorted_array
from srcgraph.ir.ops.sequences import broadcast, cumsum, take_array
from srcgraph.ir.ops.shape import dims_of, full, reshape
from srcgraph.ir.ops.sorting import gather
from srcgraph.ir.promote import broadcast_shapes
from srcgraph.ir.types import FLOAT, INT, ScalarType

Generator = np.random.Generator
F4 = np.dtype(np.float32)


def spread(size: Any, *params: Any, dtype: np.dtype = FLOAT) -> tuple[tuple[Value, ...] | None, list[Value]]:
    """The lengths of what is drawn, None for one number, and the parameters: numbers, or arrays of that shape."""
    b = current_builder()
    values = [b.value(p) for p in params]
    for value in values:
        if value.type.dtype.kind not in ("biuf" if dtype == FLOAT else "iu"):
            raise InferenceError(f"a parameter of a distribution cannot be {value.type}")
    values = [b.scalar(v) if v.type.ndim == 0 and not hasattr(v.type, "weak") else v for v in values]
    values = [b.cast(v, dtype, not v.type.ndim) for v in values]
    if size is None and not any(v.type.ndim for v in values):
        return None, values
    if size is None:
        fitted = b.broadcast(values)
        dims = tuple(map(b.dim_value, broadcast_shapes([v.type.shape for v in fitted])))
    else:
        dims = lengths(size)
    return dims, [broadcast(v, dims) if v.type.ndim else v for v in values]


def drawn(op: Op, rng: Value, dims: tuple[Value, ...] | None, *params: Value) -> Value:
    """A number, or an array where there are lengths."""
    return op(rng, *params, *(dims or ()), array=dims is not None)


def finished(x: Value, dims: tuple[Value, ...] | None) -> Value:
    """A number as the Python number that NumPy gives, or as an array where lengths are asked for, be they none."""
    if not isinstance(x.type, ScalarType):
        return x
    return full(x) if dims is not None else current_builder().cast(x, x.type.dtype, True)


# -- what NumPy asks of parameters ------------------------------------------------------------------


def require(test: Value, message: str) -> None:
    """Raise ValueError unless a test holds everywhere."""
    current_builder().call_named("check_that", every(test), error="ValueError", message=message)


def _both(x: Value, y: Value) -> Value:
    return OPS["logical_and"](x, y)


def non_negative(x: Value, name: str) -> None:
    """NaN passes, -0.0 does not."""
    fine = OPS["logical_or"](isnan(x), OPS["greater"](copysign(1.0, x), 0.0))
    require(fine, f"{name} < 0")


def positive(x: Value, name: str) -> None:
    """NaN passes."""
    require(OPS["logical_not"](OPS["less_equal"](x, 0.0)), f"{name} <= 0")


def within(low: str, high: str, message: str) -> Callable[[Value, str], None]:
    """Between 0 and 1; ``low`` and ``high`` are the comparisons. NaN does not pass."""
    return lambda x, name: require(_both(OPS[low](x, 0.0), OPS[high](x, 1.0)), message.format(name))


MOST_EVENTS = float(np.iinfo(np.int64).max - np.sqrt(np.iinfo(np.int64).max) * 10)
"""The rate at which counts of events might not fit in 64 bits."""


def poisson_rate(x: Value, name: str) -> None:
    require(OPS["greater_equal"](x, 0.0), f"{name} < 0 or {name} is NaN")
    require(OPS["less_equal"](x, MOST_EVENTS), f"{name} value too large")


def above_one(x: Value, name: str) -> None:
    require(OPS["greater"](x, 1.0), f"{name} <= 1 or {name} is NaN")


def anything(x: Value, name: str) -> None:
    pass


probability = within("greater_equal", "less_equal", "{0} < 0, {0} > 1 or {0} is NaN")
chance = within("greater", "less_equal", "{0} <= 0, {0} > 1 or {0} contains NaNs")
below_one = within("greater_equal", "less", "{0} < 0, {0} >= 1 or {0} is NaN")

# -- standard draws -----------------------------------------------------------------------------------


def _standard(name: str, method: Any, op: str) -> Composite:
    @composite(name, python=method, static="dtype")
    def standard(rng: Any, size: Any = None, dtype: Any = None) -> Value:
        found = known_dtype(dtype, FLOAT)
        if found not in (FLOAT, F4):
            raise InferenceError(f"random numbers are float64 or float32, not {found}")
        dims, _ = spread(size)
        out = drawn(OPS[f"draw_{op}" if found == FLOAT else f"draw_{op}_f32"], rng, dims)
        return out if dims is not None else current_builder().cast(out, FLOAT, True)

    return standard


rng_random = _standard("rng_random", Generator.random, "uniform")
rng_standard_normal = _standard("rng_standard_normal", Generator.standard_normal, "standard_normal")
rng_standard_exponential = _standard("rng_standard_exponential", Generator.standard_exponential, "standard_exponential")

# -- location and scale -------------------------------------------------------------------------------


@composite("rng_uniform", python=Generator.uniform)
def rng_uniform(rng: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Value:
    """Numbers between ``low`` and ``high``."""
    b = current_builder()
    dims, (first, last) = spread(size, low, high)
    span = last - first
    finite = every(OPS["isfinite"](span))
    b.call_named("check_that", finite, error="OverflowError", message="high - low range exceeds valid bounds")
    non_negative(span, "high - low")
    return finished(first + span * drawn(OPS["draw_uniform"], rng, dims), dims)


@composite("rng_normal", python=Generator.normal)
def rng_normal(rng: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Value:
    """Normal numbers: ``loc + scale * z``."""
    dims, (mean, by) = spread(size, loc, scale)
    non_negative(by, "scale")
    return finished(mean + by * drawn(OPS["draw_standard_normal"], rng, dims), dims)


@composite("rng_lognormal", python=Generator.lognormal)
def rng_lognormal(rng: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Value:
    """The exponential of normal numbers."""
    dims, (at, by) = spread(size, mean, sigma)
    non_negative(by, "sigma")
    return finished(exp(at + by * drawn(OPS["draw_standard_normal"], rng, dims)), dims)


@composite("rng_exponential", python=Generator.exponential)
def rng_exponential(rng: Any, scale: Any = 1.0, size: Any = None) -> Value:
    """``scale`` times standard exponential numbers."""
    dims, (by,) = spread(size, scale)
    non_negative(by, "scale")
    return finished(by * drawn(OPS["draw_standard_exponential"], rng, dims), dims)


@composite("rng_rayleigh", python=Generator.rayleigh)
def rng_rayleigh(rng: Any, scale: Any = 1.0, size: Any = None) -> Value:
    """``scale * sqrt(2 * e)`` for standard exponential numbers ``e``."""
    dims, (by,) = spread(size, scale)
    non_negative(by, "scale")
    return finished(by * sqrt(2.0 * drawn(OPS["draw_standard_exponential"], rng, dims)), dims)


@composite("rng_gamma", python=Generator.gamma)
def rng_gamma(rng: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Value:
    """``scale`` times standard gamma numbers."""
    dims, (a, by) = spread(size, shape, scale)
    non_negative(a, "shape")
    non_negative(by, "scale")
    return finished(by * drawn(OPS["draw_standard_gamma"], rng, dims, a), dims)


@composite("rng_standard_gamma", python=Generator.standard_gamma)
def rng_standard_gamma(rng: Any, shape: Any, size: Any = None) -> Value:
    """Standard gamma numbers."""
    dims, (a,) = spread(size, shape)
    non_negative(a, "shape")
    return finished(drawn(OPS["draw_standard_gamma"], rng, dims, a), dims)


def _location_scale(name: str, method: Any) -> Composite:
    @composite(f"rng_{name}", python=method)
    def located(rng: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Value:
        dims, (at, by) = spread(size, loc, scale)
        non_negative(by, "scale")
        b = current_builder()
        return finished(at + by * drawn(OPS[f"draw_{name}"], rng, dims, b.const(0.0), b.const(1.0)), dims)

    return located


rng_laplace = _location_scale("laplace", Generator.laplace)
rng_gumbel = _location_scale("gumbel", Generator.gumbel)
rng_logistic = _location_scale("logistic", Generator.logistic)

# -- other distributions ------------------------------------------------------------------------------

Checked = tuple[Any, str, Callable[[Value, str], None]]
"""A parameter, its name, and what NumPy asks of it."""


def by_numpy(op: str, rng: Any, size: Any, *given: Checked) -> Value:
    """What a C function of NumPy draws."""
    dims, params = spread(size, *(value for value, _, _ in given))
    for value, (_, name, check) in zip(params, given, strict=True):
        check(value, name)
    return finished(drawn(OPS[f"draw_{op}"], rng, dims, *params), dims)


@composite("rng_standard_cauchy", python=Generator.standard_cauchy)
def rng_standard_cauchy(rng: Any, size: Any = None) -> Value:
    """Standard Cauchy numbers."""
    return by_numpy("standard_cauchy", rng, size)


@composite("rng_beta", python=Generator.beta)
def rng_beta(rng: Any, a: Any, b: Any, size: Any = None) -> Value:
    """Beta numbers."""
    return by_numpy("beta", rng, size, (a, "a", positive), (b, "b", positive))


@composite("rng_chisquare", python=Generator.chisquare)
def rng_chisquare(rng: Any, df: Any, size: Any = None) -> Value:
    """Chi-square numbers."""
    return by_numpy("chisquare", rng, size, (df, "df", positive))


@composite("rng_noncentral_chisquare", python=Generator.noncentral_chisquare)
def rng_noncentral_chisquare(rng: Any, df: Any, nonc: Any, size: Any = None) -> Value:
    """Noncentral chi-square numbers."""
    return by_numpy("noncentral_chisquare", rng, size, (df, "df", positive), (nonc, "nonc", non_negative))


@composite("rng_f", python=Generator.f)
def rng_f(rng: Any, dfnum: Any, dfden: Any, size: Any = None) -> Value:
    """Numbers of the F distribution."""
    return by_numpy("f", rng, size, (dfnum, "dfnum", positive), (dfden, "dfden", positive))


@composite("rng_noncentral_f", python=Generator.noncentral_f)
def rng_noncentral_f(rng: Any, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Value:
    """Numbers of the noncentral F distribution."""
    return by_numpy(
        "noncentral_f", rng, size, (dfnum, "dfnum", positive), (dfden, "dfden", positive), (nonc, "nonc", non_negative)
    )


@composite("rng_standard_t", python=Generator.standard_t)
def rng_standard_t(rng: Any, df: Any, size: Any = None) -> Value:
    """Numbers of Student's t distribution."""
    return by_numpy("standard_t", rng, size, (df, "df", positive))


@composite("rng_vonmises", python=Generator.vonmises)
def rng_vonmises(rng: Any, mu: Any, kappa: Any, size: Any = None) -> Value:
    """Angles around ``mu``."""
    return by_numpy("vonmises", rng, size, (mu, "mu", anything), (kappa, "kappa", non_negative))


@composite("rng_wald", python=Generator.wald)
def rng_wald(rng: Any, mean: Any, scale: Any, size: Any = None) -> Value:
    """Inverse Gaussian numbers."""
    return by_numpy("wald", rng, size, (mean, "mean", positive), (scale, "scale", positive))


@composite("rng_pareto", python=Generator.pareto)
def rng_pareto(rng: Any, a: Any, size: Any = None) -> Value:
    """Numbers of the Lomax distribution."""
    return by_numpy("pareto", rng, size, (a, "a", positive))


@composite("rng_weibull", python=Generator.weibull)
def rng_weibull(rng: Any, a: Any, size: Any = None) -> Value:
    """Weibull numbers."""
    return by_numpy("weibull", rng, size, (a, "a", non_negative))


@composite("rng_power", python=Generator.power)
def rng_power(rng: Any, a: Any, size: Any = None) -> Value:
    """Numbers between 0 and 1 with density ``a * x**(a - 1)``."""
    return by_numpy("power", rng, size, (a, "a", positive))


@composite("rng_poisson", python=Generator.poisson)
def rng_poisson(rng: Any, lam: Any = 1.0, size: Any = None) -> Value:
    """Numbers of events at a rate."""
    return by_numpy("poisson", rng, size, (lam, "lam", poisson_rate))


@composite("rng_geometric", python=Generator.geometric)
def rng_geometric(rng: Any, p: Any, size: Any = None) -> Value:
    """Numbers of trials until a success."""
    return by_numpy("geometric", rng, size, (p, "p", chance))


@composite("rng_logseries", python=Generator.logseries)
def rng_logseries(rng: Any, p: Any, size: Any = None) -> Value:
    """Numbers of the logarithmic series distribution."""
    return by_numpy("logseries", rng, size, (p, "p", below_one))


@composite("rng_zipf", python=Generator.zipf)
def rng_zipf(rng: Any, a: Any, size: Any = None) -> Value:
    """Numbers of the Zipf distribution."""
    return by_numpy("zipf", rng, size, (a, "a", above_one))


@composite("rng_negative_binomial", python=Generator.negative_binomial)
def rng_negative_binomial(rng: Any, n: Any, p: Any, size: Any = None) -> Value:
    """Numbers of failures until ``n`` successes."""
    dims, (wins, chance_of_one) = spread(size, n, p)
    require(OPS["logical_not"](isnan(wins)), "n must not be NaN")
    positive(wins, "n")
    chance(chance_of_one, "p")
    rate = (1.0 - chance_of_one) / chance_of_one * (wins + 10.0 * sqrt(wins))
    message = "n too large or p too small, see Generator.negative_binomial Notes"
    require(OPS["less_equal"](rate, MOST_EVENTS), message)
    return finished(drawn(OPS["draw_negative_binomial"], rng, dims, wins, chance_of_one), dims)


@composite("rng_hypergeometric", python=Generator.hypergeometric)
def rng_hypergeometric(rng: Any, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Value:
    """Numbers of good ones among ``nsample`` taken of ``ngood`` and ``nbad``."""
    dims, (good, bad, taken) = spread(size, ngood, nbad, nsample, dtype=INT)
    few = _both(every(OPS["less"](good, 10**9)), every(OPS["less"](bad, 10**9)))
    require(few, "both ngood and nbad must be less than 1000000000")
    require(OPS["greater_equal"](good + bad, taken), "ngood + nbad < nsample")
    for value, name in ((good, "ngood"), (bad, "nbad"), (taken, "nsample")):
        require(OPS["greater_equal"](value, 0), f"{name} < 0")
    return finished(drawn(OPS["draw_hypergeometric"], rng, dims, good, bad, taken), dims)


@composite("rng_triangular", python=Generator.triangular)
def rng_triangular(rng: Any, left: Any, mode: Any, right: Any, size: Any = None) -> Value:
    """Numbers of the triangular distribution."""
    dims, (low, top, high) = spread(size, left, mode, right)
    for x, y, wrong, message in (
        (low, top, "greater", "left > mode"),
        (top, high, "greater", "mode > right"),
        (low, high, "equal", "left == right"),
    ):
        require(OPS["logical_not"](OPS[wrong](x, y)), message)
    return finished(drawn(OPS["draw_triangular"], rng, dims, low, top, high), dims)


@composite("rng_binomial", python=Generator.binomial)
def rng_binomial(rng: Any, n: Any, p: Any, size: Any = None) -> Value:
    """Numbers of successes among ``n`` trials."""
    b = current_builder()
    if b.value(n).type.dtype.kind not in "biu":
        raise InferenceError("binomial: n must be an integer")
    dims, (trials, chance_of_one) = spread(size, n, p)
    probability(chance_of_one, "p")
    non_negative(trials, "n")
    return finished(drawn(OPS["draw_binomial"], rng, dims, trials, chance_of_one), dims)


# -- integers, and what is made of them -----------------------------------------------------------------


@composite("rng_integers", python=Generator.integers, static="dtype endpoint")
def rng_integers(
    rng: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
) -> Value:
    """Integers from ``low`` up to ``high``."""
    b = current_builder()
    wanted = known_dtype(dtype, INT)
    if wanted.kind not in "iub":
        raise InferenceError(f"integers: the dtype must be one of integers, not {wanted}")
    if high is None:
        low, high = 0, low
    dims, (first, last) = spread(size, low, high, dtype=INT)
    if wanted.itemsize < 8:
        out = _small_integers(rng, dims, first, last if endpoint else last - 1, wanted, endpoint)
        return b.cast(out, wanted, True) if dims is None and dtype is bool else out
    fine = OPS["less_equal" if endpoint else "less"](first, last)
    not_drawn = b.const(False)
    if size is not None:  # where nothing is drawn, nothing is asked
        not_drawn = OPS["equal"](b.dim_value(product(d.type.value for d in dims or ())), 0)
        fine = OPS["logical_or"](not_drawn, fine)
    require(fine, _no_integers(first, endpoint))
    if wanted == np.uint64:
        require(OPS["logical_or"](OPS["greater_equal"](first, 0), not_drawn), "low is out of bounds for uint64")
    out = drawn(random.draw_integer, rng, dims, first, last if endpoint else last - 1)
    return b.cast(out, INT, True) if dims is None and dtype is int else b.cast(out, wanted, False)


def _no_integers(low: Value, endpoint: bool) -> str:
    """What NumPy says where no integer is between the bounds."""
    if not low.type.ndim and low.type.value == 0:
        return "high < 0" if endpoint else "high <= 0"
    return "low > high" if endpoint else "low >= high"


def _small_integers(
    rng: Any, dims: tuple[Value, ...] | None, first: Value, last: Value, dtype: np.dtype, endpoint: bool
) -> Value:
    """Integers of fewer than 64 bits: NumPy makes several of one draw."""
    b = current_builder()
    if first.type.ndim or last.type.ndim:
        raise InferenceError(f"integers: bounds that are arrays need dtype=np.int64, not {dtype}")
    least, most = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    nothing = OPS["equal"](b.dim_value(product(d.type.value for d in dims or ())), 0) if dims else b.const(False)
    for fine, message in (
        (OPS["greater_equal"](first, least), f"low is out of bounds for {dtype}"),
        (OPS["less_equal"](last, most), f"high is out of bounds for {dtype}"),
        (OPS["less_equal"](first, last), _no_integers(first, endpoint)),
    ):
        require(OPS["logical_or"](nothing, fine), message)
    return drawn(OPS[f"draw_{dtype}"], rng, dims, first, last)


@composite("rng_choice", python=Generator.choice, static="replace axis shuffle")
def rng_choice(
    rng: Any,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    shuffle: bool = True,
) -> Value:
    """Elements of ``a``, or integers below it, with equal chances or the chances ``p``."""
    b = current_builder()
    x = b.value(a)
    if not x.type.ndim and x.type.dtype.kind not in "iu":
        raise InferenceError("choice: a must be an integer or an array")
    axis = one_axis(axis, x.type.ndim) if x.type.ndim else 0
    count = dims_of(x)[axis] if x.type.ndim else b.cast(x, INT, True)
    dims = None if size is None else lengths(size)
    if dims == ():
        raise InferenceError("choice: size=() is not supported")
    wanted = b.dim_value(product(d.type.value for d in dims or ()))
    enough = OPS["logical_or"](OPS["greater"](count, 0), OPS["equal"](wanted, 0))
    require(enough, "a cannot be empty unless no samples are taken")
    chances = None if p is None else _chances(b.value(p), count)
    if not replace:
        order = _without_replacement(rng, count, wanted, chances, shuffle)
        index = item(order, 0, b.const(0)) if dims is None else order if len(dims) == 1 else reshape(order, *dims)
    elif chances is None:
        index = drawn(random.draw_integer, rng, dims, b.const(0), count - 1)
    else:
        steps = cumsum(chances)
        steps = steps / item(steps, 0, count - 1)
        index = searchsorted_array(steps, drawn(OPS["draw_uniform"], rng, dims), "right")
    if x.type.ndim:
        return _taken(x, index, axis)
    return b.cast(index, INT, dims is None)


def _taken(x: Value, index: Value, axis: int) -> Value:
    """Elements, or parts, at indices that are in range."""
    if x.type.ndim == 1 and index.type.ndim == 1:
        return gather(x, index)
    return take_array(x, index, axis)


def _chances(p: Value, count: Value) -> Value:
    """Chances as NumPy asks for them."""
    b = current_builder()
    if p.type.ndim != 1:
        raise InferenceError("choice: p must have one axis")
    single = p.type.dtype == F4
    room = np.sqrt(np.finfo(F4 if single else np.float64).eps)
    p = b.cast(p, FLOAT)
    require(OPS["equal"](dims_of(p)[0], count), "a and p must have same size")
    total = OPS["sum"](p, axes=(0,))
    require(OPS["logical_not"](isnan(total)), "Probabilities contain NaN")
    require(OPS["greater_equal"](p, 0.0), "Probabilities are not non-negative")
    near = OPS["less_equal"](OPS["absolute"](total - 1.0), float(room))
    require(near, "Probabilities do not sum to 1")
    return p


def _without_replacement(rng: Any, count: Value, wanted: Value, chances: Value | None, shuffle: bool) -> Value:
    if chances is not None:
        raise InferenceError("choice: chances p without replacement are not supported")
    message = "Cannot take a larger sample than population when replace is False"
    require(OPS["less_equal"](wanted, count), message)
    return random.draw_some_of(rng, count, wanted, shuffle)


@composite("rng_permutation", python=Generator.permutation, static="axis")
def rng_permutation(rng: Any, x: Any, axis: int = 0) -> Value:
    """The integers below ``x``, or a copy of an array, in random order."""
    b = current_builder()
    value = b.value(x)
    if value.type.ndim:
        axis = one_axis(axis, value.type.ndim)
        order = random.draw_order(rng, dims_of(value)[axis], True)
        return _taken(value, order, axis)
    if value.type.dtype.kind not in "iu":
        raise InferenceError("permutation: x must be an integer or an array")
    return random.draw_order(rng, OPS["maximum"](b.cast(value, INT, True), 0), True)


def rng_shuffle(rng: Value, x: Value, axis: int = 0) -> Value:
    """What `numpy.random.Generator.shuffle` makes of an array; an empty one draws nothing."""
    b = current_builder()
    draws = OPS["greater"](b.dim_value(product(x.type.shape)), 0)
    return _taken(x, random.draw_order(rng, dims_of(x)[axis], draws), axis)
