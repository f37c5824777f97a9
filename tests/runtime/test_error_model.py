"""`error_model="numpy"`: arithmetic of Python's numbers goes on with inf and NaN where Python raises."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import srcgraph as sg


def quotients(a, k):
    return (
        1.0 / a,
        -1.0 / a,
        a / a,
        1 / k,
        7.5 // a,
        7.5 % a,
        divmod(1.0, a),
        a**-1,
        (a - 8.0) ** 0.5,
        10.0 ** (k + 400),
    )


def integer_quotients(k):
    return 7 // k, 7 % k, divmod(-7, k)


def functions(a):
    low = a - 2.0
    return (
        math.log(a), math.log(low), math.sqrt(low), math.asin(low), math.acosh(a), math.atanh(a + 1.0), math.log1p(low),
        math.log(5.0, a + 1.0), math.exp(a + 1000.0), math.cosh(a + 1000.0), math.sin(a + math.inf),
        math.pow(a, -1.0), math.fmod(1.0, a), math.remainder(1.0, a), math.ldexp(a + 1.0, 5000),
        math.hypot(1e308, low * 1e308),
    )  # fmt: skip


INF, NAN = math.inf, math.nan


def flat(values) -> list[float]:
    return [v for x in values for v in (flat(x) if isinstance(x, tuple) else [x])]


def test_goes_on() -> None:
    """One over zero and the like; the kinds of the results stay Python's."""
    found = flat(sg.compile(quotients, error_model="numpy")(0.0, 0))
    np.testing.assert_array_equal(found, [INF, -INF, NAN, INF, INF, NAN, INF, NAN, INF, NAN, INF])
    assert {type(v) for v in found} == {float}
    found = sg.compile(functions, error_model="numpy")(0.0)
    want = [-INF, NAN, NAN, NAN, NAN, INF, NAN, INF, INF, INF, NAN, INF, NAN, NAN, INF, INF]
    np.testing.assert_array_equal(found, want)
    assert flat(sg.compile(integer_quotients, error_model="numpy")(0)) == [0, 0, 0, 0]
    assert flat(sg.compile(integer_quotients, error_model="numpy")(-2)) == flat(integer_quotients(-2))


@pytest.mark.parametrize(("function", "args"), [(quotients, (0.0, 0)), (integer_quotients, (0,)), (functions, (0.0,))])
def test_raises_by_default(function, args) -> None:
    with pytest.raises(Exception) as expected:
        function(*args)
    for compiled in (sg.compile(function), sg.compile(function, error_model="python")):
        with pytest.raises(expected.type):
            compiled(*args)


def mean(x, n):
    total = 0.0
    for i in range(n):
        total += scaled(x, i)
    return total / n


def scaled(x, i):
    return math.sqrt(x) / (i + 1)


def test_fewer_checks() -> None:
    """The option holds for functions that are called, and shows in the text; gradients keep it."""
    compiled = sg.compile(mean, error_model="numpy")
    assert "raise" not in compiled.python(2.0, 3)
    assert "raise" in sg.compile(mean).python(2.0, 3)
    assert math.isnan(compiled(2.0, 0))
    assert 'error_model="numpy"' in repr(sg.inspect(compiled, 2.0, 3))
    assert "error_model" not in sg.inspect(sg.compile(mean), 2.0, 3).head
    for slope in (sg.grad(compiled), sg.grad(mean, error_model="numpy"), sg.grad(error_model="numpy")(mean)):
        assert "raise" not in slope.python(2.0, 3)
        assert slope(0.0, 3) == INF
    assert sg.value_and_grad(mean, error_model="numpy")(0.0, 1) == (0.0, INF)


def test_one_function_with_both() -> None:
    fast = sg.compile(sg.compile(mean), error_model="numpy")
    assert fast.options.error_model == "numpy" and sg.compile(fast) is fast
    assert sg.compile(fast, error_model="python").options.error_model == "python"
    assert pickle.loads(pickle.dumps(fast)).options.error_model == "numpy"


@pytest.mark.parametrize("make", [sg.compile, sg.grad, sg.value_and_grad])
@pytest.mark.parametrize("given", ["ieee", 3, ["numpy"]])
def test_other_models_are_refused(make, given) -> None:
    with pytest.raises(sg.errors.ArgumentError, match="error_model must be 'python' or 'numpy'"):
        make(mean, error_model=given)


def test_forward_mode() -> None:
    """`jvp` compiles under the model that it is given."""
    assert sg.jvp(lambda x: 1.0 / x, (0.0,), (1.0,), error_model="numpy") == (np.inf, -np.inf)
