"""Functions that call themselves, directly or through others.

What a call means to its caller (the summary: what it returns, its types, the arrays it changes) is not
known while the function is being lowered. It is found as a fixpoint: at first a recursive call is taken
never to return, so that only the paths without one count; what they give is assumed next, and so on
until the function lowered under an assumption is as assumed. What is known of sizes and values holds by
induction over the depth of calls.

References
----------
P. Cousot and R. Cousot, "Static determination of dynamic properties of recursive procedures", 1977.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srcgraph.frontend.entities import Const, Entity, Scalar
from srcgraph.frontend.memory import Dead, refuse
from srcgraph.frontend.source import node_loc
from srcgraph.infer.signature import ScalarArg, Skeleton, StaticArg
from srcgraph.ir.dims import UNKNOWN
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type, type_symbols, without_value

if TYPE_CHECKING:
    from srcgraph.frontend.callees import Summary
    from srcgraph.frontend.lower import Lowering
    from srcgraph.frontend.session import FunctionCode, Session

ATTEMPTS = 8
UNROLLED = 8
"""A function called with literal numbers that change is unrolled to this depth; beyond, they are passed."""
VERSIONS = 16
"""Nor are there more versions of it than that, as of one that calls itself twice."""
DEEPEST = 9
"""More versions of one function than this under way at once: the types of its arguments never settle."""


@dataclass(eq=False, slots=True)
class Assumption:
    """What calls of a function being lowered are taken to mean; None: they never return."""

    summary: Summary | None = None
    maybe_one: frozenset[str] = frozenset()
    """The sizes of its arguments that may be 1 in some call."""
    used: bool = False
    recursive: bool = False
    """Whether it was ever used."""


class Passed(Exception):
    """Literal numbers of a recursive function have to be passed at run time after all."""

    def __init__(self, code: FunctionCode, names: frozenset[str]):
        super().__init__(code.name)
        self.code = code
        self.names = names


def summarised(session: Session, key: Any, name: str, lower: Callable[[], Summary]) -> Summary:
    """The summary of a function lowered for the first time, found as a fixpoint if it is recursive."""
    assumed = session.assumed[key] = Assumption(maybe_one=key[3])
    problems, graphs, summaries = len(session.problems), dict(session.graphs), dict(session.summaries)
    session.active.append((key[0], name))
    try:
        for _ in range(ATTEMPTS):
            assumed.used, stretched = False, assumed.maybe_one
            summary = lower()
            if len(session.problems) > problems:  # what is refused on some paths is refused with more of them
                return summary
            same = assumed.summary and _meaning(summary) == _meaning(assumed.summary)
            if not assumed.used or (same and stretched == assumed.maybe_one):
                return summary
            assumed.summary = summary
            del session.problems[problems:]
            session.graphs, session.summaries = dict(graphs), dict(summaries)
    finally:
        session.active.pop()
        del session.assumed[key]
    why = f"{key[0].name}() calls itself, and what it returns is of another type each time"
    raise refuse(why, node_loc(key[0].node, key[0].file), "return one type at each level")


def assumed_summary(low: Lowering, key: Any) -> Summary | None:
    """What a call of a function being lowered is taken to mean; None if it is not being lowered.

    Raises
    ------
    Dead
        It is taken never to return.
    """
    wanted = key[:3]  # which sizes may be 1 is no reason for a version of its own: they may in all calls
    assumed = next((a for known, a in low.session.assumed.items() if known[:3] == wanted), None)
    if assumed is None:
        return None
    assumed.used = assumed.recursive = True
    assumed.maybe_one |= key[3]
    if assumed.summary is None:
        low.builder.call_named("check_that", False, error="RecursionError", message="maximum recursion depth exceeded")
        low.returns_later = True
        raise Dead
    return assumed.summary


def _meaning(summary: Summary) -> Any:
    """What a caller sees of a summary: types without the symbols that mean something inside only."""
    known = frozenset(s for p in summary.graph.params for s in type_symbols(p.type))
    types = tuple(_outside(v.type, known) for v in summary.graph.results)
    return (
        summary.template,
        summary.changed,
        summary.lists,
        summary.rebound,
        summary.hidden,
        summary.contiguous,
        types,
    )


def is_recursive(session: Session, key: Any) -> bool:
    """Whether a function being lowered was found to call itself."""
    return session.assumed[key].recursive


def refuse_lists(low: Lowering, summary: Summary) -> None:
    """Lists that grow are not handed from one call of a recursive function to the next."""
    values = (*summary.graph.params, *summary.graph.results)
    if any(isinstance(v.type, ListType) for v in values):
        name = low.session.written_as(summary.name)
        why = f"{name}() calls itself with lists that grow while the program runs, which is not supported"
        raise refuse(why, low.loc, "pass an array that is long enough, and how much of it is used")


def _outside(type: Type, known: frozenset[str]) -> Type:
    match type:
        case ScalarType():
            return type if type_symbols(type) <= known else without_value(type)
        case ArrayType():
            shape = tuple(d if d.symbols() <= known else UNKNOWN for d in type.shape)
            return ArrayType(type.dtype, shape)
    return type


# -- literal numbers ------------------------------------------------------------------------------


def with_passed(low: Lowering, code: FunctionCode, args: dict[str, Entity]) -> dict[str, Entity]:
    """The arguments of a call, with numbers as run-time values where recursion needs that.

    A literal is compiled in. Where a function calls itself with another literal, as in counting down,
    each is a version of its own, to a limited depth.
    """
    active = [dict(key[1]) for key in low.session.assumed if key[0] is code]
    if len(active) > DEEPEST:
        raise refuse(
            f"{code.name}() calls itself with other types of arguments each time, without end",
            low.loc,
            "pass the same types at each level; for a list that grows, an array that is long enough",
        )
    passed = low.session.passed.get(code, frozenset())
    out = {}
    for name, entity in args.items():
        if isinstance(entity, Const) and entity.is_number:
            before = [skeletons[name] for skeletons in active]
            if name in passed or any(_runs(s, entity) for s in before):
                entity = Scalar(low.builder.const(entity.value))
        out[name] = entity
    versions = sum(key[0] is code for key in low.session.summaries)
    if len(active) > UNROLLED or (active and versions > VERSIONS):
        counting = frozenset(n for n, e in out.items() if isinstance(e, Const) and _differs(e, active[-1][n]))
        if counting:
            raise Passed(code, counting)
    return out


def literal_no_more(low: Lowering, code: FunctionCode, skeletons: dict[str, Skeleton]) -> None:
    """Where a function given a literal calls itself with a number computed at run time, one version does for both.

    Raises
    ------
    Passed
        The literal should be passed, too.
    """
    for key in low.session.assumed:
        if key[0] is code:
            before = dict(key[1])
            names = [n for n, s in skeletons.items() if isinstance(s, ScalarArg) and _was_literal(before[n], s)]
            if names:
                raise Passed(code, frozenset(names))


def _was_literal(skeleton: Skeleton, now: ScalarArg) -> bool:
    return isinstance(skeleton, StaticArg) and now.weak and type(skeleton.value) is type(now.dtype.type(0).item())


def _runs(skeleton: Skeleton, entity: Const) -> bool:
    """Whether a number of the type of ``entity`` is passed at run time already."""
    return (
        isinstance(skeleton, ScalarArg)
        and skeleton.weak
        and skeleton.dtype.type(0).item().__class__ is type(entity.value)
    )


def _differs(entity: Const, skeleton: Skeleton) -> bool:
    return entity.is_number and isinstance(skeleton, StaticArg) and StaticArg(entity.value) != skeleton
