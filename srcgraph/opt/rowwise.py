"""Loops that go down a column of arrays in each step, as loops that go along their rows.

``for t in range(m): s = s * exp(z[:, t]); out[:, t] = s`` comes to an element of each row before it comes to the next
one of any, which lies beside it; so does ``np.cumsum(x, axis=1)``. No row waits for another: each can have all its
steps before the next one has its first. What is computed of an element, and in which order, stays what it was.

This comes before derivatives are taken, so that what these keep of the steps is one row's.

References
----------
K. S. McKinley, S. Carr, C.-W. Tseng, "Improving data locality with loop transformations", ACM Transactions on
Programming Languages and Systems 18(4), 1996, 424-453.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim, substitute
from srcgraph.ir.graph import Apply, For, Graph, Value, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import counted, ranged
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import View, element, split_operands
from srcgraph.ir.walk import all_nodes, has_order
from srcgraph.opt.chains import SLOW, cycles
from srcgraph.opt.dce import dce
from srcgraph.opt.licm import is_costly
from srcgraph.opt.modes import current_target
from srcgraph.opt.moving import Moving
from srcgraph.opt.ordered import in_fortran_order
from srcgraph.opt.simplify import simplify

FEW = 16
"""A column of so few rows is in the first cache."""
_STORES = ("setitem", "add_at")


def rowwise(graph: Graph) -> Graph:
    """Change such loops, at every depth."""
    if current_target().cuda or not any(isinstance(n, For) for n in all_nodes(graph)):
        return graph  # a GPU computes all rows at once
    opened = open_(graph)
    used = {v for n in all_nodes(opened) for v in node_inputs(n)} | {*opened.results}
    used |= {v for n in all_nodes(opened) if isinstance(n, For) for v in n.body.results}
    turned = in_fortran_order(opened, current_target().turned)
    found = {n: c for n in all_nodes(opened) if isinstance(n, For) and (c := Columns(n, turned, used)).fits()}
    return dce(simplify(_Rowwise(graph.name, found).run(opened))) if found else graph


# -- which -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Which elements of an array are those of the rows, one of each.

    Attributes
    ----------
    axes : tuple of int
        Along which they lie.
    starts : tuple of int
        Where they begin on these.
    """

    axes: tuple[int, ...]
    starts: tuple[int, ...]


class Columns:
    """What the steps of a loop do with columns of arrays.

    Attributes
    ----------
    shape : tuple of Dim
        How many rows there are.
    own : set of Value
        Arrays of that shape, of which a row has an element.
    arrays : dict
        Those that are stored into, as they are and changed: what each is in the beginning of a step.
    places : dict
        Where these are stored into, and read.
    """

    def __init__(self, loop: For, turned: Container[Value], used: Container[Value]):
        self.loop, self.turned, self.used = loop, turned, used
        self.index, *self.params = loop.body.params
        self.shape: tuple[Dim, ...] | None = None
        self.own: set[Value] = set()
        self.same: set[Value] = {self.index}
        self.arrays: dict[Value, Value] = {}
        self.places: dict[Value, Place] = {}
        self.far = self.near = 0

    def fits(self) -> bool:
        """Whether no row waits for another, and most of what is read and stored lies beside that of the next step."""
        loop = self.loop
        if loop.stops or loop.lanes or has_order(loop) or not self.begins():
            return False
        if self.shape is None or not all(isinstance(n, Apply) and self.takes(n) for n in loop.body.nodes):
            return False
        return self.ends() and self.far > 0 and not self.near and not (self.are_few() and self.is_slow())

    def are_few(self) -> bool:
        assert self.shape is not None
        sizes = [d.const for d in self.shape]
        return None not in sizes and math.prod(sizes) <= FEW  # type: ignore[arg-type]

    def is_slow(self) -> bool:
        """Whether a step of one row waits long for the one before, so that few rows are quicker together."""
        waits = dict.fromkeys(self.params, 0)
        for node in self.loop.body.nodes:
            found = [waits[v] for v in node_inputs(node) if v in waits]
            if found:
                moved = isinstance(node, Apply) and node.op.name in ("getitem", *_STORES)
                waits.update(dict.fromkeys(node.outputs, max(found) + (0 if moved else cycles(node))))
        return any(waits.get(r, 0) >= SLOW for r in self.loop.body.results)

    def begins(self) -> bool:
        """Look for the shape of the rows, and tell what is handed on."""
        shapes = [n.outputs[0].type.shape for n in self.loop.body.nodes if isinstance(n, Apply) and _is_column(n)]
        shapes += [n.inputs[1].type.shape for n in self.loop.body.nodes if isinstance(n, Apply) and _stores_column(n)]
        self.shape = shapes[0] if shapes else None
        for param, out in zip(self.params, self.loop.outputs, strict=False):
            if isinstance(param.type, ScalarType):
                self.same.add(param)
                if out in self.used:
                    return False
            elif not isinstance(param.type, ArrayType):
                return False
            elif param.type.shape == self.shape:
                self.own.add(param)
            else:
                self.arrays[param] = param
        return True

    def takes(self, node: Apply) -> bool:
        """Whether a node does the same with each row, or with what all have."""
        match node.op.name:
            case "getitem":
                return self.reads(node)
            case "setitem" | "add_at":
                return self.stores(node)
            case "full":
                return node.outputs[0].type.shape == self.shape and self.becomes_own(node)
            case "copy" if node.inputs[0] in self.own:
                return self.becomes_own(node)
        if node.op.name == "const" and isinstance(node.outputs[0].type, ArrayType):
            return False
        if node.op.name != "const" and (node.op.kind != "elementwise" or not all(map(self.is_known, node.inputs))):
            return False
        out = node.outputs[0]
        if isinstance(out.type, ScalarType):
            self.same.add(out)
            return not is_costly(node)
        return out.type.shape == self.shape and not _may_wrap(node) and self.becomes_own(node)

    def becomes_own(self, node: Apply) -> bool:
        self.own.add(node.outputs[0])
        return True

    def is_known(self, value: Value) -> bool:
        """Whether a value is a number, or has an element for each row."""
        if value in self.arrays:
            return False
        return isinstance(value.type, ScalarType) or (isinstance(value.type, ArrayType) and self.is_of_rows(value))

    def is_of_rows(self, value: Value) -> bool:
        return value.type.shape == self.shape

    def reads(self, node: Apply) -> bool:
        array, *operands = node.inputs
        view = node.attrs["view"]
        if array in self.own:
            return False
        if not view.kept and array not in self.arrays:
            self.same.add(node.outputs[0])
            return isinstance(node.outputs[0].type, ScalarType)
        place = self.place(array, view, operands, node.outputs[0])
        return place is not None and self.is_own_place(array, place) and self.becomes_own(node)

    def stores(self, node: Apply) -> bool:
        array, value, *operands = node.inputs
        view = node.attrs["view"]
        if array in self.own:
            whole = all(a == ":" for a in view.axes) and view.order == tuple(range(array.type.ndim))
            return whole and self.is_known(value) and self.becomes_own(node)
        if array not in self.arrays or not self.is_known(value):
            return False
        place = self.place(array, view, operands, value)
        if place is None or not self.is_own_place(array, place):
            return False
        self.arrays[node.outputs[0]] = self.arrays[array]
        return True

    def place(self, array: Value, view: View, operands: Sequence[Value], part: Value) -> Place | None:
        """Where the rows are in a part of an array; None if it is no column."""
        assert self.shape is not None
        axes = view.kept
        if len(axes) != len(self.shape) or view.order != tuple(range(len(axes))):
            return None
        if isinstance(part.type, ArrayType) and part.type.shape not in (self.shape, ()):
            return None
        own = split_operands(view, operands)
        starts = [0 if view.axes[k] == ":" else _start(view.axes[k], own[k]) for k in axes]
        sizes = [array.type.shape[k] if view.axes[k] == ":" else own[k][1].type.value for k in axes]
        if None in starts or tuple(sizes) != self.shape:
            return None
        at = 0 if array in self.turned else array.type.ndim - 1
        if array.type.ndim > len(axes):
            self.near += at in axes
            self.far += at not in axes
        return Place(axes, tuple(starts))  # type: ignore[arg-type]

    def is_own_place(self, array: Value, place: Place) -> bool:
        """Whether a row of an array that is stored into is always the same row of it."""
        return array not in self.arrays or self.places.setdefault(self.arrays[array], place) == place

    def ends(self) -> bool:
        """Whether each trip hands on what it got, changed."""
        for param, result in zip(self.params, self.loop.body.results, strict=False):
            if param in self.arrays and self.arrays.get(result) is not param:
                return False
            if param in self.own and not (result in self.own or (self.is_known(result) and self.is_of_rows(result))):
                return False
        return True


def _may_wrap(node: Apply) -> bool:
    """Whether a node computes integers of 64 bits: those of arrays wrap, and numbers would be Python's."""
    dtype = node.outputs[0].type.dtype
    return dtype.kind in "iu" and dtype.itemsize == 8 and node.op.name not in ("cast", "where", "maximum", "minimum")


def _start(selector: object, operands: tuple[Value, ...]) -> int | None:
    """Where a slice of step 1 begins, if that is known."""
    if selector != 1 or operands[0].type.value is None:
        return None
    return operands[0].type.value.const


def _is_column(node: Apply) -> bool:
    return node.op.name == "getitem" and 0 < len(node.attrs["view"].kept) < node.inputs[0].type.ndim


def _stores_column(node: Apply) -> bool:
    if node.op.name not in _STORES or not isinstance(node.inputs[1].type, ArrayType):
        return False
    return 0 < node.inputs[1].type.ndim == len(node.attrs["view"].kept) < node.inputs[0].type.ndim


# -- what becomes of them ----------------------------------------------------------------------------------


class _Rowwise(Moving):
    """A graph, such loops changed."""

    def __init__(self, name: str, found: dict[For, Columns]):
        super().__init__(name)
        self.found = found

    def for_(self, node: For) -> Sequence[Value]:
        columns = self.found.get(node)
        if columns is None or not all(d.symbols() <= self.symbols.keys() for d in columns.shape or ()):
            return super().for_(node)
        with self.builder.at(origin=node.origin):
            return _Rows(self, columns).outputs()


class _Rows:
    """Builds the loop over rows."""

    def __init__(self, work: _Rowwise, columns: Columns):
        self.work, self.columns, self.loop = work, columns, columns.loop
        self.builder = work.builder
        assert columns.shape is not None
        self.sizes = [self.builder.dim_value(substitute(d, work.symbols)) for d in columns.shape]
        self.at: list[Value] = []
        """The row."""
        self.ours: dict[Value, Value] = {}
        """What it has, and the arrays that are stored into, by values of the old loop."""
        handed = enumerate(zip(columns.params, self.loop.outputs, strict=False))
        self.kept = [k for k, (p, out) in handed if p in columns.arrays or (p in columns.own and out in columns.used)]
        """What the loop over rows hands on."""

    def outputs(self) -> Sequence[Value]:
        work, loop = self.work, self.loop
        inits = []
        for k in self.kept:
            init = work.value(loop.carry[k])
            if self.columns.params[k] in self.columns.own:
                attrs = {"dtype": loop.outputs[k].type.dtype}
                sizes = tuple(map(self.builder.dim_value, init.type.shape))
                init = self.builder.apply(OPS["empty"], sizes, attrs, name=loop.outputs[k].name)
            inits.append(init)
        made = dict(zip(self.kept, self.along(self.sizes, inits), strict=True))
        return [made.get(k, work.value(init)) for k, init in enumerate(loop.carry)]

    def along(self, sizes: Sequence[Value], now: Sequence[Value]) -> Sequence[Value]:
        """The loops over rows, one for each axis."""
        names = [v.name for v in now]
        if len(self.at) == len(sizes):
            return self.row(now)

        def body(i: Value, *arrays: Value) -> Sequence[Value]:
            self.at.append(i)
            out = self.along(sizes, arrays)
            self.at.pop()
            return out

        return counted(sizes[len(self.at)], now, body, names=names)

    def row(self, now: Sequence[Value]) -> Sequence[Value]:
        """All steps of a row."""
        work, loop, columns = self.work, self.loop, self.columns
        arrays = dict(zip(self.kept, now, strict=True))
        inits = [
            self.element(work.value(init)) if param in columns.own else arrays.get(k, work.value(init))
            for k, (param, init) in enumerate(zip(columns.params, loop.carry, strict=False))
        ]
        bounds = work.value(loop.start), work.value(loop.stop), work.value(loop.step)
        with work.aside():
            names = [p.name for p in columns.params]
            outs = ranged(bounds, inits, self.step, names, index=columns.index.name)
        done = []
        for k, array in arrays.items():
            stored = columns.params[k] in columns.own
            done.append(self.stored(array, outs[k]) if stored else outs[k])
        return done

    def step(self, index: Value, *now: Value) -> Sequence[Value]:
        work = self.work
        work.bind(self.columns.index, index)
        self.ours = dict(zip(self.columns.params, now, strict=True))
        for node in self.loop.body.nodes:
            assert isinstance(node, Apply)
            with self.builder.at(origin=node.origin):
                self.ours[node.outputs[0]] = self.node(node)
        return [self.number(r) for r in self.loop.body.results]

    def number(self, value: Value) -> Value:
        """What a row has of a value: its own element, also of an array that is there before the loop."""
        if value in self.ours:
            return self.ours[value]
        found = self.work.value(value)
        of_rows = isinstance(value.type, ArrayType) and self.columns.is_of_rows(value)
        return self.element(found) if of_rows else found

    def array(self, value: Value) -> Value:
        """An array of which elements are used."""
        return self.ours[value] if value in self.ours else self.work.value(value)

    def node(self, node: Apply) -> Value:
        """What a node does with one row."""
        out = node.outputs[0]
        if node.op.name in ("getitem", *_STORES):
            inputs = [self.array(node.inputs[0]), *map(self.number, node.inputs[1:])]
        else:
            inputs = [*map(self.number, node.inputs)]
        match node.op.name:
            case "getitem" if out in self.columns.own:
                places = self.places(node, inputs[1:])
                return self.builder.apply(node.op, (inputs[0], *places), self.one(inputs[0]), out.name)
            case "setitem" | "add_at":
                return self.store(node, inputs)
            case "full":
                return self.builder.cast(inputs[0], out.type.dtype, False)
            case "copy":
                return inputs[0]
        return self.work.apply(node, tuple(inputs))[0]

    def store(self, node: Apply, inputs: Sequence[Value]) -> Value:
        array, value, *operands = inputs
        value = self.builder.cast(value, node.inputs[0].type.dtype, False)
        if node.inputs[0] in self.columns.own:
            return OPS["add"](array, value) if node.op.name == "add_at" else value
        places = self.places(node, operands)
        return self.builder.apply(node.op, (array, value, *places), self.one(array), array.name)

    @staticmethod
    def one(array: Value) -> dict[str, View]:
        return {"view": element(array.type.ndim)}

    def places(self, node: Apply, operands: Sequence[Value]) -> list[Value]:
        """Where the row's element of a column is."""
        view = node.attrs["view"]
        rows, found = iter(self.at), []
        for selector, own in zip(view.axes, split_operands(view, operands), strict=True):
            if selector == "i":
                found.append(own[0])
            else:
                found.append(next(rows) if selector == ":" else OPS["add"](next(rows), own[0]))
        return found

    def element(self, array: Value) -> Value:
        return OPS["getitem"](array, *self.at, view=element(array.type.ndim))

    def stored(self, array: Value, number: Value) -> Value:
        number = self.builder.cast(number, array.type.dtype, False)
        return OPS["setitem"](array, number, *self.at, view=element(array.type.ndim))
