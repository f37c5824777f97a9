"""The functions of HIPS/autograd's tests, at the points where these check derivatives.

Its tests run with NumPy in the place of autograd's own, and with tools that write down what they are given.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.linalg
import scipy.special
import scipy.stats
from judging import Case

from external.recording import Recorder, module_of

VARIABLE = "SRCGRAPH_AUTOGRAD"
TITLE = "HIPS/autograd"

FILES = (
    "scalar_ops", "binary_ops", "numpy", "systematic", "linalg", "fft", "graphs", "builtins", "complex", "dict",
    "list", "tuple", "logic", "misc", "jacobian", "wrappers",
)  # fmt: skip


def cases(place: Path) -> Iterator[Case]:
    """One per test and function in it."""
    for stem in FILES:
        file = place / "tests" / f"test_{stem}.py"
        if not file.exists():
            continue
        recorder = Recorder(stem)
        np.random.seed(1)
        try:
            module = _loaded(file, recorder)
        except Exception as error:  # it needs more of autograd than its tools
            print(f"{stem}: {type(error).__name__}: {error}")
            continue
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and isinstance(test, types.FunctionType) and not test.__code__.co_argcount:
                recorder.run(name, test)
        yield from recorder.cases()


def _loaded(file: Path, recorder: Recorder) -> Any:
    stand_ins = _stand_ins(recorder)
    helpers = module_of(file.parent / "numpy_utils.py", stand_ins)
    return module_of(file, {**stand_ins, "numpy_utils": helpers})


def _stand_ins(recorder: Recorder) -> dict[str, Any]:
    kept: list[Any] = []  # an identity is one as long as its object lives

    def tool(function: Callable) -> Callable:
        kept.append(function)
        recorder.tools.add(id(function))
        return function

    def check_grads(function: Callable, argnums: Any = None, modes: Any = None, order: int = 2) -> Callable:
        return tool(lambda *args, **kwargs: recorder.add(function, args, kwargs))

    def combo_check(function: Callable, argnums: Any, *lists: Any, **options: Any) -> Any:
        def check(*args: Any, **kwargs: Any) -> None:
            keys = sorted(kwargs)
            for values in itertools.product(*(kwargs[k] for k in keys)):
                for chosen in itertools.product(*args):
                    recorder.add(function, chosen, dict(zip(keys, values, strict=True)))

        return tool(check)

    def derivative(function: Callable, argnum: Any = 0, *more: Any, **options: Any) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            recorder.add(function, args, kwargs)
            return function(*args, **kwargs)

        return tool(call)

    class Tools(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return derivative

    recorder.tools |= {id(derivative), id(check_grads), id(combo_check)}
    main = Tools("autograd")
    parts = {
        "numpy": np,
        "numpy.random": np.random,
        "numpy.linalg": np.linalg,
        "numpy.fft": np.fft,
        "scipy": scipy,
        "scipy.special": scipy.special,
        "scipy.stats": scipy.stats,
        "scipy.linalg": scipy.linalg,
    }
    tools = {n: Tools(f"autograd.{n}") for n in ("test_util", "core", "tracer", "extend", "misc", "builtins", "util")}
    vars(tools["test_util"]).update(
        check_grads=check_grads, combo_check=combo_check, check_equivalent=lambda *a: None, scalar_close=lambda *a: True
    )
    vars(tools["builtins"]).update(isinstance=isinstance, list=list, dict=dict, tuple=tuple, type=type, sorted=sorted)
    for name, part in {**parts, **tools}.items():
        if "." not in name:
            vars(main)[name] = part
    return {"autograd": main, **{f"autograd.{n}": p for n, p in {**parts, **tools}.items()}}
