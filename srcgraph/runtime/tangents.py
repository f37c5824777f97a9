"""Forward mode as a transform: from a function of (values, directions) to (value, tangent)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.template import TupleOf, places
from srcgraph.infer.signature import (
    ArrayArg,
    BoxArg,
    ItemsArg,
    ObjectArg,
    RecordArg,
    RowsArg,
    ScalarArg,
    Skeleton,
    StaticArg,
    TupleArg,
    columns,
    part_name,
)
from srcgraph.opt.ad.jvp import pushforward
from srcgraph.opt.ad.transpose import transposed
from srcgraph.runtime.floats import count_leaves, float_items, placed
from srcgraph.runtime.transforms import Kept, Version, derived_version, describe_argument, main_and_aux, moving


@dataclass(frozen=True, slots=True)
class Tangent:
    """Values and how they move, of a function of ``count`` arguments, then their directions.

    With ``has_aux`` the function returns (what moves, anything else), and the version (value, tangent, anything else).
    """

    count: int
    has_aux: bool = False

    def __call__(self, version: Version) -> Version:
        if version.never:
            return version.raising()
        inputs = dict(self.pairs(version))
        main, aux = main_and_aux(version, self.has_aux)
        version, tree = moving(version, main, "jvp")
        kept = Kept(version)
        parts = [kept.template(main)] + ([] if aux is None else [kept.template(aux)])
        outputs = list(dict.fromkeys(places(tree)))
        pushed = pushforward(version.graph, inputs, outputs, kept.results, version.functions, version.rules, transposed)
        tangent = placed(tree, lambda k: len(kept.results) + outputs.index(k))
        template = TupleOf((parts[0], tangent, *parts[1:]))
        return derived_version(version, "jvp", pushed.graph, template, pushed.callees, version.tape)

    def pairs(self, version: Version) -> Iterator[tuple[int, int]]:
        """For each leaf that moves, its parameter and that of its direction."""
        names, given = list(version.arguments), list(version.arguments.values())
        second = sum(count_leaves(x) for x in given[: self.count])
        moves = given[self.count : 2 * self.count]
        yield from _each(names[: self.count], given[: self.count], moves, 0, second)


def _each(
    names: Sequence[str], given: Sequence[Skeleton], moves: Sequence[Skeleton], first: int, second: int
) -> Iterator[tuple[int, int]]:
    for name, x, t in zip(names, given, moves, strict=True):
        yield from _paired(x, t, first, second, name)
        first, second = first + count_leaves(x), second + count_leaves(t)


def _paired(x: Skeleton, t: Skeleton, first: int, second: int, where: str) -> Iterator[tuple[int, int]]:
    match x, t:
        case _, StaticArg(value=None):
            return
        case (TupleArg(), TupleArg()) | (ItemsArg(), ItemsArg()) if len(x.items) == len(t.items):
            cls = x.cls if isinstance(x, TupleArg) else list
            names = [part_name(where, cls, k) for k in range(len(x.items))]
            yield from _each(names, x.items, t.items, first, second)
        case (
            ObjectArg(cls=cls, box=BoxArg(content=RecordArg() as own)),
            ObjectArg(box=BoxArg(content=RecordArg() as other)),
        ):
            yield from _by_name(cls, own, other, first, second, where)
        case (RowsArg(), RowsArg()) if t.item in (x.item, float_items(x.item)):
            theirs = iter([second + k for k, (_, dtype) in enumerate(columns(t.item)) if dtype.kind == "f"])
            own = [first + k for k, (_, dtype) in enumerate(columns(x.item)) if dtype.kind == "f"]
            yield from zip(own, theirs, strict=True)
        case (ScalarArg(dtype=dtype), ScalarArg()) | (ArrayArg(dtype=dtype), ArrayArg()) if (
            dtype.kind == "f" and dtype == t.dtype and len(getattr(x, "shape", ())) == len(getattr(t, "shape", ()))
        ):
            yield first, second
        case (ScalarArg(dtype=dtype), _) | (ArrayArg(dtype=dtype), _) if dtype.kind == "c":
            why = f"jvp: {where} is {describe_argument(x)}: derivatives by complex numbers are not supported"
            raise ArgumentError(Problem(why, hint="pass the real and the imaginary part as two arguments"))
        case _:
            hint = "a tangent has the structure, the shape and the dtype of its primal; that of an integer is None"
            message = f"jvp: the tangent of {where}, {describe_argument(x)}, is {describe_argument(t)}"
            raise ArgumentError(Problem(message, hint=hint))


def _by_name(
    cls: type, own: RecordArg, other: RecordArg, first: int, second: int, where: str
) -> Iterator[tuple[int, int]]:
    """The same of the fields of an object, or a dict's entries, in whatever order a tangent has them."""
    if set(own.names) != set(other.names):
        message = f"jvp: {where} has {_listed(own.names)}, and its tangent {_listed(other.names)}"
        raise ArgumentError(Problem(message, hint="a tangent has the structure of its primal"))
    starts = {}
    for name, item in zip(other.names, other.items, strict=True):
        starts[name] = item, second
        second += count_leaves(item)
    for name, item in zip(own.names, own.items, strict=True):
        yield from _paired(item, starts[name][0], first, starts[name][1], part_name(where, cls, name))
        first += count_leaves(item)


def _listed(names: Sequence[str]) -> str:
    return f"the entries {', '.join(map(repr, names))}" if names else "no entries"
