"""The database of all rewrites, and in which order they run: here and nowhere else."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from srcgraph.opt.abreast import abreast
from srcgraph.opt.accumulate import accumulate
from srcgraph.opt.added import added
from srcgraph.opt.appended import appended
from srcgraph.opt.contract import contract
from srcgraph.opt.coordinates import coordinates
from srcgraph.opt.dce import dce
from srcgraph.opt.distribute import distribute
from srcgraph.opt.early import early
from srcgraph.opt.edgewise import edgewise
from srcgraph.opt.eliminated import eliminated
from srcgraph.opt.exchanged import exchanged
from srcgraph.opt.forwarded import forwarded
from srcgraph.opt.fuse import fuse
from srcgraph.opt.gathers import LogsOfGathered
from srcgraph.opt.interchanged import interchanged
from srcgraph.opt.lanes import batch
from srcgraph.opt.licm import licm
from srcgraph.opt.masked import masked
from srcgraph.opt.modes import Mode, current_mode
from srcgraph.opt.once import once
from srcgraph.opt.peeled import peeled
from srcgraph.opt.private import private
from srcgraph.opt.products import products
from srcgraph.opt.raised import raised
from srcgraph.opt.recomputed import recomputed
from srcgraph.opt.renewed import renewed
from srcgraph.opt.reshapes import carry_reshaped
from srcgraph.opt.rewriting.database import EquilibriumDB, InSequence, SequenceDB
from srcgraph.opt.rewriting.walkers import Equilibrium, Rewriter
from srcgraph.opt.rolls import copied_once, ends_in_parts, in_parts
from srcgraph.opt.rowwise import rowwise
from srcgraph.opt.rules import CANONICALIZE, SPECIALIZE, STABILIZE
from srcgraph.opt.rules import LAST as FINAL
from srcgraph.opt.rules.rule import Rule
from srcgraph.opt.scalars import scalars
from srcgraph.opt.settle import settle
from srcgraph.opt.simplify import simplify
from srcgraph.opt.sink import sink
from srcgraph.opt.slopes import slopes
from srcgraph.opt.states import states
from srcgraph.opt.strips import strips
from srcgraph.opt.tabulated import tabulated
from srcgraph.opt.thread import thread
from srcgraph.opt.together import together
from srcgraph.opt.unread import unread
from srcgraph.opt.unroll import unroll
from srcgraph.opt.within import within

STAGES = ("merge", "canonicalize", "stabilize", "specialize", "merge_again", "loops", "inplace", "clean", "last")
"""What happens in this order. Fusion of elementwise code belongs to the schedule, which comes after."""

ALWAYS = ("fast_run", "fast_compile")

db = SequenceDB("rewrites", STAGES, inplace="inplace", others=("native", "forward"), usual="clean")
"""Every rewrite, by name and tags; users register theirs here."""


def _local(stage: str, *tags: str) -> Callable[[tuple[Rule, ...]], EquilibriumDB]:
    def registered(rules: tuple[Rule, ...]) -> EquilibriumDB:
        made = db.register(f"{stage}_rules", EquilibriumDB(f"{stage}_rules"), *tags, at=stage)
        for rule in rules:
            made.register(rule.name, rule.rewrite, stage, *rule.tags)
        return made

    return registered


db.register("dce", dce, *ALWAYS, at="merge")
db.register("settle", settle, *ALWAYS, at="merge")
db.register("thread", thread, *ALWAYS, "primal", at="merge")
db.register("simplify", simplify, *ALWAYS, at="merge")
db.register("appended", appended, "fast_run", "primal", at="merge")
db.register("unread", unread, "fast_run", at="merge")
db.register("private", private, "fast_run", at="merge")
db.register("fuse", fuse, "fast_run", "joins", at="merge")
canonicalize = _local("canonicalize", "fast_run")(CANONICALIZE)
db.register("logs_of_gathered", LogsOfGathered(), "fast_run", "stability", at="stabilize")
stabilize = _local("stabilize", "fast_run")(STABILIZE)
specialize = _local("specialize", "fast_run")(SPECIALIZE)
db.register("unroll", unroll, "fast_run", at="loops")
db.register("scalars", scalars, "fast_run", at="loops")
db.register("licm", licm, "fast_run", at="loops")
db.register("rowwise", rowwise, "fast_run", "primal", at="loops")
db.register("distribute", distribute, "fast_run", at="loops")
db.register("tabulated", tabulated, "fast_run", at="loops")
db.register("batch", batch, "fast_run", at="loops")
db.register("products", products, "fast_run", at="loops")
db.register("states", states, "fast_run", at="loops")
db.register("sink", sink, "fast_run", at="loops")
db.register("carry_reshaped", carry_reshaped, *ALWAYS, at="loops")
db.register("within", within, "fast_run", at="loops")
db.register("slopes", slopes, "fast_run", at="loops")
db.register("dce_again", dce, *ALWAYS, at="clean")
db.register("early", early, "fast_run", at="clean")
_local("last", "fast_run", "last")(FINAL)
db.register("copied_once", copied_once, "fast_run", "cpu", at="last")
db.register("in_parts", in_parts, "fast_run", at="last")
db.register("ends_in_parts", ends_in_parts, *ALWAYS, "gpu", at="last")
db.register("accumulate", accumulate, "fast_run", at="last")
db.register("together", together, "fast_run", at="last")
db.register("contract", contract, "fast_run", at="last")
db.register("once", once, "fast_run", at="last")
db.register("added", added, "fast_run", at="last")
db.register("coordinates", coordinates, "fast_run", at="last")
db.register("recomputed", recomputed, "fast_run", at="last")
db.register("eliminated", eliminated, "fast_run", at="last")
db.register("interchanged", interchanged, "fast_run", "cpu", at="last")
db.register("peeled", peeled, "fast_run", "cpu", at="last")
db.register("raised", raised, "fast_run", at="last")
db.register("edgewise", edgewise, "fast_run", "cpu", at="last")
db.register("exchanged", exchanged, "fast_run", at="last")
db.register("renewed", renewed, "fast_run", "cpu", at="last")
db.register("forwarded", forwarded, "fast_run", "cpu", at="last")
db.register("abreast", abreast, "fast_run", "cpu", at="last")
db.register("masked", masked, "fast_run", "cpu", at="last")
db.register("strips", strips, "fast_run", "cpu", at="last")


_OWN = {id(e.item): e.item for e in db.everything()}
"""Those of the product; one that stands in two places is there twice."""


def is_own() -> bool:
    """Whether the database holds the rewrites of the product, and no others: what others do cannot be told from their
    text alone."""
    return all(id(e.item) in _OWN for e in db.everything())


@functools.lru_cache(maxsize=64)
def _rewriters(mode: Mode, without: tuple[str, ...], only: tuple[str, ...], digest: str) -> tuple[Rewriter, ...]:
    query = mode.query.excluding(*without).requiring(*only)
    made = db.rewriter(query, strict=mode.check)
    assert isinstance(made, InSequence)
    return tuple(s for s in made.steps() if not only or not isinstance(s, Equilibrium) or s.table)


class Passes:
    """The rewrites that graphs go through, in order, as the current mode asks for them.

    Parameters
    ----------
    without, only : tuple of str
        Tags of rewrites that are not among them, and that all of them have.
    """

    def __init__(self, without: tuple[str, ...] = (), only: tuple[str, ...] = ()):
        self.without, self.only = without, only

    def __iter__(self) -> Iterator[Rewriter]:
        return iter(_rewriters(current_mode(), self.without, self.only, db.digest))


PRIMAL = Passes(without=("last",))
"""What every function goes through before it is differentiated or emitted."""
DERIVED = Passes(without=("primal", "last"))
"""What a derivative's graph goes through."""
BEFORE_SPLIT = Passes(without=("primal", "last", "joins"))
"""The same, of which what depends on no cotangent runs once: no loop becomes one with another."""
LAST = Passes(only=("last",), without=("gpu",))
"""What graphs go through that are not differentiated any more."""
LAST_ON_GPU = Passes(only=("last",), without=("cpu",))
"""The same, where generated code runs on a GPU."""
