"""From a typed graph to a better one, or to its gradient.

In and out: closed graphs. A pass returns the same object when nothing changed.

pipeline  the database of all rewrites, `db`, and their order, and nowhere else
modes     which of them a function goes through
passes    how rewriters run, are timed, printed and verified
rewriting the machinery: function graphs, features, local rewrites, patterns, walkers, databases
rules     the local rewrites: algebra, exponentials, sums, parts of arrays, matrices
inline    called graphs in place of their calls
dce       drop nodes, branch outputs and loop carries that nothing needs
settle    carries that never change, and branches that agree, become plain values
simplify  replay: literals fold, equal nodes merge, decided branches and loops go
thread    branches on one condition that follow each other become one
appended  lists that a loop appends to in every trip, as arrays;  list_uses: which lists these are
lanes     matrix products of all lanes of a loop at once
marks     what programs say to derivatives goes, once these are taken
once, added  products of matrices: what they read, and where they go
slopes, factored, rotated  the arithmetic of derivatives, whose rounding is nobody's
licm, moving  move what is the same on every trip out of its loop
distribute, private  work that is the same, and arrays that are not, from trip to trip
tabulated, tables  functions of numbers that inner loops come to again and again
accumulate, contract, restated  arrays of parts that are added or read where the whole is
within    what derivatives make of numbers that are 0 unless a branch is taken, in that branch
strips, striped  functions that a loop waits for nothing to compute, a strip of its steps at a time
abreast, elements, masked, chains  loops that each step of another loop has, those of many steps together
interchanged  loops in each other, in the order in which elements lie side by side
rowwise   loops that go down columns, as loops along rows;  tiles: what of them is fetched for many rows at once
forwarded what a trip stores and the next reads, handed on as a number
peeled    loops whose first or last steps differ, in three parts
raised    loops of derivatives over elements, as operations on rows
edgewise  arrays whose middle has been stored, computed part by part
exchanged  loops that fill another array than the one they read
renewed    loops that compute an array anew of itself, in its memory
eliminated  small systems of equations, solved by elimination that is written out
rolls     arrays shifted round, as parts of one copy
ordered   arguments in Fortran's order, read in the order of their memory
reshapes  loops that change an array through a reshape of it carry the reshaped array
ad        reverse-mode derivatives
"""

import srcgraph.ir.ops  # noqa: F401  (fills the table of ops)
from srcgraph.opt.modes import DEBUG, FAST_COMPILE, FAST_RUN, Mode
from srcgraph.opt.pipeline import db
from srcgraph.opt.rewriting.database import Database, EquilibriumDB, Query, SequenceDB
from srcgraph.opt.rewriting.features import Feature, History, InPlace, NodeFinder, Profiler, Validation
from srcgraph.opt.rewriting.fgraph import Client, FunctionGraph, InconsistencyError
from srcgraph.opt.rewriting.local import LocalRewrite, OpRemove, OpSub, RewriteError, RewriteWarning, rewrite
from srcgraph.opt.rewriting.patterns import PatternSub, op
from srcgraph.opt.rewriting.walkers import Equilibrium, GraphPass, Rewriter, Walk

__all__ = [
    "DEBUG", "FAST_COMPILE", "FAST_RUN", "Client", "Database", "Equilibrium", "EquilibriumDB", "Feature",
    "FunctionGraph", "GraphPass", "History", "InPlace", "InconsistencyError", "LocalRewrite", "Mode", "NodeFinder",
    "OpRemove", "OpSub", "PatternSub", "Profiler", "Query", "RewriteError", "RewriteWarning", "Rewriter",
    "SequenceDB", "Validation", "Walk", "db", "op", "rewrite",
]  # fmt: skip
