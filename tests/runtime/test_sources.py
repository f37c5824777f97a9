"""Where a function's source comes from, and what happens when it changes."""

from __future__ import annotations

import doctest
import functools
import importlib
import linecache
import statistics
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import SourceError

SQUARE = "def f(x):\n    return x * x\n"
CUBE = "# another one\ndef f(x):\n    return x * x * x\n"


def made(text: str, file: str = "<string>", name: str = "f", names: dict[str, Any] | None = None) -> Callable:
    """The function that ``text`` defines, run as the code of ``file``."""
    names = {} if names is None else names
    exec(compile(text, file, "exec"), names)
    return names[name]


def cell(number: int, text: str, names: dict[str, Any]) -> None:
    """Run a cell of a notebook, whose source IPython keeps in linecache."""
    file = f"/tmp/ipykernel_7/{number}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)


def module(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (folder / f"{name}.py").write_text(text)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def test_source_given() -> None:
    assert sg.compile(made(SQUARE), source=SQUARE)(3.0) == 9.0
    assert "x * 2.0" in sg.compile(made("f = lambda x: x * 2.0"), source="f = lambda x: x * 2.0").python(3.0)
    function = sg.compile(made(CUBE), source=CUBE)  # what calls it knows the source, too
    assert sg.hessian(function)(2.0) == 6.0 * 2.0 and sg.jvp(function, (2.0,), (1.0,)) == (8.0, 12.0)
    assert sg.grad(lambda x: function(x) + x)(2.0) == 13.0


def test_source_of_another_function() -> None:
    with pytest.raises(SourceError, match="the source given is not that of 'f'"):
        sg.compile(made(SQUARE), source=CUBE)
    with pytest.raises(SourceError, match="the source given does not define 'f'"):
        sg.compile(made(SQUARE), source="def g(x):\n    return x\n")


def test_cells_of_a_notebook() -> None:
    """A function of another cell that is defined again is compiled again."""
    names: dict[str, Any] = {}
    cell(1, "def f(x):\n    return 2.0 * g(x)\n", names)
    cell(2, "def g(x):\n    return x + 1.0\n", names)
    f = sg.compile(names["f"])
    assert f(3.0) == 8.0
    cell(3, "def g(x):\n    return x - 1.0\n", names)
    assert f(3.0) == 4.0


def test_doctest() -> None:
    text = (
        ">>> import srcgraph\n>>> def f(x):\n...     return x * x\n>>> print(srcgraph.compile(f).graph(3.0).name)\nf\n"
    )
    test = doctest.DocTestParser().get_doctest(text, {}, "square", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_command_line() -> None:
    """Python keeps the source of ``-c`` from version 3.13 on; before, that there is none is said clearly."""
    text = SQUARE + "import srcgraph\nprint(srcgraph.compile(f).graph(3.0).name)\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout == "f\n" or "SourceError: no source for 'f'" in done.stderr


def test_zip_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "models.zip", "w") as packed:
        packed.writestr("zipped_model.py", SQUARE)
    monkeypatch.syspath_prepend(str(tmp_path / "models.zip"))
    assert "x * x" in sg.compile(importlib.import_module("zipped_model").f).python(3.0)


def test_reloaded_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that calls one of a module that is edited and reloaded follows."""
    model = module(tmp_path, "reloaded_model", SQUARE, monkeypatch)
    user = module(
        tmp_path, "reloaded_user", "import reloaded_model\ndef h(x):\n    return reloaded_model.f(x)\n", monkeypatch
    )
    h = sg.compile(user.h)
    assert h(3.0) == 9.0
    (tmp_path / "reloaded_model.py").write_text(CUBE)
    importlib.reload(model)
    assert h(3.0) == 27.0


def test_edited_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that no longer has the code that runs is not compiled."""
    model = module(tmp_path, "edited_model", SQUARE, monkeypatch)
    (tmp_path / "edited_model.py").write_text(CUBE)
    with pytest.raises(SourceError, match=r"the source of 'f' is no longer what is running(.|\n)*import it again"):
        sg.compile(model.f)


def test_code_replaced_in_place() -> None:
    """As autoreload does it: the function stays, its code is another's."""
    names: dict[str, Any] = {}
    cell(4, "def f(x):\n    return x * x\n", names)
    cell(5, "def g(x):\n    return f(x) + 1.0\n", names)
    f, g = sg.compile(names["f"]), sg.compile(names["g"])
    assert (f(3.0), g(3.0)) == (9.0, 10.0)
    other: dict[str, Any] = {}
    cell(6, "def f(x):\n    return x * x * x\n", other)
    names["f"].__code__ = other["f"].__code__
    assert (f(3.0), g(3.0)) == (27.0, 28.0)


def _scaled(x, a=2.0, *, b=1.0):
    return a * x + b


def _scaled_too(x, a=2.0, *, b=1.0):
    return a * x + b + 100.0


class _Scale:
    def scaled(self, x, a=2.0):
        return a * x


_TABLE, _SCALE = {"scaled": _scaled}, _Scale()
_PART = functools.partial(_scaled, b=5.0)
CALLERS = [
    lambda x: _scaled(x) + 0.0,
    lambda x: _TABLE["scaled"](x),
    lambda x: _PART(x),
    lambda x: sum(f(x) for f in (_scaled,)),
    lambda x: _SCALE.scaled(x),
]


@pytest.mark.parametrize("number", range(len(CALLERS)))
def test_defaults_and_code_of_callees(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a callee's defaults and code are now, however it is reached."""
    function = CALLERS[number]
    f, slope = sg.compile(function), sg.grad(function)

    def check() -> None:
        assert f(3.0) == function(3.0)
        assert slope(3.0) == pytest.approx(function(4.0) - function(3.0))

    check()
    for changes in (
        {"__defaults__": (7.0,)},
        {"__kwdefaults__": {"b": 50.0}},
        {"__defaults__": (7,)},
        {"__code__": _scaled_too.__code__},
    ):
        for name, value in changes.items():
            monkeypatch.setattr(_scaled, name, value)
            if name == "__defaults__":
                monkeypatch.setattr(_Scale.scaled, name, value)
            check()
    _scaled.__kwdefaults__["b"] = 60.0
    check()
    monkeypatch.setattr(_scaled, "__defaults__", None)
    if number != 4:
        with pytest.raises(TypeError, match="missing the argument 'a'"):
            f(3.0)


def test_defaults_of_a_compiled_function() -> None:
    def scaled(x, a=2.0):
        return a * x

    f = sg.compile(scaled)
    assert f(3.0) == 6.0
    scaled.__defaults__ = (5.0,)
    assert f(3.0) == 15.0


def test_partial() -> None:
    def line(a, b, x):
        return a * b * x * x

    f = functools.partial(line, 2.0, b=3.0)
    assert sg.compile(f)(x=1.5) == 13.5
    assert sg.grad(f)(x=1.5) == 18.0
    assert sg.grad(functools.partial(line, 2.0), argnums=(0, -1))(3.0, 1.5) == (4.5, 18.0)
    with pytest.raises(sg.errors.ArgumentError, match="takes 2 arguments"):
        sg.grad(functools.partial(line, 2.0), argnums=2)


def test_cached_function() -> None:
    @functools.lru_cache
    def square(x):
        return x * x

    assert "x * x" in sg.compile(square).python(3.0)


def test_methods() -> None:
    """Bound methods, of objects whose fields change, and objects that are called."""

    class Model:
        def __init__(self, k):
            self.k = k

        def loss(self, x):
            return self.k * x * x

        __call__ = loss

    model = Model(3.0)
    loss = sg.compile(model.loss)
    assert loss(2.0) == 12.0
    model.k = 4.0
    assert loss(2.0) == 16.0
    assert sg.grad(model.loss)(2.0) == sg.grad(model)(2.0) == 16.0


def averaged(xs):
    return statistics.mean([xs[0], xs[1]])


def doubled(xs):
    return 2 * averaged(xs)


def test_what_is_wrong_in_a_package_is_told_where_it_is_called() -> None:
    with pytest.raises(sg.errors.SrcgraphError) as caught:
        sg.compile(doubled)(np.arange(3.0))
    (problem,) = caught.value.problems
    assert problem.message == "mean() of statistics cannot be compiled from its source"
    assert problem.loc is not None
    assert problem.loc.file == __file__
    assert problem.loc.line == averaged.__code__.co_firstlineno + 1
    (note,) = problem.notes
    assert "statistics.py:" in note


def test_a_name_that_is_a_keyword() -> None:
    def function(x):
        return x * x

    function.__name__ = "and"
    assert sg.compile(function)(3.0) == 9.0
    assert sg.grad(function)(3.0) == 6.0


def undetermined(x):
    u = np.roots(x)
    return np.zeros(3, dtype=np.result_type(*[v.dtype for v in u])), sg.vjp(lambda t: t * u, 1.0)[1](1.0)


def test_what_follows_a_problem_is_none() -> None:
    with pytest.raises(sg.errors.UnsupportedError, match=r"numpy\.roots is not supported"):
        sg.compile(undetermined)(np.arange(3.0))
