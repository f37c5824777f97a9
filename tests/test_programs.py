"""Every program of the corpus: values, dtypes, shapes, exceptions, changed arguments, gradients."""

from __future__ import annotations

import copy
import importlib
import inspect
import pkgutil
from collections.abc import Callable

import numpy as np
import programs
import pytest
from harness import (
    calls,
    compare,
    derived,
    differentiable_results,
    float_arguments,
    interpreted,
    leaves_of,
    numeric_gradient,
    outcome,
    version_of,
)

import srcgraph as sg
from srcgraph.codegen.cpu import generate
from srcgraph.ir.interp import interpret
from srcgraph.runtime.load import load


def corpus() -> list[Callable]:
    found = []
    for info in pkgutil.iter_modules(programs.__path__):
        module = importlib.import_module(f"programs.{info.name}")
        found += [
            f for name, f in vars(module).items()
            if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_")
        ]  # fmt: skip
    return found


def label(function: Callable) -> str:
    return f"{function.__module__.split('.')[-1]}.{function.__name__}"


PROGRAMS = pytest.mark.parametrize("program", corpus(), ids=label)


@PROGRAMS
def test_value(program: Callable) -> None:
    """Compiled and interpreted give what Python gives, for several sizes and numbers of trips."""
    compiled = sg.api.compile(program)
    for args in calls(program):
        want = outcome(program, args)
        compare(interpreted(program, args), want, f"interp{args}")
        compare(outcome(compiled, args), want, f"compiled{args}")


@PROGRAMS
def test_gradient(program: Callable) -> None:
    """The gradient of every float result and changed array agrees with differences; twice the same."""
    tried = 0
    for args in calls(program):
        sizes = [np.size(a) for a in args if isinstance(a, np.ndarray)]
        if (sizes and 0 in sizes) or outcome(program, args).error is not None:
            continue
        version, _, hidden = version_of(program, args, distinct=True)
        argnums = tuple(float_arguments(version))
        if not argnums or not differentiable_results(version):
            continue
        tried += 1
        check_gradient(program, args, version, argnums, hidden)
    if not tried:
        pytest.skip("the program has no float input or no float result")


def check_gradient(program: Callable, args: tuple, version, argnums: tuple[int, ...], hidden) -> None:
    gradient = derived(version, argnums)
    leaves = leaves_of(args, hidden)
    generated = generate(gradient.graph, gradient.interface, name="gradient")
    run, _ = load(generated.text.text, "gradient")
    before = copy.deepcopy(leaves)
    got = as_list(run(*leaves), len(gradient.interface.returned))
    again = as_list(run(*leaves), len(gradient.interface.returned))
    reference = interpret(gradient.graph, leaves)
    np.testing.assert_equal(leaves, before, err_msg="the gradient changed its arguments")
    want = [pair for k in argnums for pair in numeric_gradient(program, args, k, version)]
    for j, (grad, error) in enumerate(want):
        np.testing.assert_equal(again[j], got[j], err_msg="a second call gave something else")
        single = np.asarray(reference[j]).dtype == np.float32 or any(getattr(v, "dtype", 0) == np.float32 for v in leaves)
        loose = 2e-4 if single else 1e-10
        np.testing.assert_allclose(got[j], reference[j], rtol=loose, atol=loose / 100, err_msg="compiled against interp")
        assert np.shape(got[j]) == np.shape(grad)
        off = np.abs(np.asarray(got[j], float) - grad)
        scale = 2e-3 * (1 + np.abs(grad)) if single else 0.0
        assert np.all(off <= error + 1e-9 * (1 + np.abs(grad)) + scale), (
            f"{args}: gradient {j} is {got[j]}, differences give {grad} within {error}\n{generated.text.text}"
        )


def as_list(outs, count: int) -> list:
    return [outs] if count == 1 else list(outs)
