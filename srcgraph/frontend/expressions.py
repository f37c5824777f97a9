"""Expressions: numbers, arrays, indexing, operators with Python's own meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError, InternalError, Loc, Problem, SrcgraphError
from srcgraph.frontend import (
    attributes,
    calls,
    comprehensions,
    conditions,
    contents,
    dicts,
    indexing,
    later,
    lists,
    objects,
    operators,
    statements,
    text,
)
from srcgraph.frontend.entities import (
    NONE,
    Array,
    Const,
    Entity,
    Instance,
    Iteration,
    Listing,
    Rows,
    Scalar,
    SomeSet,
    Tup,
    Unusable,
)
from srcgraph.frontend.memory import (
    Refusal,
    known_int,
    ref_type,
    refuse,
)
from srcgraph.frontend.presence import is_optional, present
from srcgraph.ir.dims import Dim
from srcgraph.ir.types import BOOL

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def lower(low: Lowering, node: Any, hint: str = "") -> Entity:
    """Lower an expression that must not be None; ``hint`` names the value it computes."""
    entity = optional(low, node, hint)
    if not is_optional(entity):
        return entity
    with low.at(node):
        return present(low, entity)


def optional(low: Lowering, node: Any, hint: str = "") -> Entity:
    """Lower an expression that may be None at run time."""
    with low.at(node):
        try:
            entity = _lower(low, node, hint)
        except SrcgraphError as error:
            raise located(error, low.loc) from None
        if isinstance(entity, Unusable) and not isinstance(node, gast.Name | gast.Attribute):
            raise low.unusable(entity)
        return entity


def located(error: SrcgraphError, loc: Loc | None) -> Exception:
    """A type rule's error at the expression that it is about."""
    first = error.problems[0]
    if first.loc is not None or isinstance(error, InternalError):
        return error
    return Refusal(Problem(first.message, loc, first.notes, first.hint, type(error)))


def lower_named(low: Lowering, node: Any, target: Any) -> Entity:
    """Lower what is assigned to ``target``, whose names name the values; ``a, b = x, y`` name by name."""
    if isinstance(target, gast.Name):
        return optional(low, node, target.id)
    if isinstance(target, gast.Attribute | gast.Subscript):
        return optional(low, node)
    pairs = isinstance(target, gast.Tuple) and isinstance(node, gast.Tuple) and len(target.elts) == len(node.elts)
    if not pairs or any(isinstance(e, gast.Starred) for e in (*target.elts, *node.elts)):
        return lower(low, node)
    return Tup(tuple(lower_named(low, e, t) for e, t in zip(node.elts, target.elts, strict=True)))


def _lower(low: Lowering, node: Any, hint: str) -> Entity:
    match node:
        case gast.Constant(value=value):
            return Const(value)
        case gast.Name(id=name):
            entity = low.lookup(name, around=hasattr(node, "around"))
            if isinstance(entity, Unusable):
                raise low.unusable(entity)
            low.spend(name)
            return entity
        case gast.Tuple(elts=elts):
            return Tup(tuple(elements(low, elts)))
        case gast.List(elts=elts):
            return list_display(low, elts, hint)
        case gast.Set(elts=elts):
            return set_of(low, elements(low, elts))
        case gast.ListComp():
            return comprehensions.comprehension(low, node, hint)
        case gast.DictComp():
            return comprehensions.of_dict(low, node, hint)
        case gast.SetComp():
            return comprehensions.of_set(low, node, hint)
        case gast.GeneratorExp():
            hint = "write a list comprehension, or use it where it is made: sum(...), any(...), list(...)"
            raise refuse("a generator expression is not supported here", low.loc, hint)
        case gast.Dict():
            return dicts.literal(low, node, hint)
        case gast.BinOp(left=left, op=op, right=right):
            x, y = lower(low, left), lower(low, right)
            with low.at(node):
                check_operands(low, (left, x), (right, y))
                return operators.binary(low, statements.OPERATORS[type(op)], x, y, hint)
        case gast.UnaryOp():
            return operators.unary(low, node, hint)
        case gast.JoinedStr():
            return text.joined(low, node)
        case gast.BoolOp():
            return conditions.boolean(low, node.op, node.values, hint)
        case gast.Compare():
            return conditions.comparison(low, node)
        case gast.IfExp():
            return conditions.conditional(low, node, hint)
        case gast.Call():
            return calls.call(low, node, hint)
        case gast.Attribute(value=value, attr=attr):
            base = present(low, optional(low, value), "read from", "AttributeError")
            return attributes.attribute(low, base, attr, hint)
        case gast.Subscript(value=value, slice=index):
            return indexing.subscript(low, lower(low, value), index, hint, named(value))
        case gast.Lambda():
            return statements.function_entity(low, node)
        case gast.NamedExpr(target=target, value=value):
            entity = optional(low, value, target.id)
            low.assign(target.id, entity)
            low.spend(target.id)
            return entity
        case gast.Slice(lower=start, upper=stop, step=step):
            return indexing.slice_of(low, *(NONE if p is None else optional(low, p) for p in (start, stop, step)))
    raise refuse(f"{type(node).__name__} is not supported here", low.loc)


def countable(low: Lowering, entity: Tup) -> Tup:
    """A tuple or a set whose items are known to differ, as they are now."""
    later.check_sizes(low, entity)
    found = later.arrived(low, known_to_differ(low, entity))
    assert isinstance(found, Tup)
    return found


def known_to_differ(low: Lowering, entity: Tup) -> Tup:
    """A tuple, or a set whose items are known to differ."""
    if entity.cls is SomeSet:
        why = "which items of this set are equal is known only at run time"
        raise refuse(why, low.loc, "use np.unique(...), or ask only what is `in` it", kind=InferenceError)
    return entity


def set_of(low: Lowering, items: Sequence[Entity]) -> Tup:
    """A set: its items, each once where they are known; else all it can be asked is what is in it."""
    known = [_known(low, e) for e in items]
    if all(isinstance(e, Const) for e in known):
        return Tup(tuple(Const(v) for v in {low.static(e, "an item of a set") for e in known}), set)
    return Tup(tuple(items), SomeSet)


def _known(low: Lowering, entity: Entity) -> Entity:
    """An integer whose value is known, as a constant."""
    if not (isinstance(entity, Scalar) and operators.is_python_number(entity.value)):
        return entity
    number = known_int(low, entity.value)
    return entity if number is None or entity.value.type.dtype == BOOL else Const(number)


def named(node: Any) -> str:
    """``'x'`` for the name x, '' for anything else."""
    return repr(node.id) if isinstance(node, gast.Name) else ""


def check_operands(low: Lowering, *pairs: tuple[Any, Entity]) -> None:
    """Say which variable is None, or a string, where a number is needed."""
    if all(isinstance(e, Tup | Listing) or (isinstance(e, Const) and isinstance(e.value, str)) for _, e in pairs):
        return
    for node, entity in pairs:
        if named(node) and isinstance(entity, Const) and not entity.is_number:
            low.value(entity, named(node))


def list_display(low: Lowering, nodes: Sequence[Any], hint: str) -> Entity:
    """``[x, *xs, y]``, in order: what is unpacked may have any number of items."""
    known: list[Entity] = []
    made: Listing | None = None
    for node in nodes:
        if not isinstance(node, gast.Starred):
            items = [optional(low, node)]
        elif _is_of_any_length(low, entity := lower(low, node.value)):
            made = made or contents.new_list(low, Tup(tuple(known), list), hint)
            lists.extend(low, made, entity)
            continue
        else:
            items = items_of(low, entity)
        if made is None:
            known += items
            continue
        for item in items:
            lists.append(low, made, item)
    return made or contents.new_list(low, Tup(tuple(known), list), hint)


def _is_of_any_length(low: Lowering, entity: Entity) -> bool:
    """Whether the number of items is known at run time only."""
    if isinstance(entity, Array):
        type = ref_type(low, entity)
        return type.ndim > 0 and type.shape[0].const is None
    held = contents.content(low, entity) if isinstance(entity, Listing) else None
    return isinstance(held, Rows) or (isinstance(entity, Iteration) and entity.kind != "map")


def elements(low: Lowering, nodes: Sequence[Any]) -> list[Entity]:
    out: list[Entity] = []
    for node in nodes:
        if isinstance(node, gast.Starred):
            out += items_of(low, lower(low, node.value))
        else:
            out.append(optional(low, node))
    return out


def items_of(low: Lowering, entity: Entity, wanted: int | None = None) -> list[Entity]:
    """The items of something of known length that is unpacked or looped over.

    An array unpacked into ``wanted`` names is checked to have as many items.
    """
    if isinstance(entity, Tup):
        return list(countable(low, entity).items)
    if isinstance(entity, Listing):
        return list_items(low, entity, wanted)
    if isinstance(entity, Iteration) and entity.kind == "map" and isinstance(entity.parts[1], Tup):
        function, inner = entity.parts
        turns = later.waiting(low, inner) or ()
        made = [calls.apply(low, function, items_of(low, later.arrived(low, args)), {}) for args in turns]
        later.check_sizes(low, inner)
        return made
    if isinstance(entity, Instance) and dicts.is_dict(entity):
        return [Const(name) for name in objects.fields(low, entity).names]
    if isinstance(entity, Const) and isinstance(entity.value, tuple | str):
        return [Const(v) for v in entity.value]
    if isinstance(entity, Array):
        kind = ref_type(low, entity)
        count = kind.shape[0].const if kind.ndim else None
        if count is None and wanted is not None and kind.ndim:
            _check_unpacked(low, kind.shape[0], wanted)
            count = wanted
        if count is not None:
            return [indexing.element_at(low, entity, [low.builder.const(k)]) for k in range(count)]
        raise refuse("the number of items of an array is known only at run time", low.loc, "index it instead")
    if isinstance(entity, Iteration):
        why = f"the number of items of {low.shown(entity)} is known only at run time, so it cannot be unpacked"
        raise refuse(why, low.loc, "loop over it", kind=InferenceError)
    raise refuse(f"{low.shown(entity)} cannot be unpacked", low.loc, kind=InferenceError)


def list_items(low: Lowering, entity: Listing, wanted: int | None) -> list[Entity]:
    """The items of a list that is unpacked."""
    held = contents.content(low, entity)
    if isinstance(held, Tup):
        return list(held.items)
    if wanted is None:
        why = refuse("the number of items of this list is known only at run time", low.loc, "index it instead")
        raise low.needs_items(entity, why)
    _check_unpacked(low, contents.length(low, held).type.value, wanted)
    return [lists.item_of(low, entity, held, low.builder.const(k)) for k in range(wanted)]


def _check_unpacked(low: Lowering, size: Dim, wanted: int) -> None:
    """Python's errors where an array of ``size`` items is unpacked into ``wanted`` names."""
    b = low.builder
    held = b.dim_value(size)
    enough = b.call_named("greater_equal", held, wanted)
    b.call_named("check_that", enough, error="ValueError", message=f"not enough values to unpack (expected {wanted})")
    b.learn(size - wanted)
    few = b.call_named("less_equal", held, wanted)
    b.call_named("check_that", few, error="ValueError", message=f"too many values to unpack (expected {wanted})")
    b.learn(wanted - size)
