"""What the attributes of ops may be: those that are read from texts and documents can be anything.

Type rules and meanings take attributes for what they are, so each is looked at before a rule sees it. Ops of users have
attributes of their own; of those only the names are known, by their type rules.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import srcgraph.ir.ops  # noqa: F401  (fills the table of ops)
from srcgraph.ir.exceptions import own_names
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Op
from srcgraph.ir.promote import Elementwise
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import View


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, kinds) and (bool in kinds or not isinstance(x, bool))


def _all(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda x: isinstance(x, tuple) and all(map(kind, x))


def _is_view(x: Any) -> bool:
    """A view of some array: each axis is selected in a way there is, and each one left has one place."""
    if not isinstance(x, View) or not all(a and (isinstance(a, int) or a in (":", "i", "s")) for a in x.axes):
        return False
    places = [a for a in x.order if a is not None]
    return sorted(places) == list(range(len(x.kept)))


def _is_number(x: Any) -> bool:
    return isinstance(x, bool | float | complex | np.generic) or (isinstance(x, int) and -(2**63) <= x < 2**64)


def _is_error(x: Any) -> bool:
    found = getattr(builtins, x, None) if isinstance(x, str) else None
    known = x in ("np.linalg.LinAlgError", *own_names())
    return known or (isinstance(found, type) and issubclass(found, Exception))


_FLAG, _TEXT, _INT = _is(bool), _is(str), _is(int)
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ["absent", "array", "full", "lower", "positive", "right", "transposed", "unit", "upper", "weak"],
        (_FLAG, "true or false"),
    ),
    **dict.fromkeys(["category", "file", "module", "of", "text"], (_TEXT, "a text")),
    **dict.fromkeys(["line", "n"], (_INT, "an integer")),
    "axis": (_is(int, type(None)), "an integer, or none"),
    "axes": (lambda x: _all(_INT)(x) and len(set(x)) == len(x), "integers, each another one"),
    "dtype": (_is(np.dtype), "a dtype"),
    "error": (_is_error, "the name of an exception"),
    "facts": (_all(_TEXT), "texts"),
    "item": (_is(ScalarType, ArrayType), "the type of a number or an array"),
    "message": (_is(str, tuple), "a text, or several values"),
    "value": (_is_number, "a number, integers of at most 64 bits"),
    "view": (_is_view, "a view"),
}
"""Of the attributes of our own ops: whether a value can be one, and what can, in words."""

_OWN = frozenset(OPS)


def find_wrong_attribute(op: Op, attrs: Mapping[str, Any]) -> str:
    """What is wrong with the attributes of a use of an op, '' if nothing is."""
    allowed, needed = _declared(op)
    for name, value in attrs.items():
        if allowed is not None and name not in allowed:
            takes = f"it has {', '.join(sorted(allowed))}" if allowed else "it has none"
            return f"{op.name} has no attribute {name}: {takes}"
        holds, words = _KINDS.get(name, (None, "")) if is_own(op) else (None, "")
        if holds is not None and not holds(value):
            return f"the attribute {name} of {op.name} must be {words}, not {_shown(value)}"
    missing = [name for name in needed if name not in attrs]
    return f"{op.name} needs the attribute {missing[0]}" if missing else ""


def _shown(value: Any) -> str:
    return f"{str(value)!r}" if isinstance(value, View) else repr(value)


def is_own(op: Op) -> bool:
    """Whether an op is one of the package."""
    return op.name in _OWN


def _declared(op: Op) -> tuple[set[str] | None, list[str]]:
    """The names of attributes, None if it takes any, and those it cannot do without."""
    if isinstance(op.infer, Elementwise):
        names = {name for s in op.samples for name in s.attrs}
        return (names if is_own(op) else None), []
    try:
        found = inspect.signature(op.infer).parameters.values()
    except (TypeError, ValueError):  # a function in C that does not say
        return None, []
    named = [p for p in found if p.kind is p.KEYWORD_ONLY]
    any_name = any(p.kind is p.VAR_KEYWORD for p in found)
    return (None if any_name else {p.name for p in named}), [p.name for p in named if p.default is p.empty]


def find_wrong_count(op: Op, count: int) -> str:
    """What is wrong with so many operands, '' if nothing is."""
    try:
        found = inspect.signature(op.infer).parameters.values()
    except (TypeError, ValueError):
        return ""
    if any(p.kind is p.VAR_POSITIONAL for p in found):
        return _find_wrong_count_of_any(op, count)
    named = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in named)
    if least <= count <= len(named):
        return ""
    takes = str(least) if least == len(named) else f"{least} to {len(named)}"
    return f"{op.name} takes {takes} operand{'s' * (takes != '1')}, not {count}"


def _find_wrong_count_of_any(op: Op, count: int) -> str:
    """The same of an op whose type rule takes any number: by what it means."""
    if isinstance(op.numpy, np.ufunc):
        takes = op.numpy.nin
    else:
        try:
            found = inspect.signature(op.numpy).parameters.values()
        except (TypeError, ValueError):
            return ""
        if any(p.kind is p.VAR_POSITIONAL or p.default is not p.empty for p in found):
            return ""
        takes = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in found)
    return "" if count == takes else f"{op.name} takes {takes} operand{'s' * (takes != 1)}, not {count}"


_BESIDE_VIEW = {"getitem": 1, "setitem": 2, "add_at": 2}
"""How many operands ops have beside those of their view."""


def find_wrong_view(op: Op, inputs: Sequence[Value], attrs: Mapping[str, Any]) -> str:
    """What is wrong with what a view selects, '' if nothing is."""
    view = attrs.get("view")
    if op.name == "with_shape" and (not inputs or len(inputs) - 1 != inputs[0].type.ndim):
        return "with_shape takes an array, and a length for each of its axes"
    if op.name not in _BESIDE_VIEW or not isinstance(view, View):
        return ""
    takes, ndim = view.operand_count + _BESIDE_VIEW[op.name], getattr(inputs[0].type, "ndim", 0) if inputs else 0
    if len(view.axes) != ndim:
        return f"the view {str(view)!r} is of {len(view.axes)} axes, and the array has {ndim}"
    if len(inputs) != takes:
        return f"{op.name} by the view {str(view)!r} takes {takes} operand{'s' * (takes != 1)}, not {len(inputs)}"
    return ""


def find_wrong_axis(op: Op, inputs: Sequence[Value], attrs: Mapping[str, Any]) -> str:
    """What is wrong with the axes that an op goes over, '' if nothing is."""
    axis = attrs.get("axis")
    if op.kind == "library" and is_own(op) and inputs and isinstance(axis, int):
        ndim = inputs[0].type.ndim
        return "" if 0 <= axis < ndim or not ndim else f"{op.name} goes along axis {axis} of an array of {ndim} axes"
    if op.kind != "reduction" or not inputs or not isinstance(attrs.get("axes"), tuple):
        return ""
    ndim = inputs[0].type.ndim
    wrong = [k for k in attrs["axes"] if not 0 <= k < ndim]
    return f"{op.name} goes over axis {wrong[0]} of an array of {ndim} axes" if wrong else ""
