"""Which names of a function's statements may mean the same memory, and when.

What may be one memory is pairs of names, before each statement; a loop's are those of all its trips. That two names
share memory with a third does not mean that they do with each other: in a loop that ends with ``old, new = new, old``
both may be the argument that ``old`` was, but not at once.

References
----------
W. Landi, B. G. Ryder, "A safe approximate algorithm for interprocedural pointer aliasing", PLDI 1992, 235-248: pairs of
names, statement by statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from srcgraph.codegen.statements import statements_in

NEW = frozenset({"empty", "zeros", "ones", "full", "empty_like", "copy", "edges"})
"""What makes an array of its own, as a function of NumPy's or as a method."""

Pairs = frozenset[tuple[str, str]]
"""Names that may be one memory, in both orders."""


class Aliases:
    """The names of arrays and lists, by the memory they may share.

    Parameters
    ----------
    body : sequence of statements
        The function's.
    params : sequence of str
    held : set of str
        The names of arrays and lists.
    axes : mapping
        How many axes the arrays have.
    views : set of str
        Functions that may return an argument's memory.
    """

    def __init__(
        self,
        body: Sequence[ast.stmt],
        params: Sequence[str],
        held: Set[str],
        axes: Mapping[str, int],
        views: Set[str],
    ):
        self.held = held
        self.axes = axes
        self.views = views
        self.loops: dict[ast.stmt, set[tuple[str, str]]] = {}
        self.open: list[set[tuple[str, str]]] = [set()]
        """What may share memory in the function, and in the loops around a statement."""
        given = frozenset(pair for p in params if p in held for pair in ((p, _callers(p)), (_callers(p), p)))
        self._block(body, self._seen(given))

    def during(self, loop: ast.stmt) -> Shared:
        """What may share memory at some time in a loop of the function."""
        return Shared(self.loops.get(loop, self.open[0]))

    # -- statement by statement ----------------------------------------------------------------------

    def _seen(self, pairs: Pairs) -> Pairs:
        for found in self.open:
            found |= pairs
        return pairs

    def _block(self, body: Sequence[ast.stmt], pairs: Pairs) -> Pairs:
        for node in body:
            match node:
                case ast.If():
                    pairs = self._block(node.body, pairs) | self._block(node.orelse, pairs)
                case ast.For() | ast.While():
                    pairs = self._loop(node, pairs)
                case _:
                    after = self._statement(node, pairs)
                    pairs = pairs if after is pairs else self._seen(after)
        return pairs

    def _loop(self, loop: ast.For | ast.While, pairs: Pairs) -> Pairs:
        """What may share memory after a loop, once a further trip adds nothing to what does before one."""
        leaves = any(isinstance(s, ast.Break | ast.Continue) for s in statements_in(loop.body))
        while True:
            self.open.append(set(pairs))
            inside = self._bound({loop.target: loop.iter}, pairs) if isinstance(loop, ast.For) else pairs
            after = self._block(loop.body, self._seen(inside))
            found = self.open.pop()
            before, pairs = pairs, pairs | (frozenset(found) if leaves else after)
            if pairs == before:
                break
        self.loops[loop] = found
        return self._block(loop.orelse, self._seen(pairs))

    def _statement(self, node: ast.stmt, pairs: Pairs) -> Pairs:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                return self._bound(dict(zip(targets, values, strict=True)), pairs)
            case ast.Assign(targets=targets, value=value):
                parts = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
                return self._bound(dict.fromkeys(parts, value), pairs)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append" | "insert"), args=[*_, item])
            ):
                return self._put(owner, item, pairs)
        return pairs

    def _bound(self, values: Mapping[ast.expr, ast.expr], pairs: Pairs) -> Pairs:
        """After names are bound to values, all at once, and arrays put into lists."""
        sources = {
            target.id: set(self._memory(value))
            for target, value in values.items()
            if isinstance(target, ast.Name) and target.id in self.held
        }
        if sources:
            pairs = _rebound(sources, pairs)
        for target, value in values.items():
            match target:  # elements of arrays are copied
                case ast.Subscript(value=ast.Name(id=name)) if name in self.held and isinstance(value, ast.Name):
                    pairs = self._put(name, value, pairs)
        return pairs

    def _put(self, owner: str, item: ast.expr, pairs: Pairs) -> Pairs:
        """After an array is put into a list, which goes on to have what it had."""
        sources = set(self._memory(item)) if owner in self.held else set()
        if not sources:
            return pairs
        lists, items = _with_others({owner}, pairs), _with_others(sources, pairs)
        return pairs | {(x, y) for a in lists for b in items if a != b for x, y in ((a, b), (b, a))}

    # -- what a value is in ---------------------------------------------------------------------------

    def _memory(self, value: ast.expr) -> Iterator[str]:
        """The names whose memory a value may be in."""
        match value:
            case ast.Name(id=name):
                yield from [name] if name in self.held else []
            case ast.Subscript(value=ast.Name(id=name), slice=index) if self._is_element(name, index):
                pass
            case ast.Attribute(attr="T", value=inner) | ast.Subscript(value=inner):
                yield from self._memory(inner)
            case ast.IfExp(body=one, orelse=other):
                yield from self._memory(one)
                yield from self._memory(other)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                for item in items:
                    yield from self._memory(item)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):  # ``[x] * n``
                yield from [n for e in (left, right) if isinstance(e, ast.List) for n in self._memory(e)]
            case ast.Call(func=ast.Name(id=function), args=args):
                if function in self.views or function == "list":
                    for arg in args:
                        yield from self._memory(arg)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)):
                yield from [owner] if owner in self.held and method not in NEW else []

    def _is_element(self, name: str, index: ast.expr) -> bool:
        """Whether it is a number of an array."""
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        return len(parts) == self.axes.get(name) and all(is_number(p) for p in parts)


class Shared:
    """What may share memory at some time."""

    def __init__(self, pairs: Set[tuple[str, str]]):
        self.pairs = pairs
        self.some = {name for name, _ in pairs}
        self.callers = {name for name, other in pairs if other.startswith(_callers(""))}

    def same(self, a: str, b: str) -> bool:
        """Whether two names may mean the same memory."""
        return a == b or (a, b) in self.pairs

    def alone(self, name: str) -> bool:
        """Whether no other name may mean its memory."""
        return name not in self.some

    def is_callers(self, name: str) -> bool:
        """Whether the caller may see what is stored into an array."""
        return name in self.callers


def _callers(name: str) -> str:
    """What stands for the memory that the caller has of an argument."""
    return f" {name}"


def _with_others(names: Set[str], pairs: Pairs) -> set[str]:
    return {*names, *(b for a, b in pairs if a in names)}


def _rebound(sources: Mapping[str, Set[str]], pairs: Pairs) -> Pairs:
    """After names are bound to the memory of others, all at once."""
    kept = {(a, b) for a, b in pairs if a not in sources and b not in sources}
    reached = {name: _with_others(own, pairs) for name, own in sources.items() if own}
    for name, others in reached.items():
        for other in others - sources.keys():
            kept |= {(name, other), (other, name)}
        for second, own in sources.items():
            if second != name and not own.isdisjoint(others):
                kept |= {(name, second), (second, name)}
    return frozenset(kept)


def is_number(part: ast.expr) -> bool:
    """Whether a part of an index is for one place on one axis; arrays as indices are not written so."""
    if isinstance(part, ast.Constant):
        return isinstance(part.value, int)
    newaxis = isinstance(part, ast.Attribute) and part.attr == "newaxis"
    return not (newaxis or isinstance(part, ast.Starred | ast.Slice))


def makes_array(value: ast.expr) -> bool:
    """Whether it is an array that nothing else means."""
    match value:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name in NEW
    return False
