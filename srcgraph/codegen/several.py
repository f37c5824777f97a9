"""Calls that LLVM can make for several elements of an array at a time: those in loops without others, and no way out.

``np.exp(x[i])`` is such a call if it is that of `srcgraph.runtime.vector`; elsewhere numba's own stays, as a person
would write it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from srcgraph.codegen.statements import names_in

FUNCTIONS = {
    "np": frozenset((
        "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
        "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt",
    )),
    "math": frozenset(("erf", "erfc")),
}  # fmt: skip
"""What there is for several elements, and where numba's own is."""
_NESTED = (ast.For, ast.While, ast.Break, ast.Return, ast.Raise)


def several_at_once(functions: Sequence[ast.FunctionDef]) -> list[str]:
    """Change the calls in place; the names that are called then. A name that is taken is not changed."""
    taken = {n.id for n in names_in(*functions)} | {f.name for f in functions}
    taken |= {a.arg for f in functions for a in f.args.args}
    found: dict[str, None] = {}
    for function in functions:
        for loop in _innermost(function):
            for call in _calls(loop):
                assert isinstance(call.func, ast.Attribute)
                name = call.func.attr
                if name not in taken:
                    call.func = ast.copy_location(ast.Name(name, ast.Load()), call.func)
                    found[name] = None
    return list(found)


def _innermost(function: ast.FunctionDef) -> Iterator[ast.For]:
    """The loops over elements in which there is no other one, and that nothing leaves."""
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            inside = [n for s in node.body for n in ast.walk(s)]
            places = (n.slice for n in inside if isinstance(n, ast.Subscript))
            if any(node.target.id in {n.id for n in names_in(p)} for p in places):
                if not any(isinstance(n, _NESTED) for n in inside):
                    yield node


def _calls(loop: ast.For) -> Iterator[ast.Call]:
    for node in (n for s in loop.body for n in ast.walk(s)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=home), attr=name)) if name in FUNCTIONS.get(home, ()):
                yield node
