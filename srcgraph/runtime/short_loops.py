"""Loops of a few steps: of which the number is known, that have loops inside, or that go along rows of small blocks.

LLVM writes a loop of few steps out before it asks whether several can be taken at a time. Then it calls functions that
there are for several numbers once for each step. What is left at the end of a loop it would take step by step, each for
the price of several. So it is told to keep the loop until then, and to take the last steps at once, too, without
storing what there are none for. And of a loop inside it makes as many as there are steps around it, and takes each of
them apart into one for several steps at a time, and those that are left: time to compile, for nothing that runs
quicker. It is told to leave it.

Loops along known columns, up to 16, it writes out, too, or takes eight columns of eight rows at once, which is slower
than one by one. It is asked to take several columns: see `ends_of_columns`.

The rows of an array of three axes are short: of 23 numbers, eight at a time, seven would be left. There, too, the last
steps are taken at once. Not where the numbers are read again soon: what was stored in part a processor reads late.

References
----------
LLVM language reference, "llvm.loop" metadata.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from llvmlite.ir import Constant, IntType
from numba.core import ir, types

from srcgraph.runtime import vector
from srcgraph.runtime.disjoint import Distinct
from srcgraph.runtime.uses import Loop, Uses

FEW, NARROW, MANY = 8, 16, 64
"""A loop of few steps LLVM may write out within the steps of another one, of which it then takes several at a time; one
of more than many it does not write out. Up to `NARROW` lengths of rows are known."""
REGISTER = 64
"""Bytes."""


def ends_of_steps(blocks: Mapping[int, Any], uses: Uses, loops: Mapping[str, Loop]) -> set[int]:
    """The jumps, by their ids, with which such loops go on to the next step."""
    found: set[int] = set()
    several = _calls(blocks, uses.types) if vector.SET else set()
    heads = {loop.head for loop in loops.values()}
    for loop in _each(loops) if several else ():
        steps = uses.steps(loop)
        if steps is not None and FEW < steps <= MANY:
            inside = _inside(loop, blocks)
            if not inside.isdisjoint(several) and inside.isdisjoint(heads):
                found |= _jumps_back(loop, blocks)
    return found


def ends_of_rows(blocks: Mapping[int, Any], uses: Uses, loops: Mapping[str, Loop]) -> set[int]:
    """The jumps to the next step of loops along rows of arrays of three axes or more, which are stored and not read.

    They are inside of two other loops and carry nothing from step to step.
    """
    found: set[int] = set()
    each = {loop.head: _inside(loop, blocks) for loop in _each(loops)} if vector.SET in vector.MASKED else {}
    for loop in _each(loops) if len(each) > 2 else ():
        inside = each[loop.head]
        around = sorted((b for b in each.values() if loop.head in b), key=len)
        if len(around) > 1 and inside.isdisjoint(each) and _is_stored_alone(inside, around[1], uses):
            found |= _jumps_back(loop, blocks)
    return found


def ends_of_columns(blocks: Mapping[int, Any], uses: Uses, loops: Mapping[str, Loop]) -> set[int]:
    """The jumps to the next step of loops along short rows of a known length, inside of others, which carry nothing.

    There are no last steps, or what they store is not read nearby; or they divide, and each step of the loop around
    reads and stores a row of its own.
    """
    found: set[int] = set()
    each = {loop.head: _inside(loop, blocks) for loop in _each(loops)}
    for loop in _each(loops) if len(each) > 1 and vector.SET in vector.MASKED else ():
        inside, steps = each[loop.head], uses.steps(loop)
        nearest = min((len(b), head) for head, b in [*each.items(), (loop.head, blocks)] if loop.head in b)[1]
        if steps is None or not FEW <= steps <= NARROW or nearest == loop.head or not inside.isdisjoint(each):
            continue
        stores = [s for label in inside for s in uses.blocks[label].body if isinstance(s, ir.SetItem)]
        if stores and _carries_nothing(loop, inside, uses):
            around, divides = each[nearest] | {nearest}, _divides(inside, uses)
            if all(
                _is_whole(uses.types[s.target.name], steps)
                or _is_unread({s.target.name}, around, uses)
                or (divides and _is_read_there(s, around, uses))
                for s in stores
            ):
                found |= _jumps_back(loop, blocks)
    return found


def _divides(inside: set[int], uses: Uses) -> bool:
    return any(e.fn is operator.truediv for label in inside for e in uses.blocks[label].find_exprs("binop"))


def _carries_nothing(loop: Loop, inside: set[int], uses: Uses) -> bool:
    """Whether a loop changes no variable of others but those that each step begins with."""
    assigned: tuple[set[str], set[str]] = (set(), set())
    for label, block in uses.blocks.items():
        assigned[label in inside].update(s.target.name for s in block.body if isinstance(s, ir.Assign))
    both = assigned[0] & assigned[1]
    for s in uses.blocks[loop.body].body:
        if isinstance(s, ir.Assign):
            if any(v.name in both for v in s.list_vars() if v is not s.target):
                return False
            both.discard(s.target.name)
    return not both


def _is_whole(array: Any, steps: int) -> bool:
    """Whether so many elements of an array are a number of whole registers."""
    return steps * getattr(getattr(array, "dtype", None), "bitwidth", 1) % (8 * REGISTER) == 0


def _is_read_there(store: ir.SetItem, around: set[int], uses: Uses) -> bool:
    """Whether the steps of the loop around a store read of that array what they store into, and each another row."""
    array, at = uses.origin(store.target.name), _place(store.index, uses)
    exprs = [(e, e.index) for k in around for e in uses.blocks[k].find_exprs("getitem")]
    others = [(e, None) for k in around for e in uses.blocks[k].find_exprs("static_getitem")]
    same = all(_place(i, uses) == at for e, i in exprs + others if uses.origin(e.value.name) == array)
    return same and len(at) > 1 and uses.label[at[0]] in around


def _place(index: Any, uses: Uses) -> tuple[str, ...]:
    """The variables that an index is made of; none if it is not made of variables."""
    made = uses.once(index.name) if index is not None else None
    items = made.items if isinstance(made, ir.Expr) and made.op == "build_tuple" else ()
    return tuple(uses.origin(v.name) for v in items)


def _is_unread(stored: set[str], around: set[int], uses: Uses) -> bool:
    """Whether blocks read none of some arrays."""
    read = (e.value.name for label in around for e in uses.blocks[label].find_exprs("getitem"))
    return {*map(uses.origin, stored)}.isdisjoint(map(uses.origin, read))


def _is_stored_alone(inside: set[int], around: set[int], uses: Uses) -> bool:
    """Whether the blocks of a loop store rows of three axes or more, and those around it read none of them."""
    body = [s for label in inside for s in uses.blocks[label].body]
    stored = {uses.origin(s.target.name) for s in body if isinstance(s, ir.SetItem)}
    if not stored or any(getattr(uses.types[name], "ndim", 0) < 3 for name in stored):
        return False
    if any(isinstance(s, ir.Assign) and len(uses.made[s.target.name]) > 1 for s in body):
        return False
    return _is_unread(stored, around, uses)


def ends_of_edges(blocks: Mapping[int, Any], uses: Uses, loops: Mapping[str, Loop]) -> set[int]:
    """The jumps to the next step of loops of any number of steps up to a few."""
    found: set[int] = set()
    for loop in _each(loops):
        most = uses.most_steps(loop)
        if most is not None and most <= FEW and uses.steps(loop) is None:
            found |= _jumps_back(loop, blocks)
    return found


def ends_around_loops(blocks: Mapping[int, Any], uses: Uses, loops: Mapping[str, Loop]) -> set[int]:
    """The jumps to the next step of loops of a known number of steps, around others of which it is not.

    Of a loop whose ends the steps of short loops say, ``for j in range(i)``, it is known once these are written out.
    """
    found: set[int] = set()
    short = {loop.head for loop in _each(loops) if (uses.steps(loop) or MANY) <= NARROW}
    any_length = {
        loop.head
        for loop in _each(loops)
        if uses.steps(loop) is None and not all(_is_of_steps(v.name, short, uses) for v in loop.bounds)
    }
    for loop in _each(loops) if any_length else ():
        steps = uses.steps(loop)
        if steps is not None and steps > 1 and not any_length.isdisjoint(_inside(loop, blocks)):
            found |= _jumps_back(loop, blocks)
    return found


def _is_of_steps(name: str, short: set[int], uses: Uses, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a number is made of literals and steps of short loops, wherever it is made."""
    if uses.number(name) is not None:
        return True
    made = uses.made[name] if name not in seen else ()

    def is_of_steps(*variables: ir.Var) -> bool:
        return all(_is_of_steps(v.name, short, uses, seen | {name}) for v in variables)

    def is_made_of_steps(value: Any) -> bool:
        if isinstance(value, ir.Var):
            return is_of_steps(value)
        if isinstance(value, ir.Expr) and value.op == "pair_first":
            return uses.label[value.value.name] in short
        if isinstance(value, ir.Expr) and value.op == "binop" and value.fn in (operator.add, operator.sub):
            return is_of_steps(value.lhs, value.rhs)
        return False

    return bool(made) and all(map(is_made_of_steps, made))


def _each(loops: Mapping[str, Loop]) -> list[Loop]:
    return list({id(loop): loop for loop in loops.values()}.values())


def _inside(loop: Loop, blocks: Mapping[int, Any]) -> set[int]:
    return {label for label in blocks if loop.head < label < loop.end}  # labels are places in the bytecode


def _jumps_back(loop: Loop, blocks: Mapping[int, Any]) -> set[int]:
    last = (blocks[label].body[-1] for label in _inside(loop, blocks))
    return {id(s) for s in last if isinstance(s, ir.Jump) and s.target == loop.head}


def _calls(blocks: Mapping[int, Any], known: Mapping[str, Any]) -> set[int]:
    """The blocks that call functions of `srcgraph.runtime.vector`."""
    found = set()
    for label, block in blocks.items():
        functions = (known.get(call.func.name) for call in block.find_exprs("call"))
        keys = (f.typing_key for f in functions if isinstance(f, types.Function))
        if any(getattr(key, "__module__", "") == vector.__name__ for key in keys):
            found.add(label)
    return found


def told(blocks: Mapping[int, Any], uses: Uses, loops: Mapping[str, Loop]) -> dict[int, Callable[[Any, Any], None]]:
    """What LLVM is told of loops, by the ids of the jumps with which they go on to the next step."""
    for_lanes = (ends_of_steps, ends_of_rows, ends_of_columns)
    ways = {
        keep_around: ends_around_loops(blocks, uses, loops),
        keep_short: ends_of_edges(blocks, uses, loops),
        keep_for_lanes: {end for ends in for_lanes for end in ends(blocks, uses, loops)},
    }
    return {jump: keep for keep, jumps in ways.items() for jump in jumps}


def keep_around(jump: Any, module: Any) -> None:
    """Tell LLVM of a loop, at the jump to its next step, to write out none of its steps."""
    jump.set_metadata("llvm.loop", Distinct(module, [module.add_metadata(["llvm.loop.unroll.disable"])]))


def keep_short(jump: Any, module: Any) -> None:
    """Tell LLVM of a loop, at the jump to its next step, to leave it as it is."""
    true, false = (Constant(IntType(1), k) for k in (1, 0))
    facts = [
        module.add_metadata(["llvm.loop.vectorize.enable", false]),
        module.add_metadata(["llvm.loop.unroll.disable"]),
        module.add_metadata(["llvm.loop.disable_nonforced", true]),
    ]
    jump.set_metadata("llvm.loop", Distinct(module, facts))


def keep_for_lanes(jump: Any, module: Any) -> None:
    """Tell LLVM of a loop, at the jump to its next step."""
    true = Constant(IntType(1), 1)
    after = module.add_metadata(["llvm.loop.isvectorized", Constant(IntType(32), 1)])
    facts = [
        module.add_metadata(["llvm.loop.unroll.disable"]),
        module.add_metadata(["llvm.loop.vectorize.predicate.enable", true]),
        module.add_metadata(["llvm.loop.vectorize.followup_all", after]),  # what is made of it may be written out
    ]
    jump.set_metadata("llvm.loop", Distinct(module, facts))
