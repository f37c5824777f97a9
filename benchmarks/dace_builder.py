"""Build the gradient of a program with DaCe, in the environment that has it: python dace_builder.py FILE FOLDER

The file has `total`, a DaCe program that gives a number, and `WANTED`, the arguments by which it is differentiated.
Each way to optimise the gradient that DaCe can build becomes a folder with the name of the way, for `by_dace` to load;
what the first error was is written to the folder's file `failed`.
"""

from __future__ import annotations

import copy
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dace
import scipy_openblas32
from dace.autodiff import add_backward_pass
from dace.libraries.blas.environments import OpenBLAS
from dace.sdfg import propagation
from dace.transformation.auto.auto_optimize import auto_optimize, set_fast_implementations
from dace.transformation.dataflow import MapCollapse, MapFusion
from dace.transformation.interstate import LoopToMap

CPU = dace.DeviceType.CPU
BLAS = ("gemm", "gemv", "ger", "axpy", "dot", "dotc_sub", "dotu_sub", "scal", "syrk", "trsm")
LAPACK = ("getrf", "getrs", "getri", "potrf")


def use_openblas() -> None:
    """Let DaCe call the OpenBLAS that comes from PyPI, whose functions have a prefix."""
    place = Path(scipy_openblas32.get_lib_dir())
    names = [f"cblas_{kind}{name}" for kind in "sdcz" for name in BLAS]
    names += [f"LAPACKE_{kind}{name}" for kind in "sdcz" for name in LAPACK]
    OpenBLAS.cmake_packages, OpenBLAS.cmake_variables = [], {}
    OpenBLAS.cmake_includes = [scipy_openblas32.get_include_dir()]
    OpenBLAS.cmake_compile_flags = [f"-D{name}=scipy_{name}" for name in names]
    OpenBLAS.cmake_link_flags = [f"-Wl,-rpath,{place}"]
    OpenBLAS.cmake_libraries = staticmethod(lambda: [str(place / "libscipy_openblas.so")])


# -- ways to optimise, those of NPBench ------------------------------------------------------------


def simplified(sdfg: dace.SDFG) -> None:
    set_fast_implementations(sdfg, CPU)


def parallel(sdfg: dace.SDFG) -> None:
    """Maps fused, and made of loops."""
    sdfg.apply_transformations_repeated([MapFusion])
    sdfg.simplify()
    for part in sdfg.all_sdfgs_recursive():
        propagation.propagate_states(part)
    while sdfg.apply_transformations_repeated([LoopToMap, MapCollapse]):
        sdfg.simplify()
    sdfg.apply_transformations_repeated([MapFusion])
    set_fast_implementations(sdfg, CPU)


def automatic(sdfg: dace.SDFG) -> None:
    """What DaCe chooses; but arrays live for a call only, else cotangents start from those of the call before."""
    auto_optimize(sdfg, CPU)
    for _, _, array in sdfg.arrays_recursive():
        if array.lifetime == dace.AllocationLifetime.Persistent:
            array.lifetime = dace.AllocationLifetime.Scope


WAYS: dict[str, Callable[[dace.SDFG], None]] = {
    "simplified": simplified,
    "parallel": parallel,
    "automatic": automatic,
}


# -- building --------------------------------------------------------------------------------------


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def differentiated(path: Path) -> dace.SDFG:
    module = loaded(path)
    sdfg = module.total.to_sdfg(simplify=True)
    add_backward_pass(sdfg, inputs=module.WANTED, outputs=["__return"])
    return sdfg


def compile_in(sdfg: dace.SDFG, way: str, folder: Path) -> None:
    """Compile what a way makes of a gradient; its folder is there only once all of it is."""
    sdfg = copy.deepcopy(sdfg)
    sdfg.name = f"{sdfg.name}_{way}"
    sdfg.build_folder = str(folder / f"{way}.unfinished")
    WAYS[way](sdfg)
    sdfg.compile()
    (folder / f"{way}.unfinished").rename(folder / way)


def main(path: Path, folder: Path) -> None:
    use_openblas()
    problems = []
    try:
        sdfg = differentiated(path)
        for way in WAYS:
            try:
                compile_in(sdfg, way, folder)
            except Exception as error:
                problems.append(error)
    except Exception as error:
        problems.append(error)
    if problems:
        first = next(iter(str(problems[0]).splitlines()), "")
        (folder / "failed").write_text(f"{type(problems[0]).__name__}: {first}"[:300])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
