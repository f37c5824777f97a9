"""What users' functions became, run by engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcgraph.runtime.engines.registry import Engine
from srcgraph.runtime.transforms import Version


def run_by(engine: Engine, version: Version) -> Callable[..., Any]:
    """A version run by an engine: it stores into arguments, and returns, what generated code does."""
    run = engine.compile(version.program)
    interface = version.interface

    def call(*leaves: Any) -> Any:
        results = run(leaves)
        changed = [leaves[position] for position in interface.changed]
        contents = {k: apart(results[k], changed) for k in interface.changed.values()}
        returned = tuple(
            results[k] if k in contents else apart(results[k], changed) for k in interface.returned
        )  # what an argument is in the end may be returned as it is
        for position, k in interface.changed.items():
            leaves[position][...] = contents[k]
        return returned[0] if len(returned) == 1 else returned

    return call


def apart(value: Any, changed: Sequence[np.ndarray]) -> Any:
    """A result that is in the memory of arguments which are stored into afterwards is copied."""
    shares = isinstance(value, np.ndarray) and any(np.may_share_memory(value, x) for x in changed)
    return value.copy() if shares else value
