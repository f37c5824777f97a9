"""Calls without detours, of functions of numbers and arrays.

`srcgraph.runtime.calls` has machine code for them. Where that cannot run, such a call is one Python function, made for
the types of its arguments, around the compiled one: what a signature says is looked at, and nothing else. It is the
``__call__`` of a class of its own, which the compiled function is made an instance of, so that Python finds it at once;
everything else takes the longer way, which is that of the class before.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from srcgraph.frontend.session import ABSENT, FunctionGuard, Guard
from srcgraph.infer.signature import AT_LEAST, LONG, SMALL, Between
from srcgraph.runtime.depth import WithDepth
from srcgraph.runtime.exact import Exact, Unmatched
from srcgraph.runtime.results import Part, Whole, direct_parts, items_of

if TYPE_CHECKING:
    from srcgraph.runtime.api import Compiled
    from srcgraph.runtime.specialized import Specialization

MISSING = object()
"""What a parameter is that was not given."""
_MOST = 40
"""Functions of more arguments than this are not called so."""
_OWN = "__"
"""What names of generated text begin with."""


@dataclass(frozen=True, slots=True)
class Exactly:
    """What a call with arguments of some types is.

    Attributes
    ----------
    compiled : object
        What numba compiled for them.
    parts : list of Part
        What is returned.
    several : bool
        Whether that is a tuple.
    """

    compiled: Any
    parts: list[Part]
    several: bool


def exactly(version: Specialization, leaves: Sequence[Any], most: int, depth: int = 0) -> Exactly | None:
    """What a call of a version is that has no detours, with at most so many numbers and arrays; None for all others.

    ``depth`` is how deep a function that calls itself may go, the last argument of what is compiled.
    """
    detours = (version.updates, version.lists, version.places, version.way.static, version.second)
    returned, entry = direct_parts(version.make), version.entry
    run = version.run.run if depth and isinstance(version.run, WithDepth) else version.run
    usual = run is entry and isinstance(entry, Dispatcher) and 0 < len(leaves) <= most - bool(depth)
    if any(detours) or returned is None or not usual or not all(map(_usual, leaves)):
        return None
    given = [*leaves, depth] if depth else leaves
    compiled = entry.overloads.get(tuple(map(entry.typeof_pyval, given)))
    parts, several = returned
    if parts[0].kind == "made":
        parts = [Part("made", value=Whole(parts[0].value, version.single))]
    parts = [Part("output", p.at) if p.kind == "apart" and not p.value.others(leaves) else p for p in parts]
    return None if compiled is None or compiled.objectmode else Exactly(compiled, parts, several)


def _usual(value: Any) -> bool:
    """Whether it is a number or an array of which types, dtypes, layouts and lengths say all that there is to know."""
    if type(value) in (int, float, bool, complex):
        return True
    known = isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc"
    if not known or type(value.dtype) is not type(np.dtype(value.dtype.str)) or not value.dtype.isnative:
        return False
    return isinstance(value, np.generic) or type(value) is np.ndarray


def _is_stretched(value: Any) -> bool:
    """Whether it is an array that has no axes, or some of length 1."""
    return isinstance(value, np.ndarray) and (not value.ndim or 1 in value.shape)


def straighten(made: Compiled, version: Specialization, args: Sequence[Any]) -> None:
    """Let the next call be one for arguments such as these, if there is such a call of the version."""
    if id(version) not in made.direct:
        made.direct[id(version)] = [version, straight(made, version, args)]
    found: Any = made.direct[id(version)][1]
    if type(made) is found and not found.exact.add(args):  # its answer is never the shorter way
        made.direct[id(version)] = [version, None]
        made.__class__ = made.general
    elif found is not None:
        made.__class__ = found


def straight(made: Compiled, version: Specialization, args: Sequence[Any]) -> Any:
    """A class whose instances are called so with arguments of the types of ``args``; None if there is none for them."""
    how = exactly(version, args, _MOST)
    others = (version.hidden, version.shared, version.changed, version.private, version.contiguous)
    if how is None or any(others) or not made.positional or any(map(_is_stretched, args)):
        return None
    exact, names = Exact(version.entry), made.names
    known: dict[str, Any] = {
        "__run": exact,
        "__failed": version.failed,
        "__again": _again,
        "__missing": MISSING,
        "__unmatched": Unmatched,
        "__ndarray": np.ndarray,
        "__function": made.py_func,
        "__code": made.identity,
        "__type": type,
        "__len": len,
    }
    tests = [_test(name, value, known) for name, value in zip(names, args, strict=True)]
    if any(n.startswith(_OWN) for n in names) or not exact.add(args):
        return None
    measures, fits = _lengths(names, args, version)
    fits += [_holds(k, guard, known, made) for k, guard in enumerate(version.guards)]
    again = f"__again(__self, ({', '.join(names)},), __rest)"
    call = _function(f"""
def __call__(__self, {_parameters(made)}):
    if {" and ".join(tests)} and not __rest and __function.__code__ is __code:
        try:
            {"; ".join([*measures, f"__fits = {' and '.join(fits) or True}"])}
        except (TypeError, ValueError, NameError):
            __fits = False
        if __fits:
            try:
                __out = __run({", ".join(names)})
            except __unmatched:
                __failure = None
            except Exception as __error:
                __failure = __failed(__error)
            else:
                return {_result(how, version.single, names, known)}
            if __failure is not None:
                raise __failure
    return {again}
""", known, made.py_func.__globals__)  # fmt: skip
    call.__qualname__ = made.py_func.__qualname__  # in errors about arguments
    base = made.general
    space = {"__call__": call, "__module__": base.__module__, "exact": exact, "straight": True}
    return type(base.__name__, (base,), space)


def _function(text: str, known: dict[str, Any], outside: dict[str, Any]) -> Any:
    """A function that finds own names around it, and those from outside where the user's function finds them."""
    inner = textwrap.indent(text, "    ")
    whole = f"def __made({', '.join(known)}):{inner}\n    return __call__"
    made: dict[str, Any] = {}
    exec(compile(whole, "<srcgraph call>", "exec"), outside, made)
    return made["__made"](**known)


def _parameters(made: Compiled) -> str:
    """The parameters of a function, each of which may be missing: what is said of that is said elsewhere."""
    kinds = [p.kind for p in made.signature.parameters.values()]
    texts = [f"{name}=__missing" for name in made.names]
    first = sum(kind is inspect.Parameter.POSITIONAL_ONLY for kind in kinds)
    return ", ".join([*texts[:first], *["/"][: bool(first)], *texts[first:], "*__rest"])


def _again(made: Compiled, given: tuple[Any, ...], rest: tuple[Any, ...]) -> Any:
    """The longer way, with the arguments that were given."""
    count = next((k for k, value in enumerate(given) if value is MISSING), len(given))
    named = {made.names[k]: value for k, value in enumerate(given) if k > count and value is not MISSING}
    return made.general.__call__(made, *given[:count], *rest, **named)


def _test(name: str, value: Any, known: dict[str, Any]) -> str:
    """What says whether an argument is of the type of ``value``. Dtypes and numbers of axes are left to `Exact`."""
    kind = type(value)
    if kind is int:
        return f"__type({name}) is int and {-(2**63)} <= {name} < {2**63}"
    known[f"__{kind.__name__}"] = kind
    return f"__type({name}) is __{kind.__name__}"


def axes_of(args: Sequence[Any]) -> list[tuple[int, int]]:
    """The axes of arrays, each with its argument."""
    return [(k, axis) for k, value in enumerate(args) for axis in range(np.ndim(value))]


def unstretched(args: Sequence[Any], between: Sequence[Between]) -> list[tuple[int, int]]:
    """The axes of arrays, each with its argument, whose lengths have to be looked at not to be 1.

    The others are as long as others, or of a known length, by what must hold of lengths.
    """
    axes, told = axes_of(args), set()
    for first, axis, second, other, difference in between:
        if first < 0 or (not difference and (first, axis) in axes and (first, axis) < (second, other)):
            told.add((second, other))
    return [place for place in axes if place not in told]


def most_of(args: Sequence[Any]) -> list[tuple[int, int, int]]:
    """Up to where lengths, and integers, are few elements still: the argument, its axis or -1, and the most."""
    numbers = [(k, -1, LONG - 1) for k, value in enumerate(args) if type(value) is int]
    return numbers + [(k, axis, _most(np.shape(args[k]), axis)) for k, axis in axes_of(args)]


def _most(shape: tuple[int, ...], axis: int) -> int:
    """Up to where such an array has few elements, whichever of its axes grow so."""
    if len(shape) == 1:
        return LONG - 1
    return SMALL if max(shape) <= SMALL else shape[axis]


def _lengths(names: Sequence[str], args: Sequence[Any], version: Specialization) -> tuple[list[str], list[str]]:
    """What finds the lengths of arrays, and what says that they go together, and are not 1."""
    measures, sizes = [], {}
    for k, (name, value) in enumerate(zip(names, args, strict=True)):
        if isinstance(value, np.ndarray):
            own = [f"__{k}_{axis}" for axis in range(value.ndim)]
            sizes.update({(k, axis): n for axis, n in enumerate(own)})
            measures.append(f"{own[0]} = __len({name})" if len(own) == 1 else f"{', '.join(own)} = {name}.shape")
    fits = [f"{sizes[place]} != 1" for place in unstretched(args, version.between)]
    for first, axis, second, other, difference in version.between:
        size = sizes.get((second, other), names[second])
        if first == AT_LEAST:
            fits.append(f"{size} >= {difference}")
            continue
        than = sizes.get((first, axis), names[first]) if first >= 0 else "0"
        fits.append(f"{size} == {than}" if not difference else f"{size} - {than} == {difference}")
    fits += [f"{sizes.get((k, axis), names[k])} <= {most}" for k, axis, most in most_of(args) if version.few]
    return measures, fits


def _holds(k: int, guard: Guard | FunctionGuard, known: dict[str, Any], made: Compiled) -> str:
    """What says whether something read from outside is what it was."""
    if isinstance(guard, FunctionGuard) and not guard.keywords:
        known |= {f"__f{k}": guard.container, f"__c{k}": guard.code, f"__d{k}": guard.defaults}
        same = f"__f{k}.__code__ is __c{k} and __f{k}.__defaults__ is __d{k}"
        return f"{same} and not __f{k}.__kwdefaults__"
    known[f"__g{k}"] = guard.holds
    if isinstance(guard, FunctionGuard) or guard.seen is ABSENT or guard.container is not made.py_func.__globals__:
        return f"__g{k}()"
    if guard.name in made.names or not guard.name.isidentifier():
        return f"__g{k}()"
    known[f"__g{k}"], known[f"__c{k}"] = guard.seen, guard.code
    return f"{guard.name} is __g{k}" + (f" and __g{k}.__code__ is __c{k}" if guard.code is not None else "")


def _result(how: Exactly, single: bool, names: Sequence[str], known: dict[str, Any]) -> str:
    """What a call returns, of ``out``."""
    whole = "__out" if single else ""
    return _built(how.parts, whole, names, known, how.several)


def _built(parts: Sequence[Part], whole: str, names: Sequence[str], known: dict[str, Any], several: bool) -> str:
    """The text of a tuple of parts, or of the one there is."""
    texts = []
    for inner in items_of(parts):
        part = inner[0]
        if part.kind == "tuple":
            texts.append(_built(inner[1:], whole, names, known, True))
            continue
        if part.kind == "either":
            then, orelse = (_built([one], whole, names, known, False) for one in inner[1:])
            texts.append(f"({then} if {whole or f'__out[{part.at}]'} else {orelse})")
            continue
        known[own := f"__o{len(known)}"] = part.value
        text = whole or f"__out[{part.at}]"
        if part.kind == "made":
            return f"{own}(__out)"
        if part.kind == "apart":
            texts.append(f"{own}({text}, ({', '.join(names)},))")
            continue
        made = {"argument": lambda: names[part.at], "fixed": lambda: own, "output": lambda: text}[part.kind]()
        texts.append(f"{own}({made})" if part.kind == "output" and part.value is not None else made)
    return f"({', '.join(texts)},)" if several else texts[0]
