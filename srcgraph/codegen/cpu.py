"""The numba target: a module with one function, from a closed graph."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

from srcgraph.codegen.body import Body
from srcgraph.codegen.decisions import transparent
from srcgraph.codegen.expr import loop_index
from srcgraph.codegen.items import Block, Item, Kernel, Let, LoopStore, Raise, Ref, all_blocks, all_exprs, refs
from srcgraph.codegen.names import Names
from srcgraph.codegen.outline import outlined
from srcgraph.codegen.schedule import Scheduler
from srcgraph.codegen.source import Places, Text, emit
from srcgraph.codegen.storage import Copied, Interface, assign_storage
from srcgraph.codegen.tidy import tidy
from srcgraph.ir.closure import open_
from srcgraph.ir.graph import NOWHERE, Graph, Origin, Value
from srcgraph.ir.op import OPS, Op
from srcgraph.ir.types import FLOAT


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated module.

    Attributes
    ----------
    name : str
        Of the function in it.
    text : Text
    copies : tuple of Copied
        Arrays that had to be copied, and why.
    """

    name: str
    text: Text
    copies: tuple[Copied, ...]


def generate(graph: Graph, interface: Interface, *, name: str = "", options: str = 'error_model="numpy"') -> Generated:
    """Write the numba module of a closed graph.

    Parameters
    ----------
    graph : Graph
    interface : Interface
        Which parameters it changes, and which results it returns.
    name : str
        Of the function; the graph's by default.
    options : str
        Passed to ``numba.njit``, as source text.
    """
    plain = transparent(open_(graph))
    scheduler = Scheduler(plain, "cpu")
    block = scheduler.function()
    stores, copies = assign_storage(block, plain.params, scheduler.uses.consumed, interface)
    _store_back(block, stores, scheduler)
    _drop_unused_sizes(block)
    block.results = [block.results[k] for k in interface.returned]
    helpers = _helpers_used(block)
    names = Names(block, plain.params, reserved=frozenset(helpers) | {name or graph.name}, hints=scheduler.hints)
    places = Places()
    body = Body(names, places)
    statements = body.block(block.items)
    leave = _return([body.resolved(e) for e in block.results])
    statements += body.placed([leave], _last_origin(block, interface))
    function = _function(name or graph.name, [names.of(p) for p in plain.params], tidy(statements), options)
    functions = outlined(function, {k: loc.line for k, loc in enumerate(places.known, 1)})
    module = ast.Module([*_imports(functions, helpers), *functions], [])
    return Generated(name or graph.name, emit(module, places), tuple(copies))


def _last_origin(block: Block, interface: Interface) -> Origin:
    """Where the first returned value that the function computes itself comes from."""
    found = (block.origins[k] for k in interface.returned)
    return next((o for o in found if o.loc is not None), NOWHERE)


def _store_back(block: Block, stores: Sequence[tuple[Value, Value]], s: Scheduler) -> None:
    """Final contents that ended up elsewhere are copied into the arguments."""
    for param, value in stores:
        index = loop_index(param.type.shape)
        at = tuple(s.write.dim(d) for d in index)
        expr = s.write.element(value, index) if value in s.variables else _element(s, value, at)
        out = Value(param.name, param.type)
        store = LoopStore(out, param, index, at, expr)
        extents = tuple(s.write.dim(d) for d in param.type.shape)
        block.items.append(Kernel(param.type.shape, [store], extents))


def _element(s: Scheduler, value: Value, at: Sequence[ast.expr]) -> ast.expr:
    index = at[0] if len(at) == 1 else ast.Tuple(list(at), ast.Load())
    return ast.Subscript(Ref(value), index, ast.Load())


def _drop_unused_sizes(block: Block) -> None:
    """Sizes are read from shapes only where something uses them."""
    used = {v for e in all_exprs(block) for v in refs(e)}
    for inner in all_blocks(block):
        inner.items[:] = [i for i in inner.items if not (_is_size(i) and i.value not in used)]


def _is_size(item: Item) -> TypeGuard[Let]:
    expr = item.expr if isinstance(item, Let) else None
    return isinstance(expr, ast.Subscript) and isinstance(expr.value, ast.Attribute) and expr.value.attr == "shape"


@cache
def _helpers() -> dict[str, str]:
    """The functions of `srcgraph.runtime` that the ops' texts call, and the module each is in."""
    found = {}
    for op in OPS.values():
        for text in _texts(op):
            for node in ast.walk(ast.parse(text)):
                name = node.func if isinstance(node, ast.Call) else node if op.kind in ("library", "effect") else None
                if isinstance(name, ast.Name) and name.id not in _BUILTIN:
                    found[name.id] = op.helpers
    return found


_BUILTIN = frozenset(dir(builtins))


def _texts(op: Op) -> list[str]:
    return [t if isinstance(t, str) else t(FLOAT, **op.samples[0].attrs) for t in op.emit.values()]


def _helpers_used(block: Block) -> dict[str, str]:
    """The helpers a function calls, and the module each is in."""
    found = {n.id for e in all_exprs(block) for n in ast.walk(e) if isinstance(n, ast.Name)}
    raised = {i.error for inner in all_blocks(block) for i in inner.items if isinstance(i, Raise)}
    own = {"Raised": "effects"} if "Raised" in raised else {}
    return own | {name: module for name, module in _helpers().items() if name in found}


def _return(results: Sequence[ast.expr]) -> ast.stmt:
    if not results:
        return ast.Return(None)
    return ast.Return(results[0] if len(results) == 1 else ast.Tuple(list(results), ast.Load()))


def _function(name: str, params: Sequence[str], body: list[ast.stmt], options: str) -> ast.FunctionDef:
    args = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
    decorator = ast.parse(f"njit({options})", mode="eval").body
    return ast.FunctionDef(name, args, body, [decorator], None, lineno=0)


def _imports(functions: Sequence[ast.FunctionDef], helpers: Mapping[str, str]) -> list[ast.stmt]:
    used = {n.id for f in functions for n in ast.walk(f) if isinstance(n, ast.Name)}
    lines = []
    if "math" in used:
        lines.append("import math")
    if "np" in used:
        lines.append("import numpy as np")
    lines.append("from numba import njit")
    for module in sorted(set(helpers.values())):
        names = sorted(name for name, home in helpers.items() if home == module)
        lines.append(f"from srcgraph.runtime.{module} import {', '.join(names)}")
    statements = ast.parse("\n".join(lines)).body
    for statement in statements:
        statement.lineno = 0
    return statements
