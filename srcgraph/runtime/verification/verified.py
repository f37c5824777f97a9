"""The function that ``grad(f, verify=True)`` gives: every call of it is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from srcgraph.errors import VerificationError
from srcgraph.infer.signature import Column, Leaves, Skeleton, skeleton_of
from srcgraph.ir.graph import Call, Graph
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.walk import all_nodes, calls
from srcgraph.opt.modes import compiling
from srcgraph.runtime.api import Compiled
from srcgraph.runtime.floats import structured
from srcgraph.runtime.specialization import derived, lowered, target_of
from srcgraph.runtime.specialized import Specialization
from srcgraph.runtime.transforms import Gradient, Version
from srcgraph.runtime.verification import messages
from srcgraph.runtime.verification.messages import Report
from srcgraph.runtime.verification.observe import close, observed
from srcgraph.runtime.verification.pullback import Pullbacks
from srcgraph.runtime.verification.sweep import Checked, draws, gradients, swept
from srcgraph.runtime.verification.trace import Trace, has_rule

ROUNDED = (4e-16, -1.2e-15, 1e-14)
"""By what arguments are moved, in proportion, to see what rounding does."""


class Verified(Compiled):
    """A gradient that is compared with differences whenever it is called.

    Attributes
    ----------
    report : Report or None
        On the last call that was right.
    """

    verifies = True
    report: Report | None = None

    def begin(self) -> None:
        self.options = replace(self.options, compares=True)
        super().begin()
        self.primals: dict[int, tuple[Specialization, Primal | None]] = {}
        """Functions by the version of their gradient."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = self.bound(args, kwargs)
        version, leaves = self.version(given)
        for h in version.hidden:
            h.skeleton(leaves)
        numbers = [v.array() if isinstance(v, Column) else v for v in leaves.values]
        inputs = Inputs(numbers, leaves.generators)
        result = super().__call__(*given)
        primal = self.primal(version, given)
        if primal is not None:
            with inputs.kept():
                carried = any(choice.how == "forward" for choice in version.tape)
                self.report = primal.verify(inputs, result, carried)
        return result

    def primal(self, version: Specialization, args: Sequence[Any]) -> Primal | None:
        """The function that a version is the gradient of; None if it always raises."""
        if id(version) not in self.primals:
            self.primals[id(version)] = version, self.made(args)
        return self.primals[id(version)][1]

    def made(self, args: Sequence[Any]) -> Primal | None:
        found, skeletons, _ = lowered(self.code, self.names, args, True, raises=self.options.raises)
        with compiling(self.options.mode, target=target_of(skeletons, self.options)):
            inner = derived(found, skeletons, self.transforms[:-1])
        transform = self.transforms[-1]
        assert isinstance(transform, Gradient)
        return None if inner.never else Primal(inner, transform)


class Inputs:
    """The numbers and arrays of a call, and its random generators with the states they had."""

    def __init__(self, numbers: Sequence[Any], generators: Sequence[np.random.Generator]):
        self.numbers = numbers
        self.generators = generators
        self.states = [g.bit_generator.state for g in generators]

    def run(self, work: Callable[[Sequence[Any]], Any], factor: float = 1.0) -> Any:
        """Run something on the numbers, floats times a factor, as if for the first time."""
        for g, state in zip(self.generators, self.states, strict=True):
            g.bit_generator.state = state
        return work([_times(x, factor) for x in self.numbers])

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Leave the generators as they are, whatever runs inside."""
        after = [g.bit_generator.state for g in self.generators]
        try:
            yield
        finally:
            for g, state in zip(self.generators, after, strict=True):
                g.bit_generator.state = state


def _times(x: Any, factor: float) -> Any:
    if factor == 1.0 or np.asarray(x).dtype.kind not in "fc":
        return x
    return np.asarray(x * factor, x.dtype) if isinstance(x, np.ndarray) else type(x)(x * factor)


class Primal:
    """A function for arguments of one signature, run step by step to verify its gradient."""

    def __init__(self, version: Version, transform: Gradient):
        self.version, main, _ = transform.present(version)
        self.transform = transform
        self.output = transform.output(self.version, main)
        self.chosen = [places_of(*argument) for argument in transform.chosen(self.version)]
        self.inputs = list(dict.fromkeys(k for leaves in self.chosen for k in leaves))
        self.pullbacks = Pullbacks(self.version.functions, self.version.rules)
        self.drawn = rules_that_draw(self.version)
        self.single = _is_single(self.version.graph)
        self.rtol = 1e-3 if self.single else 1e-7

    def verify(self, inputs: Inputs, result: Any, carried: bool = False) -> Report:
        """Compare what a call gave with differences; ``carried`` says that loops carried tangents along.

        Raises
        ------
        VerificationError
            It is wrong.
        """
        if self.drawn:
            return messages.not_run(self.drawn)
        found, want = inputs.run(self.compared)
        if found.wrong is not None:
            step, verdict = found.wrong
            raise VerificationError(messages.of_step(step, verdict, found, self.version))
        got = self.gradients_of(result)
        rounded = not self.same(got, want) and self.rounded(inputs, got, want)
        if not rounded and not self.same(got, want):
            where = observed(
                self.version, self.output, self.inputs, self.pullbacks, inputs.run, lambda g: self.same(g, want)
            )
            raise VerificationError(messages.of_sweep(where, self.version, self.differing(got, want), carried))
        return messages.report(found, rounded)

    def compared(self, numbers: Sequence[Any]) -> tuple[Checked, list[Any]]:
        """What the comparison of each step with differences comes to, and the gradients that the steps make."""
        trace = Trace(self.version.program, self.version.rules)
        params, results = trace.run(numbers, self.inputs)
        found = Checked(trace)
        return found, gradients(params, swept(trace, self.pullbacks, results[self.output], found.after), self.inputs)

    def near(self, numbers: Sequence[Any]) -> list[Any]:
        """The gradients that the steps make, nothing compared."""
        trace = Trace(self.version.program, self.version.rules)
        params, results = trace.run(numbers, self.inputs)
        return gradients(params, swept(trace, self.pullbacks, results[self.output]), self.inputs)

    def gradients_of(self, result: Any) -> list[Any]:
        """The gradients in what a call returns, by the parameters they are of."""
        found = self.transform.gradient_in(result)
        parts = found if isinstance(self.transform.argnums, tuple) else (found,)
        by_param: dict[int, Any] = {}
        for places, part in zip(self.chosen, parts, strict=True):
            leaves = Leaves(distinct=True)
            skeleton_of(part, "gradient", leaves)
            numbers = [v.array() if isinstance(v, Column) else v for v in leaves.values]
            by_param.update(zip(places, numbers, strict=True))
        return [by_param[k] for k in self.inputs]

    # -- comparing ------------------------------------------------------------------------------

    def same(self, got: Sequence[Any], want: Sequence[Any]) -> bool:
        return not self.differing(got, want)

    def differing(self, got: Sequence[Any], want: Sequence[Any]) -> list[int]:
        """The parameters whose gradients differ."""
        return [k for k, x, y in zip(self.inputs, got, want, strict=True) if not close(x, y, self.rtol)]

    def rounded(self, inputs: Inputs, got: Sequence[Any], want: Sequence[Any]) -> bool:
        """Whether rounding makes as much of a difference, or any: by the gradients of arguments next to these."""
        near = [inputs.run(self.near, 1.0 + size * (1e8 if self.single else 1.0)) for size in ROUNDED]
        for k, (x, y) in enumerate(zip(got, want, strict=True)):
            noise = max(_apart(other[k], y) for other in near)
            size = max(_apart(v, 0.0) for v in (x, y, *(other[k] for other in near)))
            if not close(x, y, self.rtol) and _apart(x, y) > 100.0 * noise and noise < 1e-3 * size:
                return False
        return True


def _apart(x: Any, y: Any) -> float:
    """How far numbers are from others, where both are finite."""
    with np.errstate(all="ignore"):
        off = np.abs(np.asarray(x) - np.asarray(y))
    return float(np.max(off[np.isfinite(off)], initial=0.0))


def places_of(skeleton: Skeleton, first: int) -> list[int]:
    """The parameters that an argument's gradient is of, in its order."""
    places: list[int] = []

    def number(position: int) -> int:
        places.append(position)
        return 0

    structured(skeleton, first, number)
    return places


def rules_that_draw(version: Version) -> list[Call]:
    """Calls of functions with rules of their own that draw random numbers: they cannot be run step by step."""
    found = [c for g in version.program.graphs.values() for c in calls(g) if has_rule(c)]
    graphs = {**version.rules, **version.program.graphs}
    return [c for c in found if any(draws(n) for name in reached(c.callee, graphs) for n in all_nodes(graphs[name]))]


def reached(name: str, graphs: Mapping[str, Graph]) -> set[str]:
    """A graph and those that it calls, by name."""
    found, todo = {name}, [name]
    while todo:
        more = {c.callee for c in calls(graphs[todo.pop()])} - found
        found |= more
        todo += more
    return found


def _is_single(graph: Graph) -> bool:
    """Whether some value has single precision."""
    types = [v.type for v in (*graph.params, *(v for n in all_nodes(graph) for v in n.outputs))]
    return any(isinstance(t, ArrayType | ScalarType) and t.dtype in (np.float32, np.complex64) for t in types)
