"""Names for variables: the user's, where there is one, and one name for what is one variable.

Values that are versions of one variable (a loop's carry, an array before and after a store, the two
sides of a branch, two values the user gave one name) share it unless both are needed at once.
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from srcgraph.codegen.items import (
    INDICES,
    Block,
    Branch,
    Do,
    InnerReduce,
    Invoke,
    Item,
    Kernel,
    Let,
    Loop,
    LoopLet,
    LoopReduce,
    LoopStore,
    Ref,
    Store,
    Unpack,
    reads_of,
    refs,
    writes_of,
)
from srcgraph.codegen.liveness import Live, Liveness
from srcgraph.errors import InternalError
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type

RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | {"np", "math", "njit", "nb"}


class Names:
    """The name of every variable of a function.

    Parameters
    ----------
    block : Block
        The function's items, copies included.
    params : sequence of Value
        Keep their names.
    at_end : iterable of Value
        Variables needed after the last item.
    reserved : frozenset of str
        Names of helpers the text uses.
    hints : mapping
        Names for values the user gave none.
    """

    def __init__(
        self,
        block: Block,
        params: Sequence[Value],
        at_end: Iterable[Value] = (),
        reserved: frozenset[str] = frozenset(),
        hints: Mapping[Value, str] | None = None,
    ):
        self.given = hints or {}
        self.live = Liveness(block, at_end)
        self.reserved = RESERVED | reserved
        self.order: dict[Value, int] = {}
        self.lines: dict[Value, int] = {}
        self.hints: dict[Value, str] = {}
        self.clash: dict[Value, set[Value]] = defaultdict(set)
        self.parent: dict[Value, Value] = {}
        self.members: dict[Value, dict[Value, None]] = {}
        self.users: dict[Value, set[str]] = {}
        """The names that the user gave the members."""
        self.loop_pairs: list[tuple[Value, Value]] = []
        self.pairs: list[tuple[Value, Value]] = []
        self.same_memory: list[tuple[Value, Value]] = []
        self.counters: set[Value] = set()
        self.elements: set[Value] = set()
        """Arrays of which only an element at a time is a variable."""
        self.params = tuple(params)
        for value in params:
            self._declare(value, ())
        for value in params:
            self._conflict(value, [p for p in params if p is not value])
            self._conflict(value, self.live.entry)
        self._block(block)
        self._merge()
        self.names: dict[Value, str] = {}
        self._choose()

    def of(self, value: Value) -> str:
        """The name of a variable."""
        root = self._root(value)
        if root not in self.names:
            raise InternalError(f"{value} was not given a name")
        return self.names[root]

    def of_type(self, test: Callable[[Type], bool]) -> set[str]:
        """The names of the variables whose types pass a test."""
        return {self.of(value) for value in self.parent if test(value.type)}

    def unread(self, value: Value, item: Item) -> bool:
        """Whether nothing reads what ``item`` assigns to a variable."""
        return value not in self.live.after[id(item)]

    # -- collecting -------------------------------------------------------------------------------

    def _declare(self, value: Value, live: Iterable[Value], line: int = 0, hint: str = "") -> None:
        if value not in self.parent:
            self.parent[value] = value
            self.members[value] = {value: None}
            self.users[value] = {value.name} if is_users(value.name) else set()
            self.order[value] = len(self.order)
            self.lines[value] = line
            self.hints[value] = value.name or hint or self.given.get(value, "")
        self._conflict(value, live)

    def _conflict(self, value: Value, others: Iterable[Value]) -> None:
        for other in others:
            if other is not value:
                self.clash[value].add(other)
                self.clash[other].add(value)

    def _block(self, block: Block) -> None:
        for item in block.items:
            self._item(item, self.live.after[id(item)])

    def _item(self, item: Item, live: Live) -> None:
        line = item.origin.loc.line if item.origin.loc else 0
        match item:
            case Let():
                copied = item.expr.value if isinstance(item.expr, Ref) else None
                self._declare(item.value, (v for v in live if v is not copied), line, _hint(item))
                if copied is not None:
                    is_list = isinstance(copied.type, ListType)
                    (self.same_memory if is_list else self.pairs).append((item.value, copied))
            case Unpack():
                for value in item.values:
                    self._declare(value, live, line)
                    self._conflict(value, item.values)
            case Store() | Do():
                self._declare(item.out, live, line)
                self.same_memory.append((item.out, item.base))
            case Invoke():
                self._invoke(item, live, line)
            case Kernel():
                self._kernel(item, live, line)
            case Branch():
                self._block(item.then)
                self._block(item.orelse)
                for k, value in enumerate(item.outputs):
                    self._declare(value, live, line)
                    self._results_clash(item, value, k)
                    self.pairs += [(value, side.values[k]) for side in (item.then, item.orelse)]
            case Loop():
                self._loop(item, live, line)

    def _invoke(self, item: Invoke, live: Live, line: int) -> None:
        for value in item.returned:
            self._declare(value, live, line)
            self._conflict(value, [v for v in item.returned if v is not value])
            self._conflict(value, (a for _, _, a in item.changed))
        for _, base, after in item.changed:
            self._declare(after, live, line)
            self.same_memory.append((after, base))

    def _results_clash(self, item: Branch, value: Value, k: int) -> None:
        """Outputs are assigned one after another where a branch ends; what later ones read must stay."""
        for side in (item.then, item.orelse):
            for j, expr in enumerate(side.results):
                if j != k:
                    self._conflict(value, (v for v in refs(expr) if v is not side.values[k]))

    def _kernel(self, item: Kernel, live: Live, line: int) -> None:
        reads = reads_of(item)
        inside: list[Value] = []
        for part in item.parts:
            match part:
                case LoopLet(value=value):
                    inside.append(value)
                    self.elements.add(value)
                case LoopReduce(acc=acc):
                    inside.append(acc)
                case InnerReduce(acc=acc, parts=lets):
                    inside += [acc, *(p.value for p in lets)]
                    self.elements.update(p.value for p in lets)
        inside += [v for v, _ in item.fresh]
        memory = memory_of(item)
        for value in inside:
            self._declare(value, (v for v in live if memory.get(v) is not value), line)
            self._conflict(value, reads)
            self._conflict(value, (v for v in inside if memory.get(v) is not value))
        for part in item.parts:
            if isinstance(part, LoopStore) and part.base is not None:
                own = memory[part.target]
                others = [v for v in (*live, *inside, *reads, *memory) if memory.get(v, v) is not own]
                self._declare(part.target, others, line)
                self.same_memory.append((part.target, part.base))

    def _loop(self, item: Loop, live: Live, line: int) -> None:
        header = self.live.header[id(item)]
        for param in item.params:
            self._declare(param, header, line)
        if item.index is not None:
            self._declare(item.index, header, line)
            self.counters.add(item.index)
            self._conflict(item.index, item.params)
            self._conflict(item.index, live)
        for k, param in enumerate(item.params):
            for j, other in enumerate(item.params):
                if j != k:
                    self._conflict(param, [other])
        self._read_after(item.bounds or (), item.params, item.inits)
        self._read_after([item.stop] if item.stop is not None else [], item.params, item.body.results)
        if item.test is not None:
            self._block(item.test)
        self._block(item.body)
        for k, (param, output) in enumerate(zip(item.params, item.outputs, strict=True)):
            self._declare(output, live, line)
            pairs = self.same_memory if isinstance(param.type, ListType) else self.loop_pairs
            pairs.append((param, output))
            for expr in (item.body.results[k], item.inits[k]):
                if isinstance(expr, Ref):
                    pairs.append((param, expr.value))

    def _read_after(self, exprs: Iterable[ast.expr], targets: Sequence[Value], sources: Sequence[ast.expr]) -> None:
        """What is read after targets are assigned must stay: a loop's bounds, and why it ends."""
        read = {v for e in exprs for v in refs(e)}
        for target, source in zip(targets, sources, strict=True):
            self._conflict(target, read - ({source.value} if isinstance(source, Ref) else set()))

    # -- merging ----------------------------------------------------------------------------------

    def _root(self, value: Value) -> Value:
        while self.parent[value] is not value:
            self.parent[value] = self.parent[self.parent[value]]
            value = self.parent[value]
        return value

    def _merge(self) -> None:
        for x, y in self.same_memory:
            self._union(x, y, even_if_named=True)
        for x, y in self.loop_pairs + self.pairs:
            if x in self.parent and y in self.parent and not {x, y} & self.counters:
                self._union(x, y)
        by_hint: dict[str, list[Value]] = defaultdict(list)
        for value in self.order:
            if self.hints[value]:
                by_hint[self.hints[value].lstrip("_")].append(value)
        for values in by_hint.values():
            apart: list[Value] = []
            for value in values:
                if not any(self._union(earlier, value) for earlier in apart):
                    apart.append(value)

    def _union(self, x: Value, y: Value, even_if_named: bool = False) -> bool:
        a, b = self._root(x), self._root(y)
        if a is b:
            return True
        if not _same_storage(a, b) or (a in self.elements) != (b in self.elements):
            return False
        if (self._named_apart(a, b) and not even_if_named) or self._clashes(a, b):
            return False
        if self.order[b] < self.order[a]:
            a, b = b, a
        self.parent[b] = a
        self.members[a] |= self.members.pop(b)
        self.users[a] |= self.users.pop(b)
        return True

    def _named_apart(self, a: Value, b: Value) -> bool:
        """Whether the user gave two variables different names; sharing one would mislead."""
        x, y = self.users[a], self.users[b]
        return bool(x and y and x.isdisjoint(y))

    def _clashes(self, a: Value, b: Value) -> bool:
        if a in self.params and b in self.params:
            return True
        small, large = (a, b) if len(self.members[a]) <= len(self.members[b]) else (b, a)
        others = self.members[large].keys()
        return any(not others.isdisjoint(self.clash[m]) for m in self.members[small])

    # -- choosing ---------------------------------------------------------------------------------

    def _choose(self) -> None:
        taken: set[str] = set(self.reserved)
        roots = sorted({self._root(v) for v in self.order}, key=self._rank)
        for root in roots:
            hint = self._hint_of(root)
            name = _free(hint, taken)
            if not name.strip("_"):  # a loop over `_` whose trip is needed after all
                name = next(n for n in _index_names() if n not in taken)
            taken.add(name)
            self.names[root] = name

    def _rank(self, root: Value) -> tuple[bool, bool, int]:
        members = self.members[root]
        return (
            not any(m in self.params for m in members),
            not any(is_users(m.name) for m in members),
            self.order[root],
        )

    def _hint_of(self, root: Value) -> str:
        members = self.members[root]
        for m in members:
            if m in self.params:
                return m.name
        for wanted in (is_users, str.isidentifier):
            for m in members:
                if wanted(m.name):
                    return m.name.lstrip("_") or m.name
        for m in members:
            if self.hints[m]:
                return self.hints[m]
        line = next((self.lines[m] for m in members if self.lines[m]), 0)
        return f"t_{line}" if line else "t"

    def indices(self, item: Kernel, count: int, enclosing: Iterable[str] = ()) -> list[str]:
        """Names for a nest's indices that nothing needed there has."""
        busy = set(enclosing)
        busy |= {self.of(v) for v in self.live.after[id(item)] | reads_of(item) if v in self.parent}
        busy |= {self.of(v) for v in writes_of(item) if v in self.parent}
        for part in item.parts:
            inner = [part.value] if isinstance(part, LoopLet) else []
            if isinstance(part, InnerReduce):
                inner = [part.acc, *(p.value for p in part.parts)]
            busy |= {self.of(v) for v in inner}
        free = (n for n in _index_names() if n not in busy and n not in self.reserved)
        return [next(free) for _ in range(count)]


def memory_of(kernel: Kernel) -> dict[Value, Value]:
    """The array in whose memory each array that a nest makes or changes is."""
    out: dict[Value, Value] = {v: v for v, _ in kernel.fresh}
    for part in kernel.parts:
        if isinstance(part, LoopStore) and part.base is not None:
            out[part.target] = out.get(part.base, part.base)
    return out


def _index_names() -> Iterator[str]:
    plain = [v.name for v in INDICES]
    yield from plain
    for k in range(2, 100):
        yield from (f"{n}{k}" for n in plain)


def _free(hint: str, taken: set[str]) -> str:
    name = hint if hint.isidentifier() else "t"
    if name in RESERVED:
        name += "_"
    if name not in taken:
        return name
    k = 2
    while f"{name}_{k}" in taken:
        k += 1
    return f"{name}_{k}"


def is_users(name: str) -> bool:
    """Whether a name is the user's: the compiler's own begin with an underscore."""
    return name.isidentifier() and not name.startswith("_")


def _same_storage(x: Value, y: Value) -> bool:
    """Whether two variables may be one: the same dtype and the same number of axes."""
    a, b = x.type, y.type
    if isinstance(a, ScalarType) and isinstance(b, ScalarType):
        return a.dtype == b.dtype
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return (a.dtype, a.ndim) == (b.dtype, b.ndim)
    return isinstance(a, ListType) and isinstance(b, ListType) and _same_item(a, b)


def _same_item(a: ListType, b: ListType) -> bool:
    return type(a.item) is type(b.item) and a.item.dtype == b.item.dtype and a.item.ndim == b.item.ndim


_SIDES = {(-1,): "left", (1,): "right", (0, -1): "left", (0, 1): "right", (-1, 0): "up", (1, 0): "down"}


def _hint(item: Let) -> str:
    """A name for an unnamed value that reads an element: ``u_i``, ``u_left`` for ``u[i - 1]``."""
    expr = item.expr
    if not isinstance(expr, ast.Subscript) or not isinstance(expr.value, Ref):
        return ""
    index = expr.slice.elts if isinstance(expr.slice, ast.Tuple) else [expr.slice]
    offsets, letters = [], []
    for part in index:
        offset = _offset(part)
        if offset is None:
            return ""
        letters.append(offset[0].lstrip("_"))
        offsets.append(offset[1])
    base = expr.value.value.name
    if not base:
        return ""
    if not any(offsets):
        return f"{base}_{''.join(letters)}"
    side = _SIDES.get(tuple(offsets))
    return f"{base}_{side}" if side else ""


def _offset(part: ast.expr) -> tuple[str, int] | None:
    """``i``, ``i + c`` or ``i - c`` as name and offset."""
    if isinstance(part, Ref) and part.value.name.isidentifier():
        return part.value.name, 0
    if isinstance(part, ast.BinOp) and isinstance(part.left, Ref) and isinstance(part.right, ast.Constant):
        sign = 1 if isinstance(part.op, ast.Add) else -1 if isinstance(part.op, ast.Sub) else 0
        if sign and isinstance(part.right.value, int):
            return part.left.value.name, sign * part.right.value
    return None
