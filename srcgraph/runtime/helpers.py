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
from numba.core.types import Array

from srcgraph.runtime.cache.files import Entry
from srcgraph.runtime.cache.native import Kept, attach
from srcgraph.runtime.cache.objects import RECORD, shared_entry
from srcgraph.runtime.compiler import Tolerant
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


def helper(function: Callable[..., Any] | None = None, any_layout: bool = False, **options: Any) -> Any:
    """Make a function a helper; options are numba's.

    Parameters
    ----------
    any_layout : bool
        Whether it is compiled once for arrays in C or Fortran order and for those in neither.
    """

    def make(function: Callable[..., Any]) -> Any:
        settings: dict[str, Any] = {"error_model": "numpy", "pipeline_class": Tolerant} | options
        made = njit(**settings)(function)
        if isinstance(made, Dispatcher):  # it is not where numba is switched off
            attach(internal(made), _Shared(f"{function.__module__}.{function.__qualname__}"))
            if any_layout:
                _take_any_layout(made)
        return made

    return make if function is None else make(function)


def _take_any_layout(made: Dispatcher) -> None:
    usual = made.get_call_template

    def get_call_template(args: Any, keywords: Any) -> Any:
        return usual(tuple(map(_without_layout, args)), {k: _without_layout(v) for k, v in keywords.items()})

    made.get_call_template = get_call_template  # type: ignore[method-assign]


def _without_layout(type: Any) -> Any:
    return type.copy(layout="A") if isinstance(type, Array) else type


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
