"""What is seen outside of a call, exactly: text, streams, exceptions with their arguments, warnings."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import numpy as np
import pytest
from harness import calls, duplicate, label
from programs import effects

import srcgraph as sg

PROGRAMS = [f for name, f in vars(effects).items() if callable(f) and getattr(f, "__module__", "") == effects.__name__]
PROGRAMS = [f for f in PROGRAMS if not isinstance(f, type)]


def seen(function: Callable, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call writes, raises and warns of."""
    failure: Any = None
    with (
        redirect_stdout(StringIO()) as out,
        redirect_stderr(StringIO()) as err,
        warnings.catch_warnings(record=True) as w,
    ):
        warnings.simplefilter("always")
        try:
            function(*duplicate(args))
        except Exception as error:
            attributes = {k: v for k, v in vars(error).items() if k != "__notes__"}
            failure = type(error), error.args, str(error), attributes, error.__cause__, error.__context__
    warned = [(x.category, str(x.message), x.filename, x.lineno) for x in w if x.category is RuntimeWarning]
    return out.getvalue(), err.getvalue(), failure, warned


@pytest.mark.parametrize("program", PROGRAMS, ids=label)
def test_seen(program: Callable) -> None:
    """Character for character."""
    compiled = sg.api.compile(program)
    for args in calls(program):
        got, want = seen(compiled, args), seen(program, args)
        if want[2] is not None and want[2][0] in (
            IndexError,
            ZeroDivisionError,
        ):  # found by Python, not raised by the user
            got, want = (*got[:2], got[2][0]), (*want[:2], want[2][0])
        assert got == want, args


def test_seen_once_in_a_gradient() -> None:
    args = (1.3, 4)
    for made in (sg.grad, sg.value_and_grad, lambda f: sg.grad(sg.grad(f))):
        got, want = seen(made(effects.newton_with_report), args), seen(effects.newton_with_report, args)
        assert got == want


def test_stream_is_the_one_of_the_moment(capsys: pytest.CaptureFixture) -> None:
    """`sys.stdout` is looked up when text is written, as `print` does."""
    compiled = sg.api.compile(effects.text_put_together)
    compiled(1.0, 2)
    with redirect_stdout(StringIO()) as out:
        compiled(1.0, 2)
    assert capsys.readouterr().out == out.getvalue() != ""
    with redirect_stdout(None):  # Python prints nothing then
        compiled(1.0, 2)


def test_stream_that_fails() -> None:
    """What writing raises comes out as it is."""

    class Full(StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    compiled = sg.api.compile(effects.text_put_together)
    with pytest.raises(OSError, match="No space") as found, redirect_stdout(Full()):
        compiled(1.0, 2)
    assert found.value.errno == 28


def test_warning_as_error() -> None:
    compiled = sg.api.compile(effects.warns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="a is large"):
            compiled(0.7)


def test_long_loop_is_seen_while_it_runs() -> None:
    """Each line is written when it is printed, not when the call returns."""

    class Until(StringIO):
        count = 0

        def write(self, text: str) -> int:
            self.count += 1
            if self.count > 5:
                raise KeyError("enough")
            return len(text)

    def endless(n):
        k = 0
        while k >= 0:
            print(k)
            k = (k + 1) % n
        return k

    with pytest.raises(KeyError), redirect_stdout(Until()):
        sg.api.compile(endless)(10)


def test_text_keeps_what_an_array_was() -> None:
    """A text is made where it stands, not where it is printed."""

    def f(x):
        text = f"before: {x}"
        x[0] = 9.0
        print(text, "after:", x)
        return x[0]

    assert seen(sg.api.compile(f), (np.ones(2),)) == seen(f, (np.ones(2),))


def test_from_another_thread() -> None:
    compiled = sg.api.compile(effects.newton_with_report)
    compiled(1.0, 1)
    out = StringIO()
    before, sys.stdout = sys.stdout, out
    try:
        thread = threading.Thread(target=compiled, args=(1.0, 2))
        thread.start()
        thread.join()
    finally:
        sys.stdout = before
    assert out.getvalue() == seen(effects.newton_with_report, (1.0, 2))[0]


def test_print_options_are_those_of_the_moment() -> None:
    x = np.array([1.0 / 3.0])
    compiled = sg.api.compile(effects.arrays_printed)
    with np.printoptions(precision=2):
        args = (x, np.ones((1, 3)), np.arange(1))
        assert seen(compiled, args) == seen(effects.arrays_printed, args)
