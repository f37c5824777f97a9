"""Ops that make arrays, and that change their shapes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from conformance.writing import Unsupported, Use, dtype_of, ndim_of, places, whole
from srcgraph.ir.graph import Value


def same(use: Use) -> Any:
    return use.inputs[0]


def shuffled(use: Use) -> Any:
    """Axes left out (of length 1), moved, and new."""
    x, order = use.inputs[0], use.properties["new_order"]
    kept = [a for a in order if a != "x"]
    if ndim_of(x) == 0:
        return use(f"np.reshape({{0}}, {(1,) * len(order)})", x) if order else x
    if len(kept) < ndim_of(x):
        x = use("{0}[" + ", ".join(":" if a in kept else "0" for a in range(ndim_of(x))) + "]", x)
    moved = tuple(int(np.argsort(np.argsort(kept))[k]) for k in range(len(kept)))
    if moved != tuple(range(len(moved))):
        x = use(f"np.transpose({{0}}, {moved})", x)
    if len(kept) == len(order):
        return x
    if not kept:
        return use(f"np.reshape({{0}}, {(1,) * len(order)})", x)
    return use("{0}[" + ", ".join("None" if a == "x" else ":" for a in order) + "]", x)


def shape(use: Use) -> Any:
    return use("np.array({0}.shape, dtype=np.int64)") if ndim_of(use.inputs[0]) else np.zeros(0, np.int64)


def length(use: Use) -> Any:
    return use(f"np.int64({{0}}.shape[{use.properties['i']}])")


def reshaped(use: Use) -> Any:
    x, lengths = use.inputs
    if not isinstance(lengths, Value):
        return use(f"np.reshape({{0}}, {tuple(map(int, lengths))})", x)
    known = use.outs[0].shape
    wanted = ", ".join(f"{{1}}[{k}]" if known[k] is None else str(known[k]) for k in range(len(known)))
    return use(f"np.reshape({{0}}, ({wanted},))") if wanted else use("np.reshape({0}, ())", x)


def stretched(use: Use) -> Any:
    """A value or an array along new and longer axes."""
    x, *lengths = use.inputs
    if not lengths:
        return x
    return use(f"np.broadcast_to({{0}}, ({places(1, len(lengths))}))", x, *map(whole, lengths))


def empty(use: Use) -> Any:
    return use(f"np.zeros(({places(0, len(use.inputs))}), dtype=np.{use.dtype})", *map(whole, use.inputs))


def vector_of(use: Use) -> Any:
    if not use.inputs:
        return np.zeros(0, use.dtype)
    return use(f"np.array([{places(0, len(use.inputs))}], dtype=np.{use.dtype})", *use.cast_all())


def ranged(use: Use) -> Any:
    ends = [x if isinstance(x, Value) else x.item() for x in use.inputs]
    return use(f"np.arange({{0}}, {{1}}, {{2}}, dtype=np.{use.dtype})", *ends)


def ones_on_diagonal(use: Use) -> Any:
    return use(f"np.eye({{0}}, {{1}}, {{2}}, dtype=np.{use.dtype})", *map(whole, use.inputs))


def on_diagonal(use: Use) -> Any:
    """An array whose diagonals of two axes are those of the last axis."""
    offset, first, last = (use.properties[k] for k in ("offset", "axis1", "axis2"))
    ndim = ndim_of(use.inputs[0])
    if ndim == 1:
        return use(f"np.diag({{0}}, {offset})")
    row, column = max(-offset, 0), max(offset, 0)
    before = "".join(f"{{0}}.shape[{k}], " for k in range(ndim - 1))
    out = use.do(
        f"n = {{0}}.shape[{ndim - 1}]\n"
        f"out = np.zeros(({before}n + {abs(offset)}, n + {abs(offset)}), dtype=np.{use.dtype})\n"
        f"k = np.arange(n)\nout[..., k + {row}, k + {column}] = {{0}}\nreturn out"
    )
    if (first, last) == (ndim - 1, ndim):
        return out
    return use(f"np.moveaxis({{0}}, ({ndim - 1}, {ndim}), ({first}, {last}))", out)


def diagonal(use: Use) -> Any:
    offset, first, last = (use.properties[k] for k in ("offset", "axis1", "axis2"))
    return use(f"np.diagonal({{0}}, {offset}, {first}, {last})")


def joined(use: Use) -> Any:
    arrays, axis = use.cast_all(), use.properties["axis"]
    return use(f"np.concatenate(({places(0, len(arrays))}), axis={axis})", *arrays)


def split(use: Use) -> Any:
    x, lengths = use.inputs[0], use.inputs[-1]
    if isinstance(lengths, Value):
        ends = [f"np.sum({{1}}[:{k}])" for k in range(use.properties["len_splits"] + 1)]
    else:
        ends = [str(int(np.sum(lengths[:k]))) for k in range(use.properties["len_splits"] + 1)]
    axes = ":, " * use.properties["axis"]
    parts = itertools.pairwise(ends)
    return tuple(use(f"{{0}}[{axes}{a}:{b}]", x, lengths) for a, b in parts)


def repeated(use: Use) -> Any:
    x, count = use.inputs
    return use(
        f"np.repeat({{0}}, {{1}}, axis={use.properties['axis']})", x, whole(count) if np.ndim(count) == 0 else count
    )


def filled_diagonal(use: Use) -> Any:
    x, value = use.inputs[0], use.cast(use.inputs[1], dtype_of(use.inputs[0]))
    if ndim_of(x) == 2:
        return use.do("out = {0}.copy()\nk = np.arange(min(out.shape))\nout[k, k] = {1}\nreturn out", x, value)
    at = ", ".join("k" * ndim_of(x))
    return use.do(f"out = {{0}}.copy()\nk = np.arange(out.shape[0])\nout[{at}] = {{1}}\nreturn out", x, value)


def filled_offset(use: Use) -> Any:
    x, value, offset = use.inputs
    return use.do(
        "out = {0}.copy()\nrow = max(-{2}, 0)\ncolumn = max({2}, 0)\n"
        "k = np.arange(max(min(out.shape[0] - row, out.shape[1] - column), 0))\n"
        "out[k + row, k + column] = {1}\nreturn out",
        x, use.cast(value, dtype_of(x)), whole(offset),
    )  # fmt: skip


def asserted(use: Use) -> Any:
    if len(use.inputs) == 1:
        return use.inputs[0]
    conditions = "\n".join(f"assert {{{k}}}" for k in range(1, len(use.inputs)))
    return use.do(f"{conditions}\nreturn {{0}}{'.copy()' if ndim_of(use.inputs[0]) else ''}")


def either(use: Use) -> Any:
    if len(use.inputs) != 3:
        raise Unsupported("a choice of several values")
    return use(
        "({1} if {0} else {2})" + (".copy()" if ndim_of(use.inputs[1]) else ""),
        use.cast(use.inputs[0], bool),
        *use.inputs[1:],
    )


BUILDERS = {
    **dict.fromkeys(
        (
            "ScalarFromTensor", "TensorFromScalar", "SpecifyAssumptions", "SpecifyShape", "ZeroGrad",
            "DisconnectedGrad", "GradClip", "IdentityNoShape", "Print",
        ),
        same,
    ),
    "DimShuffle": shuffled,
    "Shape": shape,
    "Shape_i": length,
    "Reshape": reshaped,
    "Alloc": stretched,
    "MakeVector": vector_of,
    "ARange": ranged,
    "Eye": ones_on_diagonal,
    "AllocDiag": on_diagonal,
    "ExtractDiag": diagonal,
    "Join": joined,
    "Split": split,
    "Repeat": repeated,
    "FillDiagonal": filled_diagonal,
    "FillDiagonalOffset": filled_offset,
    "Assert": asserted,
    "IfElse": either,
}  # fmt: skip
"""How each is built."""
