"""Items to statements: the generated function's body as an `ast`, every name filled in."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence, Set
from itertools import groupby
from typing import Any

from srcgraph.codegen.expr import dotted, negated
from srcgraph.codegen.items import (
    INDICES,
    Branch,
    Do,
    Effect,
    InnerReduce,
    Invoke,
    Item,
    Keep,
    Kernel,
    Let,
    Loop,
    LoopLet,
    LoopReduce,
    LoopStore,
    Part,
    Raise,
    Ref,
    Store,
    Unpack,
    all_exprs,
    dims_around,
    refs,
)
from srcgraph.codegen.names import Names, is_users
from srcgraph.codegen.registers import Added
from srcgraph.codegen.source import Places
from srcgraph.codegen.statements import statements_in
from srcgraph.codegen.sums import EXTREMES, Start, Summed
from srcgraph.codegen.tidy import PureCall
from srcgraph.ir.graph import Origin, Value

_AUGMENTED = (ast.Add, ast.Sub, ast.Mult, ast.Div)


class Body:
    """Emits a function's items with the names chosen for its variables."""

    def __init__(self, names: Names, places: Places, depth_left: str = "", kernels: Set[str] = frozenset()):
        self.names = names
        self.depth_left = depth_left
        self.kernels = kernels
        """The parameter that says how many calls deep recursion may still go."""
        self.places = places
        self.index_names: dict[Value, str] = {}
        self.enclosing: list[str] = []
        """Indices of the loops around, which inner nests do not reuse."""

    # -- names ------------------------------------------------------------------------------------

    def target(self, value: Value) -> ast.Name:
        return ast.Name(self.names.of(value), ast.Store())

    def plain(self, value: Value) -> ast.Name:
        return ast.Name(self.names.of(value), ast.Load())

    def resolved(self, expr: ast.expr) -> ast.expr:
        """The expression with names in place of variables."""
        return _Resolve(self).visit(expr)

    def placed(self, statements: list[ast.stmt], origin: Origin) -> list[ast.stmt]:
        """Stamp statements that have no place yet with the user's."""
        number = self.places.number(origin.loc)
        for node in statements_in(statements):
            if not getattr(node, "lineno", 0):
                node.lineno = number
        return statements

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, items: Sequence[Item]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for item in items:
            out += self.placed(self.item(item), item.origin)
        return out

    def item(self, item: Item) -> list[ast.stmt]:
        match item:
            case Let():
                return self.assign(item.value, self.resolved(item.expr))
            case Unpack():
                return self.unpack(item)
            case Raise():
                error: ast.expr = dotted(item.error)
                if item.args:
                    error = ast.Call(error, [self.resolved(a) for a in item.args], [])
                return [ast.If(self.resolved(item.fails), [ast.Raise(error, None)], [])]
            case Store():
                combine = "add" if item.accumulate else ""
                change = self.stored(item.out, item.index, item.expr, combine, bool(item.origin.by))
                return [*self.aliased(item.out, item.base), change]
            case Do():
                return [*self.aliased(item.out, item.base), ast.Expr(self.resolved(item.call))]
            case Effect():
                return [ast.Expr(self.resolved(item.call))]
            case Keep():
                whole = ast.Subscript(self.plain(item.before), ast.Constant(...), ast.Store())
                return [ast.Assign([whole], self.plain(item.after), lineno=0)] if item.apart else []
            case Invoke():
                return self.invoke(item)
            case Kernel():
                return self.kernel(item)
            case Branch():
                return self.branch(item)
            case Loop():
                return self.loop(item)

    def assign(self, value: Value, expr: ast.expr) -> list[ast.stmt]:
        """``name = expr``, or ``name op= ...`` where that is the same."""
        name = self.names.of(value)
        if isinstance(expr, ast.Name) and expr.id == name:
            return []
        if isinstance(expr, ast.BinOp) and isinstance(expr.op, _AUGMENTED):
            if isinstance(expr.left, ast.Name) and expr.left.id == name:
                return [ast.AugAssign(self.target(value), expr.op, expr.right)]
            if isinstance(expr.op, ast.Add) and isinstance(expr.right, ast.Name) and expr.right.id == name:
                return [ast.AugAssign(self.target(value), expr.op, expr.left)]
        return [ast.Assign([self.target(value)], expr, lineno=0)]

    def unpack(self, item: Unpack) -> list[ast.stmt]:
        """``first, _ = call``: what nothing reads gets no name."""
        names: list[ast.expr] = [
            ast.Name("_", ast.Store()) if self.names.unread(v, item) else self.target(v) for v in item.values
        ]
        return [ast.Assign([ast.Tuple(names, ast.Store())], self.resolved(item.expr), lineno=0)]

    def aliased(self, out: Value, base: Value) -> list[ast.stmt]:
        """``out = base`` where an array before and after a change have different names."""
        return self.assign(out, self.plain(base))

    def invoke(self, item: Invoke) -> list[ast.stmt]:
        """``p, q = f(x, depth_left - 1)``; what nothing reads is ``_``."""
        room = ast.BinOp(ast.Name(self.depth_left, ast.Load()), ast.Sub(), ast.Constant(1))
        deeper = [] if item.function in self.kernels else [room]
        call = ast.Call(ast.Name(item.function, ast.Load()), [*map(self.resolved, item.args), *deeper], [])
        out = [s for _, base, after in item.changed for s in self.aliased(after, base)]
        read = [v for v in item.returned if not self.names.unread(v, item)]
        targets: list[ast.expr] = [self.target(v) if v in read else ast.Name("_", ast.Store()) for v in item.returned]
        if not read:
            return [*out, ast.Expr(call)]
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        nameless = len(item.returned) == 1 and not item.changed and not is_users(item.returned[0].name)
        return [*out, (PureCall if nameless else ast.Assign)([target], call, lineno=0)]

    def stored(
        self, target: Value, index: Sequence[ast.expr], expr: ast.expr, combine: str, free: bool = False
    ) -> ast.stmt:
        at = [self.resolved(e) for e in index]
        where = at[0] if len(at) == 1 else ast.Tuple(at, ast.Load())
        place = ast.Subscript(self.plain(target), where, ast.Store())
        value = self.resolved(expr)
        if combine == "add":
            kind = Added if free and target.type.dtype.kind == "f" else ast.AugAssign
            if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
                return kind(place, ast.Sub(), value.operand)
            return kind(place, ast.Add(), value)
        if combine == "mul":
            return ast.AugAssign(place, ast.Mult(), value)
        if combine:
            now = ast.Subscript(self.plain(target), where, ast.Load())
            value = combined(combine, now, value)
        if isinstance(value, ast.BinOp) and isinstance(value.op, _AUGMENTED) and _same_text(value.left, place):
            return ast.AugAssign(place, value.op, value.right)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and _same_text(value.right, place):
            return ast.AugAssign(place, value.op, value.left)
        return ast.Assign([place], value, lineno=0)

    # -- loop nests -------------------------------------------------------------------------------

    def kernel(self, item: Kernel) -> list[ast.stmt]:
        depth = max([len(item.dims), *(_depth(part, item) for part in item.parts)])
        before = dict(self.index_names)
        self.index_names.update(zip(INDICES, self.names.indices(item, depth, self.enclosing), strict=False))
        out: list[ast.stmt] = []
        for value, alloc in item.fresh:
            out += self.assign(value, self.resolved(alloc))
        for part in item.parts:
            if isinstance(part, LoopReduce):
                out += self.started(part)
            if isinstance(part, LoopStore) and part.base is not None:
                out += self.aliased(part.target, part.base)
        out += self.nest(item.extents, 0, self.parts(item.parts, 0, len(item.dims)))
        self.index_names = before
        return out

    def parts(self, parts: Iterable[Part], level: int, first: int) -> list[ast.stmt]:
        """The parts of a nest, or of loops inside it, whose indices are numbered from ``first``."""
        out: list[ast.stmt] = []
        for loops, group in groupby(parts, key=lambda part: part.inner[level] if part.inner[level:] else None):
            together = list(group)
            if loops is None:
                out += [s for part in together for s in self.placed(self.part(part), part.origin)]
                continue
            body = self.parts(together, level + 1, first + len(loops.dims))
            out += self.placed(self.nest(loops.extents, first, body), together[0].origin)
        return out

    def nest(self, extents: Sequence[ast.expr], first: int, inner: list[ast.stmt]) -> list[ast.stmt]:
        for k in range(len(extents) - 1, -1, -1):
            if _is(extents[k], 1):
                continue
            index = ast.Name(self.index_names[INDICES[first + k]], ast.Store())
            run = ast.Call(ast.Name("range", ast.Load()), [self.resolved(extents[k])], [])
            inner = [ast.For(index, run, inner, [], lineno=0)]
        return inner

    def part(self, part: Part) -> list[ast.stmt]:
        match part:
            case LoopLet():
                return self.assign(part.value, self.resolved(part.expr))
            case LoopStore():
                return [self.stored(part.target, part.index, part.expr, part.combine, part.free)]
            case LoopReduce():
                return self.reduced(part)
            case InnerReduce():
                body = [s for let in part.parts for s in self.part(let)] + self.reduced(part)
                return self.started(part) + self.nest(part.extents, part.first, body)

    def started(self, part: LoopReduce | InnerReduce) -> list[ast.stmt]:
        """The first value of a reduction."""
        start = self.resolved(part.start)
        if is_sum(part):
            return [Start([self.target(part.acc)], start, lineno=0)]
        return self.assign(part.acc, start)

    def reduced(self, part: LoopReduce | InnerReduce) -> list[ast.stmt]:
        """What a reduction does at each point."""
        value = self.resolved(part.expr)
        if is_sum(part):
            return [Summed(self.target(part.acc), ast.Add(), value)]
        if is_extreme(part):
            return self.assign(part.acc, ast.Call(dotted(part.combine), [self.plain(part.acc), value], []))
        return self.assign(part.acc, combined(part.combine, self.plain(part.acc), value))

    # -- control flow -----------------------------------------------------------------------------

    def branch(self, item: Branch) -> list[ast.stmt]:
        sides = []
        for side in (item.then, item.orelse):
            moves = self.moves(item.outputs, side.results, side.origins)
            sides.append(self.block(side.items) + self.placed(moves, item.origin))
        return conditional(self.resolved(item.cond), *sides)

    def loop(self, item: Loop) -> list[ast.stmt]:
        out = self.placed(self.moves(item.params, item.inits), item.origin)
        inside = [*all_exprs(item.body), *([item.stop] if item.stop is not None else [])]
        read = item.index is not None and any(item.index in refs(e) for e in inside)
        self.enclosing.append(self.names.of(item.index) if item.index is not None and read else "")
        body = self.block(item.body.items)
        self.enclosing.pop()
        body += self.placed(self.moves(item.params, item.body.results, item.body.origins), item.origin)
        if item.stop is not None:
            leave = ast.If(self.resolved(item.stop), [ast.Break()], [])
            body += self.placed([leave], item.stop_origin)
        once = None if item.test is not None or item.stop is not None or read else self.once(item)
        if once is not None:
            out.append(ast.If(once, body or [ast.Pass()], []))
        elif item.test is None:
            out.append(self.for_(item, body, read))
        else:
            out.append(self.while_(item, body))
        return out + self.placed(self.moves(item.outputs, [Ref(p) for p in item.params]), item.origin)

    def for_(self, item: Loop, body: list[ast.stmt], read: bool) -> ast.stmt:
        assert item.index is not None and item.bounds is not None
        start, stop, step = map(self.resolved, item.bounds)
        args = [start, stop, step]
        if _is(step, 1):
            args = [stop] if _is(start, 0) else [start, stop]
        name = self.names.of(item.index) if read else "_"
        run = ast.Call(ast.Name("range", ast.Load()), args, [])
        return ast.For(ast.Name(name, ast.Store()), run, body or [ast.Pass()], [], lineno=0)

    def once(self, item: Loop) -> ast.expr | None:
        """Whether there is a trip, of a loop that has one at most."""
        assert item.bounds is not None
        match list(map(self.resolved, item.bounds)):
            case [start, ast.Call(func=ast.Name(id="min"), args=[one, count]), step]:
                if _is(start, 0) and _is(step, 1) and _is(one, 1):
                    return _is_positive(count)
        return None

    def while_(self, item: Loop, body: list[ast.stmt]) -> ast.stmt:
        assert item.test is not None
        test = self.resolved(item.test.results[0])
        items = self.block(item.test.items)
        if not items:
            return ast.While(test, body or [ast.Pass()], [])
        leave = ast.If(negated(test), [ast.Break()], [])
        self.placed([leave], item.origin)
        return ast.While(ast.Constant(True), [*items, leave, *body], [])

    def moves(
        self, targets: Sequence[Value], sources: Sequence[ast.expr], origins: Sequence[Origin] = ()
    ) -> list[ast.stmt]:
        """Assign all at once: in an order that overwrites nothing still needed, or as one tuple."""
        pending = []
        where = {id(s): o for s, o in zip(sources, origins, strict=False)}
        for target, source in zip(targets, sources, strict=True):
            if isinstance(source, Ref) and self.names.of(source.value) == self.names.of(target):
                continue
            pending.append((target, source))
        out: list[ast.stmt] = []
        while pending:
            for k, (target, source) in enumerate(pending):
                rest = pending[:k] + pending[k + 1 :]
                if not any(self.names.of(v) == self.names.of(target) for _, s in rest for v in refs(s)):
                    made = self.assign(target, self.resolved(source))
                    out += self.placed(made, where.get(id(source), Origin()))
                    pending = rest
                    break
            else:
                left = ast.Tuple([self.target(t) for t, _ in pending], ast.Store())
                right = ast.Tuple([self.resolved(s) for _, s in pending], ast.Load())
                out.append(ast.Assign([left], right, lineno=0))
                break
        return out


class _Resolve(ast.NodeTransformer):
    def __init__(self, body: Body):
        self.body = body

    def visit(self, node: ast.AST) -> Any:
        """A copy with names filled in; trees may be shared, so nothing is changed in place."""
        if isinstance(node, Ref):
            known = self.body.index_names.get(node.value)
            return ast.Name(known or self.body.names.of(node.value), ast.Load())
        fields = {}
        for key, old in ast.iter_fields(node):
            if isinstance(old, list):
                fields[key] = [self.visit(x) if isinstance(x, ast.AST) else x for x in old]
            else:
                fields[key] = self.visit(old) if isinstance(old, ast.AST) else old
        return type(node)(**fields)


def _depth(part: Part, nest: Kernel) -> int:
    """How many indices a part of a nest has."""
    return part.first + len(part.extents) if isinstance(part, InnerReduce) else len(dims_around(part, nest))


def combined(combine: str, acc: ast.expr, value: ast.expr) -> ast.expr:
    """What an accumulator becomes."""
    match combine:
        case "add":
            return ast.BinOp(acc, ast.Add(), value)
        case "mul":
            return ast.BinOp(acc, ast.Mult(), value)
        case "logical_and":
            return ast.BoolOp(ast.And(), [acc, value])
        case "logical_or":
            return ast.BoolOp(ast.Or(), [acc, value])
    return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), combine, ast.Load()), [acc, value], [])


def conditional(test: ast.expr, then: list[ast.stmt], orelse: list[ast.stmt]) -> list[ast.stmt]:
    """An ``if``, turned round or left out where a branch is empty."""
    if not then and not orelse:
        return []
    if not then:
        return [ast.If(negated(test), orelse, [])]
    return [ast.If(test, then, orelse)]


def is_sum(part: LoopReduce | InnerReduce) -> bool:
    """Whether numbers that are rounded are added up."""
    return part.combine == "add" and part.acc.type.dtype.kind in "fc"


def is_extreme(part: LoopReduce | InnerReduce) -> bool:
    return part.combine in EXTREMES and part.acc.type.dtype.kind == "f"


def _same_text(x: ast.expr, y: ast.expr) -> bool:
    return type(x) is type(y) and ast.unparse(x) == ast.unparse(y)


def _is_positive(count: ast.expr) -> ast.expr:
    """``n > 1`` for ``n - 1``."""
    match count:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant() as less):
            return ast.Compare(left, [ast.Gt()], [less])
    return ast.Compare(count, [ast.Gt()], [ast.Constant(0)])


def _is(node: ast.expr, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value
