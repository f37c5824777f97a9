"""Arrays that one way computes of others and the other way leaves as they are, computed where these are.

    if s > 0.0:                               if s > 0.0:
        v = np.empty(n)                           for i in range(n):
        for i in range(n):          is                w[i] = w[i] / s
            v[i] = w[i] / s
    else:
        v = w

where nothing needs ``w`` any more: the rest reads ``w`` for ``v``. So it is where a way ends with ``w = v``.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import axes_of
from srcgraph.codegen.buffers import as_empty, known_otherwise, makes_array
from srcgraph.codegen.statements import names_in, nodes_in, statements_in, target_name, without
from srcgraph.codegen.trips import Exchange, empty_array


def overwritten(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with such arrays in one place."""
    if any(isinstance(s, ast.If) and s.orelse for s in statements_in(function.body)):
        _block(function.body, function)
        _rebound(function)
    return function


def _block(body: list[ast.stmt], function: ast.FunctionDef) -> None:
    for k, s in enumerate(list(body)):
        for part in ("body", "orelse"):
            if inner := getattr(s, part, None):
                _block(inner, function)
        found = next(_found(body, k), None) if isinstance(s, ast.If) and s.orelse else None
        if found is not None and found.may_stay(body, k, function):
            found.stay(body, k)


def _rebound(function: ast.FunctionDef) -> None:
    """Compute arrays in place that a way makes and then puts in place of those that they are computed of."""
    ways = [w for s in statements_in(function.body) if isinstance(s, ast.If) for w in (s.body, s.orelse)]
    for way in ways:
        match way[-3:]:
            case [ast.Assign() as made, ast.For() as nest, ast.Assign() as handed] if empty_array(made):
                new, old = target_name(made), target_name(handed)
                same = isinstance(handed.value, ast.Name) and handed.value.id == new
                if same and _fills(nest, new, old) and _is_always_alike(function, (made, nest, handed), new, old):
                    way[-3:] = [Exchange(new, old).visit(nest)]


def _is_always_alike(function: ast.FunctionDef, way: Sequence[ast.stmt], new: str, old: str) -> bool:
    """Whether all that a name ever is are arrays of one shape that nothing else knows, and the other is used in a way
    alone."""
    made, handed = way[0], way[-1]
    stores = Counter(n.id for n in names_in(*function.body) if isinstance(n.ctx, ast.Store))
    uses, inside = (Counter(n.id for n in names_in(*part)) for part in (function.body, way))
    params = {a.arg for a in function.args.args}
    others = [s for s in statements_in(function.body) if makes_array(s) and target_name(s) == old]
    if not others or stores[old] != len(others) + 1 or old in params or uses[new] != inside[new]:
        return False
    first = {n.id for s in function.body if isinstance(s, ast.Assign) for n in names_in(*s.targets)}
    sizes = {n.id for n in names_in(*as_empty(made))} - {"np", "max", "min"}  # type: ignore[arg-type]
    if any(stores[x] + (x in params) != 1 or x not in first | params for x in sizes):
        return False
    axes = {old: len(axes_of(made.value.args[0]))}  # type: ignore[attr-defined]
    alike = all(_kind(s) == _kind(made) for s in others)
    return alike and not known_otherwise(without(function.body, {handed}), axes) & {old}


@dataclass(frozen=True, slots=True)
class _Overwritten:
    """An array that a way makes, the loops that fill it, and what it is on the other way."""

    branch: ast.If
    way: list[ast.stmt]
    made: ast.Assign
    left: ast.Assign
    new: str
    old: str

    def may_stay(self, body: Sequence[ast.stmt], k: int, function: ast.FunctionDef) -> bool:
        """Whether the old array is made in the block before the branch, which stands ``k`` a place, and neither is used
        anywhere else: one from there to the branch, the other from the branch on."""
        makers = [at for at, s in enumerate(body[:k]) if makes_array(s) and target_name(s) == self.old]
        if len(makers) != 1 or _kind(body[makers[0]]) != _kind(self.made):
            return False
        until, since = body[makers[0] : k + 1], body[k:]
        everywhere, before, after = (Counter(n.id for n in names_in(*part)) for part in ([function], until, since))
        stored = Counter(n.id for n in names_in(*until) if isinstance(n.ctx, ast.Store))
        if before[self.old] != everywhere[self.old] or after[self.new] != everywhere[self.new]:
            return False
        if stored[self.old] != 1 or stored[self.new] != 2 or any(stored[n.id] for n in names_in(self.made.value)):
            return False
        axes = {self.old: len(axes_of(self.made.value.args[0]))}  # type: ignore[attr-defined]
        return not known_otherwise(without(until, {self.left}), axes) & {self.old} and self.is_filled()

    def is_filled(self) -> bool:
        """Whether elements of the old array are read where the new one's are stored, and before that."""
        users = [s for s in self.way if any(n.id in (self.new, self.old) for n in names_in(s)) and s is not self.made]
        return len(users) == 1 and _fills(users[0], self.new, self.old)

    def stay(self, body: list[ast.stmt], k: int) -> None:
        other = self.branch.orelse if self.way is self.branch.body else self.branch.body
        self.way.remove(self.made)
        other.remove(self.left)
        body[k + 1 :] = [Exchange(self.new, self.old).visit(s) for s in body[k + 1 :]]
        for way in (self.branch.body, self.branch.orelse):
            way[:] = [Exchange(self.new, self.old).visit(s) for s in way]
        if not self.branch.body:
            self.branch.test = ast.UnaryOp(ast.Not(), self.branch.test)
            self.branch.body, self.branch.orelse = self.branch.orelse, []


def _found(body: Sequence[ast.stmt], k: int) -> Iterator[_Overwritten]:
    branch = body[k]
    assert isinstance(branch, ast.If)
    for way, other in ((branch.body, branch.orelse), (branch.orelse, branch.body)):
        made = {target_name(s): s for s in way if empty_array(s)}
        for s in other:
            match s:
                case ast.Assign(targets=[ast.Name(id=new)], value=ast.Name(id=old)) if new in made:
                    yield _Overwritten(branch, way, made[new], s, new, old)  # type: ignore[arg-type]


def _fills(s: ast.stmt, new: str, old: str) -> bool:
    """Whether loops around each other store into one array where they read another one, or one number after another."""
    indices: list[str] = []
    while isinstance(s, ast.For) and isinstance(s.target, ast.Name) and not s.orelse:
        indices.append(s.target.id)
        inner = [x for x in s.body if any(n.id in (new, old) for n in names_in(x))]
        if len(inner) > 1 or not inner or not isinstance(inner[0], ast.For):
            return _is_in_place(s.body, new, old, indices)
        s = inner[0]
    return False


def _is_in_place(body: Sequence[ast.stmt], new: str, old: str, indices: Sequence[str]) -> bool:
    """Whether elements are read at the place of the only one that is stored, and not after that."""
    elements = [n for n in nodes_in(*body) if isinstance(n, ast.Subscript) and ast.unparse(n.value) in (new, old)]
    stores = [k for k, s in enumerate(body) if isinstance(s, ast.Assign) and any(e is s.targets[0] for e in elements)]
    reads = [k for k, s in enumerate(body) for n in names_in(s) if n.id == old]
    if len(stores) != 1 or not all(isinstance(s, ast.Assign) for s in body) or any(k > stores[0] for k in reads):
        return False
    here = all([ast.unparse(e) for e in axes_of(n.slice)] == list(indices) for n in elements)
    return here and sum(n.id in (new, old) for n in names_in(*body)) == len(elements) == len(reads) + 1


def _kind(made: ast.stmt) -> str:
    """The lengths, and the dtype, of an array that is made."""
    return ast.dump(ast.Tuple(as_empty(made), ast.Load()))  # type: ignore[arg-type]
