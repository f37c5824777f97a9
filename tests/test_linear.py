"""Large functions: what compiling does grows as they do, and no depth is too much."""

from __future__ import annotations

import cProfile
import importlib.util
import pstats
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcgraph as sg

pytestmark = pytest.mark.plainly

FEW, MANY = 40, 120
STEPS = {
    "numbers": ["s = s * 0.7 + a", "s = math.sin(s) * b", "s = s / (1.0 + s * s)", "c = s - a; s = c * c + b"],
    "arrays": ["x = x * 0.7 + a", "x = np.sin(x) * b", "x = x / (1.0 + x * x)", "c = x - a; x = c * c + b"],
    "stores": ["x[0] = x[1] * a", "x[1] = x[2] + b", "x[2] += x[0]", "s = s + x[1] * s"],
    "branches": ["if s > a: s = s * 0.5", "if s < b: s += a * s", "s = math.sin(s)", "x = x + s if s > 2.0 else x"],
}


def written(kind: str, count: int, folder: Path) -> Callable:
    """A function of so many statements, one after another; all numbers of ``wide`` are needed to the end."""
    lines = [STEPS[kind][k % 4] for k in range(count)] if kind in STEPS else ["t0 = s"]
    if kind == "wide":
        lines += [f"t{k} = math.sin(t{k - 1} * a) + b" for k in range(1, count // 2)]
        lines += [f"s = s * t{k}" for k in range(count // 2)]
    text = "".join(f"    {line}\n" for line in lines)
    path = folder / f"{kind}_{count}.py"
    path.write_text(
        f"import math\nimport numpy as np\ndef f(x, a, b):\n    s = a * b\n{text}    return s + np.sum(x)\n"
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def work(function: sg.Compiled) -> int:
    """How many calls are made until the text is there."""
    args = function.bound((np.linspace(0.1, 0.9, 4), 0.3, 0.7), {})
    with cProfile.Profile() as profile:
        function.version(args)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [*STEPS, "wide"])
@pytest.mark.parametrize("derive", [sg.compile, lambda f: sg.grad(f, argnums=(1, 2))], ids=["value", "gradient"])
def test_work(kind: str, derive: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRCGRAPH_CACHE", "0")
    few, many = (written(kind, n, tmp_path) for n in (FEW, MANY))
    work(derive(written(kind, 12, tmp_path)))  # what is made once, and not again
    first = work(derive(few))
    assert work(derive(many)) < 1.25 * MANY / FEW * first


def test_long_sums(tmp_path: Path) -> None:
    """A gradient with hundreds of contributions to a number is not one expression."""
    text = sg.inspect(sg.grad(written("arrays", 600, tmp_path), argnums=1), np.ones(3), 0.3, 0.7).cpu
    assert max(len(line) for line in text.splitlines()) < 2000
