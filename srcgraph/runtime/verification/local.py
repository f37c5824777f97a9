"""One step of a trace against differences: is what its rule contributes the derivative of what it computes?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, Call, Program
from srcgraph.ir.interp import interpret
from srcgraph.runtime.verification.differences import derivative
from srcgraph.runtime.verification.trace import Step, Trace

ENTRIES = 12
"""Entries of a step's inputs that are looked at one by one, where all at once say nothing."""
WIDER = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """``right``, ``wrong`` or ``unchecked``.

    Attributes
    ----------
    place : (input, index) or None
        Where it is most wrong.
    given, found : complex
        There, the adjoint's and the difference's derivative.
    """

    kind: str
    reason: str = ""
    place: tuple[int, tuple[int, ...]] | None = None
    given: Any = None
    found: Any = None


RIGHT = Verdict("right")


class Local:
    """A step as a function of its varied inputs along a direction, weighted by the cotangents of its results.

    Of an op that is given what another has made of some of its operands, factors for example, the rule holds for both
    together, so they move together.
    """

    def __init__(self, step: Step, cts: Sequence[Any], contributions: Sequence[Any], trace: Trace):
        self.step = step
        self.graphs = trace.graphs
        self.following = _following(step, trace)
        self.moving = [k for k, ref in enumerate(step.inputs) if ref.varied and k not in self.following]
        self.single = any(_dtype(r.value) in WIDER for r in (*step.inputs, *step.outputs))
        self.widened = self.single and isinstance(step.node, Apply)
        self.inputs = [_wider(r.value) if self.widened else r.value for r in step.inputs]
        self.contributions = {k: np.asarray(contributions[k]) for k in self.moving if contributions[k] is not None}
        self.weights = {k: np.conj(ct) for k, ct in enumerate(cts) if ct is not None}
        self.complex = any(np.iscomplexobj(r.value) for r in (*step.inputs, *step.outputs))
        self.base = self.results(self.inputs)

    def results(self, inputs: Sequence[Any]) -> list[Any]:
        node = self.step.node
        if isinstance(node, Call):
            return interpret(Program(self.graphs, node.callee), inputs, effects=False)
        given = list(inputs)
        for k, (before, places, output) in self.following.items():
            given[k] = _run(before, [inputs[j] for j in places])[output]
        assert isinstance(node, Apply)
        return _run(node, given)

    def another_value(self) -> str:
        """How the results of a function's rule differ from its own, if they do."""
        node = self.step.node
        if not isinstance(node, Call) or node.rule is None:
            return ""
        rule = node.rule
        still = [] if rule.backward else [0 * self.inputs[k] for k in rule.moving]
        found = interpret(Program(self.graphs, rule.forward), [*self.inputs, *still], effects=False)
        for x, y in zip(found, self.base, strict=False):
            if not np.allclose(x, y, 1e-3 if self.single else 1e-6, equal_nan=True):
                return f"the rule of {rule.function} returns another value than the function: {x} for {y}"
        return ""

    def along(self, direction: Mapping[int, Any]) -> Callable[[complex], complex]:
        """How far the weighted results are from where they are, a step along a direction."""

        def at(t: complex) -> complex:
            if isinstance(t, complex) and (self.complex or not isinstance(self.step.node, Apply)):
                raise TypeError("not a function of real numbers only")
            inputs = list(self.inputs)
            for k, v in direction.items():
                inputs[k] = _moved(inputs[k], t * v)
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)  # stored where only real numbers are
                found = self.results(inputs)
            total: Any = 0.0
            for k, w in self.weights.items():
                if np.shape(found[k]) != np.shape(self.base[k]):
                    raise ValueError("the result has another shape nearby")
                total = total + np.sum(np.where(w == 0, 0.0, w * (np.asarray(found[k]) - self.base[k])))
            return np.real(total) if self.complex else total

        return at

    @property
    def noise(self) -> float:
        """How far rounding may move the weighted results."""
        eps = 1e-7 if self.single and not self.widened else 2e-16
        return eps * sum(float(np.sum(np.abs(w * np.asarray(self.base[k])))) for k, w in self.weights.items())

    def expected(self, direction: Mapping[int, Any]) -> tuple[float, float]:
        """The derivative along a direction that the contributions say, and its size without cancellation."""
        terms = [np.conj(c) * direction[k] for k, c in self.contributions.items() if k in direction]
        return sum(float(np.sum(np.real(t))) for t in terms), sum(float(np.sum(np.abs(t))) for t in terms)

    # -- directions -----------------------------------------------------------------------------

    def direction(self, rng: np.random.Generator, most: float = np.inf) -> dict[int, Any]:
        """A random direction for all that varies, in proportion to the numbers or at most of a length."""
        return {k: _random(rng, self.inputs[k]) * np.minimum(_scale(self.inputs[k]), most) for k in self.moving}

    def entry(self, k: int, index: tuple[int, ...]) -> dict[int, Any]:
        """The direction of one entry of an input."""
        return _only({k: _scale(self.inputs[k])}, [(k, index)])

    def entries(self, rng: np.random.Generator, count: int) -> list[tuple[int, tuple[int, ...]]]:
        """Some entries of the inputs, some of each."""
        found = []
        for k in self.moving:
            shape = np.shape(self.inputs[k])
            size = int(np.prod(shape))
            chosen = range(size) if size <= count else sorted(rng.choice(size, count, replace=False).tolist())
            found += [(k, tuple(map(int, np.unravel_index(j, shape)))) for j in chosen]
        return found


def judge(local: Local, rng: np.random.Generator) -> Verdict:
    """Whether the contributions of a step are its derivative."""
    if not local.moving or not local.weights:
        return RIGHT
    if another := local.another_value():
        return Verdict("wrong", another)
    if not all(np.all(np.isfinite(np.asarray(c))) for c in local.contributions.values()):
        return Verdict("unchecked", "its adjoint is not finite")
    most = max(float(np.max(np.abs(w), initial=0.0)) for w in local.weights.values())
    if 0.0 < most < 1e-200 or not most < 1e200:
        return Verdict("unchecked", "its cotangent is too small or too large")
    found = []
    for most in (np.inf, 1.0):
        direction = local.direction(rng, most)
        found.append(compared(local, direction, rng))
        if found[-1].kind == "right":
            return RIGHT
    unknown = next((v for v in found if v.kind == "unchecked"), None)
    return narrowed(local, direction, found[-1], rng) if unknown is None else by_entries(local, rng, unknown)


def narrowed(local: Local, direction: Mapping[int, Any], wrong: Verdict, rng: np.random.Generator) -> Verdict:
    """What is wrong along a direction, at the entry found by halving where the disagreement is larger."""
    places = [(k, i) for k, v in direction.items() for i in np.ndindex(np.shape(v))]
    while len(places) > 1:
        halves = places[: len(places) // 2], places[len(places) // 2 :]
        places = max(halves, key=lambda half: disagreement(compared(local, _only(direction, half), rng)))
    found = compared(local, _only(direction, places), rng)
    return placed(found, *places[0], direction) if found.kind == "wrong" else wrong


def by_entries(local: Local, rng: np.random.Generator, unknown: Verdict) -> Verdict:
    """The verdict by some single entries, where all at once say nothing: wrong if one is."""
    tried = []
    for k, index in local.entries(rng, ENTRIES):
        direction = local.entry(k, index)
        found = compared(local, direction, rng)
        tried += [placed(found, k, index, direction)] if found.kind == "wrong" else []
    return max(tried, key=disagreement, default=unknown)


def placed(found: Verdict, k: int, index: tuple[int, ...], direction: Mapping[int, Any]) -> Verdict:
    """The verdict along the direction of one entry as that on the derivative by this entry."""
    length = float(np.real(np.asarray(direction[k])[index]))
    return replace(found, place=(k, index), given=found.given / length, found=found.found / length)


def disagreement(verdict: Verdict) -> float:
    return abs(verdict.given - verdict.found) if verdict.kind == "wrong" else 0.0


def compared(local: Local, direction: Mapping[int, Any], rng: np.random.Generator) -> Verdict:
    """The derivative along a direction against differences."""
    given, size = local.expected(direction)
    at = local.along(direction)
    try:
        quick = float(np.real(at(1e-5) - at(-1e-5))) / 2e-5
        size = max(size, abs(quick))
        if not np.isfinite(quick):
            return Verdict("unchecked", "what it computes nearby is not finite")
        if abs(given - quick) <= 1e-6 * size:
            return RIGHT
        found, error = derivative(lambda t: at(t) / size, local.single and not local.widened)
        error += local.noise / (1e-3 * size)
        exact = 1e-5 if not local.single else 1e-4 if local.widened else 2e-3
        off, room = abs(given / size - found), 10 * error + exact
        if off <= room:
            return RIGHT if error < 1e-2 else Verdict("unchecked", "differences are not exact enough")
        if error > 1e-2:
            return Verdict("unchecked", "differences of several sizes disagree")
        if reason := kink(local, direction, off * size, rng):
            return Verdict("unchecked", reason)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError, RuntimeError, IndexError) as failure:
        return Verdict("unchecked", f"nearby it raises {type(failure).__name__}")
    return Verdict("wrong", "", None, given, found * size)


def kink(local: Local, direction: Mapping[int, Any], off: float, rng: np.random.Generator) -> str:
    """Why there is no derivative at all; '' if there seems to be one.

    Differences to both sides must approach each other, and those along a sum of directions add up.
    """
    h = 1e-3 if local.single and not local.widened else 1e-6

    def right(v: Mapping[int, Any]) -> float:
        return float(np.real(local.along(v)(h))) / h

    left = {k: -v for k, v in direction.items()}
    if abs(right(direction) + right(left)) > 0.1 * off:
        return "differences to both sides disagree: it has a kink there"
    part = {k: v * rng.uniform(0.0, 1.0, np.shape(v)) for k, v in direction.items()}
    rest = {k: v - part[k] for k, v in direction.items()}
    if abs(right(direction) - right(part) - right(rest)) > 0.1 * off:
        return "differences along two directions do not add up: it has a kink there"
    return ""


def _only(direction: Mapping[int, Any], places: Sequence[tuple[int, tuple[int, ...]]]) -> dict[int, Any]:
    """A direction in some of its entries only."""
    out = {}
    for k, v in direction.items():
        kept = np.zeros(np.shape(v), bool)
        for j, index in places:
            if j == k:
                kept[index] = True
        out[k] = np.where(kept, v, 0.0)
    return {k: v for k, v in out.items() if np.any(v)}


Following = tuple[Apply, tuple[int, ...], int]
"""An op, the operands of another one that it is applied to, too, and which of its results that one is given."""


def _following(step: Step, trace: Trace) -> dict[int, Following]:
    """The operands of a step that another op has made of those that its own text does not read."""
    node = step.node
    out: dict[int, Following] = {}
    if not isinstance(node, Apply) or not node.op.unread:
        return out
    firsts = [trace.source(ref) for ref in step.inputs[: node.op.unread]]
    for k, ref in enumerate(step.inputs[node.op.unread :], node.op.unread):
        made = trace.made.get(own := trace.source(ref))
        sources = [trace.source(r) for r in made.inputs] if made is not None else [None]
        if made is not None and isinstance(made.node, Apply) and all(r in firsts for r in sources):
            out[k] = made.node, tuple(firsts.index(r) for r in sources if r is not None), made.outputs.index(own)
    return out


def _run(node: Apply, inputs: Sequence[Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        found = node.op.numpy(*inputs, **node.attrs)
    return list(found) if len(node.outputs) > 1 else [found]


# -- numbers ----------------------------------------------------------------------------------------


def _dtype(x: Any) -> Any:
    return getattr(x, "dtype", None)


def _wider(x: Any) -> Any:
    to = WIDER.get(_dtype(x))
    return x if to is None else x.astype(to)


def _moved(x: Any, step: Any) -> Any:
    """A number or array moved, of the kind it was unless the step is complex."""
    if isinstance(x, np.ndarray):
        moved = x + step
        return np.asarray(moved if np.iscomplexobj(moved) else moved.astype(x.dtype))
    moved = x + step
    if np.iscomplexobj(moved) and not np.iscomplexobj(x):
        return moved
    return type(x)(moved)


def _scale(x: Any) -> np.ndarray:
    """The size of each number; that of the largest for those that are 0."""
    size = np.abs(np.asarray(x))
    finite = size[np.isfinite(size)]
    most = float(finite.max(initial=0.0)) or 1.0
    return np.where(np.isfinite(size) & (size > 0), size, most)


def _random(rng: np.random.Generator, x: Any) -> Any:
    """Numbers of size 1 or a bit less, of random sign, or direction in the complex plane."""
    shape = np.shape(x)
    sign = np.exp(2j * np.pi * rng.uniform(size=shape)) if np.iscomplexobj(x) else rng.choice([-1.0, 1.0], shape)
    return rng.uniform(0.5, 1.0, shape) * sign
