"""Size expressions: arithmetic, text, substitution, and soundness of what is proved about them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srcgraph.ir.dims import (
    Dim,
    as_dim,
    evaluate,
    floordiv,
    maximum,
    minimum,
    modulo,
    parse_dim,
    prove_nonnegative,
    substitute,
    symbol,
)

NAMES = ("a", "b", "n")
a, b, n, i = map(symbol, ("a", "b", "n", "i"))
MANY = settings(max_examples=200, deadline=None, derandomize=True)


def polynomials() -> st.SearchStrategy[Dim]:
    """Linear ones mostly, as index arithmetic is."""
    term = st.tuples(st.integers(-3, 3), st.lists(st.sampled_from(NAMES), max_size=2))

    def build(terms: Sequence[tuple[int, list[str]]]) -> Dim:
        total = as_dim(0)
        for coefficient, names in terms:
            product = as_dim(coefficient)
            for name in names:
                product = product * symbol(name)
            total = total + product
        return total

    return st.lists(term, max_size=3).map(build)


def expressions() -> st.SearchStrategy[Dim]:
    """Polynomials of polynomials inside max, min, // and %."""

    def deeper(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        return st.one_of(
            st.builds(maximum, inner, inner),
            st.builds(minimum, inner, inner),
            st.builds(floordiv, inner, st.integers(1, 4)),
            st.builds(modulo, inner, st.integers(1, 4)),
            st.builds(Dim.__add__, inner, inner),
            st.builds(Dim.__sub__, inner, inner),
            st.builds(Dim.__mul__, inner, st.integers(-2, 2)),
        )

    return st.recursive(polynomials(), deeper, max_leaves=5)


def values() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(-6, 6)))


@MANY
@given(expressions(), expressions(), values())
def test_arithmetic(x: Dim, y: Dim, env: dict[str, int]) -> None:
    """Each operator means what it means for the numbers."""
    p, q = evaluate(x, env), evaluate(y, env)
    assert evaluate(x + y, env) == p + q
    assert evaluate(x - y, env) == p - q
    assert evaluate(x * y, env) == p * q
    assert evaluate(-x, env) == -p
    assert evaluate(maximum(x, y), env) == max(p, q)
    assert evaluate(minimum(x, y), env) == min(p, q)
    for d in (1, 2, 3):
        assert evaluate(floordiv(x, d), env) == p // d
        assert evaluate(modulo(x, d), env) == p % d


@MANY
@given(expressions())
def test_text_reads_back(x: Dim) -> None:
    assert parse_dim(ast.parse(str(x), mode="eval").body) == x


@MANY
@given(expressions(), polynomials(), values())
def test_substitution(x: Dim, y: Dim, env: dict[str, int]) -> None:
    """Replacing a symbol by an expression is evaluating with its value."""
    assert evaluate(substitute(x, {"a": y}), env) == evaluate(x, {**env, "a": evaluate(y, env)})


@MANY
@given(polynomials(), polynomials())
def test_equal_expressions_are_equal(x: Dim, y: Dim) -> None:
    """The normal form does not depend on the order of building."""
    assert x + y == y + x and hash(x + y) == hash(y + x)
    assert x * y == y * x
    assert (x - y) + y == x
    assert (x - x) == 0 and (x - x).const == 0


@MANY
@given(expressions(), st.lists(polynomials(), max_size=3))
def test_what_is_proved_holds(x: Dim, known: list[Dim]) -> None:
    """Brute force: nothing is proved that fails for numbers that satisfy what is known."""
    if not prove_nonnegative(x, known):
        return
    for numbers in itertools.product(range(-4, 5), repeat=len(NAMES)):
        env = dict(zip(NAMES, numbers, strict=True))
        if all(evaluate(k, env) >= 0 for k in known):
            assert evaluate(x, env) >= 0, f"{x} >= 0 was proved from {known}, but not for {env}"


PROVABLE = [
    ("0", []),
    ("n", ["n"]),
    ("n - 1 - i", ["i", "n - 1 - i"]),
    ("i - 1", ["i - 1"]),
    ("n - i", ["n - 1 - i"]),
    ("n - 2 - (i - 1)", ["n - 2 - i"]),
    ("max(n - 2, 0)", []),
    ("max(n - 2, 0) - i", ["max(n - 2, 0) - 1 - i"]),
    ("n * a", ["n", "a"]),
    ("n - min(n, a)", []),
    ("max(n, a) - a", []),
    ("n // 2", ["n"]),
    ("n % 3", []),
    ("a + b - 1", ["a - 1", "b"]),
    ("2 * n - i - 1", ["n - 1 - i", "n"]),
    ("n - 1 - max(i - 1, 0)", ["i", "n - 1 - i"]),
    ("min(i + 1, n - 1)", ["i", "n - 1 - i"]),
    ("n - 1 - (a + b) // 2", ["a", "n - b", "b - a - 1"]),
    ("n - i // 3", ["n", "n - i"]),
]


@pytest.mark.parametrize(("text", "known"), PROVABLE)
def test_index_arithmetic_is_proved(text: str, known: list[str]) -> None:
    """What loops over arrays need is within reach of the search."""
    assert prove_nonnegative(read(text), [read(k) for k in known])


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("-1", []),
        ("n", []),
        ("n - 1", ["n"]),
        ("-n", ["n"]),
        ("n - i", ["i", "n"]),
        ("min(n, a)", ["n"]),
        ("a * n", ["n"]),
        ("n - 1 - (a + b) // 2", ["a", "n - b", "b - a"]),
        ("n - i // 3 - 1", ["n", "n - i"]),
    ],
)
def test_what_may_fail_is_not_proved(text: str, known: list[str]) -> None:
    assert not prove_nonnegative(read(text), [read(k) for k in known])


def read(text: str) -> Dim:
    return parse_dim(ast.parse(text, mode="eval").body)


def test_constants_and_symbols() -> None:
    """What is constant, and what is one bare symbol, is told apart."""
    assert as_dim(3).const == 3 and (n - n + 2).const == 2 and n.const is None
    assert n.symbol == "n" and (n + 1).symbol is None and (2 * n).symbol is None
    assert (n * a + maximum(b, 0)).symbols() == {"n", "a", "b"}
    assert floordiv(4 * n + 2, 2) == 2 * n + 1
    assert str(2 * n - 1) == "2 * n - 1" and str(-n) == "-n" and str(as_dim(0)) == "0"
