"""Loops whose trips are said to be independent: in any order they give the same; and those that are known not to be."""

from __future__ import annotations

import ast
import random

import numpy as np
import pytest

from srcgraph.codegen.aliases import Aliases
from srcgraph.codegen.independent import Independent, Known, independent

AXES = {"x": 1, "y": 1, "z": 1, "h": 1, "m": 2, "w": 2, "old": 1, "new": 1, "q": 1}
AFTER = frozenset({"s", "p", "best", "x", "y", "z", "m", "w", "h", "old", "new", "every"})


def found(
    text: str, before: str = "", params: tuple[str, ...] = ("x", "y", "z", "m", "w", "h", "k")
) -> Independent | str:
    """What is found of a loop, in a function that begins with other statements."""
    body = ast.parse(before + "\n" + text).body
    loop = next(s for s in body if isinstance(s, ast.For))
    held = {*AXES, "k", "xs"}
    aliases = Aliases(body, list(params), held, {**AXES, "k": 1}, {"reshape"})
    known = Known({**AXES, "k": 1}, {"xs"}, {"count"}, {"show"}, {"solve"}, aliases.during(loop))
    return independent(loop, known, AFTER)


INDEPENDENT = {
    "own place": "for i in range(n):\n    x[i] = 2.0 * y[i]",
    "own place, moved": "for i in range(n - 2):\n    x[i + 1] += y[i] + y[i + 2]",
    "backwards": "for i in range(n - 1, -1, -1):\n    x[i] = y[i]",
    "turned round": "for i in range(n):\n    x[n - 1 - i] = y[i]",
    "rows": "for i in range(n):\n    for j in range(n):\n        m[i, j] = m[i, j] + w[j, i]",
    "columns": "for j in range(n):\n    for i in range(1, n):\n        m[i, j] += m[i - 1, j]",
    "a whole row": "for i in range(n):\n    m[i, 0] = total(w[i])",
    "every second": "for i in range(1, n - 1, 2):\n    x[i] = x[i - 1] + x[i + 1]",
    "twice as far": "for i in range(n):\n    x[2 * i] = x[2 * i + 1]",
    "own variable": "for i in range(n):\n    t = y[i] * 2.0\n    x[i] = t * t",
    "own array": "for i in range(n):\n    q = np.empty(3)\n    q[0] = y[i]\n    x[i] = q[0]",
    "own list": "for i in range(n):\n    xs = []\n    xs.append(y[i])\n    x[i] = xs.pop()",
    "place of another name": "for i in range(n):\n    k1 = i + 3\n    x[k1] = x[k1] * 2.0",
    "index that is known": "for i in range(n):\n    x[i] = y[0] + y[k[i]]",
    "own while": "for i in range(n):\n    t = y[i]\n    while t > 1.0:\n        t = t * 0.5\n    x[i] = t",
}

SUMS = {
    "sum": ("for i in range(n):\n    s += x[i]", "add"),
    "difference": ("for i in range(n):\n    s -= x[i] * y[i]", "add"),
    "product": ("for i in range(n):\n    p *= x[i]", "mul"),
    "largest": ("for i in range(n):\n    best = x[i] if x[i] > best else best", "kept"),
    "least": ("for i in range(n):\n    if best > x[i]:\n        best = x[i]", "kept"),
    "of NumPy": ("for i in range(n):\n    best = np.maximum(best, x[i])", "extreme"),
    "all": ("for i in range(n):\n    every = every and x[i] > 0.0", "and"),
    "of blocks": (
        "for block in blocks(n):\n    part = 0.0\n    for i in block:\n        part = plus(part, x[i])\n"
        "    s, p = two_sum(s, part, p)",
        "two_sum",
    ),
}

DEPENDENT = {
    "neighbour": "for i in range(1, n):\n    x[i] = x[i - 1]",
    "later neighbour": "for i in range(n - 1):\n    x[i] = x[i + 1]",
    "one place": "for i in range(n):\n    x[0] = y[i]",
    "any place": "for i in range(n):\n    x[k[i]] = y[i]",
    "read as a whole": "for i in range(n):\n    x[i] = total(x)",
    "other axes": "for i in range(n):\n    m[i, 0] = m[0, i]",
    "two factors": "for i in range(n):\n    x[i] = x[2 * i]",
    "third of every second": "for i in range(2, n, 2):\n    x[i] = x[i - 2]",
    "sum that is read": "for i in range(n):\n    s += x[i]\n    y[i] = s",
    "sum of itself": "for i in range(n):\n    s += s * x[i]",
    "two kinds": "for i in range(n):\n    s += x[i]\n    s *= 2.0",
    "last one": "for i in range(n):\n    s = x[i]",
    "last one, now and then": "for i in range(n):\n    if x[i] > 0.0:\n        s = x[i]",
    "kept where NaN would be": "for i in range(n):\n    best = best if best > x[i] else x[i]",
    "exit": "for i in range(n):\n    if x[i] > 0.0:\n        break\n    y[i] = 1.0",
    "return": "for i in range(n):\n    return x[i]",
    "text": "for i in range(n):\n    show(x[i])",
    "list": "for i in range(n):\n    xs.append(x[i])",
    "list that is emptied": "for i in range(n):\n    x[i] = xs.pop()",
    "read and added to": "for i in range(1, n):\n    x[i - 1] += 1.0\n    y[i] = x[i]",
    "added to by itself": "for i in range(1, n):\n    x[i - 1] += x[i]",
    "variable of its own": "for i in range(n):\n    i = i + 1\n    x[i] = 0.0",
    "large integers": "for i in range(n):\n    count += k[i]",
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent(name: str) -> None:
    assert found(INDEPENDENT[name]) == Independent()


@pytest.mark.parametrize("name", SUMS)
def test_sums(name: str) -> None:
    text, kind = SUMS[name]
    result = found(text)
    assert isinstance(result, Independent), result
    assert [s.kind for s in result.sums] == [kind]


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent(name: str) -> None:
    assert isinstance(found(DEPENDENT[name]), str)


def test_added_to_only() -> None:
    near = found("for i in range(1, n - 1):\n    x[i - 1] += y[i]\n    x[i] -= y[i]\n    x[i + 1] += y[i]")
    assert isinstance(near, Independent) and near.spread == 3 and not near.anywhere
    far = found("for i in range(n):\n    h[k[i]] += y[i]\n    w[0, 0] += 1.0")
    assert isinstance(far, Independent) and sorted(far.anywhere) == ["h", "w"] and not far.spread


def guards(text: str, **more: str) -> list[str]:
    result = found(text, **more)
    assert isinstance(result, Independent), result
    return [ast.unparse(t) for t in result.provided]


def test_what_has_to_be_true_before() -> None:
    """Exceptions where the caller's arrays are stored into."""
    assert guards("for i in range(a, n):\n    x[i] = 1.0") == []
    assert guards("for i in range(n):\n    if i > 0:\n        x[i - 1] = 1.0") == []
    assert guards("for i in range(n):\n    if i >= q:\n        raise E\n    x[i] = 1.0") == ["n - 1 < q"]
    inner = (
        "for i in range(n):\n    for j in range(i, 2 * n):\n        if i + j > q:\n            raise E\n    x[i] = 1.0"
    )
    assert guards(inner) == ["n - 1 + (2 * n - 1) <= q"]
    assert isinstance(found("for i in range(n):\n    if y[i] < 0.0:\n        raise E\n    x[i] = 1.0"), str)
    assert isinstance(found("for i in range(n):\n    x[i] = solve(y[i])"), str)


def test_exceptions_where_nobody_sees_what_was_stored() -> None:
    text = "for i in range(n):\n    if y[i] < 0.0:\n        raise E\n    {}[i] = solve(y[i])"
    for name, before in (("x", "x = np.empty(n)"), ("x", "x = copy(x)"), ("new", "new = np.zeros(n)")):
        result = found(text.format(name), before)
        assert isinstance(result, Independent) and result.raises
    assert isinstance(found(text.format("x"), "x = y"), str)


SHARING = {
    "another name": "y = x",
    "a part": "y = x[1:]",
    "transposed": "y = x.T",
    "a view": "y = reshape(x, (n,))",
    "one of two": "y = x if n > 3 else z",
    "in a list": "xs = [x]\ny = xs[0]",
    "put into a list": "xs.append(x)\ny = xs.pop()",
    "moved along": "x, y = y, z\nz = x\ny, x = z, x",
}


@pytest.mark.parametrize("name", SHARING)
def test_arrays_that_may_be_the_same(name: str) -> None:
    loop = "for i in range(n - 1):\n    x[i] = y[i + 1]"
    assert isinstance(found(loop, SHARING[name]), str)
    assert found(loop) == Independent()


def test_arrays_that_change_places() -> None:
    """They stay apart, unless they were one; what else is one of them may be the other, too."""
    before = "new = np.empty(n)\nold = np.empty(n)\nwhile c:\n    old, new = new, old\n"
    loop = "for i in range(1, n):\n    new[i] = old[i - 1]"
    assert found(loop, before) == Independent()
    assert found(loop, before + "z = old") == Independent()
    assert isinstance(found(loop, before.replace("old = np.empty(n)", "old = new")), str)
    assert isinstance(found(loop.replace("old[", "z["), before.replace("while", "z = old\nwhile")), str)


# -- any order -----------------------------------------------------------------------------------------------


class Programs:
    """Random loops over integers, whose sums are exact."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def pick(self, *texts: str) -> str:
        return self.random.choice(texts)

    def place(self) -> str:
        a, b = self.random.choice((1, 1, 1, 2, -1)), self.random.randint(-1, 4)
        return self.pick("i", "i", f"{a} * i + {b}", f"i + {b}", "n - 1 - i", "j", "k[i]", "2", "i - 1", "t % 5")

    def element(self) -> str:
        array = self.pick("x", "y", "z", "m", "old", "new")
        return f"{array}[{self.place()}, {self.place()}]" if array == "m" else f"{array}[{self.place()}]"

    def value(self) -> str:
        return self.pick(self.element(), f"{self.element()} + {self.element()}", "t", "i", "3", f"t * {self.element()}")

    def statement(self, depth: int) -> list[str]:
        kind = self.random.randint(0, 9 if depth else 7)
        match kind:
            case 0 | 1:
                return [f"{self.element()} = {self.value()}"]
            case 2 | 3:
                return [f"{self.element()} {self.pick('+=', '-=')} {self.value()}"]
            case 4:
                return [f"t = {self.value()}"]
            case 5:
                return [f"{self.pick('s', 'p')} {self.pick('+=', '-=', '*=')} {self.value()}"]
            case 6:
                return [f"if {self.element()} > best:", f"    best = {self.element()}"]
            case 7:
                value = self.element()
                return [f"if {value} > best:", f"    best = {value}"]
            case 8:
                return [f"if {self.value()} > 3:", *self.inside(depth)]
        return [f"for j in range({self.pick('3', 'n', 'i + 1')}):", *self.inside(depth)]

    def inside(self, depth: int) -> list[str]:
        return ["    " + line for _ in range(self.random.randint(1, 2)) for line in self.statement(depth - 1)]

    def loop(self) -> tuple[str, str]:
        """A loop, and what is before it."""
        ranges = ("n", "1, n - 1", "0, n, 2", "n - 1, -1, -1", "a, n", "1, n, 3")
        lines = [line for _ in range(self.random.randint(1, 4)) for line in self.statement(2)]
        before = self.pick("", "", "y = x", "z = x[1:]", "old, new = new, old", "x = x.copy()")
        return f"for i in range({self.pick(*ranges)}):\n" + "\n".join("    " + line for line in lines), before


class FromTheFront(np.ndarray):
    """An array in which no place is counted from the end, as in generated text."""

    def __getitem__(self, index):
        return super().__getitem__(not_negative(index))

    def __setitem__(self, index, value):
        super().__setitem__(not_negative(index), value)


def not_negative(index):
    for k in index if isinstance(index, tuple) else (index,):
        if not isinstance(k, slice) and k < 0:
            raise IndexError(f"index {k} is negative")
    return index


def state(seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    arrays = {name: rng.integers(-3, 9, 24).view(FromTheFront) for name in ("x", "y", "z", "old", "new")}
    matrix = rng.integers(-3, 9, (24, 24)).view(FromTheFront)
    more = {"k": rng.integers(0, 7, 24), "m": matrix, "h": None, "w": None}
    return {**arrays, **more, "n": 8, "a": int(rng.integers(-2, 3)), "s": 1, "p": 2, "best": -10, "t": 4, "j": 1}


def run(loop: ast.For, names: dict[str, object], order: list[int]) -> dict[str, object]:
    """The state after the trips in an order; what is needed afterwards of it."""
    for i in order:
        names["i"] = i
        exec(compile(ast.Module(loop.body, []), "<trip>", "exec"), names)
    kept = [n for n in AFTER if n in names]
    return {n: names[n] for n in kept}


def test_any_order() -> None:
    """Loops that are said to be independent give the same in any order of trips."""
    shared = 0
    for seed in range(3000):
        text, before = Programs(seed).loop()
        result = found(text, before)
        if isinstance(result, str):
            continue
        loop = next(s for s in ast.parse(text).body if isinstance(s, ast.For))
        for trial in range(2):
            names = state(10 * seed + trial)
            exec(before, names)
            if not all(eval(ast.unparse(t), dict(names)) for t in result.provided):
                continue
            trips = list(eval(ast.unparse(loop.iter), names))
            shuffled = random.Random(seed).sample(trips, len(trips))
            again = state(10 * seed + trial)
            exec(before, again)
            try:
                with np.errstate(all="ignore"):
                    right = run(loop, names, trips)
            except (IndexError, ZeroDivisionError):
                continue
            with np.errstate(all="ignore"):
                other = run(loop, again, shuffled)
            for name in right:
                assert np.array_equal(right[name], other[name]), f"{name} after\n{before}\n{text}\n{trips} {shuffled}"
            shared += len(trips) > 1
    assert shared > 300, shared
