"""Loops whose first or last steps differ, in parts: some steps at the start, some at the end, and those between.

``u[(i + 1) % n]``, ``if i == 0`` and ``max(i - 1, 0)`` say in each step what is so in all but a few at the ends of
a row. A loop over the others reads elements side by side and has no branches, so that it takes several at a time. The
same goes for what loops of a few steps inside ask, ``x[min(max(i + k, 0), n - 1)]``, and for how long they are,
``x[max(i - 1, 0):min(i + 2, n)]``. Steps stay in order, so that nothing else changes.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, section 5.7 (index-set
splitting, of which peeling is a part).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from srcgraph.ir.builder import index_facts
from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Atom, Dim, as_dim, call_of, product, substitute, symbol, unclamped
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, node_graphs
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ScalarType, is_integer
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.dce import dce
from srcgraph.opt.scalars import LIMIT
from srcgraph.opt.simplify import simplify, truth

MOST = 4
"""So many steps at most are an end."""
LONGEST = 80
"""The nodes of a step that is written three times."""
FEW = 16
"""The steps at most of a loop inside."""


def peeled(graph: Graph) -> Graph:
    """Divide such loops, at every depth."""
    if not any(isinstance(n, For) and _decides(n) for n in all_nodes(graph)):
        return graph
    loops = _Peeled(graph.name)
    made = loops.run(open_(graph))
    return dce(simplify(made)) if loops.count else graph


def _decides(loop: For) -> bool:
    return any(isinstance(n, Apply) and n.op.name in _ASKED and _is_of_integers(n) for n in all_nodes(loop.body))


def _is_of_integers(node: Apply) -> bool:
    return all(is_integer(v.type) and v.type.value is not None for v in node.inputs)


# -- which -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ends:
    """How many steps at the lowest and at the highest numbers of a loop are apart."""

    low: int
    high: int


def _ends(loop: For, around: Numbers) -> _Ends | None:
    """The ends of a loop, which is in others of a few steps; None if it is left as it is."""
    nodes, index = list(all_nodes(loop.body)), loop.body.params[0].type.value
    step = loop.step.type.value if isinstance(loop.step.type, ScalarType) else None
    if step is None or step.const not in (1, -1) or loop.stops or loop.lanes or len(nodes) > LONGEST:
        return None
    inside = [n for n in nodes if isinstance(n, For)]
    if not all(isinstance(n, If | For) or (isinstance(n, Apply) and not has_order(n)) for n in nodes):
        return None
    if index is None or index.symbol is None:
        return None
    numbers = {k: ends for n in inside for k, ends in _few(n, index.symbol).items()}
    run = _run(loop)
    if run is None or len(numbers) < len(inside) or not _may_be_at_once(loop, index):
        return None
    first, after = run
    turns = [turn for node in nodes for turn in _turns(node, index, {**around, **numbers})]
    low = max((k for turn, _ in turns if 0 < (k := _steps(turn, first)) <= MOST), default=0)
    high = max((k for _, turn in turns if 0 < (k := _steps(after, turn)) <= MOST), default=0)
    count = (after - first).const
    short = count is not None and count <= max(LIMIT, low + high)
    return None if short or not (low or high) else _Ends(low, high)


def _steps(later: Dim | None, earlier: Dim | None) -> int:
    """How far one number is after another; 0 if that is not known."""
    return 0 if later is None or earlier is None else (later - earlier).const or 0


def _run(loop: For) -> tuple[Dim, Dim] | None:
    """The lowest number of a loop, and the one after the highest, if there are any."""
    start, stop, step = (v.type.value for v in (loop.start, loop.stop, loop.step))
    if start is None or stop is None:
        return None
    return (start, unclamped(stop)) if step.const == 1 else (stop + 1, start + 1)


Numbers = Mapping[str, tuple[Dim, Dim]]
"""Symbols of loops of a few steps: their first and last numbers."""


def _few(loop: For, outer: str) -> Numbers:
    """That of a loop, if it has a few steps where the one around it, if any, has no edge."""
    index, step = loop.body.params[0].type.value, loop.step.type.value
    run = None if step is None or step.const not in (1, -1) else _run(loop)
    if run is None or index is None or index.symbol is None or loop.stops:
        return {}
    first, after = (_unlimited(d, outer) for d in run)
    count = (after - first).const
    return {index.symbol: (first, after - 1)} if count is not None and 0 < count <= FEW else {}


def _unlimited(dim: Dim, name: str) -> Dim:
    """A number without the limits that are set to what a symbol is in."""
    atom = call_of(dim)
    if atom is None:
        parts = (product(_unlimited_atom(a, name) for a in monomial) * count for monomial, count in dim.terms)
        return sum(parts, as_dim(0))
    inside = [a for a in atom.args if name in a.symbols()]
    return _unlimited(inside[0], name) if atom.fn in ("max", "min", "mod") and len(inside) == 1 else dim


def _unlimited_atom(atom: Atom, name: str) -> Dim:
    return symbol(atom) if isinstance(atom, str) else _unlimited(Dim({(atom,): 1}), name)


def _turns(node: Node, index: Dim, numbers: Mapping[str, tuple[Dim, Dim]]) -> Iterator[tuple[Dim | None, Dim | None]]:
    """The numbers of a loop from which on something is otherwise, near its start and near its end."""
    if not isinstance(node, Apply) or node.op.name not in _ASKED or not _is_of_integers(node) or index.symbol is None:
        return
    asked = _ASKED[node.op.name](*(_unlimited(v.type.value, index.symbol) for v in node.inputs))
    for k, known in ((k, d) for k, dim in enumerate(asked) for d in _at_ends(dim, numbers)):
        up = index.symbol not in (known - index).symbols()
        turn = index - known if up else known + index + 1
        if index.symbol in turn.symbols():
            continue
        if node.op.name == "mod":  # between both turns it is the dividend
            yield (turn, None) if up == (k == 0) else (None, turn)
        else:
            either = node.op.name in ("maximum", "minimum")  # of equal ones either is the larger
            yield (turn, turn + 1) if either and up else (turn - 1, turn) if either else (turn, turn)


def _at_ends(dim: Dim, numbers: Numbers) -> list[Dim]:
    """What a number is where loops inside begin, and where they end."""
    found = [dim]
    for name in sorted(dim.symbols() & numbers.keys()):
        found = [substitute(d, {name: end}) for d in found for end in numbers[name]]
    return found


def _wraps(x: Dim, n: Dim) -> list[Dim]:
    return [x, x - n]


_ASKED = {
    "less": lambda x, y: [x - y],
    "less_equal": lambda x, y: [x - y - 1],
    "greater": lambda x, y: [x - y - 1],
    "greater_equal": lambda x, y: [x - y],
    "equal": lambda x, y: [x - y, x - y - 1],
    "not_equal": lambda x, y: [x - y, x - y - 1],
    "maximum": lambda x, y: [x - y],
    "minimum": lambda x, y: [x - y],
    "mod": _wraps,
    "wrap_index": lambda k, n: [k],
}
"""What ops ask of integers: which differences of these are not negative."""


def _may_be_at_once(loop: For, index: Dim) -> bool:
    """Whether steps wait for each other by sums only, as far as is seen: else there is nothing to be gained."""
    params = loop.body.params[1 : 1 + len(loop.carry)]
    carried = {p: k for k, p in enumerate(params)}
    _follow(loop.body, carried)
    nodes = [n for n in all_nodes(loop.body) if isinstance(n, Apply)]
    places: dict[int, set[_Place]] = {}
    for node in nodes:
        if not node.inputs or node.inputs[0] not in carried:
            continue
        if node.op.name in ("getitem", "setitem", "add_at"):
            at = tuple(getattr(v.type, "value", None) for v in node.inputs[1 if node.op.name == "getitem" else 2 :])
            places.setdefault(carried[node.inputs[0]], set()).add((node.op.name, str(node.attrs["view"]), at))
        elif node.op.name not in ("dim", "add", "sub"):
            return False
    totals = {v for n in nodes if n.op.name in ("add", "sub") for v in n.inputs}
    numbers = {p for p in params if not isinstance(p.type, ArrayType)}
    pairs = (pair for at in places.values() for pair in combinations(at, 2))
    return numbers <= totals and all(_are_apart(*pair, index) for pair in pairs)


_Place = tuple[str, str, tuple[Dim | None, ...]]
"""How an array is used: by which op, what of each axis, at which numbers."""


def _are_apart(x: _Place, y: _Place, index: Dim) -> bool:
    """Whether two uses of an array only add, or only read, or are of the same place, or of different rows."""
    (one, view, at), (other, its, there) = x, y
    if one == other != "setitem" or (view == its and at == there):
        return True
    rows = (at[0], there[0]) if view[:1] == its[:1] == "i" else (None, None)
    if rows[0] is None or rows[1] is None or index.symbols() & rows[0].symbols():
        return False
    return (rows[0] - rows[1]).const not in (None, 0)


def _follow(graph: Graph, carried: dict[Value, int]) -> None:
    """Note which carry the states of arrays are of."""
    for node in graph.nodes:
        if isinstance(node, For):
            pairs = zip(node.body.params[1:], (*node.carry, *node.captures), strict=True)
            carried.update({p: carried[c] for p, c in pairs if c in carried})
            _follow(node.body, carried)
            for out, result in zip(node.outputs, node.body.results, strict=False):
                if result in carried:
                    carried[out] = carried[result]
        elif isinstance(node, If):
            for inner in node_graphs(node):
                carried.update(
                    {p: carried[c] for p, c in zip(inner.params, node.captures, strict=False) if c in carried}
                )
                _follow(inner, carried)
            for out, result in zip(node.outputs, node.then.results, strict=True):
                if result in carried:
                    carried[out] = carried[result]
        elif isinstance(node, Apply) and node.op.name in ("setitem", "add_at") and node.inputs[0] in carried:
            carried[node.outputs[0]] = carried[node.inputs[0]]


# -- in parts ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of a loop's steps, one after the other.

    Attributes
    ----------
    bounds : tuple of Value
        Start, stop and step.
    number : Value or None
        The number of the step, if there is one at most.
    known : tuple of Dim
        What is not negative where there is a step.
    """

    bounds: tuple[Value, Value, Value]
    number: Value | None = None
    known: tuple[Dim, ...] = ()


class _Peeled(Rebuild):
    """A graph, loops that have ends in parts; ``count`` says how many."""

    def __init__(self, name: str):
        super().__init__(name)
        self.count = 0
        self.known: dict[Value, list[Dim]] = {}
        """What is not negative in the part that is built, by the numbers of the loops."""
        self.around: Numbers = {}

    def bind(self, old: Value, new: Value) -> None:
        super().bind(old, new)
        if old in self.known:
            self.builder.learn(*self.known[old])

    def for_(self, node: For) -> Sequence[Value]:
        ends = _ends(node, self.around)
        if ends is None:
            around, self.around = self.around, {**self.around, **_few(node, "")}
            made = super().for_(node)
            self.around = around
            return made
        self.count += 1
        index, symbols = node.body.params[0], dict(self.symbols)
        whole = self.value(node.start), self.value(node.stop), self.value(node.step)
        values = list(self.values(node.carry))
        for part in self.parts(whole, ends):
            self.symbols = dict(symbols)
            self.known[index] = list(part.known)
            if part.number is not None:
                self.known[index] += index_facts(part.number.type.value, whole, self.builder)
            values = list(self.for_over(node, part.bounds, values, part.number))
        del self.known[index]
        return values

    def parts(self, whole: tuple[Value, Value, Value], ends: _Ends) -> Iterator[_Part]:
        """The parts of a loop, in order; the last one begins after the first one, if there are no steps between."""
        start, stop, step = whole
        number, plus, minus = self.builder.const, OPS["add"], OPS["sub"]
        up = step.type.value.const == 1
        first, after = (start, stop) if up else (plus(stop, number(1)), plus(start, number(1)))
        inner, outer = plus(first, number(ends.low)), minus(after, number(ends.high))
        found = [self.between(step, inner, outer)]
        if ends.low == 1:
            found.insert(0, self.once(first, minus(after, first)))
        elif ends.low:
            found.insert(0, self.between(step, first, OPS["minimum"](inner, after)))
        if ends.high == 1:
            found.append(self.once(outer, minus(after, inner)))
        elif ends.high:
            found.append(self.between(step, OPS["maximum"](outer, inner), after))
        yield from found if up else reversed(found)

    def once(self, index: Value, count: Value) -> _Part:
        """One step, if there are as many."""
        number = self.builder.const
        return _Part((number(0), OPS["minimum"](number(1), count), number(1)), index, (count.type.value - 1,))

    def between(self, step: Value, first: Value, after: Value) -> _Part:
        """The steps from one number on to another."""
        one, minus = self.builder.const(1), OPS["sub"]
        return _Part(
            (first, after, step) if step.type.value.const == 1 else (minus(after, one), minus(first, one), step)
        )

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if self.known and node.op.name in _ASKED and _is_of_integers(node):
            found = self.decided(node, *inputs)
            if found is not None:
                return (found,)
        return super().apply(node, inputs)

    def decided(self, node: Apply, x: Value, y: Value) -> Value | None:
        """What is asked, if it is known in this part of a loop."""
        proves, a, b = self.builder.proves, x.type.value, y.type.value
        if a is None or b is None:
            return None
        match node.op.name:
            case "maximum" | "minimum":
                larger = proves(a - b) or (None if not proves(b - a) else False)
                return None if larger is None else x if larger == (node.op.name == "maximum") else y
            case "mod" | "wrap_index":
                return self.wrapped(x, y)
        known = self.builder.compares(node.op.name, x, y)
        return None if known is None else truth(self.builder, known, node.outputs[0].type)

    def wrapped(self, x: Value, n: Value) -> Value | None:
        """An integer within the length that it is counted round."""
        proves, a, b = self.builder.proves, x.type.value, n.type.value
        if proves(a):
            if proves(b - 1 - a):
                return x
            return OPS["sub"](x, n) if proves(a - b) and proves(2 * b - 1 - a) else None
        return OPS["add"](x, n) if proves(-a - 1) and proves(a + b) else None
