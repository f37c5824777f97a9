"""A loop nest that others are joined to: what its parts make, change and read is kept beside them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from srcgraph.codegen.expr import loop_index
from srcgraph.codegen.items import (
    InnerReduce,
    Kernel,
    LoopLet,
    LoopReduce,
    LoopStore,
    Part,
    Ref,
    ref,
    refs,
)
from srcgraph.codegen.statements import form_of
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ScalarType

Index = tuple[Dim, ...]
Form = tuple[object, ...]


class Nest:
    """The parts of a loop nest by number, in order, and what is known of them.

    Attributes
    ----------
    stores : dict
        By array that is made or changed: the index.
    sums : set of Value
        What is complete only after the nest: reductions, and arrays to whose elements several points add.
    overwritten : set of Value
        The arrays that are stored into, as they were before.
    partial : bool
        Whether several points add to one place.
    accesses : dict
        By array: the indices it is read at.
    results, lets : set of Value
        What stores and reductions compute, and the numbers of each point.
    """

    def __init__(self, kernel: Kernel):
        self.item = kernel
        self.dims = kernel.dims
        self.fresh = dict(kernel.fresh)
        self.parts: dict[int, Part] = {}
        self.stores: dict[Value, Index] = {}
        self.sums: set[Value] = set()
        self.overwritten: set[Value] = set()
        self.partial = False
        self.accesses: dict[Value, dict[Index, None]] = defaultdict(dict)
        self.results: set[Value] = set()
        self.lets: set[Value] = set()
        self._count = 0
        self._touching: dict[Value, list[int]] = defaultdict(list)
        self._said = _Said()
        self._add(kernel.parts)

    def kernel(self) -> Kernel:
        """The nest as an item, the very one that it was made of."""
        self.item.parts = list(self.parts.values())
        self.item.fresh = list(self.fresh.items())
        return self.item

    # -- joining ------------------------------------------------------------------------------------

    def take(self, second: Nest, more: tuple[Dim, ...]) -> None:
        """Run the parts of another nest too, inside loops over ``more``, but for numbers that are known here."""
        self.fresh |= second.fresh
        parts = second.parts.values()
        self._add([replace(p, inner=more) for p in parts] if more else parts, unsaid=True)

    def _add(self, parts: Iterable[Part], unsaid: bool = False) -> None:
        """Enter parts; ``unsaid``: but for numbers that are known."""
        for part in parts:
            if not (self._said.again(part) and unsaid):
                self._enter(part)

    def _enter(self, part: Part) -> None:
        self._count += 1
        self.parts[self._count] = part
        match part:
            case LoopStore():
                self.stores[part.target] = part.at
                self.results.add(part.target)
                self._touching[part.target].append(self._count)
                if part.base is not None:
                    self.overwritten.add(part.base)
                if is_partial(part, self.dims):
                    self.partial = True
                    self.sums.add(part.target)
            case LoopReduce():
                self.sums.add(part.acc)
                self.results.add(part.out)
            case LoopLet():
                self.lets.add(part.value)
        for value, index in part.reads:
            self.accesses[value][index] = None
        for value in {v for e in _exprs(part) for v in refs(e)}.union(v for v, _ in part.reads):
            self._touching[value].append(self._count)

    # -- arrays that become numbers -------------------------------------------------------------------

    def touching(self, value: Value) -> list[Part]:
        """The parts that store or read an array."""
        return [part for k in self._at(value) if _touches(part := self.parts[k], value)]

    def _at(self, value: Value) -> list[int]:
        return [k for k in dict.fromkeys(self._touching[value]) if k in self.parts]

    def is_local(self, value: Value) -> bool:
        """Whether each element of a new array is read only at the point where it is made."""
        touching = self.touching(value)
        index = loop_index((*self.dims, *touching[0].inner)) if touching else ()
        if list(self.accesses.get(value, ())) != [index]:
            return False
        return not touching[0].inner or self._side_by_side(value)

    def _side_by_side(self, value: Value) -> bool:
        """Whether what stores and what reads an array is in one inner loop."""
        groups: set[int] = set()
        inner: Index | None = None
        group = 0
        for k, part in self.parts.items():
            if part.inner != inner:
                inner, group = part.inner, k
            if _touches(part, value):
                groups.add(group)
        return len(groups) == 1

    def contract(self, value: Value) -> None:
        """A number in place of an array's element: the one that was stored, if it has a name."""
        del self.fresh[value]
        number = value
        for k in self._at(value):
            part = self.parts[k]
            inner = part.parts if isinstance(part, InnerReduce) else []
            for one in (part, *inner):
                one.reads = [r for r in one.reads if r[0] is not value]
                if not isinstance(one, LoopStore) or one.target is not value:
                    one.expr = _Numbered(value, number).visit(one.expr)
            if isinstance(part, LoopStore) and part.target is value:
                stored = part.expr.value if isinstance(part.expr, Ref) else None
                if stored is not None and not value.name and isinstance(stored.type, ScalarType):
                    number = stored
                    del self.parts[k]
                else:
                    self.parts[k] = part = LoopLet(value, part.expr, part.reads, part.origin, part.inner)
                    self.lets.add(value)
            self._said.refresh(part)
        for known in (self.stores, self.accesses):
            known.pop(value, None)
        for kept in (self.sums, self.results):
            kept.discard(value)


class _Said:
    """Which numbers of a point are known, and how they were computed."""

    def __init__(self) -> None:
        self.known: dict[Value, tuple[Index, Form]] = {}
        self.read: dict[Value, frozenset[Value]] = {}
        self.readers: dict[Value, set[Value]] = defaultdict(set)
        self.inner: Index = ()
        self.inside: list[Value] = []
        """Those of the inner loop."""

    def again(self, part: Part) -> bool:
        """Whether a part computes a number that is what it would be; it is known from now on."""
        if part.inner != self.inner:  # numbers of an inner loop are what its last step left
            self._forget(self.inside)
            self.inner, self.inside = part.inner, []
        if not isinstance(part, LoopLet):
            return False
        said = part.inner, form_of(part.expr)
        if self.known.get(part.value) == said and self.read[part.value] == frozenset(refs(part.expr)):
            return True
        self._forget(self._derived(part.value))
        self._note(part.value, said, part.expr)
        return False

    def refresh(self, part: Part) -> None:
        """A number is computed by another expression that gives the same."""
        if isinstance(part, LoopLet) and part.value in self.known:
            self._note(part.value, (part.inner, form_of(part.expr)), part.expr)

    def _note(self, value: Value, said: tuple[Index, Form], expr: ast.expr) -> None:
        self.known[value] = said
        if said[0]:
            self.inside.append(value)
        self.read[value] = frozenset(refs(expr))
        for v in self.read[value]:
            self.readers[v].add(value)

    def _derived(self, changed: Value) -> Collection[Value]:
        """A number and those for which it was read."""
        found = {changed: None}
        todo = [changed]
        while todo:
            for reader in self.readers.get(todo.pop(), ()):
                if reader not in found:
                    found[reader] = None
                    todo.append(reader)
        return found

    def _forget(self, values: Iterable[Value]) -> None:
        for value in values:
            if self.known.pop(value, None) is not None:
                for v in self.read.pop(value):
                    self.readers[v].discard(value)


class _Numbered(ast.NodeTransformer):
    """Reads of one array's element become reads of a number of the loop."""

    def __init__(self, value: Value, number: Value):
        self.value = value
        self.number = number

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, Ref) and node.value.value is self.value:
            return ref(self.number)
        return self.generic_visit(node)  # type: ignore[return-value]


def is_partial(part: Part, dims: tuple[Dim, ...]) -> bool:
    """Whether several points of a nest over ``dims`` add to one place."""
    if not isinstance(part, LoopStore) or not part.combine:
        return False
    used = {s for d in part.at for s in d.symbols()}
    return not all(f"@{k}" in used for k, d in enumerate((*dims, *part.inner)) if d != 1)


def _exprs(part: Part) -> list[ast.expr]:
    """What is computed at each point."""
    return [part.expr, *(p.expr for p in part.parts)] if isinstance(part, InnerReduce) else [part.expr]


def _touches(part: Part, value: Value) -> bool:
    """Whether a part stores or reads an array."""
    return (isinstance(part, LoopStore) and part.target is value) or any(v is value for v, _ in part.reads)
