"""Engines by name: those of the package, those registered, and those that other packages announce."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, TypeAlias

from srcgraph.errors import ArgumentError, Problem
from srcgraph.ir.graph import Program

Run: TypeAlias = Callable[[Sequence[Any]], list[Any]]
"""From the arguments of a program's entry to its results; it changes no argument."""
GROUP = "srcgraph.engines"
"""The entry points that name engines, or functions without parameters that make them."""


class Engine(Protocol):
    """What runs graphs."""

    @property
    def name(self) -> str: ...

    def compile(self, program: Program) -> Run:
        """What runs a program of closed graphs."""
        ...


_engines: dict[str, Engine] = {}


def register(name: str, engine: Engine) -> Engine:
    """Make an engine known by a name.

    Raises
    ------
    ArgumentError
        The name is taken, or it is no engine.
    """
    if name in _engines or name in _announced():
        raise ArgumentError(f"there is an engine named {name!r} already")
    _engines[name] = _checked(name, engine)
    return engine


def get(name: str) -> Engine:
    """The engine of that name.

    Raises
    ------
    ArgumentError
        There is none.
    """
    if name not in _engines:
        found = _announced().get(name)
        if found is None:
            raise ArgumentError(Problem(f"there is no engine named {name!r}", hint=f"one of {', '.join(names())}"))
        made = found.load()
        _engines[name] = _checked(name, made if hasattr(made, "compile") and not isinstance(made, type) else made())
    return _engines[name]


def names() -> list[str]:
    """The names of all engines, those of other packages after our own."""
    return list(dict.fromkeys([*_engines, *sorted(_announced())]))


def _announced() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _checked(name: str, engine: Any) -> Engine:
    if not callable(getattr(engine, "compile", None)) or not isinstance(getattr(engine, "name", None), str):
        raise ArgumentError(f"the engine {name!r} has no name, or no method compile")
    return engine
