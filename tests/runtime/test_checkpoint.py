"""Checkpointing: gradients through stored states are those through tapes, within memory and steps that theory gives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_programs import (
    PROGRAMS,
    SHAPED,
    V,
    W,
    both_marked,
    half,
    product_again,
    recurrence,
    rule_before_recursion,
    rule_in_steps,
    stencil,
    until_far,
)
from harness import Versions, derived, drawn_like, duplicate, float_arguments, float_leaves, leaves_of
from second_order import forward_over_reverse, reverse_over_reverse

import srcgraph as sg
from srcgraph.errors import ArgumentError, DerivativeError
from srcgraph.ir.interp import interpret
from srcgraph.ir.ops.schedules import UNUSED, place_of_state, steps_ahead
from srcgraph.opt.ad.checkpoint import Checkpointing
from srcgraph.runtime import checkpoint as runtime

pytestmark = pytest.mark.plainly


def by_interp(program: Callable, args: tuple[Any, ...], plan: Checkpointing | None) -> list[Any]:
    version, hidden = Versions(program, distinct=True).of(args)
    out = derived(version, tuple(float_arguments(version)), plan)
    return interpret(out.program, leaves_of(duplicate(args), hidden))


@pytest.mark.parametrize(("program", "args"), PROGRAMS, ids=[f"{p.__name__}-{k}" for k, (p, _) in enumerate(PROGRAMS)])
def test_same_as_a_tape(program: Callable, args: tuple[Any, ...]) -> None:
    """However few states are stored, the gradient is that of plain taping."""
    want = by_interp(program, args, None)
    for plan in (Checkpointing(1), Checkpointing(3), Checkpointing(memory=100)):
        for x, y in zip(by_interp(program, args, plan), want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def half_of_cube(x):
    return half(x * x * x, 2)


def test_compiled() -> None:
    """Natively, too, for a counted loop, and one that ends by itself, which is given 1 kB."""
    np.testing.assert_allclose(sg.grad(stencil, checkpoint=2)(V, 0.1, 7), sg.grad(stencil)(V, 0.1, 7), rtol=1e-12)
    assert sg.grad(rule_in_steps, checkpoint=2)(0.9, 8) == pytest.approx(sg.grad(rule_in_steps)(0.9, 8), rel=1e-12)
    assert sg.grad(rule_before_recursion)(0.9) == pytest.approx(sg.jvp(half_of_cube, (0.9,), (1.0,))[1], rel=1e-12)
    plain = sg.grad(until_far)(0.5, 100)
    assert sg.grad(until_far, checkpoint="1 kB")(0.5, 100) == pytest.approx(plain, rel=1e-12)


TWICE = [PROGRAMS[0], PROGRAMS[5], *SHAPED, (both_marked, (0.3, 3, 5))]


@pytest.mark.parametrize(("program", "args"), TWICE, ids=[p.__name__ for p, _ in TWICE])
def test_second_order(program: Callable, args: tuple[Any, ...]) -> None:
    """Forward over reverse, and reverse over reverse: what runs steps again is differentiated as any code."""
    found = [second(program, args, plan) for plan in (None, Checkpointing(2))]
    for x, y in zip(*found, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10)


def second(program: Callable, args: tuple[Any, ...], plan: Checkpointing | None) -> list[Any]:
    """The Hessian times a vector, in both ways."""
    version, hidden = Versions(program, distinct=True).of(args)
    first = derived(version, tuple(float_arguments(version)), plan)
    moving = float_leaves(version, tuple(float_arguments(version)))
    draw, own = np.random.default_rng(3), leaves_of(duplicate(args), hidden)
    leaves = [*own, *(drawn_like(own[k], draw) for k in moving)]
    both = reverse_over_reverse(first, moving), forward_over_reverse(first, moving)
    return [x for program in both for x in interpret(program, leaves)]


# -- how many steps -----------------------------------------------------------------------------------


def theory(steps: int, states: int) -> int:
    """Griewank and Walther: the least number of steps forward, the last one not counted."""
    runs = next(r for r in range(steps + 1) if comb(states + r, states) >= steps)
    return runs * steps - comb(states + runs, states + 1)


def steps_run(text: str, steps: int) -> int:
    """How many steps the generated gradient runs forward, found by running its text with a counter."""
    done = 0

    def counted(left: int, places: int) -> int:
        nonlocal done
        ahead = steps_ahead(left, places)
        done += ahead
        return ahead

    body = text[text.index("def ") :]
    space: dict[str, Any] = {"np": np, "empty": np.empty, "zeros": np.zeros, "steps_ahead": counted}
    exec(body, space)
    space["recurrence_grad"](0.3, steps)
    return done


@pytest.mark.parametrize("states", [1, 2, 3, 5, 10])
def test_steps_are_those_of_theory(states: int) -> None:
    text = sg.inspect(sg.grad(recurrence, checkpoint=states), 0.3, 10).cpu
    for steps in (1, 2, 3, 7, 30, 101):
        assert steps_run(str(text), steps) == theory(steps, states) + 1


@pytest.mark.parametrize("states", [2, 5, 20])
def test_steps_where_their_number_is_not_known(states: int) -> None:
    """No step runs more often than it must, once more at most than where the number is known."""
    for steps in (1, 5, 40, 300):
        at, level = np.full(states, UNUSED), np.zeros(states, int)
        for step in range(steps):
            place, rank = place_of_state(at, level)
            at[place], level[place] = step, rank
        stored = sorted(int(k) for k in at if k != UNUSED)
        assert stored[0] == 0
        again = run_back(stored, steps, states)
        assert again + steps <= 1.15 * theory(steps, states) + steps / 2 + 2


def run_back(stored: list[int], steps: int, states: int) -> int:
    """How many steps are run again, from states before these steps."""
    again = 0
    for step in reversed(range(steps)):
        done = stored[-1]
        while done < step:
            ahead = steps_ahead(step + 1 - done, states + 1 - len(stored))
            done, again = done + ahead, again + ahead
            if len(stored) < states and done < step:
                stored.append(done)
        if stored[-1] == step:
            stored.pop()
    return again


# -- memory -------------------------------------------------------------------------------------------

LONG = """
import resource
import numpy as np
import srcgraph as sg

def recurrence(x, n):
    y = x
    for _ in range(n):
        y = y + 1e-6 * np.sin(y) * x
    return y

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

gradient = sg.grad(recurrence, checkpoint=20)
gradient(0.3, 10)
before = peak()
gradient(0.3, 3_000_000)
print(peak() - before)
"""


def test_memory_of_a_long_loop(tmp_path: Path) -> None:
    """A tape of 3 million trips has 24 MB; twenty states have next to nothing."""
    (tmp_path / "long.py").write_text(LONG)
    done = subprocess.run([sys.executable, tmp_path / "long.py"], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4000  # kB


def test_auto_chooses_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tape while it fits, else states; one text has both."""
    monkeypatch.setattr(runtime, "AUTO", 1000)
    shown = sg.inspect(sg.grad(stencil, checkpoint="auto"), V, 0.1, 7)
    assert "<= 1000:" in str(shown.cpu)
    assert {row.choice for row in shown.tape} >= {"array", "states"}
    gradient = sg.grad(stencil, checkpoint="auto")
    for n in (3, 60):
        np.testing.assert_allclose(gradient(V, 0.1, n), sg.grad(stencil)(V, 0.1, n), rtol=1e-12)


def test_auto_does_nothing_where_nothing_is_saved() -> None:
    shown = sg.inspect(sg.grad(lambda x, n: x * n, checkpoint="auto"), 2.0, 3)
    assert "if" not in str(shown.cpu)


def test_tape_table() -> None:
    rows = sg.inspect(sg.grad(stencil, checkpoint=5), V, 0.1, 7).tape
    (states,) = [row for row in rows if row.choice == "states"]
    assert (states.variable, states.bytes) == ("v", "8 * n")


# -- marks --------------------------------------------------------------------------------------------


def marked(x, n):
    y = x
    for _ in sg.checkpoint(range(n), 4):
        y = y + 0.1 * np.sin(y) * x
    return y


def marked_while(x):
    y, k = x, 0
    while sg.checkpoint(y < 3.0, "1 kB"):
        y = y + 0.1 * np.sin(x) * y
        k += 1
    return y * k


def plain_while(x):
    y, k = x, 0
    while y < 3.0:
        y = y + 0.1 * np.sin(x) * y
        k += 1
    return y * k


@sg.checkpoint
def layer(w, h):
    return np.tanh(w @ h)


def network(ws, h):
    for k in range(len(ws)):
        h = layer(ws[k], h)
    return np.sum(h)


def plain_network(ws, h):
    for k in range(len(ws)):
        h = np.tanh(ws[k] @ h)
    return np.sum(h)


def test_marked_loops() -> None:
    """A mark changes what is saved, and nothing else; without a gradient it is not there at all."""
    assert marked(0.3, 17) == recurrence(0.3, 17)
    assert sg.grad(marked)(0.3, 17) == pytest.approx(sg.grad(recurrence)(0.3, 17), rel=1e-13)
    assert sg.grad(marked_while)(0.5) == pytest.approx(sg.grad(plain_while)(0.5), rel=1e-13)
    assert str(sg.inspect(sg.compile(marked), 0.3, 17).cpu).count("\n") == str(
        sg.inspect(sg.compile(recurrence), 0.3, 17).cpu
    ).count("\n")


def test_marked_function() -> None:
    """Only the arguments of its calls are saved."""
    ws = np.random.default_rng(0).normal(size=(4, 4, 4))
    np.testing.assert_allclose(sg.grad(network)(ws, V), sg.grad(plain_network)(ws, V), rtol=1e-12)
    saved = [row.variable for row in sg.inspect(sg.grad(network), ws, V).tape if row.choice == "list"]
    assert saved == ["h"]
    value, tangent = sg.jvp(network, (ws, V), (None, V))
    assert value == pytest.approx(plain_network(ws, V)) and np.isfinite(tangent)


def test_progress(capfd: pytest.CaptureFixture[str]) -> None:
    assert sg.grad(recurrence, checkpoint=5, progress=True)(0.3, 1000) == sg.grad(recurrence, checkpoint=5)(0.3, 1000)
    assert "1000/1000" in capfd.readouterr().err


# -- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [True, 0, -3, 2.5, "lots", "3", []])
def test_neither_a_number_nor_memory(asked: Any) -> None:
    with pytest.raises(ArgumentError, match="neither a number of states nor an amount of memory"):
        sg.grad(recurrence, checkpoint=asked)


def test_progress_of_a_tape() -> None:
    with pytest.raises(ArgumentError, match="checkpointed loops only"):
        sg.grad(recurrence, progress=True)


@pytest.mark.parametrize(
    ("asked", "bytes_"), [("200 MB", 200_000_000), ("1KiB", 1024), ("64b", 64), ("0.5 GB", 5 * 10**8)]
)
def test_amounts_of_memory(asked: str, bytes_: int) -> None:
    plan = runtime.checkpointing(asked)
    assert plan is not None and plan.memory == bytes_


def prints(x, n):
    for _ in range(n):
        x = x * 1.1
        print(x)
    return x


def sets_items(x, n):
    xs = [x, 2 * x]
    for k in range(n):
        xs[k % 2] = np.sin(xs[0]) * xs[1]
    return xs[0][1]


def marked_to_append(x, n):
    xs = [x]
    for _ in sg.checkpoint(range(n), 3):
        if x > 0.0:
            xs.append(xs[-1] * x)
    return xs[-1]


def grows(x, n):
    for _ in range(n):
        x = np.concatenate((x, x * x))
    return np.sum(x)


def draws(x, n, rng):
    for _ in range(n):
        x = x * rng.normal()
    return x


@pytest.mark.parametrize(
    ("program", "args", "why"),
    [
        (prints, (1.0, 3), "a loop that prints or warns"),
        (sets_items, (V, 3), "it changes the list 'xs'"),
        (marked_to_append, (1.0, 3), "it changes the list 'xs'"),
        (draws, (1.0, 3, np.random.default_rng(0)), "draws random numbers"),
    ],
)
def test_what_cannot_run_again(program: Callable, args: tuple[Any, ...], why: str) -> None:
    with pytest.raises(DerivativeError, match=why) as caught:
        sg.grad(program, checkpoint=3)(*args)
    assert "test_checkpoint.py:" in str(caught.value)


@pytest.mark.native
def test_what_changes_its_shape() -> None:
    """That is seen when it happens."""
    with pytest.raises(ValueError, match="this loop changes the shape of 'x': lengths 8 and 4") as caught:
        sg.grad(grows, checkpoint=3)(V, 2)
    assert any("test_checkpoint.py:" in note for note in caught.value.__notes__)


def test_second_derivatives_of_users() -> None:
    """`hvp` takes the plan, and differentiates what runs again."""
    plain = sg.hvp(recurrence, (0.3, 17), (1.0, None))
    assert sg.hvp(recurrence, (0.3, 17), (1.0, None), checkpoint=3)[0] == pytest.approx(plain[0], rel=1e-12)
    whole = sg.jvp(sg.grad(product_again), (V, W, 4), (V, None, None))[1]
    states = sg.jvp(sg.grad(product_again, checkpoint=2), (V, W, 4), (V, None, None))[1]
    np.testing.assert_allclose(states, whole, rtol=1e-12)


def to_a_bound(x):
    y = x
    while y[0] < 9.0:
        y = x + y
    return np.sum(y * y)


def test_loops_that_hand_on_an_array_alone() -> None:
    """The test of the loop is a number, which is not of the array's shape."""
    x = np.array([1.0, 2.0])
    for plan in (1, 3, "1 kB", "auto"):
        np.testing.assert_allclose(sg.grad(to_a_bound, checkpoint=plan)(x), sg.grad(to_a_bound)(x))


@sg.custom_jvp
def pushed_straight_through(x):
    return np.round(x)


@pushed_straight_through.defjvp
def _(primals, tangents):
    return np.round(primals[0]), tangents[0]


@sg.custom_vjp
def pulled_straight_through(x):
    return np.round(x)


pulled_straight_through.defvjp(lambda x: (np.round(x), None), lambda _, ct: (ct,))


@sg.checkpoint
def pulled_again(x):
    return pulled_straight_through(x) * x


@pytest.mark.parametrize("rounded", [pushed_straight_through, pulled_straight_through])
def test_second_derivatives_of_rules_whose_code_has_other_ones(rounded: Callable[..., Any]) -> None:
    """What runs again runs the code of the rule, as where all is saved: by it, the rounded number is constant."""

    def f(x, n):
        for _ in range(n):
            x = rounded(x) * x
        return x

    for plan in (None, 1, 2):
        slope = sg.grad(f, checkpoint=plan)
        assert slope(1.4, 2) == pytest.approx(5.76)
        assert sg.grad(slope)(1.4, 2) == sg.jacfwd(slope)(1.4, 2) == pytest.approx(4.8)
    assert sg.grad(sg.grad(lambda x: pulled_again(pulled_again(x))))(1.4) == pytest.approx(4.8)


def returned_within(u, steps):
    u = u.copy()
    for i in range(steps):
        u[1:] += 0.1 * u[:-1]
        for _ in sg.checkpoint(range(3), 2):
            if u[-1] < 0.6:
                if i > 17:
                    return np.sum(u)
    return np.sum(u * u)


def largest_within(u, steps):
    q, s = 0.3, 0.0
    for _ in range(steps):
        for _ in sg.checkpoint(range(3), 2):
            s += np.sin(np.max(u) * q)
            q = np.max(u) * s * 0.3
    return s


@pytest.mark.parametrize("f", [returned_within, largest_within])
@pytest.mark.parametrize("plan", [3, "auto", "1 kB"])
def test_checks_of_lengths_in_a_loop_in_a_checkpointed_one(f, plan):
    for u in (np.linspace(0.1, 0.7, 4), np.full(4, 0.01)):
        for steps in (0, 4, 30):
            np.testing.assert_allclose(sg.grad(f, checkpoint=plan)(u, steps), sg.grad(f)(u, steps), rtol=1e-12)
