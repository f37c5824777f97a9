"""Effects: text written, warnings issued, stores seen. They run in order, once, and are never dropped."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

try:
    from tqdm import tqdm
except ImportError:  # it is asked for where progress is
    tqdm = None

from srcgraph.ir.exceptions import exception
from srcgraph.ir.op import define
from srcgraph.ir.text import formatted
from srcgraph.ir.types import PY_BOOL, ScalarType, Type


def _done(*values: Type, **attrs: Any) -> ScalarType:
    return PY_BOOL


def show_text(text: str, *values: Any, stream: str = "stdout") -> bool:
    """Write to a stream of `sys` as it is now."""
    print(formatted(text, values), end="", file=getattr(sys, stream))
    return True


def flush_stream(*, stream: str) -> bool:
    """Flush a stream of `sys`."""
    print(end="", file=getattr(sys, stream), flush=True)
    return True


def issue_warning(*values: Any, text: str, category: str, file: str, line: int, module: str) -> bool:
    """Warn as if from the user's line; each line has its warning once, as `warnings` filters say."""
    cls = exception(category)
    assert issubclass(cls, Warning)
    warnings.warn_explicit(cls(formatted(text, values)), cls, file, line, module, _REGISTRIES.setdefault(file, {}))
    return True


_REGISTRIES: dict[str, dict[Any, Any]] = {}
"""By file: what `warnings` has seen, as ``__warningregistry__`` of a module."""

_BARS: dict[str, Any] = {}
"""Progress bars by what they are of."""


def show_progress(done: int, total: int, *, text: str) -> bool:
    """Move a bar of `tqdm`, which is made when a loop begins and closed when it is done."""
    assert tqdm is not None
    if text not in _BARS or _BARS[text].n > done:
        _close(text)
        _BARS[text] = tqdm(desc=text, total=int(total))
    _BARS[text].update(int(done) - _BARS[text].n)
    if done >= total:
        _close(text)
    return True


def _close(text: str) -> None:
    if text in _BARS:
        _BARS.pop(text).close()


for _name, _stream in (("show", "stdout"), ("show_error", "stderr")):
    define(
        name=_name,
        doc=f"True, once ``text``, a template that takes the values, is written to ``sys.{_stream}``.",
        infer=_done,
        numpy=lambda *values, text, stream=_stream: show_text(text, *values, stream=stream),
        kind="effect",
        helpers="effects",
        emit={"cpu": _name},
    )
for _name, _shown, _does in (
    ("flush", "a stream of `sys` is flushed", flush_stream),
    ("progress", "a bar shows that so many of ``total`` steps are done", show_progress),
):
    define(
        name=_name,
        doc=f"True, once {_shown}.",
        infer=_done,
        numpy=_does,
        kind="effect",
        helpers="effects",
        emit={"cpu": _name},
    )
warn = define(
    name="warn",
    doc="True, once a warning is issued whose message is ``text``, a template that takes the values.",
    infer=_done,
    numpy=issue_warning,
    kind="effect",
    helpers="effects",
    emit={"cpu": "warn"},
)


def _seen(before: np.ndarray, after: np.ndarray) -> bool:
    np.copyto(before, after)
    return True


keep = define(
    name="keep",
    doc="True, once whoever sees the array that was ``before`` sees what is ``after``: an exception comes next.",
    infer=_done,
    numpy=_seen,
    kind="effect",
)
