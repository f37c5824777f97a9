"""What the returns of one block have in common, so that only what differs is kept until it is returned.

A `return` in a loop leaves the loop first: what it gives is put into variables, and returned after the loop. A variable
that means the same there needs no other, and a list that still grows must have none: both would be the same list.
Neither do literals, and what tuples, dicts, lists and objects are made of is kept, not these themselves. Of arrays that
the loop exchanges, it is kept which of them is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast

from srcgraph.frontend.scope import assigned


@dataclass(slots=True)
class Returned:
    """What is returned, as an expression, and for each return what has to be assigned for it."""

    value: Any
    assigns: list[list[tuple[str, Any]]]


@dataclass(slots=True)
class Common:
    """The search for it.

    Attributes
    ----------
    fresh : callable
        Gives the name of a new variable.
    stays : callable
        Whether a variable, or a field, still means the same where the value is returned.
    exchanged : frozenset of str
        The variables that are exchanged before they are returned.
    is_class : callable
        Whether a name is that of a class of the user's: an object is made where it is returned.
    """

    fresh: Callable[[], str]
    stays: Callable[[Any], bool]
    exchanged: frozenset[str]
    is_class: Callable[[str], bool]
    assigns: list[list[tuple[str, Any]]] = field(default_factory=list)

    def of(self, values: Sequence[Any]) -> Returned:
        """What the expressions ``values`` of some returns have in common."""
        self.assigns = [[] for _ in values]
        return Returned(self.value(values), self.assigns)

    def value(self, values: Sequence[Any]) -> Any:
        first = values[0]
        if self.is_same(values):
            return first
        if self.is_alike(values):
            parts = [self.value(part) for part in zip(*map(_parts, values), strict=True)]
            return _with_parts(first, parts)
        name = self.fresh()
        if not all(isinstance(v, gast.Name) and v.id in self.exchanged and self.stays(v) for v in values):
            for own, value in zip(self.assigns, values, strict=True):
                own.append((name, value))
            return gast.copy_location(gast.Name(name, gast.Load(), None, None), first)
        return self.one_of(name, values)

    def one_of(self, name: str, values: Sequence[Any]) -> Any:
        """That of ``values`` whose number is kept."""
        different = list({v.id: v for v in values}.values())
        for own, value in zip(self.assigns, values, strict=True):
            number = next(k for k, v in enumerate(different) if v.id == value.id)
            own.append((name, gast.copy_location(gast.Constant(number, None), value)))
        out = different[-1]
        for k, value in reversed(list(enumerate(different[:-1]))):
            kept = gast.Name(name, gast.Load(), None, None)
            test = gast.Compare(kept, [gast.Eq()], [gast.Constant(k, None)])
            out = gast.IfExp(test, value, out)
            for node in (kept, test, test.comparators[0], out):
                gast.copy_location(node, value)
        return out

    def is_same(self, values: Sequence[Any]) -> bool:
        """Whether all are one literal, or one variable or field that still means the same."""
        if len({gast.dump(v) for v in values}) > 1:
            return False
        first = values[0]
        return self.stays(first) if isinstance(first, gast.Name | gast.Attribute) else _is_literal(first)

    def is_alike(self, values: Sequence[Any]) -> bool:
        """Whether all are tuples, lists, dicts or objects that are made of as many parts, in the same way."""
        return len({self.frame(v) for v in values}) == 1 and self.frame(values[0]) is not None

    def frame(self, value: Any) -> tuple | None:
        """What is known of a tuple, list, dict or object without its parts."""
        if any(isinstance(p, gast.Starred) for p in _parts(value)):
            return None
        match value:
            case gast.Tuple() | gast.List():
                return type(value), len(value.elts)
            case gast.Dict() if all(isinstance(k, gast.Constant) for k in value.keys):
                return gast.Dict, *(gast.dump(k) for k in value.keys)
            case gast.Call(func=gast.Name(id=name)) if self.is_class(name) and all(k.arg for k in value.keywords):
                return name, len(value.args), *(k.arg for k in value.keywords)
        return None


def _parts(value: Any) -> list[Any]:
    match value:
        case gast.Tuple() | gast.List():
            return list(value.elts)
        case gast.Dict():
            return list(value.values)
        case gast.Call():
            return [*value.args, *(k.value for k in value.keywords)]
    return []


def _with_parts(value: Any, parts: list[Any]) -> Any:
    match value:
        case gast.Tuple() | gast.List():
            made = type(value)(parts, value.ctx)
        case gast.Dict():
            made = gast.Dict(value.keys, parts)
        case _:
            named = zip(value.keywords, parts[len(value.args) :], strict=True)
            keywords = [gast.copy_location(gast.keyword(k.arg, p), k) for k, p in named]
            made = gast.Call(value.func, parts[: len(value.args)], keywords)
    return gast.copy_location(made, value)


def _is_literal(value: Any) -> bool:
    if isinstance(value, gast.UnaryOp):
        return isinstance(value.operand, gast.Constant)
    return isinstance(value, gast.Constant)


def rebound(block: Sequence[Any]) -> frozenset[str]:
    """The variables that may mean something else after ``block``; what they mean may have changed in place.

    Those only added to, ``h += [x]``, and those only exchanged, ``u, v = v, u``, were bound before it.
    """
    kept = Counter[str]()
    bound = Counter[str]()
    for node in (n for s in block for n in gast.walk(s)):
        if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store):
            bound[node.id] += 1
        if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
            kept[node.target.id] += 1
        if isinstance(node, gast.Assign) and (names := _exchanged(node)):
            kept.update(names)
    return frozenset(n for n in assigned(block) if bound[n] != kept[n])


def exchanged(block: Sequence[Any]) -> frozenset[str]:
    """The variables that ``u, v = v, u`` somewhere in ``block`` exchanges."""
    nodes = (n for s in block for n in gast.walk(s))
    return frozenset(name for n in nodes if isinstance(n, gast.Assign) for name in _exchanged(n))


def fields_set(block: Sequence[Any]) -> frozenset[str]:
    """The names of the fields that ``block`` assigns, of whatever object."""
    nodes = (n for s in block for n in gast.walk(s))
    return frozenset(n.attr for n in nodes if isinstance(n, gast.Attribute) and not isinstance(n.ctx, gast.Load))


def _exchanged(node: gast.Assign) -> list[str]:
    """The names that ``u, v = v, u`` exchanges."""
    if len(node.targets) != 1 or not isinstance(node.targets[0], gast.Tuple) or not isinstance(node.value, gast.Tuple):
        return []
    sides = [[e.id for e in side.elts if isinstance(e, gast.Name)] for side in (node.targets[0], node.value)]
    whole = len(sides[0]) == len(node.targets[0].elts) and len(set(sides[0])) == len(sides[0])
    return sides[0] if whole and sorted(sides[0]) == sorted(sides[1]) else []
