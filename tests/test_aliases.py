"""Names that may be one memory: what is said of random programs holds whatever way they go, and not of others."""

from __future__ import annotations

import ast
import itertools
import random
from typing import Any

import numpy as np
import pytest

from srcgraph.codegen.aliases import Aliases

NAMES = ("x", "y", "u", "v", "w")
PARAMS = ("x", "y")
LISTS = ("xs", "ys")


def shared(text: str) -> tuple[Aliases, list[ast.stmt], ast.Module]:
    tree = ast.parse(text)
    made = Aliases(tree.body, list(PARAMS), {*NAMES, *LISTS}, dict.fromkeys(NAMES, 1), {"view"})
    return made, [n for n in ast.walk(tree) if isinstance(n, ast.For | ast.While)], tree


class Program:
    """Statements at random."""

    def __init__(self, seed: int):
        self.pick, self.lines = random.Random(seed), [f"{n} = np.empty(3)" for n in NAMES[2:]]
        self.lines += [f"{n} = [np.empty(3)]" for n in LISTS]
        self.block("", 0)

    def block(self, indent: str, depth: int) -> None:
        for _ in range(self.pick.randint(1, 4)):
            self.statement(indent, depth)

    def statement(self, indent: str, depth: int) -> None:
        r, a, b, c = self.pick, *self.pick.sample(NAMES, 3)
        own, other = r.sample(LISTS, 2)
        kind = r.randrange(13) if depth < 3 else r.randrange(9)
        simple = [
            f"{a} = {b}", f"{a} = {b}[1:]", f"{a} = np.empty(3)", f"{a} = copy({b})", f"{a}, {b} = {b}, {a}",
            f"{a}, {b}, {c} = {b}, {c}, {a}", f"{own}.append({a})", f"{a} = {own}[-1]",
            r.choice([f"{own} = {other}", f"{own}[0] = {a}", f"{a} = view({b})", f"{a} = {b} if flag() else {c}"]),
        ]  # fmt: skip
        if kind < len(simple):
            self.lines.append(indent + simple[kind])
            return
        head = ("if flag():", "for _ in range(trips()):", f"for {a} in {own}[:2]:", "while flag():")[kind - len(simple)]
        self.lines.append(indent + head)
        self.block(indent + "    ", depth + 1)
        if head.startswith("if"):
            self.lines.append(indent + "else:")
            self.block(indent + "    ", depth + 1)
        elif r.random() < 0.4:
            self.lines.append(f"{indent}    if flag():\n{indent}        {r.choice(['break', 'continue'])}")
            self.block(indent + "    ", depth + 1)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class Watched(ast.NodeTransformer):
    """A program that tells, after each statement, which loops it is in."""

    def __init__(self, loops: list[ast.stmt]):
        self.loops, self.around = loops, []

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        look = f"look({[self.loops.index(n) for n in self.around]})"
        made = [ast.parse(look).body[0]]
        for node in body:
            made += [self.visit(node), ast.parse(look).body[0]]
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.For | ast.While | ast.If):
            self.around += [node] if not isinstance(node, ast.If) else []
            node.body = self.statements(node.body)
            self.around = self.around[:-1] if not isinstance(node, ast.If) else self.around
            node.orelse = self.statements(node.orelse) if node.orelse else []
        return node


def memory(value: Any) -> list[np.ndarray]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("seed", range(150))
def test_all_that_happens_is_said(seed: int) -> None:
    text = str(Program(seed))
    aliases, loops, tree = shared(text)
    said = [aliases.during(loop) for loop in loops]
    tree.body = Watched(loops).statements(tree.body)
    code = compile(ast.fix_missing_locations(tree), "program", "exec")
    given = [np.empty(3), np.empty(3)]
    for way in range(12):
        r, left = random.Random(1000 * seed + way), itertools.count()

        def flag(r: random.Random = r, left: Any = left) -> bool:
            return next(left) < 60 and r.random() < 0.6

        space: dict[str, Any] = dict(zip(PARAMS, given, strict=True))

        def look(inside: list[int], space: dict[str, Any] = space) -> None:
            held = {n: memory(space[n]) for n in (*NAMES, *LISTS) if n in space}
            for a, b in itertools.combinations(held, 2):
                if any(np.shares_memory(p, q) for p in held[a][:6] for q in held[b][:6]):
                    assert all(said[k].same(a, b) and not said[k].alone(a) for k in inside), f"{a} {b}\n{text}"
            for a, mine in held.items():
                if any(np.shares_memory(p, q) for p in mine[:6] for q in given):
                    assert all(said[k].is_callers(a) for k in inside), f"{a}\n{text}"

        functions = {"np": np, "flag": flag, "trips": lambda r=r: r.randrange(4), "view": lambda x: x, "look": look}
        space |= functions | {"copy": np.copy}
        exec(code, space)


APART = {
    "an array that is filled, and handed on": ("u = x\nfor _ in range(n):\n    v = np.empty(3)\n    u = v", "u", "y"),
    "exchanged": ("u = x\nv = np.empty(3)\nfor _ in range(n):\n    u, v = v, u", "u", "v"),
    "three of them": ("u = x\nv = y\nw = copy(x)\nwhile c:\n    u, v, w = w, u, v", "u", "w"),
    "copied before": ("x = copy(x)\nfor _ in range(n):\n    v = x[1:]", "v", "y"),
    "bound anew": ("u = x\nu = np.empty(3)\nfor _ in range(n):\n    v = u", "u", "x"),
}


@pytest.mark.parametrize("text, a, b", APART.values(), ids=list(APART))
def test_what_never_meets(text: str, a: str, b: str) -> None:
    aliases, (loop,), _ = shared(text)
    assert not aliases.during(loop).same(a, b)


def test_what_is_filled_is_not_what_is_read() -> None:
    """In the loops that fill it; from trip to trip it is."""
    text = "u = x\nfor _ in range(n):\n    v = np.empty(3)\n    for i in range(3):\n        v[i] = u[i]\n    u = v"
    aliases, (outer, inner), _ = shared(text)
    assert aliases.during(outer).same("u", "v") and not aliases.during(inner).same("u", "v")
    assert aliases.during(inner).is_callers("u") and not aliases.during(inner).is_callers("v")
