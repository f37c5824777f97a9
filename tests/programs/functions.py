"""Functions as values: chosen at run time, kept in tuples, passed on, made by other functions."""
# ruff: noqa: E731  (these programs do what people do)

import functools
import itertools
import math
import operator

import numpy as np

_SHAPES = (np.sin, np.cos, np.tanh)


def _apply(function, v):
    return function(v) + 1.0


def _scaled_by(factor):
    return lambda v: v * factor


def _pick(flag):
    return math.sqrt if flag else math.exp


def one_of_two(a, flag):
    f = np.sin if flag else np.cos
    return f(a)


def one_by_number(a, k):
    return _SHAPES[k - 2](a)


def one_by_number_out_of_range(a, n):
    ops = (np.sin, np.cos, np.exp)
    return ops[n](a)


def each_in_turn(a, n):
    steps = [lambda v: v + 1.0, lambda v: v * 0.5, math.sqrt]
    for i in range(n):
        a = steps[i % 3](a)
    return a


def changed_by_a_loop(a, n):
    total = 0.0
    f = np.sin
    for _ in range(n):
        total += f(a)
        f = np.cos if f is np.sin else np.sin
    return total


def defined_in_branches(a, b, n):
    if n > 1:

        def weight(v):
            return v * 2.0

    else:

        def weight(v, shift=a * b):
            return v + shift

    return weight(a) + weight(b)


def chosen_and_passed_on(a, n):
    f = math.sin if n > 1 else (lambda v: v * v)
    return _apply(f, a)


def made_by_a_function(a, b, n):
    double, by_b = _scaled_by(2.0), _scaled_by(b)
    f = double if n % 2 == 0 else by_b
    return f(a) + by_b(f(3.0))


def returned_by_a_function(a, n):
    f = _pick(n > 1)
    return f(a) + _apply(f, 2.0 * a)


def chosen_in_a_loop(a, n):
    f = lambda v: v + a
    for i in range(n):
        if i == 1:
            f = math.sqrt
    return f(a)


def method_chosen(x, n):
    if len(x) == 0:
        return 0.0
    g = x.sum if n > 1 else x.mean
    return g()


def mode_chosen(a, n):
    mode = "up" if n > 1 else "down"
    if mode == "up":
        return a + 1.0
    return a - 1.0


def name_returned(a, n):
    return a * 2.0, "many" if n > 2 else "few"


def weight_by_number(x, n):
    w = (0.1, 0.2, 0.7)
    total = 0.0
    for i in range(min(len(x), 3)):
        total += w[i] * x[i]
    return total + w[n % 3]


def raised_in_an_expression(a, n):
    def below(v):
        raise ValueError("too small")

    return a * 2.0 if n > 1 else below(a)


def kernel_of_a_sum(x, n):
    kernel = (lambda d: np.exp(-d * d)) if n > 1 else (lambda d: 1.0 / (1.0 + d * d))
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total += kernel(x[i] - x[j])
    return total


def _line(slope, v, offset=0.0):
    return slope * v + offset


_STEEP = functools.partial(_line, 3.0, offset=1.0)
_STEEPER = functools.partial(_STEEP, offset=2.0)


def partial_made_outside(a):
    return _STEEP(a) + _STEEPER(v=a)


def partial_made_inside(a, b, n):
    shifted = functools.partial(_line, b, offset=a)
    power = functools.partial(np.power, a + 1.0)
    f = shifted if n > 1 else functools.partial(shifted, offset=2.0 * a)
    return f(2.0) + power(2.0) + _apply(shifted, b)


def reduced(x, a):
    return functools.reduce(lambda p, q: p * a + q, x, 0.5), functools.reduce(operator.add, (a, 2.0, 3.0))


def horner(a, x):
    return functools.reduce(lambda total, c: total * a + c, x)


def running(x, items, a):
    """What adds up, the best so far, and a debt that is paid off."""
    total = 0.0
    for debt in itertools.accumulate(items, lambda rest, paid: rest * 1.05 - paid, initial=a):
        total += debt
    powers = itertools.accumulate([1.0, a, a * a], operator.mul, initial=2.0)
    return list(itertools.accumulate(x * a)), list(itertools.accumulate(items, max)), [v for v in powers], total
