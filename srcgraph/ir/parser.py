"""Text back to graphs: the inverse of `srcgraph.ir.printer`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from srcgraph.errors import InternalError
from srcgraph.ir.graph import NOWHERE, Apply, Call, For, Graph, If, Node, Program, Rule, Value, While
from srcgraph.ir.op import OPS
from srcgraph.ir.types import DTYPE_OF, Type, parse_type
from srcgraph.ir.view import parse_view

_NAMED_FLOATS = {"inf": float("inf"), "nan": float("nan")}


def parse_program(text: str) -> Program:
    """Read the text of a program; the last function is the entry."""
    graphs = [_Scope(None).function(f) for f in ast.parse(text).body]
    return Program({g.name: g for g in graphs}, graphs[-1].name)


def parse_graph(text: str) -> Graph:
    """Read the text of one graph."""
    return parse_program(text).main


class _Scope:
    """Names visible in one function: its own only, since graphs are closed."""

    def __init__(self, parent: _Scope | None):
        self.parent = parent
        self.values: dict[str, Value] = {}
        self.types: dict[str, Type] = {}
        self.graphs: dict[str, ast.FunctionDef] = {}
        self.nodes: list[Node] = []

    def function(self, node: ast.AST) -> Graph:
        if not isinstance(node, ast.FunctionDef):
            raise InternalError(f"graph text holds functions only, not {type(node).__name__}")
        params = tuple(self.define(a.arg, parse_type(_given(a.annotation))) for a in node.args.args)
        results: tuple[Value, ...] = ()
        for statement in node.body:
            if isinstance(statement, ast.Return):
                results = self.results(statement.value, node.returns)
            else:
                self.statement(statement)
        return Graph(node.name, params, tuple(self.nodes), results)

    def results(self, value: ast.expr | None, annotation: ast.expr | None) -> tuple[Value, ...]:
        many = isinstance(annotation, ast.Tuple)
        if many and isinstance(value, ast.Tuple):
            return tuple(map(self.operand, value.elts))
        return (self.operand(_given(value)),)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef(name=name):
                self.graphs[name] = node
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=None):
                self.types[name] = parse_type(annotation)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.Call() as call):
                self.types[name] = parse_type(annotation)
                self.call([name], call)
            case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Call() as call):
                self.call([e.id for e in elts if isinstance(e, ast.Name)], call)
            case _:
                raise InternalError(f"not a line of graph text: {ast.unparse(node)}")

    def define(self, name: str, type: Type) -> Value:
        self.values[name] = Value(name, type)
        return self.values[name]

    def call(self, targets: list[str], call: ast.Call) -> None:
        head = call.func.id if isinstance(call.func, ast.Name) else ""
        attrs = {k.arg or "": k.value for k in call.keywords}
        make = _BLOCKS.get(head, _Scope.apply)
        node = make(self, head, call.args, attrs, lambda: tuple(self.define(t, self.types[t]) for t in targets))
        self.nodes.append(node)

    def apply(self, head: str, args: list[ast.expr], attrs: dict[str, ast.expr], outputs: Callable) -> Node:
        if head not in OPS:
            raise InternalError(f"there is no op named {head!r}")
        inputs = tuple(map(self.operand, args))
        return Apply(OPS[head], inputs, outputs(), {k: _attr(k, v) for k, v in attrs.items()}, NOWHERE)

    def call_graph(self, head: str, args: list[ast.expr], attrs: Any, outputs: Callable) -> Node:
        callee = ast.literal_eval(args[0])
        changes = ast.literal_eval(attrs["changes"]) if "changes" in attrs else ()
        rule = Rule(*ast.literal_eval(attrs["rule"])) if "rule" in attrs else None
        return Call(callee, tuple(map(self.operand, args[1:])), outputs(), changes, rule)

    def if_(self, head: str, args: list[ast.expr], attrs: dict[str, ast.expr], outputs: Callable) -> Node:
        captures = self.operands(attrs["captures"])
        return If(self.operand(args[0]), captures, self.inner(args[1]), self.inner(args[2]), outputs())

    def while_(self, head: str, args: list[ast.expr], attrs: dict[str, ast.expr], outputs: Callable) -> Node:
        carry, captures = self.operands(attrs["carry"]), self.operands(attrs["captures"])
        return While(carry, captures, self.inner(args[0]), self.inner(args[1]), outputs(), "stops" in attrs)

    def for_(self, head: str, args: list[ast.expr], attrs: dict[str, ast.expr], outputs: Callable) -> Node:
        start, stop, step = map(self.operand, args[:3])
        carry, captures = self.operands(attrs["carry"]), self.operands(attrs["captures"])
        body, stops = self.inner(args[3]), "stops" in attrs
        return For(start, stop, step, carry, captures, body, outputs(), stops, lanes="lanes" in attrs)

    def inner(self, name: ast.expr) -> Graph:
        assert isinstance(name, ast.Name)
        graph = _Scope(self).function(self.graphs[name.id])
        base = name.id.rstrip("0123456789").rstrip("_")
        return Graph(base if base in _INNER_NAMES else graph.name, graph.params, graph.nodes, graph.results)

    def operands(self, node: ast.expr) -> tuple[Value, ...]:
        assert isinstance(node, ast.Tuple)
        return tuple(map(self.operand, node.elts))

    def operand(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name) and node.id in self.values:
            return self.values[node.id]
        number = _literal(node)
        const = OPS["const"]
        value = Value("", const.infer(value=number))
        self.nodes.append(Apply(const, (), (value,), {"value": number}))
        return value


_INNER_NAMES = {"then", "orelse", "cond", "body"}
_BLOCKS: dict[str, Callable] = {
    "call": _Scope.call_graph,
    "if_": _Scope.if_,
    "while_": _Scope.while_,
    "for_": _Scope.for_,
}


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in _NAMED_FLOATS:
            return _NAMED_FLOATS[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_literal(operand)
        case ast.Call(func=ast.Name(id="complex"), args=[real, imag]):
            return complex(_literal(real), _literal(imag))
        case ast.Call(func=ast.Name(id=name), args=[value]) if name in DTYPE_OF:
            return DTYPE_OF[name].type(_literal(value))
    raise InternalError(f"not a value or a literal: {ast.unparse(node)}")


def _attr(key: str, node: ast.expr) -> Any:
    if key == "dtype" and isinstance(node, ast.Name):
        return DTYPE_OF[node.id]
    if key == "item":
        return parse_type(node)
    value = ast.literal_eval(node)
    return parse_view(value) if key == "view" else value


def _given(node: ast.expr | None) -> ast.expr:
    if node is None:
        raise InternalError("graph text lacks a type or a result")
    return node
