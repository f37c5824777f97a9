"""Quotients of integers that LLVM would compute for one of several steps alone.

Where LLVM 22 takes several steps of a loop at a time, what is the same in all steps it computes once. If it is a
quotient, or a remainder, in a branch, which must not be computed where the branch is not taken, LLVM asks whether the
first of the steps takes it: if that one does not, what others read at this place is read anywhere. So ``if c[j]: y[j] =
x[k % n]`` is wrong, or ends the process, in numba's own functions, too.

Here LLVM is not shown the divisor of such a quotient. It then takes the loop step by step, unless it can move the
quotient out of it. What is the same is seen as LLVM sees it: also in a loop around loops of few steps, which it writes
out, and in a function that may become part of a loop.

References
----------
LLVM Language Reference, "Inline Assembler Expressions".
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm
from numba.core import ir, types

from srcgraph.runtime.uses import Uses, targets

QUOTIENTS = frozenset({operator.floordiv, operator.mod, operator.ifloordiv, operator.imod})
WRITTEN_OUT = 64
"""LLVM may write out loops of up to so many steps."""


def hidden(builder: Any, divisor: Any) -> Any:
    """A number of which LLVM knows only its type."""
    kind = llvm.FunctionType(divisor.type, [divisor.type])
    call = builder.asm(kind, "", "=r,0", [divisor], False)
    call.attributes.add("readnone")
    call.attributes.add("nounwind")
    return call


class Same:
    """Tells which operations of a function are the same in all steps of a loop that LLVM may take together.

    Parameters
    ----------
    uses : Uses
        What is assigned in the function.
    becomes_part : bool
        Whether the function may become part of one that calls it in a loop.
    """

    def __init__(self, uses: Uses, becomes_part: bool):
        self.uses = uses
        self.becomes_part = becomes_part
        blocks = uses.blocks
        back = [(to, label) for label, block in blocks.items() for to in targets(block) if to <= label]
        self.loops = sorted({(first, max(b for a, b in back if a == first)) for first, _ in back}, key=_length)
        self.steps = {loop.head: uses.steps(loop) for loop in uses.loops().values()}

    def is_same(self, expr: ir.Expr, label: int) -> bool:
        """Whether an operation in a block is one of integers that LLVM may compute for one step alone."""
        if not all(isinstance(self.uses.types.get(v.name), types.Integer) for v in (expr.lhs, expr.rhs)):
            return False
        if self.uses.number(expr.rhs.name):
            return False
        return any(
            all(self._stays(v.name, loop, frozenset()) for v in (expr.lhs, expr.rhs)) for loop in self._around(label)
        )

    def _around(self, label: int) -> Iterator[tuple[int, int]]:
        """The loops around a block that may be the innermost one, once those inside are written out."""
        for loop in self.loops:
            if loop[0] <= label <= loop[1]:
                yield loop
                steps = self.steps.get(loop[0])
                if steps is None or steps > WRITTEN_OUT:
                    return
        if self.becomes_part:
            yield (-1, -1)

    def _stays(self, name: str, loop: tuple[int, int], inside: frozenset[str]) -> bool:
        """Whether a variable has one value in all steps, or is the number of a step of a loop inside."""
        first, last = loop
        if name in inside:
            return False  # it is made of itself
        made = zip(self.uses.made[name], self.uses.labels[name], strict=True)
        return all(
            self._is_made_same(value, label, loop, inside | {name}) for value, label in made if first <= label <= last
        )

    def _is_made_same(self, value: Any, label: int, loop: tuple[int, int], inside: frozenset[str]) -> bool:
        if isinstance(value, ir.Expr) and value.op == "iternext":
            return label != loop[0]
        if isinstance(value, ir.Var):
            return self._stays(value.name, loop, inside)
        read = value.list_vars() if isinstance(value, ir.Expr) else ()
        return all(self._stays(v.name, loop, inside) for v in read)


def _length(loop: tuple[int, int]) -> int:
    return loop[1] - loop[0]
