"""Calls: of other functions, of nested ones and lambdas; what they change, return and capture."""
# ruff: noqa: E731  (these programs do what people do)

import math

import numpy as np

_RATE = 0.7
_SIZE = 3
_WEIGHTS = np.array([0.2, 0.5, 0.3])
_TABLE = np.arange(12.0).reshape(4, 3) / 7.0
_PAIR = (0.4, 1.6)
_FLAG = True
_NAME = "cubic"


class _Gain:
    def __init__(self, k):
        self.k = k

    def __call__(self, v):
        return self.k * v


def _square(v):
    return v * v


def _scale(v, factor=2.0):
    return v * factor


def _divmod(p, q):
    whole = p // q
    return whole, p - whole * q


def _fill(out, value):
    for i in range(len(out)):
        out[i] = value * (i + 1)


def _double(v):
    v *= 2.0
    return v


def _swap_ends(v):
    v[0], v[-1] = v[-1], v[0]


def _clipped(v, low=-1.0, high=1.0):
    if v < low:
        return low
    if v > high:
        return high
    return v


def _first_row(q):
    return q[0]


def _inner(q):
    return q[1:-1]


def _norm(v):
    s = 0.0
    for value in v:
        s += value * value
    return math.sqrt(s)


def _normalized(v):
    return v / _norm(v)


def _kw(v, *, power=2, shift=0.0):
    return v**power + shift


def _total(*values):
    s = 0.0
    for v in values:
        s = s + v
    return s


def _derivative(u, h, out):
    out[0] = 0.0
    out[-1] = 0.0
    for i in range(1, len(u) - 1):
        out[i] = (u[i + 1] - u[i - 1]) / (2.0 * h)


def _apply(function, v):
    return function(v)


def _apply_twice(function, v):
    return function(function(v))


def _lotka(x, y):
    return x * (1.0 - y), y * (x - 1.0)


def call_function(a, b):
    return _square(a) + _square(b)


def call_in_expression(a, b):
    return _square(_scale(a) + _scale(b, 3.0)) * _square(a)


def call_default_argument(a):
    return _scale(a) + _clipped(a * 5.0) + _clipped(a, high=0.5) + _clipped(-9.0 * a, high=3.0)


def _mixed(v, *, names={"low": 0.5, "high": 2.0}, steps=[1.0, 3.0], both=(_WEIGHTS, 0.3), k=_Gain(1.5)):  # noqa: B006
    return (v * names["low"] + names["high"] + sum(steps)) * k(both[0][1] * both[1])


def call_default_of_several_kinds(a):
    return _mixed(a) + _mixed(a, names={"low": a, "high": 0.1}) * _mixed(a, steps=[a, 2.0, a])


def call_keywords(a, b):
    return _kw(a) + _kw(b, power=3) + _kw(a, shift=b, power=1)


def call_returns_tuple(a, b):
    whole, rest = _divmod(b * 4.0, a)
    return rest * a + whole


def call_returns_tuple_whole(a, b):
    both = _lotka(a, b)
    return both[0] * both[1], both


def call_with_several_types(a, x, k):
    return _square(a) + np.sum(_square(x)) + _square(k)


def call_star_arguments(a, b, pair):
    return _total(a, b, a * b) + _total(*pair) + _total()


def call_with_early_returns(x):
    s = 0.0
    for value in x:
        s += _clipped(value * 3.0 - 2.0)
    return s


def call_that_fills(x, a):
    out = np.empty_like(x)
    _fill(out, a)
    return out * x


def call_that_changes_argument(x):
    _double(x)
    return x[0]


def call_that_returns_its_argument(x):
    y = _double(x)
    y[0] = 5.0
    return np.sum(x * y)


def call_that_changes_a_slice(x):
    _double(x[1:])
    return x


def call_that_changes_a_row(m):
    _fill(m[0], 0.5)
    _swap_ends(m[-1])
    return np.sum(m * m)


def call_that_changes_a_column(m):
    _swap_ends(m[:, 1])
    return m


def call_on_each_row(m, a):
    for i in range(len(m)):
        _fill(m[i], a)
    return np.sum(np.sin(m))


def call_for_each_row(m):
    s = 0.0
    for row in m:
        s += _norm(row)
    return s


def call_returns_view(q):
    row = _first_row(q)
    row[0] = 9.0
    return np.sum(q * q)


def call_returns_view_of_slice(x, a):
    inner = _inner(x)
    inner += a
    return np.sum(x**2)


def call_returns_view_to_caller(q):
    return _first_row(q), _inner(q)


def call_nested_calls(x):
    return _normalized(_normalized(x) + x)


def call_same_array_twice(x):
    _derivative(x, 0.5, x)
    return x


def call_with_buffer(u, h, n):
    out = np.zeros_like(u)
    for _ in range(n):
        _derivative(u, h + 1.0, out)
        u += 0.1 * out * u
    return np.sum(u)


def call_in_loop_condition(a, t):
    while _square(a) < 4.0 + t:
        a = a * 1.3
    return a


def call_swapped_buffers(u, n):
    old = u.copy()
    new = np.zeros_like(u)
    for _ in range(n):
        _derivative(old, 1.0, new)
        new += 0.1 * old * old
        old, new = new, old
    return np.sum(old)


def function_argument(g, a, b):
    return g(a) * b + g(b)


def function_argument_to_callee(g, x):
    return np.sum(_apply(g, x) + _apply_twice(g, x * 0.5))


def function_passed_on(a, x):
    return _apply(_square, a) + np.sum(_apply_twice(np.sin, x)) + _apply(math.exp, a)


def function_in_tuple(a):
    s = a
    for f in (math.sin, _square, math.exp):
        s = f(s)
    return s


def function_chosen_when_compiling(a, b):
    f = _square if _NAME == "square" else _scale
    return f(a) + b


def nested_function(a, b):
    def weighted(v):
        return a * v + b

    return weighted(b) * weighted(2.0)


def nested_function_with_default(a, n):
    def step(v, rate=a):
        return v + rate * v * 0.1

    s = 1.0
    for _ in range(n):
        s = step(s)
    a = 100.0
    return s * step(1.0) + a


def nested_function_sees_rebinding(a, b):
    def f(v):
        return v * k

    k = a
    first = f(b)
    k = b
    return first + 10.0 * f(b)


def nested_function_in_loop(x, a):
    s = 0.0
    for i in range(len(x)):

        def term(v):
            return v * x[i] + i

        s += term(a)
    return s


def nested_function_stores(x, a):
    def put(i, v):
        x[i] = v * a

    for i in range(len(x)):
        put(i, x[i] + 1.0)
    return np.sum(x)


def nested_function_with_loop(x, a):
    def total(power):
        s = 0.0
        for v in x:
            s += v**power
        return s

    return total(2) * a + total(3)


def nested_function_returns_array(x, a):
    def shifted(v):
        return v + a * x

    return shifted(x) * shifted(2.0)


def nested_in_nested(a, b):
    def outer(v):
        def inner(w):
            return w * v + a

        return inner(b) + v

    return outer(a) * outer(2.0)


def lambda_assigned(a, b):
    f = lambda v: v * a + b
    return f(b) - f(0.5)


def lambda_argument(x, a):
    return np.sum(_apply(lambda v: v * a + 1.0, x))


def two_lambdas_on_a_line(a, b):
    f, g = (lambda v: v * a), (lambda v: v + b)
    return f(g(a)) + g(f(b))


def lambdas_late_binding(a, n):
    s = 0.0
    for i in range(n):
        f = lambda v: v * i
        i = i + 1
        s += f(a)
    return s


def lambda_default_binds_early(a, n):
    s = 0.0
    for i in range(n):
        f = lambda v, i=i: v * i
        i = i + 1
        s += f(a)
    return s


def lambda_conditional(a, b):
    f = lambda v: v * v if v > 1.0 else -v
    return f(a) + f(b)


def global_scalar(a):
    return a * _RATE + _RATE**2


def global_array(a):
    return np.sum(_WEIGHTS * a) + _WEIGHTS[1] * a


def global_matrix(x):
    s = 0.0
    for i in range(len(_TABLE)):
        for j in range(3):
            s += _TABLE[i, j] * x[i % len(x)]
    return s


def global_tuple(a):
    low, high = _PAIR
    return min(max(a, low), high) * high


def global_flag_and_string(a):
    if _FLAG and _NAME == "cubic":
        return a**3
    return a


def global_size(a):
    y = np.zeros(_SIZE)
    for i in range(_SIZE):
        y[i] = a * i
    return y


def global_through_callee(a):
    return _uses_global(a) + _RATE


def _uses_global(v):
    return v * _RATE * _WEIGHTS[0]


def _make_step(rate):
    def step(v):
        return v - rate * v * v

    return step


_STEP = _make_step(0.25)


def closure_from_factory(a, n):
    for _ in range(n):
        a = _STEP(a)
    return a


def returns_arguments(x, a):
    return x, a, x


def returns_views(m):
    return m[0], m[:, 1], m.T, m


def returns_new_and_view(x):
    y = x * 2.0
    return y, y[1:], y[::-1]


def returns_nested_tuples(a, x):
    return (a, (x * a, np.sum(x))), None, "text", True, 4


def alias_of_alias(x):
    y = x
    z = y
    z[0] = 3.0
    y[-1] += 1.0
    return np.sum(x * z)


def alias_then_rebind(x):
    y = x
    x = x * 2.0
    y[0] = 2.0
    return np.sum(x) + np.sum(y)


def alias_overlapping_views(x):
    head = x[:-1]
    tail = x[1:]
    tail *= 0.5
    head += tail
    return x


def alias_slice_of_itself(x):
    x[1:] += x[:-1]
    x[:-1] -= x[1:] * 0.5
    return x


def alias_transposed_sum(q):
    q += q.T
    return q


def alias_row_swap(m):
    top = m[0].copy()
    m[0] = m[-1]
    m[-1] = top
    return m[0] * 2.0


def alias_row_swap_tuple(m):
    m[0], m[-1] = m[-1].copy(), m[0].copy()
    return np.sum(m[0])


def alias_window(x, a):
    s = 0.0
    for i in range(len(x) - 1):
        window = x[i : i + 2]
        window[0] = window[1] * a
        s += window.sum()
    return s
