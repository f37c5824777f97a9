"""Loops over elements that have loops of the same steps, as loops over these steps that take many elements.

``for i in range(n):``, ``for t in range(steps): y[i] = f(y[i], i)`` waits in each step for the one before. The loops
are exchanged for 64 elements at a time, so that several are computed at once. What the steps of an element leave in an
array of its own, as those that derivatives go back over do, has an axis more: a row for each step, in which an element
has its place. Sums of derivatives that all elements add to are made for each element, and added up after that.

Loops that go down the columns of arrays, as ``for j: for i: total[j] += a[i, j]``, are exchanged, too, for 512 columns
at a time, so that they go along rows.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, sections 5.2 (loop
interchange), 5.3 (scalar expansion) and 5.12 (strip mining).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Container, Sequence, Set
from dataclasses import dataclass, field, replace

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import chosen, ranged
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.chains import FEW
from srcgraph.opt.dce import dce
from srcgraph.opt.elements import OWN, Body
from srcgraph.opt.licm import is_costly
from srcgraph.opt.modes import current_target
from srcgraph.opt.ordered import in_fortran_order
from srcgraph.opt.settle import settle
from srcgraph.opt.striped import Bounds, Strip, Striped
from srcgraph.opt.tables import needed
from srcgraph.opt.tiles import Tiles

ROWS = 16384
"""So many steps of each element are kept, at most: those of all are 8 MiB."""


def abreast(graph: Graph) -> Graph:
    """Exchange such loops, at every depth."""
    opened = open_(graph)
    turned = in_fortran_order(opened, current_target().turned)
    if not any(isinstance(n, For) and Body(n, turned).fits() for n in all_nodes(opened)):
        return graph
    work = _Abreast(graph.name, turned)
    made = work.run(opened)
    return dce(settle(made)) if work.count else graph


# -- what becomes of them ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Done:
    """What the exchanged loops of a strip have left: arrays of numbers, by the loops' outputs."""

    body: Body
    strip: Strip
    now: list[Value]
    """What the loop around hands on then."""
    arrays: dict[Value, Value] = field(default_factory=dict)
    states: dict[Value, Value] = field(default_factory=dict)
    """What the arrays of the elements are then in the old graph, by what they are in the beginning."""

    def is_of(self, state: Value) -> int:
        """Which of the carries an array of the elements is."""
        own = self.body.own
        return self.body.carry.index(next(p for p in own if state in own[p]))


class _Abreast(Striped):
    """A graph, such loops exchanged; ``count`` says how many."""

    def __init__(self, name: str, turned: Container[Value]):
        super().__init__(name)
        self.turned = turned
        self.count = 0
        self.done: dict[For, _Done] = {}
        self.tapes: dict[Value, Value] = {}
        """Arrays of one element's, and those of many elements'."""
        self.plain: Set[Value] = frozenset()
        """What is stored where it is computed, and needs no name."""
        self.passed: set[Apply] = set()
        """Stores that have been done."""
        self.at: Value | None = None
        """The place of the element whose step is built."""
        self.tiles: Tiles | None = None
        """What is fetched for the steps that are built."""

    def node(self, node: Node) -> Sequence[Value]:
        if node in self.passed and node.op.name != "getitem":
            return self.values(node.inputs[:1])
        if self.at is not None:
            if isinstance(node, If):
                return self.both(node)
            if self.tiles is not None and isinstance(node, Apply) and (made := self.tiles.node(node)) is not None:
                return (made,)
            if isinstance(node, Apply) and node.inputs and node.inputs[0] in self.tapes:
                return self.on_tape(node, self.at)
        return super().node(node)

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if node.outputs[0] in self.plain:
            node = replace(node, outputs=(Value("", node.outputs[0].type),))
        return super().apply(node, inputs)

    def bind(self, old: Value, new: Value) -> None:
        if old not in self.tapes and (self.tiles is None or old not in self.tiles.stored):
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
        body = Body(node, self.turned)
        if not body.fits():
            return super().for_(node)
        with self.builder.at(origin=node.origin):
            outs = self.divided(node, body.width, lambda bounds, carry: self.strip(body, bounds, carry))
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

    def strip(self, body: Body, bounds: Bounds, carry: Sequence[Value]) -> Sequence[Value] | None:
        """The steps of a loop between bounds, exchanged unless they are few."""
        loop, stands = body.loop, []
        strip = Strip.of(loop, bounds, body.width)

        def many() -> Sequence[Value]:
            ahead = dict(self.ahead)
            with self.aside():
                self.stands = True
                inits = self.exchanged(body, strip, carry)
                stands.append(self.stands)
                outs = self.for_over(loop, bounds, inits)
            for inner in body.chains:
                del self.done[inner]
            self.tapes, self.ahead, self.passed = {}, ahead, set()
            return outs

        def few() -> Sequence[Value]:
            with self.aside():
                return self.for_over(loop, bounds, list(carry))

        outs = chosen(self.are_many(body, strip), many, few, [v.name for v in loop.outputs])
        return outs if all(stands) else None

    def are_many(self, body: Body, strip: Strip) -> Value:
        """Whether there are more elements than a few, and what they leave is not too large to be near."""
        first, end, _ = strip.bounds
        few = OPS["add" if strip.up else "sub"](first, self.builder.const(FEW))
        asked = [OPS["less" if strip.up else "greater"](few, end)]
        for node in body.loop.body.nodes:
            if isinstance(node, Apply) and node.outputs[0] in body.tapes and node.op.name == "empty":
                self.nodes_early(needed(node.inputs, body.free))
                rows = functools.reduce(OPS["mul"], self.values(node.inputs))
                asked.append(OPS["less_equal"](rows, self.builder.const(ROWS)))
        return functools.reduce(OPS["logical_and"], asked)

    # -- exchanged ------------------------------------------------------------------------------

    def exchanged(self, body: Body, strip: Strip, carry: Sequence[Value]) -> list[Value]:
        """Take the steps of all loops in a body; returns what is handed on then."""
        done = _Done(body, strip, list(carry))
        for param, value in zip(body.carry, carry, strict=True):
            if param in body.own:
                self.bind(param, value)
                done.states[param] = param
        for node in body.loop.body.nodes:
            if isinstance(node, Apply) and node.outputs[0] in body.tapes and node.op.name == "empty":
                self.nodes_early(needed(node.inputs, body.free))
                shape = (*self.values(node.inputs), self.builder.const(strip.size))
                self.tapes[node.outputs[0]] = self.builder.apply(node.op, shape, dict(node.attrs), node.outputs[0].name)
            if isinstance(node, For):
                self.between(done, body.before[node])
                with self.builder.at(origin=node.origin):
                    _Sweep(self, done, node).build()
                self.done[node] = done
        return done.now

    def between(self, done: _Done, nodes: Sequence[Apply]) -> None:
        """What is done with elements of arrays before a loop, for all elements of a strip."""
        stores = [n for n in nodes if n.op.name in OWN[1:]]
        places = list(dict.fromkeys(done.is_of(n.inputs[0]) for n in stores))
        params = [done.body.carry[k] for k in places]
        last = {done.is_of(n.inputs[0]): n.outputs[0] for n in stores}

        def fill(number: Value, *arrays: Value) -> Sequence[Value]:
            self.bind_left(done, number)
            for param, array in zip(params, arrays, strict=True):
                self.bind(done.states[param], array)
            known = needed([v for n in nodes for v in n.inputs], done.body.free)
            self.nodes([*known, *nodes])
            return [self.value(last[k]) for k in places]

        if stores:
            with self.builder.at(origin=stores[0].origin):
                arrays = self.over(done.strip, [done.now[k] for k in places], fill, [p.name for p in params])
            for k, param, array in zip(places, params, arrays, strict=True):
                done.now[k], done.states[param] = array, last[k]
                self.bind(last[k], array)
            self.passed.update(stores)

    def bind_left(self, done: _Done, number: Value) -> None:
        """The element, and what earlier loops have left for it."""
        self.bind(done.strip.index, number)
        for out, array in done.arrays.items():
            self.bind(out, self.read(array, done.strip.place(number), out))


class _Sweep:
    """Builds the steps of one loop for all elements of a strip."""

    def __init__(self, work: _Abreast, done: _Done, inner: For):
        self.work, self.done, self.inner, self.strip = work, done, inner, done.strip
        self.chain = done.body.chains[inner]
        self.kinds = [done.body.kind(inner, k) for k in range(len(inner.carry))]
        self.params = self.chain.params
        self.own: Sequence[Value] = ()
        """Arrays of what each element has of its own."""

    def build(self) -> None:
        """Take the steps."""
        work, inner, chain = self.work, self.inner, self.chain
        bounds = [v for level in chain.levels for v in (level.start, level.stop, level.step)]
        work.nodes_early(needed((*bounds, *chain.same), chain.known))
        arrays = self.level(chain.levels, self.begun())
        for out, init, kind, array in zip(inner.outputs, inner.carry, self.kinds, arrays, strict=True):
            match kind:
                case "tape":
                    work.tapes[out] = array
                case "own":
                    work.bind(out, array)
                    at = self.done.is_of(init)
                    self.done.now[at], self.done.states[self.done.body.carry[at]] = array, out
                case _:
                    self.done.arrays[out] = array
        for value, array in zip(chain.own, self.own, strict=True):
            if any(map(is_costly, needed([value], chain.known))):
                work.ahead[value] = array, self.strip

    def level(self, levels: Sequence[For], arrays: Sequence[Value]) -> Sequence[Value]:
        """The first of these loops, with the others in it."""
        loop, *inner = levels
        if not inner and (far := self.done.body.far[self.inner]):
            return self.by_tiles(Tiles(self.work, loop, self.strip, far, self.chain.known), arrays)

        def body(k: Value, *now: Value) -> Sequence[Value]:
            self.work.bind(loop.body.params[0], k)
            return self.level(inner, now) if inner else self.step(now)

        start, stop, step = self.work.values((loop.start, loop.stop, loop.step))
        with self.work.aside():
            return ranged((start, stop, step), arrays, body, [a.name for a in arrays], index=loop.body.params[0].name)

    def by_tiles(self, tiles: Tiles, arrays: Sequence[Value]) -> Sequence[Value]:
        """The steps of the last loop, which read or store what lies apart."""

        def steps(bounds: Bounds, now: Sequence[Value]) -> Sequence[Value]:
            def body(k: Value, *now: Value) -> Sequence[Value]:
                self.work.bind(tiles.loop.body.params[0], k)
                return self.step(now)

            self.work.tiles = tiles
            with self.work.aside():
                outs = ranged(bounds, now, body, [a.name for a in now], index=tiles.loop.body.params[0].name)
            self.work.tiles = None
            return outs

        return tiles.over(arrays, steps)

    def begun(self) -> list[Value]:
        """What the steps begin with: arrays of numbers, tapes, and the arrays of the elements."""
        work, chain, inner = self.work, self.chain, self.inner
        numbers = [k for k, kind in enumerate(self.kinds) if kind in ("number", "sum")]
        starts = {k: inner.carry[k] for k in numbers if self.kinds[k] == "number"}
        zeros = {k: work.builder.const(self.params[k].type.dtype.type(0)) for k in numbers}

        def fill(number: Value, *arrays: Value) -> Sequence[Value]:
            work.bind_left(self.done, number)
            work.nodes(needed((*starts.values(), *chain.own), chain.known))
            values = [work.value(starts[k]) if k in starts else zeros[k] for k in numbers]
            return work.stored(arrays, [*values, *work.values(chain.own)], self.strip.place(number))

        kept = [*(self.params[k] for k in numbers), *chain.own]
        names = [f"{v.name}s" if v.name else "" for v in kept]
        made = work.over(self.strip, work.rooms(self.strip, kept), fill, names)
        self.own, found = made[len(numbers) :], dict(zip(numbers, made, strict=False))
        found |= {k: work.tapes[inner.carry[k]] for k, kind in enumerate(self.kinds) if kind == "tape"}
        return [found[k] if k in found else work.value(init) for k, init in enumerate(inner.carry)]

    def step(self, arrays: Sequence[Value]) -> Sequence[Value]:
        """A step of all elements."""
        names = [a.name for a in arrays]
        return self.work.over(self.strip, arrays, lambda number, *now: self.lane(number, now), names)

    def lane(self, number: Value, arrays: Sequence[Value]) -> Sequence[Value]:
        """A step of one element."""
        work, chain, at = self.work, self.chain, self.strip.place(number)
        body = chain.levels[-1].body
        work.bind_left(self.done, number)
        again = needed([n.outputs[0] for n in self.chain.again], self.chain.known)
        work.nodes([n for n in again if n in self.chain.again or n.outputs[0] not in work.env])
        for value, array in zip(self.chain.own, self.own, strict=True):
            work.bind(value, work.read(array, at, value))
        uses = Counter(v for n in all_nodes(body) for v in node_inputs(n)) + Counter(body.results)
        work.plain = {r for r in body.results if uses[r] == 1}
        for k, (kind, param, array) in enumerate(zip(self.kinds, self.params, arrays, strict=True)):
            match kind:
                case "tape":
                    work.tapes[param] = array
                case "own" if work.tiles is not None and k in work.tiles.own:
                    work.tiles.stored[param] = array
                case "own":
                    work.bind(param, array)
                case _:
                    work.bind(param, work.state(array, at, param, param.name if uses[param] > 1 else ""))
        work.at, work.there = at, self.chain.there
        work.nodes(chain.between)
        work.moving(body)
        work.at, work.plain = None, frozenset()
        origins = {v: n.origin for n in body.nodes for v in n.outputs}
        made = []
        for kind, array, result in zip(self.kinds, arrays, body.results, strict=True):
            with work.builder.at(origin=origins.get(result, self.inner.origin)):
                made.append(self.left(kind, array, result, at))
        return made

    def left(self, kind: str, array: Value, result: Value, at: Value) -> Value:
        """What a step of an element leaves: an array after it."""
        match kind:
            case "tape":
                return self.work.tapes[result]
            case "own" if self.work.tiles is not None and result in self.work.tiles.stored:
                return self.work.tiles.stored[result]
            case "own":
                return self.work.value(result)
        return self.work.stored([array], [self.work.value(result)], at)[0]
