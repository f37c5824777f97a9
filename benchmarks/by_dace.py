"""Gradients by DaCe, which lives in a virtual environment of its own: it needs other versions than the other peers.

The process of the peer runs there, too; `dace_builder` builds, in a process that can be stopped.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import Absent

PYTHON = Path(__file__).parent.parent / ".venv-dace" / "bin" / "python"
BUILDER = Path(__file__).with_name("dace_builder.py")
LIMIT = 150  # seconds


def installed() -> bool:
    return PYTHON.exists()


def built(text: str, kernel: Path, place: Path) -> list[Path]:
    """The folders of the ways in which DaCe can build a gradient.

    Parameters
    ----------
    text : str
        A module with `total` and `WANTED`.
    kernel : Path
        The module's kernel, on which it depends.
    place : Path
        From where the module imports it.

    Raises
    ------
    Absent
        DaCe is not installed, or builds none.
    """
    if not installed():
        raise Absent("dace is not installed")
    key = hashlib.sha256(text.encode() + kernel.read_bytes() + BUILDER.read_bytes()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / "srcgraph-dace" / key
    failed, finished = folder / "failed", folder / "finished"
    if not finished.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"total_{key}.py").write_text(text)
        build(folder / f"total_{key}.py", place)
        finished.touch()
    found = [folder / way for way in ("simplified", "parallel", "automatic") if (folder / way).is_dir()]
    if not found:
        raise Absent(f"dace: {failed.read_text() if failed.exists() else 'failed'}")
    return found


def build(module: Path, place: Path) -> None:
    """Run the builder; what it has built when its time is over counts."""
    folder = module.parent
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONWARNINGS": "ignore"}
    whole = [str(PYTHON), str(BUILDER), str(module), str(folder)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            whole, env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True
        )  # the compilers it starts are to end with it
        try:
            code = process.wait(LIMIT)
            problem = f"the process died (exit code {code})" if code else ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            problem = f"not built in {LIMIT} s"
    if problem:
        (folder / "failed").write_text(problem)


def contiguous(x: Any) -> Any:
    """What DaCe takes: arrays in C order, and all else."""
    return np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x


def function(folder: Path, names: list[str], wanted: list[str], constants: dict[str, Any]) -> Callable:
    """A gradient that was built, as a function of the kernel's arguments.

    Parameters
    ----------
    folder : Path
        One that `built` gave.
    names, wanted : list of str
        The arguments, and those whose cotangents the function returns.
    constants : dict
        What else the program may read: the sizes of arrays.
    """
    warnings.simplefilter("ignore")
    importlib.import_module("dace").Config.set("compiler", "allow_view_arguments", value=True)  # inputs of gemver
    compiled = importlib.import_module("dace.codegen.compiler").load_precompiled_sdfg(str(folder))
    arrays = compiled.sdfg.arrays
    taken = set(compiled.sdfg.arglist())
    seed = "gradient___return"
    kind = arrays[seed].dtype.type if seed in taken else np.float64

    def gradient(*given: Any) -> list[np.ndarray]:
        known = {**constants, **dict(zip(names, given, strict=True))}
        passed = {k: contiguous(v) for k, v in known.items() if k in taken}
        slopes = [np.zeros_like(known[k], order="C") for k in wanted]
        passed.update((f"gradient_{k}", ct) for k, ct in zip(wanted, slopes, strict=True) if f"gradient_{k}" in taken)
        if seed in taken:
            passed[seed] = np.ones(1, kind)
        compiled(**passed)
        return slopes

    return gradient
