"""The language of the graphs: typed, functional, closed; and what any pass needs to work on them.

In: nodes appended through a `Builder`, or text. Out: `Graph`s, which every other package reads.
Nothing here knows Python's syntax, numba, or how a derivative is put together.

types     what is known of a value: dtype, a `Dim` per axis, Python's number or NumPy's
dims      sizes and integers as exact polynomials; equality and inequality proved
promote   NumPy's promotion rules, asked of NumPy
graph     Value, Apply, If, While, For, Call, Rule, Native, Graph: frozen data
operators Python's operators and NumPy's protocols of values and shared variables
op        Op and Composite: one record says everything about an operation
ops       the records, by theme
view      which elements a basic index selects, as data
builder   the one way to make graphs: regions, branches, loops, calls
straight  its base, for straight code: types, names, places, sizes, merging of equal nodes
closure   outer values read by inner graphs become captures, and back
rebuild   replay a graph through a builder: the base of most passes
walk      every node at every depth; equality up to names
bitgen    NumPy's random generators, and its C functions that draw from them
shared    containers whose values compiled functions share
text      templates: text with numbers in it, filled in at run time
exceptions  exception classes by name
verify    the invariants of a closed graph
interp    run a graph with NumPy, node by node: its reference meaning
printer   graph to text
parser    text to graph

Without Python source:
symbolic  graphs built from variables;  shared: variables whose values live on between calls
placing   what only one side of a conditional of variables needs goes into that branch

For other programs and languages (`docs/instructions.md`):
document  graph to plain data, as JSON has it;  restore: plain data to graph;  plain: types and attributes
inferred  the types that follow from what stands before;  attributes: what attributes of ops may be
listing   numbered instructions;  scanner: these back to graphs
interchange  JSON;  schema: its grammar
structure one hash for equal graphs
"""

from srcgraph.ir.interchange import from_json, to_json
from srcgraph.ir.listing import instructions
from srcgraph.ir.scanner import from_instructions
from srcgraph.ir.structure import structural_hash
from srcgraph.ir.symbolic import graph_of, matrix, scalar, tensor, vector

__all__ = [
    "from_instructions", "from_json", "graph_of", "instructions", "matrix", "scalar", "structural_hash", "tensor",
    "to_json", "vector",
]  # fmt: skip
