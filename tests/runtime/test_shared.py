"""Shared variables: the container by itself."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def test_a_value_is_copied_unless_borrowed() -> None:
    """Later stores into the array are unseen, unless it was borrowed."""
    x = np.zeros(3)
    own, lent = sg.shared(x), sg.shared(x, borrow=True)
    x[0] = 1.0
    assert own.value[0] == 0.0 and lent.value is x
    y = np.full(3, 2.0)
    own.value = y
    y[0] = 5.0
    assert own.value[0] == 2.0
    own.set_value(y, borrow=True)
    assert own.value is y and own.get_value() is not y and own.get_value(borrow=True) is y
    own.value[1] = 7.0
    assert y[1] == 7.0
    own.value = y.view(np.matrix).A1  # another object, the same memory
    y[2] = 9.0
    assert own.value[2] == 2.0


@pytest.mark.parametrize(
    ("first", "later", "result"),
    [
        (1.0, 2, 2.0),
        (1, True, 1),
        (1.0, np.float32(0.5), 0.5),
        (np.float32(1.0), 0.5, np.float32(0.5)),
        (1j, 2.0, 2 + 0j),
        (np.int8(1), 100, np.int8(100)),
        (1.0, np.array(2.0), 2.0),
        (np.zeros(2), np.arange(3), np.arange(3.0)),
        (np.array(1.0), 3, np.array(3.0)),
        (np.zeros((2, 2), np.float32), np.ones((1, 5)), np.ones((1, 5), np.float32)),
        (np.zeros(2), [1, 2, 3], np.array([1.0, 2.0, 3.0])),
    ],
)  # fmt: skip
def test_a_value_is_cast_to_the_type_of_the_first(first: Any, later: Any, result: Any) -> None:
    """What NumPy's same-kind rules allow becomes the type that the variable has."""
    b = sg.shared(first)
    b.value = later
    assert type(b.value) is type(first) and np.array_equal(b.value, result)
    assert np.asarray(b.value).dtype == np.asarray(first).dtype


@pytest.mark.parametrize(
    ("first", "later"),
    [(1, 1.5), (1, np.float64(2.0)), (1.0, 1j), (True, 2), (np.zeros(2, int), np.zeros(2)),
     (np.zeros(2), np.zeros((2, 2))), (np.zeros(2), 1.0), (1.0, np.zeros(1)), (1.0, "x"), (1.0, None)],
)  # fmt: skip
def test_what_would_lose_something_is_refused(first: Any, later: Any) -> None:
    """A value that does not fit leaves the variable as it is; the message has its name."""
    b = sg.shared(first, name="bias")
    with pytest.raises(TypeError, match="'bias' holds"):
        b.value = later
    assert b.value is first or np.array_equal(b.value, first)


def test_integers_have_64_bits() -> None:
    b, f = sg.shared(0, name="count"), sg.shared(0.0)
    with pytest.raises(OverflowError, match="'count' cannot hold 1180591620717411303424"):
        b.value = 2**70
    with pytest.raises(OverflowError, match="'large' cannot hold"):
        sg.shared(2**70, name="large")
    f.value = 2**70
    assert f.value == 2.0**70


def test_strict_takes_only_the_type_itself() -> None:
    """With strict=True nothing is cast."""
    b = sg.shared(1.0, name="bias", strict=True)
    b.value = 2.0
    with pytest.raises(TypeError, match="'bias' holds float, not int"):
        b.value = 2
    with pytest.raises(TypeError, match="'bias'"):
        b.value = np.float64(2.0)
    w = sg.shared(np.zeros(2), name="w", strict=True)
    w.value = np.zeros(7)
    with pytest.raises(TypeError, match="'w' holds float64 array, 1 axis, not float32 array"):
        w.value = np.zeros(2, np.float32)


def test_two_variables_on_one_container() -> None:
    """Both see one value; a value together with a container is an error."""
    a = sg.shared(1.0, name="a")
    b = sg.SharedVariable("b", container=a.container)
    b.value = 3.0
    assert a.value == 3.0
    with pytest.raises(TypeError, match="both a value and a container"):
        sg.SharedVariable("c", value=1.0, container=a.container)
    with pytest.raises(TypeError, match="neither"):
        sg.SharedVariable("c")


def test_copies() -> None:
    """A copy stands on the same container; a deep copy and a pickled one do not."""
    a = sg.shared(np.zeros(2), name="a", strict=True)
    b = sg.SharedVariable("b", container=a.container)
    near, (far, beside) = copy.copy(a), copy.deepcopy((a, b))
    a.value = np.ones(2)
    assert near.value is a.value and far.value[0] == 0.0
    assert far.container is beside.container and far.strict and far.name == "a"
    again, other = pickle.loads(pickle.dumps((a, b)))
    assert again.container is other.container and np.array_equal(again.value, np.ones(2))
    again.value[0] = 9.0
    assert a.value[0] == 1.0


def test_what_it_looks_like() -> None:
    assert repr(sg.shared(1, name="b")) == "<shared b: int, 1>"
    assert repr(sg.shared(np.float32(0.5))) == "<shared variable: numpy.float32, 0.5>"
    assert repr(sg.shared(np.zeros((2, 3)), "w", frozen=True)) == "<shared w: float64 array of shape (2, 3), frozen>"


def test_values_of_other_types() -> None:
    """A constructor is registered for a type; an option that none has lists those there are."""

    class Words(sg.SharedVariable):
        pass

    @sg.shared_constructor.register(frozenset)
    def words(value: Any, name: Any = None, strict: bool = False, borrow: bool = False, limit: int = 9) -> Words:
        assert len(value) <= limit
        return Words(name, value, strict, borrow)

    w = sg.shared(frozenset("ab"), "w", limit=2)
    w.value = frozenset("c")
    assert isinstance(w, Words) and w.value == {"c"}
    with pytest.raises(TypeError, match="'w' holds frozenset, not a list"):
        w.value = ["a"]
    with pytest.raises(TypeError, match=r"words\(value.*limit"):
        sg.shared(frozenset("ab"), size=3)
    with pytest.raises(TypeError, match="a number or a NumPy array"):
        sg.shared("text")
