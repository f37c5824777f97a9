"""Numbers and control flow."""
# ruff: noqa: B007, F821, F841  (these programs do what people do)

import math

import numpy as np


def newton_sqrt(b, tol):
    x = b
    while abs(x * x - b) > tol:
        x = 0.5 * (x + b / x)
    return x


def newton_break(b, n):
    x = 1.0
    for _ in range(n):
        f = x * x * x - b
        if abs(f) < 1e-12:
            break
        x -= f / (3.0 * x * x)
    return x


def branches(a, b):
    if a > b:
        c = a * b
    elif a > 0.5:
        c = a + math.sin(b)
    else:
        c = a - b
    return c * c


def early_return(a, b):
    if a > 2.0:
        return a
    if b > 1.0:
        return a * b
    return b


def return_from_nested_loops(a, n, t):
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += a * i + j * j * 0.1
            if s > t * 4:
                return s * a
        s *= 1.1
    return s - a


def while_true_break(a, t):
    s = a
    while True:
        s = s * 1.3 + 0.1
        if s > 3.0 + t:
            break
    return s


def continue_in_loop(a, n):
    s = 0.0
    for i in range(n):
        if i % 2 == 0:
            continue
        s += a**i
    return s


def for_else(a, n):
    s = a
    for i in range(n):
        s = s * a + 1.0
        if s > 2.3:
            break
    else:
        s = -s
    return s


def while_else(a, n):
    k = 0
    s = 1.0
    while k < n:
        s = s * a + k
        if s > 2.5:
            s += 10.0
            break
        k += 1
    else:
        s *= 3.0
    return s


def negative_step(a, n):
    s = 0.0
    for i in range(n, 0, -1):
        s = s * a + i
    return s


def step_three(a, n):
    s = 1.0
    for i in range(1, 3 * n, 3):
        s = math.sin(s + a * i)
    return s


def loop_variable_after(a, n):
    i = 0
    for i in range(n):
        a = a * 1.1
    return a * i


def unbound_when_no_trip(a, n):
    for i in range(n):
        y = a * i
    return y


def unbound_branch(a, b):
    if a > b:
        y = a
    return y


def first_difference(a, n):
    s = 0.0
    for i in range(n):
        cur = math.cos(a * i)
        if i > 0:
            s += (cur - prev) ** 2
        prev = cur
    return s


def int_becomes_float(a, n):
    s = 0
    for i in range(n):
        s += a * i
    return s * a


def collatz(k, a):
    steps = 0
    x = a
    while k != 1:
        if k % 2 == 0:
            k = k // 2
            x = x * 0.9
        else:
            k = 3 * k + 1
            x = x + 0.1 * x * x
        steps += 1
    return x, steps


def two_breaks(a, t, n):
    s = a
    for i in range(n):
        s = s + s * s * 0.1
        if s > 5.0:
            break
        s = s * 1.2
        if s > 1.0 + t:
            break
        s = s - 0.05
    return s


def break_in_deep_branch(a, b, n):
    s = a
    for i in range(n):
        if s < b:
            s = s * 1.5
            if s > 1.1:
                s = s + a
                break
            s = s + 0.01
        else:
            s = s * s
        s = s + 0.1
    return s


def swap_scalars(a, b, n):
    for _ in range(n):
        a, b = b, a + 0.3 * b * a
    return a - b


def fibonacci_like(a, n):
    x, y = a, 1.0
    for _ in range(n):
        x, y = y, x * y + 0.1
    return x


def ternary(a, b):
    return (a if a > b else b * b) * (1.0 if b > 0 else -1.0)


def chained_comparison(a, b, c):
    s = 0.0
    if c < a < b:
        s += a
    if 0 <= a * b < 1 <= 2 * b:
        s += b * b
    return s


def lazy_and(a, b, k):
    if k != 0 and b / k > 0.1:
        return a * b
    return a


def lazy_or(a, b, k):
    if k == 3 or b / 0 > 1:
        return a * a
    return b


def not_and_or(a, b, flag):
    if not (a > b) and (flag or a > 1.0):
        return a * b
    return a


def division_by_zero(a, n):
    s = 0.0
    for i in range(n):
        s += a / (i - 1)
    return s


def floor_and_mod(a, b, k):
    return a // b + (a * 5) % b + k // 2 + (-k) % 5


def powers(a, b):
    return a**2 + a**3 + b**-1 + b**0.5 + a**b + 2.0**a


def int_power(k, a):
    return a * k**2 + 2**k


def min_max_abs(a, b, c):
    return min(a, b, c) * max(a, b * a) + abs(c) + abs(-3)


def math_functions(a, b):
    return (
        math.exp(-a) + math.log(b) + math.sqrt(a * b) + math.tanh(a) + math.atan2(a, b)
        + math.hypot(a, b) + math.log1p(a) + math.expm1(a) + math.asin(a) + math.erf(a)
    )  # fmt: skip


def rounding(a, b):
    return math.floor(a * 10) + int(b * 7) + round(a) + a * math.ceil(b)


def bool_arithmetic(a, b):
    return a * (a > b) + b * (a <= b) + (a > 0) + (b > 0)


def augmented(a, b):
    a += b
    a *= 2.0
    a -= 0.5
    a /= b
    a **= 2
    return a


def tuple_unpack(pair, a):
    p, q = pair
    (r, s), t = (p * a, q), a
    return r * s + t * p


def return_tuple(a, b):
    return a * b, (a, b + 1.0), 3


def walrus(a):
    if (y := a * 2.0) > 1.0:
        return y * y
    return y


def kepler(a, b):
    e = 0.3
    ecc = a
    for _ in range(20):
        step = (ecc - e * math.sin(ecc) - b) / (1.0 - e * math.cos(ecc))
        ecc -= step
        if abs(step) < 1e-13:
            break
    return ecc


def nested_whiles(a, n):
    total = 0.0
    i = 0
    while i < n:
        y = a + i
        while y > 0.5:
            y = y * 0.6
            total += y * a
        i += 1
    return total


def while_inside_for(a, n):
    s = 0.0
    for i in range(n):
        y = a * (i + 1)
        while y < 3.0:
            y = y * y * 0.5 + y
        s += y
    return s


def for_inside_while(a, t, n):
    y = a
    k = 0
    while y < 2.0 + t and k < 8:
        for i in range(n):
            y = y + 0.05 * y * i
        y = y * 1.1
        k += 1
    return y


def triangular(a, n):
    s = a
    for i in range(n):
        for j in range(i):
            s = math.sin(s) + 0.1 * j * a
        for j in range(i, n):
            s = s * 0.9 + a
    return s


def rk4(a, b, n):
    h = 0.1
    x, y = a, b
    for _ in range(n):
        k1x, k1y = x * (1.0 - y), y * (x - 1.0)
        x2, y2 = x + 0.5 * h * k1x, y + 0.5 * h * k1y
        k2x, k2y = x2 * (1.0 - y2), y2 * (x2 - 1.0)
        x3, y3 = x + 0.5 * h * k2x, y + 0.5 * h * k2y
        k3x, k3y = x3 * (1.0 - y3), y3 * (x3 - 1.0)
        x4, y4 = x + h * k3x, y + h * k3y
        k4x, k4y = x4 * (1.0 - y4), y4 * (x4 - 1.0)
        x += h / 6.0 * (k1x + 2.0 * k2x + 2.0 * k3x + k4x)
        y += h / 6.0 * (k1y + 2.0 * k2y + 2.0 * k3y + k4y)
    return x * y


def numpy_scalars(a, b):
    return np.sin(a) * np.exp(b) + np.maximum(a, b) + np.sqrt(np.abs(a))


def same_value_both_carry_and_capture(a, n):
    y = a
    for _ in range(n):
        y = y * a + a
    return y


def dead_loop(a, n):
    s = 0.0
    for i in range(n):
        s += a * i
    return a * 2.0


def constant_result(a):
    return 3.0


def logistic_map(a, n):
    x = 0.3
    for _ in range(n):
        x = 3.2 * a * x * (1.0 - x)
    return x


def complex_quotients(xc, a):
    """NumPy multiplies by a reciprocal, which may be infinite; Python divides."""
    return (0.0 * xc) / 5e-324, complex(0.0 * a, 0.0) / 5e-324, xc / complex(3.0, a), complex(a, 1.0) / complex(3.0, a)


def complex_from_parts(a, b, n):
    z = complex(a, b)
    w = z * z + complex(b) + complex(n, -a) * complex(0.5)
    return w.real + abs(w), z, complex(np.inf * a, -0.0), complex(True, 2), complex("1+2j"), complex(1j * a)


def named_in_the_second_operand(a, k):
    y = 0.0
    if a > k and (y := a * 2.0) < 50.0:
        y += 1.0
    if a < 0 or (z := a * 3.0) > 50.0:
        y -= z
    return y + z


def named_in_the_test_of_a_loop(a, n):
    y = 0.0
    k = 0
    while k < n and (y := a + k) < 50.0:
        k += 1
    return y


def named_in_a_chain(c):
    y = 2.0
    ok = 0 < c < (y := c * c) < 10
    return y * c if ok else y - c
