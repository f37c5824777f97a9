"""Functions with derivative rules of their own."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.custom import Custom
from srcgraph.ir.text import is_name
from srcgraph.runtime.texts import function_of, unlike


class CustomFunction:
    """A function that is called as it is, and differentiated by a rule.

    Attributes
    ----------
    py_func : function
        The original function.
    custom : Custom
        The function and its rule, as compiled code sees them.
    caller : function
        A function that calls it, for what compiles functions.
    """

    kind = "custom_vjp"
    reverse = True
    again = False

    def __init__(self, function: Callable, nondiff_argnums: int | Sequence[int] = ()):
        kind = self.kind
        inner = getattr(function, "py_func", function)
        own = inner
        if isinstance(function, CustomFunction) and "native" in (kind, function.kind):  # the one around the other
            own = function.caller
        elif not isinstance(inner, types.FunctionType) or isinstance(function, CustomFunction):
            raise ArgumentError(f"{kind} takes a Python function, not {function!r}")
        self.py_func = inner
        parameters = list(signature(inner).parameters.values())
        for p in parameters:
            if p.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
                why = (
                    f"{kind}: {inner.__name__} has the keyword argument {p.name!r}, and rules get arguments by position"
                )
                raise ArgumentError(Problem(why, hint="make it a positional one"))
        nondiff = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(int(k) for k in nondiff_argnums)
        spread = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
        if any(not -len(parameters) <= k < len(parameters) for k in nondiff) and not spread:
            raise ArgumentError(
                f"{kind}: nondiff_argnums={nondiff}, but {inner.__name__} takes {len(parameters)} arguments"
            )
        self.custom = Custom(inner.__name__, {"function": own}, self.reverse, nondiff, self.again)
        self.caller = _caller(self, parameters)
        functools.update_wrapper(self, inner)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.py_func(*args, **kwargs)

    def define(self, **rules: Any) -> None:
        """Give it its rule."""
        for name, rule in rules.items():
            if not callable(rule):
                raise ArgumentError(f"{name} of {self.custom.name} is {rule!r}, not a function")
        self.custom.functions.update(rules)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __copy__(self) -> CustomFunction:
        return self

    def __deepcopy__(self, memo: Any) -> CustomFunction:
        return self

    def __reduce__(self) -> Any:
        """Pickled by name, as functions are."""
        return self.py_func.__qualname__

    def __repr__(self) -> str:
        return f"<srcgraph.{type(self).__name__} {self.custom.name}>"


def _caller(function: CustomFunction, parameters: Sequence[Parameter]) -> types.FunctionType:
    """A Python function that calls ``function``, with the same parameters."""
    name = function.py_func.__name__
    name = name if is_name(name) else "function"
    given = ", ".join("*" * (p.kind is Parameter.VAR_POSITIONAL) + p.name for p in parameters)
    called = unlike("primal", [name, *(p.name for p in parameters)])
    text = f"def {name}({given}):\n    return {called}({given})\n"
    made = function_of(text, name, f"around {name}", {called: function}, like=function.py_func)
    made.__defaults__ = function.py_func.__defaults__
    return made


class CustomVjp(CustomFunction):
    """What `custom_vjp` makes of a function."""

    def defvjp(self, fwd: Callable, bwd: Callable) -> None:
        """Give the function its rule.

        Parameters
        ----------
        fwd : function
            ``fwd(*args)`` returns (result, residuals).
        bwd : function
            ``bwd(*nondiff_args, residuals, cotangent)`` returns a tuple of cotangents.
        """
        self.define(fwd=fwd, bwd=bwd)


class CustomJvp(CustomFunction):
    """What `custom_jvp` makes of a function."""

    kind = "custom_jvp"
    reverse = False

    def defjvp(self, rule: Callable) -> Callable:
        """Give the function its rule, ``rule(*nondiff_args, primals, tangents)``; returns it, to be a decorator."""
        self.define(jvp=rule)
        return rule

    def defjvps(self, *rules: Callable | None) -> None:
        """Give it one rule for each argument: ``rule(tangent, result, *primals)``; None for an argument without one.

        The function returns a number or an array.

        Examples
        --------
        >>> @custom_jvp
        ... def scaled(x, y):
        ...     return x * y
        >>> scaled.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: x * t)
        >>> grad(scaled, argnums=(0, 1))(2.0, 3.0)
        (3.0, 2.0)
        """
        names = [p.name for p in signature(self.py_func).parameters.values()]
        if len(rules) != len(names) or self.custom.nondiff:
            why = f"defjvps takes a rule for each of the {len(names)} arguments of {self.custom.name}"
            raise ArgumentError(Problem(why, hint="give None where there is none; with nondiff_argnums use defjvp"))
        terms = [f"rule_{k}(tangents[{k}], out, *primals)" for k, rule in enumerate(rules) if rule is not None]
        text = "def rules(primals, tangents):\n    out = primal(*primals)\n"
        text += f"    return out, {' + '.join(terms) or None}\n"
        space = {"primal": self, **{f"rule_{k}": rule for k, rule in enumerate(rules)}}
        self.defjvp(function_of(text, "rules", f"rules of {self.custom.name}", space))


def custom_vjp(function: Callable | None = None, nondiff_argnums: int | Sequence[int] = ()) -> Any:
    """A function whose derivative in reverse mode is written by hand.

    Parameters
    ----------
    function : function
        Plain Python. Called without derivatives, compiled or not, it is all that runs.
    nondiff_argnums : int or sequence of int
        Arguments without derivatives, such as functions; ``bwd`` gets them before the others.

    Notes
    -----
    ``f.defvjp(fwd, bwd)`` gives the rule. ``fwd`` takes what ``f`` takes and returns what ``f`` returns, and residuals:
    anything that ``bwd`` needs. ``bwd(residuals, cotangent)`` takes these and the cotangent of the result, in its
    structure, with None for what is no float; it returns a tuple of the cotangents of the arguments, each in the
    structure, the shape and the dtype of its argument, or None where it is zero or there is none.

    All three are compiled; whatever they store into their arguments, they work on copies. The rule is differentiated
    as any code is for second derivatives. Derivatives in forward mode (`jvp`, `jacfwd`) are refused, except of a
    gradient: use `custom_jvp` to have both.

    Examples
    --------
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda residuals, ct: (np.clip(ct, -1.0, 1.0),))
    >>> grad(lambda x: 10.0 * clipped(x))(3.0)
    1.0
    """
    return CustomVjp(function, nondiff_argnums) if function else lambda f: CustomVjp(f, nondiff_argnums)


def custom_jvp(function: Callable | None = None, nondiff_argnums: int | Sequence[int] = ()) -> Any:
    """A function whose derivative is written by hand, in a form that serves forward and reverse mode.

    Parameters
    ----------
    function : function
        Plain Python. Called without derivatives, compiled or not, it is all that runs.
    nondiff_argnums : int or sequence of int
        Arguments without derivatives, such as functions; the rule gets them before the others.

    Notes
    -----
    ``f.defjvp(rule)`` gives the rule: ``rule(primals, tangents)`` takes the tuple of the arguments and that of their
    tangents, None for what is no float, and returns (result, tangent of the result). The tangent must be linear in
    the tangents, as derivatives are; reverse mode transposes it, and what is not linear is refused. The rule is
    differentiated as any code is for second derivatives.

    Examples
    --------
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1.0 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t / (1.0 + np.exp(-x))
    >>> round(float(grad(log1pexp)(100.0)), 6)
    1.0
    """
    return CustomJvp(function, nondiff_argnums) if function else lambda f: CustomJvp(f, nondiff_argnums)
