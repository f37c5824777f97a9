"""What lists can do, in Python: compiled with the functions that use it, as if written there.

Errors raised here are shown at the user's call.
"""

from __future__ import annotations

import sys

import numpy as np

from srcgraph.frontend.arithmetic import first_and_length, length_of_range


def extend(xs, more):
    for k in range(len(more)):
        xs.append(more[k])


def extend_from(xs, more):
    for item in more:
        xs.append(item)


def remove(xs, value):
    n = len(xs)
    at = n
    for k in range(n):
        if xs[k] == value:
            at = k
            break
    if at == n:
        raise ValueError("list.remove(x): x not in list")
    for k in range(at, n - 1):
        xs[k] = xs[k + 1]
    xs.pop()


def index(xs, value, start, stop):
    n = len(xs)
    first = max(start + n, 0) if start < 0 else start
    last = n if stop is None else max(stop + n, 0) if stop < 0 else min(stop, n)
    for k in range(first, last):
        if xs[k] == value:
            return k
    raise ValueError("list.index(x): x not in list")


def count(xs, value):
    found = 0
    for k in range(len(xs)):
        if xs[k] == value:
            found += 1
    return found


def contains(xs, value):
    for k in range(len(xs)):
        if xs[k] == value:
            return True
    return False


def equal(xs, ys):
    if len(xs) != len(ys):
        return False
    for k in range(len(xs)):
        if xs[k] != ys[k]:
            return False
    return True


def reverse(xs):
    n = len(xs)
    for k in range(n // 2):
        xs[k], xs[n - 1 - k] = xs[n - 1 - k], xs[k]


def repeat(xs, times):
    out = []
    n = len(xs)
    if n > 0:
        if times > 2**40 // n:  # no machine has as much memory
            raise MemoryError
        for _ in range(times):
            for k in range(n):
                out.append(xs[k])
    return out


def store_slice(xs, start, stop, new):
    n = len(xs)
    first = 0 if start is None else max(start + n, 0) if start < 0 else min(start, n)
    last = n if stop is None else max(stop + n, 0) if stop < 0 else min(stop, n)
    last = max(first, last)
    rest = xs[last:]
    for _ in range(first, n):
        xs.pop()
    for k in range(len(new)):
        xs.append(new[k])
    for k in range(len(rest)):
        xs.append(rest[k])


def store_stepped(xs, start, stop, step, new):
    if step == 0:
        raise ValueError("slice step cannot be zero")
    first, count = first_and_length(start, stop, step, len(xs))
    if len(new) != count:
        if step == 1:
            raise NotImplementedError("a slice whose step turns out to be 1 cannot change the length of a list")
        raise ValueError(f"attempt to assign sequence of size {len(new)} to extended slice of size {count}")
    for k in range(count):
        xs[first + k * step] = new[k]


def put_in_order(xs, order):
    old = xs[:]
    for k in range(len(xs)):
        xs[k] = old[order[k]]


def check_ordered(xs):
    """What Python's sort makes of items that have no order depends on which ones it compares."""
    if len(xs) > 1:
        for item in xs:
            if item != item:
                raise NotImplementedError("sorting items that are NaN is not supported")


def sort(xs, reverse):
    """Merge runs of twice the length each time; equal items keep their order."""
    n = len(xs)
    width = 1
    while width < n:
        old = xs[:]
        for left in range(0, n, 2 * width):
            middle = min(left + width, n)
            right = min(left + 2 * width, n)
            i = left
            j = middle
            for k in range(left, right):
                if i >= middle:
                    take = True
                elif j >= right:
                    take = False
                elif reverse:
                    take = old[i] < old[j]
                else:
                    take = old[j] < old[i]
                if take:
                    xs[k] = old[j]
                    j += 1
                else:
                    xs[k] = old[i]
                    i += 1
        width *= 2


def keys_of(xs, key):
    return [key(item) for item in xs]


def sort_numbers(xs, keys, reverse):
    """``keys`` are numbers; equal ones keep their order, backwards too."""
    numbers = np.array(keys)
    if reverse:
        put_in_order(xs, len(xs) - 1 - np.argsort(numbers[::-1], kind="stable")[::-1])
    else:
        put_in_order(xs, np.argsort(numbers, kind="stable"))


def sort_by(xs, keys, reverse):
    order = [k for k in range(len(xs))]
    n = len(xs)
    width = 1
    while width < n:
        old = order[:]
        for left in range(0, n, 2 * width):
            middle = min(left + width, n)
            right = min(left + 2 * width, n)
            i = left
            j = middle
            for k in range(left, right):
                if i >= middle:
                    take = True
                elif j >= right:
                    take = False
                elif reverse:
                    take = keys[old[i]] < keys[old[j]]
                else:
                    take = keys[old[j]] < keys[old[i]]
                if take:
                    order[k] = old[j]
                    j += 1
                else:
                    order[k] = old[i]
                    i += 1
        width *= 2
    put_in_order(xs, order)


def check_bounds(start, stop):
    if stop is not None and stop == -1:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if start < 0 or (stop is not None and stop < 0):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")


def first(xs):
    for x in xs:
        return x
    raise StopIteration


def first_or(xs, default):
    for x in xs:
        return x
    return default


def total(xs, start):
    out = start
    for x in xs:
        out = out + x
    return out


def chosen_ones(test, xs):
    return [x for x in xs if test(x)]


def true_ones(xs):
    return [x for x in xs if x]


def nothing():
    return None


def rest_of(xs, before, after):
    """The items that a starred name takes."""
    if len(xs) < before + after:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(xs)})")
    return [xs[k] for k in range(before, len(xs) - after)]


def item_of(base, index):
    return base[index]


def item_at(index, base):
    return base[index]


def attribute_of(name, base):
    return getattr(base, name)


def set_item(base, index, value):
    base[index] = value


def is_in(base, item):
    return item in base


def negative(x):
    return -x


def positive(x):
    return +x


def inverted(x):
    return ~x


def absolute(x):
    return abs(x)


def numbers_of(xs, kind):
    return [kind(x) for x in xs]


def least_or(xs, default):
    return least(xs) if len(xs) > 0 else default


def greatest_or(xs, default):
    return greatest(xs) if len(xs) > 0 else default


def least_by_or(xs, key, default):
    return least_by(xs, key) if len(xs) > 0 else default


def greatest_by_or(xs, key, default):
    return greatest_by(xs, key) if len(xs) > 0 else default


_EMPTY = "iterable argument is empty" if sys.version_info >= (3, 12) else "arg is an empty sequence"
NO_LEAST, NO_GREATEST = f"min() {_EMPTY}", f"max() {_EMPTY}"


def least(xs):
    n = len(xs)
    if n == 0:
        raise ValueError(NO_LEAST)
    best = xs[0]
    for k in range(1, n):
        if xs[k] < best:
            best = xs[k]
    return best


def greatest(xs):
    n = len(xs)
    if n == 0:
        raise ValueError(NO_GREATEST)
    best = xs[0]
    for k in range(1, n):
        if xs[k] > best:
            best = xs[k]
    return best


def least_by(xs, key):
    n = len(xs)
    if n == 0:
        raise ValueError(NO_LEAST)
    best = xs[0]
    least = key(best)
    for k in range(1, n):
        value = key(xs[k])
        if value < least:
            best = xs[k]
            least = value
    return best


def greatest_by(xs, key):
    n = len(xs)
    if n == 0:
        raise ValueError(NO_GREATEST)
    best = xs[0]
    greatest = key(best)
    for k in range(1, n):
        value = key(xs[k])
        if value > greatest:
            best = xs[k]
            greatest = value
    return best


def some(xs):
    for x in xs:
        if x:
            return True
    return False


def every(xs):
    for x in xs:
        if not x:
            return False
    return True


def reduce(function, items):
    if len(items) == 0:
        raise TypeError("reduce() of empty iterable with no initial value")
    out = items[0]
    for k in range(1, len(items)):
        out = function(out, items[k])
    return out


def reduce_from(function, items, start):
    out = start
    for item in items:
        out = function(out, item)
    return out


def accumulate(function, items):
    out = []
    for k in range(len(items)):
        out.append(items[k] if k == 0 else function(out[k - 1], items[k]))
    return out


def accumulate_from(function, items, start):
    out = [start]
    for item in items:
        out.append(function(out[len(out) - 1], item))
    return out


def reduceat(combine, x, indices):
    n = len(indices)
    for k in range(n):
        if indices[k] < 0 or indices[k] >= len(x):
            raise IndexError("index out-of-bounds in reduceat")
    out = combine.reduce(x[:1]) + np.zeros(n, x.dtype)
    for k in range(n):
        start = indices[k]
        stop = indices[k + 1] if k + 1 < n else len(x)
        out[k] = combine.reduce(x[start : max(stop, start + 1)])
    return out


def zeros_like(x):
    return np.zeros_like(np.asarray(x))


def piece(x, y, where, value):
    """What `numpy.piecewise` does for one condition."""
    if callable(value):
        part = x[where]
        if len(part) > 0:
            y[where] = value(part)
    else:
        y[where] = value


def outside(rest, where):
    """The rest where another condition does not hold either."""
    return rest & ~where


def of_rows(numbers, rows, columns, even):
    """The array of a list of lists, from all numbers of these."""
    if not even:
        message = "setting an array element with a sequence. The requested array has an inhomogeneous shape after"
        raise ValueError(f"{message} 1 dimensions. The detected shape was ({rows},) + inhomogeneous part.")
    if rows == 0 or (columns == 0 and numbers.dtype != np.float64):
        raise NotImplementedError("an array of lists without a number in them is not supported: make it by np.empty")
    return numbers.reshape(rows, columns)


def trips(start, stop, step):
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    return length_of_range(start, stop, step)


# -- lists of arrays ----------------------------------------------------------------------------------


def again(xs):
    made = []
    for x in xs:
        made.append(x)
    return made


def part(xs, start, stop, step):
    first, count = first_and_length(start, stop, step, len(xs))
    made = []
    for k in range(count):
        made.append(xs[first + k * step])
    return made


def stacked(xs):
    """A new array with those of a list as its rows."""
    n = len(xs)
    if n == 0:
        raise NotImplementedError("an array of a list of arrays that turns out to be empty")
    out = np.empty((n, *xs[0].shape), xs[0].dtype)
    for k in range(n):
        x = xs[k]
        if x.shape != out.shape[1:]:
            raise ValueError(f"array {k} of a list has another shape than the first: they do not make one array")
        out[k] = x
    return out


def total_of_arrays(xs):
    if len(xs) == 0:
        raise NotImplementedError("the sum of a list of arrays that turns out to be empty: use sum(xs, start)")
    out = 0 + xs[0]
    for k in range(1, len(xs)):
        out = out + xs[k]
    return out


def check_some(xs, what):
    if len(xs) == 0:
        raise ValueError(f"need at least one array to {what}")


def joined(xs, axis):
    """The arrays of a list, of one shape but for the length of an axis, joined along that."""
    n = len(xs)
    total = 0
    for k in range(n):
        total += xs[k].shape[axis]
    sizes = xs[0].shape
    out = np.empty((*sizes[:axis], total, *sizes[axis + 1 :]), xs[0].dtype)
    rows = np.moveaxis(out, axis, 0)
    at = 0
    for k in range(n):
        x = np.moveaxis(xs[k], axis, 0)
        if x.shape[1:] != rows.shape[1:]:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
        rows[at : at + x.shape[0]] = x
        at += x.shape[0]
    return out
