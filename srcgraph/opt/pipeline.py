"""The order of the passes, as tuples, and nowhere else."""

from __future__ import annotations

from srcgraph.opt.dce import dce
from srcgraph.opt.lanes import batch
from srcgraph.opt.licm import licm
from srcgraph.opt.passes import Pass
from srcgraph.opt.reshapes import carry_reshaped
from srcgraph.opt.settle import settle
from srcgraph.opt.simplify import simplify
from srcgraph.opt.thread import thread

PRIMAL = (
    Pass("dce", dce),
    Pass("settle", settle),
    Pass("thread", thread),
    Pass("simplify", simplify),
    Pass("licm", licm),
    Pass("batch", batch),
    Pass("carry_reshaped", carry_reshaped),
    Pass("dce", dce),
)
"""What every function goes through before it is differentiated or emitted."""

DERIVED = (
    Pass("dce", dce),
    Pass("settle", settle),
    Pass("simplify", simplify),
    Pass("licm", licm),
    Pass("batch", batch),
    Pass("carry_reshaped", carry_reshaped),
    Pass("dce", dce),
)
"""What a derivative's graph goes through."""
