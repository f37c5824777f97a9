"""Forward mode as a transform: from a function of (values, directions) to (value, tangent)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from srcgraph.codegen.storage import Interface
from srcgraph.errors import ArgumentError, DerivativeError, Problem
from srcgraph.frontend.template import (
    ArgumentView,
    Fixed,
    Never,
    NewArray,
    Out,
    RecordOf,
    Template,
    TupleOf,
)
from srcgraph.infer.signature import ArrayArg, ScalarArg, Skeleton, StaticArg, TupleArg
from srcgraph.ir.types import is_inexact
from srcgraph.opt.ad.forward import pushforward
from srcgraph.runtime.transforms import Kept, Version, describe_argument, describe_result, interfaces, leaf_positions


@dataclass(frozen=True, slots=True)
class Tangent:
    """Values and how they move, of a function of ``count`` arguments, then their directions."""

    count: int

    def __call__(self, version: Version) -> Version:
        if isinstance(version.template, Never):
            private = tuple({*version.private, *version.interface.changed})
            return replace(version, interface=Interface({}, []), private=private)
        inputs = dict(self.pairs(version))
        kept, moved = Kept(version), _Moved(version, inputs)
        value, tangent = kept.template(version.template), moved.template(version.template)
        pushed = pushforward(version.graph, inputs, moved.results, kept.results, version.functions, version.rules)
        template = TupleOf((value, moved.shifted(tangent, len(kept.results))))
        interface = Interface({}, list(range(len(pushed.graph.results))), owned=version.interface.owned)
        private = tuple({*version.private, *version.interface.changed})
        name = f"{version.name}_jvp"
        arguments, tape, callees = version.arguments, version.tape, interfaces(pushed.callees)
        return Version(name, pushed.graph, interface, template, arguments, private, tape, callees, rules=version.rules)

    def pairs(self, version: Version) -> Iterator[tuple[int, int]]:
        """For each leaf that moves, its parameter and that of its direction."""
        names, given = list(version.arguments), list(version.arguments.values())
        first, second = 0, sum(_leaves(x) for x in given[: self.count])
        for name, x, t in zip(names[: self.count], given, given[self.count :], strict=False):
            yield from _paired(x, t, first, second, name)
            first, second = first + _leaves(x), second + _leaves(t)


def _leaves(skeleton: Skeleton) -> int:
    return len(list(leaf_positions(skeleton, 0)))


def _paired(x: Skeleton, t: Skeleton, first: int, second: int, where: str) -> Iterator[tuple[int, int]]:
    if isinstance(x, TupleArg) and isinstance(t, TupleArg) and len(x.items) == len(t.items):
        for k, (inner, moves) in enumerate(zip(x.items, t.items, strict=True)):
            yield from _paired(inner, moves, first, second, f"{where}[{k}]")
            first, second = first + _leaves(inner), second + _leaves(moves)
    elif isinstance(t, StaticArg) and t.value is None:
        return
    elif isinstance(x, ScalarArg | ArrayArg) and x.dtype.kind == "f" and type(x) is type(t) and _same_kind(x, t):
        yield first, second
    else:
        hint = "a tangent has the shape and the dtype of its primal; that of an integer is None"
        message = f"jvp: the tangent of {where}, {describe_argument(x)}, is {describe_argument(t)}"
        raise ArgumentError(Problem(message, hint=hint))


def _same_kind(x: ScalarArg | ArrayArg, t: Skeleton) -> bool:
    assert isinstance(t, ScalarArg | ArrayArg)
    return x.dtype == t.dtype and len(getattr(x, "shape", ())) == len(getattr(t, "shape", ()))


class _Moved(Kept):
    """The tangent of what is returned, over the results whose tangents it needs."""

    def __init__(self, version: Version, inputs: dict[int, int]):
        super().__init__(version)
        self.inputs = inputs

    def template(self, template: Template) -> Template:
        types = [r.type for r in self.version.graph.results]
        match template:
            case Out(index=k):
                return Out(self.at(k)) if is_inexact(types[k]) else Fixed(None)
            case NewArray(index=k, view=None):
                return NewArray(self.at(k)) if is_inexact(types[k]) else Fixed(None)
            case ArgumentView(param=param, view=None) if param in self.version.interface.changed:
                return NewArray(self.at(self.version.interface.changed[param]))
            case ArgumentView(param=param, view=None) if param in self.inputs:
                return ArgumentView(self.inputs[param], None, ())
            case TupleOf(items=items, cls=cls):
                return TupleOf(tuple(map(self.template, items)), cls)
            case RecordOf(cls=cls, names=names, items=items):
                return RecordOf(cls, names, tuple(map(self.template, items)))
            case Fixed():
                return Fixed(None)
        what = describe_result(self.version, template)
        raise DerivativeError(Problem(f"jvp: {self.version.name} returns {what}, whose tangent is not supported"))

    def shifted(self, template: Template, by: int) -> Template:
        """Over all results, the tangents coming after the kept ones."""
        match template:
            case Out(index=k):
                return Out(k + by)
            case NewArray(index=k):
                return NewArray(k + by)
            case TupleOf(items=items, cls=cls):
                return TupleOf(tuple(self.shifted(t, by) for t in items), cls)
            case RecordOf(cls=cls, names=names, items=items):
                return RecordOf(cls, names, tuple(self.shifted(t, by) for t in items))
        return template
