"""What a call is specialised on: the skeleton of its arguments.

A skeleton says everything about an argument that changes the graph: dtypes, numbers of axes, which
axes have length 1, Python's numbers or NumPy's, tuples' structure, which arguments are the same
array, and whatever is known when compiling (None, strings, functions).
"""

from __future__ import annotations

import enum
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.infer.objects import fields_of, is_named_tuple, why_opaque
from srcgraph.ir.bitgen import address
from srcgraph.ir.dims import Dim, as_dim, symbol
from srcgraph.ir.shared import Container, SharedVariable
from srcgraph.ir.types import INT, NAME_OF, WEAK_NAME, ArrayType, ScalarType
from srcgraph.ir.view import View

LETTERS = ("n", "m", "p", "q", "r")


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """A number: Python's own (``weak``) or NumPy's. ``size`` is the symbol that it is, as some axes' lengths are.

    It may be that and a difference.
    """

    dtype: np.dtype
    weak: bool
    size: str | tuple[str, int] = ""
    positive: bool = False
    """Whether it is an integer of which it is part of the signature that it is at least 1."""

    @property
    def type(self) -> ScalarType:
        return ScalarType(self.dtype, self.weak, _dim(self.size) if self.size else None)


class RngArg(ScalarArg):
    """A NumPy random generator, passed as the integer that `srcgraph.ir.bitgen` makes of it."""

    __slots__ = ()


RNG = RngArg(INT, weak=True)


Size: TypeAlias = int | str | tuple[str, int]


Between: TypeAlias = tuple[int, int, int, int, int]
"""An array among the leaves, an axis, another array, an axis, and how much longer this is.

-1 for an axis is a number itself, -1 for the first array nothing: what is left is how long an axis is. `AT_LEAST`
for the first array says how long it is at least.
"""
AT_LEAST = -2

SMALL = 16
"""The longest axis of which the length may be part of a signature."""
LONG = 64
"""So many elements are many, on axes that are not short, and so many steps."""


def _named(size: str | tuple[str, int]) -> tuple[str, int]:
    return (size, 0) if isinstance(size, str) else size


def _dim(size: Size) -> Dim:
    if isinstance(size, int):
        return as_dim(size)
    name, more = _named(size)
    return symbol(name) + more


@dataclass(frozen=True, slots=True)
class ArrayArg:
    """An array. Sizes are numbers where they are part of the signature, else symbols' names, or these and a difference.

    Arguments with the same ``cell`` are the same array.
    """

    dtype: np.dtype
    shape: tuple[Size, ...]
    cell: int
    turned: bool = False
    """Whether it is a whole argument that lies in Fortran's order."""

    @property
    def dims(self) -> tuple[Dim, ...]:
        return tuple(map(_dim, self.shape))

    @property
    def type(self) -> ArrayType:
        return ArrayType(self.dtype, self.dims)


@dataclass(frozen=True, slots=True)
class ViewArg:
    """A part of an array that a called function stores into: the array, and the operands of the view after it.

    An operand is a number where that is a length known when compiling, else the name of a size.
    """

    base: ArrayArg
    view: View
    operands: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class TupleArg:
    """A tuple of arguments."""

    items: tuple[Skeleton, ...]
    cls: type = tuple


@dataclass(frozen=True, slots=True)
class RowsArg:
    """A list of items of one kind. ``size`` is that of arrays that hold them; '' if it is a growing list.

    As the kind of an item it is that of lists of one length, and ``cell`` means nothing.
    """

    item: Skeleton
    size: int | str
    cell: int
    twin: int | None = None
    """Where lists count as distinct: the cell of the same one met before."""


@dataclass(frozen=True, slots=True)
class ItemsArg:
    """A list of known length whose items may differ."""

    items: tuple[Skeleton, ...]
    cell: int
    twin: int | None = None
    """Where lists count as distinct: the cell of the same one met before."""


@dataclass(frozen=True, slots=True)
class IterationArg:
    """What a loop runs over: a range, zip and the like of these parts."""

    kind: str
    parts: tuple[Skeleton, ...]


class StaticArg:
    """Something known when compiling; numbers and strings compare by value, the rest by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def _key(self) -> Any:
        by_value = isinstance(self.value, str | bool | int | float | complex | slice | np.dtype)
        return (type(self.value), repr(self.value)) if by_value else id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticArg) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"StaticArg({self.value!r})"


@dataclass(frozen=True, slots=True)
class MaybeArg:
    """Something that may be there: a flag, what it is then, and what it is otherwise."""

    bound: Skeleton
    inner: Skeleton
    absent: Any


@dataclass(frozen=True, slots=True)
class RecordArg:
    """The fields of an object, or the items of a dict."""

    cls: type
    names: tuple[Any, ...]
    items: tuple[Skeleton, ...]


@dataclass(frozen=True, slots=True)
class BoxArg:
    """A slot that can be changed. One met again has the same ``cell`` and no content."""

    cell: int
    content: Skeleton | None


@dataclass(frozen=True, slots=True)
class ObjectArg:
    """An object; where objects count as distinct, ``twin`` is the cell of the same one met before."""

    cls: type
    box: BoxArg
    twin: int | None = None


@dataclass(frozen=True, slots=True)
class FunctionArg:
    """A nested function: its code, and the skeletons of its defaults and of what it captures."""

    code: Any
    parts: tuple[Skeleton, ...]


@dataclass(frozen=True, slots=True)
class ChoiceArg:
    """One of several things; which one is a number passed at run time, before the values of all of them."""

    options: tuple[Skeleton, ...]


Skeleton: TypeAlias = (
    ScalarArg
    | ArrayArg
    | ViewArg
    | TupleArg
    | RowsArg
    | ItemsArg
    | IterationArg
    | StaticArg
    | FunctionArg
    | ChoiceArg
    | MaybeArg
    | RecordArg
    | BoxArg
    | ObjectArg
)


def parts_of(skeleton: Skeleton) -> tuple[Skeleton, ...]:
    """The skeletons one is made of."""
    match skeleton:
        case TupleArg(items=items) | ItemsArg(items=items) | RecordArg(items=items):
            return items
        case FunctionArg(parts=parts) | IterationArg(parts=parts) | ChoiceArg(options=parts):
            return parts
        case MaybeArg(bound=bound, inner=inner):
            return (bound, inner)
        case BoxArg(content=content):
            return () if content is None else (content,)
        case ObjectArg(box=box):
            return (box,)
        case ViewArg(base=base):
            return (base,)
    return ()


def passed_twice(skeletons: Iterable[Skeleton]) -> bool:
    """Whether some array is more than one of the arguments."""
    cells = [s.cell for s in all_parts(skeletons) if isinstance(s, ArrayArg)]
    return len(set(cells)) < len(cells)


def sizes_of(skeletons: Iterable[Skeleton]) -> frozenset[str]:
    """The names of all sizes."""
    parts = list(all_parts(skeletons))
    found = [d for s in parts if isinstance(s, ArrayArg) for d in s.shape]
    found += [d for s in parts if isinstance(s, RowsArg) for d in (s.size, *inner_sizes(s.item))]
    found += [o for s in parts if isinstance(s, ViewArg) for o in s.operands]
    found += [_named(s.size)[0] for s in parts if isinstance(s, ScalarArg)]
    return frozenset(d for d in found if isinstance(d, str) and d)


def all_parts(skeletons: Iterable[Skeleton]) -> Iterator[Skeleton]:
    """Skeletons and what they are made of, in the order of their numbers and arrays."""
    for s in skeletons:
        yield s
        yield from all_parts(parts_of(s))


class Sizes:
    """Hands out names for sizes: n, m, p, q, r, then n1, n2, ..."""

    def __init__(self) -> None:
        self.count = 0

    def new(self) -> str:
        k = self.count
        self.count += 1
        return LETTERS[k] if k < len(LETTERS) else f"n{k - len(LETTERS) + 1}"


@dataclass(frozen=True, slots=True)
class Column:
    """One number of every item of a list, passed as an array."""

    source: list[Any]
    path: tuple[int, ...]
    dtype: np.dtype

    def array(self) -> np.ndarray:
        """The numbers as they are now."""
        numbers = self.source
        for k in self.path:
            numbers = [item[k] for item in numbers]
        return np.array(numbers, self.dtype)


@dataclass(slots=True)
class Leaves:
    """The arrays and numbers of a call in order, and what has been seen of them."""

    values: list[Any] = field(default_factory=list)
    sizes: Sizes = field(default_factory=Sizes)
    cells: list[tuple[np.ndarray, ArrayArg]] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    """The objects, by the number of their box."""
    lists: list[list[Any]] = field(default_factory=list)
    """The lists, by the number of their cell."""
    rows: list[list[Any]] = field(default_factory=list)
    """The lists that are inside of one."""
    around: list[Any] = field(default_factory=list)
    """The objects that hold what is being described."""
    generators: list[np.random.Generator] = field(default_factory=list)
    distinct: bool = False
    """Whether an array, a list or an object passed twice counts as two."""
    alike: bool = False
    """Whether it is part of the signature that sizes of arrays are the same, or differ by a small number."""
    small: bool = False
    """Whether small lengths are part of the signature."""
    signs: bool = False
    """Whether it is part of the signature which integers are positive."""

    named: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """For each symbol: the first array with it, the axis, and what is added to it there; -1 if that is a number."""
    lengths: frozenset[int] = frozenset()
    """The lengths of arrays that are passed as integers, too."""
    numbers: dict[int, str] = field(default_factory=dict)
    """The symbols of the integers that are lengths."""
    between: list[Between] = field(default_factory=list)

    def array(self, value: np.ndarray) -> ArrayArg:
        """Describe an array; one with the memory of an earlier one is the same array."""
        self.values.append(value)
        for other, arg in self.cells:
            if not self.distinct and (value is other or _same_memory(value, other)):
                return arg
        shape: tuple[Size, ...] = ()
        for k, d in enumerate(value.shape):
            shape += (d if d == 1 or self.is_small(d) else self.size(value.shape, k, shape),)
        self.note(shape)
        arg = ArrayArg(value.dtype, shape, len(self.cells))
        self.cells.append((value, arg))
        return arg

    def is_small(self, length: int) -> bool:
        """Whether a length is part of the signature."""
        return self.small and 1 < length <= SMALL

    def size(self, shape: tuple[int, ...], k: int, before: tuple[Size, ...]) -> Size:
        """What an axis is called: by an axis of an earlier array that it goes with, or of its own, or anew."""
        if shape[k] in self.lengths:
            return self.named_length(shape[k])
        near: list[tuple[int, tuple[str, int]]] = []
        for other, arg in self.cells if self.alike else ():
            alike = other.ndim == len(shape)
            for j in {k} if alike else {k, k + other.ndim - len(shape)}:
                size = arg.shape[j] if 0 <= j < other.ndim else 1
                if not isinstance(size, int):
                    difference = shape[k] - other.shape[j]
                    if not difference or (alike and 4 * abs(difference) <= min(32, shape[k])):
                        near.append((difference, _named(size)))
        equal = any(difference == 0 for difference, _ in near)
        if self.alike and not equal and shape[k] in shape[:k]:
            return before[shape.index(shape[k])]
        if not near:
            return self.sizes.new()
        difference, (name, more) = min(near, key=lambda found: abs(found[0]))
        return (name, difference + more) if difference + more else name

    def number(self, value: int) -> str:
        """The symbol of an integer that is the length of an array, else ''."""
        if value not in self.lengths:
            return ""
        name = self.named_length(value)
        self.meet(name, -1, 0)
        return name

    def is_positive(self, value: int) -> bool:
        """Whether it is part of the signature that an integer, the leaf that comes last, is positive."""
        if self.signs and value >= 1:
            self.between.append((AT_LEAST, 0, len(self.values) - 1, -1, 1))
        return self.signs and value >= 1

    def named_length(self, value: int) -> str:
        if value not in self.numbers:
            self.numbers[value] = self.sizes.new()
        return self.numbers[value]

    def note(self, shape: Sequence[Size]) -> None:
        """What must hold of the lengths of the array that comes last, described so."""
        for axis, size in enumerate(shape):
            if not isinstance(size, int):
                name, more = _named(size)
                self.meet(name, axis, more)
            elif size > 1:
                self.between.append((-1, 0, len(self.values) - 1, axis, size))

    def meet(self, name: str, axis: int, more: int) -> None:
        """A symbol, of the leaf that comes last: what must hold if it is not the first with it."""
        last = len(self.values) - 1
        first, its, less = self.named.setdefault(name, (last, axis, more))
        if (first, its) != (last, axis):
            self.between.append((first, its, last, axis, more - less))

    def met(self, value: Any) -> int | None:
        """The number of an object's box, if it has been met."""
        return next((k for k, known in enumerate(self.objects) if known is value), None)


def _list_arg(value: list[Any], name: str, leaves: Leaves, static: frozenset[str]) -> Skeleton:
    """Describe a list: of items of one kind made of numbers, or item by item."""
    known = leaves.lists
    if any(value is row for row in leaves.rows):
        why = f"argument {name!r} is a list inside another one that is passed"
        raise ArgumentError(Problem(why, hint="pass a copy of it: row[:]"))
    met = next((k for k, other in enumerate(known) if other is value), None)
    twin = met if leaves.distinct else None
    cell = len(known) if met is None or leaves.distinct else met
    if cell == len(known):
        known.append(value)
    known_items = any(n == name or n.startswith(f"{name}[") for n in static)
    item = None if known_items else _item_kind(value) or _row_kind(value, leaves)
    if item is None:
        return ItemsArg(tuple(skeleton_of(v, f"{name}[{k}]", leaves, static) for k, v in enumerate(value)), cell, twin)
    leaves.values += [Column(value, path, dtype) for path, dtype in columns(item)]
    return RowsArg(item, 1 if len(value) == 1 else leaves.sizes.new(), cell, twin)


def _row_kind(value: list[Any], leaves: Leaves) -> RowsArg | None:
    """The kind of the lists in a list, if they are different ones of one length, of numbers of one kind."""
    if not value or any(type(v) is not list or len(v) != len(value[0]) or not v for v in value):
        return None
    others = [*leaves.lists, *leaves.rows]
    if len({*map(id, value), *map(id, others)}) < len(value) + len(others):
        return None
    items = {_item_kind(v) for v in value}
    item = items.pop()
    if items or not isinstance(item, ScalarArg):
        return None
    leaves.rows += value
    return RowsArg(item, 1 if len(value[0]) == 1 else leaves.sizes.new(), -1)


def inner_sizes(item: Skeleton) -> tuple[int | str, ...]:
    """The lengths of the lists that an item of a list is."""
    return (item.size, *inner_sizes(item.item)) if isinstance(item, RowsArg) else ()


def _item_kind(value: list[Any]) -> Skeleton | None:
    """What every item of a list is, if all are of one kind that is made of numbers."""
    found = set(map(type, value))
    if len(found) == 1 and found <= {bool, int, float, complex}:  # the type says it of all but those that do not fit
        value = [min(value), max(value)] if found == {int} else value[:1]
    kinds = {_number_kind(v) for v in value}
    return kinds.pop() if len(kinds) == 1 else None


def _number_kind(value: Any) -> Skeleton | None:
    kind = type(value)
    if kind in (bool, float, complex) or (kind is int and -(2**63) <= value < 2**63):
        return ScalarArg(np.dtype(kind), weak=True)
    if isinstance(value, np.generic) and value.dtype in NAME_OF:
        return ScalarArg(value.dtype, weak=False)
    if isinstance(value, tuple) and kind is tuple and value:
        items = [k for k in map(_number_kind, value) if k is not None]
        return TupleArg(tuple(items)) if len(items) == len(value) else None
    return None


def columns(item: Skeleton, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], np.dtype]]:
    """Where each number of an item is, and its dtype."""
    if isinstance(item, ScalarArg):
        yield path, item.dtype
    elif isinstance(item, RowsArg):
        yield from columns(item.item, path)
    elif isinstance(item, TupleArg):
        for k, part in enumerate(item.items):
            yield from columns(part, (*path, k))


def _same_memory(x: np.ndarray, y: np.ndarray) -> bool:
    x_at, y_at = x.__array_interface__["data"][0], y.__array_interface__["data"][0]
    return (x_at, x.shape, x.strides, x.dtype) == (y_at, y.shape, y.strides, y.dtype) and x.size > 0


_STATIC = (
    str,
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    type(Ellipsis),
    slice,
    np.dtype,
    enum.Enum,
    SharedVariable,
)


def skeleton_of(value: Any, name: str, leaves: Leaves, static: frozenset[str] = frozenset()) -> Skeleton:
    """Describe one argument and append its numbers and arrays to ``leaves``.

    Parameters
    ----------
    value : object
        The argument.
    name : str
        Its name, for messages.
    leaves : Leaves
        Collects what has to be passed at run time.
    static : frozenset of str
        The numbers that are to be known when compiling: names, and parts such as ``name.field``.

    Raises
    ------
    ArgumentError
        The argument is of a type that cannot be used; the message names it.
    """
    if isinstance(value, np.ndarray):
        return _array_arg(value, name, leaves)
    if type(value) in (bool, int, float, complex):
        if name in static:
            return StaticArg(value)
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise _refuse(name, f"{value} does not fit in 64 bits", "pass a float")
        leaves.values.append(value)
        if type(value) is int:
            return ScalarArg(INT, True, leaves.number(value), leaves.is_positive(value))
        return ScalarArg(np.dtype(type(value)), True)
    if isinstance(value, np.generic):
        return _numpy_scalar(value, name, leaves, name in static)
    if type(value) is tuple or (isinstance(value, tuple) and is_named_tuple(type(value))):
        items = tuple(skeleton_of(v, part_name(name, type(value), k), leaves, static) for k, v in enumerate(value))
        return TupleArg(items, type(value))
    if type(value) is np.random.Generator:
        leaves.values.append(address(value))
        leaves.generators.append(value)
        return RNG
    if isinstance(value, np.random.RandomState):
        raise _refuse(name, "a RandomState is not supported", "pass a generator: np.random.default_rng(seed)")
    if type(value) is list:
        return _list_arg(value, name, leaves, static)
    if type(value) is dict:
        return _object_arg(value, value, name, leaves, static)
    if value is None or isinstance(value, _STATIC):
        return StaticArg(value)
    if isinstance(value, Container):
        return _object_arg(value, {"value": value.value}, name, leaves, static)
    if not (why := why_opaque(type(value))):
        return _object_arg(value, fields_of(value), name, leaves, static)
    if callable(value):
        return StaticArg(value)
    reason = f": {why}" if why.startswith("its class") else ""
    raise _refuse(name, f"{a_or_an(type(value).__name__)} is not supported{reason}")


def part_name(name: str, cls: type, key: Any) -> str:
    """How users write a part of an argument: an item, or a field."""
    if is_named_tuple(cls):
        return f"{name}.{cls._fields[key]}"  # type: ignore[attr-defined]
    return f"{name}[{key!r}]" if cls in (tuple, list, dict) else f"{name}.{key}"


def _object_arg(value: Any, fields: dict[Any, Any], name: str, leaves: Leaves, static: frozenset[str]) -> ObjectArg:
    """Describe an object by its fields; one met before is the same object."""
    cls = type(value)
    twin = leaves.met(value)
    if twin is not None and not leaves.distinct:
        return ObjectArg(cls, BoxArg(twin, None))
    if twin is not None and any(value is other for other in leaves.around):
        raise _refuse(name, "the gradient of something that contains itself is not supported")
    cell = len(leaves.objects)
    leaves.objects.append(value)
    leaves.around.append(value)
    for key in fields:
        if not isinstance(key, str | int | float | bool | tuple | None | enum.Enum):
            raise _refuse(name, f"a dict with a key such as {key!r} is not supported", "use strings or integers")
    items = tuple(skeleton_of(v, part_name(name, cls, k), leaves, static) for k, v in fields.items())
    leaves.around.pop()
    return ObjectArg(cls, BoxArg(cell, RecordArg(cls, tuple(fields), items)), twin)


def _numpy_scalar(value: np.generic, name: str, leaves: Leaves, static: bool) -> Skeleton:
    if value.dtype not in NAME_OF:
        raise _refuse(name, f"a NumPy scalar of dtype {value.dtype} is not supported")
    if static:
        return StaticArg(value.item())
    leaves.values.append(value)
    return ScalarArg(value.dtype, weak=False)


def _array_arg(value: np.ndarray, name: str, leaves: Leaves) -> ArrayArg:
    if type(value) not in (np.ndarray, np.memmap):
        hint = (
            "fill what is masked: x.filled(...)"
            if isinstance(value, np.ma.MaskedArray)
            else "pass np.asarray(...) of it"
        )
        raise _refuse(name, f"{a_or_an(type(value).__name__)} is not supported", hint)
    if value.dtype not in NAME_OF:
        native = value.dtype.newbyteorder("=")
        hint = f"convert it: {name}.astype(np.{native.name})" if native in NAME_OF else "only arrays of numbers are"
        raise _refuse(name, f"an array of dtype {value.dtype} is not supported", hint)
    if not value.flags.aligned:
        raise _refuse(name, "an array that is not aligned in memory is not supported", "pass a copy")
    return leaves.array(value)


def a_or_an(name: str) -> str:
    """The name of a class as a sentence has it."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _refuse(name: str, why: str, hint: str = "") -> ArgumentError:
    return ArgumentError(Problem(f"argument {name!r}: {why}", hint=hint))


def describe_signature(skeletons: Sequence[Skeleton]) -> str:
    """The signature in words, for messages and reports."""
    return ", ".join(map(describe, skeletons))


def describe(skeleton: Skeleton) -> str:
    match skeleton:
        case RngArg():
            return "Generator"
        case ScalarArg():
            return WEAK_NAME[skeleton.dtype] if skeleton.weak else NAME_OF[skeleton.dtype]
        case ArrayArg():
            return str(skeleton.type)
        case ViewArg(base=base, view=view):
            return f"{base.type}[{view}]"
        case TupleArg():
            return f"({', '.join(map(describe, skeleton.items))})"
        case RowsArg():
            return f"list[{describe(skeleton.item)}]"
        case ItemsArg():
            return f"[{', '.join(map(describe, skeleton.items))}]"
        case IterationArg(kind=kind, parts=parts):
            return f"{kind}({', '.join(map(describe, parts))})"
        case StaticArg():
            return repr(skeleton.value)
        case FunctionArg():
            return "function"
        case ChoiceArg(options=options):
            return " or ".join(map(describe, options))
        case RecordArg(names=names, items=items):
            return ", ".join(f"{n}: {describe(s)}" for n, s in zip(names, items, strict=True))
        case BoxArg(content=content):
            return "..." if content is None else describe(content)
        case ObjectArg(cls=cls, box=box):
            return f"{cls.__name__}({describe(box)})"
        case MaybeArg(inner=inner):
            return describe(inner)
