"""What users read of a gradient that was verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from srcgraph.errors import Loc, Problem
from srcgraph.ir.graph import Apply, Call, For, If, Node, While
from srcgraph.runtime.transforms import Version
from srcgraph.runtime.verification.local import Verdict
from srcgraph.runtime.verification.observe import Found, unlabelled
from srcgraph.runtime.verification.sweep import Checked
from srcgraph.runtime.verification.trace import Step

DEFECT = "this is a defect of srcgraph: please report it"


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Operations of one kind at one place of which differences say nothing, with the reason."""

    loc: Loc | None
    what: str
    reason: str

    def __str__(self) -> str:
        return f"{f'{self.loc}: ' if self.loc else ''}{self.what}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """How a call of a verified gradient was checked.

    Attributes
    ----------
    steps : int
        How many operations agree with differences, counted whenever they ran.
    unchecked : tuple of Unchecked
        What could not be compared.
    """

    steps: int
    unchecked: tuple[Unchecked, ...]


def report(found: Checked, rounded: bool) -> Report:
    unchecked = [Unchecked(s.node.origin.loc, what(s.node), reason) for s, reason in found.unchecked]
    unchecked += [Unchecked(None, "the whole gradient", "rounding decides it")] if rounded else []
    return Report(found.steps, tuple(dict.fromkeys(unchecked)))


def not_run(drawn: Sequence[Call]) -> Report:
    """A gradient of which nothing was checked."""
    why = "it draws random numbers, and has a rule of its own"
    return Report(0, tuple(Unchecked(c.origin.loc, what(c), f"{why}: nothing was checked") for c in drawn))


def what(node: Node) -> str:
    """What a node does, in a word or two."""
    match node:
        case Apply():
            return node.op.name
        case Call(rule=rule):
            return f"the call of {rule.function if rule is not None else node.callee}"
        case If():
            return "the branch"
        case For() | While():
            return "the loop"
    raise AssertionError(node)


def of_step(step: Step, verdict: Verdict, found: Checked, version: Version) -> Problem:
    """A step whose rule contributes something else than differences give."""
    node = step.node
    message = verdict.reason or f"the adjoint of {what(node)} is wrong: {_compared(step, verdict, version)}"
    notes = [*_trips(step), _so_far(found)]
    hint = DEFECT
    if isinstance(node, Call) and node.rule is not None:
        hint = f"look at the derivative rule of {node.rule.function}"
        rule = version.rules[node.rule.backward or node.rule.forward]
        places = [n.origin.loc for n in rule.nodes if n.origin.loc is not None]
        notes += [f"its rule is at {places[0]}"] if places else []
    return Problem(message, node.origin.loc, tuple(filter(None, notes)), hint)


def _compared(step: Step, verdict: Verdict, version: Version) -> str:
    given, want = _number(verdict.given), _number(verdict.found)
    if verdict.place is None:
        return f"along a random direction it gives {given}, differences give {want}"
    k, index = verdict.place
    node = step.node
    inputs = (
        version.rules[node.callee].params if isinstance(node, Call) else node.inputs if isinstance(node, Apply) else ()
    )
    name = unlabelled(inputs[k].name).lstrip("_") or f"operand {k + 1}"
    where = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{name}{where} gets the cotangent {given}, differences give {want}"


def _number(x: Any) -> str:
    return f"{complex(x):.6g}" if complex(x).imag else f"{complex(x).real + 0.0:.6g}"


def _trips(step: Step) -> list[str]:
    if step.trip is None:
        return []
    trips = [f"trip {t.number + 1} of the loop at {t.loc}" for t in step.trip.all()]
    return [f"in {', '.join(trips)}"]


def _so_far(found: Checked) -> str:
    agree = f"of the operations after it {found.steps} agree with differences"
    return f"{agree}, {len(found.unchecked)} cannot be compared" if found.unchecked else agree


def of_sweep(where: Found, version: Version, differing: list[int], carried: bool) -> Problem:
    """A gradient that is not what its own rules make it."""
    names = ", ".join(repr(unlabelled(version.graph.params[k].name)) for k in differing)
    if where.node is not None and where.step is not None:
        at = "here" if isinstance(where.node, Apply) else f"at {what(where.node)}"
        message = f"the reverse sweep goes wrong {at}, though each derivative rule is right"
        notes = (*_trips(where.step), f"the gradient with respect to {names} is wrong")
        return Problem(message, where.node.origin.loc, notes, DEFECT)
    message = f"the gradient of {version.name} with respect to {names} is wrong, though each derivative rule is right"
    if carried and (where.graph or where.noted):
        note = "by a reverse sweep it is right: what loops that depend on few numbers carry along is not"
    elif where.graph:
        note = "the graph of the gradient is right, the code compiled from it is not"
    elif where.noted:
        note = "no statement can be named: where cotangents are noted on the way, it is right"
    else:
        note = "no statement can be named: all cotangents on the way are right"
    return Problem(message, None, (note,), DEFECT)
