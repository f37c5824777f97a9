"""Parameters: what a skeleton means to the function being lowered, and the graph's parameters it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError
from srcgraph.frontend import contents, item_kinds
from srcgraph.frontend.entities import (
    UNBOUND,
    Array,
    Box,
    Cell,
    Choice,
    Const,
    Content,
    Entity,
    Instance,
    Iteration,
    ListCell,
    Listing,
    Maybe,
    Record,
    Rng,
    Rows,
    Scalar,
    Tup,
    Unbound,
    Unusable,
    may_share,
)
from srcgraph.frontend.presence import FLAG
from srcgraph.infer.objects import is_named_tuple
from srcgraph.infer.signature import (
    ArrayArg,
    BoxArg,
    ChoiceArg,
    FunctionArg,
    ItemsArg,
    IterationArg,
    MaybeArg,
    ObjectArg,
    RecordArg,
    RngArg,
    RowsArg,
    ScalarArg,
    Skeleton,
    StaticArg,
    TupleArg,
    ViewArg,
    inner_sizes,
    part_name,
)
from srcgraph.ir.builder import Builder
from srcgraph.ir.dims import UNKNOWN, as_dim, symbol
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import PY_INT, ArrayType
from srcgraph.ir.view import split_operands

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def parameter(low: Lowering, skeleton: Skeleton, name: str, origin: Any, visible: bool = True) -> Entity:
    """The entity of a parameter, its numbers and arrays becoming the graph's parameters.

    ``origin`` says where it came from: ``("argument", "p.x")``, or ``("global", "p.x", container)``.
    """
    match skeleton:
        case StaticArg(value=value):
            return value if isinstance(value, Unbound | Unusable) else Const(value)
        case RngArg():
            low.params.append((root_param(low, name, skeleton.type), None))
            return Rng(low.params[-1][0])
        case ScalarArg():
            value = root_param(low, name, skeleton.type)
            low.params.append((value, None))
            low.static_origin[value] = origin
            if skeleton.positive:
                known_positive(low, value)
            return Scalar(value)
        case ArrayArg():
            return array_parameter(low, skeleton, name, visible)
        case ViewArg():
            return view_parameter(low, skeleton, name, visible)
        case TupleArg(items=items, cls=cls):
            return Tup(items_of(low, range(len(items)), items, cls, name, origin, visible), cls)
        case RecordArg(cls=cls, names=names, items=items):
            return Record(cls, names, items_of(low, names, items, cls, name, origin, visible))
        case ObjectArg(cls=cls, box=box, twin=twin):
            own = box_parameter(low, box, name, origin, visible)
            if twin is not None:
                may_share(own, low.param_boxes[twin])
            return Instance(own, cls)
        case MaybeArg(bound=bound, inner=inner, absent=absent):
            flag = parameter(low, bound, f"{name}_{FLAG[absent]}", None, visible)
            return Maybe(flag, parameter(low, inner, name, origin, visible), absent)
        case ItemsArg() | RowsArg():
            return list_parameter(low, skeleton, name, origin, visible)
        case IterationArg(kind=kind, parts=parts):
            return Iteration(kind, tuple(parameter(low, s, f"{name}_{k}", None, visible) for k, s in enumerate(parts)))
        case FunctionArg(code=code, parts=parts):
            return code.rebuilt([part(low, s, f"{name}_{k}", None, visible) for k, s in enumerate(parts)])
        case ChoiceArg(options=options):
            tag = root_param(low, f"{name}_choice", PY_INT)
            low.params.append((tag, None))
            low.builder.learn(tag.type.value, as_dim(len(options) - 1) - tag.type.value)
            parts = (parameter(low, s, f"{name}_{k}", None, visible) for k, s in enumerate(options))
            return Choice(tag, tuple(parts))
    raise InferenceError(f"cannot pass {skeleton}")


def part(low: Lowering, skeleton: Skeleton, name: str, origin: Any, visible: bool = True) -> Entity | Box:
    """What a function is made of: an entity, or a variable it captures."""
    if isinstance(skeleton, BoxArg):
        return box_parameter(low, skeleton, name, origin, visible)
    return parameter(low, skeleton, name, origin, visible)


def items_of(
    low: Lowering, keys: Iterable[Any], items: Sequence[Skeleton], cls: type, name: str, origin: Any, visible: bool
) -> tuple[Entity, ...]:
    """The items of a tuple, or the fields of an object."""
    out = []
    for k, (key, skeleton) in enumerate(zip(keys, items, strict=True)):
        where = origin and (origin[0], part_name(origin[1], cls, key), *origin[2:])
        suffix = cls._fields[key] if is_named_tuple(cls) else key  # type: ignore[attr-defined]
        own = f"{name}_{suffix}" if f"{name}_{suffix}".isidentifier() else f"{name}_{k}"
        out.append(parameter(low, skeleton, own, where, visible))
    return tuple(out)


def box_parameter(low: Lowering, skeleton: BoxArg, name: str, origin: Any, visible: bool) -> Box:
    """A box that callers can see, and what it holds at first."""
    if skeleton.content is None:
        return low.param_boxes[skeleton.cell]
    box = low.param_boxes[skeleton.cell] = Box(name, visible)
    if origin and origin[0] == "global":
        box.fixed = f"changing {origin[1]!r}, which is read from outside, is not supported"
    place = len(low.boxes)
    low.boxes.append((box, UNBOUND))
    content = parameter(low, skeleton.content, name, origin, visible)
    low.boxes[place] = (box, content)
    for state in (low.state, *low.around):
        state.names[box] = content
    return box


def list_parameter(low: Lowering, skeleton: ItemsArg | RowsArg, name: str, origin: Any, visible: bool) -> Listing:
    """A list that is an argument; passed twice, it is one list."""
    if isinstance(skeleton, ItemsArg):
        items = items_of(low, range(len(skeleton.items)), skeleton.items, list, name, origin, visible)
        held: Content = Tup(items, list)
    else:
        kind = item_kinds.kind_of_skeleton(skeleton.item)
        size = skeleton.size
        dim = UNKNOWN if size == "" else symbol(size) if isinstance(size, str) else as_dim(size)
        types = contents.leaf_types(contents.Table(kind, dim, growing=size == ""))
        rest = tuple(symbol(d) if isinstance(d, str) else as_dim(d) for d in inner_sizes(skeleton.item) if d != "")
        if rest:
            types = [(s, ArrayType(t.dtype, (dim, *rest))) for s, t in types]  # type: ignore[union-attr]
        parts = [root_param(low, name + suffix, t) for suffix, t in types]
        low.params += [(p, None) for p in parts]
        held = Rows(kind, tuple(parts))
    known = low.param_lists.get(skeleton.cell)
    if known is not None:
        return Listing(known[0])
    cell = ListCell(name, visible)
    low.param_lists[skeleton.cell] = (cell, held)
    if skeleton.twin is not None:
        may_share(cell, low.param_lists[skeleton.twin][0])
    if origin is not None and isinstance(skeleton, RowsArg):
        low.list_origin[cell] = origin
    for state in (low.state, *low.around):
        state.store[cell] = held
    return Listing(cell)


def array_parameter(low: Lowering, skeleton: ArrayArg, name: str, visible: bool) -> Array:
    """A reference to an array that callers can see; one met again is the same cell."""
    known = low.param_cells.get(skeleton.cell)
    value = root_param(low, name if known is None else f"{name}_same", skeleton.type)
    if known is not None:  # the same array again; the value is not used
        low.params.append((value, known))
        return Array(known)
    cell = Cell(name, visible)
    low.param_cells[skeleton.cell] = cell
    low.params.append((value, cell))
    for state in (low.state, *low.around):  # a global may be met first inside a loop or a branch
        state.store[cell] = value
    low.session.initial[cell] = value
    return Array(cell)


def view_parameter(low: Lowering, skeleton: ViewArg, name: str, visible: bool) -> Array:
    """A reference to a part of an array that callers can see."""
    base, b = array_parameter(low, skeleton.base, name, visible), low.builder
    operands = []
    for operand in skeleton.operands:
        if isinstance(operand, int):
            operands.append(b.const(operand))
            continue
        operands.append(root_param(low, f"{name}_at", replace(PY_INT, value=symbol(operand))))
        low.params.append((operands[-1], None))
    sizes = skeleton.base.dims
    for size, selector, own in zip(sizes, skeleton.view.axes, split_operands(skeleton.view, operands), strict=True):
        if selector == "i":
            b.learn(own[0].type.value, size - 1 - own[0].type.value)
        elif selector == 1:
            b.learn(own[0].type.value, own[1].type.value, size - own[0].type.value - own[1].type.value)
        elif selector != ":":
            b.learn(own[1].type.value)
    return Array(base.cell, skeleton.view, tuple(operands))


@contextmanager
def _outermost(low: Lowering) -> Iterator[Builder]:
    """The builder with the graph's own region open, whichever is."""
    b = low.builder
    open_regions, b.regions = b.regions, b.regions[:1]
    try:
        yield b
    finally:
        b.regions = open_regions


def known_positive(low: Lowering, number: Value) -> None:
    """Say at the beginning of the graph that an integer is positive."""
    with _outermost(low) as b:
        b.apply(OPS["given"], (b.apply(OPS["greater_equal"], (number, b.const(1)), {}),), {})


def root_param(low: Lowering, name: str, type: Any) -> Value:
    """A new parameter of the graph, whatever region is open."""
    with _outermost(low) as b:
        b.reserve(frozenset().union(*(d.symbols() for d in type.shape)) if isinstance(type, ArrayType) else frozenset())
        if isinstance(type, ArrayType):
            b.sizes_not_one |= {d for d in type.shape if d.symbol not in low.maybe_one}
        return b.param(name, type)
