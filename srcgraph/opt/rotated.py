"""What a loop multiplies last is multiplied first in the next step, where it is added to: one operation of the CPU.

``s = d + r; d = s * a`` of a derivative waits for a sum and a product in each step. Handing on ``s`` in place of ``d``,
``s = s * a + r`` waits for one fused operation, where `fastmath` allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from srcgraph.ir.graph import Apply, For, Graph, Node, Value, node_inputs
from srcgraph.ir.types import ScalarType, is_float

IsDerived: TypeAlias = Callable[[Node], bool]


def rotated(loop: For, before: Sequence[Node], is_derived: IsDerived) -> list[Node]:
    """A loop, its numbers handed on before they are multiplied, and what these are after it.

    Parameters
    ----------
    loop : For
        Closed.
    before : sequence of Node
        What stands before it.
    is_derived : callable
        Whether a node is arithmetic whose rounding is nobody's.
    """
    zeros = {v for n in before if isinstance(n, Apply) and n.op.name == "const" for v in n.outputs if _is_zero(n)}
    after: list[Node] = []
    for k in range(len(loop.carry)):
        product = _product(loop, k, is_derived) if loop.carry[k] in zeros else None
        if product is not None:
            loop = _rotated(loop, k, product, after)
    return [loop, *after]


def _is_zero(node: Apply) -> bool:
    value = node.attrs["value"]
    return isinstance(value, float) and value == 0.0


def _product(loop: For, k: int, is_derived: IsDerived) -> Apply | None:
    """What a number is at the end of a trip: a product with what is the same in all trips; the next one adds to it."""
    body = loop.body
    param, result = body.params[1 + k], body.results[k]
    if not isinstance(param.type, ScalarType) or not is_float(param.type):
        return None
    readers = [n for n in body.nodes if param in node_inputs(n)]
    made = next((n for n in body.nodes if result in n.outputs), None)
    last = isinstance(made, Apply) and made.op.name == "mul" and is_derived(made) and _readers(body, result) == 1
    if not last or len(readers) != 1 or param in body.results or made is None:
        return None
    (reader,) = readers
    if not isinstance(reader, Apply) or reader.op.name not in ("add", "sub") or not is_derived(reader):
        return None
    same = set(body.params[1 + len(loop.carry) :])
    assert isinstance(made, Apply)
    sums = [v for v in made.inputs if v not in same]
    return made if len(sums) == 1 and sums[0].type == param.type == result.type else None


def _readers(body: Graph, value: Value) -> int:
    return sum(node_inputs(n).count(value) for n in body.nodes) + body.results.count(value)


def _rotated(loop: For, k: int, product: Apply, after: list[Node]) -> For:
    body = loop.body
    param = body.params[1 + k]
    captures = dict(zip(body.params[1 + len(loop.carry) :], loop.captures, strict=True))
    handed, out = (Value(f"{v.name}_" if v.name else "", v.type) for v in (param, loop.outputs[k]))
    factor = next(v for v in product.inputs if v in captures)
    first = replace(product, inputs=(handed, factor), outputs=(param,))
    sum_ = next(v for v in product.inputs if v not in captures)
    nodes = (first, *(n for n in body.nodes if n is not product))
    params, results, outputs = list(body.params), list(body.results), list(loop.outputs)
    params[1 + k], results[k], outputs[k] = handed, sum_, out
    after.append(replace(product, inputs=(out, captures[factor]), outputs=(loop.outputs[k],)))
    made = replace(body, params=tuple(params), nodes=nodes, results=tuple(results))
    return replace(loop, body=made, outputs=tuple(outputs))
