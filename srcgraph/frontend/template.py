"""What a call returns, described over the outputs of its graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from srcgraph.frontend.entities import Const, Unbound
from srcgraph.infer.signature import Skeleton
from srcgraph.ir.view import View


@dataclass(frozen=True, slots=True)
class Out:
    """A number: the output of that number."""

    index: int


@dataclass(frozen=True, slots=True)
class RngOf:
    """A random generator: the output of that number."""

    index: int


@dataclass(frozen=True, slots=True)
class NewArray:
    """A new array: the output, or a view of it whose integers are outputs.

    Instead of new, it may be one of the arguments' arrays at the positions ``maybe``, or the outputs ``beside``.
    """

    index: int
    view: View | None = None
    operands: tuple[int, ...] = ()
    maybe: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()


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
class ReshapeOf:
    """NumPy's reshape of an array to lengths that are outputs, or its ``ravel``, or a view of that."""

    array: Template
    dims: tuple[int, ...]
    ravel: bool = False
    view: View | None = None
    operands: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fixed:
    """Something known when compiling."""

    value: Any


@dataclass(frozen=True, slots=True)
class Never:
    """The call never returns: it raises."""


@dataclass(frozen=True, slots=True)
class TupleOf:
    """A tuple or a list."""

    items: tuple[Template, ...]
    cls: type = tuple


@dataclass(frozen=True, slots=True)
class RecordOf:
    """The fields of an object."""

    cls: type
    names: tuple[Any, ...]
    items: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class NewBox:
    """A new box; one met again has the same ``number`` and no content."""

    number: int
    name: str
    content: Template | None


@dataclass(frozen=True, slots=True)
class ArgumentBox:
    """A box of the arguments', by its position among them."""

    position: int


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object whose fields are in a box."""

    cls: type
    box: NewBox | ArgumentBox


@dataclass(frozen=True, slots=True)
class MaybeOf:
    """Something that may be there: a flag, what it is then, and what it is otherwise."""

    bound: Template
    inner: Template
    absent: Unbound | Const


@dataclass(frozen=True, slots=True)
class FunctionOf:
    """A function made inside: ``key`` rebuilds it from its defaults, what it captures, its arguments."""

    key: Any
    parts: tuple[Template | NewBox | ArgumentBox, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several things; the output of number ``tag`` says which."""

    tag: int
    options: tuple[Template, ...]


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A field of an argument's object that holds what it held before the call."""


@dataclass(frozen=True, slots=True)
class Gone:
    """An iterator of which nothing may be left."""

    name: str


@dataclass(frozen=True, slots=True)
class Rebound:
    """What a box of the arguments' holds after the call."""

    position: int
    content: Template | Gone


@dataclass(frozen=True, slots=True)
class RowsOf:
    """The items of a list at run time: ``item`` is what each is, ``parts`` the outputs they are in."""

    item: Skeleton
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A new list; ``cell`` tells lists apart. It may be the argument at one of the positions ``maybe`` instead."""

    content: TupleOf | RowsOf
    cell: int
    maybe: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """The list that is an argument; ``position`` among the lists passed."""

    position: int


Template: TypeAlias = (
    Out
    | RngOf
    | NewArray
    | ArgumentView
    | EitherOf
    | ReshapeOf
    | Fixed
    | Unchanged
    | Never
    | TupleOf
    | RowsOf
    | ListOf
    | ArgumentList
    | RecordOf
    | ObjectOf
    | MaybeOf
    | FunctionOf
    | OneOf
)


def parts_of(template: Template | NewBox | ArgumentBox) -> tuple[Template | NewBox | ArgumentBox, ...]:
    """The templates one is made of."""
    match template:
        case TupleOf(items=items) | RecordOf(items=items):
            return items
        case ListOf(content=content):
            return (content,)
        case EitherOf(then=then, orelse=orelse):
            return (then, orelse)
        case ReshapeOf(array=array):
            return (array,)
        case FunctionOf(parts=parts) | OneOf(options=parts):
            return parts
        case MaybeOf(bound=bound, inner=inner):
            return (bound, inner)
        case ObjectOf(box=box):
            return (box,)
        case NewBox(content=content):
            return () if content is None else (content,)
    return ()


def places(tree: Template) -> list[int]:
    """The outputs in a structure of floats, in order."""
    match tree:
        case Out(index=k) | NewArray(index=k):
            return [k]
        case RowsOf(parts=parts):
            return list(parts)
        case TupleOf(items=items) | RecordOf(items=items):
            return [k for t in items for k in places(t)]
        case ListOf(content=content) | ObjectOf(box=NewBox(content=RecordOf() as content)):
            return places(content)
    return []
