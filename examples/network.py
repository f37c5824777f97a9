"""A small neural network made of variables: weights shared by three functions, one of which updates them.

The example of Theano's proposal for shared variables.
"""

from __future__ import annotations

import numpy as np

import srcgraph as sg
from srcgraph.ir import vector
from srcgraph.ir.symbolic import variable_of


class Network:
    """One hidden layer of sigmoids, learned by gradient descent on squared errors.

    Parameters
    ----------
    inputs, hidden, outputs : int
        Sizes of the layers.
    rate : float
        How far a step goes.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int = 1, rate: float = 1e-3):
        self.w1 = sg.shared(np.zeros((hidden, inputs)), name="w1")
        self.w2 = sg.shared(np.zeros((outputs, hidden)), name="w2")
        w1, w2 = variable_of(self.w1), variable_of(self.w2)
        x, target = vector("x"), vector("target")
        layer = 1.0 / (1.0 + np.exp(-(w1 @ x)))
        output = w2 @ layer
        cost = ((output - target) ** 2).sum()
        slope1, slope2 = sg.grad(cost, wrt=[self.w1, self.w2])
        updates = {self.w1: w1 - rate * slope1, self.w2: w2 - rate * slope2}
        self.step = sg.function([x, target], [output, cost], updates=updates)
        self.compute = sg.function([x], output)
        self.output_from_hidden = sg.function([layer], output)


def main() -> None:
    """Print the mean cost of three epochs."""
    data = np.random.default_rng(279).random((10, 4))
    network = Network(3, 10)
    for _ in range(3):
        costs = [network.step(row[:3], row[3:])[1] for row in data]
        print(f"{np.mean(costs):.8f}")
    print(network.output_from_hidden(np.ones(10)), network.w2.value @ np.ones(10))


if __name__ == "__main__":
    main()
