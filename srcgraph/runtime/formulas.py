"""Python and NumPy of variables: what operators, indexing, methods and functions of them make.

Each use is written as the source of a small function, ``np.dot(a0, a1)``, which is lowered for the types of its
variables as any other function is. So NumPy functions, methods and attributes of variables are those of compiled
functions: none is listed here.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from srcgraph.errors import ArgumentError, Problem, SrcgraphError, UnsupportedError
from srcgraph.frontend.attributes import ATTRIBUTES
from srcgraph.frontend.numpy_table import METHODS
from srcgraph.frontend.resolve import methods
from srcgraph.ir.graph import Value
from srcgraph.ir.op import is_building
from srcgraph.ir.operators import Operators, set_operator
from srcgraph.ir.ops.vector import div
from srcgraph.ir.shared import Kind, SharedVariable
from srcgraph.ir.symbolic import variable_of
from srcgraph.ir.text import is_name
from srcgraph.ir.types import NAME_OF, ScalarType
from srcgraph.runtime.symbolic import call_cached
from srcgraph.runtime.texts import function_of

# -- expressions as text ----------------------------------------------------------------------------


def written(text: str, args: Sequence[Any], lazy: bool = False) -> Any:
    """What an expression of ``{0}``, ``{1}``, ... gives of variables; other arguments are written into it."""
    formula = Formula()
    return formula.result(text.format(*map(formula.text, args)), lazy)


@dataclass(eq=False, slots=True)
class Formula:
    """An expression that is being written.

    Attributes
    ----------
    given : list of Value
        The variables in it: ``a0``, ``a1``, ...
    space : dict
        Functions in it that are not NumPy's, by name.
    """

    given: list[Value] = field(default_factory=list)
    space: dict[str, Any] = field(default_factory=dict)

    def result(self, text: str, lazy: bool = False) -> Any:
        """What it gives.

        Raises
        ------
        SrcgraphError
            It is not supported, or the types do not fit; a TypeError or ValueError, too.
        """
        names = ", ".join(f"a{k}" for k in range(len(self.given)))
        try:
            return call_cached(_made(names, text, tuple(self.space.items())), self.given, lazy)
        except SrcgraphError as error:
            raise self.explained(error, text) from None

    def text(self, x: Any) -> str:
        """What stands for an argument in the expression."""
        match x:
            case Operators():
                if not any(x.variable is v for v in self.given):
                    self.given.append(x.variable)
                return f"a{next(k for k, v in enumerate(self.given) if v is x.variable)}"
            case tuple():
                return f"({''.join(f'{self.text(v)}, ' for v in x)})"
            case list():
                return f"[{', '.join(map(self.text, x))}]"
            case dict():
                return f"{{{', '.join(f'{self.text(k)}: {self.text(v)}' for k, v in x.items())}}}"
            case slice():
                return f"slice({self.text(x.start)}, {self.text(x.stop)}, {self.text(x.step)})"
            case np.ndarray():
                return self.array(x)
            case _ if callable(x) and not isinstance(x, type):
                return self.function(x)
        return literal(x)

    def array(self, x: np.ndarray) -> str:
        """An array; numbers that are variables may be in one of Python objects."""
        if x.dtype == object and all(isinstance(v, Operators) or _is_literal(v) for v in x.flat):
            return f"np.array({self.text(x.tolist())})"
        if x.dtype not in NAME_OF:
            raise ArgumentError(f"an array of {x.dtype} is no part of a formula of variables")
        made = f"np.array({self.text(x.tolist())}, dtype=np.{x.dtype.name})"
        return made if x.size or x.ndim == 1 else f"np.zeros({x.shape}, dtype=np.{x.dtype.name})"

    def function(self, function: Callable[..., Any]) -> str:
        """The name of a function."""
        name = getattr(function, "__name__", "f")
        home = (getattr(function, "__module__", None) or "numpy").split(".")[1:]
        for path in (".".join(["np", *home, name]), f"np.{name}", f"special.{name}"):
            if _at(path) is function:
                return path
        new = f"f{len(self.space)}_{name}" if is_name(f"f_{name}") else f"f{len(self.space)}"
        known = next((n for n, f in self.space.items() if f is function), new)
        self.space[known] = function
        return known

    def explained(self, error: SrcgraphError, text: str) -> SrcgraphError:
        """An error without the place in a text that the user has not written."""

        def plain(said: str) -> str:
            said = re.sub(r" \(<step of variables[^)]*\)", "", said)
            return re.sub(r"\ba(\d+)\b", lambda m: repr(self.given[int(m[1])]), said)

        shown = plain(text) if len(text) < 200 else f"{plain(text[:200])}..."
        problems = [
            replace(p, message=f"{shown}: {plain(p.message)}", loc=None, notes=tuple(map(plain, p.notes)))
            for p in error.problems
        ]
        return (ArgumentError if isinstance(error, UnsupportedError) else type(error))(problems)


_SPACE = {"np": np, "special": special}


def _at(path: str) -> Any:
    first, *rest = path.split(".")
    return functools.reduce(lambda found, name: getattr(found, name, None), rest, _SPACE[first])


@functools.lru_cache(maxsize=4096)
def _made(names: str, text: str, space: tuple[tuple[str, Any], ...]) -> types.FunctionType:
    source = f"def step({names}):\n    return {text}\n"
    return function_of(source, "step", "step of variables", {**_SPACE, **dict(space)})


def _is_literal(x: Any) -> bool:
    return isinstance(x, bool | int | float | complex | np.generic)


def literal(x: Any) -> str:
    """Something known as source text."""
    match x:
        case np.dtype():
            return f"np.{x.name}"
        case type() if issubclass(x, np.generic):
            return f"np.{x.__name__}"
        case type() if x in (bool, int, float, complex):
            return x.__name__
        case np.generic():
            return f"np.{x.dtype.name}({literal(x.item())})"
        case complex() if not np.isfinite(x):
            return f"complex({literal(x.real)}, {literal(x.imag)})"
        case float() if not np.isfinite(x):
            return {"inf": "np.inf", "-inf": "(-np.inf)", "nan": "np.nan"}[repr(float(x))]
        case int() | float() | complex():
            text = repr(x)
            return f"({text})" if text.startswith("-") else text
        case str() | None:
            return repr(x)
        case _ if x is Ellipsis:
            return "..."
    raise ArgumentError(f"a {type(x).__name__} is no part of a formula of variables: it is made of numbers and arrays")


# -- what is written ----------------------------------------------------------------------------------


def subscript(x: Value, index: Any) -> Any:
    """``x[index]``: an index is made of integers, slices, None, an ellipsis, arrays and variables."""
    formula = Formula()

    def place(part: Any) -> str:
        if isinstance(part, slice):
            return ":".join("" if e is None else formula.text(e) for e in (part.start, part.stop, part.step))
        return formula.text(part)

    base, parts = formula.text(x), index if isinstance(index, tuple) else (index,)
    text = ", ".join(map(place, parts)) + ("," if isinstance(index, tuple) and len(parts) == 1 else "")
    return formula.result(f"{base}[{text or '()'}]")


def function_call(function: str, args: Sequence[Any], kwargs: Mapping[str, Any], formula: Formula) -> Any:
    """A call of what a text says."""
    kwargs = {
        k: v
        for k, v in kwargs.items()
        if k != "out" or any(o is not None for o in (v if isinstance(v, tuple) else (v,)))
    }
    if "out" in kwargs:
        why = f"{function}: out= is an array, which cannot hold what is not known yet"
        raise ArgumentError(Problem(why, hint="take the result; y += x of an array y is written y = y + x"))
    given = [*map(formula.text, args), *(f"{k}={formula.text(v)}" for k, v in kwargs.items())]
    return formula.result(f"{function}({', '.join(given)})")


def _numpy_function(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    formula = Formula()
    return function_call(formula.function(function), args, kwargs, formula)


def _ufunc(ufunc: np.ufunc, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    formula = Formula()
    name = formula.function(ufunc)
    return function_call(name if method == "__call__" else f"{name}.{method}", args, kwargs, formula)


def _method(name: str) -> Callable[..., Any]:
    def called(self: Operators, *args: Any, **kwargs: Any) -> Any:
        formula = Formula()
        return function_call(f"{formula.text(self)}.{name}", args, kwargs, formula)

    called.__name__, called.__doc__ = name, f"As numpy.ndarray.{name}."
    return called


def _attribute(name: str) -> property:
    def found(self: Operators) -> Any:
        _refuse_other_kinds(self, name)
        return written("{0}." + name, [self])

    return property(found, doc=f"As numpy.ndarray.{name}.")


def _refuse_other_kinds(x: Operators, name: str) -> None:
    if isinstance(x, SharedVariable) and not isinstance(x.kind, Kind):
        raise AttributeError(f"{x!r} has no attribute {name!r}")


def _no_array(x: Value) -> Any:
    """What NumPy calls to make an array; numbers are left to be items of arrays of objects."""
    if not x.type.ndim:
        raise AttributeError("__array__")

    def convert(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{x!r} is no array yet: NumPy's functions take it as it is, and np.stack several")

    return convert


def _in_text(text: str) -> Callable[..., Any]:
    return lambda *args: written(text, args)


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
"""Operators of two, as they are written."""
_TEXTS = {n: f"{{0}} {s} {{1}}" for n, s in _SIGNS.items()} | {"divmod": "divmod({0}, {1})"}
_FAST = ("add", "sub", "mul", "div", "neg")
"""What derivative rules are made of: uses of ops, see `srcgraph.ir.ops.vector`."""

for _name, _text in {**_TEXTS, "pos": "+{0}", "abs": "abs({0})", "invert": "~{0}"}.items():
    if _name not in _FAST:
        set_operator(_name, _in_text(_text))


def _quotient(x: Any, y: Any) -> Any:
    """``x / y``: in rules a use of the op; of Python's numbers as in Python, which does not divide by zero."""
    if is_building() or not (_is_pythons(x) and _is_pythons(y)):
        return div(x, y)
    return written("{0} / {1}", [x, y])


def _is_pythons(x: Any) -> bool:
    if isinstance(x, Value):
        return isinstance(x.type, ScalarType) and x.type.weak
    return isinstance(x, int | float | complex) and not isinstance(x, np.generic)


set_operator("div", _quotient)
set_operator("formula", lambda name, *args: written(_TEXTS[name], args))
set_operator("literal", lambda x: written("{0}", [x]))
set_operator("round", lambda x, digits: written("round({0})" if digits is None else "round({0}, {1})", [x, digits]))
set_operator("getitem", subscript)
set_operator("numpy", _numpy_function)
set_operator("ufunc", _ufunc)
set_operator("array", _no_array)
for _name in sorted({*METHODS, *methods()}):
    setattr(Operators, _name, _method(_name))
for _name in ATTRIBUTES:
    setattr(Operators, _name, _attribute(_name))
setattr(SharedVariable, "variable", property(variable_of))  # noqa: B010
