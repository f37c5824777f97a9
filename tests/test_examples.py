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


def numbers(text: str, name: str) -> list[float]:
    """The numbers printed behind ``name``."""
    line = next(line for line in text.splitlines() if line.strip().startswith(name))
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", line.split(name, 1)[1])]


@pytest.mark.timeout(300)
def test_demo(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    check_fit(done.stdout)
    check_gradient(done.stdout)
    assert numbers(done.stdout, "plain Python")[1] > 5.0  # times as long as compiled
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "gradient.html").read_text(encoding="utf-8")
    assert "season" in page
    assert str(ROOT) not in page


def check_fit(text: str) -> None:
    """It is much better afterwards, also where it was not fitted, and differences find no better one."""
    before, after = numbers(text, "RMSE a week ahead, fitted years")
    assert after < 0.6 * before
    before, after = numbers(text, "RMSE of 1990 to 2001, unseen")
    assert after < 0.3 * before
    evaluations, _, loss, *_ = numbers(text, "with the gradient")
    more, _, other, *_ = numbers(text, "2-point differences")
    assert loss < 1.01 * other
    assert evaluations < 0.1 * more


def check_gradient(text: str) -> None:
    """It agrees with differences, also where the loop is left early."""
    for point in ("before the fit", "after the fit", "alpha = 2.3"):
        error, done, weeks = numbers(text, point)
        assert error < 1e-5, point
        assert (done < weeks) == (point == "alpha = 2.3")
