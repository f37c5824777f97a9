"""A small neural network trained by gradient descent: its weights are shared variables, read and assigned by methods.

python examples/neural_network.py
"""

import numpy as np

import srcgraph as sg


class NNet:
    """Two layers: sigmoid units, and linear ones."""

    def __init__(self, n_input=1, n_hidden=1, n_output=1, lr=1e-3):
        self.lr = sg.shared(lr, name="learning rate")
        self.w1 = sg.shared(np.zeros((n_hidden, n_input)), name="w1")
        self.w2 = sg.shared(np.zeros((n_output, n_hidden)), name="w2")

    def hidden(self, x):
        return 1.0 / (1.0 + np.exp(-(self.w1.value @ x)))

    @sg.compile
    def output_from_hidden(self, h):
        return self.w2.value @ h

    @sg.compile
    def compute_output(self, x):
        return self.output_from_hidden(self.hidden(x))

    def loss(self, x, target):
        """The squared error, and the output."""
        output = self.compute_output(x)
        return np.sum((output - target) ** 2), output

    @sg.compile
    def sgd_step(self, x, target):
        """The output and its cost; both weights take a step down the gradient, together."""
        (cost, output), (d_w1, d_w2) = sg.value_and_grad(self.loss, wrt=[self.w1, self.w2], has_aux=True)(x, target)
        self.w1.value -= self.lr.value * d_w1
        self.w2.value -= self.lr.value * d_w2
        return output, cost


def train(epochs=3, seed=279):
    """The mean cost of each epoch, and the network."""
    data = np.random.default_rng(seed).random((10, 4))
    net = NNet(n_input=3, n_hidden=10)
    costs = [float(np.mean([net.sgd_step(row[:3], row[3:])[1] for row in data])) for _ in range(epochs)]
    return costs, net


if __name__ == "__main__":
    costs, net = train()
    print(*(f"{cost:.8f}" for cost in costs))
