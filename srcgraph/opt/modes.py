"""Modes: which rewrites a function goes through, and whether each of them is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from srcgraph.errors import ArgumentError, Problem
from srcgraph.opt.rewriting.database import Query, near


@dataclass(frozen=True, slots=True)
class Mode:
    """Which rewrites a function goes through.

    Parameters
    ----------
    name : str
    query : Query
        What is asked of `srcgraph.opt.db`.
    check : bool
        Verify the graph, and evaluate it with `srcgraph.ir.interp`, after every rewrite; the one that makes it invalid
        or changes what it gives is named by a `RewriteError`. Slow.
    fastmath : frozenset of str
        What rounding may be changed by, as LLVM names it; see `srcgraph.compile`.

    Examples
    --------
    >>> FAST_RUN.excluding("log1p").query.selects(frozenset({"fast_run", "log1p"}))
    False
    """

    name: str
    query: Query
    check: bool = False
    fastmath: frozenset[str] = frozenset()

    @property
    def inplace(self) -> bool:
        """Whether arrays are stored into where they are: all modes that do not exclude ``inplace``."""
        return "inplace" not in self.query.exclude

    @property
    def native(self) -> bool:
        """Whether kernels of the user's stand for functions: all modes that do not exclude ``native``."""
        return "native" not in self.query.exclude

    @property
    def forward(self) -> bool:
        """Whether what depends on few numbers carries derivatives along: all modes that do not exclude ``forward``."""
        return "forward" not in self.query.exclude

    def including(self, *tags: str) -> Mode:
        """Also rewrites with one of these tags, or names."""
        return self._with(self.query.including(*tags), [f"+{t}" for t in tags])

    def excluding(self, *tags: str) -> Mode:
        """No rewrite with one of these tags, or names."""
        return self._with(self.query.excluding(*tags), [f"-{t}" for t in tags])

    def requiring(self, *tags: str) -> Mode:
        """Only rewrites with all of these tags."""
        return self._with(self.query.requiring(*tags), [f"&{t}" for t in tags])

    def rounding(self, fastmath: frozenset[str]) -> Mode:
        """With arithmetic whose rounding may be changed so."""
        return self if fastmath == self.fastmath else replace(self, fastmath=fastmath)

    def _with(self, query: Query, changes: Sequence[str]) -> Mode:
        return replace(self, name=" ".join([self.name, *changes]), query=query)

    def __repr__(self) -> str:
        return f"<mode {self.name}>"


FAST_RUN = Mode("FAST_RUN", Query(frozenset({"fast_run"})))
"""Everything that is sound, for code that runs fast: the default."""
FAST_COMPILE = Mode("FAST_COMPILE", Query(frozenset({"fast_compile"})))
"""Only what generated code needs, or what is quick."""
DEBUG = Mode("DEBUG", Query(frozenset({"fast_run"})), check=True)
"""What `FAST_RUN` does, each rewrite checked."""

MODES = {m.name: m for m in (FAST_RUN, FAST_COMPILE, DEBUG)}


def mode_of(given: Any, otherwise: Mode = FAST_RUN) -> Mode:
    """A mode given as such, by name, or not at all.

    Raises
    ------
    ArgumentError
        There is no such mode.
    """
    if given is None:
        return otherwise
    if isinstance(given, Mode):
        return given
    if isinstance(given, str) and given in MODES:
        return MODES[given]
    hint = near(given, MODES) if isinstance(given, str) else ""
    raise ArgumentError(
        Problem(f"mode must be one of {', '.join(map(repr, MODES))}, or a Mode, not {given!r}", hint=hint)
    )


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of the function that is made, besides its graph.

    Attributes
    ----------
    turned : tuple of int
        The positions of parameters that lie in Fortran's order.
    parallel : bool
        Whether loops whose trips do not wait for each other may run on several cores.
    cuda : bool
        Whether it runs on a GPU.
    """

    turned: tuple[int, ...] = ()
    parallel: bool = False
    cuda: bool = False


@dataclass(frozen=True, slots=True)
class _Compiling:
    mode: Mode = FAST_RUN
    args: Sequence[Any] | None = None
    target: Target = Target()


_compiling: ContextVar[_Compiling] = ContextVar("compiling")
_DEFAULT = _Compiling()


def current_mode() -> Mode:
    """The mode of the function that is being compiled."""
    return _compiling.get(_DEFAULT).mode


def current_args() -> Sequence[Any] | None:
    """Numbers and arrays that the function being compiled is called with, if they are known."""
    return _compiling.get(_DEFAULT).args


def current_target() -> Target:
    """What is known of the function that is being compiled."""
    return _compiling.get(_DEFAULT).target


_ANY = Target()


@contextmanager
def compiling(mode: Mode, args: Sequence[Any] | None = None, target: Target = _ANY) -> Iterator[None]:
    """Compile inside in a mode; ``args`` are what functions are evaluated on in `DEBUG`."""
    token = _compiling.set(_Compiling(mode, args, target))
    try:
        yield
    finally:
        _compiling.reset(token)
