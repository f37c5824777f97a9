"""Find a saddle point by descent, each of whose steps climbs to a maximum: gradients through gradients."""

import numpy as np

import srcgraph as sg
from gradbench.descent import lowest
from gradbench.protocol import Function, arrays, numbers


def height(x, y):
    return np.sum(x**2) - np.sum(y**2)


def variant(outer, inner):
    def highest(x, start):
        """Where ``height`` is highest for this ``x``."""

        def depth(y):
            return -height(x, y)

        return lowest(depth, inner(depth), start)

    def saddle(start):
        def worst(x):
            return height(x, highest(x, start))

        x = lowest(worst, outer(worst), start)
        return np.concatenate((x, highest(x, start)))

    return sg.compile(saddle)


FUNCTIONS = {
    "ff": Function(arrays("start"), variant(sg.jacfwd, sg.jacfwd), numbers),
    "fr": Function(arrays("start"), variant(sg.jacfwd, sg.grad), numbers),
    "rf": Function(arrays("start"), variant(sg.grad, sg.jacfwd), numbers),
    "rr": Function(arrays("start"), variant(sg.grad, sg.grad), numbers),
}
