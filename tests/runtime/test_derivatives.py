"""What users call to differentiate: structures, orders and refusals of forward mode."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

X = np.array([0.2, 0.9, 0.4, 0.7])
V = np.array([1.0, -2.0, 0.5, 3.0])


def wave(x, speed):
    total = 0.0
    for k in range(1, len(x)):
        if x[k] > 0.5:
            total += np.sin(speed * x[k]) * x[k - 1]
        else:
            total -= x[k] ** 2
    while total > 0.3:
        total *= speed
    return total


def shifted(x, speed):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * speed
    y[0] += y.sum()
    return y, {"largest": np.max(y)}["largest"], len(y)


def pushed(x):
    items = []
    for v in x:
        items.append(v * v)
    items[0] = items[-1] * 3.0
    return sum(items) * items.pop()


def central(f: Callable, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    h = 1e-6
    return (np.asarray(f(x + h * v)) - np.asarray(f(x - h * v))) / (2 * h)


def test_value_and_tangent() -> None:
    value, tangent = sg.jvp(wave, (X, 0.8), (V, 0.0))
    assert value == pytest.approx(wave(X, 0.8), rel=1e-15)
    np.testing.assert_allclose(tangent, central(lambda x: wave(x, 0.8), X, V), rtol=1e-8)


def test_tangent_is_the_gradient_times_the_direction() -> None:
    by_x, by_speed = sg.grad(wave, argnums=(0, 1))(X, 0.8)
    _, tangent = sg.jvp(wave, (X, 0.8), (V, 2.0))
    np.testing.assert_allclose(tangent, by_x @ V + 2.0 * by_speed, rtol=1e-14)


def test_structure_of_the_value() -> None:
    """Several results, of which one is an integer and has no tangent."""
    (y, largest, count), (d_y, d_largest, d_count) = sg.jvp(shifted, (X, 0.8), (V, None))
    want = shifted(X, 0.8)
    np.testing.assert_array_equal(y, want[0])
    assert (largest, count, d_count) == (want[1], 4, None)
    np.testing.assert_allclose(d_y, central(lambda x: shifted(x, 0.8)[0], X, V), atol=1e-8)
    np.testing.assert_allclose(d_largest, central(lambda x: shifted(x, 0.8)[1], X, V), atol=1e-8)


def test_through_lists() -> None:
    np.testing.assert_allclose(sg.jvp(pushed, (X,), (V,))[1], central(pushed, X, V), rtol=1e-8)


def test_forward_over_reverse() -> None:
    """The gradient in a direction: the Hessian times it."""
    value, product = sg.jvp(sg.grad(wave), (X, 0.8), (V, 0.0))
    np.testing.assert_array_equal(value, sg.grad(wave)(X, 0.8))
    np.testing.assert_allclose(product, central(lambda x: sg.grad(wave)(x, 0.8), X, V), atol=1e-7)


def test_arguments_counted_from_the_end() -> None:
    slope, bend = sg.jvp(sg.grad(lambda x, y: x * y**3, argnums=-1), (2.0, 3.0), (0.0, 1.0))
    assert (slope, bend) == (54.0, 36.0)


def test_changed_arguments_are_copies() -> None:
    def scaled(x):
        x *= 2.0
        return x

    x = X.copy()
    value, tangent = sg.jvp(scaled, (x,), (V,))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(value, 2.0 * X)
    np.testing.assert_array_equal(tangent, 2.0 * V)


@dataclasses.dataclass
class Spring:
    stiffness: float

    def energy(self, x):
        return 0.5 * self.stiffness * x**2


def test_methods_and_tuples() -> None:
    assert sg.jvp(Spring(3.0).energy, (2.0,), (1.0,)) == (6.0, 6.0)
    assert sg.jvp(lambda p: p[0] * p[1][0], ((3.0, (2.0, 1)),), ((1.0, (10.0, None)),)) == (6.0, 32.0)


def test_what_does_not_fit() -> None:
    with pytest.raises(sg.errors.ArgumentError, match="2 primals, but 1 tangents"):
        sg.jvp(wave, (X, 0.8), (V,))
    with pytest.raises(sg.errors.ArgumentError, match="tangent of x, an array of int64, is an array of float64"):
        sg.jvp(pushed, (np.arange(4),), (V,))
    with pytest.raises(ValueError, match="the shape of its primal: lengths 3 and 4"):
        sg.jvp(pushed, (X,), (V[:3],))


@dataclasses.dataclass
class Pair:
    a: float
    b: float


def test_structures_and_auxiliary_data() -> None:
    """Objects, dicts and views move as they are; their directions are such, too."""

    def swung(p, x):
        return {"p": Pair(p.b * p.a, p.a), "rest": x[1:], "n": len(x)}, x

    given, moves = (Pair(3.0, 2.0), X), (Pair(1.0, 10.0), None)
    value, tangent, same = sg.jvp(swung, given, moves, has_aux=True)
    assert value["p"] == Pair(6.0, 3.0) and tangent["p"] == Pair(32.0, 1.0) and tangent["n"] is None
    np.testing.assert_array_equal(tangent["rest"], np.zeros(3))
    assert same is X
    value, pullback, same = sg.vjp(swung, *given, has_aux=True)
    by_p, by_x = pullback({"p": Pair(1.0, None), "rest": V[1:], "n": None})
    assert by_p == Pair(2.0, 3.0)
    np.testing.assert_array_equal(by_x, [0.0, *V[1:]])
    product, size = sg.hvp(lambda x: (np.sum(x**3), len(x)), X, V, has_aux=True)
    np.testing.assert_allclose(product, 6.0 * X * V)
    assert size == 4


@pytest.mark.parametrize(
    "derivative",
    [lambda f: sg.grad(f)(X), lambda f: sg.jvp(f, (X,), (V,)), lambda f: sg.vjp(f, X), lambda f: sg.jacobian(f)(X)],
)
def test_what_only_changes_its_argument(derivative: Callable) -> None:
    with pytest.raises(
        sg.errors.DerivativeError, match=r"returns None.*\n(.*\n)*hint: a function that only changes its"
    ):
        derivative(lambda x: x.fill(1.0))


# -- Jacobians ----------------------------------------------------------------------------------------


def grid(a, m, n):
    y = np.zeros((3, 2))
    for i in range(3):
        for j in range(2):
            y[i, j] = a * m[(i + j) % len(m)] ** (i + 1) * n
    return y


def bowl(a, b):
    total = 0.0
    for k in range(len(b)):
        total += a**2 * b[k] ** 3 * b[k - 1]
    return total


@pytest.mark.parametrize("jacobian", [sg.jacfwd, sg.jacrev, sg.jacobian])
def test_jacobian(jacobian: Callable) -> None:
    by_a, by_m = jacobian(grid, argnums=(0, 1))(2.0, X, 3)
    np.testing.assert_allclose(by_a, grid(1.0, X, 3), rtol=1e-14)
    want = np.stack([central(lambda m: grid(2.0, m, 3), X, e) for e in np.eye(4)], axis=-1)
    np.testing.assert_allclose(by_m, want, atol=1e-8)
    np.testing.assert_array_equal(jacobian(grid, argnums=-2)(2.0, X, 3), by_m)


@pytest.mark.parametrize("jacobian", [sg.jacfwd, sg.jacrev, sg.jacobian])
def test_jacobian_of_numbers(jacobian: Callable) -> None:
    np.testing.assert_allclose(jacobian(lambda a: np.array([a, a**2]))(3.0), [1.0, 6.0])
    np.testing.assert_allclose(jacobian(bowl, argnums=1)(2.0, X), sg.grad(bowl, argnums=1)(2.0, X), rtol=1e-14)
    assert jacobian(np_sine)(X.astype(np.float32)).dtype == np.float32


def steps_in_place(u, w):
    u[0] = u[0] * u[1] * w[0]
    w[0] += 1.0
    return u * w


@pytest.mark.parametrize("jacobian", [sg.jacfwd, sg.jacrev, sg.jacobian])
def test_jacobian_of_what_stores(jacobian: Callable) -> None:
    """Each row, or column, is found from the arguments as they were, and leaves them so."""
    u, w = np.array([3.0, 5.0]), np.array([1.0, 2.0])
    np.testing.assert_allclose(jacobian(steps_in_place)(u, w), [[10.0, 6.0], [0.0, 2.0]], rtol=1e-14)
    assert (u.tolist(), w.tolist()) == ([3.0, 5.0], [1.0, 2.0])
    inside = sg.compile(lambda u, w: jacobian(steps_in_place)(u, w)[0] * u)
    np.testing.assert_allclose(inside(u, w), [30.0, 30.0], rtol=1e-14)


def test_hessian_of_what_stores() -> None:
    u, w = np.array([3.0, 5.0]), np.array([1.0, 2.0])
    second, aux = sg.hessian(lambda u, w: (np.sum(steps_in_place(u, w)), u[0]), has_aux=True)(u, w)
    np.testing.assert_allclose(second, [[0.0, 2.0], [2.0, 0.0]], atol=1e-14)
    assert aux == 15.0 and u.tolist() == [3.0, 5.0]


def np_sine(x):
    return np.sin(x)


def spring(state, x, scale=2.0):
    return {"force": state.a * x[:2] * scale, "energy": state.b**2 * x[1], "size": len(x)}


@pytest.mark.parametrize("jacobian", [sg.jacfwd, sg.jacrev, sg.jacobian])
def test_jacobian_of_structures(jacobian: Callable) -> None:
    """That of the result outside, those of the arguments inside; defaults and keywords are the function's."""
    if jacobian is sg.jacfwd:
        inside = sg.api.compile(lambda p, x: sg.jacfwd(spring, argnums=(0, 1))(p, x, scale=4.0))
        found = inside(Pair(3.0, 2.0), X[:3])
    else:
        found = jacobian(spring, argnums=(0, -2))(Pair(3.0, 2.0), X[:3], scale=4.0)
    (by_state, by_x), (energy_by_state, energy_by_x) = found["force"], found["energy"]
    assert found["size"] is None
    np.testing.assert_allclose(by_state.a, 4.0 * X[:2])
    np.testing.assert_array_equal(by_state.b, [0.0, 0.0])
    np.testing.assert_allclose(by_x, 12.0 * np.eye(2, 3))
    assert energy_by_state == Pair(0.0, 4.0 * X[1])
    np.testing.assert_allclose(energy_by_x, [0.0, 4.0, 0.0])


def test_jacobian_with_auxiliary_data() -> None:
    slope, size = sg.jacobian(lambda x, n: (x[:1] * n, {"n": n}), has_aux=True)(X, 3)
    np.testing.assert_array_equal(slope, 3.0 * np.eye(1, 4))
    assert size == {"n": 3}


def test_hessian() -> None:
    (aa, ab), (ba, bb) = sg.hessian(bowl, argnums=(0, 1))(2.0, X)
    by_b = sg.grad(bowl, argnums=1)
    np.testing.assert_allclose(aa, 2.0 * bowl(1.0, X), rtol=1e-14)
    np.testing.assert_allclose(ab, ba, rtol=1e-13)
    np.testing.assert_allclose(ab, central(lambda a: by_b(float(a), X), np.float64(2.0), np.float64(1.0)), rtol=1e-8)
    np.testing.assert_allclose(bb, [central(lambda b: by_b(2.0, b), X, e) for e in np.eye(4)], atol=1e-7)
    np.testing.assert_array_equal(sg.hessian(bowl, argnums=1)(2.0, X), bb)
    np.testing.assert_allclose(sg.hvp(bowl, (2.0, X), (None, V))[1], bb @ V, rtol=1e-12)
    by_a, by_b = sg.hvp(bowl, (2.0, X), (1.0, V))
    np.testing.assert_allclose(by_a, aa + ab @ V, rtol=1e-12)
    np.testing.assert_allclose(by_b, ba + bb @ V, rtol=1e-12)


def test_pullback() -> None:
    """Transposed Jacobians, for one function after another of the same value."""
    value, pullback = sg.vjp(lambda x, a, n: (np.sin(a * x), np.sum(x) * n), X, 2.0, 3)
    np.testing.assert_allclose(value[0], np.sin(2.0 * X), rtol=1e-15)
    by_x, by_a, by_n = pullback((V, 1.0))
    np.testing.assert_allclose(by_x, 2.0 * np.cos(2.0 * X) * V + 3.0, rtol=1e-14)
    np.testing.assert_allclose(by_a, np.sum(X * np.cos(2.0 * X) * V), rtol=1e-14)
    assert by_n is None
    np.testing.assert_array_equal(pullback((None, 2.0))[0], np.full(4, 6.0))
    np.testing.assert_array_equal(pullback((V, 1.0))[0], by_x)
    with pytest.raises(sg.errors.ArgumentError, match=r"the value\[0\], an array of float64 with shape \(4,\), is an"):
        pullback((V[:3], 1.0))
    with pytest.raises(sg.errors.ArgumentError, match="is a float"):
        sg.vjp(lambda n: n, 3)


residual_jacobian = sg.jacfwd(lambda x: np.array([x[0] ** 2 + x[1] - 3.0, x[0] * x[1] - 1.0]))


def solved(x):
    for _ in range(20):
        r = np.array([x[0] ** 2 + x[1] - 3.0, x[0] * x[1] - 1.0])
        x = x - np.linalg.solve(residual_jacobian(x), r)
    return x


def test_jacobian_inside() -> None:
    x = sg.api.compile(solved)(np.array([2.0, 0.5]))
    np.testing.assert_allclose([x[0] ** 2 + x[1], x[0] * x[1]], [3.0, 1.0], rtol=1e-14)


# -- constants ----------------------------------------------------------------------------------------


def damped(x, n):
    """A fixed number of steps whose length is taken for a constant."""
    for _ in range(n):
        slope = x - 1.0
        x = x - sg.stop_gradient(0.1 * slope)
    return x


def test_stop_gradient() -> None:
    assert damped(3.0, 4) == sg.api.compile(damped)(3.0, 4)
    assert sg.grad(damped)(3.0, 4) == 1.0
    assert sg.jvp(damped, (3.0, 4), (2.0, None))[1] == 2.0
    by_x = sg.grad(lambda x: np.sum(x * sg.stop_gradient(x**2)) + sg.stop_gradient((x[0], 2.0))[0])(X)
    np.testing.assert_array_equal(by_x, X**2)
    assert sg.hessian(lambda a: sg.stop_gradient(a) * a**2)(3.0) == 6.0


# -- inside compiled functions ----------------------------------------------------------------------


def cube(x):
    return x**3


slope = sg.grad(cube)


def newton(level):
    x = 1.0
    while abs(cube(x) - level) > 1e-12:
        x = x - (cube(x) - level) / slope(x)
    return x


def nested(x):
    return sg.grad(lambda u: u * sg.grad(lambda v: u * v * v)(2.0))(x)


def third(x):
    return sg.grad(lambda t: sg.grad(sg.grad(cube))(t))(x)


def descent(w, rate, steps):
    loss = lambda v: np.sum((v - np.arange(3.0)) ** 4)  # noqa: E731
    w = w.copy()
    for _ in range(steps):
        w -= rate * sg.grad(loss)(w)
    return w


def curvature(x, v):
    def energy(u):
        total = 0.0
        for k in range(len(u) - 1):
            total += (u[k + 1] - u[k]) ** 4
        return total

    return sg.jvp(sg.grad(energy), (x,), (v,))[1]


def chosen(x):
    g = slope if x > 0.0 else sg.grad(lambda t: -2.0 * t)
    return g(x)


def twice_the_same(x):
    return sg.grad(lambda u, v: np.dot(u, v) * x[0])(x, x)


def of_an_object(a):
    return sg.grad(lambda p: p.a**2 * p.b)(Pair(a, 3.0))


def changed_inside(x):
    def total(u):
        u[0] = u[1] ** 2
        return np.sum(u)

    return sg.grad(total)(x), x


def test_derivatives_inside() -> None:
    np.testing.assert_allclose(sg.api.compile(newton)(2.0), 2.0 ** (1 / 3), rtol=1e-15)
    assert sg.api.compile(nested)(3.0) == 24.0  # by hand: the inner one is 4 u, so it is of 4 u**2
    assert sg.api.compile(third)(3.0) == 6.0
    assert [sg.api.compile(chosen)(x) for x in (2.0, -2.0)] == [12.0, -2.0]
    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(sg.api.compile(twice_the_same)(x), 3.0 * x)
    assert sg.api.compile(of_an_object)(2.0) == Pair(12.0, 4.0)
    gradient, same = sg.api.compile(changed_inside)(x)
    assert same is x
    np.testing.assert_array_equal(gradient, [0.0, 3.0, 1.0])
    np.testing.assert_array_equal(x, [3.0, 1.0, 2.0])


@pytest.mark.parametrize("jacobian", [sg.jacfwd, sg.jacrev, sg.jacobian])
def test_jacobians_made_inside(jacobian: Callable) -> None:
    """Of functions defined there, in loops, by several arguments, by keyword, and differentiated again."""

    def solve(x, scale):
        def residual(v, n):
            return np.array([scale * v[0] ** 2 + v[1] - n, v[0] * v[1] - 1.0])

        for _ in range(20):
            r = residual(x, n=3)
            if r @ r < 1e-24:
                break
            x = x - np.linalg.solve(jacobian(residual)(x, n=3), r)
        return x

    x = sg.api.compile(solve)(np.array([2.0, 0.5]), 1.0)
    np.testing.assert_allclose([x[0] ** 2 + x[1], x[0] * x[1]], [3.0, 1.0], rtol=1e-14)
    np.testing.assert_allclose(sg.api.compile(lambda a, m: jacobian(grid, argnums=[-2])(a, m, 3)[0])(2.0, X),
                               jacobian(grid, argnums=1)(2.0, X, 3), rtol=1e-14)  # fmt: skip
    by_scale = sg.grad(lambda scale: np.sum(solve(np.array([2.0, 0.5]), scale)))(1.0)
    want = central(lambda scale: np.sum(solve(np.array([2.0, 0.5]), scale)), np.float64(1.0), np.float64(1.0))
    np.testing.assert_allclose(by_scale, want, rtol=1e-7)
    with pytest.raises(sg.errors.ArgumentError, match=r"argnums=3, but the function takes 2 arguments\n.*jacobian"):
        sg.api.compile(lambda a, b: jacobian(bowl, argnums=3)(a, b))(2.0, X)


def test_hessian_made_inside() -> None:
    def blocks(a, b):
        return sg.hessian(bowl, (0, 1))(a, b)

    for got, want in zip(sg.api.compile(blocks)(2.0, X), sg.hessian(bowl, argnums=(0, 1))(2.0, X), strict=True):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-13)


def test_differentiated_again() -> None:
    """The gradient of a function that takes gradients: of an optimiser, by its start."""
    w = np.array([0.3, 0.1, 1.0])
    got = sg.grad(lambda w: np.sum(descent(w, 0.01, 5) ** 2))(w)
    plain = descent_by_hand
    want = [central(lambda u: np.sum(plain(u, 0.01, 5) ** 2), w, e) for e in np.eye(3)]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def descent_by_hand(w: np.ndarray, rate: float, steps: int) -> np.ndarray:
    for _ in range(steps):
        w = w - rate * 4.0 * (w - np.arange(3.0)) ** 3
    return w


def pulled(x, v):
    """Residuals are of when the function ran; in a loop, and of a loop."""

    def cooled(u):
        steps = []
        while np.sum(u) > 0.5:
            u = u * np.cos(u)
            steps.append(u[0])
        return {"last": u, "first": steps[0], "n": len(steps)}

    value, pullback = sg.vjp(cooled, x)
    x[0] = 100.0
    total = np.zeros(len(x))
    for k in range(2):
        total += pullback({"last": v * k, "first": 1.0, "n": None})[0]
    return value["last"], total


def test_pullback_inside() -> None:
    value, total = sg.api.compile(pulled)(X.copy(), V)
    again, pullback = sg.vjp(lambda x: pulled(x, V)[0], X)
    np.testing.assert_allclose(value, again, rtol=1e-15)
    first = np.array([np.cos(X[0]) - X[0] * np.sin(X[0]), 0.0, 0.0, 0.0])
    np.testing.assert_allclose(total, pullback(V)[0] + 2.0 * first, rtol=1e-13)
    bend = sg.grad(lambda v: np.sum(pulled(X.copy(), v)[1] ** 2))(V)
    np.testing.assert_allclose(bend @ V, 2.0 * total @ pullback(V)[0], rtol=1e-12)


def test_hessian_times_vector_inside() -> None:
    x, v = np.arange(4.0) ** 2, np.array([1.0, -1.0, 0.5, 2.0])
    d = np.diff(x)
    want = np.zeros(4)
    want[1:] += 12.0 * d**2 * np.diff(v)
    want[:-1] -= 12.0 * d**2 * np.diff(v)
    np.testing.assert_allclose(sg.api.compile(curvature)(x, v), want, rtol=1e-14)
    by_hvp = sg.api.compile(lambda x, v: sg.hvp(lambda u, n: np.sum(np.diff(u) ** n), (x, 4), (v, None)))(x, v)
    np.testing.assert_allclose(by_hvp[0], want, rtol=1e-13)
    assert by_hvp[1] is None


@pytest.mark.parametrize("transform", [sg.hessian, sg.jacfwd, sg.jacrev])
def test_jacobians_of_what_may_be_nothing(transform) -> None:
    def positive(x):
        return x * x if x > 0 else None

    with pytest.raises(sg.errors.DerivativeError, match="may be None"):
        transform(positive)(1.1)
    assert sg.grad(positive)(1.1) == 2.2


def rows_of(x):
    rows = []
    for k in range(3):
        rows.append([k, x[0] * k, x[1] ** 2])
    return rows


def test_rows_of_a_list() -> None:
    x, v = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    value, tangent = sg.jvp(rows_of, (x,), (v,))
    assert value == [[0, 0.0, 4.0], [1, 1.0, 4.0], [2, 2.0, 4.0]]
    assert tangent == [[None, 0.0, -4.0], [None, 0.5, -4.0], [None, 1.0, -4.0]]
    (found,) = sg.vjp(rows_of, x)[1]([[None, 1.0, 2.0]] * 3)
    np.testing.assert_allclose(found, [3.0, 24.0])


def test_list_of_arrays_is_returned() -> None:
    """Beside the value, not as what is differentiated."""

    def passed(x):
        states = [x]
        for _ in range(3):
            states.append(states[-1] * 0.5)
        return np.sum(states[-1] ** 2), states

    (_, states), slope = sg.value_and_grad(passed, has_aux=True)(X)
    np.testing.assert_array_equal(states, passed(X)[1])
    np.testing.assert_allclose(slope, 2.0 * X / 64.0)
    with pytest.raises(sg.errors.DerivativeError, match="a list of arrays"):
        sg.jvp(lambda x: passed(x)[1], (X,), (V,))


WITHOUT_AXES = [lambda x: np.squeeze(x[:1], 0), lambda x: x[1, ...]]


@pytest.mark.parametrize("part", WITHOUT_AXES)
def test_results_without_axes(part: Callable) -> None:
    """Arrays without axes are arrays, and so are their tangents and cotangents."""
    value, tangent = sg.jvp(part, (X,), (V,))
    assert type(value) is type(tangent) is np.ndarray and value.shape == tangent.shape == ()
    assert value == part(X) and tangent == part(V)
    found, pull = sg.vjp(part, X)
    assert found == part(X)
    assert pull(np.array(2.0))[0] @ V == pytest.approx(2.0 * part(V))


def test_arguments_without_axes() -> None:
    d = np.array(0.6)
    (found,) = sg.vjp(lambda d: (np.stack([d, d]), np.array([d, d])), d)[1]((np.ones(2), np.array([1.0, 2.0])))
    assert type(found) is np.ndarray and found == 5.0
    for f in (lambda d: np.sum(np.array([d, d]) ** 2), lambda d: np.sum(d.copy() * 2) + d.sum()):
        slope = sg.grad(f)(d)
        assert type(slope) is np.ndarray and slope.shape == ()
        assert slope == pytest.approx((f(d + 1e-6) - f(d - 1e-6)) / 2e-6)


RANGES = [
    lambda s: np.sum(np.arange(s, 3.0) ** 2),
    lambda s: np.sum(np.arange(1.0, 3.0, s) ** 2),
    lambda s: np.sum(np.r_[s:3.0] ** 2),
    lambda s: np.sum(np.mgrid[s:3.0:4j] ** 2),
    lambda s: np.sum(np.ogrid[s:3.0, 0:2][0] ** 2),
    lambda s: np.sum(np.arange(3) * s),
]


@pytest.mark.parametrize("function", RANGES)
def test_ranges_of_numbers(function: Callable) -> None:
    """Each number moves with the first one, and with the step as often as it was added."""
    wanted = (function(0.7 + 1e-6) - function(0.7 - 1e-6)) / 2e-6
    assert sg.grad(function)(0.7) == pytest.approx(wanted, rel=1e-6)
    assert sg.jvp(function, (0.7,), (1.0,))[1] == pytest.approx(wanted, rel=1e-6)


def stores(x):
    x[0] = x[0] * x[1]
    return np.sum(x * x)


def test_directions_in_the_memory_of_arguments() -> None:
    """A function that stores into its argument does so into a copy."""
    x = np.array([1.0, 2.0])
    for direction in (x, x[::-1]):
        wanted = sg.jvp(stores, (x,), (direction.copy(),))
        assert sg.jvp(stores, (x,), (direction,)) == wanted
    np.testing.assert_array_equal(sg.hvp(stores, x, x), sg.hvp(stores, x, x.copy()))
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_singular_values_that_are_taken_for_nothing() -> None:
    """By differentials of matrices that keep their rank the derivative would be another number."""
    a, r = np.array([[2.0, 0.3], [0.1, 0.5]]), np.outer([1.0, 2.0, 3.0], [1.0, -1.0])

    def solved(a, rcond):
        return np.linalg.lstsq(a, np.array([1.0, 2.0]), rcond=rcond)[0][0]

    for f in (lambda a, rcond: np.linalg.pinv(a, rcond)[0, 0], solved):
        for derivative in (lambda f=f: sg.grad(f)(a, 0.5), lambda f=f: sg.jvp(f, (a, 0.5), (a, None))):
            with pytest.raises(NotImplementedError, match="no derivative of what takes singular values for 0"):
                derivative()
        h = np.array([[1e-6, 0.0], [0.0, 0.0]])
        assert sg.grad(f)(a, 0.1)[0, 0] == pytest.approx((f(a + h, 0.1) - f(a - h, 0.1)) / 2e-6, rel=1e-6)
    assert np.all(np.isfinite(sg.grad(lambda a: np.sum(np.linalg.pinv(a)))(r)))


def weighted(xs, a):
    total = a
    for x in xs:
        total += x * a
    return total


def test_by_a_list_of_nothing() -> None:
    assert sg.grad(weighted)([], 2.0) == []
    assert sg.value_and_grad(weighted, argnums=(0, 1))([], 2.0) == (2.0, ([], 1.0))
    assert sg.grad(weighted)([1.0, 3.0], 2.0) == [2.0, 2.0]


def area(d):
    return np.sum(d["w"]) * d["b"]


def test_tangents_of_dicts_come_in_any_order():
    d = {"w": np.ones(2), "b": 0.5}
    for t in ({"b": 1.0, "w": np.ones(2)}, {"w": np.ones(2), "b": 1.0}):
        assert sg.jvp(area, (d,), (t,)) == (1.0, 3.0)
        (found,) = sg.hvp(area, (d,), (t,))
        assert found["b"] == 2.0 and found["w"].tolist() == [1.0, 1.0]
    with pytest.raises(sg.errors.ArgumentError, match=r"d has the entries 'w', 'b', and its tangent the entries 'w'"):
        sg.jvp(area, (d,), ({"w": np.ones(2)},))
