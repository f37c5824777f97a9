"""`verify` refuses every kind of malformed graph, and says which node is at fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from srcgraph.errors import InternalError
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Program, Value, While
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.types import PY_FLOAT
from srcgraph.ir.verify import verify

STRAIGHT = """
def f(x: float, u: f64[n]) -> (float, f64[n]):
    double: float = mul(x, 2.0)
    scaled: f64[n] = mul(u, double)
    return (double, scaled)
"""
BRANCH = """
def f(x: float, flag: bool) -> float:
    def then(a: float) -> float:
        more: float = add(a, 1.0)
        return more
    def orelse(b: float) -> float:
        return b
    y: float
    (y,) = if_(flag, then, orelse, captures=(x,))
    return y
"""
COUNTED = """
def f(x: float, k: int(k), u: f64[n]) -> (float, f64[n]):
    def body(i: int(i), s: float, v: f64[n], step: float) -> (float, f64[n], bool):
        more: float = add(s, step)
        w: f64[n] = mul(v, more)
        stop: bool = less(more, 0.0)
        return (more, w, stop)
    total: float
    last: f64[n]
    (total, last,) = for_(0, k, 1, body, carry=(0.0, u,), captures=(x,), stops=True)
    return (total, last)
"""
CONDITIONAL = """
def f(x: float) -> float:
    def cond(s: float, limit: float) -> bool:
        go: bool = less(s, limit)
        return go
    def body(t: float, bound: float) -> float:
        more: float = mul(t, 2.0)
        return more
    y: float
    (y,) = while_(cond, body, carry=(1.0,), captures=(x,))
    return y
"""
GOOD = {"straight": STRAIGHT, "branch": BRANCH, "counted": COUNTED, "conditional": CONDITIONAL}


@pytest.mark.parametrize("name", GOOD)
def test_valid_graphs_are_accepted(name: str) -> None:
    verify(parse_graph(GOOD[name]))


# -- corruption ------------------------------------------------------------------------------------


def find(graph: Graph, name: str) -> Value:
    """A value by its name, at any depth."""
    for value in [*graph.params, *(o for n in graph.nodes for o in n.outputs)]:
        if value.name == name:
            return value
    for node in graph.nodes:
        for field in ("then", "orelse", "cond", "body"):
            inner = getattr(node, field, None)
            if isinstance(inner, Graph):
                try:
                    return find(inner, name)
                except LookupError:
                    pass
    raise LookupError(name)


def with_node(graph: Graph, kind: type, change: Callable) -> Graph:
    """The graph with its first node of that kind (not a literal) changed."""
    at = next(
        k
        for k, n in enumerate(graph.nodes)
        if isinstance(n, kind) and not (isinstance(n, Apply) and n.op.name == "const")
    )
    return replace(graph, nodes=(*graph.nodes[:at], change(graph.nodes[at]), *graph.nodes[at + 1 :]))


def of(text: str, kind: type, change: Callable) -> Callable[[], Graph]:
    return lambda: with_node(parse_graph(text), kind, change)


def in_body(text: str, kind: type, change: Callable, field: str = "body") -> Callable[[], Graph]:
    """The graph with one inner graph of its loop or branch changed."""
    return of(text, kind, lambda n: replace(n, **{field: change(getattr(n, field))}))


def twice(text: str) -> Graph:
    graph = parse_graph(text)
    return replace(graph, nodes=(*graph.nodes, graph.nodes[-1]))


def out_of_order() -> Graph:
    graph = parse_graph(STRAIGHT)
    return replace(graph, nodes=graph.nodes[::-1])


def retyped(value: Value, text: str) -> Value:
    return Value(value.name, find(parse_graph(f"def f(v: {text}) -> {text}:\n    return v\n"), "v").type)


def reading_outer() -> Graph:
    """A body that reads a value of the outer graph directly."""
    graph = parse_graph(COUNTED)
    x = graph.params[0]

    def change(node: For) -> For:
        step = node.body.params[-1]
        nodes = tuple(
            replace(n, inputs=tuple(x if v is step else v for v in n.inputs)) if isinstance(n, Apply) else n
            for n in node.body.nodes
        )
        return replace(node, body=replace(node.body, nodes=nodes))

    return with_node(graph, For, change)


def shared_graph() -> Graph:
    """One graph used as both branches: its values would be defined twice."""
    return with_node(parse_graph(BRANCH), If, lambda n: replace(n, orelse=n.then))


STRAY = Value("stray", PY_FLOAT)
BAD: dict[str, tuple[Callable[[], Graph], str]] = {
    "never defined": (of(STRAIGHT, Apply, lambda n: replace(n, inputs=(STRAY, n.inputs[1]))), "mul.*stray.*never def"),
    "used before it is defined": (out_of_order, "is read here but never defined"),
    "result never defined": (lambda: replace(parse_graph(STRAIGHT), results=(STRAY,)), "stray.*never defined"),
    "defined twice": (lambda: twice(STRAIGHT), "scaled.*is defined twice"),
    "parameter defined again": (
        of(STRAIGHT, Apply, lambda n: replace(n, outputs=(n.inputs[0],))),
        "x: float> is defined twice",
    ),
    "inner value read outside": (lambda: _inner_result(), "more.*is read here but"),
    "outer value read inside": (reading_outer, "add.*x: float> is read here but defined elsewhere"),
    "one graph owned twice": (shared_graph, "is defined twice"),
    "wrong dtype": (
        of(STRAIGHT, Apply, lambda n: replace(n, outputs=(retyped(n.outputs[0], "f32"),))),
        "mul.*type rule gives float, recorded is f32",
    ),
    "wrong shape": (
        lambda: _last_retyped("f64[m]"),
        r"mul.*type rule gives f64\[n\], recorded is f64\[m\]",
    ),
    "weak for strong": (
        of(STRAIGHT, Apply, lambda n: replace(n, outputs=(retyped(n.outputs[0], "f64"),))),
        "type rule gives float, recorded is f64",
    ),
    "operands that do not broadcast": (
        lambda: _params_retyped(STRAIGHT, 0, "f64[m]"),
        "mul.*",
    ),
    "operand of a type the op refuses": (
        of(BRANCH.replace("add(a, 1.0)", "invert(a)"), If, lambda n: n),
        "invert.*type rule refuses",
    ),
    "condition is a number": (
        of(BRANCH, If, lambda n: replace(n, cond=n.captures[0])),
        "If.*the condition is float",
    ),
    "branch returns too few": (
        in_body(BRANCH, If, lambda g: replace(g, results=()), "then"),
        "If.*results of then: 0 values for 1",
    ),
    "branch returns another type": (
        in_body(BRANCH, If, lambda g: replace(g, params=(retyped(g.params[0], "f64"),), results=()), "orelse"),
        "If.*what orelse is given.*x: float.*b: f64",
    ),
    "captures missing": (of(BRANCH, If, lambda n: replace(n, captures=())), "If.*what then is given: 0 values for 1"),
    "carry of another type": (
        of(COUNTED, For, lambda n: replace(n, carry=n.carry[::-1])),
        r"For.*what body is given.*u: f64\[n\].*s: float",
    ),
    "body returns too few": (
        in_body(COUNTED, For, lambda g: replace(g, results=g.results[1:])),
        "For.*what the body returns: 1 values for 2",
    ),
    "body returns another type": (
        in_body(COUNTED, For, lambda g: replace(g, results=(g.results[1], *g.results[1:]))),
        r"For.*what the body returns.*w: f64\[n\].*s: float",
    ),
    "body returns another size": (
        lambda: _other_size(),
        "For.*keeps its size, but the body returns",
    ),
    "stop flag is a number": (
        in_body(COUNTED, For, lambda g: replace(g, results=(*g.results[:2], g.results[0]))),
        "For.*the stop flag is float",
    ),
    "outputs of another type": (
        of(COUNTED, For, lambda n: replace(n, outputs=n.outputs[::-1])),
        "For.*the outputs",
    ),
    "index is a float": (
        in_body(COUNTED, For, lambda g: replace(g, params=(retyped(g.params[0], "float"), *g.params[1:]))),
        "For.*a bound or index is float",
    ),
    "bound is a float": (of(COUNTED, For, lambda n: replace(n, stop=n.captures[0])), "For.*a bound or index is float"),
    "loop's condition is a number": (
        in_body(CONDITIONAL, While, lambda g: replace(g, results=(g.params[0],)), "cond"),
        "While.*the condition is float",
    ),
    "loop's condition takes another carry": (
        in_body(CONDITIONAL, While, lambda g: replace(g, params=g.params[:1]), "cond"),
        "While.*what cond is given: 2 values for 1",
    ),
    "capture with another fact": (lambda: _captured_size(), r"captures .*f64\[n\].*as.*f64\[m\]"),
}  # fmt: skip


def _inner_result() -> Graph:
    graph = parse_graph(BRANCH)
    return replace(graph, results=(find(graph, "more"),))


def _last_retyped(text: str) -> Graph:
    graph = parse_graph(STRAIGHT)
    last = graph.nodes[-1]
    wrong = retyped(last.outputs[0], text)
    return replace(graph, nodes=(*graph.nodes[:-1], replace(last, outputs=(wrong,))), results=())


def _params_retyped(text: str, at: int, type_text: str) -> Graph:
    graph = parse_graph(text)
    old = graph.params[at]
    new = retyped(old, type_text)
    nodes = tuple(replace(n, inputs=tuple(new if v is old else v for v in n.inputs)) for n in graph.nodes)
    return replace(graph, params=tuple(new if v is old else v for v in graph.params), nodes=nodes)


def _other_size() -> Graph:
    """The body returns a captured array of another size than the carried one."""
    return parse_graph("""
def f(u: f64[n], w: f64[m]) -> f64[n]:
    def body(i: int(i), v: f64[n], c: f64[m]) -> f64[m]:
        return c
    last: f64[n]
    (last,) = for_(0, 3, 1, body, carry=(u,), captures=(w,))
    return last
""")


def _captured_size() -> Graph:
    return parse_graph("""
def f(flag: bool, u: f64[n]) -> f64[n]:
    def then(a: f64[m]) -> f64[m]:
        return a
    def orelse(b: f64[n]) -> f64[n]:
        return b
    y: f64[n]
    (y,) = if_(flag, then, orelse, captures=(u,))
    return y
""")


@pytest.mark.parametrize("name", BAD)
def test_malformed_graphs_are_refused(name: str) -> None:
    """The message names the graph, the node and its outputs, says what is wrong, and shows the graph."""
    make, message = BAD[name]
    graph = make()
    with pytest.raises(InternalError, match=f"(?s)invalid graph '(f|then|orelse|cond|body)': .*{message}") as caught:
        verify(graph)
    assert "\ndef " in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "results", "message"),
    [
        (("x", "u"), 1, "the arguments: 2 values for 1"),
        (("u",), 1, "the arguments"),
        (("x",), 2, "the results: 1 values for 2"),
    ],
)
def test_calls_fit_their_callee(inputs: tuple[str, ...], results: int, message: str) -> None:
    """Between the graphs of a program too."""
    callee = parse_graph("def g(a: float) -> float:\n    b: float = mul(a, a)\n    return b\n")
    graph = parse_graph(STRAIGHT)
    outputs = tuple(Value(f"out{k}", PY_FLOAT) for k in range(results))
    call = Call("g", tuple(find(graph, name) for name in inputs), outputs)
    program = Program({"g": callee, "f": replace(graph, nodes=(*graph.nodes, call))}, "f")
    with pytest.raises(InternalError, match=f"Call.*{message}"):
        verify(program)
    with pytest.raises(InternalError, match=r"Call.*there is no graph named 'g'"):
        verify(Program({"f": program.graphs["f"]}, "f"))


def test_a_good_call_is_accepted() -> None:
    callee = parse_graph("def g(a: float) -> float:\n    b: float = mul(a, a)\n    return b\n")
    graph = parse_graph(STRAIGHT)
    call = Call("g", (graph.params[0],), (Value("out", PY_FLOAT),))
    verify(Program({"g": callee, "f": replace(graph, nodes=(*graph.nodes, call))}, "f"))
