"""Comprehensions and generator expressions, as the nested functions that Python's manual says they are.

``[f(x) for x in xs if x > 0]`` is a call of a function that loops, tests and appends. What consumes a
generator expression (`any`, `sum`, ...) gets a function of its own, so that `any` and `all` stop early.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.errors import SrcgraphError
from srcgraph.frontend import calls, contents, expressions, headers, item_kinds, iteration, lists, nested
from srcgraph.frontend.closures import captured_now
from srcgraph.frontend.entities import Closure, Entity, Iteration, Listing, Rows, Tup
from srcgraph.frontend.memory import Dead, Refusal, as_index, refuse
from srcgraph.frontend.scope import assigned, elements, reads
from srcgraph.ir.op import OPS
from srcgraph.ir.types import BOOL

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

CONSUMERS: dict[Any, tuple[str, str, str]] = {
    any: ("", "if {e}: return True", "return False"),
    all: ("", "if not {e}: return False", "return True"),
    sum: ("{out} = {start}", "{out} = {out} + {e}", "return {out}"),
    next: ("", "return {e}", "raise StopIteration"),
}
"""What a function that reads a generator expression does before, with each item, and at the end."""
NEXT_OR = ("{out} = {start}", "return {e}", "return {out}")
"""``next(..., default)``."""
ROWS = (
    "{out} = []; {start} = [0, 0, True]",
    """
{start}[0] += 1
for {item} in {e}:
    {out}.append({item})
if {start}[0] == 1:
    {start}[1] = len({out})
elif len({out}) != {start}[0] * {start}[1]:
    {start}[2] = False
""",
    "return {out}, {start}[0], {start}[1], {start}[2]",
)
"""For a table: the numbers row by row, how many rows and columns there are, and whether all rows are of one length."""


def comprehension(low: Lowering, node: Any, hint: str = "") -> Entity:
    """``[e for x in xs if c]``: a new list."""
    if makes_lists(low, node) and not is_known(low, node):
        return repeated_row(low, node, hint) or list_of_lists(low, node, hint)
    return evaluated(low, node, LIST, hint)


LIST = ("{out} = []", "{out}.append({e})", "return {out}")


def makes_lists(low: Lowering, node: Any) -> bool:
    """Whether the items are lists themselves; where their text does not say, the last one is lowered to see."""
    row = node.elt
    if is_table(node):
        return True
    copies = isinstance(row, gast.Subscript) and isinstance(row.slice, gast.Slice)
    if not (copies or (isinstance(row, gast.Call | gast.BinOp) and _is_made_of_lists(row))):
        return False
    problems, found = low.session.problems, None
    kept = len(problems)
    with suppress(Refusal, SrcgraphError, Dead):
        lower = partial(evaluated, low, node, ("{out} = []", "{out} = {e}", "return {out}"))
        found = low.inside(low.builder.new_region(), low.state.copy(), lower)
    del problems[kept:]
    return isinstance(found, Listing)


def _is_made_of_lists(row: Any) -> bool:
    """``list(...)``, ``xs.copy()``, ``f(x)`` of a name, ``[a] + xs``: what may be a list."""
    if isinstance(row, gast.BinOp):
        return any(isinstance(n, gast.List | gast.ListComp) for n in (row.left, row.right))
    function = row.func
    if isinstance(function, gast.Attribute):
        return function.attr in ("copy", "tolist")
    return isinstance(function, gast.Name) and function.id in ("list", "sorted")


def repeated_row(low: Lowering, node: Any, hint: str) -> Entity | None:
    """``[[a] * m for _ in range(n)]``: one row, made once, as often as needed. None where it is not as simple."""
    (generator, *more), row = node.generators, node.elt
    if more or generator.ifs or not _is_simple(row) or not isinstance(generator.target, gast.Name):
        return None
    if generator.target.id in reads(row):
        return None
    over = expressions.lower(low, generator.iter)
    if not (isinstance(over, Iteration) and over.kind == "range"):
        return None
    made = expressions.lower(low, row)
    if not isinstance(made, Listing) or made.at:
        return None
    held = contents.content(low, made)
    kind = item_kinds.joint_kind(low, held)
    rows = contents.as_rows(low, held, kind, growing=False)
    count, _ = iteration.counted(low, over)
    parts = []
    for part in rows.parts:
        sizes = map(low.builder.dim_value, part.type.shape)
        whole = low.builder.call_named("broadcast_to", part, count, *sizes)
        parts.append(low.builder.apply(OPS["copy"], (whole,), {}, name=hint))
    return contents.new_list(low, Rows(headers.Row(kind), tuple(parts)), hint)


def _is_simple(node: Any) -> bool:
    """Whether an expression can be evaluated once instead of often, or not at all."""
    if isinstance(node, gast.List):
        return all(map(_is_simple, node.elts))
    if isinstance(node, gast.ListComp):
        (generator, *more) = node.generators
        fine = _is_range(generator.iter) and not more and not generator.ifs
        return fine and all(map(_is_simple, [node.elt, *generator.iter.args]))
    if isinstance(node, gast.BinOp):
        fine = isinstance(node.op, gast.Add | gast.Sub | gast.Mult)
        return fine and _is_simple(node.left) and _is_simple(node.right)
    if isinstance(node, gast.UnaryOp):
        return _is_simple(node.operand)
    if isinstance(node, gast.Attribute):
        return _is_simple(node.value)
    return isinstance(node, gast.Constant | gast.Name)


def list_of_lists(low: Lowering, node: Any, hint: str) -> Entity:
    """Lists of one length, from all their numbers."""
    if _is_ragged(node):
        raise refuse("a list of lists of different lengths is not supported", low.loc, nested.LISTS)
    made = evaluated(low, node, ROWS)
    assert isinstance(made, Tup)
    numbers, rows, columns, even = made.items
    b = low.builder
    message = "lists of different lengths in a list are not supported"
    fine = OPS["equal"](b.cast(low.value(even), BOOL, True), True)
    b.call_named("check_that", fine, error="NotImplementedError", message=message)
    assert isinstance(numbers, Listing)
    held = contents.content(low, numbers)
    kind = item_kinds.joint_kind(low, held)
    if not isinstance(kind, headers.Number):
        raise refuse(nested.GROWS, low.loc, nested.LISTS)
    flat = contents.as_rows(low, held, kind, growing=False)
    sizes = [OPS["maximum"](as_index(low, low.value(e)), 0) for e in (rows, columns)]
    parts = tuple(b.apply(OPS["reshape"], (p, *sizes), {}, name=hint) for p in flat.parts)
    return contents.new_list(low, Rows(headers.Row(kind), parts), hint)


def _is_ragged(node: Any) -> bool:
    """Whether the text says that each list is longer than the one before: ``[[0] * (k + 1) for k in range(n)]``."""
    counters = {g.target.id for g in node.generators if isinstance(g.target, gast.Name) and _is_range(g.iter)}
    lengths: list[Any] = []
    match node.elt:
        case gast.BinOp(left=a, op=gast.Mult(), right=b):
            lengths = [n for n in (a, b) if not isinstance(n, gast.List)]
        case gast.ListComp(generators=[gast.comprehension(iter=over, ifs=[])]) if _is_range(over):
            lengths = over.args
    return all(map(_is_simple, lengths)) and not counters.isdisjoint(frozenset().union(*map(reads, lengths)))


def _is_range(node: Any) -> bool:
    return isinstance(node, gast.Call) and getattr(node.func, "id", "") == "range"


def of_dict(low: Lowering, node: Any, hint: str = "") -> Entity:
    """``{k: v for x in xs if c}``: a new dict, whose keys have to be known when compiling."""
    return evaluated(low, node, ("{out} = {{}}", "{out}[{e}] = {v}", "return {out}"), hint)


def of_set(low: Lowering, node: Any, hint: str = "") -> Entity:
    """``{e for x in xs if c}``: the items have to be known when compiling."""
    items = lists.known_items(low, comprehension(low, node, hint))
    if items is None:
        why = "a set of as many items as are computed at run time is not supported"
        raise refuse(why, low.loc, "use np.unique(...), or a list")
    return expressions.set_of(low, items)


def is_table(node: Any) -> bool:
    """``[[f(x, y) for y in ys] for x in xs]`` and the like: as many rows as are known at run time."""
    if not isinstance(node, gast.ListComp):
        return False
    row = node.elt
    times = isinstance(row, gast.BinOp) and isinstance(row.op, gast.Mult)
    return isinstance(row, gast.ListComp | gast.List) or (times and gast.List in (type(row.left), type(row.right)))


def is_known(low: Lowering, node: Any) -> bool:
    """Whether the number of items of a comprehension is known when compiling; lowers it to see."""
    problems, found = low.session.problems, False
    kept = len(problems)
    with suppress(Refusal, SrcgraphError, Dead):
        lower = partial(evaluated, low, node, LIST)
        found = low.inside(
            low.builder.new_region(), low.state.copy(), lambda: lists.known_items(low, lower()) is not None
        )
    found = found and len(problems) == kept
    del problems[kept:]
    return found


def table(low: Lowering, node: Any) -> Entity:
    """The numbers of such a table as an array, and what `library.of_rows` wants to know of them."""
    return evaluated(low, node, ROWS)


def consumed(low: Lowering, function: Any, node: Any, start: Entity | None = None) -> Entity:
    """``any(e for x in xs)`` and the like; other functions read a list of the items."""
    parts = NEXT_OR if function is next and start is not None else CONSUMERS.get(function)
    return comprehension(low, node) if parts is None else evaluated(low, node, parts, start=start)


def evaluated(
    low: Lowering, node: Any, parts: tuple[str, str, str], hint: str = "", start: Entity | None = None
) -> Entity:
    """Call the function that a comprehension is."""
    if any(isinstance(n, gast.NamedExpr) for n in gast.walk(node)):
        raise refuse("`:=` inside a comprehension is not supported", low.loc, "write a loop")
    made: dict[Any, Any] = low.session.comprehensions
    key = (id(node), parts)
    if key not in made:
        made[key] = (node, _function(node, parts, hint))
    function = made[key][1]
    args = [] if start is None else [start]
    closure = Closure(function, function.name, (), (), low.code, captured_now(low, function))
    entity = calls.call_closure(low, closure, args, {})
    for name in reads(node):
        low.spend(name)
    return entity


def _function(node: Any, parts: tuple[str, str, str], hint: str) -> Any:
    """The nested function: its loops are the generators', its innermost statement is the consumer's."""
    taken = reads(node) | assigned([node]) | {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}
    names = {k: _free(k, taken) for k in ("start", "item")} | {"out": _free(hint or "items", taken)}
    names |= {"e": "__e__", "v": "__v__"}
    before, each, after = (p.format(**names) for p in parts)
    params = names["start"] if "= {start}" in parts[0] else ""
    function = gast.parse(f"def comprehension({params}):\n    {after}\n").body[0]
    first, inner = gast.parse(before).body, gast.parse(each)
    for made in gast.walk(inner):
        gast.copy_location(made, node)
    _Put(dict(zip(("__e__", "__v__"), elements(node), strict=False))).visit(inner)
    body = inner.body
    for name in gast.walk(node.generators[0].iter):
        name.around = True  # Python evaluates the first iterable before the call
    for k in range(len(node.generators) - 1, -1, -1):
        body = [_loop(node.generators[k], body)]
    function.body = [*first, *body, *function.body]
    return _placed(function, node)


class _Put(gast.NodeTransformer):
    """Puts the element in place of ``__e__``, the value of a dict's item in place of ``__v__``."""

    def __init__(self, elements: dict[str, Any]):
        self.elements = elements

    def visit_Name(self, node: Any) -> Any:
        return self.elements.get(node.id, node)


def _loop(generator: Any, body: Sequence[Any]) -> Any:
    for test in reversed(generator.ifs):
        body = [gast.copy_location(gast.If(test, list(body), []), test)]
    loop = gast.copy_location(gast.For(generator.target, generator.iter, list(body), [], None), generator.target)
    loop.of_comprehension = True
    return loop


def _free(name: str, taken: frozenset[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _placed(function: Any, node: Any) -> Any:
    """Nodes made here are at the comprehension's place."""
    own = {id(n) for n in gast.walk(node)}
    for inner in gast.walk(function):
        if id(inner) not in own and not (isinstance(inner, gast.For | gast.If) and _is_users(inner, own)):
            gast.copy_location(inner, node)
    return function


def _is_users(node: Any, own: set[int]) -> bool:
    return id(node.iter if isinstance(node, gast.For) else node.test) in own
