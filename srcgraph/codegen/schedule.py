"""From an open graph to items: which values get names, which nest, and which loops run.

Elementwise ops, views, fills and slices are delayed: they are expressions at an index. They become
arrays only where memory is needed: for a library call, a result, a loop's carry, several readers, or
because their operands are about to be overwritten. Order is the program's own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from srcgraph.codegen import kernels
from srcgraph.codegen.expr import Expressions, call, filled, literal, number, repeats_operand, subscript
from srcgraph.codegen.items import Block, Branch, Do, Item, Let, Loop, Raise, Store, ref, refs
from srcgraph.codegen.uses import Place, Use, Uses, analyse, in_memory
from srcgraph.errors import InternalError
from srcgraph.ir.closure import open_, renamed
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import NOWHERE, Apply, Call, For, Graph, If, Node, Origin, Value, While, node_graphs
from srcgraph.ir.types import INT, PY_BOOL, PY_INT, ArrayType, ScalarType
from srcgraph.ir.view import element, transposed

NEST_LIMIT = 24
"""A nested expression longer than this many ops is split into named parts."""


def schedule(graph: Graph, target: str = "cpu") -> tuple[Block, Graph]:
    """Return the items of a closed graph, and the open graph whose values they name."""
    plain = transparent(open_(graph))
    scheduler = Scheduler(plain, target)
    return scheduler.function(), plain


# -- what means nothing to generated code -----------------------------------------------------------


def transparent(graph: Graph) -> Graph:
    """Without nodes that pass a value through: checks' results, Python's float against NumPy's."""
    env: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        current = _inner(_renamed_node(node, env))
        if isinstance(current, Apply) and passes_through(current):
            env[current.outputs[0]] = current.inputs[0]
            if current.op.kind != "check":
                continue
        nodes.append(current)
    return replace(graph, nodes=tuple(nodes), results=tuple(env.get(v, v) for v in graph.results))


def passes_through(node: Apply) -> bool:
    """Whether generated code can use the first operand in place of the result."""
    if node.op.check is not None:
        return node.op.check.passes == "x"
    if node.op.name == "cast":
        return node.inputs[0].type.dtype == node.attrs["dtype"]
    return node.op.name == "with_shape"


def _renamed_node(node: Node, env: dict[Value, Value]) -> Node:
    if not env:
        return node
    holder = Graph("", (), (node,), ())
    return renamed(holder, env).nodes[0]


def _inner(node: Node) -> Node:
    match node:
        case If():
            return replace(node, then=transparent(node.then), orelse=transparent(node.orelse))
        case While():
            same = dict(zip(node.cond.params, node.body.params, strict=True))
            cond = replace(renamed(node.cond, same), params=node.body.params)
            return replace(node, cond=transparent(cond), body=transparent(node.body))
        case For():
            return replace(node, body=transparent(node.body))
    return node


# -- the schedule -----------------------------------------------------------------------------------


class Scheduler:
    """Decides names and emits items, region by region."""

    def __init__(self, graph: Graph, target: str):
        self.graph = graph
        self.uses: Uses = analyse(graph)
        self.variables: set[Value] = set()
        self.providers: dict[str, Value] = {}
        self.write = Expressions(self.variables, self.uses.definition, self.providers, self.uses.owners, target)
        self.made: set[Value] = set()
        """Delayed arrays that have to be in memory after all."""
        self.hints: dict[Value, str] = {}
        """Names for values the user gave none."""

    def function(self) -> Block:
        self.variables.update(self.graph.params)
        self.decide(self.graph)
        items: list[Item] = []
        for param in self.graph.params:
            items += self.provide(param)
        return self.block(self.graph, None, items)

    def provide(self, value: Value) -> Iterator[Item]:
        """The sizes and integers a new variable makes known."""
        if isinstance(value.type, ScalarType):
            known = value.type.value
            if known is not None and known.symbol and known.symbol not in self.providers:
                self.providers[known.symbol] = value
        elif isinstance(value.type, ArrayType):
            for axis, size in enumerate(value.type.shape):
                if size.symbol and size.symbol not in self.providers:
                    holder = Value("", PY_INT)
                    self.hints[holder] = size.symbol
                    self.providers[size.symbol] = holder
                    self.variables.add(holder)
                    shape = ast.Attribute(ref(value), "shape", ast.Load())
                    yield Let(holder, subscript(shape, [number(axis)]))

    def decide(self, graph: Graph) -> None:
        """Which arrays are made, last first: what reads a delayed array decides when that is evaluated."""
        for node in reversed(graph.nodes):
            for inner in node_graphs(node):
                self.decide(inner)
            if isinstance(node, Apply) and self.can_delay(node) and isinstance(node.outputs[0].type, ArrayType):
                if self.needs_memory(node.outputs[0]):
                    self.made.add(node.outputs[0])

    def can_delay(self, node: Apply) -> bool:
        return node.op.kind in ("elementwise", "structural") and node.op.name != "copy"

    # -- decisions ------------------------------------------------------------------------------

    def needs_name(self, value: Value) -> bool:
        """Whether a scalar gets a variable of its own."""
        node = self.uses.definition[value]
        if node.op.name == "const":
            return False
        known = value.type.value if isinstance(value.type, ScalarType) else None
        if known is not None and value.type.dtype == INT:
            if known.symbol is None or known.symbol in self.providers:
                return False
            if self.uses.symbols[known.symbol] > 1:
                return not self.counts_trips(value, node)
        if self.is_converted_integer(value, node):
            return False
        readers = self.uses.reads[value]
        if value.name or len(readers) != 1 or node.op.kind in ("reduction", "library"):
            return True
        return not self.nests(value, readers[0])

    def counts_trips(self, value: Value, node: Apply) -> bool:
        """Whether a list's length is only read as the number of trips of one loop: ``range(len(xs))``."""
        if node.op.name != "list_len" or value.name or self.uses.symbols[value.type.value.symbol] != 2:
            return False
        ends: list[Use] = []
        for use in self.uses.reads[value]:
            less_one = isinstance(use.node, Apply) and use.node.op.name == "sub"
            ends += self.uses.reads[use.node.outputs[0]] if less_one and use.node is not None else [use]
        loops = {u.node for u in ends if isinstance(u.node, For) and self.is_unread_countdown(u.node)}
        if len(loops) != 1 or any(u.node not in loops for u in ends):
            return False
        place, end = self.uses.defined_at[value], ends[0].place
        return place.graph is end.graph and not self.overtaken(value, place, end)

    def is_unread_countdown(self, node: For) -> bool:
        """Whether a loop counts down to 0 by an index that nothing reads."""
        index = node.body.params[0]
        unread = not self.uses.reads[index] and self.uses.symbols[index.type.value.symbol] == 1
        return unread and node.stop.type.value == -1 and node.step.type.value == -1

    def is_converted_integer(self, value: Value, node: Apply) -> bool:
        """Whether a number is an integer variable as a float, which costs nothing to write again."""
        if value.name or node.op.name != "cast":
            return False
        number = node.inputs[0]
        known = number.type.value if isinstance(number.type, ScalarType) else None
        return number in self.variables or (known is not None and known.symbol in self.providers)

    def nests(self, value: Value, use: Use) -> bool:
        """Whether a number read once may stand inside the expression that reads it."""
        place = self.uses.defined_at[value]
        if use.place.graph is not place.graph:
            return False
        if isinstance(use.node, Apply):
            if use.role == "operand" and self.in_loop_nest(use.node):
                return self.uses.definition[value].op.name == "neg" and self.weight(value) == 1
            if self.repeated(use.node, value) or self.weight(value) > NEST_LIMIT:
                return False
        if isinstance(use.node, While) and use.role != "carry":
            return False
        return not self.overtaken(value, place, self.evaluated_at(use))

    def in_loop_nest(self, node: Apply) -> bool:
        """Whether a node's operands are evaluated at each point of a nest."""
        if node.op.kind == "update":
            return node.attrs["view"] != element(node.inputs[0].type.ndim)
        return node.op.kind in ("elementwise", "structural") and isinstance(node.outputs[0].type, ArrayType)

    def repeated(self, node: Apply, value: Value) -> bool:
        text = node.op.emit.get(self.write.target, "")
        if node.op.check is not None:
            check = node.op.check
            shown = [v for v, n in zip(node.inputs, "xy", strict=False) if "{" + n + "}" in check.message]
            counted = check.passes != "x" or value in shown
            return counted or value in _repeated_in(check.fails, node)
        if node.op.kind != "elementwise" or not text:
            return False
        return value in _repeated_in(text, node)

    def weight(self, value: Value) -> int:
        """How many ops would nest in an expression."""
        node = self.uses.definition.get(value)
        if node is None or value in self.variables or node.op.name == "const":
            return 0
        return 1 + sum(self.weight(v) for v in node.inputs if v.type.ndim == 0)

    def evaluated_at(self, use: Use) -> Place:
        """Where something read at ``use`` is finally evaluated: delayed readers put it off."""
        place = use.place
        node = use.node
        while isinstance(node, Apply) and self.is_delayed(node):
            later = self.uses.reads[node.outputs[0]]
            if not later:
                break
            ends = [u for u in later if u.place.graph is place.graph]
            if len(ends) != len(later):
                break
            last = max(ends, key=lambda u: u.place.position)
            place, node = last.place, last.node
        return place

    def is_delayed(self, node: Apply) -> bool:
        out = node.outputs[0]
        return out not in self.variables and out not in self.made and self.can_delay(node)

    def overtaken(self, value: Value, place: Place, end: Place) -> bool:
        """Whether an array an expression reads is overwritten before the expression is evaluated."""
        taken = {v for p, v in self.uses.overwrites[place.graph] if place.position < p < end.position}
        return not taken.isdisjoint(self.arrays_read(value))

    def arrays_read(self, value: Value) -> set[Value]:
        """The arrays in memory that an expression for ``value`` reads."""
        found: set[Value] = set()
        stack, seen = [value], {value}
        while stack:
            current = stack.pop()
            node = self.uses.definition.get(current)
            known = current in self.variables or current in self.made or current in self.uses.consumed
            known = known or node is None or not self.can_delay(node)
            if current is not value and known:
                if in_memory(current):
                    found.add(current)
                continue
            for v in node.inputs if node is not None else ():
                if v not in seen:
                    seen.add(v)
                    stack.append(v)
        return found

    def needs_memory(self, value: Value) -> bool:
        """Whether a delayed array has to be made."""
        node = self.uses.definition[value]
        place = self.uses.defined_at[value]
        readers = self.uses.reads[value]
        if value in self.uses.consumed or any(self.wants_memory(value, u) for u in readers):
            return True
        if any(u.place.graph is not place.graph for u in readers) and not self.is_free(node):
            return True
        if len(readers) > 1 and not self.is_free(node):
            return True
        if any(u.place.graph is not place.graph for u in readers):
            return self.overtaken_below(value, place, readers)
        return any(self.overtaken(value, place, self.evaluated_at(u)) for u in readers)

    def overtaken_below(self, value: Value, place: Place, readers: Sequence[Use]) -> bool:
        """As `overtaken`, for a view read inside loops or branches that follow."""
        end = max(self.top_position(u.place, place.graph) for u in readers)
        taken = {v for p, v in self.uses.overwrites[place.graph] if place.position < p <= end}
        return not taken.isdisjoint(self.arrays_read(value))

    def top_position(self, place: Place, graph: Graph) -> int:
        while place.graph is not graph:
            assert place.parent is not None
            place = place.parent
        return place.position

    def wants_memory(self, value: Value, use: Use) -> bool:
        """Whether a reader needs ``value`` as an array."""
        node = use.node
        if not isinstance(node, Apply):
            return True
        if node.op.name == "matmul" and is_transpose(self.uses.definition.get(value)):
            return False
        if node.op.kind in ("library", "list"):
            return True
        if is_transpose(node) and node.outputs[0] not in self.made:
            return any(
                isinstance(u.node, Apply) and u.node.op.name == "matmul" for u in self.uses.reads[node.outputs[0]]
            )
        return node.op.name == "broadcast_to" and kernels.stretches_at_run_time(node)

    def is_free(self, node: Apply) -> bool:
        """Whether evaluating a delayed array's element costs no more than reading one."""
        return node.op.kind == "structural" or node.op.name in ("neg", "cast")

    # -- items ----------------------------------------------------------------------------------

    def block(self, graph: Graph, parent: Place | None, items: list[Item] | None = None) -> Block:
        out = items if items is not None else []
        for position, node in enumerate(graph.nodes):
            place = Place(graph, position, parent)
            for item in self.node(node, place):
                out.append(item)
            for value in node.outputs:
                if value in self.variables:
                    out += self.provide(value)
        results = [self.handed_on(v) for v in graph.results]
        origins = [self.origin_of(v) for v in graph.results]
        return Block(kernels.fused(out, self), results, list(graph.results), origins)

    def origin_of(self, value: Value) -> Origin:
        """Where a value is computed; NOWHERE for parameters."""
        node = self.uses.definition.get(value)
        return node.origin if node is not None and node.op.name != "const" else NOWHERE

    def handed_on(self, value: Value) -> ast.expr:
        return ref(value) if in_memory(value) else self.write.scalar(value)

    def node(self, node: Node, place: Place) -> Iterator[Item]:
        match node:
            case Apply():
                yield from self.apply(node)
            case If():
                yield self.branch(node, place)
            case For():
                yield self.for_(node, place)
            case While():
                yield self.while_(node, place)
            case Call():
                raise InternalError("calls are inlined before code is generated")

    def name(self, value: Value) -> None:
        self.variables.add(value)
        known = value.type.value if isinstance(value.type, ScalarType) else None
        if known is not None and known.symbol:
            self.providers.setdefault(known.symbol, value)

    def apply(self, node: Apply) -> Iterator[Item]:
        out = node.outputs[0]
        match node.op.kind:
            case "check":
                yield from self.check(node)
            case "list":
                yield from self.list_op(node)
            case "update":
                yield from self.update(node)
            case "reduction":
                yield from kernels.reduction(self, node)
            case "library":
                yield from self.library(node)
            case "effect":
                raise InternalError(f"{node.op.name} has no generated form yet")
            case _ if isinstance(out.type, ArrayType):
                if out in self.made or node.op.name == "copy":
                    yield from kernels.made(self, node)
            case _:
                if self.uses.reads[out] and self.needs_name(out):
                    expr = self.write.scalar(out)
                    self.name(out)
                    yield Let(out, expr, node.origin)

    def check(self, node: Apply) -> Iterator[Item]:
        check = node.op.check
        assert check is not None
        operands = [self.write.scalar(v) for v in node.inputs]
        attrs = node.attrs
        if check.fails == "not x":
            fails = self.negation(node.inputs[0], operands[0])
        else:
            fails = _literal_last(filled(check.fails, operands, attrs))
        shown = {"x": operands[0], "y": operands[-1]}
        message, args = _message(check.message.format_map(_Kept(attrs)), shown)
        yield Raise(fails, check.error.format_map(_Kept(attrs)), message, args, node.origin)
        out = node.outputs[0]
        if check.passes != "x" and self.uses.reads[out]:
            expr = filled(check.passes, operands, attrs)
            self.name(out)
            yield Let(out, expr, node.origin)

    def negation(self, value: Value, test: ast.expr) -> ast.expr:
        """``not test``; a comparison of integers is turned round, which NaN would not allow."""
        node = self.uses.definition.get(value)
        if isinstance(test, ast.Compare) and node is not None and all(v.type.dtype.kind in "iu" for v in node.inputs):
            return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return test.operand
        return ast.UnaryOp(ast.Not(), test)

    def update(self, node: Apply) -> Iterator[Item]:
        base, value = node.inputs[:2]
        if node.attrs["view"] != element(base.type.ndim):
            yield from kernels.update(self, node)
            return
        at = tuple(self.write.index_of(v) for v in node.inputs[2:])
        index = tuple(self.write.dim(d) for d in at)
        expr = self.write.scalar(value)
        self.name(node.outputs[0])
        yield Store(node.outputs[0], base, index, expr, node.op.name == "add_at", node.origin)

    def library(self, node: Apply) -> Iterator[Item]:
        args = [self.in_place(v) if in_memory(v) else self.write.scalar(v) for v in node.inputs]
        out = node.outputs[0]
        name = node.op.emit[self.write.target]
        if node.op.name == "matmul" and out.type.dtype.kind not in "fc":
            name = node.op.emit[f"{self.write.target}_exact"]
        attrs = [literal(v) for v in node.attrs.values()]
        self.name(out)
        if node.op.name == "reshape":
            shape: ast.expr = ast.Tuple(args[1:], ast.Load())
            yield Let(out, call(name, args[0], shape), node.origin, alias=node.inputs[0])
        else:
            yield Let(out, call(name, *args, *attrs), node.origin)

    def in_place(self, value: Value) -> ast.expr:
        """An array in memory, or the transpose of one."""
        if value in self.variables:
            return ref(value)
        return ast.Attribute(self.in_place(self.uses.definition[value].inputs[0]), "T", ast.Load())

    def list_op(self, node: Apply) -> Iterator[Item]:
        out = node.outputs[0]
        match node.op.name:
            case "list_new":
                self.name(out)
                yield Let(out, ast.List([], ast.Load()), node.origin)
            case "list_push":
                base, item = node.inputs
                self.name(out)
                pushed = ref(item) if in_memory(item) else self.write.scalar(item)
                append = ast.Attribute(ref(base), "append", ast.Load())
                yield Do(out, base, ast.Call(append, [pushed], []), item if in_memory(item) else None, node.origin)
            case "list_pop":
                rest, item = node.outputs
                self.name(rest)
                self.name(item)
                pop = ast.Attribute(ref(node.inputs[0]), "pop", ast.Load())
                yield Let(item, ast.Call(pop, [], []), node.origin)
                yield Let(rest, ref(node.inputs[0]), node.origin)
            case _:
                if self.uses.reads[out] and (isinstance(out.type, ArrayType) or self.needs_name(out)):
                    expr = self.list_read(node)
                    self.name(out)
                    yield Let(out, expr, node.origin, alias=node.inputs[0])

    def list_read(self, node: Apply) -> ast.expr:
        if node.op.name == "list_len":
            return call("len", ref(node.inputs[0]))
        return subscript(ref(node.inputs[0]), [self.write.scalar(node.inputs[1])])

    # -- control flow ---------------------------------------------------------------------------

    def branch(self, node: If, place: Place) -> Branch:
        cond = self.write.scalar(node.cond)
        then = self.block(node.then, place)
        orelse = self.block(node.orelse, place)
        for value in node.outputs:
            self.name(value)
        return Branch(node, cond, then, orelse, node.outputs, node.origin)

    def for_(self, node: For, place: Place) -> Loop:
        index, *params = node.body.params
        bounds = self.bounds(node)
        inits = [self.handed_on(v) for v in node.carry]
        self.name(index)
        body = self.block(node.body, place, self.entered(params))
        loop = Loop(node, tuple(params), inits, node.carry, body, node.outputs, index, bounds)
        return self.finished(loop)

    def bounds(self, node: For) -> tuple[ast.expr, ast.expr, ast.expr]:
        """The arguments of ``range``; a countdown whose index nothing reads counts up."""
        start, stop, step = node.start, node.stop, node.step
        end: Dim | None = stop.type.value
        if self.is_unread_countdown(node):
            trips = kernels.without_clamp(start.type.value + 1)
            return number(0), self.write.dim(trips), number(1)
        first, last, by = (self.write.scalar(v) for v in (start, stop, step))
        if end is not None and step.type.value == 1:
            last = self.write.dim(kernels.without_clamp(end))
        return first, last, by

    def while_(self, node: While, place: Place) -> Loop:
        inits = [self.handed_on(v) for v in node.carry]
        test = self.block(node.cond, place, self.entered(node.cond.params))
        body = self.block(node.body, place, self.entered(node.body.params))
        return self.finished(Loop(node, node.body.params, inits, node.carry, body, node.outputs, test=test))

    def finished(self, loop: Loop) -> Loop:
        loop.origin = loop.node.origin
        if loop.node.stops:
            loop.stop_origin = self.origin_of(loop.body.values.pop())
            loop.stop = self.before_moves(loop, loop.body.results.pop())
            loop.body.origins.pop()
        for value in loop.outputs:
            self.name(value)
        return loop

    def before_moves(self, loop: Loop, stop: ast.expr) -> ast.expr:
        """The stop flag, computed before the carry is overwritten where it reads the old one."""
        if set(loop.params).isdisjoint(refs(stop)):
            return stop
        done = Value("", PY_BOOL)
        self.hints[done] = "done"
        self.variables.add(done)
        loop.body.items.append(Let(done, stop, loop.stop_origin))
        return ref(done)

    def entered(self, params: Sequence[Value]) -> list[Item]:
        items: list[Item] = []
        for value in params:
            self.name(value)
            items += self.provide(value)
        return items


def is_transpose(node: Node | None) -> bool:
    """Whether a node gives all of a matrix with its axes swapped."""
    return isinstance(node, Apply) and node.op.name == "getitem" and node.attrs["view"] == transposed(2, (1, 0))


def _repeated_in(text: str, node: Apply) -> set[Value]:
    """The operands a template evaluates more than once."""
    again = repeats_operand(text)
    return {v for v, n in zip(node.inputs, "xyz", strict=False) if n in again}


class _Kept(dict):
    """Format fields: attributes are filled in, operands stay for run time."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def _message(text: str, operands: dict[str, ast.expr]) -> tuple[str, tuple[ast.expr, ...]]:
    """The message with its operands as positional fields, and those operands."""
    args = []
    for name, expr in operands.items():
        field = "{" + name + "}"
        if field in text:
            text = text.replace(field, "{}")
            args.append((text.index("{}"), expr))
    return text, tuple(e for _, e in args)


_OPPOSITE = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_MIRROR = {ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


def _literal_last(test: ast.expr) -> ast.expr:
    """``0 >= n`` as ``n <= 0``."""
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Constant) and len(test.ops) == 1:
        return ast.Compare(test.comparators[0], [_MIRROR[type(test.ops[0])]()], [test.left])
    return test
