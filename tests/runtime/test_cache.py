"""Compiled code on disk: found by other processes, never wrong, never trusted too much."""

import gc
import importlib.util
import itertools
import json
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import time
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import srcgraph as sg
from srcgraph.__main__ import main
from srcgraph.runtime.cache import commands, environment, folder, native, sizes
from srcgraph.runtime.cache.files import Entry
from srcgraph.runtime.cache.lookup import Call
from srcgraph.runtime.cache.statistics import STATISTICS

HERE = Path(__file__).parent
POISON = """
import srcgraph.frontend.source, srcgraph.frontend.session, srcgraph.frontend.specialize
import srcgraph.runtime.specialization as s, srcgraph.runtime.api as api, numba.core.compiler as c
def refuse(*args, **kwargs): raise AssertionError("not from disk")
for where, name in [(srcgraph.frontend.source, "_parsed"), (s, "lower_entry"), (s, "generate"), (s, "run_passes"),
                    (api, "specialize"), (c, "compile_extra")]:
    setattr(where, name, refuse)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the test's own, and counts from zero."""
    monkeypatch.setenv("SRCGRAPH_CACHE", "1")
    monkeypatch.setenv("SRCGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    forget()
    for name in [n for n, m in sys.modules.items() if str(tmp_path) in str(getattr(m, "__file__", ""))]:
        del sys.modules[name]


def forget() -> None:
    """As if the process had begun."""
    folder._FOLDERS.clear()
    folder._WARNED.clear()
    sizes._written.clear()
    STATISTICS.__init__()
    for name in [n for n in sys.modules if n.startswith("srcgraph_generated_")]:
        del sys.modules[name]


def process(code: str, *args: str, check: bool = True, **more: str) -> subprocess.CompletedProcess:
    root = str(Path(sg.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(HERE)]), **more}
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, env=env, timeout=100)
    assert not check or done.returncode == 0, done.stderr
    return done


_COUNT = itertools.count()


def module(path: Path, text: str) -> types.ModuleType:
    """A module of that text, imported anew."""
    path.write_text(text)
    os.utime(path, (next(_COUNT), next(_COUNT)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(made)
    finally:
        sys.dont_write_bytecode = before
    return made


def counts() -> tuple[int, int]:
    return STATISTICS.hits, STATISTICS.misses


def was(run: Callable[[], Any]) -> tuple[str, Any]:
    """Whether a call in a process that has just begun was a hit, and what it gave."""
    forget()
    result = run()
    return ("hit" if counts() == (1, 0) else "miss" if counts() == (0, 1) else str(counts())), result


def one_entry(place: Path) -> Entry:
    file = next(place.glob("v*/*/*.entry.json"))
    found = folder.folder()
    assert found is not None
    return Entry(found, file.parent.name, file.name.removesuffix(".entry.json"))


def square(x):
    return x * x


# -- another process -------------------------------------------------------------------------------------


def test_a_second_process_compiles_nothing() -> None:
    """Nothing is parsed, lowered, rewritten, generated or compiled; results, errors and lines are the same."""
    run = "import json, sys, cache_programs as p, srcgraph as sg\nfound = p.results()\n"
    run += "s = sg.cache.info().process\nprint('\\n' + json.dumps([found, s.compiled, s.misses]))"
    cold, warm = (process(text).stdout for text in (run, POISON + run))
    first, second = (json.loads(text.splitlines()[-1]) for text in (cold, warm))
    assert first[0] == second[0]
    assert first[1:] != [0, 0] and second[1:] == [0, 0]
    assert cold.startswith("x is 1.0\nx is 3.0") and warm.startswith("x is 1.0\nx is 3.0")
    assert "cache_programs.py:108:46" in second[0]["zero"]
    assert sg.cache.verify() == []


def test_source_given_as_text() -> None:
    code = "import srcgraph as sg\ntext = 'def f(x):\\n    return 1.0 / x'\nexec(text)\n"
    code += "f = sg.compile(f, source=text)\nprint(f(2.0), sg.cache.info().process.hits)\n"
    code += "try: f(0.0)\nexcept ZeroDivisionError as e: print(e.__notes__[0].splitlines()[1])"
    cold, warm = process(code).stdout, process(code).stdout
    assert cold.split("\n")[0] == "0.5 0" and warm.split("\n")[0] == "0.5 1"
    assert cold.split("\n")[1:] == warm.split("\n")[1:] and "return 1.0 / x" in warm


FORKS = """
import os, srcgraph as sg
def cubed(x):
    y = 1.0
    for _ in range(3):
        y *= x + y
    return y
def main():
    read, write = os.pipe()
    for k in range(16):
        if os.fork() == 0:
            found = sg.grad(cubed)(2.0)
            s = sg.cache.info().process
            os.write(write, f"{found} {s.misses} {s.compiled}\\n".encode())
            os._exit(0)
    for k in range(16):
        os.wait()
    print(os.read(read, 10000).decode(), end="")
"""


def test_sixteen_processes_at_once(place: Path) -> None:
    """One compiles, the others wait for it."""
    (place.parent / "forks.py").write_text(FORKS)
    out = process(f"import sys; sys.path.insert(0, {str(place.parent)!r}); import forks; forks.main()").stdout
    rows = [tuple(map(float, r.split())) for r in out.splitlines()]
    assert {r[0] for r in rows} == {sg.grad(cubed, cache=False)(2.0)} and len(rows) == 16
    assert (sum(r[1] for r in rows), sum(r[2] for r in rows)) == (1, 1)
    assert len(list(place.glob("v*/*/*.entry.json"))) == 1 and sg.cache.verify() == []


def cubed(x):
    y = 1.0
    for _ in range(3):
        y *= x + y
    return y


SPAWN = """
import multiprocessing, srcgraph as sg
@sg.compile
def f(x):
    return x * x + 1.0
def work(x):
    return f(x), sg.cache.info().process.compiled
if __name__ == "__main__":
    print(work(2.0))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [3.0]), pool.map(f, [1.0]))
"""


def test_workers_that_are_spawned(place: Path) -> None:
    """The script's functions are those of the script that was started, pickled too."""
    (place.parent / "spawn.py").write_text(SPAWN)
    path = str(Path(sg.__file__).parent.parent)
    run = subprocess.run(
        [sys.executable, "spawn.py"], cwd=place.parent, env={**os.environ, "PYTHONPATH": path}, capture_output=True
    )
    assert run.stdout.decode() == "(5.0, 1)\n[(10.0, 0)] [2.0]\n", run.stderr


def test_a_killed_process_holds_no_one_up(place: Path) -> None:
    """One that is killed while it compiles leaves nothing that is read, and no lock."""
    file = place.parent / "slow.py"
    text = "import srcgraph as sg\ndef f(x):\n    return x * x + 1.0\n"
    file.write_text(text)
    slow = f"import sys; sys.path.insert(0, {str(place.parent)!r}); import slow, time, srcgraph as sg\n"
    hang = "import numba.core.compiler as c\ndef hang(*a, **k):\n    print('here', flush=True); time.sleep(60)\n"
    hang += "c.compile_extra = hang\nimport numba.core.dispatcher as d\nd.compiler.compile_extra = hang\n"
    env = {**os.environ, "PYTHONPATH": str(Path(sg.__file__).parent.parent)}
    code = [sys.executable, "-c", slow + hang + "sg.compile(slow.f)(2.0)"]
    with subprocess.Popen(code, stdout=subprocess.PIPE, env=env) as killed:
        assert killed.stdout is not None and killed.stdout.readline() == b"here\n"
        killed.send_signal(signal.SIGKILL)
    began = time.perf_counter()
    assert process(slow + "print(sg.compile(slow.f)(2.0))").stdout == "5.0\n"
    assert time.perf_counter() - began < 30.0


def test_forked_processes_make_different_symbols(place: Path) -> None:
    """Functions of one name compiled in two forks meet in one process."""
    parts = "import os, srcgraph as sg\nfrom forked import one, two\n"
    fork = parts + "for f in (one, two):\n    if os.fork() == 0:\n        f(1.5); os._exit(0)\n    os.wait()\n"
    (place.parent / "forked.py").write_text(
        "import srcgraph as sg, numpy as np\ndef made(g):\n    def f(x):\n"
        "        return g(np.array([[x, 1.0], [2.0, x]]))\n    return sg.compile(f)\n"
        "one = made(lambda a: np.sum(a @ a))\ntwo = made(lambda a: np.sum(np.linalg.solve(a, a)))\n"
    )
    path = f"import sys; sys.path.insert(0, {str(place.parent)!r})\n"
    process(path + fork)
    out = process(
        path + parts + "print(float(one(1.5)), round(float(two(1.5)), 9), sg.cache.info().process.compiled)"
    ).stdout
    assert out == f"{float(np.sum(np.array([[1.5, 1.0], [2.0, 1.5]]) @ np.array([[1.5, 1.0], [2.0, 1.5]])))} 2.0 0\n"


# -- what it was compiled from -----------------------------------------------------------------------------

MODEL = """
import dataclasses, numpy as np, srcgraph as sg, {helper} as h
AXIS = 0
@dataclasses.dataclass
class Law:
    k: float
    def force(self, x):
        return -self.k * x
def f(x):
    return np.sum(h.g(x), axis=AXIS) * h.SCALE + Law(2.0).force(1.0)
"""
HELPER = "SCALE = 2.0\ndef g(x, p=1.0):\n    return x + p\n"


@pytest.mark.parametrize(
    ("which", "old", "new"),
    [
        ("helper", "return x + p", "return x - p"),
        ("helper", "p=1.0", "p=7.0"),
        ("model", "AXIS = 0", "AXIS = 1"),
        ("model", "-self.k * x", "+self.k * x"),
        ("model", "h.g(x)", "h.g(2 * x)"),
        ("helper", "SCALE = 2.0", "SCALE = 2"),
    ],
)
def test_what_is_edited_is_compiled_again(tmp_path: Path, which: str, old: str, new: str) -> None:
    """A callee in another file, a default, a constant, a method; what was before is found again."""
    name = f"helper_{next(_COUNT)}"
    texts = {"model": MODEL.format(helper=name), "helper": HELPER}
    x = np.arange(4.0).reshape(2, 2)

    def run() -> tuple[str, Any]:
        module(tmp_path / f"{name}.py", texts["helper"])
        model = module(tmp_path / "model.py", texts["model"])
        how, found = was(lambda: sg.compile(model.f)(x))
        np.testing.assert_array_equal(found, model.f(x))
        return how, found

    assert run()[0] == "miss" and run()[0] == "hit"
    before = texts[which]
    texts[which] = before.replace(old, new)
    assert run()[0] == "miss"
    texts[which] = before
    assert run()[0] == "hit"


def test_what_means_something_else() -> None:
    """Whatever it is that makes the difference: one process after the other has what plain Python has."""
    changes = HERE / "cache_changes.py"
    found = []
    for version in ("1", "2", "1"):
        lines = process(f"import runpy; runpy.run_path({str(changes)!r}, run_name='__main__')", V=version).stderr
        rows, (compiled, reasons) = map(json.loads, lines.splitlines()[-2:])
        assert {k: v for k, v in rows.items() if v[0] and v[0] != v[1]} == {} and reasons == {}
        found.append((rows, compiled))
    assert found[0][1] > 15 and found[2][1] == 0
    assert all(hits for *_, hits in found[2][0].values())
    assert found[0][0]["rule"][1] == "1.5" and found[1][0]["rule"][1] == "15.0"
    same = {k for k, v in found[1][0].items() if v[2]}
    assert same == {"closure", "class attribute", "name"} & same  # their numbers are read at each call


def test_parts_of_globals_that_are_compiled_in(tmp_path: Path) -> None:
    """An axis in a tuple beside a number: the number is read at each call, the axis makes another version."""
    text = "import numpy as np\nC = {c}\ndef f(x):\n    return np.sum(x, axis=C[1]) * C[0]\n"
    x = np.arange(6.0).reshape(2, 3)
    for c, how in (((1.0, 0), "miss"), ((2.0, 0), "hit"), ((2.0, 1), "hit"), ((1.0, 0), "hit")):
        model = module(tmp_path / "parts.py", text.format(c=c))
        compiled = sg.compile(model.f)
        found = was(lambda: compiled(x).tolist())
        assert found == (how, model.f(x).tolist())
        model.C = (5.0, 1 - c[1])
        assert compiled(x).tolist() == model.f(x).tolist()


def test_globals_are_read_at_each_call(tmp_path: Path) -> None:
    """A number, an array, a function with its own number: new values are no reason to compile."""
    text = "K = {k}\nimport numpy as np\nT = np.arange({n}.0)\n"
    text += "def g(x):\n    return x * K\ndef f(x):\n    return g(x) + T.sum()\n"
    expected = [("miss", 2.0, 3), ("hit", 5.0, 7), ("miss", 5, 7)]
    for how, k, n in expected:
        model = module(tmp_path / "given.py", text.format(k=k, n=n))
        compiled = sg.compile(model.f)
        assert was(lambda: compiled(2.0)) == (how, model.f(2.0))
        model.K = 2 * model.K
        assert compiled(2.0) == model.f(2.0)


def test_rebinding_a_function(tmp_path: Path) -> None:
    text = "def a(x): return x + 1.0\ndef b(x): return x + 2.0\ng = {g}\ndef f(x):\n    return g(x)\n"
    for g, how in (("a", "miss"), ("b", "miss"), ("a", "hit"), ("b", "hit")):
        model = module(tmp_path / "rebound.py", text.format(g=g))
        assert was(lambda: sg.compile(model.f)(1.0)) == (how, model.f(1.0))


def test_functions_of_one_name_and_line(tmp_path: Path) -> None:
    """As in a notebook: two texts take turns."""
    for text, how in (("x + 1.0", "miss"), ("x + 2.0", "miss"), ("x + 1.0", "hit"), ("x + 2.0", "hit")):
        model = module(tmp_path / "cell.py", f"def f(x):\n    return {text}\n")
        assert was(lambda: sg.compile(model.f)(1.0)) == (how, model.f(1.0))


def test_closures(tmp_path: Path) -> None:
    """Numbers that are captured are read, functions compiled in."""
    text = "def made(k, g):\n    def f(x):\n        return g(x) * k\n    return f\n"
    text += "def a(x): return x\ndef b(x): return -x\n"
    m = module(tmp_path / "closures.py", text)
    for k, g, how in ((2.0, m.a, "miss"), (3.0, m.a, "hit"), (3.0, m.b, "miss"), (4, m.a, "miss")):
        f = m.made(k, g)
        assert was(lambda: sg.compile(f)(1.5)) == (how, f(1.5))


def test_the_same_code_in_another_place(tmp_path: Path) -> None:
    """A callee that shared the caller's globals, and one of the same code that has others."""
    callee = "K = 5.0\ndef g(x):\n    return x * K\n"
    one = module(tmp_path / "one.py", callee + "def f(x):\n    return g(x) + K\n")
    assert was(lambda: sg.compile(one.f)(1.0)) == ("miss", 10.0)
    other = module(tmp_path / "one_other.py", callee.replace("5.0", "7.0"))
    other.g.__module__ = "one"
    again = module(tmp_path / "one.py", callee + "def f(x):\n    return g(x) + K\n")
    again.g = other.g
    assert was(lambda: sg.compile(again.f)(1.0)) == ("miss", 12.0)


def test_an_argument_with_a_shared_variable() -> None:
    """Is not kept, and compiled as without a cache."""

    class Model:
        def __init__(self) -> None:
            self.w = sg.shared(3.0, "w")

        def cost(self, x):
            return self.w.value * x * x

    model = Model()
    assert sg.compile(model.cost)(2.0) == 12.0 and sg.grad(model.cost)(2.0) == 12.0
    assert STATISTICS.reasons["a SharedVariable is compiled in"] == 2 and STATISTICS.stored == 0


def test_options_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert was(lambda: sg.compile(square)(2.0)) == ("miss", 4.0)
    assert was(lambda: sg.compile(square, error_model="numpy")(2.0)) == ("miss", 4.0)
    assert was(lambda: sg.grad(square)(2.0)) == ("miss", 4.0)
    assert was(lambda: sg.grad(square, return_value=True)(2.0)) == ("miss", (4.0, 4.0))
    assert was(lambda: sg.compile(square)(np.float32(2.0))) == ("miss", np.float32(4.0))
    assert was(lambda: sg.compile(square)(2.0)) == ("hit", 4.0)
    for name, value in (("NUMBA_OPT", "1"), ("NUMBA_CPU_NAME", "generic")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            numba.config.reload_config()
            environment.environment.cache_clear()
            assert was(lambda: sg.compile(square)(2.0)) == ("miss", 4.0)
    numba.config.reload_config()
    environment.environment.cache_clear()
    assert was(lambda: sg.compile(square)(2.0)) == ("hit", 4.0)


def test_the_compiler_edited(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    before = environment.own_sources(tmp_path, time.time() + 1.0)
    (tmp_path / "a.py").write_text("x = 2")
    assert environment.own_sources(tmp_path, time.time() + 1.0) != before
    with pytest.raises(environment.EditedError):
        environment.own_sources(tmp_path, time.time() - 100.0)


def test_what_cannot_be_kept() -> None:
    """A transform that does not say what it is."""
    mine = sg.api.Compiled(square, (Nothing(),))
    assert mine(3.0) == 9.0 and counts() == (0, 0)
    assert any("Nothing" in why for why in sg.cache.info().process.reasons)


class Nothing:
    def __call__(self, version: Any) -> Any:
        return version


def test_switched_off(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sg.compile(square, cache=False)(2.0) == 4.0
    for made in (sg.grad, sg.value_and_grad, sg.vmap):
        assert not made(square, cache=False).options.cache
        assert not made(sg.compile(square, cache=False)).options.cache
    monkeypatch.setenv("SRCGRAPH_CACHE", "0")
    assert sg.grad(square)(2.0) == 4.0
    assert not place.exists() and counts() == (0, 0)


def test_a_version_from_disk_can_be_looked_at() -> None:
    forget()
    sg.grad(cubed)(2.0)
    first = repr(sg.inspect(sg.grad(cubed), 2.0))
    forget()
    derivative = sg.grad(cubed)
    derivative(2.0)
    assert counts() == (1, 0)
    assert repr(sg.inspect(derivative, 2.0)) == first and "tape" in first
    assert "mul" in str(derivative.graph(2.0)) and derivative.newest is not None and derivative.newest.report.records


def test_arguments_are_not_kept() -> None:
    """A version from disk does not hold on to what it was first called with."""
    sg.compile(total)(np.ones(3))
    forget()
    x = np.ones(3)
    alive = weakref.ref(x)
    compiled = sg.compile(total)
    compiled(x)
    assert counts() == (1, 0)
    del x
    gc.collect()
    assert alive() is None and str(compiled.newest.graph)  # type: ignore[union-attr]


def total(x):
    return np.sum(x * x)


# -- what is on disk is not what was written ---------------------------------------------------------------


def damaged(data: bytes) -> Iterator[bytes]:
    """Cut off, emptied, and with a bit changed here and there."""
    for size in (0, 1, len(data) // 2, len(data) - 1):
        yield data[:size]
    for at in range(0, len(data), max(1, len(data) // 60)):
        yield data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
    yield data + b"x"


def found_by(compiled: Any) -> bool:
    """Whether there is an entry for a call with one float."""
    store = compiled.cached.folder
    return Call(compiled.cached, store, ["x"], [3.0], False, compiled.specialized).find() is not None


def test_damaged_files_are_not_read(place: Path) -> None:
    """Every file of an entry: what is not whole is compiled again, and never run."""
    assert was(lambda: sg.compile(square)(3.0)) == ("miss", 9.0)
    entry = one_entry(place)
    files = {f.name: f for f in place.glob("v*/*/*") if f.suffix not in (".lock", ".hits")}
    assert len(files) == 4
    code = next(f for f in files if f.endswith(".nbc"))
    for name, file in files.items():
        whole = file.read_bytes()
        for data in damaged(whole):
            file.write_bytes(data)
            forget()
            if name.endswith((".entry.json", ".py")):
                assert not found_by(sg.compile(square))
            else:
                end = code.removeprefix(f"{entry.name}.").removesuffix(".nbc")
                note = entry.read(f"{end}.json")
                assert note is None or entry.read_bytes(f"{end}.nbc", note["sha256"]) is None
            assert sg.cache.verify()
        file.write_bytes(whole)
    assert sg.cache.verify() == [] and was(lambda: sg.compile(square)(3.0)) == ("hit", 9.0)
    files[code].write_bytes(b"")
    assert was(lambda: sg.compile(square)(3.0)) == ("hit", 9.0) and STATISTICS.compiled == 1


class Bomb:
    """Says so when it is unpickled."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('unpickled')",)


def test_a_planted_pickle_is_not_read(place: Path, tmp_path: Path) -> None:
    sg.compile(square)(3.0)
    code = next(place.glob("v*/*/*.nbc"))
    code.write_bytes(pickle.dumps(Bomb()))
    assert was(lambda: sg.compile(square)(4.0)) == ("hit", 16.0)
    bomb = tmp_path / "bomb"
    for file in [*place.glob("v*/*/*.nbc"), *place.glob("v*/*/*.json"), *place.glob("v*/*/*.py")]:
        whole = file.read_bytes()
        bomb.write_bytes(whole)  # right, but not where it should be
        file.unlink()
        file.symlink_to(bomb)
        forget()
        assert sg.compile(square)(5.0) == 25.0
        assert STATISTICS.misses + STATISTICS.compiled == 1 and not file.is_symlink()
        assert bomb.read_bytes() == whole and sg.cache.verify() == []


def test_an_entry_under_another_name(place: Path) -> None:
    """A whole entry of one function where that of another is looked for."""
    sg.compile(square)(3.0)
    files = [f for f in place.glob("v*/*/*") if f.suffix not in (".lock", ".hits")]
    sg.compile(cubed)(3.0)
    for other in [f for f in place.glob("v*/*/*.*") if f not in files and f.suffix not in (".lock", ".hits")]:
        end = other.name.split(".", 1)[1]
        other.write_bytes(
            next(
                f for f in files if f.name.endswith(end.split("-")[0].split(".")[-1]) or f.suffix == other.suffix
            ).read_bytes()
        )
    forget()
    assert sg.compile(cubed)(3.0) == cubed(3.0)


# -- whose folder it is --------------------------------------------------------------------------------------


def refused(place: Path) -> str:
    """Compiles without the cache, and says why, once."""
    forget()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert sg.compile(square)(3.0) == 9.0 and sg.grad(square)(3.0) == 6.0
    assert counts() == (0, 0) and [w.category for w in seen] == [sg.cache.CacheWarning]
    return str(seen[0].message)


def test_a_folder_that_others_may_use(place: Path, tmp_path: Path) -> None:
    place.mkdir(mode=0o700)
    place.chmod(0o750)
    assert "mode is 750" in refused(place)
    place.chmod(0o700)
    tmp_path.chmod(0o777)
    assert "others may write to" in refused(place)
    tmp_path.chmod(0o1777)
    assert was(lambda: sg.compile(square)(3.0))[0] == "miss"
    tmp_path.chmod(0o700)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) & 0o077 for p in place.rglob("*")} == {0}


def test_a_folder_that_is_a_link(place: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in refused(place)
    place.unlink()
    place.write_text("")
    assert "not a folder" in refused(place)


def test_an_inner_folder_that_is_a_link(place: Path, tmp_path: Path) -> None:
    sg.compile(square)(3.0)
    inner = next(place.glob("v*/??"))
    inner.rename(tmp_path / "moved")
    inner.symlink_to(tmp_path / "moved")
    forget()
    with pytest.warns(sg.cache.CacheWarning, match="symbolic link"):
        assert sg.compile(square)(3.0) == 9.0
    assert counts() == (0, 1)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_folder_of_another_user(place: Path, tmp_path: Path) -> None:
    sg.compile(square)(3.0)
    file = next(place.glob("v*/*/*.entry.json"))
    os.chown(file, 12345, -1)
    assert was(lambda: sg.compile(square)(3.0)) == ("miss", 9.0)
    os.chown(place, 12345, -1)
    assert "another user" in refused(place)
    os.chown(place, 0, -1)
    os.chown(tmp_path, 12345, -1)
    assert "another user" in refused(place)
    os.chown(tmp_path, 0, -1)


def test_a_full_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder.tempfile, "mkstemp", full)
    with pytest.warns(sg.cache.CacheWarning, match="No space left") as seen:
        assert sg.compile(square)(3.0) == 9.0 and sg.compile(cubed)(1.0) == cubed(1.0)
    assert len(seen) == 1 and not list(place.glob("v*/*/*.json"))


def test_no_place_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRCGRAPH_CACHE_DIR", "/proc/nowhere/srcgraph")
    assert "/proc" in refused(Path("/proc/nowhere"))


def test_a_lock_that_cannot_be_had(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that takes too long: both compile."""
    monkeypatch.setattr(folder.LOCKING, "patience", 0.05)
    compiled = sg.compile(square)
    store = compiled.cached.folder
    assert store is not None
    call = compiled.cached
    first = Call(call, store, ["x"], [2.0], False, compiled.specialized).first
    with folder.FileLock(store.inner(call.key, make=True) / f"{call.stem}{first}.lock"):
        assert compiled(2.0) == 4.0
    assert was(lambda: sg.compile(square)(2.0)) == ("hit", 4.0)


# -- how much is kept, and what users ask --------------------------------------------------------------------


def test_locks_can_be_switched_off_and_limited(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process holds the lock and never compiles; what is kept is whole all the same."""
    monkeypatch.setattr(folder, "LOCKING", folder.Locking())
    monkeypatch.setattr(commands, "LOCKING", folder.LOCKING)
    compiled = sg.compile(square)
    store = folder.Folder(place)
    first = Call(compiled.cached, store, ["x"], [2.0], False, compiled.specialized).first
    path = str(store.inner(compiled.cached.key, make=True) / f"{compiled.cached.stem}{first}.lock")
    hold = (
        "import filelock, sys, time\nlock = filelock.FileLock(sys.argv[1]); lock.acquire(); print('held', flush=True)\n"
    )
    code = [sys.executable, "-c", hold + "time.sleep(60)", path]
    with subprocess.Popen(code, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        try:
            for on, timeout, least in ((True, 1.5, 1.5), (False, 60.0, 0.0)):
                for file in place.glob("v*/*/*.entry.json"):
                    file.unlink()
                sg.cache.set_lock(on, timeout)
                began = time.perf_counter()
                assert was(lambda: sg.compile(square)(2.0)) == ("miss", 4.0)
                assert least <= time.perf_counter() - began < least + 20.0
        finally:
            holder.kill()
    assert sg.cache.verify() == [] and was(lambda: sg.compile(square)(2.0)) == ("hit", 4.0)
    with pytest.raises(sg.errors.ArgumentError, match="a number of seconds"):
        sg.cache.set_lock(True, -1.0)


def test_what_was_not_used_goes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [square, cubed, lambda x: x + 1.0]
    for k, f in enumerate(functions):
        sg.compile(f)(2.0)
        for file in place.glob("v*/*/*"):
            if file.stat().st_mtime > 1e6:
                os.utime(file, (k + 1, k + 1))
    forget()
    sg.compile(square)(2.0)  # now the newest
    total = sg.cache.info().bytes
    monkeypatch.setenv("SRCGRAPH_CACHE_SIZE", str(total - 1))
    sizes.trim(place / "v1", sizes.cap())
    left = [was(lambda: sg.compile(f)(2.0))[0] for f in (square, functions[2], cubed)]
    assert left == ["hit", "hit", "miss"]
    for text, size in (("2 MB", 2 * 10**6), ("1.5GiB", 3 << 29), ("100", 100), ("", 1 << 30)):
        monkeypatch.setenv("SRCGRAPH_CACHE_SIZE", text)
        assert sizes.cap() == size
    for text in ("abc", "-1", "1e400", "many MB"):
        monkeypatch.setenv("SRCGRAPH_CACHE_SIZE", text)
        forget()
        with pytest.warns(sg.cache.CacheWarning, match="keeps up to 1 GiB of compiled code on disk: SRCGRAPH_CACHE_SI"):
            assert sizes.cap() == 1 << 30
    monkeypatch.setenv("SRCGRAPH_CACHE_SIZE", "9" * 400)
    assert sizes.cap() == int("9" * 400)


def test_what_a_killed_process_left_goes(place: Path) -> None:
    sg.compile(square)(2.0)
    left = next(place.glob("v*/??")) / ".aside-1"
    left.write_bytes(b"half")
    os.utime(left, (1, 1))
    assert sg.cache.verify() == []
    sizes.trim(place / "v1", 1 << 30)
    assert not left.exists() and sg.cache.info().entries == 1


def test_commands(place: Path, capsys: pytest.CaptureFixture) -> None:
    def run(action: str) -> tuple[int, str]:
        return main(["cache", action]), capsys.readouterr().out

    assert run("path") == (0, f"{place}\n")
    assert run("info")[1].splitlines()[1] == "entries  0"
    sg.compile(square)(2.0)
    assert was(lambda: sg.compile(square)(2.0))[0] == "hit"
    code, text = run("info")
    assert code == 0 and "entries  1\n" in text and text.endswith("hits     1\n")
    assert run("verify") == (0, "1 entries, 0 problems\n")
    next(place.glob("v*/*/*.nbc")).write_bytes(b"")
    code, text = run("verify")
    assert code == 1 and ".nbc: missing or not what was written\n1 entries, 1 problems\n" in text
    assert run("clear") == (0, "1 entries removed\n") and run("info")[1].splitlines()[1] == "entries  0"
    assert sg.compile(square)(2.0) == 4.0 and sg.cache.info().entries == 1  # the folder is made again
    with pytest.raises(SystemExit) as left:
        main(["cache", "burn"])
    assert left.value.code == 2
    place.chmod(0o755)
    assert sg.cache.info().entries == 0 and "not trusted" in sg.cache.info().problem
    code, text = run("info")
    assert code == 1 and "problem  the folder is not trusted, so it is not used: others may use" in text
    assert run("path") == (0, f"{place}\n")
    for action in ("verify", "clear", "list", "stats", "purge"):
        assert main(["cache", action]) == 1 and "mode is 755" in capsys.readouterr().err


def test_what_is_kept_is_listed_and_purged(
    place: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries of another installation can never be found again; those of this one stay."""
    sg.compile(square)(2.0)
    with monkeypatch.context() as other:
        changed = "0" * 64
        for user in ("files", "lookup", "objects", "commands"):
            other.setattr(f"srcgraph.runtime.cache.{user}.environment", lambda: changed)
        forget()
        sg.compile(cubed)(2.0)
    was(lambda: sg.compile(square)(3.0))
    (place / "v0").mkdir()
    assert {e.function: (e.hits, e.reachable) for e in sg.cache.entries()} == {"square": (1, True), "cubed": (0, False)}
    assert main(["cache", "list"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"square +\d+ +1 +\d+ s +\d+ s\n", text) and re.search(r"cubed .* see purge\n", text)
    assert main(["cache", "stats"]) == 0 and "of use here  1, " in capsys.readouterr().out
    assert main(["cache", "purge"]) == 0 and capsys.readouterr().out.startswith("1 removed")
    assert [e.function for e in sg.cache.entries()] == ["square"] and not (place / "v0").exists()
    assert sg.cache.purge() == 0 and was(lambda: sg.compile(square)(2.0))[0] == "hit"


COMPILES_SLOWLY = """
import time, srcgraph as sg, cache_programs as p
import srcgraph.runtime.cache.lookup as lookup
make = lookup.Call.keep
def keep(self, made):
    print("compiling", flush=True)
    time.sleep(2.0)
    make(self, made)
lookup.Call.keep = keep
print(sg.compile(p.heat)(p.np.ones(5), 0.1, 2))
"""


def test_cleared_while_another_process_compiles(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, and what it writes goes too; if that takes too long the command says so."""
    root = str(Path(sg.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(HERE)])}
    sg.compile(square)(2.0)
    other = subprocess.Popen([sys.executable, "-c", COMPILES_SLOWLY], stdout=subprocess.PIPE, text=True, env=env)
    assert other.stdout is not None and other.stdout.readline() == "compiling\n"
    monkeypatch.setattr(folder.LOCKING, "patience", 0.1)
    assert main(["cache", "clear"]) == 1 and sg.cache.info().entries == 0
    monkeypatch.setattr(folder.LOCKING, "patience", 60.0)
    sg.cache.clear()
    assert sg.cache.info().entries == 0
    assert other.communicate(timeout=60)[0] and other.returncode == 0
    assert sg.cache.verify() == []


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_stands_where_a_file_should_be(place: Path, kind: str) -> None:
    """Whatever is found under the name of any file is a miss, and does no harm."""
    solve = lambda a, b: np.linalg.solve(a, b)  # noqa: E731
    run = lambda: sg.compile(solve)(np.eye(2) * 2.0, np.ones(2)).tolist()  # noqa: E731
    assert run() == [0.5, 0.5]
    for file in [f for f in place.glob("v*/*/*") if f.suffix != ".lock"]:
        file.unlink(missing_ok=True)
        if kind == "folder":
            (file / "inner").mkdir(parents=True)
        else:
            os.mkfifo(file, 0o600)
        assert was(run)[1] == [0.5, 0.5]
    sg.cache.verify()
    sg.cache.clear()
    assert not list(place.glob("v*/*/*"))


def test_cleared_while_it_is_used(place: Path) -> None:
    """The folder goes between what is written of one entry."""
    compiled = sg.compile(square)
    version, _ = compiled.version([2.0])
    sg.cache.clear()
    assert compiled(2.0) == 4.0 and version.entry is not None
    forget()
    assert sg.compile(square)(2.0) == 4.0 and sg.cache.info().entries == 1


def test_symbols_that_are_not_there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that calls a function which this process does not have is compiled again, not run."""
    solve = lambda a, b: np.linalg.solve(a, b)  # noqa: E731
    a, b = np.eye(2) * 2.0, np.ones(2)
    sg.compile(solve)(a, b)
    monkeypatch.setattr(native.llvm, "address_of_symbol", lambda name: None)
    forget()
    assert sg.compile(solve)(a, b).tolist() == [0.5, 0.5]
    assert STATISTICS.hits == 1 and STATISTICS.compiled == 1
