"""Gradients with respect to shared variables, which commit nothing; and a network trained by them."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError, DerivativeError

X = np.array([0.5, -1.0, 2.0])


class Model:
    """A function that assigns what it reads."""

    def __init__(self) -> None:
        self.w = sg.shared(np.array([1.0, 2.0, 3.0]), "w")
        self.b = sg.shared(0.5, "b")
        self.calls = sg.shared(0, "calls")

    def cost(self, x, scale=1.0):
        r = np.sum(np.tanh(self.w.value * x)) * self.b.value
        self.b.value += 1.0
        self.w.value[0] = 7.0
        self.calls.value += 1
        return scale * (r + self.w.value[1] * self.b.value + self.w.value[0])


def expected() -> tuple[float, np.ndarray, float]:
    """The value, and the gradients by hand."""
    w, t = np.array([1.0, 2.0, 3.0]), np.tanh(np.array([1.0, 2.0, 3.0]) * X)
    by_w = (1 - t * t) * X * 0.5 + np.array([0.0, 1.5, 0.0])
    return float(t.sum() * 0.5 + w[1] * 1.5 + 7.0), by_w, float(t.sum() + w[1])


def untouched(model: Model) -> bool:
    return model.b.value == 0.5 and model.calls.value == 0 and np.array_equal(model.w.value, [1.0, 2.0, 3.0])


def test_structures() -> None:
    """A list, a tuple, or a variable alone; the value beside it; nothing is committed."""
    model = Model()
    w, b, (value, by_w, by_b) = model.w, model.b, expected()
    listed = sg.grad(model.cost, wrt=[w, b])(X)
    assert isinstance(listed, list) and np.allclose(listed[0], by_w) and np.isclose(listed[1], by_b)
    got, (first, second) = sg.value_and_grad(model.cost, wrt=(b, w))(X)
    assert np.isclose(got, value) and np.isclose(first, by_b) and type(first) is float and np.allclose(second, by_w)
    assert np.allclose(sg.grad(model.cost, wrt=w)(x=X), by_w)
    assert np.allclose(sg.grad(model.cost, wrt=(w,))(X, scale=2.0)[0], 2 * by_w)
    assert np.allclose(sg.grad(functools.partial(model.cost, X), wrt=w)(2.0), 2 * by_w)
    assert np.allclose(sg.grad(sg.compile(model.cost), wrt=w, checkpoint="auto")(X), by_w)
    gradient, seen = sg.grad(model.cost, wrt=w, return_value=True)(X)
    assert np.allclose(gradient, by_w) and np.isclose(seen, value)
    assert untouched(model)


def test_verified() -> None:
    """Every call is compared with differences."""
    model = Model()
    gradient = sg.grad(model.cost, wrt=[model.w, model.b], verify=True)
    found = gradient(X)
    assert np.allclose(found[0], expected()[1]) and np.isclose(found[1], expected()[2])
    assert untouched(model)


def test_inside_compiled_functions() -> None:
    """A step of gradient descent: what the gradient's function assigns is lost, what the step assigns is kept."""
    model = Model()
    made = sg.value_and_grad(model.cost, wrt=[model.w, model.b])

    def step(x):
        value, (by_w, by_b) = made(x)
        model.w.value -= 0.1 * by_w
        model.b.value -= 0.1 * by_b
        return value

    def inside(x):
        value, (by_w, by_b) = sg.value_and_grad(model.cost, wrt=[model.w, model.b])(x)
        model.w.value -= 0.1 * by_w
        model.b.value -= 0.1 * by_b
        return value

    value, by_w, by_b = expected()
    for function in (step, inside):
        model.w.value, model.b.value = np.array([1.0, 2.0, 3.0]), 0.5
        assert np.isclose(sg.compile(function)(X), value)
        assert np.allclose(model.w.value, [1.0, 2.0, 3.0] - 0.1 * by_w)
        assert np.isclose(model.b.value, 0.5 - 0.1 * by_b) and model.calls.value == 0


def test_the_values_are_those_that_the_function_has_assigned() -> None:
    """Inside, a gradient is taken at what the variables hold there."""
    b = sg.shared(2.0)

    @sg.compile
    def f(x):
        b.value = 5.0
        return sg.grad(lambda x: b.value**2 * x, wrt=b)(x)

    assert f(1.0) == 10.0 and b.value == 5.0


def test_second_derivatives() -> None:
    b = sg.shared(2.0)
    first = sg.grad(lambda x: b.value**3 * x, wrt=b)
    assert sg.grad(lambda x: first(x), wrt=b)(5.0) == 60.0
    assert sg.grad(lambda x: first(x))(5.0) == 12.0


def test_no_derivative_commits() -> None:
    """With respect to arguments, forward or backward: variables stay as they are; a map over lanes updates them."""
    model = Model()
    for made in (sg.grad(model.cost), sg.jacfwd(model.cost), sg.hessian(model.cost)):
        made(X)
    sg.jvp(model.cost, (X,), (X,))
    sg.vjp(model.cost, X)[1](1.0)
    assert untouched(model)
    sg.vmap(lambda x: model.cost(x))(np.ones((4, 3)))
    assert model.calls.value == 4 and model.b.value == 4.5


@pytest.mark.parametrize(
    ("wrt", "message"),
    [
        (sg.shared(1, "n"), "'n' holds int, which has no gradient"),
        (sg.shared(1.0, "c", frozen=True), "'c' is frozen"),
        ([3.0], "3.0, which is no shared variable"),
        ((), "there is none"),
    ],
)
def test_what_has_no_gradient(wrt: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        sg.grad(lambda x: x, wrt=wrt)
    with pytest.raises(ArgumentError, match="both argnums and wrt"):
        sg.grad(lambda x: x, 1, wrt=sg.shared(1.0))


def test_a_network_trained() -> None:
    """The example: mean costs of three epochs, as NumPy computes them, and both ways into the network."""
    path = Path(__file__).parent.parent.parent / "examples" / "neural_network.py"
    spec = importlib.util.spec_from_file_location("neural_network", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    costs, net = example.train()
    assert np.allclose(costs, [0.26045718, 0.24456350, 0.23019019], rtol=0, atol=5e-9)
    w1, w2 = np.zeros((10, 3)), np.zeros((1, 10))
    for _ in range(3):
        for row in np.random.default_rng(279).random((10, 4)):
            h = 1.0 / (1.0 + np.exp(-(w1 @ row[:3])))
            error = 2.0 * (w2 @ h - row[3:])
            by_hidden = (error @ w2) * h * (1.0 - h)
            w1, w2 = w1 - 1e-3 * np.outer(by_hidden, row[:3]), w2 - 1e-3 * np.outer(error, h)
    assert np.allclose(net.w1.value, w1, rtol=1e-12) and np.allclose(net.w2.value, w2, rtol=1e-12)
    assert np.allclose(net.output_from_hidden(np.ones(10)), net.w2.value @ np.ones(10))
    net.lr.value = 0.0
    before = net.w1.get_value()
    net.sgd_step(X, np.ones(1))
    assert np.array_equal(net.w1.value, before)


def test_checkpoints() -> None:
    """What is run again is differentiated by the variables that it reads, too."""
    w, b = sg.shared(np.array([1.0, 2.0, 3.0])), sg.shared(0.5)

    def layer(x):
        return np.tanh(w.value * x) * b.value

    def cost(f):
        def run(x):
            y = f(x)
            for _ in sg.checkpoint(range(3), 2):
                y = np.sin(y + w.value)
                b.value = b.value * 0.9
            return np.sum(y) * b.value

        return run

    plain = sg.grad(cost(layer), wrt=[w, b])(X)
    again = sg.grad(cost(sg.checkpoint(layer)), wrt=[w, b])(X)
    assert np.allclose(plain[0], again[0], rtol=1e-12) and np.isclose(plain[1], again[1], rtol=1e-12)
    assert np.all(plain[0] != 0.0) and b.value == 0.5


def test_rules_of_your_own() -> None:
    """A rule is for arguments: where the derivative depends on a variable the function reads, it is refused."""
    w, b = sg.shared(np.array([1.0, 2.0, 3.0]), "w"), sg.shared(0.5)

    @sg.custom_vjp
    def dot(x):
        return np.sum(w.value * x)

    dot.defvjp(lambda x: (dot(x), None), lambda _, ct: (10.0 * ct * w.value,))

    def cost(x):
        return dot(x) * b.value

    assert np.allclose(sg.grad(cost)(X), 5.0 * w.value)
    assert np.isclose(sg.grad(cost, wrt=b)(X), np.sum(w.value * X))
    with pytest.raises(DerivativeError, match="for which dot has no rule"):
        sg.grad(cost, wrt=w)(X)


def test_jacobians_by_shared_variables() -> None:
    """Of each of them: by a variable as by an argument, in the structure of ``wrt``; inside compiled functions too."""
    w = sg.shared(np.array([1.0, 2.0]), name="w")
    x = np.array([3.0, 4.0])

    def cubes(x: Any) -> Any:
        return x * w.value**3

    def cost(x: Any) -> Any:
        return np.sum(x * w.value**3)

    want, second = np.diag(3 * x * w.value**2), np.diag(6 * x * w.value)
    for derivative in (sg.jacfwd, sg.jacrev, sg.jacobian):
        np.testing.assert_allclose(derivative(cubes, wrt=w)(x), want)
        np.testing.assert_allclose(derivative(cubes, wrt=[w])(x)[0], want)
    np.testing.assert_allclose(sg.hessian(cost, wrt=w)(x), second)
    np.testing.assert_allclose(sg.compile(lambda x: sg.jacobian(cubes, wrt=w)(x))(x), want)
    assert w.value.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacfwd", "jacrev", "jacobian", "hessian"])
@pytest.mark.parametrize("argnums", [0, 1, (0,)])
def test_argnums_beside_wrt(name: str, argnums: Any) -> None:
    """The first argument, said aloud, is refused as others are."""
    w = sg.shared(2.0, name="w")
    f = lambda x: x * w.value  # noqa: E731
    with pytest.raises(TypeError, match="both argnums and wrt are given"):
        getattr(sg, name)(f, argnums, wrt=w)
    with pytest.raises(TypeError, match="both argnums and wrt are given"):
        sg.compile(lambda x: sg.grad(f, argnums=0, wrt=w)(x))(1.0)
