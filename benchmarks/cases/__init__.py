"""The suite's own cases, one file per family; `record.py` says what a case is."""

from cases import arrays, calls, equations, newton, recurrences, reductions, stencils
from cases.record import Case

CASES: dict[str, Case] = {
    case.name: case
    for family in (calls, newton, recurrences, equations, arrays, reductions, stencils)
    for case in family.CASES
}
