"""A function with room for its arguments and results: filled in, called, read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Cell:
    """Room for one value, which is cast as it is put in.

    Attributes
    ----------
    name : str
    value : object
        What was put there last.
    filled : bool
        Whether anything was.
    """

    __slots__ = ("_cast", "_value", "filled", "name")

    def __init__(self, name: str, cast: Callable[[Any], Any]):
        self.name = name
        self._cast = cast
        self._value: Any = None
        self.filled = False

    @property
    def value(self) -> Any:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = self._cast(value)
        self.filled = True

    def __repr__(self) -> str:
        return f"<cell {self.name}: {self._value!r}>"


class Plan:
    """What `srcgraph.Function.plan` gives: fill the inputs, call it, read the outputs.

    Attributes
    ----------
    inputs : tuple of Cell
        One for each parameter of the signature, in which its default is; what is put there is cast as arguments are.
        A default that is shared is read when the plan is called, as long as nothing is put in its place.
    outputs : tuple of Cell
        One for each result, in the order in which they were given.
    """

    def __init__(self, inputs: Sequence[Cell], outputs: Sequence[Cell], run: Callable[..., Sequence[Any]]):
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._run = run

    def __call__(self) -> None:
        """Compute, and update shared variables."""
        results = self._run({c.name: c.value for c in self.inputs if c.filled})
        for cell, result in zip(self.outputs, results, strict=True):
            cell.value = result

    def __repr__(self) -> str:
        return f"<plan {', '.join(c.name for c in self.inputs)} -> {len(self.outputs)} results>"
