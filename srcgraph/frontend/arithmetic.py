"""Functions of numbers, in Python: compiled with the functions that use them, as if written there.

Errors raised here are shown at the user's call. Integers have 64 bits: results that need more raise.
"""

from __future__ import annotations

import math

import numpy as np

MOST = 2**63 - 1


def gcd(a, b):
    if a < -MOST or b < -MOST:
        raise OverflowError("an integer of 64 bits has no positive counterpart")
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


def lcm(a, b):
    if a == 0 or b == 0:
        return 0
    return abs(a) // gcd(a, b) * abs(b)


def isqrt(n):
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    r = int(math.sqrt(n))
    while r > 0 and r > n // r:
        r -= 1
    while r + 1 <= n // (r + 1):
        r += 1
    return r


def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    return perm(n, n)


def perm(n, k):
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    out = 1
    for i in range(min(k, 64)):  # more factors do not fit, but for ones
        out *= n - i
    return out


def comb(n, k):
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    out = 1
    for i in range(min(k, n - k)):
        common = gcd(out, i + 1)
        out = out // common * ((n - i) // ((i + 1) // common))
    return out


def power_modulo(a, b, m):
    if m == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    if b < 0:
        raise ValueError("a modular inverse is not supported: write it as a loop")
    if abs(m) > 3037000499:
        raise OverflowError("the squares of a modulus above 3037000499 need more than 64 bits")
    out = 1 % m
    a = a % m
    while b > 0:
        if b % 2 == 1:
            out = out * a % m
        a = a * a % m
        b //= 2
    return out


def bit_length(n):
    count = 0
    if n < 0:
        n = -(n + 1)
        if (n + 1) & n == 0:  # a power of two has one bit more than the number below it
            count = 1
    while n > 0:
        n >>= 1
        count += 1
    return count


def conjugate(z):
    return complex(z.real, -z.imag)


def is_integer(x):
    return math.isfinite(x) and bool(np.floor(x) == x)


def hypot(xs):
    largest = 0.0
    unknown = False
    for x in xs:
        if math.isinf(x):
            return math.inf
        unknown = unknown or math.isnan(x)
        largest = max(largest, abs(x))
    if unknown:
        return math.nan
    if largest == 0.0:
        return 0.0
    total = 0.0
    for x in xs:
        total += (x / largest) * (x / largest)
    return largest * math.sqrt(total)


def remainder(x, y):
    """The IEEE remainder: exact, by that of the absolute values."""
    if math.isnan(x) or math.isnan(y):
        return x + y
    if math.isinf(x) or y == 0.0:
        return math.nan
    if math.isinf(y):
        return x
    size, width = abs(x), abs(y)
    m = math.fmod(size, width)
    c = width - m
    if m < c:
        r = m
    elif m > c:
        r = -c
    else:
        r = m - 2.0 * math.fmod(0.5 * (size - m), width)
    return math.copysign(1.0, x) * r


def modf(x):
    if math.isinf(x):
        return math.copysign(0.0, x), x
    if math.isnan(x):
        return x, x
    whole = math.copysign(float(np.trunc(x)), x)
    return math.copysign(x - whole, x), whole


def frexp(x):
    if x == 0.0 or not math.isfinite(x):
        return x, 0
    exponent = 0
    while abs(x) >= 1.0:
        x *= 0.5
        exponent += 1
    while abs(x) < 0.5:
        x *= 2.0
        exponent -= 1
    return x, exponent


def ldexp(x, n):
    """Scaled in steps that round once only: below the normal numbers with 53 bits to spare."""
    if x == 0.0 or not math.isfinite(x):
        return x
    n = max(min(n, 5000), -5000)
    while n > 1023:
        x *= 2.0**1023
        n -= 1023
    while n < -1022:
        x *= 2.0**-969
        n += 969
    x *= 2.0**n
    return x


def isclose(a, b, rel_tol, abs_tol):
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    off = abs(b - a)
    return off <= abs(rel_tol * b) or off <= abs(rel_tol * a) or off <= abs_tol


def product(xs, start):
    for x in xs:
        start = start * x
    return start


def length_of_range(start, stop, step):
    if step > 0:
        return (stop - start + step - 1) // step if start < stop else 0
    return (start - stop - step - 1) // -step if start > stop else 0


def same_range(start, stop, step, other_start, other_stop, other_step):
    """``range(...) == range(...)``: whether both are the same numbers."""
    n = length_of_range(start, stop, step)
    if n != length_of_range(other_start, other_stop, other_step):
        return False
    return n == 0 or (start == other_start and (n == 1 or step == other_step))


def ends_of_slice(start, stop, step, n):
    """Where a slice of ``n`` items begins and ends, as ``slice.indices`` has it."""
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step > 0:
        first = 0 if start is None else max(start + n, 0) if start < 0 else min(start, n)
        last = n if stop is None else max(stop + n, 0) if stop < 0 else min(stop, n)
        return first, last
    first = n - 1 if start is None else max(start + n, -1) if start < 0 else min(start, n - 1)
    last = -1 if stop is None else max(stop + n, -1) if stop < 0 else min(stop, n - 1)
    return first, last


def first_and_length(start, stop, step, n):
    first, last = ends_of_slice(start, stop, step, n)
    return first, length_of_range(first, last, step)


def slice_of_range(start, stop, step, first, last, by):
    first, last = ends_of_slice(first, last, by, length_of_range(start, stop, step))
    return start + step * first, start + step * last, step * by


def item_of_range(i, start, stop, step):
    n = length_of_range(start, stop, step)
    if i < -n or i >= n:
        raise IndexError("range object index out of range")
    return start + step * (i + n if i < 0 else i)


def in_range(x, start, stop, step):
    inside = start <= x < stop if step > 0 else stop < x <= start
    return inside and (x - start) % step == 0


def fsum(xs):
    """The exact sum, rounded once.

    ``partials`` are floats of growing size that do not overlap and whose sum is exact.

    References
    ----------
    Shewchuk, Discrete & Computational Geometry 18 (1997): "Adaptive precision floating-point arithmetic".
    """
    partials = [0.0]
    special = 0.0
    for item in xs:
        x = float(item)
        if not math.isfinite(x):
            if math.isinf(x) and math.isinf(special) and x != special:
                raise ValueError("-inf + inf in fsum")
            special += x
            continue
        kept = 0
        for k in range(len(partials)):
            y = partials[k]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partials[kept] = low
                kept += 1
            x = high
        if math.isinf(x):
            raise OverflowError("intermediate overflow in fsum")
        while len(partials) > kept:
            partials.pop()
        partials.append(x)
    if special != 0.0 or math.isnan(special):
        return special
    k = len(partials) - 1
    high = partials[k]
    low = 0.0
    while k > 0:
        x = high
        k -= 1
        y = partials[k]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if k > 0 and ((low < 0.0 and partials[k - 1] < 0.0) or (low > 0.0 and partials[k - 1] > 0.0)):
        y = low * 2.0  # half way between two floats, but for what is left
        x = high + y
        if y == x - high:
            high = x
    return high


def ulp(x):
    if math.isnan(x):
        return x
    x = abs(x)
    if math.isinf(x):
        return x
    above = float(np.nextafter(x, math.inf))
    return x - float(np.nextafter(x, 0.0)) if math.isinf(above) else above - x


def round_integer(n, digits):
    """To a multiple of a power of ten, halves to the even one."""
    if digits >= 0:
        return n
    if digits < -18:
        return 0
    width = 1
    for _ in range(-digits):
        width *= 10
    low = n // width * width
    rest = n - low
    if rest > width - rest or (rest == width - rest and low // width % 2 == 1):
        return low + width
    return low
