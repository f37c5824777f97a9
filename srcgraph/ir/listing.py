"""Documents as numbered instructions, one a line; `srcgraph.ir.scanner` is the inverse.

    1 new x1(ndim=2, dtype=float64, shape=(n, m))
    2 tanh x2(ndim=2, dtype=float64, shape=(n, m)) x1
    3 sum x3(ndim=0, dtype=float64) x2 axes=(0, 1)
    4 return x3

``docs/instructions.md`` specifies the form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from srcgraph.ir.document import REGIONS, Document, Types, document
from srcgraph.ir.graph import Graph, Program

Line: TypeAlias = tuple[int, str]
"""How deep it is nested, and its text."""


def instructions(graph: Graph | Program, *, types: Types = "all", hints: bool = True) -> str:
    """Return a closed graph, or a program, as numbered instructions.

    Parameters
    ----------
    types : {"all", "inputs"}
        ``inputs`` leaves out each type that follows from what stands before it.
    hints : bool
        Whether names and places are written, which mean nothing.

    Returns
    -------
    str
        What `from_instructions` reads back exactly.
    """
    return numbered(list(document_lines(document(graph, types=types, hints=hints))))


def numbered(lines: Sequence[Line]) -> str:
    """Lines with their numbers."""
    width = len(str(len(lines)))
    return "".join(f"{k:{width}} {'  ' * depth}{text}\n" for k, (depth, text) in enumerate(lines, 1))


def document_lines(document: Document) -> Iterator[Line]:
    """The lines of a document."""
    if "graphs" in document:
        yield 0, f"program {_text(document['entry'])}"
        for graph in document["graphs"]:
            yield 0, f"graph {_text(graph['name'])}"
            yield from graph_lines(graph, 1)
    elif "name" in document:
        yield 0, f"graph {_text(document['name'])}"
        yield from graph_lines(document["graph"], 1)
    else:
        yield from graph_lines(document["graph"], 0)


def graph_lines(graph: Document, depth: int) -> Iterator[Line]:
    """The lines of a graph, the last one being its ``return``."""
    for param in graph["params"]:
        yield depth, " ".join(["new", value_text(param), *hint_texts(param.get("hints", {}))])
    for node in graph["nodes"]:
        yield from node_lines(node, depth)
    yield depth, " ".join(["return", *graph["results"], *hint_texts(graph.get("hints", {}))])


def node_lines(node: Document, depth: int = 0) -> Iterator[Line]:
    """The line of a node, and those of its graphs."""
    yield depth, node_text(node)
    for region in REGIONS.get(node["op"], ()):
        yield depth + 1, region
        yield from graph_lines(node[region], depth + 2)
    if node["op"] == "define":
        yield from graph_lines(node["graph"], depth + 1)


def node_text(node: Document) -> str:
    """A node without its graphs."""
    outputs = node.get("outputs", [])
    words = [node["op"]]
    if node["op"] != "define":
        words.append(", ".join(map(value_text, outputs)) or "-")
    words += node.get("inputs", [])
    words += [f"{key}=({', '.join(node[key])})" for key in ("carry", "captures") if key in node]
    plain = {k: node[k] for k in ("callee", "name", "changes", "rule", "stops", "lanes") if k in node}
    if "rule" in plain:
        plain["rule"] = list(plain["rule"].values())
    words += [f"{k}={literal_text(v)}" for k, v in {**plain, **node.get("attrs", {})}.items()]
    names = [o.get("hints", {}).get("name", "") for o in outputs]
    named = {"name": names[0] if len(names) == 1 else names} if any(names) else {}
    return " ".join([*words, *hint_texts({**named, **node.get("hints", {})})])


def hint_texts(hints: Mapping[str, Any]) -> list[str]:
    return [f"@{key}={literal_text(value)}" for key, value in hints.items()]


def value_text(value: Document) -> str:
    """What a value is called where it is defined, and its type."""
    return value["id"] + (f"({type_text(value['type'])})" if "type" in value else "")


def type_text(type: Document) -> str:
    """The facts of a type."""
    if "list" in type:
        return f"list=({type_text(type['list'])})"
    return ", ".join("weak" if key == "weak" else f"{key}={_fact(value)}" for key, value in type.items())


def _fact(value: Any) -> str:
    return _tuple([str(v) for v in value]) if isinstance(value, list) else str(value)


def literal_text(value: Any) -> str:
    """A literal as it stands behind the name of an attribute."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case list():
            return _tuple([literal_text(v) for v in value])
        case {"dtype": dtype, "number": number}:
            return f"{dtype}({literal_text(number)})"
        case {"complex": [real, imag]}:
            return f"complex({literal_text(real)}, {literal_text(imag)})"
        case {"view": view}:
            return f"view({_text(view)})"
        case {"type": type}:
            return f"type({type_text(type)})"
        case {"dtype": found} | {"int": found} | {"float": found}:
            return str(found)
    return repr(value)


def _tuple(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
