"""Functions of many kinds, run and printed: a process that finds them on disk prints the same."""

import dataclasses
import functools
import json
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np

import srcgraph as sg

SCALE = 3.0
TABLE = np.linspace(0.0, 1.0, 4)
U = np.linspace(0.1, 0.9, 6)
M = np.array([[4.0, 1.0], [1.0, 3.0]])


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Body:
    position: np.ndarray
    mass: float = 2.0

    def energy(self, v):
        return 0.5 * self.mass * v * v

    @property
    def heavy(self):
        return self.mass > 1.0


class OwnError(ValueError):
    pass


def helper(x):
    return np.sin(x) * SCALE


def heat(u, k, steps):
    for _ in range(steps):
        u[1:-1] += k * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(helper(u) ** 2)


def hidden(x):
    return np.sum(TABLE * x)


def moved(b, v):
    b.position += v
    b.mass *= 2.0
    return Body(b.position * 2.0, b.energy(v) if b.heavy else 0.0)


def pair(p):
    return Point(p.y, p.x), [p.x, p.y], {"sum": p.x + p.y}, None


def pushed(xs, x):
    xs.append(x)
    return xs


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def even(x, n):
    return x if n == 0 else np.sin(odd(x, n - 1) * x)


def odd(x, n):
    return x * x if n == 0 else np.cos(even(x, n - 1) * x)


def along(x, axis):
    return np.sum(x, axis=axis)


def powered(x, f=None, *more, scale=1.0):
    y = x if f is None else f(x)
    for m in more:
        y = y * m
    return y * scale


def drawn(rng, n):
    return rng.normal(size=n) + rng.integers(0, 10)


def shown(x):
    print("x is", x)
    if x > 2.0:
        warnings.warn(f"large: {x}", UserWarning, stacklevel=1)
    return x


def refused(x):
    if x < 0.0:
        raise OwnError(f"negative: {x}")
    return x[0] if isinstance(x, tuple) else 1.0 / x


def solved(a, b):
    return np.linalg.solve(a, b), np.sort(b), np.fft.fft(b), np.linalg.eigvalsh(a)


def loss(w, x):
    return np.sum(np.tanh(w * x))


def newton(x):
    slope = sg.grad(lambda y: y**3 - 2.0)
    for _ in range(5):
        x = x - (x**3 - 2.0) / slope(x)
    return x


@sg.custom_vjp
def clipped(x):
    return x * 2.0


clipped.defvjp(lambda x: (x * 2.0, x), lambda saved, ct: (np.clip(ct, -1.0, 1.0) * saved,))


def uses_rule(x):
    return 10.0 * clipped(x)


def made(k):
    def inner(x):
        return x * k

    return inner


@functools.cache
def remembered(x):
    return x + 1.0


def text_of(result: Any) -> str:
    if isinstance(result, Body):
        return f"Body({text_of(result.position)}, {result.mass!r})"
    if isinstance(result, np.ndarray):
        return f"{result.dtype}{result.tolist()}"
    if isinstance(result, tuple | list):
        return f"{type(result).__name__}({', '.join(map(text_of, result))})"
    return repr(result)


def with_error(function: Any, *args: Any) -> str:
    try:
        return text_of(function(*args))
    except Exception as error:
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


def results() -> dict[str, str]:
    out: dict[str, Any] = {"heat": sg.compile(heat)(U.copy(), 0.1, 5)}
    out["heat grad"] = sg.grad(heat, argnums=(0, 1))(U.copy(), 0.1, 5)
    out["heat value"] = sg.value_and_grad(heat, argnums=1)(U.copy(), 0.1, 5)
    out["second"] = sg.grad(sg.grad(lambda x: x**4 * SCALE))(2.0)
    out["hidden"] = sg.compile(hidden)(2.0)
    b = Body(U[:3].copy())
    out["body"] = (sg.compile(moved)(b, 0.5), b)
    out["pair"] = sg.compile(pair)(Point(1.0, 2.0))
    xs = [1.0, 2.0]
    out["list"] = (sg.compile(pushed)(xs, 3.0) is xs, xs)
    out["recursion"] = (sg.compile(factorial)(10), sg.compile(even)(0.7, 5))
    out["static"] = [sg.compile(along)(M, k) for k in (0, 1)]
    out["options"] = (sg.compile(powered)(2.0), sg.compile(powered)(2.0, helper, 3.0, scale=2.0))
    out["random"] = sg.compile(drawn)(np.random.default_rng(1), 3)
    out["solved"] = sg.compile(solved)(M, np.array([1.0, 2.0]))
    out["vmap"] = sg.vmap(sg.grad(loss), in_axes=(None, 0))(0.5, M)
    out["hessian"] = sg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    value, pullback = sg.vjp(lambda x, y: x * np.sum(y), 2.0, U)
    out["vjp"] = (value, pullback(1.0), pullback(2.0))
    out["jvp"] = sg.jvp(lambda x, y: x * y, (3.0, 2.0), (1.0, 10.0))
    out["newton"] = sg.compile(newton)(1.0)
    out["rule"] = sg.grad(uses_rule)(3.0)
    out["closures"] = [sg.compile(made(k))(2.0) for k in (1.0, 5.0)]
    out["partial"] = sg.compile(functools.partial(powered, scale=4.0))(1.0)
    out["method"] = sg.compile(Body(U).energy)(3.0)
    out["cached"] = sg.compile(remembered)(1.0)
    out["numpy model"] = sg.compile(refused, error_model="numpy")(0.0)
    found = {k: text_of(v) for k, v in out.items()}
    found["zero"] = with_error(sg.compile(refused), 0.0)
    found["own"] = with_error(sg.compile(refused), -1.0)
    found["shown"] = text_of(sg.compile(shown)(1.0))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        sg.compile(shown)(3.0)
    found["warned"] = f"{seen[0].message} {seen[0].filename.rsplit('/', 1)[-1]}:{seen[0].lineno}"
    return found


if __name__ == "__main__":
    print(json.dumps([results(), dataclasses.asdict(sg.cache.info().process)]), file=sys.stderr)
