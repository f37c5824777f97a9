"""Straight code: nodes are typed, named, stamped with their place, and merged with equal ones.

The base of `srcgraph.ir.builder.Builder`, which adds branches and loops. Equal pure nodes visible from a region are one
node, so common subexpressions cannot arise; integers known to be equal are one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from srcgraph.errors import InferenceError, InternalError, Loc
from srcgraph.ir import text
from srcgraph.ir.closure import close
from srcgraph.ir.dims import UNKNOWN, Dim, DimCall, as_dim, symbol, unclamped
from srcgraph.ir.facts import Facts, Region
from srcgraph.ir.graph import NOWHERE, Apply, Graph, Node, Origin, Value
from srcgraph.ir.op import OPS, Op, building, no_meaning
from srcgraph.ir.promote import Elementwise, common_dtype
from srcgraph.ir.types import (
    FLOAT,
    INT,
    NAME_OF,
    PYTHON_TYPE,
    WEAK_NAME,
    ArrayType,
    ScalarType,
    Type,
    type_symbols,
    without_value,
)
from srcgraph.ir.view import View, whole


class StraightBuilder(Facts):
    """Appends nodes to the innermost of its regions, and knows what is known of sizes there."""

    of_rewrites = False
    """Whether it builds what users' functions make of values, which have no truth value then."""

    def __init__(self, name: str = "graph"):
        self.name = name
        super().__init__()
        self.origin = NOWHERE
        self.on_check: Callable[[Op, tuple[Value, ...], dict[str, Any]], Any] | None = None
        """Asked before a check is appended; it may make something else of it, see `srcgraph.frontend.catching`."""
        self.foreign: dict[str, Value] = {}
        """Integers of regions not open here that may be read all the same: the forward sweep's."""
        self._symbols: dict[str, int] = {}

    # -- parameters and the finished graph ------------------------------------------------------

    def param(self, name: str, type: Type) -> Value:
        """Add a parameter. An integer without a known value gets a symbol of its own; those of the type are kept."""
        self.reserve(type_symbols(type))
        value = self.fresh(name, type)
        self.region.params += (value,)
        self._enter(value)
        if isinstance(type, ArrayType):
            self.learn(*(d for d in type.shape if not self.proves(d)))
        return value

    def finish(self, results: Sequence[Value]) -> Graph:
        """Return the closed graph."""
        return close(self.open_graph(results))

    def open_graph(self, results: Sequence[Value]) -> Graph:
        if len(self.regions) != 1:
            raise InternalError("a graph was finished inside an open region")
        return self.region.graph(self.name, results)

    @contextmanager
    def at(self, loc: Loc | None = None, by: str | None = None, origin: Origin | None = None) -> Iterator[None]:
        """Stamp nodes built inside with this place, or with what derives them."""
        before = self.origin
        if origin is None:
            origin = Origin(loc or before.loc, before.by if by is None else by)
        self.origin = origin
        try:
            with building(self):
                yield
        finally:
            self.origin = before

    # -- symbols and sizes ----------------------------------------------------------------------

    def new_symbol(self, hint: str) -> Dim:
        hint = hint if hint.isidentifier() and hint not in UNKNOWN.symbols() else "k"
        count = self._symbols.get(hint, 0)
        self._symbols[hint] = count + 1
        name = hint if count == 0 else f"{hint}_{count}"
        if count and name in self._symbols:
            return self.new_symbol(hint)
        self._symbols.setdefault(name, 1)
        self.region.born.add(name)
        return symbol(name)

    def reserve(self, names: frozenset[str]) -> None:
        """Keep ``names`` from being given to new symbols."""
        for name in names:
            self._symbols.setdefault(name, 1)

    def unused(self, hint: str) -> str:
        """A name no symbol has, which is then kept from new ones: ``hint`` itself if it can be."""
        name, count = hint, 0
        while name in self._symbols:
            count += 1
            name = f"{hint}_{count}"
        self._symbols[name] = 1
        return name

    def fresh(self, name: str, type: Type) -> Value:
        """A value that no node defines yet, its unknown integer given a symbol."""
        return Value(name, self._with_symbol(type, name or "k"))

    def _with_symbol(self, type: Type, hint: str) -> Type:
        if isinstance(type, ScalarType) and type.dtype == INT and type.value is None:
            return replace(type, value=self.new_symbol(hint))
        if isinstance(type, ArrayType) and UNKNOWN in type.shape:
            shape = tuple(self.new_size(f"{hint}_len") if d == UNKNOWN else d for d in type.shape)
            return replace(type, shape=shape)
        return type

    def unknown_sizes(self, type: Type, hint: str = "n") -> Type:
        """The type with every fact about size and value replaced by new symbols."""
        if isinstance(type, ArrayType):
            shape = tuple(d if d == 1 else self.new_size(hint) for d in type.shape)
            return replace(type, shape=shape)
        return without_value(type)

    def new_size(self, hint: str = "n") -> Dim:
        size = self.new_symbol(hint)
        self.region.known.append(size)
        return size

    def _enter(self, value: Value) -> None:
        """Make the sizes and integers that ``value`` gives available in the current region."""
        type = value.type
        if isinstance(type, ScalarType) and type.value is not None:
            self.region.integers.setdefault((type.value, type.weak), value)
        elif isinstance(type, ArrayType):
            for axis, size in enumerate(type.shape):
                if size.symbol and not self.size_source(size.symbol):
                    self.region.sizes[size.symbol] = (value, axis)
                    if not self.proves(size):
                        self.region.known.append(size)

    def size_source(self, name: str) -> tuple[Value, int] | None:
        return next((r.sizes[name] for r in reversed(self.regions) if name in r.sizes), None)

    def _integer(self, dim: Dim, weak: bool) -> Value | None:
        found = (r.integers.get((dim, weak)) for r in reversed(self.regions))
        return next((v for v in found if v is not None), None)

    def known_integer(self, type: ScalarType) -> Value | None:
        """A value in scope that is known to be this integer."""
        return None if type.value is None else self._integer(type.value, type.weak)

    def dim_value(self, dim: Dim | int) -> Value:
        """Return a Python integer equal to ``dim``, computing it if no value in scope is."""
        dim = as_dim(dim)
        if dim.const is not None:
            return self.const(dim.const)
        found = self._integer(dim, weak=True)
        if found is not None:
            return found
        if dim.symbol:
            return self._symbol_value(dim.symbol)
        positive = [t for t in dim.terms if t[1] > 0]
        negative = [t for t in dim.terms if t[1] < 0]
        total = None
        for monomial, coefficient in positive + negative:
            term = self._monomial_value(monomial, abs(coefficient))
            if total is None:
                total = term if coefficient > 0 else self.call(OPS["neg"], (term,))
            else:
                total = self.call(OPS["add" if coefficient > 0 else "sub"], (total, term))
        assert total is not None
        return total

    def _symbol_value(self, name: str) -> Value:
        source = self.size_source(name)
        if source is not None:
            return self.apply(OPS["dim"], (source[0],), {"axis": source[1]})
        strong = self._integer(symbol(name), weak=False) or self.foreign.get(name)
        if strong is None:
            raise InternalError(f"no value in scope gives the size {name!r}")
        return self.cast(strong, INT, weak=True)

    def _monomial_value(self, monomial: tuple, coefficient: int) -> Value:
        total = None if coefficient == 1 and monomial else self.const(coefficient)
        for atom in monomial:
            if isinstance(atom, DimCall):
                name = {"max": "maximum", "min": "minimum", "floordiv": "floordiv", "mod": "mod"}[atom.fn]
                factor = self._integer(Dim({(atom,): 1}), True)
                factor = factor or self.call(OPS[name], tuple(self.dim_value(a) for a in atom.args))
            else:
                factor = self.dim_value(symbol(atom))
            total = factor if total is None else self.call(OPS["mul"], (total, factor))
        assert total is not None
        return total

    # -- nodes ----------------------------------------------------------------------------------

    def const(self, value: Any, name: str = "") -> Value:
        """A literal: a Python number (weak), or a NumPy scalar."""
        if not isinstance(value, int | float | complex | np.number | np.bool_):
            shown = "None" if value is None else f"{value!r} of type {type(value).__name__}"
            raise InferenceError(f"a number or an array is needed, not {shown}")
        return self.apply(OPS["const"], (), {"value": value}, name=name)

    def value(self, x: Any) -> Value:
        """``x`` as a graph value; a tuple of numbers, of arrays or of such tuples is an array."""
        if isinstance(x, tuple):
            return self._array_of([self.value(v) for v in x])
        return x if isinstance(x, Value) else self.const(x)

    def _array_of(self, items: list[Value]) -> Value:
        """A new array of these numbers, or of these arrays of one shape."""
        if not items:
            return self.call_named("empty", 0, dtype=np.dtype(float))
        shape: tuple[Dim, ...] = items[0].type.shape
        if any(v.type.shape != shape for v in items):
            raise InferenceError("the items of a list used as an array must have one shape")
        dtype = common_dtype([v.type for v in items])
        out = self.call_named("empty", len(items), *map(self.dim_value, shape), dtype=dtype)
        view = View(("i", *(":" for _ in shape)), tuple(range(len(shape))))
        for k, item in enumerate(items):
            out = self.call_named("setitem", out, self.cast(item, dtype, False), k, view=view)
        return out

    def call(self, op: Op, args: Sequence[Any], attrs: dict[str, Any] | None = None, name: str = "") -> Any:
        """Use ``op`` as a user would: numbers are literals, elementwise operands promote and broadcast."""
        values = [self.value(a) for a in args]
        if isinstance(op.infer, Elementwise):
            values = self._aligned(op.infer, values)
        return self.apply(op, tuple(values), attrs or {}, name=name)

    def call_named(self, name: str, *args: Any, **attrs: Any) -> Any:
        """Use the op of that name."""
        return self.call(OPS[name], args, attrs)

    def apply(self, op: Op, inputs: tuple[Value, ...], attrs: dict[str, Any], name: str = "") -> Any:
        """Append one node, or return the equal one that is there already."""
        simpler = op.simplify(self, inputs, attrs) if op.simplify else None
        if simpler is not None:
            return simpler
        key = None if op.fresh or op.kind == "effect" else merge_key(op, inputs, attrs)
        found = self.merged(key)
        if found is None and op.kind == "check" and self.on_check is not None:
            made = self.on_check(op, inputs, attrs)
            if made is not None:
                return made
        if found is None:
            found = self._append(op, inputs, attrs, name, key)
        return found[0] if len(found) == 1 else found

    def all_stand(self, region: Region) -> bool:
        """Whether a region left before is straight code that can be spliced here though nothing asks for it."""
        return all(isinstance(n, Apply) and self.stands(n.op, n.inputs, n.attrs) for n in region.nodes)

    def stands(self, op: Op, inputs: tuple[Value, ...], attrs: Mapping[str, Any]) -> bool:
        """Whether what a node takes for granted is known here, so that it can be moved here from where it is."""
        if op.proved is not None and not op.proved(self, inputs, attrs):
            return False
        types = op.infer(*(v.type for v in inputs), **attrs)
        shapes = [t.shape for t in (types if isinstance(types, tuple) else (types,)) if isinstance(t, ArrayType)]
        return all(self.proves(size) for shape in shapes for size in shape)

    def merged(self, key: Any) -> tuple[Value, ...] | None:
        """The outputs of the node with that key, if there is one in a region that is open; None has none."""
        if key is None:
            return None
        return next((r.merged[key] for r in reversed(self.regions) if key in r.merged), None)

    def _append(self, op: Op, inputs: tuple[Value, ...], attrs: dict, name: str, key: Any) -> tuple[Value, ...]:
        types = op.infer(*(v.type for v in inputs), **attrs)
        types = types if isinstance(types, tuple) else (types,)
        known = self._known_integer(op, types)
        if known is not None:
            return (known,)
        names = ("",) * (len(types) - 1) + (name,)
        outputs = tuple([Value(n, self._with_symbol(t, n or op.name)) for n, t in zip(names, types, strict=True)])
        folded = self._folded(op, inputs, attrs, outputs[0])
        if folded is not None:
            return (folded,)
        node = Apply(op, inputs, outputs, attrs, self.origin)
        self.region.nodes.append(node)
        for output in outputs:
            self._definitions[output] = node
            self._enter(output)
        if key is not None:
            self.region.merged[key] = outputs
        self.learn_from(node)
        return outputs

    def suggest(self, value: Value, name: str) -> None:
        """Name a value built here that has no name yet. Names are hints: no graph means anything else by them."""
        node = self.definition(value)
        if node is not None and node.op.name != "const" and not value.name:
            object.__setattr__(value, "name", name)

    def define(self, value: Value, node: Apply) -> None:
        """Record the node that defines a value built elsewhere."""
        self._definitions[value] = node

    def note(self, value: Value, node: Apply | None) -> None:
        """Enter a value built elsewhere into the current region."""
        self._enter(value)
        if node is not None:
            self.define(value, node)

    def _folded(self, op: Op, inputs: tuple[Value, ...], attrs: dict, out: Value) -> Value | None:
        """The literal an elementwise op of literals computes."""
        if op.kind != "elementwise" or not inputs or op.numpy is no_meaning:
            return None
        numbers = []
        for value in inputs:
            node = self.definition(value)
            if node is None or node.op.name != "const":
                return None
            numbers.append(node.attrs["value"])
        with np.errstate(all="ignore"):
            number = out.type.dtype.type(op.numpy(*numbers, **attrs))
        return self.const(PYTHON_TYPE[out.type.dtype](number) if out.type.weak else number)

    def _known_integer(self, op: Op, types: tuple[Type, ...]) -> Value | None:
        """A value in scope that is known to be the integer a pure node would compute."""
        if op.ordered or op.name == "const" or len(types) != 1:
            return None
        type = types[0]
        if not isinstance(type, ScalarType) or type.value is None or type.dtype != INT:
            return None
        if type.value.const is not None:
            return self.const(type.value.const if type.weak else np.int64(type.value.const))
        return self._integer(type.value, type.weak)

    def cast(self, x: Value, dtype: np.dtype, weak: bool = False, name: str = "") -> Value:
        """``x`` with another dtype, or a Python number as NumPy's or the other way round."""
        if dtype not in NAME_OF:
            raise InferenceError(f"dtype {dtype} is not supported")
        return self.apply(OPS["cast"], (x,), {"dtype": dtype, "weak": weak}, name=name)

    def _aligned(self, rule: Elementwise, values: list[Value]) -> list[Value]:
        """Operands of one dtype signature and of shapes that provably broadcast."""
        values = [self.scalar(v) if v.type == ArrayType(v.type.dtype, ()) else v for v in values]
        dtypes, _ = rule.loop([v.type for v in values])
        values = [self._as_operand(v, t) for v, t in zip(values, dtypes, strict=True)]
        return self.broadcast(self._unstretched(values))

    def _unstretched(self, values: list[Value]) -> list[Value]:
        """Numbers in place of arrays filled with one, where another operand has the shape anyway."""
        out = list(values)
        for k, value in enumerate(values):
            node = self.definition(value)
            if node is None or node.op.name != "broadcast_to" or node.inputs[0].type.ndim:
                continue
            if any(j != k and v.type.shape == value.type.shape for j, v in enumerate(out)):
                out[k] = node.inputs[0]
        return out

    def _as_operand(self, value: Value, dtype: np.dtype) -> Value:
        if value.type.dtype == dtype:
            return value
        weak = isinstance(value.type, ScalarType) and value.type.weak and dtype in WEAK_NAME
        return self.cast(value, dtype, True) if weak else self.stored(value, dtype)

    def stored(self, value: Value, dtype: np.dtype) -> Value:
        """``value`` as a number of an array's dtype; a Python number that does not fit raises, as in NumPy."""
        if isinstance(value.type, ScalarType) and value.type.weak:
            self._check_fits_dtype(value, dtype)
        return self.cast(value, dtype, False)

    def assigned(self, value: Value, dtype: np.dtype, instead: tuple[str, str] | None = None) -> Value:
        """``value`` as ``x[i] = value`` stores it: in signed integers NumPy's own numbers have to fit, too.

        ``instead`` is the exception, and its message, in place of the usual ones.
        """
        if isinstance(value.type, ScalarType) and (value.type.weak or dtype.kind == "i"):
            self._check_fits_dtype(value, dtype, instead)
        return self.cast(value, dtype, False)

    def _check_fits_dtype(self, value: Value, dtype: np.dtype, instead: tuple[str, str] | None = None) -> None:
        """Raise what Python does where an integer, or a float without its fraction, is beyond a dtype."""
        own = value.type.dtype
        if own.kind == "c" and dtype.kind != "c" and value.type.weak:
            raise InferenceError(f"a complex number does not fit into {dtype}: take its .real")
        if dtype.kind not in "iu" or own.kind not in "iuf" or np.can_cast(own, dtype):
            return

        def demand(fine: Value, error: str, message: str, *shown: Value) -> None:
            error, message, shown = (*instead, ()) if instead else (error, message, shown)
            self.call_named("check_that", fine, *shown, error=error, message=message)

        info, wide = np.iinfo(dtype), "Python int too large to convert to C long"
        if own.kind == "f":
            value = self.cast(value, FLOAT, value.type.weak)
            number, finite = (self.call_named("logical_not", self.call_named(t, value)) for t in ("isnan", "isinf"))
            demand(number, "ValueError", "cannot convert float NaN to integer")
            demand(finite, "OverflowError", "cannot convert float infinity to integer")
            value = self.call_named("trunc", value)
            demand(self._between(value, -(2.0**63), 2.0**63), "OverflowError", wide)
        elif own == np.uint64:
            demand(self.call_named("less_equal", value, 2**63 - 1), "OverflowError", wide)
        if dtype != INT:
            value = value if own.kind == "i" else self.cast(value, INT, True)
            fits = self._between(value, int(info.min), min(info.max, 2**63 - 1) + (dtype.itemsize < 8))
            demand(fits, "OverflowError", f"Python integer {text.field(value.type)} out of bounds for {dtype}", value)

    def _between(self, value: Value, least: float, limit: float) -> Value:
        """Whether a number is at least the one, and less than the other; than ``2**63``, which all integers are."""
        above = self.call_named("greater_equal", value, least)
        if limit == 2**63 - 1:
            return above
        return self.call_named("logical_and", above, self.call_named("less", value, limit))

    def scalar(self, x: Value) -> Value:
        """The one element of a 0-d array."""
        return self.apply(OPS["getitem"], (x,), {"view": whole(0)})

    def broadcast(self, values: list[Value]) -> list[Value]:
        """Make shapes provably broadcast, inserting run-time checks where sizes are not known equal."""
        ndim = max((v.type.ndim for v in values), default=0)
        shapes = {v.type.shape for v in values if v.type.shape}
        if ndim == 0 or len(shapes) <= 1:
            return values
        target = [self._common_size([s[k] for s in shapes_of(values) if len(s) >= -k]) for k in range(-ndim, 0)]
        return [self.fit(v, target[ndim - v.type.ndim :]) for v in values]

    def _common_size(self, sizes: list[Dim]) -> Dim:
        """The size all of ``sizes`` broadcast to, checked at run time where it is not certain."""
        distinct = [d for d in dict.fromkeys(sizes) if d != 1]
        if not distinct:
            return as_dim(1)
        size = distinct[0]
        for other in distinct[1:]:
            size = self.joint_size(size, other)
        return size

    def joint_size(self, x: Dim, y: Dim) -> Dim:
        """The size two axes broadcast to, checked at run time where they are not known to be equal."""
        if self.same(x, y):
            return x if unclamped(x) is x else y
        certain = "first" if self.not_one(x) else "second" if self.not_one(y) else ""
        name = "same_size" if self.not_one(x) and self.not_one(y) else "broadcast_size"
        attrs = {"of": certain} if name == "broadcast_size" else {}
        return self.apply(OPS[name], (self.dim_value(x), self.dim_value(y)), attrs).type.value

    def fit(self, value: Value, target: Sequence[Dim]) -> Value:
        """``value`` with its axes retyped, or stretched, to ``target`` where they are not 1."""
        shape: tuple[Dim, ...] = value.type.shape
        if all(d in (t, 1) for d, t in zip(shape, target, strict=True)):
            return value
        same = [t if d != 1 and (self.not_one(d) or self.same(d, t)) else d for d, t in zip(shape, target, strict=True)]
        value = self.retype(value, same)
        full = [t if d != 1 else d for d, t in zip(shape, target, strict=True)]
        if full != same:
            value = self.apply(OPS["broadcast_to"], (value, *map(self.dim_value, full)), {})
        return value

    def retype(self, value: Value, shape: Sequence[Dim]) -> Value:
        """``value`` with its axes known to have these sizes."""
        if tuple(shape) == value.type.shape:
            return value
        return self.apply(OPS["with_shape"], (value, *map(self.dim_value, shape)), {})

    def _add(self, node: Node) -> tuple[Value, ...]:
        self.region.nodes.append(node)
        for output in node.outputs:
            self._blocks[output] = node
            self._enter(output)
        return node.outputs


def merge_key(op: Op, inputs: Sequence[Value], attrs: Mapping[str, Any]) -> Any:
    """What pure nodes that are equal have in common."""
    return op_key(op, [id(v) for v in inputs], attrs)


def op_key(op: Op, inputs: list[int], attrs: Mapping[str, Any]) -> Any:
    """What equal uses of an op have in common, with numbers for what they read."""
    if op.commutative:
        inputs.sort()
    if not attrs:
        return (op.name, *inputs)
    return (op.name, *inputs, *((k, type(v).__name__, repr(v)) for k, v in sorted(attrs.items())))


def shapes_of(values: Sequence[Value]) -> list[tuple[Dim, ...]]:
    return [v.type.shape for v in values]
