"""What makes numba's CUDA simulator give what a GPU gives: its kernels are Python functions.

Python raises where a GPU gives inf or NaN, and for integers that a narrower one cannot hold. Here the operators and
functions of kernels become NumPy's.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import sys
import textwrap
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

_OPERATORS = {ast.Div: "true_divide", ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "power"}
_MATH = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "radians": "deg2rad", "degrees": "rad2deg", "sqrt": "sqrt", "hypot": "hypot", "fabs": "fabs", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "fmod": "fmod", "copysign": "copysign", "isnan": "isnan", "isinf": "isinf",
    "isfinite": "isfinite",
}  # fmt: skip
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp")


@functools.cache
def simulated_math() -> Any:
    """`math`, the functions of which do not raise."""
    known = {name: getattr(np, own) for name, own in _MATH.items()}
    special = {name: _quietly(getattr(math, name)) for name in ("erf", "erfc", "gamma", "lgamma")}
    return types.SimpleNamespace(**known, **special, inf=math.inf, nan=math.nan)


def _quietly(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function that gives inf, or NaN, where it raises."""

    def call(x: Any) -> Any:
        try:
            return np.result_type(x, np.float64 if isinstance(x, int) else np.float16).type(function(x))
        except OverflowError:
            return np.float64(np.inf)
        except ValueError:
            return np.float64(np.inf if x == 0 or function is math.lgamma else np.nan)

    return call


def narrowed(x: Any, dtype: Any) -> Any:
    """An integer of a dtype, which wraps."""
    kind = np.dtype(dtype)
    if isinstance(x, int):
        bits = 8 * kind.itemsize
        x &= 2**bits - 1
        return kind.type(x if kind.kind == "u" or x < 2 ** (bits - 1) else x - 2**bits)
    with np.errstate(invalid="ignore"):
        return np.asarray(x).astype(kind)[()]


class _Integer:
    """One of NumPy's integer types, which wraps what it is called with."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def __call__(self, x: Any) -> Any:
        return narrowed(x, self.dtype)


class _Numpy:
    """NumPy with such integers."""

    def __init__(self) -> None:
        vars(self).update({name: _Integer(np.dtype(name)) for name in _INTEGERS})

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@functools.cache
def simulated_numpy() -> Any:
    """NumPy as kernels know it."""
    return _Numpy()


class _Operators(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        if name is None:
            return node
        return ast.Call(ast.Attribute(ast.Name("_numpy", ast.Load()), name, ast.Load()), [node.left, node.right], [])


def without_raising(function: types.FunctionType) -> types.FunctionType:
    """A function whose divisions, remainders and powers are NumPy's."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    made = tree.body[0]
    assert isinstance(made, ast.FunctionDef)
    made.decorator_list, made.returns = [], None
    for arg in made.args.args:
        arg.annotation = None
    code = compile(ast.fix_missing_locations(_Operators().visit(tree)), function.__code__.co_filename, "exec")
    function.__globals__["_numpy"] = np
    inner = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return types.FunctionType(inner, function.__globals__, function.__name__)


_making = threading.Lock()


def shared_array(self: Any, shape: Any, dtype: Any) -> Any:
    """The simulator's shared memory, which two of its threads must not make at once.

    A function that is called with arrays of two dtypes has two of them, as functions compiled for each have.
    """
    frame = sys._getframe(1)
    place = frame.f_code.co_filename, frame.f_lineno, shape, np.dtype(dtype)
    with _making:
        if place not in self._allocations:
            self._allocations[place] = np.empty(shape, dtype)
        return self._allocations[place]
