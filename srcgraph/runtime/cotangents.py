"""Cotangents that are given for a value: in its structure, checked and taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.template import ListOf, NewArray, NewBox, ObjectOf, Out, RecordOf, RowsOf, Template, TupleOf
from srcgraph.infer.signature import RowsArg, columns, part_name
from srcgraph.ir.types import PYTHON_TYPE, ArrayType, TensorType

Length = tuple[int, ...]


def parts(tree: Template, x: Any, name: str) -> list[tuple[Template, Any, str]] | None:
    """What is in a structure: its template, what ``x`` has there, and what users call it; None for a leaf.

    Raises
    ------
    ArgumentError
        ``x`` has another structure.
    """
    match tree:
        case TupleOf(items=items, cls=cls) | ListOf(content=TupleOf(items=items, cls=cls)):
            keys: Sequence[Any] = range(len(items))
            same = isinstance(x, cls) and len(x) == len(items)
            values = list(x) if same else []
        case ObjectOf(cls=cls, box=NewBox(content=RecordOf(names=keys, items=items))):
            same = type(x) is cls and (cls is not dict or x.keys() == set(keys))
            values = [x[k] if cls is dict else getattr(x, k) for k in keys] if same else []
        case _:
            return None
    names = [part_name(name, cls, k) for k in keys]
    if x is None:
        values = [None] * len(items)
    elif not same:
        raise refused(name, f"a {cls.__name__} of {len(items)}", x)
    return list(zip(items, values, names, strict=True))


def refused(name: str, wanted: str, given: Any) -> ArgumentError:
    what = f"an array of {given.dtype} with shape {given.shape}" if isinstance(given, np.ndarray) else repr(given)
    hint = "a cotangent has the structure, the shape and the dtype of what it belongs to, or is None"
    return ArgumentError(Problem(f"the cotangent of {name}, {wanted}, is {what}", hint=hint))


def shapes(tree: Template, value: Any) -> Iterator[tuple[int, Length]]:
    """The numbers of the floats in a value, and their shapes."""
    match tree:
        case Out(index=k) | NewArray(index=k):
            yield k, np.shape(value)
        case ListOf(content=RowsOf(item=item, parts=rows)):
            inner = (len(value[0]),) if value and isinstance(item, RowsArg) else ()
            yield from ((k, (len(value), *inner)) for k in rows)
    for inner, x, _ in parts(tree, value, "") or ():
        yield from shapes(inner, x)


class Cotangents:
    """Reads cotangents of one value.

    Parameters
    ----------
    tree : Template
        The structure of the value, over the numbers of its floats.
    types : sequence of Type
        Of these.
    """

    def __init__(self, tree: Template, types: Sequence[TensorType], value: Any):
        self.tree = tree
        self.types = types
        self.shapes = dict(shapes(tree, value))

    def read(self, cotangent: Any) -> list[Any]:
        """The cotangent of each float; what is in a value twice has the sum of two."""
        found: list[Any] = [None] * len(self.types)
        for k, ct in self.leaves(self.tree, cotangent, "the value"):
            found[k] = ct if found[k] is None else found[k] + ct
        return found

    def leaves(self, tree: Template, ct: Any, name: str) -> Iterator[tuple[int, Any]]:
        inside = parts(tree, ct, name)
        for inner, x, own in inside or ():
            yield from self.leaves(inner, x, own)
        match tree:
            case Out(index=k):
                yield k, self.number(k, ct, name)
            case NewArray(index=k):
                yield k, self.array(k, ct, name)
            case ListOf(content=RowsOf() as rows):
                yield from self.rows(rows, ct, name)
            case _ if inside is None and ct is not None:
                raise refused(name, "which is no float", ct)

    def number(self, k: int, ct: Any, name: str) -> Any:
        dtype = self.types[k].dtype
        kind = PYTHON_TYPE[dtype] if getattr(self.types[k], "weak", False) else dtype.type
        is_number = (isinstance(ct, np.ndarray) and not ct.shape) or (isinstance(ct, Real) and not isinstance(ct, bool))
        if ct is not None and not is_number:
            raise refused(name, "a number", ct)
        return kind(0.0 if ct is None else ct)

    def array(self, k: int, ct: Any, name: str) -> np.ndarray:
        dtype, shape = self.types[k].dtype, self.shapes[k]
        ct = np.zeros(shape, dtype) if ct is None else ct
        if not isinstance(ct, np.ndarray) or ct.dtype != dtype or ct.shape != shape:
            raise refused(name, f"an array of {dtype} with shape {shape}", ct)
        return ct if isinstance(self.types[k], ArrayType) else dtype.type(ct)

    def rows(self, rows: RowsOf, ct: Any, name: str) -> Iterator[tuple[int, np.ndarray]]:
        """The cotangents of a list's items, number by number."""
        for k, (path, dtype) in zip(rows.parts, columns(rows.item), strict=True):
            shape = self.shapes[k]
            if ct is None:
                yield k, np.zeros(shape, dtype)
                continue
            if not isinstance(ct, list) or len(ct) != shape[0]:
                raise refused(name, f"a list of {shape[0]}", ct)
            numbers = ct
            for at in path:
                numbers = [item[at] for item in numbers]
            made = np.array(numbers)
            if made.dtype.kind not in "fiu" or made.shape != shape:
                raise refused(name, f"a list of {shape[0]} with floats", ct)
            yield k, made.astype(dtype)
