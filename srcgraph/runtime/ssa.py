"""A name for each version of a variable, in numba's form of a function, as numba's own pass gives them.

numba's goes through the whole function twice for each variable that is assigned to more than once; here all variables
are renamed on one way through it.

References
----------
R. Cytron, J. Ferrante, B. K. Rosen, M. N. Wegman, F. K. Zadeck, "Efficiently computing static single assignment form
and the control dependence graph", TOPLAS 13 (1991). M. Braun et al., "Simple and efficient construction of static
single assignment form", CC 2013: values at the start of a block are looked for when they are asked for.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from typing import Any

from numba.core import ir, ir_utils
from numba.core.analysis import compute_cfg_from_blocks


def rename(func_ir: ir.FunctionIR) -> None:
    """Rename variables, so that each is assigned to once, and add phi nodes where versions meet."""
    if func_ir.blocks:
        _Versions(func_ir.blocks).rename()


class _Versions:
    def __init__(self, blocks: dict[int, ir.Block]):
        self.blocks = blocks
        self.graph: Any = compute_cfg_from_blocks(blocks)
        self.above = self.graph.immediate_dominators()
        self.scope = next(iter(blocks.values())).scope
        self.defined: dict[str, list[tuple[int, ir.Assign]]] = defaultdict(list)
        self.used: dict[str, set[int]] = defaultdict(set)
        self.names: dict[int, list[tuple[Any, dict[str, None]]]] = {}
        """Of each block the statements, and the names that each reads."""
        self._read()
        self.several = self._violators()
        self.last: dict[tuple[int, str], ir.Var] = {}
        """The version of a variable at the end of a block that assigns to it."""
        self.first: dict[tuple[int, str], Any] = {}
        """The version of a variable at the start of a block, once it was looked for."""
        self.phis: dict[int, list[ir.Assign]] = defaultdict(list)
        self.open: list[tuple[Any, int, str]] = []
        """Phi nodes whose incoming values are yet to be looked for."""

    def rename(self) -> None:
        targets = self._targets()
        self.meets = {name: self._meeting({label for label, _ in self.defined[name]}) for name in self.several}
        for label, block in self.blocks.items():
            block.body = self._renamed(label, targets)
        while self.open:
            phi, label, name = self.open.pop()
            for before, _ in self.graph.predecessors(label):
                phi.value.incoming_values.append(self._at_end(before, name))
                phi.value.incoming_blocks.append(before)
        for label, phis in self.phis.items():
            self.blocks[label].body = [*reversed(phis), *self.blocks[label].body]

    def _read(self) -> None:
        for label, block in self.blocks.items():
            rows = self.names[label] = []
            for s in block.body:
                if isinstance(s, ir.Assign):
                    self.defined[s.target.name].append((label, s))
                found = _read_by(s.value if isinstance(s, ir.Assign) else s)
                names = dict.fromkeys(v.name for v in found)
                for name in names:
                    self.used[name].add(label)
                rows.append((s, names))

    def _violators(self) -> dict[str, None]:
        """The variables that are assigned to more than once, or read where nothing need have been assigned."""
        found = dict.fromkeys(name for name, made in self.defined.items() if len(made) > 1)
        dominators = self.graph.dominators()
        for name, labels in self.used.items():
            if name not in found and (made := self.defined.get(name)):
                at = made[0][0]
                if any(at not in dominators[label] for label in labels):
                    found[name] = None
        return found

    def _targets(self) -> dict[int, ir.Var]:
        """What is assigned to instead, by the statement; the first version keeps its name."""
        targets = dict[int, ir.Var]()
        for name in self.several:
            for k, (label, s) in enumerate(self.defined[name]):
                target = s.target if k == 0 else self.scope.redefine(name, loc=s.loc)
                targets[id(s)] = self.last[label, name] = target
        return targets

    def _meeting(self, labels: set[int]) -> set[int]:
        """The blocks that versions assigned in some blocks reach on several ways."""
        frontier, found, left = self.graph.dominance_frontier(), set[int](), list(labels)
        while left:
            new = frontier.get(left.pop(), set()) - found
            found |= new
            left += new
        return found

    def _renamed(self, label: int, targets: dict[int, ir.Var]) -> list[Any]:
        body, here = list[Any](), dict[str, ir.Var]()
        for s, names in self.names[label]:
            changed = s
            instead = dict[str, ir.Var]()
            for name in (n for n in names if n in self.several):
                version = here[name] if name in here else self._at_start(label, name)
                if version is not ir.UNDEFINED and version.name != name:
                    instead[name] = version
            target = targets.get(id(s))
            if isinstance(s, ir.Assign):
                value = _with(s.value, instead)
                if value is not s.value or target not in (None, s.target):
                    changed = ir.Assign(value=value, target=target or s.target, loc=s.loc)
            elif instead:
                changed = copy(s)
                ir_utils.replace_vars_stmt(changed, instead)
            if target is not None:
                here[s.target.name] = target
            body.append(changed)
        return body

    def _at_end(self, label: int, name: str) -> Any:
        return self.last[label, name] if (label, name) in self.last else self._at_start(label, name)

    def _at_start(self, label: int, name: str) -> Any:
        """The version with which a block is entered; UNDEFINED if there is none."""
        passed = list[int]()
        while (found := self.first.get((label, name))) is None:
            passed.append(label)
            if label in self.meets[name]:
                found = self._phi(label, name)
                break
            if self.above[label] == label:
                found = ir.UNDEFINED
                break
            label = self.above[label]
            if (found := self.last.get((label, name))) is not None:
                break
        for at in passed:
            self.first[at, name] = found
        return found

    def _phi(self, label: int, name: str) -> ir.Var:
        loc = self.blocks[label].loc
        target = self.scope.redefine(name, loc=loc)
        phi = ir.Assign(value=ir.Expr.phi(loc=loc), target=target, loc=loc)
        self.phis[label].append(phi)
        self.open.append((phi, label, name))
        return target


def _read_by(value: Any) -> Any:
    if isinstance(value, ir.Var):
        return (value,)
    return value.list_vars() if isinstance(value, ir.Inst) else ()


def _with(value: Any, instead: dict[str, ir.Var]) -> Any:
    """What is assigned, of other versions."""
    if not instead:
        return value
    if isinstance(value, ir.Var):
        return instead[value.name]
    changed = copy(value)
    ir_utils.replace_vars_inner(changed, instead)
    return changed
