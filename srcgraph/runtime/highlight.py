"""Python text to HTML, line by line, with a class per kind of word.

Pygments where it is installed, else Python's own tokenizer. The classes are ``k`` for keywords, ``s``
strings, ``n`` numbers, ``c`` comments and ``d`` for names being defined.
"""

from __future__ import annotations

import html
import io
import keyword
import tokenize
from collections.abc import Iterable, Iterator

try:
    from pygments.lexers.python import PythonLexer
    from pygments.token import Token
except ImportError:
    PythonLexer = Token = None

Word = tuple[str, str]
"""A class, or '', and text."""


def highlighted(lines: Iterable[str]) -> list[str]:
    """The HTML of each line; all are read in one go, so that strings may span lines."""
    text = "".join(f"{line}\n" for line in lines)
    words = _tokenized(text) if PythonLexer is None else _lexed(text)
    return _per_line(words)


def _per_line(words: Iterable[Word]) -> list[str]:
    done, now = [], []
    for kind, text in words:
        first, *rest = text.split("\n")
        now.append(_marked(kind, first))
        for part in rest:
            done.append("".join(now))
            now = [_marked(kind, part)]
    return done


def _marked(kind: str, text: str) -> str:
    escaped = html.escape(text, quote=False)
    if not kind or not text.strip():
        return escaped
    tag = "b" if kind in "kd" else "span"  # bold also where style sheets are stripped
    return f'<{tag} class="{kind}">{escaped}</{tag}>'


def _lexed(text: str) -> Iterator[Word]:
    """Words by Pygments."""
    assert PythonLexer is not None and Token is not None
    kinds = (
        (Token.Keyword, "k"),
        (Token.Operator.Word, "k"),
        (Token.Comment, "c"),
        (Token.Literal.String, "s"),
        (Token.Literal.Number, "n"),
        (Token.Name.Function, "d"),
        (Token.Name.Decorator, "d"),
    )
    for token, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        yield next((kind for of, kind in kinds if token in of), ""), value


def _tokenized(text: str) -> Iterator[Word]:
    """Words by `tokenize`; from where it gives up, the rest is plain."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    at, before = 0, ""
    for token in _tokens(text):
        kind = _kind(token, before)
        before = token.string or before
        start, end = (starts[min(row, len(starts)) - 1] + col for row, col in (token.start, token.end))
        if kind and start >= at:
            yield "", text[at:start]
            yield kind, text[start:end]
            at = end
    yield "", text[at:]


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens up to what is no Python."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError):
        return


def _kind(token: tokenize.TokenInfo, before: str) -> str:
    match tokenize.tok_name[token.type]:
        case "NAME":
            return "k" if keyword.iskeyword(token.string) else "d" if before == "def" else ""
        case "COMMENT":
            return "c"
        case "NUMBER":
            return "n"
        case "STRING" | "FSTRING_START" | "FSTRING_MIDDLE" | "FSTRING_END":
            return "s"
    return ""
