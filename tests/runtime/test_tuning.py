"""Limits of kernels, measured here, hold in later processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from srcgraph import tuning
from srcgraph.__main__ import main
from srcgraph.runtime.kernels import limits

ROWS = [(1, 5.0, 60.0), (8, 9.0, 60.0), (27, 70.0, 60.0), (64, 30.0, 70.0), (125, 90.0, 80.0), (216, 99.0, 80.0)]

PROGRAM = """
import json, numpy as np, srcgraph as sg
from srcgraph.runtime.kernels import machine
made = []
compiled = machine._Linker.compiled
def noted(self, written, optimised):
    made.extend([written] * optimised)  # not the memory of arrays
    return compiled(self, written, optimised)
machine._Linker.compiled = noted
a = np.arange(25.0).reshape(5, 5)
import tuning_programs
x = sg.compile(tuning_programs.product)(a, a)
assert np.array_equal(x, a @ a)
print(json.dumps([dict(sg.tuning.limits()), len(made), sg.cache.info().process.compiled]))
"""


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SRCGRAPH_CACHE", "1")
    monkeypatch.setenv("SRCGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    limits._kept.cache_clear()
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def read_again() -> None:
    limits._kept.cache_clear()


def process() -> list:
    place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=place, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_crossing() -> None:
    """One row that says otherwise between two that do not is noise."""
    assert tuning.crossing(ROWS) == 64
    assert tuning.crossing(ROWS[4:]) == 0
    assert tuning.crossing([]) == 0


def test_later_processes_go_by_what_was_kept(own_folder: Path) -> None:
    assert process() == [dict(limits.DEFAULTS), 1, 1]
    assert limits.keep({"products": 7, "sums": 3})
    assert process() == [{"products": 7, "sums": 3}, 1, 0]  # the kernel is another, the function is not
    assert process() == [{"products": 7, "sums": 3}, 0, 0]
    assert main(["tune", "--forget"]) == 0
    assert process() == [dict(limits.DEFAULTS), 0, 0]


@pytest.mark.parametrize(
    "wrong", [{}, {"products": -1, "sums": 3}, {"products": 1.5, "sums": 3}, {"products": 3}, None]
)
def test_what_is_no_limit_is_not_used(own_folder: Path, wrong: object) -> None:
    entry = limits.shared_entry("limits", "blas")
    assert entry is not None and entry.write(limits.RECORD, {"limits": wrong})
    limits._kept.cache_clear()
    assert tuning.limits() == limits.DEFAULTS


def test_measured(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune"]) == 0
    assert "products, multiplications" in capsys.readouterr().out
    found = tuning.limits()
    assert found.keys() == limits.DEFAULTS.keys() and all(0 <= v <= 8000 for v in found.values())


def test_nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRCGRAPH_CACHE", "0")
    assert not limits.keep({"products": 7, "sums": 3})
    assert tuning.limits() == limits.DEFAULTS
    with limits.trying({"products": 7, "sums": 3}):
        assert limits.limit("sums") == 3
    assert np.all(np.array(list(limits.limits().values())) > 7)
