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
sees them if something raises. Checks of the second are made after all of the first (`take_turns`). Loops that may
raise, that have others inside, or that add to places they look up are not vectorised: they are not joined with what
calls functions, which may be. A running sum is joined with another one, whose additions a processor takes at the same
time.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from srcgraph.codegen.flow import NOTHING, assigned_names, leaves, live_before
from srcgraph.codegen.statements import names_in, nodes_in, statements_in
from srcgraph.codegen.sums import Summed
from srcgraph.codegen.trips import (
    Exchange,
    Put,
    Repeated,
    calls_functions,
    empty_array,
    is_of_array,
    is_plain,
    is_vectorised,
    loop_before,
    may_raise,
    operations,
    own_arrays,
    repeated,
    stored_arrays,
    take_turns,
)

FEW = 4
"""So many operations take no longer beside what is looked up than in a loop of their own, several at a time."""


def handed_on(body: list[ast.stmt], watched: Set[str], in_order: bool) -> list[ast.stmt]:
    """The statements of a function with such loops joined, the inner ones first.

    A sum of integers that are ``watched`` may raise. Sums are added up ``in_order``, or LLVM takes several terms at a
    time.
    """
    made = [s for s in statements_in(body) if empty_array(s)]
    if not made:
        return body
    names = _Names.of(body, made, watched, in_order)
    return _without(_block(body, names), names.gone)


@dataclass(frozen=True, slots=True)
class _Names:
    """How often each name is used in a function, and how often as the variable of a loop, in it."""

    uses: Counter[str]
    in_loops: Counter[str]
    made: dict[str, ast.stmt]
    """What makes the arrays that begin without a content."""
    own: Set[str]
    """The arrays that the function makes, and knows by one name."""
    watched: Set[str]
    in_order: bool
    gone: set[ast.stmt] = field(default_factory=set)
    """What makes arrays that are numbers now."""

    @classmethod
    def of(cls, body: Sequence[ast.stmt], made: Sequence[ast.stmt], watched: Set[str], in_order: bool) -> _Names:
        loops = [s for s in statements_in(body) if isinstance(s, ast.For) and isinstance(s.target, ast.Name)]
        inside = {n for s in loops for n in names_in(s) if n.id == s.target.id}  # type: ignore[attr-defined]
        uses, in_loops = Counter(n.id for n in names_in(*body)), Counter(n.id for n in inside)
        times = Counter(map(empty_array, made))
        by_name = {name: s for s in made if times[name := empty_array(s)] == 1}
        return cls(uses, in_loops, by_name, own_arrays(body), watched, in_order)

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
                pair, k = found
                pair.join()
                out = [s for at, s in enumerate(out) if at != k and s not in names.gone]
        out.append(node)
    return out


def _without(body: list[ast.stmt], gone: Set[ast.stmt]) -> list[ast.stmt]:
    """The statements of a block but for some."""
    if not gone:
        return body
    for s in body:
        if isinstance(s, ast.For | ast.While | ast.If):
            s.body, s.orelse = _without(s.body, gone), _without(s.orelse, gone)
    return [s for s in body if s not in gone]


# -- which -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Filling:
    """A loop that makes the elements of an array, one at the end of each trip."""

    loop: ast.For
    index: str
    array: str
    place: Any
    """Where the element is: see `_place`."""
    last: ast.Assign
    carries: bool
    """Whether a trip needs a number of the trip before."""

    @property
    def at(self) -> ast.expr:
        assert isinstance(self.last.targets[0], ast.Subscript)
        return self.last.targets[0].slice

    @property
    def steps(self) -> list[ast.stmt]:
        """What each trip does besides."""
        return [s for s in self.loop.body if s is not self.last]

    @property
    def own(self) -> Set[str]:
        return assigned_names(self.steps) | {self.index}

    @property
    def makes_of_itself(self) -> bool:
        """Whether elements of the array are read there where they are made, and no more once they are."""
        reads = [n for s in self.loop.body for n in nodes_in(s) if self.is_element(n, self.index)]
        used = [n for n in names_in(*self.loop.body) if n.id == self.array]
        after = self.loop.body[self.loop.body.index(self.last) + 1 :]
        return len(used) == len(reads) + 1 and self.array not in {n.id for n in names_in(*after)}

    def is_element(self, node: ast.AST, index: str) -> bool:
        """Whether it reads the element that the trip makes, in a loop of this ``index``."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=place, ctx=ast.Load()):
                return name == self.array and _place(place, index) == self.place
        return False


def _place(at: ast.expr, index: str) -> Any:
    """A place in an array, the same for the trips of all loops; of a sum, its parts. None for one that is looked up."""
    match at:
        case ast.Name(id=name):
            return _Index if name == index else name
        case ast.Constant(value=int(value)):
            return value
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            parts = _place(left, index), _place(right, index)
            return None if None in parts else (type(op), *parts)
        case ast.Tuple(elts=axes):
            found = [_place(axis, index) for axis in axes]
            return None if None in found else tuple(found)
    return None


class _Index:
    """The variable of a loop, in a place."""


def _is_own(place: Any) -> bool:
    """Whether a place is another one in each trip."""
    if not isinstance(place, tuple):
        return place is _Index
    with_index = [part for part in place if _has_index(part)]
    return len(with_index) == 1 and _is_own(with_index[0])


def _has_index(place: Any) -> bool:
    return any(map(_has_index, place)) if isinstance(place, tuple) else place is _Index


def _partner(out: Sequence[ast.stmt], second: ast.For, names: _Names) -> tuple[_Pair, int] | None:
    """The loop that fills an array for another, and where it stands: numbers may be computed between."""
    k = loop_before(out, names.watched)
    for first in _fillings(out[k]) if k is not None else ():
        made = names.made.get(first.array)
        if made is not None and isinstance(second.target, ast.Name) and _over_the_same(first, second):
            pair = _Pair(first, second, second.target.id, made, names)
            if pair.fits():
                return pair, k  # type: ignore[return-value]
    return None


def _over_the_same(first: _Filling, second: ast.For) -> bool:
    return not second.orelse and ast.dump(first.loop.iter) == ast.dump(second.iter)


def _fillings(node: ast.stmt) -> Iterator[_Filling]:
    """A loop without exits, by each of the arrays whose elements it makes."""
    if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name) or node.orelse or leaves(node.body):
        return
    index, body = node.target.id, node.body
    carried = live_before(body, NOTHING, NOTHING, NOTHING) & {n for n in assigned_names(body) if n != index}
    for k, s in enumerate(body):
        match s:
            case ast.Assign(targets=[ast.Subscript(ast.Name(id=array), at)], value=value):
                place = _place(at, index)
                after = body[k + 1 :]  # what the element is made of stays as it is until the end of the trip
                changed = assigned_names(after) | stored_arrays(after)
                stays = assigned_names(body).isdisjoint(n.id for n in names_in(at))
                if _is_own(place) and stays and changed.isdisjoint(n.id for n in names_in(value)):
                    yield _Filling(node, index, array, place, s, carries=not carried <= stored_arrays(body))


@dataclass(slots=True)
class _Pair:
    """A loop that fills an array, and one that comes after it."""

    first: _Filling
    second: ast.For
    index: str
    made: ast.stmt
    names: _Names
    stays: bool = False
    """Whether the second makes the array's elements anew."""
    body: list[ast.stmt] = field(default_factory=list)
    """What the second does, changes of elements of the array spelled out."""
    again: Repeated = field(default_factory=Repeated)
    """Which of it the first does, too."""

    def __post_init__(self) -> None:
        self.stays = self.first.array in stored_arrays(self.second.body)
        self.body = _spelled_out(self.second.body, self.first.array) if self.stays else self.second.body

    def elements(self, body: Sequence[ast.stmt]) -> list[ast.AST]:
        """Where the elements are read that the first makes."""
        return [n for n in nodes_in(*body) if self.first.is_element(n, self.index)]

    def fits(self) -> bool:
        """Whether the second loop is all that reads the array, each element in its trip, and all else is apart."""
        first, names = self.first, self.names
        read, theirs = len(self.elements(self.body)), Counter(n.id for n in names_in(*self.body))
        only = read == theirs[first.array] == names.uses[first.array] - 2
        again = self.stays and first.makes_of_itself and self.makes_anew()
        if not read or not (only or again) or not self.is_apart(theirs):
            return False
        raises = may_raise(first.loop, names.watched)
        if not only and is_vectorised(self.body, names.in_order) and operations(self.body) > FEW and raises:
            return False
        if not _as_quick(first, self.second, names.in_order) or not (self.same_kind() or self.are_places()):
            return False
        if raises and may_raise(self.second, names.watched):
            return take_turns(first.loop, self.second, self.again, names.watched)
        return True

    def is_apart(self, theirs: Counter[str]) -> bool:
        """Whether the loops have nothing to do with each other but for the array, and nobody sees what they store."""
        first, body = self.first, self.second.body
        ours = {n.id for n in names_in(*first.steps, first.last.value, first.at)} | first.own
        if self.index != first.index and (self.index in ours or not self.names.ends_with_loop(first.index)):
            return False
        self.again = repeated(first.loop, self.second, lambda name: theirs[name] == self.names.uses[name])
        same = self.again.assigned
        stored, changed = stored_arrays([*first.steps, *body]), (assigned_names(body) - same) | stored_arrays(body)
        if not ((first.own | stored_arrays(first.steps)) - {self.index, *same}).isdisjoint(theirs):
            return False
        plain = all(map(is_plain, statements_in([*first.loop.body, *body])))
        return plain and stored <= self.names.own and (changed - {first.array}).isdisjoint(ours)

    def makes_anew(self) -> bool:
        """Whether each trip makes its element of the array anew, of the one that is there, and does nothing else with
        it."""
        array = self.first.array
        if array not in self.names.own or self.element_name in self.names.uses:
            return False
        places = [k for k, s in enumerate(self.body) if array in stored_arrays([s])]
        match [self.body[k] for k in places]:
            case [ast.Assign(targets=[ast.Subscript(ast.Name(), at)])] if _place(at, self.index) == self.first.place:
                uses = Counter(n.id for n in names_in(*self.body))
                rest = {n.id for n in names_in(*self.body[places[0] + 1 :])}
                return uses[array] == len(self.elements(self.body)) + 1 and array not in rest
        return False

    def same_kind(self) -> bool:
        """Whether a number is what the array would hold: an element of another one, a float in an array of floats, or
        what is computed of integers of arrays, which wrap, in one of such."""
        value = self.first.last.value
        match self.made:
            case ast.Assign(value=ast.Call(args=[_], keywords=[])):
                return True
            case ast.Assign(value=ast.Call(args=[_, ast.Attribute(attr="int64")], keywords=[])):
                return is_of_array(value)
        return isinstance(value, ast.Subscript)

    def are_places(self) -> bool:
        """Whether the elements are only places where others are."""
        places = [n.slice for n in nodes_in(*self.body) if isinstance(n, ast.Subscript)]
        axes = [a for p in places for a in (p.elts if isinstance(p, ast.Tuple) else [p])]
        read = self.elements(self.body)
        return all(n in axes for n in read) and not calls_functions([self.first.last])

    @property
    def element_name(self) -> str:
        """A name for an element of the array, beside it."""
        axes = self.first.at.elts if isinstance(self.first.at, ast.Tuple) else ()
        loops = [a.id if isinstance(a, ast.Name) else "" for a in axes]
        return f"{self.first.array}_{''.join(loops) if loops and all(loops) else self.index}"

    # -- one loop ------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Put what the first loop does in each trip before what the second does."""
        first, second, names = self.first, self.second, self.names
        number = self.element_name if self.stays else first.array
        body = self.again.left_of(self.body)
        elements = self.elements(body)
        if names.ends_with_loop(self.index) and ("_" not in first.index or "_" in self.index):
            second.target.id = first.index  # type: ignore[attr-defined]
            body = [Exchange(self.index, first.index).visit(s) for s in body]
        renamed = Exchange(first.index, second.target.id)  # type: ignore[attr-defined]
        steps = [renamed.visit(s) for s in first.steps]
        value = renamed.visit(first.last.value)
        if len(elements) > 1 and not isinstance(value, ast.Name):
            steps.append(ast.copy_location(ast.Assign([ast.Name(number, ast.Store())], value), first.last))
            value = ast.Name(number, ast.Load())
        if self.stays:
            names.uses[first.array] -= sum(n.id == first.array for n in names_in(*second.body))
        else:
            names.gone.add(self.made)
        put = Put({*elements}, value)
        second.body = [*steps, *(put.visit(s) for s in body)]
        ast.copy_location(second, first.loop)


def _spelled_out(body: Sequence[ast.stmt], array: str) -> list[ast.stmt]:
    """``array[i] = array[i] * x`` for ``array[i] *= x``."""
    return [_with_operand(s) if array in stored_arrays([s]) else s for s in body]


def _with_operand(s: ast.stmt) -> ast.stmt:
    match s:
        case ast.AugAssign(target=ast.Subscript(value, place) as target, op=op, value=other):
            made = ast.BinOp(ast.Subscript(value, place, ast.Load()), op, other)
            return ast.copy_location(ast.Assign([target], made), s)
    return s


def _as_quick(first: _Filling, second: ast.For, in_order: bool) -> bool:
    """Whether nothing that LLVM may call for several elements at a time comes to stand in a loop that it takes
    step by step."""
    bodies = [first.loop.body, second.body]
    slow = [not is_vectorised(body, in_order) for body in bodies]
    if first.carries and not slow[1]:
        return operations(bodies[1]) <= FEW and not calls_functions(bodies[1])
    ordered = [[s for s in body if not isinstance(s, Summed)] for body in bodies]
    several = [is_vectorised(body, in_order) for body in ordered]
    if several[0] == several[1] or not any(map(calls_functions, bodies)):
        return True
    quick = bodies[several.index(True)]
    return operations(quick) <= FEW and not calls_functions(quick)
