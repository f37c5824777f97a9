"""`srcgraph.assume` and annotated parameters: what is promised of numbers and arrays."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend.entities import Array, Const, Entity, Scalar, Tup, may_be_memory_of
from srcgraph.frontend.join import describe
from srcgraph.frontend.memory import new_array, read, refuse
from srcgraph.frontend.numpy_table import array_function
from srcgraph.frontend.session import Guard, read_outside
from srcgraph.ir.assumptions import Facts, assume, named
from srcgraph.ir.graph import Value
from srcgraph.ir.ops.assume import check_facts, with_facts

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


@array_function(assume)
def assumed(low: Lowering, x: Entity, /, **facts: Entity) -> Entity:
    """The facts hold of ``x`` wherever it is used from here on."""
    try:
        names = named({n: bool(low.static(e, f"the fact {n!r}")) for n, e in facts.items()})
    except TypeError as error:
        raise refuse(f"assume: {error}", low.loc, kind=InferenceError) from None
    return promised(low, x, names, "assume") if names else x


def promised(low: Lowering, x: Entity, names: Sequence[str], what: str) -> Entity:
    """``x`` with facts. An array of its own keeps them until it is changed; a part of one is given back with them."""
    match x:
        case Const() if x.is_number:
            return x
        case Scalar(value=value):
            return _everywhere(low, x, Scalar(_valued(low, value, names, what)))
        case Array(cell=cell, view=None) if cell.choice is None:
            made = _valued(low, read(low, x), names, what)
            held = low.state.store[cell]
            assert isinstance(held, Value)
            low.builder.region.promised[held] = made
            return x
        case Array():
            part = new_array(low, _valued(low, read(low, x), names, what))
            may_be_memory_of(part.cell, x.cell)
            return part
    raise refuse(f"{what}: facts are about numbers and arrays, not {describe(x)}", low.loc, kind=InferenceError)


def _valued(low: Lowering, value: Value, names: Sequence[str], what: str) -> Value:
    made = with_facts(value, names, what)
    if low.session.checked:
        check_facts(made, names, what)
    return made


def _everywhere(low: Lowering, before: Scalar, after: Scalar) -> Scalar:
    for name, held in low.state.names.items():
        if held == before:
            low.state.names[name] = after
    return after


def annotate(low: Lowering) -> None:
    """Promise what the annotations of the parameters say."""
    spec = low.code.node.args
    for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        names = _facts(low, getattr(parameter, "annotation", None))
        if names:
            with low.at(parameter):
                held = promised(low, low.lookup(parameter.id), names, f"the argument {parameter.id!r}")
                low.assign(parameter.id, held)
    _annotate_rest(low, spec.vararg)
    if spec.kwarg is not None and _facts(low, getattr(spec.kwarg, "annotation", None)):
        with low.at(spec.kwarg):
            why = f"facts of **{spec.kwarg.id} are not supported"
            raise refuse(why, low.loc, kind=InferenceError, hint="say them inside: sg.assume(...)")


def _annotate_rest(low: Lowering, rest: Any) -> None:
    """Promise what the annotation of ``*rest`` says of each of its items, as annotations mean it."""
    names = _facts(low, getattr(rest, "annotation", None))
    if not names:
        return
    with low.at(rest):
        held = low.lookup(rest.id)
        items = held.items if isinstance(held, Tup) else ()
        made = [promised(low, x, names, f"the argument '{rest.id}[{k}]'") for k, x in enumerate(items)]
        low.assign(rest.id, Tup(tuple(made)))


def _facts(low: Lowering, node: Any) -> tuple[str, ...]:
    """The facts of an annotation: what stands in ``Annotated[..., Facts(...)]``."""
    if node is None or (isinstance(node, gast.Constant) and not isinstance(node.value, str)):
        return ()
    found = _evaluated(low, node)
    if get_origin(found) is not Annotated:
        return ()
    given = [f.names for f in get_args(found)[1:] if isinstance(f, Facts)]
    _note_names(low, node)
    return tuple(sorted({n for names in given for n in names}))


def _evaluated(low: Lowering, node: Any) -> Any:
    """What an annotation means; None where it cannot be told, as for names that only type checkers import."""
    text = node.value if isinstance(node, gast.Constant) else ast.unparse(gast.gast_to_ast(node))
    seen = {n: c.cell_contents for n, c in low.code.cells.items() if _is_set(c)}
    try:
        return eval(text, {**vars(builtins), **low.code.globals}, seen)
    except Exception:
        return None


def _note_names(low: Lowering, node: Any) -> None:
    """What an annotation names is compiled in, as other globals are."""
    text = node.value if isinstance(node, gast.Constant) else ast.unparse(gast.gast_to_ast(node))
    for name in sorted({n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)}):
        places = low.code.cells if name in low.code.cells else low.code.globals
        container = places[name] if places is low.code.cells else places
        if places is low.code.cells or name in places:
            key = (name, id(container))
            low.session.guards.setdefault(key, Guard(name, container, read_outside(container, name)))


def _is_set(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
