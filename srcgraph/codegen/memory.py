"""Arrays whose memory is kept for the next one: those that may be large.

``np.empty(n)`` becomes ``empty(n)``, that of `srcgraph.runtime.arrays`, and so does what else makes an array; where its
lengths are known and small, numba's own stays. Nothing has to be proved of how long an array is used: its memory is
kept when the last one who has it drops it, in the function, in a loop, or after it was returned.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from srcgraph.codegen.statements import names_in, nodes_in

_OF_SHAPE = ("empty", "zeros", "ones", "full")
_SMALL = 1 << 12
"""How many elements of any dtype are no large array."""


def kept(functions: Sequence[ast.FunctionDef]) -> list[str]:
    """Change the calls in place; the names that are called then. A name that is taken is not changed."""
    taken = {n.id for n in names_in(*functions)} | {f.name for f in functions}
    taken |= {a.arg for f in functions for a in f.args.args}
    found: dict[str, None] = {}
    for call in _calls(functions):
        assert isinstance(call.func, ast.Attribute)
        name = call.func.attr
        if name not in taken:
            if name == "copy":
                call.args = [call.func.value]
            call.func = ast.copy_location(ast.Name(name, ast.Load()), call.func)
            found[name] = None
    return list(found)


def _calls(functions: Sequence[ast.FunctionDef]) -> Iterator[ast.Call]:
    """Those that make arrays that may be large."""
    for node in nodes_in(*(s for f in functions for s in f.body)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=name), args=[shape, *_]):
                if name == "empty_like" or (name in _OF_SHAPE and not _is_small(shape)):
                    yield node
            case ast.Call(func=ast.Attribute(attr="copy"), args=[]):
                yield node


def _is_small(shape: ast.expr) -> bool:
    lengths = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    known = [n.value for n in lengths if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    return len(known) == len(lengths) and math.prod(known) <= _SMALL
