"""The graph: frozen data, identity equality, no methods that transform.

A `Graph` has parameters, nodes in program order and results, and reads nothing from outside.
Control-flow nodes own closed graphs; what those read from outside is listed in ``captures``, and
their parameters are the carry followed by the captures (for `For`: index, carry, captures).

While a graph is being built or differentiated it may be *open*: ``captures`` empty and inner graphs
reading outer values directly, and the functions it calls are nodes of it, `Define`. `srcgraph.ir.closure`
converts between the two forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from srcgraph.errors import Loc
from srcgraph.ir.operators import OPERATORS, Operators

if TYPE_CHECKING:
    from srcgraph.ir.op import Op


@dataclass(frozen=True, eq=False, slots=True)
class Value(Operators):
    """One SSA result.

    Attributes
    ----------
    name : str
        A hint, the user's where there is one; it need not be unique.
    type : ScalarType, ArrayType or ListType
        Which of them follows from the op that made it, so it is not checked again at every use.
    owner : Step, SharedVariable, FREE or None
        What made it, where it was built of variables without a builder, or what it stands for, or that it is a
        variable; see `srcgraph.ir.symbolic`.
    """

    name: str
    type: Any
    owner: Any = None

    def __repr__(self) -> str:
        return f"<{self.name}: {self.type}>" if self.name else f"<{self.type}>"

    @property
    def variable(self) -> Value:
        return self

    def __bool__(self) -> bool:
        return OPERATORS["truth"](self)


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """The nodes that one call made of variables, and when.

    Of a ``lazy`` one, what only one side of a branch reads is computed there. A gradient computes anew the values that
    it goes ``through``.
    """

    nodes: tuple[Node, ...]
    order: int
    lazy: bool = False
    through: frozenset[Value] = frozenset()
    known: Any = None
    """What is known of sizes and integers behind its values (`ir.ancestry.Known`)."""

    def __reduce__(self) -> Any:
        raise TypeError(
            "what is built of variables cannot be pickled: pickle the function that sg.function makes of it"
        )


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """Where a node comes from: the user's place, and what derived it ('' for the user's own code)."""

    loc: Loc | None = None
    by: str = ""


NOWHERE = Origin()


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """One use of an op."""

    op: Op
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = NOWHERE


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """A function: parameters, nodes in program order, results."""

    name: str
    params: tuple[Value, ...]
    nodes: tuple[Node, ...]
    results: tuple[Value, ...]

    def __str__(self) -> str:
        """The graph as text, which `srcgraph.ir.parser` reads back."""
        return OPERATORS["str"](self)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.params)} parameters, {len(self.nodes)} nodes>"


@dataclass(frozen=True, eq=False, slots=True)
class If:
    """Run one of two graphs; both take the captures and return values of one kind."""

    cond: Value
    captures: tuple[Value, ...]
    then: Graph
    orelse: Graph
    outputs: tuple[Value, ...]
    origin: Origin = NOWHERE


@dataclass(frozen=True, eq=False, slots=True)
class While:
    """Repeat ``body`` while ``cond`` holds.

    ``cond`` maps (carry, captures) to one bool; ``body`` maps them to the next carry and, if
    ``stops``, one more bool that ends the loop when true (a ``break``).
    """

    carry: tuple[Value, ...]
    captures: tuple[Value, ...]
    cond: Graph
    body: Graph
    outputs: tuple[Value, ...]
    stops: bool = False
    origin: Origin = NOWHERE


@dataclass(frozen=True, eq=False, slots=True)
class For:
    """Run ``body`` for each index of ``range(start, stop, step)``; step is not zero.

    ``body`` maps (index, carry, captures) to the next carry and, if ``stops``, one more bool that
    ends the loop when true. With ``lanes`` the trips are independent but for what is stored at their index: what is
    the same in all of them may be computed, and checked, before the loop, even if there are none.
    """

    start: Value
    stop: Value
    step: Value
    carry: tuple[Value, ...]
    captures: tuple[Value, ...]
    body: Graph
    outputs: tuple[Value, ...]
    stops: bool = False
    origin: Origin = NOWHERE
    lanes: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """How a derivative passes through a call: by graphs of the program that the user wrote, or by running it again.

    Attributes
    ----------
    function : str
        What the user calls the function.
    forward : str
        The graph that runs instead. With a ``backward`` one it takes what the callee takes, and returns what that
        returns and then residuals; else it takes a tangent more for each of ``moving``, and returns the tangents of
        the inexact outputs last. If '', the reverse sweep runs the callee again.
    backward : str
        The graph from residuals and the cotangents of the inexact outputs to those of ``moving``; or ''.
    moving : tuple of int
        The inputs it is a rule for.
    frozen : tuple of int
        Other inexact inputs, on which no derivative may depend.
    """

    function: str
    forward: str
    backward: str
    moving: tuple[int, ...]
    frozen: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Native:
    """What generated code may call where a graph is called: a function that the user has compiled.

    It is a hint: the graph says what the call means, and how it is differentiated.

    Attributes
    ----------
    function : str
        What the user calls the function that the graph was made of.
    kernel : callable
        Compiled by numba.
    args : tuple
        The kernel's arguments: a number stands for an input of the call, a tuple for one, a str is a literal.
    results : int or tuple
        What it returns: the numbers of outputs, in tuples.
    """

    function: str
    kernel: Any
    args: tuple[Any, ...]
    results: Any

    @property
    def name(self) -> str:
        """What the user calls the kernel."""
        return self.kernel.__name__


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """Call another graph of the program by name.

    ``changes`` are pairs of an input and the output that is this array afterwards: the callee may
    change it in its own memory. ``rule`` says how it is differentiated, if not as its graph is; ``native``
    what generated code may call instead.
    """

    callee: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    changes: tuple[tuple[int, int], ...] = ()
    rule: Rule | None = None
    origin: Origin = NOWHERE
    native: Native | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Define:
    """A function that calls refer to by its graph's name, while the graph that needs it is differentiated.

    ``changes`` are pairs of a parameter and the result that is this array afterwards.
    """

    graph: Graph
    changes: tuple[tuple[int, int], ...] = ()
    origin: Origin = NOWHERE

    @property
    def outputs(self) -> tuple[Value, ...]:
        return ()


Node: TypeAlias = Apply | If | While | For | Call | Define


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """Named graphs; ``entry`` names the one to run. A table, since recursion refers to itself."""

    graphs: Mapping[str, Graph]
    entry: str

    @property
    def main(self) -> Graph:
        return self.graphs[self.entry]


def node_inputs(node: Node) -> tuple[Value, ...]:
    """Every value a node reads directly, captures included."""
    match node:
        case Apply() | Call():
            return node.inputs
        case If():
            return (node.cond, *node.captures)
        case While():
            return (*node.carry, *node.captures)
        case For():
            return (node.start, node.stop, node.step, *node.carry, *node.captures)
        case Define():
            return ()


def node_graphs(node: Node) -> tuple[Graph, ...]:
    """The graphs a node owns."""
    match node:
        case If():
            return (node.then, node.orelse)
        case While():
            return (node.cond, node.body)
        case For():
            return (node.body,)
        case Define():
            return (node.graph,)
    return ()
