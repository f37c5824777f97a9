"""What a compiled call returns, made from the generated function's outputs.

Numbers come back as Python's or NumPy's as plain Python would return them; an argument's array, or
a view of it, comes back as that very memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InternalError
from srcgraph.frontend.template import (
    ArgumentView,
    EitherOf,
    Fixed,
    FunctionOf,
    ListOf,
    Never,
    NewArray,
    OneOf,
    Out,
    RowsOf,
    Template,
    TupleOf,
)
from srcgraph.infer.signature import ScalarArg, Skeleton, StaticArg, TupleArg
from srcgraph.ir.graph import Value
from srcgraph.ir.ops.index import numpy_view
from srcgraph.ir.types import PYTHON_TYPE, ListType, Type
from srcgraph.ir.view import View

Make = Callable[[Sequence[Any], Sequence[Any]], Any]
"""From (outputs, arguments' leaves) to the object returned."""


def outputs_used(template: Template) -> set[int]:
    """The outputs a template needs."""
    match template:
        case Out(index=k):
            return {k}
        case NewArray(index=k, operands=operands):
            return {k, *operands}
        case ArgumentView(operands=operands):
            return set(operands)
        case TupleOf(items=items):
            return set().union(*map(outputs_used, items))
        case OneOf(tag=tag, options=options):
            return {tag}.union(*map(outputs_used, options))
        case RowsOf(parts=parts):
            return set(parts)
        case ListOf(content=content):
            return outputs_used(content)
        case EitherOf(test=test, then=then, orelse=orelse):
            return {test} | outputs_used(then) | outputs_used(orelse)
    return set()


def borrowed(template: Template) -> set[int]:
    """The outputs that are returned only where they are not an argument's own memory."""
    match template:
        case TupleOf(items=items):
            return set().union(*map(borrowed, items))
        case OneOf(options=options):
            return set().union(*map(borrowed, options))
        case ListOf(content=content):
            return borrowed(content)
        case EitherOf(test=test):
            return outputs_used(template) - {test}
    return set()


def maker(template: Template, results: Sequence[Value], place: dict[int, int]) -> Make:
    """The function that builds what ``template`` describes.

    ``place`` maps an output's number to its position among the values the generated code returns.
    """
    match template:
        case Fixed(value=value):
            return lambda outs, leaves: value
        case Out(index=k):
            return _number(place[k], results[k].type)
        case NewArray(index=k, view=view, operands=operands):
            at, ints = place[k], [place[o] for o in operands]
            if view is None:
                return lambda outs, leaves: outs[at]
            return lambda outs, leaves: _viewed(outs[at], view, [outs[o] for o in ints])
        case ArgumentView(param=param, view=view, operands=operands):
            ints = [place[o] for o in operands]
            if view is None:
                return lambda outs, leaves: leaves[param]
            return lambda outs, leaves: _viewed(leaves[param], view, [outs[o] for o in ints])
        case EitherOf(test=test):
            at = place[test]
            then, orelse = (maker(t, results, place) for t in (template.then, template.orelse))
            return lambda outs, leaves: then(outs, leaves) if outs[at] else orelse(outs, leaves)
        case TupleOf(items=items, cls=cls):
            makes = [maker(t, results, place) for t in items]
            return lambda outs, leaves: cls(m(outs, leaves) for m in makes)
        case ListOf(content=content):
            return maker(content, results, place)
        case RowsOf(item=item, parts=parts):
            columns = [place[k] for k in parts]
            return lambda outs, leaves: _items(item, iter([outs[k] for k in columns]))
        case OneOf(tag=tag, options=options):
            at, makes = place[tag], [maker(t, results, place) for t in options]
            return lambda outs, leaves: makes[outs[at]](outs, leaves)
        case Never():
            return lambda outs, leaves: None
        case FunctionOf():
            raise InternalError("a function made inside reached the caller")
    raise InternalError(f"{template} cannot be returned")


def _items(item: Skeleton, columns: Iterator[np.ndarray]) -> list[Any]:
    """The items of a list, from an array for each number they are made of."""
    match item:
        case ScalarArg(weak=weak):
            column = next(columns)
            return column.tolist() if weak else list(column)
        case TupleArg(items=items, cls=cls):
            parts = [_items(s, columns) for s in items]
            count = max((len(p) for p in parts), default=0)
            full = [p * count if isinstance(s, StaticArg) else p for p, s in zip(parts, items, strict=True)]
            return list(map(cls, zip(*full, strict=True)))
        case StaticArg(value=value):
            return [value]
    raise InternalError(f"{item} is no item of a list")


def _number(at: int, type: Type) -> Make:
    """A number as Python would return it; compiled code returns Python's own numbers."""
    assert not isinstance(type, ListType)
    convert = PYTHON_TYPE[type.dtype] if getattr(type, "weak", False) else type.dtype.type
    return lambda outs, leaves: convert(outs[at])


def _viewed(base: np.ndarray, view: View, operands: Sequence[int]) -> Any:
    return numpy_view(base, tuple(operands), view)
