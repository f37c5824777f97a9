"""Functions that a kernel stands for: what such a kernel is given and returns, and what has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from srcgraph.errors import InferenceError
from srcgraph.frontend.custom import Custom, Rules, in_words
from srcgraph.frontend.entities import Array, Cell, Entity, Tup, cells_of
from srcgraph.frontend.memory import refuse
from srcgraph.frontend.template import NewArray, Template, TupleOf
from srcgraph.infer.signature import ArrayArg, ScalarArg, Skeleton, StaticArg, TupleArg
from srcgraph.ir.graph import Apply, Graph, Native
from srcgraph.ir.walk import all_nodes, calls

if TYPE_CHECKING:
    from srcgraph.frontend.callees import Summary
    from srcgraph.frontend.lower import Lowering

LITERALS = (bool, int, str, type(None))
"""What a kernel may be given that is known when compiling."""


def is_plain(low: Lowering, custom: Custom) -> bool:
    """Whether a call is one of the function as it is written: inside itself, and where what it raises is caught."""
    return low.catching.caught() is not None or any(made is custom for made, _ in low.session.active)


def native_of(
    low: Lowering, custom: Custom, args: Mapping[str, Skeleton], out: Skeleton, summary: Summary, by: Rules
) -> Native:
    """How the kernel is called in place of a function.

    Raises
    ------
    Refusal
        It cannot stand for the function.
    """
    name = custom.kernel.__name__
    instead = f"{name}, which stands for {custom.name},"
    if summary.hidden:
        first = summary.hidden[0].name
        why = f"{custom.name} reads {first!r} from outside, of which {instead} would not see a new value"
        raise by.refuse(why, f"pass {first} as an argument")
    if _does_more(summary.graph, low.session.graphs):
        why = f"{custom.name} writes or draws random numbers, which {instead} would not do in order"
        raise by.refuse(why, "do it outside of the function")
    if any(isinstance(t, NewArray) and t.maybe for t in _parts(summary.template)):
        raise by.refuse(f"{custom.name} returns its argument, and {instead} a new array", "return a copy")

    def refused(what: str) -> Exception:
        why = f"{instead} takes numbers, arrays, tuples of these and literals, not {what}"
        return refuse(why, low.loc, "pass its parts as arguments", kind=InferenceError)

    inputs, outputs = count(), count()
    given = tuple(_place(s, inputs, refused) for s in args.values())
    no_kernel = f"{custom.name} returns {{}}, which {instead} cannot return"
    made = _place(out, outputs, lambda what: by.refuse(no_kernel.format(what), "return numbers and arrays"), ())
    return Native(custom.name, custom.kernel, given, made)


def refuse_shared(low: Lowering, custom: Custom, made: Entity, by: Rules) -> None:
    """Two results are one array for whoever stores into one: what a kernel or a rule returns is apart."""
    seen: set[Cell] = set()
    for array in _arrays(made):
        mine = {s for c in cells_of(array, low.state) for s in (c, *c.shares)}
        if not mine.isdisjoint(seen):
            others = (
                "its derivative has two arrays" if custom.kernel is None else f"{custom.kernel.__name__} two arrays"
            )
            raise by.refuse(f"{custom.name} returns one array twice, or a part of it, and {others}", "return a copy")
        seen |= mine


def _arrays(made: Entity) -> Iterator[Array]:
    if isinstance(made, Array):
        yield made
    elif isinstance(made, Tup):
        for item in made.items:
            yield from _arrays(item)


def _place(
    skeleton: Skeleton,
    number: Iterator[int],
    refused: Callable[[str], Exception],
    literals: tuple[type, ...] = LITERALS,
) -> Any:
    match skeleton:
        case ScalarArg() | ArrayArg():
            return next(number)
        case TupleArg(items=items, cls=cls) if cls is tuple and items:
            return tuple(_place(s, number, refused, literals) for s in items)
        case StaticArg(value=value) if type(value) in literals:
            return repr(value)
    raise refused(in_words(skeleton))


def _parts(template: Template) -> Iterator[Template]:
    yield template
    if isinstance(template, TupleOf):
        for item in template.items:
            yield from _parts(item)


def _does_more(graph: Graph, graphs: Mapping[str, Graph]) -> bool:
    """Whether running a graph does something that is seen besides its results and exceptions."""
    todo, seen = [graph], {graph.name}
    while todo:
        inner = todo.pop()
        if any(isinstance(n, Apply) and n.op.kind in ("effect", "draw") for n in all_nodes(inner)):
            return True
        found = {c.callee for c in calls(inner)} - seen
        seen |= found
        todo += [graphs[name] for name in found if name in graphs]
    return False
