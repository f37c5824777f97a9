"""Function graphs: who reads what stays right under any edits, and what is refused is undone."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Drawn, graphs

from srcgraph.ir.graph import Apply, Graph, Value, node_inputs
from srcgraph.ir.interp import interpret
from srcgraph.ir.op import OPS
from srcgraph.ir.parser import parse_graph
from srcgraph.ir.printer import format_graph
from srcgraph.ir.symbolic import scalar, vector
from srcgraph.ir.types import ScalarType
from srcgraph.ir.verify import verify
from srcgraph.ir.walk import canonical_text, same_graph
from srcgraph.opt import (
    Feature,
    FunctionGraph,
    History,
    InconsistencyError,
    InPlace,
    NodeFinder,
    PatternSub,
    Validation,
    Walk,
)
from srcgraph.opt.rewriting.blocks import Block, Site

FEW = settings(max_examples=40, deadline=None, derandomize=True)
LOOP = """
def f(x: f64, n: int(n)) -> f64:
    y: f64 = exp(x)
    def body(i: int(i), s: f64, y_1: f64) -> f64:
        t: f64 = mul(s, y_1)
        u: f64 = add(t, y_1)
        return u
    s: f64
    (s,) = for_(0, n, 1, body, carry=(x,), captures=(y,))
    return s
"""


def three() -> tuple[Value, Value, Value]:
    return scalar("x"), scalar("y"), scalar("z")


# -- reading --------------------------------------------------------------------------------------


def test_expressions() -> None:
    """Shared parts are marked, and duplicates are merged unless that is asked not to be done."""
    x, y, z = three()
    assert repr(FunctionGraph([x, y, z], [z + (y * x) / y * (z / x)])) == "[add(z, mul(div(mul(y, x), y), div(z, x)))]"
    twice = (y + z) * x / (y + z)
    assert repr(FunctionGraph([x, y, z], [twice], intern=False)) == "[div(mul(add(y, z), x), add(y, z))]"
    assert repr(FunctionGraph([x, y, z], [twice])) == "[div(mul(*1 -> add(y, z), x), *1)]"


def test_operands_of_commutative_ops_merge() -> None:
    x, y, _ = three()
    assert repr(FunctionGraph([x, y], [x * y - y * x])) == "[sub(*1 -> mul(x, y), *1)]"


def test_clients_across_nested_graphs() -> None:
    fgraph = FunctionGraph(parse_graph(LOOP))
    (exp,) = fgraph.nodes_of("exp")
    readers = [c.node for c in fgraph.clients(exp.outputs[0])]
    assert [n.op.name for n in readers if isinstance(n, Apply)] == ["mul", "add"]
    assert fgraph.definition(exp.outputs[0], "exp") is exp and fgraph.definition(exp.outputs[0], "log") is None
    assert [type(n).__name__ for n in fgraph.toposort()].count("For") == 1
    assert same_graph(fgraph.graph(), parse_graph(LOOP))


def exact(fgraph: FunctionGraph) -> None:
    """The lists of clients are what a look at every node finds, and the graph is valid."""
    wanted: dict[Value, list[tuple[Any, int]]] = {}
    blocks = [fgraph.block]
    for site in fgraph.sites():
        blocks += site.blocks
        for k, value in enumerate(node_inputs(site.node)):
            wanted.setdefault(value, []).append((site, k))
    for block in blocks:
        for k, value in enumerate(block.results):
            wanted.setdefault(value, []).append((block, k))
    for value, readers in wanted.items():
        assert {(c.holder, c.position) for c in fgraph.clients(value)} == set(readers)
        assert fgraph.uses(value) == len(readers)
    found = {n.op.name for n in fgraph.toposort() if isinstance(n, Apply)}
    for name in found:
        assert set(fgraph.nodes_of(name)) == {
            n for n in fgraph.toposort() if isinstance(n, Apply) and n.op.name == name
        }
    verify(fgraph.graph())


def random_edit(fgraph: FunctionGraph, rng: random.Random) -> None:
    """Replace a value by another one of its type, if that is there already."""
    values = [v for s in fgraph.sites() for v in s.node.outputs] + list(fgraph.inputs)
    old, new = rng.choice(values), rng.choice(values)
    with contextlib.suppress(InconsistencyError):
        fgraph.replace(old, new)


@FEW
@given(graphs(), st.integers(0, 1000))
def test_clients_are_exact_after_random_edits(drawn: Drawn, seed: int) -> None:
    finder = NodeFinder()
    fgraph = FunctionGraph(drawn.graph, features=[finder])
    rng = random.Random(seed)
    for _ in range(20):
        random_edit(fgraph, rng)
    exact(fgraph)
    for name in {n.op.name for n in fgraph.toposort() if isinstance(n, Apply)}:
        assert len(finder.find(name)) == len(fgraph.nodes_of(name))
    assert finder.find("no_such_op") == []


@FEW
@given(graphs(), st.integers(0, 1000))
def test_history_takes_everything_back(drawn: Drawn, seed: int) -> None:
    history = History()
    fgraph = FunctionGraph(drawn.graph)
    before = canonical_text(FunctionGraph(drawn.graph).graph())
    fgraph.attach(history)
    rng = random.Random(seed)
    for _ in range(5):
        random_edit(fgraph, rng)
    middle, mark = canonical_text(fgraph.graph()), history.mark()
    for _ in range(5):
        random_edit(fgraph, rng)
    history.undo(fgraph, mark)
    assert canonical_text(fgraph.graph()) == middle
    history.undo(fgraph)
    exact(fgraph)
    after = fgraph.graph()
    for x, y in zip(interpret(after, drawn.args), interpret(drawn.graph, drawn.args), strict=True):
        np.testing.assert_array_equal(x, y)
    assert canonical_text(after) == before or not mark


@FEW
@given(graphs())
def test_nothing_changes_by_itself(drawn: Drawn) -> None:
    fgraph = FunctionGraph(drawn.graph)
    assert fgraph.graph() is drawn.graph
    exact(fgraph)
    for x, y in zip(interpret(fgraph.graph(), drawn.args), interpret(drawn.graph, drawn.args), strict=True):
        np.testing.assert_array_equal(x, y)


# -- changing -------------------------------------------------------------------------------------


def test_replace_inside_a_loop() -> None:
    """A value of the outer graph takes the place of one inside the loop; what nobody reads is gone."""
    fgraph = FunctionGraph(parse_graph(LOOP))
    (exp,), (mul,) = fgraph.nodes_of("exp"), fgraph.nodes_of("mul")
    fgraph.replace(mul.outputs[0], exp.outputs[0])
    assert fgraph.nodes_of("mul") == []
    exact(fgraph)


def test_what_is_refused() -> None:
    x, y, _ = three()
    v = vector("v")
    fgraph = FunctionGraph([x, y, v], [x * y + x, v])
    mul, add = (fgraph.nodes_of(name)[0] for name in ("mul", "add"))
    with pytest.raises(InconsistencyError, match="the types differ"):
        fgraph.replace(x, v)
    with pytest.raises(InconsistencyError, match="is not defined where"):
        fgraph.replace(x, add.outputs[0])
    with pytest.raises(InconsistencyError, match="is read"):
        fgraph.remove(fgraph.site(mul.outputs[0]))  # type: ignore[arg-type]
    site = fgraph.site(mul.outputs[0])
    assert isinstance(site, Site)
    with pytest.raises(InconsistencyError, match="not defined before"):
        fgraph.change_input(site, 0, add.outputs[0])
    fgraph.change_input(site, 0, y)
    assert repr(fgraph) == "[add(mul(y, y), x), v]"
    exact(fgraph)


class Veto(Feature):
    """Refuses graphs without a product, and remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def on_add(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        self.told.append(f"add {site.node.op.name} ({reason})")  # type: ignore[union-attr]

    def on_prune(self, fgraph: FunctionGraph, site: Site, reason: str) -> None:
        self.told.append(f"prune {site.node.op.name} ({reason})")  # type: ignore[union-attr]

    def on_change(self, fgraph: FunctionGraph, client: Any, old: Value, new: Value, reason: str) -> None:
        where = "result" if isinstance(client.holder, Block) else client.node.op.name
        self.told.append(f"{where}: {old.name or 'v'} -> {new.name or 'v'} ({reason})")

    def validate(self, fgraph: FunctionGraph) -> None:
        if not fgraph.nodes_of("mul"):
            raise InconsistencyError("no product is left")


def test_a_veto_restores_the_graph() -> None:
    x, y, z = three()
    veto = Veto()
    fgraph = FunctionGraph([x, y, z], [x * y + z], features=[veto])
    before = format_graph(fgraph.graph())
    (mul,) = fgraph.nodes_of("mul")
    with pytest.raises(InconsistencyError, match="no product is left"):
        fgraph.replace_validate(mul.outputs[0], x, "mine")
    assert format_graph(fgraph.graph()) == before
    exact(fgraph)
    assert veto.told == ["add: v -> x (mine)", "prune mul (mine)", "add mul (undo)", "add: x -> v (undo)"]
    fgraph.replace(mul.outputs[0], x)  # which asks nobody
    assert repr(fgraph) == "[add(x, z)]"


def test_a_transaction_that_raises_is_undone() -> None:
    x, y, z = three()
    fgraph = FunctionGraph([x, y, z], [x * y + z])
    before = format_graph(fgraph.graph())
    with pytest.raises(ZeroDivisionError), fgraph.transaction():
        fgraph.replace(x, z)
        assert repr(fgraph) == "[add(mul(z, y), z)]"
        raise ZeroDivisionError
    assert format_graph(fgraph.graph()) == before


def test_transactions_inside_each_other() -> None:
    x, y, z = three()
    fgraph = FunctionGraph([x, y, z], [x * y + z])
    with pytest.raises(InconsistencyError), fgraph.transaction():
        with fgraph.transaction():
            fgraph.replace(x, z)
        raise InconsistencyError("outer")
    assert repr(fgraph) == "[add(mul(x, y), z)]"


def test_attaching_twice_is_attaching_once() -> None:
    x, y, _ = three()
    fgraph = FunctionGraph([x, y], [x * y])
    for kind in (Validation, NodeFinder, InPlace):
        first = fgraph.attach(kind())
        assert fgraph.attach(kind()) is first
    assert len(fgraph.features) == 3
    fgraph.detach(fgraph.features[0])
    assert len(fgraph.features) == 2


def test_validation_finds_what_is_invalid() -> None:
    graph = parse_graph(LOOP)
    fgraph = FunctionGraph(graph, features=[Validation()])
    with fgraph.transaction():
        pass
    site = next(fgraph.sites())
    with pytest.raises(InconsistencyError, match="invalid graph"), fgraph.transaction():
        wrong = Value("w", ScalarType(np.dtype(np.float32)))
        fgraph.insert([Apply(OPS["exp"], graph.params[:1], (wrong,))], site)
    verify(fgraph.graph())


STORE = """
def f(x: f64[4], y: f64[4]) -> (f64[4], f64):
    a: f64 = getitem(x, 0, view='i')
    x_1: f64[4] = setitem(x, 1.0, 0, view='i')
    b: f64 = getitem(y, 1, view='i')
    return (x_1, b)
"""


def test_in_place_refuses_what_would_need_a_copy() -> None:
    """Read after the store, ``x`` would have to be kept."""
    fgraph = FunctionGraph(parse_graph(STORE), features=[InPlace()])
    x, y = fgraph.inputs
    with pytest.raises(InconsistencyError, match="setitem would need a copy"):
        fgraph.replace_validate(y, x)
    assert same_graph(fgraph.graph(), parse_graph(STORE))


def test_a_pass_over_the_whole_graph() -> None:
    x, y, z = three()
    finder = NodeFinder()
    fgraph = FunctionGraph([x, y, z], [x * y + z], features=[finder])
    other: Graph = FunctionGraph([x, y, z], [x - y]).graph()
    fgraph.assign(other)
    assert fgraph.graph() is other and len(finder.find("sub")) == 1 and not finder.find("mul")


def test_merging_follows_a_replacement() -> None:
    """When two nodes become equal, and then those that read them."""
    x, y, z = three()
    fgraph = FunctionGraph([x, y, z], [OPS["exp"](x * y) - OPS["exp"](x * z)])
    fgraph.replace(z, y)
    assert repr(fgraph) == "[sub(*1 -> exp(mul(x, y)), *1)]"


def test_a_chain_of_a_hundred_thousand_nodes() -> None:
    """No recursion, and time in proportion."""
    kind = ScalarType(np.dtype(np.float64))
    value = first = Value("x", kind)
    nodes = []
    for _ in range(100_000):
        out = Value("", kind)
        nodes.append(Apply(OPS["neg"], (value,), (out,)))
        value = out
    fgraph = FunctionGraph(Graph("chain", (first,), tuple(nodes), (value,)))
    Walk("cancel", [PatternSub(("neg", ("neg", "x")), "x")]).rewrite(fgraph)
    assert fgraph.toposort() == [] and fgraph.outputs == (first,)
