"""Arithmetic of arrays in forms that loops compute for several elements at a time: without branches, and complex
numbers by their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rules.rule import Rule, procedure

_COMPLEX = [("c128[4]",), ("c64[3, 2]",)]


def _of_arrays(form: Callable[[Apply], Value | None]) -> Any:
    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        return form(node) if node.outputs[0].type.ndim else None

    return transform


def _parts(x: Value) -> tuple[Value, Value]:
    return OPS["real"](x), OPS["imag"](x)


def _size(node: Apply) -> Value | None:
    (x,) = node.inputs
    return OPS["hypot"](*_parts(x)) if x.type.dtype.kind == "c" else None


def _choice(node: Apply) -> Value | None:
    test, *sides = node.inputs
    if any(v.type.dtype != node.outputs[0].type.dtype for v in sides):
        return None
    if node.outputs[0].type.dtype != np.complex128:
        return None
    x, y = map(_parts, sides)
    return OPS["of_parts"](*(OPS["where"](test, p, q) for p, q in zip(x, y, strict=True)))


RULES: tuple[Rule, ...] = (
    *(
        procedure(
            f"{name}_at_once",
            f"x {word} y",
            f"{name}(x, y)",
            "exact",
            [f"logical_{word}"],
            _of_arrays(lambda node, name=name: OPS[name](*node.inputs)),
            lambda x, y, word=word: OPS[f"logical_{word}"](x, y),
            [("b1[4]", "b1[4]"), ("b1[2, 3]", "b1")],
            any_dtype=True,
            condition="arrays: both sides are there anyway",
        )
        for name, word in (("bitwise_and", "and"), ("bitwise_or", "or"))
    ),
    procedure(
        "size_by_parts",
        "abs(z)",
        "hypot(z.real, z.imag)",
        "rounding",
        ["absolute"],
        _of_arrays(_size),
        lambda x: OPS["absolute"](x),
        _COMPLEX,
        condition="complex arrays",
    ),
    procedure(
        "choice_by_parts",
        "where(c, w, z)",
        "where(c, w.real, z.real) + 1j * where(c, w.imag, z.imag)",
        "exact",
        ["where"],
        _of_arrays(_choice),
        lambda c, x, y: OPS["where"](c, x, y),
        [("b1[4]", "c128[4]", "c128[4]")],
        any_dtype=True,
        condition="complex arrays",
    ),
)
