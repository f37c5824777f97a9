"""What numba's operators give for numbers and elements of arrays, found once for each combination of types.

numba asks all that is registered for an operator, dozens of templates, again for every operation of a function, and
for each once more in every round of its inference. And it compiles `numpy.zeros`, and what else makes an array, for
each combination of types, and so it does ``max`` of integers; `srcgraph.runtime.arrays` has some that are written
where they are called.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from numba.core import errors, types
from numba.core.typing.templates import signature

from srcgraph.runtime.arrays import INSTEAD, is_cleared

_OPERATORS = frozenset(f for f in vars(operator).values() if callable(f))
_KNOWN: dict[tuple[Any, ...], tuple[Any, Any]] = {}
"""The operator's type, which is another once something is registered for it, and the signature."""

_MANY = 20_000
"""More than this is forgotten: a number that is written in a function is a type of its own."""
_WRITTEN: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@contextmanager
def remembered(typing: Any) -> Iterator[None]:
    """While this lasts, and numba's lock is held, a typing context remembers what operators give."""
    if "resolve_function_type" in vars(typing):  # a function is compiled for one that calls it
        yield
        return
    resolve = typing.resolve_function_type = _remembering(typing, typing.resolve_function_type)
    store = typing.resolve_value_type(operator.setitem)
    typing.resolve_setitem = lambda target, index, value: resolve(store, (target, index, value), {})
    try:
        yield
    finally:
        del typing.resolve_function_type, typing.resolve_setitem


def implementation(context: Any, function: Callable[..., Any], kinds: tuple[Any, ...]) -> Any:
    """What numba writes for an operator of numbers, see `BaseContext.get_function`; None if it is not of numbers."""
    key = (function, *kinds)
    known, found = _WRITTEN.get(key, (None, None))
    if known is not context and all(map(_is_number, kinds)):
        typing = context.typing_context
        type = typing.resolve_value_type(function)
        found = context.get_function(type, type.get_call_type(typing, kinds, {}))
        _WRITTEN[key] = context, found
    return found


def _remembering(typing: Any, usual: Callable[..., Any]) -> Callable[..., Any]:
    def resolve_function_type(function: Any, args: Any, keywords: Any) -> Any:
        if not keywords and is_cleared(function, args):
            return signature(types.none, *args, recvr=function.this)
        if (found := _written_here(typing, function, args, keywords)) is not None:
            return found
        if function in _OPERATORS:
            function = typing.resolve_value_type(function)
        if keywords or not isinstance(function, types.Function):
            return usual(function, args, keywords)
        key = (function.typing_key, *args)
        known, found = _KNOWN.get(key, (None, None))
        if known is not function:
            found = usual(function, args, keywords)
            if found is not None and all(map(_is_plain, args)):
                if len(_KNOWN) > _MANY:
                    _KNOWN.clear()
                _KNOWN[key] = function, found
        return found

    return resolve_function_type


def _written_here(typing: Any, function: Any, args: Any, keywords: Any) -> Any:
    """The signature of a function, if what `srcgraph.runtime.arrays` has instead does for such arguments."""
    instead = INSTEAD.get(cast(Any, function.typing_key)) if isinstance(function, types.Function) else None
    if instead is None:
        return None
    own = typing.resolve_value_type(instead)
    try:
        found = own.get_call_type(typing, args, keywords)
    except errors.TypingError:
        return None
    if found is not None:
        cast(Any, function)._impl_keys[found.args] = own.get_impl_key(found)  # where code for a call is looked up
    return found


def _is_plain(type: Any) -> bool:
    """Whether a type is of numbers alone."""
    if isinstance(type, types.BaseTuple):
        return all(map(_is_plain, type.types))  # type: ignore[attr-defined]
    return _is_number(type.dtype if isinstance(type, types.Array) else type)


def _is_number(type: Any) -> bool:
    return isinstance(type, types.Number | types.Boolean)
