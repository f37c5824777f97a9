"""Statements and calls that are seen outside: raise, assert, print, warnings."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend import branching, choices, conditions, expressions, raised, statements
from srcgraph.frontend.catching import KEPT
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Scalar, Text, Tup, Unusable
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import Dead, refuse
from srcgraph.frontend.pythonic import BUILTINS, MANY, builtin
from srcgraph.frontend.text import Part, is_text, known_text, parts_of, shown, template, text_of
from srcgraph.ir.exceptions import name_of
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.marks import save
from srcgraph.ir.text import escaped, field_of

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

# -- raise and assert -----------------------------------------------------------------------------


def raise_(low: Lowering, node: gast.Raise) -> None:
    """``raise Error(...)`` of a builtin exception, or of a class derived from one."""
    error, args = node.exc, []
    if error is None:
        raise refuse("raise without an exception is not supported", low.loc, 'write raise ValueError("message")')
    if node.cause is not None and not _is_caught(low, node.cause) and expressions.lower(low, node.cause) != NONE:
        raise refuse("raise ... from another exception is not supported", low.loc, "write raise ... from None")
    if isinstance(error, gast.Call):
        if error.keywords:
            raise refuse("keywords of an exception are not supported", low.loc, "pass its arguments by position")
        args = expressions.elements(low, error.args)
        error = error.func
    cls = expressions.lower(low, error)
    if raised.is_raised(cls) and not isinstance(node.exc, gast.Call):
        raised.again(low, cls)
    known = cls.value if isinstance(cls, Const) else None
    if not (isinstance(known, type) and issubclass(known, Exception)):
        hint = 'for example: raise ValueError("message")'
        raise refuse("only exceptions can be raised, by their class", low.loc, hint, kind=InferenceError)
    fail(low, known, args)


def _is_caught(low: Lowering, node: Any) -> bool:
    """Whether this is the exception of the handler it stands in, whose chain is not kept."""
    known = low.state.names.get(node.id) if isinstance(node, gast.Name) else None
    return raised.is_raised(known) or (isinstance(known, Unusable) and known.why == KEPT)


def fail(low: Lowering, cls: type[Exception], args: list[Entity]) -> None:
    """Raise, with these arguments; the path ends."""

    def raising(args: Sequence[Entity]) -> Entity:
        message, values = message_of(low, args)
        low.catching.exact = True
        try:
            low.builder.call_named("check_that", False, *values, error=name_of(cls), message=message)
        finally:
            low.catching.exact = False
        raise Dead

    branching.apart(low, args, raising)


def message_of(low: Lowering, args: Sequence[Entity]) -> tuple[Any, list[Value]]:
    """What an exception is made from, as `check_that` has it, and the values that are filled in."""
    if len(args) == 1 and is_text(args[0]):
        return template(parts_of(args[0])) if isinstance(args[0], Text) else (args[0].value, [])  # type: ignore[union-attr]
    values: list[Value] = []
    return tuple(_argument(low, a, values) for a in args), values


def _argument(low: Lowering, entity: Entity, values: list[Value]) -> Any:
    """An argument of an exception: a template, a tuple of such, or something known."""
    match entity:
        case Text(parts=parts):
            made, more = template(parts)
            values += more
            return made
        case Const(value=value) if isinstance(value, str):
            return escaped(value)
        case Const(value=value) if value is None or isinstance(value, bool | int | float):
            return value
        case Scalar() | Array():
            values.append(low.value(entity))
            return field_of(values[-1].type)
        case Tup(items=items, cls=cls) if cls is tuple:
            return tuple(_argument(low, e, values) for e in items)
    raise refuse(f"an exception cannot be given {describe(entity)} here", low.loc, "put it into the message")


def assert_(low: Lowering, node: gast.Assert) -> None:
    """``assert test, message``: the message is made only where the test fails."""
    test = conditions.tested(low, node.test)
    if test is True:
        return
    if test is False:
        fail(low, AssertionError, [] if node.msg is None else [expressions.lower(low, node.msg)])
    assert isinstance(test, Value)
    if node.msg is None or isinstance(node.msg, gast.Constant):
        args: list[Entity] = [] if node.msg is None else [Const(node.msg.value)]
        message, _ = message_of(low, args)
        low.builder.call_named("check_that", test, error="AssertionError", message=message)
        low.builder.learn_condition(test, True)
        return
    going, failing = ((low.builder.new_region(), low.state.copy()) for _ in range(2))

    def raising() -> None:
        low.builder.learn_condition(test, False)
        try:
            fail(low, AssertionError, [expressions.lower(low, node.msg)])
        except Dead:
            low.state.dead = True

    low.inside(*failing, lambda: low.catching.inside(raising))
    live = frozenset(n for n in low.state.names if isinstance(n, str))
    statements.merge(low, test, going, failing, live, node)


# -- what a program says to derivatives ------------------------------------------------------------


def save_(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str) -> Entity:
    """``save(x)``: ``x`` itself."""
    if kwargs or len(args) != 1:
        raise refuse("save takes one number, array, or tuple of these", low.loc, kind=InferenceError)
    _mark(low, args[0], hint)
    return args[0]


BUILTINS[save] = save_


def _mark(low: Lowering, entity: Entity, hint: str = "") -> None:
    match entity:
        case Tup(items=items):
            for item in items:
                _mark(low, item)
        case Scalar() | Array():
            value = low.value(entity)
            low.builder.suggest(value, hint)
            low.builder.call_named("saved", value)
        case Const(value=bool() | int() | float() | complex()):
            pass
        case _:
            raise refuse(f"save takes numbers, arrays and tuples of these, not {describe(entity)}", low.loc)


# -- print and warnings ---------------------------------------------------------------------------

STREAMS = ("stdout", "stderr")


def stream_named(name: str) -> Const | None:
    """What ``sys.stdout`` means: the stream that has the name when text is written."""
    return Const(Stream(name)) if name in STREAMS else None


class Stream(str):
    """A stream of `sys`, by name."""


@builtin(builtins.print, 0, MANY, "sep end file flush")
def print_(
    low: Lowering,
    *args: Entity,
    sep: Entity = NONE,
    end: Entity = NONE,
    file: Entity = NONE,
    flush: Entity = Const(False),
) -> Entity:
    stream = _stream(low, file)
    branching.apart(low, [sep, end, *args], lambda known: _show(low, stream, *known))
    if low.static(flush, "flush"):
        low.builder.call(OPS["flush"], (), {"stream": stream})
    return NONE


def _show(low: Lowering, stream: str, sep: Entity, end: Entity, *args: Entity) -> Entity:
    """Write what is printed."""
    between, after = _parts_or(low, sep, "sep", " "), _parts_or(low, end, "end", "\n")
    parts: list[Part] = []
    for k, arg in enumerate(args):
        parts += [*(between if k else []), *shown(low, arg, "s")]
    form, values = template([*parts, *after])
    if form:
        low.builder.call(OPS["show" if stream == "stdout" else "show_error"], values, {"text": form})
    return NONE


def _parts_or(low: Lowering, entity: Entity, name: str, default: str) -> list[Part]:
    """The text that stands between, or after, what is printed."""
    if entity == NONE:
        return [default]
    if not is_text(entity):
        raise refuse(f"{name} must be None or a string, not {describe(entity)}", low.loc, kind=InferenceError)
    return parts_of(entity)


def _stream(low: Lowering, file: Entity) -> str:
    if file == NONE:
        return "stdout"
    if isinstance(file, Const) and isinstance(file.value, Stream):
        return str(file.value)
    raise refuse("print() into this file is not supported", low.loc, "print to sys.stdout or sys.stderr")


@builtin(warnings.warn, 1, 3, "category stacklevel")
def warn_(
    low: Lowering, message: Entity, category: Entity = Const(UserWarning), stacklevel: Entity = Const(1)
) -> Entity:
    cls = low.static(category, "the category of a warning")
    if not (isinstance(cls, type) and issubclass(cls, Warning)):
        raise refuse("warnings.warn takes a text and a class of warnings here", low.loc, kind=InferenceError)
    return branching.apart(low, [message], lambda known: _warn(low, known[0], cls))


def _warn(low: Lowering, message: Entity, cls: type[Warning]) -> Entity:
    if not is_text(message):
        raise refuse("warnings.warn takes a text and a class of warnings here", low.loc, kind=InferenceError)
    form, values = template(parts_of(message))
    assert low.loc is not None
    module = str(low.code.globals.get("__name__", "<unknown>"))
    place = {"file": low.loc.file, "line": low.loc.line, "module": module}
    low.builder.call(OPS["warn"], values, {"text": form, "category": name_of(cls), **place})
    return NONE


@builtin(str, 0, 1)
def str_(low: Lowering, x: Entity = Const("")) -> Entity:
    return text_entity(low, x, "s")


@builtin(repr, 1, 1)
def repr_(low: Lowering, x: Entity) -> Entity:
    return text_entity(low, x, "r")


@builtin(format, 1, 2)
def format_(low: Lowering, x: Entity, spec: Entity = Const("")) -> Entity:
    return text_entity(low, x, "", known_text(low, spec, "a format"))


def text_entity(low: Lowering, x: Entity, conversion: str, spec: str = "") -> Entity:
    return choices.combined_options(low, [x], lambda known: text_of(shown(low, known[0], conversion, spec)))
