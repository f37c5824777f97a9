"""Products of a vector with each column of a matrix, one in each trip of a loop, as one product before it.

``B[i, j] += A[i + 1:, i] @ B[i + 1:, j]`` for each ``j``: a library goes over the rows of the matrix, not down its
columns. The matrix may change in the loop where the columns are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, For, Node, Value, node_inputs
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.linalg import matmul
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import is_float
from srcgraph.ir.view import View
from srcgraph.opt.licm import is_pure

SHORT = 8
"""A matrix with no more columns than this stays where it is."""


@dataclass(frozen=True, slots=True)
class Column:
    """A product in a loop: a vector that is the same in all trips by a column of a matrix.

    Attributes
    ----------
    node : Apply
    index : Value
        Of the trip, and of the column.
    vector : Value
        Computed by ``before``, nodes of the loop that do not need it, or outside.
    matrix : Value
        As it is before the loop.
    axis : int
        Along which is added up.
    part : tuple of Value
        Where along it the columns begin, and their length; () for all of it.
    """

    node: Apply
    index: Value
    vector: Value
    before: tuple[Node, ...]
    matrix: Value
    axis: int
    part: tuple[Value, ...]

    def product(self, builder: Rebuild) -> Value:
        """All of them, in the builder before the loop."""
        builder.nodes(self.before)
        vector, matrix = builder.value(self.vector), builder.value(self.matrix)
        if self.part:
            axes = (1, ":") if self.axis == 0 else (":", 1)
            matrix = OPS["getitem"](matrix, *builder.values(self.part), view=View(axes, (0, 1)))
        return matmul(vector, matrix) if self.axis == 0 else matmul(matrix, vector)


def columns(loop: For) -> Iterator[Column]:
    """Such products of a loop."""
    inner = _Loop(loop)
    for node in loop.body.nodes:
        if isinstance(node, Apply) and node.op.name == "matmul" and is_float(node.outputs[0].type):
            found = inner.column(node, *node.inputs) or inner.column(node, *node.inputs[::-1])
            if found is not None:
                yield found


class _Loop:
    def __init__(self, loop: For):
        self.loop, self.index = loop, loop.body.params[0]
        self.made = {v: n for n in loop.body.nodes for v in n.outputs}
        self.varying = set(loop.body.params)
        for node in loop.body.nodes:
            if not self.varying.isdisjoint(node_inputs(node)) or not isinstance(node, Apply) or not is_pure(node):
                self.varying.update(node.outputs)

    def column(self, node: Apply, vector: Value, column: Value) -> Column | None:
        read = self.made.get(column)
        if vector.type.ndim != 1 or vector in self.varying or not isinstance(read, Apply) or read.op.name != "getitem":
            return None
        view = read.attrs["view"]
        axis = 1 - view.axes.index("i") if len(view.axes) == 2 and "i" in view.axes else None
        if axis is None or view.axes[axis] not in (":", 1) or (view.order != (axis,) and view.order != (0,)):
            return None
        places = list(read.inputs[1:])
        at = places.pop(-1 if axis == 0 else 0)
        matrix = self.before(read.inputs[0], axis, places)
        if at is not self.index or not self.varying.isdisjoint(places) or matrix is None:
            return None
        if not self.is_whole(matrix.type.shape[1 - axis]):
            return None
        return Column(node, self.index, vector, tuple(self.needed([vector, *places])), matrix, axis, tuple(places))

    def is_whole(self, count: Dim) -> bool:
        """Whether the loop goes over so many columns, from the first one on."""
        start, stop, step = (getattr(v.type, "value", None) for v in (self.loop.start, self.loop.stop, self.loop.step))
        if start is None or stop is None or step is None or start.const != 0 or step.const != 1:
            return False
        return stop == count and (count.const is None or count.const > SHORT)

    def needed(self, values: Sequence[Value]) -> list[Node]:
        """The nodes of the loop that compute values which are the same in all trips."""
        wanted, found = set(values), list[Node]()
        for node in reversed(self.loop.body.nodes):
            if not wanted.isdisjoint(node.outputs):
                wanted.update(node_inputs(node))
                found.append(node)
        return found[::-1]

    def before(self, matrix: Value, axis: int, part: Sequence[Value]) -> Value | None:
        """The matrix before the loop, if what is read of it there is the same in all trips."""
        if matrix not in self.made and matrix not in self.loop.body.params:
            return matrix
        for k, carried in enumerate(self.loop.carry):
            versions, current = set[Value](), self.loop.body.results[k]
            while current is not self.loop.body.params[k + 1]:
                store = self.made.get(current)
                if not isinstance(store, Apply) or not self.is_beside(store, axis, part):
                    break
                versions.add(current)
                current = store.inputs[0]
            else:
                if matrix in versions or matrix is current:
                    return carried
        return None

    def is_beside(self, store: Apply, axis: int, part: Sequence[Value]) -> bool:
        """Whether something is stored into one row, which the part does not have."""
        if store.op.name not in ("setitem", "add_at") or not part:
            return False
        axes = store.attrs["view"].axes
        if len(axes) != 2 or axes[axis] != "i":
            return False
        row = store.inputs[2:][0 if axis == 0 else -1]
        at, first, count = (getattr(v.type, "value", None) for v in (row, *part))
        if row in self.varying or at is None or first is None or count is None:
            return False
        under, over = (first - at).const, (at - first - count).const
        return (under is not None and under > 0) or (over is not None and over >= 0)
