"""Local rewrites: what becomes of one node, looked for at the uses of some ops.

A rewrite is a function of the function graph and the node. It builds what shall be in place of the node's outputs, with
ops called as functions, and returns it; or None where it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, Problem, ShapeError, SrcgraphError
from srcgraph.ir.graph import Apply, Node, Value, node_inputs
from srcgraph.ir.op import COMPOSITES, OPS, Op, building
from srcgraph.ir.operators import OPERATORS, Operators
from srcgraph.ir.straight import merge_key
from srcgraph.ir.types import ArrayType
from srcgraph.ir.walk import has_order
from srcgraph.opt.rewriting.blocks import Site, stands_before
from srcgraph.opt.rewriting.fgraph import FunctionGraph, InconsistencyError
from srcgraph.opt.rewriting.place import MisfitError, Place

Transform = Callable[[FunctionGraph, Any], Any]


class RewriteError(SrcgraphError):
    """A rewrite is at fault: it gives what cannot stand for a node, does not end, or changes what a graph means."""


class RewriteWarning(UserWarning):
    """A rewrite failed, and is left out."""


@dataclass(frozen=True, eq=False, slots=True)
class LocalRewrite:
    """A named local rewrite.

    Parameters
    ----------
    name : str
    ops : tuple of str
        It is tried at uses of these ops, and nowhere else; ``if``, ``while``, ``for`` and ``call`` are names, too.
    transform : callable
        ``transform(fgraph, node)`` returns None or False; or a value for the output, or one for each output, None for
        outputs that nobody reads.
    doc : str
        What it does, in a line: before, after and condition.
    checks : bool
        Whether what it builds may contain checks.
    changed : bool
        Whether only nodes that have got another operand are worth a try.
    """

    name: str
    ops: tuple[str, ...]
    transform: Transform
    doc: str = ""
    checks: bool = False
    changed: bool = False

    def __repr__(self) -> str:
        return f"<rewrite {self.name}>"


def op_name(op: Any) -> str:
    """The name of an op given by it, by its name, or by the NumPy function that users write for it.

    Raises
    ------
    RewriteError
        There is no such op.
    """
    if isinstance(op, str):
        if op not in OPS and op not in ("if", "while", "for", "call"):
            raise RewriteError(f"there is no op {op!r}")
        return op
    if isinstance(op, Op):
        return op.name
    found = next((o.name for o in OPS.values() if any(op is f for f in o.python)), None)
    made = next((c for c in COMPOSITES.values() if any(op is f for f in c.python)), None)
    if found is None and made is not None:
        found = next((n for n in (made.method, made.name) if n in OPS), None)
    if found is None:
        hint = "give the ops that it is made of: print(sg.inspect(f, x).graph)" if made is not None else ""
        raise RewriteError(Problem(f"no op stands for {op!r}", hint=hint))
    return found


def rewrite(ops: Iterable[Any], *, name: str = "", checks: bool = False) -> Callable[[Transform], LocalRewrite]:
    """Make a local rewrite of a function of the function graph and a node.

    Parameters
    ----------
    ops : sequence of Op, str or NumPy functions
        Where it is tried.
    name : str, optional
        The function's name by default.
    checks : bool
        Whether what it builds may contain checks, which can raise.

    Examples
    --------
    >>> @rewrite(ops=["log"])
    ... def log_of_exp(fgraph, node):
    ...     inner = fgraph.definition(node.inputs[0], "exp")
    ...     return inner and inner.inputs[0]
    >>> log_of_exp.ops
    ('log',)
    """

    def decorate(transform: Transform) -> LocalRewrite:
        doc = (transform.__doc__ or "").strip().split("\n")[0]
        return LocalRewrite(name or transform.__name__, tuple(map(op_name, ops)), transform, doc, checks)

    return decorate


def kind_of(node: Node) -> str:
    """What local rewrites track: the op's name, or ``if``, ``while``, ``for``, ``call``."""
    return node.op.name if isinstance(node, Apply) else type(node).__name__.lower()


def apply_at(fgraph: FunctionGraph, site: Site, rule: LocalRewrite, place: Place | None = None) -> bool:
    """Try a local rewrite at a site; whether it changed the graph. A check for which something stands is gone.

    ``place`` is one at the site where nothing has been built yet, if there is one.

    Raises
    ------
    RewriteError
        It gives what cannot stand for the node.
    InconsistencyError
        A feature refuses what comes out. The graph is as it was.
    """
    node = site.whole()
    place = place or Place(fgraph, site)
    with building(place):
        try:
            found = rule.transform(fgraph, node)
            if found is None or found is False:
                return False
            pairs = _pairs(fgraph, node, rule, found, place)
        except (InferenceError, ShapeError, MisfitError):
            return False  # what it builds is not defined for these types
    nodes, checked = place.region.nodes, isinstance(node, Apply) and node.op.kind == "check"
    if not rule.checks and any(map(has_order, nodes)):
        return False
    if not checked and (not pairs or _changes_nothing(node, nodes, pairs)):
        return False
    for old, new in pairs:
        if old.name not in ("", kind_of(node)):
            place.suggest(new, old.name)
    try:
        with fgraph.transaction():
            inserted = fgraph.insert(nodes, site, rule.name)
            fgraph.replace_all(pairs, rule.name)
            for new in reversed(inserted):
                fgraph.remove_if_dead(new, rule.name)
            if checked:
                fgraph.remove(site, rule.name)
            if _outlives_a_store(fgraph, site, node, inserted, pairs):
                raise _NeedsCopyError
    except _NeedsCopyError:
        return False
    return True


class _NeedsCopyError(Exception):
    """What a rewrite gives reads an array after it was stored into."""


def _pairs(fgraph: FunctionGraph, node: Node, rule: LocalRewrite, found: Any, place: Place) -> list[Any]:
    """What stands for each output that is read."""
    given: Sequence[Any] = found if isinstance(found, list | tuple) else [found]
    if len(given) != len(node.outputs):
        raise RewriteError(f"rewrite {rule.name!r} gives {len(given)} values for {len(node.outputs)} outputs")
    pairs = []
    for old, new in zip(node.outputs, given, strict=True):
        if new is None and fgraph.uses(old):
            raise RewriteError(f"rewrite {rule.name!r} gives nothing for {old}, which is read")
        if new is not None and fgraph.uses(old):
            pairs.append((old, place.fitted(_as_value(new, rule, place), old.type)))
    return [(old, new) for old, new in pairs if old is not new]


def _as_value(new: Any, rule: LocalRewrite, place: Place) -> Value:
    """What a rewrite gives for an output: a value, or a number or an array, which is then a constant."""
    if isinstance(new, np.ndarray) and new.ndim:
        return OPERATORS["literal"](new)
    new = new[()] if isinstance(new, np.ndarray) else new
    if not isinstance(new, Operators | bool | int | float | complex | np.number | np.bool_):
        why = f"rewrite {rule.name!r} gives {new!r}, of type {type(new).__name__}"
        raise RewriteError(Problem(why, hint="give a value, a number or an array, or None where it does not apply"))
    return place.value(new.variable if isinstance(new, Operators) else new)


def _outlives_a_store(
    fgraph: FunctionGraph, site: Site, node: Node, inserted: Sequence[Site], pairs: Sequence[tuple[Value, Value]]
) -> bool:
    """Whether an array is read here that was stored into before, so that it has to be copied."""
    read = {v for s in inserted if s.here for v in node_inputs(s.node)} | {new for _, new in pairs}
    fresh = (v for v in read if isinstance(v.type, ArrayType) and v not in node_inputs(node))
    return any(is_stored_into(fgraph, v, site, inserted) for v in fresh)


def is_stored_into(fgraph: FunctionGraph, value: Value, site: Site, but: Sequence[Site] = ()) -> bool:
    """Whether an array is changed by a store before a site, other than those at some sites."""
    stores = (c.holder for c in fgraph.clients(value) if c.position == 0 and c.holder not in but)
    return any(
        isinstance(s, Site)
        and isinstance(s.node, Apply)
        and s.node.op.kind == "update"
        and stands_before(s, site.block, site)
        for s in stores
    )


def _changes_nothing(node: Node, nodes: Sequence[Node], pairs: Sequence[tuple[Value, Value]]) -> bool:
    """Whether what a rewrite gives is the very node again."""
    if not isinstance(node, Apply) or len(nodes) != 1 or len(pairs) != 1:
        return False
    (new,) = nodes
    return (
        isinstance(new, Apply)
        and pairs[0][1] in new.outputs
        and merge_key(new.op, new.inputs, new.attrs) == merge_key(node.op, node.inputs, node.attrs)
    )


def OpSub(old: Any, new: Any, name: str = "") -> LocalRewrite:
    """A local rewrite that puts one op in place of another, with the same inputs and attributes."""
    before, after = op_name(old), op_name(new)

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        return OPS[after](*node.inputs, **node.attrs)

    return LocalRewrite(name or f"{before}_to_{after}", (before,), transform, f"{before}(...) -> {after}(...)")


def OpRemove(op: Any, name: str = "") -> LocalRewrite:
    """A local rewrite that removes an op that passes its inputs on.

    Raises
    ------
    RewriteError
        When it meets a use with another number of inputs than outputs.
    """
    gone = op_name(op)

    def transform(fgraph: FunctionGraph, node: Apply) -> Any:
        if len(node.inputs) != len(node.outputs):
            raise RewriteError(f"{gone} has {len(node.inputs)} inputs and {len(node.outputs)} outputs: it cannot go")
        return list(node.inputs)

    return LocalRewrite(name or f"remove_{gone}", (gone,), transform, f"{gone}(x) -> x")


__all__ = [
    "InconsistencyError",
    "LocalRewrite",
    "OpRemove",
    "OpSub",
    "RewriteError",
    "RewriteWarning",
    "apply_at",
    "kind_of",
    "rewrite",
]
