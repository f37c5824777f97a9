"""The types that follow from what stands before a value: what the text of a graph need not say.

An unknown size is `UNKNOWN`, an unknown integer has no value; `is_open` says that something is left to be named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from srcgraph.ir.dims import UNKNOWN
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While
from srcgraph.ir.types import INT, PY_INT, ArrayType, ListType, ScalarType, Type, same_kind, without_value


def is_open(type: Type) -> bool:
    """Whether a symbol must still be found for a size, or for an integer."""
    if isinstance(type, ArrayType):
        return UNKNOWN in type.shape
    return isinstance(type, ScalarType) and type.dtype == INT and type.value is None


def param_types(op: str, carry: Sequence[Value], captures: Sequence[Value]) -> list[Type]:
    """The types of the parameters of a node's graphs; a carried value keeps its sizes until something else is said."""
    index = [PY_INT] if op == "for" else []
    return [*index, *(without_value(v.type) for v in carry), *(v.type for v in captures)]


def output_types(node: Node, seen: Set[str], known: Mapping[str, Sequence[Type]]) -> list[Type]:
    """The types of a node's outputs.

    Parameters
    ----------
    seen : set of str
        The symbols that mean something where the node stands.
    known : mapping
        The types of the results of the graphs that stand above, by name.
    """
    match node:
        case Apply():
            types = node.op.infer(*(v.type for v in node.inputs), **node.attrs)
            return list(types) if isinstance(types, tuple) else [types]
        case If():
            pairs = zip(node.then.results, node.orelse.results, strict=False)
            return [forgotten(_joined(x.type, y.type), seen) for x, y in pairs]
        case While() | For():
            return [forgotten(p.type, seen) for p in carried_params(node)]
        case Call():
            return [forgotten(t, frozenset()) for t in known.get(node.callee, ())]
        case Define():
            return []


def carried_params(node: While | For) -> tuple[Value, ...]:
    """The parameters of a loop's body that are carried."""
    first = 1 if isinstance(node, For) else 0
    return node.body.params[first : first + len(node.carry)]


def result_types(graph: Graph) -> list[Type]:
    """The types of a graph's results."""
    return [r.type for r in graph.results]


def forgotten(type: Type, seen: Set[str]) -> Type:
    """A type without the facts whose symbols mean nothing here."""
    match type:
        case ScalarType():
            return type if type.value is None or type.value.symbols() <= seen else without_value(type)
        case ArrayType():
            return replace(type, shape=tuple(d if d.symbols() <= seen else UNKNOWN for d in type.shape))
        case ListType():
            return ListType(forgotten(type.item, seen))  # type: ignore[arg-type]


def _joined(x: Type, y: Type) -> Type:
    """What is known of a value that is one of two."""
    if isinstance(x, ArrayType) and isinstance(y, ArrayType) and same_kind(x, y):
        return replace(x, shape=tuple(a if a == b else UNKNOWN for a, b in zip(x.shape, y.shape, strict=True)))
    return without_value(x) if x != y else x
