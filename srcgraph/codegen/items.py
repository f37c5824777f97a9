"""Statements to be: what the schedule makes of a graph, before variables have names.

Expressions are `ast` trees in which a `Ref` stands for a variable, that is for a graph value or a
loop index that gets a name only when everything is placed. An `Item` is one statement or one loop
nest; its expressions say what it reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from srcgraph.codegen.statements import names_in
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import NOWHERE, For, If, Origin, Value, While


class Ref(ast.Name):
    """The name of a variable, filled in at the end."""

    def __init__(self, value: Value):
        super().__init__(id=value.name or "v", ctx=ast.Load())
        self.value = value


def ref(value: Value) -> Ref:
    return Ref(value)


def refs(node: ast.AST) -> Iterator[Value]:
    """The variables an expression reads."""
    return (name.value for name in names_in(node) if isinstance(name, Ref))


def renamed(node: Any, names: Mapping[Value, Value]) -> Any:
    """A copy of an expression with other variables in place of some; trees may be shared."""
    if isinstance(node, Ref):
        return ref(names.get(node.value, node.value))
    fields = {}
    for key, old in ast.iter_fields(node):
        if isinstance(old, list):
            fields[key] = [renamed(x, names) if isinstance(x, ast.AST) else x for x in old]
        else:
            fields[key] = renamed(old, names) if isinstance(old, ast.AST) else old
    return type(node)(**fields)


@dataclass(eq=False, slots=True)
class Let:
    """``value = expr``: a number, or an array that a library call or an allocation makes."""

    value: Value
    expr: ast.expr
    origin: Origin = NOWHERE
    alias: Value | None = None
    """The array whose memory ``value`` may share, for reshapes and items of lists."""
    same: bool = False
    """Whether it does."""


@dataclass(eq=False, slots=True)
class Unpack:
    """``first, second = call``: a library call with several results."""

    values: tuple[Value, ...]
    expr: ast.expr
    origin: Origin = NOWHERE


@dataclass(eq=False, slots=True)
class Raise:
    """``if fails: raise error(*args)``."""

    fails: ast.expr
    error: str
    args: tuple[ast.expr, ...]
    origin: Origin = NOWHERE


@dataclass(eq=False, slots=True)
class Store:
    """``base[index] = expr`` or ``+=``; ``out`` is the array after it, in the same memory."""

    out: Value
    base: Value
    index: tuple[ast.expr, ...]
    expr: ast.expr
    accumulate: bool
    origin: Origin = NOWHERE


@dataclass(eq=False, slots=True)
class Do:
    """A call run for its effect on a list, ``xs.append(x)``, or on an array, which it is given first."""

    out: Value
    base: Value
    call: ast.expr
    pushed: Value | None = None
    origin: Origin = NOWHERE


@dataclass(eq=False, slots=True)
class Effect:
    """A call that is seen outside: text is written, a warning issued."""

    call: ast.expr
    origin: Origin = NOWHERE


@dataclass(eq=False, slots=True)
class Keep:
    """The caller's array, which was ``before``, is to have the content of ``after``."""

    before: Value
    after: Value
    apart: bool = False
    """Whether they are not the same memory."""
    origin: Origin = NOWHERE


@dataclass(eq=False, slots=True)
class Invoke:
    """``returned = function(args)``, a call of another generated function.

    ``changed`` are triples: the position of an argument, the array passed there, and the array after
    the call, in the same memory.
    """

    function: str
    args: list[ast.expr]
    returned: list[Value]
    changed: list[tuple[int, Value, Value]]
    read: list[Value]
    """The other arrays passed."""
    origin: Origin = NOWHERE


# -- loop nests -----------------------------------------------------------------------------------


Access = tuple[Value, tuple[Dim, ...]]
"""An array and the index at which it is read."""


@dataclass(frozen=True, eq=False, slots=True)
class Inside:
    """Loops inside a nest; neighbouring parts with the same ones run in them together."""

    dims: tuple[Dim, ...]
    extents: tuple[ast.expr, ...]


@dataclass(eq=False, slots=True)
class LoopLet:
    """A number per point of a nest; ``inner`` are the loops inside the nest that it is in, the outermost first."""

    value: Value
    expr: ast.expr
    reads: list[Access] = field(default_factory=list)
    origin: Origin = NOWHERE
    inner: tuple[Inside, ...] = ()


@dataclass(eq=False, slots=True)
class LoopStore:
    """``target[index] = expr`` at each point; ``base`` is the array before, None for a new one.

    ``free`` says that what is added may be added in any order.
    """

    target: Value
    base: Value | None
    at: tuple[Dim, ...]
    index: tuple[ast.expr, ...]
    expr: ast.expr
    combine: str = ""
    reads: list[Access] = field(default_factory=list)
    origin: Origin = NOWHERE
    inner: tuple[Inside, ...] = ()
    free: bool = False


@dataclass(eq=False, slots=True)
class LoopReduce:
    """``acc = combine(acc, expr)`` over the whole nest; ``out`` is the graph's value, which may be narrower."""

    acc: Value
    out: Value
    combine: str
    start: ast.expr
    expr: ast.expr
    reads: list[Access] = field(default_factory=list)
    origin: Origin = NOWHERE
    inner: tuple[Inside, ...] = ()


@dataclass(eq=False, slots=True)
class InnerReduce:
    """A reduction over inner axes at each point: ``acc`` is a number there."""

    acc: Value
    combine: str
    start: ast.expr
    extents: tuple[ast.expr, ...]
    first: int
    parts: list[LoopLet]
    expr: ast.expr
    reads: list[Access] = field(default_factory=list)
    origin: Origin = NOWHERE
    inner: tuple[Inside, ...] = ()


Part: TypeAlias = LoopLet | LoopStore | LoopReduce | InnerReduce


@dataclass(eq=False, slots=True)
class Kernel:
    """A loop nest over ``dims``; index ``k`` of every nest is ``INDICES[k]``.

    ``fresh`` are the new arrays it fills, allocated just before; ``lets`` run before the nest.
    """

    dims: tuple[Dim, ...]
    parts: list[Part]
    extents: tuple[ast.expr, ...] = ()
    fresh: list[tuple[Value, ast.expr]] = field(default_factory=list)
    origin: Origin = NOWHERE


INDICES: tuple[Value, ...] = tuple(Value(name, None) for name in ("i", "j", "k", "l", "m", "p", "q", "r"))  # type: ignore[arg-type]


# -- control flow ---------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Block:
    """Items in order, then the values a region hands on, and where each was computed."""

    items: list[Item]
    results: list[ast.expr]
    values: list[Value]
    origins: list[Origin]


@dataclass(eq=False, slots=True)
class Branch:
    node: If
    cond: ast.expr
    then: Block
    orelse: Block
    outputs: tuple[Value, ...]
    origin: Origin = NOWHERE


@dataclass(eq=False, slots=True)
class Loop:
    """A `for` (with bounds) or a `while` (with a test)."""

    node: For | While
    params: tuple[Value, ...]
    inits: list[ast.expr]
    init_values: tuple[Value, ...]
    body: Block
    outputs: tuple[Value, ...]
    index: Value | None = None
    bounds: tuple[ast.expr, ast.expr, ast.expr] | None = None
    test: Block | None = None
    stop: ast.expr | None = None
    stop_origin: Origin = NOWHERE
    origin: Origin = NOWHERE


Item: TypeAlias = Let | Unpack | Raise | Store | Do | Effect | Keep | Invoke | Kernel | Branch | Loop


def dims_around(part: Part, kernel: Kernel) -> tuple[Dim, ...]:
    """The lengths of the loops that a part of a nest is in."""
    return (*kernel.dims, *(d for loops in part.inner for d in loops.dims))


def part_exprs(part: Part) -> list[ast.expr]:
    around = [e for loops in part.inner for e in loops.extents]
    match part:
        case LoopLet():
            return [*around, part.expr]
        case LoopStore():
            return [*around, *part.index, part.expr]
        case LoopReduce():
            return [*around, part.start, part.expr]
        case InnerReduce():
            return [*around, part.start, *part.extents, part.expr, *(p.expr for p in part.parts)]


def rename(kernel: Kernel, names: Mapping[Value, Value]) -> None:
    """Let a nest read other arrays in place of some."""
    for part in kernel.parts:
        for inner in (part, *(part.parts if isinstance(part, InnerReduce) else ())):
            inner.reads = [(names.get(v, v), index) for v, index in inner.reads]
            inner.expr = renamed(inner.expr, names)
        if isinstance(part, LoopStore):
            part.index = tuple(renamed(e, names) for e in part.index)


def item_exprs(item: Item) -> Sequence[ast.expr]:
    """The expressions an item evaluates itself, those of inner blocks excluded."""
    match item:
        case Let() | Unpack():
            return [item.expr]
        case Raise():
            return [item.fails, *item.args]
        case Store():
            return [*item.index, item.expr]
        case Do() | Effect():
            return [item.call]
        case Invoke():
            return item.args
        case Kernel():
            return [*item.extents, *(e for _, e in item.fresh), *(e for p in item.parts for e in part_exprs(p))]
        case Branch():
            return [item.cond]
        case Loop():
            return [*item.inits, *(item.bounds or ())]
        case Keep():
            return []


def reads_of(item: Item) -> set[Value]:
    """The variables an item itself reads, inner blocks excluded."""
    found = {v for e in item_exprs(item) for v in refs(e)}
    match item:
        case Store() | Do():
            found.add(item.base)
        case Keep():
            found.update((item.before, item.after) if item.apart else (item.after,))
        case Kernel():
            own = {p.value for p in item.parts if isinstance(p, LoopLet)}
            for part in item.parts:
                if isinstance(part, LoopStore):
                    own.add(part.target)
                    found.update([part.base] if part.base is not None else [])
                if isinstance(part, LoopReduce | InnerReduce):
                    own.add(part.acc)
                if isinstance(part, InnerReduce):
                    own.update(p.value for p in part.parts)
            found -= own | set(INDICES) | {v for v, _ in item.fresh}
    return found


def writes_of(item: Item) -> list[Value]:
    """The variables an item defines in its block."""
    match item:
        case Let():
            return [item.value]
        case Unpack():
            return list(item.values)
        case Store() | Do():
            return [item.out]
        case Invoke():
            return [*item.returned, *(after for _, _, after in item.changed)]
        case Kernel():
            out = [v for v, _ in item.fresh]
            out += [p.target for p in item.parts if isinstance(p, LoopStore) and p.base is not None]
            return out + [p.acc for p in item.parts if isinstance(p, LoopReduce)]
        case Branch() | Loop():
            return list(item.outputs)
    return []


def inner_blocks(item: Item) -> list[Block]:
    match item:
        case Branch():
            return [item.then, item.orelse]
        case Loop():
            return [b for b in (item.test, item.body) if b is not None]
    return []


def all_blocks(block: Block) -> Iterator[Block]:
    """A block and every block inside it."""
    yield block
    for item in block.items:
        for inner in inner_blocks(item):
            yield from all_blocks(inner)


def all_exprs(block: Block) -> Iterator[ast.expr]:
    """Every expression in a block and in the blocks inside it."""
    for inner in all_blocks(block):
        yield from inner.results
        for item in inner.items:
            yield from item_exprs(item)
            if isinstance(item, Loop) and item.stop is not None:
                yield item.stop
