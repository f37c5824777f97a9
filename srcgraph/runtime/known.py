"""What is known of arguments when compiling, for LLVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
