"""The page that lists every rewrite says what the database holds; ``pytest --update-golden`` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from srcgraph.opt.pipeline import STAGES, db
from srcgraph.opt.rules import CANONICALIZE, LAST, SPECIALIZE, STABILIZE, Rule
from srcgraph.opt.rules.rule import CLASSES

PAGE = Path(__file__).parent.parent.parent / "docs" / "rewrites.md"
HEAD = """# Rewrites

What `sg.opt.db` holds. [rewriting.md](rewriting.md) shows how to look at rewrites, switch them off and add others.
Each rule is checked on random numbers of every type it is for, and on zeros, infinities, NaN and numbers that are very
large or small.

"""
PASSES = {
    "dce": "what nothing needs goes: nodes, outputs of branches, carries of loops",
    "settle": "carries that never change, and branches that agree, become plain values",
    "thread": "branches on one condition that follow each other become one",
    "simplify": "the graph is built anew: literals fold, equal nodes, loops and branches merge, proved checks go",
    "states": "an array of which a loop needs two neighbouring elements at a time is carried as one number",
    "appended": "a list that a loop appends one item to in every trip is an array",
    "unread": "stores into places of an array that no later trip, and nothing after the loop, reads are left out",
    "fuse": "loops over one range become one, where the second reads what the first stores at its own index",
    "logs_of_gathered": "what is gathered of a softmax to take logarithms, `log(p[rows, labels])`, "
    "`log(np.take_along_axis(p, i, 1))`, is gathered of its logarithm",
    "unroll": "loops of at most four trips over small arrays are written out",
    "scalars": "small arrays whose elements are read and stored at known places become numbers",
    "licm": "what is the same on every trip, loops too, leaves its loop",
    "rowwise": "loops that go down a column of arrays in each step go along their rows",
    "forwarded": "what a trip stores into an array and the next one reads is handed on as a number",
    "batch": "matrix products of all trips of a loop are made at once",
    "products": "products of a row of one matrix with another matrix, one in each trip, are made at once",
    "sink": "work that only one side of a branch needs is done there",
    "slopes": "in derivatives, quotients by one number are products with its reciprocal, a step of a loop is one "
    "product, and what a loop hands on is added last",
    "private": "an array that each trip of a loop fills anew is made in each trip, and carried by none",
    "distribute": "costly work of inner loops that is the same in all trips of an outer one is done before it, into an "
    "array",
    "accumulate": "what is added to a derivative's array is added there, not in an array of its own first",
    "contract": "an array of which each trip of a loop has a part of its own loses the axis of the trips",
    "together": "a loop of a derivative that goes back over independent trips is one with the loop that it goes "
    "back over",
    "once": "products of one matrix with several vectors are made for some rows at a time, so that it is read once",
    "added": "a product of matrices is put into a part of an array, or added to it, by the library that multiplies",
    "coordinates": "of points with up to four coordinates, those of the inner one of two loops over all pairs are read "
    "from a transposed copy",
    "recomputed": "an array that is read at a few shifts, and whose elements cost little, is not made: they are "
    "computed where they are read",
    "eliminated": "systems of at most three equations are solved by elimination that is written out",
    "copied_once": "shifts round of one array are parts of one copy with more at its ends",
    "ends_in_parts": "on GPUs, an array with more at its ends is made axis by axis",
    "in_parts": "an array shifted round once is copied in two parts, or added so to a derivative",
    "within": "loops of derivatives that add what is 0 unless a branch is taken are in that branch",
    "tabulated": "functions that loops inside loops compute again and again are computed before them, into an array",
    "peeled": "loops whose first or last steps differ are in parts, of which the middle one asks nothing",
    "abreast": "loops of the same steps for all elements are exchanged with the loop over these",
    "masked": "loops that each step of another loop runs until something has converged take steps several at a time",
    "strips": "functions that a loop waits for nothing to compute are computed a strip of its steps at a time",
    "interchanged": "loops in each other go along the rows of most arrays, where their order is free",
    "raised": "loops of derivatives whose steps add to several elements of an array are operations on rows",
    "edgewise": "what a loop computes of an array whose middle it has stored is computed of the middle, and the edges",
    "exchanged": "a loop that copies an array in order to change it fills another one",
    "renewed": "an array that a loop computes anew of itself, element by element, is stored into",
    "carry_reshaped": "a loop that changes an array through a reshape of it carries the reshaped array",
    "early": "checks of sizes come before the work, and what they say of lengths is known after them",
    "dce_again": "as `dce`",
}


def page() -> str:
    classes = "".join(f"- **{name}**: {text}.\n" for name, text in CLASSES.items())
    return HEAD + classes + "".join(section(stage) for stage in STAGES)


def section(stage: str) -> str:
    lines = list(passes(stage))
    known = {"canonicalize": CANONICALIZE, "stabilize": STABILIZE, "specialize": SPECIALIZE, "last": LAST}
    rules = known.get(stage, ())
    if rules:
        lines += ["| name | before | after | when | class, tags |", "|---|---|---|---|---|", *map(row, rules)]
    return f"\n## {stage}\n\n" + "\n".join(lines or ["Nothing of its own."]) + "\n"


def passes(stage: str) -> Iterator[str]:
    at = ""
    for name in db.order:
        at = name if name in STAGES else at
        if at == stage and name in PASSES:
            yield f"- `{name}`: {PASSES[name]}."


def row(rule: Rule) -> str:
    tags = ", ".join(t for t in rule.tags if t != "fast_run")
    cells = (f"`{rule.name}`", f"`{rule.before}`", f"`{rule.after}`", rule.condition, tags)
    return f"| {' | '.join(cells)} |"


def test_the_page_lists_every_rewrite(update_golden: bool) -> None:
    if update_golden:
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
    known = {*PASSES, *(r.name for r in (*CANONICALIZE, *STABILIZE, *SPECIALIZE, *LAST))}
    assert known == {n for n in db.names() if not n.endswith("_rules")}
