"""Inputs for the evals, made by seed, in the form in which GradBench sends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BONES = 22
"""Of the hand: a wrist, five fingers of four, and the forearm."""


def hello(random: np.random.RandomState) -> float:
    return 3.0


def lse(random: np.random.RandomState, n: int) -> dict[str, Any]:
    return {"x": random.rand(n).tolist()}


def llsq(random: np.random.RandomState, n: int, m: int) -> dict[str, Any]:
    return {"x": random.rand(m).tolist(), "n": n}


def det(random: np.random.RandomState, ell: int) -> dict[str, Any]:
    return {"A": random.rand(ell * ell).tolist(), "ell": ell}


def ode(random: np.random.RandomState, n: int, s: int) -> dict[str, Any]:
    return {"x": random.rand(n).tolist(), "s": s}


def kmeans(random: np.random.RandomState, n: int, d: int, k: int) -> dict[str, Any]:
    points = random.rand(n, d).tolist()
    return {"points": points, "centroids": points[-k:]}


def gmm(random: np.random.RandomState, d: int, k: int, n: int, m: int, gamma: float) -> dict[str, Any]:
    x, alpha, mu = random.randn(n, d), random.randn(k), random.rand(k, d)
    q, l = random.randn(k, d), random.randn(k, d * (d - 1) // 2)
    lists = {"x": x.tolist(), "alpha": alpha.tolist(), "mu": mu.tolist(), "q": q.tolist(), "l": l.tolist()}
    return {"d": d, "k": k, "n": n, "m": m, "gamma": gamma, **lists}


def ba(random: np.random.RandomState, n: int, m: int, p: int) -> dict[str, Any]:
    camera = [*random.randn(3), *random.randn(3), 400.0 + random.rand(), *random.randn(2), *(0.1 * random.rand(2))]
    point, feature = random.randn(3).tolist(), random.randn(2).tolist()
    return {"n": n, "m": m, "p": p, "cam": camera, "x": point, "w": random.rand(), "feat": feature}


def lstm(random: np.random.RandomState, l: int, c: int, b: int) -> dict[str, Any]:
    parameters = {"main_params": random.rand(2 * l, 4 * b).tolist(), "extra_params": random.rand(3, b).tolist()}
    text = random.randint(0, 2, size=(c, b)).astype(float)
    return {**parameters, "state": random.rand(2 * l, b).tolist(), "sequence": text.tolist()}


def ht(random: np.random.RandomState, vertices: int, points: int, us: bool, mirrored: bool) -> dict[str, Any]:
    parents = [-1, *(0 if k % 4 == 1 else k - 1 for k in range(1, BONES))]
    weights = random.rand(vertices, BONES)
    triangles = [random.permutation(vertices)[:3].tolist() for _ in range(2 * vertices)]
    model = {
        "bone_count": BONES,
        "bone_names": [f"bone {k}" for k in range(BONES)],
        "parents": parents,
        "base_relatives": [_placed(random).tolist() for _ in range(BONES)],
        "inverse_base_absolutes": [_placed(random).tolist() for _ in range(BONES)],
        "base_positions": np.concatenate([random.randn(vertices, 3), np.ones((vertices, 1))], axis=1).tolist(),
        "weights": (weights / weights.sum(axis=1, keepdims=True)).tolist(),
        "triangles": triangles,
        "is_mirrored": mirrored,
    }
    found = random.randint(0, len(triangles) if us else vertices, size=points).tolist()
    data = {"model": model, "correspondences": found, "points": random.randn(points, 3).tolist()}
    return {"theta": random.randn(26).tolist(), "data": data, "us": random.rand(points, 2).tolist() if us else []}


def _placed(random: np.random.RandomState) -> np.ndarray:
    """A turn and a shift."""
    out = np.eye(4)
    out[:3, :3] = np.linalg.qr(random.randn(3, 3))[0]
    out[:3, 3] = 0.1 * random.randn(3)
    return out


def particle(random: np.random.RandomState) -> dict[str, Any]:
    return {"w": 0.0}


def saddle(random: np.random.RandomState) -> dict[str, Any]:
    return {"start": [1.0, 1.0]}


MAKERS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (hello, gmm, ba, ht, lstm, lse, llsq, det, kmeans, ode, particle, saddle)
}
SMALL: dict[str, list[dict[str, Any]]] = {
    "hello": [{}],
    "gmm": [{"d": 3, "k": 4, "n": 20, "m": 1, "gamma": 0.9}, {"d": 2, "k": 1, "n": 3, "m": 0, "gamma": 1.0}],
    "ba": [{"n": 2, "m": 3, "p": 12}],
    "ht": [
        {"vertices": 9, "points": 4, "us": False, "mirrored": False},
        {"vertices": 8, "points": 3, "us": True, "mirrored": False},
    ],
    "lstm": [{"l": 2, "c": 6, "b": 5}, {"l": 1, "c": 3, "b": 2}],
    "lse": [{"n": 12}, {"n": 1}],
    "llsq": [{"n": 16, "m": 6}, {"n": 7, "m": 1}],
    "det": [{"ell": 5}, {"ell": 2}],
    "kmeans": [{"n": 30, "d": 3, "k": 4}],
    "ode": [{"n": 4, "s": 5}, {"n": 3, "s": 1}],
    "particle": [{}],
    "saddle": [{}],
}
"""Sizes for tests."""


def made(name: str, sizes: dict[str, Any]) -> Any:
    return MAKERS[name](np.random.RandomState(31337), **sizes)
