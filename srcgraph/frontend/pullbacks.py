"""What `vjp` returns inside compiled functions: a function that runs the reverse sweep on what was saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError
from srcgraph.frontend import structures
from srcgraph.frontend.callees import Summary, call_summary
from srcgraph.frontend.custom import Rules
from srcgraph.frontend.derived import Inside
from srcgraph.frontend.entities import Array, Const, Entity, Partial, Scalar
from srcgraph.frontend.fitting import Fitting, items_of
from srcgraph.frontend.memory import ref_type, refuse
from srcgraph.frontend.passing import Arguments
from srcgraph.frontend.template import (
    FunctionOf,
    ListOf,
    NewArray,
    NewBox,
    ObjectOf,
    Out,
    RecordOf,
    Template,
    TupleOf,
    places,
)
from srcgraph.infer.signature import (
    ArrayArg,
    BoxArg,
    ItemsArg,
    ObjectArg,
    RecordArg,
    ScalarArg,
    Skeleton,
    StaticArg,
    TupleArg,
)
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import TensorType
from srcgraph.ir.walk import calling

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@dataclass(frozen=True, eq=False, slots=True)
class Pulled(Inside):
    """Calls a reverse sweep with lengths of the value, what was saved, and a cotangent.

    Attributes
    ----------
    summary : Summary
        The reverse sweep: of what was saved, and the cotangents of the value's floats.
    like : Skeleton
        The structure of the value.
    floats : tuple of int
        For each float in it, which cotangent is its own: one float may be in it twice.
    """

    summary: Summary
    like: Skeleton
    floats: tuple[int, ...]

    def lower(self, low: Lowering, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
        return call(low, self, args, kwargs)

    def rebuilt(self, parts: Sequence[Any]) -> Entity:
        return Partial(Const(self), tuple(parts), ())

    def measured(self, low: Lowering, value: Entity) -> tuple[Entity, ...]:
        """The lengths of a value, which come first among the arguments."""
        known = dict(zip(self.floats, _floats(low, value, self.like), strict=True))
        return tuple(Scalar(low.builder.dim_value(d)) for k in sorted(known) for d in _shape(low, known[k]))


def with_pullback(low: Lowering, template: Template, reverse: Any, names: Mapping[str, str]) -> Template:
    """(value, what is saved, ...) with a function in place of what is saved; ``names`` are those of what it calls."""
    assert isinstance(template, TupleOf)
    value, saved, *aux = template.items
    assert isinstance(saved, TupleOf)
    name = low.session.graph_name(reverse.version.name)
    graph = replace(calling(reverse.version.graph, names), name=name)
    summary = Summary(name, graph, reverse.version.template, (), (), (), (), frozenset())
    low.session.graphs[name], low.session.summaries[name] = graph, summary
    pulled = Pulled(summary, _like(low, reverse.value, reverse.types), tuple(places(reverse.value)))
    return TupleOf((value, FunctionOf(pulled, saved.items), *aux))


def _like(low: Lowering, tree: Template | None, types: Sequence[TensorType]) -> Skeleton:
    """The floats of a structure; None for all else."""
    match tree:
        case Out(index=k):
            return ScalarArg(types[k].dtype, getattr(types[k], "weak", False))
        case NewArray(index=k):
            return ArrayArg(types[k].dtype, ("n",) * types[k].ndim, k)
        case TupleOf(items=items, cls=cls):
            return TupleArg(tuple(_like(low, t, types) for t in items), cls)
        case ListOf(content=TupleOf(items=items), cell=cell):
            return ItemsArg(tuple(_like(low, t, types) for t in items), cell)
        case ObjectOf(cls=cls, box=NewBox(number=number, content=RecordOf(names=names, items=items))):
            fields = RecordArg(cls, names, tuple(_like(low, t, types) for t in items))
            return ObjectArg(cls, BoxArg(number, fields))
        case ListOf():
            why = "vjp of a function that returns a list of a length known at run time only"
            raise refuse(why, low.loc, "return an array: np.array(...)", kind=InferenceError)
        case ObjectOf():
            why = "vjp of a function that returns an object twice"
            raise refuse(why, low.loc, "return it once", kind=InferenceError)
    return StaticArg(None)


def _shape(low: Lowering, entity: Entity) -> tuple[Dim, ...]:
    return ref_type(low, entity).shape if isinstance(entity, Array) else ()


def _floats(low: Lowering, entity: Entity, like: Skeleton) -> Iterator[Entity]:
    """The floats of a value, in order."""
    if isinstance(like, ScalarArg | ArrayArg):
        yield entity
    elif not isinstance(like, StaticArg):
        found = structures.parts(low, entity, "") or ()
        for (_, inner), s in zip(found, items_of(like), strict=True):
            yield from _floats(low, inner, s)


def call(low: Lowering, pulled: Pulled, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """The cotangents of the arguments, from that of the value."""
    params = pulled.summary.graph.params
    types = [p.type for p in params[len(params) - len(set(pulled.floats)) :]]
    count = sum(t.ndim for t in types)
    lengths, saved, cotangents = args[:count], args[count : count + len(params) - len(types)], args[count:]
    cotangents = cotangents[len(saved) :]
    if kwargs or len(cotangents) != 1:
        raise refuse("a pullback takes one cotangent, in the structure of the value", low.loc, kind=InferenceError)
    sizes = iter([low.value(e) for e in lengths])
    shapes = [[next(sizes) for _ in range(t.ndim)] for t in types]
    likes = ((types[k], shapes[k]) for k in pulled.floats)
    found: list[Value | None] = [None] * len(types)
    fitting = Fitting(low, Rules("the pullback", low.loc), "cotangent", likes, (TupleArg, ItemsArg, ObjectArg))
    for k, value in zip(pulled.floats, fitting.values(cotangents[0], pulled.like, "the value"), strict=True):
        before = found[k]
        found[k] = value if before is None else OPS["add"](before, value)
    given = Arguments(low, apart=True)
    for value in (*map(low.value, saved), *found):
        assert value is not None
        given.add(value, None)
    return call_summary(low, pulled.summary, given)
