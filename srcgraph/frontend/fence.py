"""The supported language, as one table, and the walk that reports everything outside it at once."""

from __future__ import annotations

from typing import Any

import gast

from srcgraph.errors import Problem, UnsupportedError
from srcgraph.frontend.source import Source

SUPPORTED: frozenset[type] = frozenset(
    {
        # statements
        gast.FunctionDef, gast.Return, gast.Assign, gast.AugAssign, gast.AnnAssign, gast.For, gast.While,
        gast.If, gast.Expr, gast.Pass, gast.Delete, gast.Break, gast.Continue, gast.Assert, gast.Raise,
        gast.With, gast.withitem, gast.Nonlocal, gast.Try, gast.ExceptHandler,
        # expressions
        gast.BoolOp, gast.NamedExpr, gast.BinOp, gast.UnaryOp, gast.Lambda, gast.IfExp, gast.Compare,
        gast.Call, gast.Constant, gast.Attribute, gast.Subscript, gast.Starred, gast.Name, gast.List,
        gast.Tuple, gast.Slice, gast.Dict, gast.ListComp, gast.DictComp, gast.SetComp, gast.GeneratorExp, gast.Set,
        gast.JoinedStr, gast.FormattedValue,
        # parts
        gast.arguments, gast.keyword, gast.comprehension, gast.Load, gast.Store, gast.Del, gast.Param,
        gast.And, gast.Or, gast.Not, gast.UAdd, gast.USub, gast.Invert,
        gast.Add, gast.Sub, gast.Mult, gast.Div, gast.FloorDiv, gast.Mod, gast.Pow, gast.MatMult,
        gast.LShift, gast.RShift, gast.BitAnd, gast.BitOr, gast.BitXor,
        gast.Eq, gast.NotEq, gast.Lt, gast.LtE, gast.Gt, gast.GtE, gast.Is, gast.IsNot, gast.In, gast.NotIn,
    }
)  # fmt: skip

WHY: dict[type, tuple[str, str]] = {
    gast.Yield: ("yield", "return an array instead"),
    gast.YieldFrom: ("yield from", "return an array instead"),
    gast.Await: ("await", ""),
    gast.AsyncFunctionDef: ("an async function", ""),
    gast.AsyncFor: ("async for", ""),
    gast.AsyncWith: ("async with", ""),
    gast.Global: ("global", "return the new value, or pass an array and store into it"),
    gast.ClassDef: ("a class defined inside a compiled function", "define it at module level"),
    gast.Import: ("import inside a compiled function", "import at module level"),
    gast.ImportFrom: ("import inside a compiled function", "import at module level"),
    gast.Match: ("match", "write if and elif"),
}


def check_fence(source: Source) -> None:
    """Report every construct outside the supported language.

    Raises
    ------
    UnsupportedError
        Lists each one with its line.
    """
    problems: list[Problem] = []
    _visit(source.node, source, problems)
    if problems:
        raise UnsupportedError(problems)


def _visit(node: Any, source: Source, problems: list[Problem]) -> None:
    for child in _evaluated(node):
        if type(child) not in SUPPORTED:
            what, hint = WHY.get(type(child), (type(child).__name__, ""))
            problems.append(Problem(f"{what} is not supported", source.loc(child), hint=hint, kind=UnsupportedError))
        else:
            _visit(child, source, problems)


def _evaluated(node: Any) -> list[Any]:
    """The children of a node that run when it runs: decorators and annotations do not."""
    if isinstance(node, gast.FunctionDef):
        return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None), *node.body]
    if isinstance(node, gast.Lambda):
        return [*node.args.defaults, node.body]
    if isinstance(node, gast.AnnAssign):
        return [c for c in (node.target, node.value) if c is not None]
    if isinstance(node, gast.Name):
        return []
    return list(gast.iter_child_nodes(node))
