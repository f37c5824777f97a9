"""The rules of the product, by stage and theme.

algebra       signs, comparisons, conditions, powers: exact
choices       conditions: what is chosen by one twice
exponentials  exp, log and what is made of them: without overflow and cancellation
logistic      sigmoids, softplus
normal        error functions
mirrored      sums of what is made of all pairs
reductions    sums, extremes, softmax
parts         logarithms of parts of softmaxes
bounds        comparisons and checks that cannot fail
masks         sums and stores of what masks mark
assumed       what is simpler of numbers of which facts are known
arrays        parts of arrays, reshapes, stores
matrices      products, inverses, determinants
even          products with matrices that are the same along an axis
turned        reductions and products of transposes
several       arithmetic of arrays without branches
sizes         comparisons of absolute values of complex numbers
tangents      of what does not move, in derivatives
risky         what is right of real numbers, and not of infinities, NaN and rounding: off unless asked for
"""

from srcgraph.opt.rules import (
    algebra,
    arrays,
    assumed,
    bounds,
    choices,
    even,
    exponentials,
    logistic,
    masks,
    matrices,
    mirrored,
    normal,
    parts,
    reductions,
    risky,
    several,
    sizes,
    tangents,
    turned,
)
from srcgraph.opt.rules.rule import Rule

CANONICALIZE: tuple[Rule, ...] = (
    *algebra.RULES,
    *choices.CHOICES,
    *bounds.RULES,
    *assumed.CANONICAL,
    *risky.CANONICAL,
    *arrays.RULES,
)
STABILIZE: tuple[Rule, ...] = (
    *logistic.RULES,
    *exponentials.RULES,
    *normal.RULES,
    *reductions.STABLE,
    *parts.STABLE,
    *assumed.STABLE,
    *matrices.STABLE,
    *risky.STABLE,
    *mirrored.RULES,
)
SPECIALIZE: tuple[Rule, ...] = (
    *reductions.CHEAPER,
    *parts.CHEAPER,
    *arrays.CHEAPER,
    *even.CHEAPER,
    *turned.CHEAPER,
    *matrices.CHEAPER,
    *risky.CHEAPER,
)
LAST: tuple[Rule, ...] = (
    *tangents.RULES,
    *masks.RULES,
    *choices.CHOICES,
    *choices.LAST,
    *several.RULES,
    *sizes.RULES,
    *turned.LAST,
    *arrays.LAST,
)
"""What comes after derivatives."""

__all__ = ["CANONICALIZE", "LAST", "SPECIALIZE", "STABILIZE", "Rule"]
