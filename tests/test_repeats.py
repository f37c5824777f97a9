"""Large functions: runs that they repeat are written once, the rest is divided, and all is as in one piece."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.codegen.outline import natural, outlined
from srcgraph.codegen.repeats import written_once

LAYERS = 14


def module(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A network whose layers are written one below the other; its first layer is in line 4."""
    weights = ", ".join(f"w{k}, b{k}" for k in range(LAYERS))
    layers = "".join(f"    h = np.tanh(w{k} @ h + b{k})\n" for k in range(LAYERS))
    text = f"import numpy as np\ndef f(x, {weights}):\n    h = x\n{layers}    return h.sum()\n"
    return module(tmp_path_factory.mktemp("network") / "network.py", text).f


def layers(n: int = 5) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(5)
    weights = [rng.normal(size=(n, n) if k % 2 == 0 else n) / 2 for k in range(2 * LAYERS)]
    return rng.normal(size=n), weights


def test_layers_are_one_kernel(network: Any) -> None:
    x, weights = layers()
    gradient = sg.grad(network, argnums=tuple(range(1, 2 * LAYERS + 1)))
    text = sg.inspect(gradient, x, *weights).cpu
    assert text.count("np.tanh") <= 2 and text.count("for i in") <= 12
    assert text.count("f_grad_h(") > LAYERS - 2
    for got, expected in zip(gradient(x, *weights), backward(x, weights), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)


def backward(x: np.ndarray, weights: list[np.ndarray]) -> list[np.ndarray]:
    """The gradient by hand."""
    states = [x]
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        states.append(np.tanh(w @ states[-1] + b))
    found: list[np.ndarray] = []
    down = np.ones_like(x)
    for w, before, after in zip(weights[::2][::-1], states[-2::-1], states[:0:-1], strict=True):
        down = down * (1 - after * after)
        found = [np.outer(down, before), down, *found]
        down = w.T @ down
    return found


@pytest.mark.parametrize("layer", [0, 7, LAYERS - 1])
def test_errors_name_their_own_line(network: Any, layer: int) -> None:
    x, weights = layers()
    weights[2 * layer + 1] = np.ones(3)
    with pytest.raises(ValueError) as caught:
        sg.grad(network, argnums=(1,))(x, *weights)
    assert f"network.py:{4 + layer}" in caught.value.__notes__[0]


def divided(text: str, params: str, marked: frozenset[str] = frozenset()) -> dict[str, str]:
    """The functions that the statements become, by name."""
    function = ast.parse(f"@njit\ndef f({params}):\n    pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = ast.parse(text).body
    parts = [p for once in written_once(function, marked) for p in outlined(once, {})]
    return {p.name: ast.unparse(p) for p in parts}


def run(functions: dict[str, str], *args: Any) -> Any:
    names: dict[str, Any] = {"njit": lambda f: f, "np": np}
    exec("\n\n".join(functions.values()), names)
    return names["f"](*args)


STEP = """
for i in range({x}.shape[0]):
    {x}[i] = {x}[i] * {c} + {y}[i]
s = 0.0
for i in range({x}.shape[0]):
    s += {x}[i]
{t} = s * {c}
"""


def test_names_that_go_together() -> None:
    """Runs are equal where their variables are, one for one."""
    text = "".join(STEP.format(x="a" if k % 2 else "b", y="b" if k % 2 else "a", c=2.0, t=f"t{k}") for k in range(30))
    text += "return " + " + ".join(f"t{k}" for k in range(30))
    functions = divided(text, "a, b")
    assert len(functions) < 8 and sum(map(len, functions.values())) < len(text) / 2
    a, b = np.ones(4), np.arange(4.0)
    expected = run({"f": ast.unparse(ast.parse("def f(a, b):\n" + text.replace("\n", "\n    ")))}, a.copy(), b.copy())
    assert run(functions, a, b) == expected


def test_other_numbers_are_other_kernels() -> None:
    text = "".join(STEP.format(x="a", y="b", c=float(k), t=f"t{k}") for k in range(30))
    assert set(divided(text + "return t29", "a, b")) == {"f_s", "f"}  # the sum has no number in it


def test_marked_variables_are_other_variables() -> None:
    text = "".join(STEP.format(x=f"a{k}", y="b", c=2.0, t=f"t{k}") for k in range(24)) + "return t0"
    params = ", ".join(f"a{k}" for k in range(24)) + ", b"
    plain = divided(text, params)
    marked = divided(text, params, frozenset(f"a{k}" for k in range(0, 24, 5)))
    assert len(plain) < len(marked)


def test_what_may_leave_is_not_moved() -> None:
    step = "for i in range(x.shape[0]):\n    if x[i] < {k}:\n        raise ValueError({k})\n    x[i] += 1.0\n"
    functions = divided("".join(step.format(k=0) for _ in range(40)) + "return x", "x")
    assert set(functions) == {"f"}


def test_arguments_in_the_order_of_numbers() -> None:
    assert sorted(["b10", "b2", "b", "a1"], key=natural) == ["a1", "b", "b2", "b10"]
