"""Arrays that a loop makes anew in each trip, made once before it.

An array whose elements are all that is used of it, in the trip in which it is made, can be the same memory in every
trip: what the last trip left there is overwritten, as nothing reads an array made by `np.empty` before it is filled.
Making an array takes as long as filling one of some ten numbers.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from srcgraph.codegen.statements import names_in, statements_in

Statements = list[ast.stmt]


def made_once(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with such arrays made before its loops."""
    found = {s.targets[0].id: s for s in statements_in(function.body) if makes_array(s)}  # type: ignore[attr-defined]
    if found:
        stores = Counter(n.id for s in function.body for n in names_in(s) if isinstance(n.ctx, ast.Store))
        stores.update(a.arg for a in function.args.args)  # the first trip reads what the caller gave
        axes = {x: len(_sizes(s)) for x, s in found.items()}  # type: ignore[arg-type]
        own = set(found) - _known_otherwise(function.body, axes)
        lengths = lengths_in(function.body, stores)
        alike = _made_alike(function.body, {x for x in own if stores[x] > 1}, stores)
        function.body = _block(function.body, {x for x in own if stores[x] == 1} | alike, lengths)[0]
        _keep(function.body, {x for x in own if stores[x] == 2} | alike, stores, {})
    return function


def _made_alike(body: Statements, names: set[str], stores: Counter[str]) -> set[str]:
    """Those of these names that are only ever arrays of one shape, made in each trip of the loops that have them."""
    made: dict[str, list[str]] = {name: [] for name in names}
    for node in statements_in(body) if names else ():
        name, shape = _empty(node, stores) if makes_array(node) else ("", "")
        if name in made:
            made[name].append(shape)
    one = {x for x, shapes in made.items() if len(shapes) == stores[x] and len(set(shapes)) == 1}
    return one - set(_outside(body, one, frozenset())) if one else one


def _outside(body: Sequence[ast.stmt], names: set[str], around: frozenset[str]) -> Iterator[str]:
    """Those of these names that stand outside of loops that make them in each trip; ``around`` are made by loops."""
    for node in body:
        parts: list[ast.AST] = [node]
        if isinstance(node, ast.For | ast.While):
            parts = [node.iter, node.target] if isinstance(node, ast.For) else [node.test]
            own = frozenset(s.targets[0].id for s in node.body if makes_array(s))  # type: ignore[attr-defined]
            yield from _outside([*node.body, *node.orelse], names, around | (own & names))
        elif isinstance(node, ast.If):
            parts = [node.test]
            yield from _outside([*node.body, *node.orelse], names, around)
        yield from (n.id for n in names_in(*parts) if n.id in names and n.id not in around)


def _keep(body: Statements, own: set[str], stores: Counter[str], made: dict[str, str]) -> None:
    """Leave out ``x = np.empty(n)`` where ``x`` is such an array already: nothing reads the old one afterwards."""
    made = dict(made)
    for node in list(body):
        name, shape = _empty(node, stores) if makes_array(node) else ("", "")
        if name in own and made.get(name) == shape:
            body.remove(node)
        elif name in own:
            made[name] = shape
        for inner in (getattr(node, part, None) for part in ("body", "orelse")):
            if inner:
                _keep(inner, own, stores, made)


def _empty(node: ast.stmt, stores: Counter[str]) -> tuple[str, str]:
    """The name of an array that is made without numbers in it, and how: by lengths that do not change."""
    assert isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name)
    steady = all(stores[x] <= 1 for x in _steady(node))
    new = isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "empty"
    return (node.targets[0].id, ast.unparse(node.value)) if steady and new else ("", "")


def _block(body: Sequence[ast.stmt], private: set[str], lengths: set[str]) -> tuple[Statements, set[str]]:
    """The statements, and the names that they bind; arrays made in loops among them are made before these."""
    out: Statements = []
    bound: set[str] = set()
    for node in body:
        if isinstance(node, ast.For | ast.While):
            node.body, inside = _block(node.body, private, lengths)
            inside |= {n.id for n in names_in(node.target)} if isinstance(node, ast.For) else set()
            node.body = _taken_out(node.body, lambda s, inside=inside: _is_the_same(s, private, inside), lengths, out)
            bound |= inside
        elif isinstance(node, ast.If):
            for name in ("body", "orelse"):
                made, inside = _block(getattr(node, name), private, lengths)
                setattr(node, name, made)
                bound |= inside
        else:
            bound |= {n.id for n in names_in(node) if isinstance(n.ctx, ast.Store)}
        out.append(node)
    return out, bound


def _taken_out(
    body: Sequence[ast.stmt], is_the_same: Callable[[ast.stmt], bool], lengths: set[str], before: Statements
) -> Statements:
    """The statements of a loop without those that make arrays which are the same in each trip; ``before`` it they are
    made, even if only some trips need one of few elements."""
    rest: Statements = []
    for s in body:
        if is_the_same(s):
            before.append(made_before(s, lengths, s.targets[0].id))  # type: ignore[arg-type, attr-defined]
            rest += made_again(s)  # type: ignore[arg-type]
            continue
        for part in ("body", "orelse") if isinstance(s, ast.If) else ():
            if inner := getattr(s, part):
                few = _taken_out(inner, lambda x: is_the_same(x) and _is_of_few(x), lengths, before)
                setattr(s, part, few)
        rest.append(s)
    return rest or [ast.copy_location(ast.Pass(), body[0])]


def _is_the_same(s: ast.stmt, private: set[str], changed: set[str]) -> bool:
    return makes_array(s) and s.targets[0].id in private and changed.isdisjoint(_steady(s))  # type: ignore[attr-defined, arg-type]


def _is_of_few(made: ast.stmt) -> bool:
    return all(isinstance(e, ast.Constant) for e in _sizes(made))  # type: ignore[arg-type]


def makes_array(node: ast.stmt) -> bool:
    """``x = np.empty(...)``, or one that is full of a number."""
    match node:
        case ast.Assign(
            targets=[ast.Name()],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=how), args=[_, *_]),
        ):
            return how in ("empty", *_FILL)
    return False


_FILL = {"zeros": ast.Constant(0), "ones": ast.Constant(1), "full": None}
"""What arrays are full of, if it does not say so itself."""


def as_empty(made: ast.Assign) -> list[ast.expr]:
    """The shape of an array that is made, and its dtype if that is said: what `numpy.empty` is given."""
    call = made.value
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    return [call.args[0], *call.args[2 if call.func.attr == "full" else 1 :]]


def _steady(made: ast.Assign) -> set[str]:
    """The names that the memory of an array depends on."""
    return {n.id for n in names_in(*as_empty(made))}


def made_before(node: ast.Assign, lengths: set[str], name: str, full: bool = False) -> ast.Assign:
    """What makes such an array before a loop; a length that a check in the loop keeps from being negative is 0 here."""
    call, (shape, *dtype) = node.value, as_empty(node)
    assert isinstance(call, ast.Call)
    safe = [_not_negative(e, lengths) for e in _sizes(node)]
    axes = ast.Tuple(safe, ast.Load()) if isinstance(shape, ast.Tuple) else safe[0]
    empty = ast.Attribute(ast.Name("np", ast.Load()), "empty", ast.Load())
    made = ast.Call(call.func, [axes, *call.args[1:]], []) if full else ast.Call(empty, [axes, *dtype], call.keywords)
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], made), node)


def _sizes(node: ast.Assign) -> list[ast.expr]:
    shape = node.value.args[0]  # type: ignore[attr-defined]
    return shape.elts if isinstance(shape, ast.Tuple) else [shape]


def made_again(node: ast.Assign) -> Statements:
    """What is left to do in each trip."""
    call = node.value
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    if call.func.attr == "empty":
        return []
    array = ast.Name(node.targets[0].id, ast.Load())  # type: ignore[attr-defined]
    number = _FILL[call.func.attr] or call.args[1]
    return [ast.copy_location(ast.Expr(ast.Call(ast.Attribute(array, "fill", ast.Load()), [number], [])), node)]


def _not_negative(size: ast.expr, lengths: set[str]) -> ast.expr:
    if _is_length(size, lengths):
        return size
    return ast.Call(ast.Name("max", ast.Load()), [size, ast.Constant(0)], [])


def _is_length(size: ast.expr, lengths: set[str]) -> bool:
    match size:
        case ast.Name(id=name):
            return name in lengths
        case ast.Constant(value=int(value)):
            return value >= 0
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            return _is_length(left, lengths) and _is_length(right, lengths)
        case ast.Call(func=ast.Name(id="max"), args=args):
            return any(_is_length(a, lengths) for a in args)
        case ast.Call(func=ast.Name(id="min"), args=args):
            return all(_is_length(a, lengths) for a in args)
    return False


def lengths_in(body: Sequence[ast.stmt], stores: Counter[str]) -> set[str]:
    """Names that are bound once, to the length of an axis."""
    found: set[str] = set()
    for s in statements_in(body):
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Attribute(attr="shape"))) if (
                stores[name] == 1
            ):
                found.add(name)
    return found


def _known_otherwise(body: Sequence[ast.stmt], axes: dict[str, int]) -> set[str]:
    """Arrays of which more is used than an element, a length or a copy: other names may be the same memory.

    A name of a row is one of the array while nothing but its elements is used.
    """
    rows = _rows(body, axes)
    axes = {**axes, **{row: axes[array] - count for row, (array, count) in rows.items()}}
    found = known_otherwise(body, axes, rows)
    return found | {array for row, (array, _) in rows.items() if row in found}


def known_otherwise(body: Sequence[ast.stmt], axes: Mapping[str, int], rows: Collection[str] = ()) -> set[str]:
    """The names of which more is used than an element, a length or a copy, but for what makes the ``rows``."""
    found: set[str] = set()
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(slice=index)) if name in rows:
                todo.append(index)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if _is_element(index, axes.get(name, 0)):
                todo.append(index)
            case ast.Attribute(value=ast.Name(), attr="shape" | "size"):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(), attr="copy"), args=[]):
                pass
            case ast.Call(func=ast.Name(id="edges"), args=[ast.Name(), *args]):  # a copy, too
                todo += args
            case ast.Call(func=ast.Name(id="matmul" | "add_product" | "in_parallel" | "in_parts" | "apart"), args=args):
                todo += [a for a in args if not isinstance(a, ast.Name)]
            case ast.Call(func=ast.Subscript(slice=grid), args=args):  # a kernel is launched
                todo += [grid, *(a for a in args if not isinstance(a, ast.Name))]
            case ast.Return(value=ast.Name()):
                pass
            case ast.Return(value=ast.Tuple(elts=items)):
                todo += [e for e in items if not isinstance(e, ast.Name)]
            case ast.Name(id=name, ctx=ast.Load()):
                found.add(name)
            case _:
                todo.extend(ast.iter_child_nodes(node))
    return found


def _rows(body: Sequence[ast.stmt], axes: dict[str, int]) -> dict[str, tuple[str, int]]:
    """Names that are only ever rows of one of some arrays, which that is, and by how many indices."""
    found: dict[str, tuple[str, int]] = {}
    stores: Counter[str] = Counter(n.id for s in body for n in names_in(s) if isinstance(n.ctx, ast.Store))
    for s in statements_in(body):
        match s:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id=array), slice=index)):
                count = len(index.elts) if isinstance(index, ast.Tuple) else 1
                if count < axes.get(array, 0) and found.setdefault(name, (array, count)) == (array, count):
                    stores[name] -= 1
    return {name: row for name, row in found.items() if not stores[name]}


def _is_element(index: ast.expr, axes: int) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return len(parts) == axes and not any(isinstance(p, ast.Slice) for p in parts)
