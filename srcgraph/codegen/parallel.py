"""Loops whose trips are shared out among threads: their bodies as functions of some rows.

::

    for i in range(n):                            in_parallel(f_rows_8, range(n), 3.0 * m, x, y)
        for j in range(m):
            y[i, j] = 2.0 * x[i, j]        is     def f_rows_8(rows, x, y):
                                                      m = x.shape[1]
                                                      for i in rows:
                                                          for j in range(m): ...

where `independent` says that trips do not need each other, for the outermost such loop. Its third argument is about how
many operations a trip is; a small loop is one part, see `srcgraph.runtime.parallel`. What trips add to is added up in
parts, of which each has a place, and these are put together in order::

    parts = parts_of(range(n), 2.0)
    s_parts = np.empty(parts)
    in_parts(f_rows_3, range(n), parts, 1, x, s, s_parts)
    s = s_parts[0]
    for k in range(1, parts):
        s += s_parts[k]
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from srcgraph.codegen.affine import Trips, number_of, plus, reads
from srcgraph.codegen.aliases import Aliases, makes_array
from srcgraph.codegen.flow import (
    NOTHING,
    Names,
    NeededNames,
    assigned_names,
    certainly_assigned,
    live_before,
    target_of,
)
from srcgraph.codegen.independent import Independent, Known, independent
from srcgraph.codegen.pieces import call
from srcgraph.codegen.regions import Region
from srcgraph.codegen.statements import defined, names_in, statements_in
from srcgraph.codegen.variables import Variables
from srcgraph.codegen.work import work_of

HELPERS = ("apart", "in_parallel", "in_parts", "parts_of")
SMALLEST = 160_000.0
"""A loop that is known to be fewer operations stays as it is."""
FEW = 8
"""So does one of fewer trips, if there are others in it."""
MOST = 60
"""How many loops of a function are shared out: each is compiled as a function of its own."""

Statements = list[ast.stmt]


@dataclass(slots=True)
class Shared:
    """A function whose loops are shared out.

    Attributes
    ----------
    functions : list of ast.FunctionDef
        The function last.
    notes : list
        For each loop that was looked at: the number of its place, and what was found.
    """

    functions: list[ast.FunctionDef]
    notes: list[tuple[int, str]]


def shared_out(function: ast.FunctionDef, variables: Variables, lines: Mapping[int, int], weight: float) -> Shared:
    """A function with its independent loops shared out.

    Parameters
    ----------
    function : ast.FunctionDef
    variables : Variables
    lines : mapping
        The user's line for each statement's ``lineno``; what is made is named after them.
    weight : float
        What an operation counts: less than 1 where only large loops are to be divided.
    """
    work = Sharing(function, variables, lines, weight)
    params = frozenset(a.arg for a in function.args.args)
    function.body = work.block(function.body, NOTHING, params, 0)
    return Shared([*work.made, function], work.notes)


@dataclass(slots=True)
class Sharing:
    function: ast.FunctionDef
    variables: Variables
    lines: Mapping[int, int]
    weight: float
    made: list[ast.FunctionDef] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    forms: dict[str, ast.FunctionDef] = field(default_factory=dict)
    """Functions made, by their text with other names."""
    taken: set[str] = field(init=False)
    all: Names = field(init=False)
    aliases: Aliases = field(init=False)
    lengths: dict[str, ast.stmt] = field(init=False)
    facts: list[tuple[str, ast.stmt]] = field(init=False)
    """What is known of the lengths of arrays, for LLVM: the name of the array, and the statement that says it."""

    def __post_init__(self) -> None:
        params = [a.arg for a in self.function.args.args]
        self.all = assigned_names(self.function.body) | frozenset(params)
        self.taken = {*self.all, *self.variables.taken, self.function.name, *HELPERS}
        held = {*self.variables.axes, *self.variables.lists}
        self.aliases = Aliases(self.function.body, params, held, self.variables.axes, self.variables.views)
        self.lengths = _lengths(self.function, params)
        self.facts = list(_facts(self.function))

    # -- loops ---------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt], after: Names, bound: Names, depth: int) -> Statements:
        """The statements with loops shared out; ``after`` are the names needed after them, ``bound`` those before."""
        out: Statements = []
        before = set(bound)
        known = NeededNames.in_block(body, after)
        for k, node in enumerate(body):
            if isinstance(node, ast.For | ast.While | ast.If):
                out += self.structured(node, known.all(k), frozenset(before), depth)
            else:
                out.append(node)
            before |= certainly_assigned([node])
        return out

    def structured(self, node: ast.For | ast.While | ast.If, after: Names, bound: Names, depth: int) -> Statements:
        match node:
            case ast.For():
                return self.loop(node, after, bound, depth)
            case ast.While():
                again = live_before([node], after, NOTHING, NOTHING)
                node.body = self.block(node.body, after | again, bound, depth + 1)
            case ast.If():
                node.body = self.block(node.body, after, bound, depth)
                node.orelse = self.block(node.orelse, after, bound, depth)
        return [node]

    def loop(self, node: ast.For, after: Names, bound: Names, depth: int) -> Statements:
        has_loops = any(isinstance(s, ast.For | ast.While) for s in statements_in(node.body))
        found = independent(node, self.known(node), after)
        why = found if isinstance(found, str) else self.too_small(node, has_loops, depth)
        if isinstance(found, Independent) and not why:
            made = Region(self, node, found, bound).statements()
            if made is not None:
                self.note(node, "its trips run side by side")
                return made
            why = "what it reads may have no value"
        self.note(node, f"in order: {why}")
        if has_loops and why != _SMALL:
            self.inside(node, after, bound, depth)
        return [node]

    def known(self, loop: ast.For) -> Known:
        """What `independent` is told of a loop."""
        known = self.variables
        ordered, fallible = known.ordered, known.fallible
        return Known(known.axes, known.lists, known.integers, ordered, fallible, self.aliases.during(loop))

    def counted_up(self, body: Statements, after: Names) -> None:
        """Loops that count down, as in reverse sweeps, count up if that is the same: LLVM vectorises them then."""
        known = NeededNames.in_block(body, after)
        for k, node in enumerate(body):
            if not isinstance(node, ast.For | ast.While | ast.If):
                continue
            needed = known.all(k)
            match node:
                case ast.For():
                    self.counted_up(node.body, needed | live_before([node], needed, NOTHING, NOTHING))
                    trips = Trips.of(node.iter)
                    if (
                        trips is not None
                        and trips.step == -1
                        and _is_plain(node, independent(node, self.known(node), needed))
                    ):
                        first, stop = plus(trips.stop, 1), plus(trips.first, 1)
                        node.iter = call("range", [stop] if number_of(first) == 0 else [first, stop])
                case ast.While():
                    self.counted_up(node.body, needed | live_before([node], needed, NOTHING, NOTHING))
                case ast.If():
                    self.counted_up(node.body, needed)
                    self.counted_up(node.orelse, needed)

    def inside(self, node: ast.For, after: Names, bound: Names, depth: int) -> None:
        """The loops in one that stays as it is."""
        again = live_before([node], after, NOTHING, NOTHING)
        own = assigned_names(target_of(node))
        node.body = self.block(node.body, after | again, bound | own, depth + 1)

    def too_small(self, node: ast.For, has_loops: bool, depth: int) -> str:
        """Why a loop is not worth dividing, if that is known; '' if it may be."""
        if len(self.made) >= MOST:
            return "the function has many loops"
        if self.weight >= _ALWAYS:
            return ""
        if depth > 1 and not has_loops:
            return "it is small beside the loops around it"
        trips = Trips.of(node.iter)
        count = None
        if trips is not None and isinstance(trips.first, ast.Constant) and isinstance(trips.stop, ast.Constant):
            count = abs((trips.stop.value - trips.first.value) // trips.step)  # type: ignore[operator]
        each = work_of(node).known
        if count is not None and each is not None and count * each < SMALLEST:
            return _SMALL
        return "it has few trips" if count is not None and count < FEW and has_loops else ""

    def note(self, node: ast.stmt, text: str) -> None:
        self.notes.append((node.lineno, text))

    # -- names ---------------------------------------------------------------------------------------

    def fresh(self, base: str) -> str:
        """A name that nothing else has."""
        name, k = base, 1
        while name in self.taken:
            k += 1
            name = f"{base}_{k}"
        self.taken.add(name)
        return name

    def function_of(self, node: ast.For, params: Sequence[str], body: Statements) -> str:
        """The name of a function of these statements, which may be there already, with other names."""
        for statement in statements_in(body):
            statement.lineno = getattr(statement, "lineno", 0)
        made = defined("", params, body, self.function.decorator_list)
        form = _form(made, self.variables)
        raises = any(isinstance(s, ast.Raise) for s in statements_in(body))  # the place is the user's to know
        if form in self.forms and not raises:
            known = self.forms[form]
            for old, new in zip(statements_in(known.body), statements_in(body), strict=True):
                old.lineno = old.lineno if old.lineno == new.lineno else 0
            return known.name
        line = self.lines.get(node.lineno)
        made.name = self.fresh(f"{self.function.name}_rows" + (f"_{line}" if line else ""))
        self.forms[form] = made
        self.made.append(made)
        return made.name


def _is_plain(node: ast.For, found: Independent | str) -> bool:
    """Whether the trips of a loop give the same in any order, to the last bit."""
    return found == Independent() and not any(isinstance(s, ast.Raise) for s in statements_in(node.body))


_SMALL = "it is small"
_ALWAYS = 1e6
"""Of so large a weight, loops are divided however small they are."""


def _facts(function: ast.FunctionDef) -> Iterator[tuple[str, ast.stmt]]:
    """What a function says of lengths where it begins, or makes arrays by, of arrays that its names always mean."""
    stores = [n.id for n in names_in(*function.body) if isinstance(n.ctx, ast.Store)]
    params = {a.arg for a in function.args.args}
    for node in function.body:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id="assume"), args=[test])):
                names = reads(test)
                if len(names) == 1 and names <= params - set(stores):
                    yield next(iter(names)), node
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(), args=[shape, *_]) as value
            ) if stores.count(name) == 1 and name not in params and makes_array(value) and isinstance(shape, ast.Tuple):
                for k, length in enumerate(shape.elts):
                    if number_of(length) is not None:
                        yield name, ast.parse(f"assume({name}.shape[{k}] == {ast.unparse(length)})").body[0]


def _lengths(function: ast.FunctionDef, params: Sequence[str]) -> dict[str, ast.stmt]:
    """The names that are always one length of one array, and the statements that say so."""
    stores = [n.id for n in names_in(*function.body) if isinstance(n.ctx, ast.Store)]
    found: dict[str, ast.stmt] = {}
    for node in function.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Subscript(value=ast.Attribute(value=ast.Name(id=array), attr="shape")),
            ) if stores.count(name) == 1 and array in params and stores.count(array) == 0:
                found[name] = node
    return found


def _form(function: ast.FunctionDef, variables: Variables) -> str:
    """A function's text with numbers for its variables, and what is known of these."""
    made = copy.deepcopy(function)
    own = {a.arg for a in made.args.args} | assigned_names(made.body)
    numbers: dict[str, str] = {}

    def named(name: str) -> str:
        if name not in own:
            return name
        kind = variables.dtypes.get(name, ""), variables.axes.get(name, -1), name in variables.integers
        return numbers.setdefault(name, f"v{len(numbers)}_{kind}")

    for arg in made.args.args:
        arg.arg = named(arg.arg)
    for node in ast.walk(made):
        if isinstance(node, ast.Name):
            node.id = named(node.id)
    return ast.dump(made)
