"""The text of one loop that is shared out: the function of its rows, and what calls it."""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from srcgraph.codegen.affine import Trips, plus, reads
from srcgraph.codegen.flow import NOTHING, Names, assigned_names, live_before
from srcgraph.codegen.independent import Independent
from srcgraph.codegen.joins import begin, joined, places_of
from srcgraph.codegen.outline import natural
from srcgraph.codegen.pieces import assign, call, free_name, loaded
from srcgraph.codegen.statements import statements_in
from srcgraph.codegen.work import Work, work_of

if TYPE_CHECKING:
    from srcgraph.codegen.parallel import Sharing

Statements = list[ast.stmt]


class Region:
    """A loop that is shared out.

    Parameters
    ----------
    work : Sharing
    loop : ast.For
    found : Independent
    bound : frozenset of str
        The names that are certainly assigned before it.
    """

    def __init__(self, work: Sharing, loop: ast.For, found: Independent, bound: Names):
        self.work, self.loop, self.found, self.bound = work, loop, found, bound
        self.rows, self.part = (free_name(n, work.taken) for n in ("rows", "part"))

    def statements(self) -> Statements | None:
        """What takes the loop's place; None where something that it reads may not have been assigned."""
        cost = self.cost()
        read = live_before(self.loop.body, NOTHING, NOTHING, NOTHING) - assigned_names([self.loop.target])
        read |= {n for s in self.found.sums for n in s.names} | set(self.found.anywhere)
        if not self.bound.issuperset((read | reads(cost) | reads(self.loop.iter)) & self.work.all):
            return None
        if any(self.work.variables.dtypes.get(n) == "" for s in self.found.sums for n in s.names):
            return None
        self.work.counted_up(self.loop.body, read)
        trips, head = self.range()
        body: Statements = [*head, *self.loop.body]
        read = (read | live_before(head, NOTHING, NOTHING, NOTHING)) & self.work.all
        known = self.work.lengths
        lengths = [n for n in sorted(read, key=natural) if n in known and _array_of(known[n]) in read]
        inputs = sorted(read.difference(lengths), key=natural)
        before = [copy.copy(known[n]) for n in lengths]
        before += [copy.deepcopy(fact) for name, fact in self.work.facts if name in inputs]
        apart = self.found.sums or self.found.anywhere
        out = self.in_parts(trips, cost, inputs, before, body) if apart or self.found.spread else None
        if out is None:
            name = self.work.function_of(self.loop, [self.rows, *inputs], [*before, self.through(body)])
            args = [ast.Name(name, ast.Load()), trips, cost, *loaded(inputs)]
            out = list[ast.stmt]([ast.Expr(call("in_parallel", args))])
        for node in statements_in(out):
            node.lineno = getattr(node, "lineno", 0) or self.loop.lineno
        return out

    def range(self) -> tuple[ast.expr, Statements]:
        """The range, counted up; and what makes of such a number the loop's own."""
        trips = Trips.of(self.loop.iter)
        if trips is None:
            return self.loop.iter, []
        first, stop = trips.first, trips.stop
        in_order = self.found.provided or any(isinstance(s, ast.Raise) for s in statements_in(self.loop.body))
        if trips.step == -1 and not in_order:
            first, stop = plus(stop, 1), plus(first, 1)
        if trips.step == 1 or (trips.step == -1 and not in_order):
            args = [stop] if isinstance(first, ast.Constant) and first.value == 0 else [first, stop]
            return call("range", args), []
        own = self.loop.target
        assert isinstance(own, ast.Name)
        trip = self.work.fresh("trip")
        number: ast.expr = ast.Name(trip, ast.Load())
        if trips.step not in (1, -1):
            number = ast.BinOp(ast.Constant(abs(trips.step)), ast.Mult(), number)
        begins_at_0 = isinstance(trips.first, ast.Constant) and trips.first.value == 0 and trips.step > 0
        value = number if begins_at_0 else ast.BinOp(trips.first, ast.Add() if trips.step > 0 else ast.Sub(), number)
        made = ast.Assign([ast.Name(own.id, ast.Store())], value, lineno=self.loop.lineno)
        self.loop.target = ast.Name(trip, ast.Store())
        return call("range", [call("len", [self.loop.iter])]), [made]

    def cost(self) -> ast.expr:
        """The operations of a trip; none where something would have to be in order."""
        work: Work = work_of(self.loop)
        cost = work.times(self.work.weight).written()
        if not self.found.provided:
            return cost
        tests = list({ast.unparse(t): t for t in self.found.provided}.values())
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        return ast.IfExp(test, cost, ast.Constant(0.0))

    def through(self, body: Statements) -> ast.stmt:
        """The loop over the rows."""
        return ast.copy_location(ast.For(self.loop.target, ast.Name(self.rows, ast.Load()), body, []), self.loop)

    def in_parts(
        self, trips: ast.expr, cost: ast.expr, inputs: list[str], before: Statements, body: Statements
    ) -> Statements:
        """With a place per part for what trips add to."""
        work, found, axes = self.work, self.found, self.work.variables.axes
        places = [places_of(s, work.variables.dtypes, work.fresh) for s in found.sums]
        arrays = {n: work.fresh(f"{n}_parts") for n in found.anywhere}
        own = [p.array for ps in places for p in ps]
        first = begin(found.sums, places, self.part)
        last = [_put(p.array, self.part, p.name) for ps in places for p in ps]
        params = [self.rows, self.part, *inputs, *own]
        name = work.function_of(self.loop, params, [*before, *first, self.through(body), *last])
        parts = free_name("parts", work.taken | {self.rows, self.part})
        out: Statements = [assign(parts, call("parts_of", [trips, cost, *self.least()]))]
        for p in (p for ps in places for p in ps):
            out.append(assign(p.array, _made("empty", [ast.Name(parts, ast.Load())], p.dtype)))
        for n, q in arrays.items():
            copies = ast.BinOp(ast.Name(parts, ast.Load()), ast.Sub(), ast.Constant(1))
            out.append(assign(q, _made("zeros", [copies, *_shape(n, axes[n])], work.variables.dtypes[n])))
        turns = ast.Constant(2 if found.spread else 1)
        args = [ast.Name(name, ast.Load()), copy.copy(trips), ast.Name(parts, ast.Load()), turns]
        given = [call("apart", loaded([n, arrays[n]])) if n in arrays else ast.Name(n, ast.Load()) for n in inputs]
        out.append(ast.Expr(call("in_parts", [*args, *given, *loaded(own)])))
        return out + joined(found.sums, places, arrays, axes, parts, work.taken)

    def least(self) -> list[ast.expr]:
        """How many elements each part adds up apart, and how long a part has to be, where that matters."""
        sizes: list[ast.expr] = [ast.parse(f"{n}.size", mode="eval").body for n in self.found.anywhere]
        size = functools.reduce(lambda x, y: ast.BinOp(x, ast.Add(), y), sizes) if sizes else ast.Constant(0)
        if self.found.spread:
            return [size, ast.Constant(self.found.spread)]
        return [size] if sizes else []


# -- pieces of text ---------------------------------------------------------------------------------------


def _put(target: str, part: str, name: str) -> ast.stmt:
    place = ast.Subscript(ast.Name(target, ast.Load()), ast.Name(part, ast.Load()), ast.Store())
    return ast.Assign([place], ast.Name(name, ast.Load()), lineno=0)


def _made(how: str, lengths: Sequence[ast.expr], dtype: str) -> ast.expr:
    shape = lengths[0] if len(lengths) == 1 else ast.Tuple(list(lengths), ast.Load())
    known = dtype in ("", "float64")
    kind = [] if known else [ast.parse(f"np.{'bool_' if dtype == 'bool' else dtype}", mode="eval").body]
    return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), how, ast.Load()), [shape, *kind], [])


def _shape(name: str, axes: int) -> list[ast.expr]:
    return [ast.parse(f"{name}.shape[{k}]", mode="eval").body for k in range(axes)]


def _compare(name: str, op: ast.cmpop, value: int) -> ast.expr:
    return ast.Compare(ast.Name(name, ast.Load()), [op], [ast.Constant(value)])


def _array_of(node: ast.stmt) -> str:
    assert isinstance(node, ast.Assign)
    return next(iter(reads(node.value)))
