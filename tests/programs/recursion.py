"""Functions that call themselves, and each other."""

import functools
import math

import numpy as np


def _factorial(n):
    if n <= 1:
        return 1
    return n * _factorial(n - 1)


def factorial(n):
    return _factorial(n)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def _fibonacci_kept(n, memo):
    if n < 2:
        return n
    if memo[n] == 0:
        memo[n] = _fibonacci_kept(n - 1, memo) + _fibonacci_kept(n - 2, memo)
    return memo[n]


def fibonacci_kept(n):
    memo = np.zeros(n + 2, dtype=int)
    return _fibonacci_kept(n + 1, memo), memo


def _is_even(n):
    return True if n == 0 else _is_odd(n - 1)


def _is_odd(n):
    return False if n == 0 else _is_even(n - 1)


def even_and_odd(n):
    return _is_even(n), _is_odd(n)


def _ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return _ackermann(m - 1, 1)
    return _ackermann(m - 1, _ackermann(m, n - 1))


def ackermann(n):
    return _ackermann(2, n)


def greatest_common_divisor(n):
    def gcd(p, q):
        while q:
            p, q = q, p % q
        return p

    return gcd(12 * n, 18), _gcd(12 * n, 18)


def _gcd(p, q):
    return p if q == 0 else _gcd(q, p % q)


def _quicksort(x, low, high):
    if low >= high:
        return
    pivot = x[high]
    i = low
    for j in range(low, high):
        if x[j] < pivot:
            x[i], x[j] = x[j], x[i]
            i += 1
    x[i], x[high] = x[high], x[i]
    _quicksort(x, low, i - 1)
    _quicksort(x, i + 1, high)


def quicksort(x):
    _quicksort(x, 0, len(x) - 1)


def quicksort_of_slices(x):
    if len(x) < 2:
        return
    pivot = x[len(x) // 2]
    i, j = 0, len(x) - 1
    while i <= j:
        while x[i] < pivot:
            i += 1
        while x[j] > pivot:
            j -= 1
        if i <= j:
            x[i], x[j] = x[j], x[i]
            i += 1
            j -= 1
    quicksort_of_slices(x[: j + 1])
    quicksort_of_slices(x[i:])


def merge_sort(x):
    if len(x) < 2:
        return x.copy()
    half = len(x) // 2
    left, right = merge_sort(x[:half]), merge_sort(x[half:])
    out = np.empty(len(x))
    i = j = 0
    for k in range(len(x)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


def pairwise_sum(x):
    if len(x) == 0:
        return 0.0
    if len(x) <= 2:
        total = 0.0
        for v in x:
            total += v
        return total
    half = len(x) // 2
    return pairwise_sum(x[:half]) + pairwise_sum(x[half:])


def _simpson(f, a, b, tol, whole, depth):
    middle = 0.5 * (a + b)
    left = (middle - a) / 6.0 * (f(a) + 4.0 * f(0.5 * (a + middle)) + f(middle))
    right = (b - middle) / 6.0 * (f(middle) + 4.0 * f(0.5 * (middle + b)) + f(b))
    off = left + right - whole
    if depth <= 0 or abs(off) <= 15.0 * tol:
        return left + right + off / 15.0
    first = _simpson(f, a, middle, tol / 2.0, left, depth - 1)
    return first + _simpson(f, middle, b, tol / 2.0, right, depth - 1)


def adaptive_quadrature(a, b, tol):
    f = lambda v: math.exp(-v * v) * math.sin(3.0 * v)  # noqa: E731
    return _simpson(f, a, b, tol, (b - a) / 6.0 * (f(a) + 4.0 * f(0.5 * (a + b)) + f(b)), 20)


def _bisect(f, low, high, steps):
    middle = 0.5 * (low + high)
    if steps == 0:
        return middle
    if (f(low) < 0.0) == (f(middle) < 0.0):
        return _bisect(f, middle, high, steps - 1)
    return _bisect(f, low, middle, steps - 1)


def bisection(c, n):
    return _bisect(lambda v: v * v * v - v + c, 0.5, 2.0, 3 * n)


def _hanoi(n, source, target, spare, moves):
    if n == 0:
        return 0
    count = _hanoi(n - 1, source, spare, target, moves)
    moves[source, target] += 1
    return count + 1 + _hanoi(n - 1, spare, target, source, moves)


def hanoi(n):
    moves = np.zeros((3, 3), dtype=int)
    return _hanoi(n, 0, 2, 1, moves), moves


def _flood(grid, i, j):
    if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or grid[i, j] >= 1.0:
        return 0
    grid[i, j] = 2.0
    return 1 + _flood(grid, i + 1, j) + _flood(grid, i - 1, j) + _flood(grid, i, j + 1) + _flood(grid, i, j - 1)


def flood_fill(m):
    return _flood(m, 0, 0)


def _depth_sum(left, right, weight, k, level):
    if k < 0 or k >= len(left):
        return 0.0
    below = _depth_sum(left, right, weight, left[k], level + 1) + _depth_sum(left, right, weight, right[k], level + 1)
    return weight[k] * level + below


def tree_walk(x):
    n = len(x)
    left, right = np.arange(n) * 2 + 1, np.arange(n) * 2 + 2
    return _depth_sum(left, right, x, 0, 1)


def _expression(codes, at):
    """``term (+ term)*`` over codes: digits are themselves, 10 is plus, 11 is times."""
    total, at = _term(codes, at)
    while at < len(codes) and codes[at] == 10:
        value, at = _term(codes, at + 1)
        total += value
    return total, at


def _term(codes, at):
    product, at = _atom(codes, at)
    while at < len(codes) and codes[at] == 11:
        value, at = _atom(codes, at + 1)
        product *= value
    return product, at


def _atom(codes, at):
    if codes[at] == 12:
        value, at = _expression(codes, at + 1)
        return value, at + 1
    return codes[at], at + 1


def descent_parser(n):
    codes = np.array([2, 11, 12, 3, 10, 4, 13, 10, 5])
    codes[0] = n + 1
    return _expression(codes, 0)


def _settles(n):
    if n > 5:
        return _settles(n - 1)
    return _lands(n - 1) + 1.0


def _lands(n):
    return _settles(n) if n > 0 else 0.0


def circle_with_one_way_out(n):
    return _settles(n + 4) + _lands(n)


def power_of_literal(a, b):
    return _power(a, 5) + _power(b, 0)


def _power(v, n):
    if n == 0:
        return 1
    return v * _power(v, n - 1)


def halved_until_small(a, n):
    return 1.0 * _halved(n, a)


def _halved(v, least):
    """An integer at first, a float afterwards."""
    if v <= least:
        return v
    return _halved(v / 2, least)


def raises_on_every_path(x, n):
    """It never returns, but not for having no end."""
    if x[n] < 0.9:
        raise ValueError("small")
    return raises_on_every_path(x, n - 1)


def endless(n):
    return endless(n + 1)


def raises_at_the_bottom(x, n):
    return _checked(x, n)


def _checked(x, k):
    if k == 0:
        return x[k + 1]
    return x[0] * _checked(x, k - 1)


def permutations(n):
    """Heap's algorithm: how often each number comes first."""
    counts = np.zeros(n + 1, dtype=int)
    _permute(np.arange(n), n, counts)
    return counts


def _permute(items, k, counts):
    if k <= 1:
        if len(items) > 0:
            counts[items[0]] += 1
        return
    for i in range(k):
        _permute(items, k - 1, counts)
        j = i if k % 2 == 0 else 0
        items[j], items[k - 1] = items[k - 1], items[j]


def default_passed_on(a, n):
    return _grown(a, n)


def _grown(v, most, depth=0):
    if depth >= most:
        return v
    return _grown(v * 1.5, most, depth + 1) if v < 100.0 else v


@functools.cache
def _remembered(n):
    return n if n < 2 else _remembered(n - 1) + _remembered(n - 2)


def fibonacci_of_a_cached_function(n):
    return _remembered(n)


def nested_sum(x):
    def upto(k):
        if k < 0:
            return 0.0
        return x[k] * weight + upto(k - 1)

    weight = 2.0
    return upto(len(x) - 1)


def nested_each_other(n):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    return even(n), odd(n)


def nested_that_fills(x):
    out = np.zeros(len(x))

    def fill(low, high, level):
        if low >= high:
            return
        middle = (low + high) // 2
        out[middle] = x[middle] * level
        fill(low, middle, level + 1)
        fill(middle + 1, high, level + 1)

    fill(0, len(x), 1)
    return out


def _twice(function, v):
    return function(function(v))


def nested_passed_on_by_itself(n):
    def down(k):
        if k <= 1:
            return 0
        return 1 + _twice(lambda v: v, down(k // 2))

    return _twice(down, n) + down(4 * n)


def scaled_at_the_step(x, a):
    def go(low, high):
        if high - low <= 1:
            return low
        middle = (low + high) // 2
        if x[middle] > a:
            return go(low, middle)
        return go(middle, high)

    if len(x) == 0:
        return a
    return x[go(0, len(x))] * a


def halved(x, k):
    """The argument itself at the bottom, an array made on the way at every other depth."""
    if k == 0:
        return x
    return halved(x * 0.5, k - 1)


def _ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return _ackermann(m - 1, 1.0)
    return _ackermann(m - 1, _ackermann(m, n - 1))


def literal_beside_a_number(a):
    """The literal becomes an argument of the version called from outside."""
    return _ackermann(1, float(round(a * 3.0)))


def _both_stored(x, y, k):
    if k == 0 or len(x) == 0:
        return np.sum(x) + 1.0
    x[0] *= 0.5
    y[0] += 0.3 * x[0]
    return 0.5 * _both_stored(x, y, k - 1) * y[0] + x[len(x) - 1]


def equal_arrays_stored(x, k):
    """Two arrays that are computed alike are two, and so are their derivatives."""
    first, second = x * 0.5, x * 0.5
    return _both_stored(first, second, k) + _both_stored(x + 0.1, x + 0.1, k), first, second


def _stored_in_a_loop(x, y, k):
    total = 0.0
    for _ in range(k):
        x[:1] *= 0.7
        y[:1] += 0.2
        total += 0.1 * np.sum(x) * np.sum(y)
    return total


def _one_of(x, y, k):
    return x if k > 1 else y


def one_array_or_another_stored(x, y, k):
    """An argument may be the other one, a part of it, or neither."""
    same = x if k > 1 else y
    total = _both_stored(x, same, k) + _stored_in_a_loop(same, x, k)
    first, second = x * 0.5, y + 1.0
    turned = first[::-1] if k > 1 else second
    total += _stored_in_a_loop(first, turned, k) + _both_stored(first, _one_of(first, second, k), k)
    return total, first, second
