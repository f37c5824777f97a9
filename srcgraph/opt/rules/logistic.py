"""Sigmoids and their logarithms, written out or not."""

from __future__ import annotations

import numpy as np

from srcgraph.opt.rewriting.patterns import op
from srcgraph.opt.rules.rule import Rule, pattern

expit, logit, log_expit = op("expit"), op("logit"), op("log_expit")
UNIT = (0.1, 0.9)

RULES: tuple[Rule, ...] = (
    pattern("sigmoid", lambda x: 1.0 / (1.0 + np.exp(-x)), lambda x: expit(x), "stability"),
    pattern("sigmoid_of_minus", lambda x: 1.0 / (1.0 + np.exp(x)), lambda x: expit(-x), "stability"),
    pattern("sigmoid_of_exps", lambda x: np.exp(x) / (1.0 + np.exp(x)), lambda x: expit(x), "stability"),
    pattern("sigmoid_of_minus_exps", lambda x: np.exp(-x) / (1.0 + np.exp(-x)), lambda x: expit(-x), "stability"),
    pattern("sigmoid_of_tanh", lambda x: 0.5 * (1.0 + np.tanh(0.5 * x)), lambda x: expit(x), "stability", shared=False),
    pattern(
        "number_over_sigmoid", lambda c, x: c / (1.0 + np.exp(-x)), lambda c, x: c * expit(x), "stability", shared=False
    ),
    pattern("one_minus_sigmoid", lambda x: 1.0 - expit(x), lambda x: expit(-x), "stability"),
    pattern("sigmoid_times_exp", lambda x: expit(x) * np.exp(-x), lambda x: expit(-x), "stability", domain=(-2.0, 2.0)),
    pattern("minus_sigmoid_times_exp", lambda x: expit(-x) * np.exp(x), lambda x: expit(x), "stability"),
    pattern("odds", lambda x: expit(x) / expit(-x), lambda x: np.exp(x), "stability"),
    pattern("log_sigmoid", lambda x: np.log(expit(x)), lambda x: log_expit(x), "stability"),
    pattern("log1p_minus_sigmoid", lambda x: np.log1p(-expit(x)), lambda x: log_expit(-x), "stability"),
    pattern("softplus", lambda x: np.log1p(np.exp(x)), lambda x: -log_expit(-x), "stability"),
    pattern("logit_of_sigmoid", lambda x: logit(expit(x)), lambda x: x, "stability"),
    pattern("logit_written_out", lambda x: np.log(x / (1.0 - x)), lambda x: logit(x), "stability", domain=UNIT),
)
