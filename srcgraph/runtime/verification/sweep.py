"""The reverse sweep over a trace: one loop, in which every step's contributions are compared with differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, Node
from srcgraph.opt.ad.lists import ADJOINTS
from srcgraph.runtime.verification.local import Local, Verdict, judge
from srcgraph.runtime.verification.pullback import Cotangents, Pullbacks, added
from srcgraph.runtime.verification.trace import Ref, Step, Trace

After = Callable[[Step, Cotangents, Cotangents, Mapping[Ref, Any]], None]
"""Told of every step when it has been reversed: its results' cotangents, what it contributes, all cotangents so far."""


def swept(trace: Trace, pullbacks: Pullbacks, result: Ref, after: After | None = None) -> dict[Ref, Any]:
    """The cotangent of every value of a trace that influences the result."""
    cts: dict[Ref, Any] = {result: np.asarray(result.value).dtype.type(1)}
    for step in reversed(trace.steps):
        mine = [cts.get(ref) for ref in step.outputs]
        given = pullbacks(step, mine) if any(ct is not None for ct in mine) else [None] * len(step.inputs)
        for ref, ct in zip(step.inputs, given, strict=True):
            if ct is not None and ref.varied:
                cts[ref] = added(cts.get(ref), ct)
        if after is not None:
            after(step, mine, given, cts)
    return cts


def gradients(params: Sequence[Ref], cts: Mapping[Ref, Any], wanted: Sequence[int]) -> list[Any]:
    """The cotangents of parameters."""
    return [np.zeros_like(params[k].value) if (ct := cts.get(params[k])) is None else ct for k in wanted]


@dataclass(slots=True)
class Checked:
    """Compares the steps of a trace with differences while it is swept, up to the first that disagrees.

    Attributes
    ----------
    steps : int
        How many operations agree.
    unchecked : list
        Steps that could not be compared, each with the reason.
    wrong : (Step, Verdict) or None
        The one that disagrees.
    """

    trace: Trace
    steps: int = 0
    unchecked: list[tuple[Step, str]] = field(default_factory=list)
    wrong: tuple[Step, Verdict] | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def after(self, step: Step, mine: Cotangents, given: Cotangents, cts: Mapping[Ref, Any]) -> None:
        if self.wrong or step.is_copy or _moves_only(step) or all(ct is None for ct in mine):
            return
        with np.errstate(all="ignore"):
            verdict = DRAWN if draws(step.node) else judge(Local(step, mine, given, self.trace), self.rng)
        if verdict.kind == "wrong":
            self.wrong = step, verdict
        elif verdict.kind == "unchecked":
            self.unchecked.append((step, verdict.reason))
        else:
            self.steps += 1


DRAWN = Verdict("unchecked", "the same numbers cannot be drawn for other arguments")


def draws(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.kind == "draw"


def _moves_only(step: Step) -> bool:
    """Whether a step passes on what it is given: checks, and what is put on lists."""
    return isinstance(step.node, Apply) and (step.node.op.kind == "check" or step.node.op.name in ADJOINTS)
