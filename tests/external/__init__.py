"""Programs of other projects, as their authors wrote them, against CPython.

No text of these projects is kept here. Each adapter reads a checkout named by an environment variable and is skipped
without it; `docs/conformance.md` holds what was found, and is written by ``python -m external`` in ``tests/``.

- `cases`: what a case is, and how values and gradients are judged.
- `tangent_functions`: google/tangent, ``SRCGRAPH_TANGENT``.
- `npbench_programs`: spcl/npbench, ``SRCGRAPH_NPBENCH``.
- `report`, `__main__`: the tables.
"""
