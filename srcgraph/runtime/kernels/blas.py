"""Products of vectors and matrices, and triangular systems, by BLAS.

Matrices lie by rows or by columns: BLAS thinks of columns, and takes the other as a transpose, which is a flag. Where
the strides are such that it can take a matrix neither way, a kernel does nothing and returns 1; whoever calls it makes
a copy. Products so small that calling BLAS would take longer, or too long for it to count, are computed here.

References
----------
Dongarra et al., A set of level 3 basic linear algebra subprograms, ACM Transactions on Mathematical Software 16, 1990.
"""

from __future__ import annotations

from srcgraph.runtime.kernels.few_rows import few_rows, suits
from srcgraph.runtime.kernels.glue import REAL, Glue, Pointer
from srcgraph.runtime.kernels.limits import PRODUCTS, SUMS, limit
from srcgraph.runtime.kernels.matrix import Matrix, Vector, chosen, clear, countable, multiply
from srcgraph.runtime.kernels.record import kernel

ALL = "fdFD"


def _copy(g: Glue) -> None:
    m, n = g.dims(2)
    t0, t1, x0, x1 = g.strides(4)
    to, x = Matrix(g.out(0), m, n, t0, t1), Matrix(g.given(0), m, n, x0, x1)
    with g.loop(m) as i, g.loop(n) as j:
        to.element(i, j).store(x.element(i, j).load())


copy = kernel(
    "copy",
    "?bBhHiIlLfdFD",
    "The elements of a matrix, or of its transpose, elsewhere; whatever the strides.",
    outs="to[m, n]",
    ins="x[m, n]",
    dims="m, n",
    strides="to (2), x (2)",
    write=_copy,
)


def _dot(g: Glue) -> None:
    (n,) = g.dims(1)
    out, (sx, sy) = g.out(0), g.strides(2)
    x, y = Vector(g.given(0), n, sx), Vector(g.given(1), n, sy)
    single = Vector(out, g.int(1), g.int(g.size))
    with g.when((n <= limit(SUMS)) | ~countable(n)):
        multiply(g, single.row, x.row, y.column, g.number(1.0), g.number(0.0))
        g.give_back(0)
    takes_y, low_y, by_y = y.stepped()
    if g.is_complex:  # how C returns complex numbers depends on the system: a row of a matrix instead
        takes_x, flip, leading = x.row.oriented()
        g.refuse_unless(takes_x & takes_y)
        one, zero = g.variable(g.number(1.0)), g.variable(g.number(0.0))
        out.store(g.number(0.0))
        rows, columns = flip.where(n, 1), flip.where(1, n)
        turn = g.letter(flip, "T", "N")
        g.fortran("blas", "gemv", (turn, rows, columns, one, x.at, leading, low_y, by_y, zero, out, g.int(1)))
        return
    takes_x, low_x, by_x = x.stepped()
    g.refuse_unless(takes_x & takes_y)
    out.store(g.fortran("blas", "dot", (n, low_x, by_x, low_y, by_y), REAL[g.dtype.char]))


dot = kernel(
    "dot",
    ALL,
    "The sum of products of elements, none of them conjugated.",
    outs="total",
    ins="x[n], y[n]",
    dims="n",
    strides="x, y",
    write=_dot,
)


def _gemv(g: Glue) -> None:
    m, n = g.dims(2)
    sy, a0, a1, sx = g.strides(4)
    y, a, x = Vector(g.out(0), m, sy), Matrix(g.given(0), m, n, a0, a1), Vector(g.given(1), n, sx)
    alpha, beta = g.given(2), g.given(3)
    with g.when((m * n <= limit(SUMS)) | ~countable(m, n)):
        multiply(g, y.column, a, x.column, alpha.load(), beta.load())
        g.give_back(0)
    takes_a, flip, leading = a.oriented()
    takes_x, low_x, by_x = x.stepped()
    takes_y, low_y, by_y = y.stepped()
    g.refuse_unless(takes_a & takes_x & takes_y)
    with g.when(g.is_zero(beta.load())):
        clear(g, y.column)
    turn, rows, columns = g.letter(flip, "T", "N"), flip.where(n, m), flip.where(m, n)
    g.fortran("blas", "gemv", (turn, rows, columns, alpha, a.at, leading, low_x, by_x, beta, low_y, by_y))


gemv = kernel(
    "gemv",
    ALL,
    "``y = alpha a x + beta y``; ``y`` is not read if ``beta`` is 0.",
    outs="y[m]",
    ins="a[m, n], x[n], alpha, beta",
    dims="m, n",
    strides="y, a (2), x",
    write=_gemv,
)


def _syrk(g: Glue) -> None:
    n, k = g.dims(2)
    c0, c1, a0, a1 = g.strides(4)
    c, a = Matrix(g.out(0), n, n, c0, c1), Matrix(g.given(0), n, k, a0, a1)
    alpha, beta = g.given(1), g.given(2)
    with g.when((n * n * k <= limit(PRODUCTS)) | ~countable(n, k)):
        multiply(g, c, a, a.transposed, alpha.load(), beta.load())
        g.give_back(0)
    _symmetric_product(g, c, a, alpha, beta)


def _symmetric_product(g: Glue, c: Matrix, a: Matrix, alpha: Pointer, beta: Pointer) -> None:
    """``c = alpha a a.T + beta c``: one triangle by BLAS, the other from that."""
    c = chosen(c.by_columns()[0], c, c.transposed)
    takes_c, leading_c = c.by_columns()
    takes_a, flip, leading = a.oriented()
    g.refuse_unless(takes_c & takes_a)
    with g.when(g.is_zero(beta.load())):
        clear(g, c)
    turn = g.letter(flip, "T", "N")
    g.fortran("blas", "syrk", ("U", turn, a.rows, a.columns, alpha, a.at, leading, beta, c.at, leading_c))
    with g.loop(a.rows, as_written=True) as i, g.loop(i, as_written=True) as j:
        c.element(i, j).store(c.element(j, i).load())


syrk = kernel(
    "syrk",
    ALL,
    "``c = alpha a a.T + beta c``, both triangles; ``c`` is symmetric, and not read if ``beta`` is 0.",
    outs="c[n, n]",
    ins="a[n, k], alpha, beta",
    dims="n, k",
    strides="c (2), a (2)",
    write=_syrk,
)


def _gemm(g: Glue) -> None:
    m, n, k = g.dims(3)
    c0, c1, a0, a1, b0, b1 = g.strides(6)
    c, a, b = Matrix(g.out(0), m, n, c0, c1), Matrix(g.given(0), m, k, a0, a1), Matrix(g.given(1), k, n, b0, b1)
    alpha, beta = g.given(2), g.given(3)
    with g.when((m * n * k <= limit(PRODUCTS)) | ~countable(m, n, k)):
        multiply(g, c, a, b, alpha.load(), beta.load())
        g.give_back(0)
    if not g.is_complex:
        either = suits(g, c, a, b), suits(g, c.transposed, b.transposed, a.transposed)
        with g.when(either[0] | either[1]):
            of = (
                chosen(either[0], c, c.transposed),
                chosen(either[0], a, b.transposed),
                chosen(either[0], b, a.transposed),
            )
            few_rows(g, *of, alpha.load(), beta.load())
            g.give_back(0)
    by_rows, _ = c.transposed.by_columns()
    c, a, b = chosen(by_rows, c.transposed, c), chosen(by_rows, b.transposed, a), chosen(by_rows, a.transposed, b)
    takes_c, leading_c = c.by_columns()
    takes_a, flip_a, leading_a = a.oriented()
    takes_b, flip_b, leading_b = b.oriented()
    g.refuse_unless(takes_c & takes_a & takes_b)
    twice = a.at.same(b.at) & a.rows.equals(b.columns) & a.down.equals(b.across) & a.across.equals(b.down)
    with g.when(twice & g.is_zero(beta.load())):
        _symmetric_product(g, c, a, alpha, beta)
        g.give_back(0)
    turn_a, turn_b = g.letter(flip_a, "T", "N"), g.letter(flip_b, "T", "N")
    sizes = (c.rows, c.columns, k)
    g.fortran("blas", "gemm", (turn_a, turn_b, *sizes, alpha, a.at, leading_a, b.at, leading_b, beta, c.at, leading_c))


gemm = kernel(
    "gemm",
    ALL,
    "``c = alpha a b + beta c``; ``c`` is not read if ``beta`` is 0. Of a matrix times its own transpose, "
    "half is computed.",
    outs="c[m, n]",
    ins="a[m, k], b[k, n], alpha, beta",
    dims="m, n, k",
    strides="c (2), a (2), b (2)",
    write=_gemm,
)


def _ger(g: Glue) -> None:
    m, n = g.dims(2)
    a0, a1, sx, sy = g.strides(4)
    a, x, y = Matrix(g.out(0), m, n, a0, a1), Vector(g.given(0), m, sx), Vector(g.given(1), n, sy)
    with g.when((m * n <= limit(SUMS)) | ~countable(m, n)):
        multiply(g, a, x.column, y.row, g.given(2).load(), g.number(1.0))
        g.give_back(0)
    takes_a, flip, leading = a.oriented()
    takes_x, low_x, by_x = x.stepped()
    takes_y, low_y, by_y = y.stepped()
    g.refuse_unless(takes_a & takes_x & takes_y)
    name = "geru" if g.is_complex else "ger"
    with g.either(flip) as (yes, no):
        with yes:
            g.fortran("blas", name, (n, m, g.given(2), low_y, by_y, low_x, by_x, a.at, leading))
        with no:
            g.fortran("blas", name, (m, n, g.given(2), low_x, by_x, low_y, by_y, a.at, leading))


ger = kernel(
    "ger",
    ALL,
    "``a += alpha x y.T``.",
    outs="a[m, n]",
    ins="x[m], y[n], alpha",
    dims="m, n",
    strides="a (2), x, y",
    write=_ger,
)


def _symm(g: Glue) -> None:
    m, n = g.dims(2)
    c0, c1, a0, a1, b0, b1 = g.strides(6)
    left, lower = g.flags(2)
    order = left.where(m, n)
    c, b = Matrix(g.out(0), m, n, c0, c1), Matrix(g.given(1), m, n, b0, b1)
    a, alpha, beta = Matrix(g.given(0), order, order, a0, a1), g.given(2), g.given(3)
    with g.when((m * n).equals(0)):
        g.give_back(0)
    by_rows, _ = c.transposed.by_columns()
    c, b, left = chosen(by_rows, c.transposed, c), chosen(by_rows, b.transposed, b), left ^ by_rows
    (takes_c, leading_c), (takes_b, leading_b) = c.by_columns(), b.by_columns()
    takes_a, flip, leading_a = a.oriented()
    g.refuse_unless(takes_c & takes_b & takes_a & countable(m, n))
    side, triangle = g.letter(left, "L", "R"), g.letter(lower ^ flip, "L", "U")
    sizes = (c.rows, c.columns)
    g.fortran("blas", "symm", (side, triangle, *sizes, alpha, a.at, leading_a, b.at, leading_b, beta, c.at, leading_c))


symm = kernel(
    "symm",
    ALL,
    "``c = alpha a b + beta c`` if ``left``, else ``alpha b a + beta c``, where ``a`` is symmetric: one triangle is "
    "read. ``b`` lies as ``c`` does; ``c`` is not read if ``beta`` is 0.",
    outs="c[m, n]",
    ins="a, b[m, n], alpha, beta",
    dims="m, n",
    strides="c (2), a (2), b (2)",
    flags="left, lower",
    write=_symm,
)


def _trsm(g: Glue) -> None:
    m, n = g.dims(2)
    b0, b1, a0, a1 = g.strides(4)
    left, lower, transposed, unit = g.flags(4)
    order = left.where(m, n)
    b, a, alpha = Matrix(g.out(0), m, n, b0, b1), Matrix(g.given(0), order, order, a0, a1), g.given(1)
    with g.when((m * n).equals(0)):
        g.give_back(0)
    by_rows, _ = b.transposed.by_columns()
    b, left = chosen(by_rows, b.transposed, b), left ^ by_rows
    takes_b, leading_b = b.by_columns()
    takes_a, flip, leading_a = a.oriented()
    g.refuse_unless(takes_b & takes_a & countable(m, n))
    side, triangle = g.letter(left, "L", "R"), g.letter(lower ^ flip, "L", "U")
    turn, diagonal = g.letter(transposed ^ flip ^ by_rows, "T", "N"), g.letter(unit, "U", "N")
    g.fortran(
        "blas",
        "trsm",
        (side, triangle, turn, diagonal, b.rows, b.columns, alpha, a.at, leading_a, b.at, leading_b),
    )


trsm = kernel(
    "trsm",
    ALL,
    "``b`` becomes the ``x`` with ``a x = alpha b`` if ``left``, else ``x a = alpha b``; of ``a``, or of its transpose "
    "if ``transposed``, one triangle is read, with ones on the diagonal if ``unit``.",
    outs="b[m, n]",
    ins="a, alpha",
    dims="m, n",
    strides="b (2), a (2)",
    flags="left, lower, transposed, unit",
    write=_trsm,
)


def _trsv(g: Glue) -> None:
    (n,) = g.dims(1)
    sx, a0, a1 = g.strides(3)
    lower, transposed, unit = g.flags(3)
    x, a = Vector(g.out(0), n, sx), Matrix(g.given(0), n, n, a0, a1)
    with g.when(n.equals(0)):
        g.give_back(0)
    takes_x, low, by = x.stepped()
    takes_a, flip, leading = a.oriented()
    g.refuse_unless(takes_x & takes_a & countable(n))
    triangle, turn = g.letter(lower ^ flip, "L", "U"), g.letter(transposed ^ flip, "T", "N")
    g.fortran("blas", "trsv", (triangle, turn, g.letter(unit, "U", "N"), n, a.at, leading, low, by))


trsv = kernel(
    "trsv",
    ALL,
    "As `trsm` of one column, on the left.",
    outs="x[n]",
    ins="a[n, n]",
    dims="n",
    strides="x, a (2)",
    flags="lower, transposed, unit",
    write=_trsv,
)
