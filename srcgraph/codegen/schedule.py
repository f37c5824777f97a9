"""From an open graph to items: which values get names, which nest, and which loops run.

Elementwise ops, views, fills and slices are delayed: they are expressions at an index. They become
arrays only where memory is needed: for a library call, a result, a loop's carry, several readers, or
because their operands are about to be overwritten. Order is the program's own.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

from srcgraph.codegen import fusion, kernels
from srcgraph.codegen.decisions import Decisions, transparent
from srcgraph.codegen.dots import dots_as_sums
from srcgraph.codegen.expr import call, empty_list, filled, literal, negated, number, subscript
from srcgraph.codegen.flat import flattened
from srcgraph.codegen.into import into
from srcgraph.codegen.items import (
    Block,
    Branch,
    Do,
    Effect,
    Invoke,
    Item,
    Keep,
    Let,
    Loop,
    Raise,
    Store,
    Unpack,
    ref,
    refs,
)
from srcgraph.codegen.uses import Place, in_memory, pushed
from srcgraph.ir.closure import open_
from srcgraph.ir.dims import Dim, DimCall, call_of
from srcgraph.ir.exceptions import is_known
from srcgraph.ir.graph import NOWHERE, Apply, Call, For, Graph, If, Node, Origin, Value, While
from srcgraph.ir.ops.linalg import CHANGED_BY
from srcgraph.ir.types import PY_BOOL, PY_INT, ArrayType, ScalarType
from srcgraph.ir.view import View, element, split_operands


def schedule(graph: Graph, target: str = "cpu") -> tuple[Block, Graph]:
    """Return the items of a closed graph, and the open graph whose values they name."""
    plain = dots_as_sums(transparent(open_(graph)))
    scheduler = Scheduler(plain, target)
    return scheduler.function(), plain


class Scheduler(Decisions):
    """Emits items, region by region."""

    def function(self) -> Block:
        self.variables.update(self.graph.params)
        self.decide(self.graph)
        items: list[Item] = []
        for param in self.graph.params:
            items += self.provide(param)
            items += self.known_lengths(param)
        return self.block(self.graph, None, items)

    def provide(self, value: Value) -> Iterator[Item]:
        """The sizes and integers a new variable makes known."""
        if isinstance(value.type, ScalarType):
            known = value.type.value
            if known is not None and known.symbol and known.symbol not in self.providers:
                self.providers[known.symbol] = value
        elif isinstance(value.type, ArrayType):
            for axis, size in enumerate(value.type.shape):
                if size.symbol and size.symbol not in self.providers:
                    holder = Value("", PY_INT)
                    self.hints[holder] = size.symbol
                    self.providers[size.symbol] = holder
                    self.variables.add(holder)
                    shape = ast.Attribute(ref(value), "shape", ast.Load())
                    yield Let(holder, subscript(shape, [number(axis)]))

    def known_lengths(self, param: Value) -> Iterator[Item]:
        """What numba's types do not say of an argument: how far apart its elements are."""
        shape = param.type.shape if isinstance(param.type, ArrayType) else ()
        for axis, size in list(enumerate(shape))[1:]:
            if size.const is not None:
                length = subscript(ast.Attribute(ref(param), "shape", ast.Load()), [number(axis)])
                yield from self.assume(ast.Compare(length, [ast.Eq()], [number(size.const)]))

    def assume(self, known: ast.expr) -> Iterator[Item]:
        """Tell LLVM what is known of arguments."""
        if self.write.target == "cpu":
            yield Effect(call("assume", known))

    # -- items ----------------------------------------------------------------------------------

    def block(self, graph: Graph, parent: Place | None, items: list[Item] | None = None) -> Block:
        out = items if items is not None else []
        for position, node in enumerate(graph.nodes):
            place = Place(graph, position, parent)
            for item in self.node(node, place):
                out.append(item)
            for value in node.outputs:
                if value in self.variables:
                    out += self.provide(value)
        results = [self.handed_on(v) for v in graph.results]
        origins = [self.origin_of(v) for v in graph.results]
        kernels.numbers_apart(out, self.variables)
        return Block([*flattened(fusion.fused(out, self), self)], results, list(graph.results), origins)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is scheduled inside may not run: sizes become known there only."""
        known = set(self.providers)
        yield
        for symbol in [s for s in self.providers if s not in known]:
            del self.providers[symbol]

    def origin_of(self, value: Value) -> Origin:
        """Where a value is computed; NOWHERE for parameters."""
        node = self.uses.definition.get(value)
        return node.origin if node is not None and node.op.name != "const" else NOWHERE

    def handed_on(self, value: Value) -> ast.expr:
        return ref(value) if in_memory(value) else self.write.scalar(value)

    def node(self, node: Node, place: Place) -> Iterator[Item]:
        match node:
            case Apply():
                yield from self.apply(node)
            case If():
                yield self.branch(node, place)
            case For():
                yield self.for_(node, place)
            case While():
                yield self.while_(node, place)
            case Call():
                yield self.invoke(node)

    def name(self, value: Value) -> None:
        self.variables.add(value)
        known = value.type.value if isinstance(value.type, ScalarType) else None
        atom = None if known is None else known.symbol or call_of(known)
        if atom is not None:
            self.providers.setdefault(atom, value)

    def apply(self, node: Apply) -> Iterator[Item]:
        out = node.outputs[0]
        match node.op.kind:
            case "check" if node.op.check is None:
                yield from self.assume(self.handed_in(node.inputs[0]))
            case "check":
                yield from self.check(node)
            case "list":
                yield from self.list_op(node)
            case "update":
                yield from self.update(node)
            case "reduction":
                found = into(self, node)
                if found is None:
                    yield from kernels.reduction(self, node)
                else:
                    self.into[found.update] = found
            case "library" if node.op.changes:
                yield self.changing(node)
            case "library":
                yield from self.library(node)
            case "effect":
                yield self.effect(node)
            case "draw":
                yield self.draw(node)
            case _ if isinstance(out.type, ArrayType):
                if out in self.made or node.op.name == "copy":
                    yield from kernels.made(self, node)
            case _:
                if self.uses.reads[out] and self.needs_name(out):
                    expr = self.write.scalar(out)
                    self.name(out)
                    yield Let(out, expr, node.origin)

    def check(self, node: Apply) -> Iterator[Item]:
        check = node.op.check
        assert check is not None
        operands = [self.handed_in(v) for v in node.inputs]
        attrs = node.attrs
        if check.fails == "not x":
            fails = self.negation(node.inputs[0], operands[0])
        else:
            fails = _literal_last(_decided(filled(check.fails, operands, attrs)))
        error = check.error.format_map(_Kept(attrs))
        if node.op.name == "check_that":
            args = _arguments(error, attrs["message"], operands[1:])
        else:
            shown = {"x": operands[0], "y": operands[-1]}
            args = _message(check.message.format_map(_Kept(attrs)), shown)
        yield Raise(fails, error if is_known(error) else "Raised", args, node.origin)
        out = node.outputs[0]
        if check.passes != "x" and self.uses.reads[out]:
            expr = filled(check.passes, operands, attrs)
            self.name(out)
            yield Let(out, expr, node.origin)

    def effect(self, node: Apply) -> Effect | Keep:
        """A call of a helper: what the op says comes before the operands."""
        if node.op.name == "keep":
            return Keep(node.inputs[0], node.inputs[1], origin=node.origin)
        args = [*map(_constants, node.op.in_order(node.attrs)), *map(self.handed_in, node.inputs)]
        return Effect(call(node.op.text(self.write.target, None, node.attrs), *args), node.origin)

    def draw(self, node: Apply) -> Let | Effect:
        """A call of a helper: lengths come last, as a tuple. Nothing may read what is drawn."""
        out, name = node.outputs[0], node.op.text(self.write.target, None, node.attrs)
        args = list(map(self.handed_in, node.inputs))
        if node.attrs.get("array"):
            name = node.op.text(self.write.target + "_array", None, node.attrs)
            first = len(args) - out.type.ndim
            args[first:] = [ast.Tuple(args[first:], ast.Load())]
        if not self.uses.reads[out]:
            return Effect(call(name, *args), node.origin)
        self.name(out)
        return Let(out, call(name, *args), node.origin)

    def handed_in(self, value: Value) -> ast.expr:
        """A number, or an array in memory."""
        return self.in_place(value) if in_memory(value) else self.write.scalar(value)

    def negation(self, value: Value, test: ast.expr) -> ast.expr:
        """``not test``; a comparison of integers is turned round, which NaN would not allow."""
        node = self.uses.definition.get(value)
        if isinstance(test, ast.Compare) and node is not None and all(v.type.dtype.kind in "iu" for v in node.inputs):
            return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
        return negated(test)

    def update(self, node: Apply) -> Iterator[Item]:
        base, value = node.inputs[:2]
        if node.attrs["view"] != element(base.type.ndim):
            found = self.into.get(node)
            yield from kernels.update(self, node) if found is None else found.items(self)
            return
        at = tuple(self.write.index_of(v) for v in node.inputs[2:])
        index = tuple(self.write.dim(d) for d in at)
        expr = self.write.scalar(value)
        self.name(node.outputs[0])
        yield Store(node.outputs[0], base, index, expr, node.op.name == "add_at", node.origin)

    def library(self, node: Apply) -> Iterator[Item]:
        args = [self.handed_in(v) for v in node.inputs[node.op.unread :]]
        out = node.outputs[0]
        exact = node.op.name == "matmul" and out.type.dtype.kind not in "fc"
        name = node.op.text(self.write.target + "_exact" * exact, out.type.dtype, node.attrs)
        attrs = [literal(v) for v in node.op.in_order(node.attrs)]
        for value, hint in zip_longest(node.outputs, node.op.results):
            self.name(value)
            self.hints[value] = hint or ""
        if len(node.outputs) > 1:
            yield Unpack(node.outputs, call(name, *args, *attrs), node.origin)
        elif node.op.name in ("reshape", "reshape_view"):
            shape: ast.expr = ast.Tuple(args[1:], ast.Load())
            same = node.op.name == "reshape_view"
            yield Let(out, call(name, args[0], shape), node.origin, alias=node.inputs[0], same=same)
        elif node.op.name == "turned":
            yield Let(out, ast.Attribute(args[0], "T", ast.Load()), node.origin, alias=node.inputs[0], same=True)
        else:
            yield Let(out, call(name, *args, *attrs), node.origin)

    def changing(self, node: Apply) -> Do:
        """A call that changes a part of an array, which it is given first."""
        base, *others = node.inputs[:CHANGED_BY]
        part = self.part(ref(base), base.type, node.attrs["view"], node.inputs[CHANGED_BY:])
        name, out = node.op.text(self.write.target, base.type.dtype, node.attrs), node.outputs[0]
        self.name(out)
        return Do(out, base, call(name, part, *map(self.handed_in, others)), origin=node.origin)

    def in_place(self, value: Value) -> ast.expr:
        """An array in memory, or a part of one: ``a[:, i]``, ``a[1:]``, ``a.T``."""
        if value in self.variables:
            return ref(value)
        node = self.uses.definition[value]
        base, view = self.in_place(node.inputs[0]), node.attrs["view"]
        return self.part(base, node.inputs[0].type, view, node.inputs[1:])

    def part(self, base: ast.expr, type: ArrayType, view: View, operands: Sequence[Value]) -> ast.expr:
        """A part of an array in memory; all of an axis at the end is not written out."""
        own = split_operands(view, [self.write.index_of(v) for v in operands])
        index = [self.taken(*each) for each in zip(view.axes, own, type.shape, strict=True)]
        while index and view.axes[len(index) - 1] == ":":
            index.pop()
        base = subscript(base, index) if index else base
        return ast.Attribute(base, "T", ast.Load()) if view.order == (1, 0) else base

    def taken(self, selector: Any, operands: Sequence[Dim], size: Dim) -> ast.expr:
        """What is taken of an axis: all, one element, or elements in a row."""
        if selector == ":":
            return ast.Slice()
        if selector == "i":
            return self.write.dim(operands[0])
        start, length = operands
        first = None if start == 0 else self.write.dim(start)
        if start + kernels.without_clamp(length) == size:
            return ast.Slice(first, None)
        return ast.Slice(first, self.write.dim(start + _unlimited(length, size - start)))

    def list_op(self, node: Apply) -> Iterator[Item]:
        out = node.outputs[0]
        match node.op.name:
            case "list_new" | "list_full" | "list_of":
                self.name(out)
                yield Let(out, self.list_made(node), node.origin)
            case "list_copy":
                xs, arrays = ref(node.inputs[0]), isinstance(out.type.item, ArrayType)
                self.name(out)
                yield Let(out, call("copies", xs) if arrays else subscript(xs, [ast.Slice()]), node.origin)
            case "list_set":
                base, at, item = node.inputs
                index, expr = self.write.scalar(at), self.write.scalar(item)
                self.name(out)
                yield Store(out, base, (index,), expr, False, node.origin)
            case "list_push" | "list_insert":
                base, *at, item = node.inputs
                self.name(out)
                pushed = ref(item) if in_memory(item) else self.write.scalar(item)
                method = ast.Attribute(ref(base), "insert" if at else "append", ast.Load())
                made = ast.Call(method, [*map(self.write.scalar, at), pushed], [])
                yield Do(out, base, made, item if in_memory(item) else None, node.origin)
            case "list_pop" | "list_take":
                rest, item = node.outputs
                self.name(rest)
                self.name(item)
                base, *at = node.inputs
                pop = ast.Attribute(ref(base), "pop", ast.Load())
                yield Let(item, ast.Call(pop, [*map(self.write.scalar, at)], []), node.origin)
                yield Let(rest, ref(base), node.origin)
            case _:
                if self.uses.reads[out] and (isinstance(out.type, ArrayType) or self.needs_name(out)):
                    expr = self.list_read(node)
                    self.name(out)
                    yield Let(out, expr, node.origin, alias=node.inputs[0])

    def list_made(self, node: Apply) -> ast.expr:
        """``[x, y]``, ``[x] * n`` or ``list(a)``."""
        if node.op.name == "list_full":
            n, x = node.inputs
            item = ref(x) if in_memory(x) else self.write.scalar(x)
            return ast.BinOp(ast.List([item], ast.Load()), ast.Mult(), self.write.scalar(n))
        if node.op.name == "list_of":
            return call("list", self.in_place(node.inputs[0]))
        if not node.inputs and not pushed(self.uses, node.outputs[0]):
            return empty_list(node.outputs[0].type.item)
        return ast.List([ref(v) if in_memory(v) else self.write.scalar(v) for v in node.inputs], ast.Load())

    def list_read(self, node: Apply) -> ast.expr:
        if node.op.name == "list_len":
            return call("len", ref(node.inputs[0]))
        return subscript(ref(node.inputs[0]), [self.write.scalar(node.inputs[1])])

    # -- control flow ---------------------------------------------------------------------------

    def branch(self, node: If, place: Place) -> Branch:
        cond = self.write.scalar(node.cond)
        with self.scope():
            then = self.block(node.then, place)
        with self.scope():
            orelse = self.block(node.orelse, place)
        for value in node.outputs:
            self.name(value)
        return Branch(node, cond, then, orelse, node.outputs, node.origin)

    def for_(self, node: For, place: Place) -> Loop:
        index, *params = node.body.params
        bounds = self.bounds(node)
        inits = [self.handed_on(v) for v in node.carry]
        with self.scope():
            self.name(index)
            body = self.block(node.body, place, self.entered(params))
        loop = Loop(node, tuple(params), inits, node.carry, body, node.outputs, index, bounds)
        return self.finished(loop)

    def invoke(self, node: Call) -> Invoke:
        """A call: arrays it changes stay where they are, everything else it returns."""
        args = [self.handed_on(v) for v in node.inputs]
        for value in node.outputs:
            self.name(value)
        changed = [(i, node.inputs[i], node.outputs[k]) for i, k in node.changes]
        after = {v for _, _, v in changed}
        at = {i for i, _ in node.changes}
        unread = at | self.unread[node.callee]
        read = [v for i, v in enumerate(node.inputs) if i not in unread and in_memory(v)]
        return Invoke(node.callee, args, [v for v in node.outputs if v not in after], changed, read, node.origin)

    def bounds(self, node: For) -> tuple[ast.expr, ast.expr, ast.expr]:
        """The arguments of ``range``; a countdown whose index nothing reads counts up."""
        start, stop, step = node.start, node.stop, node.step
        end: Dim | None = stop.type.value
        if self.is_unread_countdown(node):
            trips = kernels.without_clamp(start.type.value + 1)
            return number(0), self.write.dim(trips), number(1)
        first, last, by = (self.write.scalar(v) for v in (start, stop, step))
        if end is not None and step.type.value == 1:
            last = self.write.dim(kernels.without_clamp(end))
        return first, last, by

    def while_(self, node: While, place: Place) -> Loop:
        inits = [self.handed_on(v) for v in node.carry]
        with self.scope():
            test = self.block(node.cond, place, self.entered(node.cond.params))
            body = self.block(node.body, place, self.entered(node.body.params))
        return self.finished(Loop(node, node.body.params, inits, node.carry, body, node.outputs, test=test))

    def finished(self, loop: Loop) -> Loop:
        loop.origin = loop.node.origin
        if loop.node.stops:
            loop.stop_origin = self.origin_of(loop.body.values.pop())
            loop.stop = self.before_moves(loop, loop.body.results.pop())
            loop.body.origins.pop()
        for value in loop.outputs:
            self.name(value)
        return loop

    def before_moves(self, loop: Loop, stop: ast.expr) -> ast.expr:
        """The stop flag, computed before the carry is overwritten where it reads the old one."""
        if set(loop.params).isdisjoint(refs(stop)):
            return stop
        done = Value("", PY_BOOL)
        self.hints[done] = "done"
        self.variables.add(done)
        loop.body.items.append(Let(done, stop, loop.stop_origin))
        return ref(done)

    def entered(self, params: Sequence[Value]) -> list[Item]:
        items: list[Item] = []
        for value in params:
            self.name(value)
            items += self.provide(value)
        return items


def _unlimited(length: Dim, most: Dim) -> Dim:
    """``k`` where a length is ``min(most, k)``: slices end where arrays do."""
    atom = length.terms[0][0] if len(length.terms) == 1 and length.terms[0][1] == 1 else ()
    if len(atom) != 1 or not isinstance(atom[0], DimCall) or atom[0].fn != "min" or most not in atom[0].args:
        return length
    return next((arg for arg in atom[0].args if arg != most), length)


class _Kept(dict):
    """Format fields: attributes are filled in, operands stay for run time."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def _arguments(error: str, message: Any, values: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
    """What a raise hands over: a text or a template with its values; for the user's classes also their name."""
    if message == () and is_known(error):
        return ()
    first = [] if is_known(error) else [ast.Constant(error)]
    return (*first, _constants(message), *values)


def _constants(value: Any) -> ast.expr:
    return ast.Tuple([_constants(v) for v in value], ast.Load()) if isinstance(value, tuple) else ast.Constant(value)


def _message(text: str, operands: dict[str, ast.expr]) -> tuple[ast.expr, ...]:
    """The message with its operands as positional fields, and those operands."""
    args = []
    for name, expr in operands.items():
        field = "{" + name + "}"
        if field in text:
            text = text.replace(field, "{}")
            args.append((text.index("{}"), expr))
    return (ast.Constant(text), *(e for _, e in args))


_OPPOSITE = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_MIRROR = {ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


_OF_LITERALS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.cmpop, ast.boolop, ast.unaryop)


def _decided(test: ast.expr) -> ast.expr:
    """A test of literals as a literal: what certainly raises is raised without a test."""
    if not all(isinstance(n, _OF_LITERALS) for n in ast.walk(test)):
        return test
    whole = ast.fix_missing_locations(ast.Expression(copy.deepcopy(test)))
    return ast.Constant(bool(eval(compile(whole, "", "eval"), {})))


def _literal_last(test: ast.expr) -> ast.expr:
    """``0 >= n`` as ``n <= 0``."""
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Constant) and len(test.ops) == 1:
        return ast.Compare(test.comparators[0], [_MIRROR[type(test.ops[0])]()], [test.left])
    return test
