"""The NumPy functions of google/tangent's ``tests/functions.py``, those it blacklists included."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from judging import Case

VARIABLE = "SRCGRAPH_TANGENT"
TITLE = "google/tangent"

SCALARS = (-2.0, -1.5, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 1.5, 2.0)
FEW = (-1.5, -0.1, 0.5, 2.0)
OTHER_LIBRARIES = {"tf", "tangent", "insert_grad_of", "Stack", "trace"}


def cases(place: Path) -> Iterator[Case]:
    """Functions that use only NumPy, with the arguments its tests give them (fewer in combination)."""
    module = _module(place / "tests" / "functions.py")
    for name, function in vars(module).items():
        if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
            if not _names(function, vars(module)) & OTHER_LIBRARIES and not name.startswith(("tfe_", "_")):
                yield Case(name, function, _calls(name, function))


def _module(file: Path) -> Any:
    """The file as a module; what it imports of tangent is replaced by something that only has a name."""
    stand_in = types.ModuleType("tangent")
    vars(stand_in).update(insert_grad_of=None, Stack=None, trace=lambda f: f)
    spec = importlib.util.spec_from_file_location("tangent_functions_under_test", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    before = sys.modules.get("tangent")
    sys.modules["tangent"] = stand_in
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop("tangent")
        if before is not None:
            sys.modules["tangent"] = before
    return module


def _names(function: Callable, known: dict[str, Any], seen: set[str] | None = None) -> set[str]:
    """Global names a function uses, through the functions it calls."""
    seen = set() if seen is None else seen
    for name in function.__code__.co_names:
        if name not in seen:
            seen.add(name)
            if isinstance(known.get(name), types.FunctionType):
                _names(known[name], known, seen)
    return seen


def _calls(name: str, function: Callable) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(3)
    special: dict[str, list[tuple[Any, ...]]] = {
        "logistic_regression": [
            (rng.random(3), np.eye(5)[1], rng.standard_normal((3, 5)), rng.standard_normal(5)),
        ],
        "rnn": [(rng.standard_normal((3, 2)), rng.standard_normal((2, 3)))],
        "bilinear": [tuple(rng.standard_normal(s) for s in ((1, 3), (1, 3), (3, 3), (3, 3), (1, 3)))],
        "nested_dict": [({"i": {"j": 3.0, "k": 4.0}},)],
        "dict_saxpy": [({"a": 1.5, "b": -0.5, "c": 2.0},)],
        "passthru_pack": [(1.5, -0.5, 2.0, i) for i in (0, 1, 2)],
        "listcomp": [(rng.standard_normal(4),)],
    }
    if name in special:
        return special[name]
    inputs: dict[str, list[Any]] = {
        **{key: list(SCALARS if function.__code__.co_argcount == 1 else FEW) for key in "abc"},
        "n": [1, 2, 3],
        "x": [rng.standard_normal(k) for k in (3, 5, 10)],
        "sqm": [rng.standard_normal((1, 1)), rng.standard_normal((5, 5))],
        "abc_packed_in_tuple": [(1.5, -0.5, 2.0)],
    }
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return list(itertools.product(*(inputs[n] for n in names)))
