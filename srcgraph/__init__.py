"""Compile ordinary numeric Python, with real control flow, and differentiate it at source level."""

import srcgraph.ir.ops  # noqa: F401  (fills the table of ops)
from srcgraph import errors
from srcgraph.runtime import api
from srcgraph.runtime.api import Compiled, compile, grad, inspect, value_and_grad  # noqa: F401
from srcgraph.runtime.inspection import Inspection

# without `compile`, which would shadow the builtin
__all__ = ["Compiled", "Inspection", "api", "errors", "grad", "inspect", "value_and_grad"]
__version__ = "0.1.0"
