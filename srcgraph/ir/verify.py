"""The invariants of a closed graph, checked after every pass in tests.

Each value is defined once and before use, nothing is read from outside, each op's rule gives the
recorded type, and what a body returns is what its loop carries.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.errors import InternalError, Problem, SrcgraphError
from srcgraph.ir.dims import UNKNOWN, Dim
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Node, Program, Value, While, node_graphs, node_inputs
from srcgraph.ir.printer import format_graph
from srcgraph.ir.types import PY_BOOL, ArrayType, ListType, ScalarType, Type, same_kind, type_symbols
from srcgraph.ir.walk import rule_graphs


def verify(graph: Graph | Program) -> None:
    """Check every invariant; of a lone graph, not whether what it calls is there.

    Raises
    ------
    InternalError
        Names the node at fault and shows the graph around it.
    """
    fault = find_fault(graph)
    if fault is not None:
        text = f"invalid graph {fault.graph.name!r}: {fault}\n{_excerpt(fault.graph)}"
        raise InternalError(Problem(text)) from fault


def find_fault(graph: Graph | Program) -> Fault | None:
    """The first invariant that does not hold."""
    try:
        if isinstance(graph, Program):
            for inner in graph.graphs.values():
                _Verify(graph).graph(inner)
        else:
            _Verify(None).graph(graph)
    except Fault as fault:
        return fault
    return None


class Fault(Exception):
    """What is wrong, at which node, in which graph; without a node, of the graph's parameters or results."""

    node: Node | None = None
    graph: Graph


class _Verify:
    def __init__(self, program: Program | None):
        self.program = program
        self.defined: set[Value] = set()
        self.symbols: set[str] = set()

    def graph(self, graph: Graph) -> None:
        visible: set[Value] = set()
        try:
            self.define(graph.params, visible)
            for node in graph.nodes:
                self.node(node, visible)
            self.read(graph.results, visible)
        except Fault as fault:
            if not hasattr(fault, "graph"):
                fault.graph = graph
            raise

    def node(self, node: Node, visible: set[Value]) -> None:
        try:
            self.read(node_inputs(node), visible)
            self.check(node)
        except Fault as fault:
            name = node.op.name if isinstance(node, Apply) else type(node).__name__
            located = Fault(f"{name} -> {[o.name for o in node.outputs]}: {fault}")
            located.node = node
            raise located from fault
        for inner in node_graphs(node):
            self.graph(inner)
        self.define(node.outputs, visible)

    def define(self, values: Sequence[Value], visible: set[Value]) -> None:
        for value in values:
            if value in self.defined:
                raise Fault(f"{value} is defined twice")
            if not isinstance(value.type, ListType) and not UNKNOWN.symbols().isdisjoint(type_symbols(value.type)):
                raise Fault(f"{value} has the symbol of sizes that nobody knows")
            self.defined.add(value)
            self.symbols |= type_symbols(value.type)
            visible.add(value)

    def read(self, values: Sequence[Value], visible: set[Value]) -> None:
        for value in values:
            if value not in visible:
                where = "defined elsewhere" if value in self.defined else "never defined"
                raise Fault(f"{value} is read here but {where}")

    def check(self, node: Node) -> None:
        match node:
            case Apply():
                self.apply(node)
            case If():
                self.if_(node)
            case While():
                self.while_(node)
            case For():
                self.for_(node)
            case Call():
                self.call(node)

    def apply(self, node: Apply) -> None:
        try:
            types = node.op.infer(*(v.type for v in node.inputs), **node.attrs)
        except SrcgraphError as error:
            raise Fault(f"its type rule refuses: {error}") from error
        types = types if isinstance(types, tuple) else (types,)
        expect(len(types) == len(node.outputs), f"its type rule gives {len(types)} results, not {len(node.outputs)}")
        for want, out in zip(types, node.outputs, strict=True):
            if not allows(want, out.type):
                raise Fault(f"its type rule gives {want}, recorded is {out.type}")
            self.new(out, node)

    def new(self, out: Value, node: Apply) -> None:
        """A number of which nothing is known has a symbol that no other number before it has."""
        size = out.type.value if isinstance(out.type, ScalarType) else None
        if size is not None and size.symbol in self.symbols:
            known = set[str]().union(*(type_symbols(v.type) for v in node.inputs))
            expect(size.symbol in known, f"{out} has the symbol of another number")

    def if_(self, node: If) -> None:
        expect(node.cond.type.ndim == 0 and node.cond.type.dtype.kind == "b", f"the condition is {node.cond.type}")
        for branch in (node.then, node.orelse):
            self.args(branch, node.captures)
            self.kinds(branch.results, node.outputs, f"the results of {branch.name}")

    def while_(self, node: While) -> None:
        for graph in (node.cond, node.body):
            self.args(graph, node.carry + node.captures, loose=len(node.carry))
        expect(len(node.cond.results) == 1, f"the condition has {len(node.cond.results)} results, not 1")
        (test,) = node.cond.results
        expect(test.type.ndim == 0 and test.type.dtype.kind == "b", f"the condition is {test.type}")
        self.carry(node, node.body, node.body.params[: len(node.carry)])

    def for_(self, node: For) -> None:
        index, *rest = node.body.params
        for value in (index, node.start, node.stop, node.step):
            is_int = isinstance(value.type, ScalarType) and value.type.dtype.kind == "i"
            expect(is_int, f"a bound or index is {value.type}")
        self.args(node.body, node.carry + node.captures, params=rest, loose=len(node.carry))
        self.carry(node, node.body, rest[: len(node.carry)])

    def carry(self, node: For | While, body: Graph, params: Sequence[Value]) -> None:
        results = list(body.results)
        if node.stops:
            expect(bool(results), "the body returns no stop flag")
            stop = results.pop()
            expect(stop.type == PY_BOOL, f"the stop flag is {stop.type}")
        self.kinds(results, params, "what the body returns")
        self.kinds(node.outputs, params, "the outputs")
        for result, param, init in zip(results, params, node.carry, strict=True):
            if isinstance(param.type, ListType):
                continue
            for got, want, first in zip(result.type.shape, param.type.shape, init.type.shape, strict=True):
                fixed = want == first and want.const is None
                expect(not fixed or got == want, f"{param} keeps its size, but the body returns {result}")

    def args(self, graph: Graph, given: Sequence[Value], params: Sequence[Value] | None = None, loose: int = 0) -> None:
        """Captured values keep their exact types; the first ``loose``, the carry, only their kind."""
        params = graph.params if params is None else params
        self.kinds(given, params, f"what {graph.name} is given")
        for value, param in list(zip(given, params, strict=True))[loose:]:
            expect(value.type == param.type, f"{graph.name} captures {value} as {param}")

    def call(self, node: Call) -> None:
        if self.program is not None:
            callee = self.program.graphs.get(node.callee)
            if callee is None:
                raise Fault(f"there is no graph named {node.callee!r}")
            self.kinds(node.inputs, callee.params, "the arguments")
            self.kinds(callee.results, node.outputs, "the results")
            for name in rule_graphs(node):
                expect(name in self.program.graphs, f"there is no graph named {name!r}")
        for i, k in node.changes:
            there = 0 <= i < len(node.inputs) and 0 <= k < len(node.outputs)
            expect(there, f"({i}, {k}) of its changes is no pair of an argument and a result")
            self.kinds([node.inputs[i]], [node.outputs[k]], "an array changed by the call")

    def kinds(self, given: Sequence[Value], wanted: Sequence[Value], what: str) -> None:
        expect(len(given) == len(wanted), f"{what}: {len(given)} values for {len(wanted)}")
        for x, y in zip(given, wanted, strict=True):
            expect(_kind_fits(x.type, y.type), f"{what}: {x} for {y}")


def _kind_fits(x: Type, y: Type) -> bool:
    return same_kind(x, y)


def allows(want: Type, have: Type) -> bool:
    """Whether a recorded type has every fact the rule gives; unknown facts may be anything."""
    match want, have:
        case ScalarType(), ScalarType():
            return (want.dtype, want.weak) == (have.dtype, have.weak) and want.value in (None, have.value)
        case ArrayType(), ArrayType():
            return want.dtype == have.dtype and _sizes_fit(want.shape, have.shape)
        case ListType(), ListType():
            return allows(want.item, have.item)
    return False


def _sizes_fit(want: tuple[Dim, ...], have: tuple[Dim, ...]) -> bool:
    return len(want) == len(have) and all(w in (UNKNOWN, h) for w, h in zip(want, have, strict=True))


def expect(holds: bool, message: str) -> None:
    if not holds:
        raise Fault(message)


def _excerpt(graph: Graph) -> str:
    try:
        return format_graph(graph)
    except Exception as error:  # an invalid graph may not print
        return f"(the graph does not print: {error!r})"
