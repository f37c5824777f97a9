"""What every program of the corpus is put through.

A program is a plain function whose parameters' names choose its inputs (see `INPUTS`). It is run by
Python, by the reference interpreter and compiled, and its derivative is compared with differences:
complex-step where the function is analytic, else central differences with Richardson extrapolation
and an estimate of their error. Arrays it changes count as results.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from io import StringIO
from typing import Any, NamedTuple, TypeAlias
from unittest import mock

import numpy as np
import programs
from plainly import OtherDivision, natively, plain_text, raised_by_text
from programs import records

import srcgraph as sg
from srcgraph.codegen.cpu import Generated, generate
from srcgraph.codegen.storage import Interface
from srcgraph.frontend.session import prepare
from srcgraph.frontend.template import (
    ArgumentView,
    EitherOf,
    ListOf,
    MaybeOf,
    NewArray,
    NewBox,
    ObjectOf,
    Out,
    RecordOf,
    RowsOf,
    TupleOf,
    parts_of,
)
from srcgraph.infer.objects import build, build_tuple, fields_of, update, why_opaque
from srcgraph.infer.signature import MaybeArg, ObjectArg, StaticArg, TupleArg
from srcgraph.ir.bitgen import address
from srcgraph.ir.graph import For, Graph, Program, Value, While
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS, building
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.printer import format_graph
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, is_float
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import all_nodes, same_graph
from srcgraph.opt.ad.checkpoint import Checkpointing
from srcgraph.opt.ad.jvp import pushforward
from srcgraph.opt.inline import inline
from srcgraph.opt.modes import FAST_RUN, Mode, compiling
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import DERIVED, LAST, PRIMAL
from srcgraph.runtime import specialization
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.described import USUAL_WAY, Way, describe_arguments
from srcgraph.runtime.engines.versions import apart
from srcgraph.runtime.floats import leaf_positions, structured, with_places
from srcgraph.runtime.load import load
from srcgraph.runtime.options import PARALLEL, USUAL
from srcgraph.runtime.results import Objects, maker, updater
from srcgraph.runtime.specialization import as_is
from srcgraph.runtime.transforms import Gradient, Numbered, Version, interfaces
from srcgraph.runtime.verification.differences import derivative

SIZE = 5


def _vector(seed: int) -> Callable[[int], np.ndarray]:
    return lambda size: np.random.default_rng(seed).uniform(0.2, 1.5, size)


def _cubic(v: Any) -> Any:
    return v * v * v - 0.5 * v


INPUTS: dict[str, Callable[[int], Any]] = {
    **{name: (lambda size, v=value: v) for name, value in
       {"a": 0.7, "b": 1.3, "c": -0.4, "t": 0.5, "tol": 1e-3, "h": 0.1}.items()},
    **{name: _vector(k) for k, name in enumerate(("x", "y", "z", "u", "v", "w", "f"))},
    "s": lambda size: np.random.default_rng(20).uniform(-1.0, 1.0, size),
    "m": lambda size: np.random.default_rng(30).uniform(0.2, 1.5, (size, 3)),
    "q": lambda size: np.random.default_rng(31).uniform(0.2, 1.5, (size, size)),
    "r": lambda size: np.random.default_rng(32).uniform(0.2, 1.5, (2, 3, size)),
    "xf": lambda size: np.random.default_rng(33).uniform(0.2, 1.5, size).astype(np.float32),
    "xi": lambda size: np.random.default_rng(34).integers(0, max(size, 1), size),
    "k": lambda size: 3,
    "flag": lambda size: True,
    "pair": lambda size: (0.3, 1.1),
    "mask": lambda size: np.random.default_rng(35).uniform(size=size) < 0.5,
    "xr": lambda size: np.random.default_rng(36).uniform(0.2, 1.5, size)[::-1],
    "xs": lambda size: np.random.default_rng(37).uniform(0.2, 1.5, 2 * size)[::2],
    "qf": lambda size: np.asfortranarray(np.random.default_rng(38).uniform(0.2, 1.5, (size, size))),
    "mf": lambda size: np.random.default_rng(39).uniform(0.2, 1.5, (size, 3)).astype(np.float32),
    "xb": lambda size: np.random.default_rng(40).integers(-3, 4, size).astype(np.int8),
    "xu": lambda size: np.random.default_rng(41).integers(0, 9, size).astype(np.uint8),
    "xc": lambda size: np.random.default_rng(42).uniform(0.2, 1.5, (size, 2)) @ np.array([1.0, 1.0j]),
    "ad": lambda size: np.float64(0.6),
    "af": lambda size: np.float32(0.6),
    "j": lambda size: np.int64(2),
    "j4": lambda size: np.int32(-(2**31)),
    "p0": lambda size: np.array(0.8),
    "g": lambda size: _cubic,
    "params": lambda size: records.Params(3.0, 1.5),
    "state": lambda size: records.State(_vector(50)(size), _vector(51)(size), 0.5, 2),
    "pid": lambda size: records.Pid(2.0, 0.5),
    "fit": lambda size: records.Fit(1.5),
    "weights": lambda size: {"a": 0.3, "b": 0.2},
    "items": lambda size: np.random.default_rng(50).uniform(0.2, 1.5, size).tolist(),
    "counts": lambda size: np.random.default_rng(51).integers(0, 9, size).tolist(),
    "points": lambda size: [(k, 0.5 * k) for k in range(size)],
    "rng": lambda size: np.random.default_rng(60),
}  # fmt: skip
TRIPS = (0, 1, 2, 5)


def corpus() -> list[Callable]:
    """Every program: the public functions of the modules in `programs`."""
    found = []
    for info in pkgutil.iter_modules(programs.__path__):
        module = importlib.import_module(f"programs.{info.name}")
        found += [
            f
            for name, f in vars(module).items()
            if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_")
        ]
    return found


def label(function: Callable) -> str:
    return f"{function.__module__.split('.')[-1]}.{function.__name__}"


@dataclass(frozen=True)
class Outcome:
    """What a call gave: its value or the type of its exception, its arguments afterwards, what it printed."""

    value: Any
    error: type | None
    args: tuple[Any, ...]
    printed: str = ""


def calls(function: Callable) -> Iterator[tuple[Any, ...]]:
    """The argument lists a program is tried on: several sizes, and each number of trips."""
    names = list(inspect.signature(function).parameters)
    uses_size = any(isinstance(INPUTS[n](SIZE), np.ndarray | list) for n in names if n in INPUTS)
    sizes = (SIZE, 1, 2, 0) if uses_size else (SIZE,)
    trips = TRIPS if "n" in names else (None,)
    for size, n in itertools.product(sizes, trips):
        if size != SIZE and n not in (None, 2):
            continue
        yield tuple(n if name == "n" else INPUTS[name](size) for name in names)


def duplicate(value: Any, known: dict[int, Any] | None = None) -> Any:
    """A copy of an argument in memory of its own, arranged as the original's: order, strides, steps back.

    An array met twice is one array again.
    """
    known = {} if known is None else known
    if isinstance(value, tuple | list):
        return build_tuple(type(value), [duplicate(v, known) for v in value])
    if is_object(value) and id(value) not in known:
        own = known[id(value)] = build(type(value), (), [])
        update(own, tuple(fields(value)), {k: duplicate(v, known) for k, v in fields(value).items()})
    if isinstance(value, np.random.Generator):
        return known.setdefault(id(value), deepcopy(value))
    if not is_object(value) and not isinstance(value, np.ndarray):
        return value
    if id(value) not in known:
        spans = [(size - 1) * step for size, step in zip(value.shape, value.strides, strict=True) if value.size]
        low, high = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
        room = bytearray(high - low + value.itemsize)
        out = np.ndarray(value.shape, value.dtype, room, offset=-low, strides=value.strides)
        out[...] = value
        out.flags.writeable = value.flags.writeable
        known[id(value)] = out
    return known[id(value)]


def is_object(value: Any) -> bool:
    """Whether something is a dict, or an object that is taken apart into its fields."""
    return type(value) is dict or not (
        isinstance(value, tuple | list | np.ndarray | np.generic | type(None) | str | bool | int | float | complex)
        or (callable(value) and not hasattr(value, "__dict__"))
        or why_opaque(type(value))
    )


def fields(value: Any) -> dict[Any, Any]:
    """The items of a dict or the fields of an object."""
    return value if type(value) is dict else fields_of(value)


def outcome(function: Callable, args: tuple[Any, ...]) -> Outcome:
    """Call on copies."""
    own = duplicate(args)
    with redirect_stdout(StringIO()) as printed:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # a complex step stored in a real array
                warnings.simplefilter("ignore", RuntimeWarning)
                value, error = function(*own), None
        except Exception as e:
            value, error = None, type(e)
    return Outcome(value, error, own, printed.getvalue())


_NUMPY_KIND: dict[type, Any] = {float: np.floating, int: np.integer}
"""What a Python number may come back as: on another path the same name is a NumPy scalar, and joins to one."""


def assert_same(got: Any, want: Any, what: str, rtol: float = 1e-12) -> None:
    """The same type, dtype, shape and, to rounding, the same numbers.

    NumPy has two types for one kind of integer, ``long`` and ``longlong``; which it gives may depend on earlier calls.
    """
    if is_object(want):
        assert type(got) is type(want), f"{what}: {got!r} for {want!r}"
        assert list(fields(got)) == list(fields(want)), f"{what}: {got!r} for {want!r}"
        for k, x in fields(want).items():
            assert_same(fields(got)[k], x, f"{what}.{k}", rtol)
        return
    if isinstance(want, tuple | list):
        assert type(got) is type(want) and len(got) == len(want), f"{what}: {got!r} for {want!r}"
        for k, (x, y) in enumerate(zip(got, want, strict=True)):
            assert_same(x, y, f"{what}[{k}]", rtol)
        return
    if isinstance(want, np.random.Generator):
        assert got.bit_generator.state == want.bit_generator.state, f"{what}: another number of draws"
        return
    joined = isinstance(got, np.generic) and isinstance(got, _NUMPY_KIND.get(type(want), ()))
    alike = isinstance(got, np.generic) and isinstance(want, np.generic) and got.dtype == want.dtype
    assert type(got) is type(want) or alike or joined, f"{what}: {got!r} ({type(got)}) for {want!r} ({type(want)})"
    if isinstance(want, np.ndarray | np.generic) and not joined:
        assert got.dtype == want.dtype and got.shape == want.shape, f"{what}: {got!r} for {want!r}"
    if want is None or isinstance(want, str) or callable(want):
        assert got == want, f"{what}: {got!r} for {want!r}"
        return
    tolerance = 1e-5 if getattr(want, "dtype", None) in (np.float32, np.complex64) else rtol
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * 1e-2, err_msg=what)


def compare(got: Outcome, want: Outcome, what: str) -> None:
    assert got.printed == want.printed, what
    if want.error is not None:
        assert got.error is not None, f"{what}: Python raises {want.error.__name__}, got {got.value!r}"
        assert issubclass(got.error, want.error), f"{what}: {got.error} for {want.error}"
        return
    assert got.error is None, f"{what}: raised {got.error}, Python returns {want.value!r}"
    assert_same(got.value, want.value, what)
    assert_same(got.args, want.args, f"{what}, arguments after the call")


def compare_stores(got: Outcome, want: Outcome, what: str) -> None:
    """What was stored into arrays before an exception stays; lists and objects are left as before the call."""
    for k, (x, y) in enumerate(zip(got.args, want.args, strict=True)):
        if isinstance(y, np.ndarray | tuple):
            assert_same(leaves_of((x,), []), leaves_of((y,), []), f"{what}, argument {k} after the exception")


def shared(done: Outcome) -> list[tuple[int, int]]:
    """Which arrays among the results and the arguments are the same memory in part."""
    arrays = [x for x in leaves_of((done.value, *done.args), []) if isinstance(x, np.ndarray)]
    pairs = itertools.combinations(enumerate(arrays), 2)
    return [(j, k) for (j, x), (k, y) in pairs if np.shares_memory(x, y)]


# -- versions -------------------------------------------------------------------------------------


class Versions:
    """A function's optimised versions, one per signature, verified after every pass, and their gradients.

    Parameters
    ----------
    function : function
    distinct : bool
        Whether an array passed twice counts as two arrays, as it does for derivatives.
    """

    def __init__(self, function: Callable, distinct: bool = False):
        self.function = function
        self.distinct = distinct
        self.code = prepare(function)
        self.names = list(inspect.signature(function).parameters)
        self.way = USUAL_WAY
        self.known: dict[Any, tuple[Version, list[Any]]] = {}
        self.gradients: dict[Any, tuple[Version, Generated]] = {}

    def key(self, args: tuple[Any, ...]) -> Any:
        return tuple(describe_arguments(self.names, args, self.way, self.distinct)[0].values())

    def of(self, args: tuple[Any, ...]) -> tuple[Version, list[Any]]:
        """The version for a call, and the globals it reads."""
        if self.key(args) not in self.known:
            found, skeletons, way = specialization.lowered(self.code, self.names, args, self.distinct)
            self.way = Way(self.way.static | way.static, self.way.alike or way.alike, signs=self.way.signs or way.signs)
            verify(found.program)
            self.check_texts(found.program)
            program = inline(found.program)
            verify(program)
            graphs = {n: run_passes(g, PRIMAL, check=True) for n, g in program.graphs.items()}
            verify(Program(graphs, program.entry))
            self.check_texts(Program(graphs, program.entry))
            graph = graphs.pop(program.entry)
            self.known[self.key(args)] = as_is(found, graph, skeletons, graphs), list(found.summary.hidden)
        return self.known[self.key(args)]

    def check_texts(self, program: Program) -> None:
        """The graphs are read back; for derivatives they are almost those that are checked without."""
        for graph in () if self.distinct else program.graphs.values():
            check_text(graph)

    def gradient(
        self, args: tuple[Any, ...], argnums: tuple[int, ...], mode: Mode = FAST_RUN
    ) -> tuple[Version, Generated]:
        """The gradient of the projected version for a call, and what is generated for it."""
        key = (self.key(args), argnums, mode, is_linear.get())
        if key not in self.gradients:
            with compiling(mode):
                found = derived(self.of(args)[0], argnums)
                graph = run_passes(found.graph, LAST, check=True)
                callees = {name: (run_passes(g, LAST, check=True), to) for name, (g, to) in found.callees.items()}
            weight = PARALLEL[USUAL.parallel]
            made = generate(graph, found.interface, name="gradient", callees=callees, parallel=weight)
            self.gradients[key] = found, made
        return self.gradients[key]


def check_text(graph: Graph) -> None:
    """The text reads back as the same graph, which prints as the same text."""
    text = format_graph(graph)
    again = parse_graph(text)
    assert same_graph(again, graph), f"the text does not read back:\n{text}"
    assert format_graph(again) == text


def leaves_of(args: tuple[Any, ...], hidden: Any) -> list[Any]:
    out: list[Any] = []
    met: list[Any] = []

    def walk(value: Any) -> None:
        if is_object(value):
            if not any(value is o for o in met):
                met.append(value)
                walk(tuple(fields(value).values()))
        elif isinstance(value, list) and value and all(isinstance(v, float | int | np.generic) for v in value):
            out.append(np.array(value))
        elif isinstance(value, list) and value and all(isinstance(v, tuple) for v in value):
            for column in zip(*value, strict=True):
                walk(list(column))
        elif isinstance(value, tuple | list):
            for v in value:
                walk(v)
        elif isinstance(value, np.ndarray | np.generic | float | int | complex):
            out.append(value)
        elif isinstance(value, np.random.Generator):
            out.append(address(value))

    for value in (*args, *(h.read() for h in hidden)):
        walk(value)
    return out


def objects_of(args: tuple[Any, ...]) -> list[Any]:
    """The objects among the arguments, in the order of their boxes."""
    found: list[Any] = []

    def walk(value: Any) -> None:
        if is_object(value) and not any(value is o for o in found):
            found.append(value)
            walk(tuple(fields(value).values()))
        elif isinstance(value, tuple):
            for v in value:
                walk(v)

    walk(args)
    return found


class Guarded(NamedTuple):
    """The result ``index`` of what is None unless all the results ``tags`` hold."""

    tags: tuple[int, ...]
    index: int


Result: TypeAlias = int | EitherOf | Guarded
"""A result by its number, or what is chosen at run time."""


is_linear = ContextVar("is_linear", default=False)
"""Whether results are added up as they are, so that their derivatives are known before the function has run."""


def bent(value: Value) -> Value:
    return value if is_linear.get() else OPS["cos"](value)


class Projected(Rebuild):
    """A version whose result is one float: all float results and changed arrays, weighted and summed."""

    def __init__(self, version: Version, weights: dict[Result, float]):
        super().__init__(version.graph.name)
        self.version = version
        self.weights = weights

    def projected(self) -> Graph:
        with building(self.builder):
            return self._projected()

    def _projected(self) -> Graph:
        graph = self.version.graph
        self.params(graph.params)
        self.nodes(graph.nodes)
        total = self.builder.const(0.0)
        for result, weight in self.weights.items():
            total = OPS["add"](total, self._term(result, weight))
        return self.builder.finish([total])

    def _term(self, result: Result, weight: float) -> Value:
        """The number a result adds; what is chosen at run time adds that of the one chosen, None nothing."""
        if isinstance(result, EitherOf):
            return self._either(result.test, _chosen(result.then), _chosen(result.orelse), weight)
        if isinstance(result, Guarded):
            inner = Guarded(result.tags[1:], result.index) if len(result.tags) > 1 else result.index
            return self._either(result.tags[0], inner, None, weight)
        value = self.value(self.version.graph.results[result])
        if isinstance(value.type, ArrayType):
            value = OPS["sum"](OPS["mul"](bent(value), np.float64(weight)), axes=tuple(range(value.type.ndim)))
        else:
            value = OPS["mul"](bent(value), weight)
        return self.builder.cast(value, np.dtype(float), True)

    def _either(self, test: int, then: Result, orelse: Result | None, weight: float) -> Value:
        first, second = self.builder.new_region(), self.builder.new_region()
        with self.builder.inside(first):
            x = self._term(then, weight)
        with self.builder.inside(second):
            y = self.builder.const(0.0) if orelse is None else self._term(orelse, weight)
        cond = self.value(self.version.graph.results[test])
        return self.builder.if_(cond, (first, [x]), (second, [y]))[0]


def _chosen(template: Any) -> Result:
    return template if isinstance(template, EitherOf) else template.index


def _first(template: Any) -> int:
    return _first(template.then) if isinstance(template, EitherOf) else template.index


def _new_arrays(template: Any) -> bool:
    """Whether an array chosen at run time is a new one either way."""
    if isinstance(template, EitherOf):
        return _new_arrays(template.then) and _new_arrays(template.orelse)
    return isinstance(template, NewArray) and template.view is None


def differentiable_results(version: Version) -> dict[Result, float]:
    """The float results, with weights."""
    found: dict[Result, float] = {}

    def walk(template: Any, tags: tuple[int, ...] = ()) -> None:
        match template:
            case Out(index=k) | NewArray(index=k, view=None):
                if is_float(version.graph.results[k].type):
                    found.setdefault(Guarded(tags, k) if tags else k, 0.5 + 0.37 * len(found))
            case RowsOf(parts=parts):
                for k in parts:
                    walk(Out(k), tags)
            case EitherOf() if _new_arrays(template):
                if is_float(version.graph.results[_first(template)].type):
                    found.setdefault(template, 0.5 + 0.37 * len(found))
            case MaybeOf(bound=Out(index=tag), inner=held):
                walk(held, (*tags, tag))
            case ArgumentView() | EitherOf():  # an array that may be the argument's counts where that is changed
                pass
            case _:
                for t in parts_of(template):
                    walk(t, tags)

    walk(version.template)
    for rebound in version.rebound:
        walk(rebound.content)
    for _, template in version.lists:
        walk(template)
    for k in version.interface.changed.values():
        if is_float(version.graph.results[k].type):
            found.setdefault(k, 0.5 + 0.37 * len(found))
    return found


def projection(outcome_: Outcome, version: Version) -> complex:
    """The projected number from what Python returned; complex numbers are kept."""
    total: Any = 0.0
    weights = differentiable_results(version)
    seen: set[Result] = set()

    def add(value: Any, k: Result, tags: tuple[int, ...] = ()) -> None:
        nonlocal total
        key = Guarded(tags, k) if tags and isinstance(k, int) else k
        if key in weights and key not in seen:
            seen.add(key)
            total = total + weights[key] * np.sum(value if is_linear.get() else np.cos(value))

    def walk(value: Any, template: Any, tags: tuple[int, ...] = ()) -> None:
        match template:
            case Out(index=k) | NewArray(index=k, view=None):
                add(value, k, tags)
            case EitherOf():
                add(value, template)
            case MaybeOf(bound=Out(index=tag), inner=held):
                if value is not None:
                    walk(value, held, (*tags, tag))
            case TupleOf(items=items):
                for v, t in zip(value, items, strict=True):
                    walk(v, t, tags)
            case ListOf(content=content):
                walk(value, content, tags)
            case RowsOf(item=item, parts=parts):
                for column, k in zip(columns(value, item), parts, strict=True):
                    add(column, k, tags)
            case ObjectOf(box=NewBox(content=RecordOf(names=names, items=items))):
                for n, t in zip(names, items, strict=True):
                    walk(fields(value)[n], t, tags)

    walk(outcome_.value, version.template)
    objects = objects_of(outcome_.args)
    for rebound in version.rebound:
        if rebound.position < len(objects) and isinstance(rebound.content, RecordOf):
            for n, t in zip(rebound.content.names, rebound.content.items, strict=True):
                walk(fields(objects[rebound.position])[n], t)
    leaves = leaves_of(outcome_.args, [])
    for position, k in version.interface.changed.items():
        if position < len(leaves):
            add(leaves[position], k)
    for number, template in version.lists:
        walk([a for a in outcome_.args if isinstance(a, list)][number], template)
    return total


# -- derivatives ------------------------------------------------------------------------------------


def columns(values: list[Any], item: Any) -> list[list[Any]]:
    """For each number an item of a list is made of, those of all items."""
    if isinstance(item, MaybeArg):
        return [[v is not None for v in values], *columns([v or 0 for v in values], item.inner)]
    if not isinstance(item, TupleArg):
        return [] if isinstance(item, StaticArg) else [values]
    parts = [[v[k] for v in values] for k in range(len(item.items))]
    return [c for p, s in zip(parts, item.items, strict=True) for c in columns(p, s)]


def float_arguments(version: Version) -> list[int]:
    """The arguments that can be differentiated with respect to."""
    out = []
    for k, (name, skeleton) in enumerate(version.arguments.items()):
        if name == "tol":  # moving a tolerance moves where a loop stops, if it stops
            continue
        leaves = [s for _, s in leaf_positions(skeleton, 0)]
        floats = [s.dtype.kind == "f" for s in leaves]
        if floats and (all(floats) or (any(floats) and isinstance(skeleton, ObjectArg | TupleArg))):
            out.append(k)
    return out


def float_leaves(version: Version, argnums: tuple[int, ...]) -> list[int]:
    """The floats of arguments, by their positions among the parameters."""
    places = list(with_places(version.arguments.values()))
    found = Numbered(0)
    for k in argnums:
        structured(*places[k], found)
    return found.seen


def derived(version: Version, argnums: tuple[int, ...], checkpoint: Checkpointing | None = None) -> Version:
    """The gradient of the projected version."""
    graph = Projected(version, differentiable_results(version)).projected()
    callees = interfaces(version.functions)
    flat = replace(version, graph=graph, template=Out(0), interface=Interface({}, [0]), rebound=(), callees=callees)
    out = Gradient(argnums, checkpoint=checkpoint)(flat)
    verify(out.program)
    check_text(out.graph)
    graph = run_passes(out.graph, DERIVED, check=True)
    check_text(graph)
    callees = {name: (run_passes(g, DERIVED, check=True), to) for name, (g, to) in out.callees.items()}
    return replace(out, graph=graph, callees=callees)


def tangent_program(version: Version, argnums: tuple[int, ...]) -> Program:
    """The tangent of the projected version; after its parameters come the directions of those that move."""
    graph = Projected(version, differentiable_results(version)).projected()
    moving = float_leaves(version, argnums)
    directions = [Value(f"t_{graph.params[k].name}", graph.params[k].type) for k in moving]
    count = len(graph.params)
    graph = replace(graph, params=(*graph.params, *directions))
    out = pushforward(graph, {k: count + j for j, k in enumerate(moving)}, [0], (), version.functions)
    graphs = {**{name: g for name, (g, _) in out.callees.items()}, graph.name: out.graph}
    verify(Program(graphs, graph.name))
    check_text(out.graph)
    return Program({name: run_passes(g, DERIVED, check=True) for name, g in graphs.items()}, graph.name)


def check_tangent(version: Version, argnums: tuple[int, ...], leaves: list[Any], gradients: list[Any]) -> None:
    """The tangent in a direction is the gradient's product with it."""
    draw = np.random.default_rng(5)
    directions = [drawn_like(g, draw) for g in gradients]
    (got,) = interpret(tangent_program(version, argnums), [*leaves, *directions])
    terms = [np.asarray(g, float) * d for g, d in zip(gradients, directions, strict=True)]
    size = sum(float(np.sum(np.abs(t))) for t in terms)
    loose = 2e-4 if uses_single_precision(version.graph) else 1e-12
    assert abs(got - sum(float(np.sum(t)) for t in terms)) <= loose * (1 + size), "tangent against adjoint"


def drawn_like(x: Any, draw: np.random.Generator) -> Any:
    drawn = np.asarray(draw.normal(size=np.shape(x)), np.asarray(x).dtype)
    return drawn if isinstance(x, np.ndarray) else drawn[()]


def numeric_gradient(function: Callable, args: tuple[Any, ...], argnum: int, version: Version) -> list[tuple[Any, Any]]:
    """Each float leaf's gradient by differences, with an error estimate per entry."""
    parts = leaves_of((args[argnum],), ())
    out = []
    for j, part in enumerate(parts):
        if not _is_float(part):
            continue
        grad = np.zeros(np.shape(part))
        error = np.zeros(np.shape(part))
        for index in np.ndindex(np.shape(part)):

            def at(step: complex, j: int = j, index: tuple[int, ...] = index) -> complex:
                moved = duplicate(parts[j])
                if np.ndim(moved):
                    moved = moved.astype(complex if isinstance(step, complex) else moved.dtype)
                    moved[index] += step
                else:
                    moved = moved + step
                new = list(args)
                new[argnum] = replaced(args[argnum], j, moved)
                return projection(outcome(function, tuple(new)), version)

            grad[index], error[index] = derivative(at, np.asarray(part).dtype == np.float32)
        out.append((grad, error))
    return out


def replaced(value: Any, place: int, leaf: Any) -> Any:
    """A copy of an argument with the number or array at a place among its leaves replaced."""
    places = itertools.count()

    def walk(v: Any) -> Any:
        if is_object(v):
            return build(type(v), tuple(fields(v)), [walk(x) for x in fields(v).values()])
        if isinstance(v, tuple):
            return build_tuple(type(v), [walk(x) for x in v])
        if isinstance(v, list) and v:  # of numbers: one leaf
            return np.asarray(leaf).tolist() if next(places) == place else list(v)
        if not isinstance(v, np.ndarray | np.generic | float | int | complex):
            return v
        return leaf if next(places) == place else duplicate(v)

    return walk(value)


def interpreted(versions: Versions, args: tuple[Any, ...]) -> Outcome:
    """What the reference interpreter makes of a call."""
    own = duplicate(args)
    version, hidden = versions.of(own)
    leaves = leaves_of(own, hidden)
    with redirect_stdout(StringIO()) as printed:
        try:
            results = interpret(version.program, leaves)
        except Exception as e:
            return Outcome(None, type(e), own, printed.getvalue())
    place = {k: k for k in range(len(results))}
    changed = version.interface.changed
    stored = [leaves[position] for position in changed]
    contents = {k: apart(results[k], stored) for k in changed.values()}
    results = [r if k in contents else apart(r, stored) for k, r in enumerate(results)]
    for position, k in changed.items():
        leaves[position][...] = contents[k]
    known = Objects(objects_of(own), describe_arguments(versions.names, own, versions.way)[1].lists)
    value = maker(version.template, version.graph.results, place)(results, leaves, known)
    makes = [(k, maker(t, version.graph.results, place)) for k, t in version.lists]
    for items, new in [(known.lists[k], make(results, leaves, known)) for k, make in makes]:
        items[:] = new
    for rebound in version.rebound:
        updater(rebound, version.graph.results, place)(results, leaves, known)
    return Outcome(value, None, own, printed.getvalue())


# -- checks -----------------------------------------------------------------------------------------


OVERLAPS = frozenset((
    "reversed_into_itself", "stored_into_meanwhile", "lists_inside", "product_kept_while_stored",
    "bound_anew_in_a_loop", "apart_from_a_branch_on", "stored_in_a_branch_and_raised", "branch_in_a_branch",
    "equal_arrays_stored", "bound_to_what_is_changed", "an_extreme_of_itself",
))  # fmt: skip
"""Programs that store an array into itself elsewhere, or into one they combine, which NumPy and Python, too, copy;
one that hands a list inside a list to a function, which is given its numbers and gives them back; those where a product
with one, or ``+x``, is the copy; one that computes equal arrays, of which one is computed and the other is its copy."""


def check_value(program: Callable) -> None:
    """Interpreted, and as generated, it gives what Python gives, for several sizes and numbers of trips.

    One in eight programs is compiled, for one of the sizes; else the text runs as plain Python.
    """
    compiled, versions = sg.api.compile(program), Versions(program)
    for args in calls(program):
        with lowered_once():
            check_call(program, args, compiled, versions)


def check_call(program: Callable, args: tuple[Any, ...], compiled: sg.Compiled, versions: Versions) -> None:
    want = outcome(program, args)
    compare(interpreted(versions, args), want, f"interp{args}")
    native = is_full_size(args) and natively(label(program), 8)
    run = compiled if native else partial(call_plainly, compiled)
    got = outcome(run, args)
    compare(got, want, f"compiled{args}")
    if got.error:
        compare_stores(got, want, f"compiled{args}")
    if 0 not in [a for a, name in zip(args, versions.names, strict=True) if name == "n"]:
        # with no trip a name may still be the argument itself; the compiled function then returns a copy
        assert want.error or shared(got) == shared(want), f"{args}: other arrays share memory than in Python"
    if not got.error:
        copies = compiled.version(duplicate(args))[0].generated.copies
        made = all(c.why == "it is returned" for c in copies) or program.__name__ in OVERLAPS
        assert made, f"copies that NumPy would not make: {copies}"


@contextmanager
def lowered_once() -> Iterator[None]:
    """A call is lowered once for all that is tried with it."""
    usual, known = specialization.lowered, dict[Any, Any]()

    def once(code: Any, names: Any, args: Any, distinct: bool, raises: bool = True, general: bool = False) -> Any:
        key = distinct, raises, general
        if key not in known:
            known[key] = usual(code, names, args, distinct, raises, general)
        return known[key]

    with mock.patch.object(specialization, "lowered", once):
        yield


def is_full_size(args: tuple[Any, ...]) -> bool:
    """Whether a call is one of those that are compiled; for other sizes the generated text runs as plain Python."""
    return all(np.shape(x)[-1:] in ((), (SIZE,), (0,)) for x in args if isinstance(x, np.ndarray))


def call_plainly(compiled: sg.Compiled, *args: Any) -> Any:
    """Call without compiling: the generated text is plain Python."""
    version, leaves = compiled.version(args)
    run = plain_text(version.generated.text.text, version.generated.name)
    if version.generated.frame:
        run = WithDepth(run, version.generated.frame)
    try:
        return replace(version, run=raised_by_text(run, version.generated.text.text)).call(leaves)
    except OtherDivision:
        return version.call(leaves)


def check_gradient(program: Callable) -> None:
    """The gradient of every float result and changed array agrees with differences; twice the same."""
    tried = 0
    versions = Versions(program, distinct=True)
    found = list(differentiable_calls(program))
    for args in found if natively(label(program)) else found[::3]:
        version, _ = versions.of(args)
        argnums = tuple(float_arguments(version))
        if argnums and differentiable_results(version):
            tried += 1
            last = args, argnums
            check_gradient_at(versions, args, argnums, tangent=tried == 1)
    assert tried, "the program was taken to have float inputs and results, but has none"
    has_loops = any(isinstance(n, For | While) for n in all_nodes(versions.of(last[0])[0].graph))
    asked = natively(label(program)[::-1], 8) or label(program).startswith("running_sums")
    if has_loops and asked and label(program) not in JUMPS:
        check_sum(versions, *last)


JUMPS = frozenset({"builtin_numbers.rounded_to_digits"})
"""Programs whose results jump so close to their inputs that differences of them are of no use."""


def differentiable_calls(program: Callable) -> Iterator[tuple[Any, ...]]:
    """The argument lists, of those `calls` gives, on which Python finds something to differentiate."""
    names = list(inspect.signature(program).parameters)
    for args in calls(program):
        done = outcome(program, args)
        if done.error is not None or [] in [a for a in args if isinstance(a, list)]:
            continue
        if any(np.size(x) == 0 for x in leaves_of(args, [])):
            continue
        inputs = [leaves_of((a,), []) for a, n in zip(args, names, strict=True) if n != "tol"]
        changed = [x for x, y in zip(leaves_of(done.args, []), leaves_of(args, []), strict=True) if not _equal(x, y)]
        results = [x for x in leaves_of((done.value,), []) if not _is_part(x, leaves_of(done.args, []))]
        floats = [x for x in results + changed if _is_float(x) and np.size(x)]
        if (
            any(xs and all(map(_is_float, xs)) for xs in inputs)
            and floats
            and all(np.all(np.isfinite(x)) for x in floats)
        ):
            yield args


def _is_part(x: Any, args: list[Any]) -> bool:
    """Whether a result is an argument's own memory: it counts if that was changed, not because it is returned."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    return isinstance(x, np.ndarray) and any(np.may_share_memory(x, a) for a in arrays)


def _is_float(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "f"


def _equal(x: Any, y: Any) -> bool:
    return np.shape(x) == np.shape(y) and bool(np.all(np.asarray(x) == np.asarray(y)))


@lru_cache(maxsize=8)
def compiled_text(text: str, name: str) -> Callable:
    """The function in a generated module; numbers of trips share one text, which is compiled once."""
    return load(text, name)[0]


def check_gradient_at(
    versions: Versions, args: tuple[Any, ...], argnums: tuple[int, ...], tangent: bool = True
) -> None:
    """One call's gradients: compiled, interpreted and by differences; the caller's arrays stay as they were.

    With ``tangent`` they are compared with the tangent, too.
    """
    version, hidden = versions.of(args)
    gradient, made = versions.gradient(args, argnums)
    text = made.text.text
    first, second, third, fourth = (duplicate(args) for _ in range(4))  # generators move on with each run
    leaves = leaves_of(first, hidden)
    native = is_full_size(args) and natively(label(versions.function))
    run = (compiled_text if native else plain_text)(text, "gradient")
    if made.frame:
        run = WithDepth(run, made.frame)
    before = duplicate(tuple(leaves))
    with redirect_stdout(StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        got = _as_list(run(*leaves), len(gradient.interface.returned))
    done = outcome(versions.function, args)
    assert printed.getvalue() == done.printed, "the gradient prints what the function does"
    for x, y in zip(first, done.args, strict=True):
        if isinstance(x, np.random.Generator):
            assert_same(x, y, "the gradient draws what the function does")
    again = _as_list(run(*leaves_of(second, hidden)), len(gradient.interface.returned))
    reference = interpret(gradient.program, leaves_of(third, hidden))
    np.testing.assert_equal(tuple(leaves), before, err_msg="the gradient changed its arguments")
    want = [pair for k in argnums for pair in numeric_gradient(versions.function, args, k, version)]
    single = uses_single_precision(version.graph)
    for j, (grad, error) in enumerate(want):
        np.testing.assert_equal(again[j], got[j], err_msg="a second call gave something else")
        loose = 2e-4 if single else 1e-10
        np.testing.assert_allclose(
            got[j], reference[j], rtol=loose, atol=loose / 100, err_msg="compiled against interp"
        )
        assert np.shape(got[j]) == np.shape(grad)
        off = np.abs(np.asarray(got[j], float) - grad)
        scale = 2e-3 * (1 + np.abs(grad)) if single else 0.0
        assert np.all(off <= error + 1e-9 * (1 + np.abs(grad)) + scale), (
            f"{args}: gradient {j} is {got[j]}, differences give {grad} within {error}\n{text}"
        )
    if tangent:
        check_tangent(version, argnums, leaves_of(fourth, hidden), reference)
    if any(row.how == "forward" for row in gradient.tape):
        check_backward(versions, args, argnums, reference)


def check_sum(versions: Versions, args: tuple[Any, ...], argnums: tuple[int, ...]) -> None:
    """The gradient of the sum of the results: going back, nothing has to wait for the value."""
    version, hidden = versions.of(args)
    token = is_linear.set(True)
    try:
        gradient, made = versions.gradient(args, argnums)
        run = plain_text(made.text.text, "gradient")
        if made.frame:
            run = WithDepth(run, made.frame)
        with redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            own = duplicate(args)  # held: of a generator, its address is passed
            got = _as_list(run(*leaves_of(own, hidden)), len(gradient.interface.returned))
        want = [pair for k in argnums for pair in numeric_gradient(versions.function, args, k, version)]
    finally:
        is_linear.reset(token)
    loose = 2e-3 if uses_single_precision(version.graph) else 1e-9
    for found, (grad, error) in zip(got, want, strict=True):
        off = np.abs(np.asarray(found, float) - grad)
        assert np.all(off <= error + loose * (1 + np.abs(grad))), f"{args}: {found}, not {grad}\n{made.text.text}"


def slopes(f: Callable[..., Any], u: np.ndarray, k: float) -> tuple[float, float]:
    """The derivative of ``f(u, k)`` along a direction, as a quotient of differences and by the gradient."""
    along, h = np.sin(np.arange(u.size)).reshape(u.shape), 1e-6
    d_u, d_k = sg.grad(f, argnums=(0, 1))(u, k)
    wanted = (f(u + h * along, k + h) - f(u - h * along, k - h)) / (2 * h)
    return wanted, np.sum(d_u * along) + d_k


BACKWARD = FAST_RUN.excluding("forward")


def check_backward(
    versions: Versions, args: tuple[Any, ...], argnums: tuple[int, ...], gradients: Sequence[Any]
) -> None:
    """By tapes, what is found by carrying tangents along."""
    gradient, made = versions.gradient(args, argnums, BACKWARD)
    run = plain_text(made.text.text, "gradient")
    if made.frame:
        run = WithDepth(run, made.frame)
    _, hidden = versions.of(args)
    with redirect_stdout(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        own = duplicate(args)  # held: of a generator, its address is passed
        got = _as_list(run(*leaves_of(own, hidden)), len(gradient.interface.returned))
    loose = 2e-4 if uses_single_precision(gradient.graph) else 1e-10
    for found, want in zip(got, gradients, strict=True):
        np.testing.assert_allclose(found, want, rtol=loose, atol=loose / 100, err_msg="by tapes against by tangents")


def uses_single_precision(graph: Graph) -> bool:
    values = [*graph.params, *(v for n in all_nodes(graph) for v in n.outputs)]
    return any(getattr(v.type, "dtype", None) == np.float32 for v in values)


def _as_list(outs: Any, count: int) -> list[Any]:
    return [outs] if count == 1 else list(outs)
