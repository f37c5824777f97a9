"""Error functions and the normal distribution: tails without cancellation."""

from __future__ import annotations

import math

import numpy as np

from srcgraph.opt.rewriting.patterns import op
from srcgraph.opt.rules.rule import Rule, pattern

erf, erfc, ndtr, log_ndtr = op("erf"), op("erfc"), op("ndtr"), op("log_ndtr")

RULES: tuple[Rule, ...] = (
    pattern("one_minus_erf", lambda x: 1.0 - erf(x), lambda x: erfc(x), "stability"),
    pattern("one_plus_erf", lambda x: 1.0 + erf(x), lambda x: erfc(-x), "stability"),
    pattern("erf_minus_one", lambda x: erf(x) - 1.0, lambda x: -erfc(x), "stability"),
    pattern("one_minus_erfc", lambda x: 1.0 - erfc(x), lambda x: erf(x), "stability"),
    pattern("erfc_minus_one", lambda x: erfc(x) - 1.0, lambda x: -erf(x), "stability"),
    pattern(
        "log_erfc", lambda x: np.log(erfc(x)), lambda x: math.log(2.0) + log_ndtr(-math.sqrt(2.0) * x), "stability"
    ),
    pattern("one_minus_ndtr", lambda x: 1.0 - ndtr(x), lambda x: ndtr(-x), "stability"),
    pattern("log_of_ndtr", lambda x: np.log(ndtr(x)), lambda x: log_ndtr(x), "stability"),
    pattern("log1p_minus_ndtr", lambda x: np.log1p(-ndtr(x)), lambda x: log_ndtr(-x), "stability"),
    pattern("log_half_erfc", lambda x: np.log(0.5 * erfc(x)), lambda x: log_ndtr(-math.sqrt(2.0) * x), "stability"),
)
