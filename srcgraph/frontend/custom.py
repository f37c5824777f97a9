"""What functions with derivative rules of their own, and these rules, return: checked and taken apart.

A rule is checked where it is lowered, so that what does not fit is shown at its own line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError, Loc
from srcgraph.frontend.entities import (
    Array,
    Const,
    Entity,
    Scalar,
    Tup,
    Unusable,
    boxes_of,
    cells_of,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.source import node_loc
from srcgraph.frontend.template import Fixed, NewArray, Out, Template, TupleOf
from srcgraph.infer.signature import (
    ArrayArg,
    ItemsArg,
    ObjectArg,
    ScalarArg,
    Size,
    Skeleton,
    StaticArg,
    TupleArg,
)
from srcgraph.ir.graph import Value

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering
    from srcgraph.frontend.session import Session


@dataclass(frozen=True, eq=False, slots=True)
class Custom:
    """A function with a derivative rule of its own.

    Attributes
    ----------
    functions : dict
        ``function`` itself and its rule, once there is one: ``fwd`` and ``bwd``, or ``jvp``.
    again : bool
        Whether it is to have no rule: the reverse sweep runs it again.
    kernel : callable or None
        If it has no rule, what generated code may call in its place: see `srcgraph.frontend.natives`.
    reverse : bool
        Whether the rule is one for reverse mode.
    nondiff : tuple of int
        The arguments that have no derivative, which rules get first.
    """

    name: str
    functions: dict[str, Any]
    reverse: bool
    nondiff: tuple[int, ...] = ()
    again: bool = False
    kernel: Any = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the names of its graphs end in: the function itself, and its rule."""
        if self.again or self.kernel is not None:
            return ("",)
        return ("", "_fwd", "_bwd") if self.reverse else ("", "_jvp")


@dataclass(frozen=True, slots=True)
class Rules:
    """A user's function that is lowered as part of a rule, where it is, and what it is called."""

    name: str
    loc: Loc | None
    again: bool = False
    native: bool = False

    def refuse(self, why: str, hint: str = "") -> Exception:
        return refuse(why, self.loc, hint, kind=InferenceError)


def returned_by(session: Session, function: Any, default: Loc | None) -> Rules:
    """A function and the place where it returns last."""
    inner = getattr(function, "py_func", function)
    name = getattr(inner, "__name__", "the rule")
    if not isinstance(inner, FunctionType):
        return Rules(name, default)
    code = session.code_of(inner)
    found = [n for n in gast.walk(code.node) if isinstance(n, gast.Return)]
    place = max(found, key=lambda n: (n.lineno, n.col_offset)) if found else code.node
    return Rules("the rule" if name == "<lambda>" else name, node_loc(place, code.file))


class Unknown(Exception):
    """What a function returns is not known: a problem was reported."""


def plain(low: Lowering, entity: Entity, by: Rules) -> Entity:
    """What a function returns, as numbers that the graph computes, arrays, and tuples of these."""
    match entity:
        case Const() if entity.is_number:
            return Scalar(low.value(entity))
        case Scalar() | Array() | Const(value=None):
            return entity
        case Tup(items=items, cls=cls) if issubclass(cls, tuple):
            return Tup(tuple(plain(low, e, by) for e in items), cls)
        case Unusable():
            low.report(low.unusable(entity).problem)
            raise Unknown
    hint = "a function with a derivative rule, and its rule, return numbers, arrays and tuples of these"
    hint = hint.replace("a derivative rule, and its rule,", "a kernel") if by.native else hint
    raise by.refuse(f"{by.name} returns {describe(entity)}", hint)


def pair(low: Lowering, entity: Entity, by: Rules, second: str) -> tuple[Entity, Entity]:
    """The two things that the forward part of a rule returns."""
    if isinstance(entity, Unusable):
        low.report(low.unusable(entity).problem)
        raise Unknown
    if isinstance(entity, Tup) and len(entity.items) == 2:
        return entity.items
    raise by.refuse(f"{by.name} returns {describe(entity)}", f"it must return a pair: (result, {second})")


def template_of(low: Lowering, entity: Entity, count: Iterator[int]) -> Template:
    """What a call returns, over its outputs; an array may be one of the arguments'."""
    match entity:
        case Tup(items=items, cls=cls):
            return TupleOf(tuple(template_of(low, e, count) for e in items), cls)
        case Array():
            mine = {s for c in cells_of(entity, low.state) for s in (c, *c.shares)}
            maybe = tuple(k for k, (_, cell) in enumerate(low.params) if cell in mine)
            return NewArray(next(count), maybe=maybe)
        case Scalar():
            return Out(next(count))
    return Fixed(None)


def refuse_changes(low: Lowering, by: Rules) -> None:
    """A function with a rule leaves its arguments as they are."""
    before = {cell: value for value, cell in reversed(low.params) if cell is not None}
    changed = [c for c, value in before.items() if low.state.store.get(c) is not value]
    changed += [c for c, held in low.param_lists.values() if low.state.store.get(c) is not held]
    boxes = [b for b, held in low.boxes if low.state.names.get(b) != held]
    if changed or boxes:
        outside = {b for e in low.hidden.values() for b in boxes_of(e)}
        what = "the shared variable" if not changed and boxes[0] in outside else "its argument"
        why = f"{by.name} changes {what} {[*changed, *boxes][0].name!r}, "
        knows = "a kernel that stands for it" if by.native else "its derivative rule"
        why += "but is marked to be run again" if by.again else f"which {knows} does not know of"
        raise by.refuse(why, "work on a copy, and return it")


def floats_of(low: Lowering, entity: Entity) -> Iterator[Value]:
    """The parameters that are the floats of an argument."""
    cells = {cell: value for value, cell in reversed(low.params)}
    match entity:
        case Scalar(value=value) if value.type.dtype.kind == "f":
            yield value
        case Array(cell=cell) if cells[cell].type.dtype.kind == "f":
            yield cells[cell]
        case Tup(items=items):
            for item in items:
                yield from floats_of(low, item)


def moved(skeleton: Skeleton, cell: int) -> Skeleton:
    """What a tangent or a cotangent is: the floats of something, None for all else."""
    match skeleton:
        case ScalarArg(dtype=dtype) if dtype.kind == "f":
            return skeleton
        case ArrayArg(dtype=dtype) if dtype.kind == "f":
            return replace(skeleton, cell=skeleton.cell + cell)
        case TupleArg(items=items, cls=cls):
            return TupleArg(tuple(moved(s, cell) for s in items), cls)
    return StaticArg(None)


# -- what fits --------------------------------------------------------------------------------------


def same_kinds(x: Skeleton, y: Skeleton) -> bool:
    """Whether two results are alike in structure, dtypes and numbers of axes."""
    match x, y:
        case TupleArg(), TupleArg():
            return x.cls is y.cls and len(x.items) == len(y.items) and all(map(same_kinds, x.items, y.items))
        case ScalarArg(), ScalarArg():
            return x.dtype == y.dtype
        case ArrayArg(), ArrayArg():
            return x.dtype == y.dtype and len(x.shape) == len(y.shape) and not any(map(_differ, x.shape, y.shape))
        case StaticArg(), StaticArg():
            return x == y
    return False


def as_numbers(x: Skeleton, y: Skeleton) -> Skeleton:
    """``x`` with numbers that are Python's, or NumPy's, as in ``y``."""
    if isinstance(x, TupleArg) and isinstance(y, TupleArg):
        return TupleArg(tuple(map(as_numbers, x.items, y.items)), x.cls)
    return y if isinstance(x, ScalarArg) else x


def _differ(x: Size, y: Size) -> bool:
    return isinstance(x, int) and isinstance(y, int) and x != y


def in_words(skeleton: Skeleton) -> str:
    """A number, an array or a tuple, with what tells it from others."""
    match skeleton:
        case ScalarArg(dtype=dtype, weak=weak):
            names = {"f": "a float", "i": "an integer", "u": "an integer", "b": "a bool", "c": "a complex number"}
            return names[dtype.kind] if weak else f"an np.{dtype}"
        case ArrayArg(dtype=dtype, shape=shape):
            lengths = [str(d) if isinstance(d, int) else "n" for d in shape]
            return f"an array of {dtype} with shape ({', '.join(lengths)}{',' * (len(shape) == 1)})"
        case TupleArg(items=items, cls=cls):
            return f"a {cls.__name__} of {', '.join(map(in_words, items)) or 'nothing'}"
        case ItemsArg(items=items):
            return f"a list of {', '.join(map(in_words, items)) or 'nothing'}"
        case ObjectArg(cls=cls):
            return f"a {cls.__name__}"
        case StaticArg(value=value):
            return repr(value)
    return "something without floats"
