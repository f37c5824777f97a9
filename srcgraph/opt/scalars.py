"""Small arrays whose elements are read and stored at known places become numbers.

``p = np.array([x, y])``, ``p[0] * p[1]`` needs no memory: nor do a loop that carries ``p``, arithmetic of such arrays,
their sums and products, and what is cut from them. An array of which anything else is asked, an element known only when
running, or the array itself, stays one, and what is computed from numbers is then put into it.

References
----------
D. Callahan, S. Carr, K. Kennedy, "Improving register allocation for subscripted variables", PLDI 1990: scalar
replacement.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from srcgraph.ir.closure import open_
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While
from srcgraph.ir.op import OPS, Op, building
from srcgraph.ir.ops.index import selected_type
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.rebuild import Extra, Rebuild
from srcgraph.ir.types import ArrayType, ScalarType, Type
from srcgraph.ir.view import View, element, split_operands, step_of
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.dce import dce

LIMIT = 16
"""How many elements an array has at most."""
BUDGET = 400
"""How many elements are computed in one graph at most: beyond that the code would be long."""
FED = 9
"""How many elements an array has at most that is not stored into by element, and read so only."""
PRODUCTS = 64
"""Of how many products of numbers a product of matrices is made at most."""
MOVERS = ("getitem", "reshape", "reshape_view", "broadcast_to", "copy")
"""Ops whose elements are elements of their first operand."""


def scalars(graph: Graph) -> Graph:
    """Numbers in place of small arrays."""
    if not any(is_small(v) for n in all_nodes(graph) for v in n.outputs):
        return graph
    opened = open_(graph)
    chosen = Groups(opened).chosen()
    return dce(_Scalars(graph.name, chosen).run(opened)) if chosen is not None else graph


def is_small(value: Value) -> bool:
    """Whether an array has few elements, and is known to."""
    kind = value.type
    if not isinstance(kind, ArrayType) or not kind.ndim or any(d.const is None for d in kind.shape):
        return False
    return 1 <= math.prod(d.const for d in kind.shape if d.const is not None) <= LIMIT


def lengths(value: Value) -> tuple[int, ...]:
    return tuple(d.const for d in value.type.shape)


def literals(values: Sequence[Value]) -> list[int] | None:
    """The integers that values are known to be; None if one is not."""
    found = [None if (known := getattr(v.type, "value", None)) is None else known.const for v in values]
    return None if None in found else found  # type: ignore[return-value]


def numbered(x: Value) -> np.ndarray:
    """The numbers of an array's elements, where they are."""
    return np.arange(math.prod(lengths(x))).reshape(lengths(x))


def moved(node: Apply) -> np.ndarray | None:
    """Which element of the first operand each element of the result is, for a mover whose places are known."""
    return _places_of(node.op, node, node.inputs[1:], node.outputs[0].type) if node.op.name in MOVERS else None


def stored(node: Apply) -> np.ndarray | None:
    """Which elements a node stores into, if that is known."""
    return _places_of(OPS["getitem"], node, node.inputs[2:], _part(node))


def _places_of(op: Op, node: Apply, operands: Sequence[Value], made: Type) -> np.ndarray | None:
    """What a mover makes of the numbers of elements; None too where it would raise, which a check before it does."""
    known = literals(operands)
    if known is None or not is_small(node.inputs[0]):
        return None
    try:
        found = np.asarray(op.numpy(numbered(node.inputs[0]), *known, **node.attrs))
    except (IndexError, ValueError):
        return None
    shape = made.shape if isinstance(made, ArrayType) else ()
    return found if found.shape == tuple(d.const for d in shape) else None


def _part(node: Apply) -> Type:
    """The type of the part of an array that a node stores into."""
    target, _, *operands = (v.type for v in node.inputs)
    return selected_type(target, node.attrs["view"], tuple(operands))


def multiplied(node: Apply) -> list[list[tuple[int, int]]] | None:
    """For each element of a product of small arrays, the elements that are multiplied and added up."""
    if node.op.name != "matmul" or not all(map(is_small, node.inputs)) or node.outputs[0].type.dtype.kind == "b":
        return None
    x, y = node.inputs
    rows, columns = np.atleast_2d(numbered(x)), numbered(y).reshape(lengths(y)[0], -1).T
    if rows.shape[1] != columns.shape[1] or len(rows) * columns.size > PRODUCTS:
        return None
    return [list(zip(row.tolist(), column.tolist(), strict=True)) for row in rows for column in columns]


class Groups:
    """Small arrays that are one array for whoever stores into it, or carries it: they become numbers together.

    Attributes
    ----------
    bad : set of Value
        Of which something else is asked than their elements, before they are ``returned``.
    chosen_anew : set of Value
        What loops hand on of which a trip makes another one, or chooses one.
    stores, flows : list of Apply
        What stores at known places, and what computes elements from elements of the same or known places.
    """

    def __init__(self, graph: Graph):
        self.leader: dict[Value, Value] = {}
        self.given = frozenset(graph.params)
        self.bad: set[Value] = {*graph.params}
        self.returned = graph.results
        self.chosen_anew: set[Value] = set()
        self.stores: list[Apply] = []
        self.flows: list[Apply] = []
        for node in all_nodes(graph):
            self.enter(node)

    def find(self, value: Value) -> Value:
        while (above := self.leader.get(value, value)) is not value:
            value = above
        return value

    def join(self, *values: Value) -> None:
        self.bad.update(v for v in values if not is_small(v))
        first, *others = map(self.find, values)
        self.leader.update((v, first) for v in others if v is not first)

    def enter(self, node: Node) -> None:
        match node:
            case Apply():
                self.apply(node)
            case If():
                for values in zip(node.outputs, node.then.results, node.orelse.results, strict=True):
                    self.join(*values)
            case For() | While():
                self.loop(node)
            case Call():
                self.bad.update((*node.inputs, *node.outputs))
            case Define():
                self.bad.update((*node.graph.params, *node.graph.results))

    def loop(self, node: For | While) -> None:
        count, shift = len(node.carry), int(isinstance(node, For))
        params = node.body.params[shift : count + shift]
        for init, *values in zip(node.carry, params, node.body.results[:count], node.outputs, strict=True):
            self.join(*values, *(() if init in self.given else (init,)))
        if isinstance(node, While):
            for one, other in zip(params, node.cond.params[:count], strict=True):
                self.join(one, other)
        elif node.lanes:
            self.bad.update(node.carry)
        made = {v: n for n in node.body.nodes for v in n.outputs}
        for param, result in zip(params, node.body.results, strict=False):
            maker = made.get(result)
            anew = isinstance(maker, If) or (isinstance(maker, Apply) and maker.op.name == "matmul")
            if is_small(param) and math.prod(lengths(param)) <= FED and (anew or _is_state(param, maker, node.body)):
                self.chosen_anew.add(param)

    def apply(self, node: Apply) -> None:
        out = node.outputs[0]
        if node.op.kind == "update":
            self.store(node)
        elif len(node.outputs) == 1 and _is_flow(node) and (is_small(out) or isinstance(out.type, ScalarType)):
            self.flows.append(node)
        elif node.op.name not in ("empty", "full", "dim"):
            self.bad.update((*node.inputs, *node.outputs))

    def store(self, node: Apply) -> None:
        self.join(node.inputs[0], node.outputs[0])
        if node.op.name not in ("setitem", "add_at"):
            self.bad.update((*node.inputs, *node.outputs))
        elif stored(node) is None:
            self.bad.add(node.outputs[0])
        else:
            self.stores.append(node)
        if _filled(node) is None:
            self.bad.add(node.inputs[1])

    def chosen(self) -> Chosen | None:
        """Which arrays become numbers: those stored into by element, and what is computed from them; None if none."""
        bad = {self.find(v) for v in self.bad}
        taken: set[Value] = set()
        returned = Counter(map(self.find, self.returned))
        anew = {v for v in map(self.find, self.chosen_anew) if returned[v] < 2} - bad
        bad |= returned.keys() - anew
        more = self.by_element(bad) | anew
        while more:
            taken |= more
            reached = (n.outputs[0] for n in self.flows if any(self.find(v) in taken for v in n.inputs))
            more = {self.find(v) for v in reached if is_small(v)} - bad - taken
            more = more or self.feeding(taken) - bad
        made = [n.outputs[0] for n in (*self.stores, *self.flows) if self.find(n.outputs[0]) in taken]
        fits = sum(math.prod(lengths(v)) for v in made) <= BUDGET
        return (lambda value: self.find(value) in taken) if taken and fits else None

    def by_element(self, bad: set[Value]) -> set[Value]:
        """Arrays that are stored into, but for those of which all elements are stored at once, and arrays made."""
        found = {self.find(n.outputs[0]) for n in self.stores} - bad
        parts = {self.find(n.outputs[0]) for n in self.stores if not _is_all(n)}
        numbers = {self.find(v) for n in self.flows if isinstance(n.outputs[0].type, ScalarType) for v in n.inputs}
        while True:
            reached = {self.find(v) for n in self.flows if self.find(n.outputs[0]) in numbers - bad for v in n.inputs}
            if reached <= numbers:
                return found & (parts | numbers)
            numbers |= reached

    def feeding(self, taken: set[Value]) -> set[Value]:
        """Computed arrays of which only numbers and arrays taken are made, at known places or element by element."""
        made = {self.find(v) for n in self.flows if is_small(v := n.outputs[0]) and math.prod(lengths(v)) <= FED}
        ends, others = set[Value](), set[Value]()
        for node in self.flows:
            out, read = node.outputs[0], {self.find(v) for v in node.inputs}
            if isinstance(out.type, ArrayType):
                (ends if self.find(out) in taken else others).update(read)
            elif node.op.name in MOVERS:
                ends.update(read)
        return made & ends - others - taken


Chosen: TypeAlias = Callable[[Value], bool]


def _is_state(param: Value, maker: Node | None, body: Graph) -> bool:
    """Whether all elements of what a trip hands on are computed, of single elements of what it got."""
    if not isinstance(maker, Apply):
        return False
    if maker.op.kind != "elementwise" and not (maker.op.name in ("setitem", "add_at") and _is_all(maker)):
        return False
    reads = (n for n in all_nodes(body) if isinstance(n, Apply) and n.op.name == "getitem" and n.inputs[0] is param)
    return any(isinstance(n.outputs[0].type, ScalarType) for n in reads)


def _is_all(node: Apply) -> bool:
    """Whether a store at known places is one into all of an array."""
    places = stored(node)
    return places is not None and places.size == math.prod(lengths(node.outputs[0]))


def _filled(node: Apply) -> tuple[int, ...] | None:
    """The lengths of the part that a node stores into, if they are those of the value or known, and few elements."""
    value, part = node.inputs[1], _part(node)
    if not isinstance(part, ArrayType):
        return ()
    if is_small(value) and part.shape == value.type.shape:
        return lengths(value)
    known = [d.const for d in part.shape if d.const is not None]
    return tuple(known) if len(known) == part.ndim and math.prod(known) <= LIMIT else None


def _is_flow(node: Apply) -> bool:
    if node.op.kind == "elementwise":
        return True
    if node.op.reduction is not None:
        return is_small(node.inputs[0])
    return moved(node) is not None or multiplied(node) is not None


class _Scalars(Rebuild):
    """Builds a graph with numbers in place of the arrays that are chosen, for which unread ones stand.

    Attributes
    ----------
    elements : dict
        The elements of the arrays that are chosen, in C order.
    """

    def __init__(self, name: str, chosen: Chosen):
        super().__init__(name)
        self.chosen = chosen
        self.elements: dict[Value, tuple[Value, ...]] = {}

    def run(self, graph: Graph) -> Graph:
        with building(self.builder):
            self.params(graph.params)
            self.nodes(graph.nodes)
            origins = {v: n.origin for n in graph.nodes for v in n.outputs}
            for result in filter(self.chosen, dict.fromkeys(graph.results)):
                with self.builder.at(origin=origins[result]):
                    self.env[result] = self.array(result, self.elements[result])
            return self.builder.finish(self.values(graph.results))

    # -- straight code ----------------------------------------------------------------------------

    def node(self, node: Node) -> Sequence[Value]:
        if not isinstance(node, Apply):
            return super().node(node)
        out = node.outputs[0]
        if node.op.kind == "update" and (self.chosen(out) or self.chosen(node.inputs[1])):
            return self.store(node) if self.chosen(out) else self.spread(node)
        if not self.chosen(out) and not any(map(self.chosen, node.inputs)):
            return super().node(node)
        if node.op.name == "dim":
            return (self.builder.const(lengths(node.inputs[0])[node.attrs["axis"]]),)
        made = self.computed(node)
        if isinstance(out.type, ScalarType):
            return made
        if not self.chosen(out):
            return (self.array(out, made),)
        return self.keep(out, made)

    def keep(self, out: Value, made: Sequence[Value]) -> Sequence[Value]:
        names = _names(out)
        for value, name in zip(made, names, strict=True):
            self.builder.suggest(value, name)
        self.elements[out] = tuple(made)
        return (self.builder.call_named("empty", *lengths(out), dtype=out.type.dtype),)

    def computed(self, node: Apply) -> Sequence[Value]:
        """The elements of what a node computes, in C order."""
        out, b = node.outputs[0], self.builder
        if node.op.name in ("empty", "full"):
            dtype = out.type.dtype
            x = self.value(node.inputs[0]) if node.op.name == "full" else b.const(dtype.type(0))
            return [b.cast(x, dtype)] * math.prod(lengths(out))
        if (places := moved(node)) is not None:
            x = node.inputs[0]
            return [self.element(x, k) for k in places.ravel()]
        if node.op.reduction is not None:
            return [self.folded(node, ks) for ks in _together(node)]
        if (pairs := multiplied(node)) is not None:
            return [self.summed(node, ks) for ks in pairs]
        shape = lengths(out)
        rows = ([self.element(v, k, shape) for v in node.inputs] for k in range(math.prod(shape)))
        return [b.apply(node.op, tuple(row), dict(node.attrs)) for row in rows]

    def element(self, value: Value, number: int, shape: Sequence[int] = ()) -> Value:
        """One element, in C order, of an array as it is stretched to a shape; a number is the same in all of them."""
        if isinstance(value.type, ScalarType):
            return self.value(value)
        own = [d.const for d in value.type.shape]
        at = np.unravel_index(number, tuple(shape or lengths(value)))[-len(own) :]
        at = [0 if n == 1 else int(k) for k, n in zip(at, own, strict=True)]
        if self.chosen(value):
            return self.elements[value][np.ravel_multi_index(at, lengths(value))]
        known = self.counted(value, *at) if len(at) == 1 else None
        return (
            self.builder.call_named("getitem", self.value(value), *at, view=element(len(own)))
            if known is None
            else known
        )

    def counted(self, value: Value, number: int) -> Value | None:
        """An element of an array of numbers that go by known steps."""
        made = self.builder.definition(self.value(value))
        if made is None or made.op.name != "arange":
            return None
        start, step, _ = (literal(self.builder, v) for v in made.inputs)
        if start is None or step is None:
            return None
        return self.builder.const(value.type.dtype.type(start + number * step))

    def folded(self, node: Apply, places: Sequence[int]) -> Value:
        assert node.op.reduction is not None
        combine, x = OPS[node.op.reduction.combine], node.inputs[0]
        return functools.reduce(lambda a, b: self.builder.call(combine, (a, b)), [self.element(x, k) for k in places])

    def summed(self, node: Apply, pairs: Sequence[tuple[int, int]]) -> Value:
        x, y = node.inputs
        products = [OPS["mul"](self.element(x, j), self.element(y, k)) for j, k in pairs]
        return functools.reduce(OPS["add"], products)

    def store(self, node: Apply) -> Sequence[Value]:
        """The elements after a store into a chosen array."""
        places, (target, value) = stored(node), node.inputs[:2]
        assert places is not None
        made = list(self.elements[target])
        for k, place in enumerate(places.ravel()):
            new = self.element(value, k, places.shape)
            made[place] = OPS["add"](made[place], new) if node.op.name == "add_at" else new
        return self.keep(node.outputs[0], made)

    def spread(self, node: Apply) -> Sequence[Value]:
        """The elements of a chosen array are stored into another, one by one."""
        target, operands = self.value(node.inputs[0]), self.values(node.inputs[2:])
        view, shape = node.attrs["view"], _filled(node)
        assert shape is not None
        for k, at in enumerate(np.ndindex(*shape)):
            kept = {axis: j for axis, j in zip(view.order, at, strict=True) if axis is not None}
            places = _places(view, operands, [kept[a] for a in range(len(kept))])
            new = self.element(node.inputs[1], k, shape)
            target = self.builder.call(node.op, (target, new, *places), {"view": element(len(view.axes))})
        return (target,)

    def array(self, like: Value, made: Sequence[Value]) -> Value:
        """An array with these elements."""
        out = self.builder.call_named("empty", *lengths(like), dtype=like.type.dtype)
        view = element(like.type.ndim)
        for at, value in zip(np.ndindex(*lengths(like)), made, strict=True):
            out = self.builder.call_named("setitem", out, value, *at, view=view)
        return out

    # -- branches and loops -----------------------------------------------------------------------

    def if_(self, node: If) -> Sequence[Value]:
        outs = super().if_(node)
        count = len(node.outputs)
        rest = iter(outs[count:])
        for out in filter(self.chosen, node.outputs):
            self.elements[out] = tuple(itertools.islice(rest, math.prod(lengths(out))))
        return outs[:count]

    def branch(
        self, graph: Graph, captures: Sequence[Value], cond: Value, holds: bool
    ) -> tuple[Region, tuple[Value, ...]]:
        region, values = super().branch(graph, captures, cond, holds)
        return region, (*values, *(e for r in graph.results if self.chosen(r) for e in self.elements[r]))

    def branch_names(self, node: If) -> list[str]:
        return [*super().branch_names(node), *(n for o in node.outputs if self.chosen(o) for n in _names(o))]

    def extra(self, node: For | While) -> Extra:
        return _Carried(self, node)


class _Carried(Extra):
    """The elements that a loop carries in place of arrays."""

    def __init__(self, work: _Scalars, loop: For | While):
        super().__init__()
        self.work, self.loop = work, loop
        params = loop.body.params[isinstance(loop, For) :][: len(loop.carry)]
        self.which = [k for k, v in enumerate(params) if work.chosen(v)]
        self.names = [n for k in self.which for n in _names(params[k])]
        sizes = {k: math.prod(lengths(params[k])) for k in self.which}
        self.inits = [work.element(loop.carry[k], j) for k in self.which for j in range(sizes[k])]

    def share(self, arrays: Sequence[Value], elements: Sequence[Value]) -> None:
        rest = iter(elements)
        for k in self.which:
            self.work.elements[arrays[k]] = tuple(itertools.islice(rest, math.prod(lengths(arrays[k]))))

    def enter(self) -> None:
        kinds = [ScalarType(v.type.dtype) for v in self.inits]
        self.params = [self.work.builder.fresh(n, t) for n, t in zip(self.names, kinds, strict=True)]
        self.share(self.loop.body.params[isinstance(self.loop, For) :], self.params)

    def test(self, params: Sequence[Value]) -> None:
        assert isinstance(self.loop, While)
        self.share(self.loop.cond.params, params)

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        self.results = [e for k in self.which for e in self.work.elements[self.loop.body.results[k]]]

    def leave(self, outputs: Sequence[Value]) -> None:
        self.share(self.loop.outputs, outputs)


def _names(array: Value) -> list[str]:
    """Names for the elements of an array."""
    ends = ("_".join(map(str, at)) for at in np.ndindex(*lengths(array)))
    return [f"{array.name}_{end}" if array.name else "" for end in ends]


def _together(node: Apply) -> Iterator[list[int]]:
    """The numbers of the elements that a reduction combines, for each element of its result."""
    numbers, axes = numbered(node.inputs[0]), node.attrs["axes"]
    kept = [k for k in range(numbers.ndim) if k not in axes]
    rows = numbers.transpose([*kept, *axes]).reshape(math.prod(numbers.shape[k] for k in kept), -1)
    return (row.tolist() for row in rows)


def _places(view: View, operands: Sequence[Value], at: Sequence[int]) -> Iterator[Value | int]:
    """The index of one element of a part of an array, given its place along the axes that are kept."""
    rest = iter(at)
    for selector, own in zip(view.axes, split_operands(view, operands), strict=True):
        if selector == "i":
            yield own[0]
        elif selector == ":":
            yield next(rest)
        else:
            yield OPS["add"](own[0], OPS["mul"](step_of(selector, own), next(rest)))
