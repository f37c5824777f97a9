"""When the states of a long loop are stored, so that it can be run again in parts: schedules of checkpoints.

References
----------
Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000), 19-45: what is optimal where the number of steps is
known. Wang, Moin and Iaccarino, "Minimal repetition dynamic checkpointing algorithm for unsteady adjoint calculation",
SIAM J. Sci. Comput. 31 (2009), 2549-2567: where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srcgraph.ir.op import define, sample
from srcgraph.ir.types import PY_INT

UNUSED = 2**62
"""The step of a place in which no state is stored; later than all others."""


def steps_ahead(steps: int, places: int) -> int:
    """How many steps to go before the next state is stored.

    With ``c`` places and at most ``r`` runs of each step, ``C(c + r, c)`` steps can be reversed. Going so many that
    those behind take one place less, and those before one run less, is optimal.
    """
    if places <= 1:
        return max(int(steps) - 1, 1)
    places, runs, reach = min(int(places), int(steps)), 0, 1
    while reach < steps:
        runs += 1
        reach = reach * (places + runs) // runs
    if runs <= 1:
        return 1
    before = reach * runs // (places + runs)
    return min(before, steps - before * places // (places + runs - 1))


def place_of_state(at: Sequence[int], level: Sequence[int]) -> tuple[int, int]:
    """Where the next state is stored while it is not known how many will follow, and the level it gets.

    ``at`` has the step, and ``level`` the level, of what is stored at each place. A state goes where none is; else
    where one of a lower level than a later one is, which can do without; else in place of the latest one, and its level
    is one more.
    """
    last, raised = 0, 0
    for k in range(len(at)):
        if at[k] == UNUSED:
            return k, 0 if k else UNUSED
        last = k if at[k] > at[last] else last
        raised = k if level[k] > 0 and at[k] > at[raised] else raised
    for k in range(len(at)):
        if at[k] < at[raised] and level[k] < level[raised]:
            return k, 0
    return last, int(level[last]) + 1


count = define(
    name="count",
    doc="A number of steps or places, of which no more is known than that it is not negative.",
    infer=lambda x: PY_INT,
    numpy=int,
    emit={"cpu": "x"},
    learn=lambda out, x: [out.type.value],
    fresh=True,
    samples=(sample(3),),
)
ahead = define(
    name="steps_ahead",
    doc="How many of ``steps`` to go before the next state is stored, with so many places.",
    infer=lambda steps, places: PY_INT,
    numpy=steps_ahead,
    kind="library",
    emit={"cpu": "steps_ahead"},
    helpers="schedules",
    learn=lambda out, steps, places: [out.type.value - 1],
    heavy=True,
    samples=(sample(10, 3), sample(1, 1), sample(7, 1), sample(100, 20), sample(3, 100)),
)
place = define(
    name="place_of_state",
    doc="Where the next state is stored, and the level it gets.",
    infer=lambda at, level: (PY_INT, PY_INT),
    numpy=place_of_state,
    kind="library",
    emit={"cpu": "place_of_state"},
    helpers="schedules",
    learn=lambda out, at, level: [out.type.value, at.type.shape[0] - 1 - out.type.value],
    heavy=True,
    results=("place", "level"),
    samples=(
        sample(np.array([0, 1, UNUSED]), np.array([UNUSED, 0, 0])),
        sample(np.array([0, 1, 2]), np.array([UNUSED, 0, 0])),
        sample(np.array([0, 1, 3]), np.array([UNUSED, 0, 1])),
    ),
)
