"""Random nests: loops that go over the elements of an array of the function's own again and again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fuzz.kinds import FLOAT, Kind
from fuzz.structures import Structures
from srcgraph.codegen import inward
from srcgraph.opt import elements, masked, strips


class Nests(Structures):
    """A maker of such nests."""

    nested: float
    """How often one is drawn."""

    def nest(self, indent: int, loop: bool) -> bool:
        if indent > 2:
            return False
        own, number = self.new("own"), self.new("z")
        v = self.vector("f", "n") or "x"
        rows = self.chance(0.25)
        made = "np.zeros((4, len(x)))" if rows else self.one(("np.zeros(len(x))", f"{v}.copy()", f"{v} * 0.5"))
        self.put(indent, f"{own} = {made}")
        before = self.chance(0.4)
        if before:
            self.put(indent, f"{number} = 0.25")
        outer = [self.new("c") for _ in range(self.random.choice((1, 1, 1, 2)))]
        at = indent
        for c in outer:
            run = "range(3)" if rows else self.one(("range(2)", "range(3)", "range(3, 0, -1)", "range(n % 4)"))
            self.put(at, f"for {c} in {run}:")
            at += 1
            if not before or self.chance(0.5):
                self.put(at, f"{number} = {self.one(('0.0', f'0.1 * {c}', '0.5'))}")
        self.inner(at, own, number, outer[-1], rows, v)
        if not rows:
            self.scope.names[own] = Kind("f", ("n",))
        else:
            self.made(indent, "tot", FLOAT, f"np.sum({own}[1])")
        return True

    def inner(self, at: int, own: str, number: str, c: str, rows: bool, v: str) -> None:
        """The loop over elements, each of which is read, or changed, or both."""
        i = self.new("i")
        others = ("range(len(x) - 1, -1, -1)", "range(0, len(x), 2)", "range(1, len(x) - 1)")
        self.put(at, f"for {i} in {self.one(('range(len(x))',) * 4 + others)}:")
        here = f"{own}[{c}, {i}]" if rows else f"{own}[{i}]"
        done = (
            f"{number} = 0.5 * {number} + {here}", f"{number} += 0.3 * {v}[{i}]", f"{number} = max({number}, {here})",
            f"{here} = {number}", f"{here} += 0.3 * {number}", f"{here} = 0.5 * {here} + 0.1 * {c}",
            f"{here} = np.sin({v}[{i}])", f"{here} *= 0.5", f"{here} += {v}[{i}] * {v}[len(x) - 1 - {i}]",
            f"if {here} > {number}: {here} = 0.2 - {number}", f"if {v}[{i}] > 0.5: {number} = 0.9 * {number} + 0.1",
        )  # fmt: skip
        for _ in range(self.random.randint(1, 3)):
            self.put(at + 1, self.one(done))


@contextmanager
def short_strips() -> Iterator[None]:
    """What is done for so many elements at a time is done for a few: arrays are short here."""
    places = [(inward, "STRIP"), (elements, "WIDE"), (elements, "LANES"), (masked, "LANES"), (strips, "STRIP")]
    before = [getattr(module, name) for module, name in places]
    try:
        for module, name in places:
            setattr(module, name, 2)
        yield
    finally:
        for (module, name), value in zip(places, before, strict=True):
            setattr(module, name, value)
