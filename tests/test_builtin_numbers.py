"""Numbers at the edges of what has 64 bits, and the rounding of floats, against Python on many numbers."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import srcgraph as sg


def rounded(x, digits):
    return round(x, digits)


def test_round_is_python_s() -> None:
    """Correctly rounded: ties that are exact, ties that only look so, few digits and many."""
    compiled = sg.api.compile(rounded)
    draw = random.Random(1)
    for _ in range(4000):
        digits = draw.choice([0, 1, 2, 3, 5, 8, 12, 15, 20, 22, 23, 30, 320, -1, -2, -5, -17, -25, -308, -400])
        x = draw.choice(
            [
                draw.uniform(-10, 10),
                draw.randrange(-(10**6), 10**6) / 10 ** draw.randrange(7) + 0.5 * 10.0 ** -max(digits, 0),
                draw.gauss(0, 1) * 10.0 ** draw.randrange(-5, 14),
                draw.randrange(10**5) * 5 / 10 ** draw.randrange(8),
                draw.choice([0.5, 1.5, 2.5, 9.99, 1.25]) * 10.0 ** -min(digits, 300) if digits > -300 else 4.9e307,
                draw.randrange(2**53, 2**63) * 2.0 ** draw.randrange(200),
                math.ldexp(draw.random(), -draw.randrange(1060)),
            ]
        )
        assert repr(compiled(x, digits)) == repr(round(x, digits)), (x.hex(), digits)
        n = draw.randrange(-(10**6), 10**6)
        assert compiled(n, -abs(digits) % 7) == round(n, -abs(digits) % 7)
        assert compiled(n, -abs(digits)) == round(n, -abs(digits))
    with pytest.raises(OverflowError, match="rounded value too large to represent"):
        compiled(1.7e308, -308)


@pytest.mark.parametrize(
    ("function", "args"), [(math.factorial, (21,)), (math.comb, (70, 35)), (math.lcm, (2**40, 3**30))]
)
def test_too_large_for_64_bits(function, args) -> None:
    """Integers have 64 bits: what needs more raises instead of being wrong."""
    if len(args) == 1:
        compiled = sg.api.compile(lambda n: math.factorial(n))
    elif function is math.comb:
        compiled = sg.api.compile(lambda n, k: math.comb(n, k))
    else:
        compiled = sg.api.compile(lambda n, k: math.lcm(n, k))
    with pytest.raises(OverflowError, match="more than 64 bits"):
        compiled(*args)
    small = tuple(min(a, 12) for a in args)
    assert compiled(*small) == function(*small)


def test_nan_is_not_sorted() -> None:
    """What Python makes of items without an order is refused, not guessed."""
    plain = sg.api.compile(lambda xs: sorted(xs))
    by_key = sg.api.compile(lambda xs: sorted(range(len(xs)), key=lambda k: -xs[k]))
    for compiled in plain, by_key:
        with pytest.raises(NotImplementedError, match="sorting items that are NaN is not supported"):
            compiled([1.0, math.nan, 0.0])
    assert plain([1.0, math.inf, 0.0]) == [0.0, 1.0, math.inf]
    assert math.isnan(plain([math.nan])[0])


def _product(n, k):
    out = 1
    for i in range(k):
        out *= n + i
    return out


def _horner(n, k):
    h = 0
    while k > 0:
        h = h * n + k
        k -= 1
    return h


def _digits(n, k):
    value = 0
    for digit in np.full(k, n, np.uint8):
        value = value * 10 + int(digit)
    return value


def _far_apart(n, k):
    return (n % 10 + 2**62) * k + [(i + 10**10) * 10**8 for i in range(3)][2]


def _bit(n, k):
    return n | 1 << k


@pytest.mark.parametrize(
    ("function", "fits", "too_large"),
    [
        (lambda n, k: n + k, (2**62, 2**62 - 1), (2**62, 2**62)),
        (lambda n, k: n - k, (-(2**62), 2**62), (-(2**62), 2**62 + 1)),
        (lambda n, k: n * k, (2**31, 2**32 - 1), (2**31, 2**32)),
        (lambda n, k: n**k, (-2, 63), (2, 63)),
        (lambda n, k: n**3 + k, (2**21 - 1, 2**40), (2**21, 0)),
        (lambda n, k: n << k, (3, 61), (3, 62)),
        (lambda n, k: n << k, (0, 5000), (1, 5000)),
        (lambda n, k: sum(i * n for i in range(k)), (2**32, 1000), (2**50, 1000)),
        (lambda n, k: (n * k) % 7 > 3, (2**31, 2**31), (2**32, 2**32)),
        (lambda n, k: float(n * k), (2**31, 2**31), (2**40, 2**40)),
        (_product, (1, 20), (1, 21)),
        (_horner, (31, 12), (31, 20)),
        (_bit, (5, 62), (5, 63)),
        (_digits, (9, 18), (9, 19)),
        (lambda n, k: int(np.uint32(n)) * int(np.uint32(n)) + k, (2**31, 0), (2**32 - 1, 0)),
        (_far_apart, (3, 1), (3, 2)),
        (lambda n, k: -n + k, (-(2**63) + 1, 0), (-(2**63), 0)),
        (lambda n, k: abs(n) % k, (-(2**63) + 1, 100), (-(2**63), 100)),
        (lambda n, k: n // k, (-(2**63) + 1, -1), (-(2**63), -1)),
    ],
)
def test_arithmetic_of_integers_is_exact_or_raises(function, fits, too_large) -> None:
    """Also where a machine word would wrap and then be compared, divided or converted."""
    compiled = sg.api.compile(function)
    assert compiled(*fits) == function(*fits)
    with pytest.raises(OverflowError, match="more than 64 bits"):
        compiled(*too_large)


def test_integers_wrap_where_the_error_model_is_numpys() -> None:
    compiled = sg.api.compile(_product, error_model="numpy")
    wrapped = _product(1, 25) % 2**64
    assert compiled(1, 25) == (wrapped - 2**64 if wrapped >= 2**63 else wrapped)


@pytest.mark.parametrize(
    "function", [lambda x, y: x / y, lambda x, y: x // y, lambda x, y: x % y, lambda x, y: divmod(x, y)]
)
def test_division_by_zero_says_what_python_says(function) -> None:
    """The text tells the operator, and whether a float is among the operands."""
    compiled = sg.api.compile(function)
    for x, y in itertools.product((3, 3.0), (0, 0.0)):
        with pytest.raises(ZeroDivisionError) as want:
            function(x, y)
        with pytest.raises(ZeroDivisionError) as got:
            compiled(x, y)
        assert str(got.value) == str(want.value)
