"""The table of docs/derivatives.md: derivatives at kinks and singular points, as it says them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

TABLE = Path(__file__).parent.parent / "docs" / "derivatives.md"


def rows() -> list[tuple[str, dict[str, Any], tuple[Any, ...]]]:
    """Each function, the point, and the derivative by each argument."""
    found = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("| `") and line.count(" | ") == 3:
            function, point, derivative, _ = (cell.strip(" `") for cell in line.strip("| ").split(" | "))
            given = eval(f"dict({point})", {"np": np})
            want = eval(f"({derivative},)", {"np": np})
            found.append((function, given, want))
    return found


ROWS = rows()


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A module with a function for every row."""
    path = tmp_path_factory.mktemp("kinks") / "kinks.py"
    made = [f"def f{k}({', '.join(given)}):\n    return {text}\n" for k, (text, given, _) in enumerate(ROWS)]
    path.write_text("import numpy as np\n\n\n" + "\n\n".join(made))
    spec = importlib.util.spec_from_file_location("kinks", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("k", range(len(ROWS)), ids=lambda k: ROWS[k][0])
def test_row(functions: ModuleType, k: int) -> None:
    """Reverse mode gives it, and forward mode in each direction that an infinite derivative leaves defined."""
    _, given, want = ROWS[k]
    function, args = getattr(functions, f"f{k}"), tuple(given.values())
    got = sg.grad(function, argnums=tuple(range(len(args))))(*args)
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=1e-14, atol=0)
    push = sg.compile(lambda *both: sg.jvp(function, both[: len(both) // 2], both[len(both) // 2 :])[1])
    for at, y in enumerate(want):
        for index in np.ndindex(np.shape(y)):
            unit = [np.zeros(np.shape(a)) for a in args]
            unit[at][index] = 1.0
            if any(np.any(np.isinf(d) & (u == 0)) for d, u in zip(want, unit, strict=True)):
                continue  # 0 times infinity
            moved = push(*args, *(u if np.ndim(u) else float(u) for u in unit))
            np.testing.assert_allclose(moved, np.asarray(y)[index], rtol=1e-14, atol=0)
