"""The page of what is supported of NumPy is current, and counts what the project promises."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

DOCS = Path(__file__).parents[1] / "docs"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_page", DOCS / "numpy_names.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    __import__("sys").modules["coverage_page"] = module
    spec.loader.exec_module(module)
    return module


def test_page_is_current() -> None:
    committed = (DOCS / "numpy_coverage.md").read_text()
    if f"NumPy {np.__version__.rpartition('.')[0]}." not in committed:
        pytest.skip("the page is about another version of NumPy")
    assert script().page() == committed, "run python docs/numpy_names.py"


def test_at_least_three_hundred_names() -> None:
    found = re.search(r"(\d+) names are supported", script().page())
    assert found is not None and int(found[1]) >= 300
