"""Half the squares that a polynomial leaves of the sign function, at n points from -1 to 1."""

import srcgraph as sg
from gradbench.protocol import Function, arrays, numbers


def sign(t):
    if t > 0.0:
        return 1.0
    elif t < 0.0:
        return -1.0
    return 0.0


def squares(x, n):
    total = 0.0
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1)
        left = sign(t)
        power = 1.0
        for j in range(len(x)):
            left -= x[j] * power
            power *= t
        total += left * left
    return 0.5 * total


FUNCTIONS = {
    "primal": Function(arrays("x", "n"), sg.compile(squares), float),
    "gradient": Function(arrays("x", "n"), sg.grad(squares), numbers),
}
