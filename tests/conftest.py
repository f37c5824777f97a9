"""Options of the test run, and what holds in all of it."""

import functools
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from numba.core.compiler import CompilerBase
from plainly import load_plainly, natively

from srcgraph.opt.passes import run_passes
from srcgraph.runtime import specialization

gc.set_threshold(50_000, 20, 100)  # the compiler makes many objects that live long


FOLDER = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """What a test compiles is compiled in it, but for the helpers, once per run; tests of the cache switch it on."""
    config.addinivalue_line("filterwarnings", "error::srcgraph.opt.RewriteWarning")  # ours come to an end
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


@pytest.fixture(autouse=True)
def some_plainly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes do shows in the text: seven of eight of their tests run it as plain Python, as of those so marked."""
    plainly = request.path.parent.name == "opt" or "plainly" in request.keywords
    if plainly and "native" not in request.keywords and not natively(request.node.nodeid, share=8):
        monkeypatch.setattr(specialization, "load", load_plainly)


@pytest.fixture(scope="session", autouse=True)
def compiled_texts() -> Iterator[None]:
    """Generated code and helpers have numba compile nothing of its own for texts.

    A message of lengths that differ would, where an array is assigned to a part of another.
    """
    usual, outer, found = CompilerBase._compile_core, [""], set[str]()

    def compile_core(compiler: CompilerBase) -> object:
        module = compiler.state.func_id.modname
        if module == "numba.cpython.unicode" and outer[-1].startswith("srcgraph"):
            found.add(os.environ.get("PYTEST_CURRENT_TEST", ""))
        outer.append(outer[-1] if module.startswith("numba.") else module)
        try:
            return usual(compiler)
        finally:
            outer.pop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompilerBase, "_compile_core", compile_core)
        yield
    assert not found, sorted(found)
