"""Random expressions for arrays: views, elementwise mathematics, new arrays."""

from __future__ import annotations

from fuzz.kinds import Shape
from fuzz.numbers import Numbers


class Arrays(Numbers):
    """Draws expressions for arrays of a wanted shape."""

    def array(self, base: str, shape: Shape, depth: int = 2) -> str:
        """An array of this base and shape; may be a view or a name itself."""
        if base == "b":
            return f"({self.array('f', shape, depth - 1)} {self.one('<>')} {self.float_(0)})"
        own = lambda: self.name(lambda k: k.base == base and k.shape == shape)  # noqa: E731
        if depth <= 0:
            return self.weighted([(6, own), (2, lambda: self.part(base, shape)), (1, lambda: self.fresh(base, shape))])
        if base == "i":
            return self.weighted([
                (3, own), (1, lambda: self.part(base, shape)), (1, lambda: self.fresh(base, shape)),
                (2, lambda: f"({self.array(base, shape, depth - 1)} {self.one('+-*')} {self.int_(0)})"),
                (1, lambda: f"({self.array(base, shape, depth - 1)} {self.one(('//', '%'))} {self.one('23')})"),
                (0.5, lambda: f"({self.array('f', shape, depth - 1)}).astype({self.one(('int', 'np.int32'))})"),
            ])  # fmt: skip
        return self.weighted([
            (3, own), (2, lambda: self.part(base, shape)), (0.7, lambda: self.fresh(base, shape)),
            (5, lambda: self.elementwise(shape, depth)),
            (2, lambda: self.mapped(self.array("f", shape, depth - 1))),
            (1, lambda: self.chosen(shape, depth)),
            (0.5, lambda: self.converted(shape, depth)),
        ])  # fmt: skip

    def elementwise(self, shape: Shape, depth: int) -> str:
        x = self.array("f", shape, depth - 1)
        y = self.array("f", shape, depth - 1) if self.chance(0.5) else self.float_(0)
        if len(shape) == 2 and shape[0] == shape[1] and self.chance(0.25):
            y = f"({self.array('f', shape, depth - 1)}).T"
        if self.chance(0.3):
            x, y = y, x
        op = self.random.choices(("+", "-", "*", "/", "**"), (5, 4, 5, 1, 0.5))[0]
        if op == "/":
            y = f"(1.5 + np.abs({y}))"
        return f"({x} ** 2)" if op == "**" else f"({x} {op} {y})"

    def mapped(self, x: str) -> str:
        return self.one((
            f"np.sin({x})", f"np.tanh({x})", f"np.exp(-np.abs({x}))", f"np.sqrt(np.abs({x}) + 0.5)", f"np.abs({x})",
            f"np.log(1.5 + np.square({x}))", f"np.maximum({x}, {self.float_(0)})", f"np.minimum({x}, 1.0)",
            f"np.clip({x}, -0.5, 0.5)", f"np.floor({x})", f"(-{x})", f"np.sign({x})", f"np.cos({x})",
        ))  # fmt: skip

    def chosen(self, shape: Shape, depth: int) -> str:
        test = self.array("b", shape, 1)
        other = self.one(("0.0", self.float_(0), self.array("f", shape, 0)))
        return f"np.where({test}, {self.array('f', shape, depth - 1)}, {other})"

    def converted(self, shape: Shape, depth: int) -> str:
        x = self.array(self.one("fi"), shape, depth - 1)
        return self.one((f"np.asarray({x}, dtype=float)", f"({x}).astype(np.float64)", f"({x}).astype(np.float32)"))

    def part(self, base: str, shape: Shape) -> str | None:
        """A view of a larger array with this shape, or a row, column, transpose or sum of a matrix."""
        options: list[str] = []
        fits = lambda k: k.base == base and k.shape is not None  # noqa: E731
        for v in self.scope.those(fits):
            have = self.scope.names[v].shape or ()
            if len(have) == len(shape) == 1:
                options += VIEWS.get((have[0], shape[0]), ()) and [t.format(v=v) for t in VIEWS[have[0], shape[0]]]
            elif len(have) == 2 and len(shape) == 1:
                options += self.of_matrix(v, have, shape[0], base)
            elif have == shape[::-1] and len(shape) == 2:
                options += [f"{v}.T"]
        return self.one(options) if options else None

    def of_matrix(self, v: str, have: Shape, size: str, base: str) -> list[str]:
        """Vectors of this size made of a matrix: rows, columns, what is reduced along an axis, products."""
        rows, columns = have
        options = []
        if columns == size:
            options += [f"{v}[{self.index(rows)}]", f"np.sum({v}, axis=0)", f"{v}.mean(axis=0)", f"np.var({v}, axis=0)"]
        if rows == size:
            options += [f"{v}[:, {self.index(columns)}]"]
            if columns == "3":
                options += [f"{v}.{self.one(('sum', 'mean', 'max', 'min'))}(axis=1)", f"np.prod({v}, axis=-1)"]
            if base == "f" and (w := self.vector("f", columns)):
                options += [f"{v} @ {w}", f"np.dot({v}, {w})"]
        return options

    def fresh(self, base: str, shape: Shape) -> str | None:
        """An array made from nothing, or from others."""
        sizes = [self.size(s) for s in shape]
        if None in sizes:
            return None
        text = str(sizes[0]) if len(shape) == 1 else f"({', '.join(map(str, sizes))})"
        if base == "i":
            return self.one((f"np.arange({text})", f"np.zeros({text}, dtype=int)")[len(shape) > 1 :])
        options = [f"np.zeros({text})", f"np.ones({text})", f"np.full({text}, {self.float_(0)})"]
        like = self.name(lambda k: k.base == base and k.shape == shape)
        if like:
            options += [f"np.zeros_like({like})", f"np.ones_like({like})", f"{like}.copy()", f"{like}.copy()"]
            if len(shape) == 1:
                options += [f"np.cumsum({like})", f"np.roll({like}, 1)", f"{like}[::-1]"]
        if len(shape) == 2 and (v := self.vector("f", shape[0])) and (w := self.vector("f", shape[1])):
            options += [f"np.outer({v}, {w})", f"{v}[:, None] * {w}", f"({v}[:, np.newaxis] - {w})"]
        return self.one(options)

    def size(self, size: str) -> str | None:
        """A text for a size."""
        if size.isdigit():
            return size
        for shift in ("", "-1", "-2"):
            if size == "n" + shift:
                v = self.name(lambda k: k.shape is not None and k.shape[0] == "n")
                return v and (f"len({v})" if not shift else f"len({v}) - {shift[1:]}")
        v = self.name(lambda k: k.shape is not None and k.shape[0] == size)
        return v and f"len({v})"


VIEWS: dict[tuple[str, str], tuple[str, ...]] = {
    ("n", "n"): ("{v}[::-1]", "{v}[:]", "{v}"),
    ("n", "n-1"): ("{v}[1:]", "{v}[:-1]", "np.diff({v})", "{v}[:len({v}) - 1]"),
    ("n", "n-2"): ("{v}[1:-1]", "{v}[2:]", "{v}[:-2]"),
    ("n-1", "n-2"): ("{v}[1:]", "{v}[:-1]"),
    ("n", "h"): ("{v}[::2]",),
    ("n", "3"): ("{v}[:3]",),
}
"""How to get a vector of one size from one of another."""
