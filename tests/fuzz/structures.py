"""Random statements with lists, dicts, records, inner functions and index arrays."""

from __future__ import annotations

from fuzz.arrays import Arrays
from fuzz.kinds import BOOL, CALL, DICT, FLOAT, INT, LIST, PAIR, RECORD, SMALL, Kind
from fuzz.numbers import bare


class Structures(Arrays):
    """Makers of statements; each says whether it applied."""

    structured: float
    """How often they are drawn."""

    def put(self, indent: int, text: str) -> None:
        raise NotImplementedError

    def new(self, stem: str = "") -> str:
        raise NotImplementedError

    def block(self, indent: int, count: int, loop: bool) -> None:
        raise NotImplementedError

    def structure(self, indent: int, loop: bool) -> bool:
        makers = (
            self.list_, self.list_change, self.list_change, self.list_loop, self.dict_, self.record, self.record,
            self.inner_function, self.index_array, self.index_array, self.comprehension, self.attempt,
            self.guard_element, self.small, self.small, self.small,
        )  # fmt: skip
        return self.random.choice(makers)(indent, loop)

    def made(self, indent: int, stem: str, kind: Kind, value: str) -> bool:
        """A new name, of this kind, for a value."""
        name = self.new(stem)
        self.put(indent, f"{name} = {value}")
        self.scope.names[name] = kind
        return True

    # -- what may raise ---------------------------------------------------------------------------

    def attempt(self, indent: int, loop: bool) -> bool:
        """Statements whose exception is caught."""
        if indent > 3:
            return False
        self.put(indent, "try:")
        self.block(indent + 1, self.random.randint(1, 2), loop)
        caught = self.one(("IndexError", "ZeroDivisionError", "(IndexError, ValueError)", "Exception"))
        self.put(indent, f"except {caught}:")
        self.block(indent + 1, 1, loop)
        return True

    def guard_element(self, indent: int, loop: bool) -> bool:
        """A test that an index is inside, kept in a name, and the element, read where it holds or everywhere."""
        v, i, t = self.vector(), self.name(lambda k: k == INT), self.name(lambda k: k == FLOAT)
        if v is None or i is None or t is None or t in self.scope.frozen:
            return False
        self.made(indent, "ok", BOOL, f"0 <= {i} < len({v}) {self.one(('and', 'or'))} {self.bool_(0)}")
        ok = list(self.scope.names)[-1]
        if self.chance(0.7):
            self.put(indent, f"if {ok}:")
            indent += 1
        self.put(indent, f"{t} += 0.5 * {v}[{i}]")
        return True

    # -- lists ------------------------------------------------------------------------------------

    def list_(self, indent: int, loop: bool) -> bool:
        v = self.vector() or "x"
        items = ("[]", f"[{bare(self.float_(1))}]", f"[{self.float_(0)}, {self.float_(1)}]", f"[0.5] * len({v})")
        return self.made(indent, "items", LIST, self.one(items))

    def list_change(self, indent: int, loop: bool) -> bool:
        items = self.name(lambda k: k == LIST)
        if items is None:
            return False
        pick = self.random.random()
        if pick < 0.5:
            self.put(indent, f"{items}.append({bare(self.float_(1))})")
        elif pick < 0.6:
            self.put(indent, f"{items} = {items} + [{self.float_(0)}]")
        else:
            self.put(indent, f"if {self.one((items, f'len({items}) > 1'))}:")
            last = (
                f"{items}[0] = {bare(self.float_(1))}", f"{items}[-1] {self.one(('+=', '*='))} {bare(self.float_(0))}",
                f"{items}.pop()", f"{items}.reverse()", f"{items}.insert(0, {bare(self.float_(0))})",
            )  # fmt: skip
            self.put(indent + 1, self.one(last))
        return True

    def list_loop(self, indent: int, loop: bool) -> bool:
        items = self.name(lambda k: k == LIST)
        name = self.name(lambda k: k == FLOAT)
        if items is None or name is None or name in self.scope.frozen:
            return False
        e = self.new("e")
        self.put(indent, f"for {e} in {items}:")
        if self.chance(0.4):
            self.put(indent + 1, f"if {e} {self.one('<>')} {self.float_(0)}:")
            self.put(indent + 2, self.one(("break", "continue")))
        self.put(indent + 1, f"{name} = 0.5 * {name} + {e}")
        return True

    def comprehension(self, indent: int, loop: bool) -> bool:
        v = self.vector()
        if v is None:
            return False
        e = self.new("e")
        before = self.scope.copy()
        self.scope.names[e] = FLOAT
        item = bare(self.float_(1))
        test = f" if {e} > {self.float_(0)}" if self.chance(0.4) else ""
        self.scope = before
        text = f"{item} for {e} in {v}{test}"
        if self.chance(0.5):
            return self.made(indent, "items", LIST, f"[{text}]")
        kind = self.one(("sum({})", "np.sum(np.array([{}]))", "max([0.0] + [{}])"))
        return self.made(indent, "tot", FLOAT, kind.format(text))

    # -- arrays of three elements -----------------------------------------------------------------

    def small(self, indent: int, loop: bool) -> bool:
        """An array of three numbers, or a change of one at places that are mostly known when compiling."""
        p = self.name(lambda k: k == SMALL)
        value, other = bare(self.float_(1)), bare(self.float_(0))
        if p is None or self.chance(0.3):
            made = (f"np.array([{value}, {other}, 0.5])", "np.zeros(3)", f"np.full(3, {other})")
            return self.made(indent, "s", SMALL, self.one(made))
        q = self.name(lambda k: k == SMALL) or p
        k, v = self.one("012"), self.vector("f", "n") or p
        self.put(indent, self.one((
            f"{v}[1:] += np.array([{value}])", f"{v}[-1] += {p}[{k}]", f"{v}[:2] = {p}[1:]", f"{p} = {p} * {q}[:1]",
            f"{v}[:] = {p}[{k} : {k} + 1]", f"{p}[{k} :] = {v}[:1]", f"{p}[{k}] = {value}", f"{p}[{k}] += {other}",
            f"{p}[-1] = {q}[0] * {other}", f"{p}[1:] = {q}[:-1]", f"{p} = {p} * 0.5 + {q}", f"{p} = 0.5 * {q}[::-1]",
            f"{p}[:2] *= {other}", f"{p} = {q}.copy()", f"{p} = np.where({p} > {other}, {p}, 0.5 * {q})",
            f"{p}[::2] = np.array([{value}, {q}[{k}]])", f"{p}[len(x) % 3] = {other}", f"{p} = np.tanh({p})",
            f"{p}[:] = {q}", f"{p} = {q}",
        )))  # fmt: skip
        return True

    # -- dicts and records ------------------------------------------------------------------------

    def dict_(self, indent: int, loop: bool) -> bool:
        d = self.name(lambda k: k == DICT)
        if d is None or self.chance(0.4):
            return self.made(indent, "par", DICT, f"{{'u': {bare(self.float_(1))}, 'v': {bare(self.float_(0))}}}")
        key = self.one("uv")
        self.put(indent, f"{d}['{key}'] {self.one(('=', '+=', '-='))} {bare(self.float_(1))}")
        return True

    def record(self, indent: int, loop: bool) -> bool:
        r, p = self.name(lambda k: k == RECORD), self.name(lambda k: k == PAIR)
        if p is not None and self.chance(0.3):
            self.put(indent, f"{p} = {p}._replace({self.one(('left', 'right'))}={bare(self.float_(1))})")
            return True
        if r is None or self.chance(0.3):
            if self.chance(0.3):
                return self.made(indent, "pair", PAIR, f"_Pair({bare(self.float_(1))}, {bare(self.float_(0))})")
            v = self.vector("f", "n") or "x"
            held = self.one((v, f"{v}.copy()", f"{v} * 0.5"))
            return self.made(indent, "body", RECORD, f"_Body({bare(self.float_(1))}, {held})")
        value = bare(self.float_(1))
        self.put(indent, self.one((
            f"{r}.mass = {value}", f"{r}.mass += {value}", f"{r}.pos[0] = {value}", f"{r}.pos[-1] += {value}",
            f"{r}.pos = {r}.pos * 0.5 + {self.float_(0)}", f"{r}.push({value})", f"{r}.pos *= 0.5",
        )))  # fmt: skip
        return True

    def held(self) -> str | None:
        """A number read from a list, dict or record."""
        name = self.name(lambda k: k in (LIST, DICT, RECORD, PAIR, SMALL))
        if name is None:
            return None
        texts = {
            LIST: (f"sum({name})", f"({name}[-1] if {name} else 0.5)", f"({name}[0] if len({name}) > 0 else 1.5)"),
            DICT: (f"{name}['u']", f"{name}['v']"),
            RECORD: (f"{name}.mass", f"{name}.pos[0]", f"np.sum({name}.pos)", f"{name}.energy()"),
            PAIR: (f"{name}.left", f"{name}.right", f"{name}[1]"),
            SMALL: (
                f"{name}[0]",
                f"{name}[1]",
                f"{name}[-1]",
                f"np.sum({name})",
                f"np.max({name})",
                f"{name}[:2].sum()",
            ),
        }
        return self.one(texts[self.scope.names[name]])

    # -- functions --------------------------------------------------------------------------------

    def inner_function(self, indent: int, loop: bool) -> bool:
        """A function of one number that reads names around it, or changes one."""
        name, argument = self.new("go"), self.new("v")
        before = self.scope.copy()
        changed = self.name(lambda k: k == FLOAT) if self.chance(0.5) else None
        params = set(self.parameter_names)
        if changed in self.scope.frozen or changed in params:
            changed = None
        self.scope.names[argument] = FLOAT
        value, other = bare(self.float_(1)), self.float_(0)
        self.scope = before
        self.put(indent, f"def {name}({argument}):")
        if changed:
            self.put(indent + 1, f"nonlocal {changed}")
            self.put(indent + 1, f"{changed} = 0.5 * {changed} + {argument}")
        if self.chance(0.3):
            self.put(indent + 1, f"if {argument} > {other}:")
            self.put(indent + 2, f"return {argument}")
        self.put(indent + 1, f"return {value}")
        self.scope.names[name] = CALL
        self.scope.frozen.add(name)
        return True

    parameter_names: tuple[str, ...] = ()

    def local_call(self) -> str | None:
        f = self.name(lambda k: k == CALL)
        return f and f"{f}({bare(self.float_(0))})"

    # -- arrays indexed by arrays -----------------------------------------------------------------

    def index_array(self, indent: int, loop: bool) -> bool:
        v = self.vector("f", "n")
        if v is None:
            return False
        w = self.vector("f", "n") or v
        at = self.one(
            (f"np.argsort({w})", "np.arange(len(x))[::-1]", f"np.nonzero({v} > {self.float_(0)})[0]", "[0, -1]")
        )
        test = f"{w} {self.one('<>')} {self.float_(0)}"
        value = bare(self.float_(1))
        made = self.random.random()
        if made < 0.3:
            return self.made(indent, "tot", FLOAT, self.one((f"np.sum({v}[{at}])", f"np.sum({v}[{test}])")))
        if made < 0.45:
            return self.made(indent, "u", Kind("f", ("n",)), f"{v}[np.argsort({w})]")
        self.put(indent, self.one((
            f"{v}[{at}] = {value}", f"{v}[{at}] += {value}", f"np.add.at({v}, {at}, {value})",
            f"{v}[{test}] = {w}[{test}] * 0.5", f"{v}[{test}] += {value}", f"{v}[{at}] *= 0.5",
        )))  # fmt: skip
        return True

    def counted(self) -> str | None:
        """A whole number from a list."""
        items = self.name(lambda k: k == LIST)
        return items and f"len({items})"
