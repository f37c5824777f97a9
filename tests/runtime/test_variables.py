"""Functions of variables: parameters, results, updates, givens; graphs that no source exists for."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import srcgraph as sg
from srcgraph.errors import ArgumentError, InferenceError, SrcgraphError
from srcgraph.ir import graph_of, matrix, scalar, tensor, vector
from srcgraph.ir.graph import Value
from srcgraph.ir.symbolic import variable_of
from srcgraph.ir.verify import verify
from srcgraph.opt.marks import unmarked
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import PRIMAL
from srcgraph.runtime.formulas import written
from srcgraph.runtime.symbolic import call, gradients

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def run(params: list[Value], outputs: Any, *args: Any, **options: Any) -> Any:
    return sg.function(params, outputs, engine="interp", **options)(*args)


# -- what can be built ----------------------------------------------------------------------------

x, m, i = vector("x"), matrix("m"), scalar("i", "int64", weak=True)
X, M = np.array([0.3, -1.2, 2.5]), np.arange(12.0).reshape(4, 3) / 7.0


def _apply(function: Any, x: Any) -> Any:
    return call(function, x) if isinstance(x, Value) else function(x)


EXPRESSIONS: list[Any] = [
    lambda x, m, i: x + 1.0,
    lambda x, m, i: 2.0 - x / 3.0,
    lambda x, m, i: -x * x,
    lambda x, m, i: x**2 + 2.0**x,
    lambda x, m, i: x // 0.5 + x % 0.5,
    lambda x, m, i: m @ x,
    lambda x, m, i: m.T @ (m @ x),
    lambda x, m, i: x[1],
    lambda x, m, i: x[-1] * x[i],
    lambda x, m, i: x[1:],
    lambda x, m, i: x[::-1] + x[:i][0],
    lambda x, m, i: m[1:, 0],
    lambda x, m, i: m[:, None, i],
    lambda x, m, i: m[..., 1],
    lambda x, m, i: x[np.array([2, 0, 0])],
    lambda x, m, i: x[x > 0.0],
    lambda x, m, i: x.sum() + m.mean(axis=0, keepdims=True),
    lambda x, m, i: np.where(x > 0.0, np.sqrt(np.abs(x)), 0.0),
    lambda x, m, i: _apply(lambda x: np.concatenate((x, x[:1])), x),
    lambda x, m, i: np.maximum(x, 0.5) + np.clip(x, -1.0, 1.0),
    lambda x, m, i: np.linalg.inv(m.T @ m + np.eye(3)) @ x,
    lambda x, m, i: special.expit(x),
    lambda x, m, i: np.exp(x).astype("float32"),
    lambda x, m, i: m.reshape((3, 4))[i],
    lambda x, m, i: np.sort(x),
    lambda x, m, i: _apply(lambda x: np.fft.fft(x).real, x),
    lambda x, m, i: (m > 0.5).any(axis=1),
    lambda x, m, i: np.cumsum(x)[-1],
    lambda x, m, i: np.concatenate((x, x[:i])),
    lambda x, m, i: np.stack([x, m[0], 2.0 * x], axis=1) + np.vstack((x, m))[1:].T[:, :3],
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(EXPRESSIONS)))
def test_expression_of_variables(k: int) -> None:
    """What is built of variables gives what NumPy gives of numbers."""
    build = EXPRESSIONS[k]
    found = run([x, m, i], build(x, m, i), X, M, 1)
    wanted = build(X, M, 1)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype and np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


SAME: list[Any] = [
    lambda x: np.exp(x) * 2.0,
    lambda x: x[1:] - x[:-1],
    lambda x: np.sum(x * x),
    lambda x: np.log(np.sum(np.exp(x))),
    lambda x: np.where(x > 0.0, x, 0.0).sum(),
    lambda x: x[::2] + 1.0,
    lambda x: np.dot(x, x) / 3.0,
    lambda x: np.sqrt(np.mean(x**2)),
    lambda x: np.tanh(x) - x / (1.0 + np.abs(x)),
    lambda x: np.maximum(x, 0.5).max(),
    lambda x: x[-1] * x[0] + x[1],
    lambda x: np.cumsum(x)[::-1] + 1.0,
    lambda x: np.exp(-0.5 * x * x).prod(),
    lambda x: np.outer(x, x).sum(axis=0),
    lambda x: np.concatenate((x, x)),
    lambda x: np.sort(x)[1:] + 0.5,
    lambda x: np.any(x > 2.0),
    lambda x: np.argmax(x * x),
    lambda x: 2.0 - x.reshape((1, -1)),
    lambda x: np.floor(x) % 3.0,
    lambda x: np.clip(x, -1.0, 1.0) // 0.5,
    lambda x: x @ x,
    lambda x: np.linalg.norm(x),
    lambda x: x.astype("float32") * np.float32(2.0),
]


@pytest.mark.parametrize("k", range(len(SAME)))
def test_built_and_written_are_one_graph(k: int) -> None:
    """One hash for what operators build of variables, and what the same text is compiled to."""
    function = SAME[k]
    own = vector("x")
    built = unmarked(run_passes(graph_of([own], [function(own)], "graph"), PRIMAL, check=True))
    written = sg.compile(function).graph(np.ones(5))
    assert sg.ir.structural_hash(built) == sg.ir.structural_hash(written)


def test_functions_called_on_variables() -> None:
    """Any function that can be compiled, with loops and branches; several results."""

    def newton(a, steps):
        r = a
        for _ in range(steps):
            if r <= 0.0:
                break
            r = 0.5 * (r + a / r)
        return r, a - r * r

    a, n = scalar("a"), scalar("n", "int64", weak=True)
    root, rest = call(newton, a, n)
    f = sg.function([a, n], {"root": root, "rest": rest * 2.0})
    found = f(2.0, 30)
    assert found["root"] == pytest.approx(2.0**0.5) and abs(found["rest"]) < 1e-14
    verify(f.graph)


def test_what_cannot_be_called() -> None:
    scale = 2.0
    with pytest.raises(ArgumentError, match="reads scale") as caught:
        call(lambda x: x * scale, x)
    assert "give it as an argument" in str(caught.value)
    with pytest.raises(SrcgraphError, match="'shape_' is not supported"):
        call(lambda x: x.shape_, x)
    with pytest.raises(InferenceError):
        x["a"]
    with pytest.raises(TypeError, match="not iterable"):
        list(x)


# -- parameters -----------------------------------------------------------------------------------


def test_parameters_by_name_with_defaults() -> None:
    a, b = scalar("a"), scalar("b")
    state = sg.shared(7.0, name="state")
    f = sg.function([a, sg.Param(b, default=44.0)], a + b)
    assert f(1.0) == 45.0 and f(a=3, b=2) == 5.0 and f(1.0, 2.0) == 3.0
    assert str(inspect.signature(f)) == "(a, b=44.0)"
    g = sg.function([sg.Param(a, default=state, name="start")], a * 2.0)
    assert g() == 14.0
    state.value = 8.0
    assert g() == 16.0 and g(start=1.0) == 2.0
    hidden = sg.function([a, sg.Param(b, default=1.0, implicit=True)], a + b)
    assert hidden(1.0) == 2.0 and list(inspect.signature(hidden).parameters) == ["a"]
    with pytest.raises(TypeError):
        f()


def test_what_a_parameter_takes() -> None:
    a, f, v = scalar("a"), scalar("f", "float32"), vector("v")
    double = sg.function([a], a * 2.0)
    assert double(3) == 6.0 and type(double(np.float32(1.5))) is np.float64
    strict = sg.function([sg.Param(a, strict=True)], a * 2.0)
    with pytest.raises(TypeError, match="'a' is of dtype float64, not int64"):
        strict(3)
    half = sg.function([f], f / np.float32(2.0))
    assert half(1.0).dtype == np.float32
    with pytest.raises(TypeError, match="'f' is of dtype float32, not float64; allow_downcast=True allows it"):
        half(np.float64(1.0))
    assert sg.function([sg.Param(f, allow_downcast=True)], f)(np.float64(0.5)) == np.float32(0.5)
    whole = scalar("n", "int64")
    with pytest.raises(TypeError, match="'n' is of dtype int64, not float64"):
        sg.function([whole], whole)(1.5)
    with pytest.raises(TypeError, match="'v' is an array of 1 axis, not an array of 2 axes"):
        sg.function([v], v)(np.ones((2, 2)))
    fixed = tensor("t", "float64", (2, 3))
    with pytest.raises(ValueError, match="axis 1 of 't' has length 4, not 3"):
        sg.function([fixed], fixed)(np.ones((2, 4)))


def test_arguments_never_change() -> None:
    """And a result is an array of its own, unless it may be borrowed."""
    v = vector("v")
    given = np.ones(3)
    changed = call(lambda v: _stored(v), v)
    f = sg.function([v], [changed, v])
    stored, same = f(given)
    assert stored[0] == 5.0 and np.all(given == 1.0) and same is not given
    assert run([v], sg.Out(v, borrow=True), given) is given and run([v], v, given) is not given


def _stored(v):
    v[0] = 5.0
    return v


@pytest.mark.parametrize("engine", ["interp", "vm", "eager", "numba"])
def test_results_are_apart(engine: str) -> None:
    """From each other, from what shared variables hold, and from those of the next call; unless they are borrowed."""
    v, a = vector("v"), np.ones(3)
    w, other = sg.shared(np.zeros(3), name="w"), sg.shared(np.zeros(3), name="other")
    double = v * 2.0
    f = sg.function([v], [double, double, w], updates={w: double, other: double}, engine=engine)
    first, second, before = f(a)
    arrays = [first, second, before, w.value, other.value, a]
    assert not any(np.may_share_memory(x, y) for k, x in enumerate(arrays) for y in arrays[:k])
    first[:] = 9.0
    assert w.value.tolist() == other.value.tolist() == [2.0, 2.0, 2.0]
    again, _, _ = f(2.0 * a)
    assert first.tolist() == [9.0, 9.0, 9.0] and second.tolist() == [2.0, 2.0, 2.0] and again[0] == 4.0
    lent = sg.function([], sg.Out(w, borrow=True), engine=engine)()
    assert lent is w.value and sg.function([], w, engine=engine)() is not w.value


@pytest.mark.parametrize("engine", ["interp", "numba"])
def test_cells(engine: str) -> None:
    """Filled in, called and read, a plan gives what a call gives; what is put in is cast, or refused."""
    a, b, v = scalar("a"), scalar("b"), vector("v")
    state = sg.shared(1.0, name="state")
    f = sg.function(
        [a, v, sg.Param(b, default=state)], {"sum": a + b, "product": a * v}, updates={state: a}, engine=engine
    )
    plan = f.plan()
    one, many, start = plan.inputs
    assert [c.name for c in plan.inputs] == ["a", "v", "b"] and [c.name for c in plan.outputs] == ["sum", "product"]
    one.value, many.value = 3, [1, 2]
    assert type(one.value) is np.float64 and many.value.dtype == np.float64 and not start.filled
    plan()
    assert plan.outputs[0].value == 4.0 and plan.outputs[1].value.tolist() == [3.0, 6.0] and state.value == 3.0
    plan()
    assert plan.outputs[0].value == 6.0
    start.value = 0.5
    plan()
    called = f(3, np.array([1, 2]), 0.5)
    assert plan.outputs[0].value == called["sum"] and np.array_equal(plan.outputs[1].value, called["product"])
    with pytest.raises(TypeError, match="'v' is an array of 1 axis, not a number"):
        many.value = 1.0
    with pytest.raises(ArgumentError, match="'a' is not given"):
        f.plan()()


def test_outputs_in_their_structure() -> None:
    a = scalar("a")
    assert sg.function([a], [a, a * 2.0])(1.0) == [1.0, 2.0]
    assert sg.function([a], (a,))(1.0) == (1.0,)
    assert sg.function([a], {"one": a})(1.0) == {"one": 1.0}
    assert sg.function([a], lambda a: a + 1.0)(1.0) == 2.0
    assert sg.function([a], 3.5)(1.0) == 3.5
    assert "def function(a: f64) -> f64" in str(sg.function([a], a))


def test_what_is_refused() -> None:
    a, b, v = scalar("a"), scalar("b"), vector("v")
    state = sg.shared(1.0, name="state")
    with pytest.raises(ArgumentError, match="the variable 'b' is needed") as caught:
        sg.function([a], a + b)
    assert "the parameters are a" in str(caught.value)
    with pytest.raises(ArgumentError, match="the shared variable 'state' is a parameter"):
        sg.function([state], a)
    with pytest.raises(ArgumentError, match="a variable is a parameter twice"):
        sg.function([a, a], a)
    with pytest.raises(ArgumentError, match="updates: 'state' is given twice"):
        sg.function([a], a, updates=[(state, a), (state, a)])
    with pytest.raises(ArgumentError, match="no shared variable"):
        sg.function([a], a, updates={a: a})
    with pytest.raises(ArgumentError, match="its new value"):
        sg.function([v], v, updates={state: v})
    with pytest.raises(ArgumentError, match=r"givens: .* cannot stand in its place"):
        sg.function([a, v], a, givens={a: v})
    with pytest.raises(ArgumentError, match="mode must be one of"):
        sg.function([a], a, mode="FASTER")


# -- shared variables, updates, givens ------------------------------------------------------------


def test_the_opening_example() -> None:
    b = sg.shared(1, name="b")
    a, state = scalar("a", "int64", weak=True), variable_of(b)
    f1 = sg.function([a], a + b)
    f2 = sg.function([a], b + a, updates={b: b + 1})
    assert (f1(3), f2(3), b.value, f1(3)) == (4, 4, 2, 5)
    b.value = 0
    assert f1(3) == 3
    assert variable_of(b) is state


def test_updates_are_simultaneous() -> None:
    a, b = sg.shared(1.0, name="a"), sg.shared(2.0, name="b")
    swap = sg.function([], [variable_of(a)], updates={a: b, b: a})
    assert swap() == [1.0] and (a.value, b.value) == (2.0, 1.0)
    numbers = sg.shared(np.zeros(3), name="numbers")
    before = numbers.value
    step = sg.function([], (), updates=[(numbers, variable_of(numbers) + 1.0)])
    assert step() == () and np.all(numbers.value == 1.0) and np.all(before == 0.0)


def test_nothing_is_updated_when_something_raises() -> None:
    a, k = sg.shared(1.0, name="a"), scalar("k", "int64", weak=True)
    v = vector("v")
    f = sg.function([v, k], v[k], updates={a: variable_of(a) + 1.0})
    f(np.ones(2), 1)
    with pytest.raises(IndexError):
        f(np.ones(2), 5)
    assert a.value == 2.0


def test_updates_from_threads() -> None:
    count = sg.shared(0, name="count")
    add = sg.function([], (), updates={count: variable_of(count) + 1}, engine="interp")

    def many() -> None:
        for _ in range(300):
            add()

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count.value == 1200


@pytest.mark.parametrize("engine", ["interp", "numba"])
def test_arrays_in_place_of_variables(engine: str) -> None:
    """They are read at each call, or copied once."""
    array, v = np.ones(2), vector("v")
    w, kept = sg.shared(np.zeros(2), name="w"), sg.shared(np.zeros(2), name="kept")
    follow = sg.function([], [array], updates={w: array}, engine=engine)
    frozen = sg.function([], [array], updates={kept: array}, engine=engine, freeze=True)
    for number in (1.0, 5.0):
        array[:] = number
        (out,), _ = follow(), frozen()
        assert w.value.tolist() == out.tolist() == [number, number] and kept.value.tolist() == [1.0, 1.0]
    assert w.value is not array and out is not array
    array[:] = 7.0  # after the call, which has put a copy there
    assert w.value.tolist() == [5.0, 5.0] and out.tolist() == [5.0, 5.0]
    given = sg.function([], v * 2.0, givens={v: array}, engine=engine)
    array[0] = 1.0
    assert given().tolist() == [2.0, 14.0]
    with pytest.raises(ArgumentError, match="its new value"):
        sg.function([], (), updates={w: np.ones((2, 2))})


def test_givens() -> None:
    """All at once, and of shared variables, too."""
    a, b = scalar("a"), scalar("b")
    assert run([a], a * 2.0, 3.0, givens={a: a + 1.0}) == 8.0
    assert run([a, b], a - b, 5.0, 3.0, givens={a: b, b: a}) == -2.0
    p, q = sg.shared(1.0, name="p"), sg.shared(10.0, name="q")
    f = sg.function([a], a * variable_of(p), givens={p: variable_of(q) + 1.0})
    assert f(2.0) == 22.0 and p not in f.shared


def test_function_of_an_intermediate() -> None:
    w = matrix("w")
    hidden = np.tanh(w @ x)
    out = (hidden * 2.0).sum()
    assert run([hidden], out, np.arange(3.0)) == 6.0


def test_a_network_learns() -> None:
    """The mean costs are those of the same network in plain NumPy."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "network.py")], capture_output=True, text=True, check=True, timeout=200
    )
    assert done.stdout.split()[:3] == ["0.26045718", "0.24456350", "0.23019019"]


def test_gradients_of_variables() -> None:
    w = matrix("w")
    cost = ((w @ x) ** 2).sum()
    by_w, by_x = gradients(cost, [w, x])
    values = np.arange(6.0).reshape(2, 3), np.ones(3)
    found = run([w, x], [by_w, by_x], *values)
    np.testing.assert_allclose(found[0], 2.0 * np.outer(values[0] @ values[1], values[1]))
    np.testing.assert_allclose(found[1], 2.0 * values[0].T @ (values[0] @ values[1]))
    (second,) = gradients((by_x * by_x).sum(), [x])
    assert run([w, x], second, *values).shape == (3,)
    with pytest.raises(ArgumentError, match="gradients are of one float"):
        gradients(x, [x])


def test_grad_of_what_is_built() -> None:
    """The structure of ``wrt``; shared variables, and values on the way, through which the gradient goes on."""
    w, b = matrix("w"), sg.shared(2.0, name="b")
    hidden = np.tanh(w @ x)
    cost = (hidden * hidden).sum() * b
    weights, given = np.arange(6.0).reshape(2, 3) / 10.0, np.array([0.5, -1.0, 2.0])
    inner = np.tanh(weights @ given)
    back = 4.0 * inner * (1.0 - inner * inner)
    by_x, by_w, by_b = weights.T @ back, np.outer(back, given), inner @ inner
    listed = sg.grad(cost, wrt=[w, x, b, hidden, x, cost])
    assert isinstance(listed, list)
    expected = [by_w, by_x, by_b, 4.0 * inner, by_x, 1.0]
    for found, wanted in zip(run([w, x], listed, weights, given), expected, strict=True):
        np.testing.assert_allclose(found, wanted)
    value, (one,) = sg.value_and_grad(cost, wrt=(x,))
    assert value is cost and np.allclose(run([w, x], one, weights, given), by_x)
    slope, value = sg.grad(cost, wrt=x, return_value=True)
    assert value is cost and np.allclose(sg.function([w, x], slope)(weights, given), by_x)
    assert run([], sg.grad(b * b, wrt=b)) == 4.0 and run([], sg.grad(b, wrt=b)) == 1.0
    second = sg.grad(sg.grad(x[0] ** 3, wrt=x).sum(), wrt=x)
    np.testing.assert_allclose(run([x], second, given), [3.0, 0.0, 0.0])
    assert run([x], sg.grad((x > 0.0).sum() * 1.0, wrt=x), given).tolist() == [0.0, 0.0, 0.0]


def test_grad_through_a_loop_is_that_of_the_function() -> None:
    def newton(a, steps):
        r = a
        for _ in range(steps):
            r = 0.5 * (r + a / r)
        return r

    a, n = scalar("a"), scalar("n", "int64", weak=True)
    f = sg.function([a, n], sg.value_and_grad(call(newton, a, n), wrt=a))
    np.testing.assert_allclose(f(2.0, 20), sg.value_and_grad(newton)(2.0, 20), rtol=1e-14)
    assert f(2.0, 0) == (2.0, 1.0)


GRADIENT_REFUSALS: list[Any] = [
    (lambda: sg.grad(x * x, wrt=x), r"one float, and what was built is float64 array, 1 axis\n.*its sum"),
    (lambda: sg.grad(i, wrt=x), r"one float, and the variable 'i' is int, which has none"),
    (lambda: sg.grad(x.sum()), r"needs wrt=, with respect to which of them\n.*the number is made of x"),
    (lambda: sg.grad(x.sum(), wrt=[x, m]), r"the variable 'm', of which the number is not made\n.*made of x"),
    (lambda: sg.grad(x.sum(), wrt=vector("x")), r"'x', of which the .*\n.*another variable of that name is; "),
    (lambda: sg.grad(x.sum() * i, wrt=i), r"the variable 'i', of int: there is no gradient"),
    (lambda: sg.grad(x.sum(), wrt=[0]), r"wrt has 0, which is no variable"),
    (lambda: sg.grad(x.sum(), wrt=()), r"wrt is a variable, or a list .*: there is none"),
    (lambda: sg.grad(x.sum(), wrt=np.sum), r"which is no variable\n"),
    (lambda: sg.grad(x.sum(), 1, wrt=x), r"argnums is given with a number built of variables"),
    (lambda: sg.grad(x.sum(), wrt=x, verify=True), r"verify is given with a number .*: it is for functions"),
    (lambda: sg.value_and_grad(x.sum(), wrt=x, mode="DEBUG"), r"mode is given .*\n.*sg.function"),
    (lambda: sg.grad(np.sum, wrt=x), r"not a Python function"),
    (lambda: sg.grad(_stored, wrt=x), r"no shared variable\nhint: give the number that is built of it"),
]


@pytest.mark.parametrize(("make", "message"), GRADIENT_REFUSALS)
def test_what_grad_of_variables_refuses(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_literals_that_are_not_finite(number: float) -> None:
    values, given = np.array([1.0, number]), np.array([0.0, 2.0])
    np.testing.assert_array_equal(run([x], written("{0} + {1}", [x, values]), given), given + values)
    np.testing.assert_array_equal(run([x], written("{0} + {1}", [x, np.float64(number)]), given), given + number)
    found = run([x], written("{0} + {1}", [x, np.array([complex(number, 1.0), 2.0])]), given)
    np.testing.assert_array_equal(found, given + np.array([complex(number, 1.0), 2.0]))


def test_refusals_of_variables() -> None:
    with pytest.raises(ArgumentError, match="float16 is not supported"):
        tensor("h", "float16", (3,))
    with pytest.raises(ArgumentError, match="raises whatever they are"):
        call(lambda v: unknown_name + v, x)  # pyright: ignore  # noqa: F821
    with pytest.raises(InferenceError, match="must be known when compiling"):
        written("special.polygamma({0}, {1})", [scalar("n", "int64"), x])


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, k: x if x > 0 else -x,
        lambda x, k: max(x, 0.0),
        lambda x, k: (x > 0) and (x < 1),
        lambda x, k: 0 < x < 1,
        lambda x, k: not (x > 0),
    ],
)
def test_variables_have_no_truth_value(formula: Any) -> None:
    with pytest.raises(TypeError, match="is no number yet"):
        formula(scalar("x"), scalar("k", "int64"))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int64", 2**63), ("int8", 300), ("int8", -129), ("uint8", -1), ("float32", 16777217), ("float32", 1e300)],
)
def test_digits_are_not_lost(dtype: str, value: float) -> None:
    x = scalar("x", dtype)
    with pytest.raises(TypeError, match="allow_downcast"):
        sg.function([x], x)(value)


# -- what users read ------------------------------------------------------------------------------------


def test_arrays_methods_of_variables() -> None:
    """What NumPy's arrays have, variables have."""
    x, m = vector("x"), matrix("m")
    u, a = np.array([-2.0, 0.5, 3.0]), np.arange(6.0).reshape(2, 3)
    inside = np.where((x > 0) & ~(x > 2) | (x < -1) ^ (x > 9), abs(x), 7.0 // x)
    np.testing.assert_array_equal(sg.function([x], inside)(u), [2.0, 0.5, 2.0])
    assert (x.ndim, m.ndim, scalar("s").ndim, x.dtype, scalar("s").shape) == (1, 2, 0, np.float64, ())
    halves = sg.function([x], x[: x.shape[0] // 2] + x.size)
    assert halves(np.ones(4)).tolist() == [5.0, 5.0]
    turned = sg.function([m], [m.reshape((m.shape[1], m.shape[0])), m.mean(), m.T.dot(m), m.prod(), m.min()])
    want = [a.reshape(3, 2), a.mean(), a.T @ a, a.prod(), a.min()]
    for got, right in zip(turned(a), want, strict=True):
        np.testing.assert_allclose(got, right)
    assert sg.function([], abs(sg.shared(np.array([-1.0]))))().tolist() == [1.0]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (len, "the length of .* is not known until the function is called: its .shape.0. is a variable"),
        (lambda x: float(x[0]), "is no number yet: call the function"),
        (lambda x: [1, 2][x[0]], "is no number yet, so it cannot be an index"),
        (lambda x: len(x[0]), "it is a number, which has none"),
    ],
)
def test_what_variables_cannot_be(use: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        use(vector("x"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a", "'s' must be a number or an array of numbers, not 'a'"),
        (None, "'s' must be a number or an array of numbers, not None"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "'s' is a masked array, which is not supported"),
        (1j, "'s' is of dtype float64, not complex128$"),
        ([1.0], "'s' is a number, not an array of 1 axis"),
        ([[1.0], [1.0, 2.0]], "'s' must be a number or an array of numbers"),
    ],
)
@pytest.mark.parametrize("down", [False, True])
def test_arguments_that_are_no_such_numbers(value: Any, message: str, down: bool) -> None:
    s = scalar("s")
    with pytest.raises(TypeError, match=message):
        sg.function([sg.Param(s, allow_downcast=down)], s * 2.0)(value)


def test_givens_and_names_that_do_not_fit() -> None:
    x, y, s = vector("x"), vector("y"), scalar("s")
    for givens, message in (
        ({y: 4}, r"givens: 'y' is an array \(float64 array, 1 axis\); a number of type int cannot stand in its place"),
        ({y: "a"}, "'a' is no variable, number or array"),
        ({3: y}, "givens: 3 is no variable"),
        ([3], "givens is a mapping, or a sequence of pairs"),
        ({s: 1j}, "a number of type complex cannot stand"),
    ):
        with pytest.raises(ArgumentError, match=message):
            sg.function([x], x * y * s, givens=givens)  # type: ignore[arg-type]
    assert sg.function([], s * y.sum(), givens={s: 4, y: np.arange(3)})() == 12.0
    with pytest.raises(ArgumentError, match="two parameters are named 'a'"):
        sg.function([sg.Param(x, name="a"), sg.Param(s, name="a")], x * s)


@pytest.mark.parametrize("transform", [sg.grad, sg.hessian, sg.vmap, sg.jacfwd, sg.compile])
def test_functions_of_variables_are_not_derived(transform: Any) -> None:
    """One error, which says what is."""
    x = vector("x")
    f = sg.function([x], np.sum(x**3))
    with pytest.raises(ArgumentError, match=r"is not a Python function\nhint: differentiate what it is built of"):
        transform(f)(np.ones(3))
