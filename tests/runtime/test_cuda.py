"""The CUDA target: in numba's simulator its results are those of the CPU target; where a toolkit is, it is compiled.

The simulator has to be switched on before numba is imported, so all of this runs in processes of its own:
`cuda_checks.py` and `cuda_ptx.py`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cuda_programs as programs
import numpy as np
import pytest

import srcgraph as sg
from srcgraph.codegen.cuda import HOST
from srcgraph.codegen.spelling import DEVICE
from srcgraph.errors import ArgumentError

TESTS = Path(__file__).parent.parent
X, M = np.linspace(0.2, 1.5, 9), np.linspace(0.2, 1.5, 12).reshape(4, 3)


def run(*command: str, given: str = "", simulated: bool = True) -> subprocess.CompletedProcess[str]:
    """A script of this folder, with the simulator or without."""
    own = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    known = {**own, "NUMBA_ENABLE_CUDASIM": "1"} if simulated else own
    path = os.pathsep.join([str(TESTS.parent), str(TESTS), known.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *command], cwd=TESTS, env={**known, "PYTHONPATH": path}, input=given, text=True,
        capture_output=True, timeout=280,
    )  # fmt: skip


@pytest.mark.timeout(300)
@pytest.mark.parametrize("group", ["values", "gradients", "dtypes", "sizes", "refused", "others"])
def test_in_the_simulator(group: str) -> None:
    """What a group of programs gives is what the CPU target and Python give."""
    done = run("cuda_checks.py", group)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    found = re.search(r"(\d+) of (\d+) checks hold\n$", done.stdout)
    assert found and found[1] == found[2] and int(found[1]) >= 6


@pytest.mark.timeout(300)
def test_kernels_are_compiled_to_ptx() -> None:
    """Where libNVVM is; numba's own CUDA target finds it in an installed toolkit, numba-cuda in wheels too.

    Those of every fourth program; all with ``SRCGRAPH_PTX=all``.
    """
    why = run("cuda_ptx.py", "can", simulated=False).stdout.strip()
    if why:
        pytest.skip(f'nothing compiles to PTX here ({why}): pip install "srcgraph[cuda]"')
    texts = run("cuda_checks.py", "texts")
    assert texts.returncode == 0, texts.stderr
    given = json.loads(texts.stdout)
    if os.environ.get("SRCGRAPH_PTX") != "all":
        given = dict(list(given.items())[::4])
    done = run("cuda_ptx.py", given=json.dumps(given), simulated=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_targets_are_named() -> None:
    with pytest.raises(ValueError, match=r"target must be 'cpu' or 'cuda', not 'coda'\nhint: did you mean 'cuda'"):
        sg.compile(programs.softmax, target="coda")
    with pytest.raises(ValueError, match="not 3"):
        sg.compile(programs.softmax, target=3)  # type: ignore[arg-type]


def test_a_target_is_kept_by_what_is_made_of_a_function() -> None:
    fast = sg.compile(programs.logsumexp, target="cuda")
    assert "@cuda.jit" in fast.python(X)
    for made in (sg.grad(fast), sg.compile(sg.grad(programs.logsumexp), target="cuda")):
        assert "@cuda.jit" in made.python(X)
    assert "@njit" in sg.compile(fast, target="cpu").python(X) and "@cuda.jit" in sg.compile(fast).python(X)
    assert "@njit" in sg.compile(programs.logsumexp).python(X)


def test_inspect_shows_the_text() -> None:
    seen = sg.inspect(sg.compile(programs.softmax, target="cuda"), M)
    assert "m_max_2_kernel[over(n, team)](" in seen.cuda and seen.cpu == ""
    assert 'target="cuda"' in repr(seen) and "@cuda.jit" in repr(seen)
    assert "m_max_2_kernel" in seen._repr_html_()
    on_cpu = sg.inspect(programs.softmax, M)
    assert on_cpu.cuda == "" and "@njit" in on_cpu.cpu


def test_without_a_gpu_the_error_says_what_to_do() -> None:
    """A text can be made and looked at without; only calls need a GPU."""
    code = """
import numpy as np, srcgraph as sg, cuda_programs as programs
from numba import cuda
f = sg.compile(programs.softmax, target="cuda")
assert "@cuda.jit" in f.python(np.ones((2, 3)))
try:
    f(np.ones((2, 3)))
except TypeError as error:
    assert not cuda.is_available()
    assert 'pip install "srcgraph[cuda]"' in str(error) and "NUMBA_ENABLE_CUDASIM=1" in str(error)
else:
    assert cuda.is_available()
"""
    done = run("-c", code, simulated=False)
    assert done.returncode == 0, done.stderr


def test_the_cuda_target_is_imported_only_where_it_is_asked_for() -> None:
    code = """
import sys, numpy as np, srcgraph as sg, cuda_programs as programs
sg.grad(programs.logsumexp)(np.ones(3))
assert not [m for m in sys.modules if m.startswith(("numba.cuda", "numba_cuda", "srcgraph.runtime.gpu"))]
"""
    done = run("-c", code, simulated=False)
    assert done.returncode == 0, done.stderr


def test_the_names_that_texts_use_are_there() -> None:
    code = f"from srcgraph.runtime import gpu\nassert not [n for n in {sorted(HOST | DEVICE)!r} if not hasattr(gpu, n)]"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr


def test_arrays_without_axes_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="'a' is an array without axes"):
        sg.compile(programs.chain, target="cuda").python(X, X, np.array(2.0))


def test_other_options_go_along() -> None:
    made = sg.compile(programs.chain, target="cuda", error_model="numpy")
    assert (made.options.target, made.options.error_model) == ("cuda", "numpy")
    with pytest.raises(ArgumentError):
        sg.compile(programs.chain, target="cuda", error_model="none")


GOLDEN = TESTS / "golden"
SHOWN = {
    "cuda_heat": (programs.heat, (X, 0.2, 3)),
    "cuda_cross_entropy": (programs.cross_entropy, (M, M + 1.0)),
    "cuda_over_axes": (programs.over_axes, (M,)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_golden_texts(name: str, update_golden: bool) -> None:
    """The texts of some modules, and of their gradients, as people read them."""
    function, args = SHOWN[name]
    fast = sg.compile(function, target="cuda")
    parts = [fast.python(*args)] + ([] if name == "cuda_over_axes" else [sg.grad(fast).python(*args)])
    text = "\n\n".join(parts)
    file = GOLDEN / f"{name}.txt"
    if update_golden:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


def named_like_our_own(over, cuda, parts, math, point, lost):
    striding = over * cuda + parts
    return np.sum(striding * math[:, None] + point) * lost


def test_names_of_the_users_are_kept_apart_from_ours() -> None:
    text = sg.compile(named_like_our_own, target="cuda").python(X, 2.0, X, X[:4], 1.0, 3.0)
    assert "[striding(m, n)](over_2" in text and "over_2" in text
    compile(text, "text", "exec")


def named_like_a_team(m, team, leads, team_sum_float32):
    t = np.sum(m, axis=1) * team
    team_sum = np.sum(m.astype(np.float32), axis=1) * team_sum_float32
    return t + leads, team_sum


def test_names_of_teams_are_kept_apart_from_the_users() -> None:
    text = sg.compile(named_like_a_team, target="cuda").python(M, 2.0, 1.0, 3.0)
    assert "def team_sum_2(" in text or "def team_sum_3(" in text
    compile(text, "text", "exec")
    made = {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
    assert made.isdisjoint(("team", "leads", "team_sum", "team_sum_float32"))


def test_explain_knows_of_no_machine_code() -> None:
    seen = sg.explain(sg.compile(programs.softmax, target="cuda"), M)
    assert "writing" in repr(seen.stages)
    for part in ("llvm", "asm"):
        with pytest.raises(ArgumentError, match="softmax is compiled for CUDA"):
            getattr(seen, part)
