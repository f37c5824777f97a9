"""An inspection as HTML: a fragment for notebooks, and a page of its own.

What matters for reading is in the markup and in inline styles, so that the text stays readable where
style sheets and scripts are stripped. Colours are mixed from the text colour of the page around, so
that they follow its theme, light or dark, without having to know it. Hovering works by script, and by
style alone for the first `RULES` lines that are linked. Ids are made of the content, so that the same
inspection always gives the same HTML.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from srcgraph.runtime.highlight import highlighted

if TYPE_CHECKING:
    from srcgraph.runtime.inspection import Inspection, Line, Pane, Table

CAP = 300
"""Lines of a pane that a fragment links and colours; the rest is folded away as plain text."""
RULES = 100
"""Linked lines that style rules mark on hovering where no script runs."""

STYLE = """
.srcgraph{--sg-mark:#ffc02b40;--sg-pin:#ffb21c55}
.srcgraph.srcgraph b{font-weight:inherit}
.srcgraph.srcgraph .k{color:color-mix(in oklab,#a066d9 80%,currentColor)}
.srcgraph.srcgraph .s{color:color-mix(in oklab,#2f9e62 80%,currentColor)}
.srcgraph.srcgraph .n{color:color-mix(in oklab,#3b87d6 80%,currentColor)}
.srcgraph.srcgraph .c{color:color-mix(in oklab,#878b92 86%,currentColor)}
.srcgraph.srcgraph .d{color:color-mix(in oklab,#d2762b 80%,currentColor);font-weight:600}
.srcgraph.srcgraph code>span{display:block;padding-right:1em}
.srcgraph.srcgraph code>span[data-l]{cursor:pointer}
.srcgraph.srcgraph code i{font-style:normal;opacity:.55;user-select:none}
.srcgraph.srcgraph code .h{opacity:.65;padding:.5em 0 .2em .8em}
.srcgraph.srcgraph .x i{opacity:.25}
.srcgraph.srcgraph .on,.srcgraph.srcgraph [data-l]:hover{background:var(--sg-mark)}
.srcgraph.srcgraph .pin{background:var(--sg-pin);box-shadow:inset 3px 0 #e8970c}
.srcgraph.srcgraph table{border-collapse:collapse;margin:.4em 0;font-size:12px;border:0;table-layout:auto}
.srcgraph.srcgraph th,.srcgraph.srcgraph td{text-align:left;vertical-align:baseline;padding:.25em 1.2em .25em .6em;
border:0;border-bottom:1px solid #8884;max-width:none;white-space:normal}
.srcgraph.srcgraph tr{background:none}
.srcgraph.srcgraph th{font-weight:600;opacity:.65}
.srcgraph.srcgraph summary{cursor:pointer;padding:.35em 0}
"""

SCRIPT = """
for(const root of document.querySelectorAll('[id="ID"]:not([data-live])')){
  root.dataset.live='';
  const lines=new Map();let pinned='';
  for(const e of root.querySelectorAll('[data-l]')){
    const k=e.dataset.l;if(!lines.has(k))lines.set(k,[]);lines.get(k).push(e)}
  const mark=(k,c)=>{
    for(const e of root.querySelectorAll('.'+c))e.classList.remove(c);
    for(const e of lines.get(k)||[])e.classList.add(c)};
  const of=t=>{const e=t.closest&&t.closest('[data-l]');return e?e.dataset.l:''};
  root.addEventListener('mouseover',e=>mark(of(e.target),'on'));
  root.addEventListener('mouseleave',()=>mark('','on'));
  root.addEventListener('click',e=>{
    const k=of(e.target);if(!k||!getSelection().isCollapsed)return;
    pinned=pinned===k?'':k;mark(pinned,'pin');if(!pinned)return;
    const here=e.target.closest('pre');
    for(const box of root.querySelectorAll('pre')){
      const hit=box!==here&&lines.get(k).find(l=>box.contains(l));if(!hit)continue;
      const top=hit.getBoundingClientRect().top-box.getBoundingClientRect().top;
      if(top<0||top>box.clientHeight-24)box.scrollTop+=top-box.clientHeight/3}})}
"""
MONO = "font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
CODE = (
    f"display:block;width:max-content;min-width:100%;white-space:pre;tab-size:4;{MONO};"
    "color:inherit;background:none;padding:0"
)
SANS = "font:13px/1.45 system-ui,sans-serif"


def fragment(seen: Inspection) -> str:
    """The inspection for a notebook: long panes are cut."""
    return _document(seen, CAP)


def page(seen: Inspection) -> str:
    """The inspection as a standalone page: complete."""
    body = _document(seen, None)
    style = ":root{color-scheme:light dark}body{margin:1em 1.5em}.srcgraph pre{max-height:72vh!important}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(seen.name)}</title><style>{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def table(shown: Table) -> str:
    """A table by itself."""
    return _table(shown, list(shown.titles), [""] * len(shown))


def hint(text: str) -> str:
    """What to show of a compiled function that has no version yet."""
    return (
        f'<div style="{SANS}"><code>{escape(text)}</code> is not compiled for any types yet: '
        "call it, or give it to <code>sg.inspect</code> with example arguments.</div>"
    )


def _document(seen: Inspection, cap: int | None) -> str:
    used = {line.link for pane in seen.panes[1:] for line in _lines(pane)}
    panes = "\n".join(_pane(pane, used, cap) for pane in seen.panes)
    tables = f"{_tape(seen.tape)}{_rewrites(seen.rewrites)}{_parallel(seen.parallel)}{_passes(seen.passes)}"
    body = (
        f'<div style="{MONO};font-weight:600;overflow-wrap:anywhere;padding:.3em 0 .6em">{escape(seen.head)}</div>\n'
        f'<div style="display:flex;flex-wrap:wrap;gap:12px">\n{panes}\n</div>\n{tables}'
    )
    key = "sg-" + hashlib.sha256(body.encode()).hexdigest()[:12]
    rules = _hover_rules(key, seen.panes)
    return (
        f'<div class="srcgraph" id="{key}" style="{SANS}">\n<style>{STYLE}{rules}</style>\n{body}'
        f"<script>{SCRIPT.replace('ID', key)}</script>\n</div>"
    )


def _lines(pane: Pane) -> Iterable[Line]:
    return (line for section in pane.sections for line in section.lines)


def _pane(pane: Pane, used: set[str], cap: int | None) -> str:
    """A column; ``used`` are the links that other panes have too."""
    lines = list(_lines(pane))
    colours = iter(highlighted(_without_comment(line) for line in lines[:cap]))
    width = len(str(max((line.number for line in lines), default=0)))
    out, left = [], len(lines) if cap is None else cap
    for section in pane.sections:
        if section.heading and left > 0:
            out.append(f'<span class="h">{escape(section.heading)}\n</span>')
        for line in section.lines[: max(left, 0)]:
            out.append(_line(line, next(colours), width, line.link in used))
        left -= len(section.lines)
    rest = _rest([] if cap is None else lines[cap:])
    grow = 2 if pane.name == "source" else 3
    return (
        f'<div style="flex:{grow} 1 22em;min-width:0;border:1px solid #8885;border-radius:6px;overflow:hidden">'
        f'<div style="padding:.3em .8em;border-bottom:1px solid #8885;font-weight:600">{escape(pane.name)}</div>'
        f'<pre style="margin:0;padding:.3em 0;overflow:auto;max-height:36em;background:none;border:0">'
        f'<code style="{CODE}">{"".join(out)}</code>{rest}</pre></div>'
    )


def _without_comment(line: Line) -> str:
    """A generated line without the comment that says what its link says."""
    return line.text.removesuffix(f"# {line.link}").rstrip() if line.link else line.text


def _line(line: Line, coloured: str, width: int, linked: bool) -> str:
    title = f' title="{escape(line.title)}"' if line.title else ""
    place = f' data-l="{escape(line.link)}"' if line.link else ""
    plain = "" if linked else ' class="x"'
    return f"<span{plain}{place}{title}><i> {line.number:{width}d}  </i>{coloured}\n</span>"


def _rest(lines: Sequence[Line]) -> str:
    """The lines that a capped pane does not show, folded and plain."""
    if not lines:
        return ""
    text = "".join(f" {line.number:d}  {line.text}\n" for line in lines)
    note = f"{len(lines)} more lines, plain; save_html(path) links them"
    return (
        f'<details style="{SANS};white-space:normal;padding:.3em .8em"><summary>{note}</summary>'
        f'<code style="{CODE}">{escape(text, quote=False)}</code></details>'
    )


def _tape(tape: Table) -> str:
    if not tape:
        return ""
    saved = sum(bool(row.bytes) for row in tape)
    again = sum(row.choice == "recomputed" for row in tape)
    summary = f"<strong>tape</strong>: {saved} saved, {again} recomputed"
    body = _table(tape, list(tape.titles), [row.place for row in tape])
    note = "".join(f'<div style="opacity:.75">{escape(text)}</div>' for text in tape.note.split("\n"))
    return _details(summary, body + note, True)


def _parallel(loops: Table) -> str:
    if not loops:
        return ""
    shared = sum(not row.found.startswith("in order") for row in loops)
    body = _table(loops, list(loops.titles), [row.place for row in loops])
    return _details(f"<strong>parallel</strong>: {shared} of {len(loops)} loops", body, False)


def _rewrites(rewrites: Table) -> str:
    if not rewrites:
        return ""
    body = _table(rewrites, list(rewrites.titles), [""] * len(rewrites))
    return _details(f"<strong>rewrites</strong>: {sum(row.count for row in rewrites)}", body, False)


def _passes(passes: Table) -> str:
    """Times are left out: they differ from run to run."""
    columns = [name for name in passes.titles if name != "ms"]
    return _details(f"<strong>passes</strong>: {len(passes)}", _table(passes, columns, [""] * len(passes)), False)


def _details(summary: str, body: str, opened: bool) -> str:
    return f'<details{" open" if opened else ""} style="margin-top:.6em"><summary>{summary}</summary>{body}</details>\n'


def _table(shown: Table, columns: Sequence[str], links: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(shown.titles[name])}</th>" for name in columns)
    rows = []
    for row, link in zip(shown, links, strict=True):
        texts = zip(columns, shown.texts(row, columns), strict=True)
        cells = "".join(f"<td>{_cell(name, text)}</td>" for name, text in texts)
        place = f' data-l="{escape(link)}"' if link else ""
        rows.append(f"<tr{place}>{cells}</tr>\n")
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(rows)}</tbody></table>"


def _cell(name: str, text: str) -> str:
    code = name in ("variable", "bytes", "total", "name", "formula") and text
    return f'<code style="{MONO};background:none;padding:0">{escape(text)}</code>' if code else escape(text)


def _hover_rules(key: str, panes: Sequence[Pane]) -> str:
    """Style rules that mark the lines of one origin while one of them is hovered over."""
    counts = Counter(link for pane in panes for link in {line.link for line in _lines(pane)} if link)
    links = [link for link in dict.fromkeys(line.link for line in _lines(panes[0])) if counts[link] > 1][:RULES]
    of = (f'[data-l="{_css_text(link)}"]' for link in links)
    return "".join(f"#{key}:has({a}:hover) {a}{{background:var(--sg-mark)}}\n" for a in of)


def _css_text(text: str) -> str:
    """Text for a CSS string: anything unusual as an escape."""
    return re.sub(r"[^\w.:#-]", lambda m: f"\\{ord(m[0]):x} ", text)
