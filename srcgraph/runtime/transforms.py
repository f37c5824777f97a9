"""What can be made of a function before it is compiled: its gradient.

A `Version` is a graph with its meaning: which arguments its parameters are, what its results are to
the caller. A transform turns one version into another, so that transforms compose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from srcgraph.codegen.storage import Interface
from srcgraph.errors import ArgumentError, DerivativeError, Problem
from srcgraph.frontend.template import (
    ArgumentBox,
    ArgumentList,
    ArgumentView,
    EitherOf,
    Fixed,
    ListOf,
    MaybeOf,
    Never,
    NewArray,
    NewBox,
    ObjectOf,
    Out,
    Rebound,
    RecordOf,
    ReshapeOf,
    RowsOf,
    Template,
    TupleOf,
)
from srcgraph.infer.signature import (
    ArrayArg,
    ItemsArg,
    ObjectArg,
    RngArg,
    RowsArg,
    ScalarArg,
    Skeleton,
    StaticArg,
    TupleArg,
)
from srcgraph.ir.graph import Define, Graph, Program
from srcgraph.ir.op import building
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import TensorType, is_float
from srcgraph.opt.ad.checkpoint import Checkpointing
from srcgraph.opt.ad.functions import Callees, with_functions
from srcgraph.opt.ad.residuals import Choice
from srcgraph.opt.ad.vjp import gradient
from srcgraph.runtime.floats import GIVEN, returned, structured, with_places


@dataclass(frozen=True, slots=True)
class Version:
    """A graph and what it means to the caller.

    Attributes
    ----------
    interface : Interface
        Which parameters it changes, and which results are handed out.
    template : Template
        What is returned, over the results.
    arguments : dict
        The skeleton of each argument; their leaves are the first parameters.
    private : tuple of int
        Parameters that the original function changes and this version does not.
    tape : tuple of Choice
        What its loops save.
    callees : mapping
        The recursive functions it calls, by name.
    lists : tuple of (number of a list, template)
        What the lists that are arguments hold afterwards, where that is something else.
    turned : tuple of int
        Parameters that lie in Fortran's order, and are not read as transposes of arrays in C order.
    """

    name: str
    graph: Graph
    interface: Interface
    template: Template
    arguments: dict[str, Skeleton]
    private: tuple[int, ...] = ()
    tape: tuple[Choice, ...] = ()
    callees: Mapping[str, tuple[Graph, Interface]] = field(default_factory=dict)
    lists: tuple[tuple[int, Template], ...] = ()
    turned: tuple[int, ...] = ()

    rebound: tuple[Rebound, ...] = ()
    """What it does to the arguments' objects."""
    reverse: Reverse | None = None
    """The reverse sweep, where that is for the caller to run."""
    rules: Mapping[str, Graph] = field(default_factory=dict)
    """The functions with derivative rules of their own that it calls, and the graphs of these rules."""

    @property
    def program(self) -> Program:
        """The graph with those it calls."""
        called = {name: graph for name, (graph, _) in self.callees.items()}
        return Program({**called, self.graph.name: self.graph}, self.graph.name)

    @property
    def functions(self) -> Callees:
        """The recursive functions it calls, with what each changes."""
        known = {self.graph.name: (self.graph, self.interface), **self.callees}
        return {name: (graph, tuple(to.changed.items())) for name, (graph, to) in known.items()}

    @property
    def never(self) -> bool:
        """Whether it raises before there is anything to differentiate."""
        return isinstance(self.template, Never)

    @property
    def copied(self) -> tuple[int, ...]:
        """The parameters that the original function changes; a derivative works on copies."""
        return tuple({*self.private, *self.interface.changed})

    def raising(self) -> Version:
        """The derivative of what always raises."""
        return replace(self, interface=Interface({}, []), private=self.copied)


def derived_version(
    version: Version, kind: str, graph: Graph, template: Template, callees: Callees, tape: tuple[Choice, ...]
) -> Version:
    """A derivative, which changes nothing, of a version."""
    interface = Interface({}, list(range(len(graph.results))), owned=version.interface.owned)
    functions = {n: (g, tuple(to.changed.items())) for n, (g, to) in version.callees.items()}
    needed = with_functions(Graph("", (), (), ()), functions, version.rules)  # by calls that are left as they are
    callees = {n.graph.name: (n.graph, n.changes) for n in needed.nodes if isinstance(n, Define)} | dict(callees)
    return Version(
        f"{version.name}_{kind}", graph, interface, template, version.arguments, version.copied, tape,
        interfaces(callees), rules=version.rules,
    )  # fmt: skip


def main_and_aux(version: Version, has_aux: bool) -> tuple[Template, Template | None]:
    """What a version returns to be differentiated, and the rest if it has some."""
    if not has_aux:
        return version.template, None
    if isinstance(version.template, TupleOf) and len(version.template.items) == 2:
        return version.template.items
    raise DerivativeError(Problem(f"with has_aux=True, {version.name} must return (result, auxiliary data)"))


def moving(version: Version, main: Template, kind: str) -> tuple[Version, Template]:
    """A version of which each float in ``main`` is a result, and their structure: see `returned`."""

    def refused(template: Template, why: str, hint: str = "") -> DerivativeError:
        what = describe_result(version, template)
        return DerivativeError(Problem(f"{kind}: {version.name} returns {what}, {why}", hint=hint))

    hint = "make it an array, or return it as auxiliary data with has_aux=True"
    version, tree = returned(version, main, lambda t: refused(t, "the derivative of which is not supported", hint))
    if isinstance(main, Fixed):
        hint = "a function that only changes its arguments returns nothing: return the array"
        raise refused(main, "which has no derivative", hint if main.value is None else "return a float, or an array")
    return version, tree


def interfaces(callees: Callees) -> dict[str, tuple[Graph, Interface]]:
    """Functions that return what they do not change."""
    found = {}
    for name, (graph, changes) in callees.items():
        after = {k for _, k in changes}
        returned = [k for k in range(len(graph.results)) if k not in after]
        found[name] = (graph, Interface(dict(changes), returned))
    return found


Transform: TypeAlias = Callable[[Version], Version]


def from_the_front(argnums: int | tuple[int, ...], count: int) -> int | tuple[int, ...]:
    """Numbers of ``count`` arguments, those counted from the end counted from the front."""
    several = argnums if isinstance(argnums, tuple) else (argnums,)
    front = tuple(k + count if k < 0 else k for k in several)
    return front if isinstance(argnums, tuple) else front[0]


@dataclass(frozen=True, slots=True)
class Reverse:
    """A reverse sweep by itself, from what is saved and the cotangents of results to those of arguments.

    Attributes
    ----------
    value : Template
        The structure of the results, over the numbers of their cotangents, which are the last parameters.
    types : tuple of Type
        Of these.
    """

    version: Version
    value: Template
    types: tuple[TensorType, ...]


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of the returned number.

    Parameters
    ----------
    argnums : int or tuple of int
        Which arguments; a tuple gives a tuple of gradients.
    order : str
        What is returned: ``"gradient"``, ``"value, gradient"`` or ``"gradient, value"``.
    has_aux : bool
        Whether the function returns (number to differentiate, anything else).
    checkpoint : Checkpointing or None
        Whether loops are reversed from stored states.
    """

    argnums: int | tuple[int, ...]
    order: str = "gradient"
    has_aux: bool = False
    checkpoint: Checkpointing | None = None

    def __call__(self, version: Version) -> Version:
        if version.never:
            return version.raising()
        version, main, aux = self.present(version)
        chosen = self.chosen(version)
        output = self.output(version, main)
        kept = Kept(version)
        value = kept.template(main) if self.order != "gradient" else Fixed(None)
        rest = kept.template(aux) if aux is not None else None
        inputs = Numbered(len(kept.results))
        grads = [structured(skeleton, first, inputs) for skeleton, first in chosen]
        asked = version.graph, output, inputs.seen, kept.results, version.functions, version.rules
        derived = gradient(*asked, self.checkpoint)
        grad = TupleOf(tuple(grads)) if isinstance(self.argnums, tuple) else grads[0]
        template = self.arranged(value, grad, rest)
        return derived_version(version, "grad", derived.graph, template, derived.callees, derived.tape)

    def gradient_in(self, result: Any) -> Any:
        """The gradient, or the gradients, in what a call returns."""
        if self.order == "gradient":
            return result[0] if self.has_aux else result
        return result[0 if self.order == "gradient, value" else 1]

    def counted_from_the_front(self, count: int) -> Gradient:
        """The same for a function whose first ``count`` arguments are those counted from the end."""
        return replace(self, argnums=from_the_front(self.argnums, count))

    # -- what is differentiated -------------------------------------------------------------------

    def present(self, version: Version) -> tuple[Version, Template, Template | None]:
        """The function, what it returns to be differentiated, and the rest; None in place of that raises."""
        main, aux = main_and_aux(version, self.has_aux)
        return (*_checked(version, main), aux) if isinstance(main, MaybeOf) else (version, main, aux)

    def chosen(self, version: Version) -> list[tuple[Skeleton, int]]:
        """The skeletons of the arguments, and the position of the first parameter of each."""
        asked = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        return [self.argument(version, k) for k in asked]

    def output(self, version: Version, main: Template) -> int:
        """The result to differentiate."""
        what = describe_result(version, main)
        if what == "a float":
            assert isinstance(main, Out)
            return main.index
        hint = "return a number, such as the sum of an array"
        if isinstance(main, Fixed) and main.value is None:
            hint = "a function that only changes its arguments returns nothing: return what it changes, or a number"
        raise DerivativeError(
            Problem(f"the gradient of {version.name} is not defined: it returns {what}, not one float", hint=hint)
        )

    def argument(self, version: Version, argnum: int) -> tuple[Skeleton, int]:
        """An argument's skeleton, and the position of its first parameter."""
        names = list(version.arguments)
        if not -len(names) <= argnum < len(names):
            raise ArgumentError(f"argnums={argnum}, but {version.name} takes {len(names)} arguments")
        name = names[argnum]
        skeleton, first = list(with_places(version.arguments.values()))[argnum]
        structured(skeleton, first, found := Numbered(0))
        is_empty = isinstance(skeleton, ItemsArg) and not skeleton.items
        if not found.seen and not is_empty:
            raise ArgumentError(
                Problem(
                    f"argument {name!r} of {version.name} is {describe_argument(skeleton)}: "
                    "there is no gradient with respect to it",
                    hint=_argument_hint(skeleton),
                )
            )
        return skeleton, first

    # -- what is returned -------------------------------------------------------------------------

    def arranged(self, value: Template, grad: Template, aux: Template | None) -> Template:
        if self.order == "gradient":
            return grad if aux is None else TupleOf((grad, aux))
        full = value if aux is None else TupleOf((value, aux))
        return TupleOf((full, grad) if self.order == "value, gradient" else (grad, full))


class Numbered:
    """Gives the parameters it is asked for the numbers of results, from ``first`` on."""

    def __init__(self, first: int):
        self.first = first
        self.seen: list[int] = []

    def __call__(self, position: int) -> int:
        if position not in self.seen:
            self.seen.append(position)
        return self.first + self.seen.index(position)


def _checked(version: Version, main: MaybeOf) -> tuple[Version, Template]:
    """A version that raises where it would return None, and what it returns otherwise."""
    again = Rebuild(version.graph.name)
    with building(again.builder):
        again.params(version.graph.params)
        again.nodes(version.graph.nodes)
        results = again.values(version.graph.results)
        message = f"{version.name} returned None, which has no gradient"
        assert isinstance(main.bound, Out)
        again.builder.call_named("check_that", results[main.bound.index], error="TypeError", message=message)
        graph = again.builder.finish(results)
    return replace(version, graph=graph), main.inner


class Kept:
    """The results of the original that are still returned, renumbered."""

    def __init__(self, version: Version):
        self.version = version
        self.results: list[int] = []

    def at(self, index: int) -> int:
        if index not in self.results:
            self.results.append(index)
        return self.results.index(index)

    def template(self, template: Template) -> Template:
        match template:
            case Out(index=k):
                return Out(self.at(k))
            case NewArray(index=k, view=view, operands=operands):
                return NewArray(self.at(k), view, tuple(map(self.at, operands)))
            case ArgumentView(param=param, view=view, operands=operands):
                changed = self.version.interface.changed
                ints = tuple(map(self.at, operands))
                if param in changed:  # only a copy is changed, so only that copy can be returned
                    return NewArray(self.at(changed[param]), view, ints)
                return ArgumentView(param, view, ints)
            case ReshapeOf(array=array, dims=dims, ravel=ravel, view=view, operands=operands):
                ints = tuple(map(self.at, operands))
                return ReshapeOf(self.template(array), tuple(map(self.at, dims)), ravel, view, ints)
            case EitherOf(test=test, then=then, orelse=orelse):
                return EitherOf(self.at(test), self.template(then), self.template(orelse))
            case TupleOf(items=items, cls=cls):
                return TupleOf(tuple(map(self.template, items)), cls)
            case RecordOf(cls=cls, names=names, items=items):
                return RecordOf(cls, names, tuple(map(self.template, items)))
            case ObjectOf(cls=cls, box=box):
                return ObjectOf(cls, self.box(box))
            case ListOf(content=content, cell=cell):
                held = self.template(content)
                assert isinstance(held, TupleOf | RowsOf)
                return ListOf(held, cell)
            case RowsOf(item=item, parts=parts):
                return RowsOf(item, tuple(map(self.at, parts)))
            case ArgumentList(position=position):
                changed = dict(self.version.lists)
                return self.template(ListOf(changed[position], GIVEN + position)) if position in changed else template  # type: ignore[arg-type]
        return template

    def box(self, box: NewBox | ArgumentBox) -> NewBox | ArgumentBox:
        if isinstance(box, NewBox) and box.content is not None:
            return replace(box, content=self.template(box.content))
        return box


def describe_argument(skeleton: Skeleton) -> str:
    match skeleton:
        case RngArg():
            return "a random generator"
        case ScalarArg(dtype=dtype):
            return {"i": "an integer", "u": "an integer", "b": "a bool", "c": "complex"}.get(dtype.kind, "a number")
        case ArrayArg(dtype=dtype):
            return f"an array of {dtype}"
        case RowsArg() | ItemsArg():
            return "a list without floats"
        case TupleArg() | ObjectArg():
            return f"a {skeleton.cls.__name__} without floats"
        case StaticArg(value=value):
            return repr(value)
    return "a function"


def _argument_hint(skeleton: Skeleton) -> str:
    match skeleton:
        case RngArg():
            return ""
        case ScalarArg(dtype=dtype) if dtype.kind in "iub":
            return "pass a float, such as 3.0"
        case ArrayArg(dtype=dtype) if dtype.kind in "iub":
            return "pass a float array: x.astype(float)"
    return ""


def describe_result(version: Version, template: Template) -> str:
    """What a function returns, in words."""
    match template:
        case Out(index=k):
            type = version.graph.results[k].type
            if is_float(type):
                return "a float"
            return {"i": "an integer", "u": "an integer", "b": "a bool"}.get(type.dtype.kind, f"a {type.dtype}")
        case NewArray() | ArgumentView() | EitherOf() | ReshapeOf():
            return "an array"
        case MaybeOf(inner=inner):
            return f"{describe_result(version, inner)} or None"
        case RowsOf(item=ArrayArg()):
            return "a list of arrays"
        case ListOf() | ArgumentList() | RowsOf():
            return "a list"
        case TupleOf(items=items):
            return f"a tuple of {len(items)}"
        case ObjectOf(cls=cls):
            return f"a {cls.__name__}"
        case Fixed(value=value):
            return repr(value)
    return "something else"
