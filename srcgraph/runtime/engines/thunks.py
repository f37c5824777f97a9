"""Registers, and thunks that fill them in and say what they still need for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from srcgraph.ir.graph import Apply
from srcgraph.ir.interp import conform
from srcgraph.ir.types import Type
from srcgraph.runtime.engines.kernels import applied


class Register:
    """Room for one value.

    Attributes
    ----------
    value : object
    computed : bool
        Whether the value is there.
    type : Type or None
        What the value has to be.
    thunk : Thunk or None
        What fills it in; None once it is done.
    """

    __slots__ = ("computed", "thunk", "type", "value")

    def __init__(self, type: Type | None = None):
        self.type = type
        self.value: Any = None
        self.computed = False
        self.thunk: Thunk | None = None

    def store(self, value: Any) -> None:
        """Put the value there."""
        self.value = value if self.type is None else conform(value, self.type)
        self.computed = True


class Thunk:
    """Computes its outputs from its inputs, when it is called.

    A thunk that is not lazy is called once, with all inputs there. A lazy one is called with none. It returns the
    positions of inputs that it needs, is called again when they are there, and returns None, or no positions, when its
    outputs are.
    """

    lazy = False

    def __init__(self, inputs: Sequence[Register], outputs: Sequence[Register]):
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.done = False
        for register in self.outputs:
            register.thunk = self

    def __call__(self) -> list[int] | None:
        raise NotImplementedError

    def finish(self) -> None:
        """Let go of what is no longer needed."""
        self.done = True
        self.inputs = []
        for register in self.outputs:
            register.computed, register.thunk = True, None


class ApplyThunk(Thunk):
    """One use of an op."""

    def __init__(
        self,
        node: Apply,
        inputs: Sequence[Register],
        outputs: Sequence[Register],
        watch: Callable[[Apply], None] | None,
    ):
        super().__init__(inputs, outputs)
        self.node, self.watch = node, watch

    def __call__(self) -> None:
        if self.watch is not None:
            self.watch(self.node)
        results = applied(self.node, [r.value for r in self.inputs])
        for register, result in zip(self.outputs, results, strict=True):
            register.store(result)


def force(registers: Sequence[Register]) -> None:
    """Have values computed, one after the other, and whatever they need; the stack is a list of thunks."""
    stack = [r.thunk for r in reversed(registers) if r.thunk is not None]
    while stack:
        thunk = stack[-1]
        if thunk.done:
            stack.pop()
            continue
        missing = [] if thunk.lazy else [r.thunk for r in thunk.inputs if not r.computed]
        if not missing:
            needed = thunk()
            if not needed:
                thunk.finish()
                stack.pop()
                continue
            missing = [thunk.inputs[k].thunk for k in needed if not thunk.inputs[k].computed]
        stack.extend(t for t in reversed(missing) if t is not None)
