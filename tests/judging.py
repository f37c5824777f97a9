"""A function with arguments for it, and how what srcgraph makes of it is judged against Python."""

from __future__ import annotations

import itertools
import linecache
import signal
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from harness import derivative
from outcomes import RTOL, Slow, attempt, call_plainly, copied, differs, is_float, leaves, shifted, values

import srcgraph as sg
from srcgraph.errors import InternalError, SrcgraphError


@dataclass
class Case:
    """A function and the calls it is judged by.

    Attributes
    ----------
    group : str
        What the case is counted under.
    differentiate : bool
        Whether its gradient is judged too, where it has float arguments and results.
    changed : tuple of int
        Arguments that count as results besides those whose values are seen to change.
    joined : bool
        Whether a number may be a float where Python has an integer, and NumPy's where it is Python's, as names are
        that are one on one path and the other on another.
    instead : callable, optional
        What the function may be taken for as well: itself, with NumPy's numbers where it has Python's.
    rtol : float
        How far results may be apart.
    """

    name: str
    function: Callable
    calls: list[tuple[Any, ...]]
    group: str = ""
    differentiate: bool = True
    changed: tuple[int, ...] = ()
    joined: bool = False
    instead: Callable | None = None
    rtol: float = RTOL


ORDER = ("not applicable", "right", "kink", "refused", "defect", "wrong")
"""Verdicts, best first: of several calls, a case has the worst."""


@dataclass
class Verdict:
    """What one way to use a function came to."""

    kind: str = "not applicable"
    reason: str = ""
    place: str = ""

    def worse(self, other: Verdict) -> Verdict:
        return max(self, other, key=badness)


def badness(verdict: Verdict) -> int:
    return ORDER.index(verdict.kind)


@dataclass
class Result:
    """What became of a case."""

    name: str
    group: str
    forward: Verdict = field(default_factory=Verdict)
    gradient: Verdict = field(default_factory=Verdict)


def run(case: Case, plainly: bool = False, limit: int = 300) -> Result:
    """Judge a case.

    Parameters
    ----------
    plainly : bool
        Run the generated text as plain Python, without compiling it.
    limit : int
        Seconds after which it counts as a defect.
    """
    result = Result(case.name, case.group)
    result.forward = limited(limit, lambda: judge_values(case, plainly))
    if case.differentiate:
        result.gradient = limited(limit, lambda: judge_gradients(case, plainly))
    return result


def limited(limit: int, work: Callable[[], Verdict]) -> Verdict:
    """The verdict, or a defect where it takes more seconds than the limit."""

    def stop(*_: Any) -> None:
        raise Slow(f"longer than {limit} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        return work()
    except Slow as error:
        return Verdict("defect", str(error))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# -- values -----------------------------------------------------------------------------------------


def judge_values(case: Case, plainly: bool = False, hasty: bool = False) -> Verdict:
    """Value, types and changed arguments of every call, or the type of the exception.

    Parameters
    ----------
    hasty : bool
        Whether the first refusal is the verdict; the other calls are refused too, most often.
    """
    out = Verdict()
    try:
        compiled = sg.compile(case.function)
    except SrcgraphError as error:
        return refused(error)
    except Exception as error:
        return defect(error)
    for args in case.calls:
        run_it = (lambda *a: call_plainly(compiled, *a)) if plainly else compiled
        got = attempt(run_it, args)
        verdict = _judge(*got, *attempt(case.function, args), case.joined, case.rtol)
        if verdict.kind == "wrong" and case.instead is not None:
            verdict = min(verdict, _judge(*got, *attempt(case.instead, args), case.joined, case.rtol), key=badness)
        if verdict.kind == "wrong" and chaotic(case.function, args):
            verdict = Verdict("not applicable", "rounding decides what Python returns")
        out = out.worse(verdict)
        if hasty and verdict.kind == "refused":
            break
    return out


def chaotic(function: Callable, args: tuple[Any, ...]) -> bool:
    """Whether Python itself gives something else for floats moved by a few units in the last place."""
    want, want_error, want_args = attempt(function, args)
    for size in (3e-16, -1e-15, 1e-14):
        got, error, got_args = attempt(function, _scaled(copied(args), 1.0 + size))
        if type(error) is not type(want_error) or differs(got, want) or differs(got_args, want_args):
            return True
    return False


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_scaled(v, factor) for v in value)
    if not is_float(value) or not isinstance(value, np.ndarray | float):
        return value
    if isinstance(value, np.ndarray):
        value *= value.dtype.type(factor)
        return value
    return type(value)(value * factor)


def _judge(
    got: Any,
    error: Any,
    got_args: Any,
    want: Any,
    want_error: Any,
    want_args: Any,
    joined: bool = False,
    rtol: float = RTOL,
) -> Verdict:
    if isinstance(error, OverflowError) and ("64 bits" in str(error) or (joined and "out of bounds" in str(error))):
        return Verdict("refused", "an integer of too many bits")
    if isinstance(error, SrcgraphError) and not (want_error and isinstance(error, type(want_error))):
        return refused(error)
    if want_error is not None:
        same = isinstance(error, type(want_error))
        return Verdict("right") if same else Verdict("wrong", f"Python raises {want_error!r}, got {error or got!r}")
    if error is not None:
        return defect(error)
    after = "argument after the call "
    difference = differs(got, want, joined=joined, rtol=rtol) or differs(got_args, want_args, after, rtol=rtol)
    return Verdict("wrong", difference) if difference else Verdict("right")


def refused(error: SrcgraphError) -> Verdict:
    if isinstance(error, InternalError):
        return defect(error)
    problem = error.problems[0]
    return Verdict("refused", "; ".join(p.message for p in error.problems), str(problem.loc or ""))


def defect(error: BaseException) -> Verdict:
    lines = str(error).strip().splitlines() or [""]
    return Verdict("defect", f"{type(error).__name__}: {lines[0]}")


# -- gradients --------------------------------------------------------------------------------------


def judge_gradients(case: Case, plainly: bool = False, states: int | None = None) -> Verdict:
    """The gradient, by all float arguments, of one number made of all float results and changed arguments.

    Of half of all functions, it is asked for with the value, which makes other code of it.
    """
    out, known = Verdict(), {}
    for args in case.calls:
        value, error, after = attempt(case.function, args)
        if error is not None:
            continue
        argnums = tuple(
            k for k, a in enumerate(args) if (found := list(leaves(a))) and all(map(is_float, values(found)))
        )
        parts = [f"out{path}" for path, leaf in leaves(value) if is_float(leaf)]
        parts += [
            f"a{k}{path}"
            for k, (a, b) in enumerate(zip(args, after, strict=True))
            for (path, x), (_, y) in zip(leaves(a), leaves(b), strict=False)
            if is_float(y) and (k in case.changed or not np.array_equal(x, y, equal_nan=True))
        ]
        if not argnums or not parts or any(np.size(x) == 0 for a in args for x in values(leaves(a))):
            continue
        key = (len(args), argnums, tuple(parts))
        if key not in known:
            total = summed(case, len(args), parts)
            ask = sg.value_and_grad if zlib.crc32(case.function.__code__.co_code) % 2 else sg.grad
            known[key] = total, ask(total, argnums, checkpoint=states), ask is sg.value_and_grad
        out = out.worse(_judge_gradient(*known[key], args, argnums, plainly, case.rtol > RTOL))
    return out


def summed(case: Case, count: int, parts: list[str]) -> Callable:
    """A function of the same arguments whose result is the sum of all parts, and for half of all functions of their
    squares: without these, what goes back need not wait for the value."""
    squares = "" if zlib.crc32(case.function.__code__.co_code) // 2 % 2 else " + 0.5 * {p} * {p}"
    names = ", ".join(f"a{k}" for k in range(count))
    terms = " + ".join(f"np.sum({p}{squares.format(p=p)})" for p in parts)
    text = f"def total({names}):\n    out = function({names})\n    return {terms}\n"
    file = f"<total of {case.name}, {len(parts)}, {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "function": case.function}
    exec(compile(text, file, "exec"), scope)
    return scope["total"]


def _judge_gradient(
    total: Callable,
    grad: Any,
    valued: bool,
    args: tuple[Any, ...],
    argnums: tuple[int, ...],
    plainly: bool,
    single: bool,
) -> Verdict:
    if not np.isfinite(attempt(total, args)[0] or 0.0) or overflows(total, args):
        return Verdict()
    run_it = (lambda *a: call_plainly(grad, *a)) if plainly else grad
    got, error, _ = attempt(run_it, args)
    if isinstance(error, SrcgraphError):
        return refused(error)
    if isinstance(error, ValueError) and str(error).startswith("checkpoint: "):
        return Verdict("refused", "checkpoint: a loop changes a shape")
    if error is not None:
        return defect(error)
    chosen = [x for k in argnums for x in values(leaves(args[k]))]
    grads = values(leaves(got[1] if valued else got))
    if len(grads) != len(chosen) or any(np.shape(g) != np.shape(x) for g, x in zip(grads, chosen, strict=True)):
        return Verdict("wrong", "the gradient has another structure than the arguments")
    single = single or any(np.asarray(x).dtype == np.float32 for x in chosen) or "float32" in grad.python(*args)
    rng, out = np.random.default_rng(7), Verdict("right")
    for _ in range(3):
        ways = [rng.uniform(-1.0, 1.0, np.shape(x)) for x in chosen]
        along = sum(float(np.sum(g * d)) for g, d in zip(grads, ways, strict=True))
        size = sum(float(np.sum(np.abs(g * d))) for g, d in zip(grads, ways, strict=True))
        out = out.worse(_judge_slope(total, args, argnums, ways, along, size, single))
    return out


def overflows(function: Callable, args: tuple[Any, ...]) -> bool:
    """Whether some number on the way is infinite: then 0 times infinity is part of a gradient."""
    try:
        with np.errstate(over="raise", invalid="ignore", divide="raise", under="ignore"):
            function(*copied(args))
    except FloatingPointError:
        return True
    return False


def _judge_slope(total, args, argnums, ways, along, size, single) -> Verdict:
    """Compare the derivative along one direction with differences; at a kink, with each side's."""

    def at(step: float) -> float:
        if isinstance(step, complex):
            raise TypeError("stores into real arrays would drop the imaginary part")
        moved = list(copied(args))
        steps = iter(ways)
        for k in argnums:
            moved[k] = shifted(moved[k], steps, step)
        return attempt(total, tuple(moved))[0]

    try:
        want, error = derivative(at, single)
        middle = at(0.0)
        error += 2e-11 * abs(middle)  # differences of large numbers are rounded
    except Exception as problem:
        return Verdict("kink", f"no difference can be taken: {problem}")
    if not np.isfinite(want):
        return Verdict("kink", "not differentiable there")
    if abs(middle) > 1e10:
        return Verdict("kink", "numbers so large that differences pass over kinks and steps")
    room = error + (2e-2 if single else 1e-7) * (1 + size)
    if abs(along - want) <= room:
        return Verdict("right")
    if _settled(at, along, size, single):
        return Verdict("right")
    h = 1e-3 if single else 1e-6
    sides = sorted([(at(h) - middle) / h, (middle - at(-h)) / h])
    if sides[0] - room - 1e-3 * size <= along <= sides[1] + room + 1e-3 * size and sides[1] - sides[0] > 1e-4 * (
        1 + size
    ):
        return Verdict("kink")
    return Verdict("wrong", f"slope {along!r}, differences give {want!r} within {error!r}")


def _settled(at: Callable[[float], float], along: float, size: float, single: bool) -> bool:
    """Whether two small steps agree with a slope, where larger ones change how often a loop runs."""
    steps, room = ((1e-2, 3e-3, 1e-3, 1e-4), 2e-3) if single else ((1e-5, 1e-6, 1e-7), 1e-6)
    near = [abs((at(h) - at(-h)) / (2 * h) - along) <= room * (1 + size) for h in steps]
    return any(x and y for x, y in itertools.pairwise(near))
