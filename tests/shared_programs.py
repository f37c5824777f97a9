"""Functions that read and assign shared variables; each maker gives a new one, with the variables that it uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import srcgraph as sg

A = np.array
Made = tuple[Callable[..., Any], Sequence[sg.SharedVariable]]
PROGRAMS: list[tuple[Callable[[], Made], tuple[tuple[Any, ...], ...]]] = []


def prog(*calls: tuple[Any, ...]) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Enter a maker, with the arguments of calls that are made one after the other."""

    def entered(make: Callable[[], Made]) -> Callable[[], Made]:
        PROGRAMS.append((make, calls))
        return make

    return entered


@prog((5,), (0,))
def loop() -> Made:
    b = sg.shared(1)

    def f(n):
        for i in range(n):
            b.value = b.value * 2 + i
        return b.value

    return f, [b]


@prog((5.0,), (-1.0,))
def branch() -> Made:
    b = sg.shared(1.0)
    w = sg.shared(np.zeros(3))

    def f(a):
        if a > 0:
            b.value = a
            w.value[1] += a
        return b.value + w.value.sum()

    return f, [b, w]


@prog((5.0,), (-1.0,))
def branchrebind() -> Made:
    b = sg.shared(1.0)
    w = sg.shared(np.zeros(3))

    def f(a):
        if a > 0:
            w.value = np.ones(3) * a
        w.value[0] = 7
        return w.value

    return f, [b, w]


@prog((3.0,), (-3.0,))
def early() -> Made:
    b = sg.shared(1.0)

    def f(a):
        b.value = 2.0
        if a > 0:
            return b.value
        b.value += a
        return a

    return f, [b]


@prog((3,), (1,))
def exc() -> Made:
    b = sg.shared(1.0)
    w = sg.shared(np.arange(3.0))

    def f(i):
        try:
            b.value += 1
            w.value[0] = 5.0
            x = w.value[i]
        except IndexError:
            b.value -= 10
            x = np.float64(0.0)
        return x

    return f, [b, w]


@prog(
    (3,),
)
def recursion() -> Made:
    b = sg.shared(0)

    def f(n):
        b.value += n
        if n == 0:
            return 0
        return f(n - 1) + b.value

    return f, [b]


@prog(
    (2.0,),
)
def two() -> Made:
    b = sg.shared(1.0)
    c = sg.SharedVariable("c", container=b.container)

    def f(a):
        b.value = a
        c.value = c.value * 3
        return b.value, c.value

    return f, [b, c]


@prog(
    (A([1.0, 2.0]),),
)
def twoarr() -> Made:
    b = sg.shared(np.ones(2))
    c = sg.SharedVariable("c", container=b.container)

    def f(a):
        b.value += a
        c.value[0] *= 3
        return b.value.sum(), c.value.sum()

    return f, [b, c]


@prog(
    (A([1.0, 2.0]),),
)
def layers() -> Made:
    ws = [sg.shared(np.ones((2, 2)) * k) for k in range(3)]

    def f(x):
        for w in ws:
            x = w.value @ x + 1
            w.value -= 0.1 * x
        return x

    return f, ws


@prog(
    (A([1.0, 2.0]),),
)
def layerst() -> Made:
    ws = tuple(sg.shared(np.ones((2, k)) * k) for k in (2, 2, 2))

    def f(x):
        for k, w in enumerate(ws):
            x = w.value @ x + k
            w.value[0, 0] = k
        return x

    return f, ws


@prog(
    (A([1.0, 2.0]),),
)
def pairs() -> Made:
    ws = [(sg.shared(np.ones((2, 2)) * k), sg.shared(np.ones(2))) for k in range(3)]

    def f(x):
        for w, b in ws:
            x = np.tanh(w.value @ x + b.value)
            b.value = b.value - x
        return x

    return f, [w for p in ws for w in p]


@prog(
    (1.5,),
)
def helper() -> Made:
    b = sg.shared(1.0)
    w = sg.shared(np.zeros(3))

    def h(s, x):
        s.value = s.value + x
        w.value[:] = s.value
        return s.value

    def f(a):
        t = h(b, a)
        u = h(b, 2 * a)
        w.value[1] = -1
        return t, u, b.value, w.value

    return f, [b, w]


@prog((1,), (0,))
def choice() -> Made:
    b = sg.shared(1.0)
    c = sg.shared(2.0)

    def f(k):
        s = b if k else c
        s.value += 10
        return s.value, b.value

    return f, [b, c]


@prog((1,), (0,))
def choicearr() -> Made:
    b = sg.shared(np.ones(2))
    c = sg.shared(np.zeros(2))

    def f(k):
        s = b if k else c
        s.value += 10
        s.value[0] = 1
        return s.value.sum(), b.value.sum()

    return f, [b, c]


@prog(
    (2,),
)
def kinds() -> Made:
    v = [
        sg.shared(np.int8(3)),
        sg.shared(np.float32(2)),
        sg.shared(1j),
        sg.shared(True),
        sg.shared(np.array(2.0)),
        sg.shared(np.zeros(2, np.float32)),
        sg.shared(np.zeros((2, 1), int)),
        sg.shared(1.0),
    ]
    i8, f32, c, t, z, af, ai, fl = v

    def f(a):
        i8.value = a
        f32.value = a
        c.value = a
        t.value = not t.value
        z.value = a
        af.value = np.ones(3)
        ai.value = ai.value + a
        fl.value = a
        z.value += 1
        return i8.value, f32.value, c.value, t.value, z.value, af.value, ai.value, fl.value

    return f, v


@prog(
    (300,),
)
def over() -> Made:
    i8 = sg.shared(np.int8(3))

    def f(a):
        i8.value = a
        return i8.value

    return f, [i8]


@prog((A([5.0]),), (A([1.0, 2.0, 3.0]),), (A([4.0]),))
def shapes() -> Made:
    w = sg.shared(np.zeros(3))

    def h():
        return w.value + np.ones(3)

    def f(x):
        w.value = x
        return h()

    return f, [w]


@prog((3,))
def alias() -> Made:
    w = sg.shared(np.zeros(3))

    def f(n):
        old = w.value
        old[0] = n
        w.value = old * 2
        old[1] = n
        return old, w.value

    return f, [w]


@prog((3,))
def closure() -> Made:
    b = sg.shared(0.0)

    def f(n):
        def add(x):
            b.value += x

        for i in range(n):
            add(i)
        return sum([b.value for _ in range(2)])

    return f, [b]


class Net:
    def __init__(self) -> None:
        self.w = sg.shared(np.ones(2))


@prog((2.0,))
def obj() -> Made:
    net = Net()

    def f(x):
        return net.w.value.sum() * x

    return f, [net.w]


@prog((2.0,))
def objw() -> Made:
    net = Net()

    def f(x):
        net.w.value = net.w.value * x
        return net.w.value

    return f, [net.w]


@prog((2.0,))
def whiled() -> Made:
    b = sg.shared(100.0)
    w = sg.shared(np.zeros((2, 2)))

    def f(x):
        k = 0
        while b.value > x:
            b.value /= 2
            w.value[k % 2] += b.value
            k += 1
            if k > 3:
                break
        return k

    return f, [b, w]


@prog((2.0,))
def loopfirst() -> Made:
    w = sg.shared(np.zeros(2))
    u = sg.shared(np.ones(2))

    def f(x):
        s = 0.0
        for i in range(4):
            if i % 2 == 0:
                w.value, u.value = u.value * x, w.value
            s += w.value[0]
        return s

    return f, [w, u]


@prog((2.0,))
def aug_nested() -> Made:
    w = sg.shared(np.zeros((3, 2)))

    def f(x):
        row = w.value[1]
        row += x
        w.value.T[0] -= 1
        w.value.reshape(-1)[2] = 9
        return row.copy()

    return f, [w]


@prog((2.0,))
def getset() -> Made:
    w = sg.shared(np.zeros(3))
    b = sg.shared(1)

    def f(x):
        c = w.get_value()
        c[0] = x
        w.set_value(c)
        c[1] = x
        b.set_value(b.get_value() + 1)
        return c, w.value

    return f, [w, b]


@prog((2,))
def vm() -> Made:
    w = sg.shared(np.arange(3.0))
    b = sg.shared(0)

    def g(x):
        b.value += 1
        return (w.value * x).sum()

    def f(n):
        return sg.vmap(g)(np.ones((4, 3)))

    return f, [w, b]


@prog((2,))
def fin() -> Made:
    b = sg.shared(0)

    def f(n):
        try:
            b.value += 1
            if n > 1:
                raise ValueError("no")
        finally:
            b.value += 10
        return 1

    return f, [b]


@prog((2,))
def comp() -> Made:
    ws = [sg.shared(float(k)) for k in range(4)]

    def f(n):
        return sum([w.value * n for w in ws]), [w.value for w in ws]

    return f, ws


@prog((2,))
def static() -> Made:
    ax = sg.shared(0)

    def f(n):
        return n * np.ones((2, 3)).sum(axis=ax.value)

    return f, [ax]


@prog((2,))
def dic() -> Made:
    d = {"w": sg.shared(1.0), "b": sg.shared(np.ones(2))}

    def f(n):
        d["w"].value += n
        for k in d:
            d[k].value = d[k].value * 2
        return d["b"].value

    return f, list(d.values())


@prog((A([5.0, 1.0, 2.0]), 1.5), (A([1.0, 2.0, 3.0]), 0.5), (A([4.0]), 9.0))
def shapes2() -> Made:
    w = sg.shared(np.zeros(3))

    def h():
        return w.value + np.ones(3)

    def f(x, a):
        w.value = x[x > a]
        return h()

    return f, [w]


@prog((A([5.0, 1.0, 2.0]), 1.5), (A([1.0]), 0.5), (A([4.0]), 9.0))
def shapes3() -> Made:
    w = sg.shared(np.zeros(1))

    def k():
        w.value = w.value * np.ones(3)

    def h():
        k()
        return w.value + np.ones(3)

    def f(x, a):
        r = h()
        w.value = x
        return r + h()

    return f, [w]


@prog((A([1, 2, 3]),), (A([True, False]),))
def casts() -> Made:
    w = sg.shared(np.zeros(3))
    v = sg.shared(np.zeros(2, np.float32))
    u = sg.shared(np.zeros(2, np.complex128))

    def f(x):
        w.value = x
        v.value = w.value
        u.value = v.value * 2
        return w.value / 2, v.value.dtype == np.float32

    return f, [w, v, u]
