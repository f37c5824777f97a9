"""A large function as a short driver over named kernels.

numba's compile time grows faster than a function's length, and nobody reads five hundred lines in one
piece. Statements that stand together are moved into functions of their own: what they read becomes
arguments, what they assign and is needed later is returned, arrays are changed in place as before.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from srcgraph.codegen.flow import (
    NOTHING,
    Effects,
    Names,
    NeededNames,
    Run,
    assigned_names,
    effects,
    leaves,
    live_before,
    loaded,
    size,
    target_of,
)
from srcgraph.codegen.statements import defined, names_in, nodes_in, statements_in

LIMIT = 300
"""A function of more statements than this is divided."""
CROWDED = 600
"""So is one with more pairs of a parameter and a statement that raises: numba lets go of all arrays at each."""
SMALLEST = 30
"""Fewer statements than this are not worth a function."""
MOST_ARGUMENTS = 30


def outlined(function: ast.FunctionDef, lines: Mapping[int, int]) -> list[ast.FunctionDef]:
    """The function, divided if it is large: its kernels first, the driver last.

    Parameters
    ----------
    function : ast.FunctionDef
    lines : mapping
        The user's line for each statement's ``lineno``; kernels are named after the lines they hold.
    """
    raises = sum(isinstance(s, ast.Raise) for s in statements_in(function.body))
    if size(function.body) <= LIMIT and raises * len(function.args.args) <= CROWDED:
        return [function]
    lengths = _lengths(function)
    first = [node for _, node in lengths.values()]
    rest = [s for s in function.body if s not in first]
    work = _Outline(function, lines, lengths)
    rest = work.block(rest, NOTHING, frozenset(a.arg for a in function.args.args) | frozenset(lengths))
    read = set().union(*map(loaded, rest))
    function.body = [node for name, (_, node) in lengths.items() if name in read] + rest
    return [*work.kernels, function]


@dataclass(slots=True)
class _Outline:
    function: ast.FunctionDef
    lines: Mapping[int, int]
    lengths: Mapping[str, tuple[str, ast.stmt]]
    kernels: list[ast.FunctionDef] = field(default_factory=list)

    def block(self, body: list[ast.stmt], after: Collection[str], bound: Collection[str]) -> list[ast.stmt]:
        """The block with runs of statements replaced by calls.

        ``after`` are the names needed after it, ``bound`` those certainly assigned before it.
        """
        body = lists_beside_their_use(body)
        known = [effects(node) for node in body]
        needed = NeededNames(known, after)
        bound = set(bound)
        out: list[ast.stmt] = []
        start = 0
        while start < len(body):
            stop = self.stop(body, known, start, needed, bound)
            if stop == start:
                out.append(self.inner(body[start], needed.all(start), bound))
                stop += 1
            else:
                out += self.kernel(body[start:stop], known[start:stop], needed, stop - 1, bound)
            bound.update(*(one.certainly for one in known[start:stop]))
            start = stop
        return out

    def stop(
        self, body: Sequence[ast.stmt], known: Sequence[Effects], start: int, needed: NeededNames, bound: Set[str]
    ) -> int:
        """Where a run ends: before a large statement, or where it would be too large, or pass too much."""
        total = stop = 0
        run = Run()
        for k in range(start, len(body)):
            run.add(known[k])
            total += known[k].size
            if known[k].size > LIMIT:
                return k
            if stop and (total > LIMIT or not self.fits(run, needed.of(run.assigned, k), bound)):
                return stop
            if not stop or not _prepares(body[k]):
                stop = k + 1
        return len(body)

    def fits(self, run: Run, after: Set[str], bound: Set[str]) -> bool:
        inputs, _ = self.passed(run, after, bound)
        return max(len(inputs), len(after)) <= MOST_ARGUMENTS

    def passed(self, run: Run, after: Set[str], bound: Set[str]) -> tuple[set[str], set[str]]:
        """The arguments of a run as a function, and the lengths that it reads from these.

        ``after`` are the names that it assigns and that are needed after it.
        """
        read = {n for n in run.reads if n in bound or n in run.assigned} | (after - run.certainly)
        lengths = {n for n in read & self.lengths.keys() if self.lengths[n][0] in read}
        return read - lengths, lengths

    def inner(self, node: ast.stmt, after: Names, bound: Set[str]) -> ast.stmt:
        """A statement too large for one kernel: its own blocks are divided."""
        match node:
            case ast.If():
                node.body = self.block(node.body, after, bound)
                node.orelse = self.block(node.orelse, after, bound)
            case ast.For() | ast.While():
                again = live_before([node], after, NOTHING, NOTHING)
                node.body = self.block(node.body, after | again, bound | assigned_names(target_of(node)))
        return node

    def kernel(
        self, run: list[ast.stmt], known: Sequence[Effects], needed: NeededNames, last: int, bound: Set[str]
    ) -> list[ast.stmt]:
        """A call of a new function that holds ``run``, or ``run`` itself where that cannot be."""
        tail = run[-1:] if run and isinstance(run[-1], ast.Return) else []
        inside = run[: len(run) - len(tail)]
        if sum(one.size for one in known[: len(inside)]) < SMALLEST or leaves(inside) or _grows_outer_list(inside):
            return run
        whole = Run()
        for one in known[: len(inside)]:
            whole.add(one)
        outputs = needed.of(whole.assigned, last) | whole.assigned & {n for t in tail for n in loaded(t)}
        inputs, lengths = self.passed(whole, outputs, bound)
        if not bound >= inputs or max(len(inputs), len(outputs)) > MOST_ARGUMENTS:
            return run
        first = inside[0].lineno
        inside = [copy.copy(self.lengths[n][1]) for n in sorted(lengths, key=natural)] + inside
        return [*self.called(inside, first, sorted(inputs, key=natural), sorted(outputs, key=natural)), *tail]

    def called(self, inside: list[ast.stmt], first: int, inputs: list[str], outputs: list[str]) -> list[ast.stmt]:
        name = self.name(inside)
        body = list(inside)
        if outputs:
            body.append(ast.Return(several(outputs, ast.Load()), lineno=inside[-1].lineno))
        made = defined(name, inputs, body, self.function.decorator_list)
        self.kernels.append(made)
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in inputs], [])
        if not outputs:
            return [ast.Expr(call, lineno=first)]
        return [ast.Assign([several(outputs, ast.Store())], call, lineno=first)]

    def name(self, inside: Sequence[ast.stmt]) -> str:
        """``f_lines_12_18``: the user's lines; ``_again`` where they come a second time."""
        found = [self.lines[n.lineno] for n in statements_in(inside) if n.lineno in self.lines]
        base = f"{self.function.name}_lines_{min(found)}_{max(found)}" if found else f"{self.function.name}_part"
        taken = {k.name for k in self.kernels}
        name, k = base, 1
        while name in taken:
            k += 1
            name = f"{base}_{k}"
        return name


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts ``b2`` before ``b10``."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def several(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    if len(names) == 1:
        return ast.Name(names[0], context)
    return ast.Tuple([ast.Name(n, context) for n in names], context)


def _prepares(node: ast.stmt) -> bool:
    """Whether a statement makes what the next one fills: an array, a sum, a list."""
    match node:
        case ast.Assign(value=ast.Constant() | ast.List() | ast.Call(func=ast.Attribute(value=ast.Name(id="np")))):
            return True
    return False


def _lengths(function: ast.FunctionDef) -> dict[str, tuple[str, ast.stmt]]:
    """The names that are always one length of one argument, the argument, and the statement that says so."""
    stores = Counter(n.id for n in names_in(*function.body) if isinstance(n.ctx, ast.Store))
    fixed = {a.arg for a in function.args.args if a.arg not in stores}
    found: dict[str, tuple[str, ast.stmt]] = {}
    for node in function.body:
        match node:
            case ast.Assign(
                [ast.Name(id=name)], ast.Subscript(ast.Attribute(ast.Name(id=array), "shape"), ast.Constant())
            ) if stores[name] == 1 and array in fixed:
                found[name] = (array, node)
    return found


# -- lists --------------------------------------------------------------------------------------------


def lists_beside_their_use(block: list[ast.stmt]) -> list[ast.stmt]:
    """Each ``xs = []`` just before the first statement that uses it: numba types a list by its appends."""
    waiting: dict[str, ast.stmt] = {}
    out: list[ast.stmt] = []
    for node in block:
        name = new_list(node)
        if name:
            waiting[name] = node
            continue
        used = {n.id for n in names_in(node)}
        out += [waiting.pop(n) for n in list(waiting) if n in used]
        out.append(node)
    return [*out, *waiting.values()]


def new_list(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _grows_outer_list(block: Sequence[ast.stmt]) -> bool:
    """Whether a block appends to a list made outside it, or makes one that it does not append to."""
    made = {new_list(n) for n in statements_in(block)} - {""}
    return set(appended(block)) != made


def appended(block: Sequence[ast.stmt]) -> Iterator[str]:
    for node in nodes_in(*block):
        if isinstance(node, ast.Attribute) and node.attr == "append" and isinstance(node.value, ast.Name):
            yield node.value.id
