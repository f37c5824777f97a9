"""Loops around nests that make every element of an array anew in each step: they go inside, to the elements.

    for a in range(3):                        for i in range(n):
        for b in range(3):                        for j in range(m):
            for i in range(n):                        t = out[i, j]
                for j in range(m):                    for a in range(3):
                    out[i, j] += x[i + a, j + b]          for b in range(3):
                                       is                     t += x[i + a, j + b]
                                                      out[i, j] = t

so that the array is gone through once. Loops of more steps go inside the outermost loop of the nest, around a row, or
a strip of a single one, and so do choices that are the same for all elements: that stays in the processor's nearest
memory, and is vectorised as before. Each element gets what it did, in the same order.

References
----------
K. Kennedy, R. Allen, "Optimizing Compilers for Modern Architectures", Morgan Kaufmann 2002, section 5.2 (loop
interchange) and 9.3 (blocking).
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from srcgraph.codegen.affine import axes_of
from srcgraph.codegen.delayed import fresh_names
from srcgraph.codegen.flow import NOTHING, NeededNames, assigned_names, leaves, live_before
from srcgraph.codegen.registers import Added
from srcgraph.codegen.statements import names_in, nodes_in, statements_in
from srcgraph.codegen.steady import has_trips
from srcgraph.codegen.sums import Start, Summed, known_steps
from srcgraph.codegen.trips import calls_functions, is_check, is_plain, own_arrays, read_in, stored_arrays

FEW = 32
"""So many steps of all loops that go inside are written out by LLVM."""
STRIP = 512
"""Elements that are made anew in turns."""


def inward(body: list[ast.stmt], taken: Set[str]) -> list[ast.stmt]:
    """The statements of a function with such loops exchanged; names that are ``taken`` have other meanings."""
    own = _Own(own_arrays(body) | _copies(body), _of_floats(body))
    loops = (s for s in statements_in(body) if isinstance(s, ast.For))
    if not own.arrays or not any(isinstance(inner, ast.For) for s in loops for inner in s.body):
        return body
    _block(body, NOTHING, own, {*taken, *(n.id for n in names_in(*body))})
    return body


def _block(body: list[ast.stmt], after: Set[str], own: _Own, taken: set[str]) -> None:
    if not any(isinstance(s, ast.For | ast.While | ast.If) for s in body):
        return
    needed = NeededNames.in_block(body, after)
    made: dict[int, list[ast.stmt]] = {}
    for at, node in enumerate(body):
        live = needed.all(at)
        loop, last = _without_flags(node) if isinstance(node, ast.For) else (None, [])
        nest = None if loop is None else _Nest.of(loop, own, live)
        if nest is not None:
            made[at] = [*nest.exchanged(taken), *last]
        elif isinstance(node, ast.If):
            _block(node.body, live, own, taken)
            _block(node.orelse, live, own, taken)
        elif isinstance(node, ast.For | ast.While):
            _block(node.body, live | live_before([node], live, NOTHING, NOTHING), own, taken)
    if made:
        body[:] = [part for at, s in enumerate(body) for part in made.get(at, [s])]


@dataclass(frozen=True, slots=True)
class _Own:
    """The arrays that a function makes, and knows by one name, and those of them that hold float64."""

    arrays: Set[str]
    floats: Set[str]


def _of_floats(body: Sequence[ast.stmt]) -> set[str]:
    kinds: dict[str, bool] = {}
    for s in statements_in(body):
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                plain = isinstance(value, ast.Call) and ast.unparse(value.func) in ("np.empty", "np.zeros", "np.ones")
                kinds[name] = kinds.get(name, True) and plain and len(value.args) == 1 and not value.keywords  # type: ignore[attr-defined]
    return {name for name, of_floats in kinds.items() if of_floats}


def _copies(body: Sequence[ast.stmt]) -> set[str]:
    """The arrays that a function copies at first, and knows by one name from there on."""
    found: set[str] = set()
    for k, s in enumerate(body):
        match s:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(ast.Name(), "copy"), args=[], keywords=[]),
            ) if _only_shape(body[:k], name) and _only_elements(body[k + 1 :], name):
                found.add(name)
    return found


def _only_shape(body: Sequence[ast.stmt], name: str) -> bool:
    shapes = [n for n in nodes_in(*body) if isinstance(n, ast.Attribute) and n.attr == "shape"]
    return sum(n.id == name for n in names_in(*body)) == sum(ast.unparse(n.value) == name for n in shapes)


def _only_elements(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether an array is only asked for elements and its shape, and returned; rows would be views of it."""
    fine, axes = 0, set[int]()
    for node in nodes_in(*body):
        match node:
            case ast.Subscript(value=ast.Name(id=array), slice=at) if array == name:
                fine += not any(isinstance(n, ast.Slice) for n in nodes_in(at))
                axes.add(len(axes_of(at)))
            case ast.Attribute(value=ast.Name(id=array), attr="shape") if array == name:
                fine += 1
            case ast.Return(value=value) if value is not None:
                fine += sum(n.id == name for n in names_in(value) if not isinstance(value, ast.Subscript))
    return len(axes) <= 1 and fine == sum(n.id == name for n in names_in(*body))


def _without_flags(loop: ast.For) -> tuple[ast.For, list[ast.stmt]]:
    """A loop without the flags that it sets at the end of each step, and what sets them after it."""
    flags: list[ast.stmt] = []
    while len(loop.body) > len(flags) + 1 and _is_flag(loop.body[-1 - len(flags)]):
        flags.insert(0, loop.body[-1 - len(flags)])
    body = loop.body[: len(loop.body) - len(flags)]
    runs = has_trips(loop.iter)
    if not flags or runs is None or leaves(body) or not assigned_names(flags).isdisjoint(n.id for n in names_in(*body)):
        return loop, []
    trimmed = ast.copy_location(ast.For(loop.target, loop.iter, body, []), loop)
    return trimmed, [ast.copy_location(ast.If(copy.deepcopy(runs), flags, []), flags[0])]


def _is_flag(s: ast.stmt) -> bool:
    match s:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant(value=bool())):
            return True
    return False


@dataclass(slots=True)
class _Level:
    """A loop of a nest, the numbers it computes before the next one, and when it runs that one, if not always."""

    index: str
    loop: ast.For
    numbers: list[ast.stmt] = field(default_factory=list)
    guard: ast.If | None = None

    def around(self, inside: Sequence[ast.stmt]) -> ast.For:
        if self.guard is not None:
            inside = [ast.copy_location(ast.If(self.guard.test, [*inside], []), self.guard)]
        made = ast.For(self.loop.target, self.loop.iter, [*self.numbers, *inside], [])
        return ast.copy_location(made, self.loop)


def _is_range(run: ast.expr, most: int = 3) -> bool:
    """Whether a loop is over the numbers of a range, of which so many things are said at most."""
    match run:
        case ast.Call(func=ast.Name(id="range"), args=args):
            return len(args) <= most
    return False


def _guard(loop: ast.For) -> ast.If | None:
    """The choice at the end of a loop that does nothing but to run another loop, or not."""
    last = loop.body[-1]
    only = isinstance(last, ast.If) and not last.orelse and [type(s) for s in last.body] == [ast.For]
    return last if only else None  # type: ignore[return-value]


def _inner(loop: ast.For) -> ast.For | None:
    """The loop at the end of another, which does nothing else but to compute numbers and check them."""
    *numbers, last = loop.body
    guard = _guard(loop)
    last = last if guard is None else guard.body[0]
    plain = all(is_check(s) or (isinstance(s, ast.Assign) and not isinstance(s, Start)) for s in numbers)
    named = all(isinstance(t, ast.Name) for s in numbers for t in getattr(s, "targets", ()))
    return last if isinstance(last, ast.For) and plain and named else None


@dataclass(slots=True)
class _Nest:
    """Loops in each other.

    Attributes
    ----------
    steps : list of _Level
        The outer ones, which make all elements anew in each step.
    points : list of _Level
        The inner ones, over elements.
    body : list of ast.stmt
    of_floats : bool
        Whether elements of the arrays are what is stored into them: others are rounded, or wrap.
    """

    steps: list[_Level]
    points: list[_Level]
    body: list[ast.stmt]
    of_floats: bool

    @staticmethod
    def of(loop: ast.For, own: _Own, live: Set[str]) -> _Nest | None:
        """None if its loops may not be exchanged, or it is no use."""
        levels: list[_Level] = []
        body, current = loop.body, loop
        while current is not None:
            if not isinstance(current.target, ast.Name) or current.orelse:
                return None
            inner = _inner(current)
            numbers = current.body[:-1] if inner is not None else []
            guard = _guard(current) if inner is not None else None
            levels.append(_Level(current.target.id, current, numbers, guard))
            body, current = current.body, inner
        if len(levels) < 2 or not all(isinstance(s, ast.Assign | ast.AugAssign) for s in body):
            return None
        if not all(_is_range(level.loop.iter) for level in levels):
            return None
        if any(isinstance(s, Added) for s in body):
            return None  # what derivatives add is put in order elsewhere
        return _Nest._divided(levels, body, own, live)

    @staticmethod
    def _divided(levels: list[_Level], body: list[ast.stmt], own: _Own, live: Set[str]) -> _Nest | None:
        places = _places(body)
        if places is None or not places or not places.keys() <= own.arrays:
            return None
        at = [{n.id for n in names_in(place)} for place in places.values()]
        first = next((k for k, level in enumerate(levels) if any(level.index in names for names in at)), 0)
        nest = _Nest(levels[:first], levels[first:], body, places.keys() <= own.floats)
        if not first or any(names != {level.index for level in nest.points} for names in at):
            return None
        gone_through_again = nest.is_of_few_steps() or not nest.reads_more()
        divisible = nest.is_of_few_steps() or len(nest.points) > 1 or _is_range(nest.points[0].loop.iter, 2)
        return nest if gone_through_again and divisible and nest.is_exchangeable(places.keys(), live) else None

    def is_of_few_steps(self) -> bool:
        count = math.prod(known_steps(level.loop.iter) for level in self.steps)
        if any(level.guard is not None for level in self.steps):
            return False  # elements would not be vectorised
        return self.of_floats and 0 < count <= FEW and not calls_functions(self.body)

    def reads_more(self) -> bool:
        """Whether each step reads elements of its own: nothing but what is stored is gone through again."""
        steps, points = ({level.index for level in levels} for levels in (self.steps, self.points))
        reads = [n for n in nodes_in(*self.body) if isinstance(n, ast.Subscript)]
        axes = [[{n.id for n in names_in(a)} for a in axes_of(read.slice)] for read in reads]
        return any(
            any(not names.isdisjoint(points) for names in own)
            and any(not names.isdisjoint(steps) and names.isdisjoint(points) for names in own)
            for own in axes
        )

    def is_exchangeable(self, stored: Set[str], live: Set[str]) -> bool:
        """Whether each element gets the same if its steps are one after the other."""
        levels = [*self.steps, *self.points]
        indices = {level.index for level in levels}
        numbers = [s for level in levels for s in level.numbers]
        made = assigned_names([*numbers, *self.body]) | indices
        if (
            len(indices) != len(levels)
            or not made.isdisjoint(live)
            or not all(map(is_plain, statements_in([*numbers, *self.body])))
        ):
            return False
        if any(isinstance(s, Summed) and isinstance(s.target, ast.Name) for s in self.body) or leaves(self.body):
            return False
        if any(not stored.isdisjoint(read_in(s)) for s in numbers):
            return False
        if any(is_check(s) for level in self.points for s in level.numbers):
            return False
        guards = [level.guard for level in levels if level.guard is not None]
        tests = [ast.Expr(guard.test) for guard in guards]
        if any(level.guard is not None for level in self.points) or not all(map(is_plain, guards)):
            return False
        if any(not stored.isdisjoint(read_in(s)) for s in tests):
            return False
        if not self.has_numbers_of_its_own(tests):
            return False
        outer = {level.index for level in self.steps} | assigned_names([s for e in self.steps for s in e.numbers])
        inner = [part for level in self.points for part in (level.loop.iter, *level.numbers)]
        if not outer.isdisjoint(n.id for n in names_in(*inner)):
            return False
        return made.isdisjoint(n.id for level in levels for n in names_in(level.loop.iter) if n.id not in indices)

    def has_numbers_of_its_own(self, tests: Sequence[ast.stmt]) -> bool:
        """Whether no step needs a number of the one before, in any of the loops: what a loop computes before the next
        one is not changed in that."""
        parts = [*([*level.numbers] for level in (*self.steps, *self.points)), [*tests], self.body]
        bound = [assigned_names(part) for part in parts]
        if sum(map(len, bound)) > len(set[str]().union(*bound)):
            return False
        before = live_before([s for part in parts for s in part], NOTHING, NOTHING, NOTHING)
        return before.isdisjoint(set[str]().union(*bound))

    def exchanged(self, taken: set[str]) -> list[ast.stmt]:
        """The loops in the other order, after all checks."""
        first = self.checked()
        for level in self.steps:
            level.numbers = [s for s in level.numbers if not is_check(s)]
        if self.is_of_few_steps():
            return [*first, self.by_elements(taken)]
        if len(self.points) > 1:
            row, *others = self.points
            return [*first, _nested([row, *self.steps, *others], self.body)]
        return [*first, self.by_strips(taken)]

    def checked(self) -> list[ast.stmt]:
        """The steps, as far as there is something to check."""
        last = max((k for k, e in enumerate(self.steps) if any(map(is_check, e.numbers))), default=-1)
        levels = copy.deepcopy(self.steps[: last + 1])
        while levels and not is_check(levels[-1].numbers[-1]):
            levels[-1].numbers.pop()
        if levels:
            levels[-1].guard = None
        return [_nested(levels, [])] if levels else []

    def by_elements(self, taken: set[str]) -> ast.For:
        fresh = fresh_names(taken)
        first: list[ast.stmt] = []
        last: list[ast.stmt] = []
        body, like = self.body, self.body[0]
        for array, place in (_places(body) or {}).items():
            name = fresh(f"{array}_{''.join(level.index for level in self.points)}")
            element = ast.Subscript(ast.Name(array, ast.Load()), place, ast.Load())
            first.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], element), like))
            target = ast.Subscript(ast.Name(array, ast.Load()), copy.deepcopy(place), ast.Store())
            last.append(ast.copy_location(ast.Assign([target], ast.Name(name, ast.Load())), like))
            body = [_Element(array, name).visit(s) for s in body]
        return _nested(self.points, [*first, _nested(self.steps, body), *last])

    def by_strips(self, taken: set[str]) -> ast.For:
        fresh = fresh_names(taken)
        (point,) = self.points
        assert isinstance(point.loop.iter, ast.Call)
        *begin, end = (ast.unparse(a) for a in point.loop.iter.args[:2])
        start = fresh("start")
        text = f"""
for {start} in range({begin[0] if begin else 0}, {end}, {STRIP}):
    for {point.index} in range({start}, min({start} + {STRIP}, {end})):
        pass
"""
        (strips,) = ast.parse(text).body
        assert isinstance(strips, ast.For) and isinstance(strips.body[0], ast.For)
        inner = strips.body[0]
        for node in (strips, inner):
            ast.copy_location(node, point.loop)
        inner.body = [*point.numbers, *self.body]
        strips.body = [_nested(self.steps, [inner])]
        return strips


def _nested(levels: Sequence[_Level], body: Sequence[ast.stmt]) -> ast.For:
    out = list(body)
    for level in reversed(levels):
        out = [level.around(out)]
    assert isinstance(out[0], ast.For)
    return out[0]


def _places(body: Sequence[ast.stmt]) -> dict[str, ast.expr] | None:
    """Where arrays are stored into; None if that is not one place, the same wherever they are used."""
    found: dict[str, ast.expr] = {}
    stored = stored_arrays(body)
    for node in nodes_in(*body):
        match node:
            case ast.Subscript(value=ast.Name(id=array), slice=place) if array in stored:
                axes = place.elts if isinstance(place, ast.Tuple) else [place]
                if not all(isinstance(a, ast.Name) for a in axes):
                    return None
                if ast.dump(found.setdefault(array, place)) != ast.dump(place):
                    return None
    return found


class _Element(ast.NodeTransformer):
    """The one element of an array that is used, as a number."""

    def __init__(self, array: str, name: str):
        self.array, self.name = array, name

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.array:
            return ast.copy_location(ast.Name(self.name, node.ctx), node)
        self.generic_visit(node)
        return node
