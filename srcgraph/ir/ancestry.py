"""What values built of variables were made from, and what that tells of sizes and integers.

A `Step` keeps what is known behind the values it makes, so that a chain of n steps is built in n steps of work: most
steps have one input that knows all there is, and share its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from srcgraph.ir.closure import free_values
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Node, Step, Value, node_graphs, node_inputs
from srcgraph.ir.types import ArrayType, ScalarType


@dataclass(frozen=True, eq=False, slots=True)
class Known:
    """Where sizes and integers are found among some values and all that they were made from."""

    sources: dict[str, tuple[Value, int]] = field(default_factory=dict)
    """The first array that has a size, by the symbol of the size, and its axis."""
    sizes: dict[Dim, None] = field(default_factory=dict)
    """Lengths of arrays that are not constant: they are not negative."""
    integers: dict[tuple[Dim, bool], Value] = field(default_factory=dict)
    """Values known to be an integer, by that and whether they are Python's own."""

    def enter(self, value: Value) -> None:
        type = value.type
        if isinstance(type, ScalarType) and type.value is not None:
            self.integers.setdefault((type.value, type.weak), value)
        elif isinstance(type, ArrayType):
            for axis, size in enumerate(type.shape):
                if size.const is None:
                    self.sizes[size] = None
                if size.symbol:
                    self.sources.setdefault(size.symbol, (value, axis))

    def holds(self, other: Known) -> bool:
        """Whether all that another one knows is known here."""
        if other is self:
            return True
        return (
            other.sources.keys() <= self.sources.keys()
            and other.sizes.keys() <= self.sizes.keys()
            and other.integers.keys() <= self.integers.keys()
        )

    def join(self, other: Known) -> None:
        for name, found in other.sources.items():
            self.sources.setdefault(name, found)
        self.sizes.update(other.sizes)
        for key, value in other.integers.items():
            self.integers.setdefault(key, value)

    def __len__(self) -> int:
        return len(self.sources) + len(self.sizes) + len(self.integers)


def known_behind(values: Sequence[Value]) -> Known:
    """What is known where these values are given."""
    return _joined([_known_of(v) for v in values])


def known_with(nodes: Sequence[Node]) -> Known:
    """What is known behind the values that some nodes make."""
    made = {v for n in nodes for v in n.outputs}
    own = Known()
    for node in nodes:
        for value in node.outputs:
            own.enter(value)
    read = dict.fromkeys(v for n in nodes for v in reads(n) if v not in made)
    return _joined([*map(_known_of, read), own])


def _known_of(value: Value) -> Known:
    if isinstance(value.owner, Step):
        return value.owner.known
    found = Known()
    found.enter(value)
    return found


def _joined(parts: Sequence[Known]) -> Known:
    most = max(parts, key=len, default=Known())
    if all(most.holds(p) for p in parts):
        return most
    out = Known()
    for part in parts:
        out.join(part)
    return out


def ancestors(values: Sequence[Value]) -> Iterator[Value]:
    """Some values, and all that they were made from, each once."""
    seen = set(values)
    stack = list(values)
    while stack:
        value = stack.pop()
        yield value
        if isinstance(value.owner, Step):
            new = [v for n in value.owner.nodes for v in reads(n) if v not in seen]
            seen.update(new)
            stack.extend(new)


def reads(node: Node) -> list[Value]:
    """What a node reads, its graphs among it."""
    return [*node_inputs(node), *(v for g in node_graphs(node) for v in free_values(g))]
