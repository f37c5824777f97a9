"""The tape table: how the reverse sweep comes by each value it reads, and why so.

The decisions are `residuals`'s and `tape`'s; here they are put in the user's words.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator
from functools import reduce

from srcgraph.errors import Loc
from srcgraph.ir.dims import UNKNOWN, Dim, floordiv, product, symbol
from srcgraph.ir.graph import Apply, Call, Define, For, If, Node, Value, While
from srcgraph.ir.types import ArrayType, ListType, ScalarType, is_float, is_integer, type_symbols
from srcgraph.opt.ad.again import is_cheap_again
from srcgraph.opt.ad.plan import Tape
from srcgraph.opt.ad.residuals import Choice, Residuals, decides, is_slow_again

SAME = ("cast", "with_shape")
"""Ops whose result is, to the user, their operand."""
WIDTH = 40
"""Longer expressions are cut off."""


def explain(residuals: Residuals, tapes: Iterable[Tape]) -> tuple[Choice, ...]:
    """Return a row per value: those saved, those recomputed, those that are there anyway."""
    return tuple(_Explain(residuals, tapes).rows())


class _Explain:
    def __init__(self, residuals: Residuals, tapes: Iterable[Tape]):
        self.residuals = residuals
        self.container = {t.value: t.container for t in tapes}
        self.definition = residuals.definition
        self.outside = _symbols_outside(residuals)

    def rows(self) -> Iterator[Choice]:
        seen: set[tuple[str, int]] = set()
        saved = [self.saved(v) for v in self.residuals.saved]
        for row in (*saved, *self.undone(), *self.recomputed(), *self.there()):
            key = (row.name, row.loc.line if row.loc else 0)
            if row.how in ("variable", "array", "list", "blocks", "undone") or key not in seen:
                yield row
            seen.add(key)

    # -- rows -------------------------------------------------------------------------------------

    def saved(self, value: Value) -> Choice:
        assert not isinstance(value.type, ListType)
        each = product(value.type.shape) * value.type.dtype.itemsize
        nest = self.residuals.home_of[value].chain()
        trips = tuple(self.trips(h.node) for h in nest if isinstance(h.node, For | While | Define))
        name = self.label(value) or "a value"
        return Choice(name, self.loc(value), self.container[value], self.why_saved(self.same(value)), each, trips)

    def undone(self) -> Iterator[Choice]:
        """Variables that are changed back."""
        for cycle in (c for found in self.residuals.undone.values() for c in found):
            for value in cycle.before:
                if value not in self.container and not value.name.startswith("_"):
                    yield Choice(self.label(value), self.loc(value), "undone", "from what it is after the trip")

    def recomputed(self) -> Iterator[Choice]:
        """Values inside loops that are neither saved, nor changed back, nor index arithmetic."""
        undone = {v for found in self.residuals.undone.values() for c in found for v in (*c.before, *c.after)}
        for value in self.residuals.read:
            source = self.same(value)
            if source in undone:
                continue
            if self.inside(source) and source not in self.container and not is_integer(source.type):
                name = self.label(source) or "a value"
                yield Choice(name, self.loc(source), "recomputed", self.why_recomputed(source))

    def there(self) -> Iterator[Choice]:
        """Variables outside every loop."""
        for value in self.residuals.read:
            if _is_users(value.name) and is_float(value.type) and not self.inside(value) and not self.derived(value):
                yield Choice(value.name, self.loc(value), "nothing", "not computed in a loop: still there")

    # -- reasons ----------------------------------------------------------------------------------

    def why_saved(self, value: Value) -> str:
        node = self.definition.get(value)
        if value in self.residuals.asked:
            return "the program says so"
        match node:
            case None:
                return "the next trip overwrites it"
            case If():
                return "running the branches that give it again would cost more"
            case For() | While() if value.name.startswith("_trips"):
                return "how often the inner loop ran is not known otherwise"
            case For() | While() if value.name.startswith("_stopped"):
                return "whether the inner loop stopped early is not known otherwise"
            case For() | While():
                return "running the inner loop that gives it again would cost more"
            case Call(callee=callee):
                return f"{callee} is not called again"
            case Apply() if node.op.name in ("getitem", "dim") and self.inside(node.inputs[0]):
                base = self.label(node.inputs[0]) or "the array"
                return f"{base} changes in the loop; this part of it is all that is needed"
            case Apply() if node.op.kind == "update":
                return "a later store changes it"
            case Apply() if not is_cheap_again(node):
                return f"{node.op.name} is too costly to run again"
            case Apply() if is_slow_again(node, self.residuals.home_of[value].loop):
                return f"{node.op.name} is slower than memory here"
            case Apply() if decides(node):
                return "rounded in another way, it might be another"
        return self.against_sources(value, node)

    def against_sources(self, value: Value, node: Apply) -> str:
        """Why a result is saved that could be computed again from other values."""
        found = self.residuals.sources.get(value, ())
        sources = [v for v in found if not is_integer(v.type) and v not in self.container]
        names = _listed(self.label(v) for v in sources)
        if len(sources) > 1 or any(_axes(v) > _axes(value) for v in sources):
            return f"kept in place of {names or 'its operands'}"
        return f"as small as {names or 'its operands'}, and {node.op.name} is not run again"

    def why_recomputed(self, value: Value) -> str:
        node = self.definition.get(value)
        if isinstance(node, For):
            return "cheap to gather again"
        if not isinstance(node, Apply):
            return "cheap to choose again"
        names = [v for v in node.inputs if not self.literal(v)]
        if node.op.name == "getitem" and not self.inside(node.inputs[0]):
            array = self.label(node.inputs[0]) or "the array"
            stays = isinstance(self.definition.get(node.inputs[0]), For | While)
            return (
                f"no later store into {array} changes it: read again"
                if stays
                else f"{array} does not change: read again"
            )
        made_of = _listed(self.label(v) for v in names)
        return f"cheap: from {made_of}" if made_of else "cheap"

    # -- names ------------------------------------------------------------------------------------

    def label(self, value: Value) -> str:
        """The user's name for a value, or its text in the source; '' if there is neither."""
        value = self.same(value)
        node = self.definition.get(value)
        if isinstance(node, For | While) and value.name.startswith("_"):
            return "trips of the loop" if value.name.startswith("_trips") else "early exit of the loop"
        if _is_users(value.name):
            return value.name
        if isinstance(node, Apply) and node.op.name == "dim":
            return f"{self.label(node.inputs[0])}.shape[{node.attrs['axis']}]"
        written = expression_at(node.origin.loc) if node is not None else ""
        if isinstance(node, Apply) and node.op.name == "getitem" and not _reads(written):
            return self.part(node)
        return _short(written) or (node.op.name if isinstance(node, Apply) else value.name.lstrip("_"))

    def part(self, node: Apply) -> str:
        """An element or a part of an array that stands in no expression of its own."""
        base, *index = map(self.label, node.inputs)
        if not base:
            return ""
        return f"{base}[{', '.join(index)}]" if _axes(node.outputs[0]) == 0 else f"part of {base}"

    def same(self, value: Value) -> Value:
        """The value of which this is only another form."""
        node = self.definition.get(value)
        if isinstance(node, Apply) and (node.op.name in SAME or node.op.kind == "check"):
            return self.same(node.inputs[0])
        return value

    def loc(self, value: Value) -> Loc | None:
        node = self.definition.get(value) or self.residuals.home_of[value].node
        return node.origin.loc if node is not None else None

    # -- where values are -------------------------------------------------------------------------

    def inside(self, value: Value) -> bool:
        home = self.residuals.home_of.get(value)
        return home is not None and home.parent is not None

    def derived(self, value: Value) -> bool:
        node = self.definition.get(value)
        return node is not None and node.origin.by != ""

    def literal(self, value: Value) -> bool:
        node = self.definition.get(value)
        return isinstance(node, Apply) and node.op.name == "const"

    def trips(self, node: Node) -> Dim:
        """How often a loop runs, where sizes tell; else a symbol that names the loop."""
        if isinstance(node, For):
            start, stop, step = (_size(v) for v in (node.start, node.stop, node.step))
            if step.const:
                span = stop - start if step.const > 0 else start - stop
                if span.symbols() <= self.outside:
                    return floordiv(span + (abs(step.const) - 1), abs(step.const))
        if isinstance(node, Define):
            return symbol(f"calls({node.graph.name.split('@')[0]})")
        line = node.origin.loc.line if node.origin.loc is not None else 0
        return symbol(f"trips(line {line})")


def _symbols_outside(residuals: Residuals) -> frozenset[str]:
    """The sizes known outside every loop."""
    values = (v for v, home in residuals.home_of.items() if home.parent is None)
    return reduce(frozenset.union, (type_symbols(v.type) for v in values), frozenset())


def _axes(value: Value) -> int:
    return value.type.ndim if isinstance(value.type, ArrayType) else 0


def _size(value: Value) -> Dim:
    """The expression an integer is known to equal."""
    known = value.type.value if isinstance(value.type, ScalarType) else None
    return UNKNOWN if known is None else known


def _is_users(name: str) -> bool:
    """Whether a value's name is one the user wrote: made-up ones start with an underscore."""
    return name.isidentifier() and not name.startswith("_")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name for name in dict.fromkeys(names) if name)


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3].rstrip()}..."


def _reads(text: str) -> bool:
    """Whether an expression is a variable or a part of one."""
    return bool(text) and isinstance(ast.parse(text, mode="eval").body, ast.Name | ast.Subscript)


def expression_at(loc: Loc | None) -> str:
    """The expression a user wrote at a place, on one line; of ``x[i] += y``, what it changes."""
    if loc is None or loc.end_line != loc.line or loc.end_col is None:
        return ""
    text = linecache.getline(loc.file, loc.line).encode()[loc.col : loc.end_col].decode(errors="ignore").strip()
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return ""
    match statements:
        case [ast.Expr(value=ast.Tuple())]:
            return ""
        case [ast.Expr()]:
            return text
        case [ast.AugAssign(target=target)]:
            return ast.unparse(target)
    return ""
