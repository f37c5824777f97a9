"""``fastmath``: what rounding may be changed by, where it ends, and what must not depend on it."""

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError

A_ROW = np.linspace(0.0, 1.0, 9)
BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""

A, B = 1.0 + 2.0**-30, 1.0 - 2.0**-30
"""Their product is 1 - 2**-60, which rounds to 1."""


def product_less_one(a, b):
    return a * b - 1.0


def difference_of_squares(x, y):
    return x * x - y * y


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def remainder(a, b):
    return a % b, a // b


def walked(xs, c):
    """Decisions of floats, in loops, that the reverse sweep needs."""
    out = 0.0
    for i in range(len(xs)):
        x = xs[i]
        while x * x + c > 1.0:
            x = x * 0.7 + c * x
            if x * c + 0.3 > 0.5:
                x = np.sqrt(x * x + c)
        out += x
    return out


def looked_up(table, x):
    out = 0.0
    for i in range(len(x)):
        out += table[int(x[i] * 3.0 + 0.5)] * x[i]
    return out


@pytest.mark.parametrize("flags", [{"contract"}, True, ["contract", "afn"]])
def test_a_product_and_a_sum_are_rounded_once(flags):
    assert sg.compile(product_less_one)(A, B) == 0.0 == product_less_one(A, B)
    assert sg.compile(product_less_one, fastmath=flags)(A, B) == -(2.0**-60)


def test_without_it_arithmetic_is_that_of_python():
    sg.compile(difference_of_squares, fastmath=True)(0.1, 0.1)
    assert sg.compile(difference_of_squares)(0.1, 0.1) == 0.0
    assert sg.compile(product_less_one, fastmath=False)(A, B) == 0.0
    assert sg.compile(product_less_one, fastmath={"nsz"})(A, B) == 0.0


@pytest.mark.parametrize("x", [np.nan, np.inf, -np.inf])
def test_no_number_is_taken_to_be_finite(x):
    def unlike(x):
        return x - x, x * 0.0, x != x, x / x

    found = sg.compile(unlike, fastmath=True)(x)
    assert found == pytest.approx(unlike(x), nan_ok=True)


def test_it_ends_with_the_function():
    values = np.array([1e16, 1.0, -1e16, 1.0] * 300)
    whole = sg.compile(lambda x: x.sum(), fastmath=True)
    assert whole(values) == sg.compile(lambda x: x.sum())(values)
    for a, b in [(5.3, 0.1), (-1e300, 3.7), (1.0, 0.1)]:
        assert sg.compile(remainder, fastmath=True)(a, b) == remainder(a, b)
        assert sg.compile(remainder)(a, b) == remainder(a, b)


def test_sums_in_order_may_be_taken_in_another():
    x = np.random.default_rng(0).normal(size=1001)
    assert sg.compile(total, fastmath=True)(x) == pytest.approx(total(x), abs=1e-12)
    assert sg.compile(total)(x) == total(x)


@pytest.mark.parametrize("derive", [sg.grad, sg.value_and_grad])
def test_derivatives_keep_it(derive):
    xs = np.linspace(1.0, 3.0, 7)
    kept = derive(sg.compile(walked, fastmath=True), (0, 1))
    given = derive(walked, (0, 1), fastmath=True)
    assert kept.options == given.options
    assert kept.options.mode.fastmath == {"arcp", "contract", "nsz", "reassoc"}
    expected = derive(walked, (0, 1))(xs, 0.2)
    for found in (kept(xs, 0.2), given(xs, 0.2)):
        for part, other in zip(flat(found), flat(expected), strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-12)


def flat(found):
    return [part for item in found for part in (flat(item) if isinstance(item, tuple) else [item])]


def test_what_floats_decide_is_saved():
    xs = np.linspace(1.0, 3.0, 7)
    usual = {row.variable: row.choice for row in sg.inspect(sg.grad(walked, (0, 1), mode=BACKWARD), xs, 0.2).tape}
    found = sg.inspect(sg.grad(walked, (0, 1), fastmath=True, mode=BACKWARD), xs, 0.2)
    rows = {row.variable: row for row in found.tape}
    decision = "x * c + 0.3 > 0.5"
    assert usual[decision] == "recomputed"
    assert rows[decision].choice == "list"
    assert rows[decision].reason == "rounded in another way, it might be another"


def test_positions_computed_from_floats_are_saved():
    x, table = np.array([0.2, 0.5, 0.9]), np.arange(5.0)
    gradient = sg.grad(looked_up, (0, 1), fastmath=True)
    for found, expected in zip(gradient(table, x), sg.grad(looked_up, (0, 1))(table, x), strict=True):
        np.testing.assert_allclose(found, expected)


def test_quotients_stay_outside_of_loops():
    """``(a / b) * x[i]`` is not ``(a * x[i]) / b``, which divides in each trip."""

    def scaled(a, b, x, out):
        factor = a / (1.0 + b)
        for i in range(len(x)):
            out[i] += factor * x[i]

    code = sg.explain(sg.compile(scaled, fastmath={"reassoc"}), 1.0, 2.0, A_ROW, np.zeros(9)).llvm
    assert code.count("fdiv") == 1 and "fdiv reassoc" not in code and "fdiv <" not in code


def test_the_text_and_the_head_say_so():
    found = sg.inspect(sg.compile(product_less_one, fastmath={"contract"}), A, B)
    assert "@njit(error_model='numpy', fastmath={'contract'})" in found.cpu
    assert found.head.endswith("fastmath={'contract'}")
    assert "fastmath" not in sg.inspect(product_less_one, A, B).head


def test_a_mode_given_later_keeps_it():
    assert sg.grad(sg.compile(walked, fastmath=True), mode="FAST_COMPILE").options.mode.fastmath


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nnan"}, "results that are NaN or infinite would be anything"),
        ({"fast"}, "results that are NaN or infinite would be anything"),
        ({"contracted"}, "fastmath knows no flag 'contracted'\nhint: did you mean 'contract'?"),
        ("contract", "fastmath must be True, False or a set of LLVM's flags, not 'contract'"),
        (3, "fastmath must be True, False or a set of LLVM's flags, not 3"),
    ],
)
def test_what_it_cannot_be(given, message):
    with pytest.raises(ArgumentError) as caught:
        sg.compile(total, fastmath=given)
    assert message in str(caught.value)


def test_a_gpu_has_rounding_of_its_own():
    with pytest.raises(ArgumentError, match='fastmath is for target="cpu"'):
        sg.compile(total, fastmath=True, target="cuda")
