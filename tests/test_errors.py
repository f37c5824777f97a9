"""What a user reads after a mistake: complete messages, kept in `golden/errors.txt`.

Refresh with ``pytest tests/test_errors.py --update-golden`` and review the difference.
"""

from __future__ import annotations

import importlib.util
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from errors_programs import ARGUMENTS, GRADIENTS, INPUTS, LIMITS, REFUSED, RUN_TIME, SHAPES, TYPES
from harness import duplicate

import srcgraph as sg
from srcgraph.errors import (
    ArgumentError,
    DerivativeError,
    InferenceError,
    InternalError,
    OverlapError,
    SourceError,
    SrcgraphError,
    UnsupportedError,
)
from srcgraph.frontend.fence import WHY

GOLDEN = Path(__file__).parent / "golden" / "errors.txt"
HEADER = re.compile(r"^== (.+)$", re.M)
HEAD = "import math; import numpy as np; import srcgraph as sg"  # one line, before the program's first


def sections() -> dict[str, str]:
    """The golden file, by title."""
    parts = HEADER.split(GOLDEN.read_text()) if GOLDEN.exists() else [""]
    return {title: text.strip("\n") for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def shown(error: BaseException) -> str:
    """An error as Python prints it, notes included, with nothing of the machine in it."""
    text = "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    text = re.sub(r"[^\s'\"<(]*/(\w+\.py)", r"\1", text)
    return re.sub(r" at 0x[0-9a-f]+", " at 0x...", text)


@pytest.fixture
def same_as_golden(update_golden: bool) -> Callable[[str, BaseException], None]:
    def check(title: str, error: BaseException) -> None:
        text = "\n".join(line.rstrip() for line in shown(error).splitlines())
        known = sections()
        if update_golden:
            known[title] = text
            GOLDEN.parent.mkdir(exist_ok=True)
            GOLDEN.write_text("\n\n".join(f"== {t}\n{known[t]}" for t in sorted(known)) + "\n")
        assert known.get(title) == text

    return check


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    """Make a program's text a file `model.py`, and give the module."""

    def module(text: str) -> Any:
        file = tmp_path / "model.py"
        file.write_text(HEAD + text)
        spec = importlib.util.spec_from_file_location("model", file)
        assert spec is not None and spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        sys.modules["model"] = found
        spec.loader.exec_module(found)
        return found

    yield module
    sys.modules.pop("model", None)


def failure(function: Callable, *args: Any) -> BaseException:
    """The exception a call raises."""
    with np.errstate(all="ignore"), pytest.raises(BaseException) as found:
        function(*args)
    return found.value


def mistake(function: Callable, *args: Any) -> SrcgraphError:
    """The error that says what the user did wrong: nothing of the machinery may come through."""
    error = failure(function, *args)
    assert isinstance(error, SrcgraphError) and not isinstance(error, InternalError), repr(error)
    assert type(error).__name__ in vars(sg.errors)
    assert error.problems and all(p.message.strip() for p in error.problems)
    for name in ("srcgraph.", "gast", "Scalar(", "Const(", "Tup(", "Array(", "NoneType", "NeedStatic"):
        assert name not in str(error), f"{name!r} means nothing to a user: {error}"
    return error


def inputs(function: Callable) -> list[Any]:
    return [INPUTS[name]() for name in inspect.signature(function).parameters]


def compile_and_call(function: Callable) -> Any:
    return sg.api.compile(function)(*inputs(function))


# -- found while compiling ------------------------------------------------------------------------


@pytest.mark.parametrize("title", REFUSED)
def test_refused(title: str, load: Callable, same_as_golden: Callable) -> None:
    error = mistake(compile_and_call, load(REFUSED[title]).f)
    assert "model.py:" in str(error) and "^" in str(error)
    same_as_golden(f"refused: {title}", error)


NEVER = {"await", "async for", "async with"}  # inside an async function only, which is refused as a whole


def test_every_refused_syntax_has_a_message() -> None:
    """Each row of the fence's table is shown by a program, with its hint."""
    texts = "\n".join(sections().values())
    for what, hint in WHY.values():
        if what not in NEVER:
            assert f"{what} is not supported" in texts
            assert not hint or f"hint: {hint}" in texts


def test_all_violations_are_listed() -> None:
    text = sections()["refused: several at once"]
    assert [int(n) for n in re.findall(r"model\.py:(\d+):", text)] == [3, 4, 6, 8]


@pytest.mark.parametrize("title", TYPES)
def test_types(title: str, load: Callable, same_as_golden: Callable) -> None:
    error = mistake(compile_and_call, load(TYPES[title]).f)
    same_as_golden(f"types: {title}", error)
    assert "model.py:" in str(error) and "^" in str(error)


@pytest.mark.parametrize("title", SHAPES)
def test_shapes(title: str, load: Callable, same_as_golden: Callable) -> None:
    """Shapes that never fit: found while compiling or, where lengths meet, when the line runs."""
    error = failure(compile_and_call, load(SHAPES[title]).f)
    assert isinstance(error, ValueError | TypeError) and not isinstance(error, InternalError)
    same_as_golden(f"shapes: {title}", error)
    assert "model.py:" in shown(error) and "^" in shown(error)


# -- found when it runs ---------------------------------------------------------------------------


@pytest.mark.parametrize("title", RUN_TIME)
def test_run_time(title: str, load: Callable, same_as_golden: Callable) -> None:
    """The exception is Python's, and a note names the user's line."""
    text, args = RUN_TIME[title]
    function = load(text).f
    error = failure(sg.api.compile(function), *duplicate(args))
    same_as_golden(f"run time: {title}", error)
    assert type(error) is type(failure(function, *duplicate(args)))
    if title != "read-only":  # found before it runs
        assert "at model.py:" in shown(error) and "^" in shown(error)


@pytest.mark.parametrize("title", LIMITS)
def test_refused_at_run_time(title: str, load: Callable, same_as_golden: Callable) -> None:
    text, args = LIMITS[title]
    error = failure(sg.api.compile(load(text).f), *duplicate(args))
    same_as_golden(f"refused at run time: {title}", error)
    assert isinstance(error, NotImplementedError) and "at model.py:" in shown(error)


def test_arguments_of_a_raise_are_python_s(load: Callable) -> None:
    """What `except ValueError as e` reads is the same."""
    function = load(RUN_TIME["raise"][0]).f
    assert failure(sg.api.compile(function), -1.0).args == failure(function, -1.0).args


# -- arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ARGUMENTS)
def test_arguments(title: str, load: Callable, same_as_golden: Callable) -> None:
    function = load("\ndef f(x):\n    return x * 2.0 + 1.0\n").f
    error = mistake(sg.api.compile(function), ARGUMENTS[title]())
    assert isinstance(error, TypeError)
    same_as_golden(f"argument: {title}", error)
    assert re.search(r"\bx\b", str(error)), "the argument is not named"


def test_argument_counts_are_python_s(load: Callable) -> None:
    """Too few, too many and unknown ones, as for the function itself."""
    compiled = sg.api.compile(load("\ndef f(x, y):\n    return x + y\n").f)
    for args, kwargs in [((1.0,), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"z": 2.0}), ((1.0, 2.0), {"y": 2.0})]:
        with pytest.raises(TypeError):
            compiled(*args, **kwargs)


STORES = "\ndef f(x, y):\n    for i in range(len(y)):\n        x[i] = 2.0 * y[i]\n    return x[0]\n"


def test_overlap(load: Callable, same_as_golden: Callable) -> None:
    """Arguments that share memory in part are refused before anything is changed."""
    memory = np.arange(6.0)
    error = mistake(sg.api.compile(load(STORES).f), memory[1:], memory[:5])
    assert isinstance(error, OverlapError) and isinstance(error, ValueError)
    np.testing.assert_equal(memory, np.arange(6.0))
    same_as_golden("argument: overlap", error)


def test_read_only_second_call(load: Callable) -> None:
    """The quick path of a later call looks at the array again."""
    compiled = sg.api.compile(load(STORES).f)
    x, y = np.zeros(3), np.ones(3)
    compiled(x, y)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(x, y)
    np.testing.assert_equal(x, 2.0)


def test_reshape_of_an_array_with_gaps(load: Callable, same_as_golden: Callable) -> None:
    """NumPy's reshape of it is a copy: a store into that does not reach it. Later calls look again."""
    compiled = sg.api.compile(load("\ndef f(x):\n    x.reshape(-1)[0] = 2.0\n    return x[0, 0]\n").f)
    assert compiled(np.zeros((3, 2))) == 2.0
    error = mistake(compiled, np.zeros((3, 4))[:, ::2])
    assert isinstance(error, ArgumentError)
    same_as_golden("argument: reshape of an array with gaps", error)


# -- gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", GRADIENTS)
def test_gradients(title: str, load: Callable, same_as_golden: Callable) -> None:
    text, args = GRADIENTS[title]
    function = load(text).f
    if title.endswith("at run time"):
        error = failure(sg.grad(function), *args)
        assert type(error) is type(failure(function, *args))
        assert "at model.py:" in shown(error)
    else:
        error = mistake(sg.grad(function), *args)
        assert isinstance(error, TypeError | UnsupportedError)
    same_as_golden(f"gradient: {title}", error)


class Square:
    def __call__(self, x: float) -> float:
        return x * x


NOT_FUNCTIONS = {"builtin": math.sin, "ufunc": np.sin, "class": Square, "object": object(), "number": 3.0}


@pytest.mark.parametrize("title", NOT_FUNCTIONS)
def test_not_a_function(title: str, same_as_golden: Callable) -> None:
    error = mistake(sg.grad, NOT_FUNCTIONS[title])
    assert isinstance(error, ArgumentError)
    same_as_golden(f"gradient of: {title}", error)
    assert isinstance(mistake(sg.api.compile, NOT_FUNCTIONS[title]), ArgumentError)


def executed(text: str) -> FunctionType:
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    return namespace["f"]


def test_no_source(same_as_golden: Callable) -> None:
    function = executed("def f(x):\n    return x * x\n")
    error = mistake(lambda: sg.grad(function)(1.0))
    assert isinstance(error, SourceError)
    same_as_golden("gradient of: exec", error)


def test_edited_source(load: Callable, same_as_golden: Callable) -> None:
    """A file edited after it was imported is not what is running."""
    module = load("\ndef f(x):\n    return x * x\n")
    Path(module.__file__).write_text(HEAD + "\ndef f(x):\n    return x * x * x * x\n")
    same_as_golden("source: edited", mistake(lambda: sg.api.compile(module.f)(1.0)))


@pytest.mark.parametrize("argnums", [1, -2, "x", 0.5, (), (0, 3)])
def test_argnums(argnums: Any, load: Callable, same_as_golden: Callable) -> None:
    function = load("\ndef f(x):\n    return x * x\n").f
    error = mistake(lambda: sg.grad(function, argnums)(1.0))
    assert isinstance(error, ArgumentError)
    same_as_golden(f"argnums: {argnums!r}", error)


def test_has_aux_needs_a_pair(load: Callable, same_as_golden: Callable) -> None:
    function = load("\ndef f(x):\n    return x * x\n").f
    error = mistake(lambda: sg.grad(function, has_aux=True)(1.0))
    assert isinstance(error, DerivativeError)
    same_as_golden("gradient: has_aux", error)


def test_golden_has_nothing_else() -> None:
    """No section is left over from a program that is gone."""
    named = {
        "refused": REFUSED,
        "types": TYPES,
        "shapes": SHAPES,
        "run time": RUN_TIME,
        "refused at run time": LIMITS,
        "gradient": GRADIENTS,
    }
    for title in sections():
        group, _, name = title.partition(": ")
        assert group not in named or name in named[group] or title == "gradient: has_aux", title


def test_what_a_derivative_inside_does_not_take() -> None:
    def square(x):
        return x * x

    def slope(x):
        return sg.grad(square, mode="FAST_COMPILE")(x)

    def curvature(x):
        return sg.hessian(square, parallel=True)(x)

    def beyond(x):
        return sg.grad(square, argnums=4)(x)

    for function, why in (
        (slope, "grad: mode= inside a compiled function is not supported"),
        (curvature, "hessian: parallel= inside a compiled function is not supported"),
        (beyond, "argnums=4, but square is given 1 argument"),
    ):
        with pytest.raises(SrcgraphError, match=re.escape(why)) as caught:
            sg.compile(function)(1.0)
        assert caught.value.problems[0].loc is not None


def test_arguments_counted_from_the_end_inside() -> None:
    def product(x, y):
        return x * x * y

    assert sg.compile(lambda x: sg.grad(product, argnums=-1)(x, 2.0))(3.0) == 9.0
    assert sg.compile(lambda x: sg.grad(product, argnums=(-1, 0))(x, 2.0))(3.0) == (9.0, 12.0)


def test_what_is_given_is_named() -> None:
    with pytest.raises(ArgumentError, match="jvp: primals are a tuple"):
        sg.jvp(lambda x: x * x, np.ones(3), np.ones(3))
    with pytest.raises(ArgumentError, match=r"a parameter is a variable, not 1\.0"):
        sg.function([1.0], 2.0)
    with pytest.raises(InferenceError, match="its item 1 is a number"):
        sg.compile(lambda x: np.concatenate([x, x[0]]))(np.ones(3))


def test_putmask_casts_as_numpy_does() -> None:
    def put(z, y):
        np.putmask(z, y > 0, y)

    for z, y in ((np.array([1, 2, 3]), np.array([0.5, -1.0, 2.7])), (np.ones(3, np.float32), np.ones(3))):
        for function in (put, sg.compile(put)):
            with pytest.raises(TypeError, match="according to the rule 'safe'"):
                function(z.copy(), y)
