"""What a function is made of besides its text: globals, closure cells, defaults, lambdas, source given by hand."""

from __future__ import annotations

import copy
import functools
import inspect
import linecache
import math
import pickle
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError, SourceError

pytestmark = pytest.mark.plainly

COUNT = iter(range(10**6))


def define(text: str, name: str = "f", **names: Any) -> Any:
    """What ``name`` is after running a text, whose lines can be read back as those of a file can."""
    text = textwrap.dedent(text).lstrip("\n")
    file = f"<functions {next(COUNT)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {"np": np, "math": math, "functools": functools, **names}
    exec(compile(text, file, "exec"), namespace)
    return namespace[name]


def made_by_exec(text: str, name: str) -> Any:
    """A function whose source nobody can find."""
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, "<nowhere>", "exec"), namespace)
    return namespace[name]


def same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    np.testing.assert_array_equal(got, want)
    assert getattr(got, "dtype", None) == getattr(want, "dtype", None)


# -- globals ---------------------------------------------------------------------------------------

SCALED = "def f(x):\n    return x * G\n"
CHANGES: dict[str, tuple[str, list[Any]]] = {
    "numbers": (SCALED, [2.0, 3.0, 4, True, np.float64(5.0), np.float32(2.5), 1j, 2.0]),
    "number and array": (SCALED, [2.0, np.arange(3.0), np.array(2.0), 3.0, np.arange(2)]),
    "array of another size": (SCALED, [np.arange(3.0), np.arange(5.0), np.arange(1.0), np.arange(0.0)]),
    "array of another kind": (SCALED, [np.arange(3.0), np.arange(3), np.ones((2, 3)), np.arange(3.0)[::-1]]),
    "size of an array made": ("def f(x):\n    return x + np.sum(np.ones(G))\n", [3, 4, 0, 3]),
    "axis": ("def f(x):\n    return np.sum(np.ones((2, 3)) * x, axis=G)\n", [0, 1, None, (0, 1), -1]),
    "NumPy and math functions": ("def f(x):\n    return G(x)\n", [math.sin, math.cos, np.sin, abs, math.sin]),
    "lambdas": ("def f(x):\n    return G(x)\n", [lambda v: v + 1.0, lambda v: v * v, math.exp]),
    "tuples": ("def f(x):\n    return x + G[0] * G[1]\n", [(1.0, 2.0), (3.0, 4.0), (3, 4), (np.ones(2), 2.0)]),
    "strings": ("def f(x):\n    return x if G == 'up' else -x\n", ["up", "down", "up"]),
    "truth": ("def f(x):\n    return x if G else -x\n", [True, False, 0, 2.5, None, "", "a"]),
    "branch on a number": ("def f(x):\n    return x if G > 2 else -x\n", [1.0, 3.0, 2, 5]),
    "a name that hides a builtin": ("def f(x):\n    return abs(x) + G\n", [1.0, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_changed_global(case: str) -> None:
    """Each call sees the global as it is then: another value, another type, another function."""
    text, values = CHANGES[case]
    f = define(text, G=values[0])
    compiled = sg.compile(f)
    for value in values:
        f.__globals__["G"] = value
        same(compiled(3.0), f(3.0))


@pytest.mark.parametrize(
    "values", [(2.0, 3.0, 4.0), (np.arange(3.0), np.arange(7.0), np.arange(2.0))], ids=["number", "array"]
)
def test_changed_global_needs_no_recompilation(values: tuple[Any, ...]) -> None:
    """A number or an array of the same kind is an input: the code stays."""
    f = define(SCALED, G=values[0])
    compiled = sg.compile(f)
    versions = set()
    for value in values:
        f.__globals__["G"] = value
        same(compiled(3.0), f(3.0))
        versions.add(id(compiled.version((3.0,))[0]))
    assert len(versions) == 1


def test_array_changed_in_place() -> None:
    """An array global is read when called, not copied when compiled."""
    weights = np.ones(3)
    f = define("def f(x):\n    return np.sum(weights * x)\n", weights=weights)
    compiled = sg.compile(f)
    assert compiled(2.0) == 6.0
    weights[0] = 5.0
    assert compiled(2.0) == 14.0


def test_array_global_stored_into() -> None:
    """A store reaches the global itself, also after it was rebound."""
    f = define("def f(x):\n    G[0] = x\n    return G[0] + G[1]\n", G=np.ones(2))
    compiled = sg.compile(f)
    for array in (f.__globals__["G"], np.zeros(2), np.full(4, 3.0)):
        f.__globals__["G"] = array
        want = 5.0 + array[1]
        assert compiled(5.0) == want and array[0] == 5.0


def test_changed_global_of_a_callee() -> None:
    f = define("def h(v):\n    return v * G\n\ndef f(x):\n    return h(x) + G\n", G=2.0)
    compiled = sg.compile(f)
    for value in (2.0, 3.0, np.arange(3.0), 4):
        f.__globals__["G"] = value
        same(compiled(3.0), f(3.0))


def test_globals_of_one_name_in_two_modules() -> None:
    """Each has its own size, and a name of its own in the generated text."""
    item = define("def item(k):\n    return w[k]\n", name="item", w=np.ones(3))
    text = """
        def f(k):
            s = w[0]
            for i in range(k):
                w_n = i + 0
                s += item(w_n)
            return s + len(w)
    """
    f = define(text, w=np.ones(9), item=item)
    compiled = sg.compile(f)
    same(compiled(3), f(3))
    for function in (f, compiled):
        with pytest.raises(IndexError):
            function(4)


def test_parameters_named_as_what_generated_text_uses() -> None:
    text = """
        def f(max, abs, x, len, f):
            s = 0.0
            for v in x:
                s += np.maximum(np.abs(v), abs) * max + len * f
            return s
    """
    f = define(text)
    args = (2.0, 0.5, np.array([-1.0, 0.25]), 3, 1.5)
    same(float(sg.compile(f)(*args)), float(f(*args)))


def test_changed_global_under_grad() -> None:
    """The gradient sees it too."""
    f = define("def f(x):\n    return x * x * G\n", G=2.0)
    gradient = sg.grad(f)
    assert gradient(3.0) == 12.0
    f.__globals__["G"] = 5.0
    assert gradient(3.0) == 30.0


def test_redefined_callee() -> None:
    """A function bound to the same name later is compiled in anew."""
    f = define("def h(v):\n    return v * 2.0\n\ndef f(x):\n    return h(x)\n")
    compiled = sg.compile(f)
    assert compiled(3.0) == 6.0
    f.__globals__["h"] = define("def h(v):\n    return v * 5.0\n", name="h")
    assert compiled(3.0) == 15.0


def test_attribute_of_a_module() -> None:
    settings = types.ModuleType("settings")
    settings.rate = 2.0
    f = define("def f(x):\n    return x * settings.rate\n", settings=settings)
    compiled = sg.compile(f)
    for rate in (2.0, 3.0, np.arange(3.0), 4):
        settings.rate = rate
        same(compiled(3.0), f(3.0))


# -- closures --------------------------------------------------------------------------------------


def counter(k: Any) -> tuple[Callable, Callable]:
    def f(x):
        return x * k

    def set_to(value):
        nonlocal k
        k = value

    return f, set_to


def test_closure_sees_later_rebinding() -> None:
    """A captured variable is read at each call."""
    f, set_to = counter(2.0)
    compiled = sg.compile(f)
    for value in (2.0, 3.0, 7, np.arange(2.0), np.arange(1.0), 2.0):
        set_to(value)
        same(compiled(3.0), f(3.0))


def test_closures_of_one_function_are_different() -> None:
    """Two functions made by one factory share text, not what they captured."""
    first, second = (sg.compile(counter(k)[0]) for k in (2.0, 10.0))
    assert (first(3.0), second(3.0), first(3.0)) == (6.0, 30.0, 6.0)


def test_closure_not_yet_assigned() -> None:
    def make():
        def f(x):
            return x * late

        compiled = sg.compile(f)
        with pytest.raises(Exception, match="late"):
            compiled(1.0)
        late = 2.0
        return compiled

    assert make()(3.0) == 6.0


def test_function_bound_to_a_cell() -> None:
    def make(g):
        def f(x):
            return g(x) + 1.0

        def set_to(other):
            nonlocal g
            g = other

        return f, set_to

    f, set_to = make(math.sin)
    compiled = sg.compile(f)
    for function in (math.sin, math.cos, lambda v: v * v):
        set_to(function)
        assert compiled(0.5) == f(0.5)


# -- lambdas ---------------------------------------------------------------------------------------


def test_two_lambdas_on_one_line() -> None:
    f, g = (lambda v: v * 2.0), (lambda v: v + 5.0)
    assert (sg.compile(f)(3.0), sg.compile(g)(3.0)) == (6.0, 8.0)
    assert (sg.grad(f)(3.0), sg.grad(g)(3.0)) == (2.0, 1.0)


def test_alike_lambdas_on_one_line() -> None:
    """Also where only a constant, or a parameter's name, tells them apart."""
    functions = define("f = (lambda v: v * 2.0, lambda w: w * 3.0, lambda v: 2.0 * v, lambda: 1.0, lambda: 2.0)\n")
    assert [sg.compile(f)(3.0) for f in functions[:3]] == [6.0, 9.0, 6.0]
    assert [sg.compile(f)() for f in functions[3:]] == [1.0, 2.0]


def test_lambda_over_several_lines() -> None:
    f = define("""
        f = (lambda v:
             v * 2.0
             + 1.0)
    """)
    assert sg.compile(f)(3.0) == 7.0


def test_lambda_inside_a_lambda() -> None:
    f = define("f = lambda v: (lambda w: w + v)(v * 2.0)\n")
    assert sg.compile(f)(3.0) == 9.0


def test_lambdas_made_in_a_loop() -> None:
    """A default is evaluated when the lambda is made, a captured variable is what it is at the call."""
    early = [lambda v, k=k: v * k for k in (1.0, 2.0)]
    late = [lambda v: v * k for k in (1.0, 2.0)]
    assert [sg.compile(f)(3.0) for f in early] == [3.0, 6.0]
    assert [sg.compile(f)(3.0) for f in late] == [6.0, 6.0]


def slope_of_cube(x):
    return x**3


slope_of_cube = sg.grad(slope_of_cube)


@sg.compile
def cube(x):
    return x**3


def quartic(x):
    return x**4


def test_pickled_by_reference() -> None:
    """As functions are, so that they can be sent to other processes."""
    assert pickle.loads(pickle.dumps(cube)) is cube and copy.deepcopy(cube) is cube
    assert pickle.loads(pickle.dumps(slope_of_cube)) is slope_of_cube
    assert pickle.loads(pickle.dumps(sg.grad(sg.grad(quartic))))(2.0) == 48.0
    assert pickle.loads(pickle.dumps(sg.grad(cube)))(2.0) == 12.0


def test_wrapper_of_the_same_name() -> None:
    """What is called is compiled, and it calls another function of its name."""
    f = define("""
        import functools
        def plus_ten(f):
            @functools.wraps(f)
            def inner(*args):
                return 10.0 + f(*args)
            return inner
        @plus_ten
        def f(x):
            return 2.0 * x
    """)
    assert sg.compile(f)(1.0) == f(1.0) == 12.0 and sg.grad(f)(1.0) == 2.0


# -- which function --------------------------------------------------------------------------------


def test_equal_names() -> None:
    """Of several functions of one name in a file, each is itself."""
    f = define("""
        def a():
            def f(x):
                return x
            return f
        def b():
            def f(x):
                return -x
            return f
        f = (a(), b())
    """)
    assert [sg.compile(g)(2.0) for g in f] == [2.0, -2.0]


def test_redefinition_in_one_file() -> None:
    text = "def f(x):\n    return x + 1.0\n\nfirst = f\n\ndef f(x):\n    return x - 1.0\n"
    f = define(text)
    assert sg.compile(f)(2.0) == 1.0
    assert sg.compile(f.__globals__["first"])(2.0) == 3.0


def test_conditional_definition() -> None:
    f = define("if True:\n    def f(x):\n        return x + 1.0\nelse:\n    def f(x):\n        return x - 1.0\n")
    assert sg.compile(f)(2.0) == 3.0


def test_static_method_and_unbound_method() -> None:
    a = define("""
        class A:
            @staticmethod
            def scale(x):
                return x * 3.0
    """, name="A")  # fmt: skip
    assert sg.compile(a.scale)(2.0) == 6.0


def test_decorated_with_compile() -> None:
    """As a decorator; the function keeps its name, its documentation and its signature."""
    f = define("""
        @sg.compile
        def f(x, k=2.0):
            'Scale.'
            return x * k
    """, sg=sg)  # fmt: skip
    assert f(3.0) == 6.0 and f(3.0, k=5.0) == 15.0
    assert (f.__name__, f.__doc__, str(inspect.signature(f))) == ("f", "Scale.", "(x, k=2.0)")


def test_compiled_functions_call_each_other() -> None:
    f = define("""
        @sg.compile
        def square(x):
            return x * x

        def f(x):
            return square(x) + square(2.0)
    """, sg=sg)  # fmt: skip
    assert sg.compile(f)(3.0) == 13.0 and sg.grad(f)(3.0) == 6.0


# -- arguments -------------------------------------------------------------------------------------

SIGNATURES: list[tuple[str, list[tuple[tuple, dict]]]] = [
    (
        "def f(a, b=2.0):\n    return a - b\n",
        [((5.0,), {}), ((5.0, 1.0), {}), ((5.0,), {"b": 1.0}), ((), {"b": 1.0, "a": 7.0})],
    ),
    (
        "def f(a, *, b=2.0, c):\n    return a - b * c\n",
        [((5.0,), {"c": 3.0}), ((5.0,), {"c": 3.0, "b": 4.0})],
    ),
    (
        "def f(a, /, b):\n    return a - b\n",
        [((5.0, 1.0), {}), ((5.0,), {"b": 1.0})],
    ),
    (
        "def f(*a):\n    return a[0] - a[1]\n",
        [((5.0, 1.0), {}), ((5.0, 1.0, 2.0), {})],
    ),
    (
        "def f(a, *rest, b=1.0):\n    s = a\n    for r in rest:\n        s = s * b + r\n    return s\n",
        [((5.0,), {}), ((5.0, 1.0, 2.0), {}), ((5.0, 1.0), {"b": 3.0})],
    ),
    (
        "def f(a, n=3, flag=True):\n    return a * n if flag else -a\n",
        [((2.0,), {}), ((2.0, 4), {}), ((2.0,), {"flag": False})],
    ),
    (
        "def f(a, w=None):\n    return a if w is None else a * w\n",
        [((2.0,), {}), ((2.0, 4.0), {}), ((2.0, np.ones(2)), {})],
    ),
]


@pytest.mark.parametrize(("text", "calls"), SIGNATURES, ids=[t.split(":")[0] for t, _ in SIGNATURES])
def test_ways_to_pass_arguments(text: str, calls: list[tuple[tuple, dict]]) -> None:
    f = define(text)
    compiled = sg.compile(f)
    for args, kwargs in calls:
        same(compiled(*args, **kwargs), f(*args, **kwargs))


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"z": 2.0}), ((1.0,), {"a": 2.0})]
)
def test_wrong_arguments(args: tuple, kwargs: dict) -> None:
    """The error is of the type Python raises."""
    f = define("def f(a, b=2.0):\n    return a - b\n")
    with pytest.raises(TypeError):
        f(*args, **kwargs)
    with pytest.raises(TypeError):
        sg.compile(f)(*args, **kwargs)


def versions(compiled: sg.Compiled, arguments: list[Any]) -> Iterator[int]:
    for argument in arguments:
        compiled(argument)
        yield len(compiled.versions)


def test_one_version_per_signature() -> None:
    """Sizes, strides and values do not matter; types do, and so do an axis of length 1, and Fortran's order."""
    compiled = sg.compile(define("def f(x):\n    return x\n"))
    arguments = [1.0, -2.5, math.inf, 1, 7, True, np.float64(1.0), np.float32(1.0)]
    assert list(versions(compiled, arguments)) == [1, 1, 1, 2, 2, 3, 4, 5]
    q = np.ones((4, 4))
    arrays = [np.ones(3), np.ones(9), np.ones(0), np.ones(9)[::-2], np.ones(1), q, q.T, q[1:, ::2], q[:, :1]]
    assert [k - 5 for k in versions(compiled, arrays)] == [1, 1, 1, 1, 2, 3, 4, 4, 5]


# -- source given by hand --------------------------------------------------------------------------

TEXT = "def h(x):\n    s = 0.0\n    for v in x:\n        s += v * v\n    return s\n"


KNOWN_AXIS = "def f(x, k):\n    return x * k if isinstance(x, float) else np.sum(x, axis=k)\n"


def test_arguments_known_in_some_versions() -> None:
    """Which arguments are compiled in may differ from version to version; one is made for each of their values."""
    f = define(KNOWN_AXIS)
    compiled = sg.compile(f)
    m = np.arange(6.0).reshape(2, 3)
    for args in [(2.0, 3), (m, 1), (2.0, 3), (2.0, 4), (m, 0), (m, 1), (m, 0)]:
        same(compiled(*args), f(*args))
    assert len(compiled.versions) == 3


POWER = """
def first_row_times(p, q):
    return [p[0][0] * q[0][0] + p[0][1] * q[1][0], p[0][0] * q[0][1] + p[0][1] * q[1][1]]

def times(p, q):
    return [first_row_times(p, q), first_row_times([p[1]], q)]

def power(table, n):
    out = [[1, 0], [0, 1]]
    while n > 0:
        if n % 2 == 1:
            out = times(out, table)
        table = times(table, table)
        n //= 2
    return out

def f(table, n):
    return power(table, n)[0]
"""


@pytest.mark.parametrize("name", ["power", "f"])
def test_list_known_item_by_item(name: str) -> None:
    """A list of lists that is an argument has to be known item by item where one in the text takes its name."""
    f = define(POWER, name)
    table = [[1, 1], [1, 0]]
    assert sg.compile(f)(table, 9) == f(table, 9)
    assert table == [[1, 1], [1, 0]]


def test_no_source() -> None:
    """Without a source there is nothing to compile; the error says what to do."""
    with pytest.raises(SourceError, match=r"(?s)no source for 'h'.*source=text"):
        sg.compile(made_by_exec(TEXT, "h"))
    with pytest.raises(SourceError, match="no source"):
        sg.grad(made_by_exec(TEXT, "h"))


def test_source_by_hand() -> None:
    """The text given is what is compiled, differentiated, and shown in errors."""
    h = made_by_exec(TEXT, "h")
    compiled = sg.compile(h, source=TEXT)
    x = np.arange(3.0)
    assert compiled(x) == h(x) == 5.0
    np.testing.assert_array_equal(sg.grad(compiled)(x), 2.0 * x)


@pytest.mark.native
def test_source_by_hand_is_shown() -> None:
    h = made_by_exec("def h(x):\n    return x[5]\n", "h")
    with pytest.raises(IndexError, match="index 5 is out of bounds") as caught:
        sg.compile(h, source="def h(x):\n    return x[5]\n")(np.ones(3))
    assert "return x[5]" in "\n".join(caught.value.__notes__)


def test_source_without_the_function() -> None:
    with pytest.raises(SourceError, match="does not define 'h'"):
        sg.compile(made_by_exec(TEXT, "h"), source="def other(x):\n    return x\n")


def test_source_that_does_not_parse() -> None:
    with pytest.raises(SourceError, match="does not parse"):
        sg.compile(made_by_exec(TEXT, "h"), source="def h(x:\n")


@pytest.mark.parametrize(
    "thing", [math.sin, np.sin, float, 3.0, "f", functools.partial(math.sin), object()], ids=lambda t: type(t).__name__
)
def test_not_a_function(thing: Any) -> None:
    """Builtins, classes, and things that are no functions are refused when decorated."""
    for use in (sg.compile, sg.grad, sg.value_and_grad):
        with pytest.raises(ArgumentError, match="is not a Python function"):
            use(thing)


def test_an_array_passed_twice_is_another_signature() -> None:
    def total(x, y):
        return x[0] + y[0]

    compiled, x, y = sg.compile(total), np.ones(3), np.full(3, 5.0)
    assert [compiled(x, x), compiled(x, y), compiled(y, y), compiled(x, y)] == [2.0, 6.0, 10.0, 6.0]
    paired = sg.compile(lambda pair: pair[0][0] + pair[1][0])
    assert [paired((x, x)), paired((x, y)), paired((y, y))] == [2.0, 6.0, 10.0]


def weighted(self: float, low: float, args: float, kwargs: float, f: float = 2.0, options: float = 1.0) -> float:
    return self * low + 3.0 * args + 4.0 * kwargs + f * options


def test_parameters_may_have_any_names() -> None:
    given = {"self": 1.5, "low": 2.0, "args": 3.0, "kwargs": 4.0, "f": 1.0, "options": 5.0}
    made, derived = sg.compile(weighted), sg.grad(weighted, argnums=(0, 5))
    assert made(**given) == weighted(**given)
    assert derived(**given) == (2.0, 1.0)
    assert "self * low" in made.python(**given)
    assert len(made.graph(**given).params) == len(given)
    assert sg.explain(made, **given)
