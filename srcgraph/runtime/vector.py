"""Functions of `math` that loops over arrays call: several elements at a time, by glibc's libmvec.

LLVM vectorises a loop that calls a function if the call says which other functions take several numbers at once: the
attribute ``vector-function-abi-variant``. numba's own calls do not say so. Where the loop is not vectorised, or where
there is no libmvec, the C library's function is called.

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
from numba.extending import lower_builtin, type_callable
from scipy import special

_LIBRARY = "libmvec.so.1"
_LANES = {"b": 2, "d": 4, "e": 8}
"""How many float64 the variants take, by the letter of the instruction set: SSE4, AVX2, AVX-512."""
_NEEDS = {"b": "sse4.1", "d": "avx2", "e": "avx512f"}


def _sets() -> tuple[str, ...]:
    """The instruction sets for which there are variants, on this machine."""
    if "x86_64" not in llvm.get_default_triple():
        return ()
    try:
        llvm.load_library_permanently(_LIBRARY)
    except RuntimeError:
        return ()
    features = llvm.get_host_cpu_features()
    return tuple(letter for letter, feature in _NEEDS.items() if features.get(feature))


SETS = _sets()


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
    return x if isinstance(x, types.Float) and x == y else None


def _called(builder: Any, name: str, kind: Any, args: Any) -> Any:
    scalar = _declared(builder.module, name, ir.FunctionType(kind, [kind] * len(args)))
    variants = list(_variants(builder.module, name, kind, len(args)))
    call = builder.call(scalar, args)
    given = ["nounwind", "willreturn", "memory(none)"]
    if variants:
        listed = ",".join(text for text, _ in variants)
        given.append(f'"vector-function-abi-variant"="{listed}"')
        _keep(builder.module, [variant for _, variant in variants])
    for attribute in given:
        set.add(call.attributes, attribute)
    return call


def _declared(module: Any, name: str, kind: Any) -> Any:
    found = module.globals.get(name)
    return ir.Function(module, kind, name) if found is None else found


def _variants(module: Any, name: str, kind: Any, count: int) -> Any:
    """What the attribute says of each variant, and its declaration."""
    for letter in SETS:
        lanes = _LANES[letter] * (2 if isinstance(kind, ir.FloatType) else 1)
        ends = f"N{lanes}{'v' * count}_{name}"
        variant = f"_ZGV{letter}{ends}"
        if llvm.address_of_symbol(variant) is None:
            continue
        several = ir.VectorType(kind, lanes)
        made = _declared(module, variant, ir.FunctionType(several, [several] * count))
        yield f"_ZGV_LLVM_{ends}({variant})", made


_KEPT = "llvm.compiler.used"


def _keep(module: Any, functions: list[Any]) -> None:
    """Declarations that nothing calls yet stay until loops are vectorised."""
    pointer = ir.IntType(8).as_pointer()
    kept = module.globals.get(_KEPT)
    names = [] if kept is None else list(kept.initializer.constant)
    known = {str(n) for n in names}
    names += [n for f in functions if str(n := f.bitcast(pointer)) not in known]
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
sinh = _vectorisable("sinh", np.sinh)
cosh = _vectorisable("cosh", np.cosh)
tanh = _vectorisable("tanh", np.tanh)
arcsinh = _vectorisable("asinh", np.arcsinh)
arccosh = _vectorisable("acosh", np.arccosh)
arctanh = _vectorisable("atanh", np.arctanh)
cbrt = _vectorisable("cbrt", np.cbrt)
erf = _vectorisable("erf", special.erf)
erfc = _vectorisable("erfc", special.erfc)
