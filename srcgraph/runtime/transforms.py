"""What can be made of a function before it is compiled: its gradient.

A `Version` is a graph with its meaning: which arguments its parameters are, what its results are to
the caller. A transform turns one version into another, so that transforms compose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    BoxArg,
    ChoiceArg,
    ItemsArg,
    ObjectArg,
    RecordArg,
    RngArg,
    RowsArg,
    ScalarArg,
    Skeleton,
    StaticArg,
    TupleArg,
    all_parts,
    columns,
    inner_sizes,
)
from srcgraph.ir.graph import Graph, Program
from srcgraph.ir.op import building
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.types import INT, is_float
from srcgraph.opt.ad.functions import Callees
from srcgraph.opt.ad.residuals import Choice
from srcgraph.opt.ad.vjp import gradient


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

    rebound: tuple[Rebound, ...] = ()
    """What it does to the arguments' objects."""
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


def interfaces(callees: Callees) -> dict[str, tuple[Graph, Interface]]:
    """Functions that return what they do not change."""
    found = {}
    for name, (graph, changes) in callees.items():
        after = {k for _, k in changes}
        returned = [k for k in range(len(graph.results)) if k not in after]
        found[name] = (graph, Interface(dict(changes), returned))
    return found


class ColumnArg(ArrayArg):
    """The array that holds a number of every item of a list."""

    __slots__ = ()


Transform: TypeAlias = Callable[[Version], Version]


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
    """

    argnums: int | tuple[int, ...]
    order: str = "gradient"
    has_aux: bool = False

    def __call__(self, version: Version) -> Version:
        if isinstance(version.template, Never):  # it raises before there is anything to differentiate
            private = tuple({*version.private, *version.interface.changed})
            return replace(version, interface=Interface({}, []), private=private)
        main, aux = self.parts(version)
        if isinstance(main, MaybeOf):
            version, main = _checked(version, main)
        asked = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        chosen = [self.leaves(version, k) for k in asked]
        output = self.output(version, main)
        inputs = list(dict.fromkeys(k for _, leaves in chosen for k, _ in leaves))
        kept = Kept(version)
        value = kept.template(main) if self.order != "gradient" else Fixed(None)
        rest = kept.template(aux) if aux is not None else None
        derived = gradient(version.graph, output, inputs, kept.results, version.functions, version.rules)
        at = {k: len(kept.results) + j for j, k in enumerate(inputs)}
        grads = [self.structured(skeleton, iter(leaves), at) for skeleton, leaves in chosen]
        grad = TupleOf(tuple(grads)) if isinstance(self.argnums, tuple) else grads[0]
        template = self.arranged(value, grad, rest)
        interface = Interface({}, list(range(len(derived.graph.results))), owned=version.interface.owned)
        private = tuple({*version.private, *version.interface.changed})
        name = f"{version.name}_grad"
        arguments, callees = version.arguments, interfaces(derived.callees)
        tape, rules = derived.tape, version.rules
        return Version(name, derived.graph, interface, template, arguments, private, tape, callees, rules=rules)

    def counted_from_the_front(self, count: int) -> Gradient:
        """The same for a function whose first ``count`` arguments are those counted from the end."""
        nums = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        front = tuple(k + count if k < 0 else k for k in nums)
        return replace(self, argnums=front if isinstance(self.argnums, tuple) else front[0])

    # -- what is differentiated -------------------------------------------------------------------

    def parts(self, version: Version) -> tuple[Template, Template | None]:
        if not self.has_aux:
            return version.template, None
        if isinstance(version.template, TupleOf) and len(version.template.items) == 2:
            return version.template.items
        raise DerivativeError(Problem(f"with has_aux=True, {version.name} must return (number, auxiliary data)"))

    def output(self, version: Version, main: Template) -> int:
        """The result to differentiate."""
        what = describe_result(version, main)
        if what == "a float":
            assert isinstance(main, Out)
            return main.index
        hint = "return a number, such as the sum of an array"
        if isinstance(main, Fixed) and main.value is None:
            hint = "a function that only changes its arguments returns nothing: return a number made of them"
        raise DerivativeError(
            Problem(f"the gradient of {version.name} is not defined: it returns {what}, not one float", hint=hint)
        )

    def leaves(self, version: Version, argnum: int) -> tuple[Skeleton, list[tuple[int, Skeleton]]]:
        """An argument's skeleton, and the float leaves in it with their parameter's position."""
        names = list(version.arguments)
        if not -len(names) <= argnum < len(names):
            raise ArgumentError(f"argnums={argnum}, but {version.name} takes {len(names)} arguments")
        name = names[argnum]
        skeleton = version.arguments[name]
        first = sum(len(list(leaf_positions(version.arguments[before], 0))) for before in names[:argnum])
        found = list(leaf_positions(skeleton, first))
        floats = [(k, s) for k, s in found if s.dtype.kind == "f"]
        structured = isinstance(skeleton, TupleArg | ObjectArg | ItemsArg | RowsArg)
        if not floats or (not structured and len(floats) != len(found)):
            raise ArgumentError(
                Problem(
                    f"argument {name!r} of {version.name} is {describe_argument(skeleton)}: "
                    "there is no gradient with respect to it",
                    hint=_argument_hint(skeleton),
                )
            )
        return skeleton, floats

    # -- what is returned -------------------------------------------------------------------------

    def structured(self, skeleton: Skeleton, leaves: Iterator[tuple[int, Skeleton]], at: dict[int, int]) -> Template:
        """Gradients in the structure of an argument; None where there is none."""
        match skeleton:
            case TupleArg(items=items, cls=cls):
                return TupleOf(tuple(self.structured(s, leaves, at) for s in items), cls)
            case ObjectArg(cls=cls, box=BoxArg(cell=cell, content=RecordArg(names=names, items=items))):
                fields = tuple(self.structured(s, leaves, at) for s in items)
                return ObjectOf(cls, NewBox(-1 - cell, cls.__name__, RecordOf(cls, names, fields)))
            case ObjectArg(cls=cls, box=BoxArg(cell=cell)):
                return ObjectOf(cls, NewBox(-1 - cell, cls.__name__, None))
            case ItemsArg(items=items, cell=cell):
                return ListOf(TupleOf(tuple(self.structured(s, leaves, at) for s in items), list), cell)
            case RowsArg(item=item, cell=cell):
                parts = tuple(at[next(leaves)[0]] for _, dtype in columns(item) if dtype.kind == "f")
                return ListOf(RowsOf(_float_items(item), parts), cell)
            case ScalarArg(dtype=dtype) if dtype.kind == "f":
                return Out(at[next(leaves)[0]])
            case ArrayArg(dtype=dtype) if dtype.kind == "f":
                return NewArray(at[next(leaves)[0]])
        return Fixed(None)

    def arranged(self, value: Template, grad: Template, aux: Template | None) -> Template:
        if self.order == "gradient":
            return grad if aux is None else TupleOf((grad, aux))
        full = value if aux is None else TupleOf((value, aux))
        return TupleOf((full, grad) if self.order == "value, gradient" else (grad, full))


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
                return self.template(ListOf(changed[position], position)) if position in changed else template  # type: ignore[arg-type]
        return template

    def box(self, box: NewBox | ArgumentBox) -> NewBox | ArgumentBox:
        if isinstance(box, NewBox) and box.content is not None:
            return replace(box, content=self.template(box.content))
        return box


def leaf_positions(skeleton: Skeleton, first: int) -> Iterator[tuple[int, Any]]:
    """The numbers and arrays of an argument, with their positions among the parameters."""
    parts: list[Skeleton] = []
    for s in all_parts([skeleton]):
        if isinstance(s, ScalarArg | ArrayArg):
            parts.append(s)
        elif isinstance(s, RowsArg):
            shape = (s.size, *inner_sizes(s.item))
            parts += [ColumnArg(dtype, shape, s.cell) for _, dtype in columns(s.item)]
        elif isinstance(s, ChoiceArg):  # which one it is
            parts.append(ScalarArg(INT, weak=True))
    return enumerate(parts, first)


def _float_items(item: Skeleton) -> Skeleton:
    """An item's gradient: None in place of what is no float."""
    match item:
        case ScalarArg(dtype=dtype) if dtype.kind == "f":
            return item
        case TupleArg(items=items, cls=cls):
            return TupleArg(tuple(map(_float_items, items)), cls)
        case RowsArg(item=inner, size=size) if not isinstance(_float_items(inner), StaticArg):
            return RowsArg(_float_items(inner), size, -1)
    return StaticArg(None)


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
        case ListOf() | ArgumentList():
            return "a list"
        case TupleOf(items=items):
            return f"a tuple of {len(items)}"
        case ObjectOf(cls=cls):
            return f"a {cls.__name__}"
        case Fixed(value=value):
            return repr(value)
    return "something else"
