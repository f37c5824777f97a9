"""What processes of the tests of tuning run."""


def product(a, b):
    return a @ b
