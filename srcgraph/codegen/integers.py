"""Which functions have integers that may need more than 64 bits: those are compiled by `srcgraph.runtime.integers`.

Positions in arrays, lengths, bounds of loops and what counts by literal steps are small. The answer may be yes where
the compiler then finds nothing to watch.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace

from srcgraph.codegen.uses import Use, Uses
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.op import Op
from srcgraph.ir.promote import is_weak
from srcgraph.ir.types import BOOL, INT, ArrayType, ListType, ScalarType, Type
from srcgraph.ir.walk import all_nodes

LARGE = 2**31
"""What is smaller does not make what is counted large."""
_ROUTES = ("add", "sub", "mul")
_PASSED_ON = (*_ROUTES, "minimum", "maximum")
_AS_FIRST = ("mod", "check_nonzero", "check_fits", "list_pop", "list_take", "list_get")
_AS_WIDE = (
    *_PASSED_ON,
    *_AS_FIRST,
    "neg",
    "absolute",
    "floordiv",
    "where",
    "cast",
    "list_of",
    "list_full",
    "list_push",
    "list_insert",
    "list_set",
)
_NARROW = ("const", "dim", "list_len", "list_new", "wrap_index", "rows_at_once")
_SMALLEST = ("neg", "absolute", "floordiv")
_ORDERS = ("less", "less_equal", "greater", "greater_equal")


def grow(graph: Graph, uses: Uses) -> bool:
    """Whether an open graph computes integers that may need more than 64 bits."""
    nodes = [node for node in all_nodes(graph) if isinstance(node, Apply)]
    if any(
        n.op.name == "const" and n.outputs[0].type.dtype == INT and abs(int(n.attrs["value"])) >= LARGE for n in nodes
    ):
        return any(n.op.grows and n.outputs[0].type.dtype == INT for n in nodes)
    wide = _wide(graph)
    return any(n.op.grows and _may_grow(n, uses, wide) for n in nodes)


def _wide(graph: Graph) -> set[Value]:
    """Python's integers that may be anything: what is passed or computed; not lengths, checked positions, counters."""
    becomes: dict[Value | None, list[Value]] = defaultdict(list)
    for node in all_nodes(graph):
        for out, made in _ways(node):
            becomes[made].append(out)
    wide = {v for v in graph.params if _is_integer(v)}
    work = [*wide, *becomes[None]]
    while work:
        value = work.pop()
        wide.add(value)
        work += [v for v in becomes[value] if v not in wide]
    return wide


def _ways(node: Node) -> Iterator[tuple[Value, Value | None]]:
    """What each integer of a node is as wide as; None of what may be anything."""
    match node:
        case Apply():
            if node.op.name in _NARROW or (node.op.kind == "check" and node.op.name not in _AS_FIRST):
                return
            first = node.inputs[:1] if node.op.name in _AS_FIRST else node.inputs
            operands = [v for v in first if _is_integer(v)]
            for out in filter(_is_integer, node.outputs):
                yield from ((out, v) for v in operands) if operands and node.op.name in _AS_WIDE else [(out, None)]
        case For():
            index, *params = node.body.params
            yield from ((index, v) for v in (node.start, node.step))
            yield from _carried(node, params)
        case While():
            yield from _carried(node, node.body.params)
            yield from zip(node.cond.params, node.body.params, strict=False)
        case If():
            for out, *made in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                yield from ((out, v) for v in made if _is_integer(out))
        case _:
            yield from ((out, None) for out in node.outputs if _is_integer(out))


def _carried(node: For | While, params: Sequence[Value]) -> Iterator[tuple[Value, Value | None]]:
    for first, param, after, out in zip(node.carry, params, node.body.results, node.outputs, strict=False):
        if _is_integer(param):
            yield from ((param, first), (param, after), (out, param), (out, first))


def _is_integer(value: Value) -> bool:
    """Whether it is one of Python's integers, or a list of such."""
    type = value.type.item if isinstance(value.type, ListType) else value.type
    return isinstance(type, ScalarType) and type.dtype == INT and type.weak


def with_kind(graph: Graph) -> frozenset[Value]:
    """The integers of which it matters whether they are Python's or NumPy's: those that may grow.

    They are the operands of sums and products, also as elements of arrays that are one number throughout, and what is
    carried from trip to trip or out of a branch.
    """
    found: set[Value] = set()
    filled: dict[Value, Value] = {}
    for node in all_nodes(graph):
        if isinstance(node, Apply):
            if node.op.name in ("broadcast_to", "full"):
                filled[node.outputs[0]] = node.inputs[0]
            found.update(node.inputs if node.op.grows and node.op.kind == "elementwise" else ())
        elif isinstance(node, (For, While)):
            found.update(node.carry)
        found.update(r for g in node_graphs(node) for r in g.results)
    found.update(x for array, x in filled.items() if array in found)
    return frozenset(v for v in found if isinstance(v.type, ScalarType) and v.type.dtype == INT)


def bare(node: Apply) -> Apply:
    """A literal without its kind."""
    out = node.outputs[0]
    if not is_numpy_integer(out.type):
        return node
    attrs = {"value": int(node.attrs["value"])}
    return replace(node, attrs=attrs, outputs=(Value(out.name, replace(out.type, weak=True)),))


def is_numpy_integer(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.dtype == INT and not type.weak


def annotated(function: ast.FunctionDef, names: Iterable[str]) -> None:
    """Say of parameters that they are NumPy's integers."""
    known = frozenset(names)
    for arg in function.args.args:
        if arg.arg in known:
            arg.annotation = ast.Attribute(ast.Name("np", ast.Load()), "int64", ast.Load())


def _may_grow(node: Apply, uses: Uses, wide: Set[Value]) -> bool:
    out = node.outputs[0]
    if out.type.dtype != INT:
        return False
    if node.op.name in _SMALLEST:
        return is_weak(out.type) and _may_be_smallest(node, uses, wide)
    if node.op.name == "sum" and _are_truths(node.inputs[0], uses):
        return False
    if isinstance(out.type, ArrayType) or is_numpy_integer(out.type) or node.op.name not in _ROUTES:
        return True
    return not (_counts(out, uses, wide) or _is_place(node, uses, wide))


def _is_place(node: Apply, uses: Uses, wide: Set[Value]) -> bool:
    """Whether a sum or product is only a position or a bound, of such; or a bound that is a literal more or less."""
    out = node.outputs[0]
    if wide.isdisjoint(node.inputs):
        return _addresses(out, uses, set())
    literal = node.op.name != "mul" and any(_is_literal(v, uses) for v in node.inputs)
    return literal and all(use.role == "bound" for use in uses.reads[out])


def _are_truths(value: Value, uses: Uses) -> bool:
    """Whether integers are truths, whose sum is a number of elements."""
    made = uses.definition.get(value)
    return made is not None and made.op.name == "cast" and made.inputs[0].type.dtype == BOOL


def _may_be_smallest(node: Apply, uses: Uses, wide: Set[Value]) -> bool:
    """Whether the operand may be the smallest integer, which has no positive counterpart.

    What addresses is no place then, and is found not to be one; but numba's quotient by -1 is 0.
    """
    if _counts(node.inputs[0], uses, wide):
        return False
    if node.op.name != "floordiv":
        return not _addresses(node.outputs[0], uses, set())
    divisor = uses.definition.get(node.inputs[1])
    if divisor is None:
        return True
    return divisor.op.name not in ("dim", "list_len", "const") or divisor.attrs.get("value", 1) < 0


def _counts(value: Value, uses: Uses, wide: Set[Value], apart: bool = True) -> bool:
    """Whether it is a length or a loop's variable, or how far two such are ``apart``, but for literal steps."""
    node = uses.definition.get(value)
    if node is None:
        return value not in wide
    if node.op.name in ("add", "sub", "maximum", "minimum"):
        literal = [_is_literal(v, uses) for v in node.inputs]
        others = [v for v, known in zip(node.inputs, literal, strict=True) if not known]
        if len(others) == 2:
            return apart and node.op.name == "sub" and all(_counts(v, uses, wide, False) for v in others)
        return all(_counts(v, uses, wide, apart) for v in others)
    return node.op.name in ("dim", "list_len", "list_pop", "list_take", "list_get", "rows_at_once")


def _is_literal(value: Value, uses: Uses) -> bool:
    node = uses.definition.get(value)
    return node is not None and node.op.name == "const"


def _addresses(value: Value, uses: Uses, seen: set[Value]) -> bool:
    """Whether an integer is only a position, a length, or a bound of a loop."""
    if value in seen:
        return True
    seen.add(value)
    return all(_addressing(use, value, uses, seen) for use in uses.reads[value])


def _addressing(use: Use, value: Value, uses: Uses, seen: set[Value]) -> bool:
    node = use.node
    if not isinstance(node, Apply):
        return use.role == "bound"
    if node.op.kind == "check" or (node.op.name in _PASSED_ON and isinstance(node.outputs[0].type, ScalarType)):
        return _addresses(node.outputs[0], uses, seen)
    if node.op.name in _ORDERS:
        readers = [u.node for u in uses.reads[node.outputs[0]]]
        return all(isinstance(r, Apply) and r.op.kind == "check" for r in readers)
    return value in _positions(node.op, node.inputs)


def _positions(op: Op, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
    """The operands that say where, or how long."""
    if op.name in ("getitem", "list_get", "full", "reshape", "broadcast_to", "with_shape"):
        return inputs[1:]
    if op.kind == "update":
        return inputs[2:] if inputs[1] not in inputs[2:] else ()
    return inputs if op.name in ("empty", "wrap_index") else ()
