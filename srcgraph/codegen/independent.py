"""Which loops could run their trips side by side: those whose trips do not need each other's results.

The question is asked of the statements that will run, and of one loop over numbers. Its trips are independent if

- every variable that a trip assigns is its own: assigned before it is read, and not read after the loop;
- or is a sum, product, extreme, "and" or "or" that trips only add to, see `sums`;
- every array that is stored into is made in the trip; or all its elements that a trip reads or stores are on one axis
  at a place that is the trip's own, ``a * i + b`` with the same ``a`` and ``b``, and no two trips have one place, or at
  the numbers from the trip's own up to the next trip's;
- or trips only add to it: at places that are a few apart, or anywhere;
- nothing leaves the loop, prints, draws or changes lists that the loop did not make;
- what raises is sure not to, by a test that is made before, or nobody sees what later trips have stored.

What cannot be shown is not so: `independent` then says why. Nothing here is about threads, or any other target.

References
----------
R. Allen, K. Kennedy, "Optimizing Compilers for Modern Architectures" (2001), chapters 2 and 5: dependence tests of
single subscripts, scalar and array privatisation, recognition of reductions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from srcgraph.codegen.affine import Scope, Terms, Trips, added, reads
from srcgraph.codegen.aliases import Shared
from srcgraph.codegen.flow import NOTHING, Names, assigned_names, leaves, live_before
from srcgraph.codegen.reductions import Sum, reductions
from srcgraph.codegen.statements import names_in, statements_in


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a function.

    Attributes
    ----------
    axes : mapping
        How many axes the arrays have, by name.
    lists : set of str
    integers : set of str
        The integers whose sums raise where 64 bits are too few.
    ordered, fallible : set of str
        Functions whose calls have to stay in order, and functions that may raise.
    aliases : Shared
        What may share memory in the loop.
    """

    axes: Mapping[str, int]
    lists: Set[str]
    integers: Set[str]
    ordered: Set[str]
    fallible: Set[str]
    aliases: Shared


@dataclass(slots=True)
class Independent:
    """How the trips of a loop can be shared out.

    Attributes
    ----------
    sums : list of Sum
        The numbers that trips only add to.
    anywhere : list of str
        The arrays that trips only add to, anywhere.
    spread : int
        How far from one place on the axis trips add to arrays, so that trips so far apart do not meet; 0 if none does.
    provided : list of expressions
        What has to be true before the loop.
    raises : bool
        Whether a trip may raise nevertheless; trips after it may have run then.
    """

    sums: list[Sum] = field(default_factory=list)
    anywhere: list[str] = field(default_factory=list)
    spread: int = 0
    provided: list[ast.expr] = field(default_factory=list)
    raises: bool = False


class _No(Exception):
    """Why trips are not independent."""


def independent(loop: ast.For, known: Known, after: Names) -> Independent | str:
    """How a loop's trips could be shared out; or why they cannot, as a sentence.

    Parameters
    ----------
    loop : ast.For
        Over a range whose step is known, or over blocks of numbers.
    known : Known
    after : frozenset of str
        The names that are needed after the loop.
    """
    try:
        return _Analysis(loop, known, after).result()
    except _No as no:
        return str(no)


@dataclass(frozen=True, slots=True)
class _Access:
    """A use of an array: at an index, or, without one, as a whole."""

    name: str
    index: tuple[ast.expr, ...]
    how: str
    """"reads", "stores" or "adds"."""
    whole: bool = False

    def __str__(self) -> str:
        at = ", ".join(map(ast.unparse, self.index))
        return self.name if self.whole else f"{self.name}[{at}]"


class _Analysis:
    def __init__(self, loop: ast.For, known: Known, after: Names):
        self.loop, self.known, self.after = loop, known, after
        self.held = set(known.axes) | set(known.lists)
        if not isinstance(loop.target, ast.Name):
            raise _No("it is not a loop over a range")
        self.variable = loop.target.id
        self.place = self.variable
        """The variable by which trips have places of their own."""
        self.trips = Trips.of(loop.iter)
        if self.trips is None and not is_blocks(loop.iter):
            raise _No("it is not a loop over a range")
        if self.trips is None:
            self._blocks()
        if leaves(loop.body):
            raise _No("something leaves it early")
        if self.variable in assigned_names(loop.body):
            raise _No(f"{self.variable} is changed in it")
        self.assigned = assigned_names(loop.body) | {self.variable}
        self.carried = self.assigned & live_before(loop.body, NOTHING, NOTHING, NOTHING) - {self.variable}
        self.scope = Scope(self.assigned, _assigned_once(loop.body))
        self.strip = self._strip_numbers()
        self.accesses: list[_Access] = []
        self.raises: list[tuple[ast.expr | None, Scope]] = []
        self.found = Independent()

    def _blocks(self) -> None:
        """The numbers in blocks are those of a range, in a loop inside."""
        assert isinstance(self.loop.iter, ast.Call)
        inside = [s for s in statements_in(self.loop.body) if isinstance(s, ast.For) and self.variable in reads(s.iter)]
        if len(inside) == 1 and isinstance(inside[0].target, ast.Name):
            first: ast.expr = ast.Constant(0) if len(self.loop.iter.args) == 1 else self.loop.iter.args[0]
            self.place, self.trips = inside[0].target.id, Trips(first, self.loop.iter.args[-1], 1)

    def result(self) -> Independent:
        self._block(self.loop.body, {})
        self._numbers()
        for names in self._stored():
            self._array(names)
        self._exceptions()
        if not self.found.sums and all(a.how == "reads" for a in self.accesses):
            raise _No("nothing is computed in it")
        return self.found

    # -- variables -----------------------------------------------------------------------------------

    def _numbers(self) -> None:
        if self.variable in self.after:
            raise _No(f"{self.variable} is read after it")
        sums = reductions(self.loop.body, self.carried, self.known.integers)
        self.found.sums = list(sums)
        summed = {n for s in sums for n in s.names}
        for name in sorted(self.carried - summed):
            raise _No(f"{name} goes from trip to trip")
        for name in sorted(self.assigned - summed):
            if name in self.after:
                raise _No(f"{name} is read after it")
        for name in sorted(summed & self.held):
            raise _No(f"{name} goes from trip to trip")

    def _is_own(self, name: str) -> bool:
        """Whether an array or list is made in the trip, and no other name may mean it."""
        return name in self.assigned and self.known.aliases.alone(name)

    # -- statements ----------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], inner: Mapping[str, Trips]) -> None:
        for node in body:
            self._statement(node, inner)

    def _statement(self, node: ast.stmt, inner: Mapping[str, Trips]) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self._read(value)
                for target in targets:
                    for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                        self._store(part, "stores")
            case ast.AugAssign(target=target, op=op, value=value):
                self._read(value)
                self._changed(target, op, value)
            case ast.If(test=test, body=body, orelse=orelse):
                self._read(test)
                if len(body) == 1 and isinstance(body[0], ast.Raise):
                    self._raise(body[0], test, inner)
                else:
                    self._block(body, inner)
                self._block(orelse, inner)
            case ast.For(target=ast.Name(id=name), iter=run, body=body):
                self._read(run)
                trips = Trips.of(run)
                self._block(body, {**inner, name: trips} if trips is not None else inner)
            case ast.While(test=test, body=body):
                self._read(test)
                self._block(body, inner)
            case ast.Raise():
                self._raise(node, None, inner)
            case ast.Expr(value=ast.Call() as call):
                self._done(call)
            case ast.Break() | ast.Continue() | ast.Pass():
                pass
            case _:
                raise _No(f"{type(node).__name__} is not known to keep to its trip")

    def _changed(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        counts = isinstance(value, ast.Constant) and isinstance(op, ast.Add | ast.Sub)
        if isinstance(target, ast.Name) and target.id in self.known.integers and not counts:
            self.raises.append((None, self.scope))
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            name = target.value.id
            mixed = any(self.known.aliases.same(name, n) for n in reads(value) if n in self.held)
            adds = isinstance(op, ast.Add | ast.Sub) and not mixed
            self._store(target, "adds" if adds else "stores")

    def _store(self, target: ast.expr, how: str) -> None:
        match target:
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                self._read(index, position=True)
                self.accesses.append(_Access(name, tuple(index.elts if isinstance(index, ast.Tuple) else [index]), how))
            case ast.Name():
                pass
            case _:
                raise _No(f"{ast.unparse(target)} is not known to keep to its trip")

    def _done(self, call: ast.Call) -> None:
        """A call for its effect: on a list, or an array, that the trip has made."""
        match call.func:
            case ast.Attribute(value=ast.Name(id=name)) if name in self.held:
                if not self._is_own(name):
                    raise _No(f"{name} is changed as a whole")
                for arg in call.args:
                    self._read(arg)
            case _:
                raise _No(f"calls of {ast.unparse(call.func)} keep their order")

    def _raise(self, node: ast.Raise, test: ast.expr | None, inner: Mapping[str, Trips]) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self._read(part)
        around = {self.place: self.trips} if self.trips is not None else {}
        self.raises.append((test, Scope(self.assigned, self.scope.single, {**around, **inner})))

    def _grows(self, node: ast.BinOp) -> bool:
        """Whether it may be an integer that is too large, which raises."""
        return not reads(node).isdisjoint(self.known.integers)

    # -- expressions ---------------------------------------------------------------------------------

    def _read(self, node: ast.AST, position: bool = False) -> None:
        """Note what an expression reads; integers that are a ``position`` are not watched."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.held:
                self._read(index, position=True)
                parts = tuple(index.elts if isinstance(index, ast.Tuple) else [index])
                self.accesses.append(_Access(name, parts, "reads"))
            case ast.Attribute(value=ast.Name(id=name), attr="shape" | "size" | "ndim" | "dtype"):
                pass
            case ast.Name(id=name) if name in self.held:
                self.accesses.append(_Access(name, (), "reads", whole=True))
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Pow() | ast.LShift()) if (
                not position and self._grows(node)
            ):
                self.raises.append((None, self.scope))
                self._read(node.left)
                self._read(node.right)
            case ast.Call(func=function, args=args):
                self._call(function)
                for arg in [*args, *(k.value for k in node.keywords)]:
                    self._read(arg)
            case _:
                for inner in ast.iter_child_nodes(node):
                    self._read(inner, position)

    def _call(self, function: ast.expr) -> None:
        match function:
            case ast.Name(id=name):
                if name in self.known.ordered:
                    raise _No(f"calls of {name} keep their order")
                if name in self.known.fallible:
                    self.raises.append((None, self.scope))
            case ast.Attribute(value=ast.Name(id=owner), attr=method) if owner in self.held:
                if method == "pop" and not self._is_own(owner):
                    raise _No(f"{owner} is changed as a whole")
                if method not in ("copy", "pop", "reshape", "astype"):
                    raise _No(f"calls of {method} keep their order")
                if method != "pop":
                    self.accesses.append(_Access(owner, (), "reads", whole=True))
            case ast.Attribute(value=inner):
                self._read(inner)

    # -- arrays --------------------------------------------------------------------------------------

    def _stored(self) -> Iterator[list[str]]:
        """The arrays that are stored into and not the trip's own, with the other names of their memory."""
        done: set[str] = set()
        used = {a.name for a in self.accesses}
        for access in self.accesses:
            if access.how == "reads" or access.name in done or self._is_own(access.name):
                continue
            names, more = {access.name}, {access.name}
            while more:
                more = {n for n in used - names if any(self.known.aliases.same(n, m) for m in more)}
                names |= more
            done.update(names)
            yield sorted(names)

    def _array(self, names: list[str]) -> None:
        """One array: every trip at its own place, or all only adding to it."""
        name = names[0]
        if len(names) > 1:
            raise _No(f"{name} and {names[1]} may be the same memory")
        if name in self.assigned:
            raise _No(f"{name} goes from trip to trip")
        axes = self.known.axes.get(name, 0)
        uses = [a for a in self.accesses if a.name == name]
        why = self._why_met(uses, axes)
        if not why:
            return
        if any(a.how != "adds" for a in uses) or any(len(a.index) != axes for a in uses):
            raise _No(why)
        spread = self._spread(uses, axes)
        if spread:
            self.found.spread = max(self.found.spread, spread)
        else:
            self.found.anywhere.append(name)

    def _why_met(self, uses: Sequence[_Access], axes: int) -> str:
        """Why two trips may use one place; '' if they cannot."""
        first = next(a for a in uses if a.how != "reads")
        why = f"{first} may be the same place in two trips"
        for axis in range(axes):
            if all(self._is_in_strip(a, axis) for a in uses):
                return ""
            places = [self._place(a, axis) for a in uses]
            known = [p for p in places if p is not None]
            if len(known) < len(places) or len({p.get(self.place, 0) for p in known}) > 1:
                continue
            factor = known[0].get(self.place, 0)
            if not factor:
                continue
            met = next(
                ((a, b) for a, p in zip(uses, known, strict=True) for b, q in zip(uses, known, strict=True)
                 if {a.how, b.how} != {"reads"} and self._meet(p, q, factor)), None
            )  # fmt: skip
            if met is not None:
                why = f"{met[0]} and {met[1]} are the same place in different trips"
                continue
            return ""
        return why

    def _is_in_strip(self, access: _Access, axis: int) -> bool:
        """Whether an access is at one of the numbers from the trip's own up to the next trip's."""
        if access.whole or axis >= len(access.index) or not all(map(_is_simple, access.index[: axis + 1])):
            return False
        match access.index[axis]:
            case ast.Name(id=name):
                return name in self.strip
        return False

    def _strip_numbers(self) -> set[str]:
        """The variables of loops inside that only go over such numbers."""
        if self.trips is None:
            return set()
        up = self.trips.step > 0
        first, least, sign = self.variable, "min" if up else "max", "+" if up else "-"
        start = f"{least}({first} {sign} {abs(self.trips.step)}, "
        found: dict[str, bool] = {}
        for loop in (s for s in statements_in(self.loop.body) if isinstance(s, ast.For)):
            match loop:
                case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[ast.Name(id=begin), end, *step])):
                    end = self.scope.single.get(end.id, end) if isinstance(end, ast.Name) else end
                    by = ast.unparse(step[0]) if step else "1"
                    own = begin == first and ast.unparse(end).startswith(start) and by == ("1" if up else "-1")
                    found[name] = found.get(name, True) and own
                case _:
                    found.update({n.id: False for n in names_in(loop.target)})
        stored = [n.id for s in self.loop.body for n in names_in(s) if isinstance(n.ctx, ast.Store)]
        loops = [n.id for s in statements_in(self.loop.body) if isinstance(s, ast.For) for n in names_in(s.target)]
        return {name for name, own in found.items() if own and stored.count(name) == loops.count(name)}

    def _place(self, access: _Access, axis: int) -> Terms | None:
        """Where on an axis an access is, as a sum; None if that is not known to be one number."""
        if access.whole or axis >= len(access.index) or not all(map(_is_simple, access.index[: axis + 1])):
            return None
        if self.trips is None:
            return None
        return self.scope.terms(access.index[axis], self.place)

    def _meet(self, one: Terms, other: Terms, factor: int) -> bool:
        """Whether two accesses may be at one place in different trips."""
        assert self.trips is not None
        apart = added(one, other, -1)
        if set(apart) - {""}:
            return True
        distance = apart.get("", 0)
        return distance != 0 and distance % (factor * self.trips.step) == 0

    def _spread(self, uses: Sequence[_Access], axes: int) -> int:
        """How many trips from each other two have to be to add to different places; 0 if none is enough."""
        for axis in range(axes if self.place == self.variable else 0):
            places = [self._place(a, axis) for a in uses]
            known = [p for p in places if p is not None]
            factors = {p.get(self.place, 0) for p in known}
            if len(known) < len(places) or len(factors) > 1 or factors == {0}:
                continue
            distances = [added(known[0], p, -1) for p in known]
            if any(set(d) - {""} for d in distances):
                continue
            offsets = [d.get("", 0) for d in distances]
            return (max(offsets) - min(offsets)) // abs(next(iter(factors))) + 1
        return 0

    # -- exceptions ----------------------------------------------------------------------------------

    def _exceptions(self) -> None:
        """Tests that nothing raises, where the caller would see what later trips have stored."""
        if not self.raises:
            return
        stored = {a.name for a in self.accesses if a.how != "reads"}
        seen = sorted(n for n in stored if self.known.aliases.is_callers(n) and not self._is_own(n))
        tests = [_never(test, scope) for test, scope in self.raises]
        if all(t is not None for t in tests):
            self.found.provided += _different(t for t in tests if t is not None)
        elif seen:
            raise _No(f"it may raise, and {seen[0]} is the caller's")
        else:
            self.found.raises = True


def _never(test: ast.expr | None, scope: Scope) -> ast.expr | None:
    """What has to be true before a loop for a test to be false in it; None if that cannot be said."""
    match test:
        case ast.Constant(value=False):
            return ast.Constant(True)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _never_compared(left, op, right, scope)
        case ast.BoolOp(op=ast.Or(), values=values):
            tests = [_never(v, scope) for v in values]
            known = [t for t in tests if t is not None]
            return ast.BoolOp(ast.And(), known) if len(known) == len(tests) else None
    return None


_SIDES = {ast.GtE: (1, ast.Lt()), ast.Gt: (1, ast.LtE()), ast.LtE: (-1, ast.Gt()), ast.Lt: (-1, ast.GtE())}
"""Whether a large left side makes a comparison true, and its opposite."""


def _never_compared(left: ast.expr, op: ast.cmpop, right: ast.expr, scope: Scope) -> ast.expr | None:
    if type(op) not in _SIDES:
        if not (scope.steady(left) and scope.steady(right)):
            return None
        opposite = {ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq()}.get(type(op))
        return None if opposite is None else ast.Compare(left, [opposite], [right])
    side, opposite = _SIDES[type(op)]
    x = scope.highest(left) if side > 0 else scope.lowest(left)
    y = scope.lowest(right) if side > 0 else scope.highest(right)
    return None if x is None or y is None else ast.Compare(x, [opposite], [y])


def _different(tests: Iterable[ast.expr]) -> list[ast.expr]:
    return list({ast.unparse(t): t for t in tests}.values())


def _is_simple(part: ast.expr) -> bool:
    """Whether a part of an index is for one axis."""
    if isinstance(part, ast.Constant):
        return isinstance(part.value, int)
    return not (isinstance(part, ast.Starred) or (isinstance(part, ast.Attribute) and part.attr == "newaxis"))


def _assigned_once(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """The names that a block assigns once, in every trip, and what."""
    stores = [n.id for s in body for n in names_in(s) if isinstance(n.ctx, ast.Store)]
    found = {}
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stores.count(name) == 1:
                found[name] = value
    return found


def is_blocks(run: ast.expr) -> bool:
    return isinstance(run, ast.Call) and isinstance(run.func, ast.Name) and run.func.id == "blocks"
