"""numba's compiler as generated functions need it: variables as they are written, ``fastmath`` for a function alone.

numba gives a variable a new name wherever it is assigned to, so that it may have another type. In generated text it has
one type; new names cost time to compile, and a loop that now and then puts a longer array in a variable's place counts
references in each trip. Where a variable has two types after all, numba's way is gone.

numba's own ``fastmath`` is also that of what it compiles to be called, and some of this is kept for callers of any
kind: what one function allows, others would get. Here it ends with the function: a sum that is compensated, a
remainder, a product of NumPy's are as they are elsewhere.

Generated text has no closures, comprehensions, ``with`` blocks or marked literals, and operates on elements, not on
whole arrays: numba's passes for these are left out. Between its passes numba finds the lifetimes of variables again and
again; they are needed once, at the end.

References
----------
LLVM Language Reference, "Fast-Math Flags". Numba manual, "Customizing the compiler".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numba._dynfunc import make_function
from numba.core import errors, ir, ir_utils, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.rewrites.registry import rewrite_registry
from numba.core.typed_passes import (
    BaseNativeLowering,
    NativeLowering,
    NopythonRewrites,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FindLiterallyCalls,
    GenericRewrites,
    InlineClosureLikes,
    InlineInlinables,
    IRProcessing,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    ReconstructSSA,
    WithLifting,
)

from srcgraph.runtime import sincos, ssa, vector
from srcgraph.runtime.collecting import seldom_collecting
from srcgraph.runtime.internal import GENERATED
from srcgraph.runtime.known_types import remembered
from srcgraph.runtime.lowering import Lean, library_for

_ARITHMETIC = ("fadd", "fsub", "fmul", "fdiv", "fneg")
EXACT = ("afn",)
"""The flags of an operation whose rounding is part of an algorithm: one that says nothing of arithmetic."""
UNREAD = "_"
"""What is assigned to it is read nowhere, and may be anything."""


class RoundingLower(Lean):
    """Marks the arithmetic of a function with what may change its rounding, and a function whose loops are wide."""

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        sincos.share(self.function)
        names = self.func_ir.func_id.func.__globals__.values()
        if any(getattr(value, "__module__", "") == vector.__name__ for value in names):
            vector.prefer_wide(self.function)  # also one that such functions become part of
        flags = sorted((self.metadata or {}).get("rounding", ()))
        for block in self.function.blocks if flags else ():
            for instruction in block.instructions:
                if instruction.opname in _ARITHMETIC and not instruction.flags:
                    apart = (
                        instruction.opname == "fdiv"
                    )  # else LLVM divides products, in loops, too, by what factors were
                    instruction.flags.extend(f for f in flags if not (apart and f == "reassoc"))


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(BaseNativeLowering):
    """numba's last pass but one, with `RoundingLower`."""

    _name = "srcgraph_lowering"

    @property
    def lowering_class(self) -> Any:
        return RoundingLower

    def run_pass(self, state: Any) -> Literal[True]:
        state.status.fail_reason = None  # of passes that did not do
        library = state.library = state.library or library_for(state)
        state.flags.no_compile = library.internal
        super().run_pass(state)
        if library.internal:
            state.cr = _without_code(state.cr, state.targetctx, library)
            library.environments.append(state.cr.env)
        codegen: Any = library.codegen
        for environment in () if library.internal else library.environments:
            if codegen._engine.get_global_value_address(environment.env_name):
                codegen.set_env(environment.env_name, environment)
        return True


def _without_code(made: Any, context: Any, library: Any) -> Any:
    """What numba made of a function, by a name that compiled functions call it by; Python cannot."""
    at = made.fndesc
    name = at.qualname.split(".")[-1]
    entry = make_function(at.lookup_module(), name, f"{name}, which has no code of its own", 0, made.env, (library,))
    context.insert_user_function(entry, at, [library])
    return made._replace(cfunc=entry)


def lowering_by(lowers: type[RoundingLower], name: str) -> type[Lowering]:
    """`Lowering`, by another class."""
    parts = {"_name": f"srcgraph_lowering_{name}", "lowering_class": property(lambda self: lowers)}
    made: Any = register_pass(mutates_CFG=True, analysis_only=False)(type(name, (Lowering,), parts))
    return made


@register_pass(mutates_CFG=False, analysis_only=False)
class _AsWritten(FunctionPass):
    """In place of numba's pass that gives variables a name for each version."""

    _name = "srcgraph_as_written"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:  # type: ignore[override]
        for block in state.func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                if statement.target.name == UNREAD:
                    statement.target = block.scope.redefine(UNREAD, loc=statement.loc)
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _OfOneType(Lowering):
    """Stops at a variable that has two types."""

    _name = "srcgraph_lowering_as_written"

    def run_pass(self, state: Any) -> Literal[True]:
        for name, type in _assigned(state):
            if types.unliteral(state.typemap[name]) != types.unliteral(type):
                raise errors.TypingError(f"{name} is {state.typemap[name]} and {type}")
        return super().run_pass(state)


def _assigned(state: Any) -> Iterator[tuple[str, types.Type]]:
    """The variables that are assigned to more than once, and the types of what they are assigned."""
    found: dict[str, list[Any]] = {}
    for block in state.func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            found.setdefault(statement.target.name, []).append(statement.value)
    for name, values in found.items():
        for value in values if len(values) > 1 else ():
            if (type := _type_of(value, state)) is not None:
                yield name, type


def _type_of(value: Any, state: Any) -> types.Type | None:
    """The type of what is assigned; None if nothing tells it apart from that of the variable."""
    match value:
        case ir.Var():
            return state.typemap[value.name]
        case ir.Arg():
            return state.typemap[f"arg.{value.name}"]
        case ir.Const():
            return state.typingctx.resolve_value_type(value.value)
        case ir.Expr(op="getattr"):
            return state.typingctx.resolve_getattr(state.typemap[value.value.name], value.attr)
        case ir.Expr():
            made = state.calltypes.get(value)
            return None if made is None else made.return_type
    return None


@register_pass(mutates_CFG=True, analysis_only=False)
class _Versions(ReconstructSSA):
    """`ReconstructSSA`, on one way through the function, without lifetimes."""

    _name = "srcgraph_versions"

    def run_pass(self, state: Any) -> Any:
        ssa.rename(state.func_ir)
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _FirstRewrites(GenericRewrites):
    """`GenericRewrites`, without lifetimes, which are needed of what yields alone."""

    _name = "srcgraph_first_rewrites"

    def run_pass(self, state: Any) -> Any:
        if state.func_ir.is_generator:
            return super().run_pass(state)
        for kind in rewrite_registry.rewrites["before-inference"]:
            rewrite, left = kind(state), list(state.func_ir.blocks.items())
            while left:
                label, block = left.pop()
                if rewrite.match(state.func_ir, block, state.typemap, state.calltypes):
                    changed = state.func_ir.blocks[label] = rewrite.apply()
                    left.append((label, changed))
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _StripPhis(PreLowerStripPhis):
    """`PreLowerStripPhis`, without lifetimes."""

    _name = "srcgraph_strip_phis"

    def run_pass(self, state: Any) -> Any:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Rewrites(NopythonRewrites):
    """`NopythonRewrites`, where there is an operation on whole arrays, an array of a list, or a text."""

    _name = "srcgraph_rewrites"

    def run_pass(self, state: Any) -> Any:
        assigned = (s for block in state.func_ir.blocks.values() for s in block.find_insts(ir.Assign))
        return any(_is_rewritten(s, state.typemap) for s in assigned) and super().run_pass(state)


def _is_rewritten(statement: ir.Assign, typemap: Any) -> bool:
    """Whether one of numba's rewrites after types are known may look for what is assigned."""
    e = statement.value
    if not isinstance(e, ir.Expr):
        return False
    if e.op == "build_list" or isinstance(typemap[statement.target.name], types.StringLiteral):
        return True
    if e.op == "call" and not isinstance(getattr(typemap[e.func.name], "typing_key", None), np.ufunc):
        return False
    is_operation = e.op in ("unary", "binop", "inplace_binop", "call")
    return is_operation and isinstance(typemap[statement.target.name], types.Array)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Inference(NopythonTypeInference):
    """`NopythonTypeInference`, which remembers what operators give."""

    _name = "srcgraph_inference"

    def run_pass(self, state: Any) -> Any:
        with remembered(state.typingctx):
            return super().run_pass(state)


_LEFT_OUT = {
    IRProcessing, WithLifting, InlineClosureLikes, MakeFunctionToJitFunction, InlineInlinables, FindLiterallyCalls,
    LiteralUnroll, LiteralPropagationSubPipelinePass,
}  # fmt: skip
_IF_GENERATED = {DeadBranchPrune}
"""Generated text asks for no types; and what a loop saves has a type though nothing may ever be saved."""
_INSTEAD = {
    ReconstructSSA: _Versions, NopythonTypeInference: _Inference, PreLowerStripPhis: _StripPhis,
    GenericRewrites: _FirstRewrites, NopythonRewrites: _Rewrites,
}  # fmt: skip


class Compiler(CompilerBase):
    """What `srcgraph.runtime.load` lets numba compile generated functions with."""

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, returned: Any, flags: Any, local: Any):
        allowed = frozenset(flags.fastmath.flags) if flags.fastmath else frozenset()
        flags.fastmath = False
        super().__init__(typing, target, library, args, returned, flags, local)
        self.state.metadata["rounding"] = allowed

    def _compile_core(self) -> Any:
        with seldom_collecting():
            return super()._compile_core()

    def define_pipelines(self) -> list[Any]:
        quick = self.passes({ReconstructSSA: _AsWritten, NativeLowering: _OfOneType})
        return [quick, self.passes({NativeLowering: Lowering})]

    def passes(self, own: dict[Any, Any]) -> Any:
        """numba's passes that are needed, some in place of others."""
        made = DefaultPassBuilder.define_nopython_pipeline(self.state)
        instead = _INSTEAD | own
        left_out = _LEFT_OUT | (_IF_GENERATED if self.state.func_id.modname.startswith(GENERATED) else set())
        made.passes = [(instead.get(p, p), text) for p, text in made.passes if p not in left_out]
        made.finalize()
        return made


class Tolerant(Compiler):
    """As `Compiler`, for what people write: what it cannot take is compiled as numba would."""

    def define_pipelines(self) -> list[Any]:
        return [*super().define_pipelines(), DefaultPassBuilder.define_nopython_pipeline(self.state)]


class ByVersions(Compiler):
    """As `Compiler`, in numba's way alone, by a lowering of its own."""

    lowering = Lowering

    def define_pipelines(self) -> list[Any]:
        return [self.passes({NativeLowering: self.lowering})]
