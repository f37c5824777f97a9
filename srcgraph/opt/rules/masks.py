"""Sums and stores of what a mask marks, without an array of it: ``x[m].sum()``, ``y[m] = f(x[m])``.

What is computed of marked elements is computed of all of them, and does not count where the mask does not hold: one
loop without branches. This comes after derivatives: these are of the elements that are marked and of no others, which
may be infinite or NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS, current_builder
from srcgraph.ir.ops.masks import count_of, marked, over
from srcgraph.ir.view import View
from srcgraph.opt.rewriting.blocks import Block
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rules.rule import Rule, procedure

REDUCED = ("sum", "any", "all")
"""Reductions whose result is that of all elements, those that are not marked left out by a number."""
_MASKED = [("b1[4]", "f64[4]"), ("b1[3]", "f64[3, 2]"), ("b1[2, 3]", "f64[2, 3]")]


@dataclass(slots=True)
class _Marked:
    """What is computed, in one block, of the elements that one mask marks."""

    fgraph: FunctionGraph
    block: Block
    compress: Apply
    whole: dict[Value, Value | None] = field(default_factory=dict)

    @property
    def mask(self) -> Value:
        return self.compress.inputs[1]

    def counts(self, value: Value) -> bool:
        """Whether an array has an element, or a part, for each mark."""
        return value.type.ndim > 0 and value.type.shape[0] == self.compress.outputs[0].type.shape[0]

    def of_all(self, value: Value) -> Value | None:
        """What a value is if all elements are marked; None if that is not known."""
        if value not in self.whole:
            self.whole[value] = self._of_all(value)
        return self.whole[value]

    def _of_all(self, value: Value) -> Value | None:
        node = self.fgraph.definition(value)
        if node is None:
            return None
        if node.op.name == "compress" and node.inputs[1] is self.mask:
            return node.inputs[0] if self.is_only_reduced(value) else None
        if _is_repeated(node):
            return node.inputs[0]
        if not _is_of_each(node):
            return None
        parts = [
            self.operand(v, value.type.ndim if node.op.kind == "elementwise" else v.type.ndim) for v in node.inputs
        ]
        if any(p is None for p in parts):
            return None
        out = node.op(*parts, **self.attrs(node))
        return out if out.type.dtype == value.type.dtype else None

    def attrs(self, node: Apply) -> dict[str, Any]:
        """Those of what is done with each part, where the marks have more axes than one."""
        more, attrs = self.mask.type.ndim - 1, dict(node.attrs)
        if _sums_parts(node):
            attrs["axes"] = tuple(k + more for k in attrs["axes"])
        elif _views_parts(node):
            order = (*range(more), *(k if k is None else k + more for k in attrs["view"].order))
            attrs["view"] = View((":",) * more + attrs["view"].axes, order)
        return attrs

    def operand(self, value: Value, ndim: int) -> Value | None:
        """What an operand of something with so many axes is; what is the same for all marks stays."""
        if self.counts(value) and value.type.ndim == ndim:
            return self.of_all(value)
        return value if not value.type.ndim or value.type.ndim < ndim or value.type.shape[0] == 1 else None

    def is_only_reduced(self, value: Value) -> bool:
        """Whether nothing needs an array of what is marked."""
        return all(self._reduces(client.holder) for client in self.fgraph.clients(value))

    def _reduces(self, holder: Any) -> bool:
        node = None if isinstance(holder, Block) or holder.block is not self.block else holder.node
        if not isinstance(node, Apply):
            return False
        if _is_of_each(node):
            return self.counts(node.outputs[0]) and self.is_only_reduced(node.outputs[0])
        if node.op.name == "expand":
            return node.inputs[1] is self.mask
        return node.op.name in REDUCED and 0 in node.attrs["axes"]


def _computed_of_all(fgraph: FunctionGraph, node: Apply) -> tuple[Value, Value] | None:
    """The mask, and what the operand of a node is if all elements are marked."""
    site, value = fgraph.site(node.outputs[0]), node.inputs[0]
    compress = _some_marked(fgraph, value) if value.type.ndim else None
    if site is None or compress is None:
        return None
    found = _Marked(fgraph, site.block, compress)
    whole = found.of_all(value) if found.counts(value) else None
    return None if whole is None or not whole.type.ndim else (found.mask, whole)


def _some_marked(fgraph: FunctionGraph, value: Value) -> Apply | None:
    """What is marked that a value is computed of, element by element."""
    left, seen = [value] if fgraph.sites_of("compress") else [], set[Value]()
    while left:
        node = fgraph.definition(left.pop())
        if node is not None and node.op.name == "compress":
            return node
        if node is not None and _is_of_each(node):
            left += [v for v in node.inputs if v.type.ndim and v not in seen]
            seen.update(node.inputs)
    return None


def _is_repeated(node: Apply) -> bool:
    """Whether it is one number in every place."""
    return node.op.name in ("full", "broadcast_to") and not node.inputs[0].type.ndim


def _is_of_each(node: Apply) -> bool:
    """Whether it is something of each part that is marked, of it alone."""
    return node.op.kind == "elementwise" or _views_parts(node) or _sums_parts(node)


def _views_parts(node: Apply) -> bool:
    """Whether it is the same view of each part: with more axes, or in one place of some."""
    if node.op.name != "getitem":
        return False
    view = node.attrs["view"]
    kept = [k for k in view.order if k is not None]
    places = view.axes[0] == ":" and all(a in (":", "i") for a in view.axes)
    return places and kept == list(range(len(view.kept))) and view.order[:1] == (0,)


def _sums_parts(node: Apply) -> bool:
    return node.op.name == "sum" and 0 not in node.attrs["axes"]


def _reduced(fgraph: FunctionGraph, node: Apply) -> Any:
    found = _computed_of_all(fgraph, node) if 0 in node.attrs["axes"] else None
    if found is None:
        return None
    mask, whole = found
    assert node.op.reduction is not None
    left_out = node.op.reduction.identity(whole.type.dtype)
    more = mask.type.ndim - 1
    axes = (*range(more), *(k + more for k in node.attrs["axes"]))
    return node.op(OPS["where"](over(mask, whole), whole, left_out), axes=axes)


def _expanded(fgraph: FunctionGraph, node: Apply) -> Any:
    found = _computed_of_all(fgraph, node)
    if found is None or found[0] is not node.inputs[1]:
        return None
    mask, whole = found
    return OPS["where"](over(mask, whole), whole, whole.type.dtype.type(0))


def _repeated(fgraph: FunctionGraph, node: Apply) -> Any:
    inner = fgraph.definition(node.inputs[0])
    if inner is None or not _is_repeated(inner):
        return None
    number, mask, out = inner.inputs[0], node.inputs[1], node.outputs[0]
    if out.type.ndim > mask.type.ndim:
        number = OPS["full"](number, *_lengths(out))
    return OPS["where"](over(mask, out), number, out.type.dtype.type(0))


def _marked_of_stored(fgraph: FunctionGraph, node: Apply) -> Any:
    """``expand(v, m)[m]``."""
    inner = fgraph.definition(node.inputs[0])
    if inner is None or inner.op.name != "expand" or inner.inputs[1] is not node.inputs[1]:
        return None
    return inner.inputs[0] if inner.inputs[0].type == node.outputs[0].type else None


def _marked_of_chosen(fgraph: FunctionGraph, node: Apply) -> Any:
    inner = fgraph.definition(node.inputs[0], "where")
    out = node.outputs[0]
    if inner is None or inner.inputs[0] is not node.inputs[1] or inner.inputs[1].type.dtype != out.type.dtype:
        return None
    chosen = inner.inputs[1]
    if not chosen.type.ndim:
        return OPS["full"](chosen, *_lengths(out))
    return node.op(chosen, *node.inputs[1:]) if chosen.type == node.inputs[0].type else None


def _lengths(x: Value) -> tuple[Value, ...]:
    return tuple(map(current_builder().dim_value, x.type.shape))


def _test(name: str, x: Value) -> Value:
    return OPS["exp"](x) if name == "sum" else OPS["greater"](x, 0.5)


RULES: tuple[Rule, ...] = (
    *(
        procedure(
            f"{name}_of_marked",
            f"{name}(f(x[m]))",
            f"{name}(where(m, f(x), {left_out}))",
            "rounding" if name == "sum" else "exact",
            [name],
            _reduced,
            lambda m, x, name=name: OPS[name](_test(name, marked(x, m)), axes=(0,)),
            _MASKED,
            any_dtype=True,
            condition="nothing else is computed of x[m] but sums and stores",
        )
        for name, left_out in (("sum", "0"), ("any", "False"), ("all", "True"))
    ),
    procedure(
        "stored_where_marked",
        "y[m] = f(x[m])",
        "y = where(m, f(x), y)",
        "exact",
        ["expand"],
        _expanded,
        lambda m, x: OPS["expand"](OPS["exp"](marked(x, m)), m),
        _MASKED,
        any_dtype=True,
        condition="nothing else is computed of x[m] but sums and stores",
    ),
    procedure(
        "stored_number",
        "y[m] = full(c)",
        "y = where(m, c, y)",
        "exact",
        ["expand"],
        _repeated,
        lambda m, x: OPS["expand"](OPS["full"](x, *_lengths(marked(m, m))), m),
        [("b1[4]", "f64"), ("b1[2, 3]", "f64")],
        any_dtype=True,
    ),
    procedure(
        "marked_of_chosen",
        "where(m, x, y)[m]",
        "x[m]",
        "exact",
        ["compress"],
        _marked_of_chosen,
        lambda m, x, y: marked(OPS["where"](m, x, y), m),
        [("b1[4]", "f64[4]", "f64[4]"), ("b1[4]", "f64", "f64[4]")],
        any_dtype=True,
    ),
    procedure(
        "marked_of_stored",
        "y[m] = v; y[m]",
        "v",
        "exact",
        ["compress"],
        _marked_of_stored,
        lambda m, x: OPS["compress"](OPS["expand"](marked(x, m), m), m, count_of(m)),
        _MASKED,
        any_dtype=True,
    ),
)
