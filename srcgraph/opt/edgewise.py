"""What loops compute of an array whose middle they have just stored: of the middle, and of the edges apart.

``v[1:-1] = f(v)`` and then ``v = np.maximum(v, p)`` store the middle, and go over all of ``v`` once more. It is
``v[1:-1] = np.maximum(f(v), p[1:-1])``, and the same of the few elements that are left at the edges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from srcgraph.ir.closure import open_
from srcgraph.ir.dims import unclamped
from srcgraph.ir.graph import Apply, For, Graph, Node, Value, While
from srcgraph.ir.op import OPS
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import ArrayType, ScalarType
from srcgraph.ir.view import View, split_operands, whole
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.fuse import reads

MOST = 8
"""So many operations at most are computed of each part."""
MOST_AXES = 2


def edgewise(graph: Graph) -> Graph:
    """Compute such arrays part by part, at every depth."""
    if not any(isinstance(n, For | While) and any(map(_stores_middle, n.body.nodes)) for n in all_nodes(graph)):
        return graph
    opened = open_(graph)
    found = [each for n in all_nodes(opened) if isinstance(n, For | While) for each in _found(n.body)]
    return _Edgewise(graph.name, found).run(opened) if found else graph


@dataclass(frozen=True, slots=True)
class _Computed:
    """What is computed of an array.

    Attributes
    ----------
    stores : tuple of Apply
        That of the middle, and of single places around it.
    steps : tuple of Apply
        The operations, element by element.
    end : Apply
        What gives the whole.
    """

    stores: tuple[Apply, ...]
    steps: tuple[Apply, ...]
    end: Apply

    @property
    def array(self) -> Value:
        return self.stores[-1].outputs[0]


def _stores_middle(node: Node) -> bool:
    """Whether a node stores a part that is without gaps."""
    if not isinstance(node, Apply) or node.op.name != "setitem":
        return False
    view: View = node.attrs["view"]
    ndim = len(view.axes)
    plain = set(view.axes) <= {":", 1} and view.order == tuple(range(ndim))
    return plain and 1 in view.axes and ndim <= MOST_AXES


def _found(body: Graph) -> Iterator[_Computed]:
    readers: dict[Value, list[Node]] = defaultdict(list)
    for node in body.nodes:
        for value in dict.fromkeys(reads(node)):
            readers[value].append(node)
    for node in body.nodes:
        if _stores_middle(node):
            assert isinstance(node, Apply)
            found = _computed(_stores(node, readers, body), readers, body)
            if found is not None:
                yield found


def _stores(node: Apply, readers: Mapping[Value, list[Node]], body: Graph) -> tuple[Apply, ...]:
    """A store of a middle, and those of single places that follow it, while nothing else reads the array."""
    found, out = [node], node.outputs[0]
    while len(readers[out]) == 1 and out not in body.results:
        (after,) = readers[out]
        if not isinstance(after, Apply) or after.op.name != "setitem" or after.inputs[0] is not out:
            break
        if out in after.inputs[1:] or not _is_apart(after, node):
            break
        found.append(after)
        out = after.outputs[0]
    return tuple(found)


def _is_apart(store: Apply, middle: Apply) -> bool:
    """Whether a store into places of single numbers leaves the middle as it is."""
    parts = zip(
        store.attrs["view"].axes,
        split_operands(store.attrs["view"], store.inputs[2:]),
        middle.attrs["view"].axes,
        split_operands(middle.attrs["view"], middle.inputs[2:]),
        strict=True,
    )
    return any(own == "i" and other == 1 and _is_outside(at[0], *run) for own, at, other, run in parts)


def _is_outside(at: Value, start: Value, length: Value) -> bool:
    """Whether a number is not in a range, which may have no numbers at all."""
    kinds = at.type, start.type, length.type
    if not all(isinstance(t, ScalarType) and t.value is not None for t in kinds):
        return False
    place, first, count = (t.value for t in kinds)  # type: ignore[union-attr]
    before, after = first - place, place - first - unclamped(count)
    return bool((before.const is not None and before.const > 0) or (after.const is not None and after.const >= 0))


def _computed(stores: tuple[Apply, ...], readers: Mapping[Value, list[Node]], body: Graph) -> _Computed | None:
    """What alone is computed of an array, element by element, and handed on by the loop."""
    array = stores[-1].outputs[0]
    steps: dict[Apply, None] = {}
    others: list[tuple[Value, Node | None]] = []
    todo = [array]
    for value in todo:
        others += [(value, None)] * (value in body.results)
        for node in readers[value]:
            if isinstance(node, Apply) and node.op.kind == "elementwise" and _is_like(node.outputs[0], array):
                todo += [node.outputs[0]] * (node not in steps)
                steps[node] = None
            else:
                others.append((value, node))
    end = _end(array, others, body) if 0 < len(steps) <= MOST else None
    if end is None:
        return None
    made = {array, *(n.outputs[0] for n in steps)}
    fits = all(v in made or v.type.ndim == 0 or _is_like(v, array) for n in steps for v in n.inputs)
    ordered = tuple(n for n in body.nodes if n in steps)
    return _Computed(stores, ordered, end) if fits and ordered[-1].outputs[0].type == array.type else None


def _is_like(value: Value, array: Value) -> bool:
    return (
        isinstance(value.type, ArrayType) and isinstance(array.type, ArrayType) and value.type.shape == array.type.shape
    )


def _end(array: Value, others: Sequence[tuple[Value, Node | None]], body: Graph) -> Apply | None:
    """What gives the whole: the last operation, or the store of it into the array itself."""
    makers = {v: n for n in body.nodes for v in n.outputs}
    if len(others) == 1 and others[0][1] is None and others[0][0] is not array:
        end = makers[others[0][0]]
        return end if isinstance(end, Apply) else None
    stores = {node for _, node in others}
    store = stores.pop() if len(stores) == 1 else None
    if not isinstance(store, Apply) or store.op.name != "setitem" or store.inputs[0] is not array:
        return None
    everywhere = store.attrs["view"] == whole(array.type.ndim) and store.inputs[1].type == array.type
    return store if everywhere and store.outputs[0] in body.results else None


class _Edgewise(Rebuild):
    """A graph in which such arrays are computed part by part."""

    def __init__(self, name: str, found: Sequence[_Computed]):
        super().__init__(name)
        self.found = {each.end: each for each in found}
        self.gone = {n for each in found for n in (*each.stores, *each.steps) if n is not each.end}

    def nodes(self, nodes: Sequence[Node]) -> None:
        super().nodes([n for n in nodes if n not in self.gone])

    def node(self, node: Node) -> Sequence[Value]:
        found = self.found.get(node) if isinstance(node, Apply) else None
        return super().node(node) if found is None else (self.whole(found),)

    def whole(self, found: _Computed) -> Value:
        """The array, its middle first."""
        middle, *places = found.stores
        base, stored, *at = self.values(middle.inputs)
        view = middle.attrs["view"]
        if stored.type.dtype != base.type.dtype:
            stored = self.builder.cast(stored, base.type.dtype, False)
        out = OPS["setitem"](base, self.computed(found, stored, at, view), *at, view=view)
        for place in places:
            out = OPS["setitem"](out, *self.values(place.inputs[1:]), view=place.attrs["view"])
        for edge, edge_view in self.edges(out, split_operands(view, at)):
            part = OPS["getitem"](out, *edge, view=edge_view)
            out = OPS["setitem"](out, self.computed(found, part, edge, edge_view), *edge, view=edge_view)
        return out

    def edges(self, array: Value, runs: Sequence[tuple[Value, ...]]) -> Iterator[tuple[list[Value], View]]:
        """What is before and after the middle, along one axis after the other."""
        for axis, run in enumerate(runs):
            if not run:
                continue
            size = self.builder.dim_value(array.type.shape[axis])
            end = self.end(*run)
            after = OPS["maximum"](OPS["sub"](size, end), 0)
            for edge in ((self.builder.const(0), OPS["minimum"](run[0], size)), (end, after)):
                ranges = [*runs[:axis], edge, *[()] * (len(runs) - axis - 1)]
                axes = tuple(1 if r else ":" for r in ranges)
                if edge[1].type.value != 0:
                    yield [v for r in ranges for v in r], View(axes, tuple(range(len(axes))))

    def end(self, start: Value, length: Value) -> Value:
        """Where a range ends, which may have no numbers."""
        longest = length.type.value
        if longest is None or longest == unclamped(longest):
            return OPS["add"](start, length)
        return OPS["maximum"](OPS["add"](start, self.builder.dim_value(unclamped(longest))), start)

    def computed(self, found: _Computed, part: Value, at: Sequence[Value], view: View) -> Value:
        """What is computed of a part, and of the same part of other arrays."""
        local = {found.array: part}
        parts: dict[Value, Value] = {}
        for step in found.steps:
            for v in step.inputs:
                if v not in local and v not in parts:
                    given = self.value(v)
                    parts[v] = OPS["getitem"](given, *at, view=view) if v.type.ndim else given
            inputs = tuple(local[v] if v in local else parts[v] for v in step.inputs)
            with self.builder.at(origin=step.origin):
                local[step.outputs[0]] = self.builder.apply(step.op, inputs, dict(step.attrs))
        return local[found.steps[-1].outputs[0]]
