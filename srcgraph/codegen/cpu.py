"""The numba target: a module with one function, from a closed graph."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from srcgraph.codegen import sums, tapes
from srcgraph.codegen.ahead import read_ahead
from srcgraph.codegen.aliases import Aliases
from srcgraph.codegen.behind import in_one_loop
from srcgraph.codegen.body import Body, is_extreme, is_sum
from srcgraph.codegen.buffers import made_once
from srcgraph.codegen.checked import checked_first
from srcgraph.codegen.delayed import delayed
from srcgraph.codegen.displays import without_long_choices
from srcgraph.codegen.filling import filled_once
from srcgraph.codegen.guards import guarded
from srcgraph.codegen.handed import handed_on
from srcgraph.codegen.helpers import helper_modules, helpers_used
from srcgraph.codegen.inside import asked_once
from srcgraph.codegen.integers import annotated, grow, is_numpy_integer
from srcgraph.codegen.inward import inward
from srcgraph.codegen.items import (
    Block,
    InnerReduce,
    Kernel,
    LoopReduce,
    all_blocks,
)
from srcgraph.codegen.memory import kept
from srcgraph.codegen.names import Names
from srcgraph.codegen.narrow import narrowed
from srcgraph.codegen.outline import outlined
from srcgraph.codegen.overwritten import overwritten
from srcgraph.codegen.parallel import HELPERS, shared_out
from srcgraph.codegen.program import scheduled
from srcgraph.codegen.ragged import one_after_another
from srcgraph.codegen.registers import as_written, in_registers
from srcgraph.codegen.repeats import written_once
from srcgraph.codegen.reread import reread
from srcgraph.codegen.rings import in_rings
from srcgraph.codegen.rounds import read_round
from srcgraph.codegen.rows import by_rows
from srcgraph.codegen.running import with_running_extremes
from srcgraph.codegen.saved import saved_whole
from srcgraph.codegen.several import several_at_once
from srcgraph.codegen.shared_rows import row_by_row
from srcgraph.codegen.shifted import gathered
from srcgraph.codegen.shorter import shorter
from srcgraph.codegen.source import Places, Text, emit
from srcgraph.codegen.sparse import skipping
from srcgraph.codegen.statements import defined, names_in
from srcgraph.codegen.steady import asked_before
from srcgraph.codegen.storage import Copied, Interface
from srcgraph.codegen.sums import in_blocks
from srcgraph.codegen.swapped import AGAIN, swapped
from srcgraph.codegen.tapes import in_arrays
from srcgraph.codegen.tidy import calls_nested, tidy
from srcgraph.codegen.told import told
from srcgraph.codegen.unfilled import without_unfilled
from srcgraph.codegen.upward import upward
from srcgraph.codegen.variables import Variables, variables_of
from srcgraph.codegen.waiting import waiting_last
from srcgraph.errors import Loc
from srcgraph.ir.closure import free_values
from srcgraph.ir.graph import NOWHERE, Apply, Graph, Origin, Value
from srcgraph.ir.types import BOOL, ArrayType, ListType, ScalarType, TensorType, Type, is_float, is_integer
from srcgraph.ir.walk import all_nodes, calling, calls

LOOP_HELPERS = frozenset(sums.NAMES)
"""What loops call that are written so that LLVM takes several steps at a time."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated module.

    Attributes
    ----------
    name : str
        Of the function in it.
    text : Text
    copies : tuple of Copied
        Arrays that had to be copied, and why.
    frame : int
        Where it recurses, and so takes as last argument how deep it may go: how many bytes of stack a
        call needs at most.
    repeatable : bool
        Whether a call that something was raised in has changed nothing outside, so that it can be made again.
    kernels : tuple of str
        The functions of the user's that it calls, by what `srcgraph.runtime.natives` finds them by.
    """

    name: str
    text: Text
    copies: tuple[Copied, ...]
    frame: int = 0
    kernels: tuple[str, ...] = ()
    repeatable: bool = False
    signatures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of a CUDA module: its kernels, and the types of their arguments as numba writes them."""
    shared: tuple[tuple[Loc, str], ...] = ()
    """Which loops threads share, and why others run in order: where they are, and what was found."""


NO_CALLEES: Mapping[str, tuple[Graph, Interface]] = MappingProxyType({})
NO_KERNELS: Mapping[str, str] = MappingProxyType({})


def generate(
    graph: Graph,
    interface: Interface,
    *,
    name: str = "",
    fastmath: Collection[str] = (),
    integers: str = "Integers",
    callees: Mapping[str, tuple[Graph, Interface]] = NO_CALLEES,
    kernels: Mapping[str, str] = NO_KERNELS,
    inplace: bool = True,
    parallel: float = 0.0,
) -> Generated:
    """Write the numba module of a closed graph.

    Parameters
    ----------
    graph : Graph
    interface : Interface
        Which parameters it changes, and which results it returns.
    name : str
        Of the function; the graph's by default.
    fastmath : collection of str
        What rounding may be changed by.
    integers : str
        The compiler, of `srcgraph.runtime.integers`, for functions whose integers may need more than 64 bits.
    callees : mapping
        The recursive functions it calls, by name. Where there are any, or it calls itself, every
        function has one more parameter, the last: how many calls deep recursion may still go.
    kernels : mapping
        The functions of the user's that it calls, and what `srcgraph.runtime.natives` finds them by.
    inplace : bool
        Whether an array is stored into where it is, if nobody needs what it was; else every store is into a copy.
    parallel : float
        What an operation counts where it is decided whether threads share a loop; 0 for no such loops.
    """
    name = name or graph.name
    taken = {n: f"{n}_" for n in (name, *callees, *kernels) if n in helper_modules() or n in _IMPORTED}
    if taken:
        callees = {taken.get(n, n): (calling(g, taken), to) for n, (g, to) in callees.items()}
        kernels = {taken.get(n, n): known for n, known in kernels.items()}
        name, graph = taken.get(name, name), calling(graph, taken)
    module = Module({**callees, name: (graph, interface)}, fastmath, integers, inplace, kernels, parallel)
    parts = [part for key, (inner, to) in module.graphs.items() for part in module.function(key, inner, to)]
    several = several_at_once(parts, divides=bool(fastmath), sums="reassoc" in fastmath)
    helpers = {**module.helpers, **several, **dict.fromkeys(kept(parts), "arrays")}
    text = emit(ast.Module([*_imports(parts, helpers, kernels), *parts], []), module.places)
    frame = max(map(_frame, parts)) if module.depth_left else 0
    again = not kernels and _is_repeatable(interface, (graph, *(g for g, _ in callees.values())))
    return Generated(
        name, text, tuple(module.copies), frame, tuple(kernels.values()), again, shared=tuple(module.shared)
    )


class Module:
    """The functions of a module under construction, and what they share.

    Parameters
    ----------
    graphs : mapping
        By name: what to write, the entry last.
    fastmath : collection of str
        What rounding may be changed by.
    integers : str
        The compiler for functions whose integers may need more than 64 bits.
    inplace : bool
        Whether arrays are stored into where they are.
    kernels : mapping
        The functions of the user's, by the names they are called by.
    """

    def __init__(
        self,
        graphs: Mapping[str, tuple[Graph, Interface]],
        fastmath: Collection[str],
        integers: str,
        inplace: bool,
        kernels: Mapping[str, str],
        parallel: float,
    ):
        self.graphs = graphs
        self.fastmath = fastmath
        self.integers = integers
        self.inplace = inplace
        self.kernels = frozenset(kernels)
        self.places = Places()
        self.copies: list[Copied] = []
        self.parallel = parallel
        self.shared: list[tuple[Loc, str]] = []
        self.helpers: dict[str, str] = {}
        self.called = {c.callee for graph, _ in graphs.values() for c in calls(graph)} - self.kernels
        self.depth_left = _depth_left(graph for graph, _ in graphs.values()) if self.called else ""
        self.unread = dict.fromkeys(kernels, frozenset[int]())
        self.unread |= {key: _unread(graph) for key, (graph, _) in graphs.items()}

    def function(self, name: str, graph: Graph, interface: Interface) -> list[ast.FunctionDef]:
        """A graph as a function, and the kernels it is divided into."""
        found = scheduled(graph, interface, "cpu", self.unread, self.inplace)
        plain, block, scheduler = found.graph, found.block, found.scheduler
        helpers = {**helpers_used(block), **dict.fromkeys(_reducing(block), "blocks")}
        shared = HELPERS if self.parallel else ()
        reserved = frozenset((*helpers, *self.graphs, *self.kernels, *shared, self.depth_left))
        names = Names(block, plain.params, reserved=reserved, hints=scheduler.hints)
        watched = grow(plain, scheduler.uses)
        options = _options(self.fastmath, self.integers if watched else "")
        body = Body(names, self.places, self.depth_left, self.kernels)
        statements = body.block(block.items)
        leave = returning([body.resolved(e) for e in block.results])
        params = [names.of(p) for p in plain.params]
        statements = tidy(statements + body.placed([leave], last_origin(block, interface)))
        users = {*params, *(n.id for n in names_in(*statements))}
        watching = self.watched(names) if watched else set()
        lengths = dict(_lengths(plain.params, scheduler.providers, names))
        in_order = not self.parallel, "reassoc" not in self.fastmath
        statements = quick_loops(statements, users, {*params, *reserved}, watching, lengths, *in_order)
        statements = with_running_extremes(statements, names.of_type(_is_one_float), {*params, *reserved, *users})
        statements = read_ahead(statements, {*params, *reserved}, lambda: self.aliases(statements, params, names))
        statements = in_arrays(statements, _numbers_in_lists(names), {*params, *reserved})
        rows = {} if self.parallel else _numbers_in_rows(names)
        statements = one_after_another(statements, rows, {*params, *reserved})
        statements = told(without_unfilled(statements), _items_of_lists(names))
        used = {n.id for n in names_in(*statements)}
        helpers, called = {name: module for name, module in helpers.items() if name in used}, used - users
        helpers |= dict.fromkeys(LOOP_HELPERS & called, "blocks")
        helpers |= dict.fromkeys({tapes.HELPER} & called, "arrays")
        self.copies += found.copies
        self.helpers.update(helpers)
        if not self.depth_left:
            marked = frozenset(names.of_type(is_numpy_integer) if watched else ())
            whole = self.shared_out(_function(name, params, statements, options), names, watched)
            for f in () if self.parallel else whole:
                narrowed(f.body)
            whole = [made_once(swapped(shorter(saved_whole(overwritten(f))), {*params, *reserved})) for f in whole]
            in_turns = {n.id for f in whole for n in names_in(f)} - users
            self.helpers.update(dict.fromkeys({AGAIN} & in_turns, "edges"))
            for f in () if self.parallel else whole:
                delayed(f.body, {*params, *reserved})
                f.body = in_one_loop(f.body, {*params, *reserved})
            parts = [part for f in whole for part in written_once(f, marked)]
            functions = [made_once(f) for part in parts for f in outlined(part, self.lines())]
        else:
            if name in self.called:
                statements = [*body.placed([_too_deep(self.depth_left)], _first_origin(graph)), *statements]
            functions = [made_once(_function(name, [*params, self.depth_left], calls_nested(statements), options))]
        functions = [without_long_choices(f) for f in functions]
        for function in functions:
            function.body = asked_once(function.body)
        if watched:
            for function in functions:
                annotated(function, names.of_type(is_numpy_integer))
        return functions

    def shared_out(self, function: ast.FunctionDef, names: Names, watched: bool) -> list[ast.FunctionDef]:
        """A function, and those of its loops that threads share."""
        if not self.parallel or any(a.arg in HELPERS for a in function.args.args):
            return [function]
        found = shared_out(function, self.variables(names, watched), self.lines(), self.parallel)
        self.shared += [(self.places[k], note) for k, note in found.notes if k]
        used = {n.id for n in names_in(*found.functions)}
        self.helpers.update(dict.fromkeys(used.intersection(HELPERS), "parallel"))
        self.helpers.update(dict.fromkeys(used & {"assume"}, "known"))
        return found.functions

    def variables(self, names: Names, watched: bool) -> Variables:
        ordered = frozenset((*self.graphs, *self.kernels))
        return variables_of(names, watched, ordered, frozenset((*self.helpers, *ordered)))

    def aliases(self, body: list[ast.stmt], params: Sequence[str], names: Names) -> Aliases:
        """What may share memory in a function."""
        found = self.variables(names, False)
        return Aliases(body, params, {*found.axes, *found.lists}, found.axes, found.views)

    @staticmethod
    def watched(names: Names) -> set[str]:
        """The integers of a function that may need more than 64 bits, and do not wrap."""
        return names.of_type(is_integer) - names.of_type(is_numpy_integer)

    def lines(self) -> dict[int, int]:
        return {k: loc.line for k, loc in enumerate(self.places.known, 1)}


def quick_loops(
    statements: list[ast.stmt],
    users: AbstractSet[str],
    taken: AbstractSet[str],
    watched: AbstractSet[str],
    lengths: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    rows_in_order: bool = True,
    sums_in_order: bool = True,
) -> list[ast.stmt]:
    """The loops of a function as LLVM takes several steps of at a time; helpers whose names are taken are not used.

    The integers that are ``watched`` may need more than 64 bits, and then something is raised. Of arguments the names
    of their ``lengths`` are known. Unless ``rows_in_order``, threads share them, and none waits for another; unless
    ``sums_in_order``, LLVM takes several terms at a time.
    """
    statements = asked_before(guarded(filled_once(statements)), watched)
    statements = inward(statements, {*taken, *users})
    free = users.isdisjoint(sums.HELPERS)
    statements = by_rows(upward(statements), watched) if free else upward(statements)
    statements = handed_on(statements, watched, sums_in_order)
    if row_by_row(statements, watched, rows_in_order):
        statements = reread(handed_on(statements, watched, sums_in_order))
    if rows_in_order:
        statements = read_round(statements, lengths, taken, {*taken, *users})
    statements = checked_first(statements, watched, {*taken, *users}, sums_in_order)
    if free:
        statements = gathered(in_rings(statements, taken) if rows_in_order else statements, taken)
        statements = skipping(in_registers(statements, set(taken)))
    return in_blocks(waiting_last(as_written(statements)), taken)


def _lengths(
    params: Sequence[Value], providers: Mapping[Any, Value], names: Names
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names of the lengths of arguments, of which all are known by names."""
    for param in params:
        shape = param.type.shape if isinstance(param.type, ArrayType) else ()
        known = [providers[d.symbol] for d in shape if d.symbol in providers]
        if shape and len(known) == len(shape) and all(value in names.groups for value in known):
            yield names.of(param), tuple(map(names.of, known))


def _is_one_float(type: Type) -> bool:
    return isinstance(type, ScalarType) and is_float(type)


def _items_of_lists(names: Names) -> dict[str, TensorType]:
    """What is in the variables that are lists."""
    return {names.of(v): v.type.item for v in names.groups if isinstance(v.type, ListType)}


def _numbers_in_lists(names: Names) -> dict[str, str]:
    """NumPy's names of what is in those of numbers."""
    lists = _items_of_lists(names).items()
    return {name: _dtype_name(item.dtype) for name, item in lists if isinstance(item, ScalarType)}


def _numbers_in_rows(names: Names) -> dict[str, str]:
    """The same of those of arrays of one axis."""
    lists = _items_of_lists(names).items()
    return {name: _dtype_name(t.dtype) for name, t in lists if isinstance(t, ArrayType) and t.ndim == 1}


def _dtype_name(dtype: np.dtype) -> str:
    return "bool_" if dtype == BOOL else dtype.name


def _options(fastmath: Collection[str], compiler: str) -> str:
    """What ``numba.njit`` is given, as source text."""
    flags = f", fastmath={{{', '.join(map(repr, sorted(fastmath)))}}}" if fastmath else ""
    return f'error_model="numpy"{flags}{compiler and f", pipeline_class={compiler}"}'


def _depth_left(graphs: Iterable[Graph]) -> str:
    """A name for the parameter that limits recursion."""
    taken = {p.name for graph in graphs for p in graph.params}
    name = "depth_left"
    while name in taken:
        name += "_"
    return name


def _frame(function: ast.FunctionDef) -> int:
    """The bytes of stack a call of a function may need: eight words for each variable, and some."""
    names = {n.id for n in names_in(function)}
    return 512 + 64 * (len(names) + len(function.args.args))


def _is_repeatable(interface: Interface, graphs: Iterable[Graph]) -> bool:
    """Whether all that a function changes is its own, and it neither prints nor draws."""
    if interface.changed or interface.owned:
        return False
    nodes = (n for g in graphs for n in all_nodes(g))
    return not any(isinstance(n, Apply) and n.op.kind in ("effect", "draw") for n in nodes)


def _unread(graph: Graph) -> frozenset[int]:
    """The parameters a graph does not read, by position."""
    read = free_values(Graph("", (), graph.nodes, graph.results))
    return frozenset(k for k, p in enumerate(graph.params) if p not in read)


def _too_deep(depth_left: str) -> ast.stmt:
    error = ast.Call(ast.Name("RecursionError", ast.Load()), [ast.Constant("maximum recursion depth exceeded")], [])
    test = ast.Compare(ast.Name(depth_left, ast.Load()), [ast.LtE()], [ast.Constant(0)])
    return ast.If(test, [ast.Raise(error, None)], [])


def _first_origin(graph: Graph) -> Origin:
    """The first place of the function."""
    found = [(n.origin.loc.line, n.origin.loc.col, k) for k, n in enumerate(graph.nodes) if n.origin.loc is not None]
    return graph.nodes[min(found)[2]].origin if found else NOWHERE


def last_origin(block: Block, interface: Interface) -> Origin:
    """Where the first returned value that the function computes itself comes from."""
    found = (block.origins[k] for k in interface.returned)
    return next((o for o in found if o.loc is not None), NOWHERE)


_COMPILERS = ("Integers", "WrappingIntegers")
_IMPORTED = ("np", "math", "njit", *_COMPILERS, "Raised", "native_kernel", "assume", *LOOP_HELPERS)


def _reducing(block: Block) -> Iterator[str]:
    """The helpers that reductions call."""
    for kernel in (i for inner in all_blocks(block) for i in inner.items if isinstance(i, Kernel)):
        for part in kernel.parts:
            if isinstance(part, LoopReduce | InnerReduce):
                yield from sums.HELPERS if is_sum(part) else (part.combine,) if is_extreme(part) else ()


def returning(results: Sequence[ast.expr]) -> ast.stmt:
    if not results:
        return ast.Return(None)
    return ast.Return(results[0] if len(results) == 1 else ast.Tuple(list(results), ast.Load()))


def _function(name: str, params: Sequence[str], body: list[ast.stmt], options: str) -> ast.FunctionDef:
    decorator = ast.parse(f"njit({options})", mode="eval").body
    return defined(name, params, body, [decorator])


def _imports(
    functions: Sequence[ast.FunctionDef], helpers: Mapping[str, str], kernels: Mapping[str, str]
) -> list[ast.stmt]:
    used = {n.id for n in names_in(*functions)}
    helpers = {name: home for name, home in helpers.items() if home not in ("blocks", "edges") or name in used}
    helpers = {**helpers, **{name: "integers" for name in _COMPILERS if name in used}}
    lines = []
    if "math" in used:
        lines.append("import math")
    if "np" in used:
        lines.append("import numpy as np")
    lines.append("from numba import njit")
    for module in sorted(set(helpers.values())):
        names = sorted(name for name, home in helpers.items() if home == module)
        lines.append(f"from srcgraph.runtime.{module} import {', '.join(names)}")
    if kernels:
        lines.append("from srcgraph.runtime.natives import native_kernel")
    lines += [f"{name} = native_kernel({known!r})" for name, known in kernels.items()]
    statements = ast.parse("\n".join(lines)).body
    for statement in statements:
        statement.lineno = 0
    return statements
