"""Writes ``docs/numpy_coverage.md``: which of NumPy's names are supported, from the records and NumPy's signatures.

Run ``python docs/numpy_names.py`` after records change; a test holds that the page is current.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import MethodDescriptorType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from op_checks import Case

from srcgraph.frontend import generators, grids, views
from srcgraph.frontend.attributes import ATTRIBUTES
from srcgraph.frontend.numpy_calls import UFUNC_KEYWORDS, own_parameters, signature_of
from srcgraph.frontend.resolve import methods, record_of
from srcgraph.frontend.written import WRITTEN
from srcgraph.ir.builder import Builder
from srcgraph.ir.closure import open_
from srcgraph.ir.graph import Apply, Graph
from srcgraph.ir.op import COMPOSITES, ZERO, Composite, NoDerivative, Op, building
from srcgraph.ir.types import NAME_OF, PY_FLOAT, PY_INT, is_inexact
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.ad.activity import active_values, through_complex

PAGE = Path(__file__).with_name("numpy_coverage.md")
SPACES: tuple[tuple[str, Any], ...] = (
    ("numpy", np),
    ("numpy.ndarray", np.ndarray),
    ("numpy.linalg", np.linalg),
    ("numpy.fft", np.fft),
    ("numpy.random.Generator", np.random.Generator),
    ("numpy.polynomial.polynomial", np.polynomial.polynomial),
)


WRITTEN_DRAWS = {
    "dirichlet": "none: what is drawn is a constant",
    "multinomial": "none: the result is not a float",
    "multivariate_normal": "yes",
    "permuted": "yes",
}
"""Methods of generators written in Python: whether derivatives go through."""


@dataclass(frozen=True)
class Row:
    """One public name: what is supported of it."""

    name: str
    supported: bool
    keywords: str = ""
    missing: str = ""
    derivative: str = ""


def public_names(space: Any) -> Iterator[tuple[str, Any]]:
    """Functions, methods, dtypes and numbers; neither modules nor exceptions nor other classes."""
    for name in sorted(n for n in dir(space) if not n.startswith("_")):
        value = getattr(space, name)
        if inspect.ismodule(value) or (isinstance(value, type) and not issubclass(value, np.generic)):
            continue
        if getattr(value, "__module__", "").startswith("__future__") or name == "test":
            continue
        yield name, value


def derivative_of(record: Op | Composite) -> str:
    """Whether derivatives go through, or why not, as the record says."""
    if isinstance(record, Op):
        rule = record.vjp
        if isinstance(rule, NoDerivative) and record.vjp_into is None:
            return "zero, or none: the result is not a float" if rule is ZERO else rule.why
        return "yes"
    if record in COMPOSITES.values() and record.name.startswith("rng_"):
        return derivative_of_sample(drawing(record))
    found = [derivative_of_sample(Case(record, s).graph) for s in record.samples]
    return next((f for f in found if f == "yes"), found[0] if found else "none: the elements have no meaning yet")


def drawing(record: Composite) -> Graph:
    """A graph that draws one number, by parameters that are numbers."""
    builder = Builder(record.name)
    whole = record.name in ("rng_integers", "rng_binomial", "rng_choice", "rng_permutation", "rng_hypergeometric")
    with building(builder):
        args = [builder.param("rng", PY_INT)]
        for name in own_parameters(record)[1:]:
            if name in ("size", "dtype", "replace"):
                break
            args.append(builder.param(name, PY_INT if whole and name != "p" else PY_FLOAT))
        return builder.finish([record(*args)])


def drawn(node: Any) -> bool:
    """Whether a node draws random numbers, which is a constant unless a parameter is active."""
    return isinstance(node, Apply) and node.op.kind == "draw"


def derivative_of_sample(graph: Graph) -> str:
    """Whether what a function expands to lets derivatives through."""
    if not any(is_inexact(v.type) for v in graph.results):
        return "none: the result is not a float"
    graph = open_(graph)
    floats = [v for v in graph.params if is_inexact(v.type)]
    active = active_values(graph, floats, graph.results)
    for node in all_nodes(graph):
        rule = node.op.vjp if isinstance(node, Apply) else ZERO
        if isinstance(rule, NoDerivative) and rule.why and (not drawn(node) or not active.isdisjoint(node.outputs)):
            return rule.why
        if isinstance(node, Apply) and not node.op.through_complex and through_complex(node, active):
            return "of real numbers only"
    return "yes" if active.intersection(floats) else "zero" if floats else "none: no argument is a float"


def row_of_record(name: str, function: Any, record: Op | Composite) -> Row:
    theirs = [n for n, p in signature_of(function).items() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    mine = set(own_parameters(record))
    if isinstance(function, np.ufunc):
        own = [n for n in theirs if n[:1] == "x" or n in UFUNC_KEYWORDS or n in mine]
    elif isinstance(record, Op):
        own = theirs[: len(record.samples[0].args)] if record.samples else theirs
    else:
        by_place = {n for n, p in signature_of(function).items() if p.kind is inspect.Parameter.POSITIONAL_ONLY}
        known = mine | {"out", "self"} | set([n for n in theirs if n in by_place][: len(mine)])
        own = [n for k, n in enumerate(theirs) if n in known or k == 0]
    rest = [n for n in theirs if n not in own]
    own = own[isinstance(function, MethodDescriptorType) :]  # of an array, which is no argument
    return Row(name, True, ", ".join(n for n in own if n != "self"), ", ".join(rest), derivative_of(record))


def row_of_lowering(name: str, function: Any, lower: Callable) -> Row:
    """A function that works with references: its own signature says what it takes."""
    theirs = list(signature_of(function))
    mine = [n for n in inspect.signature(lower).parameters if n != "low"]
    own = [n for k, n in enumerate(theirs) if n in mine or (k == 0 and mine)]
    rest = [n for n in theirs if n not in own and n != "self"]
    return Row(name, True, ", ".join(n for n in own if n != "self"), ", ".join(rest), "yes")


def row(space: Any, name: str, value: Any) -> Row:
    """What is supported of one name."""
    if space is np.ndarray and name in ATTRIBUTES:
        return Row(name, True)
    if space is np.ndarray and name in views.METHODS:
        return row_of_lowering(name, value, views.METHODS[name])
    record = methods().get(name) if space is np.ndarray else record_of(value) if callable(value) else None
    if record is not None:
        return row_of_record(name, value, record)
    if isinstance(value, type):
        return Row(name, value in {t.type for t in NAME_OF})
    if space is np.random.Generator and name in generators.METHODS:
        return row_of_lowering(name, value, generators.METHODS[name])
    if space is np.random.Generator and name in WRITTEN_DRAWS:
        found = row_of_lowering(name, value, WRITTEN[value])
        return replace(found, derivative=WRITTEN_DRAWS[name])
    if callable(value):
        lower = views.FUNCTIONS.get(value)
        lower = lower or WRITTEN.get(value)
        return Row(name, False) if lower is None else row_of_lowering(name, value, lower)
    if any(value is g for g in grids.GRIDS):
        return Row(name, True, "a subscript", "text", "yes")
    return Row(name, space is np and (value is None or isinstance(value, float | bool)))


def page() -> str:
    """The whole page."""
    tables = {title: [row(space, n, v) for n, v in public_names(space)] for title, space in SPACES}
    version = np.__version__.rpartition(".")[0]
    total = sum(r.supported for rows in tables.values() for r in rows)
    lines = [
        "# What is supported of NumPy",
        "",
        f"Made by `docs/numpy_names.py` from the records and the signatures of NumPy {version}.",
        f"{total} names are supported.",
        "",
    ]
    for title, rows in tables.items():
        held = [r for r in rows if r.supported]
        lines += [f"## {title}", "", f"{len(held)} of {len(rows)} names.", ""]
        if held:
            lines += ["| name | supported arguments | not supported | derivative |", "|---|---|---|---|"]
            lines += [f"| `{r.name}` | {r.keywords} | {r.missing} | {r.derivative} |" for r in held] + [""]
        lacking = ", ".join(f"`{r.name}`" for r in rows if not r.supported)
        lines += [f"Not supported: {lacking}.", ""] if lacking else []
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"wrote {PAGE.name}\n")
