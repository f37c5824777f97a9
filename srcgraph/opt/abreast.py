"""Loops over elements that have loops of the same steps, as loops over these steps that take many elements.

``for i in range(n):``, ``for t in range(steps): y[i] = f(y[i], i)`` waits in each step for the one before. The loops
are exchanged for 64 elements at a time, so that several are computed at once. What the steps of an element leave in an
array of its own, as those that derivatives go back over do, has an axis more: a row for each step, in which an element
has its place. Sums of derivatives that all elements add to are made for each element, and added up after that.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, sections 5.2 (loop
interchange), 5.3 (scalar expansion) and 5.12 (strip mining).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import chosen, ranged
from srcgraph.ir.types import ArrayType
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.chains import FEW, MOST, Chain, is_number
from srcgraph.opt.dce import dce
from srcgraph.opt.fuse import reads
from srcgraph.opt.licm import is_costly, is_pure
from srcgraph.opt.masked import LANES
from srcgraph.opt.modes import current_mode
from srcgraph.opt.settle import settle
from srcgraph.opt.striped import Bounds, Strip, Striped
from srcgraph.opt.tables import goes_by_ones, is_float_number, is_sum, needed, passes_divisor, steps_of
from srcgraph.opt.together import added_states

ROWS = 16384
"""So many steps of each element are kept, at most: those of all are 8 MiB."""
TAPES = ("getitem", "setitem")
OWN = ("getitem", "setitem", "add_at")


def abreast(graph: Graph) -> Graph:
    """Exchange such loops, at every depth."""
    opened = open_(graph)
    if not any(isinstance(n, For) and _Body(n).fits() for n in all_nodes(opened)):
        return graph
    work = _Abreast(graph.name)
    made = work.run(opened)
    return dce(settle(made)) if work.count else graph


# -- which loops ------------------------------------------------------------------------------------


class _Body:
    """What the body of a loop over elements does.

    Attributes
    ----------
    chains : dict
        The loops in it, and what their steps read.
    tapes : set of Value
        Arrays that a step makes for itself, as they are made and changed.
    own : dict
        Arrays that are handed on and of which each step uses elements of its own alone, and what becomes of each.
    sums : set of Value
        Numbers handed on that loops add to, as their bodies' are.
    """

    def __init__(self, loop: For):
        self.loop = loop
        self.index, *self.carry = loop.body.params
        self.chains: dict[For, Chain] = {}
        self.tapes: set[Value] = set()
        self.own: dict[Value, set[Value]] = {}
        self.sums: set[Value] = set()
        self.free: list[Apply] = []

    def fits(self) -> bool:
        """Whether its loops can be exchanged with it, and whether that pays."""
        loop = self.loop
        if loop.stops or not goes_by_ones(loop) or (steps_of(loop) or FEW + 1) <= FEW:
            return False
        if not any(isinstance(n, For) for n in loop.body.nodes):
            return False
        for param, result in zip(self.carry, loop.body.results, strict=False):
            if isinstance(param.type, ArrayType):
                states = _versions(loop.body, param, OWN, self.index)
                if states is not None and result in states:
                    self.own[param] = states
        return self._is_read_in_order() and self._pays()

    def _is_read_in_order(self) -> bool:
        """Go through the body; whether all loops in it wait for nothing but each other."""
        waiting = {p for p in self.carry if p not in self.own}
        varying = {self.index, *self.carry}
        for node in self.loop.body.nodes:
            if isinstance(node, For):
                chain = Chain(self.loop, node, list(self.free), set(varying))
                if not self._is_exchanged(chain, node, waiting):
                    return False
                self.chains[node] = chain
                varying.update(node.outputs)
                waiting.update(o for k, o in enumerate(node.outputs) if self.kind(node, k) in ("sum", "own"))
                continue
            if not isinstance(node, Apply):
                return False
            if self._makes_tape(node, varying):
                continue
            if (is_pure(node) or passes_divisor(node)) and waiting.isdisjoint(reads(node)):
                self.free.append(node)
            else:
                waiting.update(node.outputs)
            if not varying.isdisjoint(node.inputs) or node.outputs[0] in waiting:
                varying.update(node.outputs)
        return bool(self.chains) and self._stays_apart()

    def _makes_tape(self, node: Apply, varying: set[Value]) -> bool:
        if node.op.name != "empty" or not varying.isdisjoint(node.inputs):
            return False
        states = _versions(self.loop.body, node.outputs[0], TAPES, None)
        if states is None or not states.isdisjoint(self.loop.body.results):
            return False
        self.tapes |= states
        return True

    def kind(self, inner: For, k: int) -> str:
        """What a loop hands on: a "number", a "sum", a "tape", or elements of an array that are an element's "own"."""
        init = inner.carry[k]
        if init in self.tapes:
            return "tape"
        if isinstance(init.type, ArrayType):
            return "own"
        return "sum" if inner.body.params[k + 1] in self.sums else "number"

    def _is_exchanged(self, chain: Chain, inner: For, waiting: set[Value]) -> bool:
        """Whether the steps of a loop in it can be taken for many elements."""
        if inner.stops or has_order(inner) or not chain.has_same_steps(inner):
            return False
        for k, init in enumerate(inner.carry):
            if init in waiting and self._is_added_up(inner, k):
                self.sums.add(inner.body.params[k + 1])
            elif init in waiting or (self.kind(inner, k) == "own" and not any(init in s for s in self.own.values())):
                return False
        numbers = [v for k, v in enumerate(inner.carry) if self.kind(inner, k) in ("number", "sum")]
        if len(numbers) > MOST or not all(map(is_number, (*numbers, *chain.own, *chain.same))):
            return False
        arrays = self.tapes.union(*self.own.values())
        return waiting.isdisjoint(reads(inner) - set(inner.carry)) and chain.are_lanes(arrays, along=True)

    def _is_added_up(self, inner: For, k: int) -> bool:
        """Whether a loop only adds to a number that it hands on, which may be done in any order."""
        param, result = inner.body.params[k + 1], inner.body.results[k]
        if not is_float_number(param) or param is result or any(result in reads(n) for n in inner.body.nodes):
            return False
        if "reassoc" in current_mode().fastmath and is_sum(inner, param, result):
            return True
        return added_states(inner.body, param, result) is not None

    def _stays_apart(self) -> bool:
        """Whether what loops change in arrays of the elements is used by nothing else."""
        changed = [s for s in self.own.values() if any(not s.isdisjoint(f.carry) for f in self.chains)]
        if changed and any(isinstance(n, Apply) and has_order(n) for n in self.loop.body.nodes):
            return False
        rest = [n for n in self.loop.body.nodes if n not in self.chains]
        return all(s.isdisjoint(reads(n)) for s in changed for n in rest)

    def _pays(self) -> bool:
        """Whether the steps of some loop wait for each other."""
        for inner in self.chains:
            handed = zip(inner.body.params[1:], inner.body.results, strict=False)
            if any(is_float_number(p) and p not in self.sums and not is_sum(inner, p, r) for p, r in handed):
                return True
        return False


def _versions(graph: Graph, array: Value, ops: Sequence[str], index: Value | None) -> set[Value] | None:
    """An array as it is and changed, at every depth; None if more is done with it than to use elements of it, at an
    index if there is one: on the last axis, as what is done along others takes longer than what is gained."""
    states = {array}

    def walk(graph: Graph) -> bool:
        for node in graph.nodes:
            if isinstance(node, For):
                for k, init in enumerate(node.carry):
                    if init in states:
                        states.add(node.body.params[k + 1])
                if not walk(node.body):
                    return False
                for k, init in enumerate(node.carry):
                    if (init in states) != (node.body.results[k] in states):
                        return False
                    if init in states:
                        states.add(node.outputs[k])
            elif not states.isdisjoint(reads(node)):
                if not isinstance(node, Apply) or node.op.name not in ops or not _is_element(node, states, index):
                    return False
                if node.op.name != "getitem":
                    states.add(node.outputs[0])
        return True

    return states if walk(graph) else None


def _is_element(node: Apply, states: set[Value], index: Value | None) -> bool:
    array, *others = node.inputs
    if array not in states or not states.isdisjoint(others) or node.attrs["view"] != element(array.type.ndim):
        return False
    places = others if node.op.name == "getitem" else others[1:]
    return index is None or places[-1] is index


# -- what becomes of them ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Done:
    """What the exchanged loops of a strip have left: arrays of numbers, by the loops' outputs."""

    body: _Body
    strip: Strip
    arrays: dict[Value, Value] = field(default_factory=dict)


class _Abreast(Striped):
    """A graph, such loops exchanged; ``count`` says how many."""

    def __init__(self, name: str):
        super().__init__(name)
        self.count = 0
        self.done: dict[For, _Done] = {}
        self.tapes: dict[Value, Value] = {}
        """Arrays of one element's, and those of many elements'."""
        self.at: Value | None = None
        """The place of the element whose step is built."""

    def node(self, node: Node) -> Sequence[Value]:
        if self.at is not None:
            if isinstance(node, If):
                return self.both(node)
            if isinstance(node, Apply) and node.inputs and node.inputs[0] in self.tapes:
                return self.on_tape(node, self.at)
        return super().node(node)

    def bind(self, old: Value, new: Value) -> None:
        if old not in self.tapes:
            super().bind(old, new)

    def on_tape(self, node: Apply, at: Value) -> Sequence[Value]:
        """An element of an array that has an axis more."""
        array, *others = node.inputs
        tape, view = self.tapes[array], element(array.type.ndim + 1)
        if node.op.name == "getitem":
            return (
                self.builder.apply(node.op, (tape, *self.values(others), at), {"view": view}, node.outputs[0].name),
            )
        value, *places = self.values(others)
        self.tapes[node.outputs[0]] = OPS["setitem"](tape, value, *places, at, view=view)
        return (self.tapes[node.outputs[0]],)

    def for_(self, node: For) -> Sequence[Value]:
        if node in self.done:
            return self.outputs(node, self.done[node])
        body = _Body(node)
        if not body.fits():
            return super().for_(node)
        with self.builder.at(origin=node.origin):
            outs = self.divided(node, LANES, lambda bounds, carry: self.strip(body, bounds, carry))
        if outs is None:
            return super().for_(node)
        self.count += 1
        return outs

    def outputs(self, node: For, done: _Done) -> Sequence[Value]:
        """What an exchanged loop has left for one element."""
        at = done.strip.place(self.value(done.strip.index))
        outs = []
        for k, out in enumerate(node.outputs):
            match done.body.kind(node, k):
                case "number":
                    outs.append(self.read(done.arrays[out], at, out))
                case "sum":
                    outs.append(OPS["add"](self.value(node.carry[k]), self.read(done.arrays[out], at, out)))
                case "own":
                    outs.append(self.value(node.carry[k]))
                case _:
                    outs.append(self.tapes[out])
        return outs

    def strip(self, body: _Body, bounds: Bounds, carry: Sequence[Value]) -> Sequence[Value] | None:
        """The steps of a loop between bounds, exchanged unless they are few."""
        loop, stands = body.loop, []
        strip = Strip.of(loop, bounds, LANES)
        _, end, _ = bounds

        def many() -> Sequence[Value]:
            ahead = dict(self.ahead)
            with self.aside():
                self.stands = True
                inits = self.exchanged(body, strip, carry)
                stands.append(self.stands)
                outs = self.for_over(loop, bounds, inits)
            for inner in body.chains:
                del self.done[inner]
            self.tapes, self.ahead = {}, ahead
            return outs

        def few() -> Sequence[Value]:
            with self.aside():
                return self.for_over(loop, bounds, list(carry))

        outs = chosen(self.are_many(body, strip.place(end)), many, few, [v.name for v in loop.outputs])
        return outs if all(stands) else None

    def are_many(self, body: _Body, size: Value) -> Value:
        """Whether there are more elements than a few, and what they leave is not too large to be near."""
        asked = [OPS["greater"](size, self.builder.const(FEW))]
        for node in body.loop.body.nodes:
            if isinstance(node, Apply) and node.outputs[0] in body.tapes:
                self.nodes_early(needed(node.inputs, body.free))
                rows = functools.reduce(OPS["mul"], self.values(node.inputs))
                asked.append(OPS["less_equal"](rows, self.builder.const(ROWS)))
        return functools.reduce(OPS["logical_and"], asked)

    # -- exchanged ------------------------------------------------------------------------------

    def exchanged(self, body: _Body, strip: Strip, carry: Sequence[Value]) -> list[Value]:
        """Take the steps of all loops in a body; returns what is handed on then."""
        now = list(carry)
        for param, value in zip(body.carry, carry, strict=True):
            if param in body.own:
                self.bind(param, value)
        done = _Done(body, strip)
        for node in body.loop.body.nodes:
            if isinstance(node, Apply) and node.outputs[0] in body.tapes and node.op.name == "empty":
                self.nodes_early(needed(node.inputs, body.free))
                shape = (*self.values(node.inputs), self.builder.const(strip.size))
                self.tapes[node.outputs[0]] = self.builder.apply(node.op, shape, dict(node.attrs), node.outputs[0].name)
            if isinstance(node, For):
                with self.builder.at(origin=node.origin):
                    _Sweep(self, done, node).build(now)
                self.done[node] = done
        return now


class _Sweep:
    """Builds the steps of one loop for all elements of a strip."""

    def __init__(self, work: _Abreast, done: _Done, inner: For):
        self.work, self.done, self.inner, self.strip = work, done, inner, done.strip
        self.chain = done.body.chains[inner]
        self.kinds = [done.body.kind(inner, k) for k in range(len(inner.carry))]
        self.params = inner.body.params[1:]
        self.own: Sequence[Value] = ()
        """Arrays of what each element has of its own."""

    def build(self, now: list[Value]) -> None:
        """Take the steps; ``now`` is what the loop around hands on, of which arrays are changed."""
        work, inner, chain = self.work, self.inner, self.chain
        work.nodes_early(needed((inner.start, inner.stop, inner.step, *chain.same), chain.known))
        begun = self.begun()
        start, stop, step = work.values((inner.start, inner.stop, inner.step))
        names, index = [a.name for a in begun], inner.body.params[0].name
        arrays = ranged((start, stop, step), begun, self.step, names, index=index)
        for out, init, kind, array in zip(inner.outputs, inner.carry, self.kinds, arrays, strict=True):
            match kind:
                case "tape":
                    work.tapes[out] = array
                case "own":
                    work.bind(out, array)
                    own = self.done.body.own
                    now[self.done.body.carry.index(next(p for p in own if init in own[p]))] = array
                case _:
                    self.done.arrays[out] = array
        for value, array in zip(chain.own, self.own, strict=True):
            if any(map(is_costly, needed([value], chain.known))):
                work.ahead[value] = array, self.strip

    def begun(self) -> list[Value]:
        """What the steps begin with: arrays of numbers, tapes, and the arrays of the elements."""
        work, chain, inner = self.work, self.chain, self.inner
        numbers = [k for k, kind in enumerate(self.kinds) if kind in ("number", "sum")]
        starts = {k: inner.carry[k] for k in numbers if self.kinds[k] == "number"}
        zeros = {k: work.builder.const(self.params[k].type.dtype.type(0)) for k in numbers}

        def fill(number: Value, *arrays: Value) -> Sequence[Value]:
            self.bind_left(number)
            work.nodes(needed((*starts.values(), *chain.own), chain.known))
            values = [work.value(starts[k]) if k in starts else zeros[k] for k in numbers]
            return work.stored(arrays, [*values, *work.values(chain.own)], self.strip.place(number))

        kept = [*(self.params[k] for k in numbers), *chain.own]
        names = [f"{v.name}s" if v.name else "" for v in kept]
        made = work.over(self.strip, work.rooms(self.strip, kept), fill, names)
        self.own, found = made[len(numbers) :], dict(zip(numbers, made, strict=False))
        found |= {k: work.tapes[inner.carry[k]] for k, kind in enumerate(self.kinds) if kind == "tape"}
        return [found[k] if k in found else work.value(init) for k, init in enumerate(inner.carry)]

    def bind_left(self, number: Value) -> None:
        """The element, and what earlier loops have left for it."""
        self.work.bind(self.strip.index, number)
        for out, array in self.done.arrays.items():
            self.work.bind(out, self.work.read(array, self.strip.place(number), out))

    def step(self, k: Value, *arrays: Value) -> Sequence[Value]:
        """A step of all elements."""
        names = [a.name for a in arrays]
        return self.work.over(self.strip, arrays, lambda number, *now: self.lane(number, k, now), names)

    def lane(self, number: Value, k: Value, arrays: Sequence[Value]) -> Sequence[Value]:
        """A step of one element."""
        work, inner, at = self.work, self.inner, self.strip.place(number)
        self.bind_left(number)
        work.bind(inner.body.params[0], k)
        work.nodes(self.chain.again)
        for value, array in zip(self.chain.own, self.own, strict=True):
            work.bind(value, work.read(array, at, value))
        for kind, param, array in zip(self.kinds, self.params, arrays, strict=True):
            match kind:
                case "tape":
                    work.tapes[param] = array
                case "own":
                    work.bind(param, array)
                case _:
                    work.bind(param, work.state(array, at, param))
        work.at, work.there = at, self.chain.there
        work.moving(inner.body)
        work.at = None
        return [
            self.left(kind, array, result, at)
            for kind, array, result in zip(self.kinds, arrays, inner.body.results, strict=True)
        ]

    def left(self, kind: str, array: Value, result: Value, at: Value) -> Value:
        """What a step of an element leaves: an array after it."""
        match kind:
            case "tape":
                return self.work.tapes[result]
            case "own":
                return self.work.value(result)
        return self.work.stored([array], [self.work.value(result)], at)[0]
