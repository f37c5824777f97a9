"""Functions of `math` that loops over arrays call: several elements at a time, by glibc's libmvec.

LLVM vectorises a loop that calls a function if the call says which other functions take several numbers at once: the
attribute ``vector-function-abi-variant``. numba's own calls do not say so. What is left over at a loop's end, or a loop
that is not vectorised, calls the same function for one element, so that numbers do not depend on where arrays lie in
memory. Where there is no libmvec, the C library's function is called.

The error is at most 4 ulp, and below 1 where the C library's is called; ``erfc`` of more than 26.5 is 0 in a vectorised
loop, not a number below 2.3e-308. ``log10``, of which libmvec's is not exact at all powers of 10, is not among them.

References
----------
Vector function ABI for x86-64: glibc wiki, libmvec. LLVM language reference, "vector-function-abi-variant".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, type_callable
from scipy import special

_LIBRARY = "libmvec.so.1"
LANES = {"e": 8, "d": 4, "b": 2}
"""How many float64 a function takes, by the letter of the instruction set: AVX-512, AVX2, SSE4."""
MASKED = ("e",)
"""The sets of which every instruction can leave out some of its numbers."""
_GATHER = ("exp", "pow")
"""Those that look numbers up in a table, by instructions with a mask, before all else. Processors let these wait for
what was in the mask's register before it is set: one step of a loop for the step before it, and for what is compared
there. Others look up late, or in registers that are seldom used, and lose nothing."""
_TABLE_MASKS = 1, 2, 3
"""The registers of such masks."""
_NEEDS = {"e": "avx512f", "d": "avx2", "b": "sse4.1"}


def _set() -> str:
    """The instruction set of the functions that are called; '' if there are none."""
    if "x86_64" not in llvm.get_default_triple():
        return ""
    try:
        llvm.load_library_permanently(_LIBRARY)
    except RuntimeError:
        return ""
    features = llvm.get_host_cpu_features()
    return next((letter for letter, feature in _NEEDS.items() if features.get(feature)), "")


SET = _set()
PURE = ("nounwind", "willreturn", "memory(none)")
"""What a function or call says of which nothing but the result matters."""
WIDE = '"prefer-vector-width"="512"' if SET == "e" else ""
"""What a function says whose loops are to call those of eight numbers: for Intel's CPUs LLVM takes four otherwise."""


def prefer_wide(function: ir.Function) -> None:
    """Let LLVM take as many elements at a time in loops of a function as the functions here do."""
    if WIDE:
        set.add(function.attributes, WIDE)


def _vectorisable(symbol: str, function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
    """A function for compiled loops, which is ``function``, of NumPy or SciPy, when it is called from Python.

    ``symbol`` is the C library's name of the one for float64.
    """

    def call(*args: Any) -> Any:
        return function(*args)

    def typer(context: Any) -> Callable[..., Any]:
        return _one if count == 1 else _two

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        single = signature.return_type.bitwidth == 32
        return _called(builder, symbol + "f" * single, ir.FloatType() if single else ir.DoubleType(), args)

    call.__name__ = call.__qualname__ = function.__name__
    type_callable(call)(typer)
    lower_builtin(call, *[types.Float] * count)(code)
    return call


def _one(x: Any) -> Any:
    return x if isinstance(x, types.Float) else None


def _two(x: Any, y: Any) -> Any:
    """Numbers of the wider type, integers among them as float64."""
    kinds = [k for k in (x, y) if isinstance(k, types.Float)]
    if not kinds or not all(isinstance(k, types.Float | types.Integer) for k in (x, y)):
        return None
    kind = max((*kinds, *(types.float64 for k in (x, y) if isinstance(k, types.Integer))), key=lambda k: k.bitwidth)
    return signature(kind, kind, kind)


def _called(builder: Any, name: str, kind: Any, args: Any) -> Any:
    module, lanes = builder.module, LANES.get(SET, 0) * (2 if isinstance(kind, ir.FloatType) else 1)
    one = ir.FunctionType(kind, [kind] * len(args))
    ends = f"N{lanes}{'v' * len(args)}_{name}"
    if not SET or llvm.address_of_symbol(f"_ZGV{SET}{ends}") is None:
        return _marked(builder.call(_declared(module, name, one), args))
    prefer_wide(builder.function)
    several = ir.VectorType(kind, lanes)
    variant = _declared(module, f"_ZGV{SET}{ends}", ir.FunctionType(several, [several] * len(args)))
    variant = _apart(module, variant) if SET in MASKED and name in _GATHER else variant
    keep(module, variant)
    own = f"srcgraph_{name}"
    text = f"_ZGV_LLVM_N{lanes}{'v' * len(args)}_{own}({variant.name})"
    call = builder.call(module.globals.get(own) or alone(module, own, one, variant), args)
    return _marked(call, f'"vector-function-abi-variant"="{text}"')


def _apart(module: Any, variant: Any) -> Any:
    """A function of several numbers that does not wait for the masks of what is done before it: they are zero then."""
    name = f"srcgraph{variant.name}"
    if name in module.globals:
        return module.globals[name]
    made = ir.Function(module, variant.function_type, name)
    shared(made)
    prefer_wide(made)
    builder = ir.IRBuilder(made.append_basic_block())
    number = ir.IntType(16)
    for k in _TABLE_MASKS:
        builder.asm(ir.FunctionType(ir.VoidType(), [number]), "", f"{{k{k}}}", [number(0)], side_effect=True)
    builder.ret(_marked(builder.call(variant, made.args, tail=True)))
    return made


def _marked(call: Any, *more: str) -> Any:
    """Tell LLVM that nothing but the result matters."""
    for attribute in (*PURE, *more):
        set.add(call.attributes, attribute)
    return call


def alone(module: Any, name: str, kind: Any, variant: Any) -> Any:
    """A function of single numbers that is the one of several: in a loop an element has the same value everywhere."""
    made = ir.Function(module, kind, name)
    shared(made)
    builder = ir.IRBuilder(made.append_basic_block())
    several = variant.function_type.args[0]
    zero = ir.Constant(ir.IntType(32), 0)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), several.count), None)
    filled = []
    for arg in made.args:
        first = builder.insert_element(ir.Constant(several, ir.Undefined), arg, zero)
        filled.append(builder.shuffle_vector(first, first, mask))
    found = _marked(builder.call(variant, filled))
    if found.type == several:
        builder.ret(builder.extract_element(found, zero))
        return made
    result = ir.Constant(kind.return_type, ir.Undefined)
    for k in range(len(kind.return_type)):
        result = builder.insert_value(result, builder.extract_element(builder.extract_value(found, k), zero), k)
    builder.ret(result)
    return made


def shared(function: Any) -> None:
    """Let each module have its own, of which LLVM keeps one, and none become part of what calls it."""
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    for attribute in PURE:
        set.add(function.attributes, attribute)


def _declared(module: Any, name: str, kind: Any) -> Any:
    found = module.globals.get(name)
    return ir.Function(module, kind, name) if found is None else found


def _composed(function: Callable[..., Any], write: Callable[..., Any]) -> Callable[..., Any]:
    """A function of float64 made of vectorisable ones, which ``write`` writes as instructions."""

    def call(x: Any) -> Any:
        return function(x)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return write(builder, args[0], ir.Constant(ir.DoubleType(), 0.0), ir.Constant(ir.DoubleType(), 1.0))

    call.__name__ = call.__qualname__ = function.__name__
    type_callable(call)(lambda context: lambda x: signature(types.float64, types.float64))
    lower_builtin(call, types.float64)(code)
    return call


def _double(builder: Any, name: str, x: Any) -> Any:
    return _called(builder, name, ir.DoubleType(), [x])


def _decay(builder: Any, x: Any) -> tuple[Any, Any]:
    """Whether a number is negative, and ``exp(-abs(x))``."""
    size = builder.call(builder.module.declare_intrinsic("llvm.fabs", [x.type]), [x])
    return builder.fcmp_ordered("<", x, ir.Constant(x.type, 0.0)), _double(builder, "exp", builder.fneg(size))


def _ndtr(builder: Any, x: Any, zero: Any, one: Any) -> Any:
    tail = _double(builder, "erfc", builder.fmul(x, ir.Constant(x.type, -(0.5**0.5))))
    return builder.fmul(tail, ir.Constant(x.type, 0.5))


def _expit(builder: Any, x: Any, zero: Any, one: Any) -> Any:
    negative, small = _decay(builder, x)
    return builder.fdiv(builder.select(negative, small, one), builder.fadd(one, small))


def _log_expit(builder: Any, x: Any, zero: Any, one: Any) -> Any:
    negative, small = _decay(builder, x)
    return builder.fsub(builder.select(negative, x, zero), _double(builder, "log1p", small))


_KEPT = "llvm.compiler.used"


def keep(module: Any, function: Any) -> None:
    """A declaration that nothing calls yet stays until loops are vectorised."""
    pointer = ir.IntType(8).as_pointer()
    kept, name = module.globals.get(_KEPT), function.bitcast(pointer)
    names = [] if kept is None else list(kept.initializer.constant)
    if str(name) in map(str, names):
        return
    names.append(name)
    kind = ir.ArrayType(pointer, len(names))
    if kept is None:
        kept = ir.GlobalVariable(module, kind, _KEPT)
        kept.linkage, kept.section = "appending", "llvm.metadata"
    kept.value_type, kept.type = kind, kind.as_pointer()
    kept.initializer = ir.Constant(kind, names)  # type: ignore[assignment]


exp = _vectorisable("exp", np.exp)
exp2 = _vectorisable("exp2", np.exp2)
expm1 = _vectorisable("expm1", np.expm1)
log = _vectorisable("log", np.log)
log2 = _vectorisable("log2", np.log2)
log1p = _vectorisable("log1p", np.log1p)
sin = _vectorisable("sin", np.sin)
cos = _vectorisable("cos", np.cos)
tan = _vectorisable("tan", np.tan)
arcsin = _vectorisable("asin", np.arcsin)
arccos = _vectorisable("acos", np.arccos)
arctan = _vectorisable("atan", np.arctan)
arctan2 = _vectorisable("atan2", np.arctan2, 2)
hypot = _vectorisable("hypot", np.hypot, 2)
sinh = _vectorisable("sinh", np.sinh)
cosh = _vectorisable("cosh", np.cosh)
tanh = _vectorisable("tanh", np.tanh)
arcsinh = _vectorisable("asinh", np.arcsinh)
arccosh = _vectorisable("acosh", np.arccosh)
arctanh = _vectorisable("atanh", np.arctanh)
cbrt = _vectorisable("cbrt", np.cbrt)
power = _vectorisable("pow", np.power, 2)
erf = _vectorisable("erf", special.erf)
erfc = _vectorisable("erfc", special.erfc)
ndtr = _composed(special.ndtr, _ndtr)
expit = _composed(special.expit, _expit)
log_expit = _composed(special.log_expit, _log_expit)
