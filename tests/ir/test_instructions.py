"""Graphs as numbered instructions and as JSON: read back exactly, hints mean nothing, errors name the line."""

from __future__ import annotations

import json
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from harness import (
    Versions,
    calls,
    corpus,
    derived,
    differentiable_calls,
    differentiable_results,
    float_arguments,
    label,
    prepare,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import mutated_json, mutated_text, taken_or_refused
from random_graphs import Drawn, graphs, smooth_graphs
from round_trip import SEED, assert_equal, check_round_trip, stripped

import srcgraph as sg
from srcgraph import ir
from srcgraph.errors import TextError
from srcgraph.ir.graph import Apply, Call, Define, Graph, Program, Value
from srcgraph.ir.interp import interpret
from srcgraph.ir.types import PY_FLOAT, is_float
from srcgraph.opt.ad.vjp import gradient
from srcgraph.opt.inline import inline
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import PRIMAL
from srcgraph.runtime import engines
from srcgraph.runtime.specialization import lowered

ROOT = Path(sg.__file__).parent.parent
SHARE = 9
"""One in so many programs of the corpus is written and read."""
MANY = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
LOOP = """\
new x1(ndim=2, dtype=float64, shape=(n, 3)) @name="m" @at="model.py:1:0:1:5"
const x2(ndim=0, dtype=int64, weak, value=0) value=0
const x3 value=1
dim x4 x1 axis=0
for x5(ndim=2, dtype=float64, shape=(n, 3)) x2 x4 x3 carry=(x1) captures=(x3) @name="m"
  body
    new x6(ndim=0, dtype=int64, weak, value=i)
    new x7
    new x8
    getitem x9 x7 x6 view=view("i, :")
    less x10 x6 x8
    cast x11 x10 dtype=bool weak=true
    if x12(ndim=1, dtype=float64, shape=(3,)) x11 captures=(x9)
      then
        new x13
        return x13
      else
        new x14
        exp x15 x14
        return x15
    setitem x16 x7 x12 x6 view=view("i, :")
    return x16
sum x17 x5 axes=(0, 1)
show x18 x17 text="{}\\n"
return x17 x5
"""


# -- round trips ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", corpus()[::SHARE], ids=label)
def test_corpus(program: Any) -> None:
    """What programs are lowered to, several graphs that call each other, and what the passes make of it."""
    names = list(sg.compile(program).names)
    found, _, _ = lowered(prepare(program), names, next(iter(calls(program))), False)
    check_round_trip(found.program)
    small = inline(found.program)
    optimised = {n: run_passes(g, PRIMAL) for n, g in small.graphs.items()}
    check_round_trip(Program(optimised, small.entry))
    check_round_trip(optimised[small.entry])


@MANY
@given(graphs())
def test_random_graphs(drawn: Drawn) -> None:
    check_round_trip(drawn.graph)
    again = ir.from_instructions(stripped(ir.instructions(drawn.graph)))
    for got, want in zip(interpret(again, drawn.args), interpret(drawn.graph, drawn.args), strict=True):
        np.testing.assert_array_equal(got, want)
        assert type(got) is type(want)


@settings(MANY, max_examples=60)
@given(smooth_graphs())
def test_gradients_of_random_graphs(drawn: Drawn) -> None:
    wanted = [k for k, p in enumerate(drawn.graph.params) if is_float(p.type)]
    check_round_trip(gradient(drawn.graph, 0, wanted).graph)


@pytest.mark.parametrize("program", corpus()[1::40], ids=label)
def test_gradients_of_the_corpus(program: Any) -> None:
    for args in differentiable_calls(program):
        version, _ = Versions(program, distinct=True).of(args)
        moving = tuple(float_arguments(version))
        if moving and differentiable_results(version):
            check_round_trip(derived(version, moving).program)
        return


DEFINES = """\
new x1(ndim=1, dtype=float64, shape=(n,))
define name="double" changes=((0, 0),) @by="vjp"
  new x2(ndim=1, dtype=float64, shape=(m,))
  add x3 x2 x2
  return x3
call x4(ndim=1, dtype=float64, shape=(n,)) x1 callee="double" changes=((0, 0),) rule=("f", "double", "", (0,), ())
return x4 @name="main"
"""


def test_definitions() -> None:
    """A function among the nodes of a graph, as while recursion is differentiated, and a call that changes an array."""
    graph = ir.from_instructions(DEFINES)
    assert isinstance(graph, Graph) and isinstance(graph.nodes[0], Define) and graph.nodes[0].changes == ((0, 0),)
    assert isinstance(graph.nodes[1], Call) and graph.nodes[1].rule is not None
    assert (graph.nodes[1].rule.forward, graph.nodes[1].rule.moving) == ("double", (0,))
    check_round_trip(graph)


def test_numbers_and_texts() -> None:
    """Every kind of literal keeps its type, its sign and its last bit."""
    literals = """\
    value=0.1
    value=-0.0
    value=1.0
    value=inf
    value=-inf
    value=nan
    value=true
    value=-9223372036854775808
    value=uint64(18446744073709551615)
    value=float32(0.10000000149011612)
    value=bool(false)
    value=complex(-0.0, inf)
    value=complex64(complex(1.0, -2.5))
    """
    lines = [f"const x{k} {text.strip()}" for k, text in enumerate(literals.splitlines()[:-1])]
    lines.append(r'show y text="\"a\\b\" # @x=1 \n\u00e9 {}\n" @name="done"')
    graph = ir.from_instructions("\n".join([*lines, f"return {' '.join(f'x{k}' for k in range(len(lines) - 1))}"]))
    assert isinstance(graph, Graph)
    check_round_trip(graph)
    found = [n.attrs["value"] for n in graph.nodes[:-1] if isinstance(n, Apply)]
    assert repr(found) == repr([
        0.1, -0.0, 1.0, float("inf"), float("-inf"), float("nan"), True, -(2**63), np.uint64(2**64 - 1),
        np.float32(0.1), np.False_, complex(-0.0, float("inf")), np.complex64(1 - 2.5j),
    ])  # fmt: skip
    assert graph.nodes[-1].attrs["text"] == '"a\\b" # @x=1 \n\u00e9 {}\n'  # type: ignore[union-attr]


# -- what people write ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        SEED,
        "new x1(ndim=2,dtype=float64)\ntanh x2 x1\nsum x3 x2\nreturn x3",
        "new x1(shape=(3,3), dtype=float64)\ntanh x2 x1\nsum x3 x2\nreturn x3",
        "# a comment\n\n  7 new m(ndim=2, dtype=float64) # another\ntanh t m\nsum x3 t\nreturn x3",
    ],
)
def test_listings_run(text: str) -> None:
    graph = ir.from_instructions(text)
    x = np.arange(9.0).reshape(3, 3) / 9
    (got,) = interpret(graph, [x])
    assert type(got) is np.float64 and got == np.sum(np.tanh(x))
    assert [re.match(r"\d (\w+ x\d|return x3)", line) is not None for line in ir.instructions(graph).splitlines()] == [
        True
    ] * 4


CALLS = """
    program "main"
    graph "square"
      new x1(ndim=1, dtype=float64)
      mul x2 x1 x1
      return x2
    graph "main"
      new x(ndim=1, dtype=float64, shape=(n,))
      new k(ndim=0, dtype=int64, weak, value=k)
      call y x callee="square"
      const zero value=0
      const one value=1
      for z zero k one carry=(y) captures=()
        body
          new i
          new a
          sin b a
          return b
      less go zero k
      cast go1 go dtype=bool weak=true
      if r go1 captures=(z, y)
        then
          new p
          new q
          return p
        else
          new p
          new q
          return q
      return r
    """


def test_types_of_inputs_are_enough() -> None:
    """Sizes, integers and kinds follow through branches, loops and calls."""
    program = ir.from_instructions(CALLS)
    assert isinstance(program, Program)
    check_round_trip(program)
    x = np.array([0.3, 0.4])
    np.testing.assert_array_equal(interpret(program, [x, 2])[0], np.sin(np.sin(x * x)))


def test_unknown_hints_are_silent() -> None:
    graph = ir.from_instructions(SEED)
    marked = SEED.replace(" x1\n", ' x1 @colour=red @x=$5.0! @at="nowhere" @name=3 @flag @list=(1, "a") @open=(1\n', 1)
    again = ir.from_instructions(marked)
    assert_equal(again, graph, hints=False)
    data = json.loads(ir.to_json(graph))
    data["graph"]["nodes"][0]["hints"] = {"colour": ["red", {"a": 1}], "at": 5, "by": None}
    assert_equal(ir.from_json(data), graph, hints=False)


# -- errors ---------------------------------------------------------------------------------------------


WRONG = [
    ("sum x3(ndim=0", "sum x3(ndim=1", 3, "x3 is written as f64[x3_0], but what stands before makes it f64"),
    ("tanh x2(ndim=2, dtype=float64)", "tanh x2(ndim=2, dtype=float32)", 2, "x2 is written as f32"),
    ("tanh x2(ndim=2,", "tanh x2(shape=(n, m),", 2, "x2 is written as f64[n, m], but what stands before makes it"),
    ("tanh x2(ndim=2,", "tanh x2(ndim=2, shape=(3,),", 2, "x2 has ndim=2 and a shape of 1"),
    ("tanh", "tanhh", 2, "there is no op named 'tanhh'"),
    ("float64) x1", "float64) x7", 2, "x7 is not defined here"),
    ("float64) x1", "float64) x1 x1", 2, ""),
    ("float64) x2", "float64) x2 axes=(5,)", 3, "sum goes over axis 5 of an array of 2 axes"),
    ("float64) x2", "float64) x2 axis=0", 3, "axis"),
    ("float64) x2", "float64) x2 axes=", 3, "a literal is expected, not the end of the line"),
    ("float64) x2", "float64) x2 axes=red", 3, "red is no literal"),
    ("float64) x2", 'float64) x2 axes="\\q"', 3, "this cannot be read"),
    ("float64) x2", "float64) x2 ! x3", 3, "! is not expected here"),
    ("x3(ndim", "x3(dim", 3, "dim is nothing that types have"),
    ("sum x3(", "sum x2(", 3, "x2 is defined twice"),
    ("ndim=2, dtype=float64)\n2", "ndim=2)\n2", 1, "the type of x1 does not follow from anything"),
    ("ndim=2, dtype=float64)\n2", "ndim=2, dtype=float16)\n2", 1, "'float16' is no dtype"),
    ("return x3", "return x9", 4, "x9 is not defined here"),
    ("4 return x3", "", 1, "what begins here has no return"),
    ("4 return x3", "4 return x3\n5 return x3", 5, "nothing can follow"),
    ("3 sum x3(ndim=0, dtype=float64) x2", "3 new x3(ndim=0, dtype=float64)", 3, "parameters stand first"),
    ("3 sum", "3 if x4 x3 captures=()\n4   then\n5   return\n6 sum", 6, "a line 'else' is expected here"),
    ("3 sum", "3 while - carry=(x2) captures=()\ncond\nreturn\nbody\nreturn\nsum", 3, "takes 0"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), WRONG)
def test_errors_name_the_line(old: str, new: str, line: int, message: str) -> None:
    text = SEED.replace(old, new, 1)
    assert text != SEED
    with pytest.raises(TextError) as caught:
        ir.from_instructions(text)
    (problem,) = caught.value.problems
    assert problem.loc is not None and problem.loc.line == line
    assert message in problem.message
    assert f"line {line} is: {text.splitlines()[line - 1].strip()}" in str(caught.value)


@settings(MANY, max_examples=300)
@given(st.data())
def test_any_text_is_read_or_refused(data: st.DataObject) -> None:
    """Words taken out, doubled and exchanged make graphs, or errors with a line."""
    words = re.findall(r"\w+|\n| +|.", LOOP)
    for _ in range(data.draw(st.integers(1, 3))):
        k, j = (data.draw(st.integers(0, len(words) - 1)) for _ in range(2))
        words[k : k + data.draw(st.integers(0, 2))] = data.draw(st.sampled_from([[], [words[j]], [words[j], words[k]]]))
    try:
        graph = ir.from_instructions("".join(words))
    except TextError as error:
        assert error.problems[0].loc is not None
    else:
        check_round_trip(graph)


WHILE = """\
new x(ndim=1, dtype=float64, shape=(n,))
const zero value=0
const two value=complex(2.0, -inf)
cast small two dtype=complex64 weak=false
while k, z carry=(zero, x) captures=(zero)
  cond
    new i
    new a
    new m
    less c i m
    cast d c dtype=bool weak=true
    return d
  body
    new i
    new a
    new m
    const one value=1
    add j i one
    ipow b a n=2
    sum s b axes=(0,)
    return j b
list_new xs item=type(ndim=1, dtype=float64, shape=(n,))
list_push ys xs z
show shown k text="{}" @at="model.py:1:0:1:5"
return ys small
"""


@pytest.mark.parametrize("text", [SEED, LOOP, DEFINES, CALLS, WHILE])
def test_mutations_are_read_or_refused(text: str) -> None:
    """Wrong words and values of any kind at any place are `TextError`; what is taken is written and read again."""
    document = json.loads(ir.to_json(ir.from_instructions(text)))
    taken = 0
    for seed in range(80):
        drawn = random.Random(seed)
        taken += taken_or_refused(ir.from_instructions, mutated_text(text, drawn))
        taken += taken_or_refused(ir.from_json, mutated_json(document, drawn))
    assert 0 < taken < 150


LINE = "new x(ndim=0, dtype=float64)\n{}\nreturn x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("new x(ndim=0, dtype=int8, weak)\nreturn x", "int8 is no dtype of Python's own numbers, so it is not weak"),
        ("new x(ndim=0, dtype=float64, value=3)\nreturn x", "value=3: only integers have a value, not float64"),
        ("new x(ndim=0, dtype=int8, value=300)\nreturn x", "value=300 does not fit into int8"),
        ("new x(ndim=99999, dtype=float64)\nreturn x", "x has ndim=99999; an array has 0 to 64 axes"),
        ("new x(dtype=float64, shape=(-3,))\nreturn x", "-3 is no size of an axis"),
        (f"new x(dtype=float64, shape=({' * '.join(['(n + m)'] * 99)},))\nreturn x", "is too long for a size"),
        (f"new x(dtype=float64, shape=({'(' * 999}n{')' * 999},))\nreturn x", "is no size"),
        (LINE.format("const y value=" + "(" * 99999), "this is nested too deeply to be read"),
        (LINE.format('const y value=-"p17"'), "a number is expected behind -"),
        (LINE.format("const y value=int8(300)"), "300 does not fit into int8"),
        (LINE.format("const y value=float32()"), "float32 takes one literal, not 0"),
        (LINE.format('getitem y x view=view("i, q")'), "must be a view, not 'i, q'"),
        (LINE.format('getitem y x x view=view("i, i")'), "the view 'i, i' is of 2 axes, and the array has 0"),
        (LINE.format("less c x"), "less takes 2 operands, not 1"),
        (LINE.format("less c x x x"), "less takes 2 operands, not 3"),
        (LINE.format("where y x x"), "where takes 3 operands, not 2"),
        (LINE.format("with_shape y x x"), "with_shape takes an array, and a length for each of its axes"),
        (LINE.format('check_that c x error="zz" message="no"'), "must be the name of an exception, not 'zz'"),
        (LINE.format('ipow y x n="a"'), "the attribute n of ipow must be an integer, not 'a'"),
        (LINE.format("ipow y x"), "ipow needs the attribute n"),
        (LINE.format("ipow y x x n=2"), "ipow takes 1 operand, not 2"),
        (LINE.format("add y x x axis=0"), "add has no attribute axis: it has none"),
        (LINE.format("cast y x dtype=int8 weak=true"), "int8 is no dtype of Python's own numbers"),
        (LINE.format("call y x"), "call needs callee="),
        (LINE.format("call y x callee=3"), "callee is 3, not string"),
        (LINE.format('call y(ndim=0, dtype=int8) x callee="f" changes=((0, 7),)'), r"(0, 7) of its changes is no pair"),
        ('program "f"\ngraph "f"\nreturn\ngraph "f"\nreturn', "two graphs are named 'f'"),
    ],
)  # fmt: skip
def test_what_cannot_be(text: str, message: str) -> None:
    with pytest.raises(TextError, match=re.escape(message)):
        ir.from_instructions(text)


@pytest.mark.parametrize("given_", [3, None, b"new x", ["new x"]])
def test_only_texts_are_read(given_: Any) -> None:
    with pytest.raises(sg.errors.ArgumentError, match="instructions are text, not"):
        ir.from_instructions(given_)
    with pytest.raises(TextError):
        ir.from_json(given_)


def test_what_is_read_is_verified() -> None:
    """A loop whose body returns another kind than it carries."""
    text = (
        "new x(ndim=1, dtype=float64)\nconst a value=0\nfor y a a a carry=(x) captures=()\nbody\nnew i\nnew z\nreturn i"
    )
    with pytest.raises(TextError, match=r"(?s)<instructions>:3:1: For.*what the body returns.*line 3 is"):
        ir.from_instructions(text + "\nreturn y")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=9), "document.version is 9, not 1"),
        (lambda d: d["graph"].pop("results"), "document.graph has no 'results'"),
        (lambda d: d["graph"]["nodes"][1].update(axis=0), r"document.graph.nodes\[1\] has 'axis', which means nothing"),
        (lambda d: d["graph"]["nodes"][0].update(inputs=3), r"nodes\[0\].inputs is 3, not array"),
        (lambda d: d["graph"]["nodes"][0].update(op="tanhh"), r"(?s)no op named 'tanhh'.*note: in node 0 \(tanhh\)"),
        (lambda d: d["graph"]["nodes"][0].update(op={}), r"document.graph.nodes\[0\].op is {}, not string"),
        (lambda d: d["graph"]["params"][0]["type"].update(dtype="f8"), r"params\[0\].type.dtype is 'f8', none of"),
    ],
)
def test_errors_name_the_place(change: Any, message: str) -> None:
    data = json.loads(ir.to_json(ir.from_instructions(SEED)))
    change(data)
    with pytest.raises(TextError, match=message):
        ir.from_json(data)
    with pytest.raises(TextError, match="this is no JSON"):
        ir.from_json("{")


def test_the_order_of_attributes_means_nothing() -> None:
    """JSON objects have none; a library call in generated code does."""

    def solved(a: np.ndarray, b: np.ndarray) -> Any:
        return scipy.linalg.solve_triangular(a, b, lower=True)

    args = [np.array([[2.0, 1.0], [3.0, 4.0]]), np.array([2.0, 5.0])]
    graph = sg.compile(solved).graph(*args)
    data = json.loads(ir.to_json(graph))
    for node in data["graph"]["nodes"]:
        if "attrs" in node:
            node["attrs"] = dict(reversed(node["attrs"].items()))
    other = ir.from_json(data)
    assert ir.structural_hash(other) == ir.structural_hash(graph)
    for made in (graph, other):
        found = engines.get("numba").compile(Program({"graph": made}, "graph"))(args)
        np.testing.assert_allclose(found, interpret(graph, args))


def test_open_graphs_have_no_instructions() -> None:
    with pytest.raises(sg.errors.InternalError, match="only closed graphs"):
        x, y = Value("x", PY_FLOAT), Value("y", None)
        ir.instructions(Graph("f", (x,), (), (y,)))


# -- other processes ------------------------------------------------------------------------------------


READ = """
import pickle, sys, types
package = types.ModuleType("srcgraph")
package.__path__ = [sys.argv[1]]
sys.modules["srcgraph"] = package  # its own __init__ imports everything
from srcgraph import ir
from srcgraph.ir.interp import interpret
text, data, args = pickle.load(sys.stdin.buffer)
first, second = ir.from_instructions(text), ir.from_json(data)
hashes = {ir.structural_hash(first), ir.structural_hash(second)}
others = sorted({m.split(".")[1] for m in sys.modules if m.startswith("srcgraph.")})
sys.stdout.buffer.write(pickle.dumps((interpret(first, args), interpret(second, args), hashes, others)))
"""


def test_a_process_without_the_frontend_reads_it() -> None:
    """What one process writes, another one reads and runs that has neither Python sources nor numba."""

    def orbit(x: np.ndarray, n: int) -> Any:
        total, k = 0.0, 0
        while k < n:
            for item in x:
                if item > 0.5:
                    total += np.sin(item) * k
                elif total > 9.0:
                    break
            k += 1
        return total, x * total

    graph = sg.compile(orbit).graph(np.ones(3), 4)
    args = [np.linspace(0.0, 1.0, 5), 3]
    given_ = pickle.dumps((ir.instructions(graph), ir.to_json(graph), args))
    command = [sys.executable, "-c", READ, str(ROOT / "srcgraph")]
    done = subprocess.run(command, input=given_, capture_output=True, timeout=100, check=True)
    first, second, hashes, others = pickle.loads(done.stdout)
    assert others == ["errors", "ir"]
    assert hashes == {ir.structural_hash(graph)}
    for want, *got in zip(interpret(graph, args), first, second, strict=True):
        for result in got:
            np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("new x(ndim=1, dtype=float64)\nsum y x axes=(3,)\nreturn y", "sum goes over axis 3 of an array of 1 axes"),
        ("new x(ndim=2, dtype=float64)\nmax y x axes=(-1,)\nreturn y", "max goes over axis -1 of an array of 2 axes"),
        ("const a value=99999999999999999999\nreturn a", "integers of at most 64 bits"),
    ],
)
def test_what_no_type_rule_looks_at(text: str, words: str) -> None:
    with pytest.raises(TextError, match=re.escape(words)):
        ir.from_instructions(text)
