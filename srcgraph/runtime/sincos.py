"""The sine and the cosine of one number, in a loop that needs both: the angle is reduced once, for several at a time.

libmvec's own function of both takes longer than its two of one, for it writes each number where a pointer says. So
LLVM's instructions of one are written here. An angle ``x`` is ``n * pi/2 + r``, ``abs(r) <= pi/4``; ``pi/2`` is three
numbers, of which the products with ``n`` are taken away from ``x`` one after the other, each rounded once. The sine and
cosine of ``r`` are polynomials, and the last two bits of ``n`` say which of them, and with which sign, are those of
``x``. Angles too large for three numbers, infinities and NaN are libmvec's. The error is below 2 ulp.

References
----------
W. J. Cody and W. Waite, *Software Manual for the Elementary Functions*, Prentice-Hall, 1980, chapter 8. Coefficients:
fdlibm, k_sin.c and k_cos.c, Sun Microsystems, 1993; for float32: S. L. Moshier, Cephes, sinf.c, 1992.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.ir.instructions import CallInstr, ExtractValue, Instruction

from srcgraph.runtime import vector

HAS_FMA = vector.SET in ("e", "d") and bool(llvm.get_host_cpu_features().get("fma"))
_NEAR = 12
"""So many operations back two arguments are compared."""


@dataclass(frozen=True)
class _Constants:
    """What a type of numbers needs: ``pi/2`` in parts, for up to ``limit``; polynomials, the highest power first."""

    limit: float
    parts: tuple[float, ...]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    to_whole: float
    """Added to a small number, it leaves the nearest integer in the last bits."""
    word: int


_DOUBLE = _Constants(
    limit=1e5,
    parts=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    sine=(1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
          -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01),
    cosine=(-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
            2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02),
    to_whole=1.5 * 2.0**52,
    word=64,
)  # fmt: skip
_SINGLE = _Constants(
    limit=1e4,
    parts=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    sine=(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
    cosine=(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
    to_whole=1.5 * 2.0**23,
    word=32,
)


def _written(module: Any, name: str, kind: ir.VectorType, sine: Any, cosine: Any) -> ir.Function:
    """The function of several numbers that gives both, where it needs them those of ``sine`` and ``cosine``."""
    made = ir.Function(module, ir.FunctionType(ir.LiteralStructType([kind, kind]), [kind]), name)
    x = made.args[0]
    b = ir.IRBuilder(made.append_basic_block())
    constants = _SINGLE if isinstance(kind.element, ir.FloatType) else _DOUBLE
    several = _Several(b, kind, constants)
    found = several.reduced_and_found(x)
    near = b.block
    size = several.size(x)
    far = b.fcmp_unordered(">", size, several.all(constants.limit))
    word = ir.IntType(kind.count)
    with b.if_then(b.icmp_unsigned("!=", b.bitcast(far, word), word(0)), likely=False):
        others = [b.select(far, b.call(f, [x]), v) for f, v in zip((sine, cosine), found, strict=True)]
        elsewhere = b.block
    results: Any = ir.Constant(made.function_type.return_type, ir.Undefined)
    either = [b.phi(kind) for _ in found]
    for k, (phi, v, w) in enumerate(zip(either, found, others, strict=True)):
        phi.add_incoming(v, near)
        phi.add_incoming(w, elsewhere)
        results = b.insert_value(results, phi, k)
    b.ret(results)
    return made


class _Several:
    """Writes operations on several numbers at once."""

    def __init__(self, builder: Any, kind: ir.VectorType, constants: _Constants):
        self.b, self.kind, self.of = builder, kind, constants
        self.whole = ir.VectorType(ir.IntType(constants.word), kind.count)
        self.top = constants.word - 1

    def all(self, value: float) -> ir.Constant:
        return ir.Constant(self.kind, [value] * self.kind.count)

    def bits(self, value: int) -> ir.Constant:
        return ir.Constant(self.whole, [value] * self.kind.count)

    def size(self, x: Any) -> Any:
        return self._intrinsic("fabs", x)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        return self._intrinsic("fma", x, y, z)

    def _intrinsic(self, name: str, *args: Any) -> Any:
        module: Any = self.b.module
        name = f"llvm.{name}.v{self.kind.count}f{self.of.word}"
        found = module.globals.get(name)
        if found is None:
            found = ir.Function(module, ir.FunctionType(self.kind, [self.kind] * len(args)), name)
        return self.b.call(found, args)

    def polynomial(self, z: Any, coefficients: Sequence[float]) -> Any:
        value = self.all(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, z, self.all(c))
        return value

    def reduced_and_found(self, x: Any) -> tuple[Any, Any]:
        b, size = self.b, self.size(x)
        moved = self.fma(size, self.all(0.6366197723675814), self.all(self.of.to_whole))
        quadrant = b.bitcast(moved, self.whole)
        n = b.fneg(b.fsub(moved, self.all(self.of.to_whole)))
        r = size
        for part in self.of.parts:
            r = self.fma(n, self.all(part), r)
        z = b.fmul(r, r)
        sine = self.fma(b.fmul(r, z), self.polynomial(z, self.of.sine), r)
        cosine = self._cosine(z)
        odd = b.icmp_unsigned("!=", b.and_(quadrant, self.bits(1)), self.bits(0))
        negative = b.xor(self._to_top(quadrant), b.bitcast(x, self.whole))
        turned = self._to_top(b.add(quadrant, self.bits(1)))
        return (
            self._signed(b.select(odd, cosine, sine), negative),
            self._signed(b.select(odd, sine, cosine), turned),
        )

    def _cosine(self, z: Any) -> Any:
        """``1 - z/2 + z**2 * p(z)``; what ``1 - z/2`` loses is added."""
        b, one = self.b, self.all(1.0)
        half = b.fmul(z, self.all(0.5))
        first = b.fsub(one, half)
        lost = b.fsub(b.fsub(one, first), half)
        return b.fadd(first, self.fma(b.fmul(z, z), self.polynomial(z, self.of.cosine), lost))

    def _to_top(self, quadrant: Any) -> Any:
        """The second bit, where numbers have their sign."""
        return self.b.shl(quadrant, self.bits(self.top - 1))

    def _signed(self, value: Any, negative: Any) -> Any:
        b = self.b
        sign = b.and_(negative, self.bits(1 << self.top))
        return b.bitcast(b.xor(b.bitcast(value, self.whole), sign), self.kind)


def share(function: Any) -> None:
    """Let calls in a function for the sine and the cosine of one number have the work in common."""
    for kind, letter in ((ir.DoubleType(), ""), (ir.FloatType(), "f")) if HAS_FMA else ():
        if calls := _paired(function, f"srcgraph_sin{letter}", f"srcgraph_cos{letter}"):
            _replace(function, calls, *_of_both(function.module, kind, letter))


def _paired(function: Any, *names: str) -> dict[Any, int]:
    """The calls of one of two functions that are beside one of the other, and which of the two they are of."""
    found: dict[Any, int] = {}
    if not all(name in function.module.globals for name in names):
        return found
    for block in function.blocks:
        calls = [i for i in block.instructions if isinstance(i, CallInstr) and getattr(i.callee, "name", "") in names]
        for call in calls:
            if any(c.callee is not call.callee and _same(c.args[0], call.args[0]) for c in calls):
                found[call] = names.index(call.callee.name)
    return found


def _of_both(module: Any, kind: Any, letter: str) -> tuple[Any, list[str]]:
    """The function of one number, and what calls of it say, which loops take several numbers at a time with."""
    lanes, name = vector.LANES[vector.SET] * (2 if letter else 1), f"srcgraph_sincos{letter}"
    one = module.globals.get(name)
    if one is None:
        each = [module.globals[f"_ZGV{vector.SET}N{lanes}v_{n}{letter}"] for n in ("sin", "cos")]
        several = _written(module, f"{name}_{lanes}", ir.VectorType(kind, lanes), *each)
        vector.shared(several)
        vector.keep(module, several)
        one = vector.alone(module, name, ir.FunctionType(ir.LiteralStructType([kind, kind]), [kind]), several)
    text = f"_ZGV_LLVM_N{lanes}v_{name}({name}_{lanes})"
    return one, [*vector.PURE, f'"vector-function-abi-variant"="{text}"']


def _replace(function: Any, calls: dict[Any, int], shared: Any, marks: Sequence[str]) -> None:
    """Let calls be part ``calls[call]`` of what the function of both gives; LLVM makes one of those of one argument."""
    instead: dict[int, Any] = {}
    for block in function.blocks:
        made: list[Any] = []
        for instruction in block.instructions:
            if instruction in calls:
                both = CallInstr(block, shared, [instruction.args[0]], name="both")
                for mark in marks:
                    set.add(both.attributes, mark)
                part = ExtractValue(block, both, [calls[instruction]], name="part")
                made += [both, part]
                instead[id(instruction)] = part
            else:
                made.append(instruction)
        block.instructions[:] = made
    for block in function.blocks:
        for instruction in block.instructions:
            for v in instruction.operands:
                if id(v) in instead:
                    instruction.replace_usage(v, instead[id(v)])
                    if getattr(instruction, "value", None) is v:  # what is put into a tuple is kept apart
                        instruction.value = instead[id(v)]


def _same(x: Any, y: Any, depth: int = _NEAR) -> bool:
    """Whether two values are computed alike; what changes in between is not looked at."""
    if x is y:
        return True
    if isinstance(x, ir.Constant) or isinstance(y, ir.Constant):
        return str(x) == str(y)
    if not depth or not (isinstance(x, Instruction) and isinstance(y, Instruction)):
        return False
    alike = x.opname == y.opname and x.opname != "phi" and x.type == y.type and len(x.operands) == len(y.operands)
    return alike and all(_same(v, w, depth - 1) for v, w in zip(x.operands, y.operands, strict=True))
