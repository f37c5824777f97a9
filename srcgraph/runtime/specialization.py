"""One compiled version of a function: for one signature, with one stack of transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numba.core.errors
import numpy as np

from srcgraph.codegen import cuda
from srcgraph.codegen.cpu import Generated, generate
from srcgraph.codegen.storage import Interface
from srcgraph.errors import ArgumentError, InternalError, Loc, OverlapError, Problem, excerpt
from srcgraph.frontend.callees import Summary
from srcgraph.frontend.lower import NeedStatic
from srcgraph.frontend.session import FunctionCode, FunctionGuard, Guard, Hidden
from srcgraph.frontend.specialize import Lowered, lower_entry
from srcgraph.infer.signature import (
    LONG,
    SMALL,
    Between,
    Column,
    Leaves,
    Skeleton,
    TupleArg,
    passed_twice,
    skeleton_of,
)
from srcgraph.ir.graph import Apply, For, Graph, Node, While, node_graphs
from srcgraph.ir.shared import Container, held
from srcgraph.ir.walk import all_nodes, kept_params
from srcgraph.opt.ad.residuals import Choice
from srcgraph.opt.inline import inline
from srcgraph.opt.marks import unmarked
from srcgraph.opt.modes import Target, compiling, current_mode, current_target
from srcgraph.opt.passes import Report, run_passes
from srcgraph.opt.pipeline import DERIVED, LAST, LAST_ON_GPU, PRIMAL, Passes
from srcgraph.runtime.collecting import seldom_collecting
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.effects import raised
from srcgraph.runtime.engines.versions import run_by
from srcgraph.runtime.floats import ColumnArg, leaf_positions
from srcgraph.runtime.kernel_types import check_kernels, is_off
from srcgraph.runtime.load import load
from srcgraph.runtime.lying import as_it_lies, in_order, whole_arrays
from srcgraph.runtime.natives import with_kernels
from srcgraph.runtime.on_device import with_device_arrays
from srcgraph.runtime.options import PARALLEL, USUAL, Options
from srcgraph.runtime.pullbacks import pulling
from srcgraph.runtime.quick import quick_key
from srcgraph.runtime.results import (
    Make,
    Objects,
    borrowed,
    is_nested,
    maker,
    outputs_used,
    overlaps_itself,
    refill,
    same_place,
    updater,
)
from srcgraph.runtime.state import COMMITTING, Place, commit, copied, places_of, read_outside, refuse_shared
from srcgraph.runtime.transforms import Transform, Version, interfaces

MANY = 12
"""How often a signature is tried again with one more number known when compiling."""


class Way(NamedTuple):
    """How the arguments of a call are described."""

    static: frozenset[str] = frozenset()
    """Names of arguments whose numbers are part of the signature."""
    alike: bool = False
    """Whether it is part of it which lengths are the same, or differ by a small number."""
    small: bool = False
    """Whether small lengths are part of it."""

    @property
    def narrow(self) -> bool:
        """Whether calls with arrays of other lengths may need another version."""
        return self.alike or self.small


USUAL_WAY = Way()
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

    def quickly(self, leaves: list[Any], objects: Sequence[Any] = ()) -> Any:
        """Run on numbers and arrays of the right types; `NOT_READY` if it cannot, or not without a closer look."""
        if not self.writes:
            return self.run_on(leaves, objects) if self.ready(leaves) else NOT_READY
        if any(type(x) is not Container for x in objects):
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
                    why = f"{self.name} changes {whose}, which shares memory with {others}"
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


def describe_hidden(hidden: Sequence[Hidden]) -> tuple[Skeleton, ...]:
    """The types of globals as they are now."""
    return tuple(h.skeleton(Leaves()) for h in hidden)


def hidden_key(hidden: Sequence[Hidden], leaves: list[Any]) -> Any:
    """What `quick_key` says of globals; None where numbers of them are compiled in."""
    return None if any(h.static for h in hidden) else quick_key([h.read() for h in hidden], leaves)


def types_of(hidden: Sequence[Hidden]) -> tuple[Skeleton, ...]:
    """The types that globals had when they were compiled for."""
    return tuple(h.skeleton(Leaves()) if h.seen is None else h.seen for h in hidden)


SHORT = 4
"""A smaller integer is not taken for a length."""


def _passed_lengths(args: Sequence[Any]) -> frozenset[int]:
    """The lengths of arrays that are passed as integers, too."""
    numbers = {a for a in args if type(a) is int and a >= SHORT}
    return frozenset(n for a in args if isinstance(a, np.ndarray) for n in a.shape if n in numbers)


def _length(leaf: Any, axis: int) -> int:
    return leaf if axis < 0 else leaf.shape[axis]


class Described(tuple[Any, ...]):
    """Stands for the arguments of a call that has been described: what is compiled needs no more of them."""

    skeletons: dict[str, Skeleton]


def describe_arguments(
    names: Sequence[str], args: Sequence[Any], way: Way = USUAL_WAY, distinct: bool = False
) -> tuple[dict[str, Skeleton], Leaves]:
    """The skeletons of a call's arguments, and their numbers, arrays and objects in order.

    ``distinct`` treats an array passed twice as two arrays.
    """
    if isinstance(args, Described):
        return args.skeletons, Leaves()
    lengths = _passed_lengths(args) if way.alike else frozenset()
    leaves = Leaves(distinct=distinct, alike=way.alike, small=way.small, lengths=lengths)
    refuse_shared(names, args)
    skeletons = {n: as_it_lies(a, skeleton_of(a, n, leaves, way.static)) for n, a in zip(names, args, strict=True)}
    return skeletons, leaves


def lowered(
    code: FunctionCode,
    names: Sequence[str],
    args: Sequence[Any],
    distinct: bool,
    raises: bool = True,
    general: bool = False,
) -> tuple[Lowered, dict[str, Skeleton], Way]:
    """Lower a function for a call; numbers that must be known when compiling become part of the signature.

    So does it which lengths go together, where that matters, and small ones, unless it is to be ``general``.

    Returns
    -------
    Lowered
    dict
        The skeletons of the arguments.
    Way
        How they are described.
    """
    way = USUAL_WAY if general else Way(small=short_beside_long(args))
    static_globals: frozenset[Any] = frozenset()
    for _ in range(MANY):
        skeletons, _ = describe_arguments(names, args, way, distinct)
        try:
            found = lower_entry(
                code, skeletons, static_globals, distinct, raises, derived, checked=current_mode().check
            )
            alike = way._replace(alike=True)
            if general or way.alike or not depends_on_lengths(found):
                return found, skeletons, way
            if describe_arguments(names, args, alike, distinct)[0] == skeletons:
                return found, skeletons, way
            way = alike
        except NeedStatic as need:
            kind, *where = need.origin
            known = where[0] in way.static if kind == "argument" else tuple(where) in static_globals
            if known:
                raise InternalError(str(need)) from need
            if kind == "argument":
                way = way._replace(static=way.static | {where[0]})
            else:
                static_globals |= {tuple(where)}
    raise InternalError("too many arguments need to be known when compiling")


def specialize(
    code: FunctionCode,
    names: Sequence[str],
    args: Sequence[Any],
    transforms: Sequence[Transform],
    options: Options,
    general: bool = False,
) -> Specialization:
    """Compile a function, transformed, for the types of ``args``; ``general`` is for lengths of all kinds."""
    with seldom_collecting(), compiling(options.mode):
        return _specialized(code, names, args, transforms, options, general)


def _specialized(
    code: FunctionCode,
    names: Sequence[str],
    args: Sequence[Any],
    transforms: Sequence[Transform],
    options: Options,
    general: bool,
) -> Specialization:
    report = Report()
    with report.timed("reading"):
        found, skeletons, way = lowered(code, names, args, bool(transforms), options.raises, general)
    numbers = _numbers(names, args, way, found) if options.mode.check else None
    with compiling(options.mode, numbers, target_of(skeletons, options)):
        version = derived(found, skeletons, transforms, report)
    lying = dict(whole_arrays(skeletons))
    if options.on_cpu:
        version = in_order(version, [k for k, turned in lying.items() if turned])
    made = finished(version, code.name, options, report)
    places = places_of(found.summary.hidden, _count(names, args, way, bool(transforms)))
    kept = set(kept_params(made.graph)).difference(made.changed, (at for _, at in places))
    return replace(
        made,
        changed=(*made.changed, *sorted(kept)),
        contiguous=tuple(sorted(found.summary.contiguous)),
        lying=tuple(lying.items()),
        hidden=found.summary.hidden,
        hidden_types=types_of(found.summary.hidden),
        guards=found.guards,
        way=way,
        between=describe_arguments(names, args, way, bool(transforms))[1].between,
        shared=passed_twice(skeletons.values()),
        few=not (general or way.small) and has_short_axes(args),
        places=places,
    )


def short_beside_long(args: Sequence[Any]) -> bool:
    """Whether some axes of arrays are short beside others, or beside how often something may be done.

    Loops over them are inner ones then, which are best written out: points in space, states, parameters.
    """
    if isinstance(args, Described):
        return False
    arrays = [a for a in args if type(a) is np.ndarray]
    many = any(max(a.shape, default=0) > SMALL and a.size >= LONG for a in arrays)
    many = many or any(type(a) is int and a >= LONG for a in args)
    return many and has_short_axes(args)


def has_short_axes(args: Sequence[Any]) -> bool:
    """Whether some arrays have short axes."""
    arrays = () if isinstance(args, Described) else (a for a in args if type(a) is np.ndarray)
    return any(1 < d <= SMALL for a in arrays for d in a.shape)


def depends_on_lengths(found: Lowered) -> bool:
    """Whether it depends on lengths known when running whether axes are stretched, or loops check lengths."""
    graphs = list(found.program.graphs.values())
    loops = (g for graph in graphs for n in all_nodes(graph) if isinstance(n, For | While) for g in node_graphs(n))
    inside = any(_is_check(n, "same_size", "equal_size", "check_upper") for g in loops for n in all_nodes(g))
    return inside or any(_is_check(n, "check_fits", "broadcast_size") for g in graphs for n in all_nodes(g))


def _is_check(node: Node, *names: str) -> bool:
    return isinstance(node, Apply) and node.op.name in names


def _count(names: Sequence[str], args: Sequence[Any], way: Way, distinct: bool) -> int:
    """How many numbers and arrays the arguments are."""
    return len(describe_arguments(names, args, way, distinct)[1].values)


def _numbers(names: Sequence[str], args: Sequence[Any], way: Way, found: Lowered) -> list[Any]:
    """The numbers and arrays that the graph is called with, those of globals last."""
    _, leaves = describe_arguments(names, args, way, distinct=True)
    for h in found.summary.hidden:
        h.skeleton(leaves)
    return [v.array() if type(v) is Column else v for v in leaves.values]


def finished(version: Version, name: str, options: Options, report: Report | None = None) -> Specialization:
    """A version compiled, as if it read nothing from outside."""
    report = Report() if report is None else report
    with compiling(options.mode, target=Target(version.turned, bool(PARALLEL[options.parallel]))):
        version = to_run(version, report, LAST if options.on_cpu else LAST_ON_GPU)
    integers = "Integers" if options.raises else "WrappingIntegers"
    emitted = with_kernels(version.graph, version.callees, options.compares or options.mode.check)
    on_cpu = partial(generate, integers=integers, parallel=PARALLEL[options.parallel], fastmath=options.mode.fastmath)
    written = on_cpu if options.on_cpu else cuda.generate
    with report.timed("writing"):
        generated = written(
            emitted.graph,
            version.interface,
            name=version.name,
            callees=emitted.callees,
            kernels=emitted.kernels,
            inplace=options.mode.inplace,
        )
    entry, file = load(generated.text.text, generated.name)
    run = WithDepth(entry, generated.frame, generated.repeatable) if generated.frame else entry
    if options.engine is not None:
        run = run_by(options.engine, version)
    returned = version.interface.returned
    place = {k: at for at, k in enumerate(returned)}
    make, second = maker(version.template, version.graph.results, place), None
    if not options.on_cpu:
        make = with_device_arrays(make)
    if version.reverse is not None:
        second = cache(partial(finished, version.reverse.version, version.reverse.version.name, options))
        make = pulling(make, version.reverse.value, version.reverse.types, second)
    return Specialization(
        name=name,
        graph=version.graph,
        generated=generated,
        run=run,
        file=file,
        make=make,
        updates=tuple(updater(r, version.graph.results, place) for r in version.rebound),
        single=len(returned) == 1,
        interface=version.interface,
        changed=tuple(version.interface.changed),
        private=version.private,
        lists=tuple((k, maker(t, version.graph.results, place), is_nested(t)) for k, t in version.lists),
        options=options,
        params=tuple(p.name for p in version.graph.params),
        tape=version.tape,
        report=report,
        entry=entry,
        version=version,
        second=second,
    )


def target_of(skeletons: dict[str, Skeleton], options: Options) -> Target:
    """What is known of a function that is called with such arguments before it is differentiated."""
    turned = [k for k, is_turned in whole_arrays(skeletons) if is_turned] if options.on_cpu else []
    return Target(tuple(turned), bool(PARALLEL[options.parallel]), not options.on_cpu)


def derived(
    found: Lowered, skeletons: dict[str, Skeleton], transforms: Sequence[Transform], report: Report | None = None
) -> Version:
    """A lowered function, optimised and transformed."""
    program = inline(found.program, natives=current_mode().native and not is_off())
    check_kernels(program)
    with compiling(current_mode(), target=replace(current_target(), turned=())):
        graphs = {n: run_passes(g, PRIMAL) for n, g in program.graphs.items() if n != program.entry}
    graph = run_passes(program.main, PRIMAL, report=report)
    version = as_is(found, graph, skeletons, graphs)
    report = Report() if report is None else report
    for transform in transforms:
        with report.timed("differentiating"):
            version = transform(version)
        callees = {n: (run_passes(g, DERIVED), to) for n, (g, to) in version.callees.items()}
        version = replace(version, graph=run_passes(version.graph, DERIVED, report=report), callees=callees)
    return version


def as_is(found: Lowered, graph: Graph, skeletons: dict[str, Skeleton], graphs: Mapping[str, Graph]) -> Version:
    """The function itself; ``graphs`` are the recursive functions it calls."""
    summary = found.summary
    callees = {n: (g, _interface(found.callees[n])) for n, g in graphs.items() if n in found.callees}
    rules = {n: g for n, g in graphs.items() if n not in found.callees}
    arguments = dict(_separately(skeletons, found.spread))
    return Version(
        summary.name,
        graph,
        replace(_interface(summary), owned=_columns_of_lists(skeletons)),
        summary.template,
        arguments,
        callees=callees,
        rebound=summary.rebound,
        lists=summary.lists,
        rules=rules,
    )


def to_run(version: Version, report: Report | None = None, last: Passes = LAST) -> Version:
    """A version without what only derivatives read: rules of functions, and marks."""
    version = _without_rules(version, report)
    with compiling(current_mode(), target=replace(current_target(), turned=())):
        callees = {n: (run_passes(unmarked(g), last), to) for n, (g, to) in version.callees.items()}
    return replace(version, graph=run_passes(unmarked(version.graph), last, report=report), callees=callees)


def _without_rules(version: Version, report: Report | None) -> Version:
    """Functions with rules of their own are as all others."""
    if not version.rules:
        return version
    graphs = {**version.program.graphs, **version.rules}
    program = inline(replace(version.program, graphs=graphs), rules=False, natives=True)
    graph = run_passes(program.main, DERIVED, report=report)
    known = {**interfaces({n: (g, ()) for n, g in version.rules.items()}), **version.callees}
    callees = {n: (g, known[n][1]) for n, g in program.graphs.items() if n != program.entry}
    return replace(version, graph=graph, callees=callees, rules={})


def _interface(summary: Summary) -> Interface:
    templates = [summary.template, *(r.content for r in summary.rebound), *(t for _, t in summary.lists)]
    used: set[int] = set().union(*map(outputs_used, templates))
    return Interface(dict(summary.changed), sorted(used), set().union(*map(borrowed, templates)))


def _columns_of_lists(skeletons: dict[str, Skeleton]) -> frozenset[int]:
    """The parameters that are arrays made of lists."""
    found: list[int] = []
    first = 0
    for skeleton in skeletons.values():
        leaves = list(leaf_positions(skeleton, first))
        found += [at for at, s in leaves if isinstance(s, ColumnArg)]
        first += len(leaves)
    return frozenset(found)


def _separately(skeletons: dict[str, Skeleton], spread: str) -> Iterator[tuple[str, Skeleton]]:
    """Arguments as they were given: those of a ``*`` parameter one by one."""
    for name, skeleton in skeletons.items():
        if name == spread and isinstance(skeleton, TupleArg):
            yield from ((f"{name}[{k}]", s) for k, s in enumerate(skeleton.items))
        else:
            yield name, skeleton
