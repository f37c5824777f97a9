"""Sizes and integers as exact symbolic expressions, and what can be proved about them.

A `Dim` is a polynomial with integer coefficients over atoms: symbols such as ``n`` and calls such
as ``max(n - 2, 0)`` or ``n // 2``. Equal expressions are equal objects, so "do these two axes have
the same length" is ``==``. `prove_nonnegative` answers inequalities from a list of known ones.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeAlias

from srcgraph.errors import InternalError


@dataclass(frozen=True)
class DimCall:
    """An opaque integer function of dims: max, min, floordiv or mod."""

    fn: str
    args: tuple[Dim, ...]

    @cached_property
    def text(self) -> str:
        if self.fn in _INFIX:
            left, right = (str(a) if _is_plain(a) else f"({a})" for a in self.args)
            return f"({left} {_INFIX[self.fn]} {right})"
        return f"{self.fn}({', '.join(map(str, self.args))})"

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimCall) and self.text == other.text


Atom: TypeAlias = "str | DimCall"
_INFIX = {"floordiv": "//", "mod": "%"}
_FUNCTIONS = {
    "max": max,
    "min": min,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


def _is_plain(dim: Dim) -> bool:
    """Whether a text can stand beside an operator as it is: a number, a symbol or a call."""
    return dim.const is not None or (len(dim.terms) == 1 and dim.terms[0][1] == 1 and len(dim.terms[0][0]) == 1)


def _atom_text(atom: Atom) -> str:
    return atom if isinstance(atom, str) else atom.text


class Dim:
    """An integer polynomial; immutable, equal and hashed by value."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[tuple[Atom, ...], int]):
        kept = ((m, c) for m, c in terms.items() if c)
        self.terms = tuple(sorted(kept, key=lambda t: (-len(t[0]), [_atom_text(a) for a in t[0]])))
        self._hash = hash(self.terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self.const == other
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    @property
    def const(self) -> int | None:
        """The value, if the expression is a constant."""
        if not self.terms:
            return 0
        (monomial, coefficient), *rest = self.terms
        return coefficient if not monomial and not rest else None

    @property
    def symbol(self) -> str | None:
        """The name, if the expression is one bare symbol."""
        if len(self.terms) == 1 and self.terms[0][1] == 1:
            monomial = self.terms[0][0]
            if len(monomial) == 1 and isinstance(monomial[0], str):
                return monomial[0]
        return None

    def fits(self) -> bool:
        """Whether its numbers have 64 bits each, so that it can be written as it is."""
        return all(-(2**63) <= n < 2**63 for _, n in self.terms)

    def __add__(self, other: Dim | int) -> Dim:
        return Dim(_added(self, as_dim(other), 1))

    def __sub__(self, other: Dim | int) -> Dim:
        return Dim(_added(self, as_dim(other), -1))

    def __neg__(self) -> Dim:
        return Dim({m: -c for m, c in self.terms})

    def __mul__(self, other: Dim | int) -> Dim:
        out: dict[tuple[Atom, ...], int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in as_dim(other).terms:
                monomial = tuple(sorted(m1 + m2, key=_atom_text))
                out[monomial] = out.get(monomial, 0) + c1 * c2
        return Dim(out)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: int) -> Dim:
        return as_dim(other) - self

    def symbols(self) -> frozenset[str]:
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found.update(*(a.symbols() for a in atom.args))
        return frozenset(found)

    def __repr__(self) -> str:
        return f"Dim({self})"

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for monomial, coefficient in self.terms:
            parts = [_atom_text(a) for a in monomial]
            if abs(coefficient) != 1 or not parts:
                parts.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            body = " * ".join(parts)
            text = f"{text} {sign} {body}" if text else ("-" + body if sign == "-" else body)
        return text


def _added(x: Dim, y: Dim, sign: int) -> dict[tuple[Atom, ...], int]:
    out = dict(x.terms)
    for monomial, coefficient in y.terms:
        out[monomial] = out.get(monomial, 0) + sign * coefficient
    return out


def as_dim(value: Dim | int) -> Dim:
    return value if isinstance(value, Dim) else Dim({(): value})


def symbol(name: str) -> Dim:
    return Dim({(name,): 1})


UNKNOWN = symbol("_")
"""Stands for a size nobody knows in a type rule's answer; the builder gives each a symbol of its own."""


def product(dims: Iterable[Dim]) -> Dim:
    return reduce(lambda a, b: a * b, dims, as_dim(1))


def floordiv(x: Dim, y: Dim | int) -> Dim:
    """``x // y`` for a positive constant ``y``, exact where every coefficient divides."""
    y = as_dim(y)
    if y.const and all(c % y.const == 0 for _, c in x.terms):
        return Dim({m: c // y.const for m, c in x.terms})
    return _call("floordiv", x, y)


def quotient(x: Dim, y: Dim) -> Dim | None:
    """``x / y`` for a product ``y`` that is not 0, if all terms of ``x`` are multiples of it."""
    if len(y.terms) != 1:
        return None
    ((factors, times),) = y.terms
    found: dict[tuple[Atom, ...], int] = {}
    for monomial, coefficient in x.terms:
        rest = list(monomial)
        if coefficient % times or Counter(factors) - Counter(monomial):
            return None
        for atom in factors:
            rest.remove(atom)
        found[tuple(rest)] = coefficient // times
    return Dim(found)


def modulo(x: Dim, y: Dim | int) -> Dim:
    """``x % y``."""
    return _call("mod", x, as_dim(y))


def maximum(x: Dim, y: Dim | int) -> Dim:
    y = as_dim(y)
    difference = (x - y).const
    if difference is not None:
        return x if difference >= 0 else y
    more = dict(x.terms).get((), 0)
    if y == 0 and _is_clamp(x - more):  # max(max(n, 0) - 1, 0) is max(n - 1, 0)
        return x if more >= 0 else maximum(unclamped(x - more) + more, 0)
    return _call("max", x, y)


def minimum(x: Dim, y: Dim | int) -> Dim:
    y = as_dim(y)
    difference = (x - y).const
    if difference is not None:
        return x if difference <= 0 else y
    return _call("min", x, y)


def _is_clamp(x: Dim) -> bool:
    """Whether ``x`` is already ``max(_, 0)``."""
    atom = x.terms[0][0] if len(x.terms) == 1 and x.terms[0][1] == 1 else ()
    return len(atom) == 1 and isinstance(atom[0], DimCall) and atom[0].fn == "max" and atom[0].args[1] == 0


def _call(fn: str, *args: Dim) -> Dim:
    consts = [a.const for a in args]
    if all(c is not None for c in consts) and not (fn in _INFIX and consts[1] == 0):
        return as_dim(_FUNCTIONS[fn](*consts))
    return Dim({(DimCall(fn, args),): 1})


def substitute(dim: Dim, env: Mapping[str, Dim]) -> Dim:
    """Replace symbols by expressions, all at once."""
    if not env or dim.symbols().isdisjoint(env):
        return dim
    total = as_dim(0)
    for monomial, coefficient in dim.terms:
        total = total + product(_substitute_atom(a, env) for a in monomial) * coefficient
    return total


def coefficient(dim: Dim, name: str) -> int | None:
    """How much larger a dim is where a symbol is larger by one; None if that depends on more."""
    return (substitute(dim, {name: symbol(name) + 1}) - dim).const


def _substitute_atom(atom: Atom, env: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, str):
        return env.get(atom, symbol(atom))
    args = tuple(substitute(a, env) for a in atom.args)
    match atom.fn:
        case "max":
            return maximum(*args)
        case "min":
            return minimum(*args)
        case "floordiv":
            return floordiv(*args)
    return _call(atom.fn, *args)


def evaluate(dim: Dim, env: Mapping[str, int]) -> int:
    """The number ``dim`` stands for when its symbols have these values."""
    total = 0
    for monomial, coefficient in dim.terms:
        for atom in monomial:
            if isinstance(atom, str):
                coefficient *= env[atom]
            else:
                coefficient *= _FUNCTIONS[atom.fn](*(evaluate(a, env) for a in atom.args))
        total += coefficient
    return total


def parse_dim(node: ast.expr) -> Dim:
    """Read a dim back from the Python expression that ``str`` wrote."""
    match node:
        case ast.Constant(value=int(value)):
            return as_dim(value)
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -parse_dim(operand)
        case ast.BinOp(left=left, op=op, right=right):
            x, y = parse_dim(left), parse_dim(right)
            match op:
                case ast.Add():
                    return x + y
                case ast.Sub():
                    return x - y
                case ast.Mult():
                    return x * y
                case ast.FloorDiv():
                    return floordiv(x, y)
                case ast.Mod():
                    return modulo(x, y)
        case ast.Call(func=ast.Name(id=("max" | "min") as fn), args=[left, right]):
            return (maximum if fn == "max" else minimum)(parse_dim(left), parse_dim(right))
    raise InternalError(f"not a size expression: {ast.unparse(node)}")


def call_of(dim: Dim) -> DimCall | None:
    """The function that a dim is; None if it is anything else."""
    if len(dim.terms) != 1 or dim.terms[0][1] != 1 or len(dim.terms[0][0]) != 1:
        return None
    (atom,) = dim.terms[0][0]
    return atom if isinstance(atom, DimCall) else None


def unclamped(dim: Dim) -> Dim:
    """``d`` of ``max(d, 0)``, which is the same where that is not 0; else the dim itself."""
    atom = call_of(dim)
    return atom.args[0] if atom is not None and atom.fn == "max" and atom.args[1] == 0 else dim


def prove_nonnegative(dim: Dim, known: Iterable[Dim], depth: int = 4) -> bool:
    """Whether ``dim >= 0`` follows from ``d >= 0`` for each ``d`` in ``known``.

    Subtracts known nonnegative expressions until only nonnegative terms are left: a small, sound
    and incomplete search, enough for index arithmetic. A clamp ``max(a, b)`` is at least ``a`` and
    at least ``b``; ``min(a, b)`` is at most both; ``a % b`` is below a positive ``b``.
    """
    return _Search(known).proves(dim, depth)


class _Search:
    """What follows from known facts.

    Parameters
    ----------
    known : iterable of Dim
        What is not negative.
    """

    def __init__(self, known: Iterable[Dim]):
        facts = dict.fromkeys(known)
        self.positive = frozenset(_is_at_least(fact) for fact in facts)
        self.facts: dict[tuple[Any, bool], list[Dim]] = {}
        """Those of more than one symbol, by what they have, and whether they add or subtract it."""
        for fact in facts:
            for monomial, count in () if fact.symbol else fact.terms:
                if monomial:
                    self.facts.setdefault((monomial, count > 0), []).append(fact)
        self.divided = dict.fromkeys(a for fact in facts for a in _calls(fact) if a.fn == "floordiv")
        """The quotients that facts are about."""
        self.failed: dict[Dim, int] = {}
        """How deep it was looked for what was not found."""

    def proves(self, dim: Dim, depth: int) -> bool:
        """Whether something is not negative, by so many facts, one after the other."""
        if self.failed.get(dim, -1) >= depth:
            return False
        found = self._proves(dim, depth)
        if not found:
            self.failed[dim] = depth
        return found

    def _proves(self, dim: Dim, depth: int) -> bool:
        if all(c >= 0 and all(self._has_no_sign(a, depth) for a in m) for m, c in dim.terms):
            return True
        if depth == 0:
            return False
        own = dict.fromkeys((m, c > 0) for m, c in dim.terms if m)
        shared = dict.fromkeys(fact for term in own for fact in self.facts.get(term, ()))
        more = [f for f in self._of_functions(dim, depth) if any((m, c > 0) in own for m, c in f.terms)]
        if any(self.proves(dim - fact, depth - 1) for fact in (*shared, *more)):
            return True
        less = self._without_factor(dim, depth)
        if less is not None and self.proves(less, depth - 1):
            return True
        ways = _either_way(dim) or _undivided(dim)
        return bool(ways) and all(self.proves(way, depth - 1) for way in ways)

    def _has_no_sign(self, atom: Atom, depth: int) -> bool:
        if isinstance(atom, str):
            return atom in self.positive
        if depth == 0:
            return False
        proved = (self.proves(a, depth - 1) for a in atom.args)
        match atom.fn:
            case "max":
                return any(proved)
            case "min":
                return all(proved)
            case "mod":
                return self.proves(atom.args[1] - 1, depth - 1)
        return all(proved)

    def _without_factor(self, dim: Dim, depth: int) -> Dim | None:
        """What has the sign of ``dim``, each term of which has a factor that is not negative."""
        (first, _), *rest = dim.terms
        for atom in dict.fromkeys(first) if rest else ():
            if all(atom in m for m, _ in rest) and self._has_no_sign(atom, depth):
                return quotient(dim, Dim({(atom,): 1}))
        return None

    def _of_functions(self, dim: Dim, depth: int) -> Iterator[Dim]:
        """What is nonnegative because of the functions in ``dim``."""
        for atom in dict.fromkeys((*_calls(dim), *self.divided)):
            this = Dim({(atom,): 1})
            if atom.fn == "mod" and self.proves(atom.args[1] - 1, depth - 1):
                yield atom.args[1] - 1 - this
            elif atom.fn == "floordiv" and self.proves(atom.args[1] - 1, depth - 1):
                rest = atom.args[0] - this * atom.args[1]
                yield rest
                yield atom.args[1] - 1 - rest
            elif atom.fn in ("max", "min"):
                for arg in atom.args:
                    yield this - arg if atom.fn == "max" else arg - this


def _calls(dim: Dim) -> Iterator[DimCall]:
    return (atom for monomial, _ in dim.terms for atom in monomial if isinstance(atom, DimCall))


def _is_at_least(fact: Dim) -> str | None:
    """The symbol of which a fact says that it is at least a number that is not negative."""
    more = dict(fact.terms).get((), 0)
    return (fact - more).symbol if more <= 0 else None


def _either_way(dim: Dim) -> list[Dim]:
    """What is not negative if ``dim`` is: ``n - max(a, b)`` is the smaller of ``n - a`` and ``n - b``."""
    for monomial, c in dim.terms:
        (atom, *more) = monomial or ("",)
        if isinstance(atom, DimCall) and not more and atom.fn == ("max" if c < 0 else "min"):
            return [dim - Dim({monomial: c}) + arg * c for arg in atom.args]
    return []


def _undivided(dim: Dim) -> list[Dim]:
    """What is not negative only if ``dim`` is not: ``n - x // 2`` is not if ``2 * n - x + 1`` is not."""
    for monomial, c in dim.terms:
        (atom, *more) = monomial or ("",)
        if isinstance(atom, DimCall) and not more and atom.fn == "floordiv" and c < 0:
            whole, by = atom.args
            if by.const is not None and by.const > 1:
                return [(dim - Dim({monomial: c})) * by.const + whole * c + (by.const - 1)]
    return []
