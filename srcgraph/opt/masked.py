"""Loops that each step of another loop runs until something has converged, several steps' at a time.

In ``for i in range(n): root[i] = newton(x[i])`` each step of Newton's waits for the one before, but not for those of
other `i`. Those of 64 elements are taken together, as long as more than a few of them go on: one that has converged
keeps its numbers while the others are computed. The loops of the elements that still go on after that, and what follows
them, are run as they were written, from where they stand. So it is with what a step would raise: an element whose step
cannot be taken stays where it is, and its own loop raises, at its turn.

References
----------
R. Karrenberg, S. Hack, "Whole-function vectorization", CGO 2011 (control flow as masks).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, For, Graph, If, Node, Value, While
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import chosen, ranged, repeated
from srcgraph.ir.types import BOOL, INT
from srcgraph.ir.view import element
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.chains import CHECKS, FEW, Chain, Inner, chains_in
from srcgraph.opt.dce import dce
from srcgraph.opt.licm import is_costly
from srcgraph.opt.striped import Bounds, Strip, Striped
from srcgraph.opt.tables import needed

LANES = 64
"""So many elements are taken together, as long as more than `FEW` of them go on."""
PATIENCE = 65536
"""Where something else may raise, so many steps are taken together, at most: one may never end, nor be asked for."""


def masked(graph: Graph) -> Graph:
    """Take such loops together, at every depth."""
    opened = open_(graph)
    if not any(isinstance(n, For) and any(chains_in(n)) for n in all_nodes(opened)):
        return graph
    work = _Masked(graph.name)
    made = work.run(opened)
    return dce(made) if work.count else graph


@dataclass(frozen=True, slots=True)
class _Begun:
    """Where the loops of some elements stand: the numbers that each hands on, in arrays.

    ``at`` has the number of its next step for a `for`, and whether it has come to its `break` for a `while`.
    """

    chain: Chain
    strip: Strip
    states: Sequence[Value]
    at: Value | None


class _Masked(Striped):
    """A graph, such loops taken together; ``count`` says how many."""

    def __init__(self, name: str):
        super().__init__(name)
        self.count = 0
        self.begun: dict[Inner, _Begun] = {}
        """The loops that go on from where they stand."""
        self.lane: _Lane | None = None
        """The step that is built."""

    def node(self, node: Node) -> Sequence[Value]:
        if self.lane is not None:
            if isinstance(node, If):
                return self.both(node)
            if isinstance(node, Apply) and node.op.name in CHECKS:
                return self.lane.checked(node)
        return super().node(node)

    def for_(self, node: For) -> Sequence[Value]:
        if node in self.begun:
            return self.resumed_for(node, self.begun[node])
        if not (found := list(chains_in(node))):
            return super().for_(node)
        with self.builder.at(origin=node.origin):
            outs = self.divided(node, LANES, lambda bounds, carry: self.strip(node, found, bounds, carry))
        if outs is None:
            return super().for_(node)
        self.count += 1
        return outs

    def while_(self, node: While) -> Sequence[Value]:
        return self.resumed_while(node, self.begun[node]) if node in self.begun else super().while_(node)

    def strip(
        self, loop: For, found: Sequence[Chain], bounds: Bounds, carry: Sequence[Value]
    ) -> Sequence[Value] | None:
        """The steps of a loop between bounds, before them those of the loops in it, as far as they go together."""
        strip = Strip.of(loop, bounds, LANES)
        self.stands = True
        begun = {chain.inner: _Together(self, chain, strip).begun() for chain in found}
        if not self.stands:
            return None
        self.begun.update(begun)
        outs = self.for_over(loop, bounds, list(carry))
        for inner in begun:
            del self.begun[inner]
        return outs

    # -- and on ---------------------------------------------------------------------------------

    def resumed_while(self, node: While, begun: _Begun) -> Sequence[Value]:
        """A `while` that goes on from where it stands."""
        at = begun.strip.place(self.value(begun.strip.index))
        inits = self.states(begun, at)
        if begun.at is None:
            return self.while_over(node, inits)
        done = OPS["getitem"](begun.at, at, view=element(1))
        return chosen(done, lambda: inits, lambda: self.while_over(node, inits))

    def resumed_for(self, node: For, begun: _Begun) -> Sequence[Value]:
        """A `for` that goes on from where it stands; what its steps do not read is what it was if it took none."""
        at, chain = begun.strip.place(self.value(begun.strip.index)), begun.chain
        assert begun.at is not None
        first = self.builder.cast(OPS["getitem"](begun.at, at, view=element(1)), INT, weak=True)
        inits = self.states(begun, at)
        if any(chain.left):
            began = OPS["not_equal"](first, self.value(node.start))
            for k, param in enumerate(chain.params):
                if chain.left[k]:
                    inits[k] = self.chosen(began, inits[k], self.value(node.carry[k]), param)
        return self.for_over(node, (first, self.value(node.stop), self.value(node.step)), inits)

    def states(self, begun: _Begun, at: Value) -> list[Value]:
        """The numbers that a loop hands on, as an element's steps have left them."""
        chain = begun.chain
        arrays = dict(zip(chain.kept, begun.states, strict=True))
        literals = {v: n for n in chain.inner.body.nodes if isinstance(n, Apply) for v in n.outputs}
        out = []
        for k, (param, result) in enumerate(zip(chain.params, chain.inner.body.results, strict=False)):
            if k in arrays:
                out.append(self.read(arrays[k], at, param))
            else:
                out.append(self.apply(literals[result], ())[0])
        return out

    def holds(self, check: Apply) -> Value:
        """Whether a check of the old graph raises nothing."""
        value = self.value(check.inputs[0])
        return value if check.op.name == "check_that" else OPS["not_equal"](value, value.type.dtype.type(0))


class _Together:
    """Builds the steps of a loop that all elements of a strip have."""

    def __init__(self, work: _Masked, chain: Chain, strip: Strip):
        self.work, self.builder, self.chain, self.strip = work, work.builder, chain, strip
        self.own: list[Value] = []
        """The arrays of what each element has of its own."""
        self.fine: Value | None = None
        """The array of whether its steps can be taken."""

    def begun(self) -> _Begun:
        """Take the steps; returns where the loops are then."""
        with self.builder.at(origin=self.chain.inner.origin):
            return self._begun()

    def _begun(self) -> _Begun:
        work, chain, inner = self.work, self.chain, self.chain.inner
        bounds = (inner.start, inner.stop, inner.step) if isinstance(inner, For) else ()
        work.nodes_early(needed((*bounds, *chain.same), chain.known))
        arrays = self.filled()
        many = len(chain.kept)
        if isinstance(inner, While):
            arrays = self.through_while(arrays)
        else:
            arrays = self.through_for(inner, arrays)
        for value, array in zip(chain.own, self.own, strict=True):
            if any(map(is_costly, needed([value], chain.known))):
                work.ahead[value] = array, self.strip
        return _Begun(chain, self.strip, arrays[:many], arrays[many] if len(arrays) > many else None)

    def filled(self) -> Sequence[Value]:
        """Arrays of the numbers that the loops begin with, and of what they read; the first are returned."""
        work, chain, strip = self.work, self.chain, self.strip
        mark, asked = self.mark(), chain.asked
        params = [chain.params[k] for k in chain.kept]
        starts = [None if chain.left[k] else chain.inner.carry[k] for k in chain.kept]
        wanted = [*(v for v in starts if v is not None), *chain.own, *(n.inputs[0] for n in asked)]

        def fill(number: Value, *arrays: Value) -> Sequence[Value]:
            work.bind(strip.index, number)
            work.nodes(needed(wanted, chain.known))
            zeros = [self.builder.const(p.type.dtype.type(0)) for p in params]
            numbers = [z if v is None else work.value(v) for v, z in zip(starts, zeros, strict=True)]
            fine = [functools.reduce(OPS["logical_and"], map(work.holds, asked))] if asked else []
            return work.stored(arrays, [*numbers, *mark, *work.values(chain.own), *fine], strip.place(number))

        kept = [*params, *mark, *chain.own]
        dtypes = [v.type.dtype for v in kept] + [BOOL] * bool(asked)
        names = [*(f"{v.name}s" if v.name else "" for v in params), *["at"] * len(mark)]
        names += [f"{v.name}s" if v.name else "" for v in chain.own] + ["fine"] * bool(asked)
        size = self.builder.const(strip.size)
        arrays = work.over(strip, [OPS["empty"](size, dtype=t) for t in dtypes], fill, names)
        moving = len(params) + len(mark)
        self.own, fine = list(arrays[moving : len(kept)]), arrays[len(kept) :]
        self.fine = fine[0] if fine else None
        return arrays[:moving]

    def mark(self) -> list[Value]:
        """What is kept of each element besides numbers, as it begins: see `_Begun.at`."""
        inner = self.chain.inner
        if isinstance(inner, While):
            return [self.builder.const(False)] if inner.stops else []
        return [self.work.value(inner.start)]

    # -- steps ----------------------------------------------------------------------------------

    def through_while(self, arrays: Sequence[Value]) -> Sequence[Value]:
        """The steps of a `while`, until few elements go on."""
        const, names = self.builder.const, [v.name for v in arrays]
        if any(map(has_order, self.chain.loop.body.nodes)):
            bounds = const(0), const(PATIENCE), const(1)
            return self.if_many(
                lambda: ranged(bounds, arrays, lambda _, *now: self.until_few(now), names, stops=True, index="step"),
                arrays,
            )
        begun, names = (self.size(), *arrays), ["going", *names]
        few = const(FEW)
        return repeated(lambda going, *_: OPS["greater"](going, few), begun, lambda _, *now: self.step(now), names)[1:]

    def through_for(self, inner: For, arrays: Sequence[Value]) -> Sequence[Value]:
        """The steps of a `for` that an element may leave, until few elements go on."""
        start, stop, step = self.work.values((inner.start, inner.stop, inner.step))
        bounds = start, stop, step
        names, index = [v.name for v in arrays], inner.body.params[0].name
        return self.if_many(
            lambda: ranged(bounds, arrays, lambda k, *now: self.until_few(now, k), names, stops=True, index=index),
            arrays,
        )

    def if_many(self, steps: Callable[[], Sequence[Value]], before: Sequence[Value]) -> Sequence[Value]:
        """What steps leave if there are more than a few elements, else what was there before."""
        many = OPS["greater"](self.size(), self.builder.const(FEW))
        return chosen(many, steps, lambda: before, [v.name for v in before])

    def size(self) -> Value:
        """How many elements there are."""
        _, end, _ = self.strip.bounds
        return self.strip.place(end)

    def until_few(self, arrays: Sequence[Value], k: Value | None = None) -> Sequence[Value]:
        """A step of all elements, and whether few have taken it."""
        going, *after = self.step(arrays, k)
        return (*after, OPS["less_equal"](going, self.builder.const(FEW)))

    def step(self, arrays: Sequence[Value], k: Value | None = None) -> Sequence[Value]:
        """A step of all elements: how many have taken it, and the arrays after it."""

        def body(number: Value, going: Value, *now: Value) -> Sequence[Value]:
            took, after = _Lane(self, number, now, k).taken()
            more = chosen(took, lambda: [OPS["add"](going, self.builder.const(1))], lambda: [going], ["going"])
            return (*more, *after)

        names = ["going", *(v.name for v in arrays)]
        return self.work.over(self.strip, (self.builder.const(0), *arrays), body, names)


class _Lane:
    """Builds a step of one element.

    Parameters
    ----------
    together : _Together
        The loop.
    number : Value
        Which element.
    arrays : sequence of Value
        The numbers that the loop hands on, and the element's mark: see `_Begun.at`.
    k : Value or None
        The number of the step of a `for`.
    """

    def __init__(self, together: _Together, number: Value, arrays: Sequence[Value], k: Value | None):
        self.together, self.work, self.chain, self.k = together, together.work, together.chain, k
        self.arrays, self.number, self.at = arrays, number, together.strip.place(number)
        self.checks: list[Value] = []
        """What must hold for the step to be taken."""

    def taken(self) -> tuple[Value, Sequence[Value]]:
        """Whether the step is taken, and the arrays after it."""
        work, inner, kept = self.work, self.chain.inner, self.chain.kept
        self.bind_known()
        params = [self.chain.params[k] for k in kept]
        old = [work.state(a, self.at, p, p.name) for a, p in zip(self.arrays, params, strict=False)]
        mark = [OPS["getitem"](a, self.at, view=element(1)) for a in self.arrays[len(params) :]]
        if self.k is not None:
            work.bind(inner.body.params[0], self.k)
        work.lane, work.there = self, self.chain.there
        self.ask(inner, old, mark)
        self.bind_all(params, old)
        work.moving(inner.body)
        work.lane = None
        took, results = self.all_hold(), [work.value(r) for r in inner.body.results]
        numbers = [work.chosen(took, results[k], o, p) for k, o, p in zip(kept, old, params, strict=True)]
        numbers += [OPS["where"](took, self.next_mark(inner, results), m) for m in mark]
        return took, work.stored(self.arrays, numbers, self.at)

    def all_hold(self) -> Value:
        """Whether all holds that must."""
        build, checks = self.work.builder, self.checks
        if not checks:
            return build.const(True)
        *others, last = checks
        return functools.reduce(lambda x, y: build.apply(OPS["logical_and"], (y, x), {}, name="goes"), others, last)

    def bind_known(self) -> None:
        """What is there before the steps."""
        work, together = self.work, self.together
        work.bind(together.strip.index, self.number)
        work.nodes(self.chain.again)
        for value, array in zip(self.chain.own, together.own, strict=True):
            work.bind(value, work.read(array, self.at, value))

    def ask(self, inner: Inner, old: Sequence[Value], mark: Sequence[Value]) -> None:
        """What must hold for the element's loop to go on."""
        if isinstance(inner, For):
            self.checks += [OPS["equal"](m, self.k) for m in mark]
        else:
            self.bind_all(inner.cond.params, old)  # a `while` keeps all
            self.work.moving(inner.cond)
            self.checks += [OPS["logical_not"](m) for m in mark]
            self.checks.append(self.work.value(inner.cond.results[0]))
        if self.together.fine is not None:
            self.checks.append(OPS["getitem"](self.together.fine, self.at, view=element(1)))

    def next_mark(self, inner: Inner, results: Sequence[Value]) -> Value:
        """The mark of the element after the step: see `_Begun.at`."""
        if isinstance(inner, While):
            return results[-1]
        after = OPS["add"](self.k, self.work.value(inner.step))
        return OPS["where"](results[-1], self.work.value(inner.stop), after) if inner.stops else after

    def bind_all(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        for param, value in zip(old, new, strict=True):
            self.work.bind(param, value)

    def checked(self, node: Apply) -> Sequence[Value]:
        """What is checked in a step holds if the step is taken."""
        if node not in self.chain.asked:
            self.checks.append(self.work.holds(node))
        return (self.work.builder.const(True) if node.op.name == "check_that" else self.work.value(node.inputs[0]),)
