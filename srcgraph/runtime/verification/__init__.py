"""Whether a gradient is right: ``grad(f, verify=True)``.

In: a call of a gradient. Out: its result, or an error that names the first statement, as the reverse sweep goes, whose
adjoint is wrong.

trace        one run of a function as straight code: no loops, branches or calls are left
pullback     what the derivative rule of one step makes of cotangents
differences  derivatives by differences, how far they can be trusted, and where there are none
sweep        the reverse sweep over a trace, each step compared with differences
observe      the cotangents that the real reverse sweep has on the way, and where they part from those of the trace
verified     the function that users get
"""
