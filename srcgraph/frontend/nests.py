"""Loops over what iterators make of others, as the loops that Python's manual writes for them.

``for i, j in product(xs, ys): body`` is ``for a in xs: for b in ys: i, j = a, b; body``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import gast

from srcgraph.frontend import statements
from srcgraph.frontend.entities import Const, Entity, Iteration
from srcgraph.frontend.exits import leaving_kinds, replace_exits
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.scope import liveness

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering

ITEM, BODY = "__item__", "__body__"
"""What the template assigns each item to, and what it does with it."""
TEMPLATES = {
    "chain": "for {a} in {0}:\n for __item__ in {a}:\n  __body__",
    "count": "{b} = {0}\nwhile True:\n {a} = {b}\n {b} += {1}\n __item__ = {a}\n __body__",
    "repeat": "while True:\n __item__ = {0}\n __body__",
    "cycle": "{b} = 0\nwhile __len__({0}) > 0:\n __item__ = {0}[{b}]\n {b} = ({b} + 1) % __len__({0})\n __body__",
    "takewhile": "for {a} in {0}:\n if {1}({a}):\n  __item__ = {a}\n  __body__\n else:\n  break",
    "dropwhile": "{b} = True\nfor {a} in {0}:\n {b} = {b} and {1}({a})\n if not {b}:\n  __item__ = {a}\n  __body__",
    "filterfalse": "for {a} in {0}:\n if not {1}({a}):\n  __item__ = {a}\n  __body__",
    "compress": "for {a}, {b} in __zip__({0}, {1}):\n if {b}:\n  __item__ = {a}\n  __body__",
    "ndenumerate": "for {a} in {0}:\n __item__ = {a}, {1}[{a}]\n __body__",
    "enumerate": "{b} = {1} - 1\nfor {a} in {0}:\n {b} += 1\n __item__ = {b}, {a}\n __body__",
    "pairwise": (
        "{b} = None\nfor {a} in {0}:\n if {b} is None:\n  {b} = {a}\n else:\n"
        "  __item__ = {b}, {a}\n  {b} = {a}\n  __body__"
    ),
    "map": "for {a} in {1}:\n __item__ = {0}(*{a})\n __body__",
}
"""``{0}`` is the first part of the iteration; ``{a}`` and ``{b}`` are variables."""
SELECTIONS = {
    "combinations": "{before} + 1",
    "combinations_with_replacement": "{before}",
    "permutations": "{first}",
}
"""Where the index of the next item begins."""


def is_nest(over: Entity) -> bool:
    """Whether its items are found by loops only, not by position."""
    if not isinstance(over, Iteration):
        return False
    if over.kind in ("enumerate", "map"):
        return is_nest(over.parts[over.kind == "map"])
    if over.kind == "repeat":
        return len(over.parts) == 1
    return (over.kind in TEMPLATES and over.kind != "pairwise") or over.kind in SELECTIONS or over.kind == "product"


def loop(low: Lowering, node: Any, over: Entity) -> None:
    """Lower a `for` over a nest."""
    assert isinstance(over, Iteration)
    if over.kind not in (*TEMPLATES, *SELECTIONS, "product"):
        raise refuse(f"{low.shown(over)} over what the loop changes is not supported", low.loc, "loop over positions")
    parts = over.parts[:1] if over.kind in SELECTIONS else over.parts
    made = getattr(node, "nests", None)
    if made is None:
        made = node.nests = {}
    key = (over.kind, over.parts[1:] if over.kind in SELECTIONS else len(parts), _of_range(over))
    if key not in made or not set(low.nested).isdisjoint(made[key].names):
        made[key] = _Nest(low, node, over)
    nest = made[key]
    low.scope.local |= frozenset(nest.names)
    liveness(low.scope, nest.block, low.scope.after[id(node)])
    low.state.names.update(zip(nest.names, parts, strict=False))
    low.nested += nest.names
    try:
        statements.block(low, nest.block)
    finally:
        del low.nested[len(low.nested) - len(nest.names) :]
        for name in nest.names:
            low.state.names.pop(name, None)


def pairs_in(over: Entity) -> list[Entity]:
    """What `pairwise` goes over, anywhere inside."""
    if not isinstance(over, Iteration):
        return []
    return [*(over.parts if over.kind == "pairwise" else ()), *(p for part in over.parts for p in pairs_in(part))]


def _of_range(over: Iteration) -> bool:
    """Whether consecutive integers are combined: the loops are over these, not over positions."""
    pool = over.parts[0] if over.parts else None
    return isinstance(pool, Iteration) and pool.kind == "range" and pool.parts[2] == Const(1)


class _Nest:
    """The statements a loop becomes; ``names`` are their variables, those of the parts first."""

    def __init__(self, low: Lowering, node: Any, over: Iteration):
        users = {n.id for n in gast.walk(low.code.node) if isinstance(n, gast.Name)}
        self.taken = users | {*low.nested}
        self.names: list[str] = []
        count = 1 if over.kind in SELECTIONS else len(over.parts)
        over_names = [self.new("over") for _ in range(count)]
        self.target = node.target
        if over.kind == "product":
            text = self.product(over_names)
        elif over.kind in SELECTIONS:
            text = self.selection(over_names[0], over)
        else:
            text = TEMPLATES[over.kind].format(*over_names, a=self.new("each"), b=self.new("and"))
        body = node.body
        left = ""
        if gast.Break in leaving_kinds(body) and text.count("for ") > 1:
            left = self.new("left")
            body = replace_exits(copy.deepcopy(body), lambda leave: _leave(left, leave))
        self.block = _placed(text, node)
        _Fill(node.target, body, left).fill(self.block)
        if left:
            self.block.insert(0, _placed(f"{left} = False", node)[0])

    def new(self, name: str) -> str:
        name = f"_{name}"
        while name in self.taken or name in self.names:
            name += "_"
        self.names.append(name)
        return name

    def items(self, count: int) -> list[str]:
        """A variable per item of a tuple, named as the user names them."""
        names = [getattr(e, "id", "each") for e in getattr(self.target, "elts", [self.target])]
        return [self.new(names[k] if len(names) == count else names[0]) for k in range(count)]

    def product(self, pools: list[str]) -> str:
        """A loop per pool."""
        items = self.items(len(pools))
        lines = [f"for {item} in {pool}:" for item, pool in zip(items, pools, strict=True)]
        return _nested([*lines, f"__item__ = ({', '.join(items)},)", BODY])

    def selection(self, pool: str, over: Iteration) -> str:
        """A loop per item that is chosen, over positions; over a range, over its numbers."""
        (chosen,) = (p.value for p in over.parts[1:] if isinstance(p, Const))
        at = self.items(chosen) if _of_range(over) else [self.new("at") for _ in range(chosen)]
        lines = []
        first, last, item = (
            (f"{pool}.start", f"{pool}.stop", "{}") if _of_range(over) else ("0", f"__len__({pool})", f"{pool}[{{}}]")
        )
        for k, name in enumerate(at):
            start = SELECTIONS[over.kind].format(before=at[k - 1], first=first) if k else first
            lines.append(f"for {name} in __range__({start}, {last}):")
            if over.kind == "permutations" and k:
                lines.append(f"if {' and '.join(f'{name} != {other}' for other in at[:k])}:")
        items = ", ".join(map(item.format, at))
        return _nested([*lines, f"__item__ = ({items},)", BODY])


def _nested(lines: list[str]) -> str:
    """Each block inside the one before; the last two lines are the innermost."""
    depth = len(lines) - 2
    return "\n".join(" " * min(k, depth) + line for k, line in enumerate(lines))


FUNCTIONS = {"__range__": range, "__len__": len, "__zip__": zip}


def _placed(text: str, node: Any) -> list[Any]:
    """The statements of a text, at the place of what is looped over."""
    statements = gast.parse(text).body
    for statement in statements:
        for inner in gast.walk(statement):
            gast.copy_location(inner, node.iter)
    return statements


def _leave(flag: str, leave: Any) -> list[Any]:
    """What a ``break`` of the user's becomes: one of each loop of the nest."""
    if not isinstance(leave, gast.Break):
        return [leave]
    marked = gast.parse(f"{flag} = True").body[0]
    for inner in gast.walk(marked):
        gast.copy_location(inner, leave)
    return [marked, leave]


class _Fill(gast.NodeTransformer):
    """Puts the user's target and body in place, and the builtins that the template means."""

    def __init__(self, target: Any, body: list[Any], left: str):
        self.target, self.body, self.left = target, body, left

    def fill(self, statements: list[Any]) -> None:
        for statement in statements:
            self.visit(statement)

    def visit_Name(self, node: Any) -> Any:
        if node.id == ITEM:
            return self.target
        function = FUNCTIONS.get(node.id)
        return node if function is None else gast.copy_location(gast.Constant(function, None), node)

    def generic_visit(self, node: Any) -> Any:
        super().generic_visit(node)
        for field in ("body", "orelse"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, self.filled(statements))
        return node

    def filled(self, statements: list[Any]) -> list[Any]:
        """A block of the template; after a loop inside another, a way out of that too."""
        out: list[Any] = []
        for statement in statements:
            if isinstance(statement, gast.Expr) and getattr(statement.value, "id", "") == BODY:
                out += self.body
                continue
            out.append(statement)
            if isinstance(statement, gast.For) and self.left:
                (leave,) = _placed(f"if {self.left}:\n break", _At(statement))
                out.append(leave)
        return out


class _At:
    """Something whose `iter` says where the statements made are."""

    def __init__(self, node: Any):
        self.iter = node.iter
