"""Shared variables read and assigned by compiled functions: what plain Python gives, committed all together."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shared_programs import PROGRAMS, Made

import srcgraph as sg
from srcgraph.errors import ArgumentError, InferenceError, OverlapError, SrcgraphError, UnsupportedError

pytestmark = pytest.mark.plainly


def same(x: Any, y: Any) -> bool:
    if isinstance(x, tuple | list):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    kinds = type(x) is type(y) and np.asarray(x).dtype == np.asarray(y).dtype
    return kinds and np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-14, atol=0)


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call on copies gives, or the exception it raises."""
    try:
        return function(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    except Exception as error:
        return error


@pytest.mark.parametrize("make", [sg.compile, sg.run], ids=["compiled", "eager"])
@pytest.mark.parametrize(("program", "calls"), PROGRAMS, ids=[p.__name__ for p, _ in PROGRAMS])
def test_programs(program: Callable[[], Made], calls: tuple[Any, ...], make: Callable[..., Any]) -> None:
    """Results and variables are what plain Python makes them; after an exception they are as before the call."""
    (plain, expected), (function, variables) = program(), program()
    compiled = make(function)
    for args in calls:
        before = [v.get_value() for v in expected]
        want, got = outcome(plain, args), outcome(compiled, args)
        if isinstance(want, Exception):
            assert isinstance(got, type(want))
            for variable, value in zip(expected, before, strict=True):
                variable.value = value
        else:
            assert same(got, want)
        assert all(same(v.value, u.value) for v, u in zip(variables, expected, strict=True))


def test_the_opening_example() -> None:
    """Several functions share one container."""
    b = sg.shared(1)
    f1 = sg.compile(lambda a: a + b.value)

    @sg.compile
    def f2(a):
        r = a + b.value
        b.value += 1
        return r

    assert (f1(3), f2(3), b.value, f1(3)) == (4, 4, 2, 5)
    b.value = 0
    assert f1(3) == 3


def test_all_or_nothing() -> None:
    """A function that raises leaves every variable as it was: numbers, arrays, stores into arrays."""
    b, w, v = sg.shared(1.0), sg.shared(np.zeros(3)), sg.shared(np.ones(2))
    arrays = w.value, v.value

    @sg.compile
    def f(x, i):
        b.value += 1
        w.value[0] = 9.0
        v.value = v.value * 2
        w.value[1] = x[i]
        return b.value

    with pytest.raises(IndexError):
        f(np.ones(2), 5)
    assert b.value == 1.0 and w.value is arrays[0] and v.value is arrays[1]
    assert np.array_equal(w.value, np.zeros(3))
    assert f(np.ones(2), 1) == 2.0
    assert np.array_equal(w.value, [9.0, 1.0, 0.0]) and np.array_equal(v.value, [2.0, 2.0])


def test_arrays_handed_out_stay_as_they_are() -> None:
    """An update puts another array into the container; nothing is copied where nothing is stored."""
    w = sg.shared(np.zeros(3), "w")
    before = w.value

    @sg.compile
    def store(x):
        w.value[1] += x
        return w.value

    read = sg.compile(lambda: w.value)
    assert read() is before
    after = store(2.0)
    assert after is w.value and before[1] == 0.0 and after[1] == 2.0
    assert read() is after


def test_what_is_assigned_is_copied() -> None:
    """As outside: later stores into an argument are not seen, and two variables never share an array."""
    w, v = sg.shared(np.zeros(2)), sg.shared(np.ones(2))

    @sg.compile
    def f(x):
        w.value = x
        v.value = w.value
        w.value[1] = 5.0
        return x

    x = f(np.full(2, 3.0))
    x[0] = 8.0
    assert np.array_equal(w.value, [3.0, 5.0]) and np.array_equal(v.value, [3.0, 3.0])


def test_threads_update_one_after_the_other() -> None:
    """Nothing is lost, two variables are read at one moment, and functions that assign several do not wait forever."""
    b, c = sg.shared(0), sg.shared(0)

    @sg.compile
    def up():
        b.value += 1
        c.value -= 1

    @sg.compile
    def down():
        c.value -= 1
        b.value += 1

    @sg.compile
    def total():
        return b.value + c.value

    for function in (up, down, total):
        function()
    b.value = c.value = 0
    seen: set[int] = set()

    def repeat(function: Callable[[], Any]) -> None:
        seen.update({function() for _ in range(1000)} - {None})

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=repeat, args=(f,)) for f in (up, down, total, total)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(switch)
    assert (b.value, c.value, seen) == (2000, -2000, {0})


def test_a_shape_that_changes_between_look_up_and_call() -> None:
    """Another thread may put in an array with an axis of length 1 at any time: the call is made anew."""
    w = sg.shared(np.ones(3), "w")
    add = sg.compile(lambda x: w.value + x)
    x = np.ones(3)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            w.value = np.ones(1)
            w.value = np.ones(3)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert all(np.array_equal(add(x), np.full(3, 2.0)) for _ in range(500))
    finally:
        stop.set()
        thread.join(60)


def test_a_shape_outside_makes_another_version() -> None:
    """An axis of length 1 is part of the signature, other lengths are not."""
    w = sg.shared(np.ones(3), "w")
    add = sg.compile(lambda x: w.value + x)
    for n in (3, 4, 1, 5):
        w.value = np.ones(n)
        assert np.array_equal(add(2.0), np.full(n, 3.0))
    assert sum(map(len, add.versions.values())) == 2


def test_frozen() -> None:
    """Compiled functions keep the value that there was when they were first compiled."""
    b, w = sg.shared(7.0, "b", frozen=True), sg.shared(np.ones(2), "w", frozen=True)
    old = sg.compile(lambda a: a + b.value + w.value)
    assert np.array_equal(old(1.0), [9.0, 9.0])
    b.value = 8.0
    w.value[0] = 5.0
    new = sg.compile(lambda a: a + b.value + w.value)
    assert np.array_equal(old(1.0), [9.0, 9.0]) and np.array_equal(old(1), [9.0, 9.0])
    assert np.array_equal(new(1.0), [14.0, 10.0])


def test_objects_with_shared_variables() -> None:
    """Variables in fields of arguments: each object has its own."""

    class Counter:
        def __init__(self, start: int) -> None:
            self.count = sg.shared(start)

        @sg.compile
        def add(self, x):
            self.count.value += x
            return self.count.value

    one, two = Counter(0), Counter(100)
    assert [one.add(1), two.add(2), one.add(3), two.add(4)] == [1, 102, 4, 106]


def refused(function: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(SrcgraphError) as caught:
        sg.compile(function)(*args)
    assert "test_shared_functions.py:" in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_is_refused_at_its_line() -> None:
    b, w = sg.shared(1, name="b"), sg.shared(np.zeros(3), name="w")
    fixed = sg.shared(1.0, name="fixed", frozen=True)
    strict = sg.shared(1.0, name="exact", strict=True)

    def wrong_type(x):
        b.value = x

    def wrong_axes(x):
        w.value = x

    def not_exact(x):
        strict.value = x

    def frozen(x):
        fixed.value = x

    def other(x):
        b.name = x

    def text(x):
        b.value = "one"

    assert "'b' holds int, not float" in refused(wrong_type, 0.5)
    assert "'w' holds float64 array, 1 axis, not float64 array, 2 axes" in refused(wrong_axes, np.zeros((2, 2)))
    assert "'exact' holds float, not int" in refused(not_exact, 1)
    assert "'fixed' is frozen" in refused(frozen, 1.0)
    assert "'name' of a shared variable" in refused(other, 1.0)
    assert "a number or an array is needed" in refused(text, 1.0)
    for use in (lambda x: b + x, lambda x: np.sin(w), lambda x: w[0]):
        assert ".value" in refused(use, 1.0).splitlines()[-1]
    assert (b.value, fixed.value, strict.value) == (1, 1.0, 1.0)


def test_a_variable_rebound_to_something_else() -> None:
    """The function is compiled anew, and says what it finds."""
    b: Any = sg.shared(1, name="b")
    f = sg.compile(lambda: b.value)
    assert f() == 1
    b = 3.0
    with pytest.raises(InferenceError, match="attribute 'value' of a float"):
        f()
    b = sg.shared(2)
    assert f() == 2


def test_a_variable_is_no_argument() -> None:
    """It is read from outside; the message names it."""
    b = sg.shared(1.0, name="bias")
    f = sg.compile(lambda x, y: x + y)
    with pytest.raises(ArgumentError, match=r"argument 'y' is the shared variable 'bias'(.|\n)*bias.value"):
        f(1.0, b)


def test_an_array_given_to_a_function_that_stores_into_it_outside() -> None:
    """One array under two names of which the compiled function cannot tell that they are one."""
    w = sg.shared(np.zeros(3))

    def helper(x):
        x[0] = 5.0
        return w.value[0]

    with pytest.raises(UnsupportedError, match="memory with what it reads from outside"):
        sg.compile(lambda: helper(w.value))()


def test_a_global_array_given_to_a_function_that_reads_it() -> None:
    """The same for arrays read from outside that are not shared variables."""
    g = np.zeros(3)

    def helper(x):
        x[0] = 5.0
        return g[0]

    with pytest.raises(UnsupportedError, match="memory with what it reads from outside"):
        sg.compile(lambda: helper(g))()


def _store(x, w, v):
    w.value[0] = 9.0
    return x[0]


def _add(x, w, v):
    w.value += 1.0
    return x.sum()


def _store_into_the_argument(x, w, v):
    before = w.value.sum()
    x[1] = 9.0
    return before + w.value.sum()


def _store_and_read_another(x, w, v):
    w.value[1] = 9.0
    return v.value.sum()


LENT: list[tuple[Any, slice, str]] = [
    (_store, slice(None), "changes the shared variable 'w', which shares memory with argument 'x'"),
    (_store, slice(1, None), "changes the shared variable 'w', which shares memory with argument 'x'"),
    (_add, slice(None), "changes the shared variable 'w', which shares memory with argument 'x'"),
    (_store_into_the_argument, slice(None), "changes argument 'x', which shares memory with the shared variable 'w'"),
    (_store_and_read_another, slice(0, 0), "the shared variable 'w', which shares memory with the shared variable 'v'"),
]


@pytest.mark.parametrize(("function", "part", "message"), LENT)
def test_an_array_that_is_lent_and_given_is_no_two_arrays(function: Any, part: slice, message: str) -> None:
    """Where either is changed it is refused, at every call; nothing is stored."""
    array = np.array([1.0, 2.0, 3.0])
    w, v = sg.shared(array, "w", borrow=True), sg.shared(array[1:], "v", borrow=True)
    f = sg.compile(lambda x: function(x, w, v))
    for _ in range(2):
        with pytest.raises(OverlapError, match=message):
            f(array[part])
    assert array.tolist() == w.value.tolist() == [1.0, 2.0, 3.0]
    v.value = np.zeros(2)
    assert f(np.array([1.0, 2.0, 3.0])) == function(np.array([1.0, 2.0, 3.0]), sg.shared(array), v)


def test_numbers_of_objects_from_outside_that_are_compiled_in() -> None:
    """They are part of what the version is valid for."""

    class Settings:
        axis = 0

        def __init__(self) -> None:
            self.axis = 0

    settings = Settings()
    f = sg.compile(lambda x: x.sum(axis=settings.axis))
    assert f(np.ones((2, 3))).shape == (3,)
    settings.axis = 1
    assert f(np.ones((2, 3))).shape == (2,)


def test_the_dtype_of_another_array() -> None:
    """``np.dtype(float) == None`` holds in NumPy, which is not to say that no dtype is given."""
    for function in (lambda x, y: np.asarray(x, y.dtype), lambda x, y: np.array(x, dtype=y.dtype)):
        assert sg.compile(function)(np.arange(3), np.ones(2)).dtype == np.float64


def test_values_that_compiled_functions_cannot_read() -> None:
    """They are refused where they are read, by name."""

    class Words(sg.SharedVariable):
        pass

    words = Words("words", frozenset("ab"))
    assert "'words' holds frozenset" in refused(lambda: words.value)


def test_functions_that_are_run_again_assign_nothing() -> None:
    """A checkpoint runs its function twice."""
    count = sg.shared(0, "count")

    def layer(x):
        count.value += 1
        return x * x

    marked = sg.checkpoint(layer)
    assert sg.compile(lambda x: marked(x))(3.0) == 9.0 and count.value == 1
    with pytest.raises(InferenceError, match="changes the shared variable 'count'"):
        sg.grad(lambda x: marked(x))(3.0)
