"""Recorded tensor graphs of another project: built from variables, run by the engines, held against its results.

The file of records is where the environment variable ``SRCGRAPH_CONFORMANCE`` says; without it nothing is run. A line
of it is a graph: nodes with the names and properties of their ops, arguments, and results.

records      what a file holds
writing      what an op is built with: text of its inputs, as variables or evaluated by NumPy
elementwise  ops by name: elementwise ones;  shapes, reductions, indexing, linear: the others
building     graphs of records;  judging: what an engine makes of them
report       tables of what became of them; ``python -m conformance`` in ``tests/`` prints them
"""
