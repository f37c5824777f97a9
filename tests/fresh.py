"""A script run in a process of its own: one that has imported the package, unless the script sets what that reads."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from pathlib import Path

FRESH = multiprocessing.get_context("forkserver")
FRESH.set_forkserver_preload(["srcgraph"])


def script_output(script: Path, timeout: float = 100.0) -> str:
    """What a script prints where it runs to its end.

    Raises
    ------
    AssertionError
        It does not; the message is what it wrote to its standard error.
    """
    if "os.environ" in script.read_text(encoding="utf-8"):
        command = [sys.executable, script.name]
        done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout
    process = FRESH.Process(target=_run, args=(str(script.resolve()),))
    process.start()
    process.join(timeout)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == 0, script.with_suffix(".err").read_text(encoding="utf-8")
    return script.with_suffix(".out").read_text(encoding="utf-8")


def _run(script: str) -> None:
    folder, stem = os.path.dirname(script), os.path.splitext(script)[0]
    os.chdir(folder)
    for number, suffix in enumerate(("out", "err"), start=1):
        with open(f"{stem}.{suffix}", "wb") as file:
            os.dup2(file.fileno(), number)
    sys.argv = [os.path.basename(script)]
    sys.path.insert(0, folder)
    runpy.run_path(script, run_name="__main__")
