"""The k-means cost of some centroids, and Newton's step for them: gradient over diagonal of the Hessian."""

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, arrays, numbers


def cost(points, centroids):
    total = 0.0
    for point in points:
        nearest = np.inf
        for centroid in centroids:
            nearest = min(nearest, np.sum((point - centroid) ** 2))
        total += nearest
    return total


def newton(points, centroids):
    ones = np.ones_like(centroids)
    slope, curvature = sg.jvp(lambda c: sg.grad(cost, argnums=1)(points, c), (centroids,), (ones,))
    return slope / curvature


FUNCTIONS = {
    "cost": Function(arrays("points", "centroids"), sg.compile(cost), float),
    "dir": Function(arrays("points", "centroids"), sg.compile(newton), numbers),
}
