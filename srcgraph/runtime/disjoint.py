"""Which arrays of a function share no memory, for LLVM, which else asks before every loop whether they do.

An array that the function makes is memory of its own. Variables among which such an array is handed on are a *group*;
no element of one group is in the memory of another, nor in that of what the function has from elsewhere: arguments,
what other functions return, lists and what is taken from them. A function that is given arrays of numbers and returns
none keeps none: compiled code has nowhere to. So LLVM keeps elements of one array in registers while others are
stored into, and takes several steps of short loops at a time, before which it would not ask.

References
----------
LLVM language reference, "noalias and alias.scope metadata", "llvm.experimental.noalias.scope.decl".
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba.core import ir, types

from srcgraph.runtime import arrays
from srcgraph.runtime.uses import Uses

NEW = frozenset((
    np.empty, np.zeros, np.ones, np.full, np.empty_like, np.zeros_like,
    arrays.empty, arrays.zeros, arrays.ones, arrays.full, arrays.empty_like, arrays.copy, arrays.longer,
))  # fmt: skip
"""Functions that return an array of numbers in new memory."""
MOST = 64
"""So many groups are told apart in a function; LLVM is given the names of all others with each element."""
_FROM_ELSEWHERE = ""
_NUMBERS = (
    types.Number, types.Boolean, types.NoneType, types.StringLiteral, types.UnicodeType, types.RangeType,
    types.RangeIteratorType, types.SliceType, types.Module, types.Callable, types.DType, types.NumberClass,
)  # fmt: skip
"""Types of what is neither an array nor leads to one; methods are `Callable`, too, but of something."""
_HANDED_ON = frozenset(("cast", "getattr", "getitem", "static_getitem", "build_tuple", "exhaust_iter"))
_KEPT_NOWHERE = (ir.Del, ir.Jump, ir.Branch, ir.Return, ir.Raise, ir.StaticRaise)


def holds(type: Any) -> bool:
    """Whether a value of a type may be an array, or lead to one."""
    if isinstance(type, types.BaseTuple):
        return any(map(holds, type.types))  # type: ignore[reportAttributeAccessIssue]
    return isinstance(type, types.BoundFunction) or not isinstance(type, _NUMBERS)


def is_plain(type: Any) -> bool:
    """Whether what a type holds is arrays of numbers, into which no reference can be put."""
    if isinstance(type, types.BaseTuple):
        return all(is_plain(t) for t in type.types if holds(t))  # type: ignore[reportAttributeAccessIssue]
    if isinstance(type, types.BoundFunction):
        return is_plain(type.this)
    return isinstance(type, types.Array) and isinstance(type.dtype, types.Number | types.Boolean)


class Groups:
    """The variables of a function that may have one memory.

    Parameters
    ----------
    func_ir : numba.core.ir.FunctionIR
    uses : Uses
        Of its variables.
    """

    def __init__(self, func_ir: ir.FunctionIR, uses: Uses):
        self.types = uses.types
        self.read = uses.read
        self.above: dict[str, str] = {}
        for block in func_ir.blocks.values():
            for statement in block.body:
                self._note(statement)

    def of(self, name: str) -> str:
        """What stands for the group of a variable."""
        while (above := self.above.get(name, name)) != name:
            self.above[name] = self.above.get(above, above)
            name = above
        return name

    def is_own(self, name: str) -> bool:
        """Whether an array is in memory that the function makes."""
        return self.of(name) != self.of(_FROM_ELSEWHERE)

    def _note(self, statement: Any) -> None:
        if isinstance(statement, ir.Assign):
            self._assigned(statement.target.name, statement.value)
        elif isinstance(statement, ir.SetItem | ir.StaticSetItem):
            if not is_plain(self.types[statement.target.name]):
                self._anywhere(statement.list_vars())
        elif not isinstance(statement, _KEPT_NOWHERE):
            self._anywhere(statement.list_vars())

    def _assigned(self, name: str, value: Any) -> None:
        result = holds(self.types[name])
        if isinstance(value, ir.Var):
            self._join(name, [value] if result else [])
        elif not isinstance(value, ir.Expr):
            self._join(name, [_FROM_ELSEWHERE] if result else [])
            self._anywhere(value.list_vars() if isinstance(value, ir.Yield) else ())
        elif value.op in _HANDED_ON and not self._is_returned(name):
            given = [v for v in value.list_vars() if self._holds(v)]
            beyond = not given or (value.op == "getattr" and value.attr == "ctypes")  # such as an array of a module's
            self._join(name, [*given, *[_FROM_ELSEWHERE] * beyond] if result else [])
        elif value.op not in _HANDED_ON and not (value.op == "call" and self._is_new(name, value)):
            given = [v for v in value.list_vars() if self._holds(v)]
            if result or not all(is_plain(self.types[v.name]) for v in given):
                self._join(name, [_FROM_ELSEWHERE] if result else [])
                self._anywhere(given)

    def _is_returned(self, name: str) -> bool:
        """Whether a value, such as a tuple of results, is handed on to the caller and read nowhere else."""
        return all(
            isinstance(s, ir.Return)
            or (isinstance(s, ir.Assign) and getattr(s.value, "op", "") == "cast" and self._is_returned(s.target.name))
            for s in self.read.get(name, ())
        )

    def _is_new(self, name: str, call: ir.Expr) -> bool:
        """Whether a call makes an array."""
        function = self.types[call.func.name]
        made = function.typing_key if isinstance(function, types.Function) else None
        return is_plain(self.types[name]) and callable(made) and made in NEW

    def _holds(self, variable: ir.Var) -> bool:
        return holds(self.types[variable.name])

    def _anywhere(self, variables: Any) -> None:
        """What variables have may be had elsewhere, and be returned from there."""
        for v in variables:
            if self._holds(v):
                self._join(v.name, [_FROM_ELSEWHERE])

    def _join(self, name: str, others: list[Any]) -> None:
        for other in others:
            first, second = self.of(name), self.of(getattr(other, "name", other))
            if first != second:
                self.above[first] = second


class Distinct(llvm.MDValue):
    """A node that is no other one, whatever its parts are: it is the first of them itself.

    LLVM takes nodes of the same parts for one, and gives a function that becomes part of another one nodes of its own.
    If these were told apart by a name, they would all be one: an array that one call made, and the next is given, would
    not be what it is.
    """

    def __init__(self, module: Any, parts: list[Any]):
        super().__init__(module, parts, str(len(module.metadata)))
        self.operands = (self, *parts)

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Scopes:
    """Tells LLVM of loads and stores of elements which group they are of.

    Parameters
    ----------
    groups : Groups
    names : iterable of str
        The arrays whose elements are read or stored, in order.
    module : llvmlite.ir.Module
    """

    def __init__(self, groups: Groups, names: Any, module: Any):
        self.groups, self.module = groups, module
        own = [g for g in dict.fromkeys(map(groups.of, names)) if groups.is_own(g)]
        self.number = {g: min(k, MOST - 1) for k, g in enumerate(own)}  # those after the last are one with it
        domain = Distinct(module, []) if own else None
        self.scopes = [Distinct(module, [domain]) for _ in range(min(len(own), MOST))]
        self._lists = functools.cache(self._lists_of)

    def declare(self, function: Any) -> None:
        """Say at the start of a function that there its arrays begin to be memory of their own.

        It may become part of a loop, whose steps are given arrays that the steps before made. Where LLVM writes several
        steps, one behind the other, it tells the arrays of one from those of the next one by this.
        """
        none = llvm.FunctionType(llvm.VoidType(), [llvm.MetaDataType()])
        builder = llvm.IRBuilder(function.entry_basic_block)
        builder.position_before(function.entry_basic_block.terminator)
        for scope in self.scopes:
            begin = self.module.declare_intrinsic("llvm.experimental.noalias.scope.decl", (), none)
            builder.call(begin, [self._node([scope])])

    def mark(self, instruction: Any, name: str) -> None:
        """A load or store of an element of an array; anything else is left alone."""
        if self.scopes and getattr(instruction, "opname", "") in ("load", "store"):
            for key, scopes in self._lists(self.number.get(self.groups.of(name))):
                instruction.set_metadata(key, scopes)

    def _lists_of(self, number: int | None) -> list[tuple[str, Any]]:
        others = [s for k, s in enumerate(self.scopes) if k != number]
        own = [("alias.scope", self._node([self.scopes[number]]))] if number is not None else []
        return [*own, *([("noalias", self._node(others))] if others else [])]

    def _node(self, parts: list[Any]) -> Any:
        return self.module.add_metadata(parts)
