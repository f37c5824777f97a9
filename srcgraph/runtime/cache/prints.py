"""Prints: what a value is, as text that is the same in every process.

The print of a function is that of its code and its defaults; what it reads from outside is described where it is read.
The print of a class is that of its functions, its fields and its bases. What has no print cannot be compiled into
something that is kept.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import numpy as np
from numba.core.types import Dispatcher

from srcgraph.frontend.session import PLACE
from srcgraph.infer.signature import (
    ArrayArg,
    BoxArg,
    ItemsArg,
    ObjectArg,
    RecordArg,
    RngArg,
    RowsArg,
    ScalarArg,
    Skeleton,
    StaticArg,
    TupleArg,
)
from srcgraph.ir.assumptions import Facts
from srcgraph.runtime.cache.environment import digest
from srcgraph.runtime.cache.libraries import is_library, name_of
from srcgraph.runtime.custom import CustomFunction

CACHED = type(functools.cache(lambda: None))
_ANNOTATED: Any = type(Annotated[int, ""])
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range, np.dtype)


class NoPrintError(Exception):
    """Something cannot be told apart from others in another process; the message says what."""


def print_of_code(code: types.CodeType) -> str:
    """A hash of code: what it does and the lines and columns it stands at, not the file."""
    consts = [print_of_code(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts]
    return digest(
        code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount,
        code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_qualname, code.co_firstlineno,
        code.co_linetable, code.co_exceptiontable,
    )  # fmt: skip


def _constant(value: Any) -> str:
    if isinstance(value, tuple | frozenset):
        inner = [_constant(v) for v in value]
        return f"{type(value).__name__}{sorted(inner) if isinstance(value, frozenset) else inner}"
    return f"{type(value).__name__} {value!r}"


def home_of(module: Any) -> Any:
    """The name of a module; the script is the same in processes that `multiprocessing` starts."""
    return "__main__" if module == "__mp_main__" else module


class Prints:
    """Makes prints; one that is met while it is being made is its number."""

    def __init__(self) -> None:
        self.active: list[Any] = []

    def of(self, value: Any) -> Any:
        """The print of a value, which can be written as JSON."""
        if isinstance(value, enum.Enum):
            return ["enum", self.of(type(value)), value.name, self.of(value.value)]
        if isinstance(value, _PLAIN):
            return [type(value).__name__, repr(value)]
        known = name_of(value)
        if known is not None:
            return ["name", known]
        met = next((k for k, other in enumerate(self.active) if other is value), None)
        if met is not None:
            return ["met", met]
        self.active.append(value)
        try:
            return self._by_kind(value)
        finally:
            self.active.pop()

    def all(self, values: Iterable[Any]) -> list[Any]:
        return [self.of(v) for v in values]

    def _by_kind(self, value: Any) -> Any:
        for kind, made in _KINDS:
            if isinstance(value, kind):
                return [kind.__name__, *made(self, value)]
        if getattr(value, "transforms", None) is not None and hasattr(value, "py_func"):  # `Compiled`
            options = value.transforms, value.source, value.options.description, value.verifies
            return ["Compiled", *self.all(options), self.of(value.py_func)]
        if isinstance(getattr(value, "py_func", None), types.FunctionType):
            return ["jit", self.of(value.py_func)]
        if dataclasses.is_dataclass(value) and name_of(type(value)) is not None:
            fields = [f.name for f in dataclasses.fields(value)]
            return ["record", name_of(type(value)), [[n, self.of(getattr(value, n))] for n in fields]]
        raise NoPrintError(f"a {type(value).__name__} is compiled in")

    def function(self, function: types.FunctionType) -> list[Any]:
        place = vars(function).get(PLACE)
        inner = getattr(function, "__wrapped__", None)
        found = [
            home_of(function.__module__), function.__name__, print_of_code(function.__code__),
            self.of(function.__defaults__), self.of(function.__kwdefaults__),
            [place.line, place.col] if place is not None else None, None if inner is None else self.of(inner),
        ]  # fmt: skip
        if str(function.__module__).split(".")[0] == "srcgraph":  # what it captures is not described elsewhere
            found.append([self.of(cell.cell_contents) for cell in function.__closure__ or ()])
        return found

    def cls(self, cls: type) -> list[Any]:
        own = [[name, self.of(v)] for name, v in sorted(vars(cls).items()) if isinstance(v, _MEMBERS)]
        slots = [name for name, v in vars(cls).items() if isinstance(v, types.MemberDescriptorType)]
        fields = [
            [f.name, f.init, f.repr, f.compare, str(f._field_type), self.of(f.default), self.of(f.default_factory)]  # type: ignore[attr-defined]
            for f in cls.__dict__.get("__dataclass_fields__", {}).values()
        ]
        names = [vars(cls).get(n) for n in ("_fields", "__dataclass_params__")]
        members = [[m.name, self.of(m.value)] for m in cls] if issubclass(cls, enum.Enum) else []
        bases, made = self.all(cls.__mro__[1:]), self.of(type(cls))
        return [home_of(cls.__module__), cls.__qualname__, bases, made, own, slots, fields, repr(names), members]

    def custom(self, value: CustomFunction) -> list[Any]:
        custom = value.custom
        how = custom.name, value.kind, custom.nondiff, sorted(custom.functions)
        kernel = [] if custom.kernel is None else [_print_or_none(custom.kernel)]
        return [*map(repr, how), self.of(value.py_func), *kernel]

    def array(self, value: np.ndarray) -> list[Any]:
        if value.dtype.hasobject:
            raise NoPrintError("an array of objects is compiled in")
        return [str(value.dtype), value.shape, digest(np.ascontiguousarray(value).tobytes())]

    def dict(self, value: dict[Any, Any]) -> list[Any]:
        return [[self.of(k), self.of(v)] for k, v in value.items()]


_MEMBERS = (types.FunctionType, property, staticmethod, classmethod, CustomFunction, CACHED)
_KINDS: tuple[tuple[type, Callable[[Prints, Any], list[Any]]], ...] = (
    (types.FunctionType, Prints.function),
    (Facts, lambda p, v: list(v.names)),
    (_ANNOTATED, lambda p, v: [p.of(v.__origin__), p.all(v.__metadata__)]),
    (type, Prints.cls),
    (types.ModuleType, lambda p, v: [v.__name__]),
    (tuple, lambda p, v: [p.of(type(v)), p.all(v)]),
    (list, Prints.all),
    (dict, Prints.dict),
    (np.ndarray, Prints.array),
    (np.generic, lambda p, v: [str(v.dtype), v.tobytes().hex()]),
    (CustomFunction, Prints.custom),
    (functools.partial, lambda p, v: p.all((v.func, v.args, v.keywords))),
    (types.MethodType, lambda p, v: p.all((v.__func__, type(v.__self__)))),
    (property, lambda p, v: p.all((v.fget, v.fset, v.fdel))),
    (staticmethod, lambda p, v: p.all((v.__func__,))),
    (classmethod, lambda p, v: p.all((v.__func__,))),
    (CACHED, lambda p, v: p.all((v.__wrapped__,))),
    (np.vectorize, lambda p, v: p.all((v.pyfunc, v.otypes, v.signature, v.excluded and sorted(map(repr, v.excluded))))),
    (operator.itemgetter, lambda p, v: p.all(v.__reduce__()[1])),
    (operator.attrgetter, lambda p, v: p.all(v.__reduce__()[1])),
    (np.finfo, lambda p, v: [str(v.dtype)]),
    (np.iinfo, lambda p, v: [str(v.dtype)]),
    (types.MemberDescriptorType, lambda p, v: [v.__name__]),
    (type(dataclasses.MISSING), lambda p, v: []),
    (type(dataclasses._HAS_DEFAULT_FACTORY), lambda p, v: []),  # type: ignore[attr-defined]
)


def print_of(value: Any) -> Any:
    """The print of a value.

    Raises
    ------
    NoPrintError
        It has none.
    """
    return Prints().of(value)


def print_of_kernel(kernel: Any) -> list[Any]:
    """The print of a function that numba compiled, and of those that it calls.

    Raises
    ------
    NoPrintError
        It reads from outside what numba has compiled in, and nobody knows when: such as a number.
    """
    if not hasattr(kernel, "targetoptions"):
        raise NoPrintError(f"{kernel.__name__} is not compiled: numba is switched off")
    out: list[Any] = []
    todo, seen = [kernel], {kernel}
    while todo:
        made = todo.pop()
        for key, value in sorted(made.targetoptions.items()):
            if not isinstance(value, bool | str | int | None):
                raise NoPrintError(f"{made.__name__}, which numba compiles, has the option {key}={value!r}")
        out.append([print_of(made.py_func), repr(sorted(made.targetoptions.items()))])
        for name, value in _read_outside(made.py_func):
            if hasattr(value, "targetoptions"):
                todo += [value] if value not in seen else []
                seen.add(value)
                out.append([name, print_of(value.py_func)])
            elif isinstance(value, types.ModuleType) and is_library(value.__name__.split(".")[0]):
                out.append([name, value.__name__])
            elif (known := name_of(value)) is not None:
                out.append([name, known])
            else:
                raise NoPrintError(f"{made.__name__}, which numba compiles, reads {name!r} from outside")
    for made in seen:
        if not _compiled_in(made) <= seen:
            raise NoPrintError(f"{made.__name__}, which numba has compiled, calls what has another name now")
    return out


def _compiled_in(kernel: Any) -> set[Any]:
    """The functions that the compiled versions of a kernel call, which may be others than those that it would now."""
    found: set[Any] = set()
    for compiled in kernel.overloads.values():
        known = getattr(compiled.type_annotation, "typemap", None)
        if known is None:
            raise NoPrintError(f"{kernel.__name__} is read from a cache of numba's own")
        found |= {t.dispatcher for t in known.values() if isinstance(t, Dispatcher)}
    return found


def _read_outside(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The names that a function, and those in it, read from outside, with what they are now."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name, cell in cells.items():
        yield name, cell.cell_contents
    todo, names = [function.__code__], set[str]()
    while todo:
        code = todo.pop()
        names |= {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    for name in sorted(names):
        yield name, function.__globals__.get(name, getattr(builtins, name, None))


def _print_or_none(kernel: Any) -> Any:
    try:
        return print_of_kernel(kernel)
    except NoPrintError:
        return None


def print_of_skeleton(skeleton: Skeleton) -> Any:
    """What calls are told apart by, as JSON."""
    match skeleton:
        case RngArg():
            return ["rng"]
        case ScalarArg(dtype=dtype, weak=weak, size=size, positive=positive):
            return ["number", str(dtype), weak, *([size] if size else []), *(["positive"] if positive else [])]
        case ArrayArg(dtype=dtype, shape=shape, cell=cell, turned=turned):
            return ["array", str(dtype), list(shape), cell, *(["turned"] if turned else [])]
        case TupleArg(items=items, cls=cls):
            return ["tuple", print_of(cls), [print_of_skeleton(s) for s in items]]
        case RowsArg(item=item, size=size, cell=cell, twin=twin):
            return ["rows", print_of_skeleton(item), size, cell, twin]
        case ItemsArg(items=items, cell=cell, twin=twin):
            return ["items", [print_of_skeleton(s) for s in items], cell, twin]
        case StaticArg(value=value):
            return ["static", print_of(value)]
        case RecordArg(cls=cls, names=names, items=items):
            return ["record", print_of(cls), print_of(names), [print_of_skeleton(s) for s in items]]
        case BoxArg(cell=cell, content=content):
            return ["box", cell, None if content is None else print_of_skeleton(content)]
        case ObjectArg(cls=cls, box=box, twin=twin):
            return ["object", print_of(cls), print_of_skeleton(box), twin]
    raise NoPrintError(f"a {type(skeleton).__name__} is an argument")
