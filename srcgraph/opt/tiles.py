"""Elements of arrays that lie far apart, fetched and stored a tile at a time.

Steps that are taken of many rows at once, see `srcgraph.opt.abreast`, read ``z[i, t]`` of each row: down a column. So a
tile of so many rows by so many columns is fetched along its rows first, in which what a step reads lies side by
side; what steps store goes the same way back.

References
----------
M. S. Lam, E. E. Rothberg, M. E. Wolf, "The cache performance and optimizations of blocked algorithms", ASPLOS 1991:
tiles are copied, so that their elements do not meet in the same lines of the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from srcgraph.ir.graph import Apply, For, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops._loops import ranged
from srcgraph.ir.view import element
from srcgraph.opt.interchanged import place_of
from srcgraph.opt.licm import is_pure
from srcgraph.opt.striped import Bounds, Strip, Striped
from srcgraph.opt.tables import needed, steps_of

COLUMNS = 32
"""So many are in a tile: with 64 rows, 16 KiB."""
Steps = Callable[[Bounds, Sequence[Value]], Sequence[Value]]
"""Takes the steps between bounds, from what is handed on to what is handed on then."""


@dataclass(slots=True)
class Tiles:
    """The tiles of the steps of one loop.

    Attributes
    ----------
    loop : For
        Of the old graph, the steps.
    rows : Strip
        The elements that are taken together.
    far : sequence of Apply
        What reads and stores elements that lie apart.
    known : sequence of Apply
        What is there before a step.
    read : dict
        For what reads: its tile.
    stored : dict
        The arrays that are stored into, as they are and changed: the tiles in their place.
    """

    work: Striped
    loop: For
    rows: Strip
    far: Sequence[Apply]
    known: Sequence[Apply]
    columns: Strip | None = None
    read: dict[Apply, Value] = field(default_factory=dict)
    stored: dict[Value, Value] = field(default_factory=dict)

    @property
    def own(self) -> dict[int, list[Apply]]:
        """What reads and changes arrays that the loop hands on, by their positions among that, in order."""
        states = {p: k for k, p in enumerate(self.loop.body.params[1:])}
        found: dict[int, list[Apply]] = {}
        for node in self.far:
            k = states.get(node.inputs[0])
            if k is not None:
                found.setdefault(k, []).append(node)
                states[node.outputs[0]] = k
        return found

    def over(self, arrays: Sequence[Value], steps: Steps) -> Sequence[Value]:
        """All steps of the loop, a tile's at a time."""
        work, loop = self.work, self.loop
        start, stop, step = work.values((loop.start, loop.stop, loop.step))
        sign, count = loop.step.type.value.const, steps_of(loop)
        if count is not None and count <= COLUMNS:
            return self.tile((start, stop, step), arrays, steps)

        def body(first: Value, *now: Value) -> Sequence[Value]:
            after = OPS["add"](first, work.builder.const(COLUMNS * sign))
            end = work.builder.apply(OPS["minimum" if sign > 0 else "maximum"], (after, stop), {}, name="end")
            return self.tile((first, end, step), now, steps)

        far = (start, stop, work.builder.const(COLUMNS * sign))
        with work.aside():
            return ranged(far, arrays, body, [a.name for a in arrays], index="first")

    def tile(self, bounds: Bounds, arrays: Sequence[Value], steps: Steps) -> Sequence[Value]:
        """The steps between bounds."""
        self.columns = Strip.of(self.loop, bounds, COLUMNS)
        own, now = self.own, list(arrays)
        kept = {n for nodes in own.values() for n in nodes}
        reads = [n for n in self.far if n not in kept]
        tiles = self.each([self.room(n.inputs[0]) for n in reads], lambda tiles: self.fetched(reads, tiles))
        self.read = dict(zip(reads, tiles, strict=True))
        for k, (first, *_) in own.items():
            now[k] = self.room(first.inputs[0])
            if first.op.name != "setitem":
                (now[k],) = self.each([now[k]], lambda tiles, n=first, a=arrays[k]: self.fetched([n], tiles, a))
        outs = list(steps(bounds, now))
        for k, (first, *_) in own.items():
            tile = outs[k]
            (outs[k],) = self.each([arrays[k]], lambda array, n=first, t=tile: self.put(n, t, array))
        return outs

    def room(self, like: Value) -> Value:
        assert self.columns is not None
        sizes = [self.work.builder.const(s.size) for s in (self.columns, self.rows)]
        name = f"{like.name}_tile" if like.name else ""
        return self.work.builder.apply(OPS["empty"], tuple(sizes), {"dtype": like.type.dtype}, name=name)

    def each(self, arrays: Sequence[Value], body: Callable[[Sequence[Value]], Sequence[Value]]) -> Sequence[Value]:
        """A loop over a tile's rows, with one over its columns in it."""
        work, columns = self.work, self.columns
        if not arrays:
            return ()

        def row(number: Value, *now: Value) -> Sequence[Value]:
            work.bind(self.rows.index, number)

            def column(step: Value, *now: Value) -> Sequence[Value]:
                assert columns is not None
                work.bind(columns.index, step)
                return body(now)

            assert columns is not None
            return ranged(columns.bounds, now, column, [a.name for a in now], index=columns.index.name)

        return work.over(self.rows, arrays, row, [a.name for a in arrays])

    def place(self) -> tuple[Value, Value]:
        """Where the element of a step is in the tiles."""
        assert self.columns is not None
        return tuple(s.place(self.work.value(s.index)) for s in (self.columns, self.rows))  # type: ignore[return-value]

    def places(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Where the element of a step is in an array."""
        steps = [n for n in self.loop.body.nodes if isinstance(n, Apply) and is_pure(n) and n not in self.far]
        self.work.nodes(needed(values, [*self.known, *steps]))
        return self.work.values(values)

    def fetched(self, nodes: Sequence[Apply], tiles: Sequence[Value], array: Value | None = None) -> Sequence[Value]:
        """Tiles with the elements that nodes use, of an array as it is, if that changes."""
        made = []
        for node, tile in zip(nodes, tiles, strict=True):
            source = self.work.value(node.inputs[0]) if array is None else array
            found = OPS["getitem"](source, *self.places(place_of(node)), view=element(source.type.ndim))
            made.append(OPS["setitem"](tile, found, *self.place(), view=element(2)))
        return made

    def put(self, node: Apply, tile: Value, array: Sequence[Value]) -> Sequence[Value]:
        """The array with the elements that a node uses as they are in a tile."""
        found = OPS["getitem"](tile, *self.place(), view=element(2))
        return (OPS["setitem"](array[0], found, *self.places(place_of(node)), view=element(array[0].type.ndim)),)

    # -- in a step ------------------------------------------------------------------------------

    def node(self, node: Apply) -> Value | None:
        """What a node that reads or stores far apart gives in a step: of its tile. None for others."""
        if node in self.read:
            return OPS["getitem"](self.read[node], *self.place(), view=element(2))
        if not node.inputs or (tile := self.stored.get(node.inputs[0])) is None:
            return None
        if node.op.name == "getitem":
            return OPS["getitem"](tile, *self.place(), view=element(2))
        value = self.work.builder.cast(self.work.value(node.inputs[1]), tile.type.dtype, weak=False)
        made = self.work.builder.apply(node.op, (tile, value, *self.place()), {"view": element(2)}, tile.name)
        self.stored[node.outputs[0]] = made
        return made
