"""Neighbouring loop nests over the same lengths become one, where no element is read before it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from srcgraph.codegen.expr import loop_index
from srcgraph.codegen.items import (
    Access,
    InnerReduce,
    Item,
    Kernel,
    Let,
    LoopLet,
    LoopReduce,
    LoopStore,
    Part,
    Ref,
    reads_of,
    ref,
    refs,
    writes_of,
)
from srcgraph.codegen.statements import names_in
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.types import ScalarType

if TYPE_CHECKING:
    from srcgraph.codegen.schedule import Scheduler


FEW = 16
"""The longest loop that is put inside of a nest that makes what it reads."""


def fused(items: list[Item], s: Scheduler) -> list[Item]:
    """Join neighbouring nests over the same lengths where no element is read before it is made."""
    out: list[Item] = []
    for item in items:
        if isinstance(item, Kernel):
            at = _partner(out, item, s)
            if at is not None:
                first = out[at]
                assert isinstance(first, Kernel)
                free = [_independent(first, b) for b in out[at + 1 :]]
                earlier, later = ([b for b, f in zip(out[at + 1 :], free, strict=True) if f is side] for side in _SIDES)
                out[at:] = [*earlier, _joined(first, item, s), *later]
                continue
        out.append(item)
    return out


def _partner(out: list[Item], item: Kernel, s: Scheduler) -> int | None:
    """The last nest before ``item`` that it can join: only lets may lie between, which one of both does not need."""
    between: list[Let] = []
    for at in range(len(out) - 1, -1, -1):
        before = out[at]
        if isinstance(before, Kernel):
            return at if _can_part(before, between, item) and _can_join(before, item, s) else None
        if not isinstance(before, Let):
            return None
        between.append(before)
    return None


_SIDES = (True, False)


def _can_part(first: Kernel, between: Sequence[Let], second: Kernel) -> bool:
    """Whether what stands between two nests may run before the first, or after the second."""
    later = [b for b in between if not _independent(first, b)]
    needed = reads_of(second).union(*(reads_of(b) for b in between if b not in later))
    return all(b.value not in needed and _is_of_numbers(b) for b in later)


def _is_of_numbers(let: Let) -> bool:
    """Whether a number is computed from numbers, which neither a store nor a draw changes."""
    drawn = any(n.id.startswith("draw_") for n in names_in(let.expr))
    return not drawn and all(isinstance(v.type, ScalarType) for v in (let.value, *refs(let.expr)))


def _independent(kernel: Kernel, item: Item) -> bool:
    """Whether a let may run before a nest that stands before it."""
    made_there = set(writes_of(kernel))
    changed = {p.base for p in kernel.parts if isinstance(p, LoopStore) and p.base is not None}
    return made_there.isdisjoint(reads_of(item)) and changed.isdisjoint(reads_of(item))


def _can_join(first: Kernel, second: Kernel, s: Scheduler) -> bool:
    if first.dims != second.dims and not (s.write.target == "cpu" and _goes_inside(first, second)):
        return False
    made_by_first = {p.target: p.at for p in first.parts if isinstance(p, LoopStore)}
    sums = {p.acc for p in first.parts if isinstance(p, LoopReduce)}
    sums |= {p.target for p in first.parts if isinstance(p, LoopStore) and _partial(p, first)}
    if not sums.isdisjoint(reads_of(second)):
        return False
    overwritten = {p.base for p in first.parts if isinstance(p, LoopStore) and p.base is not None}
    for value, index in _accesses(second):
        if value in overwritten or (value in made_by_first and index != made_by_first[value]):
            return False
    for part in second.parts:
        if isinstance(part, LoopStore) and part.base is not None:
            if part.base in overwritten:
                return False  # both change one array: one of them changes a copy
            if part.base in made_by_first and (part.at != made_by_first[part.base] or _partial(part, second)):
                return False
            if any(v is part.base and (i != part.at or _partial(part, second)) for v, i in _accesses(first)):
                return False
            if part.base in made_by_first and _readers_outside(part.base, _both(first, second), s):
                return False  # what the first nest made is needed after the second has changed it
    several = any(_partial(p, k) for k in (first, second) for p in k.parts)
    return not several or (s.write.target == "cpu" and _shares(first, second))


def _goes_inside(first: Kernel, second: Kernel) -> bool:
    """Whether a nest is over what another is over and few elements more, of what that one makes."""
    more = second.dims[len(first.dims) :]
    few = all(d.const is not None and d.const <= FEW for d in more)
    flat = not any(p.inner or isinstance(p, InnerReduce) for p in second.parts)
    return second.dims[: len(first.dims)] == first.dims and bool(more) and few and flat and _shares(first, second)


def _shares(first: Kernel, second: Kernel) -> bool:
    """Whether a nest reads what another makes."""
    made = {v for v, _ in first.fresh}
    return any(v in made for v, _ in _accesses(second))


def _partial(part: Part, kernel: Kernel) -> bool:
    """Whether several points of the nest add to one place."""
    if not isinstance(part, LoopStore) or not part.combine:
        return False
    used = {s for d in part.at for s in d.symbols()}
    return not all(f"@{k}" in used for k, d in enumerate((*kernel.dims, *part.inner)) if d != 1)


def _accesses(kernel: Kernel) -> Iterator[Access]:
    for part in kernel.parts:
        yield from part.reads


def _joined(first: Kernel, second: Kernel, s: Scheduler) -> Kernel:
    return _contracted(_both(first, second), s)


def _both(first: Kernel, second: Kernel) -> Kernel:
    more = second.dims[len(first.dims) :]
    if more:
        second = replace(second, parts=[replace(p, inner=more) for p in second.parts])
    parts = first.parts + list(_unsaid(first, second))
    return Kernel(first.dims, parts, first.extents, first.fresh + second.fresh, first.origin)


def _unsaid(first: Kernel, second: Kernel) -> Iterator[Part]:
    """The parts of a nest but for numbers that are what they were in the one before it."""
    now: dict[Value, tuple[tuple[Dim, ...], str, frozenset[Value]]] = {}
    inner: tuple[Dim, ...] = ()
    for k, part in enumerate([*first.parts, *second.parts]):
        if part.inner != inner:  # numbers of an inner loop are what its last step left
            now = {v: said for v, said in now.items() if not said[0]}
            inner = part.inner
        known = False
        if isinstance(part, LoopLet):
            said = inner, ast.dump(part.expr), frozenset(refs(part.expr))
            known = now.get(part.value) == said
            if not known:
                now = _without(now, part.value)
                now[part.value] = said
        if k >= len(first.parts) and not known:
            yield part


def _without(
    now: dict[Value, tuple[tuple[Dim, ...], str, frozenset[Value]]], changed: Value
) -> dict[Value, tuple[tuple[Dim, ...], str, frozenset[Value]]]:
    """What is known of numbers when one of them is another one: nothing of it, and of those that it was read for."""
    gone = {changed}
    while more := {v for v, said in now.items() if v not in gone and not gone.isdisjoint(said[2])}:
        gone |= more
    return {v: said for v, said in now.items() if v not in gone}


def _contracted(kernel: Kernel, s: Scheduler) -> Kernel:
    """New arrays that only this nest reads, each element where it is made, become loop numbers."""
    for value, _ in list(kernel.fresh):
        where = [part.inner for part in kernel.parts if _touches(part, value)]
        index = loop_index((*kernel.dims, *where[0])) if where else ()
        places = [i for v, i in _accesses(kernel) if v is value]
        if not places or any(i != index for i in places) or value in s.uses.consumed:
            continue
        if where[0] and not _side_by_side(kernel, value):
            continue
        if _readers_outside(value, kernel, s):
            continue
        kernel.fresh = [(v, e) for v, e in kernel.fresh if v is not value]
        kernel.parts = _numbered(kernel.parts, value)
    return kernel


def _touches(part: Part, value: Value) -> bool:
    """Whether a part stores or reads an array."""
    return (isinstance(part, LoopStore) and part.target is value) or any(v is value for v, _ in part.reads)


def _side_by_side(kernel: Kernel, value: Value) -> bool:
    """Whether what stores and what reads an array is in one inner loop."""
    groups = [list(parts) for _, parts in groupby(kernel.parts, key=lambda part: part.inner)]
    return sum(any(_touches(p, value) for p in group) for group in groups) == 1


def _readers_outside(value: Value, kernel: Kernel, s: Scheduler) -> bool:
    """Whether anything but the values this nest computes reads ``value``."""
    inside = {p.target for p in kernel.parts if isinstance(p, LoopStore)}
    inside |= {p.out for p in kernel.parts if isinstance(p, LoopReduce)}
    named = {p.value for p in kernel.parts if isinstance(p, LoopLet)}
    stack = [value]
    seen: set[Value] = set()
    while stack:
        current = stack.pop()
        for use in s.uses.reads[current]:
            if not isinstance(use.node, Apply) or s.wants_memory(current, use):
                return True
            out = use.node.outputs[0]
            if out in inside or out in seen:
                continue
            if out in named and out in s.made:
                continue
            if out not in named and (out in s.variables or not s.is_delayed(use.node)):
                return True  # what has a name in this nest may be computed again in another
            seen.add(out)
            stack.append(out)
    return False


def _numbered(parts: Sequence[Part], value: Value) -> list[Part]:
    """The parts with a number in place of an array's element: the one that was stored, if it has a name."""
    out: list[Part] = []
    number = value
    for part in parts:
        inner = part.parts if isinstance(part, InnerReduce) else []
        for one in (part, *inner):
            one.reads = [r for r in one.reads if r[0] is not value]
            if not isinstance(one, LoopStore) or one.target is not value:
                one.expr = _Numbered(value, number).visit(one.expr)
        if not isinstance(part, LoopStore) or part.target is not value:
            out.append(part)
        elif isinstance(part.expr, Ref) and not value.name and isinstance(part.expr.value.type, ScalarType):
            number = part.expr.value
        else:
            out.append(LoopLet(value, part.expr, part.reads, part.origin, part.inner))
    return out


class _Numbered(ast.NodeTransformer):
    """Reads of one array's element become reads of a number of the loop."""

    def __init__(self, value: Value, number: Value):
        self.value = value
        self.number = number

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, Ref) and node.value.value is self.value:
            return ref(self.number)
        return self.generic_visit(node)  # type: ignore[return-value]
