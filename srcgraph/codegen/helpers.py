"""The functions of `srcgraph.runtime` that generated code calls."""

from __future__ import annotations

import ast
import builtins
from functools import cache

from srcgraph.codegen.items import Block, Raise, Ref, all_blocks, all_exprs
from srcgraph.codegen.statements import names_in
from srcgraph.ir.op import OPS, Op
from srcgraph.ir.types import COMPLEX, FLOAT, INT

_BUILTIN = frozenset(dir(builtins))
_CALLS = ("library", "effect", "draw")
"""Kinds of ops whose text is the name of a helper."""


@cache
def helper_modules() -> dict[str, str]:
    """The functions of `srcgraph.runtime` that the ops' texts call, and the module each is in."""
    found = {}
    for op in OPS.values():
        for text in _texts(op):
            for node in ast.walk(ast.parse(text)):
                name = node.func if isinstance(node, ast.Call) else node if op.kind in _CALLS else None
                if isinstance(name, ast.Name) and name.id not in _BUILTIN:
                    found[name.id] = op.helpers
    return found


def _texts(op: Op) -> list[str]:
    return [
        text if isinstance(text, str) else text(dtype, **op.samples[0].attrs)
        for text in op.emit.values()
        for dtype in (FLOAT, INT, COMPLEX)
    ]


def helpers_used(block: Block) -> dict[str, str]:
    """The helpers a function calls, and the module each is in."""
    found = {n.id for n in names_in(*all_exprs(block)) if not isinstance(n, Ref)}
    raised = {i.error for inner in all_blocks(block) for i in inner.items if isinstance(i, Raise)}
    own = {"Raised": "effects"} if "Raised" in raised else {}
    own |= {name: "known" for name in ("assume", "unsigned") if name in found}
    return own | {name: module for name, module in helper_modules().items() if name in found}
