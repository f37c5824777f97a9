"""Iterators: of `itertools`, of NumPy, and gone over once."""

import functools
import itertools
import math
from itertools import combinations, product

import numpy as np


def pairs_of_two(x, n):
    """A loop in a loop; what stands after the loop sees the last pair."""
    total = 0.0
    i = j = -1
    for i, j in product(range(n), range(len(x))):
        i, j = j, i
        total = 0.5 * total + x[i] * j
    return total, i, j


def stencil(q, n):
    """Few known tuples are each lowered on their own."""
    out = np.zeros_like(q)
    for _ in range(n):
        for i, j in np.ndindex(q.shape):
            for di, dj in product((-1, 0, 1), repeat=2):
                if (di != 0 or dj != 0) and 0 <= i + di < len(q) and 0 <= j + dj < len(q):
                    out[i, j] += q[i + di, j + dj]
    return out


def first_pair_above(x, a):
    """A return from inside of both loops."""
    for i, j in combinations(range(len(x)), 2):
        if x[i] * x[j] > a:
            return i, j
    return None


def left_and_continued(x, n):
    """``break`` leaves all loops of a product, ``continue`` goes on to the next tuple, ``else`` runs at the end."""
    total = 0.0
    for p, q in product(x, x):
        if p > q:
            continue
        if total > n:
            break
        total += p * q
    else:
        total = -total
    return total


def tried(x, n):
    total = 0.0
    for i, j in product(range(n), repeat=2):
        try:
            if i == 3:
                break
            total += x[i + j]
        except IndexError:
            total -= 1.0
            continue
        finally:
            total *= 1.5
        total += 0.25
    return total


def stored_into_meanwhile(x, m):
    """What is combined is read first; rows are views; a chain reads when it gets there."""
    total = 0.0
    for p, q in product(x, x):
        x[0] += 1.0
        total = 0.5 * total + p * q
    for p, q in combinations(x, 2):
        x[-1] += 1.0
        total = 0.5 * total + p * q
    for row, other in product(m, m):
        row[0] += 0.1
        total = 0.5 * total + np.sum(row * other)
    for p in itertools.chain(x, x[::-1]):
        x[0] += 1.0
        total = 0.5 * total + p
    for (i, j), v in np.ndenumerate(m):
        if i + 1 < len(m):
            m[i + 1, j] += v
    return total


def neighbours_stored_into(x):
    """The first of each pair is what was read an iteration before."""
    total = 0.0
    for k, (p, q) in enumerate(itertools.pairwise(x)):
        x[min(k + 2, len(x) - 1)] += p
        x[k + 1] = -1.0
        total = 0.5 * total + p * q
    return total


def distances(m):
    total = 0.0
    for row, other in combinations(m, 2):
        total += np.sum((row - other) ** 2)
    for (i, p), (j, q) in combinations(enumerate(m[1]), 2):
        total += (i + 2.0 * j) * p * q
    return total, sum(abs(p - q) for p, q in combinations(m[0], 2)) / math.comb(m.shape[1], 2)


def arrangements(n, a):
    total = 0.0
    for p, q, r in itertools.permutations(range(n), 3):
        total = 0.5 * total + p * a - q + r
    for order in itertools.permutations((1.0, a, 3.0)):
        total = 0.5 * total + order[0] * order[2]
    for p, q in itertools.combinations_with_replacement(range(1, n + 1), 2):
        total = 0.5 * total - p * q
    return total, list(itertools.permutations(range(3), 2)), list(product(range(2), range(n)))


def strung_together(x, items, n):
    total = 0.0
    for k, v in enumerate(itertools.chain(x, [7.0, 8.0], items)):
        if k > 2 * n:
            break
        total = 0.5 * total + v
    return total, [v for v in itertools.chain.from_iterable([x, items])], sum(itertools.chain(range(n), (1, 2)))


def counted_on(x, n):
    """Iterators without an end, left or beside others."""
    total = 0.0
    for t in itertools.count(0.5, 0.25):
        if t > n:
            break
        total += t
    for k, v, s, w in zip(itertools.count(1), x, itertools.cycle((1, -1)), itertools.repeat(2.0), strict=False):
        total = 0.5 * total + k * v * s * w
    for v in itertools.cycle(range(n)):
        total += v
        if total > 10.0 or v == n - 1:
            break
    return total, [k for k in itertools.takewhile(lambda k: k * k < 5 * n, itertools.count())]


def parts_of_iterators(x, n):
    if n > 3:
        list(itertools.islice(x, 1 - n))
    return (
        list(itertools.islice(x, n)),
        [v for v in itertools.islice(x, 1, None, 2)],
        list(itertools.islice(product(range(3), repeat=2), n, 7)),
        list(itertools.dropwhile(lambda v: v > 0.5, x)),
        list(itertools.filterfalse(lambda v: v > 0.5, x)),
        list(itertools.compress(x, x > 0.5)),
        sum(itertools.starmap(math.pow, itertools.product(x, (1, 2))), 0.5),
        [q - p for p, q in itertools.pairwise(x)],
    )


def first_of_all(x, n):
    """`next` of a generator, with a default or without."""
    place = next((i for i, v in enumerate(x) if v > 0.9), None)
    root = next(k for k in itertools.count() if k * k >= n)
    if place is None:
        place = n
    return place, root, next(((i, v) for i, v in enumerate(x) if v < 0.5), (-1, 0.0)), next(iter(x))


def none_found(x):
    try:
        return next(v for v in x if v > 99.0) + 1.0
    except StopIteration:
        return next(v for v in x if v > 0.0)


def generators_read(x, a):
    product_ = functools.reduce(lambda p, q: p * q, (v + a for v in x), 1.0)
    return (
        product_,
        sum((v * v for v in x), a),
        list(itertools.accumulate(v * a for v in x)),
        dict((k, a) for k in "ab"),
    )


def place_of_largest(x, n):
    """The bound method that does not exist for the compiler; and a list beside an array."""
    total = 0.0
    for weight, v in zip([1.0, 2.0, 3.0], x, strict=False):
        total += weight * v
    return max(range(len(x)), key=x.__getitem__), total, [c * k for c, k in zip((1, 2, 3, 4), range(n), strict=False)]


def items_stored_while_gone_over(a, n):
    """Each item is read when its turn comes: after what earlier turns have stored."""
    cells = [0] * 5
    cells[2] = 1
    for i, v in enumerate(cells):
        if v and i < 4:
            cells[i + 1] = v + 1
    xs, ys, total = [1.0, a, 2.0], [1.0, 2.0, 3.0], 0.0
    for v in reversed(xs):
        total += v
        xs[0] += 1.0
    for v, w in zip(xs, ys, strict=True):
        total += v * w
        ys[2] = total
    for v in map(lambda q: q * 2.0, xs):
        total += v
        xs[2] += 1.0
    for (i, v), w in zip(enumerate(xs), reversed(ys), strict=False):
        xs[(i + 1) % 3] = ys[(i + 2) % 3] = v * w * 0.1
    for p, q in itertools.pairwise(xs):
        xs[2] = p + q
    for _ in range(n):
        for i, v in enumerate(xs):
            xs[(i + 1) % 3] = 0.5 * v + total
    return cells, xs, ys, total


def items_stored_before_gone_over(a, n):
    xs = [1.0, a, 2.0]
    later = enumerate(xs), zip(xs, xs, strict=True), reversed(xs), map(lambda q: q * 2.0, xs)
    numbered = enumerate(xs)
    for k in range(n):
        xs[k % 3] += 1.0
    if a > 0.5:
        xs[0] = 7.0

    def stored(v):
        xs[2] = v
        return v

    grown = [float(k) for k in range(n)]
    back = reversed(grown)
    grown.append(7.0)
    return *[list(items) for items in later], [i * v for i, v in numbered], list(map(stored, xs)), list(back)


def dicts_stored_while_gone_over(a):
    d, total = {"a": a, "b": 2.0}, 0.0
    values, pairs = d.values(), d.items()
    for _, v in d.items():
        total += v
        d["b"] = total
    for v in d.values():
        total += v
        d["b"] = 9.0
    for key in d:
        d[key] *= a
    for i, (_, v) in enumerate(d.items()):
        total += i * v
        d["b"] = 1.0
    return d, sum(values), [v for _, v in pairs], [v for _, v in pairs], total, len(values), a in d.values()


def filtered_in_each_trip(x, a, n):
    """What changes between two iterators is seen by the second."""
    items, least, total = [0.5, a, 3.0], 0.4, 0.0
    d = {"p": a, "q": 2.0}
    for k in range(n):
        for v in filter(lambda q: q > least, items):
            total += v
        for w, v in zip(np.ones(2), d.values(), strict=True):
            total += w * v
        items[k % 3] += 1.0
        least += 0.1
        d["p"] += 1.0
    return total, [v for v in filter(lambda q: q > least, x)], d


def orders_of_a_range(x):
    """Of a range whose ends are known the items are, too."""
    total = 0.0
    if len(x) > 3:
        for p in itertools.permutations(range(3)):
            total += x[p[0]] * x[p[1]] - x[p[2]]
    for a, b in itertools.combinations(range(1, 4), 2):
        total += a * b
    for a, b in itertools.product(range(2), range(3, 0, -1)):
        total += a - b
    return total
