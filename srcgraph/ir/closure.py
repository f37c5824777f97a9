"""Closure conversion: inner graphs that read outer values become closed graphs with captures.

`close` gives every inner graph one parameter for each outer value it reads and lists those values
as the node's captures; `open_` undoes it by putting the outer values back. Values defined in the
graph keep their identity; only capture parameters appear or vanish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from srcgraph.errors import InternalError
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While, node_graphs, node_inputs

Env = Mapping[Value, Value]


def close(graph: Graph) -> Graph:
    """Return ``graph`` with every inner graph closed; literals are copied in, not captured."""
    return _close(graph, {})


def _close(graph: Graph, literals: dict[Value, Apply]) -> Graph:
    own = {n.outputs[0]: n for n in graph.nodes if isinstance(n, Apply) and n.op.name == "const"}
    known = {**literals, **own}
    return replace(graph, nodes=tuple(_close_node(n, known) for n in graph.nodes))


def free_values(graph: Graph) -> tuple[Value, ...]:
    """The values ``graph`` reads and does not define, in order of first use."""
    defined = set(graph.params)
    free: dict[Value, None] = {}

    def read(values: tuple[Value, ...]) -> None:
        free.update((v, None) for v in values if v not in defined)

    for node in graph.nodes:
        read(node_inputs(node))
        for inner in node_graphs(node):
            read(free_values(inner))
        defined.update(node.outputs)
    read(graph.results)
    return tuple(free)


def _close_node(node: Node, literals: dict[Value, Apply]) -> Node:
    if isinstance(node, Apply | Call):
        return node
    graphs = [_close(g, literals) for g in node_graphs(node)]
    free = dict.fromkeys(v for g in graphs for v in free_values(g))
    captures = tuple(v for v in free if v not in literals)
    bound = [_bind(g, captures, literals) for g in graphs]
    match node:
        case If():
            return replace(node, captures=node.captures + captures, then=bound[0], orelse=bound[1])
        case While():
            return replace(node, captures=node.captures + captures, cond=bound[0], body=bound[1])
        case For():
            return replace(node, captures=node.captures + captures, body=bound[0])
        case Define():
            if captures:
                raise InternalError(f"the function {node.graph.name!r} reads {captures} from outside")
            return replace(node, graph=bound[0])
    return node


def _bind(graph: Graph, captures: tuple[Value, ...], literals: dict[Value, Apply]) -> Graph:
    """Give ``graph`` a parameter for each captured value, and literals of its own."""
    env = {v: Value(v.name, v.type) for v in captures}
    copies = []
    for value in free_values(graph):
        if value in literals:
            env[value] = Value(value.name, value.type)
            copies.append(replace(literals[value], outputs=(env[value],)))
    bound = renamed(graph, env)
    return replace(bound, params=graph.params + tuple(env[v] for v in captures), nodes=(*copies, *bound.nodes))


def renamed(graph: Graph, env: Env) -> Graph:
    """Return ``graph`` reading ``env[v]`` wherever it read ``v``."""
    if not env:
        return graph
    nodes = tuple(rename_node(n, env) for n in graph.nodes)
    return replace(graph, nodes=nodes, results=_map(graph.results, env))


def _map(values: tuple[Value, ...], env: Env) -> tuple[Value, ...]:
    return tuple(env.get(v, v) for v in values)


def rename_node(node: Node, env: Env) -> Node:
    """Return ``node`` reading ``env[v]`` wherever it, or a graph of its own, read ``v``."""
    match node:
        case Apply() | Call() if env.keys().isdisjoint(node.inputs):
            return node
        case Apply() | Call():
            return with_inputs(node, _map(node.inputs, env))
        case Define():
            return replace(node, graph=_rename_free(node.graph, env))
        case If():
            return replace(
                node,
                cond=env.get(node.cond, node.cond),
                captures=_map(node.captures, env),
                then=_rename_free(node.then, env),
                orelse=_rename_free(node.orelse, env),
            )
        case While():
            return replace(
                node,
                carry=_map(node.carry, env),
                captures=_map(node.captures, env),
                cond=_rename_free(node.cond, env),
                body=_rename_free(node.body, env),
            )
        case For():
            return replace(
                node,
                start=env.get(node.start, node.start),
                stop=env.get(node.stop, node.stop),
                step=env.get(node.step, node.step),
                carry=_map(node.carry, env),
                captures=_map(node.captures, env),
                body=_rename_free(node.body, env),
            )


def with_graphs(node: Node, graphs: Sequence[Graph]) -> Node:
    """A node with other graphs in place of its own, in the order of `node_graphs`."""
    match node:
        case If():
            return replace(node, then=graphs[0], orelse=graphs[1])
        case While():
            return replace(node, cond=graphs[0], body=graphs[1])
        case For():
            return replace(node, body=graphs[0])
        case Define():
            return replace(node, graph=graphs[0])
    return node


def with_inputs(node: Node, inputs: Sequence[Value]) -> Node:
    """A node that reads other values directly, in the order of `node_inputs`."""
    inputs = tuple(inputs)
    match node:
        case Apply():
            return Apply(node.op, inputs, node.outputs, node.attrs, node.origin)
        case Call():
            return replace(node, inputs=inputs)
        case If():
            return replace(node, cond=inputs[0], captures=inputs[1:])
        case While():
            count = len(node.carry)
            return replace(node, carry=inputs[:count], captures=inputs[count:])
        case For():
            start, stop, step, *rest = inputs
            count = len(node.carry)
            carry, captures = tuple(rest[:count]), tuple(rest[count:])
            return replace(node, start=start, stop=stop, step=step, carry=carry, captures=captures)
        case Define():
            return node


def _rename_free(graph: Graph, env: Env) -> Graph:
    """Rename in an inner graph; closed ones, which read nothing from outside, stay as they are."""
    free = free_values(graph)
    if not free:
        return graph
    return renamed(graph, {v: env[v] for v in free if v in env})


def open_(graph: Graph) -> Graph:
    """Return ``graph`` with inner graphs reading outer values directly; inverse of `close`."""
    return replace(graph, nodes=tuple(_open_node(n) for n in graph.nodes))


def _open_node(node: Node) -> Node:
    match node:
        case Apply() | Call():
            return node
        case If():
            then = _unbind(node.then, node.captures)
            return replace(node, captures=(), then=then, orelse=_unbind(node.orelse, node.captures))
        case While():
            cond = _unbind(node.cond, node.captures)
            return replace(node, captures=(), cond=cond, body=_unbind(node.body, node.captures))
        case For():
            return replace(node, captures=(), body=_unbind(node.body, node.captures))
        case Define():
            return replace(node, graph=open_(node.graph))
    return node


def _unbind(graph: Graph, captures: tuple[Value, ...]) -> Graph:
    count = len(graph.params) - len(captures)
    env = dict(zip(graph.params[count:], captures, strict=True))
    return open_(renamed(replace(graph, params=graph.params[:count]), env))
