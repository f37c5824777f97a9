"""All primitive ops, by theme. What comes in: nothing. What goes out: records in `srcgraph.ir.op.OPS`.

vector       literals, casts, + - * / and negation: what derivative rules are made of
elementwise  exp, sin, power, floor, maximum, ...: one scalar expression per element
compare      comparisons, logic, where
checks       everything that can raise, as nodes of their own
effects      text written, warnings issued
index        getitem, setitem, add_at: parts of arrays, by `srcgraph.ir.view.View`
shape        full, arange, reshape, broadcast_to and the like
reduce       sum, max, all, ... along axes
linalg       matrix products
sorting      sort, gather, searchsorted, ...: what runs in memory
lists        growing lists: the user's, and the tapes of reverse mode
creation     np.zeros, np.linspace and the like, built from the ops above
reductions   np.sum, np.mean and the like, with any axis and keepdims
sequences    np.concatenate, np.cumsum, np.argmax and the like: joining, scanning, selecting
searching    np.sort, np.searchsorted, np.nonzero and the like
counting     np.histogram, np.bincount, np.unique and the like
special      scipy.special: expit, gammaln, logsumexp and the like
numerics     np.where, np.clip, np.dot and the like
factors      LU, Cholesky and triangular solutions, and their derivatives
orthogonal   QR, eigenvalues, singular values, least squares, and their derivatives
equations    np.linalg.solve, inv, det, cholesky and the like
spectra      np.linalg.qr, eigh, svd, lstsq and the like
norms        np.linalg.norm and cond
_rules       derivative rules made from partials; short ways to write records
_loops       loops in graph code
"""

from srcgraph.ir.ops import (
    checks,
    compare,
    counting,
    creation,
    effects,
    elementwise,
    equations,
    factors,
    index,
    linalg,
    lists,
    norms,
    numerics,
    orthogonal,
    reduce,
    reductions,
    searching,
    sequences,
    shape,
    sorting,
    special,
    spectra,
    vector,
)

__all__ = [
    "checks",
    "compare",
    "counting",
    "creation",
    "effects",
    "elementwise",
    "equations",
    "factors",
    "index",
    "linalg",
    "lists",
    "norms",
    "numerics",
    "orthogonal",
    "reduce",
    "reductions",
    "searching",
    "sequences",
    "shape",
    "sorting",
    "special",
    "spectra",
    "vector",
]
