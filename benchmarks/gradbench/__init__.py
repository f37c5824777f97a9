"""GradBench's twelve evals in plain Python, compiled and differentiated by srcgraph.

Written from the problem statements of https://github.com/gradbench/gradbench (evals/*/README.md), which takes gmm, ba,
ht and lstm from ADBench (Srajer, Kukelova and Fitzgibbon, Optimization Methods and Software 33, 2018), llsq, det and
ode from cmpad, particle and saddle from Pearlmutter and Siskind (Using Programming Language Theory to Make Automatic
Differentiation Sound and Efficient, 2008).

hello gmm ba ht lstm lse llsq det kmeans ode particle saddle    one eval each, and what its functions are called
descent      gradient descent, for particle and saddle
protocol     input to arguments, results to output
inputs       inputs by seed; expected: what GradBench's tool gives for the small ones, kept in data/expected.json
tool         ``python -m gradbench.tool``, run here in benchmarks/, is a tool for GradBench's own runner
__main__     ``python -m gradbench`` times them against hand, derivatives written by hand for numba
"""
