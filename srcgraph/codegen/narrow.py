"""Arrays of which each step of a loop uses one row, its own: that row is all that is kept.

``t = np.empty((n, m))`` before a loop over ``i`` that is all that uses ``t``, as ``t[i, j]``, is ``t = np.empty(m)``,
used as ``t[j]``. It stays in the processor's nearest memory.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srcgraph.codegen.statements import names_in, nodes_in


def narrowed(body: list[ast.stmt]) -> list[ast.stmt]:
    """Change such arrays in a function, in place."""
    made = [array for array in _arrays(body) if isinstance(array.made.args[0], ast.Tuple)]
    if made:
        names = Counter(n.id for n in names_in(*body))
        for array in made:
            array.places = _places(array.rest, array.name)
            if names[array.name] == len(array.places) + 1:
                _narrow(array)
    return body


@dataclass
class _Array:
    """What makes an array with nothing in it, the statements that follow, and where these use its elements."""

    name: str
    made: ast.Call
    rest: Sequence[ast.stmt]
    places: Sequence[ast.Subscript] = ()


def _arrays(body: Sequence[ast.stmt]) -> Iterator[_Array]:
    for k, s in enumerate(body):
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="empty")) as call):
                yield _Array(name, call, body[k + 1 :])
            case ast.If() | ast.For() | ast.While():
                yield from _arrays(s.body)
                yield from _arrays(s.orelse)


def _places(body: Sequence[ast.stmt], name: str) -> list[ast.Subscript]:
    """Where elements of an array are used."""
    found = (n for n in nodes_in(*body) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Tuple))
    return [n for n in found if isinstance(n.value, ast.Name) and n.value.id == name]


def _narrow(array: _Array) -> None:
    """Leave out axes as long as one loop uses the array, in each step the part that has the loop's number."""
    block = array.rest
    while isinstance(array.made.args[0], ast.Tuple):
        loop = _loop(block, array)
        if loop is None or not all(_is(p, loop.target) for p in array.places) or _changes(loop):
            break
        array.made.args[0] = _without_first(array.made.args[0])
        for place in array.places:
            assert isinstance(place.slice, ast.Tuple)
            place.slice = _without_first(place.slice)
        block = loop.body


def _loop(block: Sequence[ast.stmt], array: _Array) -> ast.For | None:
    """The loop that is all that uses an array. A branch may have it, but no other loop: that would keep rows."""
    users = [s for s in block if any(n.id == array.name for n in names_in(s))]
    match users:
        case [ast.For(iter=run, orelse=[]) as loop] if all(n.id != array.name for n in names_in(run)):
            return loop
        case [ast.If(test=test, body=body, orelse=orelse)] if all(n.id != array.name for n in names_in(test)):
            return _loop([*body, *orelse], array)
    return None


def _is(place: ast.Subscript, target: ast.expr) -> bool:
    """Whether the first index is the loop's number."""
    first = place.slice.elts[0] if isinstance(place.slice, ast.Tuple) else None
    return isinstance(first, ast.Name) and isinstance(target, ast.Name) and first.id == target.id


def _changes(loop: ast.For) -> bool:
    """Whether a loop changes its number."""
    return any(isinstance(n.ctx, ast.Store) and n.id == loop.target.id for n in names_in(*loop.body))  # type: ignore[attr-defined]


def _without_first(axes: ast.Tuple) -> ast.expr:
    rest = axes.elts[1:]
    return rest[0] if len(rest) == 1 else ast.copy_location(ast.Tuple(rest, axes.ctx), axes)
