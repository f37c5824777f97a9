"""A call of a lowered function: what it means to the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from srcgraph.frontend import contents, nested
from srcgraph.frontend.boxes import held, rebind
from srcgraph.frontend.entities import Cell, Entity, Instance, Listing, Record, Scalar, Tup, may_meet
from srcgraph.frontend.lower import Lowering, NeedStatic
from srcgraph.frontend.memory import Dead, need_contiguous, refuse, replaced
from srcgraph.frontend.passing import Arguments, Made
from srcgraph.frontend.session import Hidden
from srcgraph.frontend.template import Never, Rebound, RowsOf, Template, TupleOf
from srcgraph.infer.signature import part_name
from srcgraph.ir.dims import Dim, substitute
from srcgraph.ir.graph import Graph, Native, Rule, Value
from srcgraph.ir.rebuild import substitute_type
from srcgraph.ir.types import ArrayType, ScalarType, Type, without_value


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
    rule : Rule or None
        How a call of it is differentiated, if not as its graph is.
    native : Native or None
        What generated code may call in place of its graph.
    plain : bool
        Whether it, or a function it calls, has a rule for derivatives that was left out.
    private : tuple of int
        The arrays that it would change, were it no derivative: they count as others than all it is given besides.
    """

    name: str
    graph: Graph
    template: Template
    changed: tuple[tuple[int, int], ...]
    lists: tuple[tuple[int, TupleOf | RowsOf], ...]
    rebound: tuple[Rebound, ...]
    hidden: tuple[Hidden, ...]
    contiguous: frozenset[int]
    rule: Rule | None = None
    native: Native | None = None
    plain: bool = False
    private: tuple[int, ...] = ()


def stored_views(summary: Summary, given: Arguments) -> frozenset[Cell]:
    """The arrays parts of which a function is given and stores into."""
    refs = (given.refs[position] for position, _ in summary.changed if position < len(given.refs))
    return frozenset(ref.cell for ref in refs if ref is not None and ref.view is not None)


def call_summary(low: Lowering, summary: Summary, given: Arguments) -> Entity:
    """Call a lowered function with arguments made ready."""
    session, count = low.session, len(given.refs)
    for hidden in summary.hidden:
        given.cells.clear()  # what the callee reads from outside it has in boxes of its own
        given.skeleton(session.outside_at(low, hidden.name, hidden.container))
    symbols = {name: dim for dim, name in given.names.items()}
    _bind_symbols(summary.graph, given.values, symbols)
    sizes: dict[Dim, Dim] = {}
    types = [_at_caller(low, v.type, symbols, sizes) for v in summary.graph.results]
    if summary.native is not None:  # a kernel is not known to return such a number
        types = [without_value(t) if isinstance(t, ScalarType) else t for t in types]
    names = ["" if isinstance(v.type, ScalarType) else v.name for v in summary.graph.results]
    how = summary.changed, summary.rule, summary.native
    outs = low.builder.call_graph(summary.name, given.values, types, names, *how)
    if isinstance(summary.template, Never):
        low.returns_later = low.returns_later or bool(session.assumed)
        raise Dead
    _refuse_overlap(low, summary, given, count)
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
            name = low.session.written_as(summary.name)
            why = f"{name} changes one list that is inside, or beside, another it is given"
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


def at_call(low: Lowering, need: NeedStatic, args: dict[str, Entity]) -> Exception:
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


def _refuse_overlap(low: Lowering, summary: Summary, given: Arguments, count: int) -> None:
    """Different parts of one array passed together, one of them changed; what comes after ``count`` is from outside."""
    for position in (*(p for p, _ in summary.changed), *summary.private):
        ref = given.refs[position]
        for k, other in enumerate(given.refs):
            if ref is None or other is None or k == position:
                continue
            if other == ref and (k < count) == (position < count) and position not in summary.private:
                continue
            if other.cell is ref.cell or other.cell in ref.cell.shares or may_meet(ref.cell, other.cell):
                beside = "with another" if max(k, position) < count else "with what it reads from outside"
                raise refuse(
                    f"{low.session.written_as(summary.name)} changes one argument that may share memory {beside}",
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
            name = low.session.written_as(summary.name)
            why = f"{name} changes {box.name!r}, which may be the same object as another argument"
            raise refuse(why, low.loc, "pass one of them only")
