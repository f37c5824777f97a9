"""Tangents beside values: a graph built anew, with what `jvp` puts around it.

Every value that matters gets a tangent beside it, in the same place: loops carry it, branches hand it on, lists have
one of the same length. What does not depend on the inputs has none, and what has none costs nothing.

References
----------
Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.builder import Builder
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Call, Define, For, Graph, If, Node, Origin, Value, While
from srcgraph.ir.op import OPS, UNSAID, NoDerivative
from srcgraph.ir.ops.shape import zeros_of
from srcgraph.ir.rebuild import Extra, Rebuild
from srcgraph.ir.types import ArrayType, ListType, is_inexact
from srcgraph.opt.ad.activity import carries_derivative, converted, loop_params
from srcgraph.opt.ad.functions import Changes, Function
from srcgraph.opt.ad.unused import Tests, chosen_again, is_number_beside

_SHAPE = "a tangent has the shape of its primal: lengths {x} and {y}"


class Forward(Rebuild):
    """Builds a graph anew with tangents.

    Attributes
    ----------
    active : frozenset of Value
        The old values that have a tangent.
    functions : mapping
        Those that a derivative passes through, by name.
    tangents : dict
        Their tangents, by old value; none where it is zero.
    guarded : set of Node
        Where the operands' tangents are 0, so is the result's, beside an infinite derivative, too.
    by : str
        The number by which tangents are taken, where others are by others: part of their names.
    """

    by = ""

    def __init__(self, name: str, active: frozenset[Value], functions: Mapping[str, Function]):
        super().__init__(name)
        self.active = active
        self.functions = functions
        self.tangents: dict[Value, Value] = {}
        self.tests = Tests()
        self.guarded: AbstractSet[Node] = frozenset()
        self.given: set[Value] = set()
        """The tangents of parameters."""

    # -- tangents -------------------------------------------------------------------------------

    def d_name(self, value: Value) -> str:
        """What a value's tangent is called: ``d_x``, or ``d_x_a`` where there is also one by ``b``."""
        if not value.name:
            return ""
        return f"d_{value.name}_{self.by}" if self.by else f"d_{value.name}"

    def move(self, old: Value, tangent: Value | None) -> None:
        """Give an old value its tangent."""
        if tangent is not None and old in self.active:
            self.tangents[old] = self.like(tangent, self.value(old))
            self.builder.suggest(self.tangents[old], self.d_name(old))

    def checked(self, old: Value, tangent: Value) -> Value:
        """A parameter's tangent, which raises unless it has the parameter's shape."""
        value, found = self.value(old), self.value(tangent)
        if isinstance(value.type, ArrayType):
            for x, y in zip(value.type.shape, found.type.shape, strict=True):
                sizes = self.builder.dim_value(y), self.builder.dim_value(x)
                self.builder.call_named("equal_size", *sizes, error="ValueError", message=_SHAPE)
        return found

    def like(self, tangent: Value, value: Value) -> Value:
        """A tangent with the shape and the type of its value."""
        b = self.builder
        if isinstance(value.type, ListType):
            return tangent
        if isinstance(value.type, ArrayType) and tangent.type.shape != value.type.shape:
            if tangent.type.ndim == value.type.ndim and all(d != 1 for d in tangent.type.shape):
                tangent = b.retype(tangent, value.type.shape)
            else:
                tangent = b.call_named("broadcast_to", tangent, *map(b.dim_value, value.type.shape))
        return converted(b, tangent, value)

    def tangent_or_zero(self, old: Value) -> Value:
        found = self.tangents.get(old)
        return self.zero(self.value(old)) if found is None else found

    def zero(self, value: Value) -> Value:
        if not isinstance(value.type, ListType):
            return zeros_of(value)
        item = value.type.item
        if isinstance(item, ArrayType):
            return self.zero_arrays(value)
        number = item.dtype.type(0)
        zero = self.builder.const(number.item() if item.weak else number)
        return OPS["list_full"](OPS["list_len"](value), zero)

    def zero_arrays(self, value: Value) -> Value:
        """A list of zeros in the shapes of the arrays that a list has."""
        b = self.builder
        made = b.definition(value)
        empty = b.apply(OPS["list_new"], (), {"item": value.type.item}, name=self.d_name(value))
        if made is not None and made.op.name == "list_new" and not made.inputs:
            return empty
        bounds = (b.const(0), OPS["list_len"](value), b.const(1))
        region, k = b.for_region(bounds, "k")
        with b.inside(region):
            now = b.fresh(empty.name, empty.type)
            b.enter_params(region, (k, now))
            result = OPS["list_push"](now, zeros_of(b.apply(OPS["list_get"], (value, k), {})))
        return b.for_(bounds, [empty], region, [result], None, [empty.name])[0]

    # -- nodes ----------------------------------------------------------------------------------

    def nodes(self, nodes: Sequence[Node]) -> None:
        with self.builder.at():
            for node in nodes:
                self.builder.origin = node.origin
                moved = self.before(node)
                for old, new in zip(node.outputs, self.node(node), strict=True):
                    self.bind(old, new)
                self.tests.note(node)
                if isinstance(node, Apply) and not self.active.isdisjoint(node.outputs):
                    self.builder.origin = Origin(node.origin.loc, "jvp")
                    for old, tangent in zip(node.outputs, self.rule(node, moved), strict=True):
                        self.move(old, tangent)
                elif not isinstance(node, Apply):  # with the sizes of its values
                    for old in node.outputs:
                        self.move(old, self.tangents.get(old))

    def before(self, node: Node) -> list[Value | None]:
        """The operands' tangents; of a list that gets its first one, while it is as long as before."""
        if not isinstance(node, Apply):
            return []
        moved = [self.tangents.get(v) for v in node.inputs]
        if node.op.kind != "list" or self.active.isdisjoint(node.outputs) or not any(moved):
            return moved
        lists = [isinstance(v.type, ListType) and carries_derivative(v.type) for v in node.inputs]
        pairs = zip(node.inputs, moved, lists, strict=True)
        return [self.zero(self.value(v)) if t is None and is_list else t for v, t, is_list in pairs]

    def rule(self, node: Apply, moved: Sequence[Value | None]) -> Sequence[Value | None]:
        """The tangents of the results."""
        if all(t is None for t in moved):
            return [None] * len(node.outputs)
        inputs, outs = self.values(node.inputs), self.values(node.outputs)
        if node.op.kind == "check":
            return [moved[0]]
        if node.op.kind == "list" or node.op.name == "list_array":
            return self.moved_along(node, moved, inputs)
        if (last := moved[-1]) is not None and self.tests.chooses(node):
            if is_number_beside(self.builder, last, inputs[0], self.given):
                return [last]
            return [chosen_again(inputs[0], last, last)]
        rule = node.op.jvp
        if isinstance(rule, NoDerivative):
            if rule.why and not (rule is UNSAID and not any(is_inexact(v.type) for v in node.outputs)):
                raise DerivativeError(Problem(f"{node.op.name}: {rule.why}", node.origin.loc))
            return [None] * len(outs)
        found = rule(list(moved), outs[0] if len(outs) == 1 else outs, *inputs, **node.attrs)
        found = [found] if len(outs) == 1 else found
        return self.unless_unused(moved, found) if node in self.guarded else found

    def unless_unused(self, moved: Sequence[Value | None], found: Sequence[Value | None]) -> Sequence[Value | None]:
        """Tangents of results, 0 where all those of the operands are."""
        tests = [OPS["unused"](t, 0.0) for t in moved if t is not None]
        zero = functools.reduce(OPS["logical_and"], tests)
        return [t if t is None else OPS["where"](zero, 0.0, t) for t in found]

    def moved_along(self, node: Apply, moved: Sequence[Value | None], inputs: Sequence[Value]) -> Sequence[Value]:
        """Lists are linear in what they hold: the same is done with the tangents."""
        operands = [
            self.zero(v) if t is None and carries_derivative(v.type) else v if t is None else t
            for v, t in zip(inputs, moved, strict=True)
        ]
        return super().apply(node, tuple(operands))

    # -- functions ------------------------------------------------------------------------------

    def define(self, node: Define) -> Sequence[Value]:
        return super().define(node) if node.graph.name in self.functions else ()

    def function(self, node: Define, region: Region) -> Define:
        """A function that takes and returns tangents after everything else."""
        graph, function = node.graph, self.functions[node.graph.name]
        moving = [graph.params[k] for k in function.inputs]
        tangents = [self.builder.fresh(self.d_name(p), self.value(p).type) for p in moving]
        self.builder.enter_params(region, (*region.params, *tangents))
        self.tangents.update(zip(moving, tangents, strict=True))
        self.body(graph)
        results = [*self.values(graph.results), *(self.tangent_or_zero(graph.results[k]) for k in function.outputs)]
        return Define(region.graph(f"{graph.name}@", results), self.changes(function, node.changes), node.origin)

    def changes(self, function: Function, changes: Changes) -> Changes:
        """What is changed, and the tangents of that."""
        graph = function.node.graph
        both = [(function.inputs.index(i), function.outputs.index(k)) for k, i in function.changed.items()]
        return (*changes, *((len(graph.params) + i, len(graph.results) + k) for i, k in both))

    def call(self, node: Call) -> Sequence[Value]:
        function = self.functions.get(node.callee)
        if function is None or all(node.inputs[k] not in self.tangents for k in function.inputs):
            return super().call(node)
        given = [*self.values(node.inputs), *(self.tangent_or_zero(node.inputs[k]) for k in function.inputs)]
        types, moving = self.types_anew(node.outputs), [node.outputs[k] for k in function.outputs]
        types += [types[k] for k in function.outputs]
        names = [v.name for v in node.outputs] + [self.d_name(v) for v in moving]
        changes = self.changes(function, node.changes)
        outs = self.builder.call_graph(f"{node.callee}@", given, types, names, changes)
        self.tangents.update(zip(moving, outs[len(node.outputs) :], strict=True))
        return outs[: len(node.outputs)]

    # -- branches -------------------------------------------------------------------------------

    def if_(self, node: If) -> Sequence[Value]:
        moving = [k for k, out in enumerate(node.outputs) if out in self.active]
        cond = self.value(node.cond)
        sides = [
            self.side(graph, node.captures, cond, holds, moving)
            for graph, holds in ((node.then, True), (node.orelse, False))
        ]
        names = [o.name for o in node.outputs] + [self.d_name(node.outputs[k]) for k in moving]
        outs = self.builder.if_(cond, sides[0], sides[1], names)
        for k, tangent in zip(moving, outs[len(node.outputs) :], strict=True):
            self.tangents[node.outputs[k]] = tangent
        return outs[: len(node.outputs)]

    def side(
        self, graph: Graph, captures: Sequence[Value], cond: Value, holds: bool, moving: Sequence[int]
    ) -> tuple[Region, tuple[Value, ...]]:
        """A branch, with the tangents of some of its results."""
        region, results = super().branch(graph, captures, cond, holds)
        with self.builder.inside(region):
            return region, (*results, *(self.tangent_or_zero(graph.results[k]) for k in moving))

    # -- loops ----------------------------------------------------------------------------------

    def extra(self, node: For | While) -> Extra:
        return _Tangents(self, node)


class _Tangents(Extra):
    """The tangents that a loop carries beside its values."""

    def __init__(self, work: Forward, node: For | While):
        super().__init__()
        self.work, self.node = work, node
        self.old = loop_params(node)
        self.moving = [k for k, param in enumerate(self.old) if param in work.active]
        self.names = [work.d_name(node.outputs[k]) for k in self.moving]
        self.inits = [work.tangent_or_zero(node.carry[k]) for k in self.moving]

    def enter(self) -> None:
        for k in self.moving:
            value = self.work.value(self.old[k])
            tangent = self.work.builder.fresh(self.work.d_name(self.old[k]), value.type)
            self.params.append(tangent)
            self.work.tangents[self.old[k]] = tangent

    def finish(self, nodes: Sequence[Node], stop: Value | None) -> None:
        for k, param in zip(self.moving, self.params, strict=True):
            tangent = self.work.tangent_or_zero(self.node.body.results[k])
            self.results.append(self.work.fitted(tangent, param))

    def leave(self, outputs: Sequence[Value]) -> None:
        for k, tangent in zip(self.moving, outputs, strict=True):
            self.work.tangents[self.node.outputs[k]] = tangent


def one_like(builder: Builder, number: Value) -> Value:
    """1 in the type of a number."""
    one = number.type.dtype.type(1)
    return builder.const(one.item() if number.type.weak else one)
