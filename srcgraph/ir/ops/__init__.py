"""All primitive ops, by theme. What comes in: nothing. What goes out: records in `srcgraph.ir.op.OPS`.

vector       literals, casts, + - * / and negation: what derivative rules are made of
elementwise  exp, sin, sqrt, ...: one scalar expression per element;  powers;  remainders: floor, mod, maximum, bits
compare      comparisons, logic, where
constants    what derivatives take for a constant;  marks: what they save
checks       everything that can raise, as nodes of their own;  ranges: integers in arrays that are in range
effects      text written, warnings issued
random       draws from a random generator;  generators: the methods of np.random.Generator
index        getitem, setitem, add_at: parts of arrays, by `srcgraph.ir.view.View`
shape        full, arange, reshape, broadcast_to and the like
wraps        arrays whose axes go round
reduce       sum, max, all, ... along axes
linalg       matrix products
sorting      sort, gather, searchsorted, ...: what runs in memory
masks        compress, expand: elements that masks mark
lists        growing lists: the user's, and the tapes of reverse mode
creation     np.zeros, np.linspace and the like, built from the ops above
reductions   np.sum, np.mean and the like, with any axis and keepdims
statistics   np.mean, np.var, np.average, np.cov and the like
nan_reductions  np.nansum and the like: what leaves NaN out
complex      parts of complex numbers
diagonals    diagonals and triangles of matrices, np.eye and the like
shaping      np.pad, np.tile, np.roll, np.insert and the like
sequences    np.concatenate, np.cumsum and the like: joining, scanning, selecting
extremes     np.argmax, np.argmin
searching    np.sort, np.searchsorted, np.nonzero and the like
counting     np.histogram, np.bincount, np.unique and the like
special      scipy.special: expit, gammaln, logsumexp and the like
numerics     np.where, np.clip, np.dot and the like
factors      LU, Cholesky and triangular solutions, and their derivatives
orthogonal   QR, eigenvalues, singular values, least squares, and their derivatives
assume       facts that users promise, and equations that make use of them
equations    np.linalg.solve, inv, det, cholesky and the like
spectra      np.linalg.qr, eigh, svd, lstsq and the like
norms        np.linalg.norm and cond
fourier      np.fft and scipy.fft
searching    np.sort, np.unique, np.histogram and the like
products     np.einsum, np.dot, np.kron, np.convolve and the like
parts        np.gcd, np.signbit, np.modf and the like
calculus     np.gradient, np.interp, np.trapezoid, np.polyval and the like
grids        np.meshgrid, np.logspace, np.select, np.median and the like
numerics     np.where, np.clip, np.dot, np.linalg.norm and the like
tricks       np.block, np.unravel_index, np.fft.fftshift and the like
schedules    when states of a loop are stored, so that it can be run again in parts
_rules       derivative rules made from partials; short ways to write records
_loops       loops in graph code
"""

from srcgraph.ir.op import OPS, UNSAID, ZERO
from srcgraph.ir.ops import (
    assume,
    calculus,
    checks,
    compare,
    complex,
    constants,
    counting,
    creation,
    diagonals,
    effects,
    elementwise,
    equations,
    extremes,
    factors,
    fourier,
    generators,
    grids,
    index,
    linalg,
    lists,
    marks,
    masks,
    nan_reductions,
    norms,
    numerics,
    orthogonal,
    parts,
    powers,
    products,
    random,
    reduce,
    reductions,
    remainders,
    schedules,
    searching,
    sequences,
    shape,
    shaping,
    sorting,
    special,
    spectra,
    statistics,
    tricks,
    vector,
    wraps,
)

for _op in OPS.values():  # what these records leave out is zero, see `UNSAID`
    for _rule in ("jvp", "vjp"):
        if getattr(_op, _rule) is UNSAID:
            object.__setattr__(_op, _rule, ZERO)

__all__ = [
    "assume",
    "calculus",
    "checks",
    "compare",
    "complex",
    "constants",
    "counting",
    "creation",
    "diagonals",
    "effects",
    "elementwise",
    "equations",
    "extremes",
    "factors",
    "fourier",
    "generators",
    "grids",
    "index",
    "linalg",
    "lists",
    "marks",
    "masks",
    "nan_reductions",
    "norms",
    "numerics",
    "orthogonal",
    "parts",
    "powers",
    "products",
    "random",
    "reduce",
    "reductions",
    "remainders",
    "schedules",
    "searching",
    "sequences",
    "shape",
    "shaping",
    "sorting",
    "special",
    "spectra",
    "statistics",
    "tricks",
    "vector",
    "wraps",
]
