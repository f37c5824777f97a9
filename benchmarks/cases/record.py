"""What a case of the suite is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numba import njit

ROUNDING = frozenset({"contract", "reassoc"})
"""By what rounding may differ from Python's: what an expert allows, as JAX and torch.compile do."""
by_hand = njit(error_model="numpy", fastmath=set(ROUNDING))
"""How what is written by hand is compiled."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program, once as a user writes it and once by each peer.

    Attributes
    ----------
    name : str
        What it is called in tables and on the command line.
    plain : function
        Ordinary Python and NumPy: what srcgraph compiles, and what says what is right.
    arguments : function
        ``arguments(small)``: made anew; small ones for tests.
    hand : function
        The same by hand for numba.
    argnums : tuple of int
        What the gradient is taken with respect to; none, if there is no gradient.
    loss : function, optional
        Plain, and returns one float; by default `plain`, otherwise the sum of its results.
    hand_gradient : function, optional
        The adjoint by hand for numba; returns a tuple, one part for each of `argnums`.
    python_gradient : function, optional
        The derivative by hand in plain Python.
    peers : mapping
        By module name: a function that is given the module and returns the program for it, or a pair of programs, the
        second one for gradients; for pythran, a signature of `plain`.
    refused : mapping
        Why a peer has none.
    kind : str
        Which aims it falls under.
    """

    name: str
    plain: Callable
    arguments: Callable[[bool], tuple[Any, ...]]
    hand: Callable
    argnums: tuple[int, ...] = ()
    loss: Callable | None = None
    hand_gradient: Callable | None = None
    python_gradient: Callable | None = None
    peers: Mapping[str, Any] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""


SCALAR_LOOP = {
    "torch": "a scalar loop: microseconds a step",
    "torch.compile": "a scalar loop: unrolled",
    "autograd": "a scalar loop: microseconds a step",
    "numexpr": "no loops",
}
