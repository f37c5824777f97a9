"""`sg.run`: one instruction at a time gives what compiled code gives, and shows each."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from harness import calls, compare, corpus, label, outcome

import srcgraph as sg
from srcgraph import ir


@pytest.mark.parametrize("program", corpus()[5::12], ids=label)
def test_programs_run(program: Any) -> None:
    args = next(iter(calls(program)))
    compare(outcome(sg.run(program), args), outcome(program, args), label(program))


def smooth(x: np.ndarray, n: int) -> float:
    total = 0.0
    for k in range(n):
        if x[k] > 0.5:
            total += np.sin(x[k])
    return total


def test_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """Each instruction as often as it runs, with its number in the listing and its values."""
    x = np.array([0.25, 0.75])
    stepped = sg.run(smooth, trace=True)
    assert stepped(x, 2) == np.sin(0.75)
    shown = capsys.readouterr().out.splitlines()
    listing = ir.instructions(stepped.graph(x, 2), hints=False).splitlines()
    lines, values = zip(*(line.partition("  # ")[::2] for line in shown), strict=True)
    assert set(lines) <= set(listing)
    assert lines[0] == listing[0] and lines[-1] == listing[-1] and values[-1] == str(np.sin(0.75))
    assert sum("  sin " in line for line in lines) == 1 and sum("getitem" in line for line in lines) >= 2
    assert "[0.25, 0.75]" in values[0]


def test_straight_code_reads_back() -> None:
    """What is shown of code without loops is a text of its graph, the values being comments."""
    shown: list[str] = []
    assert sg.run(lambda x: np.sum(np.tanh(x) * x), trace=shown.append)(np.ones(3)) == 3 * np.tanh(1.0)
    graph = ir.from_instructions("\n".join(shown))
    assert ir.structural_hash(graph) == ir.structural_hash(
        sg.compile(lambda x: np.sum(np.tanh(x) * x)).graph(np.ones(3))
    )


def test_errors_name_the_users_line() -> None:
    shown: list[str] = []
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2") as caught:
        sg.run(smooth, trace=shown.append)(np.ones(2), 3)
    assert "if x[k] > 0.5:" in caught.value.__notes__[0] and len(caught.value.__notes__) == 1
    assert shown[-1].endswith("# raises IndexError: index 2 is out of bounds for axis 0 with size 2")


def test_gradients_and_stores() -> None:
    """Transformed functions run, and arguments change as compiled code changes them."""
    x = np.array([0.25, 0.75, 1.0])
    np.testing.assert_allclose(sg.run(sg.grad(smooth))(x, 3), sg.grad(smooth)(x, 3), rtol=1e-15)

    def fill(y: np.ndarray) -> None:
        y[1:] = 2.0 * y[:-1]

    sg.run(fill)(x)
    np.testing.assert_array_equal(x, [0.25, 0.5, 1.5])


def test_calls_are_shown() -> None:
    """A function that calls itself: its lines, as often as it is called."""

    def down(n: int) -> int:
        return 0 if n <= 0 else 1 + down(n - 1)

    shown: list[str] = []
    assert sg.run(down, trace=shown.append)(3) == 3
    assert sum(" call " in line for line in shown) == 3
    assert [line.partition("# ")[2] for line in shown if " new " in line][:4] == ["3", "3", "2", "2"]


def test_methods_and_partials() -> None:
    class Line:
        def __init__(self) -> None:
            self.slope = 2.0

        def at(self, x: float, offset: float) -> float:
            return self.slope * x + offset

    assert sg.run(Line().at)(3.0, 1.0) == 7.0
    assert sg.run(functools.partial(lambda x, y: x - y, 5.0))(2.0) == 3.0


def test_what_is_made_of_it_runs_so() -> None:
    """The engine is an option of a function, which derivatives of it keep."""
    shown: list[str] = []
    stepped = sg.grad(sg.run(lambda x: np.sin(x) * x, trace=shown.append))
    assert stepped(0.5) == np.cos(0.5) * 0.5 + np.sin(0.5)
    assert any(" cos " in line for line in shown)
