"""How large the integers of a compiled function may become, and whether they are Python's or NumPy's.

An abstract interpretation of numba's form of a function: the bits that a variable may need, by what it is assigned;
what grows from trip to trip needs any number of them. What only counts or addresses is small.

References
----------
Cousot and Cousot, "Abstract interpretation: a unified lattice model", POPL 1977: joins and widening.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba.core import ir, types

from srcgraph.runtime.arrays import NEW_ARRAYS
from srcgraph.runtime.blocks import Block, Rows

NUMPY = "np.int64"
"""The annotation of a parameter that holds one of NumPy's integers, not one of Python's."""

COUNTER = 31
"""Bits of what counts: no loop is taken to have more trips, and no array more items, than this says."""
WORD = 63
"""Bits of an integer of which nothing is known."""
ENDLESS = 10**6
"""Bits of what grows from trip to trip."""
_STEP = 20
"""Bits of what is a small step."""
_PATIENCE = 5
"""How often a variable may turn out larger before it is taken to grow."""

_IN_PLACE = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul, operator.ipow: operator.pow,
    operator.ilshift: operator.lshift, operator.irshift: operator.rshift, operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod, operator.iand: operator.and_, operator.ior: operator.or_, operator.ixor: operator.xor,
}  # fmt: skip
_ROUTES = {operator.add, operator.sub, operator.mul}
"""What positions in arrays are computed with."""


@dataclass(frozen=True, slots=True)
class Size:
    """``bits`` that a number may need besides its sign, whether it is NumPy's, and made of one that may be anything."""

    bits: int
    numpy: bool = False
    free: bool = False

    def join(self, other: Size | None) -> Size:
        if other is None:
            return self
        return Size(max(self.bits, other.bits), self.numpy or other.numpy, self.free or other.free)


UNKNOWN = Size(WORD, free=True)


def function_of(e: ir.Expr) -> Callable[..., Any]:
    """The operator of a binary operation, in place or not."""
    return _IN_PLACE.get(e.fn, e.fn)


def is_binary(e: Any) -> bool:
    return isinstance(e, ir.Expr) and e.op in ("binop", "inplace_binop")


class Magnitudes:
    """The sizes of the integers of a function.

    Parameters
    ----------
    func_ir : numba.core.ir.FunctionIR
    typemap : mapping
        Variables' types, by name.
    """

    def __init__(self, func_ir: ir.FunctionIR, typemap: Any):
        self.types = typemap
        self.annotations = getattr(func_ir.func_id.func, "__annotations__", {})
        self.arguments = func_ir.func_id.arg_names
        self.made: dict[str, list[Any]] = defaultdict(list)
        for block in func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                self.made[statement.target.name].append(statement.value)
        self.sizes: dict[str, Size] = {}
        self._settle()
        self.routes = self._routes(func_ir)
        self.uses = _uses(func_ir, typemap)
        self.known_places: dict[str, bool] = {}

    def needs(self, e: ir.Expr, target: str = "") -> Size | None:
        """The size of the result of an operation, that ``target`` gets, where it may not fit and is not only a position
        made of such; what is nothing but a position may wrap on the way, as it is in the array in the end."""
        size = self._size(e)
        if size is None or size.bits <= WORD:
            return None
        if target and self._is_place(target):
            return replace(size, numpy=True)
        is_small = size.bits < ENDLESS and (size.numpy or not size.free)
        return None if is_small and self._key(e) in self.routes else size

    def literal(self, name: str) -> int | None:
        """The number that a variable is."""
        made = self.made[name]
        if len(made) != 1:
            return None
        if isinstance(made[0], ir.Var):
            return self.literal(made[0].name)
        value = getattr(made[0], "value", None) if isinstance(made[0], (ir.Const, ir.Global, ir.FreeVar)) else None
        return int(value) if isinstance(value, (int, np.integer)) else None

    def called(self, e: ir.Expr) -> Any:
        """The function that is called, where it is a global."""
        return getattr(self._function(e), "value", None)

    def _function(self, e: ir.Expr) -> Any:
        """What the function that is called is read by; where an argument is chosen, numba hands it on."""
        made = self.made[e.func.name]
        while len(made) == 1 and isinstance(made[0], ir.Var):
            made = self.made[made[0].name]
        return made[0] if len(made) == 1 else None

    # -- sizes ------------------------------------------------------------------------------------

    def _settle(self) -> None:
        users: dict[str, set[str]] = defaultdict(set)
        for name, made in self.made.items():
            for used in (v for e in made for v in _read(e)):
                users[used].add(name)
        seen: dict[str, int] = defaultdict(int)
        work = dict.fromkeys(self.made)
        while work:
            name = next(iter(work))
            del work[name]
            size = self.sizes.get(name)
            for e in self.made[name]:
                found = self._size(e)
                size = found.join(size) if found else size
            if size == self.sizes.get(name):
                continue
            seen[name] += 1
            if size is not None and seen[name] > _PATIENCE and size.bits > WORD:
                size = Size(ENDLESS, size.numpy, size.free)
            assert size is not None
            self.sizes[name] = size
            work |= dict.fromkeys(users[name])

    def _size(self, e: Any) -> Size | None:
        """Of what is assigned; None while nothing is known of what it is made of."""
        match e:
            case ir.Const() | ir.Global() | ir.FreeVar():
                return Size(int(e.value).bit_length()) if isinstance(e.value, (int, np.integer)) else UNKNOWN
            case ir.Var():
                return self.sizes.get(e.name)
            case ir.Arg():
                name = self.arguments[e.index]
                return Size(_width(self.types.get(f"arg.{name}")), self.annotations.get(name) == NUMPY, free=True)
            case ir.Expr(op="binop" | "inplace_binop"):
                return self._operation(e)
            case ir.Expr(op="unary" | "cast" | "iternext" | "pair_first"):
                return self.sizes.get(e.value.name)
            case ir.Expr(op="getiter") if isinstance(self.types[e.value.name], (types.RangeType, Rows, Block)):
                return Size(COUNTER)
            case ir.Expr(op="getattr"):
                return Size(COUNTER)
            case ir.Expr(op="getitem" | "static_getitem" | "typed_getitem"):
                return self._item(self.types[e.value.name], e.value.name)
            case ir.Expr(op="call"):
                return self._called(e)
        return UNKNOWN

    def _item(self, owner: Any, name: str) -> Size | None:
        if isinstance(owner, types.Array):
            return Size(_width(owner.dtype), numpy=True)
        shape = any(isinstance(e, ir.Expr) and e.op == "getattr" for e in self.made[name])
        return Size(COUNTER) if shape else UNKNOWN

    def _called(self, e: ir.Expr) -> Size | None:
        sizes = [self.sizes.get(a.name) for a in e.args]
        function = self.called(e)
        if function is len:
            return Size(COUNTER)
        if function is int and isinstance(self.types[e.args[0].name], types.Boolean):
            return Size(1)
        dtype = self._function(e)
        method = dtype.attr if isinstance(dtype, ir.Expr) and dtype.op == "getattr" else ""
        if function in (min, max, abs) or method in ("maximum", "minimum"):
            known = [s for s in sizes if s]
            return functools.reduce(Size.join, known) if known else None
        if function is int and sizes and isinstance(self.types[e.args[0].name], types.Integer):
            return replace(sizes[0], numpy=False) if sizes[0] else None
        if method.startswith(("int", "uint")):
            width = _width(self.types[e.args[0].name])
            return Size(min(sizes[0].bits, width) if sizes[0] else width, numpy=method != "intp")
        return UNKNOWN

    def _operation(self, e: ir.Expr) -> Size | None:
        x, y = self.sizes.get(e.lhs.name), self.sizes.get(e.rhs.name)
        if x is None or y is None:
            return None
        bits = self._bits(function_of(e), x.bits, y.bits, self.literal(e.lhs.name), self.literal(e.rhs.name))
        return Size(min(bits, ENDLESS), x.numpy or y.numpy, x.free or y.free)

    @staticmethod
    def _bits(fn: Any, x: int, y: int, left: int | None, right: int | None) -> int:
        """Of the result, from those of the operands and the numbers they are known to be."""
        if fn in (operator.add, operator.sub):
            return _sum(x, y, left, right)
        if fn is operator.mul:
            return x + y
        if fn is operator.pow:
            return x * right if right is not None and right >= 0 else ENDLESS
        if fn is operator.lshift:
            return x + (right if right is not None and right >= 0 else WORD)
        if fn is operator.rshift:
            return max(x - max(right or 0, 0), 0)
        if fn is operator.floordiv:
            return max(x - max(abs(right or 1).bit_length() - 1, 0), 0)
        if fn is operator.mod:
            return y
        if fn is operator.and_:
            masks = [m.bit_length() for m in (left, right) if m is not None and m >= 0]
            return min([max(x, y), *masks])
        return max(x, y)

    # -- positions --------------------------------------------------------------------------------

    def _is_place(self, name: str) -> bool:
        """Whether a variable is used for nothing but to find items of arrays, by sums, differences and products."""
        if name not in self.known_places:
            self.known_places[name] = False
            uses = self.uses[name]
            once = len(self.made[name]) == 1 and bool(uses)
            self.known_places[name] = once and all(u == INDEX or (u != "" and self._is_place(u)) for u in uses)
        return self.known_places[name]

    def _routes(self, func_ir: ir.FunctionIR) -> set[Any]:
        """The operations that positions in arrays, lengths and bounds of loops are made by."""
        found: set[Any] = set()
        seen: set[str] = set()
        stack = list(_positions(func_ir, self.types))
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            for e in self.made[name]:
                if is_binary(e) and function_of(e) in _ROUTES:
                    found.add(self._key(e))
                if isinstance(e, ir.Var) or (is_binary(e) and function_of(e) in _ROUTES) or _is_tuple(e):
                    stack += _read(e)
        return found

    def _key(self, e: ir.Expr) -> Any:
        """The same for all operations on the same variables: a position is compared with a length before its use."""
        return function_of(e), self._origin(e.lhs.name), self._origin(e.rhs.name)

    def _origin(self, name: str) -> Any:
        made = self.made[name]
        if len(made) != 1:
            return name
        if isinstance(made[0], ir.Var):
            return self._origin(made[0].name)
        if isinstance(made[0], ir.Const):
            return ("number", made[0].value)
        return self._key(made[0]) if is_binary(made[0]) else name


def _sum(x: int, y: int, left: int | None, right: int | None) -> int:
    """What is added in small steps is counted; they do not add up to more than there are trips."""
    if left is not None or right is not None:
        step, other = (right, x) if right is not None else (left, y)
        step = max(abs(step or 0) - 1, 0).bit_length()
    else:
        step, other = min(x, y), max(x, y)
    return max(x, y) + 1 if other >= WORD or step > _STEP else max(other, COUNTER + step)


def _width(type: Any) -> int:
    if isinstance(type, types.Boolean):
        return 1
    signed = getattr(type, "signed", None)
    return WORD if signed is None else min(getattr(type, "bitwidth", WORD) - signed, WORD)


def _is_route(e: Any) -> bool:
    return function_of(e) in _ROUTES


def _is_tuple(e: Any) -> bool:
    return isinstance(e, ir.Expr) and e.op == "build_tuple"


def _read(e: Any) -> list[str]:
    """The variables an assigned value is made of."""
    if isinstance(e, ir.Var):
        return [e.name]
    return [v.name for v in e.list_vars()] if isinstance(e, ir.Expr) else []


INDEX = "[]"
"""What a variable is used for: to find an item of an array."""


def _uses(func_ir: ir.FunctionIR, typemap: Any) -> dict[str, list[str]]:
    """What each variable is used for: `INDEX`, the variable that is computed of it or is it, or "" for all else."""
    found: dict[str, list[str]] = defaultdict(list)
    for block in func_ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Del):
                continue
            value: Any = getattr(statement, "value", None)
            if isinstance(statement, ir.SetItem) and isinstance(typemap[statement.target.name], types.Array):
                found[statement.index.name].append(INDEX)
                found[statement.value.name].append("")
            elif getattr(value, "op", "") == "getitem" and isinstance(typemap[value.value.name], types.Array):
                found[value.index.name].append(INDEX)
            else:
                found_by = isinstance(value, ir.Var) or _is_tuple(value) or (is_binary(value) and _is_route(value))
                target = statement.target.name if isinstance(statement, ir.Assign) and found_by else ""
                for name in _read(value) if target else [v.name for v in statement.list_vars()]:
                    found[name].append(target)
    return found


def _positions(func_ir: ir.FunctionIR, typemap: Any) -> Iterator[str]:
    """The variables that items are found by, and those that loops and arrays are as long as."""
    for block in func_ir.blocks.values():
        for statement in block.body:
            value = getattr(statement, "value", None)
            if isinstance(statement, (ir.SetItem, ir.StaticSetItem)):
                yield from _index(statement)
            elif isinstance(value, ir.Expr) and value.op in ("getitem", "static_getitem", "typed_getitem"):
                yield from _index(value)
            elif isinstance(value, ir.Expr) and value.op == "call" and _measures(typemap[value.func.name]):
                yield from (a.name for a in value.args)


def _index(e: Any) -> Iterator[str]:
    index = e.index_var if isinstance(e, ir.StaticSetItem) or getattr(e, "op", "") == "static_getitem" else e.index
    if index is not None:
        yield index.name


def _measures(function: Any) -> bool:
    """Whether a function's arguments are bounds or lengths: ``range``, ``slice``, those that make arrays."""
    key = getattr(function, "typing_key", None)
    return key in (range, slice, np.empty, np.zeros, np.ones, np.full, *NEW_ARRAYS)
