"""Functions mapped over lanes: what a plain loop over the lanes gives, in arrays."""

from __future__ import annotations

import dataclasses
import functools
import math
import pickle
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError
from srcgraph.ir.interp import interpret
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.verify import verify

pytestmark = pytest.mark.plainly

X = np.array([[0.2, 0.9, 0.4], [0.7, -0.3, 1.1], [1.5, 0.1, -0.6], [0.3, 0.8, 2.0]])
Y = X[::-1] * 0.5 + 0.1
W = np.arange(6.0).reshape(3, 2) / 7.0
V = np.array([0.5, 2.0, 1.25, 3.0])


def stacked(results: list[Any], axis: Any = 0) -> Any:
    """The results of all lanes, each kind of structure by its own rule."""
    first = results[0]
    if first is None:
        return None
    if isinstance(first, dict):
        return {key: stacked([r[key] for r in results], axis) for key in first}
    if dataclasses.is_dataclass(first):
        return type(first)(**stacked([vars(r) for r in results], axis))  # type: ignore[call-overload]
    if isinstance(first, tuple | list):
        axes = axis if isinstance(axis, tuple) else (axis,) * len(first)
        items = [stacked([r[k] for r in results], a) for k, a in enumerate(axes)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    return np.stack([np.asarray(r) for r in results], axis)


def looped(f: Callable, args: tuple[Any, ...], in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """What `vmap` means."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    count = next(np.shape(x)[a] for x, a in zip(args, axes, strict=True) if a is not None)
    lanes = [[x if a is None else np.take(x, k, a) for x, a in zip(args, axes, strict=True)] for k in range(count)]
    return stacked([f(*lane) for lane in lanes], out_axes)


def same(got: Any, want: Any) -> None:
    """Equal in structure, dtypes, shapes and, nearly, numbers."""
    assert type(got) is type(want)
    if isinstance(want, dict):
        assert list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    elif dataclasses.is_dataclass(want):
        got, want = list(vars(got).values()), list(vars(want).values())
    if isinstance(want, tuple | list):
        for g, w in zip(got, want, strict=True):
            same(g, w)
    elif want is not None:
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)


Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Layer:
    weights: Any
    shift: Any

    def apply(self, x):
        return np.tanh(x @ self.weights + self.shift)


def halvings(x):
    n = 0
    while x > 1.0:
        x, n = x / 2.0, n + 1
    return n, x, n > 1, x * 1j


def smoothed(u, rate, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += rate * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        if np.max(u) < 0.85:
            break
    return u


def first_above(row, level):
    for i in range(len(row)):
        if row[i] > level:
            return i
    return -1


def structured(x):
    return {"pair": Pair(x, x.sum()), "list": [1, x[:2]], "none": None, "layer": Layer(x * 2.0, 0.5)}


CASES: dict[str, tuple[Any, ...]] = {
    "numbers": (halvings, (V,)),
    "rows": (np.dot, (X, Y)),
    "shared": (np.dot, (X, W), (0, None)),
    "axes": (lambda x, y: (x * y, x.sum()), (X.T, Y), (-1, 0), (1, 0)),
    "last axis": (np.outer, (X, Y), 0, -1),
    "loops": (smoothed, (X, V, 9), (0, 0, None)),
    "early return": (first_above, (X, 0.85), (0, None)),
    "structures": (structured, (X,)),
    "slices": (lambda x: (x[1:-1], x[::-2], np.convolve(x, x)), (X,)),
    "lengths of integers": (lambda x, m: x[0] * np.arange(m), (X, 4), (0, None)),
    "lengths from the first lane": (lambda x, m: (x[:m], np.array([v for v in x if v > -9.0])), (X, 2), (0, None)),
    "branches of different lengths": (lambda x: x[:2] if x[0] > 0.5 else x[1:], (X,)),
    "gaps": (lambda x: x.T * 2.0, (np.arange(48.0).reshape(4, 6, 2)[::2, ::3],)),
    "one lane": (lambda x: x * x[0], (X[:1],)),
    "lanes of one": (lambda x: x * 2.0, (X[:, :1],)),
    "narrow": (lambda x, k: (x * 2.0, k * k), (X.astype(np.float32), np.arange(4, dtype=np.int16))),
    "what does not depend on the lane": (lambda x: (1.5, 2, True), (X,)),
    "solve": (np.linalg.solve, (X[:, :, None] * X[:, None] + np.eye(3), Y)),
    "several": (lambda *xs: xs[0] - xs[1], (X, Y)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_a_plain_loop(name: str) -> None:
    f, args, *axes = CASES[name]
    same(sg.vmap(f, *axes)(*args), looped(f, args, *axes))


def test_lanes_in_structures() -> None:
    params = [(W, np.arange(8.0).reshape(4, 2)), Layer(np.stack([np.eye(2)] * 4), 0.5)]

    def net(p, scale, x):
        (w, b), layer = p
        return layer.apply(np.tanh(x @ w + b)) * scale["by"]

    axes = ([(None, 0), Layer(0, None)], {"by": 0}, 0)
    got = sg.vmap(net, in_axes=axes)(params, {"by": V}, X)
    want = [net([(W, params[0][1][k]), Layer(np.eye(2), 0.5)], {"by": V[k]}, X[k]) for k in range(4)]
    np.testing.assert_allclose(got, np.stack(want), rtol=1e-14)


def test_defaults_and_keywords() -> None:
    def f(x, scale=2.0, *, shift=0.0, **more):
        return x * scale + shift + more.get("extra", 0.0)

    np.testing.assert_array_equal(sg.vmap(f)(X), X * 2.0)
    np.testing.assert_array_equal(sg.vmap(f)(X, scale=V), X * V[:, None])
    np.testing.assert_array_equal(sg.vmap(f, in_axes=(0, None))(X, 3.0, shift=V), X * 3.0 + V[:, None])
    np.testing.assert_array_equal(sg.vmap(f, in_axes=(0,))(X, shift=V, extra=V), X * 2.0 + 2.0 * V[:, None])
    with pytest.raises(sg.errors.InferenceError, match="in_axes has 1 entry, but 2 arguments are given by position"):
        sg.vmap(f, in_axes=(0,))(X, 3.0)


def test_kinds_of_functions() -> None:
    """Methods, partials, ufuncs, functions of `math`, compiled ones; as a decorator, with options too."""
    layer = Layer(W, 0.5)
    same(sg.vmap(layer.apply)(X), np.tanh(X @ W + 0.5))
    same(sg.vmap(functools.partial(np.multiply, 2.0))(X), 2.0 * X)
    same(sg.vmap(math.sqrt)(V), np.sqrt(V))
    same(sg.vmap(sg.api.compile(lambda x: x * 2.0))(X), X * 2.0)
    same(sg.vmap(in_axes=(0, None), out_axes=1)(np.dot)(X, W), (X @ W).T)
    same(sg.vmap(lambda f, x: f(x))(np.sin, X), np.sin(X))
    assert sg.vmap(first_above) is sg.vmap(first_above)


@pytest.mark.parametrize("use", [sg.vmap, sg.jacfwd, sg.hessian, lambda f: sg.jvp(f, (1.0, 2.0), (1.0, 0.0))])
def test_functions_that_say_nothing_of_their_arguments(use: Any) -> None:
    with pytest.raises(ArgumentError, match=r"max> is not a Python function\nhint: write a function that calls it"):
        use(max)(1.0, 2.0)


@sg.vmap
def doubled(x):
    """Twice."""
    return x * 2.0


def test_as_a_function() -> None:
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Twice.")
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    again = pickle.loads(pickle.dumps(sg.vmap(first_above, (0, None))))
    np.testing.assert_array_equal(again(X, 0.85), [1, 2, 0, 2])


# -- no lanes ------------------------------------------------------------------------------------------


def test_no_lanes() -> None:
    numbers, rows = sg.vmap(lambda x: (x.max(), x @ W))(X[:0])
    assert (numbers.shape, rows.shape) == ((0,), (0, 2))
    assert sg.vmap(sg.vmap(lambda a: a > 0.0))(np.zeros((4, 0))).shape == (4, 0)
    assert sg.vmap(sg.grad(lambda x: np.prod(x)))(X[:0]).shape == (0, 3)
    with pytest.raises(ValueError, match="without one the shape of the result is not known"):
        sg.vmap(lambda x: x[x > 0.0])(X[:0])


# -- stores, effects -----------------------------------------------------------------------------------


def emptied(x):
    x[0] = 0.0
    return x.sum()


def counted(k, counts):
    counts[k] += 1
    return counts[k]


def test_stores_are_those_of_a_plain_loop() -> None:
    rows, counts = X.copy(), np.zeros(3, int)
    np.testing.assert_allclose(sg.vmap(emptied)(rows), X[:, 1:].sum(axis=1))
    np.testing.assert_array_equal(rows, X * [0.0, 1.0, 1.0])
    seen = sg.vmap(counted, in_axes=(0, None))(np.array([2, 0, 2, 2]), counts)
    np.testing.assert_array_equal(seen, [1, 1, 2, 3])
    np.testing.assert_array_equal(counts, [1, 0, 3])


def test_derivatives_change_nothing() -> None:
    rows = X.copy()
    np.testing.assert_array_equal(sg.vmap(sg.grad(emptied))(rows), np.ones((4, 3)) * [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(sg.grad(lambda x: np.sum(sg.vmap(emptied)(x)))(rows)[0], [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(rows, X)


def test_effects_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    sg.vmap(lambda k: print("lane", k))(np.arange(3))
    assert capsys.readouterr().out == "lane 0\nlane 1\nlane 2\n"
    noisy = sg.vmap(lambda x, rng: x + rng.normal(), in_axes=(0, None))
    np.testing.assert_array_equal(noisy(V, np.random.default_rng(3)), V + np.random.default_rng(3).normal(size=4))


# -- derivatives ---------------------------------------------------------------------------------------


def loss(w, x, y):
    z, n = w @ x, 0
    while abs(z) > 0.7:
        z, n = 0.5 * z, n + 1
    return (np.tanh(z) - y) ** 2 + n


def total(w, xs, ys):
    return np.sum(sg.vmap(loss, in_axes=(None, 0, 0))(w, xs, ys))


def penalty(w, xs, ys):
    per_example = sg.vmap(sg.grad(loss), in_axes=(None, 0, 0))(w, xs, ys)
    return np.sum(per_example**2)


def central(f: Callable, w: np.ndarray, h: float = 1e-5) -> np.ndarray:
    return np.array([(f(w + h * e) - f(w - h * e)) / (2.0 * h) for e in np.eye(len(w))])


START = np.array([0.5, -0.4, 0.3])


def test_gradients_of_each_example() -> None:
    each = sg.vmap(sg.grad(loss), in_axes=(None, 0, 0))(START, X, V)
    np.testing.assert_allclose(each, [sg.grad(loss)(START, x, y) for x, y in zip(X, V, strict=True)])
    values, gradients = sg.vmap(sg.value_and_grad(loss, argnums=(0, 2)), in_axes=(None, 0, 0))(START, X, V)
    np.testing.assert_allclose(values, [loss(START, x, y) for x, y in zip(X, V, strict=True)])
    np.testing.assert_array_equal(gradients[0], each)
    assert gradients[1].shape == (4,)
    np.testing.assert_allclose(sg.grad(total)(START, X, V), each.sum(axis=0), rtol=1e-14)


def test_derivatives_through_lanes() -> None:
    plain = lambda w: sum(np.sum(sg.grad(loss)(w, x, y) ** 2) for x, y in zip(X, V, strict=True))  # noqa: E731
    np.testing.assert_allclose(sg.grad(penalty)(START, X, V), central(plain, START), rtol=1e-7)
    slope = sg.jvp(penalty, (START, X, V), (np.ones(3), None, None))[1]
    np.testing.assert_allclose(slope, sg.grad(penalty)(START, X, V).sum(), rtol=1e-13)
    bend = sg.hessian(total)(START, X, V)
    by_lane = sg.vmap(sg.hessian(loss), in_axes=(None, 0, 0))(START, X, V)
    np.testing.assert_allclose(bend, by_lane.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("jacobian", [sg.jacfwd, sg.jacrev, sg.jacobian])
def test_jacobians_of_lanes(jacobian: Callable) -> None:
    by_lane = sg.vmap(jacobian(lambda x: x * x[0]))(X)
    np.testing.assert_allclose(by_lane, [np.eye(3) * x[0] + np.outer(x, [1.0, 0.0, 0.0]) for x in X])
    whole = jacobian(sg.vmap(lambda x: x * x[0]))(X)
    np.testing.assert_allclose(np.einsum("iajb->iab", whole), by_lane)
    assert np.count_nonzero(whole) == np.count_nonzero(by_lane)


# -- inside compiled functions -------------------------------------------------------------------------


def kernel(xs, ys, width):
    def near(x, y):
        return np.exp(-np.sum((x - y) ** 2) / width)

    return sg.vmap(lambda x: sg.vmap(lambda y: near(x, y))(ys))(xs)


def numbered(xs):
    count = 0

    def one(x):
        nonlocal count
        count += 1
        return x.sum() * count

    return sg.vmap(one)(xs), count


def parts(m):
    return sg.vmap(lambda row: row * 2.0)(m[1:, ::2]), sg.vmap(lambda c: c[0], in_axes=1)(m)


def chosen(m, axis, scale):
    k = 1.0
    f = lambda r: r.sum() * k  # noqa: E731
    first = sg.vmap(f, in_axes=axis)(m)
    k = scale
    return first, sg.vmap(f, axis)(m)


def trained(w, xs, ys):
    step = sg.vmap(sg.grad(loss), in_axes=(None, 0, 0))
    for _ in range(3):
        w = w - 0.1 * np.mean(step(w, xs, ys), axis=0)
    return w


def test_inside() -> None:
    apart = X[:, None] - Y[None, :3]
    np.testing.assert_allclose(sg.api.compile(kernel)(X, Y[:3], 2.0), np.exp(-(apart**2).sum(axis=-1) / 2.0))
    sums, count = sg.api.compile(numbered)(X)
    np.testing.assert_array_equal(sums, X.sum(axis=1) * [1, 2, 3, 4])
    assert count == 4
    rows, firsts = sg.api.compile(parts)(X)
    np.testing.assert_array_equal(rows, X[1:, ::2] * 2.0)
    np.testing.assert_array_equal(firsts, X[0])
    for axis in (0, 1):
        first, second = sg.api.compile(chosen)(X, axis, 3.0)
        np.testing.assert_allclose(first, X.sum(axis=1 - axis))
        np.testing.assert_allclose(second, 3.0 * first)
    want = START
    for _ in range(3):
        want = want - 0.1 * np.mean([sg.grad(loss)(want, x, y) for x, y in zip(X, V, strict=True)], axis=0)
    np.testing.assert_allclose(sg.api.compile(trained)(START, X, V), want, rtol=1e-14)
    by_differences = central(lambda w: sg.api.compile(trained)(w, X, V).sum(), START)
    np.testing.assert_allclose(sg.grad(lambda w: np.sum(trained(w, X, V)))(START), by_differences, rtol=1e-7)


# -- the generated code --------------------------------------------------------------------------------


def test_one_plain_loop() -> None:
    """Numbers stay numbers; rows are written where they belong."""
    text = sg.vmap(lambda x: x[1:-1] * 2.0).python(X)
    assert text.count("for ") == 2 and "out[k, i] = x[k, i + 1] * 2.0" in text
    numbers = sg.vmap(halvings, mode=sg.opt.FAST_RUN.excluding("masked")).python(V)
    assert numbers.count(" empty(") == 4 and numbers.count("for ") == 1


def layers(params, x):
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.sum(x)


PARAMS = ((W, np.array([0.5, -0.5])), (W[:2] - 0.3, np.ones(2)))


def products(text: str) -> tuple[int, int]:
    """How many matrix products there are before the last loop over lanes, and in it or after it."""
    before, _, after = text.rpartition("for k in")
    return before.count("matmul("), after.count("matmul(")


def test_products_of_all_lanes() -> None:
    """What all lanes multiply by is multiplied by once, also where a lane computes its row first."""
    rows = sg.vmap(lambda x, w: w.T @ x, in_axes=(1, None))
    assert products(rows.python(X.T, W)) == (1, 0)
    np.testing.assert_allclose(rows(X.T, W), X @ W, rtol=1e-14)
    pairs = sg.vmap(sg.vmap(np.dot, in_axes=(None, 0)), in_axes=(0, None))
    assert products(pairs.python(X, Y)) == (1, 0)
    np.testing.assert_allclose(pairs(X, Y), X @ Y.T, rtol=1e-14)
    each = sg.vmap(sg.grad(layers), in_axes=(None, 0))
    assert products(each.python(PARAMS, X)) == (3, 0)
    found = each(PARAMS, X)
    for k, x in enumerate(X):
        for got, want in zip(found, sg.grad(layers)(PARAMS, x), strict=True):
            np.testing.assert_allclose(got[0][k], want[0], rtol=1e-12)
            np.testing.assert_allclose(got[1][k], want[1], rtol=1e-12)
    summed = sg.grad(lambda p, xs: np.sum(sg.vmap(layers, in_axes=(None, 0))(p, xs)))(PARAMS, X)
    np.testing.assert_allclose(summed[0][0], found[0][0].sum(axis=0), rtol=1e-12)
    with pytest.raises(ValueError, match="do not fit: 2 columns, 3 rows"):
        rows(X.T[:, :0], W[:2])


def scaled_first(x, scale, w):
    x *= scale
    return x @ w


def changing(x, w):
    y = x @ w
    w += y
    return y


def test_products_that_stay() -> None:
    """A row that the lane changes, and what the lanes change in turn."""
    rows = X.copy()
    np.testing.assert_allclose(sg.vmap(scaled_first, in_axes=(0, 0, None))(rows, V, W), (X * V[:, None]) @ W)
    np.testing.assert_array_equal(rows, X * V[:, None])
    shared, plain = W[:, 0].copy(), W[:, 0].copy()
    got = sg.vmap(changing, in_axes=(0, None))(X, shared)
    np.testing.assert_allclose(got, [changing(x, plain) for x in X], rtol=1e-14)
    np.testing.assert_allclose(shared, plain, rtol=1e-14)


def test_graphs_of_lanes() -> None:
    """Valid, read back from text, and of the same meaning node by node."""
    mapped = sg.vmap(lambda x, w: (np.sin(x * x[0]) @ w, x[1:]), in_axes=(0, None))
    graph = mapped.graph(X, W)
    assert "lanes=True" in str(graph)
    assert str(parse_graph(str(graph))) == str(graph)
    verify(graph)
    for got, want in zip(interpret(graph, [X, W]), mapped(X, W), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
