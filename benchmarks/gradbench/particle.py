"""Find where to put a charge so that a particle flies through the origin: gradients inside of gradients."""

import numpy as np

import srcgraph as sg
from gradbench.descent import lowest
from gradbench.protocol import Function

DT = 0.1


def potential(x, w):
    """Electric potential of two charges, the upper one ``w`` below (10, 10)."""
    upper = np.array([10.0, 10.0 - w[0]])
    lower = np.array([10.0, 0.0])
    return 1.0 / np.sqrt(np.sum((x - upper) ** 2)) + 1.0 / np.sqrt(np.sum((x - lower) ** 2))


def miss(w, gradient):
    """Squared distance from the origin where the particle crosses the axis."""
    x = np.array([0.0, 8.0])
    v = np.array([0.75, 0.0])
    while True:
        force = -gradient(potential)(x, w)
        x = x + DT * v
        if x[1] <= 0.0:
            break
        v = v + DT * force
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def variant(outer, inner):
    def objective(w):
        return miss(w, inner)

    def best(w):
        return lowest(objective, outer(objective), w)

    return sg.compile(best)


def read(given):
    return (np.array([given["w"]]),)


FUNCTIONS = {
    "ff": Function(read, variant(sg.jacfwd, sg.jacfwd), lambda w: float(w[0])),
    "fr": Function(read, variant(sg.jacfwd, sg.grad), lambda w: float(w[0])),
    "rf": Function(read, variant(sg.grad, sg.jacfwd), lambda w: float(w[0])),
    "rr": Function(read, variant(sg.grad, sg.grad), lambda w: float(w[0])),
}
