"""What users' functions became, run by engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcgraph.runtime.engines.registry import Engine
from srcgraph.runtime.transforms import Version


def run_by(engine: Engine, version: Version) -> Callable[..., Any]:
    """A version run by an engine: it stores into arguments, and returns, what generated code does."""
    run = engine.compile(version.program)
    interface = version.interface

    def call(*leaves: Any) -> Any:
        results = run(leaves)
        for position, k in interface.changed.items():
            leaves[position][...] = results[k]
        returned = tuple(results[k] for k in interface.returned)
        return returned[0] if len(returned) == 1 else returned

    return call
