"""Versions of variables in numba's form of a function: those that numba's own pass gives."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from numba.core import ir
from numba.core.compiler import run_frontend
from numba.core.ssa import reconstruct_ssa

from srcgraph.runtime import ssa


def straight(x):
    x = x + 1
    y = x
    x = y * x
    return x - y


def branches(x, y):
    if x > y:
        x = y
    else:
        y = x
    if x > 2:
        return x + y
    return x - y


def loops(n):
    total = 0
    for i in range(n):
        before = total
        for j in range(i):
            if j == 3:
                continue
            if total > 100:
                break
            total += j
            before, total = total, before + total
        total += before
    return total


def whiles(x):
    steps = 0
    while x > 1:
        steps = steps + 1
        while True:
            x = x / 2
            if x < steps:
                break
    else:
        steps = -steps
    return steps, x


def maybe_unassigned(n):
    for i in range(n):
        if i > 5:
            last = i
        elif i > 7:
            return last
    return last


def exchanged(a, b, n):
    for _ in range(n):
        a, b = b, a
        a[0] = b[1]
    return a


def places(form: ir.FunctionIR) -> dict[str, Any]:
    """Where each variable is assigned to: a statement of a block, or its start, with the name that versions share."""
    found: dict[str, Any] = {}
    for label, block in form.blocks.items():
        rest = [s for s in block.body if not is_phi(s)]
        found |= {s.target.name: (label, "start", s.target.unversioned_name) for s in block.body if is_phi(s)}
        found |= {s.target.name: (label, k) for k, s in enumerate(rest) if isinstance(s, ir.Assign)}
    return found


def is_phi(statement: Any) -> bool:
    return isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr) and statement.value.op == "phi"


def described(form: ir.FunctionIR) -> list[Any]:
    """Statement by statement where what it names is assigned to, so that the names themselves do not count."""
    at = places(form)

    def place(variable: Any) -> str:
        return "none" if variable is ir.UNDEFINED else str(at.get(variable.name, variable.name))

    out: list[Any] = []
    for block in form.blocks.values():
        out.append([[type(s).__name__, *map(place, s.list_vars())] for s in block.body if not is_phi(s)])
        out.append(sorted((place(s.target), sorted(incoming(s.value, place))) for s in block.body if is_phi(s)))
    return out


def incoming(phi: Any, place: Callable[[Any], str]) -> list[tuple[int, str]]:
    return [(b, place(v)) for b, v in zip(phi.incoming_blocks, phi.incoming_values, strict=True)]


@pytest.mark.parametrize("function", [straight, branches, loops, whiles, maybe_unassigned, exchanged])
def test_same_versions_as_numbas(function: Callable[..., Any]) -> None:
    ours, numbas = run_frontend(function), run_frontend(function)
    ssa.rename(ours)
    assert described(ours) == described(reconstruct_ssa(numbas))
    names = [s.target.name for block in ours.blocks.values() for s in block.find_insts(ir.Assign)]
    assert len(names) == len(set(names))


def test_what_is_assigned_once_keeps_its_name() -> None:
    form = run_frontend(loops)
    names = {s.target.name for block in form.blocks.values() for s in block.find_insts(ir.Assign)}
    kept = copy.copy(names)
    ssa.rename(form)
    assert kept <= {s.target.name for block in form.blocks.values() for s in block.find_insts(ir.Assign)}
