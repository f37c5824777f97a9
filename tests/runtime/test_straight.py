"""Calls without detours: they answer what the longer way answers, and are left where they do not fit."""

import copy
import inspect
import pickle
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import SrcgraphError
from srcgraph.runtime import api
from srcgraph.runtime.api import Compiled

SCALE = 2.0


@pytest.fixture(params=["machine", "python"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """By machine code, and by the Python functions that take its place where it cannot run."""
    if request.param == "python":
        monkeypatch.setattr(api, "entered", lambda base: None)
    return request.param


def line(x, y=1.0):
    return x * y + 1.0


def dot(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


def scaled(x):
    return x * SCALE


def helper(x):
    return x + 1.0


def helped(x):
    return helper(x) * 2.0


def only_by_place(x, /, y):
    return x - y


def odd_names(run, self, type, len, out, code):
    return run + self * type - len / out * code


def rows(m):
    return m.sum(axis=1)


def raises(x):
    if x > 1.0:
        raise ValueError("too large")
    return x


def overflowing(n):
    return n * n


def same(got: Any, wanted: Any) -> None:
    assert type(got) is type(wanted)
    np.testing.assert_array_equal(got, wanted)


def warm(function: Any, *args: Any) -> Compiled:
    """A compiled function whose next call is straight."""
    made = sg.compile(function)
    for _ in range(3):
        same(made(*args), function(*args))
    assert type(made) is not made.general, "the call takes the longer way"
    return made


def nested(a, x):
    return (np.float32(x), a), (a * x, (x, (7, a.sum())), "fixed"), x + 1.0, ((x * 2.0,),)


def test_tuples_inside_tuples() -> None:
    made = sg.compile(nested)
    a, x = np.arange(3.0), 0.5
    for _ in range(20):
        same_parts(made(a, x), nested(a, x))
    assert type(made) is not made.general and made(a, x)[0][1] is a
    gradient = sg.value_and_grad(line, argnums=(0, 1))
    for _ in range(3):
        assert gradient(2.0, 3.0) == (7.0, (3.0, 2.0))
    assert type(gradient) is not gradient.general


def same_parts(got: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert type(got) is tuple and len(got) == len(wanted)
        for x, y in zip(got, wanted, strict=True):
            same_parts(x, y)
    else:
        same(got, wanted)


@dataclass
class Fit:
    slope: float
    steps: list
    of: Any


class Pair(NamedTuple):
    first: float
    second: Any


def fitted(x, k):
    steps = [x[0] + 2.0]
    for v in x:
        steps.append(v * k)
    fit = Fit(steps[-1], steps, Pair(k, {"sum": x.sum()}))
    return fit, steps, [x * 2.0, fit], {"k": k, "rows": x + k}


def perhaps(x, k):
    return {"x": x * k} if k > 1.0 else None


def its_own(x, k):
    return [x, x * k]


def plain(found: Any) -> Any:
    match found:
        case Fit(slope=slope, steps=steps, of=of):
            return "Fit", slope, plain(steps), plain(of)
        case dict():
            return {k: plain(v) for k, v in found.items()}
        case list() | tuple():
            return type(found), [plain(v) for v in found]
        case np.ndarray():
            return found.tolist()
    return type(found), found


def test_objects_lists_and_dicts() -> None:
    x = np.arange(3.0)
    for function in (fitted, perhaps):
        made = sg.compile(function)
        for k in (0.5, 2.0, 3.0, 4.0):
            assert plain(made(x, k)) == plain(function(x, k))
        assert type(made) is not made.general or function is perhaps
    made = sg.compile(fitted)
    for _ in range(4):
        fit, steps, (doubled, again), named = made(x, 2.0)
        assert fit is again and fit.steps is steps and steps == [2.0, 0.0, 2.0, 4.0]
        fit.steps.append(7.0)
        doubled[:] = named["rows"][:] = 0.0
    mine = sg.compile(its_own)
    assert all(mine(x, 2.0)[0] is x for _ in range(4))
    gradient = sg.value_and_grad(lambda p, q: p["a"] * q.slope, argnums=(0, 1))
    for _ in range(4):
        value, (one, two) = gradient({"a": 2.0}, Fit(3.0, [], None))
        assert (value, one, two.slope) == (6.0, {"a": 3.0}, 2.0)


def test_numbers_of_every_type_after_each_other() -> None:
    made = sg.compile(line)
    numbers = [1.5, 2, True, np.float64(1.5), np.float32(0.1), np.int64(3), np.int8(5), 1j, np.complex64(2j), 2**30]
    rng = np.random.default_rng(0)
    for _ in range(300):
        x, y = (numbers[k] for k in rng.integers(len(numbers), size=2))
        try:
            wanted = line(x, y)
        except OverflowError:
            with pytest.raises(OverflowError):
                made(x, y)
        else:
            same(made(x, y), wanted)


def test_integers_are_not_taken_for_floats() -> None:
    """The text of both versions is one, and so is what numba compiled of it."""
    made = warm(lambda x, y: x * y, 2.0, 3.0)
    same(made(2, 3), 6)
    same(made(2.0, 3.0), 6.0)
    same(made(2, 3), 6)
    same(made(True, 3.0), 3.0)


def test_arrays_of_every_kind_after_each_other() -> None:
    made = warm(dot, np.arange(5.0), np.ones(5))
    rng = np.random.default_rng(1)
    wide, grid = np.arange(10.0), np.arange(25.0).reshape(5, 5)
    still = np.arange(5.0)
    still.flags.writeable = False
    kinds = [
        np.arange(5.0), wide[::2], wide[:5], wide[4::-1], grid[:, 1], grid[2], still, np.arange(5),
        np.ones(5, np.float32), np.arange(1.0), np.arange(20.0), np.arange(5) > 2,
    ]  # fmt: skip
    for _ in range(300):
        a, b = (kinds[k] for k in rng.integers(len(kinds), size=2))
        if len(a) > len(b):
            with pytest.raises(IndexError):
                made(a, b)
        else:
            assert made(a, b) == pytest.approx(dot(a, b))
            assert type(made(a, b)) is type(dot(a, b))


def test_other_things_than_arrays() -> None:
    made = warm(rows, np.ones((3, 2)))
    same(made(np.ones((1, 2))), rows(np.ones((1, 2))))
    same(made(np.ones((3, 2, 2))), rows(np.ones((3, 2, 2))))
    masked, swapped = np.ma.masked_array(np.ones((3, 2)), mask=True), np.ones((3, 2)).astype(">f8")
    for other in (np.array(3.0), None, "text", masked, swapped):
        with pytest.raises(SrcgraphError) as caught:
            made(other)
        assert caught.value.__context__ is None
    same(made(np.ones((3, 2))), rows(np.ones((3, 2))))


def test_arguments_by_name_and_left_out() -> None:
    made = warm(line, 2.0, 3.0)
    same(made(2.0), line(2.0))
    same(made(y=2.0, x=4.0), line(4.0, 2.0))
    same(made(2.0, y=5), line(2.0, y=5))
    for args, named in (((), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"x": 2.0}), ((1.0,), {"z": 2.0}), ((), {"y": 1.0})):
        with pytest.raises(TypeError):
            line(*args, **named)
        with pytest.raises(TypeError, match=r"^line\(\) "):
            made(*args, **named)
    same(made(2.0, 3.0), 7.0)


def test_parameters_that_are_given_by_place_only() -> None:
    made = warm(only_by_place, 3.0, 1.0)
    same(made(3.0, y=1.0), 2.0)
    with pytest.raises(TypeError):
        made(x=3.0, y=1.0)


def test_parameters_named_as_what_is_around_them() -> None:
    made = warm(odd_names, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    same(made(1.0, 2.0, 3.0, len=4.0, code=6.0, out=5.0), odd_names(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))


def test_what_is_read_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    made = sg.compile(scaled)
    for _ in range(3):
        same(made(1.5), 3.0)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    same(made(1.5), 4.5)
    monkeypatch.setitem(globals(), "SCALE", 3)
    same(made(1), 3)
    monkeypatch.delitem(globals(), "SCALE")
    with pytest.raises(NameError):
        made(1.5)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    same(made(1.5), 3.0)


def test_a_builtin_that_is_shadowed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = warm(dot, np.arange(3.0), np.ones(3))
    monkeypatch.setitem(globals(), "len", lambda a: 1)
    assert made(np.arange(3.0) + 1.0, np.ones(3)) == 1.0
    monkeypatch.delitem(globals(), "len")
    assert made(np.arange(3.0) + 1.0, np.ones(3)) == 6.0


def test_a_helper_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = warm(helped, 1.0)
    monkeypatch.setattr(helper, "__code__", (lambda x: x + 2.0).__code__)
    same(made(1.0), 6.0)
    monkeypatch.setitem(globals(), "helper", lambda x: x + 3.0)
    same(made(1.0), 8.0)


def test_a_function_that_is_edited() -> None:
    def edited(x):
        return x + 1.0

    made = warm(edited, 1.0)
    edited.__code__ = (lambda x: x + 5.0).__code__
    same(made(1.0), 6.0)


def test_errors_of_the_function_and_of_integers() -> None:
    made = warm(raises, 0.5)
    with pytest.raises(ValueError, match="too large") as caught:
        made(2.0)
    assert any("test_straight.py" in note for note in caught.value.__notes__)
    assert caught.value.__context__ is None
    made = warm(overflowing, 5)
    with pytest.raises(OverflowError):
        made(2**40)
    same(made(-7), 49)


def test_it_is_the_same_object_for_everyone_else() -> None:
    made = warm(line, 2.0, 3.0)
    assert isinstance(made, Compiled)
    assert repr(made) == "<srcgraph.Compiled line>"
    assert inspect.signature(made) == inspect.signature(line)
    assert copy.deepcopy(made) is made
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is Compiled and again(2.0, 3.0) == 7.0
    assert sg.grad(made)(2.0, 3.0) == 3.0


def test_many_threads_with_numbers_and_arrays() -> None:
    made = sg.compile(lambda x: x * 2)
    given = [1.5, 3, np.arange(4.0), np.arange(4), np.arange(8.0)[::2], np.float32(2.0)]
    wrong: list[Any] = []

    def calls(k: int) -> None:
        rng = np.random.default_rng(k)
        for _ in range(400):
            x = given[rng.integers(len(given))]
            got = made(x)
            if type(got) is not type(x * 2) or not np.array_equal(got, x * 2):
                wrong.append((x, got))

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_verified_gradients_are_verified() -> None:
    verified = sg.grad(line, verify=True)
    for _ in range(4):
        assert verified(2.0, 3.0) == 3.0
    assert verified.report is not None
