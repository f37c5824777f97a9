"""What becomes of one program."""

from __future__ import annotations

import ast
import linecache
import math
import re
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import calls
from judging import Case, Verdict, judge_gradients, judge_values, limited
from outcomes import RTOL

LIMIT = 60
BAD = ("wrong", "defect")
SIZES = (5, 1, 2, 0)
SINGLE = 1e-6
"""How far results may be apart with float32, whose arithmetic with a number asks whether that is Python's."""


@dataclass(frozen=True)
class Fate:
    """What became of a program: the verdicts on its values and on its gradient."""

    forward: Verdict
    gradient: Verdict

    @property
    def fault(self) -> str:
        """What kind of fault was found, '' for none; of two programs with equal faults one may be a smaller other."""
        for way, verdict in (("value", self.forward), ("gradient", self.gradient)):
            if verdict.kind in BAD:
                return f"{way} {verdict.kind}: {general(verdict.reason)}"
        return ""


def general(reason: str) -> str:
    """A reason without what is particular to a program: its names and numbers."""
    if reason.startswith("Python raises"):
        return reason.partition("(")[0]
    for sign in ("slope", "result", "argument after"):
        if reason.startswith(sign):
            return sign
    return re.sub(r"'[^']*'|\d+|\b0x[0-9a-f]+", "_", reason)[:60]


def load(text: str, name: str = "program") -> Callable:
    """The function ``f`` of a text, whose source can be found."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = sys.modules[name] = types.ModuleType(name)  # where dataclasses look for their annotations
    scope = vars(module)
    scope.update(np=np, math=math)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of what shrinking makes
        exec(compile(text, file, "exec"), scope)
    return scope["f"]


def check(
    text: str,
    plainly: bool = True,
    gradient: bool = True,
    sizes: tuple[int, ...] = SIZES,
    limit: int = LIMIT,
    states: int | None = None,
) -> Fate:
    """Judge a program on the calls of these sizes that its parameters' names stand for, in so many seconds each way.

    With ``states`` its gradient stores so many of each loop.
    """
    f = load(text)
    arguments = [args for args in calls(f) if _size(args) in (None, *sizes)]
    rtol = SINGLE if re.search("float32|af|xf", text) else RTOL
    case = Case("program", f, arguments, joined=True, instead=all_numpys(text), rtol=rtol)
    forward = limited(limit, lambda: judge_values(case, plainly, hasty=True))
    if not gradient or forward.kind in (*BAD, "refused"):
        return Fate(forward, Verdict())
    few = [a for a in arguments if 0 not in map(np.size, a)][1:3]
    return Fate(forward, limited(limit, lambda: judge_gradients(Case("program", f, few, rtol=rtol), plainly, states)))


def all_numpys(text: str) -> Callable:
    """The function with NumPy's floats where it has Python's: what a number is that is one or the other by its path."""
    f = load(ast.unparse(_NumPys().visit(ast.parse(text))), "numpys")

    def call(*args: Any) -> Any:
        return f(*(np.float64(a) if type(a) is float else a for a in args))

    return call


class _NumPys(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self.made(node) if isinstance(node.value, float) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return self.made(node) if ast.unparse(node.func).startswith(("math.", "float")) else node

    def made(self, node: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(ast.Name("np", ast.Load()), "float64", ast.Load()), [node], [])


def _size(args: tuple[Any, ...]) -> int | None:
    """The size of the vectors, the first of them for matrices."""
    return next((x.shape[-1] if x.ndim == 1 else len(x) for x in args if isinstance(x, np.ndarray)), None)
