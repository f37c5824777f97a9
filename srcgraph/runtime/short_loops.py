"""Loops of a few steps, a number that is known, that call functions for several numbers.

LLVM writes such loops out before it asks whether several steps can be taken at a time, and then calls the functions
once for each step. What is left at the end of a loop it would take step by step, each for the price of several. So it
is told to keep the loop until then, and to take the last steps at once, too, without storing what there are none for.

References
----------
LLVM language reference, "llvm.loop" metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite.ir import Constant, IntType
from numba.core import ir, types

from srcgraph.runtime import vector
from srcgraph.runtime.disjoint import Distinct
from srcgraph.runtime.uses import Loop, Uses

FEW, MANY = 8, 64
"""A loop of few steps LLVM may write out within the steps of another one, of which it then takes several at a time; one
of more than many it does not write out."""


def ends_of_steps(blocks: Mapping[int, Any], uses: Uses, loops: Mapping[str, Loop]) -> set[int]:
    """The jumps, by their ids, with which such loops go on to the next step."""
    found: set[int] = set()
    several = _calls(blocks, uses.types) if vector.SET else set()
    heads = {loop.head for loop in loops.values()}
    for loop in {id(loop): loop for loop in loops.values()}.values() if several else ():
        steps = uses.steps(loop)
        if steps is not None and FEW < steps <= MANY:
            inside = {label for label in blocks if loop.head < label < loop.end}  # labels are places in the bytecode
            if not inside.isdisjoint(several) and inside.isdisjoint(heads):
                last = (blocks[label].body[-1] for label in inside)
                found |= {id(s) for s in last if isinstance(s, ir.Jump) and s.target == loop.head}
    return found


def _calls(blocks: Mapping[int, Any], known: Mapping[str, Any]) -> set[int]:
    """The blocks that call functions of `srcgraph.runtime.vector`."""
    found = set()
    for label, block in blocks.items():
        functions = (known.get(call.func.name) for call in block.find_exprs("call"))
        keys = (f.typing_key for f in functions if isinstance(f, types.Function))
        if any(getattr(key, "__module__", "") == vector.__name__ for key in keys):
            found.add(label)
    return found


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
