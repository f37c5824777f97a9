"""Numbered instructions back to graphs: the inverse of `srcgraph.ir.listing`, by a document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from srcgraph.errors import ArgumentError, Loc, Problem, TextError
from srcgraph.ir.document import REGIONS, VERSION, Document
from srcgraph.ir.graph import Graph, Program
from srcgraph.ir.plain import DTYPES
from srcgraph.ir.restore import SOURCE, restore
from srcgraph.ir.schema import KINDS, find_breach

TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|(?P<word>[^\W\d]\w*)"""
    r"""|(?P<mark>//|[-+*%(),=@])|(?P<space>\s+)|(?P<comment>\#.*)|(?P<wrong>.)"""
)
WORDS = {"none": None, "true": True, "false": False, "inf": {"float": "inf"}, "nan": {"float": "nan"}}
GROUPS = ("carry", "captures")
OWN = {
    "if": (),
    "while": ("stops",),
    "for": ("stops", "lanes"),
    "call": ("callee", "changes", "rule"),
    "define": ("name", "changes"),
}
"""What stands behind the operands of nodes that are no ops."""
RULE = ("function", "forward", "backward", "moving", "frozen")


def from_instructions(text: str) -> Graph | Program:
    """Read instructions back: a `Program` if the first one is ``program``, else a `Graph`, verified.

    Raises
    ------
    TextError
        The text is no graph, or a type that is written is not what its value has; names the line.
    ArgumentError
        It is no text.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"instructions are text, not {type(text).__name__}")
    lines = text.splitlines()
    block = _Block(lines)
    try:
        found = block.document()
        return restore(found, lines)
    except TextError:
        raise
    except RecursionError:
        raise block.here.error("this is nested too deeply to be read") from None
    except (ValueError, LookupError) as error:  # a text with a wrong escape, a dtype without its number
        raise block.here.error(f"this cannot be read: {error}") from error


class _Line:
    """The words of one instruction, read from left to right."""

    def __init__(self, number: int, text: str):
        self.number, self.source, self.at = number, text, 0
        found = [(m.lastgroup or "", m.group()) for m in TOKEN.finditer(text)]
        self.words = [(kind, word) for kind, word in found if kind not in ("space", "comment")]
        if self.words and self.words[0][0] == "number":
            self.words.pop(0)  # for people to refer to

    def error(self, message: str) -> TextError:
        note = f"line {self.number} is: {self.source.strip()}"
        return TextError(Problem(message, Loc(SOURCE, self.number), notes=(note,)))

    def peek(self, ahead: int = 0) -> str:
        """The next word, '' at the end."""
        return self.words[self.at + ahead][1] if self.at + ahead < len(self.words) else ""

    def kind(self) -> str:
        return self.words[self.at][0] if self.at < len(self.words) else "end"

    def take(self, wanted: str = "", kind: str = "") -> str:
        """The next word, which has to be that, or of that kind."""
        if self.kind() == "end" or (wanted and self.peek() != wanted) or (kind and self.kind() != kind):
            expected = wanted or f"a {kind or 'literal'}"
            raise self.error(f"{expected} is expected, not {self.peek() or 'the end of the line'}")
        self.at += 1
        return self.words[self.at - 1][1]

    def skip(self, mark: str) -> bool:
        """Whether this comes next; it is passed then."""
        if self.peek() != mark or self.kind() == "text":
            return False
        self.at += 1
        return True

    # -- parts ------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        """Values that are read."""
        out = []
        while self.kind() == "word" and self.peek(1) != "=":
            out.append(self.take())
        return out

    def value(self) -> Document:
        """A value that is defined, and what is written of its type."""
        out: Document = {"id": self.take(kind="word"), "line": self.number}
        if self.peek() == "(":
            out["type"] = self.type()
        return out

    def values(self) -> list[Document]:
        if self.skip("-"):
            return []
        out = [self.value()]
        while self.skip(","):
            out.append(self.value())
        return out

    def group(self, item: Callable[[], Any]) -> list[Any]:
        """What stands in parentheses, apart by commas."""
        out = []
        self.take("(")
        while not self.skip(")"):
            out.append(item())
            if self.peek() != ")":
                self.take(",")
        return out

    def type(self) -> Document:
        return dict(self.group(self.fact))

    def fact(self) -> tuple[str, Any]:
        name = self.take(kind="word")
        if name == "weak":
            return name, True
        self.take("=")
        match name:
            case "list":
                return name, self.type()
            case "shape":
                return name, self.group(self.size)
            case "ndim":
                return name, int(self.take(kind="number"))
            case "value":
                return name, self.size()
            case "dtype":
                return name, self.take(kind="word")
        raise self.error(f"{name} is nothing that types have")

    def size(self) -> int | str:
        """An expression, up to the comma or the parenthesis that ends it."""
        depth, words = 0, []
        while self.kind() != "end" and (depth or self.peek() not in (",", ")")):
            depth += {"(": 1, ")": -1}.get(self.peek(), 0)
            words.append(self.take())
        text = " ".join(words)
        return int(text.replace(" ", "")) if re.fullmatch(r"(- )?\d+", text) else text

    def literal(self) -> Any:
        """What stands behind the name of an attribute."""
        if self.peek() == "(":
            return self.group(self.literal)
        if self.skip("-"):
            return self.negative(self.literal())
        kind, word = self.kind(), self.take()
        if kind == "text":
            return json.loads(word)
        if kind == "number":
            return int(word) if word.isdecimal() else {"float": word}
        if word in WORDS:
            return WORDS[word]
        if word in DTYPES:
            return {"dtype": word, "number": self.one(word)} if self.peek() == "(" else {"dtype": word}
        if self.peek() == "(" and word in ("complex", "view", "type"):
            return {word: self.type()} if word == "type" else self.group_of(word)
        raise self.error(f"{word} is no literal")

    def negative(self, literal: Any) -> Any:
        """The number with the other sign."""
        match literal:
            case int() if not isinstance(literal, bool):
                return -literal
            case {"float": str(text)}:
                return {"float": text.removeprefix("-") if text.startswith("-") else f"-{text}"}
        raise self.error("a number is expected behind -")

    def group_of(self, word: str) -> Document:
        """The text of a view, the parts of a complex number."""
        return {word: self.one(word) if word == "view" else self.group(self.literal)}

    def one(self, word: str) -> Any:
        """The literal in parentheses."""
        items = self.group(self.literal)
        if len(items) != 1:
            raise self.error(f"{word} takes one literal, not {len(items)}")
        return items[0]

    def attributes(self, opcode: str) -> tuple[Document, Document]:
        """The groups and attributes of a node, those of the node itself and those of its op apart."""
        own = OWN.get(opcode)
        outside, attrs = {}, {}
        while self.kind() == "word":
            name = self.take()
            self.take("=")
            if own is not None and name in GROUPS:
                outside[name] = self.group(lambda: self.take(kind="word"))
            elif own is not None and name not in own:
                raise self.error(f"{name} means nothing here")
            elif own is None:
                attrs[name] = self.literal()
            else:
                outside[name] = self.own(opcode, name)
        return outside, attrs

    def own(self, opcode: str, name: str) -> Any:
        """What a node that is no op says of itself."""
        found = self.literal()
        if name == "rule":
            if not isinstance(found, list) or len(found) != len(RULE):
                raise self.error(f"rule must be ({', '.join(RULE)})")
            found = dict(zip(RULE, found, strict=True))
        breach = find_breach(found, KINDS[opcode]["properties"][name], name)
        if breach:
            raise self.error(breach)
        return found

    def hints(self) -> Document:
        """What stands behind the marks ``@``, of which nothing has to be understood."""
        out = {}
        while self.skip("@"):
            name = self.take(kind="word")
            out[name] = self.hint() if self.skip("=") else True
        if self.kind() != "end":
            raise self.error(f"{self.peek()} is not expected here")
        return out

    def hint(self) -> Any:
        """A literal, or anything else up to the next hint."""
        start = self.at
        with suppress(TextError, ValueError):
            found = self.literal()
            if self.kind() == "end" or self.peek() == "@":
                return found
        self.at = start
        while self.kind() != "end" and self.peek() != "@":
            self.at += 1
        return None


class _Block:
    """The lines of a text, read from top to bottom."""

    def __init__(self, lines: Sequence[str]):
        found = [_Line(k, text) for k, text in enumerate(lines, 1)]
        self.lines = [line for line in found if line.words]
        self.at = 0

    @property
    def here(self) -> _Line:
        """The line that is being read."""
        return self.lines[max(self.at - 1, 0)]

    def document(self) -> Document:
        if not self.lines:
            raise TextError("there are no instructions")
        first = self.lines[0]
        out: Document = {"version": VERSION}
        if self.next("program"):
            out["entry"] = self.title(first)
            out["graphs"] = []
            while self.at < len(self.lines):
                header = self.header("graph")
                out["graphs"].append({"name": self.title(header), **self.graph(header)})
            return out
        if self.next("graph"):
            out["name"] = self.title(first)
        out["graph"] = self.graph(first)
        if self.at < len(self.lines):
            raise self.lines[self.at].error("the graph has returned: nothing can follow")
        return out

    def next(self, opcode: str) -> bool:
        """Whether the next line is of that kind; it is passed then."""
        if self.at < len(self.lines) and self.lines[self.at].peek() == opcode:
            self.lines[self.at].take()
            self.at += 1
            return True
        return False

    def header(self, opcode: str) -> _Line:
        """The next line, which has to be of that kind."""
        line = self.lines[min(self.at, len(self.lines) - 1)]
        if not self.next(opcode):
            raise line.error(f"a line {opcode!r} is expected here")
        return line

    def title(self, line: _Line) -> str:
        name = json.loads(line.take(kind="text"))
        line.hints()
        return name

    def graph(self, opened: _Line) -> Document:
        """The lines of a graph, up to its ``return``; ``opened`` is the line that announces it."""
        params, nodes = [], []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            opcode = line.take(kind="word")
            if opcode == "return":
                results = line.ids()
                out = {"params": params, "nodes": nodes, "results": results, "line": line.number}
                return {**out, "hints": line.hints()}
            if opcode == "new":
                if nodes:
                    raise line.error("parameters stand first")
                params.append({**line.value(), "hints": line.hints()})
            else:
                nodes.append(self.node(opcode, line))
        raise opened.error("what begins here has no return")

    def node(self, opcode: str, line: _Line) -> Document:
        """A node, and the graphs that follow it."""
        out: Document = {"op": opcode, "line": line.number}
        if opcode != "define":
            out["outputs"] = line.values()
        if opcode not in ("define", "while"):
            out["inputs"] = line.ids()
        outside, attrs = line.attributes(opcode)
        out |= outside
        for name in OWN[opcode][:1] if opcode in ("call", "define") else ():
            if name not in out:
                raise line.error(f"{opcode} needs {name}=")
        if opcode in REGIONS:
            out = {**{key: [] for key in (GROUPS if opcode != "if" else GROUPS[1:])}, **out}
        if attrs:
            out["attrs"] = attrs
        out["hints"] = _distributed(line.hints(), out.get("outputs", []))
        for region in REGIONS.get(opcode, ()):
            header = self.header(region)
            header.hints()
            out[region] = self.graph(header)
        if opcode == "define":
            out["graph"] = self.graph(line)
        return out


def _distributed(hints: Document, outputs: Sequence[Document]) -> Document:
    """Hints of a node, the names being those of its outputs."""
    names = hints.pop("name", None)
    for k, output in enumerate(outputs):
        if isinstance(names, list) and k < len(names):
            output["hints"] = {"name": names[k]}
        elif len(outputs) == 1 and names is not None:
            output["hints"] = {"name": names}
    return hints
