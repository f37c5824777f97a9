"""The CUDA target: a module of ``numba.cuda`` kernels and a driver, from the same items as the CPU's function.

The driver is plain Python that runs on the host: sizes, numbers, loops over time steps, branches. Its arrays are on the
device. A loop nest becomes a kernel, a thread for each of its points, and a launch.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from srcgraph.codegen.blocks import BLOCK_FUNCTIONS
from srcgraph.codegen.buffers import made_once
from srcgraph.codegen.cpu import NO_CALLEES, NO_KERNELS, Generated, last_origin, returning
from srcgraph.codegen.helpers import helper_modules, helpers_used
from srcgraph.codegen.items import (
    Block,
    Item,
    Loop,
    Store,
    inner_blocks,
    item_exprs,
)
from srcgraph.codegen.launches import Launching
from srcgraph.codegen.names import Names
from srcgraph.codegen.program import scheduled
from srcgraph.codegen.source import Places, emit
from srcgraph.codegen.spelling import DEVICE, ON_HOST, reads_element
from srcgraph.codegen.statements import defined, names_in
from srcgraph.codegen.storage import Interface
from srcgraph.codegen.teams import in_teams
from srcgraph.codegen.threads import in_threads, is_nest, refused
from srcgraph.codegen.tidy import tidy
from srcgraph.ir.graph import NOWHERE, Apply, Graph, Value
from srcgraph.ir.types import ArrayType, ListType, ScalarType
from srcgraph.ir.walk import all_nodes, calls

HOST = frozenset((
    "THREADS", "cuda", "driver", "over", "striding", "team_of", "parts", "copy", "full", "zeros", "ones", "fill",
    "device_array", "device_array_like", "host_value", "narrowed",
    "sum_of", "product_of", "max_of", "min_of", "all_of", "any_of",
))  # fmt: skip
"""The names of `srcgraph.runtime.gpu` that drivers use."""
_OWN = HOST | DEVICE | BLOCK_FUNCTIONS.keys() | {"np", "math"}


def generate(
    graph: Graph,
    interface: Interface,
    *,
    name: str = "",
    callees: Mapping[str, tuple[Graph, Interface]] = NO_CALLEES,
    kernels: Mapping[str, str] = NO_KERNELS,
    inplace: bool = True,
) -> Generated:
    """Write the CUDA module of a closed graph.

    Parameters
    ----------
    graph, interface, name, callees, kernels, inplace
        See `srcgraph.codegen.cpu.generate`.

    Raises
    ------
    UnsupportedError
        It does what the CUDA target does not, or what cannot be shown to give the same result each time.
    """
    _refuse_calls(graph, kernels)
    name = name or graph.name
    name = f"{name}_" if name in _OWN or name in helper_modules() else name
    places = Places()
    found = scheduled(graph, interface, "cuda", {}, inplace)
    plain, block = found.graph, found.block
    _refuse_libraries(plain)
    _refuse_points(plain.params)
    _refuse_block(block)
    in_threads(block)
    in_teams(block)
    helpers = helpers_used(block)
    reserved = frozenset((*helpers, *_OWN, *(h + ON_HOST for h in helpers), name))
    names = Names(block, plain.params, reserved=reserved, hints=found.scheduler.hints)
    body = Launching(names, places)
    statements = body.block(block.items)
    leave = returning([body.number(e, v) for e, v in zip(block.results, block.values, strict=True)])
    statements = tidy(statements + body.placed([leave], last_origin(block, interface)))
    params = [names.of(p) for p in plain.params]
    changes = [params[k] for k in sorted(interface.changed)]
    function = defined(name, params, statements, [_driver(changes)])
    parts = [*body.functions(), _on_device(made_once(function))]
    text = emit(ast.Module([*_imports(parts, helpers), *parts], []), places)
    return Generated(name, text, tuple(found.copies), signatures=body.signatures)


# -- what is refused --------------------------------------------------------------------------------


def _refuse_calls(graph: Graph, kernels: Mapping[str, str]) -> None:
    for call in calls(graph):
        if call.callee in kernels:
            raise refused(f"{call.callee} is a kernel for the CPU", call.origin, "use target='cpu'")
        raise refused(f"{call.callee} calls itself", call.origin, "write it as a loop, or use target='cpu'")


_PRODUCTS = ("add_product", "rows_at_once")
"""What products of matrices have become."""


def _refuse_libraries(graph: Graph) -> None:
    for node in all_nodes(graph):
        if isinstance(node, Apply) and node.op.kind in ("library", "draw") and not _is_on_host(node):
            what = "draws random numbers" if node.op.kind == "draw" else "calls a library"
            name = "matmul" if node.op.name in _PRODUCTS else node.op.name
            raise refused(f"{name} {what}, which is not there yet", node.origin, "use target='cpu'")


def _refuse_points(params: Sequence[Value]) -> None:
    for param in params:
        if isinstance(param.type, ArrayType) and not param.type.ndim:
            raise refused(f"argument {param.name!r} is an array without axes", NOWHERE, "pass a number")


def _is_on_host(node: Apply) -> bool:
    """Whether it gives another shape, a copy, or numbers for numbers."""
    numbers = all(isinstance(v.type, ScalarType) for v in (*node.inputs, *node.outputs))
    return node.op.name in _ARRAYS or (node.op.kind == "library" and numbers)


_ARRAYS = ("reshape", "reshape_view", "edges")


def _refuse_block(block: Block, inside: Item | None = None) -> None:
    """Refuse single elements that a loop of the user's stores or reads one by one."""
    slow = inside is not None and not _has_nest(block)
    for item in block.items:
        elements = _stores_element(item) or any(map(reads_element, item_exprs(item)))
        if slow and elements and item.origin.loc is not None:  # tapes that are packed have no place of the user's
            raise refused("arrays are stored into or read element by element on the host", item.origin)
        for inner in inner_blocks(item):
            _refuse_block(inner, item if isinstance(item, Loop) else inside if slow else None)
    if slow and inside is not None and any(map(reads_element, block.results)):
        raise refused("arrays are read element by element on the host", inside.origin)


def _has_nest(block: Block) -> bool:
    """Whether a loop's trip does something for whole arrays, beside which single elements do not count."""
    return any(is_nest(i) or any(_has_nest(b) for b in inner_blocks(i)) for i in block.items)


def _stores_element(item: Item) -> bool:
    return isinstance(item, Store) and not isinstance(item.base.type, ListType)


# -- text -------------------------------------------------------------------------------------------


def _driver(changes: Sequence[str]) -> ast.expr:
    """``@driver()``, or ``@driver(changes=['u'])``."""
    names = ast.List([ast.Constant(n) for n in changes], ast.Load())
    return ast.Call(ast.Name("driver", ast.Load()), [], [ast.keyword("changes", names)] if changes else [])


def _on_device(function: ast.FunctionDef) -> ast.FunctionDef:
    """The driver with arrays that are made on the device."""
    function.body = [_Arrays().visit(s) for s in function.body]
    return function


class _Arrays(ast.NodeTransformer):
    """NumPy's calls that make arrays become those of `srcgraph.runtime.gpu`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(value=ast.Name(id="np"), attr="empty"):
                return _call("device_array", *node.args)
            case ast.Attribute(value=ast.Name(id="np"), attr="empty_like"):
                return _call("device_array_like", *node.args)
            case ast.Attribute(value=ast.Name(id="np"), attr="zeros" | "ones" | "full" as made):
                return _call(made, *node.args)
            case ast.Attribute(value=array, attr="copy"):
                return _call("copy", array)
            case ast.Attribute(value=array, attr="fill"):
                return _call("fill", array, *node.args)
            case ast.Name(id="edges"):
                return _call("copy", node.args[0])
            case ast.Name(id="reshape"):
                array, shape = node.args
                return ast.Call(ast.Attribute(array, "reshape", ast.Load()), [shape], [])
        return node


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.parse(name, mode="eval").body, list(args), [])


def _imports(functions: Sequence[ast.FunctionDef], helpers: Mapping[str, str]) -> list[ast.stmt]:
    used = {n.id for n in names_in(*functions)}
    own = sorted(used & (HOST | DEVICE) | {"driver"})
    other = {f"{name} as {name}{ON_HOST}": module for name, module in helpers.items() if name + ON_HOST in used}
    lines = [f"import {name}" for name in ("math",) if name in used]
    lines += ["import numpy as np"] if "np" in used else []
    known = other | {name: module for name, module in helpers.items() if name in used and name not in own}
    imports = {"gpu": own}
    for helper, module in known.items():
        imports.setdefault(module, []).append(helper)
    for module in sorted(imports):
        lines.append(f"from srcgraph.runtime.{module} import {', '.join(sorted(imports[module]))}")
    statements = ast.parse("\n".join(lines)).body
    for statement in statements:
        statement.lineno = 0
    return statements


__all__ = ["generate"]
