"""The one way to make graphs: straight code from `StraightBuilder`, and the regions of branches and loops.

A `Builder` holds a stack of open regions. Nodes in an inner region may read values of the outer
ones; `finish` turns the result into a closed graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from srcgraph.ir.dims import Dim, unclamped
from srcgraph.ir.graph import Call, For, If, Native, Rule, Value, While
from srcgraph.ir.op import building
from srcgraph.ir.straight import Region, StraightBuilder
from srcgraph.ir.types import PY_INT, ArrayType, ListType, ScalarType, Type, type_symbols, without_value


class Builder(StraightBuilder):
    """Builds one graph, innermost region last.

    Parameters
    ----------
    name : str
        Of the graph.
    """

    # -- control flow ---------------------------------------------------------------------------

    def new_region(self) -> Region:
        return Region()

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Append to ``region`` (a new one, or one left before)."""
        self.regions.append(region)
        try:
            with building(self):
                yield region
        finally:
            self.regions.pop()

    def splice(self, region: Region, reached: bool = True) -> None:
        """Append what ``region`` holds to the current region, as if it had been built there.

        Parameters
        ----------
        reached : bool
            Whether what is known in the region holds here too; not so where it was left on a condition.
        """
        here = self.region
        here.nodes.extend(region.nodes)
        here.known.extend(k for k in region.known if reached or k.symbol in region.born)
        here.born |= region.born
        _add_missing(here.merged, region.merged)
        _add_missing(here.integers, region.integers)
        _add_missing(here.sizes, region.sizes)

    def enter_params(self, region: Region, params: Sequence[Value]) -> None:
        """Give ``region``, which is innermost, its parameters."""
        region.params = tuple(params)
        for value in params:
            self._enter(value)

    def leave_type(self, type: Type, region: Region, hint: str = "") -> Type:
        """``type`` as seen from outside ``region``: facts about what was born inside are forgotten."""
        return self._outward(type, region.born, hint)

    def _outward(self, type: Type, born: set[str], hint: str) -> Type:
        match type:
            case ScalarType():
                if type.value is not None and not type.value.symbols().isdisjoint(born):
                    type = replace(type, value=None)
                return self._with_symbol(type, hint or "k")
            case ArrayType():
                shape = tuple(
                    d if d.symbols().isdisjoint(born) else self.new_size(f"{hint}_len" if hint else "n")
                    for d in type.shape
                )
                return replace(type, shape=shape)
            case ListType():
                if type_symbols(type.item).isdisjoint(born):
                    return type
                return replace(type, item=self._outward(type.item, born, hint))

    def if_(
        self,
        cond: Value,
        then: tuple[Region, Sequence[Value]],
        orelse: tuple[Region, Sequence[Value]],
        names: Sequence[str] = (),
    ) -> tuple[Value, ...]:
        """Append an `If`; both branches' results must be of the same kinds."""
        born = then[0].born | orelse[0].born
        found: list[Value | None] = [self._same_either_way(cond, x, y) for x, y in zip(then[1], orelse[1], strict=True)]
        rest = [k for k, v in enumerate(found) if v is None]
        outputs = []
        for k in rest:
            x, y = then[1][k], orelse[1][k]
            name = names[k] if names else x.name
            outputs.append(Value(name, self._joined(x.type, y.type, born, name)))
        results = [tuple(side[1][k] for k in rest) for side in (then, orelse)]
        graphs = (then[0].graph("then", results[0]), orelse[0].graph("orelse", results[1]))
        if outputs or any(g.nodes for g in graphs):
            self._add(If(cond, (), *graphs, tuple(outputs), self.origin))
        for values in zip(outputs, *results, strict=True):
            out, x, y = (getattr(v.type, "value", None) for v in values)
            if out is not None and out.symbol and x is not None and y is not None:
                self.learn_joined(out, [(x, then[0]), (y, orelse[0])])
        made = iter(outputs)
        return tuple(next(made) if v is None else v for v in found)

    def _same_either_way(self, cond: Value, x: Value, y: Value) -> Value | None:
        """What an output of an `if` is without the `if`: one value on both sides, or the condition."""
        if x is y:
            return x
        nodes = [self.definition(v) for v in (x, y)]
        if not all(n is not None and n.op.name == "const" for n in nodes):
            return None
        a, b = (n.attrs["value"] for n in nodes if n is not None)
        if type(a) is type(b) and repr(a) == repr(b):
            return self.const(a)
        if a is True and b is False:
            return self.cast(cond, cond.type.dtype, weak=True)
        if a is False and b is True:
            return self.call_named("logical_not", self.cast(cond, cond.type.dtype, weak=True))
        return None

    def _joined(self, x: Type, y: Type, born: set[str], hint: str) -> Type:
        if isinstance(x, ArrayType) and isinstance(y, ArrayType):
            shape = tuple(
                a if a == b else self.new_size(f"{hint}_len" if hint else "n")
                for a, b in zip(x.shape, y.shape, strict=True)
            )
            return self._outward(replace(x, shape=shape), born, hint)
        if isinstance(x, ScalarType) and x != y:
            return self._with_symbol(without_value(x), hint or "k")
        return self._outward(x, born, hint)

    def for_(
        self,
        bounds: tuple[Value, Value, Value],
        inits: Sequence[Value],
        region: Region,
        results: Sequence[Value],
        stop: Value | None = None,
        names: Sequence[str] = (),
        lanes: bool = False,
    ) -> tuple[Value, ...]:
        """Append a `For`; ``region`` has the index and the carry as parameters."""
        outputs = self._loop_outputs(region, region.params[1:], names)
        body = region.graph("body", (*results, *([stop] if stop is not None else [])))
        node = For(*bounds, tuple(inits), (), body, outputs, stop is not None, self.origin, lanes)
        return self._add(node)

    def while_(
        self,
        inits: Sequence[Value],
        cond: tuple[Region, Value],
        region: Region,
        results: Sequence[Value],
        stop: Value | None = None,
        names: Sequence[str] = (),
    ) -> tuple[Value, ...]:
        """Append a `While`; both regions have the carry as parameters."""
        outputs = self._loop_outputs(region, region.params, names)
        test = cond[0].graph("cond", (cond[1],))
        body = region.graph("body", (*results, *([stop] if stop is not None else [])))
        return self._add(While(tuple(inits), (), test, body, outputs, stop is not None, self.origin))

    def _loop_outputs(self, region: Region, params: Sequence[Value], names: Sequence[str]) -> tuple[Value, ...]:
        return tuple(
            Value(names[k] if names else p.name, self.leave_type(p.type, region, p.name)) for k, p in enumerate(params)
        )

    def call_graph(
        self,
        callee: str,
        inputs: Sequence[Value],
        types: Sequence[Type],
        names: Sequence[str],
        changes: Sequence[tuple[int, int]] = (),
        rule: Rule | None = None,
        native: Native | None = None,
    ) -> tuple[Value, ...]:
        """Append a `Call` with results of these types."""
        outputs = tuple(self.fresh(n, t) for n, t in zip(names, types, strict=True))
        return self._add(Call(callee, tuple(inputs), outputs, tuple(changes), rule, self.origin, native))

    def for_region(self, bounds: tuple[Value, Value, Value], name: str = "i") -> tuple[Region, Value]:
        """A new region for the body of a `For`, its index, and what is known about the index."""
        region = Region()
        with self.inside(region):
            index = self.fresh(name, PY_INT)
            self.learn(*index_facts(index.type.value, bounds, self))
        return region, index


def _add_missing(mine: dict[Any, Any], other: dict[Any, Any]) -> None:
    for key, found in other.items():
        mine.setdefault(key, found)


def index_facts(i: Dim, bounds: tuple[Value, Value, Value], builder: Builder) -> list[Dim]:
    """``start <= i < stop`` (or the reverse), with clamps of the stop undone: the body runs at all."""
    start, stop, step = (v.type.value for v in bounds)
    if step is None or start is None or stop is None:
        return []
    sign = 1 if builder.proves(step - 1) else -1 if builder.proves(-step - 1) else 0
    if sign == 0:
        return []
    if sign < 0:
        return [start - i, i - stop - 1]
    facts = [i - start]
    if builder.proves(start):
        stop = unclamped(stop)
    return [*facts, stop - 1 - i]
