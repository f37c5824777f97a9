"""Loops of derivatives over elements, as operations on whole rows, where a step adds to several elements of an array.

The derivative of ``u[i] = f(old[i - 1], old[i + 1])`` adds to two elements of ``d_old`` in each step, which the next
steps read and write again: no CPU takes several such steps at a time. As ``d_old[:-2] += ...`` and ``d_old[2:] += ...``
over all steps it is the derivative of ``u[1:-1] = f(old[:-2], old[2:])``, with all that is done for those. Loops around
such a loop follow, as far as they can.

Each trip has elements of its own of an array that is read or stored, so that all trips may do one thing before all do
the next. What is only added to is a sum of derivatives, whose rounding is nobody's.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, sections 2.4
(vectorization) and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim, prove_nonnegative, symbol
from srcgraph.ir.graph import Apply, For, Graph, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ScalarType, is_float, is_integer
from srcgraph.ir.view import View, split_operands
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.accumulate import accumulate
from srcgraph.opt.dce import dce
from srcgraph.opt.scalars import LIMIT
from srcgraph.opt.simplify import simplify

_STORES = ("setitem", "add_at")


def raised(graph: Graph) -> Graph:
    """Change such loops, at every depth, innermost ones first."""
    before = graph
    while any(isinstance(n, For) and _scatters(n) for n in all_nodes(graph)):
        opened = open_(graph)
        rows = _Raised(graph.name)
        made = rows.run(opened)
        if not rows.count:
            break
        graph = dce(simplify(made))
    return graph if graph is before else accumulate(graph)


def _scatters(loop: For) -> bool:
    """Whether a loop adds something of a derivative at two places."""
    adds = [n for n in loop.body.nodes if isinstance(n, Apply) and n.op.name == "add_at" and n.origin.by]
    return len(adds) > 1


# -- which -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Access:
    """What a node does with an array.

    Attributes
    ----------
    adds : bool
        Whether it adds to it, in arithmetic of derivatives.
    axis : int or None
        Along which the loop goes; None if it is at one place in all trips.
    beside : Dim or None
        How far from the loop's number.
    """

    adds: bool
    axis: int | None
    beside: Dim | None


class _Trips:
    """What the trips of a loop have in common, and what each has of its own.

    Attributes
    ----------
    own : set of Value
        What each trip computes.
    carried : dict
        The states of arrays, by which of the carries they are of.
    accesses : dict
        What is done with the elements of each carry.
    widest : int
        How many axes the largest part of an array has that is a trip's own, and stored into.
    """

    def __init__(self, loop: For):
        self.loop = loop
        self.index = loop.body.params[0]
        self.own: set[Value] = set()
        self.carried = {p: k for k, p in enumerate(loop.body.params[1 : 1 + len(loop.carry)])}
        self.accesses: dict[int, list[_Access]] = {k: [] for k in self.carried.values()}
        self.widest = 0

    def can_be_one(self) -> bool:
        """Whether all trips may do one thing before all do the next, and it is worth it."""
        loop = self.loop
        step = loop.step.type.value if isinstance(loop.step.type, ScalarType) else None
        if loop.stops or loop.lanes or step is None or step.const not in (1, -1) or not self.is_long():
            return False
        if self.symbol is None or not all(isinstance(p.type, ArrayType) or is_float(p.type) for p in self.carried):
            return False
        if not all(isinstance(n, Apply) and not has_order(n) and self.takes(n) for n in loop.body.nodes):
            return False
        ends = [self.carried.get(r) == k for k, r in enumerate(loop.body.results)]
        return all(ends) and all(map(_is_apart, self.accesses.values())) and self.is_worth_it()

    def is_worth_it(self) -> bool:
        """Whether trips add to elements that others add to, and what all compute is no larger than the arrays; sums are
        one more time through rows, which may be long where they are all of an array."""
        if any(v.type.ndim > self.widest for v in self.own):
            return False
        meeting = [self.loop.carry[k].type.ndim for k, a in self.accesses.items() if _meet(a)]
        sums = any(a.axis is None for accesses in self.accesses.values() for a in accesses)
        return bool(meeting) and not (sums and max(meeting) == 1)

    def is_long(self) -> bool:
        start, stop = self.loop.start.type.value, self.loop.stop.type.value
        if start is None or stop is None:
            return False
        count = (stop - start) * (self.loop.step.type.value.const or 1)
        return not prove_nonnegative(LIMIT - count, ())

    @property
    def symbol(self) -> str | None:
        value = self.index.type.value
        return None if value is None else value.symbol

    def moves(self, value: Value) -> bool:
        """Whether an integer is another one in each trip."""
        known = value.type.value if is_integer(value.type) else None
        return known is not None and self.symbol in known.symbols()

    def beside(self, value: Value) -> Dim | None:
        """How far an integer is from the loop's number, if that is the same in all trips."""
        known = value.type.value - symbol(self.symbol or "")
        return None if self.symbol in known.symbols() else known

    # -- node by node --------------------------------------------------------------------------------------

    def takes(self, node: Apply) -> bool:
        """Whether a node can be one of all trips; what is known of its outputs from here on."""
        special = [v for v in node.inputs if v in self.own or v in self.carried or self.moves(v)]
        if not special or (node.op.name == "dim" and node.inputs[0] not in self.own):
            return True
        if node.op.name == "getitem":
            return self.reads(node)
        if node.op.name in _STORES:
            return self.stores(node)
        if any(v in self.carried for v in node.inputs):
            return self.adds_up(node)
        if any(map(self.moves, node.inputs)):
            out = node.outputs[0]
            return len(special) == 1 and self.moves(out) and self.beside(out) is not None
        self.own.update(node.outputs)
        return node.op.kind == "elementwise" or node.op.name == "sum"

    def adds_up(self, node: Apply) -> bool:
        """Whether a node adds what a trip has computed to a sum over all trips, of a derivative."""
        if node.op.name not in ("add", "sub") or not node.origin.by:
            return False
        total, more = node.inputs
        if node.op.name == "add" and more in self.carried:
            total, more = more, total
        if total not in self.carried or more not in self.own or total.type.ndim:
            return False
        k = self.carried[node.outputs[0]] = self.carried[total]
        self.accesses[k].append(_Access(True, None, None))
        return True

    def reads(self, node: Apply) -> bool:
        base, *operands = node.inputs
        found = self.place(node, operands)
        if found is None or found[0] is None or base in self.own:
            return False
        if base in self.carried:
            self.accesses[self.carried[base]].append(_Access(False, *found))
        self.own.update(node.outputs)
        return True

    def stores(self, node: Apply) -> bool:
        base, value, *operands = node.inputs
        found = self.place(node, operands)
        if found is None or base not in self.carried or value in self.carried or self.moves(value):
            return False
        k = self.carried[base]
        adds = node.op.name == "add_at" and bool(node.origin.by)
        self.accesses[k].append(_Access(adds, *found))
        self.carried[node.outputs[0]] = k
        kept = len(node.attrs["view"].kept)
        if found[0] is not None:
            self.widest = max(self.widest, kept)
        if value in self.own:
            return value.type.ndim == kept and (adds or found[0] is not None)
        return found[0] is not None and not value.type.ndim

    def place(self, node: Apply, operands: Sequence[Value]) -> tuple[int | None, Dim | None] | None:
        """The axis along which a loop goes through what a node reads or stores, and how far beside its number, or that
        it is one place for all trips; None unless that becomes the first axis of all trips' part, and single elements
        lie side by side."""
        view: View = node.attrs["view"]
        if any(v in self.own or v in self.carried for v in operands) or view.order != tuple(range(len(view.kept))):
            return None
        found: list[tuple[int, Dim | None]] = []
        for axis, (way, own) in enumerate(zip(view.axes, split_operands(view, operands), strict=True)):
            if any(map(self.moves, own)):
                first = way == "i" and not any(w != "i" for w in view.axes[:axis])
                side_by_side = bool(view.kept) or axis == len(view.axes) - 1
                found.append((axis, self.beside(own[0]) if first and side_by_side else None))
        if not found:
            return None, None
        return found[0] if len(found) == 1 and found[0][1] is not None else None


def _is_apart(accesses: Sequence[_Access]) -> bool:
    """Whether each trip has elements of its own of an array, or all do nothing but add to it."""
    return all(a.adds for a in accesses) or len({(a.axis, a.beside) for a in accesses}) == 1


def _meet(accesses: Sequence[_Access]) -> bool:
    """Whether trips add to elements that others add to."""
    return len({(a.axis, a.beside) for a in accesses}) > 1


# -- rows --------------------------------------------------------------------------------------------------


class _Raised(Rebuild):
    """A graph, loops that can be as operations on rows; ``count`` says how many."""

    def __init__(self, name: str):
        super().__init__(name)
        self.count = 0
        self.trips: list[tuple[_Trips, Value]] = []

    def bind(self, old: Value, new: Value) -> None:
        if any(old in trips.own for trips, _ in self.trips):
            self.env[old] = new  # it has one axis more
        else:
            super().bind(old, new)

    def for_(self, node: For) -> Sequence[Value]:
        trips = _Trips(node)
        if not trips.can_be_one():
            return super().for_(node)
        self.count += 1
        lowest, count = self.run_of(node)
        inits = self.values(node.carry)
        params = node.body.params[1:]
        self.bind(trips.index, lowest)
        for param, init in zip(params, inits, strict=False):
            self.bind(param, init)
        self.capture(params[len(inits) :], node.captures)
        self.trips.append((trips, count))
        self.nodes(node.body.nodes)
        self.trips.pop()
        return self.values(node.body.results)

    def run_of(self, loop: For) -> tuple[Value, Value]:
        """The lowest number of a loop, and how many there are."""
        start, stop, step = self.values((loop.start, loop.stop, loop.step))
        plus, minus = OPS["add"], OPS["sub"]
        low, high = (start, stop) if step.type.value.const == 1 else (plus(stop, self.builder.const(1)), None)
        length = minus(high, low) if high is not None else minus(start, stop)
        return low, OPS["maximum"](length, self.builder.const(0))

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if not self.trips:
            return super().apply(node, inputs)
        trips, count = self.trips[-1]
        if any(map(trips.moves, node.inputs)) and node.op.name in ("getitem", *_STORES):
            return (self.part(node, inputs, count),)
        if trips.own.isdisjoint(node.inputs):
            return super().apply(node, inputs)
        return (self.of_rows(node, inputs),)

    def part(self, node: Apply, inputs: Sequence[Value], count: Value) -> Value:
        """A read, or a store, of all trips' elements; ``inputs`` are those of the lowest trip."""
        trips, view = self.trips[-1][0], node.attrs["view"]
        first = 1 if node.op.name == "getitem" else 2
        axes, operands = list(view.axes), list[Value]()
        pairs = zip(split_operands(view, node.inputs[first:]), split_operands(view, inputs[first:]), strict=True)
        for axis, (old, new) in enumerate(pairs):
            operands += new
            if any(map(trips.moves, old)):
                axes[axis] = 1
                operands.append(count)
        rows = {"view": View(tuple(axes), tuple(range(len(view.kept) + 1)))}
        return self.of_type(node, self.applied(node, (*inputs[:first], *operands), rows))

    def of_rows(self, node: Apply, inputs: Sequence[Value]) -> Value:
        """What a node computes of what each trip has computed; a sum over trips, if it is added to what is theirs."""
        trips, attrs = self.trips[-1][0], dict(node.attrs)
        if not trips.carried.keys().isdisjoint(node.inputs):
            inputs = [_sum(x) if v in trips.own else x for v, x in zip(node.inputs, inputs, strict=True)]
        elif node.op.name == "sum":
            attrs["axes"] = tuple(axis + 1 for axis in attrs["axes"])
        else:
            ndim = max(v.type.ndim for v in node.inputs)
            inputs = [_aligned(x, ndim) if v in trips.own else x for v, x in zip(node.inputs, inputs, strict=True)]
        return self.of_type(node, self.applied(node, inputs, attrs))

    def applied(self, node: Apply, inputs: Sequence[Value], attrs: dict[str, Any]) -> Value:
        out = self.builder.apply(node.op, tuple(inputs), attrs, name=node.outputs[0].name)
        assert isinstance(out, Value)
        return out

    def of_type(self, node: Apply, made: Value) -> Value:
        """A value of the dtype that it had: Python's numbers are NumPy's in rows."""
        old, new = node.outputs[0].type, made.type
        weak = isinstance(old, ScalarType) and isinstance(new, ScalarType) and old.weak
        same = old.dtype == new.dtype and weak == getattr(new, "weak", False)
        return made if same else self.builder.cast(made, old.dtype, weak)


def _sum(row: Value) -> Value:
    """The sum of what all trips have computed."""
    return OPS["sum"](row, axes=(0,))


def _aligned(row: Value, ndim: int) -> Value:
    """What all trips have computed, to be combined with what has so many axes in each trip."""
    missing = ndim + 1 - row.type.ndim
    if not missing:
        return row
    order = (0, *(None,) * missing, *range(1, row.type.ndim))
    return OPS["getitem"](row, view=View((":",) * row.type.ndim, order))
