"""The suite's own cases, see `cases`: each peer's program for them, and for their gradients."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import by_pythran
import numpy as np
from cases import CASES
from cases.record import ROUNDING, Case
from measure import Absent, Program, folder_for_now

import srcgraph as sg

PEERS = ("python", "srcgraph", "exact", "hand", "jax", "torch", "torch.compile", "autograd", "numexpr", "pythran")
REFERENCE = {"value": "python", "gradient": "hand"}
SIZES = ("full", "small")
TOLERANCE = 1e-7


def names() -> list[str]:
    return list(CASES)


def asks(name: str) -> tuple[str, ...]:
    """What there is to be measured of a case."""
    return ("value", "gradient") if CASES[name].argnums else ("value",)


def program(name: str, what: str, peer: str, size: str) -> Program:
    """One case, or its gradient, by one peer."""
    case = CASES[name]
    given = case.arguments(size == "small")
    derived = what == "gradient"
    match peer:
        case "python":
            return plain(python_program(case, derived), given)
        case "srcgraph" | "exact":
            fastmath = ROUNDING if peer == "srcgraph" else False
            if derived:
                function = case.loss or case.plain
                return plain(lambda: sg.grad(function, argnums=argnums(case), fastmath=fastmath), given)
            return plain(lambda: sg.compile(case.plain, fastmath=fastmath), given)
        case "hand":
            return plain(lambda: hand_program(case, derived), given)
    if peer in case.refused:
        raise Absent(case.refused[peer])
    if peer not in case.peers:
        raise Absent("not written")
    if peer == "pythran":
        return plain(functools.partial(with_pythran, case, derived), given)
    try:
        library = importlib.import_module(peer.partition(".")[0])
    except ImportError:
        raise Absent(f"{peer} is not installed") from None
    function = case.peers[peer](library)
    value, loss = function if isinstance(function, tuple) else (function, function)
    made = {"jax": with_jax, "autograd": with_autograd, "numexpr": with_numexpr}.get(peer, with_torch)
    return made(library, case, given, loss if derived else value, derived, peer)


def argnums(case: Case) -> Any:
    """As a user would write it: a number for one."""
    return case.argnums[0] if len(case.argnums) == 1 else case.argnums


def parts(result: Any, _: Any = None) -> list[np.ndarray]:
    """A result, or a tuple of them, as a list of arrays."""
    several = isinstance(result, (tuple, list))
    return [np.asarray(x) for x in (result if several else (result,))]


def plain(prepare: Callable[[], Callable], given: tuple[Any, ...]) -> Program:
    return Program(prepare, given, parts)


def python_program(case: Case, derived: bool) -> Callable[[], Callable]:
    function = case.python_gradient if derived else case.plain
    if function is None:
        raise Absent("no derivatives")
    return lambda: function


def hand_program(case: Case, derived: bool) -> Callable:
    function = case.hand_gradient if derived else case.hand
    if function is None:
        raise Absent("not written")
    return function


def with_pythran(case: Case, derived: bool) -> Callable:
    if derived:
        raise Absent("no derivatives")
    text = f"import math\nimport numpy as np\n\n# pythran export {case.peers['pythran']}\n"
    place = folder_for_now() / f"by_pythran_{case.plain.__name__}.py"
    place.write_text(text + inspect.getsource(case.plain))
    return getattr(by_pythran.built(place), case.plain.__name__)


def total(function: Callable, add: Callable) -> Callable:
    return lambda *given: add(function(*given))


def with_jax(jax: Any, case: Case, given: tuple[Any, ...], function: Callable, derived: bool, _: str) -> Program:
    jax.config.update("jax_enable_x64", True)
    fixed = tuple(k for k, a in enumerate(given) if isinstance(a, int))
    if derived:
        function = jax.grad(total(function, jax.numpy.sum), case.argnums)
    arguments = tuple(jax.numpy.array(a) if isinstance(a, np.ndarray) else a for a in given)
    return Program(lambda: jax.jit(function, static_argnums=fixed), arguments, parts, jax.block_until_ready)


def with_autograd(
    autograd: ModuleType, case: Case, given: tuple[Any, ...], function: Callable, derived: bool, _: str
) -> Program:
    if derived:
        function = autograd.grad(total(function, autograd.numpy.sum), case.argnums)
    return plain(lambda: function, given)


def with_numexpr(_: Any, case: Case, given: tuple[Any, ...], function: Callable, derived: bool, peer: str) -> Program:
    if derived:
        raise Absent("no derivatives")
    return plain(lambda: function, given)


def with_torch(torch: Any, case: Case, given: tuple[Any, ...], function: Callable, derived: bool, peer: str) -> Program:
    """As it is, or by torch.compile."""

    def tensor(k: int, a: Any) -> Any:
        if isinstance(a, np.ndarray):
            return torch.tensor(a)
        return torch.tensor(a, dtype=torch.float64) if k in case.argnums else a

    def prepare() -> Callable:
        made = torch.compile(function, dynamic=False) if peer == "torch.compile" else function
        return slope(made) if derived else made

    def slope(made: Callable) -> Callable:
        def gradient(*arguments: Any) -> Any:
            full = list(arguments)
            for k in case.argnums:
                full[k] = torch.as_tensor(full[k], dtype=torch.float64).detach().requires_grad_()
            return torch.autograd.grad(made(*full).sum(), [full[k] for k in case.argnums])

        return gradient

    arguments = tuple(tensor(k, a) for k, a in enumerate(given))
    return Program(prepare, arguments, lambda r, _: [x.detach().numpy() for x in (r if derived else (r,))])
