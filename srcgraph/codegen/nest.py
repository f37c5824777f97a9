"""A loop nest that others are joined to: what its parts make, change and read is kept beside them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from srcgraph.codegen.items import (
    InnerReduce,
    Inside,
    Kernel,
    LoopLet,
    LoopReduce,
    LoopStore,
    Part,
    Ref,
    dims_around,
    reads_of,
    ref,
    refs,
)
from srcgraph.codegen.statements import form_of
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ScalarType

Index = tuple[Dim, ...]
Form = tuple[object, ...]
Path = tuple[Inside, ...]


class Nest:
    """The parts of a loop nest by number, in order, and what is known of them.

    Attributes
    ----------
    stores : dict
        By array that is made or changed: the index.
    reads : set of Value
        The variables that it reads, those of it that it makes itself among them.
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
        self.reads = reads_of(kernel)
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

    @property
    def dims(self) -> tuple[Dim, ...]:
        return self.item.dims

    @property
    def all_dims(self) -> tuple[Dim, ...]:
        """The lengths of the loops that the last part is in."""
        return (*self.dims, *(d for loops in self.last for d in loops.dims))

    @property
    def last(self) -> tuple[Inside, ...]:
        """The loops inside the nest that its last part is in."""
        return next(reversed(self.parts.values())).inner

    # -- joining ------------------------------------------------------------------------------------

    def take(self, second: Nest, depth: int) -> None:
        """Run the parts of another nest too, but for numbers that are known here, in the last ``depth`` loops."""
        self.fresh |= second.fresh
        self.reads |= second.reads
        around, more = self._opened(depth), second.item
        rest = Inside(more.dims[depth:], more.extents[depth:])
        path = (*around, rest) if any(d != 1 for d in rest.dims) else around
        parts = second.parts.values()
        self._add([replace(p, inner=(*path, *p.inner)) for p in parts] if path else parts, unsaid=True)

    def _opened(self, depth: int) -> Path:
        """The loops inside the nest around what is done at this depth, after the last part."""
        if depth < len(self.dims):
            rest = Inside(self.dims[depth:], self.item.extents[depth:])
            self.item.dims, self.item.extents = self.dims[:depth], self.item.extents[:depth]
            if any(d != 1 for d in rest.dims):
                self._replace((), (rest,))
        left = depth - len(self.dims)
        for k, loops in enumerate(self.last):
            if left <= 0:
                return self.last[:k]
            if left < len(loops.dims):
                parts = slice(left), slice(left, None)
                self._replace((loops,), [Inside(loops.dims[some], loops.extents[some]) for some in parts])
                return self.last[: k + 1]
            left -= len(loops.dims)
        return self.last

    def _replace(self, old: Path, new: Sequence[Inside]) -> None:
        """Other loops in place of some; around all parts in place of none."""
        self._said = _Said()
        for part in self.parts.values():
            k = part.inner.index(old[0]) if old and old[0] in part.inner else None
            if k is not None or not old:
                part.inner = (*part.inner[:k], *new, *part.inner[k + 1 :]) if k is not None else (*new, *part.inner)
            self._said.again(part)

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
                if is_partial(part, dims_around(part, self.item)):
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

    # -- what is known of it --------------------------------------------------------------------------

    def makes(self, value: Value) -> bool:
        """Whether it is made or changed here."""
        return any(value in known for known in (self.fresh, self.stores, self.sums, self.overwritten))

    def store_of(self, value: Value) -> LoopStore:
        """The part that stores an array."""
        return next(p for p in self.touching(value) if isinstance(p, LoopStore) and p.target is value)

    def shared(self, value: Value, depth: int) -> int:
        """How many of the last part's first loops what stores an array is in, ``depth`` at most."""
        store = self.store_of(value)
        both = [loops for loops, own in zip(self.last, store.inner, strict=False) if loops is own]
        return min(depth, len(self.dims) + sum(len(loops.dims) for loops in both))

    # -- arrays that become numbers -------------------------------------------------------------------

    def touching(self, value: Value) -> list[Part]:
        """The parts that store or read an array."""
        return [part for k in self._at(value) if _touches(part := self.parts[k], value)]

    def _at(self, value: Value) -> list[int]:
        return [k for k in dict.fromkeys(self._touching[value]) if k in self.parts]

    def is_local(self, value: Value) -> bool:
        """Whether each element of a new array is read only at the point where it is made."""
        store = self.store_of(value)
        beside = all(part.inner[: len(store.inner)] == store.inner for part in self.touching(value))
        return beside and list(self.accesses.get(value, ())) == [store.at]

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
        self.known: dict[Value, tuple[Path, Form]] = {}
        self.read: dict[Value, frozenset[Value]] = {}
        self.readers: dict[Value, set[Value]] = defaultdict(set)
        self.path: Path = ()
        self.inside: list[Value] = []
        """Those of loops inside the nest."""

    def again(self, part: Part) -> bool:
        """Whether a part computes a number that is what it would be; it is known from now on."""
        if part.inner != self.path:  # numbers of an inner loop are what its last step left
            self.path = part.inner
            left = {v for v in self.inside if v in self.known and not self._holds(self.known[v][0])}
            self._forget(left)
            self.inside = [v for v in self.inside if v not in left]
        if not isinstance(part, LoopLet):
            return False
        form, known = form_of(part.expr), self.known.get(part.value)
        if known is not None and known[1] == form and self.read[part.value] == frozenset(refs(part.expr)):
            return True
        self._forget(self._derived(part.value))
        self._note(part.value, (part.inner, form), part.expr)
        return False

    def _holds(self, path: Path) -> bool:
        """Whether what is computed in these loops is known where the last part is."""
        return self.path[: len(path)] == path

    def refresh(self, part: Part) -> None:
        """A number is computed by another expression that gives the same."""
        if isinstance(part, LoopLet) and part.value in self.known:
            self._note(part.value, (part.inner, form_of(part.expr)), part.expr)

    def _note(self, value: Value, said: tuple[Path, Form], expr: ast.expr) -> None:
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


def is_partial(store: LoopStore, dims: tuple[Dim, ...]) -> bool:
    """Whether several points of loops of these lengths add to one place."""
    used = {s for d in store.at for s in d.symbols()}
    return bool(store.combine) and not all(f"@{k}" in used for k, d in enumerate(dims) if d != 1)


def _exprs(part: Part) -> list[ast.expr]:
    """What is computed at each point."""
    return [part.expr, *(p.expr for p in part.parts)] if isinstance(part, InnerReduce) else [part.expr]


def _touches(part: Part, value: Value) -> bool:
    """Whether a part stores or reads an array."""
    return (isinstance(part, LoopStore) and part.target is value) or any(v is value for v, _ in part.reads)
