"""Compiles CUDA modules to PTX, without a GPU: ``python cuda_checks.py texts | python cuda_ptx.py``.

Where there is ``ptxas``, what it says of the PTX counts too. What is wrong is printed, and the exit status is how many
kernels it is; the last line says how many there were. ``python cuda_ptx.py can`` says why it cannot be done, if so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

CC = (8, 0)
"""The compute capability that is compiled for."""


def why_not() -> str:
    """Why nothing can be compiled to PTX here; '' if it can."""
    try:
        from numba import cuda

        cuda.compile_ptx(lambda: None, (), cc=CC)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return ""


def assembler() -> str | None:
    """Where ``ptxas`` is: of the toolkit, or of the wheel ``nvidia-cuda-nvcc``."""
    places = [Path(p) / "nvidia" for p in sys.path if (Path(p) / "nvidia").is_dir()]
    found = [str(f) for p in places for f in p.glob("*/bin/ptxas")]
    return next(iter(found), None) or shutil.which("ptxas")


def compile_all(texts: dict[str, list]) -> int:
    """Compile every kernel; how many fail."""
    from numba import cuda
    from numba.core.sigutils import normalize_signature
    from numba.cuda import dispatcher

    # Device functions are compiled for the GPU that is there: here, none is.
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=CC)
    ptxas, failed, count = assembler(), 0, 0
    for name, (text, signatures) in texts.items():
        module = types.ModuleType(name)
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)
        for kernel, args in signatures.items():
            count += 1
            try:
                signature = normalize_signature(f"void({', '.join(args)})")[0]
                ptx, _ = cuda.compile_ptx(vars(module)[kernel].py_func, signature, cc=CC)
                assert ".entry" in ptx
                problem = assembled(ptx, ptxas) if ptxas else ""
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error)[:1500]}"
            if problem:
                failed += 1
                print(f"{name}, {kernel}({', '.join(args)}): {problem}")
    print(f"{count - failed} of {count} kernels compile{', and ptxas takes them' if ptxas else ''}")
    return failed


def assembled(ptx: str, ptxas: str) -> str:
    """What ``ptxas`` says against a text; '' if it takes it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx)
        command = [ptxas, f"-arch=sm_{CC[0]}{CC[1]}", str(source), "-o", str(Path(folder) / "kernel.cubin")]
        done = subprocess.run(command, capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr


if __name__ == "__main__":
    if sys.argv[1:] == ["can"]:
        print(why_not())
        sys.exit(0)
    sys.exit(min(compile_all(json.load(sys.stdin)), 100))
