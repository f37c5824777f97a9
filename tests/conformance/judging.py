"""What the engines make of recorded graphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.building import Differs, graph, missing, plainly
from conformance.records import Record
from conformance.writing import Unsupported
from srcgraph.errors import SrcgraphError
from srcgraph.ir.graph import Graph, Program
from srcgraph.ir.verify import verify
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import PRIMAL
from srcgraph.runtime import engines


@dataclass(frozen=True, slots=True)
class Way:
    """An engine, and whether the graph is rewritten first."""

    engine: str
    rewritten: bool

    @property
    def name(self) -> str:
        return f"{self.engine}, {'rewritten' if self.rewritten else 'as built'}"


WAYS = (Way("interp", False), Way("interp", True), Way("vm", True), Way("numba", True))
"""What is tried."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a graph, and why.

    ``right``; ``plain``: the result of the same text by NumPy, which is not the recorded one; ``better`` than both;
    ``wrong``; ``refused``; ``defect``: an error that is no refusal; ``unsupported`` here.
    """

    kind: str
    reason: str = ""


PASSES = ("right", "plain", "better")
BETTER = {"79381c52": "log(1 + exp(800)) is 800, where exp(800) is not a number of single precision"}
"""Graphs that a rewriting makes better than both."""


def judge(record: Record, ways: Sequence[Way] = WAYS) -> dict[Way, Outcome]:
    """What becomes of a record in each way."""
    lacking = missing(record)
    if lacking:
        return dict.fromkeys(ways, Outcome("unsupported", ", ".join(lacking)))
    try:
        built, args = graph(record)
    except Unsupported as e:
        return dict.fromkeys(ways, Outcome("unsupported", str(e)))
    except Exception as e:
        return dict.fromkeys(ways, _failure(e))
    rewritten = _rewritten(built) if any(w.rewritten for w in ways) else built
    return {w: _run(record, w, rewritten if w.rewritten else built, args) for w in ways}


def _rewritten(built: Graph) -> Graph | Exception:
    try:
        out = run_passes(built, PRIMAL)
        verify(out)
    except Exception as e:
        return e
    return out


def _run(record: Record, way: Way, built: Graph | Exception, args: Sequence[Any]) -> Outcome:
    if isinstance(built, Exception):
        return _failure(built)
    try:
        compiled = engines.get(way.engine).compile(Program({built.name: built}, built.name))
        with np.errstate(all="ignore"):
            got = compiled([a.copy() if isinstance(a, np.ndarray) else a for a in args])
    except Exception as e:
        return _failure(e)
    why = differences(got, record.results)
    if not why:
        return Outcome("right")
    try:
        plain = plainly(record)
    except Exception as e:
        return Outcome("wrong", f"{why}; NumPy raises {type(e).__name__}")
    if not differences(got, plain):
        return Outcome("plain", why)
    return Outcome("better" if record.key[:8] in BETTER else "wrong", BETTER.get(record.key[:8], why))


def _failure(e: Exception) -> Outcome:
    text = re.sub(r"\s+", " ", str(e).split("\n")[0])
    text = re.sub(r"^\S*:\d+:\d+: ", "", text)
    text = re.sub(r"<[^>]*>:[\d:]+ *", "", text)
    text = re.sub(r"^.*<.*\): (?=\S)", "", text)  # the call, which has the types of its variables
    kind = "refused" if isinstance(e, SrcgraphError | Differs | NotImplementedError) else "defect"
    return Outcome(kind, f"{type(e).__name__}: {text}")


def differences(got: Sequence[Any], want: Sequence[Any]) -> str:
    """How results differ from others, if they do: in type, in shape, in values."""
    for x, y in zip(got, want, strict=True):
        a, b = np.asarray(x), np.asarray(y)
        if a.dtype != b.dtype:
            return f"dtype {a.dtype}, not {b.dtype}"
        if a.shape != b.shape:
            return f"shape {a.shape}, not {b.shape}"
        small = a.dtype.name in ("float16", "float32", "complex64")
        tolerance = (1e-2 if a.dtype == np.float16 else 1e-4) if small else 1e-7
        with np.errstate(all="ignore"):
            scale = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0))) if a.dtype.kind in "fc" else 1.0
            if not np.allclose(a, b, rtol=tolerance, atol=tolerance * 1e-3 * scale, equal_nan=True):
                return "values"
    return ""
