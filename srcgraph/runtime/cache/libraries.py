"""What belongs to a library whose version is part of every key, and the name it has there."""

from __future__ import annotations

import sys
import sysconfig
import types
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_OTHERS = ("numpy", "scipy", "numba", "srcgraph")


@cache
def is_library(package: str) -> bool:
    """Whether a package is one of those compiled against, or of Python's own and not a user's of such a name."""
    if package in _OTHERS or package in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(package), "__file__", None)
    if package not in sys.stdlib_module_names or file is None:
        return False
    homes = [Path(sysconfig.get_path(which)).resolve() for which in ("stdlib", "platstdlib")]
    inside = [p for p in homes if Path(file).resolve().is_relative_to(p)]
    return bool(inside) and "site-packages" not in Path(file).parts


def name_of(value: Any) -> str | None:
    """The name under which a library has a value; None if it has none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
    if isinstance(value, np.ufunc):
        module = "numpy" if getattr(np, value.__name__, None) is value else "scipy.special"
    if isinstance(value, types.BuiltinFunctionType):
        module = value.__self__.__name__ if isinstance(value.__self__, types.ModuleType) else module or "builtins"
    if not isinstance(module, str) or not isinstance(name, str) or not is_library(module.split(".")[0]):
        return None
    return f"{module}:{name}" if named(f"{module}:{name}") is value else None


def named(text: str) -> Any:
    """What has such a name, where its module is there; else None."""
    module, _, name = text.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
