"""What a file of recorded graphs holds."""

from __future__ import annotations

import base64
import gzip
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "SRCGRAPH_CONFORMANCE"


@dataclass(frozen=True, slots=True)
class Kind:
    """The dtype and the lengths of an array, None where one is not known; a number has no axes."""

    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One use of an op; its inputs are names, or arrays."""

    op: str
    scalar: str | None
    properties: dict[str, Any]
    inputs: tuple[Any, ...]
    outputs: tuple[tuple[str, Kind], ...]

    @property
    def name(self) -> str:
        """What it is found by: the op, and what it is made of."""
        inner = self.properties.get("core_op") if self.op == "Blockwise" else self.scalar
        return f"{self.op} {inner.partition('{')[0]}" if inner and self.op in ("Blockwise", "Elemwise") else self.op


@dataclass(frozen=True, slots=True)
class Record:
    """One graph, with arguments and results."""

    key: str
    inputs: tuple[Kind, ...]
    nodes: tuple[NodeRecord, ...]
    outputs: tuple[Any, ...]
    args: tuple[np.ndarray, ...]
    results: tuple[np.ndarray, ...]


def records() -> list[Record]:
    """All graphs of the file, each once; none where there is no file."""
    where = os.environ.get(VARIABLE)
    if not where:
        return []
    with gzip.open(Path(where), "rt") as lines:
        return list({r.key: r for r in map(_record, map(json.loads, lines))}.values())


def _record(row: dict[str, Any]) -> Record:
    kinds = tuple(Kind(d, tuple(s)) for d, s in row["inputs"])
    args = zip(row["args"], kinds, strict=True)
    return Record(
        row["key"],
        kinds,
        tuple(_node(*n) for n in row["nodes"]),
        tuple(map(_place, row["outputs"])),
        tuple(np.asarray(_array(a)).astype(kind.dtype) for a, kind in args),
        tuple(map(_array, row["results"])),
    )


def _node(op: str, scalar: str | None, properties: dict[str, Any], inputs: list[Any], outputs: list[Any]) -> NodeRecord:
    kinds = tuple((name, Kind(dtype, tuple(shape))) for name, dtype, shape in outputs)
    return NodeRecord(op, scalar, properties, tuple(map(_place, inputs)), kinds)


def _place(x: Any) -> Any:
    return x if isinstance(x, str) else _array(x[1])


def _array(x: Any) -> Any:
    if not (isinstance(x, list) and len(x) == 3):
        return x
    dtype, shape, data = x
    return np.frombuffer(zlib.decompress(base64.b64decode(data)), dtype).reshape(shape)
