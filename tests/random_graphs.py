"""Random valid graphs, drawn by hypothesis: numbers, arrays of small shapes, branches and loops.

Drawing is by a list of choices, so that shrinking removes steps one by one. Sizes are symbols: ``n`` for the
vectors and the rows of the matrices, three columns for the latter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import srcgraph  # noqa: F401  (fills the table of ops)
from srcgraph.ir.builder import Builder
from srcgraph.ir.dims import as_dim, symbol
from srcgraph.ir.graph import Graph, Value
from srcgraph.ir.op import OPS, building
from srcgraph.ir.printer import format_graph
from srcgraph.ir.types import BOOL, FLOAT, PY_FLOAT, PY_INT, ArrayType, ScalarType, Type, same_kind, without_value
from srcgraph.ir.view import View

N = symbol("n")
TYPES: dict[str, Type] = {
    "float": PY_FLOAT,
    "f64": ScalarType(FLOAT),
    "int": PY_INT,
    "f64[n]": ArrayType(FLOAT, (N,)),
    "f64[n, 3]": ArrayType(FLOAT, (N, as_dim(3))),
    "f32[n]": ArrayType(np.dtype(np.float32), (N,)),
    "i64[n]": ArrayType(np.dtype(np.int64), (N,)),
}
UNARY = ("neg", "sin", "cos", "tanh", "absolute", "square_plus")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
DEPTH = 2


def argument(type: Type, size: int, seed: int) -> Any:
    """A value for a parameter."""
    rng = np.random.default_rng(seed)
    if isinstance(type, ArrayType):
        shape = tuple(d.const if d.const is not None else size for d in type.shape)
        if type.dtype.kind == "i":
            return rng.integers(-3, 4, shape)
        return rng.uniform(-1.5, 1.5, shape).astype(type.dtype)
    if type.dtype.kind == "i":
        return int(rng.integers(0, 4))
    number = float(rng.uniform(-1.5, 1.5))
    return number if type.weak else type.dtype.type(number)


@dataclass(repr=False)
class Drawn:
    """A graph and arguments to run it on."""

    graph: Graph
    args: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"{format_graph(self.graph)}\non {self.args}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How hypothesis shows an example that fails."""
        printer.text(f"\n{self!r}")


@dataclass
class Grower:
    """Appends random nodes to a builder.

    Attributes
    ----------
    pool : list of Value
        What may be read here.
    smooth : bool
        Only ops with a derivative, so that the result can be differentiated.
    """

    draw: Callable[[st.SearchStrategy], Any]
    b: Builder
    pool: list[Value] = field(default_factory=list)
    smooth: bool = False
    depth: int = 0

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A value that fits, most often one of the newest, so that little of a graph is dead."""
        found = [v for v in self.pool if fits(v)][::-1]
        if not found:
            return None
        return self.draw(st.sampled_from(found[:3]) | st.sampled_from(found))

    def keep(self, value: Any) -> None:
        if isinstance(value, Value):
            self.pool.append(value)

    # -- steps ----------------------------------------------------------------------------------

    def grow(self, steps: int) -> None:
        """Append up to ``steps`` random constructs."""
        kinds = [self.unary, self.binary, self.binary, self.read, self.store, self.reduce, self.select, self.literal]
        if not self.smooth:
            kinds += [self.convert, self.integers]
        if self.depth < DEPTH:
            kinds += [self.branch, self.counted, self.conditional]
        for _ in range(steps):
            self.draw(st.sampled_from(kinds))()

    def literal(self) -> None:
        self.keep(self.b.const(self.draw(st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.5]))))

    def unary(self) -> None:
        x = self.pick(is_real)
        if x is None:
            return
        name = self.draw(st.sampled_from(UNARY))
        self.keep(OPS["add"](OPS["mul"](x, x), 0.25) if name == "square_plus" else OPS[name](x))

    def binary(self) -> None:
        x = self.pick(is_number)
        y = None if x is None else self.pick(lambda v: is_number(v) and matches(x, v))
        if x is not None and y is not None:
            name = self.draw(st.sampled_from(BINARY))
            self.keep(bounded(OPS[name](x, y)))

    def convert(self) -> None:
        x = self.pick(is_number)
        if x is not None:
            dtype = np.dtype(self.draw(st.sampled_from(["f8", "f4", "i8"])))
            if not (dtype.kind == "i" and x.type.dtype.kind == "f"):
                self.keep(self.b.cast(x, dtype))

    def integers(self) -> None:
        x = self.pick(is_int)
        if x is not None:
            name = self.draw(st.sampled_from(["add", "sub", "mul", "minimum", "floordiv", "mod"]))
            self.keep(OPS[name](x, self.integer(1, 3)))

    def read(self) -> None:
        x = self.pick(is_array)
        if x is not None:
            view, operands = self.view(x)
            self.keep(self.b.apply(OPS["getitem"], (x, *operands), {"view": view}))

    def store(self) -> None:
        x = self.pick(is_array)
        if x is None:
            return
        view, operands = self.view(x)
        part = self.b.apply(OPS["getitem"], (x, *operands), {"view": view})
        y = self.pick(lambda v: is_number(v) and v.type.shape in ((), part.type.shape))
        if y is not None and np.can_cast(y.type.dtype, x.type.dtype, "same_kind"):
            op = OPS[self.draw(st.sampled_from(["setitem", "add_at"]))]
            y = self.b.cast(y, x.type.dtype)
            self.keep(self.b.apply(op, (x, y, *operands), {"view": view}, name=x.name))

    def view(self, x: Value) -> tuple[View, list[Value]]:
        """Part of an array: whole axes, first elements, slices that drop the last element."""
        axes, operands = [], []
        for size in x.type.shape:
            long = size == N or (size.const or 0) > 1
            selector = self.draw(st.sampled_from([":", "i", 1, -1] if long else [":"]))
            axes.append(selector)
            if selector == "i":
                operands.append(self.b.const(0))
            elif selector != ":":
                last = self.b.dim_value(size - 1)
                operands += [last if selector == -1 else self.b.const(0), last]
        left = sum(a != "i" for a in axes)
        order: list[int | None] = list(self.draw(st.permutations(range(left))))
        if self.draw(st.booleans()) and left == 1:
            order.insert(self.integer(0, left), None)
        return View(tuple(axes), tuple(order)), operands

    def reduce(self) -> None:
        x = self.pick(is_array)
        if x is not None:
            axes = (0,) if x.type.ndim == 1 else self.draw(st.sampled_from([(0,), (1,), (0, 1)]))
            self.keep(bounded(OPS["sum"](x, axes=axes)))

    def select(self) -> None:
        x = self.pick(is_real)
        y = None if x is None else self.pick(lambda v: same_type(v, x))
        if x is not None and y is not None:
            self.keep(OPS["where"](OPS["less"](x, y), x, y))

    # -- control flow ---------------------------------------------------------------------------

    def test(self) -> Value:
        """A Python bool."""
        x = self.pick(is_scalar)
        limit = self.draw(st.sampled_from([-1.0, 0.0, 0.5]))
        less = OPS["less"](0.25 if x is None else x, limit)
        return self.b.cast(less, BOOL, weak=True)

    def inside(self, region: Any, more: tuple[Value, ...] = ()) -> Grower:
        return Grower(self.draw, self.b, [*self.pool, *more], self.smooth, self.depth + 1)

    def branch(self) -> None:
        cond = self.test()
        wanted = self.pick(is_number)
        sides = []
        for _ in range(2):
            region = self.b.new_region()
            with self.b.inside(region):
                inner = self.inside(region)
                inner.grow(self.integer(1, 4))
                result = None if wanted is None else inner.pick(lambda v: fits_type(v, wanted.type))
            sides.append((region, [] if result is None else [result]))
        for out in self.b.if_(cond, sides[0], sides[1]):
            self.keep(out)

    def carried(self) -> list[Value]:
        chosen = [self.pick(is_number) for _ in range(self.integer(1, 3))]
        return [v for v in dict.fromkeys(chosen) if v is not None]

    def body(self, region: Any, carry: list[Value], more: tuple[Value, ...] = ()) -> tuple[list[Value], Value | None]:
        inner = self.inside(region, (*carry, *more))
        inner.grow(self.integer(1, 5))
        results = [inner.pick(lambda v, p=p: fits_type(v, p.type)) or p for p in carry]
        stop = inner.test() if self.draw(st.booleans()) else None
        return results, stop

    def counted(self) -> None:
        inits = self.carried()
        count = self.pick(is_int)
        stop = self.b.const(self.integer(0, 3)) if count is None else OPS["minimum"](count, 3)
        bounds = (self.b.const(0), stop, self.b.const(1))
        region, index = self.b.for_region(bounds)
        with self.b.inside(region):
            carry = [self.b.fresh(f"c{k}", without_value(v.type)) for k, v in enumerate(inits)]
            self.b.enter_params(region, (index, *carry))
            results, stops = self.body(region, carry, () if self.smooth else (index,))
        for out in self.b.for_(bounds, inits, region, results, stops):
            self.keep(out)

    def conditional(self) -> None:
        """``k = 0; while k < limit: ...; k += 1``."""
        inits = self.carried()
        limit = self.integer(0, 3)
        test_region, region = self.b.new_region(), self.b.new_region()
        types = [PY_INT, *(without_value(v.type) for v in inits)]
        with self.b.inside(test_region):
            first = [self.b.fresh(f"w{k}", t) for k, t in enumerate(types)]
            self.b.enter_params(test_region, first)
            test = OPS["less"](first[0], limit)
        with self.b.inside(region):
            carry = [self.b.fresh(f"w{k}", t) for k, t in enumerate(types)]
            self.b.enter_params(region, carry)
            results, stops = self.body(region, carry[1:])
            counter = OPS["add"](carry[0], 1)
        outs = self.b.while_([self.b.const(0), *inits], (test_region, test), region, [counter, *results], stops)
        for out in outs[1:]:
            self.keep(out)


def is_array(v: Value) -> bool:
    return isinstance(v.type, ArrayType)


def is_scalar(v: Value) -> bool:
    return isinstance(v.type, ScalarType) and v.type.dtype.kind in "fi"


def is_number(v: Value) -> bool:
    return v.type.dtype.kind in "fi"


def is_real(v: Value) -> bool:
    return v.type.dtype.kind == "f"


def is_int(v: Value) -> bool:
    return isinstance(v.type, ScalarType) and v.type.dtype.kind == "i" and v.type.weak


def matches(x: Value, y: Value) -> bool:
    """Whether two values broadcast without a check."""
    pairs = list(zip(x.type.shape[::-1], y.type.shape[::-1], strict=False))
    return all(p == q or 1 in (p, q) for p, q in pairs)


def same_type(x: Value, y: Value) -> bool:
    return without_value(x.type) == without_value(y.type)


def fits_type(x: Value, type: Type) -> bool:
    return same_kind(x.type, type) and (not isinstance(type, ArrayType) or x.type.shape == type.shape)


def bounded(x: Value) -> Value:
    """Keep numbers from growing without end through nested loops."""
    return OPS["sin"](x) if x.type.dtype.kind == "f" else OPS["minimum"](OPS["maximum"](x, -9), 9)


def finished(grower: Grower, params: list[Value]) -> Drawn:
    """The graph returning what was made last, on arguments."""
    results = [v for v in grower.pool[-6:] if v.type.dtype.kind in "fi"] or [grower.b.const(1.0)]
    graph = grower.b.finish(list(dict.fromkeys(results)))
    size = grower.integer(2, 4)
    return Drawn(graph, tuple(argument(p.type, size, k) for k, p in enumerate(params)))


@st.composite
def graphs(draw: Any) -> Drawn:
    """A random graph of any ops."""
    b = Builder("random")
    b.sizes_not_one.add("n")
    names = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=4))
    with building(b):
        params = [b.param(f"p{k}", TYPES[name]) for k, name in enumerate(names)]
        grower = Grower(draw, b, list(params))
        grower.grow(draw(st.integers(2, 10)))
        return finished(grower, params)


@st.composite
def smooth_graphs(draw: Any) -> Drawn:
    """A random graph of floats that returns one Python float."""
    b = Builder("random")
    b.sizes_not_one.add("n")
    names = draw(st.lists(st.sampled_from(["float", "f64[n]", "f64[n, 3]", "f64"]), min_size=1, max_size=3))
    with building(b):
        params = [b.param(f"p{k}", TYPES[name]) for k, name in enumerate(names)]
        grower = Grower(draw, b, list(params), smooth=True)
        grower.grow(draw(st.integers(2, 9)))
        total = b.const(0.0)
        for value in grower.pool[-4:]:
            if is_real(value):
                part = OPS["sum"](value, axes=tuple(range(value.type.ndim))) if value.type.ndim else value
                total = OPS["add"](total, b.cast(part, FLOAT, weak=True))
        graph = b.finish([total])
    size = draw(st.integers(2, 4))
    return Drawn(graph, tuple(argument(p.type, size, k) for k, p in enumerate(params)))
