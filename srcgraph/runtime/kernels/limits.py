"""Up to where products are computed by loops in the kernel: numbers that differ between machines.

What is here is used when a kernel is made; machine code that calls kernels does not depend on it. `srcgraph.tuning`
measures them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from srcgraph.runtime.cache.objects import RECORD, shared_entry

PRODUCTS, SUMS = "products", "sums"
DEFAULTS: Mapping[str, int] = {PRODUCTS: 64, SUMS: 64}
"""Products of matrices of at most so many multiplications are not worth a call of BLAS; nor are products of vectors,
and of a matrix and a vector, of at most so many."""
MOST = 1 << 20
_TRIED: ContextVar[Mapping[str, int] | None] = ContextVar("limits", default=None)


def limit(name: str) -> int:
    """The limit that a kernel which is written now is to have."""
    return limits()[name]


def limits() -> Mapping[str, int]:
    """All of them."""
    return _TRIED.get() or _kept()


@contextmanager
def trying(tried: Mapping[str, int]) -> Iterator[None]:
    """Kernels written inside have these limits."""
    token = _TRIED.set(tried)
    try:
        yield
    finally:
        _TRIED.reset(token)


@cache
def _kept() -> Mapping[str, int]:
    """Those measured on this machine, or the default ones; read once per process."""
    entry = shared_entry("limits", "blas")
    note = entry.read(RECORD) if entry is not None else None
    found = note.get("limits") if isinstance(note, dict) else None
    if not isinstance(found, dict) or found.keys() != DEFAULTS.keys():
        return DEFAULTS
    return found if all(type(v) is int and 0 <= v <= MOST for v in found.values()) else DEFAULTS


def keep(found: Mapping[str, int]) -> bool:
    """Let this process, where it has not made its kernels yet, and later ones go by these; whether that is kept."""
    entry = shared_entry("limits", "blas")
    kept = entry is not None and entry.write(RECORD, {"limits": dict(found)})
    _kept.cache_clear()
    return kept
