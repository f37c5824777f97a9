"""Compile ordinary numeric Python, with real control flow, and differentiate it at source level."""

import srcgraph.ir.ops  # noqa: F401  (fills the table of ops)
from srcgraph import errors
from srcgraph.runtime import api
from srcgraph.runtime.api import Compiled, compile, grad, value_and_grad  # noqa: F401, A004

__all__ = ["Compiled", "api", "errors", "grad", "value_and_grad"]  # not `compile`, which shadows the builtin
__version__ = "0.1.0"
