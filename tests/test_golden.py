"""Graph text, generated code and generated gradient of a few programs, as files that people read.

``pytest --update-golden tests/test_golden.py`` rewrites them; the change is then reviewed like code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_programs as programs
import numpy as np
import pytest

import srcgraph as sg

FOLDER = Path(__file__).parent / "golden"
VECTOR = np.linspace(0.5, 1.5, 6)
MATRIX = np.linspace(0.5, 1.5, 12).reshape(4, 3)
CASES: dict[Callable, tuple[tuple[Any, ...], int | tuple[int, ...]]] = {
    programs.gauss_seidel: ((VECTOR, VECTOR, 1e-3), (0, 1)),
    programs.relax_until: ((VECTOR, VECTOR, 1e-3), (0, 1)),
    programs.heat: ((VECTOR, 0.1, 3), (0, 1)),
    programs.newton: ((2.0, 1e-6), 0),
    programs.two_buffers: ((VECTOR, 0.1, 3), (0, 1)),
    programs.ring_advection: ((VECTOR, 0.1, 3), (0, 1)),
    programs.rk4: ((0.1, 1.0, 0.1, 10), (0, 1)),
    programs.threshold_autoregression: ((VECTOR, 0.5, 0.8, 1.0), (1, 2)),
    programs.first_above: ((MATRIX, 1.0), (0, 1)),
    programs.normalise: ((MATRIX,), 0),
    programs.logistic_regression: ((np.ones(3), MATRIX, np.ones(4)), 0),
}


def shown(program: Callable) -> str:
    """Everything srcgraph makes of a program."""
    args, argnums = CASES[program]
    compiled, gradient = sg.compile(program), sg.grad(program, argnums=argnums)
    parts = {
        "graph": str(compiled.graph(*args)),
        "code": compiled.python(*args),
        "gradient": gradient.python(*args),
    }
    return "\n".join(f"# {'-' * 10} {title} {'-' * 10}\n\n{text.rstrip()}\n" for title, text in parts.items())


@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_golden(program: Callable, update_golden: bool) -> None:
    file = FOLDER / f"{program.__name__}.txt"
    text = shown(program)
    if update_golden:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_nothing_is_copied_that_numpy_would_not_copy(program: Callable) -> None:
    """No copy is inserted in the code of the function itself."""
    args, _ = CASES[program]
    version, _ = sg.compile(program).version(args)
    assert version.generated.copies == ()


def test_no_paths() -> None:
    assert not [f.name for f in FOLDER.glob("*.txt") if str(Path(__file__).parent) in f.read_text(encoding="utf-8")]
