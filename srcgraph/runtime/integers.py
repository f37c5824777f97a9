"""Integers that are right: Python's raise OverflowError where 64 bits are too few, NumPy's wrap.

numba lets both wrap, and tells LLVM that they do not ("nsw"), so that what is compared or divided after it has wrapped
may be taken for the exact number. `Integers` is numba's compiler with sums, products, powers and shifts that are
watched, where `Magnitudes` cannot tell that they fit; the others keep the promise to LLVM, which makes loops over
memory fast.

References
----------
LLVM Language Reference: ``add``, ``llvm.smul.with.overflow``. Numba manual, "Customizing the compiler". NumPy
Enhancement Proposal 50: an operation with one of NumPy's integers is NumPy's.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, ir, types

from srcgraph.ir.exceptions import TOO_LARGE
from srcgraph.runtime.compiler import ByVersions, RoundingLower, lowering_by
from srcgraph.runtime.magnitudes import WORD, Magnitudes, function_of

_NAMES = {operator.add: "add", operator.sub: "sub", operator.mul: "mul"}
_WATCHED = {*_NAMES, operator.pow, operator.lshift}


class _Lower(RoundingLower):
    """Writes arithmetic that wraps, or raises, where it may not fit."""

    raises = True
    assigned = ""
    """The variable that gets what is written."""

    def lower_normal_function(self, fndesc: Any) -> None:
        self.magnitudes = Magnitudes(self.func_ir, fndesc.typemap)
        super().lower_normal_function(fndesc)

    def lower_assign(self, ty: Any, inst: ir.Assign) -> Any:
        self.assigned = inst.target.name
        return super().lower_assign(ty, inst)

    def lower_expr(self, resty: Any, expr: ir.Expr) -> Any:
        if expr.op == "unary" and expr.fn is operator.neg:
            self._refuse_smallest(expr.value)
        elif expr.op == "call" and len(expr.args) == 1 and self.magnitudes.called(expr) is abs:
            self._refuse_smallest(expr.args[0])
        return super().lower_expr(resty, expr)

    def lower_binop(self, resty: Any, expr: ir.Expr, op: Any) -> Any:
        fn = function_of(expr)
        if fn is operator.floordiv and (self.magnitudes.literal(expr.rhs.name) or -1) < 0:
            self._refuse_smallest(expr.lhs, expr.rhs)
        if fn not in _WATCHED or self.fndesc.calltypes[expr].return_type != types.int64:
            return super().lower_binop(resty, expr, op)
        size = self.magnitudes.needs(expr, self.assigned)
        if size is None:
            return super().lower_binop(resty, expr, op)
        wraps = size.numpy or not self.raises
        x, y = (self._word(v) for v in (expr.lhs, expr.rhs))
        if fn is operator.pow:
            exponent = self.magnitudes.literal(expr.rhs.name)
            if exponent is None or exponent < 0:
                return super().lower_binop(resty, expr, op)
            out = self._power(x, exponent, wraps)
        elif fn is operator.lshift:
            out = self._shifted(x, y, wraps)
        else:
            out = self._arithmetic(_NAMES[fn], x, y, wraps)
        return self.context.cast(self.builder, out, types.int64, resty)

    def _word(self, variable: ir.Var) -> Any:
        type = self.typeof(variable.name)
        return self.context.cast(self.builder, self.loadvar(variable.name), type, types.int64)

    def _arithmetic(self, name: str, x: Any, y: Any, wraps: bool) -> Any:
        if wraps:
            return getattr(self.builder, name)(x, y)
        found = getattr(self.builder, f"s{name}_with_overflow")(x, y)
        self._raise_if(self.builder.extract_value(found, 1))
        return self.builder.extract_value(found, 0)

    def _power(self, x: Any, exponent: int, wraps: bool) -> Any:
        """By squaring, the highest bit of the exponent first."""
        out = self.context.get_constant(types.int64, 1)
        for k, bit in enumerate(f"{exponent:b}"):
            out = self._arithmetic("mul", out, out, wraps) if k else out
            if bit == "1":
                out = self._arithmetic("mul", out, x, wraps) if k else x
        return out

    def _shifted(self, x: Any, y: Any, wraps: bool) -> Any:
        """By any number of bits, as if there were no end of them."""
        b = self.builder
        zero = self.context.get_constant(types.int64, 0)
        most = self.context.get_constant(types.int64, 63)
        inside = b.icmp_unsigned("<=", y, most)
        by = b.select(inside, y, zero)
        out = b.shl(x, by)
        if not wraps:
            lost = b.icmp_signed("!=", b.ashr(out, by), x)
            self._raise_if(b.select(inside, lost, b.icmp_signed("!=", x, zero)))
        return b.select(inside, out, zero)

    def _refuse_smallest(self, variable: ir.Var, divisor: ir.Var | None = None) -> None:
        """One of Python's integers may be the smallest of a word, which has no positive counterpart."""
        size = self.magnitudes.sizes.get(variable.name)
        types_ = [types.unliteral(self.typeof(v.name)) for v in (variable, divisor) if v is not None]
        if any(t != types.int64 for t in types_) or size is None or size.numpy or size.bits < WORD or not self.raises:
            return
        test = self._equal(variable, -(2**63))
        if divisor is not None:
            test = self.builder.and_(test, self._equal(divisor, -1))
        self._raise_if(test)

    def _equal(self, variable: ir.Var, number: int) -> Any:
        return self.builder.icmp_signed("==", self._word(variable), self.context.get_constant(types.int64, number))

    def _raise_if(self, test: Any) -> None:
        with cgutils.if_unlikely(self.builder, test):
            self.return_exception(OverflowError, (TOO_LARGE,), loc=self.loc)


class _WrappingLower(_Lower):
    raises = False


class Integers(ByVersions):
    """numba's compiler, for functions whose integers are right: ``njit(pipeline_class=Integers)``.

    Sizes are those of versions of variables.
    """

    lowering = lowering_by(_Lower, "integers")


class WrappingIntegers(Integers):
    """As `Integers`, with Python's integers wrapping too."""

    lowering = lowering_by(_WrappingLower, "wrapping_integers")
