"""What the trips of a loop do, and which loops LLVM takes several trips of at a time."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeGuard

from srcgraph.codegen.flow import NOTHING, assigned_names, live_before
from srcgraph.codegen.statements import is_pure, names_in, statements_in
from srcgraph.codegen.sums import Start

_INSTRUCTIONS = (
    "float",
    "int",
    "bool",
    "np.intp",
    "np.int64",
    "np.float64",
    "np.float32",
    "abs",
    "max",
    "min",
    "np.sign",
)
"""Functions that processors have."""


def loop_before(block: Sequence[ast.stmt], watched: Set[str]) -> int | None:
    """Where the last loop of a block is, if nothing follows but numbers, checks and new arrays that it has nothing to
    do with.

    These may as well be there before it. Integers that are ``watched`` may raise.
    """
    k = len(block) - 1
    while k > 0 and _is_of_numbers(block[k]):
        k -= 1
    loop = block[k] if k >= 0 else None
    if not isinstance(loop, ast.For):
        return None
    after = block[k + 1 :]
    changed, given = assigned_names([loop]) | stored_arrays(loop.body), assigned_names(after)
    apart = changed.isdisjoint(n.id for n in names_in(*after)) and given.isdisjoint(n.id for n in names_in(loop))
    raises = any(is_check(s) or grows(s, watched) for s in after) and may_raise(loop, watched)
    return k if apart and not raises else None


def _is_of_numbers(s: ast.stmt) -> bool:
    """Whether a statement begins a sum, makes an array, computes a number or checks it."""
    match s:
        case ast.Assign(targets=[ast.Name()]):
            return isinstance(s, Start) or _made_axes(s.value) is not None or not calls_functions([s])
    return is_check(s) and not calls_functions([s])


def is_plain(s: ast.stmt) -> bool:
    """Whether a statement computes numbers, or raises, or stores an element, and changes nothing else."""
    match s:
        case ast.Assign(targets=[ast.Name() | ast.Subscript()], value=value) | ast.AugAssign(value=value):
            return is_pure(value)
        case ast.If(test=test) | ast.While(test=test):
            return is_pure(test)
        case ast.For(target=ast.Name(), iter=run):
            return is_pure(run)
    return isinstance(s, ast.Raise)


def empty_array(s: ast.stmt) -> str:
    """The array that a statement makes without a content."""
    match s:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(ast.Name("np"), "empty"))):
            return name
    return ""


def may_raise(loop: ast.For, watched: Set[str]) -> bool:
    """Whether something may be raised in a loop, for integers that are ``watched`` too."""
    return any(isinstance(s, ast.Raise) or grows(s, watched) for s in statements_in(loop.body))


@dataclass(frozen=True, slots=True)
class Repeated:
    """What a loop need not do as another one does it in the same trip.

    Attributes
    ----------
    statements : list of ast.stmt
    names : dict
        Numbers that have another name there.
    """

    statements: list[ast.stmt] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def assigned(self) -> Set[str]:
        return assigned_names(self.statements)

    def left_of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of the loop but for these."""
        left = [s for s in body if s not in self.statements]
        for old, new in self.names.items():
            left = [Exchange(old, new).visit(s) for s in left]
        return left


def repeated(first: ast.For, second: ast.For, is_local: Callable[[str], bool]) -> Repeated:
    """The numbers and checks of a loop that each trip of the one before it has, too; numbers of other names there, if
    they are ``is_local``, needed nowhere else."""
    found = Repeated()
    assigned = Counter(n.id for loop in (first, second) for n in names_in(*loop.body) if isinstance(n.ctx, ast.Store))
    changed = {*assigned, *stored_arrays([*first.body, *second.body])}
    there = {_form(s.value, first): _name(s) for s in first.body if _is_number(s) and assigned[_name(s)] <= 2}
    checks = {_form(s, first) for s in first.body if is_check(s)}
    if not there:
        return found
    handed = live_before(second.body, NOTHING, NOTHING, NOTHING)
    for s in second.body:
        if not changed.isdisjoint(read_in(s)):
            continue
        if is_check(s) and _form(s, second, found.names) in checks:
            found.statements.append(s)
        elif _is_number(s) and (other := there.get(_form(s.value, second, found.names))) and _name(s) not in handed:
            name = _name(s)
            if assigned[name] == 2 if name == other else assigned[name] == assigned[other] == 1 and is_local(name):
                found.statements.append(s)
                found.names.update({name: other} if name != other else {})
                changed.remove(name)
    return found


def _is_number(s: ast.stmt) -> TypeGuard[ast.Assign]:
    return isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and len(s.targets) == 1 and is_pure(s)


def _name(s: ast.Assign) -> str:
    assert isinstance(s.targets[0], ast.Name)
    return s.targets[0].id


def _form(node: ast.AST, loop: ast.For, names: Mapping[str, str] | None = None) -> str:
    """The text of a part of a loop, the loop's variable aside."""
    assert isinstance(loop.target, ast.Name)
    node = Exchange(loop.target.id, "").visit(copy.deepcopy(node))
    for old, new in (names or {}).items():
        node = Exchange(old, new).visit(node)
    return ast.dump(node)


class Exchange(ast.NodeTransformer):
    """One name in place of another."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.new, node.ctx), node) if node.id == self.old else node


class Put(ast.NodeTransformer):
    """A number in place of some elements."""

    def __init__(self, nodes: Set[ast.AST], value: ast.expr):
        self.nodes, self.value = nodes, value

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self.value if node in self.nodes else self.generic_visit(node)  # type: ignore[return-value]


# -- checks ------------------------------------------------------------------------------------------------


def is_check(s: ast.stmt) -> bool:
    match s:
        case ast.If(body=[ast.Raise()], orelse=[]):
            return True
    return False


def turn_of(check: ast.stmt) -> int:
    """When a check is made: all of a loop's trips make those of turn 0 before any makes one of turn 1.

    Loops that are joined have such checks. `srcgraph.codegen.checked` writes what that is.
    """
    return getattr(check, "turn", 0)


def take_turns(first: ast.For, second: ast.For, again: Repeated, watched: Set[str]) -> bool:
    """Let the checks of a loop be made after all of the one before it, in the same trips; False if they cannot be.

    What is done ``again`` is that of the first.
    """
    stored = stored_arrays([*first.body, *second.body])
    assigned = Counter(n for s in (*first.body, *second.body) for n in assigned_names([s]) if s not in again.statements)
    for loop in (first, second):
        others, checks = [s for s in loop.body if not is_check(s)], asked(loop, stored)
        if any(isinstance(s, ast.Raise) or grows(s, watched) for s in statements_in(others)):
            return False
        if checks is None or any(assigned[n] > 1 for n in assigned_names(checks)):
            return False
    before = max(map(turn_of, first.body)) + 1
    for check in filter(is_check, second.body):
        check.turn = turn_of(check) + before  # type: ignore[attr-defined]
    return True


def asked(loop: ast.For, stored: Set[str]) -> list[ast.stmt] | None:
    """The checks of a loop, and what computes what they ask, in order; None if that depends on other trips, or on
    arrays that are ``stored`` into, or takes long."""
    own = assigned_names(loop.body)
    found: list[ast.stmt] = []
    wanted: set[str] = set()
    for s in reversed(loop.body):
        if is_check(s) or not wanted.isdisjoint(assigned_names([s])):
            if not isinstance(s, ast.Assign | ast.If) or calls_functions([s]) or not stored.isdisjoint(read_in(s)):
                return None
            if isinstance(s, ast.If) and not is_check(s):
                return None
            wanted |= {n.id for n in names_in(s)} & own
            found.append(s)
    made = Counter(n for s in loop.body for n in assigned_names([s]))
    known: set[str] = set()
    for s in reversed(found):
        if not (read_in(s) & wanted) <= known or any(made[n] > 1 for n in assigned_names([s])):
            return None
        known |= assigned_names([s])
    return found[::-1]


def read_in(s: ast.stmt) -> set[str]:
    return {n.id for n in names_in(s) if isinstance(n.ctx, ast.Load)}


def _whole_names(value: ast.expr) -> Iterator[str]:
    """The names that a value is, or has as items."""
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=items):
            for item in items:
                yield from _whole_names(item)


def own_arrays(body: Sequence[ast.stmt], axes: Mapping[str, int] = MappingProxyType({})) -> frozenset[str]:
    """The arrays that statements make, and of which nothing but elements and the shape is used, or which are returned.

    Of arrays that are copies it has to be said how many ``axes`` they have.
    """
    made: dict[str, int] = {}
    fine: Counter[str] = Counter()
    for s in statements_in(body):
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (ndim := _made_axes(value)) is not None:
                fine[name] += 1 if made.setdefault(name, ndim) == ndim else 0
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in axes and copied_array(value):
                fine[name] += 1 if made.setdefault(name, axes[name]) == axes[name] else 0
            case ast.Return(value=value) if value is not None:
                fine.update(_whole_names(value))
    for node in (n for s in body for n in ast.walk(s)):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if made.get(name) == _element_axes(index):
                fine[name] += 1
            case ast.Attribute(value=ast.Name(id=name), attr="shape"):
                fine[name] += 1
    uses = Counter(n.id for n in names_in(*body))
    return frozenset(name for name in made if fine[name] == uses[name])


def copied_array(value: ast.expr) -> str:
    """The array that an expression copies."""
    match value:
        case ast.Call(func=ast.Attribute(ast.Name(id=name), "copy"), args=[], keywords=[]):
            return name
    return ""


def _made_axes(value: ast.expr) -> int | None:
    """How many axes an array has that an expression makes; None if it is no new array."""
    match value:
        case ast.Call(func=ast.Attribute(ast.Name("np"), "empty" | "zeros" | "ones" | "full"), args=[shape, *_]):
            return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
    return None


def _element_axes(index: ast.expr) -> int | None:
    """How many axes an index is for; None if there are slices."""
    axes = index.elts if isinstance(index, ast.Tuple) else [index]
    return None if any(isinstance(a, ast.Slice | ast.Constant) and not _is_integer(a) for a in axes) else len(axes)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def stored_arrays(body: Sequence[ast.stmt]) -> set[str]:
    """The arrays that statements store into."""
    targets = [t for s in statements_in(body) for t in _targets(s)]
    return {n.id for t in targets if isinstance(t, ast.Subscript) for n in names_in(t.value)}


def _targets(s: ast.stmt) -> list[ast.expr]:
    return s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.AugAssign) else []


def grows(s: ast.stmt, watched: Set[str]) -> bool:
    """Whether a statement computes an integer that may be too large."""
    if not isinstance(s, ast.Assign | ast.AugAssign) or watched.isdisjoint(assigned_names([s])):
        return False
    return isinstance(s, ast.AugAssign) or _computes(s.value)


def _computes(node: ast.AST) -> bool:
    """Whether there is arithmetic in an expression of Python's integers, but for places in arrays."""
    match node:
        case ast.IfExp(
            ast.Compare(ast.Name(id=name), [ast.Lt()], [ast.Constant(value=0)]),
            ast.BinOp(ast.Name(id=again), ast.Add(), ast.Name()),
            ast.Name(id=other),
        ) if name == again == other:
            return False  # a place from the end
    if isinstance(node, ast.BinOp) and not is_of_array(node):
        return True
    return not isinstance(node, ast.Subscript) and any(map(_computes, ast.iter_child_nodes(node)))


def is_of_array(value: ast.expr) -> bool:
    """Whether an integer is an element of an array, or computed of one: such wrap."""
    match value:
        case ast.BinOp(left=left, right=right):
            return is_of_array(left) or is_of_array(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_of_array(operand)
    return isinstance(value, ast.Subscript)


def is_vectorised(body: Sequence[ast.stmt], in_order: bool) -> bool:
    """Whether a loop has no ways, no loops and no places that it looks up, and hands on no number but sums."""
    if not all(isinstance(s, ast.Assign | ast.AugAssign) for s in body) or _waits(body, in_order):
        return False
    numbers = assigned_names(body)
    places = [t.slice for s in body for t in _targets(s) if isinstance(t, ast.Subscript)]
    looked_up = any(isinstance(n, ast.Subscript) for p in places for n in ast.walk(p))
    return not looked_up and numbers.isdisjoint(n.id for n in names_in(*places))


def _waits(body: Sequence[ast.stmt], in_order: bool) -> bool:
    """Whether a trip needs a number of the trip before, for more than a sum if these are not in order."""
    carried = live_before(list(body), NOTHING, NOTHING, NOTHING) & (assigned_names(body) - stored_arrays(body))
    uses = Counter(n.id for n in names_in(*body))
    sums = Counter(s.target.id for s in body if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name))
    return any(in_order or uses[name] != 1 or sums[name] != 1 for name in carried)


def operations(body: Sequence[ast.stmt]) -> int:
    """How many operations there are on numbers, but for places in arrays."""
    return sum(isinstance(n, ast.BinOp) for s in body for e in ast.iter_child_nodes(s) for n in _outside_places(e))


def _outside_places(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, ast.Subscript):
        for part in ast.iter_child_nodes(node):
            yield from _outside_places(part)


def calls_functions(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop calls functions that take longer than an addition."""
    parts = [e for s in statements_in(body) for e in ast.iter_child_nodes(s) if not isinstance(s, ast.Raise)]
    calls = (n for e in parts if isinstance(e, ast.expr) for n in ast.walk(e) if isinstance(n, ast.Call))
    return any(ast.unparse(n.func) not in _INSTRUCTIONS for n in calls)
