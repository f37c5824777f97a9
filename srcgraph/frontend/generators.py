"""Methods of a random generator: of np.random.Generator, passed as an argument or read from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srcgraph.frontend import arrays, calls, drawing, library, lists, numpy_calls, tables
from srcgraph.frontend.entities import NONE, Array, Const, Entity, Listing, Rng, Scalar, Tup
from srcgraph.frontend.layout import contiguous
from srcgraph.frontend.memory import as_index, new_array, read, ref_type, refuse, write
from srcgraph.frontend.resolve import record_of
from srcgraph.frontend.written import WRITTEN
from srcgraph.ir import bitgen
from srcgraph.ir.ops import random
from srcgraph.ir.ops.generators import rng_shuffle
from srcgraph.ir.ops.reductions import one_axis

if TYPE_CHECKING:
    from srcgraph.frontend.lower import Lowering


def call(
    low: Lowering, rng: Rng, name: str, args: Sequence[Entity], kwargs: dict[str, Entity], hint: str = ""
) -> Entity:
    """``rng.name(*args)``."""
    if not bitgen.pointer("random_standard_normal"):
        raise refuse("this build of NumPy does not export the functions that draw", low.loc)
    if name in METHODS:
        return arrays.call(low, METHODS[name], [rng, *args], kwargs)
    args, kwargs = [tables.plain(low, e) for e in args], {k: tables.plain(low, e) for k, e in kwargs.items()}
    function = getattr(np.random.Generator, name)
    if name == "choice":
        given = dict(zip(("a", "size", "replace", "p", "axis", "shuffle"), args, strict=False)) | kwargs
        if given.get("replace") == Const(False) and given.get("p", NONE) != NONE:
            del given["replace"]
            return _written(low, drawing.choice_of_chances, [rng], given)
    if function in WRITTEN:
        return _written(low, WRITTEN[function], [rng, *args], kwargs)
    record = record_of(function)
    if record is None:
        raise refuse(f"Generator.{name} is not supported", low.loc, "draw before the call, and pass what was drawn")
    out = kwargs.get("out", NONE)
    if isinstance(out, Array) and not contiguous(low, out):
        raise refuse("out must be known to lie in memory in C order without gaps", low.loc)
    if isinstance(out, Array) and "size" not in kwargs and not args:
        sizes = map(low.builder.dim_value, ref_type(low, out).shape)
        kwargs["size"] = Tup(tuple(map(Scalar, sizes)))
    return numpy_calls.call(low, function, record, [Scalar(rng.value), *args], kwargs, hint)


def _written(low: Lowering, function: Any, args: Sequence[Entity], kwargs: dict[str, Entity]) -> Entity:
    """A method written in Python, called."""
    code = low.session.code_of(function)
    return calls.call_function(low, code, calls.bound(low, code, function, args, kwargs))


def instead_of(function: Any) -> str:
    """What to write in place of something that draws without a generator; '' for anything else."""
    if function is np.random.default_rng or function is np.random.Generator:
        return "make the generator outside, and pass it as an argument"
    if getattr(function, "__qualname__", "").startswith("RandomState"):
        return "pass a generator, rng = np.random.default_rng(seed), and draw from it: rng.normal(), rng.random(), ..."
    return ""


def _shuffle(low: Lowering, self: Rng, x: Entity, axis: Entity = Const(0)) -> Entity:
    """Elements of an array, its rows, or the items of a list, change places in memory."""
    if isinstance(x, Listing) and axis == Const(0):
        size = as_index(low, low.value(lists.len_(low, x)))
        order = new_array(low, random.draw_order(self.value, size, True))
        return lists.own(low, library.put_in_order, x, order)
    if not isinstance(x, Array):
        hint = "shuffle an array, or a permutation of the indices: rng.permutation(n)"
        raise refuse(f"Generator.shuffle of {low.shown(x)} is not supported", low.loc, hint)
    at = low.static(axis, "the axis of shuffle")
    at = one_axis(at, ref_type(low, x).ndim)
    write(low, x, rng_shuffle(self.value, read(low, x), at))
    return NONE


METHODS = {"shuffle": _shuffle}
"""Methods that change memory."""
