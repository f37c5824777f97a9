"""Arrays that a loop binds anew in each trip, element by element: which may be where the ones before were.

``V = np.maximum(V, payoff)`` reads for each element of the new array that of the old one. Where the loop hands the
new one on in place of the old, both can be the same memory, also if a branch or a loop inside does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from srcgraph.codegen.items import Branch, Do, Item, Kernel, Let, Loop, LoopStore, Ref, Store, all_blocks, writes_of
from srcgraph.ir.graph import Value
from srcgraph.ir.types import ArrayType


@dataclass(slots=True)
class Rebound:
    """How a loop binds an array anew.

    Attributes
    ----------
    made : set of Value
        The new arrays.
    variables : set of Value
        What the array is called where this loop and loops inside begin.
    same : set of Value
        What it is called on the way: there, and after stores and branches.
    """

    made: set[Value] = field(default_factory=set)
    variables: set[Value] = field(default_factory=set)
    same: set[Value] = field(default_factory=set)


def rebound(loop: Loop, k: int) -> Rebound:
    """How a loop makes its ``k``-th variable of what it was; nothing is ``made`` if not of each element alone."""
    found = Rebound(variables={loop.params[k]}, same={loop.params[k]})
    makers = {value: item for block in all_blocks(loop.body) for item in block.items for value in writes_of(item)}
    comes = _comes_from(loop.body.values[k], loop.params[k], makers, found)
    return found if comes and not _is_put_away(makers.values(), found) else Rebound()


def _comes_from(value: Value, start: Value, makers: Mapping[Value, Item], found: Rebound) -> bool:
    """Whether ``value`` is made of ``start`` by such arrays, stores and choices alone."""
    if value is start:
        return True
    found.same.add(value)
    match makers.get(value):
        case Let(expr=Ref(value=before)) | Store(base=before):
            return _comes_from(before, start, makers, found)
        case Kernel() as nest:
            return any(_comes_from(before, start, makers, found) for before in _stored_over(nest, value, found))
        case Branch(outputs=outputs, then=then, orelse=orelse):
            k = outputs.index(value)
            return all(_comes_from(side.values[k], start, makers, found) for side in (then, orelse))
        case Loop(outputs=outputs) as inner:
            k = outputs.index(value)
            found.variables.add(inner.params[k])
            found.same.add(inner.params[k])
            inside = _comes_from(inner.body.values[k], inner.params[k], makers, found)
            return inside and _comes_from(inner.init_values[k], start, makers, found)
    return False


def _stored_over(nest: Kernel, value: Value, found: Rebound) -> Iterator[Value]:
    """What a nest stores into to make an array, or what a new one may be in the place of."""
    store = next(p for p in nest.parts if isinstance(p, LoopStore) and p.target is value)
    if store.base is not None:
        yield store.base
        return
    beside = (p for p in nest.parts[: nest.parts.index(store) + 1] if p.inner == store.inner)
    for read in dict.fromkeys(v for part in beside for v, at in part.reads if at == store.at):
        if isinstance(read.type, ArrayType) and read.type == value.type:
            found.made.add(value)
            yield read


def _is_put_away(items: Iterable[Item], found: Rebound) -> bool:
    """Whether a list keeps what the array was in some trip."""
    return any(isinstance(i, Do) and i.pushed in found.same for i in items)
