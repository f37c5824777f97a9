"""One compiled version of a function, and its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numba.core.errors
import numpy as np

from srcgraph.codegen.cpu import Generated
from srcgraph.codegen.storage import Interface
from srcgraph.errors import ArgumentError, InternalError, Loc, OverlapError, Problem, excerpt
from srcgraph.frontend.session import FunctionGuard, Guard, Hidden
from srcgraph.infer.signature import (
    AT_LEAST,
    Between,
    Column,
    Leaves,
    Skeleton,
)
from srcgraph.ir.graph import Graph
from srcgraph.ir.shared import Container, held
from srcgraph.opt.ad.residuals import Choice
from srcgraph.opt.passes import Report
from srcgraph.runtime.described import USUAL_WAY, Way, short_beside_long
from srcgraph.runtime.effects import raised
from srcgraph.runtime.options import USUAL, Options
from srcgraph.runtime.quick import Met, quick_key
from srcgraph.runtime.results import (
    Make,
    Objects,
    overlaps_itself,
    refill,
    same_place,
)
from srcgraph.runtime.state import COMMITTING, Place, commit, copied, read_outside
from srcgraph.runtime.transforms import Version

NOT_READY = object()
"""What a call gives that has to take a longer way."""


@dataclass(slots=True)
class Specialization:
    """A compiled version.

    Attributes
    ----------
    graph : Graph
        Optimised, closed.
    generated : Generated
        The text.
    interface : Interface
        Which of the graph's results are written into arguments, and which are returned.
    changed : tuple of int
        Positions among the leaves of the arrays it changes.
    private : tuple of int
        Positions of arrays the function changes but this version only changes copies of.
    hidden : tuple of Hidden
        Globals and closure cells read at each call, after the arguments' leaves.
    guards : tuple of Guard and FunctionGuard
        What was compiled in; the version is valid while all hold.
    way : Way
        How the arguments are described.
    between : sequence of Between
        What must hold of lengths.
    shared : bool
        Whether it is for calls that pass one array as several arguments.
    few : bool
        Whether it was compiled for few elements, on short axes: calls with many have a version of their own.
    """

    name: str
    graph: Graph
    generated: Generated
    interface: Interface
    run: Callable[..., Any]
    file: str
    make: Make
    updates: tuple[Make, ...]
    """What it does to the arguments' objects."""
    single: bool
    changed: tuple[int, ...]
    private: tuple[int, ...]
    contiguous: tuple[int, ...] = ()
    """The arrays that must lie in memory in C order without gaps."""
    lying: tuple[tuple[int, bool], ...] = ()
    """The arguments of several axes, and whether they lie in Fortran's order."""
    hidden: tuple[Hidden, ...] = ()
    hidden_types: tuple[Skeleton, ...] = ()
    hidden_key: Any = None
    """What `quick_key` says of globals of these types; None if that is not known yet, or is not enough."""
    places: tuple[Place, ...] = ()
    """The shared variables that it reads, and where among the leaves."""
    guards: tuple[Guard | FunctionGuard, ...] = ()
    way: Way = USUAL_WAY
    between: Sequence[Between] = ()
    shared: bool = False
    few: bool = False
    lists: tuple[tuple[int, Make, bool], ...] = ()
    """For each list among the arguments that it changes: its number, and what it holds afterwards."""
    options: Options = USUAL
    params: tuple[str, ...] = ()
    """What the numbers and arrays are called."""
    tape: tuple[Choice, ...] = ()
    report: Report = field(default_factory=Report)
    entry: Any = None
    """The function in the generated module."""
    version: Version | None = None
    """What it was made of."""
    second: Callable[[], Specialization] | None = None
    """The reverse sweep, where that is for the caller to run."""

    def valid(self) -> bool:
        """Whether what was compiled in is what it was, and globals are of the types they were."""
        return all(g.holds() for g in self.guards) and (
            not self.hidden or self.hidden_types == describe_hidden(self.hidden)
        )

    def look(self) -> None:
        """See what `quick_key` says of globals while they are of the types that this is for."""
        if self.hidden and self.hidden_key is None:
            with held(h.container for h in self.hidden if isinstance(h.container, Container)):
                self.hidden_key = hidden_key(self.hidden, []) if self.valid() else None

    def ready(self, leaves: list[Any]) -> bool:
        """Whether it can run on these numbers and arrays, of the right types, and globals, appended here."""
        for guard in self.guards:
            if not guard.holds():
                return False
        if self.hidden:
            with COMMITTING:
                key = hidden_key(self.hidden, leaves)
            if key is None or key != self.hidden_key:
                return False
        for first, axis, second, other, difference in self.between:
            if first == AT_LEAST:
                if leaves[second] < difference:
                    return False
                continue
            less = _length(leaves[first], axis) if first >= 0 else 0
            if _length(leaves[second], other) - less != difference:
                return False
        if self.few and short_beside_long(leaves):
            return False
        for position, turned in self.lying:
            if leaves[position].flags.fnc is not turned:
                return False
        return not (self.changed or self.private or self.contiguous) or self.apart(leaves)

    def apart(self, leaves: Sequence[Any]) -> bool:
        """Whether the arrays it changes are writable and share no memory with others, and lie as they must."""
        if not all(leaves[p].flags.c_contiguous for p in self.contiguous):
            return False
        for position in (*self.changed, *self.private):
            array = leaves[position]
            for k, other in enumerate(leaves):
                if k != position and type(other) is np.ndarray and np.may_share_memory(array, other):
                    return False
        overlapping = any(overlaps_itself(leaves[p]) for p in (*self.changed, *self.private))
        return not overlapping and all(leaves[p].flags.writeable for p in self.changed)

    def call(self, given: Leaves) -> Any:
        """Run on the numbers, arrays and objects of a call, checking their memory; globals are read now.

        Raises
        ------
        Outdated
            A shared variable has got a value for which another version is needed.
        """
        if not self.writes:
            return self._called(given)
        with held(container for container, _ in self.places):
            return self._called(given)

    def _called(self, given: Leaves) -> Any:
        leaves, objects = list(given.values), list(given.objects)
        read_outside(self.hidden, self.hidden_types, leaves, objects)
        if self.changed or self.private or self.contiguous:
            self.check_memory(leaves, len(given.values))
        stored = copied(self.places, self.changed, leaves)
        if self.updates:
            self.check_objects(objects, len(given.objects))
        arrays = [v.array() if type(v) is Column else v for v in leaves]
        return self.run_on(arrays, objects, given.lists, stored)

    def quickly(self, leaves: list[Any], met: Met) -> Any:
        """Run on numbers and arrays of the right types; `NOT_READY` if it cannot, or not without a closer look."""
        if not self.writes:
            return self.run_on(leaves, met.objects, met.lists) if self.ready(leaves) else NOT_READY
        if met.lists or any(type(x) is not Container for x in met.objects):
            return NOT_READY
        with held(container for container, _ in self.places):
            if not self.ready(leaves):
                return NOT_READY
            stored = copied(self.places, self.changed, leaves)
            return self.run_on(leaves, [container for container, _ in self.places], (), stored)

    @property
    def writes(self) -> bool:
        """Whether it may assign shared variables."""
        return bool(self.places) and (bool(self.updates) or any(at in self.changed for _, at in self.places))

    def run_on(
        self,
        leaves: Sequence[Any],
        objects: Sequence[Any] = (),
        lists: Sequence[list[Any]] = (),
        stored: Sequence[tuple[Container, np.ndarray]] = (),
    ) -> Any:
        """Run on all numbers and arrays, those of globals last."""
        try:
            outs = self.run(*leaves)
        except Exception as error:
            failure = self.failed(error)
        else:
            outs = (outs,) if self.single else outs
            known = Objects(objects, lists)
            result = self.make(outs, leaves, known)
            contents = [(lists[number], make(outs, leaves, known), deep) for number, make, deep in self.lists]
            for items, new, deep in contents:
                refill(items, new, deep)
            if self.updates or stored:
                with COMMITTING:
                    commit(stored)
                    for update in self.updates:
                        update(outs, leaves, known)
            return result
        raise failure

    def check_objects(self, objects: Sequence[Any], count: int) -> None:
        """An object that is changed must not be one read from outside: of ``objects``, those after ``count``."""
        for x in objects[:count]:
            if any(x is y for y in objects[count:]):
                why = f"{self.name} changes an argument, a {type(x).__name__}, that it also reads from outside"
                raise OverlapError(Problem(why, hint="pass it as an argument only"))

    def check_memory(self, leaves: Sequence[Any], count: int) -> None:
        """Arrays that are changed must be writable, and must not share memory with others in part.

        The first ``count`` are of arguments, of which two may be one array: the version is for that. Those read from
        outside may be no other's. Shared variables' are checked before they are copied to be changed.
        """
        own = {at for _, at in self.places}
        for position in self.contiguous:
            if not leaves[position].flags.c_contiguous:
                name = self.params[position]
                why = f"{self.name} needs argument {name!r} to be C-contiguous"
                raise ArgumentError(Problem(why, hint=f"pass np.ascontiguousarray({name})"))
        for position in sorted({*self.changed} - own):
            if not leaves[position].flags.writeable:
                error = ValueError("assignment destination is read-only")
                error.add_note(f"{self.name} stores into argument {self.params[position]!r}")
                raise error
        for position in sorted({*self.changed, *self.private}):
            array = leaves[position]
            if overlaps_itself(array):
                why = f"{self.name} changes {self.named(position, count)}, elements of which share memory"
                raise OverlapError(Problem(why, hint="pass a copy"))
            for k, other in enumerate(leaves):
                if k == position or not isinstance(other, np.ndarray) or not np.may_share_memory(array, other):
                    continue
                known = position in self.changed and max(k, position) < count and same_place(array, other)
                if not known and np.shares_memory(array, other):
                    whose, others = self.named(position, count), self.named(k, count)
                    verb = f"changes {whose}, which" if position in self.changed else f"needs {whose} alone, but it"
                    why = f"{self.name} {verb} shares memory with {others}"
                    raise OverlapError(Problem(why, hint="pass a copy of one of them"))

    def named(self, position: int, count: int) -> str:
        """What users call one of the arrays."""
        name = self.params[position]
        if any(at == position for _, at in self.places):
            return f"the shared variable {name.removesuffix('_value')!r}"
        return f"argument {name!r}" if position < count else f"{name!r}, read from outside"

    def failed(self, error: Exception) -> BaseException:
        """What a call raises for what the compiled function has raised."""
        if isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt):
            return error.__cause__  # it came while numba made objects of the results
        if isinstance(error, numba.core.errors.NumbaError):
            raise self.defect(error) from error
        return self.explained(error)

    def explained(self, error: Exception) -> Exception:
        """An error raised by generated code with its message filled in, and the user's line as a note."""
        loc = self.place_of(error)
        failure = raised(error)
        if loc is not None:
            failure.add_note(f"at {loc}\n{excerpt(loc)}".rstrip())
        return failure.with_traceback(error.__traceback__)

    def place_of(self, error: BaseException) -> Loc | None:
        trace, found = error.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.file:  # the innermost: a kernel may have raised
                found = self.generated.text.lines.get(trace.tb_lineno)
            trace = trace.tb_next
        return found

    def defect(self, error: Exception) -> InternalError:
        return InternalError(
            Problem(
                f"numba refuses the code generated for {self.name!r}: {str(error).splitlines()[0]}",
                notes=(f"the generated code:\n{self.generated.text.text}",),
                hint="please report this",
            )
        )


def _length(leaf: Any, axis: int) -> int:
    return leaf if axis < 0 else leaf.shape[axis]


def hidden_key(hidden: Sequence[Hidden], leaves: list[Any]) -> Any:
    """What `quick_key` says of globals; None where numbers of them are compiled in."""
    return None if any(h.static for h in hidden) else quick_key([h.read() for h in hidden], leaves)


def types_of(hidden: Sequence[Hidden]) -> tuple[Skeleton, ...]:
    """The types that globals had when they were compiled for."""
    return tuple(h.skeleton(Leaves()) if h.seen is None else h.seen for h in hidden)


def describe_hidden(hidden: Sequence[Hidden]) -> tuple[Skeleton, ...]:
    """The types of globals as they are now."""
    return tuple(h.skeleton(Leaves()) for h in hidden)
