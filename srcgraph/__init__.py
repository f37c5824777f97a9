"""Compile ordinary numeric Python, with real control flow, and differentiate it at source level.

In: plain functions over numbers and NumPy arrays. Out: functions that give the same, faster; their
gradients; and readable text of both. `docs/architecture.md` shows how the packages work together.

errors    where something is in the user's source, and how a mistake there is reported
ir        the graph: types, ops, builder, text form, reference interpreter
infer     what a call is specialised on
frontend  Python functions to graphs
opt       graphs to better graphs, and to gradients
codegen   graphs to Python text for numba
runtime   what users call
"""

import srcgraph.ir.ops  # noqa: F401  (fills the table of ops)
from srcgraph import errors
from srcgraph.ir.assumptions import Facts, assume
from srcgraph.ir.ops.constants import stop_gradient
from srcgraph.ir.ops.marks import save
from srcgraph.ir.shared import SharedVariable
from srcgraph.runtime import api, cache, engines, implicit, memory, threads, tuning
from srcgraph.runtime.api import Compiled, compile, inspect  # noqa: F401
from srcgraph.runtime.checkpoint import checkpoint
from srcgraph.runtime.choosing import ifelse
from srcgraph.runtime.custom import custom_jvp, custom_vjp
from srcgraph.runtime.derivatives import grad, jvp, value_and_grad
from srcgraph.runtime.eager import run
from srcgraph.runtime.explaining import Explanation, explain
from srcgraph.runtime.functions import Function, Out, Param, function
from srcgraph.runtime.inspection import Inspection
from srcgraph.runtime.jacobians import hessian, hvp, jacfwd, jacobian, jacrev, vjp
from srcgraph.runtime.native import native
from srcgraph.runtime.shared import shared, shared_constructor
from srcgraph.runtime.vmap import vmap

# without `compile`, which would shadow the builtin
__all__ = [
    "Compiled", "Explanation", "Facts", "Function", "Inspection", "Out", "Param", "SharedVariable", "api",
    "assume", "cache", "checkpoint", "custom_jvp", "custom_vjp", "engines", "errors", "explain", "function",
    "grad", "hessian", "hvp", "ifelse", "implicit", "inspect", "jacfwd", "jacobian", "jacrev", "jvp", "memory",
    "native", "run", "save", "shared", "shared_constructor", "stop_gradient", "threads", "tuning", "value_and_grad",
    "vjp", "vmap",
]  # fmt: skip
__version__ = "0.1.0"
