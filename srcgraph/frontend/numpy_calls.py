"""Calls of NumPy functions with a record, by NumPy's own signatures; ``out=``, ``where=`` and ``dtype=`` of ufuncs.

A record's parameters have NumPy's names, though not all of them: a positional argument counts by its place in
NumPy's signature, and a keyword the record lacks may be given if it has NumPy's default.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from types import MethodDescriptorType
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError, ShapeError
from srcgraph.frontend import calls
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Tup
from srcgraph.frontend.memory import read, ref_type, refuse, write
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS, Composite, Op
from srcgraph.ir.types import BOOL, NAME_OF

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

NAMED_RESULTS: dict[Any, type] = {
    f: type(f(np.eye(1))) for f in (np.linalg.eig, np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd)
}
"""The named tuples that functions give."""
UFUNC_KEYWORDS = ("out", "where", "dtype")
"""What every elementwise function takes besides its operands."""


@cache
def signature_of(function: Any) -> Mapping[str, inspect.Parameter]:
    """NumPy's parameters by name; none for a function Python knows no signature of.

    Methods of arrays that say only that there are more take what the function of the same name takes.
    """
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    hides = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found.values())
    like = getattr(np, function.__name__, None) if hides and isinstance(function, MethodDescriptorType) else None
    theirs = {} if like is None else signature_of(like)
    return theirs if {"axis", "out"} <= theirs.keys() else found


def own_parameters(record: Op | Composite) -> list[str]:
    """The parameters a record has."""
    return list(inspect.signature(record.expand).parameters) if isinstance(record, Composite) else []


def call(
    low: Lowering,
    function: Any,
    record: Op | Composite,
    args: Sequence[Entity],
    kwargs: dict[str, Entity],
    hint: str = "",
) -> Entity:
    """Call a NumPy function that has a record."""
    if isinstance(function, np.ufunc):
        return _call_ufunc(low, function, record, args, kwargs, hint)
    kwargs = dict(kwargs)
    args = _arranged(low, function, record, args, kwargs)
    out = kwargs.pop("out", NONE) if "out" in signature_of(function) else NONE
    made = calls.call_record(low, record, args, kwargs, hint, numpy_flavour=True)
    if isinstance(made, Tup) and function in NAMED_RESULTS:
        made = Tup(made.items, NAMED_RESULTS[function])
    return made if out == NONE else into(low, out, made, exact=True)


def _arranged(
    low: Lowering, function: Any, record: Op | Composite, args: Sequence[Entity], kwargs: dict[str, Entity]
) -> Sequence[Entity]:
    """Positional arguments that the record has at the same place; the others move to ``kwargs``."""
    theirs, mine = list(signature_of(function).values()), own_parameters(record)
    if isinstance(record, Op) and record.samples:
        mine = [p.name for p in theirs[: len(record.samples[0].args)]]
    same = 0
    while same < min(len(theirs), len(mine)) and (
        same == 0 or theirs[same].name == mine[same] or theirs[same].kind is inspect.Parameter.POSITIONAL_ONLY
    ):
        same += 1
    has_stars = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in theirs)
    if theirs and not has_stars:
        _refuse_surplus(low, record, theirs, len(args))
        for parameter, arg in zip(theirs[same:], args[same:], strict=False):
            if parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY):
                if parameter.name in kwargs:
                    raise refuse(f"{calls.name_of(record)}: {parameter.name!r} is given twice", low.loc)
                kwargs[parameter.name] = arg
        args = args[:same]
    for name in [n for n in kwargs if n not in mine and n != "out"]:
        if name in signature_of(function) and _is_default(kwargs[name], signature_of(function)[name].default):
            del kwargs[name]
    return args


def _refuse_surplus(low: Lowering, record: Op | Composite, theirs: Sequence[inspect.Parameter], given: int) -> None:
    """More by place than NumPy's function takes so."""
    most = sum(p.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY) for p in theirs)
    if given > most:
        why = f"{calls.name_of(record)}: {given} arguments are given by place, and at most {most} can be"
        raise refuse(why, low.loc, kind=InferenceError)


def _is_default(entity: Entity, default: Any) -> bool:
    return isinstance(entity, Const) and type(entity.value) is type(default) and entity.value == default


# -- elementwise functions ----------------------------------------------------------------------------


def _call_ufunc(
    low: Lowering,
    function: np.ufunc,
    record: Op | Composite,
    args: Sequence[Entity],
    kwargs: dict[str, Entity],
    hint: str,
) -> Entity:
    """``function(*inputs, out, where=mask, dtype=dtype)``."""
    kwargs = dict(kwargs)
    if len(args) > function.nin:
        rest = tuple(args[function.nin :])
        if len(rest) > function.nout or "out" in kwargs:
            raise refuse(f"np.{function.__name__} takes {function.nin} arguments", low.loc, kind=InferenceError)
        if any(isinstance(e, Tup) for e in rest):
            raise refuse("return arrays must be of ArrayType", low.loc, "out=... takes a tuple", kind=InferenceError)
        kwargs["out"] = rest[0] if len(rest) == 1 else Tup(rest)
    out, where = kwargs.pop("out", NONE), kwargs.pop("where", Const(True))
    dtype = low.static(kwargs.pop("dtype", NONE), "the dtype")
    for name, default in (("casting", "same_kind"), ("order", "K"), ("subok", True), ("signature", None)):
        if name in kwargs and _is_default(kwargs[name], default):
            del kwargs[name]
    inputs = list(args[: function.nin])
    if dtype is not None:
        inputs = [low.entity(v) for v in _as_dtype(low, function, inputs, np.dtype(dtype))]
    made = calls.call_record(low, record, inputs, kwargs, hint, numpy_flavour=True)
    if where == Const(True):
        return made if out == NONE else into(low, out, made)
    if out == NONE:
        raise refuse("where= without out= leaves elements without a value", low.loc, "give out=, or use np.where")
    mask = low.value(where, "where")
    if mask.type.dtype != BOOL:
        raise refuse(f"where must be booleans, not {mask.type}", low.loc, kind=InferenceError)
    return into(low, out, made, where=mask)


def _as_dtype(low: Lowering, function: np.ufunc, inputs: Sequence[Entity], dtype: np.dtype) -> list[Value]:
    """The operands in the dtypes in which ``function`` computes a result of ``dtype``."""
    values = [calls.operand(low, e, f"np.{function.__name__}") for e in inputs]
    any_result, wanted = (None,) * function.nout, (dtype,) * function.nout
    asked = (*(v.type.dtype for v in values), *any_result)
    try:
        found = function.resolve_dtypes(asked, signature=(*(None for _ in values), *wanted))
    except TypeError as error:
        raise refuse(f"np.{function.__name__}: {error}", low.loc, kind=InferenceError) from None
    if any(t not in NAME_OF for t in found):
        raise refuse(f"np.{function.__name__}: dtype {dtype} is not supported", low.loc)
    return [low.builder.cast(v, t, False) for v, t in zip(values, found, strict=False)]


def into(low: Lowering, target: Entity, made: Entity, where: Value | None = None, exact: bool = False) -> Entity:
    """Store a result into the array, or the tuple of arrays, given as ``out``.

    Parameters
    ----------
    where : Value or None
        A mask: other elements keep what they have.
    exact : bool
        Whether NumPy asks for the result's own dtype and shape.
    """
    if isinstance(target, Tup) and len(target.items) == 1 and not isinstance(made, Tup):
        target = target.items[0]
    if isinstance(target, Tup) and isinstance(made, Tup) and len(target.items) == len(made.items):
        pairs = zip(target.items, made.items, strict=True)
        return Tup(tuple(m if t == NONE else into(low, t, m, where, exact) for t, m in pairs))
    if not isinstance(target, Array) or isinstance(made, Tup):
        raise refuse(f"out must be an array, not {low.shown(target)}", low.loc, kind=InferenceError)
    value, kind = low.value(made), ref_type(low, target)
    casting = "no" if exact else "same_kind"
    if not np.can_cast(value.type.dtype, kind.dtype, casting):
        raise refuse(f"out holds {kind.dtype}, the result is {value.type.dtype}", low.loc, kind=InferenceError)
    if exact:
        _check_shape(low, value, kind)
    value = low.builder.cast(value, kind.dtype, False)
    if where is not None:
        mask = where if where.type.dtype.kind == "b" else low.builder.call_named("not_equal", where, 0)
        value = OPS["where"](mask, value, read(low, target))
    write(low, target, value)
    return target


def _check_shape(low: Lowering, value: Value, kind: Any) -> None:
    if value.type.ndim != kind.ndim:
        raise refuse(f"out has {kind.ndim} axes, the result {value.type.ndim}", low.loc, kind=ShapeError)
    b = low.builder
    for own, room in zip(value.type.shape, kind.shape, strict=True):
        if own != room:
            message = "out has an axis of length {y}, the result one of {x}"
            b.call_named("equal_size", b.dim_value(own), b.dim_value(room), error="ValueError", message=message)
