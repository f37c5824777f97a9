"""`function`: what is called, of variables: parameters in, results out, shared variables updated.

References
----------
Theano's ``function`` and ``pfunc`` proposal, whose words are kept: params, outputs, updates, givens.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, InternalError, Problem
from srcgraph.ir.graph import Graph, Program, Value
from srcgraph.ir.listing import instructions
from srcgraph.ir.operators import Operators
from srcgraph.ir.printer import format_graph
from srcgraph.ir.scanner import from_instructions
from srcgraph.ir.shared import Container, SharedVariable, held
from srcgraph.ir.symbolic import constant, free_variables, graph_of, unrelated, variable_of
from srcgraph.ir.types import ArrayType
from srcgraph.opt.modes import compiling
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import PRIMAL
from srcgraph.runtime import engines, formulas
from srcgraph.runtime.cells import Cell, Plan
from srcgraph.runtime.engines.registry import Engine
from srcgraph.runtime.options import AnyMode, options_of
from srcgraph.runtime.params import NOTHING, Param, cast_to, names_of, signature_of, taken
from srcgraph.runtime.state import COMMITTING
from srcgraph.runtime.structure import leaves, mapped, paths


@dataclass(frozen=True, eq=False, slots=True)
class Out:
    """A result; ``borrow`` allows it to be an array that the function was given, or that a shared variable holds."""

    variable: Any
    borrow: bool = False


class Function:
    """What `function` makes: called like any function.

    It is pickled by its graph, and compiled again where it is read: a worker process needs nothing else of the program
    that made it. Shared variables, arrays that are read at each call among them, go along with what they hold. There
    they are others, as what is pickled always is; functions and variables that are pickled together, in one list or one
    object, share them as before.

    Attributes
    ----------
    graph : Graph
        From the parameters and shared variables to the results and updates, rewritten.
    """

    instead = "differentiate what it is built of: sg.grad(cost, wrt=x), and make a function of that"
    """What to do where a function with a source is needed."""

    def __init__(self, params: Sequence[Param], outputs: _Shape, updates: Sequence[tuple[SharedVariable, Value]],
                 shared: Sequence[SharedVariable], graph: Graph, engine: Engine, name: str):  # fmt: skip
        self.params = tuple(params)
        self.outputs = outputs
        self.updates = tuple(updates)
        self.shared = tuple(shared)
        self.graph = graph
        self.__name__ = name
        self.names = names_of(self.params)
        self.__signature__ = signature_of(self.params, self.names)
        self.hides = any(p.implicit for p in self.params)
        self.written = tuple({b.container for b, _ in self.updates})
        self.engine = engine
        self.run = engine.compile(Program({graph.name: graph}, graph.name))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(self.params) or self.hides:
            given = self.__signature__.bind(*args, **kwargs).arguments
        else:
            given = dict(zip(self.names, args, strict=True))
        return self.outputs.structured(self.results(given))

    def results(self, given: Mapping[str, Any]) -> list[Any]:
        """The results for arguments by name, one after the other; shared variables are updated."""
        if not self.shared and not self.updates:
            leaves = [taken(p, n, given) for p, n in zip(self.params, self.names, strict=True)]
            return self.outputs.apart(self.run(leaves), leaves)
        with held(self.written):
            leaves = [taken(p, n, given) for p, n in zip(self.params, self.names, strict=True)]
            with COMMITTING:
                leaves += [b.container.value for b in self.shared]
            results = self.run(leaves)
            count = len(results) - len(self.updates)
            new: list[Any] = []
            for (b, _), value in zip(self.updates, results[count:], strict=True):
                new.append(_held_value(b, value, [*leaves, *new]))
            with COMMITTING:
                for (b, _), value in zip(self.updates, new, strict=True):
                    b.container.value = value
        return self.outputs.apart(results[:count], [*leaves, *new])

    def plan(self) -> Plan:
        """The function with a cell for each argument and result: filled in, called, read."""
        known = [(p, n) for p, n in zip(self.params, self.names, strict=True) if not p.implicit]
        inputs = [Cell(n, functools.partial(cast_to, p, n)) for p, n in known]
        for (p, _), cell in zip(known, inputs, strict=True):
            if p.default is not NOTHING and not isinstance(p.default, SharedVariable | Container):
                cell.value = p.default
        return Plan(inputs, [Cell(n, lambda value: value) for n in paths(self.outputs.tree)], self.results)

    def __reduce__(self) -> Any:
        shape = (self.outputs.tree, self.outputs.borrowed)
        params = [(p.variable.name, replace(p, variable=None)) for p in self.params]  # type: ignore[arg-type]
        changed = [b for b, _ in self.updates]
        return _restored, (params, shape, changed, self.shared, _text(self), self.engine.name, self.__name__)

    def __repr__(self) -> str:
        return f"<function {self.__name__}{self.__signature__}>"

    def __str__(self) -> str:
        return format_graph(self.graph)


def function(
    params: Sequence[Any],
    outputs: Any = (),
    *,
    updates: Any = (),
    givens: Any = (),
    mode: AnyMode = None,
    engine: str = "numba",
    name: str = "function",
    freeze: bool = False,
) -> Function:
    """A function of variables.

    Parameters
    ----------
    params : sequence of Value or Param
        Variables of `srcgraph.ir.symbolic`; or values made of others, which are then given, and not computed.
    outputs : Value, Out or None, or list, tuple or dict of these, one in another; or a function
        What is returned. A function of as many variables is called on them.
    updates : mapping or sequence of pairs
        Shared variables and their new values. All are computed from the old values, and put in place together once the
        results are there; if anything is raised, none is.
    givens : mapping or sequence of pairs
        Variables, shared ones too, and what stands in their place, all at once.
    mode : Mode or str, optional
        Which rewrites the graph goes through, see `srcgraph.compile`.
    engine : str
        What runs it, see `srcgraph.engines`.
    name : str
    freeze : bool
        Whether an array that is given in place of a variable, as a result, new value or given, is copied now. Else it
        is read at each call: what is stored into it meanwhile is seen.

    Returns
    -------
    Function

    Raises
    ------
    ArgumentError
        A variable is needed and not given, is given twice, or is shared; an update or given is of another type.

    Examples
    --------
    >>> from srcgraph.ir.symbolic import scalar
    >>> a, b = scalar("a", "int64"), scalar("b", "int64")
    >>> add = function([a, Param(b, default=44)], a + b)
    >>> int(add(1)), int(add(1, b=2))
    (45, 3)
    """
    known = [p if isinstance(p, Param) else Param(p) for p in params]
    for p in known:
        if not isinstance(p.variable, Value | SharedVariable):
            why = f"a parameter is a variable, not {p.variable!r}"
            raise ArgumentError(Problem(why, hint='make one: x = sg.scalar("x"), or sg.vector("x")'))
        if isinstance(p.variable, SharedVariable):
            why = f"the shared variable {p.variable.name!r} is a parameter: it is read from where it is"
            raise ArgumentError(Problem(why, hint="leave it out, or give it another value by givens={...}"))
    if callable(outputs) and not isinstance(outputs, Value | SharedVariable | Out):
        outputs = outputs(*(p.variable for p in known))
    as_value = functools.partial(graph_value, freeze=freeze)
    shape = _Shape.of(outputs, as_value)
    changes = [(b, as_value(v)) for b, v in _pairs(updates, "updates")]
    results = [*shape.values, *(_new_value(b, v) for b, v in changes)]
    replaced = {_replaced(v): as_value(w) for v, w in _pairs(givens, "givens")}
    variables = [p.variable for p in known]
    shared = [b for b in free_variables(results, variables, replaced) if variable_of(b) not in variables]
    graph = graph_of([*variables, *map(variable_of, shared)], results, name, replaced)
    options = options_of(mode=mode)
    with compiling(options.mode):
        graph = run_passes(graph, PRIMAL)
    return Function(known, shape, changes, shared, graph, engines.get(engine), name)


def _value(x: Any) -> Any:
    return variable_of(x) if isinstance(x, SharedVariable) else x


def _pairs(given: Any, what: str) -> list[tuple[Any, Any]]:
    pairs = list(given.items()) if isinstance(given, Mapping) else [*given]
    if not all(isinstance(p, tuple | list) and len(p) == 2 for p in pairs):
        raise ArgumentError(f"{what} is a mapping, or a sequence of pairs (variable, value), not {given!r}")
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        twice = next(k for k in keys if keys.count(k) > 1)
        raise ArgumentError(f"{what}: {getattr(twice, 'name', twice)!r} is given twice")
    return pairs


def _replaced(x: Any) -> Value:
    """What is given another value: a variable, a shared one, or what was built of such."""
    found = _value(x)
    if not isinstance(found, Value):
        raise ArgumentError(f"givens: {x!r} is no variable, so nothing can be given in its place")
    return found


def _new_value(variable: Any, made: Value) -> Value:
    """The new value of a shared variable, of its type."""
    if not isinstance(variable, SharedVariable):
        raise ArgumentError(f"updates: {variable!r} is no shared variable")
    own = variable_of(variable)
    if (made.type.ndim, isinstance(made.type, ArrayType)) != (own.type.ndim, isinstance(own.type, ArrayType)):
        raise ArgumentError(f"updates: {variable.name!r} is {own.type}, its new value {made.type}")
    if not np.can_cast(made.type.dtype, own.type.dtype, "same_kind"):
        raise ArgumentError(f"updates: {variable.name!r} is {own.type}, its new value {made.type}: cast it")
    return made


def graph_value(x: Any, freeze: bool = False) -> Value:
    """A variable, what a shared one stands for, a literal; an array as a shared variable that holds it, or a copy."""
    if isinstance(x, np.ndarray) and x.dtype == object:
        return formulas.written("{0}", [x])
    if isinstance(x, np.ndarray):
        x = SharedVariable("array", x, borrow=not freeze)
    if isinstance(x, list | tuple):
        return formulas.written("np.asarray({0})", [x])
    if not isinstance(x, Operators | bool | int | float | complex | np.number | np.bool_):
        raise ArgumentError(f"{x!r} is no variable, number or array, so it cannot be part of a graph")
    return x.variable if isinstance(x, Operators) else constant(x)


def _text(made: Function) -> str:
    """The graph as a text that other processes read."""
    try:
        return instructions(made.graph)
    except InternalError as error:
        why = f"{made!r} cannot be pickled: {error.problems[0].message}"
        raise ArgumentError(Problem(why, hint="pickle what it is made of, and make it where it is called")) from error


def _restored(
    params: Sequence[tuple[str, Param]], shape: tuple[Any, list[bool]],
    changed: Sequence[SharedVariable], shared: Sequence[SharedVariable], text: str, engine: str, name: str,
) -> Function:  # fmt: skip
    """What was pickled."""
    graph = from_instructions(text)
    assert isinstance(graph, Graph)
    own = unrelated(graph.params)
    known = [replace(p, variable=replace(v, name=n)) for (n, p), v in zip(params, own, strict=False)]
    count = len(shape[1])
    updates = list(zip(changed, graph.results[count:], strict=True))
    outputs = _Shape(*shape, list(graph.results[:count]))
    return Function(known, outputs, updates, shared, graph, engines.get(engine), name)


@dataclass(frozen=True, eq=False, slots=True)
class _Shape:
    """What is returned.

    Attributes
    ----------
    tree : int, None, or list, tuple or dict of these, one in another
        The structure: numbers of values.
    borrowed : list of bool
        Which of the values may be arrays that others have.
    values : list of Value
    """

    tree: Any
    borrowed: list[bool]
    values: list[Value]

    @classmethod
    def of(cls, outputs: Any, as_value: Callable[[Any], Value]) -> _Shape:
        found = leaves(outputs)
        places = itertools.count()
        tree = mapped(lambda leaf: next(places), outputs)
        borrowed = [isinstance(o, Out) and o.borrow for o in found]
        return cls(tree, borrowed, [as_value(o.variable if isinstance(o, Out) else o) for o in found])

    def apart(self, results: Sequence[Any], known: Sequence[Any]) -> list[Any]:
        """The results; copies of arrays that are known already, unless they may be borrowed."""
        seen, own = list(known), []
        for result, borrowed in zip(results, self.borrowed, strict=True):
            if isinstance(result, np.ndarray):
                if not borrowed and any(result is x for x in seen):
                    result = result.copy()
                seen.append(result)
            own.append(result)
        return own

    def structured(self, results: list[Any]) -> Any:
        """The results as they were asked for."""
        return results[0] if self.tree == 0 else mapped(results.__getitem__, self.tree)


def _held_value(variable: SharedVariable, value: Any, leaves: Sequence[Any]) -> Any:
    """What a container holds next, of its kind: an array of its own, the one that it has if that is the new value."""
    made = variable.kind.cast(value, variable.name or "")
    if made is variable.container.value:
        return made
    return made.copy() if isinstance(made, np.ndarray) and any(made is x for x in leaves) else made
