"""Programs that random generation found to go wrong, each the smallest that did."""

import enum
import functools
import math

import numpy as np


def integer_before_array(n, x):
    """The parameter has the name that the array's size would get."""
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def integer_before_matrix(n, m):
    if n > 7:
        return np.sum(m[0])
    m[0] *= 1.5
    return m[-1, 0] + n


def compare_small_integers(xu, xb, n):
    """Python's integer need not fit the array's dtype."""
    below = xu > 1 - n
    s = 0
    for k in range(len(xb)):
        if xb[k] < 200 * n and xu[k] != -n:
            s += 1
    return below, xb == 300, s


def reductions_from_the_identity(m, x):
    """A combination of one number is with the identity; a running one begins with the number itself."""
    ones = np.hypot.reduce(-m[:, :1], axis=1)
    return ones, np.add.accumulate(-0.0 * x), np.mean(m, axis=0, dtype=np.int16), np.sum(x, initial=2)


def singular_matrices(q):
    """Their condition is infinite by any norm, and their determinant 0 without a sign."""
    flat = np.array([[1.0, 2.0], [2.0, 4.0]])
    return np.linalg.cond(flat, 1), np.linalg.cond(np.zeros((2, 2))), np.linalg.det(-flat), np.linalg.cond(q, "fro")


def infinity_is_no_integer(x):
    found = []
    for v in (x[0], math.inf, math.nan):
        try:
            found.append(int(v) + math.floor(v) + round(v))
        except OverflowError:
            found.append(-1)
        except ValueError:
            found.append(-2)
    return found


def sum_and_maximum_of_nothing(n):
    """The sum is never read: the maximum raises."""
    items = [0.5 * k for k in range(0)]
    return np.sum(items), np.max(items)


def table_without_columns(n):
    return np.array([[0.5 * i for _ in range(n - n)] for i in range(n + 1)]).shape


def old_arrays_in_lists(xi, n):
    """The array that ``y`` means after the loop is not among those in the list; the second list has one before."""
    old, more, y = [], [xi * 2], xi + 1
    for _ in range(n):
        old.append(y)
        y = y + 1
        more.append(y * 3)
    y[0] = 9
    return old[0][0], old[-1][0], more[0][0], more[-1][0], y


def _beside(u, v):
    return u + v


def parts_of_one_element(x, y):
    """What a function is given may have one element, which is stretched in it, too."""
    at = np.arange(len(y)) % 2
    return _beside(x[:1], y), np.choose(at, [x[:1], y]), np.repeat(y, (at + 2)[:1])


def shorter_until_one(x, y):
    """In calls of itself an argument may have one element, which is stretched."""
    if len(x) > 1:
        return shorter_until_one(x[1:], y)
    return len(x + y)


def several_axes_of_numbers(m):
    flat = np.nanmedian(m, axis=(0, 1)), np.nanquantile(m, 0.3, axis=(1, 0))
    return (
        flat,
        tuple(range(-2, 0)),
        np.nanmedian(m.reshape(1, *m.shape), axis=(0, 2)),
        np.pad(m[:0], ((0, 0), (1, 1)), "maximum"),
    )


def floats_beside_complex(x):
    """To Python's complex numbers NumPy's double is a float: the answer is Python's, too."""
    return 1j == x[0], x[0] == 1j, 1j != x[0]


def whole_fractions(xi):
    """Fractions that are integers take elements as they are."""
    return np.quantile(xi, 1), np.quantile(xi, np.float32(0.3)), np.median(xi - xi)


def lists_of_lists(a):
    """Lists in lists are arrays of as many axes."""
    return np.sort([[3, 1], [4, 2]]), np.searchsorted([0.0, a], [[0.5, 2.0], [1.0, 0.1]]), np.isin([[1, 2], [3, 4]], 3)


def a_copy_in_order(m, p0):
    """What is no longer needed may be copied or not."""
    m2 = np.ascontiguousarray(m[:, ::2])
    return m2 * 2.0, np.ascontiguousarray(p0), np.median(p0, keepdims=True), p0.flat[0], np.flip(p0)


def last_of_equal_points(x, a):
    return np.interp(x, [0.0, 1.0, 1.0], [1.0, 3.0, 2.0]), np.interp(a, np.array([0.2]), np.array([5.0]))


def numbers_as_arrays(xf, mf):
    """Python's numbers count as float64 where NumPy makes arrays of them first."""
    return np.dot(xf, 2), np.kron(2.5, mf), np.arange(mf.dtype.type(0.7), 4)


def added_at_places_of_a_matrix(m, n):
    np.add.at(m, np.array([[0, 0], [0, -1]]), np.array([1.0, 2.0, 3.0]))
    np.multiply.at(m, 0, np.array([1.0, 2.0, 1.0]))
    return m * n


def drawn_into_memory(rng, m):
    rng.random(out=m)
    return m, rng.normal(0.5, 2.0, size=())


def one_element_by_ellipsis(m, n):
    """With an ellipsis even one element is a view: an array without axes."""
    v = m[0, ..., -1]
    m[0, 2] = 3.0
    w = m[:, 0] * 2.0
    return v, w[..., 0], v + n


def store_through_ellipsis(x, n):
    v = x[..., 0]
    v[...] = 2.0 * n
    v += 1.0
    return np.sum(x)


def search_in_small_integers(xb, n):
    """Python's integer, then one of eight bits."""
    s = 0
    best = -1
    for k in range(len(xb)):
        s += xb[k]
        if xb[k] > 1 - n:
            best = xb[k]
    return s, best


def quotient_in_two_nests(x, s, xf):
    """Its gradient needs the divisor in two nests of loops: a number of the one, an array for the other."""
    x[-1] = 1.0
    for _ in s:
        x = s / (s + np.roll(xf, 1))
    return x


def part_of_one_of_two(x, s, q):
    """Which array `s` is a part of decides whether it may be read."""
    y = x
    for _ in range(2):
        s[0] = 0
        for _, _ in zip(s, y[1:], strict=False):
            s = x[::-1]
        x = np.where(y > s[0], q[: len(y), 0] - y, s[0])
    return x


def masked_in_one_of_three(x, n, a, s):
    """A size that becomes known in a branch is not known after it."""
    y = np.zeros_like(x)
    for _ in range(n):
        x[y > y[-1]] += a
        s = x if s[0] < -1.0 else s
        s, x = (x, s)
        s = y
    x[s < 1.5] *= s[0]
    return x


def sum_that_cancels(n, xi):
    s = np.sum(xi)
    xi[0] = s - (s - n)
    return xi


def reversed_into_itself(x, y):
    """What is stored may be the array it is stored into, and may be stretched."""
    z = x.copy()
    for _ in range(1):
        z = y
    w, z = z, 1
    y[::-1] = w
    return w


def resized_in_a_while(x, y, n):
    y = y * 0.5
    y[:1] -= 0.5 * np.sum(y * x)
    i = 0
    while i < n:
        if n < 3:
            for k in range(2):
                x[:1] += 0.1 * k * y[0]
        y = np.full(len(x) + i, 0.5)
        i += 1
    return np.sum(x) + np.sum(y)


def few_items_in_a_loop_that_stops(x, a, n):
    """The inner loop, one of known items, has an end of its own."""
    s = 0.0
    for i in range(n):
        if s > a:
            break
        if i == 1:
            continue
        for di, dj in ((0, 1), (1, 0), (-1, 2)):
            if di < 0 and s > 2.0 * a:
                break
            s += di * x[i] + dj * a
        for f in (np.sin, np.cos):
            s += f(x[i])
            if s > 90.0:
                return s, i
    return s, n


def list_returned_early(x, a, n):
    """Nothing changes it after the return, in whichever loop that is."""
    out = [a]
    for i in range(n):
        for v in x:
            if v > 1.4 and i > 1:
                return out
            out.append(v)
        if len(out) > 9:
            return out
    return out


def changed_list_returned_early(items, n):
    for _ in range(n):
        items[0] += 0.5
        if items[0] > 2.0:
            return items
    else:
        items[-1] = 9.0
    return items


def hash_without_a_sign(xi, n):
    """A literal of 64 bits is NumPy's beside numbers and arrays without a sign."""
    h = np.uint64(n + 7)
    for k in range(len(xi)):
        h ^= h >> np.uint64(33)
        h *= 0xFF51AFD7ED558CCD
        h = (h + np.uint64(k)) & 0xFFFFFFFFFFFFFFFF
    many = np.arange(3).astype(np.uint64)
    many[0] ^= np.iinfo(np.uint64).max
    many += 2**63
    many *= 0xC4CEB9FE1A85EC53
    return h, many, 2**63 - np.uint64(n), many % (2**63 + 1)


def unpacked_into_more(x, a):
    """Python raises when the tuple is unpacked, after the store."""
    pair = a, 2.0 * a
    x[0] = a
    if a > 1.0:
        b, c, d = pair
        return b + c + d
    b, c = pair
    return b + c


def unpacked_around_a_star(x, a):
    if a > 1.0:
        b, *_, c = (a,)
        return b + c
    try:
        b, c = a, a, a
    except ValueError:
        return x[0]
    return b + c


def second_of_one(x, a):
    if a > 0.0:
        a = a * x[-2]
    return a * x[0]


def loop_whose_test_always_raises(x, a):
    """With few elements, the test ends the call; the loop must not be dropped."""
    while x[3] > a:
        a += 1.0
    return a


def loop_whose_second_test_raises(x, q):
    """The first test holds once; what is left of the second is that it raises, for one row."""
    i = 0
    while i < len(x) and q[0, -2] < 3.0:
        i += 1
    return i


def comprehension_reads_what_is_chosen(x, s, n):
    """What the comprehension reads is one of two arrays, stored into in between."""
    for _ in range(n):
        t = sum(s[0] * e for e in x)
        s[0] = 0.5 * t
        if t > 0.1:
            s = x
    return s


def one_slope_on_both_sides(a, b, k):
    """The derivative passes the first branch the same way on either side; the second one's keeps its values."""
    r = a * b
    if k > 1:
        r = r + 1.0
    else:
        r = r + 2.0
    if r > 0.5:
        t = np.sin(r) * a
        out = t * t
    else:
        out = r / b
    return out


def two_guards_with_one_message(x, n, k):
    """What one guard raises is raised by the next one too."""
    if n > 2:
        raise ValueError("no")
    for i in range(k):
        if i > 1 and x[i] > 0.0:
            raise ValueError("no")
        if i > 2:
            raise ValueError("no")
    if x[0] > 0.1:
        raise ValueError("no")
    return np.sum(x)


def computed_where_its_size_is_known(x, y):
    """The same on every trip, and of a size that only a loop that runs has."""
    for _ in range(len(y), 1, -1):
        x[1:] = np.sqrt(np.abs(y[: len(y) - 1]))
    return x[-1]


def read_after_its_check(x, z, n):
    """What is the same on every trip is read after what says that it is there."""
    s = 0.0
    for _ in range(n):
        s += x[3]
        s += np.sin(x[3] * 2.0) + np.sum(np.exp(x) * z[: len(x) // 2 + 3])
    for i in range(n + 2):
        if i < len(x) and float(x[i]) > 0.01:
            s += float(x[i]) * 2.0
    return s


def what_a_message_reads_is_read_when_it_is_raised(x, n):
    for i in range(n + 4):
        if i < len(x) - 3 and x[i] > 9.0:
            raise ValueError(f"{x[i + 1]} {x[i + 1] + 1.0}")
        if i < len(x) - 4:
            raise ValueError(f"{x[i + 2]} {x[i + 2] + 1.0}")
    return x[0]


def a_condition_says_nothing_where_it_does_not_hold(x, n):
    s = 0.0
    for i in range(n + 4):
        if i >= len(x) + n:
            raise ValueError("end")
        near = i < len(x) and n > 2
        s += x[i] + x[i - 1]
        if near:
            s += 1.0
    return s


def one_slope_changed_twice(x, c):
    """In the gradient, the slopes of both arrays start as one array, and both are added to in one loop."""
    out = x.copy()
    s = x[:-1] + out[1:]
    return np.sum(s * s) + c * np.sum(x) + c * np.sum(out)


def first_iterable_is_read_outside(x, n):
    if n > 2:
        items = [1.0, 2.0]
    return sum(e * x[0] for e in items)


def condition_without_a_value(x, n):
    """The second half of the test raises whenever it is asked: the whole test is its first half."""
    i = 0
    if n > 9:
        more = True
    while i < n and more:
        i += 1
    return x[0] + i


def counts_in_n(x):
    """The user's `n` is not the size of `x`, which the loop runs to."""
    n = 0
    for e in x:
        if e > 0.0:
            n += 1
    return n + np.sum(x)


def until_nothing_changes(x, n):
    """Why the loop ends is read after what it carries, `last` among it, has changed."""
    last = None
    for k in range(n + 5):
        signs = x + k > 1.0
        if last is not None and (signs == last).all():
            break
        last = signs
    return k * np.sum(x)


def index_arrays_of_other_lengths(m, n):
    return m[np.arange(2) * 0, np.arange(n) * 0]


def added_at_places_of_other_lengths(x, n):
    out = np.zeros(3)
    np.add.at(out, np.arange(3), x[:n])
    return out


def added_at_rows_and_columns(x):
    out = np.zeros((3, 3))
    np.add.at(out, (np.arange(3)[:, None], np.arange(2)), np.sum(x))
    return out


def power_too_large(a):
    return (a * a + 1e100) ** 4


class Named:
    def __init__(self, size):
        self.size = size


def name_of_a_class(a):
    thing = Named(a)
    return a if type(thing).__name__ == "Named" else -a


def looped_over_and_made_anew(x, n):
    """The loop goes over the array it began with, as the first trip changed it."""
    out = x.copy()
    last = 0.0
    for i, e in enumerate(out):
        out[::-1] += 0.5 * (x + out[::-1])
        out = np.sign(out) ** 2
        last += e * (i + n)
    for row in out:
        out[:] = 0.25
        out = out * 2.0
        last += row
    return last, out


def argument_made_anew_in_a_loop(x, n):
    """The first trip reads what the caller gave."""
    s = 0.0
    for i in range(n):
        s += x[0] * x[-1]
        x = np.array([s, 0.5 * i])
    return s


def argument_made_anew_from_elements(x, n):
    y = np.zeros(2)
    k = 0
    while k < n:
        y[0] = x[0] + 1.0
        y[1] = x[-1]
        x = np.sin(y)
        k += 1
    return y[0]


def product_kept_while_stored(x):
    """Times one is the array itself, which is then changed."""
    y = x * 1.0
    x[0] += 1.0
    return y[0], y[-1] * 2.0


def array_without_axes_stored(x):
    y = np.zeros(())
    y[()] = x[0]
    y[()] += x[-1]
    return float(y)


def array_without_axes_in_a_loop(x, n):
    y = np.zeros(())
    for i in range(min(n, len(x))):
        y += x[i] * y + x[i]
    return y[()]


def added_where_true(x, m):
    out = np.zeros(len(x))
    np.add.at(out, x > 0.0, np.sum(m))
    np.add.at(m, m > 0.0, x[0])
    np.multiply.at(m, (0, m[0] > 0.5), 2.0)
    return np.sum(m * m) + out


def compared_before_it_is_stored(u, tol, n):
    """What is cheap is computed where it is read, and in memory where what it is made of is overwritten."""
    change, trips = 2.0 * tol, 0
    while change > tol and trips < n:
        new = 0.5 * (u[:-2] + u[2:])
        change = np.sum(np.abs(new - u[1:-1]))
        u[1:-1] = new
        trips += 1
    return np.sum(u) * trips


def filled_with_an_array_without_axes(x, n):
    y = np.zeros(())
    y[()] = x[0]
    return np.full(len(x), y) * x + np.full_like(x, y)


def _over_children(x, k, depth, seen):
    """What a trip saves, before and after the call in it, is on lists below that of the call."""
    if depth == 0:
        return x[k] * x[k]
    total = 0.0
    scale = 1.0
    for i in range(depth):
        factor = np.sin(x[(k + i) % len(x)] * scale)
        seen[0] += 1.0
        inner = _over_children(x, (k + i + 1) % len(x), depth - 1, seen)
        scale = scale * 0.5 + factor * 0.1
        total += factor * inner * np.exp(-inner * scale)
    return total * scale


def calls_itself_in_a_loop(x, n):
    seen = np.zeros(1)
    return _over_children(x, 0, min(n, 3), seen) + 0.0 * seen[0]


def made_like_others_and_flattened(m, tol):
    """NumPy lays out what it makes as what it is made of lies: whether these are views depends on ``m``."""
    like = np.zeros_like(m)
    like.ravel()[0] = tol
    both = np.concatenate((m, m))
    flat = both.reshape(-1)
    flat[:2] *= tol
    return np.sum(like) + np.sum(both * both)


def long_ways_in_few_steps(k, n):
    """From one end of a range to the other it is farther than 64 bits say."""
    far = 2**62 - 1
    trips, total = 0, 0.0
    for i in range(-far - k, far + k, far):
        trips += 1
        total += i * 0.5
    for i in range(far + k, -far - 2 * k, -far):
        trips += 10
        total -= i
    for i in range(2**63 - 1 - k, n - (2**63 - 1)):
        trips += 100 + i
    return trips, total


def single_reciprocals(xf):
    """Of elements, which are float32 before they are anything else."""
    out = np.zeros(len(xf))
    for i in range(len(xf)):
        out[i] = np.reciprocal(xf[i]) + np.reciprocal(2 * xf)[i]
    return (out * 2.0**40).astype(np.int64)


def a_row_times_itself(y):
    """Fits where there is one column."""
    row = y[None, :]
    return row @ row, np.dot(row[:, :1], row)


def numbers_without_axes_spread(p0, x):
    spread, same = np.broadcast_arrays(p0, x)
    return np.broadcast_to(p0, (2, 3)) * p0, np.broadcast_to(p0, x.shape) + 1.0, spread * same


class _Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class _Factor(float, enum.Enum):
    HALF = 0.5


def members_that_are_numbers(x, k):
    scale = x[0] * _Level.HIGH + _Factor.HALF * k if len(x) else float(_Level.LOW)
    return (
        scale,
        k < _Level.HIGH,
        k in (_Level.LOW, _Level.HIGH, 3),
        k & _Level.HIGH,
        _Level.HIGH.value / 4,
        k == _Level.LOW,
    )


def stores_before_what_certainly_raises(y, k):
    """A loop may raise before, and what it has stored by then stays."""
    if k > 100:
        return 1.0
    s = 0.0
    for i in range(k):
        y[i] += 1.0
        s += y[i]
    if s < 0.0:
        s = 2.0 * s
    raise ValueError("certainly")


def saved_where_it_certainly_raises(x, a, k):
    """What the loop saves is saved in no call that returns."""
    one = x[:1]
    if a > 0.5:
        s = a
    else:
        c, s = 0, 0.0
        while c < 4 and one[3] > 0.0:
            c += 1
            s += one[0]
        for i in range(k):
            if one[i] > 0.5:
                return np.sum(one) * a
    return s


def saved_after_a_name_without_a_value(x, a, k):
    if a > 0.5:
        s = a
    else:
        for _ in range(0):
            q = 1.0
        s = q
        for i in range(k):
            if x[i] > 0.5:
                return np.sum(x) * a
    return s


def long_tuple(a, b):
    """More than 30 results, the last ones by choices; numba puts long tuples together in its own way."""
    xs = a * 2, a * 3, a * 4, a * 5, a * 6, a * 7, a * 8, a * 9, a * 10, a * 11, a * 12, a * 13, a * 14, a * 15, a * 16
    ys = b * 2, b * 3, b * 4, b * 5, b * 6, b * 7, b * 8, b * 9, b * 10, b * 11, b * 12, b * 13, b * 14, b * 15, b * 16
    return *xs, *ys, max(a, b), min(a, b), a * (a > b), a if b > 1.0 else b


def two_double_buffers(m, x, n):
    """Pairs of different numbers of axes, each exchanged in each step."""
    z, w = m * 0.5, m + 1.0
    u, v = x * 0.5, x + 1.0
    while n > 0:
        z, w = w, z
        u, v = v, u
        n -= 1
    return z, u, np.sum(w) * v


def computed_again_along_rows_and_columns(q):
    """The elements of one vector at each point of a loop, and again inside of it, where each row is added up."""
    v = q[0] * 2.0 + 1.0
    y = v * v
    z = np.sum(q * v, axis=1)
    return v * y + z, y


def _lifted(q, k):
    if k == 0:
        return q * 2.0
    return _lifted(q + 1.0, k - 1)


def recursion_from_another_order(qf, k):
    """The first call is with an array in Fortran's order, the next ones with arrays in C order."""
    return np.sum(_lifted(qf, k)) + np.sum(_lifted(qf[::2, ::-1], k))


def a_complex_zero_less(xc):
    return xc - 0j, xc[:2] - complex(-0.0, 0.0), xc - ((1 + 2j) - (1 + 2j))


def _flattened(q, k):
    if k == 0:
        return q.reshape(-1)
    return _flattened(q + 1.0, k - 1)


def reshape_from_recursion(q, k):
    flat = _flattened(q, k)
    return flat, np.sum(_flattened(q, 0))


def _and_its_reshape(x):
    return x, x.reshape(1, -1)


def stored_into_a_reshape_from_a_call(x, a):
    v, row = _and_its_reshape(x * 2.0)
    row[0, 0] = a
    return v, row


def normalised_exponentials(x):
    """The largest is taken off once, whatever sign the exponents have."""
    u, v = np.exp(-x * x), np.exp(x / -0.3)
    return u / u.sum(), np.log(v / np.sum(v)), np.log(np.sum(np.exp(-np.abs(x)))), np.log(np.mean(np.exp(-x)))


def negative_floats_as_unsigned(x):
    """Those that an integer of 64 bits holds wrap."""
    y, h = np.zeros(len(x), np.uint64), np.uint32(2166136261)
    for i in range(len(x)):
        y[i] = -3.0 * x[i] - 2.0
        h = (h ^ np.uint32(-50.0 * x[i])) * np.uint32(16777619)
    return y, h, (-7.0 * x).astype(np.uint32), (1e19 + 0.0 * x).astype(np.uint64)


def integers_of_floats_wrap(x, n):
    """They are NumPy's, not Python's."""
    whole, s = (x * 0.0 + 2.0**62).astype(np.int64), np.int64(x[0] + 5381.0)
    for k in range(n + 20):
        s = s * 33 + k
    return np.sum(whole), whole * 4, np.cumsum(whole), s


def named_underscore(x, n):
    """The loop's variable has the name that a length which nobody knows has in a list's type."""
    for _ in range(n):
        x = x[1:] * x[:-1]
    return np.sum(x)


def known_to_raise_and_not_reached(x, n):
    """What raises for what is known raises where the program comes to it, and nowhere else."""
    if n > 1000:
        return float("abc"), ~1.5, "ab" * 2.0, [1, 2, 3][::0], {[1]: x}, isinstance(x, 5), round(x[0], "a")
    try:
        k = float("abc")
    except ValueError:
        k = 2.0
    return k * x, [1, 2, 3][::-1], "ab" * 2, round(x[0], 2)


def interpolation_to_infinity(x):
    """The last of the points is infinite, and so is what is asked for."""
    inf = np.inf
    return np.interp(inf, [0.0, 1.0, inf], [0.0, 1.0, 2.0]), np.interp(
        [-inf, -5.0, x[0]], [-inf, 0.0, 1.0], [3.0, 1.0, 2.0]
    )


def lengths_worked_out(x, n):
    """What is not known of a shape is asked of the others, of which none may be 0; distances that are infinite."""
    y = np.outer(x, x)[:n]
    return y.reshape(len(y), -1), np.resize(x, ()), math.hypot(1.7e308, x[0] * 0.0 + 1e308)


nothing_outside = []


def of_nothing_outside(x):
    """An empty list from outside is a list."""
    total = np.sum(x)
    for t in nothing_outside:
        total += t
    return total + sum(nothing_outside), len(nothing_outside)


def differences_until_few(x, n):
    """An integer beside a `while` loop says how long the array is, which a sweep back knows too late."""
    k, total = len(x), 0.0
    while k > n:
        total += x[0]
        x = np.sin(x[1:] - x[:-1])
        k -= 1
    return total + np.sum(x)


def sorted_by_numbers(x, counts):
    """Equal keys keep their order, backwards too."""
    order = sorted(range(len(x)), key=lambda k: -x[k])
    ties = sorted(counts, key=lambda c: c % 3, reverse=True)
    flags = sorted(range(len(counts)), key=lambda k: counts[k] > 4)
    items = x.tolist()
    items.sort(key=lambda v: v * v - v, reverse=True)
    first = sum((w * x[k] for w, k in enumerate(order)), 0.0)
    return first, sum((w * v for w, v in enumerate(items)), 0.0), ties, flags


def filtered_again(x):
    """What one element hands on to the next one keeps the loops around as they are."""
    y, out = x.copy(), np.zeros(len(x))
    for c in range(3):
        z = 0.0
        for i in range(len(y)):
            z = 0.5 * z + y[i]
            y[i] = z
            out[i] += z * c
    return y, out


def every_second_again(x):
    """Loops that do not go over all elements, again and again."""
    y = x.copy()
    for _ in range(2):
        for i in range(0, len(x), 2):
            y[i] = np.exp(x[i])
        for i in range(len(x) - 2, 0, -1):
            y[i] = np.sin(x[i]) + 0.5 * y[i]
    return y


def pushed_from_indices(xi, x):
    """Places that an array holds go onto a list while it is emptied; `float` items are not asked of lists."""
    todo, total = [0], 0.0
    while len(todo) > 0 and total < 50.0:
        u = todo.pop()
        total += x[u] * x[u]
        for k in range(u, u + 1):
            if 0 < xi[k] < len(x) and xi[k] > u:
                todo.append(xi[k])
    return total


def bound_to_what_is_changed(x, k):
    """A copy that is the argument's memory, as long as that is changed elsewhere, is returned."""
    v = x * 1.0
    if k > 2:
        v = x
        x *= 0.9
    x[:] = 0.5 * x
    u, w = x, v * 2.0
    for _ in range(k):
        u[:] = x + 0.5
        w *= 0.9
        u, w = w, u
    return v, u, w


def an_extreme_of_itself(x):
    v = np.zeros(len(x))
    for _ in range(2):
        v = np.maximum(x, x)
        if len(x) > 0:
            x[0] = 5.0
    return v


def shorter_unless_short(x, n):
    """What stands for an array that is made on the other path only has no length less than none."""
    v = x.copy()
    w = v
    for _ in range(n):
        if len(v) < 3:
            break
        v = 0.5 * (v[:-1] + v[1:])
        w[0] += v[0]
    return v, w


def _step_by(p):
    def step(u, w=p):
        return u + w

    return step


def _scale_by(p):
    def scale(u, *, w=p):
        return u * w + 1.0

    return scale


def functions_exchanged(a, n):
    """Of one function with different defaults the loop carries these."""
    f, g, x = _step_by(a), _step_by(2.0 * a), 1.0
    for _ in range(n):
        x = f(x)
        f, g = g, f
    h, p, q = _scale_by(1.0), _scale_by(2.0), _scale_by(a)
    while n > 0:
        x = 0.5 * h(x)
        n -= 1
        if x > 1.0:
            h, p = p, q
    return x, f(x), h(1.0), p(x)


def the_best_function(a, n):
    best = _scale_by(a)
    least = best(1.2)
    for k in range(n):
        f = _scale_by(a * np.cos(2.0 * k))
        if f(1.2) < least:
            best, least = f, f(1.2)
    return best(1.2) + least


class _Move:
    def __init__(self, by):
        self.by = by

    def go(self, u):
        return u + self.by


def _weighted(w, u):
    return u * w.sum() + w[0]


def methods_and_what_they_belong_to(x, a, n):
    u, m, q = a, _Move(a).go, _Move(2.0 * a).go
    f = functools.partial(_weighted, x)
    for k in range(n):
        u = 0.3 * f(m(u))
        m, q = q, m
        f = functools.partial(_weighted, np.array([a * k, u]))
    return u, m(u)


def made_in_the_loop_alone(a, n):
    u = a
    for k in range(n + 1):
        if k > 0:
            u = 0.5 * f(u)  # noqa: F821
        f = _step_by(a * k)
    return u + f(u)


def kept_by_an_object(a, n):
    move, u = _Move(0.0), a
    move.by = _scale_by(a)
    for k in range(n):
        u = 0.3 * move.by(u)
        move.by = _scale_by(0.5 * k)
    return u


def _part(v, first=None, stop=None, step=None):
    return np.sum(v[first:stop:step])


def ends_that_may_be_none(x, k):
    stop = None if k == 0 else -k
    first, total = None, 0.0
    for i in range(k):
        total += np.sum(x[first:]) + _part(x, first) + _part(x, step=first if first != 0 else None)
        first = i
    y = x.copy()
    y[:stop] *= 2.0
    items = [v for v in x]
    return y, total, x[k : -k or None], x[stop::-1] + 0.0, x[:stop:2] + 0.0, items[:stop], len(items[stop:])


def a_row_that_is_rolled(q, k):
    for _ in range(k):
        q[1] = np.roll(q[1], 1)
    return q


def a_list_with_one_more_on_one_path(x, k):
    """Which lists are arrays is asked of all that a list may be."""
    row = [v * 1.5 for v in x]
    for _ in range(k):
        if len(row) > 0 and row[0] > 0.1:
            more = []
            for j in range(len(row) + 1):
                more.append(0.1 * j)
            more.append(row[0])
            row = more
    total = 0.0
    for v in row:
        total += v
    return total, len(row)


def a_table_of_lists(x, n):
    """Items of lists inside a list are read where these are, also on ways of which some are not taken."""
    before = [[0.0] * (n + 1) for _ in range(n + 1)]
    for _ in range(3):
        now = [[0.0] * (n + 1) for _ in range(n + 1)]
        for i in range(n):
            for e in range(n + 1):
                c = 0.5 * (before[i + 1][e] + before[i][e]) + x[i % len(x)]
                if e > 0:
                    c = max(c, x[i % len(x)] + before[i][e - 1])
                now[i][e] = c
        before = now
    return before[0][n], before[n][0]


def a_test_that_stops_one_way_alone(x, c):
    """What stops a loop on one way is known in each trip that goes it; on others the same test says nothing of it."""
    total = 0.5
    for i in range(len(x)):
        if c < 0.5:
            total = c * x[i]
        elif x[i] > 0.4:
            if c < 0.5:
                return 0.0
    return total + np.sum(x) * c


def scaled_where_large_twice(m, k):
    """What one loop makes of an array is read in it, too, before the next makes that anew."""
    total = 0.0
    a = m[:, :1] + 0.5
    for _ in range(k):
        a[a > 0.9] *= 0.3
        total += np.sum(a.max(axis=1, keepdims=True) ** 2)
        a[a > 0.2] *= 0.3
    return total


def a_constant_in_columns_backwards(m, a):
    """What a row is copied to is stored into: it is not read where it was copied from."""
    b = m.copy()
    b[:, ::-1] = a
    return np.sum(np.sin(m - np.mean(b, axis=0, keepdims=True)))


def edges_in_turns(u, k):
    """What a trip copies the edges of is what the trip before made, or what the caller gave."""
    before, first = u.copy(), u
    for j in range(k):
        after = u.copy()
        after[1:-1] = 1.9 * u[1:-1] - 0.9 * before[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        before = u
        u = after
        if j == 1:
            u[0] = 0.5
    return np.sum(u * before) + np.sum(first)


def edges_of_a_table_in_turns(q, k):
    kept = q
    for _ in range(k):
        new = q.copy()
        new[1:-1, 1:-1] = 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2])
        q = new
    return q, np.sum(kept)


def edges_of_arrays_of_each_other(x, y, k):
    for _ in range(k):
        new = y.copy()
        new[1:-1] = x[1:-1] * 0.5 + y[2:] - y[:-2]
        other = x.copy()
        other[2:-2] = new[2:-2] - 0.25 * x[2:-2]
        x, y = new, other
    return x + y


def arrays_of_a_list_that_is_made_of_them(x, k):
    """What a list is made of is changed later in the same memory: the list has a copy."""
    v = x * 1.5
    rows = [v, x]
    t = 0
    while t < k:
        v = v * 0.5
        rows.append(v[:])
        t += 1
    for t in range(len(rows) - 1, -1, -1):
        v = rows[t] + 0.5 * v
    return np.sum(v)
