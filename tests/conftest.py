"""Options of the test run, and what holds in all of it."""

import functools
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from numba.core.compiler import CompilerBase

from srcgraph.opt.passes import run_passes
from srcgraph.runtime import specialization

gc.set_threshold(50_000, 20, 100)  # the compiler makes many objects that live long


FOLDER = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """What a test compiles is compiled in it, but for the helpers, once per run; tests of the cache switch it on."""
    if "SRCGRAPH_CACHE" not in os.environ:
        config.stash[FOLDER] = tempfile.mkdtemp()
        os.environ |= {"SRCGRAPH_CACHE": "kernels", "SRCGRAPH_CACHE_DIR": config.stash[FOLDER]}


def pytest_unconfigure(config: pytest.Config) -> None:
    """The helpers go when the run ends."""
    shutil.rmtree(config.stash.get(FOLDER, ""), ignore_errors=True)


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


@pytest.fixture(scope="session", autouse=True)
def compiled_texts() -> Iterator[None]:
    """numba compiles nothing of its own for texts, which a message of an array that does not fit would have it do."""
    usual, found = CompilerBase._compile_core, list[str]()

    def compile_core(compiler: CompilerBase) -> object:
        if compiler.state.func_id.modname == "numba.cpython.unicode":
            found.append(f"{compiler.state.func_id.func_name} in {os.environ.get('PYTEST_CURRENT_TEST')}")
        return usual(compiler)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompilerBase, "_compile_core", compile_core)
        yield
    assert not found, sorted({f.split(" in ")[1] for f in found})
