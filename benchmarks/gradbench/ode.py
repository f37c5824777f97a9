"""A chain of linear differential equations by the classical Runge-Kutta method."""

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, arrays, numbers


def slope(x, y):
    z = np.empty_like(y)
    z[0] = x[0]
    z[1:] = x[1:] * y[:-1]
    return z


def final(x, steps):
    h = 2.0 / steps
    y = np.zeros(len(x))
    for _ in range(steps):
        k1 = slope(x, y)
        k2 = slope(x, y + h / 2.0 * k1)
        k3 = slope(x, y + h / 2.0 * k2)
        k4 = slope(x, y + h * k3)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def last(x, steps):
    return final(x, steps)[-1]


FUNCTIONS = {
    "primal": Function(arrays("x", "s"), sg.compile(final), numbers),
    "gradient": Function(arrays("x", "s"), sg.grad(last), numbers),
}
