"""What statements read and assign, and which names are needed where."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from srcgraph.codegen.spans import Spans
from srcgraph.codegen.statements import names_in, statements_in

Names = frozenset[str]
NOTHING: Names = frozenset()


def size(block: Sequence[ast.stmt]) -> int:
    """How many statements a block has, inner ones included."""
    return sum(1 for _ in statements_in(block))


def loaded(node: ast.AST) -> set[str]:
    return {n.id for n in names_in(node) if isinstance(n.ctx, ast.Load)}


def assigned_names(block: Sequence[ast.AST]) -> Names:
    return frozenset(n.id for n in names_in(*block) if isinstance(n.ctx, ast.Store))


def target_of(node: ast.stmt) -> list[ast.AST]:
    return [node.target] if isinstance(node, ast.For) else []


def leaves(block: Sequence[ast.stmt], in_loop: bool = False) -> bool:
    """Whether a block returns, or leaves a loop around it."""
    for node in block:
        match node:
            case ast.Return():
                return True
            case ast.Break() | ast.Continue():
                if not in_loop:
                    return True
            case ast.If():
                if leaves(node.body, in_loop) or leaves(node.orelse, in_loop):
                    return True
            case ast.For() | ast.While():
                if leaves(node.body, True):
                    return True
    return False


def certainly_assigned(block: Sequence[ast.stmt]) -> Names:
    """The names assigned on every way through a block."""
    out: set[str] = set()
    for node in block:
        match node:
            case ast.Assign(targets=targets):
                out |= assigned_names(targets)
            case ast.AugAssign(target=target):
                out |= assigned_names([target])
            case ast.If():
                out |= certainly_assigned(node.body) & certainly_assigned(node.orelse)
                if _ends(node.body):
                    out |= certainly_assigned(node.orelse)
    return frozenset(out)


def _ends(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Break | ast.Continue)


def live_before(block: Sequence[ast.stmt], after: Names, on_break: Names, on_continue: Names) -> Names:
    """The names a block needs, given those needed after it."""
    live = set(after)
    for node in reversed(block):
        match node:
            case ast.Assign(targets=targets, value=value):
                live.difference_update(_whole_names(targets))
                live |= loaded(value)
                live |= _read_by_targets(targets)
            case ast.AugAssign(target=target, value=value):
                live |= loaded(value)
                live.update(n.id for n in names_in(target))
            case ast.If():
                now = frozenset(live)
                live = loaded(node.test)
                live.update(*(live_before(b, now, on_break, on_continue) for b in (node.body, node.orelse)))
            case ast.For() | ast.While():
                live = set(_live_before_loop(node, frozenset(live)))
            case ast.Return() | ast.Raise():
                live = loaded(node)
            case ast.Break():
                live = set(on_break)
            case ast.Continue():
                live = set(on_continue)
            case _:
                live |= loaded(node)
    return frozenset(live)


def _live_before_loop(node: ast.For | ast.While, after: Names) -> Names:
    """One pass is enough: what a trip needs, whatever is needed after it, is in what is needed before it."""
    header = after | loaded(node.test) if isinstance(node, ast.While) else after
    body = live_before(node.body, header, after, header) - assigned_names(target_of(node))
    return header | body | loaded(node.iter) if isinstance(node, ast.For) else header | body


def _whole_names(targets: Sequence[ast.expr]) -> list[str]:
    parts = (p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t]))
    return [p.id for p in parts if isinstance(p, ast.Name)]


def _read_by_targets(targets: Sequence[ast.expr]) -> set[str]:
    """``x`` and ``i`` of ``x[i] = v``."""
    return {n.id for t in targets if not isinstance(t, ast.Name | ast.Tuple) for n in names_in(t)}


# -- runs of statements -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effects:
    """What a statement does to names.

    Attributes
    ----------
    size : int
    reads : set of str
        What it needs.
    assigned, certainly, ended : set of str
        What it may assign, what it does on every way, and what of that it does not need.
    leaves : bool
        Whether nothing after it runs.
    """

    size: int
    reads: Names
    assigned: Names
    certainly: Names
    ended: Names
    leaves: bool


def effects(node: ast.stmt) -> Effects:
    """What a statement does to names."""
    match node:
        case ast.Assign(targets=targets, value=value):
            reads = frozenset(loaded(value) | _read_by_targets(targets))
            assigned = frozenset(_whole_names(targets))
            return Effects(1, reads, assigned, assigned, assigned - reads, False)
        case ast.AugAssign(target=target, value=value):
            reads = frozenset((*loaded(value), *(n.id for n in names_in(target))))
            assigned = frozenset(_whole_names([target]))
            return Effects(1, reads, assigned, assigned, NOTHING, False)
        case ast.Expr() | ast.Return() | ast.Raise():
            return Effects(1, frozenset(loaded(node)), NOTHING, NOTHING, NOTHING, not isinstance(node, ast.Expr))
    assigned = assigned_names([node])
    before = live_before([node], assigned, NOTHING, NOTHING)
    reads = live_before([node], NOTHING, NOTHING, NOTHING)
    return Effects(size([node]), reads, assigned, certainly_assigned([node]), assigned - before, False)


class Run:
    """Statements one after another: what they need, and what they assign."""

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.assigned: set[str] = set()
        self.certainly: set[str] = set()
        self.ended: set[str] = set()

    def add(self, one: Effects) -> None:
        """Enter the next statement."""
        self.reads |= one.reads - self.ended
        self.assigned |= one.assigned
        self.certainly |= one.certainly
        self.ended |= one.ended


class NeededNames:
    """Which names are needed after each statement of a block.

    Parameters
    ----------
    block : sequence of Effects
        What its statements do.
    after : collection of str
        The names needed after it.
    """

    def __init__(self, block: Sequence[Effects], after: Collection[str]):
        self._spans: dict[str, Spans] = defaultdict(Spans)
        self._starts: list[list[str]] = [[] for _ in block]
        self._ends: list[list[str]] = [[] for _ in block]
        self._at, self._here = -1, set[str]()
        last = dict.fromkeys(after, len(block) - 1)
        for k in range(len(block) - 1, -1, -1):
            for name in list(last) if block[k].leaves else block[k].ended & last.keys():
                self._enter(name, k, last.pop(name))
            for name in block[k].reads:
                last.setdefault(name, k - 1)
        for name, end in last.items():
            self._enter(name, 0, end)

    def _enter(self, name: str, start: int, end: int) -> None:
        if start <= end:
            self._spans[name].add(start, end)
            self._starts[start].append(name)
            self._ends[end].append(name)

    @staticmethod
    def in_block(block: Sequence[ast.stmt], after: Collection[str]) -> NeededNames:
        return NeededNames([effects(node) for node in block], after)

    def of(self, names: Collection[str], k: int) -> set[str]:
        """Those of some names that are needed after a statement."""
        return {n for n in names if n in self._spans and k in self._spans[n]}

    def all(self, k: int) -> Names:
        """The names needed after a statement; asked for in the order of the statements, it is quick."""
        if k < self._at:
            self._at, self._here = -1, set()
        while self._at < k:
            self._here.difference_update(self._ends[self._at] if self._at >= 0 else ())
            self._at += 1
            self._here.update(self._starts[self._at])
        return frozenset(self._here)
