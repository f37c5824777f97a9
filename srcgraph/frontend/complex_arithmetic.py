"""Functions of `cmath` in Python, of Python's complex numbers: compiled with the functions that use them.

Errors raised here are shown at the user's call; Python's manual says which there are.
"""

from __future__ import annotations

import math

import numpy as np


def exp(z):
    out = np.exp(z)
    if not np.isfinite(out):
        check(z, z.imag, z.real, z.real > 0.0 or math.isfinite(z.real))
    return complex(out)


def sinh(z):
    out = np.sinh(z)
    if not np.isfinite(out):
        check(z, z.imag, z.real, True)
    return complex(out)


def cosh(z):
    out = np.cosh(z)
    if not np.isfinite(out):
        check(z, z.imag, z.real, True)
    return complex(out)


def sin(z):
    out = np.sin(z)
    if not np.isfinite(out):
        check(z, z.real, z.imag, True)
    return complex(out)


def cos(z):
    out = np.cos(z)
    if not np.isfinite(out):
        check(z, z.real, z.imag, True)
    return complex(out)


def tanh(z):
    if math.isinf(z.imag) and math.isfinite(z.real):
        raise ValueError("math domain error")
    return complex(np.tanh(z))


def tan(z):
    if math.isinf(z.real) and math.isfinite(z.imag):
        raise ValueError("math domain error")
    return complex(np.tan(z))


def check(z, angle, size, undefined):
    """What Python raises where a function of sines and exponentials is not finite."""
    if math.isinf(angle) and not math.isnan(size) and undefined:
        raise ValueError("math domain error")
    if np.isfinite(z):
        raise OverflowError("math range error")


def sqrt(z):
    return complex(np.sqrt(z))


def log(z):
    if z == 0:
        raise ValueError("math domain error")
    return complex(np.log(z))


def log_to(z, base):
    return log(z) / log(base)


def log10(z):
    if z == 0:
        raise ValueError("math domain error")
    return complex(np.log10(z))


def asin(z):
    return complex(np.arcsin(z))


def acos(z):
    return complex(np.arccos(z))


def atan(z):
    if z.real == 0.0 and abs(z.imag) == 1.0:
        raise ValueError("math domain error")
    return complex(np.arctan(z))


def asinh(z):
    return complex(np.arcsinh(z))


def acosh(z):
    return complex(np.arccosh(z))


def atanh(z):
    if z.imag == 0.0 and abs(z.real) == 1.0:
        raise ValueError("math domain error")
    return complex(np.arctanh(z))


def phase(z):
    return math.atan2(z.imag, z.real)


def polar(z):
    return abs(z), math.atan2(z.imag, z.real)


def rect(r, phi):
    if math.isinf(phi) and not (r == 0.0 or math.isnan(r)):
        raise ValueError("math domain error")
    return complex(r * np.cos(phi), r * np.sin(phi))


def isfinite(z):
    return bool(np.isfinite(z))


def isinf(z):
    return bool(np.isinf(z))


def isnan(z):
    return bool(np.isnan(z))


def isclose(a, b, rel_tol, abs_tol):
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if np.isinf(a) or np.isinf(b):
        return False
    diff = abs(a - b)
    return diff <= rel_tol * abs(b) or diff <= rel_tol * abs(a) or diff <= abs_tol
