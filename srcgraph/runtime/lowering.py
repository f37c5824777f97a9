"""From numba's form of a function to LLVM's instructions, with less for LLVM to clear away.

numba's own lowering takes an array apart into memory for each element that is read, keeps a range in a structure of
pointers, and empties a variable that is used no more: most of what it writes LLVM's first passes remove again. `Lean`
writes for elements of arrays, for loops over ranges and for variables without references what these passes leave.
What it does not know is left to numba.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from llvmlite.ir import Constant, Value
from numba.core import cgutils, ir, types
from numba.core.codegen import JITCodeLibrary
from numba.core.lowering import Lower
from numba.np.arrayobj import fix_integer_index, load_item, store_item

from srcgraph.codegen.several import HALVES
from srcgraph.runtime import pushing
from srcgraph.runtime.arrays import clear, is_cleared
from srcgraph.runtime.disjoint import Groups, Scopes
from srcgraph.runtime.dividing import QUOTIENTS, Same, hidden
from srcgraph.runtime.internal import GENERATED
from srcgraph.runtime.known_types import implementation
from srcgraph.runtime.masked_bytes import repaired
from srcgraph.runtime.raising import is_plain, raise_with
from srcgraph.runtime.short_loops import told
from srcgraph.runtime.uses import Loop, Uses, is_element

SHARED = "srcgraph_"
"""How the names of functions begin that each module has, and LLVM one of, see `srcgraph.runtime.vector.shared`."""
POWERS = 64
"""Up to so many are products that are written one after the other."""
LISTS = {"list.append": (1,), "list.insert": (2,), "list.pop": (0, 1)}
"""The methods of lists of numbers that are written here, and how many arguments they may have."""
WRAPPER = "wrapper"
"""What numba names the module of what takes Python's objects apart for a function."""
COUNTER = types.MemInfoPointer(types.voidptr)
"""The type of what counts references."""
LARGE = 1500
"""A function of more of LLVM's instructions than this, as they are written, is large."""


class Library(JITCodeLibrary):
    """Machine code of which that of a large function is not made larger still, and each part is made once.

    LLVM unrolls loops to twice the length at its third level as at its second. In a large function, of loops beside
    loops, that takes up to half of the time to compile, and none of those that were measured ran any quicker.

    What internal functions are becomes part of what calls them, and is optimised there, with all else; numba's way is
    to optimise it before, too, and to make machine code that nobody runs. Large ones stay apart: LLVM takes more than
    twice as long for one function that is twice as large, and what a call takes is nothing beside what they do.
    """

    internal = False
    """Whether none but compiled functions call what is in it."""

    def __init__(self, codegen: Any, name: str):
        super().__init__(codegen, name)
        self.environments: list[Any] = []
        """Of the internal functions in it: where numba looks for objects of Python's, once there is machine code."""
        self.parts: set[str] = set()
        """The names of the internal functions in it, but for those that each module has: what LLVM calls for several
        elements goes with their arguments as they are."""
        self.large: set[str] = set()
        """The names of the large functions in it."""

    def add_linking_library(self, library: Any) -> None:
        super().add_linking_library(library)
        if isinstance(library, Library) and library.internal:
            self.large |= library.large
            self.environments += library.environments
            own = (f.name for f in library._final_module.functions if not f.is_declaration)
            self.parts |= {name for name in own if not name.startswith(SHARED)}

    def _optimize_functions(self, ll_module: Any) -> None:
        """Before modules become one: not what Python calls, which has no loops."""
        if ll_module.name == WRAPPER:
            ll_module.data_layout = cast(Any, self._codegen)._data_layout
            return
        with self._level():
            super()._optimize_functions(ll_module)

    def _optimize_final_module(self) -> None:
        if self.internal:
            return
        module: Any = self._final_module
        for function in module.functions:
            if function.name in self.parts and not function.is_declaration:
                function.linkage = "private"  # as no other module, LLVM may leave out arguments
                if function.name in self.large:
                    function.add_function_attribute("noinline")
        with self._level():
            super()._optimize_final_module()
        self._final_module = repaired(self._final_module)

    def _finalize_final_module(self) -> None:
        if not self.internal:
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._finalized = True

    @contextmanager
    def _level(self) -> Iterator[None]:
        """While this lasts, and numba's lock is held, passes of the third level are those of the second."""
        codegen: Any = self._codegen
        usual = codegen._pass_builder
        if self.large:
            codegen._pass_builder = lambda **given: usual(**({"opt": 2} | given))
        try:
            yield
        finally:
            vars(codegen).pop("_pass_builder", None)


def library_for(state: Any) -> Library:
    """What the machine code of a function that is compiled is put into."""
    library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
    wrapped = not (state.flags.no_cpython_wrapper and state.flags.no_cfunc_wrapper)
    library.internal = not wrapped and state.func_id.modname.startswith(GENERATED)
    library.enable_object_caching()  # so that it can be kept
    return library


class Lean(Lower):
    """numba's lowering, of elements, ranges and variables without references in few instructions."""

    def lower_normal_function(self, fndesc: Any) -> None:
        uses = Uses(self.func_ir, fndesc.typemap)
        self._uses = uses
        self._number = uses.number
        self._asks = uses.raises_in_loops()
        self._loops = uses.loops()
        self._labels = {id(block): label for label, block in self.blocks.items()}
        self._bodies = {id(self.blocks[loop.body]): loop for loop in self._loops.values()}
        self._positions = uses.positions(self._singly_assigned_vars)
        self._items: dict[str, list[Any]] = {}
        self._borrowed = uses.borrowed()
        self._empty = uses.begun_once()
        self._takes = False
        self._counted: dict[Any, bool] = {}
        self._told = told(self.blocks, uses, self._loops)
        self._same = Same(uses, isinstance(self.library, Library) and self.library.internal)
        self._label = 0
        groups = Groups(self.func_ir, uses)
        self._scopes = Scopes(groups, uses.indexed(), self.module)
        super().lower_normal_function(fndesc)
        self._scopes.declare(self.function)
        if isinstance(self.library, Library):
            length = sum(len(block.instructions) for block in self.function.blocks)
            if length > LARGE:
                self.library.large.add(self.function.name)

    # -- variables --------------------------------------------------------------------------------

    def _is_counted(self, type: Any) -> bool:
        """Whether values of a type have references that are counted."""
        found = self._counted.get(type)
        if found is None:
            found = self._counted[type] = bool(self.context.data_model_manager[type].contains_nrt_meminfo())
        return found

    def _alloca_var(self, name: str, fetype: Any) -> None:
        if name not in self._loops and name not in self._positions:
            super()._alloca_var(name, fetype)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        counted = self._is_counted(type := self.typeof(name)) or self._disable_sroa_like_opt
        if counted and name not in self._borrowed and name not in self._empty:
            super().storevar(value, name, argidx)
        elif name in self._singly_assigned_vars and not self._disable_sroa_like_opt:
            self._blk_local_varmap[name] = value
        else:
            self._alloca_var(name, type)
            self.builder.store(value, self.getvar(name))

    def incref(self, typ: Any, val: Any) -> None:
        for kind, counter in () if self._takes else self._counters(typ, val):
            super().incref(kind, counter)

    def decref(self, typ: Any, val: Any) -> None:
        for kind, counter in self._counters(typ, val):
            super().decref(kind, counter)

    def _counters(self, type: Any, value: Any) -> Iterator[tuple[Any, Any]]:
        """What counts the references to a value: of an array that alone is read, where numba reads all of it."""
        if isinstance(type, types.Array):
            place = self.context.data_model_manager[type].get_field_position("meminfo")
            yield COUNTER, self.builder.extract_value(value, place)
        elif isinstance(type, types.BaseTuple):
            for k, kind in enumerate(cast(Any, type)):
                if self._is_counted(kind):
                    yield from self._counters(kind, self.builder.extract_value(value, k))
        elif self._is_counted(type):
            yield type, value

    def delvar(self, name: str) -> None:
        if name in self._borrowed:
            return
        if self._is_counted(self.typeof(name)) or self._disable_sroa_like_opt:
            super().delvar(name)

    # -- loops ------------------------------------------------------------------------------------

    def pre_block(self, block: Any) -> None:
        super().pre_block(block)
        self._label = self._labels[id(block)]
        if (loop := self._bodies.get(id(block))) is not None:
            b: Any = self.builder
            left = b.load(loop.left)
            b.store(b.sub(left, left.type(1), flags=["nsw"]), loop.left)
            b.store(b.add(b.load(loop.at), loop.step), loop.at)

    def lower_inst(self, inst: Any) -> None:
        if isinstance(inst, ir.Assign):
            name = inst.target.name
            value: Any = inst.value
            if name in self._borrowed:
                self._takes = True  # others keep it
                super().lower_inst(inst)
                self._takes = False
                return
            if name in self._positions:
                self._items[name] = [self.loadvar(v.name) for v in value.items]
                return
            if (loop := self._loops.get(name)) is not None:
                self._lower_loop(loop, value)
                return
            if isinstance(value, ir.Expr) and value.op in ("pair_first", "pair_second"):
                loop = self._loops.get(value.value.name)
                if loop is not None:
                    self.storevar(self._taken(loop, value.op), name)
                    return
        super().lower_inst(inst)
        b: Any = self.builder
        if (keep := self._told.get(id(inst))) is not None:
            keep(b.block.terminator, self.module)

    def _lower_loop(self, loop: Loop, value: Any) -> None:
        """Note the bounds of a range, or begin to go over it; its other variables are nothing."""
        if isinstance(value, ir.Expr) and value.op == "call":
            given = [self._whole(v) for v in loop.bounds]
            zero, one = (self.context.get_constant(types.int64, k) for k in (0, 1))
            loop.first = given[0] if len(given) > 1 else zero
            loop.last = given[1] if len(given) > 1 else given[0]
            loop.step = given[2] if len(given) > 2 else one
        elif isinstance(value, ir.Expr) and value.op == "getiter":
            step = loop.step.constant if isinstance(loop.step, Constant) else 0
            if step in (1, -1):
                self._begin(loop, step)
            else:
                self._begin_any(loop)

    def _whole(self, variable: ir.Var) -> Any:
        type = self.typeof(variable.name)
        return self.context.cast(self.builder, self.loadvar(variable.name), type, types.int64)

    def _begin(self, loop: Loop, step: int) -> None:
        """Steps of 1 or -1; there are less than 2**63 of them."""
        b: Any = self.builder
        low, high = (loop.first, loop.last) if step > 0 else (loop.last, loop.first)
        count = b.select(b.icmp_signed("<", low, high), b.sub(high, low), low.type(0))
        self._count(loop, count)

    def _begin_any(self, loop: Loop) -> None:
        """Steps of any length, which may be 0; from one end to the other it may be more than 64 bits can say."""
        b: Any = self.builder
        zero, one = (loop.step.type(k) for k in (0, 1))
        with cgutils.if_unlikely(b, b.icmp_signed("==", loop.step, zero)):
            self.context.call_conv.return_user_exc(b, ValueError, ("range() arg 3 must not be zero",))
        up = b.icmp_signed(">", loop.step, zero)
        low, high = b.select(up, loop.first, loop.last), b.select(up, loop.last, loop.first)
        length = b.select(up, loop.step, b.sub(zero, loop.step))
        count = b.add(b.udiv(b.sub(b.sub(high, low), one), length), one)
        self._count(loop, b.select(b.icmp_signed("<", low, high), count, zero))

    def _count(self, loop: Loop, count: Any) -> None:
        b: Any = self.builder
        loop.at, loop.left = (cgutils.alloca_once(b, count.type) for _ in range(2))
        b.store(loop.first, loop.at)
        b.store(count, loop.left)

    def _taken(self, loop: Loop, op: str) -> Any:
        """The number of a step, or whether there is one."""
        b: Any = self.builder
        if op == "pair_first":
            return b.load(loop.at)
        left = b.load(loop.left)
        return b.icmp_signed(">", left, left.type(0))

    # -- exceptions -------------------------------------------------------------------------------

    def return_dynamic_exception(self, exc_class: Any, exc_args: Any, nb_types: Any, loc: Any = None) -> None:
        if not is_plain(nb_types):
            super().return_dynamic_exception(exc_class, exc_args, nb_types, loc)
            return
        dummy = self.context.get_dummy_value()
        fixed = tuple(dummy if isinstance(v, Value) else v for v in exc_args)
        exception = self.call_conv.build_excinfo_struct(exc_class, fixed, loc, self.func_ir.func_id.func_name)
        raise_with(self.context, self.builder, exception, [v for v in exc_args if isinstance(v, Value)], nb_types)

    # -- lengths ----------------------------------------------------------------------------------

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        value = super().lower_expr(resty, expr)
        if expr.op == "static_getitem" and self._asks and resty == types.intp and self._is_shape(expr.value.name):
            cast(Any, self.builder).assume(self.builder.icmp_signed(">=", value, value.type(0)))
        return value

    def _is_shape(self, name: str) -> bool:
        made = self._uses.once(name)
        return isinstance(made, ir.Expr) and made.op == "getattr" and made.attr == "shape"

    # -- operators --------------------------------------------------------------------------------

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        signature = self.fndesc.calltypes[expr]
        power = None
        if op in (operator.pow, operator.ipow) and isinstance(signature.args[0], types.Float):
            power = self._to_a_power(expr, signature) or self._to_a_half(expr, signature)
        if power is not None:
            return self.context.cast(self.builder, power, signature.return_type, resty)
        written = None
        if expr.static_lhs is ir.UNDEFINED and expr.static_rhs is ir.UNDEFINED:
            written = implementation(self.context, op, signature.args)
        if written is None:
            return super().lower_binop(resty, expr, op)
        b, given = self.builder, []
        for v, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True):
            given.append(self.context.cast(b, self.loadvar(v.name), self.typeof(v.name), kind))
        if op in QUOTIENTS and self._same.is_same(expr, self._label):
            given[1] = hidden(b, given[1])
        if (
            op in (operator.mod, operator.imod)
            and set(signature.args) == {types.int64}
            and self._number(expr.rhs.name) is None
        ):
            return self.context.cast(b, self._remainder(written, given), signature.return_type, resty)
        return self.context.cast(b, written(b, given), signature.return_type, resty)

    def _remainder(self, written: Any, given: list[Any]) -> Any:
        """Of a place that goes round, and mostly is in range: it is its own remainder then, and nothing is divided."""
        b: Any = self.builder
        k, n = given
        inside = b.and_(b.icmp_signed(">", n, n.type(0)), b.icmp_unsigned("<", k, n))
        before = b.basic_block
        with b.if_then(b.not_(inside), likely=False):
            divided = written(b, given)
            after = b.basic_block
        out = b.phi(k.type)
        out.add_incoming(k, before)
        out.add_incoming(divided, after)
        return out

    def _to_a_power(self, expr: Any, signature: Any) -> Any:
        """A float to a power that is written, as products, in numba's order; None if it is something else."""
        exponent = self._number(expr.rhs.name)
        if exponent is None or not 0 < exponent <= POWERS:
            return None
        b: Any = self.builder
        kind = signature.return_type
        x = self.context.cast(b, self.loadvar(expr.lhs.name), self.typeof(expr.lhs.name), kind)
        out = None
        while exponent:
            if exponent & 1:
                out = x if out is None else b.fmul(out, x)
            exponent >>= 1
            x = b.fmul(x, x) if exponent else x
        return out

    def _to_a_half(self, expr: Any, signature: Any) -> Any:
        """A float to the power of a half that is written, by a root, products and quotients; None if it is another.

        Signs, zeros and infinities come out as of C's ``pow``, of which LLVM knows that it is a root at a half.
        """
        exponent = self._uses.fraction(expr.rhs.name)
        if exponent not in HALVES:
            return None
        b: Any = self.builder
        kind = signature.return_type
        x = self.context.cast(b, self.loadvar(expr.lhs.name), self.typeof(expr.lhs.name), kind)
        root = b.call(b.module.declare_intrinsic("llvm.pow", [x.type]), [x, x.type(0.5)])
        size = b.call(b.module.declare_intrinsic("llvm.fabs", [x.type]), [x])
        more = {0.5: None, 1.5: size, 2.5: b.fmul(x, x)}[abs(exponent)]
        if exponent < 0:
            root = b.fdiv(x.type(1.0), root)
            return root if more is None else b.fdiv(root, more)
        return b.fmul(more, root)

    # -- methods ----------------------------------------------------------------------------------

    def _lower_call_normal(self, fnty: Any, expr: Any, signature: Any) -> Any:
        if is_cleared(fnty, [self.typeof(v.name) for v in expr.args]) and not expr.kws:
            clear(self.context, self.builder, fnty.this, self.loadvar(expr.func.name))
            return self.context.get_dummy_value()
        name: Any = getattr(fnty, "typing_key", None)
        if expr.kws or len(expr.args) not in LISTS.get(name, ()):
            return super()._lower_call_normal(fnty, expr, signature)
        at, item = self.loadvar(expr.func.name), fnty.this.dtype
        if not pushing.is_of_numbers(fnty):
            if name != "list.pop" or not expr.args:
                return super()._lower_call_normal(fnty, expr, signature)
            (place,) = expr.args
            index = self.context.cast(self.builder, self.loadvar(place.name), self.typeof(place.name), types.intp)
            return pushing.take(self.context, self.builder, fnty.this, at, index)
        kinds = {"list.append": [item], "list.insert": [types.intp, item]}.get(name, [types.intp] * len(expr.args))
        given = [
            self.context.cast(self.builder, self.loadvar(v.name), self.typeof(v.name), kind)
            for v, kind in zip(expr.args, kinds, strict=True)
        ]
        if name == "list.pop":
            return pushing.pop(self.context, self.builder, fnty.this, at, *given)
        change = pushing.push if name == "list.append" else pushing.insert
        change(self.context, self.builder, fnty.this, at, *given)
        return self.context.get_dummy_value()

    def _lower_call_RecursiveCall(self, fnty: Any, expr: Any, signature: Any) -> Any:
        """A function that calls itself with arrays that lie otherwise calls another one, which is made by now.

        numba finds it by its name once both have machine code, which internal functions never have.
        """
        other = fnty.dispatcher_type.dispatcher.overloads.get(tuple(signature.args))
        if other is None:
            return super()._lower_call_RecursiveCall(fnty, expr, signature)
        given = self.fold_call_args(fnty, signature, expr.args, expr.vararg, expr.kws)
        self.library.add_linking_library(other.library)
        return self.context.call_internal(self.builder, other.fndesc, signature, given)

    # -- elements ---------------------------------------------------------------------------------

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        array = self.typeof(value.name)
        if not self._is_element(array, index):
            return super().lower_getitem(resty, expr, value, index, signature)
        item = load_item(self.context, self.builder, array, self._place(value, index))
        self._scopes.mark(item, value.name)
        return self.context.cast(self.builder, item, array.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array = self.typeof(target_var.name)
        if not self._is_element(array, index_var):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        b: Any = self.builder
        kind = signature.args[2]
        value = self.context.cast(b, self.loadvar(value_var.name), self.typeof(value_var.name), kind)
        value = self.context.cast(b, value, kind, array.dtype)
        store_item(self.context, b, array, value, self._place(target_var, index_var))
        self._scopes.mark(b.block.instructions[-1], target_var.name)
        return None

    def _is_element(self, array: Any, index: ir.Var) -> bool:
        return not self.context.enable_boundscheck and is_element(array, self.typeof(index.name))

    def _place(self, variable: ir.Var, index: ir.Var) -> Any:
        """Where an element is."""
        b, array = self.builder, self.typeof(variable.name)
        field = self._fields(variable.name, array)
        places = self._indices(index, array.ndim, field)
        if array.layout == "A":
            return cgutils.pointer_add(
                b, field("data"), _total(b, places, [field("strides", k) for k in range(array.ndim)])
            )
        axes = range(array.ndim)
        order = list(reversed(axes) if array.layout == "C" else axes)
        step, steps = None, dict[int, Any]()
        for axis, faster in zip(order[1:], order, strict=False):
            length = field("shape", faster)
            step = steps[axis] = length if step is None else b.mul(step, length)
        return b.gep(field("data"), [_total(b, places, [steps.get(k) for k in axes])])

    def _indices(self, index: ir.Var, count: int, field: Callable[..., Any]) -> list[Any]:
        """The positions along the axes. Those that are not literals are counted from the start in what is compiled."""
        b = self.builder
        kind: Any = self.typeof(index.name)
        kinds = list(getattr(kind, "types", (kind,)))
        if not isinstance(kind, types.BaseTuple):
            given = [self.loadvar(index.name)]
        else:
            whole = self._items.get(index.name)
            given = whole or cgutils.unpack_tuple(b, self.loadvar(index.name), count)
        found = []
        for axis, (value, type) in enumerate(zip(given, kinds, strict=True)):
            if isinstance(value, Constant) and value.constant < 0:
                found.append(fix_integer_index(self.context, b, type, value, field("shape", axis)))
            else:
                found.append(self.context.cast(b, value, type, types.intp))
        return found

    def _fields(self, name: str, type: Any) -> Callable[..., Any]:
        """Reads the parts of an array, each once."""
        b, model, known = self.builder, self.context.data_model_manager[type], {}
        whole = self._blk_local_varmap.get(name)
        place = self.getvar(name) if whole is None else None

        def field(part: str, *axis: int) -> Any:
            path = (model.get_field_position(part), *axis)
            if path not in known:
                if whole is not None:
                    known[path] = b.extract_value(whole, path)
                else:
                    known[path] = b.load(cgutils.gep_inbounds(b, place, 0, *path))
            return known[path]

        return field


def _total(b: Any, places: list[Any], steps: list[Any]) -> Any:
    """The sum of positions times steps; no step is 1."""
    parts = [place if step is None else b.mul(place, step) for place, step in zip(places, steps, strict=True)]
    return functools.reduce(b.add, parts)
