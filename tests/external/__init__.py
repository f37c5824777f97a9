"""Programs of other projects, as their authors wrote them, against CPython.

No text of these projects is kept here. Each adapter reads a checkout named by an environment variable and is skipped
without it; `docs/conformance.md` holds what was found, and is written by ``python -m external`` in ``tests/``.

- `tangent_functions`: google/tangent, ``SRCGRAPH_TANGENT``.
- `npbench_programs`: spcl/npbench, ``SRCGRAPH_NPBENCH``.
- `autograd_points`: HIPS/autograd, ``SRCGRAPH_AUTOGRAD``.
- `numba_usecases`: numba, ``SRCGRAPH_NUMBA``.
- `recording`: collects what a suite's tests pass to its own tools.
- `report`, `__main__`: the tables.

What a case is and how it is judged is in `judging`.
"""
