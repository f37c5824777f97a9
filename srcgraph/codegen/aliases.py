"""Which names of a function's statements may mean the same memory.

It does not matter when: two names share memory if anything in the function could make them. Exchanging arrays, as in
``old, new = new, old``, is the exception: names that only ever change places stay apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from srcgraph.codegen.statements import statements_in

NEW = frozenset({"empty", "zeros", "ones", "full", "empty_like", "copy"})
"""What makes an array of its own, as a function of NumPy's or as a method."""


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
        self.parent: dict[str, str] = {}
        self.exchanged: list[frozenset[str]] = []
        self.touched: set[str] = set()
        for node in statements_in(body):
            self._statement(node)
        for names in self.exchanged:  # if one of them is somebody else's memory too, nothing is known of any
            if not names.isdisjoint(self.touched):
                for name in names:
                    self._join(name, min(names))
        self.callers = {self._root(p) for p in params if p in held} - self._remade(body, params)

    def same(self, a: str, b: str) -> bool:
        """Whether two names may mean the same memory."""
        return a == b or self._root(a) == self._root(b)

    def alone(self, name: str) -> bool:
        """Whether no other name may mean its memory."""
        return name not in self.touched and not any(name in e for e in self.exchanged)

    def is_callers(self, name: str) -> bool:
        """Whether the caller may see what is stored into an array."""
        mine = [e for e in self.exchanged if name in e]
        return any(self._root(n) in self.callers for n in {name}.union(*mine))

    # -- how they come to share it -------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                names = [t.id for t in targets if isinstance(t, ast.Name) and t.id in self.held]
                moved = [v.id for v in values if isinstance(v, ast.Name) and v.id in self.held]
                if len(set(names)) > 1 and sorted(names) == sorted(moved) and len(targets) == len(values):
                    self.exchanged.append(frozenset(names))
                    return
                for target, value in zip(targets, values, strict=True):
                    self._assigned(target, value)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                        self._assigned(part, value)
            case ast.For(target=target, iter=run):
                self._assigned(target, run)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[item])):
                self._shared(owner, item)

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name) if name in self.held:
                self._shared(name, value)
            case ast.Subscript(value=ast.Name(id=name)) if name in self.held:
                if isinstance(value, ast.Name):  # an array put into a list; elsewhere elements are copied
                    self._shared(name, value)

    def _shared(self, name: str, value: ast.expr) -> None:
        for other in self._memory(value):
            self.touched |= {name, other} if name != other else set()
            self._join(name, other)

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

    def _remade(self, body: Sequence[ast.stmt], params: Sequence[str]) -> set[str]:
        """Parameters that mean arrays of the function's own before anything else is done: ``x = copy(x)``."""
        found = set()
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in params and makes_array(value):
                    found |= {name} if self.alone(name) else set()
                case ast.Assign(targets=[ast.Name()]):
                    pass
                case _:
                    break
        return found

    # -- sets ----------------------------------------------------------------------------------------

    def _root(self, name: str) -> str:
        while name in self.parent:
            name = self.parent[name]
        return name

    def _join(self, a: str, b: str) -> None:
        a, b = self._root(a), self._root(b)
        if a != b:
            self.parent[a] = b


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
