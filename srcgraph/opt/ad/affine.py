"""What a user's rule adds to tangents, or returns in their place, is found before it would be lost.

A derivative keeps what is multiplied by a tangent. Beside that, a sum of a tangent and of something else is not linear,
nor is a result that depends on no tangent, unless that is zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from srcgraph.errors import DerivativeError, Loc, Problem
from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Graph, If, Node, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.activity import dependent

_SUMS = tuple(OPS[name] for name in ("add", "sub", "where"))
_PRODUCTS = tuple(OPS[name] for name in ("mul", "matmul"))
_AS_FIRST = frozenset((
    "full", "with_shape", "broadcast_to", "cast", "neg", "getitem", "reshape", "transpose", "sum", "real", "imag",
    "div",
))  # fmt: skip


def check_tangents(function: str, graph: Graph, tangents: int, results: int, at: Loc | None) -> None:
    """Refuse a rule for forward mode whose parameters from ``tangents`` on do not make all there is of its results from
    ``results`` on; ``at`` is where it is called.

    Raises
    ------
    DerivativeError
        Something shows that it is not linear.
    """
    linear, loc = _is_linear(graph, tangents, results)
    if not linear:
        raise DerivativeError(not_linear(function, loc or at))


def check_cotangents(function: str, graph: Graph, cotangents: int, at: Loc | None) -> None:
    """The same of a rule for reverse mode, which forward mode is to use."""
    linear, loc = _is_linear(graph, cotangents, 0)
    if not linear:
        raise DerivativeError(not_for_forward_mode(function, loc or at))


def not_linear(function: str, loc: Loc | None) -> Problem:
    hint = "multiply tangents by what does not depend on them, and add them up; decide nothing by them"
    return Problem(f"the rule of {function} is not linear in its tangents", loc, hint=hint)


def not_for_forward_mode(function: str, loc: Loc | None) -> Problem:
    why = f"the rule of {function} is not linear in the cotangent, so it is none for forward mode"
    return Problem(why, loc, hint="use grad, vjp or jacrev, or give the function a rule by custom_jvp")


def _is_linear(graph: Graph, tangents: int, results: int) -> tuple[bool, Loc | None]:
    """Whether nothing shows that a rule is not linear; else False, and where that is."""
    opened = open_(graph)
    varied = dependent(opened, opened.params[tangents:])
    made = {value: node for node in all_nodes(opened) for value in node.outputs}
    for value in opened.results[results:]:
        if value not in varied and not _is_zero(value, made):
            return False, made[value].origin.loc if value in made else None
    for node in made.values():
        for parts in _parts(node):
            still = [v for v in parts if v not in varied]
            if 0 < len(still) < len(parts) and not all(_is_zero(v, made) for v in still):
                return False, node.origin.loc
    return True, None


def _parts(node: Node) -> Iterator[tuple[Value, ...]]:
    """What the results of a node are sums or choices of."""
    if isinstance(node, Apply) and node.op in _SUMS:
        yield node.inputs[-2:]
    elif isinstance(node, If):
        yield from zip(node.then.results, node.orelse.results, strict=True)


def _is_zero(value: Value, made: Mapping[Value, Node]) -> bool:
    """Whether a value is written as zero, or as an array of zeros."""
    node = made.get(value)
    if not isinstance(node, Apply):
        return False
    if node.op.name == "const":
        return node.attrs["value"] == 0
    if node.op.name == "zeros_like":
        return True
    if node.op in _PRODUCTS:
        return any(_is_zero(v, made) for v in node.inputs)
    if node.op in _SUMS:
        return all(_is_zero(v, made) for v in node.inputs[-2:])
    return node.op.name in _AS_FIRST and _is_zero(node.inputs[0], made)
