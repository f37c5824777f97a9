"""A determinant by expansion along the first row, minor by minor, without making minors.

The minors that are begun are kept on a stack, one per row. Columns that are left form a linked list: ``after[c]``
comes after column c, ``after[size]`` is the first, and ``size`` ends it.
"""

import numpy as np

import srcgraph as sg
from gradbench.protocol import Function, numbers


def determinant(a):
    size = len(a)
    after = np.arange(1, size + 2)
    after[size] = 0
    before = np.full(size, size)
    taken = np.zeros(size, dtype=np.int64)
    sign = np.ones(size)
    total = np.zeros(size)
    row = 0
    while True:
        column = after[before[row]]
        if row < size - 1 and column < size:  # the minor without this row and column comes first
            after[before[row]] = after[column]
            taken[row] = column
            row += 1
            before[row] = size
            sign[row] = 1.0
            total[row] = 0.0
            continue
        if row == size - 1:
            total[row] = a[row, column]
        if row == 0:
            return total[0]
        below = total[row]
        row -= 1
        column = taken[row]
        total[row] += sign[row] * a[row, column] * below
        sign[row] = -sign[row]
        after[before[row]] = column
        before[row] = column


def read(given):
    return (np.reshape(np.array(given["A"]), (given["ell"], given["ell"])),)


FUNCTIONS = {
    "primal": Function(read, sg.compile(determinant), float),
    "gradient": Function(read, sg.grad(determinant), lambda found: numbers(found.ravel())),
}
