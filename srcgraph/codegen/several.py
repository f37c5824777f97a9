"""Calls that LLVM can make for several elements of an array at a time: those in loops without others, and no way out,
of what does not depend on earlier steps. Functions whose results are compared are the same wherever they are called.

``np.exp(x[i])`` is such a call if it is that of `srcgraph.runtime.vector`; elsewhere numba's own stays, as a person
would write it. So is ``x[i] / d``, which is several multiplications where ``d`` stays the same (`quotients`).
"""

from __future__ import annotations

import ast
import copy
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from srcgraph.codegen.flow import NOTHING, live_before
from srcgraph.codegen.statements import is_pure, names_in, nodes_in, statements_in
from srcgraph.codegen.sums import SHORT

FUNCTIONS = {
    "np": frozenset((
        "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
        "arctan2", "hypot", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt",
    )),
    "math": frozenset(("erf", "erfc")),
}  # fmt: skip
"""What there is for several elements, and where numba's own is."""
EXTREMES = frozenset(("maximum", "minimum", "running_maximum", "running_minimum"))
SPECIAL = frozenset(("ndtr", "expit", "log_expit"))
"""Those that `srcgraph.runtime.special` has for one number."""
HALVES = (-2.5, -1.5, -0.5, 1.5, 2.5)
"""Powers that are a root and products, within three units of the last place."""
_ALL = frozenset().union(*FUNCTIONS.values(), SPECIAL, ("power",))
QUOTIENT = "quotient"
_HOMES = {QUOTIENT: "quotients"}
"""Modules of `srcgraph.runtime`, for what is not in `vector`."""
_NESTED = (ast.For, ast.While, ast.Break, ast.Return, ast.Raise)


def several_at_once(functions: Sequence[ast.FunctionDef], divides: bool, sums: bool) -> dict[str, str]:
    """Change the calls in place; the names that are called then, and where they are. A name that is taken stays.

    Quotients are called, too, unless LLVM ``divides`` in ways of its own. Loops that only add up are among those that
    it takes several steps of if it may do so with ``sums``.
    """
    taken = {n.id for n in names_in(*functions)} | {f.name for f in functions}
    taken |= {a.arg for f in functions for a in f.args.args}
    found: Counter[str] = Counter()
    for function in functions:
        for loop in _innermost(function, sums):
            carried = _Carried(loop)
            _Calls(taken, found, carried).visit(loop)
            if not divides and QUOTIENT not in taken and not _is_short(loop):
                _Quotients(found, carried).visit(loop)
    compared = set(_compared(functions))
    for function in functions if compared else ():
        _Everywhere(taken, found, compared).visit(function)
    alone = Counter(n.id for n in names_in(*functions) if n.id in SPECIAL)
    alone.subtract(found)
    return {name: _HOMES.get(name, "vector") for name in found if alone[name] <= 0}


def _compared(functions: Sequence[ast.FunctionDef]) -> Iterator[str]:
    """The functions of whose results it is asked whether they are equal: those are the same wherever they are called.

    The derivative of a largest element asks which elements are equal to it, and may compute these again.
    """
    integers = {name for f in functions for name in _counting(f.body)}
    for node in nodes_in(*(s for f in functions for s in f.body)):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.GtE() | ast.LtE()], comparators=[right]):
                if not any(_is_integer(e, integers) for e in (left, right)):
                    yield from (name for f in functions for name in _called(f))
                    return
            case ast.Call(func=ast.Name(id=name), args=[_, term]) if name in EXTREMES:
                yield from _called(term)


def _counting(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Names of loops' numbers and of lengths."""
    for s in statements_in(body):
        match s:
            case ast.For(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Attribute(attr="shape"))):
                yield name


def _is_integer(node: ast.expr, integers: Set[str]) -> bool:
    """Whether an operand is a number that is written, or surely made of numbers of loops and lengths."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in integers
        case ast.UnaryOp(operand=operand):
            return _is_integer(operand, integers)
        case ast.BinOp(left=left, right=right):
            return any(isinstance(e, ast.Name) and e.id in integers for e in (left, right))
    return False


def _called(node: ast.AST) -> Iterator[str]:
    """The functions of one number that are called in an expression or a function."""
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=home), attr=name)) if name in FUNCTIONS.get(home, ()):
                yield name
            case ast.Call(func=ast.Name(id=name)) if name in _ALL:
                yield name
            case ast.BinOp(op=ast.Pow(), right=right) if not _is_plain(right):
                yield "power"


def is_several(node: ast.AST) -> bool:
    """Whether it is a call of one of these functions."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
            return name in FUNCTIONS.get(module, ())
        case ast.Call(func=ast.Name(id=name)):
            return name in SPECIAL
    return False


def _innermost(function: ast.FunctionDef, sums: bool) -> Iterator[ast.For]:
    """The loops in which there is no other one but short ones, and that nothing leaves: those over elements that add up
    no number, or all with ``sums``. A short one is written out, and calls one after the other."""
    for node in statements_in(function.body):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not _is_short(node):
            inside = list(nodes_in(*_after_guards(node)))
            if (sums or _is_by_elements(node, node.target.id, inside)) and not any(
                isinstance(n, _NESTED) and not _is_short(n) for n in inside
            ):
                yield node


def _is_by_elements(loop: ast.For, index: str, inside: Sequence[ast.AST]) -> bool:
    """Whether a loop looks up elements by its number, and adds up none of them in their order."""
    places = (n.slice for n in inside if isinstance(n, ast.Subscript))
    if not any(index in {n.id for n in names_in(p)} for p in places):
        return False
    added = [n.target for n in inside if isinstance(n, ast.AugAssign) and not isinstance(n.value, ast.Constant)]
    changing = {index, *(n.id for n in names_in(*loop.body) if isinstance(n.ctx, ast.Store))}
    few = {n.id for s in inside if isinstance(s, ast.For) for n in names_in(s.target)}
    elements = [t.slice for t in added if isinstance(t, ast.Subscript)]
    if any((changing - few).isdisjoint(n.id for n in names_in(place)) for place in elements):
        return False
    names = {t.id for t in added if isinstance(t, ast.Name)}
    return names.isdisjoint(live_before(loop.body, NOTHING, NOTHING, NOTHING)) if names else True


def _after_guards(loop: ast.For) -> list[ast.stmt]:
    """The statements of a loop but for the first ones, as long as they raise something in the first step or never."""
    carried, count = _Carried(loop), 0
    for statement in loop.body:
        match statement:
            case ast.If(test=test, body=[ast.Raise()], orelse=[]) if carried.stays(test):
                count += 1
            case _:
                break
    return loop.body[count:]


def _is_short(node: ast.AST) -> bool:
    """Whether it is a loop of a few steps, which LLVM writes out."""
    match node:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(steps))])):
            return steps <= SHORT
    return False


class _Carried:
    """What depends on earlier steps of a loop: LLVM computes it one by one, and waiting for a function of several
    numbers takes ten times as long as for one of a single number."""

    def __init__(self, loop: ast.For):
        self.stores: dict[str, set[str]] = {}
        inside = list(statements_in(loop.body))
        for node in inside:
            for target in _targets(node):
                if isinstance(target, ast.Subscript):
                    self.stores.setdefault(ast.unparse(target.value), set()).add(ast.unparse(target.slice))
        own = frozenset(n.id for s in inside for t in _targets(s) for n in _names(t))
        self.changing = own | {n.id for s in (loop, *inside) if isinstance(s, ast.For) for n in names_in(s.target)}
        self.names: set[str] = set()
        first = own & live_before(loop.body, NOTHING, NOTHING, NOTHING)
        self._spread([n for n in inside if isinstance(n, ast.Assign | ast.AugAssign)], first)

    def _spread(self, assigned: Sequence[ast.Assign | ast.AugAssign], first: Iterable[str]) -> None:
        """Note some names, and those computed of them."""
        made = {id(node): [n.id for t in _targets(node) for n in _names(t)] for node in assigned}
        readers: dict[str, list[str]] = defaultdict(list)
        todo = [*first, *(name for node in assigned if self._reads_stored(node.value) for name in made[id(node)])]
        for node in assigned:
            for name in {n.id for n in names_in(node.value)}:
                readers[name] += made[id(node)]
        while todo:
            name = todo.pop()
            if name not in self.names:
                self.names.add(name)
                todo += readers[name]

    def reaches(self, expr: ast.AST) -> bool:
        """Whether an expression depends on earlier steps."""
        return any(n.id in self.names for n in names_in(expr)) or self._reads_stored(expr)

    def stays(self, expr: ast.AST) -> bool:
        """Whether an expression is the same in all steps."""
        for node in ast.walk(expr):
            match node:
                case ast.Name(id=name) if name in self.changing:
                    return False
                case ast.Subscript(value=base) if ast.unparse(base) in self.stores:
                    return False
        return is_pure(expr)

    def _reads_stored(self, expr: ast.AST) -> bool:
        """Whether an expression reads an array that is stored into, at another place."""
        if not self.stores:
            return False
        read = (n for n in ast.walk(expr) if isinstance(n, ast.Subscript))
        return any(not self.stores.get(ast.unparse(n.value), set()) <= {_place(n)} for n in read)


def _place(node: ast.Subscript) -> str:
    return ast.unparse(node.slice)


def _targets(node: ast.stmt) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            return [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
        case ast.AugAssign(target=target):
            return [target]
    return []


def _names(target: ast.expr) -> list[ast.Name]:
    return [target] if isinstance(target, ast.Name) else []


class _Calls(ast.NodeTransformer):
    """``np.exp(x)`` as ``exp(x)``, ``x ** y`` as ``power(x, y)``; ``found`` gets the names."""

    def __init__(self, taken: set[str], found: Counter[str], carried: _Carried):
        self.taken = taken
        self.found = found
        self.carried = carried

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node.func:
            case ast.Attribute(value=ast.Name(id=home), attr=name) if name in FUNCTIONS.get(home, ()):
                if name not in self.taken and self.may_be(name, node):
                    node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)
            case ast.Name(id=name) if name in SPECIAL:
                self.may_be(name, node)
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        several = isinstance(node.op, ast.Pow) and not _is_plain(node.right) and "power" not in self.taken
        several = several and self.may_be("power", node)
        self.generic_visit(node)
        if not several:
            return node
        return ast.copy_location(ast.Call(ast.Name("power", ast.Load()), [node.left, node.right], []), node)

    def may_be(self, name: str, node: ast.expr) -> bool:
        """Whether several of these can be computed at a time."""
        if self.carried.reaches(node):
            return False
        self.found[name] += 1
        return True


class _Everywhere(_Calls):
    """The same of all calls of some functions."""

    def __init__(self, taken: set[str], found: Counter[str], names: set[str]):
        self.taken, self.found, self.names = taken, found, names

    def may_be(self, name: str, node: ast.expr) -> bool:
        if name not in self.names:
            return False
        self.found[name] += 1
        return True


def _is_plain(exponent: ast.expr) -> bool:
    """Whether LLVM needs no function for a power: products, or a square root."""
    match exponent:
        case ast.Call(func=ast.Attribute(attr="float32"), args=[exponent]):
            return _is_plain(exponent)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float(value))):
            return -value in HALVES
        case ast.Constant(value=value):
            return isinstance(value, int) or value == 0.5 or value in HALVES
    return False


class _Quotients(ast.NodeTransformer):
    """``x / d`` as ``quotient(x, d)`` where ``d`` stays the same; ``found`` gets the name."""

    def __init__(self, found: Counter[str], carried: _Carried):
        self.found = found
        self.carried = carried

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and self.pays(node.left, node.right):
            return ast.copy_location(self.quotient(node.left, node.right), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not (isinstance(node.op, ast.Div) and self.pays(node.target, node.value)):
            return node
        read = copy.copy(node.target)
        read.ctx = ast.Load()
        return ast.copy_location(ast.Assign([node.target], self.quotient(read, node.value)), node)

    def pays(self, x: ast.expr, d: ast.expr) -> bool:
        """Whether LLVM would divide in each step, without waiting for the step before."""
        if isinstance(d, ast.Constant) and isinstance(d.value, int | float) and math.frexp(d.value)[0] in (0.0, 0.5):
            return False
        return self.carried.stays(d) and not self.carried.stays(x) and not self.carried.reaches(x)

    def quotient(self, x: ast.expr, d: ast.expr) -> ast.expr:
        self.found[QUOTIENT] += 1
        return ast.Call(ast.Name(QUOTIENT, ast.Load()), [x, d], [])
