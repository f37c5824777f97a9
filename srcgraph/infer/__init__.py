"""From the arguments of a call to what the graph is specialised on.

In: Python objects. Out: skeletons (what changes the graph) and leaves (the numbers and arrays that
are passed to it). Types inside a graph come from the ops' own rules, applied by `srcgraph.ir.builder`.

signature  skeletons of numbers, arrays, tuples, functions and constants; sizes; shared arrays
"""
