"""Lists of numbers that each trip of a loop fills and empties, as arrays with a count of what is in them.

numba's lists give memory back when they are emptied, and ask for it again when they are filled: more work than what is
between. An array keeps what it has, and gets longer where that does not do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from srcgraph.codegen.statements import names_in, statements_in

HELPER = "longer"
"""What makes an array longer, in `srcgraph.runtime.arrays`."""
FIRST = 64
"""How many numbers there is room for at first."""


def in_arrays(body: list[ast.stmt], dtypes: Mapping[str, str], taken: AbstractSet[str]) -> list[ast.stmt]:
    """Change such lists; ``dtypes`` has NumPy's name for what is in each list that holds numbers."""
    for name, dtype in dtypes.items():
        if HELPER not in taken and _is_tape(body, name):
            used = {n.id for n in names_in(*body)} | taken
            count = next(c for c in (f"{name}_{word}" for word in ("held", "count", "number")) if c not in used)
            body = _Arrays(name, dtype, count).block(body)
    return body


def _is_tape(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a list is made empty once, and then filled and emptied in each trip of a loop, and used for no more."""
    moves = [s for s in statements_in(body) if made(s, name) or pushed(s, name) is not None or popped(s, name)]
    uses = sum(n.id == name for n in names_in(*body))
    if len(moves) != uses or sum(made(s, name) for s in moves) != 1:
        return False
    return any(_fills_and_empties(s, name) for s in statements_in(body) if isinstance(s, ast.For | ast.While))


def _fills_and_empties(loop: ast.For | ast.While, name: str) -> bool:
    inner = list(statements_in(loop.body))
    return (
        any(pushed(s, name) is not None for s in inner)
        and any(popped(s, name) for s in inner)
        and not any(made(s, name) for s in inner)
    )


def made(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=own)], value=ast.List(elts=[])):
            return own == name
    return False


def pushed(node: ast.stmt, name: str) -> ast.expr | None:
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=own), "append"), [item], [])) if own == name:
            return item
    return None


def popped(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name()], value=ast.Call(ast.Attribute(ast.Name(id=own), "pop"), [], [])):
            return own == name
    return False


class _Arrays:
    """One list as an array."""

    def __init__(self, name: str, dtype: str, count: str):
        self.name, self.dtype, self.count = name, dtype, count

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [new for node in body for new in self.statement(node)]

    def statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        item = pushed(node, self.name)
        if made(node, self.name):
            more = "" if self.dtype == "float64" else f", np.{self.dtype}"
            yield from self.written(node, f"{self.name} = np.empty({FIRST}{more})\n{self.count} = 0")
        elif item is not None:
            test, store, step = self.written(
                node,
                f"if {self.count} == len({self.name}):\n    {self.name} = {HELPER}({self.name})\n"
                f"{self.name}[{self.count}] = 0\n{self.count} += 1",
            )
            assert isinstance(store, ast.Assign)
            store.value = item
            yield from (test, store, step)
        elif popped(node, self.name):
            assert isinstance(node, ast.Assign)
            step, read = self.written(node, f"{self.count} -= 1\n_ = {self.name}[{self.count}]")
            assert isinstance(read, ast.Assign)
            read.targets = node.targets
            yield from (step, read)
        else:
            if isinstance(node, ast.For | ast.While | ast.If):
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            yield node

    def written(self, node: ast.stmt, text: str) -> list[ast.stmt]:
        found = ast.parse(text).body
        for inner in (n for s in found for n in ast.walk(s)):
            ast.copy_location(inner, node)
        return found
