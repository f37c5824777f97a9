"""What the items of a list are, whatever their values: the kind that all of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srcgraph.errors import InferenceError, InternalError
from srcgraph.frontend import contents, headers, join, nested, shape_values
from srcgraph.frontend.entities import (
    NONE,
    Const,
    Content,
    Entity,
    Instance,
    Listing,
    Rows,
    State,
    Tup,
    Unusable,
)
from srcgraph.frontend.memory import refuse
from srcgraph.infer.signature import ArrayArg, MaybeArg, RowsArg, ScalarArg, Skeleton, StaticArg, TupleArg
from srcgraph.ir.dims import UNKNOWN
from srcgraph.ir.types import BOOL, INT, ArrayType, ScalarType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def kind_of(low: Lowering, entity: Entity, state: State, growing: bool = False) -> headers.Shape:
    """What an item is, whatever its value; ``growing``: of a list that changes its length."""
    if isinstance(entity, Tup):
        items = [kind_of(low, e, state, growing) for e in entity.items]
        broken = next((s for s in items if isinstance(s, headers.Broken)), None)
        return broken or headers.Several(tuple(items), entity.cls)
    if isinstance(entity, Listing):
        held = state.store[entity.cell]
        if isinstance(held, Unusable):
            return headers.Broken(held.why, held.hint)
        if growing and isinstance(held, Tup):
            own = kind_of(low, held, state, growing)
            return own if isinstance(own, headers.Broken) else headers.Fresh(contents.Items(own.items))  # type: ignore[union-attr]
        kind = item_kind(low, nested.inside(contents.content_in(state, entity.cell), len(entity.at)), state)
        if kind is None or must_grow(kind) or isinstance(kind, headers.Several):
            return headers.Broken(
                "a list of lists that begin empty, or hold anything but numbers, is not supported", nested.LISTS
            )
        return kind if isinstance(kind, headers.Broken) else headers.Row(kind)
    if isinstance(entity, Instance):
        why = f"a list of {entity.cls.__name__} objects whose length, or an index into it, is known only at run time"
        return headers.Broken(
            f"{why} is not supported", "keep a list, or an array, for each of their fields", unroll=True
        )
    return headers.shape_of(low, entity, state)


def is_short(kind: headers.Shape) -> bool:
    """Whether items of a kind are lists of a known length each, or have such in them."""
    if isinstance(kind, headers.Several):
        return any(map(is_short, kind.items))
    return isinstance(kind, headers.Fresh) or (isinstance(kind, headers.Later) and is_short(kind.shape))


def or_none(kind: headers.Shape) -> headers.Shape:
    """Items of a kind, or None."""
    if isinstance(kind, headers.Broken | headers.Later):
        return kind
    return headers.Later(kind, True, NONE)


def join_kinds(x: headers.Shape, y: headers.Shape) -> headers.Shape:
    """The kind both are of."""
    match x, y:
        case (headers.Same(entity=Const(value=None)), headers.Same(entity=Const(value=None))):
            return x
        case (headers.Same(entity=Const(value=None)), other) | (other, headers.Same(entity=Const(value=None))):
            return or_none(other)
        case (headers.Later(shape=a), headers.Later(shape=b)):
            return or_none(join_kinds(a, b))
        case (headers.Later(shape=a), b) | (b, headers.Later(shape=a)):
            return or_none(join_kinds(a, b))
        case (headers.Broken(), _):
            return x
        case (_, headers.Broken()):
            return y
        case (headers.Fresh(content=contents.Items(items=a)), headers.Fresh(content=contents.Items(items=b))):
            if len(a) != len(b):
                why = "a list whose length changes while the program runs holds lists of different lengths"
                return headers.Broken(why, nested.LISTS)
            items = list(map(join_kinds, a, b))
            broken = next((s for s in items if isinstance(s, headers.Broken)), None)
            return broken or headers.Fresh(contents.Items(tuple(items)))
        case (headers.Fresh(), headers.Row()) | (headers.Row(), headers.Fresh()):
            return headers.Broken(nested.GROWS, nested.LISTS)
        case (headers.Row(item=a), headers.Row(item=b)):
            item = join_kinds(a, b)
            return item if isinstance(item, headers.Broken) else headers.Row(item)
        case (headers.Number(), headers.Number()) | (headers.Buffer(), headers.Buffer()):
            if isinstance(x, headers.Buffer) and isinstance(y, headers.Buffer):
                if (x.type.dtype, x.type.ndim) == (y.type.dtype, y.type.ndim):
                    return x
            else:
                return headers.join_shapes(x, y)
        case (headers.Several(items=a, cls=cls), headers.Several(items=b)) if len(a) == len(b):
            items = list(map(join_kinds, a, b))
            broken = next((s for s in items if isinstance(s, headers.Broken)), None)
            return broken or headers.Several(tuple(items), cls)
        case (headers.Same(), headers.Same()) if x == y:
            return x
    why = f"a list whose length changes while the program runs holds both {_shown(x)} and {_shown(y)}"
    return headers.Broken(why, "keep one kind of item in a list, or use two lists")


def _shown(shape: headers.Shape) -> str:
    match shape:
        case headers.Number(type=type):
            return {"b": "bools", "i": "integers", "u": "integers", "f": "floats"}.get(
                type.dtype.kind, "complex numbers"
            )
        case headers.Buffer(type=type):
            return "arrays"
        case headers.Several(items=items):
            return f"tuples of {len(items)}"
        case headers.Row() | headers.Fresh():
            return "lists"
        case headers.Same(entity=entity):
            return join.describe(entity)
    return "something else"


def item_kind(low: Lowering, content: Content, state: State, growing: bool = False) -> headers.Shape | None:
    """What the items of a content are; None if there is none yet."""
    if isinstance(content, Rows):
        return content.item
    kind = None
    for item in content.items:
        own = kind_of(low, item, state, growing)
        kind = own if kind is None else join_kinds(kind, own)
    return kind


def joint_kind(low: Lowering, *held: Content, growing: bool = False) -> headers.Shape:
    """What the items of several contents are now, all of them; ``growing``: in a list that changes its length.

    Raises
    ------
    Refusal
        They have nothing in common.
    """
    growing = growing or any(map(contents.has_short_lists, held))
    return joined(low, [item_kind(low, c, low.state, growing) for c in held])


def joined(low: Lowering, kinds: Sequence[headers.Shape | None]) -> headers.Shape:
    """The kind that all are of; None is any."""
    found = [k for k in kinds if k is not None]
    kind = found[0] if found else headers.Number(ScalarType(INT, weak=True))
    for other in found[1:]:
        kind = join_kinds(kind, other)
    return usable(low, kind)


def usable(low: Lowering, kind: headers.Shape) -> headers.Shape:
    """A kind of item that a list at run time can have; of None alone, what may become integers."""
    if kind == headers.Same(NONE):
        return or_none(headers.Number(ScalarType(INT, weak=True)))
    if isinstance(kind, headers.Broken):
        raise refuse(kind.why, low.loc, kind.hint, kind=InferenceError)
    if not shape_values.leaf_types(kind):
        broken = without_numbers(kind)
        raise refuse(broken.why, low.loc, broken.hint)
    return kind


def without_numbers(kind: headers.Shape) -> headers.Broken:
    why = f"a list of {_shown(kind)} whose length changes while the program runs is not supported"
    return headers.Broken(why, "lists hold numbers, arrays, or tuples of these", unroll=True)


def must_grow(kind: headers.Shape) -> bool:
    """Whether items of a kind cannot be in arrays of numbers: they are arrays themselves."""
    if isinstance(kind, headers.Several):
        return any(map(must_grow, kind.items))
    if isinstance(kind, headers.Later):
        return must_grow(kind.shape)
    if isinstance(kind, headers.Fresh) and isinstance(kind.content, contents.Items):
        return any(map(must_grow, kind.content.items))
    return isinstance(kind, headers.Buffer)


def kind_as_skeleton(kind: headers.Shape) -> Skeleton:
    """A kind of item as part of a signature."""
    match kind:
        case headers.Number(type=type):
            return ScalarArg(type.dtype, type.weak)
        case headers.Buffer(type=type):
            return ArrayArg(type.dtype, ("",) * type.ndim, 0)
        case headers.Several(items=items, cls=cls):
            return TupleArg(tuple(map(kind_as_skeleton, items)), cls)
        case headers.Fresh(content=contents.Items(items=items)):
            return TupleArg(tuple(map(kind_as_skeleton, items)), list)
        case headers.Same(entity=Const(value=value)):
            return StaticArg(value)
        case headers.Row(item=item):
            return RowsArg(kind_as_skeleton(item), "", -1)
        case headers.Later(shape=shape):
            return MaybeArg(ScalarArg(BOOL, weak=True), kind_as_skeleton(shape), NONE)
    raise InternalError(f"{kind} is no kind of item")


def kind_of_skeleton(skeleton: Skeleton) -> headers.Shape:
    """The kind of item a signature describes."""
    match skeleton:
        case ScalarArg():
            return headers.Number(skeleton.type)
        case ArrayArg(dtype=dtype, shape=shape):
            return headers.Buffer(ArrayType(dtype, (UNKNOWN,) * len(shape)))
        case TupleArg(items=items, cls=cls) if cls is list:
            return headers.Fresh(contents.Items(tuple(map(kind_of_skeleton, items))))
        case TupleArg(items=items, cls=cls):
            return headers.Several(tuple(map(kind_of_skeleton, items)), cls)
        case StaticArg(value=value):
            return headers.Same(Const(value))
        case RowsArg(item=item):
            return headers.Row(kind_of_skeleton(item))
        case MaybeArg(inner=inner):
            return or_none(kind_of_skeleton(inner))
    raise InternalError(f"{skeleton} is no kind of item")
