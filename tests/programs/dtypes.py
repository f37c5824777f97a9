"""Dtypes and layouts: single precision, integers, bools, masks, strides, empty and one-element arrays."""
# ruff: noqa: B905  (these programs do what people do)

import cmath
import math

import numpy as np


def single_precision_norm(xf):
    s = np.float32(0.0)
    for v in xf:
        s += v * v
    return np.sqrt(s)


def single_precision_python_scalar(xf, a):
    return (xf * a + 1.0) / 3


def single_and_double(xf, x):
    return xf * x, xf + 1, xf.sum()


def single_scalar(af, a):
    return af * a + 1.5, af * 2


def single_scalar_in_loop(af, n):
    s = af
    for _ in range(n):
        s = s * af + 1.0
    return s


def single_matrix(mf):
    return mf.sum(axis=0), mf.mean(), np.max(mf, axis=1), mf.T @ mf


def single_store_of_double(xf, x):
    xf[:] = x * 2.0
    xf[0] = math.pi
    return xf


def single_accumulates_in_double(xf):
    s = 0.0
    for v in xf:
        s += float(v)
    return s


def single_becomes_double(xf, af):
    wide = xf.astype(np.float64)
    total = 0.0
    for v in xf:
        total += float(v) * float(v)
    return wide * wide, np.float64(af) * np.float64(af), float(af) ** 3, total


def edges_of_complex_functions(xc):
    """Large numbers, infinities, zeros and the signs of zeros are NumPy's."""
    if len(xc) > 4:
        xc[:5] = np.array([1e308 + 1e308j, np.inf + 1j, 0j, -1 + 0j, np.nan + 1j])
        xc[3] = np.conj(xc[3])
    near = np.sqrt(xc), np.tanh(xc), np.arccosh(xc), np.sign(xc), np.reciprocal(xc), (1 + 2j) / xc, xc**-1.5
    return near, np.isfinite(xc), np.isnan(xc), np.isinf(xc)


def complex_mathematics(a, b, n):
    """`cmath` takes any number, gives Python's, and raises."""
    z = complex(a, n - 1.0)
    root = cmath.sqrt(a - 2.0 * b)
    waves = [cmath.exp(2j * cmath.pi * k / (n + 1)) for k in range(n)]
    size, angle = cmath.polar(z)
    parts = cmath.sin(z), cmath.cosh(z), cmath.tanh(z), cmath.atan(z), cmath.acosh(z), cmath.log(z, 2)
    return (
        (root, waves, cmath.rect(size, angle), cmath.phase(z), cmath.isclose(z, z + 1e-12), cmath.isinf(z)),
        parts,
        root.real + root.imag + size * angle + abs(parts[0]),
    )


def complex_mathematics_undefined(a, n):
    """Outside of the domain, and beyond the range."""
    if n == 0:
        return cmath.log(a - a)
    if n == 1:
        return cmath.atanh(complex(n, 0.0))
    return cmath.exp(a * 1e4 * (n - 1)) + cmath.cos(complex(0.0, n * 1e4))


def powers_of_python_s_complex_numbers(a, n):
    """Zero and infinity raise what Python raises, by trips."""
    z = a - 2j if n == 1 else 1e200 + a * 1j if n == 5 else 0j
    return z**0.5, z ** (n - 3), z ** (1.5 - 1j), z**-2


def integers_beyond_their_array(xb, xu, k, n):
    """`where` wraps them; a bound of `clip` that limits nothing is none, another raises."""
    wrapped = np.where(xb > 0, xb, 100 * k), np.where(xu > 3, -k, xu)
    limited = np.clip(xb, -100 * k, 100 * k), xu.clip(-k, 2), np.clip(xu, None, 500)
    return wrapped, limited, xb.clip(max=200 * (n - 1))


def numpy_integers_stored(xb, n):
    """In signed integers they have to fit, by trips."""
    xb[:1] = np.int64(5)
    xb[-1] = np.int64(100 * n)
    return xb


def casts_of_complex(xc, xf):
    near = np.isclose(xc, xc + 1e-9), np.array([np.complex64(1j), 2.5]), np.average(xc, weights=xf)
    return xc.astype(np.float32), xc.astype(bool), np.sum(xc, dtype=np.float64), xc**-1, near


def rows_of_numbers(xf, xu):
    edges = np.pad(xu, 1, constant_values=300), np.linspace(-3, 0, 5, dtype=int)
    return np.linspace(np.float32(0.5), 2, 4), np.array([np.float32(1.5), 2]), edges, xu[:0] ** -1


def rounded_parts(xc, xu):
    if len(xc) > 1:
        xc[:2] = np.array([np.inf + 1.234j, 2.345 + 0.5j])
    large = xu + np.uint64(2**64 - 9)
    return np.round(xc, 2), np.round(xc), np.round(large, -1), np.float_power(xc, 1.5), np.isreal(1.0)


def reciprocals_of_integers(xb, xu):
    return np.reciprocal(xb), np.reciprocal(xu), np.reciprocal(xb > 0)


def complex_powers(xc):
    return xc**2, xc**3.0, xc**-1, xc**0.5


def power_of_no_number(x):
    return x**math.nan, x**math.inf


def narrow_integers_become_wide(j4):
    wide = np.int64(j4)
    return abs(int(j4)), abs(wide), int(j4) - 1, -int(j4), ~int(j4)


def double_scalar(ad, a):
    return ad * a, ad // 0.4, ad % 0.25, -ad, abs(ad - 1)


def double_scalar_by_zero(ad):
    return ad / 0.0, -ad / 0.0, np.float64(0.0) / 0.0


def integer_scalar(j, k, a):
    return j * k, j / k, j // k, j % k, j**2, j * a


def integer_array(xi):
    return xi * 2, xi / 2, xi // 2, xi % 3, -xi, xi**2


def integer_array_store(xi, a):
    xi[0] = 7
    xi[-1] = a * 10
    xi += 2
    xi *= 3
    return xi


def integer_cumulative(xi):
    return np.cumsum(xi), np.cumprod(xi + 1)


def small_integers(xb):
    return xb + 1, xb * xb, xb + xb, xb.sum(), xb / 2


def small_integers_loop(xb):
    s = 0
    for v in xb:
        s += v
    return s


def integer_and_float_arrays(xi, x):
    return xi * x, xi + x, x**xi, xi > x


def bool_counts(mask, x):
    return np.count_nonzero(mask), np.any(mask), np.all(mask), np.mean(mask), np.count_nonzero(x > 0.7)


def bool_any_all(x, a):
    return np.any(x > a), np.all(x > 0.0), (x > a).any(), (x < 9.0).all()


def bool_in_loop(mask, x):
    s = 0.0
    for keep, v in zip(mask, x):
        if keep:
            s += v * v
        else:
            s -= v
    return s


def bool_array_built(x, a):
    out = np.zeros(len(x), dtype=bool)
    for i in range(len(x)):
        out[i] = x[i] > a
    return out, out.sum()


def mask_select(x, a):
    return x[x > a]


def mask_select_sum(x, mask):
    return np.sum(x[mask] ** 2) + x[~mask].sum()


def mask_store(x, a):
    x[x > a] = 0.0
    return np.sum(x)


def mask_add(x, a):
    x[x < a] += 1.0
    x[x > 1.5] *= 0.5
    return x


def mask_matrix(m, a):
    m[m > a] = a
    return np.sum(m * m)


def where_scalars(a, b):
    return float(np.where(a > b, a, b * 2.0))


def where_arrays(x, y):
    return np.where(x > y, x, y * y)


def where_mixed(x, a):
    return np.where(x > a, 1.0, x), np.where(x > a, x, 0)


def where_nested(x):
    return np.where(x < 0.5, x * x, np.where(x < 1.0, x, 2.0 - x))


def where_guarded_sqrt(s):
    positive = s > 0
    return np.where(positive, np.sqrt(np.where(positive, s, 1.0)), 0.0)


def clip_bounds(s, a):
    return np.clip(s, -0.5, 0.5), np.clip(s, None, a), s.clip(0.0, a)


def clip_by_arrays(s, x):
    return np.clip(s, -x, x * 0.3)


def astype_conversions(x, xi):
    return x.astype(np.float32), x.astype(int), xi.astype(float), xi.astype(bool), x.astype(np.int32)


def astype_then_arithmetic(xi, a):
    return np.sum(xi.astype(float) * a)


def truncation(s, a):
    return np.trunc(s * 3), np.floor(s * 3), np.ceil(s * 3), np.rint(s * 3), int(a * 10), (s * 3).astype(int)


def sign_and_abs(s):
    return np.sign(s), np.abs(s), np.absolute(s) * s, np.fabs(s)


def extremes_where(s):
    return s.argmax(), s.argmin(), np.argmax(s), s.max(), np.min(s)


def reversed_view(xr, a):
    xr[0] = a
    return xr[1:] * 2.0, np.sum(xr)


def reversed_in_loop(xr):
    s = 0.0
    for i in range(len(xr)):
        s = s * 0.5 + xr[i]
    return s


def strided_view(xs, a):
    xs += a
    return xs[::2], xs.sum()


def strided_copy(xs):
    y = xs.copy()
    y[:] = y[::-1]
    return y


def fortran_order(qf, x):
    qf[0] = x
    return qf @ x, qf.sum(axis=0), qf.T


def fortran_loop(qf):
    s = 0.0
    for i in range(len(qf)):
        for j in range(i):
            s += qf[i, j] * qf[j, i]
    return s


def negative_steps(x):
    return x[::-1], x[::-2], x[-2::-1], x[3:0:-1], x[:1:-1]


def negative_step_store(x, a):
    x[::-2] = a
    x[-1:0:-1] += 1.0
    return x


def slices_out_of_range(x):
    return x[2:100], x[-100:2], x[4:2], x[100:], x[:-100]


def slices_from_the_end(x, k):
    return x[-k:], x[:-k], x[k:], x[-k:-1]


def step_slices_2d(q):
    q[::2, 1::2] *= 2.0
    return q[1::2, ::-1]


def empty_arrays(x):
    y = x[:0]
    return y, y.sum(), y * 2.0, len(y), np.zeros(0)


def empty_loop(x):
    s = 1.0
    for v in x[:0]:
        s += v
    return s


def empty_product(x):
    return np.prod(x), np.prod(x[:0]), x.prod()


def one_element(x, a):
    y = x[:1]
    return y * x, y + a


def one_element_axis(m):
    row = m[:1]
    col = m[:, :1]
    return row * m, col - m, row + col


def zero_d_array(p0, a):
    return p0 * a, p0 + p0


def zero_d_index(p0):
    return p0[()] * 2.0, p0.ndim, p0.size


def full_reductions_of_bools(mask):
    s = 0
    for v in mask:
        s += v
    return s, mask.sum() * 2


def weak_int_and_float32(xf, k):
    return xf * k, xf + k / 2, xf**2


def python_int_division(k, n):
    return k / (n + 1), k // (n + 1), -k // (n + 1), -k % (n + 1), k % -(n + 1)


def float_division_signs(a, c):
    return a // c, a % c, -a // c, c % a, -c // a


def integer_overflow_free(k):
    return k * 10**6 * 10**6, (k << 40) >> 38


def mixed_branch_types(k, a):
    if a > 0.5:
        y = k
    else:
        y = a
    return y * 2.0


def accumulate_ints_then_float(xi, x):
    count = 0
    total = 0.0
    for i in range(len(xi)):
        count += xi[i]
        total += x[i]
    return count, total


def nan_handling(x, a):
    y = x.copy()
    y[0] = np.nan
    return np.isnan(y), np.isnan(y).sum(), np.isfinite(y).all(), y > a


def infinities(x):
    y = np.full(3, np.inf)
    return y * 2.0, -y, np.isinf(y), 1.0 / y, x[0] - y


def constants(a):
    return a * np.pi + math.e, np.inf > a, math.tau - a, np.nan


def complex_array(xc):
    return xc * xc, np.abs(xc), xc + 1.5, xc[0] * xc[-1]


def array_of_int_literals(a):
    y = np.array([1, 2, 3])
    z = np.array([1, 2.5, a])
    return y * 2, z, y.sum() * a


def ones_of_dtypes(x):
    return (
        np.ones(3, dtype=np.float32),
        np.zeros(2, dtype=int),
        np.full(2, 7),
        np.ones_like(x),
        np.zeros_like(x, dtype=int),
    )


def arange_kinds(k, a):
    return np.arange(k), np.arange(1, k), np.arange(0.0, 1.0, 0.25), np.arange(k, 0, -1), np.arange(3) * a


def cumulative_sums(x, m):
    return np.cumsum(x), np.cumsum(m, axis=0), np.diff(x)


def differences(x):
    return np.diff(x) ** 2, x[1:] - x[:-1]


def concatenated(x, y):
    return np.concatenate((x, y)), np.append(x, 1.0), np.hstack((y, x))


def stacked(x, y):
    return np.stack((x, y)), np.vstack((x, y)), np.column_stack((x, y))


def rolled(x):
    return np.roll(x, 1), np.roll(x, -2), np.flip(x), x[::-1] * x


def outer_and_kron(x, y):
    return np.outer(x, y), np.dot(x, y), np.inner(x, y), np.vdot(x, y)


def norms(x, q):
    return np.linalg.norm(x), np.linalg.norm(q), np.sqrt(np.sum(x * x)), np.trace(q), np.sum(np.diag(q))


def integer_scalar_by_zero(j):
    return j // 0, j % 0


def integer_array_sums(xi):
    return xi.sum(), xi.mean(), np.sum(xi * xi), xi @ xi


def unsigned_integers(xu):
    return xu + 1, xu // 2, xu * 1.5, xu.sum(), -xu.astype(np.int64)


def bit_operations(xi, k):
    return xi & 3, xi | 4, xi ^ 1, ~xi, xi << 1, xi >> 1, (k & 1) + (k << 2), k ^ 7


def bools(mask, x):
    return mask.sum(), mask * x, ~mask, mask & (x > 0.5), mask | (x < 0.5), mask ^ mask


def integer_powers(k):
    return k**2, k**0, 2**k, k**-1, (-k) ** 3


def widest_integers(xi, xu):
    """Signed beside unsigned integers of 64 bits: compared exactly, shifted by any width."""
    u, i = xu.astype(np.uint64) + np.uint64(2**63), xi.astype(np.int64) + (2**63 - 6)
    small = xu.astype(np.uint64)
    same = u == i, u != i, u < i, i < u, u >= i, i >= -u.astype(np.int8), small == xi, small > -1 - xi
    return same, small << u, u >> small, u >> (small * small), np.power(small, -xi)


def least_integers(xb, xi):
    """The smallest integer has no positive counterpart of its own width; exponents far out."""
    low, far = np.minimum(xb, np.int8(-128)), (xi - 2) * 2**61
    return np.lcm(low, xi), np.lcm(low, np.int16(3)), np.ldexp(1.5, far)


def roots_as_powers(xf):
    """NumPy's ``power`` takes the square root, also of one number; ``float_power`` and numbers do not."""
    low, zero = -np.inf * np.ones(2), np.float32(-0.0) * xf
    number, bare = np.float64(low[0]), np.full((), -np.inf)
    powers = low**0.5, np.power(number, 0.5), bare**0.5, number**0.5, np.copysign(1, np.power(zero, 0.5))
    return powers, np.float_power(low, 0.5), np.copysign(1, np.float_power(zero, 0.5))


def numbers_that_do_not_fit(xb, xi, x, k):
    """Into a signed integer NumPy's own numbers have to fit; what an array or `copyto` stores wraps."""
    raised, large = [], np.float64(k) * 100.0
    for step in range(7):
        try:
            if step == 0:
                xb[0] = large
            elif step == 1:
                xb[0] += np.int64(300)
            elif step == 2:
                xb.flat[0] = 300
            elif step == 3:
                xi[0] = np.uint64(2**63) + np.uint64(k)
            elif step == 4:
                xi[0] = np.nan * x[0]
            elif step == 5:
                xb[:1] = np.array([300])
            elif step == 6:
                np.copyto(xb[1:], np.int64(300))
        except OverflowError:
            raised.append(1)
        except ValueError:
            raised.append(2)
        except IndexError:
            raised.append(3)
    return raised, xb


def copied_signed_to_unsigned(xu, xi):
    np.copyto(xu, 7, where=xu > 3)
    np.copyto(xu, xi)
    return xu


def truncated_before_it_is_stored(xb, a):
    xb[:] = np.float64(127.9)
    xb[:1] -= 128
    xb[:1] = np.float64(-128.9) + 0.0 * a
    return xb


def without_axes(xi, xc):
    """What is a number of NumPy's for an array without axes, and what is an array."""
    i, c = xi.sum(keepdims=True).reshape(()), xc.sum(keepdims=True).reshape(())
    numbers = np.positive(c), +i, np.round(i), np.around(i, 2), np.nan_to_num(i), np.squeeze(np.float64(2.5))
    return numbers, np.real(c), c.imag, np.copy(2.5), np.copy(np.int8(3))


def single_logarithmic(af):
    return np.logspace(af, np.float32(2.0), 4), np.logspace(af, 1.0, 3, base=2), np.logspace(af, np.float64(2.0), 2)


def quantiles_of_integers(xb):
    """Differences of neighbours wrap, as in NumPy."""
    wide = np.concatenate((xb, np.array([-128, 127, 127], np.int8)))
    return np.quantile(wide, 0.3), np.quantile(wide, np.array([0.1, 0.9])), np.percentile(xb.astype(np.float32), 30)


def starts_as_a_python_number(xf, xb, xi, flag):
    """Literals that NumPy's narrow numbers hold exactly."""
    total, count, least, biggest = 0.0, 0, np.inf, -1e9
    for v in xf:
        total += v * 0.1
        if v < least:
            least = v
        biggest = max(biggest, v)
    for v in xb:
        if v > 0:
            count = count + v
    clipped = max(0.0, min(total, 1.0))
    first = 7 if flag else xi[0]
    return total, count, least, biggest, clipped, first


def narrow_running_values(xf, n):
    """Reset to a literal on some trips, inside nested loops."""
    run, best = 0.0, 0.0
    for _ in range(n):
        for v in xf:
            if v > 0.9:
                run = 0.0
            else:
                run += v
            best = max(best, run)
    return run, best


def integers_that_become_floats(k, xi, n):
    """Up to 53 bits they are the same number."""
    a = k
    for i in range(n):
        a = i if i % 2 else a / 2
    b = xi[0] if n > 1 else 0.5
    return a * 0.5, b * 2.0
