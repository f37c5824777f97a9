"""Tangents and cotangents that are given: checked to be like what they belong to, and taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from srcgraph.frontend import objects, structures
from srcgraph.frontend.custom import Rules, Unknown, in_words, moved
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Instance, Listing, Scalar, Tup, Unusable
from srcgraph.frontend.join import describe
from srcgraph.infer.signature import ArrayArg, ItemsArg, ObjectArg, ScalarArg, Skeleton, StaticArg, TupleArg, parts_of
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ScalarType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def items_of(like: Skeleton) -> tuple[Skeleton, ...]:
    """What is in a tuple, a list or an object."""
    inner = like.box.content if isinstance(like, ObjectArg) else like
    return () if inner is None else parts_of(inner)


class Fitting:
    """Takes tangents or cotangents apart, which must be like what they belong to.

    Parameters
    ----------
    what : str
        ``cotangent`` or ``tangent``.
    likes : iterator of (type, lengths)
        Of each float that there must be one for, in order, its type and its lengths as values.
    structures : tuple of type
        The structures that have floats.
    """

    def __init__(
        self,
        low: Lowering,
        by: Rules,
        what: str,
        likes: Iterator[tuple[Any, Sequence[Value]]],
        structures: tuple[type, ...] = (TupleArg,),
    ):
        self.low, self.by, self.what, self.likes, self.structures = low, by, what, likes, structures

    def values(self, entity: Entity, like: Skeleton, where: str) -> Iterator[Value]:
        """The values of ``entity`` for each float of ``like``; zeros where it is None."""
        match like:
            case _ if isinstance(like, self.structures):
                for s, name, e in self.parts(entity, like, where):
                    yield from self.values(e, s, name)
            case ScalarArg(dtype=dtype) | ArrayArg(dtype=dtype) if dtype.kind == "f":
                yield self.value(entity, like, where)
            case _ if entity != NONE:
                raise self.wrong(entity, like, where)

    def parts(self, entity: Entity, like: Skeleton, where: str) -> list[tuple[Skeleton, str, Entity]]:
        """What a structure is made of, and what ``entity`` has for each."""
        items = items_of(like)
        if entity == NONE:
            return [(s, where, NONE) for s in items]
        found = structures.parts(self.low, entity, where)
        cls = Tup if isinstance(like, TupleArg) else Listing if isinstance(like, ItemsArg) else Instance
        if found is None or not isinstance(entity, cls) or len(found) != len(items):
            raise self.wrong(entity, like, where)
        if isinstance(entity, Instance):
            names = objects.fields(self.low, entity).names
            if entity.cls is not like.cls or names != like.box.content.names:  # type: ignore[union-attr]
                raise self.wrong(entity, like, where)
        return [(s, name, e) for s, (name, e) in zip(items, found, strict=True)]

    def value(self, entity: Entity, like: ScalarArg | ArrayArg, where: str) -> Value:
        type, lengths = next(self.likes)
        b = self.low.builder
        if entity == NONE:
            zero = b.const(type.dtype.type(0))
            return OPS["full"](zero, *lengths) if isinstance(like, ArrayArg) else b.cast(zero, type.dtype, like.weak)
        if isinstance(entity, Unusable):
            self.low.report(self.low.unusable(entity).problem)
            raise Unknown
        if not (isinstance(entity, Scalar | Array) or (isinstance(entity, Const) and entity.is_number)):
            raise self.wrong(entity, like, where)
        value = self.low.value(entity)
        if value.type.ndim == 0 and isinstance(like, ScalarArg) and not isinstance(value.type, ScalarType):
            value = b.scalar(value)
        fits = value.type.dtype == type.dtype or (getattr(value.type, "weak", False) and value.type.dtype.kind == "f")
        if (
            not fits
            or value.type.ndim != type.ndim
            or isinstance(value.type, ScalarType) != isinstance(like, ScalarArg)
        ):
            raise self.wrong(entity, like, where)
        if isinstance(like, ScalarArg):
            return b.cast(value, type.dtype, like.weak)
        return self.sized(value, lengths, entity, like, where)

    def sized(self, value: Value, lengths: Sequence[Value], entity: Entity, like: Skeleton, where: str) -> Value:
        b = self.low.builder
        message = f"{self.by.name}: the {self.what} of {where} has length {{x}}, not {{y}}"
        with b.at(self.by.loc):
            for d, length in zip(value.type.shape, lengths, strict=True):
                wanted = length.type.value
                if d.const is not None and wanted.const is not None and d != wanted:
                    raise self.wrong(entity, like, where)
                if d != wanted:
                    b.call_named("equal_size", b.dim_value(d), length, error="ValueError", message=message)
            return b.retype(value, [v.type.value for v in lengths])

    def wrong(self, entity: Entity, like: Skeleton, where: str) -> Exception:
        found = describe(entity)
        if isinstance(entity, Array | Scalar):
            found = _type_in_words(self.low.value(entity))
        hint = f"a {self.what} has the structure, the shape and the dtype of what it belongs to"
        if not isinstance(like, (ScalarArg, ArrayArg, StaticArg, *self.structures)):
            why = (
                f"{where}, which is no number, no array and no tuple of these, has no {self.what}, but {found} is given"
            )
            return self.by.refuse(why, "return None for it, and pass the floats in it as arguments of their own")
        if moved(like, 0) == StaticArg(None):
            hint = f"the {self.what} of what is no float is None"
        return self.by.refuse(f"the {self.what} of {where}, {in_words(like)}, is {found}", hint)


def _type_in_words(value: Value) -> str:
    type = value.type
    if isinstance(type, ScalarType):
        return in_words(ScalarArg(type.dtype, type.weak))
    return in_words(ArrayArg(type.dtype, tuple("n" if d.const is None else d.const for d in type.shape), 0))
