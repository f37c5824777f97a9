"""From a function to a compiled version of it: for one signature, with one stack of transformations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from srcgraph.codegen import cuda
from srcgraph.codegen.cpu import generate
from srcgraph.codegen.storage import Interface
from srcgraph.errors import InternalError
from srcgraph.frontend.callees import Summary
from srcgraph.frontend.lower import NeedStatic
from srcgraph.frontend.session import FunctionCode
from srcgraph.frontend.specialize import Lowered, lower_entry
from srcgraph.frontend.template import Never
from srcgraph.infer.signature import (
    SMALL,
    Column,
    Skeleton,
    TupleArg,
    passed_twice,
)
from srcgraph.ir.dims import unclamped
from srcgraph.ir.graph import Apply, For, Graph, Node, While, node_graphs, node_inputs
from srcgraph.ir.types import INT, ArrayType, ScalarType
from srcgraph.ir.walk import all_nodes, calls, kept_params
from srcgraph.opt.inline import inline
from srcgraph.opt.marks import unmarked
from srcgraph.opt.modes import Target, compiling, current_mode, current_target
from srcgraph.opt.passes import Report, run_passes
from srcgraph.opt.pipeline import DERIVED, LAST, LAST_ON_GPU, PRIMAL, Passes
from srcgraph.runtime.collecting import seldom_collecting
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.described import USUAL_WAY, Way, describe_arguments, has_short_axes, short_beside_long
from srcgraph.runtime.engines.versions import run_by
from srcgraph.runtime.floats import ColumnArg, leaf_positions
from srcgraph.runtime.kernel_types import check_kernels, is_off
from srcgraph.runtime.load import load
from srcgraph.runtime.lying import in_order, whole_arrays
from srcgraph.runtime.natives import with_kernels
from srcgraph.runtime.on_device import with_device_arrays
from srcgraph.runtime.options import PARALLEL, Options
from srcgraph.runtime.pullbacks import pulling
from srcgraph.runtime.results import (
    borrowed,
    is_nested,
    maker,
    outputs_used,
    updater,
)
from srcgraph.runtime.specialized import Specialization, types_of
from srcgraph.runtime.state import places_of
from srcgraph.runtime.transforms import Transform, Version, interfaces

MANY = 12
"""How often a signature is tried again with one more number known when compiling."""


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
            if not (general or way.small) and has_short_axes(args) and asks_for_short(found):
                way = way._replace(small=True)
                continue
            if not (general or way.signs) and depends_on_signs(found):
                way = way._replace(signs=True)
                continue
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
    shared = passed_twice(skeletons.values())
    alone = [k for k, p in enumerate(made.graph.params) if isinstance(p.type, ArrayType) and k not in made.private]
    return replace(
        made,
        changed=(*made.changed, *sorted(kept)),
        private=(*made.private, *alone) if found.compares and not shared else made.private,
        contiguous=tuple(sorted(found.summary.contiguous)),
        lying=tuple(lying.items()),
        hidden=found.summary.hidden,
        hidden_types=types_of(found.summary.hidden),
        guards=found.guards,
        way=way,
        between=describe_arguments(names, args, way, bool(transforms))[1].between,
        shared=shared,
        few=not (general or way.small) and has_short_axes(args),
        places=places,
    )


def depends_on_lengths(found: Lowered) -> bool:
    """Whether it depends on lengths known when running whether axes are stretched, or loops check lengths."""
    if any(_is_check(n, "same_size", "equal_size", "check_upper") for n in _in_loops(found)):
        return True
    graphs = found.program.graphs.values()
    return any(_is_check(n, "check_fits", "broadcast_size") for g in graphs for n in all_nodes(g))


def depends_on_signs(found: Lowered) -> bool:
    """Whether ends of slices count from the back, or lengths are 0, where an integer that is passed is negative.

    So are those of lists to which a loop appends so often.
    """
    known = (getattr(p.type, "value", None) for p in found.program.main.params if isinstance(p.type, ScalarType))
    passed = {value.symbol for value in known if value is not None}
    nodes = (n for graph in found.program.graphs.values() for n in all_nodes(graph))
    asks = any(_counts_back(n) or _is_clamped(n, passed) or _appends(n, passed) for n in nodes) if passed else False
    return asks and not _is_recursive(found)


def _is_recursive(found: Lowered) -> bool:
    """Whether some function calls itself, so that each call would tell it something else of integers."""
    graphs = found.program.graphs
    callers = {name: {c.callee for c in calls(graph)} for name, graph in graphs.items()}
    while leaves := {name for name, callees in callers.items() if not callees & callers.keys()}:
        callers = {name: callees for name, callees in callers.items() if name not in leaves}
    return bool(callers)


def _counts_back(node: Node) -> bool:
    if not isinstance(node, Apply) or node.op.name != "where":
        return False
    out = node.outputs[0].type
    return isinstance(out, ScalarType) and out.dtype == INT


def _appends(node: Node, passed: Collection[str | None]) -> bool:
    if not isinstance(node, For) or node.stop.type.value.symbols().isdisjoint(passed):
        return False
    return any(isinstance(n, Apply) and n.op.name == "list_push" for n in node.body.nodes)


def _is_clamped(node: Node, passed: Collection[str | None]) -> bool:
    if not isinstance(node, Apply) or not node.outputs:
        return False
    out = node.outputs[0].type
    sizes = out.shape if isinstance(out, ArrayType) else ()
    return any(d != unclamped(d) and not d.symbols().isdisjoint(passed) for d in sizes)


def asks_for_short(found: Lowered) -> bool:
    """Whether loops raise unless an axis has a length that is a small number: the state of a system, for one."""
    for node in _in_loops(found):
        if _is_check(node, "same_size"):
            known = [getattr(v.type, "value", None) for v in node_inputs(node)]
            if any(k is not None and k.const is not None and 1 < k.const <= SMALL for k in known):
                return True
    return False


def _in_loops(found: Lowered) -> Iterator[Node]:
    graphs = found.program.graphs.values()
    loops = (n for graph in graphs for n in all_nodes(graph) if isinstance(n, For | While))
    return (n for loop in loops for g in node_graphs(loop) for n in all_nodes(g))


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
    if isinstance(version.template, Never):  # nothing is left to be changed
        version = replace(version, rebound=(), lists=())
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
