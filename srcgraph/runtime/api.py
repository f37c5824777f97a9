"""What users call: compile a function, look at what it became."""

from __future__ import annotations

import functools
import sys
import types
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from inspect import Parameter, signature
from typing import Any

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.session import FunctionCode, FunctionGuard, prepare
from srcgraph.infer.objects import why_opaque
from srcgraph.infer.signature import Leaves
from srcgraph.ir.graph import Graph
from srcgraph.runtime.cache.lookup import Cached
from srcgraph.runtime.calls import Given, added, entered, forget
from srcgraph.runtime.calls_layout import Entered
from srcgraph.runtime.custom import CustomFunction
from srcgraph.runtime.depth import deeply
from srcgraph.runtime.described import USUAL_WAY, Way, describe_arguments, short_beside_long
from srcgraph.runtime.html import hint
from srcgraph.runtime.inspection import Inspection, inspection
from srcgraph.runtime.on_device import standing_in
from srcgraph.runtime.options import USUAL, AnyMode, Options, options_of
from srcgraph.runtime.quick import Met, quick_key
from srcgraph.runtime.specialization import specialize
from srcgraph.runtime.specialized import NOT_READY, Specialization
from srcgraph.runtime.state import Outdated
from srcgraph.runtime.straight import straighten
from srcgraph.runtime.transforms import Transform

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


_CACHED = type(functools.cache(lambda: None))


MOST_ALIKE = 3
"""For so many patterns of lengths that go together a signature is compiled, and then for all others at once."""


class Compiled(Entered):
    """A function that compiles itself for the types of the arguments it is called with.

    Parameters
    ----------
    function : function
        A Python function or lambda.
    transforms : sequence of callables
        What to make of it before compiling, first applied first; none for the function itself.
    source : str, optional
        The function's source, where it cannot be found.
    options : Options
        How it is compiled.

    Attributes
    ----------
    py_func : function
        The original function.
    """

    verifies = False
    """Whether calls are checked, so that nothing else can be made of it."""

    def __init__(
        self,
        function: types.FunctionType,
        transforms: Sequence[Transform] = (),
        source: str | None = None,
        options: Options = USUAL,
    ):
        self.py_func = function
        self.transforms = tuple(transforms)
        self.source = source
        self.options = options
        self.begin()

    def begin(self) -> None:
        """Start from the function's code: when made, and when a tool has put edited code into the function."""
        function = self.py_func
        self.identity = function.__code__
        self.prepared: FunctionCode | None = None
        self.cached = Cached(function, self.source, (self.transforms, self.options.description), self.options.cached)
        if not self.cached.is_known():
            self.prepared = deeply(lambda: prepare(function, self.source), function.__qualname__)
        self.signature = signature(function, follow_wrapped=False)
        self.guard = FunctionGuard.of(function)
        self.names = list(self.signature.parameters)
        self.positional = all(p.kind in _POSITIONAL for p in self.signature.parameters.values())
        self.versions: dict[Any, list[Specialization]] = {}
        self.quick: dict[Any, list[Specialization]] = {}
        """Versions by what `quick_key` sees, those for more lengths last."""
        self.newest: Specialization | None = None
        self.patterns: Counter[Any] = Counter()
        """How many patterns of lengths were compiled for, by the types of the arguments."""
        self.direct: dict[int, list[Any]] = {}
        """Versions, and what is known of calls of them without detours."""
        forget(self)
        if type(self) is not self.general:
            self.__class__ = self.general
        self.ways: list[Way] = [USUAL_WAY]
        """How arguments are described, which may differ from version to version."""
        functools.update_wrapper(self, function)

    @property
    def code(self) -> FunctionCode:
        """The function ready to be lowered: when made, unless it was compiled before by another process."""
        if self.prepared is None:
            self.prepared = deeply(lambda: prepare(self.py_func, self.source), self.py_func.__qualname__)
        return self.prepared

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self.py_func.__code__ is not self.identity:
            self.begin()
        given = Given(len(args), tuple(kwargs))
        if kwargs or not self.positional or len(args) != len(self.names):
            args = self.bound(args, kwargs)
        if not self.options.on_cpu:
            args = standing_in(args, self.names)
        values: list[Any] = []
        met = Met()
        key = quick_key(args, values, met)
        for known in self.quick.get(key, ()):
            if (result := known.quickly(values.copy(), met)) is not NOT_READY:
                self.without_detours(known, args, given)
                return result
        while True:
            version, leaves = self.version(args)
            if key is not None and not version.shared and not version.way.static:
                self.remember(key, version)
            with suppress(Outdated):  # another thread has changed the shape of a shared variable: look again
                result = version.call(leaves)
                if version.shared and key is not None:
                    self.without_detours(version, args, given)
                return result

    @property
    def general(self) -> Any:
        """The class whose calls are those of all versions."""
        kind = type(self)
        return kind.__base__ if "straight" in vars(kind) else kind

    def without_detours(self, version: Specialization, args: Sequence[Any], given: Given) -> None:
        """Let the next call be one for arguments such as these, if there is such a call of the version."""
        general = self.general
        if general.__call__ is not Compiled.__call__:
            return
        if (kind := entered(general)) is None:
            if given.count == len(self.names):
                straighten(self, version, args)
        elif added(self, version, args, given):
            self.__class__ = kind

    def remember(self, key: Any, version: Specialization) -> None:
        """Find a version by its key the next time."""
        version.look()
        others = [v for v in self.quick.get(key, ()) if v is not version and v.valid()]
        self.quick[key] = sorted([version, *others], key=lambda v: not v.way.narrow)

    def bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order, by Python's rules.

        Raises
        ------
        TypeError
            They do not fit the function's parameters.
        """
        if not self.guard.holds():
            self.signature, self.guard = signature(self.py_func, follow_wrapped=False), FunctionGuard.of(self.py_func)
        try:
            given = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.py_func.__qualname__}() {error}") from None
        given.apply_defaults()
        return tuple(given.arguments.values())

    def version(self, args: Sequence[Any]) -> tuple[Specialization, Leaves]:
        """The compiled version for these arguments, and the numbers, arrays and objects to call it with."""
        for way in self.ways:
            key, leaves = self.described(args, way)
            for version in self.versions.get(key, ()):
                if version.valid() and not (version.few and short_beside_long(args)):
                    return version, leaves
        distinct = bool(self.transforms)
        cached = functools.partial(self.cached.version, self.names, args, distinct, self.specialized)
        version = deeply(cached, self.py_func.__qualname__)
        if version.way not in self.ways:
            self.ways = sorted([*self.ways, version.way], key=lambda way: (not way.small, not way.alike, not way.signs))
        key, leaves = self.described(args, version.way)
        self.versions.setdefault(key, []).append(version)
        self.newest = version
        return version, leaves

    def specialized(self, args: Sequence[Any]) -> Specialization:
        """A version compiled for these arguments."""
        key = self.described(args, USUAL_WAY)[0]
        general = self.patterns[key] >= MOST_ALIKE
        made = specialize(self.code, self.names, args, self.transforms, self.options, general)
        self.patterns[key] += made.way.narrow
        return made

    def described(self, args: Sequence[Any], way: Way) -> tuple[Any, Leaves]:
        """The signature of a call, and its leaves."""
        distinct = bool(self.transforms)
        skeletons, leaves = describe_arguments(self.names, args, way, distinct)
        return (way, *skeletons.values()), leaves

    def graph(self, /, *args: Any, **kwargs: Any) -> Graph:
        """The optimised, typed graph for these arguments."""
        return self.version(self.bound(args, kwargs))[0].graph

    def python(self, /, *args: Any, **kwargs: Any) -> str:
        """The generated Python text for these arguments."""
        return self.version(self.bound(args, kwargs))[0].generated.text.text

    def __reduce__(self) -> Any:
        """Pickled by name, as functions are: its own, or that of what it was made of."""
        named = _named(self.py_func)
        if named is self:
            return self.py_func.__qualname__
        made_of = named if isinstance(named, Compiled) else vars(self.py_func).get(MADE_BY, self.py_func)
        return _made_of, (self.general, made_of, self.transforms, self.source, self.options)

    def __copy__(self) -> Compiled:
        return self

    def __deepcopy__(self, memo: Any) -> Compiled:
        return self

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<srcgraph.Compiled {self.py_func.__name__}>"

    def _repr_html_(self) -> str:
        """The newest version, or how to get one."""
        if self.newest is None:
            return hint(repr(self))
        return inspection(self.code, self.newest)._repr_html_()


def _named(function: types.FunctionType) -> Any:
    """What has a function's name in its module: the function, or what a decorator made of it."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found


class _DerivedName(str):
    """The name of what was made of a method: methods are pickled by name, which would be the method's own."""

    def __reduce__(self) -> Any:
        why = f"what was made of the method {self!s} cannot be pickled: the method would be read in its place"
        raise ArgumentError(
            Problem(why, hint="pickle the object, and make it of the object's method where it is called")
        )


def derived_method(made: Compiled, instance: Any) -> types.MethodType:
    """What was made of a method's function, as a method of its object."""
    vars(made)["__name__"] = _DerivedName(made.py_func.__name__)
    return types.MethodType(made, instance)


MADE_BY = "_srcgraph_made_by"
"""The attribute of a function written around another that says what makes it: a function and its arguments."""


def _made_of(
    kind: type[Compiled], function: Any, transforms: tuple[Transform, ...], source: str | None, options: Options
) -> Compiled:
    """What was pickled by the name of another function, or by what made it."""
    if isinstance(function, tuple):
        function = function[0](*function[1])
    return kind(as_function(function), transforms, source, options)


def refuse_verified(function: Any) -> None:
    """What is verified is the derivative that is called, not one that is made into another."""
    if isinstance(function, Compiled) and function.verifies:
        name = function.py_func.__name__
        why = f"the gradient of {name} made with verify=True is differentiated: only the outermost one is verified"
        raise ArgumentError(Problem(why, hint=f"sg.grad(sg.grad({name}), verify=True)"))


def refuse_built(function: Any) -> None:
    """What was built of variables is no Python function; it says what to do instead."""
    if isinstance(found := getattr(function, "instead", None), str):
        raise ArgumentError(Problem(f"{function!r} is not a Python function", hint=found))


def as_function(function: Any) -> types.FunctionType:
    """The Python function behind ``function``.

    Raises
    ------
    ArgumentError
        It is not a Python function.
    """
    if isinstance(function, _CACHED):  # what it would remember is computed again
        function = function.__wrapped__
    if isinstance(function, CustomFunction):
        return function.caller
    refuse_built(function)
    inner = function if isinstance(function, types.FunctionType) else getattr(function, "py_func", None)
    if not isinstance(inner, types.FunctionType):
        raise opaque(function)
    return inner


def method_of(function: Any) -> types.MethodType | None:
    """A method of an object, or the call of an object that has one: a function and its first argument."""
    if isinstance(function, types.MethodType):
        return function
    if isinstance(function, Compiled | types.FunctionType | type) or why_opaque(type(function)):
        return None
    call = getattr(function, "__call__", None)  # noqa: B004
    return call if isinstance(call, types.MethodType) else None


def opaque(function: Any) -> ArgumentError:
    """The refusal of something callable that is not written in Python."""
    return ArgumentError(Problem(f"{function!r} is not a Python function", hint=_instead(function)))


def _instead(function: Any) -> str:
    """What to compile instead of something callable."""
    if callable(function) and not isinstance(function, type) and hasattr(function, "__name__"):
        return f"write a function that calls it: def g(x): return {function.__name__}(x)"
    return ""


def compile(
    function: Callable | None = None,
    /,
    *,
    source: str | None = None,
    error_model: str | None = None,
    mode: AnyMode = None,
    cache: bool | None = None,
    target: str | None = None,
    parallel: bool | str | None = None,
    fastmath: bool | Collection[str] | None = None,
) -> Any:
    """Compile a Python function; the work is done when it is first called with new types.

    Parameters
    ----------
    function : function
        Plain Python over numbers, NumPy arrays and tuples of them.
    source : str, optional
        Its source text, for functions made by ``exec`` or typed on a pipe.
    error_model : {"python", "numpy"}, optional
        What arithmetic of Python's numbers, and `math`, do where Python raises: ``python``, the default, raises
        the same. ``numpy`` goes on, here and in the functions it calls, as NumPy's numbers always do: ``1 / 0`` is
        inf, ``0.0 / 0.0`` and ``math.sqrt(-1.0)`` NaN, ``math.exp(1000.0)`` inf; ``k // 0`` and ``k % 0`` of
        integers are 0. What has no such result raises in both: an index out of range, ``int`` of NaN, an integer
        to a negative power.
    mode : Mode or {"FAST_RUN", "FAST_COMPILE", "DEBUG"}, optional
        Which rewrites of `srcgraph.opt.db` its graph goes through: all that are sound, the default; those that are
        needed, or quick; all, with the graph verified and evaluated after each.
    cache : bool, optional
        Whether to keep what is compiled on disk, for other processes; True if not given. See `srcgraph.cache`.
    target : {"cpu", "cuda"}, optional
        What to compile for: the CPU, the default, or an NVIDIA GPU, see ``docs/cuda.md``. Derivatives of a function
        are compiled for what it is compiled for, and so is ``compile(grad(f), target="cuda")``.
    parallel : bool or "auto", optional
        Whether threads share the trips of loops that do not need each other, operations on arrays among them: where a
        loop turns out to be large when it runs, with "auto" only where it is much larger. Sums are formed in parts
        then, whose number depends on sizes alone. See `srcgraph.threads`.
    fastmath : bool or set of {"contract", "reassoc", "arcp", "nsz"}, optional
        By what rounding may differ from Python's and NumPy's, as in `numba.njit`: a product and a sum rounded once,
        sums and products in another order, factors in place of divisors, zeros of either sign. True for all of these,
        False, the default, for none: then ``x * x - y * y == 0.0`` wherever it is in Python. Unlike with
        numba's, tests for NaN and infinity hold; but what another order cancels may be finite where Python's is not:
        ``(x + y) - x`` is ``y``. Functions, and what NumPy does within one call, are as without it.

    Returns
    -------
    Compiled
        Called as the function is. Arrays it stores into are changed for the caller.

    Raises
    ------
    UnsupportedError
        The function uses something outside the supported language; all such places are listed.
    ArgumentError
        There is no such error model, mode or value of ``parallel`` or ``fastmath``, or the function is not a Python
        function.
    ValueError
        There is no such target.

    Examples
    --------
    >>> @compile
    ... def square(x):
    ...     return x * x
    >>> square(3.0)
    9.0
    """
    chosen: dict[str, Any] = {
        "error_model": error_model, "mode": mode, "cache": cache, "target": target, "parallel": parallel,
        "fastmath": fastmath,
    }  # fmt: skip
    options = options_of(function, **chosen)
    chosen["source"] = source
    if function is None:
        return lambda f: compile(f, **chosen)
    if isinstance(function, Compiled):
        same = options == function.options
        return function if same else type(function)(function.py_func, function.transforms, function.source, options)
    if (method := method_of(function)) is not None:
        return types.MethodType(compile(method.__func__, **chosen), method.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(compile(function.func, **chosen), *function.args, **function.keywords)
    return Compiled(as_function(function), source=source, options=options)


def inspect(function: Callable, /, *args: Any, **kwargs: Any) -> Inspection:
    """What a function becomes for the types of example arguments; it is not called.

    Parameters
    ----------
    function : function or Compiled
        A plain function, or what `compile`, `grad` or `value_and_grad` made of one.
    *args, **kwargs
        Arguments such as it will be called with.

    Returns
    -------
    Inspection
        Source, graph, generated code, tape and passes. Shown in a notebook, side by side with linked
        lines; printed, as text; ``save_html(path)`` writes a page.

    Examples
    --------
    >>> def power(x, n):
    ...     y = 1.0
    ...     for _ in range(n):
    ...         y *= x
    ...     return y
    >>> inspect(grad(power), 2.0, 3).tape[0].reason
    'all that is computed depends on one number: its derivative is carried along'
    """
    compiled = compile(function)
    version, _ = compiled.version(compiled.bound(args, kwargs))
    return inspection(compiled.code, version)
