"""How passes run: what is printed, what is verified, what is recorded, and which pass is named when one breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

import srcgraph as sg
from srcgraph.errors import InternalError
from srcgraph.ir.graph import Apply, Graph, Value
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.printer import format_graph
from srcgraph.ir.walk import same_graph
from srcgraph.opt.dce import dce
from srcgraph.opt.passes import Pass, Report, run_passes
from srcgraph.opt.pipeline import DERIVED, PRIMAL
from srcgraph.runtime import specialization

TEXT = """
def f(x: float) -> float:
    unused: float = add(x, 3.0)
    double: float = mul(x, 2.0)
    return double
"""
AFTER_DCE = """\
def f(x: float) -> float:
    double: float = mul(x, 2.0)
    return double
"""


def keep(graph: Graph) -> Graph:
    return graph


def drop_first(graph: Graph) -> Graph:
    """A defect: removes a node whose output is still read."""
    return replace(graph, nodes=tuple(n for n in graph.nodes if not (isinstance(n, Apply) and n.op.name == "mul")))


def retype(graph: Graph) -> Graph:
    """A defect: a result becomes another value of the same name that nothing defines."""
    return replace(graph, results=tuple(Value(r.name, r.type) for r in graph.results))


def fail(graph: Graph) -> Graph:
    raise ZeroDivisionError("oops")


def triple(x):
    y = x + 3.0  # noqa: F841
    return x * 2.0 + x


# -- printing --------------------------------------------------------------------------------------


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    """What three passes print, the second of which drops dead code, with these variables set."""
    for name in ("SRCGRAPH_PRINT_AFTER", "SRCGRAPH_PRINT_BEFORE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    run_passes(parse_graph(TEXT), [Pass("first", keep), Pass("dce", dce), Pass("last", keep)])
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_nothing_is_printed_unasked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(capsys, monkeypatch) == ""
    assert printed(capsys, monkeypatch, SRCGRAPH_PRINT_AFTER="") == ""
    assert printed(capsys, monkeypatch, SRCGRAPH_PRINT_AFTER="other,dc") == ""


def test_graph_after_a_pass(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the named pass; the graph it made, in full."""
    assert printed(capsys, monkeypatch, SRCGRAPH_PRINT_AFTER="dce") == f"# after dce\n{AFTER_DCE}\n"


def test_graph_before_a_pass(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(capsys, monkeypatch, SRCGRAPH_PRINT_BEFORE="dce") == f"# before dce\n{TEXT.lstrip()}\n"


def test_several_passes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Comma-separated names; what is printed reads back."""
    text = printed(capsys, monkeypatch, SRCGRAPH_PRINT_AFTER="first,last")
    parts = text.split("# after ")[1:]
    assert [p.split("\n", 1)[0] for p in parts] == ["first", "last"]
    assert same_graph(parse_graph(parts[0].split("\n", 1)[1]), parse_graph(TEXT))
    assert same_graph(parse_graph(parts[1].split("\n", 1)[1]), parse_graph(AFTER_DCE))


def test_all_passes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(capsys, monkeypatch, SRCGRAPH_PRINT_AFTER="all", SRCGRAPH_PRINT_BEFORE="all")
    heads = [line[2:] for line in text.split("\n") if line.startswith("# ")]
    assert heads == [f"{when} {name}" for name in ("first", "dce", "last") for when in ("before", "after")]


def test_compiling_prints_with_places(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable works on what users compile; each line says where it comes from, and what derived it."""
    monkeypatch.setenv("SRCGRAPH_PRINT_AFTER", "licm")
    sg.grad(triple)(2.0)
    text = capsys.readouterr().err
    assert text.count("# after licm") == 2  # of the function, and of its gradient
    places = [line for line in text.split("\n") if "test_passes.py:" in line]
    assert places
    for line in places:
        assert "  # " in line and line.split("test_passes.py:")[1].split(":")[0].isdigit()


# -- verification ----------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", [drop_first, retype], ids=lambda f: f.__name__)
def test_a_broken_pass_is_caught_and_named(broken) -> None:
    """`verify` refuses the graph right after the pass that made it, and its name is added."""
    passes = [Pass("good", keep), Pass("broken", broken), Pass("late", fail)]
    with pytest.raises(InternalError, match="never defined") as caught:
        run_passes(parse_graph(TEXT), passes, check=True)
    assert caught.value.__notes__ == ["in pass 'broken'"]


def test_a_pass_that_raises_is_named() -> None:
    with pytest.raises(ZeroDivisionError, match="oops") as caught:
        run_passes(parse_graph(TEXT), [Pass("good", keep), Pass("failing", fail)])
    assert caught.value.__notes__ == ["in pass 'failing'"]


@pytest.mark.parametrize("stage", ["PRIMAL", "DERIVED"])
def test_every_compilation_in_tests_is_verified(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in either pipeline shows in whatever test compiles something."""
    passes = (*getattr(specialization, stage), Pass("broken", retype))
    monkeypatch.setattr(specialization, stage, passes)
    with pytest.raises(InternalError, match="never defined") as caught:
        sg.grad(lambda x: x * x)(2.0)
    assert "in pass 'broken'" in caught.value.__notes__


# -- records ---------------------------------------------------------------------------------------


def test_report() -> None:
    """Which passes ran, what they did to the size, and the graph after each."""
    report = Report()
    after = run_passes(parse_graph(TEXT), [Pass("first", keep), Pass("dce", dce)], report=report)
    assert [(r.name, r.before, r.after) for r in report.records] == [("first", 2, 2), ("dce", 2, 1)]
    assert all(r.seconds >= 0 for r in report.records)
    assert [name for name, _ in report.graphs] == ["first", "dce"]
    assert report.graphs[-1][1] is after
    assert format_graph(after) + "\n" == AFTER_DCE


@pytest.mark.parametrize("item", {p.name: p for p in (*PRIMAL, *DERIVED)}.values(), ids=lambda p: p.name)
def test_a_pass_with_nothing_to_do_changes_nothing(item: Pass) -> None:
    """Its answer is the same graph; dead code elimination gives the very object."""
    graph = parse_graph(AFTER_DCE)
    assert same_graph(item(graph), graph)
    if item.name == "dce":
        assert item(graph) is graph
