"""From a closed graph to the closed graph of its value and gradient, loops and branches included.

In: an optimised graph, which result to differentiate, with respect to which parameters. Out: one
graph with the forward and the reverse sweep, and for every value the reverse sweep reads, how it
comes by it: it is still there, it is recomputed, or it is saved on a tape.

vjp        the order of work;  jvp: forward mode;  forward: tangents beside values
preaccumulate  loops that depend on few numbers carry tangents along in place of a tape
induction  integers that counted loops change by the same amount follow from the trip
selected   loops that keep the best of what they try say which trip that is from
prepare    loops count their trips and say why they stopped
activity   which values depend on the inputs and influence the result
custom     rules that users write, in place of calls;  transpose: forward mode by those for reverse mode;
           affine: what such rules add to tangents
reverse    the reverse sweep, written as if every forward value could be read; `accumulate`
lists      the adjoints of lists: pushes become pops, and the other way round
known      what reverse code computes that the forward sweep has computed
residuals  what to save and what to recompute: a minimum cut in bytes;  lasting: what stays in arrays
inverse    what loops do that can be undone;  overwritten: elements that are put back;  mincut: minimum cuts of
           networks
unused     where a cotangent may be 0 beside an infinite derivative;  vanishing: where a tangent may, in a gradient
plan       where each saved value is kept: arrays, blocks and lists
split      both sweeps apart again: what runs once, and what runs for every cotangent
tape       both sweeps put together;  threaded: what loops carry for that
functions  functions that call themselves
explain    the tape table, in the user's words
"""
