"""Functions of CUDA modules that combine a number of each thread in shared memory, always in one order: of a block,
and of a team, which is a part of a block.
"""

from __future__ import annotations

import ast

_TEXT = '''
@cuda.jit(device=True)
def {name}(value, parts):
    """{what} of a number of each thread of a block."""
    shared = cuda.shared.array(THREADS, parts.dtype)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] = {combined}
        cuda.syncthreads()
        half //= 2
    if t == 0:
        parts[cuda.blockIdx.x] = shared[0]
    cuda.syncthreads()
'''
_TEAM_TEXT = '''
@cuda.jit(device=True)
def {name}(value, team):
    """{what} of a number of each thread of a team."""
    shared = cuda.shared.array(THREADS, {dtype})
    t = cuda.threadIdx.x
    cuda.syncthreads()
    shared[t] = value
    cuda.syncthreads()
    half = team // 2
    while half > 0:
        if t % team < half:
            shared[t] = {combined}
        cuda.syncthreads()
        half //= 2
    return shared[t - t % team]
'''
BLOCK_FUNCTIONS = {
    "block_sum": ("The sum", "shared[t] + shared[t + half]"),
    "block_product": ("The product", "shared[t] * shared[t + half]"),
    "block_max": ("The largest", "maximum(shared[t], shared[t + half])"),
    "block_min": ("The smallest", "minimum(shared[t], shared[t + half])"),
    "block_all": ("Whether all hold", "shared[t] and shared[t + half]"),
    "block_any": ("Whether some hold", "shared[t] or shared[t + half]"),
}
"""By name: what it gives, and how two numbers are combined."""
OF_COMBINE = {
    "add": ("block_sum", "sum_of"),
    "mul": ("block_product", "product_of"),
    "maximum": ("block_max", "max_of"),
    "minimum": ("block_min", "min_of"),
    "logical_and": ("block_all", "all_of"),
    "logical_or": ("block_any", "any_of"),
}
"""How the points of a reduction are combined: the function of a block's threads, and that of what blocks come to."""
TEAM = "team"
"""How many threads share a point, in kernels in which several do."""


def block_function(name: str) -> ast.FunctionDef:
    """The function of that name."""
    what, combined = BLOCK_FUNCTIONS[name]
    return _parsed(_TEXT.format(name=name, what=what, combined=combined))


def team_function(combine: str, dtype: str) -> ast.FunctionDef:
    """The function that combines the numbers of a team, which are of that dtype."""
    block = OF_COMBINE[combine][0]
    what, combined = BLOCK_FUNCTIONS[block]
    name = block.replace("block", TEAM) + ("" if dtype == "float64" else f"_{dtype}")
    return _parsed(_TEAM_TEXT.format(name=name, what=what, combined=combined, dtype=f"np.{dtype}"))


def _parsed(text: str) -> ast.FunctionDef:
    made = ast.parse(text).body[0]
    assert isinstance(made, ast.FunctionDef)
    for node in ast.walk(made):
        if hasattr(node, "lineno"):
            node.lineno = 0  # type: ignore[attr-defined]
    return made
