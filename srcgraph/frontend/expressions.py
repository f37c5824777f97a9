"""Expressions: numbers, arrays, indexing, operators with Python's own meaning."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError, InternalError, Loc, Problem, SrcgraphError
from srcgraph.frontend import arrays, attributes, calls, statements
from srcgraph.frontend.entities import Array, Const, Entity, Scalar, SliceOf, Tup, Unusable
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import (
    Refusal,
    as_index,
    checked_index,
    known_int,
    read,
    ref_type,
    refuse,
    select,
    slice_operands,
)
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import COMPOSITES, OPS
from srcgraph.ir.ops import linalg, numerics
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.types import BOOL, FLOAT, INT, ArrayType, ScalarType
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def lower(low: Lowering, node: Any, hint: str = "") -> Entity:
    """Lower an expression; ``hint`` names the value it computes."""
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
        return lower(low, node, target.id)
    pairs = isinstance(target, gast.Tuple) and isinstance(node, gast.Tuple) and len(target.elts) == len(node.elts)
    if not pairs or any(isinstance(e, gast.Starred) for e in (*target.elts, *node.elts)):
        return lower(low, node)
    return Tup(tuple(lower_named(low, e, t) for e, t in zip(node.elts, target.elts, strict=True)))


def _lower(low: Lowering, node: Any, hint: str) -> Entity:
    match node:
        case gast.Constant(value=value):
            return Const(value)
        case gast.Name(id=name):
            entity = low.lookup(name)
            if isinstance(entity, Unusable):
                raise low.unusable(entity)
            return entity
        case gast.Tuple(elts=elts):
            return Tup(tuple(elements(low, elts)))
        case gast.List(elts=elts):
            return Tup(tuple(elements(low, elts)), list)
        case gast.BinOp(left=left, op=op, right=right):
            x, y = lower(low, left), lower(low, right)
            with low.at(node):
                check_operands(low, (left, x), (right, y))
                return binary(low, statements.OPERATORS[type(op)], x, y, hint)
        case gast.UnaryOp():
            return unary(low, node, hint)
        case gast.BoolOp():
            return boolean(low, node.op, node.values, hint)
        case gast.Compare():
            return comparison(low, node)
        case gast.IfExp():
            return conditional(low, node, hint)
        case gast.Call():
            return calls.call(low, node, hint)
        case gast.Attribute(value=value, attr=attr):
            return attributes.attribute(low, lower(low, value), attr, hint)
        case gast.Subscript(value=value, slice=index):
            return subscript(low, lower(low, value), index, hint, named(value))
        case gast.Lambda():
            return statements.function_entity(low, node)
        case gast.NamedExpr(target=target, value=value):
            entity = lower(low, value, target.id)
            low.assign(target.id, entity)
            return entity
        case gast.Slice(lower=start, upper=stop, step=step):
            parts = [Const(None) if p is None else lower(low, p) for p in (start, stop, step)]
            return SliceOf(*parts)
    raise refuse(f"{type(node).__name__} is not supported here", low.loc)


def named(node: Any) -> str:
    """``'x'`` for the name x, '' for anything else."""
    return repr(node.id) if isinstance(node, gast.Name) else ""


def check_operands(low: Lowering, *pairs: tuple[Any, Entity]) -> None:
    """Say which variable is None, or a string, where a number is needed."""
    if all(isinstance(e, Tup) or (isinstance(e, Const) and isinstance(e.value, str)) for _, e in pairs):
        return
    for node, entity in pairs:
        if named(node) and isinstance(entity, Const) and not entity.is_number:
            low.value(entity, named(node))


def elements(low: Lowering, nodes: Sequence[Any]) -> list[Entity]:
    out: list[Entity] = []
    for node in nodes:
        if isinstance(node, gast.Starred):
            out += items_of(low, lower(low, node.value))
        else:
            out.append(lower(low, node))
    return out


def items_of(low: Lowering, entity: Entity, wanted: int | None = None) -> list[Entity]:
    """The items of something of known length that is unpacked or looped over.

    An array unpacked into ``wanted`` names is checked to have as many items.
    """
    if isinstance(entity, Tup):
        return list(entity.items)
    if isinstance(entity, Const) and isinstance(entity.value, tuple | str):
        return [Const(v) for v in entity.value]
    if isinstance(entity, Array):
        kind = ref_type(low, entity)
        count = kind.shape[0].const if kind.ndim else None
        if count is None and wanted is not None and kind.ndim:
            _check_unpacked(low, kind.shape[0], wanted)
            count = wanted
        if count is not None:
            return [element_at(low, entity, [low.builder.const(k)]) for k in range(count)]
        raise refuse("the number of items of an array is known only at run time", low.loc, "index it instead")
    raise refuse(f"{describe(entity)} cannot be unpacked", low.loc, kind=InferenceError)


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


# -- operators ----------------------------------------------------------------------------------

_PYTHON = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "power": operator.pow,
    "left_shift": operator.lshift, "right_shift": operator.rshift, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
}  # fmt: skip


def binary(low: Lowering, op: str, x: Entity, y: Entity, hint: str = "") -> Entity:
    """``x op y`` by Python's rules."""
    folded = _folded(op, x, y)
    if folded is not None:
        return folded
    if isinstance(x, Tup) and isinstance(y, Tup) and op == "add" and x.cls is y.cls:
        return Tup(x.items + y.items, x.cls)
    if isinstance(x, Tup) and op == "mul" and (times := _count(low, y)) is not None:
        return Tup(x.items * times, x.cls)
    a, b = low.value(x, "the left operand"), low.value(y, "the right operand")
    if op == "matmul":
        return low.entity(linalg.product(a, b), hint)
    if op in ("div", "floordiv", "mod") and is_python_number(a) and is_python_number(b):
        b = OPS["check_nonzero"](b, message="division by zero")
    if op == "power":
        return power(low, a, b, hint)
    if op in ("left_shift", "right_shift") and is_python_number(a) and is_python_number(b):
        a = low.builder.cast(a, INT, weak=True) if a.type.dtype == BOOL else a
        fine = OPS["greater_equal"](b, 0)
        low.builder.call_named("check_that", fine, error="ValueError", message="negative shift count")
    return low.entity(low.builder.call(OPS[op], (a, b), {}, name=hint), hint)


def _folded(op: str, x: Entity, y: Entity) -> Const | None:
    """What Python computes from two literals, unless it raises or is too big to matter."""
    if not (isinstance(x, Const) and isinstance(y, Const) and x.is_number and y.is_number):
        if isinstance(x, Const) and isinstance(y, Const) and op == "add" and isinstance(x.value, str):
            return Const(x.value + y.value)
        return None
    if op not in _PYTHON or (op in ("power", "left_shift") and abs(y.value) > 1024):
        return None
    try:
        return Const(_PYTHON[op](x.value, y.value))
    except (ArithmeticError, TypeError, ValueError):
        return None  # raised at run time, where Python would


def _count(low: Lowering, entity: Entity) -> int | None:
    if isinstance(entity, Const) and isinstance(entity.value, int):
        return entity.value
    return known_int(low, entity.value) if isinstance(entity, Scalar) else None


def is_python_number(x: Value) -> bool:
    return isinstance(x.type, ScalarType) and x.type.weak


def power(low: Lowering, x: Value, y: Value, hint: str) -> Entity:
    """``x ** y``: Python's numbers by Python's rules, NumPy's by NumPy's."""
    b = low.builder
    python = is_python_number(x) and is_python_number(y)
    integers = x.type.dtype.kind in "iub" and y.type.dtype.kind in "iub"
    if python:
        if integers and (known_int(low, y) or 0) < 0:
            x, integers = b.cast(x, FLOAT, weak=True), False
        check_power(low, x, y)
    elif integers:
        numerics.check_integer_power(x, y)
    if isinstance(x.type, ArrayType) and x.type.dtype == BOOL and is_python_number(y) and known_int(low, y) == 2:
        return low.entity(OPS["square"](x), hint)  # as NumPy: its dtype is not that of other powers
    out = b.call(OPS["power"], (x, y), {}, name=hint)
    if python and not integers and out.type.dtype.kind == "f":
        _check_power_overflow(low, x, y, out)
    return low.entity(out, hint)


def _check_power_overflow(low: Lowering, x: Value, y: Value, out: Value) -> None:
    """Python's floats raise where a power of finite numbers is too large."""
    exponent = known_int(low, y)
    if exponent is not None and abs(exponent) <= 3:  # squares and the like: kept as plain as the user wrote them
        return
    finite = OPS["logical_and"](OPS["isfinite"](x), OPS["isfinite"](low.builder.cast(y, FLOAT, weak=True)))
    bad = OPS["logical_and"](OPS["isinf"](out), finite)
    fine = OPS["logical_not"](bad)
    low.builder.call_named("check_that", fine, error="OverflowError", message="Numerical result out of range")


def check_power(low: Lowering, x: Value, y: Value) -> None:
    """Python's own ``**``: zero to a negative power raises; results that would not be real are refused."""
    b = low.builder
    exponent = known_int(low, y) if y.type.dtype.kind in "ib" else None
    if x.type.dtype.kind in "ib" and y.type.dtype.kind in "ib":
        if exponent is None:
            fine = OPS["greater_equal"](y, 0)
            message = "an integer to a negative power is a float in Python: write a float base, 2.0 ** n"
            b.call_named("check_that", fine, error="ValueError", message=message)
        return
    negative = OPS["less"](y, 0)
    if y.type.dtype.kind == "f" and literal(b, y) is None:
        negative = OPS["logical_and"](negative, OPS["greater"](y, -math.inf))
    zero = OPS["logical_and"](OPS["equal"](x, 0), negative)
    message = "0.0 cannot be raised to a negative power"
    b.call_named("check_that", OPS["logical_not"](zero), error="ZeroDivisionError", message=message)
    if y.type.dtype.kind == "f":
        whole = OPS["equal"](y, OPS["floor"](y))
        real = OPS["logical_or"](OPS["logical_not"](OPS["less"](x, 0)), whole)
        message = "a negative number to a fractional power is complex"
        b.call_named("check_that", real, error="ValueError", message=message)


def unary(low: Lowering, node: gast.UnaryOp, hint: str) -> Entity:
    entity = lower(low, node.operand)
    if isinstance(node.op, gast.Not):
        test = low.truth(entity)
        return Const(not test) if isinstance(test, bool) else Scalar(OPS["logical_not"](test))
    if isinstance(entity, Const) and entity.is_number:
        function = {gast.USub: operator.neg, gast.UAdd: operator.pos, gast.Invert: operator.invert}[type(node.op)]
        return Const(function(entity.value))
    value = low.value(entity, "the operand")
    if value.type.dtype == BOOL and is_python_number(value):
        value = low.builder.cast(value, INT, weak=True)
    if isinstance(node.op, gast.UAdd):
        return low.entity(COMPOSITES["positive"](value), hint) if value.type.dtype == BOOL else low.entity(value, hint)
    if isinstance(node.op, gast.USub) and value.type.dtype == BOOL:
        raise refuse("NumPy has no negative of a boolean", low.loc, "use ~x or np.logical_not(x)", kind=InferenceError)
    name = "neg" if isinstance(node.op, gast.USub) else "invert"
    return low.entity(low.builder.call(OPS[name], (value,), {}, name=hint), hint)


def boolean(low: Lowering, op: Any, nodes: Sequence[Any], hint: str) -> Entity:
    """``a and b`` / ``a or b``: the second operand is evaluated only if needed."""
    first = lower(low, nodes[0])
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
        return rest()

    second = low.inside(region, state, decide)
    simple = all(isinstance(n, Apply) and not n.op.ordered for n in region.nodes)
    if _is_bool(first) and _is_bool(second) and simple and len(region.nodes) <= 12:
        b.splice(region)
        low.state.become(state)
        return Scalar(OPS["logical_and" if is_and else "logical_or"](test, low.value(second)))
    other = b.new_region(), before.copy()
    pair = ((region, state), other) if is_and else (other, (region, state))
    return _joined(low, test, pair, (second, first) if is_and else (first, second), hint)


def _is_bool(entity: Entity) -> bool:
    if isinstance(entity, Const):
        return isinstance(entity.value, bool)
    return isinstance(entity, Scalar) and entity.value.type.dtype == BOOL and entity.value.type.weak


def _joined(low: Lowering, test: Value, sides: Any, entities: tuple[Entity, Entity], hint: str) -> Entity:
    """The `If` that gives one of two entities, computed in two regions."""
    name = hint or "<value>"
    for (_, state), entity in zip(sides, entities, strict=True):
        state.names["<value>"] = entity
    statements.merge(low, test, sides[0], sides[1], frozenset(low.state.names) | {"<value>"}, None, name)
    return low.state.names.pop("<value>")


def conditional(low: Lowering, node: gast.IfExp, hint: str) -> Entity:
    """``a if c else b``: only one of them is evaluated."""
    with low.at(node.test):
        test = low.truth(lower(low, node.test))
    if isinstance(test, bool):
        return lower(low, node.body if test else node.orelse, hint)
    before = low.state
    sides, entities = [], []
    for branch, holds in ((node.body, True), (node.orelse, False)):
        region, state = low.builder.new_region(), before.copy()

        def run(branch: Any = branch, holds: bool = holds) -> Entity:
            low.builder.learn_condition(test, holds)
            return lower(low, branch)

        entities.append(low.inside(region, state, run))
        sides.append((region, state))
    return _joined(low, test, tuple(sides), (entities[0], entities[1]), hint)


_COMPARE = {
    gast.Lt: "less", gast.LtE: "less_equal", gast.Gt: "greater", gast.GtE: "greater_equal",
    gast.Eq: "equal", gast.NotEq: "not_equal",
}  # fmt: skip


def comparison(low: Lowering, node: gast.Compare) -> Entity:
    """``a < b < c``: each operand once; the results are combined with ``and``."""
    return _chain(low, node, lower(low, node.left), 0)


def _chain(low: Lowering, node: gast.Compare, left: Entity, k: int) -> Entity:
    """The comparisons from the ``k``-th on; later operands are evaluated only if the earlier ones hold."""
    right = lower(low, node.comparators[k])
    with low.at(node):
        this = compare(low, node.ops[k], left, right)
        if k + 1 == len(node.ops):
            return this
        return lazily(low, True, this, lambda: _chain(low, node, right, k + 1))


def _both(low: Lowering, x: Entity, y: Entity) -> Entity:
    a, b = low.truth(x), low.truth(y)
    if isinstance(a, bool):
        return y if a else x
    if isinstance(b, bool):
        return x if b else y
    return Scalar(OPS["logical_and"](a, b))


def compare(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity:
    if isinstance(op, gast.Is | gast.IsNot):
        same = _identical(low, x, y)
        return Const(same if isinstance(op, gast.Is) else not same)
    if isinstance(op, gast.In | gast.NotIn):
        found: Entity = Const(False)
        if isinstance(y, Array):
            raise refuse("`in` is not supported for arrays", low.loc, "write np.any(x == value)")
        for item in items_of(low, y):
            found = _either(low, found, compare(low, gast.Eq(), x, item))
        if isinstance(op, gast.In):
            return found
        test = low.truth(found)
        return Const(not test) if isinstance(test, bool) else Scalar(OPS["logical_not"](test))
    if isinstance(x, Const) and isinstance(y, Const):
        if x.is_number and y.is_number:
            function = {gast.Lt: operator.lt, gast.LtE: operator.le, gast.Gt: operator.gt, gast.GtE: operator.ge,
                        gast.Eq: operator.eq, gast.NotEq: operator.ne}[type(op)]  # fmt: skip
            return Const(function(x.value, y.value))
        if isinstance(op, gast.Eq | gast.NotEq):
            return Const((x.value == y.value) is isinstance(op, gast.Eq))
    if isinstance(op, gast.Eq | gast.NotEq) and (_not_number(x) or _not_number(y)):
        return _compare_structures(low, op, x, y)
    return low.entity(OPS[_COMPARE[type(op)]](low.value(x, "the left operand"), low.value(y, "the right operand")))


def _not_number(entity: Entity) -> bool:
    return isinstance(entity, Tup) or (isinstance(entity, Const) and not entity.is_number)


def _compare_structures(low: Lowering, op: Any, x: Entity, y: Entity) -> Entity:
    if isinstance(x, Array) or isinstance(y, Array):
        other = y if isinstance(x, Array) else x
        raise refuse(
            f"comparing an array with {describe(other)} is not supported",
            low.loc,
            "write `is None`, or compare with np.array(...)",
        )
    same: Entity = Const(False)
    if isinstance(x, Tup) and isinstance(y, Tup) and len(x.items) == len(y.items):
        same = Const(True)
        for a, b in zip(x.items, y.items, strict=True):
            same = _both(low, same, compare(low, gast.Eq(), a, b))
    if isinstance(op, gast.Eq):
        return same
    test = low.truth(same)
    return Const(not test) if isinstance(test, bool) else Scalar(OPS["logical_not"](test))


def _either(low: Lowering, x: Entity, y: Entity) -> Entity:
    a, b = low.truth(x), low.truth(y)
    if isinstance(a, bool):
        return x if a else y
    if isinstance(b, bool):
        return y if b else x
    return Scalar(OPS["logical_or"](a, b))


def _identical(low: Lowering, x: Entity, y: Entity) -> bool:
    if isinstance(x, Const) and isinstance(y, Const):
        return x.value is y.value
    if isinstance(x, Array) and isinstance(y, Array):
        if x == y:
            return True
        if x.cell is not y.cell and y.cell not in x.cell.shares:
            return False
        raise refuse("whether these are the same array is not known when compiling", low.loc)
    return False


# -- indexing -----------------------------------------------------------------------------------


def subscript(low: Lowering, base: Entity, index: Any, hint: str, name: str = "") -> Entity:
    """``base[index]``: an element, a view, or an item of a tuple."""
    if isinstance(base, Tup) or (isinstance(base, Const) and isinstance(base.value, tuple)):
        return tuple_item(low, base, lower(low, index))
    if not isinstance(base, Array):
        subject = f"{name} is {describe(base)}: it" if name else describe(base)
        raise refuse(f"{subject} cannot be indexed", low.loc, kind=InferenceError)
    place = subscript_place(low, base, index)
    if not isinstance(place, Array):
        return low.entity(place.read(low), hint)
    if place.view is not None and not ref_type(low, place).shape:
        return Scalar(read(low, place, hint))
    return place


def tuple_item(low: Lowering, base: Entity, index: Entity) -> Entity:
    items = items_of(low, base)
    if isinstance(index, SliceOf):
        cut = slice(*(low.static(e, "a slice of a tuple") for e in (index.start, index.stop, index.step)))
        return Tup(tuple(items[cut]), base.cls if isinstance(base, Tup) else tuple)
    k = low.static(index, "the index of a tuple")
    if not isinstance(k, int):
        why = f"the index of a tuple must be an integer, not {describe(Const(k))}"
        raise refuse(why, low.loc, "use int(...)", kind=InferenceError)
    if not -len(items) <= k < len(items):
        raise refuse(f"index {k!r} is out of range for a tuple of {len(items)}", low.loc, kind=InferenceError)
    return items[k]


def subscript_place(low: Lowering, base: Array, index: Any) -> Any:
    """What ``base[index]`` stands for: a reference, or a place with ``read`` and ``store`` of its own."""
    parts = [lower(low, e) for e in index.elts] if isinstance(index, gast.Tuple) else [lower(low, index)]
    if len(parts) == 1 and isinstance(parts[0], Tup) and parts[0].cls is tuple:
        parts = list(parts[0].items)
    kind = ref_type(low, base)
    parts = _without_ellipsis(low, [_number_of(low, p) for p in parts], kind.ndim)
    if any(_is_array_index(p) for p in parts):
        return arrays.fancy_place(low, base, parts)
    return basic_place(low, base, parts)


def _number_of(low: Lowering, part: Entity) -> Entity:
    """An integer array without axes indexes as its number."""
    if isinstance(part, Array) and ref_type(low, part).ndim == 0 and ref_type(low, part).dtype.kind in "iu":
        return Scalar(low.builder.scalar(read(low, part)))
    return part


def _is_array_index(part: Entity) -> bool:
    if isinstance(part, Array | Tup):
        return True
    return isinstance(part, Scalar) and part.value.type.dtype == BOOL


def _without_ellipsis(low: Lowering, parts: list[Entity], ndim: int) -> list[Entity]:
    taken = sum(not (isinstance(p, Const) and p.value in (None, Ellipsis)) for p in parts)
    if taken > ndim:
        raise refuse(
            f"too many indices: an array of {ndim} {'axis' if ndim == 1 else 'axes'} has {taken} of them",
            low.loc,
            kind=InferenceError,
        )
    full = [SliceOf(Const(None), Const(None), Const(None))] * (ndim - taken)
    at = [k for k, p in enumerate(parts) if isinstance(p, Const) and p.value is Ellipsis]
    if len(at) > 1:
        raise refuse("an index can only have a single ellipsis ('...')", low.loc, kind=InferenceError)
    if at:
        return [*parts[: at[0]], *full, *parts[at[0] + 1 :]]
    return [*parts, *full]


def basic_place(low: Lowering, base: Array, parts: list[Entity]) -> Array:
    """A reference by integers, slices and None."""
    shape = ref_type(low, base).shape
    axes: list[Any] = []
    operands: list[Value] = []
    order: list[int | None] = []
    kept = 0
    for part in parts:
        if isinstance(part, Const) and part.value is None:
            order.append(None)
            continue
        axis = len(axes)
        selector, own = _axis_selector(low, part, shape[axis], axis)
        axes.append(selector)
        operands += own
        if selector != "i":
            order.append(kept)
            kept += 1
    return select(low, base, View(tuple(axes), tuple(order)), operands)


def _axis_selector(low: Lowering, part: Entity, size: Any, axis: int) -> tuple[Any, list[Value]]:
    if isinstance(part, Const) and isinstance(part.value, slice):
        part = SliceOf(Const(part.value.start), Const(part.value.stop), Const(part.value.step))
    if isinstance(part, SliceOf):
        if all(isinstance(e, Const) and e.value is None for e in (part.start, part.stop, part.step)):
            return ":", []
        step = 1 if part.step == Const(None) else low.static(part.step, "the step of a slice")
        if step == 0:
            raise refuse("slice step cannot be zero", low.loc, kind=InferenceError)
        ends = [
            None if e == Const(None) else as_index(low, low.value(e), "a slice's end") for e in (part.start, part.stop)
        ]
        return step, list(slice_operands(low, ends[0], ends[1], step, size))
    value = low.value(part, "the index")
    if value.type.ndim or value.type.dtype.kind not in "iu":
        raise refuse(f"an index must be an integer, not {value.type}", low.loc, "use int(...)", kind=InferenceError)
    return "i", [checked_index(low, value, size, axis)]


def element_at(low: Lowering, base: Array, indices: Sequence[Value]) -> Entity:
    """The element or sub-array at leading indices that are known to be in range."""
    ndim = ref_type(low, base).ndim
    view = View(("i",) * len(indices) + (":",) * (ndim - len(indices)), tuple(range(ndim - len(indices))))
    ref = select(low, base, view, indices)
    return ref if ndim > len(indices) else Scalar(read(low, ref))
