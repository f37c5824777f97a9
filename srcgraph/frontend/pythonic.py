"""Python's builtins on numbers, tuples and arrays, with Python's meaning."""

from __future__ import annotations

import builtins
import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    arithmetic,
    attributes,
    branching,
    choices,
    contents,
    dicts,
    expressions,
    flat,
    indexing,
    iteration,
    later,
    library,
    lists,
    objects,
    operators,
    raised,
    text,
    watched,
)
from srcgraph.frontend.entities import (
    NONE,
    Array,
    Closure,
    Const,
    Entity,
    Instance,
    Iteration,
    Listing,
    Method,
    Partial,
    Rng,
    Scalar,
    Tup,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.kinds import joined
from srcgraph.frontend.memory import as_index, computed, ref_type, refuse
from srcgraph.frontend.resolve import to_integer
from srcgraph.frontend.scope import parameter_names
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import BOOL, COMPLEX, FLOAT, INT, PY_INT, ArrayType, ScalarType, without_value
from srcgraph.ir.view import element

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

Builtin = Callable[["Lowering", Sequence[Entity], dict[str, Entity], str], Entity]
BUILTINS: dict[Any, Builtin] = {}


def builtin(function: Any, least: int, most: int, keywords: str = "") -> Callable[[Callable], Callable]:
    """Enter the lowering of a builtin; arguments are counted, keywords are those named."""

    def decorate(lower: Callable) -> Callable:
        def checked(low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str) -> Entity:
            name = function.__name__
            for key in kwargs:
                if key not in keywords.split() and keywords != "*":
                    raise refuse(f"{name}(): keyword {key!r} is not supported", low.loc)
            if not least <= len(args) <= most:
                raise refuse(f"{name}() does not take {len(args)} arguments", low.loc, kind=InferenceError)
            return lower(low, *args, **kwargs)

        BUILTINS[function] = checked
        return lower

    return decorate


MANY = 1000


@builtin(range, 1, 3)
def range_(low: Lowering, *args: Entity) -> Entity:
    first = (Const(0), *args, Const(1)) if len(args) == 1 else (*args, Const(1)) if len(args) == 2 else args
    parts: list[Entity] = []
    for e in first:
        value = low.value(e, "a bound of range")
        if value.type.dtype.kind not in "iub" or value.type.ndim:
            raise refuse(f"range takes integers, not {value.type}", low.loc, "use int(...)", kind=InferenceError)
        parts.append(Scalar(as_index(low, value)))
    step = low.value(parts[2])
    if step.type.value is None or step.type.value.const is None:
        fine = OPS["not_equal"](step, 0)
        low.builder.call_named("check_that", fine, error="ValueError", message="range() arg 3 must not be zero")
    elif step.type.value == 0:
        raise refuse("range() arg 3 must not be zero", low.loc, kind=InferenceError)
    else:
        parts[2] = Const(step.type.value.const)  # stays known where the range is passed to a function
    return Iteration("range", tuple(parts))


@builtin(slice, 1, 3)
def slice_(low: Lowering, *args: Entity) -> Entity:
    start, stop, step = (NONE, *args, NONE) if len(args) == 1 else (*args, NONE)[:3]
    return indexing.slice_of(low, start, stop, step)


@builtin(enumerate, 1, 2, "start")
def enumerate_(low: Lowering, items: Entity, start: Entity = Const(0)) -> Entity:
    known = later.waiting(low, items)
    if known is not None:
        first = low.static(start, "the start of enumerate")
        return later.iterator(low, [Tup((Const(k + first), e)) for k, e in enumerate(known)], [items])
    return Iteration("enumerate", (items, start))


@builtin(zip, 1, MANY, "strict")
def zip_(low: Lowering, *args: Entity, strict: Entity = Const(False)) -> Entity:
    together = low.static(strict, "strict")
    known = [later.waiting(low, a) for a in args]
    tuples = [k for k in known if k is not None]
    if together and not (len(tuples) == len(args) and len({len(k) for k in tuples}) == 1):
        _check_lengths(low, args)
    if len(tuples) == len(args):
        return later.iterator(low, [Tup(items) for items in zip(*tuples, strict=False)], args)
    return Iteration("zip", tuple(a if k is None else lists.listed(low, a) for k, a in zip(known, args, strict=True)))


def _check_lengths(low: Lowering, args: Sequence[Entity]) -> None:
    """What ``zip(..., strict=True)`` raises at its end: here before it begins, since all lengths are known then."""
    b = low.builder
    first, *others = (low.value(len_(low, a)) for a in args)
    for k, other in enumerate(others, 2):
        before = "argument 1" if k == 2 else f"arguments 1-{k - 1}"
        for op, word in (("greater_equal", "shorter"), ("less_equal", "longer")):
            fine = OPS[op](other, first)
            message = f"zip() argument {k} is {word} than {before}"
            b.call_named("check_that", fine, error="ValueError", message=message)


@builtin(map, 2, MANY)
def map_(low: Lowering, function: Entity, *items: Entity) -> Entity:
    """Each result is computed when it is asked for."""
    return Iteration("map", (function, zip_(low, *items)))


@builtin(filter, 2, 2)
def filter_(low: Lowering, function: Entity, items: Entity) -> Entity:
    """A list: which items there are is known once all are tested."""
    chosen, given = (library.true_ones, [items]) if function == NONE else (library.chosen_ones, [function, items])
    return watched.once(low, "filter", given, lambda: lists.own(low, chosen, *given))


@builtin(reversed, 1, 1)
def reversed_(low: Lowering, items: Entity) -> Entity:
    known = later.waiting(low, items)
    if known is not None:
        return later.iterator(low, known[::-1], [items])
    return Iteration("reversed", (items, lists.len_(low, items)) if isinstance(items, Listing) else (items,))


@builtin(len, 1, 1)
def len_(low: Lowering, x: Entity) -> Entity:
    if isinstance(x, Tup):
        return Const(len(expressions.countable(low, x).items))
    if isinstance(x, Instance) and dicts.is_dict(x):
        return Const(len(objects.fields(low, x).names))
    if isinstance(x, Listing):
        return lists.len_(low, x)
    if text.is_one_of(x):
        return branching.apart(low, [x], lambda known: len_(low, known[0]))
    if isinstance(x, Const) and isinstance(x.value, str | tuple):
        return Const(len(x.value))
    if isinstance(x, Iteration) and x.kind == "range":
        return lists.own(low, arithmetic.length_of_range, *x.parts)
    if flat.is_flat(x):
        return Scalar(low.builder.dim_value(flat.size(low, x)))
    if isinstance(x, Array):
        kind = ref_type(low, x)
        if not kind.ndim:
            raise refuse("len() of an array without axes", low.loc, kind=InferenceError)
        return Scalar(low.builder.dim_value(kind.shape[0]))
    raise refuse(f"len() of {low.shown(x)}", low.loc, kind=InferenceError)


def scalar_value(low: Lowering, x: Entity, what: str) -> Value:
    """A number; an array with one element counts as one."""
    value = low.value(x, f"the argument of {what}")
    if isinstance(value.type, ArrayType):
        if any(d != 1 for d in value.type.shape):
            raise refuse(f"{what} takes a number, not {value.type}", low.loc, kind=InferenceError)
        value = low.builder.scalar(OPS["reshape"](value) if value.type.ndim else value)
    return value


REAL_PART = "take a part of it, as x.real, or its size, abs(x)"


def real_number(low: Lowering, x: Entity, what: str) -> Value:
    """A number that is not complex."""
    value = scalar_value(low, x, what)
    if value.type.dtype.kind == "c":
        raise refuse(f"{what} takes no complex numbers", low.loc, REAL_PART, kind=InferenceError)
    return value


@builtin(float, 0, 1)
def float_(low: Lowering, x: Entity = Const(0.0)) -> Entity:
    if isinstance(x, Const) and isinstance(x.value, str):
        return Const(computed(low, float, x.value))
    if isinstance(x, Const) and isinstance(x.value, int | float) and abs(x.value) < 2.0**1023:
        return Const(float(x.value))
    return Scalar(low.builder.cast(real_number(low, x, "float()"), FLOAT, weak=True))


@builtin(complex, 0, 2)
def complex_(low: Lowering, x: Entity = Const(0.0), y: Entity = NONE) -> Entity:
    if isinstance(x, Const) and isinstance(x.value, str) and y == NONE:
        return Const(computed(low, complex, x.value))
    if y == NONE:
        return Scalar(low.builder.cast(scalar_value(low, x, "complex()"), COMPLEX, weak=True))
    parts = (low.builder.cast(real_number(low, e, "complex()"), FLOAT, weak=True) for e in (x, y))
    return Scalar(OPS["of_parts"](*parts))


@builtin(int, 0, 1)
def int_(low: Lowering, x: Entity = Const(0)) -> Entity:
    return Scalar(to_integer(low.builder, real_number(low, x, "int()")))


@builtin(bool, 0, 1)
def bool_(low: Lowering, x: Entity = Const(False)) -> Entity:
    test = low.truth(x)
    return Const(test) if isinstance(test, bool) else Scalar(test)


@builtin(abs, 1, 1)
def abs_(low: Lowering, x: Entity) -> Entity:
    if isinstance(x, Const) and x.is_number:
        return Const(abs(x.value))
    return low.entity(OPS["absolute"](low.value(x, "the argument of abs()")))


def _pick(low: Lowering, x: Entity, y: Entity, op: str) -> Entity:
    """Python's min and max: ``y`` if it compares so to ``x``, else ``x``."""
    a, b = low.value(x), low.value(y)
    if a.type.ndim or b.type.ndim:
        low.truth(low.entity(OPS[op](b, a)))  # ambiguous, as in Python
    if all(without_value(v.type) == PY_INT for v in (a, b)):
        return low.entity(OPS["minimum" if op == "less" else "maximum"](a, b))
    test = OPS[op](b, a)
    a, b = joined(low, (a, b))
    return low.entity(OPS["where"](test, b, a))


def _extreme(op: str, function: Any) -> None:
    whole, by = (library.least, library.least_by) if op == "less" else (library.greatest, library.greatest_by)

    either = (library.least_or, library.least_by_or) if op == "less" else (library.greatest_or, library.greatest_by_or)

    @builtin(function, 1, MANY, "key default")
    def lower(
        low: Lowering, first: Entity, *more: Entity, key: Entity = Const(None), default: Entity | None = None
    ) -> Entity:
        args = (first, *more)
        if default is not None:
            if more:
                why = f"Cannot specify a default for {function.__name__}() with multiple positional arguments"
                raise refuse(why, low.loc, kind=InferenceError)
            known = lists.known_items(low, first)
            if known is None:
                xs = _listed(low, first)
                return (
                    lists.own(low, either[0], xs, default)
                    if key == NONE
                    else lists.own(low, either[1], xs, key, default)
                )
            if not known:
                return default
        if key != Const(None):
            xs = args[0] if len(args) == 1 else contents.new_list(low, Tup(tuple(args), list))
            return lists.own(low, by, _listed(low, xs), key)
        if len(args) == 1 and _counted(low, args[0]):
            return lists.own(low, whole, _listed(low, args[0]))
        if len(args) == 1 and isinstance(args[0], Array):
            return _extreme_of_array(low, args[0], op, function.__name__)
        items = expressions.items_of(low, args[0]) if len(args) == 1 else list(args)
        if not items:
            objects.raise_python(low, "ValueError", _nothing(function.__name__))
        numbers = [e.value for e in items if isinstance(e, Const) and e.is_number]
        if len(numbers) == len(items):
            return Const(computed(low, function, numbers))
        out = items[0]
        for item in items[1:]:
            out = _pick(low, out, item, op)
        return out


def _nothing(name: str) -> str:
    """What Python says of the ``min`` or the ``max`` of nothing."""
    return library.NO_LEAST if name == "min" else library.NO_GREATEST


def _extreme_of_array(low: Lowering, x: Array, op: str, name: str) -> Entity:
    kind = ref_type(low, x)
    if kind.ndim != 1:
        raise refuse(
            f"{name}() takes an array of one axis, not {kind}", low.loc, f"use np.{name}(x)", kind=InferenceError
        )
    fine = OPS["greater"](low.builder.dim_value(kind.shape[0]), 0)
    low.builder.call_named("check_that", fine, error="ValueError", message=_nothing(name))
    return Scalar(_picked(low, low.value(x), op, name))


def _picked(low: Lowering, x: Value, op: str, name: str) -> Value:
    """The element Python's loop over comparisons picks: NaN loses every comparison, unless it is first."""
    b = low.builder
    bounds = (b.const(1), b.dim_value(x.type.shape[0]), b.const(1))
    first = OPS["getitem"](x, 0, view=element(1))
    region, index = b.for_region(bounds, "k")
    with b.inside(region):
        best = b.fresh(name, first.type)
        b.enter_params(region, (index, best))
        item = OPS["getitem"](x, index, view=element(1))
        result = OPS["where"](OPS[op](item, best), item, best)
    return b.for_(bounds, [first], region, [result], None, [name])[0]


def _counted(low: Lowering, x: Entity) -> bool:
    """Whether something is looped over at run time: a list whose items are not known, a zip, a range."""
    return isinstance(x, Iteration) or (isinstance(x, Listing) and lists.known_items(low, x) is None)


def _listed(low: Lowering, x: Entity) -> Entity:
    """A list whose items can be read twice."""
    return x if isinstance(x, Listing | Array) else lists.as_list(low, x)


_extreme("less", min)
_extreme("greater", max)


@builtin(sum, 1, 2, "start")
def sum_(low: Lowering, x: Entity, start: Entity = Const(0)) -> Entity:
    if isinstance(x, Array):
        kind = ref_type(low, x)
        if kind.ndim == 0:
            raise refuse("sum() of an array without axes", low.loc, kind=InferenceError)
        value = low.value(x)
        value = low.builder.cast(value, INT) if kind.dtype == BOOL else value  # 0 + True is an integer
        total = low.entity(OPS["sum"](value, axes=(0,)))
        return total if start == Const(0) else operators.binary(low, "add", start, total)
    if start == Const(0) and contents.axes_of_items(low, x):
        return lists.own(low, library.total_of_arrays, x)
    if _counted(low, x):
        return lists.own(low, library.total, x, start)
    out = start
    for item in expressions.items_of(low, x):
        out = operators.binary(low, "add", out, item)
    return out


@builtin(any, 1, 1)
def any_(low: Lowering, x: Entity) -> Entity:
    return _of_truths(low, x, library.some, False)


@builtin(all, 1, 1)
def all_(low: Lowering, x: Entity) -> Entity:
    return _of_truths(low, x, library.every, True)


def _of_truths(low: Lowering, x: Entity, function: Any, neutral: bool) -> Entity:
    if _counted(low, x) or isinstance(x, Array):
        return lists.own(low, function, x)
    out: Entity = Const(neutral)
    for item in reversed(expressions.items_of(low, x)):
        test = low.truth(item)
        if isinstance(test, bool):
            out = out if test is neutral else Const(not neutral)
        else:
            other = low.truth(out)
            op = "logical_and" if neutral else "logical_or"
            out = Scalar(test if other is neutral else OPS[op](test, low.value(out)))
    return out


@builtin(divmod, 2, 2)
def divmod_(low: Lowering, x: Entity, y: Entity) -> Entity:
    a, b = low.value(x, "the left operand"), low.value(y, "the right operand")
    b = operators.divisor(low, divmod, a, b)
    return Tup((low.entity(OPS["floordiv"](a, b)), low.entity(OPS["mod"](a, b))))


@builtin(tuple, 0, 1)
def tuple_(low: Lowering, x: Entity = Tup(())) -> Entity:
    known = iteration.few(x)
    if known is not None:
        return Tup(tuple(map(Const, known)))
    x = lists.as_list(low, x) if isinstance(x, Iteration) else x
    if isinstance(x, Listing) and lists.known_items(low, x) is None:
        why = "a tuple of as many items as are known at run time only is not supported"
        raise refuse(why, low.loc, "keep the list, or make an array: np.array(...)")
    return Tup(tuple(expressions.items_of(low, x)))


@builtin(list, 0, 1)
def list_(low: Lowering, x: Entity = Tup(())) -> Entity:
    return lists.as_list(low, x)


@builtin(sorted, 1, 1, "key reverse")
def sorted_(low: Lowering, x: Entity, key: Entity = Const(None), reverse: Entity = Const(False)) -> Entity:
    made = lists.as_list(low, x)
    lists.sort(low, made, key=key, reverse=reverse)
    return made


@builtin(isinstance, 2, 2)
def isinstance_(low: Lowering, x: Entity, cls: Entity) -> Entity:
    classes = low.static(cls, "the class of isinstance")
    match x:
        case Const(value=value):
            return Const(computed(low, isinstance, value, classes))
        case Scalar(value=value):
            assert isinstance(value.type, ScalarType)
            zero = value.type.dtype.type(0)
            return Const(computed(low, isinstance, zero.item() if value.type.weak else zero, classes))
        case Array():
            return Const(computed(low, isinstance, np.zeros(0), classes))
        case Listing():
            return Const(isinstance([], classes))
        case Tup(cls=kind) | Instance(cls=kind):
            return Const(issubclass(kind, classes))
        case Closure():
            return Const(isinstance(len_, classes))
        case Rng():
            return Const(isinstance(np.random.default_rng(0), classes))
    raise refuse(f"isinstance of {describe(x)}", low.loc)


@builtin(callable, 1, 1)
def callable_(low: Lowering, x: Entity) -> Entity:
    function = isinstance(x, Closure | Partial | Method)
    return Const(function or (isinstance(x, Const) and builtins.callable(x.value)))


@builtin(dataclasses.replace, 1, 1, "*")
def replace_(low: Lowering, x: Entity, /, **changes: Entity) -> Entity:
    return objects.replace_object(low, [x], changes)


@builtin(super, 0, 2)
def super_(low: Lowering, *args: Entity) -> Entity:
    if not args:
        parameters = parameter_names(low.code.node)
        if "__class__" not in low.code.cells or not parameters:
            raise refuse("super(): no arguments", low.loc, kind=InferenceError)
        args = (low.lookup("__class__"), low.lookup(parameters[0]))
    cls = low.static(args[0], "the class of super()")
    if len(args) != 2 or not objects.is_object(args[1]) or cls not in args[1].cls.__mro__:  # type: ignore[union-attr]
        raise refuse("super() takes a class and an object of it", low.loc, kind=InferenceError)
    return Tup((args[0], args[1]), objects.Super)


@builtin(dataclasses.asdict, 1, 1)
def asdict(low: Lowering, obj: Entity) -> Entity:
    return objects.taken_apart(low, obj, lambda record: dicts.new_dict(low, record))


@builtin(dataclasses.astuple, 1, 1)
def astuple(low: Lowering, obj: Entity) -> Entity:
    return objects.taken_apart(low, obj, lambda record: Tup(record.items))


@builtin(copy.copy, 1, 1)
def copy_(low: Lowering, x: Entity) -> Entity:
    return objects.copied(low, [x], {})


@builtin(type, 1, 1)
def type_(low: Lowering, x: Entity) -> Entity:
    if raised.is_raised(x):
        return choices.combined_options(low, [x], lambda known: Const(known[0].cls))  # type: ignore[union-attr]
    if isinstance(x, Instance | Tup):
        return Const(x.cls)
    raise refuse(f"type() of {describe(x)} is not supported", low.loc, "use isinstance")


@builtin(object.__setattr__, 3, 3)
def object_setattr(low: Lowering, x: Entity, name: Entity, value: Entity) -> Entity:
    if not isinstance(x, Instance):
        raise refuse(f"__setattr__ of {low.shown(x)}", low.loc, kind=InferenceError)
    objects.set_field(low, x, low.static(name, "the name of an attribute"), value)
    return NONE


@builtin(setattr, 3, 3)
def setattr_(low: Lowering, x: Entity, name: Entity, value: Entity) -> Entity:
    objects.set_attribute(low, x, low.static(name, "the name of an attribute"), value)
    return NONE


@builtin(getattr, 2, 3)
def getattr_(low: Lowering, x: Entity, name: Entity, default: Entity | None = None) -> Entity:
    known = low.static(name, "the name of an attribute")
    if default is not None and objects.is_object(x) and not objects.has_attribute(low, x, known):
        return default
    return attributes.attribute(low, x, known)


@builtin(hasattr, 2, 2)
def hasattr_(low: Lowering, x: Entity, name: Entity) -> Entity:
    if not objects.is_object(x):
        raise refuse(f"hasattr() of {low.shown(x)} is not supported", low.loc)
    return Const(objects.has_attribute(low, x, low.static(name, "the name of an attribute")))
