"""Python's operators, and NumPy's protocols, of what stands for a number or an array in a graph.

`Operators` is the base of values and of shared variables. What each of them builds is entered by `set_operator`: sums
and products, of which derivative rules are made, by `srcgraph.ir.ops.vector`; all the rest, methods and attributes too,
by `srcgraph.runtime.formulas`, which lowers them as if they stood in a function's source.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from srcgraph.ir.graph import Value

OPERATORS: dict[str, Callable[..., Any]] = {}
"""What is built, by names: of functions of `operator`, and a few more."""


def set_operator(name: str, function: Callable[..., Any]) -> None:
    """Say which op a Python operator on values builds, or how a graph is printed (``str``)."""
    OPERATORS[name] = function


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | complex | np.number | np.bool_)


def binary(name: str, x: Any, y: Any) -> Any:
    """``x`` and ``y`` put together; another one's operator is asked where one of them is nothing that NumPy takes."""
    if not all(isinstance(v, Operators) or _is_number(v) for v in (x, y)):
        if not all(isinstance(v, Operators | np.ndarray | list | tuple) or _is_number(v) for v in (x, y)):
            return NotImplemented
        return OPERATORS["formula"](name, x, y)
    return OPERATORS[name](*(v.variable if isinstance(v, Operators) else v for v in (x, y)))


def unary(name: str, x: Any) -> Any:
    return OPERATORS[name](x.variable)


def _two(name: str) -> Callable[[Any, Any], Value]:
    return lambda self, other: binary(name, self, other)


def _two_reversed(name: str) -> Callable[[Any, Any], Value]:
    return lambda self, other: binary(name, other, self)


def _one(name: str) -> Callable[[Any], Value]:
    return lambda self: unary(name, self)


def _no_number(instead: str) -> Callable[[Any], Any]:
    def convert(self: Any) -> Any:
        raise TypeError(f"{self!r} is no number yet{', ' if instead.startswith('so') else ': '}{instead}")

    return convert


class Operators:
    """What a value and a shared variable can do alike.

    Two of them are equal if they are one: so they are found in lists, and are keys of dicts. `numpy.equal` compares
    what they stand for.
    """

    __slots__ = ()
    HOLDS = ""
    """What to write besides, in messages, where something is known already."""

    @property
    def variable(self) -> Value:
        """The value that it stands for."""
        raise NotImplementedError

    __add__, __radd__ = _two("add"), _two_reversed("add")
    __sub__, __rsub__ = _two("sub"), _two_reversed("sub")
    __mul__, __rmul__ = _two("mul"), _two_reversed("mul")
    __truediv__, __rtruediv__ = _two("div"), _two_reversed("div")
    __floordiv__, __rfloordiv__ = _two("floordiv"), _two_reversed("floordiv")
    __mod__, __rmod__ = _two("mod"), _two_reversed("mod")
    __divmod__, __rdivmod__ = _two("divmod"), _two_reversed("divmod")
    __pow__, __rpow__ = _two("pow"), _two_reversed("pow")
    __matmul__, __rmatmul__ = _two("matmul"), _two_reversed("matmul")
    __and__, __rand__ = _two("and"), _two_reversed("and")
    __or__, __ror__ = _two("or"), _two_reversed("or")
    __xor__, __rxor__ = _two("xor"), _two_reversed("xor")
    __lshift__, __rlshift__ = _two("lshift"), _two_reversed("lshift")
    __rshift__, __rrshift__ = _two("rshift"), _two_reversed("rshift")
    __lt__, __le__, __gt__, __ge__ = _two("lt"), _two("le"), _two("gt"), _two("ge")
    __neg__, __pos__, __abs__, __invert__ = _one("neg"), _one("pos"), _one("abs"), _one("invert")

    def __round__(self, digits: int | None = None) -> Value:
        return OPERATORS["round"](self.variable, digits)

    def __getitem__(self, index: Any) -> Value:
        return OPERATORS["getitem"](self.variable, index)

    __iter__ = None
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Operators) or not (isinstance(other, np.ndarray) or _is_number(other)):
            return False
        why = f"== and != of {self!r} ask whether it is the same variable: write np.equal(x, y){self.HOLDS}"
        length = "; where np.arange asks it, build call(lambda n: np.arange(n), n)"
        raise TypeError(why + length * (not self.variable.type.ndim and self.variable.type.dtype.kind in "iu"))

    def __bool__(self) -> bool:
        return OPERATORS["truth"](self.variable)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        return OPERATORS["ufunc"](ufunc, method, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return OPERATORS["numpy"](function, args, kwargs)

    @property
    def __array__(self) -> Any:
        return OPERATORS["array"](self.variable)

    def __len__(self) -> int:
        hint = (
            "its .shape[0] is a variable that stands for it"
            if self.variable.type.ndim
            else "it is a number, which has none"
        )
        raise TypeError(f"the length of {self!r} is not known until the function is called: {hint}")

    __float__ = __complex__ = _no_number(
        "call the function that is made of it, use NumPy's functions, or .astype(float)"
    )
    __int__ = _no_number("call the function that is made of it, or write .astype(int)")
    __index__ = _no_number(
        "so it cannot be an index or a length here; it can index variables, and np.zeros_like(x) has x's"
    )
