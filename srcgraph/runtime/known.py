"""What LLVM is told beyond what numba says: what is known of arguments, and which integers floats become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite.ir import Constant
from numba import types
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, type_callable


def assume(fact: bool) -> None:
    """Tell LLVM that something holds, such as how long an axis is, so that it knows how far apart elements are."""


@type_callable(assume)
def _type_of_assume(context: Any) -> Callable[..., Any]:
    return lambda fact: signature(types.none, types.boolean)


@lower_builtin(assume, types.boolean)
def _assume(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.assume(args[0])
    return context.get_dummy_value()


def unsigned(x: float) -> np.uint64:
    """A float without its fraction, as an integer of 64 bits that wraps, as NumPy's: -1.5 is 2**64 - 1."""
    return np.uint64(x) if x >= 2.0**63 else np.uint64(np.int64(x))


@type_callable(unsigned)
def _type_of_unsigned(context: Any) -> Callable[..., Any]:
    return lambda x: signature(types.uint64, x) if isinstance(x, types.Float) else None


@lower_builtin(unsigned, types.Float)
def _unsigned(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    (x,), whole, half = args, context.get_value_type(types.uint64), Constant(args[0].type, 2.0**63)
    above = builder.xor(builder.fptosi(builder.fsub(x, half), whole), Constant(whole, 1 << 63))
    return builder.select(builder.fcmp_ordered(">=", x, half), above, builder.fptosi(x, whole))
