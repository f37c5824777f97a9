"""Bundle adjustment: how far points, projected into cameras, are from where they were seen.

A camera is (rotation vector, centre, focal length, principal point, two radial distortions): 11 numbers.
"""

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, numbers


def rotate(rotation, point):
    """Rodrigues' formula; near no rotation its first order."""
    square = np.sum(rotation**2)
    if square == 0.0:
        return point + np.cross(rotation, point)
    angle = np.sqrt(square)
    axis = rotation / angle
    return (
        point * np.cos(angle)
        + np.cross(axis, point) * np.sin(angle)
        + axis * (np.dot(axis, point) * (1.0 - np.cos(angle)))
    )


def project(camera, point):
    x = rotate(camera[:3], point - camera[3:6])
    flat = x[:2] / x[2]
    r2 = np.sum(flat**2)
    distorted = flat * (1.0 + camera[9] * r2 + camera[10] * r2 * r2)
    return distorted * camera[6] + camera[7:9]


def reprojection(camera, point, weight, seen):
    return weight * (project(camera, point) - seen)


def weight_error(w):
    return 1.0 - w * w


def errors(cameras, points, weights, observed, seen):
    count = len(weights)
    found = np.empty((count, 2))
    off = np.empty(count)
    for i in range(count):
        c, p = observed[i]
        found[i] = reprojection(cameras[c], points[p], weights[i], seen[i])
        off[i] = weight_error(weights[i])
    return found, off


def sparse(cameras, points, weights, observed, seen):
    """The Jacobian as a sparse matrix: where its rows begin, and the column and value of each entry."""
    count = len(weights)
    point_column = cameras.size
    weight_column = point_column + points.size
    rows = np.zeros(3 * count + 1, dtype=np.int64)
    columns = np.empty(31 * count, dtype=np.int64)
    values = np.empty(31 * count)
    k = 0
    for i in range(count):
        c, p = observed[i]
        given = cameras[c], points[p], weights[i], seen[i]
        by_camera, by_point, by_weight = sg.jacrev(reprojection, argnums=(0, 1, 2))(*given)
        for j in range(2):
            for a in range(11):
                columns[k + a] = 11 * c + a
            for a in range(3):
                columns[k + 11 + a] = point_column + 3 * p + a
            columns[k + 14] = weight_column + i
            values[k : k + 11] = by_camera[j]
            values[k + 11 : k + 14] = by_point[j]
            values[k + 14] = by_weight[j]
            k += 15
            rows[2 * i + j + 1] = k
    for i in range(count):
        columns[k] = weight_column + i
        values[k] = sg.grad(weight_error)(weights[i])
        k += 1
        rows[2 * count + i + 1] = k
    return rows, columns, values


def read(given):
    """One camera, point, weight and feature, each as often as it is wanted."""
    n, m, p = given["n"], given["m"], given["p"]
    observed = np.stack([np.arange(p) % n, np.arange(p) % m], axis=1)
    cameras, points = np.tile(given["cam"], (n, 1)), np.tile(given["x"], (m, 1))
    return cameras, points, np.full(p, given["w"]), observed, np.tile(given["feat"], (p, 1))


def write_errors(found):
    """The first of them, all being the same."""
    errors, off = found
    return {
        "reproj_error": {"elements": numbers(errors[0]), "repeated": len(errors)},
        "w_err": {"element": float(off[0]), "repeated": len(off)},
    }


def write_sparse(found):
    """The first 30 and the last entry of a sparse matrix in rows, of 15 numbers each and then of one."""
    rows, columns, values = found
    return {"rows": _ends(rows), "cols": _ends(columns), "vals": _ends(values)}


def _ends(x):
    return [*numbers(x[:30]), x[-1].item()]


FUNCTIONS = {
    "objective": Function(read, sg.compile(errors), write_errors),
    "jacobian": Function(read, sg.compile(sparse), write_sparse),
}
