"""Numbers at their edges: 64 bits unsigned, large exponents, signed zeros, what is converted and how."""

import math

import numpy as np


def unsigned_beside_python_ints(xi, k):
    """Compared exactly, though neither type holds all numbers of the other."""
    u = xi.astype(np.uint64) + np.uint64(2**63)
    v = u[0] if len(u) else np.uint64(3)
    return u > k, -k < u, u == -1, v > -k, -k >= v, v != k, np.uint64(2**64 - 1) > k


def large_exponents(k, xi, j):
    """Integers wrap, here as NumPy's do, whatever the exponent."""
    steps = np.int64(70000)
    return (
        xi**steps,
        np.int64(k) ** np.int64(66001),
        j ** np.int64(62),
        xi.astype(np.int8) ** np.int8(9),
        (-1) ** (k * 50001),
    )


def wrapped_and_compared(xi, k):
    """What has wrapped is what it is: nothing is concluded from the exact number."""
    s = np.int64(k)
    for _ in range(62):
        s = s * 3
    big = xi * 2**62 + 5
    return (
        s > 0,
        s // 5,
        float(s),
        big > 0,
        np.abs(big * 3),
        big**2 // 7,
        np.maximum(big * big, big),
        np.cumsum(big) > 0,
    )


def wrapped_item(xi):
    s = xi[0] + 2**62 if len(xi) else np.int64(2**62 + 5)
    if s > 0:
        return s * 3 + 1 > 0, s * s // 3
    return False, s


def ends_of_64_bits():
    """The smallest integer has no positive counterpart."""
    low = np.int64(-(2**63))
    return low // np.int64(-1), low % np.int64(-1), abs(low), -low, divmod(low, np.int64(-1)), low - np.int64(1)


def scalars_from_literals(a):
    return (
        np.uint64(2**64 - 1),
        np.int8(3.7),
        np.float32(0.1),
        float(2**70) * 1e-21 * a,
        np.float64(10**30),
        np.bool_(0.5),
    )


def whole_numbers_of_integers(k, j):
    """Of integers, these are the integer itself: not by way of a float."""
    big = k * 2**60 + 1
    return math.floor(big), math.ceil(big), int(np.int64(big)), round(big), math.floor(j)


def rounded_to_tens(xi, j):
    tens = round(np.int64(125), -1), round(np.int8(127), -1), round(j * 13, -1)
    return np.round(xi * 37, -1), tens, np.round(xi, 1) + 0


def powers_of_infinity(a):
    x = -math.inf * a
    return x**0.5, x**-0.5, (-0.0 * a) ** 0.5, x**2, x**-3


def statistics_of_a_number(a, ad):
    return np.var(a), np.std(-a), np.var(ad), np.sum(-0.0 * a), np.mean(ad), np.cumsum(np.array([-0.0, 0.0, a]))


def step_of_mixed_dtypes(xf, xb):
    return np.heaviside(xf, 1), np.heaviside(xf - 0.5, xb), np.heaviside(xf, xb > 0)


def not_a_number_is_in_every_domain(a, c):
    nan = math.nan * a
    powers = c**nan, nan**c, nan**0.0, 1.0**nan, math.pow(c, nan)
    return math.fmod(nan, 0.0), math.fmod(math.inf, nan), math.fmod(a, math.inf), math.hypot(nan, math.inf), powers


def parts_of_bools(a):
    above = a > 0.5
    return above.real, above.imag, np.real(above), np.imag(above)


def smallest_integer_divided(xi, j):
    """The quotient by -1 wraps."""
    least = np.int64(-(2**63))
    xs = xi + least
    return xs // -1, xs // (j - 3), np.divmod(xs, j - 3), least // (j - 3)
