"""Calls: of NumPy and math functions, of builtins, and of the user's own functions."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import operator
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import gast
import numpy as np

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    arrays,
    attributes,
    branching,
    comprehensions,
    derived,
    dicts,
    expressions,
    generators,
    higher,
    iterators,
    lanes,
    libraries,
    library,
    lists,
    marked,
    numpy_calls,
    objects,
    operator_functions,
    tables,
    ufuncs,
    views,
)
from srcgraph.frontend.custom import Custom
from srcgraph.frontend.entities import (
    Box,
    Choice,
    Closure,
    Const,
    Entity,
    Instance,
    Listing,
    Maybe,
    Method,
    Partial,
    Record,
    Scalar,
    SliceOf,
    Tup,
    Unusable,
    cells_of,
    may_share,
)
from srcgraph.frontend.join import describe
from srcgraph.frontend.layout import note_layout
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.presence import present
from srcgraph.frontend.pythonic import BUILTINS, REAL_PART
from srcgraph.frontend.resolve import MATH, record_of
from srcgraph.frontend.session import FunctionCode
from srcgraph.frontend.written import WRITTEN
from srcgraph.infer.objects import why_opaque
from srcgraph.ir.graph import Value
from srcgraph.ir.op import Composite, Op
from srcgraph.ir.promote import in_words, is_weak
from srcgraph.ir.types import FLOAT, NAME_OF, ScalarType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


_CACHED = type(functools.cache(lambda: None))


def call(low: Lowering, node: Any, hint: str) -> Entity:
    """Lower a call expression."""
    function = expressions.lower(low, node.func)
    if any(isinstance(e, gast.GeneratorExp) for e in node.args):
        return of_generator(low, function, node, hint)
    table = node.args and comprehensions.is_table(node.args[0]) and function in (Const(np.array), Const(np.asarray))
    if table and not comprehensions.is_known(low, node.args[0]):
        return of_table(low, function, node, hint)
    args = expressions.elements(low, node.args)
    kwargs: dict[str, Entity] = {}
    for keyword in node.keywords:
        entity = expressions.optional(low, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = entity
        elif isinstance(entity, Instance) and dicts.is_dict(entity):
            content = objects.fields(low, entity)
            kwargs.update(zip(content.names, content.items, strict=True))
        else:
            raise refuse(f"** of {low.shown(entity)} is not supported", low.loc, "give a dict with constant keys")
    with low.at(node):
        return apply(low, function, args, kwargs, hint)


READERS = (
    any, all, sum, min, max, next, list, tuple, set, dict, sorted, np.fromiter, math.fsum, math.prod,
    functools.reduce, itertools.accumulate,
)  # fmt: skip
"""What reads a generator expression to its end, or as far as it needs."""


def of_generator(low: Lowering, function: Entity, node: Any, hint: str) -> Entity:
    """A call one of whose arguments is a generator expression."""
    known = function.value if isinstance(function, Const) else None
    if known not in READERS:
        for e in node.args:
            expressions.lower(low, e)  # says that it is not supported
    if known not in comprehensions.CONSUMERS or not isinstance(node.args[0], gast.GeneratorExp):
        args = [e for node_ in node.args for e in _argument_of(low, node_)]
        kwargs = {k.arg: expressions.optional(low, k.value) for k in node.keywords if k.arg is not None}
        with low.at(node):
            return args[0] if known is list else apply(low, function, args, kwargs, hint)
    given = [*node.args[1:], *(k.value for k in node.keywords)]
    rest = expressions.elements(low, given)
    with low.at(node):
        start = rest[0] if rest else Const(0) if known is sum else None
        return comprehensions.consumed(low, known, node.args[0], start)


def _argument_of(low: Lowering, node: Any) -> list[Entity]:
    """An argument, or those of a starred one; of a generator expression a list."""
    if isinstance(node, gast.GeneratorExp):
        return [comprehensions.comprehension(low, node)]
    return expressions.elements(low, [node])


def of_table(low: Lowering, function: Entity, node: Any, hint: str) -> Entity:
    """``np.array([[f(x, y) for y in ys] for x in xs])``."""
    made = comprehensions.table(low, node.args[0])
    assert isinstance(made, Tup)
    rest = expressions.elements(low, node.args[1:])
    kwargs = {k.arg: expressions.lower(low, k.value) for k in node.keywords if k.arg is not None}
    with low.at(node):
        numbers = apply(low, function, [made.items[0], *rest], kwargs, hint)
        return lists.own(low, library.of_rows, numbers, *made.items[1:])


def apply(low: Lowering, function: Entity, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str = "") -> Entity:
    """Call an entity."""
    match function:
        case Choice():
            return branching.each(low, function, lambda option: apply(low, option, args, kwargs), hint)
        case Closure():
            return call_closure(low, function, args, kwargs)
        case Partial():
            return apply(low, function.function, [*function.args, *args], {**dict(function.kwargs), **kwargs}, hint)
        case Method(receiver=receiver, name=name):
            return attributes.call_method(low, receiver, name, args, kwargs, hint)
        case Const(value=functools.partial() as made):
            return apply(low, higher.of_object(low, made), args, kwargs, hint)
        case Const(value=operator.itemgetter() | operator.attrgetter() as made) if not kwargs:
            return operator_functions.getter(low, made, args)
        case Instance() if function.cls is not dict:
            return (
                objects.special(low, "__call__", function, *args)
                if not kwargs
                else objects.call_method(low, function, "__call__", args, kwargs, hint)
            )
        case Const(value=value) if callable(value):
            if attributes.is_compiled_in(value):
                return settled(low, value, args, kwargs, lambda a, k: call_object(low, value, a, k, hint), hint)
            return call_object(low, value, args, kwargs, hint)
    raise refuse(f"{low.shown(function)} cannot be called", low.loc, kind=InferenceError)


def settled(
    low: Lowering,
    function: Any,
    args: Sequence[Entity],
    kwargs: dict[str, Entity],
    action: Callable[..., Entity],
    hint: str,
) -> Entity:
    """What ``action`` gives for arguments of which some may be None, where the function is no user's own."""
    maybe = next((e for e in (*args, *kwargs.values()) if isinstance(e, Maybe)), None)
    if maybe is None:
        return action(args, kwargs)

    def given(entity: Entity) -> Entity:
        own = [entity if e is maybe else e for e in args]
        return settled(low, function, own, {k: entity if e is maybe else e for k, e in kwargs.items()}, action, hint)

    if function in MATH or isinstance(function, np.ufunc):
        return given(present(low, maybe))
    return branching.given(low, maybe, given, hint)


def call_object(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str) -> Entity:
    """Call something known when compiling."""
    try:
        special = BUILTINS.get(function)
    except TypeError:  # not hashable
        special = None
    if special is not None:
        name = f"__{function.__name__}__"  # `dataclasses.replace` does not ask for one
        if args and function.__module__ != "dataclasses" and objects.has_special(args[0], name):
            return objects.call_method(low, args[0], name, args[1:], kwargs, hint)
        return special(low, args, kwargs, hint)
    if isinstance(function, type) and issubclass(function, np.generic):
        return _numpy_scalar(low, function, args)
    if function in tables.JOINS and (found := tables.joined_arrays(low, function, args, kwargs)) is not None:
        return found
    if function is np.array and args and isinstance(args[0], Listing):
        function = np.asarray  # of what is a new array
    if function in MATH or function in arrays.FUNCTIONS or function in WRITTEN or record_of(function) is not None:
        args, kwargs = [tables.plain(low, e) for e in args], {k: tables.plain(low, e) for k, e in kwargs.items()}
    if function in MATH:
        return call_math(low, function, args, kwargs, hint)
    if function in views.FUNCTIONS:
        return arrays.call(low, views.FUNCTIONS[function], args, kwargs)
    if function in WRITTEN:
        code = low.session.code_of(WRITTEN[function])
        return call_function(low, code, bound(low, code, WRITTEN[function], args, kwargs))
    record = record_of(function)
    if record is not None:
        return numpy_calls.call(low, function, record, args, kwargs, hint)
    ufunc = ufuncs.ufunc_of(function)
    if ufunc is not None:
        return ufuncs.call(low, function, ufunc, args, kwargs)
    return _call_ours(low, function, args, kwargs, hint)


def _call_ours(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str) -> Entity:
    """Call something of `srcgraph`, or of the user's."""
    if isinstance(made := getattr(function, "custom", None), Custom) and low.session.call_custom is not None:
        return low.session.call_custom(low, made, args, kwargs)
    if marked.marks_of(function) is not None:
        return marked.call(low, function, args, kwargs)
    if isinstance(function, derived.Inside):
        return function.lower(low, args, kwargs)
    if getattr(function, "verifies", False):
        raise derived.refuse_verifying(low)
    if getattr(function, "transforms", ()):
        return derived.call(low, function.transforms, [Const(function.py_func), *args], kwargs)
    if derived.maker_of(function) is not None:
        return derived.make(low, function, args, kwargs)
    if lanes.maker_of(function) is not None:
        return lanes.make(low, function, args, kwargs)
    if (mode := derived.mode_of(function)) is not None:
        return mode(low, args, kwargs)
    home = getattr(function, "__module__", None) or ""
    if home.split(".")[0] == "srcgraph" and not home.startswith("srcgraph.frontend."):
        why = f"srcgraph.{function.__name__} cannot be called inside a compiled function"
        raise refuse(why, low.loc, getattr(function, "instead", "call it outside"))
    if function is dict:
        return dicts.construct(low, args, kwargs, hint)
    if objects.is_constructor(function):
        return objects.construct(low, function, args, kwargs)
    if isinstance(function, types.MethodType):
        own = low.session.outside_at(low, "__self__", {"__self__": function.__self__})
        return apply(low, Const(function.__func__), [own, *args], kwargs, hint)
    inner = getattr(function, "py_func", function)
    if isinstance(inner, _CACHED):  # what it would remember is computed again
        inner = inner.__wrapped__
    if isinstance(inner, types.FunctionType):
        code = libraries.code_of(low, inner)
        return call_function(low, code, bound(low, code, inner, args, kwargs))
    name = getattr(function, "__qualname__", repr(function))
    module = (getattr(function, "__module__", None) or type(function).__module__).removeprefix("_")
    instead = generators.instead_of(function) or INSTEAD.get(name, INSTEAD.get(module, ""))
    raise refuse(f"{module}.{name} is not supported", low.loc, instead)


INSTEAD = iterators.INSTEAD | {
    "set": "use np.unique(...), or a list",
}
"""What to write in place of functions, by their module or their name in NumPy."""


def _numpy_scalar(low: Lowering, dtype: Any, args: Sequence[Entity]) -> Entity:
    target = np.dtype(dtype)
    if target not in NAME_OF or len(args) != 1:
        raise refuse(f"{dtype.__name__} is not supported here", low.loc)
    if isinstance(args[0], Const) and args[0].is_number and _holds(target, args[0].value):
        return Scalar(low.builder.const(target.type(args[0].value)))
    value = low.value(args[0])  # what it cannot hold is raised at run time, or refused
    if value.type.ndim:
        return low.entity(low.builder.cast(value, target))
    if not isinstance(value.type, ScalarType):
        value = low.builder.scalar(value)
    if value.type.dtype.kind == "c" and target.kind not in "cb":
        raise refuse(f"np.{target} of a complex number", low.loc, REAL_PART, kind=InferenceError)
    return Scalar(low.builder.stored(value, target))


def _holds(dtype: np.dtype[Any], number: Any) -> bool:
    try:
        dtype.type(number)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


# -- NumPy ----------------------------------------------------------------------------------------


def call_record(
    low: Lowering,
    record: Op | Composite,
    args: Sequence[Entity],
    kwargs: dict[str, Entity],
    hint: str = "",
    numpy_flavour: bool = False,
) -> Entity:
    """Use an op or a composite on entities."""
    if isinstance(record, Composite):
        given = _bind_composite(low, record, args, kwargs, numpy_flavour)
        found = record.expand(*given.args, **given.kwargs)
        note_layout(low, found, (*given.args, *given.kwargs.values()))
        made = low.entity(found, hint)
        if record.views(*given.args, **given.kwargs):
            _relate(made, args)
        return made
    if kwargs:
        raise refuse(f"{name_of(record)}: keyword {next(iter(kwargs))!r} is not supported", low.loc)
    values = [operand(low, a, name_of(record)) for a in args]
    wanted = len(record.samples[0].args) if record.samples else len(values)
    if len(values) != wanted:
        raise refuse(f"{name_of(record)} takes {wanted} arguments, not {len(values)}", low.loc, kind=InferenceError)
    if numpy_flavour:
        values = as_numpy(low, values)
    return low.entity(low.builder.call(record, values, {}, name=hint), hint)


def _relate(made: Entity, args: Sequence[Entity]) -> None:
    """Record that what was made may be memory of the arguments."""
    for cell in cells_of(made):
        for other in {s for arg in args for c in cells_of(arg) for s in (c, *c.shares)}:
            may_share(cell, other)


def operand(low: Lowering, entity: Entity, what: str) -> Value:
    """An operand; a list or tuple of numbers is an array, as for NumPy."""
    if isinstance(entity, Tup):
        return low.value(arrays.array_from(low, entity, None))
    return low.value(entity, f"an argument of {what}")


def as_numpy(low: Lowering, values: list[Value]) -> list[Value]:
    """NumPy functions make NumPy scalars of Python's numbers; beside arrays they stay weak."""
    if all(isinstance(v.type, ScalarType) and v.type.weak for v in values):
        return [low.builder.cast(v, v.type.dtype, False) for v in values]
    return values


LISTS_OF_AXES = frozenset({np.average, np.gradient, np.median, np.percentile, np.quantile, np.roll})
"""The functions whose axes NumPy takes from a list, too."""


def _bind_composite(
    low: Lowering, record: Composite, args: Sequence[Entity], kwargs: dict[str, Entity], numpy_flavour: bool
) -> inspect.BoundArguments:
    signature = inspect.signature(record.expand)
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError as error:
        name = name_of(record)
        supported = f"{name}({', '.join(map(_parameter_text, signature.parameters.values()))})"
        raise refuse(f"{name}: {error}", low.loc, f"supported: {supported}") from None
    for name, entity in given.arguments.items():
        if (
            isinstance(entity, Const)
            and not entity.is_number
            and _must_be_number(entity, signature.parameters[name], record)
        ):
            low.value(entity, f"an argument of {name_of(record)}")  # says that it is none
        if name in record.static:
            if name == "axis" and LISTS_OF_AXES.isdisjoint(record.python):
                arrays.refuse_list(low, entity)
            given.arguments[name] = low.static(entity, f"{name!r} of {name_of(record)}")
        elif isinstance(entity, tuple):  # *args
            given.arguments[name] = tuple(_argument(low, e, name_of(record), numpy_flavour) for e in entity)
        else:
            given.arguments[name] = _argument(low, entity, name_of(record), numpy_flavour)
    return given


def _must_be_number(entity: Const, parameter: inspect.Parameter, record: Composite) -> bool:
    """Whether a parameter has to be a number or an array; where it may be left out, at least no text."""
    if parameter.name in record.static:
        return False
    return parameter.default is inspect.Parameter.empty or (parameter.default is None and isinstance(entity.value, str))


def name_of(record: Op | Composite) -> str:
    """What users call a record: ``np.sum``."""
    first = record.python[0] if record.python else None
    name = getattr(first, "__name__", record.name)
    if name in np.random.Generator.__dict__ and getattr(np.random.Generator, name) is first:
        return f"Generator.{name}"
    module = getattr(first, "__module__", None) or type(first).__module__
    return f"np.{name}" if module.split(".")[0] == "numpy" else name


def _parameter_text(parameter: inspect.Parameter) -> str:
    star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
    default = "" if parameter.default is inspect.Parameter.empty else f"={parameter.default!r}"
    return f"{star}{parameter.name}{default}"


def _argument(low: Lowering, entity: Entity, what: str, numpy_flavour: bool) -> Any:
    match entity:
        case Tup(items=items):
            return tuple(_argument(low, e, what, False) for e in items)
        case Const() if not entity.is_number:
            return entity.value
        case SliceOf() | Unusable():
            raise refuse(f"{what}: {describe(entity)} is not supported as an argument", low.loc)
    return low.value(entity, f"an argument of {what}")


def _takes(function: Any, count: int) -> bool:
    """Whether a function of `math` can be called with so many arguments."""
    if function is math.log:  # has no signature that Python knows of
        return count in (1, 2)
    try:
        inspect.signature(function).bind(*[None] * count)
    except (TypeError, ValueError):
        return count == 2 and function is math.hypot
    return True


def call_math(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str) -> Entity:
    """A function of `math`: Python floats in and out, Python's errors."""
    rule = MATH[function]
    if kwargs or not _takes(function, len(args)):
        given = f"{len(args)} argument{'s' * (len(args) != 1)}" if not kwargs else f"the keyword {next(iter(kwargs))!r}"
        raise refuse(f"math.{function.__name__}() does not take {given}", low.loc, kind=InferenceError)
    values = []
    for a in args:
        value = low.value(a, f"an argument of math.{function.__name__}")
        if value.type.ndim:
            raise refuse(
                f"math.{function.__name__} takes numbers, not {value.type}",
                low.loc,
                f"np.{rule.numpy_name or function.__name__} takes arrays",
                kind=InferenceError,
            )
        if value.type.dtype.kind == "c":
            why = f"math.{function.__name__} takes no complex numbers"
            raise refuse(why, low.loc, REAL_PART, kind=InferenceError)
        if not isinstance(value.type, ScalarType):
            value = low.builder.scalar(value)
        if function is math.trunc and not is_weak(value.type) and value.type.dtype != FLOAT:
            why = f"math.trunc() of {in_words(value.type)}: NumPy's numbers do not have it"
            raise refuse(why, low.loc, "use int(...)", kind=InferenceError)
        values.append(value)
    return low.entity(rule.build(low.builder, values, low.session.raises), hint)


# -- the user's own functions ---------------------------------------------------------------------


def bound(
    low: Lowering, code: FunctionCode, function: types.FunctionType, args: Sequence[Entity], kwargs: dict[str, Entity]
) -> dict[str, Entity]:
    """Match arguments to parameters; defaults are the objects Python evaluated at the definition."""
    values = function.__defaults__ or ()
    names = [a.id for a in [*code.node.args.posonlyargs, *code.node.args.args]][-len(values) :] if values else []
    place = low.session.defaults_of(function)
    defaults = [default(low, d, (name, place)) for name, d in zip(names, values, strict=True)]
    kw_defaults = {k: default(low, d, (k, place)) for k, d in (function.__kwdefaults__ or {}).items()}
    return bind(low, code.node, code.name, defaults, kw_defaults, args, kwargs)


def default(low: Lowering, value: Any, place: tuple[str, Any] | None = None) -> Entity:
    """A default argument: the object Python evaluated at the definition.

    What can be changed is read at ``place``, where it is kept, as what is read from outside.
    """
    if place is not None and _may_change(value):
        return low.session.outside_at(low, *place)
    if isinstance(value, np.ndarray):
        return Unusable("an array as default value is not supported", "use None and make the array inside")
    if isinstance(value, np.generic):
        return Scalar(low.builder.const(value))
    if isinstance(value, tuple):
        return Tup(tuple(default(low, v) for v in value))
    return Const(value)


def _may_change(value: Any) -> bool:
    """Whether it is, or has, an array, a generator, a list, a dict or an object of the user's."""
    if isinstance(value, tuple):
        return any(map(_may_change, value))
    if isinstance(value, np.ndarray | np.random.Generator | list | dict):
        return True
    return not why_opaque(type(value))


def bind(
    low: Lowering,
    node: Any,
    name: str,
    defaults: Sequence[Entity],
    kw_defaults: dict[str, Entity],
    args: Sequence[Entity],
    kwargs: dict[str, Entity],
) -> dict[str, Entity]:
    """Python's rules for matching arguments to parameters."""
    spec = node.args
    names = [a.id for a in [*spec.posonlyargs, *spec.args]]
    out: dict[str, Entity] = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        if spec.vararg is None:
            takes = f"{len(names)} argument{'s' * (len(names) != 1)}"
            raise refuse(f"{name}() takes {takes} but {len(args)} were given", low.loc, kind=InferenceError)
    if spec.vararg is not None:
        out[spec.vararg.id] = Tup(tuple(args[len(names) :]))
    more: dict[str, Entity] = {}
    allowed = {*(a.id for a in spec.args), *(a.id for a in spec.kwonlyargs)}
    for key, entity in kwargs.items():
        if key not in allowed and spec.kwarg is not None:
            more[key] = entity
            continue
        if key not in allowed:
            raise refuse(f"{name}() got an unexpected keyword argument {key!r}", low.loc, kind=InferenceError)
        if key in out:
            raise refuse(f"{name}() got multiple values for argument {key!r}", low.loc, kind=InferenceError)
        out[key] = entity
    for key, entity in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        out.setdefault(key, entity)
    for key, entity in kw_defaults.items():
        out.setdefault(key, entity)
    wanted = [*names, *(a.id for a in spec.kwonlyargs)]
    missing = [n for n in wanted if n not in out]
    if missing:
        raise refuse(f"{name}() is missing the argument {missing[0]!r}", low.loc, kind=InferenceError)
    order = wanted + ([spec.vararg.id] if spec.vararg is not None else [])
    if spec.kwarg is not None:
        out[spec.kwarg.id] = dicts.new_dict(low, Record(dict, tuple(more), tuple(more.values())), spec.kwarg.id)
        order.append(spec.kwarg.id)
    return {n: out[n] for n in order}


def call_closure(low: Lowering, closure: Closure, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """Call a function defined inside; its free names are read now, as Python does."""
    given = bind(low, closure.node, closure.name, closure.defaults, dict(closure.kw_defaults), args, kwargs)
    code = low.session.nested_code(closure)
    return call_function(low, code, given, captured=dict(closure.captured))


def call_function(
    low: Lowering, code: FunctionCode, args: dict[str, Entity], captured: dict[str, Box] | None = None
) -> Entity:
    """Lower the callee for these arguments, once, and call it."""
    return low.session.lower_callee(low, code, args, captured or {})
