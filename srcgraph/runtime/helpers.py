"""Functions that generated code calls: compiled once per types of arguments, and kept on disk as entries are.

numba's own cache is not used for them, for the reasons that `srcgraph.runtime.cache.native` gives.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

from srcgraph.runtime.cache.files import Entry
from srcgraph.runtime.cache.native import Kept, attach
from srcgraph.runtime.cache.objects import RECORD, shared_entry
from srcgraph.runtime.internal import internal


class _Shared(Kept):
    """What numba compiled of a helper.

    Parameters
    ----------
    name : str
        Of the helper, with its module's.
    """

    counted = False

    def __init__(self, name: str):
        super().__init__(None, "code")  # type: ignore[arg-type]
        self.name = name

    @property
    def cache_path(self) -> str:  # type: ignore[override]
        return "" if self.entry is None else super().cache_path

    def found(self) -> Entry | None:
        """Where it is kept; that may change with the environment."""
        self.entry = shared_entry("helper", self.name)  # type: ignore[assignment]
        return self.entry

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return None if self.found() is None else super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        if self.entry is not None:
            super().save_overload(sig, data)
            self.entry.write(RECORD, {"name": self.name})


def helper(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function a helper; options are numba's."""

    def make(function: Callable[..., Any]) -> Any:
        made = njit(error_model="numpy", **options)(function)
        if isinstance(made, Dispatcher):  # it is not where numba is switched off
            attach(internal(made), _Shared(f"{function.__module__}.{function.__qualname__}"))
        return made

    return make if function is None else make(function)


# -- without numba -----------------------------------------------------------------------------------------


@cache
def plain(module: str) -> dict[str, Any]:
    """The names of a module of helpers as Python knows them: helpers run as they are written, and call kernels."""
    names = dict(vars(sys.modules[module]))
    for name, value in list(names.items()):
        if not isinstance(value, Dispatcher):
            continue
        function = value.py_func
        own = names if function.__module__ == module else plain(function.__module__)
        names[name] = types.FunctionType(function.__code__, own, name, function.__defaults__)
    return names
