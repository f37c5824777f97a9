"""Functions that mean something else where ``V`` is 2, each for another reason; nothing in them says which."""

import enum
import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import srcgraph as sg

FIRST = os.environ.get("V", "1") == "1"


class Color(enum.Enum):
    RED = 1 if FIRST else 2


def plus_one(x):
    return x + 1.0


def plus_two(x):
    return x + 2.0


CHOSEN = plus_one if FIRST else plus_two
TABLE = {"a": CHOSEN}
PAIR = (CHOSEN, 2.0)
PART = functools.partial(lambda x, k: x * k, k=2.0 if FIRST else 3.0)
SLOPE = sg.grad((lambda x: x**2) if FIRST else (lambda x: x**3))
SQUARED = sg.grad(lambda x: x**3) if FIRST else sg.grad(sg.grad(lambda x: x**3))


@dataclass
class Fields:
    a: float
    b: float = 1.0 if FIRST else 5.0
    c: list = field(default_factory=(lambda: [1.0]) if FIRST else (lambda: [7.0]))


class Base:
    def m(self, x):
        return x


class OtherBase:
    def m(self, x):
        return -x


class Sub(Base if FIRST else OtherBase):
    S = 1.0 if FIRST else 9.0
    N = "one" if FIRST else "two"

    def m(self, x):
        return super().m(x) * 2

    st = staticmethod(CHOSEN)

    @classmethod
    def cl(cls, x):
        return x * cls.S

    pr = property((lambda self: 5.0) if FIRST else (lambda self: 6.0))

    __add__ = (lambda self, o: o + 1.0) if FIRST else (lambda self, o: o + 2.0)
    __call__ = (lambda self, x: x + 1.0) if FIRST else (lambda self, x: x + 2.0)


OBJECT = Sub()


class OneError(ValueError):
    pass


class TwoError(KeyError):
    pass


ERROR = OneError if FIRST else TwoError


@sg.custom_vjp
def rule(x):
    return x * x


rule.defvjp(lambda x: (x * x, x), (lambda s, c: (c * s,)) if FIRST else (lambda s, c: (c * s * 10,)))


def outer(k):
    def g(x):
        return x * k

    return g


CLOSURE = outer(2.0 if FIRST else 5.0)
AXES = (0,) if FIRST else (1,)
if not FIRST:
    sometimes = 3.0


@functools.cache
def remembered(x):
    return CHOSEN(x)


def by_default(x, f=CHOSEN):
    return f(x)


def call_slope(x):
    return SLOPE(x) + SQUARED(x)


def fields(x):
    p = Fields(x)
    return p.a + p.b + p.c[0]


def raises(x):
    if x > 0:
        raise ERROR("bad")
    return x


FUNCTIONS: dict[str, Callable] = {
    "enum": lambda x: x * Color.RED.value,
    "table": lambda x: TABLE["a"](x),
    "pair": lambda x: PAIR[0](x) * PAIR[1],
    "partial": lambda x: PART(x),
    "derivative": call_slope,
    "fields": fields,
    "method": lambda x: OBJECT.m(x),
    "static method": lambda x: OBJECT.st(x),
    "class attribute": lambda x: Sub.cl(x),
    "property": lambda x: OBJECT.pr * x,
    "operator": lambda x: OBJECT + x,
    "called": lambda x: OBJECT(x),
    "text": lambda x: x if Sub.N == "one" else x * 100,
    "error": raises,
    "rule": sg.grad(lambda x: rule(x)),
    "default": lambda x: by_default(x),
    "own default": by_default,
    "closure": lambda x: CLOSURE(x),
    "is it": lambda x: x * 2.0 if isinstance(OBJECT, Base) else x,
    "name": lambda x: x if FIRST else -x,
    "axis": lambda x: np.sum(np.ones((2, 3)), axis=AXES[0])[0] * x,
    "absent": lambda x: sometimes if x > 1e9 else x,
    "remembered": lambda x: remembered(x),
}


def outcome(function: Callable) -> str:
    try:
        return repr(float(function(1.5)))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    rows = {}
    for name, function in FUNCTIONS.items():
        before = sg.cache.info().process.hits
        plain = "" if isinstance(function, sg.Compiled) else outcome(function)
        rows[name] = [plain, outcome(sg.compile(function)), sg.cache.info().process.hits - before]
    print(json.dumps(rows), file=sys.stderr)
    print(json.dumps([sg.cache.info().process.compiled, dict(sg.cache.info().process.reasons)]), file=sys.stderr)
