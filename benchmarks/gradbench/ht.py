"""Hand tracking: how far measured points are from the skin of a hand that is posed by 26 angles and shifts."""

from dataclasses import dataclass

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, numbers


@dataclass
class Hand:
    """Bones as a tree, each with its place relative to its parent; vertices follow bones by weights.

    Vertices are columns, so that a transform is multiplied by all of them at once; weights have a row for each bone.
    """

    parents: np.ndarray
    relatives: np.ndarray
    inverse_absolutes: np.ndarray
    vertices: np.ndarray
    weights: np.ndarray
    triangles: np.ndarray
    mirrored: bool


def by_angles(x, z, y):
    """Rotation about x, then y, then z."""
    rx = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(x), -np.sin(x)], [0.0, np.sin(x), np.cos(x)]])
    ry = np.array([[np.cos(y), 0.0, np.sin(y)], [0.0, 1.0, 0.0], [-np.sin(y), 0.0, np.cos(y)]])
    rz = np.array([[np.cos(z), -np.sin(z), 0.0], [np.sin(z), np.cos(z), 0.0], [0.0, 0.0, 1.0]])
    return rz @ ry @ rx


def about_axis(v):
    """Rotation about a vector by its length."""
    angle = np.sqrt(np.sum(v**2))
    if angle < 0.0001:
        return np.eye(3)
    x, y, z = v / angle
    s, c = np.sin(angle), np.cos(angle)
    return np.array([
        [x * x + (1.0 - x * x) * c, x * y * (1.0 - c) - z * s, x * z * (1.0 - c) + y * s],
        [x * y * (1.0 - c) + z * s, y * y + (1.0 - y * y) * c, y * z * (1.0 - c) - x * s],
        [x * z * (1.0 - c) - y * s, z * y * (1.0 - c) + x * s, z * z + (1.0 - z * z) * c],
    ])  # fmt: skip


def bone_angles(theta, bones):
    """Angles of each bone: a finger's first joint bends two ways, the next two one way, its tip and the wrist not."""
    angles = np.zeros((bones, 3))
    k = 6
    bone = 2
    for _ in range(5):
        for joint in range(3):
            angles[bone, 0] = theta[k]
            k += 1
            if joint == 0:
                angles[bone, 1] = theta[k]
                k += 1
            bone += 1
        bone += 1
    return angles


def bone_transforms(hand, angles):
    bones = len(hand.parents)
    absolutes = np.empty((bones, 4, 4))
    for i in range(bones):
        turn = np.eye(4)
        turn[:3, :3] = by_angles(angles[i, 0], angles[i, 1], angles[i, 2])
        here = hand.relatives[i] @ turn
        if hand.parents[i] == -1:
            absolutes[i] = here
        else:
            absolutes[i] = absolutes[hand.parents[i]] @ here
    for i in range(bones):
        absolutes[i] = absolutes[i] @ hand.inverse_absolutes[i]
    return absolutes


def skin(theta, hand):
    """Where the vertices are, as columns."""
    transforms = bone_transforms(hand, bone_angles(theta, len(hand.parents)))
    positions = np.zeros((3, hand.vertices.shape[1]))
    for i in range(len(transforms)):
        positions += hand.weights[i] * (transforms[i, :3] @ hand.vertices)
    if hand.mirrored:
        positions[0] = -positions[0]
    return about_axis(theta[:3]) @ positions + theta[3:6, None]


def to_vertices(theta, hand, correspondences, points):
    return (points - skin(theta, hand)[:, correspondences].T).ravel()


def to_triangles(theta, us, hand, correspondences, points):
    return in_triangles(skin(theta, hand), us, hand, correspondences, points)


def in_triangles(positions, us, hand, correspondences, points):
    """How far points are from places in triangles, each with two numbers of its own."""
    out = np.empty_like(points)
    for i in range(len(points)):
        a, b, c = hand.triangles[correspondences[i]]
        u, v = us[i]
        out[i] = points[i] - (u * positions[:, a] + v * positions[:, b] + (1.0 - u - v) * positions[:, c])
    return out.ravel()


def along(theta, us, hand, correspondences, points):
    """Derivatives by the two numbers of a point's own, then by theta, one direction at a time."""
    rows = 3 * len(points)
    out = np.empty((rows, 2 + len(theta)))
    positions = skin(theta, hand)
    for k in range(2):
        direction = np.zeros_like(us)
        direction[:, k] = 1.0
        out[:, k] = sg.jvp(lambda u: in_triangles(positions, u, hand, correspondences, points), (us,), (direction,))[1]
    out[:, 2:] = sg.jacfwd(to_triangles)(theta, us, hand, correspondences, points)
    return out


def read(given):
    model, data = given["data"]["model"], given["data"]
    hand = Hand(
        np.array(model["parents"]),
        np.array(model["base_relatives"]),
        np.array(model["inverse_base_absolutes"]),
        np.array(np.transpose(model["base_positions"]), order="C"),
        np.array(np.transpose(model["weights"]), order="C"),
        np.array(model["triangles"]),
        bool(model["is_mirrored"]),
    )
    rest = hand, np.array(data["correspondences"]), np.array(data["points"])
    if not given["us"]:
        return np.array(given["theta"]), *rest
    return np.array(given["theta"]), np.array(given["us"]), *rest


def either(simple, complicated):
    """One of two functions, by the number of arguments."""

    def call(*args):
        return (simple if len(args) == 4 else complicated)(*args)

    return call


FUNCTIONS = {
    "objective": Function(read, either(sg.compile(to_vertices), sg.compile(to_triangles)), numbers),
    "jacobian": Function(read, either(sg.jacfwd(to_vertices), sg.compile(along)), numbers),
}
