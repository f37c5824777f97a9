"""What is assigned to the variables of a function in numba's form, and what reads them: what `Lean` lowering asks."""

from __future__ import annotations

import builtins
import operator
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from numba.core import ir, types
from numba.core.types import NumberClass

RANGE = types.range_state64_type


@dataclass(slots=True)
class Loop:
    """A loop over a range.

    Attributes
    ----------
    bounds : tuple of Var
        What ``range`` is called with.
    body : int
        The block that is entered for each step, from the loop's head alone.
    head, end : int
        The blocks that ask whether there is another step, and that are entered if there is none.
    """

    bounds: tuple[ir.Var, ...]
    body: int
    head: int
    end: int
    first: Any = None
    last: Any = None
    step: Any = None
    at: Any = None
    """Where the next number is kept."""
    left: Any = None
    """Where it is kept how many steps there are still to go."""


class Uses:
    """What is assigned to the variables of a function, and what reads them.

    Parameters
    ----------
    func_ir : numba.core.ir.FunctionIR
    typemap : mapping
        Variables' types, by name.
    """

    def __init__(self, func_ir: ir.FunctionIR, typemap: Any):
        self.types = typemap
        self.made: dict[str, list[Any]] = defaultdict(list)
        self.read: dict[str, list[Any]] = defaultdict(list)
        self.entered: Counter[int] = Counter()
        self.branch: dict[str, ir.Branch] = {}
        self.label: dict[str, int] = {}
        self.labels: dict[str, list[int]] = defaultdict(list)
        self.blocks = func_ir.blocks
        for label, block in func_ir.blocks.items():
            for statement in block.body:
                self._note(statement, label)

    def _note(self, statement: Any, label: int) -> None:
        if isinstance(statement, ir.Assign):
            self.made[statement.target.name].append(statement.value)
            self.label[statement.target.name] = label
            self.labels[statement.target.name].append(label)
            value = statement.value
            for v in (value,) if isinstance(value, ir.Var) else value.list_vars() if isinstance(value, ir.Expr) else ():
                self.read[v.name].append(statement)
            return
        if isinstance(statement, ir.Del):
            return
        for v in statement.list_vars():
            self.read[v.name].append(statement)
        if isinstance(statement, ir.Branch):
            self.entered.update((statement.truebr, statement.falsebr))
            self.branch[statement.cond.name] = statement
        elif isinstance(statement, ir.Jump):
            self.entered[statement.target] += 1

    def indexed(self) -> list[str]:
        """The arrays of which a number is read or stored at a place that is not constant, in order."""
        found: dict[str, None] = {}
        for statements in self.read.values():
            for s in statements:
                e = s.value if isinstance(s, ir.Assign) else s
                if isinstance(s, ir.SetItem):
                    found[s.target.name] = None
                elif isinstance(e, ir.Expr) and e.op == "getitem":
                    found[e.value.name] = None
        return [name for name in found if isinstance(self.types.get(name), types.Array)]

    def once(self, name: str) -> Any:
        """What is assigned to a variable, if that is one thing."""
        made = self.made[name]
        return made[0] if len(made) == 1 else None

    def origin(self, name: str) -> str:
        """The first of the variables of which each is another name of the one before."""
        while isinstance(made := self.once(name), ir.Var):
            name = made.name
        return name

    def borrowed(self) -> set[str]:
        """The variables that are what a caller passes, and nothing else, or a method of a list that outlives them."""
        found = {name for name, made in self.made.items() if len(made) == 1 and isinstance(made[0], ir.Arg)}
        for name in self.made:
            of = self.once(name)
            if isinstance(of, ir.Var) and of.name in found and self.types.get(name) == self.types[of.name]:
                found.add(name)
        return found | self._methods(found)

    def outside(self) -> set[int]:
        """The blocks outside of all loops."""
        loops = [(to, label) for label, block in self.blocks.items() for to in targets(block) if to <= label]
        return {label for label in self.blocks if not any(first <= label <= last for first, last in loops)}

    def raises_in_loops(self) -> bool:
        """Whether loops have checks."""
        outside = self.outside()
        ends = (block.body[-1] for label, block in self.blocks.items() if label not in outside and block.body)
        return any(isinstance(s, ir.Raise | ir.StaticRaise | ir.DynamicRaise) for s in ends)

    def begun_once(self) -> set[str]:
        """The variables that are assigned to in one place, outside of all loops: there is nothing in them before."""
        outside = self.outside()
        return {name for name, made in self.made.items() if len(made) == 1 and self.label[name] in outside}

    def _methods(self, lasting: set[str]) -> set[str]:
        """The methods of lists that are there for as long as the method, or ``lasting``."""
        found, lists = set[str](), dict[str, str]()
        for block in self.blocks.values():
            lists.clear()
            for s in block.body:
                gone = s.target.name if isinstance(s, ir.Assign) else s.value if isinstance(s, ir.Del) else ""
                if gone in lists:
                    found.add(gone)
                if gone not in lasting:
                    lists = {method: of for method, of in lists.items() if gone not in (method, of)}
                if isinstance(s, ir.Assign) and (of := self._list_of_method(s.target.name)):
                    lists[s.target.name] = of
        return found

    def _list_of_method(self, name: str) -> str:
        """The list of which a variable is a method; '' if it is something else, or several things."""
        made, kind = self.once(name), self.types.get(name)
        is_read = isinstance(made, ir.Expr) and made.op == "getattr"
        is_method = isinstance(kind, types.BoundFunction) and isinstance(kind.this, types.List)
        return made.value.name if is_read and is_method else ""

    def number(self, name: str) -> int | None:
        """The integer that a variable is."""
        made = self.once(name)
        value = made.value if isinstance(made, ir.Const) else getattr(self.types.get(name), "literal_value", None)
        return value if type(value) is int else None

    def fraction(self, name: str) -> float | None:
        """The float that a variable is."""
        made = self.once(name)
        if isinstance(made, ir.Expr) and made.op == "call" and isinstance(self.types.get(made.func.name), NumberClass):
            return self.fraction(made.args[0].name) if len(made.args) == 1 else None
        return made.value if isinstance(made, ir.Const) and type(made.value) is float else None

    # -- loops ------------------------------------------------------------------------------------

    def loops(self) -> dict[str, Loop]:
        """The loops over ranges of 64 bits that nothing else looks at, by each variable that stands for one."""
        found: dict[str, Loop] = {}
        for name, made in list(self.made.items()):
            if len(made) == 1 and isinstance(made[0], ir.Expr) and made[0].op == "iternext":
                names, loop = self._loop(name, made[0])
                if loop is not None:
                    found |= dict.fromkeys(names, loop)
        return found

    def _loop(self, pair: str, step: ir.Expr) -> tuple[list[str], Loop | None]:
        """The variables of the loop of an ``iternext``: the pair, its iterators, and the range."""
        names, last = [pair], step.value.name
        while isinstance(source := self.once(last), ir.Var):
            names.append(last)
            last = source.name
        if not isinstance(source, ir.Expr) or source.op != "getiter" or self.types.get(source.value.name) != RANGE:
            return names, None
        call = self.once(source.value.name)
        names += [last, source.value.name]
        if not isinstance(call, ir.Expr) or call.op != "call" or call.kws or not 1 <= len(call.args) <= 3:
            return names, None
        branch = self._branch(pair)
        if branch is None or call.vararg is not None or not self.label[last] <= self.label[pair] < branch.truebr:
            return names, None
        if any(len(self.read[n]) != 1 for n in names[1:]):
            return names, None
        return names, Loop(tuple(call.args), branch.truebr, self.label[pair], branch.falsebr)

    def _branch(self, pair: str) -> ir.Branch | None:
        """Where it is decided whether there is another step, to a block that is entered from there alone."""
        taken = [getattr(getattr(s, "value", None), "op", "") for s in self.read[pair]]
        valid = [s.target.name for s, op in zip(self.read[pair], taken, strict=True) if op == "pair_second"]
        branch = self.branch.get(valid[0]) if len(valid) == 1 else None
        if branch is None or not {*taken} <= {"pair_first", "pair_second"} or self.entered[branch.truebr] != 1:
            return None
        return branch

    def steps(self, loop: Loop) -> int | None:
        """How many steps a loop that counts up by one takes, if that is known."""
        known = [self.number(v.name) for v in loop.bounds]
        first, last, step = [*([0] if len(known) == 1 else []), *known, 1][:3]
        return max(last - first, 0) if first is not None and last is not None and step == 1 else None

    def most_steps(self, loop: Loop) -> int | None:
        """No more steps than that a loop that counts up by one takes, as one end is so far from the other at most."""
        if len(loop.bounds) == 3 and self.number(loop.bounds[2].name) != 1:
            return None
        *first, last = loop.bounds[:2]
        starts = self._places(first[0].name, "max") if first else [("", 0)]
        ends = dict(self._places(last.name, "min"))
        known = [ends[of] - k for of, k in starts if of in ends]
        return max(min(known), 0) if known else None

    def _places(self, name: str, chosen: str) -> list[tuple[str, int]]:
        """A variable as others, or "" for 0, and how much more than these it is; as several if `chosen` of them."""
        if (value := self.number(name)) is not None:
            return [("", value)]
        made = self.once(name)
        if isinstance(made, ir.Var):
            return self._places(made.name, chosen)
        if isinstance(made, ir.Expr) and made.op == "binop" and made.fn in (operator.add, operator.sub):
            if (by := self.number(made.rhs.name)) is not None:
                by = by if made.fn is operator.add else -by
                return [(of, k + by) for of, k in self._places(made.lhs.name, chosen)]
        if isinstance(made, ir.Expr) and made.op == "call" and self._is_builtin(made.func.name, chosen):
            return [place for v in made.args for place in self._places(v.name, chosen)]
        return [(name, 0)]

    def _is_builtin(self, name: str, builtin: str) -> bool:
        made = self.once(name)
        return isinstance(made, ir.Global) and made.value is getattr(builtins, builtin)

    # -- positions --------------------------------------------------------------------------------

    def positions(self, local: set[str]) -> set[str]:
        """Of the variables that are local to a block, the tuples that are nothing but positions in arrays."""
        return {name for name in local if self._is_position(name)}

    def _is_position(self, name: str) -> bool:
        made = self.once(name)
        if not isinstance(made, ir.Expr) or made.op != "build_tuple" or not self.read[name]:
            return False
        return all(
            (array := _indexed(s, name)) is not None and is_element(self.types[array], self.types[name])
            for s in self.read[name]
        )


def targets(block: ir.Block) -> list[int]:
    last = block.body[-1] if block.body else None
    return list(last.get_targets()) if isinstance(last, ir.Terminator) else []


def _indexed(statement: Any, index: str) -> str | None:
    """The array in which a statement reads or stores the element at an index."""
    if isinstance(statement, ir.SetItem):
        return statement.target.name if statement.index.name == index != statement.value.name else None
    e = statement.value if isinstance(statement, ir.Assign) else None
    return e.value.name if isinstance(e, ir.Expr) and e.op == "getitem" and e.index.name == index else None


def is_element(array: Any, index: Any) -> bool:
    """Whether an index is the place of one number of an array."""
    kinds = getattr(index, "types", (index,))
    return (
        isinstance(array, types.Array)
        and isinstance(array.dtype, types.Number | types.Boolean)
        and array.ndim == len(kinds) > 0
        and all(isinstance(k, types.Integer) for k in kinds)
    )
