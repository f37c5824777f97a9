"""What gradients save: golden numbers for programs everyone knows, and that the table of `inspect` tells the truth.

``pytest --update-golden tests/test_tape.py`` rewrites the numbers; a change of them is a change of policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tape_programs as programs
from golden_programs import rk4

import srcgraph as sg
from srcgraph.ir import interp
from srcgraph.ir.dims import evaluate
from srcgraph.ir.graph import Apply, Node, Value
from srcgraph.ir.types import ArrayType, ScalarType

pytestmark = pytest.mark.plainly

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""

GOLDEN = Path(__file__).parent / "golden" / "tape.txt"
VECTOR = np.linspace(0.5, 1.5, 6)
MATRIX = 4.0 * np.eye(4) + 0.3
WAVES = np.sin(np.arange(40.0))
HIDDEN = (np.full(3, 1 / 3), np.full((3, 3), 1 / 3), np.linspace(0.1, 0.9, 12).reshape(3, 4), np.array([0, 1, 3, 2]))
LSTM = (WAVES[:15].reshape(5, 3), WAVES[:24].reshape(8, 3), WAVES[:16].reshape(2, 8), WAVES[:8])
CASES: dict[Callable, tuple[tuple[Any, ...], tuple[int, ...]]] = {
    programs.logistic_map: ((0.4, 3.2, 10), (0, 1)),
    programs.newton_root: ((2.0, 1e-9), (0,)),
    programs.bisection: ((3.0, 0.0, 2.0), (0,)),
    rk4: ((0.1, 1.0, 0.1, 10), (0, 1, 2)),
    programs.leapfrog: ((VECTOR, VECTOR[::-1].copy(), VECTOR + 1.0, 0.01, 4), (0, 1, 2)),
    programs.heat: ((VECTOR, 0.1, 3), (0, 1)),
    programs.burgers: ((VECTOR, 0.1, 3), (0, 1)),
    programs.lstm: (LSTM, (1, 2, 3)),
    programs.option_price: ((1.0, 1.1, 0.2, WAVES[:20].reshape(5, 4)), (0, 2)),
    programs.tridiagonal: ((VECTOR, VECTOR + 4.0, VECTOR[::-1].copy(), VECTOR + 1.0), (0, 1, 2, 3)),
    programs.cholesky: ((MATRIX,), (0,)),
    programs.forward_algorithm: (HIDDEN, (0, 1, 2)),
    programs.bubble_sort: ((VECTOR[::-1].copy(), VECTOR), (0, 1)),
    programs.matrix_power: ((MATRIX, np.ones(4), 5), (0, 1)),
}


def shown(function: Callable) -> str:
    """A line per value that is saved, and one of all that is recomputed."""
    args, argnums = CASES[function]
    tape = sg.inspect(sg.grad(function, argnums=argnums, mode=BACKWARD), *args).tape
    lines = [f"{function.__name__} by {', '.join(function.__code__.co_varnames[k] for k in argnums)}"]
    for row in (r for r in tape if r.bytes):
        lines.append(f"    {row.variable}: {row.bytes} bytes, in all {row.total}; {row.choice}; {row.reason}")
    if len(lines) == 1:
        lines.append("    nothing is saved")
    recomputed = [r.variable for r in tape if r.choice == "recomputed"]
    return "\n".join([*lines, *(["    recomputed: " + "; ".join(recomputed)] if recomputed else [])])


def test_golden(update_golden: bool) -> None:
    text = "\n\n".join(map(shown, CASES)) + "\n"
    if update_golden:
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_derivative(function: Callable) -> None:
    """What is saved and recomputed gives the derivative: against differences along a direction."""
    args, argnums = CASES[function]
    cts = sg.grad(function, argnums=argnums, mode=BACKWARD)(*args)
    want = got = 0.0
    for k, ct in zip(argnums, cts, strict=True):
        along = np.cos(np.arange(np.size(args[k]))).reshape(np.shape(args[k]))
        got += float(np.sum(ct * along))
        up, down = ([*map(np.copy, args)] for _ in range(2))
        for moved, h in ((up, 1e-6), (down, -1e-6)):
            moved[k] = moved[k] + h * along
        plain = [function(*(a if a.ndim else a.item() for a in moved)) for moved in (up, down)]
        want += float(plain[0] - plain[1]) / 2e-6
    assert got == pytest.approx(want, rel=1e-6)


# -- the table tells the truth ------------------------------------------------------------------------


TAPES = ("_saved", "_block")


class Measured(interp.Run):
    """Counts the bytes of tapes, which it knows by their names."""

    def __init__(self) -> None:
        super().__init__({}, effects=True)
        self.bytes = 0

    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        outs = super().node(node, env)
        if isinstance(node, Apply) and node.op.name == "empty" and node.outputs[0].name.endswith(TAPES):
            self.bytes += outs[0].nbytes
        if isinstance(node, Apply) and node.op.name == "list_push" and node.inputs[0].name.endswith(TAPES):
            x = node.inputs[1]
            self.bytes += 0 if x.name.endswith(TAPES) else np.asarray(env[x]).nbytes
        return outs


def promised(function: Callable, args: Sequence[Any], argnums: tuple[int, ...], trips: dict[str, int]) -> int:
    """The bytes in all that the table tells."""
    version, _ = sg.grad(function, argnums=argnums, mode=BACKWARD).version(tuple(args))
    sizes = dict(trips)
    for param, arg in zip(version.graph.params, args, strict=True):
        if isinstance(param.type, ArrayType):
            sizes.update((d.symbol, n) for d, n in zip(param.type.shape, arg.shape, strict=True) if d.symbol)
        elif isinstance(param.type, ScalarType) and param.type.value is not None and param.type.value.symbol:
            sizes[param.type.value.symbol] = arg
    total = 0
    for choice in version.tape:
        each = evaluate(choice.bytes, {s: sizes[s] for s in choice.bytes.symbols()})
        for n in choice.trips:
            each *= evaluate(n, {s: sizes[s] for s in n.symbols()})
        total += each
    return total


def newton_trips(args: Sequence[Any]) -> int:
    x, count = args[0], 0
    while abs(x * x - args[0]) > args[1]:
        x, count = 0.5 * (x + args[0] / x), count + 1
    return count


TRUE = ("logistic_map", "newton_root", "rk4", "leapfrog", "heat", "burgers", "lstm", "option_price",
        "tridiagonal")  # fmt: skip


@pytest.mark.parametrize("function", [f for f in CASES if f.__name__ in TRUE], ids=lambda f: f.__name__)
def test_the_table_tells_what_the_code_saves(function: Callable) -> None:
    """All of it where no loop goes back trip by trip with the one before it; else it is the most."""
    args, argnums = CASES[function]
    apart = sg.opt.FAST_RUN.excluding("together", "forward")
    version, _ = sg.grad(function, argnums=argnums, mode=apart).version(args)
    run, least = Measured(), Measured()
    run.graph(version.graph, args)
    least.graph(sg.grad(function, argnums=argnums, mode=BACKWARD).version(args)[0].graph, args)
    line = function.__code__.co_firstlineno + 2
    trips = {f"trips(line {line})": newton_trips(args)} if function is programs.newton_root else {}
    assert run.bytes == promised(function, args, argnums, trips)
    assert run.bytes > 0 or function is programs.tridiagonal
    assert least.bytes <= run.bytes
