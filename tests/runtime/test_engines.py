"""Every engine gives what the reference interpreter gives; the VM computes what is needed, once."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, calls, corpus, duplicate, label, leaves_of, prepare
from hypothesis import HealthCheck, Phase, given, settings
from random_graphs import Drawn, graphs

import srcgraph as sg
from srcgraph import ir
from srcgraph.errors import ArgumentError
from srcgraph.ir.builder import Builder
from srcgraph.ir.graph import Apply, Call, For, Graph, If, Program, Value, While
from srcgraph.ir.interp import applied, conform
from srcgraph.ir.op import OPS, Op, building
from srcgraph.ir.types import BOOL, PY_BOOL, PY_FLOAT, PY_INT, ScalarType
from srcgraph.runtime import engines
from srcgraph.runtime.engines import Register, Thunk, Vm, registry
from srcgraph.runtime.engines.thunks import ApplyThunk
from srcgraph.runtime.specialization import lowered

SHARE = {"vm": 9, "numba": 120}
"""One in so many programs of the corpus is run; one in ten where nothing is said."""
EXAMPLES = {"numba": 15}
FEW = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


# -- the kit ------------------------------------------------------------------------------------------


class Toy:
    """The least that is an engine: a graph is a function of a dict of values."""

    name = "toy"

    def compile(self, program: Program) -> Callable[[Sequence[Any]], list[Any]]:
        def run(graph: Graph, args: Sequence[Any]) -> list[Any]:
            env = {p: conform(a, p.type) for p, a in zip(graph.params, args, strict=True)}
            for node in graph.nodes:
                for value, out in zip(node.outputs, outputs(node, env), strict=True):
                    env[value] = conform(out, value.type)
            return [env[r] for r in graph.results]

        def loop(node: For | While, env: dict[Value, Any], trips: Any) -> list[Any]:
            carry, captures = [env[v] for v in node.carry], [env[v] for v in node.captures]
            for index in trips(lambda: [*carry, *captures]):
                carry = run(node.body, [*index, *carry, *captures])
                if node.stops and carry.pop():
                    break
            return carry

        def outputs(node: Any, env: dict[Value, Any]) -> Sequence[Any]:
            match node:
                case Apply():
                    return applied(node, [env[v] for v in node.inputs])
                case If():
                    return run(node.then if env[node.cond] else node.orelse, [env[v] for v in node.captures])
                case Call():
                    return run(program.graphs[node.callee], [env[v] for v in node.inputs])
                case For():
                    bounds = (env[v] for v in (node.start, node.stop, node.step))
                    return loop(node, env, lambda now, r=range(*bounds): ([k] for k in r))
            return loop(node, env, lambda now: iter(lambda: () if run(node.cond, now())[0] else None, None))

        return lambda args: run(program.main, args)


def every_engine() -> list[engines.Engine]:
    return [*map(engines.get, engines.names()), Toy()]


def outcome(run: Callable[[Sequence[Any]], list[Any]], leaves: list[Any]) -> tuple[Any, str, list[Any]]:
    """The results or the class of an exception, what was printed, and the arguments afterwards."""
    with redirect_stdout(StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found: Any = tuple(run(leaves))
        except Exception as error:
            found = type(error)
    return found, printed.getvalue(), [x for x in leaves if isinstance(x, np.ndarray)]


def check_engine(engine: engines.Engine, program: Program, args: Callable[[], list[Any]], what: str) -> None:
    """An engine gives what the reference gives, prints it, and leaves its arguments as the reference does."""
    want = outcome(engines.get("interp").compile(program), args())
    got = outcome(engine.compile(program), args())
    assert got[1] == want[1], what
    if isinstance(want[0], type):
        assert got[0] is want[0], what
    else:
        assert_same(got[0], want[0], what)
    assert_same(got[2], want[2], what)


@pytest.mark.parametrize("engine", every_engine(), ids=lambda e: e.name)
def test_engine_on_the_corpus(engine: engines.Engine) -> None:
    for program in corpus()[3 :: SHARE.get(engine.name, 10)]:
        args = next(iter(calls(program)))
        names = list(inspect.signature(program).parameters)
        found, _, _ = lowered(prepare(program), names, args, False)
        own = []  # generators live as long as their addresses are used

        def leaves(args: Any = args, found: Any = found, own: list[Any] = own) -> list[Any]:
            own.append(duplicate(args))
            return leaves_of(own[-1], list(found.summary.hidden))

        check_engine(engine, found.program, leaves, label(program))


@pytest.mark.parametrize("engine", every_engine(), ids=lambda e: e.name)
def test_engine_on_random_graphs(engine: engines.Engine) -> None:
    @settings(FEW, max_examples=EXAMPLES.get(engine.name, 150), phases=[Phase.generate])
    @given(graphs())
    def check(drawn: Drawn) -> None:
        program = Program({drawn.graph.name: drawn.graph}, drawn.graph.name)
        check_engine(engine, program, lambda: list(duplicate(drawn.args)), str(drawn.graph))

    check()


@pytest.mark.parametrize("wrong", ["number", "kind", "argument", "silent"])
def test_the_kit_finds_wrong_engines(wrong: str) -> None:
    """Numbers that are off, of another kind, changed arguments, checks left out."""

    class Wrong(Toy):
        def compile(self, program: Program) -> Callable[[Sequence[Any]], list[Any]]:
            run = super().compile(program)

            def call(args: Sequence[Any]) -> list[Any]:
                if wrong == "argument":
                    args[0][0] = 1.0
                if wrong == "silent":
                    return [np.float64(0.0)]
                (out,) = run(args)
                return [out + 1e-9 if wrong == "number" else float(out) if wrong == "kind" else out]

            return call

    program = only(ir.from_instructions(ELEMENT))
    index = 7 if wrong == "silent" else 1
    check_engine(Toy(), program, lambda: [np.zeros(3), index], wrong)
    with pytest.raises(AssertionError):
        check_engine(Wrong(), program, lambda: [np.zeros(3), index], wrong)


ELEMENT = """
new x(ndim=1, dtype=float64, shape=(n,))
new k(ndim=0, dtype=int64, weak, value=k)
dim n x axis=0
check_index i k n axis=0
getitem y x i view=view("i")
return y
"""


def test_no_engine_of_that_name() -> None:
    assert engines.names()[:3] == ["interp", "vm", "numba"]
    with pytest.raises(ArgumentError, match=r"(?s)no engine named 'gpu'.*hint: one of interp, vm, numba"):
        engines.get("gpu")
    with pytest.raises(ArgumentError, match="named 'vm' already"):
        engines.register("vm", Toy())
    with pytest.raises(ArgumentError, match="has no name, or no method compile"):
        engines.register("nothing", object())  # type: ignore[arg-type]


TOY = """
from srcgraph.ir.interp import interpret


class Announced:
    name = "announced"

    def compile(self, program):
        return lambda args: interpret(program, args)
"""


def test_engines_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is installed announces an engine, which is imported when it is asked for."""
    (tmp_path / "toy_engine.py").write_text(TOY)
    info = tmp_path / "toy_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[srcgraph.engines]\nannounced = toy_engine:Announced\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_engines", dict(registry._engines))
    assert "announced" in engines.names() and "toy_engine" not in sys.modules
    program = only(ir.from_instructions("new x(ndim=0, dtype=float64, weak)\nadd y x x\nreturn y"))
    assert engines.get("announced").compile(program)([2.0]) == [4.0]


# -- the VM -------------------------------------------------------------------------------------------


def only(graph: Any) -> Program:
    return Program({graph.name: graph}, graph.name)


def counted(graph: Graph | Program, args: Sequence[Any]) -> tuple[list[Any], Counter[str]]:
    """What the VM gives, and how often it computes each op."""
    count: Counter[str] = Counter()
    engine = Vm(watch=lambda node: count.update([node.op.name]))
    found = engine.compile(graph if isinstance(graph, Program) else only(graph))(args)
    return found, count


def built(types: Sequence[Any], make: Callable[..., Value]) -> Graph:
    """A graph of one result."""
    b = Builder("built")
    with building(b):
        return b.finish([make(b, *[b.param(f"p{k}", t) for k, t in enumerate(types)])])


def branch(b: Builder, cond: Value, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    sides = []
    for make in (then, orelse):
        region = b.new_region()
        with b.inside(region):
            sides.append((region, [make()]))
    return b.if_(cond, *sides)[0]


def test_what_only_the_other_branch_needs_is_not_computed() -> None:
    """Not what is computed before the branches, either."""

    def make(b: Builder, cond: Value, x: Value) -> Value:
        sine, cosine = OPS["sin"](x), OPS["cos"](x)
        return branch(b, cond, lambda: OPS["exp"](sine), lambda: OPS["tanh"](cosine))

    graph = built([PY_BOOL, PY_FLOAT], make)
    assert counted(graph, [True, 0.5]) == ([float(np.exp(np.sin(0.5)))], Counter(sin=1, exp=1))
    assert counted(graph, [False, 0.5]) == ([float(np.tanh(np.cos(0.5)))], Counter(cos=1, tanh=1))


def test_graphs_without_branches_run_straight() -> None:
    """On demand and straight give the same; what is not needed runs in neither; ``lazy=False`` takes no branches."""

    def make(b: Builder, x: Value) -> Value:
        OPS["tanh"](x)
        y = OPS["sin"](x)
        return OPS["mul"](y, OPS["add"](y, x))

    graph, counts = built([PY_FLOAT], make), []
    for lazy in (True, False, "auto"):
        count: Counter[str] = Counter()
        engine = Vm(lambda node, count=count: count.update([node.op.name]), lazy)
        assert engine.compile(only(graph))([0.5]) == [float(np.sin(0.5) * (np.sin(0.5) + 0.5))]
        counts.append(count)
    assert counts == [Counter(sin=1, add=1, mul=1)] * 3
    choice = built([PY_BOOL, PY_FLOAT], lambda b, c, x: branch(b, c, lambda: OPS["exp"](x), lambda: x))
    with pytest.raises(ArgumentError, match="runs on demand"):
        Vm(lazy=False).compile(only(choice))
    assert Vm(lazy="auto").compile(only(choice))([False, 2.0]) == [2.0]


@pytest.mark.parametrize("depth", range(2, 13))
def test_nested_conditionals_cost_their_depth(depth: int) -> None:
    """Each level has the next one in both branches, and both read what was computed before."""

    def level(b: Builder, cond: Value, x: Value, left: int) -> Value:
        y, z = OPS["sin"](x), OPS["cos"](x)
        if left == 0:
            return OPS["add"](y, z)
        return branch(b, cond, lambda: level(b, cond, y, left - 1), lambda: OPS["exp"](OPS["add"](y, z)))

    graph = built([PY_BOOL, PY_FLOAT], lambda b, cond, x: level(b, cond, x, depth))
    taken, count = counted(graph, [True, 0.3])
    assert count == Counter(sin=depth + 1, cos=1, add=1)
    assert taken == engines.get("interp").compile(only(graph))([True, 0.3])
    assert counted(graph, [False, 0.3])[1] == Counter(sin=1, cos=1, add=1, exp=1)


def test_shared_conditionals_run_once() -> None:
    """200 branches in a row; each reads the one before twice in each side, and both are needed again later."""

    def make(b: Builder, cond: Value, x: Value) -> Value:
        first = x
        for _ in range(200):
            before = x
            x = branch(
                b,
                cond,
                lambda before=before: OPS["minimum"](before, OPS["sin"](before)),
                lambda before=before: OPS["maximum"](before, OPS["cos"](before)),
            )
        return OPS["hypot"](x, OPS["arctan2"](x, first))

    graph = built([PY_BOOL, PY_FLOAT], make)
    for cond in (True, False):
        found, count = counted(graph, [cond, 0.3])
        assert found == engines.get("interp").compile(only(graph))([cond, 0.3])
        assert sum(count.values()) == 402


def test_no_chain_is_too_long() -> None:
    """Eight times as long as Python's stack is deep, in a graph and through the captures of a branch."""
    length = 8 * sys.getrecursionlimit()
    lines = ["new c(ndim=0, dtype=bool, weak)", "new x0(ndim=0, dtype=float64, weak)", "const one value=1.0"]
    lines += [f"add x{k + 1} x{k} one" for k in range(length)]
    lines += [f"if y c captures=(x{length}, one)", "then", "new a", "new b", "sub z a b", "return z"]
    lines += ["else", "new a", "new b", "return b", "return y"]
    graph = ir.from_instructions("\n".join(lines))
    found, count = counted(graph, [True, 0.0])
    assert found == [length - 1.0] and count["add"] == length
    found, count = counted(graph, [False, 0.0])
    assert found == [1.0] and count == Counter(const=1)


def test_recursion_is_as_deep_as_pythons() -> None:
    text = """
    program "down"
    graph "down"
      new n(ndim=0, dtype=int64, weak, value=n)
      const zero value=0
      less_equal last n zero
      if out(ndim=0, dtype=int64, weak, value=out) last captures=(n)
        then
          new a
          return a
        else
          new b
          const one value=1
          sub less b one
          call rest(ndim=0, dtype=int64, weak, value=rest) less callee="down"
          return rest
      return out
    """
    run = engines.get("vm").compile(ir.from_instructions(text))  # type: ignore[arg-type]
    assert run([sys.getrecursionlimit() - 1]) == [0]
    with pytest.raises(RecursionError):
        run([10 * sys.getrecursionlimit()])


def test_order_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """What is written comes in the order of the graph, before what raises, and without being asked for."""

    def talk(x: np.ndarray, n: int) -> float:
        print("begin", n)
        total = 0.0
        for k in range(n):
            if k % 2:
                print("odd", k)
            total += x[k]
        print("end", total)
        return 1.0

    graph = sg.compile(talk).graph(np.ones(3), 3)
    found, count = counted(graph, [np.ones(3), 3])
    assert found == [1.0] and count["show"] == 3
    assert capsys.readouterr().out == "begin 3\nodd 1\nend 3.0\n"
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        counted(graph, [np.ones(3), 5])
    assert capsys.readouterr().out == "begin 5\nodd 1\nodd 3\n"


def test_loops_that_nobody_reads_do_not_run() -> None:
    text = """
    new n(ndim=0, dtype=int64, weak, value=n)
    new c(ndim=0, dtype=bool, weak)
    const zero value=0
    const one value=1
    const start value=0.5
    sin big start
    for y zero n one carry=(start, big) captures=()
      body
        new i
        new a
        new b
        cos a1 a
        return a1 b
    if z c captures=(y, start)
      then
        new p
        new q
        return p
      else
        new p
        new q
        return q
    return z
    """.replace("for y zero", "for y, w zero")
    graph = ir.from_instructions(text)
    assert counted(graph, [3, False]) == ([0.5], Counter(const=1))
    found, count = counted(graph, [3, True])
    assert found == [float(np.cos(np.cos(np.cos(0.5))))] and count["cos"] == 3


class Choose(Thunk):
    """One of three operands, by the sign of the first; only that one is asked for."""

    lazy = True

    def __call__(self) -> list[int] | None:
        sign, *rest = self.inputs
        if not sign.computed:
            return [0]
        k = 1 if sign.value < 0 else 2 if sign.value == 0 else 3
        if not rest[k - 1].computed:
            return [k]
        self.outputs[0].store(rest[k - 1].value)
        return []


def test_ops_say_what_they_need() -> None:
    """An op with a thunk of its own, written by hand; other engines compute all that it may need."""
    choose = Op(
        name="choose",
        doc="The second operand where the first is negative, the third where it is 0, else the fourth.",
        infer=lambda sign, x, y, z: x,
        numpy=lambda sign, x, y, z: x if sign < 0 else y if sign == 0 else z,
        make_thunk=lambda node, inputs, outputs: Choose(inputs, outputs),
    )

    def make(b: Builder, sign: Value, x: Value) -> Value:
        return b.apply(choose, (sign, OPS["sin"](x), OPS["cos"](x), OPS["tanh"](x)), {})

    graph = built([PY_INT, PY_FLOAT], make)
    for sign, name in ((-2, "sin"), (0, "cos"), (5, "tanh")):
        found, count = counted(graph, [sign, 0.5])
        assert count == Counter([name])
        assert found == engines.get("interp").compile(only(graph))([sign, 0.5])


def test_a_thunk_asks_until_it_has_what_it_needs() -> None:
    """What a lazy one asks for, call by call; one that is not lazy never asks."""
    for sign, chosen in ((-2, 1), (0, 2), (5, 3)):
        inputs = [Register(PY_INT), *(Register(PY_FLOAT) for _ in range(3))]
        out = Register(PY_FLOAT)
        thunk, asked = Choose(inputs, [out]), []
        while wanted := thunk():
            asked.append(wanted)
            for k in wanted:
                inputs[k].store(sign if k == 0 else float(k))
        assert asked == [[0], [chosen]] and out.value == float(chosen)
        assert [r.computed for r in inputs[1:]] == [k == chosen for k in (1, 2, 3)]
    given, out = Register(PY_FLOAT), Register(PY_FLOAT)
    graph = built([PY_FLOAT], lambda b, x: OPS["sin"](x))
    given.store(0.5)
    plain = ApplyThunk(graph.nodes[0], [given], [out], None)  # type: ignore[arg-type]
    assert not plain.lazy and plain() is None and out.value == np.sin(0.5)


def test_an_op_that_says_what_it_is_and_not_what_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is typed, written, read back and rewritten; whoever runs it says what is missing."""
    vague = Op(name="vague", doc="Not said.", infer=lambda x: x)
    monkeypatch.setitem(OPS, "vague", vague)
    x = ir.scalar("x", "float32")
    graph = ir.graph_of([x], [vague(x)])
    assert str(graph.results[0].type) == "f32" and "vague(x)" in str(graph)
    for again in (ir.from_instructions(ir.instructions(graph)), ir.from_json(ir.to_json(graph))):
        assert ir.structural_hash(again) == ir.structural_hash(graph)
    assert sg.opt.FunctionGraph([x], [vague(x)]).nodes_of("vague")
    for name in ("interp", "vm", "eager"):
        with pytest.raises(sg.errors.UnsupportedError, match="the op 'vague' cannot be run: its record has no numpy="):
            engines.get(name).compile(only(graph))([np.float32(1.0)])
    with pytest.raises(sg.errors.InternalError, match="vague has no text for cpu"):
        engines.get("numba").compile(only(graph))
    assert vague(2.0).type.ndim == 0  # not folded


def test_registers_hold_values_of_their_type() -> None:
    register = Register(ScalarType(BOOL, weak=True))
    register.store(np.True_)
    assert register.value is True and register.computed
    with pytest.raises(sg.errors.InternalError, match=r"expected bool, got 2\.0"):
        register.store(2.0)


@pytest.mark.parametrize("name", ["numba", "vm", "eager", "interp"])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a"], r"argument 'x' must be f64\[n\], not 'a' \(str\)"),
        ([np.ones((2, 2))], r"argument 'x' must be f64\[n\], not an array of float64 with shape \(2, 2\)"),
        ([np.ones(2, int)], "not an array of int64"),
        ([3.0], r"not 3.0 \(float\)"),
        ([], r"'graph' takes 1 values \(x\), not 0"),
    ],
)
def test_arguments_of_other_types(name: str, args: list[Any], message: str) -> None:
    """Whoever runs a graph is told which argument is wrong."""
    graph = ir.from_instructions("new x(ndim=1, dtype=float64, shape=(n,))\nadd y x x\nreturn y")
    assert isinstance(graph, Graph)
    run = engines.get(name).compile(Program({"graph": graph}, "graph"))
    with pytest.raises(TypeError, match=message):
        run(args)
