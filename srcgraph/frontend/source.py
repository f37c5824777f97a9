"""The source of a running function: found, parsed, and checked to be what is running.

The whole file (or notebook cell) is parsed, so every node has its true line and column; the
function is the node whose compiled code is the live function's.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import gast

from srcgraph.errors import Loc, Problem, SourceError, UnsupportedError, short_path

FunctionNode = gast.FunctionDef | gast.Lambda


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """A function's syntax tree and the file its positions refer to."""

    node: Any
    file: str
    name: str

    def loc(self, node: Any) -> Loc:
        """The place of a node of the tree."""
        return node_loc(node, self.file)


def node_loc(node: Any, file: str) -> Loc:
    return Loc(file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


_GIVEN: WeakKeyDictionary[types.FunctionType, str] = WeakKeyDictionary()
"""The sources that users have given for functions."""


def read_source(function: types.FunctionType, text: str | None = None) -> Source:
    """Find the syntax tree of a live function.

    Parameters
    ----------
    function : function
        A Python function or lambda.
    text : str, optional
        Its source, where none can be found (functions made by ``exec`` or typed on a pipe); from then on it is known.

    Raises
    ------
    SourceError
        There is no source, or it is no longer what is running.
    """
    code = function.__code__
    text = _GIVEN.get(function) if text is None else text
    if text is not None:
        found = _from_text(function, text)
        _GIVEN[function] = text
        return found
    parsed = _parsed(code.co_filename, "".join(_lines(function)))
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise UnsupportedError(Problem("async functions are not supported", Loc(code.co_filename, code.co_firstlineno)))
    node = parsed.find(code)
    if node is None:
        raise _changed(code)
    if not _rewritten(node) and not any(_same_code(found, code) for found in parsed.compiled(code)):
        raise _changed(code)
    return Source(node, code.co_filename, function.__name__)


def _from_text(function: types.FunctionType, text: str) -> Source:
    name = f"<source of {function.__name__}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    tree = _parsed(name, text).tree
    wanted = function.__name__
    kind = gast.Lambda if wanted == "<lambda>" else gast.FunctionDef
    found = [n for n in gast.walk(tree) if isinstance(n, kind) and getattr(n, "name", wanted) == wanted]
    if not found:
        raise SourceError(f"the source given does not define {wanted!r}")
    for node in found:
        if _rewritten(node) or _is_compiled_from(function.__code__, node):
            return Source(node, name, wanted)
    raise SourceError(f"the source given is not that of {wanted!r}: it defines another function of that name")


def _is_compiled_from(code: types.CodeType, node: Any) -> bool:
    """Whether a definition compiles to ``code``; one that sees variables of a function around it is believed."""
    if code.co_freevars:
        return True
    if isinstance(node, gast.Lambda):
        return _shape(_code_of_lambda(node)) == _shape(code)
    alone = ast.Module([gast.gast_to_ast(node)], [])
    alone.body[0].decorator_list = []  # type: ignore[attr-defined]
    flags = code.co_flags & __future__.annotations.compiler_flag
    module = compile(ast.fix_missing_locations(alone), "<source>", "exec", flags, dont_inherit=True)
    inner = [c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == code.co_name]
    return any(_shape(c) == _shape(code) for c in inner)


def _lines(function: types.FunctionType) -> list[str]:
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if lines:
        return lines
    raise _missing(code)


def _missing(code: types.CodeType) -> SourceError:
    return SourceError(
        Problem(
            f"no source for {code.co_qualname!r}: {short_path(code.co_filename)} cannot be read",
            hint="functions typed at a pipe or made by exec need compile(function, source=text)",
        )
    )


def _changed(code: types.CodeType) -> SourceError:
    if code.co_filename in ("<string>", "<stdin>"):  # what was found there is another program's
        return _missing(code)
    return SourceError(
        Problem(
            f"the source of {code.co_name!r} is no longer what is running",
            Loc(code.co_filename, code.co_firstlineno),
            hint="the file was edited after it was imported; import it again",
        )
    )


class _Parsed:
    """A file, or a notebook's cell: its tree, and what its functions compile to. All is found once."""

    def __init__(self, file: str, text: str):
        self.file = file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has told when it was imported
            self.plain, self.tree = ast.parse(text, filename=file), gast.parse(text, filename=file)

    def find(self, code: types.CodeType) -> Any:
        """The node compiled to ``code``: by first line, and for lambdas by the columns of the code."""
        found = self.nodes.get((code.co_name, code.co_firstlineno), [])
        if code.co_name == "<lambda>":
            return _of_lambdas(found, code)
        return found[0] if found else None

    @cached_property
    def nodes(self) -> dict[tuple[str, int], list[Any]]:
        """Functions and lambdas by name and first line; breadth first, so an inner one comes after the outer one."""
        found: dict[tuple[str, int], list[Any]] = {}
        for node in gast.walk(self.tree):
            if isinstance(node, gast.FunctionDef):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                found.setdefault((node.name, first), []).append(node)
            elif isinstance(node, gast.Lambda):
                found.setdefault(("<lambda>", node.lineno), []).append(node)
        return found

    def compiled(self, code: types.CodeType) -> Iterator[list[types.CodeType]]:
        """What may be ``code``: compiled with the file, or alone as in a notebook's cell."""
        key, line = (code.co_name, code.co_firstlineno), code.co_firstlineno
        yield self.codes.get(key, [])
        for statement in self.plain.body:
            first = min(getattr(n, "lineno", statement.lineno) for n in ast.walk(statement))
            if first <= line <= (statement.end_lineno or first):
                yield self.of(ast.Module([statement], [])).get(key, [])

    @cached_property
    def codes(self) -> dict[tuple[str, int], list[types.CodeType]]:
        """Code objects by name and first line."""
        return self.of(self.plain)

    def of(self, module: ast.Module) -> dict[tuple[str, int], list[types.CodeType]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stack = [compile(module, self.file, "exec", dont_inherit=True)]
        found: dict[tuple[str, int], list[types.CodeType]] = {}
        while stack:
            inner = [c for c in stack.pop().co_consts if isinstance(c, types.CodeType)]
            stack += inner
            for code in inner:
                found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        return found


@lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> _Parsed:
    try:
        return _Parsed(file, text)
    except SyntaxError as error:
        raise SourceError(f"{short_path(file)} does not parse: {error}") from error


def _of_lambdas(found: list[Any], code: types.CodeType) -> Any:
    """That of the lambdas of a line which compiles to ``code``."""
    spans = [p for p in code.co_positions() if None not in p and p[2] != p[3]]
    for node in reversed(found):
        body = node.body
        inside = [
            (body.lineno, body.col_offset) <= (line, col) and (end, end_col) <= (body.end_lineno, body.end_col_offset)
            for line, end, col, end_col in spans
        ]
        if spans and all(inside):
            return node
    if len(found) > 1 and not spans:  # a constant: Python 3.12 gives its code no columns
        found = [n for n in found if _shape(_code_of_lambda(n)) == _shape(code)][:1]
    return found[0] if len(found) == 1 else None


def _code_of_lambda(node: gast.Lambda) -> types.CodeType:
    tree = ast.fix_missing_locations(ast.Expression(gast.gast_to_ast(node)))
    return compile(tree, "<lambda>", "eval").co_consts[0]


def _same_code(found: list[types.CodeType], code: types.CodeType) -> bool:
    """Whether one of some codes with its name and line is ``code``; columns decide if they tell."""
    same = [c for c in found if list(c.co_positions()) == list(code.co_positions())]
    return any(_shape(c) == _shape(code) for c in same or found)


def _shape(code: types.CodeType) -> Any:
    consts = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
    return code.co_code, [(type(c), repr(c)) for c in consts], code.co_names, code.co_varnames


def _rewritten(node: Any) -> bool:
    """Whether tools such as pytest compile this function from a rewritten tree: it asserts."""
    return any(isinstance(n, gast.Assert) for n in gast.walk(node))


def signature_of(function: Any) -> inspect.Signature:
    return inspect.signature(function)


def expression_text(node: Any) -> str:
    """A gast expression as Python text."""
    return ast.unparse(gast.gast_to_ast(node))
