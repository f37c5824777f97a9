"""Structured values: named tuples, dataclasses, plain objects, dicts; what changes in them is seen by the caller."""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import NamedTuple

import numpy as np

Point = namedtuple("Point", "x y", defaults=(1.0,))


class Params(NamedTuple):
    """Constants of an oscillator."""

    k: float
    m: float = 2.0

    @property
    def frequency(self):
        return math.sqrt(self.k / self.m)

    def scaled(self, factor):
        return self._replace(k=self.k * factor)


@dataclass
class State:
    """A simulation's arrays and numbers."""

    u: np.ndarray
    v: np.ndarray
    t: float = 0.0
    steps: int = 0

    def advance(self, dt):
        self.v -= dt * self.u
        self.u += dt * self.v
        self.t += dt
        self.steps += 1

    @property
    def energy(self):
        return 0.5 * np.sum(self.u**2 + self.v**2)


@dataclass(frozen=True)
class Vec:
    x: float
    y: float

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return self + other * -1.0

    def __mul__(self, s):
        return Vec(self.x * s, self.y * s)

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __abs__(self):
        return math.sqrt(self.x * self.x + self.y * self.y)

    @classmethod
    def diagonal(cls, a):
        return cls(a, a)

    @staticmethod
    def dot(p, q):
        return p.x * q.x + p.y * q.y


@dataclass(slots=True, order=True)
class Version:
    major: int
    minor: float
    note: str = field(default="", compare=False)


@dataclass
class Fit:
    """A line, with a count of its own made for each."""

    slope: float
    start: float = 0.5
    doubled: float = field(init=False)
    extra: dict = field(default_factory=dict)

    def __post_init__(self):
        self.doubled = 2.0 * self.slope

    def __call__(self, v):
        return self.slope * v + self.start


class Pid:
    """A controller that remembers."""

    kd = 0.1

    def __init__(self, kp, ki):
        self.kp = kp
        self.ki = ki
        self.total = 0.0
        self.last = 0.0

    def step(self, error, dt):
        self.total += error * dt
        out = self.kp * error + self.ki * self.total + self.kd * (error - self.last) / dt
        self.last = error
        return out


class Kahan:
    """A sum that keeps what rounding loses."""

    def __init__(self):
        self.sum = 0.0
        self.lost = 0.0

    def add(self, v):
        y = v - self.lost
        t = self.sum + y
        self.lost = (t - self.sum) - y
        self.sum = t

    def __iadd__(self, v):
        self.add(v)
        return self


# -- named tuples ------------------------------------------------------------------------------------


def named_tuple_argument(params, a):
    k, m = params
    other = params._replace(k=a)
    return other.frequency * params[0] + params.frequency * m + k, other, len(params)


def named_tuple_made_in_a_loop(a, n):
    p = Point(a)
    for k in range(n):
        p = Point(p.x + 0.5 * k, y=p.y * p.x)
    return p


def named_tuple_on_two_paths(a, n):
    p = Params(a) if n > 1 else Params(2.0, m=a)
    return p.scaled(3.0), p.m


def named_tuples_are_tuples(a, b):
    p, q = Point(a, b), Point(a, b)
    joined = (*p, 3.0)
    return p == q, p == (a, b), p != (b, a), joined, p[1:], max(p), a in p


# -- tuples ------------------------------------------------------------------------------------------


def tuples_compared(a, b):
    return (1, a) < (1, b), (a, b) <= (a, b), (a, (b, 1)) == (a, (b, 1)), (1, 2) < (1, 2, 3), (b,) > (a, a)


def tuple_sliced_and_repeated(a, b):
    t = (a, b, 3) * 2
    return t[1:4], t[::-1], t[-1], 3 in t, len(t), (a, (b, t[2]))


def tuple_indexed_at_run_time(a, b, n):
    rates = (a, b, 2.0)
    total = 0.0
    for k in range(n):
        total += rates[k % 3] * (k + 1)
    return total


# -- dataclasses -------------------------------------------------------------------------------------


def state_stepped(state, n):
    for _ in range(n):
        state.advance(0.1)
    return state.energy


def state_replaced(state, n):
    for _ in range(n):
        state = replace(state, u=state.u + 0.1 * state.v, t=state.t + 0.1)
    return state.t, state.steps, np.sum(state.u * state.u)


def state_stops_early(state, n):
    for _ in range(n):
        state.advance(0.3)
        if state.energy > 1.0 and state.t > 0.5:
            break
    return state.t


def state_returned_is_the_argument(state):
    state.t = 2.5
    return state, state.u


def state_under_two_names(state, a):
    other = state
    other.t = a
    other.u[0:1] = a
    return state.t, other is state, state is not other


def field_assigned_on_one_path(state, a, n):
    if n > 1:
        state.t = a * a
        state.v = state.u * 2.0
    else:
        state.steps = 7
    return state.t + state.steps


def state_made_inside(x, n):
    state = State(x.copy(), np.zeros(len(x)))
    for _ in range(n):
        state.advance(0.2)
    return state


def states_swapped_in_a_loop(a, n):
    old, new = Version(1, a), Version(2, 2.0 * a)
    for _ in range(n):
        old, new = new, old
    return old.major, new.minor, old


def frozen_vectors(a, n):
    p = Vec(a, 1.0)
    for k in range(n):
        p = p + 0.5 * Vec(1.0, a + k)
        if abs(p) > 3.0:
            p = -p - Vec.diagonal(0.1)
    return p, Vec.dot(p, Vec(1.0, 2.0))


def objects_compared(a, b):
    p, q = Version(1, a), Version(1, b, "late")
    return p < q, p == Version(1, a, "other"), p != q, Vec(a, b) == Vec(a, b), p is q


def defaults_and_post_init(a):
    f, g = Fit(a), Fit(2.0, start=a)
    f.extra["count"] = 3
    return f(g(a)) + f.doubled, len(f.extra), len(g.extra), g


def instance_passed_to_functions(fit, x):
    total = 0.0
    for v in x:
        total += _applied(fit, v) + _applied(fit.__call__, v)
    return total


def _applied(f, v):
    return f(v) * v


# -- plain objects -----------------------------------------------------------------------------------


def pid_argument(pid, n):
    x = 0.0
    for _ in range(n):
        x += 0.1 * pid.step(1.0 - x, 0.1)
    return x


def pid_made_inside(a, n):
    pid = Pid(a, 0.5)
    x = 0.0
    step = pid.step
    for _ in range(n):
        x += 0.1 * step(1.0 - x, 0.1)
    return x, pid.total, pid.kd


def kahan_accumulator(x):
    acc = Kahan()
    for v in x:
        acc += v * v
    acc.add(0.5)
    return acc.sum


def object_in_a_tuple_of_objects(a, n):
    accumulators = (Kahan(), Kahan())
    for k in range(n):
        for acc in accumulators:
            acc.add(a * k)
        accumulators[1].add(1.0)
    return accumulators[0].sum, accumulators[1].sum


def same_object_twice(a):
    acc = Kahan()
    _add_both(acc, acc, a)
    return acc.sum


def _add_both(p, q, v):
    p.add(v)
    q.add(p.sum)


# -- dicts -------------------------------------------------------------------------------------------


def dict_of_weights_trained(weights, x, y, n):
    for _ in range(n):
        hidden = np.tanh(x * weights["a"] + weights["b"])
        error = hidden - y
        weights["a"] = weights["a"] - 0.1 * np.sum(error * x)
        weights["b"] -= 0.1 * np.sum(error)
    return np.sum((np.tanh(x * weights["a"] + weights["b"]) - y) ** 2)


def dict_methods(a):
    d = {"x": a, "y": 2.0}
    d["z"] = d["x"] + d.get("q", 1.0)
    d.update(x=5.0 * a)
    p = d.pop("y")
    d.setdefault("w", 0.5)
    return d, p, "y" in d, "z" in d, len(d), d.get("y")


def dict_looped_over(a, b):
    rates = dict(slow=a, fast=b)
    total = 0.0
    for name, rate in rates.items():
        total += rate * len(name)
    for name in rates:
        total += rates[name]
    return total, list(rates), sum(rates.values())


def dict_as_keywords(a, b):
    options = {"scale": a, "shift": b}
    return _scaled(2.0, **options), {**options, "scale": 1.0} == options


def _scaled(v, scale=1.0, shift=0.0):
    return v * scale + shift


def dict_in_a_loop_and_a_branch(a, n):
    d = {"sum": 0.0, "count": 0}
    for k in range(n):
        if k % 2 == 0:
            d["sum"] += a * k
        d["count"] += 1
    return d


def dict_key_missing(a):
    d = {"x": a}
    return d["y"]


def nested_structures(a):
    model = {"layer": Fit(a), "point": (Point(a, 2.0), {"deep": a * a})}
    model["layer"].slope = model["point"][1]["deep"]
    return model["layer"](1.0) + model["point"][0].x


class _Spring:
    def __init__(self, k):
        self.k = k

    def force(self, v):
        return -self.k * v

    @property
    def stiffness(self):
        return self.k


class _DampedSpring(_Spring):
    def __init__(self, k, rate):
        super().__init__(k)
        self.rate = rate

    def force(self, v, speed=1.0):
        return super().force(v) - self.rate * speed

    @property
    def stiffness(self):
        return super().stiffness + 0.5 * self.rate


def method_of_the_parent(a, b, n):
    """What `super` finds is called with the object itself."""
    spring = _DampedSpring(a, b)
    v = 1.0
    for _ in range(n):
        v += 0.1 * spring.force(v, speed=v)
    return v, spring.stiffness


@dataclass
class _Leg:
    rate: float
    times: np.ndarray


@dataclass
class _Swap:
    fixed: _Leg
    notional: float = 1.0


def fields_of_a_dataclass(a, x, n):
    """`asdict` copies: what is stored into the copy does not change the object."""
    swap = _Swap(_Leg(a, x))
    parts = asdict(swap)
    parts["fixed"]["times"][:1] = n
    other = replace(swap, notional=2.0)
    rate, times = astuple(swap.fixed)
    return parts["fixed"]["times"], rate * np.sum(times), other.notional * other.fixed.rate, len(parts)


class _Amount:
    def __init__(self, units):
        self.units = units

    def __round__(self, ndigits=0):
        return self.units * 10.0**ndigits


def method_for_a_builtin(a, n):
    """What a builtin is called with by name goes to the object's method, too."""
    amount = _Amount(a)
    return round(amount, ndigits=2), round(amount), round(amount, ndigits=n)


@dataclass
class _Named:
    """Fields of names that the compiler's own functions have for their parameters."""

    x: float
    low: float
    base: float = 0.0
    other: float = 0.0
    self_: float = 0.0


def _weighted(low, function, args, kwargs, self):
    return low + 2.0 * function + 3.0 * args + 4.0 * kwargs + 5.0 * self


def names_of_keywords(a, x):
    named = replace(_Named(x=a, low=1.0), x=2.0 * a, low=3.0, base=a, other=1.0)
    more = {}
    more.update(other=a, base=2.0, low=3.0)
    found = _weighted(low=a, function=1.0, args=2.0, kwargs=3.0, self=4.0)
    return named.x + named.low * named.base + named.other, more["other"] * more["low"], dict(low=a)["low"] * found
