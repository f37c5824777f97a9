"""The logarithm of a sum of exponentials, computed without overflow."""

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, arrays, numbers


def logsumexp(x):
    highest = np.max(x)
    return highest + np.log(np.sum(np.exp(x - highest)))


FUNCTIONS = {
    "primal": Function(arrays("x"), sg.compile(logsumexp), float),
    "gradient": Function(arrays("x"), sg.grad(logsumexp), numbers),
}
