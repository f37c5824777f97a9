"""GradBench's own derivatives by hand, in C++, run from a checkout of it to which SRCGRAPH_GRADBENCH points.

In the checkout of https://github.com/gradbench/gradbench, ``make -C cpp`` and ``make -C tools/manual`` have been run.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any


def checkout() -> Path | None:
    """The folder of the checkout, if there is one."""
    place = os.environ.get("SRCGRAPH_GRADBENCH", "")
    return Path(place) if place and (Path(place) / "tools/manual/bin").is_dir() else None


def program(place: Path, name: str) -> Path:
    """The program of an eval."""
    return place / "tools/manual/bin" / name


def asked(place: Path, name: str, function: str, given: Any, seconds: float = 0.0) -> tuple[Any, list[float]]:
    """The output of the program, and the seconds of each run; it runs for so many seconds, at least once."""
    runs = {"min_runs": 1, "min_seconds": seconds}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**given, **runs} if isinstance(given, dict) else given, file)
        file.flush()
        command = [str(program(place, name)), file.name, function]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    output, *timings = map(json.loads, done.stdout.splitlines())
    return output, [1e-9 * t["nanoseconds"] for t in timings if t["name"] == "evaluate"]
