"""What compiled code does that is seen outside: text, warnings, exceptions with text made at run time.

The helpers are ordinary Python functions. Compiled code calls them through Python's own interface,
holding its lock, so that text is made by Python itself, at once and in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

from srcgraph.ir.exceptions import exception
from srcgraph.ir.ops.checks import exception_of
from srcgraph.ir.ops.effects import flush_stream, issue_warning, show_progress, show_text


class Raised(Exception):
    """Stands for an exception that compiled code cannot make itself.

    Its arguments are the name of a class, a text, a template or several, and the values; or an
    exception that a helper met, which is passed on as it is.
    """


def raised(error: Exception) -> Exception:
    """The exception that the user is to see for one that came out of compiled code."""
    args = error.args
    if isinstance(error, Raised):
        if isinstance(args[0], Exception):
            return args[0]
        return exception_of(exception(args[0]), args[1], args[2:])
    if not args or not (isinstance(args[0], tuple) or (isinstance(args[0], str) and len(args) > 1)):
        return error
    return exception_of(type(error), args[0], args[1:])


def show(text: str, *values: Any) -> None:
    """Write text to `sys.stdout`."""
    show_text(text, *values)


def show_error(text: str, *values: Any) -> None:
    """Write text to `sys.stderr`."""
    show_text(text, *values, stream="stderr")


def flush(stream: str) -> None:
    """Flush a stream."""
    flush_stream(stream=stream)


def progress(text: str, done: int, total: int) -> None:
    """Move a progress bar."""
    show_progress(done, total, text=text)


def warn(text: str, category: str, file: str, line: int, module: str, *values: Any) -> None:
    """Issue a warning."""
    issue_warning(*values, text=text, category=category, file=file, line=line, module=module)


_HELPERS: dict[str, Callable[..., None]] = {f.__name__: f for f in (show, show_error, flush, progress, warn)}


def run_helper(name: str, *args: Any) -> None:
    """Called by compiled code. What a helper raises is marked as finished: nothing is filled in later."""
    try:
        _HELPERS[name](*args)
    except Exception as error:
        raise Raised(error) from None


def _callable_when_compiled(name: str, helper: Callable[..., None]) -> None:
    """Let compiled code call a helper: the values become Python objects, and `run_helper` is called."""

    @infer_global(helper)  # type: ignore[reportOptionalCall]
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(types.none, *args)

    @lower_builtin(helper, types.VarArg(types.Any))
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        api = context.get_python_api(builder)
        lock = api.gil_ensure()
        function = api.unserialize(api.serialize_object(run_helper))  # by name
        given = [api.string_from_string(context.insert_const_string(builder.module, name))]
        for type, value in zip(sig.args, args, strict=True):
            context.nrt.incref(builder, type, value)
            given.append(api.from_native_value(type, value, context.get_env_manager(builder)))
        result = api.call_function_objargs(function, given)
        for held in (function, *given):
            api.decref(held)
        with builder.if_then(cgutils.is_null(builder, result)):
            api.gil_release(lock)
            context.call_conv.return_exc(builder)
        api.decref(result)
        api.gil_release(lock)
        return context.get_dummy_value()


for _name, _helper in _HELPERS.items():
    _callable_when_compiled(_name, _helper)

__all__ = ["Raised", "flush", "progress", "raised", "show", "show_error", "warn"]
