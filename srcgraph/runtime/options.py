"""How a function is compiled, whatever is made of it: chosen once, kept by all that is derived from it."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from srcgraph.errors import ArgumentError, Problem
from srcgraph.opt.modes import FAST_RUN, Mode, mode_of
from srcgraph.opt.pipeline import db, is_own
from srcgraph.opt.rewriting.database import near
from srcgraph.runtime.engines.registry import Engine

ERROR_MODELS = ("python", "numpy")
FASTMATH = frozenset({"contract", "reassoc", "arcp", "nsz"})
"""What ``fastmath=True`` stands for: all of LLVM's that do not take numbers to be neither NaN nor infinite."""
TARGETS = ("cpu", "cuda")


class TargetError(ArgumentError, ValueError):
    """There is no such target."""


PARALLEL: dict[Any, float] = {False: 0.0, True: 1.0, "auto": 0.25, "always": 1e9}
"""What an operation counts where it is decided whether a loop is large enough to be shared out; the last is for tests.
"""
AnyMode: TypeAlias = Mode | str | None


@dataclass(frozen=True, slots=True)
class Options:
    """How a function is compiled.

    Attributes
    ----------
    error_model : {"python", "numpy"}
        What arithmetic of Python's numbers does where Python raises.
    mode : Mode
        Which rewrites its graphs go through.
    engine : Engine or None
        What runs its graphs, if they are not compiled.
    cache : bool
        Whether what is compiled is kept on disk.
    parallel : bool or "auto"
        Whether loops are shared out among threads.
    compares : bool
        Whether what kernels give is compared with what the functions give that they stand for; `DEBUG` always does.
    target : {"cpu", "cuda"}
        What it is compiled for.
    """

    error_model: str = ERROR_MODELS[0]
    mode: Mode = FAST_RUN
    engine: Engine | None = None
    cache: bool = True
    parallel: bool | str = False
    compares: bool = False
    target: str = TARGETS[0]

    @property
    def on_cpu(self) -> bool:
        """Whether it is compiled for the CPU."""
        return self.target == "cpu"

    @property
    def raises(self) -> bool:
        """Whether arithmetic of Python's numbers raises what Python does."""
        return self.error_model == "python"

    @property
    def cached(self) -> bool:
        """Whether versions are to be kept on disk: those for the CPU, by our rewrites, and not looked at."""
        return self.cache and self.on_cpu and self.engine is None and not self.mode.check and is_own()

    @property
    def description(self) -> str:
        """What tells the code compiled with these options apart from others, the same in every process."""
        known = f"{self.error_model} {self.mode.query.key} {db.digest}{' compares' * self.compares}{self._shares}"
        rounding = "".join(f" {flag}" for flag in sorted(self.mode.fastmath))
        return f"{known}{rounding}" if self.on_cpu else f"{known} {self.target}"

    @property
    def _shares(self) -> str:
        return f" parallel {self.parallel}" if self.parallel else ""


def _usually_parallel() -> bool | str:
    """What functions are compiled with that do not say: for trying programs as they are."""
    return {"1": True, "auto": "auto", "always": "always"}.get(os.environ.get("SRCGRAPH_PARALLEL", ""), False)


USUAL = Options(parallel=_usually_parallel())


def options_of(
    function: Any = None,
    *,
    error_model: str | None = None,
    mode: AnyMode = None,
    cache: bool | None = None,
    target: str | None = None,
    parallel: bool | str | None = None,
    fastmath: bool | Collection[str] | None = None,
) -> Options:
    """The options of a function made before, ``function.options``, with those that are given in their place.

    Raises
    ------
    ArgumentError
        There is no such error model, no such mode, or ``parallel`` or ``fastmath`` is none of its values.
    ValueError
        There is no such target.
    RewriteError
        The mode names a tag that no rewrite has.
    """
    found = getattr(function, "options", None)
    options = found if isinstance(found, Options) else USUAL
    if error_model is not None:
        if not isinstance(error_model, str) or error_model not in ERROR_MODELS:
            raise ArgumentError(f"error_model must be 'python' or 'numpy', not {error_model!r}")
        options = replace(options, error_model=error_model)
    if cache is not None:
        options = replace(options, cache=bool(cache))
    if target is not None:
        options = replace(options, target=_known_target(target))
    if parallel is not None:
        if not isinstance(parallel, bool | str) or parallel not in PARALLEL:
            raise ArgumentError(f"parallel must be True, False or 'auto', not {parallel!r}")
        options = replace(options, parallel=parallel)
    if mode is not None:
        chosen = mode_of(mode)
        db.check(chosen.query)
        options = replace(options, mode=chosen.rounding(options.mode.fastmath))
    if fastmath is not None:
        options = replace(options, mode=options.mode.rounding(_known_fastmath(fastmath)))
    if options.mode.fastmath and not options.on_cpu:
        raise ArgumentError('fastmath is for target="cpu"')
    return options


def _known_fastmath(given: Any) -> frozenset[str]:
    """The flags that are asked for; ``afn`` is about functions, which stay as accurate as they are."""
    if isinstance(given, bool):
        return FASTMATH if given else frozenset()
    if isinstance(given, str) or not isinstance(given, Collection) or not all(isinstance(f, str) for f in given):
        raise ArgumentError(f"fastmath must be True, False or a set of LLVM's flags, not {given!r}")
    for flag in sorted(set(given) - FASTMATH - {"afn"}):
        if flag in ("nnan", "ninf", "fast"):
            why, hint = f"fastmath cannot have {flag!r}: results that are NaN or infinite would be anything", ""
            hint = f"use {', '.join(map(repr, sorted(FASTMATH)))}, or True for all of these"
        else:
            why, hint = f"fastmath knows no flag {flag!r}", near(flag, FASTMATH)
        raise ArgumentError(Problem(why, hint=hint))
    return frozenset(given) & FASTMATH


def _known_target(target: Any) -> str:
    if isinstance(target, str) and target in TARGETS:
        return target
    hint = near(target, TARGETS) if isinstance(target, str) else ""
    raise TargetError(Problem(f"target must be 'cpu' or 'cuda', not {target!r}", hint=hint))
