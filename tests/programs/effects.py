# ruff: noqa: UP031, B028, B007 (old ways of formatting are what is tested)
"""Programs that print, raise and assert with messages made at run time."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np


class NotConverged(ArithmeticError):
    """An exception with attributes of its own."""

    def __init__(self, steps, residual):
        super().__init__(f"no convergence after {steps} steps, residual {residual:.3e}")
        self.steps = steps
        self.residual = residual


def newton_with_report(a, n):
    """Prints a table as it goes."""
    x = a
    print("step", "x", "residual", sep="\t")
    for k in range(n):
        r = x * x - 2.0
        print(f"{k:4d}\t{x:.12f}\t{r:+.3e}")
        x = x - r / (2.0 * x)
    print("result:", x, x > 1.0, n, None, (a, n), [x], sep=" | ", end=" |\n")
    return x


def converges_or_raises(a, n):
    """An exception class of the user's, with its own constructor."""
    x = a
    for k in range(n):
        x = 0.5 * (x + 2.0 / x)
        if abs(x * x - 2.0) < 1e-9:
            return x
    raise NotConverged(n, abs(x * x - 2.0))


def message_of_many_kinds(a, k, j, af, ad):
    """Python's numbers and NumPy's, in all their ways of being written."""
    print(a, k, j, af, ad, a * 1j, np.bool_(a > 0), np.int8(k))
    print((a, k, j, af, ad), [a], (af,))
    print(f"{a!r} {j!r} {af!r} {ad!r} {k!s} {a!r:>12} {af:.4f} {j:03d} {a:%} {k:x} {a=} {j=:4d}")
    print(f"[{a > 0!s:>6}] [{k!s:6}] [{j!s:^9}] [{a!s:.2}] [{ad!s:>30}]", "[{!s:{}}]".replace("6", "").format(k, 6))
    print("%s %r %d %5.2f %e %g %%" % (a, af, j, ad, a, k))
    print("{} {1:.2f}".replace("1", "").format(a, ad), "{x:>{w}}".format(x=k, w=6), repr(ad), str(af), format(a, ".1e"))
    return a * ad


def special_floats(a):
    """Floats are written as Python writes them."""
    big, tiny, inf = a * 1e300, a * 1e-300, a * 1e308 * 10.0
    print(big, tiny, inf, inf - inf, -0.0 * a, 0.1 + 0.2, 1e16 * a, 1e22, 123456789.123456789 * a, a / 3.0)
    print(1.0, 100.0, 1e15, 1e16, 5e-324, 1.7976931348623157e308)
    return a


def arrays_printed(x, m, xi):
    """Arrays are written as NumPy writes them, as they are at that moment."""
    print(x, m, xi, sep="\n")
    if len(x) > 0:
        x[0] = 9.0
    print("after:", x)
    print(x[1:], x.shape, len(x), m.T)
    return x


def checked_arguments(x, k):
    """Messages with shapes and values."""
    if len(x) < k:
        raise ValueError(f"need at least {k} points, got an array of shape {x.shape}")
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0.25:
            raise ValueError("x[%d] = %.3f is too small (%s)" % (i, x[i], "limit 0.25"))
        total += math.log(x[i])
    return total


def asserted_with_numbers(x, tol):
    """The message of an assert is made only where it fails."""
    s = 0.0
    for i in range(len(x)):
        assert x[i] < 1.4, f"x[{i}] is {x[i]!r}, sum so far {s:.2f}"
        s += x[i]
    assert s > tol, ("sum", len(x), (tol, None))
    return s


def raises_of_several_kinds(k, n):
    """Exceptions without a message, with several arguments, with what is no text."""
    if n == 0:
        raise KeyError
    if n == 1:
        raise IndexError("index", n, (k, None))
    if n == 2:
        raise ValueError(n)
    print("braces { } and percent %", "{}")
    raise RuntimeError("a brace { and %s " + str(n)) from None


def prints_before_it_fails(x, n):
    """What was printed before an exception has been written."""
    for i in range(n):
        print("reading", i)
        print("got", x[i + 1])
    return n


def prints_in_branches(a, n):
    """Effects in branches, in a while, and in a function that is called."""

    def report(k, v):
        print(f"[{k}]", n > 2, v)

    k = 0
    while k < n:
        if k % 2 == 0:
            report(k, a)
        else:
            print("odd", end="; ", flush=True)
            a = a * 0.5
        k += 1
    print("oops", file=sys.stderr)
    return a


def text_put_together(a, k):
    """Text in variables: added, repeated, joined, with methods of known strings."""
    line = "-" * 10
    head = f"{'name':<8}|{'value':>10}"
    row = f"{'a':<8}|{a:>10.4f}"
    row += " " + str(k)
    print(line, head.upper(), row, ", ".join(["x", str(a), f"{k}"]), sep="\n")
    return a


def options_by_name(x, a):
    """Strings that are known when compiling, as options."""
    mode = "same"
    if mode == "same" and mode in ("same", "valid") and mode.startswith("s") and "am" in mode:
        y = x * a
    else:
        y = x / a
    return y


def warns(a):
    """A warning is issued from the user's line."""
    if a > 0.5:
        warnings.warn(f"a is large: {a}", RuntimeWarning)
    return a * a


def message_of_what_a_loop_found(x):
    """What a `raise` reads is needed after the loop."""
    most = 0.5
    for v in x:
        if v > most:
            most = v
    raise ValueError(f"the most is {most}")


def endings_chosen(k, n):
    """What stands between and after what is printed is chosen at run time."""
    mark = ", " if k > 1 else ";"
    for i in range(n):
        print(i, k, sep=mark, end="\n" if i % 2 else " / ")
    print("done", n, sep=None if n > 1 else mark, end=("!" if n > 2 else "?"))
    return k


def words_chosen(a, n):
    """Text chosen at run time is printed, given to a warning, and raised."""
    name = "odd"
    for i in range(n):
        name = "even" if i % 2 == 0 else "odd"
        print(name, i, name, flush=True)
    warnings.warn(name)
    if n > 1:
        raise ValueError(name, n)
    assert n == 0, "one" if a > 0.5 else "other"
    return a


def missing_keys(k):
    """The KeyError has the key itself, as it was written."""
    table = {"a": 1.0, (1, "b"): 2.0, 3: 3.0}
    if k < 2:
        return table["{b}"]
    if k < 3:
        return table.pop((1, "c"))
    return table[4]


def too_large_for_a_dtype(k):
    """The number that does not fit is named."""
    out = np.zeros(2, np.uint8)
    out[0] = k * 100
    return out


def too_large_to_fill(k, n):
    """Nor does a whole array hold it, however it is made or changed."""
    if n < 1:
        return np.full_like(np.full(2, k, np.int8), k * 200)
    if n < 2:
        return np.array([k, k * 200], np.int8)
    out = np.zeros(2, np.int8)
    out += k * 100
    return out


def too_large_to_fill_in(k, n):
    """A number that does not fit, given to `fill`; floats are cast by `np.full` only."""
    out = np.full(3, k * 100.7, np.int16)
    print(out)
    if n < 1:
        return np.array([k * 30000, k], dtype=np.int16)
    out.fill(k * 100000)
    return out


def too_large_for_a_range(k, n):
    """The first two numbers must fit, the others wrap."""
    if n < 1:
        return np.arange(k * 100, k * 100 + 2, dtype=np.int8)
    if n < 2:
        return np.arange(126, 130, dtype=np.int8)
    return np.arange(k * 127, k * 127 + 2, dtype=np.int8)


def too_large_to_put(k, n):
    xs = np.zeros((2, 2), np.int8)
    if n < 1:
        np.put(xs, [0, -1], k * 100)
    elif n < 2:
        np.place(xs, xs == 0, [k, k * 100])
    elif n < 3:
        np.putmask(xs, xs == 0, k * 100)
    else:
        np.fill_diagonal(xs, k * 100)
    return xs


def filled_with_an_array(x, n):
    """A row repeated; a column repeated; the values as they are."""
    rows = np.full((2, len(x)), x * n)
    columns = np.full((len(x), 3), np.sum(x) * np.ones((len(x), 1)))
    return rows, columns, np.full_like(x, x + 1.0), np.full((2, 1), 1, np.int8)
