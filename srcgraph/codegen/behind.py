"""What is computed of an array and then stored into it, element by element, in one loop.

    t = np.empty(n - 2)                                 if n > 2:
    for i in range(n - 2):                                  u_left = u[0]
        t[i] = u[i] - 2.0 * u[i + 1] + u[i + 2]    is       for i in range(n - 2):
    for i in range(n - 2):                                      u_here = u[i + 1]
        u[i + 1] = t[i]                                         u[i + 1] = u_left - 2.0 * u_here + u[i + 2]
                                                                u_left = u_here

The elements that are stored into before they are read for the last time are kept as numbers, of which LLVM has
several steps at a time, too. Of two axes it is rows that are kept, see `delayed`.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, section 8.3: scalar
replacement of values that loops carry.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from srcgraph.codegen.affine import beside, number_of, plus
from srcgraph.codegen.delayed import Accesses, aliased, fresh_names
from srcgraph.codegen.statements import names_in, nodes_in, statements_in, without
from srcgraph.codegen.trips import Exchange, Put, empty_array

MOST = 2
"""So many elements are kept at most."""
FEW = 64
"""A loop of so many steps, a number that is known, is quicker in two."""


def in_one_loop(body: list[ast.stmt], taken: AbstractSet[str]) -> list[ast.stmt]:
    """The statements of a function with such pairs of loops as one; names that are ``taken`` have other meanings."""
    while (gone := _one(body, body, taken)) is not None:
        body = without(body, {gone})
    return body


def _one(block: list[ast.stmt], body: list[ast.stmt], taken: AbstractSet[str]) -> ast.stmt | None:
    """Change a pair; what makes the array that is not needed then."""
    for k, node in enumerate(block):
        for part in ("body", "orelse"):
            if getattr(node, part, None) and (made := _one(getattr(node, part), body, taken)) is not None:
                return made
        after = block[k + 1] if k + 1 < len(block) else None
        pair = _pair(node, after, body) if isinstance(node, ast.For) and isinstance(after, ast.For) else None
        if pair is not None:
            block[k : k + 2] = pair.joined({*taken, *(n.id for n in names_in(*body))})
            return pair.made
    return None


@dataclass(slots=True)
class _Pair:
    """A loop that fills ``array``, and one that stores its elements into another.

    Attributes
    ----------
    made : ast.stmt
        What makes the array.
    stored : str
        The array that is stored into.
    place : int
        How far from the loop's number the store is.
    least : int
        The same of the first element that is read.
    """

    first: ast.For
    second: ast.For
    array: str
    made: ast.stmt
    stored: str
    place: int
    least: int

    @property
    def kept(self) -> int:
        return max(self.place - self.least, 0)

    def joined(self, taken: set[str]) -> list[ast.stmt]:
        assert isinstance(self.first.target, ast.Name) and isinstance(self.second.target, ast.Name)
        index, *steps, last = self.first.target.id, *self.first.body
        assert isinstance(last, ast.Assign)
        fresh = fresh_names(taken)
        names = {0: fresh(f"{self.stored}_here")} if self.kept else {}
        names |= {-k: fresh(f"{self.stored}_left") for k in range(1, self.kept + 1)}
        kept = _Kept(self.stored, index, {self.place + k: name for k, name in names.items()})
        steps = [kept.visit(s) for s in steps]
        value = kept.visit(last.value)
        later = [Exchange(self.second.target.id, index).visit(s) for s in self.second.body]
        elements = {n for n in nodes_in(*later) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == self.array}
        if len(elements) > 1 and not isinstance(value, ast.Name):
            steps.append(ast.copy_location(ast.Assign([ast.Name(self.array, ast.Store())], value), last))
            value = ast.Name(self.array, ast.Load())
        later = [Put(elements, value).visit(s) for s in later]
        moved = [self.bound(names[-k], ast.Name(names[1 - k], ast.Load())) for k in range(self.kept, 0, -1)]
        here = [self.bound(names[0], self.element(plus(ast.Name(index, ast.Load()), self.place)))] if names else []
        self.first.body = [*here, *steps, *later, *moved]
        return self.begun(names)

    def begun(self, names: Mapping[int, str]) -> list[ast.stmt]:
        """The loop, and before it the elements to its left, if there are any."""
        if not self.kept:
            return [self.first]
        assert isinstance(self.first.iter, ast.Call)
        first = [self.bound(names[-k], self.element(ast.Constant(self.place - k))) for k in range(self.kept, 0, -1)]
        match self.first.iter.args[0]:
            case ast.BinOp(left=count, op=ast.Sub(), right=ast.Constant() as few):
                pass
            case count:
                few = ast.Constant(0)
        test = ast.Compare(count, [ast.Gt()], [few])
        return [ast.copy_location(ast.If(test, [*first, self.first], []), self.first)]

    def element(self, at: ast.expr) -> ast.expr:
        return ast.Subscript(ast.Name(self.stored, ast.Load()), at, ast.Load())

    def bound(self, name: str, value: ast.expr) -> ast.stmt:
        return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), self.first.body[0])


class _Kept(ast.NodeTransformer):
    """Names in place of some elements of an array, by how far from a loop's number they are."""

    def __init__(self, array: str, index: str, names: Mapping[int, str]):
        self.array, self.index, self.names = array, index, names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node.value) != self.array:
            return node
        by = beside(node.slice, self.index)
        return ast.Name(self.names[by], ast.Load()) if by is not None and by in self.names else node


class _Elements(Accesses):
    """What a loop over numbers does, elements of arrays of one axis told apart."""

    def access(self, name: str, node: ast.Subscript) -> bool:
        if isinstance(node.slice, ast.Tuple):
            self.rows[name] = None
            return all(map(self.expr, node.slice.elts))
        self.uses[name] = self.uses.get(name, 0) + 1
        at, known = beside(node.slice, self.index), self.rows.get(name, set())
        self.rows[name] = None if at is None or known is None else known | {at}
        return self.expr(node.slice)


def _pair(first: ast.For, second: ast.For, body: Sequence[ast.stmt]) -> _Pair | None:
    if not _over_the_same(first, second) or any(isinstance(s, ast.For) for s in (*first.body, *second.body)):
        return None
    match first.body[-1]:
        case ast.Assign(targets=[ast.Subscript(ast.Name(id=array), ast.Name())]):
            pass
        case _:
            return None
    ours, theirs = _Elements.of(first), _Elements.of(second)
    if ours is None or theirs is None or not ours.is_apart(theirs) or ours.written != {array}:
        return None
    both = theirs.written & ours.read
    if len(both) != 1 or array in theirs.written or not {0} == ours.rows.get(array) == theirs.rows.get(array):
        return None
    (stored,) = both
    places, read = theirs.rows.get(stored), ours.rows.get(stored)
    if not places or not read or len(places) != 1 or min(read) < 0 or aliased(ours, theirs, body):
        return None
    made = _made(array, body, 1 + ours.uses[array] + theirs.uses[array])
    if made is None or not (_is_float(made) or _is_moved(second, array)):
        return None
    found = _Pair(first, second, array, made, stored, max(places), min(read))
    return found if found.kept <= MOST and _ends_with_loops(second.target, body) else None


def _ends_with_loops(index: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """Whether the variable of a loop is used in loops over it only."""
    name = ast.unparse(index)
    loops = [s for s in statements_in(body) if isinstance(s, ast.For) and ast.unparse(s.target) == name]
    inside = {n for s in loops for n in names_in(s) if n.id == name}
    return len(inside) == sum(n.id == name for n in names_in(*body))


def _over_the_same(first: ast.For, second: ast.For) -> bool:
    match first, second:
        case (
            ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[end]), orelse=[]),
            ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[other]), orelse=[]),
        ) if ast.unparse(end) == ast.unparse(other):
            steps = number_of(end)
            return steps is None or steps > FEW
    return False


def _made(array: str, body: Sequence[ast.stmt], uses: int) -> ast.stmt | None:
    """The one statement that makes an array of which all uses are so many."""
    found = [s for s in statements_in(body) if empty_array(s) == array]
    return found[0] if len(found) == 1 and sum(n.id == array for n in names_in(*body)) == uses else None


def _is_float(made: ast.stmt) -> bool:
    """Whether an array is of numbers as they are computed: its dtype is not written out."""
    return len(made.value.args) == 1 and not made.value.keywords  # type: ignore[attr-defined]


def _is_moved(loop: ast.For, array: str) -> bool:
    """Whether a loop does nothing but to store the elements of an array somewhere else."""
    match loop.body:
        case [ast.Assign(targets=[ast.Subscript()], value=ast.Subscript(value=ast.Name(id=name)))]:
            return name == array
    return False
