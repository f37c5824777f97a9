"""The database of rewrites, its queries and modes; what a mode does to what is compiled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import srcgraph as sg
from srcgraph.errors import ArgumentError
from srcgraph.ir.graph import Graph
from srcgraph.opt import (
    DEBUG,
    FAST_COMPILE,
    FAST_RUN,
    EquilibriumDB,
    OpSub,
    PatternSub,
    Query,
    RewriteError,
    Rewriter,
    RewriteWarning,
    SequenceDB,
    db,
    op,
    rewrite,
)
from srcgraph.opt.pipeline import DERIVED, LAST, LAST_ON_GPU, PRIMAL, STAGES
from srcgraph.opt.rewriting.fgraph import FunctionGraph


def keep(graph: Graph) -> Graph:
    return graph


def softplus(x):
    return np.log(1.0 + np.exp(x)) * 2.0


def difference(x):
    return x - x


# -- queries --------------------------------------------------------------------------------------


def test_query_is_set_algebra() -> None:
    query = Query({"fast"}, require={"safe"}, exclude={"slow"})
    assert query.selects(frozenset({"fast", "safe"}))
    assert not query.selects(frozenset({"fast"}))
    assert not query.selects(frozenset({"fast", "safe", "slow"}))
    assert not query.selects(frozenset({"safe"}))
    assert query.including("slow").selects(frozenset({"fast", "safe", "slow"}))
    assert not query.excluding("fast").selects(frozenset({"fast", "safe"}))
    assert not query.requiring("new").selects(frozenset({"fast", "safe"}))
    assert query.including("slow").excluding("slow") == query.including("slow").excluding("slow")
    assert len({query, Query({"fast"}, {"safe"}, {"slow"})}) == 1
    assert query.key == "fast|safe|slow"


def names(rewriter: Any) -> list[str]:
    return [r.name for r in rewriter.steps()]


def sequence() -> SequenceDB:
    made = SequenceDB("test", ("early", "late"), inplace="late")
    made.register("a", keep, "fast", at="early")
    made.register("b", keep, "fast", "slow", at="early")
    made.register("c", keep, "fast", at="late")
    return made


def test_order_is_relative_to_stages_and_names() -> None:
    made = sequence()
    made.register("first", keep, "fast", before="a")
    made.register("after_a", keep, "fast", after="a")
    made.register("last_of_early", keep, "fast", after="early")
    made.register("last", keep, "fast")
    assert names(made.query(Query({"fast"}))) == ["first", "a", "after_a", "b", "last_of_early", "c", "last"]
    assert names(made.query(Query({"fast"}, exclude={"slow", "c"}))) == [
        "first", "a", "after_a", "last_of_early", "last",
    ]  # fmt: skip
    with pytest.raises(RewriteError, match="there is no stage or rewrite 'earl'") as caught:
        made.register("x", keep, at="earl")
    assert "did you mean 'early'" in str(caught.value)
    with pytest.raises(RewriteError, match="already"):
        made.register("a", keep)


def test_what_works_in_place_comes_late() -> None:
    made = sequence()
    with pytest.raises(RewriteError, match="cannot stand before the stage 'late'"):
        made.register("store", keep, "inplace", at="early")
    made.register("store", keep, "inplace", at="late")
    with pytest.raises(RewriteError, match="cannot stand before"):
        db.register("store", keep, "inplace", at="merge")


def test_databases_inside_get_the_query_or_their_own() -> None:
    made = sequence()
    inner = EquilibriumDB("inner")
    for name, tags in (("x", ("fast",)), ("y", ("fast", "slow"))):
        inner.register(name, OpSub("add", "mul", name=name), *tags)
    made.register("inner", inner, "fast", at="early")

    def rules(query: Query) -> list[str]:
        return [r.name for step in made.query(query).steps() for r in getattr(step, "rules", ())]

    assert rules(Query({"fast"})) == ["x", "y"]
    assert rules(Query({"fast"}, exclude={"slow"})) == ["x"]
    assert rules(Query({"fast"}, subquery={"inner": Query({"y"})})) == ["y"]
    assert rules(Query({"fast"}, exclude={"inner"})) == []
    assert "x" in made and made["x"].item.name == "x" and "nothing" not in made
    with pytest.raises(RewriteError, match="no rewrite 'inneer'"):
        made["inneer"]


def test_what_nothing_is_tagged_with_is_no_query() -> None:
    """The message has names like it; also inside queries for databases inside, and of what was removed."""
    made = sequence()
    with pytest.raises(RewriteError, match=r"there is no rewrite or tag 'slwo' in 'test'(.|\n)*did you mean 'slow'"):
        made.query(Query({"fast"}, exclude={"slwo"}))
    with pytest.raises(RewriteError, match="there is no database 'b_rules'"):
        made.query(Query({"fast"}, subquery={"b_rules": Query({"fast"})}))
    for wrong in (FAST_RUN.excluding("simplify2"), FAST_RUN.including("simplfy"), FAST_RUN.requiring("simplifi")):
        for make in (sg.compile, sg.grad):
            with pytest.raises(RewriteError, match=r"no rewrite or tag 'simpl(.|\n)*did you mean 'simplify'"):
                make(softplus, mode=wrong)
    with pytest.raises(RewriteError, match=r"no rewrite or tag 'log_1p' in 'stabilize_rules'(.|\n)*'log1p'"):
        db.query(Query({"fast_run"}, subquery={"stabilize_rules": Query({"log_1p"})}))
    made.remove("b")
    with pytest.raises(RewriteError, match="'slow'"):
        made.query(Query({"fast"}, exclude={"slow"}))


def test_stages_are_tags() -> None:
    made = sequence()
    assert names(made.query(Query({"early"}))) == ["a", "b"]
    assert names(made.query(Query({"fast"}, exclude={"early"}))) == ["c"]
    loops = {r.name for r in db.query(Query({"loops"})).steps()} & {r.name for r in PRIMAL}  # type: ignore[attr-defined]
    assert {
        "licm",
        "distribute",
        "batch",
        "products",
        "states",
        "sink",
        "carry_reshaped",
    } <= loops and "dce" not in loops
    db.check(FAST_RUN.query.excluding("inplace", "clean"))


def test_removed_and_tagged() -> None:
    made = sequence()
    made.remove("b")
    assert names(made.query(Query({"fast"}))) == ["a", "c"]
    made.tag("a", "special")
    assert names(made.query(Query({"special"}))) == ["a"]
    assert {"a", "fast", "special"} <= made.known_tags()


def test_the_order_of_the_product() -> None:
    """One visible tuple; every pass is in the database."""
    assert STAGES == (
        "merge", "canonicalize", "stabilize", "specialize", "merge_again", "loops", "inplace", "clean", "last",
    )  # fmt: skip
    primal = [r.name for r in PRIMAL]
    assert primal == [
        "dce", "settle", "thread", "simplify", "appended", "unread", "private", "fuse", "canonicalize_rules",
        "logs_of_gathered", "stabilize_rules", "specialize_rules", "unroll", "scalars", "licm", "rowwise", "distribute",
        "tabulated", "batch", "products", "states", "sink", "carry_reshaped", "within", "slopes", "dce_again", "early",
    ]  # fmt: skip
    assert [r.name for r in DERIVED] == [n for n in primal if n not in ("thread", "appended", "rowwise")]
    assert [r.name for r in LAST] == [
        "last_rules", "copied_once", "in_parts", "accumulate", "together", "contract", "once", "added", "coordinates",
        "recomputed", "eliminated", "interchanged", "peeled", "raised", "edgewise", "exchanged", "renewed", "forwarded",
        "abreast", "masked", "strips",
    ]  # fmt: skip
    assert {r.name for r in LAST_ON_GPU} - {r.name for r in LAST} == {"ends_in_parts"}
    shown = db.summary().splitlines()
    assert [line[3:] for line in shown if line.startswith("-- ")] == list(STAGES)
    assert any("log(1 + x) -> log1p(x)" in line for line in shown)


def test_digest_is_the_same_in_every_process() -> None:
    code = "from srcgraph.opt import db; print(db.digest)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.strip() == db.digest


# -- modes ----------------------------------------------------------------------------------------


@pytest.fixture
def registered() -> Iterator[list[str]]:
    """Rewrites that a test registers, to be removed."""
    made: list[str] = []
    yield made
    for name in made:
        db.remove(name)


def test_a_user_registers_a_rewrite_and_sees_it_fire(registered: list[str]) -> None:
    before = sg.compile(softplus)
    assert before(3.0) == pytest.approx(softplus(3.0))
    digest = db.digest

    @rewrite(ops=["mul"])
    def twice(fgraph: FunctionGraph, node: Any) -> Any:
        """x * 2 -> x + x"""
        x, y = node.inputs
        return x + x if y is node.inputs[1] and not x.type.ndim else None

    db.register("twice", twice, "fast_run", at="specialize")
    registered.append("twice")
    seen = sg.inspect(sg.compile(softplus), 3.0)
    assert {"twice", "log1p", "softplus"} <= {row.name for row in seen.rewrites}
    assert "twice" in repr(seen) and "rewrites" in seen._repr_html_()
    assert db.digest != digest
    assert "twice" not in {row.name for row in sg.inspect(before, 3.0).rewrites}  # compiled before it was registered
    without = sg.inspect(sg.compile(softplus, mode=FAST_RUN.excluding("twice")), 3.0)
    assert "twice" not in {row.name for row in without.rewrites}


def test_excluding_a_name_excludes_that_one() -> None:
    mode = FAST_RUN.excluding("log1p")
    rows = {row.name for row in sg.inspect(sg.compile(softplus, mode=mode), 3.0).rewrites}
    assert "log1p" not in rows and "softplus" not in rows
    assert sg.compile(softplus, mode=mode)(800.0) == np.inf
    assert sg.compile(softplus)(800.0) == 1600.0


def test_unsafe_rewrites_are_off() -> None:
    assert np.isnan(sg.compile(difference)(np.inf))
    assert sg.compile(difference, mode=FAST_RUN.including("nan_unsafe"))(np.inf) == 0.0
    assert sg.compile(difference, mode=FAST_RUN.including("sub_of_one"))(np.inf) == 0.0
    unsafe = [e for e in db.everything() if "unsafe" in e.tags]
    assert unsafe and not any(FAST_RUN.query.selects(e.tags) for e in unsafe)


def test_fast_compile_does_what_is_needed() -> None:
    seen = sg.inspect(sg.compile(softplus, mode="FAST_COMPILE"), 3.0)
    assert not seen.rewrites and {r.name for r in seen.passes} < {r.name for r in PRIMAL}
    assert "mode=FAST_COMPILE" in seen.head
    assert sg.grad(softplus, mode=FAST_COMPILE)(1.0) == pytest.approx(sg.grad(softplus)(1.0))


def test_modes_by_name() -> None:
    assert sg.compile(softplus, mode="DEBUG").options.mode is DEBUG
    assert sg.grad(sg.compile(softplus, mode="DEBUG")).options.mode is DEBUG
    for make in (sg.compile, sg.grad, sg.value_and_grad, sg.hessian, sg.vmap):
        with pytest.raises(ArgumentError, match="mode must be one of 'FAST_RUN'") as caught:
            make(softplus, mode="FAST_RUM")
        assert "did you mean 'FAST_RUN'" in str(caught.value)
    assert repr(FAST_RUN.excluding("licm").including("hypot")) == "<mode FAST_RUN -licm +hypot>"


def wrong_sign(fgraph: FunctionGraph, node: Any) -> Any:
    return op_mul(*node.inputs) * -1.0


op_mul = sg.ir.op.OPS["mul"]


def drops_a_product(graph: Graph) -> Graph:
    fgraph = FunctionGraph(graph)
    for node in fgraph.nodes_of("mul"):
        fgraph.replace(node.outputs[0], node.inputs[0])
    return fgraph.graph()


def test_debug_names_the_guilty_rewrite(registered: list[str]) -> None:
    """One that changes the value, one that makes the graph invalid, a pass."""

    def product(x):
        return x * 3.0 + 1.0

    db.register("wrong", PatternSub(("mul", "x", "y"), ("neg", ("mul", "x", "y"))), "wrong")
    registered.append("wrong")
    assert sg.compile(product, mode=DEBUG)(2.0) == 7.0
    with pytest.raises(RewriteError, match="'wrong' changes what the function gives") as caught:
        sg.compile(product, mode=DEBUG.including("wrong"))(2.0)
    assert "before: [7.0]" in str(caught.value) and "excluding('wrong')" in str(caught.value)
    db.register("wrong_pass", drops_a_product, "wrong_pass", at="loops")
    registered.append("wrong_pass")
    with pytest.raises(RewriteError, match="'wrong_pass' changes what the function gives"):
        sg.compile(product, mode=DEBUG.including("wrong_pass"))(2.0)
    with pytest.raises(RewriteError, match="'wrong' changes"):
        sg.grad(product, mode=DEBUG.including("wrong"))(2.0)


def test_debug_runs_on_the_arguments_of_the_call() -> None:
    """Also where these raise, and where control flow depends on them."""

    def root(x, n):
        if n < 0:
            raise ValueError("negative")
        for _ in range(n):
            x = np.log(np.exp(x)) / 2.0
        return x

    compiled = sg.compile(root, mode=DEBUG)
    assert compiled(8.0, 3) == 1.0
    with pytest.raises(ValueError, match="negative"):
        sg.compile(root, mode=DEBUG)(8.0, -1)


def test_a_rewrite_that_fails_is_left_out(registered: list[str]) -> None:
    """And reported; only DEBUG stops there."""

    @rewrite(ops=["mul"])
    def failing(fgraph: FunctionGraph, node: Any) -> Any:
        return node.inputs[7]

    db.register("failing", failing, "fast_run")
    registered.append("failing")
    compiled = sg.compile(softplus)
    with pytest.warns(RewriteWarning, match="'failing' is left out: IndexError"):
        assert compiled(0.0) == pytest.approx(softplus(0.0))
    assert "IndexError" in compiled.newest.report.failed["failing"]
    with pytest.raises(IndexError) as caught:
        sg.compile(softplus, mode=DEBUG)(0.0)
    assert "in rewrite 'failing'" in caught.value.__notes__


def test_a_rewriter_of_ones_own() -> None:
    """Attached features, then the change; a second run attaches nothing twice."""
    calls: list[str] = []

    class Mine(Rewriter):
        name = "mine"

        def requires(self, fgraph: FunctionGraph) -> None:
            calls.append("requires")
            fgraph.attach(sg.opt.NodeFinder())

        def apply(self, fgraph: FunctionGraph) -> bool:
            calls.append("apply")
            return False

    x = sg.ir.symbolic.scalar("x")
    fgraph = FunctionGraph([x], [x * x])
    for _ in range(2):
        Mine().rewrite(fgraph)
    assert calls == ["requires", "apply"] * 2 and len(fgraph.features) == 1
    assert op("exp")(3.0).pattern.op == "exp"


def test_wrong_names() -> None:
    """Tags are texts; a local rewrite has no place before or after others, there or not."""
    for use in (sg.opt.FAST_RUN.excluding, sg.opt.FAST_RUN.including, sg.opt.FAST_RUN.requiring):
        with pytest.raises(ArgumentError, match="is said by its name, such as 'inplace', not by 3"):
            use(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="include is a collection of tags, not a text"):
        sg.opt.Query(include="fast_run")  # type: ignore[arg-type]

    @sg.opt.rewrite(ops=["add"])
    def rule(fgraph: FunctionGraph, node: Any) -> Any:
        return None

    with pytest.raises(sg.opt.RewriteError, match="there is no stage or rewrite 'nope'"):
        sg.opt.db.register("quiet", rule, "fast_run", before="nope")
    with pytest.raises(sg.opt.RewriteError, match="'quiet' is a local rewrite"):
        sg.opt.db.register("quiet", rule, "fast_run", before="inplace")
    assert "quiet" not in sg.opt.db
