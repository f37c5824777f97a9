"""The floats of what a function takes and returns: what derivatives are of, in its structure.

A version returns arrays as its caller wants them: views, one of several, an argument's own. For derivatives each float,
or array of floats, becomes a result of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.template import (
    ArgumentBox,
    ArgumentList,
    ArgumentView,
    EitherOf,
    Fixed,
    ListOf,
    NewArray,
    NewBox,
    ObjectOf,
    Out,
    RecordOf,
    ReshapeOf,
    RowsOf,
    Template,
    TupleOf,
)
from srcgraph.infer.signature import (
    ArrayArg,
    BoxArg,
    ChoiceArg,
    ItemsArg,
    MaybeArg,
    ObjectArg,
    RecordArg,
    RowsArg,
    ScalarArg,
    Skeleton,
    StaticArg,
    TupleArg,
    all_parts,
    columns,
    inner_sizes,
)
from srcgraph.ir.graph import Value
from srcgraph.ir.op import building
from srcgraph.ir.ops.index import getitem
from srcgraph.ir.ops.shape import reshape, total_size
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import INT, ArrayType, is_inexact
from srcgraph.ir.view import View

if TYPE_CHECKING:
    from srcgraph.runtime.transforms import Version


# -- arguments -----------------------------------------------------------------------------------------


class ColumnArg(ArrayArg):
    """The array that holds a number of every item of a list."""

    __slots__ = ()


def _own_leaves(s: Skeleton) -> list[Any]:
    """The numbers and arrays that a skeleton is itself, not by its parts."""
    if isinstance(s, ScalarArg | ArrayArg):
        return [s]
    if isinstance(s, RowsArg):
        shape = (s.size, *inner_sizes(s.item))
        return [ColumnArg(dtype, shape, s.cell) for _, dtype in columns(s.item)]
    return [ScalarArg(INT, weak=True)] if isinstance(s, ChoiceArg) else []  # which one it is


def leaf_positions(skeleton: Skeleton, first: int) -> Iterator[tuple[int, Any]]:
    """The numbers and arrays of an argument, with their positions among the parameters."""
    return enumerate((leaf for s in all_parts([skeleton]) for leaf in _own_leaves(s)), first)


def count_leaves(skeleton: Skeleton) -> int:
    return sum(len(_own_leaves(s)) for s in all_parts([skeleton]))


def with_places(skeletons: Iterable[Skeleton]) -> Iterator[tuple[Skeleton, int]]:
    """Skeletons with the positions of their first leaves among the parameters."""
    first = 0
    for s in skeletons:
        yield s, first
        first += count_leaves(s)


Place = Callable[[int], int]
"""From the parameter that is a float, by position, to the result that stands for it."""


def structured(skeleton: Skeleton, first: int, place: Place) -> Template:
    """Something for each float of an argument, in its structure; None for what is no float."""
    match skeleton:
        case TupleArg(items=items, cls=cls):
            return TupleOf(_each(items, first, place), cls)
        case ObjectArg(cls=cls, box=BoxArg(cell=cell, content=RecordArg(names=names, items=items))):
            return ObjectOf(cls, NewBox(-1 - cell, cls.__name__, RecordOf(cls, names, _each(items, first, place))))
        case ObjectArg(cls=cls, box=BoxArg(cell=cell)):
            return ObjectOf(cls, NewBox(-1 - cell, cls.__name__, None))
        case ItemsArg(items=items, cell=cell):
            return ListOf(TupleOf(_each(items, first, place), list), -1 - cell)
        case RowsArg(item=item, cell=cell):
            floats = [first + k for k, (_, dtype) in enumerate(columns(item)) if dtype.kind == "f"]
            return ListOf(RowsOf(float_items(item), tuple(map(place, floats))), -1 - cell) if floats else Fixed(None)
        case ScalarArg(dtype=dtype) if dtype.kind == "f":
            return Out(place(first))
        case ArrayArg(dtype=dtype) if dtype.kind == "f":
            return NewArray(place(first))
        case MaybeArg() if any(s.dtype.kind == "f" for _, s in leaf_positions(skeleton, first)):
            raise ArgumentError(Problem("a derivative with respect to something that may be None is not supported"))
    return Fixed(None)


def _each(items: Sequence[Skeleton], first: int, place: Place) -> tuple[Template, ...]:
    return tuple(structured(s, first + at, place) for s, at in with_places(items))


def float_items(item: Skeleton) -> Skeleton:
    """An item's gradient: None in place of what is no float."""
    match item:
        case ScalarArg(dtype=dtype) if dtype.kind == "f":
            return item
        case TupleArg(items=items, cls=cls):
            return TupleArg(tuple(map(float_items, items)), cls)
        case RowsArg(item=inner, size=size) if not isinstance(float_items(inner), StaticArg):
            return RowsArg(float_items(inner), size, -1)
    return StaticArg(None)


APART = -(10**6)
"""Objects and lists that hold derivatives of results have numbers from here down."""

GIVEN = 10**6
"""The numbers of lists that are made of changed arguments are from here up."""


# -- results -------------------------------------------------------------------------------------------


def returned(version: Version, template: Template, refuse: Callable[[Template], Exception]) -> tuple[Version, Template]:
    """A version of which each float in ``template`` is a result, and the structure over these.

    In the structure are `Out`, `NewArray` without a view, and `RowsOf`; what is no float is None. ``refuse`` makes the
    error for what has no floats that are known when compiling.
    """
    work = _Returned(version, refuse)
    graph = version.graph
    with building(work.builder):
        work.params(graph.params)
        work.nodes(graph.nodes)
        work.results = list(work.values(graph.results))
        tree = work.tree(template)
        made = work.builder.finish(work.results)
    return (version if len(made.results) == len(graph.results) else replace(version, graph=made)), tree


def placed(tree: Template, place: Place) -> Template:
    """A structure of floats over other results."""
    match tree:
        case Out(index=k):
            return Out(place(k))
        case NewArray(index=k):
            return NewArray(place(k))
        case RowsOf(item=item, parts=parts):
            return RowsOf(item, tuple(map(place, parts)))
        case TupleOf(items=items, cls=cls):
            return TupleOf(tuple(placed(t, place) for t in items), cls)
        case RecordOf(cls=cls, names=names, items=items):
            return RecordOf(cls, names, tuple(placed(t, place) for t in items))
        case ListOf(content=content, cell=cell):
            return ListOf(placed(content, place), cell)  # type: ignore[arg-type]
        case ObjectOf(cls=cls, box=NewBox(number=number, name=name, content=RecordOf() as content)):
            return ObjectOf(cls, NewBox(number, name, placed(content, place)))
    return tree


class _Returned(Rebuild):
    """Adds results to a version's graph."""

    def __init__(self, version: Version, refuse: Callable[[Template], Exception]):
        super().__init__(version.graph.name)
        self.version = version
        self.refuse = refuse
        self.results: list[Value] = []

    def tree(self, template: Template) -> Template:
        match template:
            case Out(index=k):
                return template if self.is_float(k) else Fixed(None)
            case NewArray(index=k, view=None):
                return NewArray(k) if self.is_float(k) else Fixed(None)
            case NewArray() | ArgumentView() | EitherOf() | ReshapeOf():
                value = self.array(template)
                value = value if isinstance(value.type, ArrayType) else self.builder.call_named("full", value)
                return NewArray(self.add(value)) if is_inexact(value.type) else Fixed(None)
            case TupleOf(items=items, cls=cls):
                return TupleOf(tuple(map(self.tree, items)), cls)
            case RecordOf(cls=cls, names=names, items=items):
                return RecordOf(cls, names, tuple(map(self.tree, items)))
            case ListOf(content=RowsOf() as rows, cell=cell):
                held = self.rows(rows)
                return ListOf(held, APART - cell) if held.parts else Fixed(None)
            case ListOf(content=TupleOf() as content, cell=cell):
                return ListOf(self.tree(content), APART - cell)  # type: ignore[arg-type]
            case ObjectOf(cls=cls, box=NewBox(number=number, name=name, content=content)):
                return ObjectOf(cls, NewBox(APART - number, name, None if content is None else self.tree(content)))
            case ObjectOf(box=ArgumentBox(position=position)):
                return self.argument(ObjectArg, position)
            case ArgumentList(position=position) if position in (changed := dict(self.version.lists)):
                return self.tree(ListOf(changed[position], GIVEN + position))  # type: ignore[arg-type]
            case ArgumentList(position=position):
                return self.argument(RowsArg | ItemsArg, position)
            case Fixed():
                return Fixed(None)
        raise self.refuse(template)

    def is_float(self, k: int) -> bool:
        return is_inexact(self.results[k].type)

    def add(self, value: Value) -> int:
        self.results.append(value)
        return len(self.results) - 1

    def rows(self, rows: RowsOf) -> RowsOf:
        """The floats of a list's items."""
        types = [self.results[k].type for k in rows.parts]
        if len(list(columns(rows.item))) != len(types) or not all(isinstance(t, ArrayType) for t in types):
            raise self.refuse(rows)
        parts = tuple(k for k, t in zip(rows.parts, types, strict=True) if t.dtype.kind == "f")
        return RowsOf(float_items(rows.item), parts)

    def array(self, template: Template) -> Value:
        """An array as a value of the graph."""
        changed = self.version.interface.changed
        match template:
            case NewArray(index=k, view=view, operands=operands):
                return self.viewed(self.results[k], view, operands)
            case ArgumentView(param=param, view=view, operands=operands):
                after = self.results[changed[param]] if param in changed else self.param(param)
                return self.viewed(after, view, operands)
            case ReshapeOf(array=array, dims=dims, ravel=ravel, view=view, operands=operands):
                whole = self.array(array)
                sizes = [self.builder.dim_value(total_size(whole))] if ravel else [self.results[d] for d in dims]
                return self.viewed(reshape(whole, *sizes), view, operands)
            case EitherOf(test=test, then=then, orelse=orelse):
                sides = []
                for option in (then, orelse):
                    region = self.builder.new_region()
                    with self.builder.inside(region):
                        sides.append((region, [self.array(option)]))
                return self.builder.if_(self.results[test], *sides)[0]
        raise self.refuse(template)

    def viewed(self, x: Value, view: View | None, operands: Sequence[int]) -> Value:
        return x if view is None else getitem(x, *(self.results[o] for o in operands), view=view)

    def param(self, position: int) -> Value:
        return self.value(self.version.graph.params[position])

    def argument(self, kind: Any, cell: int) -> Template:
        """An argument that is returned as it came: by its kind, and its number among those of its kind."""
        first = 0
        for s in all_parts(self.version.arguments.values()):
            number = s.box.cell if isinstance(s, ObjectArg) else getattr(s, "cell", None)
            if isinstance(s, kind) and number == cell:
                return structured(s, first, lambda k: self.add(self.param(k)))
            first += len(_own_leaves(s))
        raise self.refuse(ArgumentList(cell))
