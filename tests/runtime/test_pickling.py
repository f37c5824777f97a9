"""Functions of variables in other processes: pickled by their graphs, with what shared variables hold."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError
from srcgraph.ir import graph_of, matrix, scalar, structural_hash, vector
from srcgraph.ir.op import OPS, Op
from srcgraph.ir.symbolic import step
from srcgraph.ir.verify import verify
from srcgraph.runtime.symbolic import call


@pytest.fixture(scope="module")
def worker() -> Iterator[ProcessPoolExecutor]:
    """One process that knows nothing of this one."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def again(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


weight, bias = sg.shared(np.array([1.0, 2.0]), "weight"), sg.shared(0.5, "bias")


def prediction(x, scale=2.0):
    return scale * np.sum(weight.value * x) ** 2 + bias.value


def newton(a, n):
    r = a
    for _ in range(n):
        if r <= 0.0:
            raise ValueError("not positive")
        r = 0.5 * (r + a / r)
    return r


@pytest.mark.parametrize("engine", ["numba", "interp", "vm"])
def test_a_worker_runs_it(worker: ProcessPoolExecutor, engine: str) -> None:
    """The graph, parameters with their defaults, the structure of the results, and errors."""
    w, x, a, n = matrix("w"), vector("x"), scalar("a"), scalar("n", "int64", weak=True)
    cost = (np.tanh(w @ x) ** 2).sum() * call(newton, a, n)
    value, slopes = sg.value_and_grad(cost, wrt=[w, x])
    params = [w, x, sg.Param(a, default=2.0), sg.Param(n, default=3, name="trips")]
    f = sg.function(params, {"value": value, "slopes": slopes[0], 3: slopes[1]}, engine=engine, name="model")
    given = np.arange(6.0).reshape(2, 3) / 10.0, np.array([0.5, -1.0, 2.0])
    found, expected = worker.submit(f, *given, trips=2).result(100), f(*given, trips=2)
    assert list(found) == ["value", "slopes", 3]
    for key, wanted in expected.items():
        np.testing.assert_allclose(found[key], wanted, rtol=1e-14)
    with pytest.raises(ValueError, match="not positive"):
        worker.submit(f, *given, a=-1.0).result(100)
    with pytest.raises(TypeError, match="'x' is an array of 1 axis, not an array of 2 axes"):
        worker.submit(f, given[0], given[0]).result(100)


def test_a_worker_trains(worker: ProcessPoolExecutor) -> None:
    """Shared variables go along with what they hold; those here stay as they are."""
    w, x, y, array = sg.shared(np.array([1.0, 2.0]), name="w"), vector("x"), vector("y"), np.ones(2)
    cost = (w * x * y).sum()
    train = sg.function([x], [cost, w], updates={w: w - 0.5 * sg.grad(cost, wrt=w)}, givens={y: array})
    train(np.ones(2))
    array[:] = 2.0
    value, before = worker.submit(train, np.ones(2)).result(100)
    assert value == 4.0 and before.tolist() == [0.5, 1.5] and w.value.tolist() == [0.5, 1.5]


def test_what_is_read_again() -> None:
    """It says and does the same, and its variables are unlike all others."""
    a, v, state = scalar("a"), vector("v"), sg.shared(7.0, name="state")
    params = [v, sg.Param(a, default=state, name="start", allow_downcast=True)]
    f = sg.function(params, (v * a, sg.Out(v, borrow=True)), name="scaled")
    g = again(f)
    assert repr(g) == repr(f).replace(repr(state), repr(g.params[1].default)) and str(g) == str(f)
    assert structural_hash(g.graph) == structural_hash(f.graph)
    assert list(inspect.signature(g).parameters) == ["v", "start"] and g.params[1].allow_downcast
    given = np.ones(2)
    product, lent = g(given)
    assert product.tolist() == [7.0, 7.0] and lent is given
    with pytest.raises(TypeError, match="missing a required argument: 'v'"):
        g()
    plan = g.plan()
    plan.inputs[0].value = given
    plan()
    assert plan.outputs[0].value.tolist() == [7.0, 7.0]
    own = g.params[0].variable
    assert own.name == "v" and own.type.shape[0] != v.type.shape[0]
    verify(graph_of([own, v], [np.concatenate((own, v))]))
    assert again(g)(given, 2)[0].tolist() == [2.0, 2.0]


def test_pickled_together() -> None:
    """Functions share variables with each other, and with what they are pickled with."""
    b, a = sg.shared(1, name="b"), scalar("a", "int64", weak=True)
    add, count = sg.function([a], a + b), sg.function([], b, updates={b: b + 1})
    for own, get, up in (again((b, add, count)), copy.deepcopy((b, add, count))):
        assert (up(), up(), own.value, get(10)) == (1, 2, 3, 13)
        own.value = 5
        assert get(1) == 6 and b.value == 1
    near = copy.copy(count)
    assert near() == 1 and b.value == 2


def test_numbers_that_are_kept() -> None:
    x = vector("x")
    f = sg.function([x], [x * np.array([math.inf, -0.0]), x + math.nan, 2**62, 0.1, True], freeze=True)
    for found, wanted in zip(again(f)(np.ones(2)), f(np.ones(2)), strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert type(found) is type(wanted) and np.array_equal(np.signbit(found), np.signbit(wanted))


def test_what_has_no_text() -> None:
    """Ops of others may have attributes that cannot be written."""
    table = {"one": 1.0}
    name = "looked_up"
    op = Op(name, "One of a table.", infer=lambda x, *, table: x, numpy=lambda x, *, table: x + table["one"])
    try:
        x = scalar("x")
        f = sg.function([x], step(op, [x], {"table": table}), engine="interp")
        assert f(1.0) == 2.0
        with pytest.raises(
            ArgumentError, match=r"<function function\(x\)> cannot be pickled: .*\n.*where it is called"
        ):
            pickle.dumps(f)
    finally:
        OPS.pop(name, None)


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"return_value": True}])
def test_gradients_by_shared_variables(options: dict[str, Any]) -> None:
    """By the names of the function and the variables in their module."""
    x = np.array([0.5, 1.5])
    for wrt in (weight, [weight, bias], (bias,)):
        made = sg.grad(prediction, wrt=wrt, **options)
        found, wanted = again(made)(x, scale=3.0), made(x, scale=3.0)
        assert type(found) is type(wanted) and repr(found) == repr(wanted)
    value, slope = again(sg.value_and_grad(sg.compile(prediction, error_model="numpy"), wrt=bias))(x)
    assert (value, slope) == (prediction(x), 1.0)


def test_a_worker_takes_the_variables_that_are_there(worker: ProcessPoolExecutor) -> None:
    x, made = np.array([0.5, 1.5]), sg.grad(prediction, wrt=[weight, bias])
    found, wanted = worker.submit(made, x).result(100), made(x)
    assert np.array_equal(found[0], wanted[0]) and found[1] == wanted[1]


def test_gradients_by_others() -> None:
    """A variable that is found nowhere by name would be another one there, which the function does not read."""
    inner = sg.shared(1.0, "inner")
    with pytest.raises(
        ArgumentError, match="gradient of prediction by the shared variable 'inner' cannot be"
    ) as caught:
        pickle.dumps(sg.grad(prediction, wrt=inner))
    assert "make it a global of the module" in str(caught.value)


class Line:
    def __init__(self) -> None:
        self.slope = sg.shared(2.0, "slope")

    def at(self, x):
        return self.slope.value * x


def test_gradients_of_methods() -> None:
    """Methods are pickled by name, which was that of the method that was differentiated."""
    line = Line()
    for made in (sg.grad(line.at), sg.grad(sg.grad(line.at)), sg.value_and_grad(line.at, wrt=line.slope)):
        assert made.__name__ == "at"
        with pytest.raises(ArgumentError, match=r"made of the method at cannot be pickled.*\n.*where it is called"):
            pickle.dumps(made)
    assert again(sg.compile(line.at))(3.0) == 6.0
    assert again(functools.partial(sg.grad(Line.at, 1), line))(3.0) == 2.0


def cube_sum(x):
    return np.sum(x**3)


def test_jacobians(worker: ProcessPoolExecutor) -> None:
    x = np.array([1.0, 2.0])
    for made in (sg.hessian(cube_sum), sg.jacfwd(sg.grad(cube_sum)), sg.jacrev(sg.grad(cube_sum))):
        np.testing.assert_allclose(again(made)(x), np.diag(6.0 * x))
        np.testing.assert_allclose(worker.submit(made, x).result(), np.diag(6.0 * x))
    np.testing.assert_allclose(again(sg.vmap(sg.hessian(newton_step)))(x), 6.0 * x)


def newton_step(x):
    return x**3
