"""Random programs against CPython, and what is left of those that go wrong.

- `kinds`, `numbers`, `arrays`, `structures`, `helpers`, `generator`: from a seed to a program, a function of the
  corpus's inputs.
- `check`: what srcgraph makes of a program: right, refused, wrong or a defect; forward and gradient.
- `shrink`: the smallest program that still goes wrong in the same way.
- `__main__`: long runs, ``make fuzz N=20000 SEED=1``.

A program found here can be pasted into ``tests/programs``.
"""
