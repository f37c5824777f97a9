"""How expressions of the CPU's spelling are written in CUDA kernels, and in Python that runs on the host.

The schedule spells ops as numba's CPU target knows them. A kernel calls `math` and the few device functions of
`srcgraph.runtime.gpu`; on the host Python itself runs what is outside nests, where division and powers of floats are
made NumPy's: they give inf and NaN where Python's raise.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from srcgraph.codegen.expr import call, dotted
from srcgraph.codegen.items import Ref
from srcgraph.ir.types import NAME_OF, ArrayType, ListType

MATH = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin",
    "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "deg2rad": "radians", "rad2deg": "degrees", "sqrt": "sqrt", "hypot": "hypot", "fabs": "fabs", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "fmod": "fmod", "copysign": "copysign",
}  # fmt: skip
"""NumPy's functions of real numbers, and those of `math` that every CUDA target has."""
DEVICE = frozenset((
    "maximum", "minimum", "fmax", "fmin", "sign", "rint", "exp2", "cbrt", "logaddexp", "integer_power", "two_sum",
    "log1mexp", "logit", "log_expit", "xlogy", "gamma", "gammaln", "ndtr", "conj", "complex_abs", "complex_divide",
    "complex_reciprocal", "complex_exp", "complex_log", "complex_sqrt", "complex_sin", "complex_cos",
    "complex_whole_power", "python_divide", "hypot_less", "hypot_less_equal", "hypot_greater", "hypot_greater_equal",
))  # fmt: skip
"""The device functions of `srcgraph.runtime.gpu`."""
ON_HOST = "_on_host"
"""What the names of the CPU's functions end in that kernels have others for."""
_OF_COMPLEX = frozenset((*(n for n in DEVICE if n.startswith("complex_")), "conj", "python_divide"))
_PLAIN = frozenset(("abs", "bool", "complex", "divmod", "float", "int", "max", "min", "range"))
_COMPARED = frozenset(n for n in DEVICE if n.startswith("hypot_"))
_TESTS = frozenset(("isnan", "isfinite", "isinf"))
_DTYPES = frozenset((*NAME_OF.values(), *(d.name for d in NAME_OF), "intp", "bool_"))
_NARROWED = frozenset(d.name for d in NAME_OF if d.kind in "iu" and d.name != "int64")
_ORDER = "biufc"


class NoSpelling(Exception):
    """A kernel cannot call a function; the argument is its name."""


def kind_of(node: ast.expr) -> str:
    """The kind of number an expression gives, as `numpy.dtype.kind`; 'f' where it cannot be told."""
    match node:
        case Ref(value=value):
            return value.type.dtype.kind if hasattr(value.type, "dtype") else "i"
        case ast.Subscript(value=Ref(value=value)):
            held = value.type.item if isinstance(value.type, ListType) else value.type
            return held.dtype.kind if hasattr(held, "dtype") else "i"
        case ast.Constant(value=value):
            return {bool: "b", int: "i", complex: "c"}.get(type(value), "f")
        case ast.UnaryOp(op=ast.Not()) | ast.Compare():
            return "b"
        case ast.UnaryOp(operand=operand):
            return kind_of(operand).replace("b", "i")
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return "c" if "c" in kind_of(left) + kind_of(right) else "f"
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            return max(kind_of(left), kind_of(right), key=_ORDER.index)
        case ast.BoolOp(values=values):
            return max(map(kind_of, values), key=_ORDER.index)
        case ast.Call():
            return _kind_of_call(node)
    return "f"


def _kind_of_call(node: ast.Call) -> str:
    name = ast.unparse(node.func)
    last = name.rsplit(".")[-1]
    known = {"int": "i", "intp": "i", "len": "i", "float": "f", "bool": "b", "bool_": "b", "complex": "c"}.get(last)
    for dtype in NAME_OF:
        known = dtype.kind if last == dtype.name else known
    if known is not None:
        return known
    if last in _TESTS or last in _COMPARED:
        return "b"
    if last == "abs" and node.args:
        return kind_of(node.args[0]).replace("c", "f")
    if last in ("max", "min", "maximum", "minimum", "fmax", "fmin", "conj", "sign", "conjugate") and node.args:
        return max(map(kind_of, node.args), key=_ORDER.index)
    return "c" if last.startswith("complex_") else "i" if last in ("integer_power", "whole_power") else "f"


# -- in kernels -------------------------------------------------------------------------------------


def in_kernel(node: ast.expr) -> ast.expr:
    """An expression as a kernel writes it.

    Raises
    ------
    NoSpelling
        It calls what kernels cannot.
    """
    match node:
        case Ref(value=value):
            if isinstance(value.type, ListType):
                raise NoSpelling("a list")
            return node
        case ast.Call(func=func, args=args):
            name = _device_name(ast.unparse(func), "".join(map(kind_of, args)))
            return call(name, *map(in_kernel, args))
        case ast.BinOp(left=left, op=ast.Pow(), right=right) if kind_of(left) == "c":
            if not isinstance(right, ast.Constant) or not isinstance(right.value, int):
                raise NoSpelling("power of complex numbers")
            return call("complex_whole_power", in_kernel(left), right)
        case ast.Attribute(value=ast.Name(id="np"), attr="inf" | "nan" as attr):
            return dotted(f"math.{attr}")
    return _rebuilt(node, in_kernel)


def _device_name(name: str, kinds: str) -> str:
    """What a kernel calls for a function of the CPU's, of arguments of these kinds."""
    module, _, last = name.rpartition(".")
    if module == "np" and last in _DTYPES:
        return name
    if "c" in kinds:
        plain = {"abs": "complex_abs", "np.conj": "conj"}.get(name, name)
        if plain not in _OF_COMPLEX:
            raise NoSpelling(f"{last} of complex numbers")
        return plain
    if name in _PLAIN:
        return {"max": "maximum", "min": "minimum"}.get(name, name)  # which not all versions of numba know in kernels
    if name == "np.sign" and kinds != "f":
        raise NoSpelling("sign of integers")
    if module == "np" and last in MATH:
        return f"math.{MATH[last]}"
    if module == "math" and last in ("erf", "erfc", *_TESTS):
        return name
    if module in ("np", "") and last in DEVICE:
        return last
    raise NoSpelling(last)


# -- on the host ------------------------------------------------------------------------------------


def on_host(node: ast.expr) -> ast.expr:
    """An expression as Python evaluates it to what compiled code does."""
    match node:
        case Ref():
            return node
        case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv() | ast.Mod() | ast.Pow() as op, right=right):
            kind = kind_of(node)
            left, right = on_host(left), on_host(right)
            if kind in "fc" and not (_is_numpy(left) or _is_numpy(right)):
                left = call("np.complex128" if kind == "c" else "np.float64", left)
            return ast.BinOp(left, op, right)
        case ast.Call(func=func, args=args):
            name = ast.unparse(func)
            if name.removeprefix("np.") in _NARROWED and len(args) == 1 and kind_of(args[0]) == "i":
                return call("narrowed", on_host(args[0]), func)
            if name in DEVICE:
                return call(name + ON_HOST, *map(on_host, args))
            if name == "np.intp":
                return call("int", *map(on_host, args))
            if name.startswith("math.") and name[5:] in _TESTS and "c" in map(kind_of, args):
                return call(f"np.{name[5:]}", *map(on_host, args))
    return _rebuilt(node, on_host)


def _is_numpy(node: ast.expr) -> bool:
    """Whether an expression surely gives a number of NumPy's."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"))):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_numpy(left) or _is_numpy(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_numpy(operand)
    return False


def reads_element(node: ast.expr) -> bool:
    """Whether an expression reads an element of an array."""
    return any(
        isinstance(n, ast.Subscript) and isinstance(n.value, Ref) and isinstance(n.value.value.type, ArrayType)
        for n in ast.walk(node)
    )


def _rebuilt(node: ast.AST, change: Callable[[Any], Any]) -> Any:
    """A copy with its parts changed."""
    fields = {}
    for key, old in ast.iter_fields(node):
        if isinstance(old, list):
            fields[key] = [change(x) if isinstance(x, ast.AST) else x for x in old]
        else:
            fields[key] = change(old) if isinstance(old, ast.expr) else old
    return type(node)(**fields)
