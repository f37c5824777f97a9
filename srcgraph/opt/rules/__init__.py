"""The rules of the product, by stage and theme.

algebra       signs, comparisons, conditions, powers: exact
exponentials  exp, log and what is made of them: without overflow and cancellation
logistic      sigmoids, softplus
normal        error functions
reductions    sums, extremes, softmax
parts         logarithms of parts of softmaxes
bounds        comparisons and checks that cannot fail
assumed       what is simpler of numbers of which facts are known
arrays        parts of arrays, reshapes, stores
matrices      products, inverses, determinants
risky         what is right of real numbers, and not of infinities, NaN and rounding: off unless asked for
"""

from srcgraph.opt.rules import (
    algebra,
    arrays,
    assumed,
    bounds,
    exponentials,
    logistic,
    matrices,
    normal,
    parts,
    reductions,
    risky,
)
from srcgraph.opt.rules.rule import Rule

CANONICALIZE: tuple[Rule, ...] = (*algebra.RULES, *bounds.RULES, *assumed.CANONICAL, *risky.CANONICAL, *arrays.RULES)
STABILIZE: tuple[Rule, ...] = (
    *logistic.RULES,
    *exponentials.RULES,
    *normal.RULES,
    *reductions.STABLE,
    *parts.STABLE,
    *assumed.STABLE,
    *matrices.STABLE,
    *risky.STABLE,
)
SPECIALIZE: tuple[Rule, ...] = (*reductions.CHEAPER, *parts.CHEAPER, *matrices.CHEAPER, *risky.CHEAPER)

__all__ = ["CANONICALIZE", "SPECIALIZE", "STABILIZE", "Rule"]
