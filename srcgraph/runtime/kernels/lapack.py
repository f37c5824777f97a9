"""Factors of matrices, eigenvalues and least squares, by LAPACK.

Matrices lie by columns. What LAPACK takes is written here as it is in its manual: an argument is an array, a dim, the
leading dimension of an array (``ld:a``), a character (``'V``), or one that a flag chooses (``lower?LU``). A size of a
workspace of -1 asks LAPACK for the best one, which it writes into that workspace. ``info`` is LAPACK's: 0 where all
went well.

References
----------
Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM 1999.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from srcgraph.runtime.kernels.glue import MOST, Glue, Int, at_least
from srcgraph.runtime.kernels.matrix import countable
from srcgraph.runtime.kernels.record import Kernel, kernel

ALL, REALS = "fdFD", "fd"


def names(words: str) -> list[str]:
    """The names in ``a[m, n], info``."""
    return re.findall(r"\w+", re.sub(r"\[.*?\]", "", words))


def _write(g: Glue, words: Mapping[str, str], routine: str, arguments: str) -> None:
    known: dict[str, Any] = {n: g.out(k) for k, n in enumerate(names(words["outs"]))}
    known |= {n: g.given(k) for k, n in enumerate(names(words["ins"]))}
    dims, flags = names(words["dims"]), names(words["flags"])
    known |= dict(zip(dims, g.dims(len(dims)), strict=True))
    chosen = dict(zip(flags, g.flags(len(flags)), strict=True))
    leading = _leading(g, words, known)
    args = []
    for word in arguments.split():
        if word.startswith("'"):
            args.append(word[1])
        elif word.startswith("ld:"):
            args.append(leading[word[3:]])
        elif "?" in word:
            args.append(g.letter(chosen[word[:-3]], word[-2], word[-1]))
        else:
            args.append(known[word])
    g.fortran("lapack", routine, args)


def _leading(g: Glue, words: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Int]:
    """The leading dimensions of matrices; if one is none, nothing is done."""
    shapes = {a: (known[m], known[n]) for a, m, n in _MATRIX.findall(f"{words['outs']}, {words['ins']}")}
    fits = countable(*(known[d] for d in names(words["dims"])))
    out = {}
    matrices = names(words["strides"])
    for name, stride in zip(matrices, g.strides(len(matrices)), strict=True):
        rows, columns = shapes[name]
        least = at_least(rows, 1)
        few = (columns <= 1) | rows.equals(0)
        out[name] = few.where(least, stride // g.size)
        fits = fits & (few | (stride % g.size).equals(0)) & (out[name] >= least) & (out[name] <= MOST)
    g.refuse_unless(fits)
    return out


_MATRIX = re.compile(r"(\w+)\[(\w+), (\w+)\]")


def lapack(
    name: str,
    dtypes: str,
    doc: str,
    call: str,
    workspace: Callable[..., tuple[int, ...]] | None = None,
    *,
    outs: str,
    ins: str = "",
    dims: str,
    strides: str,
    flags: str = "",
) -> Kernel:
    """Enter a routine of LAPACK as a kernel."""
    words = {"outs": outs, "ins": ins, "dims": dims, "strides": strides, "flags": flags}

    def write(g: Glue) -> None:
        routine = name.split("_")[0]
        _write(g, words, "ungqr" if g.is_complex and routine == "orgqr" else routine, call)

    return kernel(name, dtypes, doc, write, workspace, outs=outs, ins=ins, dims=dims, strides=strides, flags=flags)


# -- factors -----------------------------------------------------------------------------------------------

getrf = lapack(
    "getrf",
    ALL,
    "``a`` becomes its factors L and U; pivots are the rows, from 1, that rows were exchanged with.",
    outs="a[m, n], pivots[k], info",
    dims="m, n",
    strides="a",
    call="m n a ld:a pivots info",
)
getrs = lapack(
    "getrs",
    ALL,
    "``b`` becomes the ``x`` with ``a x = b``, or ``a.T x = b`` if ``transposed``, given what `getrf` made of ``a``.",
    outs="b[n, count], info",
    ins="a[n, n], pivots[n]",
    dims="n, count",
    strides="b, a",
    flags="transposed",
    call="transposed?TN n count a ld:a pivots b ld:b info",
)
potrf = lapack(
    "potrf",
    ALL,
    "One triangle of ``a`` becomes its Cholesky factor; the other is neither read nor changed.",
    outs="a[n, n], info",
    dims="n",
    strides="a",
    flags="lower",
    call="lower?LU n a ld:a info",
)
potrs = lapack(
    "potrs",
    ALL,
    "``b`` becomes the ``x`` with ``a x = b``, given what `potrf` made of ``a``.",
    outs="b[n, count], info",
    ins="a[n, n]",
    dims="n, count",
    strides="b, a",
    flags="lower",
    call="lower?LU n count a ld:a b ld:b info",
)
trtrs = lapack(
    "trtrs",
    ALL,
    "``b`` becomes the ``x`` with ``a x = b``, ``a`` triangular; ``info`` is where its diagonal is 0, if it is.",
    outs="b[n, count], info",
    ins="a[n, n]",
    dims="n, count",
    strides="b, a",
    flags="lower, transposed, unit",
    call="lower?LU transposed?TN unit?UN n count a ld:a b ld:b info",
)
geqrf = lapack(
    "geqrf",
    ALL,
    "The upper triangle of ``a`` becomes R, what is below it, with ``tau``, the reflections that Q is made of.",
    outs="a[m, n], tau[k], work[size], info",
    dims="m, n, size",
    strides="a",
    call="m n a ld:a tau work size info",
    workspace=lambda m, n: (64 * max(n, 1),),
)
orgqr = lapack(
    "orgqr",
    ALL,
    "``a``, as `geqrf` left it, becomes the first ``n`` columns of Q, made of ``k`` reflections.",
    outs="a[m, n], work[size], info",
    ins="tau[k]",
    dims="m, n, k, size",
    strides="a",
    call="m n k a ld:a tau work size info",
    workspace=lambda m, n, k: (64 * max(n, 1),),
)

# -- eigenvalues and singular values -----------------------------------------------------------------------

syevd = lapack(
    "syevd",
    REALS,
    "``w`` becomes the eigenvalues of the symmetric ``a``, of which one triangle is read, in order; ``a`` its "
    "eigenvectors if ``vectors``, else nothing of use.",
    outs="a[n, n], w[n], work[size], iwork[whole], info",
    dims="n, size, whole",
    strides="a",
    flags="vectors, upper",
    call="vectors?VN upper?UL n a ld:a w work size iwork whole info",
    workspace=lambda n: (1 + 6 * n + 2 * n * n, 3 + 5 * n),
)
geev = lapack(
    "geev",
    REALS,
    "Real and imaginary parts of the eigenvalues, and eigenvectors, a pair of conjugated ones in two columns.",
    outs="a[n, n], real[n], imag[n], vectors[n, n], work[size], info",
    ins="unused[1]",
    dims="n, size",
    strides="a, vectors",
    call="'N 'V n a ld:a real imag unused ld:a vectors ld:vectors work size info",
    workspace=lambda n: (64 * max(n, 1),),
)
gesdd = lapack(
    "gesdd",
    REALS,
    "Singular values from the largest down, and singular vectors: all of them if ``full``, else as many as values.",
    outs="a[m, n], s[k], u[m, left], v[right, n], work[size], iwork[whole], info",
    dims="m, n, left, right, size",
    strides="a, u, v",
    flags="full",
    call="full?AS m n a ld:a s u ld:u v ld:v work size iwork info",
    workspace=lambda m, n: (4 * min(m, n) ** 2 + 7 * min(m, n) + 64 * max(m, n, 1), 8 * min(m, n)),
)
gesdd_values = lapack(
    "gesdd_values",
    REALS,
    "Singular values from the largest down.",
    outs="a[m, n], s[k], work[size], iwork[whole], info",
    ins="unused[1]",
    dims="m, n, size",
    strides="a",
    call="'N m n a ld:a s unused ld:a unused ld:a work size iwork info",
    workspace=lambda m, n: (10 * min(m, n) + 64 * max(m, n, 1), 8 * min(m, n)),
)
gelsd = lapack(
    "gelsd",
    REALS,
    "The first ``n`` rows of ``b`` become the shortest of those that make ``a x - b`` shortest, counting singular "
    "values of at most ``rcond`` times the largest as 0.",
    outs="a[m, n], b[rows, count], s[k], rank, work[size], iwork[whole], info",
    ins="rcond",
    dims="m, n, count, size, rows",
    strides="a, b",
    call="m n count a ld:a b ld:b s rcond rank work size iwork info",
)
