"""What users call to differentiate a function: gradients, and derivatives in a direction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from inspect import signature
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError, Problem
from srcgraph.frontend.derived import Mode, Written
from srcgraph.runtime.api import Compiled, as_function, derived_method, method_of, refuse_verified
from srcgraph.runtime.built import is_built, of_built
from srcgraph.runtime.checkpoint import checkpointing
from srcgraph.runtime.options import AnyMode, Options, options_of
from srcgraph.runtime.tangents import Tangent
from srcgraph.runtime.transforms import Gradient
from srcgraph.runtime.verification.verified import Verified
from srcgraph.runtime.written import names_of, remembered, written
from srcgraph.runtime.wrt import FIRST, by_shared, inside


def grad(
    function: Callable | None = None,
    /,
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    return_value: bool = False,
    checkpoint: int | str | None = None,
    progress: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
    verify: bool = False,
    cache: bool | None = None,
    parallel: bool | str | None = None,
    fastmath: bool | Collection[str] | None = None,
) -> Any:
    """The gradient of a function that returns one float, or of one float built of variables.

    Parameters
    ----------
    function : function or Compiled, or Value
        Plain Python; loops, branches, early exits and stores are differentiated as they run. Or a number built of
        variables (`srcgraph.ir.scalar` and so on).
    argnums : int or sequence of int
        Which arguments to differentiate with respect to; a sequence gives a tuple of gradients.
    wrt : SharedVariable or Value, or list or tuple of them, optional
        The shared variables to differentiate with respect to, in place of arguments: gradients in that structure. What
        the function assigns to shared variables is not committed. For a number built of variables: those variables,
        shared ones too, or values made of them on the way.
    has_aux : bool
        The function returns (number, auxiliary data); the gradient function (gradient, data).
    return_value : bool
        Return (gradient, value) instead of the gradient alone.
    checkpoint : int or str, optional
        Reverse the outermost loops from stored states, not from a tape of all trips: so many states of each loop
        (``50``), as many as fit into an amount of memory (``"200 MB"``), or ``"auto"``: a tape where its size, found
        from the arguments at each call, is known not to be above 1 GB, else states in so much memory. The trips
        between them run again. See `checkpoint` to mark single loops.
    progress : bool
        Show how far checkpointed loops are reversed, in a bar of `tqdm`.
    error_model, mode : optional
        See `compile`; those of a compiled function are kept.
    verify : bool
        Compare every call's gradient with differences, operation by operation, and raise `VerificationError` where
        it is wrong. For tests: see the notes.
    cache, parallel, fastmath : optional
        See `compile`; those of a compiled function are kept.

    Returns
    -------
    Compiled
        Takes the same arguments, positional or by keyword. A gradient has the shape, dtype and
        structure of its argument and is a new array; the caller's arrays are never changed.
        Of a number built of variables: the gradient, a variable too, or a list or tuple of them.

    Raises
    ------
    DerivativeError
        When called: the function does not return one float, or uses something that has no derivative.
    ArgumentError
        When called: an argument differentiated with respect to is not a float; the message names it. Of what is built
        of variables, at once: it is not one float, or not made of what ``wrt`` has.
    VerificationError
        When called, with ``verify=True``: the gradient is wrong; the message names the first statement, as the reverse
        sweep goes, that makes it so.

    Notes
    -----
    With ``verify=True`` a call is run once more, operation by operation, which takes some tenths of a millisecond for
    each: give it few trips. Rules, a `custom_vjp` of your own too, are compared with differences at the values they
    had, the gradient with what these rules make of the run without loops and tapes. The returned function's ``report``
    lists what could not be checked: kinks, jumps, numbers that are not finite.

    Examples
    --------
    >>> def power(x, n):
    ...     y = 1.0
    ...     for _ in range(n):
    ...         y *= x
    ...     return y
    >>> grad(power)(2.0, 3)
    12.0
    >>> from srcgraph.ir import vector
    >>> x = vector("x")
    >>> grad((x * x).sum(), wrt=x)
    <d_x: f64[n]>
    """
    order = "gradient, value" if return_value else "gradient"
    more = {
        "return_value": return_value, "checkpoint": checkpoint, "progress": progress, "error_model": error_model,
        "mode": mode, "verify": verify, "cache": cache, "parallel": parallel, "fastmath": fastmath,
    }  # fmt: skip
    if is_built(function):
        given = {key: value for key, value in more.items() if key != "return_value"}
        return of_built(function, wrt, order, {"argnums": argnums, "has_aux": has_aux, **given})
    if wrt is not None:
        return by_shared(function, wrt, grad, {"argnums": argnums, "has_aux": has_aux, **more})
    return _differentiated(function, argnums, order, has_aux, grad, more)


def value_and_grad(
    function: Callable | None = None,
    /,
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    checkpoint: int | str | None = None,
    progress: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
    verify: bool = False,
    cache: bool | None = None,
    parallel: bool | str | None = None,
    fastmath: bool | Collection[str] | None = None,
) -> Any:
    """The value and the gradient of a function that returns one float, as (value, gradient).

    See `grad` for the parameters, ``verify`` too; with ``has_aux`` the value is (number, auxiliary data). Of a number
    built of variables, the value is that number.

    Examples
    --------
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    more = {
        "checkpoint": checkpoint, "progress": progress, "error_model": error_model, "mode": mode, "verify": verify,
        "cache": cache, "parallel": parallel, "fastmath": fastmath,
    }  # fmt: skip
    if is_built(function):
        return of_built(function, wrt, "value, gradient", {"argnums": argnums, "has_aux": has_aux, **more})
    if wrt is not None:
        return by_shared(function, wrt, value_and_grad, {"argnums": argnums, "has_aux": has_aux, **more})
    return _differentiated(function, argnums, "value, gradient", has_aux, value_and_grad, more)


def jvp(
    function: Callable,
    /,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
) -> tuple[Any, ...]:
    """The value of a function, and how it moves when its arguments do: forward mode.

    Parameters
    ----------
    function : function or Compiled
        Plain Python, as for `grad`; it may return any number of floats and arrays, alone or in tuples, lists, dicts
        and objects.
    primals : sequence
        Its positional arguments.
    tangents : sequence
        The direction in which each moves: of the structure, shape and dtype of the argument, with None for what does
        not move, or is no float.
    has_aux : bool
        The function returns (what is differentiated, auxiliary data), and `jvp` (value, tangent, data).
    error_model, mode : optional
        See `compile`.

    Returns
    -------
    value : any
        What the function returns.
    tangent : any
        In the structure of the value, the derivative of each float of it; None for what is no float.

    Raises
    ------
    ArgumentError
        A tangent does not fit its primal.
    DerivativeError
        Something on the way has no derivative.

    Notes
    -----
    The cost is that of a few evaluations, whatever the number of results; that of `grad` is, whatever the number of
    arguments. Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.

    Examples
    --------
    >>> jvp(lambda x, y: x * y, (3.0, 2.0), (1.0, 10.0))
    (6.0, 32.0)
    """
    for name, group in (("primals", primals), ("tangents", tangents)):
        if not isinstance(group, tuple | list):
            raise ArgumentError(Problem(f"jvp: {name} are a tuple, one for each argument", hint="jvp(f, (x,), (d_x,))"))
    given, moved = tuple(primals), tuple(tangents)
    if len(given) != len(moved):
        raise ArgumentError(f"jvp: {len(given)} primals, but {len(moved)} tangents")
    if (method := method_of(function)) is not None:
        own = (method.__self__, *given), (None, *moved)
        return jvp(method.__func__, *own, has_aux=has_aux, error_model=error_model, mode=mode)
    made = _pushed(function, len(given), has_aux, options_of(function, error_model=error_model, mode=mode))
    return made(*given, *_apart(moved, given))


def _apart(tangents: Sequence[Any], primals: Sequence[Any]) -> Iterator[Any]:
    """Directions in memory of their own, as a function may store into its arguments."""
    seen = [x for x in primals if isinstance(x, np.ndarray)]
    for tangent in tangents:
        if isinstance(tangent, np.ndarray):
            tangent = tangent.copy() if any(np.may_share_memory(tangent, x) for x in seen) else tangent
            seen.append(tangent)
        yield tangent


def _gradient(
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    return_value: bool = False,
    checkpoint: int | str | None = None,
    progress: bool = False,
    error_model: str | None = None,
) -> Gradient | Written:
    if wrt is not None:
        more = {"return_value": return_value, "checkpoint": checkpoint, "progress": progress}
        return inside(wrt, grad, {"argnums": argnums, "has_aux": has_aux, **more})
    order = "gradient, value" if return_value else "gradient"
    return Gradient(argument_numbers(argnums), order, has_aux, checkpointing(checkpoint, progress))


def _value_and_gradient(
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    checkpoint: int | str | None = None,
    progress: bool = False,
    error_model: str | None = None,
) -> Gradient | Written:
    if wrt is not None:
        more = {"checkpoint": checkpoint, "progress": progress}
        return inside(wrt, value_and_grad, {"argnums": argnums, "has_aux": has_aux, **more})
    return Gradient(argument_numbers(argnums), "value, gradient", has_aux, checkpointing(checkpoint, progress))


grad.derives = _gradient  # type: ignore[attr-defined]
value_and_grad.derives = _value_and_gradient  # type: ignore[attr-defined]
jvp.mode = Mode("jvp", lambda count, has_aux: (Tangent(count, has_aux),))  # type: ignore[attr-defined]


def _pushed(function: Any, count: int, has_aux: bool, options: Options) -> Compiled:
    """A function of ``count`` arguments and as many directions; made once for each function."""
    refuse_verified(function)
    inner = function.py_func if isinstance(function, Compiled) else function
    before = function.transforms if isinstance(function, Compiled) else ()

    def make() -> Compiled:
        names = names_of(function, count)
        directions = [_unlike(f"d_{name}", names) for name in names]
        first = [t.counted_from_the_front(count) if isinstance(t, Gradient) else t for t in before]
        transforms = (*first, Tangent(count, has_aux))
        return written(
            inner, [*names, *directions], f"primal({', '.join(names)})", {"primal": inner}, transforms, options
        )

    return remembered(inner, ("jvp", count, has_aux, options, before), make)


def _unlike(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _differentiated(
    function: Callable | None, argnums: Any, order: str, has_aux: bool, again: Callable, more: dict[str, Any]
) -> Any:
    chosen, options = (
        argument_numbers(argnums),
        options_of(function, **{key: more[key] for key in ("error_model", "mode", "cache", "parallel", "fastmath")}),
    )
    if function is None:
        return lambda f: again(f, argnums=chosen, has_aux=has_aux, **more)
    if (method := method_of(function)) is not None:  # the arguments are counted without the object
        shifted = [k + 1 if k >= 0 else k for k in (chosen if isinstance(chosen, tuple) else (chosen,))]
        places = tuple(shifted) if isinstance(chosen, tuple) else shifted[0]
        return derived_method(_differentiated(method.__func__, places, order, has_aux, again, more), method.__self__)
    if isinstance(function, functools.partial):  # they are counted without those that are given
        places = free_places(function, chosen) if isinstance(chosen, tuple) else free_places(function, (chosen,))[0]
        made = _differentiated(function.func, places, order, has_aux, again, more)
        return functools.partial(made, *function.args, **function.keywords)
    refuse_verified(function)
    kind = Verified if more["verify"] else Compiled
    transform = Gradient(chosen, order, has_aux, checkpointing(more["checkpoint"], more["progress"]))
    if isinstance(function, Compiled):
        return kind(function.py_func, (*function.transforms, transform), function.source, options)
    return kind(as_function(function), (transform,), options=options)


def free_places(function: functools.partial, argnums: tuple[int, ...]) -> tuple[int, ...]:
    """The places of arguments of a partial among those of its function."""
    names = list(signature(function.func).parameters)
    free = [k for k, name in enumerate(names) if k >= len(function.args) and name not in function.keywords]
    if any(not -len(free) <= k < len(free) for k in argnums):
        raise ArgumentError(f"argnums {argnums} of a partial that takes {len(free)} arguments")
    return tuple(free[k] for k in argnums)


def argument_numbers(argnums: Any) -> int | tuple[int, ...]:
    several = isinstance(argnums, list | tuple)
    many = tuple(argnums) if several else (argnums,)
    if not many or not all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in many):
        raise ArgumentError(f"argnums must be an integer or a sequence of integers, not {argnums!r}")
    if len(set(many)) < len(many):
        raise ArgumentError(f"argnums={argnums!r} names an argument twice")
    return tuple(map(int, many)) if several else int(argnums)
