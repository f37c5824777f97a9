"""Options of the test run, and what holds in all of it."""

import functools
import gc
import os
from collections.abc import Iterator

import pytest

from srcgraph.opt.passes import run_passes
from srcgraph.runtime import specialization

os.environ.setdefault("SRCGRAPH_CACHE", "0")  # what a test compiles is compiled in it; tests of the cache switch it on
gc.set_threshold(50_000, 20, 100)  # the compiler makes many objects that live long


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with what is produced now")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--update-golden")


@pytest.fixture(scope="session", autouse=True)
def verified_passes() -> Iterator[None]:
    """Whatever a test compiles is verified after every pass."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(specialization, "run_passes", functools.partial(run_passes, check=True))
        yield
