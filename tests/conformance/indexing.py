"""Ops that read and store parts of arrays."""

from __future__ import annotations

import re
from typing import Any

from conformance.writing import Use, dtype_of, ndim_of, places
from srcgraph.ir.graph import Value


def subscript(use: Use, first: int) -> tuple[str, tuple[Any, ...]]:
    """The text of an index, and the inputs from one on that it is of.

    An item is the number of an input, or a slice of such numbers.
    """
    items = []
    for item in use.properties["idx_list"]:
        ends = re.findall(r"None|\d+", item) if isinstance(item, str) else [str(item)]
        written = ["" if e == "None" else f"{{{int(e) + first}}}" for e in ends]
        text = ":".join(written)
        items.append(text.removesuffix(":") if len(written) == 3 and not written[2] else text)
    return ", ".join(items), tuple(_known(x) for x in use.inputs[first:])


def _known(x: Any) -> Any:
    return x if isinstance(x, Value) or ndim_of(x) or dtype_of(x).kind == "b" else int(x)


def part(use: Use) -> Any:
    text, indices = subscript(use, 1)
    return use(f"{{0}}[{text}]", use.inputs[0], *indices) if text else use.inputs[0]


def changed(use: Use) -> Any:
    """An array of which a part is set or increased."""
    text, indices = subscript(use, 2)
    x, y = use.inputs[0], use.cast(use.inputs[1], dtype_of(use.inputs[0]))
    if not text:
        return use("{0} + {1}", x, y) if not use.properties["set_instead_of_inc"] else y
    sign = "=" if use.properties["set_instead_of_inc"] else "+="
    return use.do(f"out = {{0}}.copy()\nout[{text}] {sign} {{1}}\nreturn out", x, y, *indices)


def changed_at(use: Use) -> Any:
    """The same at arrays of indices; what is at an index twice is increased twice."""
    if use.properties["set_instead_of_inc"] or use.properties["ignore_duplicates"]:
        return changed(use)
    text, indices = subscript(use, 2)
    as_tuple = ", ".join(_as_slice(t) for t in text.split(", "))
    x, y = use.inputs[0], use.cast(use.inputs[1], dtype_of(use.inputs[0]))
    return use.do(f"out = {{0}}.copy()\nnp.add.at(out, ({as_tuple},), {{1}})\nreturn out", x, y, *indices)


def _as_slice(text: str) -> str:
    return f"slice({', '.join(e or 'None' for e in text.split(':'))})" if ":" in text else text


def chosen(use: Use) -> Any:
    """For each index, the element of the row it names; ``choices`` may lack axes of the indices, or have more."""
    at, choices = use.inputs
    count = "{1}.shape[0]"
    if use.properties["mode"] == "clip":
        at = use(f"np.minimum(np.maximum({{0}}, 0), {count} - 1)", at, choices)
    if use.properties["mode"] == "wrap":
        at = use(f"{{0}} % {count}", at, choices)
    if ndim_of(at) == 0:
        return use("{1}[{0}]", at, choices)
    return _rows(use, at, choices)


def _rows(use: Use, at: Any, choices: Any) -> Any:
    if ndim_of(choices) == 1:
        return use("{1}[{0}]", at, choices)
    if ndim_of(at) == ndim_of(choices) - 1:
        return use("np.take_along_axis({1}, {0}[None], axis=0)[0]", at, choices)
    if ndim_of(at) >= ndim_of(choices):
        rows = ", ".join(f"np.arange({{1}}.shape[{k}])" for k in range(1, ndim_of(choices)))
        return use(f"{{1}}[{{0}}, {rows}]", at, choices)
    return use("np.take_along_axis({1}, np.broadcast_to({0}, {1}.shape[1:])[None], axis=0)[0]", at, choices)


def permuted(use: Use) -> Any:
    """The last axis in another order, row by row."""
    x, order = use.inputs
    if use.properties["inverse"]:
        order = use(f"np.argsort({{0}}, axis={ndim_of(order) - 1})", order)
    if ndim_of(x) == ndim_of(order):
        return use(f"np.take_along_axis({{0}}, {{1}}, axis={ndim_of(x) - 1})", x, order)
    if ndim_of(order) == 1:
        return use("{0}[..., {1}]", x, order)
    return use("{0}[{1}]", x, order)


def nonzero(use: Use) -> Any:
    return use("np.nonzero({0})")


def unraveled(use: Use) -> Any:
    at, lengths = use.inputs
    order = range(len(use.outs)) if use.properties["order"] == "C" else range(len(use.outs))[::-1]
    known = not isinstance(lengths, Value)
    wanted = ", ".join(str(int(lengths[k])) if known else f"{{1}}[{k}]" for k in order)
    text = f"np.unravel_index({{0}}, ({wanted},))"
    found = use(text, at) if known else use(text)
    return tuple(found) if order.step == 1 else tuple(found)[::-1]


def raveled(use: Use) -> Any:
    *indices, lengths = use.inputs
    known = tuple(map(int, lengths))
    text = f"np.ravel_multi_index(({places(0, len(indices))}), {known}, mode={use.properties['mode']!r})"
    return use(text, *indices)


def searched(use: Use) -> Any:
    side = use.properties["side"]
    if len(use.inputs) == 3:
        return use(f"np.searchsorted({{0}}, {{1}}, side={side!r}, sorter={{2}})")
    return use(f"np.searchsorted({{0}}, {{1}}, side={side!r})")


BUILDERS = {
    "Subtensor": part,
    "AdvancedSubtensor": part,
    "IncSubtensor": changed,
    "AdvancedIncSubtensor": changed_at,
    "Choose": chosen,
    "PermuteRowElements": permuted,
    "Nonzero": nonzero,
    "UnravelIndex": unraveled,
    "RavelMultiIndex": raveled,
    "SearchsortedOp": searched,
}
"""How each is built."""
