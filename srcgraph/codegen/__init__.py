"""From a closed graph to the text of a Python module that numba compiles and people read.

In: a graph, which parameters it may change, which results are returned. Out: text, the user's line
for each of its lines, and the array copies that had to be made.

The stages, in order:
uses       who reads and who overwrites each value
versions   lists that change while what they were is needed
decisions  what gets a variable, what is nested, what needs memory
schedule   graph to items, by these decisions: statements and loops
kernels    loop nests over arrays: made, stored into, reduced
into       sums that a derivative adds to an array, added there without one of their own
fusion     nests joined, by points or by rows;  nest: one to which others are joined, and what is known of it
flat       reductions of arrays of short rows, along one axis
totals     sums of one nest that are only added to each other
expr       an element of an array at an index, as one nested expression
unsaid     integers of arrays whose text is one of Python's
items      the vocabulary between schedule and text: statements whose variables have no names yet
storage    values become buffers: which store is in place, which needs a copy;  rebound: arrays that a loop binds anew;
           reading: what a nest reads around what it stores
liveness   where each variable is still needed, as ranges (`spans`)
late       what a loop hands on, after what it replaces is read
names      the user's names; one name for the versions of one variable (`groups`)
body       items to statements
tidy       flags back to `break` and `return`; `truths`: tests where they are asked
rows, shifted, rings, padded  what derivatives add to arrays: row by row, each row in one loop, all of its rows at
           once, and with zeros around rows so that no place is apart
ahead      elements that the next step reads, too, read before anything is stored
buffers    arrays that a loop makes anew in each trip, made once before it;  narrow: a row or a number, where one trip
           uses no more;  swapped: some of them, filled in turns;  rounds: grids that go round, read where they are
shorter    arrays that each trip makes shorter, in one memory;  saved: arrays that a tape keeps as they are, not copies
delayed    arrays that are computed of others and then stored into them: a few rows are kept;  behind: elements
waiting    of several integers the one that the trip before computes comes last
overwritten  arrays that one way computes of others, computed where these are
sparse     steps of a sweep back that nothing comes of are left out
unfilled   what would be taken from lists that nothing is put into
steady     checks that ask the same in each trip, before the loop
inward     loops around nests that make all elements anew in each step, inside these
trips      what the trips of a loop do, and whether two loops may be one
shared_rows  loops over rows, row by row together;  handed: arrays between loops, as numbers;  reread: copies of rows
           read where they are
checked    loops that only check, before those that compute, and checks of loops that were joined
running    the largest and the smallest so far, where each step of a loop needs it
ragged     rows of several lengths that go onto a list, in one array
memory     arrays that may be large in memory that is kept for the next one
program    the stages up to here in order, whatever the target
independent  which loops could run their trips side by side;  aliases, affine, reductions: what it asks for
parallel   loops that threads share;  regions, joins: their text;  work: how long trips take;  variables: types by name
outline    a large function as a short driver over named kernels
source     statements to text, line map, comments with the user's lines
displays   choices in long tuples, computed before them;  inside: checks in loops, in one comparison
statements the statements and names in a piece of a syntax tree;  pieces: such pieces, made
flow       what statements read and assign, and which names are needed after each
cpu        all of these in order: one numba function
cuda       a driver and CUDA kernels: `threads` shows that points can run at once, `launches` writes kernels, with
           `spelling` for expressions and `blocks` for reductions
helpers    the functions of `srcgraph.runtime` that texts call
"""
