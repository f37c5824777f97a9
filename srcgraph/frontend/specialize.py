"""One graph per function and signature: lowering an entry, and the functions it calls.

A callee is described by the skeletons of its arguments. What it returns is described by a template
over the call's outputs; arrays it changes come back as extra outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import gast

from srcgraph.errors import DerivativeError, Loc, SrcgraphError, raise_all
from srcgraph.frontend import assuming, branching, rules, shared, watched
from srcgraph.frontend.callees import Summary, at_call, call_summary, stored_views
from srcgraph.frontend.entities import Array, Box, Cell, Either, Entity, Unusable, may_meet
from srcgraph.frontend.guarding import Caught
from srcgraph.frontend.libraries import told_at_call
from srcgraph.frontend.lower import Lowering, NeedStatic
from srcgraph.frontend.memory import Refusal, chosen, refuse
from srcgraph.frontend.parameters import box_parameter, parameter
from srcgraph.frontend.passing import Arguments
from srcgraph.frontend.pullbacks import with_pullback
from srcgraph.frontend.recursion import (
    Passed,
    assumed_summary,
    is_recursive,
    literal_no_more,
    refuse_lists,
    summarised,
    with_passed,
)
from srcgraph.frontend.returns import Description, Entry
from srcgraph.frontend.room import room
from srcgraph.frontend.session import FunctionCode, FunctionGuard, Guard, Session, Shapes
from srcgraph.frontend.source import node_loc
from srcgraph.frontend.template import MaybeOf, Never, Out, TupleOf
from srcgraph.infer.signature import ArrayArg, BoxArg, ScalarArg, Skeleton, all_parts, sizes_of
from srcgraph.ir.graph import Graph, Program, Value
from srcgraph.ir.op import building
from srcgraph.ir.walk import calling, calls, rule_graphs

ROOM = 10_000
"""Python's limit of recursion while functions are lowered: each inside another takes dozens of Python's own calls."""


@dataclass(frozen=True, eq=False, slots=True)
class Lowered:
    """A lowered entry function."""

    program: Program
    summary: Summary
    guards: tuple[Guard | FunctionGuard, ...]
    spread: str = ""
    """The name of its ``*`` parameter."""
    callees: dict[str, Summary] = field(default_factory=dict)
    """Every function of the program, by the name of its graph."""
    compares: bool = False
    """Whether it is asked if two arrays are one."""


def lower_entry(
    code: FunctionCode,
    args: dict[str, Skeleton],
    static: frozenset[Any] = frozenset(),
    private: bool = False,
    raises: bool = True,
    derive: Callable[..., Any] | None = None,
    checked: bool = False,
    maybe_one: frozenset[str] = frozenset(),
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
    checked : bool
        Whether what the user promises of arguments and arrays is checked when it runs.
    maybe_one : frozenset
        The sizes of the signature that may turn out to be 1, where axes are stretched; others are not.

    Raises
    ------
    SrcgraphError
        Lists every problem found, each with its line.
    NeedStatic
        A number has to be made part of the signature.
    """
    parts = list(all_parts(args.values()))
    sizes = [d for s in parts if isinstance(s, ArrayArg) for d in s.shape]
    differences = any(isinstance(d, tuple) for d in sizes) or any(
        isinstance(s, ScalarArg) and (s.size or s.positive) for s in parts
    )
    session = Session(lower_callee, static, code, raises, derive, rules.call, checked=checked, deriving=private)
    session.differences = differences
    try:
        with room(ROOM):
            summary = _entry(session, code, args, Entry.PRIVATE if private else Entry.VISIBLE, maybe_one)
    except Refusal as refusal:
        session.problems.append(refusal.problem)
        raise_all(session.problems)
        raise
    except NeedStatic:
        raise
    except Exception:
        raise_all(session.problems)  # what goes wrong after a problem comes of it
        raise
    raise_all(session.problems)
    graphs = {**session.graphs, summary.name: summary.graph}
    callees = {s.name: s for s in (*session.summaries.values(), summary)}
    vararg = code.node.args.vararg
    spread = vararg.id if vararg is not None else ""
    program, guards = Program(graphs, summary.name), tuple(session.guards.values())
    return Lowered(program, summary, guards, spread, callees, session.compares)


def _entry(
    session: Session, code: FunctionCode, args: dict[str, Skeleton], entry: Entry, maybe_one: frozenset[str]
) -> Summary:
    """The summary of the function called from outside."""
    key = (code, tuple(args.items()), ((), None), maybe_one)

    def lower() -> Summary:
        return _lower(
            session,
            code,
            args,
            {},
            code.name,
            entry,
            code.place,
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
    own: bool = False,
    shapes: Shapes | None = None,
) -> Summary:
    low = Lowering(session, code, name, called=len(session.active) > 1, place=place)
    low.shapes = shapes or {}
    own = own or entry is Entry.PRIVATE
    low.hands_over = own and only_calls(code.node)
    low.maybe_one = maybe_one
    low.builder.reserve(sizes_of([*args.values(), *captured.values()]))  # integers come first and must not take them
    with building(low.builder):
        for key, skeleton in args.items():
            low.assign(key, parameter(low, skeleton, key, ("argument", key), visible=not own))
        for key, skeleton in captured.items():
            low.outer[key] = box_parameter(low, skeleton, key, None, visible=True)
        assuming.annotate(low)
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


def only_calls(node: Any) -> bool:
    """Whether all a function does is call another one with its parameters, each once: what it is given is handed on."""
    body = [node.body] if isinstance(node, gast.Lambda) else [s.value for s in node.body if isinstance(s, gast.Return)]
    match body:
        case [gast.Call(func=gast.Name(), args=args, keywords=[])] if (
            isinstance(node, gast.Lambda) or len(node.body) == 1
        ):
            names = [a.id for a in args if isinstance(a, gast.Name)]
            return len(names) == len(set(names)) and all(isinstance(a, gast.Name | gast.Constant) for a in args)
    return False


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
    place = (low.place or low.loc) if code.is_library else code.place
    caught, own, found = low.catching.caught(), bool(derive) or low.hands_over, shared.shapes(low)
    known_by = code, tuple(skeletons.items()), (tuple(inner.items()), caught), given.maybe_one(), place, derive
    key = (*known_by, session.deriving, own, tuple(found.items()))
    literal_no_more(low, code, skeletons)
    summary = session.summaries.get(key)
    if summary is None and (summary := assumed_summary(low, key)) is not None:
        refuse_lists(low, summary)
    if summary is None:
        name = session.graph_name(code.name)
        known = len(session.problems)
        try:
            entry = Entry.PRIVATE if derive else Entry.NONE
            more = {"caught": caught, "own": own, "shapes": found}
            lowered = partial(_lower, session, code, skeletons, inner, name, entry, place, **more)

            def lower() -> Summary:
                return lowered(maybe_one=session.assumed[key].maybe_one)

            at_fault = told_at_call(low.code, code, low.loc, session.problems)
            with at_fault, session.derivative(bool(derive)):
                summary = summarised(session, key, name, partial(_derived, low, lower, skeletons, derive))
        except NeedStatic as need:
            raise at_call(low, need, args) from None
        except Passed as needed:
            if needed.code is not code or any(key[0] is code for key in session.assumed):
                raise
            session.passed[code] = before | needed.names
            return lower_callee(low, code, args, captured, through, derive)
        session.graphs[name] = summary.graph
        if len(session.problems) > known:  # found again, and reported, when what is lowered counts
            return call_summary(low, summary, given)
        session.summaries[key] = summary
    views = stored_views(summary, given)
    if views:
        return lower_callee(low, code, args, captured, through | views, derive)
    undecided = _undecided(args, summary, given)
    if undecided is not None:
        name, ref = undecided
        return _given_each(low, code, args, name, chosen(low, ref), captured=captured, through=through, derive=derive)
    return _called_apart(low, summary, given)


def _undecided(args: dict[str, Entity], summary: Summary, given: Arguments) -> tuple[str, Array] | None:
    """An argument that may be another one, or a part of that, where the function changes one of them."""
    there = {k: ref for k, ref in enumerate(given.refs) if ref is not None}  # without what it reads from outside
    changed = [there[position] for position, _ in summary.changed if position in there]
    for name, entity in args.items():
        if isinstance(entity, Array) and isinstance(entity.cell.choice, Either):
            others = changed if entity not in changed else list(there.values())
            if any(may_meet(entity.cell, ref.cell) for ref in others):
                return name, entity
    return None


def _given_each(
    low: Lowering, code: FunctionCode, args: dict[str, Entity], name: str, choice: Array | Either, **how: Any
) -> Entity:
    """A call for each array that an argument may be, in a branch of its own."""
    if isinstance(choice, Array):
        return lower_callee(low, code, {**args, name: choice}, **how)
    first, second = (partial(_given_each, low, code, args, name, c, **how) for c in (choice.then, choice.orelse))
    return branching.either(low, choice.test, first, second)


def _called_apart(low: Lowering, summary: Summary, given: Arguments) -> Entity:
    """A call that must not change what would be read in turn, but is passed now."""
    made = call_summary(low, summary, given)
    watched.check_slots(low, given.later)
    return made


def _derived(
    low: Lowering, lower: Callable[[], Summary], skeletons: dict[str, Skeleton], transforms: tuple[Any, ...]
) -> Summary:
    """A lowered function, transformed."""
    summary, session = lower(), low.session
    if not transforms or session.problems or session.derive is None:
        return summary
    needed = {n for c in calls(summary.graph) for n in (c.callee, *rule_graphs(c))}
    if not needed <= set(session.graphs):
        raise refuse("the derivative of a function inside itself is not supported", low.loc, "write it as a loop")
    program = Program({**session.graphs, summary.name: summary.graph}, summary.name)
    callees = {s.name: s for s in (*session.summaries.values(), summary)}
    try:
        made = session.derive(Lowered(program, summary, (), callees=callees), skeletons, transforms)
    except SrcgraphError as error:
        first = error.problems[0]
        raise refuse(first.message, first.loc or low.loc, first.hint, kind=type(error)) from None
    reverse, template = made.reverse, made.template
    if isinstance(template, MaybeOf):
        hint = "return a number or an array on every path"
        raise refuse("the derivative of what may be None is not supported", low.loc, hint, kind=DerivativeError)
    names = _with_callees(
        session,
        summary,
        _called(session, summary.graph),
        {**made.callees, **(reverse.version.callees if reverse else {})},
    )
    graph = replace(calling(made.graph, names), name=summary.name)
    if reverse is not None:
        template = with_pullback(low, template, reverse, names)
    private = tuple(position for position, _ in summary.changed)
    return Summary(summary.name, graph, template, (), (), (), summary.hidden, summary.contiguous, private=private)


def _called(session: Session, graph: Graph) -> set[str]:
    """The functions that a graph calls, and that these call, and the graphs of rules."""
    found, stack = set[str](), [graph]
    while stack:
        names = {n for c in calls(stack.pop()) for n in (c.callee, *rule_graphs(c))} - found
        found |= names
        stack += [session.graphs[n] for n in names if n in session.graphs]
    return found


def _with_callees(
    session: Session, derived: Summary, there: set[str], callees: Mapping[str, tuple[Graph, Any]]
) -> dict[str, str]:
    """Enter the functions that a transformed one calls into the program; those it did not call before get new names.

    One may be in the program under such a name: what another derivative, by other arguments, calls.
    """
    names: dict[str, str] = {}
    for name in callees:
        if name == derived.name or name not in there:
            names[name] = session.graph_name(f"{name}_of" if name == derived.name else name)
            session.graphs[names[name]] = callees[name][0]
    for old, name in names.items():
        graph, interface = callees[old]
        session.graphs[name] = graph = replace(calling(graph, names), name=name)
        template = TupleOf(tuple(map(Out, interface.returned)))
        changed = tuple(interface.changed.items())
        session.summaries[name] = Summary(name, graph, template, changed, (), (), (), frozenset())
    return names
