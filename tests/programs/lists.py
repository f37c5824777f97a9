"""Lists that grow, shrink and change; comprehensions."""

import numpy as np


def trajectory(a, n, h):
    """Points recorded one by one."""
    points = [a]
    for _ in range(n):
        points.append(points[-1] - h * points[-1] ** 2)
    return np.array(points)


def newton_history(a, tol):
    history = [a]
    while abs(history[-1] ** 2 - 2.0) > tol:
        history.append(0.5 * (history[-1] + 2.0 / history[-1]))
    return history, len(history)


def postorder(n):
    """A stack of integers."""
    stack = [n]
    total = 0
    while stack:
        k = stack.pop()
        total += k
        if k > 1:
            stack.append(k - 1)
            stack.append(k - 2)
    return total


def sieve(n):
    prime = [True] * (n * 9 + 2)
    prime[0] = prime[1] = False
    i = 2
    while i * i < len(prime):
        if prime[i]:
            for j in range(i * i, len(prime), i):
                prime[j] = False
        i += 1
    found = []
    for i in range(len(prime)):
        if prime[i]:
            found.append(i)
    return found


def prime_factors(n):
    n = 360 * n + 1
    factors = []
    d = 2
    while n > 1:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
    return factors


def breadth_first(n):
    """A list that is a new one on each trip."""
    frontier = [0]
    order = []
    while frontier:
        following = []
        for u in frontier:
            order.append(u)
            if 2 * u + 1 < n * 3:
                following.append(2 * u + 1)
            if 2 * u + 2 < n * 3:
                following.append(2 * u + 2)
        frontier = following
    return order


def same_list_twice(x):
    xs = [v for v in x]
    ys = xs
    ys.append(3.0)
    xs.insert(1, 2.5)
    return len(xs), len(ys), ys is xs, ys[1]


def changed_in_a_callee(a, n):
    def record(log, value):
        log.append(value)
        log[0] = value

    log = [a]
    for k in range(n):
        record(log, a * k)
    return log


def every_method(n):
    xs = [3, 1, 2] * n + [5]
    xs.extend([7, 8])
    xs += [9]
    xs.insert(-1, 4)
    xs.reverse()
    xs.sort()
    first = xs.pop(0)
    xs.remove(8)
    ys = xs.copy()
    ys.clear()
    del xs[-1]
    return xs, ys, first, xs.index(5), xs.count(3), 7 in xs, 6 not in xs, xs == ys, xs != [1]


def slices(n):
    xs = list(range(n + 3))
    xs[1:3] = [7, 8, 9]
    ys = xs[::-1]
    del ys[0:2]
    return xs, ys, xs[-3:], xs[:2] + ys, xs * 2, xs[n]


def known_items(a, b):
    xs = [a, 1.0, b]
    xs[0] = b
    xs[-1] *= 2.0
    xs.append(3.0)
    first, *rest = xs
    return xs, first, rest, sum(xs), max(xs)


def pop_of_an_empty_list(n):
    xs = [1.0]
    for _ in range(n):
        xs.pop()
    return xs


def item_outside(x, k):
    xs = list(x)
    return xs[k]


def store_outside(x, k):
    xs = list(x)
    xs[-k] = 1.0
    return sum(xs)


def missing_value(x):
    xs = list(x)
    xs.remove(99.0)
    return xs


def joined_lengths(x, a):
    xs = [a]
    if np.sum(x) > 2.0:
        xs.append(2.0 * a)
    xs.append(a)
    return xs, len(xs)


def pairs(x):
    """Items that are tuples of numbers."""
    found = []
    for k, v in enumerate(x):
        if v > 0.5:
            found.append((k, v))
    total = 0.0
    for k, v in found:
        total += k * v
    return found, total, len(found)


def run_lengths(n):
    """Run-length encoding."""
    data = [k * k % 3 for k in range(n * 3)]
    runs = []
    k = 0
    while k < len(data):
        j = k
        while j < len(data) and data[j] == data[k]:
            j += 1
        runs.append((data[k], j - k))
        k = j
    return runs


def squares(x):
    return [v * v for v in x], np.array([2.0 * v for v in x])


def filtered(n):
    return [i * j for i in range(n) for j in range(i) if (i + j) % 2]


def over_generators(x):
    return any(v > 1.0 for v in x), all(v > 0 for v in x), sum((v * v for v in x), 0.0), sorted(-v for v in x)


def own_targets(x):
    v = 3.0
    xs = [v for v in x]
    return v, len(xs), [k for k in range(3)], sum((a * b for a, b in zip(x, xs, strict=False)), start=0.0)


def unpacked_comprehension(a, b):
    p, q, r = [2.0 * v for v in (a, b, 1)]
    return p + q * r, tuple(i * a for i in range(4))


def extremes_by_key(x, c):
    xs = [v + c for v in x]
    return min(xs, key=lambda v: abs(v - 0.3)), sorted(xs, key=lambda v: -v), max([3, 1, 2]), max(xs)


def moving_window(x, k):
    window = []
    means = []
    for v in x:
        window.append(v)
        if len(window) > k:
            window.pop(0)
        means.append(sum(window) / len(window))
    return np.array(means)


def horner(a):
    coefficients = [1.0, -2.0, 0.5, 3.0]
    value = 0.0
    for i in range(len(coefficients)):
        value = value * a + coefficients[len(coefficients) - 1 - i]
    return value


def merge_sort(x):
    def merged(left, right):
        out = []
        i = j = 0
        while i < len(left) and j < len(right):
            if left[i] <= right[j]:
                out.append(left[i])
                i += 1
            else:
                out.append(right[j])
                j += 1
        return out + left[i:] + right[j:]

    runs = sorted(x)
    return merged([v for v in x], [v + 0.1 for v in runs])


def bisect(x, a):
    xs = sorted(x)
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) // 2
        if xs[middle] < a:
            low = middle + 1
        else:
            high = middle
    xs.insert(low, a)
    return xs, low


def stack_of_numbers(a, n):
    """What is pushed is popped again in the reverse sweep, and the other way round."""
    stack = [a, 2.0 * a]
    total = 0.0
    for _ in range(n):
        x = stack.pop()
        total += x * x
        stack.append(x * a)
        stack.append(a)
        stack[0] = stack[0] * x
    return total + sum(stack)


def sorted_weights(x, a):
    xs = [v * a for v in x if v > 0.5]
    xs.sort()
    y = np.array(xs)
    return np.sum(y * np.arange(len(y))), xs


def iterates(a, tol):
    steps = []
    while a > tol:
        steps.append(a)
        a = 0.5 * a * a
    return sum(v * v for v in steps)


def list_statistics(items):
    return sum(items) + 1.0, len(items), np.sum(np.array(items)), [2.0 * v for v in items]


def arrays_on_a_stack(x, n):
    """What is taken from a list is nobody else's; a copy put there does not see what becomes of the array."""
    waiting, seen = [x.copy()], []
    y = x * 2.0
    while len(waiting) > 0 and len(seen) < n:
        v = waiting.pop()
        v[0] += 1.0
        y[0] = v[0]
        seen.append(y.copy())
        if v[0] < 3.0:
            waiting.append(v + 1.0)
            waiting.append(v * 1.5)
    return [np.sum(v) > 3.0 for v in seen], np.argmax(y)


def every_other_stored(n, items):
    """Slices with a step are stored into item by item; they have to fit."""
    prime = [True] * (10 * n + 3)
    prime[0] = prime[1] = False
    for i in range(2, 4 + n):
        if prime[i]:
            prime[i * i :: i] = [False] * len(prime[i * i :: i])
    back = items[:]
    back[::-2] = [float(k) for k in range((len(items) + 1) // 2)]
    if n > 4:
        back[::2] = [0.0] * n
    return [k for k, p in enumerate(prime) if p], back


def longest_common_part(xi, n):
    """A table of a dynamic program."""
    table = [[0] * (n + 1) for _ in range(len(xi) + 1)]
    for i in range(1, len(xi) + 1):
        for j in range(1, n + 1):
            if xi[i - 1] == j:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[-1][n], table, len(table), len(table[0])


def _row_doubled(row):
    for j in range(len(row)):
        row[j] *= 2.0


def lists_inside(x, n):
    """A list inside a list is that very list: as a name, in a loop, and in a function."""
    table = [[i + j * 0.5 for j in range(3)] for i in range(n)]
    if n == 0:
        table[0][0] = 1.0
    first = table[0]
    first[1] = x[0]
    for row in table:
        row[2] += 1.0
    _row_doubled(table[n - 1])
    copies = [row[:] for row in table]
    copies[0][0] = -1.0
    table[0], table[-1] = table[-1], table[0]
    table[n // 2] = [x[0], 2.0, 3.0]
    columns = [[row[j] for row in table] for j in range(3)]
    return table, sum(sum(row) for row in columns), table[0], table == copies, np.array(table), max(table[0])


def table_of_floats(x, n):
    """Integers until the first float is stored; None until a number is."""
    table = [[0] * n for _ in range(len(x))]
    seen = [[False] * n for _ in range(3)]
    best = [None] * len(x)
    for i in range(len(x)):
        for j in range(n):
            table[i][j] += x[i] * j
            seen[i % 3][j] = not seen[i % 3][j]
            if best[i] is None or table[i][j] > best[i]:
                best[i] = table[i][j]
    m = [[x[0], 2.0], [3.0, x[-1]]] if len(x) > 0 else [[1.0, 2.0], [3.0, 4.0]]
    for k in range(n):
        m[k % 2][1] += m[0][k % 2]
    return table, seen, best, m, float(sum(sum(row) for row in table))


def cube_of_lists(n):
    cube = [[[0] * 2 for _ in range(n)] for _ in range(3)]
    for i in range(3):
        for j in range(n):
            for k in range(2):
                cube[i][j][k] = 100 * i + 10 * j + k
    return cube, cube[n % 3], [len(plane) for plane in cube]


def numbers_of_matrix(m):
    rows = m.tolist()
    rows[0][0] = 5.0
    return rows, rows[-1], sum(rows[0])


def remembered(n):
    """What is computed once is found again."""
    memory = [None] * (n + 1)
    computed = 0
    for k in (n, n // 2, n, n // 3):
        if memory[k] is None:
            memory[k] = k * k
            computed += 1
    return memory, computed


def changed_argument(items, a):
    items.append(a)
    items[0] = 2.0 * items[-1]
    return len(items)


def returned_argument(items, a):
    items.insert(0, a)
    return items


def unpacked_argument(items, a):
    p, q, r, s, t = items
    return (p * a + q) * a + r - s * t


def sorted_argument(counts):
    counts.sort()
    for k in range(len(counts)):
        counts[k] *= 2
    return counts[::2]


def points_on_a_line(points, a):
    total = 0.0
    for k, v in points:
        total += k * v * a
    points.append((len(points), a))
    return total


def recorded(x):
    def record(v, log=None):
        if log is None:
            log = []
        log.append(v * v)
        return log

    log = []
    for v in x:
        record(v, log)
    return log, record(2.0)


def grows_while_looped_over(x):
    xs = [v for v in x]
    for v in xs:
        if len(xs) < 9:
            xs.append(v + 1.0)
    return xs


def shrinks_while_looped_over(n):
    xs = list(range(n))
    total = 0
    for v in xs:
        total += v
        if v % 2:
            xs.remove(v)
        if v > 3:
            break
    return xs, total


def changes_items_while_looped_over(x):
    xs = []
    for v in x:
        xs.append(v)
    for k, v in enumerate(xs):
        xs[k] = 2.0 * v
    for v in xs:
        xs[0] += v
    return xs


def starred_array(x):
    first, *rest = x
    return sum(r * first for r in rest), rest


def starred_between(x):
    first, *between, last = x
    return first + last, len(between)


def starred_list(n):
    found = [k * k for k in range(n)]
    *head, last = found
    return head, last


def slices_of_ranges(x, n):
    total = 0.0
    for i in range(len(x))[1:n]:
        total += x[i] * i
    turned = range(3, 40, 4)[::-1]
    return total, turned[0], list(range(n)[-3:]), range(20)[n:2:-3].stop, len(turned)


def unpacked_where_it_fits(x, a):
    if a > 2.0:
        a, b = x
        return a * b
    return a + len(x)


def monotone_stack(x):
    """In a test only truths matter: of a list whether it has items."""
    stack = [3.0]
    for v in x:
        while stack and stack[-1] > v:
            stack.pop()
        stack.append(v)
    if not stack or (len(x) > 3 and stack):
        return stack[0]
    return len(stack) * 1.0


def edit_distance(xi, counts):
    """Two rows of a table, as lists that are swapped."""
    prev = list(range(len(counts) + 1))
    cur = [0] * (len(counts) + 1)
    for i in range(1, len(xi) + 1):
        cur[0] = i
        for j in range(1, len(counts) + 1):
            cost = 0 if xi[i - 1] == counts[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev, cur = cur, prev
    return prev[len(counts)]


def warped(x, y):
    """Dynamic time warping."""
    old = [1e9] * (len(y) + 1)
    old[0] = 0.0
    new = [0.0] * (len(y) + 1)
    for v in x:
        new[0] = 1e9
        for j, w in enumerate(y):
            new[j + 1] = (v - w) ** 2 + min(old[j], old[j + 1], new[j])
        old, new = new, old
    return old[-1]


def binomials_swapped(n):
    row = [1]
    following = []
    for _ in range(n):
        following.append(1)
        for j in range(len(row) - 1):
            following.append(row[j] + row[j + 1])
        following.append(1)
        row = following
        following = []
    return row, following


def probabilities(n, a):
    """The leaves of a tree, level by level."""
    leaves = [1.0]
    deeper = []
    for _ in range(n):
        deeper.clear()
        for v in leaves:
            deeper.append(v * a)
            deeper.append(v * (1 - a * a))
        leaves, deeper = deeper, leaves
    total = 0.0
    for v in leaves:
        total += v * v
    return total, len(deeper)


def rotated_under_condition(n, a):
    p, q, r = [a], [2.0], [3.0 * a]
    for i in range(n):
        if i % 2:
            p, q, r = q, r, p
        p.append(r[0] * q[-1])
    return p, q, r


def lists_of_lists_swapped(n, a):
    first = {"x": [a]}
    second = {"x": [2.0]}
    for i in range(n):
        first["x"].append(i * a)
        first, second = second, first
    return first["x"], second["x"]


def appended_to_the_one_before(n, a):
    """The last list is replaced by one that nothing was appended to."""
    current = [a]
    last = []
    for i in range(n):
        current.append(a * i)
        last = current
        current = []
    last.append(a)
    return last, len(current)


def kernel_matrix(x, y):
    points = list(x)
    points.append(1.0)
    kernel = np.array([[np.exp(-((v - w) ** 2)) for w in points] for v in points])
    return kernel @ np.ones(len(points)) * y.sum()


def tables(n, k):
    table = np.array([[i * j for j in range(k)] for i in range(n + 1)])
    pairs = np.array([[i, 0.5 * i] for i in range(n + 2)])
    zeros = np.zeros((n + 1, k)) + np.array([[0.0] * k for _ in range(n + 1)], dtype=np.float32)
    inside = np.array([[v * j for j in range(k) if j != 1] for v in [2.0, 3.0 * n] if v > 0.5])
    return table, pairs, zeros, inside


def rows_of_different_lengths(n):
    return np.array([[i for i in range(k + 1)] for k in range(n + 1)])


def popped_in_the_test(n):
    waiting = [1, 5, 2, 8, n]
    seen = []
    while waiting.pop() > n:
        seen.append(len(waiting))
        if len(seen) > 3:
            break
    return waiting, seen


def popped_until_empty(n, a):
    waiting = [5.0, 4.0, 3.0 * a, 2.0 * a]
    total = 0.0
    for i in range(n):
        while waiting.pop() > i:
            total += waiting[-1] * i
    return total, waiting


def changed_in_the_test(x, n):
    def step():
        nonlocal n
        n -= 1
        return n

    total = 0.0
    while step() > 0:
        if n == 2:
            continue
        total += n * x.sum()
    else:
        total += 1.0
    return total


def ranges_compared(n, k):
    return (
        range(n) == range(k),
        range(3) == range(0, 3, 1),
        range(n) != range(0, n, 2),
        range(0, n, 5) == range(0, n, 7),
    )


def numbers_stacked(a, n, x):
    rows = np.vstack((a, 2.0)), np.column_stack([a, 1]), np.hstack((1, n)), np.stack([1, n], axis=-1)
    return np.stack([a, 1]), np.hstack([a, x, 2.0]), rows


def arrays_kept_and_read(x, n):
    kept = []
    for t in range(n):
        kept.append(x * (t + 1.0))
    total = 0.0
    for t in range(n):
        total += np.sum(np.sin(kept[t])) * np.sum(kept[n - 1 - t])
    return total


def arrays_popped(x, n):
    rest = [x * 1.0]
    for t in range(n):
        rest.append(np.sin(rest[t]) * x.mean())
    total = 0.0
    while len(rest) > 1:
        y = rest.pop()
        total = total * 0.5 + np.sum(y * y)
    return total


def arrays_replaced(x, n):
    two = [x * 1.0, x * x]
    for t in range(n):
        two[t % 2] = two[1 - t % 2] * x.mean()
    return np.sum(two[0]) + np.sum(two[1] ** 2)


def calculator(x, n):
    """Numbers are taken from a stack, and what is computed of them is put back."""
    stack = []
    for k in range(n):
        if k % 3 == 0 or len(stack) < 2:
            stack.append(np.sum(x) * 0.1 + k)
        else:
            b = stack.pop()
            a = stack.pop()
            stack.append(a * b if k % 2 else np.sin(a) - b)
    total = 0.0
    while stack:
        total = 0.5 * total + stack.pop()
    return total


def calculator_of_arrays(x, n):
    stack = []
    for k in range(n):
        if k % 2 == 0 or len(stack) < 2:
            stack.append(x + k)
        else:
            b = stack.pop()
            stack.append(stack.pop() * b - x)
    total = 0.0
    while stack:
        total += np.sum(stack.pop())
    return total


def to_and_fro(a, n):
    """Two lists, each filled from the other."""
    left, right = [], []
    left.append(a)
    for k in range(n):
        while left:
            right.append(left.pop() * 0.5)
        right.append(a + k)
        while right:
            left.append(np.cos(right.pop()))
    return sum(left) + 0.0, len(left)
