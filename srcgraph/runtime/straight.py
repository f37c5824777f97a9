"""Calls without detours, of functions of numbers and arrays that leave them as they are.

Such a call is one Python function, made for the types of its arguments, around the compiled one: what a signature says
is looked at, and nothing else. Everything else takes the longer way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from srcgraph.frontend.session import FunctionGuard, Guard
from srcgraph.runtime.results import direct_parts

if TYPE_CHECKING:
    from srcgraph.runtime.specialization import Specialization

Direct: TypeAlias = Callable[[tuple[Any, ...]], Any]
NOT_READY = object()
"""What a call gives that has to take a longer way."""
_MOST = 40
"""Functions of more arguments than this are not called so."""


def straight(version: Specialization, args: Sequence[Any]) -> Direct | None:
    """A function of the tuple of arguments, for those of the types of ``args``; None if there is none for them."""
    detours = (
        version.hidden, version.updates, version.lists, version.changed, version.private,
        version.contiguous, version.places, version.shared, version.way.static, version.second,
    )  # fmt: skip
    returned = direct_parts(version.make)
    if any(detours) or returned is None or not 0 < len(args) <= _MOST:
        return None
    known: dict[str, Any] = {
        "run": version.run,
        "failed": version.failed,
        "NOT_READY": NOT_READY,
        "ndarray": np.ndarray,
    }
    tests = [_test(f"a{k}", value, known) for k, value in enumerate(args)]
    tests += [_fits(*between) for between in version.between]
    tests += [_holds(k, guard, known) for k, guard in enumerate(version.guards)]
    if None in tests:
        return None
    names = ", ".join(f"a{k}" for k in range(len(args)))
    text = f"""
def call(args):
    if len(args) != {len(args)}:
        return NOT_READY
    {names}, = args
    if not ({" and ".join(map(str, tests))}):
        return NOT_READY
    try:
        out = run({names})
    except Exception as error:
        failure = failed(error)
    else:
        return {_result(returned, version.single, known)}
    raise failure
"""
    exec(compile(text, "<srcgraph call>", "exec"), known)
    return known["call"]


def _test(name: str, value: Any, known: dict[str, Any]) -> str | None:
    """What says whether an argument is of the type of ``value``; None if that takes more."""
    kind = type(value)
    if kind is int:
        return f"type({name}) is int and {-(2**63)} <= {name} < {2**63}"
    if kind in (float, bool, complex) or (isinstance(value, np.generic) and value.dtype.kind in "biufc"):
        known[f"k_{name}"] = kind
        return f"type({name}) is k_{name}"
    if kind is not np.ndarray or np.dtype(value.dtype.str) is not value.dtype or 1 in value.shape or not value.ndim:
        return None
    known[f"d_{name}"] = value.dtype
    whole = f"1 not in {name}.shape"
    return f"type({name}) is ndarray and {name}.dtype is d_{name} and {name}.ndim == {value.ndim} and {whole}"


def _fits(first: int, axis: int, second: int, other: int, difference: int) -> str:
    """What says whether a length is what it must be, beside another or by itself."""
    less = f" - {_length(first, axis)}" if first >= 0 else ""
    return f"{_length(second, other)}{less} == {difference}"


def _length(leaf: int, axis: int) -> str:
    return f"a{leaf}" if axis < 0 else f"a{leaf}.shape[{axis}]"


def _holds(k: int, guard: Guard | FunctionGuard, known: dict[str, Any]) -> str:
    """What says whether something read from outside is what it was."""
    if isinstance(guard, Guard) and isinstance(guard.container, dict) and guard.code is None and guard.seen is not None:
        known[f"g{k}"], known[f"s{k}"] = guard.container, guard.seen
        return f"g{k}.get({guard.name!r}) is s{k}"
    known[f"h{k}"] = guard.holds
    return f"h{k}()"


def _result(returned: tuple[list[tuple[int, Any]], bool], single: bool, known: dict[str, Any]) -> str:
    """What a call returns, of ``out``."""
    parts, several = returned
    texts = []
    for k, (at, convert) in enumerate(parts):
        known[f"c{k}"] = convert
        text = "out" if single else f"out[{at}]"
        texts.append(text if convert is None else f"c{k}({text})")
    return f"({', '.join(texts)},)" if several else texts[0]
