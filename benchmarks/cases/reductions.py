"""Sums over pairs and over rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cases.record import Case, by_hand

# -- the energy of n bodies, softened --------------------------------------------------------------


def energy_loops(positions, masses):
    total = 0.0
    n = len(masses)
    for i in range(n):
        for j in range(i + 1, n):
            dx = positions[i, 0] - positions[j, 0]
            dy = positions[i, 1] - positions[j, 1]
            dz = positions[i, 2] - positions[j, 2]
            total -= masses[i] * masses[j] / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
    return total


def energy(positions, masses):
    between = positions[:, None, :] - positions[None, :, :]
    distance = np.sqrt(np.sum(between * between, axis=2) + 0.01)
    pairs = masses[:, None] * masses[None, :] / distance
    return -0.5 * (np.sum(pairs) - np.sum(masses * masses) / 0.1)


@by_hand
def hand_energy(positions, masses):
    n = len(masses)
    x, y, z = positions[:, 0].copy(), positions[:, 1].copy(), positions[:, 2].copy()
    total = 0.0
    for i in range(n):
        part = 0.0
        for j in range(i + 1, n):
            dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
            part += masses[j] / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
        total -= masses[i] * part
    return total


@by_hand
def hand_energy_gradient(positions, masses):
    n = len(masses)
    x, y, z = positions[:, 0].copy(), positions[:, 1].copy(), positions[:, 2].copy()
    out = np.empty_like(positions)
    for i in range(n):
        sx = sy = sz = 0.0
        for j in range(n):
            dx, dy, dz = x[i] - x[j], y[i] - y[j], z[i] - z[j]
            square = dx * dx + dy * dy + dz * dz + 0.01
            weight = masses[j] / (square * math.sqrt(square))
            sx += weight * dx
            sy += weight * dy
            sz += weight * dz
        out[i, 0], out[i, 1], out[i, 2] = masses[i] * sx, masses[i] * sy, masses[i] * sz
    return (out,)


def energy_with(module: Any) -> Any:
    np = getattr(module, "numpy", module)

    def value(positions: Any, masses: Any) -> Any:
        between = positions[:, None, :] - positions[None, :, :]
        distance = np.sqrt(np.sum(between * between, 2) + 0.01)
        pairs = masses[:, None] * masses[None, :] / distance
        return -0.5 * (np.sum(pairs) - np.sum(masses * masses) / 0.1)

    return value


def bodies(small: bool) -> tuple[Any, ...]:
    random, n = np.random.default_rng(0), 20 if small else 1000
    return random.normal(size=(n, 3)), random.uniform(0.5, 1.5, n)


ARRAY_PEERS = dict.fromkeys(("jax", "torch", "torch.compile", "autograd"), energy_with)

# -- logistic regression ---------------------------------------------------------------------------


def logistic(weights, features, labels):
    margin = labels * (features @ weights)
    return np.mean(np.log1p(np.exp(-margin)))


@by_hand
def hand_logistic(weights, features, labels):
    z = np.dot(features, weights)
    total = 0.0
    for i in range(len(labels)):
        total += math.log1p(math.exp(-labels[i] * z[i]))
    return total / len(labels)


@by_hand
def hand_logistic_gradient(weights, features, labels):
    """Row by row: the features are read from memory once."""
    n, d = features.shape
    out = np.zeros(d)
    for i in range(n):
        z = 0.0
        for j in range(d):
            z += features[i, j] * weights[j]
        d_z = -labels[i] / (1.0 + math.exp(labels[i] * z)) / n
        for j in range(d):
            out[j] += d_z * features[i, j]
    return (out,)


def logistic_with(module: Any) -> Any:
    np = getattr(module, "numpy", module)

    def value(weights: Any, features: Any, labels: Any) -> Any:
        return np.mean(np.log1p(np.exp(-labels * (features @ weights))))

    return value


def labelled(small: bool) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    n, d = (100, 7) if small else (100_000, 100)
    features = random.normal(size=(n, d))
    labels = np.sign(features @ random.normal(size=d) + random.normal(size=n))
    return 0.1 * random.normal(size=d), features, labels


CASES = [
    Case(
        name="n-body energy, 1000, arrays",
        plain=energy,
        arguments=bodies,
        hand=hand_energy,
        argnums=(0,),
        hand_gradient=hand_energy_gradient,
        peers=ARRAY_PEERS | {"pythran": "energy(float64[:,:], float64[])"},
        kind="n-body",
    ),
    Case(
        name="n-body energy, 1000, loops",
        plain=energy_loops,
        arguments=bodies,
        hand=hand_energy,
        argnums=(0,),
        hand_gradient=hand_energy_gradient,
        peers=ARRAY_PEERS | {"pythran": "energy_loops(float64[:,:], float64[])"},
        kind="n-body",
    ),
    Case(
        name="logistic loss, 1e5 x 100",
        plain=logistic,
        arguments=labelled,
        hand=hand_logistic,
        argnums=(0,),
        hand_gradient=hand_logistic_gradient,
        peers=dict.fromkeys(("jax", "torch", "torch.compile", "autograd"), logistic_with)
        | {"pythran": "logistic(float64[], float64[:,:], float64[])"},
        kind="reduction",
    ),
]
