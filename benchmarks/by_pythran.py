"""Build modules with pythran, which lives in a virtual environment of its own: it needs another gast than srcgraph."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType

from measure import Absent

COMMAND = Path(__file__).parent.parent / ".venv-pythran" / "bin" / "pythran"
LIMIT = 200  # seconds


def installed() -> bool:
    return COMMAND.exists()


def built(source: Path) -> ModuleType:
    """The module that pythran makes of a file.

    Raises
    ------
    Absent
        Pythran is not installed, or refuses the file.
    """
    if not installed():
        raise Absent("pythran is not installed")
    key = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / "srcgraph-pythran" / key
    folder.mkdir(parents=True, exist_ok=True)
    made, failed = folder / f"{source.stem}.so", folder / "failed"
    if failed.exists():
        raise Absent(failed.read_text())
    if not made.exists():
        whole = [str(COMMAND), "-O3", "-march=native", "--config", "compiler.blas=scipy-openblas", str(source)]
        whole += ["-o", str(made)]
        try:
            done = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=LIMIT)
            said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            problem = f"pythran: {said[-1] if said else 'failed'}" if done.returncode else None
        except subprocess.TimeoutExpired:
            problem = f"pythran: not built in {LIMIT} s"
        if problem:
            failed.write_text(problem)
            raise Absent(problem)
    spec = importlib.util.spec_from_file_location(source.stem, made)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
