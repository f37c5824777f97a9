"""`ifelse`: one of two values, of which only what is needed is computed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.calls import bound, call_function
from srcgraph.frontend.pythonic import BUILTINS
from srcgraph.ir.graph import Value
from srcgraph.ir.operators import Operators
from srcgraph.ir.types import same_kind
from srcgraph.runtime.formulas import written
from srcgraph.runtime.structure import UnlikeError, is_structure, leaves, mapped
from srcgraph.runtime.symbolic import either, placed


def ifelse(condition: Any, then: Any, orelse: Any) -> Any:
    """``then`` if a condition holds, else ``orelse``.

    Of variables (`srcgraph.ir.scalar` and so on), what only one of the two is made of is computed, and may raise, only
    where that one is taken, whoever runs the graph. Inside compiled functions it is a conditional expression: what only
    one branch needs is computed there, but for what may raise, which raises as in Python. Derivatives are those of the
    value that is taken.

    Parameters
    ----------
    condition : bool or number
    then, orelse : number, array or variable, or lists, tuples or dicts of these, one in another
        Both numbers, or arrays of one dtype and number of axes; or both of one structure, as is what is given.

    Raises
    ------
    ArgumentError
        The two are of different types or structures.

    Examples
    --------
    >>> from srcgraph.ir import scalar
    >>> import srcgraph, numpy
    >>> x = scalar("x")
    >>> f = srcgraph.function([x], ifelse(x > 0.0, x + 1.0, numpy.exp(x)))
    >>> float(f(1000.0))
    1001.0
    """
    if not isinstance(condition, Operators):
        return _chosen(condition, then, orelse)
    if is_structure(then) != is_structure(orelse) and not any(map(_has_variables, (then, orelse))):
        return _either(condition, then, orelse)  # one of them is written as a list of numbers
    try:
        return mapped(functools.partial(_either, condition), then, orelse)
    except UnlikeError:
        why = f"ifelse of {then!r} and {orelse!r}: the structures differ"
        hint = "give lists, tuples or dicts of one length, or with the same keys"
        raise ArgumentError(Problem(why, hint=hint)) from None


def _has_variables(x: Any) -> bool:
    return is_structure(x) and any(isinstance(v, Operators) for v in leaves(x))


def _either(condition: Operators, then: Any, orelse: Any) -> Any:
    """One of two numbers or arrays."""
    given = [v.variable if isinstance(v, Operators) else v for v in (then, orelse)]
    if not any(v.type.ndim if isinstance(v, Value) else np.ndim(v) for v in given):
        return written("({1} if {0} else {2})", [condition, *given], lazy=True)
    x, y = (v if isinstance(v, Value) else written("np.asarray({0})", [v]) for v in given)
    if not same_kind(x.type, y.type):
        raise ArgumentError(Problem(f"ifelse of {x} and {y}: the types differ", hint="cast or stretch one of them"))
    test = written("bool({0})", [condition])
    return placed(lambda test, x, y: either(test, [lambda: x, lambda: y]), (test, x, y), lazy=True)


def _chosen(condition: Any, then: Any, orelse: Any) -> Any:
    return then if condition else orelse


def _inside(low: Any, args: Any, kwargs: Any, hint: str) -> Any:
    code = low.session.code_of(_chosen)
    return call_function(low, code, bound(low, code, _chosen, args, kwargs))


BUILTINS[ifelse] = _inside
