"""From a closed graph to items whose arrays have memory: what all targets print.

In: a graph, and which parameters it changes and which results it returns. Out: the items of a function, in order, with
the copies that sharing memory makes necessary, and what has to be stored into arguments at the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from srcgraph.codegen.decisions import transparent
from srcgraph.codegen.dots import dots_as_sums
from srcgraph.codegen.expr import loop_index
from srcgraph.codegen.items import (
    Block,
    Do,
    Invoke,
    Item,
    Kernel,
    Let,
    Loop,
    LoopLet,
    LoopReduce,
    LoopStore,
    Ref,
    Store,
    all_blocks,
    all_exprs,
    refs,
)
from srcgraph.codegen.late import made_late
from srcgraph.codegen.schedule import Scheduler
from srcgraph.codegen.storage import Copied, Interface, assign_storage
from srcgraph.codegen.totals import added_up
from srcgraph.codegen.versions import contents, with_copies
from srcgraph.ir.closure import open_
from srcgraph.ir.graph import NOWHERE, Graph, Value
from srcgraph.ir.types import ArrayType, ListType, ScalarType


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A function before variables have names.

    Attributes
    ----------
    graph : Graph
        The open graph whose values the items name.
    block : Block
        The items; its results are those that are returned.
    scheduler : Scheduler
    copies : list of Copied
        Arrays that had to be copied, and why.
    """

    graph: Graph
    block: Block
    scheduler: Scheduler
    copies: list[Copied]


def scheduled(
    graph: Graph, interface: Interface, target: str, unread: Mapping[str, frozenset[int]], inplace: bool = True
) -> Scheduled:
    """The items of a closed graph.

    Parameters
    ----------
    graph : Graph
    interface : Interface
        Which parameters it changes, and which results it returns.
    target : str
        Whose spelling of ops is used.
    unread : mapping
        For each function called: the positions of arguments that it does not read.
    inplace : bool
        Whether arrays are stored into where they are.
    """
    plain = with_copies(dots_as_sums(transparent(open_(graph))), interface.changed)
    scheduler = Scheduler(plain, target, unread)
    block = scheduler.function()
    seen = contents(plain, [plain.results[k] for k in interface.changed.values()])
    stores, copies = assign_storage(block, plain.params, scheduler.uses.consumed, interface, seen, inplace)
    if stores:
        _read_before(block)
    _store_back(block, stores, scheduler)
    block.results = [block.results[k] for k in interface.returned]
    block.values = [block.values[k] for k in interface.returned]
    _drop_unread(block)
    added_up(block)
    made_late(block)
    return Scheduled(plain, block, scheduler, copies)


def _read_before(block: Block) -> None:
    """Numbers that are returned are read from arrays before arguments, whose memory that may be, change at the end."""
    for k, (expr, value) in enumerate(zip(block.results, block.values, strict=True)):
        if isinstance(value.type, ScalarType) and any(isinstance(v.type, ArrayType) for v in refs(expr)):
            kept = Value(value.name, value.type)
            block.items.append(Let(kept, expr, block.origins[k]))
            block.results[k] = Ref(kept)


def _store_back(block: Block, stores: Sequence[tuple[Value, Value]], s: Scheduler) -> None:
    """Final contents that ended up elsewhere are copied into the arguments."""
    for param, value in stores:
        if isinstance(param.type, ListType):
            block.items.append(Store(Value(param.name, param.type), param, (ast.Slice(),), Ref(value), False, NOWHERE))
            continue
        index = loop_index(param.type.shape)
        at = tuple(s.write.dim(d) for d in index)
        expr = s.write.element(value, index) if value in s.variables else _element(s, value, at)
        out = Value(param.name, param.type)
        store = LoopStore(out, param, index, at, expr)
        extents = tuple(s.write.dim(d) for d in param.type.shape)
        block.items.append(Kernel(param.type.shape, [store], extents))


def _element(s: Scheduler, value: Value, at: Sequence[ast.expr]) -> ast.expr:
    index = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return ast.Subscript(Ref(value), index, ast.Load())


def _drop_unread(block: Block) -> None:
    """Sizes are read from shapes only where something uses them, views are taken, and sums made."""
    used = {v for e in all_exprs(block) for v in refs(e)} | set(_taken_over(block))
    for inner in all_blocks(block):
        inner.items[:] = [i for i in inner.items if not (_is_unseen(i) and i.value not in used)]
        for item in (i for i in inner.items if isinstance(i, Kernel)):
            item.parts = [p for p in item.parts if not isinstance(p, LoopReduce) or p.acc in used]
        inner.items[:] = [i for i in inner.items if not isinstance(i, Kernel) or _does_something(i)]


def _does_something(kernel: Kernel) -> bool:
    return not all(isinstance(p, LoopLet) for p in kernel.parts)


def _taken_over(block: Block) -> Iterator[Value]:
    """The arrays whose memory another value is in after a store."""
    for inner in all_blocks(block):
        yield from (v for v in inner.values if v is not None)
        for item in inner.items:
            match item:
                case Store(base=base) | Do(base=base):
                    yield base
                case Kernel(parts=parts):
                    yield from (p.base for p in parts if isinstance(p, LoopStore) and p.base is not None)
                case Invoke(changed=changed):
                    yield from (base for _, base, _ in changed)
                case Loop(init_values=values):
                    yield from values


def _is_unseen(item: Item) -> TypeGuard[Let]:
    """Whether it matters only to those who read its value: a size, or a view."""
    expr = item.expr if isinstance(item, Let) else None
    if isinstance(item, Let) and item.same:
        return True
    return isinstance(expr, ast.Subscript) and isinstance(expr.value, ast.Attribute) and expr.value.attr == "shape"
