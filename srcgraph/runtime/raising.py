"""Exceptions with numbers in their text: what makes one is a function of its own, for all that have such numbers.

numba writes, wherever a function raises, the two allocations of an exception and all that fills them in. A loop that
checks each of its indices is mostly that, which takes time to compile, and the registers that the loop needs.

References
----------
numba's ``CPUCallConv.set_dynamic_user_exc``, which says what an exception is made of.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_USEREXC, excinfo_ptr_t, excinfo_t, int32_t

_POINTER = cgutils.voidptr_t
_PARTS = (0, 1)
"""Of what numba keeps of an exception: where its fixed parts are, and how long they are."""


def is_plain(kinds: Any) -> bool:
    """Whether what is to be in the text, given by types and None for what is fixed, is numbers."""
    return all(kind is None or isinstance(kind, types.Integer | types.Float | types.Boolean) for kind in kinds)


def raise_with(context: Any, builder: Any, exception: Any, values: Any, kinds: Any) -> None:
    """Return from a function as numba does with an exception.

    Parameters
    ----------
    exception
        What numba keeps of it, as ``build_excinfo_struct`` gives it.
    values, kinds
        LLVM's values that are to be in its text, and numba's types of them.
    """
    convention = context.call_conv
    fixed = context.get_python_api(builder).serialize_object(exception)
    made = _maker(context, builder.module, fixed.type, tuple(v.type for v in values), kinds)
    place = convention._get_excinfo_argument(builder.function)
    builder.call(made, [cgutils.get_null_value(made.args[0].type), place, fixed, *values])
    builder.ret(RETCODE_USEREXC)


def _maker(context: Any, module: Any, fixed: Any, held: tuple[Any, ...], kinds: Any) -> Any:
    """A function of a module that fills in an exception; begins like any of numba's, which raises if memory is out."""
    place = excinfo_ptr_t.as_pointer()
    names = "_".join(str(kind) for kind in kinds)
    kind = ir.FunctionType(int32_t, [_POINTER, place, fixed, *held])
    made = cgutils.get_or_insert_function(module, kind, f"srcgraph_exception_{names}")
    if not made.is_declaration:
        return made
    made.linkage = "linkonce_odr"
    for attribute in ("noinline", "cold"):
        made.attributes.add(attribute)
    _, place, fixed, *values = made.args
    b = ir.IRBuilder(made.append_basic_block())
    api, convention = context.get_python_api(b), context.call_conv
    parts = ir.LiteralStructType(held)
    numbers = convention.emit_wrap_args_insts(b, api, parts, values)
    unwrap = convention.emit_unwrap_dynamic_exception_fn(module, parts, kinds)
    size = api.py_ssize_t(context.get_abi_sizeof(excinfo_t))
    out = b.bitcast(context.nrt.allocate(b, size), excinfo_ptr_t)
    whole = b.load(fixed)
    fields = [b.extract_value(whole, k) for k in _PARTS]
    fields += [b.bitcast(numbers, _POINTER), b.bitcast(unwrap, _POINTER), int32_t(len(held))]
    for k, field in enumerate(fields):
        b.store(field, cgutils.gep_inbounds(b, out, 0, k))
    b.store(out, place)
    b.ret(RETCODE_USEREXC)
    return made
