"""A determinant by expansion along the first row, minor by minor, without making minors.

Rows and columns that are left form linked lists: ``columns[c]`` comes after column c, ``columns[size]`` is the first.
"""

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, numbers


def minor(a, size, left, rows, columns):
    """Determinant of the ``left`` by ``left`` minor of what the lists still have."""
    row = rows[size]
    column = columns[size]
    if left == 1:
        return a[row, column]
    total = 0.0
    sign = 1.0
    before = size
    rows[size] = rows[row]
    for _ in range(left):
        columns[before] = columns[column]
        total += sign * a[row, column] * minor(a, size, left - 1, rows, columns)
        columns[before] = column
        before = column
        column = columns[column]
        sign = -sign
    rows[size] = row
    return total


def determinant(a):
    size = len(a)
    after = np.arange(1, size + 2)
    after[size] = 0
    return minor(a, size, size, after, after.copy())


def read(given):
    return (np.reshape(np.array(given["A"]), (given["ell"], given["ell"])),)


FUNCTIONS = {
    "primal": Function(read, sg.compile(determinant), float),
    "gradient": Function(read, sg.grad(determinant), lambda found: numbers(found.ravel())),
}
