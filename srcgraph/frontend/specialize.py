"""One graph per function and signature: lowering an entry, and the functions it calls.

A callee is described by the skeletons of its arguments. What it returns is described by a template
over the call's outputs; arrays it changes come back as extra outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from srcgraph.errors import Loc, SrcgraphError, raise_all
from srcgraph.frontend import contents, nested
from srcgraph.frontend.boxes import held, rebind
from srcgraph.frontend.entities import (
    Box,
    Cell,
    Entity,
    Instance,
    Listing,
    Record,
    Scalar,
    Tup,
    Unusable,
)
from srcgraph.frontend.guarding import Caught
from srcgraph.frontend.lower import Lowering, NeedStatic
from srcgraph.frontend.memory import Dead, Refusal, need_contiguous, refuse, replaced
from srcgraph.frontend.parameters import box_parameter, parameter
from srcgraph.frontend.passing import Arguments, Made
from srcgraph.frontend.recursion import (
    Passed,
    assumed_summary,
    deep_calls,
    is_recursive,
    literal_no_more,
    refuse_lists,
    summarised,
    with_passed,
)
from srcgraph.frontend.returns import Description, Entry
from srcgraph.frontend.session import FunctionCode, Guard, Hidden, Session
from srcgraph.frontend.source import node_loc
from srcgraph.frontend.template import (
    Never,
    Rebound,
    RowsOf,
    Template,
    TupleOf,
)
from srcgraph.infer.signature import (
    BoxArg,
    Skeleton,
    part_name,
    sizes_of,
)
from srcgraph.ir.dims import Dim, substitute
from srcgraph.ir.graph import Graph, Program, Value
from srcgraph.ir.op import building
from srcgraph.ir.rebuild import substitute_type
from srcgraph.ir.types import ArrayType, ScalarType, Type, without_value
from srcgraph.ir.walk import calls


@dataclass(frozen=True, eq=False, slots=True)
class Summary:
    """What calling a lowered function means to the caller.

    Attributes
    ----------
    changed : tuple of (parameter position, output number)
        The arrays it changes.
    lists : tuple of (list number, template)
        The lists it changes, and what they hold afterwards.
    rebound : tuple of Rebound
        The boxes it changes, and what they hold afterwards.
    hidden : tuple of Hidden
        Globals it reads, whose leaves follow the arguments'.
    contiguous : frozenset of int
        Parameters that must lie in memory in C order without gaps.
    """

    name: str
    graph: Graph
    template: Template
    changed: tuple[tuple[int, int], ...]
    lists: tuple[tuple[int, TupleOf | RowsOf], ...]
    rebound: tuple[Rebound, ...]
    hidden: tuple[Hidden, ...]
    contiguous: frozenset[int]


@dataclass(frozen=True, eq=False, slots=True)
class Lowered:
    """A lowered entry function."""

    program: Program
    summary: Summary
    guards: tuple[Guard, ...]
    spread: str = ""
    """The name of its ``*`` parameter."""
    callees: dict[str, Summary] = field(default_factory=dict)
    """Every function of the program, by the name of its graph."""


def lower_entry(
    code: FunctionCode,
    args: dict[str, Skeleton],
    static: frozenset[Any] = frozenset(),
    private: bool = False,
    raises: bool = True,
    derive: Callable[..., Any] | None = None,
) -> Lowered:
    """Lower a function for a signature.

    Parameters
    ----------
    code : FunctionCode
    args : dict
        Skeleton of each parameter, in order.
    static : frozenset
        Globals whose numbers are compiled in.
    private : bool
        Whether the arguments' arrays are copies that the caller never sees.
    raises : bool
        Whether arithmetic of Python's numbers raises as Python's does.
    derive : callable
        ``derive(lowered, skeletons, transforms)`` transforms a function that this one calls.

    Raises
    ------
    SrcgraphError
        Lists every problem found, each with its line.
    NeedStatic
        A number has to be made part of the signature.
    """
    session = Session(lower_callee, static, code, raises, derive)
    try:
        with deep_calls():
            summary = _entry(session, code, args, Entry.PRIVATE if private else Entry.VISIBLE)
    except Refusal as refusal:
        session.problems.append(refusal.problem)
        raise_all(session.problems)
        raise
    raise_all(session.problems)
    graphs = {**session.graphs, summary.name: summary.graph}
    callees = {s.name: s for s in (*session.summaries.values(), summary)}
    vararg = code.node.args.vararg
    spread = vararg.id if vararg is not None else ""
    return Lowered(Program(graphs, summary.name), summary, tuple(session.guards.values()), spread, callees)


def _entry(session: Session, code: FunctionCode, args: dict[str, Skeleton], entry: Entry) -> Summary:
    """The summary of the function called from outside."""
    key = (code, tuple(args.items()), ((), None), frozenset())

    def lower() -> Summary:
        return _lower(
            session,
            code,
            args,
            {},
            code.name,
            entry,
            apart=is_recursive(session, key),
            maybe_one=session.assumed[key].maybe_one,
        )

    while True:
        try:
            return summarised(session, key, code.name, lower)
        except Passed as needed:
            before = session.passed.get(needed.code, frozenset())
            if needed.names <= before:
                raise
            session.passed[needed.code] = before | needed.names


def _lower(
    session: Session,
    code: FunctionCode,
    args: dict[str, Skeleton],
    captured: dict[str, BoxArg],
    name: str,
    entry: Entry = Entry.NONE,
    place: Loc | None = None,
    apart: bool = False,
    caught: Caught | None = None,
    maybe_one: frozenset[str] = frozenset(),
) -> Summary:
    low = Lowering(session, code, name, called=len(session.active) > 1, place=place)
    low.maybe_one = maybe_one
    low.builder.reserve(sizes_of([*args.values(), *captured.values()]))  # integers come first and must not take them
    with building(low.builder):
        for key, skeleton in args.items():
            low.assign(key, parameter(low, skeleton, key, ("argument", key), visible=entry is not Entry.PRIVATE))
        for key, skeleton in captured.items():
            low.outer[key] = box_parameter(low, skeleton, key, None, visible=True)
        result = low.body() if caught is None else low.catching.called(caught)
        low.loc = place or low.returned_at or node_loc(code.node, code.file)
        described = Description(low, [], entry, apart or entry is Entry.NONE)
        template = Never() if low.state.dead else described.of(result)
        rebound = described.rebound() if entry is not Entry.PRIVATE else ()
        lists = described.lists()
        changed = _changed(low, described.outputs)
        graph = low.builder.finish(described.outputs)
    hidden = tuple(h for h, _ in low.hidden_order)
    return Summary(name, graph, template, changed, lists, rebound, hidden, frozenset(low.contiguous))


def _changed(low: Lowering, outputs: list[Value]) -> tuple[tuple[int, int], ...]:
    out = []
    seen: set[Cell] = set()
    for position, (value, cell) in enumerate(low.params):
        if cell is None or cell in seen:
            continue
        seen.add(cell)
        now = low.state.store.get(cell)
        if isinstance(now, Unusable):
            low.report(refuse(now.why, low.loc, now.hint).problem)
        elif now is not value and isinstance(now, Value):
            outputs.append(now)
            out.append((position, len(outputs) - 1))
    return tuple(out)


# -- calls ----------------------------------------------------------------------------------------


def lower_callee(
    low: Lowering,
    code: FunctionCode,
    args: dict[str, Entity],
    captured: dict[str, Box],
    through: frozenset[Cell] = frozenset(),
    derive: tuple[Any, ...] = (),
) -> Entity:
    """Call another function of the program, lowering it the first time for these skeletons.

    Once it is known to store into views it is given, it is given the arrays ``through`` which they go. With
    ``derive``, transforms, what they make of it is called.
    """
    session = low.session
    before = session.passed.get(code, frozenset())
    args = with_passed(low, code, args)
    given = Arguments(low, through, apart=bool(derive))
    skeletons = {k: given.skeleton(e) for k, e in args.items()}
    inner = {k: given.box(b) for k, b in captured.items()}
    place = low.place or (low.loc if code.is_library else None)
    caught = low.catching.caught()
    key = (code, tuple(skeletons.items()), (tuple(inner.items()), caught), given.maybe_one(), place, derive)
    literal_no_more(low, code, skeletons)
    summary = session.summaries.get(key)
    if summary is None and (summary := assumed_summary(low, key)) is not None:
        refuse_lists(low, summary)
    if summary is None:
        name = session.graph_name(code.name)
        known = len(session.problems)
        try:
            entry = Entry.PRIVATE if derive else Entry.NONE
            lowered = partial(_lower, session, code, skeletons, inner, name, entry, place, caught=caught)

            def lower() -> Summary:
                return lowered(maybe_one=session.assumed[key].maybe_one)

            summary = summarised(session, key, name, partial(_derived, low, lower, skeletons, derive))
        except NeedStatic as need:
            raise _at_call(low, need, args) from None
        except Passed as needed:
            if needed.code is not code or any(key[0] is code for key in session.assumed):
                raise
            session.passed[code] = before | needed.names
            return lower_callee(low, code, args, captured, through, derive)
        session.graphs[name] = summary.graph
        if len(session.problems) > known:  # found again, and reported, when what is lowered counts
            return _call(low, summary, given)
        session.summaries[key] = summary
    views = stored_views(summary, given)
    if views:
        return lower_callee(low, code, args, captured, through | views, derive)
    return _call(low, summary, given)


def _derived(
    low: Lowering, lower: Callable[[], Summary], skeletons: dict[str, Skeleton], transforms: tuple[Any, ...]
) -> Summary:
    """A lowered function, transformed."""
    summary, session = lower(), low.session
    if not transforms or session.problems or session.derive is None:
        return summary
    needed = {c.callee for c in calls(summary.graph)}
    if not needed <= set(session.graphs):
        raise refuse("the derivative of a function inside itself is not supported", low.loc, "write it as a loop")
    program = Program({**session.graphs, summary.name: summary.graph}, summary.name)
    callees = {s.name: s for s in (*session.summaries.values(), summary)}
    try:
        made = session.derive(Lowered(program, summary, (), callees=callees), skeletons, transforms)
    except SrcgraphError as error:
        first = error.problems[0]
        raise refuse(first.message, first.loc or low.loc, first.hint, kind=type(error)) from None
    graph = replace(made.graph, name=summary.name)
    return Summary(summary.name, graph, made.template, (), (), (), summary.hidden, summary.contiguous)


def stored_views(summary: Summary, given: Arguments) -> frozenset[Cell]:
    """The arrays parts of which a function is given and stores into."""
    refs = (given.refs[position] for position, _ in summary.changed)
    return frozenset(ref.cell for ref in refs if ref is not None and ref.view is not None)


def _call(low: Lowering, summary: Summary, given: Arguments) -> Entity:
    session = low.session
    for hidden in summary.hidden:
        given.cells.clear()  # what the callee reads from outside it has in boxes of its own
        given.skeleton(session.outside_at(low, hidden.name, hidden.container))
    symbols = {name: dim for dim, name in given.names.items()}
    _bind_symbols(summary.graph, given.values, symbols)
    sizes: dict[Dim, Dim] = {}
    types = [_at_caller(low, v.type, symbols, sizes) for v in summary.graph.results]
    names = ["" if isinstance(v.type, ScalarType) else v.name for v in summary.graph.results]
    outs = low.builder.call_graph(summary.name, given.values, types, names, summary.changed)
    if isinstance(summary.template, Never):
        low.returns_later = low.returns_later or bool(session.assumed)
        raise Dead
    _refuse_overlap(low, summary, given)
    for position in sorted(summary.contiguous):
        ref = given.refs[position]
        assert ref is not None
        need_contiguous(low, ref, ref.cell.name)
    for position, k in summary.changed:
        ref = given.refs[position]
        assert ref is not None
        replaced(low, ref, outs[k])
    made = Made(low, outs, given)
    for k, template in summary.lists:
        if any(other.cell is given.lists[k].cell for j, other in enumerate(given.lists) if j != k):
            why = f"{summary.name} changes one list that is inside, or beside, another it is given"
            raise refuse(why, low.loc, "pass the list of lists and the places in it")
        contents.put_content(low, given.lists[k], made.content(template))
        made.link(given.lists[k])
        if not given.lists[k].at:
            nested.lose_rows(low, given.lists[k].cell)
    result = made.entity(summary.template)
    boxes = [(given.boxes[r.position], made.changed(r)) for r in summary.rebound]
    _refuse_twins(low, summary, given)
    for box, content in boxes:
        rebind(low, box, content)
    return low.catching.result(result)


def _at_call(low: Lowering, need: NeedStatic, args: dict[str, Entity]) -> Exception:
    """What a callee must know, a number or the items of a list, as a demand on where the caller has it from."""
    if need.origin is None or need.origin[0] == "global":
        return need if need.origin else need.refusal
    entity = _at_path(low, args, need.origin[1])
    if isinstance(entity, Scalar) and entity.value in low.static_origin:
        return NeedStatic(low.static_origin[entity.value], need.refusal)
    return low.needs_items(entity, need.refusal) if isinstance(entity, Listing) else need.refusal


def _bind_symbols(graph: Graph, values: Sequence[Value], symbols: dict[str, Dim]) -> None:
    """What the callee's symbols are to the caller, from the arguments' types."""
    for param, value in zip(graph.params, values, strict=True):
        if isinstance(param.type, ArrayType):
            for d, own in zip(param.type.shape, value.type.shape, strict=True):
                if d.symbol:
                    symbols[d.symbol] = own
        elif isinstance(param.type, ScalarType) and param.type.value is not None and param.type.value.symbol:
            if value.type.value is not None:
                symbols[param.type.value.symbol] = value.type.value


def _at_caller(low: Lowering, type: Type, symbols: dict[str, Dim], sizes: dict[Dim, Dim]) -> Type:
    """A result's type, where each of ``sizes`` that only the callee can compute has a symbol of its own."""
    match type:
        case ScalarType():
            known = type.value is not None and type.value.symbols() <= set(symbols)
            return substitute_type(type, symbols) if known else without_value(type)
        case ArrayType():
            for d in type.shape:
                if not d.symbols() <= set(symbols) and d not in sizes:
                    sizes[d] = low.builder.new_size(d.symbol or "n")
            shape = (sizes[d] if d in sizes else substitute(d, symbols) for d in type.shape)
            return replace(type, shape=tuple(shape))
    return type


def _refuse_overlap(low: Lowering, summary: Summary, given: Arguments) -> None:
    """Different parts of one array passed together, one of them changed."""
    for position, _ in summary.changed:
        ref = given.refs[position]
        for other in given.refs:
            if ref is None or other is None or other == ref:
                continue
            if other.cell is ref.cell or other.cell in ref.cell.shares:
                raise refuse(
                    f"{summary.name} changes one argument that may share memory with another",
                    low.loc,
                    "pass a copy of one of them",
                )


def _at_path(low: Lowering, args: dict[str, Entity], path: str) -> Entity | None:
    """The part of an argument that users write as ``path``."""
    stack = list(args.items())
    while stack:
        name, entity = stack.pop()
        if name == path:
            return entity
        if path.startswith(name):
            content = held(low, entity.box) if isinstance(entity, Instance) else entity
            if isinstance(content, Tup | Record):
                keys = content.names if isinstance(content, Record) else range(len(content.items))
                stack += [(part_name(name, content.cls, k), e) for k, e in zip(keys, content.items, strict=True)]
    return None


def _refuse_twins(low: Lowering, summary: Summary, given: Arguments) -> None:
    """Two boxes that may be one passed together, one of them changed."""
    for changed in summary.rebound:
        box = given.boxes[changed.position]
        if any(other in box.shares for other in given.boxes):
            why = f"{summary.name} changes {box.name!r}, which may be the same object as another argument"
            raise refuse(why, low.loc, "pass one of them only")
