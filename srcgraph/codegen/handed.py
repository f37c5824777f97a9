"""Arrays that one loop fills and only the next one reads, element by element: each is handed on as a number.

``v @ x[rows]`` checks the rows and reads ``x`` in a loop, and adds up in another::

    t = np.empty(n)
    for i in range(n):
        row = rows[i]
        if row >= m:                           for j in range(n):
            raise IndexError                       row = rows[j]
        t[i] = x[row]                 is           if row >= m:
    total = 0.0                                        raise IndexError
    for j in range(n):                             total += v[j] * x[row]
        total += v[j] * t[j]

The second may also make its elements of those anew, in the memory that they have: ``t[i] = t[i] * 2.0``.

All else that the two store into are numbers, and arrays of the function's own that only one of them uses: nobody
sees them if something raises. Loops that may raise, that have others inside, or that add to places they look up are not
vectorised: they are not joined with what calls functions, which may be. A running sum is joined with another one, whose
additions a processor takes at the same time.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from srcgraph.codegen.flow import NOTHING, assigned_names, leaves, live_before
from srcgraph.codegen.statements import is_pure, names_in, statements_in
from srcgraph.codegen.sums import Start, Summed

FEW = 4
"""So many operations take no longer beside what is looked up than in a loop of their own, several at a time."""
CASTS = ("float", "int", "bool", "np.intp", "np.int64", "np.float64", "np.float32")


def handed_on(body: list[ast.stmt], watched: Set[str], in_order: bool) -> list[ast.stmt]:
    """The statements of a function with such loops joined, the inner ones first.

    A sum of integers that are ``watched`` may raise. Sums are added up ``in_order``, or LLVM takes several terms at a
    time.
    """
    if not any(isinstance(s, ast.Assign) and _made(s) for s in statements_in(body)):
        return body
    return _block(body, _Names.of(body, watched, in_order))


@dataclass(frozen=True, slots=True)
class _Names:
    """How often each name is used in a function, and how often as the variable of a loop, in it."""

    uses: Counter[str]
    in_loops: Counter[str]
    own: Set[str]
    """The arrays that the function makes, and knows by one name."""
    watched: Set[str]
    in_order: bool

    @classmethod
    def of(cls, body: Sequence[ast.stmt], watched: Set[str], in_order: bool) -> _Names:
        loops = [s for s in statements_in(body) if isinstance(s, ast.For) and isinstance(s.target, ast.Name)]
        inside = {n for s in loops for n in names_in(s) if n.id == s.target.id}  # type: ignore[attr-defined]
        uses, in_loops = Counter(n.id for n in names_in(*body)), Counter(n.id for n in inside)
        return cls(uses, in_loops, own_arrays(body), watched, in_order)

    def ends_with_loop(self, name: str) -> bool:
        """Whether the variable of a loop is used in such loops only."""
        return self.uses[name] == self.in_loops[name]


def _block(body: list[ast.stmt], names: _Names) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.For | ast.While | ast.If):
            node.body, node.orelse = _block(node.body, names), _block(node.orelse, names)
        if isinstance(node, ast.For):
            while (found := _partner(out, node, names)) is not None:
                first, k = found
                if stays := first.array in stored_arrays(node.body):
                    node.body = _spelled_out(node.body, first.array)
                out = [s for at, s in enumerate(out) if at != k and (stays or _made(s) != first.array)]
                _join(first, node, names)
        out.append(node)
    return out


def own_arrays(body: Sequence[ast.stmt]) -> frozenset[str]:
    made: dict[str, int] = {}
    fine: Counter[str] = Counter()
    for s in statements_in(body):
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (ndim := _made_axes(value)) is not None:
                fine[name] += 1 if made.setdefault(name, ndim) == ndim else 0
            case ast.Return(value=value):
                fine.update(n.id for n in ast.walk(value or s) if isinstance(n, ast.Name))
    for node in (n for s in body for n in ast.walk(s)):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if made.get(name) == _element_axes(index):
                fine[name] += 1
            case ast.Attribute(value=ast.Name(id=name), attr="shape"):
                fine[name] += 1
    uses = Counter(n.id for n in names_in(*body))
    return frozenset(name for name in made if fine[name] == uses[name])


def _made_axes(value: ast.expr) -> int | None:
    """How many axes an array has that an expression makes; None if it is no new array."""
    match value:
        case ast.Call(func=ast.Attribute(ast.Name("np"), "empty" | "zeros" | "ones" | "full"), args=[shape, *_]):
            return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
    return None


def _element_axes(index: ast.expr) -> int | None:
    """How many axes an index is for; None if there are slices."""
    axes = index.elts if isinstance(index, ast.Tuple) else [index]
    return None if any(isinstance(a, ast.Slice | ast.Constant) and not _is_number(a) for a in axes) else len(axes)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


@dataclass(frozen=True, slots=True)
class _Filling:
    """A loop that makes the elements of an array, one at the end of each trip."""

    loop: ast.For
    index: str
    array: str
    last: ast.Assign
    carries: bool
    """Whether a trip needs a number of the trip before."""

    @property
    def steps(self) -> list[ast.stmt]:
        """What each trip does besides."""
        return [s for s in self.loop.body if s is not self.last]

    @property
    def own(self) -> Set[str]:
        return assigned_names(self.steps) | {self.index}


def _partner(out: Sequence[ast.stmt], second: ast.For, names: _Names) -> tuple[_Filling, int] | None:
    """The loop that fills an array for another, and where it stands: numbers may be computed between."""
    k = len(out) - 1
    while k > 0 and _is_of_numbers(out[k]):
        k -= 1
    between = {n.id for s in out[k + 1 :] for n in names_in(s)}
    given = assigned_names(out[k + 1 :])
    for first in _fillings(out[k]) if k > 0 else ():
        made = next((s for s in out[:k] if _made(s) == first.array), None)
        apart = (first.own | stored_arrays(first.loop.body)).isdisjoint(between)
        if made is not None and apart and given.isdisjoint(n.id for n in names_in(first.loop)):
            if _fits(first, made, second, names):
                return first, k
    return None


def _is_of_numbers(s: ast.stmt) -> bool:
    """Whether a statement begins a sum, makes an array without a content, or computes a number."""
    match s:
        case ast.Assign(targets=[ast.Name()]):
            return isinstance(s, Start) or bool(_made(s)) or not calls_functions([s])
    return False


def _fillings(node: ast.stmt) -> Iterator[_Filling]:
    """A loop without exits, by each of the arrays whose elements it makes."""
    if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name) or node.orelse or leaves(node.body):
        return
    index, body = node.target.id, node.body
    carried = live_before(body, NOTHING, NOTHING, NOTHING) & {n for n in assigned_names(body) if n != index}
    for k, s in enumerate(body):
        match s:
            case ast.Assign(targets=[ast.Subscript(ast.Name(id=array), ast.Name(id=at))], value=value) if at == index:
                after = body[k + 1 :]  # what the element is made of stays as it is until the end of the trip
                changed = assigned_names(after) | stored_arrays(after)
                if changed.isdisjoint(n.id for n in names_in(value)):
                    yield _Filling(node, index, array, s, carries=not carried <= stored_arrays(body))


def stored_arrays(body: Sequence[ast.stmt]) -> set[str]:
    """The arrays that statements store into."""
    targets = [t for s in statements_in(body) for t in _targets(s)]
    return {n.id for t in targets if isinstance(t, ast.Subscript) for n in names_in(t.value)}


def _targets(s: ast.stmt) -> list[ast.expr]:
    return s.targets if isinstance(s, ast.Assign) else [s.target] if isinstance(s, ast.AugAssign) else []


def _is_plain(s: ast.stmt) -> bool:
    """Whether a statement computes numbers, or raises, or stores an element, and changes nothing else."""
    match s:
        case ast.Assign(targets=[ast.Name() | ast.Subscript()], value=value) | ast.AugAssign(value=value):
            return is_pure(value)
        case ast.If(test=test) | ast.While(test=test):
            return is_pure(test)
        case ast.For(target=ast.Name(), iter=run):
            return is_pure(run)
    return isinstance(s, ast.Raise)


def _made(s: ast.stmt) -> str:
    """The array that a statement makes without a content."""
    match s:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(ast.Name("np"), "empty"))):
            return name
    return ""


def _fits(first: _Filling, made: ast.stmt, second: ast.For, names: _Names) -> bool:
    """Whether the second loop is all that reads the array, each element in its trip, and all else is apart."""
    if not isinstance(second.target, ast.Name) or second.orelse or ast.dump(first.loop.iter) != ast.dump(second.iter):
        return False
    index, body = second.target.id, _spelled_out(second.body, first.array)
    read = [n for s in body for n in ast.walk(s) if _is_element(n, first.array, index)]
    theirs = Counter(n.id for n in names_in(*body))
    only = len(read) == theirs[first.array] == names.uses[first.array] - 2
    if not read or not (only or _changes(body, first.array, index, names)):
        return False
    ours = {n.id for n in names_in(*first.steps, first.last.value)} | first.own
    if index != first.index and (index in ours or not names.ends_with_loop(first.index)):
        return False
    stored = stored_arrays([*first.steps, *second.body])
    changed = assigned_names(second.body) | stored_arrays(second.body)
    if not ((first.own | stored_arrays(first.steps)) - {index}).isdisjoint(theirs) or not changed.isdisjoint(ours):
        return False
    plain = all(map(_is_plain, statements_in([*first.loop.body, *second.body])))
    if not plain or not stored <= names.own or (_raises(first.loop, names) and _raises(second, names)):
        return False
    if not only and is_vectorised(body, names.in_order) and operations(body) > FEW and _raises(first.loop, names):
        return False
    return _as_quick(first, second, names.in_order) and _same_kind(made, first.last.value)


def _spelled_out(body: Sequence[ast.stmt], array: str) -> list[ast.stmt]:
    """``array[i] = array[i] * x`` for ``array[i] *= x``."""
    return [_with_operand(s) if array in stored_arrays([s]) else s for s in body]


def _with_operand(s: ast.stmt) -> ast.stmt:
    match s:
        case ast.AugAssign(target=ast.Subscript(value, place) as target, op=op, value=other):
            made = ast.BinOp(ast.Subscript(value, place, ast.Load()), op, other)
            return ast.copy_location(ast.Assign([target], made), s)
    return s


def _changes(body: Sequence[ast.stmt], array: str, index: str, names: _Names) -> bool:
    """Whether each trip makes its element of an array anew, of the one that is there, and does nothing else with it."""
    if array not in names.own or _element_name(array, index) in names.uses:
        return False
    places = [k for k, s in enumerate(body) if array in stored_arrays([s])]
    match [body[k] for k in places]:
        case [ast.Assign(targets=[ast.Subscript(ast.Name(), ast.Name(id=at))])] if at == index:
            rest = body[places[0] + 1 :]
            inside = [n for s in body for n in ast.walk(s) if _is_element(n, array, index)]
            uses = Counter(n.id for n in names_in(*body))
            return uses[array] == len(inside) + 1 and array not in {n.id for n in names_in(*rest)}
    return False


def _element_name(array: str, index: str) -> str:
    return f"{array}_{index}"


def _raises(loop: ast.For, names: _Names) -> bool:
    """Whether something may be raised in a loop: of two such loops, the first is to be first."""
    return any(isinstance(s, ast.Raise) or grows(s, names.watched) for s in statements_in(loop.body))


def grows(s: ast.stmt, watched: Set[str]) -> bool:
    """Whether a statement computes an integer that may be too large."""
    if not isinstance(s, ast.Assign | ast.AugAssign) or watched.isdisjoint(assigned_names([s])):
        return False
    return isinstance(s, ast.AugAssign) or _computes(s.value)


def _computes(node: ast.AST) -> bool:
    """Whether there is arithmetic in an expression, but for places in arrays."""
    if isinstance(node, ast.BinOp):
        return True
    return not isinstance(node, ast.Subscript) and any(map(_computes, ast.iter_child_nodes(node)))


def _as_quick(first: _Filling, second: ast.For, in_order: bool) -> bool:
    """Whether nothing that LLVM may call for several elements at a time comes to stand in a loop that it takes
    step by step."""
    bodies = [first.loop.body, second.body]
    slow = [not is_vectorised(body, in_order) for body in bodies]
    if first.carries and not slow[1]:
        return False
    ordered = [[s for s in body if not isinstance(s, Summed)] for body in bodies]
    several = [is_vectorised(body, in_order) for body in ordered]
    return several[0] == several[1] or not any(map(calls_functions, bodies))


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
    """Whether a loop calls functions other than casts."""
    parts = [e for s in statements_in(body) for e in ast.iter_child_nodes(s) if not isinstance(s, ast.Raise)]
    calls = (n for e in parts if isinstance(e, ast.expr) for n in ast.walk(e) if isinstance(n, ast.Call))
    return any(ast.unparse(n.func) not in CASTS for n in calls)


def _is_element(node: ast.AST, array: str, index: str) -> bool:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=at), ctx=ast.Load()):
            return name == array and at == index
    return False


def _same_kind(made: ast.stmt, value: ast.expr) -> bool:
    """Whether a number is what the array would hold: an element of another one, or a float in an array of floats."""
    assert isinstance(made, ast.Assign) and isinstance(made.value, ast.Call)
    return isinstance(value, ast.Subscript) or len(made.value.args) + len(made.value.keywords) == 1


def _join(first: _Filling, second: ast.For, names: _Names) -> None:
    """Put what the first loop does in each trip before what the second does."""
    assert isinstance(second.target, ast.Name)
    index, array = second.target.id, first.array
    if names.ends_with_loop(index) and ("_" not in first.index or "_" in index):
        second.target.id = first.index
        second.body = [_Exchange(index, first.index).visit(s) for s in second.body]
    renamed = _Exchange(first.index, second.target.id)
    steps = [renamed.visit(s) for s in first.steps]
    value = renamed.visit(first.last.value)
    elements = [n for s in second.body for n in ast.walk(s) if _is_element(n, array, second.target.id)]
    stays = array in stored_arrays(second.body)
    if len(elements) > 1 and not isinstance(value, ast.Name):
        number = _element_name(array, index) if stays else array
        steps.append(ast.copy_location(ast.Assign([ast.Name(number, ast.Store())], value), first.last))
        value = ast.Name(number, ast.Load())
    if stays:
        names.uses[array] -= len(elements) + 1
    put = _Put(array, value)
    second.body = [*steps, *(put.visit(s) for s in second.body)]


class _Exchange(ast.NodeTransformer):
    """One name in place of another."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.new, node.ctx), node) if node.id == self.old else node


class _Put(ast.NodeTransformer):
    """A number in place of an array's element."""

    def __init__(self, array: str, value: ast.expr):
        self.array, self.value = array, value

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.array and isinstance(node.ctx, ast.Load):
            return self.value
        return self.generic_visit(node)  # type: ignore[return-value]
