"""Linear algebra as models are fitted and filtered with it."""

import numpy as np
import scipy.linalg
from scipy.linalg import cho_factor, cho_solve


def _kernel(x, a, noise):
    gaps = x[:, None] - x[None, :]
    return np.exp(-0.5 * gaps * gaps / (a * a)) + noise * np.eye(len(x))


def gaussian_process(x, y, a, b):
    """The log-likelihood of a Gaussian process."""
    low = np.linalg.cholesky(_kernel(x, a, b))
    alpha = np.linalg.solve(low.T, np.linalg.solve(low, y))
    return -0.5 * np.dot(y, alpha) - np.sum(np.log(np.diag(low))) - 0.5 * len(x) * np.log(2.0 * np.pi)


def gaussian_process_by_factor(x, y, a, b):
    factor = cho_factor(_kernel(x, a, b), lower=True)
    sign, logdet = np.linalg.slogdet(_kernel(x, a, b))
    return -0.5 * y @ cho_solve(factor, y) - 0.5 * sign * logdet


def ridge_regression(m, f, a):
    normal = m.T @ m + a * np.eye(m.shape[1])
    weights = np.linalg.solve(normal, m.T @ f)
    residual = f - m @ weights
    return residual @ residual + a * (weights @ weights), weights


def kalman_filter(f, a, b):
    """A local linear trend, followed step by step."""
    move = np.array([[1.0, 1.0], [0.0, 1.0]])
    seen = np.array([[1.0, 0.0]])
    state, spread = np.zeros(2), np.eye(2)
    loglik = 0.0
    for z in f:
        state = move @ state
        spread = move @ spread @ move.T + a * np.eye(2)
        off = z - seen @ state
        s = seen @ spread @ seen.T + b * np.eye(1)
        gain = spread @ seen.T @ np.linalg.inv(s)
        state = state + gain @ off
        spread = (np.eye(2) - gain @ seen) @ spread
        loglik -= 0.5 * (off @ np.linalg.solve(s, off) + np.log(np.linalg.det(s)))
    return loglik, state


def singular_system(q, y):
    q[:] = 1.0
    return np.linalg.solve(q, y)


def not_positive(q):
    return np.linalg.cholesky(q - 5.0 * np.eye(len(q)))


def not_square(m):
    return np.linalg.inv(m)


def several_right_sides(qf, m):
    return np.linalg.solve(qf + 3.0 * np.eye(len(qf)), m)


def determinants(q):
    sign, logdet = np.linalg.slogdet(q + np.eye(len(q)))
    return np.linalg.det(q), sign, logdet


def single_precision(mf):
    normal = mf.T @ mf + np.float32(9.0) * np.eye(3, dtype=np.float32)
    return np.linalg.inv(normal), np.linalg.slogdet(normal)[1], np.linalg.cholesky(normal)


def orthonormal(m):
    q, r = np.linalg.qr(m.T @ m + np.eye(3))
    return q, r, np.abs(np.diag(r))


def principal_components(m):
    centred = m - np.mean(m, axis=0)
    w, v = np.linalg.eigh(centred.T @ centred + np.diag(np.array([0.1, 0.2, 0.4])))
    leading = v[:, -1]
    return w, leading * leading, np.linalg.eigvalsh(centred.T @ centred + np.eye(3))


def low_rank(m):
    u, s, vh = np.linalg.svd(m.T @ m + np.diag(np.array([0.5, 1.0, 2.0])), full_matrices=False)
    return (u[:, :1] * s[:1]) @ vh[:1], s


def nuclear_and_spectral(m):
    return np.linalg.norm(m, "nuc"), np.linalg.norm(m, 2), np.linalg.svd(m, compute_uv=False)


def least_squares(x, y):
    design = np.column_stack((np.ones(len(x)), x))
    coefficients, _, rank, s = np.linalg.lstsq(design, y)
    return coefficients, rank, s


def pseudo_inverse(m, f):
    return np.linalg.pinv(m.T @ m + np.eye(3)) @ (m.T @ f)


def markov_steps(q, k):
    p = q / np.sum(q, axis=1)[:, None]
    rank = np.linalg.matrix_rank(p) if len(q) else 0  # before NumPy 2.4.5 an empty matrix has none
    return np.linalg.matrix_power(p, 3), rank


def norms_of_all_orders(x, m):
    vector = np.linalg.norm(x, 3), np.linalg.norm(x, np.inf), np.linalg.norm(x, 1)
    return vector, np.linalg.norm(m, 1), np.linalg.norm(m, np.inf), np.linalg.norm(m, axis=1)


def condition(q):
    return np.linalg.cond(q + 2.0 * np.eye(len(q)))


def chain(q, m, y):
    return np.linalg.multi_dot((y, q, m))


def whitened(q, y):
    low = np.tril(q) + np.eye(len(q))
    z = scipy.linalg.solve_triangular(low, y, lower=True)
    return z @ z, scipy.linalg.solve_triangular(low.T, y)


def factored_once(q, y, x):
    factors = scipy.linalg.lu_factor(q + 2.0 * np.eye(len(q)))
    return scipy.linalg.lu_solve(factors, y), scipy.linalg.lu_solve(factors, x, trans=1)


def stack_of_systems(q, y):
    stack = np.stack((q + 2.0 * np.eye(len(q)), q.T + 3.0 * np.eye(len(q))))
    return np.linalg.inv(stack), np.linalg.det(stack)


def flow_of_a_linear_system(q, y, t):
    return scipy.linalg.expm(t * q) @ y


def impedances(a, q, x):
    """A complex system, its inverse, and a determinant that no derivative passes through."""
    n = len(x)
    m = q[:n, :n] + 1j * (a * np.eye(n) + 0.1 * q[:n, :n].T)
    v = np.linalg.solve(m, x - 2j)
    both = np.linalg.inv(m) @ np.stack((v, 1j * x), axis=1)
    return np.abs(v) ** 2, np.sum(both.real) + np.sum(both.imag), abs(np.linalg.det(m)) > 0.0


def complex_stacks(a, x):
    m = np.eye(2) * (1.0 + a * 1j) + 0.25 * np.ones((3, 2, 2))
    single = np.linalg.solve(m.astype(np.complex64), np.ones((3, 2, 1)))
    return np.linalg.inv(m), np.linalg.det(m), np.abs(single) < 10.0, np.sum(np.linalg.inv(m).real) * x


def made_by_the_class(n, x):
    buffer = np.ndarray((n, 2), dtype=x.dtype)
    buffer[:] = x[0]
    return buffer, isinstance(buffer, np.ndarray)


def outer_products_of_a_carried_vector(q, x, n):
    total = np.zeros_like(q)
    for _ in range(n):
        total += np.outer(x, x)
        x = q.T @ x / len(x)
    return total


def moved_points(m, a, n):
    """Of each row that a product makes, a part is added at once."""
    out = np.zeros((len(m), 3))
    for k in range(n):
        turn = np.array([[1.0, a, 0.0, k], [0.0, 1.0, a, 1.0], [a, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0]])
        moved = np.column_stack((m[:, 0], m[:, -1], m[:, 0] * a, np.ones(len(m)))) @ turn.T
        out += a * moved[:, :3]
    return out, np.sum(out**2)


def least_squares_steps(q, x, a, n):
    """Both products of a step are with one matrix."""
    at = np.zeros_like(x)
    for _ in range(n):
        at = at - 0.1 * a * (q.T @ (q @ at - x))
    return at


def products_in_place(q, x, a):
    out = np.ones_like(q)
    out += a * q @ q
    out[0] = q @ x
    out[:, -1] -= x @ q
    return out


def computed_by_elements(q, qf, x, y, a, b):
    t = a * q @ x + b * qf @ y
    t += (q - a) @ x - (-q) @ (x * y) + (q * qf) @ y
    q *= 0.5
    return t, a * q @ (x + y), (q + x) @ y


def one_row_and_one_column(x, y, m, a):
    return (a * x.reshape(1, -1)) @ y, (m - a)[:, :1] @ x[:1]
