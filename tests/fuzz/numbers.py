"""Random expressions for numbers over the names in reach, such as people write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from fuzz.kinds import BOOL, FLOAT, INT, Kind, Scope, Shape


class Numbers:
    """Draws expressions; every method returns text that binds at least as strongly as a call unless it says so."""

    def __init__(self, random: Random):
        self.random = random
        self.scope = Scope()
        self.helpers: dict[str, tuple[tuple[Kind, ...], Kind]] = {}

    # -- choices --------------------------------------------------------------------------------

    def one(self, options: Iterable[str]) -> str:
        return self.random.choice(list(options))

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def weighted(self, table: list[tuple[float, Callable[[], str | None]]]) -> str:
        """What one of the makers gives; those that give None do not apply here."""
        table = list(table)
        while table:
            pick = self.random.choices(range(len(table)), [w for w, _ in table])[0]
            made = table.pop(pick)[1]()
            if made is not None:
                return made
        raise AssertionError("no maker applies")

    def name(self, fits: Callable[[Kind], bool]) -> str | None:
        """A name that fits, most often a recent one."""
        found = self.scope.those(fits)
        if not found:
            return None
        return self.one(found[-3:]) if self.chance(0.5) else self.one(found)

    def vector(self, base: str = "f", size: str | None = None) -> str | None:
        return self.name(
            lambda k: k.base == base and k.shape is not None and len(k.shape) == 1 and (size in (None, k.shape[0]))
        )

    def matrix(self, base: str = "f") -> str | None:
        return self.name(lambda k: k.base == base and k.shape is not None and len(k.shape) == 2)

    # -- numbers --------------------------------------------------------------------------------

    def number(self, base: str, depth: int = 2) -> str:
        return {"f": self.float_, "i": self.int_, "b": self.bool_}[base](depth)

    def float_(self, depth: int = 2) -> str:
        """A float, Python's or NumPy's."""
        if depth <= 0:
            return self.weighted([
                (4, lambda: self.name(lambda k: k.base == "f" and k.shape is None)),
                (3, self.element),
                (2, lambda: self.one(("0.5", "2.0", "1.5", "0.1", "-1.0", "0.25", "3.0"))),
                (0.3, lambda: self.name(lambda k: k == INT)),
            ])  # fmt: skip
        return self.weighted([
            (3, lambda: self.float_(0)),
            (5, lambda: self.arithmetic(depth)),
            (2, lambda: self.function_of(self.float_(depth - 1))),
            (2, lambda: self.reduction(depth - 1)),
            (1, lambda: f"({self.float_(depth - 1)} if {self.bool_(depth - 1)} else {self.float_(depth - 1)})"),
            (0.7, lambda: f"{self.one(('max', 'min'))}({self.float_(depth - 1)}, {self.float_(depth - 1)})"),
            (0.6, lambda: f"{self.one(('np.maximum', 'np.minimum'))}({self.float_(depth - 1)}, {self.float_(0)})"),
            (0.5, lambda: f"abs({self.float_(depth - 1)})"),
            (0.4, lambda: f"float({self.int_(depth - 1)})"),
            (0.4, lambda: f"{self.int_(0)} / {self.one('234')}"),
            (0.3, lambda: f"{self.one(('np.float32', 'np.float64'))}({self.float_(depth - 1)})"),
            (1, lambda: self.helper(FLOAT)),
            (1.5, self.held),
            (1.5, self.local_call),
        ])  # fmt: skip

    def arithmetic(self, depth: int) -> str:
        x, y = self.float_(depth - 1), self.float_(depth - 1)
        op = self.random.choices(("+", "-", "*", "/", "%", "//", "**"), (5, 4, 5, 1.5, 0.3, 0.3, 0.5))[0]
        if op in ("/", "%", "//") and not self.chance(0.06):
            y = f"(1.5 + abs({y}))"
        if op == "**":
            y = self.one(("2", "3", "2.0"))
        return f"({x} {op} {y})"

    def function_of(self, x: str) -> str:
        return self.one((
            f"math.sin({x})", f"np.sin({x})", f"np.cos({x})", f"math.tanh({x})", f"np.tanh({x})",
            f"np.exp(-{x} * {x})", f"math.exp(-abs({x}))", f"math.sqrt(abs({x}) + 0.5)", f"np.sqrt({x} * {x} + 1.0)",
            f"np.log(1.5 + abs({x}))", f"np.abs({x})", f"math.atan({x})", f"np.arctan2({x}, 1.5)", f"math.floor({x})",
            f"np.sign({x})", f"round({x})", f"np.clip({x}, -1.0, 1.0)", f"np.square(np.sin({x}))",
        ))  # fmt: skip

    def reduction(self, depth: int) -> str | None:
        v = self.vector()
        if v is None:
            return None
        size = self.scope.names[v].shape[0]  # type: ignore[index]
        same = self.vector(size=size) or v
        e = self.array("f", (size,), depth)
        return self.one((
            f"np.sum({e})", f"np.sum({v} * {same})", f"np.dot({v}, {same})", f"{v} @ {same}", f"{v}.sum()",
            f"np.max({v})", f"{v}.max()", f"np.mean({e})", f"np.min({e})", f"{v}.mean()", f"np.prod({v} * 0.5)",
            f"np.linalg.norm({v})", f"np.sum({v} > {self.float_(0)})", f"np.std({v})", f"np.var({v})",
            f"sum({v})", f"np.sum({v}[1:])",
        ))  # fmt: skip

    def element(self) -> str | None:
        """An element of a float array."""
        v = self.name(lambda k: k.base == "f" and k.shape is not None)
        return None if v is None else f"{v}[{self.indices(v)}]"

    def indices(self, name: str) -> str:
        """Indices for every axis of an array."""
        shape = self.scope.names[name].shape or ()
        return ", ".join(self.index(size) for size in shape)

    def index(self, size: str) -> str:
        """An index that is most often inside."""
        inside = [i for i, sizes in self.scope.within.items() if size in sizes]
        if inside and self.chance(0.8):
            i = self.one(inside)
            return self.one((i, i, i, i, f"{i} - 1", f"-1 - {i}", f"{i} + 1" if self.chance(0.15) else i))
        if size == "3":
            return self.one(("0", "1", "2", "-1"))
        return self.one(("0", "0", "-1", "1", "-2", "k - 2" if "k" in self.scope.names else "0"))

    def helper(self, wanted: Kind) -> str | None:
        """A call of a helper function with this result."""
        fitting = [(n, ps) for n, (ps, out) in self.helpers.items() if out == wanted]
        if not fitting:
            return None
        name, kinds = self.random.choice(fitting)
        args = [self.argument(kind) for kind in kinds]
        return None if None in args else f"{name}({', '.join(a for a in args if a)})"

    def argument(self, kind: Kind) -> str | None:
        if kind.shape is None:
            return self.number(kind.base, 1)
        return self.name(
            lambda k: k.base == kind.base and k.shape is not None and len(k.shape) == len(kind.shape or ())
        )

    def int_(self, depth: int = 1) -> str:
        if depth <= 0:
            return self.weighted([
                (4, lambda: self.name(lambda k: k.base == "i" and k.shape is None)),
                (2, lambda: self.one("0123")),
                (1, self.integer_element),
            ])  # fmt: skip
        return self.weighted([
            (3, lambda: self.int_(0)),
            (3, lambda: f"({self.int_(0)} {self.one('+-*')} {self.int_(depth - 1)})"),
            (1.5, lambda: f"{self.int_(0)} {self.one(('//', '%'))} {self.one('2357')}"),
            (0.8, lambda: f"({self.int_(0)} {self.one('&|^')} {self.int_(0)})"),
            (0.3, lambda: f"({self.int_(0)} {self.one(('<<', '>>'))} {self.one('12')})"),
            (1, self.length),
            (0.7, lambda: f"int({self.float_(depth - 1)})"),
            (0.5, lambda: f"({self.int_(depth - 1)} if {self.bool_(depth - 1)} else {self.int_(0)})"),
            (0.4, lambda: f"{self.one(('max', 'min'))}({self.int_(0)}, {self.int_(0)})"),
            (0.5, self.integer_reduction),
            (0.3, lambda: f"abs({self.int_(0)})"),
            (0.2, lambda: f"-{self.int_(0)}"),
            (0.5, self.counted),
        ])  # fmt: skip

    def length(self) -> str | None:
        v = self.name(lambda k: k.shape is not None)
        return v and self.one((f"len({v})", f"{v}.shape[0]", f"{v}.size", f"{v}.ndim"))

    def integer_element(self) -> str | None:
        v = self.vector("i")
        return v and f"{v}[{self.indices(v)}]"

    def integer_reduction(self) -> str | None:
        v, w, mask = self.vector("i"), self.vector(), self.vector("b")
        options = []
        if v:
            options += [f"np.sum({v})", f"{v}.max()", f"np.min({v})", f"int({v}.sum())"]
        if w:
            options += [f"np.argmax({w})", f"np.argmin({w})", f"np.count_nonzero({w} > 0.5)"]
        if mask:
            options += [f"np.sum({mask})", f"np.count_nonzero({mask})"]
        return self.one(options) if options else None

    def bool_(self, depth: int = 1) -> str:
        if depth <= 0:
            return self.weighted([
                (4, lambda: self.comparison(0)),
                (1, lambda: self.name(lambda k: k == BOOL)),
            ])  # fmt: skip
        return self.weighted([
            (5, lambda: self.comparison(depth)),
            (1, lambda: f"{self.float_(0)} < {self.float_(depth - 1)} <= {self.float_(0)}"),
            (1.5, lambda: f"({self.bool_(depth - 1)} {self.one(('and', 'or'))} {self.bool_(depth - 1)})"),
            (0.7, self.guarded),
            (0.5, lambda: f"not {self.bool_(0)}"),
            (0.8, self.array_test),
            (0.5, self.bool_element),
            (0.4, self.named),
        ])  # fmt: skip

    def named(self) -> str | None:
        """A number that gets a name where it is compared, if it is."""
        name = self.name(lambda k: k == FLOAT)
        if name is None or name in self.scope.frozen:
            return None
        return f"(({name} := {bare(self.float_(1))}) {self.one('<>')} {self.float_(0)})"

    def comparison(self, depth: int) -> str:
        if self.chance(0.4):
            test = f"{self.int_(0)} % {self.one('23')} == {self.one('01')}"
            return self.one((test, f"{self.int_(0)} {self.one(('<', '>', '==', '!=', '>='))} {self.int_(depth)}"))
        return f"{self.float_(depth)} {self.one('<>')} {self.float_(0)}"

    def guarded(self) -> str | None:
        """A test whose second half is only right if the first one holds."""
        v = self.vector()
        if v is None:
            return None
        inside = [i for i in self.scope.within if self.scope.names.get(i) == INT]
        if not inside:
            return f"(len({v}) > 0 and {v}[0] > {self.float_(0)})"
        i = self.one(inside)
        return self.one((
            f"({i} > 0 and {v}[{i} - 1] > {self.float_(0)})",
            f"({i} + 1 < len({v}) and {v}[{i} + 1] > {v}[{i}])",
            f"({i} >= len({v}) or {v}[{i}] < {self.float_(0)})",
        ))  # fmt: skip

    def array_test(self) -> str | None:
        v = self.vector()
        if v is None:
            return None
        c = self.float_(0)
        return self.one((f"np.any({v} > {c})", f"np.all({v} < {c})", f"({v} > {c}).any()", f"np.isfinite({v}).all()"))

    def bool_element(self) -> str | None:
        v = self.vector("b")
        return v and f"{v}[{self.indices(v)}]"

    def held(self) -> str | None:
        """A number from a list, dict or record, see `fuzz.structures`."""
        raise NotImplementedError

    def local_call(self) -> str | None:
        """A call of an inner function, see `fuzz.structures`."""
        raise NotImplementedError

    def counted(self) -> str | None:
        """The length of a list, see `fuzz.structures`."""
        raise NotImplementedError

    def array(self, base: str, shape: Shape, depth: int = 2) -> str:
        """An array of this base and shape, see `fuzz.arrays`."""
        raise NotImplementedError


def bare(text: str) -> str:
    """Without parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 else text
    return text
