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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from srcgraph.codegen.statements import names_in, statements_in

Names = frozenset[str]
NOTHING: Names = frozenset()

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


def size(block: Sequence[ast.stmt]) -> int:
    """How many statements a block has, inner ones included."""
    return sum(1 for _ in statements_in(block))


@dataclass(slots=True)
class _Outline:
    function: ast.FunctionDef
    lines: Mapping[int, int]
    lengths: Mapping[str, tuple[str, ast.stmt]]
    kernels: list[ast.FunctionDef] = field(default_factory=list)

    def block(self, body: list[ast.stmt], after: Names, bound: Names) -> list[ast.stmt]:
        """The block with runs of statements replaced by calls.

        ``after`` are the names needed after it, ``bound`` those certainly assigned before it.
        """
        body = lists_beside_their_use(body)
        live = live_after_each(body, after)
        out: list[ast.stmt] = []
        start = 0
        while start < len(body):
            stop = self.stop(body, start, live, bound)
            if stop == start:
                out.append(self.inner(body[start], live[start], bound))
                stop += 1
            else:
                out += self.kernel(body[start:stop], live[stop - 1], bound)
            bound |= certainly_assigned(body[start:stop])
            start = stop
        return out

    def stop(self, body: Sequence[ast.stmt], start: int, live: Sequence[Names], bound: Names) -> int:
        """Where a run ends: before a large statement, or where it would be too large, or pass too much."""
        total = stop = 0
        for k in range(start, len(body)):
            length = size([body[k]])
            total += length
            if length > LIMIT:
                return k
            if stop and (total > LIMIT or not self.fits(body[start : k + 1], live[k], bound)):
                return stop
            if not stop or not _prepares(body[k]):
                stop = k + 1
        return len(body)

    def fits(self, run: Sequence[ast.stmt], after: Names, bound: Names) -> bool:
        inputs, _, outputs = self.passed(run, after, bound)
        return max(len(inputs), len(outputs)) <= MOST_ARGUMENTS

    def passed(self, run: Sequence[ast.stmt], after: Names, bound: Names) -> tuple[list[str], list[str], list[str]]:
        """The arguments of a run as a function, the lengths that it reads from these, and what it returns."""
        own = assigned_names(run)
        read = live_before(run, NOTHING, NOTHING, NOTHING) & (bound | own)
        outputs = sorted(own & after, key=natural)
        read |= own & after - certainly_assigned(run)
        lengths = [n for n in sorted(read, key=natural) if n in self.lengths and self.lengths[n][0] in read]
        return sorted(read.difference(lengths), key=natural), lengths, outputs

    def inner(self, node: ast.stmt, after: Names, bound: Names) -> ast.stmt:
        """A statement too large for one kernel: its own blocks are divided."""
        match node:
            case ast.If():
                node.body = self.block(node.body, after, bound)
                node.orelse = self.block(node.orelse, after, bound)
            case ast.For() | ast.While():
                again = live_before([node], after, NOTHING, NOTHING)
                node.body = self.block(node.body, after | again, bound | assigned_names(target_of(node)))
        return node

    def kernel(self, run: list[ast.stmt], after: Names, bound: Names) -> list[ast.stmt]:
        """A call of a new function that holds ``run``, or ``run`` itself where that cannot be."""
        tail = run[-1:] if run and isinstance(run[-1], ast.Return) else []
        inside = run[: len(run) - len(tail)]
        after = after | frozenset(n for t in tail for n in loaded(t))
        if size(inside) < SMALLEST or leaves(inside) or _grows_outer_list(inside):
            return run
        inputs, lengths, outputs = self.passed(inside, after, bound)
        if not bound.issuperset(inputs) or max(len(inputs), len(outputs)) > MOST_ARGUMENTS:
            return run
        first = inside[0].lineno
        inside = [copy.copy(self.lengths[n][1]) for n in lengths] + inside
        return [*self.called(inside, first, inputs, outputs), *tail]

    def called(self, inside: list[ast.stmt], first: int, inputs: list[str], outputs: list[str]) -> list[ast.stmt]:
        name = self.name(inside)
        body = list(inside)
        if outputs:
            body.append(ast.Return(several(outputs, ast.Load()), lineno=inside[-1].lineno))
        args = ast.arguments([], [ast.arg(n) for n in inputs], None, [], [], None, [])
        made = ast.FunctionDef(name, args, body, list(self.function.decorator_list), None, lineno=0)
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


# -- what statements read and assign ----------------------------------------------------------------


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
    out: Names = NOTHING
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
    return out


def _ends(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Break | ast.Continue)


def live_after_each(block: Sequence[ast.stmt], after: Names) -> list[Names]:
    """The names needed after each statement of a block."""
    out: list[Names] = []
    for node in reversed(block):
        out.append(after)
        after = live_before([node], after, after, after)
    return out[::-1]


def live_before(block: Sequence[ast.stmt], after: Names, on_break: Names, on_continue: Names) -> Names:
    """The names a block needs, given those needed after it."""
    live = after
    for node in reversed(block):
        match node:
            case ast.Assign(targets=targets, value=value):
                live = (live - _whole_names(targets)) | loaded(value) | _read_by_targets(targets)
            case ast.AugAssign(target=target, value=value):
                live = live | loaded(value) | {n.id for n in names_in(target)}
            case ast.If():
                sides = (live_before(b, live, on_break, on_continue) for b in (node.body, node.orelse))
                live = NOTHING.union(*sides, loaded(node.test))
            case ast.For() | ast.While():
                live = _live_before_loop(node, live)
            case ast.Return() | ast.Raise():
                live = frozenset(loaded(node))
            case ast.Break():
                live = on_break
            case ast.Continue():
                live = on_continue
            case _:
                live = live | loaded(node)
    return live


def _live_before_loop(node: ast.For | ast.While, after: Names) -> Names:
    """One pass is enough: what a trip needs, whatever is needed after it, is in what is needed before it."""
    header = after | loaded(node.test) if isinstance(node, ast.While) else after
    body = live_before(node.body, header, after, header) - assigned_names(target_of(node))
    return header | body | loaded(node.iter) if isinstance(node, ast.For) else header | body


def _whole_names(targets: Sequence[ast.expr]) -> Names:
    found: set[str] = set()
    for target in targets:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        found.update(p.id for p in parts if isinstance(p, ast.Name))
    return frozenset(found)


def _read_by_targets(targets: Sequence[ast.expr]) -> set[str]:
    """``x`` and ``i`` of ``x[i] = v``."""
    return {n.id for t in targets if not isinstance(t, ast.Name | ast.Tuple) for n in names_in(t)}


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
    for node in (n for s in block for n in ast.walk(s)):
        if isinstance(node, ast.Attribute) and node.attr == "append" and isinstance(node.value, ast.Name):
            yield node.value.id
