"""NPBench's kernels, from a checkout of https://github.com/spcl/npbench to which SRCGRAPH_NPBENCH points.

Each kernel's description, inputs and versions are read from there; nothing of it is kept here. The NumPy version is
what srcgraph compiles, unchanged. The gradient is that of the sum of all float results with respect to all float
arrays that go in; a module of a few lines, written into a temporary folder, says so.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import by_dace
import by_pythran
import numpy as np
from measure import Absent, Program, differ, folder_for_now

import srcgraph as sg

PEERS = ("numpy", "srcgraph", "numba", "numba parallel", "pythran", "jax", "dace")
REFERENCE = {"value": "numpy", "gradient": None}
SIZES = ("S", "M", "L", "paper")
TOLERANCE = 1e-5
SLOPE_TOLERANCE = 1e-3
SERIAL, PARALLEL = ("n",), ("np", "npr")
TRYING = 60.0  # seconds after which no other build by DaCe is tried


@functools.cache
def checkout() -> Path:
    """The folder of the checkout.

    Raises
    ------
    Absent
        SRCGRAPH_NPBENCH does not name one.
    """
    place = Path(os.environ.get("SRCGRAPH_NPBENCH", "npbench"))
    if not (place / "bench_info").is_dir():
        raise Absent("SRCGRAPH_NPBENCH names no checkout of NPBench")
    sys.path.append(str(place))
    return place


def names() -> list[str]:
    """All kernels of the checkout, by the names of their descriptions."""
    return sorted(path.stem for path in (checkout() / "bench_info").glob("*.json"))


def asks(name: str) -> tuple[str, ...]:
    return ("value", "gradient")


@functools.cache
def info(name: str) -> dict[str, Any]:
    return json.loads((checkout() / "bench_info" / f"{name}.json").read_text())["benchmark"]


def module(name: str, ending: str) -> ModuleType:
    """One version of a kernel, `ending` such as "_numpy"; "" is the one that makes the inputs."""
    about = info(name)
    path = f"npbench.benchmarks.{about['relative_path'].replace('/', '.')}.{about['module_name']}{ending}"
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("npbench"):
            raise Absent("NPBench has no such version") from None
        raise


@functools.lru_cache(maxsize=1)
def inputs(name: str, size: str) -> tuple[Any, ...]:
    """The arguments of a kernel."""
    about = info(name)
    known = dict(about["parameters"][size])
    if init := about.get("init"):
        made = getattr(module(name, ""), init["func_name"])(*(known[k] for k in init["input_args"]))
        known |= zip(init["output_args"], made if len(init["output_args"]) > 1 else [made], strict=True)
    return tuple(known[k] for k in about["input_args"])


def leaves(result: Any) -> list[Any]:
    """What a kernel returned, as a flat list."""
    if result is None:
        return []
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def copied(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in given)


@functools.cache
def written(name: str, size: str) -> tuple[str, ...]:
    """The names of the arguments into which a kernel writes its results.

    Those which the description names; where nothing is returned, those which the NumPy version changes, because some
    descriptions name others.
    """
    about, given = info(name), inputs(name, size)
    now = copied(given)
    if leaves(getattr(module(name, "_numpy"), about["func_name"])(*now)):
        return tuple(about["output_args"])
    changed = tuple(k for k, a, b in zip(about["input_args"], given, now, strict=True) if differ(a, b))
    return changed or tuple(about["output_args"])  # heat_3d begins with what it ends with


def results(name: str, size: str) -> Callable[[Any, tuple[Any, ...]], list[np.ndarray]]:
    """What versions that write into their arguments give."""
    places = [info(name)["input_args"].index(k) for k in written(name, size)]
    return lambda result, given: [np.asarray(x) for x in leaves(result) + [given[k] for k in places]]


# -- values ----------------------------------------------------------------------------------------


def program(name: str, what: str, peer: str, size: str) -> Program:
    """One kernel, or its gradient, by one peer."""
    given = inputs(name, size)
    if what == "gradient":
        return gradient(name, peer, size)
    if peer == "jax":
        return with_jax(name, given)
    if peer == "dace":
        raise Absent("only its gradients are measured")
    return Program(functools.partial(made, name, peer, given), given, results(name, size))


def made(name: str, peer: str, given: tuple[Any, ...]) -> Callable:
    function = info(name)["func_name"]
    match peer:
        case "numpy":
            return getattr(module(name, "_numpy"), function)
        case "srcgraph":
            return sg.compile(getattr(module(name, "_numpy"), function))
        case "pythran":
            return built_by_pythran(name)
    return with_numba(name, given, PARALLEL if peer == "numba parallel" else SERIAL)


def with_numba(name: str, given: tuple[Any, ...], endings: tuple[str, ...]) -> Callable:
    """The quickest of NPBench's versions for numba."""
    best, seconds = None, np.inf
    problem: Exception = Absent("NPBench has no such version")
    for ending in endings:
        try:
            function = getattr(module(name, f"_numba_{ending}"), info(name)["func_name"])
            took = min(once(function, given) for _ in range(3))
        except Exception as error:
            problem = error
            continue
        if took < seconds:
            best, seconds = function, took
    if best is None:
        raise problem
    return best


def once(function: Callable, given: tuple[Any, ...]) -> float:
    given = copied(given)
    start = time.perf_counter()
    function(*given)
    return time.perf_counter() - start


def built_by_pythran(name: str) -> Callable:
    source = Path(inspect.getsourcefile(module(name, "")) or "").with_name(f"{info(name)['module_name']}_pythran.py")
    if not source.exists():
        raise Absent("NPBench has no such version")
    return getattr(by_pythran.built(source), info(name)["func_name"])


def array_places(given: tuple[Any, ...]) -> list[int]:
    return [k for k, a in enumerate(given) if isinstance(a, np.ndarray)]


def over_arrays(function: Callable, given: tuple[Any, ...]) -> Callable:
    """The function of the arrays alone, the other arguments filled in."""
    places = array_places(given)

    def called(*arrays: Any) -> Any:
        full = list(given)
        for k, a in zip(places, arrays, strict=True):
            full[k] = a
        return function(*full)

    return called


def jax_module() -> Any:
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        raise Absent("jax is not installed") from None
    jax.config.update("jax_enable_x64", True)
    return jax


def with_jax(name: str, given: tuple[Any, ...]) -> Program:
    jax = jax_module()
    function = getattr(module(name, "_jax"), info(name)["func_name"])
    places = array_places(given)

    def prepare() -> Callable:
        if not places:
            return lambda: function(*given)
        of_arrays = over_arrays(function, given)
        jitted = jax.jit(of_arrays)
        try:
            jitted(*arrays)
        except Exception:  # written to be run outside jit
            return of_arrays
        return jitted

    arrays = tuple(jax.numpy.array(given[k]) for k in places)
    return Program(prepare, arrays, lambda r, _: [np.asarray(x) for x in leaves(r)], jax.block_until_ready)


# -- gradients -------------------------------------------------------------------------------------


def wanted(given: tuple[Any, ...]) -> list[int]:
    """The places of the float arrays."""
    found = [k for k, a in enumerate(given) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    if not found:
        raise Absent("no float arrays go in")
    return found


def scalars(name: str, size: str) -> list[str]:
    """Expressions in `out` and the arguments whose sum is differentiated: every float result, once."""
    given = copied(inputs(name, size))
    result = getattr(module(name, "_numpy"), info(name)["func_name"])(*given)
    named = [(k, a) for k, a in zip(info(name)["input_args"], given, strict=True)]
    named = [(k, a) for k, a in named if k in written(name, size)]
    seen = [a for _, a in named]
    if isinstance(result, (tuple, list)):
        returned = [(f"out[{k}]", x) for k, x in enumerate(result)]
    else:
        returned = [] if result is None else [("out", result)]
    named += [(k, x) for k, x in returned if not any(x is a for a in seen)]
    texts = []
    for text, x in named:
        kind = np.asarray(x).dtype.kind
        if kind == "c":
            texts.append(f"np.sum(np.real({text})) + np.sum(np.imag({text}))")
        elif kind == "f":
            texts.append(f"np.sum({text})" if np.ndim(x) else text)
    if not texts:
        raise Absent("no float results come out")
    return texts


@functools.cache
def loss(name: str, size: str) -> Callable:
    """The sum of the results, as plain Python in a file."""
    arguments = ", ".join(info(name)["input_args"])
    function, place = info(name)["func_name"], module(name, "_numpy").__name__
    text = (
        f"import numpy as np\nfrom {place} import {function} as kernel\n\n\ndef loss({arguments}):\n"
        f"    out = kernel({arguments})\n    return {' + '.join(scalars(name, size))}\n"
    )
    text = text if re.search(r"\bout\b", text.split("return")[1]) else text.replace("out = kernel", "kernel")
    path = folder_for_now() / f"loss_{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made.loss


def gradient(name: str, peer: str, size: str) -> Program:
    given = inputs(name, size)
    places = wanted(given)
    match peer:
        case "srcgraph":
            function = loss(name, size)
            return Program(lambda: sg.grad(function, argnums=tuple(places)), given, lambda r, _: list(r))
        case "jax":
            return jax_gradient(name, given, places)
        case "dace":
            return dace_gradient(name, size, given, places)
    raise Absent("no derivatives")


def jax_gradient(name: str, given: tuple[Any, ...], places: list[int]) -> Program:
    jax = jax_module()
    function = getattr(module(name, "_jax"), info(name)["func_name"])
    of_arrays, arrays = over_arrays(function, given), array_places(given)

    def total(*xs: Any) -> Any:
        parts = leaves(of_arrays(*xs))
        parts = [p for p in map(jax.numpy.asarray, parts) if p.dtype.kind in "fc"]
        return sum(jax.numpy.sum(p.real) + (jax.numpy.sum(p.imag) if p.dtype.kind == "c" else 0.0) for p in parts)

    argnums = tuple(arrays.index(k) for k in places)
    values = tuple(jax.numpy.array(given[k]) for k in arrays)
    return Program(
        lambda: jax.jit(jax.grad(total, argnums)),
        values,
        lambda r, _: [np.asarray(x) for x in r],
        jax.block_until_ready,
    )


def dace_module(name: str) -> ModuleType:
    try:
        importlib.import_module("dace")
    except ImportError:
        raise Absent("dace is not installed") from None
    return module(name, "_dace")


def dace_text(name: str, size: str) -> str:
    """A module with the sum of the results as a DaCe program."""
    made, function = dace_module(name), info(name)["func_name"]
    kernel = getattr(made, function)
    names = list(inspect.signature(kernel.f).parameters)
    symbols = unnamed_symbols(name, size, made, kernel)
    parts = [text if text.startswith("np.sum") else f"np.sum({text})" for text in scalars(name, size)]
    total = re.sub(r"\bout\[(\d+)\]", r"result_\1", " + ".join(parts))
    total = re.sub(r"\bout\b", "result", total)
    typed = ", ".join(f'{k}: TYPES["{k}"]' for k in names)
    passed = ", ".join(names + [f"{k}={k}" for k in symbols])
    return (
        f"import dace\nimport numpy as np\nfrom {made.__name__} import {', '.join([function, *symbols])}\n\n"
        f"kernel = {function}\nTYPES = kernel.f.__annotations__\n"
        f"WANTED = {[info(name)['input_args'][k] for k in wanted(inputs(name, size))]}\n\n\n"
        f"@dace.program\ndef total({typed}):\n    {named_results(name, size, total)}kernel({passed})\n"
        f"    return {total}\n"
    )


def unnamed_symbols(name: str, size: str, made: ModuleType, kernel: Any) -> list[str]:
    """What a DaCe version reads although neither its arguments nor their shapes name it."""
    symbol = importlib.import_module("dace").symbol
    types = kernel.f.__annotations__
    told = {*types, *(str(s) for t in types.values() for d in getattr(t, "shape", ()) for s in symbols_of(d))}
    known = dict.fromkeys([*info(name)["parameters"][size], *info(name)["input_args"]])
    return [k for k in known if k not in told and isinstance(getattr(made, k, None), symbol)]


def symbols_of(dim: Any) -> set[Any]:
    return getattr(dim, "free_symbols", set())


def named_results(name: str, size: str, total: str) -> str:
    """The left side of the call's assignment: DaCe takes tuples apart only there."""
    if "result_" in total:
        given = copied(inputs(name, size))
        count = len(getattr(module(name, "_numpy"), info(name)["func_name"])(*given))
        return ", ".join(f"result_{k}" for k in range(count)) + " = "
    return "result = " if re.search(r"\bresult\b", total) else ""


def dace_gradient(name: str, size: str, given: tuple[Any, ...], places: list[int]) -> Program:
    about = info(name)
    slopes = [about["input_args"][k] for k in places]
    text = dace_text(name, size)

    def prepare() -> Callable:
        source = Path(inspect.getsourcefile(module(name, "_dace")) or "")
        folders = by_dace.built(text, source, checkout())
        ways = [by_dace.function(f, about["input_args"], slopes, about["parameters"][size]) for f in folders]
        return quickest_right(name, size, ways, given)

    return Program(prepare, given, lambda r, _: list(r))


def quickest_right(name: str, size: str, ways: list[Callable], given: tuple[Any, ...]) -> Callable:
    """The quickest gradient whose second call gives what differences give; the first one if there is none."""
    best, seconds, start = ways[0], np.inf, time.perf_counter()
    for way in ways:
        if time.perf_counter() - start > TRYING:
            break
        way(*copied(given))
        again = copied(given)
        begin = time.perf_counter()
        found = way(*again)
        took = time.perf_counter() - begin
        if took < seconds and slope_error(name, size, found) <= SLOPE_TOLERANCE:
            best, seconds = way, took
    return best


def slope_error(name: str, size: str, gradients: list[np.ndarray]) -> float:
    """How far gradients are from a difference quotient in a random direction, relative to the sizes that meet there.

    The NumPy version itself is differenced, in double precision, with several steps; the best one counts.
    """
    given = list(inputs(name, size))
    places = wanted(inputs(name, size))
    for k in places:
        given[k] = given[k].astype(np.float64)
    random = np.random.default_rng(0)
    ways = [random.uniform(-1.0, 1.0, given[k].shape) * max(float(np.mean(np.abs(given[k]))), 1e-3) for k in places]
    terms = [np.sum(np.asarray(g, np.float64) * w) for g, w in zip(gradients, ways, strict=True)]
    function = loss(name, size)

    def at(step: float) -> float:
        moved = list(copied(tuple(given)))
        for k, way in zip(places, ways, strict=True):
            moved[k] = moved[k] + step * way
        try:
            return float(function(*moved))
        except np.linalg.LinAlgError:  # too far from a matrix that is positive definite
            return np.nan

    scale = sum(
        float(np.linalg.norm(np.asarray(g, np.float64)) * np.linalg.norm(w)) / np.sqrt(max(w.size, 1))
        for g, w in zip(gradients, ways, strict=True)
    )
    scale = max(scale, 1e-3 * abs(at(0.0)), 1e-300)
    errors = []
    for step in 10.0 ** np.arange(-3.0, -12.0, -1.0):  # nbody is chaotic, and wants the shortest
        quotient = (at(step) - at(-step)) / (2 * step)
        errors.append(abs(quotient - sum(terms)) / max(scale, abs(quotient)))
    return float(np.nanmin(errors))
