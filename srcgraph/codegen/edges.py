"""Loops that ask in each step whether they are at an edge: apart there, and without the question in between.

    for j in range(m):                                for j in range(min(1, m)):
        y[j] = x[max(j - 1, 0)] + x[min(j + 1, m - 1)]    y[j] = x[max(j - 1, 0)] + x[min(j + 1, m - 1)]
                                                      for j in range(1, m - 1):
                                is                        y[j] = x[j - 1] + x[j + 1]
                                                      for j in range(max(m - 1, 1), m):
                                                          y[j] = x[max(j - 1, 0)] + x[min(j + 1, m - 1)]

Places next to each other are what LLVM takes several steps of at a time. ``max``, ``min``, ``%``, comparisons and the
lengths of short loops inside are answered, as far as they ask for the loop's number alone. Each step does what it did,
in the same order.

References
----------
M. Wolfe, "High Performance Compilers for Parallel Computing", Addison-Wesley 1996, section 9.2 (index set splitting).
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field

from srcgraph.codegen.affine import Scope, Terms, Trips, added, axes_of, literal, number_of, plus
from srcgraph.codegen.flow import NOTHING, assigned_names, live_before
from srcgraph.codegen.statements import nodes_in, statements_in
from srcgraph.codegen.trips import stored_arrays

MOST = 4
"""How many steps an edge has at most."""
SHORT = 32
"""How many steps a loop inside has at most."""
LONGEST = 12
"""How many statements are written three times at most."""


def apart_at_edges(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function with such loops divided."""
    out: list[ast.stmt] = []
    for node in body:
        divided = _divided(node) if isinstance(node, ast.For) else None
        for name in ("body", "orelse") if divided is None else ():
            inner = getattr(node, name, None)
            if inner:
                setattr(node, name, apart_at_edges(inner))
        out += [node] if divided is None else divided
    return out


def _divided(loop: ast.For) -> list[ast.stmt] | None:
    trips = Trips.of(loop.iter)
    if not isinstance(loop.target, ast.Name) or loop.orelse or trips is None or trips.step != 1:
        return None
    first = number_of(trips.first)
    if first is None or not _is_plain_stop(trips.stop) or not _is_worth_it(loop):
        return None
    found = _Interior.of(loop.target.id, first, trips.stop, loop.body)
    if found is None or not found.low + found.high:
        return None
    begin, end = literal(first + found.low), plus(trips.stop, -found.high)
    parts = [_over(loop, begin, end, found.body)]
    if found.low:
        parts.insert(0, _over(loop, trips.first, _call("min", begin, trips.stop), copy.deepcopy(loop.body)))
    if found.high:
        parts.append(_over(loop, _call("max", end, begin) if found.low + first else end, trips.stop, loop.body))
    return parts


def _over(loop: ast.For, begin: ast.expr, end: ast.expr, body: list[ast.stmt]) -> ast.stmt:
    bounds = [end] if number_of(begin) == 0 else [begin, end]
    run = ast.Call(ast.Name("range", ast.Load()), bounds, [])
    return ast.copy_location(ast.For(loop.target, copy.deepcopy(run), body, []), loop)


def _call(function: str, *args: ast.expr) -> ast.expr:
    numbers = [number_of(a) for a in args]
    if None not in numbers:
        return literal({"min": min, "max": max}[function](numbers))  # type: ignore[type-var]
    return ast.Call(ast.Name(function, ast.Load()), list(args), [])


def _is_plain_stop(stop: ast.expr) -> bool:
    match stop:
        case ast.Name() | ast.BinOp(left=ast.Name(), op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            return True
    return False


def _is_worth_it(loop: ast.For) -> bool:
    """Whether a short loop stores elements that are not made of each other, and hands no number on."""
    body = loop.body
    inside = list(statements_in(body))
    if len(inside) > LONGEST or any(isinstance(s, ast.While | ast.Break | ast.Return) for s in inside):
        return False
    stored = stored_arrays(body)
    handed_on = live_before(body, NOTHING, NOTHING, NOTHING) & assigned_names(body)
    return bool(stored) and not handed_on and not any(_is_of_itself(body, array) for array in stored)


def _is_of_itself(body: Sequence[ast.stmt], array: str) -> bool:
    """Whether an array's elements are read at other places of the rows that are stored."""
    places = [n for n in nodes_in(*body) if isinstance(n, ast.Subscript) and ast.unparse(n.value) == array]
    stores = [[ast.unparse(a) for a in axes_of(n.slice)] for n in places if isinstance(n.ctx, ast.Store)]
    reads = [[ast.unparse(a) for a in axes_of(n.slice)] for n in places if not isinstance(n.ctx, ast.Store)]
    return any(read not in stores and read[:-1] in [s[:-1] for s in stores] for read in reads)


class _Unknown(Exception):
    """A loop inside is not short."""


@dataclass
class _Interior(ast.NodeTransformer):
    """The body of a loop between its edges.

    Attributes
    ----------
    variable : str
    first : int
        The loop's first number.
    stop : Terms
        Where it ends, as a sum.
    scope : Scope
        What does not change in the loop.
    short : dict
        The smallest and the largest number of the loops inside.
    low, high : int
        How many steps the edges have.
    """

    variable: str
    first: int
    stop: Terms
    scope: Scope
    single: dict[str, ast.expr]
    short: dict[str, tuple[int, int]] = field(default_factory=dict)
    low: int = 0
    high: int = 0
    body: list[ast.stmt] = field(default_factory=list)

    @staticmethod
    def of(variable: str, first: int, stop: ast.expr, body: list[ast.stmt]) -> _Interior | None:
        single: dict[str, ast.expr] = {}
        loops = {s.target.id for s in statements_in(body) if isinstance(s, ast.For) and isinstance(s.target, ast.Name)}
        changed = assigned_names(body)
        scope = Scope(changed - loops, single)
        ends = scope.terms(stop, variable)
        if ends is None or variable in ends or variable in changed or not loops.isdisjoint(ends):
            return None
        found = _Interior(variable, first, ends, scope, single)
        try:
            found.body = found.block(copy.deepcopy(body), top=True)
        except _Unknown:
            return None
        return found

    # -- statements ---------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], top: bool = False) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in body:
            out += self.statement(s)
            match s:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if top and self.is_once(name, body):
                    self.single[name] = value
        return out

    def is_once(self, name: str, body: Sequence[ast.stmt]) -> bool:
        return [name in assigned_names([s]) for s in body].count(True) == 1

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        match s:
            case ast.If():
                s.test = self.visit(s.test)
                if isinstance(s.test, ast.Constant):
                    return self.block(s.body if s.test.value else s.orelse)
                s.body, s.orelse = self.block(s.body) or [ast.Pass()], self.block(s.orelse)
                return [s]
            case ast.For(target=ast.Name(id=name)):
                s.iter = self.visit(s.iter)
                self.short[name] = self.short_numbers(s)
                s.body = self.block(s.body) or [ast.Pass()]
                del self.short[name]
                return [s]
            case ast.For():
                raise _Unknown
        self.generic_visit(s)
        return [s]

    def short_numbers(self, loop: ast.For) -> tuple[int, int]:
        """The smallest and the largest number of a loop inside, whose length is written as a number."""
        assert isinstance(loop.iter, ast.Call)
        loop.iter.args = [self.as_number(a) for a in loop.iter.args]
        trips = Trips.of(loop.iter)
        ends = (None, None) if trips is None else (number_of(trips.lowest()), number_of(trips.highest()))
        if ends[0] is None or ends[1] is None or not 0 <= ends[1] - ends[0] < SHORT:
            raise _Unknown
        return ends[0], ends[1]

    def as_number(self, node: ast.expr) -> ast.expr:
        terms = self.scope.terms(node, self.variable)
        return node if terms is None or set(terms) > {""} or set(terms) - {""} else literal(terms.get("", 0))

    # -- expressions --------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        pairs = zip(operands, node.ops, operands[1:], strict=False)
        answers = [self.compared(left, op, right) for left, op, right in pairs]
        if False in answers:
            return ast.Constant(False)
        left = [k for k, answer in enumerate(answers) if answer is None]
        if not left:
            return ast.Constant(True)
        if len(left) == 1:
            (k,) = left
            return ast.Compare(operands[k], [node.ops[k]], [operands[k + 1]])
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        values: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                if value.value is decides:
                    values.append(value)
                    break
                continue
            values.append(value)
        if len(values) > 1:
            node.values = values
            return node
        return values[0] if values else ast.Constant(not decides)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=bool(value))):
                return ast.Constant(not value)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=[left, right], keywords=[]):
                answer = self.compared(left, ast.GtE() if name == "max" else ast.LtE(), right)
                return node if answer is None else left if answer else right
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                inside = self.compared(left, ast.GtE(), ast.Constant(0)) and self.compared(left, ast.Lt(), right)
                return left if inside else node
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [_flat(a) for a in node.slice.elts]
        else:
            node.slice = _flat(node.slice)
        return node

    # -- answers ------------------------------------------------------------------------------------

    def compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
        """What a comparison says in all steps between the edges, which are made as long as that needs."""
        x, y = self.scope.terms(left, self.variable), self.scope.terms(right, self.variable)
        if x is None or y is None or type(op) not in _ANSWERS:
            return None
        difference = added(x, y, -1)
        factor = difference.get(self.variable, 0)
        if factor == -1:
            return self.answer(added({}, difference, -1), _MIRRORED.get(type(op), type(op)))
        return self.answer(difference, type(op)) if factor == 1 else None

    def answer(self, difference: Terms, op: type[ast.cmpop]) -> bool | None:
        """The same of the loop's number and others, against 0."""
        rest, least, most = self.of_short_loops({k: n for k, n in difference.items() if k != self.variable})
        known = rest.pop("", 0)
        if not rest:
            return self.above(self.first + known + least, op)
        rest = added(rest, self.stop, 1)
        known += rest.pop("", 0)
        return self.below(known + most - 1, op) if not rest else None

    def of_short_loops(self, terms: Terms) -> tuple[Terms, int, int]:
        """A sum without the numbers of loops inside, and what these add at least and at most."""
        least = most = 0
        for name in [k for k in terms if k in self.short]:
            ends = [terms[name] * end for end in self.short[name]]
            least, most = least + min(ends), most + max(ends)
        return {k: n for k, n in terms.items() if k not in self.short}, least, most

    def above(self, least: int, op: type[ast.cmpop]) -> bool | None:
        """The answer where the first step's difference is ``least``, and each later one's is larger."""
        edge = max(0, -least + (op in (ast.Gt, ast.LtE, ast.Eq, ast.NotEq)))
        if edge > MOST:
            return None
        self.low = max(self.low, edge)
        return _ANSWERS[op](1, 0)

    def below(self, most: int, op: type[ast.cmpop]) -> bool | None:
        """The answer where the last step's difference is ``most``, and each earlier one's is smaller."""
        edge = max(0, most + (op in (ast.Lt, ast.GtE, ast.Eq, ast.NotEq)))
        if edge > MOST:
            return None
        self.high = max(self.high, edge)
        return _ANSWERS[op](-1, 0)


_ANSWERS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def _flat(node: ast.expr) -> ast.expr:
    """``k + (j - 1)`` as ``k + j - 1``."""
    match node:
        case ast.BinOp(
            left=left,
            op=ast.Add(),
            right=ast.BinOp(left=inner, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(value))),
        ):
            return plus(ast.BinOp(left, ast.Add(), inner), value if isinstance(op, ast.Add) else -value)
    return node
