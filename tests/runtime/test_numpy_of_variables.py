"""NumPy of variables and shared variables: operators, functions, methods and attributes, as in plain NumPy."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError, SrcgraphError
from srcgraph.frontend.numpy_table import METHODS
from srcgraph.frontend.resolve import methods
from srcgraph.ir import matrix, scalar, vector
from srcgraph.ir.operators import Operators
from srcgraph.ir.shared import SharedVariable
from srcgraph.runtime.symbolic import call, gradients

X, M, K = np.array([0.3, -1.2, 2.5]), np.arange(9.0).reshape(3, 3) / 7.0 + np.eye(3), np.array([2, 0, 1])
C, W, A = np.array([True, False, True]), np.array([1.0, 2.0, -3.0]), M.T.copy()

EXPRESSIONS: list[Callable[..., Any]] = [
    lambda x, m, c, k, w, a: np.sum(w) + w.sum(axis=0) + x.sum(),
    lambda x, m, c, k, w, a: np.dot(x, w) + w.dot(x) + x.dot(w) + w @ x,
    lambda x, m, c, k, w, a: np.where(c, x, w) + np.where(w > 1.0, w, 0.0),
    lambda x, m, c, k, w, a: np.concatenate([w, x, [1.0, 2.0]]),
    lambda x, m, c, k, w, a: np.stack((x, w), axis=-1) + np.vstack([w, x]).T,
    lambda x, m, c, k, w, a: np.linalg.solve(a, w) + np.linalg.solve(m, x),
    lambda x, m, c, k, w, a: np.linalg.slogdet(m)[1] * np.linalg.det(a),
    lambda x, m, c, k, w, a: np.linalg.eigh(m @ m.T).eigenvalues,
    lambda x, m, c, k, w, a: np.outer(x, w) + np.tensordot(m, a, axes=([0], [1])),
    lambda x, m, c, k, w, a: np.einsum("ij,j->i", a, w) + np.maximum(w, x) + np.hypot(x, w),
    lambda x, m, c, k, w, a: np.array([1.0, 2.0, 3.0]) * w + np.array([1.0, 2.0, 3.0]) @ x + W / x,
    lambda x, m, c, k, w, a: np.float64(2.0) * w + 2**w - 5.0 // x + 2 % w + (-2.0) ** np.abs(k),
    lambda x, m, c, k, w, a: c & (x > 0.0) | ~(w >= 1.0) ^ c,
    lambda x, m, c, k, w, a: (k << 1) + (k >> 1) + (1 | k) + (k & 1) + divmod(k, 2)[1],
    lambda x, m, c, k, w, a: abs(w) + +x - abs(x) + round(x.sum(), 1),
    lambda x, m, c, k, w, a: x.clip(0.0, 1.0) + x.round() + w.copy() + w.astype("float32"),
    lambda x, m, c, k, w, a: a.transpose() + m.swapaxes(0, 1) + a.T + m.reshape(9).reshape((3, 3)),
    lambda x, m, c, k, w, a: m.ravel()[k] + a.flatten()[:3] + m.diagonal() + x.take([0, 2, 1]),
    lambda x, m, c, k, w, a: w.mean() + w.std() + x.var(ddof=1) + w.max() - x.min() + w.argmax() + x.prod(),
    lambda x, m, c, k, w, a: a.reshape(x.shape[0], 3) * x.size + w.shape[0] + a.ndim,
    lambda x, m, c, k, w, a: np.zeros_like(x) + np.ones_like(w) + np.full_like(x, 2.0),
    lambda x, m, c, k, w, a: x[w > 0.0].sum() + w[k] + x[c][0] + w[x[:1].argmax()] + a[0, :],
    lambda x, m, c, k, w, a: np.add.reduce(x) + np.multiply.outer(x, w)[0] + np.maximum.accumulate(x),
    lambda x, m, c, k, w, a: np.take_along_axis(m, k[:, None], axis=1) + np.repeat(w, 2)[:3],
    lambda x, m, c, k, w, a: np.fft.fft(w).real + np.real(x) + np.fft.ifft(x).imag,
    lambda x, m, c, k, w, a: np.select([c, x > 0.0], [x, w], 0.0) + np.choose(k, [x, w, x]),
    lambda x, m, c, k, w, a: np.full(3, x[0]) if isinstance(x, np.ndarray) else np.array([x[0], x[0], x[0]]),
    lambda x, m, c, k, w, a: np.equal(k, 1) | np.not_equal(x, w),
    lambda x, m, c, k, w, a: [1.0, 2.0, 3.0] + w * x,
    lambda x, m, c, k, w, a: np.percentile(w, 30.0) + np.median(x) + np.average(x, weights=abs(w)),
    lambda x, m, c, k, w, a: np.pad(x, 1)[1:-1] + np.roll(w, 1) + np.tile(w, 2)[3:] + np.diff(w)[0],
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(EXPRESSIONS)))
def test_what_numpy_gives(k: int) -> None:
    """Of variables and of shared ones, what NumPy gives of their values."""
    build, own, stored = EXPRESSIONS[k], sg.shared(W, "w"), sg.shared(A, "a")
    given = [vector("x"), matrix("m"), vector("c", "bool"), vector("k", "int64")]
    found = sg.function(given, build(*given, own, stored), engine="interp")(X, M, C, K)
    wanted = build(X, M, C, K, W, A)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype and np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


COSTS: list[Callable[..., Any]] = [
    lambda x, w: np.sum(np.where(x > 0.0, w * x, np.sin(x))) + w.dot(x),
    lambda x, w: np.linalg.norm(np.outer(x, w) + np.eye(3)) * np.stack([x, w]).prod(axis=0).sum(),
    lambda x, w: np.log(np.exp(w).sum()) + np.concatenate([x, w]).clip(-1.0, 1.0).mean() + abs(x * w).max(),
]


@pytest.mark.parametrize("cost", COSTS)
def test_gradients_are_those_of_the_function(cost: Callable[..., Any]) -> None:
    x, w = vector("x"), sg.shared(W, "w")
    found = sg.function([x], sg.grad(cost(x, w), wrt=[x, w]))(X)
    for k in (0, 1):
        for i in range(3):
            step = np.zeros((2, 3))
            step[k, i] = 1e-6
            slope = (cost(X + step[0], W + step[1]) - cost(X - step[0], W - step[1])) / 2e-6
            assert found[k][i] == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_gradients_with_respect_to_shared_variables() -> None:
    x, w = vector("x"), sg.shared(W, "w")
    by_w, by_x = sg.function([x], gradients((x * w).sum(), [w, x]))(X)
    np.testing.assert_array_equal(by_w, X)
    np.testing.assert_array_equal(by_x, W)


def test_what_is_known_is_no_variable() -> None:
    """Numbers of axes, dtypes and lengths that are known."""
    m, w = matrix("m", shape=(2, 3)), sg.shared(W, "w")
    assert (m.shape, m.ndim, m.size, m.dtype, w.ndim) == ((2, 3), 2, 6, np.dtype(float), 1)  # pyright: ignore
    assert np.ndim(m) == 2 and not np.iscomplexobj(m)  # pyright: ignore
    x = vector("x")
    assert sg.function([x], (x.shape, x.size))(X) == ((3,), 3)  # pyright: ignore
    w.value = np.zeros(5)
    assert sg.function([], w.shape)() == (5,)  # pyright: ignore


def test_every_method_of_arrays_is_one_of_variables() -> None:
    """All that compiled functions have, and no list of them besides."""
    assert all(hasattr(Operators, name) for name in (*METHODS, *methods()))
    assert hasattr(SharedVariable, "cumsum") and not hasattr(vector("x"), "strides")


x, k, w = vector("x"), scalar("k", "int64"), sg.shared(W, "w")

REFUSED: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (lambda: np.array2string(x), TypeError, r"np.array2string\(<x: f64\[n.*\]>\): numpy.array2string is not supported"),
    (lambda: np.fill_diagonal(matrix("m"), 0.0), TypeError, r"np.fill_diagonal\(.*stores into a variable"),
    (lambda: x.sort(), TypeError, r"\.sort\(\): it stores into a variable, which never changes"),
    (lambda: w.fill(0.0), TypeError, r"<w: .*\.fill\(0.0\): it stores into a variable"),
    (lambda: np.exp(x, out=np.zeros(3)), TypeError, r"np.exp: out= is an array, which cannot hold"),
    (lambda: np.zeros(3).__iadd__(x), TypeError, r"y \+= x of an array y is written y = y \+ x"),
    (lambda: np.array([x, x]), TypeError, r"is no array yet: NumPy's functions take it .*np.stack"),
    (lambda: np.asarray(w), TypeError, r"is no array yet"),
    (lambda: float(x.sum()), TypeError, r"is no number yet: call the function .* use NumPy's functions"),
    (lambda: np.zeros(x.shape), TypeError, r"so it cannot be an index or a length .*np.zeros_like\(x\)"),
    (lambda: x.sum(axis=3), SrcgraphError, r"<x: f64\[n.*\]>.sum\(axis=3\): axis 3 is out of bounds"),
    (lambda: x.sum(foo=1), TypeError, r"unexpected keyword argument 'foo'"),
    (lambda: x + "a", TypeError, r"unsupported operand type"),
    (lambda: np.where(x > 0.0, x, "a"), TypeError, r"is 'a'; a number or an array is needed"),
    (lambda: x.foo, AttributeError, r"no attribute 'foo'"),
    (lambda: k == 2, TypeError, r"ask whether it is the same variable: write np.equal"),
    (lambda: x != X, TypeError, r"write np.equal"),
    (lambda: k in [1, 2], TypeError, r"write np.equal"),
    (lambda: w == W, TypeError, r"x.value == y of what it holds now"),
    (lambda: bool(w), TypeError, r"or x.value of a shared variable"),
    (lambda: not k, TypeError, r"is no number yet"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused(number: int) -> None:
    make, error, message = REFUSED[number]
    with pytest.raises(error, match=message):
        make()


def test_variables_are_equal_if_they_are_one() -> None:
    """So they are keys, and are found in lists."""
    y, other = vector("y"), vector("y")
    assert y == y and y != other and y != "y" and y is not None and w != y
    assert {y: 1, other: 2}[y] == 1 and [other, y].index(y) == 1 and y in (other, y) and y not in {other}
    assert sg.function([y], y == y)(X) is True


# -- structures -----------------------------------------------------------------------------------


def test_nested_outputs() -> None:
    """Lists, tuples, named tuples and dicts, one in another; None is itself."""
    a, b = scalar("a"), sg.shared(1.0, "b")
    outputs = {"loss": a, "state": [b, (2.0 * a, None)], "det": np.linalg.slogdet(a * np.eye(2))}
    f = sg.function([a], outputs, updates={b: b + 1.0})
    f = pickle.loads(pickle.dumps(f))
    found = f(3.0)
    assert found["state"] == [1.0, (6.0, None)] and found["det"].sign == 1.0
    assert f(3.0)["state"][0] == 2.0
    plan = f.plan()
    plan.inputs[0].value = 3
    plan()
    assert [cell.name for cell in plan.outputs] == ["loss", "state.0", "state.1.0", "det.0", "det.1"]
    assert sg.function([a], None, updates={b: 0.0})(1.0) is None and b.value == 0.0
    with pytest.raises(ArgumentError, match="'abc' is no variable, number or array"):
        sg.function([a], [a, "abc"])


def test_conditionals_of_structures() -> None:
    a, y = scalar("a"), vector("y")
    chosen = sg.ifelse(a > 0.0, {"p": y, "q": (1.0, 2.0 * a), "n": None}, {"p": w, "q": (3.0, a), "n": None})
    f = sg.function([a, y], chosen)
    assert f(2.0, X)["p"].tolist() == X.tolist() and f(2.0, X)["q"] == (1.0, 4.0)
    assert f(-1.0, X)["p"].tolist() == W.tolist() and f(-1.0, X)["q"] == (3.0, -1.0) and f(-1.0, X)["n"] is None
    assert sg.function([a], sg.ifelse(a > 0.0, w, [0.0, 1.0, 2.0]))(-1.0).tolist() == [0.0, 1.0, 2.0]
    for then, orelse in (([y], [y, y]), ([y], (y,)), ({"p": y}, {"q": y}), ([y], y), (None, y)):
        with pytest.raises(ArgumentError, match="the structures differ"):
            sg.ifelse(a > 0.0, then, orelse)


def test_python_does_not_divide_by_zero() -> None:
    """As in compiled functions; NumPy's numbers and arrays do."""
    n, p, v = sg.shared(2, "n"), sg.shared(0.5, "p"), vector("v")
    built = [n // 0, n % 0, 1 / (n - 2), p / 0, 1.0 / (p - p), p // 0.0, n / (n - 2), divmod(n, 0)[0]]
    for quotient in built:
        with pytest.raises(ZeroDivisionError):
            sg.function([], quotient)()
    for quotient in (v.shape[0] // 0, 1.0 / (v.size - 3), 10 % (v.shape[0] - 3)):
        with pytest.raises(ZeroDivisionError):
            sg.function([v], quotient)(np.ones(3))
    assert sg.function([], [n // 2, 7 % n, 1 / n, p / 2])() == [1, 1, 0.5, 0.25]
    assert np.array_equal(sg.function([v], v / 0.0)(np.ones(2)), [np.inf, np.inf])
    assert sg.function([], sg.shared(np.float64(1.0)) / 0.0)() == np.inf


def test_gradients_do_not_go_through_what_is_given() -> None:
    """The cost sees it, and the gradient, which computes that value anew, would not."""
    x = vector("x")
    h = np.exp(x)
    cost = (h * x).sum()
    slope = sg.grad(cost, wrt=x)
    with pytest.raises(ArgumentError, match="a gradient is needed that was built through"):
        sg.function([h, x], [cost, slope])
    with pytest.raises(ArgumentError, match="a gradient is needed that was built through"):
        sg.function([x], slope, givens={h: 2 * x})
    assert sg.function([h, x], cost)([1.0, 2.0], [3.0, 4.0]) == 11.0
    np.testing.assert_allclose(sg.function([x], slope)([3.0, 4.0]), np.exp([3.0, 4.0]) * [4.0, 5.0])
    np.testing.assert_allclose(sg.function([x], slope, givens={x: 2 * x})([0.5]), [2 * np.e])
    by_h = sg.grad(cost, wrt=h)
    np.testing.assert_allclose(sg.function([h, x], by_h)([1.0, 2.0], [3.0, 4.0]), [3.0, 4.0])


def test_functions_without_a_name() -> None:
    v = vector("v")
    pieces = np.piecewise(v, [v > 1], [lambda q: 3 * q, 0.5])
    value, slope = sg.function([v], [pieces, sg.grad(pieces.sum(), wrt=v)])([0.0, 2.0, 3.0])
    assert value.tolist() == [0.5, 6.0, 9.0] and slope.tolist() == [0.0, 3.0, 3.0]


STRETCHED = {
    "hypot": lambda m, s: np.hypot(s, m),
    "where": lambda m, s: np.where(m > 2.0, s, m),
    "broadcast_to": lambda m, s: np.broadcast_to(s, (2, 3)),
    "subtract.outer": lambda m, s: np.subtract.outer(s, m),
    "clip": lambda m, s: np.clip(m, s, None),
    "copysign": lambda m, s: np.copysign(m, s),
}


@pytest.mark.parametrize("name", STRETCHED)
def test_lengths_that_turn_out_to_be_1(name: str) -> None:
    """A part of an array may have one column, and is stretched then, though the whole never has."""
    formula, m, whole = STRETCHED[name], matrix("m"), np.arange(-2.0, 4.0).reshape(2, 3)
    found = sg.function([m], formula(m, m[:, :1]))(whole)
    np.testing.assert_allclose(found, formula(whole, whole[:, :1]), rtol=4e-16)


def test_squeezed_part() -> None:
    m, whole = matrix("m"), np.arange(6.0).reshape(2, 3)
    f = sg.function([m], np.squeeze(m[:, 1:], 1))
    np.testing.assert_array_equal(f(whole[:, :2]), whole[:, 1])
    with pytest.raises(ValueError, match="size not equal to one"):
        f(whole)


def test_a_chain_knows_sizes_at_no_cost() -> None:
    """Each value of a chain shares what is known of lengths with the one before, so that n of them are built in n."""
    x = vector("x")
    first = y = x * 2.0
    for _ in range(50):
        y = y + x
    assert y.owner.known is first.owner.known
    unrelated = sum((vector() for _ in range(20)), x)
    assert len(unrelated.owner.known.sources) == 21


def test_built_values_are_not_pickled() -> None:
    with pytest.raises(TypeError, match=r"pickle the function that sg\.function makes of it"):
        pickle.dumps(vector("x") + 1.0)


def test_the_length_of_arange() -> None:
    n = scalar("n", "int64")
    with pytest.raises(TypeError, match=r"build call\(lambda n: np.arange\(n\), n\)"):
        np.arange(n)
    np.testing.assert_array_equal(sg.function([n], call(lambda n: np.arange(n) * 2.0, n))(3), [0.0, 2.0, 4.0])
