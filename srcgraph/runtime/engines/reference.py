"""The reference interpreter as an engine."""

from __future__ import annotations

from functools import partial

from srcgraph.ir.graph import Program
from srcgraph.ir.interp import interpret
from srcgraph.runtime.engines.registry import Run


class Interp:
    """Runs node by node with NumPy: what other engines are compared with."""

    name = "interp"

    def compile(self, program: Program) -> Run:
        return partial(interpret, program)
