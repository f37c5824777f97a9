"""Local rewrites: what they may give, patterns, walks, and rewrites that do not come to an end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Drawn, graphs

from srcgraph.ir.graph import Value
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.symbolic import matrix, scalar, vector
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import canonical_text
from srcgraph.opt import (
    Equilibrium,
    Feature,
    FunctionGraph,
    History,
    InconsistencyError,
    LocalRewrite,
    OpRemove,
    OpSub,
    PatternSub,
    Profiler,
    RewriteError,
    Rewriter,
    RewriteWarning,
    Walk,
    op,
    rewrite,
)
from srcgraph.opt.rules import CANONICALIZE

x, y, z = scalar("x"), scalar("y"), scalar("z")
CANCEL = PatternSub(("div", ("mul", "x", "y"), "y"), "x")


def after(rules: list[LocalRewrite], out: Value, *params: Value, order: str = "in", **options: Any) -> str:
    """An expression after one walk."""
    fgraph = FunctionGraph(list(params) or [x, y, z], [out], **options)
    Walk("walk", rules, order).rewrite(fgraph)
    verify(fgraph.graph())
    return repr(fgraph)


def settled(rules: list[LocalRewrite], out: Value, *params: Value) -> str:
    """An expression after rewrites were applied until none applied."""
    fgraph = FunctionGraph(list(params) or [x, y, z], [out])
    Equilibrium("rules", rules).rewrite(fgraph)
    verify(fgraph.graph())
    return repr(fgraph)


# -- the examples of the tutorial -----------------------------------------------------------------


class Simplify(Rewriter):
    """The global form of ``x * y / y -> x``."""

    name = "simplify"

    def apply(self, fgraph: FunctionGraph) -> bool:
        changed = False
        for node in fgraph.nodes_of("div"):
            product = fgraph.definition(node.inputs[0], "mul")
            if product is not None and node.inputs[1] in product.inputs:
                other = product.inputs[1 - product.inputs.index(node.inputs[1])]
                fgraph.replace_validate(node.outputs[0], other, self.name)
                changed = True
        return changed


@rewrite(ops=[np.divide])
def local_simplify(fgraph: FunctionGraph, node: Any) -> Any:
    """x * y / y -> x"""
    product = fgraph.definition(node.inputs[0], "mul")
    if product is None or node.inputs[1] not in product.inputs:
        return False
    return product.inputs[1 - product.inputs.index(node.inputs[1])]


def test_global_and_local_forms() -> None:
    expression = z + (y * x) / y * (z / x)
    fgraph = FunctionGraph([x, y, z], [expression])
    assert Simplify().rewrite(fgraph)
    assert repr(fgraph) == "[add(z, mul(x, div(z, x)))]"
    for rule in (local_simplify, CANCEL):
        assert after([rule], expression) == "[add(z, mul(x, div(z, x)))]"


def test_no_match_before_merging() -> None:
    expression = (y + z) * x / (y + z)
    assert after([CANCEL], expression, intern=False) == "[div(mul(add(y, z), x), add(y, z))]"
    assert after([CANCEL], expression) == "[x]"


def test_many_in_one_pass() -> None:
    out = x
    for _ in range(20):
        out = out * y / y
    assert after([CANCEL], out) == "[x]"
    fgraph = FunctionGraph([x, y], [out])
    Simplify().rewrite(fgraph)
    assert repr(fgraph) == "[x]"


# -- what a rewrite may give ----------------------------------------------------------------------


def test_one_value_for_each_output() -> None:
    a = matrix("a", shape=(3, 3))
    lu, _, _ = OPS["lu_factor"](a)

    def given_back(*found: Any) -> str:
        rule = LocalRewrite("two", ("lu_factor",), lambda g, n: list(found))
        fgraph = FunctionGraph([a], [lu])
        Walk("walk", [rule]).rewrite(fgraph)
        return repr(fgraph)

    assert given_back(a, None, None) == "[a]"
    with pytest.raises(RewriteError, match="'two' gives 2 values for 3 outputs"):
        given_back(a, None)
    with pytest.raises(RewriteError, match="'two' gives nothing for"):
        given_back(None, None, None)


def test_what_does_not_fit_is_not_applied() -> None:
    """Another dtype, another shape, a check that could raise."""
    v, w = vector("v"), vector("w")
    f = scalar("f", "float32")
    for wrong in (lambda g, n: v, lambda g, n: f):
        assert after([LocalRewrite("wrong", ("neg",), wrong)], -x, x, v, f) == "[neg(x)]"
    check = LocalRewrite("check", ("neg",), lambda g, n: OPS["add"](v, w))
    assert after([check], -v, v, w) == "[neg(v)]"


def test_a_weak_number_becomes_numpys() -> None:
    """What replaces a value is of its kind: Python's numbers and NumPy's, and stretched to its shape."""
    weak, v = scalar("a", weak=True), vector("v")
    out = FunctionGraph([weak, x], [(weak + x) * 0.0 + x])
    Walk("walk", [PatternSub(("mul", "u", 0.0), 0.0)]).rewrite(out)
    assert repr(out) == "[add(f64(0.0), x)]"
    zero = FunctionGraph([v], [v * 0.0])
    Walk("walk", [PatternSub(("mul", "u", 0.0), 0.0)]).rewrite(zero)
    verify(zero.graph())
    np.testing.assert_array_equal(interpret(zero.graph(), [np.ones(5)])[0], np.zeros(5))


def test_an_error_names_the_rewrite() -> None:
    def broken(fgraph: FunctionGraph, node: Any) -> Any:
        return 1 // 0

    rule = LocalRewrite("broken", ("neg",), broken)
    with pytest.raises(ZeroDivisionError) as caught:
        after([rule], -x)
    assert caught.value.__notes__ == ["in rewrite 'broken'"]
    fgraph, profiler = FunctionGraph([x, y], [-x + -y]), Profiler()
    fgraph.attach(profiler)
    with pytest.warns(RewriteWarning, match="'broken' is left out: ZeroDivisionError: integer division"):
        Walk("walk", [rule, PatternSub(("neg", "x"), "x", name="unsigned")], strict=False).rewrite(fgraph)
    assert repr(fgraph) == "[add(x, y)]"
    assert profiler.usage["broken"].refused == 1 and "ZeroDivisionError" in repr(profiler.errors["broken"])


NUMPY: list[tuple[Any, Any, str]] = [
    (np.tanh, lambda v: (np.exp(2.0 * v) - 1.0) / (np.exp(2.0 * v) + 1.0), "exp"),
    (np.tanh, lambda v: np.where(v > 0.0, np.tanh(abs(v)), np.sinh(v) / np.cosh(v)), "where"),
    (np.tanh, lambda v: np.sinh(v) / np.sqrt(1.0 + np.sinh(v) ** 2), "sqrt"),
    (np.sum, lambda v: np.dot(v, np.ones_like(v)), "matmul"),
    (np.sum, lambda v: v.mean() * v.size, "size"),
    (np.sum, lambda v: v.reshape((1, -1)).sum(axis=(0, 1)), "reshape"),
]


@pytest.mark.parametrize(("function", "build", "made"), NUMPY)
def test_numpy_in_a_rewrite(function: Any, build: Any, made: str) -> None:
    """Functions, operators and methods of a node's values build where the node stands, typed as in a function."""
    v = vector("v")
    rule = rewrite(ops=[function])(lambda fgraph, node: build(node.inputs[0]) if node.inputs[0] is v else None)
    fgraph = FunctionGraph([v], [function(v) * 2.0])
    before = interpret(fgraph.graph(), [np.array([0.3, -1.2, 2.5])])
    Walk("walk", [rule]).rewrite(fgraph)
    verify(fgraph.graph())
    assert made in repr(fgraph) or made == "size"
    np.testing.assert_allclose(interpret(fgraph.graph(), [np.array([0.3, -1.2, 2.5])])[0], before[0], rtol=1e-13)


def test_what_a_rewrite_gives() -> None:
    """Numbers and arrays become constants; what cannot be a value is an error that names the rewrite."""
    v = vector("v", length=3)

    def given(found: Any) -> str:
        rule = LocalRewrite("mine", ("neg",), lambda fgraph, node: found)
        return after([rule], np.exp(-v), v)

    assert "neg" not in given(np.ones(3)) and "2.5" in given(2.5) and "2.5" in given(np.array(2.5))
    assert given(None) == given(False) == "[exp(neg(v))]"
    for wrong, said in (("abc", "'abc', of type str"), ({"a": v}, "of type dict"), (object(), "of type object")):
        with pytest.raises(RewriteError, match=f"rewrite 'mine' gives .*{said}"):
            given(wrong)
    for wrong in ((), (v, v)):
        with pytest.raises(RewriteError, match=f"rewrite 'mine' gives {len(wrong)} values for 1 outputs"):
            given(wrong)
    asks = LocalRewrite("asks", ("neg",), lambda fgraph, node: v if node.inputs[0] > 0.0 else None)
    with pytest.raises(TypeError, match="is no number yet") as caught:
        after([asks], np.exp(-v), v)
    assert caught.value.__notes__ == ["in rewrite 'asks'"]


def test_rewrites_are_tried_at_their_ops_only() -> None:
    seen: list[str] = []

    @rewrite(ops=["mul", "div"])
    def look(fgraph: FunctionGraph, node: Any) -> Any:
        seen.append(node.op.name)
        return None

    after([look], -(x * y) / z + x)
    assert seen == ["mul", "div"]
    with pytest.raises(RewriteError, match="there is no op 'multiply'"):
        rewrite(ops=["multiply"])(lambda g, n: None)


def test_a_rewrite_of_a_branch() -> None:
    """Control flow is tracked by kind."""
    graph = parse_graph("""
def f(c: bool, x: f64) -> f64:
    def then(x_1: f64) -> f64:
        a: f64 = neg(x_1)
        return a
    def orelse(x_2: f64) -> f64:
        return x_2
    y: f64
    (y,) = if_(c, then, orelse, captures=(x,))
    return y
""")
    rule = LocalRewrite("first", ("if",), lambda g, n: [n.orelse.results[0]])
    fgraph = FunctionGraph(graph)
    Walk("walk", [rule]).rewrite(fgraph)
    assert repr(fgraph) == "[x]"


# -- OpSub, OpRemove, PatternSub ------------------------------------------------------------------


def test_op_sub() -> None:
    assert after([OpSub("add", "mul")], x + y + (x + z)) == "[mul(mul(x, y), mul(x, z))]"


def test_op_remove() -> None:
    out = x
    for _ in range(1000):
        out = OPS["held"](out)
    assert after([OpRemove("held")], out + y) == "[add(x, y)]"
    with pytest.raises(RewriteError, match="2 inputs and 1 outputs"):
        after([OpRemove("add")], x + y)


def test_pattern_with_constraint_and_attributes() -> None:
    even = PatternSub(("ipow", "x", {"n": 2}), ("mul", "x", "x"), where=lambda g, x: x.type.ndim == 0, name="square")
    assert after([even], OPS["ipow"](x, n=2)) == "[mul(x, x)]"
    assert after([even], OPS["ipow"](x, n=3)) == "[ipow(x, n=3)]"
    v = vector("v")
    assert after([even], OPS["ipow"](v, n=2), v) == "[ipow(v, n=2)]"


def test_open_attributes_are_those_of_the_same_op() -> None:
    m = matrix("m")
    rule = PatternSub(lambda x: op("sum")(-x), lambda x: -op("sum")(x))
    assert after([rule], OPS["sum"](-m, axes=(1,)), m) == "[neg(sum(m, axes=(1,)))]"


def test_patterns_as_functions() -> None:
    rule = PatternSub(lambda x, y: np.log(np.exp(x) + np.exp(y)), lambda x, y: np.logaddexp(x, y))
    assert rule.doc == "log(exp(x) + exp(y)) -> logaddexp(x, y)"
    log, exp = OPS["log"], OPS["exp"]
    assert after([rule], log(exp(x) + exp(y))) == "[logaddexp(x, y)]"
    with pytest.raises(RewriteError, match="has variables that x \\* 2 lacks: y"):
        PatternSub(lambda x: x * 2, lambda y: y)
    with pytest.raises(RewriteError, match="is no use of an op"):
        PatternSub("x", "x")


def test_numpy_functions_in_patterns_mean_what_numpy_means() -> None:
    """A sum is over the axes that its call says; what stands in its place may be anything."""
    v, m = vector("v"), matrix("m")
    whole = PatternSub(lambda x: np.sum(2.0 * x), lambda x: 2.0 * x.sum())
    assert whole.doc == "sum(2 * x) -> 2 * sum(x)"
    assert after([whole], np.sum(v * 2.0), v) == "[mul(2.0, sum(v, axes=(0,)))]"
    assert after([whole], np.sum(m * 2.0), m) == "[mul(2.0, sum(m, axes=(0, 1)))]"
    assert after([whole], np.sum(m * 2.0, axis=0), m) == "[sum(mul(m, 2.0), axes=(0,))]"
    last = PatternSub(lambda x: np.max(-x, axis=-1), lambda x: -np.min(x, axis=-1))
    assert after([last], (-m).max(axis=1), m) == "[neg(min(m, axes=(1,)))]"
    assert after([last], (-m).max(axis=0), m) == "[max(neg(m), axes=(0,))]"
    dot = PatternSub(lambda x, y: np.sum(x * y), lambda x, y: np.dot(x, y), where=lambda g, x, y: x.type.ndim == 1)
    assert after([dot], np.sum(v * v), v) == "[matmul(v, v)]"
    cube = PatternSub(lambda x: x**3, lambda x: x * x * x)
    assert after([cube], v**3, v) == "[mul(mul(v, v), v)]"
    first = PatternSub(lambda x: np.sum(x), lambda x: x[0] if x.ndim == 1 else x.T[0, 0], name="first")
    assert first.doc == "sum(x) -> function(x)"


@pytest.mark.parametrize("before", [lambda x: np.mean(x), lambda x: x[0], lambda x: x.T, lambda x: x + np.ones(3),
                                    lambda x: np.sum(x, keepdims=True), lambda x: 1.0 if x > 0 else x])  # fmt: skip
def test_what_is_no_pattern(before: Any) -> None:
    with pytest.raises(RewriteError) as caught:
        PatternSub(before, lambda x: x)
    assert "patterns are made of" in str(caught.value)


def test_operands_match_in_either_order() -> None:
    rule = PatternSub(lambda x: 1 + np.exp(x), lambda x: np.exp(x))
    exp = OPS["exp"]
    assert after([rule], exp(x) + 1.0) == after([rule], 1.0 + exp(x)) == "[exp(x)]"
    assert after([PatternSub(("sub", "x", ("neg", "x")), "x")], x - x) == "[sub(x, x)]"


def test_a_variable_that_stands_twice() -> None:
    """Also for two literals that are equal."""
    rule = PatternSub(lambda x, y: x * y + x, lambda x, y: x)
    assert after([rule], x * y + x) == "[x]"
    assert after([rule], x * y + z) == "[add(mul(x, y), z)]"


def test_what_others_read_is_not_computed_twice() -> None:
    inner = x * y
    assert after([CANCEL], inner / y + inner) == "[add(div(*1 -> mul(x, y), y), *1)]"
    shared = PatternSub(("div", ("mul", "x", "y"), "y"), "x", shared=True)
    assert after([shared], inner / y + inner) == "[add(x, mul(x, y))]"


# -- walks ----------------------------------------------------------------------------------------


def test_in_order_and_out_order() -> None:
    """From the parameters on, the inner match comes first, and is all that is left to do; the other way, the outer."""
    rule = PatternSub(("exp", ("exp", "x")), ("sin", "x"))
    exp = OPS["exp"]
    assert after([rule], exp(exp(exp(x)))) == "[exp(sin(x))]"
    assert after([rule], exp(exp(exp(x))), order="out") == "[sin(exp(x))]"
    assert after([rule], exp(exp(exp(x))), order="random") in ("[exp(sin(x))]", "[sin(exp(x))]")
    with pytest.raises(RewriteError, match="order must be"):
        Walk("walk", [rule], "sideways")


@settings(max_examples=10, deadline=None, derandomize=True)
@given(graphs(), st.integers(0, 10_000))
def test_any_order_comes_to_one_graph(drawn: Drawn, seed: int) -> None:
    """The rules for signs, by random walks until nothing changes, give one graph."""
    rules = [r.rewrite for r in CANONICALIZE if "exact" in r.tags and r.name.startswith(("absolute", "add", "sub"))]
    found = set()
    for k in range(20):
        fgraph = FunctionGraph(drawn.graph)
        for _ in range(50):
            if not Walk("walk", rules, "random", seed + k).rewrite(fgraph):
                break
        found.add(canonical_text(fgraph.graph()))
    assert len(found) == 1


def test_equilibrium_visits_what_changed() -> None:
    """A match that appears only after another one."""
    rules = [PatternSub(("neg", ("neg", "x")), "x"), PatternSub(("sub", "x", ("neg", "y")), ("add", "x", "y"))]
    held = PatternSub(("held", "x"), "x")
    out = x - OPS["neg"](OPS["held"](OPS["neg"](OPS["held"](OPS["neg"](y)))))
    assert settled([*rules, held], out) == "[add(x, y)]"


def test_equilibrium_inside_loops() -> None:
    graph = parse_graph("""
def f(x: f64, n: int(n)) -> f64:
    def body(i: int(i), s: f64, x_1: f64) -> f64:
        a: f64 = exp(s)
        b: f64 = log(a)
        c: f64 = add(b, x_1)
        return c
    s: f64
    (s,) = for_(0, n, 1, body, carry=(x,), captures=(x,))
    return s
""")
    fgraph = FunctionGraph(graph)
    assert Equilibrium("rules", [PatternSub(("log", ("exp", "x")), "x")]).rewrite(fgraph)
    verify(fgraph.graph())
    assert not fgraph.nodes_of("exp") and interpret(fgraph.graph(), [np.float64(0.5), 3]) == [2.0]


def test_two_that_undo_each_other_are_named() -> None:
    there = PatternSub(("add", "x", "y"), ("mul", "x", "y"), name="there")
    back = PatternSub(("mul", "x", "y"), ("add", "x", "y"), name="back")
    with pytest.raises(RewriteError, match="undo each other") as caught:
        settled([there, back], x + y)
    assert "'there'" in str(caught.value) and "'back'" in str(caught.value)


def test_three_in_a_circle_are_named() -> None:
    circle = [
        PatternSub(("add", "x", "y"), ("mul", "x", "y"), name="one"),
        PatternSub(("mul", "x", "y"), ("maximum", "x", "y"), name="two"),
        PatternSub(("maximum", "x", "y"), ("add", "x", "y"), name="three"),
    ]
    with pytest.raises(RewriteError, match="undo each other") as caught:
        settled(circle, x + y)
    assert all(name in str(caught.value) for name in ("one", "two", "three"))


def test_one_without_an_end_is_named() -> None:
    grows = PatternSub(("exp", "x"), ("exp", ("add", "x", 1.0)), name="grows")
    with pytest.raises(RewriteError, match="'grows' does not come to an end"):
        settled([grows], OPS["exp"](x))


def test_where_it_is_not_strict_they_are_left_out() -> None:
    """A function compiles all the same."""
    grows = PatternSub(("exp", "x"), ("exp", ("add", "x", 1.0)), name="grows")
    fgraph = FunctionGraph([x], [OPS["exp"](x)])
    with pytest.warns(RewriteWarning, match="'grows' does not come to an end: left out for this function"):
        Equilibrium("rules", [grows], strict=False).rewrite(fgraph)
    verify(fgraph.graph())
    there = PatternSub(("add", "x", "y"), ("mul", "x", "y"), name="there")
    back = PatternSub(("mul", "x", "y"), ("add", "x", "y"), name="back")
    fgraph = FunctionGraph([x, y], [x + y])
    with pytest.warns(RewriteWarning, match="undo each other: left out"):
        Equilibrium("rules", [there, back], strict=False).rewrite(fgraph)


def test_profile_and_history_of_a_walk() -> None:
    fgraph, profiler, history = FunctionGraph([x, y, z], [x * y / y + z * y / y]), Profiler(), History()
    fgraph.attach(profiler)
    fgraph.attach(history)
    cancel = PatternSub(("div", ("mul", "x", "y"), "y"), "x", name="cancel")
    Equilibrium("rules", [cancel]).rewrite(fgraph)
    assert profiler.applied == {"cancel": 2}
    assert "cancel" in str(profiler) and profiler.usage["cancel"].seconds > 0
    assert {e.reason for e in history.edits} == {"cancel"}
    assert [e.kind for e in history.edits] == ["change", "prune", "prune"] * 2
    history.undo(fgraph)
    assert repr(fgraph) == "[add(div(mul(x, y), y), div(mul(z, y), y))]"


def test_no_array_is_read_after_it_was_stored_into() -> None:
    """``log(exp(x))`` is ``x``, but not where ``x`` has been changed in place since: it would have to be copied."""
    graph = parse_graph("""
def f(x: f64[4]) -> (f64[4], f64[4]):
    y: f64[4] = exp(x)
    x_1: f64[4] = setitem(x, 1.0, 0, view='i')
    z: f64[4] = log(y)
    return (x_1, z)
""")
    fgraph = FunctionGraph(graph)
    assert not Equilibrium("rules", [PatternSub(("log", ("exp", "x")), "x", name="inverse")]).rewrite(fgraph)
    assert fgraph.graph() is graph or canonical_text(fgraph.graph()) == canonical_text(graph)


class NoSines(Feature):
    """Refuses sines."""

    def validate(self, fgraph: FunctionGraph) -> None:
        if fgraph.nodes_of("sin"):
            raise InconsistencyError("a sine")


def test_what_is_refused_is_not_tried_for_ever() -> None:
    fgraph, profiler = FunctionGraph([x], [OPS["exp"](x) + 1.0], features=[NoSines()]), Profiler()
    fgraph.attach(profiler)
    rules = [PatternSub(("exp", "x"), ("sin", "x"), name="sine"), PatternSub(("add", "x", 1.0), "x", name="less")]
    assert Equilibrium("rules", rules).rewrite(fgraph)
    assert repr(fgraph) == "[exp(x)]" and profiler.usage["sine"].refused >= 1
