"""Loop nests: making arrays, changing parts of them, reducing them.

Every nest uses the same index variables, one per depth, so that nests over the same lengths can be
joined: two accesses touch the same place when their indices are equal expressions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import numpy as np

from srcgraph.codegen.expr import Index, apart, base_index, call, dotted, literal, loop_index
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
    ref,
    renamed,
)
from srcgraph.ir.dims import Dim, as_dim, maximum
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import Reduction
from srcgraph.ir.types import FLOAT, INT, ArrayType, ScalarType
from srcgraph.ir.view import split_operands, view_shape

if TYPE_CHECKING:
    from srcgraph.codegen.schedule import Scheduler


def stretches_at_run_time(node: Apply) -> bool:
    """Whether a broadcast has an axis whose length may be 1 or the full one."""
    x = node.inputs[0]
    if not isinstance(x.type, ArrayType):
        return False
    wanted = node.outputs[0].type.shape[-len(x.type.shape) :]
    return any(d not in (w, 1) for d, w in zip(x.type.shape, wanted, strict=True))


def allocation(s: Scheduler, value: Value, how: str = "empty", fill: ast.expr | None = None) -> ast.expr:
    """``np.empty(shape, dtype)`` for a value."""
    return new_array(value, [s.write.dim(d) for d in value.type.shape], how, fill)


def new_array(value: Value, sizes: Sequence[ast.expr], how: str = "empty", fill: ast.expr | None = None) -> ast.expr:
    """``np.empty(shape, dtype)``; float64 is not written out."""
    shape = sizes[0] if len(sizes) == 1 else ast.Tuple([*sizes], ast.Load())
    args: list[ast.expr] = [shape] if fill is None else [shape, fill]
    if value.type.dtype != FLOAT:
        name = "bool_" if value.type.dtype.kind == "b" else value.type.dtype.name
        args.append(dotted(f"np.{name}"))
    return call(f"np.{how}", *args)


def extents(s: Scheduler, dims: Sequence[Dim]) -> tuple[ast.expr, ...]:
    return tuple(s.write.dim(without_clamp(d)) for d in dims)


def _at_least_none(dim: Dim) -> Dim:
    """A length that nothing has checked: the one of an array that is somewhere else."""
    return dim if dim.symbol or dim.const is not None else maximum(dim, as_dim(0))


def without_clamp(dim: Dim) -> Dim:
    """A length as the end of a range: ``max(n - 2, 0)`` may as well be ``n - 2``."""
    if len(dim.terms) == 1 and dim.terms[0][1] == 1 and len(dim.terms[0][0]) == 1:
        atom = dim.terms[0][0][0]
        if not isinstance(atom, str) and atom.fn == "max" and atom.args[1] == 0:
            return atom.args[0]
    return dim


# -- bodies -----------------------------------------------------------------------------------------


class Elements:
    """Collects the parts of one nest; named and shared values become loop numbers."""

    def __init__(self, s: Scheduler):
        self.s = s
        self.parts: list[LoopLet] = []
        self.saved = dict(s.write.local)

    def expr(self, value: Value, index: Index) -> tuple[ast.expr, list[Access]]:
        """The element of ``value``, its named delayed operands first."""
        self.lets(value, index)
        return self.traced(value, index)

    def traced(self, value: Value, index: Index) -> tuple[ast.expr, list[Access]]:
        write = self.s.write
        write.accessed = []
        if isinstance(value.type, ArrayType):
            expr = write.element(value, index)
        else:
            expr = write.scalar(value)
        reads, write.accessed = write.accessed, None
        return expr, reads

    def lets(self, value: Value, index: Index) -> None:
        """Loop numbers for the user's named values below ``value``."""
        write = self.s.write
        for operand, at in self.operands(value, index):
            if operand in write.variables or operand in write.local:
                continue
            self.lets(operand, at)
            node = write.definitions[operand]
            shared = bool(operand.name) or (self.s.uses.count(operand) > 1 and not self.s.is_free(node))
            if shared and node.op.kind == "elementwise":
                expr, reads = self.traced(operand, at)
                self.parts.append(LoopLet(operand, expr, reads, node.origin))
                write.local[operand] = at

    def operands(self, value: Value, index: Index) -> Iterator[tuple[Value, Index]]:
        """The delayed arrays an element reads, with their indices."""
        write = self.s.write
        node = write.definitions.get(value)
        if node is None or value in write.variables or value in write.local:
            return
        if node.op.kind == "elementwise":
            for v in node.inputs:
                if isinstance(v.type, ArrayType):
                    shape = v.type.shape
                    full = value.type.shape[len(index) - len(shape) :]
                    own = index[len(index) - len(shape) :]
                    at = [as_dim(0) if d == 1 and f != 1 else i for d, f, i in zip(shape, full, own, strict=True)]
                    yield v, tuple(at)
        elif node.op.name == "getitem":
            yield node.inputs[0], write.viewed(node, index)
        elif node.op.name in ("with_shape", "copy"):
            yield node.inputs[0], index
        elif node.op.name == "broadcast_to" and not stretches_at_run_time(node):
            x = node.inputs[0]
            if isinstance(x.type, ArrayType):
                own = index[len(index) - x.type.ndim :]
                yield x, tuple(as_dim(0) if d == 1 else i for d, i in zip(x.type.shape, own, strict=True))

    def close(self) -> list[LoopLet]:
        self.s.write.local = self.saved
        return self.parts


def numbers_apart(items: Sequence[Item], variables: AbstractSet[Value]) -> None:
    """Numbers of nests are variables of their own where the arrays whose elements they are were made after all."""
    for item in items:
        parts = item.parts if isinstance(item, Kernel) else []
        made = [let.value for let in parts if isinstance(let, LoopLet) and let.value in variables]
        if made:
            _set_apart(made, parts)


def _set_apart(values: Iterable[Value], parts: Iterable[Part]) -> None:
    """Let other variables stand for some in these parts."""
    own = {v: Value(v.name, v.type) for v in values}
    for part in parts:
        part.expr = renamed(part.expr, own)
        if isinstance(part, LoopLet):
            part.value = own.get(part.value, part.value)
        if isinstance(part, InnerReduce):
            for let in part.parts:
                let.expr = renamed(let.expr, own)


# -- making arrays ----------------------------------------------------------------------------------


def made(s: Scheduler, node: Apply) -> Iterator[Item]:
    """An array in memory for a delayed value."""
    out = node.outputs[0]
    match node.op.name:
        case "full":
            yield from _filled(s, node)
        case "broadcast_to" if not node.inputs[0].type.ndim:
            yield from _filled(s, node)
        case "empty":
            dims = [_at_least_none(d) if node.attrs.get("absent") else d for d in out.type.shape]
            expr = new_array(out, [s.write.dim(d) for d in dims])
            s.name(out)
            yield Let(out, expr, node.origin)
        case "copy" if node.inputs[0] in s.variables:
            expr = ast.Call(ast.Attribute(ref(node.inputs[0]), "copy", ast.Load()), [], [])
            s.name(out)
            yield Let(out, expr, node.origin)
        case _:
            body = Elements(s)
            index = loop_index(out.type.shape)
            expr, reads = body.expr(out, index)
            alloc = allocation(s, out)
            lets = body.close()
            s.name(out)
            store = LoopStore(out, None, index, written(s, index), expr, reads=reads, origin=node.origin)
            parts: list[Part] = [*lets, store]
            yield Kernel(out.type.shape, parts, extents(s, out.type.shape), [(out, alloc)], node.origin)


def _filled(s: Scheduler, node: Apply) -> Iterator[Item]:
    out = node.outputs[0]
    fill = s.write.scalar(node.inputs[0])
    value = fill.value if isinstance(fill, ast.Constant) else None
    if value in (0, 1) and not (isinstance(value, float) and np.signbit(value)):
        expr = allocation(s, out, "ones" if value else "zeros")
    elif _is_zero(fill):
        expr = allocation(s, out, "zeros")
    else:
        expr = allocation(s, out, "full", fill)
    s.name(out)
    yield Let(out, expr, node.origin)


def _is_zero(expr: ast.expr) -> bool:
    """Whether an expression is a zero of some dtype: ``np.float32(0.0)``."""
    inner = expr.args[0] if isinstance(expr, ast.Call) and len(expr.args) == 1 else None
    return isinstance(inner, ast.Constant) and inner.value == 0


def written(s: Scheduler, index: Index) -> tuple[ast.expr, ...]:
    return tuple(s.write.dim(d) for d in index)


# -- changing parts ---------------------------------------------------------------------------------


def update(s: Scheduler, node: Apply) -> Iterator[Item]:
    """A store into, or an addition to, a region of an array."""
    base, value = node.inputs[:2]
    out, view = node.outputs[0], node.attrs["view"]
    operands = [s.write.index_of(v) for v in node.inputs[2:]]
    own = split_operands(view, operands)
    shape = view_shape(view, base.type.shape, [o[1] for o in own if len(o) > 1])
    index = loop_index(shape)
    at = base_index(view, operands, index)
    if isinstance(value.type, ArrayType) and _reads_elsewhere(s, value, shape, base, at):
        if value in s.variables:
            saved = Value(value.name, value.type)
            yield Let(saved, ast.Call(ast.Attribute(ref(value), "copy", ast.Load()), [], []), node.origin)
            s.name(saved)
            value = saved
        else:
            yield from made(s, s.uses.definition[value])
    body = Elements(s)
    expr, reads = body.expr(value, _aligned(value, shape, index))
    lets = body.close()
    combine = "add" if node.op.name == "add_at" else ""
    s.name(out)
    free = bool(node.origin.by)
    store = LoopStore(out, base, at, written(s, at), expr, combine, reads, node.origin, free=free)
    yield Kernel(shape, [*lets, store], extents(s, shape), [], node.origin)


def _aligned(value: Value, shape: Sequence[Dim], index: Index) -> Index:
    """The index of a value stored into a region: missing axes are dropped, ones repeat."""
    if not isinstance(value.type, ArrayType):
        return ()
    own = value.type.shape
    pairs = zip(own, shape[len(shape) - len(own) :], index[len(index) - len(own) :], strict=True)
    return tuple(as_dim(0) if d == 1 and f != 1 else i for d, f, i in pairs)


def _reads_elsewhere(s: Scheduler, value: Value, shape: Sequence[Dim], base: Value, at: Index) -> bool:
    """Whether the value stored reads the array it is stored into, other than in the same place."""
    if value in s.variables:
        return value is base and _aligned(value, shape, loop_index(shape)) != at
    body = Elements(s)
    _, reads = body.expr(value, _aligned(value, shape, loop_index(shape)))
    reads = reads + [r for let in body.parts for r in let.reads]
    body.close()
    return any(v is base and i != at and not apart(i, at, shape) for v, i in reads)


# -- reductions -------------------------------------------------------------------------------------


def reduction(s: Scheduler, node: Apply) -> Iterator[Item]:
    """A number, or an array, that combines elements along axes."""
    x, out, axes = node.inputs[0], node.outputs[0], node.attrs["axes"]
    assert isinstance(x.type, ArrayType)
    if "of" not in node.attrs:
        s.hints[out] = _reduction_name(s, node)
    if len(axes) == x.type.ndim:
        yield from _full(s, node)
    elif is_outer(node):
        yield from _outer(s, node)
    else:
        yield from _inner(s, node)


def is_outer(node: Apply) -> bool:
    """Whether elements are combined along other axes than the last ones."""
    axes, ndim = node.attrs["axes"], node.inputs[0].type.ndim
    return axes != tuple(range(ndim - len(axes), ndim))


_RESULT = {"sum": "total", "prod": "product", "max": "largest", "min": "smallest", "all": "every", "any": "some"}


def _reduction_name(s: Scheduler, node: Apply) -> str:
    """``u_max`` for the maximum of a variable, else what kind of result it is."""
    x = node.inputs[0]
    if x in s.variables and x.name:
        return f"{x.name}_{node.op.name}"
    return _RESULT.get(node.op.name, node.op.name)


def _rule(node: Apply) -> Reduction:
    rule = node.op.reduction
    assert rule is not None
    return rule


def _start(node: Apply) -> tuple[ast.expr, np.dtype]:
    """The first value of the accumulator, and its dtype: float32 adds up in float64, int8 in int64."""
    wide = accumulated(_rule(node).combine, node.outputs[0].type.dtype)
    return literal(_rule(node).identity(wide)), wide


def accumulated(combine: str, dtype: np.dtype) -> np.dtype:
    """The dtype in which numbers of a dtype are combined."""
    if combine not in ("add", "mul"):
        return dtype
    return FLOAT if dtype == np.float32 else INT if dtype.kind in "iu" and dtype.itemsize < 8 else dtype


def _full(s: Scheduler, node: Apply) -> Iterator[Item]:
    x, out = node.inputs[0], node.outputs[0]
    start, wide = _start(node)
    acc = out if wide == out.type.dtype else Value(out.name, ScalarType(wide))
    s.hints[acc] = _reduction_name(s, node)
    body = Elements(s)
    expr, reads = body.expr(x, loop_index(x.type.shape))
    parts: list[Part] = list(body.close())
    parts.append(LoopReduce(acc, out, _rule(node).combine, start, expr, reads, node.origin))
    yield Kernel(x.type.shape, parts, extents(s, x.type.shape), [], node.origin)
    s.name(acc)
    if acc is not out:
        s.name(out)
        yield Let(out, s.write.converted(ref(acc), out.type.dtype), node.origin)


def _inner(s: Scheduler, node: Apply) -> Iterator[Item]:
    """Trailing axes: an accumulator per element of the result."""
    x, out = node.inputs[0], node.outputs[0]
    kept = out.type.ndim
    start, wide = _start(node)
    acc = Value("", ScalarType(wide))
    s.hints[acc] = _reduction_name(s, node)
    body = Elements(s)
    expr, reads = body.expr(x, loop_index(x.type.shape))
    lets = body.close()
    inner = InnerReduce(
        acc, _rule(node).combine, start, extents(s, x.type.shape[kept:]), kept, lets, expr, reads, node.origin
    )
    _set_apart([let.value for let in lets], [*lets, inner])  # other points of a nest have numbers for the same arrays
    for let in lets:
        inner.reads = inner.reads + let.reads
    index = loop_index(out.type.shape)
    alloc = allocation(s, out)
    total: ast.expr = ref(acc) if wide == out.type.dtype else s.write.converted(ref(acc), out.type.dtype)
    store = LoopStore(out, None, index, written(s, index), total, origin=node.origin)
    s.name(out)
    yield Kernel(out.type.shape, [inner, store], extents(s, out.type.shape), [(out, alloc)], node.origin)


def _outer(s: Scheduler, node: Apply) -> Iterator[Item]:
    """Other axes: the result is an array that every element is combined into, in memory order."""
    x, out, axes = node.inputs[0], node.outputs[0], node.attrs["axes"]
    base = Value(out.name, out.type)
    s.hints[base] = _reduction_name(s, node)
    fill = literal(_rule(node).identity(out.type.dtype))
    zero = node.op.name == "sum"
    yield Let(base, allocation(s, out, "zeros") if zero else allocation(s, out, "full", fill), node.origin)
    s.name(base)
    body = Elements(s)
    full = loop_index(x.type.shape)
    at = tuple(d for k, d in enumerate(full) if k not in axes)
    expr, reads = body.expr(x, full)
    lets = body.close()
    s.name(out)
    store = LoopStore(out, base, at, written(s, at), expr, _rule(node).combine, reads, node.origin, free=True)
    yield Kernel(x.type.shape, [*lets, store], extents(s, x.type.shape), [], node.origin)
