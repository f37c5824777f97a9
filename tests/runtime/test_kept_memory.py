"""Memory of large arrays is kept for the next ones; what arrays are, and what programs give, does not depend on it."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import srcgraph as sg
from srcgraph.runtime import arrays
from srcgraph.runtime.pool import STATE, SUPPORTED
from srcgraph.runtime.pool_code import HUGE, PLACES

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="memory cannot be mapped here")
N = 300_000
"""Elements of a large array."""
RNG = np.random.default_rng(0)
X = RNG.random(N)


def affine(x):
    return 2.0 * x + 1.0


def standardised(x):
    t = np.exp(x)
    u = t - t.mean()
    return u / np.sqrt((u * u).mean())


def energy(x):
    y = standardised(x)
    for _ in range(3):
        y = np.sin(y) * y.max() - y[::-1]
    return (y * y).sum()


def parts(n):
    out = np.zeros((3, n))
    out[1] += 1.0
    return out, np.ones(n, np.float32), np.full(n, 7), np.zeros(n, bool), out.T.copy()


def fails(x):
    y = np.exp(x)
    z = y - y.sum()
    return z[int(z[0]) + 10 * len(z)]


def rows(x, n):
    kept = []
    for k in range(n):
        kept.append(x * (k + 1.0))
    return kept[n // 2]


f, g, h, p, r, e = (sg.compile(made) for made in (affine, standardised, energy, parts, rows, fails))
d = sg.grad(energy)


@njit(error_model="numpy")
def new(n):
    return arrays.empty(n)


@njit(error_model="numpy")
def cleared(n):
    return arrays.zeros(n)


@pytest.fixture(autouse=True)
def as_at_first() -> Iterator[None]:
    """Nothing is kept before a test, and what it sets does not last."""
    new(0)
    before = sg.memory.limit()
    sg.memory.release()
    yield
    STATE.lock, STATE.perturb = 0, -1
    sg.memory.limit(before)


def at(x: np.ndarray) -> int:
    return x.ctypes.data


# -- what is kept ------------------------------------------------------------------------------------------


def test_a_result_that_is_dropped_is_the_next_ones_memory() -> None:
    first = f(X)
    where = at(first)
    del first
    assert sg.memory.held() > X.nbytes
    for _ in range(3):
        again = f(X)
        assert at(again) == where
        np.testing.assert_array_equal(again, affine(X))
        del again


def test_what_somebody_has_is_not_taken() -> None:
    first = f(X)
    view = first[10:20]
    del first
    other = f(X + 1.0)
    np.testing.assert_array_equal(view, affine(X[10:20]))
    assert at(other) != at(view) - 80


def test_temporaries_and_tapes_are_kept() -> None:
    before = sg.memory.used()
    out = d(X)
    assert sg.memory.used() - before == pytest.approx(X.nbytes, rel=0.3)
    held = sg.memory.held()
    assert held > X.nbytes
    del out
    for _ in range(3):
        out = d(X)
        del out
    assert sg.memory.used() == before and sg.memory.held() <= 2 * held


def test_small_arrays_are_not_among_it() -> None:
    before = sg.memory.used()
    out = f(X[:1000])
    assert sg.memory.used() == before and len(out) == 1000
    del out
    assert sg.memory.held() == 0


def test_a_block_that_is_much_too_large_is_not_taken() -> None:
    large, small = new(10 * N), None
    where = at(large)
    del large
    small = new(N)
    assert not where <= at(small) < where + 80 * N
    assert sg.memory.held() > 80 * N


def test_the_smallest_that_is_large_enough_is_taken() -> None:
    sizes = [N + 80_000, N + 10_000, N + 40_000]
    made = {at(a): len(a) for a in [new(n) for n in sizes]}
    assert len(made) == 3
    assert made[at(new(N))] == N + 10_000


def test_release_and_used() -> None:
    out = f(X)
    temporary = f(X)
    del temporary
    assert sg.memory.held() and sg.memory.used() > X.nbytes
    sg.memory.release()
    assert sg.memory.held() == 0
    np.testing.assert_array_equal(out, affine(X))


# -- how much ----------------------------------------------------------------------------------------------


def test_no_more_than_the_limit_is_kept() -> None:
    block = 4 << 20
    assert sg.memory.limit(3 * block + 100) == 3 * block + 100
    made = [new(block // 8 - 100) for _ in range(5)]
    while made:
        made.pop()
        assert sg.memory.held() <= 3 * block + 100
    assert sg.memory.held() == 3 * block
    sg.memory.limit(2 * block)
    assert sg.memory.held() == 2 * block
    sg.memory.limit(0)
    a = new(N)
    del a
    assert sg.memory.held() == 0 == sg.memory.limit()


def test_what_was_kept_for_longest_goes_first() -> None:
    made = {n: new(n) for n in (N, 3 * N, 2 * N)}
    where = {n: at(made.pop(n)) for n in (3 * N, N, 2 * N)}
    sg.memory.limit(sg.memory.held() - 1)
    assert at(new(2 * N)) == where[2 * N] and at(new(N)) == where[N]
    assert sg.memory.held() < 5 * N * 8


def test_no_more_blocks_than_there_are_places() -> None:
    made = [new(80_000) for _ in range(PLACES + 20)]
    made.clear()
    assert STATE.count == PLACES


@pytest.mark.parametrize("most", [-1, 1.5, "1 GB", True, 2**63])
def test_a_limit_is_a_number_of_bytes(most: Any) -> None:
    with pytest.raises(sg.errors.ArgumentError, match="limit takes a number of bytes"):
        sg.memory.limit(most)


@pytest.mark.parametrize(("given", "limit"), [("500 MB", 500 * 10**6), ("0", 0), ("2 GiB", 2**31), ("99999 TiB", None)])
def test_the_environment_sets_the_limit(given: str, limit: int | None) -> None:
    found = printed("import srcgraph as sg; print(sg.memory.limit())", SRCGRAPH_MEMORY_SIZE=given)
    assert int(found) == (limit if limit is not None else 99999 * 2**40)


def test_an_environment_that_is_wrong_is_told_of() -> None:
    text = "import warnings; warnings.simplefilter('error')\nimport srcgraph"
    with pytest.raises(AssertionError, match="SRCGRAPH_MEMORY_SIZE='much' is no amount of memory"):
        printed(text, SRCGRAPH_MEMORY_SIZE="much")


# -- what arrays are ---------------------------------------------------------------------------------------


def test_an_array_is_as_numba_makes_it() -> None:
    @njit
    def plain(x):
        return x + 1.0

    ours, numbas = f(X), plain(X)
    assert type(ours.base) is type(numbas.base)
    for flag in ("OWNDATA", "WRITEABLE", "ALIGNED", "C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEBACKIFCOPY"):
        assert ours.flags[flag] == numbas.flags[flag], flag
    assert at(ours) % 64 == 0
    for array in (ours, numbas):
        with pytest.raises(ValueError, match="cannot resize this array: it does not own its data"):
            array.resize(2 * N)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)), affine(X))
    assert np.asarray(ours) is ours and np.ctypeslib.as_ctypes(ours)[3] == ours[3]
    assert memoryview(ours).nbytes == X.nbytes
    ours += 1.0
    ours.sort()


def test_contents_of_all_kinds() -> None:
    for _ in range(3):  # the second time in memory that is full of other numbers
        for got, want in zip(p(N), parts(N), strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype and got.shape == want.shape
        dirty = [new(n) for n in (N // 8, N // 2, N, 3 * N, 3 * N)]
        for a in dirty:
            a.fill(np.nan)
        del dirty, a, got


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(), (2, 0, 3), (700, 5, 300)])
def test_dtypes_and_shapes(dtype: str, shape: Any) -> None:
    kind = np.dtype(dtype).type

    @njit
    def made(shape):
        a = arrays.empty(shape, kind)
        a[...] = 1
        return a, arrays.zeros(shape, kind), arrays.ones(shape, kind), arrays.full(shape, 1, kind), arrays.copy(a)

    for a, value in zip(made(shape), (1, 0, 1, 1, 1), strict=True):
        want = np.full(shape, value, dtype)
        np.testing.assert_array_equal(a, want)
        assert a.dtype == want.dtype and a.shape == want.shape and (a.strides == want.strides or not a.size)


def test_cleared_memory_is_zero_whether_new_or_not() -> None:
    for n in (10, N, 10 * N, N):
        for _ in range(3):
            a = cleared(n)
            assert not a.any()
            a.fill(np.nan)
            del a


@pytest.mark.parametrize("layout", ["C", "F", "A"])
def test_copies_of_all_layouts(layout: str) -> None:
    @njit
    def copied(x):
        return arrays.copy(x)

    @njit
    def like(x):
        return arrays.empty_like(x)

    x = RNG.random((600, 500))
    x = {"C": x, "F": x.T, "A": x[::2, ::-1]}[layout]
    np.testing.assert_array_equal(copied(x), x)
    assert copied(x).strides == x.copy().strides
    assert like(x).strides == njit(lambda x: np.empty_like(x))(x).strides


@pytest.mark.parametrize(
    ("n", "kind"), [(-1, ValueError), (2**62, ValueError), (2**59, MemoryError), (2**46, MemoryError)]
)
def test_what_cannot_be_made(n: int, kind: type[Exception]) -> None:
    for make in (new, cleared):
        with pytest.raises(kind):
            make(n)
    assert sg.memory.used() == 0 or sg.memory.used() < 2**30
    assert len(new(N)) == N


def test_no_memory_in_a_compiled_function() -> None:
    """What is kept is given back before there is none."""
    text = """
import resource
import numpy as np
import srcgraph as sg
import made_for_memory
f = sg.compile(made_for_memory.ones_of)
f(10**6)
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 700 * 2**20,) * 2)
for n in (10**7, 2 * 10**7, 4 * 10**7, 6 * 10**7, 8 * 10**7):
    assert len(f(n)) == n  # fits only if the one before is gone
try:
    f(10**9)
except MemoryError:
    print("none")
"""
    assert printed(text, made_for_memory="def ones_of(n):\n    return np.ones(n)\n") == "none"


# -- threads, processes, ends ------------------------------------------------------------------------------


def test_threads() -> None:
    wrong: list[int] = []
    start = threading.Barrier(8)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        start.wait()
        held: list[tuple[np.ndarray, float]] = []
        for _ in range(60):
            x = np.full(int(rng.integers(1, 5 * N)), rng.random())
            held.append((f(x), 2.0 * x[0] + 1.0))
            if len(held) > 3 or rng.random() < 0.5:
                out, value = held.pop(int(rng.integers(len(held))))
                if not (out == value).all():
                    wrong.append(len(out))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and STATE.lock == 0
    assert sg.memory.held() == sum(STATE.sizes[: STATE.count]) <= sg.memory.limit()


def test_threads_that_run_at_once() -> None:
    """Without Python's lock several take memory and give it back at the same time."""

    @njit(nogil=True)
    def churn(seed, rounds):
        bad = 0
        first = second = arrays.empty(1, np.int64)
        for k in range(rounds):
            seed = (seed * 1103515245 + 12345) % 2**31
            n = 65_536 + seed % 200_000
            new, clear = arrays.empty(n, np.int64), arrays.zeros(n, np.int64)
            for i in range(0, n, 512):
                new[i] = k
                bad += clear[i] != 0
                clear[i] = -1
            for i in range(0, n, 512):
                bad += new[i] != k
            if k > 1:
                bad += first[0] != k - 2 or second[512] != k - 1
            first, second = second, new
        return bad

    churn(0, 3)
    found: list[int] = []
    threads = [threading.Thread(target=lambda k=k: found.append(churn(k, 300))) for k in range(8)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        sg.memory.release()
        sg.memory.limit(sg.memory.limit() // 2 + (8 << 20))
    for t in threads:
        t.join()
    assert found == [0] * 8 and STATE.lock == 0 and sg.memory.held() == sum(STATE.sizes[: STATE.count])


def test_without_the_lock_nothing_is_kept() -> None:
    a = f(X)
    STATE.lock = 1
    del a
    assert sg.memory.held() == 0
    np.testing.assert_array_equal(f(X), affine(X))
    sg.memory.release()
    STATE.lock = 0
    b = f(X)
    del b
    assert sg.memory.held() > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("locked", [False, True])
def test_fork(locked: bool) -> None:
    a, b = f(X), f(X)
    del b
    held = sg.memory.held()
    STATE.lock = int(locked)
    child = os.fork()
    if child == 0:  # what fails here ends with another status
        status = 1
        try:
            assert sg.memory.held() == 0
            np.testing.assert_array_equal(a, affine(X))
            for _ in range(3):
                np.testing.assert_array_equal(f(X), affine(X))
            assert sg.memory.held() > 0
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    STATE.lock = 0
    assert sg.memory.held() == held


def test_arrays_outlive_functions() -> None:
    made = sg.compile(lambda x: x + 3.0, cache=False)
    out = made(X)
    del made
    gc.collect()
    np.testing.assert_array_equal(out, X + 3.0)
    del out
    assert sg.memory.held() > X.nbytes


def test_lists_of_arrays() -> None:
    assert njit(lambda: arrays.copy([1.0, 2.0]))() == [1.0, 2.0]
    for _ in range(3):
        np.testing.assert_array_equal(r(X, 4), X * 3.0)
    assert sg.memory.held() > 4 * X.nbytes


def test_exceptions() -> None:
    """A function that raises gives back what it has."""
    before = sg.memory.used()
    for _ in range(3):
        with pytest.raises(IndexError):
            e(X)
        assert sg.memory.used() == before and sg.memory.held() > X.nbytes
        np.testing.assert_allclose(g(X), standardised(X), rtol=1e-6)


def test_at_the_end_of_the_process() -> None:
    text = """
import atexit, builtins, sys
import numpy as np
import srcgraph as sg
import made_for_memory
f = sg.compile(made_for_memory.twice)
class Late:
    def __init__(self): self.array = f(np.ones(10**6))
    def __del__(self): self.array = None
kept = [f(np.ones(10**6)) for _ in range(5)]
builtins.late, sys.late, late = Late(), Late(), Late()
sys.modules["late"] = Late()
cycle = [Late()]; cycle.append(cycle)
atexit.register(lambda: f(np.ones(10**6)))
print("done")
"""
    assert printed(text, made_for_memory="def twice(x):\n    return x * 2.0\n") == "done"


def test_a_process_that_finds_code_on_disk(tmp_path: Path) -> None:
    text = """
import numpy as np
import srcgraph as sg
import made_for_memory
from srcgraph.runtime.cache.statistics import STATISTICS
f = sg.compile(made_for_memory.product)
x = np.ones((600, 600))
a = f(x); p = a.ctypes.data; del a
print(STATISTICS.compiled, f(x).ctypes.data == p, sg.memory.held() > 0)
"""
    own = {"SRCGRAPH_CACHE": "1", "SRCGRAPH_CACHE_DIR": str(tmp_path / "cache")}
    source = "def product(x):\n    return x @ x\n"
    found = [printed(text, made_for_memory=source, folder=tmp_path, **own) for _ in range(2)]
    assert found == ["1 True True", "0 True True"]


# -- nothing is read that was not written ------------------------------------------------------------------


@pytest.mark.parametrize("byte", [0xFF, 0xA5, 0x01])
def test_memory_full_of_rubbish(byte: int) -> None:
    """As under ``MALLOC_PERTURB_``: new arrays, and what was given back, are full of something."""
    calls = [(f, (X,)), (g, (X,)), (h, (X,)), (d, (X,)), (p, (N,))]
    STATE.perturb = -1
    want = [call(*args) for call, args in calls]
    STATE.perturb = byte
    a = new(N)
    assert (a.view(np.uint8) == byte ^ 0xFF).all()
    del a
    for _ in range(3):
        for (call, args), expected in zip(calls, want, strict=True):
            for got, one in zip(*((v if isinstance(v, tuple) else (v,)) for v in (call(*args), expected)), strict=True):
                np.testing.assert_array_equal(got, one)
            del got


def test_glibcs_variable_is_heeded() -> None:
    text = """
import numpy as np
import srcgraph as sg
from numba import njit
from srcgraph.runtime import arrays
new = njit(lambda n: arrays.empty(n, np.uint8))
print(set(new(10**6)))
"""
    assert "90" in printed(text, MALLOC_PERTURB_="165")


def test_blocks_of_whole_pages() -> None:
    for n in (80_000, N, 2**20, 10**7):
        a = new(n)
        size = int.from_bytes(ctypes.string_at(at(a) - 56, 8), sys.byteorder) & ~1
        assert a.nbytes + 64 <= size <= a.nbytes * 9 / 8 + (64 << 10) + 64
        assert size % (64 << 10) == 0 and (size < HUGE or (at(a) - 64) % HUGE == 0)


def printed(text: str, folder: Path | None = None, made_for_memory: str = "", **env: str) -> str:
    """What another process prints."""
    with tempfile.TemporaryDirectory() as own:
        where = str(folder or own)
        (Path(where) / "made_for_memory.py").write_text(f"import numpy as np\n\n\n{made_for_memory}")
        path = os.pathsep.join((where, str(Path(sg.__file__).parent.parent)))
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path, **env}
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
