"""What a specialised function became: source, graph, generated code, tape and passes, side by side.

The panes are lines with links: a link names the line of the user's source that a line comes from, as
``model.py:12``, so that lines of one origin can be found in every pane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from srcgraph.codegen.cpu import Generated
from srcgraph.errors import Loc
from srcgraph.frontend.session import FunctionCode
from srcgraph.ir.dims import Dim
from srcgraph.ir.graph import For, Graph, Origin, Value
from srcgraph.ir.printer import format_lines
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.residuals import Choice
from srcgraph.opt.modes import FAST_RUN
from srcgraph.opt.pipeline import db
from srcgraph.opt.rewriting.local import LocalRewrite
from srcgraph.runtime.excerpts import Excerpt, excerpts, short_names
from srcgraph.runtime.html import fragment, page, table
from srcgraph.runtime.options import Options
from srcgraph.runtime.specialized import Specialization

MEANING = {
    "array": "array: one array, an axis per loop",
    "variable": "variable: what a branch computes, if it is taken",
    "list": "list: pushed in each trip, popped in the reverse sweep",
    "blocks": "blocks: one array per run of the inner loops, kept on a list",
    "undone": "undone: the reverse sweep changes the variable back, trip by trip",
    "forward": "forward: the loop carries derivatives along; nothing goes back over it",
    "states": "states: stored before some of the trips, from which the others run again",
}
"""The ways of saving, explained below a tape table."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a pane: its number, text, link ('' for none) and what to say about it."""

    number: int
    text: str
    link: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a heading, which may be ''."""

    heading: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Pane:
    """A named column of sections."""

    name: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class TapeRow:
    """How the reverse sweep comes by one value of the forward sweep.

    Attributes
    ----------
    variable : str
        The user's variable, or the expression.
    place : str
        Its line, as ``model.py:12``.
    bytes : str
        Saved by each iteration of the innermost loop around it, in terms of the sizes.
    total : str
        Saved by a whole run of its loops.
    choice : str
        ``array``, ``list``, ``blocks``, ``states``, ``recomputed``, ``undone`` or ``nothing``.
    reason : str
    """

    variable: str
    place: str
    bytes: str
    total: str
    choice: str
    reason: str


@dataclass(frozen=True, slots=True)
class PassRow:
    """What one pass did: milliseconds, and nodes before and after."""

    name: str
    before: int
    after: int
    ms: float


@dataclass(frozen=True, slots=True)
class RewriteRow:
    """A local rewrite that was applied: how often, among those of which stage, and what it does."""

    name: str
    stage: str
    count: int
    formula: str


@dataclass(frozen=True, slots=True)
class LoopRow:
    """Whether threads share a loop of the generated code, or why not; its line, as ``model.py:12``."""

    place: str
    found: str


@dataclass(frozen=True, slots=True, repr=False)
class Table(Sequence[Any]):
    """Rows of one dataclass, shown as a table.

    Attributes
    ----------
    titles : dict
        Field of a row to the heading of its column.
    rows : tuple
    note : str
        Lines to show below; may be ''.
    """

    titles: dict[str, str]
    rows: tuple[Any, ...]
    note: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def texts(self, row: Any, columns: Iterable[str]) -> list[str]:
        """Some fields of a row as text."""
        values = (getattr(row, name) for name in columns)
        return [f"{v:.2f}" if isinstance(v, float) else str(v) for v in values]

    def __repr__(self) -> str:
        cells = [list(self.titles.values()), *(self.texts(row, self.titles) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        return "\n".join([*rows, self.note] if self.note else rows)

    def _repr_html_(self) -> str:
        return table(self)


@dataclass(frozen=True, slots=True, repr=False)
class Inspection:
    """What a function became for the types of some arguments.

    Printed, it is complete text; in a notebook, three panes in which hovering over a line marks the
    lines of the same origin, and a click keeps the mark.

    Attributes
    ----------
    name : str
        Of the generated function.
    options : Options
        How it was compiled.
    source : str
        The function as the user wrote it; other functions that it calls are in ``panes``.
    file, line : str, int
        Where it stands: the base name of the file, and the first line of ``source``.
    ir : str
        The optimised graph.
    cpu, cuda : str
        The generated Python, for the CPU or as CUDA kernels; '' for what it was not compiled for.
    tape : Table of TapeRow
        Of a derivative: what the reverse sweep needs, and how it comes by it.
    passes : Table of PassRow
        The passes that ran, in order.
    rewrites : Table of RewriteRow
        The local rewrites of `srcgraph.opt.db` that were applied.
    parallel : Table of LoopRow
        With ``parallel``: the loops of the generated code, and which of them threads share.
    panes : tuple of Pane
        Source, graph and generated code, line by line with links.
    """

    name: str
    options: Options
    source: str
    file: str
    line: int
    ir: str
    cpu: str
    cuda: str
    tape: Table
    passes: Table
    rewrites: Table
    parallel: Table
    panes: tuple[Pane, ...] = field(default=())

    @property
    def head(self) -> str:
        """The name and types, as in the graph's first line, and the options that are not the usual ones."""
        first = self.ir.split("\n", 1)[0]
        note = "" if self.options.raises else f'   error_model="{self.options.error_model}"'
        note += "" if self.options.on_cpu else f'   target="{self.options.target}"'
        note += "" if not self.options.parallel else f"   parallel={self.options.parallel!r}"
        note += "" if self.options.mode.name == FAST_RUN.name else f"   mode={self.options.mode.name}"
        flags = ", ".join(map(repr, sorted(self.options.mode.fastmath)))
        note += f"   fastmath={{{flags}}}" if flags else ""
        return self.name + first[first.index("(") : -1] + note

    def __repr__(self) -> str:
        parts = [self.head, *map(_pane_text, self.panes)]
        if self.tape:
            parts.append(f"tape\n{self.tape!r}")
        if self.rewrites:
            parts.append(f"rewrites\n{self.rewrites!r}")
        if self.parallel:
            parts.append(f"parallel\n{self.parallel!r}")
        untimed = {k: v for k, v in self.passes.titles.items() if k != "ms"}  # so that text can be compared
        return "\n\n".join([*parts, f"passes\n{replace(self.passes, titles=untimed)!r}"])

    def save_html(self, path: str | Path) -> None:
        """Write a page of its own that shows every line of every pane."""
        Path(path).write_text(page(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        return fragment(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _pane_text(pane: Pane) -> str:
    out = [pane.name]
    for section in pane.sections:
        out += [f"  {section.heading}"] if section.heading else []
        linked = pane.name == "graph"
        wide = max((len(line.link) for line in section.lines), default=0)
        for line in section.lines:
            where = f"{line.link:<{wide}}  " if linked else ""
            out.append(f"{line.number:6d}  {where}{line.text}".rstrip())
    return "\n".join(out)


# -- making one -----------------------------------------------------------------------------------


def inspection(code: FunctionCode, version: Specialization) -> Inspection:
    """Put together what is known of a compiled version of a function."""
    lines = format_lines(version.graph)
    written = version.generated.text
    places = (*(origin.loc for _, origin in lines), *written.lines.values(), *(c.loc for c in version.tape))
    main = Loc(code.file, code.node.lineno, code.node.col_offset)
    shown = excerpts(main, (loc for loc in places if loc is not None))
    links = _Links(short_names(e.file for e in shown))
    start = links.to(main)
    panes = (
        Pane("source", tuple(_source_section(e, links, version.graph, main) for e in shown)),
        Pane("graph", (Section("", tuple(_graph_lines(lines, links, start))),)),
        Pane("generated code", (Section("", tuple(_code_lines(version, links, start))),)),
    )
    return Inspection(
        name=version.generated.name,
        options=version.options,
        source="\n".join(shown[0].lines),
        file=links.names[main.file],
        line=shown[0].first,
        ir="\n".join(text for text, _ in lines),
        cpu=written.text if version.options.on_cpu else "",
        cuda="" if version.options.on_cpu else written.text,
        tape=_tape(version.tape, links),
        passes=_passes(version),
        rewrites=_rewrites(version),
        parallel=_parallel(version.generated, links),
        panes=panes,
    )


@dataclass(frozen=True, slots=True)
class _Links:
    """Names of lines of the user's files; a file by its base name only."""

    names: dict[str, str]

    def to(self, loc: Loc | None) -> str:
        return "" if loc is None else f"{self.names[loc.file]}:{loc.line}"


def _source_section(excerpt: Excerpt, links: _Links, graph: Graph, main: Loc) -> Section:
    types = _types_by_line(graph, excerpt.file)
    if excerpt.file == main.file:
        types.setdefault(main.line, []).extend(_typed(graph.params))
    name = links.names[excerpt.file]
    lines = (
        Line(k, text, f"{name}:{k}", ", ".join(dict.fromkeys(types.get(k, ()))))
        for k, text in enumerate(excerpt.lines, excerpt.first)
    )
    return Section(f"{excerpt.name}  {name}:{excerpt.first}".strip(), tuple(lines))


def _types_by_line(graph: Graph, file: str) -> dict[int, list[str]]:
    """The user's variables that get a value on each line, with their types."""
    found: dict[int, list[str]] = {}
    for node in all_nodes(graph):
        loc = node.origin.loc
        if loc is not None and loc.file == file and not node.origin.by:
            index = node.body.params[:1] if isinstance(node, For) else ()
            found.setdefault(loc.line, []).extend(_typed((*index, *node.outputs)))
    return found


def _typed(values: Iterable[Value]) -> list[str]:
    return [f"{v.name}: {v.type}" for v in values if v.name.isidentifier() and not v.name.startswith("_")]


def _graph_lines(lines: Iterable[tuple[str, Origin]], links: _Links, start: str) -> Iterator[Line]:
    for k, (text, origin) in enumerate(lines, 1):
        link = start if k == 1 else links.to(origin.loc)
        at = f"{link}, column {origin.loc.col + 1}" if origin.loc is not None else ""
        yield Line(k, text, link, f"{at}, made by {origin.by}" if origin.by else at)


def _code_lines(version: Specialization, links: _Links, start: str) -> Iterator[Line]:
    written, head = version.generated.text, f"def {version.generated.name}("
    for k, text in enumerate(written.text.rstrip("\n").split("\n"), 1):
        yield Line(k, text, start if text.startswith(head) else links.to(written.lines.get(k)))


def tape_table(version: Specialization) -> Table:
    """How the reverse sweep of a derivative comes by what it needs."""
    return _tape(version.tape, _Links(short_names(c.loc.file for c in version.tape if c.loc is not None)))


def _tape(choices: Sequence[Choice], links: _Links) -> Table:
    titles = {
        "variable": "variable",
        "place": "line",
        "bytes": "bytes per iteration",
        "total": "in all, at most",
        "choice": "choice",
        "reason": "reason",
    }
    note = "\n".join(text for how, text in MEANING.items() if any(c.how == how for c in choices))
    return Table(titles, tuple(_tape_row(c, links) for c in choices), note)


def _tape_row(choice: Choice, links: _Links) -> TapeRow:
    saved = choice.how in ("variable", "array", "list", "blocks", "states")
    total = " * ".join(map(_factor, (choice.bytes, *choice.trips))) if saved else ""
    each = str(choice.bytes) if saved else ""
    return TapeRow(choice.name, links.to(choice.loc), each, total, choice.how, choice.reason)


def _factor(size: Dim) -> str:
    return f"({size})" if len(size.terms) > 1 else str(size)


def _passes(version: Specialization) -> Table:
    titles = {"name": "pass", "before": "nodes before", "after": "after", "ms": "ms"}
    rows = (PassRow(r.name, r.before, r.after, 1e3 * r.seconds) for r in version.report.records)
    return Table(titles, tuple(rows))


def _parallel(generated: Generated, links: _Links) -> Table:
    rows = dict.fromkeys((links.to(loc), found) for loc, found in generated.shared)
    return Table({"place": "loop", "found": "found"}, tuple(LoopRow(*row) for row in rows))


def _rewrites(version: Specialization) -> Table:
    titles = {"name": "rewrite", "stage": "stage", "count": "times", "formula": "what"}
    found: dict[tuple[str, str], int] = {}
    for record in version.report.records:
        for name, count in record.rules.items():
            key = name, record.name.removesuffix("_rules")
            found[key] = found.get(key, 0) + count
    formulas = {e.name: e.item.doc for e in db.everything() if isinstance(e.item, LocalRewrite)}
    return Table(titles, tuple(RewriteRow(n, s, count, formulas.get(n, "")) for (n, s), count in found.items()))
