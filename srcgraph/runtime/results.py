"""What a compiled call returns, made from the generated function's outputs.

Numbers come back as Python's or NumPy's as plain Python would return them; an argument's array, or
a view of it, comes back as that very memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from srcgraph.errors import InternalError
from srcgraph.frontend.entities import Const
from srcgraph.frontend.template import (
    ArgumentBox,
    ArgumentList,
    ArgumentView,
    EitherOf,
    Fixed,
    ListOf,
    MaybeOf,
    Never,
    NewArray,
    NewBox,
    ObjectOf,
    OneOf,
    Out,
    Rebound,
    RecordOf,
    ReshapeOf,
    RowsOf,
    Template,
    TupleOf,
    Unchanged,
    parts_of,
)
from srcgraph.infer.objects import build, build_tuple, update
from srcgraph.infer.signature import ArrayArg, MaybeArg, RowsArg, ScalarArg, Skeleton, StaticArg, TupleArg
from srcgraph.ir.graph import Value
from srcgraph.ir.ops.index import numpy_view
from srcgraph.ir.types import PYTHON_TYPE, ListType, Type
from srcgraph.ir.view import View


@dataclass(slots=True)
class Objects:
    """The arguments' objects by the number of their box, their lists, and the new objects and lists by number."""

    given: Sequence[Any]
    lists: Sequence[list[Any]] = ()
    made: dict[Any, Any] = field(default_factory=dict)


Make = Callable[[Sequence[Any], Sequence[Any], Objects], Any]
"""From (outputs, arguments' leaves, objects) to the object returned, or a part of it."""


def outputs_used(template: Template | NewBox | ArgumentBox) -> set[int]:
    """The outputs a template needs."""
    match template:
        case Out(index=k):
            return {k}
        case NewArray(index=k, operands=operands):
            return {k, *operands}
        case ArgumentView(operands=operands):
            return set(operands)
        case OneOf(tag=tag, options=options):
            return {tag}.union(*map(outputs_used, options))
        case RowsOf(parts=parts):
            return set(parts)
        case ReshapeOf(array=array, dims=dims, operands=operands):
            return {*dims, *operands}.union(outputs_used(array))
        case EitherOf(test=test):
            return {test}.union(*map(outputs_used, parts_of(template)))
    return set().union(*map(outputs_used, parts_of(template)))


def same_place(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays are one piece of memory, read in one way."""
    same = x.__array_interface__["data"][0] == y.__array_interface__["data"][0]
    return same and x.shape == y.shape and x.strides == y.strides


def overlaps_itself(x: np.ndarray) -> bool:
    """Whether two elements of an array may be one place in memory, as those of a sliding window that can be written."""
    if x.flags.forc or x.size < 2:
        return False
    behind = 0
    for step, count in sorted((abs(step), count) for step, count in zip(x.strides, x.shape, strict=True) if count > 1):
        if step < behind + x.itemsize:
            return True
        behind += step * (count - 1)
    return False


def borrowed(template: Template | NewBox | ArgumentBox) -> set[int]:
    """The outputs that are returned only where they are not an argument's own memory."""
    if isinstance(template, EitherOf):
        return outputs_used(template) - {template.test}
    return set().union(*map(borrowed, parts_of(template)))


@dataclass(frozen=True, slots=True)
class Part:
    """A number or an array that is returned.

    Attributes
    ----------
    kind : str
        An ``output``, an ``argument``, something ``fixed``, a ``tuple`` of parts, which follow it, ``either`` of two
        parts, which follow it, an output that is kept ``apart`` from arguments, or what is ``made`` of all outputs.
    at : int
        The output's position among the values that the generated code returns, or the argument's, or that of the test
        which of two it is; how many items a tuple has.
    value : object
        The type that a number is made of, if any; what is fixed; how many parts follow that are inside; what makes it.
    """

    kind: str
    at: int = 0
    value: Any = None


INSIDE = ("tuple", "either")
"""The kinds of parts with others inside."""
Direct: TypeAlias = tuple[list[Part], bool]
"""Parts, and whether a tuple of them is returned; before those of a tuple inside it stands what says so."""


def items_of(parts: Sequence[Part]) -> Iterator[Sequence[Part]]:
    """The parts of each item of a tuple."""
    first = 0
    while first < len(parts):
        after = first + 1 + (parts[first].value if parts[first].kind in INSIDE else 0)
        yield parts[first:after]
        first = after


def direct_parts(make: Make) -> Direct | None:
    """What a result is made of, if no more than the outputs and whole arguments are needed for it."""
    return getattr(make, "direct", None)


def _direct(template: Template, results: Sequence[Value], place: dict[int, int]) -> Direct | None:
    match template:
        case Out(index=k):
            own = getattr(results[k].type, "weak", False)
            return [Part("output", place[k], None if own else results[k].type.dtype.type)], False
        case NewArray(index=k, view=None):
            return [Part("output", place[k])], False
        case ArgumentView(param=param, view=None):
            return [Part("argument", param)], False
        case Fixed(value=value):
            return [Part("fixed", value=value)], False
        case EitherOf(test=k, then=then, orelse=orelse):
            sides = [_direct(side, results, place) for side in (then, orelse)]
            plain = [parts for side in sides if side is not None for parts, several in [side] if not several]
            if len(plain) < 2 or any(len(parts) > 1 for parts in plain):
                return None
            checked = [_checked(side, *parts) for side, parts in zip((then, orelse), plain, strict=True)]
            return [Part("either", place[k], 2), *checked], False
        case TupleOf(items=items, cls=cls) if cls is tuple and items:
            found: list[Part] = []
            for item in items:
                if (inner := _direct(item, results, place)) is None:
                    return None
                own, several = inner
                count = len(item.items) if several and isinstance(item, TupleOf) else 0
                found += [*([Part("tuple", count, len(own))] if several else []), *own]
            return found, True
    return None


@dataclass(frozen=True, slots=True)
class Apart:
    """Copies an array that is new on some paths only, where it is in the memory of arguments but for some."""

    maybe: Collection[int]

    def __call__(self, found: np.ndarray, leaves: Sequence[Any]) -> np.ndarray:
        others = (leaves[k] for k in self.others(leaves))
        return found.copy("K") if any(np.may_share_memory(found, x) for x in others) else found

    def others(self, leaves: Sequence[Any]) -> list[int]:
        """The arguments that it is kept apart from."""
        return [k for k, x in enumerate(leaves) if k not in self.maybe and isinstance(x, np.ndarray)]


def _checked(template: Template, part: Part) -> Part:
    return Part("apart", part.at, Apart(template.maybe)) if isinstance(template, NewArray) else part


def maker(template: Template, results: Sequence[Value], place: dict[int, int]) -> Make:
    """The function that builds what ``template`` describes.

    ``place`` maps an output's number to its position among the values the generated code returns.
    """
    make = _maker(template, results, place)
    direct = _direct(template, results, place)
    if direct is None and not _is_given(template):
        direct = [Part("made", value=make)], False
    make.direct = direct  # type: ignore[attr-defined]
    return make


def _is_given(template: Template | NewBox | ArgumentBox) -> bool:
    """Whether an argument, or a part of one, is or may be returned."""
    kinds = ArgumentView | ArgumentList | ArgumentBox | EitherOf
    return isinstance(template, kinds) or any(map(_is_given, parts_of(template)))


@dataclass(frozen=True, slots=True)
class Whole:
    """Makes what is returned of what the generated code returns, which is all there is to it."""

    make: Make
    single: bool

    def __call__(self, out: Any) -> Any:
        return self.make((out,) if self.single else out, (), Objects(()))


def _apart(template: Template, make: Make) -> Make:
    """What is new on some paths only: the generated code gives it as it is, which may be an argument."""
    if not isinstance(template, NewArray):
        return make
    apart = Apart(template.maybe)
    return lambda outs, leaves, objects: apart(make(outs, leaves, objects), leaves)


def _maker(template: Template, results: Sequence[Value], place: dict[int, int]) -> Make:
    match template:
        case Fixed(value=value):
            return lambda outs, leaves, objects: value
        case Out(index=k):
            return _number(place[k], results[k].type)
        case NewArray(index=k, view=view, operands=operands):
            at, ints = place[k], [place[o] for o in operands]
            if view is None:
                return lambda outs, leaves, objects: outs[at]
            return lambda outs, leaves, objects: _viewed(outs[at], view, [outs[o] for o in ints])
        case ArgumentView(param=param, view=view, operands=operands):
            ints = [place[o] for o in operands]
            if view is None:
                return lambda outs, leaves, objects: leaves[param]
            return lambda outs, leaves, objects: _viewed(leaves[param], view, [outs[o] for o in ints])
        case EitherOf(test=test):
            at = place[test]
            then, orelse = (_apart(t, maker(t, results, place)) for t in (template.then, template.orelse))
            return lambda outs, leaves, objects: (then if outs[at] else orelse)(outs, leaves, objects)
        case ReshapeOf(array=array, dims=dims, ravel=ravel, view=view, operands=operands):
            whole, sizes = maker(array, results, place), [place[d] for d in dims]
            ints = [place[o] for o in operands]

            def reshaped(outs: Sequence[Any], leaves: Sequence[Any], objects: Any) -> np.ndarray:
                base = whole(outs, leaves, objects)
                made = base.ravel() if ravel else base.reshape([outs[k] for k in sizes])
                return _viewed(made, view, [outs[o] for o in ints])

            return reshaped
        case TupleOf(items=items, cls=cls):
            makes = [maker(t, results, place) for t in items]
            return lambda outs, leaves, objects: build_tuple(cls, [m(outs, leaves, objects) for m in makes])
        case ObjectOf(cls=cls, box=box):
            return _object(cls, box, results, place)
        case ListOf():
            return _list(template, results, place)
        case ArgumentList(position=position):
            return lambda outs, leaves, objects: objects.lists[position]
        case RowsOf(item=item, parts=parts):
            columns = [place[k] for k in parts]
            return lambda outs, leaves, objects: _items(item, iter([outs[k] for k in columns]))
        case OneOf(tag=tag, options=options):
            at, makes = place[tag], [maker(t, results, place) for t in options]
            return lambda outs, leaves, objects: makes[outs[at]](outs, leaves, objects)
        case MaybeOf(bound=Out(index=k), inner=inner, absent=Const(value=None)):
            at, make = place[k], maker(inner, results, place)
            return lambda outs, leaves, objects: make(outs, leaves, objects) if outs[at] else None
        case Never():
            return lambda outs, leaves, objects: None
    raise InternalError(f"{template} reached the caller")


def _items(item: Skeleton, columns: Iterator[np.ndarray]) -> list[Any]:
    """The items of a list, from an array for each number they are made of."""
    match item:
        case ScalarArg(weak=weak):
            column = next(columns)
            return column.tolist() if weak else list(column)
        case TupleArg(items=items, cls=cls):
            parts = [_items(s, columns) for s in items]
            count = max((len(p) for p, s in zip(parts, items, strict=True) if not isinstance(s, StaticArg)), default=0)
            full = [p * count if isinstance(s, StaticArg) else p for p, s in zip(parts, items, strict=True)]
            return [build_tuple(cls, list(row)) for row in zip(*full, strict=True)]
        case ArrayArg():
            return next(columns)  # type: ignore[return-value]
        case StaticArg(value=value):
            return [value]
        case MaybeArg(inner=inner):
            there = next(columns)
            return [v if known else None for known, v in zip(there, _items(inner, columns), strict=True)]
        case RowsArg(item=inner):
            return [_items(inner, iter([row])) for row in next(columns)]
    raise InternalError(f"{item} is no item of a list")


def is_nested(template: Template) -> bool:
    """Whether a list is made whose items are lists: those that are there get its numbers."""
    return isinstance(template, RowsOf) and isinstance(template.item, RowsArg)


def refill(items: list[Any], new: list[Any], nested: bool) -> None:
    """Let a list hold other items."""
    if not nested:
        items[:] = new
        return
    for row, own in zip(items, new, strict=True):
        row[:] = own


def _list(template: ListOf, results: Sequence[Value], place: dict[int, int]) -> Make:
    """A new list; one met again is the same."""
    make = maker(template.content, results, place)
    key = ListOf, template.cell, *sorted(outputs_used(template.content))

    def made(outs: Sequence[Any], leaves: Sequence[Any], objects: Objects) -> list[Any]:
        if (found := objects.made.get(key)) is None:
            found = objects.made[key] = make(outs, leaves, objects)
        return found

    return made


def _object(cls: type, box: NewBox | ArgumentBox, results: Sequence[Value], place: dict[int, int]) -> Make:
    """An argument's object, or a new one; one met again is the same."""
    if isinstance(box, ArgumentBox):
        at = box.position
        return lambda outs, leaves, objects: objects.given[at]
    number, content = box.number, box.content
    if content is None:
        return lambda outs, leaves, objects: objects.made[number]
    assert isinstance(content, RecordOf)
    names = content.names
    makes = [maker(t, results, place) for t in content.items]

    def make(outs: Sequence[Any], leaves: Sequence[Any], objects: Objects) -> Any:
        made = objects.made[number] = build(cls, (), [])
        values = [m(outs, leaves, objects) for m in makes]
        if cls is dict:
            made.update(zip(names, values, strict=True))
            return made
        for name, value in zip(names, values, strict=True):
            object.__setattr__(made, name, value)
        return made

    return make


def updater(rebound: Rebound, results: Sequence[Value], place: dict[int, int]) -> Make:
    """What a call does to an object of the arguments'."""
    content, at = rebound.content, rebound.position
    assert isinstance(content, RecordOf)
    names, pairs = content.names, zip(content.names, content.items, strict=True)
    makes = {n: maker(t, results, place) for n, t in pairs if not isinstance(t, Unchanged)}

    def apply(outs: Sequence[Any], leaves: Sequence[Any], objects: Objects) -> None:
        update(objects.given[at], names, {n: m(outs, leaves, objects) for n, m in makes.items()})

    return apply


def _number(at: int, type: Type) -> Make:
    """A number as Python would return it; compiled code returns Python's own numbers."""
    assert not isinstance(type, ListType)
    convert = PYTHON_TYPE[type.dtype] if getattr(type, "weak", False) else type.dtype.type
    return lambda outs, leaves, objects: convert(outs[at])


def _viewed(base: np.ndarray, view: View | None, operands: Sequence[int]) -> Any:
    return base if view is None else numpy_view(base, tuple(operands), view)
