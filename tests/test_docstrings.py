"""The examples in docstrings of public functions print what they say."""

from __future__ import annotations

import doctest
import re
from typing import Any

import numba
import numpy as np
import pytest

import srcgraph as sg
from srcgraph import ir
from srcgraph.runtime import symbolic

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = {
    **{f"srcgraph.{n}": getattr(sg, n) for n in sg.__all__},
    **{f"srcgraph.ir.{n}": getattr(ir, n) for n in ir.__all__},
    "srcgraph.runtime.symbolic.call": symbolic.call,
}


def examples(name: str, value: Any) -> list[doctest.DocTest]:
    names = {**vars(sg), "sg": sg, "np": np, "numba": numba, "__name__": "examples", name.rsplit(".", 1)[1]: value}
    return [t for t in doctest.DocTestFinder(recurse=False).find(value, name, globs=names) if t.examples]


EXAMPLES = [t for name, value in PUBLIC.items() if callable(value) for t in examples(name, value)]


class Checker(doctest.OutputChecker):
    """Lengths of variables have other names, ``n_2``, where there were others before."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, re.sub(r"\bn_\d+\b", "n", got), optionflags)


@pytest.mark.parametrize("test", EXAMPLES, ids=lambda t: t.name)
def test_examples(test: doctest.DocTest) -> None:
    said: list[str] = []
    done = doctest.DocTestRunner(Checker(), optionflags=FLAGS).run(test, out=said.append)
    assert done.attempted and not done.failed, "".join(said)
