"""A square and its derivative."""

import srcgraph as sg
from gradbench.protocol import Function


def square(x):
    return x * x


FUNCTIONS = {
    "square": Function(lambda x: (x,), sg.compile(square), float),
    "double": Function(lambda x: (x,), sg.grad(square), float),
}
