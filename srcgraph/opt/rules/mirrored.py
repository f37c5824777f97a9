"""Sums over either axis of what is made of all pairs: ``f(x[i] - x[j])`` is as large for (j, i) as for (i, j).

Forces between bodies, distances, kernels: their derivatives are sums over ``i`` and over ``j``. Where the array is its
own mirror image, up to the sign, one of the two sums is enough; and that over ``j``, of which nothing is stored until
it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.shape import with_new_axes
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rules.rule import Rule, procedure

EITHER = ("add", "maximum", "minimum", "logaddexp", "hypot")
"""Operations that do not care for the order of their operands."""
EVEN = ("absolute", "cos", "cosh")
ODD = ("neg", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "cbrt", "erf", "sign")
MOST = 400
"""So many pairs of values are compared at most."""
Axes = tuple[int, int]


@dataclass(slots=True)
class _Mirror:
    """Compares arrays with mirror images."""

    fgraph: FunctionGraph
    known: dict[tuple[Value, Value, Axes], int] = field(default_factory=dict)

    def sign(self, x: Value, y: Value, axes: Axes) -> int:
        """1 or -1 if ``x`` is that times ``y`` with two axes exchanged, 0 if that is not known.

        Axes are counted from the last one, as -1, so that those of operands with fewer axes are the same.
        """
        key = x, y, axes
        if key not in self.known:
            self.known[key] = 0
            if len(self.known) < MOST:
                self.known[key] = self._viewed(x, y, axes) or self._sign(x, y, axes)
        return self.known[key]

    def _viewed(self, x: Value, y: Value, axes: Axes) -> int:
        """Of views of one array, as of the same array twice."""
        (base, order), (other, there) = self._view(x, -axes[0]), self._view(y, -axes[0])
        p, q = axes
        if base is other:
            turned = list(order)
            turned[p], turned[q] = turned[q], turned[p]
            if turned == there:
                return 1
        i, j = order[p], order[q]
        if order != there or i is None or j is None or (base is x and other is y):
            return 0
        return self.sign(base, other, (min(i, j) - base.type.ndim, max(i, j) - base.type.ndim))

    def _view(self, x: Value, ndim: int) -> tuple[Value, list[int | None]]:
        """The array that a value is a view of, and its axes in order: at least so many."""
        x = self._bare(x)
        node = self.fgraph.definition(x)
        base, order = x, list[int | None](range(x.type.ndim))
        if node is not None and node.op.name == "getitem" and len(node.inputs) == 1:
            base, order = self._bare(node.inputs[0], ("with_shape",)), list(node.attrs["view"].order)
        return base, [*[None] * (ndim - len(order)), *order]

    def _bare(self, x: Value, names: tuple[str, ...] = ("with_shape", "broadcast_to")) -> Value:
        """An array before it was stretched, or its shape was known: its last axes are the same."""
        while (node := self.fgraph.definition(x)) is not None and node.op.name in names:
            x = node.inputs[0]
        return x

    def _sign(self, x: Value, y: Value, axes: Axes) -> int:
        p, q = axes
        first, second = self.fgraph.definition(self._bare(x)), self.fgraph.definition(self._bare(y))
        if first is None or second is None:
            return 0
        if {first.op.name, second.op.name} & {"mul", "div"}:
            return self._of_factors(x, y, axes)
        if first.op is not second.op:
            return 0
        if first.op.name == "sum" and first.attrs == second.attrs:
            gone = [k - first.inputs[0].type.ndim for k in first.attrs["axes"]]
            if min(gone) <= q - len(gone):
                return 0
            return self.sign(first.inputs[0], second.inputs[0], (p - len(gone), q - len(gone)))
        return self._of_elements(first, second, axes) if first.op.kind == "elementwise" else 0

    def _of_factors(self, x: Value, y: Value, axes: Axes) -> int:
        """Of products and quotients: each factor has its mirror image among those of the other."""
        left, sign = list(self._factors(y)), 1
        factors = list(self._factors(x))
        if len(factors) != len(left) or len(factors) == 1:
            return 0
        for above, factor in factors:
            matched = ((k, self.sign(factor, o, axes)) for k, (side, o) in enumerate(left) if side == above)
            k, found = next((m for m in matched if m[1]), (0, 0))
            if not found:
                return 0
            left.pop(k)
            sign *= found
        return sign

    def _factors(self, x: Value, above: bool = True) -> Iterator[tuple[bool, Value]]:
        """What an array is a product of, and whether it is multiplied or divided by that."""
        node = self.fgraph.definition(self._bare(x))
        if node is None or node.op.name not in ("mul", "div"):
            yield above, x
            return
        yield from self._factors(node.inputs[0], above)
        yield from self._factors(node.inputs[1], above == (node.op.name == "mul"))

    def _of_elements(self, x: Apply, y: Apply, axes: Axes) -> int:
        if x.attrs != y.attrs:
            return 0
        signs = [self.sign(a, b, axes) for a, b in zip(x.inputs, y.inputs, strict=True)]
        name = x.op.name
        crossed: list[int] = []
        if len(signs) == 1 and signs[0]:
            return 1 if _is_even(x) else signs[0] if _is_odd(x) else int(signs[0] == 1)
        if name in ("add", "sub") and all(signs) and len(set(signs)) == 1:
            return signs[0]
        if name in (*EITHER, "sub"):
            crossed = [self.sign(a, b, axes) for a, b in zip(x.inputs, y.inputs[::-1], strict=True)]
        if crossed and all(crossed) and len(set(crossed)) == 1 and name in ("add", "sub"):
            return -max(crossed) if name == "sub" else max(crossed)
        return int(all(s == 1 for s in signs) or (bool(crossed) and all(s == 1 for s in crossed)))


def _is_even(node: Apply) -> bool:
    return node.op.name in EVEN or (node.op.name == "ipow" and node.attrs["n"] % 2 == 0)


def _is_odd(node: Apply) -> bool:
    return node.op.name in ODD or (node.op.name == "ipow" and node.attrs["n"] % 2 == 1)


def _mirrored_sum(fgraph: FunctionGraph, node: Apply) -> Any:
    x, axes, turned = node.inputs[0], node.attrs["axes"], 1
    while (negated := fgraph.definition(x)) is not None and negated.op.name == "neg":
        x, turned = negated.inputs[0], -turned
    if len(axes) != 1 or axes[0] + 1 >= x.type.ndim:
        return None
    p, q = axes[0], axes[0] + 1
    attrs = {**node.attrs, "axes": (q,)}
    if x.type.shape[p] != x.type.shape[q] or not any(n.op is node.op and n.attrs == attrs for n in _readers(fgraph, x)):
        return None
    sign = _Mirror(fgraph).sign(x, x, (p - x.type.ndim, q - x.type.ndim))
    if not sign:
        return None
    other = OPS["sum"](x, **attrs)
    return other if sign == turned else OPS["neg"](other)


def _readers(fgraph: FunctionGraph, x: Value) -> Iterator[Apply]:
    """What reads an array, or its negative."""
    for client in fgraph.clients(x):
        node = getattr(client.holder, "node", None)
        if isinstance(node, Apply) and node.op.name == "neg":
            yield from _readers(fgraph, node.outputs[0])
        elif isinstance(node, Apply):
            yield node


def _example(x: Value) -> Any:
    between = OPS["sub"](with_new_axes(x, [1]), with_new_axes(x, [0]))
    pull = OPS["div"](between, OPS["add"](OPS["mul"](between, between), 1.0))
    return OPS["sub"](OPS["sum"](pull, axes=(1,)), OPS["sum"](pull, axes=(0,)))


RULES: tuple[Rule, ...] = (
    procedure(
        "mirrored_sum",
        "sum(f(x[:, None] - x), 0)",
        "-sum(f(x[:, None] - x), 1)",
        "rounding",
        ["sum"],
        _mirrored_sum,
        _example,
        [("f64[4]",), ("f32[4]",)],
        condition="f is odd; if it is even without the sign; both sums are needed",
    ),
)
