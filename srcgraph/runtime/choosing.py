"""`ifelse`: one of two values, of which only what is needed is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.calls import bound, call_function
from srcgraph.frontend.pythonic import BUILTINS
from srcgraph.ir.graph import Value
from srcgraph.ir.shared import SharedVariable
from srcgraph.ir.symbolic import step, variable_of
from srcgraph.ir.types import same_kind
from srcgraph.runtime.symbolic import either, written


def ifelse(condition: Any, then: Any, orelse: Any) -> Any:
    """``then`` if a condition holds, else ``orelse``.

    Of variables (`srcgraph.ir.scalar` and so on), what only one of the two is made of is computed, and may raise, only
    where that one is taken, whoever runs the graph. Inside compiled functions it is a conditional expression: what only
    one branch needs is computed there, but for what may raise, which raises as in Python. Derivatives are those of the
    value that is taken.

    Parameters
    ----------
    condition : bool or number
    then, orelse : number, array or variable
        Both numbers, or arrays of one dtype and number of axes.

    Raises
    ------
    ArgumentError
        The two are of different types.

    Examples
    --------
    >>> from srcgraph.ir import scalar
    >>> import srcgraph, numpy
    >>> x = scalar("x")
    >>> f = srcgraph.function([x], ifelse(x > 0.0, x + 1.0, numpy.exp(x)))
    >>> float(f(1000.0))
    1001.0
    """
    given = [variable_of(v) if isinstance(v, SharedVariable) else v for v in (condition, then, orelse)]
    if not isinstance(given[0], Value):
        return _chosen(*given)
    if not any(np.ndim(v) if not isinstance(v, Value) else v.type.ndim for v in given[1:]):
        return written("({1} if {0} else {2})", given, lazy=True)
    x, y = (v if isinstance(v, Value) else written("np.asarray({0})", [v]) for v in given[1:])
    if not same_kind(x.type, y.type):
        raise ArgumentError(Problem(f"ifelse of {x} and {y}: the types differ", hint="cast or stretch one of them"))
    test = written("bool({0})", given[:1])
    return step(either, (test, [lambda: x, lambda: y]), {}, lazy=True)


def _chosen(condition: Any, then: Any, orelse: Any) -> Any:
    return then if condition else orelse


def _inside(low: Any, args: Any, kwargs: Any, hint: str) -> Any:
    code = low.session.code_of(_chosen)
    return call_function(low, code, bound(low, code, _chosen, args, kwargs))


BUILTINS[ifelse] = _inside
