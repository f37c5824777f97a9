"""Facts about arrays beyond dtype and shape: what users promise of them, and what follows from how they are made.

A fact holds of a value. Users give facts by `srcgraph.assume` or annotations, which become ``assumed`` nodes of the
graph; `facts_of` finds them, and those that the ops before a value make sure of, such as the zeros of a triangle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

from srcgraph.ir.graph import Apply, Value
from srcgraph.ir.view import View, transposed

Known: TypeAlias = frozenset[str]
NONE: Known = frozenset()


@dataclass(frozen=True, slots=True)
class Fact:
    """One property.

    Attributes
    ----------
    text : str
        What is said of an array that has it.
    implies : frozenset of str
        What else holds of such an array.
    square : bool
        Whether only square matrices have it.
    holds : callable
        Whether an array has it, up to rounding.
    """

    text: str
    implies: Known
    square: bool
    holds: Callable[[np.ndarray], bool]


def tolerance(dtype: np.dtype) -> float:
    """How far an array may be from having a fact, relative to its largest element: half of its digits."""
    return float(np.sqrt(np.finfo(dtype).eps)) if dtype.kind in "fc" else 0.0


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(np.abs(a - b) <= tolerance(a.dtype) * np.max(np.abs(a), initial=0.0)))


def _turned(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2)


def _is_symmetric(a: np.ndarray) -> bool:
    return _close(a, _turned(a))


def _is_positive_definite(a: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return _is_symmetric(a)


def _is_invertible(a: np.ndarray) -> bool:
    det = np.linalg.det(a)
    return bool(np.all((det != 0) & np.isfinite(a).all()))


def _is_orthogonal(a: np.ndarray) -> bool:
    return _close(_turned(a) @ a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


FACTS: dict[str, Fact] = {
    "symmetric": Fact("symmetric", NONE, True, _is_symmetric),
    "positive_definite": Fact(
        "symmetric and positive definite", frozenset({"symmetric", "invertible"}), True, _is_positive_definite
    ),
    "lower_triangular": Fact("zero above the diagonal", NONE, True, lambda a: not np.any(np.triu(a, 1))),
    "upper_triangular": Fact("zero below the diagonal", NONE, True, lambda a: not np.any(np.tril(a, -1))),
    "diagonal": Fact(
        "zero off the diagonal",
        frozenset({"symmetric", "lower_triangular", "upper_triangular"}),
        True,
        lambda a: not np.any(a * (1 - np.eye(a.shape[-1]))),
    ),
    "orthogonal": Fact("orthogonal", frozenset({"invertible"}), True, _is_orthogonal),
    "invertible": Fact("invertible", NONE, True, _is_invertible),
    "positive": Fact("positive", frozenset({"nonnegative"}), False, lambda a: bool(np.all(a > 0))),
    "nonnegative": Fact("at least 0", NONE, False, lambda a: bool(np.all(a >= 0))),
    "finite": Fact("finite", NONE, False, lambda a: bool(np.all(np.isfinite(a)))),
}
"""The facts by name: the keywords of `srcgraph.assume`."""

OF_ELEMENTS: Known = frozenset(name for name, fact in FACTS.items() if not fact.square)


def closed(names: Iterable[str]) -> Known:
    """Facts together with what they imply."""
    out = set(names)
    for name in names:
        out |= FACTS[name].implies
    if {"lower_triangular", "upper_triangular"} <= out:
        out |= {"diagonal", "symmetric"}
    return frozenset(out)


def facts_of(definition: Callable[[Value], Apply | None], value: Value, depth: int = 12) -> Known:
    """What is known of a value.

    Parameters
    ----------
    definition : callable
        Gives the use of an op that defines a value, or None.
    depth : int
        So many ops before the value are looked at.
    """
    node = definition(value) if depth else None
    if node is None:
        return NONE
    rule = _RULES.get(node.op.name)
    if rule is None or (value.type.dtype.kind != "f" and node.op.name not in _OF_ANY_DTYPE):
        return NONE  # integers wrap
    return closed(rule(_Asked(definition, node, value, depth - 1)))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about what a node gives."""

    definition: Callable[[Value], Apply | None]
    node: Apply
    value: Value
    depth: int

    def of(self, k: int) -> Known:
        return facts_of(self.definition, self.node.inputs[k], self.depth)

    def literal(self, k: int) -> Any:
        """The number that an operand is, or None."""
        node: Apply | None = self.definition(self.node.inputs[k])
        while node is not None and node.op.name in ("cast", "full", "broadcast_to"):
            node = self.definition(node.inputs[0])
        return node.attrs["value"] if node is not None and node.op.name == "const" else None


_SWAPPED = {"lower_triangular": "upper_triangular", "upper_triangular": "lower_triangular"}


def _assumed(asked: _Asked) -> Known:
    return asked.of(0) | frozenset(asked.node.attrs["facts"])


def _same(asked: _Asked) -> Known:
    return asked.of(0)


def _viewed(asked: _Asked) -> Known:
    view: View = asked.node.attrs["view"]
    known = asked.of(0)
    if view == transposed(2, (1, 0)):
        return frozenset(_SWAPPED.get(f, f) for f in known)
    return known & OF_ELEMENTS


def _sum(asked: _Asked) -> Known:
    left, right = asked.of(0), asked.of(1)
    kept = frozenset({"symmetric", "lower_triangular", "upper_triangular", "diagonal", "nonnegative"})
    shifted = left & right & kept
    if "positive" in left | right and "nonnegative" in left & right:
        shifted |= {"positive"}
    return shifted


def _difference(asked: _Asked) -> Known:
    return asked.of(0) & asked.of(1) & {"symmetric", "lower_triangular", "upper_triangular", "diagonal"}


def _multiple(asked: _Asked) -> Known:
    """A matrix times a number, or numbers times numbers of known signs; products of small numbers may be 0."""
    left, right = asked.of(0), asked.of(1)
    signs = left & right & {"nonnegative"}
    for matrix, k in ((left, 1), (right, 0)):
        number = asked.literal(k)
        if number is not None and not isinstance(number, complex) and 0 < number < np.inf:
            signs |= matrix & {"symmetric", "lower_triangular", "upper_triangular", "diagonal", "nonnegative"}
        elif asked.node.inputs[k].type.ndim == 0:
            signs |= matrix & {"symmetric"}
    return signs


def _negated(asked: _Asked) -> Known:
    return asked.of(0) & {"symmetric", "lower_triangular", "upper_triangular", "diagonal", "finite"}


def _product(asked: _Asked) -> Known:
    x, y = asked.node.inputs
    if x.type.ndim != 2 or y.type.ndim != 2:
        return NONE
    known = asked.of(0) & asked.of(1) & {"lower_triangular", "upper_triangular", "orthogonal"}
    return known | {"symmetric"} if is_gram(asked.definition, asked.node) else known


def is_gram(definition: Callable[[Value], Apply | None], node: Apply) -> bool:
    """Whether a product is that of a matrix and its transpose."""
    x, y = node.inputs
    return _is_transpose_of(definition, x, y) or _is_transpose_of(definition, y, x)


def _is_transpose_of(definition: Callable[[Value], Apply | None], x: Value, y: Value) -> bool:
    node = definition(x)
    turned = node is not None and node.op.name == "getitem" and node.attrs["view"] == transposed(2, (1, 0))
    return turned and node is not None and node.inputs[0] is y


def _chosen(asked: _Asked) -> Known:
    """``np.tril`` and ``np.triu`` are ``where(columns <= rows, x, 0)`` of a shifted count of rows."""
    zero = asked.literal(2) == 0
    shift = _triangle(asked) if zero else None
    if shift is None or asked.value.type.ndim != 2:
        return asked.of(1) & asked.of(2) & OF_ELEMENTS
    side, offset = shift
    kept = asked.of(1) & {"lower_triangular", "upper_triangular", "diagonal"}
    fits = offset >= 0 if side == "upper_triangular" else offset <= 0
    return kept | {side} if fits else kept


def _triangle(asked: _Asked) -> tuple[str, int] | None:
    """Which triangle is chosen, and its offset."""
    test = asked.definition(asked.node.inputs[0])
    if test is None or test.op.name not in ("less_equal", "equal"):
        return None
    ends = [_counted(asked.definition, v) for v in test.inputs]
    if None in ends:
        return None
    (first, start), (second, other) = ends  # type: ignore[misc]
    if test.op.name == "equal" and start == other and {first, second} == {(0, None), (None, 0)}:
        return "diagonal", 0
    if first == (None, 0) and second == (0, None) and other is not None and start == 0:
        return "lower_triangular", other
    if first == (0, None) and second == (None, 0) and start is not None and other == 0:
        return "upper_triangular", start
    return None


def _counted(definition: Callable[[Value], Apply | None], value: Value) -> tuple[Any, int | None] | None:
    """Along which axis a table of indices counts, and from where."""
    node = definition(value)
    while node is not None and node.op.name in ("broadcast_to", "with_shape"):
        node = definition(node.inputs[0])
    inner = definition(node.inputs[0]) if node is not None and node.op.name == "getitem" else None
    if node is None or inner is None or inner.op.name != "arange":
        return None
    start, step = (getattr(v.type, "value", None) for v in inner.inputs[:2])
    known = [None if d is None else d.const for d in (start, step)]
    numbers = [n if n is not None else _number(definition, v) for n, v in zip(known, inner.inputs[:2], strict=True)]
    return (node.attrs["view"].order, numbers[0]) if numbers[1] == 1 else None


def _number(definition: Callable[[Value], Apply | None], value: Value) -> int | None:
    node = definition(value)
    return int(node.attrs["value"]) if node is not None and node.op.name == "const" else None


def _output(k: int, *names: str) -> Callable[[_Asked], Known]:
    return lambda asked: frozenset(names) if asked.value is asked.node.outputs[k] else NONE


def _always(*names: str) -> Callable[[_Asked], Known]:
    return lambda asked: frozenset(names)


_RULES: dict[str, Callable[[_Asked], Known]] = {
    "assumed": _assumed,
    **dict.fromkeys(("with_shape", "copy", "cast"), _same),
    "getitem": _viewed,
    **dict.fromkeys(("reshape", "reshape_view", "broadcast_to"), lambda asked: asked.of(0) & OF_ELEMENTS),
    "add": _sum,
    "sub": _difference,
    "mul": _multiple,
    "neg": _negated,
    "matmul": _product,
    "where": _chosen,
    "cholesky": _output(0, "lower_triangular", "invertible"),
    **dict.fromkeys(("exp", "absolute", "square", "sqrt"), _always("nonnegative")),
    "cosh": _always("positive"),
}
"""By op: what is known of what it gives. NaN has no sign: signs are said of numbers only."""
_OF_ANY_DTYPE = frozenset({"assumed", "with_shape", "copy", "getitem", "reshape", "reshape_view", "broadcast_to"})


# -- what users write -----------------------------------------------------------------------------------


def named(facts: dict[str, bool]) -> tuple[str, ...]:
    """The facts that are true, in order.

    Raises
    ------
    TypeError
        There is no such fact.
    """
    for name in facts:
        if name not in FACTS:
            close = get_close_matches(name, FACTS, 1)
            hint = f"; did you mean {close[0]!r}? Known" if close else "; known"
            raise TypeError(f"there is no fact {name!r}{hint} are {', '.join(FACTS)}")
    return tuple(sorted(n for n, holds in facts.items() if holds))


class Facts:
    """Facts about an argument, for ``typing.Annotated``.

    Parameters
    ----------
    **facts : bool
        As for `assume`.

    Examples
    --------
    >>> from typing import Annotated
    >>> def step(hessian: Annotated[np.ndarray, Facts(positive_definite=True)], gradient):
    ...     return np.linalg.solve(hessian, gradient)
    """

    def __init__(self, **facts: bool):
        self.names = named(facts)

    def __repr__(self) -> str:
        return f"Facts({', '.join(f'{n}=True' for n in self.names)})"


def assume(x: Any, /, **facts: bool) -> Any:
    """Promise facts about a number or an array, which make what is computed of it faster.

    Parameters
    ----------
    x : number or array
        Matrices, or stacks of them, for ``symmetric``, ``positive_definite``, ``lower_triangular``,
        ``upper_triangular``, ``diagonal`` and ``orthogonal``; anything for ``positive``, ``nonnegative``, ``finite``.
    **facts : bool
        Which hold.

    Returns
    -------
    same as ``x``
        ``x`` itself. In a compiled function the facts hold of ``x`` from there on, until something is stored into it.

    Raises
    ------
    TypeError
        There is no such fact.
    ValueError
        In ``mode="DEBUG"``: a fact does not hold, up to half of the digits.

    Notes
    -----
    A promise that is broken gives wrong numbers, except in ``mode="DEBUG"``. Derivatives are those of the function
    without it. Which facts are used where is listed in docs/facts.md.

    Examples
    --------
    >>> a = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> np.linalg.solve(assume(a, positive_definite=True), np.array([1.0, 2.0]))
    array([0.2, 0.6])
    """
    names = named(facts)
    if isinstance(x, Value):
        return _build[0](x, names)
    return x


_build: list[Callable[[Value, Sequence[str]], Value]] = []


def set_build(build: Callable[[Value, Sequence[str]], Value]) -> None:
    """Say how a fact of a variable is put into a graph."""
    _build[:] = [build]
