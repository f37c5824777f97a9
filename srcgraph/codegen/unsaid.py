"""Integers of arrays that are written as Python's: literals, counters and truths, and what is chosen among them.

Arithmetic with them, which wraps in NumPy's arrays, would raise where 64 bits are too few, as that of Python's integers
has to: where it may need more, one of the operands is written as ``np.int64(...)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.promote import is_weak
from srcgraph.ir.types import BOOL, INT, ArrayType, TensorType

_CALLS = ("power", "gcd", "lcm")
"""What functions compute whose results do not say what they are."""
COUNTED = 31
"""Bits of a position in an array."""
WORD = 63
"""Bits of an integer."""
_SEEN_THROUGH = (
    "where",
    "minimum",
    "maximum",
    "absolute",
    "floordiv",
    "mod",
    "broadcast_to",
    "full",
    "copy",
    "getitem",
)


class Unsaid:
    """How many bits the integers that do not say that they are NumPy's may need.

    Parameters
    ----------
    variables : set of Value
        Values that have a name; arrays are read by element, which says what it is.
    definitions : mapping
        The node of every other value, and of numbers with a name.
    """

    def __init__(self, variables: Set[Value], definitions: Mapping[Value, Apply]):
        self.variables = variables
        self.definitions = definitions
        self.known: dict[Value, int | None] = {}

    def needs(self, node: Apply) -> bool:
        """Whether sums and products must be told that they are of NumPy's integers: they wrap."""
        out = node.outputs[0].type
        if node.op.name not in _WRITTEN or out.dtype != INT or is_weak(out):
            return False
        bits = self._of_operands(node)
        return bits is not None and _grown(node, bits) > WORD

    def bits(self, value: Value) -> int | None:
        """Of an integer; None if its text says that it is one of NumPy's."""
        if value in self.variables and isinstance(value.type, ArrayType):
            return None
        if value not in self.known:
            node = self.definitions.get(value)
            unknown = WORD if is_weak(value.type) else None
            self.known[value] = unknown if node is None else self._made(node, value.type)
        return self.known[value]

    def _made(self, node: Apply, out: TensorType) -> int | None:
        name = node.op.name
        if name == "const":
            return int(node.attrs["value"]).bit_length() if is_weak(out) else None
        if is_weak(out) or name in _CALLS:
            return WORD
        if name == "arange" or (name == "sum" and self.bits(node.inputs[0]) == 1):
            return COUNTED
        if name == "cast" and node.inputs[0].type.dtype == BOOL and out.dtype == INT:
            return 1
        if out.dtype != INT or not (node.op.grows or name in _SEEN_THROUGH):
            return None
        bits = self._of_operands(node)
        if bits is None or not node.op.grows:
            return None if bits is None else max(bits)
        grown = _grown(node, bits)
        return grown if grown <= WORD else None

    def _of_operands(self, node: Apply) -> list[int] | None:
        read = node.inputs[:1] if node.op.name in ("getitem", "broadcast_to", "copy", "full") else node.inputs
        found = [self.bits(v) for v in read if v.type.dtype == INT]
        return [b for b in found if b is not None] if found and None not in found else None


_WRITTEN = ("add", "sub", "mul", "square", "ipow", "neg")


def _grown(node: Apply, bits: list[int]) -> int:
    """The bits of a result of operands that need so many."""
    match node.op.name:
        case "add" | "sub":
            return max(bits) + 1
        case "mul":
            return sum(bits)
        case "square":
            return 2 * bits[0]
        case "ipow":
            return node.attrs["n"] * bits[0]
        case "neg":
            return bits[0]
    return WORD + 1
