"""Execution engines behind one interface: a program of graphs in, a callable out.

In: a `Program` of closed graphs. Out: a function from a sequence of arguments to the list of results.

registry  what an engine is; engines by name, others' through the entry point group ``srcgraph.engines``
reference the engine ``interp``: node by node, the meaning of all others
thunks    registers, and thunks that say what they still need;  regions: those of branches, loops and calls
vm        the engine ``vm``: thunks, run on demand
compiled  the engine ``numba``: generated text, compiled
versions  users' functions by engines;  eager: the engine ``eager``: one instruction at a time, shown
tape      its reverse mode: what has run, gone through backwards
"""

from srcgraph.runtime.engines.compiled import Numba
from srcgraph.runtime.engines.eager import Eager
from srcgraph.runtime.engines.reference import Interp
from srcgraph.runtime.engines.registry import Engine, get, names, register
from srcgraph.runtime.engines.tape import gradient_by_tape
from srcgraph.runtime.engines.thunks import Register, Thunk
from srcgraph.runtime.engines.vm import Vm

for _engine in (Interp(), Vm(), Numba(), Eager()):
    register(_engine.name, _engine)

__all__ = [
    "Eager",
    "Engine",
    "Interp",
    "Numba",
    "Register",
    "Thunk",
    "Vm",
    "get",
    "gradient_by_tape",
    "names",
    "register",
]
