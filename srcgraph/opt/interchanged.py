"""Loops in each other, in the order in which most of what they read and store lies side by side.

``for j in range(m):``, ``for i in range(n): b[i, j] = f(a[i, j])`` goes down columns, each element of which lies in a
line of the cache of its own; with the loops the other way round it goes along rows. What trips read that others store
must still be stored before them, or after them, as it was. What derivatives add to one element may be added in any
order: their rounding is nobody's.

References
----------
K. S. McKinley, S. Carr, C.-W. Tseng, "Improving data locality with loop transformations", ACM Transactions on
Programming Languages and Systems 18(4), 1996, 424-453: the order by what a loop costs if it is the innermost.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement, product

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim, coefficient, prove_nonnegative, substitute, symbol
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.types import ArrayType, is_float
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.licm import is_costly, is_pure
from srcgraph.opt.modes import current_mode, current_target
from srcgraph.opt.moving import Moving
from srcgraph.opt.ordered import in_fortran_order
from srcgraph.opt.scalars import LIMIT
from srcgraph.opt.settle import settle

MOST = 4
"""So many loops in each other are looked at."""
_STORES = ("setitem", "add_at")
_SAME = ("with_shape", "assumed")
"""What says more of an array."""


def interchanged(graph: Graph) -> Graph:
    """Put such loops in that order, at every depth."""
    if not any(isinstance(n, For) and any(isinstance(m, For) for m in n.body.nodes) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    work = _Interchanged(graph.name, in_fortran_order(opened, current_target().turned))
    made = work.run(opened)
    return settle(made) if work.count else graph


# -- which -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Access:
    """A use of an element of an array.

    Attributes
    ----------
    kind : str
        The op's name; ``"added"`` if it adds in arithmetic of derivatives.
    array : Value
        What the outermost loop begins with, or an array that does not change.
    places : tuple of Dim
        Which element.
    turned : bool
        Whether the array lies in Fortran's order.
    """

    kind: str
    array: Value
    places: tuple[Dim, ...]
    turned: bool

    def is_far(self, index: str) -> bool:
        """Whether the element is not beside that of the next trip of a loop."""
        along, *rest = self.places if self.turned else self.places[::-1]
        return any(index in place.symbols() for place in rest) or coefficient(along, index) not in (0, 1, -1)


def place_of(node: Apply) -> tuple[Value, ...]:
    """Where what a node reads of an array, or stores into it, is."""
    return node.inputs[1 if node.op.name == "getitem" else 2 :]


def access(node: Apply, turned: Container[Value]) -> Access | None:
    """What a node reads, or stores, if that is an element; ``turned`` are arrays in Fortran's order."""
    array, known = node.inputs[0], tuple(v.type.value for v in place_of(node))
    if node.attrs["view"] != element(array.type.ndim) or None in known:
        return None
    adds = node.op.name == "add_at" and node.origin.by
    return Access("added" if adds else node.op.name, array, known, array in turned)


@dataclass(slots=True)
class _Nest:
    """Loops in each other that do nothing but what the innermost does.

    Attributes
    ----------
    turned : container of Value
        The arrays that lie in Fortran's order.
    loops : list of For
        From outside.
    free : list of Apply
        What is computed of nothing that is stored.
    states : dict
        The arrays that are stored into, as they are and changed, and sums, by what the outermost loop begins with.
    """

    turned: Container[Value]
    loops: list[For] = field(default_factory=list)
    free: list[Apply] = field(default_factory=list)
    states: dict[Value, Value] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)

    @classmethod
    def at(cls, loop: For, turned: Container[Value]) -> _Nest | None:
        """The longest nest that begins with a loop."""
        nest = cls(turned)
        inner: For | None = loop
        while inner is not None and len(nest.loops) < MOST and nest.takes(inner):
            nest.loops.append(inner)
            nest.enters(inner)
            inner = nest.next()
        return nest if len(nest.loops) > 1 and nest.has_plain_body() else None

    @property
    def indices(self) -> list[str]:
        return [loop.body.params[0].type.value.symbol for loop in self.loops]

    def takes(self, loop: For) -> bool:
        """Whether a loop has the same steps in all trips of those around it."""
        step = loop.step.type.value
        index = loop.body.params[0].type.value
        bounds = (loop.start.type.value, loop.stop.type.value)
        if loop.stops or loop.lanes or step is None or step.const is None or index is None or None in bounds:
            return False
        around = set(self.indices)
        return index.symbol is not None and all(around.isdisjoint(b.symbols()) for b in bounds)

    def enters(self, loop: For) -> None:
        for param, init in zip(loop.body.params[1:], loop.carry, strict=True):
            self.states[param] = self.states.get(init, init)

    def next(self) -> For | None:
        """The loop that is all that the innermost one does; what is computed before it is noted."""
        body = self.loops[-1].body
        *before, last = body.nodes or (None,)
        if not isinstance(last, For) or body.results != last.outputs:
            return None
        free = [n for n in before if isinstance(n, Apply) and self.is_free(n)]
        if last.carry != body.params[1:] or len(free) < len(before):
            return None
        self.free += free
        return last

    def is_free(self, node: Apply) -> bool:
        """Whether a node may be computed in each trip of the innermost loop."""
        if not is_pure(node) or is_costly(node):
            return False
        return not any(v in self.states for v in node.inputs) and not isinstance(node.outputs[0].type, ArrayType)

    # -- what the innermost loop does ----------------------------------------------------------------------

    def has_plain_body(self) -> bool:
        """Whether it does nothing but to compute numbers of elements, and to store them."""
        body = self.loops[-1].body
        if not self.walk(body) or not all(self.follow(n) for n in self.free):
            return False
        ends = [self.states.get(r) for r in body.results]
        return ends == [self.states[p] for p in body.params[1:]]

    def walk(self, graph: Graph) -> bool:
        return all(self.follow(node) for node in graph.nodes)

    def follow(self, node: Node) -> bool:
        if has_order(node):
            return False
        if isinstance(node, If):
            return self.walk(node.then) and self.walk(node.orelse) and all(map(self.joined, *_sides(node)))
        if not isinstance(node, Apply) or node.op.fresh or node.op.kind == "list":
            return False
        if node.op.name in ("getitem", *_STORES):
            return self.uses(node)
        if node.op.name == "dim":
            return True
        changed = [v for v in node.inputs if v in self.states]
        if changed:
            return self.adds_up(node, changed)
        return not any(isinstance(v.type, ArrayType) for v in (*node.inputs, *node.outputs))

    def joined(self, out: Value, then: Value, orelse: Value) -> bool:
        """Whether what a branch leaves is a number, or the same array on both sides."""
        sides = {self.states.get(then), self.states.get(orelse)}
        if sides == {None}:
            return not isinstance(out.type, ArrayType)
        self.states[out] = self.states.get(then, then)
        return len(sides) == 1

    def uses(self, node: Apply) -> bool:
        array, *others = node.inputs
        found = access(node, self.turned)
        if found is None or any(v in self.states for v in others):
            return False
        root = self.states.get(array, array)
        self.accesses.append(replace(found, array=root))
        if node.op.name == "getitem":
            return True
        self.states[node.outputs[0]] = root
        return array in self.states

    def adds_up(self, node: Apply, changed: Sequence[Value]) -> bool:
        """Whether a node adds to a sum, of a derivative or one whose rounding may change."""
        free = node.origin.by or "reassoc" in current_mode().fastmath
        if node.op.name not in ("add", "sub") or not free or len(changed) > 1:
            return False
        if not is_float(changed[0].type) or isinstance(changed[0].type, ArrayType):
            return False
        if node.op.name == "sub" and node.inputs[0] is not changed[0]:
            return False
        self.states[node.outputs[0]] = self.states[changed[0]]
        return True

    # -- which orders --------------------------------------------------------------------------------------

    def best(self) -> tuple[int, ...] | None:
        """The order in which elements lie side by side, and of loops that both go along rows the long one is the
        innermost, if that is another one and may be."""
        far = [sum(access.is_far(index) for access in self.accesses) for index in self.indices]
        costs = [(count, not self.is_long(k)) for k, count in enumerate(far)]
        order = sorted(range(len(far)), key=lambda k: -far[k])
        last = min(reversed(order), key=costs.__getitem__)
        if costs[last] >= costs[-1] or not self.is_long(last):
            return None
        order = (*(k for k in order if k != last), last)
        met = [d for x, y in self.pairs() if (d := self.distances(x, y)) is not None]
        if current_target().parallel and _are_apart(met, 0) and not _are_apart(met, order[0]):
            return None
        return order if all(_keeps(order, d) for d in met) else None

    def is_long(self, k: int) -> bool:
        loop = self.loops[k]
        count = (loop.stop.type.value - loop.start.type.value) * (1 if loop.step.type.value.const > 0 else -1)
        return not prove_nonnegative(LIMIT - count, ())

    def pairs(self) -> Iterator[tuple[Access, Access]]:
        """Uses of one array of which one changes it."""
        for x, y in combinations_with_replacement(self.accesses, 2):
            if x.array is y.array and {x.kind, y.kind} not in ({"getitem"}, {"added"}):
                yield x, y

    def distances(self, x: Access, y: Access) -> list[Sequence[int]] | None:
        """The signs that the differences of the loops' numbers may have where two uses meet; None if they never do."""
        signs: list[Sequence[int]] = [(-1, 0, 1)] * len(self.loops)
        for place, other in zip(x.places, y.places, strict=True):
            if self.are_apart(place, other):
                return None
            moving = [k for k, index in enumerate(self.indices) if index in place.symbols() | other.symbols()]
            if len(moving) != 1:
                continue
            (k,), (index,) = moving, [self.indices[m] for m in moving]
            rate = coefficient(place, index)
            beside = (place - other).const
            if not rate or beside is None or rate != coefficient(other, index):
                continue
            if beside % rate:
                return None
            step = self.loops[k].step.type.value.const
            signs[k] = tuple(s for s in signs[k] if s == _sign([beside // rate * step]))
        return signs if all(signs) else None

    def are_apart(self, place: Dim, other: Dim) -> bool:
        """Whether two places are never the same, whichever trips use them."""
        renamed = {index: symbol(f"{index}'") for index in self.indices}
        difference = place - substitute(other, renamed)
        facts = list(self.facts())
        facts += [substitute(fact, renamed) for fact in facts]
        return any(prove_nonnegative(d - 1, facts) for d in (difference, -difference))

    def facts(self) -> Iterator[Dim]:
        for loop in self.loops:
            start, stop, step = (v.type.value for v in (loop.start, loop.stop, loop.step))
            index = loop.body.params[0].type.value
            yield from (index - start, stop - 1 - index) if step.const > 0 else (start - index, index - stop - 1)


def _keeps(order: Sequence[int], distances: Sequence[Sequence[int]]) -> bool:
    """Whether of any two trips that use one element the one that was first is the first in another order, too."""
    return all(_sign(signs) == _sign([signs[k] for k in order]) for signs in product(*distances))


def _are_apart(met: Sequence[Sequence[Sequence[int]]], k: int) -> bool:
    """Whether no two trips of a loop use one element."""
    return all(tuple(distances[k]) == (0,) for distances in met)


def _sides(node: If) -> tuple[Sequence[Value], Sequence[Value], Sequence[Value]]:
    return node.outputs, node.then.results, node.orelse.results


def _sign(numbers: Sequence[int]) -> int:
    """The sign of the first number that has one."""
    return next((1 if n > 0 else -1 for n in numbers if n), 0)


# -- what becomes of them ----------------------------------------------------------------------------------


class _Interchanged(Moving):
    """A graph, such loops in another order; ``count`` says how many."""

    def __init__(self, name: str, turned: Container[Value]):
        super().__init__(name)
        self.count = 0
        self.turned = turned

    def node(self, node: Node) -> Sequence[Value]:
        if isinstance(node, Apply) and node.outputs[0] in self.env:
            return self.values(node.outputs)
        return super().node(node)

    def for_(self, node: For) -> Sequence[Value]:
        nest = _Nest.at(node, self.turned)
        order = None if nest is None else nest.best()
        if nest is None or order is None:
            return super().for_(node)
        loops = [nest.loops[k] for k in order]
        self.ready(nest)
        if not all(v in self.env for loop in loops for v in (loop.start, loop.stop, loop.step)):
            return super().for_(node)
        self.count += 1
        return self.level(nest, loops, self.values(node.carry))

    def level(self, nest: _Nest, loops: Sequence[For], inits: Sequence[Value]) -> Sequence[Value]:
        """The loops of a nest, of which the first is built here."""
        loop, *inner = loops

        def body(index: Value, *carry: Value) -> Sequence[Value]:
            self.bind(loop.body.params[0], index)
            self.ready(nest)
            return self.level(nest, inner, carry) if inner else self.step(nest, carry)

        bounds = self.value(loop.start), self.value(loop.stop), self.value(loop.step)
        names = [v.name for v in loop.outputs]
        with self.aside(), self.builder.at(origin=loop.origin):
            return ranged(bounds, inits, body, names, index=loop.body.params[0].name)

    def ready(self, nest: _Nest) -> None:
        """Compute what is known by now."""
        for node in nest.free:
            if node.outputs[0] not in self.env and all(v in self.env for v in node.inputs):
                if self.builder.stands(node.op, self.values(node.inputs), node.attrs):
                    self.nodes([node])

    def step(self, nest: _Nest, carry: Sequence[Value]) -> Sequence[Value]:
        """A trip of the innermost loop."""
        body = nest.loops[-1].body
        for param, value in zip(body.params[1:], carry, strict=True):
            self.bind(param, value)
        self.nodes([*nest.free, *body.nodes])
        return self.values(body.results)
