"""What users call for derivatives with more than one number at both ends."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter
from typing import Any, TypeAlias

from srcgraph.errors import ArgumentError
from srcgraph.frontend.derived import Given, Mode, Written
from srcgraph.frontend.jacobians import by_columns, by_rows, by_the_shorter, given, part
from srcgraph.runtime.api import MADE_BY, Compiled, as_function, method_of, refuse_verified
from srcgraph.runtime.derivatives import argument_numbers, free_places, grad, jvp
from srcgraph.runtime.options import AnyMode, Options, options_of
from srcgraph.runtime.pullbacks import Pullback
from srcgraph.runtime.tangents import Tangent
from srcgraph.runtime.transforms import Gradient, from_the_front
from srcgraph.runtime.untouched import untouched
from srcgraph.runtime.written import around, by_position, remembered, takes_any_number
from srcgraph.runtime.wrt import FIRST, by_shared, inside


def vjp(
    function: Callable, /, *primals: Any, has_aux: bool = False, error_model: str | None = None, mode: AnyMode = None
) -> tuple[Any, ...]:
    """The value of a function, and a function that pulls cotangents of it back: reverse mode.

    Parameters
    ----------
    function : function or Compiled
        It returns floats and arrays of floats, alone or in tuples, lists, dicts and objects.
    *primals
        Its arguments.
    has_aux : bool
        The function returns (what is differentiated, auxiliary data), and `vjp` (value, pullback, data).
    error_model, mode : optional
        See `compile`.

    Returns
    -------
    value : any
        What the function returns.
    pullback : function
        ``pullback(cotangent)``, a cotangent in the structure of the value, with None for what does not count, gives a
        tuple of the cotangents of the arguments, in their structure, with None for what is no float. The function has
        run and is not run again: what the reverse sweep needs of it is kept, and each call, of which there may be any
        number, is one of the reverse sweep alone.

    Raises
    ------
    ArgumentError
        No argument is a float; in the pullback, the cotangent does not fit the value.
    DerivativeError
        The function returns no float, or something on the way has no derivative.

    Examples
    --------
    >>> value, pullback = vjp(lambda x, y: (x * y, x + y), 2.0, 3.0)
    >>> value, pullback((1.0, 0.0)), pullback((0.0, 1.0))
    ((6.0, 5.0), (3.0, 2.0), (1.0, 1.0))
    """
    options = options_of(function, error_model=error_model, mode=mode)
    return _pulled(function, tuple(range(len(primals))), has_aux, options)(*primals)


def _pulled(function: Any, argnums: tuple[int, ...], has_aux: bool, options: Options) -> Callable[..., Any]:
    if (method := method_of(function)) is not None:
        shifted = tuple(k + 1 for k in argnums)
        return types.MethodType(_pulled(method.__func__, shifted, has_aux, options), method.__self__)
    if isinstance(function, functools.partial):
        made = _pulled(function.func, free_places(function, argnums), has_aux, options)
        return functools.partial(made, *function.args, **function.keywords)
    refuse_verified(function)
    before = function.transforms if isinstance(function, Compiled) else ()
    source = function.source if isinstance(function, Compiled) else None
    inner = as_function(function)
    key = ("vjp", argnums, has_aux, options, before)
    return remembered(inner, key, lambda: Compiled(inner, (*before, Pullback(argnums, has_aux)), source, options))


_SPACE = {
    "by_columns": by_columns, "by_rows": by_rows, "by_the_shorter": by_the_shorter, "given": given, "part": part,
    "grad": grad, "jvp": jvp, "vjp": vjp, "untouched": untouched,
}  # fmt: skip
_FORWARD = "by_columns({at}, {x}, jvp)"
_REVERSE = "by_rows({at}, {x}, grad, vjp)"
_SHORTER = "by_the_shorter({at}, {x}, jvp, grad, vjp)"
_SECOND = "by_columns(lambda w_: by_rows({at}, w_, grad, vjp), {x}, jvp)"


def jacfwd(
    function: Callable,
    /,
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
) -> Compiled:
    """The Jacobian of a function, column by column: forward mode, for functions of few numbers.

    Parameters
    ----------
    function : function or Compiled
        Of floats and arrays of floats, alone or in tuples, dicts and objects; it returns such.
    argnums : int or sequence of int
        Which arguments to differentiate with respect to; a sequence gives a tuple of Jacobians.
    wrt : SharedVariable, or list or tuple of them, optional
        Shared variables to differentiate with respect to, in place of arguments; the result is structured alike.
    has_aux : bool
        The function returns (what is differentiated, auxiliary data), and this one (Jacobian, data).
    error_model, mode : optional
        See `compile`.

    Returns
    -------
    Compiled
        Takes the same arguments. A Jacobian has the shape of the result followed by that of the argument:
        ``J[i, j]`` is the derivative of ``result[i]`` by ``argument[j]``. Of structures it is one: that of the result,
        with that of the argument in place of each float, and None in place of what is no float.

    Examples
    --------
    >>> jacfwd(lambda x: x[0] * x)(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    if wrt is not None:
        return _by_shared(function, wrt, jacfwd, argnums, has_aux, error_model, mode)
    return _jacobian(function, _FORWARD, argnums, has_aux, options_of(function, error_model=error_model, mode=mode))


def jacrev(
    function: Callable,
    /,
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
) -> Compiled:
    """The Jacobian of a function, row by row: reverse mode, for functions that return few numbers.

    See `jacfwd`, which gives the same, for the parameters and the shape.

    Examples
    --------
    >>> jacrev(lambda x: x[0] * x)(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    if wrt is not None:
        return _by_shared(function, wrt, jacrev, argnums, has_aux, error_model, mode)
    return _jacobian(function, _REVERSE, argnums, has_aux, options_of(function, error_model=error_model, mode=mode))


def jacobian(
    function: Callable,
    /,
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
) -> Compiled:
    """The Jacobian of a function, by `jacfwd` or `jacrev`, whichever takes fewer evaluations.

    Examples
    --------
    >>> jacobian(lambda x: np.sum(x**2))(np.array([2.0, 3.0]))
    array([4., 6.])
    """
    if wrt is not None:
        return _by_shared(function, wrt, jacobian, argnums, has_aux, error_model, mode)
    return _jacobian(function, _SHORTER, argnums, has_aux, options_of(function, error_model=error_model, mode=mode))


def hessian(
    function: Callable,
    /,
    argnums: int | Sequence[int] = FIRST,
    *,
    wrt: Any = None,
    has_aux: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
) -> Compiled:
    """The second derivatives of a function that returns one float: forward over reverse mode.

    Parameters
    ----------
    function : function or Compiled
        As for `grad`.
    argnums : int or sequence of int
        Which arguments; a sequence gives a tuple of tuples, ``H[i][j]`` by arguments i and then j.
    wrt : SharedVariable, or list or tuple of them, optional
        Shared variables, in place of arguments.
    has_aux : bool
        The function returns (float, auxiliary data), and this one (Hessian, data).
    error_model, mode : optional
        See `compile`.

    Returns
    -------
    Compiled
        Takes the same arguments. The shape is that of the argument twice.

    Examples
    --------
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    if wrt is not None:
        return _by_shared(function, wrt, hessian, argnums, has_aux, error_model, mode)
    return _jacobian(function, _SECOND, argnums, has_aux, options_of(function, error_model=error_model, mode=mode))


def hvp(
    function: Callable,
    /,
    primals: Any,
    tangents: Any,
    *,
    has_aux: bool = False,
    checkpoint: int | str | None = None,
    progress: bool = False,
    error_model: str | None = None,
    mode: AnyMode = None,
) -> Any:
    """The Hessian of a function that returns one float, times a vector: forward over reverse mode.

    Parameters
    ----------
    function : function or Compiled
        As for `grad`.
    primals : any, or tuple
        Its argument, or a tuple of its arguments.
    tangents : any, or tuple
        The vector, in the same structure; None for an argument that does not move.
    has_aux : bool
        The function returns (float, auxiliary data), and `hvp` (product, data).
    checkpoint : int or str, optional
        How the loops of the gradient are reversed, see `grad`; what is stored moves too, and so takes twice the memory.
    progress : bool
        Show how far checkpointed loops are reversed.
    error_model, mode : optional
        See `compile`.

    Returns
    -------
    any, or tuple
        In the structure of ``primals``: how the gradient moves when the arguments do; None where they do not.

    Examples
    --------
    >>> hvp(lambda x: x[0] ** 2 * x[1], np.array([2.0, 3.0]), np.array([1.0, 0.0]))
    array([6., 4.])
    """
    more = {
        "has_aux": has_aux,
        "checkpoint": checkpoint,
        "progress": progress,
        "error_model": error_model,
        "mode": mode,
    }
    if not isinstance(primals, tuple):
        found = hvp(function, (primals,), (tangents,), **more)
        return (found[0][0], found[1]) if has_aux else found[0]
    if not isinstance(tangents, tuple) or len(tangents) != len(primals):
        raise ArgumentError("hvp: tangents are a tuple as long as that of the primals")
    moving = tuple(k for k, t in enumerate(tangents) if t is not None)
    if not moving:
        raise ArgumentError("hvp: all tangents are None")
    slope = grad(function, argnums=moving, **more)
    _, moved, *aux = jvp(slope, primals, tangents, has_aux=has_aux)
    product = tuple(moved[moving.index(k)] if k in moving else None for k in range(len(primals)))
    return (product, *aux) if has_aux else product


Argnums: TypeAlias = int | tuple[int, ...]


def _by_shared(
    function: Any, wrt: Any, derivative: Callable, argnums: Any, has_aux: bool, error_model: str | None, mode: AnyMode
) -> Compiled:
    options = {"argnums": argnums, "has_aux": has_aux, "error_model": error_model, "mode": mode, "verify": False}
    return by_shared(function, wrt, derivative, options)


def _jacobian(function: Any, template: str, argnums: Any, has_aux: bool, options: Options) -> Compiled:
    parameters = by_position(function)
    chosen = argument_numbers(argnums)
    if not takes_any_number(function):  # counted from the end, as by `grad`: of all parameters
        chosen = from_the_front(chosen, len(parameters))
    required = sum(p.default is Parameter.empty for p in parameters)
    inner = _inside(template)(chosen, has_aux=has_aux)
    key = template, chosen, has_aux, options
    made = remembered(function, key, lambda: around(function, inner, required, options))
    vars(made.py_func)[MADE_BY] = (_jacobian, (function, *key))
    return made


def _inside(template: str, derivative: Callable | None = None) -> Callable[..., Written]:
    """What it is inside compiled functions, by the text of one."""

    def make(
        argnums: int | Sequence[int] = FIRST,
        *,
        wrt: Any = None,
        has_aux: bool = False,
        error_model: str | None = None,
    ) -> Written:
        if wrt is not None and derivative is not None:
            return inside(wrt, derivative, {"argnums": argnums, "has_aux": has_aux})
        return Written(partial(_body, template, argument_numbers(argnums), has_aux), tuple(_SPACE.items()))

    return make


def _body(template: str, argnums: Argnums, has_aux: bool, call: Given) -> str:
    """The text of derivatives of a function, by some of its arguments."""
    chosen = _from_the_front(call, argnums)
    args = [f"given({call.at(k)}, {call.names[k]!r})" for k in chosen]
    if isinstance(argnums, tuple):
        x, moved = f"({', '.join(args)},)", {k: f"v_[{j}]" for j, k in enumerate(chosen)}
    else:
        x, moved = args[0], {chosen[0]: "v_"}
    function = f"untouched(lambda v_: {call.call(moved)})"  # which is evaluated many times
    main = f"lambda v_: part({function}(v_), 0)" if has_aux else function
    found = template.format(at=main, x=x)
    return f"({found}, part({function}({x}), 1))" if has_aux else found


def _from_the_front(call: Given, argnums: Argnums) -> list[int]:
    """Arguments by their numbers, counted from the front."""
    count = len(call.names)
    several = argnums if isinstance(argnums, tuple) else (argnums,)
    if any(not -count <= k < count for k in several):
        raise ArgumentError(f"argnums={argnums!r}, but the function takes {count} arguments")
    return [k % count for k in several]


for _made, _template in ((jacfwd, _FORWARD), (jacrev, _REVERSE), (jacobian, _SHORTER), (hessian, _SECOND)):
    _made.derives = _inside(_template, _made)  # type: ignore[attr-defined]
vjp.mode = Mode("vjp", lambda count, has_aux: (Pullback(tuple(range(count)), has_aux),))  # type: ignore[attr-defined]
hvp.mode = Mode(  # type: ignore[attr-defined]
    "hvp", lambda count, moving, has_aux: (Gradient(moving, has_aux=has_aux), Tangent(count, has_aux))
)
