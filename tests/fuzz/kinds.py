"""What names hold, and which are in reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Shape = tuple[str, ...]
"""Sizes as text; equal texts are equal sizes: ``"n"``, ``"n-1"``, ``"3"``, and ``"?4"`` for one not known."""


@dataclass(frozen=True)
class Kind:
    """What a name holds: a number (no shape) or an array.

    Attributes
    ----------
    base : str
        ``"f"``, ``"i"`` or ``"b"``: what may be done with it.
    shape : tuple of str or None
        None for numbers.
    narrow : bool
        Whether the dtype is not the widest of its base, so that arithmetic with it is interesting.
    """

    base: str
    shape: Shape | None = None
    narrow: bool = False


FLOAT, INT, BOOL = Kind("f"), Kind("i"), Kind("b")
LIST, DICT, RECORD, PAIR, CALL, SMALL = (Kind(name) for name in ("list", "dict", "record", "pair", "call", "small"))
"""A list of floats; a dict with the keys ``"u"`` and ``"v"``; the records of `helpers.RECORDS`; an inner function."""

PARAMETERS: dict[str, Kind] = {
    **dict.fromkeys("abc", FLOAT),
    **dict.fromkeys("xyzw", Kind("f", ("n",))),
    "s": Kind("f", ("n",)),
    "n": INT,
    "k": INT,
    "j": INT,
    "ad": FLOAT,
    "af": Kind("f", None, True),
    "flag": BOOL,
    "m": Kind("f", ("n", "3")),
    "q": Kind("f", ("n", "n")),
    "qf": Kind("f", ("n", "n")),
    "xr": Kind("f", ("n",)),
    "xs": Kind("f", ("n",)),
    "xf": Kind("f", ("n",), True),
    "xi": Kind("i", ("n",)),
    "xb": Kind("i", ("n",), True),
    "xu": Kind("i", ("n",), True),
    "mask": Kind("b", ("n",)),
}
"""What the parameters of programs hold; their names are those of `harness.INPUTS`."""


@dataclass
class Scope:
    """Names in reach.

    Attributes
    ----------
    names : dict of str to Kind
    within : dict of str to set of str
        Loop indices, with the sizes they are surely below.
    first : set of str
        Loop indices that are surely at least 1.
    frozen : set of str
        Names that are not to be assigned: loop indices and counters.
    """

    names: dict[str, Kind] = field(default_factory=dict)
    within: dict[str, set[str]] = field(default_factory=dict)
    first: set[str] = field(default_factory=set)
    frozen: set[str] = field(default_factory=set)

    def copy(self) -> Scope:
        within = {k: set(v) for k, v in self.within.items()}
        return Scope(dict(self.names), within, set(self.first), set(self.frozen))

    def those(self, fits: Callable[[Kind], bool]) -> list[str]:
        return [n for n, kind in self.names.items() if fits(kind)]
