"""Functions inside functions: variables they share, seen as they are when the call is made."""

from __future__ import annotations

import functools
import operator

import numpy as np


def counts_calls(a, n):
    count = 0

    def bump(by):
        nonlocal count
        count += by
        return count

    total = 0.0
    for k in range(n):
        total += bump(2) * a + k
    return total, count


def sees_the_value_at_the_call(a):
    k = 1.0

    def scaled(v):
        return k * v

    first = scaled(a)
    k = 2.0
    return first + scaled(a)


def lambdas_of_a_loop_share_its_variable(a):
    made = ()
    for k in (1.0, 2.0, 3.0):
        made = (*made, lambda v: k * v)
    return made[0](a) + 10.0 * made[2](a)


def lambdas_with_defaults_keep_their_own(a):
    made = ()
    for k in (1.0, 2.0, 3.0):
        made = (*made, lambda v, k=k: k * v)
    return made[0](a) + 10.0 * made[2](a)


def kahan_sum_with_nonlocals(x):
    total = 0.0
    lost = 0.0

    def add(v):
        nonlocal total, lost
        y = v - lost
        t = total + y
        lost = (t - total) - y
        total = t

    for v in x:
        if v > 0.7:
            add(v * v)
        else:
            add(v)
    return total


def _make_counter(start, step):
    value = start

    def advance():
        nonlocal value
        value = value + step
        return value

    return advance


def counters_of_a_factory_are_apart(a, b):
    slow = _make_counter(a, 1.0)
    fast = _make_counter(b, 10.0)
    slow()
    fast()
    return slow() * fast()


def callback_changes_what_is_around(a, n):
    total = 0.0

    def add(v):
        nonlocal total
        total += v * v

    def twice(action, v):
        action(v)
        action(2.0 * v)

    for _ in range(n):
        twice(add, a)
    return total


def inner_function_assigns_two_levels_up(a, n):
    best = a

    def outer(v):
        def inner(w):
            nonlocal best
            if w > best:
                best = w

        inner(v)
        inner(v * v)

    for k in range(n):
        outer(a + 0.3 * k + 0.1)
    return best


def array_rebound_inside(x, n):
    field = np.zeros(len(x))

    def push(v):
        nonlocal field
        field = field + v * x

    for k in range(n):
        push(k + 1.0)
    return np.sum(field * field)


def array_changed_inside(x, n):
    field = x.copy()

    def damp():
        field[1:] *= 0.5

    for _ in range(n):
        damp()
    return field


def variable_assigned_after_the_function(a):
    def shifted():
        return a + offset

    offset = 2.0 * a
    return shifted()


def variable_without_a_value_yet(a):
    def shifted():
        return a + offset

    early = shifted()
    offset = 2.0 * a
    return early + offset


def variable_bound_on_some_paths(a, n):
    def scaled():
        return a * factor

    if n > 1:
        factor = 3.0
    return scaled()


def chosen_tables_of_functions(a, n):
    scale = 1.0

    def up(v):
        return v * scale

    def down(v):
        return v / scale

    table = (up, down)
    total = 0.0
    for _ in range(n):
        scale = scale + 0.5
        for step in table:
            total += step(a)
    return total


def lambda_inside_lambda(a, b):
    shifted = lambda v: lambda w: v * w + a  # noqa: E731
    return shifted(b)(a)


def functions_appended(x, a):
    """A list of functions that a loop over few integers makes: each sees the last value of `k`."""
    late, early = [], []
    for k in range(3):
        late.append(lambda v: v * k + a)
        early.append(lambda v, k=k: v * k)
    return sum([f(x[0]) for f in late]), [f(x[0]) for f in early]


def reduced(x, n, a):
    doubled = [2.0 * v for v in x if v > -10.0]
    pairs = functools.reduce(lambda s, p: s + p[0] * p[1], zip(x, x * x, strict=True), a)
    return functools.reduce(lambda p, q: p + q, doubled), functools.reduce(operator.mul, range(1, n + 1), 1), pairs
