"""Reading and writing arrays through references, and the arithmetic of views.

A reference is a cell and a `View`; indexing a reference composes views, so a store through
``row = A[i]`` is a store into ``A``. Integers a view needs are captured when the view is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError, Loc, Problem, ShapeError, UnsupportedError
from srcgraph.frontend.entities import (
    STALE,
    Array,
    Box,
    Cell,
    Content,
    Either,
    ListCell,
    Reshaped,
    State,
    Tup,
    Unusable,
    memory_of,
)
from srcgraph.frontend.layout import contiguous
from srcgraph.frontend.resolve import to_integer
from srcgraph.ir.dims import Dim, as_dim
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.index import selected_type
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.text import escaped
from srcgraph.ir.types import INT, ScalarType, TensorType
from srcgraph.ir.view import View, split_operands, step_of, whole
from srcgraph.ir.walk import has_order

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


class Dead(Exception):
    """Nothing after this point of a path can run."""


def computed(low: Lowering, function: Callable[..., Any], *args: Any) -> Any:
    """What a function of Python gives for what is known; what it raises is raised where the program comes here."""
    try:
        return function(*args)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, UnicodeError) else type(error)  # which is made of more than a message
        low.builder.call_named("check_that", False, error=kind.__name__, message=escaped(str(error)))
        raise Dead from None


class Refusal(Exception):
    """Lowering stops here; the problem says why. Caught at the statement."""

    def __init__(self, problem: Problem):
        super().__init__(problem.message)
        self.problem = problem


def refuse(message: str, loc: Loc | None, hint: str = "", kind: type = UnsupportedError, notes: Sequence[str] = ()):
    return Refusal(Problem(message, loc, tuple(notes), hint, kind))


# -- cells --------------------------------------------------------------------------------------


def content(low: Lowering, cell: Cell) -> Value:
    """The value a cell holds now."""
    held = low.state.store[cell]
    if held is STALE:
        assert cell.choice is not None
        held = _chosen_content(low, cell.choice, cell.name)
        low.state.store[cell] = held
    if isinstance(held, Unusable):
        raise refuse(held.why, low.loc, held.hint)
    assert isinstance(held, Value)
    return low.builder.promised(held)


def _chosen_content(low: Lowering, choice: Array | Either | Reshaped, name: str) -> Value:
    """What is held by the array that is meant."""
    if isinstance(choice, Array):
        return read(low, choice)
    if isinstance(choice, Reshaped):
        need_contiguous(low, choice.array, name)
        _as_view(low, choice.array.cell)
        return low.builder.apply(OPS["reshape_view"], (read(low, choice.array), *choice.dims), {}, name=name)
    sides = (choice.then, choice.orelse)
    return low.chosen(choice.test, [lambda c=c: [_chosen_content(low, c, name)] for c in sides], [name])[0]


def _as_view(low: Lowering, cell: Cell) -> None:
    """A reshape is made as what may be a copy, until it has to be a view."""
    if isinstance(cell.choice, Reshaped) and low.state.store[cell] is cell.made:
        low.state.store[cell] = STALE


def chosen(low: Lowering, ref: Array) -> Array | Either:
    """What a reference stands for in terms of buffers."""
    if isinstance(ref.cell.choice, Either):
        return _viewed(low, ref.cell.choice, ref)
    return ref


def _viewed(low: Lowering, choice: Array | Either, ref: Array) -> Array | Either:
    if isinstance(choice, Array):
        return choice if ref.view is None else select(low, choice, ref.view, ref.operands)
    return Either(choice.test, _viewed(low, choice.then, ref), _viewed(low, choice.orelse, ref))


def new_array(low: Lowering, value: Value, name: str = "") -> Array:
    """A reference to a new cell that holds ``value``."""
    cell = Cell(name or value.name)
    cell.made = value
    low.state.store[cell] = value
    return Array(cell)


def read(low: Lowering, ref: Array, name: str = "") -> Value:
    """The value of the array a reference stands for."""
    base = content(low, ref.cell)
    if ref.view is None:
        return base
    return low.builder.apply(OPS["getitem"], (base, *ref.operands), {"view": ref.view}, name=name)


def ref_type(low: Lowering, ref: Array) -> TensorType:
    """The type of what a reference stands for; reads nothing."""
    base = content(low, ref.cell).type
    if ref.view is None:
        return base
    return selected_type(base, ref.view, tuple(v.type for v in ref.operands))


def write(low: Lowering, ref: Array, value: Value, accumulate: bool = False) -> None:
    """Store ``value`` into what ``ref`` stands for; it must be of the array's dtype and fit its shape."""
    if isinstance(ref.cell.choice, Either):
        at_each(low, chosen(low, ref), lambda option: write(low, option, value, accumulate))
        return
    _as_view(low, ref.cell)
    base = content(low, ref.cell)
    view = ref.view or whole(base.type.ndim)
    target = selected_type(base.type, view, tuple(v.type for v in ref.operands))
    fitted = fit_store(low, value, target.shape)
    op = OPS["add_at" if accumulate else "setitem"]
    put(low, ref.cell, low.builder.apply(op, (base, fitted, *ref.operands), {"view": view}, name=base.name))


def keep_stores(low: Lowering, before: State) -> None:
    """What a path that certainly raises stored into arguments since ``before`` stays: the caller sees it."""
    if not low.state.dead or low.returns_later:
        return
    for cell, held in low.state.store.items():
        was = before.store.get(cell, held)
        if cell.visible and isinstance(held, Value) and isinstance(was, Value) and held is not was:
            _kept(low, was, held)


def _kept(low: Lowering, was: Value, held: Value) -> None:
    """Put a `keep` before what raises last."""
    nodes = low.builder.region.nodes
    if any(isinstance(n, Apply) and n.op.name == "keep" and n.inputs[1] is held for n in nodes):
        return
    made = 1 + max((k for k, n in enumerate(nodes) if held in n.outputs), default=-1)
    raises = max((k for k, n in enumerate(nodes) if has_order(n)), default=len(nodes))
    low.builder.apply(OPS["keep"], (was, held), {})
    nodes.insert(max(made, raises), low.builder.region.take_last())


def at_each(low: Lowering, choice: Array | Either, action: Callable[[Array], None]) -> None:
    """Do something to the array that is meant, whichever it is."""
    if isinstance(choice, Array):
        action(choice)
    else:
        low.branch(choice.test, lambda: at_each(low, choice.then, action), lambda: at_each(low, choice.orelse, action))


def put(low: Lowering, cell: Cell, value: Value | Content) -> None:
    """Let ``cell`` hold another value; what may be the same memory can no longer be read."""
    match cell.choice:
        case Either():
            assert isinstance(value, Value)
            at_each(low, cell.choice, lambda option: replaced(low, option, value))
            return
        case Reshaped(array=array):
            assert isinstance(value, Value)
            need_contiguous(low, array, cell.name)
            shape = map(low.builder.dim_value, ref_type(low, array).shape)
            replaced(low, array, low.builder.call_named("reshape_view", value, *shape))
    low.state.store[cell] = value
    _outdate(low, cell)
    _spoil(low, cell)


def _outdate(low: Lowering, cell: Cell) -> None:
    """What may stand for ``cell`` is read anew when it is needed."""
    for chooser in cell.choosers:
        if chooser in low.state.store and low.state.store[chooser] is not STALE:
            low.state.store[chooser] = STALE
            _outdate(low, chooser)


def _spoil(low: Lowering, cell: Cell) -> None:
    """What may or may not be the memory of ``cell`` can no longer be read."""
    holders = cell.around() if isinstance(cell, ListCell) else ()
    for other in sorted({*cell.shares, *holders}, key=lambda c: c.name):
        is_item = isinstance(other, ListCell) and (other in holders or not isinstance(cell, ListCell))
        if memory_of(other) is memory_of(cell) or (isinstance(cell, ListCell) and not isinstance(other, ListCell)):
            continue  # a list has other items: these stay what they are
        if is_item and isinstance(low.state.store.get(other), Tup):
            continue  # what its items are is known
        if other.visible:
            whose = "still the argument's" if other.name == cell.name else f"that of {beside(cell, other)}"
            subject, hint = repr(cell.name), f"make it one or the other: {cell.name} = {cell.name}.copy()"
            if not cell.name:
                subject, hint = "an array", "store into the array itself"
            raise refuse(f"this changes {subject}, whose memory may or may not be {whose}", low.loc, hint)
        line = low.loc.line if low.loc else "?"
        returned, subject = other.name in low.internal, repr(other.name) if other.name else "this"
        if is_item:
            what = "lists" if isinstance(cell, ListCell) else "arrays"
            low.state.store[other] = Unusable(
                f"{subject} is a list of {what}, and {_called(low, other, cell, what)}, which may be one of them, was "
                f"changed at line {line}",
                "change it before it is put into the list, or put a new one there"
                if isinstance(cell, ListCell)
                else "put a copy into the list, xs.append(x.copy()), or use an array with the arrays as rows",
            )
            continue
        hint = f"take a copy before the change: {other.name or 'x'}.copy()"
        if returned:
            subject, hint = "the result", f"return a copy of it: {cell.name}.copy()"
        elif cell.name == "<value>":
            hint = "change each in a branch of its own"
        why = f"{subject} may share memory with {beside(other, cell)}, which was changed at line {line}"
        low.state.store[other] = Unusable(why, hint)
        _outdate(low, other)


def need_contiguous(low: Lowering, array: Array, name: str) -> None:
    """Refuse where it is not known that ``array`` lies in memory without gaps, in C order."""
    if not contiguous(low, array):
        raise refuse(
            f"whether {name!r} is a copy depends on how the array reshaped lies in memory, which is not known here",
            low.loc,
            f"make it a copy: {array.cell.name}.reshape(...).copy()",
        )


def replaced(low: Lowering, ref: Array, value: Value) -> None:
    """Let the array a reference stands for, of the type of ``value``, have another content."""
    if ref.view is None:
        put(low, ref.cell, low.builder.retype(value, ref_type(low, ref).shape))
    else:
        write(low, ref, value)


def beside(cell: Cell | Box, other: Cell | Box, what: str = "arrays") -> str:
    """The name of ``other``, one of several ``what``, in a message about ``cell``."""
    if other.visible:
        return f"argument {other.name!r}"
    if not other.name:
        return f"another {what[:-1]}"
    if other.name == "<value>":
        return "what is chosen at run time"
    return "an earlier one of this name" if other.name == cell.name else repr(other.name)


def _called(low: Lowering, cell: Cell, other: Cell, what: str) -> str:
    """The name of ``other`` as `beside` has it; a variable that is this array now, where it was named by what it was
    made of."""
    names = [n for n, e in low.state.names.items() if isinstance(e, Array) and e.cell is other and isinstance(n, str)]
    if names and other.name not in names and not other.visible:
        return repr(names[0])
    return beside(cell, other, what)


def fit_store(low: Lowering, value: Value, shape: tuple[Dim, ...]) -> Value:
    """``value`` with axes that provably fit a region of ``shape``, checked at run time where needed."""
    own = value.type.shape
    if len(own) > len(shape):
        raise refuse(f"an array of {len(own)} axes does not fit into one of {len(shape)}", low.loc, kind=ShapeError)
    wanted = shape[len(shape) - len(own) :]
    target = []
    for size, room in zip(own, wanted, strict=True):
        if size == 1 or low.builder.same(size, room):
            target.append(size if size == 1 else room)
            continue
        if size.const is not None and room.const is not None:
            raise refuse(
                f"could not broadcast input array from length {size} into length {room}", low.loc, kind=ShapeError
            )
        low.builder.call_named("check_fits", low.builder.dim_value(size), low.builder.dim_value(room))
        target.append(room)
    return low.builder.fit(value, target)


# -- views --------------------------------------------------------------------------------------


def select(low: Lowering, ref: Array, view: View, operands: Sequence[Value]) -> Array:
    """The reference to a part of what ``ref`` stands for."""
    if ref.view is None:
        return Array(ref.cell, view, tuple(operands))
    composed = compose(low, ref.view, ref.operands, view, operands)
    if composed is None:
        raise refuse("a slice of an axis made by None is not supported", low.loc, "index first, add the axis last")
    return Array(ref.cell, *composed)


def compose(
    low: Lowering, outer: View, outer_operands: Sequence[Value], inner: View, inner_operands: Sequence[Value]
) -> tuple[View, tuple[Value, ...]] | None:
    """The view that takes ``inner`` of ``outer``."""
    b = low.builder
    base = [(selector, own) for selector, own in zip(outer.axes, split_operands(outer, outer_operands), strict=True)]
    kept = outer.kept
    survivors: list[int | None] = []
    for axis, (selector, own) in enumerate(zip(inner.axes, split_operands(inner, inner_operands), strict=True)):
        where = outer.order[axis]
        if where is None:
            if selector == "i":
                continue
            if selector != ":":
                return None
            survivors.append(None)
            continue
        at = kept[where]
        base[at] = _composed_axis(b, *base[at], selector, own)
        if selector != "i":
            survivors.append(at)
    left = [k for k, (selector, _) in enumerate(base) if selector != "i"]
    result = [survivors[k] if k is not None else None for k in inner.order] if inner.order else []
    order = tuple(None if k is None else left.index(k) for k in result)
    operands = tuple(v for _, own in base for v in own)
    return View(tuple(s for s, _ in base), order), operands


def _composed_axis(b: Any, selector: Any, own: tuple, inner: Any, inner_own: tuple) -> tuple[Any, tuple]:
    if inner == ":":
        return selector, own
    if selector == ":":
        return inner, inner_own
    step = step_of(selector, own)
    at = b.call_named("add", own[0], b.call_named("mul", inner_own[0], step))
    if inner == "i":
        return "i", (at,)
    if "s" in (selector, inner):
        return "s", (at, inner_own[1], b.call_named("mul", step_of(inner, inner_own), step))
    return int(selector) * int(inner), (at, inner_own[1])


# -- indices ------------------------------------------------------------------------------------


def checked_index(low: Lowering, index: Value, size: Dim, axis: int) -> Value:
    """An index counted from the front, checked at run time unless it is proved; nothing follows one that never fits."""
    found = checked_where_it_is(low, index, size, axis)
    known = index.type.value.const if index.type.value is not None else None
    if known is not None and size.const is not None and not -size.const <= known < size.const:
        raise Dead  # it raises, whatever the numbers
    return found


def checked_where_it_is(low: Lowering, index: Value, size: Dim, axis: int) -> Value:
    """The same in a loop, which may have no trip."""
    b = low.builder
    if index.type.dtype != INT or not index.type.weak:
        index = to_integer(b, index)
    return b.call_named("check_index", index, b.dim_value(size), axis=axis)


def slice_operands(low: Lowering, start: Value | None, stop: Value | None, step: int, size: Dim) -> tuple[Value, Value]:
    """First index and length of a slice, by Python's rules.

    A start is clamped only from below and a stop only from above (for positive steps): beyond the
    other end the length is 0, and then the start does not matter.
    """
    b = low.builder
    n = b.dim_value(size)
    if step > 0:
        first = b.const(0) if start is None else _from_end(b, start, n, low_clamp=b.const(0))
        last = n if stop is None else _from_end(b, stop, n, high_clamp=n)
        span = b.call_named("sub", last, first)
    else:
        end = b.call_named("sub", n, 1)
        first = end if start is None else _from_end(b, start, n, high_clamp=end)
        last = b.const(-1) if stop is None else _from_end(b, stop, n, low_clamp=b.const(-1))
        span = b.call_named("sub", first, last)
    width = abs(step)
    if width > 1:
        span = b.call_named("floordiv", b.call_named("add", span, width - 1), width)
    if not b.proves(span.type.value):
        span = b.call_named("maximum", span, 0)
    return first, span


def _from_end(b: Any, at: Value, n: Value, low_clamp: Value | None = None, high_clamp: Value | None = None) -> Value:
    """``at``, counted from the end if negative; clamped from the side that matters."""
    value = at.type.value
    if b.proves(value):
        return at if high_clamp is None else _clamped_above(b, at, high_clamp)
    shifted = b.call_named("add", at, n)
    if low_clamp is not None:
        shifted = _clamped_below(b, shifted, low_clamp)
    if b.proves(-value - 1):
        return shifted
    positive = at if high_clamp is None else _clamped_above(b, at, high_clamp)
    return b.call_named("where", b.call_named("less", at, 0), shifted, positive)


def _clamped_above(b: Any, x: Value, top: Value) -> Value:
    return x if b.proves(top.type.value - x.type.value) else b.call_named("minimum", x, top)


def _clamped_below(b: Any, x: Value, bottom: Value) -> Value:
    return x if b.proves(x.type.value - bottom.type.value) else b.call_named("maximum", x, bottom)


def as_index(low: Lowering, value: Value, what: str = "an index") -> Value:
    """An integer as a Python integer value; truths of Python's are integers, and those of NumPy's are not."""
    kind = value.type
    if not isinstance(kind, ScalarType) or kind.dtype.kind not in ("iub" if kind.weak else "iu"):
        raise refuse(f"{what} must be an integer, not {kind}", low.loc, kind=InferenceError)
    return to_integer(low.builder, value)


def known_int(low: Lowering, value: Value) -> int | None:
    """The integer a value is known to be when compiling."""
    number = literal(low.builder, value)
    if number is not None and not isinstance(number, float | complex):
        return int(number)
    known = getattr(value.type, "value", None)
    return as_dim(known).const if known is not None else None
