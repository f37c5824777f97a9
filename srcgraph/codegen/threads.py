"""Loop nests whose points can run at once, each in a thread of its own: the CUDA target.

On the CPU the points of a nest run one after another. Here every place of an array is stored into by one thread only,
and read, where it is stored into, by that thread alone. What is combined into one place by many points is combined by
one thread in a loop; a nest for which neither can be shown is refused.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from srcgraph.codegen.affine import Terms, added, number_of
from srcgraph.codegen.expr import determines, literal
from srcgraph.codegen.items import (
    INDICES,
    Block,
    InnerReduce,
    Item,
    Kernel,
    LoopLet,
    LoopReduce,
    LoopStore,
    Part,
    Ref,
    Store,
    all_blocks,
    part_exprs,
    ref,
    renamed,
)
from srcgraph.codegen.kernels import accumulated
from srcgraph.codegen.names import memory_of
from srcgraph.errors import Problem, UnsupportedError
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Origin, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.types import ListType, ScalarType

REDUCTIONS = {op.reduction.combine: op.reduction for op in OPS.values() if op.reduction is not None}
OTHERWISE = "write it with array operations, or use target='cpu'"


def refused(why: str, origin: Origin, hint: str = OTHERWISE) -> UnsupportedError:
    """The error for what the CUDA target does not do."""
    return UnsupportedError(Problem(f"target='cuda': {why}", origin.loc, hint=hint))


def in_threads(block: Block) -> None:
    """Rewrite the nests of a function, in place, so that their points are independent.

    Raises
    ------
    UnsupportedError
        They cannot be shown to be.
    """
    for inner in all_blocks(block):
        inner.items[:] = [new for item in inner.items for new in _independent(item)]


def _independent(item: Item) -> Iterator[Item]:
    match item:
        case Store() if not isinstance(item.base.type, ListType):
            store = LoopStore(item.out, item.base, (), item.index, item.expr, "add" * item.accumulate, [], item.origin)
            yield Kernel((), [store], (), [], item.origin)
        case Kernel():
            for made in _gathered(item):
                _check(made)
                yield made
        case _:
            yield item


# -- many points into one place ---------------------------------------------------------------------


def loops_of(kernel: Kernel) -> list[int]:
    """The axes of a nest over which there is a loop."""
    return [k for k, e in enumerate(kernel.extents) if not (isinstance(e, ast.Constant) and e.value == 1)]


def _gathered(kernel: Kernel) -> list[Kernel]:
    """A nest in which many points are combined into one place, as one thread for each place."""
    stores = [p for p in kernel.parts if isinstance(p, LoopStore)]
    used = {s for p in stores for d in p.at for s in d.symbols()}
    loops = loops_of(kernel)
    free = [k for k in loops if f"@{k}" not in used]
    if not free or not stores:
        return [kernel]
    lets = [p for p in kernel.parts if isinstance(p, LoopLet)]
    if len(stores) > 1 or len(lets) + 1 != len(kernel.parts) or not stores[0].combine or stores[0].base is None:
        raise refused("several points of a nest store into one place", kernel.origin)
    kept = [k for k in loops if k not in free]
    return _combined(kernel, stores[0], lets, kept) if kept else _in_one_place(kernel, stores[0], lets)


def _accumulator(store: LoopStore) -> tuple[Value, ast.expr]:
    """A number that is combined, as wide as those of reductions, and what it begins with."""
    dtype = accumulated(store.combine, store.target.type.dtype)
    return Value("", ScalarType(dtype)), literal(REDUCTIONS[store.combine].identity(dtype))


def _combined(kernel: Kernel, store: LoopStore, lets: list[LoopLet], kept: Sequence[int]) -> list[Kernel]:
    """A thread for each place: it combines all that goes there."""
    free = [k for k in loops_of(kernel) if k not in kept]
    moved = {INDICES[k]: INDICES[n] for n, k in enumerate((*kept, *free))}
    acc, start = _accumulator(store)
    extents = tuple(kernel.extents[k] for k in free)
    parts = [replace(p, expr=renamed(p.expr, moved)) for p in lets]
    inner = InnerReduce(
        acc, store.combine, start, extents, len(kept), parts, renamed(store.expr, moved), [], store.origin
    )
    index: tuple[ast.expr, ...] = tuple(renamed(e, moved) for e in store.index)
    own = replace(store, at=_moved_dims(store.at, kept), index=index, expr=ref(acc), reads=[])
    dims, sizes = tuple(kernel.dims[k] for k in kept), [kernel.extents[k] for k in kept]
    if not all(d.symbol in {f"@{k}" for k in kept} for d in store.at):
        sizes[0] = ast.IfExp(_any_points(extents), sizes[0], ast.Constant(0))
    return [Kernel(dims, [inner, own], tuple(sizes), kernel.fresh, kernel.origin)]


def _any_points(extents: Sequence[ast.expr]) -> ast.expr:
    """Whether a nest has points: where it has none, the place that it combines them into may not be there."""
    tests: list[ast.expr] = [ast.Compare(e, [ast.Gt()], [ast.Constant(0)]) for e in extents]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _moved_dims(at: Sequence[Dim], kept: Sequence[int]) -> tuple[Dim, ...]:
    names = {f"@{k}": f"@{n}" for n, k in enumerate(kept)}
    return tuple(
        Dim({tuple(names.get(a, a) if isinstance(a, str) else a for a in m): c for m, c in d.terms}) for d in at
    )


def _in_one_place(kernel: Kernel, store: LoopStore, lets: list[LoopLet]) -> list[Kernel]:
    """All points combined to a number, which is combined into the place."""
    acc, start = _accumulator(store)
    total = LoopReduce(acc, acc, store.combine, start, store.expr, [], store.origin)
    own = replace(store, expr=ref(acc), reads=[])
    first: list[Part] = [*lets, total]
    return [
        Kernel(kernel.dims, first, kernel.extents, kernel.fresh, kernel.origin),
        Kernel(kernel.dims[:1], [own], (_once(kernel),), [], kernel.origin),
    ]


def _once(kernel: Kernel) -> ast.expr:
    """One point, if a nest has any."""
    extents = [kernel.extents[k] for k in loops_of(kernel)]
    return ast.IfExp(_any_points(extents), ast.Constant(1), ast.Constant(0))


def _is_once(extent: ast.expr) -> bool:
    return isinstance(extent, ast.IfExp) and isinstance(extent.body, ast.Constant)


# -- proofs -----------------------------------------------------------------------------------------


def _check(kernel: Kernel) -> None:
    """Every place has one thread that stores into it, and no other reads it."""
    loops = [k for k in loops_of(kernel) if not _is_once(kernel.extents[k])]
    stores = [p for p in kernel.parts if isinstance(p, LoopStore)]
    for store in stores:
        if not _is_injective(store.at, loops):
            raise refused("it cannot be shown that no two threads store into one place", store.origin)
    same, own_numbers = memory_of(kernel), {*_numbers(kernel.parts)}
    for store in stores:
        for part in kernel.parts:
            own = [(part.target, part.index)] if isinstance(part, LoopStore) else []
            for array, index in (*own, *_elements(part)):
                one_array = same.get(array, array) is same.get(store.target, store.target)
                if one_array and _may_meet(index, store.index, own_numbers):
                    raise refused("a thread reads or stores into a place that another one stores into", part.origin)


def _numbers(parts: Sequence[Part]) -> Iterator[Value]:
    """The numbers that each thread has of its own."""
    for part in parts:
        match part:
            case LoopLet():
                yield part.value
            case LoopReduce():
                yield part.acc
            case InnerReduce():
                yield part.acc
                yield from _numbers(part.parts)


def _is_injective(at: Sequence[Dim], loops: Sequence[int]) -> bool:
    """Whether two points of a nest never have the same index.

    That is so if for each loop some axis depends on its index alone, and by a factor that is a number.
    """
    return all(any(determines(d, f"@{k}") for d in at) for k in loops)


def _elements(part: Part) -> Iterator[tuple[Value, Sequence[ast.expr]]]:
    """The elements of arrays that a part reads."""
    for expr in part_exprs(part):
        for node in ast.walk(expr):
            if isinstance(node, ast.Subscript) and isinstance(node.value, Ref):
                index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                yield node.value.value, index


def _may_meet(a: Sequence[ast.expr], b: Sequence[ast.expr], own: AbstractSet[Value]) -> bool:
    """Whether two threads may come to one place: not if they have one index, nor if an axis tells them apart.

    Each has numbers of its ``own``.
    """
    return _text(a) != _text(b) and not any(_are_apart(x, y, own) for x, y in zip(a, b, strict=True))


def _are_apart(a: ast.expr, b: ast.expr, own: AbstractSet[Value]) -> bool:
    """Whether no thread's ``a`` is another's ``b``: as ``m`` and ``m + 1``, or ``2 * i`` and ``2 * i + 1``."""
    numbers = number_of(a), number_of(b)
    if None not in numbers:
        return numbers[0] != numbers[1] and min(n for n in numbers if n is not None) >= 0
    terms = _terms(a, own), _terms(b, own)
    if terms[0] is None or terms[1] is None:
        return False
    steps = [count for each in terms for name, count in (each or {}).items() if name.startswith(_INDEX)]
    fixed = [{name: count for name, count in each.items() if not name.startswith(_INDEX)} for each in terms if each]
    between = added(fixed[0] if terms[0] else {}, fixed[-1] if terms[1] else {}, -1)
    distance, step = between.pop("", 0), math.gcd(*steps)
    return not between and (distance % step != 0 if step else distance != 0)


_INDEX = "@"


def _terms(node: ast.expr, own: AbstractSet[Value]) -> Terms | None:
    """An index as a sum of the nest's indices and of numbers that all threads share; None if it is none."""
    value = number_of(node)
    if value is not None:
        return {"": value} if value else {}
    match node:
        case Ref(value=index) if index in INDICES:
            return {f"{_INDEX}{INDICES.index(index)}": 1}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            x, y = _terms(left, own), _terms(right, own)
            return None if x is None or y is None else added(x, y, 1 if isinstance(op, ast.Add) else -1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            x, y = _terms(left, own), _terms(right, own)
            for one, other in ((x, y), (y, x)):
                if one is not None and other is not None and set(one) <= {""}:
                    return added({}, other, one.get("", 0))
    return {_dump(node): 1} if all(_is_shared(n, own) for n in ast.walk(node)) else None


def _is_shared(node: ast.AST, own: AbstractSet[Value]) -> bool:
    """Whether a part of an expression is the same for all threads."""
    if isinstance(node, Ref):
        return node.value not in INDICES and node.value not in own
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.expr_context | ast.Constant)


def _text(index: Sequence[ast.expr]) -> str:
    """What tells indices apart: two texts are equal only if the indices are."""
    return ", ".join(_dump(e) for e in index)


def _dump(node: ast.AST) -> str:
    if isinstance(node, Ref):
        return f"<{id(node.value)}>"
    parts = (
        ", ".join(_dump(x) if isinstance(x, ast.AST) else repr(x) for x in (v if isinstance(v, list) else [v]))
        for _, v in ast.iter_fields(node)
    )
    return f"{type(node).__name__}({'; '.join(parts)})"


def is_nest(item: Item) -> bool:
    """Whether an item runs over whole arrays."""
    return isinstance(item, Kernel) and bool(loops_of(item))
