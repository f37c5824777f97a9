"""What graphs have in common that differ in names, hints and symbols only: one hash, the same in every process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

from srcgraph.ir.dims import Dim, substitute, symbol
from srcgraph.ir.document import Document, document
from srcgraph.ir.graph import Graph, Program
from srcgraph.ir.plain import dim_document, dim_of, dims_in

FEW = 5
"""Up to so many symbols that stand nowhere alone are told apart by the sizes they are in; of more, by their names."""


def structural_hash(graph: Graph | Program) -> str:
    """Return a hash of what a closed graph means: equal graphs have equal ones, in every process.

    Names of values, functions and symbols, and where nodes come from, do not count. Types do, with what is known of
    sizes. Functions of a program that nothing calls do not count.
    """
    data = _without_names(document(graph, hints=False))
    symbols = _numbered_symbols([dim_of(d) for d in dims_in(data) if isinstance(d, str)])
    data = _with_sizes(data, lambda text: dim_document(substitute(dim_of(text), symbols)))
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


# -- names of functions -------------------------------------------------------------------------------


def _without_names(data: Document) -> Document:
    """The document with functions numbered in the order in which they are met; those it does not have keep theirs."""
    graphs = {g["name"]: g for g in data.get("graphs", ())}
    if graphs:
        order = [data["entry"]]
        for name in order:  # it grows meanwhile
            order += [n for n in dict.fromkeys(_called(graphs[name])) if n in graphs and n not in order]
        data = {**data, "graphs": [graphs[n] for n in order]}
    else:
        order = [data["name"]] if "name" in data else []
    order = list(dict.fromkeys([*order, *_defined(data)]))
    return _renamed(data, {name: f"function {k}" for k, name in enumerate(order)})


def _nodes(record: Any) -> Iterator[Document]:
    """The nodes of a part of a document, at every depth."""
    if isinstance(record, list):
        for item in record:
            yield from _nodes(item)
    elif isinstance(record, dict):
        if "op" in record:
            yield record
        for key, part in record.items():
            yield from _nodes(part) if key != "attrs" else ()


def _called(record: Any) -> Iterator[str]:
    """The names of the functions that are called, and of those that are run instead."""
    for node in _nodes(record):
        if node["op"] == "call":
            rule = node.get("rule", {})
            yield from filter(None, (node["callee"], rule.get("forward"), rule.get("backward")))


def _defined(record: Any) -> Iterator[str]:
    return (node["name"] for node in _nodes(record) if node["op"] == "define")


_NAMING = ("entry", "name", "callee", "forward", "backward")


def _renamed(record: Any, names: dict[str, str]) -> Any:
    if isinstance(record, list):
        return [_renamed(item, names) for item in record]
    if not isinstance(record, dict):
        return record
    out = {}
    for key, value in record.items():
        if key == "function":  # what the user calls it
            continue
        named = key in _NAMING and isinstance(value, str)
        out[key] = names.get(value, value) if named else value if key == "attrs" else _renamed(value, names)
    return out


# -- symbols ------------------------------------------------------------------------------------------


def _numbered_symbols(sizes: list[Dim]) -> dict[str, Dim]:
    """A number for each symbol: those that stand alone in the order in which they do, then the others."""
    order = list(dict.fromkeys(s for s in (d.symbol for d in sizes) if s is not None))
    rest = sorted(set().union(*(d.symbols() for d in sizes)) - set(order))
    if 1 < len(rest) <= FEW:
        distinct = list(dict.fromkeys(d for d in sizes if not d.symbols().isdisjoint(rest)))
        rest = min(permutations(rest), key=lambda p: _texts(distinct, _numbers([*order, *p])))
    return _numbers([*order, *rest])


def _numbers(order: list[str]) -> dict[str, Dim]:
    return {name: symbol(f"s{k}") for k, name in enumerate(order)}


def _texts(sizes: list[Dim], env: dict[str, Dim]) -> list[str]:
    return [str(substitute(d, env)) for d in sizes]


def _with_sizes(record: Any, change: Callable[[str], int | str]) -> Any:
    """A document with its sizes changed."""
    if isinstance(record, list):
        return [_with_sizes(item, change) for item in record]
    if not isinstance(record, dict):
        return record
    out = {k: _with_sizes(v, change) for k, v in record.items()}
    if isinstance(record.get("shape"), list):
        out["shape"] = [change(d) if isinstance(d, str) else d for d in record["shape"]]
    if "ndim" in record and isinstance(record.get("value"), str):
        out["value"] = change(record["value"])
    return out
