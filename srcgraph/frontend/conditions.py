"""Conditions: and, or, conditional expressions, comparisons; what is not needed is not evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    arithmetic,
    arrays,
    branching,
    dicts,
    expressions,
    lists,
    objects,
    operators,
    presence,
    tables,
    text,
)
from srcgraph.frontend.entities import (
    NONE,
    UNBOUND,
    Array,
    Choice,
    Const,
    Either,
    Entity,
    Instance,
    Iteration,
    Listing,
    Maybe,
    Scalar,
    SomeSet,
    Text,
    Tup,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import chosen, computed, refuse
from srcgraph.frontend.truths import combined, negation, selected
from srcgraph.infer.objects import compared_fields, is_ordered
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import BOOL

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def tested(low: Lowering, node: Any) -> Value | bool:
    """Whether Python takes an expression as true: all that is asked of the operands of its `and`, `or` and `not`."""
    with low.at(node):
        match node:
            case gast.BoolOp(op=op, values=values):
                return low.truth(_all_tested(low, isinstance(op, gast.And), values))
            case gast.UnaryOp(op=gast.Not(), operand=operand):
                return low.truth(negation(low, _truth_of(low, operand)))
        return low.truth(expressions.optional(low, node))


def _truth_of(low: Lowering, node: Any) -> Entity:
    test = tested(low, node)
    return Const(test) if isinstance(test, bool) else Scalar(test)


def _all_tested(low: Lowering, is_and: bool, nodes: Sequence[Any]) -> Entity:
    first = _truth_of(low, nodes[0])
    return first if len(nodes) == 1 else lazily(low, is_and, first, lambda: _all_tested(low, is_and, nodes[1:]))


def boolean(low: Lowering, op: Any, nodes: Sequence[Any], hint: str) -> Entity:
    """``a and b`` / ``a or b``: the second operand is evaluated only if needed."""
    first = expressions.optional(low, nodes[0])
    if len(nodes) == 1:
        return first
    return lazily(low, isinstance(op, gast.And), first, lambda: boolean(low, op, nodes[1:], hint), hint)


def lazily(low: Lowering, is_and: bool, first: Entity, rest: Callable[[], Entity], hint: str = "") -> Entity:
    """``first and rest()``, or ``or``: the rest is evaluated only where it decides."""
    test = low.truth(first)
    if isinstance(test, bool):
        return rest() if test is is_and else first
    b = low.builder
    before = low.state
    region, state = b.new_region(), before.copy()

    def decide() -> Entity:
        b.learn_condition(test, is_and)
        low.catching.inside(lambda: branching.evaluate(low, rest))
        return low.state.names.pop("<value>", UNBOUND)

    second = low.inside(region, state, decide)
    ordered = any(isinstance(n, Apply) and (n.op.ordered or n.op.kind == "list") for n in region.nodes)
    simple = not ordered and state.as_left(before) and b.all_stand(region)
    if _is_bool(first) and _is_bool(second) and simple and len(region.nodes) <= 12:
        b.splice(region, reached=False)
        low.state.become(state)
        return Scalar(OPS["logical_and" if is_and else "logical_or"](test, low.value(second)))
    other = b.new_region(), before.copy()
    low.inside(*other, lambda: b.learn_condition(test, not is_and))
    state.names["<value>"], other[1].names["<value>"] = second, first
    pair = ((region, state), other) if is_and else (other, (region, state))
    out = branching.joined(low, test, pair, hint)
    if isinstance(out, Scalar):
        b.implied[out.value] = (test, is_and)
    return out


def _is_bool(entity: Entity) -> bool:
    if isinstance(entity, Const):
        return isinstance(entity.value, bool)
    return isinstance(entity, Scalar) and entity.value.type.dtype == BOOL and entity.value.type.weak


def conditional(low: Lowering, node: gast.IfExp, hint: str) -> Entity:
    """``a if c else b``: only one of them is evaluated."""
    with low.at(node.test):
        test = tested(low, node.test)
    if isinstance(test, bool):
        return expressions.optional(low, node.body if test else node.orelse, hint)
    first, second = (lambda branch=branch: expressions.optional(low, branch) for branch in (node.body, node.orelse))
    return branching.either(low, test, first, second, hint)


_COMPARE = {
    gast.Lt: "less", gast.LtE: "less_equal", gast.Gt: "greater", gast.GtE: "greater_equal",
    gast.Eq: "equal", gast.NotEq: "not_equal",
}  # fmt: skip


def comparison(low: Lowering, node: gast.Compare) -> Entity:
    """``a < b < c``: each operand once; the results are combined with ``and``."""
    return _chain(low, node, expressions.optional(low, node.left), 0)


def _chain(low: Lowering, node: gast.Compare, left: Entity, k: int) -> Entity:
    """The comparisons from the ``k``-th on; later operands are evaluated only if the earlier ones hold."""
    right = expressions.optional(low, node.comparators[k])
    with low.at(node):
        this = compare(low, node.ops[k], left, right)
        if k + 1 == len(node.ops):
            return this
        return lazily(low, True, this, lambda: _chain(low, node, right, k + 1))


def compare(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity:
    if isinstance(x, Choice):
        return branching.each(low, x, lambda option: compare(low, op, option, y))
    if isinstance(y, Choice):
        return branching.each(low, y, lambda option: compare(low, op, x, option))
    if isinstance(x, Maybe) or isinstance(y, Maybe):
        return _with_optional(low, op, x, y)
    if isinstance(op, gast.Is | gast.IsNot):
        same = _identical(low, x, y)
        return same if isinstance(op, gast.Is) else negation(low, same)
    own = _by_method(low, op, x, y)
    if own is not None:
        return own
    if isinstance(op, gast.In | gast.NotIn):
        found: Entity = Const(False)
        if isinstance(y, Instance) and dicts.is_dict(y):
            found = dicts.contains(low, y, x)
            return found if isinstance(op, gast.In) else negation(low, found)
        if isinstance(y, Tup) and y.cls is SomeSet:
            y = Tup(y.items)
        items = lists.known_items(low, y)
        if isinstance(y, Listing) and (items is None or len(items) > FEW):
            found = lists.contains(low, y, x)
            return found if isinstance(op, gast.In) else negation(low, found)
        if isinstance(y, Iteration) and y.kind == "range":
            found = lists.own(low, arithmetic.in_range, x, *y.parts)
            return found if isinstance(op, gast.In) else negation(low, found)
        if isinstance(y, Array):
            raise refuse("`in` is not supported for arrays", low.loc, "write np.any(x == value)")
        if isinstance(x, Const) and isinstance(y, Const) and isinstance(x.value, str) and isinstance(y.value, str):
            return Const((x.value in y.value) is isinstance(op, gast.In))
        for item in expressions.items_of(low, y):
            found = combined(low, "logical_or", found, compare(low, gast.Eq(), x, item))
        return found if isinstance(op, gast.In) else negation(low, found)
    if isinstance(x, Instance) and isinstance(y, Instance):
        pair = _compared(low, x, y)
        if pair is None and isinstance(op, gast.Eq | gast.NotEq):
            same = _identical(low, x, y)
            return same if isinstance(op, gast.Eq) else negation(low, same)
        if pair is not None and (x.box is not y.box or isinstance(op, tuple(_ORDER))):
            if isinstance(op, tuple(_ORDER)) and not is_ordered(x.cls):
                raise refuse(f"objects of {x.cls.__name__} have no order", low.loc, kind=InferenceError)
            x, y = pair
        elif pair is not None:
            return Const(isinstance(op, gast.Eq))
    if isinstance(x, Tup | Listing) and isinstance(y, Tup | Listing) and isinstance(op, tuple(_ORDER)):
        return _ordered(low, op, x, y)
    x, y = _beside_array(low, x, y), _beside_array(low, y, x)
    if isinstance(x, Const) and isinstance(y, Const):
        if x.is_number and y.is_number:
            function = {gast.Lt: operator.lt, gast.LtE: operator.le, gast.Gt: operator.gt, gast.GtE: operator.ge,
                        gast.Eq: operator.eq, gast.NotEq: operator.ne}[type(op)]  # fmt: skip
            return Const(computed(low, function, x.value, y.value))
        if isinstance(op, gast.Eq | gast.NotEq):
            return Const((x.value == y.value) is isinstance(op, gast.Eq))
    if isinstance(x, Text) or isinstance(y, Text):
        return _compare_texts(low, op, x, y)
    if isinstance(op, gast.Eq | gast.NotEq) and (_not_number(x) or _not_number(y)):
        return _compare_structures(low, op, x, y)
    a, b = low.value(x, "the left operand"), low.value(y, "the right operand")
    return low.entity(OPS[_COMPARE[type(op)]](a, operators.beside_complex(low, a, b)))


def _with_optional(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity:
    """A comparison of what may be None."""
    if isinstance(op, _ORDER):
        return compare(low, op, presence.present(low, x, "compared"), presence.present(low, y, "compared"))
    if not isinstance(x, Maybe):
        assert isinstance(y, Maybe)
        return branching.given(low, y, lambda e: compare(low, op, x, e))
    if y == NONE and isinstance(op, gast.Is | gast.IsNot | gast.Eq | gast.NotEq):
        return x.bound if isinstance(op, gast.IsNot | gast.NotEq) else negation(low, x.bound)
    return branching.given(low, x, lambda e: compare(low, op, e, y))


_METHODS = {
    gast.Lt: ("__lt__", "__gt__"), gast.LtE: ("__le__", "__ge__"), gast.Gt: ("__gt__", "__lt__"),
    gast.GtE: ("__ge__", "__le__"), gast.Eq: ("__eq__", "__eq__"), gast.NotEq: ("__ne__", "__ne__"),
}  # fmt: skip


def _by_method(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity | None:
    """A comparison by a method of one of the objects; None if they have none."""
    if isinstance(op, gast.In | gast.NotIn):
        if not objects.has_special(y, "__contains__"):
            return None
        found = objects.special(low, "__contains__", y, x)
        return found if isinstance(op, gast.In) else negation(low, found)
    mine, other = _METHODS[type(op)]
    if objects.has_special(x, mine):
        return objects.special(low, mine, x, y)
    if objects.has_special(y, other):
        return objects.special(low, other, y, x)
    if isinstance(op, gast.NotEq) and objects.has_special(x, "__eq__"):
        return negation(low, objects.special(low, "__eq__", x, y))
    return None


def _compared(low: Lowering, x: Instance, y: Instance) -> tuple[Entity, Entity] | None:
    """The fields that decide whether two objects are equal, or which comes first; None if identity does."""
    mine, other = objects.fields(low, x), objects.fields(low, y)
    if x.cls is dict:
        if y.cls is not dict or set(mine.names) != set(other.names):
            return Tup(()), Tup((NONE,))
        names = mine.names
    else:
        names = compared_fields(x.cls) if x.cls is y.cls else None
        if names is None:
            return None
    pairs = [tuple(objects.field(r, n) for n in names) for r in (mine, other)]
    return Tup(tuple(e or UNBOUND for e in pairs[0])), Tup(tuple(e or UNBOUND for e in pairs[1]))


def _not_number(entity: Entity) -> bool:
    return isinstance(entity, Tup | Listing | Instance | Iteration) or (
        isinstance(entity, Const) and not entity.is_number
    )


FEW = 16
"""Up to so many items are compared one by one in `in`."""
_ORDER = (gast.Lt, gast.LtE, gast.Gt, gast.GtE)


def _beside_array(low: Lowering, x: Entity, other: Entity) -> Entity:
    """A list compared with an array is one too."""
    if isinstance(x, Listing) and isinstance(other, Array):
        return arrays.as_array(low, tables.plain(low, x))
    return x


def _ordered(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity:
    """``<`` and the like for tuples: the first items that differ decide."""
    if isinstance(op, gast.Gt | gast.GtE):
        return _ordered(low, gast.Lt() if isinstance(op, gast.Gt) else gast.LtE(), y, x)
    mine, other = lists.known_items(low, x), lists.known_items(low, y)
    if mine is None or other is None:
        raise refuse("lists whose length is known at run time only cannot be ordered", low.loc)
    if not mine or not other:
        return Const(bool(other) if isinstance(op, gast.Lt) else not mine)
    if len(mine) == len(other) == 1:
        return compare(low, op, mine[0], other[0])
    before = compare(low, gast.Lt(), mine[0], other[0])
    same = compare(low, gast.Eq(), mine[0], other[0])
    rest = lazily(low, True, same, lambda: _ordered(low, op, Tup(mine[1:]), Tup(other[1:])))
    return combined(low, "logical_or", before, rest)


def _compare_texts(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity:
    """Text made at run time: what it says is not known here, only that it is no number."""
    other = y if isinstance(x, Text) else x
    if not isinstance(op, gast.Eq | gast.NotEq) or text.is_text(other) or isinstance(other, Array):
        hint = "compare the numbers that the text is made of"
        raise refuse("comparing text with numbers in it is not supported", low.loc, hint)
    return Const(isinstance(op, gast.NotEq))


def _compare_structures(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity:
    if isinstance(x, Array) or isinstance(y, Array):
        other = y if isinstance(x, Array) else x
        raise refuse(
            f"comparing an array with {describe(other)} is not supported",
            low.loc,
            "write `is None`, or compare with np.array(...)",
        )
    same: Entity = Const(False)
    if all(isinstance(e, Iteration) and e.kind == "range" for e in (x, y)):
        same = lists.own(low, arithmetic.same_range, *x.parts, *y.parts)  # type: ignore[union-attr]
    if isinstance(x, Listing) and isinstance(y, Listing):
        if not _both_known(low, x, y):
            same = lists.equal(low, x, y)
        else:
            x, y = (Tup(lists.known_items(low, e) or (), list) for e in (x, y))
    if isinstance(x, Tup) and isinstance(y, Tup) and len(x.items) == len(y.items):
        same = Const(True)
        for a, b in zip(x.items, y.items, strict=True):
            same = combined(low, "logical_and", same, compare(low, gast.Eq(), a, b))
    return same if isinstance(op, gast.Eq) else negation(low, same)


def _both_known(low: Lowering, x: Entity, y: Entity) -> bool:
    return lists.known_items(low, x) is not None and lists.known_items(low, y) is not None


def _identical(low: Lowering, x: Entity, y: Entity) -> Entity:
    if isinstance(x, Const) and isinstance(y, Const):
        return Const(x.value is y.value)
    if isinstance(x, Listing) and isinstance(y, Listing):
        if y.cell in x.cell.shares or (x != y and x.cell is y.cell):
            raise refuse("whether these are the same list is not known when compiling", low.loc)
        return Const(x == y)
    if isinstance(x, Instance) and isinstance(y, Instance):
        if y.box in x.box.shares:
            raise refuse("whether these are the same object is not known when compiling", low.loc)
        return Const(x.box is y.box)
    if isinstance(x, Tup) and isinstance(y, Tup) and x is not y:
        raise refuse("whether two tuples are one object is not known when compiling", low.loc, "compare with ==")
    if isinstance(x, Tup) and x is y:
        return Const(True)
    if isinstance(x, Array) and isinstance(y, Array):
        return _same_array(low, chosen(low, x), chosen(low, y))
    return Const(False)


def _same_array(low: Lowering, x: Array | Either, y: Array | Either) -> Entity:
    """Whether two references are to one array: views are objects of their own."""
    if isinstance(x, Either):
        return selected(low, Scalar(x.test), _same_array(low, x.then, y), _same_array(low, x.orelse, y))
    if isinstance(y, Either):
        return _same_array(low, y, x)
    if x == y:
        return Const(True)
    if x.cell is y.cell or y.cell in x.cell.shares:
        raise refuse("whether these are the same array is not known when compiling", low.loc)
    low.session.compares = True
    return Const(False)
