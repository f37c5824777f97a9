"""Arrays that are saved for the sweep back as they are, where nothing stores into them any more.

for i in range(n):                        for i in range(n):
    saved.append(v.copy())                    saved.append(v)
    new = np.empty(m - i)                     new = np.empty(m - i)
    for j in range(m - i):        is          for j in range(m - i):
        new[j] = f(v, j)                          new[j] = f(v, j)
    v = new                                   v = new
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.codegen.affine import axes_of
from srcgraph.codegen.buffers import known_otherwise, makes_array
from srcgraph.codegen.statements import names_in, nodes_in, statements_in, target_name, without
from srcgraph.codegen.trips import copied_array, stored_arrays


def saved_whole(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function without such copies."""
    params = {a.arg for a in function.args.args}
    for at, loop in enumerate(function.body):
        for saved in _saved(loop) if isinstance(loop, ast.For | ast.While) else ():
            if saved.array not in params and saved.stays(function.body, at):
                saved.call.args = [ast.Name(saved.array, ast.Load())]
    return function


@dataclass(frozen=True, slots=True)
class _Saved:
    """An array of which a loop saves a copy on a tape before it puts a new one in its place."""

    loop: ast.For | ast.While
    call: ast.Call
    tape: str
    array: str
    made: ast.Assign
    handed: ast.Assign

    def stays(self, body: Sequence[ast.stmt], at: int) -> bool:
        """Whether all that the array is until the loop is over is its own, and nothing is stored into that from the
        loop on, which stands ``at`` a place."""
        new, trip, after = target_name(self.made), self.loop.body, body[at + 1 :]
        first, last = trip.index(self.made), trip.index(self.handed)
        if any(n.id == new for n in names_in(*body[:at], *trip[:first], *trip[last + 1 :], *after)):
            return False
        assigned = [s for s in statements_in(body[: at + 1]) if target_name(s) == self.array and s is not self.handed]
        if not all(makes_array(s) for s in assigned) or any(s in assigned for s in statements_in(trip)):
            return False
        taken = {s for s in statements_in(after) if _takes(s, self.tape)}
        if not stored_arrays([self.loop, *after]).isdisjoint({self.array, *map(target_name, taken)}):
            return False
        axes = dict.fromkeys((self.array, new), len(axes_of(self.made.value.args[0])))  # type: ignore[attr-defined]
        rest = without(body, {self.handed, *taken})
        uses = sum(n.id == self.tape for n in names_in(*rest)) - sum(
            _is_length_of(n, self.tape) for n in nodes_in(*rest)
        )
        return uses == 2 and known_otherwise(rest, axes).isdisjoint(axes)


def _saved(loop: ast.For | ast.While) -> Iterator[_Saved]:
    made = {target_name(s): s for s in loop.body if makes_array(s)}
    handed = {target_name(s): s for s in loop.body if _handed_on(s) in made}
    for s in loop.body:
        match s:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=tape), "append"), [value]) as call):
                array = copied_array(value)
                if array in handed:
                    last = handed[array]
                    yield _Saved(loop, call, tape, array, made[_handed_on(last)], last)  # type: ignore[arg-type]


def _handed_on(s: ast.stmt) -> str:
    match s:
        case ast.Assign(targets=[ast.Name()], value=ast.Name(id=name)):
            return name
    return ""


def _is_length_of(node: ast.AST, tape: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            return name == tape
    return False


def _takes(s: ast.stmt, tape: str) -> bool:
    match s:
        case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[])):
            return name == tape
    return False
