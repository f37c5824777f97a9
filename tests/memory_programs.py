"""Random programs about memory: names rebound and swapped, views, stores, calls that change or hand on arrays."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from random import Random

import numpy as np

NAMES = "abcx"
HELPERS = """\
def bump(u, v):
    u[0] += v[1]
    return u


def pick(u, v, k):
    if k > 1:
        return u
    return v


"""
STATEMENTS = (
    (20, "{a} = {b}"),
    (15, "{a}, {b} = {b}, {a}"),
    (20, "{a}[{i}] += {j}.0 + 0.5 * {b}[{i}]"),
    (7, "{a}[:] = {b} * 0.5 + 1.0"),
    (6, "{a} = {b} * 0.5"),
    (4, "{a} = {b}.copy()"),
    (3, "s += {a}[0] * 0.25"),
    (2, "{a} += 1.0"),
    (2, "{a} = {b}[::-1]"),
    (2, "{a} = bump({b}, {c})"),
    (2, "{a} = pick({b}, {c}, k)"),
    (2, "{a}[1:] += {b}[:-1]"),
)
TESTS = ("k % 2 == 0", "s < 2.0", "{a}[0] > 2.0", "k > 0")


class _Writer:
    """Writes one program, statement by statement."""

    def __init__(self, random: Random):
        self.random = random
        self.lines: list[str] = []

    def add(self, indent: int, text: str) -> None:
        pick = self.random.choice
        fields = {n: pick(NAMES) for n in "abc"} | {"i": self.random.randrange(3), "j": self.random.randrange(1, 5)}
        self.lines.append("    " * indent + text.format(**fields))

    def statement(self, indent: int, in_loop: bool) -> None:
        kind = self.random.random() if indent < 3 else 0.0
        if kind < 0.75:
            weights, texts = zip(*STATEMENTS, strict=True)
            self.add(indent, self.random.choices(texts, weights)[0])
        elif kind < 0.88:
            self.branch(indent, in_loop)
        else:
            self.add(indent, f"for k in range({self.random.choice(('n', '2', 'n - 1'))}):")
            self.block(indent + 1, self.random.randrange(1, 4), True)

    def branch(self, indent: int, in_loop: bool) -> None:
        self.add(indent, f"if {self.random.choice(TESTS)}:")
        self.block(indent + 1, self.random.randrange(1, 3), in_loop)
        if in_loop and self.random.random() < 0.3:
            self.add(indent + 1, self.random.choice(("break", "continue")))
        elif self.random.random() < 0.5:
            self.add(indent, "else:")
            self.block(indent + 1, 1, in_loop)

    def block(self, indent: int, count: int, in_loop: bool) -> None:
        for _ in range(count):
            self.statement(indent, in_loop)


def program_text(seed: int) -> str:
    """The source of a function ``f(x, n)`` of an array of length 3 and a number of trips."""
    writer = _Writer(random := Random(seed))
    writer.lines += ["def f(x, n):", "    k = 0", "    s = 0.0"]
    writer.lines.append("    a = x.copy()" if random.random() < 0.7 else "    a = x")
    writer.lines += ["    b = x * 2.0", f"    c = {random.choice(('a', 'b', 'x.copy()'))}"]
    writer.block(1, random.randrange(3, 7), False)
    read = [n for n in NAMES if random.random() < 0.7] or ["a"]
    sums = "".join(f" + {k + 2}.0 * np.sum({n})" for k, n in enumerate(read))
    writer.lines.append(f"    return s{sums}")
    return HELPERS + "\n".join(writer.lines) + "\n"


def load(text: str, name: str) -> Callable:
    """The function ``f`` of a text, whose source can be found."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict = {"np": np}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]
