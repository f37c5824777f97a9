"""What ops are built with: Python text of their inputs, made of variables, or evaluated by NumPy.

One table of ops serves for both: what NumPy makes of the same text is what a graph means where its recorded result is
that of another graph, which a rewriting made of it.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import linalg, special

from conformance.records import Kind
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType
from srcgraph.runtime.formulas import written
from srcgraph.runtime.symbolic import call
from srcgraph.runtime.texts import function_of

SPACE = {"np": np, "special": special, "linalg": linalg}


class Unsupported(Exception):
    """What no builder is written for."""


class Writer(Protocol):
    """Gives meaning to text with {0}, {1}, ... for arguments."""

    def expression(self, text: str, args: tuple[Any, ...]) -> Any: ...

    def statements(self, text: str, args: tuple[Any, ...]) -> Any: ...


class Variables:
    """Text of variables: what is compiled."""

    def expression(self, text: str, args: tuple[Any, ...]) -> Any:
        return written(text, args)

    def statements(self, text: str, args: tuple[Any, ...]) -> Any:
        return call(function(text, args), *(a for a in args if isinstance(a, Value)))


class Plainly:
    """Text of arrays, evaluated by NumPy."""

    def expression(self, text: str, args: tuple[Any, ...]) -> Any:
        return self.statements(f"return {text}", args)

    def statements(self, text: str, args: tuple[Any, ...]) -> Any:
        names = [f"a{k}" for k in range(len(args))]
        with np.errstate(all="ignore"):
            return _defined(", ".join(names), text.format(*names))(*args)


def function(text: str, args: tuple[Any, ...]) -> Any:
    """A function of the variables among some arguments; the others are written into it."""
    names = [f"a{k}" for k in range(len(args))]
    given = [n for n, a in zip(names, args, strict=True) if isinstance(a, Value)]
    places = [n if isinstance(a, Value) else literal(a) for n, a in zip(names, args, strict=True)]
    return _defined(", ".join(given), text.format(*places))


def _defined(names: str, body: str) -> Any:
    return function_of(f"def op({names}):\n{textwrap.indent(body, '    ')}\n", "op", "a recorded op", SPACE)


def literal(x: Any) -> str:
    """What is no variable, as text."""
    if isinstance(x, np.ndarray | np.generic):
        text = repr(x.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({text}, dtype=np.{x.dtype.name})" if x.ndim else f"np.{x.dtype.name}({text})"
    return f"np.{x.name}" if isinstance(x, np.dtype) else repr(x)


@dataclass(frozen=True, slots=True)
class Use:
    """One use of an op, as its builder sees it."""

    writer: Writer
    scalar: str | None
    inputs: tuple[Any, ...]
    outs: tuple[Kind, ...]
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype:
        """Of its first result."""
        return np.dtype(self.outs[0].dtype)

    def __call__(self, text: str, *args: Any) -> Any:
        """An expression of its inputs, or of others that are given."""
        return self.writer.expression(text, args or self.inputs)

    def do(self, text: str, *args: Any) -> Any:
        """Statements, the last of which returns."""
        return self.writer.statements(text, args or self.inputs)

    def cast(self, x: Any, dtype: Any) -> Any:
        dtype = np.dtype(dtype)
        if dtype_of(x).kind == "c" and dtype.kind != "c":
            x = self.writer.expression("np.real({0})", (x,))
        if dtype_of(x) == dtype and not is_weak(x):
            return x
        if not isinstance(x, Value):
            return np.asarray(x).astype(dtype)[()]
        return self.writer.expression("{0}.astype({1})" if ndim_of(x) else f"np.{dtype.name}({{0}})", (x, dtype))

    def cast_all(self, dtype: Any = None) -> tuple[Any, ...]:
        """The inputs as one dtype: that of the result, if no other is given."""
        return tuple(self.cast(x, self.dtype if dtype is None else dtype) for x in self.inputs)


def dtype_of(x: Any) -> np.dtype:
    return np.dtype(x.type.dtype) if isinstance(x, Value) else np.asarray(x).dtype


def ndim_of(x: Any) -> int:
    if isinstance(x, Value):
        return len(x.type.shape) if isinstance(x.type, ArrayType) else 0
    return np.ndim(x)


def is_weak(x: Any) -> bool:
    return bool(getattr(x.type, "weak", False)) if isinstance(x, Value) else isinstance(x, int | float)


def whole(x: Any) -> Any:
    """An integer that is known as a Python one."""
    return x if isinstance(x, Value) else int(x)


def places(first: int, count: int) -> str:
    """``{1}, {2}, ``: so many arguments from one on."""
    return "".join(f"{{{k}}}, " for k in range(first, first + count))
