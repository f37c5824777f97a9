"""``verify=True``: errors planted in rules and in the machinery are found at their line, and nothing else is."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from harness import calls, corpus, label
from judging import Case, summed
from outcomes import attempt, copied, is_float, leaves, values
from plainly import OtherDivision, plain_text, raised_by_text
from test_planted import planted

import srcgraph as sg
from srcgraph.errors import ArgumentError, InferenceError, UnsupportedError, VerificationError
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, NoDerivative, Op
from srcgraph.opt.ad import forward, reverse, tape
from srcgraph.runtime import specialization

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Sweeps, also where few numbers matter."""


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated text runs as plain Python: that numba compiles it is tested elsewhere."""
    load = lambda text, name: (raised_by_text(plain_text(text, name), text), "<plain>")  # noqa: E731
    monkeypatch.setattr(specialization, "load", load)


X = np.linspace(0.3, 1.2, 5)
M = np.random.default_rng(0).uniform(0.2, 1.5, (4, 4)) + 2.0 * np.eye(4)


def marked(function: Callable) -> int:
    """The line of a function that is marked ``# here``."""
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if "# here" in line)


def refused(function: Callable, *args: Any, argnums: Any = 0) -> VerificationError:
    """The error of a wrong gradient, at the marked line."""
    with pytest.raises(VerificationError) as caught:
        sg.grad(function, argnums, verify=True, mode=BACKWARD)(*args)
    loc = caught.value.problems[0].loc
    assert loc is not None and loc.file == __file__
    assert loc.line == marked(function), str(caught.value)
    return caught.value


# -- planted in rules -------------------------------------------------------------------------------


def elementwise(x, function):
    y = 2.0 * x
    z = function(y)  # here
    return np.sum(np.cos(z) * x)


def store(x):
    y = 3.0 * x
    w = y - 1.0
    y[1:3] = w[:2] * w[1]  # here
    return np.sum(y**2)


def item(x):
    s = 0.0
    for k in range(len(x)):
        s = s * 0.5 + x[k]  # here
    return s


def ratio(x):
    y = np.exp(x)
    z = x / y  # here
    return np.sum(z * z)


def chosen(x):
    y = x * x
    z = np.where(x > 0.6, y, x)  # here
    return np.sum(np.sin(z))


def total(x):
    y = np.exp(x)
    s = y.sum()  # here
    return s * s


def largest(x):
    y = np.exp(x)
    s = np.max(y)  # here
    return s * s


def multiplied(x):
    y = x + 1.0
    s = np.prod(y)  # here
    return s * s


def scanned(x):
    y = np.exp(x)
    s = np.cumsum(y)  # here
    return s @ s


def sorted_(x):
    y = np.cos(9.0 * x)
    s = np.sort(y)  # here
    return np.sum(s * x)


def product(m):
    y = np.sin(m)
    s = y @ m  # here
    return np.sum(s**2)


def solved(m):
    y = m + 0.1
    s = np.linalg.solve(y, m[:, 0])  # here
    return np.sum(s**2)


def determinant(m):
    y = m + 0.1
    s = np.linalg.det(y)  # here
    return s * s


def factor(m):
    y = m @ m.T
    s = np.linalg.cholesky(y)  # here
    return np.sum(s**3)


def eigen(m):
    y = m + m.T
    s = np.linalg.eigh(y)[0]  # here
    return np.sum(s**3)


def singular(m):
    y = m + 0.1
    s = np.linalg.svd(y, compute_uv=False)  # here
    return np.sum(s**3)


def transformed(x):
    y = x + 0.1
    s = np.fft.rfft(y)  # here
    return np.sum(np.abs(s) ** 2)


def matched(x):
    y = np.exp(x)
    s = y[:, None] * x  # here
    return np.sum(s**2)


def reshaped(m):
    y = np.exp(m)
    s = y.reshape(-1)  # here
    return np.sum(s[1:] * s[:-1])


def powers(x):
    y = x + 0.1
    s = y ** (1.0 + x)  # here
    return np.sum(s)


UNARY = {
    "sin": np.sin, "exp": np.exp, "log": np.log, "tanh": np.tanh, "sqrt": np.sqrt, "absolute": np.abs,
    "arctan": np.arctan, "log1p": np.log1p, "cbrt": np.cbrt,
}  # fmt: skip
OTHERS = {
    "setitem": (store, X), "getitem": (item, X), "div": (ratio, X), "where": (chosen, X), "sum": (total, X),
    "max": (largest, X), "prod": (multiplied, X), "add": (scanned, X), "sort": (sorted_, X), "matmul": (product, M),
    "lu_solve": (solved, M), "lu_det": (determinant, M), "cholesky": (factor, M), "eigh": (eigen, M),
    "svdvals": (singular, M), "rfft": (transformed, X), "reshape": (reshaped, M), "power": (powers, X),
}  # fmt: skip


def worse(op: Op) -> dict[str, Any]:
    """Rules of an op that are off by a hundredth."""

    def off(c: Any) -> Any:
        return c if c is None or isinstance(c, NoDerivative) else OPS["mul"](c, c.type.dtype.type(1.01))

    def vjp(*args: Any, **attrs: Any) -> Any:
        return tuple(map(off, op_vjp(*args, **attrs)))

    def into(running: Value, ct: Value, *args: Any, **attrs: Any) -> Any:
        return op_into(running, off(ct), *args, **attrs)

    op_vjp: Any = op.vjp
    op_into: Any = op.vjp_into
    return {"vjp_into": into} if op_into is not None else {"vjp": vjp}


@pytest.mark.parametrize("name", UNARY)
def test_wrong_rule_of_a_function(name: str) -> None:
    with planted(OPS[name], **worse(OPS[name])):
        error = refused(elementwise, X, UNARY[name])
    assert f"the adjoint of {name} is wrong: y[" in str(error)


@pytest.mark.parametrize("name", OTHERS)
def test_wrong_rule(name: str) -> None:
    function, argument = OTHERS[name]
    with planted(OPS[name], **worse(OPS[name])):
        error = refused(function, argument)
    assert f"the adjoint of {name} is wrong" in str(error)


# -- planted in the machinery -----------------------------------------------------------------------


def used_twice(x, w):
    y = x * w
    z = np.tanh(y)
    s = np.cos(y)  # here
    return z * s


def decay(x, a, n):
    y = x
    for _ in range(n):
        y = a * y * (1.0 - y)  # here
    return y


def weighted(u, n):
    s = 0.1
    for k in range(0, n, 3):
        s = s * u[k] + np.sin(s)  # here
    return s


def chained(u):
    for k in range(len(u) - 1):
        u[k + 1] = np.sin(u[k]) * u[k + 1]  # here
    return u[-1]


def in_branch(x, n):
    y = np.exp(x)
    if n > 2:  # here
        z = y * y
        y = z + np.sin(z)
    return y * 2.0


def until(x, n):
    y = x
    for _ in range(n):  # here
        y = y * x
        if y > 4.0:
            break
    return np.sin(y)


def by_list(x, n):
    found = [x]
    for k in range(n):
        found.append(found[k] * x)
    s = 0.0
    for v in found:
        s += np.sin(v)  # here
    return s


def depth(x, n):
    return x if n == 0 else np.sin(depth(x, n - 1) * x)  # here


def test_lost_contribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last contribution wins in place of the sum."""

    def overwrite(self: reverse.Reverse, value: Value, ct: Value | None) -> None:
        if ct is not None and value in self.active:
            self.frames[-1][value] = self.fitted(ct, value)

    def first(x, w):
        y = x * w
        z = np.tanh(y)  # here
        s = np.cos(y)
        return z * s

    monkeypatch.setattr(reverse.Reverse, "accumulate", overwrite)
    refused(first, 0.4, 1.3)
    refused(depth, 0.9, 3)


def test_contribution_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    add = reverse.Reverse.add
    monkeypatch.setattr(reverse.Reverse, "add", lambda self, running, ct: add(self, add(self, running, ct), ct))
    error = refused(decay, 0.3, 3.1, 4)
    assert "the reverse sweep goes wrong here" in str(error) and "trip 4" in str(error)


def test_wrong_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trip reads what another one saved."""
    load, slots = tape.Assemble.load, tape.Assemble.slots

    def shifted(self: Any, saved: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tape.Assemble, "slots", lambda work, t: tuple(OPS["sub"](k, 1) for k in slots(work, t)))
            load(self, saved)

    monkeypatch.setattr(tape.Assemble, "load", shifted)
    refused(weighted, X, 5)


def test_nothing_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape.Assemble, "save", lambda self, old: None)
    refused(weighted, X, 5)


def test_trips_in_the_order_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = lambda self, node: (node.start, node.stop, node.step)  # noqa: E731
    monkeypatch.setattr(reverse.Reverse, "reversed_bounds", bounds)
    refused(weighted, X, 5)
    refused(chained, X)


def test_lost_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    branch = reverse.Reverse.branch
    monkeypatch.setattr(reverse.Reverse, "branch", lambda self, graph, seeds: branch(self, graph, seeds[:0]))
    refused(in_branch, 0.4, 5)


def test_other_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    recalled = reverse.Reverse.recalled
    other = lambda self, cond: self.builder.call_named("logical_not", recalled(self, cond))  # noqa: E731
    monkeypatch.setattr(reverse.Reverse, "recalled", other)
    refused(in_branch, 0.4, 5)


def test_lost_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reverse.Reverse, "loop", lambda self, node: None)
    refused(until, 0.9, 50)


def test_lost_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reverse step of reading from a list does nothing."""
    monkeypatch.setitem(reverse.lists.ADJOINTS, "list_get", lambda work, node: None)
    with pytest.raises(VerificationError):
        sg.grad(by_list, verify=True, mode=BACKWARD.excluding("appended"))(0.9, 3)


def test_wrong_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled is not the graph."""

    def edited(text: str, name: str) -> Any:
        return plain_text(text.replace("math.cos", "math.sin").replace("np.cos", "np.sin"), name), "<plain>"

    monkeypatch.setattr(specialization, "load", edited)
    with pytest.raises(VerificationError, match="the graph of the gradient is right") as caught:
        sg.grad(used_twice, verify=True)(0.4, 1.3)
    assert "'x'" in str(caught.value)


# -- rules of the user's own ------------------------------------------------------------------------


@sg.custom_vjp
def squared(x, y):
    return x * x + y


squared.defvjp(lambda x, y: (x * x + y, x), lambda x, ct: (3.0 * x * ct, ct))


@sg.custom_jvp
def scaled(x, y):
    return x * np.exp(y)


@scaled.defjvp
def rule_of_scaled(primals, tangents):
    (x, y), (t, _) = primals, tangents
    return scaled(x, y), t * np.exp(y)


@sg.custom_vjp
def rounded(x):
    return x * x


rounded.defvjp(lambda x: (x * x + 1e-3, x), lambda x, ct: (2.0 * x * ct,))


def with_squared(x):
    s = 0.0
    for v in x:
        s = s + np.sin(v)
        s = squared(s, v) / 3.0  # here
    return s


def with_scaled(x):
    y = np.sum(x)
    return scaled(2.0, y) + y  # here


def with_rounded(x):
    y = np.sum(x)
    return rounded(y) * y  # here


def test_wrong_rules_of_the_users_own() -> None:
    error = str(refused(with_squared, X))
    assert "the adjoint of the call of squared is wrong: x gets the cotangent" in error
    assert "in trip 5 of the loop" in error and "look at the derivative rule of squared" in error
    assert "y gets the cotangent 0, differences give" in str(refused(with_scaled, X))
    assert "returns another value than the function" in str(refused(with_rounded, X))


def test_right_rules_of_the_users_own() -> None:
    root = sg.implicit.root(lambda x, a: x**3 - a)
    fixed = sg.implicit.fixed_point(lambda x, a: np.cos(a * x))
    assert verified(lambda a: np.sin(root(1.0, a)), 8.0).steps
    assert verified(lambda a: fixed(0.5, a) ** 2, 0.7).steps


# -- no false alarms --------------------------------------------------------------------------------


def verified(function: Callable, *args: Any, argnums: Any = 0, unchecked: tuple[str, ...] = (), **options: Any) -> Any:
    """The report on a gradient that is right, and the same as without verification."""
    checked = sg.grad(function, argnums, verify=True, **options)
    got = checked(*deepcopy(args))
    np.testing.assert_equal(got, sg.grad(function, argnums, **options)(*deepcopy(args)))
    assert tuple(u.what for u in checked.report.unchecked) == unchecked, checked.report
    return checked.report


@dataclass
class Model:
    a: float
    w: float
    n: int


def structures(model, weights, pair):
    s = 0.0
    for k in range(model.n):
        s += model.a * np.sum(np.sin(model.w * weights["k"])) + pair[0] * pair[1][k]
    return s, 2.0 * model.w


def constants(x):
    y = sg.stop_gradient(x * x)
    return np.sum(y * x) + np.floor(x[0]) + int(x[1]) * x[2] + round(x[3])


def kinks(x, y):
    first = np.sort(np.array([x, y]))
    return max(x, y) * 3.0 + abs(x - y) + 3.0 * first[0] + first[1]


def chaotic(x, n):
    for _ in range(n):
        x = 3.9 * x * (1.0 - x)
    return x


def noise(scale, rng):
    return np.sum((scale * rng.normal(size=4)) ** 2) * rng.uniform()


def appended(x, items):
    found = [x]
    for v in items:
        found.append(found[-1] * v)
    return sum(found)


def test_structures_and_auxiliary_data() -> None:
    args = Model(1.2, 0.7, 2), {"k": 0.3}, (2.0, np.ones(4))
    assert verified(structures, *args, argnums=(0, 2), has_aux=True).steps > 10
    assert verified(structures, *args, argnums=1, has_aux=True, return_value=True).steps > 5
    value, gradient = sg.value_and_grad(appended, (0, 1), verify=True)(1.2, [1.0, 2.0, 3.0])
    assert (value, gradient) == (12.0, (10.0, pytest.approx([10.8, 4.8, 2.4])))


def test_recursion_and_early_exits() -> None:
    assert verified(depth, 0.9, 3).steps > 3
    assert verified(until, 1.1, 50).steps > 3
    assert verified(chained, X.copy()).steps > 3


def test_constants() -> None:
    assert verified(constants, np.array([1.3, 2.7, 0.4, 1.2])).steps
    assert verified(constants, np.array([3.0, 2.0, 0.4, 1.0]), unchecked=("floor",)).steps


def test_kinks() -> None:
    verified(kinks, 1.0, 1.0, argnums=(0, 1), unchecked=("sort",))
    assert verified(kinks, 1.0, 1.5, argnums=(0, 1)).steps
    verified(lambda x: np.sqrt(x) * x, 0.0, unchecked=())
    verified(lambda x: np.exp(x) * 1e-130 + 1e16, 300.0, unchecked=("add",))


def test_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in another order of rounding is another gradient altogether, but not a wrong one."""
    edited = lambda text, name: (plain_text(text.replace("3.9", "3.9000000000000004"), name), "<plain>")  # noqa: E731
    monkeypatch.setattr(specialization, "load", edited)
    verified(chaotic, 0.3, 300, unchecked=("the whole gradient",))


def test_single_precision() -> None:
    assert verified(lambda x: np.sum(np.sin(x) * np.exp(x)), X.astype(np.float32)).steps


def test_random_generator() -> None:
    """Each run draws the same; the caller's generator is left where the function would leave it."""
    rng, again = np.random.default_rng(1), np.random.default_rng(1)
    gradient = sg.grad(noise, verify=True)(1.5, rng)
    assert gradient == pytest.approx(2.0 * noise(1.5, again) / 1.5)
    assert rng.bit_generator.state == again.bit_generator.state


def test_what_draws_and_has_a_derivative() -> None:
    """Of a draw whose parameter has a derivative, and of a rule that draws, there is nothing to compare with."""
    report = sg.grad(lambda a, rng: np.sum(rng.weibull(a, 3) * a), verify=True)
    report(1.5, np.random.default_rng(0))
    assert [u.what for u in report.report.unchecked] == ["draw_weibull"]


def test_effects_happen_once(capsys: pytest.CaptureFixture) -> None:
    def shown(x):
        print("x is", x)
        return x * x

    assert verified(shown, 2.0).steps
    assert capsys.readouterr().out == "x is 2.0\n" * 2  # once more without verification


def test_second_derivatives() -> None:
    assert verified(sg.grad(lambda v: v**3 * np.sin(v)), 0.7).steps > 10
    assert verified(lambda x: sg.grad(lambda v: v**3 * np.sin(v))(x) ** 2, 0.7).steps > 10


@pytest.mark.parametrize("program", corpus()[::40], ids=label)
def test_corpus(program: Callable) -> None:
    """Programs of every kind raise no alarm."""
    for args in itertools.islice(calls(program), 1):
        value, error, _ = attempt(program, args)
        argnums = tuple(k for k, a in enumerate(args) if (found := values(leaves(a))) and all(map(is_float, found)))
        parts = [f"out{path}" for path, leaf in leaves(value) if is_float(leaf)]
        if error is None and argnums and parts:
            with (
                np.errstate(all="ignore"),
                contextlib.suppress(InferenceError, OtherDivision),
            ):  # of a list that has None
                sg.grad(summed(Case("", program, []), len(args), parts), argnums, verify=True)(*copied(args))


# -- what it is not for -----------------------------------------------------------------------------


cubed = sg.grad(lambda v: v**3, verify=True)


def calls_verified(x):
    return cubed(x)


def makes_verified(x):
    return sg.grad(lambda v: v**3, verify=True)(x)


def test_only_the_outermost_is_verified() -> None:
    for function in (calls_verified, makes_verified):
        with pytest.raises(UnsupportedError, match="verify=True inside a compiled function"):
            sg.api.compile(function)(1.0)
    for make in (sg.grad, lambda f: sg.jvp(f, (1.0,), (1.0,))):
        with pytest.raises(ArgumentError, match="only the outermost one is verified"):
            make(cubed)


def test_other_errors_are_the_functions_own() -> None:
    def raising(x):
        if x > 0:
            raise ValueError("no")
        return x

    with pytest.raises(ValueError, match="no"):
        sg.grad(raising, verify=True)(1.0)


def test_it_is_pickled_as_it_is() -> None:
    again = pickle.loads(pickle.dumps(sg.grad(used_twice, verify=True)))
    assert again(0.4, 1.3) == sg.grad(used_twice)(0.4, 1.3) and again.report.steps


def test_wrong_tangent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a loop of few numbers carries along is compared, too."""
    product = reverse.OPS["mul"]
    monkeypatch.setattr(forward.Forward, "rule", wrong_products(forward.Forward.rule, product))
    with pytest.raises(VerificationError, match="what loops that depend on few numbers carry along is not"):
        sg.grad(by_list, verify=True)(0.9, 3)


def wrong_products(rule: Any, product: Any) -> Any:
    def changed(self: forward.Forward, node: Any, moved: Any) -> Any:
        return [None for _ in node.outputs] if node.op is product else rule(self, node, moved)

    return changed
