"""Kernels: each alone through its C address, the helpers around them, and the engines that share them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numba import njit

import srcgraph as sg
from srcgraph import engines
from srcgraph.ir.graph import Program
from srcgraph.runtime import decompositions, fourier, sorting
from srcgraph.runtime.helpers import plain
from srcgraph.runtime.kernels import KERNELS, Kernel, blas, few_rows, lapack, libraries, lines
from srcgraph.runtime.products import matmul

FLOATS = ("float32", "float64", "complex64", "complex128")
REALS = FLOATS[:2]
SIZES = (0, 1, 2, 3, 7, 17, 40)
SEED = 20


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    out = rng.normal(size=shape)
    return (out + 1j * rng.normal(size=shape) if dtype.startswith("c") else out).astype(dtype)


def close(x: Any, y: Any, dtype: str) -> bool:
    single = dtype in ("float32", "complex64")
    return np.shape(x) == np.shape(y) and np.allclose(
        x, y, rtol=2e-3 if single else 1e-9, atol=1e-3 if single else 1e-9
    )


def layouts(a: np.ndarray) -> Iterator[np.ndarray]:
    """The same matrix, or vector, in memory in several ways."""
    if a.ndim == 1:
        yield from (a.copy(), np.repeat(a, 3)[::3], a[::-1].copy()[::-1])
        return
    yield from (a.copy(), np.array(a, order="F"))
    yield np.pad(a, ((1, 2), (3, 1)))[1:-2, 3:-1]
    yield np.array(np.pad(a, ((1, 2), (3, 1))), order="F")[1:-2, 3:-1]


def odd(a: np.ndarray) -> Iterator[np.ndarray]:
    """In ways that BLAS does not know."""
    yield np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3]
    yield a[::-1, ::-1].copy()[::-1, ::-1]


def through_c(kernel: Kernel, outs: Any, ins: Any = (), dims: Any = (), strides: Any = (), flags: Any = ()) -> int:
    """Call a kernel by nothing but its address."""
    first = next(x for x in (*ins, *outs) if isinstance(x, np.ndarray))
    word, address = ctypes.c_int64, ctypes.c_void_p
    call = ctypes.CFUNCTYPE(word, *[address] * 5)(kernel.for_dtype(first.dtype).address)
    given = [x if isinstance(x, np.ndarray) else np.array(x, first.dtype) for x in ins]
    pointers = [(address * 9)(*(a.ctypes.data for a in arrays)) for arrays in (outs, given)]
    words = [(word * 9)(*map(int, values)) for values in (dims, strides, flags)]
    return call(*pointers, *words)


def filled(shape: Sequence[int], dtype: str) -> np.ndarray:
    """Memory of which nothing may be read."""
    return np.full(shape, np.nan, dtype)


# -- BLAS --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_gemm(dtype: str) -> None:
    """All layouts, with and without what is there; NaN that is there is not read."""
    rng = np.random.default_rng(SEED)
    for m, n, k in rng.choice(SIZES, (25, 3)):
        a0, b0, c0 = numbers(rng, (m, k), dtype), numbers(rng, (k, n), dtype), numbers(rng, (m, n), dtype)
        for a in layouts(a0):
            for b in layouts(b0):
                for c in layouts(filled((m, n), dtype)):
                    strides = (*c.strides, *a.strides, *b.strides)
                    assert through_c(blas.gemm, (c,), (a, b, 1.0, 0.0), (m, n, k), strides) == 0
                    assert close(c, a0 @ b0, dtype), (m, n, k, strides)
        for c in layouts(c0):
            strides = (*c.strides, *a0.strides, *b0.strides)
            assert through_c(blas.gemm, (c,), (a0, b0, -2.0, 0.5), (m, n, k), strides) == 0
            assert close(c, -2.0 * (a0 @ b0) + 0.5 * c0, dtype)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", REALS)
def test_few_rows_and_a_large_matrix(dtype: str, turned: bool) -> None:
    """Or few columns of matrices that lie by columns; BLAS is not called, whatever strides the few have."""
    rng = np.random.default_rng(SEED)
    k, n = 2 * few_rows.LARGE // np.dtype(dtype).itemsize // 1100 + 5, 1131
    large = numbers(rng, (k, n), dtype)
    large[3, 2], large[k - 1, 3] = np.inf, np.nan
    apart = np.pad(large, ((1, 2), (3, 1)))[1:-2, 3:-1]
    for m in range(2, few_rows.MOST + 1):
        a0 = numbers(rng, (m, k), dtype)
        exact = a0.astype(float) @ np.where(np.isfinite(large), large, 0.0).astype(float)
        exact[:, 2:4] = a0[:, 3, None] * np.array([np.inf, np.nan])
        for a, b in zip((a0, *odd(a0)), (large, apart, large), strict=True):
            for alpha, beta in ((1.0, 0.0), (-2.0, 0.5)):
                c0 = numbers(rng, (m, n), dtype) if beta else filled((m, n), dtype)
                given, sizes = ((c0.copy().T, b.T, a.T), (n, m, k)) if turned else ((c0.copy(), a, b), (m, n, k))
                strides = sum((x.strides for x in given), ())
                assert through_c(blas.gemm, given[:1], (*given[1:], alpha, beta), sizes, strides) == 0
                found = given[0].T if turned else given[0]
                wanted = alpha * exact + (beta * c0 if beta else 0.0)
                assert np.max(np.abs(found[:, 4:] - wanted[:, 4:])) < 2.0 * k * np.finfo(dtype).eps
                np.testing.assert_array_equal(found[:, 2], wanted[:, 2])
                assert np.isnan(found[:, 3]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_strides_that_blas_cannot_take(dtype: str) -> None:
    """Small products are computed all the same; for large ones nothing is done, and 1 returned."""
    rng = np.random.default_rng(SEED)
    for n in (0, 1, 3, 4, 20):
        a, b = numbers(rng, (n, n), dtype), numbers(rng, (n, n), dtype)
        for x in odd(a):
            c = filled((n, n), dtype)
            status = through_c(blas.gemm, (c,), (x, b, 1.0, 0.0), (n, n, n), (*c.strides, *x.strides, *b.strides))
            assert status == (n == 20)
            assert np.isnan(c).all() if status else close(c, a @ b, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_matrix_and_its_transpose(dtype: str) -> None:
    """Half is computed: what comes out is symmetric to the last bit, for both kernels."""
    rng = np.random.default_rng(SEED)
    for n, k in rng.choice(SIZES, (15, 2)):
        for a in layouts(numbers(rng, (n, k), dtype)):
            for c in layouts(filled((n, n), dtype)):
                strides = (*c.strides, *a.strides)
                assert through_c(blas.syrk, (c,), (a, 1.0, 0.0), (n, k), strides) == 0
                assert close(c, a @ a.T, dtype) and np.array_equal(c, c.T)
                c[...] = np.nan
                strides = (*c.strides, *a.strides, *a.T.strides)
                assert through_c(blas.gemm, (c,), (a, a.T, 1.0, 0.0), (n, n, k), strides) == 0
                assert close(c, a @ a.T, dtype) and np.array_equal(c, c.T)
            c = numbers(rng, (n, n), dtype)
            c = c + c.T
            before = c.copy()
            assert through_c(blas.syrk, (c,), (a, 2.0, -1.0), (n, k), (*c.strides, *a.strides)) == 0
            assert close(c, 2.0 * (a @ a.T) - before, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_vectors(dtype: str) -> None:
    """dot, gemv and ger, forwards, backwards and with gaps."""
    rng = np.random.default_rng(SEED)
    for m, n in rng.choice((*SIZES, 100), (20, 2)):
        a0, x0, y0 = numbers(rng, (m, n), dtype), numbers(rng, (n,), dtype), numbers(rng, (m,), dtype)
        for x in layouts(x0):
            for z in layouts(numbers(rng, (n,), dtype)):
                total = filled((1,), dtype)
                status = through_c(blas.dot, (total,), (x, z), (n,), (*x.strides, *z.strides))
                assert close(total[0], x @ z, dtype) if status == 0 else dtype.startswith("c")
            for a in layouts(a0):
                for y in layouts(y0):
                    strides = (*y.strides, *a.strides, *x.strides)
                    assert through_c(blas.gemv, (y,), (a, x, 3.0, 2.0), (m, n), strides) == 0
                    assert close(y, 3.0 * (a0 @ x0) + 2.0 * y0, dtype)
                    y[...] = np.nan
                    assert through_c(blas.gemv, (y,), (a, x, 1.0, 0.0), (m, n), strides) == 0
                    assert close(y, a0 @ x0, dtype)
        for a in layouts(a0):
            for y in layouts(y0):
                for x in layouts(x0):
                    to = a.copy(order="K")
                    strides = (*to.strides, *y.strides, *x.strides)
                    assert through_c(blas.ger, (to,), (y, x, 2.0), (m, n), strides) == 0
                    assert close(to, a0 + 2.0 * np.outer(y0, x0), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_symm_and_trsm(dtype: str, left: bool, lower: bool) -> None:
    """One triangle is read; the other is NaN."""
    rng = np.random.default_rng(SEED)
    for m, n in rng.choice(SIZES, (12, 2)):
        k = m if left else n
        whole = numbers(rng, (k, k), dtype) + 3.0 * np.eye(k, dtype=dtype)
        half = np.tril(whole) if lower else np.triu(whole)
        symmetric = half + half.T - np.diag(np.diag(half))
        seen = np.where(half == 0, np.nan, half).astype(dtype)
        b0 = numbers(rng, (m, n), dtype)
        for order in "CF":
            b, c = np.array(b0, order=order), np.array(filled((m, n), dtype), order=order)
            for a in layouts(seen):
                strides = (*c.strides, *a.strides, *b.strides)
                assert through_c(blas.symm, (c,), (a, b, 2.0, 0.0), (m, n), strides, (left, lower)) == 0
                assert close(c, 2.0 * (symmetric @ b0 if left else b0 @ symmetric), dtype)
                for transposed in (False, True):
                    x = np.array(b0, order=order)
                    flags = (left, lower, transposed, False)
                    assert through_c(blas.trsm, (x,), (a, 2.0), (m, n), (*x.strides, *a.strides), flags) == 0
                    op = half.T if transposed else half
                    assert close(op @ x if left else x @ op, 2.0 * b0, dtype)
                    if left:
                        for v in layouts(b0[:, 0].copy() if n else np.zeros(m, dtype)):
                            start = v.copy()
                            strides = (*v.strides, *a.strides)
                            assert through_c(blas.trsv, (v,), (a,), (m,), strides, (lower, transposed, False)) == 0
                            assert close(op @ v, start, dtype)


@njit
def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """As generated code calls it."""
    return matmul(x, y)


def test_python_runs_helpers_as_they_are_written() -> None:
    a = np.arange(4.0).reshape(2, 2)
    assert np.array_equal(matmul(a, a), product(a, a))
    assert np.array_equal(matmul(a, a), a @ a)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_special_values() -> None:
    """NaN and infinity go where NumPy's do, whether BLAS computes or not."""
    for n in (3, 30):
        a, b = np.ones((n, n)), np.ones((n, n))
        a[1, 2], b[0, 1] = np.nan, np.inf
        a[2, 0] = 0.0
        for x, y in ((a, b), (a.T, b), (a, b.T), (a[::-1], b[:, ::-1]), (a, a.T)):
            np.testing.assert_array_equal(np.isnan(product(x, y)), np.isnan(x @ y))
            np.testing.assert_array_equal(np.isinf(product(x, y)), np.isinf(x @ y))
            np.testing.assert_array_equal(np.isnan(product(x, y[:, 1])), np.isnan(x @ y[:, 1]))


# -- LAPACK ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_factors(dtype: str, n: int) -> None:
    """LU, Cholesky and QR of matrices, by columns, and systems solved by them."""
    rng = np.random.default_rng(SEED + n)
    a, b = numbers(rng, (n, n), dtype) + 2.0 * np.eye(n, dtype=dtype), numbers(rng, (n, 3), dtype)
    info, pivots = np.full(1, 9, np.int32), np.zeros(n, np.int32)
    f = np.array(a, order="F")
    assert through_c(lapack.getrf, (f, pivots, info), (), (n, n), f.strides[1:]) == 0 and info[0] == 0
    for transposed in (False, True):
        x = np.array(b, order="F")
        strides = (x.strides[1], f.strides[1])
        assert through_c(lapack.getrs, (x, info), (f, pivots), (n, 3), strides, (transposed,)) == 0
        assert info[0] == 0 and close((a.T if transposed else a) @ x, b, dtype)
    s = a @ a.conj().T + np.eye(n, dtype=dtype)
    for lower in (False, True):
        f, x = np.array(s, order="F"), np.array(b, order="F")
        assert through_c(lapack.potrf, (f, info), (), (n,), f.strides[1:], (lower,)) == 0 and info[0] == 0
        triangle = np.tril(f) if lower else np.triu(f)
        assert close(triangle @ triangle.conj().T if lower else triangle.conj().T @ triangle, s, dtype)
        strides = (x.strides[1], f.strides[1])
        assert through_c(lapack.potrs, (x, info), (f,), (n, 3), strides, (lower,)) == 0
        assert info[0] == 0 and close(s @ x, b, dtype)
        for transposed in (False, True):
            x = np.array(b, order="F")
            assert through_c(lapack.trtrs, (x, info), (f,), (n, 3), strides, (lower, transposed, False)) == 0
            assert info[0] == 0 and close((triangle.T if transposed else triangle) @ x, b, dtype)
    m = n + 4
    a = numbers(rng, (m, n), dtype)
    f, tau = np.array(a, order="F"), np.zeros(n, dtype)
    assert lapack.geqrf.workspace is not None and lapack.orgqr.workspace is not None
    (size,) = lapack.geqrf.workspace(m, n)
    work = np.empty(size, dtype)
    assert through_c(lapack.geqrf, (f, tau, work, info), (), (m, n, size), f.strides[1:]) == 0 and info[0] == 0
    r = np.triu(f[:n])
    assert lapack.orgqr.workspace(m, n, n) == (size,)
    assert through_c(lapack.orgqr, (f, work, info), (tau,), (m, n, n, size), f.strides[1:]) == 0 and info[0] == 0
    assert close(f @ r, a, dtype)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("n", SIZES[1:])
def test_spectra(dtype: str, n: int) -> None:
    """Eigenvalues, singular values and least squares."""
    rng = np.random.default_rng(SEED + n)
    a, info = numbers(rng, (n, n), dtype), np.full(1, 9, np.int32)
    s = a + a.T
    f, w = np.array(s, order="F"), np.zeros(n, dtype)
    assert lapack.syevd.workspace is not None
    size, whole = lapack.syevd.workspace(n)
    work, iwork = np.empty(size, dtype), np.empty(whole, np.int32)
    call = (f, w, work, iwork, info), (), (n, size, whole), f.strides[1:], (True, False)
    assert through_c(lapack.syevd, *call) == 0 and info[0] == 0
    assert close(f * w @ f.T, s, dtype) and close(w, np.linalg.eigvalsh(s), dtype)
    assert lapack.geev.workspace is not None
    (size,) = lapack.geev.workspace(n)
    f, re, im, v = np.array(a, order="F"), np.zeros(n, dtype), np.zeros(n, dtype), np.zeros((n, n), dtype, "F")
    call = (f, re, im, v, np.empty(size, dtype), info), (np.zeros(1, dtype),), (n, size), (f.strides[1], v.strides[1])
    assert through_c(lapack.geev, *call) == 0 and info[0] == 0
    assert close(np.sort_complex(re + 1j * im), np.sort_complex(np.linalg.eigvals(a)), dtype)
    m = n + 2
    a = numbers(rng, (m, n), dtype)
    assert lapack.gesdd.workspace is not None
    size, whole = lapack.gesdd.workspace(m, n)
    f, u, vt = np.array(a, order="F"), np.zeros((m, n), dtype, "F"), np.zeros((n, n), dtype, "F")
    outs = (f, w, u, vt, np.empty(size, dtype), np.empty(whole, np.int32), info)
    strides = (f.strides[1], u.strides[1], vt.strides[1])
    assert through_c(lapack.gesdd, outs, (), (m, n, n, n, size), strides, (False,)) == 0 and info[0] == 0
    assert close(u * w @ vt, a, dtype)
    b = numbers(rng, (m, 2), dtype)
    f, x, rank = np.array(a, order="F"), np.array(b, order="F"), np.zeros(1, np.int32)
    strides = (f.strides[1], x.strides[1])
    ask, asked = np.zeros(1, dtype), np.zeros(1, np.int32)
    assert through_c(lapack.gelsd, (f, x, w, rank, ask, asked, info), (1e-6,), (m, n, 2, -1, m), strides) == 0
    size = int(ask[0])
    outs = (f, x, w, rank, np.empty(size, dtype), np.empty(asked[0], np.int32), info)
    assert through_c(lapack.gelsd, outs, (1e-6,), (m, n, 2, size, m), strides) == 0 and rank[0] == n
    assert close(x[:n], np.linalg.lstsq(a, b)[0], dtype)


def test_a_leading_dimension_that_lapack_cannot_take() -> None:
    a, pivots, info = np.eye(4), np.zeros(4, np.int32), np.full(1, 9, np.int32)
    assert through_c(lapack.getrf, (a, pivots, info), (), (4, 4), (24,)) == 1
    assert through_c(lapack.getrf, (a, pivots, info), (), (4, 4), (33,)) == 1
    assert info[0] == 9 and np.array_equal(a, np.eye(4)) and not pivots.any()


# -- lines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.dtype(c).name for c in lines.SORTED])
def test_sorts(dtype: str) -> None:
    """Lines of all lengths, as NumPy sorts them, to the last bit."""
    rng = np.random.default_rng(SEED)
    for rows, n in ((1, 0), (0, 3), (1, 1), (3, 2), (2, 40), (1, 1000)):
        x = rng.integers(0, 100, (rows, n)).astype(dtype)
        if x.dtype.kind in "fc" and n > 2:
            x[:, ::5] = np.nan
        if x.dtype.kind in "ifc" and n > 2:
            x[:, 1::3] *= -1
        order = np.full((rows, n), -1, np.int64)
        assert through_c(lines.argsort, (order,), (x,), (rows, n), (*order.strides, *x.strides)) == 0
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
        out = np.repeat(x, 2, 0)[::2]
        assert through_c(lines.sort, (out,), (), (rows, n), out.strides) == 0
        assert out.tobytes() == np.sort(x).tobytes()


def test_a_line_with_gaps() -> None:
    x = np.arange(8.0)[::-1].copy()
    assert through_c(lines.sort, (x,), (), (1, 4), (0, 16)) == 1 and x[0] == 7.0


def test_sorts_by_python() -> None:
    """What is called where NumPy has no function: it gives the same."""
    x = np.random.default_rng(SEED).integers(0, 9, 50).astype(float)
    order = np.full(50, -1, np.int64)
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)
    assert call(libraries.argsort_by_python("float64"))(x.ctypes.data, order.ctypes.data, 50, None) == 0
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)
    assert call(libraries.sort_by_python("float64"))(x.ctypes.data, 50, None) == 0
    np.testing.assert_array_equal(x, np.sort(x))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("length", [1, 2, 5, 8, 12])
def test_transforms(real: str, length: int) -> None:
    """Lines with gaps, cut and filled up, as NumPy transforms them, to the last bit."""
    rng = np.random.default_rng(SEED)
    kind = np.result_type(real, 1j)
    for rows in (0, 1, 3):
        x = numbers(rng, (rows, 8), "complex128").astype(kind)[:, ::2]
        r = np.ascontiguousarray(x.real)
        m = length // 2 + 1
        for kernel, given, dtype, expected, dims in (
            (lines.fft, x, kind, np.fft.fft(x, length), (1, rows, 4, length)),
            (lines.ifft, x, kind, np.fft.ifft(x, length), (1, rows, 4, length)),
            (lines.rfft, r, kind, np.fft.rfft(r, length), (1, rows, 4, m, length)),
            (lines.irfft, x, real, np.fft.irfft(x, length), (1, rows, 4, length)),
        ):
            factor = 1.0 / length if "i" in kernel.name else 1.0
            out = filled(expected.T.shape, str(np.dtype(dtype))).T
            assert through_c(kernel, (out,), (given, factor), dims, (0, *out.strides, 0, *given.strides)) == 0
            np.testing.assert_allclose(
                out, expected, rtol=1e-5 if real == "float32" else 0, atol=1e-6 * (real[-2:] == "32")
            )


# -- all of them -------------------------------------------------------------------------------------------


def test_every_kernel_has_an_address_and_a_symbol() -> None:
    """One address per dtype, the same whenever it is asked for, under the name that compiled code uses."""
    for kernel in KERNELS.values():
        assert kernel.doc and kernel.outs and kernel.dims and kernel.strides
        for bound in kernel.bound.values():
            assert bound.address == bound.address != 0
            assert llvm.address_of_symbol(bound.symbol) == bound.address
            assert ctypes.cast(bound.ctypes, ctypes.c_void_p).value == bound.address
    with pytest.raises(TypeError, match="there is no kernel gemm for int64"):
        blas.gemm.for_dtype(np.int64)


def test_a_kernel_called_from_python() -> None:
    x, y, total = np.arange(40.0), np.ones(40), np.zeros(1)
    assert blas.dot((total,), (x, y), (40,), (8, 8)) == 0 and total[0] == 780.0


# -- helpers -----------------------------------------------------------------------------------------------


def views(a: np.ndarray) -> Iterator[np.ndarray]:
    yield from layouts(a)
    yield a[::-1].copy()[::-1]
    if a.ndim == 2:
        yield from odd(a)
    yield np.broadcast_to(a[:1], a.shape)
    fields = np.zeros(a.shape, [("a", "i1"), ("b", a.dtype)])
    fields["b"] = a
    yield fields["b"].copy()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("ndims", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_products_of_any_layouts(dtype: str, ndims: tuple[int, int]) -> None:
    """The helper, compiled and as it is written, small and large."""
    rng = np.random.default_rng(SEED)
    for n in (0, 1, 4, 33):
        x0, y0 = (numbers(rng, (n,) * k, dtype) for k in ndims)
        for x in views(x0):
            for y in views(y0):
                expected = x @ y
                assert close(product(x, y), expected, dtype)
                assert close(matmul(x, y), expected, dtype)


def called(helper: Any, *args: Any) -> Any:
    """What it gives compiled code; numbers that are given are literals there."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    rest = [None if isinstance(a, np.ndarray) else a for a in args]
    names = iter([f"a{k}" for k in range(len(arrays))])
    text = ", ".join(next(names) if r is None else repr(r) for r in rest)
    return njit(eval(f"lambda {', '.join(f'a{k}' for k in range(len(arrays)))}: helper({text})", {"helper": helper}))(
        *arrays
    )


def test_compiled_helpers_and_plain_ones() -> None:
    """The same kernels: the same result."""
    rng = np.random.default_rng(SEED)
    a, b = rng.normal(size=(6, 6)), rng.normal(size=(6, 2))
    calls: tuple[tuple[Any, str, tuple[Any, ...]], ...] = (
        (decompositions, "lu_factor", (a,)), (decompositions, "qr", (a,)), (decompositions, "svd", (a, True)),
        (decompositions, "eigh", (a, False)), (decompositions, "eig", (a,)), (decompositions, "lstsq", (a, b, 1e-15)),
        (decompositions, "pinv", (a, 1e-15)), (decompositions, "solve_triangular", (a, b, True, False, False)),
        (sorting, "sort", (a.T,)), (sorting, "argsort", (a,)), (fourier, "fft", (a + 1j, 6, 1.0, 0)),
        (fourier, "rfft", (a, 7, 1.0, 1)), (fourier, "irfft", (a + 1j, 9, 1.0, 0)),
    )  # fmt: skip
    for module, name, args in calls:
        compiled, written = called(getattr(module, name), *args), plain(module.__name__)[name](*args)
        for x, y in zip(*(v if isinstance(v, tuple) else (v,) for v in (compiled, written)), strict=True):
            np.testing.assert_array_equal(x, y, err_msg=name)


# -- engines -----------------------------------------------------------------------------------------------


def products(a, b):
    return a @ b


def solution(a, b):
    return np.linalg.solve(a, b)


def ordered(a, b):
    return np.sort(a, axis=0) + np.argsort(b[:, 0])


def transformed(a, b):
    return np.abs(np.fft.rfft(a[:, 0])) + np.abs(np.fft.fft(b + 0j, axis=0)[0, 0])


SHARED = (
    (products, ("gemm",)),
    (solution, ("getrf", "getrs")),
    (ordered, ("sort", "argsort")),
    (transformed, ("rfft", "fft")),
)


@pytest.mark.parametrize(("function", "names"), SHARED, ids=lambda v: getattr(v, "__name__", ""))
def test_engines_call_the_same_kernels(
    function: Callable, names: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kernel is replaced by a function that counts: compiled code, the VM and the eager engine call that."""
    rng = np.random.default_rng(SEED)
    a, b = rng.normal(size=(20, 20)), rng.normal(size=(20, 20))
    graph = sg.compile(function, cache=False).graph(a, b)
    program = Program({graph.name: graph}, graph.name)
    expected = engines.get("interp").compile(program)([a, b])
    called: dict[str, list[int]] = {}
    original = Kernel.__call__

    def counted(self: Kernel, outs: Any, ins: Any = (), *rest: Any) -> int:
        first = next(x for x in (*ins, *outs) if isinstance(x, np.ndarray))
        called.setdefault(self.name, []).append(self.for_dtype(first.dtype).address)
        return original(self, outs, ins, *rest)

    monkeypatch.setattr(Kernel, "__call__", counted)
    for name in ("vm", "eager"):
        called.clear()
        (out,) = engines.get(name).compile(program)([a, b])
        np.testing.assert_allclose(out, expected[0], rtol=1e-9)
        assert set(names) <= set(called), name
    compiled = sg.compile(function, cache=False)
    np.testing.assert_allclose(compiled(a, b), expected[0], rtol=1e-9)
    code = compiled_symbols(compiled, a, b)
    for name in names:
        (address,) = set(called[name])
        symbols = {s for s in code if s.startswith(f"srcgraph_kernel_{name}_")}
        assert {llvm.address_of_symbol(s) for s in symbols} == {address}, name


def compiled_symbols(compiled: Any, *args: Any) -> set[str]:
    """The functions that machine code of a version calls."""
    dispatcher = compiled.version(args)[0].entry
    (found,) = dispatcher.overloads.values()
    return {f.name for f in found.library._final_module.functions if f.is_declaration}


def test_interp_calls_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge of the others is NumPy's."""

    def never(*args: Any) -> int:
        raise AssertionError("a kernel was called")

    monkeypatch.setattr(Kernel, "__call__", never)
    a = np.eye(20)
    graph = sg.compile(solution, cache=False).graph(a, a)
    (out,) = engines.get("interp").compile(Program({graph.name: graph}, graph.name))([a, a])
    np.testing.assert_array_equal(out, a)


# -- threads, processes, disk ------------------------------------------------------------------------------


def test_threads() -> None:
    """Kernels hold no state: threads that call them at once, without the GIL, all get what is right."""
    rng = np.random.default_rng(SEED)
    a = rng.normal(size=(50, 50))
    expected, wrong = a @ a, []

    def work(seed: int) -> None:
        line = np.random.default_rng(seed).normal(size=2000)
        for _ in range(40):
            c, x = np.empty((50, 50)), line.copy()
            strides = c.strides + a.strides + a.strides
            blas.gemm((c,), (a, a, 1.0, 0.0), (50, 50, 50), strides)
            lines.sort((x,), (), (1, 2000), (0, 8))
            if not np.allclose(c, expected) or not np.array_equal(x, np.sort(line)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def in_child(queue: Any) -> None:
    a = np.arange(900.0).reshape(30, 30)
    out, order = np.empty((30, 30)), a[:, ::-1].copy()
    blas.gemm((out,), (a, a, 1.0, 0.0), (30, 30, 30), out.strides + a.strides + a.strides)  # made before the fork
    lines.argsort((np.empty((30, 30), np.int64),), (order,), (30, 30), order.strides * 2)
    blas.trsv((out[0],), (np.eye(30),), (30,), (8, 240, 8), (True, False, False))
    queue.put(bool(np.allclose(out, a @ a)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork() -> None:
    """A process that was forked calls what its parent made, and makes more."""
    assert blas.gemm.for_dtype("float64").address
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=in_child, args=(queue,))
    child.start()
    child.join(60)
    assert child.exitcode == 0 and queue.get() is True


_PROGRAM = """
import numba
import numpy as np
from srcgraph.runtime import products
from srcgraph.runtime.kernels import machine
made = machine._Linker.compiled
machine._Linker.compiled = lambda *a: print("made") or made(*a)
a = np.arange(16.0).reshape(4, 4)
whole = np.arange(9).reshape(3, 3)
assert np.array_equal(numba.njit(lambda x: products.matmul(x, x))(a), a @ a)
assert np.array_equal(numba.njit(lambda x: products.matmul_exact(x, x))(whole), whole @ whole)
print("compiled", sum(products.matmul_exact.stats.cache_misses.values()))
"""


def test_kernels_and_helpers_are_kept(tmp_path: Path) -> None:
    """A second process makes no kernel and compiles no helper; what is damaged on disk is made again."""
    env = os.environ | {"SRCGRAPH_CACHE": "1", "SRCGRAPH_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> str:
        done = subprocess.run([sys.executable, "-c", _PROGRAM], env=env, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run().startswith("made")
    assert "made" not in run()
    files = [f for f in (tmp_path / "cache").glob("v*/*/*") if f.suffix in (".o", ".nbc")]
    assert {f.suffix for f in files} == {".o", ".nbc"}
    for file in files:
        file.write_bytes(file.read_bytes()[:-7] + b"garbage")
    assert run().startswith("made")
    assert "made" not in run()
