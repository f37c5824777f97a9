"""Sums of one loop nest that are only added to each other are one sum.

A gradient with respect to a number has a contribution for each place where an array expression reads it. Those of one
nest are added at each point, so that there is one sum for each number, not one for each place.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from srcgraph.codegen.items import Block, Kernel, Let, LoopLet, LoopReduce, Part, Ref, all_blocks, all_exprs, ref, refs
from srcgraph.codegen.statements import form_of
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ScalarType

LONGEST = 16
"""A result of more terms than this keeps the names of its parts."""
AT_ONCE = 6
"""So many numbers of a point are added in one expression."""


@dataclass(frozen=True, slots=True)
class _Term:
    sign: int
    expr: ast.expr

    @property
    def value(self) -> Value | None:
        """The variable that it is."""
        return self.expr.value if isinstance(self.expr, Ref) else None


def added_up(block: Block) -> None:
    """Make one sum of those, in derivatives, that are read once, as terms of one expression."""
    reads = Counter(v for e in all_exprs(block) for v in refs(e))
    for inner in all_blocks(block):
        sums = dict(_sums(inner, reads))
        if len(sums) > 1:
            _block(inner, sums, reads)


def _sums(block: Block, reads: Counter[Value]) -> Iterator[tuple[Value, Kernel]]:
    """The sums of derivatives that are read once, and their nests."""
    for item in block.items:
        for part in item.parts if isinstance(item, Kernel) else ():
            if isinstance(part, LoopReduce) and part.combine == "add" and part.acc.type.dtype.kind == "f":
                if part.origin.by and not part.inner and reads[part.acc] == 1 and _is_zero(part.start):
                    assert isinstance(item, Kernel)
                    yield part.acc, item


def _is_zero(start: ast.expr) -> bool:
    return isinstance(start, ast.Constant) and start.value == 0


def _block(block: Block, sums: dict[Value, Kernel], reads: Counter[Value]) -> None:
    lets = {i.value: i for i in block.items if isinstance(i, Let) and _is_part(i, reads)}
    gone: set[Value] = set()
    for item in reversed(block.items):
        if isinstance(item, Let) and item.value not in gone:
            item.expr = _merged(item.expr, sums, lets, gone)
    block.results[:] = [_merged(e, sums, lets, gone) for e in block.results]
    block.items[:] = [i for i in block.items if not (isinstance(i, Let) and i.value in gone)]


def _is_part(item: Let, reads: Counter[Value]) -> bool:
    """Whether a let may stand in the expression that reads it."""
    number = isinstance(item.value.type, ScalarType) and item.value.type.dtype.kind == "f"
    return number and _of_numbers(item.expr) and not item.value.name and bool(item.origin.by) and reads[item.value] == 1


def _of_numbers(expr: ast.expr) -> bool:
    return all(isinstance(v.type, ScalarType) for v in refs(expr))


def _key(expr: ast.expr) -> tuple[object, ...]:
    """The same for equal expressions."""
    return form_of(expr), *refs(expr)


def _merged(expr: ast.expr, sums: dict[Value, Kernel], lets: dict[Value, Let], gone: set[Value]) -> ast.expr:
    """An expression in which the sums of each nest are one; ``gone`` gets the lets that it takes in."""
    if not isinstance(expr, ast.BinOp):
        return expr
    taken: list[Value] = []
    terms = list(_terms(expr, 1, lets, taken))
    groups: dict[Kernel, list[_Term]] = defaultdict(list)
    for term in terms:
        kernel = sums.get(term.value) if term.value is not None else None
        if kernel is not None:
            groups[kernel].append(term)
    away = {id(t) for group in groups.values() for t in group[1:]}
    left = [t for t in terms if id(t) not in away]
    if not away or len(left) > LONGEST:
        return expr
    for kernel, group in groups.items():
        if len(group) > 1:
            _join(kernel, group)
    gone.update(taken)
    return _expression(left)


def _terms(expr: ast.expr, sign: int, lets: dict[Value, Let], taken: list[Value]) -> Iterator[_Term]:
    """What is added, from left to right, that of lets in between included; ``taken`` gets these."""
    todo = [(expr, sign)]
    while todo:
        node, sign = todo.pop()
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                todo += [(right, -sign if isinstance(op, ast.Sub) else sign), (left, sign)]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                todo.append((operand, -sign))
            case Ref(value=value) if value in lets and _adds(lets[value].expr):
                taken.append(value)
                todo.append((lets[value].expr, sign))
            case _:
                yield _Term(sign, node)


def _adds(expr: ast.expr) -> bool:
    return isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add | ast.Sub)


def _expression(terms: Sequence[_Term]) -> ast.expr:
    """The sum of terms; what is taken away does not come first, if there is another one."""
    first = next((k for k, t in enumerate(terms) if t.sign > 0), 0)
    ordered = [terms[first], *terms[:first], *terms[first + 1 :]]
    made = ordered[0].expr if ordered[0].sign > 0 else ast.UnaryOp(ast.USub(), ordered[0].expr)
    for term in ordered[1:]:
        made = ast.BinOp(made, ast.Add() if term.sign > 0 else ast.Sub(), term.expr)
    return made


def _join(kernel: Kernel, group: Sequence[_Term]) -> None:
    """One sum in place of several: what they add at a point becomes numbers, and the last one's place is the sum's."""
    signs = {t.value: t.sign * group[0].sign for t in group}
    places = [k for k, p in enumerate(kernel.parts) if isinstance(p, LoopReduce) and p.acc in signs]
    whole = next(p for p in kernel.parts if isinstance(p, LoopReduce) and p.acc is group[0].value)
    known = {_key(p.expr): p.value for p in kernel.parts[: places[-1]] if isinstance(p, LoopLet) and not p.inner}
    parts: list[Part] = []
    terms: list[_Term] = []

    def named(expr: ast.expr, part: LoopReduce) -> ast.expr:
        if _key(expr) in known and not any(isinstance(n, ast.Subscript) for n in ast.walk(expr)):
            return ref(known[_key(expr)])
        number = Value("", part.acc.type)
        parts.append(LoopLet(number, expr, part.reads, part.origin))
        return ref(number)

    for k, part in enumerate(kernel.parts):
        if k not in places or not isinstance(part, LoopReduce):
            parts.append(part)
            continue
        is_last = k == places[-1]
        expr = part.expr if is_last or isinstance(part.expr, Ref) else named(part.expr, part)
        terms.append(_Term(signs[part.acc], expr))
        if not is_last and len(terms) == AT_ONCE:
            terms = [_Term(1, named(_expression(terms), part))]
        if is_last:
            parts.append(replace(whole, expr=_expression(terms), reads=part.reads, origin=part.origin))
    kernel.parts = parts
