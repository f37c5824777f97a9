"""Replay a graph through a builder: what passes are made of.

Replaying re-runs every type rule, so sizes are known as well as the new surroundings allow, equal
nodes merge and proved checks vanish. A pass is a subclass that says what becomes of some nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from srcgraph.ir import dims
from srcgraph.ir.builder import Builder
from srcgraph.ir.dims import Dim
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Value, While
from srcgraph.ir.op import building
from srcgraph.ir.types import ArrayType, ListType, ScalarType, Type, is_integer, type_symbols


def substitute_type(type: Type, env: Mapping[str, Dim]) -> Type:
    """Replace symbols in a type's facts."""
    match type:
        case ScalarType():
            return type if type.value is None else replace(type, value=dims.substitute(type.value, env))
        case ArrayType():
            return replace(type, shape=tuple(dims.substitute(d, env) for d in type.shape))
        case ListType():
            return replace(type, item=substitute_type(type.item, env))


class Extra:
    """Carries that a pass adds to a loop.

    ``enter`` runs inside the body before its nodes, ``finish`` after them (the flag is the body's stop
    flag, or None), ``test`` inside the condition of `While` with what stands for the added carries there, ``leave``
    once the loop is there, with the added outputs.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.inits: list[Value] = []
        self.params: list[Value] = []
        self.results: list[Value] = []

    def enter(self) -> None:
        pass

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        pass

    def test(self, params: Sequence[Value]) -> None:
        pass

    def leave(self, outputs: Sequence[Value]) -> None:
        pass


class Rebuild:
    """Builds a graph anew, node by node.

    Attributes
    ----------
    env : dict
        Old values to new ones.
    symbols : dict
        Old size symbols to what they are in the new graph.
    """

    def __init__(self, name: str):
        self.builder = Builder(name)
        self.env: dict[Value, Value] = {}
        self.symbols: dict[str, Dim] = {}

    def run(self, graph: Graph) -> Graph:
        """Return the new graph, closed."""
        with building(self.builder):
            self.params(graph.params)
            self.nodes(graph.nodes)
            return self.builder.finish(self.values(graph.results))

    def params(self, params: Sequence[Value]) -> None:
        """Parameters keep their types, symbols included."""
        self.builder.reserve(frozenset().union(*(type_symbols(p.type) for p in params)))
        for p in params:
            self.bind(p, self.builder.param(p.name, p.type))

    # -- values ---------------------------------------------------------------------------------

    def bind(self, old: Value, new: Value) -> None:
        self.env[old] = new
        if isinstance(old.type, ArrayType) and isinstance(new.type, ArrayType):
            for before, now in zip(old.type.shape, new.type.shape, strict=True):
                if before.symbol:
                    self.symbols.setdefault(before.symbol, now)
        elif isinstance(old.type, ScalarType) and isinstance(new.type, ScalarType):
            if old.type.value is not None and old.type.value.symbol and new.type.value is not None:
                self.symbols.setdefault(old.type.value.symbol, new.type.value)

    def value(self, old: Value) -> Value:
        return self.env[old]

    def values(self, old: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(self.value(v) for v in old)

    # -- nodes ----------------------------------------------------------------------------------

    def nodes(self, nodes: Sequence[Node]) -> None:
        with self.builder.at():
            for node in nodes:
                self.builder.origin = node.origin
                for old, new in zip(node.outputs, self.node(node), strict=True):
                    self.bind(old, new)

    def node(self, node: Node) -> Sequence[Value]:
        match node:
            case Apply():
                return self.apply(node, self.values(node.inputs))
            case If():
                return self.if_(node)
            case While():
                return self.while_(node)
            case For():
                return self.for_(node)
            case Call():
                return self.call(node)
            case Define():
                return self.define(node)

    def apply(self, node: Apply, inputs: tuple[Value, ...]) -> Sequence[Value]:
        attrs = dict(node.attrs)
        if "item" in attrs:
            attrs["item"] = substitute_type(attrs["item"], self.symbols)
        out = self.builder.apply(node.op, inputs, attrs, name=node.outputs[-1].name)
        return out if isinstance(out, tuple) else (out,)

    def call(self, node: Call) -> Sequence[Value]:
        types = self.types_anew(node.outputs)
        names = [o.name for o in node.outputs]
        how = node.changes, node.rule, node.native
        return self.builder.call_graph(node.callee, self.values(node.inputs), types, names, *how)

    def put(self, graph: Graph, inputs: Sequence[Value]) -> Sequence[Value]:
        """The results of another graph whose nodes are put here."""
        outer = self.env, self.symbols
        self.env, self.symbols = {}, {}
        for param, value in zip(graph.params, inputs, strict=True):
            self.bind(param, self.agreeing(param, value))
        self.nodes(graph.nodes)
        results = self.values(graph.results)
        self.env, self.symbols = outer
        return results

    def agreeing(self, param: Value, value: Value) -> Value:
        """What is given for a parameter, with the lengths that those given before have for its symbols."""
        if not isinstance(param.type, ArrayType) or not isinstance(value.type, ArrayType):
            return value
        wanted = [
            dims.substitute(own, self.symbols) if own.symbols() <= self.symbols.keys() else given
            for own, given in zip(param.type.shape, value.type.shape, strict=True)
        ]
        return value if value.type.shape == tuple(wanted) else self.builder.retype(value, tuple(wanted))

    def types_anew(self, values: Sequence[Value]) -> list[Type]:
        """Types of values that no node here explains: what only they make known is named anew."""
        for value in values:
            new = self.builder.new_size if isinstance(value.type, ArrayType) else self.builder.new_symbol
            self.symbols.update({s: new(s) for s in sorted(type_symbols(value.type)) if s not in self.symbols})
        return [substitute_type(v.type, self.symbols) for v in values]

    def define(self, node: Define) -> Sequence[Value]:
        """A function: what is outside is not seen inside, and the other way round."""
        outer = self.env, self.symbols
        self.env, self.symbols = {}, {}
        region = self.builder.new_region()
        with self.builder.inside(region):
            old = node.graph.params
            params = [Value(p.name, t) for p, t in zip(old, self.types_anew(old), strict=True)]
            self.builder.enter_params(region, params)
            for p, new in zip(old, params, strict=True):
                self.bind(p, new)
            made = self.function(node, region)
        self.env, self.symbols = outer
        self.builder.region.nodes.append(made)
        return ()

    def function(self, node: Define, region: Region) -> Define:
        """A function whose parameters are bound, built in its region."""
        self.body(node.graph)
        return Define(region.graph(node.graph.name, self.values(node.graph.results)), node.changes, node.origin)

    def if_(self, node: If) -> Sequence[Value]:
        cond = self.value(node.cond)
        then = self.branch(node.then, node.captures, cond, True)
        orelse = self.branch(node.orelse, node.captures, cond, False)
        return self.builder.if_(cond, then, orelse, self.branch_names(node))

    def branch_names(self, node: If) -> list[str]:
        return [o.name for o in node.outputs]

    def body(self, graph: Graph) -> None:
        """The nodes of an inner graph, whose parameters are bound."""
        self.nodes(graph.nodes)

    def extra(self, node: For | While) -> Extra:
        """The carries to add to a loop."""
        return Extra()

    def branch(
        self, graph: Graph, captures: Sequence[Value], cond: Value, holds: bool
    ) -> tuple[Region, tuple[Value, ...]]:
        region = self.builder.new_region()
        with self.builder.inside(region):
            self.builder.learn_condition(cond, holds)
            self.capture(graph.params, captures)
            self.body(graph)
            return region, self.values(graph.results)

    def capture(self, params: Sequence[Value], captures: Sequence[Value]) -> None:
        for param, captured in zip(params, captures, strict=True):
            self.bind(param, self.value(captured))

    def for_(self, node: For) -> Sequence[Value]:
        bounds = (self.value(node.start), self.value(node.stop), self.value(node.step))
        return self.for_over(node, bounds, list(self.values(node.carry)))

    def for_over(
        self, node: For, bounds: tuple[Value, Value, Value], inits: list[Value], number: Value | None = None
    ) -> Sequence[Value]:
        """A loop over other numbers, or that begins with other values, or all of whose trips are that of one number."""
        old_index, *old_params = node.body.params
        region, index = self.builder.for_region(bounds, old_index.name)
        extra = self.extra(node)
        with self.builder.inside(region):
            self.bind(old_index, index if number is None else number)
            params = self.carry(old_params[: len(inits)], node.carry, inits)
            extra.enter()
            self.builder.enter_params(region, (index, *params, *extra.params))
            self.capture(old_params[len(inits) :], node.captures)
            self.body(node.body)
            results, stop = self.loop_results(node, node.body, params)
            extra.finish(node.body.nodes, stop)
        region.params = (index, *params, *extra.params)
        names = [o.name for o in node.outputs] + extra.names
        outs = self.builder.for_(bounds, inits + extra.inits, region, results + extra.results, stop, names, node.lanes)
        extra.leave(outs[len(inits) :])
        return outs[: len(inits)]

    def while_(self, node: While) -> Sequence[Value]:
        return self.while_over(node, list(self.values(node.carry)))

    def while_over(self, node: While, inits: list[Value]) -> Sequence[Value]:
        """A loop that begins with other values."""
        count = len(node.carry)
        test, body = self.builder.new_region(), self.builder.new_region()
        extra = self.extra(node)
        with self.builder.inside(body):
            params = self.carry(node.body.params[:count], node.carry, inits)
            extra.enter()
            self.builder.enter_params(body, (*params, *extra.params))
            self.capture(node.body.params[count:], node.captures)
            self.body(node.body)
            results, stop = self.loop_results(node, node.body, params)
            extra.finish(node.body.nodes, stop)
        body.params = (*params, *extra.params)
        with self.builder.inside(test):
            seen = [Value(p.name, p.type) for p in params]  # one symbol for a number in test and body
            test.born |= body.born & frozenset().union(*(type_symbols(p.type) for p in params))
            for old, new in zip(node.cond.params[:count], seen, strict=True):
                self.bind(old, new)
            spare = [self.builder.fresh(p.name, p.type) for p in extra.params]
            self.builder.enter_params(test, (*seen, *spare))
            extra.test(spare)
            self.capture(node.cond.params[count:], node.captures)
            self.body(node.cond)
            holds = self.value(node.cond.results[0])
        names = [o.name for o in node.outputs] + extra.names
        outs = self.builder.while_(inits + extra.inits, (test, holds), body, results + extra.results, stop, names)
        extra.leave(outs[count:])
        return outs[:count]

    def carry(self, old: Sequence[Value], old_inits: Sequence[Value], inits: Sequence[Value]) -> list[Value]:
        """New loop parameters; sizes that were equal, to those of initial values too, are equal again."""
        params = []
        sizes: dict[Dim, Dim] = {}
        for param, before, init in zip(old, old_inits, inits, strict=True):
            new = self.builder.fresh(param.name, self.retyped(param, before.type, init.type, sizes))
            self.bind(param, new)
            params.append(new)
        return params

    def retyped(self, old: Value, before: Type, init: Type, sizes: dict[Dim, Dim]) -> Type:
        """The type of a loop's new parameter; ``before`` was that of what the loop began with, ``init`` is now."""
        param = old.type
        if isinstance(param, ArrayType) and isinstance(before, ArrayType) and isinstance(init, ArrayType):
            for p, b in zip(param.shape, before.shape, strict=True):
                if p != b and p not in sizes:
                    sizes[p] = self.builder.new_size()
            shapes = zip(param.shape, before.shape, init.shape, strict=True)
            return replace(param, shape=tuple(n if p == b else sizes[p] for p, b, n in shapes))
        if is_integer(param):
            assert isinstance(param, ScalarType)
            return replace(param, value=None)
        return substitute_type(param, self.symbols)

    def loop_results(self, node: For | While, body: Graph, params: Sequence[Value]) -> tuple[list[Value], Any]:
        found = self.values(body.results)
        results = [self.fitted(v, p) for v, p in zip(found[: len(params)], params, strict=True)]
        return results, found[-1] if node.stops else None

    def fitted(self, value: Value, param: Value) -> Value:
        """``value`` with the sizes its loop parameter promises; they were proved equal before."""
        if isinstance(param.type, ArrayType) and isinstance(value.type, ArrayType):
            born = self.builder.region.born
            wanted = [v if p.symbols() & born else p for v, p in zip(value.type.shape, param.type.shape, strict=True)]
            return self.builder.retype(value, wanted)
        return value
