"""How local rewrites go over a graph: once, in some order, or until none of them applies any more."""

from __future__ import annotations

import random
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from srcgraph.errors import Problem
from srcgraph.ir.graph import Apply, Graph, Value
from srcgraph.ir.walk import all_nodes
from srcgraph.opt.rewriting.blocks import Block, Site
from srcgraph.opt.rewriting.features import Feature, Profiler
from srcgraph.opt.rewriting.fgraph import Client, FunctionGraph, InconsistencyError
from srcgraph.opt.rewriting.local import LocalRewrite, RewriteError, RewriteWarning, apply_at, kind_of
from srcgraph.opt.rewriting.place import Place, untouched


class Rewriter:
    """A rewrite of a whole graph.

    Attributes
    ----------
    name : str
    """

    name = ""

    def requires(self, fgraph: FunctionGraph) -> None:
        """Attach the features it needs; those that are attached are not attached again."""

    def apply(self, fgraph: FunctionGraph) -> bool:
        """Change the graph; whether it did."""
        raise NotImplementedError

    def rewrite(self, fgraph: FunctionGraph) -> bool:
        """`requires`, then `apply`."""
        self.requires(fgraph)
        return self.apply(fgraph)

    def __call__(self, graph: Graph) -> Graph:
        """The graph rewritten; the same object if nothing changed."""
        fgraph = FunctionGraph(graph)
        self.rewrite(fgraph)
        return fgraph.graph()


class GraphPass(Rewriter):
    """A function from graph to graph as a rewriter."""

    def __init__(self, name: str, run: Callable[[Graph], Graph]):
        self.name = name
        self.run = run

    def apply(self, fgraph: FunctionGraph) -> bool:
        before, started = fgraph.graph(), time.perf_counter()
        after = self.run(before)
        if after is before:
            return False
        fgraph.assign(after)
        told(fgraph, "on_rewrite", self.name, time.perf_counter() - started)
        return True

    def __repr__(self) -> str:
        return f"<pass {self.name}>"


def told(fgraph: FunctionGraph, what: str, *about: Any) -> None:
    """Tell every feature."""
    for feature in list(fgraph.features):
        getattr(feature, what)(fgraph, *about)


def by_op(rules: Iterable[LocalRewrite]) -> dict[str, list[LocalRewrite]]:
    """Local rewrites by the ops that they track."""
    table: dict[str, list[LocalRewrite]] = {}
    for rule in rules:
        for name in rule.ops:
            table.setdefault(name, []).append(rule)
    return table


class _Local(Rewriter):
    """What walks with local rewrites have in common.

    ``strict`` lets errors of rewrites through; otherwise a rewrite that fails is not tried again, features are told,
    and a warning is issued.
    """

    def __init__(self, name: str, rules: Sequence[LocalRewrite], strict: bool = True):
        self.name = name
        self.rules = tuple(rules)
        self.table = by_op(rules)
        self.strict = strict
        self.failed: set[LocalRewrite] = set()

    def rules_for(self, site: Site) -> list[LocalRewrite]:
        return self.table.get(kind_of(site.node), [])

    def try_at(self, fgraph: FunctionGraph, site: Site, rule: LocalRewrite, place: Place | None) -> bool:
        if rule in self.failed:
            return False
        started = time.perf_counter()
        try:
            changed = apply_at(fgraph, site, rule, place)
        except InconsistencyError as error:
            told(fgraph, "on_refusal", rule.name, error)
            return False
        except Exception as error:
            if self.strict:
                error.add_note(f"in rewrite {rule.name!r}")
                raise
            self.failed.add(rule)
            why = f"the rewrite {rule.name!r} is left out: {type(error).__name__}: {error}"
            warnings.warn(why, RewriteWarning, stacklevel=2)
            told(fgraph, "on_refusal", rule.name, error)
            return False
        if changed:
            told(fgraph, "on_rewrite", rule.name, time.perf_counter() - started)
        return changed


class Walk(_Local):
    """Local rewrites tried once at each node.

    Parameters
    ----------
    name : str
    rules : sequence of LocalRewrite
        At each node the first that applies.
    order : {"in", "out", "random"}
        From the parameters to the results, the other way, or by chance.
    seed : int
        Of the chance.
    """

    def __init__(self, name: str, rules: Sequence[LocalRewrite], order: str = "in", seed: int = 0, strict: bool = True):
        super().__init__(name, rules, strict)
        if order not in ("in", "out", "random"):
            raise RewriteError(f"order must be 'in', 'out' or 'random', not {order!r}")
        self.order = order
        self.seed = seed

    def apply(self, fgraph: FunctionGraph) -> bool:
        sites = list(fgraph.sites())
        if self.order == "out":
            sites.reverse()
        elif self.order == "random":
            random.Random(self.seed).shuffle(sites)
        changed = False
        for site in sites:
            place = None
            for rule in self.rules_for(site) if site.here else ():
                place = untouched(place, fgraph, site)
                if self.try_at(fgraph, site, rule, place):
                    changed = True
                    break
        return changed


class _Queue(Feature):
    """The sites that are to be visited: what is new, what has changed, and what reads it."""

    REACH = 4
    """How many readers of readers of what changed are visited again: as deep as patterns are."""

    def __init__(self, table: dict[str, list[LocalRewrite]]):
        self.table = table
        self.sites: deque[Site] = deque()
        self.waiting: set[Site] = set()
        self.changed: set[Site] = set()
        """Those that have got another operand."""
        self.tried: list[tuple[Site, bool]] | None = None
        """What a rewrite that is being tried touches: nothing, if it is undone."""

    def begin(self) -> None:
        """A rewrite is tried."""
        self.tried = []

    def end(self, applied: bool) -> None:
        """It was applied, or undone."""
        touched, self.tried = self.tried or [], None
        for site, changed in touched if applied else ():
            self.touch(site, changed)

    def touch(self, site: Site, changed: bool) -> None:
        if self.tried is not None:
            self.tried.append((site, changed))
            return
        if changed:
            self.changed.add(site)
        self.push(site)

    def push(self, site: Site) -> None:
        if site not in self.waiting and kind_of(site.node) in self.table:
            self.waiting.add(site)
            self.sites.append(site)

    def pop(self) -> Site | None:
        while self.sites:
            site = self.sites.popleft()
            self.waiting.discard(site)
            if site.here:
                return site
        return None

    def on_add(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        self.touch(site, changed=False)

    def on_change(self, fgraph: FunctionGraph, client: Client, old: Value, new: Value, reason: str) -> None:
        reached: list[Site | Block] = [client.holder]
        for depth in range(self.REACH):
            sites = [h for h in reached if isinstance(h, Site)]
            for site in sites:
                self.touch(site, changed=depth == 0)
            reached = [c.holder for s in sites for v in s.node.outputs for c in fgraph.clients(v)]
            if len(reached) > 64:
                return


class Equilibrium(_Local):
    """Local rewrites applied until none applies.

    Parameters
    ----------
    name : str
    rules : sequence of LocalRewrite
    most : int
        How often one rewrite may change the graph, per node of the graph.

    Raises
    ------
    RewriteError
        When applied and strict: a rewrite does not come to an end, or some undo each other. They are named.
    """

    def __init__(self, name: str, rules: Sequence[LocalRewrite], most: int = 8, strict: bool = True):
        super().__init__(name, rules, strict)
        self.most = most

    def apply(self, fgraph: FunctionGraph) -> bool:
        if not any(kind_of(node) in self.table for node in all_nodes(fgraph.graph())):
            return False
        queue = _Queue(self.table)
        for site in fgraph.sites():
            queue.push(site)
        budget = self.most * (len(queue.sites) + 8)
        counts: dict[str, int] = {}
        lineage = _Lineage()
        fgraph.attach(queue)
        try:
            while (site := queue.pop()) is not None:
                self.visit(fgraph, site, queue, counts, lineage, budget)
        finally:
            fgraph.detach(queue)
        return bool(counts)

    def visit(
        self, fgraph: FunctionGraph, site: Site, queue: _Queue, counts: dict[str, int], lineage: _Lineage, budget: int
    ) -> None:
        """Apply the first rewrite that applies at a site; what changed is visited again."""
        old = site.node.outputs
        before = [lineage.digest(fgraph, v) if v in lineage.past else None for v in old]
        readers = [fgraph.clients(v)[:1] for v in old]
        touched = site in queue.changed
        queue.changed.discard(site)
        place = None
        for rule in self.rules_for(site):
            if rule.name in lineage.ended or (rule.changed and not touched):
                continue
            queue.begin()
            applied = False
            place = untouched(place, fgraph, site)
            try:
                applied = self.try_at(fgraph, site, rule, place)
            finally:
                queue.end(applied)
            if not applied:
                continue
            counts[rule.name] = counts.get(rule.name, 0) + 1
            if counts[rule.name] > budget:
                self.end(lineage, (rule.name,), _endless(self.name, counts, rule.name))
            for value, digest, client in zip(old, before, readers, strict=True):
                if circle := lineage.record(fgraph, value, digest, client, rule.name):
                    self.end(lineage, circle, _undone(circle))
            if site.here:
                queue.push(site)
            return

    def end(self, lineage: _Lineage, names: Iterable[str], why: Problem) -> None:
        """Leave rewrites out from here on, with a warning, or an error where it is strict."""
        if self.strict:
            raise RewriteError(why)
        lineage.ended.update(names)
        warnings.warn(f"{why.message}: left out for this function", RewriteWarning, stacklevel=2)


def _undone(names: Iterable[str]) -> Problem:
    names = list(names)
    undo = " and ".join(map(repr, names))
    return Problem(f"the rewrites {undo} undo each other" if len(names) > 1 else f"{undo} has no end")


def _endless(name: str, counts: dict[str, int], rule: str) -> Problem:
    most = max(counts.values())
    often = sorted(n for n, c in counts.items() if 2 * c >= most)
    shown = ", ".join(repr(n) for n in often)
    return Problem(
        f"in {name!r}, the rewrite {rule!r} does not come to an end",
        notes=(f"applied most often: {shown}",),
        hint=f"exclude it: mode=sg.opt.FAST_RUN.excluding({rule!r})",
    )


class _Lineage:
    """What values made by rewrites were before, so that rewrites that undo each other are found out at once."""

    DEPTH = 4

    def __init__(self) -> None:
        self.past: dict[Value, tuple[tuple[Any, str], ...]] = {}
        self.ended: set[str] = set()
        """The rewrites that are left out."""

    def record(self, fgraph: FunctionGraph, old: Value, before: Any, client: list[Client], rule: str) -> list[str]:
        """Note that ``old`` has become another value, that which its first reader reads now.

        Returns the rewrites by which it has been that before.
        """
        if not client:
            return []
        holder, k = client[0].holder, client[0].position
        new = holder.results[k] if isinstance(holder, Block) else _input(holder, k)
        if new is None or fgraph.definition(new) is None:
            return []
        past = (*self.past.get(old, ()), (before, rule))
        digest = self.digest(fgraph, new)
        for k, (known, _) in enumerate(past):
            if known is not None and known == digest:
                return list(dict.fromkeys(name for _, name in past[k:]))
        self.past[new] = past
        return []

    def digest(self, fgraph: FunctionGraph, value: Value, depth: int = DEPTH) -> Any:
        """What a value is computed by, some nodes deep."""
        node = fgraph.definition(value) if depth else None
        if not isinstance(node, Apply):
            return id(value)
        attrs = tuple((k, repr(v)) for k, v in node.attrs.items())
        return (node.op.name, attrs, tuple(self.digest(fgraph, v, depth - 1) for v in node.inputs))


def _input(site: Site, k: int) -> Value | None:
    inputs = site.node.inputs if isinstance(site.node, Apply) else ()
    return inputs[k] if k < len(inputs) else None


__all__ = ["Equilibrium", "GraphPass", "Profiler", "Rewriter", "Walk"]
