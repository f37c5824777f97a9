"""From a Python function and the types of its arguments to typed graphs.

In: a live function, and the skeletons of the arguments of a call (`srcgraph.infer.signature`).
Out: a `Program` of closed graphs, one per function called; what the call returns, as a template over
the graph's results; what was read from outside, as inputs and guards. Or every problem, with its line.

Once per function:
source       find the function's text, parse it, check that it is what is running
fence        the supported language as one table; all violations at once
exits        break, continue and early return in tail position only;  returned: what several returns have in common
scope        assigned, read and still needed names, per block

Once per signature:
specialize   one graph per function and signature; what calls return and change
callees      a call of a lowered function: what it means to the caller
rules        calls of functions with derivative rules of their own;  custom: what these return;  natives: kernels
once         iterators, which are gone over once: where one could be met again, it is refused
later        items of lists and dicts that are read when their turn comes;  watched: what must not change until then
passing      a call's arguments as skeletons and values, its outputs as entities
returns      what a function returns and changes, over its outputs
parameters   what skeletons mean to the function being lowered
template     what a call returns, over the outputs of its graph
session      what the functions of one specialisation share: graphs, globals read, guards, problems
lower        the abstract interpreter: its state, names, and the walk over statements
statements   assignment, stores, branches
loops        loops over few things, over anything, and while something holds
iterators    what itertools and np.ndindex make;  nests: loops over these;  positions: their items by position
iteration    what a `for` runs over: how many items, and the one at a position;  flat: x.flat
carrying     the body walked until the state at its header stops changing, and the `For` or `While` of it
headers      what a name can be at the start of an iteration;  shape_values: the values carried for it
invariants   what stays true of the integers that a loop carries;  lengths: how long the arrays are in each trip
sharing      what a loop carries that may be the same memory or object
kinds        what numbers of different kinds become where paths join
join         what two paths made of names and memory, as outputs of one `If`
expressions  every expression, by its kind; unpacking
operators    + - * / ** and the like, with Python's own meaning
conditions   and, or, comparisons, conditional expressions: only what is needed is evaluated
truths       not, and, or, if of truths that may be known when compiling
indexing     subscripts, read or stored into
attributes   attributes and methods of arrays, numbers, modules
calls        calls of NumPy, math, builtins and the user's functions
closures     functions defined inside the one being lowered
boxes        what is changed in place and is no array: variables of closures, fields of objects
pythonic     Python's builtins with Python's meaning
text         f-strings and the like: text with numbers of run time in it
catching     try: a check that a handler catches splits the path
guarding     what is known of a try while it is lowered
effects      raise, assert, print, warnings
operator_functions  functions of the module operator
numbers      functions of math, cmath and methods of numbers, written in Python: in arithmetic, complex_arithmetic
resolve      what users write, by the Python object it is: the ops and rules behind it
arrays       NumPy functions about memory: views and copies
generators   methods of random generators;  drawing: those written in Python;  grids: np.r_, np.c_, np.mgrid, np.ogrid
written      NumPy functions written in Python
fancy        indexing with arrays of integers or booleans
choices      one of a few functions or constants, known only at run time: a tag and its options
branching    actions in branches of their own, and what they give joined
higher       functools.partial and reduce
derived      grad, jvp, vjp, hvp inside compiled functions;  pullbacks: what vjp returns there
jacobians    those of more numbers;  fitting: tangents and cotangents that are given, checked and taken apart
lanes        vmap: a loop over lanes;  lane_axes: in_axes and out_axes;  lane_results: what lanes give, in arrays
structures   tuples, lists, dicts and objects, by what is in them
libraries    functions of installed packages: what is wrong in them is told where the user calls
recursion    functions that call themselves: what a call means, as a fixpoint
lists        lists: items, methods, operators;  library: the longer methods, in Python
contents     what a list's cell holds: its items while they are known, arrays or growing lists else
tables       what NumPy sees of a list;  linking: which arrays and lists may be items of which lists
nested       lists inside lists;  item_kinds: what all items of a list are
comprehensions  comprehensions and generator expressions, as the nested functions that they are
entities     what a name can mean: number, reference to an array, tuple, function, constant
either       arrays chosen at run time: which of several it is
exchange     loops that swap arrays others see
shared       shared variables: their containers are boxes that the function is given
memory       reading and writing arrays through references; views composed
layout       whether NumPy lays an array out in C order, so that its reshape is a view
"""
