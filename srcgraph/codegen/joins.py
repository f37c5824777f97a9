"""What the parts of a loop have added up apart, put together in order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from srcgraph.codegen.pieces import assign, call, free_name
from srcgraph.codegen.reductions import Sum

Statements = list[ast.stmt]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parts of a loop leave what they have found of a number: an array with an element for each."""

    name: str
    array: str
    dtype: str


def places_of(found: Sum, dtypes: Mapping[str, str], fresh: Callable[[str], str]) -> list[Place]:
    """Those of the numbers of a sum; what belongs together has one dtype."""
    dtype = dtypes.get(found.names[0], "float64")
    return [Place(n, fresh(f"{n}_parts"), dtype) for n in found.names]


def begin(sums: Sequence[Sum], places: Sequence[Sequence[Place]], part: str) -> Statements:
    """Parts after the first begin with nothing; what can be counted twice begins with what there is."""
    body: Statements = []
    for found, own in zip(sums, places, strict=True):
        if found.begins_anew:
            zero = _number("1" if found.kind == "mul" else "0", own[0].dtype)
            targets: list[ast.expr] = [ast.Name(p.name, ast.Store()) for p in own]
            body.append(ast.Assign(targets, ast.parse(zero, mode="eval").body, lineno=0))
    test = ast.Compare(ast.Name(part, ast.Load()), [ast.Gt()], [ast.Constant(0)])
    return [ast.If(test, body, [])] if body else []


def _number(text: str, dtype: str) -> str:
    match dtype:
        case "float64":
            return f"{text}.0"
        case "int64":
            return text
        case "complex128":
            return f"complex({text}.0)"
    return f"np.{dtype}({text})"


def joined(
    sums: Sequence[Sum],
    places: Sequence[Sequence[Place]],
    arrays: Mapping[str, str],
    axes: Mapping[str, int],
    parts: str,
    taken: Set[str],
) -> Statements:
    """What takes the parts, in order, into the variables and arrays themselves."""
    index = free_name("k", taken)
    number: ast.expr = ast.Name(index, ast.Load())
    body: Statements = []
    for found, own in zip(sums, places, strict=True):
        body += _joined(found, [_at(p.array, number) for p in own])
    out: Statements = [assign(p.name, _at(p.array, ast.Constant(0))) for own in places for p in own]
    if body:
        run = call("range", [ast.Constant(1), ast.Name(parts, ast.Load())])
        out.append(ast.For(ast.Name(index, ast.Store()), run, body, [], lineno=0))
    if arrays:
        copies = ast.BinOp(ast.Name(parts, ast.Load()), ast.Sub(), ast.Constant(1))
        inner = [_array(n, p, axes[n], index, taken) for n, p in arrays.items()]
        out.append(ast.For(ast.Name(index, ast.Store()), call("range", [copies]), inner, [], lineno=0))
    return out


def _joined(found: Sum, values: Sequence[ast.expr]) -> Statements:
    """One part's values, after those before it."""
    name, *others = found.names
    target = ast.Name(name, ast.Store())
    own = ast.Name(name, ast.Load())
    match found.kind:
        case "add":
            return [ast.AugAssign(target, ast.Add(), values[0], lineno=0)]
        case "mul":
            return [ast.AugAssign(target, ast.Mult(), values[0], lineno=0)]
        case "two_sum":
            lost = ast.BinOp(ast.Name(others[0], ast.Load()), ast.Add(), values[1])
            pair = ast.Tuple([target, ast.Name(others[0], ast.Store())], ast.Store())
            return [ast.Assign([pair], call("two_sum", [own, values[0], lost]), lineno=0)]
        case "and" | "or":
            op = ast.And() if found.kind == "and" else ast.Or()
            return [ast.Assign([target], ast.BoolOp(op, [own, values[0]]), lineno=0)]
        case "kept":
            assert found.test is not None
            test = ast.Compare(values[0], [found.test], [own])
            return [ast.If(test, [ast.Assign([target], values[0], lineno=0)], [])]
    assert found.function is not None
    return [ast.Assign([target], ast.Call(found.function, [own, values[0]], []), lineno=0)]


def _array(name: str, places: str, axes: int, index: str, taken: Set[str]) -> ast.stmt:
    """The loops that add one part's array to the array."""
    own = [free_name(n, {*taken, index}) for n in _AXES[:axes]]
    at = [ast.Name(n, ast.Load()) for n in own]
    place = at[0] if axes == 1 else ast.Tuple(list(at), ast.Load())
    value = ast.Subscript(
        ast.Name(places, ast.Load()), ast.Tuple([ast.Name(index, ast.Load()), *at], ast.Load()), ast.Load()
    )
    target = ast.Subscript(ast.Name(name, ast.Load()), place, ast.Store())
    node: ast.stmt = ast.AugAssign(target, ast.Add(), value, lineno=0)
    for k in range(axes - 1, -1, -1):
        run = call("range", [ast.parse(f"{name}.shape[{k}]", mode="eval").body])
        node = ast.For(ast.Name(own[k], ast.Store()), run, [node], [], lineno=0)
    return node


_AXES = ("i", "j", "l", "m", "p", "q", "r", "s")


def _at(name: str, index: ast.expr) -> ast.expr:
    return ast.Subscript(ast.Name(name, ast.Load()), index, ast.Load())


__all__ = ["Place", "begin", "joined", "places_of"]
