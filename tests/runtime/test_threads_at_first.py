"""Several threads call a compiled function for the first time."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import srcgraph as sg


def smooth(x):
    return np.log(1.0 + np.exp(x)).sum()


@pytest.mark.parametrize("make", [sg.compile, sg.grad], ids=lambda f: f.__name__)
def test_first_call(make: Any) -> None:
    for size in range(3):
        compiled, x, found = make(smooth, cache=False), np.linspace(0.0, 1.0, 3 + size), []
        start = threading.Barrier(6)

        def work(compiled: Any = compiled, x: Any = x, found: list[Any] = found, start: Any = start) -> None:
            start.wait()
            found.append(compiled(x))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(found) == 6
        for other in found:
            np.testing.assert_array_equal(other, found[0])
