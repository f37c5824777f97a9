"""Which elements a basic index selects, independent of the values of its operands.

A `View` describes ``x[i, a:b:2, :, None].T`` as data: per axis of the base a selector, then the
order of the axes that are left. It is an attribute of `getitem`, `setitem` and `add_at`; the
integers it needs are operands of those ops, already wrapped and clamped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from srcgraph.errors import InternalError
from srcgraph.ir.dims import Dim, as_dim

Selector = str | int
"""``":"`` the whole axis; ``"i"`` one index (1 operand); a step, an integer: a slice (2 operands,
start and length); ``"s"`` a slice whose step is known at run time (3 operands: start, length and step)."""


@dataclass(frozen=True, slots=True)
class View:
    """Selectors per base axis; ``order`` lists the kept axes in result order, None for a new axis."""

    axes: tuple[Selector, ...]
    order: tuple[int | None, ...]

    def __str__(self) -> str:
        axes = ", ".join(a if isinstance(a, str) else f"s{a}" for a in self.axes)
        if self.order == tuple(range(len(self.kept))):
            return axes
        return f"{axes} -> {', '.join('new' if a is None else str(a) for a in self.order)}"

    @property
    def kept(self) -> tuple[int, ...]:
        """The base axes that are not indexed away."""
        return tuple(k for k, a in enumerate(self.axes) if a != "i")

    @property
    def back(self) -> View | None:
        """For axes in another order, and new ones: the view of the result that is the base; it takes a 0 for each new
        axis. None if this one leaves elements out."""
        if any(a != ":" for a in self.axes):
            return None
        old = [k for k in self.order if k is not None]
        axes = tuple("i" if k is None else ":" for k in self.order)
        return View(axes, tuple(old.index(k) for k in range(len(old))))

    @property
    def operand_count(self) -> int:
        return sum(operand_count(a) for a in self.axes)


def operand_count(selector: Selector) -> int:
    return {":": 0, "i": 1, "s": 3}.get(selector, 2)  # type: ignore[call-overload]


def whole(ndim: int) -> View:
    return View((":",) * ndim, tuple(range(ndim)))


def element(ndim: int) -> View:
    """The view that picks one element of an ``ndim``-dimensional array."""
    return View(("i",) * ndim, ())


def part(first: int, rest: int) -> View:
    """The view that indexes the ``first`` axes and leaves the ``rest``."""
    return View(("i",) * first + (":",) * rest, tuple(range(rest)))


def transposed(ndim: int, axes: Sequence[int]) -> View:
    return View((":",) * ndim, tuple(axes))


def step_of(selector: Selector, operands: tuple) -> Any:
    """The step of a sliced axis."""
    return operands[2] if selector == "s" else int(selector)


def split_operands(view: View, operands: Sequence) -> list[tuple]:
    """Give each base axis its own operands."""
    out, rest = [], list(operands)
    for selector in view.axes:
        count = operand_count(selector)
        out.append(tuple(rest[:count]))
        rest = rest[count:]
    if rest:
        raise InternalError(f"view {view} got {len(rest)} operands too many")
    return out


def view_shape(view: View, shape: tuple[Dim, ...], lengths: Sequence[Dim | None]) -> tuple[Dim, ...]:
    """Return the result's shape; ``lengths`` are the sliced axes' lengths, in base order."""
    kept, at = [], iter(lengths)
    for selector, size in zip(view.axes, shape, strict=True):
        if selector == ":":
            kept.append(size)
        elif selector != "i":
            kept.append(next(at))
    return tuple(as_dim(1) if a is None else kept[a] for a in view.order)


def parse_view(text: str) -> View:
    """Read back what ``str`` wrote."""
    axes_text, _, order_text = text.partition(" -> ")
    names = [t for t in axes_text.split(", ") if t]
    axes = tuple(int(t[1:]) if t.startswith("s") and t != "s" else t for t in names)
    if order_text:
        order = tuple(None if t == "new" else int(t) for t in order_text.split(", "))
    elif text.endswith(" -> "):
        order = ()
    else:
        order = tuple(range(sum(a != "i" for a in axes)))
    return View(axes, order)
