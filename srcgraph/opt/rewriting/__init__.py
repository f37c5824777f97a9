"""Graph rewriting: what a rewrite is, how it is found, and how many of them are applied in order.

In: a closed graph and rewrites. Out: a closed graph that gives the same.

blocks     where nodes stand while a graph is rewritten
fgraph     `FunctionGraph`: who reads what; replace, validate, undo
features   what is told of every change: validation, finding nodes, history, stores in place, profile
place      a builder for code at a place of a function graph
local      local rewrites: what becomes of one node
writing    how patterns are written: as tuples, or as small functions
patterns   local rewrites by patterns
walkers    local rewrites over a whole graph: once, or until none applies
database   names, tags, order; queries
debugging  a graph evaluated again after each rewrite
"""
