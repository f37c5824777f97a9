"""One hash for graphs that differ in names, hints and symbols only."""

from __future__ import annotations

from round_trip import SEED

from srcgraph import ir


def test_hash_is_of_the_structure() -> None:
    """Names of values, symbols and functions do not count; anything else does."""
    graph = ir.from_instructions(SEED)
    hashes = {ir.structural_hash(ir.from_instructions(text)) for text in (
        SEED, SEED.replace("x1", "u"), SEED.replace("ndim=2", "shape=(rows, columns)"), SEED + "# comment",
        SEED.replace("ndim=2", "shape=(b, a)"),
    )}  # fmt: skip
    assert hashes == {ir.structural_hash(graph)}
    others = [("tanh", "sin"), ("ndim=2", "shape=(n, n)"), ("ndim=2", "shape=(3, n)"), ("float64", "float32")]
    others += [("float64) x2", "float64) x2 axes=(0, 1)\nsum x4 x2"), ("return x3", "return x3 x3")]
    assert len({ir.structural_hash(ir.from_instructions(SEED.replace(*o))) for o in others} | hashes) == len(others) + 1


def test_hash_of_programs() -> None:
    text = """
    program "f"
    graph "f"
      new x1(shape=(n + m,), dtype=float64)
      call x2(shape=(n + m,), dtype=float64) x1 callee="g"
      call x3(shape=(n + m,), dtype=float64) x2 callee="f"
      return x3
    graph "g"
      new x1(shape=(a - 2 * b,), dtype=float64)
      return x1
    """
    renamed = (
        text.replace('"f"', '"main"').replace('"g"', '"f"').replace("n + m", "q + p").replace("a - 2 * b", "c - 2 * d")
    )
    first, second = ir.from_instructions(text), ir.from_instructions(renamed)
    assert ir.structural_hash(first) == ir.structural_hash(second)
    third = ir.from_instructions(renamed.replace("c - 2 * d", "c - 3 * d"))
    assert ir.structural_hash(third) != ir.structural_hash(first)


def test_hash_of_definitions() -> None:
    """Functions inside a graph are told apart by their order; those that are somewhere else, by their names."""
    text = """
    new x(ndim=0, dtype=float64)
    define name="double"
      new y(ndim=0, dtype=float64)
      add z y y
      return z
    call a(ndim=0, dtype=float64) x callee="double"
    call b(ndim=0, dtype=float64) a callee="elsewhere"
    return b
    """
    found = [ir.structural_hash(ir.from_instructions(text.replace(*names))) for names in (
        ("double", "double"), ("double", "twice"), ("elsewhere", "there"),
    )]  # fmt: skip
    assert found[0] == found[1] != found[2]
