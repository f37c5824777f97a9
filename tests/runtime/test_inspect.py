"""`sg.inspect`: what it shows, that its links hold, and that its HTML is complete, safe and repeatable."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from programs import arrays, scalars

import srcgraph as sg
from srcgraph.ir.printer import format_graph
from srcgraph.runtime import highlight
from srcgraph.runtime.html import CAP

BACKWARD = sg.opt.FAST_RUN.excluding("forward")
"""Tapes, also where few numbers matter."""

HERE = Path(__file__)
VECTOR = np.linspace(0.2, 1.0, 6)


def sweep(u, f, left):
    n = len(u)
    change = 0.0
    for i in range(n):
        west = u[i - 1] if i > 0 else left
        new = 0.5 * (west + f[i] * np.exp(u[i]))
        change += (new - u[i]) ** 2
        u[i] = new
    return change


def relaxed(f, left, tol):
    """Relax until & while "change" > 'tol' <quickly>."""
    u = np.zeros(len(f))
    change = 1.0
    while change > tol:
        change = sweep(u, f, left)  # a < b && "c" </span>
    return np.sum(u * u)


SCALED = lambda x, k: k * x * x  # noqa: E731


class Reader(HTMLParser):
    """The texts and links of each pane, as a browser would have them."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.panes: list[list[tuple[str, str]]] = []
        self.rows: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        heading = tag == "span" and given.get("class") == "h"
        self.open.append("heading" if heading else tag)
        if tag == "pre":
            self.panes.append([])
        if tag == "span" and "span" not in self.open[:-1] and not heading:
            self.panes[-1].append((given.get("data-l") or "", ""))
        if tag == "tr" and "data-l" in given:
            self.rows.append(given["data-l"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() in (tag, "heading")

    def handle_data(self, data: str) -> None:
        if "span" in self.open and self.open[-1] != "i" and self.panes and self.panes[-1]:
            link, text = self.panes[-1][-1]
            self.panes[-1][-1] = (link, text + data)


@pytest.fixture(scope="module")
def seen() -> sg.Inspection:
    return sg.inspect(sg.grad(relaxed), VECTOR, 0.1, 1e-6)


# -- content ----------------------------------------------------------------------------------------


def test_fields_hold_the_texts(seen: sg.Inspection) -> None:
    gradient = sg.grad(relaxed)
    assert seen.source.startswith("def relaxed(f, left, tol):\n") and seen.source.endswith("return np.sum(u * u)")
    assert (seen.file, seen.line) == (HERE.name, relaxed.__code__.co_firstlineno)
    assert seen.ir == format_graph(gradient.graph(VECTOR, 0.1, 1e-6))
    assert seen.cpu == gradient.python(VECTOR, 0.1, 1e-6)
    assert seen.name == "relaxed_grad"


def test_text_is_complete_and_numbered(seen: sg.Inspection) -> None:
    text = str(seen)
    assert "\x1b" not in text and repr(seen) == text
    for part in (seen.source, seen.ir, seen.cpu.rstrip()):
        for line in part.split("\n"):
            assert re.search(rf"^ *\d+  .*{re.escape(line)}$", text, re.MULTILINE) or not line.strip()
    assert "def sweep(u, f, left):" in text, "the function it calls"
    assert "\ntape\n" in text and "\npasses\n" in text


def test_passes_come_from_the_report(seen: sg.Inspection) -> None:
    version, _ = sg.grad(relaxed).version((VECTOR, 0.1, 1e-6))
    records = [(r.name, r.before, r.after) for r in version.report.records]
    assert [(row.name, row.before, row.after) for row in seen.passes] == records
    assert all(0 <= row.ms < 60_000 for row in seen.passes)


def test_nothing_is_called() -> None:
    def fill(x):
        x[0] = 7.0
        return x[0] / 0.0

    before = VECTOR.copy()
    sg.inspect(fill, before)
    assert np.array_equal(before, VECTOR)


def test_keyword_arguments_and_defaults() -> None:
    def scaled(x, k=3.0):
        return x * k

    assert sg.inspect(scaled, x=2.0).ir == sg.inspect(scaled, 2.0, k=4.0).ir
    with pytest.raises(TypeError, match="missing a required argument"):
        sg.inspect(scaled)


def test_only_functions_are_inspected() -> None:
    with pytest.raises(sg.errors.ArgumentError, match="is not a Python function"):
        sg.inspect(3)  # type: ignore[arg-type]


def test_lambda() -> None:
    shown = sg.inspect(SCALED, 2.0, 3.0)
    assert shown.source == "SCALED = lambda x, k: k * x * x  # noqa: E731"
    links = {line.link for pane in shown.panes for s in pane.sections for line in s.lines if line.link}
    assert links == {f"{HERE.name}:{SCALED.__code__.co_firstlineno}"}
    derived = sg.inspect(sg.grad(lambda x: np.sin(x) * x), 2.0)
    assert "lambda x: np.sin(x) * x" in derived.source and "np.cos(x)" in derived.cpu


def test_nested_function_is_shown_alone() -> None:
    def inner(x):
        return x + 1.0

    def outer(x):
        return inner(x) * 2.0

    shown = sg.inspect(outer, 1.0)
    assert [s.heading.split()[0] for s in shown.panes[0].sections] == ["outer", "inner"]
    assert shown.source.splitlines()[0].strip() == "def outer(x):"


def test_files_of_one_base_name_are_told_apart(tmp_path: Path) -> None:
    functions: dict[str, Callable] = {}
    for folder, body in (("a", "return x + 1.0"), ("b", "return 2.0 * helper(x)")):
        path = tmp_path / folder / "model.py"
        path.parent.mkdir()
        path.write_text(f"def {'helper' if folder == 'a' else 'main'}(x):\n    {body}\n")
        exec(compile(path.read_text(), str(path), "exec"), functions)
    shown = sg.inspect(functions["main"], 1.0)
    assert [s.heading for s in shown.panes[0].sections] == ["main  model.py:1", "helper  model.py#2:1"]
    assert {line.link for line in shown.panes[1].sections[0].lines} >= {"model.py:2", "model.py#2:2"}


# -- the tape ---------------------------------------------------------------------------------------


def test_tape_of_a_loop_until_convergence(seen: sg.Inspection) -> None:
    row = seen.tape[0]
    assert (row.variable, row.bytes, row.choice) == ("np.exp(u[i])", "8", "blocks")
    assert re.fullmatch(r"8 \* trips\(line \d+\) \* n", row.total)
    assert row.reason == "as small as u[i], and exp is not run again"
    assert [r.variable for r in seen.tape if r.choice == "recomputed"] == ["i > 0", "f[i]"]
    assert all(bool(r.bytes) == (r.choice in ("array", "list", "blocks")) for r in seen.tape)


BY_PART = "u changes in the loop; this part of it is all that is needed"
NEXT = "the next trip overwrites it"
SQUARE = np.eye(3) + 0.1
TAPES = [
    (scalars.newton_sqrt, (2.0, 1e-9), "x", "list", "8", "8 * trips(line 11)", NEXT),
    (arrays.garch, (VECTOR, 0.1, 0.2), "var", "array", "8", "8 * n", NEXT),
    (arrays.gauss_seidel, (VECTOR, VECTOR, 3), "u[i]", "array", "8", "8 * n_1 * (n - 2)", BY_PART),
    (arrays.slice_add, (VECTOR, 0.1, 3), "x", "array", "8 * n", "8 * n * n_1", NEXT),
    (arrays.power_iteration, (SQUARE, 4), "v", "array", "8 * n", "8 * n * n_1", "matmul is too costly to run again"),
]


@pytest.mark.parametrize("case", TAPES, ids=lambda case: case[0].__name__)
def test_tape_says_what_is_saved_where_and_why(case: tuple) -> None:
    function, args, variable, choice, size, total, reason = case
    shown = sg.inspect(sg.grad(function, mode=BACKWARD), *args)
    row = next(r for r in shown.tape if (r.variable, r.reason) == (variable, reason))
    first = function.__code__.co_firstlineno
    total = re.sub(r"line \d+", lambda m: f"line {first + 2}", total)
    assert (row.choice, row.bytes, row.total) == (choice, size, total)
    name, line = row.place.rsplit(":", 1)
    assert name == Path(function.__code__.co_filename).name
    assert first <= int(line) <= first + len(shown.source.split("\n"))


def test_tape_of_inner_loops_of_unknown_length() -> None:
    rows = {r.variable: r for r in sg.inspect(sg.grad(scalars.nested_whiles, mode=BACKWARD), 2.0, 3).tape}
    assert rows["trips of the loop"].reason == "how often the inner loop ran is not known otherwise"
    assert rows["a"].choice == "nothing"


def test_no_tape_without_a_derivative() -> None:
    shown = sg.inspect(arrays.garch, VECTOR, 0.1, 0.2)
    assert len(shown.tape) == 0 and "tape" not in str(shown) and "<strong>tape" not in shown._repr_html_()


def test_tables_print_as_tables(seen: sg.Inspection) -> None:
    lines = repr(seen.tape).split("\n")
    assert lines[0].split() == [
        "variable",
        "line",
        "bytes",
        "per",
        "iteration",
        "in",
        "all,",
        "at",
        "most",
        "choice",
        "reason",
    ]
    assert lines[1].startswith("np.exp(u[i])") and lines[-1].startswith("blocks: ")
    assert Reader(seen.tape._repr_html_()).rows == []


# -- links ------------------------------------------------------------------------------------------


def links_of(pane: list[tuple[str, str]]) -> set[str]:
    return {link for link, _ in pane if link}


def test_every_link_leads_to_a_source_line(seen: sg.Inspection) -> None:
    source, graph, code = Reader(seen._repr_html_()).panes
    assert links_of(graph) <= links_of(source) and links_of(code) <= links_of(source)
    assert set(Reader(seen._repr_html_()).rows) <= links_of(source)
    assert len(links_of(code)) > 8


def test_links_name_the_line_whose_text_they_stand_by(seen: sg.Inspection) -> None:
    file = HERE.read_text().split("\n")
    source, graph, code = Reader(seen._repr_html_()).panes
    for link, text in source:
        name, line = link.rsplit(":", 1)
        assert name == HERE.name and text.rstrip("\n") == file[int(line) - 1]
    at = {text.strip(): link for link, text in source}
    assert at["u[i] = new"] in {link for link, text in code if text.strip() == "u[i] = new"}
    assert at["while change > tol:"] in {link for link, text in graph if " while_(" in text}
    assert at["def relaxed(f, left, tol):"] == graph[0][0]


def test_the_program_of_the_corpus_links_too() -> None:
    for function, args, *_ in TAPES:
        source, graph, code = Reader(sg.inspect(sg.grad(function), *args)._repr_html_()).panes
        assert links_of(graph) | links_of(code) <= links_of(source), function.__name__


def test_panes_hold_the_texts(seen: sg.Inspection) -> None:
    source, graph, code = ("".join(text for _, text in pane) for pane in Reader(seen._repr_html_()).panes)
    assert seen.source in source
    assert graph == seen.ir + "\n"
    assert code == re.sub(r" +# [\w.]+:\d+$", "", seen.cpu, flags=re.MULTILINE)


# -- HTML -------------------------------------------------------------------------------------------


def test_markup_in_the_source_is_escaped(seen: sg.Inspection) -> None:
    text = seen._repr_html_()
    assert "<quickly>" not in text and "&lt;quickly&gt;" in text
    assert '"c" </span>' not in text and "a &lt; b &amp;&amp;" in text


def test_no_paths(seen: sg.Inspection, tmp_path: Path) -> None:
    seen.save_html(tmp_path / "seen.html")
    for text in (seen._repr_html_(), str(seen), (tmp_path / "seen.html").read_text()):
        assert str(HERE.parent) not in text and "/tests/" not in text


def test_mimebundle(seen: sg.Inspection) -> None:
    assert seen._repr_mimebundle_() == {"text/plain": str(seen), "text/html": seen._repr_html_()}


def test_same_again(seen: sg.Inspection) -> None:
    again = sg.inspect(sg.grad(relaxed), VECTOR, 0.1, 1e-6)
    assert again._repr_html_() == seen._repr_html_()
    other = sg.inspect(sg.grad(relaxed), VECTOR.astype(np.float32), 0.1, 1e-6)
    assert re.findall(r'id="[\w-]+"', other._repr_html_()) != re.findall(r'id="[\w-]+"', again._repr_html_())


def test_same_in_another_process(tmp_path: Path) -> None:
    program = """
import numpy as np, srcgraph as sg
from programs import arrays
x = np.linspace(0.2, 1.0, 6)
print(sg.inspect(sg.grad(arrays.gauss_seidel), x, x, 3)._repr_html_(), end="")
"""
    paths = os.pathsep.join([str(HERE.parents[1]), str(HERE.parents[2])])
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "7"}
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == sg.inspect(sg.grad(arrays.gauss_seidel), VECTOR, VECTOR, 3)._repr_html_()


def test_layout_needs_no_style_sheet(seen: sg.Inspection) -> None:
    bare = re.sub(r"<(style|script)>.*?</\1>", "", seen._repr_html_(), flags=re.DOTALL)
    assert bare.count("white-space:pre;") == 3 and "display:flex" in bare
    assert all("white-space:pre" in tag for tag in re.findall(r"<pre[^>]*><code[^>]*>", bare))
    source = Reader(bare).panes[0]
    assert all(text.endswith("\n") for _, text in source), "lines break without style"


def test_hover_rules_without_script(seen: sg.Inspection) -> None:
    text = seen._repr_html_()
    (key,) = re.findall(r'<div class="srcgraph" id="([\w-]+)"', text)
    rules = re.findall(rf'^#{key}:has\(\[data-l="([^"]+)"\]:hover\) \[data-l="\1"\]', text, re.MULTILINE)
    source, graph, code = Reader(text).panes
    assert set(rules) == (links_of(graph) | links_of(code)) & links_of(source)


@pytest.fixture(scope="module")
def long() -> sg.Inspection:
    body = "".join(f"    x{k + 1} = np.sin(x{k}) * {k}.5  # a & b\n" for k in range(CAP + 40))
    text = f"def long(x0):\n{body}    return x{CAP + 40}\n"
    space: dict = {"np": np}
    exec(text, space)
    return sg.inspect(sg.api.compile(space["long"], source=text), 0.5)


def test_long_panes_are_capped_and_folded(long: sg.Inspection) -> None:
    text = long._repr_html_()
    source, graph, _ = Reader(text).panes
    assert len(source) == len(graph) == CAP
    assert f"{42} more lines" in text
    assert html.escape(f"x{CAP + 39} = ") in text.split("more lines", 1)[1], "the rest is there, folded"
    assert text.count(":has(") == 100
    assert len(text) < 250_000


def test_saved_page_is_complete(long: sg.Inspection, tmp_path: Path) -> None:
    long.save_html(tmp_path / "long.html")
    text = (tmp_path / "long.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>") and "more lines" not in text
    source, graph, code = Reader(text.split("<body>")[1].split("</body>")[0]).panes
    assert [len(source), len(graph), len(code)] == [
        len(part.rstrip("\n").split("\n")) for part in (long.source, long.ir, long.cpu)
    ]


# -- compiled functions in a notebook ---------------------------------------------------------------


def test_compiled_shows_its_newest_version() -> None:
    gradient = sg.grad(arrays.garch)
    assert "not compiled for any types yet" in gradient._repr_html_()
    gradient.graph(VECTOR, 0.1, 0.2)
    gradient.graph(VECTOR[:1], 0.1, 0.2)
    newest = sg.inspect(arrays.garch, VECTOR[:1], 0.1, 0.2)
    assert "f64[1]" in newest.ir and "x: f64[1]" in gradient._repr_html_()


# -- colours ----------------------------------------------------------------------------------------

TEXTS = [
    ['def f(x):  # a < "b"', '    """Two', '    & lines."""', "    return x if x > 1.5e3 else None", ""],
    ["g = grad(lambda x: x,", "         (0,"],
    ["        indented = 'more'", "    than(this)"],
    ["'never closed"],
    ["\tnaïve = 'ünï' + \"☃\"  # ≤"],
]


@pytest.mark.parametrize("lines", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("pygments", [True, False], ids=["pygments", "tokenize"])
def test_colours_keep_the_text(lines: list[str], pygments: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if pygments:
        pytest.importorskip("pygments")
    else:
        monkeypatch.setattr(highlight, "PythonLexer", None)
    shown = highlight.highlighted(lines)
    assert [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in shown] == lines


def test_both_highlighters_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygments")
    first = highlight.highlighted(TEXTS[0])
    monkeypatch.setattr(highlight, "PythonLexer", None)
    second = highlight.highlighted(TEXTS[0])
    assert first[0] == '<b class="k">def</b> <b class="d">f</b>(x):  <span class="c"># a &lt; "b"</span>' == second[0]
    assert '<span class="n">1.5e3</span>' in first[3] and '<span class="n">1.5e3</span>' in second[3]
