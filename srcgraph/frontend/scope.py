"""Names per block: what is assigned, what is read, and what is still needed afterwards.

Liveness is computed on tail-form functions, so control flow is nested blocks; it decides which
names an `if` or a loop must hand on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gast

Names = frozenset[str]
COMPREHENSIONS = gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp
NOTHING: Names = frozenset()


@dataclass(slots=True)
class Scope:
    """What is known about the names of one function.

    Attributes
    ----------
    local : frozenset of str
        Parameters and assigned names.
    captured : frozenset of str
        Local names that nested functions see; always live, since a call may come later.
    nonlocals : frozenset of str
        Names it assigns that are variables of the functions around it.
    after : dict
        By ``id`` of an `if` or loop: the names live after it.
    header : dict
        By ``id`` of a loop: the names live where an iteration starts, or live after the loop.
    """

    local: Names = NOTHING
    captured: Names = NOTHING
    nonlocals: Names = NOTHING
    after: dict[int, Names] = field(default_factory=dict)
    header: dict[int, Names] = field(default_factory=dict)


def analyse(function: Any) -> Scope:
    """Compute the scope of a function in tail form, or of a lambda."""
    body = body_of(function)
    scope = Scope(local=own_names(function), nonlocals=declared_nonlocal(function))
    scope.captured = frozenset().union(*(free_names(n) for s in body for n in nested_functions(s))) & scope.local
    if isinstance(function, gast.Lambda):
        return scope
    _Liveness(scope).block(function.body, scope.captured, NOTHING)
    return scope


def parameter_names(function: Any) -> list[str]:
    args = function.args
    extra = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [a.id for a in [*args.posonlyargs, *args.args, *args.kwonlyargs, *extra]]


def nested_functions(node: Any) -> Iterable[Any]:
    """The functions and lambdas directly inside a statement, not those inside them."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, gast.FunctionDef | gast.Lambda):
            yield current
        else:
            stack.extend(gast.iter_child_nodes(current))


def body_of(function: Any) -> list[Any]:
    """The statements of a function, or the expression of a lambda."""
    return [function.body] if isinstance(function, gast.Lambda) else function.body


def declared_nonlocal(function: Any) -> Names:
    """The names a function declares to be those of the functions around it."""
    found: set[str] = set()
    stack = [] if isinstance(function, gast.Lambda) else list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, gast.Nonlocal):
            found.update(node.names)
        elif not isinstance(node, gast.FunctionDef | gast.Lambda):
            stack.extend(gast.iter_child_nodes(node))
    return frozenset(found)


def own_names(function: Any) -> Names:
    """The local names of a function: its parameters and what it assigns."""
    params = frozenset(parameter_names(function))
    if isinstance(function, gast.Lambda):
        return params
    return params | (assigned(function.body) - declared_nonlocal(function))


def free_names(function: Any) -> Names:
    """The names a nested function sees of what is around it, once it is called."""
    inside = frozenset().union(*(reads(s) for s in body_of(function)))
    return (inside | declared_nonlocal(function)) - own_names(function)


def default_reads(function: Any) -> Names:
    """The names the defaults of a nested function read, where it is defined."""
    defaults = [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]
    return frozenset().union(*(reads(d) for d in defaults))


def assigned(block: Sequence[Any]) -> Names:
    """Names that a block binds, nested functions' own names excluded."""
    found: set[str] = set()
    stack = list(block)
    while stack:
        node = stack.pop()
        if isinstance(node, gast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, gast.Lambda | COMPREHENSIONS):
            continue
        else:
            if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store):
                found.add(node.id)
            stack.extend(gast.iter_child_nodes(node))
    return frozenset(found)


def reads(node: Any) -> Names:
    """Names an expression or statement reads, including what nested functions read from here."""
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, gast.FunctionDef | gast.Lambda):
            found |= free_names(current) | default_reads(current)
        elif isinstance(current, COMPREHENSIONS):
            found |= _comprehension_reads(current)
        elif isinstance(current, gast.Name):
            if not isinstance(current.ctx, gast.Store):
                found.add(current.id)
        elif isinstance(current, gast.AnnAssign):
            stack += [c for c in (current.target, current.value) if c is not None]
        else:
            if isinstance(current, gast.AugAssign) and isinstance(current.target, gast.Name):
                found.add(current.target.id)
            stack.extend(gast.iter_child_nodes(current))
    return frozenset(found)


def elements(node: Any) -> list[Any]:
    """What a comprehension computes for each item: an element, or a key and a value."""
    return [node.key, node.value] if isinstance(node, gast.DictComp) else [node.elt]


def _comprehension_reads(node: Any) -> Names:
    """Names a comprehension reads from around it; its targets are its own."""
    own = frozenset().union(*(assigned([g.target]) for g in node.generators))
    parts = [*elements(node), *(t for g in node.generators for t in (*g.ifs, g.iter, g.target))]
    inside = frozenset().union(*map(reads, parts)) - own
    return inside | reads(node.generators[0].iter)


def liveness(scope: Scope, statements: Sequence[Any], after: Names) -> None:
    """Enter what is live in statements that a loop of the function is replaced by."""
    walk = _Liveness(scope)
    walk.kept = scope.captured | after
    walk.block(statements, walk.kept, NOTHING)


class _Liveness:
    """A backward walk; loops are repeated until their header's names stop growing."""

    def __init__(self, scope: Scope):
        self.scope = scope
        self.kept: Names = scope.captured
        """Live everywhere: what nested functions see, and what handlers around may need."""

    def block(self, statements: Sequence[Any], after: Names, loop: Names) -> Names:
        """Names live before ``statements``; ``loop`` are those live where break and continue go."""
        live = after
        for node in reversed(statements):
            live = self.statement(node, live, loop) | self.kept
        return live

    def statement(self, node: Any, live: Names, loop: Names) -> Names:
        match node:
            case gast.If():
                self.scope.after[id(node)] = live
                then = self.block(node.body, live, loop)
                return then | self.block(node.orelse, live, loop) | reads(node.test)
            case gast.While():
                return self.loop(node, live, reads(node.test), NOTHING)
            case gast.For():
                return self.loop(node, live, NOTHING, assigned([node.target])) | reads(node.iter)
            case gast.Return():
                return reads(node) | self.scope.captured
            case gast.Raise():
                return reads(node)
            case gast.Break() | gast.Continue():
                return loop
            case gast.Try():
                return self.try_(node, live, loop)
        return (live - _killed(node)) | reads(node)

    def try_(self, node: Any, live: Names, loop: Names) -> Names:
        """An exception goes from anywhere in the body to what follows."""
        final = self.block(node.finalbody, live, loop)
        before, self.kept = self.kept, self.kept | final
        begin = self.block(node.body, final, loop)
        self.kept = before
        self.scope.after[id(node)] = live.union(
            final, *map(reads, node.body)
        )  # paths may join after ``finalbody``, too
        return begin - node.own

    def loop(self, node: Any, after: Names, test: Names, target: Names) -> Names:
        self.scope.after[id(node)] = after
        header = after | test
        while True:
            before = self.block(node.body, header, header)
            grown = header | (before - target)
            if grown == header:
                break
            header = grown
        self.scope.header[id(node)] = header
        return header


def _killed(node: Any) -> Names:
    """Names a simple statement binds on every path through it."""
    match node:
        case gast.Assign(targets=targets):
            return frozenset().union(*(_bound_names(t) for t in targets))
        case gast.AnnAssign(target=target, value=value) if value is not None:
            return _bound_names(target)
        case gast.FunctionDef(name=name):
            return frozenset((name,))
    return NOTHING


def _bound_names(target: Any) -> Names:
    match target:
        case gast.Name(id=name):
            return frozenset((name,))
        case gast.Tuple(elts=elts) | gast.List(elts=elts):
            return frozenset().union(*map(_bound_names, elts))
        case gast.Starred(value=value):
            return _bound_names(value)
    return NOTHING
