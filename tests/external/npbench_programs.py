"""The NumPy programs of spcl/npbench, at small sizes."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judging import Case

VARIABLE = "SRCGRAPH_NPBENCH"
TITLE = "spcl/npbench"

SMALL = (5, 6, 4, 7, 3, 8)
"""What whole numbers among the parameters become, in order: different, so that no two sizes are equal by chance."""

CHOSEN: dict[str, list[dict[str, Any]]] = {
    "arc_distance": [{"N": 40}],
    "azimint_hist": [{"N": 60, "npt": 7}],
    "azimint_naive": [{"N": 60, "npt": 4}],
    "channel_flow": [{"ny": 8, "nx": 7, "nit": 3}],
    "cavity_flow": [{"ny": 8, "nx": 7, "nt": 3, "nit": 3}],
    "contour_integral": [
        {"NR": 4, "NM": 5, "slab_per_bc": 2, "num_int_pts": 3},
        {"NR": 4, "NM": 4, "slab_per_bc": 2, "num_int_pts": 3},
    ],
    "conv2d": [{"N": 2, "C_in": 3, "C_out": 2, "K": 2, "H": 5, "W": 6}],
    "crc16": [{"N": 20}],
    "deriche": [{"W": 6, "H": 5}],
    "go_fast": [{"N": 6}],
    "gramschmidt": [{"M": 7, "N": 5}],
    "heat_3d": [{"TSTEPS": 3, "N": 6}],
    "hdiff": [{"I": 4, "J": 5, "K": 3}],
    "lenet": [{"N": 2, "H": 16, "W": 16}],
    "mandelbrot1": [{"XN": 6, "YN": 5, "maxiter": 8}],
    "mandelbrot2": [{"XN": 6, "YN": 5, "maxiter": 8}],
    "mlp": [{"C_in": 3, "N": 4, "S0": 6, "S1": 5, "S2": 7}],
    "nbody": [{"N": 5, "tEnd": 0.2}],
    "nussinov": [{"N": 8}],
    "resnet": [{"N": 2, "W": 5, "H": 6, "C1": 4, "C2": 3}],
    "scattering_self_energies": [{"NA": 3, "NB": 2, "NE": 3, "Norb": 3}],
    "spmv": [{"M": 8, "N": 7, "nnz": 16}],
    "stockham_fft": [{"R": 2, "K": 3}],
    "vadv": [{"I": 3, "J": 4, "K": 5}],
}


def cases(place: Path) -> Iterator[Case]:
    """One per description in ``bench_info``."""
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
    for file in sorted((place / "bench_info").glob("*.json")):
        info = json.loads(file.read_text())["benchmark"]
        folder = "npbench.benchmarks." + info["relative_path"].replace("/", ".")
        function = getattr(importlib.import_module(f"{folder}.{info['module_name']}_numpy"), info["func_name"])
        chosen = CHOSEN.get(info["module_name"]) or [_smaller(info)]
        calls = [_arguments(info, folder, parameters) for parameters in chosen]
        changed = tuple(k for k, n in enumerate(info["input_args"]) if n in info["output_args"])
        yield Case(info["module_name"], function, calls, changed=changed)


def _smaller(info: dict[str, Any]) -> dict[str, Any]:
    sizes = iter(SMALL)
    return {
        name: (3 if name.startswith("T") else next(sizes)) if isinstance(value, int) else value
        for name, value in info["parameters"]["S"].items()
    }


def _arguments(info: dict[str, Any], folder: str, chosen: dict[str, Any]) -> tuple[Any, ...]:
    known = {**info["parameters"]["S"], **chosen}
    if "init" in info:
        module = importlib.import_module(f"{folder}.{info['module_name']}")
        made = getattr(module, info["init"]["func_name"])(*(known[n] for n in info["init"]["input_args"]))
        names = info["init"]["output_args"]
        known.update(zip(names, made if len(names) > 1 else (made,), strict=True))
    return tuple(known[n] for n in info["input_args"])
