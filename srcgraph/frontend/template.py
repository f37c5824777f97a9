"""What a call returns, described over the outputs of its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from srcgraph.infer.signature import Skeleton
from srcgraph.ir.view import View


@dataclass(frozen=True, slots=True)
class Out:
    """A number: the output of that number."""

    index: int


@dataclass(frozen=True, slots=True)
class NewArray:
    """A new array: the output, or a view of it whose integers are outputs.

    Instead of new, it may be one of the arguments' arrays at the positions ``maybe``.
    """

    index: int
    view: View | None = None
    operands: tuple[int, ...] = ()
    maybe: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentView:
    """An argument's array itself, or a view of it whose integers are outputs.

    ``param`` is the position of the array among the graph's parameters.
    """

    param: int
    view: View | None = None
    operands: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EitherOf:
    """One of two arrays: ``then`` where the output of number ``test`` is true, else ``orelse``."""

    test: int
    then: Template
    orelse: Template


@dataclass(frozen=True, slots=True)
class Fixed:
    """Something known when compiling."""

    value: Any


@dataclass(frozen=True, slots=True)
class Never:
    """The call never returns: it raises."""


@dataclass(frozen=True, slots=True)
class TupleOf:
    items: tuple[Template, ...]
    cls: type = tuple


@dataclass(frozen=True, slots=True)
class FunctionOf:
    """A function made inside: ``key`` rebuilds it from its defaults, what it captures, its arguments."""

    key: Any
    parts: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several things; the output of number ``tag`` says which."""

    tag: int
    options: tuple[Template, ...]


def holds_function(template: Template) -> bool:
    """Whether it describes something that only compiled code can hold."""
    match template:
        case FunctionOf():
            return True
        case TupleOf(items=parts) | OneOf(options=parts):
            return any(map(holds_function, parts))
    return False


@dataclass(frozen=True, slots=True)
class RowsOf:
    """The items of a list at run time: ``item`` is what each is, ``parts`` the outputs they are in."""

    item: Skeleton
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A new list; ``cell`` tells lists apart."""

    content: TupleOf | RowsOf
    cell: int


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """The list that is an argument; ``position`` among the lists passed."""

    position: int


Template: TypeAlias = (
    Out
    | NewArray
    | ArgumentView
    | EitherOf
    | Fixed
    | TupleOf
    | RowsOf
    | ListOf
    | ArgumentList
    | FunctionOf
    | OneOf
    | Never
)
