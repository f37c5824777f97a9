"""The demo runs, improves its fit, agrees with differences, and writes its files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("statsmodels")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo printed, and where its files are."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--output", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def numbers(text: str, name: str) -> list[float]:
    """The numbers printed behind ``name``."""
    line = next(line for line in text.splitlines() if line.strip().startswith(name))
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", line.split(name, 1)[1])]


def test_demo_improves_the_fit(demo):
    text, _ = demo
    before, after = numbers(text, "RMSE a week ahead, fitted years")
    assert after < 0.6 * before
    before, after = numbers(text, "RMSE of 1990 to 2001, unseen")
    assert after < 0.3 * before


def test_demo_finds_what_differences_find(demo):
    text, _ = demo
    evaluations, _, loss, *_ = numbers(text, "with the gradient")
    more, _, other, *_ = numbers(text, "2-point differences")
    assert loss < 1.01 * other
    assert evaluations < 0.1 * more


@pytest.mark.parametrize("point", ["before the fit", "after the fit", "alpha = 2.3"])
def test_demo_gradient_agrees_with_differences(demo, point):
    text, _ = demo
    error, done, weeks = numbers(text, point)
    assert error < 1e-5
    assert done == weeks or point == "alpha = 2.3"  # there the loop is left early


def test_demo_is_faster_than_python(demo):
    text, _ = demo
    assert numbers(text, "plain Python")[1] > 5.0


def test_demo_writes_its_files(demo):
    _, folder = demo
    assert (folder / "fit.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "gradient.html").read_text(encoding="utf-8")
    assert "season" in page and str(ROOT) not in page
