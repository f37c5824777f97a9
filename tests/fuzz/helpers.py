"""Functions that random programs call."""

from __future__ import annotations

from fuzz.kinds import FLOAT, INT, Kind

HELPERS: dict[str, tuple[tuple[Kind, ...], Kind, str]] = {
    "_squash": ((FLOAT,), FLOAT, "def _squash(v):\n    return v / (1.0 + abs(v))\n"),
    "_blend": (
        (FLOAT, FLOAT, FLOAT),
        FLOAT,
        "def _blend(u, v, t=0.25):\n    if u > v:\n        return u\n    return (1.0 - t) * u + t * v\n",
    ),
    "_total": (
        (Kind("f", ("*",)),),
        FLOAT,
        "def _total(v):\n    t = 0.0\n    for e in v:\n        if e < 0.0:\n            continue\n"
        "        t += e\n    return t\n",
    ),
    "_first_over": (
        (Kind("f", ("*",)), FLOAT),
        INT,
        "def _first_over(v, limit):\n    for p in range(len(v)):\n        if v[p] > limit:\n            return p\n"
        "    return -1\n",
    ),
    "_bump": (
        (Kind("f", ("*",)), FLOAT),
        FLOAT,
        "def _bump(v, amount):\n    if len(v) > 0:\n        v[0] += amount\n    return amount * 0.5\n",
    ),
    "_fold": (
        (FLOAT, INT),
        FLOAT,
        "def _fold(u, p):\n    if p <= 0 or p > 6:\n        return u\n    return 0.5 * _fold(u + 0.25, p - 1) + 0.1\n",
    ),
    "_rest": (
        (Kind("f", ("*",)), INT),
        FLOAT,
        "def _rest(v, p):\n    if p < 0 or p >= len(v):\n        return 0.0\n    return v[p] - 0.5 * _rest(v, p + 1)\n",
    ),
}
"""Functions that programs may call."""

SEQUENCES = {
    "_pair": "def _pair(u, v):\n    return u + v, u * v\n",
    "_pick": "def _pick(u, v, which):\n    if which:\n        return u\n    return v\n",
}

RECORDS = """\
from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class _Body:
    mass: float
    pos: np.ndarray

    def push(self, by):
        self.mass += 0.1 * by
        self.pos[0] += by

    def energy(self):
        return 0.5 * self.mass * np.sum(self.pos * self.pos)


class _Pair(NamedTuple):
    left: float
    right: float


"""
"""Before programs that make records."""
