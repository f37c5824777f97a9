"""Whose memory an array's value is in, and the copies that sharing makes necessary.

Arrays are values; here they become buffers. A store takes over (consumes) the buffer of the array it
changes. That is right if nothing else that is still needed can be in that buffer, and if the
function owns it; otherwise a copy is put before the store, the loop or the end of the branch. A
program NumPy runs without copies needs none here. A nest that reads for each element of a new array that of
another one, which was made in the same block and nobody needs afterwards, stores into that one instead, if the new
array is returned: what is not is in memory that is used again anyway.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field

from srcgraph.codegen.items import (
    Block,
    Branch,
    Do,
    Invoke,
    Item,
    Keep,
    Kernel,
    Let,
    Loop,
    LoopStore,
    Origin,
    Ref,
    Store,
    Unpack,
    all_blocks,
    inner_blocks,
    ref,
    refs,
    rename,
    renamed,
)
from srcgraph.codegen.liveness import Liveness, Needed
from srcgraph.codegen.reading import fills, is_copy, read_around
from srcgraph.codegen.rebound import Rebound, rebound
from srcgraph.codegen.uses import in_memory
from srcgraph.errors import InternalError
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType, ListType


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """One allocation, as far as can be told apart; ``owned`` if the function may change it."""

    name: str
    owned: bool = True


Buffers = frozenset[Buffer]
NONE: Buffers = frozenset()


@dataclass(slots=True)
class Copied:
    """A copy that had to be made: which array, and why."""

    name: str
    why: str
    origin: Origin


@dataclass(slots=True)
class Interface:
    """What a generated function changes and returns.

    Parameters
    ----------
    changed : mapping
        Parameter position to the position among the results of its final content.
    returned : list
        Positions among the results that are handed to the caller.
    borrowed : set
        Those of them that the caller drops where they are an argument's memory.
    owned : frozenset
        Parameters made for the call, which may be changed although nobody sees it.
    """

    changed: dict[int, int] = field(default_factory=dict)
    returned: list[int] = field(default_factory=list)
    borrowed: set[int] = field(default_factory=set)
    owned: frozenset[int] = frozenset()


def assign_storage(
    block: Block,
    params: Sequence[Value],
    consumed: set[Value],
    interface: Interface,
    seen: AbstractSet[Value],
    inplace: bool = True,
) -> tuple[list[tuple[Value, Value]], list[Copied]]:
    """Insert the copies; return the (parameter, value) pairs to be stored at the end, and the copies made.

    What callers will have ``seen`` in their arrays stays there; others leave them. Unless ``inplace``, every store is
    into a copy, needed or not.
    """
    work = _Storage(block, consumed, seen, inplace)
    for position, param in enumerate(params):
        owned = position in interface.changed or position in interface.owned
        buffer = Buffer(param.name, owned)
        work.put(param, frozenset({buffer}))
        if position in interface.changed:
            work.callers.add(buffer)
    work.leaving = {block.values[k] for k in interface.returned} if inplace else set()
    work.block(block)
    stores = work.changed(block, params, interface)
    work.returned(block, params, interface, frozenset(b for param, _ in stores for b in work.of(param)))
    return stores, work.copies


def _copied(array: Value) -> ast.expr:
    return ast.Call(ast.Attribute(ref(array), "copy", ast.Load()), [], [])


def _makes_anew(made: ast.expr) -> bool:
    """Whether an array is a call's own, its rows one after another."""
    match made:
        case ast.Call(func=ast.Attribute(value=Ref(), attr="copy")):
            return True
        case ast.Call(func=func):
            return ast.unparse(func) in _NEW
    return False


_NEW = frozenset({"matmul", "matmul_exact", "np.empty", "np.zeros", "np.ones", "np.full"})


class _Storage:
    def __init__(self, block: Block, consumed: set[Value], seen: AbstractSet[Value], inplace: bool):
        self.consumed = consumed
        self.seen = seen
        self.inplace = inplace
        self.live = Liveness(block)
        self.buffers: dict[Value, Buffers] = {}
        self.holding: dict[Buffer, list[Value]] = defaultdict(list)
        """The arrays that may be in a buffer and are needed later."""
        self.callers: set[Buffer] = set()
        """The memory of arguments that are changed: by the caller, too, later on."""
        self.lent: set[Buffer] = set()
        """What may be such memory, although it is not told apart from what is not."""
        self.copies: list[Copied] = []
        self.point = 0
        """Before the item that is looked at."""
        self.made: set[Value] = set()
        """The arrays made in this block."""
        self.kept: set[Value] = set()
        """Those that loops make once, and anew in each trip where they are."""
        self.kept_in: dict[Value, AbstractSet[Value]] = {}
        """For those that are made in such a trip: what is in the memory that they may be put in."""
        self.wrapped: dict[Value, Value] = {}
        """Copies of arrays with more at their ends: which need not be made, if these stay as they are (`rounds`)."""
        self.leaving: set[Value] = set()
        """The arrays that are returned."""
        self.until: dict[Value, int] = {}
        for value, point in self._handed_on(block):
            self.until[value] = max(point, self.until.get(value, 0))

    def _handed_on(self, block: Block) -> Iterator[tuple[Value, int]]:
        """What blocks hand on and loops start with, and the point after the item that does it."""
        for item in (i for inner in all_blocks(block) for i in inner.items):
            values = [v for inner in inner_blocks(item) for v in inner.values]
            values += item.init_values if isinstance(item, Loop) else ()
            for value in values:
                yield value, self.live.after[id(item)]

    def of(self, value: Value) -> Buffers:
        return self.buffers.get(value, NONE)

    def put(self, value: Value, buffers: Buffers) -> None:
        """Note in whose memory a value is."""
        for buffer in buffers - self.of(value):
            self.holding[buffer].append(value)
        self.buffers[value] = buffers

    # -- conflicts ------------------------------------------------------------------------------

    def after(self, item: Item, but: Sequence[Value] = ()) -> Needed:
        """What is needed after an item."""
        return Needed(self.live, ((self.live.after[id(item)], frozenset(but)),))

    def iterating(self, item: Loop) -> Needed:
        """What is needed in every iteration of a loop, its own variables apart."""
        return Needed(self.live, ((self.live.header[id(item)], frozenset(item.params)),))

    def last(self, value: Value) -> int:
        return max(self.live.last(value), self.until.get(value, 0))

    def beside(self, value: Value, needed: Needed) -> Iterator[Value]:
        """The other arrays which may be in a value's memory and are needed."""
        for buffer in self.of(value):
            held = [v for v in self.holding[buffer] if v in needed.also or self.last(v) >= self.point]
            self.holding[buffer] = held
            yield from (v for v in held if v is not value and in_memory(v) and buffer in self.of(v) and v in needed)

    def conflict(self, value: Value, needed: Needed, ignored: Sequence[Value] = ()) -> str:
        """Why ``value``'s buffer may not be changed while others are still needed; '' if it may."""
        if not self.inplace and value not in ignored:
            return "nothing is stored in place"
        if value in needed and value not in ignored:
            return f"{value.name or 'it'} is read again later"
        if any(not b.owned for b in self.of(value)):
            return f"{value.name or 'it'} belongs to the caller"
        for other in self.beside(value, needed):
            if other not in ignored:
                return f"{other.name or 'another array'} may be the same memory"
        return ""

    def copied(self, value: Value, why: str, origin: Origin, out: list[Item]) -> Value:
        """Append a copy of ``value`` to ``out`` and return it."""
        fresh = Value(value.name, value.type)
        copy = ast.Call(ast.Attribute(ref(value), "copy", ast.Load()), [], [])
        out.append(Let(fresh, copy, origin))
        self.put(fresh, frozenset({Buffer(value.name)}))
        self.made.add(fresh)
        self.copies.append(Copied(value.name, why, origin))
        return fresh

    def movable(
        self, value: Value, live: Needed, origin: Origin, out: list[Item], ignored: Sequence[Value] = ()
    ) -> Value:
        """``value`` if its buffer may be changed, else a copy of it."""
        if not isinstance(value.type, ArrayType):
            return value
        why = self.conflict(value, live, ignored)
        return self.copied(value, why, origin, out) if why else value

    # -- items ----------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        out: list[Item] = []
        around, self.made = self.made, self.kept.copy()
        with self._given_up(block):
            for item in block.items:
                self.item(item, out)
                if not isinstance(item, Kernel) or item.parts:
                    out.append(item)
        block.items[:] = out
        self.made = around

    @contextmanager
    def _given_up(self, block: Block) -> Iterator[None]:
        """Where a block certainly raises, what it leaves in a caller's array it may store there at once."""
        kept = [item.before for item in block.items if isinstance(item, Keep)]
        before = dict(self.buffers) if kept else {}
        for value in kept:
            mine = self.of(value)
            if not any(v is not value and mine & buffers for v, buffers in before.items()):
                self.put(value, frozenset({Buffer(value.name)}))
        yield
        for value in kept:
            self.put(value, before.get(value, NONE))

    def item(self, item: Item, out: list[Item]) -> None:
        live = self.after(item)
        self.point = self.live.inside[id(item)]
        match item:
            case Let():
                self.let(item)
                self.listed(item, live)
            case Unpack():
                for value in item.values:
                    self.put(value, frozenset({Buffer(value.name)}))
            case Store():
                item.base = self.movable(item.base, live, item.origin, out, [item.out])
                self.put(item.out, self.of(item.base))
            case Invoke():
                self.invoke(item, live, out)
            case Kernel():
                self.kernel(item, live, out)
            case Do() if isinstance(item.base.type, ArrayType):
                self.changing(item, live, out)
            case Do():
                self.push(item, live, out)
            case Keep():
                item.apart = self.of(item.before) != self.of(item.after)
            case Branch():
                self.branch(item)
            case Loop():
                self.loop(item, live, out)

    def invoke(self, item: Invoke, live: Needed, out: list[Item]) -> None:
        """A callee may change an array only if nothing else it is given, or needed later, is in that memory."""
        after = [v for _, _, v in item.changed]
        for k, (position, base, value) in enumerate(item.changed):
            others = frozenset([*item.read, *(b for j, (_, b, _) in enumerate(item.changed) if j != k)])
            base = self.movable(base, live | others, item.origin, out, after)
            item.args[position] = ref(base)
            item.changed[k] = (position, base, value)
            self.put(value, self.of(base))
        for value in item.returned:
            if in_memory(value):
                self.put(value, frozenset({Buffer(value.name)}))

    def let(self, item: Let) -> None:
        if not in_memory(item.value):
            return
        if item.alias is not None:
            own = self.of(item.alias)
            ours = isinstance(item.alias.type, ArrayType) and all(b.owned for b in own)  # a copy would be, too
            shared = NONE if item.same or ours else frozenset(Buffer(b.name, owned=False) for b in own)
            self.put(item.value, own | shared)
        elif isinstance(item.expr, Ref):
            self.put(item.value, self.of(item.expr.value))
        else:
            self.put(item.value, frozenset({Buffer(item.value.name)}))
            self.made |= {item.value} if _makes_anew(item.expr) else set()
            match item.expr:
                case ast.Call(func=ast.Name(id="wrapped" | "extended"), args=[Ref(value=grid), *_]):
                    self.wrapped[item.value] = grid

    def kernel(self, item: Kernel, live: Needed, out: list[Item]) -> None:
        for part in list(item.parts):
            if isinstance(part, LoopStore) and part.base is None:
                self.over_another(item, part, live, out)
        for value, _ in item.fresh:
            self.put(value, frozenset({Buffer(value.name)}))
            self.made.add(value)
        for part in item.parts:
            if isinstance(part, LoopStore) and part.base is not None:
                here = [p.target for p in item.parts if isinstance(p, LoopStore)]
                needed = live | read_around(item, part)
                if self.is_callers(part.base) and not self.conflict(part.base, live, here):
                    self.read_of_copies(item, part.base, needed, here, out)
                    needed = live | read_around(item, part)
                elif fills(part, item) and self.conflict(part.base, needed, here):
                    self.anew(item, part)
                    continue
                if part.base in here and self.conflict(part.base, needed, here):
                    raise InternalError(f"{part.base.name} is made, and has to be copied, in one nest")
                part.base = self.movable(part.base, needed, part.origin, out, here)
                self.put(part.target, self.of(part.base))
                self.made |= {part.target} if part.base in self.made else set()

    def over_another(self, item: Kernel, part: LoopStore, live: Needed, out: list[Item]) -> None:
        """A new array goes where another is of which each element is read for its own, and for nothing later."""
        variables = self.kept_in.get(part.target, frozenset())
        if not (variables or part.target in self.leaving) or not fills(part, item):
            return
        needed = live | read_around(item, part)
        beside = (p for p in item.parts if p.inner == part.inner)
        read = dict.fromkeys(v for other in beside for v, at in other.reads if at == part.at)
        read = {v: None for v in read if not any(self.wrapped.get(w) is v for p in item.parts for w, _ in p.reads)}
        based = {p.target: p.base for p in item.parts if isinstance(p, LoopStore) and p.base is not None}
        for value in read:
            if variables and not any(self.of(based.get(value, value)) == self.of(v) for v in variables):
                continue
            free = value in self.made and self.is_free(value, item, part) and not self.conflict(value, needed)
            if free and value.type == part.target.type:
                item.fresh[:] = [(v, made) for v, made in item.fresh if v is not part.target]
                self.store_over(value, item, part, out)
                return

    def is_free(self, value: Value, item: Kernel, part: LoopStore) -> bool:
        """Whether no other part of a nest stores where an array is, but one that makes it first."""
        stores = [p for p in item.parts if isinstance(p, LoopStore) and p is not part]
        for k, p in enumerate(stores):
            if p.target is value:
                first = item.parts.index(p) < item.parts.index(part)
                return first and p.inner == part.inner and all(s.base is not value for s in stores[k:])
        return all(p.base is None or self.of(p.base).isdisjoint(self.of(value)) for p in stores)

    def store_over(self, value: Value, item: Kernel, part: LoopStore, out: list[Item]) -> None:
        """Let a nest store into another array, which has the new one's name from there on; not what is there."""
        if any(isinstance(p, LoopStore) and p.target is value for p in item.parts):
            part.base = value
            self.put(part.target, self.of(value))
            return
        copies = is_copy(part, value)
        same = part.target if copies else Value(part.target.name, value.type)
        out.append(Let(same, ref(value), item.origin))
        rename(item, {value: same})
        if copies:
            item.parts.remove(part)
        else:
            part.base = same
        for v in (same, part.target):
            self.put(v, self.of(value))

    def is_callers(self, value: Value) -> bool:
        """Whether a value is in memory that the caller sees when an exception is raised, and in no other."""
        return bool(self.of(value)) and self.of(value) <= self.callers

    def read_of_copies(self, item: Kernel, base: Value, needed: Needed, own: Sequence[Value], out: list[Item]) -> None:
        """What may be the memory that a nest stores into is copied before it: the stores stay where they are seen."""
        for other in [v for v in self.beside(base, needed) if v not in own]:
            fresh = self.copied(other, f"{base.name or 'it'} is changed where it is", item.origin, out)
            rename(item, {other: fresh})

    def anew(self, item: Kernel, part: LoopStore) -> None:
        """A store over a whole array that is still needed goes into a new one: there is nothing to copy."""
        assert part.base is not None
        like = ast.Call(ast.Attribute(ast.Name("np", ast.Load()), "empty_like", ast.Load()), [ref(part.base)], [])
        item.fresh.append((part.target, like))
        part.base = None
        self.put(part.target, frozenset({Buffer(part.target.name)}))

    def changing(self, item: Do, live: Needed, out: list[Item]) -> None:
        """A call may change an array that nothing else which it is given, or needed later, shares memory with."""
        assert isinstance(item.call, ast.Call)
        part, *others = item.call.args
        given = frozenset(v for other in others for v in refs(other))
        before, item.base = item.base, self.movable(item.base, live | given, item.origin, out, [item.out])
        item.call = ast.Call(item.call.func, [renamed(part, {before: item.base}), *others], [])
        self.put(item.out, self.of(item.base))

    def push(self, item: Do, live: Needed, out: list[Item]) -> None:
        """A list takes an array as it is; one that is going to be changed is copied first."""
        self.put(item.out, self.of(item.base))
        if item.pushed is None:
            return
        if self.is_changed_later(item.pushed, live):
            assert isinstance(item.call, ast.Call)
            item.call = ast.Call(item.call.func, [*item.call.args[:-1], _copied(item.pushed)], [])
            item.pushed = Value(item.pushed.name, item.pushed.type)
            return
        self.put(item.out, self.of(item.base) | self.of(item.pushed))

    def listed(self, item: Let, live: Needed) -> None:
        """The same of the arrays that a list is made of."""
        made = item.expr.left if isinstance(item.expr, ast.BinOp) else item.expr
        if not isinstance(item.value.type, ListType) or not isinstance(made, ast.List):
            return
        for k, element in enumerate(made.elts):
            if isinstance(element, Ref) and in_memory(element.value):
                if self.is_changed_later(element.value, live):
                    made.elts[k] = _copied(element.value)
                else:
                    self.put(item.value, self.of(item.value) | self.of(element.value))

    def is_changed_later(self, array: Value, live: Needed) -> bool:
        """Whether an array that is put on a list is a caller's, or what is in its memory is going to be changed."""
        changes = any(v in self.consumed for v in self.beside(array, live))
        borrowed = any(not b.owned or b in self.callers for b in self.of(array))
        return changes or borrowed or (array in self.consumed and array in live)

    def branch(self, item: Branch) -> None:
        for side in (item.then, item.orelse):
            self.block(side)
        for k, value in sorted(enumerate(item.outputs), key=lambda pair: pair[1] in self.seen):  # others leave first
            if not in_memory(value):
                continue
            if value in self.consumed:
                self.results_moved(item, k)
            both = [self.of(side.values[k]) for side in (item.then, item.orelse)]
            if both[0] == both[1]:
                self.put(value, both[0])
            elif value in self.consumed:
                self.put(value, self.moved_on(value, both[0] | both[1]))
            else:
                self.put(value, both[0] | both[1])

    def results_moved(self, item: Branch, k: int) -> None:
        """A branch's result that is changed later must be in a buffer of its own."""
        for side in (item.then, item.orelse):
            outside = self.after(item, but=item.outputs)
            others = frozenset(v for j, v in enumerate(side.values) if j != k and in_memory(v))
            apart = isinstance(item.outputs[k].type, ArrayType) and item.outputs[k] not in self.seen
            if apart and self.of(side.values[k]) & self.callers:
                moved = self.copied(side.values[k], "the argument is changed later", item.origin, side.items)
            else:
                moved = self.movable(side.values[k], outside | others, item.origin, side.items)
            side.values[k] = moved
            side.results[k] = ref(moved)

    def moved_on(self, value: Value, before: Buffers) -> Buffers:
        """Memory of a value's own, that it has from others on some path at least."""
        own = Buffer(value.name)
        if before & (self.callers | self.lent):
            self.lent.add(own)
        return frozenset({own})

    def loop(self, item: Loop, live: Needed, out: list[Item]) -> None:
        inner = self.iterating(item)
        inits = list(item.init_values)
        for k, param in enumerate(item.params):
            if not in_memory(param):
                continue
            if self.inplace and inits[k] in self.made:
                self.rebound(item, k, inner)
            if param in self.consumed:
                others = frozenset(v for j, v in enumerate(inits) if j != k and in_memory(v))
                after = self.after(item, but=item.outputs)
                inits[k] = self.movable(inits[k], after | inner | others, item.origin, out)
                item.inits[k] = ref(inits[k])
                self.put(param, frozenset({Buffer(param.name)}))
                if item.outputs[k] in self.seen and self.is_callers(inits[k]):
                    self.callers |= self.of(param)
                elif self.of(inits[k]) & (self.callers | self.lent):
                    self.lent |= self.of(param)
            else:
                self.put(param, self.of(inits[k]) | {Buffer(param.name, owned=False)})
        if item.test is not None:
            self.block(item.test)
        self.block(item.body)
        for k, param in enumerate(item.params):
            if in_memory(param):
                self.loop_result(item, k, inner, inits)

    def rebound(self, item: Loop, k: int, inner: Needed) -> None:
        """Let a loop that binds an array of its own anew, element by element, do so in the memory of the first."""
        others = frozenset(v for j, v in enumerate(item.init_values) if j != k and in_memory(v))
        free = not self.conflict(item.init_values[k], self.after(item, but=item.outputs) | inner | others)
        found = rebound(item, k) if free else Rebound()
        if found.made:
            self.consumed |= found.same
            self.kept |= found.same
            self.kept_in.update(dict.fromkeys(found.made, found.variables))

    def loop_result(self, item: Loop, k: int, inner: Needed, inits: Sequence[Value]) -> None:
        param, output = item.params[k], item.outputs[k]
        values = item.body.values
        if param in self.consumed:
            others = frozenset(v for j, v in enumerate(values) if j != k and in_memory(v))
            moved = self.movable(values[k], inner | others, item.origin, item.body.items)
            values[k] = moved
            item.body.results[k] = ref(moved)
            stays = self.of(moved) == self.of(param)
            before = self.of(inits[k])
            self.put(output, before if stays else self.moved_on(output, before | self.of(moved)))
            self.made |= {output} if stays and inits[k] in self.made else set()
        else:
            self.put(output, self.of(inits[k]) | self.of(values[k]))

    # -- the end of the function ------------------------------------------------------------------

    def changed(self, block: Block, params: Sequence[Value], interface: Interface) -> list[tuple[Value, Value]]:
        """Stores of final contents that are not in the argument's own memory already."""
        pending = []
        for position, k in interface.changed.items():
            param, value = params[position], block.values[k]
            mine, given = self.of(value), self.of(param)
            if not (given <= mine if isinstance(param.type, ListType) else given == mine):  # a list has its items' too
                pending.append((param, value))
        written = frozenset(b for param, _ in pending for b in self.of(param))
        stores = []
        for param, value in pending:
            if self.of(value) & (written - self.of(param)):
                value = self.copied(value, "it is stored into another argument", Origin(), block.items)
            stores.append((param, value))
        return stores

    def returned(self, block: Block, params: Sequence[Value], interface: Interface, written: Buffers) -> None:
        """Arrays handed to the caller are in memory of their own, and not in what is ``written`` at the end."""
        given: Buffers = frozenset(b for k, p in enumerate(params) if k not in interface.owned for b in self.of(p))
        seen = given
        for k in interface.returned:
            value = block.values[k]
            if not isinstance(value.type, ArrayType):
                continue
            mine = self.of(value) - (given - written) if k in interface.borrowed else self.of(value)
            may_be_given = self.lent | self.callers if written else self.lent
            mine |= {b for b in given if not may_be_given.isdisjoint(mine)}
            shared = mine & seen or any(not b.owned for b in mine)
            if shared:
                value = self.copied(value, "it is returned", Origin(), block.items)
                block.values[k] = value
                block.results[k] = ref(value)
            seen |= self.of(value)


__all__ = ["Copied", "Interface", "assign_storage"]
