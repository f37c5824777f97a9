"""Text: f-strings and the other ways to put numbers into strings. What is known is folded when compiling.

Text with numbers that are known only at run time can be written, raised or put into more text. It
keeps the values themselves, as they were when it was made; `srcgraph.ir.text` fills them in.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any

import gast
import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import choices, expressions, lists, operators, raised
from srcgraph.frontend.entities import Array, Choice, Const, Entity, Field, Listing, Maybe, Raised, Scalar, Text, Tup
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import computed, refuse
from srcgraph.ir.graph import Value
from srcgraph.ir.text import escaped, field, formatted
from srcgraph.ir.types import ArrayType, Type

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Part = str | Field


def text_of(parts: Sequence[Part]) -> Const | Text:
    """The entity of text put together from parts: a string if all of it is known."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    if all(isinstance(p, str) for p in joined):
        return Const("".join(p for p in joined if isinstance(p, str)))
    return Text(tuple(joined))


def template(parts: Sequence[Part]) -> tuple[str, list[Value]]:
    """The template of a text, and the values that fill it."""
    out, values = [], []
    for part in parts:
        if isinstance(part, str):
            out.append(escaped(part))
        else:
            out.append(field(part.value.type, part.conversion, part.spec))
            values.append(part.value)
    return "".join(out), values


def is_text(entity: Entity) -> bool:
    return isinstance(entity, Text) or (isinstance(entity, Const) and isinstance(entity.value, str))


# -- one value as text ----------------------------------------------------------------------------


def shown(low: Lowering, entity: Entity, conversion: str = "", spec: str = "") -> list[Part]:
    """A value as text, as ``format(value, spec)`` after a conversion makes it.

    Raises
    ------
    Refusal
        It has no text that is known to be Python's, or the format does not fit it.
    """
    match entity:
        case Text(parts=parts) if conversion in ("", "s") and not spec:
            return list(parts)
        case Raised() if not spec:
            return _said(low, entity, conversion)
        case Const(value=value):
            return [_python(low, value, conversion, spec)]
        case Scalar(value=value):
            return [_field(low, value, conversion, spec)]
        case Array():
            return [_field(low, low.value(entity), conversion, spec)]
        case Listing() if isinstance(held := lists.content(low, entity), Tup):
            return shown(low, Tup(held.items, list), conversion, spec)
        case Tup(items=items, cls=cls) if cls in (tuple, list):
            if spec and conversion in ("", "s", "%"):
                _python(low, cls([0]), conversion, spec)
            return _listed(low, [shown(low, e, "r") for e in items], cls)
    raise refuse(f"the text of {describe(entity)} is not supported here", low.loc, "put its parts into the text")


def _said(low: Lowering, kept: Raised, conversion: str) -> list[Part]:
    """``str(e)``, or ``repr(e)``."""
    args = raised.arguments(low, kept).items
    if conversion == "r":
        inside = [part for k, e in enumerate(args) for part in ([", "] if k else []) + shown(low, e, "r")]
        return [kept.cls.__name__, "(", *inside, ")"]
    if len(args) != 1:
        return shown(low, Tup(args), "s") if args else [""]
    return shown(low, args[0], "r" if issubclass(kept.cls, KeyError) else "s")


def _listed(low: Lowering, items: list[list[Part]], cls: type) -> list[Part]:
    """The text of a tuple or a list, from those of its items."""
    opening, closing = "()" if cls is tuple else "[]"
    out: list[Part] = [opening]
    for k, item in enumerate(items):
        out += [", ", *item] if k else item
    return [*out, "," if cls is tuple and len(items) == 1 else "", closing]


def _python(low: Lowering, value: Any, conversion: str, spec: str) -> str:
    try:
        if conversion == "%":
            return spec % (value,)
        return format({"": lambda x: x, "s": str, "r": repr, "a": ascii}[conversion](value), spec)
    except (TypeError, ValueError) as error:
        raise refuse(
            f"{describe(Const(value))} cannot be formatted so: {error}", low.loc, kind=InferenceError
        ) from None


def _field(low: Lowering, value: Value, conversion: str, spec: str) -> Field:
    """A value filled in at run time; the format is tried on a number of its type."""
    try:
        formatted(field(value.type, conversion, spec), [_example(value.type)])
    except (TypeError, ValueError) as error:
        raise refuse(
            f"a value of type {value.type} cannot be formatted so: {error}", low.loc, kind=InferenceError
        ) from None
    plain = conversion == "s" and not spec and (isinstance(value.type, ArrayType) or value.type.weak)
    return Field(value, "" if plain else conversion, spec)  # format() of NumPy's numbers is not str()


def _example(type: Type) -> Any:
    if isinstance(type, ArrayType):
        return np.ones((1,) * type.ndim, type.dtype)
    one = type.dtype.type(1)  # type: ignore[union-attr]
    return one.item() if type.weak else one  # type: ignore[union-attr]


# -- f-strings, %, format -------------------------------------------------------------------------

_CONVERSIONS = {-1: "", ord("s"): "s", ord("r"): "r", ord("a"): "a"}


def joined(low: Lowering, node: gast.JoinedStr) -> Entity:
    """An f-string."""
    pieces: list[tuple[str, str]] = []
    entities: list[Entity] = []
    for piece in node.values:
        entity, form = Const(getattr(piece, "value", "")), ("", "")
        if isinstance(piece, gast.FormattedValue):
            entity = expressions.optional(low, piece.value)
            if isinstance(entity, Maybe):
                raise refuse(f"{low.shown(entity)} in a text", low.loc, "test whether it is None first")
            spec = joined(low, piece.format_spec) if piece.format_spec is not None else Const("")
            form = _CONVERSIONS[piece.conversion], known_text(low, spec, "a format")
        entities.append(entity)
        pieces.append(form)

    def made(known: Sequence[Entity]) -> Entity:
        pairs = zip(known, pieces, strict=True)
        return text_of([part for e, form in pairs for part in shown(low, e, *form)])

    return choices.combined_options(low, entities, made)


def known_text(low: Lowering, entity: Entity, what: str) -> str:
    """A string that is known when compiling."""
    if isinstance(entity, Text):
        return "".join(p if isinstance(p, str) else str(low.static(Scalar(p.value), what)) for p in entity.parts)
    value = low.static(entity, what)
    if not isinstance(value, str):
        raise refuse(f"{what} must be a string, not {describe(entity)}", low.loc, kind=InferenceError)
    return value


_PERCENT = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?P<precision>\.(\*|\d*))?[hlL]?(?P<kind>[a-zA-Z%])")


def percent(low: Lowering, form: str, operand: Entity) -> Entity:
    """``"%d of %s" % (k, name)``."""
    given = list(operand.items) if isinstance(operand, Tup) and operand.cls is tuple else [operand]
    return choices.combined_options(low, given, lambda known: _percent(low, form, list(known)))


def _percent(low: Lowering, form: str, given: list[Entity]) -> Entity:
    parts: list[Part] = []
    at = 0
    for found in _PERCENT.finditer(form):
        parts.append(form[at : found.start()])
        at = found.end()
        if "*" in found.group():
            raise refuse("a width or precision of * is not supported", low.loc, "write an f-string")
        if found["kind"] == "%":
            parts.append("%")
            continue
        if not given:
            raise refuse("not enough arguments for format string", low.loc, kind=InferenceError)
        parts += _percent_field(low, given.pop(0), found.group())
    rest = form[at:]
    if "%" in _PERCENT.sub("", form):
        raise refuse(f"{form!r} is not a format", low.loc, kind=InferenceError)
    if given:
        raise refuse("not all arguments converted during string formatting", low.loc, kind=InferenceError)
    return text_of([*parts, rest])


def _percent_field(low: Lowering, entity: Entity, form: str) -> list[Part]:
    plain = {"%s": "s", "%r": "r", "%a": "a"}.get(form)
    if plain is not None:
        return shown(low, entity, plain)
    return shown(low, entity, "%", form)


def format_method(low: Lowering, form: str, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """``"{} of {n}".format(k, n=n)``."""

    def made(known: Sequence[Entity]) -> Entity:
        named = dict(zip(kwargs, known[len(args) :], strict=True))
        return text_of(_filled(low, form, list(known[: len(args)]), named, 0)[0])

    return choices.combined_options(low, [*args, *kwargs.values()], made)


def _filled(
    low: Lowering, form: str, args: list[Entity], kwargs: dict[str, Entity], count: int
) -> tuple[list[Part], int]:
    parts: list[Part] = []
    for literal, name, spec, conversion in _parsed(low, form):
        parts.append(literal)
        if name is None:
            continue
        if name == "":
            name, count = str(count), count + 1
        entity = args[int(name)] if name.isdigit() and int(name) < len(args) else kwargs.get(name)
        if entity is None:
            raise refuse(f"the format has no value for {{{name}}}", low.loc, "write an f-string", kind=InferenceError)
        inner, count = _filled(low, spec or "", args, kwargs, count)
        parts += shown(low, entity, conversion or "", known_text(low, text_of(inner), "a format"))
    return parts, count


def _parsed(low: Lowering, form: str) -> list[Any]:
    try:
        return list(Formatter().parse(form))
    except ValueError as error:
        raise refuse(f"{form!r} is not a format: {error}", low.loc, kind=InferenceError) from None


def is_one_of(entity: Entity) -> bool:
    """Whether it is one of several texts."""
    return isinstance(entity, Choice) and all(map(is_text, entity.options))


# -- operations on text ---------------------------------------------------------------------------


def parts_of(entity: Entity) -> list[Part]:
    """The parts of a string or a text."""
    return list(entity.parts) if isinstance(entity, Text) else [entity.value] if isinstance(entity, Const) else []


def binary(low: Lowering, op: str, x: Entity, y: Entity) -> Entity | None:
    """``+``, ``*`` and ``%`` of text; None if no operand is text."""
    if is_one_of(x) or is_one_of(y):
        return choices.combined_options(low, [x, y], lambda known: operators.binary(low, op, known[0], known[1]))
    if op == "mod" and isinstance(x, Const) and isinstance(x.value, str):
        return percent(low, x.value, y)
    if op == "add" and is_text(x) and is_text(y):
        return text_of([*parts_of(x), *parts_of(y)])
    if op == "mul" and (is_text(x) or is_text(y)):
        word, times = (x, y) if is_text(x) else (y, x)
        count = low.static(times, "how often a text is repeated")
        return text_of(computed(low, operator.mul, parts_of(word), count))
    return None


def method(low: Lowering, base: Entity, name: str, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """A method of a string."""
    if name == "format" and isinstance(base, Const):
        return format_method(low, base.value, args, kwargs)
    if name == "join" and isinstance(base, Const) and len(args) == 1:
        return _join(low, base.value, args[0])
    if isinstance(base, Const):
        known = [low.static(a, f"an argument of {name}()") for a in args]
        named = {k: low.static(v, k) for k, v in kwargs.items()}
        return _entity(computed(low, lambda: getattr(base.value, name)(*known, **named)))
    raise refuse(f"{name}() of a text with numbers of run time in it is not supported", low.loc)


def _entity(value: Any) -> Entity:
    if isinstance(value, list | tuple):
        return Tup(tuple(map(_entity, value)), type(value))
    return Const(value)


def _join(low: Lowering, between: str, items: Entity) -> Entity:
    return choices.combined_options(low, expressions.items_of(low, items), lambda known: _between(low, between, known))


def _between(low: Lowering, between: str, items: Sequence[Entity]) -> Entity:
    parts: list[Part] = []
    for k, item in enumerate(items):
        if not is_text(item):
            raise refuse(f"join() takes texts, not {describe(item)}", low.loc, "write str(...)", kind=InferenceError)
        parts += [between, *parts_of(item)] if k else parts_of(item)
    return text_of(parts)
