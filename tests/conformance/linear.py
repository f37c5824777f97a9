"""Linear algebra, also of stacks of matrices."""

from __future__ import annotations

import re
from typing import Any

from conformance.writing import Use, ndim_of


def product(use: Use) -> Any:
    return use("{0} @ {1}", *use.cast_all())


def options(use: Use) -> dict[str, str]:
    """What the name of a core op says in braces."""
    return dict(re.findall(r"(\w+)=([^,}]+)", use.properties.get("core_op", "")))


def cholesky(use: Use) -> Any:
    if options(use).get("lower") == "True":
        return use("np.linalg.cholesky({0})")
    return use("np.conj(np.swapaxes(np.linalg.cholesky(np.conj(np.swapaxes({0}, -1, -2))), -1, -2))")


def solved(use: Use, text: str = "np.linalg.solve({0}, {1})") -> Any:
    """A system of equations; of right sides that are vectors, along a new axis."""
    a, b = use.cast_all()
    if options(use)["b_ndim"] == "2":
        return use(text, *one_stack(use, a, b))
    return use(f"({text})[..., 0]", *one_stack(use, a, use("{0}[..., None]", b)))


def one_stack(use: Use, a: Any, b: Any) -> tuple[Any, Any]:
    """Matrices with as many before the last two axes."""
    if ndim_of(a) == ndim_of(b) == 2:
        return a, b
    stack = "np.broadcast_arrays({0}[..., 0, 0], {1}[..., 0, 0])[0].shape"
    wide = use(f"np.broadcast_to({{0}}, {stack} + {{0}}.shape[-2:])", a, b)
    return wide, use(f"np.broadcast_to({{1}}, {stack} + {{1}}.shape[-2:])", a, b)


def triangular(use: Use) -> Any:
    said = options(use)
    lower, unit = said["lower"] == "True", said["unit_diagonal"] == "True"
    if ndim_of(use.inputs[0]) == 2 and ndim_of(use.inputs[1]) == int(said["b_ndim"]):
        text = f"return linalg.solve_triangular({{0}}, {{1}}, lower={lower}, unit_diagonal={unit})"
        return use.do(text, *use.cast_all())
    half = f"np.tri{'l' if lower else 'u'}"
    matrix = f"{half}({{0}}, {-1 if lower else 1}) + np.eye({{0}}.shape[-1])" if unit else f"{half}({{0}})"
    return solved(use, f"np.linalg.solve({matrix}, {{1}})")


def by_factor(use: Use) -> Any:
    if options(use)["lower"] == "True":
        return solved(use, "np.linalg.solve({0} @ np.swapaxes({0}, -1, -2), {1})")
    return solved(use, "np.linalg.solve(np.swapaxes({0}, -1, -2) @ {0}, {1})")


def symmetric_or_not(use: Use) -> Any:
    """A system whose matrix may be given by one half."""
    said = options(use)
    if said["assume_a"] == "'tridiagonal'":
        return solved(use, "np.linalg.solve(np.triu(np.tril({0}, 1), -1), {1})")
    if said["assume_a"] != "'pos'":
        return solved(use)
    half = "np.tril({0}) + np.swapaxes(np.tril({0}, -1), -1, -2)"
    if said["lower"] != "True":
        half = "np.triu({0}) + np.swapaxes(np.triu({0}, 1), -1, -2)"
    return solved(use, f"np.linalg.solve({half}, {{1}})")


def blocks(use: Use) -> Any:
    """Matrices along the diagonal of one."""
    count, ndim = len(use.inputs), max(map(ndim_of, use.inputs))
    rows = [f"{{{k}}}.shape[{ndim - 2}]" for k in range(count)]
    columns = [f"{{{k}}}.shape[{ndim - 1}]" for k in range(count)]
    before = "".join(f"max({_lengths(count, a)}), " for a in range(ndim - 2))
    lines = ["row = 0", "column = 0"]
    lines += [f"out = np.zeros(({before}{' + '.join(rows)}, {' + '.join(columns)}), dtype=np.{use.dtype})"]
    for k in range(count):
        lines.append(f"out[..., row:row + {rows[k]}, column:column + {columns[k]}] = {{{k}}}")
        lines += [f"row += {rows[k]}", f"column += {columns[k]}"]
    return use.do("\n".join([*lines, "return out"]))


def _lengths(count: int, axis: int) -> str:
    return ", ".join(f"{{{k}}}.shape[{axis}]" for k in range(count))


def kronecker_of_stacks(use: Use) -> Any:
    """Of the last two axes."""
    ndim = max(map(ndim_of, use.inputs))
    outer = "{0}[..., :, None, :, None] * {1}[..., None, :, None, :]"
    before = "".join(f"{{0}}.shape[{k}], " for k in range(ndim - 2))
    rows, columns = (f"{{0}}.shape[{a}] * {{1}}.shape[{a}]" for a in (ndim - 2, ndim - 1))
    return use(f"np.reshape({outer}, ({before}{rows}, {columns}))")


BUILDERS = {
    **dict.fromkeys(("Dot", "Dot22", "BatchedDot", "Blockwise Dot"), product),
    "MatrixInverse": lambda use: use("np.linalg.inv({0})"),
    "Blockwise MatrixInverse": lambda use: use("np.linalg.inv({0})"),
    "Blockwise MatrixPinv": lambda use: use("np.linalg.pinv({0})"),
    "Blockwise Det": lambda use: use("np.linalg.det({0})"),
    "Blockwise Cholesky": cholesky,
    "Blockwise Solve": symmetric_or_not,
    "Blockwise SolveTriangular": triangular,
    "Blockwise CholeskySolve": by_factor,
    "Blockwise BlockDiagonal": blocks,
    "KroneckerProduct": lambda use: use("np.kron({0}, {1})"),
    "Blockwise KroneckerProduct": kronecker_of_stacks,
}
"""How each is built."""
