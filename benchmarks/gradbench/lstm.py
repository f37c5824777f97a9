"""A recurrent network with diagonal weights predicts the next character of a text, bit by bit."""

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, arrays, numbers


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def layer(weight, bias, hidden, cell, signal):
    """New state of a layer; its gates lie behind each other in ``weight`` and ``bias``."""
    b = len(hidden)
    forget = sigmoid(signal * weight[:b] + bias[:b])
    ingate = sigmoid(hidden * weight[b : 2 * b] + bias[b : 2 * b])
    outgate = sigmoid(signal * weight[2 * b : 3 * b] + bias[2 * b : 3 * b])
    change = np.tanh(hidden * weight[3 * b :] + bias[3 * b :])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def predict(main, extra, state, signal):
    """What the next character is thought to be; ``state`` is brought up to date."""
    x = signal * extra[0]
    for i in range(0, len(state), 2):
        state[i], state[i + 1] = layer(main[i], main[i + 1], state[i], state[i + 1], x)
        x = state[i]
    return x * extra[1] + extra[2]


def loss(main, extra, state, sequence):
    state = state.copy()
    total = 0.0
    count = 0
    for t in range(len(sequence) - 1):
        guess = predict(main, extra, state, sequence[t])
        wanted = sequence[t + 1]
        total += np.sum(wanted * (guess - np.log(2.0 + np.sum(np.exp(guess)))))
        count += len(wanted)
    return -total / count


read = arrays("main_params", "extra_params", "state", "sequence")

FUNCTIONS = {
    "objective": Function(read, sg.compile(loss), float),
    "jacobian": Function(
        read, sg.grad(loss, argnums=(0, 1)), lambda found: numbers(np.concatenate([*map(np.ravel, found)]))
    ),
}
