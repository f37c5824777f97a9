"""Python's builtins and small modules as people use them: map, filter, zip, del, comprehensions, operator, math."""

import functools
import math
import operator

import numpy as np


def _scaled(a, **options):
    return a * options.get("scale", 1.0) + options["shift"]


def keyword_parameters(a, n):
    def outer(a, *rest, **options):
        return _scaled(a, **options) + len(rest) + len(options)

    half = {"shift": 1.0}
    return _scaled(a, scale=2.0, shift=n) + _scaled(a, **half) + outer(a, 1, 2, shift=0.5)


def missing_keyword(a, n):
    """What is not given is not in the dict."""
    return _scaled(a, scale=1.0) if n > 1 else _scaled(a, shift=0.0)


def mapped(x, n):
    total = sum(map(lambda v: v * v, x))
    for v in map(math.sqrt, (0.25, n + 0.5)):
        total += v
    return total, list(map(abs, x)), list(map(lambda u, v: u - 2.0 * v, x, x[1:]))


def mapped_as_needed(a, n):
    """What comes after the break is never computed."""
    total = a
    for v in map(lambda k: 1.0 / (k - 2), range(n)):
        total += v
        if total < 0.3:
            break
    return total


def filtered(s, n):
    return list(filter(lambda v: v * n > 0.1, s)), len(list(filter(None, (0, 1, n))))


def zipped_strictly(x, m, n):
    total = 0.0
    for v, w in zip(x, m[:n, 0], strict=True):
        total += v * w
    return total


def smallest_or_default(x, s, n):
    least = min(x[:n], default=np.float64(3.0))
    most = max([v for v in s if v > 0.9], default=np.float64(-1.0))
    return least, most, max(s, key=lambda v: v * v, default=np.float64(0.0)), min((1, 2, 3), default=0)


def deleted_name(a, n):
    b = 2.0 * a
    if n > 1:
        del a
    b += 1.0
    return a + b


def dict_of_a_comprehension(a, n):
    weights = {name: a * k for k, name in enumerate(("x", "y", "z"))}
    more = {name: w + n for name, w in weights.items() if name != "x"}
    del weights["x"]
    return weights["y"] * more["z"], len(more), "x" in more


def set_of_a_comprehension(n, k):
    residues = {i % 3 for i in range(7)}
    return len(residues), n in residues, sum(residues), k + 5 in {n, 2 * n, n + 5}


def range_as_a_sequence(n):
    r = range(2, 20, 3)
    s = range(n)
    return r[1], r[-1], 5 in r, len(r), r.start, s.stop, s[n - 1]


def numbers_of_a_list(x, xi, n):
    values = x.tolist()
    values.append(0.5)
    return values[0] + n, xi.tolist(), len(values)


def _unknown_later(a):
    return not_defined_anywhere(a)  # noqa: F821


def name_of_nothing(a, n):
    """Python looks for the name when it gets there."""
    if n > 2:
        return _unknown_later(a)
    return a


def exact_sum(x, n):
    return math.fsum(x), math.fsum([1e16, n, -1e16]), math.fsum(v * v for v in x), math.fsum([1e308, 1.0, -1e308])


def neighbours(a, c):
    return math.nextafter(a, math.inf), math.nextafter(a, c), math.ulp(a), math.ulp(0.0), math.ulp(c)


def gamma_functions(a, c, n):
    return math.gamma(a + n), math.lgamma(c), math.gamma(n - 2.0)


_second = operator.itemgetter(1)


def operators_as_functions(a, x, n):
    numbers = [operator.add(a, 1), operator.neg(n), operator.abs(-a), operator.pos(a), operator.truediv(a, 2)]
    truths = operator.lt(a, n), operator.not_(n), operator.truth(a), operator.contains((1, 2), n), operator.is_(a, None)
    return numbers, truths, operator.add([1.0], [a]), _second((a, n)), operator.itemgetter(0)((a, n))


def operators_that_store(a, x, n):
    operator.setitem(x, 0, a)
    y = operator.iadd(a, n)
    operator.imul(x, y)
    return y, operator.getitem(x, -1), functools.reduce(operator.mul, (2, n, a))


_WEIGHTS = np.array([0.5, 2.0])


def _weighted(v, weights=_WEIGHTS):
    return np.sum(v * weights)


def array_as_default(a, n):
    return _weighted(a) + _weighted(n, np.ones(3)) + _weighted(a * n)
