"""Text with numbers in it, and names: what `print`, `raise` and `assert` make of values at run time.

A *template* is text as for `str.format`, its fields taking the values in order. A field may name what
its value is, since compiled code hands over Python's numbers only: ``{np.float32:.3f}``. After the
name it may have a conversion of the older kind, ``{%5.2f}``, and besides Python's own conversions
there is ``{!v}``: the value itself, for arguments of an exception that are no text.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Iterator
from string import Formatter
from typing import Any

import numpy as np

from srcgraph.ir.types import ArrayType, ScalarType, Type


def is_name(text: str) -> bool:
    """Whether something can have this name in Python."""
    return text.isidentifier() and not keyword.iskeyword(text)


_CONVERSIONS: dict[str | None, Callable[[Any], Any]] = {None: lambda x: x, "s": str, "r": repr, "a": ascii}
AS_IS = "v"


def field(type: Type, conversion: str = "", spec: str = "") -> str:
    """The field of a template for a value of this type; the conversion ``%`` has a ``spec`` such as ``%5.2f``."""
    kind = f"np.{type.dtype.name}" if isinstance(type, ScalarType) and not type.weak else ""
    if conversion == "%":
        return "{" + kind + spec + "}"
    return "{" + kind + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"


def escaped(text: str) -> str:
    """Text as part of a template."""
    return text.replace("{", "{{").replace("}", "}}")


def formatted(template: str, values: Iterable[Any]) -> str:
    """The text a template makes of values, each formatted as Python does."""
    return _formatted(template, iter(values))


def _formatted(template: str, values: Iterator[Any]) -> str:
    out = []
    for literal, name, spec, conversion in Formatter().parse(template):
        out.append(literal)
        if name is None:
            continue
        kind, percent, rest = name.partition("%")
        value = _typed(kind, next(values))
        if percent:
            out.append(f"%{rest}" % (value,))
        else:
            out.append(format(_CONVERSIONS[conversion](value), _formatted(spec or "", values)))
    return "".join(out)


def _typed(kind: str, value: Any) -> Any:
    """The value as what it is called: compiled code hands over Python's numbers."""
    return getattr(np, kind.removeprefix("np."))(value) if kind else value


def arguments(templates: Iterable[Any], values: Iterable[Any]) -> tuple[Any, ...]:
    """The arguments of an exception: texts are templates, tuples are made of such, the rest is as it is."""
    return _arguments(templates, iter(values))


def _arguments(templates: Iterable[Any], values: Iterator[Any]) -> tuple[Any, ...]:
    out = []
    for template in templates:
        if isinstance(template, tuple):
            out.append(_arguments(template, values))
        elif not isinstance(template, str):
            out.append(template)
        elif template.endswith("!v}"):
            out.append(_typed(template[1:-3], next(values)))
        else:
            out.append(_formatted(template, values))
    return tuple(out)


def field_of(type: ScalarType | ArrayType) -> str:
    """The field that stands for a value itself."""
    return field(type, AS_IS)
