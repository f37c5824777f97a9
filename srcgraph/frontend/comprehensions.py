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
from srcgraph.frontend import calls, expressions, lists
from srcgraph.frontend.closures import captured_now
from srcgraph.frontend.entities import Closure, Entity
from srcgraph.frontend.memory import Dead, Refusal, refuse
from srcgraph.frontend.scope import assigned, elements, reads

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
    return evaluated(low, node, ("{out} = []", "{out}.append({e})", "return {out}"), hint)


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
        lower = partial(comprehension, low, node)
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
