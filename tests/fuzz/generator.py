"""Random programs: functions of the inputs of the corpus, written as a person might."""

from __future__ import annotations

from random import Random

from fuzz.helpers import HELPERS, RECORDS, SEQUENCES
from fuzz.kinds import BOOL, FLOAT, INT, PARAMETERS, Kind, Shape
from fuzz.nests import Nests
from fuzz.numbers import bare


class Writer(Nests):
    """Writes one program.

    Attributes
    ----------
    memory : float
        How often names of arrays are bound to others, and swapped.
    extra : tuple of str
        Helpers of `SEQUENCES` that may be called.
    wanted : tuple of Kind
        What every return returns.
    """

    def __init__(self, random: Random):
        super().__init__(random)
        self.lines: list[str] = []
        self.used = 0
        self.memory = random.choice((0.0, 0.2, 0.2, 1.5))
        self.structured = random.choice((0.0, 0.0, 1.0, 4.0))
        self.nested = random.choice((0.0, 0.0, 1.0, 4.0, 60.0))
        self.extra: tuple[str, ...] = ()
        self.wanted: tuple[Kind, ...] = ()

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def new(self, stem: str = "") -> str:
        """A name not used yet."""
        self.used += 1
        stems = ("acc", "best", "cur", "e", "g", "h", "p", "r", "t", "u", "v", "prev", "tmp", "val")
        return f"{stem or self.one(stems)}{self.used}"

    # -- statements -----------------------------------------------------------------------------

    def block(self, indent: int, count: int, loop: bool) -> None:
        """Some statements; names made in them are not reached afterwards, save now and then."""
        before = self.scope.copy()
        for _ in range(count):
            self.statement(indent, loop)
        if self.chance(0.93):
            self.scope = before
        else:
            before.names = dict(self.scope.names)
            self.scope = before

    def statement(self, indent: int, loop: bool) -> None:
        deep = indent >= 4
        makers = [
            (4, self.assign_number), (4, self.update_number), (3, self.assign_array), (3, self.store_element),
            (2, self.store_slice), (1, self.store_masked), (self.memory, self.alias), (self.memory, self.swap),
            (0.8, self.unpack), (0.5, self.in_place), (0.3, self.raise_if), (0.5, self.effect),
            (0 if deep else 3, self.branch), (0 if deep else 2.5, self.for_loop), (0 if deep else 1, self.while_loop),
            (self.structured, self.structure), (self.nested, self.nest), (0.5, self.early_return),
            (1.2 if loop else 0, self.leave),
        ]  # fmt: skip
        while True:
            maker = self.random.choices([m for _, m in makers], [w for w, _ in makers])[0]
            if maker(indent, loop):
                return

    def target(self, kind: Kind, p: float = 0.5) -> str:
        """A name to assign: one that has this kind, or a new one."""
        old = [n for n in self.scope.those(lambda k: k == kind) if n not in self.scope.frozen]
        return self.one(old) if old and self.chance(p) else self.new()

    def assign_number(self, indent: int, loop: bool) -> bool:
        kind = self.random.choice((FLOAT, FLOAT, FLOAT, INT, BOOL))
        value = self.number(kind.base, 2)
        name = self.target(kind)
        if kind == INT:
            value = f"({value}) % {self.one(('5', '7', '11'))}"
        self.put(indent, f"{name} = {bare(value)}")
        self.scope.names[name] = kind
        return True

    def update_number(self, indent: int, loop: bool) -> bool:
        name = self.name(lambda k: k in (FLOAT, INT))
        if name is None or name in self.scope.frozen:
            return False
        if self.scope.names[name] == INT:
            self.put(indent, f"{name} {self.one(('+=', '-=', '+=', '^=', '|='))} {bare(self.int_(1))}")
            return True
        op = self.random.choices(("+=", "-=", "*=", "/=", "="), (6, 3, 1, 0.5, 3))[0]
        value = self.float_(2)
        value = {
            "*=": self.one(("0.5", "0.9", f"math.tanh({value})")), "/=": f"1.5 + abs({value})",
            "=": f"0.5 * {name} + {value}",
        }.get(op, value)  # fmt: skip
        self.put(indent, f"{name} {op} {bare(value)}")
        return True

    def shape(self) -> Shape:
        return self.random.choices(
            (("n",), ("n-1",), ("n-2",), ("3",), ("n", "3"), ("n", "n"), ("h",)), (8, 1.5, 1, 0.7, 1, 1, 0.5)
        )[0]

    def assign_array(self, indent: int, loop: bool) -> bool:
        shape = self.shape()
        base = self.random.choices("fib", (8, 1.5, 1))[0]
        kind = Kind(base, shape)
        try:
            value = self.array(base, shape, 2)
        except AssertionError:
            return False
        name = self.target(kind, 0.4)
        self.put(indent, f"{name} = {bare(value)}")
        self.scope.names[name] = kind
        return True

    def store_element(self, indent: int, loop: bool) -> bool:
        v = self.name(lambda k: k.shape is not None)
        if v is None:
            return False
        base = self.scope.names[v].base
        value = self.number(base, 2)
        where = f"{v}[{self.indices(v)}]"
        if base == "b":
            self.put(indent, f"{where} = {bare(value)}")
        elif base == "i":
            self.put(indent, f"{where} {self.one(('=', '+='))} ({value}) % 7")
        elif self.chance(0.4):
            self.put(indent, f"{where} {self.one(('+=', '-=', '*='))} 0.5 * {value}")
        else:
            self.put(indent, f"{where} = {bare(value)}")
        return True

    def store_slice(self, indent: int, loop: bool) -> bool:
        v = self.vector()
        if v is None:
            return False
        (size,) = self.scope.names[v].shape or ("",)
        targets = {
            "n": [("[:]", "n"), ("[1:]", "n-1"), ("[:-1]", "n-1"), ("[1:-1]", "n-2"), ("[::2]", "h"), ("[::-1]", "n")]
        }
        where, part = self.random.choice(targets.get(size, [("[:]", size)]))
        try:
            value = self.array("f", (part,), 2) if self.chance(0.75) else self.float_(1)
        except AssertionError:
            value = self.float_(1)
        op = self.random.choices(("=", "+=", "*=", "-="), (4, 2, 0.5, 1))[0]
        self.put(indent, f"{v}{where} {op} {'0.5 * ' if op != '=' else ''}{value if op != '=' else bare(value)}")
        return True

    def store_masked(self, indent: int, loop: bool) -> bool:
        v = self.vector()
        if v is None:
            return False
        (size,) = self.scope.names[v].shape or ("",)
        test = self.array("b", (size,), 1)
        mask = self.vector("b", size) if self.chance(0.3) else None
        self.put(indent, f"{v}[{mask or bare(test)}] {self.one(('=', '+=', '*='))} {bare(self.float_(1))}")
        return True

    def in_place(self, indent: int, loop: bool) -> bool:
        """An augmented assignment of a whole array."""
        v = self.name(lambda k: k.base == "f" and k.shape is not None)
        if v is None:
            return False
        shape = self.scope.names[v].shape or ()
        value = self.array("f", shape, 1) if self.chance(0.5) else self.float_(1)
        self.put(indent, f"{v} {self.one(('+=', '-=', '*='))} 0.5 * {value}")
        return True

    def alias(self, indent: int, loop: bool) -> bool:
        """A second name for an array, a view of it, or one of two."""
        v = self.name(lambda k: k.shape is not None)
        if v is None:
            return False
        kind = self.scope.names[v]
        w = self.name(lambda k: k == kind) or v
        name = self.target(kind, 0.5)
        options = [v, v, f"{v}[:]", f"{v} if {self.bool_(0)} else {w}", f"{v}.copy()"]
        if len(kind.shape or ()) == 1:
            options.append(f"{v}[::-1]")
        if "_pick" in self.extra:
            options += [f"_pick({v}, {w}, {self.bool_(0)})"]
        self.put(indent, f"{name} = {self.one(options)}")
        self.scope.names[name] = kind
        return True

    def swap(self, indent: int, loop: bool) -> bool:
        v = self.name(lambda k: k.shape is not None or k == FLOAT)
        if v is None or v in self.scope.frozen:
            return False
        kind = self.scope.names[v]
        w = self.name(lambda k: k == kind)
        if w is None or w == v or w in self.scope.frozen:
            return False
        self.put(indent, f"{v}, {w} = {w}, {v}" if self.chance(0.7) or kind != FLOAT else f"{v}, {w} = {w}, {v} + {w}")
        return True

    def unpack(self, indent: int, loop: bool) -> bool:
        """A tuple of numbers, packed and taken apart."""
        x, y = self.float_(1), self.float_(1)
        names = [self.target(FLOAT), self.target(FLOAT)]
        if names[0] == names[1]:  # CPython 3.11.2 stores these the wrong way round
            return False
        right = f"_pair({bare(x)}, {bare(y)})" if "_pair" in self.extra and self.chance(0.5) else f"{x}, {y}"
        self.put(indent, f"{', '.join(names)} = {right}")
        for name in names:
            self.scope.names[name] = FLOAT
        return True

    def raise_if(self, indent: int, loop: bool) -> bool:
        test = self.bool_(1)
        if self.chance(0.3):
            self.put(indent, f"assert {bare(test)} or n < 9")
        else:
            self.put(indent, f"if {bare(test)} and n > {self.one('15')}:")
            self.put(indent + 1, f"raise {self.one(('ValueError', 'RuntimeError', 'ZeroDivisionError'))}('no')")
        return True

    def effect(self, indent: int, loop: bool) -> bool:
        """A helper that changes its argument."""
        v = self.vector()
        if v is None or "_bump" not in self.helpers:
            return False
        self.put(indent, f"_bump({v}, {bare(self.float_(1))})")
        return True

    # -- control flow ---------------------------------------------------------------------------

    def branch(self, indent: int, loop: bool) -> bool:
        self.put(indent, f"if {bare(self.bool_(1))}:")
        self.block(indent + 1, self.random.randint(1, 3), loop)
        if self.chance(0.25):
            self.put(indent, f"elif {bare(self.bool_(1))}:")
            self.block(indent + 1, self.random.randint(1, 2), loop)
        if self.chance(0.5):
            self.put(indent, "else:")
            self.block(indent + 1, self.random.randint(1, 2), loop)
        return True

    def for_loop(self, indent: int, loop: bool) -> bool:
        before = self.scope.copy()
        self.put(indent, f"for {self.loop_head()}:")
        self.block(indent + 1, self.random.randint(1, 4), True)
        if self.chance(0.12):
            self.put(indent, "else:")
            self.block(indent + 1, 1, loop)
        names = {n: k for n, k in self.scope.names.items() if n in before.names}
        self.scope = before
        self.scope.names = names
        return True

    def loop_head(self) -> str:
        """``target in iterable``; enters what is known about the names."""
        v = self.vector()
        if v is None or self.chance(0.3):
            i = self.new("i")
            bound = self.one(("n", "2", "3", "k" if "k" in self.scope.names else "n", "n + 1"))
            self.index_of(i, set(), bound in ("2", "3"))
            return f"{i} in range({bound})"
        (size,) = self.scope.names[v].shape or ("",)
        i, e = self.new("i"), self.new("e")
        pick = self.random.choices(range(7), (5, 2, 1, 1, 2, 1.5, 1))[0]
        if pick <= 3:
            self.index_of(i, {size}, False)
            if pick == 1:
                self.scope.first.add(i)
            return (
                f"{i} in range(len({v}))", f"{i} in range(1, len({v}) - 1)", f"{i} in range(len({v}) - 1, -1, -1)",
                f"{i} in range(0, len({v}), 2)",
            )[pick]  # fmt: skip
        self.scope.names[e] = FLOAT
        if pick == 4:
            return f"{e} in {self.one((v, v, f'{v}[::-1]', f'{v}[1:]', f'reversed({v})'))}"
        if pick == 5:
            self.index_of(i, {size}, False)
            return f"{i}, {e} in enumerate({v})"
        other, e2 = self.vector(size=size) or v, self.new("e")
        self.scope.names[e2] = FLOAT
        return f"{e}, {e2} in zip({v}, {self.one((other, f'{other}[1:]'))})"

    def index_of(self, i: str, sizes: set[str], few: bool) -> None:
        self.scope.names[i] = INT
        self.scope.frozen.add(i)
        self.scope.within[i] = sizes | ({"3"} if few else set())

    def while_loop(self, indent: int, loop: bool) -> bool:
        before = self.scope.copy()
        i = self.new("i")
        v = self.vector()
        bound = self.one(("n", "3", f"len({v})" if v else "2"))
        self.put(indent, f"{i} = 0")
        more = f" and {self.bool_(1)}" if self.chance(0.5) else ""
        self.put(indent, f"while {i} < {bound}{more}:")
        sizes = set(self.scope.names[v].shape or ()) if v and bound.startswith("len") else set()
        self.index_of(i, sizes, bound == "3")
        first = self.chance(0.5)
        if first:
            self.put(indent + 1, f"{i} += 1")
            self.scope.within[i] = set()
        self.block(indent + 1, self.random.randint(1, 3), first)
        if not first:
            self.put(indent + 1, f"{i} += 1")
        names = {n: k for n, k in self.scope.names.items() if n in before.names}
        self.scope = before
        self.scope.names = {**names, i: INT}
        self.scope.frozen.add(i)
        return True

    def leave(self, indent: int, loop: bool) -> bool:
        """A break or continue under a condition."""
        self.put(indent, f"if {bare(self.bool_(1))}:")
        if self.chance(0.4):
            self.statement(indent + 1, False)
        self.put(indent + 1, self.one(("break", "break", "continue")))
        return True

    def early_return(self, indent: int, loop: bool) -> bool:
        self.put(indent, f"if {bare(self.bool_(1))}:")
        self.put(indent + 1, f"return {self.result()}")
        return True

    def result(self) -> str:
        """What is returned, of the same kinds wherever it is."""
        made = []
        for kind in self.wanted:
            if kind.shape is None:
                made.append(self.number(kind.base, 1))
            else:
                made.append(self.name(lambda k, kind=kind: k == kind) or f"{self.array(kind.base, kind.shape, 0)}")
        return bare(made[0]) if len(made) == 1 else ", ".join(bare(m) for m in made)

    # -- the whole ------------------------------------------------------------------------------

    def program(self) -> str:
        chosen = self.parameters()
        self.scope.names = {n: PARAMETERS[n] for n in chosen}
        self.scope.frozen = {"n"}
        self.parameter_names = tuple(chosen)
        used = self.random.sample(sorted(HELPERS), self.random.randint(0, 2))
        self.helpers = {n: HELPERS[n][:2] for n in used}
        self.extra = tuple(n for n in SEQUENCES if self.chance(0.2))
        vector = Kind("f", ("n",))
        self.wanted = self.random.choice(
            ((FLOAT,), (FLOAT,), (vector,), (FLOAT, vector), (FLOAT, INT), (vector, vector))
        )
        self.start()
        self.block(1, self.random.randint(3, 8), False)
        self.put(1, f"return {self.ending()}")
        text = "".join(HELPERS[n][2] + "\n\n" for n in used) + "".join(SEQUENCES[n] + "\n\n" for n in self.extra)
        if any(name in "\n".join(self.lines) for name in ("_Body(", "_Pair(")):
            text = RECORDS + text
        return f"{text}def f({', '.join(chosen)}):\n" + "\n".join(self.lines) + "\n"

    def parameters(self) -> list[str]:
        chosen = ["x", "n", *self.random.sample(("y", "z", "a", "b", "s"), 2)]
        others = sorted(set(PARAMETERS) - set(chosen))
        chosen += self.random.sample(others, self.random.randint(0, 2))
        return chosen

    def start(self) -> None:
        """The first lines: numbers and arrays to work with."""
        for kind, value in ((FLOAT, self.one(("0.0", "1.0", "0"))), (INT, self.one("01"))):
            name = self.new()
            self.put(1, f"{name} = {value}")
            self.scope.names[name] = kind
        if self.chance(0.7):
            name = self.new("out")
            self.put(1, f"{name} = {self.one(('np.zeros(len(x))', 'np.zeros_like(x)', 'x.copy()', 'x * 2.0', 'x'))}")
            self.scope.names[name] = Kind("f", ("n",))

    def ending(self) -> str:
        """The result, with the names that were worked on in it."""
        floats = self.scope.those(lambda k: k == FLOAT)[-4:]
        vectors = [n for n in self.scope.those(lambda k: k == Kind("f", ("n",))) if n not in ("y", "z")][-3:]
        text = self.result()
        if self.wanted == (FLOAT,):
            terms = [text, *floats, *(f"np.sum({v})" for v in vectors if self.chance(0.7))]
            return " + ".join(terms) if all(balanced(t) for t in terms) else text
        return text


def balanced(text: str) -> bool:
    """Whether a text can be a term of a sum as it is."""
    return not any(f" {word} " in text for word in ("if", "and", "or", "not", "<", ">", "=="))


def program(seed: int) -> str:
    """The text of a program; ``f`` in it is the function."""
    return Writer(Random(seed)).program()
