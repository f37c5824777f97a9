"""Imports point one way: this table is the architecture, read from the text of every module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import srcgraph
from srcgraph.codegen.statements import defined

ROOT = Path(srcgraph.__file__).parent
ALLOWED = {
    "errors": set(),
    "ir": {"errors"},
    "infer": {"errors", "ir"},
    "frontend": {"errors", "ir", "infer"},
    "codegen": {"errors", "ir"},
    "opt": {"errors", "ir", "infer"},
    "runtime": {"errors", "ir", "infer", "frontend", "codegen", "opt"},
}
"""What each package of `srcgraph` may import, besides itself."""
TOP = {"__init__", "__main__"}
"""Modules that put everything together."""
OUTSIDE = {"gast": {"frontend"}, "numba": {"runtime"}, "astunparse": {"codegen"}}
"""Libraries that only some packages may import: a change of library stays in one folder."""


@dataclass(frozen=True)
class Import:
    """One imported module, and where the import stands."""

    module: str
    path: Path
    line: int
    nested: bool

    @property
    def layer(self) -> str:
        return layer_of(self.path)

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT.parent)}:{self.line} imports {self.module}"


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path, text: str | None = None) -> Iterator[Import]:
    """Every import of a module, also those for type checkers only."""
    tree = ast.parse(path.read_text() if text is None else text)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    inside = {id(n) for f in functions for n in ast.walk(f)}
    package = ".".join(path.relative_to(ROOT.parent).parent.parts)
    for node in ast.walk(tree):
        for name in _imported(node, package):
            yield Import(name, path, node.lineno, id(node) in inside)


def _imported(node: ast.AST, package: str) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [a.name for a in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            if level:
                base = package.split(".")
                module = ".".join([*base[: len(base) - level + 1], *([module] if module else [])])
            if module == "srcgraph":
                return [f"srcgraph.{a.name}" for a in names]
            return [module or ""]
        case ast.Call(func=ast.Name(id="__import__")) | ast.Call(func=ast.Attribute(attr="import_module")):
            return ["(computed when run)"]
    return []


def breaks_table(found: Import) -> bool:
    """Whether an import points the wrong way."""
    parts = found.module.split(".")
    if found.layer in TOP or len(parts) == 0:
        return False
    if parts[0] != "srcgraph":
        return found.layer not in OUTSIDE.get(parts[0], {found.layer})
    if len(parts) == 1:
        return True  # the package itself imports everything
    return parts[1] != found.layer and parts[1] not in ALLOWED[found.layer]


MODULES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_imports_follow_the_table(path: Path) -> None:
    """Each import is allowed by the table and stands at module level."""
    assert layer_of(path) in {*ALLOWED, *TOP}, f"{path.name} is in no layer of the table"
    wrong = [f"{i} (the table forbids it)" for i in imports(path) if breaks_table(i)]
    wrong += [f"{i} inside a function" for i in imports(path) if i.nested]
    assert not wrong, "\n".join(wrong)


def test_every_layer_has_modules() -> None:
    """A renamed folder does not leave the table empty-handed."""
    assert {layer_of(p) for p in MODULES} - TOP == set(ALLOWED)


@pytest.mark.parametrize(
    ("where", "text", "what"),
    [
        ("ir/dims.py", "from srcgraph.opt.dce import dce", "srcgraph/ir/dims.py:1 imports srcgraph.opt.dce"),
        ("ir/dims.py", "import srcgraph.infer.signature", "srcgraph/ir/dims.py:1 imports srcgraph.infer.signature"),
        ("errors.py", "import os\nfrom srcgraph import ir", "srcgraph/errors.py:2 imports srcgraph.ir"),
        ("codegen/body.py", "from ..opt import passes", "srcgraph/codegen/body.py:1 imports srcgraph.opt"),
        ("opt/dce.py", "import numba", "srcgraph/opt/dce.py:1 imports numba"),
        ("opt/dce.py", "if True:\n    from srcgraph.codegen import cpu", "/dce.py:2 imports srcgraph.codegen"),
        ("infer/signature.py", "import srcgraph", "srcgraph/infer/signature.py:1 imports srcgraph"),
    ],
)  # fmt: skip
def test_a_wrong_import_is_named(where: str, text: str, what: str) -> None:
    """The check itself finds imports against the table, and says where."""
    found = [str(i) for i in imports(ROOT / where, text) if breaks_table(i)]
    assert len(found) == 1 and what in found[0]


def test_an_import_inside_a_function_is_found() -> None:
    """Imports in functions, methods and lambdas count as nested."""
    text = "class A:\n    def f(self):\n        import os\ng = lambda: __import__('re')\nimport sys\n"
    assert [(i.line, i.nested) for i in imports(ROOT / "errors.py", text)] == [(5, False), (3, True), (4, True)]


def test_functions_are_written_in_one_place() -> None:
    """What a node of a function needs differs between versions of Python: `codegen.statements.defined` knows."""
    made = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("ast.FunctionDef", "ast.ClassDef")
    ]
    assert [place.split(":")[0] for place in made] == ["codegen/statements.py"], made
    assert defined("f", ["x"], [ast.Pass()], []).type_params == []  # type: ignore[attr-defined]
