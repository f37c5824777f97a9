"""Integers that a counted loop changes by the same amount in each trip follow from the trip.

``k += 1`` in a loop over ``i`` from ``a`` makes ``k`` what it was before the loop plus ``i - a``, so that the reverse
sweep need not be told what it was in each trip. These are the basic induction variables of Aho, Lam, Sethi and Ullman,
Compilers, 2nd ed., 2006, section 9.1.8.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import Apply, For, Graph, Value
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import INT, ScalarType, Type
from srcgraph.opt.ad.states import trips


def follow_trips(graph: Graph) -> Graph:
    """The graph with such integers computed where they are read, instead of carried."""
    return _FollowTrips(graph.name).run(graph)


class _FollowTrips(Rebuild):
    def for_(self, node: For) -> Sequence[Value]:
        changes = self.changes(node)
        if not changes:
            return super().for_(node)
        b = self.builder
        start, stop, step = bounds = self.value(node.start), self.value(node.stop), self.value(node.step)
        old_index, *old = node.body.params
        inits, count = self.values(node.carry), len(node.carry)
        kept = [k for k in range(count) if k not in changes]
        region, index = b.for_region(bounds, old_index.name)
        with b.inside(region):
            self.bind(old_index, index)
            params = self.carry([old[k] for k in kept], [node.carry[k] for k in kept], [inits[k] for k in kept])
            b.enter_params(region, (index, *params))
            for k, per_index in changes.items():
                self.bind(old[k], self.moved(inits[k], per_index, index.type.value - start.type.value))
            self.capture(old[count:], node.captures)
            self.body(node.body)
            found = self.values([node.body.results[k] for k in kept])
            results = [self.fitted(v, p) for v, p in zip(found, params, strict=True)]
        region.params = (index, *params)
        names = [node.outputs[k].name for k in kept]
        outs = dict(zip(kept, b.for_(bounds, [inits[k] for k in kept], region, results, None, names), strict=True))
        length = self.span(start, stop, step)
        return [outs[k] if k in outs else self.moved(inits[k], changes[k], length) for k in range(count)]

    def changes(self, node: For) -> dict[int, int]:
        """The carried integers that grow with the index, and how fast."""
        step = self.value(node.step).type.value.const
        if node.stops or not step:
            return {}
        definitions = {out: n for n in node.body.nodes for out in n.outputs}
        found = {}
        for k in range(len(node.carry)):
            param, change = node.body.params[1 + k], definitions.get(node.body.results[k])
            if isinstance(change, Apply) and _is_python_int(param.type):
                by = _added(change, param)
                if by is not None and by % step == 0:
                    found[k] = by // step
        return found

    def moved(self, before: Value, per_index: int, by: Dim) -> Value:
        return self.builder.dim_value(before.type.value + by * per_index)

    def span(self, start: Value, stop: Value, step: Value) -> Dim:
        """How far the index goes in all, a multiple of the step."""
        return trips(self.builder, start, stop, step).type.value * step.type.value.const


def _is_python_int(type: Type) -> bool:
    return isinstance(type, ScalarType) and type.dtype == INT and type.weak


def _added(node: Apply, param: Value) -> int | None:
    """The constant that a node adds to a value."""
    if node.op.name not in ("add", "sub") or param not in node.inputs:
        return None
    first, second = node.inputs
    other = second if first is param else first
    by = other.type.value.const if isinstance(other.type, ScalarType) and other.type.value is not None else None
    if by is None or (node.op.name == "sub" and first is not param):
        return None
    return by if node.op.name == "add" else -by
