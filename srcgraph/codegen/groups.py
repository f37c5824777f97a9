"""Groups of variables that share a name, and so memory: those that are never needed at once."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from srcgraph.codegen.liveness import NOTHING, Liveness
from srcgraph.codegen.spans import Spans
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType, ListType, ScalarType


@dataclass(eq=False, slots=True)
class Group:
    """Variables of one name.

    Attributes
    ----------
    members : dict
        In the order in which they joined.
    order : int
        The place of the first of them in the text.
    fixed : bool
        Whether one of them is a parameter.
    spans : Spans
        Where one of them is needed.
    assigned : list
        Where one of them is assigned, sorted: the point, a number, and what may be needed there nevertheless.
    apart : set of Value
        Variables that cannot join, whatever is needed where.
    users : set of str
        What the user called them.
    is_element : bool
        Whether they are arrays of which only an element at a time is a variable.
    """

    members: dict[Value, None]
    order: int
    fixed: bool
    spans: Spans
    assigned: list[tuple[int, int, Collection[Value]]] = field(default_factory=list)
    apart: set[Value] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    is_element: bool = False

    @property
    def first(self) -> Value:
        return next(iter(self.members))

    def take(self, other: Group) -> None:
        """Make the members of another group this one's."""
        self.members |= other.members
        self.users |= other.users
        self.apart |= other.apart
        self.fixed |= other.fixed
        for start, end in other.spans:
            self.spans.add(start, end)
        for one in other.assigned:
            insort(self.assigned, one)


class Groups:
    """The variables of a function, each in a group; two become one where that changes nothing.

    Parameters
    ----------
    live : Liveness
    fixed : iterable of Value
        Parameters, which are apart from each other.
    """

    def __init__(self, live: Liveness, fixed: Iterable[Value]):
        self.live = live
        self.fixed = frozenset(fixed)
        self._groups: dict[Value, Group] = {}
        self._apart: dict[Value, set[Value]] = defaultdict(set)
        self._assigned = 0

    def __contains__(self, value: Value) -> bool:
        return value in self._groups

    def __iter__(self) -> Iterator[Value]:
        return iter(self._groups)

    def __getitem__(self, value: Value) -> Group:
        return self._groups[value]

    def all(self) -> list[Group]:
        """Every group once."""
        return list(dict.fromkeys(self._groups.values()))

    # -- what is known of each ------------------------------------------------------------------------

    def assign(self, value: Value, point: int, spared: Collection[Value] = NOTHING) -> Group:
        """Note where a variable is assigned; what is needed there has another name, but for what is ``spared``."""
        group = self._groups.get(value)
        if group is None:
            spans = Spans(self.live.spans.get(value, ()))
            group = Group({value: None}, len(self._groups), value in self.fixed, spans, apart=self._apart[value])
            self._groups[value] = group
        self._assigned += 1
        insort(group.assigned, (point, self._assigned, spared))
        return group

    def need(self, value: Value, point: int) -> None:
        """A variable is needed at a point at which nothing reads it."""
        self.live.spans.setdefault(value, Spans()).add(point, point)
        if value in self._groups:
            self._groups[value].spans.add(point, point)

    def keep_apart(self, value: Value, others: Iterable[Value]) -> None:
        """No name for both, wherever they are needed."""
        for other in others:
            if other is not value:
                self._apart[value].add(other)
                self._apart[other].add(value)

    # -- joining ----------------------------------------------------------------------------------------

    def join(self, x: Value, y: Value, even_if_named: bool = False) -> bool:
        """Give two variables one name, if they may have one; whether they have."""
        a, b = self._groups[x], self._groups[y]
        if a is b:
            return True
        if not _same_storage(a.first, b.first) or a.is_element != b.is_element:
            return False
        if (_named_apart(a, b) and not even_if_named) or self._clash(a, b):
            return False
        if b.order < a.order:
            a, b = b, a
        a.take(b)
        self._groups.update(dict.fromkeys(b.members, a))
        return True

    def _clash(self, a: Group, b: Group) -> bool:
        if a.fixed and b.fixed:
            return True
        small, large = (a, b) if len(a.members) <= len(b.members) else (b, a)
        if not large.apart.isdisjoint(small.members):
            return True
        return self._overwrites(small, large) or self._overwrites(large, small)

    def _overwrites(self, a: Group, b: Group) -> bool:
        """Whether one of ``a`` is assigned where one of ``b`` is needed."""
        if len(a.assigned) <= len(b.spans):
            return any(point in b.spans and self._is_needed(b, point, spared) for point, _, spared in a.assigned)
        return any(
            self._is_needed(b, point, spared)
            for start, end in b.spans
            for point, _, spared in a.assigned[bisect_left(a.assigned, (start,)) : bisect_left(a.assigned, (end + 1,))]
        )

    def _is_needed(self, group: Group, point: int, spared: Collection[Value]) -> bool:
        return not spared or any(v not in spared and self.live.needed(v, point) for v in group.members)


def _named_apart(a: Group, b: Group) -> bool:
    """Whether the user gave two variables different names; sharing one would mislead."""
    return bool(a.users and b.users and a.users.isdisjoint(b.users))


def _same_storage(x: Value, y: Value) -> bool:
    """Whether two variables may be one: the same dtype and the same number of axes."""
    a, b = x.type, y.type
    if isinstance(a, ScalarType) and isinstance(b, ScalarType):
        return a.dtype == b.dtype
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return (a.dtype, a.ndim) == (b.dtype, b.ndim)
    return isinstance(a, ListType) and isinstance(b, ListType) and _same_item(a, b)


def _same_item(a: ListType, b: ListType) -> bool:
    return type(a.item) is type(b.item) and a.item.dtype == b.item.dtype and a.item.ndim == b.item.ndim
