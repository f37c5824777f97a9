"""What a compiled call returns, made from the generated function's outputs.

Numbers come back as Python's or NumPy's as plain Python would return them; an argument's array, or
a view of it, comes back as that very memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.errors import InternalError
from srcgraph.frontend.template import ArgumentView, Fixed, FunctionOf, Never, NewArray, OneOf, Out, Template, TupleOf
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
        case TupleOf(items=items, cls=cls):
            makes = [maker(t, results, place) for t in items]
            return lambda outs, leaves: cls(m(outs, leaves) for m in makes)
        case OneOf(tag=tag, options=options):
            at, makes = place[tag], [maker(t, results, place) for t in options]
            return lambda outs, leaves: makes[outs[at]](outs, leaves)
        case Never():
            return lambda outs, leaves: None
        case FunctionOf():
            raise InternalError("a function made inside reached the caller")


def _number(at: int, type: Type) -> Make:
    """A number as Python would return it; compiled code returns Python's own numbers."""
    assert not isinstance(type, ListType)
    convert = PYTHON_TYPE[type.dtype] if getattr(type, "weak", False) else type.dtype.type
    return lambda outs, leaves: convert(outs[at])


def _viewed(base: np.ndarray, view: View, operands: Sequence[int]) -> Any:
    part = numpy_view(base, tuple(operands), view)
    return part if part.ndim else part[()]
