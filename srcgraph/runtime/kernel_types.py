"""Whether kernels of the user's take and return what the functions do that they stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import lru_cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core import config, ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import NumbaError
from numba.core.typed_passes import NopythonTypeInference

from srcgraph.errors import InferenceError, Problem
from srcgraph.ir.graph import Call, Graph, Native, Program, Value
from srcgraph.ir.types import ArrayType
from srcgraph.ir.walk import calls


def is_off() -> bool:
    """Whether numba compiles nothing: then functions that it would compile are Python's."""
    return bool(getattr(config, "DISABLE_JIT", False))


def check_kernels(program: Program) -> None:
    """See that each kernel takes and returns what the graph does that it stands for.

    Raises
    ------
    InferenceError
        One does not.
    """
    for graph in program.graphs.values():
        for call in calls(graph):
            if call.native is not None:
                _check(call, call.native, program.graphs[call.callee])


def _check(call: Call, native: Native, graph: Graph) -> None:
    given = tuple(_argument(a, graph.params) for a in native.args)
    why, hint = _misfit(native.kernel, given, _result(native.results, graph.results))
    if why:
        raise InferenceError(
            Problem(f"{native.name}, which stands for {native.function}, {why}", call.origin.loc, (), hint)
        )


def _argument(place: Any, values: Sequence[Value]) -> Any:
    """The type that numba has for an argument."""
    match place:
        case int():
            return _type_of(values[place].type)
        case str():
            return numba.typeof(ast.literal_eval(place))
    return types.Tuple([_argument(p, values) for p in place])


def _result(place: Any, values: Sequence[Value]) -> Any:
    """The types of results, in tuples."""
    return _type_of(values[place].type) if isinstance(place, int) else tuple(_result(p, values) for p in place)


def _type_of(type: Any) -> Any:
    item = numba.from_dtype(type.dtype)
    return types.Array(item, len(type.shape), "C") if isinstance(type, ArrayType) else item


@lru_cache(maxsize=1000)
def _misfit(kernel: Any, given: tuple[Any, ...], want: Any) -> tuple[str, str]:
    """Why a kernel cannot take or return what it should, and what to do; '' if it can."""
    try:
        kernel.compile(given)
        found = kernel.overloads[given].signature.return_type
    except (NumbaError, TypeError) as error:
        return f"cannot be compiled for {_listed(given)}: {_reason(error)}", ""
    if not _fits(found, want):
        return f"returns {_shown(found)} for {_listed(given)}, and that {_shown(want)}", ""
    if any(_is_read_only(t) for t in _parts(found)):
        return "returns an array that is read-only", "return a copy"
    try:
        read_only = _inferred(kernel, tuple(map(_read_only, given)))
    except Exception:  # numba fails in ways of its own where it is to store into what is read-only
        why = "stores into an argument, or calls what is not compiled for arrays that are read-only"
        return why, "work on a copy of the argument"
    if any(_is_read_only(t) for t in _parts(read_only)):
        return "returns an argument, or a part of one", "return a copy"
    return "", ""


def _fits(found: Any, want: Any) -> bool:
    """Whether a type of numba's is the one that is wanted."""
    if isinstance(want, tuple):
        if not _is_tuple(found) or len(found) != len(want):
            return False
        return all(map(_fits, found, want))
    if _is_array(found) and _is_array(want):
        return (found.dtype, found.ndim, found.layout) == (want.dtype, want.ndim, want.layout)
    return types.unliteral(found) == want


def _is_tuple(type: Any) -> bool:
    return isinstance(type, types.BaseTuple)


def _is_array(type: Any) -> bool:
    return isinstance(type, types.Array)


def _parts(found: Any) -> Iterator[Any]:
    if _is_tuple(found):
        for item in found:
            yield from _parts(item)
    else:
        yield found


def _read_only(given: Any) -> Any:
    if _is_array(given):
        return given.copy(readonly=True)
    return types.Tuple([_read_only(t) for t in given]) if _is_tuple(given) else given


class _FoundError(Exception):
    """Carries the type of what a function returns out of numba's compiler."""


class _StoresError(Exception):
    """A function stores into an array that is read-only, and numba lets it."""


@register_pass(mutates_CFG=False, analysis_only=True)
class _Stop(AnalysisPass):
    _name = "srcgraph_types_only"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> Any:
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                _refuse_stores(statement, state)
        raise _FoundError(state.return_type)


CHANGING: dict[Any, int] = {np.fill_diagonal: 0, np.dot: 2, np.random.shuffle: 0}
"""The argument that functions change, whatever its type says."""


def _refuse_stores(statement: Any, state: Any) -> None:
    """What numba's types do not refuse: sorting, stores through ``x.flat``, and functions that are given an output."""
    types_of, value = state.typemap, getattr(statement, "value", None)
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):
        target = types_of[statement.target.name]
        if _is_read_only(getattr(target, "array_type", None)):
            raise _StoresError
    if isinstance(value, ir.Expr) and value.op == "getattr" and value.attr == "sort":
        if _is_read_only(types_of[value.value.name]):
            raise _StoresError
    if isinstance(value, ir.Expr) and value.op == "call":
        called, given = types_of[value.func.name], state.calltypes[value].args
        if isinstance(called, types.Dispatcher):
            _inferred(called.dispatcher, given)
        at = CHANGING.get(getattr(called, "typing_key", None), len(given))
        if at < len(given) and _is_read_only(given[at]):
            raise _StoresError


def _is_read_only(type: Any) -> bool:
    return _is_array(type) and not type.mutable


class _TypesOnly(CompilerBase):
    """numba's compiler as far as the types."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_Stop, NopythonTypeInference)
        passes.finalize()
        return [passes]


_LOOKING: ContextVar[frozenset[Any]] = ContextVar("looking", default=frozenset())
"""The functions that are looked at, with the types of arguments: they may call themselves."""


def _inferred(kernel: Any, given: tuple[Any, ...]) -> Any:
    """What a kernel returns for arguments of some types."""
    if (kernel, given) in _LOOKING.get():
        return None
    f = kernel.py_func
    own = FunctionType(
        f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__
    )  # else it is not to recurse
    token = _LOOKING.set(_LOOKING.get() | {(kernel, given)})
    try:
        numba.njit(pipeline_class=_TypesOnly)(own).compile(given)  # type: ignore[call-overload]
    except _FoundError as found:
        return found.args[0]
    finally:
        _LOOKING.reset(token)
    raise AssertionError("the types are found")


def _shown(found: Any) -> str:
    if isinstance(found, tuple) or _is_tuple(found):
        return f"({', '.join(map(_shown, found))}{',' * (len(found) == 1)})"
    if _is_array(found):
        order = "" if found.layout == "C" else " that is not C-contiguous"
        return f"an array of {found.dtype} with {found.ndim} ax{'i' if found.ndim == 1 else 'e'}s{order}"
    return str(types.unliteral(found))


def _listed(given: Sequence[Any]) -> str:
    return f"({', '.join(map(_shown, given))})"


def _reason(error: Exception) -> str:
    """What numba says, in a line."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [x for x in lines if x and not x.startswith(("Failed in", "During:", "File ", "There are", "<source"))]
    return said[0] if said else type(error).__name__
