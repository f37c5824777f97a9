"""Exceptions that are caught: what a handler is given, what it says, and raising it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any

from srcgraph.frontend import branching
from srcgraph.frontend.entities import Choice, Const, Entity, Field, Raised, Scalar, Text, Tup
from srcgraph.frontend.memory import Dead, refuse
from srcgraph.ir.exceptions import name_of
from srcgraph.ir.graph import Value
from srcgraph.ir.op import Op
from srcgraph.ir.text import AS_IS, field
from srcgraph.ir.types import ScalarType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

EXACT = ("check_nonzero", "check_item", "check_item_upper")
"""Checks whose messages are Python's to the letter."""
MESSAGES = (
    "Last 2 dimensions of the array must be square",
    "math domain error",
    "math range error",
    "pop from empty list",
    "Singular matrix",
    "negative shift count",
)


def caught(cls: type[Any], op: Op, inputs: Sequence[Value], attrs: dict[str, Any], users: bool) -> Raised | None:
    """The exception of a check that a handler catches; None if it cannot be made again.

    ``users`` says that it is raised by a statement of the user's.
    """
    assert op.check is not None
    if not all(isinstance(v.type, ScalarType) for v in inputs):
        return None
    if op.check.message != "{message}":
        message, values = _numbered(op.check.message, inputs, attrs)
    else:
        message, values = attrs["message"], inputs if op.name == "check_that" else ()
    exact = users or op.name in EXACT or (isinstance(message, str) and message in MESSAGES)
    return Raised(cls, message, tuple(map(Scalar, values)), exact)


def _numbered(message: str, inputs: Sequence[Value], attrs: dict[str, Any]) -> tuple[str, list[Value]]:
    """The template of a check's own message, and the operands it names ``x`` and ``y`` in their order."""
    text, values, operands = "", [], {"x": inputs[0], "y": inputs[-1]}
    for literal, name, _, _ in Formatter().parse(message):
        text += literal
        if name in operands:
            values.append(operands[name])
            text += "{}"
        elif name is not None:
            text += str(attrs[name])
    return text, values


def is_raised(entity: Entity | None) -> bool:
    """Whether it is an exception that was caught, or one of several."""
    return isinstance(entity, Raised) or (isinstance(entity, Choice) and all(map(is_raised, entity.options)))


def again(low: Lowering, entity: Entity) -> None:
    """Raise what was caught."""

    def one(option: Entity) -> Entity:
        assert isinstance(option, Raised)
        low.catching.exact = option.exact
        try:
            values = [low.value(v) for v in option.values]
            low.builder.call_named("check_that", False, *values, error=name_of(option.cls), message=option.message)
        finally:
            low.catching.exact = False
        raise Dead

    branching.each(low, entity, one) if isinstance(entity, Choice) else one(entity)


# -- what it says ---------------------------------------------------------------------------------


def arguments(low: Lowering, kept: Raised) -> Tup:
    """``e.args``."""
    if not kept.exact or not _is_plain(kept.cls):
        raise refuse(f"what this {kept.cls.__name__} says is not kept", low.loc, "write what it says yourself")
    if isinstance(kept.message, str):
        return Tup((_text(low, kept.message, iter(kept.values)) if kept.values else Const(kept.message),))
    return _arguments(low, kept.message, iter(kept.values))


_PLAIN = frozenset(
    {
        *(Exception, ArithmeticError, AssertionError, FloatingPointError, IndexError, KeyError, LookupError, TypeError),
        *(NotImplementedError, OverflowError, RuntimeError, RuntimeWarning, UserWarning, ValueError, ZeroDivisionError),
    }
)


def _is_plain(cls: type[Exception]) -> bool:
    """Whether its arguments are those it was made with, and what it says follows from them."""
    for base in cls.__mro__:
        if base in _PLAIN:
            return True
        if not {"__init__", "__new__", "__str__", "__repr__", "__format__", "args"}.isdisjoint(vars(base)):
            return False
    return False


def _arguments(low: Lowering, templates: Sequence[Any], values: Iterator[Entity]) -> Tup:
    """As `srcgraph.ir.text.arguments`, with entities."""
    out: list[Entity] = []
    for template in templates:
        if isinstance(template, tuple):
            out.append(_arguments(low, template, values))
        elif isinstance(template, str):
            out.append(next(values) if template.endswith(f"!{AS_IS}}}") else _text(low, template, values))
        else:
            out.append(Const(template))
    return Tup(tuple(out))


def _text(low: Lowering, template: str, values: Iterator[Entity]) -> Entity:
    """The text a template makes of values."""
    parts: list[str | Field] = []
    for literal, name, spec, conversion in Formatter().parse(template):
        parts += [literal] if literal else []
        if name is None:
            continue
        value = low.value(next(values))
        kind, percent, rest = name.partition("%")
        filled = Field(value, "%", percent + rest) if percent else Field(value, conversion or "", spec or "")
        written = "{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"
        if field(value.type, filled.conversion, filled.spec) != written:
            raise refuse(f"what the exception says of {kind or 'a value'} differs from path to path", low.loc)
        parts.append(filled)
    return Text(tuple(parts)) if any(isinstance(p, Field) for p in parts) else Const("".join(map(str, parts)))
