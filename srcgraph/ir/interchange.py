"""Graphs as JSON for programs in other languages, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from srcgraph.errors import TextError
from srcgraph.ir.document import Types, document
from srcgraph.ir.graph import Graph, Program
from srcgraph.ir.restore import restore
from srcgraph.ir.schema import find_breach


def to_json(graph: Graph | Program, *, types: Types = "all", hints: bool = True, indent: int | None = None) -> str:
    """Return a closed graph, or a program, as JSON that follows ``docs/graph.schema.json``.

    Parameters
    ----------
    types : {"all", "inputs"}
        ``inputs`` leaves out each type that follows from what stands before it.
    hints : bool
        Whether names and places are written, which mean nothing.
    indent : int, optional
        How far parts are set in; all on one line otherwise.
    """
    return json.dumps(document(graph, types=types, hints=hints), indent=indent, allow_nan=False)


def from_json(text: str | Mapping[str, Any]) -> Graph | Program:
    """Read JSON, or what it was decoded to, back to a graph or a program, verified.

    Raises
    ------
    TextError
        It breaks the schema, or is no graph; names the place.
    """
    try:
        found = json.loads(text) if isinstance(text, str) else dict(text) if isinstance(text, Mapping) else text
        breach = find_breach(found)
        if breach:
            raise TextError(breach)
        return restore(found)
    except TextError:
        raise
    except RecursionError:
        raise TextError("the document is nested too deeply to be read") from None
    except ValueError as error:  # also integers with more digits than Python reads
        raise TextError(f"this is no JSON: {error}") from error
