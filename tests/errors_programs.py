"""Programs with a mistake in them, as text: each becomes a file `model.py` of its own, so lines are counted from 1.

The function `f` is called with `INPUTS` by its parameters' names, unless a call says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

REFUSED: dict[str, str] = {
    "row stored into and put on a list in one loop": """
def f(x):
    rows, row = [], [0, 0.0]
    for k in range(len(x)):
        row[0] = k
        rows.append(row)
    return rows
""",
    "row of a list changed": """
def f(x):
    rows = []
    for k in range(len(x)):
        rows.append([k, x[k]])
    last = rows[-1]
    last[0] = 7
    return rows
""",
    "row of a copied list changed": """
def f(x):
    rows = []
    for k in range(len(x)):
        rows.append([k, x[k]])
    again = list(rows)
    again[0][0] = 9
    return rows[0][0]
""",
    "list that a loop makes anew, and an item of it": """
def f(x):
    y = x * 1.0
    out = [y]
    for k in range(len(x)):
        out = out + [x * k]
        y[0] += 1.0
    return out[0][0]
""",
    "item of one of two lists": """
def f(x):
    y, z, w = x * 1.0, x * 2.0, x * 3.0
    a, b = [y], [z, w]
    c = a if x[0] > 0.0 else b
    y[0] = 50.0
    return c[0][0]
""",
    "rows of different lengths": """
def f(x):
    rows = []
    for k in range(len(x)):
        rows.append([k])
        rows.append([k, x[k]])
    return rows
""",
    "array stored into and put on a list in one loop": """
def f(x):
    out, y = [], x * 2.0
    for _ in range(len(x)):
        y[0] += 1.0
        out.append(y)
    return np.array(out)
""",
    "array that a loop may keep put on a list": """
def f(x):
    out, y = [], x * 2.0
    for k in range(len(x)):
        y[0] += 1.0
        out.append(y)
        if k % 2:
            y = y * 2.0
    return np.array(out)
""",
    "copy of a list of an array stored into": """
def f(x):
    out, y = [], x * 2.0
    for _ in range(len(x)):
        out.append(y)
    again = list(out)
    y[0] += 1.0
    return again[0][0]
""",
    "item of a copied list stored into": """
def f(x):
    out = []
    for k in range(len(x)):
        out.append(x * k)
    again = out.copy()
    again[0][0] = 7.0
    return out[0][0]
""",
    "item of two lists stored into": """
def f(x):
    left, right = [], []
    for k in range(len(x)):
        left.append(x * k)
        right.append(left[-1])
    left[0][0] = 5.0
    return right[0][0]
""",
    "tuples of arrays as an array": """
def f(x):
    out = []
    for k in range(len(x)):
        out.append((x * k, x))
    return np.array(out)
""",
    "method of a generator": """
def f(rng, x):
    return rng.multivariate_hypergeometric([3, 4], 2)
""",
    "store into what may be a copy": """
def f(m):
    part = np.ascontiguousarray(m[:, ::2])
    part[0, 0] = 9.0
    return m
""",
    "item of a matrix by one index": """
def f(m):
    return m.item(4)
""",
    "ufunc.at of itself": """
def f(x):
    np.add.at(x, np.array([0, 1]), x[:2])
    return x
""",
    "random numbers into a view": """
def f(rng, m):
    rng.random(out=m[:, 1])
    return m
""",
    "truths to a power": """
def f(x):
    mask, out = x > 0.5, 0
    for k in range(len(x)):
        out = out + np.sum(mask**k)
    return out
""",
    "list shuffled": """
def f(rng):
    cards = [[1, 2], [3, 4]]
    rng.shuffle(cards)
    return cards
""",
    "text compared": """
def f(a):
    word = str(a)
    if word == "3":
        return 1.0
    return 2.0
""",
    "generator returned": """
def f(rng, a):
    return rng.normal(a), rng
""",
    "legacy random numbers": """
def f(x):
    return x + np.random.normal(size=len(x))
""",
    "generator made inside": """
def f(x):
    rng = np.random.default_rng(0)
    return x + rng.random()
""",
    "store through a reshape of a transpose": """
def f(m):
    y = m.T.reshape(-1)
    y[0] = 1.0
    return m
""",
    "array stored through flat": """
def f(m):
    m.flat[:2] = [1.0, 2.0]
    return m
""",
    "walrus in a comprehension": """
def f(x):
    squares = [s := v * v for v in x]
    return s + squares[0]
""",
    "set comprehension": """
def f(x):
    return len({v for v in x})
""",
    "dict comprehension": """
def f(x):
    return len({k: v for k, v in enumerate(x)})
""",
    "array in a list changed": """
def record(history, x):
    history.append(x)
def f(x, m):
    history, rows, steps = [], [], [row * 2.0 for row in m]
    for row in m:
        record(history, x)
        x[0] += 1.0
        rows.append(row * 2.0)
        rows[-1][0] = 0.0
    last = steps[len(m) - 1]
    last[0] = 7.0
    return history[0][0] + rows[0][0] + steps[-1][0]
""",
    "index that is one truth": """
def f(x):
    return x[x[0] > 0.5] + x[True]
""",
    "lists of lists in two places": """
def f(x, m):
    n = len(x)
    t, row = [[0.0] * n for _ in range(n)], [1.0] * n
    u = [[0] * n] * n
    t[0] = t[1]
    t[1] = row
    row[0] = 2.0
    t.append([0.0] * n)
    t[0].append(1.0)
    parts, v = t[1:], t[:]
    for k in range(n):
        v = [[k]]
        v.append([k])
    return t, row
""",
    "lists of lists of different lengths": """
def f(x):
    n = len(x)
    t = [[1] * (k + 1) for k in range(n)]
    u = [[j * 0.5 for j in range(i, n)] for i in range(n)]
    return t, u
""",
    "an array that may be in a list": """
def f(x):
    old, y = [], x.copy()
    for k in range(len(x)):
        old.append(y)
        if x[k] > 2.0:
            break
        y = y + 1
    y[1] = 9
    return old[0]
""",
    "several axes in a list": """
def f(m):
    t = np.sum(m, axis=[0, 1])
    u = m.mean(axis=[0])
    v = np.squeeze(m[:1], [0])
    w = round(m[0, 0] > 0)
    z = np.cross(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    return t, u, v, w, z, np.median(m, axis=[0, 1])
""",
    "iterator taken twice at a time": """
def f(x):
    pairs = iter(x)
    return [a * b for a, b in zip(pairs, pairs)]
""",
    "iterator that a function goes over twice": """
def f(x):
    rest = map(abs, x)

    def total():
        return sum(rest)

    return total() + total()
""",
    "iterator inside a loop of a comprehension": """
def f(x):
    rest = zip(x, x)
    return [a + b + c for a in x for b, c in rest]
""",
    "iterator in a list": """
def f(x):
    return [a * b for a, b in zip(*[iter(x)] * 2)]
""",
    "iterator in a tuple": """
def f(x):
    both = (reversed(x), 1)
    return list(both[0]) + list(both[0])
""",
    "iterator as a default": """
def f(x):
    rest = iter(x)

    def total(over=rest):
        return sum(over)

    return total() + total()
""",
    "iterator of two names": """
def f(x):
    a = b = iter(x)
    return sum(a) + sum(b)
""",
    "what follows a problem": """
def f(x):
    u = np.roots(x)
    return np.zeros(3, dtype=np.result_type(*[v.dtype for v in u]))
""",
    "no number": """
def f(x):
    return np.where(x > 0.5, x, None)
""",
    "iterators used up": """
import itertools
def f(x):
    k = len(x)
    pairs = zip(x, x[1:])
    total = sum(p for p, q in pairs)
    for p, q in pairs:
        total += q
    total += next(iter(x)) + next(x)
    for order in itertools.permutations(range(k)):
        total += order[0]
    for group in itertools.groupby(x):
        total += 1
    for v in np.nditer(x):
        total += v
    return total + sum(v for v, i in zip(itertools.chain(x, x), range(k)))
""",
    "generator expression": """
def f(x):
    squares = (v * v for v in x)
    return sum(squares)
""",
    "yield": """
def f(x):
    for v in x:
        yield v * v
""",
    "yield from": """
def f(x):
    yield from x
""",
    "async function inside": """
def f(a):
    async def g():
        return a
    return a
""",
    "async function": """
async def f(a):
    return a
""",
    "async for": """
async def f(x):
    async for v in x:
        pass
""",
    "finally that stores, around a call": """
def g(x, a):
    x[int(a)] = 5.0

def f(x, a):
    try:
        g(x, a)
    finally:
        x[:1] = 0.0
""",
    "one of two choices of memory changed": """
def f(x):
    y = x + 1.0
    z = y
    for i in range(3):
        y = y * 2.0
        x = y
        z
    x[0] *= 0.5
    return y
""",
    "a tuple of unknown length": """
def f(x):
    return tuple(v * v for v in x)
""",
    "text of a caught exception": """
def f(x):
    try:
        return x + np.ones(len(x) + 2)
    except ValueError as error:
        print("failed:", error)
        return x
""",
    "a caught exception after its handler": """
def f(a):
    try:
        b = 1.0 / a
    except ZeroDivisionError as error:
        b = 2.0
    print(error)
    return b
""",
    "text of an exception that says something else": """
class Own(ValueError):
    def __str__(self):
        return "own"

def f(a):
    try:
        raise Own(3)
    except Own as error:
        return str(error)
""",
    "caught lack of memory": """
def f(a):
    try:
        return np.zeros(3)[0] + a
    except MemoryError:
        return 0.0
""",
    "except of no class": """
def f(a):
    error = 3
    try:
        return 1.0 / a
    except error:
        return 0.0
""",
    "try star": """
def f(a):
    try:
        return 1.0 / a
    except* ZeroDivisionError:
        pass
    return 0.0
""",
    "with": """
def f(a):
    with open("values.txt") as file:
        return 1.0 / a
""",
    "with a lock": """
import threading
lock = threading.Lock()

def f(a):
    with lock:
        return 1.0 / a
""",
    "errors of NumPy raised": """
def f(x):
    with np.errstate(divide="raise"):
        return 1.0 / x
""",
    "round to digits known at run time": """
def f(x, a):
    return round(x[0], int(a))
""",
    "global": """
count = 0

def f(a):
    global count
    count += 1
    return a
""",
    "nonlocal of a function that is not compiled": """
def counter():
    count = 0.0
    def f(a):
        nonlocal count
        count += a
        return count
    return f

f = counter()
""",
    "del of an attribute": """
def f(x):
    del x.shape
    return x
""",
    "set with items of run time": """
def f(a, x):
    return len({a, x[0], 1.0})
""",
    "class inside": """
def f(a):
    class Point:
        pass
    return a
""",
    "import inside": """
def f(a):
    import math
    return math.sin(a)
""",
    "from import inside": """
def f(a):
    from math import sin
    return sin(a)
""",
    "key of a dict known at run time": """
def f(a):
    rates = {0: a, 1: 2.0 * a}
    total = 0.0
    for k in range(2):
        total += rates[k]
    return total
""",
    "frozen dataclass assigned": """
from dataclasses import dataclass

@dataclass(frozen=True)
class Rate:
    value: float

def f(a):
    rate = Rate(a)
    rate.value = 2.0
    return rate.value
""",
    "set": """
def f(a):
    seen = {1.0, 2.0}
    seen.add(a)
    return len(seen)
""",
    "match": """
def f(a):
    match a:
        case 0.0:
            return 1.0
        case _:
            return a
""",
    "slice of stars": """
def f(x):
    return x[*(0,)]
""",
    "several at once": """
def f(x):
    import math
    class Pair:
        pass
    global scale
    scale = math.sqrt(x[0])
    yield scale
""",
    "several of types at once": """
def f(x, a):
    b = a + "one"
    c = a[0]
    d = x.nonsense
    return np.nonsense(b, c, d)
""",
    "recursion with other types each time": """
def nested(v, a):
    return nested((v, v), a - 1.0) if a > 0.0 else 0.0

def f(a):
    return nested(a, a)
""",
    "recursion that returns two kinds": """
def walk(v, k):
    if k == 0:
        return v
    return (walk(v, k - 1), k)

def f(a):
    return walk(a, int(a))
""",
    "in a callee": """
def square(v):
    return {w * w for w in v}

def f(x):
    return square(x)
""",
    "gradient inside, by an integer": """
df = sg.grad(lambda v: v * v)

def f(a):
    return a * df(3)
""",
    "gradient inside, of an array": """
def f(x):
    return sg.grad(lambda v: 2.0 * v)(x)
""",
    "jvp inside, of an integer": """
def f(a):
    return sg.jvp(lambda v, k: v * k, (a, 3), (1.0, 1))
""",
    "vmap inside, of a number": """
def f(x, a):
    return sg.vmap(lambda u, v: u * v)(x, a)
""",
    "vmap inside, an axis there is not": """
def f(x, m):
    return sg.vmap(np.outer, in_axes=(0, 2))(x, m)
""",
    "vmap inside, axes of other parts": """
def f(x, m):
    return sg.vmap(lambda p: p[0] * p[1], in_axes=((0, 1, None),))((x, m))
""",
    "vmap inside, of what returns a list": """
def f(m):
    return sg.vmap(lambda row: [v for v in row if v > 0.0])(m)
""",
    "growing list of two kinds": """
def f(x):
    out = []
    for v in x:
        out.append(v)
        out.append((v, 1))
    return np.array(out)
""",
    "object that makes up its attributes": """
class Model:
    def __getattr__(self, name):
        return 2.0

model = Model()

def f(a):
    return model.rate * a
""",
    "print into a file": """
log = open(__file__)

def f(a):
    print(a, file=log)
""",
    "print with another keyword": """
def f(a):
    print(a, to="here")
""",
    "text chosen at run time": """
def f(a):
    word = f"low {a}" if a < 1.0 else f"high {a}"
    print(word)
""",
    "text returned": """
def f(a):
    return f"{a:.3f}"
""",
    "raise again": """
def f(a):
    raise
""",
    "raise from another": """
def f(a):
    raise ValueError("wrong") from ValueError
""",
    "format known at run time": """
def f(a):
    k = int(a)
    print(f"{a:.{k}f}")
""",
    "text of a function": """
def f(x):
    print(lambda v: v * x)
""",
    "unknown function": """
import time

def f(a):
    return time.time() + a
""",
}

TYPES: dict[str, str] = {
    "a truth of NumPy's as the index of a list": """
def f(x):
    return [1.0, 2.0][x[0] > 0.5]
""",
    "range of unknown length unpacked": """
def f(x):
    print(*range(len(x)))
""",
    "a complex number or a float": """
def f(a):
    return 1j * a if a < 0 else a
""",
    "array of two dtypes from one iteration to the next": """
def f(x):
    g = np.float32(0.5)
    xf = x.astype(np.float32)
    for i in range(3):
        if i > 1:
            y = g * np.full((3, 2), xf[i])
        if xf[i] > 0.5:
            y
        else:
            g = np.mean(x)
""",
    "arithmetic with a generator": """
def f(rng, a):
    return a + rng
""",
    "arrays of bounds of small integers": """
def f(rng, x):
    return rng.integers(np.arange(3), 9, dtype=np.int8)
""",
    "random integers of another dtype": """
def f(rng):
    return rng.integers(0, 10, size=3, dtype=np.float64)
""",
    "comb of floats": """
def f(a):
    return math.comb(a, 2)
""",
    "points of different dimensions": """
def f(a):
    return math.dist((a, a), (a, a, a))
""",
    "format of a float as an integer": """
def f(a):
    raise ValueError(f"{a:d} is too large")
""",
    "format of an array": """
def f(x):
    print(f"{x:.3f}")
""",
    "too few values for a format": """
def f(a):
    print("%d of %d" % (3,))
""",
    "too many values for a format": """
def f(a):
    print("%d" % (3, a))
""",
    "format that is none": """
def f(a):
    print("{".format(a))
""",
    "join of numbers": """
def f(a):
    print(", ".join((a, a)))
""",
    "exception that is a number": """
def f(a):
    raise 3
""",
    "sum of None": """
import numpy as np

def f(a):
    start = None
    return np.sum(start) + a
""",
    "where with text": """
import numpy as np

def f(x):
    return np.where(x > 1.5, "high", "low")
""",
    "number plus text": """
def f(a):
    return a + "one"
""",
    "number plus None": """
def f(a):
    return a + None
""",
    "float as index": """
def f(x, a):
    return x[a]
""",
    "float as index of a tuple": """
def f(a):
    return (1.0, 2.0)[a]
""",
    "index of a number": """
def f(a):
    return a[0]
""",
    "too many indices": """
def f(x):
    return x[0, 1]
""",
    "range of a float": """
def f(a):
    s = 0.0
    for i in range(a):
        s += i
    return s
""",
    "loop over a number": """
def f(a):
    s = 0.0
    for v in a:
        s += v
    return s
""",
    "len of a number": """
def f(a):
    return len(a)
""",
    "shift of a float": """
def f(a):
    return a << 1
""",
    "floor division of complex": """
def f(a):
    return (1j * a) // 2
""",
    "order of complex": """
def f(a):
    return (1j * a) < 2
""",
    "negative of booleans": """
def f(x):
    return -(x > 0.5)
""",
    "complex stored in a real array": """
def f(x):
    x[0] = 1j
    return x
""",
    "change of what is chosen": """
def f(a):
    t, u = [0.0], [1.0]
    (t if a > 1.0 else u).append(a)
    return t, u
""",
    "returned, or something else": """
def f(x, a):
    out = []
    for v in x:
        if v > 5.0:
            return out
        if v > 2.0:
            return [a]
        out.append(v)
    return out
""",
    "integer of 64 bits": """
def f(x):
    mask = 0xFFFFFFFFFFFFFFFF
    h = 0
    for k in range(len(x)):
        h = (31 * h + k) & mask
    return h
""",
    "unpack a number": """
def f(a):
    b, c = a
    return b
""",
    "array or number on two paths": """
def f(x, a):
    if a > 0:
        return a
    return x
""",
    "tuples of two lengths": """
def f(a):
    if a > 0:
        b = (a, a)
    else:
        b = (a, a, a)
    return b
""",
    "text or number": """
def f(a):
    b = "none"
    if a > 0:
        b = a
    return b
""",
    "changes its axes in a loop": """
def f(x):
    y = x
    for i in range(3):
        y = np.sum(y)
    return y
""",
    "store through the imaginary part": """
def f(x):
    w = x + 1j * x
    w.imag[0] = 5.0
    return w
""",
    "store into an array and its real part": """
def f(x):
    w = x + 1j * x
    r = w.real
    w[0] = 2.0
    return r
""",
    "integers scaled in place through a mask": """
def f(x):
    n = x.astype(int)
    n[n > 0] /= 2
    return n
""",
    "complex added in place through a mask": """
def f(x):
    x[x > 0] += 1j
""",
    "None or a number stored in an array": """
def f(x):
    best = None
    for v in x:
        if v > 1:
            best = v
    x[0] = best
""",
    "None or a number in text": """
def f(x):
    best = None
    for v in x:
        if v > 1:
            best = v
    raise ValueError(f"found {best}")
""",
    "None or a function": """
def f(x):
    best = None
    for v in x:
        if best is None:
            best = lambda u: u * v
    return best(2.0)
""",
    "truth of an array": """
def f(x):
    if x > 0:
        return 1.0
    return 0.0
""",
    "axis out of bounds": """
def f(x):
    return np.sum(x, axis=1)
""",
    "axis that is not known": """
def f(x, a):
    return np.sum(x, axis=int(a))
""",
    "unknown keyword": """
def f(x):
    return np.sum(x, foo=1)
""",
    "missing argument": """
def f(x):
    return np.where(x > 0, x)
""",
    "missing argument of a function": """
def g(a, b):
    return a * b

def f(a):
    return g(a)
""",
    "too many arguments of a function": """
def g(a):
    return a

def f(a):
    return g(a, a)
""",
    "too many arguments of math": """
def f(a):
    return math.sin(a, a)
""",
    "math of an array": """
def f(x):
    return math.sin(x)
""",
    "calling a number": """
def f(a):
    return a(1.0)
""",
    "calling a module": """
def f(a):
    return math(a)
""",
    "unknown name of NumPy": """
def f(x):
    return np.nonexistent(x)
""",
    "unknown method": """
def f(x):
    return x.nonexistent()
""",
    "returns a function": """
def f(a):
    return lambda v: v * a
""",
    "returns a range": """
def f(a):
    return range(3)
""",
    "integer too large": """
def f(a):
    return 2**100
""",
    "a list swapped that is read under another name": """
def f(x):
    a = [0.0]
    b = [1.0]
    first = a
    for _ in range(len(x)):
        a.append(1.0)
        a, b = b, a
    return len(first)
""",
    "lists in a tuple that become one": """
def f(x):
    both = ([1.0], [2.0])
    for _ in range(len(x)):
        both[0][0] += 1.0
        both = (both[1], both[1])
    return both[0][0]
""",
    "dicts swapped and read under another name": """
def f(x):
    p = {"x": 1}
    q = {"x": 2}
    first = p
    for _ in range(len(x)):
        p["x"] += 1
        p, q = q, p
    return first["x"]
""",
    "two names of one list on one path": """
def f(x):
    one = [1]
    a = [2]
    b = [3]
    if x[0] > 1:
        a = one
        b = one
    a.append(5)
    return len(b)
""",
    "a global list": """
RATES = [1.0, 2.0]

def f(a):
    RATES.append(a)
    return RATES[0] * a
""",
    "a global dict": """
RATES = {"low": 1.0}

def f(a):
    RATES["low"] = a
    return RATES["low"]
""",
    "uneven list as array": """
def f(a):
    return np.array([[a, a], [a]])
""",
    "dtype that is none": """
def f(x):
    return x.astype("nonsense")
""",
    "step of zero": """
def f(x):
    return x[::0]
""",
    "raise of what is no exception": """
def f(a):
    raise a
""",
    "int of a complex number": """
def f(a):
    return int(a * 1j)
""",
    "math of a complex number": """
def f(a):
    return math.sqrt(a * 1j)
""",
    "float32 of a complex number": """
def f(a):
    return np.float32(a + 1j)
""",
    "math.trunc of NumPy's integer": """
def f(x):
    return math.trunc(np.int64(len(x)))
""",
    "sort of a number": """
def f(a):
    return np.sort(a)
""",
    "a large literal": """
def f(a):
    return a * 2**70
""",
    "nan_to_num of complex numbers": """
def f(x):
    return np.nan_to_num(x * 1j)
""",
    "a float or a float32": """
def f(x, a):
    v = x.astype(np.float32)
    if a > v[0]:
        start = a
    else:
        start = v[0]
    return start * start
""",
    "a literal that is no float32": """
def f(x):
    total = 0.1
    for v in x.astype(np.float32):
        total += v
    return total
""",
    "a float32 or a float64": """
def f(x):
    v = x.astype(np.float32)
    return x[0] if x[0] > 0.5 else v[0]
""",
    "integers of two widths": """
def f(x, a):
    k = x.astype(np.int8)
    best = k[0]
    for i in range(len(x)):
        best = i if x[i] > a else best
    return best
""",
    "the larger of a float and a float32": """
def f(x, a):
    return max(a, x.astype(np.float32)[0])
""",
    "a list of a float and float32s": """
def f(x, a):
    kept = [a]
    for v in x.astype(np.float32):
        kept.append(v)
    return len(kept)
""",
}

SHAPES: dict[str, str] = {
    "sums of fixed shapes": """
def f(a):
    return np.zeros((3, 2)) + np.zeros((4, 2))
""",
    "matrix product": """
def f(a):
    return np.zeros((2, 3)) @ np.zeros((2, 3))
""",
    "reshape": """
def f(a):
    return np.zeros(5).reshape(7)
""",
    "two unknown lengths": """
def f(x):
    return x.reshape(-1, -1)
""",
    "matrix into vector": """
def f(x, m):
    x[:] = m
    return x
""",
    "fixed vector into fixed vector": """
def f(a):
    y = np.zeros(3)
    y[:] = np.zeros(4)
    return y
""",
    "one number to stack": """
def f(a):
    return np.vstack(a)
""",
    "concatenate": """
def f(x, m):
    return np.concatenate((x, m))
""",
    "trace of a vector": """
def f(x):
    return np.trace(x)
""",
    "rot90 in no plane": """
def f(m):
    return np.rot90(m, 1, axes=(0, -2))
""",
    "transpose of another number of axes": """
def f(m):
    return np.transpose(m, (1,))
""",
    "ufunc with a mask of numbers": """
def f(x):
    return np.add(x, 1.0, out=x, where=x)
""",
    "complex number into floats": """
def f(x):
    x.fill(1j)
    return x
""",
    "filled with an array": """
def f(x):
    x.fill(x)
    return x
""",
    "vector changed by a matrix product": """
def f(x):
    x @= x
    return x
""",
    "mask of integers": """
def f(m):
    return np.sum(m, where=np.array([1, 0, 1]))
""",
    "complex initial": """
def f(x):
    return np.sum(x, initial=1j)
""",
    "ufunc.at with too many indices": """
def f(x):
    np.add.at(x, (0, 1), 2.0)
    return x
""",
    "ufunc.at with too many values": """
def f(x, m):
    np.add.at(x, np.array([0, 1, 1]), m)
    return x
""",
    "choice along no axis": """
def f(rng, m):
    return rng.choice(m, 2, axis=None)
""",
    "squeeze": """
def f(m):
    return np.squeeze(m, axis=0)
""",
}

RUN_TIME: dict[str, tuple[str, tuple[Any, ...]]] = {
    "vmap inside, lanes that differ in number": ("""
def f(p, m):
    return sg.vmap(lambda q, row: q["k"] * row)(p, m)
""", ({"k": np.ones(2)}, np.ones((3, 2)))),
    "vmap inside, lanes of different lengths": ("""
def f(m):
    return sg.vmap(lambda row: row[row > 0.0])(m)
""", (np.array([[1.0, 2.0], [-1.0, 2.0]]),)),
    "an index of 64 bits": ("""
def f(x, k):
    return x[k]
""", (np.arange(3.0), np.uint64(2**64 - 1))),
    "recursion without end": ("""
def down(v):
    return down(v - 1.0) if v < 1e9 else v

def f(x):
    return down(x)
""", (1.0,)),
    "unknown name": ("""
def f(x):
    if x > 0.0:
        return x + undefined_name
    return x
""", (1.0,)),
    "deleted name": ("""
def f(x):
    y = 2.0 * x
    del x
    return x + y
""", (1.0,)),
    "zip of different lengths": ("""
def f(x):
    return [v * w for v, w in zip(x, x[1:], strict=True)]
""", (np.ones(3),)),
    "index": ("""
def f(x, k):
    s = 0.0
    s += x[k]
    return s
""", (np.ones(3), 3)),
    "index in a loop": ("""
def f(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i + 1] - x[i]
    return s
""", (np.ones(3),)),
    "index of a store": ("""
def f(x, k):
    x[k] = 1.0
    return x
""", (np.ones(3), -4)),
    "index in a callee": ("""
def pick(v, i):
    return v[i]

def f(x, k):
    return pick(x, k) + 1.0
""", (np.ones(3), 3)),
    "index array": ("""
def f(x, j):
    return x[j]
""", (np.ones(3), np.array([0, 7]))),
    "division": ("""
def f(a, b):
    c = a + 1.0
    return c / b
""", (1.0, 0.0)),
    "integer division": ("""
def f(k, n):
    return k // n
""", (1, 0)),
    "remainder": ("""
def f(k, n):
    return k % n
""", (1, 0)),
    "power of zero": ("""
def f(a, b):
    return a**b
""", (0.0, -1.0)),
    "unbound": ("""
def f(a):
    if a > 0:
        y = a
    return y
""", (-1.0,)),
    "unbound after no trips": ("""
def f(n):
    for i in range(n):
        last = i
    return last
""", (0,)),
    "root of a negative": ("""
def f(a):
    return math.sqrt(a)
""", (-1.0,)),
    "logarithm of zero": ("""
def f(a):
    return math.log(a)
""", (0.0,)),
    "exponential": ("""
def f(a):
    return math.exp(a)
""", (1000.0,)),
    "assert": ("""
def f(a):
    assert a > 0, "a must be positive"
    return a
""", (-1.0,)),
    "assert without a message": ("""
def f(a):
    assert a > 0
    return a
""", (-1.0,)),
    "raise": ("""
def f(a):
    if a < 0:
        raise ValueError("a must not be negative")
    return a
""", (-1.0,)),
    "raise without a message": ("""
def f(a):
    while True:
        a = a - 1.0
        if a < 0:
            raise StopIteration
""", (3.0,)),
    "raise a class": ("""
def f(a):
    raise NotImplementedError
""", (3.0,)),
    "shapes": ("""
def f(x, y):
    return x + y
""", (np.ones(3), np.ones(4))),
    "shapes of a store": ("""
def f(x, y):
    x[:2] = y
    return x
""", (np.ones(3), np.ones(4))),
    "largest of nothing": ("""
def f(x):
    return np.max(x)
""", (np.ones(0),)),
    "unpack": ("""
def f(x):
    a, b = x
    return a + b
""", (np.ones(3),)),
    "step of zero": ("""
def f(n):
    s = 0
    for i in range(0, 5, n):
        s += i
    return s
""", (0,)),
    "read-only": ("""
def f(x):
    x[0] = 1.0
    return x
""", (np.broadcast_to(1.0, 3),)),
}  # fmt: skip
"""A program and the arguments with which it fails as it does in Python."""


class Array(np.ndarray):
    """An array of another class."""


class Thing:
    """An object."""


LIMITS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a length of -1": (
        """
def f(x, n):
    return x.reshape(n, 3)
""",
        (np.arange(6.0), -1),
    ),
    "a table without rows": (
        """
def f(n):
    return np.array([[i + j for j in range(n)] for i in range(n)])
""",
        (0,),
    ),
    "not a number among the sorted": (
        """
def f(xs):
    return sorted(xs)
""",
        ([1.0, np.nan, 0.0],),
    ),
}
"""What Python does, and a compiled function refuses when it sees the numbers."""

ARGUMENTS: dict[str, Callable[[], Any]] = {
    "legacy generator": lambda: np.random.RandomState(0),
    "text": lambda: "one",
    "bytes": lambda: b"one",
    "object array": lambda: np.array([1.0, None], dtype=object),
    "text array": lambda: np.array(["a", "b"]),
    "none": lambda: None,
    "dict": lambda: {"a": 1.0},
    "set": lambda: {1.0},
    "structured array": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "matrix": lambda: Array((2, 2)).view(np.matrix),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "subclass": lambda: np.ones(2).view(Array),
    "dates": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "date": lambda: np.datetime64("2020-01-01"),
    "half precision": lambda: np.ones(2, np.float16),
    "byte order": lambda: np.ones(2).astype(">f8" if np.little_endian else "<f8"),
    "not aligned": lambda: np.frombuffer(bytearray(17), np.float64, 2, offset=1),
    "large integer": lambda: 2**70,
    "range": lambda: range(3),
    "slice": lambda: slice(3),
    "function": lambda: abs,
    "class": lambda: float,
    "object": Thing,
    "tuple": lambda: (1.0, 2.0),
}
"""What cannot be used where a number is needed: passed as `x` to `x * 2.0 + 1.0`."""

GRADIENTS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "shape of a distribution": ("""
def f(x, rng):
    return 2.0 * rng.gamma(x)
""", (2.0, np.random.default_rng(0))),
    "generator": ("""
def f(x, a=1.0):
    return a * x.random()
""", (np.random.default_rng(0),)),
    "integer": ("""
def f(x):
    return x * x
""", (3,)),
    "integer array": ("""
def f(x):
    return np.sum(x * 0.5)
""", (np.arange(3),)),
    "boolean": ("""
def f(x):
    return 2.0 * x
""", (True,)),
    "complex": ("""
def f(x):
    return np.abs(x)
""", (1.0 + 2.0j,)),
    "text": ("""
def f(x):
    return 2.0
""", ("one",)),
    "array returned": ("""
def f(x):
    return x * x
""", (np.ones(3),)),
    "tuple returned": ("""
def f(x):
    return x, x
""", (1.0,)),
    "integer returned": ("""
def f(x):
    return int(x)
""", (1.0,)),
    "boolean returned": ("""
def f(x):
    return x > 0
""", (1.0,)),
    "complex returned": ("""
def f(x):
    return x * 1j
""", (1.0,)),
    "nothing returned": ("""
def f(x):
    x[0] = 1.0
""", (np.ones(3),)),
    "complex between": ("""
def f(x):
    z = np.arctan(1j * x + 0.5)
    return np.abs(z)
""", (1.0,)),
    "complex array between": ("""
def f(x):
    z = x * (1.0 + 2.0j)
    return np.prod(z).real
""", (np.ones(3),)),
    "no derivative": ("""
def f(x):
    u, s, vh = np.linalg.svd(x)
    return np.sum(u) + np.sum(s)
""", (np.ones((3, 2)),)),
    "rule of too few": ("""
@sg.custom_vjp
def scaled(x, y):
    return x * y

def backward(residuals, cotangent):
    x, y = residuals
    return cotangent * y

scaled.defvjp(lambda x, y: (x * y, (x, y)), backward)

def f(x, y):
    return np.sum(scaled(x, y))
""", (np.ones(3), 2.0)),
    "rule of another shape": ("""
@sg.custom_vjp
def scaled(x, y):
    return x * y

def backward(residuals, cotangent):
    x, y = residuals
    return cotangent * y, cotangent * x

scaled.defvjp(lambda x, y: (x * y, (x, y)), backward)

def f(x, y):
    return np.sum(scaled(x, y))
""", (np.ones(3), 2.0)),
    "rule of another dtype": ("""
@sg.custom_vjp
def scaled(x, n):
    return x * n

scaled.defvjp(lambda x, n: (x * n, (x, n)), lambda residuals, ct: (ct * residuals[1], np.sum(ct * residuals[0])))

def f(x, n):
    return np.sum(scaled(x, n))
""", (np.ones(3), 2)),
    "rule without residuals": ("""
@sg.custom_vjp
def squared(x):
    return x * x

squared.defvjp(lambda x: x * x, lambda x, ct: (2.0 * x * ct,))

def f(x):
    return squared(x) + 1.0
""", (2.0,)),
    "rule of another result": ("""
@sg.custom_jvp
def total(x):
    return np.sum(x)

@total.defjvp
def rule(primals, tangents):
    return primals[0], tangents[0]

def f(x):
    return total(x)
""", (np.ones(3),)),
    "rule that is not linear": ("""
@sg.custom_jvp
def squared(x):
    return x * x

@squared.defjvp
def rule(primals, tangents):
    x, t = primals[0], tangents[0]
    return x * x, 2.0 * x * abs(t)

def f(x):
    return squared(x) + 1.0
""", (2.0,)),
    "rule without its tangent": ("""
@sg.custom_jvp
def wave(x):
    return np.sin(x)

@wave.defjvp
def rule(primals, tangents):
    return wave(primals[0]), np.cos(primals[0])

def f(x):
    return wave(x) + 1.0
""", (2.0,)),
    "rule that adds to its tangent": ("""
@sg.custom_jvp
def wave(x):
    return np.sin(x)

@wave.defjvp
def rule(primals, tangents):
    return wave(primals[0]), np.cos(primals[0]) * tangents[0] + 1.0

def f(x):
    return wave(x) + 1.0
""", (2.0,)),
    "rule that is missing": ("""
@sg.custom_vjp
def squared(x):
    return x * x

def f(x):
    return squared(x) + 1.0
""", (2.0,)),
    "rule inside a try": ("""
@sg.custom_vjp
def squared(x):
    return x * x

squared.defvjp(lambda x: (x * x, x), lambda x, ct: (2.0 * x * ct,))

def f(x):
    try:
        return squared(x)
    except ValueError:
        return 0.0
""", (2.0,)),
    "rule of a function that changes its argument": ("""
@sg.custom_vjp
def halved(x):
    x *= 0.5
    return np.sum(x)

halved.defvjp(lambda x: (0.5 * np.sum(x), len(x)), lambda n, ct: (np.full(n, 0.5 * ct),))

def f(x):
    return halved(x)
""", (np.ones(3),)),
    "rule without the function in it": ("""
@sg.custom_vjp
def called(g, x):
    return g(x)

called.defvjp(lambda g, x: (g(x), x), lambda x, ct: (None, ct * x))

def f(x):
    return called(lambda t: x * t, 2.0)
""", (2.0,)),
    "what filter goes over changes": ("""
def f(x):
    total = 0.0
    for v in filter(lambda q: q > 0.0, x):
        x[2] += v
        total += v
    return total
""", (np.ones(3),)),
    "what a filter asks changes": ("""
def f(x):
    least = 1.0
    found = filter(lambda v: v > least, [0.5, 2.0, 3.0])
    least = 2.5 * x
    return list(found)
""", (1.0,)),
    "what a filter asks is counted": ("""
def f(x):
    asked = np.zeros(1)

    def is_large(v):
        asked[0] += 1.0
        return v > 0.5

    total = 0.0
    for v in filter(is_large, [0.2, x, 2.0]):
        total += v * asked[0]
    return total
""", (1.0,)),
    "a list grows while it is numbered": ("""
def f(x):
    xs = [1.0, x]
    for i, v in enumerate(xs):
        if i < 2:
            xs.append(v)
    return xs
""", (1.0,)),
    "a dict grows while it is gone over": ("""
def f(x):
    d = {"a": x}
    for key, v in d.items():
        d["b"] = v
    return d
""", (1.0,)),
    "a list that is read in a loop once another may be it": ("""
def f(x, n):
    total = 0.0
    for t in range(n):
        if x[t] > 5.0:
            row = [0.25] * 3
        else:
            other = [0.5] * 3
            row = other
        row[0] = 1.0
        total += other[0]
    return total
""", (np.ones(3), 2)),
    "slices on two paths": ("""
def f(x, n):
    part = slice(0, n) if n > 1 else slice(n, 3)
    return np.sum(x[part])
""", (np.ones(3), 2)),
    "index at run time": ("""
def f(x):
    return x[3] * 2.0
""", (np.ones(3),)),
    "division at run time": ("""
def f(x):
    y = x - 1.0
    return 1.0 / y
""", (1.0,)),
}  # fmt: skip

INPUTS: dict[str, Callable[[], Any]] = {
    "a": lambda: 0.7,
    "x": lambda: np.linspace(0.2, 1.0, 5),
    "m": lambda: np.ones((5, 3)),
    "rng": lambda: np.random.default_rng(0),
}
