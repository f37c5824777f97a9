"""Names for variables: the user's, where there is one, and one name for what is one variable.

Values that are versions of one variable (a loop's carry, an array before and after a store, the two
sides of a branch, two values the user gave one name) share it unless both are needed at once.
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from srcgraph.codegen.groups import Group, Groups
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
    Part,
    Ref,
    Store,
    Unpack,
    reads_of,
    refs,
    writes_of,
)
from srcgraph.codegen.liveness import NOTHING, Liveness
from srcgraph.errors import InternalError
from srcgraph.ir.graph import Value
from srcgraph.ir.text import is_name
from srcgraph.ir.types import ListType, Type

RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | {"np", "math", "njit", "nb"}

TRIED = 32
"""With how many groups of one name a variable that could have it is compared."""


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
        self.groups = Groups(self.live, params)
        self.lines: dict[Value, int] = {}
        self.hints: dict[Value, str] = {}
        self.loop_pairs: list[tuple[Value, Value]] = []
        self.pairs: list[tuple[Value, Value]] = []
        self.same_memory: list[tuple[Value, Value]] = []
        self.counters: set[Value] = set()
        for value in params:
            self._declare(value, self.live.entry)
        self._block(block)
        self._join()
        self.names: dict[Group, str] = {}
        self.named: dict[str, Group] = {}
        self._choose()

    def of(self, value: Value) -> str:
        """The name of a variable."""
        if value not in self.groups:
            raise InternalError(f"{value} was not given a name")
        return self.names[self.groups[value]]

    def of_type(self, test: Callable[[Type], bool]) -> set[str]:
        """The names of the variables whose types pass a test."""
        return {self.of(value) for value in self.groups if test(value.type)}

    def unread(self, value: Value, item: Item) -> bool:
        """Whether nothing reads what ``item`` assigns to a variable."""
        return not self.live.needed(value, self.live.after[id(item)])

    # -- collecting -------------------------------------------------------------------------------

    def _declare(
        self, value: Value, point: int, line: int = 0, hint: str = "", spared: Collection[Value] = NOTHING
    ) -> None:
        """Note a variable that is assigned at a point."""
        if value not in self.groups:
            self.lines[value] = line
            self.hints[value] = value.name or hint or self.given.get(value, "")
        group = self.groups.assign(value, point, spared)
        if is_users(value.name):
            group.users.add(value.name)

    def _block(self, block: Block) -> None:
        for item in block.items:
            self._item(item, self.live.after[id(item)])

    def _item(self, item: Item, after: int) -> None:
        line = item.origin.loc.line if item.origin.loc else 0
        match item:
            case Let():
                copied = item.expr.value if isinstance(item.expr, Ref) else None
                self._declare(item.value, after, line, _hint(item), NOTHING if copied is None else (copied,))
                if copied is not None:
                    is_list = isinstance(copied.type, ListType)
                    (self.same_memory if is_list else self.pairs).append((item.value, copied))
            case Unpack():
                for value in item.values:
                    self._declare(value, after, line)
                    self.groups.keep_apart(value, item.values)
            case Store() | Do():
                self._declare(item.out, after, line)
                self.same_memory.append((item.out, item.base))
            case Invoke():
                self._invoke(item, after, line)
            case Kernel():
                self._kernel(item, after, line)
            case Branch():
                self._block(item.then)
                self._block(item.orelse)
                for k, value in enumerate(item.outputs):
                    self._declare(value, after, line)
                    self._results_clash(item, value, k)
                    self.pairs += [(value, side.values[k]) for side in (item.then, item.orelse)]
            case Loop():
                self._loop(item, after, line)

    def _invoke(self, item: Invoke, after: int, line: int) -> None:
        for value in item.returned:
            self._declare(value, after, line)
            self.groups.keep_apart(value, item.returned)
            self.groups.keep_apart(value, (a for _, _, a in item.changed))
        for _, base, changed in item.changed:
            self._declare(changed, after, line)
            self.same_memory.append((changed, base))

    def _results_clash(self, item: Branch, value: Value, k: int) -> None:
        """Outputs are assigned one after another where a branch ends; what later ones read must stay."""
        for side in (item.then, item.orelse):
            for j, expr in enumerate(side.results):
                if j != k:
                    self.groups.keep_apart(value, (v for v in refs(expr) if v is not side.values[k]))

    def _kernel(self, item: Kernel, after: int, line: int) -> None:
        """The variables of a nest are all needed at one point, within it, but arrays in the same memory share it."""
        within = self.live.inside[id(item)]
        memory = memory_of(item)
        sharing: dict[Value, list[Value]] = defaultdict(list)
        for value, own in memory.items():
            sharing[own].append(value)
        for value in _inside(item):
            self.groups.need(value, within)
            for point in (within, after):
                self._declare(value, point, line, spared=sharing.get(value, NOTHING))
        for part in item.parts:
            if isinstance(part, LoopStore) and part.base is not None:
                own = memory[part.target]
                self.groups.need(part.target, within)
                for point in (within, after):
                    self._declare(part.target, point, line, spared=(own, *sharing[own]))
                self.same_memory.append((part.target, part.base))
        for part in item.parts:
            for value in _elements(part):
                self.groups[value].is_element = True

    def _loop(self, item: Loop, after: int, line: int) -> None:
        header = self.live.header[id(item)]
        for value in (*item.params, *([item.index] if item.index is not None else [])):
            self.groups.need(value, header)
            self._declare(value, header, line)
        if item.index is not None:
            self._declare(item.index, after, line)
            self.counters.add(item.index)
        self._read_after(item.bounds or (), item.params, item.inits)
        self._read_after([item.stop] if item.stop is not None else [], item.params, item.body.results)
        if item.test is not None:
            self._block(item.test)
        self._block(item.body)
        for k, (param, output) in enumerate(zip(item.params, item.outputs, strict=True)):
            self._declare(output, after, line)
            pairs = self.same_memory if isinstance(param.type, ListType) else self.loop_pairs
            pairs.append((param, output))
            for expr in (item.body.results[k], item.inits[k]):
                if isinstance(expr, Ref):
                    pairs.append((param, expr.value))

    def _read_after(self, exprs: Iterable[ast.expr], targets: Sequence[Value], sources: Sequence[ast.expr]) -> None:
        """What is read after targets are assigned must stay: a loop's bounds, and why it ends."""
        read = {v for e in exprs for v in refs(e)}
        for target, source in zip(targets, sources, strict=True):
            self.groups.keep_apart(target, read - ({source.value} if isinstance(source, Ref) else set()))

    def _join(self) -> None:
        for x, y in self.same_memory:
            self.groups.join(x, y, even_if_named=True)
        for x, y in self.loop_pairs + self.pairs:
            if x in self.groups and y in self.groups and not {x, y} & self.counters:
                self.groups.join(x, y)
        by_hint: dict[str, list[Value]] = defaultdict(list)
        for value in self.groups:
            if self.hints[value]:
                by_hint[self.hints[value].lstrip("_")].append(value)
        for values in by_hint.values():
            apart: list[Value] = []
            for value in values:
                if not any(self.groups.join(earlier, value) for earlier in apart[:TRIED]):
                    apart.append(value)

    # -- choosing ---------------------------------------------------------------------------------

    def _choose(self) -> None:
        free = _Free(self.reserved)
        for group in sorted(self.groups.all(), key=_rank):
            name = free.like(self._hint_of(group))
            self.names[group] = name
            self.named[name] = group

    def _hint_of(self, group: Group) -> str:
        members = group.members
        for m in members:
            if m in self.groups.fixed:
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
        points = self.live.inside[id(item)], self.live.after[id(item)]
        busy = {self.of(v) for v in (*_inside(item), *reads_of(item), *writes_of(item)) if v in self.groups}
        busy.update(enclosing)

        def is_free(name: str) -> bool:
            group = self.named.get(name)
            needed = group is not None and any(self.live.needed(v, p) for v in group.members for p in points)
            return not needed and name not in busy and name not in self.reserved

        free = filter(is_free, _index_names())
        return [next(free) for _ in range(count)]


def memory_of(kernel: Kernel) -> dict[Value, Value]:
    """The array in whose memory each array that a nest makes or changes is."""
    out: dict[Value, Value] = {v: v for v, _ in kernel.fresh}
    for part in kernel.parts:
        if isinstance(part, LoopStore) and part.base is not None:
            out[part.target] = out.get(part.base, part.base)
    return out


def _inside(kernel: Kernel) -> list[Value]:
    """The variables of a nest: its numbers, and the arrays made for it."""
    out: list[Value] = []
    for part in kernel.parts:
        match part:
            case LoopLet(value=value):
                out.append(value)
            case LoopReduce(acc=acc):
                out.append(acc)
            case InnerReduce(acc=acc, parts=lets):
                out += [acc, *(p.value for p in lets)]
    return out + [v for v, _ in kernel.fresh]


def _elements(part: Part) -> list[Value]:
    """What a part of a nest computes of each element."""
    match part:
        case LoopLet(value=value):
            return [value]
        case InnerReduce(parts=lets):
            return [p.value for p in lets]
    return []


def _index_names() -> Iterator[str]:
    plain = [v.name for v in INDICES]
    yield from plain
    for k in range(2, 100):
        yield from (f"{n}{k}" for n in plain)


class _Free:
    """Names not taken yet."""

    def __init__(self, reserved: Collection[str]):
        self.taken = set(reserved)
        self.next: dict[str, int] = defaultdict(lambda: 2)

    def like(self, hint: str) -> str:
        """A name like this one, which is taken then."""
        name = wanted = hint if is_name(hint) else "t"
        if name in RESERVED:
            name = wanted = f"{name}_"
        while name in self.taken:
            name = f"{wanted}_{self.next[wanted]}"
            self.next[wanted] += 1
        if not name.strip("_"):  # a loop over `_` whose trip is needed after all
            name = next(n for n in _index_names() if n not in self.taken)
        self.taken.add(name)
        return name


def _rank(group: Group) -> tuple[bool, bool, int]:
    return not group.fixed, not any(is_users(m.name) for m in group.members), group.order


def is_users(name: str) -> bool:
    """Whether a name is the user's: the compiler's own begin with an underscore."""
    return name.isidentifier() and not name.startswith("_")


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
