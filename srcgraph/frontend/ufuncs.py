"""Methods of ufuncs: ``np.add.reduce``, ``np.maximum.accumulate``, ``np.multiply.outer``, ``np.add.at``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import calls, fancy, library, lists, numpy_calls, tables
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Tup
from srcgraph.frontend.memory import at_each, checked_where_it_is, chosen, content, put, ref_type, refuse, select
from srcgraph.frontend.resolve import record_of
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops import folds
from srcgraph.ir.ops._loops import counted, item
from srcgraph.ir.ops.shape import dims_of
from srcgraph.ir.types import BOOL, INT, ArrayType
from srcgraph.ir.view import View, whole

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

_METHODS: dict[str, Callable[..., Entity]] = {}


def _method(lower: Callable[..., Entity]) -> Callable[..., Entity]:
    _METHODS[lower.__name__] = lower
    return lower


def ufunc_of(function: Any) -> np.ufunc | None:
    """The ufunc a bound method such as ``np.add.reduce`` belongs to."""
    owner = getattr(function, "__self__", None)
    return owner if isinstance(owner, np.ufunc) else None


def call(low: Lowering, function: Any, ufunc: np.ufunc, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a method of a ufunc."""
    lower = _METHODS.get(function.__name__)
    if lower is None or record_of(ufunc) is None:
        raise refuse(f"np.{ufunc.__name__}.{function.__name__} is not supported", low.loc)
    args, kwargs = [tables.plain(low, e) for e in args], {k: tables.plain(low, e) for k, e in kwargs.items()}
    try:
        given = inspect.signature(lower).bind(low, ufunc, *args, **kwargs)
    except TypeError as error:
        raise refuse(f"np.{ufunc.__name__}.{function.__name__}: {error}", low.loc, kind=InferenceError) from None
    return lower(*given.args, **given.kwargs)


def _combiner(low: Lowering, ufunc: np.ufunc) -> Callable[[Value, Value], Value]:
    """``ufunc`` of two values."""
    record = record_of(ufunc)
    if ufunc.nin != 2 or ufunc.nout != 1 or record is None:
        raise refuse(f"np.{ufunc.__name__} does not combine two numbers into one", low.loc, kind=InferenceError)
    return record


@_method
def reduce(
    low: Lowering,
    ufunc: np.ufunc,
    array: Entity,
    axis: Entity = Const(0),
    dtype: Entity = NONE,
    out: Entity = NONE,
    keepdims: Entity = Const(False),
    initial: Entity | None = None,
    where: Entity = Const(True),
) -> Entity:
    """All elements along axes combined."""
    known = folds.REDUCTIONS.get(ufunc)
    given = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "where": where}
    if known is not None:
        defaults = {"dtype": NONE, "keepdims": Const(False), "where": Const(True)}
        keywords = {k: e for k, e in given.items() if e != defaults.get(k)}
        keywords |= {} if initial is None else {"initial": initial}
        made = calls.call_record(low, known, [array], keywords, numpy_flavour=True)
    else:
        if dtype != NONE or where != Const(True) or initial is not None:
            raise refuse(f"np.{ufunc.__name__}.reduce takes only an array, axis and keepdims here", low.loc)
        x = calls.operand(low, array, f"np.{ufunc.__name__}.reduce")
        axes, kept = low.static(axis, "the axis"), low.static(keepdims, "keepdims")
        made = low.entity(folds.fold(_combiner(low, ufunc), ufunc, x, axes, bool(kept)))
    return made if out == NONE else numpy_calls.into(low, out, made, exact=True)


@_method
def accumulate(
    low: Lowering, ufunc: np.ufunc, array: Entity, axis: Entity = Const(0), dtype: Entity = NONE, out: Entity = NONE
) -> Entity:
    """Running combinations along an axis."""
    x = calls.operand(low, array, f"np.{ufunc.__name__}.accumulate")
    found = low.static(dtype, "the dtype")
    made = folds.scan(_combiner(low, ufunc), ufunc, x, low.static(axis, "the axis"), found)
    entity = low.entity(made)
    return entity if out == NONE else numpy_calls.into(low, out, entity, exact=True)


@_method
def reduceat(
    low: Lowering, ufunc: np.ufunc, array: Entity, indices: Entity, axis: Entity = Const(0), dtype: Entity = NONE
) -> Entity:
    """Combinations of the elements from each index up to the next; that at the index where the next is not larger."""
    x = low.entity(calls.operand(low, array, f"np.{ufunc.__name__}.reduceat"))
    if not isinstance(x, Array) or ref_type(low, x).ndim != 1 or dtype != NONE:
        raise refuse(f"np.{ufunc.__name__}.reduceat takes an array of one axis and indices here", low.loc)
    index = low.entity(_integers(low, calls.operand(low, indices, "an index")))
    return lists.own(low, library.reduceat, Const(ufunc), x, index)


@_method
def outer(low: Lowering, ufunc: np.ufunc, A: Entity, B: Entity) -> Entity:  # noqa: N803 (NumPy's names)
    """Every element of one with every element of the other."""
    what = f"np.{ufunc.__name__}.outer"
    x, y = calls.as_numpy(low, [calls.operand(low, e, what) for e in (A, B)])
    return low.entity(_combiner(low, ufunc)(folds.with_axes_behind(x, y.type.ndim), y))


@_method
def at(low: Lowering, ufunc: np.ufunc, a: Entity, indices: Entity, b: Entity = NONE) -> Entity:
    """``a[indices] = ufunc(a[indices], b)``, once for each index, equal ones too."""
    if not isinstance(a, Array):
        raise refuse(f"np.{ufunc.__name__}.at changes an array, not {low.shown(a)}", low.loc, kind=InferenceError)
    kind = ref_type(low, a)
    parts = list(indices.items) if isinstance(indices, Tup) and indices.cls is tuple else [indices]
    given: list[Value] = []
    for part in parts:
        given += _index_arrays(low, part, kind.shape, len(given))
    if len(given) > kind.ndim:
        why = f"too many indices for an array of {kind.ndim} axes: {len(given)} are given"
        raise refuse(why, low.loc, kind=InferenceError)
    if isinstance(b, Array) and b.cell is a.cell:
        why = f"np.{ufunc.__name__}.at reads what it changes"
        raise refuse(why, low.loc, "give it a copy of the values")
    single = all(not i.type.ndim for i in given)
    given = [i if i.type.ndim else OPS["full"](i, 1) for i in given] if single else given
    index = fancy.together(low, given)
    flat_index = [folds.flattened(i) for i in index]
    rest = kind.ndim - len(given)
    view = View((*("i" for _ in given), *(":" for _ in range(rest))), tuple(range(rest)))
    (count,) = dims_of(flat_index[0])
    assert isinstance(kind, ArrayType)
    operand = None if b == NONE else folds.rows_of(calls.operand(low, b, "b"), index[0], kind, len(given), single)

    def asked(i: Value) -> Sequence[Value]:
        return [checked_where_it_is(low, item(x, 0, i), kind.shape[k], k) for k, x in enumerate(flat_index)]

    places = fancy.all_checked(low, count, asked, len(flat_index))

    def combine(base: Array) -> None:
        held = content(low, base.cell)
        whole_of = Array(base.cell, base.view or whole(held.type.ndim), base.operands)

        def step(i: Value, out: Value) -> Sequence[Value]:
            part = select(low, whole_of, view, [low.builder.cast(item(x, 0, i), INT, weak=True) for x in places])
            own = None if operand is None else item(operand, 0, i) if operand.type.ndim else operand
            assert part.view is not None
            return (folds.combined_at(record_of(ufunc), ufunc, out, own, part.operands, part.view, kind.dtype),)

        put(low, base.cell, counted(count, [held], step)[0])

    at_each(low, chosen(low, a), combine)
    return NONE


def _index_arrays(low: Lowering, entity: Entity, shape: Sequence[Any], axis: int) -> list[Value]:
    """The integers of an index from an axis on: those of a mask are where it is true."""
    value = calls.operand(low, entity, "an index")
    if value.type.dtype == BOOL and 0 < value.type.ndim <= len(shape) - axis:
        return [low.builder.cast(i, INT, False) for i in fancy.places_of(low, value, shape, axis)]
    return [_integers(low, value)]


def _integers(low: Lowering, value: Value) -> Value:
    if value.type.dtype.kind not in "iu":
        raise refuse(f"an index must be integers here, not {value.type}", low.loc, kind=InferenceError)
    return low.builder.cast(value, INT, False)


__all__: list[Any] = ["call", "ufunc_of"]
