"""Programs with Python's builtins and functions of math on numbers."""

from __future__ import annotations

import math

import numpy as np


def rounded_to_digits(a, b, c, k):
    """Correctly rounded, as by the decimal digits."""
    return (
        round(a * 2.675 / 0.7, 2),
        round(2.675 * b / b, 2),
        round(-c, 1),
        round(a * 1234.5678, -2),
        round(c * 2.5),
        round(a / a * 0.5),
        round(k * 1234, -2),
        round(k * 50, -2),
        round(k, 2),
        round(a, k),
        round(a * 1e20 / 0.7, 3),
        round(np.float64(a), 2),
    )


def ties_of_rounding(n):
    """Halves that are exact, and those that only look so."""
    total = 0.0
    for k in range(200):
        x = (k - 100) * 0.125 + n
        total += round(x, 2) * (k + 1) + round(x * 1.005, 3) + round(x, 1) + round(x, 0) + round(k * 25, -2)
    return total


def combinatorics(k, n):
    """Whole numbers, exactly."""
    return (
        math.comb(n + 10, k),
        math.perm(n + 5, k),
        math.perm(n),
        math.factorial(n + 3),
        math.gcd(12 * n, 18 * k, 30),
        math.lcm(n + 1, k, 4),
        math.isqrt(n * 1000003),
        pow(n + 2, 50, 1000003),
        pow(k, n),
        (n * 1000).bit_length(),
        divmod(-7 * n, k),
        math.prod((n, k, 2)),
        math.gcd(),
        math.gcd(-n),
    )


def parts_of_floats(a, b, c):
    """Fractions, exponents, remainders."""
    whole, part = math.modf(a * 1e3 * c)
    m, e = math.frexp(a * 1e-3)
    return whole, part, m, e, math.ldexp(a, -3), math.ldexp(b, e), math.remainder(a * 10.0, b), math.fmod(-a, b)


def distances(a, b, c, pair):
    """In several dimensions."""
    return math.hypot(a, b, c) + math.dist((a, b), pair) + math.hypot(a) + math.hypot(a, b)


def close_enough(a, b):
    """Tests of floats."""
    return (
        math.isclose(a, a * (1.0 + 1e-10)),
        math.isclose(a, b, rel_tol=0.5, abs_tol=0.1),
        math.isclose(a, math.inf),
        (a * 10.0).is_integer(),
        (b - b).is_integer(),
        math.inf.is_integer() if a > 2.0 else False,
    )


def ranges_as_values(k, n):
    """The length of a range, and what is in it."""
    r = range(1, n * 3, k)
    down = range(n, -n, -2)
    return len(r), len(down), n in r, 4 in range(n), -1 not in down, len(range(n))


def errors_ignored(x, a):
    """What NumPy would warn of is computed all the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x * 0.0) / x
        if a > 1.0:
            return y
        z = y * 0.0
    with np.errstate(all="ignore"):
        for v in x:
            if v > 1.0:
                return z + v
    return z


def normalised_with_errors_ignored(x, a):
    """A return from inside the block."""
    with np.errstate(all="ignore"):
        return x / (np.sum(x) + a)
