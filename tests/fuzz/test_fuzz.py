"""Random programs give what Python gives, or are refused; so do their gradients."""

from __future__ import annotations

from contextlib import nullcontext

import judging
import pytest
from harness import calls
from judging import attempt

from fuzz.check import check, load
from fuzz.generator import program
from fuzz.nests import short_strips
from fuzz.shrink import shrink

CHUNK = 10
SEEDS = range(0, 60, CHUNK)


@pytest.mark.parametrize("first", SEEDS)
def test_programs(first: int) -> None:
    refused = 0
    for seed in range(first, first + CHUNK):
        text = program(seed)
        with short_strips() if seed % 2 else nullcontext():
            fate = check(text, sizes=(5, 1) if seed % 5 == 0 else (5, 2, 0))
        assert not fate.fault, f"seed {seed}: {fate.fault}\n{fate.forward.reason}{fate.gradient.reason}\n{text}"
        refused += fate.forward.kind == "refused"
    assert refused <= CHUNK * 0.6, "most of these programs used to be accepted"


def test_programs_are_worth_running() -> None:
    """Most calls of a program return something, and the same seed is the same program."""
    done = 0
    for seed in SEEDS:
        f = load(program(seed))
        outcomes = [attempt(f, args)[1] for args in calls(f)]
        done += outcomes.count(None) >= len(outcomes) / 2
        assert program(seed) == program(seed)
    assert done >= len(SEEDS) * 0.6


STORES = """\
def f(x, n):
    acc = 0.0
    for i in range(n):
        if x[0] > 0.5:
            acc += np.sum(np.cumsum(x) * 2.0)
        else:
            acc -= 1.0
    x[1] = acc
    return x
"""


def test_faults_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = judging.call_plainly
    assert not check(STORES).fault

    def changes_too_much(compiled, *args):
        out = right(compiled, *args)
        args[0][...] *= 1.0 + 1e-7
        return out

    monkeypatch.setattr(judging, "call_plainly", changes_too_much)
    assert check(STORES).fault == "value wrong: result"


def test_shrinking() -> None:
    """What has nothing to do with a fault goes away: statements, nesting, parameters, parts of expressions."""
    assert shrink(STORES, lambda text: "np.cumsum(" in text, 400) == "def f():\n    np.cumsum(1)"
    kept = shrink(STORES, lambda text: "for " in text and "x[1] = " in text, 400)
    assert kept.split("\n") == ["def f():", "    for i in 1:", "        1", "    x[1] = 1"], kept
