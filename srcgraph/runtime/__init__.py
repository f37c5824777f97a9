"""What users call: from a Python function to compiled versions of it, and their calls.

In: functions and arguments. Out: what plain Python would have returned. Everything else in the
package is used from here.

api             compile, inspect; `Compiled`, which keeps a version per signature
specialization  to one version: frontend, passes, transforms and code generation in order;  specialized: that, and its
                calls;  described: what their arguments are
lying           versions for arrays in Fortran's order
derivatives     grad, value_and_grad, jvp;  jacobians: jacfwd, jacrev, hessian, hvp, vjp;  vmap: over lanes
custom          custom_vjp, custom_jvp;  implicit: roots and fixed points;  texts: functions made of text
pullbacks       reverse mode in two versions;  cotangents: what is given to a pullback, checked and taken apart
floats          what derivatives are of: the floats of arguments and results, in their structures
written         functions written around a user's;  tangents: forward mode as a transform
transforms      what can be made of a function before it is compiled: its gradient
shared          shared variables: constructors by type of value;  state: their values read, and committed, by a call
functions       functions of variables;  params, structure: their parameters, and the structure of what they return;
                symbolic: functions called on variables;  formulas: operators and NumPy of variables;  choosing: ifelse
wrt             gradients with respect to shared variables;  built: those of numbers built of variables
results         what a call returns, made from the generated function's outputs
calls           calls by machine code;  calls_code: the code;  calls_layout: the memory it reads;  straight: without
engines         what else runs graphs: the interpreter, a machine of thunks;  eager: one instruction at a time
explaining      explain: where the time of compiling goes, and which checks, copies and stores are left
inspection      what a version became: source, graph, generated code, tape and passes, as text
html            the same as HTML;  highlight: Python text in colours;  excerpts: the user's functions in it
cache           compiled versions on disk, for other processes
load            generated text to a function that tracebacks and debuggers can show
effects         text, warnings and exceptions made while compiled code runs
kernels         products, factors, sorts and transforms by libraries, as C functions that all engines call
native          kernels of the user's;  kernel_types: whether one fits;  natives: calls of them in generated code
helpers         functions that generated code calls, kept on disk;  loops: where NumPy's C loops are
gpu             what CUDA texts import: launches, arrays on the device, device functions;  simulator: as a GPU computes
on_device       arrays that are on a device already, in the signature of a call
compiler        numba's compiler for generated text;  lowering: less for LLVM to do;  uses: what reads variables
disjoint        which arrays share no memory, for LLVM;  short_loops: those that it is told not to write out
dividing        quotients of integers that it would compute for one of several steps alone
masked_bytes    stores of eight bytes that it would make of sixteen
known_types     what operators give, remembered;  ssa: a name for each version of a variable
integers        a compiler with integers that are right;  magnitudes: their sizes
memory          how much memory of large arrays is kept;  pool, pool_code: the blocks it is in;  arrays: those in them
parallel        loops that threads share, in generated code;  workers, workers_code: the threads;  threads: how many
cpu             helpers: products, reshaping;  decompositions, fourier, sorting: those around kernels;  copies: of lists
random          helpers: draws from a generator;  ziggurat: the two most common, without a call
masks           helpers: elements that masks mark;  edges: arrays copied at their edges
ufuncs          NumPy's C loops, powers;  decimals: round;  hypots: their comparisons by squares
"""
