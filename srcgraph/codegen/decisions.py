"""Which values get a name, which are nested into expressions, which arrays need memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from srcgraph.codegen import kernels
from srcgraph.codegen.costs import is_cheap, is_stretched
from srcgraph.codegen.expr import Expressions, repeats_operand
from srcgraph.codegen.integers import bare, with_kind
from srcgraph.codegen.uses import Place, Use, Uses, analyse, in_memory, is_repeated
from srcgraph.ir.closure import renamed
from srcgraph.ir.dims import Atom, call_of
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While, node_graphs
from srcgraph.ir.types import INT, ArrayType, ScalarType
from srcgraph.ir.view import element

if TYPE_CHECKING:
    from srcgraph.codegen.into import Into

TAKES_PARTS = ("matmul", "add_product", "search")
"""Library calls that take parts of arrays where they are."""
MANY = 4
"""A length that is the larger of two numbers has a name if loops ask for it more often."""
NEST_LIMIT = 24
"""A nested expression longer than this many ops is split into named parts."""


class Decisions:
    """What is decided about an open graph before its items are made."""

    def __init__(self, graph: Graph, target: str, unread: Mapping[str, frozenset[int]] | None = None):
        self.graph = graph
        self.unread = unread or {}
        """For each function called: the positions of arguments that it does not read."""
        self.uses: Uses = analyse(graph)
        self.variables: set[Value] = set()
        self.providers: dict[Atom, Value] = {}
        self.write = Expressions(self.variables, self.uses.definition, self.providers, self.uses.owners, target)
        self.stretched: set[Value] = set()
        """Delayed arrays whose elements are evaluated several times each."""
        self.made: set[Value] = set()
        """Delayed arrays that have to be in memory after all."""
        self.hints: dict[Value, str] = {}
        """Names for values the user gave none."""
        self.into: dict[Apply, Into] = {}
        """Additions to arrays of sums that are not made."""

    def decide(self, graph: Graph) -> None:
        """Which arrays are made, last first: what reads a delayed array decides when that is evaluated."""
        for node in reversed(graph.nodes):
            for inner in node_graphs(node):
                self.decide(inner)
            if isinstance(node, Apply) and self.can_delay(node) and isinstance(node.outputs[0].type, ArrayType):
                if is_stretched(self, node.outputs[0]):
                    self.stretched.add(node.outputs[0])
                if self.needs_memory(node.outputs[0]):
                    self.made.add(node.outputs[0])
                    self.stretched.discard(node.outputs[0])

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
                return self.is_computed_before(value, node)
            if self.uses.symbols[known.symbol] > 1:
                return not self.counts_trips(value, node)
        if self.is_converted_integer(value, node):
            return False
        readers = self.uses.reads[value]
        if value.name or len(readers) != 1 or node.op.kind in ("reduction", "library"):
            return True
        return not self.nests(value, readers[0])

    def is_computed_before(self, value: Value, node: Apply) -> bool:
        """Whether an integer is a quotient or remainder that inner loops read in all trips, or where loops end."""
        if call_of(value.type.value) is None:
            return False
        reads, home = self.uses.reads[value], self.uses.defined_at[value].graph
        if node.op.name in ("minimum", "maximum") and sum(isinstance(use.node, For) for use in reads) > 1:
            return True
        if node.op.name not in ("mod", "floordiv") and home is not self.graph:
            return False  # arrays of that length would seem to be others in each trip
        often = 0 if node.op.name in ("mod", "floordiv") else MANY
        return sum(is_repeated(use.place, home) for use in reads) > often

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
        return place.graph is end.graph and not self.overtaken(value, place, lambda: end)

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
        return not self.overtaken(value, place, lambda: self.evaluated_at(use))

    def in_loop_nest(self, node: Apply) -> bool:
        """Whether a node's operands are evaluated at each point of a nest."""
        if node.op.kind == "update":
            return node.attrs["view"] != element(node.inputs[0].type.ndim)
        return node.op.kind in ("elementwise", "structural") and isinstance(node.outputs[0].type, ArrayType)

    def repeated(self, node: Apply, value: Value) -> bool:
        if node.op.check is not None:
            check = node.op.check
            shown = [v for v, n in zip(node.inputs, "xy", strict=False) if "{" + n + "}" in check.message]
            counted = check.passes != "x" or value in shown
            return counted or value in _repeated_in(check.fails, node)
        if node.op.kind != "elementwise":
            return False
        text = node.op.text(self.write.target, node.outputs[0].type.dtype, node.attrs)
        return bool(text) and value in _repeated_in(text, node)

    def weight(self, value: Value) -> int:
        """How many ops would nest in an expression."""
        node = self.uses.definition.get(value)
        if node is None or value in self.variables or node.op.name == "const":
            return 0
        return 1 + sum(self.weight(v) for v in node.inputs if isinstance(v.type, ScalarType))

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

    def overtaken(self, value: Value, place: Place, end: Callable[[], Place]) -> bool:
        """Whether an array an expression reads is overwritten before the expression is evaluated.

        Where that is, is only asked if an array is overwritten at all: finding it may lead through all of the graph.
        """
        first = self.overwritten(value, place)
        return first is not None and first < end().position

    def overwritten(self, value: Value, place: Place) -> int | None:
        """Where, after a place, an array that an expression reads is overwritten first."""
        taken = self.uses.overwrites[place.graph]
        if not taken or taken[-1][0] <= place.position:
            return None
        read = self.arrays_read(value)
        begin = bisect_right(taken, place.position, key=lambda found: found[0])
        return next((p for p, v in islice(taken, begin, None) if v in read), None) if read else None

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
        if not self.is_free(node) and self.is_read_inside(value, place):
            return True
        again = len(readers) > 1 or value in self.stretched
        if again and not self.is_free(node) and not is_cheap(self, value):
            return True
        if any(u.place.graph is not place.graph for u in readers):
            return self.overtaken_below(value, place, readers)
        return any(self.overtaken(value, place, partial(self.evaluated_at, u)) for u in readers)

    def is_read_inside(self, value: Value, place: Place) -> bool:
        """Whether loops or branches that follow read an array, or what is no more than another sign or part of it.

        That one loop reads each element once, and does not read what it costs to make them, does not count.
        """
        stack, seen, loops = [value], {value}, 0
        while stack:
            current = stack.pop()
            for use in self.uses.reads[current]:
                if use.place.graph is not place.graph:
                    loops += 1
                    if loops == 1 and current is value and is_in_turn(value, use, place) and is_cheap(self, value):
                        continue
                    return True
                if isinstance(use.node, Apply) and self.is_delayed(use.node) and self.is_free(use.node):
                    stack += {*use.node.outputs} - seen
                    seen.update(use.node.outputs)
        return False

    def overtaken_below(self, value: Value, place: Place, readers: Sequence[Use]) -> bool:
        """As `overtaken`, for a view read inside loops or branches that follow."""
        end = max(self.top_position(u.place, place.graph) for u in readers)
        first = self.overwritten(value, place)
        return first is not None and first <= end

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
        if node.op.name in TAKES_PARTS and is_part(self.uses.definition.get(value)):
            return False
        if node.op.kind in ("library", "list", "effect", "draw", "check"):
            return True
        if is_part(node) and node.outputs[0] not in self.made:
            return any(
                isinstance(u.node, Apply) and u.node.op.name in TAKES_PARTS for u in self.uses.reads[node.outputs[0]]
            )
        stretches = node.op.name == "broadcast_to" and kernels.stretches_at_run_time(node)
        return stretches and not self.is_along_rows(value)

    def is_along_rows(self, value: Value) -> bool:
        """Whether the elements of a delayed array are quickly made of some elements of rows, in order."""
        node = self.uses.definition.get(value)
        if node is None or not self.is_delayed(node):
            return True
        if node.op.name == "getitem":
            view = node.attrs["view"]
            in_order = view.order == tuple(range(len(view.kept))) and view.axes[-1] != "i"
            return in_order and self.is_along_rows(node.inputs[0])
        operands = [v for v in node.inputs if isinstance(v.type, ArrayType)]
        is_quick = node.op.kind == "elementwise" and is_cheap(self, value)
        return is_quick and all(map(self.is_along_rows, operands))

    def is_free(self, node: Apply) -> bool:
        """Whether evaluating a delayed array's element costs no more than reading one."""
        return node.op.kind == "structural" or node.op.name in ("neg", "cast")


def is_in_turn(value: Value, use: Use, place: Place) -> bool:
    """Whether an element of an array of one axis is read that is another one in each trip of a loop beside it."""
    around, node = use.place.parent, use.node
    if around is None or around.graph is not place.graph or not isinstance(node, Apply) or node.op.name != "getitem":
        return False
    loop = around.graph.nodes[around.position]
    return isinstance(loop, For) and node.inputs == (value, loop.body.params[0])


def is_part(node: Node | None) -> bool:
    """Whether a node gives a part of an array as BLAS takes it where it is: rows, columns, blocks, a transpose."""
    if not isinstance(node, Apply) or node.op.name != "getitem":
        return False
    view = node.attrs["view"]
    kept = len(view.kept)
    return set(view.axes) <= {":", "i", 1} and view.order in (tuple(range(kept)), (1, 0)) and 0 < kept <= 2


def _repeated_in(text: str, node: Apply) -> set[Value]:
    """The operands a template evaluates more than once."""
    again = repeats_operand(text)
    return {v for v, n in zip(node.inputs, "xyz", strict=False) if n in again}


# -- what means nothing to generated code -----------------------------------------------------------


def transparent(graph: Graph, kinds: frozenset[Value] | None = None) -> Graph:
    """Without nodes that pass a value through: checks' results, Python's float against NumPy's.

    ``kinds`` are the integers of which it matters whether they are Python's or NumPy's; found by default.
    """
    kinds = with_kind(graph) if kinds is None else kinds
    env: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        current = _inner(_renamed_node(node, env), kinds)
        if isinstance(current, Apply) and passes_through(current, kinds):
            env[current.outputs[0]] = current.inputs[0]
            if current.op.kind != "check":
                continue
        if isinstance(current, Apply) and current.op.name == "const" and current.outputs[0] not in kinds:
            current = bare(current)
            env[node.outputs[0]] = current.outputs[0]
        nodes.append(current)
    return replace(graph, nodes=tuple(nodes), results=tuple(env.get(v, v) for v in graph.results))


def passes_through(node: Apply, kinds: frozenset[Value] = frozenset()) -> bool:
    """Whether generated code can use the first operand in place of the result."""
    if node.op.check is not None:
        return node.op.check.passes == "x"
    if node.op.name == "cast":
        return node.inputs[0].type.dtype == node.attrs["dtype"] and node.outputs[0] not in kinds
    return node.op.name in ("with_shape", "assumed")


def _renamed_node(node: Node, env: dict[Value, Value]) -> Node:
    if not env:
        return node
    holder = Graph("", (), (node,), ())
    return renamed(holder, env).nodes[0]


def _inner(node: Node, kinds: frozenset[Value]) -> Node:
    match node:
        case If():
            return replace(node, then=transparent(node.then, kinds), orelse=transparent(node.orelse, kinds))
        case While():
            same = dict(zip(node.cond.params, node.body.params, strict=True))
            cond = replace(renamed(node.cond, same), params=node.body.params)
            return replace(node, cond=transparent(cond, kinds), body=transparent(node.body, kinds))
        case For():
            return replace(node, body=transparent(node.body, kinds))
    return node
