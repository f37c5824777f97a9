"""Where what was compiled in is found again: objects numbered in an order that every process repeats.

From a root, such as the function that is called, the objects that belong to it are numbered: its globals, its cells,
what it is made of. Objects of other processes correspond by number, if numbering them went the same way.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from srcgraph.frontend.session import Defaults, defaults_of
from srcgraph.infer.signature import ObjectArg, RecordArg, Skeleton, StaticArg, TupleArg, all_parts
from srcgraph.runtime.cache.libraries import name_of
from srcgraph.runtime.cache.prints import CACHED
from srcgraph.runtime.custom import CustomFunction

_ROOTED = (
    types.FunctionType, types.MethodType, types.ModuleType, types.CellType, type, dict, tuple, list, functools.partial,
    property, staticmethod, classmethod, CACHED, CustomFunction, np.vectorize,
)  # fmt: skip


class Places:
    """Objects and their numbers.

    Attributes
    ----------
    objects : list
        By number.
    shape : list of str
        How the numbering went: the kind of each object met, or its number where it was met again.
    """

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.shape: list[str] = []
        self.numbers: dict[int, int] = {}

    def add(self, root: Any) -> None:
        """Number an object and what belongs to it."""
        stack = [root]
        while stack:
            value = stack.pop()
            if not isinstance(value, _ROOTED) and not hasattr(value, "py_func"):
                continue
            known = self.numbers.get(id(value))
            kind: type = type(value)
            self.shape.append(kind.__name__ if known is None else str(known))
            if known is None:
                self.numbers[id(value)] = len(self.objects)
                self.objects.append(value)
                stack += children(value)

    def add_skeletons(self, skeletons: Iterable[Skeleton]) -> None:
        """Number the classes and other things known when compiling in some arguments."""
        for s in all_parts(skeletons):
            match s:
                case StaticArg(value=value):
                    self.add(value)
                case TupleArg(cls=cls) | RecordArg(cls=cls) | ObjectArg(cls=cls):
                    self.add(cls)

    def number(self, value: Any) -> int | None:
        """The number of an object, or of what stands for it."""
        if isinstance(value, Defaults):
            return next((k for k, v in enumerate(self.objects) if _same_defaults(v, value)), None)
        if type(value) is dict and value.keys() == {"__self__"}:
            return next((k for k, v in enumerate(self.objects) if _same_self(v, value)), None)
        return self.numbers.get(id(value))


def _same_defaults(x: Any, y: Defaults) -> bool:
    return isinstance(x, Defaults) and x.function is y.function


def _same_self(x: Any, y: dict[str, Any]) -> bool:
    return type(x) is dict and x.keys() == {"__self__"} and x["__self__"] is y["__self__"]


def children(value: Any) -> Iterator[Any]:
    """What belongs to an object."""
    if name_of(value) is not None:
        return
    match value:
        case types.FunctionType():
            yield value.__globals__
            yield from value.__closure__ or ()
            if value.__defaults__ or value.__kwdefaults__:
                yield defaults_of(value)
                yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        case types.MethodType():
            yield value.__func__
            yield {"__self__": value.__self__}
            yield type(value.__self__)
        case types.ModuleType():
            yield vars(value)
        case type():
            yield from _of_class(value)
        case tuple() | list():
            yield from value
        case functools.partial():
            yield from (value.func, *value.args, *value.keywords.values())
        case property():
            yield from (f for f in (value.fget, value.fset) if f is not None)
        case staticmethod() | classmethod():
            yield value.__func__
        case CustomFunction():
            yield value.custom.functions
            yield value.py_func
            yield value.custom.kernel
        case np.vectorize():
            yield value.pyfunc
    if isinstance(value, CACHED):
        yield value.__wrapped__
    elif not isinstance(value, CustomFunction) and (inner := getattr(value, "py_func", None)) is not None:
        yield inner


def _of_class(cls: type) -> Iterator[Any]:
    yield from cls.__mro__[1:]
    for _, member in sorted(vars(cls).items()):
        if isinstance(member, types.FunctionType | property | staticmethod | classmethod | CustomFunction):
            yield member
    for f in vars(cls).get("__dataclass_fields__", {}).values():
        if f.default_factory is not dataclasses.MISSING:
            yield f.default_factory
