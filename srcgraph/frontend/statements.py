"""Statements: assignment, stores, branches. Loops are in `loops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import gast

from srcgraph.errors import InferenceError
from srcgraph.frontend import (
    arrays,
    attributes,
    conditions,
    contents,
    dicts,
    effects,
    expressions,
    fancy,
    flat,
    indexing,
    library,
    linking,
    lists,
    loops,
    nested,
    numbers,
    objects,
    operators,
    presence,
    shared,
    tables,
)
from srcgraph.frontend.catching import HANDLER, RAISED
from srcgraph.frontend.closures import captured
from srcgraph.frontend.entities import (
    NONE,
    UNBOUND,
    Array,
    Closure,
    Const,
    Entity,
    Instance,
    Key,
    Listing,
    Maybe,
    Scalar,
    State,
    Tup,
    Unusable,
)
from srcgraph.frontend.exits import Guarded, leaving_kinds
from srcgraph.frontend.join import Joiner
from srcgraph.frontend.memory import Dead, Refusal, content, ref_type, refuse, write
from srcgraph.frontend.once import refuse_kept
from srcgraph.frontend.scope import assigned
from srcgraph.ir.facts import Region
from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.op import OPS
from srcgraph.ir.ops.vector import literal
from srcgraph.ir.types import ArrayType

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def block(low: Lowering, statements: Sequence[Any]) -> None:
    """Lower statements in order; stops where the path certainly ends."""
    for node in statements:
        if low.state.dead or not low.catching.goes_on():
            return
        targets = [*sorted(assigned([node])), *(["<return>"] if gast.Return in leaving_kinds([node], True) else [])]
        with low.at(node), low.recovering(targets):
            try:
                statement(low, node)
            except Dead:
                low.state.dead = True
        if isinstance(node, gast.Raise):
            low.state.dead = True


def _exchanges(target: Any, value: Any) -> bool:
    """Whether items change places: ``xs[i], xs[j] = xs[j], xs[i]``."""
    if not (isinstance(target, gast.Tuple) and isinstance(value, gast.Tuple)):
        return False
    places = [gast.dump(e).replace("Store()", "Load()") for e in target.elts]
    exact = sorted(places) == sorted(map(gast.dump, value.elts))
    return exact and all(isinstance(e, gast.Subscript) for e in target.elts)


def statement(low: Lowering, node: Any) -> None:
    match node:
        case gast.Assign(targets=targets, value=value):
            entity = expressions.lower_named(low, value, targets[0])
            entity = nested.apart(low, entity) if _exchanges(targets[0], value) else entity
            if len(targets) > 1:
                refuse_kept(low, [entity], "under two names")
            for target in targets:
                assign(low, target, entity)
        case gast.AnnAssign(target=target, value=value):
            if value is not None:
                assign(low, target, expressions.lower_named(low, value, target))
        case gast.AugAssign():
            augmented(low, node)
        case gast.Expr(value=value):
            if not isinstance(value, gast.Constant):
                expressions.optional(low, value)
        case gast.If():
            if_(low, node)
        case gast.For():
            loops.for_(low, node)
        case gast.While():
            loops.while_(low, node)
        case gast.Return(value=value):
            low.assign("<return>", NONE if value is None else expressions.optional(low, value))
            low.returned_at = low.loc
        case gast.Break():
            low.assign("<stop>", Const(True))
        case gast.FunctionDef():
            low.assign(node.name, function_entity(low, node))
        case gast.Assert():
            effects.assert_(low, node)
        case gast.Raise():
            effects.raise_(low, node)
        case gast.Delete(targets=targets):
            for target in targets:
                delete(low, target)
        case Guarded():
            low.catching.statement(node)
        case gast.With(items=items):
            for item in items:
                enter(low, item)
        case gast.Pass() | gast.Continue() | gast.Nonlocal():
            pass
        case _:
            raise refuse(f"{type(node).__name__} is not supported", low.loc)


def function_entity(low: Lowering, node: Any) -> Closure:
    """A nested function or lambda; defaults are evaluated now, free names when it is called."""
    args = node.args
    defaults = tuple(expressions.optional(low, d) for d in args.defaults)
    kw_defaults = tuple(
        (a.id, expressions.optional(low, d))
        for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if d is not None
    )
    refuse_kept(low, [*defaults, *(e for _, e in kw_defaults)], "as a default")
    name = node.name if isinstance(node, gast.FunctionDef) else "<lambda>"
    return Closure(node, name, defaults, kw_defaults, low.code, captured(low, node))


def enter(low: Lowering, item: gast.withitem) -> None:
    """What stands after ``with``; its block follows as if it stood alone."""
    entity = expressions.lower(low, item.context_expr)
    if entity != Const(numbers.ERRSTATE) or item.optional_vars is not None:
        raise refuse("with is supported for np.errstate(...) only", low.loc, "take what is inside out of the with")


# -- assignment ---------------------------------------------------------------------------------


def assign(low: Lowering, target: Any, entity: Entity) -> None:
    match target:
        case gast.Name(id=name):
            low.named(entity, name)
            low.assign(name, entity)
        case gast.Tuple(elts=elts) | gast.List(elts=elts):
            unpack(low, elts, entity)
        case gast.Subscript():
            store(low, target, entity)
        case gast.Starred(value=value):
            assign(low, value, entity)
        case gast.Attribute(value=value, attr=attr):
            held = expressions.lower(low, value)
            if isinstance(held, Array) and attr == "flat":
                fill(low, held, entity)
            elif isinstance(held, Array) and attr == "shape" and isinstance(value, gast.Name):
                low.assign(value.id, arrays.of_shape(low, held, value.id, entity))
            elif shared.is_shared(held):
                shared.set_attribute(low, held, attr, entity)
            else:
                objects.set_attribute(low, held, attr, entity)
        case _:
            raise refuse(f"cannot assign to {type(target).__name__}", low.loc)


def fill(low: Lowering, base: Array, entity: Entity) -> None:
    """``base.flat = entity``."""
    value = low.value(entity, "the value stored")
    if value.type.ndim:
        raise refuse("assigning an array to flat is not supported", low.loc, "store into x[...] an array of its shape")
    write(low, base, low.builder.stored(value, ref_type(low, base).dtype))


def unpack(low: Lowering, targets: Sequence[Any], entity: Entity) -> None:
    star = next((k for k, t in enumerate(targets) if isinstance(t, gast.Starred)), None)
    if star is None:
        items = expressions.items_of(low, entity, len(targets))
    else:
        items = _starred(low, entity, star, len(targets) - 1 - star)
    if len(items) != len(targets):
        few = len(items) < len(targets)
        counts = f"(expected {len(targets)}, got {len(items)})" if few else f"(expected {len(targets)})"
        _cannot_unpack(low, f"{'not enough' if few else 'too many'} values to unpack {counts}")
    for target, item in zip(targets, items, strict=True):
        assign(low, target, item)


def _cannot_unpack(low: Lowering, why: str) -> NoReturn:
    """What Python raises where the number of items is another one than that of the names."""
    low.builder.call_named("check_that", False, error="ValueError", message=why)
    raise Dead


def _starred(low: Lowering, entity: Entity, before: int, after: int) -> list[Entity]:
    """What is unpacked into ``before`` names, a starred one that takes the rest, and ``after`` more."""
    if lists.known_items(low, entity) is None and isinstance(entity, Array | Listing):
        rest = lists.own(low, library.rest_of, entity, Const(before), Const(after))
        ends = (*range(before), *range(-after, 0))
        items = [lists.own(low, library.item_of, entity, Const(k)) for k in ends]
        return [*items[:before], rest, *items[before:]]
    items = expressions.items_of(low, entity)
    if len(items) < before + after:
        _cannot_unpack(low, f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    rest = contents.new_list(low, Tup(tuple(items[before : len(items) - after]), list))
    return [*items[:before], rest, *items[len(items) - after :]]


def store(low: Lowering, target: Any, entity: Entity) -> None:
    """``base[index] = entity``."""
    held = expressions.lower(low, target.value)
    if isinstance(held, Listing | Instance):
        _store_item(low, held, expressions.lower(low, target.slice), entity)
        return
    base = array_of(low, held, target.value)
    if isinstance(entity, Maybe):
        raise refuse(f"{low.shown(entity)} cannot be stored in an array", low.loc, "test whether it is None first")
    entity = tables.operand(low, entity)
    place = indexing.subscript_place(low, held if flat.is_flat(held) else base, target.slice)
    value = low.value(entity, "the value stored")
    if flat.is_flat(held) and value.type.ndim:
        why = "storing an array through flat, which NumPy repeats as needed, is not supported"
        raise refuse(why, low.loc, "store into x.reshape(-1), or one number")
    dtype = ref_type(low, base).dtype
    if value.type.dtype.kind == "c" and dtype.kind != "c":
        raise refuse("cannot store a complex number in a real array", low.loc, kind=InferenceError)
    if isinstance(place, Array):
        instead = ("ValueError", "Error setting single item of array.") if flat.is_flat(held) else None
        write(low, place, low.builder.assigned(value, dtype, instead))
    else:
        place.store(low, low.builder.stored(value, dtype))


def _store_item(low: Lowering, base: Listing | Instance, index: Entity, entity: Entity) -> None:
    """``base[index] = entity`` for a list, a dict, or an object with a method for it."""
    if isinstance(base, Listing):
        if isinstance(entity, Maybe):
            raise refuse(f"{low.shown(entity)} cannot be stored in a list", low.loc, "test whether it is None first")
        lists.store(low, base, index, entity)
    elif dicts.is_dict(base):
        dicts.store(low, base, index, entity)
    elif objects.has_special(base, "__setitem__"):
        objects.special(low, "__setitem__", base, index, entity)
    else:
        raise refuse(f"a {base.cls.__name__} takes no stores by index", low.loc, kind=InferenceError)


def array_of(low: Lowering, entity: Entity, node: Any) -> Array:
    if isinstance(entity, Array):
        return entity
    if flat.is_flat(entity):
        return flat.array_of(entity)
    if isinstance(entity, Unusable):
        raise low.unusable(entity)
    raise refuse(
        f"cannot store into {low.shown(entity)}",
        low.loc,
        shared.hint(entity) or "only arrays can be stored into",
        kind=InferenceError,
    )


def delete(low: Lowering, target: Any) -> None:
    """``del xs[i]``."""
    if isinstance(target, gast.Tuple | gast.List):
        for part in target.elts:
            delete(low, part)
        return
    if isinstance(target, gast.Name):
        low.lookup(target.id)
        low.assign(target.id, UNBOUND)
        return
    base = expressions.lower(low, target.value) if isinstance(target, gast.Subscript) else None
    if isinstance(base, Instance) and dicts.is_dict(base):
        dicts.delete(low, base, expressions.lower(low, target.slice))
        return
    if not isinstance(base, Listing):
        raise refuse("only names, and items of lists and dicts, can be deleted", low.loc)
    lists.delete(low, base, expressions.lower(low, target.slice))


OPERATORS = {
    gast.Add: "add", gast.Sub: "sub", gast.Mult: "mul", gast.Div: "div", gast.FloorDiv: "floordiv",
    gast.Mod: "mod", gast.Pow: "power", gast.MatMult: "matmul", gast.LShift: "left_shift",
    gast.RShift: "right_shift", gast.BitAnd: "bitwise_and", gast.BitOr: "bitwise_or", gast.BitXor: "bitwise_xor",
}  # fmt: skip


def augmented(low: Lowering, node: gast.AugAssign) -> None:
    """``target op= value``: rebinds a number, changes an array in place."""
    op = OPERATORS[type(node.op)]
    if isinstance(node.target, gast.Name):
        before = presence.present(low, low.lookup(node.target.id))
        operand = expressions.lower(low, node.value)
        after = changed(low, op, before, operand, node.target.id)
        if not isinstance(before, Array):
            low.assign(node.target.id, after)
        return
    held = expressions.lower(low, node.target.value)
    if isinstance(node.target, gast.Attribute):
        name = node.target.attr
        before = attributes.attribute(low, held, name)
        after = changed(low, op, before, expressions.lower(low, node.value), name)
        if shared.is_shared(held):
            shared.set_attribute(low, held, name, after)
        elif not isinstance(held, Array):
            objects.set_attribute(low, held, name, after)
        return
    if isinstance(held, Listing | Instance):
        at = expressions.lower(low, node.target.slice)
        before = indexing.item(low, held, at)
        _store_item(low, held, at, changed(low, op, before, expressions.lower(low, node.value)))
        return
    base = array_of(low, held, node.target.value)
    place = indexing.subscript_place(low, held if flat.is_flat(held) else base, node.target.slice)
    if not isinstance(place, Array):
        before, held = content(low, base.cell), place.read(low)
        operand = expressions.lower(low, node.value)
        _check_matmul(low, op, held.type.ndim, operand)
        place.update(low, op, held, operand, content(low, base.cell) is not before)
        return
    before = content(low, place.cell)
    number = low.value(place) if not ref_type(low, place).ndim else None
    operand = expressions.lower(low, node.value)
    if number is not None and content(low, place.cell) is not before:  # the number was read before it changed
        value = low.value(operators.binary(low, op, Scalar(number), operand))
        write(low, place, low.builder.assigned(value, ref_type(low, place).dtype))
    else:
        in_place(low, place, op, operand)


def changed(low: Lowering, op: str, before: Entity, operand: Entity, hint: str = "") -> Entity:
    """What ``before op= operand`` leaves: an array or a list, changed in place, or a new number."""
    if isinstance(before, Array):
        in_place(low, before, op, tables.plain(low, operand))
        return before
    if isinstance(before, Listing):
        return lists.augmented(low, op, before, operand)
    own = objects.in_place_operator(low, op, before, operand)
    return operators.binary(low, op, before, operand, hint) if own is None else own


def _check_matmul(low: Lowering, op: str, ndim: int, operand: Entity) -> None:
    if op == "matmul" and (ndim < 1 or low.value(operand).type.ndim < 2):
        why = "inplace matrix multiplication requires the first operand to have at least one and the second two axes"
        raise refuse(why, low.loc, kind=InferenceError)


def in_place(low: Lowering, ref: Array, op: str, operand: Entity) -> None:
    """Change what ``ref`` stands for; the result is cast back to its dtype as NumPy does."""
    kind = ref_type(low, ref)
    operand = operators.beside_unsigned(low, tables.operand(low, operand), ref)
    _check_matmul(low, op, kind.ndim, operand)
    if op in ("add", "sub"):
        value = low.value(operand)
        if kind.dtype.kind in "fiu" and OPS[op].infer.loop([kind, value.type])[1] == kind.dtype:
            value = low.builder.stored(value, kind.dtype)
            write(low, ref, OPS["neg"](value) if op == "sub" else value, accumulate=True)
            return
    value = low.value(operators.binary(low, op, _current(low, ref), operand))
    if isinstance(kind, ArrayType):
        fancy.check_same_kind(low, value.type.dtype, kind.dtype)
        value = low.builder.cast(value, kind.dtype, False)
    write(low, ref, low.builder.assigned(value, kind.dtype))


def _current(low: Lowering, ref: Array) -> Entity:
    kind = ref_type(low, ref)
    return ref if kind.ndim else Scalar(low.value(ref))


# -- branches -----------------------------------------------------------------------------------


def if_(low: Lowering, node: gast.If) -> None:
    with low.at(node.test):
        test = conditions.tested(low, node.test)
        known = test if isinstance(test, bool) else literal(low.builder, test)
    if known is not None:
        block(low, node.body if known else node.orelse)
        return
    assert isinstance(test, Value)
    before = low.state
    sides = []
    for statements, holds in ((node.body, True), (node.orelse, False)):
        region, state = low.builder.new_region(), before.copy()

        def run(statements: Sequence[Any] = statements, holds: bool = holds) -> None:
            low.builder.learn_condition(test, holds)
            low.catching.inside(lambda: block(low, statements))

        low.inside(region, state, run)
        sides.append((region, state))
    live = low.scope.after.get(id(node), frozenset())
    merge(low, test, sides[0], sides[1], live, node)


def merge(
    low: Lowering,
    test: Value,
    then: tuple[Region, State],
    orelse: tuple[Region, State],
    live: frozenset[str],
    node: Any,
    value_name: str = "",
) -> None:
    """Append the `If` and continue in the joined state."""
    if _only_raises(low, then) or _only_raises(low, orelse):
        _merge_check(low, test, then, orelse)
        return
    before = low.state
    joiner = Joiner(low, test, (then, orelse), before, [*low.variables(live), *low.overs, *INTERNAL])
    makers = {}
    dead = [s.dead for _, s in (then, orelse)]
    if all(dead):
        low.builder.if_(test, (then[0], ()), (orelse[0], ()))
        low.state.dead = True
        return
    for name in _changed_names(before, then[1], orelse[1], frozenset(low.keys(live))):
        first = before.names.get(name, UNBOUND)  # an object read from outside may be met on the other path only
        x, y = (s.names.get(name, first) for _, s in (then, orelse))
        x, y = _fill_dead(low, (x, y), (then, orelse), dead)
        with low.at(node):
            joiner.joining = [name]
            makers[name] = joiner.join(x, y, value_name if name == "<value>" else str(name))
    stores = _changed_cells(low, before, then[1], orelse[1], joiner, dead)
    outs = low.builder.if_(
        test,
        (then[0], [p[0] for p in joiner.pairs]),
        (orelse[0], [p[1] for p in joiner.pairs]),
        [p[2] for p in joiner.pairs],
    )
    for side, (_, state) in enumerate((then, orelse)):
        if not dead[side]:
            _keep_new_cells(before, state, low.state)
    for cell, make in stores.items():
        low.state.store[cell] = make(outs)
    for key, make in (*makers.items(), *joiner.contents.items()):
        low.state.names[key] = make(outs)


INTERNAL = frozenset({"<return>", "<stop>", "<value>", RAISED, HANDLER})
"""Names of the compiler's own, needed after every branch."""


def _changed_names(before: State, then: State, orelse: State, live: frozenset[Key]) -> list[Key]:
    wanted = live | INTERNAL
    names = [n for n in {**then.names, **orelse.names} if n in wanted]
    absent = object()

    def changed(name: Key) -> bool:
        old = before.names.get(name, absent)
        return any(not s.dead and s.names.get(name, absent) != old for s in (then, orelse))

    return [n for n in names if changed(n)]


def _fill_dead(
    low: Lowering,
    pair: tuple[Entity, Entity],
    sides: tuple[tuple[Region, State], tuple[Region, State]],
    dead: list[bool],
) -> tuple[Entity, Entity]:
    """On a path that ends, a name stands for anything: something of the other path's kind."""
    x, y = pair
    if dead[0] and x != y:
        x = low.inside(*sides[0], lambda: low.undefined(y, sides[1]))
    if dead[1] and x != y:
        y = low.inside(*sides[1], lambda: low.undefined(x, sides[0]))
    return x, y


def _changed_cells(low: Lowering, before: State, then: State, orelse: State, joiner: Joiner, dead: list[bool]) -> dict:
    stores: dict[Any, Any] = {}
    for cell, held in before.store.items():
        x = held if dead[0] else then.store.get(cell, held)
        y = held if dead[1] else orelse.store.get(cell, held)
        if x is y and x is held:
            continue
        stores[cell] = _joined_content(low, joiner, (x, y), cell.name, dead)
        if not contents.stay_known(x, y):
            linking.link_all(cell, x, then)
            linking.link_all(cell, y, orelse)
    return stores


def _joined_content(low: Lowering, joiner: Joiner, pair: Any, name: str, dead: list[bool]) -> Any:
    """How what a cell holds is made from the outputs of the `If`."""
    failed = next((c for c in pair if isinstance(c, Unusable)), None)
    if failed is not None:
        return lambda outs: failed
    if isinstance(pair[0], Value):
        k = joiner.output(pair[0], pair[1], name)
        return lambda outs: outs[k]
    for side in (0, 1):
        if dead[side]:
            there = joiner.sides[1 - side]
            mine = low.inside(*joiner.sides[side], lambda: contents.undefined(low, pair[1 - side], there))
            pair = (mine, pair[1]) if side == 0 else (pair[0], mine)
    try:
        return joiner.content(pair[0], pair[1], name)
    except Refusal as refusal:
        problem = refusal.problem
        return lambda outs: Unusable(problem.message, problem.hint, low.loc)


def _keep_new_cells(before: State, state: State, after: State) -> None:
    """Cells made in a branch stay known, so that references inside tuples and the like stay valid."""
    for cell, held in state.store.items():
        if cell not in before.store and cell not in after.store:
            lost = Unusable("this was made on one path only")
            after.store[cell] = held if isinstance(held, Unusable) else lost


def _only_raises(low: Lowering, side: tuple[Region, State]) -> bool:
    """Whether a branch does nothing but raise; what it computes for the message costs next to nothing."""
    region, state = side
    if not state.dead or not region.nodes or not low.builder.all_stand(region):
        return False
    *before, last = (n for n in region.nodes if isinstance(n, Apply))
    return last.op.name == "check_that" and all(n.op.name in _CHEAP and n.outputs[0].type.ndim == 0 for n in before)


_CHEAP = {"const", "cast", "dim", "add", "sub", "mul", "neg", "absolute", "getitem"}


def _merge_check(low: Lowering, test: Value, then: tuple[Region, State], orelse: tuple[Region, State]) -> None:
    """``if bad: raise``: a check, and the other branch goes on in line."""
    b = low.builder
    raising, other = (then, orelse) if _only_raises(low, then) else (orelse, then)
    check = raising[0].take_last()
    assert isinstance(check, Apply)
    b.splice(raising[0], reached=False)
    fine = OPS["logical_not"](test) if raising is then else test
    caught, b.on_check = b.on_check, None  # what a handler catches is no check any more: this one leaves
    with b.at(origin=check.origin):
        b.call(check.op, (fine, *check.inputs[1:]), dict(check.attrs))
    b.on_check = caught
    b.learn_condition(fine, True)
    b.splice(other[0])
    low.state.become(other[1])
