"""Facts about arguments and arrays: what is made of them, what follows from what, and that they change no meaning."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np
import pytest
import scipy.linalg

import srcgraph as sg
from srcgraph import ir
from srcgraph.ir.assumptions import FACTS, facts_of

pytestmark = pytest.mark.plainly

RNG = np.random.default_rng(11)
SIZE = 4
PLAIN = RNG.normal(size=(SIZE, SIZE)) + 3 * np.eye(SIZE)
MATRICES: dict[str, np.ndarray] = {
    "symmetric": PLAIN + PLAIN.T,
    "positive_definite": PLAIN @ PLAIN.T + np.eye(SIZE),
    "lower_triangular": np.tril(PLAIN),
    "upper_triangular": np.triu(PLAIN),
    "diagonal": np.diag(np.diag(PLAIN)),
    "orthogonal": np.linalg.qr(PLAIN)[0],
    "invertible": PLAIN,
}
METHODS = {
    "positive_definite": "positive_solve",
    "lower_triangular": "triangular_solve",
    "upper_triangular": "triangular_solve",
    "diagonal": "triangular_solve",
    "orthogonal": "orthogonal_solve",
    "symmetric": "lu_solve",
    "invertible": "lu_solve",
}
B = RNG.normal(size=(SIZE, 2))


def work(a, b):
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


def positive_definite(a, b):
    a = sg.assume(a, positive_definite=True)
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


def lower_triangular(a, b):
    a = sg.assume(a, lower_triangular=True)
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


def upper_triangular(a, b):
    a = sg.assume(a, upper_triangular=True)
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


def diagonal(a, b):
    a = sg.assume(a, diagonal=True)
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


def orthogonal(a, b):
    a = sg.assume(a, orthogonal=True)
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


def symmetric(a, b):
    a = sg.assume(a, symmetric=True)
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


def invertible(a, b):
    a = sg.assume(a, invertible=True)
    x = np.linalg.solve(a, b)
    return np.sum(x * x) + np.linalg.slogdet(a)[1] * np.sum(np.linalg.inv(a) * a)


ASSUMING = [positive_definite, lower_triangular, upper_triangular, diagonal, orthogonal, symmetric, invertible]


SLOPES = sg.grad(work, (0, 1))


@pytest.mark.parametrize("function", ASSUMING, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("dtype", "columns"), [(np.float64, None), (np.float64, 2), (np.float32, 1)])
def test_values_and_derivatives_are_those_without_it(function: Any, dtype: Any, columns: int | None) -> None:
    a = MATRICES[function.__name__].astype(dtype)
    b = (B[:, 0] if columns is None else B[:, :columns]).astype(dtype)
    loose = 1e-10 if dtype is np.float64 else 2e-3
    np.testing.assert_allclose(sg.compile(function)(a, b), work(a, b), rtol=loose)
    for mine, plain in zip(sg.grad(function, (0, 1))(a, b), SLOPES(a, b), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=loose, atol=loose * np.max(np.abs(plain)))
    if columns is None:
        moved = (RNG.normal(size=a.shape), RNG.normal(size=b.shape))
        np.testing.assert_allclose(sg.jvp(function, (a, b), moved)[1], sg.jvp(work, (a, b), moved)[1], rtol=loose)


@pytest.mark.parametrize("function", ASSUMING, ids=lambda f: f.__name__)
def test_the_method_that_suits(function: Any) -> None:
    text = str(sg.inspect(function, MATRICES[function.__name__], B).ir)
    assert METHODS[function.__name__] in text
    assert ("lu_factor" in text) == (METHODS[function.__name__] == "lu_solve" or function is orthogonal)


@pytest.mark.parametrize("function", [positive_definite, lower_triangular, orthogonal], ids=lambda f: f.__name__)
def test_second_derivatives(function: Any) -> None:
    a, b = MATRICES[function.__name__], B[:, 0]
    moved = (RNG.normal(size=a.shape), RNG.normal(size=b.shape))
    for mine, plain in zip(sg.hvp(function, (a, b), moved), sg.hvp(work, (a, b), moved), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", [0, 1])
def test_small(size: int) -> None:
    a, b = np.eye(size) * 2.0, np.ones(size)
    for function in (lower_of, positive_of, orthogonal_of):
        np.testing.assert_allclose(
            sg.compile(function)(a, b), np.linalg.solve(a, b) if function is not orthogonal_of else a.T @ b
        )


def lower_of(a, b):
    return np.linalg.solve(sg.assume(a, lower_triangular=True), b)


def with_itself(a):
    return np.linalg.solve(sg.assume(a, lower_triangular=True), a + 1.0)


def positive_of(a, b):
    return np.linalg.solve(sg.assume(a, positive_definite=True), b)


def orthogonal_of(a, b):
    return np.linalg.solve(sg.assume(a, orthogonal=True), b)


def test_stacks_and_layouts() -> None:
    stack = np.stack([MATRICES["lower_triangular"], 2 * MATRICES["lower_triangular"]])
    found = sg.compile(with_itself)(stack)
    np.testing.assert_allclose(found, np.linalg.solve(stack, stack + 1.0), rtol=1e-12)
    a = np.asfortranarray(MATRICES["lower_triangular"])
    np.testing.assert_allclose(sg.compile(lower_of)(a, B[::-1, ::-1]), np.linalg.solve(a, B[::-1, ::-1]), rtol=1e-12)
    wide = np.zeros((2 * SIZE, 2 * SIZE))
    wide[::2, ::2] = a
    np.testing.assert_allclose(sg.compile(lower_of)(wide[::2, ::2], B), np.linalg.solve(a, B), rtol=1e-12)


def test_what_is_singular_raises_as_numpy() -> None:
    a = MATRICES["lower_triangular"].copy()
    a[1, 1] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        sg.compile(lower_of)(a, B)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        sg.compile(positive_of)(-np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="as many rows as columns"):
        sg.compile(lower_of)(np.ones((3, 4)), np.ones(3))


# -- what follows -------------------------------------------------------------------------------------


def gaussian_process(x, y, noise):
    k = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2) + noise * np.eye(len(x))
    low = np.linalg.cholesky(k)
    alpha = np.linalg.solve(low.T, np.linalg.solve(low, y))
    return -0.5 * y @ alpha - np.sum(np.log(np.diag(low)))


def test_the_factor_of_cholesky_is_known_to_be_triangular() -> None:
    x, y = RNG.normal(size=12), RNG.normal(size=12)
    seen = sg.inspect(gaussian_process, x, y, 0.1)
    assert "lu_factor" not in str(seen.ir) and "full_diagonal" not in str(seen.ir)
    np.testing.assert_allclose(sg.compile(gaussian_process)(x, y, 0.1), gaussian_process(x, y, 0.1), rtol=1e-12)
    sg.grad(gaussian_process, (0, 1, 2), verify=True)(x, y, 0.1)


EXPRESSIONS = [
    lambda x, y: np.tril(x),
    lambda x, y: np.tril(x, -1),
    lambda x, y: np.triu(x, 1),
    lambda x, y: np.tril(x, 1),
    lambda x, y: np.tril(x).T + np.triu(y),
    lambda x, y: np.tril(x) - np.tril(y),
    lambda x, y: 2.0 * np.tril(x),
    lambda x, y: np.tril(x) @ np.tril(y),
    lambda x, y: np.tril(x) @ np.triu(y),
    lambda x, y: np.tril(x) + np.eye(4),
    lambda x, y: np.tril(np.triu(x)),
    lambda x, y: x @ x.T,
    lambda x, y: x.T @ x + np.eye(4),
    lambda x, y: x @ y.T,
    lambda x, y: np.exp(x) + np.abs(y),
    lambda x, y: np.exp(x) * np.abs(y),
    lambda x, y: np.cosh(x) + np.exp(y),
    lambda x, y: -np.exp(x),
    lambda x, y: np.where(x > y, np.exp(x), np.abs(y)),
    lambda x, y: np.where(x > y, np.exp(x), 0.0),
    lambda x, y: np.linalg.cholesky(x @ x.T + np.eye(4)),
    lambda x, y: np.linalg.cholesky(x @ x.T + np.eye(4)).T,
    lambda x, y: np.tril(x)[:2, :2],
    lambda x, y: np.tril(x)[1:, :3],
    lambda x, y: np.tril(x)[::-1],
    lambda x, y: np.tril(x) + 1.0,
    lambda x, y: np.tril(x) * np.inf,
    lambda x, y: np.tril(x).reshape(2, 8),
]


@pytest.mark.parametrize("k", range(len(EXPRESSIONS)))
def test_what_is_known_holds(k: int) -> None:
    x, y = ir.matrix("x", shape=(4, 4)), ir.matrix("y", shape=(4, 4))
    with np.errstate(all="ignore"):
        out = EXPRESSIONS[k](x, y)
        builder = ir.symbolic.StepBuilder([out])
        known = facts_of(builder.definition, out)
        for seed in range(3):
            values = [np.random.default_rng(seed + j).normal(size=(4, 4)) for j in range(2)]
            found = EXPRESSIONS[k](*values)
            for name in known:
                assert FACTS[name].holds(found), (name, found)


def test_what_is_known() -> None:
    x, y = ir.matrix("x", shape=(4, 4)), ir.matrix("y", shape=(4, 4))

    def known(out: Any) -> set[str]:
        return set(facts_of(ir.symbolic.StepBuilder([out]).definition, out))

    assert known(np.tril(x)) == {"lower_triangular"}
    assert known(np.tril(x).T) == {"upper_triangular"}
    assert known(x @ x.T) == {"symmetric"}
    assert known(x @ y.T) == known(np.tril(x, 1)) == known(np.tril(x)[::-1]) == set()
    assert {"diagonal", "symmetric"} <= known(np.tril(np.triu(x)))
    assert known(np.exp(x) + np.cosh(y)) == {"positive", "nonnegative"}
    assert known(sg.assume(x, positive_definite=True)) == {"positive_definite", "symmetric", "invertible"}


# -- how they are given -------------------------------------------------------------------------------

Spd = Annotated[np.ndarray, sg.Facts(positive_definite=True)]


def annotated(a: Spd, b):
    return np.linalg.solve(a, b)


def annotated_in_full(a: Annotated[np.ndarray, "an unrelated word", sg.Facts(lower_triangular=True)], b):
    return np.linalg.solve(a, b)


def annotated_as_text(a: "Annotated[np.ndarray, sg.Facts(lower_triangular=True)]", b):  # noqa: UP037
    return np.linalg.solve(a, b)


def calls_annotated(a, b):
    return annotated(a @ a.T + np.eye(len(a)), b)


def unknown_annotation(a: Nowhere, b):  # type: ignore[name-defined]  # noqa: F821
    return np.linalg.solve(a, b)


def by_statement(a, b):
    sg.assume(a, lower_triangular=True)
    return np.linalg.solve(a, b)


def two_at_once(a, b):
    sg.assume(a, lower_triangular=True, invertible=True, symmetric=False)
    return np.linalg.solve(a, b)


@pytest.mark.parametrize(
    "function", [annotated, annotated_in_full, annotated_as_text, calls_annotated, by_statement, two_at_once]
)
def test_ways_to_say_it(function: Any) -> None:
    positive = function in (annotated, calls_annotated)
    a = MATRICES["positive_definite" if positive else "lower_triangular"]
    text = str(sg.inspect(function, a, B).ir)
    assert ("positive_solve" if positive else "triangular_solve") in text and "lu_factor" not in text
    np.testing.assert_allclose(sg.compile(function)(a, B), function(a, B), rtol=1e-11)


def test_an_annotation_that_cannot_be_read_says_nothing() -> None:
    assert "lu_factor" in str(sg.inspect(unknown_annotation, PLAIN, B).ir)


def changed_since(a, b):
    sg.assume(a, lower_triangular=True)
    first = np.linalg.solve(a, b)
    a[0, 1] = 5.0
    return first, np.linalg.solve(a, b)


def in_a_branch(a, b, lower):
    if lower:
        sg.assume(a, lower_triangular=True)
        return np.linalg.solve(a, b)
    return np.linalg.solve(a, b)


def in_a_loop(a, b):
    x = b.copy()
    for _ in range(3):
        sg.assume(a, lower_triangular=True)
        x = np.linalg.solve(a, x)
    return x


def made_in_a_loop(b, n):
    x = b.copy()
    for k in range(n):
        h = np.eye(len(b)) * (k + 1.0)
        h[1, 0] = 0.5
        h = sg.assume(h, lower_triangular=True)
        x = np.linalg.solve(h, x)
    return x


def a_part(a, b, n):
    return np.linalg.solve(sg.assume(a[:n, :n], lower_triangular=True), b[:n])


def same_array(a):
    return sg.assume(a, finite=True)


def of_numbers(x, y):
    x = sg.assume(x, positive=True)
    return abs(x) + np.sqrt(x) ** 2 + np.log(x * 1.0) + y


def of_a_number_seen_twice(x):
    y = x
    sg.assume(x, nonnegative=True)
    return abs(x), abs(y)


@pytest.mark.parametrize("lower", [True, False])
def test_where_they_hold(lower: bool) -> None:
    a = MATRICES["lower_triangular"]
    for mine, plain in zip(sg.compile(changed_since)(a.copy(), B), changed_since(a.copy(), B), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-11)
    given = a if lower else PLAIN
    np.testing.assert_allclose(sg.compile(in_a_branch)(given, B, lower), np.linalg.solve(given, B), rtol=1e-11)
    np.testing.assert_allclose(sg.compile(in_a_loop)(a, B), in_a_loop(a, B), rtol=1e-11)
    np.testing.assert_allclose(sg.compile(made_in_a_loop)(B, 3), made_in_a_loop(B, 3), rtol=1e-11)
    np.testing.assert_allclose(sg.compile(a_part)(a, B, 3), a_part(a, B, 3), rtol=1e-11)


def test_nothing_is_copied_or_written() -> None:
    a = MATRICES["lower_triangular"].copy()
    a.setflags(write=False)
    assert sg.compile(same_array)(a) is a
    sg.compile(by_statement)(a, B)
    sg.compile(in_a_loop)(a, B)


def test_numbers() -> None:
    assert sg.compile(of_numbers)(2.5, 1.0) == pytest.approx(of_numbers(2.5, 1.0))
    assert "absolute" not in str(sg.inspect(of_numbers, 2.5, 1.0).ir)
    assert "absolute" not in str(sg.inspect(of_a_number_seen_twice, 2.5).ir)
    assert sg.grad(of_numbers)(2.5, 1.0) == pytest.approx(2.0 + 1 / 2.5)


def log_product(x):
    return np.log(np.prod(sg.assume(x, positive=True)))


def test_the_logarithm_of_a_product_does_not_underflow() -> None:
    x = np.full(500, 1e-3)
    assert sg.compile(log_product)(x) == pytest.approx(500 * np.log(1e-3))
    np.testing.assert_allclose(sg.grad(log_product)(x), 1 / x)


# -- broken promises ----------------------------------------------------------------------------------


def promise(fact: str) -> Any:
    source = {
        "symmetric": lambda a: sg.assume(a, symmetric=True)[0],
        "positive_definite": lambda a: sg.assume(a, positive_definite=True)[0],
        "lower_triangular": lambda a: sg.assume(a, lower_triangular=True)[0],
        "upper_triangular": lambda a: sg.assume(a, upper_triangular=True)[0],
        "diagonal": lambda a: sg.assume(a, diagonal=True)[0],
        "orthogonal": lambda a: sg.assume(a, orthogonal=True)[0],
        "invertible": lambda a: sg.assume(a, invertible=True)[0],
        "positive": lambda a: sg.assume(a, positive=True)[0],
        "nonnegative": lambda a: sg.assume(a, nonnegative=True)[0],
        "finite": lambda a: sg.assume(a, finite=True)[0],
    }
    return source[fact]


GOOD = {**MATRICES, "positive": np.ones((2, 2)), "nonnegative": np.zeros((2, 2)), "finite": PLAIN}
BROKEN = {
    **dict.fromkeys(("symmetric", "positive_definite", "lower_triangular", "upper_triangular", "diagonal"), PLAIN),
    "orthogonal": 2 * np.eye(3),
    "invertible": np.ones((2, 2)),
    "positive": np.zeros((2, 2)),
    "nonnegative": -np.ones((2, 2)),
    "finite": np.full((2, 2), np.inf),
}


@pytest.mark.parametrize("fact", FACTS)
def test_debug_finds_a_broken_promise(fact: str) -> None:
    checked, trusting = sg.compile(promise(fact), mode="DEBUG"), sg.compile(promise(fact))
    np.testing.assert_array_equal(checked(GOOD[fact]), GOOD[fact][0])
    with pytest.raises(ValueError, match=r"it is not|as many"):
        checked(BROKEN[fact])
    np.testing.assert_array_equal(trusting(BROKEN[fact]), BROKEN[fact][0])
    assert FACTS[fact].holds(GOOD[fact]) and not FACTS[fact].holds(BROKEN[fact])
    with pytest.raises(ValueError, match=r"it is not|as many"):
        checked(np.where(np.isfinite(BROKEN[fact]), np.nan, np.nan))


def unknown_fact(a):
    return sg.assume(a, symetric=True)


def of_a_vector(a):
    return sg.assume(a, symmetric=True)


def of_a_text(a):
    return sg.assume("a", symmetric=True)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (unknown_fact, "no fact 'symetric'; did you mean 'symmetric'"),
        (of_a_vector, "cannot be symmetric: it is no matrix"),
        (of_a_text, "facts are about numbers and arrays"),
    ],
)
def test_mistakes(function: Any, text: str) -> None:
    with pytest.raises(sg.errors.SrcgraphError, match=text) as seen:
        sg.compile(function)(np.ones(3))
    assert "test_facts.py" in str(seen.value)


def test_in_plain_python() -> None:
    a = PLAIN
    assert sg.assume(a, symmetric=True) is a
    with pytest.raises(TypeError, match="did you mean 'symmetric'"):
        sg.assume(a, symetric=True)
    with pytest.raises(TypeError, match="no fact"):
        sg.Facts(round=True)


def test_scipy_says_it_too() -> None:
    for k, (said, lower) in enumerate(
        itertools.product(["pos", "sym", "lower triangular", "upper triangular"], [True, False])
    ):
        function = SCIPY[k]
        a = PLAIN @ PLAIN.T + np.eye(SIZE)
        wanted = scipy.linalg.solve(a, B, assume_a=said, lower=lower)
        np.testing.assert_allclose(sg.compile(function)(a, B), wanted, rtol=1e-10, err_msg=said)


SCIPY = [
    lambda a, b: scipy.linalg.solve(a, b, assume_a="pos", lower=True),
    lambda a, b: scipy.linalg.solve(a, b, assume_a="pos", lower=False),
    lambda a, b: scipy.linalg.solve(a, b, assume_a="sym", lower=True),
    lambda a, b: scipy.linalg.solve(a, b, assume_a="sym", lower=False),
    lambda a, b: scipy.linalg.solve(a, b, assume_a="lower triangular", lower=True),
    lambda a, b: scipy.linalg.solve(a, b, assume_a="lower triangular", lower=False),
    lambda a, b: scipy.linalg.solve(a, b, assume_a="upper triangular", lower=True),
    lambda a, b: scipy.linalg.solve(a, b, assume_a="upper triangular", lower=False),
]


def test_of_variables_and_run_eagerly() -> None:
    a, b = ir.matrix("a"), ir.vector("b")
    f = sg.function([a, b], np.linalg.solve(sg.assume(a, lower_triangular=True), b))
    low = MATRICES["lower_triangular"]
    np.testing.assert_allclose(f(low, B[:, 0]), np.linalg.solve(low, B[:, 0]), rtol=1e-11)
    np.testing.assert_allclose(sg.run(lower_of)(low, B), np.linalg.solve(low, B), rtol=1e-11)


def test_text() -> None:
    a, b = ir.matrix("a"), ir.vector("b")
    graph = ir.graph_of([a, b], [np.linalg.solve(sg.assume(a, lower_triangular=True), b)])
    text = ir.instructions(graph)
    assert "lower_triangular" in text
    assert ir.instructions(ir.from_instructions(text)) == text
    assert ir.structural_hash(ir.from_json(ir.to_json(graph))) == ir.structural_hash(graph)


def test_stacks_of_as_many_matrices() -> None:
    a, b = np.stack([PLAIN, 2 * PLAIN]), np.stack([B, B + 1.0])
    np.testing.assert_allclose(sg.compile(solved)(a, b), np.linalg.solve(a, b), rtol=1e-11)
    with pytest.raises(ValueError, match="they must be as many"):
        sg.compile(solved)(a, b[:1])


def solved(a, b):
    return np.linalg.solve(a, b)


@pytest.mark.parametrize("fact", [name for name, fact in FACTS.items() if fact.square])
def test_debug_checks_stacks_and_integers(fact: str) -> None:
    """Each matrix of a stack, of more axes too, and matrices of integers, which agree exactly."""
    checked, eye, bad = sg.compile(promise(fact), mode="DEBUG"), np.eye(3), np.ones((3, 3)) + np.arange(3.0)
    for good, broken in (
        (np.stack([eye, eye]), np.stack([eye, bad])),
        (eye.astype(np.int8), bad.astype(np.int8)),
        (np.stack([[eye, eye]]).astype(int), np.stack([[bad, eye]]).astype(int)),
    ):
        np.testing.assert_array_equal(checked(good), good[0])
        assert not FACTS[fact].holds(broken.astype(float))
        with pytest.raises(ValueError, match="it is not"):
            checked(broken)


def solved_in_turn(b, *matrices: Spd):
    for m in matrices:
        b = np.linalg.solve(m, b)
    return b


def of_keywords(**numbers: Annotated[float, sg.Facts(positive=True)]):
    return numbers["a"]


def test_facts_of_the_rest_of_the_arguments() -> None:
    """Annotations of ``*rest`` are of each item."""
    m = np.array([[2.0, 1.0], [1.0, 3.0]])
    made = sg.compile(solved_in_turn)
    np.testing.assert_allclose(made(np.ones(2), m, 2 * m), solved_in_turn(np.ones(2), m, 2 * m), atol=1e-12)
    assert "positive_solve" in sg.inspect(made, np.ones(2), m, 2 * m).cpu
    with pytest.raises(ValueError, match=r"the argument 'matrices\[1\]': it is not symmetric and positive definite"):
        sg.compile(solved_in_turn, mode="DEBUG")(np.ones(2), m, -m)
    with pytest.raises(sg.errors.SrcgraphError, match=r"(?s)facts of \*\*numbers are not supported.*sg.assume"):
        sg.compile(of_keywords)(a=1.0)


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    "a",
    [[[NAN]], [[-1.0, 0.0], [0.0, NAN]], [[1.0, 0.0], [NAN, -1.0]], [[NAN, 0.0], [0.0, 0.0]], [[INF, 0.0], [0.0, 0.0]],
     [[-1.0, 0.0, 0.0], [NAN, -1.0, 0.0], [0.0, NAN, -1.0]], [[INF, 0.0], [1.0, -1.0]], [[0.0, 0.0], [NAN, 1.0]]],
)  # fmt: skip
def test_slogdet_of_triangles_that_are_not_finite(a: Any) -> None:
    """Sign and logarithm are NumPy's."""
    lower, upper = np.array(a), np.array(a).T.copy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(sg.compile(of_a_lower_one)(lower), np.linalg.slogdet(lower))
        np.testing.assert_array_equal(sg.compile(of_an_upper_one)(upper), np.linalg.slogdet(upper))


def of_a_lower_one(a):
    return np.linalg.slogdet(sg.assume(a, lower_triangular=True))


def of_an_upper_one(a):
    return np.linalg.slogdet(np.triu(a))
