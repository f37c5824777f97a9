"""What a primitive operation is: one frozen record that says everything about it.

`Op` is a node kind of the graph. `Composite` is a function users write that expands into ops; its
derivative and text follow from the expansion. Both are called like functions inside a builder, so
derivative rules and expansions are ordinary graph code.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from srcgraph.errors import InternalError
from srcgraph.ir.operators import set_operator

if TYPE_CHECKING:
    from srcgraph.ir.builder import Builder

Kind = Literal[
    "elementwise",  # one scalar expression per element, operands broadcast
    "structural",  # an element of the result is an element of an operand: views, fills, shapes
    "update",  # a new array value that differs in a region: setitem, add_at
    "reduction",  # combines elements along axes
    "library",  # needs its operands in memory: matmul, sort
    "check",  # passes its first operand through or raises; ordered, never dropped
    "effect",  # print and the like; ordered, never dropped, never merged
    "draw",  # random numbers: as an effect, and as library calls needs its operands in memory
    "list",  # growing lists, which are also the tapes of the reverse sweep
]


@dataclass(frozen=True, slots=True)
class NoDerivative:
    """Stands where a derivative rule would; ``why`` reaches the user."""

    why: str


ZERO = NoDerivative("")
"""The derivative is zero wherever it exists (``floor``, ``sign``, comparisons)."""
UNSAID = NoDerivative("its record says nothing of its derivative")
"""What records have that do not say; those of our own that are complete without mean `ZERO`."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments to test an op with: type texts (``"f64[3, 4]"``) or literal values, and attributes."""

    args: tuple[Any, ...]
    attrs: Mapping[str, Any]
    domain: tuple[float, float] = (-2.0, 2.0)


def sample(*args: Any, domain: tuple[float, float] = (-2.0, 2.0), **attrs: Any) -> Sample:
    return Sample(args, attrs, domain)


@dataclass(frozen=True, slots=True)
class Reduction:
    """How a reduction combines: the start value per dtype and the scalar op's name."""

    identity: Callable[[Any], Any]
    combine: str


@dataclass(frozen=True, slots=True)
class Check:
    """When a check op raises, what, and what it passes on when it does not.

    ``fails`` and ``passes`` are scalar expressions of the operands ``x`` and ``y``; ``message`` is a
    format string of the operands, filled in when the error is shown.
    """

    fails: str
    error: str
    message: str
    passes: str = "x"


def no_meaning(*args: Any, **attrs: Any) -> Any:
    """What an op without ``numpy`` computes: nothing."""
    raise InternalError("the op has no meaning in NumPy")


@dataclass(frozen=True, eq=False, slots=True)
class Op:
    """A primitive operation.

    Parameters
    ----------
    name, doc : str
        The name in graph text; one line that says what it computes.
    infer : callable
        ``infer(*input types, **attrs)`` gives the result type, or a tuple of them.
    numpy : callable
        ``numpy(*inputs, **attrs)``: the meaning, run by `srcgraph.ir.interp`. An op without one can be in graphs, be
        written, read and rewritten; it cannot be run.
    python : tuple of callables
        What users write for it.
    kind : str
        How the code generator treats it.
    jvp : callable or NoDerivative
        ``jvp(tangents, out, *inputs, **attrs)`` gives the tangent of ``out``; absent tangents are None. `ZERO` where
        it is zero; where a record says nothing, derivatives through floats are refused.
    vjp : callable or NoDerivative
        ``vjp(ct, out, *inputs, **attrs)`` gives one cotangent per input, None where there is none, and
        NoDerivative where that with respect to one input is refused.
    vjp_into : callable or None
        ``vjp_into(running, ct, out, *inputs, **attrs)`` adds this node's contribution to the running
        cotangent of the first input in place of making a whole array for it.
    emit : mapping
        Target name to the scalar expression (operands ``x``, ``y``, ``z``), or the library call; or a
        function of the result's dtype and the attributes that gives it.
    at : callable or None
        For structural ops: the element of the result at an index, see `srcgraph.codegen.expr`.
    check : Check or None
        For check ops: the condition, the error and the result.
    simplify : callable or None
        ``simplify(builder, inputs, attrs)`` may return an existing or simpler value instead of a node.
    learn : callable or None
        ``learn(out, *inputs)``: expressions of sizes known to be nonnegative once the node has run.
    ensures : tuple of int
        The operands that are conditions known to hold once the node has run.
    proved : callable or None
        ``proved(builder, inputs, attrs)``: whether what checks ensure of the inputs is known where the builder is,
        for a pass that would move the node there; None where nothing has to be ensured.
    unchecked : callable or None
        For check ops: graph code that gives the same result without raising.
    holds : callable or None
        For check ops: graph code of the condition under which it does not raise.
    make_thunk : callable or None
        ``make_thunk(node, inputs, outputs)`` gives what computes a use of it on demand, from registers to registers,
        see `srcgraph.runtime.engines.thunks`; for ops that do not need all operands.
    commutative, linear, heavy : bool
        Operands may swap; the derivative needs no primal value; never recomputed in the reverse sweep.
    grows : bool
        Of integers, the result may need more bits than the operands have.
    singular : bool
        A derivative is infinite for some operands.
    through_complex : bool
        The derivative rules hold for complex operands too, see `srcgraph.ir.ops.complex`.
    helpers : str
        The module of `srcgraph.runtime` that has the functions its text calls.
    results : tuple of str
        What generated code calls several results. Rules of such an op get tuples: the cotangents (some
        None) and the results; a jvp returns one tangent per result.
    changes : bool
        Of library ops: what is called changes the first operand, whose memory the result has.
    constant : tuple of int
        The operands through which no derivative passes.
    unread : int
        So many of the first operands are there for the derivative rules only; its text does not read them.
    samples : tuple of Sample
        What the generated tests run it on.
    """

    name: str
    doc: str
    infer: Callable[..., Any]
    numpy: Callable[..., Any] = no_meaning
    python: tuple[Any, ...] = ()
    method: str = ""
    kind: Kind = "elementwise"
    jvp: Callable[..., Any] | NoDerivative = UNSAID
    vjp: Callable[..., Any] | NoDerivative = UNSAID
    vjp_into: Callable[..., Any] | None = None
    emit: Mapping[str, str | Callable[..., str]] = field(default_factory=dict)
    at: Callable[..., Any] | None = None
    reduction: Reduction | None = None
    check: Check | None = None
    simplify: Callable[..., Any] | None = None
    learn: Callable[..., Any] | None = None
    ensures: tuple[int, ...] = ()
    proved: Callable[..., bool] | None = None
    unchecked: Callable[..., Any] | None = None
    holds: Callable[..., Any] | None = None
    make_thunk: Callable[..., Any] | None = None
    commutative: bool = False
    linear: bool = False
    heavy: bool = False
    grows: bool = False
    singular: bool = False
    through_complex: bool = False
    fresh: bool = False
    helpers: str = ""
    results: tuple[str, ...] = ()
    changes: bool = False
    constant: tuple[int, ...] = ()
    unread: int = 0
    samples: tuple[Sample, ...] = ()

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        builder = _current.get(None)
        return _stepping(self, args, attrs) if builder is None else builder.call(self, args, attrs)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def in_order(self, attrs: Mapping[str, Any]) -> list[Any]:
        """Attributes in the order in which ``numpy`` declares them, however they were given."""
        places = _places(self.numpy) if len(attrs) > 1 else {}
        return [attrs[name] for name in sorted(attrs, key=lambda n: places.get(n, 0))]

    def text(self, target: str, dtype: Any, attrs: Mapping[str, Any]) -> str:
        """How a target spells it for a result of this dtype; '' if it cannot.

        CUDA's spelling is made of the CPU's, see `srcgraph.codegen.spelling`.
        """
        spelling = self.emit.get(target.replace("cuda", "cpu"), "")
        return spelling if isinstance(spelling, str) else spelling(dtype, **attrs)

    @property
    def ordered(self) -> bool:
        """Whether nodes of this op keep their order and are never dropped."""
        return self.kind in ("check", "effect", "draw")


@functools.cache
def _places(infer: Callable[..., Any]) -> dict[str, int]:
    """Where each parameter of a function stands."""
    return {name: k for k, name in enumerate(inspect.signature(infer).parameters)}


@dataclass(frozen=True, eq=False, slots=True)
class Composite:
    """A function users write that is built from ops.

    Parameters
    ----------
    expand : callable
        Graph code with the signature users call; ``static`` names the parameters that must be
        known when compiling (axes, flags, dtypes).
    method : str
        The array method that means the same, or ''.
    views : callable
        From what ``expand`` takes to whether NumPy gives a view of its arguments, or one of them, where this
        gives a new array: a change of either is then refused while the other is needed.
    """

    name: str
    doc: str
    expand: Callable[..., Any]
    numpy: Callable[..., Any]
    python: tuple[Any, ...] = ()
    method: str = ""
    static: frozenset[str] = frozenset()
    samples: tuple[Sample, ...] = ()
    views: Callable[..., bool] = lambda *args, **kwargs: False

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.expand(*args, **kwargs) if _current.get(None) is not None else _stepping(self, args, kwargs)


class Table(dict[str, Any]):
    """Records by name; adding a name twice is a defect."""

    def add(self, record: Any) -> Any:
        if record.name in self:
            raise InternalError(f"two records are named {record.name!r}")
        self[record.name] = record
        return record


OPS = Table()
COMPOSITES = Table()

_current: ContextVar[Builder] = ContextVar("builder")


_step: list[Callable[..., Any]] = []


def set_step(step: Callable[..., Any]) -> None:
    """Say what calls of ops on variables do outside any builder, see `srcgraph.ir.symbolic`."""
    _step[:] = [step]


def _stepping(record: Op | Composite, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not _step:
        raise InternalError(f"the op {record.name!r} was called outside a builder")
    return _step[0](record, args, kwargs)


def current_builder() -> Builder:
    """The builder that op calls append to."""
    try:
        return _current.get()
    except LookupError:
        raise InternalError("an op was called outside a builder") from None


def is_building() -> bool:
    """Whether a builder is there that op calls append to."""
    return _current.get(None) is not None


@contextmanager
def building(builder: Any) -> Iterator[None]:
    """Make ``builder`` the one that op calls append to."""
    token = _current.set(builder)
    try:
        yield
    finally:
        _current.reset(token)


def define(**fields: Any) -> Op:
    """Create an op and enter it in the table."""
    return OPS.add(Op(**fields))


def composite(name: str, *, python: Any = (), static: str = "", **fields: Any) -> Callable[[Callable], Composite]:
    """Turn a function of graph code into a `Composite` and enter it in the table.

    The docstring's first line becomes the record's; ``numpy`` defaults to the first of ``python``.
    """
    names = python if isinstance(python, tuple) else (python,)

    def decorate(expand: Callable) -> Composite:
        fields.setdefault("numpy", names[0] if names else None)
        doc = (expand.__doc__ or "").strip().split("\n")[0]
        return COMPOSITES.add(Composite(name, doc, expand, python=names, static=frozenset(static.split()), **fields))

    return decorate


def install_operators(table: Mapping[str, Callable[..., Any]]) -> None:
    """Give graph values Python's operators, so that rules read as formulas."""
    for name, function in table.items():
        set_operator(name, function)
