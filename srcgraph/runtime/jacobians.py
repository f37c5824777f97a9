"""What users call for derivatives with more than one number at both ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from srcgraph.errors import ArgumentError
from srcgraph.frontend.derived import Written
from srcgraph.frontend.jacobians import by_columns, by_rows, by_the_shorter, weighed
from srcgraph.infer.signature import Leaves, skeleton_of
from srcgraph.runtime.api import Compiled, error_model_of
from srcgraph.runtime.derivatives import grad, jvp
from srcgraph.runtime.transforms import leaf_positions
from srcgraph.runtime.written import names_of, remembered, written

_SPACE = {
    "by_columns": by_columns, "by_rows": by_rows, "by_the_shorter": by_the_shorter, "weighed": weighed, "grad": grad,
    "jvp": jvp,
}  # fmt: skip
_FORWARD = "by_columns({at}, {x}, jvp)"
_REVERSE = "by_rows({at}, {x}, grad)"
_SHORTER = "by_the_shorter({at}, {x}, jvp, grad)"


def jacfwd(function: Callable, /, argnums: int | Sequence[int] = 0, *, error_model: str | None = None) -> Compiled:
    """The Jacobian of a function, column by column: forward mode, for functions of few numbers.

    Parameters
    ----------
    function : function or Compiled
        Of numbers and arrays of floats; it returns a float or an array of floats.
    argnums : int or sequence of int
        Which arguments to differentiate with respect to; a sequence gives a tuple of Jacobians.
    error_model : {"python", "numpy"}, optional
        See `compile`.

    Returns
    -------
    Compiled
        Takes the same arguments. A Jacobian has the shape of the result followed by that of the argument:
        ``J[i, j]`` is the derivative of ``result[i]`` by ``argument[j]``.

    Examples
    --------
    >>> jacfwd(lambda x: x[0] * x)(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    return _jacobian(function, argnums, _FORWARD, error_model)


def jacrev(function: Callable, /, argnums: int | Sequence[int] = 0, *, error_model: str | None = None) -> Compiled:
    """The Jacobian of a function, row by row: reverse mode, for functions that return few numbers.

    See `jacfwd`, which gives the same, for the parameters and the shape.

    Examples
    --------
    >>> jacrev(lambda x: x[0] * x)(np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    return _jacobian(function, argnums, _REVERSE, error_model)


def jacobian(function: Callable, /, argnums: int | Sequence[int] = 0, *, error_model: str | None = None) -> Compiled:
    """The Jacobian of a function, by `jacfwd` or `jacrev`, whichever takes fewer evaluations.

    Examples
    --------
    >>> jacobian(lambda x: np.sum(x**2))(np.array([2.0, 3.0]))
    array([4., 6.])
    """
    return _jacobian(function, argnums, _SHORTER, error_model)


def hessian(function: Callable, /, argnums: int | Sequence[int] = 0, *, error_model: str | None = None) -> Compiled:
    """The second derivatives of a function that returns one float: forward over reverse mode.

    Parameters
    ----------
    function : function or Compiled
        As for `grad`.
    argnums : int or sequence of int
        Which arguments; a sequence gives a tuple of tuples, ``H[i][j]`` by arguments i and then j.
    error_model : {"python", "numpy"}, optional
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
    names = names_of(function)
    return _around(function, names, _hessian(argnums, getattr(function, "__name__", "function"), names), error_model)


def hvp(function: Callable, /, primals: Any, tangents: Any, *, error_model: str | None = None) -> Any:
    """The Hessian of a function that returns one float, times a vector: forward over reverse mode.

    Parameters
    ----------
    function : function or Compiled
        As for `grad`.
    primals : any, or tuple
        Its argument, or a tuple of its arguments.
    tangents : any, or tuple
        The vector, in the same structure; None for an argument that does not move.

    Returns
    -------
    any, or tuple
        In the structure of ``primals``: how the gradient moves when the arguments do; None where they do not.

    Examples
    --------
    >>> hvp(lambda x: x[0] ** 2 * x[1], np.array([2.0, 3.0]), np.array([1.0, 0.0]))
    array([6., 4.])
    """
    if not isinstance(primals, tuple):
        return hvp(function, (primals,), (tangents,), error_model=error_model)[0]
    if not isinstance(tangents, tuple) or len(tangents) != len(primals):
        raise ArgumentError("hvp: tangents are a tuple as long as that of the primals")
    moving = tuple(k for k, t in enumerate(tangents) if t is not None)
    slope = grad(function, argnums=moving, error_model=error_model)
    moved = iter(jvp(slope, primals, tangents)[1])
    return tuple(next(moved) if k in moving else None for k in range(len(primals)))


def vjp(function: Callable, /, *primals: Any, error_model: str | None = None) -> tuple[Any, Callable[[Any], Any]]:
    """The value of a function, and a function that pulls cotangents of it back: reverse mode.

    Parameters
    ----------
    function : function or Compiled
        It returns a number, an array, or a tuple of these.
    *primals
        Its arguments.

    Returns
    -------
    value : any
        What the function returns.
    pullback : function
        ``pullback(cotangent)``, a cotangent in the structure of the value, with None for what does not count, gives a
        tuple of the cotangents of the arguments, None for those that are no floats. It may be called again and
        again; each call computes the function anew.

    Examples
    --------
    >>> value, pullback = vjp(lambda x, y: (x * y, x + y), 2.0, 3.0)
    >>> value, pullback((1.0, 0.0)), pullback((0.0, 1.0))
    ((6.0, 5.0), (3.0, 2.0), (1.0, 1.0))
    """
    names = names_of(function, len(primals))
    moving = [k for k, x in enumerate(primals) if _has_floats(x)]
    if not moving:
        raise ArgumentError(f"vjp: no argument of {function.__name__} is a float")
    value = _around(function, names, f"primal({', '.join(names)})", error_model)(*primals)
    given = "".join(f"{names[k]}, " for k in moving)
    moved = {k: f"{names[k]}_" for k in moving}
    inner = f"lambda {', '.join(moved.values())}: weighed(primal({_with(names, moved)}), ct_)"
    text = f"grad({inner}, argnums={tuple(range(len(moving)))})({given})"
    pull = _around(function, [*names, "ct_"], text, error_model)

    def pullback(cotangent: Any) -> Any:
        found = iter(pull(*primals, cotangent))
        return tuple(next(found) if k in moving else None for k in range(len(primals)))

    return value, pullback


def _has_floats(x: Any) -> bool:
    return any(s.dtype.kind == "f" for _, s in leaf_positions(skeleton_of(x, "x", Leaves(), frozenset()), 0))


def _jacobian(function: Callable, argnums: Any, template: str, error_model: str | None) -> Compiled:
    names = names_of(function)
    body = _blocks(template, argnums, getattr(function, "__name__", "function"), names)
    return _around(function, names, body, error_model)


def _blocks(template: str, argnums: Any, name: str, names: Sequence[str]) -> str:
    """The text of a Jacobian of a function of these arguments."""
    chosen = _positions(name, len(names), argnums)

    def one(k: int) -> str:
        return template.format(at=f"lambda v_: primal({_with(names, {k: 'v_'})})", x=names[k])

    return f"({''.join(f'{one(k)}, ' for k in chosen)})" if isinstance(chosen, tuple) else one(chosen)


def _hessian(argnums: Any, name: str, names: Sequence[str]) -> str:
    """The text of a Hessian of a function of these arguments."""
    chosen = _positions(name, len(names), argnums)

    def block(i: int, j: int) -> str:
        slope = f"grad(lambda w_: primal({_with(names, {j: 'v_', i: 'w_'})}))({'v_' if i == j else names[i]})"
        return f"by_columns(lambda v_: {slope}, {names[j]}, jvp)"

    if not isinstance(chosen, tuple):
        return block(chosen, chosen)
    rows = ["(" + "".join(f"{block(i, j)}, " for j in chosen) + ")" for i in chosen]
    return f"({', '.join(rows)},)"


def _inside(body: Callable[..., str]) -> Callable[..., Written]:
    """What it is inside compiled functions, by the text that it writes for ``argnums``."""

    def make(argnums: int | Sequence[int] = 0, *, error_model: str | None = None) -> Written:
        return Written(lambda names: body(argnums, "the function", names), tuple(_SPACE.items()))

    return make


for _made, _template in ((jacfwd, _FORWARD), (jacrev, _REVERSE), (jacobian, _SHORTER)):
    _made.derives = _inside(partial(_blocks, _template))  # type: ignore[attr-defined]
hessian.derives = _inside(_hessian)  # type: ignore[attr-defined]


def _with(names: Sequence[str], others: dict[int, str]) -> str:
    """The arguments of a call, some of them others."""
    return ", ".join(others.get(k, name) for k, name in enumerate(names))


def _positions(name: str, count: int, argnums: Any) -> int | tuple[int, ...]:
    """Arguments by their numbers, counted from the front."""
    several = isinstance(argnums, list | tuple)
    for k in argnums if several else (argnums,):
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not -count <= k < count:
            raise ArgumentError(f"argnums={argnums!r}, but {name} takes {count} arguments")
    return tuple(int(k) % count for k in argnums) if several else int(argnums) % count


def _around(function: Any, parameters: Sequence[str], body: str, error_model: str | None) -> Compiled:
    model = error_model_of(error_model, function)
    space = {**_SPACE, "primal": function}
    return remembered(
        function, (body, tuple(parameters), model), lambda: written(function, parameters, body, space, (), model)
    )
