"""Forward mode by a rule for reverse mode.

The cotangents of the arguments are a linear map of those of the results, the transpose of how tangents go. So what a
tangent becomes is the gradient, by the cotangents ``c``, of the sum of all cotangents of arguments times tangents.

References
----------
Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 3.3: tangents and adjoints as a bilinear form.
"""

from __future__ import annotations

from collections.abc import Mapping

from srcgraph.errors import DerivativeError, Problem
from srcgraph.ir.closure import close, open_
from srcgraph.ir.graph import Apply, Graph, Rule, Value
from srcgraph.ir.op import building
from srcgraph.ir.rebuild import Rebuild
from srcgraph.ir.walk import all_nodes, calls
from srcgraph.opt.ad.activity import dependent
from srcgraph.opt.ad.affine import not_for_forward_mode
from srcgraph.opt.ad.custom import TANGENT, tangent_read, without_tangents
from srcgraph.opt.ad.vjp import gradient
from srcgraph.opt.passes import run_passes
from srcgraph.opt.pipeline import DERIVED


def transposed(rule: Rule, backward: Graph, residuals: int, graphs: Mapping[str, Graph]) -> Graph:
    """The graph from residuals, results and tangents of arguments to tangents of results.

    Parameters
    ----------
    rule : Rule
        Whose backward graph it is.
    backward : Graph
        From residuals and cotangents of results to cotangents of arguments.
    residuals : int
        How many of its parameters are residuals.
    graphs : mapping
        What it calls, by name.

    Raises
    ------
    DerivativeError
        The cotangents of the arguments are not linear in those of the results.
    """
    product = _product(rule, backward, residuals)
    _refuse_recursion(rule, product)
    cotangents = range(residuals, len(backward.params))
    made = run_passes(gradient(product, 0, cotangents, rules=graphs).graph, DERIVED)
    opened = open_(made)
    found = tangent_read(opened)
    if found is not None:
        raise DerivativeError(not_for_forward_mode(rule.function, found.origin.loc))
    return close(without_tangents(opened))


def _refuse_recursion(rule: Rule, product: Graph) -> None:
    opened = open_(product)
    tangents = [n.outputs[0] for n in all_nodes(opened) if isinstance(n, Apply) and n.op is TANGENT]
    varied = dependent(opened, tangents)
    for call in calls(opened):
        if call.rule is None and not varied.isdisjoint(call.inputs):
            why = f"the rule of {rule.function} calls {call.callee}() of a cotangent, which calls itself"
            hint = (
                "forward mode needs the rule transposed, which is not supported here: write a loop, or use custom_jvp"
            )
            raise DerivativeError(Problem(why, call.origin.loc, hint=hint))


def _product(rule: Rule, backward: Graph, residuals: int) -> Graph:
    """The sum of the cotangents of the arguments, each times a tangent; these are the last parameters."""
    work = Rebuild(rule.backward)
    with building(work.builder):
        b = work.builder
        work.params(backward.params)
        for param in backward.params[residuals:]:
            work.env[param] = b.apply(TANGENT, (work.value(param),), {"of": rule.function})
        tangents = [b.param(f"d_{k}", r.type) for k, r in enumerate(backward.results)]
        work.nodes(backward.nodes)
        terms = [b.call_named("mul", x, t) for x, t in zip(work.values(backward.results), tangents, strict=True)]
        total: Value = b.const(0.0)
        for term in terms:
            axes = tuple(range(term.type.ndim))
            total = b.call_named("add", total, b.call_named("sum", term, axes=axes) if axes else term)
        return b.finish([total])
