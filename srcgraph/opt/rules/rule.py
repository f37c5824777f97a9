"""A rule of the product: a local rewrite, with what one has to know of it, and what it is checked on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from srcgraph.ir.types import is_float
from srcgraph.opt.rewriting.fgraph import FunctionGraph
from srcgraph.opt.rewriting.local import LocalRewrite, Transform
from srcgraph.opt.rewriting.patterns import PatternSub, as_before, as_pattern, built, text

CLASSES = {
    "exact": "the very same numbers",
    "rounding": "the same up to rounding",
    "stability": "the same up to rounding, and finite or exact where the plain formula overflows or cancels",
    "unsafe": "another value for infinities or NaN, or an intermediate result that may overflow: off unless asked for",
}
"""What a rule may do to numbers; one of these is among the tags of each."""


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """One rewrite.

    Attributes
    ----------
    name : str
    before, after : str
        Formulas.
    condition : str
        When it applies; '' for always.
    tags : tuple of str
        One of `CLASSES`, and what switches it on: ``fast_run``, unless it is ``unsafe``.
    rewrite : LocalRewrite
    example : callable
        Graph code of parameters that the rule applies to.
    types : sequence of str
        Types to check it on, a tuple for each check: as many as ``example`` has parameters.
    domain : tuple of float
        Where the numbers of the check come from.
    """

    name: str
    before: str
    after: str
    condition: str
    tags: tuple[str, ...]
    rewrite: LocalRewrite
    example: Callable[..., Any]
    types: Sequence[tuple[str, ...]]
    domain: tuple[float, float] = (-2.0, 2.0)


def pattern(
    name: str,
    before: Callable[..., Any],
    after: Any,
    kind: str,
    *tags: str,
    condition: str = "",
    where: Callable[..., bool] | None = None,
    types: Sequence[tuple[str, ...]] | None = None,
    domain: tuple[float, float] = (-2.0, 2.0),
    shared: bool | None = None,
    example: Callable[..., Any] | None = None,
    any_dtype: bool = False,
) -> Rule:
    """A rule given by two functions.

    Parameters
    ----------
    kind : str
        One of `CLASSES`.
    shared : bool, optional
        Whether it applies where others read what is inside; by default if it is not a matter of cost only.
    example : callable, optional
        Graph code that it applies to, where ``before`` is not it.
    any_dtype : bool
        Whether it holds of integers, which wrap, and of complex numbers, too; else it applies to floats.
    """
    first = as_before(before)
    second = as_pattern(after)
    wide = kind in ("exact", "stability") if shared is None else shared
    made = PatternSub(first, second, where=where, name=name, shared=wide)
    made = made if any_dtype else of_floats(made)
    count = before.__code__.co_argcount
    types = (
        types if types is not None else [("f64",) * count, ("f64[4]",) * count, ("f32[4]",) * count, ("float",) * count]
    )
    on = () if kind == "unsafe" else ("fast_run",)
    return Rule(
        name, text(first), text(second), condition, (kind, *on, *tags), made, example or _example(before), types, domain
    )


def procedure(
    name: str,
    before: str,
    after: str,
    kind: str,
    ops: Sequence[str],
    transform: Transform,
    example: Callable[..., Any],
    types: Sequence[tuple[str, ...]],
    *tags: str,
    condition: str = "",
    domain: tuple[float, float] = (-2.0, 2.0),
    changed: bool = False,
    any_dtype: bool = False,
) -> Rule:
    """A rule given by a function of the function graph and a node, see `srcgraph.opt.rewriting.local.rewrite`."""
    on = () if kind == "unsafe" else ("fast_run",)
    made = LocalRewrite(name, tuple(ops), transform, f"{before} -> {after}", changed=changed)
    made = made if any_dtype else of_floats(made)
    return Rule(name, before, after, condition, (kind, *on, *tags), made, example, types, domain)


def of_floats(rule: LocalRewrite) -> LocalRewrite:
    """A rewrite of uses of ops that give floats: integers wrap, and logarithms of complex numbers have branches."""

    def transform(fgraph: FunctionGraph, node: Any) -> Any:
        return rule.transform(fgraph, node) if is_float(node.outputs[0].type) else None

    return replace(rule, transform=transform)


def _example(before: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: built(as_before(before), dict(zip(before.__code__.co_varnames, values, strict=False)))
