"""Derivative rules that users write: in every mode and order, in every place, and what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

X = np.array([0.2, 0.9, 0.4, 0.7, 1.3])


@sg.custom_vjp
def square(x):
    return x * x


@sg.custom_jvp
def square_too(x):
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, ct: (2.0 * x * ct,))


@square_too.defjvp
def square_rule(primals, tangents):
    return square_too(primals[0]), 2.0 * primals[0] * tangents[0]


def plain(x):
    return x * x


def in_loops(f: Callable, a: float, n: int) -> float:
    t = a
    for k in range(n):
        t = f(t) * 0.5 if k % 2 else t + 0.1 * f(a)
    while t < 8.0:
        t = f(t) + 0.3
        if n > 6:
            break
    return t


def over_arrays(f: Callable, x: np.ndarray, n: int) -> float:
    for _ in range(n):
        x = f(x) + 0.1 * x
    return np.sum(x)


def derivatives(f: Callable) -> tuple[list[Callable], Callable]:
    """The value, first and second derivatives of `in_loops`, these by every nesting; the gradient of `over_arrays`."""
    own = lambda a, n: in_loops(f, a, n)  # noqa: E731
    slope = sg.grad(own)
    twice = [sg.grad(slope), lambda a, n: sg.jvp(slope, (a, n), (1.0, None))[1], sg.hessian(own)]
    return [sg.compile(own), slope, *twice], sg.grad(lambda x, n: over_arrays(f, x, n))


PLAIN = derivatives(plain)


@pytest.mark.parametrize("f", [square, square_too])
def test_right_rules_change_nothing(f: Callable) -> None:
    """In loops, branches and early exits, at first and second order by every nesting."""
    numbers, arrays = derivatives(f)
    for n in (0, 1, 4, 7):
        first, second = PLAIN[0][1](1.1, n), PLAIN[0][2](1.1, n)
        got = [derivative(1.1, n) for derivative in numbers]
        np.testing.assert_allclose(got, [in_loops(plain, 1.1, n), first, second, second, second], rtol=1e-12)
        for size in (0, 1, 2, 5):
            np.testing.assert_allclose(arrays(X[:size], n), PLAIN[1](X[:size], n), rtol=1e-12)


def test_all_modes() -> None:
    wanted = np.diag(2.0 * X)
    for matrix in (sg.jacrev(square), sg.jacrev(square_too), sg.jacfwd(square_too), sg.jacobian(square_too)):
        np.testing.assert_array_equal(matrix(X), wanted)
    assert sg.value_and_grad(square)(3.0) == (9.0, 6.0)
    assert sg.jvp(square_too, (3.0,), (0.5,)) == (9.0, 3.0)
    np.testing.assert_array_equal(sg.vjp(square, X)[1](np.ones(5))[0], 2.0 * X)


@sg.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))


def test_the_rule_counts_not_the_function() -> None:
    """Also where the function hands on its argument."""
    np.testing.assert_array_equal(sg.grad(lambda x: np.sum(5.0 * clipped(x) ** 2))(X), np.clip(10.0 * X, -1.0, 1.0))
    assert sg.grad(clipped)(2.0) == 1.0
    assert sg.grad(lambda a: 7.0 * clipped(a))(2.0) == 1.0


def test_inside_compiled_functions() -> None:
    @sg.compile
    def newton(a):
        for _ in range(5):
            a = a - (square(a) - 2.0) / sg.grad(square)(a)
        return a

    assert abs(newton(1.0) - 2.0**0.5) < 1e-14
    assert sg.grad(lambda y: sg.grad(lambda x: x * x * square(y))(3.0))(1.5) == 18.0
    assert sg.grad(lambda y: sg.grad(lambda x: square(x * y))(3.0))(1.5) == 18.0
    assert sg.grad(sg.grad(lambda x, y: x * square(y)), argnums=1)(3.0, 1.5) == 3.0


@partial(sg.custom_vjp, nondiff_argnums=(0,))
def applied(f, x):
    return f(x)


applied.defvjp(lambda f, x: (f(x), x), lambda f, x, ct: (7.0 * ct * sg.grad(f)(x),))


def test_functions_as_arguments() -> None:
    assert sg.grad(lambda x, y: applied(lambda t: y * t**3, x))(2.0, 3.0) == 7.0 * 36.0
    with pytest.raises(sg.errors.DerivativeError, match="depends on 'y', for which applied has no rule"):
        sg.grad(lambda x, y: applied(lambda t: y * t**3, x), argnums=1)(2.0, 3.0)


# -- what a rule may be -----------------------------------------------------------------------------


@sg.custom_vjp
def powers(matrix, x, n):
    for _ in range(n):
        x = matrix @ x
    return x, np.sum(x), n


def powers_fwd(matrix, x, n):
    states = np.zeros((n + 1, len(x)))
    states[0] = x
    for k in range(n):
        states[k + 1] = matrix @ states[k]
    return powers(matrix, x, n), (matrix, states, n)


def powers_bwd(residuals, cotangent):
    matrix, states, n = residuals
    by_state, by_sum, none = cotangent
    assert none is None
    by_state += by_sum
    by_matrix = np.zeros_like(matrix)
    for k in range(n - 1, -1, -1):
        by_matrix += np.outer(by_state, states[k])
        by_state = matrix.T @ by_state
    return by_matrix, by_state, None


powers.defvjp(powers_fwd, powers_bwd)


def test_structures_and_loops_in_rules() -> None:
    def own(matrix, x, n):
        y, total, count = powers(matrix, x, n)
        return np.sum(y**2) * total + count

    def want(matrix, x, n):
        for _ in range(n):
            x = matrix @ x
        return np.sum(x**2) * np.sum(x)

    matrix, x = np.arange(9.0).reshape(3, 3) / 10.0, np.array([1.0, 2.0, 3.0])
    slopes, pushed, second = (
        [make(f) for f in (own, want)]
        for make in (
            lambda f: sg.grad(f, (0, 1)),
            lambda f: lambda *given: sg.jvp(f, given, (matrix, x, None))[1],
            lambda f: sg.hessian(f, 1),
        )
    )
    for n in (0, 1, 3):
        for got, right in zip(*(slope(matrix, x, n) for slope in slopes), strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-12)
        for got, right in (pushed, second):
            np.testing.assert_allclose(got(matrix, x, n), right(matrix, x, n), rtol=1e-12)


def test_forward_mode_transposes_a_rule_for_reverse_mode() -> None:
    """So that a forward part may call the function itself, and Hessians are as for any function."""
    cubed = sg.custom_vjp(lambda x: x**3)
    cubed.defvjp(lambda x: (cubed(x), x), lambda x, ct: (3.0 * x**2 * ct,))
    np.testing.assert_allclose(sg.jvp(cubed, (X,), (X,))[1], 3.0 * X**3, rtol=1e-14)
    np.testing.assert_allclose(sg.jacfwd(cubed)(X), np.diag(3.0 * X**2), rtol=1e-14)
    assert sg.hessian(cubed)(2.0) == sg.grad(sg.grad(cubed))(2.0) == 12.0
    assert sg.grad(lambda x: sg.jvp(cubed, (x,), (1.0,))[1])(2.0) == 12.0
    with pytest.raises(sg.errors.DerivativeError, match="not linear in the cotangent, so it is none for forward mode"):
        sg.jvp(clipped, (2.0,), (1.0,))


def test_a_rule_that_calls_its_function_on_tangents() -> None:
    tripled = sg.custom_jvp(lambda x: 3.0 * x)
    tripled.defjvp(lambda primals, tangents: (tripled(primals[0]), tripled(tangents[0])))
    np.testing.assert_allclose(sg.grad(lambda x: np.sum(tripled(x) ** 2))(X), 18.0 * X, rtol=1e-14)
    np.testing.assert_allclose(sg.hessian(lambda x: np.sum(tripled(x) ** 2))(X), 18.0 * np.eye(5), rtol=1e-14)


@sg.custom_jvp
def power(x, n, scale=1.0):
    return scale * x**n


power.defjvps(
    lambda t, out, x, n, scale: t * n * power(x, n - 1, scale),
    None,
    lambda t, out, x, n, scale: t * out / scale,
)


def test_one_rule_for_each_argument() -> None:
    assert sg.grad(power, argnums=(0, 2))(2.0, 3, 5.0) == (60.0, 8.0)
    assert sg.grad(sg.grad(lambda x: power(x, 3)))(2.0) == 12.0
    assert sg.grad(lambda s: power(2.0, n=3, scale=s))(5.0) == 8.0


@sg.custom_vjp
def summed(x, y=2.0, *rest):
    return x * y + sum(rest)


summed.defvjp(
    lambda x, y, *rest: (summed(x, y, *rest), (x, y, rest)),
    lambda residuals, ct: (ct * residuals[1], ct * residuals[0], *[5.0 * ct for _ in residuals[2]]),
)


class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness

    @sg.custom_vjp
    def force(self, x):
        return self.stiffness * x


Spring.force.defvjp(lambda self, x: (self.stiffness * x, self.stiffness), lambda k, ct: (None, 100.0 * k * ct))


def made(factor):
    f = sg.custom_vjp(lambda x: factor * x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (10.0 * factor * ct,))
    return f


def falling(x, n):
    return square(falling(x, n - 1)) if n > 0 else x


def test_where_they_are_called() -> None:
    """Defaults, keywords, any number of arguments, methods, closures, choices, recursion, lanes."""
    assert sg.grad(lambda x: summed(x))(3.0) == 2.0
    assert sg.grad(lambda y: summed(2.0, y=y))(3.0) == 2.0
    assert sg.grad(lambda x, z: summed(x, 2.0, z, 2.0 * z), argnums=(0, 1))(3.0, 1.0) == (2.0, 15.0)
    spring = Spring(3.0)
    assert spring.force(2.0) == 6.0
    assert sg.grad(lambda x: spring.force(x))(2.0) == 300.0
    with pytest.raises(sg.errors.DerivativeError, match="depends on 'k', for which force has no rule"):
        sg.grad(lambda k: Spring(k).force(2.0))(3.0)
    assert sg.grad(made(2.0))(1.0) == 20.0
    assert sg.grad(lambda x, n: (square if n > 1 else square_too)(x))(2.0, 3) == 4.0
    assert sg.grad(lambda x: (lambda h, t: h(h(t)))(square, x))(2.0) == 32.0
    np.testing.assert_allclose(sg.grad(falling)(1.1, 3), 8.0 * 1.1**7, rtol=1e-14)
    np.testing.assert_array_equal(sg.vmap(sg.grad(square))(X), 2.0 * X)
    np.testing.assert_array_equal(sg.grad(lambda x: np.sum(sg.vmap(square)(x)))(X), 2.0 * X)


FACTOR = 3.0


def test_globals_and_rules_that_change() -> None:
    f = sg.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (FACTOR * x * ct,))
    slope = sg.grad(lambda x: 1.0 * f(x))
    assert slope(2.0) == 6.0
    globals()["FACTOR"] = 5.0
    assert slope(2.0) == 10.0
    globals()["FACTOR"] = 3.0
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (7.0 * x * ct,))
    assert slope(2.0) == 14.0


def test_arrays_that_rules_store_into_are_their_own() -> None:
    def doubling(x, ct):
        ct *= 2.0
        ct *= x
        return (ct,)

    f = sg.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), doubling)
    np.testing.assert_allclose(sg.grad(lambda x: np.sum(f(x)) + np.sum(x))(X), 2.0 * X + 1.0)
    np.testing.assert_allclose(sg.grad(lambda x: np.sum(f(x) ** 2) + np.sum(f(x)))(X), 4.0 * X**3 + 2.0 * X)


def test_rules_that_raise() -> None:
    def never(*args):
        raise NotImplementedError("no derivative")

    backward = sg.custom_vjp(lambda x: x * x)
    backward.defvjp(lambda x: (x * x, x), never)
    forward = sg.custom_vjp(lambda x: x * x)
    forward.defvjp(never, lambda x, ct: (x * ct,))
    pushed = sg.custom_jvp(lambda x: x * x)
    pushed.defjvp(never)
    for f in (backward, forward, pushed):
        assert sg.grad(lambda x, y, f=f: f(x) * y, argnums=1)(2.0, 3.0) == 4.0
        with pytest.raises(NotImplementedError, match="no derivative"):
            sg.grad(f)(2.0)


@pytest.mark.native
def test_lengths_are_checked_when_it_runs() -> None:
    f = sg.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (ct[1:] * x[1:],))
    with pytest.raises(ValueError, match="the cotangent of x has length 4, not 5") as found:
        sg.grad(lambda x: np.sum(f(x)))(X)
    assert any("test_custom_rules.py" in note for note in found.value.__notes__)
    g = sg.custom_vjp(lambda x: x * x)
    g.defvjp(lambda x: (x[1:] ** 2, x), lambda x, ct: (x,))
    with pytest.raises(ValueError, match="another shape than the function: lengths 4 and 5"):
        sg.grad(lambda x: np.sum(g(x)))(X)


def test_what_is_no_function() -> None:
    with pytest.raises(sg.errors.ArgumentError, match="custom_vjp takes a Python function, not <ufunc 'sin'>"):
        sg.custom_vjp(np.sin)
    with pytest.raises(sg.errors.ArgumentError, match="has the keyword argument 'y'"):
        sg.custom_jvp(lambda x, *, y: x)
    with pytest.raises(sg.errors.ArgumentError, match="bwd of <lambda> is 2, not a function"):
        sg.custom_vjp(lambda x: x).defvjp(lambda x: (x, x), 2)
    with pytest.raises(sg.errors.ArgumentError, match=r"nondiff_argnums=\(3,\), but <lambda> takes 1 argument"):
        sg.custom_vjp(lambda x: x, nondiff_argnums=(3,))
    with pytest.raises(sg.errors.ArgumentError, match="a rule for each of the 1 arguments"):
        sg.custom_jvp(lambda x: x).defjvps(None, None)


def test_what_has_no_cotangent() -> None:
    f = sg.custom_vjp(lambda p: 2.0 * p["a"])
    f.defvjp(lambda p: (2.0 * p["a"], None), lambda _, ct: ({"a": 2.0 * ct},))
    with pytest.raises(sg.errors.InferenceError, match="p, which is no number, no array and no tuple of these, has no"):
        sg.grad(f)({"a": 1.0})


def test_what_is_refused_in_a_loop_is_refused_after_it() -> None:
    f = sg.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: x * x, lambda x, ct: (2.0 * x * ct,))

    def looped(a):
        while a < 3.0:
            a = f(a)
        return f(a)

    with pytest.raises(sg.errors.InferenceError, match="the rule returns a float"):
        sg.grad(looped)(1.1)


def repeated_power(x, n):
    return 1.0 if n == 0 else x * repeated_power(x, n - 1)


@sg.custom_vjp
def ruled_power(x, n):
    return repeated_power(x, n)


ruled_power.defvjp(
    lambda x, n: (repeated_power(x, n), (x, n)),
    lambda kept, ct: (ct * kept[1] * repeated_power(kept[0], kept[1] - 1), None),
)


def test_what_is_constant_may_recurse() -> None:
    """A call that the derivative does not pass through needs the functions that its own graph calls."""

    def scaled(a, x, n):
        return a * a * ruled_power(x, n)

    assert sg.grad(scaled)(2.0, 3.0, 3) == 108.0
    assert sg.grad(sg.grad(scaled))(2.0, 3.0, 3) == 54.0
    assert sg.grad(scaled, argnums=1)(2.0, 3.0, 3) == 108.0


@sg.checkpoint
def in_two_names(x):
    y = x * 2.0
    return y, y


@sg.custom_vjp
def with_a_part(x):
    y = x * 2.0
    return y, y[1:]


with_a_part.defvjp(lambda x: (with_a_part(x), None), lambda kept, ct: (2.0 * ct[0],))


@pytest.mark.parametrize("f", [in_two_names, with_a_part], ids=lambda f: f.__name__)
def test_one_array_in_two_results(f) -> None:
    """A store into one is seen in the other, which two arrays of a derivative would not show."""

    def stored(x):
        a, b = f(x)
        a[1] = 5.0
        return np.sum(a) * np.sum(b)

    x = np.array([1.0, 2.0, 3.0])
    assert sg.compile(stored)(x) == stored(x)
    with pytest.raises(sg.errors.InferenceError, match=f"{f.__name__} returns one array twice, or a part of it"):
        sg.grad(stored)(x)


def test_a_direction_whose_length_is_written_out() -> None:
    """The residual's length is known at run time only, that of the direction is 4."""

    @sg.custom_vjp
    def doubled(x):
        return x * 2.0

    doubled.defvjp(lambda x: (doubled(x), x), lambda x, ct: (ct * 2.0 + 0.0 * x,))

    def slope(x):
        return sg.jvp(lambda y: np.sum(doubled(y) ** 2), (x,), (np.ones(4),))[1]

    np.testing.assert_allclose(sg.grad(slope)(np.arange(4.0)), np.full(4, 8.0))
    with pytest.raises(ValueError, match="shape"):
        sg.grad(slope)(np.arange(5.0))


@sg.custom_jvp
def halves(x, y):
    return x[0] * y, x * y


@halves.defjvp
def halves_rule(primals, tangents):
    x, y = primals
    dx, dy = tangents
    moved = np.zeros(len(x))
    for i in range(len(x)):
        moved[i] = dx[i] * y + x[i] * dy
    return halves(x, y), (dx[0] * y + 0.0 * dy if y == 0.0 else dx[0] * y + dy * x[0], moved)


def test_zeros_beside_tangents_are_linear():
    x = np.array([1.0, 2.0, 3.0])
    _, (first, moved) = sg.jvp(halves, (x, 2.0), (np.ones(3), 1.0))
    assert first == 3.0 and moved.tolist() == [3.0, 4.0, 5.0]
    assert sg.grad(lambda v: halves(v, 2.0)[1].sum() + halves(v, 3.0)[0])(x).tolist() == [5.0, 2.0, 2.0]


def _backward(bwd):
    made = sg.custom_vjp(lambda x: np.sin(x))
    made.defvjp(lambda x: (np.sin(x), x), bwd)
    return made


@pytest.mark.parametrize(
    "bwd",
    [
        lambda x, ct: (np.cos(x),),
        lambda x, ct: (x,),
        lambda x, ct: (np.cos(x) * ct + 1.0,),
        lambda x, ct: (ct if x > 0.5 else 1.0,),
        lambda x, ct: (np.where(x > 0.5, ct, 1.0),),
    ],
)
def test_constants_beside_cotangents_are_none_for_forward_mode(bwd):
    made = _backward(bwd)
    with pytest.raises(sg.errors.DerivativeError, match="not linear in the cotangent, so it is none for forward mode"):
        sg.jvp(made, (0.5,), (1.0,))
    assert sg.grad(made)(0.7) == pytest.approx(bwd(0.7, 1.0)[0])  # as it says: a rule is believed in its own mode


def test_what_zero_is_left_of_is_linear():
    made = _backward(lambda x, ct: (np.where(x > 0.5, ct * np.cos(x), 0.0),))
    assert sg.jvp(made, (0.7,), (2.0,))[1] == pytest.approx(2.0 * np.cos(0.7))
    assert sg.jvp(made, (0.3,), (2.0,))[1] == 0.0


def test_rules_with_the_wrong_number_of_parameters_are_refused_where_they_are():
    made = _backward(lambda x: (x,))
    with pytest.raises(sg.errors.InferenceError, match=r"bwd of .* takes 1 argument but 2 were given") as caught:
        sg.grad(made)(0.5)
    assert "_backward(lambda x: (x,))" in str(caught.value)


def test_one_argument_without_a_derivative():
    scaled = sg.custom_vjp(lambda x, n: x * n, nondiff_argnums=1)
    scaled.defvjp(lambda x, n: (x * n, None), lambda n, kept, ct: (ct * n,))
    assert sg.grad(scaled)(2.0, 3) == 3.0
