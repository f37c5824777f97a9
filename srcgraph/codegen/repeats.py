"""Runs of statements that a large function repeats, as kernels that are written, and compiled, once.

The layers of a network written one below the other are the same loops over other arrays. Equal runs are found by
joining neighbours: each statement is a run of its own, and the two that most often stand side by side, with names that
go together in the same way, become one, as long as that leaves less to compile (N. J. Larsson, A. Moffat, "Off-line
dictionary-based compression", 1999).
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from srcgraph.codegen.flow import (
    NOTHING,
    Names,
    NeededNames,
    assigned_names,
    certainly_assigned,
    leaves,
    live_before,
    size,
    target_of,
)
from srcgraph.codegen.outline import MOST_ARGUMENTS, appended, new_list, several
from srcgraph.codegen.statements import defined, statements_in

LIMIT = 120
"""A function of fewer statements than this is left in one piece."""
SMALLEST = 8
"""Fewer statements than this, without a loop among them, are not worth a function."""
LEAST = 12
"""So many statements a function has to save."""

Statements = list[ast.stmt]


def written_once(function: ast.FunctionDef, marked: Names = NOTHING) -> list[ast.FunctionDef]:
    """The function with runs that it repeats replaced by calls: the kernels first, the function last.

    Parameters
    ----------
    function : ast.FunctionDef
    marked : frozenset of str
        Variables that are not compiled as others are: a run that has one is equal only to runs that have one there.
    """
    if size(function.body) <= LIMIT:
        return [function]
    params = frozenset(a.arg for a in function.args.args)
    work = _Repeats(function, params | assigned_names(function.body), marked)
    function.body = work.block(function.body, NOTHING, params)
    return [*work.made, function]


Pair = tuple[int, int, tuple[int, ...]]


@dataclass(slots=True, eq=False)
class _Run:
    """Neighbouring statements.

    Attributes
    ----------
    key : int
        Equal for runs that are equal but for the names of variables.
    names : tuple of str
        The variables, in the order in which the run has them.
    joins : bool
        Whether it may be in a kernel.
    """

    statements: Statements
    key: int
    names: tuple[str, ...]
    joins: bool
    beside: tuple[_Run, Pair] | None = None
    """The run that stands after it, and what both are together."""


@dataclass(slots=True)
class _Repeats:
    function: ast.FunctionDef
    variables: Names
    marked: Names
    keys: dict[Hashable, int] = field(default_factory=dict)
    made: list[ast.FunctionDef] = field(default_factory=list)

    def block(self, body: Statements, after: Names, bound: Names) -> Statements:
        """The block with calls for the runs that it, or a block in it, repeats.

        ``after`` are the names needed after it, ``bound`` those certainly assigned before it.
        """
        before = set(bound)
        needed: NeededNames | None = None
        for k, node in enumerate(body):
            if size([node]) > LIMIT:
                needed = needed or NeededNames.in_block(body, after)
                self.inner(node, needed.all(k), frozenset(before))
            before |= certainly_assigned([node])
        runs = joined([self.run(s) for s in body], self.keys)
        return _Calls(self, runs, after, bound).statements()

    def inner(self, node: ast.stmt, after: Names, bound: Names) -> None:
        """The blocks of a large statement."""
        match node:
            case ast.If():
                node.body = self.block(node.body, after, bound)
                node.orelse = self.block(node.orelse, after, bound)
            case ast.For() | ast.While():
                again = live_before([node], after, NOTHING, NOTHING)
                node.body = self.block(node.body, after | again, bound | assigned_names(target_of(node)))

    def run(self, node: ast.stmt) -> _Run:
        names: dict[str, int] = {}
        form = tuple(self.form(node, names))
        key = self.keys.setdefault(form, len(self.keys))
        return _Run([node], key, tuple(names), _may_move(node))

    def form(self, node: ast.AST, names: dict[str, int]) -> Iterator[Hashable]:
        """What a statement is, with numbers for its variables."""
        if isinstance(node, ast.Name):
            known = node.id in self.variables
            yield names.setdefault(node.id, len(names)) if known else node.id
            yield known and node.id in self.marked
            return
        yield type(node)
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                yield from self.form(value, names)
            elif isinstance(value, list):
                yield len(value)
                for part in value:
                    yield from self.form(part, names)
            else:
                yield type(value), repr(value)

    def kernel(self, equal: Sequence[_Run], inputs: Sequence[int], outputs: Sequence[int]) -> str:
        """A function that does what equal runs do; lines of several places of the user's have no place."""
        first = equal[0]
        for nodes in zip(*(list(statements_in(r.statements)) for r in equal), strict=True):
            if len({n.lineno for n in nodes}) > 1:
                nodes[0].lineno = 0
        body = list(first.statements)
        returned = [first.names[k] for k in outputs]
        if returned:
            body.append(ast.Return(several(returned, ast.Load()), lineno=body[-1].lineno))
        name = self.name(returned)
        self.made.append(defined(name, [first.names[k] for k in inputs], body, self.function.decorator_list))
        return name

    def name(self, made: Sequence[str]) -> str:
        """``f_h``, after the first thing that it makes."""
        base = made[0].rstrip("0123456789").rstrip("_") if made else ""
        base = f"{self.function.name}_{base or 'part'}"
        taken = {k.name for k in self.made} | self.variables
        name, k = base, 1
        while name in taken:
            k += 1
            name = f"{base}_{k}"
        return name


def _may_move(node: ast.stmt) -> bool:
    """Whether a statement may be in a kernel: nothing in it leaves the function, or makes or extends a list."""
    if leaves([node]) or any(True for _ in appended([node])):
        return False
    return not any(isinstance(s, ast.Raise | ast.Pass) or new_list(s) for s in statements_in([node]))


# -- equal runs ---------------------------------------------------------------------------------------


def joined(runs: list[_Run], keys: dict[Hashable, int]) -> list[_Run]:
    """The runs with neighbours joined that stand together as often as that is a gain."""
    refused: set[Hashable] = set()
    while True:
        pairs = _pairs(runs, refused)
        found = max(pairs, key=lambda p: pairs[p], default=None)
        if found is None or pairs[found] < 2:
            return runs
        if _gains(runs, found, pairs[found]):
            runs = _join(runs, found, keys.setdefault(found, len(keys)))
        else:
            refused.add(found)


def _pair(a: _Run, b: _Run) -> Pair:
    """Two runs, and which variables of the second the first has, by position."""
    if a.beside is None or a.beside[0] is not b:
        at = {name: k for k, name in enumerate(a.names)}
        a.beside = b, (a.key, b.key, tuple(at.get(name, -1) for name in b.names))
    return a.beside[1]


def _pairs(runs: Sequence[_Run], refused: set[Hashable]) -> Counter[Pair]:
    """How often two runs stand side by side; nothing stands beside what is equal to it."""
    found: Counter[Pair] = Counter()
    for a, b in itertools.pairwise(runs):
        if a.joins and b.joins and a.key != b.key:
            found[_pair(a, b)] += 1
    for pair in refused:
        found.pop(pair, None)  # type: ignore[call-overload]
    return found


def _gains(runs: Sequence[_Run], pair: Pair, count: int) -> bool:
    """Whether the calls that are saved are more than what has to be written again."""
    first = next(r for r in runs if r.key == pair[0])
    second = next(r for r in runs if r.key == pair[1])
    alone = [r for r in (first, second) if sum(other.key == r.key for other in runs) > count]
    return count > sum(size(r.statements) for r in alone)


def _join(runs: Sequence[_Run], pair: Pair, key: int) -> list[_Run]:
    out: list[_Run] = []
    for run in runs:
        last = out[-1] if out else None
        if last is not None and last.joins and run.joins and _pair(last, run) == pair:
            names = last.names + tuple(n for n in run.names if n not in last.names)
            out[-1] = _Run(last.statements + run.statements, key, names, True)
        else:
            out.append(run)
    return out


# -- kernels ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Kernel:
    """A kernel: which of a run's variables, by position, it takes and returns."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class _Calls:
    """A block whose equal runs become calls.

    Parameters
    ----------
    work : _Repeats
    runs : sequence of _Run
        The block.
    after, bound : frozenset of str
        The names needed after it, and those certainly assigned before it.
    """

    def __init__(self, work: _Repeats, runs: Sequence[_Run], after: Names, bound: Names):
        self.work = work
        self.runs = runs
        self.needed = NeededNames.in_block([s for r in runs for s in r.statements], after)
        self.last = [end - 1 for end in itertools.accumulate(len(r.statements) for r in runs)]
        self.bound = dict.fromkeys(bound, -1)
        """By name: the run that has certainly assigned it, -1 before all of them."""
        for k, run in enumerate(runs):
            for name in certainly_assigned(run.statements):
                self.bound.setdefault(name, k)

    def statements(self) -> Statements:
        counts = Counter(r.key for r in self.runs if r.joins)
        calls: dict[int, ast.stmt] = {}
        for key in dict.fromkeys(r.key for r in self.runs if _is_worth(r, counts[r.key])):
            calls |= self.calls([k for k, r in enumerate(self.runs) if r.key == key])
        return [s for k, r in enumerate(self.runs) for s in ([calls[k]] if k in calls else r.statements)]

    def is_bound(self, name: str, run: int) -> bool:
        """Whether a variable has certainly been assigned before a run."""
        return self.bound.get(name, run) < run

    def calls(self, places: Sequence[int]) -> dict[int, ast.stmt]:
        """Calls of one kernel for equal runs, by place; none where it cannot be a kernel."""
        first = self.runs[places[0]]
        read = live_before(first.statements, NOTHING, NOTHING, NOTHING) & self.work.variables
        inputs = [k for k, name in enumerate(first.names) if name in read]
        places = [p for p in places if all(self.is_bound(self.runs[p].names[k], p) for k in inputs)]
        own, sure = assigned_names(first.statements), certainly_assigned(first.statements)
        outputs = [
            k
            for k, name in enumerate(first.names)
            if name in own and any(self.needed.of([self.runs[p].names[k]], self.last[p]) for p in places)
        ]
        if any(first.names[k] not in sure for k in outputs) or max(len(inputs), len(outputs)) > MOST_ARGUMENTS:
            return {}
        if not _is_worth(first, len(places)):
            return {}
        equal = [self.runs[p] for p in places]
        lines = [r.statements[0].lineno for r in equal]
        name = self.work.kernel(equal, inputs, outputs)
        return {
            p: _called(name, [r.names[k] for k in inputs], [r.names[k] for k in outputs], line)
            for p, r, line in zip(places, equal, lines, strict=True)
        }


def _is_worth(run: _Run, count: int) -> bool:
    length = size(run.statements)
    loops = any(isinstance(s, ast.For | ast.While) for s in statements_in(run.statements))
    return run.joins and count > 1 and length >= (3 if loops else SMALLEST) and (count - 1) * length >= LEAST


def _called(name: str, inputs: Sequence[str], outputs: Sequence[str], line: int) -> ast.stmt:
    call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in inputs], [])
    if not outputs:
        return ast.Expr(call, lineno=line)
    return ast.Assign([several(outputs, ast.Store())], call, lineno=line)
