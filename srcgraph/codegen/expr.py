"""Nested expressions: a number, or an array's element at an index, as one Python expression.

Indices are `Dim`s over the enclosing loops' indices, so that ``u[1:][k]`` is ``u[k + 1]`` and two
accesses are to the same place when their indices are equal.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeGuard

import numpy as np

from srcgraph.codegen.items import INDICES, ref
from srcgraph.codegen.unsaid import Unsaid
from srcgraph.errors import InternalError
from srcgraph.ir.dims import Atom, Dim, DimCall, as_dim, symbol
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.promote import is_weak
from srcgraph.ir.types import BOOL, FLOAT, INT, ArrayType, ScalarType, TensorType
from srcgraph.ir.view import View, split_operands, step_of

Index = tuple[Dim, ...]
INDEX_SYMBOLS = {f"@{k}": v for k, v in enumerate(INDICES)}
_WRAPPING = {np.dtype(t) for t in (np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64)}
"""As which floats wrap that they cannot hold; LLVM may take numba's conversion for one that changes no number."""
_NARROW = {np.dtype(t) for t in (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)}
_KEEPS_WIDTH = {"cast", "where", "maximum", "minimum", "fmax", "fmin"}


def loop_index(dims: Sequence[Dim]) -> Index:
    """The index of the current point of a nest over axes of these lengths; an axis of length 1 needs no loop."""
    return tuple(as_dim(0) if d == 1 else symbol(f"@{k}") for k, d in enumerate(dims))


def determines(dim: Dim, loop: str) -> bool:
    """Whether an index depends on one loop alone, and by a factor that is a number: each of its steps has another."""
    own = [monomial for monomial, _ in dim.terms if any(_is_of_loops(a) for a in monomial)]
    return own == [(loop,)] and sum(s.startswith("@") for s in dim.symbols()) == 1


def in_row(place: Index, at: Index, loops: Iterable[str]) -> bool:
    """Whether two places of an array are the same in what depends on these loops: they have its rows for themselves."""
    pairs = [d for d, e in zip(at, place, strict=True) if d == e]
    return all(any(determines(d, loop) for d in pairs) for loop in loops)


def _is_of_loops(atom: Any) -> bool:
    return any(s.startswith("@") for s in ([atom] if isinstance(atom, str) else Dim({(atom,): 1}).symbols()))


def apart(read: Index, written: Index, dims: Sequence[Dim]) -> bool:
    """Whether no point of a nest over ``dims`` reads what another one writes: one axis is enough."""
    last = {f"@{k}": length - 1 for k, length in enumerate(dims)}
    return any(_apart_on_axis(i, j, last) for i, j in zip(read, written, strict=True))


def _apart_on_axis(read: Dim, written: Dim, last: Mapping[str, Dim]) -> bool:
    if _have_other_rests(read, written):
        return True
    between, moving = read - written, [s for s in written.symbols() if s.startswith("@")]
    if any(s.startswith("@") for s in between.symbols()) or len(moving) > 1 or not last.keys() >= {*moving}:
        return False
    step = abs(dict(written.terms).get((moving[0],), 0)) if moving else 0
    if not step:
        return not moving and bool(between.const)
    reach = last[moving[0]] * step
    further = [(d - reach).const for d in (between, -between)]
    return reach != -step and any(n is not None and n > 0 for n in further)


def _have_other_rests(read: Dim, written: Dim) -> bool:
    """Whether two indices, divided by what all their loops' steps have in common, leave other rests at every point."""
    steps, fixed = list[int](), as_dim(0)
    for dim, sign in ((read, 1), (written, -1)):
        for monomial, coefficient in dim.terms:
            if any(map(_is_of_loops, monomial)):
                steps.append(coefficient)
            else:
                fixed = fixed + Dim({monomial: coefficient * sign})
    common = math.gcd(*steps)
    return common > 1 and fixed.const is not None and fixed.const % common != 0


STRETCHED = "stretched"
"""The function of an index and of a length that is the index, or 0 where the length turns out to be 1."""


class Expressions:
    """Writes values as expressions.

    Parameters
    ----------
    variables : set of Value
        Values that have a name: they are written as it.
    definitions : mapping
        The node of every other value.
    providers : mapping
        The variable that holds each size symbol.
    owners : mapping
        The integer that introduced a symbol no variable holds.
    target : str
        Which spelling of the ops to use.
    """

    def __init__(
        self,
        variables: set[Value],
        definitions: Mapping[Value, Apply],
        providers: Mapping[Atom, Value],
        owners: Mapping[str, Value],
        target: str = "cpu",
    ):
        self.variables = variables
        self.definitions = definitions
        self.providers = providers
        self.owners = owners
        self.target = target
        self.local: dict[Value, Index] = {}
        """Values of arrays that are loop numbers, with the index at which they are."""
        self.accessed: list[tuple[Value, Index]] | None = None
        self.as_python = False
        """Whether sizes are written for arithmetic with Python's integers."""
        self.unsaid = Unsaid(variables, definitions)

    # -- sizes and indices ----------------------------------------------------------------------

    def dim(self, dim: Dim) -> ast.expr:
        """An integer expression."""
        terms = sorted(dim.terms, key=lambda t: (t[1] < 0, not t[0]))
        out: ast.expr | None = None
        for monomial, coefficient in terms:
            factors = [self.atom(a) for a in monomial]
            negative = -LARGEST <= coefficient < 0
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, number(-coefficient if negative else coefficient))
            term = factors[0]
            for factor in factors[1:]:
                term = ast.BinOp(term, ast.Mult(), factor)
            if out is None:
                out = ast.UnaryOp(ast.USub(), term) if negative else term
            else:
                out = ast.BinOp(out, ast.Sub() if negative else ast.Add(), term)
        return out or number(0)

    def atom(self, atom: str | DimCall) -> ast.expr:
        if atom in self.providers:
            return self.counted(self.providers[atom], ref(self.providers[atom]))
        if isinstance(atom, DimCall):
            args = [self.dim(a) for a in atom.args]
            if atom.fn == STRETCHED:
                return ast.BinOp(args[0], ast.Mult(), ast.Compare(args[1], [ast.NotEq()], [number(1)]))
            if atom.fn in ("floordiv", "mod"):
                return ast.BinOp(args[0], ast.FloorDiv() if atom.fn == "floordiv" else ast.Mod(), args[1])
            return call(atom.fn, *args)
        if atom in INDEX_SYMBOLS:
            return ref(INDEX_SYMBOLS[atom])
        owner = self.owners.get(atom)
        if owner is None or (owner not in self.variables and owner not in self.definitions):
            raise InternalError(f"nothing in the generated code knows the size {atom!r}")
        return self.counted(owner, self.scalar(owner))

    def counted(self, value: Value, expr: ast.expr) -> ast.expr:
        """A number that a size is made of, as one of Python's where that is asked for."""
        return call("int", expr) if self.as_python and not is_weak(value.type) else expr

    def integer(self, known: Dim, weak: bool) -> ast.expr:
        """An integer that equals ``known``: one of Python's, which do not wrap, or one of NumPy's."""
        outside, self.as_python = self.as_python, weak
        expr = self.dim(known)
        self.as_python = outside
        return expr if weak else call("np.int64", expr)

    def index_of(self, value: Value) -> Dim:
        """An integer operand as an index expression."""
        assert isinstance(value.type, ScalarType) and value.type.value is not None
        return value.type.value

    # -- values ---------------------------------------------------------------------------------

    def scalar(self, value: Value) -> ast.expr:
        """A number."""
        if value in self.variables:
            return ref(value)
        node = self.definitions.get(value)
        known = value.type.value if isinstance(value.type, ScalarType) else None
        if node is not None and node.op.name == "const":
            return literal(node.attrs["value"], typed=True)
        if node is not None and known is not None and self.expands(value):
            return self.spelled(node, [self.scalar(v) for v in node.inputs])
        if known is not None and (node is None or known.symbol is None or known.symbol in self.providers):
            if known.symbol is None or self.providers.get(known.symbol) is not value:
                return self.integer(known, is_weak(value.type))
        if node is None:
            raise InternalError(f"{value} has neither a name nor a definition in the generated code")
        match node.op.name:
            case "getitem":
                return self.element(node.inputs[0], self.viewed(node, ()))
            case "list_len":
                return call("len", ref(node.inputs[0]))
            case "list_get":
                return subscript(ref(node.inputs[0]), [self.from_end(*node.inputs)])
        return self.spelled(node, [self.scalar(v) for v in node.inputs])

    def expands(self, value: Value) -> bool:
        """Whether an integer is made of a product of sums, which is written as it is: its terms need more bits."""
        node = None if value in self.variables else self.definitions.get(value)
        if node is None or node.op.kind != "elementwise" or getattr(value.type, "value", None) is None:
            return False
        known = [v.type.value for v in node.inputs if isinstance(v.type, ScalarType)]
        factors = [d for d in known if d is not None and d not in (0, 1, -1)]
        product = node.op.name == "ipow" or (node.op.name == "mul" and len(factors) > 1)
        return (product and any(len(d.terms) > 1 for d in factors)) or any(map(self.expands, node.inputs))

    def from_end(self, xs: Value, at: Value) -> ast.expr:
        """The index of a list's item; ``len(xs) - 1`` is -1."""
        known = at.type.value if isinstance(at.type, ScalarType) else None
        if known is not None and at not in self.variables:
            for name in known.symbols():
                node = self.definitions.get(self.owners[name]) if name in self.owners else None
                left = (known - symbol(name)).const
                if node is not None and node.op.name == "list_len" and node.inputs[0] is xs and left is not None:
                    return number(left)
        return self.scalar(at)

    def element(self, value: Value, index: Index) -> ast.expr:
        """The element of an array at an index."""
        if self.local.get(value) == index:
            return ref(value)
        if value in self.variables:
            if self.accessed is not None:
                self.accessed.append((value, index))
            return subscript(ref(value), [self.dim(d) for d in index])
        node = self.definitions[value]
        if node.op.kind == "elementwise":
            return self.spelled(node, [self.operand(v, value, index) for v in node.inputs])
        match node.op.name:
            case "getitem":
                return self.element(node.inputs[0], self.viewed(node, index))
            case "with_shape" | "copy":
                return self.element(node.inputs[0], index)
            case "broadcast_to":
                return self.stretched(node, index)
            case "list_array":
                return subscript(ref(node.inputs[0]), [self.dim(index[0])])
            case "full":
                return self.scalar(node.inputs[0])
            case "empty":
                return literal(node.attrs["dtype"].type(0))
            case "arange":
                start, step, _ = node.inputs
                return self.ranged(start, step, index[0])
        raise InternalError(f"{node.op.name} has no element expression")

    def operand(self, operand: Value, out: Value, index: Index) -> ast.expr:
        """An elementwise operand at an index of the result: missing axes are dropped, ones repeat."""
        if not isinstance(operand.type, ArrayType):
            return self.scalar(operand)
        shape = operand.type.shape
        own = index[len(index) - len(shape) :]
        full = out.type.shape[len(index) - len(shape) :]
        at = tuple(as_dim(0) if d == 1 and f != 1 else i for d, f, i in zip(shape, full, own, strict=True))
        return self.element(operand, at)

    def viewed(self, node: Apply, index: Index) -> Index:
        """The index into the base of a view."""
        return base_index(node.attrs["view"], [self.index_of(v) for v in node.inputs[1:]], index)

    def stretched(self, node: Apply, index: Index) -> ast.expr:
        x = node.inputs[0]
        if not isinstance(x.type, ArrayType):
            return self.scalar(x)
        out, short = list[Dim](), list[Dim]()
        first = len(index) - len(x.type.shape)
        for size, wanted, at in zip(x.type.shape, node.outputs[0].type.shape[first:], index[first:], strict=True):
            certain = at if size == wanted else as_dim(0)
            is_certain = size in (wanted, 1)
            out.append(certain if is_certain else Dim({(DimCall(STRETCHED, (at, size)),): 1}))
            short.append(certain if is_certain else as_dim(0))
        if out != short and self.accessed is not None:  # an axis of length 1 is read at 0
            for at in (index[first:], tuple(short)):
                self.element(x, at)
            kept, self.accessed = self.accessed, None
            found = self.element(x, tuple(out))
            self.accessed = kept
            return found
        return self.element(x, tuple(out))

    def ranged(self, start: Value, step: Value, k: Dim) -> ast.expr:
        if start.type.dtype == INT and step.type.value is not None and start.type.value is not None:
            return self.dim(start.type.value + k * step.type.value)
        by = self.scalar(step)
        at = self.dim(k)
        term = at if is_number(by, 1) else ast.BinOp(at, ast.Mult(), by)
        first = self.scalar(start)
        total = term if is_number(first, 0) and not is_number(by, 1) else ast.BinOp(first, ast.Add(), term)
        return self.converted(total, start.type.dtype) if start.type.dtype != FLOAT else total

    # -- ops ------------------------------------------------------------------------------------

    def spelled(self, node: Apply, operands: Sequence[ast.expr]) -> ast.expr:
        """An elementwise op of expressions, with the dtype the graph says."""
        out = node.outputs[0].type.dtype
        if node.op.name in ("cast", "full"):  # an array without axes is its number
            return self.cast(operands[0], node.inputs[0].type, node.outputs[0].type)
        if node.op.name in _MIXES and out == FLOAT:
            operands = _without_float(operands)
        if self.unsaid.needs(node):
            operands = [call("np.int64", operands[0]), *operands[1:]]
        text = node.op.text(self.target, out, node.attrs)
        if not text:
            raise InternalError(f"{node.op.name} has no text for {self.target}")
        result = filled(text, operands, node.attrs)
        if out in _NARROW and node.op.name not in _KEEPS_WIDTH:
            return self.converted(result, out)
        return result

    def cast(self, x: ast.expr, have: TensorType, to: TensorType) -> ast.expr:
        if INT == have.dtype == to.dtype and is_weak(to) != is_weak(have):
            return call("int" if is_weak(to) else "np.int64", x)
        if to.dtype == INT and have.dtype.kind in "iu" and is_weak(to):  # one of Python's, of 64 bits
            return call("np.intp", x)
        if to.dtype == INT and have.dtype.kind == "f" and not is_weak(to):  # one of NumPy's, which wrap
            return call("np.int64", x)
        return self.with_dtype(x, have.dtype, to.dtype)

    def with_dtype(self, x: ast.expr, have: np.dtype, want: np.dtype) -> ast.expr:
        if have == want:
            return x
        if have == BOOL and want.kind == "f":
            one, zero = (literal(want.type(v)) for v in (1, 0))
            return ast.IfExp(x, one, zero)
        if have.kind == "f" and want in _WRAPPING and self.target == "cpu":
            whole = "np.int64" if want.itemsize == 4 else "np.int32"
            return call("unsigned", x) if want.itemsize == 8 else call(f"np.{want.name}", call(whole, x))
        if have not in (BOOL, INT, FLOAT):  # numba's float() keeps 32 bits as they are, its int() too
            return call(f"np.{want.name}", x)
        return self.converted(x, want)

    def converted(self, x: ast.expr, dtype: np.dtype) -> ast.expr:
        plain = {BOOL: "bool", INT: "int", FLOAT: "float"}.get(dtype)
        return call(plain, x) if plain else call(f"np.{dtype.name}", x)


_MIXES = {"add", "sub", "mul", "div"}


def _without_float(operands: Sequence[ast.expr]) -> list[ast.expr]:
    """``0.5 * float(k)`` is written ``0.5 * k``: beside a float, an integer is one."""
    integers = [_converted_integer(o) for o in operands]
    alone = sum(i is not None for i in integers) == 1
    return [i if i is not None and alone else o for i, o in zip(integers, operands, strict=True)]


def _converted_integer(operand: ast.expr) -> ast.expr | None:
    """``k`` of ``float(k)``."""
    is_cast = isinstance(operand, ast.Call) and isinstance(operand.func, ast.Name) and operand.func.id == "float"
    return operand.args[0] if is_cast else None  # type: ignore[attr-defined]


def base_index(view: View, operands: Sequence[Dim], index: Index) -> Index:
    """The index into the base, given the index into the view."""
    at: dict[int, Dim] = {}
    for position, kept in enumerate(view.order):
        if kept is not None:
            at[view.kept[kept]] = index[position]
    out = []
    for axis, (selector, own) in enumerate(zip(view.axes, split_operands(view, operands), strict=True)):
        if selector == "i":
            out.append(own[0])
        elif selector == ":":
            out.append(at[axis])
        else:
            out.append(own[0] + at[axis] * step_of(selector, own))
    return tuple(out)


LARGEST = 2**63 - 1
"""The largest integer of 64 bits."""


def number(value: int) -> ast.expr:
    """An integer; what is negated in a text must fit in 64 bits, too."""
    if value >= -LARGEST:
        return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.BinOp(number(-LARGEST), ast.Sub(), ast.Constant(-LARGEST - value))


def literal(value: Any, typed: bool = False) -> ast.expr:
    """A number as source: Python's own bare, NumPy's of other dtypes wrapped; with ``typed`` int64, too."""
    if isinstance(value, np.generic):
        plain = literal(value.item())
        bare = (BOOL, FLOAT) if typed else (BOOL, INT, FLOAT)
        return plain if value.dtype in bare else call(f"np.{value.dtype.name}", plain)
    if isinstance(value, bool) or value is None:
        return ast.Constant(value)
    if isinstance(value, float):
        if math.isnan(value):
            return dotted("np.nan")
        if math.isinf(value):
            inf = dotted("np.inf")
            return inf if value > 0 else ast.UnaryOp(ast.USub(), inf)
        if math.copysign(1.0, value) < 0:
            return ast.UnaryOp(ast.USub(), ast.Constant(-value))
        return ast.Constant(value)
    if isinstance(value, complex):
        return call("complex", literal(value.real), literal(value.imag))
    return number(value)


def empty_list(item: TensorType) -> ast.expr:
    """``[0.0][:0]``: an empty list that says what its items are."""
    example = literal(item.dtype.type(0))
    if isinstance(item, ArrayType):
        example = call("np.full", ast.Tuple([number(0)] * item.ndim, ast.Load()), example)
    return ast.Subscript(ast.List([example], ast.Load()), ast.Slice(None, number(0), None), ast.Load())


def negated(test: ast.expr) -> ast.expr:
    """``not test``, as people write it; an order is not turned round, since NaN has none."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=right):
            return ast.Compare(left, [ast.NotEq() if isinstance(op, ast.Eq) else ast.Eq()], right)
    return ast.UnaryOp(ast.Not(), test)


def dotted(name: str) -> ast.expr:
    first, *rest = name.split(".")
    out: ast.expr = ast.Name(first, ast.Load())
    for part in rest:
        out = ast.Attribute(out, part, ast.Load())
    return out


def call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(dotted(name), list(args), [])


def subscript(base: ast.expr, index: Sequence[ast.expr]) -> ast.Subscript:
    if len(index) == 1:
        return ast.Subscript(base, index[0], ast.Load())
    return ast.Subscript(base, ast.Tuple(list(index), ast.Load()), ast.Load())


def is_number(node: ast.expr, value: float) -> bool:
    return isinstance(node, ast.Constant) and node.value == value and not isinstance(node.value, bool)


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def filled(text: str, operands: Sequence[ast.expr], attrs: Mapping[str, Any]) -> ast.expr:
    """A template with its operands ``x``, ``y``, ``z`` and attributes put in."""
    names: dict[str, ast.expr] = dict(zip("xyz", operands, strict=False))
    for key, value in attrs.items():
        if isinstance(value, int | float):
            names[key] = literal(value)

    def copied(node: Any) -> Any:
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, list):
            return [copied(n) for n in node]
        if isinstance(node, ast.AST):
            made = type(node)(**{key: copied(part) for key, part in ast.iter_fields(node)})
            return _signed(made)
        return node

    return copied(_parsed(text))


def _signed(node: Any) -> Any:
    """``-(-x)`` as ``x``, ``x + -y`` as ``x - y``."""
    if _is_minus(node) and _is_minus(node.operand):
        return node.operand.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and _is_minus(node.right):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return ast.BinOp(node.left, other, node.right.operand)
    return node


def _is_minus(node: ast.AST) -> TypeGuard[ast.UnaryOp]:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def repeats_operand(text: str) -> frozenset[str]:
    """The operands a template evaluates more than once."""
    seen = [n.id for n in ast.walk(_parsed(text)) if isinstance(n, ast.Name) and n.id in ("x", "y", "z")]
    return frozenset(n for n in seen if seen.count(n) > 1)
